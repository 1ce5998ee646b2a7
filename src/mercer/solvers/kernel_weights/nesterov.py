"""Nesterov's accelerated gradient method."""

import numpy as np

from mercer.problems import Simplex
from mercer.solvers.kernel_weights.base import KernelWeightsSolver, Search
from mercer.solvers.kernel_weights.cuts import Cuts
from mercer.solvers.kernel_weights.projected import first_length

__all__ = ["Accelerated"]

# The bound on the curvature grows by this factor where it was too small, and falls by the second one at every step.
GROWTH, DECAY = 2.0, 0.9
# Rounding of values, in parts of them.
ROUNDING = 1e-12


class Accelerated(KernelWeightsSolver):
    """Nesterov's accelerated gradient steps, for a J that a ridge has made smooth. [CY eq 3.65] [1]_

    With a ridge on the diagonal of every kernel matrix the solution of the machine is unique and follows the weights
    without jumps: the gradient of J, minus the energies, has a Lipschitz constant. It is found by trial: it grows until
    J is below the parabola that it promises. Steps begin at points ahead of the last weights, and afresh when the
    gradient points back. [2]_

    Parameters
    ----------
    gap_tol, tol, max_iter, max_seconds, memory, n_threads
        See `KernelWeightsSolver`.

    Notes
    -----
    An iteration costs two trials, at the point ahead and at the next weights, each as for `ReducedGradient`. The error
    falls at least as 1 / k^2 in k iterations. The ridge is that of the `GramStack`, and the solution is that of the
    problem with it.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 3.8; Y. Nesterov, Introductory
       Lectures on Convex Optimization, 2004.
    .. [2] B. O'Donoghue, E. Candès, Adaptive restart for accelerated gradient schemes, Foundations of Computational
       Mathematics 15, 2015.
    """

    default_ridge = 1e-3
    _simplex_only = True

    def _run(self, search: Search) -> None:
        assert search.best is not None
        cuts, simplex = Cuts(search), Simplex()
        at = ahead = search.best
        lipschitz, momentum = 1.0 / first_length(at), 1.0
        while True:
            cuts.lowest()
            if search.status is not None:
                return
            weights = simplex.project(ahead.weights + ahead.energies / lipschitz)
            if np.array_equal(weights, ahead.weights):
                return
            after = cuts.try_weights(weights)
            if search.status is not None:
                return
            weights, moved = after.weights, after.weights - ahead.weights
            # From above, as far as the machine ahead leaves its objective open.
            parabola = ahead.upper - float(ahead.energies @ moved) + 0.5 * lipschitz * float(moved @ moved)
            if after.value > parabola + ROUNDING * abs(parabola):
                lipschitz *= GROWTH
                continue
            if float((ahead.weights - weights) @ (weights - at.weights)) > 0:  # the momentum leads away
                momentum = 1.0
            grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
            beyond = simplex.project(weights + (momentum - 1.0) / grown * (weights - at.weights))
            at, momentum, lipschitz = after, grown, DECAY * lipschitz
            ahead = after if np.array_equal(beyond, weights) else cuts.try_weights(beyond)
