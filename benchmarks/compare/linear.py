"""Linear machines, with the offset of LIBLINEAR: the weight of a constant feature."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import make_classification

from benchmarks.data import Samples, moved, shrunk
from benchmarks.real_data import LINEAR_DATA_SETS
from benchmarks.task import Quality, Task

C = 1.0
# Where mercer stops: a relative gap that is smaller than what the others reach by their own rules.
GAP = {"hinge": 3e-5, "squared_hinge": 1e-6}
# The same optimum, and as useful.
SAME = {"primal objective": ("relative", 1e-3), "accuracy": ("absolute", 2e-3)}


class Lesson(NamedTuple):
    """What is to be learnt, and at which loss."""

    loss: str
    samples: Samples


def large(n: int = 200_000) -> Samples:
    """Two classes in 100 features, half of them informative."""
    X, y = make_classification(shrunk(n), 100, n_informative=50, random_state=0)
    return Samples(X, y, *moved(X, y, 5000))


def prepare(loss: str, samples: Any, contender: str) -> Lesson:
    return Lesson(loss, samples())


def mercer(lesson: Lesson) -> Any:
    from mercer.svm import LinearSVC

    machine = LinearSVC(C, loss=lesson.loss, intercept="penalised", tol=0.1, gap_tol=GAP[lesson.loss])
    return machine.fit(lesson.samples.X, lesson.samples.y)


def scikit_learn(lesson: Lesson) -> Any:
    from sklearn.svm import LinearSVC

    # For the squared loss it takes the primal where samples are more than features.
    dual = True if lesson.loss == "hinge" else "auto"
    machine = LinearSVC(C=C, loss=lesson.loss, dual=dual, random_state=0)
    return machine.fit(lesson.samples.X, lesson.samples.y)


def quality(lesson: Lesson, machine: Any) -> Quality:
    """The primal objective, summed over the classes, from weights and offsets alone."""
    loss, (X, y, X_test, y_test) = lesson
    classes = np.unique(y)
    total = 0.0
    for k, (w, b) in enumerate(zip(machine.coef_, np.ravel(machine.intercept_), strict=True)):
        positive = y == classes[-1] if len(classes) == 2 else y == classes[k]
        slack = np.maximum(0.0, 1.0 - np.where(positive, 1.0, -1.0) * (X @ w + b))
        total += 0.5 * (w @ w + b * b) + C * float((slack if loss == "hinge" else slack**2).sum())
    numbers = {"primal objective": total, "accuracy": float(np.mean(machine.predict(X_test) == y_test))}
    if type(machine).__module__.startswith("mercer"):
        result = machine.result_
        numbers |= {"status": result.status, "violation": result.violation, "relative gap": result.relative_gap}
    return numbers


def fit_task(name: str, title: str, loss: str, samples: Any, **options: Any) -> Task:
    return Task(
        name=name,
        title=f"{title}, {loss.replace('_', ' ')}",
        group="LinearSVC, C = 1",
        setup=partial(prepare, loss, samples),
        contenders={"mercer": mercer, "scikit-learn": scikit_learn},
        quality=quality,
        tolerance=SAME,
        **options,
    )


TASKS = [
    fit_task("linear-hinge", "200 000 x 100", "hinge", large, repeats=0),
    fit_task("linear-squared", "200 000 x 100", "squared_hinge", large, repeats=3),
    *(
        fit_task(
            f"linear-{data_set.name}-{'hinge' if loss == 'hinge' else 'squared'}",
            data_set.title,
            loss,
            data_set.samples,
            needs=data_set.paths,
        )
        for data_set in LINEAR_DATA_SETS
        for loss in ("hinge", "squared_hinge")
    ),
]
