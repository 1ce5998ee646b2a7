"""The names of the algorithms that learn weights."""

from typing import Any

from mercer.gram import GramStack
from mercer.problems import Elastic, NormBall, Simplex, WeightSet
from mercer.solvers.kernel_weights import (
    Alternating,
    JointSMO,
    KernelWeightsSolver,
    LevelMethod,
    ReducedGradient,
    SemiInfinite,
)
from mercer.solvers.kernel_weights.smo import fits

__all__ = ["ALGORITHMS", "solver_for"]

ALGORITHMS: dict[str, type[KernelWeightsSolver]] = {
    "alternating": Alternating,
    "level": LevelMethod,
    "silp": SemiInfinite,
    "simple": ReducedGradient,
    "smo": JointSMO,
}


def solver_for(
    algorithm: Any, weights: WeightSet, limits: dict[str, Any], stack: GramStack | None = None
) -> KernelWeightsSolver:
    """The solver of a name, with its limits, or the one that is given as such; `stack` once there is one."""
    if isinstance(algorithm, KernelWeightsSolver):
        return algorithm
    if isinstance(algorithm, str) and algorithm == "auto":
        # Pairs of variables reach a round set soonest, but take all kernel matrices in memory.
        pairs = isinstance(weights, NormBall | Elastic) and (stack is None or fits(stack, limits["memory"]))
        algorithm = "level" if isinstance(weights, Simplex) else "smo" if pairs else "alternating"
    if isinstance(algorithm, str) and algorithm in ALGORITHMS:
        return ALGORITHMS[algorithm](**limits)
    names = ", ".join(map(repr, ("auto", *ALGORITHMS)))
    raise ValueError(f"algorithm must be one of {names} or a solver of kernel weights, got {algorithm!r}.")
