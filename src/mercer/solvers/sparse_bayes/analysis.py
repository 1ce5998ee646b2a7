"""Why sparsity arises: the evidence as a function of one precision [B eqs 7.96-7.101]."""

import numpy as np

from mercer.problems.sparse_bayes import Gamma

__all__ = ["best_precision", "gain_at"]


def gain_at(alpha: np.ndarray, s: np.ndarray, q: np.ndarray, prior: Gamma = Gamma()) -> np.ndarray:  # noqa: B008
    """How much larger the log evidence is with precision alpha than without the basis function [B eq 7.97].

    Parameters
    ----------
    alpha : ndarray
        The precision; infinite: without it.
    s, q : ndarray
        Sparsity and quality of the basis function [B eqs 7.98-7.99].
    prior : Gamma, default=Gamma()
        The prior of the precision, counted with the evidence.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> from mercer.solvers.sparse_bayes import gain_at
    >>> gain_at(1 / 3, 1.0, 2.0).round(3), gain_at(float("inf"), 1.0, 2.0)
    (np.float64(0.807), np.float64(0.0))
    """
    alpha, s = np.asarray(alpha, dtype=np.float64), np.asarray(s, dtype=np.float64)
    return 0.5 * (q * q / (alpha + s) - np.log1p(s / alpha)) + prior.log_density(alpha)


def best_precision(s: np.ndarray, q: np.ndarray, prior: Gamma = Gamma()) -> tuple[np.ndarray, np.ndarray]:  # noqa: B008
    """The precision that makes the evidence largest, and how much larger it is than without the basis function.

    Without a prior it is s^2 / (q^2 - s) where q^2 > s, and infinite where not [B eq 7.101].

    Parameters
    ----------
    s, q : ndarray
        Sparsity (positive) and quality of the basis functions.
    prior : Gamma, default=Gamma()
        The prior of the precisions.

    Returns
    -------
    alpha, gain : ndarray
        The gain is not negative; where it is zero, alpha is infinite.

    Examples
    --------
    The two cases of [B fig 7.11]:

    >>> import numpy as np
    >>> from mercer.solvers.sparse_bayes import best_precision
    >>> alpha, gain = best_precision(np.array([1.0, 2.0]), np.array([2.0, 1.0]))
    >>> alpha.round(4), gain.round(4)
    (array([0.3333,    inf]), array([0.8069, 0.    ]))
    """
    s, q = np.asarray(s, dtype=np.float64), np.asarray(q, dtype=np.float64)
    if prior:
        return _best_with_prior(s, q, prior)
    x = np.maximum(q * q / s, 1.0)
    with np.errstate(divide="ignore"):
        alpha = s / (x - 1.0)
    return alpha, 0.5 * (x - 1.0 - np.log(x))


def _best_with_prior(s: np.ndarray, q: np.ndarray, prior: Gamma) -> tuple[np.ndarray, np.ndarray]:
    """The largest of the stationary points, the inverse roots of a cubic in s / alpha."""
    a, u, x = prior.shape, prior.rate * s, (q / s) * q
    # With alpha = s / w, w / s times the derivative of the gain is
    # (a + 1/2) w^3 + ((1 - x) / 2 + 2 a - u) w^2 + (a - 2 u) w - u, over (1 + w)^2.
    companion = np.zeros((*s.shape, 3, 3))
    companion[..., 0, 0] = -(0.5 * (1.0 - x) + 2 * a - u) / (a + 0.5)
    companion[..., 0, 1] = -(a - 2 * u) / (a + 0.5)
    companion[..., 0, 2] = u / (a + 0.5)
    companion[..., 1, 0] = companion[..., 2, 1] = 1.0
    w = np.linalg.eigvals(companion)
    real = (np.abs(w.imag) <= 1e-8 * np.abs(w)) & (w.real > 0)
    found = np.where(real, s[..., np.newaxis] / np.where(real, w.real, 1.0), np.inf)
    gains = gain_at(found, s[..., np.newaxis], q[..., np.newaxis], prior)
    best = np.expand_dims(gains.argmax(axis=-1), -1)
    alpha, gain = np.take_along_axis(found, best, -1)[..., 0], np.take_along_axis(gains, best, -1)[..., 0]
    return np.where(gain > 0, alpha, np.inf), np.maximum(gain, 0.0)
