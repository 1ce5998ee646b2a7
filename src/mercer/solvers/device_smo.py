"""Box-constrained duals on a device: Newton's method, then sequential minimal optimisation in two levels of sets."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mercer.devices.arrays import Device, Place, Tensor
from mercer.devices.grams import DeviceGram
from mercer.devices.rows import Rows, rows_of
from mercer.gram import MatrixGram
from mercer.gram.memory import memory_budget
from mercer.kernels.samples import to_numpy
from mercer.parameters import Number
from mercer.problems import DualProblem, DualProblems
from mercer.solvers.base import Callback, History, Progress, SolverResult, SolverResults, certify
from mercer.solvers.device_newton import DeviceNewton, Variables
from mercer.solvers.smo import SMO, SUSPECT_MARGIN
from mercer.solvers.working_sets import MOST_STEPS, Told, WorkingSet, has_pairs

__all__ = ["DeviceSMO"]

# Variables in a working set; on a GPU a power of two, as its kernel wants.
SIZE, SIZE_ON_GPU = 2048, 1024
# Up to so many samples kernel values are in float64 throughout.
EXACT = 512
# A working set is optimised to this part of the violation outside: what is more would only fit the set to itself.
INNER_ACCURACY = 0.1
# The part of a working set that stays from the one before, so that sets do not undo each other's work.
KEPT = 0.5
# How often float64 may fail to halve the violation until rounding is said to be in the way.
PATIENCE = 3
# Rounds without progress after which float32 is taken to be in the way, and so many for every set it takes to meet all.
IDLE_ROUNDS, IDLE_ROUNDS_PER_SET = 10, 2
# The history has an entry for so many rounds at first, then for every so many.
FIRST_RECORDS, STRIDE = 4, 8
# Rounds that are made one kernel of the GPU after the other; later ones are repeated as a whole.
FIRST_ROUNDS, REPEATING = 3, True
# How far sums may be from an equality, relative to the sum of all multipliers, and not be mended.
BALANCED = 1e-13
# Samples that show how much float32 errs, besides those whose f counts; others may be so many times worse.
PROBES, CARE = 128, 3.0


class Paths(NamedTuple):
    """See `SMO.solve_many`."""

    steps: int = 1
    width: int = 1
    rough: bool = False
    seconds: float = np.inf
    finished: Any = None


class DeviceSMO(SMO):
    """Newton's method and sequential minimal optimisation with kernel values from a device. [1]_ [2]_

    All variables and the gradient lie on the device. Where every variable has a bound and none or one equality holds,
    Newton's method comes first (`mercer.solvers.device_newton`): some tens of large steps, which a GPU makes quickly,
    to a point that mostly is the solution up to `tol`. What is left is for rounds: the variables that violate the
    optimality conditions most, with some of those that did so before, form a working set; its kernel matrix is computed
    and its own problem solved, then the gradient of all others follows in one product

    .. math:: f \\leftarrow f + K[:, W] \\, (s \\, \\delta a)_W,

    of which no matrix is stored. On a GPU one kernel solves the small problem where it is, several pairs of variables
    at a time (`mercer.solvers.working_sets`); on the CPU, and where Triton is not there, `SMO` does. Kernel
    values are in float32, all sums in float64. Once all variables are settled, the gradient is computed afresh in
    float64 wherever the certificate depends on it, and the run goes on from there if that shows a violation above
    `tol`, with values in float64 if float32 is too coarse.

    Problems that fit into one working set, and those of a search, go to the native solver all together, over a kernel
    matrix from the device.

    Parameters
    ----------
    device : str, torch.device or None, default=None
        "cpu", "cuda", "cuda:1", ...; None is where the kernel matrix is, or else the CPU.
    tol, gap_tol, memory, max_iter, max_seconds, n_threads, precision
        As in `SMO`.
    size : int >= 2 or None, default=None
        Variables in a working set. More means fewer products with all samples, and more work in each set. None: 1024 on
        a GPU, 2048 elsewhere.

    See Also
    --------
    SMO : All of it on the CPU, and sooner done for some thousand samples.

    Notes
    -----
    A Newton step costs O(n u) kernel values at most, O(u^3) and O(u^2) memory for u variables that are between their
    bounds; a round O(n size) kernel values and O(size^2) memory; the vectors lie on the device, O(n d). The result does
    not depend on threads.

    References
    ----------
    .. [1] Z. Wen, J. Shi, Q. Li, B. He, J. Chen, ThunderSVM: a fast SVM library on GPUs and CPUs, JMLR 19, 2018.
    .. [2] Y. Yan, Q. Li, An efficient augmented Lagrangian method for support vector machine, 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import MatrixGram
    >>> from mercer.problems import soft_margin
    >>> from mercer.solvers import DeviceSMO
    >>> X = np.array([[0.0], [2.0]])
    >>> problem = soft_margin(MatrixGram(X @ X.T), np.array([-1.0, 1.0]), np.array([10.0, 10.0]))
    >>> DeviceSMO("cpu").solve(problem).a
    array([0.5, 0.5])
    """

    _parameters: ClassVar[dict[str, Any]] = {
        "device": Device,
        **{name: rule for name, rule in SMO._parameters.items() if name not in ("pair_rule", "shrinking")},
        "size": Number(2, integer=True, none=True),
    }

    def __init__(
        self,
        device=None,
        *,
        tol=1e-3,
        gap_tol=None,
        memory="auto",
        max_iter=None,
        max_seconds=None,
        n_threads=None,
        precision="auto",
        size=None,
    ):
        self.device = device
        self.tol = tol
        self.gap_tol = gap_tol
        self.memory = memory
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.n_threads = n_threads
        self.precision = precision
        self.size = size

    # What the native solver is told where it takes over.
    pair_rule, shrinking = "gain", True

    def _place(self, problems: DualProblems) -> Place:
        if self.device is None and isinstance(problems.gram, DeviceGram):
            return problems.gram.place
        return Place("cpu" if self.device is None else self.device)

    def _run(
        self,
        problems: DualProblems,
        points: np.ndarray,
        callback: Callback | None,
        *,
        unbounded_ratio: float = SUSPECT_MARGIN,
        paths: dict[str, Any] | None = None,
    ) -> SolverResults:
        """One problem after the other; small ones natively, all at once if there are no others."""
        options = Paths(**(paths or {}))
        rows = rows_of(problems.gram, self._place(problems))
        size = self.size or (SIZE_ON_GPU if rows.place.on_gpu else SIZE)
        # A search has many problems: they keep all cores busy, over the one matrix.
        small = ((problems.parts.sizes <= size) | options.rough) & self._fits(problems.gram.n)
        together = _on_matrix(problems, rows) if small.any() else problems
        if small.all():
            return super()._run(together, points, callback, unbounded_ratio=unbounded_ratio, paths=paths)
        results: list[SolverResult] = []
        began = time.perf_counter()
        for k, problem in enumerate(problems):
            start, before = points[problems.parts[k]], k - options.width
            if before >= 0 and (k // options.width) % options.steps:
                start = _following(problem, results[before], problems[before])
            if small[k]:
                (result,) = super()._run(
                    DualProblems.of([together[k]]), start, callback, unbounded_ratio=unbounded_ratio
                )
            else:
                left = options.seconds - (time.perf_counter() - began)
                run = Run(self, problem, rows, size, callback, unbounded_ratio, options.rough, left)
                result = run.solve(start)
            results.append(result)
            if options.finished is not None:
                options.finished(len(results))
        return SolverResults.of(results)

    def _fits(self, n: int) -> bool:
        return 8 * n**2 <= memory_budget(self.memory) // 2


def _on_matrix(problems: DualProblems, rows: Rows) -> DualProblems:
    """The same problems over their kernel matrix, fetched from the device."""
    gram = problems.gram
    if isinstance(gram, MatrixGram):
        return problems
    matrix = to_numpy(rows.square(rows.place.torch.arange(gram.n, device=rows.place.device), "float64"))
    return replace(problems, gram=MatrixGram.of_checked(matrix, gram.definite))


def _following(problem: DualProblem, before: SolverResult, its: DualProblem) -> np.ndarray:
    """Where a problem begins that comes after another one on a path: at the best multiple of its solution."""
    largest = np.min(problem.upper[before.a > 0] / before.a[before.a > 0], initial=np.inf)
    curvature = float(before.a @ (before.gradient - its.linear + (problem.ridge - its.ridge) * before.a))
    best = -float(problem.linear @ before.a) / curvature if curvature > 0 else 1.0
    same = problem.equality == its.equality and not np.any(problem.total or 0.0)
    return problem.feasible(before.a * (np.clip(best, 0.0, largest) if same else 1.0))


class Found(NamedTuple):
    """Where a problem stands, as numbers on this side."""

    violation: float
    objective: float
    slope: float
    """p'a."""
    n_iter: int


class Run:
    """One problem on the device: where it stands, what comes next, what ends it.

    A round is made of operations on tensors alone, without a look at a number: so a GPU repeats it without Python.
    """

    def __init__(
        self,
        solver: DeviceSMO,
        problem: DualProblem,
        rows: Rows,
        size: int,
        callback: Callback | None,
        unbounded_ratio: float,
        rough: bool,
        seconds: float,
    ):
        self.solver, self.problem, self.rows, self.callback = solver, problem, rows, callback
        self.size, self.unbounded_ratio, self.rough = size, unbounded_ratio, rough
        self.began = time.perf_counter()
        self.limit = min(seconds, np.inf if solver.max_seconds is None else float(solver.max_seconds))
        self.most_steps = solver._most_steps(len(problem.index))
        self.place, self.torch = rows.place, rows.place.torch
        self.index, self.sign, self.linear, self.upper, self.ridge = (
            self.place.tensor(getattr(problem, name)) for name in ("index", "sign", "linear", "upper", "ridge")
        )
        # The variables that share an equality, as masks, and what s a adds up to.
        self.groups = [(self.sign != 0, problem.total or 0.0)]
        if isinstance(problem.total, tuple):
            plus, minus = problem.total
            self.groups = [(self.sign > 0, plus), (self.sign < 0, -minus)]
        self.dtype = "float64" if rows.n <= EXACT or solver.precision == "float64" else "float32"
        self.diagonal = float(np.abs(problem.gram.diag()[problem.index]).max()) if problem.hard else 0.0
        self.a, self.f = self.place.zeros(len(self.sign)), self.place.zeros(rows.n)
        self.numbers = self.place.zeros(2 * len(self.groups) + 4)
        self.goal = self.place.zeros(1)
        self.last_set = self.place.zeros(len(self.sign), dtype="float32")
        self.steps, self.turn = self.place.zeros(1, dtype="int64"), self.place.zeros(1, dtype="int64")
        self.n_iter, self.n_rounds, self.stopped = 0, 0, False
        self.samples: list[tuple[float, ...]] = []
        self.evaluated = rows.evaluations
        self._again: Callable[[], None] | None = None

    # --- the order of events ------------------------------------------------------------------------------

    def solve(self, start: np.ndarray) -> SolverResult:
        """From a feasible point to the certificate."""
        self._begin(start)
        self._approach(0.9 * self.solver.tol)
        tol, last, stalls = self.solver.tol, np.inf, 0
        target = 0.9 * tol
        while True:
            status = self._rounds(target)
            if not (self.rough and status == "solved" and self.dtype == "float32"):
                self._balance()
                self._refresh()
            violation = self._found().violation
            if status != "solved" or violation <= tol:
                break
            if violation > 0.5 * last or self.dtype == "float64":
                stalls += self.dtype == "float64"
                if stalls == PATIENCE:
                    status = "stalled"
                    break
                self.dtype, self._again = "float64", None
            last, target = violation, max(0.5 * target, 0.1 * tol)
        return self._result("solved" if status == "max_iter" and violation <= tol else status)

    def _approach(self, target: float) -> None:
        """Near the solution by Newton's method, where the problem is of the kind for it: rounds go on from there."""
        problem, total = self.problem, self.problem.total
        bounded = bool((self.torch.isfinite(self.upper) & (self.upper > 0)).all())
        if not bounded or isinstance(total, tuple) or not problem.gram.definite or self._found().violation <= target:
            return
        newton = DeviceNewton(
            self.rows,
            Variables(self.index, self.sign, self.linear, self.upper, self.ridge),
            total,
            lambda n_iter: n_iter >= self.most_steps or self.seconds > self.limit,
            self._told,
            self.dtype,
        )
        self._record(self._found())
        found = newton.solve(self.a, target)
        self.n_iter = newton.n_iter
        self.steps += newton.n_iter
        if found is not None:
            self.a.copy_(found)
            self._balance()
            # Variables of one sample have the same value.
            self.f.index_copy_(0, self.index, newton.f)
            balanced = (self.a != found).nonzero()[:, 0]
            change = (self.sign * (self.a - found))[balanced]
            self.f += self.rows.product(self.index[balanced], change, self.dtype)
        self._look()

    def _told(self, n_iter: int, objective: float, violation: float) -> bool:
        """Of a stage of Newton's method; whether to stop."""
        if self.callback is not None and self.callback(Progress(n_iter, objective, violation, self.seconds)):
            self.stopped = True
        return self.stopped

    def _rounds(self, target: float) -> str:
        """Round after round until no variable violates the conditions by more than the target, or a limit is met."""
        self.goal.fill_(target)
        first, best, in_vain = self.n_rounds, np.inf, 0
        patience = IDLE_ROUNDS + IDLE_ROUNDS_PER_SET * len(self.sign) // self.size
        while True:
            found = self._found()
            in_vain = 0 if found.violation < best else in_vain + 1
            best = min(best, found.violation)
            # Without a step, or without progress in float32, rounding is all that is left.
            idle = self.n_rounds > first and found.n_iter == self.n_iter
            idle = idle or (self.dtype == "float32" and in_vain > patience)
            self.n_iter = found.n_iter
            if self.n_rounds < FIRST_RECORDS or self.n_rounds % STRIDE == 0:
                self._record(found)
            if found.violation <= target or idle:
                return "solved"
            if (status := self._limit(found)) is not None:
                return status
            self._go_on()
            self.n_rounds += 1

    def _go_on(self) -> None:
        """A round; on a GPU, once everything has been compiled, one that is repeated as it was recorded."""
        if self._again is not None:
            self._again()
        elif REPEATING and self.n_rounds >= FIRST_ROUNDS and self._may_repeat:
            self._again = self._recorded()
            self._again()
        else:
            self._round()

    @property
    def _may_repeat(self) -> bool:
        return self.rows.fused and self.callback is None and self._in_one_kernel

    def _recorded(self) -> Callable[[], None]:
        """A round as a graph of the GPU's kernels."""
        cuda, before = self.torch.cuda, self.rows.evaluations
        graph, now, aside = cuda.CUDAGraph(), cuda.current_stream(self.place.device), cuda.Stream(self.place.device)
        aside.wait_stream(now)
        with cuda.stream(aside):
            graph.capture_begin(capture_error_mode="thread_local")
            try:
                self._round()
            finally:
                graph.capture_end()
        now.wait_stream(aside)
        values, self.rows.evaluations = self.rows.evaluations - before, before

        def again() -> None:
            graph.replay()
            self.rows.evaluations += values

        return again

    def _round(self) -> None:
        """Choose a working set, improve it, and bring f up to date."""
        G = self._gradient()
        chosen = self._choose(G)
        samples = self.index[chosen]
        part = WorkingSet(
            self.place,
            self.problem.equality,
            self.problem.gram.definite,
            self.rows.square(samples, self.dtype),
            *(whole[chosen] for whole in (self.a, G, self.sign, self.upper, self.ridge)),
        )
        tol = self.torch.maximum(self.goal, INNER_ACCURACY * self.numbers[-4])
        if self._in_one_kernel:
            a, steps = part.by_pairs(tol)
        else:
            told = None
            if self.callback is not None:
                told = Told(self.callback, self.n_iter, float(self.numbers[-3]), self.seconds)
            a, steps = part.natively(float(tol), self.most_steps - self.n_iter, self.solver.n_threads, told)
        self.a.index_copy_(0, chosen, a)
        self.f += self.rows.product(samples, part.sign * (a - part.a), self.dtype)
        self.steps += steps
        self.turn += 1
        self._look()

    @property
    def _in_one_kernel(self) -> bool:
        """Whether working sets are solved on the GPU; not the last ones, whose steps are counted one by one."""
        return (
            has_pairs(self.place, self.size)
            and self.size < len(self.sign)
            and self.dtype == "float32"
            and self.problem.equality != "per_sign"
            and self.problem.gram.definite
            and self.callback is None
            and self.most_steps - self.n_iter > MOST_STEPS * self.size
        )

    # --- where the problem stands -------------------------------------------------------------------------

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.perf_counter() - self.began

    def _begin(self, start: np.ndarray) -> None:
        """At a point, with f in the working precision."""
        self.a = self.place.tensor(start).clone()
        support = self.a.nonzero()[:, 0]
        if len(support):
            self.f += self.rows.product(self.index[support], (self.sign * self.a)[support], self.dtype)
        self._look()

    def _gradient(self) -> Tensor:
        """Q a + p."""
        return self.sign * self.f[self.index] + self.ridge * self.a + self.linear

    def _movable(self) -> tuple[Tensor, Tensor]:
        """The variables whose s a may grow, and those where it may shrink, as masks."""
        plus, below, above = self.sign > 0, self.a < self.upper, self.a > 0
        return self.torch.where(plus, below, above), self.torch.where(plus, above, below)

    def _look(self) -> None:
        """Put down the numbers of where it stands.

        Of every group the largest -s G among the variables whose s a may grow, and the smallest among those where it
        may shrink; the violation; objective, p'a and the number of steps.
        """
        torch, G = self.torch, self._gradient()
        value, (grows, shrinks) = -self.sign * G, self._movable()
        ends = []
        for group, _ in self.groups:
            ends += [
                torch.where(grows & group, value, -np.inf).amax(),
                torch.where(shrinks & group, value, np.inf).amin(),
            ]
        extremes = torch.stack(ends)
        if self.problem.equality == "none":
            violation = torch.maximum(extremes[0], -extremes[1])
        else:
            violation = (extremes[::2] - extremes[1::2]).amax()
        objective, slope = 0.5 * torch.dot(self.a, G + self.linear), torch.dot(self.linear, self.a)
        rest = torch.stack([violation.clamp(min=0.0), objective, slope, self.steps[0].double()])
        torch.cat([extremes, rest], out=self.numbers)

    def _found(self) -> Found:
        """The numbers, on this side: what is done on a device is waited for here."""
        *_, violation, objective, slope, steps = self.numbers.tolist()
        return Found(violation, objective, slope, int(steps))

    def _choose(self, G: Tensor) -> Tensor:
        """The variables of the next working set: those that violate the conditions most, and some of the last one."""
        torch, n = self.torch, len(self.sign)
        if n <= self.size:
            return torch.arange(n, device=self.place.device)
        value, (grows, shrinks) = -self.sign * G, self._movable()
        share = max(1, int((1.0 - KEPT) * self.size) // (2 * len(self.groups)))
        urgency = self.last_set
        for g, (group, _) in enumerate(self.groups):
            largest, smallest = self.numbers[2 * g], self.numbers[2 * g + 1]
            if self.problem.equality == "none":
                largest = smallest = torch.zeros_like(largest)
            for movable, excess in ((grows, value - smallest), (shrinks, largest - value)):
                violates = movable & group & (excess > 0.0) & (urgency < 2.0)
                best = torch.where(violates, excess, -1.0).float().topk(min(share, n))
                above = torch.where(best.values > 0.0, 2.0, urgency[best.indices])
                urgency = urgency.index_copy(0, best.indices, above)
        chosen = urgency.topk(self.size).indices
        self.last_set.zero_().index_fill_(0, chosen, 1.0)
        if self.size & (self.size - 1):
            return chosen
        # In another order in every round, so that groups of the set are made up afresh; an odd stride meets all once.
        stride = 2 * (37 * self.turn) + 1
        return chosen[torch.arange(self.size, device=self.place.device) * stride % self.size]

    def _limit(self, found: Found) -> str | None:
        """The reason to stop, None where there is none."""
        if found.n_iter >= self.most_steps:
            return "max_iter"
        if self.seconds > self.limit:
            return "max_seconds"
        report = (found.n_iter, found.objective, found.violation, self.seconds)
        if self.stopped or (self.callback is not None and self.callback(Progress(*report))):
            return "stopped"
        # Is this a hard margin whose coefficients run away? a'Qa = 2 (objective - p'a) without ridge.
        if self.problem.hard and found.slope < 0.0:
            squared_norm, least = 2.0 * (found.objective - found.slope), (self.unbounded_ratio * found.slope) ** 2
            if squared_norm <= least * self.diagonal:
                return "unbounded"
        return None

    # --- what is returned ---------------------------------------------------------------------------------

    def _balance(self) -> None:
        """What rounding has taken from the equalities is given back by the variables between their bounds."""
        if self.problem.total is None:
            return
        off = [(self.sign * self.a)[group].sum() - total for group, total in self.groups]
        if float(self.torch.stack(off).abs().amax()) > BALANCED * (1.0 + float(self.a.sum())):
            self.a.copy_(self.place.tensor(self.problem.balanced(to_numpy(self.a))))

    def _refresh(self) -> None:
        """f in float64, afresh, wherever objective, gap and violation depend on it.

        That is for samples with a multiplier, and for those near the margin; float32 tells which these are, and how
        much it errs is seen at the others.
        """
        support = self.a.nonzero()[:, 0]
        columns, coefficients = self.index[support], (self.sign * self.a)[support]
        if self.dtype == "float32":
            near, error = self._near(), 2.0 * self.solver.tol
            exact = self.rows.product(columns, coefficients, "float64", near)
            if len(near) and float((exact - self.f[near]).abs().amax()) * CARE <= error:
                self.f[near] = exact
                self._look()
                return
        self.f.copy_(self.rows.product(columns, coefficients, "float64"))
        self._look()

    def _near(self) -> Tensor:
        """Samples of which a variable is positive, or could move at this violation and twice the tolerance more."""
        torch, value, (grows, shrinks) = self.torch, -self.sign * self._gradient(), self._movable()
        matters = self.a > 0
        for g, (group, _) in enumerate(self.groups):
            largest, smallest = self.numbers[2 * g], self.numbers[2 * g + 1]
            middle = 0.5 * (largest + smallest) if self.problem.equality != "none" else 0.0
            reach = 0.5 * self.numbers[-4] + 4.0 * self.solver.tol
            matters = matters | group & (grows & (value >= middle - reach) | shrinks & (value <= middle + reach))
        which = torch.zeros(self.rows.n, dtype=torch.bool, device=self.place.device)
        which[self.index[matters]] = True
        which[:: max(1, self.rows.n // PROBES)] = True
        return which.nonzero()[:, 0]

    def _record(self, found: Found) -> None:
        """An entry of the history."""
        self.samples.append((found.n_iter, -found.objective, self._gap(), found.violation))

    def _gap(self) -> float:
        """`DualProblem.gap` on the device, for offsets amid the extremes; that of a hard margin comes at the end."""
        if self.problem.hard:
            return np.inf
        torch, slope = self.torch, self._gradient() - self.ridge * self.a
        if self.problem.equality != "none":
            for g, (group, _) in enumerate(self.groups):
                middle = 0.5 * (self.numbers[2 * g] + self.numbers[2 * g + 1])
                slope = slope + torch.where(group, self.sign * middle, 0.0)
        best = torch.where(slope < 0.0, self.upper, 0.0)
        curved = torch.where(self.ridge > 0.0, (-slope / self.ridge).clamp(min=0.0), best)
        best = torch.minimum(best, curved)
        return float(((slope + self.ridge * best) * (self.a - best) + 0.5 * self.ridge * (self.a - best) ** 2).sum())

    def _result(self, status: str) -> SolverResult:
        """The certificate of the point where the run ends."""
        found = self._found()
        self.samples.append((found.n_iter, -found.objective, np.inf, found.violation))  # `certify` says it
        iteration, objective, gap, violation = np.array(self.samples).T
        return certify(
            self.problem,
            to_numpy(self.a),
            to_numpy(self._gradient()),
            status=status,
            n_iter=found.n_iter,
            seconds=self.seconds,
            kernel_evaluations=self.rows.evaluations - self.evaluated,
            history=History(iteration.astype(np.int64), objective, gap, violation),
            precision=self.dtype,
        )
