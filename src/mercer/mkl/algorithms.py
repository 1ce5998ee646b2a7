"""The names of the algorithms that learn weights."""

from typing import Any

from mercer.mkl.rules import Alignment, DivConv, DivDC, Easy, Uniform, WeightRule
from mercer.problems import Simplex, WeightSet
from mercer.solvers.kernel_weights import (
    Alternating,
    FixedWeights,
    KernelWeightsSolver,
    LevelMethod,
    ReducedGradient,
    SemiInfinite,
)

__all__ = ["ALGORITHMS", "RULES", "rule_for", "solver_for"]

ALGORITHMS: dict[str, type[KernelWeightsSolver]] = {
    "alternating": Alternating,
    "level": LevelMethod,
    "silp": SemiInfinite,
    "simple": ReducedGradient,
}

RULES: dict[str, type[WeightRule]] = {
    "alignment": Alignment,
    "div-conv": DivConv,
    "div-dc": DivDC,
    "easy": Easy,
    "uniform": Uniform,
}


def rule_for(algorithm: Any) -> WeightRule | None:
    """The rule of a name, or the one that is given as such; None where weights are learnt with the machine."""
    if isinstance(algorithm, str) and algorithm in RULES:
        return RULES[algorithm]()
    return algorithm if isinstance(algorithm, WeightRule) else None


def solver_for(algorithm: Any, weights: WeightSet, limits: dict[str, Any]) -> KernelWeightsSolver:
    """The solver of a name, with its limits, or the one that is given as such."""
    if isinstance(algorithm, KernelWeightsSolver):
        return algorithm
    if rule_for(algorithm) is not None:
        return FixedWeights(**limits)
    if isinstance(algorithm, str) and algorithm == "auto":
        algorithm = "level" if isinstance(weights, Simplex) else "alternating"
    if isinstance(algorithm, str) and algorithm in ALGORITHMS:
        return ALGORITHMS[algorithm](**limits)
    names = ", ".join(map(repr, ("auto", *ALGORITHMS, *RULES)))
    raise ValueError(f"algorithm must be one of {names}, a solver of kernel weights or a rule, got {algorithm!r}.")
