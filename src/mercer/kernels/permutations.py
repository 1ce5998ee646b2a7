"""Kernels on permutations: how two rankings of the same items agree."""

from typing import Any, ClassVar

import numpy as np

from mercer import _native
from mercer.errors import DomainError
from mercer.kernels.base import Kernel
from mercer.kernels.samples import describe
from mercer.parameters import Number
from mercer.threads import effective_n_threads

__all__ = ["Kendall", "Mallows"]


class PermutationKernel(Kernel):
    """A kernel of the number of pairs of items that two rankings put in the same order.

    It is the same after renumbering the items: a kernel on the symmetric group that is invariant under its action.
    """

    domain: ClassVar[str] = "permutations"

    def prepare(self, X, Y=None):
        owner = type(self).__name__
        x = _as_rankings(X, owner, "X")
        if Y is None or Y is X:
            return x, x
        y = _as_rankings(Y, owner, "Y")
        if x.shape[1] != y.shape[1] and len(x) and len(y):
            raise ValueError(f"X ranks {x.shape[1]} items, Y ranks {y.shape[1]}; {owner} needs the same on both sides.")
        return x, y

    def _discordant(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Numbers of pairs of items in different order."""
        return _native.discordant_pairs(X, Y, effective_n_threads())

    def _diag(self, X):
        return np.ones(len(X))


class Kendall(PermutationKernel):
    r"""Kendall's tau of two rankings of the same items.

    .. math:: k(\sigma, \sigma') = \frac{n_c - n_d}{m (m - 1) / 2}

    with :math:`n_c` pairs of items that both rankings put in the same order and :math:`n_d` pairs that they do not. It
    is 1 for equal rankings and -1 for opposite ones.

    See Also
    --------
    Mallows : A Gaussian-like kernel of the number of such pairs.

    Notes
    -----
    Samples are rows of the ranks of m items: a permutation of 0 ... m-1 or of 1 ... m. Time O(m log m) for a pair. The
    features are the signs of the differences of all pairs of ranks. A single item gives 1.

    References
    ----------
    .. [1] Y. Jiao, J.-P. Vert, The Kendall and Mallows kernels for permutations, ICML 2015.
    .. [2] J.-P. Vert, K. Tsuda, B. Schölkopf, A primer on kernel methods, 2004, section 1.7.2.

    Examples
    --------
    >>> from mercer.kernels import Kendall
    >>> Kendall()([[0, 1, 2], [0, 2, 1], [2, 1, 0]]).round(3)
    array([[ 1.   ,  0.333, -1.   ],
           [ 0.333,  1.   , -0.333],
           [-1.   , -0.333,  1.   ]])
    """

    def _matrix(self, X, Y):
        pairs = X.shape[1] * (X.shape[1] - 1) // 2
        return 1 - 2 * self._discordant(X, Y) / max(1, pairs)

    def features(self, X):
        """Signs of the differences of all pairs of ranks, over the root of their number.

        Parameters
        ----------
        X : array of shape (n, m)

        Returns
        -------
        ndarray of shape (n, m (m - 1) / 2)
        """
        X, _ = self.prepare(X)
        first, second = np.triu_indices(X.shape[1], 1)
        if not len(first):
            return np.ones((len(X), 1))
        return np.sign(X[:, first] - X[:, second]) / np.sqrt(len(first))


class Mallows(PermutationKernel):
    r"""Mallows kernel of two rankings of the same items.

    .. math:: k(\sigma, \sigma') = \exp(-\lambda\, n_d(\sigma, \sigma'))

    with :math:`n_d` the number of pairs of items that the rankings put in different order.

    Parameters
    ----------
    decay : float, default=0.1
        The number :math:`\lambda \ge 0`. Larger means that rankings must agree more to be similar.

    See Also
    --------
    Kendall : Linear in the number of pairs.

    Notes
    -----
    Samples are rows of the ranks of m items: a permutation of 0 ... m-1 or of 1 ... m. Time O(m log m) for a
    pair. It is positive semi-definite for every decay, so that all powers of it are kernels.

    References
    ----------
    .. [1] Y. Jiao, J.-P. Vert, The Kendall and Mallows kernels for permutations, ICML 2015.
    .. [2] J.-P. Vert, K. Tsuda, B. Schölkopf, A primer on kernel methods, 2004, section 1.7.2.

    Examples
    --------
    >>> from mercer.kernels import Mallows
    >>> Mallows(decay=0.5)([[0, 1, 2], [0, 2, 1], [2, 1, 0]]).round(3)
    array([[1.   , 0.607, 0.223],
           [0.607, 1.   , 0.368],
           [0.223, 0.368, 1.   ]])
    """

    infinitely_divisible = True
    _parameters: ClassVar = {"decay": Number(0)}

    def __init__(self, decay=0.1):
        self.decay = decay

    def _matrix(self, X, Y):
        return np.exp(-self.decay * self._discordant(X, Y))

    def _vjp(self, X, W):
        discordant = self._discordant(X, X)
        return {"decay": -float(np.vdot(W, discordant * np.exp(-self.decay * discordant)))}


def _as_rankings(X: Any, owner: str, name: str) -> np.ndarray:
    refusal = f"{owner} works on rankings, rows of the ranks 0 to m - 1 or 1 to m of m items, got "
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    try:
        given = np.asarray(X)
        with np.errstate(invalid="ignore"):  # what is no integer differs from its rank and is refused
            ranks = given.astype(np.int64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise DomainError(f"{refusal}{describe(X)} as {name}.") from error
    if given.ndim == 1 and given.size == 0:
        return np.empty((0, 0), dtype=np.int64)
    if given.dtype.kind not in "iuf" or given.ndim != 2 or not given.shape[1] or (ranks != given).any():
        raise DomainError(f"{refusal}{describe(X)} as {name}.")
    if len(ranks):
        ranks = ranks - ranks.min(axis=1, keepdims=True)
        wrong = (np.sort(ranks, axis=1) != np.arange(ranks.shape[1])).any(axis=1)
        wrong |= ~np.isin(given.min(axis=1), (0, 1))
        if wrong.any():
            raise DomainError(f"{refusal}{given[wrong.argmax()].tolist()} as a row of {name}.")
    return ranks
