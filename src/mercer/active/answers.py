"""Answers: what they may be, and what is known of them."""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

__all__ = ["Answer", "History", "Told", "as_label", "check_kinds"]


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
        has none, or refuses the answers, and while it has not been learnt.
    gain : float
        By how much the answer has raised W. [CY eq 1.63] Of answers learnt together, their share each.
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


class History(list[Answer]):
    """The records of all answers. Those of the last ones are open until a machine has been fitted to them."""

    n_open: int = 0

    def add(self, answers: Mapping[int, Any], predicted: list[Any], inside: list[bool]) -> None:
        """Add answers, with what the machine of before has said of them."""
        mistakes = self[-1].mistakes if self else 0
        for (number, answer), guess, within in zip(answers.items(), predicted, inside, strict=True):
            mistakes += is_mistake(guess, answer)
            self.append(Answer(len(self) + 1, number, answer, guess, within, np.nan, np.nan, None, mistakes))
        self.n_open += len(answers)

    def outcome(self) -> dict[str, Any] | None:
        """What has come of the last answers; None: that is open, or there are none."""
        if not self or self.n_open:
            return None
        return {"objective": self[-1].objective, "gain": self[-1].gain, "band": self[-1].band}

    def close(self, objective: float, gain: float, band: int | None) -> None:
        """Write down what has come of the last answers."""
        for k in range(len(self) - self.n_open, len(self)):
            self[k] = replace(self[k], objective=objective, gain=gain, band=band)
        self.n_open = 0

    def correct(self, number: int, label: Any) -> None:
        """Replace an answer, and count mistakes anew."""
        mistakes = 0
        for k, record in enumerate(self):
            answer = label if record.index == number else record.answer
            mistakes += is_mistake(record.predicted, answer)
            self[k] = replace(record, answer=answer, mistakes=mistakes)


def is_mistake(predicted: Any, answer: Any) -> bool:
    """Whether a prediction, if there was one, was wrong."""
    return predicted is not None and predicted != answer


class Told:
    """What a learner has been told: answers, in their order, and samples that nobody could tell.

    Parameters
    ----------
    n : int
        Samples of the pool.
    classes : sequence or None
        None: those among the answers.

    Attributes
    ----------
    answers : dict from numbers of samples to classes
    skipped : dict whose keys are numbers of samples
    open : bool array of shape (n,)
        The samples that may be asked for.
    asked : list of int
        Those that are asked for since anything was told last.
    classes : dict from classes to themselves, as they are kept
    given : bool
        Whether these are all there can be.
    """

    def __init__(self, n: int, classes: Any):
        self.given = classes is not None
        if self.given and not isinstance(classes, Iterable):
            raise ValueError(f"classes must be a sequence of at least two, got {classes!r}.")
        self.classes = {label: label for label in map(as_label, classes if self.given else ())}
        if self.given and len(self.classes) < 2:
            raise ValueError(f"classes must be at least two, got {classes!r}.")
        check_kinds(self.classes, "classes")
        self.answers: dict[int, Any] = {}
        self.skipped: dict[int, None] = {}
        self.open = np.ones(n, dtype=bool)
        self.asked: list[int] = []

    # --- what is refused ----------------------------------------------------------------------------------

    def new_answers(self, i: Any, y: Any) -> dict[int, Any]:
        """Answers that may be told."""
        numbers = self._not_answered(i)
        if isinstance(y, Mapping | Set):
            raise ValueError(f"y must be a class, or an array of classes in the order of i, got {y!r}.")
        several = np.ndim(i) > 0 and not isinstance(y, str) and isinstance(y, Iterable)
        labels = list(y) if several else [y]
        if len(labels) != len(numbers):
            raise ValueError(f"y must have one class for each of {len(numbers)} samples, got {len(labels)}.")
        known = dict(self.classes)
        labels = [self._label(label, known) for label in labels]
        check_kinds(known)
        return dict(zip(numbers, labels, strict=True))

    def new_skips(self, i: Any) -> list[int]:
        """Samples that may be put aside, and have not been."""
        return [number for number in self._not_answered(i) if number not in self.skipped]

    def correction(self, i: Any, y: Any) -> tuple[int, Any]:
        """Another answer in the place of one that is there."""
        if np.ndim(i) > 0:
            raise ValueError(f"i must be the number of one sample, got {i!r}.")
        (number,) = self._numbers(i)
        if number not in self.answers:
            raise ValueError(f"Sample {number} has not been answered yet; tell({number}, ...) does that.")
        known = self.classes if self.given else {a: a for other, a in self.answers.items() if other != number}
        label = self._label(y, known)
        check_kinds(known)
        return number, label

    def _numbers(self, i: Any) -> list[int]:
        """Numbers of samples, as ints."""
        numbers, n = np.atleast_1d(np.asarray(i)), len(self.open)
        if numbers.ndim != 1 or (numbers.dtype.kind not in "iu" and numbers.size):
            raise ValueError(f"i must be the number of a sample or an array of them, got {i!r}.")
        for number in numbers.tolist():
            if not 0 <= number < n:
                raise ValueError(f"i must be from 0 to {n - 1}, the samples of the pool, got {number}.")
        if len(np.unique(numbers)) < len(numbers):
            raise ValueError(f"i must name every sample once, got {i!r}.")
        return [int(number) for number in numbers.tolist()]

    def _not_answered(self, i: Any) -> list[int]:
        numbers = self._numbers(i)
        for number in numbers:
            if number in self.answers:
                raise ValueError(
                    f"Sample {number} has been answered already, as {self.answers[number]!r}; "
                    f"correct({number}, ...) changes an answer."
                )
        return numbers

    def _label(self, y: Any, known: dict[Any, Any]) -> Any:
        """A class as it is kept; `known` learns it."""
        label = as_label(y)
        if self.given and label not in known:
            raise ValueError(f"y must be one of the classes {list(known)}, got {y!r}.")
        return known.setdefault(label, label)

    # --- what is told -------------------------------------------------------------------------------------

    def tell(self, new: dict[int, Any]) -> None:
        """Keep answers, also of samples that were put aside."""
        self.answers, self.asked = {**self.answers, **new}, []
        self.open[list(new)] = False
        for number in new:
            self.skipped.pop(number, None)
        if not self.given:
            self.classes.update((label, label) for label in new.values() if label not in self.classes)

    def skip(self, numbers: list[int]) -> None:
        """Put samples aside."""
        self.skipped.update(dict.fromkeys(numbers))
        self.open[numbers] = False
        self.asked = []

    def correct(self, number: int, label: Any) -> None:
        """Replace an answer."""
        self.answers, self.asked = {**self.answers, number: label}, []
        if not self.given:
            self.classes = {label: label for label in self.answers.values()}


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
