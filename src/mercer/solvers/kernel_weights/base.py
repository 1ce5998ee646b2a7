"""What solvers of `KernelWeightsProblem` share: machines tried with weights, bounds from both sides, a certificate."""

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from mercer.errors import NotSeparableError
from mercer.gram.memory import check_memory
from mercer.parameters import Number, check_parameters
from mercer.problems import Groups, JointProblem, KernelWeightsProblem, Simplex
from mercer.solvers.base import Callback, Progress, SolverResult, column
from mercer.solvers.joint import BlockDescent
from mercer.solvers.smo import SMO, negligible

__all__ = ["KernelWeightsHistory", "KernelWeightsResult", "KernelWeightsSolver", "Search", "Trial"]

# The machines are solved to this part of the gap that is wanted; first ones to the same part of the gap so far, but not
# more roughly than this.
INNER_SHARE, LEAST_SHARE = 0.1, 1.5e-4
ROUGHEST = 1e-2
# A run has stalled when the gap is above this part of what it was so many trials ago.
STALLED, PATIENCE = 0.999, 50


@dataclass(frozen=True, eq=False)
class KernelWeightsHistory:
    """What was known after each machine: one entry of each array for every weights that were tried.

    Kernel values that are kept are rounded to float32. Where that is too coarse for the gap that is wanted, all bounds
    are found anew in float64 and the search goes on from there: at that entry, and there alone, they may step back.
    """

    seconds: np.ndarray
    objective: np.ndarray
    """The smallest upper bound of the optimum so far."""
    bound: np.ndarray
    """The largest lower bound so far."""
    weights: np.ndarray = field(repr=False)
    """Those that were tried, shape (n_trials, n_kernels)."""

    def __len__(self) -> int:
        return len(self.seconds)

    @property
    def gap(self) -> np.ndarray:
        """The gap so far."""
        return self.objective - self.bound


@dataclass(frozen=True, eq=False)
class KernelWeightsResult:
    """Weights of kernels, and the proof of how good they are.

    It is for the weights that are returned, from kernel values in float64: no weights of the set make an `objective`
    below `bound`.
    """

    weights: np.ndarray
    """The weights d."""
    objective: float
    """J(d), from above: the primal objective of the machines on the combined kernel."""
    bound: float
    """No weights of the set have a smaller one."""
    gap: float
    """objective - bound."""
    violation: float
    """By how much the best weights for the energies of the machines take more of them, relative to the objective."""
    energies: np.ndarray
    """S, half the squared norm of the machines in the space of each kernel."""
    n_iter: int
    """Weights that were tried."""
    status: str
    """"solved", or why not: "degenerate", "stalled", "max_iter", "max_seconds", "stopped"; "fixed" for given weights.

    Degenerate: the distance that machines of one class, or with nu, look for is zero with any weights, as far as it can
    be told from rounding; no gap is small beside such an optimum.
    """
    seconds: float
    """Wall-clock time."""
    history: KernelWeightsHistory = field(repr=False)
    """All trials."""
    parts: Sequence[SolverResult] = field(repr=False)
    """The machines on the combined kernel."""

    @property
    def relative_gap(self) -> float:
        """gap over the size of the objective."""
        return relative(self.gap, self.objective)

    def __str__(self) -> str:
        lines = [
            f"status             {self.status}",
            f"objective          {self.objective:.10g}",
            f"bound              {self.bound:.10g}",
            f"duality gap        {self.gap:.3g} (relative {self.relative_gap:.2g})",
            f"kernels            {np.count_nonzero(self.weights)} of {len(self.weights)} with weight",
            f"machines tried     {self.n_iter}",
            f"seconds            {self.seconds:.3g}",
        ]
        return "\n".join(lines)


def relative(gap: float, objective: float) -> float:
    """A gap over the size of the objective."""
    return gap / max(abs(objective), sys.float_info.min) if gap else 0.0


@dataclass(frozen=True, eq=False)
class Trial:
    """The machines at some weights d, and what their solution a says of all others.

    It is a cut as well: J(d') >= linear - d'S(a) for every d', however exactly the machines were solved.
    """

    weights: np.ndarray
    upper: float
    """J(d) from above, by the primal objective of the machines."""
    linear: float
    """L(a)."""
    energies: np.ndarray
    """S(a)."""
    points: Sequence[np.ndarray] = field(repr=False)
    """The solutions a of all problems."""

    @property
    def value(self) -> float:
        """J(d) from below, L(a) - d'S(a)."""
        return self.linear - float(self.weights @ self.energies)


class Search:
    """A run: trials of weights, the best bounds on both sides, limits.

    Parameters
    ----------
    problem : KernelWeightsProblem
    solver : KernelWeightsSolver
        Whose limits hold.
    callback : callable or None
        Told after every trial.
    """

    def __init__(self, problem: KernelWeightsProblem, solver: "KernelWeightsSolver", callback: Callback | None):
        self.problem, self.callback = problem, callback
        self.gap_tol, self.max_iter, self.max_seconds = solver.gap_tol, solver.max_iter, solver.max_seconds
        self._machines = machines_for(problem.problems, solver)
        self._began = time.perf_counter()
        self.best: Trial | None = None
        """The trial with the smallest upper bound."""
        self.proof: Trial | None = None
        """The trial, or the points alone, with the largest lower bound over all weights of the set."""
        self.together = -np.inf
        """A lower bound that several trials prove together, if somebody has found one."""
        self._last: Trial | None = None
        self._exact, self._stopped, self._flat, self._share = False, False, False, INNER_SHARE
        self._since = 0
        self._log: list[tuple[float, float, float]] = []
        self._tried: list[np.ndarray] = []
        self._energies: list[np.ndarray] = []

    def try_weights(self, weights: np.ndarray, start: Sequence[np.ndarray] | None = None) -> Trial:
        """The machines at some weights, from the solutions given, or else from those of the last trial.

        Where there is no hard margin at these weights, J is infinite: it is then at weights halfway to the best ones.
        """
        problem = self.problem
        gram = problem.stack.exact(weights) if self._exact else problem.stack.combination(weights)
        first = start if start is not None or self._last is None else self._last.points
        try:
            results = self._solve(problem.over(gram), first)
        except NotSeparableError:
            if self.best is None and weights.all():  # no other weights separate more
                raise
            inside = problem.weights.uniform(len(weights)) if self.best is None else self.best.weights
            return self.try_weights(0.5 * (weights + inside), start)
        trial = self._judged(weights, results)
        if self.best is None or trial.upper < self.best.upper:
            self.best = trial
        self._keep_proof(trial)
        self._last = trial
        self._look_for_margins(results)
        self._note(trial)
        return trial

    def try_exactly(self, weights: np.ndarray) -> Sequence[SolverResult]:
        """The machines at some weights as they are returned, without a first look at kernel values that are kept."""
        results = self._solve_exactly(weights, None)
        self._look_for_margins(results)
        assert self._last is not None
        self._note(self._last)
        return results

    def _note(self, trial: Trial) -> None:
        """Write a trial down, and tell of it."""
        self._log.append((self.seconds, self.upper, self.lower))
        self._tried.append(trial.weights)
        self._energies.append(trial.energies)
        if self.callback is not None:
            told = Progress(len(self._log), -self.upper, self.upper - self.lower, self.seconds)
            self._stopped = bool(self.callback(told)) or self._stopped

    def prove(self, points: Sequence[np.ndarray]) -> None:
        """Keep points of all problems that satisfy their constraints, if no trial bounds the optimum as well."""
        energies = self.problem.stack.energies(self.problem.coefficients(points), exact=self._exact)
        weights = self.problem.weights.best(energies)
        self._keep_proof(Trial(weights, np.inf, self.problem.linear(points), energies, points))

    def _keep_proof(self, trial: Trial) -> None:
        if self.proof is None or self.bound_of(trial) > self.bound_of(self.proof):
            self.proof = trial

    def _look_for_margins(self, results: Sequence[SolverResult]) -> None:
        """Where the machines have none, see whether the proof leaves one to any weights."""
        if set(column(results, "status")) != {"degenerate"}:
            return
        assert self.proof is not None
        energies, points = self.proof.energies, self.proof.points
        weights = self.problem.weights.best(energies)
        machines = self.problem.over(self.problem.stack.on_demand(weights))
        nothing = sum(negligible(machine, a) for machine, a in zip(machines, points, strict=True))
        self._flat = 2.0 * float(weights @ energies) <= nothing

    def _solve(self, problems: Any, starts: Sequence[np.ndarray] | None) -> Sequence[SolverResult]:
        rough = ROUGHEST if self.best is None else min(ROUGHEST, relative(self.upper - self.lower, self.upper))
        return self._machines.set_params(
            gap_tol=self._share * max(self.gap_tol, rough),
            max_seconds=None if self.max_seconds is None else max(1e-9, self.seconds_left),
        ).solve_many(problems, starts)

    def sharpen(self) -> bool:
        """Solve machines ten times as exactly from now on; False: they are as exact as they can be."""
        if self._share <= LEAST_SHARE:
            return False
        self._share = max(LEAST_SHARE, 0.1 * self._share)
        return True

    @property
    def seconds_left(self) -> float:
        """Until the limit."""
        return np.inf if self.max_seconds is None else self.max_seconds - self.seconds

    def _judged(self, weights: np.ndarray, results: Sequence[SolverResult]) -> Trial:
        points = [result.a for result in results]
        energies = self.problem.stack.energies(self.problem.coefficients(points), exact=self._exact)
        return Trial(weights, -float(np.sum(column(results, "bound"))), self.problem.linear(points), energies, points)

    def bound_of(self, trial: Trial) -> float:
        """The lower bound of the optimum over all weights that a trial proves."""
        return trial.linear - self.most(trial.energies)

    def most(self, energies: np.ndarray) -> float:
        """No weights of the set take more of the energies."""
        return float(self.problem.weights.best(energies) @ energies)

    @property
    def seconds(self) -> float:
        """Since the run began."""
        return time.perf_counter() - self._began

    @property
    def upper(self) -> float:
        """The smallest upper bound of the optimum."""
        assert self.best is not None
        return self.best.upper

    @property
    def lower(self) -> float:
        """The largest lower bound of the optimum."""
        assert self.proof is not None
        return max(self.bound_of(self.proof), self.together)

    @property
    def solved(self) -> bool:
        """Whether the gap is as small as wanted, by one trial at each end."""
        if self.best is None or self.proof is None:
            return False
        return relative(self.upper - self.bound_of(self.proof), self.upper) <= self.gap_tol

    @property
    def status(self) -> str | None:
        """Why the run is to end; None: it is to go on, until there is something to return at least."""
        if self.best is None:
            return None
        if self.solved:
            return "solved"
        if self._flat:
            return "degenerate"
        if self._stopped:
            return "stopped"
        if self.max_iter is not None and len(self._log) >= self.max_iter:
            return "max_iter"
        if self.seconds_left <= 0:
            return "max_seconds"
        return "stalled" if self._stalled else None

    @property
    def _stalled(self) -> bool:
        """Whether the gap has hardly fallen for long, since all values are exact or not."""
        gaps = [upper - lower for _, upper, lower in self._log[self._since :]]
        return len(gaps) > PATIENCE and not gaps[-1] < STALLED * gaps[-1 - PATIENCE]

    @property
    def history(self) -> KernelWeightsHistory:
        """The trials so far."""
        seconds, upper, lower = np.array(self._log).reshape(-1, 3).T.copy()
        return KernelWeightsHistory(seconds, upper, lower, np.array(self._tried))

    def certify(self, *, as_tried: bool = False) -> Sequence[SolverResult]:
        """The best weights and both bounds again, from kernel values in float64; what follows is so, too.

        Those that are kept are rounded, and first machines rough. Unless weights are to be as they were tried,
        identical kernels share them.
        """
        assert self.best is not None and self.proof is not None
        problem, best, proof = self.problem, self.best, self.proof
        told_apart = np.array(self._energies)
        if isinstance(problem.weights, Groups):  # whose members count apart from others
            told_apart = np.vstack([told_apart, problem.weights.members])
        weights = best.weights if as_tried else shared_by_twins(best.weights, told_apart)
        results = self._solve_exactly(weights, best.points)
        if proof is not best:
            self.prove(proof.points)
        self._look_for_margins(results)
        return results

    def _solve_exactly(self, weights: np.ndarray, start: Sequence[np.ndarray] | None) -> Sequence[SolverResult]:
        """The machines at some weights from kernel values in float64; what is known then is what they prove."""
        problem = self.problem
        results = self._machines.set_params(gap_tol=INNER_SHARE * self.gap_tol, max_seconds=None).solve_many(
            problem.over(problem.stack.exact(weights)), start
        )
        self._exact, self._flat, self.together, self._since = True, False, -np.inf, len(self._log)
        self.best = self.proof = self._last = self._judged(weights, results)
        return results

    def result(self, status: str, parts: Sequence[SolverResult]) -> KernelWeightsResult:
        """What was found, once it is certified."""
        assert self.best is not None
        best = self.best
        gap = max(0.0, self.upper - self.lower)
        missed = self.most(best.energies) - float(best.weights @ best.energies)
        return KernelWeightsResult(
            weights=best.weights,
            objective=best.upper,
            bound=best.upper - gap,
            gap=gap,
            violation=relative(max(0.0, missed), best.upper),
            energies=best.energies,
            n_iter=len(self._log),
            status=status,
            seconds=self.seconds,
            history=self.history,
            parts=parts,
        )


def machines_for(problems: Sequence[Any], solver: "KernelWeightsSolver") -> Any:
    """The solver of the machines."""
    kind = BlockDescent if isinstance(problems[0], JointProblem) else SMO
    return kind(tol=solver.tol, memory=solver.memory, n_threads=solver.n_threads)


def checked_start(start: Any, n_kernels: int) -> np.ndarray:
    """First weights that somebody gave."""
    weights = np.asarray(start, dtype=np.float64)
    if weights.shape != (n_kernels,):
        raise ValueError(f"start must have shape {(n_kernels,)}, a weight for every kernel, got {weights.shape}.")
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise ValueError(f"start must have finite weights >= 0, one of them > 0, got {start!r}.")
    return weights


def shared_by_twins(weights: np.ndarray, told_apart: np.ndarray) -> np.ndarray:
    """The weights with those made equal of kernels that nothing has told apart: their columns are equal.

    Kernels that are identical could share their weight in any way.
    """
    _, twins = np.unique(told_apart, axis=1, return_inverse=True)
    return (np.bincount(twins, weights) / np.bincount(twins))[twins]


class KernelWeightsSolver(BaseEstimator, ABC):
    """Base of the solvers of `KernelWeightsProblem`.

    Parameters
    ----------
    gap_tol : float > 0, default=1e-3
        Largest relative gap between the bounds of the optimum.
    tol : float > 0, default=1e-3
        Largest violation of the optimality conditions of the machines.
    max_iter : int >= 1 or None, default=None
        Most weights that are tried.
    max_seconds : float > 0 or None, default=None
        Most wall-clock time of the search; the machines at its end, for the proof, are solved in any case.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values.
    n_threads : int or None, default=None
        See `mercer.threads.effective_n_threads`.
    """

    default_ridge: ClassVar[float] = 0.0
    """What machines add to the diagonal of every kernel matrix unless they are told otherwise."""
    _simplex_only: ClassVar[bool] = False
    _joint_too: ClassVar[bool] = True  # whether classes may be learnt by one objective

    _parameters: ClassVar[dict[str, Any]] = {
        "gap_tol": Number(0, above=True),
        "tol": Number(0, above=True),
        "max_iter": Number(1, integer=True, none=True),
        "max_seconds": Number(0, above=True, none=True),
    }

    def __init__(self, *, gap_tol=1e-3, tol=1e-3, max_iter=None, max_seconds=None, memory="auto", n_threads=None):
        self.gap_tol = gap_tol
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.memory = memory
        self.n_threads = n_threads

    def check(self, problem: KernelWeightsProblem) -> None:
        """Refuse, by name and before anything is computed, a problem that this solver cannot do."""
        check_parameters(self)
        check_memory(self.memory)
        if self._simplex_only and not isinstance(problem.weights, Simplex):
            name = type(self).__name__
            raise ValueError(f"{name} needs weights on the simplex, got {type(problem.weights).__name__}.")
        if not self._joint_too and isinstance(problem.problems[0], JointProblem):
            name, other = type(self).__name__, "LevelMethod" if isinstance(problem.weights, Simplex) else "Alternating"
            raise ValueError(f"{name} needs machines for two classes, got one objective for several; use {other}.")

    def solve(
        self, problem: KernelWeightsProblem, start: np.ndarray | None = None, callback: Callback | None = None
    ) -> KernelWeightsResult:
        """Solve the problem.

        Parameters
        ----------
        problem : KernelWeightsProblem
        start : array of shape (n_kernels,), default=None
            First weights >= 0, of which the largest multiple in the set is taken; None: equal ones.
        callback : callable, default=None
            Called with a `Progress` after every trial, whose violation is the gap; a true value stops the run.

        Returns
        -------
        KernelWeightsResult
        """
        self.check(problem)
        search = Search(problem, self, callback)
        if start is not None:
            start = problem.weights.scaled(checked_start(start, len(problem.stack)))
        self._begin(search, start)
        if search.status is None:
            self._run(search)
        if search.best is None:  # the time was over before anything was tried
            KernelWeightsSolver._begin(self, search, start)
        parts = search.certify()
        if search.status is None:  # the rounding of kernel values that are kept was in the way
            self._run(search)
            parts = search.certify()
        return search.result(search.status or "stalled", parts)

    def _begin(self, search: Search, start: np.ndarray | None) -> None:
        """Try the first weights."""
        problem = search.problem
        search.try_weights(problem.weights.uniform(len(problem.stack)) if start is None else start)

    @abstractmethod
    def _run(self, search: Search) -> None:
        """Try weights until the search has a status, or nothing gets better."""
