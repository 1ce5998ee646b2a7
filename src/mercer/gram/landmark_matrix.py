"""Kernel values of samples with landmarks: products that store none of them, or store them once."""

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from mercer import _native
from mercer.data import RowBlocks
from mercer.gram.memory import memory_budget
from mercer.gram.sources import Gram, VectorGram
from mercer.kernels.base import Kernel
from mercer.kernels.samples import in_full, n_samples, native_samples, row_blocks, take
from mercer.threads import effective_n_threads, in_threads

__all__ = ["LandmarkMatrix", "add_lower_moments"]

# Values of native kernels on more features than this take longer to compute than to read.
CHEAP_FEATURES = 64
# Rows whose kernel values are held at once for second moments, and columns of these that one thread makes at once.
MOMENT_ROWS, MOMENT_COLUMNS = 2048, 128


class LandmarkMatrix:
    """K(X, Z) of n samples and m landmarks: products in both directions.

    Values of native kernels on few features are computed anew in every product and stored nowhere; others are stored
    where they fit half the budget.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    X : n samples, or RowBlocks of vectors
        Blocks are read in every pass, one at a time.
    Z : m samples
        The landmarks.
    memory : float > 0 or "auto", default="auto"
        Megabytes, see `memory_budget`.

    Attributes
    ----------
    shape : (int, int)
        n and m.

    Notes
    -----
    A pass takes n m kernel values, natively where the kernel has native rows: each is used while it is in a near cache.
    Sums of these have an order of their own: results do not depend on the threads. Where some of the samples are meant,
    their numbers ascend.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import LandmarkMatrix
    >>> from mercer.kernels import Linear
    >>> K = LandmarkMatrix(Linear(), [[1.0], [2.0], [3.0]], [[1.0], [10.0]])
    >>> K.forward(np.array([1.0, 1.0]))
    array([11., 22., 33.])
    >>> K.backward(np.ones(3))
    array([ 6., 60.])
    """

    def __init__(self, kernel: Kernel, X: Any, Z: Any, memory: float | str = "auto"):
        self.kernel, self.X, self.Z = kernel, X, Z
        if not isinstance(X, RowBlocks):
            self.X, self.Z = kernel.prepare(X, Z)
        self.shape = (n_samples(X), n_samples(Z))
        self._spec = kernel.native()
        self._stored: np.ndarray | None = None
        self.single, self._centre = False, None
        cheap = self._spec is not None and self.X.shape[1] <= CHEAP_FEATURES
        fits = 8 * self.shape[0] * self.shape[1] <= memory_budget(memory) // 2
        if fits and not cheap and not isinstance(X, RowBlocks):
            stored = np.empty(self.shape)
            for place, block in self.blocks():
                stored[place] = block
            self._stored = stored

    def in_single(self) -> "LandmarkMatrix":
        """The same with kernel values in float32 where they are computed natively; their sums stay in float64."""
        if self._spec is None or self._stored is not None or self.single:
            return self
        other = copy(self)
        other.single = True
        if self._spec.centre and isinstance(self.Z, np.ndarray) and len(self.Z):
            # Far from the origin float32 would lose the differences of vectors.
            other._centre = self.Z.mean(axis=0, dtype=np.float64)
        return other

    def over(self, X: Any, stored: np.ndarray | None = None) -> "LandmarkMatrix":
        """The same landmarks with other samples, in memory; values that are known already are not computed again."""
        other = copy(self)
        other.X, other.Z = self.kernel.prepare(X, self.Z)
        other.shape, other._stored = (n_samples(X), self.shape[1]), stored
        return other

    # --- products -----------------------------------------------------------------------------------------

    def forward(self, v: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """K v for v of shape (m,) or (m, k), at some samples, None: at all."""
        V = np.ascontiguousarray(_columns(v))
        values = np.empty((self._size(rows), V.shape[1]))
        if self.native:
            for place, X, Z in self.pieces(rows):
                values[place] = self._native_dot(X, Z, V)
        else:
            for place, block in self.blocks(rows):
                values[place] = block @ V
        return values[_like(v)]

    def backward(self, c: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """K' c for c of shape (n,) or (n, k), one entry for each of some samples, None: of all."""
        C = np.ascontiguousarray(_columns(c))
        total = np.zeros((self.shape[1], C.shape[1]))
        if self.native:
            for place, X, Z in self.pieces(rows):
                total += self._native_dot(Z, X, C[place])
        else:
            for place, block in self.blocks(rows):
                total += block.T @ C[place]
        return total[_like(c)]

    def both(
        self, v: np.ndarray, scale: np.ndarray | None = None, shift: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """f = K v, and K' (scale f + shift), in one pass over all samples.

        For v of shape (m,) or (m, k), a scale of every row and shifts of the shape of f.
        """
        V = _columns(v)
        scale = np.ones(self.shape[0]) if scale is None else np.ascontiguousarray(scale)
        shift = np.zeros((self.shape[0], V.shape[1])) if shift is None else _columns(shift)
        values, total = np.empty(shift.shape), np.zeros(V.shape)
        if self._spec is not None and self._stored is None:
            transposed, shift = np.ascontiguousarray(V.T), np.ascontiguousarray(shift)
            for place, X, Z in self.pieces():
                x, z = self._as_native(X), self._as_native(Z)
                columns = (transposed, scale[place], shift[place])
                values[place], back = _native.landmark_pass(
                    *self._spec.arguments(self._centre), x, z, *columns, self.single, effective_n_threads()
                )
                total += back.T
        else:
            for place, block in self.blocks():
                values[place] = found = block @ V
                total += block.T @ (scale[place, np.newaxis] * found + shift[place])
        return values[_like(v)], total[_like(v)]

    def there_and_back(self, v: np.ndarray, scale: np.ndarray | float) -> np.ndarray:
        """K' (scale * (K v)) for v of shape (m,) or (m, k), in one pass over all samples; a scale for each, or all."""
        return self.both(v, np.broadcast_to(scale, self.shape[:1]))[1]

    @property
    def native(self) -> bool:
        """Whether products are made natively, of values that are stored nowhere."""
        return self._spec is not None and self._stored is None

    def _native_dot(self, X: Any, Y: Any, V: np.ndarray) -> np.ndarray:
        assert self._spec is not None
        samples = (self._as_native(X), self._as_native(Y), V)
        arguments = self._spec.arguments(self._centre)
        return np.asarray(_native.kernel_dot(*arguments, *samples, effective_n_threads(), "", self.single))

    def _as_native(self, X: Any) -> Any:
        return native_samples(X if self.single else in_full(X))

    # --- values -------------------------------------------------------------------------------------------

    def some(self, rows: np.ndarray) -> np.ndarray:
        """K of some samples with all landmarks."""
        found = np.empty((len(rows), self.shape[1]))
        for place, block in self.blocks(rows):
            found[place] = block
        return found

    def blocks(self, rows: np.ndarray | None = None, size: int | None = None) -> Iterator[tuple[slice, np.ndarray]]:
        """K of some samples, None: of all, so many at a time: their place among those, and the values."""
        entries = None if size is None else size * self.shape[1]
        if self._stored is not None:
            for place in row_blocks(self._size(rows), self.shape[1], entries):
                yield place, self._stored[place if rows is None else rows[place]]
            return
        for place, X, Z in self.pieces(rows):
            if self._spec is not None:
                X, Z = in_full(X), in_full(Z)
            for part in row_blocks(place.stop - place.start, self.shape[1], entries):
                block = np.asarray(self.kernel._some_rows(X, part, Z), dtype=np.float64)
                yield slice(place.start + part.start, place.start + part.stop), block

    def pieces(self, rows: np.ndarray | None = None) -> Iterator[tuple[slice, Any, Any]]:
        """Some samples, None: all, as they are in memory: their place among those, they, and the landmarks."""
        if not isinstance(self.X, RowBlocks):
            yield slice(0, self._size(rows)), self.X if rows is None else take(self.X, rows), self.Z
            return
        for start, block in self.X:
            place = slice(start, start + n_samples(block))
            if rows is not None:
                first, last = np.searchsorted(rows, [place.start, place.stop])
                place, block = slice(int(first), int(last)), block[rows[first:last] - start]
            if place.stop > place.start:
                yield place, *self.kernel.prepare(block, self.Z)

    def _size(self, rows: np.ndarray | None) -> int:
        return self.shape[0] if rows is None else len(rows)

    # --- sums of features ---------------------------------------------------------------------------------

    def lower_moments(self, c: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """The sum of c_i k_i k_i' over the rows k_i of some samples, None: of all; its lower triangle."""
        total = np.zeros((self.shape[1],) * 2, order="F")
        for place, block in self.blocks(rows, MOMENT_ROWS):
            total = add_lower_moments(total, block, c[place])
        return total

    def squares(self, triangle: np.ndarray, c: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """The sum of c_i phi_i^2 over the features phi_i = triangle^-1 k_i of some samples, None: of all."""
        total = np.zeros(self.shape[1])
        for place, block in self.blocks(rows):
            total += _features(triangle, block) ** 2 @ c[place]
        return total

    def norms(self, triangle: np.ndarray) -> np.ndarray:
        """Squared lengths of the features of all samples, phi_i = triangle^-1 k_i."""
        found = np.empty(self.shape[0])
        for place, block in self.blocks():
            found[place] = (_features(triangle, block) ** 2).sum(axis=0)
        return found

    # --- kernel values of the samples themselves ------------------------------------------------------------

    def diag(self) -> np.ndarray:
        """k(x, x) of all samples."""
        found = np.empty(self.shape[0])
        for place, X, _ in self.pieces():
            found[place] = self.kernel._diag(in_full(X))
        return found

    def energy(self, rows: np.ndarray, c: np.ndarray) -> float:
        """c' K(X, X) c for coefficients of some samples, in one pass over all pairs of them."""
        some = self._samples(rows)
        return float(c @ self.kernel.dot(some, some, c))

    def among(self, rows: np.ndarray) -> Gram | None:
        """The kernel matrix of some samples where it has native rows, else None."""
        return None if self._spec is None else VectorGram(self.kernel, in_full(self._samples(rows)))

    def _samples(self, rows: np.ndarray) -> Any:
        return self.X[rows] if isinstance(self.X, RowBlocks) else take(self.X, rows)


def add_lower_moments(total: np.ndarray, block: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The lower triangle `total` and that of the sum of c_i b_i b_i' over the rows of a block; in place."""
    scaled = c[:, np.newaxis] * block

    def add(columns: slice) -> None:
        product = scaled[:, columns].T @ block[:, columns.start :]
        size = len(product)
        product[:, :size] = np.triu(product[:, :size])
        total.T[columns, columns.start :] += product  # rows of the transpose, as a matrix in the order of Fortran is

    in_threads(add, list(row_blocks(len(total), 1, MOMENT_COLUMNS)))  # the first are the longest
    return total


def _features(triangle: np.ndarray, block: np.ndarray) -> np.ndarray:
    """The features of samples in columns, from their kernel values in rows."""
    return solve_triangular(triangle, block.T, lower=True, check_finite=False)


def _columns(v: np.ndarray) -> np.ndarray:
    return v if v.ndim == 2 else v[:, np.newaxis]


def _like(v: np.ndarray) -> Any:
    """What makes columns a vector again where v is one."""
    return (slice(None), *[0] * (2 - v.ndim))
