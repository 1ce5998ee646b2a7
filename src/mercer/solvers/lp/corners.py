"""Corners of a linear programme, from points close to them."""

import numpy as np
from scipy.linalg import lstsq

from mercer.problems import LinearProblem
from mercer.solvers.lp.interior import Interior
from mercer.solvers.lp.result import Point

__all__ = ["nearest_corner", "refined"]


def nearest_corner(problem: LinearProblem, block: np.ndarray, inner: Interior) -> Point | None:
    """The corner that an interior point tells, if it is close enough to the only optimum. [1]_

    Of every pair of variables whose product vanishes, the one that is larger in its own units stays. `block` has the
    kernel values of the columns at play; None where the equations of the corner have several solutions, or none nearby.

    References
    ----------
    .. [1] Y. Ye, On the finite convergence of interior-point algorithms for linear programming, Mathematical
       Programming 57, 1992.
    """
    price, size = problem.price, float(np.maximum(inner.r, inner.xi).max())
    a, reward = inner.coefficients, problem.reward or 0.0
    used = (inner.a / inner.a.max() > inner.z / inner.z.max()).any(axis=0)
    off_zero, off_price = inner.u / price > inner.r / size, inner.w / price > inner.xi / size
    u = np.where(off_zero, np.where(off_price, inner.u, price), 0.0)
    rho = inner.rho if inner.rho / size * reward > inner.q else 0.0
    guess = Point(np.where(used, a, 0.0), inner.b, rho, u)
    none = np.zeros(len(u))
    corner, unique = refined(problem, none == 0, block * problem.sign, -(block @ problem.pull), none, guess)
    return corner if unique else None


def refined(
    problem: LinearProblem, rows: np.ndarray, G: np.ndarray, already: np.ndarray, others: np.ndarray, corner: Point
) -> tuple[Point | None, bool]:
    """A step of Newton's method on the equations that make a corner, and whether these have one solution only.

    Rows whose multiplier is between its bounds hold with equality, columns with a coefficient have the largest slope.
    G has the columns and rows at play; multipliers of the other rows are in `others`, zeros elsewhere, and what they
    and the pull add to the slopes is `already`. None where the step is no small one: the corner is another.
    """
    a, b, rho, u = corner
    used, between = a != 0, (u > 0) & (u < problem.price[rows])
    sign, M = problem.sign[rows][between], G[np.ix_(used, between)].T
    edge, banded = np.sign(a[used]), rho > 0
    # Of the function: a, b and rho.
    left = np.column_stack([M, sign, *([-np.ones(len(M))] if banded else [])])
    right = problem.target[rows][between] - (M @ a[used] + sign * b - rho)
    if problem.unit:
        left = np.vstack([left, np.append(edge, np.zeros(left.shape[1] - len(edge)))])
        right = np.append(right, 1.0 - np.abs(a).sum())
    change, _, rank, _ = lstsq(left, right, lapack_driver="gelsy")
    unique = rank == len(left) == left.shape[1]
    better = a.copy()
    better[used] += change[: len(edge)]
    # Of the multipliers: u and, with `unit`, the largest slope.
    slopes = G[used] @ u + already[used]
    largest = float(np.mean(edge * slopes)) if problem.unit and len(edge) else 1.0
    left = np.vstack([M.T, sign, *([np.ones(len(M))] if banded else [])])
    balance = float((problem.pull - problem.sign * others).sum()) - float(problem.sign[rows] @ u)
    right = np.append(edge * largest - slopes, balance)
    if problem.unit:
        left = np.column_stack([left, np.concatenate([-edge, np.zeros(len(left) - len(edge))])])
    if banded:
        right = np.append(right, (problem.reward or 0.0) - float(others.sum()) - float(u.sum()))
    moved = u.copy()
    moved[between] += lstsq(left, right, lapack_driver="gelsy")[0][: len(M)]
    if (np.sign(better) != np.sign(a)).any() or (moved < 0).any() or (moved > problem.price[rows]).any():
        return None, unique
    return Point(better, b + float(change[len(edge)]), rho + float(change[-1]) if banded else rho, moved), unique
