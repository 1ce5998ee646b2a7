"""Which samples to ask for.

A query rule is called with the learner and the numbers of the samples that may be asked for, and gives a number for
each of them: the smallest is asked for first.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.errors import NotSeparableError
from mercer.gram import MatrixGram
from mercer.multiclass import Tasks
from mercer.parameters import Choice, Number
from mercer.problems import DualProblems
from mercer.segments import Segments
from mercer.solvers import SolverResults
from mercer.svm.classification import SupportVectorClassifier
from mercer.threads import limit_threads

__all__ = ["Closest", "Farthest", "LeastSure", "Random", "Spread", "VersionSpace", "as_rule", "as_start"]

TINY = np.finfo(float).tiny
QueryRule = Callable[[Any, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Closest:
    """The sample closest to the hyperplane. [CY eqs 1.62-1.63; Campbell, Cristianini, Smola 2000]

    Whatever its label, it raises the dual objective most. Of several classes, the one closest to the hyperplane between
    the two classes that are best for it: that is where its class is decided, and others may be close to it without
    having a say. Where there are no machines for pairs of classes, half the difference of the two best decision values,
    which is the absolute decision value if there are two.
    """

    name: ClassVar[str] = "closest"

    def __call__(self, learner: Any, candidates: np.ndarray) -> np.ndarray:
        return learner.closeness()[candidates]


@dataclass(frozen=True)
class Random:
    """Any sample: what active learning is compared with.

    The order is drawn once from the `random_state` of the learner, and batches are parts of it: chance alone chooses.
    """

    name: ClassVar[str] = "random"

    def __call__(self, learner: Any, candidates: np.ndarray) -> np.ndarray:
        return learner.shuffled_[candidates].astype(np.float64)


@dataclass(frozen=True)
class Farthest:
    """The sample with the largest decision value for a wanted class: what a screening looks for. [Warmuth et al. 2003]

    Parameters
    ----------
    wanted : class, default=None
        None: the last of the classes, ``classes_[-1]``.
    """

    wanted: Any = None
    name: ClassVar[str] = "farthest"

    def __call__(self, learner: Any, candidates: np.ndarray) -> np.ndarray:
        known = learner.estimator_.classes_.tolist()
        wanted = learner.classes_.tolist()[-1] if self.wanted is None else self.wanted
        if wanted not in learner.classes_.tolist():
            raise ValueError(f"wanted must be one of the classes {learner.classes_.tolist()}, got {wanted!r}.")
        if wanted not in known:  # nobody has seen one yet
            return learner.closeness()[candidates]
        values, place = learner.decision()[candidates], known.index(wanted)
        return -values[:, place] if values.ndim == 2 else (values if place == 0 else -values)


@dataclass(frozen=True)
class LeastSure:
    """The sample whose most probable class is the least probable, by `predict_proba`."""

    name: ClassVar[str] = "probability"

    def __call__(self, learner: Any, candidates: np.ndarray) -> np.ndarray:
        if not hasattr(learner.estimator_, "predict_proba"):
            raise ValueError(
                f"rule='probability' needs an estimator with predict_proba, got {learner.estimator_!r}; "
                "use probability=True, or Calibrated."
            )
        return learner.probabilities().max(axis=1)[candidates]


@dataclass(frozen=True)
class VersionSpace:
    """The sample that halves the version space best, whatever its label. [Tong and Koller 2001]

    The size of the version space is told by the margin: both machines, with the sample on either side, are solved for
    the samples closest to the hyperplane. Two classes, `SVC` and `NuSVC`.

    Parameters
    ----------
    criterion : {"maxmin", "ratio"}, default="maxmin"
        The smaller of the two margins is to be as large as possible, or the two are to be as equal as possible.
    shortlist : int >= 1, default=32
        How many samples are tried.
    """

    criterion: str = "maxmin"
    shortlist: int = 32

    def __post_init__(self):
        for name, rule in (("criterion", Choice("maxmin", "ratio")), ("shortlist", Number(1, integer=True))):
            if problem := rule.problem(getattr(self, name)):
                raise ValueError(f"{name} {problem}")

    @property
    def name(self) -> str:
        """The criterion."""
        return self.criterion

    def __call__(self, learner: Any, candidates: np.ndarray) -> np.ndarray:
        machine = learner.estimator_
        if (
            not isinstance(machine, SupportVectorClassifier)
            or len(machine.classes_) != 2
            or machine._plan.n_machines > 1
        ):
            raise ValueError(f"rule={self.name!r} needs SVC or NuSVC with two classes, got {machine!r}.")
        scores = learner.closeness()[candidates]  # for the others: they come later
        closest = np.argsort(scores, kind="stable")[: self.shortlist]
        minus, plus = self.margins(learner, candidates[closest])
        smaller, larger = np.minimum(minus, plus), np.maximum(minus, plus)
        scores = scores + 1.0
        scores[closest] = -smaller if self.criterion == "maxmin" else -smaller / np.maximum(larger, TINY)
        return scores

    def margins(self, learner: Any, samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The margins of the machines with each of the samples in the first class, and in the second."""
        machine, labelled = learner.estimator_, learner.labelled_
        m, n = len(labelled), len(samples)
        codes = np.searchsorted(machine.classes_, learner.labels_)
        weight = machine._class_weights(codes, np.ones(m))
        # The labelled samples and one more, on either side of it.
        parts = Segments.of_sizes([m + 1] * (2 * n))
        index = np.column_stack([np.tile(np.arange(m), (2 * n, 1)), m + np.repeat(np.arange(n), 2)])
        side = np.tile([0, 1], n)
        price = np.column_stack([np.tile(weight, (2 * n, 1)), weight[[np.flatnonzero(codes == c)[0] for c in side]]])
        sign = np.column_stack([np.tile(np.where(codes == 1, 1.0, -1.0), (2 * n, 1)), np.where(side == 1, 1.0, -1.0)])
        ones = np.ones(index.size)
        tasks = Tasks(parts, index.ravel(), sign.ravel(), ones, ones)
        with limit_threads(learner.n_threads):
            part = learner.kernel_matrix(np.concatenate([labelled, samples]))
            gram = MatrixGram.of_checked(np.ascontiguousarray(part.rows(np.arange(m + n))), part.definite)
            problems = machine._problems(gram, tasks, price.ravel())
            starts = np.zeros(m + 1)
            starts[machine.support_] = np.abs(machine.dual_coef_[0])
            solver = machine._solver()
            try:
                results = solver.solve_many(problems, [starts] * (2 * n))
            except NotSeparableError:  # one of them has no margin: which one is found one by one
                return self._one_by_one(problems, solver)
            functions, _ = machine._functions(machine._plan.scheme, tasks, problems, SolverResults.of(results))
        return functions.margin[0::2], functions.margin[1::2]

    @staticmethod
    def _one_by_one(problems: DualProblems, solver: Any) -> tuple[np.ndarray, np.ndarray]:
        """Hard margins, zero where there is none. [CY eq 1.62]"""
        margins = np.zeros(len(problems))
        for k, problem in enumerate(problems):
            try:
                margins[k] = 1.0 / np.sqrt(2.0 * solver.solve(problem).dual_objective)
            except NotSeparableError:
                continue
        return margins[0::2], margins[1::2]


@dataclass(frozen=True)
class Spread:
    """The sample farthest, in feature space, from the nearest one that was answered or skipped; the first by chance."""

    name: ClassVar[str] = "spread"

    def __call__(self, learner: Any, candidates: np.ndarray) -> np.ndarray:
        if not len(learner.seen_):
            return learner.shuffled_[candidates].astype(np.float64)
        return -learner.squared_distances(learner.seen_)[candidates]


RULES: dict[str, Callable[[], QueryRule]] = {
    "closest": Closest,
    "random": Random,
    "farthest": Farthest,
    "probability": LeastSure,
    "maxmin": lambda: VersionSpace("maxmin"),
    "ratio": lambda: VersionSpace("ratio"),
}
STARTS: dict[str, Callable[[], QueryRule]] = {"random": Random, "spread": Spread}


def as_rule(rule: Any, names: dict[str, Callable[[], QueryRule]] | None = None, parameter: str = "rule") -> QueryRule:
    """A rule by its name, or a callable as it is."""
    names = RULES if names is None else names
    if isinstance(rule, str) and rule in names:
        return names[rule]()
    if callable(rule) and not isinstance(rule, type):
        return rule
    raise ValueError(f"{parameter} must be {' or '.join(map(repr, names))} or a rule, got {rule!r}.")


def as_start(start: Any) -> QueryRule:
    """What to ask for before two classes have been seen."""
    return as_rule(start, STARTS, "start")
