"""Regression: tubes and quantiles."""

import numpy as np

from mercer.gram import Gram
from mercer.problems.dual import DualProblem

__all__ = ["epsilon_tube", "nu_tube", "pinball"]


def epsilon_tube(
    gram: Gram,
    y: np.ndarray,
    cost: np.ndarray,
    epsilon: float,
    *,
    squared: bool = False,
    bias: bool = True,
    index: np.ndarray | None = None,
) -> DualProblem:
    """Errors up to epsilon are free. [CY eqs 2.41-2.49; B eqs 7.55-7.61]

    .. math::

        \\min_{w, b} \\tfrac12 \\|w\\|^2 + \\sum_i C_i \\, \\max(0, |y_i - w \\cdot \\phi(x_i) - b| - \\epsilon)^q

    with q = 1, or q = 2 if `squared`, and b = 0 unless `bias`. Each sample has two variables: the first n push the
    function up to y - epsilon, the last n down to y + epsilon.
    """
    n = len(y)
    index = np.arange(n) if index is None else index
    ridge = 1.0 / (2.0 * cost) if squared else np.zeros(n)
    return DualProblem(
        gram=gram,
        index=np.tile(index, 2),
        sign=np.repeat([1.0, -1.0], n),
        linear=np.concatenate([epsilon - y, epsilon + y]),
        upper=np.full(2 * n, np.inf) if squared else np.tile(cost, 2),
        ridge=np.tile(ridge, 2),
        total=0.0 if bias else None,
    )


def nu_tube(gram: Gram, y: np.ndarray, cost: np.ndarray, nu: float, *, index: np.ndarray | None = None) -> DualProblem:
    """The tube finds its own width: nu bounds the fraction of samples outside it. [CY eqs 2.50-2.53]

    .. math::

        \\min_{w, b, \\epsilon} \\tfrac12 \\|w\\|^2 + \\sum_i C_i \\left(\\nu \\epsilon
        + \\max(0, |y_i - w \\cdot \\phi(x_i) - b| - \\epsilon)\\right)

    which is the form of the book with its C multiplied by m; the sum over both signs is an equality.
    """
    n = len(y)
    index = np.arange(n) if index is None else index
    half = 0.5 * nu * float(cost.sum())
    return DualProblem(
        gram=gram,
        index=np.tile(index, 2),
        sign=np.repeat([1.0, -1.0], n),
        linear=np.concatenate([-y, y]),
        upper=np.tile(cost, 2),
        ridge=np.zeros(2 * n),
        total=(half, half),
    )


def pinball(
    gram: Gram,
    y: np.ndarray,
    cost: np.ndarray,
    quantile: float,
    *,
    bias: bool = True,
    index: np.ndarray | None = None,
) -> DualProblem:
    """A quantile of the values: what lies above the function costs tau, what lies below 1 - tau. [1]_

    .. math::

        \\min_{w, b} \\tfrac12 \\|w\\|^2 + \\sum_i C_i \\left(\\tau \\max(0, r_i) + (1 - \\tau) \\max(0, -r_i)\\right),
        \\quad r_i = y_i - w \\cdot \\phi(x_i) - b

    with tau the `quantile`, and b = 0 unless `bias`. Each sample has two variables, as in a tube of no width: the first
    n push the function up, by tau C at most, the last n down, by (1 - tau) C at most.

    References
    ----------
    .. [1] I. Takeuchi, Q. V. Le, T. D. Sears, A. J. Smola, Nonparametric quantile estimation, 2006, eqs. 7-9.
    """
    n = len(y)
    index = np.arange(n) if index is None else index
    return DualProblem(
        gram=gram,
        index=np.tile(index, 2),
        sign=np.repeat([1.0, -1.0], n),
        linear=np.concatenate([-y, y]),
        upper=np.concatenate([quantile * cost, (1.0 - quantile) * cost]),
        ridge=np.zeros(2 * n),
        total=0.0 if bias else None,
    )
