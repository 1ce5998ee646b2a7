"""The proximal Newton method for machines over features."""

from dataclasses import replace
from typing import Any

import numpy as np

from mercer import _native
from mercer.checkpoints import Bookmark
from mercer.gram import FeatureGram
from mercer.problems import DualProblem
from mercer.problems.dual import BALANCED
from mercer.solvers.base import LIMITS, Callback, Progress, SolverResult
from mercer.solvers.over_features import FeatureRun, RunningSolver
from mercer.solvers.smo import SMO
from mercer.sums import inner
from mercer.threads import effective_n_threads

__all__ = ["ProximalNewton"]

STEPS = 1000
CONJUGATE_STEPS = 200
# The band of undecided samples shrinks by the first factor, by the second when it holds few samples for every weight.
SHRINK, SHRINK_FEW, FEW_PER_WEIGHT = 0.2, 0.4, 4.0
# A stage ends when what Newton's method has left over is this part of what the smoothing costs, or after so many steps.
# Where nothing is smoothed, it is the last part of the dual objective.
LEFT_OVER, STEPS_PER_STAGE = 0.1, 50
SMOOTH_GAP, SMALLEST_WIDTH = 1e-6, 1e-12
# A decrease below this part of the objective is rounding.
ROUNDING = 1e-22
# What a step gains, as a part of the objective, below which a line search sees rounding only.
BLIND = 1e-12
# So many full steps that bring nothing are rounding, too.
STUCK = 2
# Variables within so many widths of the band move in the next stage.
NEAR = 2.0
# Where a run begins with a part of the samples, which stand for so many times their number at least: how exact that is
# to be, by Newton's method or by SMO and its steps for every variable, and how many samples for every weight, or which
# share of all, are undecided when all come in.
LEAST_SHARE, ROUGH_TOL, SEED = 4, 1e-2, 0
SMO_TOL, SMO_STEPS = 0.1, 20
UNDECIDED_PER_WEIGHT, UNDECIDED_SHARE = 4, 0.01
# How often a certificate may be no better than the last one before rounding is blamed.
PATIENCE = 3


class ProximalNewton(RunningSolver):
    """Proximal Newton method: the primal over the features, smoothed less and less. [1]_ [2]_

    For the multipliers a and the decision values z = s (X w + b) of a `DualProblem` over a `FeatureGram`,

    .. math::

        \\min_{w, b} \\tfrac12 \\|w\\|^2 + b\\, \\mathrm{total} + \\sum_i \\max_{0 \\le a \\le u_i}
        \\left[-a (z_i + p_i) - \\tfrac12 r_i a^2 - \\tfrac{\\delta}{2 u_i} (a - c_i)^2\\right]

    is piecewise quadratic with a continuous derivative; Newton's method with an exact line search solves it in a few
    steps, each of which needs the second moments of the undecided samples only (0 < a < u). Then the centre c moves to
    a, the width delta of the band of undecided samples shrinks, and so on: the proximal point method on the dual.
    Squared losses (u infinite, r > 0) need no smoothing.

    Parameters
    ----------
    tol : float > 0, default=1e-3
        Largest violation of the optimality conditions, in the unit of the problem (`DualProblem.unit`).
    gap_tol : float > 0 or None, default=None
        Largest relative duality gap; None leaves it to `tol`.
    max_iter : int >= 1 or None, default=None
        Most Newton steps; None means 1000.
    max_seconds : float > 0 or None, default=None
        Most wall-clock time.
    n_threads : int or None, default=None
        See `mercer.threads.effective_n_threads`; the result does not depend on it.

    See Also
    --------
    SMO : For every kernel.

    Notes
    -----
    A step costs two passes over the samples, O(n d), and O(d^2) for every sample that enters or leaves the band; O(d^3)
    for the equations up to 1024 weights (16384 over landmarks), conjugate gradients above. Memory O(n + d^2). The scale
    of the columns does not matter to the Newton step. Some 20 steps are usual.

    Over a `LandmarkGram` of many samples, some of them, drawn at random, come first: by SMO with their whole kernel
    matrix where it has native rows. Then come all with kernel values in float32, and from their solution on float64.

    References
    ----------
    .. [1] O. L. Mangasarian, A finite Newton method for classification, 2002.
    .. [2] Y. Yan, Q. Li, An efficient augmented Lagrangian method for support vector machine, 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import LinearGram
    >>> from mercer.problems import soft_margin
    >>> from mercer.solvers import ProximalNewton
    >>> gram = LinearGram([[0.0], [1.0], [3.0], [4.0]])
    >>> problem = soft_margin(gram, np.array([-1.0, -1.0, 1.0, 1.0]), np.full(4, 10.0))
    >>> result = ProximalNewton().solve(problem)
    >>> result.status, gram.sums(problem.sign * result.a).round(3)
    ('solved', array([1.]))
    """

    def _run(self, problem, start, callback, bookmark):
        return _Run(self, problem, start, callback, bookmark)


class _Part:
    """Some of the variables of a problem: those that may move in a stage. The others stay at their bounds."""

    def __init__(self, problem: DualProblem, which: np.ndarray | None):
        """`which` are the variables, ascending; None: all."""
        self.which = which

        def of(values: np.ndarray) -> np.ndarray:
            return values if which is None else values[which]

        self.of = of
        self.sign, self.linear, self.upper, self.ridge = map(
            of, (problem.sign, problem.linear, problem.upper, problem.ridge)
        )
        # Their samples: all in order (rows None, place None), or some, several times perhaps.
        n, index = problem.gram.n, of(problem.index)
        self.rows: np.ndarray | None = None
        self.place: np.ndarray | None = None
        if len(index) != n or (index != np.arange(n)).any():
            if (np.diff(index) > 0).all():
                self.rows = index
            else:
                rows, self.place = np.unique(index, return_inverse=True)
                self.rows = None if len(rows) == n else rows
        self.n_rows = n if self.rows is None else len(self.rows)

    def spread(self, f: np.ndarray, offset: float) -> np.ndarray:
        """Values of the rows as signed values of the variables."""
        return self.sign * ((f if self.place is None else f[self.place]) + offset)

    def collect(self, values: np.ndarray) -> np.ndarray:
        """Sums over the variables of each row."""
        if self.place is None:
            return values
        return np.bincount(self.place, weights=values, minlength=self.n_rows)

    def some(self, which: np.ndarray) -> np.ndarray:
        """Numbers of the samples at these rows."""
        return which if self.rows is None else self.rows[which]


class _Run(FeatureRun):
    """One run: the point (w, b), the decision values z, the multipliers a that answer them.

    z, a, pull and stiffness are those of the part that may move; what the others add is in `other_w`, `other_sum` and
    `other_dual`.
    """

    all_a: np.ndarray
    all_z: np.ndarray

    def __init__(
        self,
        solver: ProximalNewton,
        problem: DualProblem,
        start: np.ndarray | None,
        callback: Callback | None,
        bookmark: Bookmark | None = None,
        rough: bool = False,
    ):
        super().__init__(solver, problem, callback, bookmark)
        self.rough = rough  # whether another run is to go on from this one
        self.free_offset = problem.total is not None
        self.bounded = np.isfinite(problem.upper)
        self.smooth = not self.bounded.any()
        self.rounded = False
        self.left_over = LEFT_OVER
        self.ended_early: str | None = None  # what ended the run before it had all samples
        self.unproved = False  # what looked good was not: at least one more step
        self._set_out(start)

    # --- the first point ----------------------------------------------------------------------------------

    def _set_out(self, start: np.ndarray | None) -> None:
        problem = self.problem
        self.all = _Part(problem, None)
        if (kept := self._kept()) is not None and kept["rough"] == self.rough:
            return self._go_on_from(kept)
        self.b = 0.0
        if start is None and (size := self._first_samples()) is not None:
            working = self.gram.in_single()
            return self._set_out_among(size) if working is self.gram else self._set_out_in(working)
        if start is None and not problem.linear.any():  # without a linear term w = 0 says nothing about the scale
            start = problem.feasible()
        if start is None:
            self.w = np.zeros(self.gram.n_weights)
            z = np.zeros(len(problem.index))
            centre = np.where(self.bounded, 0.5 * problem.upper, 0.0)
        else:
            centre = problem.feasible(start)
            self.w = self._weights(centre)
            f = self.gram.products(self.w, self.all.rows)
            gradient = self.all.spread(f, 0.0) + problem.ridge * centre + problem.linear
            self.b = problem.offsets(centre, gradient).plus
            z = self.all.spread(f, self.b)
        # Everything is undecided at first.
        self.first_width = self.width = 2.2 * float(np.abs(z + problem.linear).max()) or 1.0
        self._centre_at(centre)
        return self._play_with(None, centre, z)

    def _state(self) -> dict[str, Any]:
        which, a, z = self.part.which, self.a, self.z
        state: dict[str, Any] = {} if which is None else {"which": which}
        if which is not None:
            a, z = (
                self.all_a.copy(),
                np.zeros(len(self.all_a)),
            )  # values of the others are computed when they are wanted
            a[which], z[which] = self.a, self.z
        numbers = np.array([self.b, self.first_width, self.width, self.left_over])
        flags = {"rough": self.rough, "unproved": self.unproved}
        return {**state, **flags, "w": self.w, "a": a, "z": z, "pull": self.all_pull, "numbers": numbers}

    def _go_on_from(self, kept: dict[str, Any]) -> None:
        self._count_on(kept)
        self.samples = self.samples[:-1]  # the step that was to be made is looked at once more
        self.w, self.unproved = kept["w"], kept["unproved"]
        self.b, self.first_width, self.width, self.left_over = kept["numbers"].tolist()
        self._smooth_with(kept["pull"])
        self._play_with(kept.get("which"), kept["a"], kept["z"])

    def _first_samples(self) -> int | None:
        """How many samples a run begins with, where there are many more of them than weights."""
        size = (self.gram.samples_first or 0) * self.gram.n_weights
        return size if size and LEAST_SHARE * size <= self.all.n_rows else None

    def _set_out_in(self, working: FeatureGram) -> None:
        """Begin with the solution in the precision of other values of the features, and go on from there."""
        run = self._rough_run(replace(self.problem, gram=working), self.bookmark)
        self.first_width, self.width = run.first_width, run.width
        self.all_a, self.all_z = run.all_a, self.all.spread(self.gram.products(self.w, self.all.rows), self.b)
        self._next_stage()

    def _set_out_among(self, size: int) -> None:
        """Begin with the functions that some of the samples give."""
        problem, (some, rows) = self.problem, self._part_of(size)
        exact = None if self.smooth else self.gram.among(rows)
        if exact is None:
            self._rough_run(some)
        else:
            self._rough_functions(replace(some, gram=exact, index=np.searchsorted(rows, some.index)), rows)
        z = self.all.spread(self.gram.products(self.w, self.all.rows), self.b)
        # Nothing is known of most multipliers, but that few of them are undecided.
        share = min(1.0, max(UNDECIDED_PER_WEIGHT * len(self.w) / len(z), UNDECIDED_SHARE))
        self.first_width = self.width = 2.0 * float(np.quantile(np.abs(z + problem.linear), share)) or 1.0
        self._centre_at(np.where(self.bounded, 0.5 * problem.upper, 0.0))
        a = _native.respond(z, self.all_pull, self.all_stiffness, problem.upper, effective_n_threads())
        self._play_with(None, a, z)

    def _part_of(self, size: int) -> tuple[DualProblem, np.ndarray]:
        """The problem over some samples, which stand for all, and their numbers."""
        problem = self.problem
        rows = self.all.some(np.random.default_rng(SEED).choice(self.all.n_rows, size=size, replace=False))
        which = np.flatnonzero(np.isin(problem.index, rows))
        times = self.all.n_rows / size
        if self.bounded.all():  # the equality can be met by some where it can by all
            times = float(problem.upper.sum() / problem.upper[which].sum())
        part = replace(
            problem,
            **{name: getattr(problem, name)[which] for name in ("index", "sign", "linear")},
            upper=times * problem.upper[which],
            ridge=problem.ridge[which] / times,
        )
        return part, np.sort(rows)

    def _rough_run(self, easier: DualProblem, bookmark: Bookmark | None = None) -> "_Run":
        """Newton's method on an easier problem, whose functions are taken over."""
        solver = self.solver
        rough = ProximalNewton(tol=max(ROUGH_TOL, solver.tol), max_iter=solver.max_iter, max_seconds=solver.max_seconds)
        run = _Run(rough, easier, None, self.callback, bookmark, rough=True)
        run.tol = run.solver.tol  # even where variables are few
        found = run.result()
        self.ended_early = found.status if found.status in LIMITS else None
        self.w, self.b, self.n_iter = run.w, run.b, run.n_iter
        return run

    def _rough_functions(self, easier: DualProblem, rows: np.ndarray) -> None:
        """The functions of a problem over some samples with their whole kernel matrix, as far as features have them."""
        solver = SMO(tol=SMO_TOL, max_iter=SMO_STEPS * len(easier.index), max_seconds=self.solver.max_seconds)
        found = solver.solve(easier, callback=self.callback)
        self.ended_early = found.status if found.status in ("max_seconds", "stopped") else None
        moved = np.bincount(easier.index, weights=easier.sign * found.a, minlength=len(rows))
        self.w, self.b = self.gram.sums(moved, rows), found.offsets.plus

    def _centre_at(self, centre: np.ndarray) -> None:
        """Set the smoothed problem: h = width / u where there is a bound."""
        self._smooth_with(np.where(self.bounded, self.width / self.problem.upper, 0.0) * centre - self.problem.linear)

    def _smooth_with(self, pull: np.ndarray) -> None:
        self.all_pull = pull
        self.all_stiffness = self.problem.ridge + np.where(self.bounded, self.width / self.problem.upper, 0.0)

    def _play_with(self, which: np.ndarray | None, a: np.ndarray, z: np.ndarray) -> None:
        """From now on these variables move; a and z are those of all."""
        problem = self.problem
        self.all_a = a
        self.part = part = self.all if which is None else _Part(problem, which)
        self.z, self.a, self.pull, self.stiffness = map(part.of, (z, a, self.all_pull, self.all_stiffness))
        self.other_w, self.other_sum, self.other_dual = np.zeros(len(self.w)), 0.0, 0.0
        if which is not None:
            rest = a.copy()
            rest[which] = 0.0
            self.other_w = self._weights(rest)
            self.other_sum = inner(problem.sign, rest)
            self.other_dual = -inner(problem.linear + 0.5 * problem.ridge * rest, rest)
        self.w_of_a = self.other_w + self.gram.sums(part.collect(part.sign * self.a), part.rows)
        self.weight = np.zeros(part.n_rows)  # of the rows in `moments`, `first`
        m = len(self.w)
        self.moments = np.zeros((m, m)) if m <= self.gram.newton_weights else None
        self.first = np.zeros(len(self.w))

    def _weights(self, a: np.ndarray) -> np.ndarray:
        """w = X' (s a), a being all multipliers."""
        moved = self.all.collect(self.problem.sign * a)
        used = np.flatnonzero(moved)
        if 4 * len(used) > 3 * len(moved):
            return self.gram.sums(moved, self.all.rows)
        return self.gram.sums(moved[used], self.all.some(used))

    # --- the run ------------------------------------------------------------------------------------------

    def result(self) -> SolverResult:
        problem, solver, best, in_vain = self.problem, self.solver, None, 0
        if self.ended_early is not None:
            return self._certified(problem.balanced(self.all_a), self.ended_early)
        while True:
            status = self._stage()
            if status == "settled" and self._looks_good():
                status = self._stage(balance=True)
            if status != "settled":
                return self._certified(problem.balanced(self.all_a), status)
            if self._looks_good():
                certified = self._certified(problem.balanced(self.all_a), "solved")
                if self._is_good(certified, self.tol):
                    return certified
                # w was not close enough to X' (s a), or rounding is all that is left.
                self.left_over, self.unproved = 0.1 * self.left_over, True
                better = best is None or certified.violation < 0.5 * best.violation
                best, in_vain = (certified, 0) if better else (best, in_vain + 1)
            if in_vain == PATIENCE or self.rounded or self.width < SMALLEST_WIDTH * self.first_width:
                best = best or self._certified(problem.balanced(self.all_a), "solved")
                return best if self._is_good(best, solver.tol) else replace(best, status="stalled")
            self._next_stage()

    def _stage(self, balance: bool = False) -> str:
        """Newton's method on the variables at play, and again with those that turn out to be needed."""
        problem = self.problem
        while True:
            status = self._newton(balance)
            which = self.part.which
            self.all_a = self.a if which is None else self.all_a.copy()
            if which is None:
                self.all_z = self.z
                return status
            self.all_a[which] = self.a
            self.all_z = self.all.spread(self.gram.products(self.w, self.all.rows), self.b)
            answer = _native.respond(
                self.all_z, self.all_pull, self.all_stiffness, problem.upper, effective_n_threads()
            )
            answer[which] = self.a
            missed = answer != self.all_a
            if status != "settled" or not missed.any():
                return status
            missed[which] = True
            self._play_with(np.flatnonzero(missed), self.all_a, self.all_z)

    def _next_stage(self) -> None:
        """Move the centre to a, and narrow the band: carefully when it holds few samples."""
        problem, a, before = self.problem, self.all_a, self.width
        undecided = (a > 0) & (a < problem.upper)
        many = np.count_nonzero(undecided) > FEW_PER_WEIGHT * (min(len(self.w), self.all.n_rows) + 1)
        self.width *= SHRINK if many else SHRINK_FEW
        self._centre_at(a)
        # Who is farther from the band than it was wide will hardly reach it.
        near = np.abs(self.all_z + problem.linear) < NEAR * before
        play = np.flatnonzero(undecided | near)
        self._play_with(play if 2 * len(play) < len(a) and not self.smooth else None, a, self.all_z)

    def _newton(self, balance: bool) -> str:
        """Newton's method on the smoothed problem, until what it leaves is a small part of the gap.

        To `balance`, it goes on until the equality holds up to rounding, or a step no longer helps.
        """
        part, total, last = self.part, self.total or 0.0, np.inf
        stuck, full_step, before = 0, False, np.inf
        threads = effective_n_threads()
        for step in range(STEPS_PER_STAGE):
            self._respond()
            gradient = self.w - self.w_of_a
            imbalance = total - self.other_sum - inner(part.sign, self.a) if self.free_offset else 0.0
            smoothing, dual = self._smoothing_gap(), self._dual_objective()
            rest = 0.5 * inner(gradient, gradient) + abs(imbalance) * self.width
            self.samples.append((self.n_iter, dual, smoothing + rest, np.nan))
            if rest <= self.left_over * (SMOOTH_GAP * abs(dual) if self.smooth else smoothing):
                balanced = abs(imbalance) <= BALANCED * float(self.all_a.sum()) or abs(imbalance) >= 0.5 * last
                if (balanced or not balance) and (step > 0 or not self.unproved):
                    self.unproved = False
                    break
                last = abs(imbalance)
            limit = self._limit(dual, rest)
            self._keep(ended=limit is not None)
            if limit is not None:
                return limit
            dw, db = self._direction(-gradient, -imbalance)
            gain = -inner(gradient, dw) - imbalance * db
            stuck = stuck + 1 if full_step and rest > 0.5 * before else 0
            if stuck == STUCK or gain <= ROUNDING * abs(dual):
                break  # what is left to win is rounding
            dz = part.spread(self.gram.products(dw, part.rows), db)
            slope = inner(self.w - self.other_w, dw) + db * (total - self.other_sum)
            t = _native.line_minimum(self.z, dz, self.pull, self.stiffness, part.upper, slope, inner(dw, dw), threads)
            if t == 0.0 and gain > BLIND * abs(dual):  # the direction is rounding
                self.rounded = step == 0
                break
            if t == 0.0:  # so close to the minimum the line is too flat to be seen, and full steps are right
                t = 1.0
            self.w, self.b, self.z = self.w + t * dw, self.b + t * db, self.z + t * dz
            self.n_iter += 1
            full_step, before = 0.5 <= t <= 2.0, rest
        return "settled"

    def _limit(self, dual: float, rest: float) -> str | None:
        """Which limit the run has come to."""
        solver, seconds = self.solver, self._seconds()
        if self.n_iter >= (STEPS if solver.max_iter is None else int(solver.max_iter)):
            return "max_iter"
        if solver.max_seconds is not None and seconds > solver.max_seconds:
            return "max_seconds"
        told = Progress(self.n_iter, -dual, float(np.sqrt(2.0 * rest)), seconds)
        return "stopped" if self.callback is not None and self.callback(told) else None

    def _respond(self) -> None:
        """The multipliers that answer z, and their w = X' (s a), which changes with the rows that changed."""
        part = self.part
        a = _native.respond(self.z, self.pull, self.stiffness, part.upper, effective_n_threads())
        change = part.collect(part.sign * (a - self.a))
        changed = np.flatnonzero(change)
        if 2 * len(changed) > part.n_rows:
            self.w_of_a = self.other_w + self.gram.sums(part.collect(part.sign * a), part.rows)
        elif len(changed):
            self.w_of_a = self.w_of_a + self.gram.sums(change[changed], part.some(changed))
        self.a = a

    def _smoothing_gap(self) -> float:
        """What the smoothing costs: the sum of Fenchel's inequalities between a and z, without those of w.

        Variables that are not at play are at their best.
        """
        part, slope = self.part, self.z + self.part.linear
        if self.smooth:
            return 0.0
        # For a bound and no ridge: u max(0, -slope) + a slope.
        t = np.where(slope < 0, part.upper, 0.0)
        if part.ridge.any():
            with np.errstate(divide="ignore", invalid="ignore"):
                t = np.where((part.ridge > 0) & (slope < 0), np.minimum(t, -slope / part.ridge), t)
        change = self.a - t
        return float(((slope + part.ridge * t) * change + 0.5 * part.ridge * change**2).sum())

    def _dual_objective(self) -> float:
        a, part = self.a, self.part
        own = inner(part.linear + 0.5 * part.ridge * a, a)
        return self.other_dual - 0.5 * inner(self.w_of_a, self.w_of_a) - own

    # --- the Newton equations -----------------------------------------------------------------------------

    def _direction(self, right: np.ndarray, right_offset: float) -> tuple[np.ndarray, float]:
        """Solve (I + X' D X) dw + X' d db = right, d' X dw + sum(d) db = right_offset; D is of the undecided."""
        undecided = (self.a > 0) & (self.a < self.part.upper)
        weight = self.part.collect(undecided / self.stiffness)
        if self.moments is None:
            return self._conjugate_direction(weight, right, right_offset)
        self._update_moments(weight)
        if not self.free_offset:
            return self.gram.newton_step(self.moments, self.first, None, right), 0.0
        corner = self._offset_curvature(weight)
        step = self.gram.newton_step(self.moments, self.first, corner, np.append(right, right_offset))
        return step[:-1], float(step[-1])

    def _offset_curvature(self, weight: np.ndarray) -> float:
        """The sum of the weights; of some of them all where no sample is undecided, or the offset would run away."""
        return float(weight.sum()) or 1e-3 * float((1.0 / self.all_stiffness).sum())

    def _update_moments(self, weight: np.ndarray) -> None:
        """Second and first moments of the rows: of those whose weight changed, or of all that have one."""
        now, changed = np.flatnonzero(weight), np.flatnonzero(weight != self.weight)
        if len(changed) < len(now):
            second, first = self.gram.newton_moments((weight - self.weight)[changed], self.part.some(changed))
            self.moments, self.first = self.moments + second, self.first + first
        else:
            self.moments, self.first = self.gram.newton_moments(weight[now], self.part.some(now))
        self.weight = weight

    def _conjugate_direction(
        self, weight: np.ndarray, right: np.ndarray, right_offset: float
    ) -> tuple[np.ndarray, float]:
        """The same equations by conjugate gradients, up to a tenth of the right-hand side."""
        now = np.flatnonzero(weight)
        rows, weight = self.part.some(now), weight[now]
        curvature = self._offset_curvature(weight)

        def times(v: np.ndarray) -> np.ndarray:
            dw, db = v[:-1], v[-1]
            pulled = weight * (self.gram.products(dw, rows) + (db if self.free_offset else 0.0))
            return np.append(dw + self.gram.sums(pulled, rows), pulled.sum() if len(now) else curvature * db)

        x = np.zeros(len(right) + 1)
        r = np.append(right, right_offset if self.free_offset else 0.0)
        condition = np.append(1.0 + self.gram.squares(weight, rows), curvature)
        y = r / condition
        p, energy = y, inner(r, y)
        enough = 1e-2 * energy
        for _ in range(CONJUGATE_STEPS):
            if energy <= enough:
                break
            q = times(p)
            step = energy / inner(p, q)
            x, r = x + step * p, r - step * q
            y = r / condition
            energy, before = inner(r, y), energy
            p = y + (energy / before) * p
        return x[:-1], float(x[-1]) if self.free_offset else 0.0

    # --- the end ------------------------------------------------------------------------------------------

    def _looks_good(self) -> bool:
        """Whether the violation, as w says it, is as small as wanted."""
        problem, a = self.problem, self.all_a
        gradient = self.all_z - self.b * problem.sign + problem.ridge * a + problem.linear
        offsets = problem.offsets(a, gradient)
        good = problem.violation(a, gradient) <= 0.9 * self.solver.tol * problem.unit(a, offsets)
        if good and self.solver.gap_tol is not None:
            gap = problem.gap(a, gradient, offsets)
            good = gap <= 0.9 * self.solver.gap_tol * abs(problem.objective(a, gradient))
        return bool(good)

    def _certified(self, a: np.ndarray, status: str) -> SolverResult:
        """The certificate: the weights of the multipliers, and their decision values, computed afresh."""
        f = self.gram.products(self._weights(a), self.all.rows)
        gradient = self.all.spread(f, 0.0) + self.problem.ridge * a + self.problem.linear
        return self._certify(a, gradient, status)
