"""Run the benchmarks: ``python -m benchmarks [--full] [--only NAME ...]``.

Every contender works in a process of its own, with the memory touched before the clock starts; the figure is the
median of several repeats. What takes a peer very long is measured once and kept (see `benchmarks.cache`). Results go
to ``benchmarks/results/`` as JSON, task by task, in place of those of an earlier run with the same libraries, and the
table to README.md, which says what was measured on which machine. The real data sets are looked for where the
environment variable MERCER_DATASETS says, or beside the project in ``shared/datasets``.
"""

import argparse
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.cache import KEPT_ABOVE, LONG, Cache
from benchmarks.compare.peers import versions
from benchmarks.report import cell, in_short, table
from benchmarks.task import Outcome, Task, equal_quality
from benchmarks.tasks import SUMMARIES, TASKS

HERE = Path(__file__).parent
RESULTS = HERE / "results"
LATEST = RESULTS / "latest.json"
README = HERE.parent / "README.md"
START, END = "<!-- bench:start -->", "<!-- bench:end -->"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="also the long ones")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="tasks whose name starts so")
    parser.add_argument("--fresh", action="store_true", help="measure also what is known from earlier")
    parser.add_argument("--shrink", type=int, default=1, metavar="K", help="K times less data, to try the tasks out")
    parser.add_argument("--no-readme", action="store_true", help="leave README.md alone")
    arguments = parser.parse_args()
    began = time.perf_counter()
    chosen = [task for task in TASKS if arguments.full or arguments.only or not task.full]
    if arguments.only:
        chosen = [task for task in chosen if task.name.startswith(tuple(arguments.only))]
    cache = None
    if arguments.shrink == 1:
        RESULTS.mkdir(exist_ok=True)
        cache = Cache(RESULTS / "peers.json", machine(), versions())
    os.environ["MERCER_BENCH_SHRINK"] = str(arguments.shrink)
    above = float("inf") if arguments.fresh else LONG if arguments.full else KEPT_ABOVE
    written = arguments.shrink == 1
    results, machines = earlier_results() if written else ({}, {})
    for task in filter(is_possible, chosen):
        results[task.name], machines[task.name] = measure(task, cache, above), machine()
        if written:
            LATEST.write_text(json.dumps(report_of(results, machines), indent=2) + "\n")
    report = report_of(results, machines)
    print("\n" + "\n".join(table(report, complete=True)))
    print(f"\n{(time.perf_counter() - began) / 60:.1f} minutes")
    if written and not arguments.no_readme:
        write_readme(table(report))


def earlier_results() -> tuple[dict[str, dict[str, Outcome]], dict[str, str]]:
    """Of these libraries, only of tasks that exist still, and the machine on which each was measured."""
    if not LATEST.exists():
        return {}, {}
    report = json.loads(LATEST.read_text())
    if report["versions"] != versions():
        return {}, {}
    results = {task.name: report["results"][task.name] for task in TASKS if task.name in report["results"]}
    return results, {name: report["elsewhere"].get(name, report["machine"]) for name in results}


def report_of(results: dict[str, dict[str, Outcome]], machines: dict[str, str]) -> dict:
    """With the machine of most tasks, and that of each of the others, in the order of the tasks."""
    results = {task.name: results[task.name] for task in TASKS if task.name in results}
    usual = statistics.mode(machines.values()) if machines else machine()
    return {
        "machine": usual,
        "elsewhere": {name: machines[name] for name in results if machines[name] != usual},
        "versions": versions(),
        "results": results,
        "summaries": {name: said for name, summary in SUMMARIES.items() if (said := summary(results))},
    }


def is_possible(task: Task) -> bool:
    """Whether the files are there; says so if they are not."""
    missing = [path for path in task.needs if not path.exists()]
    if missing:
        print(f"{task.name}: skipped, without {', '.join(path.name for path in missing)}")
    return not missing


def measure(task: Task, cache: Cache | None, above: float) -> dict[str, Outcome]:
    """Each contender in turn; one that fails is left out with a message."""
    measured: dict[str, Outcome] = {}
    for contender in task.contenders:
        outcome = cache.find(task, contender, above) if cache else None
        if outcome is None:
            outcome = run(task, contender)
            if outcome is None:
                continue
            if cache:
                cache.keep(task, contender, outcome)
        if "quality" in outcome:
            ours = measured.get("mercer", outcome if contender == "mercer" else {})
            outcome["equal quality"] = "quality" in ours and equal_quality(task, ours["quality"], outcome["quality"])
        measured[contender] = outcome
        print(
            f"{task.name}: {contender} {cell(task, measured, contender)}; {in_short(outcome.get('quality', {}))}",
            flush=True,
        )
    return measured


def run(task: Task, contender: str) -> Outcome | None:
    """The outcome of a process of its own."""
    command = [sys.executable, "-m", "benchmarks.worker", task.name, contender]
    process = subprocess.run(command, capture_output=True, text=True, cwd=HERE.parent)
    if process.returncode == -signal.SIGALRM:
        return {"over": task.limit}
    if process.returncode != 0:
        said = process.stderr.strip().splitlines() or [f"exit status {process.returncode}"]
        print(f"{task.name}: {contender} failed: {said[-1]}", flush=True)
        return None
    outcome = json.loads(process.stdout)
    return outcome | {"median": statistics.median(outcome["runs"]), "on": time.strftime("%Y-%m-%d")}


def machine() -> str:
    model = platform.processor() or platform.machine()
    try:
        info = Path("/proc/cpuinfo").read_text()
        model = next(line.split(":")[1].strip() for line in info.splitlines() if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{model}, {len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}"


def write_readme(lines: list[str]) -> None:
    before, rest = README.read_text().split(START)
    _, after = rest.split(END)
    README.write_text(f"{before}{START}\n" + "\n".join(lines) + f"\n{END}{after}")


if __name__ == "__main__":
    main()
