"""Tasks in which contenders train the same machine on the same samples."""

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.compare.models import SAME, Lesson, quality
from benchmarks.compare.peers import Machine, able, train
from benchmarks.data import Samples
from benchmarks.task import Task


def fit_task(
    name: str,
    title: str,
    machine: Machine,
    samples: Callable[[], Samples],
    *,
    without: tuple[str, ...] = (),
    **options: Any,
) -> Task:
    """`without` names contenders for which the task is nothing new; `options` are those of the task."""
    usual: dict[str, Any] = {
        "contenders": {contender: partial(fit, contender) for contender in able(machine) if contender not in without},
        "setup": partial(prepare, machine, samples),
        "quality": quality,
        "tolerance": SAME[machine.kind],
    }
    return Task(name=name, title=title, **(usual | options))


def prepare(machine: Machine, samples: Callable[[], Samples], contender: str) -> Lesson:
    found = samples()
    return Lesson(machine.on(found.X), found)


def fit(contender: str, lesson: Lesson) -> Any:
    machine, (X, y, _, _) = lesson
    return train(contender, machine, X, y)
