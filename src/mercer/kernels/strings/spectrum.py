"""Kernels that count contiguous pieces: the spectrum, with places that may be anything, and with mismatches."""

from itertools import combinations
from math import comb
from typing import Any, ClassVar

import numpy as np

from mercer import _native
from mercer.data.features import SparseFeatures
from mercer.data.sequences import Sequences, check_symbols
from mercer.data.symbols import symbol_keys
from mercer.kernels.features import FeatureKernel
from mercer.kernels.strings.base import SequenceKernel, check_occurrences
from mercer.parameters import Choice, Number
from mercer.threads import effective_n_threads

__all__ = ["GappedKmer", "Mismatch", "Spectrum"]

# Places of a piece that masks can tell apart.
LONGEST_WINDOW = 64
# Masks that every piece is seen through, at most: each of them is a feature of every piece.
MOST_MASKS = 1 << 22


class Spectrum(FeatureKernel):
    r"""Spectrum kernel: contiguous pieces of length p that two sequences have in common.

    .. math:: k(s, t) = \sum_{u \in \Sigma^p} \phi_u(s)\, \phi_u(t), \qquad
        \phi_u(s) = |\{(v_1, v_2) : s = v_1 u v_2\}|

    Parameters
    ----------
    p : int, default=3
        Length of the pieces, p >= 1. Longer ones are rarer: sequences become less similar.
    blended : bool, default=False
        Pieces of all lengths from 1 to p instead, each counted alike.

    See Also
    --------
    Mismatch : Pieces that differ in a few places count too.
    GappedKmer : Pieces of which only some places count.
    CommonSubstrings : Pieces of any length.
    GapWeighted : Pieces with gaps.
    mercer.features.ExplicitFeatures : The counts as vectors, for linear machines on very many strings.

    Notes
    -----
    Samples are str, bytes, or lists of hashable symbols. A matrix takes time linear in the total length of
    the samples (times p, if blended) plus the number of pieces that pairs have in common. Values are exact. Pieces are
    known by 64-bit keys: exact for up to eight ASCII letters, hashed beyond.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, eqs 3.23-3.24, tables 3.1 and 3.2.
    .. [2] C. Leslie, E. Eskin, W. S. Noble, The spectrum kernel: a string kernel for SVM protein classification, 2002.

    Examples
    --------
    >>> from mercer.kernels import Spectrum
    >>> Spectrum(2)(["SAY", "BAY", "SAD", "BAD"])
    array([[2., 1., 1., 0.],
           [1., 2., 0., 1.],
           [1., 0., 2., 1.],
           [0., 1., 1., 2.]])
    """

    domain = "strings"
    _parameters: ClassVar = {"p": Number(1, integer=True), "blended": Choice(True, False)}

    def __init__(self, p=3, blended=False):
        self.p = p
        self.blended = blended

    def _features(self, X, name):
        packed = Sequences.pack(X, type(self).__name__, name)
        found: Any = _native.spectrum_features(
            packed.native(), 1 if self.blended else self.p, self.p, effective_n_threads()
        )
        return SparseFeatures(*found)


class GappedKmer(FeatureKernel):
    r"""Gapped k-mer kernel: pieces of length g of which k places are seen, for every choice of the k places.

    .. math:: k(s, t) = \sum_{P \subseteq \{1..g\},\, |P| = k}\ \sum_{u \in \Sigma^k} \phi_{P,u}(s)\, \phi_{P,u}(t)

    :math:`\phi_{P,u}(s)` is the number of pieces of length g that have the symbols u at the places P. Two pieces that
    agree in a places count :math:`\binom{a}{k}`.

    Parameters
    ----------
    g : int, default=6
        Length of the pieces, from k to 64.
    k : int, default=4
        Number of places that are seen, k >= 1. With k = g this is the spectrum kernel; fewer let pieces differ more.

    See Also
    --------
    Mismatch : Counts by the number of places that differ, with an alphabet.
    Spectrum : All places are seen.

    Notes
    -----
    A matrix takes time O(N binom(g, k) k) for samples of total length N, plus the number of features that pairs have in
    common; memory 16 N binom(g, k) bytes. Values are exact.

    References
    ----------
    .. [1] M. Ghandi, D. Lee, M. Mohammad-Noori, M. Beer, Enhanced regulatory sequence prediction using gapped k-mer
       features, 2014.
    .. [2] D. Blakely et al., FastSK: fast sequence analysis with gapped string kernels, 2020.

    Examples
    --------
    >>> from mercer.kernels import GappedKmer
    >>> GappedKmer(g=3, k=2)(["SAY", "SAD"])  # SA- in common
    array([[3., 1.],
           [1., 3.]])
    """

    domain = "strings"
    _parameters: ClassVar = {"g": Number(1, LONGEST_WINDOW, integer=True), "k": Number(1, integer=True)}

    def __init__(self, g=6, k=4):
        self.g = g
        self.k = k

    def _check_parameters(self):
        super()._check_parameters()
        if self.k > self.g:
            raise ValueError(f"k must be an int <= g, the length of the pieces, {self.g}, got {self.k}.")
        if (masks := comb(self.g, self.k)) > MOST_MASKS:
            raise ValueError(
                f"k must be an int with at most {MOST_MASKS} ways to choose k of g = {self.g} places, got {self.k}, "
                f"which has {masks}."
            )

    def _features(self, X, name):
        return _masked(Sequences.pack(X, type(self).__name__, name), self.g, self.k)


class Mismatch(SequenceKernel):
    r"""Mismatch kernel: pieces of length k, counted with up to m places that differ.

    .. math:: k(s, t) = \sum_{u \in \Sigma^k} \phi_u(s)\, \phi_u(t)

    :math:`\phi_u(s)` is the number of pieces of s that differ from u in at most m places.

    Parameters
    ----------
    k : int, default=5
        Length of the pieces, from 1 to 64.
    m : int, default=1
        Places that may differ, from 0 to k - 1. With m = 0 this is the spectrum kernel.
    alphabet : str or sequence of symbols, default="ACGT"
        All symbols that may occur. Its size enters the values, for u runs over all sequences of k symbols.

    See Also
    --------
    GappedKmer : Needs no alphabet.
    Spectrum : Pieces that are equal.

    Notes
    -----
    Values come from the number of pairs of pieces that differ in d places, for d up to 2 m; these come from matches of
    pieces that are seen in k - j places, j up to 2 m, so that time and memory do not grow with the alphabet: O(N) times
    the number of sets of up to 2 m of k places for samples of total length N, plus common features. Explicit features
    take O(N (k a)^m) for a symbols; more than :math:`2^{24}` of one sample are refused.

    References
    ----------
    .. [1] C. Leslie, E. Eskin, A. Cohen, J. Weston, W. S. Noble, Mismatch string kernels for discriminative protein
       classification, 2004.
    .. [2] D. Blakely et al., FastSK: fast sequence analysis with gapped string kernels, 2020.

    Examples
    --------
    >>> from mercer.kernels import Mismatch
    >>> Mismatch(k=3, m=1)(["ACG", "ACT", "TTT"])  # 10 sequences are near ACG, 4 of them near ACT too
    array([[10.,  4.,  0.],
           [ 4., 10.,  2.],
           [ 0.,  2., 10.]])
    """

    _parameters: ClassVar = {"k": Number(1, LONGEST_WINDOW, integer=True), "m": Number(0, integer=True)}

    def __init__(self, k=5, m=1, alphabet="ACGT"):
        self.k = k
        self.m = m
        self.alphabet = alphabet

    def _check_parameters(self):
        super()._check_parameters()
        if self.m >= self.k:
            raise ValueError(f"m must be an int < k, the length of the pieces, {self.k}, got {self.m}.")
        if (masks := max(comb(self.k, j) for j in range(min(2 * self.m, self.k) + 1))) > MOST_MASKS:
            raise ValueError(
                f"m must be an int with at most {MOST_MASKS} ways to choose up to 2 m of k = {self.k} places, got "
                f"{self.m}, which has {masks}."
            )
        try:
            usable = len(set(self.alphabet)) == len(self.alphabet) >= 1
        except TypeError:
            usable = False
        if not usable:
            raise ValueError(f"alphabet must be a str or a sequence of different symbols, got {self.alphabet!r}.")

    def prepare(self, X, Y=None):
        of_X, of_Y = super().prepare(X, Y)
        alphabet, rule = symbol_keys(self.alphabet), f"Mismatch works on strings over its alphabet {self.alphabet!r}"
        check_symbols(of_X, alphabet, rule, X, "X")
        if of_Y is not of_X:
            check_symbols(of_Y, alphabet, rule, Y, "Y")
        return of_X, of_Y

    def _sparse_features(self, X):
        alphabet = symbol_keys(self.alphabet)
        neighbours = sum(comb(self.k, d) * (len(alphabet) - 1) ** d for d in range(self.m + 1))
        check_occurrences(self, X, lambda n: max(0, n - self.k + 1) * neighbours)
        found: Any = _native.neighbour_features(X.native(), self.k, self.m, alphabet, effective_n_threads())
        return SparseFeatures(*found)

    def _matrix(self, X, Y):
        K = np.zeros((len(X), len(Y)))
        for seen, weight in self._weights():
            of_X = _masked(X, self.k, seen).native()
            of_Y = of_X if Y is X else _masked(Y, self.k, seen).native()
            K += weight * _native.features_matrix("dot", of_X, of_Y, effective_n_threads())
        return K

    def _diag(self, X):
        diagonal = np.zeros(len(X))
        for seen, weight in self._weights():
            diagonal += weight * _native.features_diag("dot", _masked(X, self.k, seen).native())
        return diagonal

    def _weights(self) -> list[tuple[int, float]]:
        """Numbers of places that are seen, and the factors of the gapped k-mer kernels of these numbers.

        Two pieces that differ in d places agree in all of the k - j places seen for comb(k - d, j - d) choices of them.
        So the factors w solve sum_j w_j comb(k - d, j - d) = common(d), for d from 0 to 2 m.
        """
        k, most = self.k, min(2 * self.m, self.k)
        weights: dict[int, int] = {}
        for d in range(most, -1, -1):
            known = sum(weights[j] * comb(k - d, j - d) for j in range(d + 1, most + 1))
            weights[d] = self._common_neighbours(d) - known
        return [(k - j, float(w)) for j, w in sorted(weights.items()) if w != 0]

    def _common_neighbours(self, d: int) -> int:
        """Sequences that differ in at most m places from both of two pieces that differ in d places."""
        size = len(self.alphabet)
        total = 0
        for a in range(d + 1):  # places, of the d, at which the sequence is as the first piece
            for b in range(d - a + 1):  # and as the second
                for c in range(self.k - d + 1):  # places, of the others, at which it differs from both
                    if d - a + c <= self.m and d - b + c <= self.m:
                        ways = comb(d, a) * comb(d - a, b) * (size - 2) ** (d - a - b)
                        total += ways * comb(self.k - d, c) * (size - 1) ** c
        return total


def _masked(packed: Sequences, window: int, seen: int) -> SparseFeatures:
    """Pieces of the length of the window, through all masks with so many places that are seen."""
    masks = np.array([sum(1 << place for place in places) for places in combinations(range(window), seen)], np.uint64)
    found: Any = _native.masked_features(packed.native(), window, masks, effective_n_threads())
    return SparseFeatures(*found)
