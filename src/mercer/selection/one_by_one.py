"""A search over machines that are not problems over a kernel matrix."""

from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from mercer.errors import InfeasibleError, NotSeparableError
from mercer.kernels.samples import take
from mercer.selection.scores import HeldOut
from mercer.selection.search import Search, with_preprocess

__all__ = ["Labelled", "OneByOne"]


class OneByOne(Search):
    """A search over machines that are not problems over a kernel matrix: each is fitted on its own.

    Those of ours with a kernel still share the kernel matrices, unless they learn something else from samples: with an
    approximation, on a device, or where they choose parameters of the kernel themselves.
    """

    def _may_run_side_by_side(self):
        return False

    def _run_group(self, group, grams, folds=None):
        cells = [cell for path in group.paths for cell in path]
        if self._has_kernel and all(map(takes_matrix, map(self.machine, cells))):
            super()._run_group(group, grams, folds)
            return
        preprocess, everyone = with_preprocess(self.preprocess, group.shared), list(range(len(self.splits)))
        for cell in cells:
            if self._recall(cell, everyone):
                continue
            for fold, (train, test) in enumerate(self.splits):
                X = grams.X if preprocess is None else grams.preprocessed(preprocess, train)
                self._fit(cell, fold, clone(self.machine(cell)), take(X, train), take(X, test))
                if self.deadline.over:
                    return
            self._finish([cell], everyone)

    def _may_seed(self, stretches, folds):
        return False

    def _solve(self, stretches, folds, gram):
        for fold in folds:
            train, test = self.splits[fold]
            K, across = gram.square(train), gram.rows(test)[:, train]
            for cell in (cell for stretch in stretches for cell in stretch.cells):
                self._fit(cell, fold, clone(self.machine(cell)).set_params(kernel="precomputed"), K, across)
                if self.deadline.over:
                    return

    def _fit(self, cell: int, fold: int, machine: Any, X: Any, X_test: Any) -> None:
        """One cell on one fold."""
        train, began = self.splits[fold][0], perf_counter()
        machine._warns = False  # the search tells what its results mean
        weights = {"sample_weight": self.study.weight[train]} if self.weighted else {}
        try:
            machine.fit(X, *(() if self.study.y is None else (take(self.study.y, train),)), **weights)
        except (InfeasibleError, NotSeparableError) as error:
            self._fail([cell], error)
            return
        fitted = perf_counter()
        y, weight, _ = self._truth(fold)
        self.outcome.scores[:, cell, fold] = self.scoring.of(HeldOut(machine, y, weight, lambda: X_test))
        self.outcome.fit_seconds[cell, fold] = fitted - began
        self.outcome.score_seconds[cell, fold] = perf_counter() - fitted
        self.outcome.status[cell, fold] = getattr(getattr(machine, "result_", None), "status", "solved")


def takes_matrix(machine: Any) -> bool:
    """Whether a machine with a kernel learns the same from the whole kernel matrix."""
    if machine._precomputed:
        return True
    # Processes choose parameters of the kernel by their evidence.
    chooses = getattr(machine, "optimize", False) is not False
    return not chooses and all(getattr(machine, name, None) is None for name in ("approximation", "device"))


class Labelled(NamedTuple):
    """Samples of a machine that has no study of its own."""

    X: Any
    y: Any
    weight: np.ndarray

    def taken(self, X: Any, order: np.ndarray) -> "Labelled":
        """The samples in another order; X is in it already."""
        return Labelled(X, None if self.y is None else take(self.y, order), self.weight[order])
