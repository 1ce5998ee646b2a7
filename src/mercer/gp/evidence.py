"""The evidence of a Gaussian process for values with Gaussian noise."""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import blas

from mercer.gp.base import Prior
from mercer.gp.factors import Factor

__all__ = ["Conditioned", "RegressionEvidence"]

SINGULAR = "amplitude * K + noise"


class Conditioned(NamedTuple):
    """A prior given the values of the samples."""

    factor: Factor
    """Of C = amplitude * K + noise / weight."""
    alpha: np.ndarray
    """C^-1 Y, shape (n, n_outputs)."""
    log_evidence: float
    spread: np.ndarray
    """The variance of the noise of every sample, noise / weight."""


class RegressionEvidence:
    r"""The log evidence of values Y with noise, and its slopes.

    .. math:: \log Z = -\tfrac12 \mathrm{tr}(Y^T C^{-1} Y) - \tfrac p2 \log |C| - \tfrac{np}2 \log 2\pi

    for p outputs and C = amplitude K + noise / weight. A sample of weight w counts as w samples of the same value: the
    density of their mean, N(y | f, noise / w), times (2 pi noise)^(-(w-1)/2) w^(-1/2), what is left of theirs.
    """

    def __init__(self, prior: Prior, Y: np.ndarray, weight: np.ndarray):
        self.prior, self.Y, self.weight = prior, np.asfortranarray(Y), weight

    def condition(self, values: dict[str, Any]) -> Conditioned:
        """The posterior and the log evidence at some parameters: one matrix, one Cholesky factor in its place."""
        n, p = self.Y.shape
        spread = values["noise"] / self.weight
        C = self.prior.matrix(values)
        C *= values["amplitude"]
        C.flat[:: n + 1] += spread
        factor = Factor(C, SINGULAR)
        alpha = factor.solve(self.Y)
        log_evidence = -0.5 * float(np.vdot(self.Y, alpha)) - p * factor.half_log_determinant
        log_evidence -= 0.5 * n * p * math.log(2 * math.pi)
        if (self.weight != 1).any() and values["noise"] > 0:
            repeated = (self.weight - 1).sum() * math.log(2 * math.pi * values["noise"]) + np.log(self.weight).sum()
            log_evidence -= 0.5 * p * float(repeated)
        return Conditioned(factor, alpha, log_evidence, spread)

    def __call__(self, values: dict[str, Any]) -> tuple[float, dict[str, Any]]:
        """The log evidence, and its slopes in the logarithms of the parameters.

        With G = (alpha alpha' - p C^-1) / 2 they are sum_ij G_ij dC_ij: one inverse in the place of the factor, and one
        pass of the kernel over G. Its lower triangle is enough, twice: dC is symmetric.
        """
        n, p = self.Y.shape
        factor, alpha, log_evidence, spread = self.condition(values)
        inverse = factor.inverse()
        twice = blas.dsyrk(1.0, alpha, beta=-float(p), c=inverse, lower=1, overwrite_c=1)
        twice[np.diag_indices(n)] *= 0.5
        by_noise = float(np.diagonal(twice) @ spread)
        slopes: dict[str, Any] = {
            # amplitude K = C - noise, and sum_ij G_ij C_ij = (tr(alpha' Y) - n p) / 2.
            "amplitude": 0.5 * (float(np.vdot(alpha, self.Y)) - n * p) - by_noise,
            "noise": by_noise - 0.5 * p * float((self.weight - 1).sum()),
        }
        # K is the amplitude's part of C. The transpose of the triangle lies in C order, as kernels like it.
        M = twice.T
        found = self.prior.slopes(values, M)
        return log_evidence, slopes | {name: values["amplitude"] * slope for name, slope in found.items()}
