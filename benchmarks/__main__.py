"""Run the benchmarks: ``python -m benchmarks [--full] [--only NAME ...]``.

Every contender works in a process of its own, with the memory touched before the clock starts; the figure is the
median of several repeats. Results go to ``benchmarks/results/`` as JSON, and the table to README.md.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path

from benchmarks.compare.peers import versions
from benchmarks.task import Task, equal_quality
from benchmarks.tasks import TASKS

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
START, END = "<!-- bench:start -->", "<!-- bench:end -->"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="also the long ones")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="tasks whose name starts so")
    parser.add_argument("--no-readme", action="store_true", help="leave README.md alone")
    arguments = parser.parse_args()
    chosen = [task for task in TASKS if arguments.full or not task.full]
    if arguments.only:
        chosen = [task for task in chosen if task.name.startswith(tuple(arguments.only))]
    results = {task.name: measure(task) for task in chosen}
    report = {"machine": machine(), "versions": versions(), "results": results}
    lines = table(report)
    print("\n" + "\n".join(lines))
    if arguments.only:
        return
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results" / "latest.json").write_text(json.dumps(report, indent=2) + "\n")
    if not arguments.no_readme:
        write_readme(lines)


def measure(task: Task) -> dict[str, dict]:
    """Each contender in turn; one that fails is left out with a message."""
    measured = {}
    for contender in task.contenders:
        command = [sys.executable, "-m", "benchmarks.worker", task.name, contender]
        run = subprocess.run(command, capture_output=True, text=True, cwd=HERE.parent)
        if run.returncode != 0:
            print(f"{task.name}: {contender} failed: {run.stderr.strip().splitlines()[-1]}")
            continue
        outcome = json.loads(run.stdout.splitlines()[-1])
        outcome["median"] = statistics.median(outcome["seconds"])
        measured[contender] = outcome
        print(f"{task.name}: {contender} {outcome['median']:.4g} s {outcome['quality']}", flush=True)
    for outcome in measured.values():
        outcome["equal quality"] = equal_quality(task, measured["mercer"]["quality"], outcome["quality"])
    return measured


def machine() -> str:
    model = platform.processor() or platform.machine()
    try:
        info = Path("/proc/cpuinfo").read_text()
        model = next(line.split(":")[1].strip() for line in info.splitlines() if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{model}, {len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}"


def table(report: dict) -> list[str]:
    """Markdown: a row per task, a column per contender, seconds and how many times ours they are."""
    titles = {task.name: task.title for task in TASKS}
    compared = {name: row for name, row in report["results"].items() if "scikit-learn" in row}
    contenders = list(dict.fromkeys(name for row in compared.values() for name in row))
    lines = [
        f"Seconds, medians, on {report['machine']}; "
        + ", ".join(f"{name} {v}" for name, v in report["versions"].items())
        + ".",
        "",
        "| work | " + " | ".join(contenders) + " |",
        "|---" * (len(contenders) + 1) + "|",
    ]
    for name, row in compared.items():
        ours = row["mercer"]["median"]
        cells = []
        for contender in contenders:
            if contender not in row:
                cells.append("–")
                continue
            text = f"{row[contender]['median']:.3g}"
            if contender != "mercer":
                text += f" ({row[contender]['median'] / ours:.1f}×)"
            if not row[contender]["equal quality"]:
                text += " other quality"
            cells.append(text)
        lines.append(f"| {titles[name]} | " + " | ".join(cells) + " |")
    imports = report["results"].get("import")
    if imports:
        added = {name: round(1000 * row["quality"]["added"]) for name, row in imports.items()}
        lines += [
            "",
            f"After `import sklearn.base`, `import mercer` takes {added['mercer']} ms and `from mercer import SVC` "
            f"{added['mercer.SVC']} ms.",
        ]
    return lines


def write_readme(lines: list[str]) -> None:
    before, rest = README.read_text().split(START)
    _, after = rest.split(END)
    README.write_text(f"{before}{START}\n" + "\n".join(lines) + f"\n{END}{after}")


if __name__ == "__main__":
    main()
