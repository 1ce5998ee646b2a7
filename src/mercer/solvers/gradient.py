"""Gradient steps on the dual, projected back onto its constraints."""

from typing import Any, ClassVar, NamedTuple

import numpy as np

from mercer.parameters import Number
from mercer.problems import DualProblem
from mercer.solvers.base import Callback, SolverResult
from mercer.solvers.steps import Run, StepSolver, whole_matrix
from mercer.sums import inner

__all__ = ["ProjectedGradient", "first_length", "projected_step", "spectral_length"]


# Longer steps would be too large for floats.
LONGEST = 1e150


class ProjectedGradient(StepSolver):
    """Gradient steps on the dual, each projected onto its constraints. [A eqs 10.54-10.55]

    .. math::

        a \\leftarrow a + t\\,(P(a - \\eta g) - a), \\qquad g = Q a + p,

    where P is the exact projection onto the box :math:`0 \\le a \\le u` cut by the hyperplane :math:`s^T a = t`, and t
    the best step up to 1. To project the gradient onto the hyperplane first and to clip the result to the box
    afterwards, as [1]_ does, leaves the hyperplane again: the offset then is not the multiplier of anything.

    Parameters
    ----------
    tol : float > 0, default=1e-3
        Largest violation of the optimality conditions [CY eq 1.61].
    step : float > 0 or "spectral", default="spectral"
        :math:`\\eta`: a number, the learning rate, or chosen by what the last step has shown of the curvature
        [2]_, which is faster by orders of magnitude.
    max_iter : int >= 1, default=100_000
        Most steps.
    max_seconds : float > 0 or None, default=None
        Most wall-clock time.

    See Also
    --------
    SMO : The fast one.
    Chunking : Projected gradients and conjugate gradients on a part of the problem.

    Notes
    -----
    O(n^2) per step, O(n^2) memory; the projection is O(n log n).

    References
    ----------
    .. [1] C. C. Aggarwal, Data Mining: The Textbook, 2015, eqs. 10.54-10.55.
    .. [2] E. G. Birgin, J. M. Martinez, M. Raydan, Nonmonotone spectral projected gradient methods on convex sets,
       SIAM J. Optim. 10, 2000; its lengths as in B. Zhou, L. Gao, Y.-H. Dai, Gradient methods with adaptive
       step-sizes, Comput. Optim. Appl. 35, 2006.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.solvers import ProjectedGradient
    >>> machine = SVC(kernel="linear", solver=ProjectedGradient()).fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> machine.predict([[2.5]])
    array([1])
    """

    _parameters: ClassVar[dict[str, Any]] = {
        **StepSolver._parameters,
        "step": Number(0, above=True, words=("spectral",)),
    }

    def __init__(self, *, tol=1e-3, step="spectral", max_iter=100_000, max_seconds=None):
        self.tol = tol
        self.step = step
        self.max_iter = max_iter
        self.max_seconds = max_seconds

    def solve(
        self, problem: DualProblem, start: np.ndarray | None = None, callback: Callback | None = None
    ) -> SolverResult:
        """As `SMO.solve`."""
        self.check(problem)
        run = Run(self, problem, callback)
        Q = whole_matrix(problem)
        a = problem.feasible(start)
        G = Q @ a + problem.linear
        spectral = self.step == "spectral"
        length = first_length(Q) if spectral else float(self.step)
        while run.goes_on(a, G):
            step = projected_step(problem, Q, a, G, length)
            a, G = step.point, G + step.change
            if spectral:
                length = spectral_length(step, length)
            run.n_iter += 1
        return run.result(a, Q @ a + problem.linear, Q.size)


class Step(NamedTuple):
    """Where a step leads, and what it changes."""

    point: np.ndarray
    direction: np.ndarray
    curved: np.ndarray
    """Q times the direction."""
    change: np.ndarray
    """Of the gradient."""


def projected_step(problem: DualProblem, Q: np.ndarray, a: np.ndarray, G: np.ndarray, length: float) -> Step:
    """From a towards the projection of a - length G, as far as the objective falls, all the way at most."""
    aim = problem.feasible(a - length * G)
    d = aim - a
    Qd = Q @ d
    slope, curvature = inner(d, G), inner(d, Qd)
    if curvature <= -slope:  # also where it is not convex
        return Step(aim, d, Qd, Qd)
    t = max(0.0, -slope / curvature)
    return Step(np.clip(a + t * d, 0.0, problem.upper), d, Qd, t * Qd)


def first_length(Q: np.ndarray) -> float:
    """One over a bound of the largest eigenvalue."""
    return min(1.0 / max(float(np.abs(Q).sum(axis=1).max()), np.finfo(float).tiny), LONGEST)


def spectral_length(step: Step, before: float) -> float:
    """The inverse of the curvature along the last step: the longer one of Barzilai and Borwein, or the shorter one.

    The shorter one is taken where the two differ much, which is what keeps the steps from zigzagging.
    """
    d, Qd = step.direction, step.curved
    curvature = inner(d, Qd)
    if curvature <= 0:  # nothing bends back
        return min(10.0 * before, LONGEST)
    longer, shorter = inner(d, d) / curvature, curvature / inner(Qd, Qd)
    return shorter if shorter < 0.5 * longer else longer
