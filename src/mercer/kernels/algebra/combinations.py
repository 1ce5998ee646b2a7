"""Kernels joined: the constant kernel, sums and products."""

from functools import reduce
from operator import add, mul
from typing import Any, ClassVar

import numpy as np

from mercer.data.features import SparseFeatures
from mercer.kernels.algebra.base import Composite, check_child, side_by_side
from mercer.kernels.base import Kernel
from mercer.kernels.frequencies import SpectralMeasure, mixture
from mercer.kernels.samples import n_samples
from mercer.parameters import Number

__all__ = ["Constant", "Product", "Sum", "weighted_sum"]


class Constant(Kernel):
    r"""Constant kernel, the same number for every pair of samples.

    .. math:: k(x, x') = c

    Added to another kernel it gives the feature space one more coordinate, :math:`\sqrt c` for every
    sample: a bias that is part of the weight vector. Multiplied with another kernel it is a scale. Numbers
    in an expression become constant kernels, ``2 * RBF() + 1``.

    Parameters
    ----------
    value : float, default=1.0
        The number c >= 0. A larger one lets the bias grow at less cost.

    See Also
    --------
    Sum, Product : What the constant is used in.

    Notes
    -----
    Works on samples of any kind. Time and memory O(nm).

    References
    ----------
    .. [1] L. Wehenkel, P. Geurts, Kernel-based methods, lecture notes, "Examples of kernels".

    Examples
    --------
    >>> from mercer.kernels import Constant
    >>> Constant(2.0)(["any", "samples"])
    array([[2., 2.],
           [2., 2.]])
    """

    domain = "any"
    infinitely_divisible = True
    _parameters: ClassVar = {"value": Number(0)}

    def __init__(self, value=1.0):
        self.value = value

    def _matrix(self, X, Y):
        single = getattr(X, "dtype", None) == np.float32 == getattr(Y, "dtype", None)
        return np.full((n_samples(X), n_samples(Y)), self.value, dtype=np.float32 if single else np.float64)

    def _diag(self, X):
        single = getattr(X, "dtype", None) == np.float32
        return np.full(n_samples(X), self.value, dtype=np.float32 if single else np.float64)

    def features(self, X):
        """The root of the constant, as the one coordinate of every sample.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n, 1)
        """
        self._check_parameters()
        return np.full((n_samples(X), 1), np.sqrt(self.value))

    def _dot(self, X, Y, V):
        return np.tile(self.value * V.sum(axis=0), (n_samples(X), 1))

    def _vjp(self, X, W):
        return {"value": float(W.sum())}

    def _spectral_measure(self, d):
        return SpectralMeasure(float(self.value), lambda draws: np.zeros((draws.n, d)))

    def _sparse_features(self, X):
        n = n_samples(X)
        return SparseFeatures(np.zeros(n, np.uint64), np.full(n, np.sqrt(self.value)), np.arange(n + 1))


class Sum(Composite):
    r"""Sum of kernels, usually written ``k1 + k2``.

    .. math:: k(x, x') = \sum_r k_r(x, x')

    The feature spaces are put side by side.

    Parameters
    ----------
    *kernels : Kernel
        The terms, all on the same kind of samples. They are named by position: ``get_params()["0__gamma"]``
        is gamma of the first, and an estimator knows it as ``kernel__0__gamma``.

    See Also
    --------
    Product : Kernels multiplied.

    Notes
    -----
    Costs what the terms cost together. ``(a + b) + c`` is one sum of three terms.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 3.2.

    Examples
    --------
    >>> from mercer.kernels import Linear, RBF
    >>> RBF(gamma=1.0) + Linear() + 1
    RBF(gamma=1.0) + Linear() + Constant()
    >>> (Linear() + 1)([[1.0], [2.0]])
    array([[2., 3.],
           [3., 5.]])
    """

    symbol = " + "

    def _matrix(self, X, Y):
        return reduce(add, (kernel._matrix(x, y) for kernel, x, y in self._each(X, Y)))

    def _diag(self, X):
        return reduce(add, (kernel._diag(x) for kernel, x in self._each(X)))

    def _log_matrix(self, X, Y):
        logs = self._logarithms(X, Y)
        return None if logs is None else reduce(np.logaddexp, logs)

    def _log_diag(self, X):
        logs = self._logarithms(X)
        return None if logs is None else reduce(np.logaddexp, logs)

    def _dot(self, X, Y, V):
        return reduce(add, (kernel._dot(x, y, V) for kernel, x, y in self._each(X, Y)))

    def _dot_rows(self, X, Y, rows):
        return reduce(add, (kernel._dot_rows(x, y, rows) for kernel, x, y in self._each(X, Y)))

    def _vjp(self, X, W):
        return self._by_position(kernel._vjp(x, W) for kernel, x in self._each(X))

    def _log_vjp(self, X, W):
        # dlog sum_r k_r = sum_r (k_r / k) dlog k_r
        logs = self._logarithms(X, X)
        with np.errstate(invalid="ignore"):  # where all are zero, nothing counts
            shares = [np.nan_to_num(np.exp(log - reduce(np.logaddexp, logs))) for log in logs]
        return self._by_position(
            kernel._log_vjp(x, W * share) for (kernel, x), share in zip(self._each(X), shares, strict=True)
        )

    def features(self, X):
        """Explicit feature vectors of the terms, side by side.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray or CSR array of shape (n, n_components)
            Sparse if those of one term are.
        """
        return side_by_side([kernel.features(X) for kernel in self._ready(X).kernels])

    def _spectral_measure(self, d):
        return mixture([kernel._spectral_measure(d) for kernel in self.kernels])

    def _sparse_features(self, X):
        parts = [kernel._sparse_features(x) for kernel, x in self._each(X)]
        return None if any(part is None for part in parts) else SparseFeatures.side_by_side(parts)


class Product(Composite):
    r"""Product of kernels, usually written ``k1 * k2``; ``2 * k`` is the product with a constant kernel.

    .. math:: k(x, x') = \prod_r k_r(x, x')

    The feature space is the tensor product of the feature spaces.

    Parameters
    ----------
    *kernels : Kernel
        The factors, all on the same kind of samples. They are named by position: ``get_params()["0__gamma"]``
        is gamma of the first, and an estimator knows it as ``kernel__0__gamma``.

    See Also
    --------
    Sum : Kernels added.
    Power : A kernel multiplied with itself.

    Notes
    -----
    Costs what the factors cost together. ``(a * b) * c`` is one product of three factors.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 3.2.

    Examples
    --------
    >>> from mercer.kernels import Linear, RBF
    >>> 2 * RBF(gamma=1.0) * (Linear() + 1)
    Constant(value=2.0) * RBF(gamma=1.0) * (Linear() + Constant())
    >>> (2 * Linear())([[1.0], [2.0]])
    array([[2., 4.],
           [4., 8.]])
    """

    symbol = " * "

    def _matrix(self, X, Y):
        factor, others = self._factored(X, Y)
        return reduce(mul, (kernel._matrix(x, y) for kernel, x, y in others)) * factor

    def _diag(self, X):
        factor, others = self._factored(X)
        return reduce(mul, (kernel._diag(x) for kernel, x in others)) * factor

    def _log_matrix(self, X, Y):
        logs = self._logarithms(X, Y)
        return None if logs is None else reduce(add, logs)

    def _log_diag(self, X):
        logs = self._logarithms(X)
        return None if logs is None else reduce(add, logs)

    def _dot(self, X, Y, V):
        factor, others = self._factored(X, Y)
        if len(others) > 1:
            return self._dot_in_blocks(X, Y, V)
        ((kernel, x, y),) = others
        return factor * kernel._dot(x, y, V)

    def _dot_rows(self, X, Y, rows):
        factor, others = self._factored(X, Y)
        if len(others) > 1:
            return super()._dot_rows(X, Y, rows)
        ((kernel, x, y),) = others
        return factor * kernel._dot_rows(x, y, rows)

    def _vjp(self, X, W):
        matrices = [kernel._matrix(x, x) for kernel, x in self._each(X)]
        # d(prod_r K_r) = sum_i dK_i * prod_{r != i} K_r
        rests = (reduce(mul, (K for j, K in enumerate(matrices) if j != i), W) for i in range(len(matrices)))
        return self._by_position(kernel._vjp(x, rest) for (kernel, x), rest in zip(self._each(X), rests, strict=True))

    def _log_vjp(self, X, W):
        return self._by_position(kernel._log_vjp(x, W) for kernel, x in self._each(X))

    def _spectral_measure(self, d):
        # A product's is the convolution of the measures of its factors: frequencies add up.
        parts = [kernel._spectral_measure(d) for kernel in self.kernels]
        if any(part is None for part in parts):
            return None
        height = reduce(mul, (part.height for part in parts))
        return SpectralMeasure(height, lambda draws: reduce(add, (part.draw(draws) for part in parts)))

    @property
    def infinitely_divisible(self) -> bool:  # type: ignore[override]
        return all(kernel.infinitely_divisible for kernel in self.kernels)

    def features(self, X):
        """Explicit feature vectors: the one factor's that is no constant, times the root of the constants.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray or CSR array of shape (n, n_components)
        """
        kernel = self._ready(X)
        factor, others = kernel._factored(kernel.prepare(X)[0])
        if len(others) > 1:
            return super().features(X)
        return others[0][0].features(X) * np.sqrt(factor)

    def _sparse_features(self, X):
        factor, others = self._factored(X)
        found = others[0][0]._sparse_features(others[0][1]) if len(others) == 1 else None
        return None if found is None else found.times(np.full(len(found), np.sqrt(factor)))

    def _factored(self, *samples: Any) -> tuple[float, list[tuple[Any, ...]]]:
        """The constants as one number, and the other factors (at least one) with their samples."""
        each = self._each(*samples)
        constants = [one for one in each if type(one[0]) is Constant]
        others = [one for one in each if type(one[0]) is not Constant]
        factor = float(np.prod([kernel.value for kernel, *_ in constants]))
        return factor, others or [(Constant(), *constants[0][1:])]


def weighted_sum(kernels, weights=None):
    r"""A sum of kernels with a weight for each, :math:`\sum_r w_r k_r(x, x')`.

    Parameters
    ----------
    kernels : sequence of Kernel
        All on the same kind of samples.
    weights : sequence of float, default=None
        Numbers >= 0, one for each kernel. None: one over the number of kernels.

    Returns
    -------
    Sum
        Of products with constants. Weight r is the parameter ``"r__0__value"``, known to an estimator as
        ``kernel__r__0__value``, and has its derivative.

    Examples
    --------
    >>> from mercer.kernels import Linear, RBF, weighted_sum
    >>> kernel = weighted_sum([Linear(), RBF(gamma=1.0)], [0.3, 0.7])
    >>> kernel
    (Constant(value=0.3) * Linear()) + (Constant(value=0.7) * RBF(gamma=1.0))
    >>> kernel.get_params()["1__0__value"]
    0.7
    """
    kernels = list(kernels)
    for kernel in kernels:
        check_child("weighted_sum", kernel)
    weights = [1 / len(kernels) for _ in kernels] if weights is None else list(weights)
    if len(kernels) != len(weights):
        raise ValueError(f"weights must have one number for each of {len(kernels)} kernels, got {len(weights)}.")
    return Sum(*(float(weight) * kernel for weight, kernel in zip(weights, kernels, strict=True)))
