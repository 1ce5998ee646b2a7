"""Losses: what a decision value f costs where y was wanted."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from mercer.parameters import Number, check_parameters

__all__ = ["EpsilonInsensitive", "Hinge", "Huber", "Logistic", "Loss", "Pinball", "Squared", "as_loss"]

# So many halvings leave nothing of an interval but rounding.
HALVINGS = 60
# The step of differences, as a share of the numbers at hand.
DIFFERENCE = 1e-6
# A derivative that jumps by this part of itself has a kink.
KINK = 1e-6
NEWTON_STEPS = 30


class Loss(BaseEstimator, ABC):
    """What a decision value f costs where y was wanted: a convex function of f.

    A loss of your own has `value`, never negative, and `derivative`, and with these all that the machines need:
    whatever convex function they describe, it is minimised, and its tangents bound the optimum from below. Where the
    loss has a second derivative, tell it (`smooth`, `second_derivative`): fewer and cheaper steps are then needed.

    All functions are of arrays of one shape (n,). Parameters of a loss are parameters of scikit-learn: a search finds
    them as ``loss__name``.

    See Also
    --------
    mercer.regularized.RegularizedClassifier, mercer.regularized.RegularizedRegressor : The machines.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.regularized import Loss, RegularizedRegressor
    >>> class LogCosh(Loss):
    ...     def value(self, f, y):
    ...         return np.logaddexp(f - y, y - f) - np.log(2.0)
    ...
    ...     def derivative(self, f, y):
    ...         return np.tanh(f - y)
    >>> machine = RegularizedRegressor(loss=LogCosh(), C=10.0).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0])
    >>> machine.result_.status
    'solved'
    """

    classes: ClassVar[bool] = False
    """Whether y must be -1 or +1."""
    smooth: bool = False
    """Whether there is a continuous `second_derivative`."""

    _parameters: ClassVar[dict[str, Any]] = {}

    @abstractmethod
    def value(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The loss."""

    @abstractmethod
    def derivative(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Its derivative by f; any slope between those of the two sides where there is a kink."""

    def second_derivative(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Its second derivative by f, of a `smooth` loss."""
        raise NotImplementedError(f"{type(self).__name__} is smooth, but has no second_derivative.")

    def smoothed(self, z: np.ndarray, y: np.ndarray, width: Any) -> tuple[np.ndarray, np.ndarray]:
        """Slope s and curvature of the loss made smooth, its Moreau envelope, for one width or one for each sample.

        .. math:: \\min_g L(g, y) + (z - g)^2 / (2 \\, \\mathrm{width})

        The minimum is at g = z - width s, where s is a slope of the loss itself.
        """
        # g + width L'(g) = z, by halving: the left-hand side rises.
        edge = z - width * self.derivative(z, y)
        low, high = np.minimum(z, edge), np.maximum(z, edge)
        least, most = self.derivative(low, y), self.derivative(high, y)
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            slope = self.derivative(middle, y)
            above = middle + width * slope > z
            low, least = np.where(above, low, middle), np.where(above, least, slope)
            high, most = np.where(above, middle, high), np.where(above, slope, most)
        slope = np.clip((z - middle) / width, least, most)
        # The curvature of the loss itself by differences, the one of the side without a kink.
        step = DIFFERENCE * (np.abs(middle) + width * np.abs(slope) + np.finfo(float).tiny)
        change = np.minimum(self.derivative(middle + step, y) - most, least - self.derivative(middle - step, y))
        change = np.maximum(change, 0.0)
        kink = most - least > KINK * (np.abs(most) + np.abs(least))
        return slope, np.where(kink, 1.0 / width, change / (step + width * change))


class Given(Loss):
    """A loss that is any object with `value` and `derivative`."""

    def __init__(self, given: Any):
        self.given = given
        self.smooth = callable(getattr(given, "second_derivative", None))

    def value(self, f, y):
        return self.given.value(f, y)

    def derivative(self, f, y):
        return self.given.derivative(f, y)

    def second_derivative(self, f, y):
        return self.given.second_derivative(f, y)


class Edges(NamedTuple):
    """Where a loss is zero, from `low` to `high`, and what it costs to be below or above."""

    low: np.ndarray
    price_below: Any
    high: np.ndarray
    price_above: Any


class Distance(Loss):
    """A power of the distance from where nothing is lost, with a price for each side."""

    power: float = 1.0

    @property
    def smooth(self) -> bool:  # type: ignore[override]
        """Whether the power is at least 2."""
        return self.power >= 2

    @abstractmethod
    def _edges(self, y: np.ndarray) -> Edges: ...

    def value(self, f, y):
        edges = self._edges(y)
        below, above = np.maximum(0.0, edges.low - f), np.maximum(0.0, f - edges.high)
        return edges.price_below * below**self.power + edges.price_above * above**self.power

    def derivative(self, f, y):
        edges, power = self._edges(y), self.power - 1.0
        below, above = np.maximum(0.0, edges.low - f), np.maximum(0.0, f - edges.high)
        down = edges.price_below * (below > 0) * below**power
        return self.power * (edges.price_above * (above > 0) * above**power - down)

    def second_derivative(self, f, y):
        edges, power = self._edges(y), self.power - 2.0
        below, above = np.maximum(0.0, edges.low - f), np.maximum(0.0, f - edges.high)
        sides = edges.price_below * (below > 0) * below**power + edges.price_above * (above > 0) * above**power
        return self.power * (self.power - 1.0) * sides

    def smoothed(self, z, y, width):
        edges = self._edges(y)
        if self.power == 1:
            below, above = (edges.low - z) / width, (z - edges.high) / width
            slope = np.clip(above, 0.0, edges.price_above) - np.clip(below, 0.0, edges.price_below)
            undecided = ((below > 0) & (below < edges.price_below)) | ((above > 0) & (above < edges.price_above))
            return slope, undecided / width
        if self.power > 2:
            return super().smoothed(z, y, width)
        down, curvature_below = self._smoothed_power(edges.low - z, edges.price_below, width)
        up, curvature_above = self._smoothed_power(z - edges.high, edges.price_above, width)
        return up - down, curvature_below + curvature_above

    def _smoothed_power(self, distance: np.ndarray, price: Any, width: Any) -> tuple[np.ndarray, np.ndarray]:
        """Slope and curvature of the envelope of price t^r, at a distance, for 1 < r <= 2.

        With u = t^(r - 1), the minimum is at u^(1 / (r - 1)) + width price r u = distance. The left-hand side is
        convex, and Newton's method comes down to the root without passing it.
        """
        power = self.power - 1.0
        far = (distance > 0) & (np.asarray(price) > 0)
        distance, steepness = np.where(far, distance, 1.0), np.where(far, price, 1.0) * self.power
        u = np.minimum(distance / (width * steepness), distance**power)
        for _ in range(NEWTON_STEPS):
            t, before = u ** (1.0 / power), u
            u = u - (t + width * steepness * u - distance) / (t / (power * u) + width * steepness)
            if (u > (1.0 - 4.0 * np.finfo(float).eps) * before).all():
                break
        curvature = 1.0 / (width + u ** ((1.0 - power) / power) / (steepness * power))
        return np.where(far, steepness * u, 0.0), np.where(far, curvature, 0.0)


class Hinge(Distance):
    """The hinge loss of classification, to any power: max(0, 1 - y f)^r. [1]_

    Parameters
    ----------
    power : float >= 1, default=1.0
        r. 1 is the loss of `SVC`, 2 its squared one; larger is kinder to small slacks and harder on large ones.

    References
    ----------
    .. [1] C. C. Aggarwal, Data Mining, 2015, section 10.6.2.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.regularized import Hinge
    >>> Hinge(power=1.5).value(np.array([-3.0, 0.0, 2.0]), np.ones(3))
    array([8., 1., 0.])
    """

    classes = True
    _parameters: ClassVar[dict[str, Any]] = {"power": Number(1)}

    def __init__(self, power=1.0):
        self.power = power

    def _edges(self, y):
        return Edges(y, y > 0, y, y < 0)


class EpsilonInsensitive(Distance):
    """Errors up to epsilon are free: max(0, abs(y - f) - epsilon)^r.

    Parameters
    ----------
    epsilon : float >= 0, default=0.1
        Half the width of the tube, in units of y.
    power : float >= 1, default=1.0
        r. 1 and 2 are the losses of `SVR`; with epsilon = 0 and r = 2 it is `Squared`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.regularized import EpsilonInsensitive
    >>> EpsilonInsensitive(epsilon=0.5).value(np.array([-1.0, 0.2, 3.0]), np.zeros(3))
    array([0.5, 0. , 2.5])
    """

    _parameters: ClassVar[dict[str, Any]] = {"epsilon": Number(0), "power": Number(1)}

    def __init__(self, epsilon=0.1, power=1.0):
        self.epsilon = epsilon
        self.power = power

    def _edges(self, y):
        return Edges(y - self.epsilon, 1.0, y + self.epsilon, 1.0)


class Pinball(Distance):
    """What lies above the function costs its distance times the quantile, what lies below times the rest.

    Parameters
    ----------
    quantile : float > 0 and < 1, default=0.5
        The share of the values that is to lie below the function; the loss of `QuantileSVR`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.regularized import Pinball
    >>> Pinball(quantile=0.75).value(np.array([-1.0, 1.0]), np.zeros(2))
    array([0.75, 0.25])
    """

    _parameters: ClassVar[dict[str, Any]] = {"quantile": Number(0, 1, above=True, below=True)}

    def __init__(self, quantile=0.5):
        self.quantile = quantile

    def _edges(self, y):
        return Edges(y, self.quantile, y, 1.0 - self.quantile)


class Squared(Loss):
    """The squared error (y - f)^2, for values, and for classes as -1 and +1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.regularized import Squared
    >>> Squared().value(np.array([1.0, 3.0]), np.zeros(2))
    array([1., 9.])
    """

    smooth = True

    def value(self, f, y):
        return (f - y) ** 2

    def derivative(self, f, y):
        return 2.0 * (f - y)

    def second_derivative(self, f, y):
        return np.full(np.shape(f), 2.0)


class Huber(Loss):
    """The squared error of small errors, and its tangents beyond: wild values do not pull any harder. [1]_

    .. math:: r^2 \\text{ for } |r| \\le \\delta, \\quad 2 \\delta |r| - \\delta^2 \\text{ beyond}, \\quad r = y - f

    Parameters
    ----------
    delta : float > 0, default=1.0
        Up to where errors count as small, in units of y; larger comes closer to `Squared`.

    References
    ----------
    .. [1] P. J. Huber, Robust estimation of a location parameter, 1964.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.regularized import Huber
    >>> Huber(delta=1.0).value(np.array([0.5, 10.0]), np.zeros(2))
    array([ 0.25, 19.  ])
    """

    smooth = True
    _parameters: ClassVar[dict[str, Any]] = {"delta": Number(0, above=True)}

    def __init__(self, delta=1.0):
        self.delta = delta

    def value(self, f, y):
        near = np.clip(f - y, -self.delta, self.delta)
        return near * (2.0 * (f - y) - near)

    def derivative(self, f, y):
        return 2.0 * np.clip(f - y, -self.delta, self.delta)

    def second_derivative(self, f, y):
        return 2.0 * (np.abs(f - y) <= self.delta)


class Logistic(Loss):
    """The negative logarithm of a probability, log(1 + exp(-y f)); f is the log-odds of the class +1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.regularized import Logistic
    >>> Logistic().value(np.array([0.0, 800.0, -800.0]), np.ones(3)).round(3)
    array([6.93e-01, 0.00e+00, 8.00e+02])
    """

    classes = True
    smooth = True

    def value(self, f, y):
        return np.logaddexp(0.0, -y * f)

    def derivative(self, f, y):
        return -y * _sigmoid(-y * f)

    def second_derivative(self, f, y):
        return _sigmoid(f) * _sigmoid(-f)


def _sigmoid(t: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-t)); small values keep their digits."""
    return np.exp(-np.logaddexp(0.0, -t))


NAMES: dict[str, Any] = {
    "epsilon_insensitive": EpsilonInsensitive,
    "hinge": Hinge,
    "huber": Huber,
    "logistic": Logistic,
    "pinball": Pinball,
    "squared": Squared,
    "squared_epsilon_insensitive": lambda: EpsilonInsensitive(power=2.0),
    "squared_hinge": lambda: Hinge(power=2.0),
}


def as_loss(loss: Any) -> Loss:
    """The loss of that name, or the one that was given, its parameters checked."""
    if isinstance(loss, str) and loss in NAMES:
        return NAMES[loss]()
    if not isinstance(loss, type):
        if isinstance(loss, Loss):
            check_parameters(loss)
            return loss
        if all(callable(getattr(loss, name, None)) for name in ("value", "derivative")):
            return Given(loss)
    names = ", ".join(map(repr, NAMES))
    raise ValueError(f"loss must be {names} or an object with value(f, y) and derivative(f, y), got {loss!r}.")
