"""A million samples against scikit-learn, where there is memory for both: ``python -m benchmarks.large``.

LIBLINEAR has the features of all samples twice, which are 48 GB. Every contender has a process of its own with the same
cores, two and then more; a fit may take `SECONDS`, and where it has not ended by then, the ratio is a bound from
below. Results go to ``benchmarks/results/large.json``.

On a machine without mercer, ``benchmarks/gpu_setup.sh`` builds it in place.
"""

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results" / "large.json"
N, LANDMARKS, SECONDS = 1_000_000, 2000, 400


def contend(contender: str, n: int) -> dict[str, Any]:
    """One contender, in this process."""
    from benchmarks.compare import scale
    from benchmarks.gpu import timed

    found = scale.classes(n, contender)
    fit = scale.svc if contender == "mercer" else scale.their_svc
    fit(20, scale.classes(2000, contender))
    seconds, machine = timed(lambda: fit(LANDMARKS, found), SECONDS)
    return {"seconds": seconds, **scale.error_of_classes(found, machine)}


def in_a_process(contender: str, cores: int, n: int) -> dict[str, Any]:
    """One contender in a process with so many cores."""
    command = [sys.executable, "-m", "benchmarks.large", "--contender", contender, "--n", str(n)]
    some = sorted(os.sched_getaffinity(0))[:cores]
    ran = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=False, preexec_fn=lambda: os.sched_setaffinity(0, some)
    )
    found: dict[str, Any] = {"failed": ran.returncode} if ran.returncode else json.loads(ran.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large", description=__doc__.splitlines()[0])
    parser.add_argument("--cores", type=int, nargs="+", default=[2, 16], help="how many each contender has")
    parser.add_argument("--output", type=Path, default=RESULTS, help="where results go")
    parser.add_argument("--n", type=int, default=N, help="samples, fewer to try it out")
    parser.add_argument("--contender", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.contender:
        print(json.dumps(contend(asked.contender, asked.n)))
        return
    results: dict[str, Any] = {
        "command": shlex.join(["python", "-m", "benchmarks.large", *sys.argv[1:]]),
        "machine": {"python": platform.python_version(), "system": platform.platform()},
        "task": f"SVC, C = 1, cls({asked.n}), {LANDMARKS} landmarks; Nystroem and LinearSVC of scikit-learn",
    }
    for cores in asked.cores:
        found = results[f"{cores} cores"] = {}
        for contender in ("mercer", "scikit-learn"):
            found[contender] = in_a_process(contender, cores, asked.n)
        mine, theirs = found["mercer"], found["scikit-learn"]
        if "seconds" in mine and "seconds" in theirs:
            found["ratio"] = theirs["seconds"] / mine["seconds"]
        elif "seconds" in mine and "more_than_seconds" in theirs:
            found["ratio_at_least"] = theirs["more_than_seconds"] / mine["seconds"]
        print(f"{cores} cores\n{json.dumps(found, indent=2)}", flush=True)
        asked.output.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
