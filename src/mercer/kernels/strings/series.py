"""The kernel on global alignments of numeric series."""

from typing import Any, ClassVar

import numpy as np

from mercer import _native
from mercer.data.sequences import Series, starts_of
from mercer.errors import DomainError
from mercer.kernels.strings.base import SequenceKernel
from mercer.parameters import Number

__all__ = ["GlobalAlignment"]


class GlobalAlignment(SequenceKernel):
    r"""Global alignment kernel of time series: the sum over all ways to align them.

    .. math:: k(x, y) = \sum_{\pi} \prod_{(i, j) \in \pi} \kappa(x_i, y_j), \qquad
        \kappa = \frac{\kappa_\sigma}{2 - \kappa_\sigma}, \quad
        \kappa_\sigma(x_i, y_j) = \omega(i, j) \exp\Big(-\frac{\|x_i - y_j\|^2}{2 \sigma^2}\Big)

    An alignment :math:`\pi` is a path from the first points of both to the last points, one step in x, in y or in both
    at a time, as in dynamic time warping, of which this is the soft and positive semi-definite form.

    Parameters
    ----------
    sigma : float, default=1.0
        Width :math:`\sigma > 0` of the kernel on points. About the median distance of points times the square root of
        the median length is a usual start.
    triangle : int, default=0
        If positive, :math:`\omega(i, j) = \max(0, 1 - |i - j| / \text{triangle})`: only alignments near the diagonal
        count, and series whose lengths differ by as much have the value 0. With 0, :math:`\omega = 1`.

    See Also
    --------
    AlignmentKernel : For sequences of symbols.

    Notes
    -----
    Samples are arrays of shape (length,) or (length, n_features), of different lengths. Time O(\|x\| \|y\|
    n_features), memory linear, several pairs side by side. Values decay or grow exponentially with the length: numbers
    inside carry their own powers of two, and ``GlobalAlignment(...).normalized()`` is computed from logarithms. There
    is a derivative by sigma.

    References
    ----------
    .. [1] M. Cuturi, J.-P. Vert, O. Birkenes, T. Matsui, A kernel for time series based on global alignments, 2007.
    .. [2] M. Cuturi, Fast global alignment kernels, 2011.

    Examples
    --------
    >>> from mercer.kernels import GlobalAlignment
    >>> series = [[0.0, 1.0, 2.0], [0.0, 0.0, 1.0, 2.0], [5.0, 4.0]]
    >>> GlobalAlignment(sigma=1.0)(series).round(3)
    array([[ 3.905,  5.38 ,  0.   ],
           [ 5.38 , 14.666,  0.   ],
           [ 0.   ,  0.   ,  1.871]])
    """

    domain = "series"
    packed = Series
    in_logarithms = True
    slope_of = "sigma"
    _parameters: ClassVar = {"sigma": Number(0, above=True), "triangle": Number(0, integer=True)}

    def __init__(self, sigma=1.0, triangle=0):
        self.sigma = sigma
        self.triangle = triangle

    def prepare(self, X, Y=None):
        of_X, of_Y = super().prepare(X, Y)
        if len(of_X.entries) and len(of_Y.entries) and of_X.entries.shape[1] != of_Y.entries.shape[1]:
            raise DomainError(
                f"GlobalAlignment works on series with one number of features: X has {of_X.entries.shape[1]}, Y has "
                f"{of_Y.entries.shape[1]}."
            )
        return of_X, of_Y

    def _native_values(self, X, Y, answer, n_threads):
        """The native programme sees numbers of points, of X and of Y one after the other."""
        of_X = _numbers(0, X.starts)
        points = X.entries
        if Y is None:
            of_Y: Any = None
        elif Y is X:
            of_Y = of_X
        else:
            of_Y = _numbers(len(X.entries), Y.starts)
            points = np.concatenate([side.entries for side in (X, Y) if len(side.entries)] or [X.entries])
        sigma, triangle = float(self.sigma), float(self.triangle)
        return _native.global_alignments(
            np.ascontiguousarray(points), of_X, of_Y, sigma, triangle, answer, n_threads, ""
        )


def _numbers(first: int, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(first, first + starts[-1], dtype=np.uint64), starts_of(np.diff(starts))
