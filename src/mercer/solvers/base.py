"""What every solver promises, and the result that proves it."""

import math
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer import _native
from mercer.callers import warn_caller
from mercer.problems import DualProblem, Offsets
from mercer.segments import Segments
from mercer.threads import effective_n_threads

__all__ = [
    "Certificate",
    "History",
    "Progress",
    "Solver",
    "SolverResult",
    "SolverResults",
    "certify",
    "column",
    "combine",
    "side_by_side",
    "solve_side_by_side",
    "summary",
    "warn_unless_solved",
]

T = TypeVar("T")

# From best to worst; several problems are as good as the worst of them.
STATUSES = ("solved", "degenerate", "indefinite", "stalled", "max_iter", "max_seconds", "stopped")
# Those that more steps, more time or another callback may change.
LIMITS = ("max_iter", "max_seconds", "stopped")

REMEDIES = {
    "degenerate": "The margin is zero: the classes overlap too much for this nu, or one class surrounds the origin, so "
    "that every direction is as good as another. Raise nu or use a richer kernel",
    "indefinite": "The kernel matrix is not positive semi-definite: the point is stationary, but nothing bounds the "
    "optimum. Use a positive semi-definite kernel for a proof",
    "stalled": "Rounding keeps it from going on. Raise {tol}, regularise more (lower C, raise alpha), or scale the "
    "data",
    "max_iter": "It ran into max_iter. Raise max_iter or {tol}, or scale the data",
    "max_seconds": "It ran into max_seconds. Raise max_seconds or {tol}, or scale the data",
    "stopped": "The callback stopped it",
}


@dataclass(frozen=True, eq=False)
class History:
    """Samples of a run: one entry of each array per sample, in the order of the iterations.

    The last entry is the point that was returned. Entries before it are of the working precision and of the
    variables still at play, so that their gap is an estimate.
    """

    iteration: np.ndarray
    """How many steps had been made."""
    objective: np.ndarray
    """The dual objective W, which is to be large. [CY §1.6]"""
    gap: np.ndarray
    """Distance to the primal objective; infinite for a hard margin that is not yet met."""
    violation: np.ndarray
    """Violation of the optimality conditions."""

    def __len__(self) -> int:
        return len(self.iteration)


@dataclass(frozen=True)
class Progress:
    """What a callback is told while a solver runs. A callback that returns True stops the run."""

    n_iter: int
    objective: float
    violation: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Certificate:
    """The proof of how good a solution is.

    It is for the point that is returned, in float64: the objective cannot be better than `bound` by any feasible point,
    whatever the solver did.
    """

    objective: float
    """Value of the programme that was minimised; minus the dual objective."""
    bound: float
    """No feasible point has a smaller objective; minus the primal objective. -inf when nothing is proved."""
    gap: float
    """objective - bound."""
    violation: float
    """Violation of the optimality conditions; if solved, at most `tol` in the unit of the problem."""
    n_iter: int
    """Steps made."""
    status: str
    """"solved", or why not: "degenerate", "indefinite", "stalled", "max_iter", "max_seconds", "stopped"."""
    seconds: float
    """Wall-clock time."""
    precision: str
    """Precision of the working rows, "float32" or "float64"; the certificate is always in float64."""
    kernel_evaluations: int
    """Kernel values computed."""
    imbalance: float
    """How far the equality constraint is from being met; for classifiers the sum of alpha_i y_i."""
    history: History = field(repr=False)
    """Samples of the run."""

    @property
    def primal_objective(self) -> float:
        """What the machine minimises: half the squared norm plus the losses."""
        return -self.bound

    @property
    def dual_objective(self) -> float:
        """W, what its dual maximises."""
        return -self.objective

    @property
    def relative_gap(self) -> float:
        """gap over the size of the objective."""
        return self.gap / max(abs(self.objective), sys.float_info.min) if self.gap else 0.0

    def __str__(self) -> str:
        lines = [
            f"status             {self.status}",
            f"primal objective   {self.primal_objective:.10g}",
            f"dual objective     {self.dual_objective:.10g}",
            f"duality gap        {self.gap:.3g} (relative {self.relative_gap:.2g})",
            f"KKT violation      {self.violation:.3g}",
            f"equality           off by {self.imbalance:.2g}",
            f"iterations         {self.n_iter}",
            f"kernel evaluations {self.kernel_evaluations}",
            f"seconds            {self.seconds:.3g}",
            f"precision          {self.precision} rows, float64 certificate",
        ]
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class SolverResult(Certificate):
    """The solution of a `DualProblem` and the proof of how good it is."""

    a: np.ndarray = field(repr=False)
    """The solution, one entry per variable."""
    gradient: np.ndarray = field(repr=False)
    """Q a + p."""
    offsets: Offsets = field(repr=False)
    """Offsets of the decision function."""
    margin: float | None = None
    """The smallest y f(x) over the training samples of a classifier."""
    parts: Sequence["SolverResult"] = field(default=(), repr=False)
    """Results of the problems that this one sums up."""

    def __str__(self) -> str:
        lines = super().__str__().splitlines()
        if self.margin is not None:
            lines.insert(6, f"smallest y f(x)    {self.margin:.6g}")
        if self.parts:
            lines.insert(0, f"problems           {len(self.parts)}")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class SolverResults(Sequence[SolverResult]):
    """The results of many problems in flat arrays; each is made when it is asked for.

    The fields are those of `SolverResult`, with an entry for every problem, or for every variable.
    """

    variables: Segments
    """The variables of every problem."""
    a: np.ndarray
    gradient: np.ndarray
    objective: np.ndarray
    gap: np.ndarray
    violation: np.ndarray
    imbalance: np.ndarray
    offsets: np.ndarray
    """Shape (n_problems, 2): those of sign + and of sign -."""
    seconds: np.ndarray
    n_iter: np.ndarray
    kernel_evaluations: np.ndarray
    status: np.ndarray
    precision: np.ndarray
    records: np.ndarray
    """The samples of all runs, with the columns (iteration, objective, gap, violation) of `History`."""
    runs: Segments
    """The samples of every run."""
    margin: np.ndarray
    """NaN where it is not known."""

    @classmethod
    def of(cls, results: Sequence[SolverResult]) -> "SolverResults":
        """Results that are there."""
        if isinstance(results, SolverResults):
            return results

        def column(name: str, dtype: Any = np.float64) -> np.ndarray:
            return np.array([getattr(result, name) for result in results], dtype=dtype)

        histories = [result.history for result in results]
        records = [np.column_stack([h.iteration, h.objective, h.gap, h.violation]) for h in histories]
        return cls(
            variables=Segments.of_sizes([len(result.a) for result in results]),
            a=np.concatenate([result.a for result in results]),
            gradient=np.concatenate([result.gradient for result in results]),
            objective=column("objective"),
            gap=column("gap"),
            violation=column("violation"),
            imbalance=column("imbalance"),
            offsets=column("offsets"),
            seconds=column("seconds"),
            n_iter=column("n_iter", np.int64),
            kernel_evaluations=column("kernel_evaluations", np.int64),
            status=column("status", object),
            precision=column("precision", object),
            records=np.concatenate(records),
            runs=Segments.of_sizes([len(history) for history in histories]),
            margin=np.array([np.nan if result.margin is None else result.margin for result in results]),
        )

    @property
    def bound(self) -> np.ndarray:
        """objective - gap."""
        return self.objective - self.gap

    def __len__(self) -> int:
        return len(self.variables)

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return self._stretch(range(len(self))[k])
        k = range(len(self))[k]
        objective, gap, margin = float(self.objective[k]), float(self.gap[k]), float(self.margin[k])
        iteration, *samples = self.records[self.runs[k]].T.copy()
        return SolverResult(
            objective=objective,
            bound=objective - gap,
            gap=gap,
            violation=float(self.violation[k]),
            n_iter=int(self.n_iter[k]),
            status=self.status[k],
            seconds=float(self.seconds[k]),
            precision=self.precision[k],
            kernel_evaluations=int(self.kernel_evaluations[k]),
            imbalance=float(self.imbalance[k]),
            history=History(iteration.astype(np.int64), *samples),
            a=self.a[self.variables[k]],
            gradient=self.gradient[self.variables[k]],
            offsets=Offsets(*self.offsets[k].tolist()),
            margin=None if np.isnan(margin) else margin,
        )

    def _stretch(self, problems: range) -> "SolverResults":
        """The results of neighbouring problems, as views."""
        if len(problems) == len(self):
            return self
        variables, of_variables = self.variables.stretch(problems)
        runs, of_runs = self.runs.stretch(problems)
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        entries = {"a": of_variables, "gradient": of_variables, "records": of_runs}
        of_problems = slice(problems.start, problems.stop)
        parts = {
            name: entry[entries.get(name, of_problems)]
            for name, entry in values.items()
            if name not in ("variables", "runs")
        }
        return SolverResults(variables=variables, runs=runs, **parts)


Callback = Callable[[Progress], object]


@runtime_checkable
class Solver(Protocol):
    """A solver of `DualProblem`."""

    def check(self, problem: DualProblem) -> None:
        """Refuse, by name and before anything is computed, a problem that this solver cannot do."""

    def solve(
        self, problem: DualProblem, start: np.ndarray | None = None, callback: Callback | None = None
    ) -> SolverResult:
        """The solution, with its certificate."""

    def solve_many(
        self,
        problems: Sequence[DualProblem],
        starts: Sequence[np.ndarray | None] | None = None,
        callback: Callback | None = None,
    ) -> Sequence[SolverResult]:
        """The solutions of problems over one Gram matrix."""


def certify(
    problem: DualProblem,
    a: np.ndarray,
    gradient: np.ndarray,
    *,
    status: str,
    n_iter: int,
    seconds: float,
    kernel_evaluations: int,
    history: History,
    precision: str = "float64",
    offsets: Offsets | None = None,
) -> SolverResult:
    """The result for a feasible point and its gradient in float64: offsets, objective, bound, gap and violation.

    Any offsets make a bound; without them those of the problem are taken. The last entry of the history becomes that of
    the certificate. On an indefinite Gram matrix nothing is bounded, and "solved" becomes "indefinite".
    """
    offsets = problem.offsets(a, gradient) if offsets is None else offsets
    objective, gap = problem.objective(a, gradient), problem.gap(a, gradient, offsets)
    if status == "indefinite" or not problem.gram.definite:
        gap, status = np.inf, "indefinite" if status == "solved" else status
    violation = problem.violation(a, gradient)
    history.objective[-1:], history.gap[-1:], history.violation[-1:] = -objective, gap, violation
    return SolverResult(
        objective=objective,
        bound=objective - gap,
        gap=gap,
        violation=violation,
        n_iter=n_iter,
        status=status,
        seconds=seconds,
        precision=precision,
        kernel_evaluations=kernel_evaluations,
        imbalance=problem.imbalance(a),
        history=history,
        a=a,
        gradient=gradient,
        offsets=offsets,
    )


def column(results: Sequence[Certificate], name: str) -> Any:
    """One field of all results, without making those that are not there."""
    return getattr(results, name) if isinstance(results, SolverResults) else [getattr(r, name) for r in results]


def summary(results: Sequence[Certificate]) -> Certificate:
    """One certificate for several independent problems: sums of objectives, the worst of the rest."""
    bounds, n_iter = column(results, "bound"), column(results, "n_iter")
    return Certificate(
        objective=math.fsum(column(results, "objective")),
        bound=math.fsum(bounds) if np.isfinite(bounds).all() else -np.inf,
        gap=math.fsum(column(results, "gap")),
        violation=float(np.max(column(results, "violation"))),
        n_iter=int(np.sum(n_iter)),
        status=max(set(column(results, "status")), key=STATUSES.index),
        seconds=math.fsum(column(results, "seconds")),
        precision=min(set(column(results, "precision"))),
        kernel_evaluations=int(np.sum(column(results, "kernel_evaluations"))),
        imbalance=float(np.max(column(results, "imbalance"))),
        history=results[int(np.argmax(n_iter))].history,
    )


def combine(results: Sequence[SolverResult]) -> SolverResult:
    """One result for several independent problems, with their `summary`."""
    if len(results) == 1:
        return results[0]
    together = SolverResults.of(results)
    return SolverResult(
        **vars(summary(together)),
        a=together.a,
        gradient=together.gradient,
        offsets=together[int(np.argmax(together.n_iter))].offsets,
        margin=None if np.isnan(together.margin).all() else float(np.nanmin(together.margin)),
        parts=results if isinstance(results, SolverResults) else tuple(results),
    )


class Interrupt(threading.Event):
    """Ctrl-C for solvers on other threads, which do not see it: a callback that stops them; nobody is told anything."""

    def __call__(self, progress: Progress) -> bool:
        return self.is_set()

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Long native loops of this thread, too, end once it is set, with KeyboardInterrupt."""
        unwanted = self.is_set  # the native side borrows it
        _native.listen_to(unwanted)
        try:
            yield
        finally:
            _native.listen_to(None)


def solve_side_by_side(
    solver: Any,
    problems: Sequence[Any],
    starts: Sequence[Any] | None,
    callback: Callback | None,
) -> list[Any]:
    """`solver.solve` for each problem, on one thread each, as many at once as the solver may use threads.

    With a callback, which is called on the calling thread only, one after the other.
    """
    starts = [None] * len(problems) if starts is None else starts
    threads = min(effective_n_threads(solver.n_threads), len(problems))
    if callback is not None or threads < 2:
        return [solver.solve(p, start, callback) for p, start in zip(problems, starts, strict=True)]
    alone, interrupted = clone(solver).set_params(n_threads=1), Interrupt()
    pairs = list(zip(problems, starts, strict=True))
    return side_by_side(lambda problem, start: alone.solve(problem, start, interrupted), pairs, threads, interrupted)


def side_by_side(run: Callable[..., T], tasks: Iterable[tuple], threads: int, interrupted: Interrupt) -> list[T]:
    """`run(*task)` for each task, so many at once. If one fails, or on Ctrl-C, the others are told and not begun."""

    def heard(*task: Any) -> T:
        with interrupted.heard():
            return run(*task)

    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(heard, *task) for task in tasks]
        try:
            return [future.result() for future in futures]
        except BaseException:  # also Ctrl-C
            interrupted.set()
            for future in futures:
                future.cancel()
            raise


class Outcome(Protocol):
    """What all results say of themselves, of programmes, systems and spectra."""

    @property
    def status(self) -> str: ...

    @property
    def violation(self) -> float: ...

    @property
    def gap(self) -> float: ...

    @property
    def n_iter(self) -> int: ...


def warn_unless_solved(result: Outcome, owner: str, tol: str = "tol", remedies: Mapping[str, str] = REMEDIES) -> None:
    """The one place where a status becomes a warning; `tol` is the parameter of the owner that says when to end."""
    if result.status == "solved":
        return
    warn_caller(
        f"{owner} did not reach a proved optimum (status {result.status}): violation {result.violation:.3g}, "
        f"duality gap {result.gap:.3g} after {result.n_iter} iterations. "
        f"{remedies[result.status].format(tol=tol)}.",
        ConvergenceWarning,
    )
