"""Multiple kernel learning: which kernels matter, and by how much."""

from mercer.mkl.classification import MKLClassifier
from mercer.mkl.families import Widths, family
from mercer.mkl.novelty import MKLOneClass
from mercer.mkl.paths import WeightsPath, weights_path
from mercer.mkl.regression import MKLRegressor

__all__ = ["MKLClassifier", "MKLOneClass", "MKLRegressor", "WeightsPath", "Widths", "family", "weights_path"]
