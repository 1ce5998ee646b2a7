"""Discriminants from means and mistakes: the simplest classifiers there are, in feature space."""

from mercer.discriminant.centroid import KernelNearestCentroid
from mercer.discriminant.fisher import KernelFisherDiscriminant
from mercer.discriminant.parzen import ParzenClassifier
from mercer.discriminant.perceptron import KernelPerceptron

__all__ = ["KernelFisherDiscriminant", "KernelNearestCentroid", "KernelPerceptron", "ParzenClassifier"]
