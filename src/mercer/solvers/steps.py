"""What the solvers in plain Python share: a run step by step, and the whole matrix of a problem."""

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from mercer.errors import NotSeparableError
from mercer.parameters import Number, check_parameters
from mercer.problems import DualProblem, Offsets
from mercer.solvers.base import Callback, History, Progress, SolverResult, certify

__all__ = ["Run", "StepSolver", "whole_matrix"]

# A hard margin below this fraction of the largest feature norm is taken not to exist: its multipliers grow without end.
NO_MARGIN = 1e-4
# Steps that change nothing, one after the other, after which rounding is taken to be in the way.
IDLE_STEPS = 100
# The history has an entry for every step at first, then for every so much more of them.
THINNING = 1.05


class StepSolver(BaseEstimator, ABC):
    """Base of solvers that go step by step: their limits, and many problems one after the other."""

    _parameters: ClassVar[dict[str, Any]] = {
        "tol": Number(0, above=True),
        "max_iter": Number(1, integer=True),
        "max_seconds": Number(0, above=True, none=True),
    }

    tol: float
    max_iter: int
    max_seconds: float | None = None

    def check(self, problem: DualProblem) -> None:
        """Every `DualProblem` will do; the parameters are checked."""
        check_parameters(self)

    @abstractmethod
    def solve(
        self, problem: DualProblem, start: np.ndarray | None = None, callback: Callback | None = None
    ) -> SolverResult:
        """As `SMO.solve`."""

    def solve_many(
        self,
        problems: Sequence[DualProblem],
        starts: Sequence[np.ndarray | None] | None = None,
        callback: Callback | None = None,
    ) -> list[SolverResult]:
        """One after the other."""
        starts = [None] * len(problems) if starts is None else starts
        return [self.solve(p, start, callback) for p, start in zip(problems, starts, strict=True)]


def whole_matrix(problem: DualProblem) -> np.ndarray:
    """Q, written out."""
    K = problem.gram.square(problem.index)
    return K * np.outer(problem.sign, problem.sign) + np.diag(problem.ridge)


class Run:
    """One run: what it tells, what it records, what ends it."""

    def __init__(self, solver: StepSolver, problem: DualProblem, callback: Callback | None):
        self.solver, self.problem, self.callback = solver, problem, callback
        self.began = time.perf_counter()
        self.n_iter, self.status = 0, "max_iter"
        self._samples: list[tuple[float, ...]] = []
        self._next_sample, self._best, self._idle = 0.0, np.inf, 0
        self._norm = float(problem.gram.diag()[problem.index].max()) if problem.hard else 0.0

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.perf_counter() - self.began

    def record(self, a: np.ndarray, gradient: np.ndarray, violation: float, offsets: Offsets | None = None) -> None:
        """An entry of the history."""
        problem = self.problem
        gap = problem.gap(a, gradient, problem.offsets(a, gradient) if offsets is None else offsets)
        self._samples.append((self.n_iter, -problem.objective(a, gradient), gap, violation))

    def wants_record(self) -> bool:
        """Whether an entry is due."""
        if self.n_iter < self._next_sample:
            return False
        self._next_sample = max(self.n_iter + 1, THINNING * self.n_iter)
        return True

    def goes_on(self, a: np.ndarray, gradient: np.ndarray) -> bool:
        """Before every step: whether it is wanted, and not forbidden."""
        objective = self.problem.objective(a, gradient)
        violation = self.problem.violation(a, gradient)
        if self.wants_record():
            self.record(a, gradient, violation)
        if violation <= self.solver.tol:
            self.status = "solved"
            return False
        self.refuse_without_margin(self.problem, a, gradient)
        self._idle = 0 if objective < self._best else self._idle + 1
        self._best = min(self._best, objective)
        if self._idle > IDLE_STEPS:
            self.status = "stalled"
            return False
        return self.may_go_on(objective, violation)

    def may_go_on(self, objective: float, violation: float) -> bool:
        """Whether neither a limit nor the callback forbids the next step."""
        if self.n_iter >= self.solver.max_iter:
            self.status = "max_iter"
        elif self.solver.max_seconds is not None and self.seconds > self.solver.max_seconds:
            self.status = "max_seconds"
        elif self.callback is not None and self.callback(Progress(self.n_iter, objective, violation, self.seconds)):
            self.status = "stopped"
        else:
            return True
        return False

    def refuse_without_margin(self, problem: DualProblem, a: np.ndarray, gradient: np.ndarray) -> None:
        """The problem is that of the run or a part of it; |w| / sum(a) bounds a hard margin from above."""
        most = (NO_MARGIN * a.sum()) ** 2 * self._norm
        if problem.hard and a.any() and problem.squared_norm(a, gradient) <= most:
            raise NotSeparableError(
                "The classes are not separable with this kernel: the dual of the hard margin is unbounded. "
                "Choose a finite C or a richer kernel."
            )

    def result(
        self, a: np.ndarray, gradient: np.ndarray, kernel_evaluations: int, offsets: Offsets | None = None
    ) -> SolverResult:
        """The certificate of the point where it ended."""
        self.record(a, gradient, self.problem.violation(a, gradient), offsets)
        iteration, objective, gap, violation = np.array(self._samples).T
        return certify(
            self.problem,
            a,
            gradient,
            status=self.status,
            n_iter=self.n_iter,
            seconds=self.seconds,
            kernel_evaluations=kernel_evaluations,
            history=History(iteration.astype(np.int64), objective, gap, violation),
            offsets=offsets,
        )
