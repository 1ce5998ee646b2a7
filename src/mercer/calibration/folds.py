"""Decision values of samples that a machine has not been trained on."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state, get_tags

from mercer.kernels.samples import take
from mercer.parameters import Number

__all__ = ["HeldOut", "Splits", "fold_machines", "fold_splitter", "is_in_sample", "is_prefit"]

Splits = list[tuple[np.ndarray, np.ndarray]]
"""Per fold the samples to train on and those to judge by, as ascending numbers of samples."""


class HeldOut(NamedTuple):
    """What a calibration is learnt from: decision values with the classes and weights of their samples."""

    values: np.ndarray
    """Shape (m,) for two classes, (m, n_classes) for scores, (m, n_pairs) for pairs."""
    codes: np.ndarray
    """Class numbers."""
    weight: np.ndarray
    """Weights, all positive."""

    @classmethod
    def joined(cls, parts: "Sequence[HeldOut]") -> "HeldOut":
        """What several folds held out, as one."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))


def is_prefit(cv: Any) -> bool:
    """Whether the machine is trained already."""
    return isinstance(cv, str) and cv == "prefit"


def is_in_sample(cv: Any) -> bool:
    """Whether the samples it is trained on are also those it is judged by."""
    return cv is None or (isinstance(cv, str) and cv == "in-sample")


def fold_splitter(cv: Any, random_state: Any) -> Callable[[Any, np.ndarray, np.ndarray, np.ndarray], Splits]:
    """The splits as a function of samples, class numbers, weights and classes, which are known once they are checked.

    Samples of weight 0 take part in no split. Every training part must have all classes.
    """
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        if problem := Number(2, integer=True).problem(cv):
            raise ValueError(f"cv {problem}")
        check_random_state(random_state)  # refuses what is none, before anything is computed
    elif isinstance(cv, (str, bool, float)) or not (hasattr(cv, "split") or isinstance(cv, Iterable)):
        raise ValueError(
            "cv must be an int >= 2, a splitter, an iterable of (train, test), 'prefit', 'in-sample' or None, "
            f"got {cv!r}."
        )

    def split(X: Any, codes: np.ndarray, weight: np.ndarray, classes: np.ndarray) -> Splits:
        used, name = np.flatnonzero(weight > 0), f"cv={cv}" if isinstance(cv, (int, np.integer)) else "cv"
        if isinstance(cv, (int, np.integer)):
            folds = deal(codes, int(cv), check_random_state(random_state))
            parts = ((used[folds[used] != k], used[folds[used] == k]) for k in range(cv))
        elif hasattr(cv, "split"):
            parts = ((used[i], used[j]) for i, j in cv.split(take(X, used), classes[codes[used]]))
        else:
            parts = ((number(i, len(codes)), number(j, len(codes))) for i, j in cv)
        splits = [(train[weight[train] > 0], test[weight[test] > 0]) for train, test in parts]
        splits = [(train, test) for train, test in splits if len(test)]
        if not splits:
            raise ValueError(f"{name} holds out no sample of positive weight.")
        for train, _ in splits:
            missing = np.flatnonzero(np.bincount(codes[train], minlength=len(classes)) == 0)
            if len(missing):
                label, members = classes.tolist()[missing[0]], np.count_nonzero(codes == missing[0])
                size = f"{members} sample{'s' if members > 1 else ''}"
                raise ValueError(
                    f"{name} leaves no sample of class {label!r} (it has {size}) to train on in one of its "
                    "splits; every class needs at least 2 samples, in different folds. Give other splits as the cv of "
                    "Calibrated, or None to calibrate on the training samples."
                )
        return splits

    return split


def number(part: Any, n: int) -> np.ndarray:
    """The samples of an explicit split, ascending; given by their numbers or by a mask."""
    part = np.asarray(part)
    if part.dtype == bool and part.shape == (n,):
        return np.flatnonzero(part)
    if part.ndim != 1 or (part.size and part.dtype.kind not in "iu"):
        raise ValueError(f"cv must give numbers of samples or masks of shape ({n},), got {part!r}.")
    part = np.sort(part.astype(np.int64))
    if part.size and (part[0] < 0 or part[-1] >= n or (np.diff(part) == 0).any()):
        raise ValueError(f"cv must give different numbers of samples from 0 to {n - 1} in every part, got {part!r}.")
    return part


def deal(codes: np.ndarray, n_folds: int, random: np.random.RandomState) -> np.ndarray:
    """A fold for every sample with a class: shuffled class by class and dealt out in turn, -1 for the others."""
    folds = np.full(len(codes), -1)
    dealt = 0
    for c in range(codes.max() + 1):
        members = random.permutation(np.flatnonzero(codes == c))
        folds[members] = (dealt + np.arange(len(members))) % n_folds
        dealt += len(members)
    return folds


class OfColumns(BaseEstimator):
    """A machine of kernel values that is given those of all training samples and takes those of its own."""

    def __init__(self, estimator, columns):
        self.estimator = estimator
        self.columns = columns

    @property
    def classes_(self):
        """The classes of the machine."""
        return self.estimator.classes_

    def decision_function(self, K):
        """The decision values of the machine."""
        return self.estimator.decision_function(np.asarray(K)[:, self.columns])


def fold_machines(
    machine: Any, X: Any, y: np.ndarray, codes: np.ndarray, weight: np.ndarray | None, splits: Splits
) -> Iterator[tuple[Any, HeldOut]]:
    """Any classifier, trained anew for every fold, with its decision values; `weight` None trains without weights."""
    pairwise = get_tags(machine).input_tags.pairwise
    for train, test in splits:
        part = X[np.ix_(train, train)] if pairwise else take(X, train)
        weights = {} if weight is None else {"sample_weight": weight[train]}
        trained = clone(machine).fit(part, y[train], **weights)
        trained = OfColumns(trained, train) if pairwise else trained
        values = trained.decision_function(take(X, test))
        yield trained, HeldOut(values, codes[test], np.ones(len(test)) if weight is None else weight[test])
