"""The pool as machines see it: samples by their numbers, and decision values that follow the machine."""

from abc import ABC, abstractmethod
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import get_tags

from mercer.gram import FunctionGram, Gram, MatrixGram
from mercer.gram.memory import memory_budget
from mercer.kernels import Linear, as_kernel
from mercer.kernels.samples import describe, n_samples, row_blocks, take
from mercer.machines import KernelMachine
from mercer.machines.expansions import KernelClassifier
from mercer.multiclass.pairs import pair_number
from mercer.svm.classification import SupportVectorClassifier

__all__ = ["ExpansionScores", "Pool", "Scores", "make_scores"]

# Columns of kernel values that are allocated at once; they take memory only as they are filled.
COLUMNS_AT_ONCE = 32
# Updates of what is not kept in columns after which it is computed afresh, so that rounding does not grow.
UPDATES = 50
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
        if isinstance(estimator, KernelMachine) and not self.pairwise:
            self.kernel = as_kernel(estimator.kernel).resolve(samples)

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

    The columns K(pool, x) of labelled samples x are kept in float64 as far as the memory allows, and the values are
    their sums with the coefficients of now. The part of samples whose columns are not kept is corrected by the change
    of their coefficients, and computed afresh every so often.
    """

    def __init__(self, pool: Pool):
        super().__init__(pool)
        self._place: dict[int, int] = {}  # of samples whose columns are kept
        self._columns: list[np.ndarray] = []
        self._rest: np.ndarray | None = None
        self._rest_coefficients: dict[int, np.ndarray] = {}
        self._updates = 0
        self._capacity = int(memory_budget(pool.memory) // (8 * pool.n))

    def update(self, machine, labelled):
        self.machine = machine
        support = labelled[machine.support_]
        coefficients = machine.dual_coef_.toarray() if issparse(machine.dual_coef_) else machine.dual_coef_
        self._keep_columns(support)
        places = np.array([self._place.get(i, -1) for i in support.tolist()], dtype=np.int64)
        kept = places >= 0
        table = np.zeros((len(coefficients), len(self._place)))
        table[:, places[kept]] = coefficients[:, kept]
        values = np.zeros((len(coefficients), self.pool.n))
        for k, block in enumerate(self._columns):
            part = table[:, k * COLUMNS_AT_ONCE : (k + 1) * COLUMNS_AT_ONCE]
            values += part @ block[: part.shape[1]]
        if not kept.all():
            values += self._rest_of(support[~kept], coefficients[:, ~kept])
        self._raw = values + np.asarray(machine.intercept_).reshape(-1, 1)
        self._decision = self._closeness = None

    def _keep_columns(self, support: np.ndarray) -> None:
        """Compute the columns of samples that have none yet, as many as there is room for."""
        new = np.array([i for i in support.tolist() if i not in self._place], dtype=np.int64)
        new = new[: max(0, self._capacity - len(self._place))]
        for part in row_blocks(len(new), self.pool.n):
            columns = self.pool.gram.rows(new[part])
            for i, column in zip(new[part].tolist(), columns, strict=True):
                place = len(self._place)
                if place == COLUMNS_AT_ONCE * len(self._columns):
                    self._columns.append(np.empty((COLUMNS_AT_ONCE, self.pool.n)))
                self._columns[place // COLUMNS_AT_ONCE][place % COLUMNS_AT_ONCE] = column
                self._place[i] = place

    def _rest_of(self, samples: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """The part of samples whose columns are not kept, from what it was and the change of their coefficients."""
        now = dict(zip(samples.tolist(), coefficients.T, strict=True))
        before = self._rest_coefficients
        if self._rest is None or len(self._rest) != len(coefficients) or self._updates >= UPDATES:
            self._rest, before, self._updates = np.zeros((len(coefficients), self.pool.n)), {}, 0
        nothing = np.zeros(len(coefficients))
        change = {i: now.get(i, nothing) - before.get(i, nothing) for i in now.keys() | before.keys()}
        changed = sorted(i for i, by in change.items() if by.any())
        if changed:
            by = np.array([change[i] for i in changed])
            gram, numbers = self.pool.gram, np.array(changed)
            if isinstance(gram, MatrixGram):
                for part in row_blocks(len(numbers), gram.n):
                    self._rest += by[part].T @ gram.rows(numbers[part])
            else:
                everyone: Any = slice(None)
                self._rest += gram.dot_part(everyone, numbers, by).T
        self._rest_coefficients, self._updates = now, self._updates + 1
        return self._rest

    def decision(self):
        if self._decision is None:
            plan = getattr(self.machine, "_plan", None)
            if len(self._raw) == 1:
                self._decision = self._raw[0]
            elif plan is None:
                self._decision = self._raw.T
            else:
                blocks = row_blocks(self.pool.n, len(self._raw))
                self._decision = np.concatenate([plan.decision(self._raw[:, rows].T) for rows in blocks])
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
        best = np.sort(np.argpartition(self.decision(), -2, axis=1)[:, -2:], axis=1)
        pair = pair_number(best[:, 0], best[:, 1], len(self.machine.classes_))
        return np.abs(self._raw[pair, np.arange(self.pool.n)])


def is_expansion(machine: Any) -> bool:
    """Whether decision values are sums of kernel values with `dual_coef_`, and nothing else."""
    kind = type(machine)
    if isinstance(machine, SupportVectorClassifier):
        return not machine.probability
    return (
        isinstance(machine, KernelClassifier)
        and kind.decision_function is KernelClassifier.decision_function
        and kind._raw_decision is KernelMachine._raw_decision
        and kind._decision_of is KernelMachine._decision_of
        and kind._expansions_of is KernelMachine._expansions_of
    )


def make_scores(pool: Pool, estimator: Any) -> Scores:
    """The scores that fit an estimator."""
    return ExpansionScores(pool) if is_expansion(estimator) else RefitScores(pool)
