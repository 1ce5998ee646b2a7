"""Kernels in the geometry of a feature space: lengths, angles, distances."""

from typing import Any, ClassVar

import numpy as np
from scipy.sparse import diags_array, issparse

from mercer.errors import DomainError
from mercer.fingerprint import fingerprint
from mercer.kernels.algebra.base import Numbered, Parts
from mercer.kernels.frequencies import exponential_series
from mercer.kernels.samples import describe, each, n_samples, take, weighted
from mercer.kernels.vectors.bandwidth import MOST_SAMPLES, weighted_median
from mercer.parameters import Number

__all__ = ["Normalized", "RBFOf", "Scaled"]


class Normalized(Numbered):
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

    @property
    def infinitely_divisible(self) -> bool:  # type: ignore[override]
        return self.kernel.infinitely_divisible

    def _numbers(self, X, inside):
        logs = self.kernel._log_diag(inside)
        if logs is not None:
            return logs
        diagonal = self.kernel._diag(inside)
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
        values[x == -np.inf], values[:, y == -np.inf] = 0.0, 0.0
        return values

    def _diag(self, X):
        X, x = X.parts
        zero = 0.0 if self._plain(X) else -np.inf
        return (x != zero).astype(x.dtype)

    def _vjp(self, X, W):
        # With r = k_ii^(-1/2): dK_ij = r_i r_j dk_ij - K_ij (r_i^2 dk_ii + r_j^2 dk_jj) / 2
        WK = W * self._matrix(X, X)
        if not self._plain(X.parts[0]):
            # dlog K_ij = dlog k_ij - (dlog k_ii + dlog k_jj) / 2
            WK[np.diag_indices_from(WK)] -= (WK.sum(axis=0) + WK.sum(axis=1)) / 2
            return self._named(self.kernel._log_vjp(X.parts[0], WK))
        inverse = self._inverse_norms(X)
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
        return _rows_times(kernel._inverse_norms(kernel.prepare(X)[0]), kernel.kernel.features(X))

    def _sparse_features(self, X):
        found = self.kernel._sparse_features(X.parts[0])
        return None if found is None else found.times(self._inverse_norms(X))

    def _spectral_measure(self, d):
        inside = self.kernel._spectral_measure(d)
        return None if inside is None else inside._replace(height=float(inside.height > 0))


class RBFOf(Numbered):
    r"""Gaussian kernel of the distance that a kernel induces, usually written ``kernel.rbf(sigma)``.

    .. math:: k(x, x') = \exp\Bigl(-\frac{d(x, x')^2}{2 \sigma^2}\Bigr), \qquad
              d(x, x')^2 = k_0(x, x) + k_0(x', x') - 2 k_0(x, x')

    It gives samples of any kind, strings or graphs, what `RBF` gives vectors.

    Parameters
    ----------
    kernel : Kernel
        The kernel :math:`k_0`.
    sigma : float, "median" or "mean", default="median"
        Width > 0. Larger means smoother. The words make :math:`2 \sigma^2` the median or mean of :math:`d^2` over all
        pairs of training samples that differ, as `RBF` does; if all are equal, sigma is 1.

    See Also
    --------
    RBF : The same of the linear kernel, computed natively.
    Normalized : Angles in place of distances.

    Notes
    -----
    Costs what the kernel costs, and its diagonal. The words look at up to 2000 different samples, chosen by a hash of
    their content where there are more. The distance of a sample from itself is exactly 0. All powers of it are kernels.

    References
    ----------
    .. [1] J.-P. Vert, K. Tsuda, B. Schölkopf, A primer on kernel methods, 2004, eq. 1.16.

    Examples
    --------
    >>> from mercer.kernels import Linear, RBF
    >>> X = [[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]]
    >>> Linear().rbf(sigma=1.0)(X).round(3)
    array([[1.   , 0.607, 0.135],
           [0.607, 1.   , 0.082],
           [0.135, 0.082, 1.   ]])
    >>> RBF.from_sigma(1.0)(X).round(3)
    array([[1.   , 0.607, 0.135],
           [0.607, 1.   , 0.082],
           [0.135, 0.082, 1.   ]])
    """

    _parameters: ClassVar = {"sigma": Number(0, above=True, words=("median", "mean"))}

    def __init__(self, kernel, sigma="median"):
        self.kernel = kernel
        self.sigma = sigma

    @property
    def infinitely_divisible(self) -> bool:  # type: ignore[override]
        return self.kernel.definite is True

    def resolve(self, X, sample_weight=None):
        resolved: Any = super().resolve(X, sample_weight)
        if isinstance(self.sigma, str):
            squared = resolved._typical(self.sigma, *weighted(X, sample_weight))
            resolved.sigma = float(np.sqrt(squared / 2)) if squared > 0 else 1.0
        return resolved

    def _typical(self, word: str, X: Any, w: np.ndarray) -> float:
        """The weighted mean or median of d^2 over pairs of samples that differ; 0 if none do."""
        if len(w) > MOST_SAMPLES:
            X, w = _some_different(X, w)
        X, _ = self.prepare(X)
        first, second = np.triu_indices(len(w), 1)
        squared = self._squared_distances(X, X)[first, second].astype(np.float64)
        pairs, differ = w[first] * w[second], squared > 0
        if not differ.any():
            return 0.0
        squared, pairs = squared[differ], pairs[differ]
        return float(np.average(squared, weights=pairs) if word == "mean" else weighted_median(squared, pairs))

    def _squared_distances(self, X: Parts, Y: Parts) -> np.ndarray:
        (X, x), (Y, y) = X.parts, Y.parts
        return np.maximum(x[:, np.newaxis] + y - 2 * self.kernel._matrix(X, Y), 0)

    def _matrix(self, X, Y):
        return np.exp(self._squared_distances(X, Y) / (-2 * self.sigma**2))

    def _diag(self, X):
        return np.ones_like(X.parts[1])

    def _vjp(self, X, W):
        squared = self._squared_distances(X, X)
        WK = W * np.exp(squared / (-2 * self.sigma**2))
        # dK_ij = -K_ij (dk_ii + dk_jj - 2 dk_ij) / (2 sigma^2)
        V = WK / self.sigma**2
        V[np.diag_indices_from(V)] -= (WK.sum(axis=0) + WK.sum(axis=1)) / (2 * self.sigma**2)
        return {"sigma": float(np.vdot(WK, squared)) / self.sigma**3, **self._vjp_inside(X.parts[0], V)}

    def _spectral_measure(self, d):
        # exp(-(k_0(0) - k_0(x - x')) / sigma^2)
        inside = self.kernel._spectral_measure(d)
        found = exponential_series(inside and inside._replace(height=inside.height / self.sigma**2))
        return None if found is None else found._replace(height=1.0)

    def _log_matrix(self, X, Y):
        return self._squared_distances(X, Y) / (-2 * self.sigma**2)

    def _log_diag(self, X):
        return np.zeros_like(X.parts[1])


class Scaled(Numbered):
    r"""A kernel times a function of each sample, usually written ``kernel.scaled(f)``.

    .. math:: k(x, x') = f(x)\, k_0(x, x')\, f(x')

    Feature vectors become longer or shorter, or change their sign.

    Parameters
    ----------
    kernel : Kernel
        The kernel :math:`k_0`.
    function : callable
        ``function(X)`` takes all samples, as they were given, and returns a number for each, which may depend on this
        sample alone.

    See Also
    --------
    Normalized : With f(x) = 1 / sqrt(k(x, x)).

    Notes
    -----
    Costs what the kernel costs, and the function once for every sample.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 3.2.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> def decreasing(X):
    ...     return 1 / (1 + np.abs(np.asarray(X)[:, 0]))
    >>> Linear().scaled(decreasing)([[1.0], [3.0]])
    array([[0.25  , 0.375 ],
           [0.375 , 0.5625]])
    """

    def __init__(self, kernel, function):
        self.kernel = kernel
        self.function = function

    def _check_parameters(self):
        super()._check_parameters()
        if not callable(self.function):
            raise TypeError(f"function must be callable as function(X), got {self.function!r}.")

    def _numbers(self, X, inside):
        if isinstance(X, Parts):
            return X.parts[1]
        numbers, n = np.asarray(self.function(X), dtype=np.float64), n_samples(X)
        if numbers.shape != (n,) or not np.isfinite(numbers).all():
            raise ValueError(
                f"function must return a finite number for each of {n} samples, got {describe(numbers)}"
                f"{' with NaN or infinity' if numbers.shape == (n,) else ''}."
            )
        return numbers

    def _matrix(self, X, Y):
        (X, x), (Y, y) = X.parts, Y.parts
        K = self.kernel._matrix(X, Y)
        return K * (x[:, np.newaxis] * y).astype(K.dtype, copy=False)

    def _diag(self, X):
        X, x = X.parts
        diagonal = self.kernel._diag(X)
        return diagonal * (x * x).astype(diagonal.dtype, copy=False)

    def _dot(self, X, Y, V):
        (X, x), (Y, y) = X.parts, Y.parts
        return x[:, np.newaxis] * self.kernel._dot(X, Y, y[:, np.newaxis] * V)

    def _vjp(self, X, W):
        X, x = X.parts
        return self._vjp_inside(X, W * (x[:, np.newaxis] * x))

    def features(self, X):
        """Explicit feature vectors times f(x), of kernels that have feature vectors.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray or CSR array of shape (n, n_components)
        """
        kernel = self._ready(X)
        return _rows_times(kernel._numbers(X, None), kernel.kernel.features(X))

    def _sparse_features(self, X):
        found = self.kernel._sparse_features(X.parts[0])
        return None if found is None else found.times(X.parts[1])


def _some_different(X: Any, w: np.ndarray) -> tuple[Any, np.ndarray]:
    """Up to `MOST_SAMPLES` different samples, those with the smallest hashes, and how often each one occurs."""
    first: dict[str, int] = {}
    weight: dict[str, float] = {}
    for i, sample in enumerate(each(X)):
        key = fingerprint(sample)
        first.setdefault(key, i)
        weight[key] = weight.get(key, 0.0) + w[i]
    keys = sorted(first)[:MOST_SAMPLES]
    return take(X, np.array([first[key] for key in keys])), np.array([weight[key] for key in keys])


def _rows_times(factors: np.ndarray, table: Any) -> Any:
    """Rows of a dense or sparse table, each times its factor."""
    return diags_array(factors) @ table if issparse(table) else factors[:, np.newaxis] * table


def _over_norms(K: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """K_ij / sqrt(x_i y_j), exactly 1 where all three are equal, and 0 where x or y is.

    sqrt(x * x) is x in floating point numbers as long as x * x is one. Where it might not be, powers of four are taken
    out first and put back at the end, which rounds nothing.
    """
    if _is_moderate(x) and _is_moderate(y):
        norms = x[:, np.newaxis] * y
        np.sqrt(norms, out=norms)
        norms[x == 0], norms[:, y == 0] = np.inf, np.inf
        return np.divide(K, norms, out=norms)
    (x, p), (y, q) = _without_power(x), _without_power(y)
    return np.ldexp(_over_norms(K, x, y), -(p[:, np.newaxis] + q))


def _is_moderate(x: np.ndarray) -> bool:
    """Whether the product of any two of the numbers that are not 0 is far from overflow and underflow."""
    largest = 2.0 ** (np.finfo(x.dtype).maxexp // 2 - 12)
    return bool(((x == 0) | ((x >= 1 / largest) & (x <= largest))).all())


def _without_power(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers in [1/2, 2) and p with x = number * 4^p."""
    _, exponent = np.frexp(x)
    half = exponent // 2
    return np.ldexp(x, -2 * half), half
