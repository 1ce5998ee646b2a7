"""The eigenvalues of kernel matrices, and what they tell."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer.gram.centering import center
from mercer.gram.checks import as_matrix
from mercer.parameters import Number

__all__ = ["MatrixSpectrum", "eigenvalues", "is_conditionally_psd", "is_psd", "spectrum"]

# Eigenvalues are exact to about n units in the last place of the largest one; so many times that is rounding.
ROUNDING = 16


def rounding(n: int) -> float:
    """What rounding can do to the eigenvalues of an n x n matrix, as a share of the largest one."""
    return ROUNDING * n * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class MatrixSpectrum:
    """The eigenvalues of a kernel matrix.

    See Also
    --------
    spectrum : Makes it.
    """

    eigenvalues: np.ndarray
    """From the largest to the smallest."""
    tolerance: float
    """Eigenvalues of this size or less count as zero."""

    @property
    def definite(self) -> bool:
        """Whether no eigenvalue is negative: the matrix is positive semi-definite."""
        return bool(self.eigenvalues[-1] >= -self.tolerance)

    @property
    def rank(self) -> int:
        """How many eigenvalues are not zero: the dimension that the samples span."""
        return int(np.sum(np.abs(self.eigenvalues) > self.tolerance))

    @property
    def n_negative(self) -> int:
        """How many eigenvalues are negative."""
        return int(np.sum(self.eigenvalues < -self.tolerance))

    @cached_property
    def negative_share(self) -> float:
        """The sum of the negative eigenvalues over the sum of all, in absolute values; 0 if there are none."""
        size = np.abs(self.eigenvalues)
        return float(size[self.eigenvalues < -self.tolerance].sum() / size.sum()) if self.n_negative else 0.0

    @cached_property
    def participation_ratio(self) -> float:
        r"""How many eigenvalues carry the spectrum, :math:`(\sum |\lambda|)^2 / \sum \lambda^2`.

        From 1, for one direction, to n, for n of the same size; 0 for a matrix of zeros.
        """
        size = np.abs(self.eigenvalues)
        scaled = size / size.max() if size.any() else size
        return float(scaled.sum() ** 2 / (scaled**2).sum()) if size.any() else 0.0

    def effective_dimension(self, ridge: float) -> float:
        r"""The degrees of freedom that a ridge leaves, :math:`\sum_i \lambda_i / (\lambda_i + r)`.

        Parameters
        ----------
        ridge : float > 0
            r, in the units of the eigenvalues. Larger leaves fewer.

        Returns
        -------
        float
            Negative eigenvalues count as zero.
        """
        if problem := Number(0, above=True).problem(ridge):
            raise ValueError(f"ridge {problem}")
        positive = np.maximum(self.eigenvalues, 0.0)
        return float((positive / (positive + ridge)).sum())

    def __str__(self) -> str:
        lines = [
            f"samples              {len(self.eigenvalues)}",
            f"largest eigenvalue   {self.eigenvalues[0]:.6g}",
            f"smallest eigenvalue  {self.eigenvalues[-1]:.6g}",
            f"rank                 {self.rank}",
            f"participation ratio  {self.participation_ratio:.4g}",
            f"definite             {'yes' if self.definite else 'no'}",
        ]
        if not self.definite:
            lines.append(f"negative             {self.n_negative}, share {self.negative_share:.2%}")
        return "\n".join(lines)


def eigenvalues(K: Any) -> np.ndarray:
    """The eigenvalues of a kernel matrix, from the largest to the smallest.

    Parameters
    ----------
    K : array of shape (n, n), or Gram

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> from mercer.gram import eigenvalues
    >>> eigenvalues([[1.0, 2.0], [2.0, 1.0]])
    array([ 3., -1.])
    """
    return np.linalg.eigvalsh(as_matrix(K))[::-1]


def spectrum(K: Any, tol: float | None = None) -> MatrixSpectrum:
    """The eigenvalues of a kernel matrix with what they tell: rank, negative part, effective dimension.

    Parameters
    ----------
    K : array of shape (n, n), or Gram
    tol : float >= 0 or None, default=None
        Eigenvalues up to this share of the largest absolute one count as zero. None: what rounding can do, 16 n units
        in the last place.

    Returns
    -------
    MatrixSpectrum

    Notes
    -----
    Time O(n^3), by LAPACK: equal up to rounding for any number of threads and any order of the samples.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import spectrum
    >>> from mercer.kernels import Sigmoid
    >>> X = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 0.0], [1.0, 3.0]])
    >>> found = spectrum(Sigmoid(gamma=1.0, coef0=-1.0)(X))
    >>> found.definite, found.n_negative, round(found.negative_share, 3)
    (False, 2, 0.231)
    >>> print(spectrum(X @ X.T))
    samples              4
    largest eigenvalue   13.217
    smallest eigenvalue  ...
    rank                 2
    participation ratio  1.529
    definite             yes
    """
    values = eigenvalues(K)
    largest = float(np.abs(values).max())
    return MatrixSpectrum(values, _share(tol, len(values)) * largest)


def is_psd(K: Any, tol: float | None = None) -> bool:
    """Whether a kernel matrix is positive semi-definite: no eigenvalue is negative. [CY §3.2]

    Parameters
    ----------
    K : array of shape (n, n), or Gram
    tol : float >= 0 or None, default=None
        Negative eigenvalues up to this share of the largest absolute one are forgiven; None: what rounding can do.

    Returns
    -------
    bool

    Examples
    --------
    >>> from mercer.gram import is_psd
    >>> is_psd([[2.0, 1.0], [1.0, 2.0]]), is_psd([[1.0, 2.0], [2.0, 1.0]])
    (True, False)
    """
    return spectrum(K, tol).definite


def is_conditionally_psd(K: Any, tol: float | None = None) -> bool:
    r"""Whether :math:`c^T K c \ge 0` for all coefficients c that add up to zero.

    Minus a squared distance is the example. Such a matrix will do for a machine with an offset, whose coefficients add
    up to zero; :math:`\exp(t K_{ij})` is positive semi-definite for every t > 0, and so is the centred matrix [1]_.

    Parameters
    ----------
    K : array of shape (n, n), or Gram
    tol : float >= 0 or None, default=None
        Negative eigenvalues of the centred matrix up to this share of the largest absolute eigenvalue of K are
        forgiven; None: what rounding can do.

    Returns
    -------
    bool

    References
    ----------
    .. [1] B. Schölkopf, The kernel trick for distances, NIPS 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import is_conditionally_psd, is_psd
    >>> x = np.array([0.0, 1.0, 3.0])
    >>> K = -((x[:, np.newaxis] - x) ** 2)
    >>> is_conditionally_psd(K), is_psd(K)
    (True, False)
    """
    matrix = as_matrix(K)
    # Centring rounds in units of K, which may be far larger than what is left of it.
    scale = float(np.abs(np.linalg.eigvalsh(matrix)).max())
    smallest = float(np.linalg.eigvalsh(center(matrix)).min())
    return smallest >= -_share(tol, len(matrix)) * scale


def _share(tol: float | None, n: int) -> float:
    if problem := Number(0, none=True).problem(tol):
        raise ValueError(f"tol {problem}")
    return rounding(n) if tol is None else float(tol)
