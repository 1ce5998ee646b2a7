"""Logistic regression over the functions that landmarks span, in passes over the samples."""

import time
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from mercer.checkpoints import Bookmark
from mercer.gram import FeatureGram
from mercer.problems import LogisticProblem
from mercer.solvers.base import History
from mercer.solvers.logistic import LogisticResult, best_intercepts, check_scale, line_search
from mercer.solvers.over_landmarks import sampled_inverse

__all__ = ["LandmarkLogistic", "solve_landmark_logistic"]

# Newton's equations are solved to this part of their right side, and to the root of the relative gap once that is less;
# but no step needs to make more of it than the second.
LOOSE, LEAST_REDUCTION = 0.1, 1e-3
CONJUGATE_STEPS = 200
# A run begins with a part of the samples where these stand for so many times their number at least, and goes through
# all of them from a relative gap like this on.
LEAST_SHARE, ROUGH_TOL = 4, 1e-2
# So many steps that neither halve the gap nor lower the objective by the part are rounding.
PATIENCE, DECREASE = 3, 1e-9


@dataclass(frozen=True, eq=False)
class LandmarkLogistic:
    """The functions found."""

    weights: np.ndarray
    """Of the features that landmarks span, shape (m, n_functions)."""
    result: LogisticResult
    """The certificate. Its coefficients and residuals are both the point of the dual."""


def solve_landmark_logistic(
    problem: LogisticProblem,
    *,
    tol: float = 1e-6,
    max_iter: int = 100,
    random_state: int = 0,
    bookmark: Bookmark | None = None,
) -> LandmarkLogistic:
    r"""Newton's method for logistic regression over features that are never stored.

    .. math:: \min_{W, b} \tfrac12 \|W\|^2 + \sum_i c_i \left(\log \sum_k e^{f_{ik}} - t_i \cdot f_i\right), \qquad
              F = \Phi W + 1 b^T

    The equations of a step are solved by conjugate gradients [1]_, a pass over the samples each (two for more than two
    classes), on kernel values in float32; gradient and certificate are in float64. The preconditioner has a matrix
    for each function, the second moments of its features with the curvature of the losses, from samples that are drawn
    in proportion to that. Where there are many samples, a part of them comes first.

    Parameters
    ----------
    problem : LogisticProblem
        Over a `LandmarkGram`.
    tol : float > 0, default=1e-6
        Largest gap, relative to the objective, and largest violation, in units of probability.
    max_iter : int >= 1, default=100
        Most Newton steps.
    random_state : int, default=0
        Draws the samples that come first, and those of the preconditioner.
    bookmark : Bookmark or None, default=None
        Where to go on from, and to keep how far the run is.

    Returns
    -------
    LandmarkLogistic

    Notes
    -----
    With the gradient :math:`G = W - \Phi^T R`, for the residuals :math:`R = \mathrm{diag}(c) (T - P)` at the best
    offsets, R is a point of the dual, and the gap is :math:`\tfrac12 \|G\|^2`.

    Time O(n m (d + k)) for a pass, besides O(k m^3) for a step; memory O(n k + k m^2).

    References
    ----------
    .. [1] U. Marteau-Ferey, F. Bach, A. Rudi, Globally convergent Newton methods for ill-conditioned generalized
       self-concordant losses, NeurIPS 2019.
    """
    check_scale(problem)
    with problem.gram.quiet_blas():  # type: ignore[attr-defined]
        return _solved(problem, tol, max_iter, check_random_state(random_state), bookmark)


def _solved(
    problem: LogisticProblem, tol: float, max_iter: int, rng: Any, bookmark: Bookmark | None
) -> LandmarkLogistic:
    """Over some samples first, where there are many."""
    began, seed = time.perf_counter(), int(rng.randint(2**31))
    gram: FeatureGram = problem.gram  # type: ignore[assignment]
    kept = None if bookmark is None else bookmark.state
    if kept is not None:
        began -= kept["seconds"]
    W, n_iter = np.zeros((gram.n_weights, problem.n_functions)), 0
    used = np.flatnonzero(problem.prices)
    size = (gram.samples_first or 0) * gram.n_weights
    if size and LEAST_SHARE * size <= len(used) and (kept is None or kept["some"]):
        rows = np.sort(rng.choice(used, size=size, replace=False))
        scale = float(problem.prices.sum() / problem.prices[rows].sum())
        part = replace(problem, targets=problem.targets[rows], prices=scale * problem.prices[rows])
        run = _Run(part, gram, rows, max(tol, ROUGH_TOL), max_iter, seed, began, bookmark)
        W, n_iter, kept = run.weights(W, kept), run.n_iter, None
    run = _Run(problem, gram, None, tol, max_iter, seed, began, bookmark, n_iter)
    W = run.weights(W, kept)
    return LandmarkLogistic(W, run.result(W))


class _Point(NamedTuple):
    """Weights with the best offsets, and what is left of the conditions of the optimum."""

    W: np.ndarray
    F: np.ndarray
    b: np.ndarray
    R: np.ndarray
    G: np.ndarray
    """The gradient."""
    objective: float
    gap: float

    @property
    def relative_gap(self) -> float:
        return self.gap / self.objective if self.objective > 0 else 0.0


class _Run:
    """Newton's method over all samples, or over some that stand for all."""

    def __init__(
        self,
        problem: LogisticProblem,
        gram: FeatureGram,
        rows: np.ndarray | None,
        tol: float,
        max_iter: int,
        seed: int,
        began: float,
        bookmark: Bookmark | None,
        n_iter: int = 0,
    ):
        self.problem, self.gram, self.rows, self.tol = problem, gram, rows, tol
        self.seed, self.began, self.bookmark = seed, began, bookmark
        self.working = gram.in_single()
        self.n_iter, self.max_iter, self.n_passes = n_iter, max_iter, 0
        self.status = "solved"
        self.records: list[tuple[float, ...]] = []

    # --- the run ------------------------------------------------------------------------------------------

    def weights(self, W: np.ndarray, kept: dict[str, Any] | None) -> np.ndarray:
        """The solution, from these weights on, or from those of a run that was killed."""
        if kept is not None:
            W, self.n_iter, self.n_passes = kept["W"], kept["n_iter"], kept["n_passes"]
            self.records = [tuple(record) for record in kept["records"].tolist()]
        point = self._point(W, self._forward(self.gram, W), np.zeros(W.shape[1]))
        best, before, in_vain = np.inf, np.inf, 0
        while not self._is_solved(point):
            better = point.gap <= 0.5 * best or point.objective <= (1.0 - DECREASE) * before
            in_vain = 0 if better else in_vain + 1
            best, before = min(best, point.gap), point.objective
            over = self.n_iter >= self.max_iter or in_vain >= PATIENCE
            self._keep(point, ended=over)
            if over:
                self.status = "max_iter" if self.n_iter >= self.max_iter else "stalled"
                break
            step = self._newton_step(point)
            along = self._forward(self.gram, step)
            slope, squares = float(np.vdot(point.G, step)), float(np.vdot(step, step))
            penalty = 0.5 * float(np.vdot(point.W, point.W)), float(np.vdot(point.W, step)), 0.5 * squares
            length, b, _ = line_search(self.problem, point.F, along, point.b, penalty, slope)
            self.n_iter += 1
            point = self._point(point.W + length * step, point.F + length * along, b)
        return point.W

    def _keep(self, point: _Point, *, ended: bool) -> None:
        """Keep where the run is where it is time, or it ends early."""
        if self.bookmark is None or not (ended or self.bookmark.is_due()):
            return
        counts = {"n_iter": self.n_iter, "n_passes": self.n_passes, "seconds": time.perf_counter() - self.began}
        # The point is looked at once more.
        records = np.array(self.records[:-1]).reshape(-1, 4)
        self.bookmark.note({"some": self.rows is not None, **counts, "W": point.W, "records": records})

    def _is_solved(self, point: _Point) -> bool:
        if not point.gap <= self.tol * point.objective:
            violation = np.nan
        elif self.rows is None:
            violation = self._violation(point)
        else:
            return True
        self.records.append((self.n_iter, point.gap - point.objective, point.gap, violation))
        return bool(violation <= self.tol)

    def _point(self, W: np.ndarray, F: np.ndarray, b: np.ndarray) -> _Point:
        b = best_intercepts(self.problem, F, b)
        R = self.problem.residuals(F + b)
        G = W - self._backward(self.gram, R)
        objective = 0.5 * float(np.vdot(W, W)) + self.problem.loss(F + b)
        gap = max(0.0, 0.5 * float(np.vdot(G, G)) - float(R.sum(axis=0) @ b))
        return _Point(W, F, b, R, G, objective, gap)

    def _violation(self, point: _Point) -> float:
        """How far the residuals are from those of their own functions."""
        F = point.F - self._forward(self.gram, point.G)
        b = best_intercepts(self.problem, F, point.b)
        return self.problem.violation(point.R - self.problem.residuals(F + b))

    def result(self, W: np.ndarray) -> LogisticResult:
        """The certificate of weights, computed afresh."""
        point = self._point(W, self._forward(self.gram, W), np.zeros(W.shape[1]))
        violation = self._violation(point)
        solved = violation <= self.tol and point.gap <= self.tol * point.objective
        self.records.append((self.n_iter, point.gap - point.objective, point.gap, violation))
        iteration, *samples = np.array(self.records).T
        return LogisticResult(
            objective=point.gap - point.objective,
            bound=-point.objective,
            gap=point.gap,
            violation=violation,
            n_iter=self.n_iter,
            status="solved" if solved else "stalled" if self.status == "solved" else self.status,
            seconds=time.perf_counter() - self.began,
            precision="float32 products, float64 certificate" if self.working is not self.gram else "float64",
            kernel_evaluations=self.n_passes * self.gram.n * self.gram.n_weights,
            imbalance=float(np.abs(point.R.sum(axis=0)).max()) if self.problem.intercept else 0.0,
            history=History(iteration.astype(np.int64), *samples),
            coefficients=point.R,
            intercepts=point.b,
            residuals=point.R,
        )

    # --- passes -------------------------------------------------------------------------------------------

    def _forward(self, gram: FeatureGram, W: np.ndarray) -> np.ndarray:
        self.n_passes += 1
        return gram.products(W, self.rows)

    def _backward(self, gram: FeatureGram, C: np.ndarray) -> np.ndarray:
        self.n_passes += 1
        return gram.sums(C, self.rows)

    # --- Newton's equations -------------------------------------------------------------------------------

    def _newton_step(self, point: _Point) -> np.ndarray:
        """Solve (1 + Phi' D Phi) step = -G by conjugate gradients, D being the second derivative of the losses."""
        curvature = Curvature(self.problem, point.F + point.b)
        precondition = self._preconditioner(curvature)
        residual = -point.G
        enough = min(LOOSE, max(LEAST_REDUCTION, point.relative_gap**0.5)) ** 2 * float(np.vdot(residual, residual))
        step = np.zeros_like(residual)
        direction = better = precondition(residual)
        size = float(np.vdot(residual, better))
        times = self._product_with(curvature)
        for _ in range(CONJUGATE_STEPS):
            if float(np.vdot(residual, residual)) <= enough:
                break
            change = times(direction)
            bend = float(np.vdot(direction, change))
            if not bend > 0:  # rounding
                break
            step, residual = step + size / bend * direction, residual - size / bend * change
            better = precondition(residual)
            size, before = float(np.vdot(residual, better)), size
            direction = better + size / before * direction
        return step

    def _product_with(self, curvature: "Curvature"):
        """The matrix of Newton's equations, in one pass where there is one function."""
        if not (curvature.single and self.rows is None):
            return lambda V: V + self._backward(self.working, curvature.times(self._forward(self.working, V)))
        d, total = curvature.weights(0), float(curvature.weights(0).sum())
        centre = self._backward(self.working, d[:, np.newaxis]) if self.problem.intercept else None

        def times(V: np.ndarray) -> np.ndarray:
            self.n_passes += 1
            product = self.working.moments_times(V, d)
            if centre is not None and total > 0:
                product -= centre * (centre.T @ V / total)
            return V + product

        return times

    def _preconditioner(self, curvature: "Curvature"):
        k = self.problem.n_functions
        # A run that was killed draws in this step what it would have drawn.
        rng = np.random.RandomState([self.seed, self.n_iter])
        inverses = [
            sampled_inverse(
                self.gram,
                curvature.weights(j),
                1.0,
                bias=self.problem.intercept,
                rng=rng,
                rows=self.rows,
                times=k,
            )
            for j in range(k)
        ]
        if k == 1:
            return inverses[0]

        def precondition(V: np.ndarray) -> np.ndarray:
            # The functions of the solution add up to zero, and so do those of every step.
            found = np.column_stack([inverse(v) for inverse, v in zip(inverses, V.T, strict=True)])
            return found - found.mean(axis=1, keepdims=True)

        return precondition


class Curvature:
    """The second derivative of the losses, with the best offsets for every change of the functions.

    For one function it is c p (1 - p), for several a block c (diag(p) - p p') for each sample.
    """

    def __init__(self, problem: LogisticProblem, F: np.ndarray):
        self.P, self.c = problem.probabilities(F), problem.prices[:, np.newaxis]
        self.single, self.intercept = problem.n_functions == 1, problem.intercept
        if self.intercept:
            weighted = self.c * self.P
            square = np.diag(weighted.sum(axis=0)) - weighted.T @ self.P
            # Several offsets may all move together: nothing changes, and that is left out.
            self.inverse = np.linalg.pinv(square, rcond=1e-12, hermitian=True)

    def weights(self, k: int) -> np.ndarray:
        """The curvature of every sample, as function k alone sees it."""
        return self.c[:, 0] * self.P[:, k] * (1.0 - self.P[:, k])

    def times(self, U: np.ndarray) -> np.ndarray:
        """For changes U of the functions, those of the slopes."""
        found = self._times(U)
        if not self.intercept:
            return found
        return found - self._times(np.broadcast_to(self.inverse @ found.sum(axis=0), U.shape))

    def _times(self, U: np.ndarray) -> np.ndarray:
        weighted = self.c * self.P
        inside = self.P * U
        return weighted * (U - (inside if self.single else inside.sum(axis=1, keepdims=True)))
