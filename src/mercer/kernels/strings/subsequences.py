"""Kernels on subsequences: symbols in the same order, not necessarily next to each other."""

from math import comb
from typing import Any, ClassVar

import numpy as np

from mercer import _native
from mercer.data.features import SparseFeatures
from mercer.data.sequences import Sequences
from mercer.kernels.strings.base import SequenceKernel, check_occurrences
from mercer.parameters import Choice, Number
from mercer.threads import effective_n_threads

__all__ = ["AllSubsequences", "FixedSubsequences", "GapWeighted"]


class AllSubsequences(SequenceKernel):
    r"""All-subsequences kernel: the subsequences of any length that two sequences have in common.

    .. math:: k(s, t) = \sum_{u \in \Sigma^*} \phi_u(s)\, \phi_u(t)

    :math:`\phi_u(s)` is the number of ways to find u in s, in order but not necessarily contiguous. The empty sequence
    is found once in every sequence, so that k(s, "") = 1.

    See Also
    --------
    FixedSubsequences : Those of one length.
    GapWeighted : Gaps count less.

    Notes
    -----
    Time O(\|s\| \|t\|), memory linear, by k(s a, t) = k(s, t) + the sum of k(s, u) over t = u a v. Values
    grow like :math:`2^{|s|}` and more; ``AllSubsequences().normalized()`` is computed from logarithms and works for
    strings of any length. Explicit features are for short strings, of up to 24 symbols: there are :math:`2^{|s|}`.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 3.4, tables 3.3 and 3.4.
    .. [2] J. Shawe-Taylor, N. Cristianini, Kernel Methods for Pattern Analysis, 2004, section 11.4.

    Examples
    --------
    >>> from mercer.kernels import AllSubsequences
    >>> AllSubsequences()(["SAY", "BAY", ""])
    array([[8., 4., 1.],
           [4., 8., 1.],
           [1., 1., 1.]])
    """

    in_logarithms = True

    def _native_values(self, X, Y, answer, n_threads):
        return _native.all_subsequences(X.native(), None if Y is None else Y.native(), answer, n_threads, "")

    def _sparse_features(self, X):
        return _listed(self, X, 0, int(X.lengths.max(initial=0)))


class FixedSubsequences(SequenceKernel):
    r"""Fixed-length subsequences kernel: the subsequences of length p that two sequences have in common.

    .. math:: k(s, t) = \sum_{u \in \Sigma^p} \phi_u(s)\, \phi_u(t)

    :math:`\phi_u(s)` is the number of ways to find u in s, in order but not necessarily contiguous.

    Parameters
    ----------
    p : int, default=3
        Length of the subsequences, p >= 1.

    See Also
    --------
    GapWeighted : Gaps count less; the same kernel where its decay is 1.
    AllSubsequences : Those of all lengths.

    Notes
    -----
    Time O(p \|s\| \|t\|), memory O(p \|t\|). Values are exact up to :math:`2^{53}`. Explicit features are for short
    strings: there are :math:`\binom{|s|}{p}`, and more than :math:`2^{24}` are refused.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 3.4.
    .. [2] J. Shawe-Taylor, N. Cristianini, Kernel Methods for Pattern Analysis, 2004, section 11.5.

    Examples
    --------
    >>> from mercer.kernels import FixedSubsequences
    >>> FixedSubsequences(2)(["STAY", "STRAY"])  # ST, SA, SY, TA, TY, AY in common
    array([[ 6.,  6.],
           [ 6., 10.]])
    """

    in_logarithms = True
    _parameters: ClassVar = {"p": Number(1, integer=True)}

    def __init__(self, p=3):
        self.p = p

    def _native_values(self, X, Y, answer, n_threads):
        other = None if Y is None else Y.native()
        return _native.gap_weighted(X.native(), other, self.p, 1.0, False, answer, n_threads, "")

    def _sparse_features(self, X):
        return _listed(self, X, self.p, self.p)


class GapWeighted(SequenceKernel):
    r"""Gap-weighted subsequences kernel: common subsequences of length p, spread ones count less.

    .. math:: k(s, t) = \sum_{u \in \Sigma^p} \phi_u(s)\, \phi_u(t), \qquad
        \phi_u(s) = \sum_{\text{places of } u \text{ in } s} \lambda^{\text{length from the first to the last}}

    Parameters
    ----------
    p : int, default=3
        Length of the subsequences, p >= 1.
    decay : float, default=0.5
        The factor :math:`\lambda` of every symbol between the first and the last, 0 < decay <= 1. The normalised kernel
        tends to that of the spectrum kernel for small values; 1 is the fixed-length subsequences kernel.
    blended : bool, default=False
        The sum of the kernels of lengths 1 to p instead.

    See Also
    --------
    Spectrum : No gaps; much faster.
    FixedSubsequences : Gaps at no cost.

    Notes
    -----
    Time O(p \|s\| \|t\|), memory O(p \|t\|), by a dynamic programme that runs over several pairs side by side. The
    factor :math:`\lambda^{2p}` is multiplied last, in ``GapWeighted(...).normalized()`` as a logarithm, so that a small
    decay does no harm there. There is a derivative by the decay. Explicit features are for short strings, as those of
    `FixedSubsequences`.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, table 3.5, eqs 3.25-3.27.
    .. [2] H. Lodhi, C. Saunders, J. Shawe-Taylor, N. Cristianini, C. Watkins, Text classification using string kernels,
       2002.
    .. [3] J. Rousu, J. Shawe-Taylor, Efficient computation of gapped substring kernels on large alphabets, 2005.

    Examples
    --------
    >>> from mercer.kernels import GapWeighted
    >>> GapWeighted(2, decay=0.5)(["SAY", "BAY"])  # 2 decay^4 + decay^6, and decay^4
    array([[0.140625, 0.0625  ],
           [0.0625  , 0.140625]])
    """

    in_logarithms = True
    slope_of = "decay"
    _parameters: ClassVar = {
        "p": Number(1, integer=True),
        "decay": Number(0, 1, above=True),
        "blended": Choice(True, False),
    }

    def __init__(self, p=3, decay=0.5, blended=False):
        self.p = p
        self.decay = decay
        self.blended = blended

    def _native_values(self, X, Y, answer, n_threads):
        """From the native values without the factor decay^(2 p), or decay^2 if blended."""
        exponent = 2 if self.blended else 2 * self.p
        decay, of_X, of_Y = float(self.decay), X.native(), None if Y is None else Y.native()

        def values(kind: str) -> Any:
            return _native.gap_weighted(of_X, of_Y, self.p, decay, self.blended, kind, n_threads, "")

        if answer == "log":
            return values("log") + exponent * np.log(decay)
        if answer == "log_slope":
            return values("log_slope") + exponent / decay
        if answer == "slope":
            return exponent * decay ** (exponent - 1) * values("value") + decay**exponent * values("slope")
        return values("value") * decay**exponent

    def _sparse_features(self, X):
        return _listed(self, X, 1 if self.blended else self.p, self.p, float(self.decay))


def _listed(kernel: SequenceKernel, X: Sequences, shortest: int, longest: int, decay: float = 1.0) -> SparseFeatures:
    """The subsequences of some lengths, one by one."""
    check_occurrences(kernel, X, lambda n: sum(comb(n, p) for p in range(shortest, min(n, longest) + 1)))
    found: Any = _native.subsequence_features(X.native(), shortest, longest, decay, effective_n_threads())
    return SparseFeatures(*found)
