"""Weights and machines in turn, each in closed form given the other."""

import numpy as np

from mercer.solvers.kernel_weights.base import KernelWeightsSolver, Search

__all__ = ["Alternating"]


class Alternating(KernelWeightsSolver):
    """Weights and machines in turn: the machines for given weights, then the weights that make their norms cheapest.

    With :math:`w_k = d_k \\sum_i c_i \\phi_k(x_i)` the primal objective is
    :math:`\\tfrac12 \\sum_k \\|w_k\\|^2 / d_k` plus errors that do not depend on d, so that the weights have a closed
    form, such as :math:`d_k \\propto \\|w_k\\|^{2 / (p + 1)}` for the ball of a p-norm. [1]_

    Parameters
    ----------
    gap_tol, tol, max_iter, max_seconds, memory, n_threads
        See `KernelWeightsSolver`.

    Notes
    -----
    A trial costs a machine, started from the last one, and a pass over the kernel matrices. Fast for p well above 1; on
    the simplex it approaches the optimum slowly, and weights of zero are never quite reached.

    References
    ----------
    .. [1] M. Kloft, U. Brefeld, S. Sonnenburg, A. Zien, lp-norm multiple kernel learning, JMLR 12, 2011, section 4.
    """

    def _run(self, search: Search) -> None:
        assert search.best is not None
        at = search.best
        while search.status is None:
            squares = 2.0 * at.weights**2 * at.energies
            if not squares.any():
                return
            weights = search.problem.weights.cheapest(squares)
            if np.array_equal(weights, at.weights):
                return
            at = search.try_weights(weights)
