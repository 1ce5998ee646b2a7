"""Parameters are checked from a table on the class: the rule, the value, one sentence."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Choice", "Number", "check_parameters", "told_bound"]


@dataclass(frozen=True)
class Number:
    """A number in a range, or one of some words."""

    low: float = -np.inf
    high: float = np.inf
    above: bool = False  # low itself is excluded
    below: bool = False  # high itself is excluded
    infinite: bool = False
    integer: bool = False
    none: bool = False  # None is allowed too
    words: tuple[str, ...] = ()  # and so are these
    per_feature: bool = False  # or one number for every feature

    def problem(self, value: Any) -> str | None:
        """What is wrong with the value, None when nothing is."""
        if isinstance(value, str):
            allowed = value in self.words
        elif value is None:
            allowed = self.none
        elif type(value) is float:
            allowed = not self.integer and self._allows_float(value)
        else:
            allowed = self._allows(np.asarray(value))
        return None if allowed else f"must be {self}, got {value!r}."

    def _allows_float(self, value: float) -> bool:
        """`_allows` for the usual case, without NumPy: a machine of many problems asks often."""
        in_range = (value > self.low if self.above else value >= self.low) and (
            value < self.high if self.below else value <= self.high
        )
        return in_range and (math.isfinite(value) or (self.infinite and value > 0))

    def _allows(self, value: np.ndarray) -> bool:
        if value.dtype.kind not in ("iu" if self.integer else "iuf") or value.ndim > self.per_feature:
            return False
        in_range = (value > self.low if self.above else value >= self.low) & (
            value < self.high if self.below else value <= self.high
        )
        usable = np.isfinite(value) | (self.infinite & (value == np.inf))
        return value.size > 0 and bool(np.all(in_range & usable))

    def __str__(self) -> str:
        text = "an int" if self.integer else "a float"
        if self.low > -np.inf:
            text += f" {'>' if self.above else '>='} {self.low:g}"
        if self.high < np.inf:
            text += f" and {'<' if self.below else '<='} {self.high:g}"
        if self.per_feature:
            text += ", one such number for every feature"
        return text + "".join(f" or {word!r}" for word in self.words) + (" or None" if self.none else "")


class Choice:
    """One of some values."""

    def __init__(self, *values: Any):
        self.values = values

    def problem(self, value: Any) -> str | None:
        """What is wrong with the value, None when nothing is."""
        if any(value is known or (type(value) is type(known) and value == known) for known in self.values):
            return None
        if isinstance(value, np.bool_) and bool(value) in self.values:
            return None
        return f"must be {' or '.join(map(repr, self.values))}, got {value!r}."


def check_parameters(owner: Any) -> None:
    """Check the attributes of `owner` against the table ``owner._parameters``."""
    for name, rule in owner._parameters.items():
        if problem := rule.problem(getattr(owner, name)):
            raise ValueError(f"{name} {problem}")


def told_bound(bound: float) -> str:
    """Six digits of an upper bound > 0 for a message: rounded down, so that what is told is admissible."""
    told = f"{bound:.6g}"
    if float(told) > bound * (1 + 1e-12):  # but 0.49999999999999994 is told as 0.5
        told = f"{float(told) - 10.0 ** (math.floor(math.log10(bound)) - 5):.6g}"
    return told
