"""What a benchmark is: one piece of work, done by several contenders."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Task:
    """A piece of work.

    `setup` makes the data, in the process of each contender. A contender takes the data and does the work once;
    only that is timed. `quality` turns what the work gave into numbers: time counts only where they are equal
    to those of `mercer` within `tolerance`.
    """

    name: str
    title: str
    setup: Callable[[], Any]
    contenders: Mapping[str, Callable[[Any], Any]]
    quality: Callable[[Any, Any], dict[str, float]] = lambda data, outcome: {}
    tolerance: Mapping[str, tuple[str, float]] = field(default_factory=dict)  # number -> ("relative"|"absolute", limit)
    repeats: int = 5
    warmups: int = 1
    full: bool = False  # part of `--full` only


def equal_quality(task: Task, ours: dict[str, float], theirs: dict[str, float]) -> bool:
    """Whether two contenders have done the same work."""
    for number, (kind, limit) in task.tolerance.items():
        difference = abs(ours[number] - theirs[number])
        scale = max(abs(ours[number]), abs(theirs[number])) if kind == "relative" else 1.0
        if not difference <= limit * scale:
            return False
    return True
