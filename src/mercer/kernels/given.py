"""Kernels that are given: as a function, or as a matrix."""

from typing import Any, ClassVar

import numpy as np

from mercer.errors import DomainError
from mercer.kernels.base import Kernel
from mercer.kernels.samples import describe, each, n_samples, row_blocks
from mercer.parameters import Choice

__all__ = ["FromFunction", "Indexed"]


class FromFunction(Kernel):
    """A kernel computed by a function of your own.

    Parameters
    ----------
    function : callable
        ``function(X, Y)`` returns the kernel matrix of shape (n, m), as in scikit-learn's support vector
        machines. It sees the samples as they were given, whatever they are.
    pairwise : bool, default=False
        True: ``function(x, y)`` takes two samples and returns a number.

    See Also
    --------
    Indexed : A kernel given as a matrix.
    Kernel : The base class, for a kernel with parameters and derivatives.

    Notes
    -----
    Whether the kernel is positive semi-definite is not known, so `definite` is None. Costs what the
    function costs; the diagonal is read off small blocks. A pairwise function is called for every pair; where all
    samples are compared with each other, once for both orders.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import FromFunction
    >>> def common_letters(x, y):
    ...     return len(set(x) & set(y))
    >>> FromFunction(common_letters, pairwise=True)(["stay", "stray", "play"])
    array([[4., 4., 2.],
           [4., 5., 2.],
           [2., 2., 4.]])
    >>> def products(X, Y):
    ...     return np.asarray(X) @ np.asarray(Y).T
    >>> FromFunction(products)([[1.0], [2.0]])
    array([[1., 2.],
           [2., 4.]])
    """

    domain = "any"
    definite = None
    _parameters: ClassVar = {"pairwise": Choice(False, True)}

    def __init__(self, function, pairwise=False):
        self.function = function
        self.pairwise = pairwise

    def _check_parameters(self):
        super()._check_parameters()
        if not callable(self.function):
            raise TypeError(f"function must be callable as function(X, Y), got {self.function!r}.")

    def _matrix(self, X, Y):
        K = self._pairs(X, Y) if self.pairwise else np.asarray(self.function(X, Y))
        if K.dtype != np.float32:
            K = K.astype(np.float64, copy=False)
        if K.shape != (expected := (n_samples(X), n_samples(Y))):
            raise ValueError(f"The kernel function returned shape {K.shape} where {expected} was expected.")
        if not np.isfinite(K).all():
            raise ValueError("The kernel function returned NaN or infinity.")
        return K

    def _diag(self, X):
        if not self.pairwise:
            return super()._diag(X)
        return np.array([self.function(x, x) for x in each(X)], dtype=np.float64)

    def _pairs(self, X: Any, Y: Any) -> np.ndarray:
        rows, columns = list(each(X)), list(each(Y))
        if X is not Y:
            return np.array([[self.function(x, y) for y in columns] for x in rows], dtype=np.float64).reshape(
                len(rows), len(columns)
            )
        K = np.empty((len(rows), len(rows)))
        for i, x in enumerate(rows):
            K[i, : i + 1] = [self.function(x, y) for y in rows[: i + 1]]
            K[: i + 1, i] = K[i, : i + 1]
        return K


class Indexed(Kernel):
    """A kernel given as a matrix; the samples are row numbers.

    .. math:: k(i, j) = K_{ij}

    Parameters
    ----------
    K : array of shape (N, N)
        The symmetric kernel matrix of all samples there are. It is not copied, also not by scikit-learn's
        ``clone``.

    See Also
    --------
    FromFunction : A kernel given as a function.

    Notes
    -----
    Samples are integers from 0 to N - 1, in an array of shape (n,) or (n, 1), so that cross-validation can
    split them. Whether K is positive semi-definite is not known, so `definite` is None. `resolve` checks,
    in O(N^2) and with a tolerance of single precision, that K is finite and symmetric.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Indexed
    >>> kernel = Indexed(np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]]))
    >>> kernel([0, 2], [1])
    array([[1.],
           [1.]])
    """

    domain = "indices"
    definite = None

    def __init__(self, K):
        self.K = K

    def __sklearn_clone__(self):
        return type(self)(self.K)

    def resolve(self, X, sample_weight=None):
        K = self._stored()
        scale = 0.0
        for rows in row_blocks(len(K), len(K)):
            if not np.isfinite(K[rows]).all():
                raise ValueError("K contains NaN or infinity.")
            scale = max(scale, float(np.abs(K[rows]).max()))
        for rows in row_blocks(len(K), len(K)):
            gap = float(np.abs(K[rows] - K[:, rows].T).max())
            if gap > 1e-6 * scale:
                raise ValueError(f"K must be symmetric, entries and their mirror images differ by up to {gap:.3g}.")
        return type(self)(self.K)

    def prepare(self, X, Y=None):
        N = len(self._stored())
        X = _row_numbers(X, "X", N)
        return X, X if Y is None else _row_numbers(Y, "Y", N)

    def _matrix(self, X, Y):
        return self._stored()[np.ix_(X, Y)]

    def _diag(self, X):
        return self._stored()[X, X]

    def _stored(self) -> np.ndarray:
        K = self.K
        if not isinstance(K, np.ndarray) or K.dtype not in (np.float32, np.float64):
            K = np.asarray(K, dtype=np.float64)
        if K.ndim != 2 or K.shape[0] != K.shape[1]:
            raise ValueError(f"K must be a square matrix, got shape {K.shape}.")
        return K


def _row_numbers(X: Any, name: str, N: int) -> np.ndarray:
    refusal = f"Indexed works on row numbers from 0 to {N - 1}, got "
    try:
        given = np.asarray(X)
        numbers = given.astype(np.intp)
    except (TypeError, ValueError) as error:
        raise DomainError(f"{refusal}{describe(X)} as {name}.") from error
    if given.dtype.kind not in "iuf" or not (given.ndim == 1 or given.shape[1:] == (1,)) or (numbers != given).any():
        raise DomainError(f"{refusal}{describe(X)} as {name}.")
    numbers = numbers.reshape(-1)
    if numbers.size and (numbers.min() < 0 or numbers.max() >= N):
        raise DomainError(f"{refusal}{numbers.min()} to {numbers.max()} as {name}.")
    return numbers
