"""Multiple kernel learning: which kernels matter, and by how much."""

from mercer.mkl.classification import MKLClassifier
from mercer.mkl.families import Widths, family
from mercer.mkl.metrics import margin, radius, radius_margin_ratio, spectral_ratio, target_alignment
from mercer.mkl.novelty import MKLOneClass
from mercer.mkl.paths import WeightsPath, weights_path
from mercer.mkl.regression import MKLRegressor
from mercer.mkl.rules import Alignment, DivConv, DivDC, Easy, RuleResult, Uniform, WeightRule
from mercer.mkl.sdp import SDPWeights, sdp_weights

__all__ = [
    "Alignment",
    "DivConv",
    "DivDC",
    "Easy",
    "MKLClassifier",
    "MKLOneClass",
    "MKLRegressor",
    "RuleResult",
    "SDPWeights",
    "Uniform",
    "WeightRule",
    "WeightsPath",
    "Widths",
    "family",
    "margin",
    "radius",
    "radius_margin_ratio",
    "sdp_weights",
    "spectral_ratio",
    "target_alignment",
    "weights_path",
]
