"""Kernels of the distance between two vectors."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaincinv, gammaln, kve

from mercer.kernels.base import NativeSpec
from mercer.kernels.frequencies import Draws, SpectralMeasure
from mercer.kernels.vectors.bandwidth import GAMMA_WORDS, gamma_from_data, inverse, typical
from mercer.kernels.vectors.base import VectorKernel, measure, squared_differences
from mercer.parameters import Number

# Scaled distances beyond which every Matérn kernel that is not computed natively is 0.
FAR = 1e5
# Of those that are, dk/dt exp(u) with u^2 = 2 nu t.
MATERN_SLOPES: dict[float, Callable[[np.ndarray], Any]] = {
    0.5: lambda u: -0.5 / u,
    1.5: lambda _: -1.5,
    2.5: lambda u: -5 / 6 * (1 + u),
}


class RBF(VectorKernel):
    r"""Gaussian kernel, also called radial basis function or squared exponential kernel.

    .. math:: k(x, x') = \exp(-\gamma \|x - x'\|^2), \qquad \gamma = \frac{1}{2 \sigma^2}

    or, with one gamma for every feature, :math:`\exp(-\sum_f \gamma_f (x_f - x'_f)^2)`. All samples lie on
    the unit sphere of an infinite-dimensional feature space.

    Parameters
    ----------
    gamma : float, array of shape (n_features,) or str, default="scale"
        Inverse squared width >= 0. Larger means narrower: a more flexible machine. The words are rules that
        take it from the training samples:

        - "scale": 1 / (n_features * variance of all entries of X);
        - "auto": 1 / n_features;
        - "mean": gamma times the mean of :math:`\|x - x'\|^2` is 1, so that exponents are of order one [1]_;
        - "median": gamma times the median of :math:`\|x - x'\|^2` is 1.

        Mean and median are over all pairs of samples that differ, and count weighted samples as often as
        their weights say. If all samples are equal, gamma is 1.

    See Also
    --------
    Exponential, Laplacian : Less smooth.
    Matern : Of a chosen smoothness.

    Notes
    -----
    Time O(nmd), memory O(nm); differences are formed before they are squared, so that a common shift of the
    data costs no accuracy. The "mean" rule takes O(nd); "median" forms the distances of at most 2000
    different samples, chosen by a hash of their values where there are more.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, eqs. 1.10 and 3.17, section 1.6.

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> X = [[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]]
    >>> RBF(gamma=0.5)(X).round(3)
    array([[1.   , 0.607, 0.135],
           [0.607, 1.   , 0.082],
           [0.135, 0.082, 1.   ]])
    >>> RBF(gamma="mean").resolve([[0.0], [2.0]])
    RBF(gamma=0.25)
    >>> RBF(gamma=[0.5, 0.0])(X).round(3)
    array([[1.   , 0.607, 1.   ],
           [0.607, 1.   , 0.607],
           [1.   , 0.607, 1.   ]])
    """

    infinitely_divisible = True
    _parameters: ClassVar = {"gamma": Number(0, words=GAMMA_WORDS, per_feature=True)}

    def __init__(self, gamma="scale"):
        self.gamma = gamma

    @classmethod
    def from_sigma(cls, sigma):
        """The kernel of width sigma, gamma = 1 / (2 sigma^2).

        Parameters
        ----------
        sigma : float or array of shape (n_features,)
            Width > 0, of all features or one for each.

        Returns
        -------
        RBF

        Examples
        --------
        >>> from mercer.kernels import RBF
        >>> RBF.from_sigma(2.0)
        RBF(gamma=0.125)
        """
        return cls(_gamma_from_sigma(sigma, per_feature=True))

    def prepare(self, X, Y=None):
        X, Y = super().prepare(X, Y)
        _check_per_feature("gamma", self.gamma, X)
        return X, Y

    def _from_data(self, word, X, w):
        return gamma_from_data(word, X, w)

    def native(self):
        if np.ndim(self.gamma):
            return NativeSpec("l2", "exp", centre=True, weights=np.sqrt(np.asarray(self.gamma, dtype=np.float64)))
        return NativeSpec("l2", "exp", (float(self.gamma), 0.0, 0.0), centre=True)

    def _spectral_measure(self, d):
        scale = np.sqrt(2 * np.asarray(self.gamma, dtype=np.float64))
        return SpectralMeasure(1.0, lambda draws: scale * draws.normal(d))

    def _vjp_rows(self, X, Y, W):
        D = -W * self._matrix(X, Y)
        if np.ndim(self.gamma):
            return {"gamma": squared_differences(D, X, Y)}
        return {"gamma": float(np.vdot(D, measure("l2", X, Y)))}


class Exponential(VectorKernel):
    r"""Exponential kernel, a Gaussian kernel of the distance in place of its square.

    .. math:: k(x, x') = \exp(-\gamma \|x - x'\|), \qquad \gamma = \frac{1}{2 \sigma^2}

    Parameters
    ----------
    gamma : float, "auto", "median" or "mean", default="mean"
        Inverse width >= 0. Larger means narrower. "auto" is 1 / n_features; "mean" and "median" are one
        over the root of the mean or median of :math:`\|x - x'\|^2` over all pairs of samples that differ.

    See Also
    --------
    RBF : Smooth.
    Laplacian : With the sum of absolute differences.
    Matern : The same kernel for nu = 1/2, and those between it and `RBF`.

    Notes
    -----
    Time O(nmd), memory O(nm).

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, figure 2.2.

    Examples
    --------
    >>> from mercer.kernels import Exponential
    >>> Exponential(gamma=0.5)([[0.0, 0.0], [3.0, 4.0]]).round(3)
    array([[1.   , 0.082],
           [0.082, 1.   ]])
    """

    infinitely_divisible = True
    _parameters: ClassVar = {"gamma": Number(0, words=("auto", "median", "mean"))}

    def __init__(self, gamma="mean"):
        self.gamma = gamma

    @classmethod
    def from_sigma(cls, sigma):
        """The kernel with gamma = 1 / (2 sigma^2), as in the book.

        Parameters
        ----------
        sigma : float
            Width > 0.

        Returns
        -------
        Exponential

        Examples
        --------
        >>> from mercer.kernels import Exponential
        >>> Exponential.from_sigma(1.0)
        Exponential(gamma=0.5)
        """
        return cls(_gamma_from_sigma(sigma))

    def _from_data(self, word, X, w):
        return gamma_from_data(word, X, w) if word == "auto" else inverse(np.sqrt(typical(word, X, w)))

    def native(self):
        return NativeSpec("l2", "exp_sqrt", (float(self.gamma), 0.0, 0.0), centre=True)

    def _spectral_measure(self, d):
        return SpectralMeasure(1.0, lambda draws: self.gamma * _student(draws, d, 1.0))

    def _vjp_rows(self, X, Y, W):
        distance = np.sqrt(measure("l2", X, Y))
        return {"gamma": -float(np.vdot(W, distance * np.exp(-self.gamma * distance)))}


class Laplacian(VectorKernel):
    r"""Laplacian kernel, with the sum of absolute differences.

    .. math:: k(x, x') = \exp(-\gamma \|x - x'\|_1)

    Parameters
    ----------
    gamma : float, "auto", "median" or "mean", default="auto"
        Inverse width >= 0. Larger means narrower. "auto" is 1 / n_features; "median" and "mean" make gamma
        times the median or mean of :math:`\|x - x'\|_1`, over all pairs of samples that differ, 1.

    See Also
    --------
    RBF : Smooth.
    Exponential : With the Euclidean distance.

    Notes
    -----
    Time O(nmd), memory O(nm). "median" and "mean" use at most 2000 different samples.

    References
    ----------
    .. [1] O. Chapelle, P. Haffner, V. Vapnik, Support vector machines for histogram-based image
       classification, IEEE Transactions on Neural Networks 10, 1999.

    Examples
    --------
    >>> from mercer.kernels import Laplacian
    >>> Laplacian(gamma=0.5)([[0.0, 0.0], [1.0, 1.0]]).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    infinitely_divisible = True
    _parameters: ClassVar = {"gamma": Number(0, words=("auto", "median", "mean"))}

    def __init__(self, gamma="auto"):
        self.gamma = gamma

    def _from_data(self, word, X, w):
        return gamma_from_data(word, X, w, over="l1")

    def native(self):
        return NativeSpec("l1", "exp", (float(self.gamma), 0.0, 0.0), centre=True)

    def _spectral_measure(self, d):
        return SpectralMeasure(1.0, lambda draws: self.gamma * draws.cauchy(d))  # a product over the features

    def _vjp_rows(self, X, Y, W):
        T = measure("l1", X, Y)
        return {"gamma": -float(np.vdot(W, T * np.exp(-self.gamma * T)))}


class _LengthScaleKernel(VectorKernel):
    """A kernel k(t) of the scaled squared distance t = sum_f (x_f - x'_f)^2 / l_f^2."""

    length_scale: Any

    def prepare(self, X, Y=None):
        X, Y = super().prepare(X, Y)
        _check_per_feature("length_scale", self.length_scale, X)
        return X, Y

    def _from_data(self, word, X, w):
        # As in RBF, where gamma = 1 / (2 l^2).
        return float(1.0 / np.sqrt(2 * inverse(typical(word, X, w))))

    def _inverse(self) -> tuple[float, np.ndarray | None]:
        """1 / l as a factor of the distance, or as factors of the features."""
        if np.ndim(self.length_scale):
            return 1.0, 1.0 / np.asarray(self.length_scale, dtype=np.float64)
        return 1.0 / float(self.length_scale), None

    def _scaled(self, X, Y) -> np.ndarray:
        scale, weights = self._inverse()
        return scale**2 * measure("l2", X, Y, weights)

    def _length_scale_vjp(self, slope: np.ndarray, T: np.ndarray, X, Y) -> Any:
        """From slope = W dk/dt: dt/dl_f = -2 (x_f - x'_f)^2 / l_f^3."""
        if np.ndim(self.length_scale):
            return -2 * squared_differences(slope, X, Y) / np.asarray(self.length_scale, dtype=np.float64) ** 3
        return -2 * float(np.vdot(slope, T)) / self.length_scale


class Matern(_LengthScaleKernel):
    r"""Matérn kernel, of a chosen smoothness.

    .. math::

        k(x, x') = \frac{2^{1-\nu}}{\Gamma(\nu)} u^\nu K_\nu(u), \qquad u = \sqrt{2\nu}\, \frac{\|x -
        x'\|}{\ell}

    with the modified Bessel function :math:`K_\nu`. Functions in its space are differentiable less than
    :math:`\nu` times.

    Parameters
    ----------
    length_scale : float, array of shape (n_features,), "median" or "mean", default=1.0
        Width > 0, of all features or one for each. Larger means wider: a less flexible machine. "mean" and
        "median" are the root of half the mean or median of :math:`\|x - x'\|^2` over all pairs of samples
        that differ.
    nu : float, default=1.5
        Smoothness, in (0, 100] or ``inf``. 1/2 is the exponential kernel, ``inf`` is `RBF` with
        gamma = 1 / (2 length_scale^2). It is not a parameter of `vjp`.

    See Also
    --------
    RBF : The smooth limit.
    RationalQuadratic : With heavier tails.

    Notes
    -----
    Time O(nmd), memory O(nm). nu = 1/2, 3/2, 5/2 and inf are computed natively; other values need a Bessel
    function for every pair, which is some hundred times slower.

    References
    ----------
    .. [1] C. E. Rasmussen, C. K. I. Williams, Gaussian Processes for Machine Learning, 2006, eq. 4.14.

    Examples
    --------
    >>> from mercer.kernels import Matern
    >>> Matern(length_scale=2.0, nu=2.5)([[0.0], [1.0]]).round(3)
    array([[1.   , 0.829],
           [0.829, 1.   ]])
    """

    infinitely_divisible = True
    _parameters: ClassVar = {
        "length_scale": Number(0, above=True, words=("median", "mean"), per_feature=True),
        "nu": Number(0, above=True, infinite=True),
    }

    def __init__(self, length_scale=1.0, nu=1.5):
        self.length_scale = length_scale
        self.nu = nu

    def _check_parameters(self):
        super()._check_parameters()
        if 100 < self.nu < np.inf:
            raise ValueError(f"nu must be in (0, 100] or inf, got {self.nu}; inf is the limit for large nu.")

    def native(self):
        scale, weights = self._inverse()
        closed_form = {
            0.5: ("exp_sqrt", scale),
            1.5: ("matern32", np.sqrt(3.0) * scale),
            2.5: ("matern52", np.sqrt(5.0) * scale),
            np.inf: ("exp", scale**2 / 2),
        }
        if self.nu not in closed_form:
            return None
        transform, parameter = closed_form[self.nu]
        return NativeSpec("l2", transform, (float(parameter), 0.0, 0.0), centre=True, weights=weights)

    def _matrix(self, X, Y):
        if self.native():
            return super()._matrix(X, Y)
        T = self._scaled(X.astype(np.float64, copy=False), Y.astype(np.float64, copy=False))
        return _matern(np.sqrt(2 * self.nu) * np.sqrt(T), self.nu).astype(X.dtype, copy=False)

    def _diag(self, X):
        return np.ones(X.shape[0], dtype=X.dtype)

    def _dot(self, X, Y, V):
        return super()._dot(X, Y, V) if self.native() else self._dot_in_blocks(X, Y, V)

    def _spectral_measure(self, d):
        # The spectral density of eq. 4.15 in [1]_ is Student's, with 2 nu degrees of freedom.
        scale = 1.0 / np.asarray(self.length_scale, dtype=np.float64)
        return SpectralMeasure(1.0, lambda draws: scale * _student(draws, d, 2 * self.nu))

    def _vjp_rows(self, X, Y, W):
        T = self._scaled(X, Y)
        if self.nu == np.inf:
            slope = -0.5 * np.exp(-T / 2)
        else:
            # d/du (u^nu K_nu(u)) = -u^nu K_{nu-1}(u), eq. 9.6.28 of Abramowitz and Stegun, and du/dt = nu/u.
            # Where t = 0 the slope may be infinite, but it is only ever multiplied by differences that are 0.
            u = np.minimum(np.sqrt(2 * self.nu) * np.sqrt(np.where(T > 0, T, 1.0)), FAR)
            closed = MATERN_SLOPES.get(self.nu)
            slope = -self.nu * _bessel(u, self.nu, self.nu - 1) / u if closed is None else closed(u) * np.exp(-u)
            slope[T == 0] = 0.0
        return {"length_scale": self._length_scale_vjp(W * slope, T, X, Y)}


class RationalQuadratic(_LengthScaleKernel):
    r"""Rational quadratic kernel, a mixture of Gaussian kernels of many widths.

    .. math:: k(x, x') = \Bigl(1 + \frac{\|x - x'\|^2}{2 \alpha \ell^2}\Bigr)^{-\alpha}

    Parameters
    ----------
    length_scale : float, array of shape (n_features,), "median" or "mean", default=1.0
        Width > 0, of all features or one for each. Larger means wider: a less flexible machine. "mean" and
        "median" are the root of half the mean or median of :math:`\|x - x'\|^2` over all pairs of samples
        that differ.
    alpha : float, default=1.0
        How alike the widths are, > 0. Larger means lighter tails; the limit is `RBF` with
        gamma = 1 / (2 length_scale^2).

    See Also
    --------
    RBF : One width.

    Notes
    -----
    Time O(nmd), memory O(nm).

    References
    ----------
    .. [1] C. E. Rasmussen, C. K. I. Williams, Gaussian Processes for Machine Learning, 2006, eq. 4.19.

    Examples
    --------
    >>> from mercer.kernels import RationalQuadratic
    >>> RationalQuadratic(length_scale=1.0, alpha=0.5)([[0.0], [1.0]]).round(3)
    array([[1.   , 0.707],
           [0.707, 1.   ]])
    """

    infinitely_divisible = True
    _parameters: ClassVar = {
        "length_scale": Number(0, above=True, words=("median", "mean"), per_feature=True),
        "alpha": Number(0, above=True),
    }

    def __init__(self, length_scale=1.0, alpha=1.0):
        self.length_scale = length_scale
        self.alpha = alpha

    def native(self):
        scale, weights = self._inverse()
        parameters = (scale**2 / (2 * self.alpha), float(self.alpha), 0.0)
        return NativeSpec("l2", "rational", parameters, centre=True, weights=weights)

    def _spectral_measure(self, d):
        # A mixture of Gaussian kernels whose inverse squared widths have a gamma distribution, eq. 4.20 in [1]_.
        def draw(draws: Draws) -> np.ndarray:
            width = gammaincinv(self.alpha, draws.uniform())[:, np.newaxis] / self.alpha
            return np.sqrt(width) * draws.normal(d) / np.asarray(self.length_scale, dtype=np.float64)

        return SpectralMeasure(1.0, draw)

    def _vjp_rows(self, X, Y, W):
        T = self._scaled(X, Y)
        base = 1 + T / (2 * self.alpha)
        K = base**-self.alpha
        return {
            "length_scale": self._length_scale_vjp(-0.5 * W * K / base, T, X, Y),
            "alpha": float(np.vdot(W, K * (T / (2 * self.alpha * base) - np.log(base)))),
        }


def _bessel(u: np.ndarray, nu: float, order: float) -> np.ndarray:
    """2^(1-nu) / Gamma(nu) u^nu K_order(u), through logarithms so that no factor overflows alone."""
    return np.exp((1 - nu) * np.log(2) - gammaln(nu) + nu * np.log(u) + np.log(kve(order, u)) - u)


def _matern(u: np.ndarray, nu: float) -> np.ndarray:
    """The Matérn kernel of the scaled distance u."""
    u = np.minimum(u, FAR)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = _bessel(u, nu, nu)
    # K_nu overflows only where u is so small that two terms of the series are exact.
    series = 1.0 - u * u / (4 * (nu - 1)) if nu > 1 else np.ones_like(u)
    return np.where(np.isfinite(values), np.minimum(values, 1.0), series)


def _student(draws: Draws, d: int, freedom: float) -> np.ndarray:
    """Draws from Student's distribution in d dimensions; with infinite freedom it is the normal one."""
    if freedom == np.inf:
        return draws.normal(d)
    # A squared length of so few degrees of freedom may be so small that it is 0 in float64.
    square = np.maximum(2 * gammaincinv(freedom / 2, draws.uniform()), np.finfo(np.float64).tiny)
    return draws.normal(d) * np.sqrt(freedom / square)[:, np.newaxis]


def _check_per_feature(name: str, value: Any, X: Any) -> None:
    if np.ndim(value) and len(value) != X.shape[1]:
        raise ValueError(f"{name} has {len(value)} values, X has {X.shape[1]} features; give one for each feature.")


def _gamma_from_sigma(sigma: Any, per_feature: bool = False) -> Any:
    if problem := Number(0, above=True, per_feature=per_feature).problem(sigma):
        raise ValueError(f"sigma {problem}")
    gamma = 1.0 / (2.0 * np.square(sigma, dtype=np.float64))
    return gamma if np.ndim(sigma) else float(gamma)
