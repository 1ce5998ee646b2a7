"""Laplace's approximation of a Gaussian process for two classes.

The posterior of the function, prior times logistic likelihood, is replaced by the Gaussian about its mode.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import blas
from scipy.special import expit, log_expit, ndtr

from mercer.gp.base import Assessed, Prior
from mercer.gp.factors import Factor
from mercer.kernels.samples import row_blocks

__all__ = ["LaplaceEvidence", "Mode", "averaged_sigmoid", "find_mode"]

STEPS, HALVINGS = 100, 30
# Newton's method squares its error: after a step that gains so small a part of the objective, it is rounding.
LAST_GAIN = 1e-14
# A loss of so small a part is rounding: close to the mode, whole steps are right whatever the objective seems to say.
ROUNDING = 1e-12
# Up to this spread the sigmoid is summed over Gaussian points, above it the Gaussian over logistic points.
NARROW = 0.5
GAUSSIAN_POINTS = np.arange(-9.0, 9.01, 0.25)
LOGISTIC_POINTS = np.arange(-40.0, 40.01, 0.25)


class Mode(NamedTuple):
    """The most likely function at the training samples, and the Gaussian about it."""

    a: np.ndarray
    """K^-1 f, which is the gradient of the log likelihood there."""
    f: np.ndarray
    root: np.ndarray
    """The root of W, minus the second derivatives of the log likelihood."""
    factor: Factor
    """Of B = 1 + W^1/2 K W^1/2."""
    log_evidence: float


def find_mode(K: np.ndarray, signs: np.ndarray, weight: np.ndarray, start: np.ndarray | None = None) -> Mode:
    """Newton's method on the posterior, algorithm 3.1 of Rasmussen and Williams, with shorter steps where needed.

    It maximises -a' K a / 2 + sum_i w_i log sigmoid(y_i f_i) over f = K a, which is concave.
    """
    n = len(signs)
    a = np.zeros(n) if start is None else start
    f = K @ a
    value = _log_posterior(a, f, signs, weight)
    if start is not None and value < _log_posterior(np.zeros(n), np.zeros(n), signs, weight):
        return find_mode(K, signs, weight)
    B = np.empty((n, n))
    for _ in range(STEPS):
        gradient, root = _slopes(f, signs, weight)
        factor = _factor(K, root, B)
        b = root**2 * f + gradient
        step = b - root * factor.solve(root * (K @ b)) - a
        along = K @ step
        length, before = 1.0, value
        for _ in range(HALVINGS):
            value = _log_posterior(a + length * step, f + length * along, signs, weight)
            if value >= before - ROUNDING * (1 + abs(before)):
                break
            length /= 2
        else:
            value = before  # nothing but rounding is left
            break
        a, f = a + length * step, f + length * along
        if value - before <= LAST_GAIN * (1 + abs(value)):
            break
    _, root = _slopes(f, signs, weight)
    factor = _factor(K, root, B)
    return Mode(a, f, root, factor, value - factor.half_log_determinant)


def _log_posterior(a: np.ndarray, f: np.ndarray, signs: np.ndarray, weight: np.ndarray) -> float:
    return float(weight @ log_expit(signs * f) - 0.5 * (a @ f))


def _slopes(f: np.ndarray, signs: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The gradient of the log likelihood, and the root of minus its second derivatives."""
    return weight * signs * expit(-signs * f), np.sqrt(weight * expit(f) * expit(-f))


def _factor(K: np.ndarray, root: np.ndarray, B: np.ndarray) -> Factor:
    np.multiply(K, root, out=B)
    B *= root[:, np.newaxis]
    B.flat[:: len(B) + 1] += 1.0
    return Factor(B, "1 + W^1/2 K W^1/2")


class LaplaceEvidence:
    r"""The log evidence of classes under Laplace's approximation, and its slopes.

    .. math::

        \log Z = -\tfrac12 f^T K^{-1} f + \sum_i \omega_i \log \sigma(y_i f_i) - \tfrac12 \log |1 + W^{1/2} K W^{1/2}|

    at the mode f, summed over one or several functions with one prior.

    Parameters
    ----------
    prior : Prior
    signs : ndarray of shape (n, n_functions)
        What each function is to tell apart, +1 and -1.
    weight : ndarray of shape (n,)
    """

    def __init__(self, prior: Prior, signs: np.ndarray, weight: np.ndarray):
        self.prior, self.signs, self.weight = prior, signs, weight
        self._starts: list[np.ndarray | None] = [None] * signs.shape[1]  # the last modes are close to the next

    def modes(self, values: dict[str, Any]) -> list[Mode]:
        """The modes of all functions at some parameters."""
        K = self.prior.matrix(values)
        K *= values["amplitude"]
        return [find_mode(K, signs, self.weight) for signs in self.signs.T]

    def __call__(self, values: dict[str, Any]) -> Assessed:
        """The log evidence, and its slopes in the logarithms of the parameters.

        They are sum_ij G_ij dK_ij with G = (a a' - R) / 2 + u a', where R = W^1/2 B^-1 W^1/2 is the inverse of
        K + W^-1, and u = (1 - R K) s tells how the mode moves: s_i is the slope of the evidence in f_i. This is
        algorithm 5.1 of Rasmussen and Williams for all parameters at once. One inverse for each function, whose lower
        triangle is enough, and one pass of the kernel for all.
        """
        K = self.prior.matrix(values)
        K *= values["amplitude"]
        n, total, by_amplitude = len(K), 0.0, 0.0
        M: np.ndarray | None = None
        for k, signs in enumerate(self.signs.T):
            a, f, root, factor, log_evidence = find_mode(K, signs, self.weight, self._starts[k])
            self._starts[k], total = a, total + log_evidence
            inverse = factor.inverse()
            b = np.diagonal(inverse)
            # The posterior variances (W - R) / W^2, and ds = -1/2 Var dW/df; where W vanishes, so does their product.
            curvature = root**2
            variance = np.divide(1 - b, curvature, out=np.zeros(n), where=curvature > 0)
            s = -0.5 * variance * curvature * (expit(-f) - expit(f))
            u = s - root * blas.dsymv(1.0, inverse, root * (K @ s), lower=1)
            # sum_ij G_ij K_ij, with tr(R K) = n - tr(B^-1).
            by_amplitude += 0.5 * (float(a @ f) - n + float(b.sum())) + float(u @ f)
            # a a' + u a' + a u' = (a + u) (a + u)' - u u'
            inverse *= -root
            inverse *= root[:, np.newaxis]
            twice = blas.dsyr(1.0, a + u, lower=1, a=inverse, overwrite_a=1)
            twice = blas.dsyr(-1.0, u, lower=1, a=twice, overwrite_a=1)
            twice[np.diag_indices(n)] *= 0.5
            M = twice if M is None else np.add(M, twice, out=M)
        assert M is not None
        del K
        found = self.prior.slopes(values, M.T)
        slopes: dict[str, Any] = {"amplitude": by_amplitude}
        return Assessed(total, slopes | {name: values["amplitude"] * slope for name, slope in found.items()})


def averaged_sigmoid(mean: np.ndarray, std: np.ndarray) -> np.ndarray:
    """The mean of sigmoid(f) for Gaussian f, by the trapezoidal rule.

    The integral is that of a sigmoid over a Gaussian or, as both are distribution functions of symmetric variables, of
    a normal distribution function over a logistic density. For smooth functions the rule converges exponentially with
    the number of points: where it is used, each of the two sums is exact to rounding.
    """
    found = np.empty(len(mean))
    z, t = GAUSSIAN_POINTS, LOGISTIC_POINTS
    gaussian, logistic = np.exp(-0.5 * z**2), expit(t) * expit(-t)
    for rows in row_blocks(len(mean), len(t)):
        m, s = mean[rows, np.newaxis], std[rows, np.newaxis]
        narrow = s[:, 0] < NARROW
        part = found[rows]
        part[narrow] = expit(m[narrow] + s[narrow] * z) @ (gaussian / gaussian.sum())
        part[~narrow] = ndtr((m[~narrow] - t) / s[~narrow]) @ (logistic / logistic.sum())
    return found
