"""Block coordinate descent for several classes at once, over the weights of features."""

import time
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from mercer import _native
from mercer.gram import LinearGram
from mercer.kernels.samples import native_samples
from mercer.parameters import Choice, Number, check_parameters
from mercer.problems.balance import balanced, likely_offsets
from mercer.problems.joint import JointProblem
from mercer.solvers.base import Callback, Progress
from mercer.solvers.joint import BlockDescent, JointResult, certify_joint
from mercer.threads import effective_n_threads

__all__ = ["LinearBlockDescent"]

EPOCHS = 20_000
# By how much less is asked for when a violation or a gap turns out too large, and how often.
TIGHTER, TIGHTENINGS = 0.2, 8


class LinearBlockDescent(BaseEstimator):
    """Block coordinate descent for a `JointProblem` over a `LinearGram`: weights in place of a kernel matrix. [1]_

    The multipliers of one sample at a time, one per class, are set to their exact optimum given all others, while the
    weights :math:`w_k = \\sum_i B_{ik} x_i` of all classes follow: a step costs as much as the sample has entries, for
    every class that is at play. Samples and classes of a sample that stay at their bounds are left out until the others
    have settled. Where this crawls, Newton's method by conjugate gradients on the multipliers between their bounds
    takes turns with it; where that crawls, too, `BlockDescent` goes on.

    Offsets without a price are left to the method of multipliers, as in `BlockDescent`; what is left of the sums of the
    classes in the end is removed by the smallest change of multipliers between their bounds. Dense samples are rounded
    to float32 on the way, for tolerances from 1e-5 on and as long as that does no harm; weights and multipliers are
    float64, and so is the certificate, computed afresh. The result does not depend on threads.

    Parameters
    ----------
    tol : float > 0, default=1e-3
        Largest violation of the optimality conditions, in units of f. Larger is faster and less exact.
    gap_tol : float > 0 or None, default=None
        Largest relative duality gap; None leaves it to `tol`.
    shrinking : bool, default=True
        Leave out samples and classes that have settled at their bounds; they are checked before the run ends.
    max_iter : int >= 1 or None, default=None
        Most epochs, passes over the samples at play; None means 20 000, after which `BlockDescent` goes on.
    max_seconds : float > 0 or None, default=None
        Most wall-clock time.
    n_threads : int or None, default=None
        See `mercer.threads.effective_n_threads`.

    See Also
    --------
    BlockDescent : For every kernel.
    CoordinateDescent : For two classes.

    Notes
    -----
    An epoch costs O(entries of the samples at play) for each of their classes at play; all samples and classes are
    looked at some ten times. Memory is two tables of n K and two of d K float64 values for d features and K classes,
    and dense samples once more in float32.

    References
    ----------
    .. [1] S. S. Keerthi, S. Sundararajan, K.-W. Chang, C.-J. Hsieh, C.-J. Lin, A sequential dual method for large scale
       multi-class linear SVMs, KDD 2008.
    .. [2] D. P. Bertsekas, Constrained optimization and Lagrange multiplier methods, 1982.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import LinearGram
    >>> from mercer.problems import crammer_singer
    >>> from mercer.solvers import LinearBlockDescent
    >>> gram = LinearGram([[0.0], [2.0], [4.0]])
    >>> problem = crammer_singer(gram, np.array([0, 1, 2]), np.full(3, 10.0))
    >>> result = LinearBlockDescent().solve(problem)
    >>> (gram.X @ (gram.X.T @ result.coefficients.T) + result.intercepts).argmax(axis=1)
    array([0, 1, 2])
    """

    _parameters: ClassVar[dict[str, Any]] = {
        "tol": Number(0, above=True),
        "gap_tol": Number(0, above=True, none=True),
        "shrinking": Choice(True, False),
        "max_iter": Number(1, integer=True, none=True),
        "max_seconds": Number(0, above=True, none=True),
    }

    def __init__(self, *, tol=1e-3, gap_tol=None, shrinking=True, max_iter=None, max_seconds=None, n_threads=None):
        self.tol = tol
        self.gap_tol = gap_tol
        self.shrinking = shrinking
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.n_threads = n_threads

    def check(self, problem: JointProblem) -> None:
        """Every `JointProblem` over a `LinearGram` in memory will do, and nothing else; the parameters are checked."""
        if not isinstance(problem, JointProblem):
            raise TypeError(
                f"LinearBlockDescent solves a JointProblem, got {type(problem).__name__}; use LinearSolver."
            )
        check_parameters(self)
        effective_n_threads(self.n_threads)
        if not isinstance(problem.gram, LinearGram):
            raise ValueError(
                f"LinearBlockDescent needs a LinearGram, got a {type(problem.gram).__name__}; BlockDescent solves "
                "problems over any kernel."
            )
        if not problem.gram.in_one_piece:
            raise ValueError("LinearBlockDescent needs the samples in one piece, X comes in blocks.")

    def solve(self, problem: JointProblem, start: Any = None, callback: Callback | None = None) -> JointResult:
        """Solve a problem.

        Parameters
        ----------
        problem : JointProblem
            Over a `LinearGram`.
        start : array or sparse array of shape (n, n_classes), default=None
            First multipliers; they are made feasible if they are not.
        callback : callable, default=None
            Called with a `Progress` now and then; a true value stops the run.

        Returns
        -------
        JointResult
        """
        self.check(problem)
        run = _Run(self, problem, problem.feasible(start), callback)
        tol = 0.9 * self.tol
        for _ in range(TIGHTENINGS):
            status = run.descend(tol)
            result = run.certified(status)
            if status == "stalled" or (status == "max_iter" and self.max_iter is None):
                return run.handed_over(result)
            close = self.gap_tol is None or result.relative_gap <= self.gap_tol
            if status != "solved" or (result.violation <= self.tol and close):
                return result
            tol *= TIGHTER
        return run.handed_over(result)


class _Run:
    """One run: multipliers, the sums f that belong to them, offsets."""

    def __init__(self, solver: LinearBlockDescent, problem: JointProblem, a: np.ndarray, callback: Callback | None):
        self.solver, self.problem, self.a, self.callback = solver, problem, a, callback
        self.began, self.n_iter = time.perf_counter(), 0
        self.history = np.empty((0, 4))
        self.offsets = np.zeros(problem.n_classes)
        if problem.bias and a.any():
            self.offsets = likely_offsets(problem, a, problem.sums(a))

    def _left(self) -> float:
        """Seconds that are left."""
        limit = self.solver.max_seconds
        return np.inf if limit is None else max(0.0, limit - (time.perf_counter() - self.began))

    def descend(self, tol: float) -> str:
        """Go on until the violation is below tol, and balance the sums of the classes; the status."""
        problem, solver, before, callback = self.problem, self.solver, self.n_iter, self.callback
        gram: Any = problem.gram
        most = EPOCHS if solver.max_iter is None else int(solver.max_iter)

        def report(n_iter: int, objective: float, violation: float, _: float) -> object:
            assert callback is not None
            return callback(Progress(before + n_iter, objective, violation, time.perf_counter() - self.began))

        self.a, self.f, self.offsets, _, n_iter, status, _, history = _native.solve_joint_linear(
            native_samples(gram.X),
            problem.index,
            problem.label,
            problem.cost,
            np.ascontiguousarray(self.a),
            self.offsets if problem.bias else None,
            problem.margin,
            problem.errors,
            problem.target,
            gram.constant,
            tol,
            max(0, most - before),
            self._left(),
            bool(solver.shrinking),
            effective_n_threads(solver.n_threads),
            "",
            None if callback is None else report,
        )
        self.n_iter += n_iter
        history[:, 0] += before
        self.history = np.concatenate([self.history, history])
        if problem.bias:
            self.a = balanced(problem, self.a, problem.slopes(self.f, self.offsets), tol)
            self.f = problem.sums(self.a)
            self.offsets = self.offsets - self.offsets.mean()
        return status

    def certified(self, status: str) -> JointResult:
        return certify_joint(
            self.problem,
            self.a,
            self.f,
            self.offsets,
            status=status,
            n_iter=self.n_iter,
            seconds=time.perf_counter() - self.began,
            kernel_evaluations=0,
            history=self.history,
        )

    def handed_over(self, result: JointResult) -> JointResult:
        """What `BlockDescent` makes of it, from here, or from the beginning where rounding keeps it from going on."""
        solver, n_iter = self.solver, self.n_iter
        for start in (result.a, None):
            limit = None if solver.max_seconds is None else max(1e-9, self._left())
            other = BlockDescent(
                tol=solver.tol, gap_tol=solver.gap_tol, max_seconds=limit, n_threads=solver.n_threads
            ).solve(self.problem, start, self.callback)
            n_iter -= -other.n_iter // len(self.problem.index)  # in epochs: a step there is one sample
            if other.status != "stalled":
                break
        return replace(other, n_iter=n_iter, seconds=time.perf_counter() - self.began)
