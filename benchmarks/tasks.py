"""All tasks, by name."""

from benchmarks.compare import svc
from benchmarks.task import Task
from benchmarks.track import imports

TASKS: list[Task] = [*svc.TASKS, *imports.TASKS]


def find_task(name: str) -> Task:
    return next(task for task in TASKS if task.name == name)
