"""Solvers of `mercer.problems.LinearProblem`: the whole programme at once, or the columns that it needs."""

from mercer.solvers.lp.columns import ColumnGeneration
from mercer.solvers.lp.highs import HiGHS
from mercer.solvers.lp.result import LinearCertificate, LinearResult, combine_linear

__all__ = ["ColumnGeneration", "HiGHS", "LinearCertificate", "LinearResult", "combine_linear"]
