"""Linear programmes as HiGHS takes them, through SciPy."""

import time
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import linprog
from sklearn.base import BaseEstimator

from mercer.errors import InfeasibleError
from mercer.parameters import Number, check_parameters
from mercer.problems import LinearProblem
from mercer.solvers.lp.corners import refined
from mercer.solvers.lp.interior import central_point
from mercer.solvers.lp.result import LinearResult, Point, certify_point

__all__ = ["HiGHS", "vertex"]

# What HiGHS may leave of a constraint: its smallest.
TOLERANCE = 1e-10
# Coefficients below this share of the largest are zeros that rounding has moved.
ZERO = 1e-11


class HiGHS(BaseEstimator):
    """The whole linear programme at once, by the dual simplex method of HiGHS. [1]_

    What HiGHS sees is the dual: the prices bound the multipliers, so that errors need no variables, and there is one
    equation per column.

    Parameters
    ----------
    tol : float > 0, default=1e-6
        Largest relative duality gap that counts as solved; the simplex method ends at a corner, far below it.

    See Also
    --------
    ColumnGeneration : For more than some hundred samples.

    Notes
    -----
    The whole kernel matrix is in memory, some times. HiGHS takes kernel values below 1e-9 of the largest for zeros; a
    step of Newton's method on the equations of the corner makes up for that. Where HiGHS is lost in rounding though
    there is a solution, the result is what an interior point method reaches.

    References
    ----------
    .. [1] Q. Huangfu, J. Hall, Parallelizing the dual revised simplex method, Mathematical Programming Computation 10,
       2018.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import MatrixGram
    >>> from mercer.problems import lp_margin
    >>> from mercer.solvers import HiGHS
    >>> x = np.array([0.0, 1.0, 3.0, 4.0])
    >>> result = HiGHS().solve(lp_margin(MatrixGram(np.outer(x, x)), np.array([-1.0, -1, 1, 1]), np.full(4, 10.0)))
    >>> result.a.round(3), round(result.b, 3), result.status
    (array([0.  , 0.  , 0.  , 0.25]), -2.0, 'solved')
    """

    _parameters: ClassVar[dict[str, Any]] = {"tol": Number(0, above=True)}

    def __init__(self, *, tol=1e-6):
        self.tol = tol

    def solve(self, problem: LinearProblem) -> LinearResult:
        """The solution, with its certificate.

        Parameters
        ----------
        problem : LinearProblem

        Returns
        -------
        LinearResult

        Raises
        ------
        InfeasibleError
            If prices are infinite and no function is without errors.
        """
        check_parameters(self)
        began = time.perf_counter()
        block = problem.gram.rows(problem.columns)[:, problem.rows]
        everything = np.ones(len(problem.columns), dtype=bool), np.ones(len(problem.rows), dtype=bool)
        found = vertex(problem, block, *everything, np.zeros(len(problem.rows)))
        if found is None and np.isfinite(problem.price).all():  # there is a solution, lost in rounding
            inner = central_point(problem, block, None, self.tol)
            found = Point(inner.coefficients, inner.b, inner.rho, inner.u), 0
        if found is None:
            raise InfeasibleError(
                "No function of this kernel meets all constraints without errors: choose a finite price of errors, or "
                "a richer kernel."
            )
        point, n_iter = found
        return certify_point(
            problem,
            point,
            tol=self.tol,
            n_iter=n_iter,
            seconds=time.perf_counter() - began,
            kernel_evaluations=block.size,
        )


def vertex(
    problem: LinearProblem, block: np.ndarray, columns: np.ndarray, rows: np.ndarray, u: np.ndarray
) -> tuple[Point, int] | None:
    """A corner of the programme with some columns, and multipliers of some rows, at play; the steps it took.

    `block` has the kernel values of the columns at play, a mask of all, with the samples of all rows. `rows` is a mask
    too; the other multipliers stay what they are in u. None: it has no solution.
    """
    k, m = len(block), int(rows.sum())
    G = block[:, rows] * problem.sign[rows]
    others = np.where(rows, 0.0, u)
    settled = problem.sign * others - problem.pull
    already = block @ settled  # what the rows that are not at play add to the slopes
    # The tolerances of HiGHS are absolute: kernel values are given in units of the largest, multipliers in such of the
    # largest price, or of what it takes to reach the bound on a slope.
    reach = float(np.abs(block).max(initial=0.0)) or 1.0
    paid = float(problem.price[np.isfinite(problem.price)].max(initial=0.0)) or 1.0
    paid = paid if problem.unit else min(paid, 1.0 / reach)
    matrix, added = G / reach, already / (reach * paid)
    u_bounds = np.column_stack([np.zeros(m), problem.price[rows] / paid])
    limits, most = np.empty((0, m)), np.empty(0)
    if problem.unit:  # u, and the largest slope at the end
        both = [1.0, -1.0][: 1 + problem.signed]
        limits = np.concatenate([side * matrix for side in both])
        most = np.concatenate([-side * added for side in both])
        equations, totals = np.empty((0, m + 1)), np.empty(0)
        further, further_bounds = -np.ones((len(limits), 1)), np.array([[-np.inf, np.inf]])
        worth = reach  # of the objective for each unit of the multipliers
    else:  # u, and the slopes, which have bounds of their own
        equations, totals = np.hstack([matrix, -np.eye(k)]), -added
        edges = np.array([-1.0 if problem.signed else -np.inf, 1.0])
        further, further_bounds = np.empty((0, k)), np.tile(edges / (reach * paid), (k, 1))
        worth = 1.0
    if problem.reward is not None:
        limits, most = np.vstack([limits, -np.ones(m)]), np.append(most, (others.sum() - problem.reward) / paid)
        further = np.vstack([further, np.zeros(len(further_bounds))])
    balance = np.append(problem.sign[rows], np.zeros(len(further_bounds)))
    answer = linprog(
        np.append(-problem.target[rows] / worth, np.full(len(further_bounds), float(problem.unit))),
        A_eq=np.vstack([equations, balance]),
        b_eq=np.append(totals, -settled.sum() / paid),
        A_ub=np.hstack([limits, further]),
        b_ub=most,
        bounds=np.vstack([u_bounds, further_bounds]),
        method="highs-ds",
        options={
            "presolve": False,  # it finds nothing in dense constraints
            "primal_feasibility_tolerance": TOLERANCE,
            "dual_feasibility_tolerance": TOLERANCE,
        },
    )
    if answer.status != 0:
        return None
    # The coefficients are the multipliers of the constraints that the slopes must meet.
    of_equations, of_limits = -answer.eqlin.marginals, -answer.ineqlin.marginals
    coefficients = of_equations[:-1] / reach
    if problem.unit:
        coefficients = of_limits[:k] - (of_limits[k : 2 * k] if problem.signed else 0.0)
    coefficients = np.where(np.abs(coefficients) > ZERO * np.abs(coefficients).max(initial=0.0), coefficients, 0.0)
    rho = 0.0 if problem.reward is None else worth * float(of_limits[-1])
    multipliers = np.clip(paid * answer.x[:m], 0.0, problem.price[rows])
    found = Point(coefficients, worth * float(of_equations[-1]), rho, multipliers)
    # HiGHS has left out the smallest kernel values.
    found = refined(problem, rows, G, already, others, found)[0] or found
    a, everywhere = np.zeros(len(columns)), u.copy()
    a[columns], everywhere[rows] = found.a, found.u
    return Point(a, found.b, found.rho, everywhere), int(answer.nit)
