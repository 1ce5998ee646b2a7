"""Relevance vector machines: few basis functions, chosen by the evidence."""

from mercer.rvm.classification import RelevanceVectorClassifier
from mercer.rvm.regression import RelevanceVectorRegressor

__all__ = ["RelevanceVectorClassifier", "RelevanceVectorRegressor"]
