"""The order in which labelled samples are best learnt."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from mercer.active.answers import as_label, check_kinds
from mercer.active.learner import ActiveLearner
from mercer.kernels.samples import n_samples
from mercer.parameters import Number

__all__ = ["LabelOrder", "label_order"]


class LabelOrder(NamedTuple):
    """The order of samples, those to learn first, and how many these are."""

    order: np.ndarray
    n_learnt: int


def label_order(
    estimator: Any, X: Any, y: Any, start: Any = 3, *, random_state: Any = 0, memory: float | str = "auto"
) -> LabelOrder:
    """Which labelled samples to learn, and which to leave out as outliers or as nothing new. [CY §1.8]

    Some samples of each class are learnt first, then always the one closest to the hyperplane, until the margin band
    has none left. The rest is not worth learning: it is known already, or it is wrong. This is an alternative to a soft
    margin.

    Parameters
    ----------
    estimator : classifier
        As for `ActiveLearner`.
    X : n samples
    y : array of n classes
    start : int >= 1 or array of ints, default=3
        How many samples of each class are learnt first, drawn by chance, or their numbers. They are to be reliable: a
        hard margin between them, if it is one, stays, since whatever is inside its band can be separated from both
        sides.
    random_state : int, RandomState instance or None, default=0
        Draws the first samples.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values.

    Returns
    -------
    order : int ndarray of shape (n,)
        Numbers of the samples: those that were learnt in their order, then the others from the hyperplane on.
    n_learnt : int
        How many were learnt, so that ``order[:n_learnt]`` are the samples to fit.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC
    >>> from mercer.active import label_order
    >>> X = np.linspace(-1, 1, 50)[:, np.newaxis]
    >>> order, n_learnt = label_order(SVC("linear", C=1e4), X, X[:, 0] > 0, start=1)
    >>> n_learnt < 15, sorted(order) == list(range(50))
    (True, True)
    """
    n = n_samples(X)
    y = np.asarray(y)
    if y.shape != (n,):
        raise ValueError(f"y must have one class for each of {n} samples, got shape {y.shape}.")
    classes = list(dict.fromkeys(map(as_label, y.tolist())))
    check_kinds(classes)
    if len(classes) < 2:
        raise ValueError(f"y must have at least two classes, got {classes}.")
    first = first_samples(y, start, random_state) if np.ndim(start) == 0 else np.asarray(start)
    if first.ndim != 1 or first.dtype.kind not in "iu" or not set(first.tolist()) <= set(range(n)):
        raise ValueError(f"start must be an int >= 1 or numbers of samples from 0 to {n - 1}, got {start!r}.")
    learner = ActiveLearner(estimator, X, y, memory=memory)
    learner.tell(first, y[first])
    learner.learn()
    rest = np.setdiff1d(np.arange(n), learner.labelled_)
    rest = rest[np.argsort(learner.closeness()[rest], kind="stable")]
    return LabelOrder(np.concatenate([learner.labelled_, rest]), len(learner.labelled_))


def first_samples(y: np.ndarray, start: Any, random_state: Any) -> np.ndarray:
    """So many samples of each class, drawn by chance."""
    if problem := Number(1, integer=True).problem(start):
        raise ValueError(f"start {problem}")
    shuffled = check_random_state(random_state).permutation(len(y))
    return np.concatenate([shuffled[y[shuffled] == label][:start] for label in np.unique(y)])
