"""Results as Markdown, for the README and for a page of the documentation."""

import re
from collections.abc import Mapping
from itertools import groupby
from typing import Any

from benchmarks.compare.peers import MODULES
from benchmarks.task import Outcome, Quality, Task, figure, ratio
from benchmarks.tasks import TASKS

EARLIER, ELSEWHERE = "†", "‡"


def table(report: dict[str, Any], *, complete: bool = False) -> list[str]:
    """A row per task, a column per library, and what is said of several tasks together.

    Tasks that are not to be listed are left out, unless the table is to be complete.
    """
    results = report["results"]
    libraries = {name: [library for library in MODULES if library in row] for name, row in results.items()}
    compared = [task for task in TASKS if len(libraries.get(task.name, ())) > 1 and (task.listed or complete)]
    contenders = [name for name in MODULES if any(name in libraries[task.name] for task in compared)]
    lines = [
        f"Medians on {report['machine']}; "
        + ", ".join(f"{name} {version}" for name, version in report["versions"].items())
        + ". In brackets how many times that of mercer it is.",
    ]
    if compared:
        lines += ["", "| work | " + " | ".join(contenders) + " |", "|---" * (len(contenders) + 1) + "|"]
    for group, tasks in groupby(compared, key=lambda task: task.group):
        lines.append(f"| **{group}** |" + " |" * len(contenders))
        for task in tasks:
            row, mark = results[task.name], ELSEWHERE if task.name in report["elsewhere"] else ""
            lines.append(f"| {task.title}{mark} | " + " | ".join(cell(task, row, name) for name in contenders) + " |")
    if any(EARLIER in line for line in lines):
        lines += ["", f"{EARLIER} measured earlier, with the same version on the same machine."]
    for said in report["summaries"].values():
        lines += ["", said["text"]]
    for other, names in sorted(groups(report["elsewhere"]).items()):
        titles = "; ".join(task.title for task in TASKS if task.name in names)
        lines += ["", f"{ELSEWHERE} measured on another machine, {other}: {titles}."]
    return lines


def groups(machines: Mapping[str, str]) -> dict[str, set[str]]:
    """The tasks of each machine."""
    found: dict[str, set[str]] = {}
    for name, machine in machines.items():
        found.setdefault(machine, set()).add(name)
    return found


def missed(speed: str) -> list[str]:
    """The targets that a text on speed has a paragraph on, which begins with a name and figures in brackets."""
    paragraphs = [paragraph.replace("\n", " ") for paragraph in speed.split("\n\n")]
    found = [
        match for text in paragraphs if (match := re.match(r"(\*\*.+?\*\*) \(([^)]*\btargets?: .*?)\)[.,]? ", text))
    ]
    return [f"- {match[1]}: {match[2]}." for match in found]


def cell(task: Task, row: Mapping[str, Outcome], contender: str) -> str:
    """One figure with all that is to be known of it."""
    if contender not in row:
        return "–"
    outcome = row[contender]
    over = "> " if "over" in outcome else ""
    text = over + with_unit(figure(outcome), task.unit)
    if contender != "mercer" and "mercer" in row:
        text += f" ({over}{ratio(row, contender):.1f}×)"
    if outcome.get("earlier"):
        text += EARLIER
    if outcome.get("equal quality") is False:
        text += " other quality"
    if (status := outcome.get("quality", {}).get("status", "solved")) != "solved":
        text += f" {status}"
    return text


def in_short(quality: Quality) -> str:
    return ", ".join(
        f"{name} {value:.6g}" if isinstance(value, float) else f"{name} {value}" for name, value in quality.items()
    )


def with_unit(value: float, unit: str) -> str:
    """Three digits, and seconds in the unit that makes them easy to read."""
    if unit == "s" and value < 1.0:
        value, unit = (1e3 * value, "ms") if value >= 1e-3 else (1e6 * value, "µs")
    return f"{value:.3g} {unit}" if value < 1000 else f"{value:.0f} {unit}"
