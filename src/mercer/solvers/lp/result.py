"""Points of a linear programme and its dual, and what they prove."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from mercer.problems import LinearProblem
from mercer.solvers.base import Certificate, History, summary

__all__ = ["LinearCertificate", "LinearResult", "Point", "allowed_gap", "certify_point", "combine_linear"]

# A gap below this share of the scale of a problem is rounding: an objective may be zero.
ROUNDING = 1e-12


class Point(NamedTuple):
    """A function, and multipliers, none of which need be feasible."""

    a: np.ndarray
    b: float
    rho: float
    u: np.ndarray


@dataclass(frozen=True, eq=False)
class LinearCertificate(Certificate):
    """The proof of how good the solutions of linear programmes are; what is minimised is what the machine minimises."""

    parts: tuple["LinearResult", ...] = field(default=(), repr=False, kw_only=True)
    """Results of the problems that this one sums up."""

    @property
    def primal_objective(self) -> float:
        """What the machine minimises."""
        return self.objective

    @property
    def dual_objective(self) -> float:
        """What its dual maximises."""
        return self.bound


@dataclass(frozen=True, eq=False)
class LinearResult(LinearCertificate):
    """The solution of a `LinearProblem` and the proof of how good it is."""

    a: np.ndarray = field(repr=False)
    """The coefficients, one for each column of the problem."""
    b: float
    """The offset."""
    rho: float
    """Half the width of the band, 0 where the problem has none."""
    u: np.ndarray = field(repr=False)
    """The multipliers, one for each row: a feasible point of the dual, whose value is `bound`."""
    f: np.ndarray = field(repr=False)
    """The function at the sample of each row."""


def combine_linear(results: Sequence[LinearResult]) -> LinearCertificate:
    """One certificate for several independent problems."""
    return results[0] if len(results) == 1 else LinearCertificate(**vars(summary(results)), parts=tuple(results))


def allowed_gap(problem: LinearProblem, objective: float, tol: float) -> float:
    """The largest gap that counts as a relative one of `tol`; the objective may be zero."""
    return tol * abs(objective) + ROUNDING * problem.scale


def certify_point(
    problem: LinearProblem,
    point: Point,
    *,
    tol: float,
    n_iter: int,
    seconds: float,
    kernel_evaluations: int,
    status: str = "stalled",
    history: History | None = None,
) -> LinearResult:
    """The result for a function and multipliers, with everything that it says computed afresh in float64.

    The multipliers are made feasible first; `status` is what is said where the gap is larger than `tol` allows.
    """
    f = problem.values(point.a, point.b)
    objective, broken = problem.objective(point.a, point.rho, f), problem.violation(point.a, point.rho, f)
    balanced = problem.balanced(point.u)
    u, bound = problem.bound(balanced, problem.slopes(balanced))
    gap = objective - bound
    if gap <= allowed_gap(problem, objective, tol) and broken <= max(tol, ROUNDING):
        status = "solved"
    if status == "solved" and problem.reward is not None and point.rho <= 1e-10 * problem.size:
        status = "degenerate"
    if history is None:
        history = History(*(np.array([value]) for value in (n_iter, bound, gap, broken)))
    history.objective[-1:], history.gap[-1:], history.violation[-1:] = bound, gap, broken
    return LinearResult(
        objective=objective,
        bound=bound,
        gap=gap,
        violation=broken,
        n_iter=n_iter,
        status=status,
        seconds=seconds,
        precision="float64",
        kernel_evaluations=kernel_evaluations,
        imbalance=problem.imbalance(u),
        history=history,
        a=point.a,
        b=point.b,
        rho=point.rho,
        u=u,
        f=f,
    )
