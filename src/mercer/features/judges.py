"""How wrong a classifier is with the best features, for all numbers of them."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import copy
from itertools import islice
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone

from mercer import _native
from mercer.gram import MatrixGram, memory_budget
from mercer.kernels import Kernel, as_kernel
from mercer.kernels.base import NativeSpec
from mercer.kernels.vectors.base import VectorKernel, measure
from mercer.selection.grams import NEED_NORMS
from mercer.solvers import SolverResults
from mercer.solvers.base import Certificate, summary
from mercer.svm import SVC, NuSVC
from mercer.svm.study import Study, study
from mercer.threads import effective_n_threads

__all__ = ["Judge", "Nested", "OneByOne", "make_judge"]

# Bytes for every entry of a kernel matrix: sums over the chosen features, over all, the values, and a copy of them.
BYTES_PER_ENTRY = 32
# Above so many samples, and with fewer features than samples, a machine that computes the kernel values it needs is
# faster than one that is given all of them.
FEW_SAMPLES = 1000
# Kernel matrices of so many samples together are solved at once.
TOGETHER = 1024


class Judge(ABC):
    """Trains on the best features in a fold, of every size, and counts what is wrong among the held-out samples.

    Parameters
    ----------
    estimator : classifier
    y : array of shape (n,)
    sizes : int array
        Numbers of features, ascending.
    """

    most_teams: int = 1
    """How many folds may be judged at once."""

    def __init__(self, estimator: Any, y: np.ndarray, sizes: np.ndarray):
        self.estimator, self.y, self.sizes = estimator, y, sizes
        self.unsolved: list[Certificate] = []

    @abstractmethod
    def n_wrong(self, X: Any, train: np.ndarray, test: np.ndarray, orders: list[np.ndarray]) -> np.ndarray:
        """How many of the held-out samples are wrong, a row for each order of the features, a column for each size."""


class OneByOne(Judge):
    """Any classifier: a fit for every size."""

    def n_wrong(self, X, train, test, orders):
        return np.array([[self._wrong(X, train, test, np.sort(o[:size])) for size in self.sizes] for o in orders])

    def _wrong(self, X: Any, train: np.ndarray, test: np.ndarray, chosen: np.ndarray) -> int:
        machine = clone(self.estimator).fit(X[train][:, chosen], self.y[train])
        return int((machine.predict(X[test][:, chosen]) != self.y[test]).sum())


class Nested(Judge):
    """Support vector machines with kernels that are functions of a sum over features: every size adds its part to it.

    Parameters
    ----------
    estimator : SVC or NuSVC
    y, sizes :
        As in `Judge`.
    kernel : VectorKernel
        See `is_sum`.
    studied : Study
        Of the classes alone.
    shared : samples or None
        What all folds see, if there is no preprocessing.
    """

    def __init__(
        self, estimator: Any, y: np.ndarray, sizes: np.ndarray, kernel: VectorKernel, studied: Study, shared: Any
    ):
        super().__init__(clone(estimator).set_params(n_threads=None), y, sizes)
        self.kernel, self.study = kernel, studied
        self.most_teams = most_matrices(estimator.memory, len(y))
        # All features are the same in every order.
        self._whole = None if shared is None else self._over_all(shared)

    def n_wrong(self, X, train, test, orders):
        whole = self._over_all(X) if self._whole is None else self._whole
        X = X if issparse(X) else np.asfortranarray(X)  # columns are taken from it
        machine = copy(self.estimator)  # it notes the classes of the fold
        kernels = (kernel for order in orders for kernel in self._kernel_values(X, train, order, whole))
        predicted = []
        while some := list(islice(kernels, max(1, TOGETHER // len(self.y)))):
            predicted.append(self._predicted(machine, some, train, test))
        wrong = (np.concatenate(predicted) != self.y[test]).sum(axis=1)
        return wrong.reshape(len(orders), len(self.sizes))

    def _kernel_values(
        self, X: Any, train: np.ndarray, order: np.ndarray, whole: np.ndarray | None
    ) -> Iterator[np.ndarray]:
        """The kernel matrix of every size."""
        sums, before, waiting = np.zeros((X.shape[0], X.shape[0])), 0, bool(self.kernel._unresolved())
        for size in self.sizes:
            if size == X.shape[1] and whole is not None:
                sums = whole
            else:
                sums += self._over(X[:, order[before:size]])
            before, kernel = size, self.kernel
            if waiting:
                kernel = kernel.resolve(X[:, order[:size]][train], self.study.weight[train])
            spec, values = native_form(kernel), np.empty_like(sums)
            _native.kernel_transform(spec.measure, spec.transform, spec.parameters, sums, values, effective_n_threads())
            if not np.isfinite(values.diagonal()).all():  # by Cauchy and Schwarz all others are
                raise ValueError(f"The features are too large: the values of {kernel!r} overflow. Rescale them.")
            yield values

    def _over_all(self, X: Any) -> np.ndarray | None:
        """Sums over all features, if they are asked for."""
        return self._over(X) if self.sizes[-1] == X.shape[1] else None

    def _over(self, X: Any) -> np.ndarray:
        """Inner products, distances, ...: sums over the features of X."""
        X = self.kernel.prepare(X)[0].astype(np.float64, copy=False)
        return measure(native_form(self.kernel).measure, X, X)

    def _predicted(self, machine: Any, kernels: list[np.ndarray], train: np.ndarray, test: np.ndarray) -> np.ndarray:
        """Classes of the held-out samples, a row for each kernel matrix. All are solved at once, as blocks of one."""
        times, n = len(kernels), len(self.y)
        blocks = kernels[0]
        if times > 1:
            blocks = np.zeros((times, n, times, n))
            blocks[np.arange(times), :, np.arange(times)] = kernels
        gram = MatrixGram.of_checked(blocks.reshape(times * n, times * n), self.kernel.definite)
        lesson = self.study.lesson(machine, gram, train).on_blocks(gram, times)
        solver = machine._solver()
        solver.check(lesson.problems[0])
        results = SolverResults.of(solver.solve_many(lesson.problems))
        if (results.status != "solved").any():
            self.unsolved.append(summary(results))
        coefficients, offset = lesson.functions(results)
        expansions = np.zeros((len(offset), n))
        expansions[coefficients.parts.repeat(np.arange(len(offset))), coefficients.columns % n] = coefficients.values
        to_others = np.array([kernel[:, test] for kernel in kernels])
        values = np.einsum("kfi,kit->ktf", expansions.reshape(times, -1, n), to_others) + offset.reshape(times, 1, -1)
        diagonal = np.concatenate([kernel.diagonal()[test] for kernel in kernels])
        return lesson.predict(lesson.decision(values.reshape(len(diagonal), -1), diagonal)).reshape(times, -1)


def make_judge(estimator: Any, X: Any, y: np.ndarray, sizes: np.ndarray, *, shared: bool) -> Judge:
    """`Nested` where it can be; if `shared`, all folds see X as it is."""
    if type(estimator) in (SVC, NuSVC) and estimator.callback is None and not estimator._precomputed:
        kernel = as_kernel(estimator.kernel)
        worth_it = len(y) <= FEW_SAMPLES or sizes[-1] >= len(y)
        if worth_it and is_sum(kernel) and most_matrices(estimator.memory, len(y)) > 0:
            # Samples come with their folds.
            studied = study(clone(estimator), np.zeros((len(y), 1)), y, None)
            if studied is not None:
                return Nested(estimator, y, sizes, kernel, studied, X if shared else None)
    return OneByOne(estimator, y, sizes)


def most_matrices(memory: float | str, n: int) -> int:
    """How many folds have room for their matrices."""
    return memory_budget(memory) // (BYTES_PER_ENTRY * n**2)


def is_sum(kernel: Kernel) -> bool:
    """Whether a kernel is a function of a sum over features in which all count the same."""
    if not isinstance(kernel, VectorKernel) or not kernel.plain:
        return False
    if any(np.ndim(value) > 0 for value in kernel.get_params(deep=False).values()):
        return False
    spec = native_form(kernel)
    return spec is not None and spec.transform not in NEED_NORMS


def native_form(kernel: VectorKernel) -> Any:
    """The `NativeSpec` of a kernel, or None; parameters that wait for the data are 1 in it."""
    waiting = kernel._unresolved()
    spec: NativeSpec | None = (clone(kernel).set_params(**dict.fromkeys(waiting, 1.0)) if waiting else kernel).native()
    return spec
