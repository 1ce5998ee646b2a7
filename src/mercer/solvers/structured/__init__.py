"""Solvers of `mercer.problems.StructuredProblem`."""

from mercer.solvers.structured.base import (
    StructuredHistory,
    StructuredResult,
    StructuredRun,
    StructuredSolver,
)
from mercer.solvers.structured.convex_concave import ConvexConcave
from mercer.solvers.structured.cutting_planes import NSlack, OneSlack
from mercer.solvers.structured.frank_wolfe import BlockFrankWolfe
from mercer.solvers.structured.subgradient import SubgradientDescent

__all__ = [
    "BlockFrankWolfe",
    "ConvexConcave",
    "NSlack",
    "OneSlack",
    "StructuredHistory",
    "StructuredResult",
    "StructuredRun",
    "StructuredSolver",
    "SubgradientDescent",
]
