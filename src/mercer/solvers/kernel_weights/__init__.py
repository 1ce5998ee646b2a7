"""Solvers of `mercer.problems.KernelWeightsProblem`: weights of kernels and a machine on their sum, learnt together."""

from mercer.solvers.kernel_weights.alternating import Alternating
from mercer.solvers.kernel_weights.base import KernelWeightsHistory, KernelWeightsResult, KernelWeightsSolver
from mercer.solvers.kernel_weights.conic import Conic
from mercer.solvers.kernel_weights.fixed import FixedWeights
from mercer.solvers.kernel_weights.level import LevelMethod
from mercer.solvers.kernel_weights.nesterov import Accelerated
from mercer.solvers.kernel_weights.newton import NewtonMethod
from mercer.solvers.kernel_weights.projected import ProjectedGradient
from mercer.solvers.kernel_weights.semidefinite import SemiDefinite
from mercer.solvers.kernel_weights.silp import SemiInfinite
from mercer.solvers.kernel_weights.simple import ReducedGradient
from mercer.solvers.kernel_weights.smo import JointSMO

__all__ = [
    "Accelerated",
    "Alternating",
    "Conic",
    "FixedWeights",
    "JointSMO",
    "KernelWeightsHistory",
    "KernelWeightsResult",
    "KernelWeightsSolver",
    "LevelMethod",
    "NewtonMethod",
    "ProjectedGradient",
    "ReducedGradient",
    "SemiDefinite",
    "SemiInfinite",
]
