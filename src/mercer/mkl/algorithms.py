"""The names of the algorithms that learn weights."""

from typing import Any

from mercer.gram import GramStack
from mercer.problems import Elastic, NormBall, Simplex, WeightSet
from mercer.solvers.kernel_weights import (
    Accelerated,
    Alternating,
    Conic,
    JointSMO,
    KernelWeightsSolver,
    LevelMethod,
    NewtonMethod,
    ProjectedGradient,
    ReducedGradient,
    SemiInfinite,
)
from mercer.solvers.kernel_weights.smo import fits

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
    "smo": JointSMO,
}


def solver_for(
    algorithm: Any, weights: WeightSet, joint: bool, limits: dict[str, Any], stack: GramStack | None = None
) -> KernelWeightsSolver:
    """The solver of a name, with its limits, or the one that is given as such.

    `joint` says whether classes are learnt by one objective; `stack` has the kernel matrices, once there are any.
    """
    if isinstance(algorithm, KernelWeightsSolver):
        return algorithm
    if isinstance(algorithm, str) and algorithm == "auto":
        algorithm = _fastest(weights, joint, stack, limits["memory"])
    if isinstance(algorithm, str) and algorithm in ALGORITHMS:
        return ALGORITHMS[algorithm](**limits)
    names = ", ".join(map(repr, ("auto", *ALGORITHMS)))
    raise ValueError(f"algorithm must be one of {names} or a solver of kernel weights, got {algorithm!r}.")


def _fastest(weights: WeightSet, joint: bool, stack: GramStack | None, memory: float | str) -> str:
    """The algorithm that is the fastest by our measurements."""
    if isinstance(weights, Simplex):
        return "level" if joint else "newton"
    # Pairs of variables reach a round set soonest, but take all kernel matrices in memory.
    pairs = isinstance(weights, NormBall | Elastic) and (stack is None or fits(stack, memory))
    return "smo" if pairs and not joint else "alternating"
