"""Support vector machines: classification, regression, novelty detection."""

from mercer.svm.classification import SVC, NuSVC
from mercer.svm.linear import LinearOneClassSVM, LinearSVC, LinearSVR
from mercer.svm.novelty import SVDD, OneClassSVM
from mercer.svm.regression import SVR, NuSVR, QuantileSVR

__all__ = [
    "SVC",
    "SVDD",
    "SVR",
    "LinearOneClassSVM",
    "LinearSVC",
    "LinearSVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "QuantileSVR",
]
