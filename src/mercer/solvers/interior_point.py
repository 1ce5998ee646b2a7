"""An interior point method: the quadratic programme as any package for such programmes takes it."""

from typing import Any

import numpy as np
from scipy.sparse import csc_array, vstack

from mercer.errors import IndefiniteError, InfeasibleError, NotSeparableError
from mercer.extras import require
from mercer.problems import DualProblem
from mercer.solvers.base import Callback, SolverResult
from mercer.solvers.steps import Run, StepSolver, whole_matrix

__all__ = ["InteriorPoint"]

# How exact the package is asked to be, one after the other, until the violation is as wanted.
TOLERANCES = (1e-9, 1e-11, 1e-13)


class InteriorPoint(StepSolver):
    """A primal-dual interior point method, that of the conic solver Clarabel.

    It walks through the inside of the constraints to the optimum, in a number of steps that hardly depends on the
    problem, each of which solves a linear system in all variables. It is the generic package for quadratic programmes,
    to compare the others with. Needs the extra ``conic`` (``pip install mercer[conic]``).

    The points of the walk lie inside. For the result, multipliers that are small beside what holds them at a bound are
    put there, and the point is projected onto the constraints.

    Parameters
    ----------
    tol : float > 0, default=1e-3
        Largest violation of the optimality conditions [CY eq 1.61].
    max_iter : int >= 1, default=200
        Most steps.
    max_seconds : float > 0 or None, default=None
        Most wall-clock time.

    See Also
    --------
    SMO : The fast one.

    Notes
    -----
    O(n^3) per step, O(n^2) memory. A start is looked at, and returned if it is solved; a walk from it there is not. A
    callback is told the package's own numbers, before the point is put onto the constraints. Indefinite kernel matrices
    are refused.

    References
    ----------
    .. [1] P. J. Goulart, Y. Chen, Clarabel: an interior-point solver for conic programs with quadratic objectives,
       2024.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.solvers import InteriorPoint
    >>> machine = SVC(kernel="linear", solver=InteriorPoint()).fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> machine.predict([[2.5]])
    array([1])
    """

    def __init__(self, *, tol=1e-3, max_iter=200, max_seconds=None):
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds

    def check(self, problem: DualProblem) -> None:
        """The kernel matrix must be positive semi-definite, and Clarabel installed."""
        super().check(problem)
        require("clarabel", type(self).__name__)
        if not problem.gram.definite:
            raise IndefiniteError(
                "InteriorPoint needs a positive semi-definite kernel matrix, this one has negative eigenvalues; "
                "SMO finds a stationary point."
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
        violation = problem.violation(a, G)
        run.record(a, G, violation)
        for tolerance in TOLERANCES:
            if violation <= self.tol:
                break
            found, going = self._walk(problem, Q, tolerance, run)
            for point in (found, _corrected(problem, Q, found)) if going else (found,):
                gradient = Q @ point + problem.linear
                if problem.violation(point, gradient) < violation:
                    a, G, violation = point, gradient, problem.violation(point, gradient)
            if not going:
                break
            run.status = "stalled"
        if violation <= self.tol:
            run.status = "solved"
        return run.result(a, G, Q.size)

    def _walk(self, problem: DualProblem, Q: np.ndarray, tolerance: float, run: Run) -> tuple[np.ndarray, bool]:
        """Where the package ends, put onto the constraints, and whether it may be asked for more."""
        clarabel = require("clarabel", type(self).__name__)
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_threads = 1
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        settings.max_iter = self.max_iter - run.n_iter
        n, before, failure, lowest = len(Q), run.n_iter, [], [np.inf]
        bounded = np.flatnonzero(np.isfinite(problem.upper))
        groups = problem._groups()
        equal = np.zeros((len(groups), n))
        for row, (group, _) in zip(equal, groups, strict=True):
            row[group] = problem.sign[group]
        eye = csc_array(np.eye(n))
        A = csc_array(vstack([csc_array(equal), -eye, eye[bounded]]))
        b = np.concatenate([[target for _, target in groups], np.zeros(n), problem.upper[bounded]])
        cones = [clarabel.ZeroConeT(len(groups))] if groups else []
        cones.append(clarabel.NonnegativeConeT(n + len(bounded)))
        package = clarabel.DefaultSolver(csc_array(np.triu(Q)), problem.linear, A, b, cones, settings)

        def tell(info: Any) -> bool:
            run.n_iter = before + info.iterations
            lowest[0] = min(lowest[0], info.cost_primal)
            try:
                return not run.may_go_on(lowest[0], max(info.res_primal, info.res_dual))
            except BaseException as error:  # the package would lose it
                failure.append(error)
                return True

        package.set_termination_callback(tell)
        solution = package.solve()
        if failure:
            raise failure[0]
        run.n_iter = before + solution.iterations
        status = str(solution.status)
        if status.endswith("PrimalInfeasible"):
            problem.feasible()  # says why
            raise InfeasibleError("No multipliers satisfy the constraints.")
        if status.endswith("DualInfeasible"):
            raise NotSeparableError(
                "The classes are not separable with this kernel: the dual of the hard margin is unbounded. "
                "Choose a finite C or a richer kernel."
            )
        x, z = np.array(solution.x), np.array(solution.z)[len(groups) :]
        going = status not in ("CallbackTerminated", "MaxIterations")
        if status == "MaxIterations":
            run.status = "max_iter"
        from_below, from_above = z[:n], np.zeros(n)
        from_above[bounded] = z[n:]
        # What is nearer to a bound than the force that holds it there is to zero, each in its unit, lies at the bound;
        # if that is true of both, at the one that holds it more.
        size, force = np.abs(x).max(), max(np.abs(Q @ x).max(), np.abs(problem.linear).max())
        low = (force * x < size * from_below) & (from_below >= from_above)
        high = force * (problem.upper - x) < size * from_above
        x = np.clip(np.where(low, 0.0, np.where(high, problem.upper, x)), 0.0, problem.upper)
        return problem.balanced(x), going


def _corrected(problem: DualProblem, Q: np.ndarray, a: np.ndarray) -> np.ndarray:
    """With the variables at their bounds left there, the others from the linear system that the optimum satisfies."""
    free = np.flatnonzero((a > 0) & (a < problem.upper))
    groups = problem._groups()
    rows = np.zeros((len(groups), len(a)))
    for row, (group, _) in zip(rows, groups, strict=True):
        row[group] = problem.sign[group]
    held = np.delete(a, free)
    target = np.array([value for _, value in groups]) - np.delete(rows, free, axis=1) @ held
    slope = -problem.linear[free] - np.delete(Q[free], free, axis=1) @ held
    system = np.block([[Q[np.ix_(free, free)], rows[:, free].T], [rows[:, free], np.zeros((len(groups), len(groups)))]])
    found = a.copy()
    found[free] = np.linalg.lstsq(system, np.concatenate([slope, target]), rcond=None)[0][: len(free)]
    return problem.balanced(np.clip(found, 0.0, problem.upper))
