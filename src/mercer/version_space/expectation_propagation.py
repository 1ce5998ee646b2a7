"""Expectation propagation: a normal distribution in place of one that is cut by many walls."""

import time
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import log_ndtr

from mercer.version_space.base import VersionSpace

__all__ = ["Moments", "expectation_propagation"]

# How much of every change is taken at first; less where the changes grow.
DAMPING, LEAST_DAMPING = 0.9, 0.05
# Passes without a smaller mismatch after which rounding is taken to be in the way.
IDLE_PASSES = 50


@dataclass(frozen=True)
class Moments:
    """How expectation propagation ended."""

    mismatch: float
    """Largest difference between the moments of the normal distribution and those that every single wall asks for, in
    units of its standard deviation. Zero at a fixed point."""
    log_volume: float
    """Estimate of the logarithm of the share of all directions that lie in version space."""
    n_iter: int
    """Passes over all walls."""
    status: str
    """"solved", "stalled" (by rounding) or "max_iter"."""
    seconds: float
    """Wall-clock time."""


def expectation_propagation(space: VersionSpace, tol: float, max_iter: int) -> tuple[np.ndarray, Moments]:
    """The beta of the mean of a normal w given that it is in version space, and how well it is known.

    Every wall, :math:`a_i \\cdot w \\ge 0`, is replaced by a factor :math:`\\exp(\\nu_i m - \\tau_i m^2 / 2)` of
    :math:`m = a_i \\cdot w`, such that the normal distribution has the mean and the variance of m that it would have
    with the wall itself in place of its factor. All factors are found in one pass, from one Cholesky factor.
    """
    began = time.perf_counter()
    C, n = space.cosines, len(space.cosines)
    tau, nu = np.zeros(n), np.zeros(n)
    damping, before, least, idle = DAMPING, np.inf, np.inf, 0
    for step in range(max_iter + 1):
        root = np.sqrt(tau)
        L = cholesky(np.eye(n) + C * np.outer(root, root), lower=True)
        V = solve_triangular(L, root[:, np.newaxis] * C, lower=True)
        variance = np.maximum(1.0 - (V**2).sum(axis=0), np.finfo(float).eps)
        inner = solve_triangular(L, root * (C @ nu), lower=True)
        beta = nu - root * solve_triangular(L, inner, lower=True, trans="T")
        mean = C @ beta
        # The distribution without the factor, and with the wall in its place.
        other_tau = np.maximum(1.0 / variance - tau, 1.0)  # no wall makes a variance larger than 1, where it began
        other_nu = mean / variance - nu
        spread = 1.0 / np.sqrt(other_tau)
        z = other_nu * spread
        log_inside = log_ndtr(z)
        ratio = np.exp(-0.5 * z**2 - 0.5 * np.log(2 * np.pi) - log_inside)
        wanted_mean = spread * (z + ratio)
        wanted_variance = spread**2 * np.maximum(1.0 - ratio * (z + ratio), np.finfo(float).eps)
        mismatch = float(
            max(np.abs((wanted_mean - mean) / np.sqrt(variance)).max(), np.abs(wanted_variance / variance - 1.0).max())
        )
        idle, least = (0, mismatch) if mismatch < least else (idle + 1, least)
        if mismatch <= tol or step == max_iter or idle == IDLE_PASSES:
            break
        if mismatch > before:
            damping = max(LEAST_DAMPING, 0.7 * damping)
        before = mismatch
        tau = np.maximum(tau + damping * (1.0 / wanted_variance - other_tau - tau), 0.0)
        nu = nu + damping * (wanted_mean / wanted_variance - other_nu - nu)
    # The walls seen one by one, and what their factors have added to the normal distribution.
    both_tau, both_nu = other_tau + tau, other_nu + nu
    log_volume = float(
        (
            log_inside
            + 0.5 * other_nu**2 / other_tau
            - 0.5 * both_nu**2 / both_tau
            + 0.5 * np.log(both_tau / other_tau)
        ).sum()
        + 0.5 * nu @ mean
        - np.log(L.diagonal()).sum()
    )
    status = "solved" if mismatch <= tol else "stalled" if idle == IDLE_PASSES else "max_iter"
    return beta, Moments(mismatch, log_volume, step, status, time.perf_counter() - began)
