"""Hidden Markov models over letters."""

from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from mercer import _native
from mercer.data.features import SparseFeatures
from mercer.models.base import Model, check_probabilities
from mercer.models.sequences import as_alphabet, encode, letters_of
from mercer.parameters import Number
from mercer.threads import effective_n_threads

__all__ = ["HiddenMarkovModel"]


class HiddenMarkovModel(Model):
    r"""A hidden Markov model whose states emit letters.

    .. math:: p(x) = \sum_{h_1 \ldots h_m} \pi_{h_1} b_{h_1 x_1} \prod_{t > 1} a_{h_{t-1} h_t} b_{h_t x_t}

    Parameters
    ----------
    start : array of shape (S,)
        Probabilities :math:`\pi` of the first state.
    transition : array of shape (S, S)
        Probabilities :math:`a_{hk}` of state k after state h.
    emission : array of shape (S, A)
        Probabilities :math:`b_{hx}` of letter x in state h.
    alphabet : str or sequence of A hashables
        The letters, in the order of the columns of `emission`.
    coordinates : "logits" or "probabilities", default="logits"
        What `scores` are derivatives by. Every row :math:`\theta` of probabilities is a function of free numbers:
        "logits" :math:`z` with :math:`\theta_x = e^{z_x} / \sum_y e^{z_y}`, or "probabilities" :math:`\tilde\theta`
        before their normalisation, :math:`\theta_x = \tilde\theta_x / \sum_y \tilde\theta_y`. With :math:`E_x` the
        expected number of uses the scores are

        .. math:: E_x - \theta_x \sum_y E_y \quad\text{or}\quad E_x / \theta_x - \sum_y E_y,

        the second as in [1]_, which gives rare letters much weight. A Fisher kernel with an exact or empirical
        information matrix does not feel the difference.

    See Also
    --------
    StochasticGrammar : Trees in place of chains.
    mercer.kernels.Fisher, mercer.kernels.MarginalizedCount : Kernels from this model.

    Notes
    -----
    Expected uses come from the forward-backward algorithm, natively, with threads over sequences: time
    O(S² m) for a sequence of length m, memory O(S m). Scores are those of `start`, `transition` and `emission`, row by
    row, one after the other.

    References
    ----------
    .. [1] T. Jaakkola, M. Diekhans, D. Haussler, A discriminative framework for detecting remote protein homologies,
       Journal of Computational Biology 7, 2000.
    .. [2] L. R. Rabiner, A tutorial on hidden Markov models, Proceedings of the IEEE 77, 1989.

    Examples
    --------
    >>> from mercer.models import HiddenMarkovModel
    >>> coins = HiddenMarkovModel([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [[0.5, 0.5], [0.9, 0.1]], "HT")
    >>> coins.log_likelihood(["HT", "HHHHHH"]).round(3)
    array([-1.726, -1.547])
    >>> coins.scores(["HHHHHH"]).shape
    (1, 10)
    """

    domain = "strings"
    _parts = ("start", "transition", "emission", "alphabet", "coordinates")

    start: np.ndarray
    transition: np.ndarray
    emission: np.ndarray
    alphabet: Any
    coordinates: Literal["logits", "probabilities"]

    def __init__(self, start, transition, emission, alphabet, coordinates="logits"):
        name = type(self).__name__
        start = check_probabilities("start", start, 1, name)
        transition = check_probabilities("transition", transition, 2, name)
        emission = check_probabilities("emission", emission, 2, name)
        alphabet = as_alphabet(alphabet, name)
        n_states, n_letters = len(start), len(alphabet)
        if transition.shape != (n_states, n_states) or emission.shape != (n_states, n_letters):
            raise ValueError(
                f"For {n_states} states and {n_letters} letters transition must have shape {(n_states, n_states)} and "
                f"emission {(n_states, n_letters)}, got {transition.shape} and {emission.shape}."
            )
        if coordinates not in ("logits", "probabilities"):
            raise ValueError(f"coordinates must be 'logits' or 'probabilities', got {coordinates!r}.")
        self._keep(start=start, transition=transition, emission=emission, alphabet=alphabet, coordinates=coordinates)

    def __repr__(self) -> str:
        return f"<HiddenMarkovModel of {len(self.start)} states over {len(self.alphabet)} letters>"

    # --- from data ----------------------------------------------------------------------------------------

    @classmethod
    def from_data(
        cls,
        X,
        n_states: int,
        *,
        alphabet: Any = None,
        sample_weight=None,
        pseudo_count: float = 0.1,
        max_iter: int = 100,
        tol: float = 1e-4,
        coordinates: Literal["logits", "probabilities"] = "logits",
        random_state=None,
    ) -> "HiddenMarkovModel":
        """The model that makes sequences likely, by the algorithm of Baum and Welch from a random start.

        Parameters
        ----------
        X : n sequences
        n_states : int
        alphabet : str or sequence of hashables, default=None
            None: the letters that occur in X.
        sample_weight : array of shape (n,), default=None
            How often each sequence counts.
        pseudo_count : float, default=0.1
            Added to the expected number of every event, so that nothing has probability zero. Larger means closer to
            uniform probabilities.
        max_iter : int, default=100
        tol : float, default=1e-4
            Ends where a step improves the log-likelihood per letter by less.
        coordinates : "logits" or "probabilities", default="logits"
        random_state : int, RandomState or None, default=None
            For the start, and with it for the local optimum that is found.

        Returns
        -------
        HiddenMarkovModel

        Examples
        --------
        >>> from mercer.models import HiddenMarkovModel
        >>> model = HiddenMarkovModel.from_data(["aaaabbbb", "aaabbb"], 2, random_state=0)
        >>> model.alphabet, model.emission.shape
        ('ab', (2, 2))
        """
        for name, rule, value in (
            ("n_states", Number(1, integer=True), n_states),
            ("pseudo_count", Number(0), pseudo_count),
            ("max_iter", Number(0, integer=True), max_iter),
        ):
            if problem := rule.problem(value):
                raise ValueError(f"{name} {problem}")
        alphabet = letters_of(X, cls.__name__) if alphabet is None else alphabet
        letters, starts = encode(X, as_alphabet(alphabet, cls.__name__), cls.__name__)
        weight = np.ones(len(starts) - 1) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        usable = weight.shape == (len(starts) - 1,) and bool(((weight >= 0) & np.isfinite(weight)).all())
        if not usable or not weight @ np.diff(starts) > 0:
            raise ValueError("sample_weight must be >= 0, one for each sequence, with some letters of positive weight.")
        rng = check_random_state(random_state)
        rows = [rng.dirichlet(np.full(size, 5.0), n) for n, size in ((1, n_states), (n_states, n_states))]
        frequency = np.bincount(letters, np.repeat(weight, np.diff(starts)), len(alphabet)) + pseudo_count
        noise = rng.dirichlet(np.full(len(alphabet), 5.0), n_states) * frequency
        model = cls(rows[0][0], rows[1], noise / noise.sum(axis=1, keepdims=True), alphabet, coordinates)
        last = -np.inf
        for _ in range(max_iter):
            logarithms, *counts = model._counts(letters, starts)
            now = float((weight * logarithms).sum() / (weight @ np.diff(starts)))
            if now - last < tol:
                break
            last = now
            totals = [np.tensordot(weight, count, axes=1) + pseudo_count for count in counts]
            shares = [shared(total, before) for total, before in zip(totals, model._arrays(), strict=True)]
            model = cls(shares[0], shares[1], shares[2], alphabet, coordinates)
        return model

    @classmethod
    def from_hmmlearn(
        cls, model: Any, alphabet: Any = None, coordinates: Literal["logits", "probabilities"] = "logits"
    ) -> "HiddenMarkovModel":
        """The model in a fitted ``hmmlearn.hmm.CategoricalHMM``.

        Parameters
        ----------
        model : CategoricalHMM
        alphabet : str or sequence of hashables, default=None
            The letters that its numbers 0, 1, ... stand for; None: the numbers themselves.
        coordinates : "logits" or "probabilities", default="logits"

        Returns
        -------
        HiddenMarkovModel
        """
        if not hasattr(model, "emissionprob_"):
            raise ValueError(f"from_hmmlearn takes a fitted CategoricalHMM, got {model!r}.")
        alphabet = tuple(range(model.emissionprob_.shape[1])) if alphabet is None else alphabet
        return cls(model.startprob_, model.transmat_, model.emissionprob_, alphabet, coordinates)

    # --- numbers ------------------------------------------------------------------------------------------

    def log_likelihood(self, X):
        """Logarithm of the probability of every sequence; minus infinity for one that is impossible.

        Parameters
        ----------
        X : n sequences

        Returns
        -------
        ndarray of shape (n,)
        """
        letters, starts = encode(X, self.alphabet, type(self).__name__)
        return _native.hmm_likelihoods(*self._arrays(), letters, starts, effective_n_threads())

    def scores(self, X):
        """Derivatives of the log-likelihoods by start, transition and emission, in the coordinates of the model.

        Parameters
        ----------
        X : n sequences

        Returns
        -------
        ndarray of shape (n, S + S² + S A)
        """
        logarithms, *counts = self._counts(*encode(X, self.alphabet, type(self).__name__))
        check_possible(logarithms, self)
        parts = []
        for used, probability in zip(counts, (self.start, self.transition, self.emission), strict=True):
            total = used.sum(axis=-1, keepdims=True)
            if self.coordinates == "logits":
                score = used - probability * total
            else:
                score = np.divide(used, probability, out=np.zeros_like(used), where=probability > 0) - total
            parts.append(score.reshape(len(score), probability.size))
        return np.concatenate(parts, axis=1)

    def expected_counts(self, X, order: int = 1) -> SparseFeatures:
        """How often letters are expected in states, given the sequences.

        Parameters
        ----------
        X : n sequences
        order : 1 or 2, default=1
            1: letter and state; 2: letters and states of two neighbours.

        Returns
        -------
        SparseFeatures
        """
        letters, starts = encode(X, self.alphabet, type(self).__name__)
        if order == 1:
            logarithms, _, _, emissions = self._counts(letters, starts)
            check_possible(logarithms, self)
            return dense_features(emissions.transpose(0, 2, 1).reshape(len(emissions), self.emission.size))
        found: Any = _native.hmm_pairs(*self._arrays(), letters, starts, effective_n_threads())
        check_possible(found[0], self)
        return SparseFeatures(*found[1:])

    def _arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.start, self.transition, self.emission

    def _counts(self, letters: np.ndarray, starts: np.ndarray) -> Any:
        """Log-likelihoods, and expected uses of first states, transitions and emissions."""
        return _native.hmm_counts(*self._arrays(), letters, starts, effective_n_threads())


def shared(totals: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Rows divided by their sums; one without any uses says nothing, and stays as it was."""
    sums = totals.sum(axis=-1, keepdims=True)
    return np.divide(totals, sums, out=before.copy(), where=sums > 0)


def check_possible(logarithms: np.ndarray, model: Model) -> None:
    if len(logarithms) and logarithms.min() == -np.inf:
        raise ValueError(f"Sample {int(np.argmin(logarithms))} of X has probability 0 in {model!r}.")


def dense_features(table: np.ndarray) -> SparseFeatures:
    """The entries of a table that are not zero, with the numbers of their columns as keys."""
    rows, columns = np.nonzero(table)
    starts = np.searchsorted(rows, np.arange(len(table) + 1))
    return SparseFeatures(columns.astype(np.uint64), table[rows, columns], starts.astype(np.int64))
