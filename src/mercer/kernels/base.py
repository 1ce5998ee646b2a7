"""What a kernel is: parameters in, numbers out."""

from contextvars import ContextVar
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, clone

from mercer.data.features import SparseFeatures
from mercer.fingerprint import fingerprint
from mercer.kernels.frequencies import SpectralMeasure
from mercer.kernels.samples import is_tensor, n_samples, row_blocks, take, to_numpy
from mercer.parameters import Choice, Number, check_parameters

__all__ = ["Kernel", "NativeSpec"]

# Rows whose diagonal is read off one small kernel matrix where a kernel has no better way.
DIAGONAL_BLOCK = 32
# Whether what is computed right now is part of a larger matrix, which `Cached` then does not keep.
USED_ONCE = ContextVar("USED_ONCE", default=False)


class NativeSpec(NamedTuple):
    """How the native loops compute a kernel on vectors: k(x, y) = transform(measure(x, y))."""

    measure: str
    """Accumulated over the features: "dot", "l2" (squared distance), "l1", "min", "chi2" or "match"."""
    transform: str
    """Turns the measure into the kernel: "identity", "exp", "exp_sqrt", "power", "tanh", "matern32",
    "matern52", "rational", "cosine" or "tanimoto"."""
    parameters: tuple[float, float, float] = (1.0, 0.0, 0.0)
    """The numbers in the transform."""
    centre: bool = False
    """Whether all vectors may be shifted together without changing the kernel."""
    weights: np.ndarray | None = None
    """Factors of the features, multiplied into the vectors first."""

    def arguments(
        self, centre: np.ndarray | None = None
    ) -> tuple[str, str, tuple[float, float, float], np.ndarray | None, np.ndarray | None]:
        """The first arguments of every native kernel function, in its order."""
        return self.measure, self.transform, self.parameters, centre, self.weights


class Kernel(BaseEstimator):
    """Base of all kernels: a similarity k(x, x') that is an inner product in some feature space.

    A kernel is a value: it has parameters, and it turns samples into numbers. It is never fitted, and
    ``k(X, Y)[i, j]`` depends on ``X[i]`` and ``Y[j]`` alone. Parameters that are to be taken from the data
    (``gamma="scale"``) become numbers in `resolve`, which gives a new kernel.

    Kernels are combined with ``+``, ``*``, ``/`` and ``**``: ``2 * RBF() + Linear() ** 2 + 1``. Methods make
    others of them: `normalized`, `centered`, `rbf`, `exp`, ... Two kernels are equal if they are of the same
    class and their parameters are equal; since parameters can be set, the hash is that of the class alone.

    Notes
    -----
    A new kernel states its `domain`, stores its parameters in ``__init__`` as scikit-learn's estimators do,
    and computes ``_matrix(X, Y)``. Faster ways to the diagonal (``_diag``) and to products (``_dot``),
    derivatives (``_vjp``), checks of the samples (`prepare`) and of the parameters (``_parameters``) are
    written where the kernel has them. These methods see resolved parameters and prepared samples.

    Examples
    --------
    >>> from mercer.kernels import Linear, RBF
    >>> X = [[0.0, 1.0], [1.0, 1.0]]
    >>> kernel = 2 * RBF(gamma=1.0) + Linear()
    >>> kernel(X).round(3)
    array([[3.   , 1.736],
           [1.736, 4.   ]])
    >>> kernel.set_params(**{"0__1__gamma": 0.0})(X)
    array([[3., 3.],
           [3., 4.]])
    """

    domain: ClassVar[str]
    """What the samples are: "vectors", "categories", "indices", ..., or "any"."""
    definite: ClassVar[bool | None] = True
    """Whether every kernel matrix is positive semi-definite; None if that is not known."""

    infinitely_divisible: ClassVar[bool] = False
    """Whether k(x, x')^b is positive semi-definite for every b > 0, so that ``kernel ** 0.5`` is a kernel."""

    _parameters: ClassVar[dict[str, Number | Choice]] = {}

    # NumPy scalars and arrays on the left leave the operators to us. NumPy's functions of one object call its method of
    # their name, which answers with a kernel or with the reason why there is none.
    __array_priority__ = 1000.0

    # --- numbers out --------------------------------------------------------------------------------------

    def __call__(self, X, Y=None):
        """Kernel matrix.

        Parameters
        ----------
        X : n samples
            In a container that fits the kernel's `domain`.
        Y : m samples, default=None
            None means X, and gives the same numbers as X given twice.

        Returns
        -------
        ndarray of shape (n, m)
            float32 if both sides are float32 vectors, otherwise float64. Of tensors of PyTorch a tensor on their
            device.
        """
        if is_tensor(X):
            return self._of_tensors("values", X, Y)
        kernel = self._ready(X, Y)
        return kernel._matrix(*kernel.prepare(X, Y))

    def diag(self, X):
        """Diagonal of ``self(X)``, without the matrix.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n,)
        """
        if is_tensor(X):
            return self._of_tensors("diag", X)
        kernel = self._ready(X)
        return kernel._diag(kernel.prepare(X)[0])

    def dot(self, X, Y, V):
        """Product ``self(X, Y) @ V``; the kernel matrix is never stored.

        Parameters
        ----------
        X : n samples
        Y : m samples or None
            None means X.
        V : array or sparse matrix of shape (m,) or (m, k)

        Returns
        -------
        ndarray of shape (n,) or (n, k)
            In float64. Of tensors of PyTorch a tensor on their device, in their precision.
        """
        if is_tensor(X):
            return self._of_tensors("dot", X, Y, V)
        kernel = self._ready(X, Y)
        X, Y = kernel.prepare(X, Y)
        if not issparse(V):
            V = np.asarray(V, dtype=np.float64)
        if V.ndim not in (1, 2) or V.shape[0] != n_samples(Y):
            raise ValueError(f"V has shape {V.shape}, it needs one row for each of the {n_samples(Y)} samples of Y.")
        if issparse(V):
            return kernel._dot_rows(X, Y, csr_array(V.reshape(V.shape[0], -1).T)).reshape(-1, *V.shape[1:])
        columns = np.ascontiguousarray(V[:, np.newaxis] if V.ndim == 1 else V)
        product = kernel._dot(X, Y, columns)
        return product[:, 0] if V.ndim == 1 else product

    def _of_tensors(self, what: str, X: Any, Y: Any = None, *others: Any) -> Any:
        """Values, diagonal or products on the device of X."""
        from mercer.devices.values import of_tensors  # it imports kernels

        kernel = self if not self._unresolved() else self._ready(to_numpy(X), Y)
        return of_tensors(kernel, what, X, Y, *others)

    def _decide(self, X: Any, Y: Any, v: np.ndarray, offset: float) -> np.ndarray:
        """Numbers of the sign of ``self(X, Y) @ v + offset``, for prepared samples; their size need not be exact."""
        return self._dot(X, Y, v[:, np.newaxis])[:, 0] + offset

    def vjp(self, X, W):
        """Derivatives of a weighted sum of the kernel matrix: sum_ij W_ij dK_ij/dp for every parameter p.

        Parameters
        ----------
        X : n samples
        W : array of shape (n, n)
            The weights: the derivative of some objective by the entries of ``self(X)``.

        Returns
        -------
        dict
            Parameter name, as in `get_params`, to a float, or to an array where there is one value for every
            feature. Parameters that are not continuous are left out.
        """
        kernel = self._ready(X)
        X, _ = kernel.prepare(X)
        W, n = np.asarray(W, dtype=np.float64), n_samples(X)
        if W.shape != (n, n):
            raise ValueError(f"W has shape {W.shape}, for {n} samples it must be {(n, n)}.")
        return kernel._vjp(X, W)

    def features(self, X):
        """Explicit feature vectors phi(x) with k(x, x') = phi(x) . phi(x'), for kernels that have them.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray or CSR array of shape (n, n_components)
            Of a kernel that counts things, over those that at least one sample has, in the order of their keys;
            `mercer.features.ExplicitFeatures` gives the same columns to new samples.
        """
        kernel = self._ready(X)
        found = kernel._sparse_features(kernel.prepare(X)[0])
        if found is None:
            raise NotImplementedError(f"{type(self).__name__} has no explicit feature map; use the kernel values.")
        return found.table(np.unique(found.keys))

    def native(self) -> NativeSpec | None:
        """How the native loops compute this kernel on the samples given by `prepare`; None if they cannot."""
        return None

    # --- data in ------------------------------------------------------------------------------------------

    def resolve(self, X, sample_weight=None):
        """A copy in which parameters that are to be taken from the data are numbers.

        Parameters
        ----------
        X : n samples
            The training samples.
        sample_weight : array of shape (n,), default=None
            A sample of weight 2 counts as two samples, one of weight 0 as none.

        Returns
        -------
        Kernel
            A new kernel; this one does not change.
        """
        self._check_parameters()
        return clone(self)

    def prepare(self, X, Y=None) -> tuple[Any, Any]:
        """The samples checked and in the form this kernel computes with; Y=None gives X twice.

        Native loops run over what this returns.
        """
        return X, X if Y is None else Y

    # --- for subclasses -----------------------------------------------------------------------------------

    def _matrix(self, X, Y) -> np.ndarray:
        raise NotImplementedError(f"{type(self).__name__} does not say how it is computed (method _matrix).")

    def _some_rows(self, X, rows, Y) -> np.ndarray:
        """Part of a matrix that is never there as a whole: used once, and not worth keeping."""
        token = USED_ONCE.set(True)
        try:
            return self._matrix(take(X, rows), Y)
        finally:
            USED_ONCE.reset(token)

    def _log_matrix(self, X, Y) -> np.ndarray | None:
        """Logarithms of the kernel values, for a kernel whose values may be too large or too small for float64.

        None: the values themselves will do. Normalised kernels are computed from these.
        """
        return None

    def _log_diag(self, X) -> np.ndarray | None:
        """Logarithms of the diagonal, for a kernel that has them; equal to those of `_log_matrix` to the last bit."""
        return None

    def _log_vjp(self, X, W) -> dict[str, Any]:
        """sum_ij W_ij dlog(k_ij)/dparameter, for a kernel that has logarithms; where k_ij = 0, W_ij does not count."""
        K = self._matrix(X, X)
        return self._vjp(X, np.divide(W, K, out=np.zeros_like(W), where=K > 0))

    def _sparse_features(self, X) -> SparseFeatures | None:
        """Prepared samples as sparse features whose inner products are the kernel, for kernels that have them."""
        return None

    def _spectral_measure(self, d: int) -> SpectralMeasure | None:
        """What a kernel k(x - x') on d features is the Fourier transform of; None if it is none, or not known."""
        return None

    def _diag(self, X) -> np.ndarray:
        n = n_samples(X)
        parts = (take(X, slice(start, start + DIAGONAL_BLOCK)) for start in range(0, n, DIAGONAL_BLOCK))
        return np.concatenate([np.diagonal(self._matrix(part, part)) for part in parts] or [np.empty(0)])

    def _dot(self, X, Y, V) -> np.ndarray:
        return self._dot_in_blocks(X, Y, V)

    def _dot_rows(self, X, Y, rows: csr_array) -> np.ndarray:
        """``self(X, Y) @ rows.T`` for sparse rows over the samples Y."""
        product = np.empty((rows.shape[0], n_samples(X)))
        for block in row_blocks(n_samples(X), n_samples(Y)):
            product[:, block] = rows @ self._some_rows(X, block, Y).T
        return product.T

    def _vjp(self, X, W) -> dict[str, Any]:
        return {}

    def _dot_in_blocks(self, X, Y, V) -> np.ndarray:
        product = np.empty((n_samples(X), V.shape[1]))
        for rows in row_blocks(n_samples(X), n_samples(Y)):
            product[rows] = self._some_rows(X, rows, Y) @ V
        return product

    def _check_parameters(self) -> None:
        check_parameters(self)

    def _unresolved(self) -> list[str]:
        """Names of the parameters that still wait for the data: words where there should be a number."""
        numbers = (name for name, rule in self._parameters.items() if isinstance(rule, Number))
        return [name for name in numbers if isinstance(getattr(self, name), str)]

    def _ready(self, X, Y=None) -> "Kernel":
        """This kernel, or, where X is all there is, this kernel resolved on X."""
        self._check_parameters()
        waiting = self._unresolved()
        if not waiting:
            return self
        if Y is None:
            return self.resolve(X)
        raise ValueError(
            f"{self!r} takes {' and '.join(waiting)} from the data: call kernel.resolve(X) with the training "
            "samples first and use the kernel that it returns, or give a number."
        )

    # --- algebra ------------------------------------------------------------------------------------------

    def __add__(self, other):
        """The sum of two kernels; a number c >= 0 adds a constant kernel."""
        return _combine("Sum", self, other)

    def __radd__(self, other):
        # sum([k1, k2]) starts from 0
        return self if isinstance(other, Real) and other == 0 else _combine("Sum", other, self)

    def __mul__(self, other):
        """The product of two kernels; a number c >= 0 scales the kernel."""
        return _combine("Product", self, other)

    def __rmul__(self, other):
        return _combine("Product", other, self)

    def __truediv__(self, number):
        """The kernel over a number > 0."""
        if isinstance(number, Kernel):
            raise TypeError("A quotient of kernels is not a kernel; kernel.normalized() divides by norms.")
        if isinstance(number, Real) and not isinstance(number, bool):
            if not 0 < float(number) < np.inf:
                raise ValueError(f"The number that a kernel is divided by must be finite and > 0, got {number}.")
            return self * (1 / float(number))
        return NotImplemented

    def __rtruediv__(self, other):
        raise TypeError("One over a kernel is not a kernel; kernel.geometric(rho) is 1 / (rho - kernel).")

    def __neg__(self):
        raise TypeError("A kernel with a minus is not a kernel: k(x, x) would be negative.")

    def __sub__(self, other):
        raise TypeError("A difference is not a kernel: nothing keeps it positive semi-definite; use sums.")

    def __rsub__(self, other):
        raise TypeError("A difference is not a kernel; kernel.geometric(rho) is 1 / (rho - kernel).")

    def __pow__(self, exponent):
        """A power, k(x, x')^p, for integers p >= 1; for any p > 0 where the kernel is infinitely divisible."""
        from mercer.kernels.algebra import Power

        power = Power(self, exponent)
        power._check_exponent()
        return Power(self.kernel, self.exponent * exponent) if isinstance(self, Power) else power

    def exp(self):
        """The exponential of the kernel, exp(k(x, x')); see `Exp`.

        Returns
        -------
        Exp
        """
        from mercer.kernels.algebra import Exp

        return Exp(self)

    def log(self):
        """Refused: the logarithm of a kernel is not a kernel.

        Raises
        ------
        TypeError
            With the reason.
        """
        raise TypeError("The logarithm of a kernel is not a kernel: its series has negative coefficients.")

    def sqrt(self):
        """The root of a kernel that is infinitely divisible, as ``kernel ** 0.5``; refused for others.

        Returns
        -------
        Power
        """
        return self**0.5

    def polynomial(self, coefficients):
        """The polynomial c_0 + c_1 k + c_2 k^2 + ... of the kernel; see `PolynomialOf`.

        Parameters
        ----------
        coefficients : numbers >= 0
            From the constant on.

        Returns
        -------
        PolynomialOf
        """
        from mercer.kernels.algebra import PolynomialOf

        polynomial = PolynomialOf(self, coefficients)
        polynomial._check_coefficients()
        return polynomial

    def geometric(self, rho):
        """The series 1 / (rho - k) = sum_p k^p / rho^(p + 1); see `Geometric`.

        Parameters
        ----------
        rho : float
            Larger than k(x, x) of every sample.

        Returns
        -------
        Geometric
        """
        from mercer.kernels.algebra import Geometric

        return Geometric(self, rho)

    def rbf(self, sigma="median"):
        """The Gaussian kernel of the distance that this kernel induces; see `RBFOf`.

        Parameters
        ----------
        sigma : float, "median" or "mean", default="median"
            Width > 0.

        Returns
        -------
        RBFOf
        """
        from mercer.kernels.algebra import RBFOf

        return RBFOf(self, sigma)

    def normalized(self):
        """The kernel normalised, k(x, x') / sqrt(k(x, x) k(x', x')); see `Normalized`.

        Returns
        -------
        Normalized
        """
        from mercer.kernels.algebra import Normalized

        return Normalized(self)

    def centered(self, reference="training"):
        """The kernel with the mean of some samples as the origin of feature space; see `Centered`.

        Parameters
        ----------
        reference : samples or "training", default="training"
            Whose mean is the origin.

        Returns
        -------
        Centered
        """
        from mercer.kernels.algebra import Centered

        return Centered(self, reference)

    def scaled(self, function):
        """The kernel f(x) k(x, x') f(x'); see `Scaled`.

        Parameters
        ----------
        function : callable
            ``function(X)`` returns a number for every sample.

        Returns
        -------
        Scaled
        """
        from mercer.kernels.algebra import Scaled

        return Scaled(self, function)

    # --- equality -----------------------------------------------------------------------------------------

    def __eq__(self, other):
        if not isinstance(other, Kernel):
            return NotImplemented
        mine, theirs = self.get_params(deep=False), other.get_params(deep=False)
        same = type(self) is type(other) and mine.keys() == theirs.keys()
        return same and all(_equal(mine[name], theirs[name]) for name in mine)

    def __hash__(self):
        return hash(type(self))


def _combine(name: str, *terms: Any):
    """Sum or Product of kernels and numbers, without brackets inside."""
    from mercer.kernels import algebra

    operation = {"Sum": algebra.Sum, "Product": algebra.Product}[name]
    children: list[Kernel] = []
    for term in terms:
        if isinstance(term, operation):
            children.extend(term.kernels)
        elif isinstance(term, Kernel):
            children.append(term)
        elif isinstance(term, Real) and not isinstance(term, bool):
            if not 0 <= float(term) < np.inf:
                verb = "added to" if name == "Sum" else "multiplied with"
                raise ValueError(
                    f"The number {verb} a kernel must be finite and >= 0, got {term}: "
                    "otherwise the result is not a kernel."
                )
            children.append(algebra.Constant(float(term)))
        else:
            return NotImplemented
    return operation(*children)


def _equal(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    try:
        return bool(a == b)
    except (TypeError, ValueError):  # frames, sparse matrices and lists of arrays compare entry by entry
        return type(a) is type(b) and fingerprint(a) == fingerprint(b)
