"""Machines, losses and penalties of the representer theorem."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer import regularized
from mercer.regularized import EpsilonInsensitive, Hinge, Huber, Loss, NormPower, Penalty, Pinball

__all__ = ["LOSSES", "MACHINES", "PENALTIES", "ROOMS"]

ROOMS = (regularized,)


class LogCosh(Loss):
    """A loss as a user writes it: with a value and a derivative."""

    def value(self, f, y):
        return np.abs(f - y) + np.log1p(np.exp(-2 * np.abs(f - y))) - np.log(2.0)

    def derivative(self, f, y):
        return np.tanh(f - y)


class NormAndSquare(Penalty):
    """A penalty as a user writes it."""

    def value(self, norm):
        return norm + norm**2

    def derivative(self, norm):
        return 1.0 + 2.0 * norm


LOSSES: dict[str, Callable[[], Loss]] = {
    "EpsilonInsensitive": lambda: EpsilonInsensitive(epsilon=0.3),
    "EpsilonInsensitive no tube": lambda: EpsilonInsensitive(epsilon=0.0),
    "EpsilonInsensitive cubic": lambda: EpsilonInsensitive(epsilon=0.2, power=3.0),
    "EpsilonInsensitive between": lambda: EpsilonInsensitive(epsilon=0.2, power=1.5),
    "Hinge": lambda: Hinge(),
    "Hinge between": lambda: Hinge(power=1.3),
    "Hinge squared": lambda: Hinge(power=2.0),
    "Huber": lambda: Huber(delta=0.5),
    "Logistic": lambda: regularized.Logistic(),
    "LogCosh": lambda: LogCosh(),
    "Pinball": lambda: Pinball(quantile=0.3),
    "Squared": lambda: regularized.Squared(),
}
PENALTIES: dict[str, Callable[[], Penalty]] = {
    "NormPower": lambda: NormPower(),
    "NormPower 1": lambda: NormPower(power=1.0),
    "NormPower 1.5": lambda: NormPower(power=1.5),
    "NormPower 3": lambda: NormPower(power=3.0),
    "NormAndSquare": lambda: NormAndSquare(),
}
MACHINES: dict[str, Callable[[], Any]] = {
    "RegularizedClassifier": lambda: regularized.RegularizedClassifier(),
    "RegularizedClassifier between": lambda: regularized.RegularizedClassifier(
        loss=Hinge(power=1.5), class_weight="balanced"
    ),
    "RegularizedClassifier logistic": lambda: regularized.RegularizedClassifier(loss="logistic", fit_intercept=False),
    "RegularizedClassifier norm": lambda: regularized.RegularizedClassifier(
        loss="squared_hinge", penalty="norm", C=3.0
    ),
    "RegularizedRegressor": lambda: regularized.RegularizedRegressor(),
    "RegularizedRegressor pinball": lambda: regularized.RegularizedRegressor(loss=Pinball(quantile=0.3)),
    "RegularizedRegressor own": lambda: regularized.RegularizedRegressor(
        loss=LogCosh(), penalty=NormPower(power=1.5), C=3.0
    ),
}
