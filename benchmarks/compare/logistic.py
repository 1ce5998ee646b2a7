"""Kernel logistic regression, against linear logistic regression on features whose products are the kernel matrix.

scikit-learn has no such machine. What its users can do is to take the rows of a Cholesky factor of the kernel matrix as
features: the problem is the same to the last digits, and the factor is part of the work.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cholesky
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from benchmarks import data
from benchmarks.data import Samples
from benchmarks.task import Quality, Task
from mercer.kernels import RBF
from mercer.logistic import KernelLogisticRegression

PRICE = 10.0
# On the diagonal, for a factor to exist where rows of the matrix are all but dependent.
JITTER = 1e-10


class Peer(NamedTuple):
    """Their machine, and the features it is of."""

    machine: LogisticRegression
    features: np.ndarray


def width(X: np.ndarray) -> float:
    return 1.0 / (X.shape[1] * float(X.var()))


def ours(found: Samples) -> KernelLogisticRegression:
    return KernelLogisticRegression(RBF(width(found.X)), C=PRICE).fit(found.X, found.y)


def theirs(found: Samples, solver: str) -> Peer:
    K = RBF(width(found.X))(found.X)
    K.flat[:: len(K) + 1] += JITTER
    features = cholesky(K, lower=True, overwrite_a=True, check_finite=False)
    machine = LogisticRegression(C=PRICE, solver=solver, tol=1e-5, max_iter=10_000)
    return Peer(machine.fit(features, found.y), features)


def quality(found: Samples, outcome: Any) -> Quality:
    """What is minimised."""
    if isinstance(outcome, KernelLogisticRegression):
        return {"objective": outcome.result_.primal_objective}
    losses = log_loss(found.y, outcome.machine.predict_proba(outcome.features), normalize=False)
    return {"objective": float(0.5 * (outcome.machine.coef_**2).sum() + PRICE * losses)}


SAME = {"objective": ("relative", 1e-5)}

TASKS = [
    Task(
        name="logistic-3000",
        title="KernelLogisticRegression, n = 3000, RBF, C = 10 (theirs: LogisticRegression on a Cholesky factor)",
        group="Logistic regression",
        setup=lambda _: data.cls_split(3000),
        contenders={
            "mercer": ours,
            "scikit-learn": partial(theirs, solver="newton-cholesky"),
            "scikit-learn lbfgs": partial(theirs, solver="lbfgs"),
        },
        quality=quality,
        tolerance=SAME,
        repeats=3,
    ),
    Task(
        name="logistic-digits",
        title="the same, softmax of ten classes, digits",
        group="Logistic regression",
        setup=lambda _: data.digits(),
        contenders={"mercer": ours, "scikit-learn": partial(theirs, solver="lbfgs")},
        quality=quality,
        tolerance=SAME,
        repeats=3,
    ),
]
