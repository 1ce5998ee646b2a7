"""One instance, at least, of every public machine that is no support vector machine.

There is a module for each room, or for several small ones, with

- ``ROOMS``: the modules of mercer whose public estimators it holds;
- ``MACHINES``: functions that make an unfitted machine, by names that start with that of its class;
and, where there is something to say,

- ``ORDERED``: the classes whose result depends on the order of the samples, or on what is drawn for each of them;
- ``ON_VALUES``: classes that are no regressors and learn from values all the same;
- ``ON_VECTORS``: classes that need vectors, whatever the kernel: they draw points or features of their own;
- ``NO_EXPANSION``: classes whose output is no ``K(X, support_vectors_) @ dual_coef_.T + intercept_``;
- ``CENTRES``: names of machines whose support vectors are means of vectors, and no training samples;
- ``KERNELS``: classes that do not take every kernel on vectors, each with a function that makes one for it;
- ``TO_A_GAP``: classes that end at a gap, so that other orders of samples may end at other points within it;
- ``OWN_KERNEL``: names of machines that tune their kernel, so that it is not the one they are given;
- ``FAILURES``: function from a machine to scikit-learn's checks that it cannot pass, with the reason.
"""

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_outlier_detector, is_regressor

from mercer.kernels import RBF, Kernel

__all__ = [
    "CENTRES",
    "MACHINES",
    "NO_EXPANSION",
    "ON_VECTORS",
    "ORDERED",
    "OWN_KERNEL",
    "ROOMS",
    "TO_A_GAP",
    "expected_failures",
    "kernel_for",
    "lesson",
    "outputs",
]

MODULES = tuple(import_module(f"machine_registry.{module.name}") for module in iter_modules(__path__))

MACHINES: dict[str, Callable[[], Any]] = {name: make for module in MODULES for name, make in module.MACHINES.items()}
ROOMS: tuple[ModuleType, ...] = tuple(room for module in MODULES for room in module.ROOMS)


def classes(name: str) -> tuple[type, ...]:
    """What all modules list under a name."""
    return tuple(kind for module in MODULES for kind in getattr(module, name, ()))


ORDERED, ON_VALUES = classes("ORDERED"), classes("ON_VALUES")
ON_VECTORS, NO_EXPANSION, TO_A_GAP = classes("ON_VECTORS"), classes("NO_EXPANSION"), classes("TO_A_GAP")
OWN_KERNEL: tuple[str, ...] = tuple(name for module in MODULES for name in getattr(module, "OWN_KERNEL", ()))
CENTRES: tuple[str, ...] = tuple(name for module in MODULES for name in getattr(module, "CENTRES", ()))
KERNELS = {kind: make for module in MODULES for kind, make in getattr(module, "KERNELS", {}).items()}


def kernel_for(machine: Any) -> Kernel:
    """A kernel on vectors that a machine takes."""
    return KERNELS[type(machine)]() if type(machine) in KERNELS else RBF(gamma=0.4)


def expected_failures(machine: Any) -> dict[str, str]:
    """scikit-learn's checks that a machine cannot pass, with the reason."""
    found: dict[str, str] = {}
    for module in MODULES:
        if hasattr(module, "FAILURES"):
            found |= module.FAILURES(machine)
    return found


def lesson(machine: Any, n: int = 60, d: int = 3, seed: int = 0, n_classes: int = 2) -> tuple[Any, ...]:
    """n samples, and what the machine learns from them: classes, values, or nothing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    if is_regressor(machine) or isinstance(machine, ON_VALUES):
        return X, np.sin(X[:, 0]) + 0.5 * X[:, -1] + 0.2 * rng.normal(size=n)
    classes = rng.permutation(np.arange(n) % n_classes)
    X[:, 0] += 1.5 * classes
    return (X, classes) if machine.__sklearn_tags__().target_tags.required else (X,)


def outputs(machine: Any, X: Any) -> np.ndarray:
    """What a fitted machine says of samples, as numbers: decision values, values, new coordinates or clusters."""
    if is_classifier(machine) or is_outlier_detector(machine):
        return machine.decision_function(X)
    return machine.transform(X) if hasattr(machine, "transform") else machine.predict(X)
