"""Cross-validation over one Gram matrix: who is taught in every fold, and decision values of what it holds out."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

import numpy as np

from mercer.calibration import HeldOut
from mercer.errors import InfeasibleError
from mercer.gram import Gram
from mercer.multiclass import Plan

__all__ = ["Folds", "naming_the_fold"]


class Function(Protocol):
    """A decision function: coefficients of some of the samples, and an offset."""

    @property
    def index(self) -> np.ndarray: ...
    @property
    def coefficients(self) -> np.ndarray: ...
    @property
    def offset(self) -> float: ...


class Folds:
    """The folds of a classifier, over the Gram matrix of all its samples.

    Parameters
    ----------
    plan, gram, codes, weight :
        Of all samples: the scheme, the kernel matrix, class numbers (-1: takes no part) and weights.
    splits : list of (train, test)
        Numbers of samples with a class.

    Attributes
    ----------
    taught : list of int arrays of shape (n,)
        Class numbers as each fold is to learn them, -1 for what it is not to see.
    """

    def __init__(
        self,
        plan: Plan,
        gram: Gram,
        codes: np.ndarray,
        weight: np.ndarray,
        splits: Sequence[tuple[np.ndarray, np.ndarray]],
    ):
        self.plan, self.gram, self.codes, self.weight, self.splits = plan, gram, codes, weight, splits
        self.taught = []
        for train, _ in splits:
            seen = np.full(len(codes), -1)
            seen[train] = codes[train]
            self.taught.append(seen)

    def held_out(self, learnt: Sequence[Sequence[Function]], pairs: bool) -> HeldOut:
        """Decision values of the samples that each fold holds out, from the functions that it has learnt.

        One column per pair of classes for the samples of the pair, or what the decision function gives.
        """
        decide = self._of_pairs if pairs else self._of_scores
        values = [decide(functions, test) for functions, (_, test) in zip(learnt, self.splits, strict=True)]
        index = np.concatenate([test for _, test in self.splits])
        return HeldOut(np.concatenate(values), self.codes[index], self.weight[index])

    def _of_pairs(self, functions: Sequence[Function], test: np.ndarray) -> np.ndarray:
        """Every pair for its own classes, NaN elsewhere: K[test, support] is needed in small pieces only."""
        values = np.full((len(test), len(functions)), np.nan)
        members = [np.flatnonzero(self.codes[test] == c) for c in range(self.plan.n_classes)]
        for k, function in enumerate(functions):
            classes = self.plan.code.indices[self.plan.code.indptr[k] : self.plan.code.indptr[k + 1]]
            rows = np.concatenate([members[c] for c in classes])
            support = np.flatnonzero(function.coefficients)
            coefficients = function.coefficients[support, np.newaxis]
            product = self.gram.dot_part(test[rows], function.index[support], coefficients)
            values[rows, k] = product[:, 0] + function.offset
        return values

    def _of_scores(self, functions: Sequence[Function], test: np.ndarray) -> np.ndarray:
        """All functions for all samples, over kernel values computed once."""
        coefficients = np.zeros((self.gram.n, len(functions)))
        for k, function in enumerate(functions):
            coefficients[function.index, k] = function.coefficients
        support = np.flatnonzero(coefficients.any(axis=1))
        raw = self.gram.dot_part(test, support, coefficients[support]) + np.array([f.offset for f in functions])
        if len(functions) == 1:
            return raw[:, 0]
        scores = self.plan.scores(raw)
        return scores[:, 1] - scores[:, 0] if self.plan.n_classes == 2 else scores


@contextmanager
def naming_the_fold(is_fold: bool) -> Iterator[None]:
    """What cannot be done in a fold is said to be in one: it may well be possible with all samples."""
    try:
        yield
    except InfeasibleError as error:
        if not is_fold:
            raise
        raise InfeasibleError(f"In a fold of the calibration, {error}") from error
