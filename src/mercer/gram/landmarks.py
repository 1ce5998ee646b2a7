"""Kernel matrices that some landmarks span."""

from collections.abc import Callable
from contextlib import nullcontext
from copy import copy
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack, solve_triangular
from scipy.sparse import csr_array

from mercer.errors import IndefiniteError
from mercer.gram.features import FeatureGram
from mercer.gram.landmark_matrix import LandmarkMatrix
from mercer.kernels.base import Kernel
from mercer.kernels.samples import in_full, row_blocks, take
from mercer.threads import quiet_blas

__all__ = ["LandmarkGram"]

# A landmark must be apart from the span of others by this part of the largest k(x, x), squared: the features of those
# that are nearer would be rounding.
APART = 1e-8
# Landmarks that are looked at together for what those before them span.
TOGETHER = 512


class Arrays(NamedTuple):
    """Where matrices are."""

    zeros: Callable[[tuple[int, int]], Any]
    solve: Callable[[Any, Any], Any]
    """L^-1 B for a lower triangle L."""
    to_memory: Callable[[Any], np.ndarray]
    from_memory: Callable[[np.ndarray], Any]


IN_MEMORY = Arrays(np.zeros, partial(solve_triangular, lower=True, check_finite=False), np.asarray, np.asarray)


def independent(square: Any, arrays: Arrays = IN_MEMORY) -> tuple[np.ndarray, Any]:
    """Which landmarks others do not span up to the precision, ascending, and the Cholesky factor of these.

    Of their kernel matrix; group by group: of what landmarks before it leave of a group there is a Cholesky factor with
    pivots, and those of the group that are too close to the span of others are left out at once. So most of it are
    products of matrices, where a factor with pivots over all takes a pass over the matrix for every landmark.
    """
    m, diagonal = len(square), arrays.to_memory(square.diagonal())
    near, lowest = APART * float(diagonal.max(initial=0.0)), float(diagonal.min(initial=0.0))
    lower, kept = arrays.zeros((m, m)), np.empty(0, dtype=np.int64)
    for group in row_blocks(m, 1, TOGETHER):
        k = len(kept)
        rows = arrays.solve(lower[:k, :k], square[group][:, kept].T).T if k else square[group][:, :0]
        left = arrays.to_memory(square[group, group] - rows @ rows.T)
        triangle, pivots, rank, _ = lapack.dpstrf(left, tol=near, lower=1)
        if left.diagonal().max() <= near:  # LAPACK takes the first pivot as it is
            rank = 0
        rest, some = pivots[rank:] - 1, np.sort(pivots[:rank] - 1)
        over = left.diagonal()[rest] - (triangle[rank:, :rank] ** 2).sum(axis=1)
        lowest = min(lowest, float(over.min(initial=0.0)))
        lower[k : k + rank, :k] = rows[some]
        lower[k : k + rank, k : k + rank] = arrays.from_memory(np.linalg.cholesky(left[np.ix_(some, some)]))
        kept = np.concatenate([kept, group.start + some])
    refuse_indefinite(lowest, float(diagonal.max(initial=0.0)))
    size = len(kept)
    return kept, lower if size == m else lower[:size, :size] * 1.0  # a matrix of its own


def refuse_indefinite(lowest: float, largest: float) -> None:
    """Refuse landmarks of which one has a squared distance from the span of others, `lowest`, that is negative.

    Up to rounding: small pivots enlarge what it has done to a column.
    """
    if lowest < -np.sqrt(np.finfo(float).eps) * largest:
        raise IndefiniteError(
            f"The kernel must be positive semi-definite, the squared distance of a landmark from the span of others is "
            f"{lowest:.3g}."
        )


def _solve_definite(lower: np.ndarray, right: np.ndarray) -> np.ndarray:
    """A positive definite system by the lower triangle of its matrix, and what rounding asks for on the diagonal."""
    more = np.finfo(float).eps * float(np.abs(np.diagonal(lower)).sum())
    while True:
        factor, failed = lapack.dpotrf(lower, lower=1)
        if not failed:
            return lapack.dpotrs(factor, right, lower=1)[0]
        lower = lower + more * np.eye(len(lower))
        more *= 10.0


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
    matrix_of : callable, default=LandmarkMatrix
        Makes the `LandmarkMatrix`, or what has its methods, of kernel, X, Z and memory.

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
        matrix_of: Callable[..., LandmarkMatrix] = LandmarkMatrix,
    ):
        square = np.asarray(kernel(in_full(Z)), dtype=np.float64)
        with quiet_blas(len(square)):
            self.kernel, (self.kept, self.triangle) = kernel, independent(square)
        self.Z = take(Z, self.kept)
        self.numbers = np.full(len(self.kept), -1) if numbers is None else np.asarray(numbers)[self.kept]
        self.matrix = matrix_of(kernel, X, self.Z, memory)
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

    def of_landmarks(self) -> np.ndarray:
        """The features of the landmarks, shape (len(Z), n_weights)."""
        return self.triangle

    def products(self, w, rows=None):
        return self.matrix.forward(self.coefficients(np.asarray(w, dtype=np.float64)), rows)

    def sums(self, c, rows=None):
        return self.onto(self.matrix.backward(np.asarray(c, dtype=np.float64), rows))

    def in_single(self):
        matrix = self.matrix.in_single()
        if matrix is self.matrix:
            return self
        other = copy(self)
        other.matrix, other.dtype = matrix, np.dtype(np.float32)
        return other

    def quiet_blas(self):
        return quiet_blas(self.n_weights) if self.matrix.native else nullcontext()

    def among(self, rows):
        return self.matrix.among(rows)

    def both(self, w, scale=None, shift=None):
        values, sums = self.matrix.both(self.coefficients(w), scale, shift)
        return values, self.onto(sums)

    def moments_times(self, w, c):
        return self.onto(self.matrix.there_and_back(self.coefficients(w), c))

    def moments(self, c, rows=None):
        lower = self.matrix.lower_moments(c, rows)
        return self.onto(self.onto(lower + np.tril(lower, -1).T).T).T  # in C order

    def newton_moments(self, c, rows=None):
        return self.matrix.lower_moments(c, rows), self.matrix.backward(c, rows)

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
        return self.matrix.squares(self.triangle, c, rows)

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
            energies[k] = self.matrix.energy(row.indices, row.data) - w @ w
        return np.maximum(energies, 0.0)

    def exact_diag(self):
        return self.matrix.diag()

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
        return self.matrix.norms(self.triangle)

    def dot(self, v):
        v = np.asarray(v, dtype=np.float64)
        return self.products(self.sums(v))
