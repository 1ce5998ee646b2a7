"""Kernels on local alignments: the best one, and the sum over all of them."""

from typing import Any, ClassVar

import numpy as np

from mercer import _native
from mercer.kernels.strings.base import SequenceKernel
from mercer.kernels.strings.substitution import SubstitutionTable
from mercer.parameters import Number

__all__ = ["AlignmentKernel", "LocalAlignment"]

# Scores times beta stay within exp(-LARGEST_EXPONENT) and exp(LARGEST_EXPONENT), so that one step of the programme
# changes the scale of a number by one at most.
LARGEST_EXPONENT = 170.0


class _Alignment(SequenceKernel):
    """Scores and gaps, and the samples in the form that goes with them."""

    substitution: Any
    match: float
    mismatch: float
    gap_open: float
    gap_extend: float

    _parameters: ClassVar = {
        "match": Number(),
        "mismatch": Number(),
        "gap_open": Number(0),
        "gap_extend": Number(0),
    }

    def _check_parameters(self):
        super()._check_parameters()
        self._table()

    def _table(self) -> SubstitutionTable | None:
        return None if self.substitution is None else SubstitutionTable.of(self.substitution)

    def prepare(self, X, Y=None):
        of_X, of_Y = super().prepare(X, Y)
        table, name = self._table(), type(self).__name__
        if table is None:
            return of_X, of_Y
        numbered = table.numbered(of_X, name, X, "X")
        return numbered, numbered if of_Y is of_X else table.numbered(of_Y, name, Y, "Y")

    def _scores(self) -> Any:
        """A table, or the pair of scores of equal and of different symbols."""
        table = self._table()
        return (float(self.match), float(self.mismatch)) if table is None else table.scores


class LocalAlignment(_Alignment):
    r"""Score of the best local alignment (Smith and Waterman); no positive semi-definite kernel.

    .. math:: k(s, t) = \max_{\text{alignments}} \sum_{\text{pairs}} S(a, b) - \sum_{\text{gaps}} g(\text{length}),
        \qquad g(n) = d + e\,(n - 1)

    A local alignment pairs symbols of a piece of s with symbols of a piece of t, in order; symbols in between that have
    no partner are gaps. The empty alignment has the score 0.

    Parameters
    ----------
    substitution : None, "BLOSUM62", "PAM50" or dict, default=None
        The scores S of pairs of symbols: `match` and `mismatch`, a table for proteins (PAM50 for close ones), or a
        dict from pairs of symbols to numbers (each pair once, or both ways with the same number).
    match : float, default=1.0
        Score of two equal symbols, where there is no table.
    mismatch : float, default=-1.0
        Score of two different symbols, where there is no table.
    gap_open : float, default=2.0
        Cost d >= 0 of the first symbol of a gap. With BLOSUM62, 11 is usual.
    gap_extend : float, default=1.0
        Cost e >= 0 of every other symbol of a gap.

    See Also
    --------
    AlignmentKernel : The sum over all alignments, which is positive semi-definite.
    mercer.kernels.EmpiricalMap : Makes a kernel of a similarity that is none.

    Notes
    -----
    Time O(\|s\| \|t\|), memory linear, several pairs side by side.

    References
    ----------
    .. [1] T. F. Smith, M. S. Waterman, Identification of common molecular subsequences, 1981.
    .. [2] O. Gotoh, An improved algorithm for matching biological sequences, 1982.

    Examples
    --------
    >>> from mercer.kernels import LocalAlignment
    >>> LocalAlignment(match=2.0)(["GATTACA", "GATACA", "CCC"])  # GATTACA and GAT-ACA: 12 - 2
    array([[14., 10.,  2.],
           [10., 12.,  2.],
           [ 2.,  2.,  6.]])
    """

    definite = False

    def __init__(self, substitution=None, match=1.0, mismatch=-1.0, gap_open=2.0, gap_extend=1.0):
        self.substitution = substitution
        self.match = match
        self.mismatch = mismatch
        self.gap_open = gap_open
        self.gap_extend = gap_extend

    def _native_values(self, X, Y, answer, n_threads):
        gaps = float(self.gap_open), float(self.gap_extend)
        return _native.local_alignment(
            X.native(), None if Y is None else Y.native(), self._scores(), *gaps, n_threads, ""
        )


class AlignmentKernel(_Alignment):
    r"""Local alignment kernel: the sum over all local alignments of two sequences.

    .. math:: k(s, t) = \sum_{\text{local alignments}} \exp(\beta \cdot \text{score})

    with the scores of `LocalAlignment`: its logarithm over beta tends to the best score for large beta. Every alignment
    counts once.

    Parameters
    ----------
    beta : float, default=0.5
        How much the best alignments count more, beta > 0.
    substitution : None, "BLOSUM62", "PAM50" or dict, default=None
        As in `LocalAlignment`.
    match : float, default=1.0
        Score of two equal symbols, where there is no table.
    mismatch : float, default=-1.0
        Score of two different symbols, where there is no table.
    gap_open : float, default=2.0
        Cost of the first symbol of a gap. With BLOSUM62, 11 is usual.
    gap_extend : float, default=1.0
        Cost of every other symbol of a gap.

    See Also
    --------
    LocalAlignment : The best score.
    GlobalAlignment : For series of numbers.

    Notes
    -----
    Time O(\|s\| \|t\|), memory linear, several pairs side by side. Values grow exponentially with the length; numbers
    inside carry their own powers of two, and ``AlignmentKernel(...).normalized()`` is computed from logarithms. It is
    strongly dominated by its diagonal; a smaller beta helps, or the logarithm as a similarity with
    `mercer.kernels.EmpiricalMap`. It is positive semi-definite where the matrix :math:`\exp(\beta S)` is, which
    `definite` finds out. Beta times any score or cost may be 170 at most.

    References
    ----------
    .. [1] H. Saigo, J.-P. Vert, N. Ueda, T. Akutsu, Protein homology detection using string alignment kernels, 2004.
    .. [2] J.-P. Vert, H. Saigo, T. Akutsu, Local alignment kernels for biological sequences, 2004.

    Examples
    --------
    >>> from mercer.kernels import AlignmentKernel
    >>> AlignmentKernel(beta=0.5)(["GAT", "GAC"]).round(2)
    array([[22.08, 15.79],
           [15.79, 22.08]])
    """

    in_logarithms = True
    slope_of = "beta"
    _parameters: ClassVar = {"beta": Number(0, above=True), **_Alignment._parameters}

    def __init__(self, beta=0.5, substitution=None, match=1.0, mismatch=-1.0, gap_open=2.0, gap_extend=1.0):
        self.beta = beta
        self.substitution = substitution
        self.match = match
        self.mismatch = mismatch
        self.gap_open = gap_open
        self.gap_extend = gap_extend

    @property
    def definite(self) -> bool:  # type: ignore[override]
        """Whether exp(beta S) is positive semi-definite."""
        if self.substitution is None:
            return self.match >= self.mismatch
        eigenvalues = np.linalg.eigvalsh(np.exp(self.beta * self._scores()))
        return bool(eigenvalues[0] >= -1e-12 * eigenvalues[-1])

    def _check_parameters(self):
        super()._check_parameters()
        largest = max(np.abs(self._scores()).max(), self.gap_open, self.gap_extend)
        if self.beta * largest > LARGEST_EXPONENT:
            raise ValueError(
                f"beta must be a float > 0 and <= {LARGEST_EXPONENT:g} / {largest:g}, the largest score or cost, got "
                f"{self.beta!r}."
            )

    def _native_values(self, X, Y, answer, n_threads):
        scores, gaps = np.asarray(self._scores()), np.array([self.gap_open, self.gap_extend], dtype=np.float64)
        factors, gap_factors = np.exp(self.beta * scores), np.exp(-self.beta * gaps)
        pairs = (factors, scores * factors) if scores.ndim == 2 else (tuple(factors), tuple(scores * factors))
        gap_pairs = tuple(gap_factors), tuple(-gaps * gap_factors)
        of_Y = None if Y is None else Y.native()
        return _native.local_alignments(X.native(), of_Y, *pairs, *gap_pairs, answer, n_threads, "")
