"""Sequential minimal optimisation in obvious Python: to read, and to check the fast one against."""

from typing import Any, ClassVar

import numpy as np

from mercer.parameters import Number
from mercer.problems import DualProblem
from mercer.solvers.base import Callback, SolverResult
from mercer.solvers.steps import Run, StepSolver, whole_matrix

__all__ = ["SimpleSMO"]


class SimpleSMO(StepSolver):
    """Sequential minimal optimisation, one pair at a time over the whole kernel matrix. [CY §1.5]

    Parameters
    ----------
    tol : float > 0, default=1e-3
        Largest violation of the optimality conditions [CY eq 1.61].
    max_iter : int >= 1, default=100_000
        Most steps.

    See Also
    --------
    SMO : The fast one.

    Notes
    -----
    O(n) per step, O(n^2) memory.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, eqs. 1.51-1.61.

    Examples
    --------
    >>> from mercer.svm import SVC
    >>> SVC(kernel="linear", solver="simple").fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]).predict([[2.5]])
    array([1])
    """

    _parameters: ClassVar[dict[str, Any]] = {"tol": Number(0, above=True), "max_iter": Number(1, integer=True)}

    def __init__(self, *, tol=1e-3, max_iter=100_000):
        self.tol = tol
        self.max_iter = max_iter

    def solve(
        self, problem: DualProblem, start: np.ndarray | None = None, callback: Callback | None = None
    ) -> SolverResult:
        """As `SMO.solve`."""
        self.check(problem)
        run = Run(self, problem, callback)
        Q = whole_matrix(problem)
        a = problem.feasible(start)
        G = Q @ a + problem.linear
        while run.goes_on(a, G):
            moved = self._single(problem, Q, G, a) if problem.total is None else self._pair(problem, Q, G, a)
            for k, change in moved.items():
                G += Q[:, k] * change
            run.n_iter += 1
        return run.result(a, Q @ a + problem.linear, Q.size)

    @staticmethod
    def _pair(problem: DualProblem, Q: np.ndarray, G: np.ndarray, a: np.ndarray) -> dict[int, float]:
        """Move the pair with the largest gain [CY eqs 1.54-1.60]; returns the changes of a."""
        s, u = problem.sign, problem.upper
        v = -s * G
        grows = np.where(s > 0, a < u, a > 0)
        shrinks = np.where(s > 0, a > 0, a < u)
        best: tuple[float, int, int] = (0.0, 0, 0)
        for part, _ in problem._groups():
            group = np.arange(len(a))[part]
            if not grows[group].any():
                continue
            i = group[grows[group]][np.argmax(v[group[grows[group]]])]
            for j in group[shrinks[group] & (v[group] < v[i])]:
                eta = max(Q[i, i] + Q[j, j] - 2 * s[i] * s[j] * Q[i, j], 1e-12)
                gain = (v[i] - v[j]) ** 2 / (2 * eta)
                if gain > best[0]:
                    best = (gain, i, j)
        _, i, j = best
        eta = max(Q[i, i] + Q[j, j] - 2 * s[i] * s[j] * Q[i, j], 1e-12)
        room_i = u[i] - a[i] if s[i] > 0 else a[i]
        room_j = a[j] if s[j] > 0 else u[j] - a[j]
        t = min((v[i] - v[j]) / eta, room_i, room_j)
        before = a[[i, j]].copy()
        a[i] += s[i] * t
        a[j] -= s[j] * t
        np.clip(a, 0.0, u, out=a)
        return {i: a[i] - before[0], j: a[j] - before[1]}

    @staticmethod
    def _single(problem: DualProblem, Q: np.ndarray, G: np.ndarray, a: np.ndarray) -> dict[int, float]:
        """Move the variable with the largest gain: the problem has no equality."""
        diagonal = np.maximum(np.diag(Q), 1e-12)
        moved = np.clip(a - G / diagonal, 0.0, problem.upper)
        gain = -(G * (moved - a) + 0.5 * diagonal * (moved - a) ** 2)
        i = int(np.argmax(gain))
        change = moved[i] - a[i]
        a[i] = moved[i]
        return {i: change}
