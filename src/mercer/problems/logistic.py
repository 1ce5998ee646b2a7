"""Logistic regression, as data."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logsumexp, softmax

from mercer.gram import Gram

__all__ = ["LogisticProblem", "logistic"]


@dataclass(frozen=True, eq=False)
class LogisticProblem:
    r"""Logistic regression with a kernel: one function for two classes, one for each class for more.

    .. math::

        \min_{A, b} \tfrac12 \mathrm{tr}(A^T K A) + \sum_i c_i \left(\log \sum_k e^{f_{ik}} - t_i \cdot f_i\right),
        \qquad F = K A + 1 b^T,

    with :math:`\log(1 + e^{f_i})` in place of the logarithm of the sum for two classes. The conjugate of that is minus
    the entropy H, and the dual is over probabilities P,

    .. math::

        \max_P -\tfrac12 \mathrm{tr}(R^T K R) + \sum_i c_i H(p_i), \qquad R = \mathrm{diag}(c) (T - P),
        \qquad 1^T R = 0,

    where the equality comes from the intercepts. At the optimum A = R [B eqs 7.47-7.48]. The probabilities of any F
    that has the best intercepts are feasible, and the gap between the two values is half the squared norm of A - R.

    See Also
    --------
    logistic : Makes it.
    mercer.solvers.LogisticNewton : Solves it.
    """

    gram: Gram
    targets: np.ndarray
    """T, shape (n, 1) with 1 for the second class, or (n, n_classes) with 1 for the class of each sample."""
    prices: np.ndarray
    """c, shape (n,), not negative."""
    intercept: bool
    """Whether there are intercepts b; else they are zero."""

    @property
    def n_functions(self) -> int:
        """How many functions are learnt."""
        return self.targets.shape[1]

    def centred(self, V: np.ndarray) -> np.ndarray:
        """Without the means of the columns, which intercepts make up for; they may be much larger than the rest."""
        return V - V.mean(axis=0) if self.intercept else V

    def product(self, V: np.ndarray) -> np.ndarray:
        """K V, centred."""
        return self.centred(self.gram.dot(V))

    def probabilities(self, F: np.ndarray) -> np.ndarray:
        """P: of the second class, or of every class."""
        return expit(F) if self.n_functions == 1 else softmax(F, axis=1)

    def residuals(self, F: np.ndarray) -> np.ndarray:
        """R, minus the derivative of the losses."""
        return self.prices[:, np.newaxis] * (self.targets - self.probabilities(F))

    def loss(self, F: np.ndarray) -> float:
        """The sum over the samples."""
        if self.n_functions == 1:
            losses = np.logaddexp(0.0, np.where(self.targets == 1, -F, F))[:, 0]
        else:
            losses = logsumexp(F, axis=1) - F[self.targets == 1]
        return float(self.prices @ losses)

    def objective(self, A: np.ndarray, KA: np.ndarray, b: np.ndarray) -> float:
        """What is minimised."""
        return 0.5 * float(np.vdot(A, KA)) + self.loss(KA + b)

    def gap(self, D: np.ndarray, KD: np.ndarray, R: np.ndarray, b: np.ndarray) -> float:
        """Objective minus dual objective at the residuals R, for D = A - R."""
        return float(np.maximum(0.0, 0.5 * np.vdot(D, KD) - R.sum(axis=0) @ b))  # not a number stays none

    def violation(self, D: np.ndarray) -> float:
        """The largest difference of a coefficient from its residual, in units of probability, for D = A - R."""
        used = self.prices > 0
        return float((np.abs(D[used]).max(axis=1) / self.prices[used]).max())


def logistic(gram: Gram, codes: np.ndarray, prices: np.ndarray, *, intercept: bool = True) -> LogisticProblem:
    """Logistic regression on classes.

    Parameters
    ----------
    gram : Gram
        The kernel matrix of the samples, positive semi-definite.
    codes : ndarray of shape (n,)
        Numbers of the classes, from 0 on; any number where the price is zero.
    prices : ndarray of shape (n,)
        C times the weight of each sample.
    intercept : bool, default=True
        Whether there are intercepts, which nothing penalises.

    Returns
    -------
    LogisticProblem

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import MatrixGram
    >>> from mercer.problems import logistic
    >>> problem = logistic(MatrixGram(np.eye(3)), np.array([0, 1, 2]), np.ones(3))
    >>> problem.n_functions, round(problem.loss(np.zeros((3, 3))), 4)
    (3, 3.2958)
    """
    n_classes = int(codes.max()) + 1
    targets = (codes == 1).astype(np.float64)[:, np.newaxis] if n_classes == 2 else np.eye(n_classes)[codes]
    return LogisticProblem(gram, targets, np.asarray(prices, dtype=np.float64), intercept)
