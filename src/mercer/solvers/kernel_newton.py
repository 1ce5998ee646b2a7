"""Newton's method for sums of losses and a penalty, over the coefficients of the samples."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from sklearn.base import BaseEstimator

from mercer.parameters import Number, check_parameters
from mercer.problems.regularized import Bounds, RegularizedProblem, Tangents
from mercer.solvers.base import Certificate, History
from mercer.sums import inner

__all__ = ["KernelNewton", "RegularizedResult"]

STEPS = 1000
# A stage of smoothing ends when what Newton's method has left over is this part of what the smoothing costs; the next
# is narrower by the factor. How stiff all samples together are, at first at most and in the end: kernel values times
# prices over the width.
LEFT_OVER, SHRINK, SOFTEST, STIFFEST = 1e-3, 0.2, 1e2, 1e11
# So many stages that neither are narrower nor halve the gap are rounding, and so are so many steps that do not lower
# the objective by the part.
PATIENCE, STUCK, DECREASE = 8, 4, 1e-13
# A line search is content with a slope that is this part of the first one.
FLAT, LINE_STEPS = 0.5, 60
# Where a step gains less than this part of the objective, the line is too flat to be seen, and full steps are right.
BLIND = 1e-11
BALANCING_STEPS, NEARLY_BALANCED = 200, 1e-11
# Slopes that add up to less than this part of themselves leave the offset free, and so much of it is rounding.
EVEN = 1e-9
# Slopes, or values, that differ by more than this part of the largest one differ by more than rounding.
SAME = 1e-6
# A gap below this part of what no function at all costs is rounding.
ROUNDING = 1e-15
# Prices above this multiple of their harmonic mean are smoothed more widely.
OUT_OF_PROPORTION = 100.0
# A penalty that is flatter than this part of the slopes of the losses is taken to be as steep in the Newton equations.
FLATTEST = 1e-8


@dataclass(frozen=True, eq=False)
class RegularizedResult(Certificate):
    """The solution of a `RegularizedProblem` and the proof of how good it is."""

    a: np.ndarray = field(default_factory=lambda: np.empty(0), repr=False)
    """Coefficients of the samples."""
    offset: float = 0.0
    """The offset b."""
    parts: tuple["RegularizedResult", ...] = field(default=(), repr=False)
    """Results of the problems that this one sums up."""


class Answers(NamedTuple):
    """What the losses answer to decision values: where tangents touch, their slopes, and the curvature."""

    at: np.ndarray
    slope: np.ndarray
    curvature: np.ndarray
    width: np.ndarray
    """Of the smoothing; 0 for none."""

    @property
    def tangents(self) -> Tangents:
        return Tangents(self.at, self.slope)

    def turned(self, change: np.ndarray) -> "Answers":
        """With slopes that differ by rounding, where that does not move the point of contact by more.

        The tangents then touch where the loss, unsmoothed, has these slopes.
        """
        flat = np.divide(1.0, self.curvature, out=self.width.copy(), where=self.curvature > 0)
        move = change * (flat - self.width)
        small = (self.curvature > 0) & (np.abs(move) <= SAME * np.abs(self.at).max())
        return self._replace(at=self.at + np.where(small, move, 0.0), slope=self.slope + np.where(small, change, 0.0))


class Point(NamedTuple):
    """A function and its best offset, with what the losses answer."""

    a: np.ndarray
    Ka: np.ndarray
    b: float
    norm: float
    answers: Answers
    pull: np.ndarray
    """c s"""
    Kv: np.ndarray
    """K c s, the products of v with the samples: the function that the losses ask for is along -v."""
    size: float
    """The norm of v."""


class KernelNewton(BaseEstimator):
    """Newton's method over the coefficients of the samples, for any convex loss and penalty. [1]_ [2]_

    With slopes s and second derivatives h of the losses, and the penalty as steep as half the squared norm times
    lambda, a step solves

    .. math::

        (\\lambda I + D K) \\, \\delta a + D 1 \\, \\delta b = -(\\lambda a + c s), \\quad 1^T (a + \\delta a) = 0,
        \\quad D = c h,

    by a Cholesky factor of :math:`I + D^{1/2} K D^{1/2} / \\lambda` over the samples with h > 0, which K cannot make
    ill-conditioned; the curvature of the penalty beyond lambda is of rank one. A loss with kinks is smoothed
    (`Loss.smoothed`), more widely where prices are out of proportion; the slopes of one stage are the centres of the
    next, which is narrower: the proximal point method on the dual, or the method of multipliers. In the end the
    coefficients are in proportion to ``-c s``, so that samples that nothing is lost on drop out, as from a support
    vector machine.

    Parameters
    ----------
    tol : float > 0, default=1e-8
        Largest relative duality gap.
    max_iter : int >= 1 or None, default=None
        Most Newton steps; None means 1000.

    See Also
    --------
    mercer.problems.RegularizedProblem : What it solves.

    Notes
    -----
    A step costs O(n m^2) for the m samples with h > 0: all of them for smooth losses, those near a kink for the others.

    References
    ----------
    .. [1] O. Chapelle, Training a support vector machine in the primal, 2007.
    .. [2] R. T. Rockafellar, Augmented Lagrangians and applications of the proximal point algorithm, 1976.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.problems import RegularizedProblem
    >>> from mercer.regularized import Hinge, NormPower
    >>> from mercer.solvers import KernelNewton
    >>> x, y = np.array([-2.0, -1.0, 1.0, 3.0]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> problem = RegularizedProblem(np.outer(x, x), y, np.full(4, 10.0), Hinge(), NormPower(), bias=True)
    >>> result = KernelNewton().solve(problem)
    >>> result.status, result.a.round(3), round(result.primal_objective, 3)
    ('solved', array([ 0. , -0.5,  0.5,  0. ]), 0.5)
    """

    _parameters: ClassVar[dict[str, Any]] = {
        "tol": Number(0, above=True),
        "max_iter": Number(1, integer=True, none=True),
    }

    def __init__(self, tol=1e-8, max_iter=None):
        self.tol = tol
        self.max_iter = max_iter

    def solve(self, problem: RegularizedProblem) -> RegularizedResult:
        """The solution, with its certificate.

        Parameters
        ----------
        problem : RegularizedProblem

        Returns
        -------
        RegularizedResult
        """
        check_parameters(self)
        return _Run(problem, self.tol, STEPS if self.max_iter is None else int(self.max_iter)).result()


class _Run:
    """One run: the function, the width and centre of the smoothing, the best certificate so far."""

    def __init__(self, problem: RegularizedProblem, tol: float, most: int):
        self.problem, self.tol, self.most = problem, tol, most
        self.began, self.n_iter = time.perf_counter(), 0
        self.history: list[tuple[float, ...]] = []
        self.best: tuple[Bounds, Point, float] | None = None
        n, loss, y = len(problem.y), problem.loss, problem.y
        # One width for all makes the same steps for a sample of weight 2 as for the sample twice. A price out of
        # proportion, though, is a limit that the coefficient hardly meets: its width grows with it, so that the sample
        # is no stiffer than others, and the limit is that of a constraint.
        self.moderate = np.minimum(problem.cost, OUT_OF_PROPORTION * n / float(np.sum(1.0 / problem.cost)))
        self.share = problem.cost / self.moderate
        stiffness = inner(self.moderate, np.diagonal(problem.K))
        self.narrowest = stiffness / STIFFEST
        # Without a function: the offset alone, and what the losses then are.
        self.a, self.Ka, self.b = np.zeros(n), np.zeros(n), 0.0
        if problem.bias:
            self.b, _ = self._balanced(self._plain)
        value, slope = loss.value(self.Ka + self.b, y), loss.derivative(self.Ka + self.b, y)
        self.rounding = ROUNDING * inner(problem.cost, loss.value(self.Ka, y))
        steep = inner(problem.cost, slope**2)
        # Smooth enough that neither a kink nor a high price is seen at first.
        self.width = max(2.0 * inner(problem.cost, value) / steep if steep else 1.0, stiffness / SOFTEST)
        self.centre = np.zeros(n)

    # --- the run ------------------------------------------------------------------------------------------

    def result(self) -> RegularizedResult:
        """The best point."""
        status = self._run()
        assert self.best is not None
        bounds, point, shrinkage = self._centred(*self.best) if status == "solved" else self.best
        a = 0.0 - shrinkage * point.pull  # no -0
        self.history[-1] = self.n_iter, bounds.dual, bounds.gap, _violation(point, shrinkage)
        iterations, *columns = np.array(self.history).T
        return RegularizedResult(
            objective=-bounds.dual,
            bound=-bounds.primal,
            gap=bounds.gap,
            violation=_violation(point, shrinkage),
            n_iter=max(1, self.n_iter),
            status=status,
            seconds=time.perf_counter() - self.began,
            precision="float64",
            kernel_evaluations=len(a) ** 2,
            imbalance=abs(float(a.sum())) if self.problem.bias else 0.0,
            history=History(iterations.astype(np.int64), *columns),
            a=a,
            offset=point.b,
        )

    def _run(self) -> str:
        """Newton's method, until the certificate is good, or nothing helps."""
        smooth, least, in_vain = self.problem.loss.smooth, math.inf, 0
        lowest, stuck, steps = math.inf, 0, 0
        while True:
            point = self._point()
            bounds = self._certified(point)
            if self._is_good(bounds):
                return "solved"
            if self.n_iter >= self.most:
                return "max_iter"
            price = self._price(point)
            residual, K_residual = price * point.a + point.pull, price * point.Ka + point.Kv
            objective = self._objective(point.norm, point.Ka + point.b, point.answers)
            stuck = 0 if objective < lowest - DECREASE * abs(objective) else stuck + 1
            lowest = min(lowest, objective)
            if smooth and stuck == STUCK:
                return "stalled"
            if not smooth and (stuck == STUCK or (steps and self._is_settled(point, residual, K_residual))):
                width = self.width
                self._next_stage(point, price)
                in_vain = 0 if self.width < width or bounds.gap < 0.5 * least else in_vain + 1
                least = min(least, bounds.gap)
                if in_vain == PATIENCE:
                    return "stalled"
                lowest, stuck, steps = math.inf, 0, 0
                continue
            self._step(point, objective, price, residual, K_residual)
            self.n_iter += 1
            steps += 1

    def _is_good(self, bounds: Bounds) -> bool:
        """Whether the gap is as small as wanted, or rounding."""
        return math.isfinite(bounds.gap) and bounds.gap <= max(self.tol * abs(bounds.primal), self.rounding)

    def _centred(self, bounds: Bounds, point: Point, shrinkage: float) -> tuple[Bounds, Point, float]:
        """The same function with the middle of the best offsets, where a loss with kinks leaves more than one."""
        problem = self.problem
        if not problem.bias or problem.loss.smooth:
            return bounds, point, shrinkage
        f, little = -shrinkage * point.Kv, EVEN * float(np.abs(point.pull).sum())

        def edge(side: float) -> float:
            """How far the offset can go until the losses rise."""

            def rises(step: float) -> bool:
                slope = problem.loss.derivative(f + point.b + side * step, problem.y)
                return side * inner(problem.cost, slope) > little

            low, high = 0.0, EVEN * float(np.abs(f + point.b).max())
            for _ in range(LINE_STEPS):
                if rises(high):
                    break
                low, high = high, 2.0 * high
            for _ in range(LINE_STEPS):
                middle = 0.5 * (low + high)
                low, high = (low, middle) if rises(middle) else (middle, high)
            return low

        moved = point._replace(b=point.b + 0.5 * (edge(1.0) - edge(-1.0)))
        found = problem.bounds(shrinkage, moved.Kv, moved.b, moved.answers.tangents)
        return (found, moved, shrinkage) if self._is_good(found) else (bounds, point, shrinkage)

    def _next_stage(self, point: Point, price: float) -> None:
        """Centre the smoothing at the slopes that were found, and narrow it."""
        self.centre = point.answers.slope
        if price:
            self.width = max(SHRINK * self.width, min(self.width, self.narrowest / price))

    def _objective(self, norm: float, f: np.ndarray, answers: Answers) -> float:
        """Penalty and losses, smoothed if they need it, for values f and what the losses answer to them."""
        problem, (at, slope, _, width) = self.problem, answers
        losses = problem.loss.value(at, problem.y) + slope * (f - at) - 0.5 * width * (slope - self.centre) ** 2
        return problem.penalty.value(norm) + inner(problem.cost, losses)

    def _is_settled(self, point: Point, residual: np.ndarray, K_residual: np.ndarray) -> bool:
        """Whether what Newton's method has left over is little beside what the smoothing costs."""
        if not point.norm:
            return self.problem.penalty.derivative(0.0) >= point.size
        rest = 0.5 * inner(residual, K_residual) / self._price(point)
        return rest <= LEFT_OVER * inner(self.moderate, self.problem.above(point.Ka + point.b, point.answers.tangents))

    def _certified(self, point: Point) -> Bounds:
        """The best certificate of this point; the best of all is kept."""
        problem = self.problem
        candidates = [point]
        if polished := self._polished(point):
            candidates.append(polished)
        found = []
        for candidate in candidates:
            # The function of the same norm that the losses ask for; or none, which may be better than a little.
            shrinkages = [candidate.norm / candidate.size if candidate.size else 0.0]
            if problem.penalty.derivative(0.0) > 0:
                shrinkages.append(0.0)
            for shrinkage in shrinkages:
                bounds = problem.bounds(shrinkage, candidate.Kv, candidate.b, candidate.answers.tangents)
                found.append((bounds, candidate, shrinkage))
        best = min(found, key=lambda one: one[0].gap)
        self.history.append((self.n_iter, best[0].dual, best[0].gap, _violation(*best[1:])))
        if self.best is None or best[0].gap < self.best[0].gap:
            self.best = best
        return best[0]

    def _polished(self, point: Point) -> Point | None:
        """The point with the slopes that the coefficients stand for.

        The Newton equations make a function of nearly the right values, whereas slopes from values are exact to
        rounding times stiffness only, which counts where the price of the losses is high.
        """
        answers, price = point.answers, self._price(point)
        change = -price * point.a / self.problem.cost - answers.slope
        if not 0.0 < np.abs(change).max() <= SAME * np.abs(answers.slope).max():
            return None
        answers = answers.turned(change)
        pull = self.problem.cost * answers.slope
        Kv = self.problem.K @ pull
        return point._replace(answers=answers, pull=pull, Kv=Kv, size=math.sqrt(max(0.0, inner(pull, Kv))))

    # --- the point ----------------------------------------------------------------------------------------

    def _point(self) -> Point:
        """The function with its best offset."""
        if self.problem.bias:
            self.b, answers = self._balanced(self._respond)
        else:
            answers = self._respond(self.Ka)
        pull = self.problem.cost * answers.slope
        Kv = self.problem.K @ pull
        norm, size = (math.sqrt(max(0.0, square)) for square in (inner(self.a, self.Ka), inner(pull, Kv)))
        return Point(self.a, self.Ka, self.b, norm, answers, pull, Kv, size)

    def _price(self, point: Point) -> float:
        """lambda: the penalty is as steep as half the squared norm times this."""
        return self.problem.penalty.derivative(point.norm) / point.norm if point.norm else 0.0

    def _respond(self, f: np.ndarray) -> Answers:
        """What the losses, smoothed if they need it, answer to values f."""
        loss, y = self.problem.loss, self.problem.y
        if loss.smooth:
            return Answers(f, loss.derivative(f, y), loss.second_derivative(f, y), np.zeros(len(f)))
        width = self.width * self.share
        z = f + width * self.centre
        slope, curvature = loss.smoothed(z, y, width)
        return Answers(z - width * slope, slope, curvature, width)

    def _plain(self, f: np.ndarray) -> Answers:
        """The same without smoothing, as if nothing were curved."""
        nothing = np.zeros(len(f))
        return Answers(f, self.problem.loss.derivative(f, self.problem.y), nothing, nothing)

    def _balanced(self, respond: Callable[[np.ndarray], Answers]) -> tuple[float, Answers]:
        """The offset at which the slopes add up to zero: their sum rises with it. By Newton's method and halving."""
        cost, b, low, high = self.problem.cost, self.b, -math.inf, math.inf
        stride, rounding = 1e-3 * (1.0 + abs(b)), 4.0 * np.finfo(float).eps * float(np.abs(self.Ka + b).max())
        for _ in range(BALANCING_STEPS):
            answers = respond(self.Ka + b)
            pull = cost * answers.slope
            total, rise = float(pull.sum()), inner(cost, answers.curvature)
            if abs(total) <= NEARLY_BALANCED * float(np.abs(pull).sum()):
                break
            low, high = (b, high) if total < 0 else (low, b)
            step = b - total / rise if rise > 0 else math.nan
            if not low < step < high:
                inside = math.isfinite(low) and math.isfinite(high)
                step = 0.5 * (low + high) if inside else b - math.copysign(stride, total)
                stride *= 2.0
            if abs(step - b) <= rounding:
                break
            b = step
        if rise > 0:  # the last digits
            answers = answers.turned(-answers.curvature * (total / rise))
        return b, answers

    # --- a step -------------------------------------------------------------------------------------------

    def _step(self, point: Point, objective: float, price: float, residual: np.ndarray, K_residual: np.ndarray) -> None:
        """Along the Newton direction, or along -v where there is no function yet, to about the lowest point."""
        if point.norm:
            da, Kda, db = self._direction(point, price, residual, K_residual)
        else:
            da, Kda, db = -point.pull, -point.Kv, 0.0
        penalty, cost = self.problem.penalty, self.problem.cost
        f, df = point.Ka + point.b, Kda + db
        rise, curve = inner(da, point.Ka), inner(da, Kda)

        def along(t: float) -> tuple[float, float]:
            """The objective along the line, and its derivative."""
            norm = math.sqrt(max(0.0, point.norm**2 + 2.0 * t * rise + t * t * curve))
            of_norm = penalty.derivative(norm) * ((rise + t * curve) / norm if norm else math.sqrt(max(0.0, curve)))
            answers = self._respond(f + t * df)
            return self._objective(norm, f + t * df, answers), of_norm + inner(cost * answers.slope, df)

        first, t, low, high = abs(along(0.0)[1]), 1.0, 0.0, math.inf
        gain = abs(inner(da, K_residual))
        for _ in range(LINE_STEPS if gain > BLIND * abs(objective) else 0):
            value, now = along(t)
            if abs(now) <= FLAT * first and (now <= 0 or value <= objective):  # a kink may turn the slope at once
                break
            low, high = (t, high) if now < 0 else (low, t)
            t = 0.5 * (low + high) if math.isfinite(high) else 2.0 * t
        self.a, self.Ka, self.b = point.a + t * da, point.Ka + t * Kda, point.b + t * db

    def _direction(
        self, point: Point, price: float, residual: np.ndarray, K_residual: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """The Newton step of the coefficients, of their products with K, and of the offset."""
        K, norm = self.problem.K, point.norm
        steepness = max(price, FLATTEST * point.size / norm)
        stiffness = self.problem.cost * point.answers.curvature / steepness
        active = np.flatnonzero(stiffness > 0)
        root = np.sqrt(stiffness[active])
        factor = _factor(root[:, np.newaxis] * K[np.ix_(active, active)] * root)
        border = _solve(factor, root)

        def answer(r: np.ndarray, Kr: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
            """da + D (K da + db) = -r, where the D (K da + db) add up to zero if there is an offset."""
            x, db = _solve(factor, root * Kr[active]), 0.0
            if self.problem.bias and len(active):
                db = inner(root, x) / inner(root, border)
                x = x - db * border
            da = -r
            da[active] += root * x
            return da, K[:, active] @ (root * x) - Kr, db

        da, Kda, db = answer(residual / steepness, K_residual / steepness)
        beyond = (self.problem.penalty.second_derivative(norm) - price) / (steepness * norm**2)
        if beyond:
            along, K_along, b_along = answer(beyond * point.a, beyond * point.Ka)
            if (left := 1.0 - inner(point.a, K_along)) > 0:
                share = inner(point.a, Kda) / left
                da, Kda, db = da + share * along, Kda + share * K_along, db + share * b_along
        return da, Kda, db


def _violation(point: Point, shrinkage: float) -> float:
    """How far the values of the function along -v are from those at which the tangents touch."""
    return float(np.abs(point.b - shrinkage * point.Kv - point.answers.at).max())


def _factor(matrix: np.ndarray) -> Any:
    """The Cholesky factor of I + matrix, which is positive semi-definite but for rounding."""
    n, ridge = len(matrix), 1.0
    while n:
        matrix.flat[:: n + 1] += ridge
        try:
            return cho_factor(matrix, lower=True, check_finite=False)
        except LinAlgError:
            ridge = max(2.0 * ridge, np.finfo(float).eps * n * float(matrix.flat[:: n + 1].max()))
    return None


def _solve(factor: Any, right: np.ndarray) -> np.ndarray:
    return right if factor is None else cho_solve(factor, right, check_finite=False)
