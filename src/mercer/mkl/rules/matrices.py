"""Kernel matrices that are given, read where they lie."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mercer.errors import IndefiniteError
from mercer.gram import Gram, MatrixGram
from mercer.threads import effective_n_threads, one_blas_thread

__all__ = ["MatrixStack"]

# Rows that are read together: of a matrix and its mirror image one half is enough, in blocks that fit a cache.
BLOCK = 128
# Rows that are compared with their columns, and by which share of their size they may differ.
COMPARED, ASYMMETRY = 8, 1e-6
# A squared length of less than minus this share of its terms is not rounding.
NEGATIVE = 1e-6


class MatrixStack:
    """Symmetric matrices with what rules ask a `GramStack` for, without copies of them.

    Parameters
    ----------
    matrices : sequence of arrays of shape (n, n)
        Taken to be positive semi-definite; what a rule computes shows some of those that are not.
    """

    memory = "auto"
    ridge = 0.0

    def __init__(self, matrices: Sequence[Any]):
        if isinstance(matrices, np.ndarray) and matrices.ndim != 3:
            raise ValueError(f"kernels must be a list of matrices, got an array of shape {matrices.shape}.")
        self.matrices = [self._checked(K, k) for k, K in enumerate(matrices)]
        if not self.matrices:
            raise ValueError("kernels must be at least one matrix, got none.")
        self.n = len(self.matrices[0])
        for k, K in enumerate(self.matrices):
            if len(K) != self.n:
                raise ValueError(f"kernels must be of the same samples: number {k} is of {len(K)}, 0 of {self.n}.")

    @staticmethod
    def _checked(K: Any, k: int) -> np.ndarray:
        K = np.asarray(K)
        if K.dtype.kind not in "biuf" or K.ndim != 2 or K.shape[0] != K.shape[1] or not len(K):
            raise ValueError(
                f"kernels must be square matrices of real numbers, number {k} has shape {K.shape} and dtype {K.dtype}."
            )
        K = K if K.dtype.kind == "f" else K.astype(np.float64)
        some = np.unique(np.linspace(0, len(K) - 1, COMPARED).astype(int))
        gap = float(np.abs(K[some] - K[:, some].T).max())
        if gap > ASYMMETRY * float(np.abs(K[some]).max()):
            raise ValueError(f"kernels must be symmetric, number {k} differs from its mirror image by up to {gap:.3g}.")
        return K

    def __len__(self) -> int:
        return len(self.matrices)

    def matrix(self, k: int) -> np.ndarray:
        """One of the matrices in float64."""
        K = self.matrices[k].astype(np.float64, copy=False)
        self._require_finite(K)
        return K

    def gram(self, k: int) -> Gram:
        """One of the matrices as it is."""
        return MatrixGram.of_checked(self.matrix(k), None)

    def combination(self, weights: np.ndarray) -> Gram:
        """The weighted sum of the matrices, in float32."""
        total = np.empty((self.n, self.n), dtype=np.float32)

        def add_up(start: int) -> None:
            here = slice(start, start + BLOCK)
            part = np.zeros((min(BLOCK, self.n - start), self.n - start))
            for weight, K in zip(weights, self.matrices, strict=True):
                part += K[here, start:] if weight == 1.0 else weight * K[here, start:]
            total[here, start:], total[start:, here] = part, part.T

        self._side_by_side(add_up, range(0, self.n, BLOCK))
        self._require_finite(total)
        return MatrixGram.of_checked(total, True)

    def _require_finite(self, total: np.ndarray) -> None:
        if np.isfinite(total.sum()):
            return
        for k, K in enumerate(self.matrices):
            if not np.isfinite(K).all():
                raise ValueError(f"kernels must be finite, number {k} contains NaN or infinity.")
        raise ValueError("kernels are too large: their sum overflows. Rescale them.")

    def energies(self, coefficients: csr_array) -> np.ndarray:
        """Half of c'Kc for every matrix, summed over the rows c of coefficients."""
        C = coefficients.toarray().T
        found = np.zeros(len(self))

        def measure(k: int) -> None:
            K = self.matrices[k]
            for start in range(0, self.n, BLOCK):
                here, after = slice(start, start + BLOCK), slice(start + BLOCK, None)
                found[k] += 0.5 * np.vdot(C[here], K[here, here] @ C[here]) + np.vdot(
                    C[here], K[here, after] @ C[after]
                )

        self._side_by_side(measure, range(len(self)))
        for k, K in enumerate(self.matrices):
            if found[k] < -NEGATIVE * float(np.abs(np.diagonal(K)).max()) * float((C * C).sum()):
                raise IndefiniteError(
                    f"kernels must be positive semi-definite, a squared length in number {k} is {2.0 * found[k]:.3g}; "
                    "repair it, see mercer.gram.Repair."
                )
        return np.maximum(found, 0.0)

    @staticmethod
    def _side_by_side(work: Callable[[int], None], parts: Iterable[int]) -> None:
        """Pieces of work that do not touch each other; one thread alone cannot read as fast as memory gives."""
        with one_blas_thread(), ThreadPoolExecutor(effective_n_threads()) as pool:
            for _ in pool.map(work, parts):
                pass
