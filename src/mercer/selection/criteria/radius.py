"""Bounds by the radius of the data and the margin."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from mercer.parameters import Number
from mercer.problems import enclosing_ball
from mercer.selection.criteria.base import Criterion, Derivative, SmoothCriterion, Trained
from mercer.solvers import SolverResult, warn_unless_solved
from mercer.sums import inner

__all__ = ["AlphaSum", "RadiusMargin"]


class AlphaSum(Criterion):
    r"""The sum of the multipliers: the radius-margin bound with the ball about the origin of feature space.

    .. math:: \frac{B^2}{m} \sum_i \alpha_i, \qquad B^2 = \max_i K(x_i, x_i)

    For the Gaussian kernel and a hard margin this is :math:`\sum_i \alpha_i / m` [1]_, since :math:`\sum_i \alpha_i =
    1 / \gamma^2` with the margin :math:`\gamma`. It costs nothing: no second problem is solved. For the squared hinge K
    is K + I / (2 C), here as everywhere.

    Without an offset it bounds the share of leave-one-out errors; with one, twice of it does where no kernel value is
    negative [2]_.

    See Also
    --------
    RadiusMargin : With the smallest ball, never larger.

    Notes
    -----
    Time O(n) kernel values.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, eq. 3.19.
    .. [2] T. Joachims, Estimating the generalization performance of an SVM efficiently, ICML 2000.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.kernels import RBF
    >>> from mercer.selection import AlphaSum
    >>> X, y = [[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1]
    >>> machine = SVC(kernel=RBF(gamma=0.1), C=float("inf")).fit(X, y)
    >>> round(AlphaSum().bound(machine, X, y), 3)
    0.843
    """

    losses: ClassVar = ("hard margin", "squared_hinge")

    def _bound(self, trained):
        return trained.diagonal.max() * inner(trained.weight, trained.alpha) / trained.size


class RadiusMargin(SmoothCriterion):
    r"""The radius-margin bound: how wide the margin is beside the smallest ball around the data.

    .. math:: \frac{R^2}{m \gamma^2}

    with the margin :math:`\gamma`, :math:`1 / \gamma^2 = \sum_i \alpha_i`, and the radius of the ball from a second
    problem,

    .. math::

        \max_\lambda \sum_i \lambda_i K(x_i, x_i) - \sum_{ij} \lambda_i \lambda_j K(x_i, x_j), \qquad
        \sum_i \lambda_i = 1, \; \lambda_i \ge 0, \\
        R^2 = \max_i \Bigl\{\sum_{jk} \lambda_j \lambda_k K(x_j, x_k) - 2 \sum_j \lambda_j K(x_i, x_j) + K(x_i,
        x_i)\Bigr\}.

    For the squared hinge, a hard margin in a larger space, K is K + I / (2 C) in both problems. Without an offset the
    ball is the one about the origin.

    Parameters
    ----------
    delta : float > 0 or None, default=None
        None refuses the hinge loss with a finite C, for which the bound does not hold. A number, 1 in [4]_, takes the
        modified bound for it, :math:`(R^2 + \delta / C) (\|w\|^2 + 2 C \sum_i \xi_i) / m`, which is no bound but has
        its minimum where there are few errors.

    See Also
    --------
    AlphaSum : With the ball about the origin; no second problem.
    GradientTuned : Minimises it over many parameters.

    Notes
    -----
    Both factors are those that the certificates of the two solutions prove, so that the number is never too small
    however inexact the solutions are. Without an offset it bounds the share of leave-one-out errors; with one, four
    times of it does: the proof has the diameter in place of the radius [2]_. The factor does not move the minimum.

    Time is that of another fit.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, eqs. 3.19-3.21.
    .. [2] V. Vapnik, O. Chapelle, Bounds on error expectation for support vector machines, Neural Computation 12, 2000.
    .. [3] O. Chapelle, V. Vapnik, O. Bousquet, S. Mukherjee, Choosing multiple parameters for support vector machines,
       Machine Learning 46, 2002.
    .. [4] K.-M. Chung, W.-C. Kao, C.-L. Sun, L.-L. Wang, C.-J. Lin, Radius margin bounds for support vector machines
       with the RBF kernel, Neural Computation 15, 2003.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.selection import RadiusMargin
    >>> X, y = [[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1]
    >>> machine = SVC(kernel="linear", C=float("inf")).fit(X, y)
    >>> round(RadiusMargin().bound(machine, X, y), 3)  # R = 2.5, gamma = 1.5
    0.694
    """

    losses: ClassVar = ("hard margin", "squared_hinge")
    _parameters: ClassVar[dict[str, Any]] = {"delta": Number(0, above=True, none=True)}

    def __init__(self, delta=None):
        self.delta = delta

    def check(self, loss):
        if loss != "hinge" or self.delta is None:
            super().check(loss)

    def _bound(self, trained):
        ball = Ball.around(trained)
        if ball.result is not None:
            warn_unless_solved(ball.result, "The smallest ball of RadiusMargin")
        # 1 / gamma^2 = |w|^2 is twice the value of the primal problem, which is proved.
        return (ball.squared_radius + self._extra(trained)) * 2.0 * trained.result.primal_objective / trained.size

    def derivative(self, trained, start=None):
        ball = Ball.around(trained, start)
        inverse_margin = 2.0 * trained.result.dual_objective  # 1 / gamma^2
        a, centre = trained.problem.sign * trained.result.a, ball.centre
        moving = centre if ball.free else np.zeros(len(centre))
        used = np.flatnonzero((a != 0) | (centre != 0))
        # By the entries of K and by those of the ridge, which the diagonal of the ball has once for every copy.
        by_kernel = -inverse_margin * np.outer(moving[used], moving[used]) - ball.least * np.outer(a[used], a[used])
        by_kernel[np.diag_indices(len(used))] += inverse_margin * centre[used]
        by_ridge = inverse_margin * (centre * trained.copies - moving**2) - ball.least * a**2
        m = trained.size
        return Derivative(
            value=ball.least * inverse_margin / m,
            used=used,
            by_kernel=by_kernel / m,
            by_ridge=by_ridge / m,
            start=ball.centre if ball.free else None,
        )

    def _extra(self, trained: Trained) -> float:
        if trained.loss != "hinge":
            return 0.0
        cost = trained.problem.upper / trained.weight
        if np.ptp(cost) > 1e-9 * cost[0]:
            raise ValueError("delta must be None where classes have weights, which leave no single C.")
        return self.delta / float(cost[0])


@dataclass(frozen=True, eq=False)
class Ball:
    """The smallest ball around the samples in feature space, or around the origin where there is no offset."""

    squared_radius: float
    """What is proved: no sample is farther from the centre."""
    least: float
    """The value of the maximisation problem, never more than the squared radius of the smallest ball."""
    centre: np.ndarray
    """lambda, the weights of the samples in the centre; for a ball about the origin of those that touch it."""
    free: bool
    """Whether the centre was free to move."""
    result: SolverResult | None = None
    """The certificate of the problem, where one was solved."""

    @classmethod
    def around(cls, trained: Trained, start: np.ndarray | None = None) -> "Ball":
        """The ball of the samples of a machine. [CY eqs 3.20-3.21]"""
        problem, n = trained.problem, len(trained.weight)
        if not trained.offset:
            farthest = int(np.argmax(trained.diagonal))
            square = float(trained.diagonal[farthest])
            return cls(square, square, np.eye(1, n, farthest)[0], False)
        plain = enclosing_ball(problem.gram, 1.0 / n, np.ones(n), index=problem.index)
        ball = replace(plain, ridge=problem.ridge, linear=-0.5 * trained.diagonal)
        result = trained.solver.solve(ball, start)
        # Q lambda = gradient + diagonal / 2, and a squared distance is lambda'Q lambda - 2 (Q lambda)_i + K_ii.
        squared_centre = inner(result.a, result.gradient - ball.linear)
        squared_radius = squared_centre - 2.0 * float(result.gradient.min())
        return cls(squared_radius, -2.0 * result.objective, result.a, True, result)
