"""Positive parameters in their logarithms: as one vector, and down the slope of a function of them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from mercer.kernels import Kernel
from mercer.kernels.samples import take
from mercer.parameters import Number

__all__ = ["Descent", "Packed", "descend", "limits", "smooth_parameters"]


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
    stopped = ((theta <= low) & (slope > 0)) | ((theta >= high) & (slope < 0))
    stationarity = float(np.abs(np.where(stopped, 0.0, slope)).max())
    n_iter = len(way) - 1
    status = "local" if stationarity <= tol else "max_iter" if n_iter >= max_iter else "stalled"
    return Descent(theta, value, stationarity, stopped, status, way)
