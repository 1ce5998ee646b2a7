"""Weights and machines in turn, each in closed form given the other."""

import numpy as np

from mercer.solvers.kernel_weights.base import KernelWeightsSolver, Search

__all__ = ["Alternating"]

# Steps that are mixed; changes between them below this part of the largest are taken for rounding.
DEPTH, NEARLY_ALIKE = 6, 1e-8
# What is left at least of the weight that a plain step would leave.
LARGEST_FALL = 0.1
# What kernels of weight zero begin with, in parts of the largest: they would stay there.
REVIVED = 1e-3
# Steps are slow when the gap has not fallen to this part within so many; weights that rise are then lifted to REVIVED,
# to ten times as much when steps are slow again, and no higher than this.
SLOW, SLOW_STEPS, HIGHEST = 0.9, 10, 0.1


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
    A trial costs a machine, started from the last one, and a pass over the kernel matrices. By themselves such steps
    come near the optimum slowly for p near 1, and on sets with corners, whose weights of zero they never quite reach.
    So the last few of them are combined into the point at which, were the step a linear function, it would not move at
    all: Anderson's mixing [2]_, of the roots of the weights. Where that does not lower the objective, the plain step,
    which always does, is taken instead. A weight that has fallen far too low would rise again by a few per cent a step:
    where the gap hardly falls, it is lifted.

    References
    ----------
    .. [1] M. Kloft, U. Brefeld, S. Sonnenburg, A. Zien, lp-norm multiple kernel learning, JMLR 12, 2011, section 4.
    .. [2] H. F. Walker, P. Ni, Anderson acceleration for fixed-point iterations, SIAM Journal on Numerical Analysis 49,
       2011.
    """

    def _run(self, search: Search) -> None:
        alternate(search)


def alternate(search: Search) -> None:
    """Go on from the best weights so far, weights and machines in turn, until the search is to end."""
    assert search.best is not None
    weights, at, steps = search.problem.weights, search.best, _Steps()
    missing = (at.weights == 0) & (at.energies > 0)
    if missing.any() and search.status is None:
        at = search.try_weights(weights.scaled(np.where(missing, REVIVED * at.weights.max(), at.weights)))
    lifts = _Lifts()
    while search.status is None:
        squares = 2.0 * at.weights**2 * at.energies
        if not squares.any():
            return
        plain = weights.cheapest(squares)
        if np.array_equal(plain, at.weights):
            return
        lifted = lifts.lifted(search.upper - search.lower, at.weights, plain)
        if lifted is not None:
            steps = _Steps()
            at = search.try_weights(weights.scaled(lifted))
            continue
        steps.add(at.weights, plain)
        mixed = steps.mixed()
        after = search.try_weights(plain if mixed is None else weights.scaled(mixed))
        if mixed is not None and after.upper > at.upper and search.status is None:
            steps = _Steps()
            after = search.try_weights(plain)
        at = after


class _Lifts:
    """Where steps are slow, weights that have fallen far too low and rise again."""

    def __init__(self) -> None:
        self._gap, self._n_slow, self._height = np.inf, 0, REVIVED

    def lifted(self, gap: float, before: np.ndarray, after: np.ndarray) -> np.ndarray | None:
        """The weights after a plain step, those that rise lifted; None where there is no need, or none to lift."""
        if gap <= SLOW * self._gap:
            self._gap, self._n_slow = gap, 0
        self._n_slow += 1
        if self._n_slow <= SLOW_STEPS:
            return None
        low, self._height, self._n_slow = self._height * after.max(), min(10.0 * self._height, HIGHEST), 0
        rising = (before < after) & (after < low)
        return np.where(rising, low, after) if rising.any() else None


class _Steps:
    """The last few steps, from weights to weights."""

    def __init__(self) -> None:
        self._before: list[np.ndarray] = []
        self._after: list[np.ndarray] = []

    def add(self, before: np.ndarray, after: np.ndarray) -> None:
        """One more; roots of weights, as they are nearer to straight where weights vanish."""
        self._before = [*self._before, np.sqrt(before)][-DEPTH:]
        self._after = [*self._after, np.sqrt(after)][-DEPTH:]

    def mixed(self) -> np.ndarray | None:
        """Where the affine combination of the steps leads that is shortest; None while there is one step only."""
        before, after = np.array(self._before), np.array(self._after)
        if len(before) == 1:
            return None
        moves = after - before
        shares = np.linalg.lstsq(np.diff(moves, axis=0).T, moves[-1], rcond=NEARLY_ALIKE)[0]
        mixed = after[-1] - shares @ np.diff(after, axis=0)
        # No weight falls much faster than by the last plain step: it might be missed. And none falls that this step has
        # raised: one that grows from nearly zero would not move at zero either, so that mixing takes it back there.
        falls = after[-1] <= before[-1]
        return np.maximum(mixed, np.where(falls, np.sqrt(LARGEST_FALL), 1.0) * after[-1]) ** 2
