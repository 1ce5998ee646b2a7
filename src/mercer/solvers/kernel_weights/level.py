"""The extended level method: the nearest point where the cuts are low enough."""

import numpy as np
from scipy.optimize import minimize

from mercer.problems import KernelWeightsProblem, Simplex
from mercer.solvers.kernel_weights.base import KernelWeightsSolver, Search, Trial
from mercer.solvers.kernel_weights.silp import lowest_of_cuts

__all__ = ["LevelMethod"]

# The level is so far from the lower towards the upper bound.
LEVEL = 0.5


class LevelMethod(KernelWeightsSolver):
    """The level method: the nearest weights where all cuts so far are below a level between the bounds. [CY §3.8; 1]_

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
    quadratic programme of the cuts so far.

    References
    ----------
    .. [1] Z. Xu, R. Jin, I. King, M. R. Lyu, An extended level method for efficient multiple kernel learning, NIPS
       2008.
    """

    def check(self, problem: KernelWeightsProblem) -> None:
        super().check(problem)
        if not isinstance(problem.weights, Simplex):
            raise ValueError(f"LevelMethod needs weights on the simplex, got {type(problem.weights).__name__}.")

    def _run(self, search: Search) -> None:
        assert search.best is not None
        cuts = [search.best]
        while search.status is None:
            lowest = lowest_of_cuts(cuts)
            lower = max(cut.linear - float(cut.energies @ lowest) for cut in cuts)
            level = lower + LEVEL * (search.upper - lower)
            weights = nearest_below(cuts, level, search.best.weights, lowest)
            cuts.append(search.try_weights(weights))


def nearest_below(cuts: list[Trial], level: float, near: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """The weights of the simplex nearest to some where all cuts are at most at a level; `inside` is one such point.

    The dual has a multiplier mu >= 0 for each cut, and the weights are the projection of near + S'mu.
    """
    S, need = np.array([cut.energies for cut in cuts]), np.array([cut.linear for cut in cuts]) - level
    size = np.abs(S).max() or 1.0
    S, need, simplex = S / size, need / size, Simplex()

    def weights(mu: np.ndarray) -> np.ndarray:
        return simplex.project(near + mu @ S)

    def dual(mu: np.ndarray) -> tuple[float, np.ndarray]:
        d = weights(mu)
        short = need - S @ d
        return -(0.5 * float((d - near) @ (d - near)) + float(mu @ short)), -short

    found = minimize(dual, np.zeros(len(cuts)), jac=True, bounds=[(0.0, None)] * len(cuts), method="L-BFGS-B")
    d = weights(found.x)
    # What is still above the level is mended on the way to the point that is below it.
    above, room = (need - S @ d).max(), (need - S @ inside).max()
    if above > 0 and room < 0:
        d += above / (above - room) * (inside - d)
    return np.maximum(d, 0.0) / np.maximum(d, 0.0).sum()
