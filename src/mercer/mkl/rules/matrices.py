"""Kernel matrices that are given, read where they lie."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mercer import _native
from mercer.errors import IndefiniteError
from mercer.gram import Gram, MatrixGram
from mercer.gram.sources import LARGEST_SINGLE
from mercer.threads import effective_n_threads

__all__ = ["MatrixStack"]

# Entries in so many rows and columns are compared with their mirror images, and by which share they may differ.
COMPARED, ASYMMETRY = 32, 1e-6
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
        if len({K.dtype for K in self.matrices}) > 1:
            self.matrices = [K.astype(np.float64, copy=False) for K in self.matrices]
        self.n, self.dtype = len(self.matrices[0]), self.matrices[0].dtype
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
        K = K if K.dtype in (np.float32, np.float64) else K.astype(np.float64)
        K = K.T if K.flags.f_contiguous else np.ascontiguousarray(K)  # its mirror image is the same
        some = np.unique(np.linspace(0, len(K) - 1, COMPARED).astype(int))
        part = K[np.ix_(some, some)]
        gap = float(np.abs(part - part.T).max())
        if gap > ASYMMETRY * float(np.abs(part).max()):
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
        """The weighted sum of the matrices, in float32 if it has a place there."""
        sizes = [float(np.abs(np.diagonal(K)).max()) for K in self.matrices]
        largest = sum(d * size for d, size in zip(weights.tolist(), sizes, strict=True))
        single = largest == 0 or 1 / LARGEST_SINGLE <= largest <= LARGEST_SINGLE
        total = np.empty((self.n, self.n), dtype=np.float32 if single else np.float64)
        _native.sum_of_matrices(self.matrices, weights, total, effective_n_threads())
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
        C = coefficients.toarray()
        found = _native.energies_of_matrices(self.matrices, C, effective_n_threads())
        for k, K in enumerate(self.matrices):
            if found[k] < -NEGATIVE * float(np.abs(np.diagonal(K)).max()) * float((C * C).sum()):
                raise IndefiniteError(
                    f"kernels must be positive semi-definite, a squared length in number {k} is {2.0 * found[k]:.3g}; "
                    "repair it, see mercer.gram.Repair."
                )
        return np.maximum(found, 0.0)
