"""Kernels of the inner product x . x'."""

from itertools import combinations_with_replacement
from math import comb, factorial, prod, sqrt
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array, issparse

from mercer.kernels.base import NativeSpec
from mercer.kernels.vectors.bandwidth import gamma_from_data
from mercer.kernels.vectors.base import VectorKernel, measure
from mercer.kernels.vectors.binary import common_ones, n_ones
from mercer.parameters import Number

# Polynomial features beyond this number are refused: the kernel is the better way then.
MOST_FEATURES = 100_000


class Linear(VectorKernel):
    r"""Linear kernel, the inner product.

    .. math:: k(x, x') = x \cdot x'

    The feature space is the input space. Machines with this kernel have ``coef_``.

    See Also
    --------
    Cosine : The inner product of normalised vectors.
    Polynomial : Powers of the inner product.

    Notes
    -----
    Time O(nmd), memory O(nm).

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 3.2.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear()([[1.0, 2.0], [3.0, 4.0]])
    array([[ 5., 11.],
           [11., 25.]])
    """

    def native(self):
        return NativeSpec("dot", "identity")

    def features(self, X):
        return self.prepare(X)[0]


class Polynomial(VectorKernel):
    r"""Polynomial kernel.

    .. math:: k(x, x') = (\gamma\, x \cdot x' + c)^p

    With c = 0 it is homogeneous: its features are the products of p inputs. With c > 0 they are all products
    of up to p inputs. With c < 0 it is not positive semi-definite, and `definite` is False.

    Parameters
    ----------
    degree : int, default=3
        The power p >= 1. Larger means more flexible.
    gamma : float, "scale" or "auto", default="scale"
        Factor >= 0 of the inner product. "scale" is 1 / (n_features * variance of all entries of X), "auto"
        is 1 / n_features. The book's form has gamma = 1.
    coef0 : float, default=0.0
        The constant c. Larger gives the products of few inputs more weight.

    See Also
    --------
    Linear : Degree 1.
    Power : Integer powers of any kernel.

    Notes
    -----
    Time O(nmd), memory O(nm). `features` gives the explicit map, of comb(n_features + degree, degree)
    columns, as long as these are no more than 100 000.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, eqs. 3.15 and 3.16.

    Examples
    --------
    >>> from mercer.kernels import Polynomial
    >>> kernel = Polynomial(degree=2, gamma=1.0)
    >>> kernel([[1.0, 2.0], [3.0, 4.0]])
    array([[ 25., 121.],
           [121., 625.]])
    >>> kernel.features([[1.0, 2.0]]).round(3)
    array([[1.   , 2.828, 4.   ]])
    """

    _parameters: ClassVar = {
        "degree": Number(1, integer=True),
        "gamma": Number(0, words=("scale", "auto")),
        "coef0": Number(),
    }

    def __init__(self, degree=3, gamma="scale", coef0=0.0):
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    @property
    def definite(self):
        return self.coef0 >= 0

    def _from_data(self, word, X, w):
        return gamma_from_data(word, X, w)

    def native(self):
        return NativeSpec("dot", "power", (float(self.gamma), float(self.coef0), float(self.degree)))

    def features(self, X):
        kernel = self._ready(X)
        X, _ = kernel.prepare(X)
        if kernel.coef0 < 0:
            raise ValueError(f"Polynomial has a feature map for coef0 >= 0, got coef0={kernel.coef0}.")
        inputs = np.sqrt(kernel.gamma) * (X.toarray() if issparse(X) else X)
        if kernel.coef0 > 0:
            inputs = np.column_stack([np.full(len(inputs), np.sqrt(kernel.coef0), inputs.dtype), inputs])
        d, p = inputs.shape[1], kernel.degree
        if comb(d + p - 1, p) > MOST_FEATURES:
            raise ValueError(
                f"Polynomial would have {comb(d + p - 1, p)} features here, more than {MOST_FEATURES}; "
                "use the kernel values."
            )
        # (u . u')^p = sum over monomials of their multinomial coefficient times the monomial of u and of u'
        columns = [
            sqrt(factorial(p) / prod(factorial(chosen.count(f)) for f in set(chosen)))
            * inputs[:, list(chosen)].prod(axis=1)
            for chosen in combinations_with_replacement(range(d), p)
        ]
        return csr_array(np.column_stack(columns)) if issparse(X) else np.column_stack(columns)

    def _vjp_rows(self, X, Y, W):
        T = measure("dot", X, Y)
        D = W * self.degree * (self.gamma * T + self.coef0) ** (self.degree - 1)
        return {"gamma": float(np.vdot(D, T)), "coef0": float(D.sum())}


class Sigmoid(VectorKernel):
    r"""Hyperbolic tangent kernel.

    .. math:: k(x, x') = \tanh(\gamma\, x \cdot x' + c)

    It is not positive semi-definite in general (`definite` is False): machines that need that refuse it,
    and a support vector machine with it may have no certificate.

    Parameters
    ----------
    gamma : float, "scale" or "auto", default="scale"
        Factor >= 0 of the inner product. "scale" is 1 / (n_features * variance of all entries of X), "auto"
        is 1 / n_features. Larger means steeper.
    coef0 : float, default=0.0
        The constant c; the book asks for c < 0.

    See Also
    --------
    Polynomial, RBF : Positive semi-definite alternatives.

    Notes
    -----
    Time O(nmd), memory O(nm).

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, eq. 3.18.

    Examples
    --------
    >>> from mercer.kernels import Sigmoid
    >>> Sigmoid(gamma=0.5, coef0=-1.0)([[1.0], [3.0]]).round(3)
    array([[-0.462,  0.462],
           [ 0.462,  0.998]])
    """

    definite = False
    _parameters: ClassVar = {"gamma": Number(0, words=("scale", "auto")), "coef0": Number()}

    def __init__(self, gamma="scale", coef0=0.0):
        self.gamma = gamma
        self.coef0 = coef0

    def _from_data(self, word, X, w):
        return gamma_from_data(word, X, w)

    def native(self):
        return NativeSpec("dot", "tanh", (float(self.gamma), float(self.coef0), 0.0))

    def _vjp_rows(self, X, Y, W):
        T = measure("dot", X, Y)
        D = W * (1 - np.tanh(self.gamma * T + self.coef0) ** 2)
        return {"gamma": float(np.vdot(D, T)), "coef0": float(D.sum())}


class Cosine(VectorKernel):
    r"""Cosine of the angle between two vectors.

    .. math:: k(x, x') = \frac{x \cdot x'}{\|x\| \|x'\|}

    It is 0 if a vector is zero.

    See Also
    --------
    Linear : Without normalisation.

    Notes
    -----
    Time O(nmd), memory O(nm).

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 3.2.

    Examples
    --------
    >>> from mercer.kernels import Cosine
    >>> Cosine()([[1.0, 0.0], [3.0, 4.0]])
    array([[1. , 0.6],
           [0.6, 1. ]])
    """

    def native(self):
        return NativeSpec("dot", "cosine")


class Tanimoto(VectorKernel):
    r"""Tanimoto kernel, for sets and fingerprints written as vectors.

    .. math:: k(x, x') = \frac{x \cdot x'}{\|x\|^2 + \|x'\|^2 - x \cdot x'}

    For vectors of zeros and ones it is the size of the intersection over the size of the union. Two zero
    vectors have k = 1.

    See Also
    --------
    Intersection : The common part of two histograms, not normalised.
    Hamming : Number of equal entries.

    Notes
    -----
    Time O(nmd), memory O(nm). For very sparse vectors of zeros and ones, such as fingerprints of 100 000 features, the
    matrix takes time in proportion to the ones that pairs have in common. It is positive semi-definite for all real
    vectors: 1 / (a + b - t) is the integral of exp(-sa) exp(-sb) exp(st) over s > 0, a sum of products of kernels.

    References
    ----------
    .. [1] L. Ralaivola et al., Graph kernels for chemical informatics, Neural Networks 18, 2005.

    Examples
    --------
    >>> from mercer.kernels import Tanimoto
    >>> Tanimoto()([[1, 1, 0, 0], [0, 1, 1, 1]])
    array([[1.  , 0.25],
           [0.25, 1.  ]])
    """

    def native(self):
        return NativeSpec("dot", "tanimoto")

    def _matrix(self, X, Y):
        common = common_ones(X, Y)
        if common is None:
            return super()._matrix(X, Y)
        common = common.astype(X.dtype, copy=False)
        together = np.add.outer(n_ones(X), n_ones(Y)).astype(X.dtype) - common
        return np.divide(common, together, out=np.ones_like(common), where=together > 0)
