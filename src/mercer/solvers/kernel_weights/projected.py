"""Gradient steps that are projected onto the simplex."""

import numpy as np

from mercer.problems import Simplex
from mercer.solvers.kernel_weights.base import KernelWeightsSolver, Search, Trial
from mercer.solvers.kernel_weights.cuts import Cuts

__all__ = ["ProjectedGradient"]

# A step is long enough if J falls by this part of what the gradient promises; else it is shortened, so often at most.
ENOUGH, SHORTENINGS = 1e-4, 20
# No step is longer than so many widths of the simplex: it would end at the same corner.
LONGEST = 100.0


class ProjectedGradient(KernelWeightsSolver):
    """Gradient steps that are projected onto the simplex: d - t grad J(d), where the gradient is minus the energies.

    The length t is that of Barzilai and Borwein, which takes the curvature from the last two gradients, shortened until
    J falls enough. [1]_

    Parameters
    ----------
    gap_tol, tol, max_iter, max_seconds, memory, n_threads
        See `KernelWeightsSolver`.

    Notes
    -----
    Costs, and what may happen at edges of J, as for `ReducedGradient`.

    References
    ----------
    .. [1] E. G. Birgin, J. M. Martínez, M. Raydan, Nonmonotone spectral projected gradient methods on convex sets, SIAM
       Journal on Optimization 10, 2000.
    """

    _simplex_only = True

    def _run(self, search: Search) -> None:
        assert search.best is not None
        cuts, at = Cuts(search), search.best
        length = first_length(at)
        while True:
            cuts.lowest()
            if search.status is not None:
                return
            after = _stepped(search, cuts, at, length)
            if search.status is not None:
                return
            if after is None:
                if not search.sharpen():
                    return
                at = cuts.try_weights(at.weights)  # rough machines may hide a descent
                continue
            moved, bent = after.weights - at.weights, at.energies - after.energies
            curvature = float(moved @ bent)
            longest = LONGEST * first_length(after)
            length = min(longest, float(moved @ moved) / curvature) if curvature > 0 else longest
            at = after


def first_length(at: Trial) -> float:
    """A step that is as long as the simplex is wide."""
    differences = float(np.ptp(at.energies))
    return 1.0 / differences if differences > 0 else 1.0


def _stepped(search: Search, cuts: Cuts, at: Trial, length: float) -> Trial | None:
    """The first of shorter and shorter steps that makes J fall enough, if there is one."""
    simplex = Simplex()
    for _ in range(SHORTENINGS):
        weights = simplex.project(at.weights + length * at.energies)
        promised = float(at.energies @ (weights - at.weights))
        if not promised > 0:
            return None
        trial = cuts.try_weights(weights)
        if search.status is not None or trial.value <= at.value - ENOUGH * promised:
            return trial
        # The parabola through both values and the first slope has its lowest point here.
        excess = trial.value - at.value + promised
        length *= min(0.5, max(0.1, 0.5 * promised / excess))
    return None
