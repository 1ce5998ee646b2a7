"""Kernel matrices as objects.

A `Gram` knows its size and gives rows, its diagonal and products. Whether the numbers lie in memory, are made
by native loops when they are needed, or come from Python in blocks is its own affair.
"""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import coo_array, csr_array, issparse
from sklearn.utils.validation import check_array

from mercer import _native
from mercer.gram.memory import memory_budget
from mercer.kernels.base import Kernel
from mercer.kernels.samples import n_samples, native_rows, native_samples, row_blocks, take
from mercer.threads import effective_n_threads

__all__ = ["FunctionGram", "Gram", "MatrixGram", "VectorGram", "make_gram", "stored"]

# Up to the first size a Cholesky factor decides whether a matrix is definite, up to the second some steps of Lanczos'
# method; above that a kernel that does not promise to be definite is taken not to be.
CHOLESKY_SIZE = 3000
LANCZOS_SIZE, LANCZOS_STEPS = 20_000, 40
# An eigenvalue below minus so many times what rounding can do to it is not rounding.
ROUNDING = 64
# Entries of a large matrix that are compared with their mirror images.
SYMMETRY_SAMPLE = 100_000
# Values up to here can be added and multiplied a little in float32.
LARGEST_SINGLE = 1e30
# Sums in another order differ by so many units in the last place; anything more is another matrix.
ASYMMETRY = 1e3


class Gram(ABC):
    """An n x n kernel matrix.

    Parameters
    ----------
    n : int
        Number of samples.
    definite : bool or None
        Whether the matrix is known to be positive semi-definite; None: not known.
    """

    dtype: np.dtype = np.dtype(np.float64)
    """The precision of the entries."""
    keeps_values: ClassVar[bool] = False
    """Whether products need not compute kernel values again."""

    def __init__(self, n: int, definite: bool | None):
        self.n = n
        self._promise = definite is True

    @abstractmethod
    def native(self) -> tuple:
        """The matrix as the native solvers take it."""

    @abstractmethod
    def rows(self, which: np.ndarray) -> np.ndarray:
        """Rows K[which, :] in float64, shape (len(which), n)."""

    def square(self, which: np.ndarray) -> np.ndarray:
        """The rows and columns K[which, which] in float64."""
        return self.rows(which).take(which, axis=1)

    def part(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The entries K[rows, columns] in float64, shape (len(rows), len(columns))."""
        return self.rows(rows).take(columns, axis=1)

    @abstractmethod
    def diag(self) -> np.ndarray:
        """The diagonal in float64."""

    def exact_diag(self) -> np.ndarray:
        """k(x, x) of all samples, also where the matrix is an approximation."""
        return self.diag()

    def dot(self, v: np.ndarray) -> np.ndarray:
        """K @ v in float64."""
        product = np.empty(v.shape)
        for block in row_blocks(self.n, self.n):
            product[block] = self.rows(np.arange(block.start, block.stop)) @ v
        return product

    def dot_part(self, rows: np.ndarray, columns: np.ndarray, V: Any) -> np.ndarray:
        """K[rows, columns] @ V in float64, for an array or sparse matrix V of shape (len(columns), k)."""
        product, V = np.empty((len(rows), V.shape[1])), csr_array(V.T)  # no BLAS in a fit
        for block in row_blocks(len(rows), self.n):
            product[block] = (V @ self.rows(rows[block])[:, columns].T).T
        return product

    def values_at(self, rows: csr_array, at: np.ndarray) -> np.ndarray:
        """rows @ K[:, at] in float64, for sparse rows of coefficients over all samples: decision functions at some."""
        support = np.unique(rows.indices)
        return self.dot_part(at, support, csr_array(rows[:, support].T)).T

    def partial_factor(self, size: int) -> Any:
        """Where `low_rank` keeps the columns of a partial Cholesky factor, `size` at most."""
        from mercer.gram.low_rank import PartialFactor

        return PartialFactor(self, size)

    @cached_property
    def definite(self) -> bool:
        """Whether the matrix is positive semi-definite, up to rounding.

        A kernel that promises it is believed. Otherwise a Cholesky factorisation decides; for more than 3000 samples
        Lanczos' method, which finds a negative eigenvalue of any weight but proves nothing; for more than 20 000 that
        is too dear, and the answer is no.
        """
        if self._promise:
            return True
        diagonal, tolerance = self.diag(), self.rounding
        if diagonal.min(initial=0.0) < -tolerance:
            return False
        if self.n <= CHOLESKY_SIZE:
            matrix = self.rows(np.arange(self.n))
            try:
                np.linalg.cholesky(0.5 * (matrix + matrix.T) + tolerance * np.eye(self.n))
            except np.linalg.LinAlgError:
                return False
            return True
        if self.n > LANCZOS_SIZE:
            return False
        return self.lowest_eigenvalue() >= -tolerance

    @cached_property
    def rounding(self) -> float:
        """How far below zero rounding may take an eigenvalue of a positive semi-definite matrix."""
        scale = max(np.abs(self.diag()).max(initial=0.0), np.finfo(float).tiny)
        # The factorisation errs by n units in the last place of float64, the entries by one of their own.
        units = self.n * np.finfo(np.float64).eps + np.sqrt(self.n) * np.finfo(self.dtype).eps
        return float(ROUNDING * units * scale)

    def lowest_eigenvalue(self) -> float:
        """The smallest eigenvalue; above 3000 samples an estimate by Lanczos' method, which is never below it."""
        if self.n <= CHOLESKY_SIZE:
            matrix = self.rows(np.arange(self.n))
            return float(np.linalg.eigvalsh(0.5 * (matrix + matrix.T)).min())
        lowest = np.eye(1, self.n, int(np.argmin(self.diag())))[0]
        return min(map(self._lowest_ritz_value, (np.random.default_rng(0).standard_normal(self.n), lowest)))

    def _lowest_ritz_value(self, start: np.ndarray) -> float:
        """The smallest eigenvalue of K on a Krylov space: never below the smallest of K."""
        basis, images = [start / np.linalg.norm(start)], []
        for _ in range(LANCZOS_STEPS):
            q = self.dot(basis[-1])
            images.append(q)
            for _ in range(2):  # once is not orthogonal enough
                q = q - np.array(basis).T @ (np.array(basis) @ q)
            if np.linalg.norm(q) == 0.0:
                break
            basis.append(q / np.linalg.norm(q))
        projected = np.array(basis[: len(images)]) @ np.array(images).T
        return float(np.linalg.eigvalsh(0.5 * (projected + projected.T)).min())


class MatrixGram(Gram):
    """A kernel matrix in memory.

    Parameters
    ----------
    matrix : array of shape (n, n)
        float32 and float64 are used as they are, in C order.
    definite : bool or None, default=None
        Whether it is known to be positive semi-definite.

    Examples
    --------
    >>> from mercer.gram import MatrixGram
    >>> MatrixGram([[1.0, 2.0], [2.0, 1.0]]).definite
    False
    """

    keeps_values = True

    def __init__(self, matrix: Any, definite: bool | None = None):
        dtype = np.float32 if getattr(matrix, "dtype", None) == np.float32 else np.float64
        self.matrix = check_array(matrix, dtype=dtype, order="C", input_name="the kernel matrix")
        self.dtype = self.matrix.dtype
        n, m = self.matrix.shape
        if n != m:
            raise ValueError(f"A kernel matrix must be square, got shape {self.matrix.shape}.")
        super().__init__(n, definite)
        self._check_symmetry()

    @classmethod
    def of_checked(cls, matrix: np.ndarray, definite: bool | None) -> "MatrixGram":
        """A matrix in C order that is known to be finite and symmetric, such as a kernel makes."""
        gram = object.__new__(cls)
        Gram.__init__(gram, len(matrix), definite)
        gram.matrix, gram.dtype = matrix, matrix.dtype
        return gram

    def _check_symmetry(self) -> None:
        if self.n**2 <= SYMMETRY_SAMPLE:
            i, j = np.triu_indices(self.n, 1)
        else:
            i, j = np.random.default_rng(0).integers(0, self.n, size=(2, SYMMETRY_SAMPLE))
        there, back = self.matrix[i, j], self.matrix[j, i]
        scale = np.abs(there).max(initial=0.0)
        if np.abs(there - back).max(initial=0.0) > ASYMMETRY * np.finfo(self.matrix.dtype).eps * scale:
            raise ValueError("A kernel matrix must be symmetric; pass (K + K.T) / 2 if that is what you mean.")

    def native(self) -> tuple:
        return "matrix", self.matrix

    def rows(self, which):
        return self.matrix[which].astype(np.float64, copy=False)

    def part(self, rows, columns):
        return self.matrix[np.ix_(rows, columns)].astype(np.float64, copy=False)

    def diag(self):
        return np.diagonal(self.matrix).astype(np.float64)

    def dot(self, v):
        return self.matrix @ v

    def dot_part(self, rows, columns, V):
        V = coo_array(V)
        return self.values_at(csr_array((V.data, (V.col, columns[V.row])), shape=(V.shape[1], self.n)), rows).T

    def values_at(self, rows, at):
        at = np.ascontiguousarray(at, dtype=np.int64)
        return _native.matrix_dot_rows(self.matrix, at, native_rows(rows), effective_n_threads())


class VectorGram(Gram):
    """The kernel matrix of vectors, made by the native loops where it is needed and stored nowhere.

    Parameters
    ----------
    kernel : Kernel
        Resolved, with a native form.
    X : n samples
    """

    def __init__(self, kernel: Kernel, X: Any):
        self.kernel = kernel
        self.X, _ = kernel.prepare(X)
        self.dtype = self.X.dtype
        super().__init__(n_samples(self.X), kernel.definite)

    def native(self) -> tuple:
        spec = self.kernel.native()
        assert spec is not None
        # float32 working rows see differences of vectors: far from the origin they would lose them to rounding.
        dense = isinstance(self.X, np.ndarray)
        centre = self.X.mean(axis=0, dtype=np.float64) if spec.centre and dense else None
        return "vectors", *spec.arguments(centre), native_samples(self.X)

    @cached_property
    def _full(self) -> Any:
        """The vectors in float64: that is what certificates are made of."""
        return self.X.astype(np.float64, copy=False)

    def rows(self, which):
        return self.kernel(self._full[which], self._full)

    def square(self, which):
        return self.kernel(self._full[which])

    def part(self, rows, columns):
        return self.kernel(self._full[rows], self._full[columns])

    def diag(self):
        return self.kernel.diag(self._full)

    def dot(self, v):
        return self.kernel.dot(self.X, self.X, v)

    def dot_part(self, rows, columns, V):
        return self.kernel.dot(take(self.X, rows), take(self.X, columns), V)


class FunctionGram(Gram):
    """The kernel matrix of any samples, asked from a Python kernel in blocks of rows.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    X : n samples
    """

    def __init__(self, kernel: Kernel, X: Any):
        self.kernel = kernel
        self.X, _ = kernel.prepare(X)  # once: strings and graphs are checked and packed here
        super().__init__(n_samples(self.X), kernel.definite)

    def native(self) -> tuple:
        return "function", self.rows, self.n

    def rows(self, which):
        block = self.kernel._some_rows(self.X, which, self.X)
        return np.ascontiguousarray(block, dtype=np.float64)

    def part(self, rows, columns):
        block = self.kernel._some_rows(self.X, rows, take(self.X, columns))
        return np.ascontiguousarray(block, dtype=np.float64)

    def diag(self):
        return np.asarray(self.kernel._diag(self.X), dtype=np.float64)

    def dot(self, v):
        return self.dot_part(slice(None), slice(None), v.reshape(self.n, -1)).reshape(v.shape)

    def dot_part(self, rows, columns, V):
        X, Y = take(self.X, rows), take(self.X, columns)
        if issparse(V):
            return self.kernel._dot_rows(X, Y, csr_array(V.T))
        return self.kernel._dot(X, Y, np.ascontiguousarray(V, dtype=np.float64))


def make_gram(kernel: Kernel, X: Any, memory: float | str = "auto") -> Gram:
    """The Gram matrix of samples that fits the kernel and the memory.

    Parameters
    ----------
    kernel : Kernel
        Resolved on X.
    X : n samples
    memory : float or "auto", default="auto"
        Megabytes, see `memory_budget`.

    Returns
    -------
    Gram
        Native rows where the kernel has them; else the whole matrix if it fits half the budget; else blocks of
        rows.

    Examples
    --------
    >>> from mercer.gram import make_gram
    >>> from mercer.kernels import RBF
    >>> make_gram(RBF(gamma=1.0), [[0.0], [1.0]]).rows([0]).round(3)
    array([[1.   , 0.368]])
    """
    if kernel.native() is not None:
        gram = VectorGram(kernel, X)
        # In the precision of the samples first, which takes no copy of them.
        if not (np.isfinite(kernel._diag(gram.X)).all() or np.isfinite(gram.diag()).all()):
            raise ValueError(f"The features are too large: the values of {kernel!r} overflow. Rescale them.")
        return gram
    if 8 * n_samples(X) ** 2 <= memory_budget(memory) // 2:
        return MatrixGram(kernel(X), kernel.definite)
    return FunctionGram(kernel, X)


def stored(gram: Gram, memory: float | str = "auto", dtype: Any = np.float64) -> Gram:
    """The matrix in memory, for a machine that goes over it many times.

    Parameters
    ----------
    gram : Gram
    memory : float or "auto", default="auto"
        Megabytes, see `memory_budget`.
    dtype : {float64, float32}, default=float64
        The precision to store.

    Returns
    -------
    Gram
        A `MatrixGram` if half the budget is enough for it and its values have a place in `dtype`; else the one given,
        and so is one that keeps its values already.
    """
    dtype = np.dtype(dtype)
    if gram.keeps_values or dtype.itemsize * gram.n**2 > memory_budget(memory) // 2:
        return gram
    if dtype == np.float32 and np.abs(gram.diag()).max(initial=0.0) > LARGEST_SINGLE:
        return gram
    if dtype == np.float64:  # as it comes, without a copy
        return MatrixGram.of_checked(gram.square(np.arange(gram.n)), True if gram._promise else None)
    matrix = np.empty((gram.n, gram.n), dtype=dtype)
    for block in row_blocks(gram.n, gram.n):
        matrix[block] = gram.rows(np.arange(block.start, block.stop))
    return MatrixGram.of_checked(matrix, True if gram._promise else None)
