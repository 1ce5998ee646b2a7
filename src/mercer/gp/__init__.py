"""Gaussian processes: functions drawn from a prior that a kernel describes, and what samples tell about them."""

from mercer.gp.base import EvidenceResult
from mercer.gp.classification import GaussianProcessClassifier
from mercer.gp.regression import GaussianProcessRegressor

__all__ = ["EvidenceResult", "GaussianProcessClassifier", "GaussianProcessRegressor"]
