"""Features taken away batch by batch, with a machine fitted again each time: natively, or by refits for any kernel."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone

from mercer import _native
from mercer.errors import NotSeparableError
from mercer.gram import Gram, make_gram
from mercer.kernels import Linear, as_kernel
from mercer.kernels.base import Kernel
from mercer.kernels.vectors.base import VectorKernel
from mercer.multiclass import JointScheme, OwnMachines
from mercer.problems import DualProblems
from mercer.solvers.base import STATUSES
from mercer.solvers.smo import NO_MARGIN, NOT_SEPARABLE, STATUS_NAMES
from mercer.svm import SVC, SVR
from mercer.svm.classification import SupportVectorClassifier
from mercer.threads import effective_n_threads

__all__ = ["EliminationResult", "Lesson", "Trace", "eliminate", "sizes_of"]

# A kernel of given numbers is computed afresh from the features that are left when so many of them are; one that takes
# a number from the data, such as gamma="scale", takes it anew sooner.
STRETCH, STRETCH_OF_RULES = 0.5, 0.9
# Above so many samples, or as many kernel values with test samples, two kernel matrices in memory are too much.
LARGEST = 5000
# Squares of larger values, summed up, would be infinite.
LARGEST_VALUE = 1e150
# Decision values of test samples that one native call may hand back.
AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class EliminationResult:
    """The certificates of all fits of an elimination, an entry for every fit in arrays."""

    n_features: np.ndarray
    """How many features there were."""
    objectives: np.ndarray
    """Of the dual, over all machines."""
    gaps: np.ndarray
    """How far from the optimum the objectives are, at most."""
    violations: np.ndarray
    """The largest violation of the optimality conditions."""
    iterations: np.ndarray
    """Steps of the solver."""
    statuses: np.ndarray
    """How the fits ended, the worst of all machines, see `mercer.solvers.SolverResult`."""

    @property
    def violation(self) -> float:
        """The largest violation of all fits."""
        return float(self.violations.max(initial=0.0))

    @property
    def gap(self) -> float:
        """The largest gap of all fits."""
        return float(self.gaps.max(initial=0.0))

    @property
    def n_iter(self) -> int:
        """Steps of the solver in all fits."""
        return int(self.iterations.sum())

    @property
    def status(self) -> str:
        """The worst status of all fits."""
        return max(self.statuses.tolist(), key=STATUSES.index, default="solved")

    @classmethod
    def joined(cls, n_features: Sequence[int], parts: "Sequence[Fits]") -> "EliminationResult":
        """From the fits of stretches that follow each other."""
        if not parts:
            nothing = np.empty(0)
            return cls(np.empty(0, dtype=np.int64), nothing, nothing, nothing, nothing, np.empty(0, dtype=object))
        return cls(np.array(n_features, dtype=np.int64), *map(np.concatenate, zip(*parts, strict=True)))


class Fits(NamedTuple):
    """Certificates of some fits, see `EliminationResult`."""

    objectives: np.ndarray
    gaps: np.ndarray
    violations: np.ndarray
    iterations: np.ndarray
    statuses: np.ndarray


class Trace(NamedTuple):
    """What an elimination leaves."""

    order: np.ndarray
    """Columns, the first to go first."""
    losses: np.ndarray
    """What the dual objective lost with each of them."""
    predictions: np.ndarray
    """Of the test samples at every size, shape (n_sizes, n_tests) or (n_sizes, n_tests, n_outputs)."""
    result: EliminationResult


class Steps(NamedTuple):
    """What a stretch of an elimination leaves; the order is in terms of the columns that were left."""

    order: np.ndarray
    losses: np.ndarray
    predictions: np.ndarray
    fits: Fits


@dataclass(frozen=True, eq=False)
class Lesson:
    """What an elimination learns from, and the samples that it is judged by."""

    machine: Any
    X: Any
    y: np.ndarray
    weight: np.ndarray
    X_test: Any


class Engine(Protocol):
    """Takes features away with a kernel that does not change."""

    def run(self, kernel: Kernel, left: np.ndarray, batches: list[int]) -> Steps:
        """For every batch a fit, a look at the test samples, and so many features less."""
        ...


def sizes_of(n_features: int, smallest: int, step: float) -> list[int]:
    """The numbers of features, from all to the smallest; a step below 1 is a share of those left."""
    sizes = [n_features]
    while sizes[-1] > smallest:
        batch = max(1, int(step * sizes[-1])) if step < 1 else int(step)
        sizes.append(max(smallest, sizes[-1] - batch))
    return sizes


def eliminate(lesson: Lesson, sizes: list[int]) -> Trace:
    """From the first of the sizes to the last.

    There is a fit at every size, at the last only if there are test samples.
    """
    given, left = as_kernel(lesson.machine.kernel), np.arange(lesson.X.shape[1])
    kernel = given.resolve(lesson.X, lesson.weight)
    check_kernel(kernel)
    engine: Engine = NativeEngine(lesson, kernel) if is_native(lesson, kernel) else Refits(lesson)
    order, steps = [np.empty(0, dtype=np.int64)], []
    batches = [before - after for before, after in pairwise(sizes)]
    if lesson.X_test.shape[0]:
        batches.append(0)
    done = 0
    while done < len(batches):
        last, share = done + 1, STRETCH if kernel == given else STRETCH_OF_RULES
        while last < len(batches) and sizes[last] > share * len(left):
            last += 1
        steps.append(engine.run(kernel, left, batches[done:last]))
        order.append(left[steps[-1].order])
        left = np.delete(left, steps[-1].order)
        done = last
        if done < len(batches):
            kernel = given.resolve(lesson.X[:, left], lesson.weight)
    return Trace(
        order=np.concatenate(order),
        losses=np.concatenate([np.empty(0), *(step.losses for step in steps)]),
        predictions=np.concatenate([step.predictions for step in steps] or [np.empty((0, 0))]),
        result=EliminationResult.joined(sizes[: len(batches)], [step.fits for step in steps]),
    )


def check_kernel(kernel: Kernel) -> None:
    """Refuse kernels that would not know what to do with fewer features."""
    spec = kernel.native()
    if spec is not None and spec.weights is not None:
        raise ValueError(f"kernel must have no parameter with a number for every feature, got {kernel!r}.")


def is_native(lesson: Lesson, kernel: Kernel) -> bool:
    """Whether the problems of the machine have one equality at most, over a transform of a measure alone."""
    machine, spec = lesson.machine, kernel.native() if isinstance(kernel, VectorKernel) else None
    n = len(lesson.y)
    return (
        (isinstance(machine, SVR) or has_simple_scheme(machine))
        and isinstance(machine.solver, str)
        and machine.solver == "smo"
        and machine.callback is None
        and spec is not None
        and spec.transform not in ("cosine", "tanimoto")
        and n * (n + lesson.X_test.shape[0]) <= LARGEST**2
    )


def has_simple_scheme(machine: Any) -> bool:
    """Whether these are the machines of `SVC`, for two classes each."""
    return (
        isinstance(machine, SVC)
        and not isinstance(machine._scheme, JointScheme | OwnMachines)
        and not machine._scheme.calibrated
    )


class Functions(NamedTuple):
    """What a machine learns: a problem for each function, and what their values stand for."""

    problems: DualProblems
    predict: Callable[[np.ndarray], np.ndarray]
    """Classes or values of samples, from the values of the functions in columns."""
    has_offset: bool


def functions_of(lesson: Lesson, gram: Gram) -> Functions:
    """Those of the machine of a lesson."""
    machine, y, weight = lesson.machine, lesson.y, lesson.weight
    if isinstance(machine, SVR):
        columns = y.reshape(len(y), -1).T
        problems = DualProblems.of([machine._problem(gram, np.arange(len(y)), column, weight) for column in columns])
        return Functions(problems, lambda values: values.reshape(-1, *y.shape[1:]), has_offset=True)
    codes = machine._encode(y, weight)
    plan = machine._scheme.plan(len(machine.classes_), machine.loss)
    tasks = plan.tasks(codes, weight)
    price = weight * machine._class_weights(codes, weight)

    problems = machine._problems_of(plan.scheme, gram, tasks, price[tasks.samples])

    def predict(values: np.ndarray) -> np.ndarray:
        scores = np.c_[-values, values] if plan.n_machines == 1 else plan.scores(values)
        return np.take(machine.classes_, scores.argmax(axis=1))

    return Functions(problems, predict, machine.fit_intercept)


class NativeEngine:
    """One native call for a stretch: see cpp/mercer/elimination.hpp."""

    def __init__(self, lesson: Lesson, kernel: Kernel):
        self.machine, n = lesson.machine, len(lesson.y)
        self.problems, self.predict, has_offset = functions_of(lesson, make_gram(kernel, lesson.X))
        self.a = self.problems.feasible()
        X, X_test = kernel.prepare(lesson.X, lesson.X_test)
        self.columns = np.concatenate([dense_columns(X), dense_columns(X_test)], axis=1)
        if abs(self.columns).max(initial=0.0) > LARGEST_VALUE:
            raise ValueError(f"The features are too large: the values of {kernel!r} overflow. Rescale them.")
        if isinstance(kernel, Linear) and has_offset:
            # An offset makes up for it, and nothing is lost to rounding.
            self.columns -= self.columns[:, :n].mean(axis=1, keepdims=True)
        self.tests = np.arange(n, self.columns.shape[1])

    def run(self, kernel: Kernel, left: np.ndarray, batches: list[int]) -> Steps:
        """See `Engine`."""
        steps, some = [], max(1, AT_ONCE // max(1, len(self.tests) * len(self.problems)))
        rest = np.arange(len(left))
        for first in range(0, len(batches), some):
            part = self._call(kernel, left[rest], batches[first : first + some])
            steps.append(part._replace(order=rest[part.order]))
            rest = np.delete(rest, part.order)
        order, losses, predictions, fits = zip(*steps, strict=True)
        joined = Fits(*map(np.concatenate, zip(*fits, strict=True)))
        return Steps(np.concatenate(order), np.concatenate(losses), np.concatenate(predictions), joined)

    def _call(self, kernel: Kernel, left: np.ndarray, batches: list[int]) -> Steps:
        problems, machine, spec = self.problems, self.machine, kernel.native()
        assert spec is not None
        solver = machine._solver()
        order, losses, self.a, numbers, counts, decisions = _native.eliminate(
            spec[:3],
            np.ascontiguousarray(self.columns[left]),
            problems.native(),
            self.a,
            np.array(batches, dtype=np.int64),
            self.tests,
            machine.tol,
            np.inf if machine.gap_tol is None else float(machine.gap_tol),
            solver._most_steps(int(problems.parts.sizes.max())),
            np.inf if machine.max_seconds is None else float(machine.max_seconds),
            NO_MARGIN,
            effective_n_threads(),
        )
        m = len(problems)
        fits = fits_of(numbers.reshape(-1, m, 3), counts.reshape(-1, m, 2), kernel)
        n_fits = len(fits.statuses)
        if "unbounded" in fits.statuses:
            n_left = len(left) - sum(batches[: n_fits - 1])
            raise NotSeparableError(f"With {n_left} features left: {NOT_SEPARABLE}")
        found = self.predict(decisions.reshape(-1, m))
        return Steps(order, losses, found.reshape(n_fits, len(self.tests), *found.shape[1:]), fits)


def fits_of(numbers: np.ndarray, counts: np.ndarray, kernel: Kernel) -> Fits:
    """From (objective, gap, violation) and (n_iter, status) of every machine, shapes (n_fits, n_machines, 3 and 2)."""
    objectives, gaps, violations = np.moveaxis(numbers, 2, 0)
    names = STATUS_NAMES[counts[..., 1]]
    if not kernel.definite:
        names, gaps = np.where(names == "solved", "indefinite", names), np.full(gaps.shape, np.inf)
    return Fits(
        objectives=objectives.sum(axis=1),
        gaps=gaps.sum(axis=1),
        violations=violations.max(axis=1),
        iterations=counts[..., 0].sum(axis=1),
        statuses=np.array([worst(of_fit) for of_fit in names.tolist()], dtype=object),
    )


class Refits:
    """The machine fitted to the columns that are left, and its kernel computed without each of them in turn."""

    def __init__(self, lesson: Lesson):
        self.lesson = lesson
        self.machine = clone(lesson.machine).set_params(warm_start=True)
        if isinstance(self.machine, SupportVectorClassifier):
            self.machine.set_params(probability=False)
        self.machine._warns = False

    def run(self, kernel: Kernel, left: np.ndarray, batches: list[int]) -> Steps:
        """See `Engine`."""
        places, order, losses, predictions, results = np.arange(len(left)), [], [], [], []
        self.machine.set_params(kernel=kernel)
        for batch in batches:
            some = left[places]
            self.machine.fit(self.lesson.X[:, some], self.lesson.y, self.lesson.weight)
            results.append(self.machine.result_)
            if self.lesson.X_test.shape[0]:
                predictions.append(self.machine.predict(self.lesson.X_test[:, some]))
            if batch:
                loss = losses_of(self.machine)
                first = np.argsort(loss, kind="stable")[:batch]
                order.append(places[first])
                losses.append(loss[first])
                places = np.delete(places, first)
        names = ("objective", "gap", "violation", "n_iter", "status")
        fits = Fits(*(np.array([getattr(result, name) for result in results]) for name in names))
        return Steps(
            order=np.concatenate([np.empty(0, dtype=np.int64), *order]),
            losses=np.concatenate([np.empty(0), *losses]),
            predictions=np.array(predictions) if predictions else np.empty((len(batches), 0)),
            fits=fits,
        )


def losses_of(machine: Any) -> np.ndarray:
    """By how much the dual objective of a fitted machine changes without each feature, its multipliers held fixed."""
    if isinstance(machine.kernel_, Linear):
        return 0.5 * (machine.coef_**2).sum(axis=0)
    rows = machine.dual_coef_.toarray() if issparse(machine.dual_coef_) else machine.dual_coef_
    support, kernel = machine.support_vectors_, machine.kernel_
    quadratic = half_quadratic(rows, kernel(support))
    return np.array([quadratic - half_quadratic(rows, kernel(part)) for part in without_each(support)])


def half_quadratic(rows: np.ndarray, K: np.ndarray) -> float:
    return 0.5 * float(np.einsum("mi,ij,mj->", rows, K, rows, optimize=True))


def without_each(X: Any) -> Iterator[Any]:
    """The samples without each of their features in turn."""
    columns = np.arange(X.shape[1])
    for j in columns:
        yield X[:, columns != j]


def dense_columns(X: Any) -> np.ndarray:
    """The features as rows, in float64."""
    return (X.toarray() if issparse(X) else X).T.astype(np.float64)


def worst(statuses: list[str]) -> str:
    return "unbounded" if "unbounded" in statuses else max(statuses, key=STATUSES.index)
