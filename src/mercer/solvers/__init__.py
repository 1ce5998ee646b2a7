"""Solvers: a problem in, a result out that proves how good it is."""

from mercer.solvers.base import History, Progress, Solver, SolverResult, certify, combine, warn_unless_solved
from mercer.solvers.simple import SimpleSMO
from mercer.solvers.smo import SMO

__all__ = [
    "SMO",
    "History",
    "Progress",
    "SimpleSMO",
    "Solver",
    "SolverResult",
    "certify",
    "combine",
    "warn_unless_solved",
]
