"""Cross-validation over one Gram matrix: who is taught in every fold, and decision values of what it holds out."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

import numpy as np

from mercer.calibration.folds import HeldOut
from mercer.errors import InfeasibleError
from mercer.gram import Gram
from mercer.multiclass import Plan
from mercer.svm.base import sparse_rows

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

        One column per function where these are pairs of classes, or what the decision function gives.
        """
        values = [
            self._decide(functions, test, pairs) for functions, (_, test) in zip(learnt, self.splits, strict=True)
        ]
        index = np.concatenate([test for _, test in self.splits])
        return HeldOut(np.concatenate(values), self.codes[index], self.weight[index])

    def _decide(self, functions: Sequence[Function], test: np.ndarray, pairs: bool) -> np.ndarray:
        """All functions for all samples, over kernel values computed once: all folds together see K at most once."""
        rows = sparse_rows([(function.index, function.coefficients) for function in functions], self.gram.n)
        support = np.unique(rows.indices)
        coefficients = rows[:, support].T if len(functions) > 1 else rows[:, support].toarray().T
        raw = np.tile([function.offset for function in functions], (len(test), 1))
        if len(support):  # a fold that was stopped at once has none
            raw += self.gram.dot_part(test, support, coefficients)
        if pairs:
            return raw
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
