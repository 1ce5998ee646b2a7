"""The kernel on common substrings of any length."""

from typing import Any, ClassVar

import numpy as np

from mercer import _native
from mercer.data.features import SparseFeatures
from mercer.data.sequences import Sequences
from mercer.kernels.strings.base import SequenceKernel, check_occurrences, within_range
from mercer.parameters import Number
from mercer.threads import effective_n_threads

__all__ = ["CommonSubstrings"]


class CommonSubstrings(SequenceKernel):
    r"""All common substrings of two sequences, of any length.

    .. math:: k(s, t) = \sum_{u} \lambda^{|u|}\, \phi_u(s)\, \phi_u(t)

    over the non-empty contiguous pieces u; :math:`\phi_u(s)` is the number of times that u occurs in s.

    Parameters
    ----------
    decay : float, default=1.0
        The weight :math:`\lambda > 0` of every symbol of a substring. Below 1, long ones count less; above 1, more.
    shortest : int, default=1
        Length of the shortest substrings that count.
    longest : int or None, default=None
        Length of the longest substrings that count; None: any.

    See Also
    --------
    Spectrum : Those of one length, or of a few.

    Notes
    -----
    Time and memory O(\|s\| + \|t\|) for a pair, by a suffix automaton of the one that the other runs
    through. Values are exact where decay is 1. Above 1 they grow exponentially with the length.
    Explicit features are for strings of up to some thousand symbols: their number is quadratic, and more than
    :math:`2^{24}` are refused.

    References
    ----------
    .. [1] S. V. N. Vishwanathan, A. J. Smola, Fast kernels for string and tree matching, 2003.

    Examples
    --------
    >>> from mercer.kernels import CommonSubstrings
    >>> CommonSubstrings()(["STAY", "STRAY"])  # S, T, A, Y, ST, AY in common
    array([[10.,  6.],
           [ 6., 15.]])
    """

    slope_of = "decay"
    _parameters: ClassVar = {
        "decay": Number(0, above=True),
        "shortest": Number(1, integer=True),
        "longest": Number(1, integer=True, none=True),
    }

    def __init__(self, decay=1.0, shortest=1, longest=None):
        self.decay = decay
        self.shortest = shortest
        self.longest = longest

    def _check_parameters(self):
        super()._check_parameters()
        if self.longest is not None and self.longest < self.shortest:
            raise ValueError(f"longest must be an int >= shortest, {self.shortest}, or None, got {self.longest}.")

    def _native_values(self, X, Y, answer, n_threads):
        """The kernel is linear in the weights: with their derivatives in place of them it is its own derivative."""
        of_Y = None if Y is None else Y.native()
        with np.errstate(over="ignore"):
            lengths = np.arange(min(_longest(X), _longest(X if Y is None else Y)) + 1, dtype=np.float64)
            powers = lengths * self.decay ** (lengths - 1) if answer == "slope" else self.decay**lengths
            weights = np.cumsum(self._counted(powers))
        return _native.common_substrings(X.native(), of_Y, weights, n_threads)

    def _counted(self, weights: np.ndarray) -> np.ndarray:
        """Weights of substrings by their length, from 0 on: zero for those that do not count."""
        weights[: self.shortest] = 0.0
        if self.longest is not None:
            weights[self.longest + 1 :] = 0.0
        return weights

    def _sparse_features(self, X):
        longest = _longest(X) if self.longest is None else min(self.longest, _longest(X))
        check_occurrences(self, X, lambda n: sum(n - p + 1 for p in range(self.shortest, min(n, longest) + 1)))
        with np.errstate(over="ignore"):
            roots = within_range(self, self._counted(np.sqrt(self.decay) ** np.arange(longest + 1)))
        found: Any = _native.weighted_pieces(X.native(), roots[1:], False, effective_n_threads())
        return SparseFeatures(*found)


def _longest(samples: Sequences) -> int:
    return int(samples.lengths.max(initial=0))
