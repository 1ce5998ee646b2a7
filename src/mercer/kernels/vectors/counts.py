"""Kernels that compare entry by entry: histograms and categories."""

from typing import ClassVar

import numpy as np
from scipy.sparse import issparse

from mercer.errors import DomainError
from mercer.kernels.base import NativeSpec
from mercer.kernels.samples import as_categories, as_pair
from mercer.kernels.vectors.bandwidth import gamma_from_data
from mercer.kernels.vectors.base import VectorKernel, measure, product
from mercer.kernels.vectors.binary import common_ones, n_ones
from mercer.parameters import Choice, Number


class Chi2(VectorKernel):
    r"""Exponential chi-squared kernel, for histograms.

    .. math:: k(x, x') = \exp\Bigl(-\gamma \sum_f \frac{(x_f - x'_f)^2}{x_f + x'_f}\Bigr)

    Terms 0/0 count as 0. The features must not be negative.

    Parameters
    ----------
    gamma : float, "auto", "median" or "mean", default=1.0
        Factor >= 0 of the chi-squared distance. Larger means narrower. "auto" is 1 / n_features; "median" and
        "mean" make gamma times the median or mean distance of differing samples 1.

    See Also
    --------
    Intersection : Without parameter.
    Laplacian : For features of any sign.

    Notes
    -----
    Time O(nmd), memory O(nm); faster for sparse X. "median" and "mean" use at most 2000 different samples.

    References
    ----------
    .. [1] J. Zhang et al., Local features and kernels for classification of texture and object categories,
       International Journal of Computer Vision 73, 2007.

    Examples
    --------
    >>> from mercer.kernels import Chi2
    >>> Chi2(gamma=0.5)([[1.0, 3.0], [3.0, 1.0]]).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    infinitely_divisible = True
    _parameters: ClassVar = {"gamma": Number(0, words=("auto", "median", "mean"))}

    def __init__(self, gamma=1.0):
        self.gamma = gamma

    plain = False

    def prepare(self, X, Y=None):
        return _non_negative(*as_pair(X, Y, "Chi2"), "Chi2")

    def _from_data(self, word, X, w):
        return gamma_from_data(word, X, w, over="chi2")

    def native(self):
        return NativeSpec("chi2", "exp", (float(self.gamma), 0.0, 0.0))

    def _vjp_rows(self, X, Y, W):
        T = measure("chi2", X, Y)
        return {"gamma": -float(np.vdot(W, T * np.exp(-self.gamma * T)))}


class Intersection(VectorKernel):
    r"""Histogram intersection, the part that two histograms have in common.

    .. math:: k(x, x') = \sum_f \min(x_f, x'_f)

    The features must not be negative.

    See Also
    --------
    Chi2 : A narrower kernel on histograms.
    Tanimoto : Normalised, for sets.

    Notes
    -----
    Time O(nmd), memory O(nm); faster for sparse X.

    References
    ----------
    .. [1] S. Maji, A. C. Berg, J. Malik, Classification using intersection kernel support vector machines is
       efficient, CVPR 2008.

    Examples
    --------
    >>> from mercer.kernels import Intersection
    >>> Intersection()([[1.0, 3.0], [3.0, 2.0]])
    array([[4., 3.],
           [3., 5.]])
    """

    plain = False

    def prepare(self, X, Y=None):
        return _non_negative(*as_pair(X, Y, "Intersection"), "Intersection")

    def native(self):
        return NativeSpec("min", "identity")

    def _matrix(self, X, Y):
        common = common_ones(X, Y)
        return super()._matrix(X, Y) if common is None else common.astype(X.dtype, copy=False)


class Hamming(VectorKernel):
    r"""Hamming kernel: the number of attributes on which two samples agree.

    .. math:: k(x, x') = \sum_f \delta(x_f, x'_f)

    Parameters
    ----------
    normalize : bool, default=False
        Whether to divide by the number of attributes, which gives values between 0 and 1.

    See Also
    --------
    Tanimoto : For sets, where absence on both sides says nothing.

    Notes
    -----
    Samples are rows of a table of integers, strings and categories: an array of any such type, a data
    frame, a list of rows, or a CSR matrix of numbers, in which entries that are not stored are zeros.
    Entries are equal if they are equal in Python; missing values are refused. Time O(nmd), memory O(nm); for very
    sparse vectors of zeros and ones the matrix takes time in proportion to the ones that pairs have in common.

    References
    ----------
    .. [1] L. Wehenkel, P. Geurts, Kernel-based methods, lecture notes, "Examples of kernels".

    Examples
    --------
    >>> from mercer.kernels import Hamming
    >>> Hamming()([["red", 1], ["red", 2], ["blue", 2]])
    array([[2., 1., 0.],
           [1., 2., 1.],
           [0., 1., 2.]])
    """

    domain: ClassVar = "categories"
    _parameters: ClassVar = {"normalize": Choice(False, True)}

    def __init__(self, normalize=False):
        self.normalize = normalize

    plain = False

    def prepare(self, X, Y=None):
        return as_categories(X, Y, "Hamming")

    def native(self):
        # The native loops do not divide by the number of attributes.
        return None if self.normalize else NativeSpec("match", "identity")

    def _matrix(self, X, Y):
        common = common_ones(X, Y)
        if common is None:
            return measure("match", X, Y) / self._divisor(X)
        apart = np.add.outer(n_ones(X), n_ones(Y)) - 2 * common
        return (X.shape[1] - apart).astype(X.dtype, copy=False) / self._divisor(X)

    def _diag(self, X):
        return np.full(X.shape[0], X.shape[1] / self._divisor(X), dtype=X.dtype)

    def _dot(self, X, Y, V):
        return product(NativeSpec("match", "identity"), X, Y, V) / self._divisor(X)

    def _divisor(self, X) -> float:
        return float(X.shape[1]) if self.normalize else 1.0


def _non_negative(X, Y, owner: str):
    for side, name in ((X, "X"), (Y, "Y")):
        entries = side.data if issparse(side) else side
        if entries.size and entries.min() < 0:
            raise DomainError(
                f"{owner} works on histograms, {name} has the negative entry {entries.min():g}; "
                "shift or scale the features to be >= 0."
            )
    return X, Y
