"""SimpleMKL: descent along the reduced gradient."""

import numpy as np

from mercer.problems import KernelWeightsProblem, Simplex
from mercer.solvers.kernel_weights.base import KernelWeightsSolver, Search, Trial

__all__ = ["ReducedGradient"]

# A step along a line ends when the slope has fallen to this part of what it was, or after so many trials.
FLAT, LINE_TRIALS = 0.1, 12
# Weights below this are zero: their kernels are left out of the sums.
NEGLIGIBLE = 1e-10


class ReducedGradient(KernelWeightsSolver):
    """SimpleMKL: descent on the simplex along the reduced gradient, with a machine at every trial. [CY eq 3.64; 1]_

    The derivatives of J are minus the energies of the kernels. The largest weight is written as one minus the others;
    weights that reach zero stay there while they would rather be negative. Along a line the zero of the slope is found
    by the secant rule: slopes come with every trial.

    Parameters
    ----------
    gap_tol, tol, max_iter, max_seconds, memory, n_threads
        See `KernelWeightsSolver`.

    Notes
    -----
    A trial costs a machine, started from the last one, and a pass over the kernel matrices with weight.

    References
    ----------
    .. [1] A. Rakotomamonjy, F. R. Bach, S. Canu, Y. Grandvalet, SimpleMKL, JMLR 9, 2008.
    """

    def check(self, problem: KernelWeightsProblem) -> None:
        super().check(problem)
        if not isinstance(problem.weights, Simplex):
            raise ValueError(f"ReducedGradient needs weights on the simplex, got {type(problem.weights).__name__}.")

    def _run(self, search: Search) -> None:
        assert search.best is not None
        at = search.best
        while search.status is None:
            direction = reduced_direction(at.weights, -at.energies)
            after = _along(search, at, direction)
            if after is None or after.value >= at.value:
                return
            at = after


def reduced_direction(d: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """A direction of descent that keeps the sum of weights, and weights of zero that would become negative at zero."""
    reference = int(np.argmax(d))
    reduced = gradient - gradient[reference]
    direction = np.where((d > 0) | (reduced < 0), -reduced, 0.0)
    direction[reference] = 0.0
    direction[reference] = -direction.sum()
    return direction


def _along(search: Search, at: Trial, direction: np.ndarray) -> Trial | None:
    """The trial where the slope along a direction has nearly vanished, or at the end of the feasible stretch."""
    shrinking = direction < 0
    if not shrinking.any():
        return None
    longest = float(np.min(at.weights[shrinking] / -direction[shrinking]))
    first_slope = -float(at.energies @ direction)
    if first_slope >= 0:
        return None
    low, slope_low, high, slope_high = 0.0, first_slope, longest, None
    step, best = longest, None
    for _ in range(LINE_TRIALS):
        weights = at.weights + step * direction
        weights = np.where(weights <= NEGLIGIBLE * weights.max(), 0.0, weights)
        trial = search.try_weights(weights / weights.sum())
        slope = -float(trial.energies @ direction)
        if best is None or trial.value < best.value:
            best = trial
        if search.status is not None or abs(slope) <= FLAT * -first_slope or (slope < 0 and step == longest):
            break
        if slope < 0:
            low, slope_low = step, slope
        else:
            high, slope_high = step, slope
        assert slope_high is not None
        # The zero of the line through both slopes, kept away from the ends of the interval.
        secant = low + (high - low) * -slope_low / (slope_high - slope_low)
        margin = 0.05 * (high - low)
        step = min(max(secant, low + margin), high - margin)
    return best
