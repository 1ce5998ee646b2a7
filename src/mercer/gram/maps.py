"""Kernel matrices of features that a map makes of the samples in every pass."""

from collections.abc import Callable, Iterator
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np

from mercer.data import RowBlocks
from mercer.gram.features import FeatureGram
from mercer.gram.landmark_matrix import LandmarkMatrix, add_lower_moments
from mercer.gram.landmarks import LandmarkGram
from mercer.gram.memory import memory_budget
from mercer.gram.sources import Gram, VectorGram, make_gram
from mercer.kernels.base import Kernel
from mercer.kernels.samples import in_full, n_samples, row_blocks, take

__all__ = ["MapGram", "SpanGram"]


class SpanGram(LandmarkGram):
    r"""The kernel matrix as far as some directions in the span of landmarks show it.

    .. math:: \Phi = K(X, Z) A^T, \qquad A K(Z, Z) A^T = I

    What is told of `LandmarkGram` holds for it: functions are those of the space of the kernel, with the same norm.

    Parameters
    ----------
    kernel, X, Z, memory, numbers, matrix_of
        As those of `LandmarkGram`.
    directions : array of shape (k, m)
        A.

    Notes
    -----
    Products take n m kernel values and O(k m), second moments O(n k (k + m)).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import MercerMap
    >>> from mercer.gram import SpanGram
    >>> from mercer.kernels import RBF
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> features = MercerMap(RBF(gamma=0.1), n_components=1).fit(X)
    >>> gram = SpanGram(RBF(gamma=0.1), X, X, features.dual_coef_)
    >>> np.allclose(gram.some(np.arange(3)), features.transform(X))
    True
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        Z: Any,
        directions: np.ndarray,
        memory: float | str = "auto",
        numbers: np.ndarray | None = None,
        matrix_of: Callable[..., LandmarkMatrix] = LandmarkMatrix,
    ):
        self.kernel, self.Z, self.directions = kernel, Z, directions
        self.kept = np.arange(n_samples(Z))
        self.numbers = np.full(len(self.kept), -1) if numbers is None else np.asarray(numbers)
        self.matrix = matrix_of(kernel, X, Z, memory)
        FeatureGram.__init__(self, self.matrix.shape[0], True)

    @property
    def n_weights(self):
        return len(self.directions)

    def coefficients(self, w):
        return self.directions.T @ w

    def onto(self, sums):
        return self.directions @ sums

    def of_landmarks(self):
        return np.asarray(self.kernel(in_full(self.Z)), dtype=np.float64) @ self.directions.T

    def _features(self, rows: np.ndarray | None = None) -> Iterator[tuple[slice, np.ndarray]]:
        for place, block in self.matrix.blocks(rows):
            yield place, block @ self.directions.T

    def moments(self, c, rows=None):
        total = np.zeros((self.n_weights,) * 2, order="F")
        for place, block in self._features(rows):
            total = add_lower_moments(total, block, c[place])
        return np.ascontiguousarray(total + np.tril(total, -1).T)

    newton_moments = FeatureGram.newton_moments
    newton_step = FeatureGram.newton_step

    def squares(self, c, rows=None):
        return sum((c[place] @ block**2 for place, block in self._features(rows)), np.zeros(self.n_weights))

    @cached_property
    def _diagonal(self) -> np.ndarray:
        return np.concatenate([(block**2).sum(axis=1) for _, block in self._features()])


class MapGram(FeatureGram):
    r"""The kernel matrix as a map has it, :math:`\Phi \Phi^T`, features being made anew in every pass.

    They are stored where they fit half the budget. Other than those of landmarks, features of frequencies and sketches
    are no functions in the space of the kernel: inner products may be above the kernel or below it.

    Parameters
    ----------
    features : callable
        From vectors to their features, an array.
    n_weights : int
        How many features there are.
    kernel : Kernel
        The kernel that is meant, resolved.
    X : vectors, or RowBlocks of them
    memory : float > 0 or "auto", default="auto"
        Megabytes for features, see `memory_budget`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import MapGram
    >>> from mercer.kernels import Linear
    >>> gram = MapGram(lambda X: 2.0 * X, 1, 4 * Linear(), np.array([[1.0], [2.0]]))
    >>> gram.products(np.array([1.0])), gram.rows(np.array([0]))
    (array([2., 4.]), array([[4., 8.]]))
    """

    newton_weights = 16384
    samples_first = 8
    resolution = 1e-9

    def __init__(
        self,
        features: Callable[[Any], np.ndarray],
        n_weights: int,
        kernel: Kernel,
        X: Any,
        memory: float | str = "auto",
    ):
        super().__init__(n_samples(X), True)
        self.features, self.kernel, self.X, self._n_weights = features, kernel, X, n_weights
        self._stored: np.ndarray | None = None
        if not isinstance(X, RowBlocks) and 8 * self.n * n_weights <= memory_budget(memory) // 2:
            self._stored = np.concatenate([block for _, block in self.blocks()])

    @property
    def n_weights(self):
        return self._n_weights

    def blocks(self, rows: np.ndarray | None = None) -> Iterator[tuple[slice, np.ndarray]]:
        """Features of some samples, None: of all, so many at a time: their place among those, and the features."""
        if self._stored is not None:
            yield from (
                (place, self._stored[place if rows is None else rows[place]])
                for place in row_blocks(self.n if rows is None else len(rows), self.n_weights)
            )
            return
        for place, X in self._pieces(rows):
            for part in row_blocks(place.stop - place.start, self.n_weights):
                found = self.features(X[part] if self.dtype == np.float32 else in_full(X[part]))
                yield slice(place.start + part.start, place.start + part.stop), found.astype(self.dtype, copy=False)

    def _pieces(self, rows: np.ndarray | None) -> Iterator[tuple[slice, Any]]:
        if not isinstance(self.X, RowBlocks):
            yield slice(0, self.n if rows is None else len(rows)), self.X if rows is None else take(self.X, rows)
            return
        for start, block in self.X:
            place = slice(start, start + n_samples(block))
            if rows is not None:
                first, last = np.searchsorted(rows, [place.start, place.stop])
                place, block = slice(int(first), int(last)), block[rows[first:last] - start]
            if place.stop > place.start:
                yield place, block

    def in_single(self):
        """The same with features in float32, whose sums over blocks stay in float64."""
        if self.dtype == np.float32:
            return self
        other = copy(self)
        other.dtype = np.dtype(np.float32)
        if self._stored is not None:
            other._stored = self._stored.astype(np.float32)
        else:
            features = self.features
            other.features = lambda X: features(X.astype(np.float32, copy=False))
        return other

    def products(self, w, rows=None):
        w = np.asarray(w, dtype=self.dtype)
        found = np.empty((self.n if rows is None else len(rows), *w.shape[1:]))
        for place, block in self.blocks(rows):
            found[place] = block @ w
        return found

    def sums(self, c, rows=None):
        c = np.asarray(c, dtype=self.dtype)
        total = np.zeros((self.n_weights, *c.shape[1:]))
        for place, block in self.blocks(rows):
            total += block.T @ c[place]
        return total

    def both(self, w, scale, shift=None):
        w = np.asarray(w, dtype=self.dtype)
        values, total = np.empty((self.n, *w.shape[1:])), np.zeros(w.shape)
        for place, block in self.blocks():
            values[place] = found = block @ w
            pulled = (scale[place] if w.ndim == 1 else scale[place, np.newaxis]) * found
            total += block.T @ (pulled if shift is None else pulled + shift[place]).astype(self.dtype, copy=False)
        return values, total

    def moments(self, c, rows=None):
        total = np.zeros((self.n_weights,) * 2, order="F")
        for place, block in self.blocks(rows):
            total = add_lower_moments(total, block.astype(np.float64, copy=False), c[place])
        return np.ascontiguousarray(total + np.tril(total, -1).T)

    def squares(self, c, rows=None):
        return sum((c[place] @ block**2 for place, block in self.blocks(rows)), np.zeros(self.n_weights))

    def some(self, rows: np.ndarray) -> np.ndarray:
        """The features of some samples, by their ascending numbers."""
        return np.concatenate([block for _, block in self.blocks(rows)]) if len(rows) else np.empty((0, self.n_weights))

    def among(self, rows):
        return None if self.kernel.native() is None else VectorGram(self.kernel, in_full(self.X[rows]))

    # --- as a kernel matrix -------------------------------------------------------------------------------

    def native(self):
        return "function", self.rows, self.n

    def rows(self, which):
        return np.ascontiguousarray(self.products(self._in_any_order(which).T).T)

    def square(self, which):
        features = self._in_any_order(which)
        return features @ features.T

    def _in_any_order(self, which: np.ndarray) -> np.ndarray:
        numbers, places = np.unique(np.asarray(which), return_inverse=True)
        return self.some(numbers)[places]

    def diag(self):
        return np.concatenate([(block.astype(np.float64, copy=False) ** 2).sum(axis=1) for _, block in self.blocks()])

    def exact_diag(self):
        return np.concatenate([np.asarray(self.kernel.diag(in_full(X))) for _, X in self._pieces(None)])

    def dot(self, v):
        return self.products(self.sums(v))

    def full(self, memory: float | str = "auto") -> Gram:
        """The kernel matrix itself."""
        X = self.X[np.arange(self.n)] if isinstance(self.X, RowBlocks) else self.X
        return make_gram(self.kernel, in_full(X), memory)
