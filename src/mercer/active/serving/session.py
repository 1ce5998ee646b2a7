"""What the page shows and does: one learner, one question at a time, whoever asks.

A learner that asks for batches is told every answer at once, and learns when all of a batch are there.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from string import ascii_lowercase
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from mercer.active.serving.samples import Shown
from mercer.kernels.samples import n_samples

__all__ = ["NotSaved", "Session", "Stale", "keys_of"]

BINS = 41  # of the histogram: an odd number, so that zero is the middle of a bin
WINDOW = 20  # answers over which agreement is counted
MOST_POINTS = 400  # of a curve
RECENT = 8  # answers that can be corrected on the page

ADVICE = {
    "band": "No unlabelled sample is left within the margin band: more answers would hardly move the boundary.",
    "objective": "The last answers did not raise the objective: the boundary has settled.",
    "mistakes": "The machine foresaw the last answers: it has learnt what it can ask for here.",
    "budget": "The budget of answers is spent.",
    "pool": "",  # said by the question that is not there
}


class Stale(Exception):
    """The question was answered meanwhile: by a second tab, or by the form of an older question."""


class NotSaved(Exception):
    """The learner did not take an answer, and nothing was changed."""


class Session:
    """A learner that is asked from several threads.

    What the page shows is a dict that is replaced and never changed, so that it can be read while the learner is at
    work. Every change has a version, and every question a number, which an answer has to name: of two answers to the
    same question one is taken.

    Parameters
    ----------
    learner : ActiveLearner
    show : callable, samples or None
        See `mercer.active.ActiveLearner.serve`.
    """

    def __init__(self, learner: Any, show: Any = None):
        self._learner = learner
        self._shown = Shown(learner.pool, show)
        self._classes: list[Any] = []
        self._learn_classes()
        self._working = threading.RLock()  # around the learner
        self._publishing = threading.Lock()  # around the state, for an instant
        self._accepted: Any = None
        self._batch: list[int] = []  # samples that were asked for together and have no answer yet
        self._learnt: dict[str, Any] = {}  # what the page shows of the machine that has asked for them
        self._values: np.ndarray | None = None  # and what that says of the pool
        self._order: list[int] = []  # in which samples were answered or skipped
        self.state: dict[str, Any] = {"version": 0, "question": 0}
        self._publish(self._facts(strict=True))

    def act(self, question: int, action: tuple[Any, ...]) -> dict[str, Any]:
        """Take an answer to a question, and learn from it.

        Parameters
        ----------
        question : int
            The number of the question.
        action : tuple
            ``("answer", k)``: it is of class number k; ``("skip",)``: nobody can tell; ``("correct", i, k)``: sample i,
            which was answered or skipped before, is of class number k.

        Returns
        -------
        dict
            The state after it. The same action a second time, a double click or a request that was sent again,
            changes nothing.

        Raises
        ------
        Stale
            If this is not the question now.
        NotSaved
            If the learner refuses the answer, or cannot write it down.
        ValueError
            If there is no such class or action.
        """
        self._check(action)
        with self._publishing:
            before = self.state
            if (question, action) == self._accepted:
                return before
            if question != before["question"] or before["status"] == "learning":
                raise Stale
            if action[0] != "correct" and before["status"] != "asking":
                raise Stale
            self._accepted = (question, action)
            self.state = {**before, "status": "learning", "version": before["version"] + 1}
        with self._working:
            known = self._known()
            try:
                self._tell(before["index"], action)
            except Exception as error:
                if self._known() == known:
                    self._accepted = None
                    self._look_again()
                    raise NotSaved(f"{type(error).__name__}: {error}") from error
                # It was written down, and could not be learnt: looking again shows that.
            # A correction may change what is worth asking for.
            self._batch = [] if action[0] == "correct" else self._batch[1:]
            self._look_again()
            return self.state

    def _known(self) -> tuple[list[Any], ...]:
        """What the learner has been told."""
        learner = self._learner
        return learner.labelled_.tolist(), learner.labels_.tolist(), learner.skipped_.tolist()

    def picture(self, i: int) -> dict[str, Any]:
        """The picture of a sample that was answered or skipped before."""
        with self._working:
            if i not in self._learner.seen_:
                raise ValueError(f"index must be that of a sample that was asked for before, got {i}.")
            return self._picture(i)

    @contextmanager
    def paused(self) -> Iterator[Any]:
        """The learner, while the page takes no answers."""
        with self._working:
            self._publish({"status": "learning"})
            try:
                yield self._learner
            finally:
                self._batch = []
                self._look_again()

    # --- the learner ----------------------------------------------------------------------------------------

    def _check(self, action: tuple[Any, ...]) -> None:
        kind, *numbers = action
        if kind not in ("answer", "skip", "correct") or len(numbers) != {"answer": 1, "skip": 0, "correct": 2}[kind]:
            raise ValueError(f"An action is an answer, a skip or a correction, got {action!r}.")
        if any(type(number) is not int for number in numbers):
            raise ValueError(f"An action names its sample and its class by numbers, got {action!r}.")
        if numbers and not 0 <= numbers[-1] < len(self._classes):
            raise ValueError(f"label must be an int >= 0 and < {len(self._classes)}, got {numbers[-1]}.")

    def _tell(self, index: int, action: tuple[Any, ...]) -> None:
        kind, *numbers = action
        if kind == "skip":
            self._learner.skip(index)
        elif kind == "answer" and len(self._batch) > 1:
            self._learner.tell(index, self._classes[numbers[0]], learn=False)
        elif kind == "answer":
            self._learner.tell(index, self._classes[numbers[0]])
        else:
            index, label = numbers[0], self._classes[numbers[1]]
            (self._learner.tell if index in self._learner.skipped_ else self._learner.correct)(index, label)

    def _look_again(self) -> None:
        """Ask on. A fault is shown on the page, where the last answer can be corrected."""
        self._learn_classes()
        try:
            facts = self._facts()
        except Exception as error:
            facts = {"status": "failed", "message": f"{type(error).__name__}: {error}", **self._counts()}
        self._publish({**facts, "question": self.state["question"] + 1})

    def _learn_classes(self) -> None:
        """Classes in the order in which they were given, or told: a class keeps its number."""
        learner = self._learner
        given = learner.classes_ if learner.classes is None else learner.classes
        classes = [label.item() if isinstance(label, np.generic) else label for label in given]
        self._classes = list(dict.fromkeys([*self._classes, *classes]))
        if len(self._classes) < 2:
            raise ValueError(
                f"classes must be at least two for a page to ask for them, got {classes}; "
                "give them to the learner: ActiveLearner(..., classes=[...])."
            )

    def _publish(self, changes: dict[str, Any]) -> None:
        with self._publishing:
            self.state = {**self.state, **changes, "version": self.state["version"] + 1}

    # --- what is shown --------------------------------------------------------------------------------------

    def _facts(self, strict: bool = False) -> dict[str, Any]:
        if not self._batch:
            self._ask()
        index = self._batch[0] if self._batch else None
        return {
            "status": "finished" if index is None else "asking",
            "index": index,
            "sample": None if index is None else self._picture(index, strict),
            "classes": [str(label) for label in self._classes],
            "keys": keys_of([str(label) for label in self._classes]),
            **self._counts(),
            "window": WINDOW,
            "curve": _curve(self._learner.history_),
            "kept": self._learner.path is not None,
            **self._learnt,
            "value": None if index is None or self._values is None else float(self._values[index]),
        }

    def _ask(self) -> None:
        """A batch of samples from the learner, after what was told is learnt."""
        learner = self._learner
        size = learner.batch
        if learner.budget is not None:  # who has spent it and goes on is asked on
            left = learner.budget - len(learner.labelled_)
            size = min(size, left) if left > 0 else size
        batch = learner.query(size).tolist()
        self._values = self._decision_values()
        self._learnt = {
            "histogram": self._histogram(),
            "advice": _advice(learner.stopped_),
            "message": self._refusal(),
        }
        self._batch = batch

    def _counts(self) -> dict[str, Any]:
        learner = self._learner
        return {
            "answers": len(learner.labelled_),
            "skipped": len(learner.skipped_),
            "pool": n_samples(learner.pool),
            "waiting": len(self._batch),
            "recent": self._recent(),
        }

    def _picture(self, i: int, strict: bool = False) -> dict[str, Any]:
        try:
            return self._shown(i)
        except Exception as error:
            if strict:
                raise
            return {"kind": "failed", "text": f"{type(error).__name__}: {error}"}

    def _recent(self) -> list[dict[str, Any]]:
        """The last answers, the latest first; a label of None is a sample that nobody could tell."""
        answers = dict(zip(self._learner.labelled_.tolist(), self._learner.labels_.tolist(), strict=True))
        before = set(self._order)
        self._order += [i for i in self._learner.seen_.tolist() if i not in before]
        last = reversed(self._order[-RECENT:])
        return [{"index": i, "label": self._classes.index(answers[i]) if i in answers else None} for i in last]

    def _refusal(self) -> str:
        """Why there is no machine although there are answers of two classes."""
        learner = self._learner
        if learner.is_fitted or len(set(learner.labels_.tolist())) < 2:
            return ""
        try:
            learner.estimator_  # noqa: B018
        except NotFittedError as error:
            return str(error)
        return ""

    def _decision_values(self) -> np.ndarray | None:
        """Of two classes, the decision values of the pool; of more, the distances from the nearest hyperplane."""
        learner = self._learner
        if not learner.is_fitted or not hasattr(learner.estimator_, "decision_function"):
            return None
        return learner.decision() if len(learner.estimator_.classes_) == 2 else learner.closeness()

    def _histogram(self) -> dict[str, Any] | None:
        """How many samples of the pool have which values."""
        values = self._values
        if values is None:
            return None
        known = self._learner.estimator_.classes_
        signed = len(known) == 2
        width = max(1.5, float(np.abs(values).max()) * 1.02)
        counts, edges = np.histogram(values, bins=BINS, range=(-width if signed else 0.0, width))
        ticks = [[-1, "−1"], [0, "0"], [1, "+1"]] if signed else [[0, "0"], [1, "1"]]
        return {
            "counts": counts.tolist(),
            "edges": edges.round(6).tolist(),
            "sides": [str(label) for label in known] if signed else None,
            "band": [-1 if signed else 0, 1],
            "ticks": ticks,
            "inside": int(np.count_nonzero(self._learner.in_band())),
        }


def keys_of(classes: Sequence[str]) -> list[list[str]]:
    """The keys of the keyboard that stand for each class.

    A class of one character has that key. Where no class has a digit in its name, the first nine have 1 to 9 by their
    order. Besides, each has a digit that is in its name alone, or the first free character of its name, or the first
    free letter. So classes 0 to 9 are typed as they are, and spam and ham by 1 and 2 or by s and h.

    Parameters
    ----------
    classes : sequence of str
        Their names.

    Returns
    -------
    list of list of str
        Lower case; empty where no key was left.
    """
    names = [name.lower() for name in classes]
    taken = {"?", " "}  # the first is "cannot tell", the second presses the button in focus
    keys: list[list[str]] = [[] for _ in names]

    def give(number: int, candidates: Sequence[str]) -> None:
        for key in candidates:
            if key not in taken and key.isprintable():
                taken.add(key)
                keys[number].append(key)
                return

    for number, name in enumerate(names):
        if len(name) == 1:
            give(number, name)
    if not any(character.isdigit() for name in names for character in name):
        for number in range(min(9, len(names))):
            if not keys[number]:
                give(number, [str(number + 1)])
    for number, name in enumerate(names):
        if len(name) != 1 or not keys[number]:
            others = "".join(names[:number] + names[number + 1 :])
            own_digits = [c for c in name if c.isdigit() and c not in others]
            give(number, [*own_digits, *name, *ascii_lowercase])
    return keys


def _curve(history: Sequence[Any]) -> dict[str, list[Any]]:
    """Agreement of the last predictions with the answers, and the number of samples in the band, by answers."""
    right = [None if r.predicted is None else bool(r.predicted == r.answer) for r in history]
    points = []
    for k, record in enumerate(history):
        known = [value for value in right[max(0, k + 1 - WINDOW) : k + 1] if value is not None]
        points.append((record.n_labels, sum(known) / len(known) if known else None, record.band))
    kept = points[:: max(1, -(-len(points) // MOST_POINTS))]
    if points and kept[-1] != points[-1]:
        kept.append(points[-1])
    n, agreement, band = (list(column) for column in zip(*kept, strict=True)) if kept else ([], [], [])
    return {"answers": n, "agreement": agreement, "band": band}


def _advice(rule: str) -> str:
    return ADVICE.get(rule, f"The rule {rule!r} says stop.") if rule else ""
