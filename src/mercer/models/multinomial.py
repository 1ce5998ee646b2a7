"""Letters drawn one by one, and counts of them."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.special import gammaln, xlogy

from mercer.errors import DomainError
from mercer.kernels.samples import as_vectors
from mercer.models.base import Model, check_probabilities
from mercer.models.sequences import as_alphabet, encode

__all__ = ["Multinomial"]


class Multinomial(Model):
    r"""Letters that are drawn independently, from one distribution.

    .. math:: p(c) = \frac{N!}{\prod_a c_a!} \prod_a \theta_a^{c_a}, \qquad N = \sum_a c_a

    for counts c of letters; without the first factor for a sequence, in which they have an order.

    Parameters
    ----------
    probabilities : array of shape (A,)
        Of the letters, :math:`\theta`.
    alphabet : str or sequence of A hashables, default=None
        The letters; samples are then sequences. None: samples are vectors of counts.

    See Also
    --------
    HiddenMarkovModel : Letters that depend on each other.

    Notes
    -----
    It is an exponential family: its parameters are the logits z, :math:`\theta_a = e^{z_a} / \sum_b e^{z_b}`, and the
    scores are the sufficient statistics, centred: :math:`c - N \theta`. The information matrix is that of one letter,
    :math:`\operatorname{diag}(\theta) - \theta \theta^\top`, of rank A - 1.

    References
    ----------
    .. [1] B. Schölkopf, K. Tsuda, J.-P. Vert, Kernel Methods in Computational Biology, 2004, section 1.6.3.

    Examples
    --------
    >>> from mercer.models import Multinomial
    >>> Multinomial([0.5, 0.5]).scores([[3, 1], [0, 2]])
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    _parts = ("probabilities", "alphabet")

    probabilities: np.ndarray
    alphabet: Any

    def __init__(self, probabilities, alphabet=None):
        probabilities = check_probabilities("probabilities", probabilities, 1, "Multinomial")
        if alphabet is not None:
            alphabet = as_alphabet(alphabet, "Multinomial")
            if len(alphabet) != len(probabilities):
                raise ValueError(f"{len(alphabet)} letters need as many probabilities, got {len(probabilities)}.")
        self._keep(probabilities=probabilities, alphabet=alphabet)

    @property
    def domain(self) -> str:
        return "vectors" if self.alphabet is None else "strings"

    @property
    def n_features(self) -> int:
        """Length of a vector of counts."""
        return len(self.probabilities)

    def __repr__(self) -> str:
        return f"<Multinomial over {len(self.probabilities)} letters>"

    @classmethod
    def from_data(cls, X, alphabet: Any = None, pseudo_count: float = 0.0) -> "Multinomial":
        """The share of every letter in samples.

        Parameters
        ----------
        X : n vectors of counts, or n sequences if there is an `alphabet`
        alphabet : str or sequence of hashables, default=None
        pseudo_count : float, default=0.0
            Added to the number of every letter.

        Returns
        -------
        Multinomial
        """
        if alphabet is None:
            total = _counts_in(X).sum(axis=0) + pseudo_count
        else:
            total = np.bincount(encode(X, alphabet, "Multinomial")[0], minlength=len(alphabet)) + pseudo_count
        if not total.sum() > 0:
            raise ValueError("Multinomial needs some letters to take probabilities from, X has none.")
        return cls(total / total.sum(), alphabet)

    def log_likelihood(self, X):
        """Logarithm of the probability of every sample.

        Parameters
        ----------
        X : n vectors of counts, or n sequences

        Returns
        -------
        ndarray of shape (n,)
        """
        counts = self._counts(X)
        likely = xlogy(counts, self.probabilities).sum(axis=1)
        if self.alphabet is not None:
            return likely
        return likely + gammaln(counts.sum(axis=1) + 1) - gammaln(counts + 1).sum(axis=1)

    def scores(self, X):
        """The counts of every sample, less their expectation.

        Parameters
        ----------
        X : n vectors of counts, or n sequences

        Returns
        -------
        ndarray of shape (n, A)
        """
        counts = self._counts(X)
        return counts - counts.sum(axis=1, keepdims=True) * self.probabilities

    def information(self):
        """The information matrix of one letter, shape (A, A)."""
        return np.diag(self.probabilities) - np.multiply.outer(self.probabilities, self.probabilities)

    def _counts(self, X: Any) -> np.ndarray:
        if self.alphabet is None:
            counts = _counts_in(X)
            if counts.shape[1] != len(self.probabilities):
                raise ValueError(f"X has {counts.shape[1]} columns, {self!r} needs {len(self.probabilities)}.")
            return counts
        letters, starts = encode(X, self.alphabet, "Multinomial")
        n, size = len(starts) - 1, len(self.probabilities)
        places = np.repeat(np.arange(n), np.diff(starts)) * size + letters
        return np.bincount(places, minlength=n * size).reshape(n, size).astype(np.float64)


def _counts_in(X: Any) -> np.ndarray:
    vectors = as_vectors(X, "Multinomial")
    counts = (vectors.toarray() if issparse(vectors) else vectors).astype(np.float64)
    if counts.size and counts.min() < 0:
        raise DomainError(f"Multinomial works on counts >= 0, X has the entry {counts.min():g}.")
    return counts
