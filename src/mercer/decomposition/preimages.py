"""Samples whose image is near a point of feature space."""

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer.kernels import RBF, Kernel
from mercer.kernels.samples import row_blocks

__all__ = ["fit_ridge", "fixed_point"]

# Steps of the fixed point iteration at most; it ends when points move by less than this share of the spread.
MOST_STEPS, STILL = 500, 1e-9
# How often a step that leads away is halved.
HALVINGS = 30


def fixed_point(kernel: RBF, X: np.ndarray, coefficients: np.ndarray, start: np.ndarray) -> np.ndarray:
    r"""Points z whose image under the Gaussian kernel is nearest to a combination of images.

    At the point nearest to :math:`\sum_i c_i \phi(x_i)`

    .. math:: z = \frac{\sum_i c_i k(z, x_i)\, x_i}{\sum_i c_i k(z, x_i)}

    which is iterated from `start`; a step that leads away from the combination is halved. [Mika et al., eq 10]

    Parameters
    ----------
    kernel : RBF
        Resolved.
    X : array of shape (n, d)
    coefficients : array of shape (m, n)
        One combination in each row.
    start : array of shape (m, d)

    Returns
    -------
    ndarray of shape (m, d)
    """
    z = start.copy()
    for rows in row_blocks(len(z), len(X)):
        z[rows] = _fixed_points(kernel, X, coefficients[rows], z[rows])
    return z


def _fixed_points(kernel: RBF, X: np.ndarray, C: np.ndarray, z: np.ndarray) -> np.ndarray:
    spread = float(np.sqrt(X.var(axis=0).sum())) or 1.0
    going = np.arange(len(z))
    terms = C * kernel(z, X)
    height = terms.sum(axis=1)  # the inner product with the combination, which is to be large
    for _ in range(MOST_STEPS):
        if not len(going):
            break
        # Where the weights add up to next to nothing, or less, the mean they make is no mean.
        usable = terms.sum(axis=1) > 0
        going, terms, height = going[usable], terms[usable], height[usable]
        if not len(going):
            break
        old = z[going]
        step = terms @ X / terms.sum(axis=1, keepdims=True) - old
        size, lower = np.ones(len(going)), np.arange(len(going))
        new, values = old + step, np.empty_like(terms)
        for _ in range(HALVINGS):
            values[lower] = C[going[lower]] * kernel(new[lower], X)
            lower = lower[values[lower].sum(axis=1) < height[lower]]
            if not len(lower):
                break
            size[lower] *= 0.5
            new[lower] = old[lower] + size[lower, np.newaxis] * step[lower]
        new[lower] = old[lower]
        z[going] = new
        moved = np.linalg.norm(new - old, axis=1) > STILL * spread
        going, terms = going[moved], values[moved]
        height = terms.sum(axis=1)
    return z


def fit_ridge(kernel: Kernel, Z: np.ndarray, X: np.ndarray, alpha: float, weight: np.ndarray) -> tuple[Any, ...]:
    """Kernel ridge regression from coordinates Z to samples X: (resolved kernel, coefficients, mean of the samples)."""
    kernel = kernel.resolve(Z, weight)
    mean = weight @ X / weight.sum()
    K = np.array(kernel(Z), dtype=np.float64)
    K[np.diag_indices_from(K)] += alpha / weight
    return kernel, cho_solve(cho_factor(K, lower=True, overwrite_a=True), X - mean), mean
