"""The evidence of a Gaussian process for values with Gaussian noise."""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import blas

from mercer.gp.base import Assessed, Prior
from mercer.gp.factors import Factor

__all__ = ["Conditioned", "RegressionEvidence"]

SINGULAR = "amplitude * K + noise"


class Conditioned(NamedTuple):
    """A prior given the values of the samples."""

    factor: Any
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
        factor = self._factor(values, spread)
        alpha = factor.solve(self.Y)
        log_evidence = -0.5 * float(np.vdot(self.Y, alpha)) - p * factor.half_log_determinant
        log_evidence -= 0.5 * n * p * math.log(2 * math.pi)
        if (self.weight != 1).any() and values["noise"] > 0:
            repeated = (self.weight - 1).sum() * math.log(2 * math.pi * values["noise"]) + np.log(self.weight).sum()
            log_evidence -= 0.5 * p * float(repeated)
        return Conditioned(factor, alpha, log_evidence, spread)

    def _factor(self, values: dict[str, Any], spread: np.ndarray) -> Any:
        """The Cholesky factor of C."""
        C = self.prior.matrix(values)
        C *= values["amplitude"]
        C.flat[:: len(C) + 1] += spread
        return Factor(C, SINGULAR)

    def __call__(self, values: dict[str, Any]) -> Assessed:
        """The log evidence, its slopes in the logarithms of the parameters, and roots of its curvature.

        With G = (alpha alpha' - p C^-1) / 2 the slopes are sum_ij G_ij dC_ij: one inverse in the place of the factor,
        and one pass of the kernel over G. Its lower triangle is enough, twice: dC is symmetric.

        The average information of a part of C is q times what is expected of it, with q how much more the values say
        of the part than the prior expects: it makes steps too long where a part is too large, too short where it is too
        small. Expected information has it the other way. Their geometric mean is taken, which is right for one part
        alone up to third order: -log Z = n (u + q exp(-u)) / 2 is least a step log q away, and (q - 1) / q^1/2 is that.
        """
        n, p = self.Y.shape
        factor, alpha, log_evidence, spread = self.condition(values)
        roots = self._roots(values, factor, alpha, spread)
        diagonal, found = self._through_inverse(values, factor, alpha)
        # What the values say of the two parts of C, tr(alpha' dC alpha), and what the prior expects, p tr(C^-1 dC).
        said = {"noise": float(np.einsum("ij,ij->i", alpha, alpha) @ spread)}
        expected = {"noise": p * float(diagonal @ spread)}
        said["amplitude"] = float(np.vdot(alpha, self.Y)) - said["noise"]
        expected["amplitude"] = n * p - expected["noise"]
        expected["noise"] += p * float((self.weight - 1).sum())
        slopes: dict[str, Any] = {name: 0.5 * (said[name] - expected[name]) for name in said}
        for name, rows in roots.items():
            part = name if name in said else "amplitude"
            if said[part] > 0 and expected[part] > 0:
                rows *= (expected[part] / said[part]) ** 0.25  # q^-1/2 in their products
        # K is the amplitude's part of C.
        slopes |= {name: values["amplitude"] * slope for name, slope in found.items()}
        return Assessed(log_evidence, slopes, roots)

    def _through_inverse(
        self, values: dict[str, Any], factor: Any, alpha: np.ndarray
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """The diagonal of C^-1, and sum_ij G_ij dK_ij for all parameters of the kernel; the factor is no more then."""
        inverse = factor.inverse()
        diagonal = np.diagonal(inverse).copy()
        twice = blas.dsyrk(1.0, alpha, beta=-float(alpha.shape[1]), c=inverse, lower=1, overwrite_c=1)
        twice[np.diag_indices(len(twice))] *= 0.5
        # The transpose of the triangle lies in C order, as kernels like it.
        return diagonal, self.prior.slopes(values, twice.T)

    def _roots(
        self, values: dict[str, Any], factor: Any, alpha: np.ndarray, spread: np.ndarray
    ) -> dict[str, np.ndarray]:
        """The rows L^-1 dC alpha / sqrt 2, whose products are the average information, alpha' dC C^-1 dC alpha / 2.

        It is the mean of the observed information, minus the second derivatives, and of what is expected of it, where C
        is linear in the parameters; where it is not, as in kernels, what is left out is zero on average. The mean has
        no traces of products of matrices, which either has: it costs products with alpha.
        """
        noisy = spread[:, np.newaxis] * alpha
        clean = self.Y - noisy  # amplitude K alpha
        amplitude = values["amplitude"]
        inside = self.prior.changes(values, alpha, clean / amplitude)
        changes = {"amplitude": [clean], "noise": [noisy]}
        changes |= {name: [amplitude * change for change in each] for name, each in inside.items()}
        return {
            name: math.sqrt(0.5) * np.stack([factor.whiten(change).ravel() for change in each])
            for name, each in changes.items()
        }
