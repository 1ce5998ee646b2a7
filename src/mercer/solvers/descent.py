"""Dual coordinate descent for machines whose kernel is linear."""

from dataclasses import replace
from typing import Any

import numpy as np

from mercer import _native
from mercer.checkpoints import Bookmark
from mercer.gram import LinearGram
from mercer.kernels.samples import native_samples
from mercer.problems import DualProblem
from mercer.solvers.base import Callback, Interrupt, Progress, SolverResult
from mercer.solvers.over_features import SMALL, FeatureRun, RunningSolver
from mercer.solvers.smo import SMO

__all__ = ["CoordinateDescent"]

EPOCHS = 10_000
# Epochs between two looks at the certificate, and between two calls of a callback.
EPOCHS_PER_ROUND, EPOCHS_PER_CALL = 1000, 100
# So many epochs may be in vain; then the variables at play, if they are so many at most, are settled together, and if
# that is in vain so often, too, the run is given up.
PATIENT_EPOCHS, FEW_AT_PLAY, PATIENCE = 2000, 4000, 5
# The violation at which the gap is looked at first, where a smooth problem is likely to have the gap that is wanted, in
# units of its root; and by how much more is asked for when it is too large, at least and at most.
FIRST_LOOK, LIKELY, FINER, FINEST = 0.01, 3.0, 0.5, 1e-3
# Steps of the solver that settles variables together, at least and for each of them.
SETTLING_STEPS, SETTLING_STEPS_EACH = 10_000, 50


class CoordinateDescent(RunningSolver):
    """Dual coordinate descent: one multiplier at a time, w = X' (s a) beside them. [1]_

    A step costs as much as one sample has entries. The equality of a free offset enters as an augmented Lagrangian.
    Multipliers that hardly move are looked at more rarely. Where descent crawls, the problem restricted to the
    multipliers at play goes to `SMO`, and so on until all conditions hold.

    Parameters
    ----------
    tol : float > 0, default=1e-3
        Largest violation of the optimality conditions, in the unit of the problem (`DualProblem.unit`).
    gap_tol : float > 0 or None, default=None
        Largest relative duality gap; None leaves it to `tol`.
    max_iter : int >= 1 or None, default=None
        Most epochs, passes over the samples at play; None means 10 000.
    max_seconds : float > 0 or None, default=None
        Most wall-clock time.
    n_threads : int or None, default=None
        See `mercer.threads.effective_n_threads`; the result does not depend on it.

    See Also
    --------
    ProximalNewton : For few features.
    SMO : For every kernel.

    Notes
    -----
    O(entries) per epoch, memory O(n + d).

    References
    ----------
    .. [1] C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi, S. Sundararajan, A dual coordinate descent method for
       large-scale linear SVM, 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import LinearGram
    >>> from mercer.problems import soft_margin
    >>> from mercer.solvers import CoordinateDescent
    >>> gram = LinearGram([[0.0], [1.0], [3.0], [4.0]])
    >>> problem = soft_margin(gram, np.array([-1.0, -1.0, 1.0, 1.0]), np.full(4, 10.0))
    >>> result = CoordinateDescent().solve(problem)
    >>> result.status, gram.sums(problem.sign * result.a).round(3)
    ('solved', array([1.]))
    """

    def check(self, problem: DualProblem) -> None:
        """Refuse also samples in blocks, and features that are nowhere."""
        super().check(problem)
        if not isinstance(problem.gram, LinearGram):
            raise ValueError("CoordinateDescent needs a LinearGram; ProximalNewton takes any features.")
        if not problem.gram.in_one_piece:
            raise ValueError("CoordinateDescent needs the samples in one piece; ProximalNewton reads blocks.")

    def _run(self, problem, start, callback, bookmark):
        return _Run(self, problem, start, callback, bookmark)


class _Run(FeatureRun):
    """One run: multipliers a and the offset they are balanced by."""

    gram: LinearGram

    def __init__(
        self,
        solver: CoordinateDescent,
        problem: DualProblem,
        start: np.ndarray | None,
        callback: Callback | None,
        bookmark: Bookmark | None,
    ):
        super().__init__(solver, problem, callback, bookmark)
        # The weight of the equality in the augmented Lagrangian: as much as a sample has.
        self.sigma = 1.0
        if problem.total is not None:
            self.sigma = max(float(self.gram.diag().mean()), np.finfo(float).tiny)
        if (kept := self._kept()) is not None:
            self._count_on(kept)
            self.a, self.in_vain, self.patience = kept["a"], kept["in_vain"], kept["patience"]
            self.offset, self.unit, self.tol, self.best = kept["numbers"].tolist()
            return
        self.a = problem.feasible(start)
        self.offset = 0.0 if start is None else problem.offsets(self.a, self._gradient(self.a)).plus
        self.unit = problem.unit(self.a, problem.offsets(self.a, problem.linear))
        self.best, self.in_vain, self.patience = np.inf, 0, self._patient
        if solver.gap_tol is not None:
            likely = LIKELY * solver.gap_tol**self._power if self._smooth else np.inf
            self.tol = min(self.tol, FIRST_LOOK, likely)

    @property
    def _smooth(self) -> bool:
        return bool((self.problem.ridge > 0).all())

    @property
    def _power(self) -> float:
        """A gap goes with the violation, or with its square where a ridge makes the problem smooth."""
        return 0.5 if self._smooth else 1.0

    @property
    def _patient(self) -> int:
        return PATIENT_EPOCHS if len(self.problem.index) > SMALL else EPOCHS_PER_CALL

    def _state(self) -> dict[str, Any]:
        numbers = np.array([self.offset, self.unit, self.tol, self.best])
        return {"a": self.a, "in_vain": self.in_vain, "patience": self.patience, "numbers": numbers}

    def _left(self) -> float:
        """Seconds that are left."""
        if self.solver.max_seconds is None:
            return np.inf
        return max(0.0, self.solver.max_seconds - self._seconds())

    def result(self) -> SolverResult:
        solver, problem = self.solver, self.problem
        most = EPOCHS if solver.max_iter is None else int(solver.max_iter)
        told = self.callback is not None and not isinstance(self.callback, Interrupt)
        often = told or self.bookmark is not None
        per_round = min(self._patient, EPOCHS_PER_CALL if often else EPOCHS_PER_ROUND)
        while True:
            self._keep()
            settled = self._descend(self.tol * self.unit, max(0, min(per_round, most - self.n_iter)))
            result = self._certified("solved")
            if self._is_good(result, self.tol):
                return result
            if (limit := self._limit(result, most)) is not None:
                self._keep(ended=True)
                return replace(result, status=limit)
            self.unit = unit = problem.unit(result.a, result.offsets)
            if not settled and self.n_iter < self.patience:
                continue
            self.patience = self.n_iter + self._patient
            at_play = self._at_play(result)
            if not settled and len(at_play) <= FEW_AT_PLAY:
                self._settle(at_play, result)
                result = self._certified("solved")
                if self._is_good(result, self.tol):
                    return result
            if result.violation <= self.tol * unit:  # it is the gap that is too large
                wanted = 0.5 * (solver.gap_tol or 0.0) / result.relative_gap
                self.tol = result.violation / unit * float(np.clip(wanted**self._power, FINEST, FINER))
            better = result.violation < 0.5 * self.best
            self.best, self.in_vain = (result.violation, 0) if better else (self.best, self.in_vain + 1)
            if self.in_vain == PATIENCE:
                return result if self._is_good(result, solver.tol) else replace(result, status="stalled")

    def _limit(self, result: SolverResult, most: int) -> str | None:
        """Which limit the run has come to."""
        told = Progress(self.n_iter, result.objective, result.violation, self._seconds())
        if self.callback is not None and self.callback(told):
            return "stopped"
        if self.n_iter >= most:
            return "max_iter"
        return "max_seconds" if self._left() == 0.0 else None

    def _descend(self, tol: float, epochs: int) -> bool:
        """Some epochs; whether the violation is below tol."""
        problem = self.problem
        self.a, self.offset, _, done, settled = _native.dual_descent(
            native_samples(self.gram.X),
            problem.index,
            problem.sign,
            problem.linear,
            problem.upper,
            problem.ridge,
            self.a,
            self.total,
            self.offset,
            self.sigma,
            self.gram.constant,
            tol,
            epochs,
            self._left(),
        )
        self.n_iter += done
        self.a = problem.balanced(self.a)
        return settled

    def _at_play(self, result: SolverResult) -> np.ndarray:
        """The variables between their bounds, those that would leave one, and those that might when others move."""
        problem = self.problem
        slope = result.gradient + problem.sign * result.offsets.plus
        free = (result.a > 0) & (result.a < problem.upper)
        outward = np.where(result.a > 0, -slope, slope)  # presses a variable against its bound
        return np.flatnonzero(free | (outward < 2.0 * result.violation))

    def _settle(self, at_play: np.ndarray, result: SolverResult) -> None:
        """Solve for the variables at play, the others as they are: their weights enter the linear term."""
        problem, gram, k = self.problem, self.gram, at_play
        sign, a = problem.sign[k], result.a
        others = a.copy()
        others[k] = 0.0
        w = gram.sums(np.bincount(problem.index, weights=problem.sign * others, minlength=gram.n))
        total = None
        if self.total is not None:
            total = self.total - float((problem.sign * others).sum())
        part = DualProblem(
            gram=gram,
            index=problem.index[k],
            sign=sign,
            linear=sign * gram.products(w, problem.index[k]) + problem.linear[k],
            upper=problem.upper[k],
            ridge=problem.ridge[k],
            total=total,
        )
        steps = SETTLING_STEPS + SETTLING_STEPS_EACH * len(k)
        limit = None if self.solver.max_seconds is None else max(1e-3, self._left())
        solver = SMO(tol=0.25 * self.tol, max_iter=steps, max_seconds=limit)
        found = solver.solve(part, a[k])
        self.a = others
        self.a[k] = found.a
        self.offset = found.offsets.plus
        self.evaluations += found.kernel_evaluations

    # --- the certificate ----------------------------------------------------------------------------------

    def _gradient(self, a: np.ndarray) -> np.ndarray:
        problem = self.problem
        w = self.gram.sums(np.bincount(problem.index, weights=problem.sign * a, minlength=self.gram.n))
        return problem.sign * self.gram.products(w)[problem.index] + problem.ridge * a + problem.linear

    def _certified(self, status: str) -> SolverResult:
        result = self._certify(self.a, self._gradient(self.a), status)
        self.samples.append((self.n_iter, result.dual_objective, result.gap, result.violation))
        return result
