"""When to stop asking.

A stopping rule is called with the learner and says whether to stop. It is known by its `name`, or by the name of the
function.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.active.following import objective_of
from mercer.parameters import Number

__all__ = ["BandEmpty", "Budget", "MistakesLevel", "ObjectiveLevel", "as_stopping_rules", "name_of"]


@dataclass(frozen=True)
class BandEmpty:
    """Stop when no unlabelled sample lies within the margin band. [CY §1.8]

    For data with noise: what is left is learnt already, or is an outlier.
    """

    name: ClassVar[str] = "band"

    def __call__(self, learner: Any) -> bool:
        return learner.is_fitted and not learner.in_band().any()


@dataclass(frozen=True)
class ObjectiveLevel:
    """Stop when the dual objective W has not risen over the last answers. [CY §1.8]

    For data without noise.

    Parameters
    ----------
    last : int >= 1, default=10
        So many answers.
    tol : float >= 0, default=1e-3
        A rise by less than this share of W is none; not below the accuracy of the machine.
    """

    last: int = 10
    tol: float = 1e-3
    name: ClassVar[str] = "objective"

    def __post_init__(self):
        check(last=(self.last, Number(1, integer=True)), tol=(self.tol, Number(0)))

    def __call__(self, learner: Any) -> bool:
        if not learner.is_fitted:
            return False
        if np.isnan(objective_of(learner.estimator_)):
            raise ValueError(
                f"stop='objective' needs a machine with a dual objective, such as SVC, got {learner.estimator_!r}."
            )
        objective = [answer.objective for answer in learner.history_]
        return len(objective) > self.last and objective[-1] - objective[-1 - self.last] <= self.tol * abs(objective[-1])


@dataclass(frozen=True)
class MistakesLevel:
    """Stop when the machine has predicted the last answers without a mistake. [CY fig 1.7]

    Parameters
    ----------
    last : int >= 1, default=20
        So many answers.
    """

    last: int = 20
    name: ClassVar[str] = "mistakes"

    def __post_init__(self):
        check(last=(self.last, Number(1, integer=True)))

    def __call__(self, learner: Any) -> bool:
        answers = learner.history_[-self.last :]
        return len(answers) == self.last and all(a.predicted == a.answer for a in answers)


@dataclass(frozen=True)
class Budget:
    """Stop after so many answers.

    Parameters
    ----------
    answers : int >= 1
    """

    answers: int
    name: ClassVar[str] = "budget"

    def __post_init__(self):
        check(budget=(self.answers, Number(1, integer=True)))

    def __call__(self, learner: Any) -> bool:
        return len(learner.labelled_) >= self.answers


NAMES: dict[str, Callable[[], Any]] = {"band": BandEmpty, "objective": ObjectiveLevel, "mistakes": MistakesLevel}


def check(**values: tuple[Any, Number]) -> None:
    """Refuse numbers outside their range, by name."""
    for name, (value, rule) in values.items():
        if problem := rule.problem(value):
            raise ValueError(f"{name} {problem}")


def as_stopping_rules(stop: Any) -> tuple[Callable[[Any], bool], ...]:
    """Rules from names, callables, or several of them; None: none."""
    if stop is None:
        return ()
    several = stop if isinstance(stop, Iterable) and not isinstance(stop, str) else (stop,)
    rules = []
    for rule in several:
        if isinstance(rule, str) and rule in NAMES:
            rule = NAMES[rule]()
        if not callable(rule) or isinstance(rule, type):
            raise ValueError(
                f"stop must be {' or '.join(map(repr, NAMES))}, a rule, several of them or None, got {rule!r}."
            )
        rules.append(rule)
    return tuple(rules)


def name_of(rule: Any) -> str:
    """What a rule is called."""
    return str(getattr(rule, "name", None) or getattr(rule, "__name__", None) or type(rule).__name__)
