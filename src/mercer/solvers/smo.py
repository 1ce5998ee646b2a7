"""Sequential minimal optimisation, native."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone

from mercer import _native
from mercer.errors import NotSeparableError
from mercer.gram.memory import check_memory, memory_budget
from mercer.parameters import Choice, Number, check_parameters
from mercer.problems import DualProblem, DualProblems, Standing, hull_distance
from mercer.segments import Segments
from mercer.solvers.base import Callback, History, Progress, SolverResult, SolverResults
from mercer.threads import effective_n_threads

__all__ = ["SMO", "after"]

# A hard margin is suspected to be none when |w| / sum(a), an upper bound on it, falls below this fraction of
# the largest |phi(x)|, and declared to be none below the second one.
SUSPECT_MARGIN = 1e-2
NO_MARGIN = 1e-6
# A nu margin, or the distance of a class from the origin, is taken to be zero below this fraction of the size of the
# data in feature space.
FLAT = 1e-4
# Steps after which a margin that has not settled is taken to be zero.
EXTRA_STEPS = 500_000
NOT_SEPARABLE = (
    f"The classes are not separable with this kernel: no margin above {NO_MARGIN:g} times the largest feature norm "
    "exists, and the dual of the hard margin is unbounded. Choose a finite C or a richer kernel."
)
# Steps after which a run ends by itself: LIBSVM's rule. Nothing spins for ever.
STEPS, STEPS_PER_VARIABLE = 10_000_000, 100
# How often a smaller violation may be asked for, each time by this factor, until gap and violation are as wanted.
TIGHTENINGS, TIGHTER = 12, 0.2
# By their numbers in native code.
STATUS_NAMES = np.array(_native.status_names(), dtype=object)


class SMO(BaseEstimator):
    """Sequential minimal optimisation on blocks, with a certificate. [CY §1.5]

    The points that violate the optimality conditions most form a block whose kernel matrix lies in memory; in
    it, pairs of variables (single ones where there is no equality) are optimised until the block is settled,
    and the gradient of all other points follows in one pass over freshly made kernel rows. Where pairs crawl
    (large C), Newton steps on the free variables of the block take over. Rows are float32, everything else is
    float64. When all points are settled, the gradient is computed afresh in float64 wherever the certificate
    depends on it; if that shows a violation above `tol`, the run goes on from there, in float64 rows if float32
    is too coarse. The result does not depend on threads or memory.

    Parameters
    ----------
    tol : float > 0, default=1e-3
        Largest violation of the optimality conditions [CY eq 1.61], in the unit of the problem (`DualProblem.unit`).
        Larger is faster and less exact.
    gap_tol : float > 0 or None, default=None
        Largest relative duality gap; None leaves it to `tol`.
    pair_rule : {"gain", "violation"}, default="gain"
        The second variable of a pair: the one with the largest gain [CY eq 1.60] or the most violating one
        [CY eq 1.58].
    shrinking : bool, default=True
        Leave out points that have settled at a bound; they are checked before the run ends.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values, see `mercer.gram.memory_budget`.
    max_iter : int >= 1 or None, default=None
        Most steps; None means ten million, or a hundred per variable if that is more.
    max_seconds : float > 0 or None, default=None
        Most wall-clock time.
    n_threads : int or None, default=None
        See `mercer.threads.effective_n_threads`.
    precision : {"auto", "float64"}, default="auto"
        Precision of the working rows.

    See Also
    --------
    Decomposition : The same with blocks of a given size.
    SimpleSMO : The same algorithm in a page of NumPy, for reading.

    Notes
    -----
    A step costs O(block); a pass costs O(n) kernel values for every point that moved. Memory is O(n) plus the
    block's matrix plus one float32 copy of dense vectors; rows are kept in memory, within the budget, where
    they are dearer to compute than to fetch. Time is between O(n d n_support) and O(n^2 d) for the usual
    parameters and grows with C.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, eqs. 1.51-1.61.
    .. [2] R.-E. Fan, P.-H. Chen, C.-J. Lin, Working set selection using second order information for training
       support vector machines, JMLR 6, 2005.
    .. [3] K. Scheinberg, An efficient implementation of an active set method for SVMs, JMLR 7, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import MatrixGram
    >>> from mercer.problems import soft_margin
    >>> from mercer.solvers import SMO
    >>> X = np.array([[0.0], [2.0]])
    >>> problem = soft_margin(MatrixGram(X @ X.T), np.array([-1.0, 1.0]), np.array([10.0, 10.0]))
    >>> SMO().solve(problem).a
    array([0.5, 0.5])
    """

    _parameters: ClassVar[dict[str, Any]] = {
        "tol": Number(0, above=True),
        "gap_tol": Number(0, above=True, none=True),
        "pair_rule": Choice("gain", "violation"),
        "shrinking": Choice(True, False),
        "max_iter": Number(1, integer=True, none=True),
        "max_seconds": Number(0, above=True, none=True),
        "precision": Choice("auto", "float64"),
    }

    _block: int = 0  # points in a block; 0: the engine decides

    def __init__(
        self,
        *,
        tol=1e-3,
        gap_tol=None,
        pair_rule="gain",
        shrinking=True,
        memory="auto",
        max_iter=None,
        max_seconds=None,
        n_threads=None,
        precision="auto",
    ):
        self.tol = tol
        self.gap_tol = gap_tol
        self.pair_rule = pair_rule
        self.shrinking = shrinking
        self.memory = memory
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.n_threads = n_threads
        self.precision = precision

    def check(self, problem: DualProblem) -> None:
        """Every `DualProblem` will do; the parameters are checked."""
        check_parameters(self)
        check_memory(self.memory)

    def solve(
        self, problem: DualProblem, start: np.ndarray | None = None, callback: Callback | None = None
    ) -> SolverResult:
        """Solve one problem on all threads.

        Parameters
        ----------
        problem : DualProblem
        start : array of shape (n_variables,), default=None
            A first point; it is made feasible if it is not.
        callback : callable, default=None
            Called with a `Progress` now and then; a true value stops the run.

        Returns
        -------
        SolverResult

        Raises
        ------
        NotSeparableError
            If the problem is a hard margin and the classes overlap.
        """
        return self.solve_many([problem], [start], callback)[0]

    def solve_many(
        self,
        problems: Sequence[DualProblem],
        starts: Sequence[np.ndarray | None] | np.ndarray | None = None,
        callback: Callback | None = None,
        *,
        steps: int = 1,
        width: int = 1,
        rough: bool = False,
        seconds: float = np.inf,
        finished: Callable[[int], object] | None = None,
    ) -> Sequence[SolverResult]:
        """Solve problems over one Gram matrix in one native call, threads across problems.

        `starts` has a first point, or None, for each of them, or is an array of all variables one after the other,
        which must be feasible. With a callback, or a kernel in Python, they are solved one after the other. Parameters
        as in `solve`; `DualProblems` are solved without Python for each of them, and their results made when somebody
        looks at one.

        Every `steps` neighbouring problems are a path: the same variables with other bounds or prices, where each
        problem begins at the solution of the one before, if a multiple of that is feasible. Of more than one path side
        by side, `width` of them, come all first problems, then all second ones, and so on. A path has a thread.

        `rough` is for those who want decision values within `tol` and no proof: where the rounding of float32 rows is
        below a quarter of it, by an estimate that some samples test, gradients and certificates are left at that. All
        problems together take no more than so many `seconds`, as if each had run into its own limit; `finished` is told
        now and then how many are done.
        """
        if not len(problems):
            return []
        self.check(problems[0])
        batch = DualProblems.of(problems)
        if starts is not None and not isinstance(starts, np.ndarray) and len(starts) != len(batch):
            raise ValueError(
                f"solve_many needs a start, or None, for each of {len(batch)} problems, got {len(starts)}."
            )
        paths = {"steps": steps, "width": width, "rough": rough, "seconds": seconds, "finished": finished}
        results = self._run(batch, batch.feasible(starts), callback, paths=paths)
        settled = self._settled(batch, results)
        if isinstance(problems, DualProblems) and settled.all():
            return results
        return [r if settled[k] else self._settle(problems[k], r, callback) for k, r in enumerate(results)]

    def _run(
        self,
        problems: DualProblems,
        points: np.ndarray,
        callback: Callback | None,
        *,
        unbounded_ratio: float = SUSPECT_MARGIN,
        paths: dict[str, Any] | None = None,
    ) -> SolverResults:
        """The native call."""
        largest = int(problems.parts.sizes.max())
        report = None if callback is None else (lambda *told: callback(Progress(*told)))
        a, gradient, numbers, counts, records, starts = _native.solve_many(
            problems.gram.native(),
            problems.native(),
            points,
            self.tol,
            self.pair_rule,
            self._most_steps(largest),
            np.inf if self.max_seconds is None else float(self.max_seconds),
            bool(self.shrinking),
            self.precision == "float64",
            unbounded_ratio,
            memory_budget(self.memory),
            effective_n_threads(self.n_threads),
            "",
            report,
            block=self._block,
            **(paths or {}),
        )
        objective, gap, violation, imbalance, plus, minus, seconds = numbers.T
        n_iter, evaluations, status, full = counts.T
        status = STATUS_NAMES[status]
        if problems.gram.definite:
            unproved = status == "indefinite"
        else:  # nothing is bounded
            unproved, status = np.ones(len(status), dtype=bool), np.where(status == "solved", "indefinite", status)
        records[:, 1] *= -1.0
        records[starts[1:][unproved] - 1, 2] = np.inf
        return SolverResults(
            variables=problems.parts,
            a=a,
            gradient=gradient,
            objective=objective.copy(),
            gap=np.where(unproved, np.inf, gap),
            violation=violation.copy(),
            imbalance=imbalance.copy(),
            offsets=np.column_stack([plus, minus]),
            seconds=seconds.copy(),
            n_iter=n_iter.copy(),
            kernel_evaluations=evaluations.copy(),
            status=status,
            precision=np.where(full, "float64", "float32").astype(object),
            records=records,
            runs=Segments(starts),
            margin=np.full(len(problems), np.nan),
        )

    def _settled(self, problems: DualProblems, results: SolverResults) -> np.ndarray:
        """Which problems need no second look, by their certificates alone: see `_settle`, which would find the same."""
        # Their unit is 1, and they have a linear term.
        plain = (problems.wanted >= 1.0) & ~problems.scaled
        good = (results.status == "solved") & (results.violation <= self.tol)
        if self.gap_tol is not None:
            good &= results.gap <= self.gap_tol * np.abs(results.objective)
        return plain & good

    def _most_steps(self, n_variables: int) -> int:
        return max(STEPS, STEPS_PER_VARIABLE * n_variables) if self.max_iter is None else int(self.max_iter)

    def _settle(self, problem: DualProblem, result: SolverResult, callback: Callback | None) -> SolverResult:
        """The result, after the second looks that some problems need."""
        if result.status == "unbounded":
            result = self._separate(problem, result, callback)
        tol, enough = self.tol, result.n_iter + EXTRA_STEPS + STEPS_PER_VARIABLE * len(problem.index)
        for _ in range(TIGHTENINGS):
            if result.status != "solved":
                return result
            if is_flat(problem, result):
                return replace(result, status="degenerate")
            if self._content(problem, result):
                return result
            tol *= TIGHTER
            if not problem.scaled:  # the unit is known; a margin is found only as the solver settles
                tol = min(tol, 0.5 * self.tol * _unit(problem, result))
            limits = {"max_iter": enough} if problem.scaled and self.max_iter is None else {}
            result = self._go_on(problem, result, result.a, callback, tol=tol, **limits)
            if limits and result.status == "max_iter":  # our limit, not the caller's
                result = replace(result, status="solved")
                break
        if result.status != "solved" or self._content(problem, result):
            return result
        # A margin that keeps shrinking while the solver settles is none.
        unsettled = problem.scaled and result.violation > self.tol * _unit(problem, result)
        return replace(result, status="degenerate" if unsettled else "stalled")

    def _content(self, problem: DualProblem, result: SolverResult) -> bool:
        """Whether the violation, in the unit of the problem, and the gap are as small as wanted."""
        small_violation = result.violation <= self.tol * _unit(problem, result)
        return small_violation and (self.gap_tol is None or result.relative_gap <= self.gap_tol)

    def _go_on(
        self,
        problem: DualProblem,
        before: SolverResult,
        start: np.ndarray,
        callback: Callback | None,
        *,
        unbounded_ratio: float = 0.0,
        **parameters: Any,
    ) -> SolverResult:
        """Another run, with what is left of the steps and the time; the result covers both runs."""
        solver = clone(self).set_params(**parameters)
        solver.set_params(max_iter=max(1, solver._most_steps(len(problem.index)) - before.n_iter))
        if self.max_seconds is not None:
            solver.set_params(max_seconds=max(1e-9, self.max_seconds - before.seconds))
        (result,) = solver._run(DualProblems.of([problem]), start, callback, unbounded_ratio=unbounded_ratio)
        return after(before, result)

    def _separate(self, problem: DualProblem, before: SolverResult, callback: Callback | None) -> SolverResult:
        """A hard margin whose multipliers run away: is there one at all?

        The nearest points of the convex hulls of the classes tell. With w their difference, the margin is |w| / 2, and
        its multipliers are those of the hulls times 2 / |w|^2: the run goes on from there. Without an offset the hulls
        say nothing; the run goes on until the margin is found or shown to be negligible.
        """
        scale = float(problem.gram.diag()[problem.index].max())
        if problem.total is None:
            return self._bounded(
                self._go_on(problem, before, before.a, callback, precision="float64", unbounded_ratio=NO_MARGIN)
            )
        hull = hull_distance(problem)
        tol = NO_MARGIN**2 * max(scale, np.finfo(float).tiny)
        found = self._go_on(hull, before, hull.feasible(), callback, precision="float64", tol=tol)
        squared_distance = hull.squared_norm(found.a, found.gradient)
        if squared_distance <= (2 * NO_MARGIN) ** 2 * scale:
            raise NotSeparableError(NOT_SEPARABLE)
        start = problem.feasible(found.a * 2.0 / squared_distance)
        between = replace(found, history=before.history)  # the W of the hulls is another one
        return self._bounded(self._go_on(problem, between, start, callback, precision="float64"))

    @staticmethod
    def _bounded(result: SolverResult) -> SolverResult:
        if result.status == "unbounded":
            raise NotSeparableError(NOT_SEPARABLE)
        return result


def _unit(problem: DualProblem, result: SolverResult) -> float:
    return problem.unit(result.a, result.offsets)


def is_flat(problem: DualProblem, result: SolverResult | Standing) -> bool:
    """Whether w is nothing but what the solver has not yet removed: see `negligible`."""
    if problem.linear.any():
        return False
    return problem.squared_norm(result.a, result.gradient) <= negligible(problem, result.a)


def negligible(problem: DualProblem, a: np.ndarray) -> float:
    """The squared norm up to which the w of a problem without a linear term is nothing.

    Such problems look for the shortest w: the distance of two reduced hulls (nu margin) or of one from the origin (one
    class), times the sum of the multipliers of a hull. It is compared with the size of the data in feature space, seen
    from their centre or from the origin.
    """
    squared_size, mass = problem.spread.square, float(a.sum())
    if problem.equality == "per_sign":
        squared_size, mass = problem.spread.variance, 0.5 * mass
    return (FLAT * mass) ** 2 * squared_size


def after(before: SolverResult, result: SolverResult) -> SolverResult:
    """The result of a run, together with what was done before it."""
    earlier, later = before.history, result.history
    return replace(
        result,
        n_iter=before.n_iter + result.n_iter,
        kernel_evaluations=before.kernel_evaluations + result.kernel_evaluations,
        seconds=before.seconds + result.seconds,
        history=History(
            np.concatenate([earlier.iteration, later.iteration + before.n_iter]),
            np.concatenate([earlier.objective, later.objective]),
            np.concatenate([earlier.gap, later.gap]),
            np.concatenate([earlier.violation, later.violation]),
        ),
    )
