"""Kernel matrices that some landmarks span, by products that store no kernel values, or store them once."""

from collections.abc import Iterator
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import blas, lapack, solve_triangular
from scipy.sparse import csr_array

from mercer import _native
from mercer.data import RowBlocks
from mercer.errors import IndefiniteError
from mercer.gram.features import FeatureGram
from mercer.gram.memory import memory_budget
from mercer.kernels.base import Kernel
from mercer.kernels.samples import in_full, n_samples, native_samples, row_blocks, take
from mercer.threads import effective_n_threads

__all__ = ["LandmarkGram", "LandmarkMatrix"]

# Values of native kernels on more features than this take longer to compute than to read.
CHEAP_FEATURES = 64
# Rows whose kernel values are held at once for second moments.
MOMENT_ROWS = 2048
# A landmark must be apart from the span of others by this part of the largest k(x, x), squared: the features of those
# that are nearer would be rounding.
APART = 1e-8


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

    # --- products -----------------------------------------------------------------------------------------

    def forward(self, v: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """K v for v of shape (m,) or (m, k), at some samples, None: at all."""
        V = np.ascontiguousarray(_columns(v))
        values = np.empty((self._size(rows), V.shape[1]))
        if self._native:
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
        if self._native:
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

    @property
    def _native(self) -> bool:
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


def _columns(v: np.ndarray) -> np.ndarray:
    return v if v.ndim == 2 else v[:, np.newaxis]


def _independent(square: np.ndarray) -> np.ndarray:
    """Which landmarks others do not span up to the precision, ascending: a Cholesky factor with pivots."""
    diagonal = np.diagonal(square)
    triangle, pivots, rank, _ = lapack.dpstrf(square, tol=APART * float(diagonal.max(initial=0.0)), lower=1)
    left = square[np.ix_(pivots[rank:] - 1, pivots[rank:] - 1)] - triangle[rank:, :rank] @ triangle[rank:, :rank].T
    lowest = min(float(diagonal.min(initial=0.0)), float(np.diagonal(left).min(initial=0.0)))
    # Small pivots enlarge what rounding has done to a column.
    if lowest < -np.sqrt(np.finfo(float).eps) * float(diagonal.max(initial=0.0)):
        raise IndefiniteError(
            f"The kernel must be positive semi-definite, the squared distance of a landmark from the span of others is "
            f"{lowest:.3g}."
        )
    return np.sort(pivots[:rank] - 1).astype(np.int64)


def _solve_definite(lower: np.ndarray, right: np.ndarray) -> np.ndarray:
    """A positive definite system by the lower triangle of its matrix, and what rounding asks for on the diagonal."""
    more = np.finfo(float).eps * float(np.abs(np.diagonal(lower)).sum())
    while True:
        factor, failed = lapack.dpotrf(lower, lower=1)
        if not failed:
            return lapack.dpotrs(factor, right, lower=1)[0]
        lower = lower + more * np.eye(len(lower))
        more *= 10.0


def _like(v: np.ndarray) -> Any:
    """What makes columns a vector again where v is one."""
    return (slice(None), *[0] * (2 - v.ndim))


class LandmarkGram(FeatureGram):
    r"""The kernel matrix as far as some landmarks Z span it, :math:`\Phi \Phi^T`.

    .. math:: \Phi = K(X, Z) L^{-T}, \qquad K(Z, Z) = L L^T

    It equals the kernel where one of two samples is a landmark, and is never more than it elsewhere. So the functions
    over the landmarks are functions in the space of the kernel, with the same norm: what a machine reaches with this
    matrix is what it reaches with the kernel, and only the bound is another one.

    Parameters
    ----------
    kernel : Kernel
        Resolved, positive semi-definite.
    X : n samples, or RowBlocks of vectors
    Z : m samples
        Landmarks. Those that others span up to the precision are left out.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values, see `LandmarkMatrix`.
    numbers : int array of shape (m,) or None, default=None
        Those of the landmarks among the samples; -1 for what is none of them, as all are without numbers.

    Attributes
    ----------
    kept : ndarray
        Which of Z are landmarks.
    Z, numbers : samples, ndarray
        These, and their numbers.
    triangle : ndarray
        L, lower.

    Notes
    -----
    Products take n m kernel values and O(m^2), second moments O(n m^2), memory O(m^2) beside the values that are
    stored. By BLAS: equal up to rounding for any number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import LandmarkGram
    >>> from mercer.kernels import RBF
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> gram = LandmarkGram(RBF(gamma=0.1), X, X[[0, 2, 0]])
    >>> gram.kept, gram.lost().round(3)
    (array([0, 1]), array([0.  , 0.02, 0.  ]))
    >>> gram.rows([0]).round(3)
    array([[1.   , 0.905, 0.67 ]])
    """

    newton_weights = 16384
    samples_first = 8
    resolution = 1e-9

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        Z: Any,
        memory: float | str = "auto",
        numbers: np.ndarray | None = None,
    ):
        square = np.asarray(kernel(in_full(Z)), dtype=np.float64)
        self.kernel, self.kept = kernel, _independent(square)
        self.Z = take(Z, self.kept)
        self.numbers = np.full(len(self.kept), -1) if numbers is None else np.asarray(numbers)[self.kept]
        self.triangle = np.linalg.cholesky(square[np.ix_(self.kept, self.kept)])
        self.matrix = LandmarkMatrix(kernel, X, self.Z, memory)
        super().__init__(self.matrix.shape[0], True)

    @property
    def n_weights(self) -> int:
        return len(self.triangle)

    def coefficients(self, w: np.ndarray) -> np.ndarray:
        """Those of the landmarks, K(., Z) @ coefficients, for weights w of the features, shape (m,) or (m, k)."""
        return solve_triangular(self.triangle, w, lower=True, trans="T", check_finite=False)

    def onto(self, sums: np.ndarray) -> np.ndarray:
        """Sums over kernel values with landmarks, K' c, as sums of features."""
        return solve_triangular(self.triangle, sums, lower=True, check_finite=False)

    def products(self, w, rows=None):
        return self.matrix.forward(self.coefficients(np.asarray(w, dtype=np.float64)), rows)

    def sums(self, c, rows=None):
        return self.onto(self.matrix.backward(np.asarray(c, dtype=np.float64), rows))

    def in_single(self):
        matrix = self.matrix.in_single()
        if matrix is self.matrix:
            return self
        other = copy(self)
        other.matrix = matrix
        return other

    def both(
        self, w: np.ndarray, scale: np.ndarray | None = None, shift: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """f = Phi w, and Phi' (scale f + shift), in one pass over the samples."""
        values, sums = self.matrix.both(self.coefficients(w), scale, shift)
        return values, self.onto(sums)

    def moments(self, c, rows=None):
        lower = self._lower_moments(c, rows)
        return self.onto(self.onto(lower + np.tril(lower, -1).T).T).T  # in C order

    def _lower_moments(self, c: np.ndarray, rows: np.ndarray | None) -> np.ndarray:
        """The sum of c_i k_i k_i' over the kernel values k_i of samples with the landmarks, its lower triangle."""
        total = np.zeros((self.n_weights, self.n_weights), order="F")
        for place, block in self.matrix.blocks(rows, MOMENT_ROWS):
            part = c[place]
            for sign in (1.0, -1.0):
                some = np.flatnonzero(sign * part > 0)
                if len(some):
                    scaled = np.sqrt(np.abs(part[some]))[:, np.newaxis] * block[some]
                    total = blas.dsyrk(sign, scaled.T, beta=1.0, c=total, lower=1, overwrite_c=1)
        return total

    def newton_moments(self, c, rows=None):
        return self._lower_moments(c, rows), self.matrix.backward(c, rows)

    def newton_step(self, moments, first, corner, right):
        # With dw = L' u they are (L L' + S) u + s db = L right, s' u + corner db = ..., for moments S, s of values.
        m, triangle = self.n_weights, self.triangle
        matrix, known = moments + self._square, np.column_stack([triangle @ right[:m], first])
        u = _solve_definite(matrix, known if corner is not None else known[:, :1])
        if corner is None:
            return triangle.T @ u[:, 0]
        shift = (right[m] - first @ u[:, 0]) / (corner - first @ u[:, 1])
        return np.append(triangle.T @ (u[:, 0] - shift * u[:, 1]), shift)

    @cached_property
    def _square(self) -> np.ndarray:
        """The kernel matrix of the landmarks, in the order of memory that moments have."""
        return np.asfortranarray(self.triangle @ self.triangle.T)

    def squares(self, c, rows=None):
        total = np.zeros(self.n_weights)
        for place, block in self.matrix.blocks(rows):
            total += (self.onto(block.T) ** 2) @ c[place]
        return total

    def some(self, rows: np.ndarray) -> np.ndarray:
        """The features of some samples, by their ascending numbers."""
        return self.onto(self.matrix.some(rows).T).T

    def lost(self) -> np.ndarray:
        """``k(x, x) - |phi(x)|^2`` of all samples: squared distances from the span of the landmarks."""
        return np.maximum(self.exact_diag() - self.diag(), 0.0)

    def lost_energies(self, rows: csr_array, *, exact: bool = True) -> np.ndarray:
        """``c' (K - Phi Phi') c`` for sparse rows c of coefficients over all samples; not exact: a bound above it.

        Exactly it takes the kernel values of all pairs of samples with coefficients, which are stored nowhere; the
        bound ``(sum_i |c_i| sqrt(r_i))^2`` takes the r that `lost` gives.
        """
        if not exact:
            return np.asarray(abs(rows) @ np.sqrt(self.lost())) ** 2
        energies = np.empty(rows.shape[0])
        for k, w in enumerate(self.weights_of(rows)):
            row = rows[[k]]
            X = self.matrix.X[row.indices] if isinstance(self.matrix.X, RowBlocks) else take(self.matrix.X, row.indices)
            energies[k] = row.data @ self.kernel.dot(X, X, row.data) - w @ w
        return np.maximum(energies, 0.0)

    def exact_diag(self):
        diagonal = np.empty(self.n)
        for place, X, _ in self.matrix.pieces():
            diagonal[place] = self.kernel._diag(in_full(X))
        return diagonal

    # --- as a kernel matrix -------------------------------------------------------------------------------

    def native(self):
        return "function", self.rows, self.n

    def rows(self, which):
        order = np.argsort(which, kind="stable")
        features = self.some(np.asarray(which)[order])
        rows = np.empty((len(order), self.n))
        rows[order] = self.products(features.T).T
        return rows

    def square(self, which):
        order = np.argsort(which, kind="stable")
        features = np.empty((len(order), self.n_weights))
        features[order] = self.some(np.asarray(which)[order])
        return features @ features.T

    def diag(self):
        return self._diagonal

    @cached_property
    def _diagonal(self) -> np.ndarray:
        diagonal = np.empty(self.n)
        for place, block in self.matrix.blocks():
            diagonal[place] = (self.onto(block.T) ** 2).sum(axis=0)
        return diagonal

    def dot(self, v):
        v = np.asarray(v, dtype=np.float64)
        return self.products(self.sums(v))
