"""Novelty detection: where the data lie, and where they do not."""

import numpy as np

from mercer.gram import Gram
from mercer.problems.dual import DualProblem

__all__ = ["enclosing_ball", "one_class"]


def one_class(gram: Gram, nu: float, weight: np.ndarray, *, index: np.ndarray | None = None) -> DualProblem:
    """A hyperplane between the data and the origin of feature space. [CY §2.4; B §7.1.3]

    .. math::

        \\min_{w, \\rho, \\xi} \\tfrac12 \\|w\\|^2 - \\nu \\rho \\sum_i \\omega_i + \\sum_i \\omega_i \\xi_i
        \\quad\\text{s.t.}\\quad w \\cdot \\phi(x_i) \\ge \\rho - \\xi_i, \\; \\xi_i \\ge 0.
    """
    n = len(weight)
    return DualProblem(
        gram=gram,
        index=np.arange(n) if index is None else index,
        sign=np.ones(n),
        linear=np.zeros(n),
        upper=weight,
        ridge=np.zeros(n),
        total=nu * float(weight.sum()),
    )


def enclosing_ball(gram: Gram, nu: float, weight: np.ndarray, *, index: np.ndarray | None = None) -> DualProblem:
    """The smallest ball around most of the data. [CY eqs 2.12-2.16]

    .. math::

        \\min_{R, c, \\xi} R^2 + \\frac{1}{\\nu \\sum_i \\omega_i} \\sum_i \\omega_i \\xi_i \\quad\\text{s.t.}\\quad
        \\|\\phi(x_i) - c\\|^2 \\le R^2 + \\xi_i, \\; \\xi_i \\ge 0.

    The multipliers are those of the book times :math:`\\tau = \\nu \\sum_i \\omega_i` and the objective is
    multiplied by :math:`\\tau^2 / 2`, which makes bounds and total those of `one_class`: for a kernel with a
    constant diagonal the two are the same problem.
    """
    n = len(weight)
    index = np.arange(n) if index is None else index
    total = nu * float(weight.sum())
    return DualProblem(
        gram=gram,
        index=index,
        sign=np.ones(n),
        linear=-0.5 * total * gram.exact_diag()[index],
        upper=weight,
        ridge=np.zeros(n),
        total=total,
    )
