"""Column generation: a linear programme over the few coefficients that it needs."""

import time
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from mercer.parameters import Number, check_parameters
from mercer.problems import LinearProblem
from mercer.solvers.base import History
from mercer.solvers.lp.corners import nearest_corner
from mercer.solvers.lp.highs import HiGHS, vertex
from mercer.solvers.lp.interior import Interior, central_point
from mercer.solvers.lp.result import LinearResult, Point, allowed_gap, certify_point

__all__ = ["ColumnGeneration"]

ROUNDS = 200
# Columns to start with, and the fewest that are looked for in a round.
COLUMNS = 60
# A round adds at most so many columns for each that there is; where that makes more than half of not more than so many
# columns, all of them.
GROWTH, FEW_THOUSAND = 0.5, 3000
# A column is dropped if its slope is below the first share of the bound and its coefficient below the second share of
# the largest; one above the third may come in, or be part of a corner.
LOW_SLOPE, SMALL, NEAR = 0.9, 1e-2, 0.97
# From this relative gap on a corner is in sight.
IN_SIGHT = 1e-3
# Interior points are found to this share of the gap, and between these limits.
SHARE_OF_GAP, ROUGH, FINE = 0.1, 0.1, 1e-6
# Those that are to tell a corner, to this.
FINEST = 1e-8
# A round that leaves more of the gap than this share, and few columns to add, calls for finer points.
PROGRESS = 0.7
# Multipliers this far from both bounds, in units of the price, are at play.
BETWEEN = 1e-2
# Slopes and margins that are off by less are as they should be.
EXACT = 1e-9
# Prices that stand for infinite ones, in units of one over the size of the kernel.
PENALTIES = (1e3, 1e6)


class ColumnGeneration(BaseEstimator):
    """A linear programme over the columns that it needs, found by their reduced costs. [1]_

    A programme over some of the columns has multipliers u, which say by the slope of every other column what its
    coefficient would be worth: all of them come from one product with the kernel matrix, which is never stored. The
    columns worth most enter, those worth little leave. The programmes of these rounds are solved by a primal-dual
    interior point method, roughly at first, each from the point before: the central multipliers that it gives move
    steadily, where those of corners jump [2]_. When the duality gap of the whole problem, for which the multipliers are
    scaled until all slopes are allowed, is small, a finer point tells the columns that have a coefficient and the rows
    that hold with equality, whose equations are those of the corner [3]_. Where they have several solutions, as for
    samples that are there twice, HiGHS finds a corner among the columns and rows in doubt; whatever does not fit there
    joins them, until nothing does.

    Parameters
    ----------
    tol : float > 0, default=1e-6
        Largest relative duality gap; the corner that ends the search is usually far below it.
    max_iter : int >= 1, default=200
        Most rounds.
    max_seconds : float > 0 or None, default=None
        Most seconds, looked at after every round.

    See Also
    --------
    HiGHS : All at once.

    Notes
    -----
    O(m k^2) per interior step for m rows and k columns at play, k being some times the number of coefficients that are
    not zero; O(m k) memory. Of up to 3000 columns all come into play where more than half would: the search for the
    others would take longer. Infinite prices are replaced by large ones, and what then still errs goes to `HiGHS`.

    References
    ----------
    .. [1] A. Demiriz, K. Bennett, J. Shawe-Taylor, Linear programming boosting via column generation, Machine Learning
       46, 2002.
    .. [2] J. Gondzio, P. González-Brevis, P. Munari, New developments in the primal-dual column generation technique,
       European Journal of Operational Research 224, 2013.
    .. [3] Y. Ye, On the finite convergence of interior-point algorithms for linear programming, Mathematical
       Programming 57, 1992.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import make_gram
    >>> from mercer.kernels import RBF
    >>> from mercer.problems import lp_margin
    >>> from mercer.solvers import ColumnGeneration
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> sign = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    >>> result = ColumnGeneration().solve(lp_margin(make_gram(RBF(gamma=1.0), X), sign, np.ones(500)))
    >>> result.status, bool(np.count_nonzero(result.a) < 50)
    ('solved', True)
    """

    _parameters: ClassVar[dict[str, Any]] = {
        "tol": Number(0, above=True),
        "max_iter": Number(1, integer=True),
        "max_seconds": Number(0, above=True, none=True),
    }

    def __init__(self, *, tol=1e-6, max_iter=ROUNDS, max_seconds=None):
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds

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
        hard = np.isinf(problem.price)
        if not hard.any():
            return _Search(self, problem, problem, began).run()
        for price in _penalties(problem):
            softened = replace(problem, price=np.where(hard, price, problem.price))
            result = _Search(self, softened, problem, began).run()
            if result.status != "stalled" or not problem.slack(result.f, result.rho)[hard].any():
                return result
        return HiGHS(tol=self.tol).solve(problem)


def _penalties(problem: LinearProblem) -> tuple[float, ...]:
    """Prices that are as good as infinite, if the multipliers do not reach them."""
    pull = float(problem.pull.sum())
    if pull > 0 and (problem.sign > 0).all():
        return (2.0 * pull,)  # the multipliers add up to half of that
    reach = float(np.abs(problem.gram.diag()).max(initial=0.0)) or 1.0
    return tuple(penalty / reach for penalty in PENALTIES)


class _Search:
    """One run: `problem` has finite prices, `asked` is what the certificate is for."""

    def __init__(self, solver: ColumnGeneration, problem: LinearProblem, asked: LinearProblem, began: float):
        self.solver, self.problem, self.asked, self.began = solver, problem, asked, began
        k = len(problem.columns)
        # A column that has come back is not dropped again: the search ends.
        self.at_play, self.dropped, self.came_back = np.zeros((3, k), dtype=bool)
        self.numbers = np.empty(0, dtype=np.int64)
        self.block = np.empty((0, len(problem.rows)))
        self.kernel_evaluations = 0
        self.best = np.inf, -np.inf  # objective and bound
        self.proved = False  # whether the last point is as good as was asked for
        self.record: list[tuple[float, float, float]] = []
        self._add(np.unique(np.linspace(0, k - 1, min(k, COLUMNS)).astype(np.int64)))

    # --- columns --------------------------------------------------------------------------------------------

    def _add(self, numbers: np.ndarray) -> None:
        fresh = self.problem.gram.rows(self.problem.columns[numbers])
        self.kernel_evaluations += fresh.size
        self.block = np.concatenate([self.block, fresh[:, self.problem.rows]])
        self.numbers = np.concatenate([self.numbers, numbers])
        self.at_play[numbers] = True
        self.came_back[numbers] |= self.dropped[numbers]

    def _keep(self, kept: np.ndarray) -> None:
        kept[0] |= not kept.any()  # also where no column is worth anything
        self.at_play[self.numbers[~kept]], self.dropped[self.numbers[~kept]] = False, True
        self.block, self.numbers = self.block[kept], self.numbers[kept]

    # --- what a point is worth ------------------------------------------------------------------------------

    def _judge(self, point: Point) -> tuple[np.ndarray, np.ndarray]:
        """The function at all rows and the sizes of all slopes, in units of what is allowed; notes the best so far."""
        problem = self.problem
        f = self.block.T @ point.a[self.numbers] + point.b
        u = problem.balanced(point.u)
        slopes = problem.slopes(u)
        self.kernel_evaluations += problem.gram.n * len(problem.columns)
        objective, bound = problem.objective(point.a, point.rho, f), problem.bound(u, slopes).bound
        self.best = min(self.best[0], objective), max(self.best[1], bound)
        self.proved = objective - bound <= allowed_gap(problem, objective, self.solver.tol)
        sizes = problem.size_of(slopes)
        if problem.unit:
            inside = sizes[self.numbers]
            # Within rounding of the largest slope among the columns at play, which those outside may not exceed.
            sizes = 1.0 + (sizes - inside.max()) / (np.abs(slopes).max() or 1.0)
        self.record.append((self.best[1], self.gap, float(max(0.0, sizes.max() - 1.0))))
        return f, sizes

    @property
    def gap(self) -> float:
        return self.best[0] - self.best[1]

    @property
    def relative_gap(self) -> float:
        return self.gap / allowed_gap(self.problem, self.best[0], 1.0)

    def _limit(self) -> str | None:
        solver = self.solver
        if len(self.record) >= solver.max_iter:
            return "max_iter"
        if solver.max_seconds is not None and time.perf_counter() - self.began >= solver.max_seconds:
            return "max_seconds"
        return None

    # --- the search -----------------------------------------------------------------------------------------

    def run(self) -> LinearResult:
        inner, point, f, sizes = self._approach()
        status = self._limit()
        if status is None:
            point, status = self._jump(inner) or self._corner(point, f, sizes)
        objective, gap, violation = np.array(self.record).T
        return certify_point(
            self.asked,
            point,
            tol=self.solver.tol,
            n_iter=len(self.record),
            seconds=time.perf_counter() - self.began,
            kernel_evaluations=self.kernel_evaluations,
            status=status,
            history=History(np.arange(1, len(gap) + 1), objective, gap, violation),
        )

    def _of_all(self, coefficients: np.ndarray, *others: Any) -> Point:
        """A point of the columns at play among all columns."""
        a = np.zeros(len(self.problem.columns))
        a[self.numbers] = coefficients
        return Point(a, *others)

    def _approach(self) -> tuple[Interior, Point, np.ndarray, np.ndarray]:
        """Rounds of interior points, until a corner is in sight."""
        problem, start, wanted, before = self.problem, None, ROUGH, np.inf
        while True:
            inner = central_point(problem, self.block, start, wanted)
            point = self._of_all(inner.coefficients, inner.b, inner.rho, inner.u)
            f, sizes = self._judge(point)
            worthy = np.flatnonzero((sizes > 1.0) & ~self.at_play)
            settled = not len(worthy) and wanted <= FINE
            if self.relative_gap <= IN_SIGHT or settled or self._limit():
                return inner, point, f, sizes
            room = max(COLUMNS, int(GROWTH * len(self.numbers)))
            stuck = len(worthy) <= room and self.relative_gap > PROGRESS * before
            finer = SHARE_OF_GAP * (wanted if stuck else self.relative_gap)
            wanted, before = float(np.clip(finer, FINE, wanted)), self.relative_gap
            close = np.flatnonzero((sizes > NEAR) & ~self.at_play)
            fresh = close[np.argsort(-sizes[close], kind="stable")[:room]]
            if 2 * (len(self.numbers) + len(fresh)) > len(problem.columns) <= FEW_THOUSAND:
                fresh, wanted = np.flatnonzero(~self.at_play), FINE  # the rest costs less than the search for it
            else:
                large = np.abs(inner.coefficients) > SMALL * np.abs(inner.coefficients).max(initial=0.0)
                self._keep(large | (sizes[self.numbers] > LOW_SLOPE) | self.came_back[self.numbers])
            self._add(fresh)
            start = point._replace(a=point.a[self.numbers])

    def _jump(self, inner: Interior) -> tuple[Point, str] | None:
        """The corner that finer interior points tell; None where they do not."""
        start: Interior | Point = inner
        while True:
            inner = central_point(self.problem, self.block, start, FINEST)
            corner = nearest_corner(self.problem, self.block, inner)
            if corner is None:
                return None
            point = self._of_all(*corner)
            _, sizes = self._judge(point)
            if self.proved:
                return point, "stalled"  # unless its certificate says more
            worthy = np.flatnonzero((sizes > 1.0 + EXACT) & ~self.at_play)
            if not len(worthy) or self._limit():
                return None
            self._add(worthy)
            start = corner._replace(a=point.a[self.numbers])

    def _corner(self, point: Point, f: np.ndarray, sizes: np.ndarray) -> tuple[Point, str]:
        """The corner near a point, among the columns and rows that are in doubt there."""
        problem = self.problem
        large = np.abs(point.a) > SMALL * np.abs(point.a).max(initial=0.0)
        columns = large | (sizes > NEAR)
        ahead = problem.sign * f - problem.target - point.rho
        share = point.u / problem.price
        n_rows = int(columns.sum()) + COLUMNS  # as many hold with equality as there are columns
        rows = (share > BETWEEN) & (share < 1.0 - BETWEEN)
        rows[np.argsort(np.abs(ahead), kind="stable")[:n_rows]] = True
        settled = np.where(ahead < 0, problem.price, 0.0)
        while True:
            self._keep(columns[self.numbers])
            self._add(np.flatnonzero(columns & ~self.at_play))
            order = np.argsort(self.numbers)  # that of the mask
            self.block, self.numbers = self.block[order], self.numbers[order]
            found = vertex(problem, self.block, columns, rows, np.where(rows, 0.0, settled))
            if found is None:  # what was taken for settled is not
                if rows.all() and columns.all():
                    return point, "stalled"
                n_rows *= 2
                rows[np.argsort(np.abs(ahead), kind="stable")[:n_rows]] = True
                columns |= sizes >= np.sort(sizes)[-min(len(sizes), n_rows)]
                continue
            point = found[0]
            f, sizes = self._judge(point)
            ahead = problem.sign * f - problem.target - point.rho
            wrong = ~rows & (np.where(settled > 0, ahead, -ahead) > EXACT * problem.size_of_values(f))
            worthy = ~columns & (sizes > 1.0 + EXACT)
            if not (wrong.any() or worthy.any()) or self.proved:
                return point, "stalled"  # unless its certificate says more
            if limit := self._limit():
                return point, limit
            rows, columns = rows | wrong, columns | worthy
