"""The pool as machines see it: samples by their numbers, and decision values that follow the machine."""

from abc import ABC, abstractmethod
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg.blas import daxpy
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import get_tags

from mercer.features.approximation import VectorMap
from mercer.gram import FunctionGram, Gram, MatrixGram
from mercer.gram.memory import memory_budget
from mercer.kernels import Linear, as_kernel
from mercer.kernels.samples import describe, n_samples, row_blocks, take
from mercer.machines import KernelMachine, LandmarkMachine, Machine
from mercer.machines.expansions import KernelClassifier
from mercer.multiclass.pairs import pair_number
from mercer.svm.classification import SupportVectorClassifier
from mercer.threads import one_blas_thread

__all__ = ["ExpansionScores", "Pool", "Scores", "make_scores"]

# Updates after which all is added up afresh, so that rounding does not grow.
UPDATES = 50
# Samples whose values are added up at once.
CACHED = 1 << 15
# Values per sample that an estimator may need where it is asked for decision values in blocks of the pool.
VALUES_PER_SAMPLE = 256


class Pool:
    """Samples to choose from.

    Parameters
    ----------
    samples : n samples
        In any container that the estimator takes; the n x n matrix if it takes kernel values.
    estimator : classifier
        Whose samples they are.
    memory : float or "auto"
        Megabytes for kernel values.
    """

    def __init__(self, samples: Any, estimator: Any, memory: float | str = "auto"):
        if not hasattr(samples, "__len__") and not hasattr(samples, "shape"):
            raise TypeError(f"pool must be a sequence of samples, got {samples!r}.")
        self.samples, self.n, self.memory = samples, n_samples(samples), memory
        if self.n == 0:
            raise ValueError(f"pool must have at least one sample, got {describe(samples)}.")
        self.pairwise = bool(get_tags(estimator).input_tags.pairwise)
        if self.pairwise and getattr(samples, "shape", None) != (self.n, self.n):
            raise ValueError(
                "pool must be the square kernel matrix of its samples for a precomputed kernel, got "
                f"{describe(samples)}."
            )
        self.kernel: Any = None  # with its numbers from the pool
        try:
            self._check(estimator)
        except ValueError as error:
            raise ValueError(f"pool must be samples that {type(estimator).__name__} takes: {error}") from error

    def _check(self, estimator: Any) -> None:
        """Refuse now what no fit would take. Of other estimators nobody knows."""
        if isinstance(estimator, Machine):
            clone(estimator)._take_samples(self.samples)
        if isinstance(estimator, KernelMachine):
            if not self.pairwise:
                self.kernel = as_kernel(estimator.kernel).resolve(self.samples)
            self.gram  # noqa: B018  strings and graphs are checked where they are packed

    @cached_property
    def gram(self) -> MatrixGram | FunctionGram:
        """The kernel matrix of the pool, of which some rows are asked for; of plain vectors if there is no kernel."""
        if self.pairwise:
            return MatrixGram(self.samples)
        return FunctionGram(Linear() if self.kernel is None else self.kernel, self.samples)

    def rows(self, numbers: Any, labelled: np.ndarray) -> Any:
        """Some samples as an estimator that was trained on the labelled ones takes them."""
        chosen = take(self.samples, numbers)
        return chosen[:, labelled] if self.pairwise else chosen

    def blocks(self, labelled: np.ndarray) -> Any:
        """All samples so, in blocks."""
        return (self.rows(rows, labelled) for rows in row_blocks(self.n, VALUES_PER_SAMPLE))

    def part(self, numbers: np.ndarray) -> Gram:
        """The kernel matrix of some samples."""
        if isinstance(self.gram, MatrixGram):
            return MatrixGram.of_checked(np.ascontiguousarray(self.gram.matrix[np.ix_(numbers, numbers)]), None)
        part = copy(self.gram)
        part.n, part.X = len(numbers), take(self.gram.X, numbers)
        return part


class Scores(ABC):
    """What the machine of now says of every sample of the pool."""

    def __init__(self, pool: Pool):
        self.pool = pool
        self.machine: Any = None

    @abstractmethod
    def update(self, machine: Any, labelled: np.ndarray) -> None:
        """Follow a machine that was fitted to the samples of these numbers."""

    @abstractmethod
    def decision(self) -> np.ndarray:
        """As `decision_function` of the machine gives them, shape (n,) or (n, n_classes)."""

    @abstractmethod
    def predict(self, numbers: np.ndarray) -> np.ndarray:
        """Classes of some samples."""

    def closeness(self) -> np.ndarray:
        """How far samples are from the hyperplane, in decision values; of several, from the one that decides."""
        return closeness_of(self.decision())


def closeness_of(values: np.ndarray) -> np.ndarray:
    """Absolute decision values of two classes, half the difference of the two best ones of several."""
    if values.ndim == 1:
        return np.abs(values)
    best = np.partition(values, values.shape[1] - 2, axis=1)[:, -2:]
    return 0.5 * (best[:, 1] - best[:, 0])


class RefitScores(Scores):
    """Of any estimator: it is asked about the whole pool, in blocks."""

    def update(self, machine, labelled):
        self.machine, self.labelled, self._values = machine, labelled, None

    def decision(self):
        if self._values is None:
            ask = getattr(self.machine, "decision_function", None)
            parts = self.pool.blocks(self.labelled)
            if ask is not None:
                self._values = np.concatenate([ask(part) for part in parts])
            else:
                chances = np.concatenate([self.machine.predict_proba(part) for part in parts])
                self._values = chances[:, 1] - chances[:, 0] if chances.shape[1] == 2 else chances
        return self._values

    def predict(self, numbers):
        return self.machine.predict(self.pool.rows(numbers, self.labelled))


class ExpansionScores(Scores):
    """Of machines of the form K(X, support) @ coefficients + intercept: only what has changed is computed.

    An answer changes few coefficients: samples at a bound mostly stay there. The columns K(pool, x) of support vectors
    are kept in float64 as far as the memory allows, and others computed again where their coefficients change. So that
    rounding does not grow, all is added up afresh every so often.
    """

    def __init__(self, pool: Pool):
        super().__init__(pool)
        self._columns: dict[int, np.ndarray] = {}
        self._capacity = int(memory_budget(pool.memory) // (8 * pool.n))
        self._sums = np.empty((0, pool.n))  # K @ coefficients, a row for every function
        self._coefficients = np.empty((0, 0))  # that are in the sums,
        self._labelled = np.empty(0, dtype=np.int64)  # of these samples
        self._updates = UPDATES

    def update(self, machine, labelled):
        rows = machine.dual_coef_.toarray() if issparse(machine.dual_coef_) else machine.dual_coef_
        now = np.zeros((len(rows), len(labelled)))
        now[:, machine.support_] = rows
        before, updates = self._coefficients, self._updates
        self.machine, self._updates = None, UPDATES  # who is interrupted starts afresh
        grown = np.array_equal(labelled[: len(self._labelled)], self._labelled) and len(before) == len(now)
        if updates >= UPDATES or not grown:
            self._sums, before, updates = np.zeros((len(now), self.pool.n)), now[:, :0], 0
        changes = now.copy()
        changes[:, : before.shape[1]] -= before
        changed = np.flatnonzero(changes.any(axis=0))
        self._add(labelled[changed], changes[:, changed])
        self._intercept = np.ravel(machine.intercept_)
        self._decision = self._closeness = None
        self._coefficients, self._labelled = now, labelled
        self.machine, self._updates = machine, updates + 1

    def _add(self, samples: np.ndarray, changes: np.ndarray) -> None:
        """Correct the sums by changes of the coefficients of some samples, shape (n_functions, n_changed)."""
        self._keep_columns(samples)
        kept = np.array([i in self._columns for i in samples.tolist()], dtype=bool)
        columns = [self._columns[i] for i in samples[kept].tolist()]
        with one_blas_thread():
            for rows in row_blocks(self.pool.n, 1, CACHED):
                for sums, by in zip(self._sums[:, rows], changes[:, kept].tolist(), strict=True):
                    for column, change in zip(columns, by, strict=True):
                        daxpy(column[rows], sums, a=change)
        if not kept.all():
            self._add_computed(samples[~kept], changes[:, ~kept])

    def _keep_columns(self, samples: np.ndarray) -> None:
        """Compute the columns of samples that have none yet, as many as there is room for."""
        new = np.array([i for i in samples.tolist() if i not in self._columns], dtype=np.int64)
        new = new[: max(0, self._capacity - len(self._columns))]
        for part in row_blocks(len(new), self.pool.n):
            self._columns.update(zip(new[part].tolist(), self.pool.gram.rows(new[part]), strict=True))

    def _add_computed(self, samples: np.ndarray, changes: np.ndarray) -> None:
        """The same for samples whose columns are not kept."""
        gram = self.pool.gram
        if isinstance(gram, MatrixGram):
            for part in row_blocks(len(samples), gram.n):
                self._sums += changes[:, part] @ gram.rows(samples[part])
        else:
            everyone: Any = slice(None)
            self._sums += gram.dot_part(everyone, samples, changes.T).T

    def decision(self):
        if self._decision is None:
            plan = getattr(self.machine, "_plan", None)
            if len(self._sums) == 1:
                self._decision = self._sums[0] + self._intercept
            elif plan is None:
                self._decision = self._sums.T + self._intercept
            else:
                blocks = row_blocks(self.pool.n, len(self._sums))
                parts = [plan.decision(self._sums[:, rows].T + self._intercept) for rows in blocks]
                self._decision = np.concatenate(parts)
        return self._decision

    def predict(self, numbers):
        values = self.decision()[numbers]
        return self.machine.classes_[(values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)]

    def closeness(self):
        if self._closeness is None:
            self._closeness = self._to_pair() if self._is_of_pairs() else closeness_of(self.decision())
        return self._closeness

    def _is_of_pairs(self) -> bool:
        """Whether there is a machine for every pair of more than two classes."""
        plan = getattr(self.machine, "_plan", None)
        if plan is None or plan.n_machines == 1:
            return False
        every_pair = plan.n_machines == plan.n_classes * (plan.n_classes - 1) // 2
        return every_pair and bool((np.diff(plan.code.indptr) == 2).all()) and plan.n_classes > 2

    def _to_pair(self) -> np.ndarray:
        """Distance from the hyperplane between the two best classes."""
        decision, distance = self.decision(), np.empty(self.pool.n)
        for rows in row_blocks(*decision.shape):
            values, everyone = decision[rows].copy(), np.arange(rows.stop - rows.start)
            best = values.argmax(axis=1)
            values[everyone, best] = -np.inf
            second = values.argmax(axis=1)
            pair = pair_number(np.minimum(best, second), np.maximum(best, second), decision.shape[1])
            distance[rows] = np.abs(self._sums[pair, rows.start + everyone] + self._intercept[pair])
        return distance


def is_expansion(machine: Any) -> bool:
    """Whether decision values are sums of kernel values with `dual_coef_`, and nothing else."""
    kind = type(machine)
    if isinstance(getattr(machine, "approximation", None), VectorMap):
        return False
    if isinstance(machine, SupportVectorClassifier):
        return not machine.probability
    return (
        isinstance(machine, KernelClassifier)
        and kind.decision_function is KernelClassifier.decision_function
        and kind._raw_decision is KernelMachine._raw_decision
        and kind._decision_of is KernelMachine._decision_of
        and kind._expansions_of in (KernelMachine._expansions_of, LandmarkMachine._expansions_of)
    )


def make_scores(pool: Pool, estimator: Any) -> Scores:
    """The scores that fit an estimator."""
    return ExpansionScores(pool) if is_expansion(estimator) else RefitScores(pool)
