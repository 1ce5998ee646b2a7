"""What every solver promises, and the result that proves it."""

import math
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer import _native
from mercer.problems import DualProblem, Offsets
from mercer.threads import effective_n_threads

__all__ = [
    "Certificate",
    "History",
    "Progress",
    "Solver",
    "SolverResult",
    "certify",
    "combine",
    "solve_side_by_side",
    "summary",
    "warn_unless_solved",
]

# From best to worst; several problems are as good as the worst of them.
STATUSES = ("solved", "degenerate", "indefinite", "stalled", "max_iter", "max_seconds", "stopped")

REMEDIES = {
    "degenerate": "The margin is zero: the classes overlap too much for this nu, or one class surrounds the origin, so "
    "that every direction is as good as another. Raise nu or use a richer kernel",
    "indefinite": "The kernel matrix is not positive semi-definite: the point is stationary, but nothing bounds the "
    "optimum. Use a positive semi-definite kernel for a proof",
    "stalled": "Rounding keeps it from going on. Raise tol, lower C, or scale the data",
    "max_iter": "It ran into max_iter. Raise max_iter or tol, or scale the data",
    "max_seconds": "It ran into max_seconds. Raise max_seconds or tol, or scale the data",
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
        return self.gap / max(abs(self.objective), np.finfo(float).tiny) if self.gap else 0.0

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
    parts: tuple["SolverResult", ...] = field(default=(), repr=False)
    """Results of the problems that this one sums up."""

    def __str__(self) -> str:
        lines = super().__str__().splitlines()
        if self.margin is not None:
            lines.insert(6, f"smallest y f(x)    {self.margin:.6g}")
        if self.parts:
            lines.insert(0, f"problems           {len(self.parts)}")
        return "\n".join(lines)


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
    ) -> list[SolverResult]:
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
) -> SolverResult:
    """The result for a feasible point and its gradient in float64: offsets, objective, bound, gap and violation.

    The last entry of the history becomes that of the certificate. On an indefinite Gram matrix nothing is bounded, and
    "solved" becomes "indefinite".
    """
    offsets = problem.offsets(a, gradient)
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


def summary(results: Sequence[Certificate]) -> Certificate:
    """One certificate for several independent problems: sums of objectives, the worst of the rest."""
    return Certificate(
        objective=math.fsum(r.objective for r in results),
        bound=math.fsum(r.bound for r in results) if all(np.isfinite(r.bound) for r in results) else -np.inf,
        gap=sum(r.gap for r in results),
        violation=max(r.violation for r in results),
        n_iter=sum(r.n_iter for r in results),
        status=max((r.status for r in results), key=STATUSES.index),
        seconds=sum(r.seconds for r in results),
        precision=min(r.precision for r in results),
        kernel_evaluations=sum(r.kernel_evaluations for r in results),
        imbalance=max(r.imbalance for r in results),
        history=max(results, key=lambda r: r.n_iter).history,
    )


def combine(results: Sequence[SolverResult]) -> SolverResult:
    """One result for several independent problems, with their `summary`."""
    if len(results) == 1:
        return results[0]
    margins = [r.margin for r in results if r.margin is not None]
    return SolverResult(
        **vars(summary(results)),
        a=np.concatenate([r.a for r in results]),
        gradient=np.concatenate([r.gradient for r in results]),
        offsets=max(results, key=lambda r: r.n_iter).offsets,
        margin=min(margins) if margins else None,
        parts=tuple(results),
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
    problems: Sequence[DualProblem],
    starts: Sequence[np.ndarray | None] | None,
    callback: Callback | None,
) -> list[SolverResult]:
    """`solver.solve` for each problem, on one thread each, as many at once as the solver may use threads.

    With a callback, which is called on the calling thread only, one after the other.
    """
    starts = [None] * len(problems) if starts is None else starts
    threads = min(effective_n_threads(solver.n_threads), len(problems))
    if callback is not None or threads < 2:
        return [solver.solve(p, start, callback) for p, start in zip(problems, starts, strict=True)]
    alone, interrupted = clone(solver).set_params(n_threads=1), Interrupt()

    def solve(problem: DualProblem, start: np.ndarray | None) -> SolverResult:
        with interrupted.heard():
            return alone.solve(problem, start, interrupted)

    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(solve, p, start) for p, start in zip(problems, starts, strict=True)]
        try:
            return [future.result() for future in futures]
        except BaseException:  # also Ctrl-C
            interrupted.set()
            for future in futures:
                future.cancel()
            raise


def warn_unless_solved(result: Certificate, owner: str) -> None:
    """The one place where a status becomes a warning."""
    if result.status == "solved":
        return
    warnings.warn(
        f"{owner} did not reach a proved optimum (status {result.status}): violation {result.violation:.3g}, "
        f"duality gap {result.gap:.3g} after {result.n_iter} iterations. {REMEDIES[result.status]}.",
        ConvergenceWarning,
        stacklevel=5,
    )
