"""Functions of a kernel that are kernels again: powers."""

from typing import ClassVar

import numpy as np

from mercer.kernels.algebra.base import Pointwise, bracketed
from mercer.parameters import Number

__all__ = ["Power"]


class Power(Pointwise):
    r"""Integer power of a kernel, usually written ``k ** p``.

    .. math:: k(x, x') = k_0(x, x')^p

    Parameters
    ----------
    kernel : Kernel
        The kernel :math:`k_0`.
    exponent : int
        The power p >= 1. Fractional powers are refused: they are not positive semi-definite in general.
        Larger weighs similar pairs more.

    See Also
    --------
    Polynomial : Powers of the inner product, computed natively.

    Notes
    -----
    Costs what the kernel costs.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 3.2.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> kernel = (Linear() + 1) ** 2
    >>> kernel
    (Linear() + Constant()) ** 2
    >>> kernel([[1.0], [2.0]])
    array([[ 4.,  9.],
           [ 9., 25.]])
    """

    symbol: ClassVar[str] = " ** "

    def __init__(self, kernel, exponent):
        self.kernel = kernel
        self.exponent = exponent

    def _check_parameters(self):
        super()._check_parameters()
        self._check_exponent()

    def _check_exponent(self) -> None:
        if problem := Number(1, integer=True).problem(self.exponent):
            raise ValueError(
                f"The exponent of a kernel {problem} Other powers are not positive semi-definite in general."
            )

    def _of(self, K):
        return _power(K, self.exponent)

    def _slope(self, K):
        return self.exponent * _power(K, self.exponent - 1)

    def _log_matrix(self, X, Y):
        logs = self.kernel._log_matrix(X, Y)
        return None if logs is None else self.exponent * logs

    def _log_diag(self, X):
        logs = self.kernel._log_diag(X)
        return None if logs is None else self.exponent * logs

    def __repr__(self, N_CHAR_MAX=700):
        return f"{bracketed(self.kernel)} ** {self.exponent!r}"


def _power(K: np.ndarray, exponent: int) -> np.ndarray:
    """Entrywise power by repeated squaring: a product is rounded in one way everywhere, pow() need not be."""
    result = np.ones_like(K)
    while exponent:
        if exponent % 2:
            result = result * K
        exponent //= 2
        if exponent:
            K = K * K
    return result
