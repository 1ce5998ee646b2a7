"""Linear programming machines."""

from collections.abc import Callable
from typing import Any

from mercer import kernels, lp
from mercer.solvers import ColumnGeneration

ROOMS = (lp,)

MACHINES: dict[str, Callable[[], Any]] = {
    "LPClassifier": lambda: lp.LPClassifier(),
    "LPClassifier balanced": lambda: lp.LPClassifier(C=3.0, class_weight="balanced"),
    "LPClassifier by columns": lambda: lp.LPClassifier(solver=ColumnGeneration(tol=1e-8)),
    "LPClassifier indefinite": lambda: lp.LPClassifier(kernels.Sigmoid(gamma=0.2, coef0=-0.1)),
    "LPNoveltyDetector": lambda: lp.LPNoveltyDetector(),
    "LPNoveltyDetector hard": lambda: lp.LPNoveltyDetector(kernels.Laplacian(), nu=0.0),
    "LPRegressor": lambda: lp.LPRegressor(),
    "LPRegressor by columns": lambda: lp.LPRegressor(C=3.0, solver=ColumnGeneration(tol=1e-8)),
    "NuLPClassifier": lambda: lp.NuLPClassifier(class_weight="balanced"),
}


def FAILURES(machine: Any) -> dict[str, str]:
    """Checks that ask for outliers, or for weights that leave no room."""
    if isinstance(machine, lp.NuLPClassifier):
        return {
            "check_class_weight_classifiers": "Class weights of 1000 to 0.0001 leave no room for nu = 0.5: at most "
            "twice the share of the smaller class is feasible."
        }
    if isinstance(machine, lp.LPNoveltyDetector) and machine.nu == 0.0:
        reason = "The hard margin has all training samples inside."
        return dict.fromkeys(("check_outliers_train", "check_outliers_fit_predict"), reason)
    return {}
