"""Linear programming machines beside the whole programme given to linprog."""

from functools import partial

import numpy as np
from scipy.optimize import linprog

from benchmarks import data
from benchmarks.data import Samples
from benchmarks.task import Quality, Results, Task, times_faster
from mercer.kernels import RBF
from mercer.lp import LPClassifier, LPRegressor

C, EPSILON = 1.0, 0.1
# Some samples have a coefficient, or most of them.
SOME, MOST = {"kernel": RBF(), "C": C}, {"kernel": RBF(gamma=0.1), "C": 10.0}


def classes(n: int, _contender: str) -> Samples:
    X, y = data.cls(n)
    return Samples(X, np.where(y == 1, 1.0, -1.0), None, None)


def values(n: int, _contender: str) -> Samples:
    samples = data.friedman(n)
    return Samples(samples.X, samples.y, None, None)


def classifier(lesson: Samples, kernel: RBF, C: float) -> float:
    return LPClassifier(kernel, C=C).fit(lesson.X, lesson.y).result_.objective


def regressor(lesson: Samples) -> float:
    return LPRegressor(C=C, epsilon=EPSILON).fit(lesson.X, lesson.y).result_.objective


def classifier_by_linprog(lesson: Samples, kernel: RBF, C: float) -> float:
    """Variables alpha, alpha hat, b and xi, as the books write them."""
    K, y = kernel(lesson.X), lesson.y[:, np.newaxis]
    n = len(K)
    rows = -np.hstack([y * K, -y * K, y, np.eye(n)])
    cost = np.concatenate([np.ones(2 * n), [0.0], np.full(n, C)])
    bounds = [(0, None)] * (2 * n) + [(None, None)] + [(0, None)] * n
    return linprog(cost, A_ub=rows, b_ub=-np.ones(n), bounds=bounds).fun


def regressor_by_linprog(lesson: Samples) -> float:
    """Variables alpha, alpha hat, b, xi and xi hat."""
    K, y = RBF()(lesson.X), lesson.y
    n = len(K)
    one, eye, none = np.ones((n, 1)), np.eye(n), np.zeros((n, n))
    rows = np.vstack([np.hstack([-K, K, -one, -eye, none]), np.hstack([K, -K, one, none, -eye])])
    cost = np.concatenate([np.ones(2 * n), [0.0], np.full(2 * n, C)])
    bounds = [(0, None)] * (2 * n) + [(None, None)] + [(0, None)] * (2 * n)
    return linprog(cost, A_ub=rows, b_ub=np.concatenate([EPSILON - y, EPSILON + y]), bounds=bounds).fun


def quality(_lesson: Samples, objective: float) -> Quality:
    return {"objective": objective}


SAME = {"objective": ("relative", 1e-6)}

TASKS = [
    Task(
        name="lp-classifier-2000",
        title="LPClassifier, RBF, n = 2000, C = 1",
        group="Linear programming machines",
        setup=partial(classes, 2000),
        contenders={"mercer": partial(classifier, **SOME), "linprog": partial(classifier_by_linprog, **SOME)},
        quality=quality,
        tolerance=SAME,
        repeats=1,
    ),
    Task(
        name="lp-classifier-many-coefficients-1000",
        title="LPClassifier, RBF(gamma=0.1), n = 1000, C = 10",
        group="Linear programming machines",
        setup=partial(classes, 1000),
        contenders={"mercer": partial(classifier, **MOST), "linprog": partial(classifier_by_linprog, **MOST)},
        quality=quality,
        tolerance=SAME,
        repeats=1,
    ),
    Task(
        name="lp-regressor-1000",
        title="LPRegressor, RBF, friedman1, n = 1000, C = 1",
        group="Linear programming machines",
        setup=partial(values, 1000),
        contenders={"mercer": regressor, "linprog": regressor_by_linprog},
        quality=quality,
        tolerance=SAME,
        repeats=1,
    ),
    Task(
        name="lp-classifier-10000",
        title="LPClassifier, RBF, n = 10000, C = 1",
        group="Linear programming machines",
        setup=partial(classes, 10_000),
        contenders={"mercer": partial(classifier, **SOME)},
        quality=quality,
        repeats=0,
        full=True,
    ),
]


def summary(results: Results) -> dict | None:
    """How many times faster than linprog."""
    beginning = "Linear programming machines, how many times faster than the whole programme given to linprog"
    return times_faster(TASKS, results, "linprog", beginning)
