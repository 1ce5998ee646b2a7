"""Kernel machines that prove their own optimum.

A *kernel* turns samples into numbers, a *problem* is the mathematics of one learning machine written down
as data, and a *solver* turns a problem into a *result* that proves how good it is. Everything public is
imported from its room, ``mercer.kernels``, ``mercer.svm`` and so on; estimators also from here:

>>> from mercer import SVC

Rooms and names are loaded when they are first asked for, so that ``import mercer`` costs next to nothing.
``__init__.pyi`` lists the same names for type checkers and editors.
"""

from importlib import import_module as _import_module

__version__ = "0.1.0"

_ROOMS = (
    "active",
    "calibration",
    "cells",
    "checkpoints",
    "cluster",
    "compat",
    "data",
    "datasets",
    "decomposition",
    "devices",
    "discriminant",
    "distributed",
    "errors",
    "explanations",
    "features",
    "gp",
    "gram",
    "kernels",
    "logistic",
    "lp",
    "mkl",
    "models",
    "multiclass",
    "persist",
    "plots",
    "problems",
    "regularized",
    "ridge",
    "rvm",
    "selection",
    "solvers",
    "structured",
    "svm",
    "threads",
    "version_space",
)
_ROOM_OF = {
    "AnalyticCenterMachine": "version_space",
    "BayesPointMachine": "version_space",
    "Calibrated": "calibration",
    "Cells": "cells",
    "GaussianProcessClassifier": "gp",
    "GaussianProcessRegressor": "gp",
    "GradientTuned": "selection",
    "KernelCCA": "decomposition",
    "KernelFisherDiscriminant": "discriminant",
    "KernelKMeans": "cluster",
    "KernelLogisticRegression": "logistic",
    "KernelNearestCentroid": "discriminant",
    "KernelPCA": "decomposition",
    "KernelPLS": "decomposition",
    "KernelPerceptron": "discriminant",
    "KernelRFE": "features",
    "KernelRidge": "ridge",
    "LPClassifier": "lp",
    "LPNoveltyDetector": "lp",
    "LPRegressor": "lp",
    "LSSVC": "ridge",
    "LinearOneClassSVM": "svm",
    "LinearSVC": "svm",
    "LinearSVR": "svm",
    "MKLClassifier": "mkl",
    "MKLOneClass": "mkl",
    "MKLRegressor": "mkl",
    "MercerMap": "features",
    "NuLPClassifier": "lp",
    "NuSVC": "svm",
    "NuSVR": "svm",
    "Nystroem": "features",
    "OneClassSVM": "svm",
    "ParzenClassifier": "discriminant",
    "PolynomialSketch": "features",
    "QuantileSVR": "svm",
    "RandomFourier": "features",
    "RegularizedClassifier": "regularized",
    "RegularizedRegressor": "regularized",
    "RelevanceVectorClassifier": "rvm",
    "RelevanceVectorRegressor": "rvm",
    "SVC": "svm",
    "SVDD": "svm",
    "SVR": "svm",
    "SpectralClustering": "cluster",
    "StructuredSVM": "structured",
    "Tuned": "selection",
    "TunedOneClassSVM": "selection",
    "TunedSVC": "selection",
    "TunedSVR": "selection",
    "load": "persist",
    "patch_sklearn": "compat.sklearn",
    "save": "persist",
    "unpatch_sklearn": "compat.sklearn",
}

__all__ = ["__version__", *_ROOMS, *_ROOM_OF]


def __getattr__(name):
    if name in _ROOMS:
        return _import_module(f"mercer.{name}")
    if name in _ROOM_OF:
        value = getattr(_import_module(f"mercer.{_ROOM_OF[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'mercer' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
