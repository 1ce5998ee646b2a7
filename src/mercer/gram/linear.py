"""The Gram matrix of a linear kernel, which knows its features."""

from typing import Any

import numpy as np

from mercer import _native
from mercer.gram.sources import VectorGram
from mercer.kernels import Linear, Polynomial
from mercer.kernels.samples import native_samples
from mercer.threads import effective_n_threads

__all__ = ["LinearGram"]


class LinearGram(VectorGram):
    """K = X X' + c, with products by its factor [X, sqrt(c)] that never form K.

    Parameters
    ----------
    X : vectors of shape (n, n_features)
        Dense or CSR, float32 or float64; sums are in float64.
    constant : float >= 0, default=0.0
        c: the square of a feature that is the same for all samples, whose weight is then a penalised offset [A
        §10.6.1.1].

    Examples
    --------
    >>> from mercer.gram import LinearGram
    >>> gram = LinearGram([[1.0, 2.0], [3.0, 4.0]], constant=4.0)
    >>> gram.products([1.0, 0.0, 0.5])
    array([2., 4.])
    >>> gram.rows([0])
    array([[ 9., 15.]])
    """

    def __init__(self, X: Any, constant: float = 0.0):
        super().__init__(Polynomial(degree=1, gamma=1.0, coef0=float(constant)) if constant else Linear(), X)
        self.constant = float(constant)

    @property
    def n_weights(self) -> int:
        """Number of features, the constant one included."""
        return self.X.shape[1] + (self.constant > 0)

    def products(self, w: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """x_i . w of some samples, None: of all, in float64."""
        w, d = np.asarray(w, dtype=np.float64), self.X.shape[1]
        f = _native.linear_products(native_samples(self.X), rows, np.ascontiguousarray(w[:d]), effective_n_threads())
        return f + np.sqrt(self.constant) * w[d] if self.constant else f

    def sums(self, c: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """The sum of c_i x_i over some samples, None: over all."""
        total = _native.linear_sums(native_samples(self.X), rows, c, effective_n_threads())
        return np.append(total, np.sqrt(self.constant) * c.sum()) if self.constant else total

    def moments(self, c: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """The sum of c_i x_i x_i' over some samples, None: over all."""
        inside = _native.linear_moments(native_samples(self.X), rows, c, effective_n_threads())
        if not self.constant:
            return inside
        edge = np.sqrt(self.constant) * self.sums(c, rows)[:, np.newaxis]
        return np.hstack([np.vstack([inside, edge[:-1].T]), edge])

    def squares(self, c: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """The diagonal of `moments`."""
        inside = _native.linear_squares(native_samples(self.X), rows, c)
        return np.append(inside, self.constant * c.sum()) if self.constant else inside

    def dot(self, v):
        return self.products(self.sums(np.ascontiguousarray(v, dtype=np.float64)))
