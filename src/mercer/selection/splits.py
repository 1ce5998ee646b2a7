"""Which samples are learnt from, and which are held out."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit, check_cv

from mercer.calibration.folds import number
from mercer.kernels.samples import n_samples
from mercer.solvers.base import Interrupt, side_by_side
from mercer.threads import limit_threads

__all__ = ["Split", "arranged", "in_splits", "make_splits"]

T = TypeVar("T")

Split = tuple[np.ndarray, np.ndarray]
"""Numbers of the samples to train on and of those to judge by."""

# The share of the samples that "holdout" holds out.
HELD_OUT = 0.25


def make_splits(cv: Any, estimator: Any, X: Any, y: Any, groups: Any, random_state: Any) -> list[Split]:
    """The splits that `cv` stands for.

    Parameters
    ----------
    cv : int, "holdout", splitter, iterable of (train, test) or None
        An int, or None for 5, means folds as scikit-learn makes them: stratified, not shuffled. "holdout" holds out a
        quarter of the samples, once.
    estimator : estimator
    X, y, groups : samples, targets or None, groups or None
    random_state : int, RandomState instance or None
        Shuffles for "holdout".

    Returns
    -------
    list of (train, test)
    """
    n, classifier = n_samples(X), is_classifier(estimator)
    if isinstance(cv, str):
        if cv != "holdout":
            raise _refusal(cv)
        splitter = StratifiedShuffleSplit if classifier else ShuffleSplit
        cv = splitter(n_splits=1, test_size=HELD_OUT, random_state=random_state)
    if isinstance(cv, bool) or (isinstance(cv, (int, np.integer)) and cv < 2):
        raise _refusal(cv)
    given = not isinstance(cv, (int, np.integer)) and cv is not None and not hasattr(cv, "split")
    if given:
        if not isinstance(cv, Iterable):
            raise _refusal(cv)
        splits = [(number(train, n), number(test, n)) for train, test in cv]
    else:
        splits = list(check_cv(cv, y, classifier=classifier).split(np.empty((n, 0)), y, groups))
    if not splits:
        raise ValueError("cv must have at least one split, got none.")
    for k, parts in enumerate(splits):
        for part, name in zip(parts, ("training", "test"), strict=True):
            if not len(part):
                raise ValueError(f"cv must have samples on both sides, split {k} has none in its {name} part.")
    return splits


def _refusal(cv: Any) -> ValueError:
    return ValueError(f"cv must be an int >= 2, 'holdout', a splitter or an iterable of splits, got {cv!r}.")


def arranged(splits: list[Split], codes: np.ndarray | None, n: int) -> tuple[np.ndarray, list[Split]]:
    """An order of the samples in which those of a class, and of these those that are held out together, are neighbours.

    The kernel values that a fold, or a pair of classes in a fold, is made of then lie in a few stretches of memory.

    Parameters
    ----------
    splits : list of (train, test)
    codes : int array of shape (n,) or None
        Class numbers.
    n : int

    Returns
    -------
    order : int array of shape (n,)
        The samples in their new order.
    splits : list of (train, test)
        The same splits in terms of it.
    """
    fold = np.full(n, len(splits))
    for k, (_, test) in reversed(list(enumerate(splits))):
        fold[test] = k
    order = np.lexsort((fold,) if codes is None else (fold, codes))
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    return order, [(np.sort(place[train]), np.sort(place[test])) for train, test in splits]


def in_splits(run: Callable[[np.ndarray, np.ndarray], T], splits: list[Split], teams: int) -> list[T]:
    """`run(train, test)` for every split: so many at once on one thread each, or one after the other on all threads."""
    if min(teams, len(splits)) < 2:
        return [run(*split) for split in splits]

    def alone(train: np.ndarray, test: np.ndarray) -> T:
        with limit_threads(1):
            return run(train, test)

    return side_by_side(alone, splits, min(teams, len(splits)), Interrupt())
