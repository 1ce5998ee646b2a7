"""Support vector classification: training and prediction, C=1, gamma="scale", tol=1e-3."""

from functools import partial
from typing import Any

import numpy as np

from benchmarks import data
from benchmarks.compare.peers import installed
from benchmarks.task import Task
from mercer.kernels import RBF

GAMMA = 1.0 / 20.0  # "scale", for standardised data of 20 features


def mercer_svc() -> Any:
    from mercer.svm import SVC

    return SVC(RBF(gamma=GAMMA), C=1.0, tol=1e-3)


def sklearn_svc() -> Any:
    from sklearn.svm import SVC

    return SVC(C=1.0, gamma=GAMMA, tol=1e-3)


def intelex_svc() -> Any:
    from sklearnex.svm import SVC

    return SVC(C=1.0, gamma=GAMMA, tol=1e-3)


MACHINES = {"mercer": mercer_svc, "scikit-learn": sklearn_svc}
if installed("sklearnex"):
    MACHINES["intelex"] = intelex_svc


def fit(make, split):
    X, y, _, _ = split
    return make().fit(X, y)


def fit_quality(split, machine) -> dict[str, float]:
    """Dual objective, computed by us for all, and accuracy on test samples."""
    _, _, X_test, y_test = split
    coefficients = np.asarray(machine.dual_coef_).ravel()
    support = np.ascontiguousarray(machine.support_vectors_)
    norm = coefficients @ RBF(gamma=GAMMA).dot(support, support, coefficients)
    decision = RBF(gamma=GAMMA).dot(X_test, support, coefficients) + machine.intercept_[0]
    return {
        "dual objective": float(np.abs(coefficients).sum() - 0.5 * norm),
        "accuracy": float(np.mean((decision > 0) == (y_test == 1))),
        "support vectors": len(coefficients),
    }


def fitted(make, n, n_new):
    X, y, X_new, _ = data.cls_split(n, n_new)
    return make().fit(X, y), X_new


def predict_setup(n, n_new):
    """Each contender predicts with a machine of its own, trained before the clock starts."""
    return {name: fitted(make, n, n_new) for name, make in MACHINES.items()}


def predict(name, machines):
    machine, X_new = machines[name]
    return machine.predict(X_new)


def predict_quality(machines, predicted) -> dict[str, float]:
    machine, X_new = machines["mercer"]
    return {"agreement": float(np.mean(machine.predict(X_new) == predicted))}


SAME_FIT = {"dual objective": ("relative", 1e-4), "accuracy": ("absolute", 2e-3)}

TASKS = [
    Task(
        name=f"svc-fit-{n}",
        title=f"SVC fit, n = {n}, d = 20",
        setup=partial(data.cls_split, n),
        contenders={name: partial(fit, make) for name, make in MACHINES.items()},
        quality=fit_quality,
        tolerance=SAME_FIT,
        repeats=repeats,
    )
    for n, repeats in ((2000, 15), (10_000, 5), (30_000, 3))
] + [
    Task(
        name=f"svc-predict-{n}",
        title=f"SVC predict {n_new} rows, trained on n = {n}",
        setup=partial(predict_setup, n, n_new),
        contenders={name: partial(predict, name) for name in MACHINES},
        quality=predict_quality,
        tolerance={"agreement": ("absolute", 2e-3)},
        repeats=repeats,
    )
    for n, n_new, repeats in ((2000, 5000, 15), (10_000, 10_000, 5), (30_000, 20_000, 3))
]
