"""Sequential minimal optimisation of some samples at a time, with passes over all of them."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from mercer.parameters import Number
from mercer.problems import DualProblem, DualProblems, Standing
from mercer.solvers.base import Callback, History, Progress, SolverResult, certify
from mercer.solvers.smo import SMO, is_flat

__all__ = ["StreamingSMO"]

# A part is solved to this part of what is wrong with the whole, and to this part of tol in the end: what it leaves is
# not to be taken for a violation of the others.
PART_ACCURACY, LAST_ACCURACY = 0.1, 0.3
# Smaller parts than that are not worth a pass.
SMALLEST_PART = 256
# Some samples stand for all at first: how exactly their problem is solved, with how many steps for a variable, and
# which share of all variables their functions leave undecided, be the band not narrower than this part of all slopes.
FIRST_TOL, FIRST_STEPS, UNDECIDED, NARROWEST, SEED = 0.1, 20, 0.01, 1e-3, 0
# How often a smaller violation may be asked for, each time by this factor, until gap and violation are as wanted; so
# often a part may bring nothing, too.
TIGHTENINGS, TIGHTER = 12, 0.2
LIMITS = ("max_iter", "max_seconds", "stopped")


class StreamingSMO(SMO):
    r"""SMO of some samples at a time, with passes over all of them: for more than memory holds. [B §7.1.1]

    Only the samples that are worked on are in memory, with numbers for all. Some samples stand for all at first, and
    their functions say which multipliers are likely to lie at which bound. Then, round by round,

    1. one pass over all samples brings the decision values :math:`f = K (s a)` up to date, by the multipliers that have
       changed; from them follow objective, bound, gap and violation over all samples (`mercer.problems.Standing`);
    2. if these are as good as wanted, this is the certificate;
    3. the samples that violate the optimality conditions most and those next to the margin are fetched, as many as
       there is room for, and all whose multipliers are between their bounds. All others stay where they are, be it at
       zero or at the upper bound: what these add to the gradient is a constant vector;
    4. `SMO` solves the problem of those from the point where they are.

    Parameters
    ----------
    tol : float > 0, default=1e-3
        Largest violation of the optimality conditions [CY eq 1.61], in the unit of the problem (`DualProblem.unit`).
        Larger is faster and less exact.
    gap_tol : float > 0 or None, default=None
        Largest relative duality gap; None leaves it to `tol`.
    size : int >= 2 or None, default=None
        So many samples at least are worked on together; None: as many as `memory` has room for. More means fewer
        passes.
    pair_rule, shrinking, precision
        As those of `SMO`.
    memory : float > 0 or "auto", default="auto"
        Megabytes for samples that are worked on and their kernel values, see `mercer.gram.memory_budget`.
    max_iter : int >= 1 or None, default=None
        Most steps in all rounds together; None means ten million, or a hundred per variable if that is more.
    max_seconds : float > 0 or None, default=None
        Most wall-clock time, of all problems together.
    n_threads : int or None, default=None
        See `mercer.threads.effective_n_threads`.

    See Also
    --------
    SMO : All samples at once.
    Chunking : The same idea in a page of NumPy.

    Notes
    -----
    It ends for every problem whose kernel matrix is positive semi-definite. Every part has the pair of variables (the
    variable, where there is no equality) that violates the optimality conditions most, and is solved until its own
    violation is a tenth of that: so the pair has moved, and since the objective of the part differs from that of the
    whole by a constant, the whole has fallen, too. An objective that falls in every round and is bounded from below
    converges, and decomposition methods whose parts have the most violating pair reach any violation above zero after
    finitely many rounds [1]_ [2]_.

    A pass takes n kernel values for each multiplier that has changed, and reads the samples twice. Memory is O(n) and
    what the samples take that are worked on: the budget, or the support vectors between their bounds. Several problems,
    such as pairs of classes, share samples and passes. Results do not depend on the threads. They depend on the size of
    the parts within the gap.

    References
    ----------
    .. [1] S. S. Keerthi, E. G. Gilbert, Convergence of a generalized SMO algorithm for SVM classifier design, Machine
       Learning 46, 2002.
    .. [2] C.-J. Lin, On the convergence of the decomposition method for support vector machines, IEEE Trans. Neural
       Networks 12, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import RowBlocks
    >>> from mercer.gram import BlocksGram
    >>> from mercer.kernels import Linear
    >>> from mercer.problems import soft_margin
    >>> from mercer.solvers import StreamingSMO
    >>> X = RowBlocks([np.array([[0.0], [1.0]]), np.array([[2.0], [3.0]])])
    >>> problem = soft_margin(BlocksGram(Linear(), X), np.array([-1.0, -1.0, 1.0, 1.0]), np.full(4, 10.0))
    >>> StreamingSMO(size=2).solve(problem).a.round(3)
    array([0., 2., 2., 0.])
    """

    _parameters: ClassVar[dict[str, Any]] = {**SMO._parameters, "size": Number(2, integer=True, none=True)}

    def __init__(
        self,
        *,
        tol=1e-3,
        gap_tol=None,
        size=None,
        pair_rule="gain",
        shrinking=True,
        memory="auto",
        max_iter=None,
        max_seconds=None,
        n_threads=None,
        precision="auto",
    ):
        super().__init__(
            tol=tol,
            gap_tol=gap_tol,
            pair_rule=pair_rule,
            shrinking=shrinking,
            memory=memory,
            max_iter=max_iter,
            max_seconds=max_seconds,
            n_threads=n_threads,
            precision=precision,
        )
        self.size = size

    def solve_many(  # type: ignore[override]
        self,
        problems: Sequence[DualProblem],
        starts: Sequence[np.ndarray | None] | None = None,
        callback: Callback | None = None,
    ) -> list[SolverResult]:
        """Solve problems over one Gram matrix, round by round together: a pass serves all of them.

        Parameters as in `solve`.
        """
        if not len(problems):
            return []
        self.check(problems[0])
        return _Run(self, DualProblems.of(problems), callback).results(starts)


class _Run:
    """One run: the points of all problems, the decision values of their variables, what is recorded of each."""

    def __init__(self, solver: StreamingSMO, problems: DualProblems, callback: Callback | None):
        self.solver, self.problems, self.callback = solver, problems, callback
        self.gram, self.parts = problems.gram, problems.parts
        self.began = time.perf_counter()
        self.size = solver.size or max(SMALLEST_PART, self.gram.room(solver.memory))
        # The variables in the order of their samples, which is that of the blocks.
        self.order = np.argsort(problems.samples, kind="stable")
        self.in_order = problems.samples[self.order]
        self.machine = self.parts.repeat(np.arange(len(self.parts)))
        n = len(problems)
        self.a, self.f = np.zeros(len(problems.samples)), np.zeros(len(problems.samples))
        self.n_iter, self.evaluations = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        self.records: list[list[tuple[float, ...]]] = [[] for _ in range(n)]
        self.status: list[str | None] = [None] * n
        self.precision = ["float64"] * n
        self.tol = np.full(n, float(solver.tol))
        self.tightenings, self.last = np.zeros(n, dtype=np.int64), np.full(n, np.inf)
        self.standings: dict[int, Standing] = {}

    # --- points and what they are worth -------------------------------------------------------------------

    def move_to(self, a: np.ndarray) -> None:
        """New points, and their decision values in one pass."""
        change = self.problems.sign * (a - self.a)
        self.a = a
        if not change.any():
            return
        rows = self._coefficients(change)
        for place, values in self.gram.streamed(rows):
            first, last = np.searchsorted(self.in_order, [place.start, place.stop])
            variables = self.order[first:last]
            self.f[variables] += values[self.problems.samples[variables] - place.start, self.machine[variables]]
        self.evaluations += self.gram.n * np.diff(rows.indptr)
        self.standings = {}

    def _coefficients(self, values: np.ndarray) -> csr_array:
        """A row for every problem with the sums of values over the variables of each sample."""
        used = np.flatnonzero(values)
        place = (self.machine[used], self.problems.samples[used])
        return csr_array((values[used], place), shape=(len(self.parts), self.gram.n))

    def standing(self, k: int) -> Standing:
        """Where the point of a problem stands."""
        if k not in self.standings:
            problem, part = self.problems[k], self.parts[k]
            a = self.a[part]
            gradient = problem.sign * self.f[part] + problem.ridge * a + problem.linear
            self.standings[k] = Standing(problem, a, gradient)
        return self.standings[k]

    # --- the first point ----------------------------------------------------------------------------------

    def set_out(self, starts: Sequence[np.ndarray | None] | None) -> np.ndarray | None:
        """Begin at given points, or at what some samples say; the samples that come first, None: the worst."""
        problems = self.problems
        if starts is not None:
            self.move_to(problems.feasible(starts))
            return None
        if self.size >= self.gram.n:
            return self._begin_at(problems.feasible())
        first = self._first_samples()
        guess = self._guess(first)
        if guess is not None:
            self.move_to(guess)
            # Where zero is feasible, it is worth zero.
            if problems.totals.any() or all(self.standing(k).objective < 0 for k in range(len(problems))):
                return None
            self.a, self.f, self.standings = np.zeros(len(self.a)), np.zeros(len(self.f)), {}
        a = problems.feasible()
        return self._begin_at(a, first if not a.any() else None)

    def _begin_at(self, a: np.ndarray, first: np.ndarray | None = None) -> np.ndarray | None:
        if a.any():
            self.move_to(a)
        return first

    def _first_samples(self) -> np.ndarray:
        """Samples drawn at random, one at least of either side of each problem."""
        samples = np.unique(self.problems.samples)
        draw = np.empty(self.gram.n)
        draw[samples] = np.random.default_rng(SEED).permutation(len(samples))
        side = 2 * self.machine + (self.problems.sign > 0)
        by_side = np.lexsort([draw[self.problems.samples], side])
        leading = by_side[np.concatenate([[True], np.diff(side[by_side]) > 0])]
        drawn = samples[draw[samples] < self.size]
        return np.union1d(drawn, self.problems.samples[leading])

    def _guess(self, first: np.ndarray) -> np.ndarray | None:
        """All multipliers as the functions say that some samples give; None where these say nothing."""
        problems = self.problems
        if any(problems[k].hard for k in range(len(problems))):
            return None
        gram, parts, taken = self.gram.restricted(first), [], []
        for k, problem in enumerate(problems):
            which = np.flatnonzero(np.isin(problem.index, first))
            parts.append(_standing_for_all(problem, which, gram, np.searchsorted(first, problem.index[which])))
            taken.append(self.parts[k].start + which)
        solver = self._smo(FIRST_TOL, max_iter=FIRST_STEPS * max(len(part.index) for part in parts))
        found = solver.solve_many(parts, None, self._callback(None))
        for k, result in enumerate(found):
            self._count(k, result)
        sub = np.zeros(len(self.a))
        for which, result in zip(taken, found, strict=True):
            sub[which] = result.a
        self.move_to(sub)
        guess = np.empty(len(self.a))
        for k, (problem, result) in enumerate(zip(problems, found, strict=True)):
            plus, minus = result.offsets
            slope = problem.sign * (self.f[self.parts[k]] + np.where(problem.sign > 0, plus, minus)) + problem.linear
            # Once to find the level, and again for the digits that numbers far beyond the bounds have cost.
            guess[self.parts[k]] = problem.feasible(problem.feasible(_response(problem, slope)))
        return guess

    # --- the run ------------------------------------------------------------------------------------------

    def results(self, starts: Sequence[np.ndarray | None] | None) -> list[SolverResult]:
        first = self.set_out(starts)
        while True:
            for k in range(len(self.problems)):
                if self.status[k] is None:
                    self._judge(k)
            still = [k for k, status in enumerate(self.status) if status is None]
            if still and (ended := self._ended(still)):
                for k in still:
                    self.status[k] = ended
                still = []
            if not still:
                break
            self._round(still, first)
            first = None
        return [self._result(k) for k in range(len(self.problems))]

    def _judge(self, k: int) -> None:
        """Record a point, and say whether it is the last one."""
        solver, standing = self.solver, self.standing(k)
        problem = standing.problem
        self.records[k].append((self.n_iter[k], -standing.objective, standing.gap, standing.violation))
        proved = problem.gram.definite
        if standing.is_good(solver.tol, solver.gap_tol if proved else None):
            flat = not problem.linear.any() and is_flat(problem, standing)
            self.status[k] = "degenerate" if flat else "solved"
            return
        # The gap, or a margin that is still to be found, asks for more than tol; rounding ends it.
        small = standing.violation <= self.tol[k] * standing.unit
        idle = standing.objective >= self.last[k]
        self.last[k] = min(self.last[k], standing.objective)
        if small or idle:
            self.tightenings[k] += 1
            self.tol[k] *= TIGHTER
        if self.tightenings[k] > TIGHTENINGS:
            lost = problem.scaled and standing.violation > solver.tol * standing.unit
            self.status[k] = "degenerate" if lost or is_flat(problem, standing) else "stalled"

    def _ended(self, still: list[int]) -> str | None:
        """The limit that ends the run, if one does."""
        solver, seconds = self.solver, time.perf_counter() - self.began
        largest = int(self.parts.sizes.max())
        if self.n_iter[still].max() >= solver._most_steps(largest):
            return "max_iter"
        if solver.max_seconds is not None and seconds > solver.max_seconds:
            return "max_seconds"
        if self.callback is not None:
            objective = sum(self.standing(k).objective for k in still)
            violation = max(self.standing(k).violation for k in still)
            if self.callback(Progress(int(self.n_iter.sum()), objective, violation, seconds)):
                return "stopped"
        return None

    def _round(self, still: list[int], first: np.ndarray | None) -> None:
        """Solve the problems of some samples."""
        samples = self._samples(still) if first is None else first
        gram, parts, starts, places = self.gram.restricted(samples), [], [], []
        for k in still:
            standing = self.standing(k)
            index = standing.problem.index
            which = np.flatnonzero(np.isin(index, samples))
            part, a = standing.part(which, gram, np.searchsorted(samples, index[which]))
            parts.append(part)
            starts.append(a)
            places.append(self.parts[k].start + which)
        wanted = [
            max(LAST_ACCURACY * self.tol[k] * self.standing(k).unit, PART_ACCURACY * self.standing(k).violation)
            for k in still
        ]
        tol = max(min(wanted), np.finfo(float).tiny)
        # Once it has brought nothing, float32 may be in the way.
        exact: dict[str, Any] = {"precision": "float64"} if self.tightenings[still].any() else {}
        a = self.a.copy()
        found = self._smo(tol, **exact).solve_many(parts, starts, self._callback(still))
        for k, place, result in zip(still, places, found, strict=True):
            self._count(k, result)
            a[place] = result.a
            if result.status in LIMITS:
                self.status[k] = result.status
        self.move_to(a)

    def _samples(self, still: list[int]) -> np.ndarray:
        """The samples to work on, ascending: the worst of every problem, and all between their bounds.

        These depend on each other: the objective would crawl if some had to stay while others move. The model will keep
        them anyway.
        """
        share = max(2, self.size // len(still))
        chosen = []
        for standing in map(self.standing, still):
            problem, a = standing.problem, standing.a
            chosen += [problem.index[standing.worst(share)], problem.index[(a > 0) & (a < problem.upper)]]
        return np.unique(np.concatenate(chosen))

    def _smo(self, tol: float, max_iter: int | None = None, **parameters: Any) -> SMO:
        """The solver of the parts, with what is left of the limits."""
        solver = self.solver
        largest = int(self.parts.sizes.max())
        left = max(1, solver._most_steps(largest) - int(self.n_iter.max()))
        names = ("pair_rule", "shrinking", "memory", "n_threads", "precision")
        given = {name: getattr(solver, name) for name in names} | parameters
        smo = SMO(tol=tol, max_iter=left if max_iter is None else min(left, max_iter), **given)
        if solver.max_seconds is not None:
            smo.set_params(max_seconds=max(1e-9, solver.max_seconds - (time.perf_counter() - self.began)))
        return smo

    def _callback(self, still: list[int] | None) -> Callback | None:
        """The caller's, which is told the steps of all rounds and the last objective and violation of the whole."""
        if self.callback is None:
            return None
        callback, before = self.callback, int(self.n_iter.sum())
        known = [] if still is None else [self.standing(k) for k in still]
        whole = sum(s.objective for s in known), max((s.violation for s in known), default=np.inf)

        def told(progress: Progress) -> object:
            seconds = time.perf_counter() - self.began
            return callback(Progress(before + progress.n_iter, *whole, seconds))

        return told

    def _count(self, k: int, result: SolverResult) -> None:
        self.n_iter[k] += result.n_iter
        self.evaluations[k] += result.kernel_evaluations
        if result.precision == "float32":
            self.precision[k] = "float32"

    def _result(self, k: int) -> SolverResult:
        standing, status = self.standing(k), self.status[k]
        if len(self.records[k]) == 0 or self.records[k][-1][0] != self.n_iter[k]:
            self.records[k].append((self.n_iter[k], -standing.objective, standing.gap, standing.violation))
        iteration, objective, gap, violation = np.array(self.records[k]).T
        assert status is not None
        return certify(
            standing.problem,
            standing.a,
            standing.gradient,
            status=status,
            n_iter=int(self.n_iter[k]),
            seconds=time.perf_counter() - self.began,
            kernel_evaluations=int(self.evaluations[k]),
            history=History(iteration.astype(np.int64), objective, gap, violation),
            precision=self.precision[k],
        )


def _standing_for_all(problem: DualProblem, which: np.ndarray, gram: Any, index: np.ndarray) -> DualProblem:
    """The problem of some variables, each of which counts for as many as there are of its sign in the whole."""
    upper, ridge = problem.upper[which].copy(), problem.ridge[which].copy()
    for sign in (-1.0, 1.0):
        ours, all_of_it = np.flatnonzero(problem.sign[which] == sign), problem.sign == sign
        if not len(ours):
            continue
        bounded = np.isfinite(problem.upper[all_of_it]).all()
        times = (
            float(problem.upper[all_of_it].sum() / upper[ours].sum())
            if bounded
            else np.count_nonzero(all_of_it) / len(ours)
        )
        upper[ours] *= times
        ridge[ours] /= times
    arrays = {"sign": problem.sign[which], "linear": problem.linear[which], "upper": upper, "ridge": ridge}
    return replace(problem, gram=gram, index=index, **arrays)


def _response(problem: DualProblem, slope: np.ndarray) -> np.ndarray:
    """Multipliers that answer slopes: at a bound but in a narrow band, where they go from one to the other."""
    bounded = np.isfinite(problem.upper)
    with np.errstate(divide="ignore", invalid="ignore"):
        a = np.where(problem.ridge > 0, -slope / problem.ridge, 0.0)
    if bounded.any():
        upper = problem.upper[bounded]
        size = np.abs(slope[bounded])
        width = 2.0 * max(float(np.quantile(size, UNDECIDED)), NARROWEST * float(size.max())) or 1.0
        a[bounded] = 0.5 * upper - slope[bounded] * float(upper.mean()) / width
    return a
