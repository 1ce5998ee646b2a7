"""What calibration learns: decision values in, log-odds or log-probabilities out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, log_expit, logsumexp

from mercer.calibration.coupling import couple
from mercer.calibration.folds import HeldOut
from mercer.calibration.maps import (
    Isotonic,
    Sigmoid,
    fit_isotonic,
    fit_sigmoid,
    fit_temperature,
    temperature_log_probabilities,
)

__all__ = [
    "METHODS",
    "Calibration",
    "average",
    "class_codes",
    "fit_calibration",
    "log_probabilities",
    "pairs_of",
    "probabilities",
]

# Every method with its usual targets. One number, the same for all classes, needs no prior: it only makes it timid.
METHODS = {"sigmoid": "corrected", "isotonic": "corrected", "temperature": "plain"}
# Log-odds below this cannot be told from zero in probabilities, and log-probabilities are multiples of the second
# number: what differs in one of them differs in the other.
NO_ODDS = 4 * np.finfo(float).eps
GRAIN = 46


@dataclass(frozen=True, eq=False)
class Calibration:
    """A learnt calibration: one map per column of decision values, and how the columns become classes."""

    n_classes: int
    """Number of classes."""
    maps: tuple[Sigmoid | Isotonic, ...] = ()
    """From decision values to log-odds, one per column; empty for the temperature of several classes."""
    pairs: tuple[tuple[int, int], ...] = ()
    """The classes of each column, where columns are pairs of classes; empty where they are scores."""
    scale: float | None = None
    """The inverse temperature."""

    def decision(self, values: np.ndarray) -> np.ndarray:
        """Log-odds of the second class, shape (n,), or log-probabilities, shape (n, n_classes)."""
        if self.n_classes == 2:
            return clear_odds(self.maps[0].log_odds(values))
        if not self.maps:
            assert self.scale is not None
            logarithms = temperature_log_probabilities(self.scale, values)
        else:
            odds = np.column_stack([own.log_odds(v) for own, v in zip(self.maps, values.T, strict=True)])
            with np.errstate(divide="ignore"):
                logarithms = np.log(couple(expit(odds), self.pairs, self.n_classes)) if self.pairs else shares(odds)
        return grained(logarithms)

    def log_probabilities(self, values: np.ndarray) -> np.ndarray:
        """Logarithms of the class probabilities, shape (n, n_classes)."""
        return log_probabilities(self.decision(values))

    def probabilities(self, values: np.ndarray) -> np.ndarray:
        """Class probabilities, shape (n, n_classes)."""
        return probabilities(self.decision(values))

    def codes(self, values: np.ndarray) -> np.ndarray:
        """The numbers of the most probable classes, the first of equals."""
        return class_codes(self.decision(values))


# --- decisions: log-odds of the second of two classes, shape (n,), or log-probabilities, shape (n, n_classes) ---


def clear_odds(odds: np.ndarray) -> np.ndarray:
    """Log-odds, zero where probabilities cannot tell."""
    return np.where(np.abs(odds) <= NO_ODDS, 0.0, odds)


def grained(logarithms: np.ndarray) -> np.ndarray:
    """Log-probabilities, equal where probabilities are."""
    return np.ldexp(np.rint(np.ldexp(logarithms, GRAIN)), -GRAIN)


def log_probabilities(decision: np.ndarray) -> np.ndarray:
    """Logarithms of the class probabilities, shape (n, n_classes)."""
    return log_expit(np.column_stack([-decision, decision])) if decision.ndim == 1 else decision


def probabilities(decision: np.ndarray) -> np.ndarray:
    """Class probabilities, shape (n, n_classes)."""
    return expit(np.column_stack([-decision, decision])) if decision.ndim == 1 else np.exp(decision)


def class_codes(decision: np.ndarray) -> np.ndarray:
    """The numbers of the most probable classes, the first of equals."""
    return (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)


def average(decisions: Sequence[np.ndarray]) -> np.ndarray:
    """The decision of the mean of the probabilities that several decisions have."""
    if len(decisions) == 1:
        return decisions[0]
    logarithms = logsumexp([log_probabilities(decision) for decision in decisions], axis=0) - np.log(len(decisions))
    if decisions[0].ndim == 1:
        return clear_odds(logarithms[:, 1] - logarithms[:, 0])
    return grained(logarithms)


def shares(odds: np.ndarray) -> np.ndarray:
    """Logarithms of probabilities proportional to those of each class against the rest; equal where all are 0."""
    logarithms = log_expit(odds)
    logarithms[np.isneginf(logarithms).all(axis=1)] = 0.0
    return logarithms - logsumexp(logarithms, axis=1, keepdims=True)


def pairs_of(machine: Any, n_classes: int) -> tuple[tuple[int, int], ...]:
    """The pairs of classes, negative and positive, that a machine of ours tells apart; empty for any other machine."""
    code = getattr(getattr(machine, "_plan", None), "code", None)
    if n_classes < 3 or code is None or code.shape[0] != n_classes * (n_classes - 1) // 2:
        return ()
    if (np.diff(code.indptr) != 2).any() or np.asarray(code.sum(axis=1)).any():
        return ()
    classes, sides = code.indices.reshape(-1, 2), code.data.reshape(-1, 2)
    ordered = np.where(sides[:, :1] < 0, classes, classes[:, ::-1])
    return tuple((int(i), int(j)) for i, j in ordered)


def fit_calibration(
    held_out: HeldOut, n_classes: int, method: str, targets: str, pairs: tuple[tuple[int, int], ...] = ()
) -> Calibration:
    """Learn from decision values: of one column, of pairs of classes, or of scores, one per class.

    `targets` are "corrected", "plain", or "auto", the usual ones of the method.
    """
    values, codes, weight = held_out
    targets = METHODS[method] if targets == "auto" else targets
    if method == "temperature":
        scale = fit_temperature(values, codes, weight, targets)
        return Calibration(n_classes, (Sigmoid(scale, 0.0),) if n_classes == 2 else (), scale=scale)
    fit: Callable[..., Sigmoid | Isotonic] = fit_sigmoid if method == "sigmoid" else fit_isotonic
    if n_classes == 2:
        return Calibration(n_classes, (fit(values, codes == 1, weight, targets),))
    if not pairs:
        maps = (fit(values[:, c], codes == c, weight, targets) for c in range(n_classes))
        return Calibration(n_classes, tuple(maps))
    chosen = [np.flatnonzero((codes == i) | (codes == j)) for i, j in pairs]
    maps = (
        fit(values[rows, k], codes[rows] == j, weight[rows], targets)
        for k, ((_, j), rows) in enumerate(zip(pairs, chosen, strict=True))
    )
    return Calibration(n_classes, tuple(maps), pairs)
