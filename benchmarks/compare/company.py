"""In company: a fit beside another fit, and while the threads of another library still spin."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from benchmarks import data
from benchmarks.compare import svc
from benchmarks.compare.fitting import fit, prepare
from benchmarks.compare.models import SAME, Lesson, quality
from benchmarks.task import Results, Task, ratio


def two_at_once(lesson: Lesson) -> Any:
    with ThreadPoolExecutor(2) as pool:
        machines = list(pool.map(partial(fit, "mercer"), [lesson, lesson]))
    return machines[0]


def multiply_matrices(_: Lesson) -> None:
    """The threads of BLAS go on spinning for a while when it is done."""
    matrix = np.ones((2000, 2000))
    matrix @ matrix


TASKS = [
    Task(
        name="company",
        title="SVC fit, n = 10000, in company",
        group="In company",
        setup=partial(prepare, svc.MACHINE, partial(data.cls_split, 10_000)),
        contenders={
            "mercer": partial(fit, "mercer"),
            "two at once": two_at_once,
            "after a matmul": partial(fit, "mercer"),
        },
        before={"after a matmul": multiply_matrices},
        quality=quality,
        tolerance=SAME["SVC"],
        repeats=9,
        listed=False,
    )
]


def summary(results: Results) -> dict | None:
    row = results.get("company", {})
    if not {"mercer", "two at once", "after a matmul"} <= row.keys():
        return None
    factors = {name: ratio(row, name) for name in ("two at once", "after a matmul")}
    text = (
        f"Two fits at once in two Python threads take {factors['two at once']:.2f} times as long as one alone, a fit "
        f"right after a matrix product of NumPy {factors['after a matmul']:.2f} times as long."
    )
    return factors | {"text": text}
