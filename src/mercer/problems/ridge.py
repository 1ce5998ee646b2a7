r"""Ridge regression as data.

.. math:: \min_{w, b} \tfrac12 \sum_i \omega_i (y_i - w \cdot \phi(x_i) - b)^2 + \tfrac12 \lambda \|w\|^2

With w = sum_i alpha_i phi(x_i) and the residuals e_i = lambda alpha_i / omega_i the conditions of its optimum are the
bordered system of [W], (K + diag(lambda / omega)) alpha + b = y with sum_i alpha_i = 0; without b, the system alone
[CY eq 2.32].
"""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse

from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.samples import in_full, n_samples, take

__all__ = ["FeatureProblem", "KernelProblem", "RidgeProblem", "explicit_features"]

EPS = float(np.finfo(np.float64).eps)
# What rounding may leave of the right-hand side in a system that counts as solved.
DIGITS = 1e-3


class RidgeProblem(ABC):
    """Samples, by their kernel matrix or by their features, with values and positive weights.

    Parameters
    ----------
    Y : array of shape (n, n_functions)
    weight : array of shape (n,)
        omega > 0.
    bias : bool
        Whether there is the offset b.
    """

    def __init__(self, Y: np.ndarray, weight: np.ndarray, bias: bool):
        self.weight, self.bias = weight, bias
        # An offset takes the means away, and what is left is easier on the digits.
        self.mean = weight @ Y / weight.sum() if bias else np.zeros(Y.shape[1])
        self.Y = Y - self.mean

    @abstractmethod
    def product(self, coefficients: np.ndarray) -> np.ndarray:
        """K times coefficients, which add up to zero if there is an offset."""

    def norms(self, V: np.ndarray) -> np.ndarray:
        """Norms of the columns, in which every sample counts with its weight."""
        return np.sqrt(np.einsum("i,ij,ij->j", self.weight, V, V))

    def goal(self, alpha: float, coefficients: np.ndarray, tol: float) -> np.ndarray:
        """How small the residuals of the system are to be: more than rounding in products with K lets them be.

        But where rounding leaves less than `DIGITS` of a solution, it is none.
        """
        sizes, along = self.norms(self.Y), self.norms(coefficients / self.weight[:, np.newaxis])
        return np.maximum(tol * sizes, np.minimum(EPS * (self.trace + alpha) * along, DIGITS * sizes))

    @property
    @abstractmethod
    def trace(self) -> float:
        """The trace of K, weighted."""


class KernelProblem(RidgeProblem):
    """Over a kernel matrix.

    Parameters
    ----------
    gram : Gram
        K, positive semi-definite.
    """

    def __init__(self, gram: Gram, Y: np.ndarray, weight: np.ndarray, bias: bool):
        super().__init__(Y, weight, bias)
        self.gram = gram

    def product(self, coefficients):
        return self.gram.dot(coefficients)

    @property
    def trace(self):
        return float(self.weight @ np.abs(self.gram.diag()))


class FeatureProblem(RidgeProblem):
    """Over explicit features, fewer than samples. [CY eq 2.26]

    Parameters
    ----------
    features : array or CSR of shape (n, n_features)
    """

    def __init__(self, features: Any, Y: np.ndarray, weight: np.ndarray, bias: bool):
        super().__init__(Y, weight, bias)
        self.centre = np.asarray(weight @ features).ravel() / weight.sum() if bias else np.zeros(features.shape[1])
        self.sparse = issparse(features)
        # Of sparse features the centre is taken away in products only.
        self.features = features if self.sparse or not bias else features - self.centre

    def forward(self, w: np.ndarray) -> np.ndarray:
        """Values of all samples for weights of the centred features."""
        return self.features @ w - self.centre @ w if self.sparse else self.features @ w

    def backward(self, c: np.ndarray) -> np.ndarray:
        """Sums of centred features for coefficients of the samples."""
        sums = self.features.T @ c
        return sums - np.outer(self.centre, c.sum(axis=0)) if self.sparse else sums

    def product(self, coefficients):
        return self.forward(self.backward(coefficients))

    def balanced(self, coefficients: np.ndarray) -> np.ndarray:
        """Coefficients that add up to zero if there is an offset, for the same values of centred features.

        Rounding keeps sums from being zero, and predictions see it times the squared length of the centre.
        """
        excess = coefficients.sum(axis=0) / self.weight.sum() if self.bias else 0.0
        return coefficients - self.weight[:, np.newaxis] * excess

    @cached_property
    def trace(self):
        if self.sparse:
            return float((self.weight @ self.features.multiply(self.features)).sum())
        return float(np.einsum("i,ij,ij->", self.weight, self.features, self.features))

    def dense(self) -> np.ndarray:
        """The centred features as an array of its own."""
        return self.features.toarray() - self.centre if self.sparse else self.features.copy()

    def moments(self) -> np.ndarray:
        """Weighted sums of products of centred features, shape (n_features, n_features)."""
        if not self.sparse:
            return (self.features.T * self.weight) @ self.features
        raw = (self.features.T.multiply(self.weight) @ self.features).toarray()
        return raw - self.weight.sum() * np.outer(self.centre, self.centre)


def explicit_features(kernel: Kernel, X: Any, budget: int) -> Any:
    """The features of a kernel if it has them, they are fewer than the samples and they fit the memory; else None."""
    n = n_samples(X)
    prepared, _ = kernel.prepare(X)
    sparse = kernel._sparse_features(prepared)
    if sparse is not None:
        keys = np.unique(sparse.keys)
        return sparse.table(keys) if _is_slim(n, len(keys), 0, budget) else None
    try:
        if not _is_slim(n, kernel.features(take(X, slice(0, 1))).shape[1], n, budget):
            return None
        features = kernel.features(X)
    except (NotImplementedError, ValueError):  # there are none, or too many of them
        return None
    return in_full(features) if _is_slim(n, features.shape[1], 0 if issparse(features) else n, budget) else None


def _is_slim(n: int, n_features: int, n_dense: int, budget: int) -> bool:
    """Whether there are fewer features than samples, and room for their products and for dense rows."""
    return 0 < n_features < n and 8 * n_features * (n_dense + 2 * n_features) <= budget
