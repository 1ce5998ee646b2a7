"""LIBSVM's probabilities: a sigmoid for every pair of classes, learnt from five folds, and their coupling.

Its sigmoid for the first class of a pair is 1 / (1 + exp(A f + B)), with f in LIBSVM's signs.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils import check_random_state

from mercer.calibration import couple, fit_sigmoid
from mercer.calibration.folds import HeldOut, deal
from mercer.compat.layout import pairs_of

__all__ = ["class_probabilities", "fit_sigmoids", "folds"]

N_FOLDS = 5


def folds(seed: int) -> Callable[..., list[tuple[np.ndarray, np.ndarray]]]:
    """A function that splits samples into folds, with the classes in equal shares.

    The only sample of a class is never held out: the machines of its pairs need it.
    """

    def split(X: Any, codes: np.ndarray, weight: np.ndarray, classes: np.ndarray):
        fold = deal(codes, N_FOLDS, check_random_state(seed))
        members = np.bincount(codes[codes >= 0], minlength=len(classes))
        fold[members[codes] < 2] = -1
        parts = ((np.flatnonzero((codes >= 0) & (fold != k)), np.flatnonzero(fold == k)) for k in range(N_FOLDS))
        return [(train, test) for train, test in parts if len(test)]

    return split


def fit_sigmoids(held_out: HeldOut | None, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """A and B of every pair, from decision values in mercer's signs; as in LIBSVM, weights do not count.

    A pair without samples that were held out gets probabilities of one half.
    """
    pairs = pairs_of(n_classes)
    A, B = np.zeros((2, len(pairs)))
    if held_out is None:
        return A, B
    values = held_out.values.reshape(len(held_out.codes), -1)
    for k, (i, j) in enumerate(pairs):
        rows = np.isin(held_out.codes, (i, j))
        if rows.any():
            # The log-odds of j are slope (-f) + offset = A f + B.
            slope, B[k] = fit_sigmoid(values[rows, k], held_out.codes[rows] == j)
            A[k] = -slope
    return A, B


def class_probabilities(values: np.ndarray, A: np.ndarray, B: np.ndarray, n_classes: int) -> np.ndarray:
    """Probabilities, shape (n, n_classes), from decision values of all pairs in LIBSVM's signs."""
    return couple(expit(A * values + B), [(i, j) for i, j in pairs_of(n_classes)], n_classes)
