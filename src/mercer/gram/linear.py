"""The Gram matrix of a linear kernel, which knows its features."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from mercer import _native
from mercer.data import RowBlocks
from mercer.gram.features import FeatureGram
from mercer.gram.sources import Gram, VectorGram
from mercer.kernels import Linear, Polynomial
from mercer.kernels.samples import in_full, native_samples
from mercer.threads import effective_n_threads

__all__ = ["LinearGram"]


class LinearGram(FeatureGram, VectorGram):
    """K = X X' + c, with products by its factor [X, sqrt(c)] that never form K.

    Parameters
    ----------
    X : vectors of shape (n, n_features)
        Dense or CSR, float32 or float64, or `RowBlocks` of them; sums are in float64.
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

    newton_weights = 1024

    def __init__(self, X: Any, constant: float = 0.0):
        kernel = Polynomial(degree=1, gamma=1.0, coef0=float(constant)) if constant else Linear()
        if isinstance(X, RowBlocks):
            self.kernel, self.X = kernel, X
            Gram.__init__(self, len(X), True)
        else:
            super().__init__(kernel, X)
        self.constant = float(constant)

    @property
    def in_one_piece(self) -> bool:
        """Whether all samples are in memory, side by side."""
        return not isinstance(self.X, RowBlocks)

    @property
    def n_weights(self):
        return self.X.shape[1] + (self.constant > 0)

    @cached_property
    def _native_samples(self) -> Any:
        return native_samples(self.X)

    def _pieces(self, rows: np.ndarray | None) -> Iterator[tuple[Any, np.ndarray | None, slice]]:
        """The samples of every piece, the numbers in it of those that are asked for, and their place in `rows`."""
        if self.in_one_piece:
            yield self._native_samples, rows, slice(None)
            return
        for start, block in self.X:
            stop = start + block.shape[0]
            if rows is None:
                yield native_samples(block), None, slice(start, stop)
                continue
            first, last = np.searchsorted(rows, [start, stop])
            if last > first:
                yield native_samples(block), rows[first:last] - start, slice(int(first), int(last))

    def products(self, w, rows=None):
        w, d = np.asarray(w, dtype=np.float64), self.X.shape[1]
        inside, threads = np.ascontiguousarray(w[:d]), effective_n_threads()
        parts = [_native.linear_products(X, some, inside, threads) for X, some, _ in self._pieces(rows)]
        f = parts[0] if len(parts) == 1 else np.concatenate([*parts, np.empty(0)])
        return f + np.sqrt(self.constant) * w[d] if self.constant else f

    def sums(self, c, rows=None):
        total, threads = np.zeros(self.X.shape[1]), effective_n_threads()
        for X, some, place in self._pieces(rows):
            total = total + _native.linear_sums(X, some, c[place], threads)
        return np.append(total, np.sqrt(self.constant) * c.sum()) if self.constant else total

    def moments(self, c, rows=None):
        inside, threads = np.zeros((self.X.shape[1],) * 2), effective_n_threads()
        for X, some, place in self._pieces(rows):
            inside += _native.linear_moments(X, some, c[place], threads)
        if not self.constant:
            return inside
        edge = np.sqrt(self.constant) * self.sums(c, rows)[:, np.newaxis]
        return np.hstack([np.vstack([inside, edge[:-1].T]), edge])

    def squares(self, c, rows=None):
        inside = np.zeros(self.X.shape[1])
        for X, some, place in self._pieces(rows):
            inside += _native.linear_squares(X, some, c[place])
        return np.append(inside, self.constant * c.sum()) if self.constant else inside

    def native(self):
        if not self.in_one_piece:
            raise ValueError("SMO needs the samples in one piece, X comes in blocks; ProximalNewton reads blocks.")
        return super().native()

    def rows(self, which):
        if self.in_one_piece:
            return super().rows(which)
        some = in_full(self.X[which])
        return np.hstack([self.kernel(some, in_full(block)) for _, block in self.X])

    def square(self, which):
        return self.kernel(in_full(self.X[which]))

    def diag(self):
        if self.in_one_piece:
            return super().diag()
        return np.concatenate([self.kernel.diag(in_full(block)) for _, block in self.X])
