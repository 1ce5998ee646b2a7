"""What a scheme is: class numbers in, binary tasks out; decision values in, one score per class out."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from mercer.parameters import check_parameters

__all__ = ["Plan", "Scheme", "Sides", "Task", "as_scheme"]


class Sides(NamedTuple):
    """Whom a machine tells apart: decision values are negative for the first classes, positive for the second."""

    negative: tuple[int, ...]
    positive: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Task:
    """What one machine for two has to learn."""

    index: np.ndarray
    """The samples that take part, ascending."""
    sign: np.ndarray
    """Their sides, -1 or +1."""
    cost: np.ndarray
    """Factors of the price of their errors."""
    target: np.ndarray
    """The wanted values of sign * decision."""


class Scheme(BaseEstimator, ABC):
    """How several classes become machines for two, and their decision values one score per class.

    A scheme is a value: it has parameters and is never fitted. `plan` gives what is known once the number of
    classes is.
    """

    _parameters: ClassVar[dict[str, Any]] = {}

    @abstractmethod
    def sides(self, n_classes: int) -> Sequence[Sides]:
        """The classes that each machine tells apart."""

    @abstractmethod
    def scores(self, decision: np.ndarray, plan: "Plan") -> np.ndarray:
        """One score per class, shape (n, n_classes), from the decision values of all machines, shape (n, n_tasks)."""

    def cost(self, sign: np.ndarray, weight: np.ndarray, plan: "Plan") -> np.ndarray:
        """Factors of the price of errors in one task."""
        return np.ones(len(sign))

    def target(self, sign: np.ndarray, plan: "Plan") -> np.ndarray:
        """Wanted values of sign * decision in one task."""
        return np.ones(len(sign))

    def plan(self, n_classes: int) -> "Plan":
        """The scheme for so many classes."""
        check_parameters(self)
        return Plan(self, n_classes, tuple(self.sides(n_classes)))


@dataclass(frozen=True)
class Plan:
    """A scheme for a known number of classes: what a fitted machine keeps."""

    scheme: Scheme
    n_classes: int
    sides: tuple[Sides, ...]

    def tasks(self, codes: np.ndarray, weight: np.ndarray) -> list[Task]:
        """The tasks, from the class numbers of the samples (-1: takes no part) and their weights."""
        members = [np.flatnonzero(codes == c) for c in range(self.n_classes)]
        tasks = []
        for negative, positive in self.sides:
            index = np.sort(np.concatenate([members[c] for c in (*negative, *positive)]))
            sign = np.where(np.isin(codes[index], positive), 1.0, -1.0)
            cost = self.scheme.cost(sign, weight[index], self)
            tasks.append(Task(index, sign, cost, self.scheme.target(sign, self)))
        return tasks

    def scores(self, decision: np.ndarray) -> np.ndarray:
        """One score per class, shape (n, n_classes); the largest wins, the first of equals."""
        return self.scheme.scores(decision, self)


def as_scheme(scheme: Any) -> Scheme:
    """A scheme from its short name, or itself."""
    from mercer.multiclass.pairs import OneVersusOne

    names = {"ovo": OneVersusOne}
    if isinstance(scheme, str) and scheme in names:
        return names[scheme]()
    if isinstance(scheme, Scheme):
        return scheme
    raise ValueError(f"multi_class must be {' or '.join(map(repr, names))} or a Scheme, got {scheme!r}.")
