"""The extended level method: the nearest point where the cuts are low enough."""

import numpy as np

from mercer.solvers.kernel_weights.base import KernelWeightsSolver, Search
from mercer.solvers.kernel_weights.cuts import Cuts

__all__ = ["LevelMethod", "level_step"]

# The level is so far from the lower towards the upper bound.
LEVEL = 0.5


class LevelMethod(KernelWeightsSolver):
    """The level method: the nearest weights where all cuts so far are below a level between the bounds. [CY §3.8] [1]_

    As in column generation every trial is a cut, a linear function below J. But the lowest point of few cuts can be far
    from the optimum; so the point nearest to the last weights is taken at which they are as low as a value between the
    bounds of the optimum.

    Parameters
    ----------
    gap_tol, tol, max_iter, max_seconds, memory, n_threads
        See `KernelWeightsSolver`.

    Notes
    -----
    A trial costs a machine, started from the last one, a pass over the kernel matrices with weight, and a linear and a
    quadratic programme of the cuts that still matter.

    References
    ----------
    .. [1] Z. Xu, R. Jin, I. King, M. R. Lyu, An extended level method for efficient multiple kernel learning, NIPS
       2008.
    """

    _simplex_only = True

    def _run(self, search: Search) -> None:
        cuts = Cuts(search)
        while True:
            weights = level_step(search, cuts)
            if search.status is not None:
                return
            cuts.try_weights(weights)


def level_step(search: Search, cuts: Cuts) -> np.ndarray:
    """The weights nearest to the best ones where the cuts are below a level between the bounds."""
    assert search.best is not None
    lowest = cuts.lowest()
    return cuts.nearest_below(search.lower + LEVEL * (search.upper - search.lower), search.best.weights, lowest)
