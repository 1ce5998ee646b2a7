"""New kernels from old ones: the constant kernel, sums, products and powers.

Sums, products and powers with positive integer exponents of positive semi-definite kernels are positive
semi-definite. Negative factors and fractional powers are not, and are refused.
"""

from functools import reduce
from operator import add
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from mercer.errors import DomainError
from mercer.kernels.base import Kernel
from mercer.kernels.samples import n_samples
from mercer.parameters import Number

__all__ = ["Constant", "Power", "Product", "Sum"]


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
    _parameters: ClassVar = {"value": Number(0)}

    def __init__(self, value=1.0):
        self.value = value

    def _matrix(self, X, Y):
        single = getattr(X, "dtype", None) == np.float32 == getattr(Y, "dtype", None)
        return np.full((n_samples(X), n_samples(Y)), self.value, dtype=np.float32 if single else np.float64)

    def _diag(self, X):
        single = getattr(X, "dtype", None) == np.float32
        return np.full(n_samples(X), self.value, dtype=np.float32 if single else np.float64)

    def _dot(self, X, Y, V):
        return np.tile(self.value * V.sum(axis=0), (n_samples(X), 1))

    def _vjp(self, X, W):
        return {"value": float(W.sum())}


class _Composite(Kernel):
    """Kernels as children, named by their position: parameter ``"0__gamma"`` is gamma of the first."""

    symbol: ClassVar[str]

    def __init__(self, *kernels):
        self.kernels = kernels
        self._check_children()

    def _check_children(self):
        name = type(self).__name__
        if not self.kernels:
            raise ValueError(f"{name} needs at least one kernel.")
        for kernel in self.kernels:
            if not isinstance(kernel, Kernel):
                raise TypeError(f"{name} combines kernels, got {kernel!r}; as_kernel turns names into kernels.")
        by_domain = {kernel.domain: kernel for kernel in self.kernels if kernel.domain != "any"}
        if len(by_domain) > 1:
            sides = " and ".join(f"{type(k).__name__} on {domain}" for domain, k in by_domain.items())
            raise DomainError(f"{name} needs kernels on one kind of samples, got {sides}.")

    @property
    def domain(self) -> str:  # type: ignore[override]
        domains = [kernel.domain for kernel in self.kernels]
        return next((domain for domain in domains if domain != "any"), "any")

    @property
    def definite(self) -> bool | None:  # type: ignore[override]
        known = [kernel.definite for kernel in self.kernels]
        return False if False in known else None if None in known else True

    def resolve(self, X, sample_weight=None):
        return type(self)(*(kernel.resolve(X, sample_weight) for kernel in self.kernels))

    def _check_parameters(self):
        for kernel in self.kernels:
            kernel._check_parameters()

    def _unresolved(self):
        return [f"{i}__{name}" for i, kernel in enumerate(self.kernels) for name in kernel._unresolved()]

    # scikit-learn reads parameters off the signature; ours are the children.

    def get_params(self, deep=True):
        """Children by position and, if `deep`, their parameters.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the parameters of the children, as ``"0__gamma"``.

        Returns
        -------
        dict
        """
        params: dict[str, Any] = {str(i): kernel for i, kernel in enumerate(self.kernels)}
        if deep:
            for i, kernel in enumerate(self.kernels):
                params.update({f"{i}__{name}": value for name, value in kernel.get_params().items()})
        return params

    def set_params(self, **params):
        """Replace children (``"0"``) or set their parameters (``"0__gamma"``).

        Parameters
        ----------
        **params : dict
            As a dictionary, ``set_params(**{"0__gamma": 2.0})``, since names cannot start with a digit.

        Returns
        -------
        Kernel
            This kernel.
        """
        children = list(self.kernels)
        nested: dict[int, dict[str, Any]] = {}
        for name, value in params.items():
            position, _, rest = name.partition("__")
            if not (position.isdecimal() and int(position) < len(children)):
                valid = ", ".join(map(str, range(len(children))))
                raise ValueError(f"Invalid parameter {name!r} for {self!r}; its children are named {valid}.")
            if rest:
                nested.setdefault(int(position), {})[rest] = value
            else:
                children[int(position)] = value
        replaced = type(self)(*children)
        for position, values in nested.items():
            children[position].set_params(**values)
        self.kernels = replaced.kernels
        return self

    def __sklearn_clone__(self):
        return type(self)(*(clone(kernel) for kernel in self.kernels))

    def __repr__(self, N_CHAR_MAX=700):
        return self.symbol.join(map(_bracketed, self.kernels))


class Sum(_Composite):
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
        return reduce(add, (kernel(X, Y) for kernel in self.kernels))

    def _diag(self, X):
        return reduce(add, (kernel.diag(X) for kernel in self.kernels))

    def _dot(self, X, Y, V):
        return reduce(add, (kernel.dot(X, Y, V) for kernel in self.kernels))

    def _dot_rows(self, X, Y, rows):
        return self._dot(X, Y, rows.T)

    def _vjp(self, X, W):
        parts = ((i, kernel.vjp(X, W)) for i, kernel in enumerate(self.kernels))
        return {f"{i}__{name}": value for i, part in parts for name, value in part.items()}


class Product(_Composite):
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
        factor, others = self._factored()
        K = others[0](X, Y)
        for kernel in others[1:]:
            K = K * kernel(X, Y)
        return K * factor

    def _diag(self, X):
        factor, others = self._factored()
        return np.prod([kernel.diag(X) for kernel in others], axis=0) * factor

    def _dot(self, X, Y, V):
        factor, others = self._factored()
        if len(others) > 1:
            return self._dot_in_blocks(X, Y, V)
        return factor * others[0].dot(X, Y, V)

    def _dot_rows(self, X, Y, rows):
        factor, others = self._factored()
        return super()._dot_rows(X, Y, rows) if len(others) > 1 else factor * others[0].dot(X, Y, rows.T)

    def _vjp(self, X, W):
        matrices = [kernel(X) for kernel in self.kernels]
        derivatives = {}
        for i, kernel in enumerate(self.kernels):
            # d(prod_r K_r) = sum_i dK_i * prod_{r != i} K_r
            rest = W.copy()
            for j, K in enumerate(matrices):
                if j != i:
                    rest *= K
            derivatives.update({f"{i}__{name}": value for name, value in kernel.vjp(X, rest).items()})
        return derivatives

    def _factored(self) -> tuple[float, list[Kernel]]:
        """The constants as one number, and the other factors (at least one)."""
        constants = [kernel for kernel in self.kernels if type(kernel) is Constant]
        others = [kernel for kernel in self.kernels if type(kernel) is not Constant]
        return float(np.prod([kernel.value for kernel in constants])), others or [Constant()]


class Power(Kernel):
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

    def __init__(self, kernel, exponent):
        self.kernel = kernel
        self.exponent = exponent

    @property
    def domain(self) -> str:  # type: ignore[override]
        return self.kernel.domain

    @property
    def definite(self) -> bool | None:  # type: ignore[override]
        return self.kernel.definite

    def resolve(self, X, sample_weight=None):
        return Power(self._checked().kernel.resolve(X, sample_weight), self.exponent)

    def _check_parameters(self):
        self._checked().kernel._check_parameters()

    def _checked(self) -> "Power":
        if not isinstance(self.kernel, Kernel):
            raise TypeError(f"Power needs a kernel, got {self.kernel!r}; as_kernel turns names into kernels.")
        if problem := Number(1, integer=True).problem(self.exponent):
            raise ValueError(
                f"The exponent of a kernel {problem} Other powers are not positive semi-definite in general."
            )
        return self

    def _unresolved(self):
        return [f"kernel__{name}" for name in self.kernel._unresolved()]

    def _matrix(self, X, Y):
        return _power(self.kernel(X, Y), self.exponent)

    def _diag(self, X):
        return _power(self.kernel.diag(X), self.exponent)

    def _vjp(self, X, W):
        inner = self.kernel.vjp(X, W * self.exponent * _power(self.kernel(X), self.exponent - 1))
        return {f"kernel__{name}": value for name, value in inner.items()}

    def __repr__(self, N_CHAR_MAX=700):
        return f"{_bracketed(self.kernel)} ** {self.exponent!r}"


def _bracketed(kernel: Kernel) -> str:
    """An expression that can stand as a term, factor or base."""
    return f"({kernel!r})" if isinstance(kernel, (_Composite, Power)) else repr(kernel)


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
