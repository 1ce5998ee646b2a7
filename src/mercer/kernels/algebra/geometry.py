"""Samples moved in feature space: onto the unit sphere."""

from typing import Any

import numpy as np
from scipy.sparse import diags_array, issparse

from mercer.errors import DomainError
from mercer.kernels.algebra.base import Parts, Wrapped, one_part
from mercer.kernels.samples import take

__all__ = ["Normalized"]


class WithDiagonal(Wrapped):
    """A kernel computed from another one and its diagonal, which is computed once, when samples are prepared.

    Prepared samples are those of the kernel inside and what ``_of_diag`` makes of them.
    """

    def prepare(self, X, Y=None):
        if Y is None or Y is X:
            both = self._with_diag(self.kernel.prepare(one_part(X, 0))[0])
            return both, both
        X, Y = self.kernel.prepare(one_part(X, 0), one_part(Y, 0))
        return self._with_diag(X), self._with_diag(Y)

    def _with_diag(self, X: Any) -> Parts:
        return Parts(X, self._of_diag(X))

    def _of_diag(self, X: Any) -> np.ndarray:
        """The diagonal k(x, x) of the kernel inside, or what is needed of it."""
        return self.kernel._diag(X)


class Normalized(WithDiagonal):
    r"""A kernel normalised: the cosine of the angle between two samples in its feature space.

    .. math:: k(x, x') = \frac{k_0(x, x')}{\sqrt{k_0(x, x)\, k_0(x', x')}}

    Usually written ``kernel.normalized()``. A sample has the value 1 with itself, exactly. This takes size out of a
    similarity: long strings and large graphs have more in common with everything. A sample that is zero in feature
    space, such as a string that is shorter than what is counted, has no direction: its values, with itself too, are 0.

    Parameters
    ----------
    kernel : Kernel
        The kernel :math:`k_0`. With an indefinite one the values may be beyond 1 and -1; where its diagonal is
        negative it is refused.

    See Also
    --------
    Cosine : The linear kernel normalised, computed natively.

    Notes
    -----
    Costs what the kernel costs, and its diagonal. Where the kernel knows the logarithms of its values these are used,
    so that values beyond the range of floating point numbers do no harm:
    :math:`\exp(\log k_0(x, x') - (\log k_0(x, x) + \log k_0(x', x')) / 2)`.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, eqs. 3.11 and 3.12.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear().normalized()([[1.0, 0.0], [3.0, 4.0]])
    array([[1. , 0.6],
           [0.6, 1. ]])
    """

    def __init__(self, kernel):
        self.kernel = kernel

    def _of_diag(self, X):
        logs = self.kernel._log_diag(X)
        if logs is not None:
            return logs
        diagonal = self.kernel._diag(X)
        if (diagonal < 0).any():
            raise DomainError(
                f"{type(self.kernel).__name__} cannot be normalised on samples where k(x, x) < 0, "
                f"got {diagonal.min():.3g}."
            )
        return diagonal

    def _matrix(self, X, Y):
        (X, x), (Y, y) = X.parts, Y.parts
        logs = self.kernel._log_matrix(X, Y)
        if logs is None:
            return _over_norms(self.kernel._matrix(X, Y), x, y)
        with np.errstate(invalid="ignore"):  # -inf - (-inf): a sample of norm zero
            values = np.exp(logs - (x[:, np.newaxis] + y) / 2)
        return np.where(np.isnan(values), 0.0, values).astype(logs.dtype, copy=False)

    def _diag(self, X):
        X, x = X.parts
        zero = 0.0 if self._plain(X) else -np.inf
        return (x != zero).astype(x.dtype)

    def _vjp(self, X, W):
        # With r = k_ii^(-1/2): dK_ij = r_i r_j dk_ij - K_ij (r_i^2 dk_ii + r_j^2 dk_jj) / 2
        inverse = self._inverse_norms(X)
        WK = W * self._matrix(X, X)
        V = inverse[:, np.newaxis] * W * inverse
        V[np.diag_indices_from(V)] -= inverse**2 * (WK.sum(axis=0) + WK.sum(axis=1)) / 2
        return self._vjp_inside(X.parts[0], V)

    def _plain(self, X: Any) -> bool:
        """Whether the diagonal is one of values, not of their logarithms; for prepared samples of the kernel inside."""
        return self.kernel._log_diag(take(X, slice(0, 0))) is None

    def _inverse_norms(self, X: Parts) -> np.ndarray:
        """1 / sqrt(k(x, x)), 0 for samples of norm zero, in float64."""
        inside, x = X.parts
        x = x.astype(np.float64)
        with np.errstate(divide="ignore", over="ignore"):
            inverse = 1 / np.sqrt(x) if self._plain(inside) else np.exp(-x / 2)
        return np.where(np.isfinite(inverse), inverse, 0.0)

    def features(self, X):
        """Explicit feature vectors of length 1, of kernels that have feature vectors.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray or CSR array of shape (n, n_components)
        """
        kernel = self._ready(X)
        table, inverse = kernel.kernel.features(X), kernel._inverse_norms(kernel.prepare(X)[0])
        return diags_array(inverse) @ table if issparse(table) else inverse[:, np.newaxis] * table


def _over_norms(K: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """K_ij / sqrt(x_i y_j), exactly 1 where all three are equal, and 0 where x or y is.

    sqrt(x * x) is x in floating point numbers as long as x * x is one: powers of two are taken out first.
    """
    (x, p), (y, q) = (_without_power(diagonal) for diagonal in (x, y))
    norms = np.sqrt(x[:, np.newaxis] * y)
    np.divide(K, norms, out=norms, where=norms > 0)
    return np.ldexp(norms, -(p[:, np.newaxis] + q))


def _without_power(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers in [1/2, 2) and p with x = number * 4^p."""
    _, exponent = np.frexp(x)
    half = exponent // 2
    return np.ldexp(x, -2 * half), half
