"""What a benchmark is: one piece of work, done by several contenders."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Quality = dict[str, Any]
Outcome = dict[str, Any]
"""What is known of one contender at one task: "runs", "median", "quality", ...; or "over", the limit it ran into."""
Results = Mapping[str, Mapping[str, Outcome]]
"""Outcomes by task and contender."""


@dataclass(frozen=True)
class Task:
    """A piece of work.

    `setup` makes the data, in the process of each contender, whose name it is told. A contender takes the data and
    does the work once; only that is measured. `quality` turns what the work gave into numbers: a figure counts only
    where they are equal to those of `mercer` within `tolerance`, or those of `mercer` are better where that may be.
    """

    name: str
    title: str
    group: str
    setup: Callable[[str], Any]
    contenders: Mapping[str, Callable[[Any], Any]]
    quality: Callable[[Any, Any], Quality] = lambda data, outcome: {}
    # Number -> (kind, limit): "relative" or "absolute" difference, or ours "at least" or "at most" theirs, so far.
    tolerance: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    before: Mapping[str, Callable[[Any], object]] = field(default_factory=dict)  # contender -> done off the clock
    unit: Literal["s", "MB"] = "s"  # the time of the work, or by how much it makes the peak of memory grow
    calls: int = 1  # how many calls the work consists of: the figure is that of one
    repeats: int = 5  # at most, after a first run to warm up; 0: the first run is the figure
    limit: int = 150  # seconds after which a run is ended
    needs: tuple[Path, ...] = ()  # files without which it is skipped
    full: bool = False  # part of `--full` only
    listed: bool = True  # has a row of its own in the README


def equal_quality(task: Task, ours: Quality, theirs: Quality) -> bool:
    """Whether two contenders have done the same work, or ours is done better where that may be."""
    for number, (kind, limit) in task.tolerance.items():
        difference = ours[number] - theirs[number]
        worse = {"at least": -difference, "at most": difference}.get(kind, abs(difference))
        scale = max(abs(ours[number]), abs(theirs[number])) if kind == "relative" else 1.0
        if not worse <= limit * scale:
            return False
    return True


def figure(outcome: Outcome) -> float:
    """What a contender needed; at least so much, where it ran into the limit."""
    return outcome["over"] if "over" in outcome else outcome["median"]


def ratio(row: Mapping[str, Outcome], contender: str) -> float:
    """How many times what mercer needs a contender needs."""
    return figure(row[contender]) / figure(row["mercer"])


def times_faster(tasks: Sequence[Task], results: Results, other: str, beginning: str) -> dict[str, Any] | None:
    """How many times faster than another contender mercer is at each task, and a sentence that begins so."""
    times = {task.title: ratio(results[task.name], other) for task in tasks if other in results.get(task.name, {})}
    told = ", ".join(f"{title} {factor:.0f}×" for title, factor in times.items())
    return {"times": times, "text": f"{beginning}: {told}."} if times else None
