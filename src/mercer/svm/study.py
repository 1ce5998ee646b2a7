"""What a machine is to learn from samples, whichever of them it sees and whatever its parameters are.

A `Study` has checked the samples once. A `Lesson` is what a machine, with its parameters, makes of some of them: its
problems, and from their solutions its decision functions. Cross-validation over a kernel matrix stands on these.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from mercer.devices.arrays import from_device
from mercer.gram import Gram
from mercer.kernels.samples import n_samples, take
from mercer.multiclass import JointScheme, Plan, Tasks
from mercer.problems import DualProblems
from mercer.segments import Segments
from mercer.solvers import SolverResults
from mercer.svm.base import SparseRows
from mercer.svm.classification import SupportVectorClassifier
from mercer.svm.novelty import NoveltyDetector
from mercer.svm.regression import SupportVectorRegressor

__all__ = ["Lesson", "Study", "study"]


class Decisions(NamedTuple):
    """Decision functions: coefficients of the samples, a row for each, and offsets."""

    coefficients: SparseRows
    offset: np.ndarray


class Lesson(ABC):
    """The problems of a machine for some of the samples."""

    machine: Any
    problems: DualProblems
    n_lessons: int = 1
    """How many lessons lie side by side."""

    def without(self, tests: Sequence[np.ndarray]) -> "Lesson":
        """The lessons without some samples, for every set of such, side by side in one.

        What is learnt without a sample is another lesson, unless every sample has a price of its own: see
        `is_restriction`.
        """
        return self._repeated(self.problems.without(tests), len(tests))

    def on_blocks(self, gram: Gram, times: int) -> "Lesson":
        """The lesson again for every block of a Gram matrix of so many blocks, side by side in one."""
        return self._repeated(self.problems.on_blocks(gram, times), times)

    def _repeated(self, problems: DualProblems, times: int) -> "Lesson":
        lesson = copy(self)
        lesson.problems, lesson.n_lessons = problems, times
        return lesson

    def is_restriction(self, other: "Lesson") -> bool:
        """Whether the other lesson, of some of the samples, is this one without the others."""
        ours, theirs = self.problems, other.problems
        kept = np.isin(ours.samples, theirs.samples)
        names = ("samples", "sign", "linear", "upper", "ridge")
        pairs = [(getattr(ours, name)[kept], getattr(theirs, name)) for name in names]
        pairs += [(getattr(ours, name), getattr(theirs, name)) for name in ("equality", "totals", "scaled")]
        # A hard margin without a sample is one, with its multiplier at zero it is none.
        bounded = bool((np.isfinite(ours.upper) | (ours.ridge > 0)).all())
        return bounded and all(np.array_equal(mine, its) for mine, its in pairs)

    @abstractmethod
    def functions(self, results: SolverResults) -> Decisions:
        """Decision functions, from the solutions of the problems."""

    @abstractmethod
    def decision(self, values: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
        """What `decision_function` gives, from the values of all functions, shape (m, n_functions), and k(x, x)."""

    @abstractmethod
    def predict(self, decision: np.ndarray) -> np.ndarray:
        """Predictions, from what `decision_function` gives."""


class Study(ABC):
    """Checked samples.

    Attributes
    ----------
    X : samples
    weight : array of shape (n,)
    y : array of shape (n,) or (n, n_outputs), or None
        What predictions are compared with.
    """

    X: Any
    weight: np.ndarray
    y: Any

    @abstractmethod
    def lesson(self, machine: Any, gram: Gram, train: np.ndarray) -> Lesson:
        """What the machine is to learn from the samples of these numbers; those of weight zero are left out."""

    def taken(self, X: Any, order: np.ndarray) -> "Study":
        """The study of the samples in another order; X is in it already."""
        other = copy(self)
        other.X, other.weight = X, self.weight[order]
        other.y = None if self.y is None else take(self.y, order)
        return other

    def seen(self, train: np.ndarray) -> np.ndarray:
        """The samples that count."""
        return train[self.weight[train] > 0]


def study(machine: Any, X: Any, y: Any, sample_weight: Any) -> Study | None:
    """The study of a machine; None for one whose lessons are not problems over a kernel matrix.

    The machine notes what it sees of the samples: features and classes.
    """
    if getattr(machine, "approximation", None) is not None:
        return None
    if isinstance(machine, SupportVectorClassifier):
        scheme = machine._scheme
        other = isinstance(scheme, JointScheme) or scheme.calibrated or machine.probability
        return None if other else Classified(machine, X, y, sample_weight)
    if isinstance(machine, SupportVectorRegressor):
        return Measured(machine, X, y, sample_weight)
    return Gathered(machine, X, y, sample_weight) if isinstance(machine, NoveltyDetector) else None


# --- classes ----------------------------------------------------------------------------------------------


class Classified(Study):
    """Samples with classes."""

    def __init__(self, machine: SupportVectorClassifier, X: Any, y: Any, sample_weight: Any):
        machine._check_all()
        X, self.y = machine._take_samples(X, y)
        self.X = from_device(X)
        self.weight = machine._weights(sample_weight, self.X)
        self.codes = machine._encode(self.y, self.weight)
        self.classes = machine.classes_
        self._seen: dict[Any, SeenClasses] = {}

    def taken(self, X, order):
        other = super().taken(X, order)
        other.codes, other._seen = self.codes[order], {}
        return other

    def lesson(self, machine, gram, train):
        seen = self._classes(machine, train)
        machine.classes_ = seen.classes
        problems = machine._problems_of(seen.plan.scheme, gram, seen.tasks, seen.weight)
        return ClassLesson(machine, seen.plan, seen.tasks, problems)

    def _classes(self, machine: SupportVectorClassifier, train: np.ndarray) -> "SeenClasses":
        """The tasks for some samples, which do not depend on prices: they are made once."""
        scheme = machine.multi_class if isinstance(machine.multi_class, str) else repr(machine.multi_class)
        key = (id(train), scheme, repr(machine.class_weight), getattr(machine, "loss", "hinge"))
        if key not in self._seen:
            # Only what is seen counts: a class may be missing.
            codes, known = np.full(len(self.codes), -1), self.seen(train)
            present, codes[known] = np.unique(self.codes[known], return_inverse=True)
            if len(present) < 2:
                raise ValueError(
                    f"cv leaves {len(present)} class to train on in one of its splits, a classifier needs two."
                )
            machine.classes_ = self.classes[present]
            plan = machine._scheme.plan(len(present), key[-1])
            tasks = plan.tasks(codes, self.weight)
            weight = (self.weight * machine._class_weights(codes, self.weight))[tasks.samples]
            self._seen[key] = SeenClasses(train, machine.classes_, plan, tasks, weight)
        return self._seen[key]


class SeenClasses(NamedTuple):
    """What some samples have of the classes."""

    train: np.ndarray
    """Kept so that its identity is its own."""
    classes: np.ndarray
    plan: Plan
    tasks: Tasks
    weight: np.ndarray
    """Of the samples of the tasks."""


class ClassLesson(Lesson):
    """Machines between classes."""

    def __init__(self, machine: SupportVectorClassifier, plan: Plan, tasks: Tasks, problems: DualProblems):
        self.machine, self.plan, self.tasks, self.problems = machine, plan, tasks, problems
        self.classes = machine.classes_

    def _repeated(self, problems, times):
        lesson = super()._repeated(problems, times)
        arrays = {name: np.tile(getattr(self.tasks, name), times) for name in ("sign", "cost", "target")}
        lesson.tasks = Tasks(parts=lesson.problems.parts, samples=lesson.problems.samples, **arrays)
        return lesson

    def functions(self, results):
        functions, _ = self.machine._functions(self.plan.scheme, self.tasks, self.problems, results)
        return Decisions(functions.coefficients, functions.offset)

    def decision(self, values, diagonal):
        return self.plan.decision(values)

    def predict(self, decision):
        return self.classes[(decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)]


# --- values -----------------------------------------------------------------------------------------------


class Measured(Study):
    """Samples with values."""

    def __init__(self, machine: SupportVectorRegressor, X: Any, y: Any, sample_weight: Any):
        machine._check_all()
        self.X, self.y = machine._take_targets(X, y)
        self.weight = machine._weights(sample_weight, self.X)

    def lesson(self, machine, gram, train):
        return ValueLesson(machine, gram, self.seen(train), self.y, self.weight)


class ValueLesson(Lesson):
    """A tube for every output."""

    def __init__(self, machine: SupportVectorRegressor, gram: Gram, train: np.ndarray, y: np.ndarray, weight: Any):
        self.machine, self.train, self.single = machine, train, y.ndim == 1
        targets = y[:, np.newaxis] if self.single else y
        self.problems = DualProblems.of(
            [machine._problem(gram, train, column[train], weight[train]) for column in targets.T]
        )

    def functions(self, results):
        # Of every problem the variables that push up, and then, for the same samples, those that push down.
        parts = Segments.of_sizes(self.problems.parts.sizes // 2)
        up = self.problems.sign > 0
        values, offset = results.a[up] - results.a[~up], [self.machine._tube(result)[0] for result in results]
        return Decisions(SparseRows(parts, self.problems.samples[up], values), np.array(offset))

    def decision(self, values, diagonal):
        return values[:, 0] if self.single else values

    def predict(self, decision):
        return decision


# --- one class --------------------------------------------------------------------------------------------


class Gathered(Study):
    """Samples of one class, perhaps with labels +1 and -1 to compare with, which are not learnt from."""

    def __init__(self, machine: NoveltyDetector, X: Any, y: Any, sample_weight: Any):
        machine._check_all()
        self.X = from_device(machine._take_samples(X))
        self.weight = machine._weights(sample_weight, self.X)
        self.y = None if y is None else np.asarray(y)
        if self.y is not None and self.y.shape != (n_samples(self.X),):
            raise ValueError(f"y must have one label for each of {n_samples(self.X)} samples, got {self.y.shape}.")

    def lesson(self, machine, gram, train):
        return NoveltyLesson(machine, gram, self.seen(train), self.weight)


class NoveltyLesson(Lesson):
    """A hyperplane or a ball around the samples."""

    def __init__(self, machine: NoveltyDetector, gram: Gram, train: np.ndarray, weight: np.ndarray):
        self.machine, self.train = copy(machine), train
        self.problem = machine._problem(gram, weight[train], train)
        self.problems = DualProblems.of([self.problem])

    def functions(self, results):
        values, intercept, _ = self.machine._set_model(self.problem, results[0])
        return Decisions(SparseRows(Segments.of_sizes([len(self.train)]), self.train, values), np.array([intercept]))

    def decision(self, values, diagonal):
        return self.machine._decision_from(values[:, 0], diagonal)

    def predict(self, decision):
        return np.where(decision >= 0, 1, -1)
