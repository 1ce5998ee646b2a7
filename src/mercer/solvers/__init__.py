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
from mercer.solvers.chunking import Chunking
from mercer.solvers.decomposition import Decomposition
from mercer.solvers.descent import CoordinateDescent
from mercer.solvers.device_smo import DeviceSMO
from mercer.solvers.gradient import ProjectedGradient
from mercer.solvers.interior_point import InteriorPoint
from mercer.solvers.joint import BlockDescent, JointResult
from mercer.solvers.joint_linear import LinearBlockDescent
from mercer.solvers.kernel_newton import KernelNewton, RegularizedResult
from mercer.solvers.linear import LinearSolver
from mercer.solvers.logistic import LogisticNewton, LogisticResult
from mercer.solvers.lp import ColumnGeneration, HiGHS, LinearCertificate, LinearResult, combine_linear
from mercer.solvers.newton import ProximalNewton
from mercer.solvers.simple import SimpleSMO
from mercer.solvers.smo import SMO
from mercer.solvers.sparse import SparseNewton
from mercer.solvers.sparse_bayes import EvidenceHistory, SparseBayes, SparseBayesResult
from mercer.solvers.spd import SystemResult, solve_spd
from mercer.solvers.streaming import StreamingSMO
from mercer.solvers.subgradient import PrimalSubgradient

__all__ = [
    "SMO",
    "BlockDescent",
    "Certificate",
    "Chunking",
    "ColumnGeneration",
    "CoordinateDescent",
    "Decomposition",
    "DeviceSMO",
    "EvidenceHistory",
    "HiGHS",
    "History",
    "InteriorPoint",
    "JointResult",
    "KernelNewton",
    "LinearBlockDescent",
    "LinearCertificate",
    "LinearResult",
    "LinearSolver",
    "LogisticNewton",
    "LogisticResult",
    "PrimalSubgradient",
    "Progress",
    "ProjectedGradient",
    "ProximalNewton",
    "RegularizedResult",
    "SimpleSMO",
    "Solver",
    "SolverResult",
    "SolverResults",
    "SparseBayes",
    "SparseBayesResult",
    "SparseNewton",
    "StreamingSMO",
    "SystemResult",
    "certify",
    "combine",
    "combine_linear",
    "solve_spd",
    "warn_unless_solved",
]
