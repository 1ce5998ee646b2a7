"""Solvers of `mercer.problems.KernelWeightsProblem`: weights of kernels and a machine on their sum, learnt together."""

from mercer.solvers.kernel_weights.alternating import Alternating
from mercer.solvers.kernel_weights.base import KernelWeightsHistory, KernelWeightsResult, KernelWeightsSolver
from mercer.solvers.kernel_weights.fixed import FixedWeights
from mercer.solvers.kernel_weights.level import LevelMethod
from mercer.solvers.kernel_weights.silp import SemiInfinite
from mercer.solvers.kernel_weights.simple import ReducedGradient

__all__ = [
    "Alternating",
    "FixedWeights",
    "KernelWeightsHistory",
    "KernelWeightsResult",
    "KernelWeightsSolver",
    "LevelMethod",
    "ReducedGradient",
    "SemiInfinite",
]
