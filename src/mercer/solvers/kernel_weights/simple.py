"""SimpleMKL: descent along the reduced gradient."""

import numpy as np

from mercer.solvers.kernel_weights.base import KernelWeightsSolver, Search, Trial
from mercer.solvers.kernel_weights.cuts import Cuts

__all__ = ["ReducedGradient"]

# A search along a line ends when the slope has fallen to this part of what it was, or after so many trials.
FLAT, LINE_TRIALS = 0.5, 12
# Weights below this part of the largest are zero: their kernels are left out of the sums.
NEGLIGIBLE = 1e-10


class ReducedGradient(KernelWeightsSolver):
    """SimpleMKL: descent on the simplex along the reduced gradient, with a machine at every trial. [CY eq 3.64] [1]_

    The derivatives of J are minus the energies of the kernels. The largest weight is written as one minus the others;
    weights of zero stay there while they would rather be negative. Along a direction the longest step is taken, which
    makes a weight zero, as long as J is smaller there; then the direction goes on without that kernel. In the last
    stretch the zero of the slope is found by the rule of false position: slopes come with every trial.

    Parameters
    ----------
    gap_tol, tol, max_iter, max_seconds, memory, n_threads
        See `KernelWeightsSolver`.

    Notes
    -----
    A trial costs a machine, started from the last one, and a pass over the kernel matrices with weight; a direction a
    linear programme, for the lower bound that all trials prove together. Where the solution of the machine is not
    unique, J has edges, at which a descent along gradients may stall: the gap says how far from the optimum.

    References
    ----------
    .. [1] A. Rakotomamonjy, F. R. Bach, S. Canu, Y. Grandvalet, SimpleMKL, JMLR 9, 2008.
    """

    _simplex_only = True

    def _run(self, search: Search) -> None:
        assert search.best is not None
        cuts, at = Cuts(search), search.best
        while True:
            cuts.lowest()
            if search.status is not None:
                return
            after = _descended(search, cuts, at)
            if search.status is not None:
                return
            if after.value < at.value:
                at = after
            elif search.sharpen():  # rough machines may hide a descent
                at = cuts.try_weights(at.weights)
            else:
                return


def reduced_direction(d: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """A direction of descent that keeps the sum of weights, and weights of zero that would become negative at zero."""
    reference = int(np.argmax(d))
    reduced = gradient - gradient[reference]
    return _balanced(np.where((d > 0) | (reduced < 0), -reduced, 0.0), reference)


def _balanced(direction: np.ndarray, reference: int) -> np.ndarray:
    """With the entry of the reference such that the sum is zero."""
    direction = direction.copy()
    direction[reference] = 0.0
    direction[reference] = -direction.sum()
    return direction


def _descended(search: Search, cuts: Cuts, at: Trial) -> Trial:
    """The trial at the end of a direction."""
    reference, direction = int(np.argmax(at.weights)), reduced_direction(at.weights, -at.energies)
    while (direction < 0).any() and at.energies @ direction > 0:
        shrinking = np.flatnonzero(direction < 0)
        room = at.weights[shrinking] / -direction[shrinking]
        longest = float(room.min())
        end = cuts.try_weights(_moved(at.weights, longest * direction))
        if search.status is not None:
            return end
        if end.value >= at.value:
            return _between(search, cuts, at, end)
        at, direction = end, np.where((end.weights == 0) & (direction < 0), 0.0, direction)
        if not direction[reference]:  # the reference itself has become zero
            return at
        direction = _balanced(direction, reference)
    return at


def _moved(weights: np.ndarray, by: np.ndarray) -> np.ndarray:
    moved = weights + by
    moved = np.where(moved <= NEGLIGIBLE * moved.max(), 0.0, moved)
    return moved / moved.sum()


def _between(search: Search, cuts: Cuts, start: Trial, end: Trial) -> Trial:
    """The trial on the way, downhill at its start and uphill at its end, where the slope has nearly vanished."""
    stretch = end.weights - start.weights
    first = -float(start.energies @ stretch)
    low, high, slope_low, slope_high = 0.0, 1.0, first, -float(end.energies @ stretch)
    best = start
    for _ in range(LINE_TRIALS):
        if not slope_high > 0:
            break
        step = low + (high - low) * slope_low / (slope_low - slope_high)
        if not low < step < high:
            break
        trial = cuts.try_weights(_moved(start.weights, step * stretch))
        slope = -float(trial.energies @ stretch)
        if trial.value < best.value:
            best = trial
        if search.status is not None or (abs(slope) <= FLAT * -first and best is not start):
            break
        # The slope of an end that stays is halved, so that both ends move.
        if slope < 0:
            slope_high *= 0.5 if low > 0 else 1.0
            low, slope_low = step, slope
        else:
            slope_low *= 0.5 if high < 1 else 1.0
            high, slope_high = step, slope
    return best
