"""Parameters of the kernel that make the evidence largest."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.kernels import Kernel
from mercer.kernels.samples import n_samples, take
from mercer.logscale import Packed, descend, limits, smooth_parameters
from mercer.problems import SparseBayesProblem
from mercer.solvers import SparseBayesResult
from mercer.solvers.sparse_bayes import row_slopes

__all__ = ["widest"]

# A parameter stays within this factor of its start.
FACTOR = 1e3
# Steps of the descent; the largest slope per sample at its end; the least step.
MAX_ITER, TOL, SMALLEST_STEP = 50, 1e-4, 1e-9

# A fit that ended so is the last one of the descent.
ENDED = ("max_seconds", "stopped")

Fit = Callable[[Kernel], tuple[Sequence[SparseBayesProblem], Sequence[SparseBayesResult]]]


class _EndedError(Exception):
    """A limit of the caller is reached."""


def widest(kernel: Kernel, X: Any, centers: np.ndarray, constant: bool, fit: Fit, owner: str) -> Kernel:
    """The kernel whose smooth parameters make the evidence largest, as far as a descent from its own finds.

    A fit that is out of time, or that the callback has stopped, ends the descent at the best kernel so far.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    X : n samples
    centers : ndarray of int
        The samples on which the basis functions are centred.
    constant : bool
        Whether basis function 0 is the constant.
    fit : callable
        From a kernel to the problems and their results.
    owner : str
        Who asks, for errors.

    Returns
    -------
    Kernel
    """
    values = {name: value for name, value in smooth_parameters(kernel, X).items() if np.all(np.asarray(value) > 0)}
    if not values:
        raise ValueError(
            f"gamma='evidence' of {owner} needs a kernel with a smooth positive parameter, got {kernel!r}."
        )
    packed = Packed.of({f"kernel__{name}": value for name, value in values.items()})
    low, high = limits(packed, FACTOR, kernel)
    count = n_samples(X)

    def at(theta: np.ndarray) -> Kernel:
        found = {name.removeprefix("kernel__"): value for name, value in packed.values(theta).items()}
        return clone(kernel).set_params(**found)

    def function(theta: np.ndarray) -> tuple[float, np.ndarray]:
        here = at(theta)
        problems, results = fit(here)
        if any(result.status in ENDED for result in results):
            raise _EndedError
        slopes = dict.fromkeys(values, 0.0)
        for problem, result in zip(problems, results, strict=True):
            numbers = result.members % problem.design.m - int(constant)
            rows = row_slopes(problem, result)[numbers >= 0]
            for name, slope in _pulled(here, X, centers[numbers[numbers >= 0]], rows).items():
                if name in slopes:
                    slopes[name] = slopes[name] + slope
        gradient = np.concatenate(
            [np.atleast_1d(slopes[name] * np.asarray(here.get_params()[name])) for name in values]
        )
        evidence = sum(result.log_evidence for result in results)
        if evidence > best[0]:
            best[:] = evidence, here
        return -evidence / count, -gradient / count

    best: list[Any] = [-np.inf, kernel]
    try:
        ended = descend(function, packed.start, low, high, tol=TOL, max_iter=MAX_ITER, smallest_step=SMALLEST_STEP)
    except _EndedError:
        return best[1]
    return at(ended.theta)


def _pulled(kernel: Kernel, X: Any, centers: np.ndarray, slopes: np.ndarray) -> dict[str, Any]:
    """sum_an slopes_an dk(x_n, c_a)/dp for every parameter p; in blocks of about as many samples as centres."""
    found: dict[str, Any] = {}
    n, m = n_samples(X), len(centers)
    size = max(m, 256)
    for start in range(0, n, size):
        block = np.arange(start, min(start + size, n))
        both = take(X, np.concatenate([block, centers]))
        W = np.zeros((len(block) + m, len(block) + m))
        W[: len(block), len(block) :] = slopes[:, block].T
        for name, slope in kernel.vjp(both, W).items():
            found[name] = found.get(name, 0.0) + slope
    return found
