"""The Cholesky factor of a matrix, in its place."""

import numpy as np
from scipy.linalg import lapack, solve_triangular

from mercer.errors import IndefiniteError

__all__ = ["Factor"]


class Factor:
    """The lower Cholesky factor L of a symmetric matrix.

    Parameters
    ----------
    matrix : ndarray of shape (n, n), in C order
        Positive definite. It is overwritten: of a symmetric matrix, C order is as good as Fortran's, LAPACK's own.
    name : str
        What it is, for the error message.
    """

    def __init__(self, matrix: np.ndarray, name: str):
        self.lower, info = lapack.dpotrf(matrix.T, lower=1, overwrite_a=1, clean=1)
        pivots = np.diagonal(self.lower)
        bad = info - 1 if info else int(np.argmin(np.isfinite(pivots)))
        if info or not np.isfinite(pivots[bad]):
            raise IndefiniteError(f"{name} is not positive definite: the pivot of sample {bad} is not positive.")

    def _file_parts(self) -> dict[str, np.ndarray]:
        return {"lower": self.lower}

    @classmethod
    def _from_file_parts(cls, parts: dict[str, np.ndarray]) -> "Factor":
        lower = parts["lower"]
        if not isinstance(lower, np.ndarray) or lower.dtype != np.float64 or lower.shape != (len(lower), len(lower)):
            raise ValueError("lower must be a square matrix of float64.")
        return cls.of(lower)

    @classmethod
    def of(cls, lower: np.ndarray) -> "Factor":
        """A factor that has been computed, lower, with zeros above the diagonal."""
        factor = cls.__new__(cls)
        factor.lower = lower
        return factor

    def in_memory(self) -> "Factor":
        """The factor in the memory of the CPU, where it is."""
        return self

    @property
    def half_log_determinant(self) -> float:
        """Half the logarithm of the determinant of the matrix."""
        return float(np.log(np.diagonal(self.lower)).sum())

    def solve(self, b: np.ndarray) -> np.ndarray:
        """The matrix' inverse times b."""
        return lapack.dpotrs(self.lower, b, lower=1)[0]

    def whiten(self, b: np.ndarray) -> np.ndarray:
        """L^-1 b."""
        return solve_triangular(self.lower, b, lower=True, check_finite=False)

    def inverse(self) -> np.ndarray:
        """The lower triangle of the inverse, zero above it, in Fortran's order; the factor is no more after that."""
        inverse, _ = lapack.dpotri(self.lower, lower=1, overwrite_c=1)
        del self.lower
        return inverse

    def inverse_diagonal(self) -> np.ndarray:
        """The diagonal of the inverse; the factor stays."""
        inverse, _ = lapack.dtrtri(self.lower, lower=1)
        return np.einsum("ij,ij->j", inverse, inverse)
