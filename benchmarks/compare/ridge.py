"""Kernel ridge regression: one penalty, many of them, and more samples than a kernel matrix fits."""

from functools import partial
from typing import Any

import numpy as np
from sklearn.kernel_ridge import KernelRidge as TheirKernelRidge
from sklearn.model_selection import GridSearchCV

from benchmarks import data
from benchmarks.data import Samples
from benchmarks.task import Quality, Task
from mercer.kernels import RBF
from mercer.ridge import KernelRidge

PENALTIES = np.logspace(-4, 3, 50)
# scikit-learn's folds and our leaving one out choose neighbouring penalties.
SAME_CHOICE = 0.02


def width(X: np.ndarray) -> float:
    return 1.0 / (X.shape[1] * float(X.var()))


def samples(n: int, contender: str) -> Samples:
    return data.friedman(n)


def ours(found: Samples, **parameters: Any) -> Any:
    return KernelRidge(RBF(width(found.X)), **parameters).fit(found.X, found.y)


def theirs(found: Samples, **parameters: Any) -> Any:
    return TheirKernelRidge(kernel="rbf", gamma=width(found.X), **parameters).fit(found.X, found.y)


def searched(found: Samples) -> Any:
    machine = TheirKernelRidge(kernel="rbf", gamma=width(found.X))
    search = GridSearchCV(machine, {"alpha": PENALTIES}, cv=5, scoring="neg_mean_squared_error")
    return search.fit(found.X, found.y).best_estimator_


def quality(found: Samples, machine: Any) -> Quality:
    """The error on new samples, and how well the system is solved that the coefficients are of."""
    kernel, alpha = RBF(width(found.X)), getattr(machine, "alpha_", machine.alpha)
    coefficients = np.ravel(machine.dual_coef_)
    residual = found.y - kernel.dot(found.X, found.X, coefficients) - alpha * coefficients
    error = found.y_test - machine.predict(found.X_test)
    return {
        "relative residual": float(np.linalg.norm(residual) / np.linalg.norm(found.y)),
        "mean squared error": float(np.mean(error**2)),
    }


TASKS = [
    Task(
        name="ridge-fit-8000",
        title="KernelRidge fit, friedman1, n = 8000, RBF, alpha = 1",
        group="Least squares",
        setup=partial(samples, 8000),
        contenders={"mercer": partial(ours, alpha=1.0), "scikit-learn": partial(theirs, alpha=1.0)},
        quality=quality,
        tolerance={"mean squared error": ("relative", 1e-8), "relative residual": ("absolute", 1e-10)},
    ),
    Task(
        name="ridge-fit-8000-small",
        title="KernelRidge fit, friedman1, n = 8000, RBF, alpha = 0.01",
        group="Least squares",
        setup=partial(samples, 8000),
        contenders={"mercer": partial(ours, alpha=0.01), "scikit-learn": partial(theirs, alpha=0.01)},
        quality=quality,
        tolerance={"mean squared error": ("relative", 1e-7), "relative residual": ("absolute", 1e-10)},
    ),
    Task(
        name="ridge-path-4000",
        title="KernelRidge, best of 50 penalties, friedman1, n = 4000 (exact leaving one out; theirs: 5 folds)",
        group="Least squares",
        setup=partial(samples, 4000),
        contenders={"mercer": partial(ours, alpha=PENALTIES), "scikit-learn": searched},
        quality=quality,
        tolerance={"mean squared error": ("relative", SAME_CHOICE)},
        repeats=1,
    ),
    Task(
        name="ridge-fit-50000",
        title="KernelRidge fit, friedman1, n = 50000, 4 GB for kernel values, relative residual 1e-6",
        group="Least squares",
        setup=partial(samples, 50_000),
        contenders={"mercer": partial(ours, alpha=1.0, tol=1e-6, memory=4096)},
        quality=quality,
        repeats=0,
        full=True,
    ),
]
