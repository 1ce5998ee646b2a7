"""What `import mercer` costs after `import sklearn.base`."""

import statistics
import subprocess
import sys
from functools import partial

from benchmarks.task import Results, Task

PROGRAM = """
import sklearn.base, time
began = time.perf_counter()
{statement}
print(time.perf_counter() - began)
"""


def seconds_of(statement, _):
    """The median over new processes, which tell the time themselves."""
    command = [sys.executable, "-c", PROGRAM.format(statement=statement)]
    runs = [subprocess.run(command, check=True, capture_output=True, text=True) for _ in range(9)]
    return statistics.median(float(run.stdout) for run in runs)


TASKS = [
    Task(
        name="import",
        title="import after sklearn.base",
        group="Import",
        setup=lambda contender: None,
        contenders={
            "mercer": partial(seconds_of, "import mercer"),
            "mercer.SVC": partial(seconds_of, "from mercer import SVC"),
        },
        quality=lambda data, seconds: {"added": seconds},
        repeats=0,
        listed=False,
    )
]


def summary(results: Results) -> dict | None:
    row = results.get("import", {})
    if not {"mercer", "mercer.SVC"} <= row.keys():
        return None
    added = {name: round(1000 * outcome["quality"]["added"]) for name, outcome in row.items()}
    text = (
        f"After `import sklearn.base`, `import mercer` takes {added['mercer']} ms and `from mercer import SVC` "
        f"{added['mercer.SVC']} ms."
    )
    return {"milliseconds": added, "text": text}
