"""Functions of a kernel that are kernels again: powers, polynomials and power series.

A power series with non-negative coefficients keeps a kernel positive semi-definite where it converges.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from scipy.special import xlogy

from mercer.errors import DomainError
from mercer.kernels.algebra.base import Pointwise, bracketed
from mercer.kernels.base import Kernel
from mercer.kernels.frequencies import exponential_series, places, series
from mercer.parameters import Number

__all__ = ["Exp", "Geometric", "PolynomialOf", "Power", "exp"]


class Power(Pointwise):
    r"""Power of a kernel, usually written ``k ** p``.

    .. math:: k(x, x') = k_0(x, x')^p

    Parameters
    ----------
    kernel : Kernel
        The kernel :math:`k_0`.
    exponent : int or float
        The power p, an integer >= 1. Where :math:`k_0` is infinitely divisible, such as `RBF`, any number > 0; other
        fractional powers are refused, since they are not positive semi-definite in general. Larger weighs similar
        pairs more.

    See Also
    --------
    Polynomial : Powers of the inner product, computed natively.
    PolynomialOf : Sums of powers.

    Notes
    -----
    Costs what the kernel costs. A kernel says in its attribute `infinitely_divisible` whether all of its powers are
    positive semi-definite: that is so for exponentials of (conditionally) positive semi-definite functions [2]_.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 3.2.
    .. [2] J.-P. Vert, K. Tsuda, B. Schölkopf, A primer on kernel methods, 2004, section 1.7.1.

    Examples
    --------
    >>> from mercer.kernels import Linear, RBF
    >>> kernel = (Linear() + 1) ** 2
    >>> kernel
    (Linear() + Constant()) ** 2
    >>> kernel([[1.0], [2.0]])
    array([[ 4.,  9.],
           [ 9., 25.]])
    >>> (RBF(gamma=2.0) ** 0.5)([[0.0], [1.0]]).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    symbol: ClassVar[str] = " ** "

    def __init__(self, kernel, exponent):
        self.kernel = kernel
        self.exponent = exponent

    @property
    def infinitely_divisible(self) -> bool:  # type: ignore[override]
        return self.kernel.infinitely_divisible

    def _check_parameters(self):
        super()._check_parameters()
        self._check_exponent()

    def _check_exponent(self) -> None:
        problem = Number(1, integer=True).problem(self.exponent)
        if not problem or not isinstance(self.kernel, Kernel):
            return
        if not self.kernel.infinitely_divisible:
            raise ValueError(
                f"The exponent of a kernel {problem} Other powers are not positive semi-definite in general, "
                f"and {type(self.kernel).__name__} is not known to be infinitely divisible."
            )
        if problem := Number(0, above=True).problem(self.exponent):
            raise ValueError(f"The exponent of a kernel {problem}")

    @property
    def _whole(self) -> bool:
        return not isinstance(self.exponent, float | np.floating)

    def _of(self, K):
        return _power(K, self.exponent) if self._whole else np.power(K, self.exponent)

    def _slope(self, K):
        if self._whole:
            return self.exponent * _power(K, self.exponent - 1)
        with np.errstate(divide="ignore"):
            slope = self.exponent * np.power(K, self.exponent - 1)
        return np.where(K > 0, slope, 0.0)  # what is 0 in an infinitely divisible kernel has underflown

    def _vjp(self, X, W):
        derivatives = super()._vjp(X, W)
        if not self._whole:
            K = self.kernel._matrix(X, X)
            derivatives["exponent"] = float(np.vdot(W, xlogy(self._of(K), K)))
        return derivatives

    def _log_matrix(self, X, Y):
        logs = self.kernel._log_matrix(X, Y)
        return None if logs is None else self.exponent * logs

    def _log_diag(self, X):
        logs = self.kernel._log_diag(X)
        return None if logs is None else self.exponent * logs

    def _spectral_measure(self, d):
        inside = self.kernel._spectral_measure(d) if self._whole else None
        if inside is None:
            return None
        return series(inside, inside.height**self.exponent, lambda u: np.full(len(u), self.exponent), self.exponent)

    def _log_vjp(self, X, W):
        derivatives = self._named(self.kernel._log_vjp(X, self.exponent * W))
        if not self._whole:
            logs = self.kernel._log_matrix(X, X)
            derivatives["exponent"] = float(np.vdot(W, np.where(np.isfinite(logs), logs, 0.0)))
        return derivatives

    def __repr__(self, N_CHAR_MAX=700):
        return f"{bracketed(self.kernel)} ** {self.exponent!r}"


class Exp(Pointwise):
    r"""Exponential of a kernel, usually written ``exp(k)``.

    .. math:: k(x, x') = \exp(k_0(x, x'))

    Parameters
    ----------
    kernel : Kernel
        The kernel :math:`k_0`.

    See Also
    --------
    RBF : The exponential of the inner product, normalised.

    Notes
    -----
    Costs what the kernel costs. Values that overflow are refused; normalised ones, ``exp(k).normalized()``, are
    computed from :math:`k_0` itself and cannot overflow. All powers of it are kernels.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, eqs. 3.13 and 3.14.

    Examples
    --------
    >>> from mercer.kernels import Linear, RBF, exp
    >>> X = [[0.0], [1.0], [3.0]]
    >>> exp(Linear() / 4).normalized()(X).round(3)
    array([[1.   , 0.882, 0.325],
           [0.882, 1.   , 0.607],
           [0.325, 0.607, 1.   ]])
    >>> RBF.from_sigma(2.0)(X).round(3)
    array([[1.   , 0.882, 0.325],
           [0.882, 1.   , 0.607],
           [0.325, 0.607, 1.   ]])
    """

    def __init__(self, kernel):
        self.kernel = kernel

    @property
    def infinitely_divisible(self) -> bool:  # type: ignore[override]
        return self.kernel.definite is True

    def _of(self, K):
        with np.errstate(over="ignore"):
            values = np.exp(K)
        if not np.isfinite(values).all():
            raise ValueError(
                f"exp(k) overflows, k is up to {K.max():.3g} here; use exp(k).normalized(), which is computed "
                "from k, or divide k by a number."
            )
        return values

    def _slope(self, K):
        return self._of(K)

    def _log_matrix(self, X, Y):
        return self.kernel._matrix(X, Y)

    def _log_diag(self, X):
        return self.kernel._diag(X)

    def _log_vjp(self, X, W):
        return self._vjp_inside(X, W)

    def _spectral_measure(self, d):
        return exponential_series(self.kernel._spectral_measure(d))


def exp(kernel):
    """The exponential of a kernel, exp(k(x, x')).

    Parameters
    ----------
    kernel : Kernel

    Returns
    -------
    Exp

    Examples
    --------
    >>> from mercer.kernels import Linear, exp
    >>> exp(Linear())
    Exp(kernel=Linear())
    """
    return Exp(kernel)


class PolynomialOf(Pointwise):
    r"""Polynomial of a kernel with non-negative coefficients.

    .. math:: k(x, x') = \sum_r c_r\, k_0(x, x')^r

    Usually written ``kernel.polynomial([c0, c1, c2])``.

    Parameters
    ----------
    kernel : Kernel
        The kernel :math:`k_0`.
    coefficients : sequence of float
        The numbers :math:`c_0, c_1, ... >= 0`. With a negative one the result would not be a kernel.

    See Also
    --------
    Polynomial : (gamma x . x' + c)^p of vectors, computed natively.
    Geometric, Exp : Power series without an end.

    Notes
    -----
    Costs what the kernel costs. The coefficients are parameters with derivatives.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 3.2.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear().polynomial([1.0, 0.0, 2.0])([[1.0], [2.0]])
    array([[ 3.,  9.],
           [ 9., 33.]])
    """

    def __init__(self, kernel, coefficients):
        self.kernel = kernel
        self.coefficients = coefficients

    def _check_parameters(self):
        super()._check_parameters()
        self._check_coefficients()

    def _check_coefficients(self) -> None:
        if Number(0, per_feature=True).problem(self.coefficients) or np.ndim(self.coefficients) != 1:
            raise ValueError(
                f"coefficients must be a sequence of floats >= 0, got {self.coefficients!r}; with a negative one the "
                "result is not a kernel."
            )

    def _of(self, K):
        return _horner(self.coefficients, K)

    def _slope(self, K):
        c = [float(value) for value in self.coefficients]
        return _horner([r * value for r, value in enumerate(c)][1:] or [0.0], K)

    def _vjp(self, X, W):
        K = self.kernel._matrix(X, X)
        slopes, power = [], np.ones_like(K)
        for _ in self.coefficients:
            slopes.append(float(np.vdot(W, power)))
            power = power * K
        return {"coefficients": np.array(slopes), **super()._vjp(X, W)}

    def _spectral_measure(self, d):
        if (inside := self.kernel._spectral_measure(d)) is None:
            return None
        shares = np.array([float(c) * inside.height**r for r, c in enumerate(self.coefficients)])
        return series(inside, float(shares.sum()), lambda u: places(shares, u), len(shares) - 1)


class Geometric(Pointwise):
    r"""Geometric series of a kernel, usually written ``kernel.geometric(rho)``.

    .. math:: k(x, x') = \frac{1}{\rho - k_0(x, x')} = \sum_{r \ge 0} \frac{k_0(x, x')^r}{\rho^{r + 1}}

    Parameters
    ----------
    kernel : Kernel
        The kernel :math:`k_0`.
    rho : float
        The radius of the series, larger than :math:`k_0(x, x)` of every sample: others are refused. The closer it is to
        these, the more similar pairs stand out.

    See Also
    --------
    Exp : A series that converges everywhere.

    Notes
    -----
    Costs what the kernel costs, and its diagonal. All powers of it are kernels: it is the exponential of
    :math:`-\log(\rho - k_0)`, a series with positive coefficients, too.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 3.2.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear().geometric(5.0)([[1.0], [2.0]]).round(3)
    array([[0.25 , 0.333],
           [0.333, 1.   ]])
    >>> Linear().geometric(4.0)([[1.0], [2.0]])
    Traceback (most recent call last):
    ...
    mercer.errors.DomainError: Geometric needs rho larger than k(x, x) of every sample, got rho=4.0 and k(x, x) up to 4.
    """

    _parameters: ClassVar = {"rho": Number(0, above=True)}

    def __init__(self, kernel, rho):
        self.kernel = kernel
        self.rho = rho

    @property
    def infinitely_divisible(self) -> bool:  # type: ignore[override]
        return self.kernel.definite is True

    def prepare(self, X, Y=None):
        X, Y = super().prepare(X, Y)
        for side in (X,) if X is Y else (X, Y):
            self._check_radius(self.kernel._diag(side))
        return X, Y

    def _check_radius(self, values: np.ndarray) -> None:
        if (largest := float(values.max(initial=-np.inf))) >= self.rho:
            raise DomainError(
                f"Geometric needs rho larger than k(x, x) of every sample, got rho={self.rho} and k(x, x) up to "
                f"{largest:.6g}."
            )

    def _of(self, K):
        self._check_radius(K)  # where the kernel inside is indefinite the diagonal need not be the largest
        return 1 / (self.rho - K)

    def _slope(self, K):
        return 1 / (self.rho - K) ** 2

    def _vjp(self, X, W):
        K = self.kernel._matrix(X, X)
        return {"rho": -float(np.vdot(W, self._slope(K))), **super()._vjp(X, W)}

    def _spectral_measure(self, d):
        if (inside := self.kernel._spectral_measure(d)) is None:
            return None
        self._check_radius(np.array([inside.height]))
        with np.errstate(divide="ignore"):  # of a kernel that is 0 there are no powers
            rate = np.log(inside.height / self.rho)
        return series(inside, 1 / (self.rho - inside.height), lambda u: (np.log(u) / rate).astype(int), 1)


def _horner(coefficients: Sequence[Any], K: np.ndarray) -> np.ndarray:
    """sum_r c_r K^r, entry by entry."""
    result = np.full_like(K, float(coefficients[-1]))
    for value in reversed(coefficients[:-1]):
        result = result * K + float(value)
    return result


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
