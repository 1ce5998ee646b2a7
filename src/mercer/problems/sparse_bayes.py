"""Sparse Bayesian learning, as data."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logsumexp, softmax

from mercer.gram.designs import Design

__all__ = ["Gamma", "SparseBayesProblem"]


@dataclass(frozen=True)
class Gamma:
    """A gamma prior of a precision, up to a constant: the density of its logarithm is exp(shape log p - rate p).

    The constant makes the largest value one, so that what a precision pays is never negative. (0, 0) is no prior.
    """

    shape: float = 0.0
    rate: float = 0.0

    def log_density(self, p: np.ndarray) -> np.ndarray:
        """At precisions p, at most zero; zero, too, for an infinite one, whose basis function is out of the model."""
        p = np.asarray(p, dtype=np.float64)
        if not self:
            return np.zeros_like(p)
        x = np.where(np.isinf(p), self.shape, self.rate * p)  # the mode is at x = shape
        if not self.shape:
            return -x
        return self.shape * (np.log(x / self.shape) - (x / self.shape - 1))

    def __bool__(self) -> bool:
        return bool(self.shape > 0 or self.rate > 0)


@dataclass(frozen=True, eq=False)
class SparseBayesProblem:
    r"""A linear model of many basis functions whose weights have a Gaussian prior of precision alpha each.

    .. math::

        \max_{\alpha, \beta} \log p(t \mid \alpha, \beta) = \log \int p(t \mid F, \beta) \prod_i
        N(w_i \mid 0, \alpha_i^{-1}) \, dw, \qquad F = \Phi w,

    with Gaussian noise of precision beta about the values, or with classes of probability sigmoid(F) or softmax(F),
    for which the integral is Laplace's approximation. Most of the alpha are infinite where the evidence is largest:
    those basis functions are out of the model [B §7.2].

    With K > 1 functions (softmax) every one has weights of its own: weight i of function k is number k m + i.

    See Also
    --------
    mercer.solvers.SparseBayes : Solves it.
    """

    design: Design
    targets: np.ndarray
    """t, shape (n, 1): values, or 1 for the second class; shape (n, n_classes) with 1 for the class of each sample."""
    weight: np.ndarray
    """How often each sample counts, shape (n,), positive."""
    likelihood: str = "gaussian"
    """"gaussian", "logistic" or "softmax"."""
    noise: float | None = None
    """The variance of the noise if it is given; None: learnt."""
    precision_prior: Gamma = Gamma()
    """Of every alpha."""
    noise_prior: Gamma = Gamma()
    """Of beta."""

    @property
    def n_functions(self) -> int:
        """How many functions are learnt."""
        return self.targets.shape[1]

    @property
    def n_weights(self) -> int:
        """How many weights the model could have."""
        return self.n_functions * self.design.m

    # --- classes ------------------------------------------------------------------------------------------

    def log_likelihood(self, F: np.ndarray) -> float:
        """log p(t | F) of classes, F of shape (n_functions, n)."""
        if self.n_functions == 1:
            losses = np.logaddexp(0.0, np.where(self.targets[:, 0] == 1, -F[0], F[0]))
        else:
            losses = logsumexp(F, axis=0) - F.T[self.targets == 1]
        return -float(self.weight @ losses)

    def probabilities(self, F: np.ndarray) -> np.ndarray:
        """Of the second class, or of every class, shape (n_functions, n)."""
        return expit(F) if self.n_functions == 1 else softmax(F, axis=0)

    def residuals(self, P: np.ndarray) -> np.ndarray:
        """The derivative of the log likelihood by F [B eq 7.110], shape (n_functions, n)."""
        return self.weight * (self.targets.T - P)

    def curvature(self, P: np.ndarray, k: int, l: int) -> np.ndarray:  # noqa: E741
        """Minus its second derivative by the functions k and l [B eq 7.111], shape (n,)."""
        if k != l:
            return -self.weight * P[k] * P[l]
        # The others, not one less this: so it is positive where this is one to rounding.
        others = 1.0 - P[k] if len(P) == 1 else np.delete(P, k, axis=0).sum(axis=0)
        return self.weight * P[k] * others
