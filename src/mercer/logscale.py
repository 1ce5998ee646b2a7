"""Positive parameters in their logarithms: as one vector, and down the slope of a function of them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import lsq_linear, minimize

from mercer.kernels import Kernel
from mercer.kernels.samples import take
from mercer.parameters import Number

__all__ = ["Descent", "Packed", "descend", "descend_curved", "limits", "smooth_parameters"]

# The first step of Newton's method multiplies no parameter by more than exp(2); where one fails that changes none by
# more than a millionth, no step helps.
FIRST_RADIUS, LAST_RADIUS = 2.0, 1e-6
# A step is taken that gains this part of what the model expects; below a quarter of it the box shrinks, above three
# quarters it may grow: algorithm 4.1 of J. Nocedal, S. J. Wright, Numerical Optimization, 2006.
ENOUGH, POOR, GOOD = 1e-4, 0.25, 0.75
# Where no more than this part of the value is to be gained, rounding may hide it, and smaller slopes are a gain.
HIDDEN = 1e-9
# The least curvature, as a part of the mean: directions of which nothing is known are no reason for long steps.
FLAT = 1e-4
EPS = float(np.finfo(np.float64).eps)


def smooth_parameters(kernel: Kernel, X: Any) -> dict[str, Any]:
    """The parameters of a resolved kernel that have a derivative, with their values."""
    params, one = kernel.get_params(), take(X, slice(0, 1))
    return {name: params[name] for name in kernel.vjp(one, np.zeros((1, 1)))}


class Packed(NamedTuple):
    """Parameters as one vector of logarithms."""

    start: np.ndarray
    parts: dict[str, slice]
    is_array: dict[str, bool]

    @classmethod
    def of(cls, values: dict[str, Any]) -> "Packed":
        """From their names and values, which are positive."""
        logs = [np.log(np.atleast_1d(np.asarray(value, dtype=np.float64))) for value in values.values()]
        ends = np.cumsum([0, *map(len, logs)]).tolist()
        parts = {name: slice(ends[k], ends[k + 1]) for k, name in enumerate(values)}
        return cls(np.concatenate(logs), parts, {name: bool(np.ndim(value)) for name, value in values.items()})

    def values(self, theta: np.ndarray) -> dict[str, Any]:
        """The parameters that a vector stands for."""
        found = {name: np.exp(theta[part]) for name, part in self.parts.items()}
        return {name: value if self.is_array[name] else float(value[0]) for name, value in found.items()}


def limits(packed: Packed, factor: float, kernel: Kernel | None) -> tuple[np.ndarray, np.ndarray]:
    """Logarithms of the least and the largest values: within a factor of the start, and what the kernel allows.

    The parameters of the kernel are those whose names begin with ``kernel__``.
    """
    low, high = packed.start - np.log(factor), packed.start + np.log(factor)
    params = {} if kernel is None else {"kernel": kernel, **{f"kernel__{k}": v for k, v in kernel.get_params().items()}}
    for name, part in packed.parts.items():
        owner, _, last = name.rpartition("__")
        rule = params[owner]._parameters.get(last) if owner in params else None
        if isinstance(rule, Number):
            with np.errstate(divide="ignore"):  # zero is as far as one may go
                low[part] = np.maximum(low[part], np.log(max(rule.low, 0.0)))
            high[part] = np.minimum(high[part], np.log(rule.high))
    return low, high


class Descent(NamedTuple):
    """Where a descent ended, and the way there."""

    theta: np.ndarray
    value: float
    stationarity: float
    """The largest slope in a parameter that could still move."""
    stopped: np.ndarray
    """Parameters that wanted to go further than their limits."""
    status: str
    """"local": a stationary point; else why not: "max_iter", "stalled"."""
    way: list[np.ndarray]
    """The start, and the point after every step."""

    @property
    def n_iter(self) -> int:
        """Steps."""
        return len(self.way) - 1


def descend(
    function: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    *,
    tol: float,
    max_iter: int,
    smallest_step: float,
) -> Descent:
    """L-BFGS-B on a function that gives its value and gradient, to slopes of at most `tol`.

    A step that changes the function by less than `smallest_step`, as a part of it, is the last one.
    """
    way = [start]
    ended = minimize(
        function,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(low, high, strict=True)),
        callback=lambda theta: way.append(theta.copy()),
        options={"maxiter": max_iter, "gtol": tol, "ftol": smallest_step},
    )
    theta = np.array(ended.x)
    value, slope = function(theta)
    stopped, stationarity = _freedom(theta, slope, low, high)
    n_iter = len(way) - 1
    status = "local" if stationarity <= tol else "max_iter" if n_iter >= max_iter else "stalled"
    return Descent(theta, value, stationarity, stopped, status, way)


def descend_curved(
    function: Callable[[np.ndarray], tuple[float, np.ndarray, np.ndarray]],
    start: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    *,
    tol: float,
    max_iter: int,
) -> Descent:
    """Newton's method in a trust region, on a function that gives its value, gradient and about its Hessian.

    Each step goes to the least value of a quadratic model in a box. Its curvature, positive semi-definite, is what the
    function says, corrected by how the gradient changed over the last step: the update of BFGS. The steps end at
    slopes of at most `tol`, or where no step in the smallest of boxes helps. Where the function is infinite, there
    is a wall.
    """
    theta, way, radius = start, [start], FIRST_RADIUS
    value, slope, curvature = function(theta)
    model = curvature
    while True:
        stopped, stationarity = _freedom(theta, slope, low, high)
        if stationarity <= tol or len(way) > max_iter:
            status = "local" if stationarity <= tol else "max_iter"
            break
        step = _least_in_box(model, slope, np.maximum(low - theta, -radius), np.minimum(high - theta, radius))
        expected = -float(slope @ step + 0.5 * step @ model @ step)
        trial, size = np.clip(theta + step, low, high), float(np.abs(step).max())
        value_there, slope_there, curvature_there = function(trial)
        gain = (value - value_there) / expected
        if expected <= HIDDEN * abs(value) and _freedom(trial, slope_there, low, high)[1] < stationarity:
            gain = 1.0
        change = slope_there - slope
        if gain > GOOD:
            radius = max(radius, 2 * size)
        elif not gain >= POOR:  # or no number at all
            radius = size / 4
        if gain > ENOUGH:
            theta, value, slope, curvature = trial, value_there, slope_there, curvature_there
            way.append(theta)
        elif radius < LAST_RADIUS:
            status = "stalled"
            break
        model = _corrected(curvature, step, change)
    return Descent(theta, value, stationarity, stopped, status, way)


def _freedom(theta: np.ndarray, slope: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, float]:
    """Which parameters want to go further than their limits, and the largest slope in the others."""
    stopped = ((theta <= low) & (slope > 0)) | ((theta >= high) & (slope < 0))
    return stopped, float(np.abs(np.where(stopped, 0.0, slope)).max())


def _least_in_box(H: np.ndarray, g: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The x between low and high of about the least g' x + x' H x / 2, by way of |R x + R^-T g|^2 with R' R = H."""
    curvatures, directions = np.linalg.eigh(H)
    roots = np.sqrt(np.maximum(curvatures, max(FLAT * curvatures.mean(), np.finfo(float).tiny)))[:, np.newaxis]
    target = -(directions.T @ g)[:, np.newaxis] / roots
    return np.clip(lsq_linear(roots * directions.T, target[:, 0], (low, high), method="bvls").x, low, high)


def _corrected(H: np.ndarray, step: np.ndarray, change: np.ndarray) -> np.ndarray:
    """The update of BFGS: H step becomes the change of the gradient, if that speaks of positive curvature."""
    image = H @ step
    expected, found = float(step @ image), float(step @ change)
    if not (expected > 0 and found > EPS * expected):
        return H
    return H + np.outer(change, change) / found - np.outer(image, image) / expected
