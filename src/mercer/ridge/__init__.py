"""Least squares in feature space: kernel ridge regression and the least squares classifier."""

from mercer.ridge.base import LeastSquaresResult
from mercer.ridge.classification import LSSVC
from mercer.ridge.regression import KernelRidge

__all__ = ["LSSVC", "KernelRidge", "LeastSquaresResult"]
