"""Memory: by how much training makes the peak of the process grow, with a budget for kernel values."""

from functools import partial

from benchmarks import data
from benchmarks.compare.fitting import fit_task, prepare
from benchmarks.compare.models import Lesson, quality
from benchmarks.compare.peers import Machine, train
from benchmarks.task import Quality

BUDGET = 200
MACHINE = Machine("SVC", parameters={"C": 1.0}, megabytes=BUDGET)


def prepare_library(contender: str) -> Lesson:
    """A small fit first: libraries, threads and their buffers do not count."""
    lesson = prepare(MACHINE, partial(data.cls_split, 30_000), contender)
    machine, (X, y, _, _) = lesson
    train(contender, machine, X[:200], y[:200])
    return lesson


def with_allowance(lesson: Lesson, estimator) -> Quality:
    """The budget and three copies of the data."""
    return quality(lesson, estimator) | {"allowed": BUDGET + 3 * lesson.samples.X.nbytes / 2**20}


TASKS = [
    fit_task(
        "memory-30000",
        f"SVC fit, n = 30000, with {BUDGET} MB for kernel values",
        MACHINE,
        partial(data.cls_split, 30_000),
        setup=prepare_library,
        quality=with_allowance,
        unit="MB",
        group="Growth of peak memory",
    )
]
