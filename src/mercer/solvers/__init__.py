"""Solvers: a problem in, a result out that proves how good it is."""

from mercer.solvers.base import (
    Certificate,
    History,
    Progress,
    Solver,
    SolverResult,
    SolverResults,
    certify,
    combine,
    warn_unless_solved,
)
from mercer.solvers.descent import CoordinateDescent
from mercer.solvers.joint import BlockDescent, JointResult
from mercer.solvers.joint_linear import LinearBlockDescent
from mercer.solvers.linear import LinearSolver
from mercer.solvers.logistic import LogisticNewton, LogisticResult
from mercer.solvers.newton import ProximalNewton
from mercer.solvers.simple import SimpleSMO
from mercer.solvers.smo import SMO
from mercer.solvers.sparse import SparseNewton

__all__ = [
    "SMO",
    "BlockDescent",
    "Certificate",
    "CoordinateDescent",
    "History",
    "JointResult",
    "LinearBlockDescent",
    "LinearSolver",
    "LogisticNewton",
    "LogisticResult",
    "Progress",
    "ProximalNewton",
    "SimpleSMO",
    "Solver",
    "SolverResult",
    "SolverResults",
    "SparseNewton",
    "certify",
    "combine",
    "warn_unless_solved",
]
