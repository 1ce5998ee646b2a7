"""Support vector classification: training and prediction, C = 1, gamma="scale", tol = 1e-3."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks import data
from benchmarks.compare.fitting import fit, fit_task, prepare
from benchmarks.compare.models import Lesson
from benchmarks.compare.peers import Machine, able
from benchmarks.task import Quality, Task

MACHINE = Machine("SVC", parameters={"C": 1.0})
GROUP = "SVC, C = 1"


class Trained(NamedTuple):
    """A machine of one contender, what it was taught and the samples to predict for, call by call."""

    estimator: Any
    lesson: Lesson
    calls: list[np.ndarray]


def train_first(n: int, rows: int, calls: int, contender: str) -> Trained:
    """Each contender predicts with a machine of its own, trained before the clock starts."""
    lesson = prepare(MACHINE, partial(data.cls_split, n, rows * calls), contender)
    return Trained(fit(contender, lesson), lesson, np.split(lesson.samples.X_test, calls))


def predict(trained: Trained) -> np.ndarray:
    return np.concatenate([trained.estimator.predict(rows) for rows in trained.calls])


def agreement(trained: Trained, predicted: np.ndarray) -> Quality:
    """With mercer's labels, asked for when all is over: its threads are not to be there before."""
    reference = fit("mercer", trained.lesson)
    return {
        "agreement": float(np.mean(reference.predict(trained.lesson.samples.X_test) == predicted)),
        "support vectors": len(trained.estimator.support_),
    }


def predict_task(name: str, title: str, n: int, rows: int, calls: int, repeats: int) -> Task:
    return Task(
        name=name,
        title=title,
        group=GROUP,
        setup=partial(train_first, n, rows, calls),
        contenders=dict.fromkeys(able(MACHINE), predict),
        quality=agreement,
        tolerance={"agreement": ("absolute", 2e-3)},
        calls=calls,
        repeats=repeats,
    )


TASKS = [
    *(
        fit_task(f"svc-fit-{n}", f"fit, n = {n}", MACHINE, partial(data.cls_split, n), group=GROUP, repeats=repeats)
        for n, repeats in ((2000, 15), (10_000, 5), (30_000, 3))
    ),
    fit_task(
        "svc-fit-30000-float32",
        "fit, n = 30000, float32",
        MACHINE,
        partial(data.cls_split, 30_000, dtype=np.float32),
        without=("thundersvm",),  # it takes everything as float32: nothing new
        group=GROUP,
        repeats=3,
    ),
    fit_task("svc-fit-digits", "fit, digits, 10 classes", MACHINE, data.digits, group=GROUP, repeats=15),
    predict_task("svc-predict-20000", "predict 20000 rows, trained on n = 30000", 30_000, 20_000, 1, 9),
    predict_task("svc-predict-1", "predict one row, trained on n = 5000", 5000, 1, 500, 5),
]
