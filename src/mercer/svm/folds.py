"""Cross-validation over one Gram matrix: who is taught in every fold, and decision values of what it holds out."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

import numpy as np

from mercer.calibration.folds import HeldOut, Splits
from mercer.errors import InfeasibleError
from mercer.gram import Gram
from mercer.svm.base import SparseRows

__all__ = ["Folds", "decide", "naming_the_fold"]

Learnt = TypeVar("Learnt")


class Functions(Protocol):
    """Decision functions: coefficients of some of the samples, and offsets."""

    @property
    def coefficients(self) -> SparseRows: ...
    @property
    def offset(self) -> np.ndarray: ...


class Folds:
    """The folds of a classifier.

    Parameters
    ----------
    codes, weight :
        Of all samples: class numbers (-1: takes no part) and weights.
    splits : list of (train, test)
        Numbers of samples with a class.

    Attributes
    ----------
    taught : list of int arrays of shape (n,)
        Class numbers as each fold is to learn them, -1 for what it is not to see.
    """

    def __init__(self, codes: np.ndarray, weight: np.ndarray, splits: Splits):
        self.codes, self.weight, self.splits = codes, weight, splits
        self.taught = []
        for train, _ in splits:
            seen = np.full(len(codes), -1)
            seen[train] = codes[train]
            self.taught.append(seen)

    def held_out(self, learnt: Iterable[Learnt], decide: Callable[[Learnt, np.ndarray], np.ndarray]) -> list[HeldOut]:
        """What each fold, from what it has learnt, decides about the samples that it holds out."""
        return [
            HeldOut(decide(one, test), self.codes[test], self.weight[test])
            for one, (_, test) in zip(learnt, self.splits, strict=True)
        ]


def decide(gram: Gram, functions: Functions, test: np.ndarray) -> np.ndarray:
    """Values of all functions for some samples, over kernel values computed once.

    All folds of a set of them together see K at most once.
    """
    rows = functions.coefficients.table(gram.n)
    support = np.unique(rows.indices)
    coefficients = rows[:, support].T if rows.shape[0] > 1 else rows[:, support].toarray().T
    values = np.tile(functions.offset, (len(test), 1))
    if len(support):  # a fold that was stopped at once has none
        values += gram.dot_part(test, support, coefficients)
    return values


@contextmanager
def naming_the_fold(is_fold: bool) -> Iterator[None]:
    """What cannot be done in a fold is said to be in one: it may well be possible with all samples."""
    try:
        yield
    except InfeasibleError as error:
        if not is_fold:
            raise
        raise InfeasibleError(f"In a fold of the calibration, {error}") from error
