"""Ridge regression over the functions that landmarks span, in passes over the samples."""

import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from mercer.checkpoints import Bookmark
from mercer.gram import FeatureGram
from mercer.solvers.base import Callback, Progress
from mercer.solvers.over_landmarks import Precondition, sampled_inverse
from mercer.solvers.ridge import LeastSquaresResult

__all__ = ["LandmarkSolution", "solve_landmark_ridge"]

# What one run of conjugate gradients on kernel values in float32 can take off the residual.
REDUCTION = 1e-4
# Part of the gap that is wanted at which a run ends: the certificate, in float64, is to find it small enough.
SAFETY = 0.25
MAX_ITER = 1000
# A run that leaves more than this part of the gap has done all that rounding allows.
STALLED = 0.25


@dataclass(frozen=True, eq=False)
class LandmarkSolution:
    """The functions found."""

    weights: np.ndarray
    """Of the features that landmarks span, shape (m, n_functions)."""
    intercept: np.ndarray
    """Shape (n_functions,)."""
    errors: np.ndarray
    """What the values are above the functions, shape (n, n_functions)."""
    result: LeastSquaresResult


def solve_landmark_ridge(
    gram: FeatureGram,
    Y: np.ndarray,
    weight: np.ndarray,
    alpha: float,
    *,
    bias: bool = False,
    tol: float = 1e-10,
    max_iter: int | None = None,
    random_state: Any = 0,
    callback: Callback | None = None,
    bookmark: Bookmark | None = None,
) -> LandmarkSolution:
    r"""Ridge regression over features that are never stored.

    .. math:: \min_{w, b} \tfrac12 \sum_i \omega_i (y_i - w \cdot \phi(x_i) - b)^2 + \tfrac12 \alpha \|w\|^2

    By conjugate gradients on the normal equations [1]_, one pass over the samples each, preconditioned by a Cholesky
    factor of what a sample of the rows says the matrix is. With kernel values in float32 a run takes off what these are
    good for; gradient and gap are then computed in float64, and a further run goes on from there.

    Parameters
    ----------
    gram : LandmarkGram or MapGram
    Y : array of shape (n, k)
    weight : array of shape (n,)
        omega > 0.
    alpha : float > 0
    bias : bool, default=False
        Whether there is the offset b.
    tol : float > 0, default=1e-10
        Largest gap, relative to the objective.
    max_iter : int >= 1 or None, default=None
        Most steps; None: 1000.
    random_state : int, RandomState or None, default=0
        Draws the rows for the preconditioner.
    callback : callable or None, default=None
        Told the `Progress` after every step; a true value stops the run.
    bookmark : Bookmark or None, default=None
        Where to go on from, and to keep how far the run is.

    Returns
    -------
    LandmarkSolution

    Notes
    -----
    With the gradient g at w, the point of the dual :math:`a_i = \omega_i (y_i - w \cdot \phi(x_i) - b) / \alpha` proves
    that no functions have an objective smaller by more than :math:`\|g\|^2 / (2 \alpha)`.

    Time O(n m d) for every step, besides O(m^3); memory O(n + m^2).

    References
    ----------
    .. [1] A. Rudi, L. Carratino, L. Rosasco, FALKON: an optimal large scale kernel method, NIPS 2017.
    """
    most = MAX_ITER if max_iter is None else max_iter
    with gram.quiet_blas():
        run = _Run(gram, Y, weight, alpha, bias, tol, most, callback, bookmark)
        return run.solution(check_random_state(random_state))


class _Point(NamedTuple):
    """Weights w of the features with the best offsets b, and what is left of the conditions of the optimum."""

    w: np.ndarray
    b: np.ndarray
    errors: np.ndarray
    downhill: np.ndarray
    """Minus the gradient."""
    objective: float
    gap: float


@dataclass(eq=False)
class _Descent:
    """A run of conjugate gradients: the step so far, what is left, and where to go next, with its size."""

    step: np.ndarray
    residual: np.ndarray
    direction: np.ndarray
    size: np.ndarray


class _Run:
    """Points, ever closer to the solution."""

    def __init__(
        self,
        gram: FeatureGram,
        Y: np.ndarray,
        weight: np.ndarray,
        alpha: float,
        bias: bool,
        tol: float,
        max_iter: int,
        callback: Callback | None,
        bookmark: Bookmark | None,
    ):
        self.bookmark = bookmark
        self.gram, self.Y, self.weight, self.alpha = gram, Y, weight, alpha
        self.tol, self.max_iter, self.callback = tol, max_iter, callback
        self.began, self.n_iter = time.perf_counter(), 0
        self.working: FeatureGram = gram.in_single()
        self.total = float(weight.sum())
        # The sum of the features, which an offset takes off.
        self.centre = gram.sums(weight[:, np.newaxis]) if bias else None

    def solution(self, rng: Any) -> LandmarkSolution:
        kept = None if self.bookmark is None else self.bookmark.state
        descent = None if kept is None else self._go_on_from(kept)
        point = self._point(np.zeros((self.gram.n_weights, self.Y.shape[1])) if kept is None else kept["w"])
        self.first = np.sqrt((point.downhill**2).sum(axis=0)) if kept is None else kept["first"]
        status = "solved"
        precondition: Precondition = lambda v: v  # noqa: E731
        if not self._is_good(point):
            bias = self.centre is not None
            precondition = sampled_inverse(self.gram, self.weight, self.alpha, bias=bias, rng=rng)
        while status == "solved" and not self._is_good(point):
            step, status = self._conjugate_gradients(point, precondition, descent)
            found, descent = self._point(point.w + step), None
            if not found.gap <= STALLED * point.gap and status == "solved":
                if self.working is self.gram:
                    status = "stalled"
                self.working = self.gram  # rounding of float32 is all that it sees
            point = min(found, point, key=lambda at: at.gap)
        left = np.sqrt((point.downhill**2).sum(axis=0))
        result = LeastSquaresResult(
            objective=point.objective,
            bound=point.objective - point.gap,
            gap=point.gap,
            relative_residual=self._share(left),
            method="landmarks",
            n_iter=self.n_iter,
            status="solved" if self._is_good(point) else status,
            seconds=time.perf_counter() - self.began,
        )
        return LandmarkSolution(point.w, point.b, point.errors, result)

    def _share(self, left: np.ndarray) -> float:
        """What is left of the gradient that the run began with."""
        return float(np.divide(left, self.first, out=np.zeros_like(left), where=self.first > 0).max(initial=0.0))

    # --- on disk ------------------------------------------------------------------------------------------

    def _keep(self, point: _Point, descent: _Descent, *, ended: bool = False) -> None:
        """Keep where the run is where it is time, or a limit ends it."""
        if self.bookmark is None or not (ended or self.bookmark.is_due()):
            return
        counts = {"n_iter": self.n_iter, "seconds": time.perf_counter() - self.began}
        flags = {"solver": "landmarks", "single": self.working is not self.gram}
        self.bookmark.note({**flags, **counts, "w": point.w, "first": self.first, **vars(descent)})

    def _go_on_from(self, kept: dict[str, Any]) -> _Descent:
        """Steps and seconds of what was before, and the conjugate gradients that were running."""
        self.n_iter, self.began = kept["n_iter"], self.began - kept["seconds"]
        if not kept["single"]:
            self.working = self.gram
        return _Descent(**{name: kept[name] for name in ("step", "residual", "direction", "size")})

    # --- points -------------------------------------------------------------------------------------------

    def _is_good(self, point: _Point) -> bool:
        return point.gap <= self.tol * point.objective

    def _point(self, w: np.ndarray) -> _Point:
        """With everything in float64."""
        Y, weight, b = self.Y, self.weight, np.zeros(self.Y.shape[1])
        values, sums = self.gram.both(w, -weight, weight[:, np.newaxis] * Y)
        downhill, errors = sums - self.alpha * w, Y - values
        if self.centre is not None:
            b = weight @ errors / self.total
            errors, downhill = errors - b, downhill - self.centre * b
        squares = float(np.einsum("i,ij,ij->", weight, errors, errors))
        objective = 0.5 * (squares + self.alpha * float((w * w).sum()))
        return _Point(w, b, errors, downhill, objective, float((downhill**2).sum()) / (2.0 * self.alpha))

    def _times(self, v: np.ndarray) -> np.ndarray:
        """The matrix of the normal equations times v, shape (m, k)."""
        product = self.working.moments_times(v, self.weight)
        if self.centre is not None:
            product -= self.centre * (self.centre.T @ v / self.total)
        return product + self.alpha * v

    def _conjugate_gradients(
        self, point: _Point, precondition: Precondition, begun: _Descent | None
    ) -> tuple[np.ndarray, str]:
        """A step towards the solution for all columns, each with its own lengths; and why it ended, if it was early."""
        enough = 2.0 * self.alpha * SAFETY * self.tol * point.objective
        if self.working is not self.gram:
            enough = max(enough, REDUCTION**2 * float((point.downhill**2).sum()))
        if begun is None:
            better = precondition(point.downhill)
            size = (point.downhill * better).sum(axis=0)
            begun = _Descent(np.zeros_like(point.downhill), point.downhill, better, size)
        at = begun
        while float((at.residual**2).sum()) > enough:
            limited = self.n_iter >= self.max_iter
            self._keep(point, at, ended=limited)
            if limited:
                return at.step, "max_iter"
            change = self._times(at.direction)
            self.n_iter += 1
            curvature = (at.direction * change).sum(axis=0)
            if not (curvature > 0).any():
                return at.step, "solved"
            length = np.divide(at.size, curvature, out=np.zeros_like(at.size), where=curvature > 0)
            residual = at.residual - length * change
            better = precondition(residual)
            size = (residual * better).sum(axis=0)
            turn = np.divide(size, at.size, out=np.zeros_like(size), where=at.size > 0)
            at = _Descent(at.step + length * at.direction, residual, better + turn * at.direction, size)
            if self.callback is not None:
                gap = float((residual**2).sum()) / (2.0 * self.alpha)
                if self.callback(Progress(self.n_iter, -point.objective, gap, time.perf_counter() - self.began)):
                    self._keep(point, at, ended=True)
                    return at.step, "stopped"
        return at.step, "solved"
