"""Solvers of `mercer.problems.StructuredProblem`."""

from mercer.solvers.structured.base import (
    StructuredHistory,
    StructuredResult,
    StructuredRun,
    StructuredSolver,
)
from mercer.solvers.structured.frank_wolfe import BlockFrankWolfe

__all__ = [
    "BlockFrankWolfe",
    "StructuredHistory",
    "StructuredResult",
    "StructuredRun",
    "StructuredSolver",
]
