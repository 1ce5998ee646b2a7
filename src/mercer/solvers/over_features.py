"""What the solvers of problems over a `FeatureGram` share: parameters, what they refuse, runs, certificates."""

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from mercer.checkpoints import Bookmark
from mercer.gram import FeatureGram
from mercer.parameters import Number, check_parameters
from mercer.problems import DualProblem
from mercer.solvers.base import Callback, History, SolverResult, certify, solve_side_by_side
from mercer.solvers.smo import is_flat
from mercer.threads import effective_n_threads, limit_threads

__all__ = ["FeatureRun", "FeatureSolver", "LimitedSolver", "RunningSolver", "is_unbounded"]

# Problems of so many variables are solved as exactly as their features allow: nothing is gained by less.
SMALL = 1000


def is_unbounded(problem: DualProblem) -> bool:
    """Whether some variable has neither a bound nor a ridge, as those of a hard margin."""
    return not (np.isfinite(problem.upper) | (problem.ridge > 0)).all()


class LimitedSolver(BaseEstimator):
    """The parameters of the solvers here: how exact the solution is to be, and what it may take."""

    _parameters: ClassVar[dict[str, Any]] = {
        "tol": Number(0, above=True),
        "gap_tol": Number(0, above=True, none=True),
        "max_iter": Number(1, integer=True, none=True),
        "max_seconds": Number(0, above=True, none=True),
    }

    def __init__(self, *, tol=1e-3, gap_tol=None, max_iter=None, max_seconds=None, n_threads=None):
        self.tol = tol
        self.gap_tol = gap_tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.n_threads = n_threads

    def check(self, problem: DualProblem) -> None:
        """Refuse wrong parameters."""
        check_parameters(self)
        effective_n_threads(self.n_threads)


class FeatureSolver(LimitedSolver, ABC):
    """Base of the solvers that work with the features of a `FeatureGram` in place of kernel values."""

    def check(self, problem: DualProblem) -> None:
        """Refuse problems over other kernels."""
        super().check(problem)
        if not isinstance(problem.gram, FeatureGram):
            raise ValueError(
                f"{type(self).__name__} needs features, as a LinearGram or a LandmarkGram has them, got a "
                f"{type(problem.gram).__name__}; SMO solves problems over any kernel."
            )

    def solve(
        self, problem: DualProblem, start: np.ndarray | None = None, callback: Callback | None = None
    ) -> SolverResult:
        """The solution, with its certificate.

        Parameters
        ----------
        problem : DualProblem
            Over a `FeatureGram`.
        start : array of shape (n,), default=None
            Multipliers to start from.
        callback : callable, default=None
            Told the `Progress` now and then; a true value stops the run.

        Returns
        -------
        SolverResult
        """
        return self.solve_on(problem, start, callback, None)

    @abstractmethod
    def solve_on(
        self, problem: DualProblem, start: np.ndarray | None, callback: Callback | None, bookmark: Bookmark | None
    ) -> SolverResult:
        """As `solve`, from where the bookmark is, and keeping there how far it is."""

    def solve_many(
        self,
        problems: Sequence[DualProblem],
        starts: Sequence[np.ndarray | None] | None = None,
        callback: Callback | None = None,
    ) -> list[SolverResult]:
        """As `solve` for each problem, several at once."""
        return solve_side_by_side(self, problems, starts, callback)


class RunningSolver(FeatureSolver):
    """A `FeatureSolver` with an algorithm of its own, a `FeatureRun`."""

    def check(self, problem: DualProblem) -> None:
        """Refuse also problems with an equality per sign, and hard margins."""
        super().check(problem)
        name = type(self).__name__
        if problem.equality == "per_sign":
            raise ValueError(f"{name} solves problems with one equality at most; SMO those with one per sign.")
        if is_unbounded(problem):
            raise ValueError(f"{name} needs bounds or a ridge; SMO solves hard margins.")

    def solve_on(self, problem, start, callback, bookmark):
        """As `solve`, from where the bookmark is, and keeping there how far it is."""
        self.check(problem)
        with limit_threads(self.n_threads), problem.gram.quiet_blas():
            result = self._run(problem, start, callback, bookmark).result()
        flat = result.status == "solved" and is_flat(problem, result)
        return replace(result, status="degenerate") if flat else result

    @abstractmethod
    def _run(
        self, problem: DualProblem, start: np.ndarray | None, callback: Callback | None, bookmark: Bookmark | None
    ) -> "FeatureRun":
        """One run on a problem that has been checked."""


class FeatureRun(ABC):
    """One run: what is to be reached, and the certificate of where it is."""

    def __init__(
        self, solver: RunningSolver, problem: DualProblem, callback: Callback | None, bookmark: Bookmark | None = None
    ):
        self.solver, self.problem, self.callback, self.bookmark = solver, problem, callback, bookmark
        self.gram: FeatureGram = problem.gram  # type: ignore[assignment]
        assert not isinstance(problem.total, tuple)
        self.total = problem.total
        self.tol = min(solver.tol, self.gram.resolution) if len(problem.index) <= SMALL else solver.tol
        self.began = time.perf_counter()
        self.n_iter = self.evaluations = 0
        self.samples: list[tuple[float, float, float, float]] = []

    @abstractmethod
    def result(self) -> SolverResult:
        """Run until the end."""

    def _seconds(self) -> float:
        return time.perf_counter() - self.began

    # --- on disk ------------------------------------------------------------------------------------------

    @abstractmethod
    def _state(self) -> dict[str, Any]:
        """What a run needs to go on from here: arrays, and what JSON has."""

    def _keep(self, *, ended: bool = False) -> None:
        """Keep the state where it is time, or the run ends by a limit."""
        if self.bookmark is not None and (ended or self.bookmark.is_due()):
            run = {"solver": type(self.solver).__name__, "n_iter": self.n_iter, "seconds": self._seconds()}
            counts = {"evaluations": self.evaluations, "samples": np.array(self.samples).reshape(-1, 4)}
            self.bookmark.note({**run, **counts, **self._state()})

    def _kept(self) -> dict[str, Any] | None:
        """The state of a run of this solver that the bookmark has."""
        state = None if self.bookmark is None else self.bookmark.state
        return state if state is not None and state["solver"] == type(self.solver).__name__ else None

    def _count_on(self, state: dict[str, Any]) -> None:
        """Steps, seconds and history of what was before."""
        self.n_iter, self.evaluations = state["n_iter"], state["evaluations"]
        self.began -= state["seconds"]
        self.samples = [tuple(sample) for sample in state["samples"].tolist()]

    # --- the certificate ----------------------------------------------------------------------------------

    def _certify(self, a: np.ndarray, gradient: np.ndarray, status: str) -> SolverResult:
        """The certificate of multipliers and their gradient; it is the last entry of the history."""
        iteration, objective, gap, violation = np.array([*self.samples, (self.n_iter, 0.0, 0.0, 0.0)]).T.copy()
        return certify(
            self.problem,
            a,
            gradient,
            status=status,
            n_iter=self.n_iter,
            seconds=self._seconds(),
            kernel_evaluations=self.evaluations,
            history=History(iteration.astype(np.int64), objective, gap, violation),
        )

    def _is_good(self, result: SolverResult, tol: float) -> bool:
        """Whether violation, in the unit of the problem, and gap are as small as wanted."""
        small = result.violation <= tol * self.problem.unit(result.a, result.offsets)
        return small and (self.solver.gap_tol is None or result.relative_gap <= self.solver.gap_tol)
