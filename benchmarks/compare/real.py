"""Real data: C = 10, gamma="scale", features from 0 to 1."""

import math
from collections.abc import Mapping

from benchmarks.compare.fitting import fit_task
from benchmarks.compare.peers import Machine
from benchmarks.real_data import DATA_SETS
from benchmarks.task import Outcome, Results, ratio

CLASSIFIER = Machine("SVC", parameters={"C": 10.0})
# All 100 000 samples of the file but every tenth, which is for testing.
LARGEST = "real-covtype"
REGRESSOR = Machine("SVR", parameters={"C": 10.0, "epsilon": 0.1})

TASKS = [
    fit_task(
        f"real-{data_set.name}",
        data_set.title,
        REGRESSOR if data_set.regression else CLASSIFIER,
        data_set.samples,
        needs=data_set.paths,
        group="Real data, C = 10",
        repeats=3,
    )
    for data_set in DATA_SETS
]


def summary(results: Results) -> dict | None:
    """How many times faster than the best of the others, at equal quality."""
    best = {}
    for task in TASKS:
        row = results.get(task.name, {})
        # Who ran into the limit has no quality, but is known to be slower than that.
        peers = [name for name, outcome in row.items() if name != "mercer" and outcome.get("equal quality", True)]
        if "mercer" in row and peers:
            best[task.name] = min(ratio(row, peer) for peer in peers)
    if not best:
        return None
    mean = math.exp(sum(map(math.log, best.values())) / len(best))
    text = (
        f"On {len(best)} real data sets mercer is {mean:.1f} times as fast as the best of the others in the geometric "
        f"mean, and {min(best.values()):.1f} times where it gains least."
    )
    peaks = peak_memory(results.get(LARGEST, {}))
    if peaks:
        others = ", ".join(f"{name} {peak:.0f} MB" for name, peak in peaks.items() if name != "mercer")
        title = next(task.title for task in TASKS if task.name == LARGEST)
        text += f" Peak memory of the whole process on {title}: mercer {peaks['mercer']:.0f} MB" + (
            f", {others}." if others else "."
        )
    return {"best peer over mercer": best, "geometric mean": mean, "peak megabytes": peaks, "text": text}


def peak_memory(row: Mapping[str, Outcome]) -> dict[str, float]:
    """Megabytes of every contender that got to the end, the samples and all libraries included."""
    peaks = {name: outcome["peak_megabytes"] for name, outcome in row.items() if "peak_megabytes" in outcome}
    return peaks if "mercer" in peaks else {}
