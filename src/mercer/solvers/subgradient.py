"""Subgradient steps on the primal."""

import numpy as np

from mercer.problems import DualProblem, Offsets
from mercer.solvers.base import Callback, SolverResult
from mercer.solvers.steps import Run, StepSolver, whole_matrix

__all__ = ["PrimalSubgradient"]


class PrimalSubgradient(StepSolver):
    """Subgradient steps on the primal objective. [A eq 10.59]

    For the soft margin this is

    .. math::

        \\min_{w, b}\\ O = \\tfrac12 \\|w\\|^2 + C \\sum_i \\max\\{0, 1 - y_i (w \\cdot \\phi(x_i) + b)\\},

    and likewise for every other problem with bounded multipliers. At each w the best offset b is
    found exactly. With the subgradients of the losses written as multipliers :math:`\\hat a` (C for a sample inside the
    margin, 0 for one outside, something between for those that decide b), the step of length
    :math:`\\eta_t = 2 / (t + 2)` is

    .. math:: w \\leftarrow w - \\eta_t (w - \\textstyle\\sum_i y_i \\hat a_i \\phi(x_i)), \\qquad\\text{that is}\\qquad
              a \\leftarrow (1 - \\eta_t)\\, a + \\eta_t\\, \\hat a .

    So every point is a mean of feasible multipliers, and itself feasible for the dual: the gap is known at every step
    [2]_. It falls like 1/t, and not at every step; the best point of the run is returned.

    Parameters
    ----------
    tol : float > 0, default=1e-2
        Largest relative duality gap, the gap over the size of the objective. The violation of the optimality
        conditions, which bounds other solvers, is no measure here: hardly a multiplier becomes exactly zero.
    max_iter : int >= 1, default=100_000
        Most steps.
    max_seconds : float > 0 or None, default=None
        Most wall-clock time.

    See Also
    --------
    ProjectedGradient : Gradients of the dual.
    SMO : The fast one.

    Notes
    -----
    O(n^2) per step, O(n^2) memory. A start is returned if it is solved; the first step forgets it if it is not.

    References
    ----------
    .. [1] C. C. Aggarwal, Data Mining: The Textbook, 2015, eq. 10.59.
    .. [2] F. Bach, Duality between subgradient and conditional gradient methods, SIAM J. Optim. 25, 2015.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.solvers import PrimalSubgradient
    >>> machine = SVC(kernel="linear", solver=PrimalSubgradient()).fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> machine.predict([[2.5]]), machine.result_.relative_gap <= 1e-2
    (array([1]), True)
    """

    def __init__(self, *, tol=1e-2, max_iter=100_000, max_seconds=None):
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds

    def check(self, problem: DualProblem) -> None:
        """The losses must not be steeper than some price: no hard margin, and no squared errors."""
        super().check(problem)
        if np.isinf(problem.upper).any():
            raise ValueError(
                "PrimalSubgradient needs losses of bounded slope, got a hard margin or squared errors; choose a finite "
                "C and the hinge or linear loss."
            )

    def solve(
        self, problem: DualProblem, start: np.ndarray | None = None, callback: Callback | None = None
    ) -> SolverResult:
        """As `SMO.solve`."""
        self.check(problem)
        run = Run(self, problem, callback)
        Q = whole_matrix(problem)
        a = problem.feasible(start)
        G = Q @ a + problem.linear
        least = np.inf
        while True:
            towards, offsets = subgradient(problem, G)
            gap, objective = problem.gap(a, G, offsets), problem.objective(a, G)
            if gap < least:
                least, best = gap, (a, offsets)
            violation = problem.violation(a, G)
            if run.wants_record():
                run.record(a, G, violation, offsets)
            if gap <= self.tol * abs(objective):
                run.status = "solved"
                break
            if not run.may_go_on(objective, violation):
                break
            length = 2.0 / (run.n_iter + 2.0)
            a = np.minimum((1.0 - length) * a + length * towards, problem.upper)
            G = (1.0 - length) * G + length * (Q @ towards + problem.linear)
            run.n_iter += 1
        a, offsets = best
        return run.result(a, Q @ a + problem.linear, Q.size, offsets)


def subgradient(problem: DualProblem, G: np.ndarray) -> tuple[np.ndarray, Offsets]:
    """The multipliers of the losses, with the offsets that make the losses least, from the gradient of the dual.

    They are the feasible t with the smallest G't.
    """
    s, u = problem.sign, problem.upper
    if problem.total is None:
        return np.where(G < 0, u, 0.0), Offsets(0.0, 0.0)
    t, found = np.empty(len(u)), []
    for group, target in problem._groups():
        low, high = np.minimum(0, s * u)[group], np.maximum(0, s * u)[group]
        x, b = _fill_from_above(-s[group] * G[group], low, high, target)
        t[group] = s[group] * x
        found.append(b)
    return np.clip(t, 0.0, u), Offsets(found[0], found[-1])


def _fill_from_above(z: np.ndarray, low: np.ndarray, high: np.ndarray, target: float) -> tuple[np.ndarray, float]:
    """The x between the bounds with the sum `target` and the largest z'x, and the z where it turns.

    Those of larger z are at their upper bound, those of smaller z at the lower one.
    """
    order = np.argsort(-z, kind="stable")
    room = (high - low)[order]
    before = np.concatenate([[0.0], np.cumsum(room)[:-1]])
    x = np.empty(len(z))
    x[order] = low[order] + np.clip(target - low.sum() - before, 0.0, room)
    turns = int(np.searchsorted(before + room, target - low.sum()))
    return x, float(z[order[min(turns, len(z) - 1)]])
