"""What a learner was told, and has learnt from it."""

from typing import Any

import numpy as np

from mercer.active.answers import History, Told
from mercer.active.following import Follower
from mercer.active.journal import AnswerJournal

__all__ = ["Lessons"]

# A sample is inside the margin band if its decision value is below 1 by more than machines are accurate to by default.
# Support vectors lie on the edge, up to that accuracy and to rounding; so do their copies, which tell nothing new.
EDGE = 1.0 - 1e-3


class Lessons:
    """Answers, the machine that learns them, and a record of each: in memory, and on disk.

    What is told is written down first, then known, then learnt: neither a process that dies nor a fit that is
    interrupted, nor one before that is still to be made up for, loses an answer. What was not learnt is learnt with
    the answers that come next, or as soon as the machine is needed.

    Parameters
    ----------
    told : Told
    follower : Follower

    Attributes
    ----------
    told, follower
        What is known, and the machine.
    history : History
        The record of each answer.
    journal : AnswerJournal or None
        None: nothing is written.
    """

    def __init__(self, told: Told, follower: Follower):
        self.told, self.follower, self.history = told, follower, History()
        self.journal: AnswerJournal | None = None
        self._turn = 0  # how many times there were other answers
        self._before = 0.0  # the objective before the answers whose records are open

    def tell(self, new: dict[int, Any], learn: bool) -> None:
        """Answers that were not there before; whether to learn them at once."""
        predicted, inside = self._foreseen(list(new))
        self._take({"tell": list(new), "answers": list(new.values()), "predicted": predicted, "inside": inside})
        if learn:
            self.follow()

    def correct(self, number: int, label: Any) -> None:
        """Another answer in the place of one."""
        self._take({"correct": number, "answer": label})
        self.follow()

    def skip(self, numbers: list[int]) -> None:
        """Samples that nobody could tell."""
        self._take({"skip": numbers})

    def follow(self, warns: bool = True) -> None:
        """Learn all answers, and note what has come of those that were open; what is done is not done again."""
        self.follower.fit(self.told.answers, self._turn, warns)
        if self.history.n_open:
            has_band = self.follower.machine is not None and self.follower.has_band
            band = int(np.count_nonzero(self.in_band())) if has_band else None
            objective = self.follower.objective
            self.history.close(objective, (objective - self._before) / self.history.n_open, band)

    def in_band(self) -> np.ndarray:
        """Which of the samples that may be asked for lie within the margin band of the machine."""
        return self.told.open & (self.follower.scores().closeness() < EDGE)

    def go_on(self, journal: AnswerJournal) -> None:
        """Take what a file holds, and learn it.

        What a machine is depends on the fits since the last one from nothing: these are repeated, and no others. Among
        them is the last one of which the file tells what came of it: from there the open answers have gained.
        """
        turns = learnt = 0
        for entry in journal.entries:
            learnt = learnt if entry["before"] is None else turns
            turns += "skip" not in entry
        first = learnt // self.follower.restart * self.follower.restart
        for entry in journal.entries:
            if entry["before"] is not None:
                if self._turn >= first:
                    self.follower.fit(self.told.answers, self._turn, warns=False)
                self.history.close(**entry["before"])
            self._keep(entry)
        self.follow(warns=False)
        self.journal = journal

    def _take(self, entry: dict[str, Any]) -> None:
        """Write down what is told, with what has come of the answers before if they are learnt, and know it."""
        if self.journal is not None:
            learnt = self.follower.follows(self.told.answers)
            self.journal.write({**entry, "before": self.history.outcome() if learnt else None})
        self._keep(entry)

    def _keep(self, entry: dict[str, Any]) -> None:
        """Know what is told."""
        if "skip" in entry:
            self.told.skip(entry["skip"])
            return
        if "tell" in entry:
            new = dict(zip(entry["tell"], entry["answers"], strict=True))
            if not self.history.n_open:
                self._before = self.follower.objective
            self.told.tell(new)
            self.history.add(new, entry["predicted"], entry["inside"])
        else:
            self.told.correct(entry["correct"], entry["answer"])
            self.history.correct(entry["correct"], entry["answer"])
        self._turn += 1

    def _foreseen(self, numbers: list[int]) -> tuple[list[Any], list[bool]]:
        """What the machine says of samples: their classes, and whether they are inside the band."""
        if self.follower.machine is None:
            return [None] * len(numbers), [False] * len(numbers)
        scores = self.follower.scores()
        inside = scores.closeness()[numbers] < EDGE if self.follower.has_band else np.zeros(len(numbers), dtype=bool)
        return scores.predict(np.array(numbers)).tolist(), inside.tolist()
