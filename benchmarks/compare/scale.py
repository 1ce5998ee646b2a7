"""Many samples: machines over landmarks, against scikit-learn's features of landmarks and a linear machine on them."""

from functools import partial
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem as TheirNystroem
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import LinearSVC as TheirLinearSVC

from benchmarks import data
from benchmarks.data import Samples
from benchmarks.task import Quality, Task
from mercer.kernels import RBF
from mercer.logistic import KernelLogisticRegression
from mercer.ridge import KernelRidge
from mercer.svm import SVC

GROUP = "Many samples, over landmarks"
# Landmarks are drawn by different rules: our errors are to be no larger, up to this.
NOISE = 2e-3


def width(X: np.ndarray) -> float:
    return 1.0 / (X.shape[1] * float(X.var()))


def values(n: int, contender: str) -> Samples:
    """A smooth function of twenty features and noise."""
    rng, n = np.random.default_rng(0), data.shrunk(n)
    X = rng.normal(size=(n + 20_000, 20))
    y = np.sin(X[:, 0] + X[:, 1]) + 0.5 * X[:, 2] * X[:, 3] + 0.3 * X[:, 4] + 0.2 * rng.normal(size=len(X))
    return Samples(X[:n], y[:n], X[n:], y[n:])


def classes(n: int, contender: str) -> Samples:
    return data.cls_split(n, 20_000)


def ridge(m: int, found: Samples) -> Any:
    machine = KernelRidge(RBF(width(found.X)), alpha=1.0, approximation=m, tol=1e-6)
    return machine.fit(found.X, found.y)


def their_ridge(m: int, found: Samples) -> Pipeline:
    features = TheirNystroem(kernel="rbf", gamma=width(found.X), n_components=m, random_state=0)
    return make_pipeline(features, Ridge(alpha=1.0, fit_intercept=False)).fit(found.X, found.y)


def svc(m: int, found: Samples) -> Any:
    return SVC(RBF(width(found.X)), C=1.0, approximation=m).fit(found.X, found.y)


def their_svc(m: int, found: Samples) -> Pipeline:
    features = TheirNystroem(kernel="rbf", gamma=width(found.X), n_components=m, random_state=0)
    return make_pipeline(features, TheirLinearSVC(C=1.0, loss="hinge", max_iter=1000)).fit(found.X, found.y)


def logistic(m: int, found: Samples) -> Any:
    return KernelLogisticRegression(RBF(width(found.X)), C=1.0, approximation=m).fit(found.X, found.y)


def their_logistic(m: int, found: Samples) -> Pipeline:
    features = TheirNystroem(kernel="rbf", gamma=width(found.X), n_components=m, random_state=0)
    return make_pipeline(features, LogisticRegression(C=1.0, max_iter=1000)).fit(found.X, found.y)


def error_of_values(found: Samples, machine: Any) -> Quality:
    predicted = machine.predict(found.X_test)
    return {"mean squared error": float(np.mean((found.y_test - predicted) ** 2)), **certificate(machine)}


def error_of_classes(found: Samples, machine: Any) -> Quality:
    return {"error": float(np.mean(found.y_test != machine.predict(found.X_test))), **certificate(machine)}


def error_of_probabilities(found: Samples, machine: Any) -> Quality:
    loss = float(log_loss(found.y_test, machine.predict_proba(found.X_test)))
    return {"log loss": loss, **certificate(machine)}


def certificate(machine: Any) -> Quality:
    result = getattr(machine, "result_", None)
    if result is None:
        return {}
    return {"relative gap": float(result.gap / abs(result.objective)), "status": result.status}


def ridge_task(n: int, m: int, peer: bool) -> Task:
    return Task(
        name=f"landmarks-ridge-{n}",
        title=f"KernelRidge, n = {n}, {m} landmarks",
        group=GROUP,
        setup=partial(values, n),
        contenders={"mercer": partial(ridge, m)} | ({"scikit-learn": partial(their_ridge, m)} if peer else {}),
        quality=error_of_values,
        tolerance={"mean squared error": ("at most", NOISE)},
        repeats=0,
        limit=600,
        full=True,
    )


def svc_task(n: int, m: int, peer: bool) -> Task:
    return Task(
        name=f"landmarks-svc-{n}",
        title=f"SVC, C = 1, n = {n}, {m} landmarks",
        group=GROUP,
        setup=partial(classes, n),
        contenders={"mercer": partial(svc, m)} | ({"scikit-learn": partial(their_svc, m)} if peer else {}),
        quality=error_of_classes,
        tolerance={"error": ("at most", NOISE)},
        repeats=0,
        limit=600,
        full=True,
    )


def logistic_task(n: int, m: int, peer: bool) -> Task:
    return Task(
        name=f"landmarks-logistic-{n}",
        title=f"KernelLogisticRegression, C = 1, n = {n}, {m} landmarks",
        group=GROUP,
        setup=partial(classes, n),
        contenders={"mercer": partial(logistic, m)} | ({"scikit-learn": partial(their_logistic, m)} if peer else {}),
        quality=error_of_probabilities,
        tolerance={"log loss": ("at most", NOISE)},
        repeats=0,
        limit=600,
        full=True,
    )


# The features of a million samples would take scikit-learn 32 GB.
TASKS = [
    ridge_task(200_000, 2000, peer=True),
    ridge_task(1_000_000, 2000, peer=False),
    svc_task(200_000, 2000, peer=True),
    svc_task(1_000_000, 2000, peer=False),
    logistic_task(200_000, 2000, peer=True),
    logistic_task(1_000_000, 2000, peer=False),
]
