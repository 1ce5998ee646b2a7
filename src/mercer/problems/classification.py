"""Classification by a separating hyperplane: hard, soft and nu margins."""

import numpy as np

from mercer.errors import InfeasibleError
from mercer.gram import Gram
from mercer.problems.dual import DualProblem

__all__ = ["hull_distance", "nu_margin", "soft_margin"]


def soft_margin(
    gram: Gram,
    sign: np.ndarray,
    cost: np.ndarray,
    *,
    squared: bool = False,
    bias: bool = True,
    index: np.ndarray | None = None,
    target: np.ndarray | None = None,
) -> DualProblem:
    """Maximal margin with errors at a price, hard where the price is infinite. [CY eqs 1.12-1.31; B eq 7.32]

    .. math::

        \\min_{w, b, \\xi} \\tfrac12 \\|w\\|^2 + \\sum_i C_i \\xi_i^q \\quad
        \\text{s.t.}\\quad s_i (w \\cdot \\phi(x_i) + b) \\ge t_i - \\xi_i, \\; \\xi_i \\ge 0

    with q = 1, or q = 2 if `squared`. In the dual the price is the upper bound C_i of the multiplier, or a
    ridge 1 / (2 C_i). Different C_i make the margin asymmetric.

    Parameters
    ----------
    gram : Gram
    sign : array of shape (n,)
        The labels, +1 or -1.
    cost : array of shape (n,)
        C_i > 0; infinite (for all samples) for the hard margin.
    squared : bool, default=False
    bias : bool, default=True
        False leaves out b.
    index : int array of shape (n,), default=None
        The samples of the Gram matrix that take part; None: all of them.
    target : array of shape (n,), default=None
        t_i > 0, the wanted margins; None: 1 for all.

    Returns
    -------
    DualProblem
    """
    n = len(sign)
    index = np.arange(n) if index is None else index
    hard = bool(np.isinf(cost).any())
    free = hard or squared
    return DualProblem(
        gram=gram,
        index=index,
        sign=sign,
        linear=np.full(n, -1.0) if target is None else -target,
        upper=np.full(n, np.inf) if free else cost,
        ridge=1.0 / (2.0 * cost) if squared and not hard else np.zeros(n),
        total=0.0 if bias else None,
    )


def hull_distance(problem: DualProblem) -> DualProblem:
    """The nearest points of the convex hulls of the two classes of a hard margin problem. [B §7.1]

    The hard margin of the hulls is half their distance; this problem is bounded where that of the margin is
    not, and its value 0 says that the classes cannot be separated.
    """
    n = len(problem.index)
    return DualProblem(
        gram=problem.gram,
        index=problem.index,
        sign=problem.sign,
        linear=np.zeros(n),
        upper=np.ones(n),
        ridge=np.zeros(n),
        total=(1.0, 1.0),
    )


def nu_margin(
    gram: Gram, sign: np.ndarray, nu: float, weight: np.ndarray, *, index: np.ndarray | None = None
) -> DualProblem:
    """The nu-SVM: nu bounds the fraction of margin errors from above and that of support vectors from below.

    .. math::

        \\min_{w, b, \\rho, \\xi} \\tfrac12 \\|w\\|^2 - \\nu \\rho \\sum_i \\omega_i + \\sum_i \\omega_i \\xi_i
        \\quad\\text{s.t.}\\quad s_i (w \\cdot \\phi(x_i) + b) \\ge \\rho - \\xi_i, \\; \\xi_i, \\rho \\ge 0

    with sample weights :math:`\\omega`. This is [CY eqs 1.32-1.50] with the objective multiplied by m, which
    makes the bounds 1 instead of 1/m; the sums of both signs are equalities, as rho > 0 makes them.

    Raises
    ------
    InfeasibleError
        If nu is more than twice the share of the smaller class.
    """
    n = len(sign)
    half = 0.5 * nu * float(weight.sum())
    for side, name in ((sign > 0, "positive"), (sign < 0, "negative")):
        if half > weight[side].sum() * (1 + 1e-12):
            largest = 2 * min(weight[sign > 0].sum(), weight[sign < 0].sum()) / weight.sum()
            raise InfeasibleError(
                f"specified nu is infeasible: nu must be at most {largest:.6g} (twice the share of the smaller "
                f"class, here the {name} one), got {nu}."
            )
    return DualProblem(
        gram=gram,
        index=np.arange(n) if index is None else index,
        sign=sign,
        linear=np.zeros(n),
        upper=weight,
        ridge=np.zeros(n),
        total=(half, half),
        scaled=True,
    )
