"""Answers: what they may be, and what is known of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.solvers.base import Certificate

__all__ = ["Answer", "as_label", "check_kinds", "objective_of"]


@dataclass(frozen=True)
class Answer:
    """What is known of one answer.

    Attributes
    ----------
    n_labels : int
        How many answers there were, with this one.
    index : int
        The number of the sample.
    answer : str, int, float or bool
        Its class.
    predicted : str, int, float, bool or None
        What the machine of before predicted; None: there was none.
    was_inside_band : bool
        Whether the sample lay within the margin band of the machine of before.
    objective : float
        The dual objective W of the machine with the answer; 0 before there are two classes, nan for an estimator that
        has none.
    gain : float
        By how much the answer has raised W. [CY eq 1.63] Of answers given together, their share each.
    band : int or None
        Unlabelled samples within the margin band of the machine with the answer; None: there is no machine, or no band.
    mistakes : int
        Answers up to this one that were predicted wrongly. [CY fig 1.7]
    """

    n_labels: int
    index: int
    answer: Any
    predicted: Any
    was_inside_band: bool
    objective: float
    gain: float
    band: int | None
    mistakes: int


def as_label(y: Any) -> Any:
    """A class as a plain str, int, bool or float; estimators take whole floats for classes only."""
    label = y.item() if isinstance(y, np.generic) else y
    if not isinstance(label, str | int | float) or (isinstance(label, float) and not label.is_integer()):
        raise ValueError(f"y must be a str, int, bool or whole float, got {y!r}.")
    return str(label) if isinstance(label, str) else label


def check_kinds(labels: Iterable[Any], name: str = "y") -> None:
    """Refuse strings next to numbers, which have no order."""
    distinct = list(dict.fromkeys(labels))
    if len({isinstance(label, str) for label in distinct}) > 1:
        raise ValueError(f"{name} must be all strings or all numbers, got {distinct}.")


def objective_of(machine: Any) -> float:
    """The dual objective W of a machine; 0 if there is none yet, nan if it has no such thing."""
    if machine is None:
        return 0.0
    result = getattr(machine, "result_", None)
    return float(result.dual_objective) if isinstance(result, Certificate) else np.nan
