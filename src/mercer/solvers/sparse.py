"""Linear machines with few features: the L1 penalty."""

import time
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from mercer.gram import Gram, LinearGram, MatrixGram, VectorGram
from mercer.kernels import Linear
from mercer.parameters import Number
from mercer.problems import DualProblem, Offsets, epsilon_tube
from mercer.solvers.base import Callback, History, Progress, SolverResult
from mercer.solvers.over_features import LimitedSolver
from mercer.solvers.smo import SMO
from mercer.sums import inner
from mercer.threads import limit_threads

__all__ = ["SparseNewton", "SparseWeights"]

STEPS = 1000
# A step must gain this share of what the model of the loss promises.
SUFFICIENT = 0.01
# Promises below this share of the objective are rounding.
ROUNDING = 1e-15
# Up to so many features their second moments are a matrix in memory.
FEW_FEATURES = 2000
# Newton steps for the offset, which needs a few.
OFFSET_STEPS = 100


class SparseWeights(NamedTuple):
    """A linear machine with few features, and the proof of how good it is."""

    weights: np.ndarray
    offset: float
    result: SolverResult


class SparseNewton(LimitedSolver):
    """Weights with an L1 penalty, for squared losses, by a proximal Newton method. [1]_

    For a `DualProblem` with a squared loss over a `LinearGram` (`soft_margin` or `epsilon_tube` with ``squared=True``),
    the primal problem with another penalty,

    .. math::

        \\min_{w, b} \\|w\\|_1 + \\sum_i C_i \\max(0, -s_i (w \\cdot x_i + b) - p_i)^2 .

    The loss is replaced by its quadratic model, whose Hessian is :math:`H = \\sum_{i \\in I} 2 C_i x_i x_i^T` over the
    samples I with a loss, centred where the offset is free, and

    .. math::

        \\min_v \\tfrac12 v^T H v + (g - H w)^T v + \\|v\\|_1

    is solved for the next weights. That is the dual of a regression without an offset (`epsilon_tube`, with a tube of
    half the width 1), in which the features are the samples: `SMO` does it. The loss is piecewise quadratic, so that
    few steps are needed: as soon as I is right, the next one is the last.

    Parameters
    ----------
    tol : float > 0, default=1e-3
        Largest violation of the optimality conditions: by how much the gradient of the loss differs from minus the sign
        of a weight, is above 1 at a weight of zero, or is not zero for the offset.
    gap_tol : float > 0 or None, default=None
        Largest relative duality gap; None leaves it to `tol`.
    max_iter : int >= 0 or None, default=None
        Most steps; None means 1000.
    max_seconds : float > 0 or None, default=None
        Most wall-clock time.
    n_threads : int or None, default=None
        See `mercer.threads.effective_n_threads`.

    See Also
    --------
    ProximalNewton : The squared norm as penalty.

    Notes
    -----
    A step costs O(n d^2) up to 2000 features, and as much as training a regression on the features above.

    References
    ----------
    .. [1] G.-X. Yuan, C.-H. Ho, C.-J. Lin, An improved GLMNET for L1-regularized logistic regression, JMLR 13, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import LinearGram
    >>> from mercer.problems import soft_margin
    >>> from mercer.solvers import SparseNewton
    >>> gram = LinearGram([[1.0, 0.1], [2.0, 0.0], [-1.0, 0.1], [-2.0, 0.1]])
    >>> problem = soft_margin(gram, np.array([1.0, 1.0, -1.0, -1.0]), np.full(4, 10.0), squared=True)
    >>> weights, offset, result = SparseNewton().solve(problem)
    >>> weights.round(3), result.status
    (array([0.975, 0.   ]), 'solved')
    """

    _parameters: ClassVar[dict[str, Any]] = LimitedSolver._parameters | {
        "max_iter": Number(0, integer=True, none=True),  # as scikit-learn's classes have it
    }

    def check(self, problem: DualProblem) -> None:
        """Refuse other kernels and other losses."""
        super().check(problem)
        if not isinstance(problem.gram, LinearGram) or not problem.gram.in_one_piece:
            raise ValueError("SparseNewton needs a LinearGram over samples in one piece.")
        if not (problem.ridge > 0).all() or np.isfinite(problem.upper).any() or problem.total not in (None, 0.0):
            raise ValueError("SparseNewton needs a squared loss: soft_margin or epsilon_tube with squared=True.")

    def solve(self, problem: DualProblem, callback: Callback | None = None) -> SparseWeights:
        """The weights, of the constant feature of the Gram matrix too, the offset, and the certificate.

        The multipliers `a` of the result are 2 C_i times the losses' roots, made smaller where they must be to be
        feasible for the dual

        .. math::

            \\max_{a \\ge 0} -\\sum_i \\left(p_i a_i + \\frac{a_i^2}{4 C_i}\\right) \\quad\\text{s.t.}\\quad
            \\left\\|\\sum_i a_i s_i x_i\\right\\|_\\infty \\le 1, \\quad \\sum_i a_i s_i = 0,

        the last one for a free offset only.
        """
        self.check(problem)
        with limit_threads(self.n_threads):
            return _Run(self, problem, callback).result()


class _Run:
    """One run: weights w, offset b, and the decision values f of the samples."""

    def __init__(self, solver: SparseNewton, problem: DualProblem, callback: Callback | None):
        self.solver, self.problem, self.callback = solver, problem, callback
        self.gram: LinearGram = problem.gram  # type: ignore[assignment]
        self.cost = 0.5 / problem.ridge
        self.began = time.perf_counter()
        self.steps = self.evaluations = 0
        self.samples: list[tuple[float, float, float, float]] = []
        self.free = problem.total is not None
        self.w, self.b = np.zeros(self.gram.n_weights), 0.0
        self.f = np.zeros(self.gram.n)

    def result(self) -> SparseWeights:
        solver, problem = self.solver, self.problem
        most = STEPS if solver.max_iter is None else int(solver.max_iter)
        # The objective of w = 0, above which the penalty of the solution cannot be.
        largest: float | None = None
        while True:
            if self.free:
                self._set_offset()
            slack = self._slack(self.f + self.b)
            objective = float(np.abs(self.w).sum()) + inner(self.cost, slack**2)
            largest = objective if largest is None else largest
            multipliers = 2.0 * self.cost * slack
            gradient = -self.gram.sums(self._collect(problem.sign * multipliers))
            violation = max(self._violation(gradient), abs(inner(problem.sign, multipliers)) if self.free else 0.0)
            dual, feasible = self._dual(multipliers, gradient)
            gap = max(0.0, objective - dual)
            self.samples.append((self.steps, dual, gap, violation))
            seconds = time.perf_counter() - self.began
            small_gap = solver.gap_tol is None or gap <= solver.gap_tol * abs(dual)
            if violation <= solver.tol and small_gap:
                return self._finished("solved", objective, dual, violation, feasible)
            if self.steps >= most:
                return self._finished("max_iter", objective, dual, violation, feasible)
            if solver.max_seconds is not None and seconds > solver.max_seconds:
                return self._finished("max_seconds", objective, dual, violation, feasible)
            if self.callback is not None and self.callback(Progress(self.steps, -dual, violation, seconds)):
                return self._finished("stopped", objective, dual, violation, feasible)
            if not self._step(slack, gradient, objective, largest):
                return self._finished("stalled", objective, dual, violation, feasible)
            self.steps += 1

    def _collect(self, values: np.ndarray) -> np.ndarray:
        """Sums over the variables of each sample."""
        return np.bincount(self.problem.index, weights=values, minlength=self.gram.n)

    def _slack(self, f: np.ndarray) -> np.ndarray:
        return np.maximum(0.0, -self.problem.sign * f[self.problem.index] - self.problem.linear)

    def _objective(self, w: np.ndarray, f: np.ndarray) -> float:
        return float(np.abs(w).sum()) + inner(self.cost, self._slack(f) ** 2)

    def _set_offset(self) -> None:
        """The best offset for the weights: Newton's method on a convex, piecewise quadratic function of it."""
        sign = self.problem.sign
        for _ in range(OFFSET_STEPS):
            slack = self._slack(self.f + self.b)
            slope, curvature = -2.0 * inner(self.cost * sign, slack), 2.0 * inner(self.cost, slack > 0)
            if curvature == 0.0 or abs(slope) <= ROUNDING * inner(self.cost, slack):
                break
            step = -slope / curvature
            before = inner(self.cost, slack**2)
            while inner(self.cost, self._slack(self.f + self.b + step) ** 2) > before and abs(step) > 1e-300:
                step *= 0.5
            if self.b + step == self.b:
                break
            self.b += step

    def _step(self, slack: np.ndarray, gradient: np.ndarray, objective: float, largest: float) -> bool:
        """Move to the minimum of the model, or as far towards it as the objective falls; False if there is no way."""
        curvature = self._collect(2.0 * self.cost * (slack > 0))
        inside = np.flatnonzero(curvature)
        weight = curvature[inside]
        target = self.gram.sums(weight * self.f[inside], inside) - gradient
        # How the best offset of the model follows the weights; with many features it is set afterwards.
        follows = np.zeros(len(self.w))
        if self.free and len(self.w) <= FEW_FEATURES:
            first = self.gram.sums(weight, inside)
            follows = -first / float(weight.sum())
            target = target + first * inner(follows, self.w)
        kernel = self._features(inside, weight)
        model = epsilon_tube(kernel, target, np.full(len(target), largest), 1.0, bias=False)
        start = np.concatenate([np.maximum(self.w, 0.0), np.maximum(-self.w, 0.0)])
        found = SMO(tol=0.5 * self.solver.tol).solve(model, start)
        self.evaluations += found.kernel_evaluations
        v = found.a[: len(self.w)] - found.a[len(self.w) :]
        step, b_step = v - self.w, inner(follows, v - self.w)
        f_step = self.gram.products(v) - self.f + b_step
        promise = inner(gradient, step) + float(np.abs(v).sum() - np.abs(self.w).sum())
        if promise > -ROUNDING * objective:
            return False
        length = 1.0
        while self._objective(self.w + length * step, self.f + length * f_step + self.b) > (
            objective + SUFFICIENT * length * promise
        ):
            length *= 0.5
        self.w = v if length == 1.0 else self.w + length * step
        self.b += length * b_step
        self.f = self.gram.products(self.w)
        return True

    def _features(self, inside: np.ndarray, weight: np.ndarray) -> Gram:
        """The Hessian of the loss as a kernel matrix over the features; a free offset is taken out of it."""
        if len(self.w) <= FEW_FEATURES:
            H = self.gram.moments(weight, inside)
            if self.free:
                first = self.gram.sums(weight, inside)
                H = H - np.outer(first, first) / float(weight.sum())
            return MatrixGram(0.5 * (H + H.T), definite=True)
        root, X = np.sqrt(weight), self.gram.X[inside]
        constant = np.sqrt(self.gram.constant)
        if issparse(X):
            rows = csr_array(X.multiply(root[:, np.newaxis]).T)
            if constant:
                rows.resize((len(self.w), len(inside)))
                rows = rows + csr_array(
                    (constant * root, (np.full(len(inside), len(self.w) - 1), np.arange(len(inside)))), shape=rows.shape
                )
        else:
            rows = (root[:, np.newaxis] * X).T
            rows = np.vstack([rows, constant * root]) if constant else rows
        return VectorGram(Linear(), csr_array(rows) if issparse(rows) else np.ascontiguousarray(rows, dtype=np.float64))

    def _violation(self, gradient: np.ndarray) -> float:
        """The distance of zero from the subdifferential of the objective, in its largest entry."""
        at_zero = np.maximum(0.0, np.abs(gradient) - 1.0)
        return float(np.where(self.w == 0.0, at_zero, np.abs(gradient + np.sign(self.w))).max(initial=0.0))

    def _dual(self, multipliers: np.ndarray, gradient: np.ndarray) -> tuple[float, np.ndarray]:
        """The best value of the dual along the ray of the multipliers, and the point."""
        most = 1.0 / max(float(np.abs(gradient).max(initial=0.0)), np.finfo(float).tiny)
        total = -inner(self.problem.linear, multipliers)
        square = inner(multipliers, multipliers / (4.0 * self.cost))
        scale = max(0.0, min(most, total / (2.0 * square))) if square else 0.0
        return scale * total - scale**2 * square, scale * multipliers

    def _finished(
        self, status: str, objective: float, dual: float, violation: float, feasible: np.ndarray
    ) -> SparseWeights:
        iteration, values, gaps, violations = np.array(self.samples).T
        result = SolverResult(
            objective=-dual,
            bound=-objective,
            gap=max(0.0, objective - dual),
            violation=violation,
            n_iter=self.steps,
            status=status,
            seconds=time.perf_counter() - self.began,
            precision="float64",
            kernel_evaluations=self.evaluations,
            imbalance=abs(inner(self.problem.sign, feasible)) if self.free else 0.0,
            history=History(iteration.astype(np.int64), values, gaps, violations),
            a=feasible,
            gradient=feasible * self.problem.ridge + self.problem.linear,
            offsets=Offsets(self.b, self.b),
        )
        return SparseWeights(self.w, self.b, result)
