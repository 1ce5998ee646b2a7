"""The kernel on equal pieces at equal places."""

from typing import Any, ClassVar

import numpy as np

from mercer import _native
from mercer.data.features import SparseFeatures
from mercer.data.sequences import Sequences
from mercer.errors import DomainError
from mercer.kernels.strings.base import SequenceKernel
from mercer.parameters import Number
from mercer.threads import effective_n_threads

__all__ = ["WeightedDegree"]


class WeightedDegree(SequenceKernel):
    r"""Weighted degree kernel: equal pieces of up to d symbols at equal places.

    .. math:: k(s, t) = \sum_{p=1}^{d} \beta_p \sum_i [s_{i..i+p} = t_{i..i+p}], \qquad
        \beta_p = \frac{2 (d - p + 1)}{d (d + 1)}

    With a shift S, pieces at places up to S apart count too: a piece of s at i and one of t at i + u, or the other way
    round, with the factor :math:`1 / (2 (|u| + 1))`.

    Parameters
    ----------
    d : int, default=5
        Length of the longest pieces, d >= 1.
    shift : int, default=0
        How far apart places may be, shift >= 0.

    See Also
    --------
    Spectrum : Places do not matter.
    Hamming : For d = 1, on tables of categories.

    Notes
    -----
    For sequences of one length L, such as windows around a site. Time O(L (2 shift + 1)) for a pair,
    whatever d is: a run of equal symbols counts by its length. There are explicit features without shift. With it the
    kernel is positive semi-definite because :math:`1 + \sum_{u \ge 1} \cos(u x) / (u + 1)` is positive.

    References
    ----------
    .. [1] G. Rätsch, S. Sonnenburg, B. Schölkopf, RASE: recognition of alternatively spliced exons in C. elegans, 2005.
    .. [2] S. Sonnenburg, G. Rätsch, K. Rieck, Large scale learning with string kernels, 2007.

    Examples
    --------
    >>> from mercer.kernels import WeightedDegree
    >>> WeightedDegree(d=2)(["SAY", "BAY", "SAD"]).round(3)
    array([[2.667, 1.667, 1.667],
           [1.667, 2.667, 0.667],
           [1.667, 0.667, 2.667]])
    """

    _parameters: ClassVar = {"d": Number(1, integer=True), "shift": Number(0, integer=True)}

    def __init__(self, d=5, shift=0):
        self.d = d
        self.shift = shift

    def prepare(self, X, Y=None):
        of_X, of_Y = super().prepare(X, Y)
        _check_lengths(of_X, of_Y)
        return of_X, of_Y

    def _sparse_features(self, X):
        if self.shift > 0:
            return None
        lengths = np.arange(1, self.d + 1)
        values = np.sqrt(2.0 * (self.d - lengths + 1) / (self.d * (self.d + 1)))
        found: Any = _native.weighted_pieces(X.native(), values, True, effective_n_threads())
        return SparseFeatures(*found)

    def _native_values(self, X, Y, answer, n_threads):
        of_Y = None if Y is None else Y.native()
        counts = _native.weighted_degree(X.native(), of_Y, self.d, self.shift, n_threads, "")
        return counts * (2.0 / (self.d * (self.d + 1)))


def _check_lengths(X: Sequences, Y: Sequences) -> None:
    """All samples of X and of Y have one length."""
    for samples, name in ((X, "X"), (Y, "Y")):
        first, first_name = (X, "X") if len(X) else (samples, name)
        different = samples.lengths != first.lengths[:1]
        if len(samples) and different.any():
            i = int(np.argmax(different))
            raise DomainError(
                f"WeightedDegree works on sequences of one length: sample 0 of {first_name} has {first.lengths[0]} "
                f"symbols, sample {i} of {name} has {samples.lengths[i]}."
            )
