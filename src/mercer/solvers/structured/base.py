"""What solvers of `StructuredProblem` share: counted oracle calls, bounds from both sides, a certificate."""

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from mercer.parameters import Number, check_parameters
from mercer.problems import Planes, StructuredProblem
from mercer.solvers.base import Progress

__all__ = ["StructuredHistory", "StructuredResult", "StructuredRun", "StructuredSolver"]


@dataclass(frozen=True, eq=False)
class StructuredHistory:
    """What was known whenever all samples had been looked at with one w: one entry of each array."""

    n_calls: np.ndarray
    """Oracle calls so far."""
    seconds: np.ndarray
    primal_objective: np.ndarray
    """The smallest so far."""
    dual_objective: np.ndarray
    """The largest so far."""

    def __len__(self) -> int:
        return len(self.seconds)

    @property
    def gap(self) -> np.ndarray:
        """The gap so far."""
        return self.primal_objective - self.dual_objective


@dataclass(frozen=True, eq=False)
class StructuredResult:
    """Weights of features, and the proof of how good they are."""

    w: np.ndarray = field(repr=False)
    primal_objective: float
    """At w; every sample was looked at for it."""
    dual_objective: float
    """No w has a smaller primal objective."""
    gap: float
    """Their difference."""
    violation: float
    """The gap over the sum of all costs: by how much the loss of a sample could fall, in the mean."""
    losses: np.ndarray = field(repr=False)
    """H of every sample at w; it is at least the loss of the output that is predicted, for margin rescaling."""
    n_calls: int
    """Oracle calls."""
    n_iter: int
    """Passes: as many oracle calls as there are samples, rounded up."""
    status: str
    """"solved", or why not: "stalled", "max_iter", "max_seconds", "stopped"; "local": something of the outputs was
    hidden, and the point is stationary, which is all that can be proved."""
    seconds: float
    """Wall-clock time."""
    history: StructuredHistory = field(repr=False)

    @property
    def relative_gap(self) -> float:
        """gap over the size of the objective."""
        return relative(self.gap, self.primal_objective)

    def __str__(self) -> str:
        lines = [
            f"status             {self.status}",
            f"primal objective   {self.primal_objective:.10g}",
            f"dual objective     {self.dual_objective:.10g}",
            f"duality gap        {self.gap:.3g} (relative {self.relative_gap:.2g})",
            f"passes             {self.n_iter}",
            f"oracle calls       {self.n_calls}",
            f"seconds            {self.seconds:.3g}",
        ]
        return "\n".join(lines)


def relative(gap: float, objective: float) -> float:
    """A gap over the size of the objective."""
    return gap / max(abs(objective), sys.float_info.min) if gap else 0.0


class StructuredRun:
    """A run: oracle calls, the best point on both sides, limits.

    Parameters
    ----------
    problem : StructuredProblem
    solver : StructuredSolver
        Whose limits hold.
    callback : callable or None
        Told whenever all samples have been looked at with one w.
    """

    def __init__(
        self, problem: StructuredProblem, solver: "StructuredSolver", callback: Callable[[Progress], Any] | None
    ):
        self.problem, self.callback = problem, callback
        self.gap_tol, self.max_iter, self.max_seconds = solver.gap_tol, solver.max_iter, solver.max_seconds
        self.n_calls = 0
        self.primal, self.dual = np.inf, 0.0  # the dual objective without multipliers
        self._began, self._stopped, self._stalled, self._proof = time.perf_counter(), False, False, "solved"
        self._log: list[tuple[float, ...]] = []
        self._everyone = np.arange(problem.n)

    def pose(self, problem: StructuredProblem, gap_tol: float) -> None:
        """Go on with another problem of these samples, one of many that end at a local optimum."""
        self.problem, self.gap_tol, self._proof = problem, gap_tol, "local"
        self.primal, self.dual = np.inf, 0.0

    def look(self, w: np.ndarray, samples: np.ndarray) -> Planes:
        """The highest planes of some samples at w."""
        self.n_calls += len(samples)
        return self.problem.planes(w, samples)

    def judge(self, w: np.ndarray, loss: float | None) -> Planes:
        """The highest planes of all samples at w, which tell its primal objective; l.a tells the dual one.

        Parameters
        ----------
        w : array of shape (size,)
        loss : float or None
            The l.a of multipliers a with w as the sum of a psi; None: w is not such a sum.
        """
        planes = self.look(w, self._everyone)
        losses = np.maximum(0.0, planes.values(w))
        square = 0.5 * float(w @ w)
        primal = square + float(self.problem.cost @ losses)
        if primal < self.primal:
            self.primal, self.w, self.losses = primal, w.copy(), losses
        if loss is not None:
            self.prove(loss - square)
        self._log.append((self.n_calls, self.seconds, self.primal, self.dual))
        if self.callback is not None:
            told = Progress(self.n_passes, self.dual, self.gap / float(self.problem.cost.sum()), self.seconds)
            self._stopped = bool(self.callback(told)) or self._stopped
        return planes

    def prove(self, dual: float) -> None:
        """A lower bound of the optimum."""
        self.dual = max(self.dual, dual)

    def stall(self) -> None:
        """Say that nothing gets better any more."""
        self._stalled = True

    @property
    def n_passes(self) -> int:
        """Oracle calls over samples, rounded up."""
        return -(-self.n_calls // self.problem.n)

    @property
    def seconds(self) -> float:
        """Since the run began."""
        return time.perf_counter() - self._began

    @property
    def gap(self) -> float:
        """The gap so far."""
        return max(0.0, self.primal - self.dual)

    @property
    def wanted(self) -> float:
        """The gap that is asked for."""
        return self.gap_tol * abs(self.primal)

    @property
    def status(self) -> str | None:
        """Why the run is to end; None: it is to go on."""
        if self.gap <= self.wanted:
            return self._proof
        if self._stopped:
            return "stopped"
        if self.max_iter is not None and self.n_passes >= self.max_iter:
            return "max_iter"
        if self.max_seconds is not None and self.seconds >= self.max_seconds:
            return "max_seconds"
        return "stalled" if self._stalled else None

    def result(self, status: str) -> StructuredResult:
        """What was found."""
        n_calls, seconds, primal, dual = np.array(self._log).T.copy()
        return StructuredResult(
            w=self.w,
            primal_objective=self.primal,
            dual_objective=self.primal - self.gap,
            gap=self.gap,
            violation=self.gap / float(self.problem.cost.sum()),
            losses=self.losses,
            n_calls=self.n_calls,
            n_iter=self.n_passes,
            status=status,
            seconds=self.seconds,
            history=StructuredHistory(n_calls.astype(np.int64), seconds, primal, dual),
        )


class StructuredSolver(BaseEstimator, ABC):
    """Base of the solvers of `StructuredProblem`.

    Parameters
    ----------
    gap_tol : float > 0, default=1e-3
        Largest relative gap between the primal and the dual objective.
    max_iter : int >= 1 or None, default=1000
        Most passes over the samples: oracle calls over their number. The one in which the limit is noticed is ended.
    max_seconds : float > 0 or None, default=None
        Most wall-clock time; noticed between batches of oracle calls.
    """

    _parameters: ClassVar[dict[str, Any]] = {
        "gap_tol": Number(0, above=True),
        "max_iter": Number(1, integer=True, none=True),
        "max_seconds": Number(0, above=True, none=True),
    }

    convex: ClassVar[bool] = True
    """Whether outputs with hidden parts are refused."""

    def __init__(self, *, gap_tol=1e-3, max_iter=1000, max_seconds=None):
        self.gap_tol = gap_tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds

    def check(self, problem: StructuredProblem) -> None:
        """Refuse, by name and before anything is computed, a problem that this solver cannot do."""
        check_parameters(self)
        if self.convex and not problem.convex:
            raise ValueError(f"{type(self).__name__} needs outputs without hidden parts; use ConvexConcave.")

    def solve(
        self,
        problem: StructuredProblem,
        start: np.ndarray | None = None,
        callback: Callable[[Progress], Any] | None = None,
    ) -> StructuredResult:
        """Solve the problem.

        Parameters
        ----------
        problem : StructuredProblem
        start : array of shape (size,), default=None
            The first w; None: zero. Any is good, one near the solution saves passes.
        callback : callable, default=None
            Called with a `Progress` whenever all samples have been looked at with one w; a true value stops the run.

        Returns
        -------
        StructuredResult
        """
        self.check(problem)
        w = np.zeros(problem.size) if start is None else np.asarray(start, dtype=np.float64)
        if w.shape != (problem.size,) or not np.isfinite(w).all():
            raise ValueError(
                f"start must be {problem.size} finite numbers, one for every feature, got shape {w.shape}."
            )
        run = StructuredRun(problem, self, callback)
        self._run(run, w)
        return run.result(run.status or "stalled")

    @abstractmethod
    def _run(self, run: StructuredRun, w: np.ndarray) -> None:
        """Go on from w until the run has a status; every run judges one point at least."""
