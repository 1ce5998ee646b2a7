"""The names of the algorithms that learn weights."""

from typing import Any

from mercer.problems import Simplex, WeightSet
from mercer.solvers.kernel_weights import (
    Accelerated,
    Alternating,
    Conic,
    KernelWeightsSolver,
    LevelMethod,
    NewtonMethod,
    ProjectedGradient,
    ReducedGradient,
    SemiInfinite,
)

__all__ = ["ALGORITHMS", "solver_for"]

ALGORITHMS: dict[str, type[KernelWeightsSolver]] = {
    "alternating": Alternating,
    "level": LevelMethod,
    "nesterov": Accelerated,
    "newton": NewtonMethod,
    "projected": ProjectedGradient,
    "qclp": Conic,
    "silp": SemiInfinite,
    "simple": ReducedGradient,
}


def solver_for(algorithm: Any, weights: WeightSet, joint: bool, limits: dict[str, Any]) -> KernelWeightsSolver:
    """The solver of a name, with its limits, or the one that is given as such.

    `joint` says whether classes are learnt by one objective.
    """
    if isinstance(algorithm, KernelWeightsSolver):
        return algorithm
    if isinstance(algorithm, str) and algorithm == "auto":
        algorithm = ("level" if joint else "newton") if isinstance(weights, Simplex) else "alternating"
    if isinstance(algorithm, str) and algorithm in ALGORITHMS:
        return ALGORITHMS[algorithm](**limits)
    names = ", ".join(map(repr, ("auto", *ALGORITHMS)))
    raise ValueError(f"algorithm must be one of {names} or a solver of kernel weights, got {algorithm!r}.")
