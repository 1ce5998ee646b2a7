"""The problem behind the representer theorem, and what proves its optimum."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mercer.problems.losses import Loss
from mercer.problems.penalties import Penalty
from mercer.sums import inner

__all__ = ["Bounds", "RegularizedProblem", "Tangents"]

# A tangent that is above the function by more than this part of the numbers at hand is no tangent of a convex one.
CONVEX, ROUNDING = 1e-6, 1e-12
# Slopes add up to zero if their sum is at most this part of the sum of their sizes.
BALANCED = 1e-12
# A penalty is nowhere steeper than at a norm of this size.
FAR = 1e100


class Tangents(NamedTuple):
    """A tangent of the loss of every sample: where it touches, and its slope."""

    at: np.ndarray
    slope: np.ndarray


class Bounds(NamedTuple):
    """What a model costs, and what every model costs at least."""

    primal: float
    dual: float
    gap: float


@dataclass(frozen=True, eq=False)
class RegularizedProblem:
    """A sum of losses and a penalty on the norm. [P eqs 1.13, 1.19]

    .. math::

        \\min_{w, b} \\sum_i c_i L(f_i, y_i) + \\Omega(\\|w\\|), \\quad f_i = w \\cdot \\phi(x_i) + b

    Parameters
    ----------
    K : array of shape (n, n)
        The kernel matrix, positive semi-definite, in float64.
    y : array of shape (n,)
        What is wanted.
    cost : array of shape (n,)
        c > 0.
    loss : Loss
        L, convex in f.
    penalty : Penalty
        Omega, convex.
    bias : bool
        Whether there is an offset; else b = 0.

    Notes
    -----
    By the representer theorem :math:`w = \\sum_i a_i \\phi(x_i)` [P eq 1.20]. Convex functions are above their
    tangents: with those of the losses at points g, of slopes s with :math:`\\sum_i c_i s_i = 0`, no sum of losses is
    below

    .. math:: T + w \\cdot v, \\quad T = \\sum_i c_i (L(g_i, y_i) - s_i g_i), \\quad v = \\sum_i c_i s_i \\phi(x_i),

    and, with the conjugate of the penalty, no objective is below :math:`T - \\Omega^*(\\|v\\|)`: Fenchel's dual. As
    losses are never negative, neither is an objective below :math:`\\theta T - \\Omega^*(\\theta \\|v\\|)` for
    any theta from 0 to 1, which helps where the penalty is nowhere as steep as v is long. What the objective of a model
    is above this bound is a sum of terms that are never negative, and zero at the optimum.
    """

    K: np.ndarray
    y: np.ndarray
    cost: np.ndarray
    loss: Loss
    penalty: Penalty
    bias: bool

    def above(self, f: np.ndarray, tangents: Tangents) -> np.ndarray:
        """By how much the loss of each value is above its tangent."""
        at, slope = tangents
        there, here = self.loss.value(f, self.y), self.loss.value(at, self.y)
        rise = slope * (f - at)
        over = there - here - rise
        size = CONVEX * (np.abs(there) + np.abs(here) + np.abs(rise)) + ROUNDING * np.abs(slope).max() * np.abs(f).max()
        least = -float(size.max())
        if not (over >= least).all():
            raise ValueError(f"loss must be convex, and its derivative that of its value, got {self.loss!r}.")
        if (there < least).any() or (here < least).any():
            raise ValueError(f"loss must never be negative, got {self.loss!r}.")
        return np.maximum(over, 0.0)

    def bounds(self, shrinkage: float, Kv: np.ndarray, b: float, tangents: Tangents) -> Bounds:
        """The certificate of the model w = -shrinkage v; Kv are the products of v with the samples."""
        pull = self.cost * tangents.slope
        if self.bias and abs(pull.sum()) > BALANCED * np.abs(pull).sum():
            return Bounds(np.inf, -np.inf, np.inf)
        size, f = math.sqrt(max(0.0, inner(pull, Kv))), b - shrinkage * Kv
        norm, steepest = shrinkage * size, self.penalty.derivative(FAR)
        share = min(1.0, steepest / size) if size else 1.0
        penalty = self.penalty.value(norm)
        left = penalty + self.penalty.conjugate(share * size) - share * norm * size
        losses, over = self.loss.value(f, self.y), self.above(f, tangents)
        gap = max(0.0, left) + max(0.0, inner(self.cost, over + (1.0 - share) * (losses - over)))
        primal = penalty + inner(self.cost, losses)
        return Bounds(primal, primal - gap, gap)
