"""Sparse Bayesian learning."""

from mercer.solvers.sparse_bayes.analysis import best_precision, gain_at
from mercer.solvers.sparse_bayes.slopes import row_slopes
from mercer.solvers.sparse_bayes.solver import EvidenceHistory, SparseBayes, SparseBayesResult

__all__ = ["EvidenceHistory", "SparseBayes", "SparseBayesResult", "best_precision", "gain_at", "row_slopes"]
