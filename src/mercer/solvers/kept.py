"""Problems whose solution is kept on disk while it is looked for, so that a run that was killed goes on."""

import time
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.checkpoints import PARTS, Bookmark
from mercer.problems import DualProblem, Offsets
from mercer.solvers.base import LIMITS, Callback, History, Progress, Solver, SolverResult
from mercer.solvers.over_features import FeatureSolver
from mercer.solvers.smo import SMO, after

__all__ = ["go_on", "solve_kept"]

FINISHED = "finished"
NUMBERS = ("objective", "bound", "gap", "violation", "seconds", "imbalance")
WORDS = ("n_iter", "kernel_evaluations", "status", "precision")
RECORDS = ("objective", "gap", "violation")


def solve_kept(
    solver: Solver, problem: DualProblem, start: np.ndarray | None, callback: Callback | None, bookmark: Bookmark
) -> SolverResult:
    """The solution, looked for from where the bookmark is; a result that is there is taken from it."""
    state = bookmark.state
    if state is not None and state["solver"] == FINISHED:
        return _result_of(state)
    result = go_on(solver, problem, start, callback, bookmark)
    if result.status not in LIMITS:
        bookmark.note(_state_of(result, FINISHED))
    return result


def go_on(
    solver: Solver, problem: DualProblem, start: np.ndarray | None, callback: Callback | None, bookmark: Bookmark | None
) -> SolverResult:
    """As `Solver.solve`, from where the bookmark is.

    Solvers over features keep their state. Of others only the point is kept: they are stopped by their callback now and
    then, and begin anew from there. A hard margin, whose multipliers may run away, is solved in one go.
    """
    if bookmark is None or problem.hard:
        return solver.solve(problem, start, callback)
    if isinstance(solver, FeatureSolver):
        return solver.solve_on(problem, start, callback, bookmark)
    name, state = type(solver).__name__, bookmark.state
    before = _result_of(state) if state is not None and state["solver"] == name else None
    clock = _Clock(bookmark.seconds, callback)
    while True:
        if before is not None and (limit := _limit_reached(solver, problem, before)) is not None:
            return replace(before, status=limit)
        with clock.round(before):
            result = _with_the_rest(solver, problem, before).solve(
                problem, start if before is None else before.a, clock
            )
        before = result if before is None else after(before, result)
        if result.status != "stopped" or clock.told_to_stop:
            if result.status in LIMITS:
                bookmark.note(_state_of(before, name))
            return before
        bookmark.note(_state_of(before, name))


class _Clock:
    """A callback that ends a round when it is time; rounds are so long that what they cost beside steps is little."""

    def __init__(self, seconds: float, callback: Callback | None) -> None:
        self._seconds = self._interval = seconds
        self._callback = callback
        self.told_to_stop = False

    def round(self, before: SolverResult | None) -> "_Clock":
        """One round, which begins with what was before."""
        self._n_iter, self._before = (0, 0.0) if before is None else (before.n_iter, before.seconds)
        return self

    def __enter__(self) -> None:
        self._began = self._last = time.perf_counter()
        self._step, self._in_steps = 0, 0.0

    def __exit__(self, *_: object) -> None:
        # Before the first steps, and after the last ones, gradients are computed from nothing.
        beside = time.perf_counter() - self._began - self._in_steps
        self._interval = max(self._seconds, (PARTS - 1) * beside)

    def __call__(self, progress: Progress) -> bool:
        n_iter, seconds = self._n_iter + progress.n_iter, self._before + progress.seconds
        if self._callback is not None and self._callback(replace(progress, n_iter=n_iter, seconds=seconds)):
            self.told_to_stop = True
            return True
        now, stepped = time.perf_counter(), progress.n_iter > self._step
        self._in_steps += (now - self._last) * stepped
        self._step, self._last = progress.n_iter, now
        # A round without a step would leave the next one where it began.
        return stepped and self._in_steps >= self._interval


# --- what is left of limits ---------------------------------------------------------------------------------


def _most_steps(solver: Any, problem: DualProblem) -> int | None:
    return solver._most_steps(len(problem.index)) if isinstance(solver, SMO) else getattr(solver, "max_iter", None)


def _limit_reached(solver: Any, problem: DualProblem, before: SolverResult) -> str | None:
    most, seconds = _most_steps(solver, problem), getattr(solver, "max_seconds", None)
    if most is not None and before.n_iter >= most:
        return "max_iter"
    return "max_seconds" if seconds is not None and before.seconds >= seconds else None


def _with_the_rest(solver: Any, problem: DualProblem, before: SolverResult | None) -> Any:
    """The solver with what is left of its limits."""
    if before is None:
        return solver
    rest: dict[str, Any] = {}
    if (most := _most_steps(solver, problem)) is not None:
        rest["max_iter"] = most - before.n_iter
    if (seconds := getattr(solver, "max_seconds", None)) is not None:
        rest["max_seconds"] = seconds - before.seconds
    return clone(solver).set_params(**rest) if rest else solver


# --- results on disk ----------------------------------------------------------------------------------------


def _state_of(result: SolverResult, solver: str) -> dict[str, Any]:
    """A result as arrays and what JSON has."""
    history = result.history
    return {
        "solver": solver,
        **{name: getattr(result, name) for name in WORDS},
        "numbers": np.array([*(getattr(result, name) for name in NUMBERS), *result.offsets]),
        "a": result.a,
        "gradient": result.gradient,
        "iteration": history.iteration,
        "records": np.array([getattr(history, name) for name in RECORDS]),
    }


def _result_of(state: dict[str, Any]) -> SolverResult:
    *numbers, plus, minus = state["numbers"].tolist()
    return SolverResult(
        **dict(zip(NUMBERS, numbers, strict=True)),
        **{name: state[name] for name in WORDS},
        a=state["a"],
        gradient=state["gradient"],
        offsets=Offsets(plus, minus),
        history=History(state["iteration"], *state["records"]),
    )
