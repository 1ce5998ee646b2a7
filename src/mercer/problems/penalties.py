"""Penalties: convex functions of the norm of the weight vector that rise."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from mercer.parameters import Number, check_parameters

__all__ = ["NormPower", "Penalty", "as_penalty"]

# How often an interval is doubled until it holds a slope, and then halved until only rounding is left of it.
DOUBLINGS, HALVINGS = 200, 200
# The step of a difference, as a share of the norm.
DIFFERENCE = 1e-6


class Penalty(BaseEstimator, ABC):
    """A convex function of the norm of the weight vector that rises.

    One of your own has `value` and `derivative`. The representer theorem holds for every function that rises [1]_;
    convexity makes the optimum provable.

    See Also
    --------
    NormPower : A power of the norm.

    References
    ----------
    .. [1] J.-P. Vert, K. Tsuda, B. Schölkopf, A primer on kernel methods, 2004, eqs. 1.19-1.20.

    Examples
    --------
    >>> import math
    >>> from mercer.regularized import Penalty, RegularizedRegressor
    >>> class NearlyTheNorm(Penalty):
    ...     def value(self, norm):
    ...         return math.hypot(1.0, norm) - 1.0
    ...
    ...     def derivative(self, norm):
    ...         return norm / math.hypot(1.0, norm)
    >>> machine = RegularizedRegressor("linear", penalty=NearlyTheNorm(), loss="squared", fit_intercept=False)
    >>> machine.fit([[1.0], [2.0]], [2.0, 4.0]).norm_
    1.9...
    """

    _parameters: ClassVar[dict[str, Any]] = {}

    @abstractmethod
    def value(self, norm: float) -> float:
        """The penalty of a norm >= 0."""

    @abstractmethod
    def derivative(self, norm: float) -> float:
        """Its derivative, never negative; at zero that of the right side."""

    def second_derivative(self, norm: float) -> float:
        """The derivative of the derivative, for a norm > 0; about is enough."""
        step = DIFFERENCE * norm
        return max(0.0, (self.derivative(norm + step) - self.derivative(norm - step)) / (2.0 * step))

    def conjugate(self, slope: float) -> float:
        """The largest slope * norm - value(norm) over all norms >= 0; infinite for slopes that it never has."""
        if slope <= self.derivative(0.0):
            return -self.value(0.0)
        high = 1.0
        for _ in range(DOUBLINGS):
            if self.derivative(high) >= slope:
                break
            high *= 2.0
        else:
            return np.inf
        low = 0.0
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.derivative(middle) < slope else (low, middle)
        return max(slope * low - self.value(low), slope * high - self.value(high))


class NormPower(Penalty):
    """A power of the norm of the weight vector, over its exponent: half the square, the norm itself, ...

    Parameters
    ----------
    power : float >= 1, default=2.0
        q in the penalty ``norm ** q / q``. 2 is that of the support vector machines. With 1 the best function may be a
        constant, also for a price above zero.

    Examples
    --------
    >>> from mercer.regularized import NormPower
    >>> NormPower().value(3.0), NormPower(power=1.0).value(3.0)
    (4.5, 3.0)
    """

    _parameters: ClassVar[dict[str, Any]] = {"power": Number(1)}

    def __init__(self, power=2.0):
        self.power = power

    def value(self, norm):
        return float(norm) ** self.power / self.power

    def derivative(self, norm):
        return float(norm) ** (self.power - 1.0)

    def second_derivative(self, norm):
        return (self.power - 1.0) * float(norm) ** (self.power - 2.0)

    def conjugate(self, slope):
        if self.power == 1:
            return 0.0 if slope <= 1.0 else np.inf
        other = self.power / (self.power - 1.0)
        return float(slope) ** other / other


NAMES: dict[str, Any] = {"squared_norm": NormPower, "norm": lambda: NormPower(power=1.0)}


def as_penalty(penalty: Any) -> Penalty:
    """The penalty of that name, or the one that was given, its parameters checked."""
    if isinstance(penalty, str) and penalty in NAMES:
        return NAMES[penalty]()
    if isinstance(penalty, Penalty):
        check_parameters(penalty)
        return penalty
    raise ValueError(f"penalty must be {', '.join(map(repr, NAMES))} or a Penalty, got {penalty!r}.")
