"""The machine that follows the answers."""

from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning

from mercer.active.pool import Pool, Scores, make_scores
from mercer.callers import warn_caller
from mercer.machines import Machine
from mercer.solvers.base import Certificate
from mercer.svm.classification import SupportVectorClassifier
from mercer.threads import limit_threads

__all__ = ["Follower", "objective_of"]

# The first fit in every so many turns is one from nothing. What the machine is then depends on the answers alone, not
# on all fits before: a learner that goes on from a file has to repeat the last few of them only.
RESTART = 32


class Follower:
    """The machine of a learner, fitted to all answers after each of them, and what it says of the pool.

    Support vector machines go on from where they were.

    Parameters
    ----------
    estimator : classifier
        It is cloned, with the kernel of the pool.
    pool : Pool
    n_threads : int or None

    Attributes
    ----------
    machine : classifier or None
        There is none for a single class, nor for answers that the estimator refuses.
    objective : float
        Its dual objective W; 0 before there are two classes, nan if there is no such thing.
    refusal : str
        What the estimator has said of answers that it refused.
    restart : int
        The turns from one fit from nothing to the next.
    has_band : bool
        Whether its machines have decision values, and so a margin band.
    """

    def __init__(self, estimator: Any, pool: Pool, n_threads: int | None):
        self._blank = clone(estimator)
        if pool.kernel is not None and "kernel" in self._blank.get_params(deep=False):  # and not learnt
            self._blank.set_params(kernel=pool.kernel)
        if isinstance(self._blank, Machine):
            self._blank._check_all()
        self._pool, self._n_threads = pool, n_threads
        self.restart = RESTART if isinstance(estimator, SupportVectorClassifier) else 1
        self.has_band = hasattr(estimator, "decision_function")
        self.machine: Any = None
        self.objective, self.refusal = 0.0, ""
        self._answers: Mapping[int, Any] = {}
        self._turn = 0
        self._scores: Scores | None = None

    def follows(self, answers: Mapping[int, Any]) -> bool:
        """Whether these are the answers that it was fitted to, or that were refused, last."""
        return answers is self._answers

    def fit(self, answers: Mapping[int, Any], turn: int, warns: bool = True) -> None:
        """Follow answers, unless it does.

        An interruption leaves all as it was.

        Parameters
        ----------
        answers : mapping from numbers of samples to classes
            A new one every time.
        turn : int >= 1
            How many times there were other answers.
        warns : bool, default=True
            Whether to say so if the estimator refuses them.
        """
        if self.follows(answers):
            return
        machine, objective = None, 0.0
        if len(set(answers.values())) > 1:
            machine = self._next(set(answers.values()), turn)
            numbers = np.fromiter(answers, dtype=np.int64, count=len(answers))
            try:
                machine.fit(self._pool.rows(numbers, numbers), np.array(list(answers.values())))
                objective = objective_of(machine)
            except ValueError as error:
                machine, objective, self.refusal = None, np.nan, str(error)
                if warns:
                    warn_caller(
                        f"{type(self._blank).__name__} refuses the {len(answers)} answers so far, and until it takes "
                        f"them questions are asked as at the start: {error}",
                        FitFailedWarning,
                    )
        if isinstance(machine, SupportVectorClassifier):
            machine._grows = False
        self.machine, self.objective, self._answers, self._turn = machine, objective, answers, turn

    def _next(self, classes: set[Any], turn: int) -> Any:
        """A machine to fit, which starts from the last one if it can."""
        last = self.machine
        restarts = turn // self.restart > self._turn // self.restart
        if restarts or last is None or classes != set(last.classes_.tolist()):
            return clone(self._blank)
        machine = copy(last)
        machine._grows = True
        return machine

    def fitted(self, answers: Mapping[int, Any]) -> Any:
        """A machine of its own, fitted to some answers from nothing."""
        numbers = np.fromiter(answers, dtype=np.int64, count=len(answers))
        return clone(self._blank).fit(self._pool.rows(numbers, numbers), np.array(list(answers.values())))

    def scores(self) -> Scores:
        """What the machine says of the pool."""
        if self._scores is None:
            self._scores = make_scores(self._pool, self._blank)
        if self._scores.machine is not self.machine:
            with limit_threads(self._n_threads):
                self._scores.update(self.machine, np.fromiter(self._answers, dtype=np.int64, count=len(self._answers)))
        return self._scores


def objective_of(machine: Any) -> float:
    """The dual objective W of a machine, nan if it has no such thing."""
    result = getattr(machine, "result_", None)
    return float(result.dual_objective) if isinstance(result, Certificate) else np.nan
