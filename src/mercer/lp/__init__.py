"""Linear programming machines: few coefficients, by a 1-norm, and any kernel, also one that is not definite."""

from mercer.lp.classification import LPClassifier, NuLPClassifier
from mercer.lp.novelty import LPNoveltyDetector
from mercer.lp.regression import LPRegressor

__all__ = ["LPClassifier", "LPNoveltyDetector", "LPRegressor", "NuLPClassifier"]
