"""Logistic regression with kernels."""

from mercer.logistic.classification import KernelLogisticRegression

__all__ = ["KernelLogisticRegression"]
