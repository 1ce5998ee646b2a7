"""Errors against the number of features, where the features are chosen anew in every fold."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import LeaveOneOut
from sklearn.utils import check_array, check_X_y
from sklearn.utils.multiclass import check_classification_targets

from mercer.features.elimination import KernelRFE
from mercer.features.judges import make_judge
from mercer.features.scores import fisher_score, mann_whitney, t_test
from mercer.parameters import Number
from mercer.selection.splits import Split, in_splits, make_splits
from mercer.solvers.base import summary, warn_unless_solved
from mercer.threads import effective_n_threads, limit_threads

__all__ = ["SelectionCurve", "selection_curve"]

# Score functions that may be called by several threads at once.
OURS = (fisher_score, mann_whitney, t_test)
# What the numbers of features begin with.
DIGITS = (1, 2, 5)


@dataclass(frozen=True, eq=False, repr=False)
class SelectionCurve:
    """Errors against the number of features: what `selection_curve` finds.

    Parameters
    ----------
    sizes : int ndarray of shape (n_sizes,)
        Numbers of features, ascending.
    fold_errors : ndarray of shape (n_folds, n_sizes)
        The share of the held-out samples of a fold that is put into a wrong class.
    n_errors : int ndarray of shape (n_sizes,)
        How many held-out samples are wrong, in all folds.
    n_tested : int
        How many samples are held out, in all folds.
    selected : int ndarray of shape (n_sizes, n_features)
        In how many folds each feature is chosen.

    See Also
    --------
    selection_curve : Makes it.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.features import SelectionCurve
    >>> curve = SelectionCurve(
    ...     sizes=np.array([1, 3]),
    ...     fold_errors=np.array([[0.5, 0.0], [0.5, 0.25]]),
    ...     n_errors=np.array([4, 1]),
    ...     n_tested=8,
    ...     selected=np.array([[2, 0, 0], [2, 2, 2]]),
    ... )
    >>> curve
    SelectionCurve(1 of 8 wrong with the best 3 features, 2 folds, sizes 1 to 3)
    >>> curve.mean_errors
    array([0.5  , 0.125])
    """

    sizes: np.ndarray
    fold_errors: np.ndarray
    n_errors: np.ndarray
    n_tested: int
    selected: np.ndarray

    @property
    def mean_errors(self) -> np.ndarray:
        """The mean of the errors of the folds, of every size."""
        return self.fold_errors.mean(axis=0)

    @property
    def best_size(self) -> int:
        """The smallest number of features with the fewest errors.

        Its error is the lowest of several and so a little too good: other samples show the true one.
        """
        return int(self.sizes[self.n_errors.argmin()])

    def __repr__(self) -> str:
        best = "the best feature" if self.best_size == 1 else f"the best {self.best_size} features"
        return (
            f"SelectionCurve({self.n_errors.min()} of {self.n_tested} wrong with {best}, "
            f"{len(self.fold_errors)} folds, sizes {self.sizes[0]} to {self.sizes[-1]})"
        )


def selection_curve(
    estimator: Any,
    X: Any,
    y: Any,
    ranking: Any,
    sizes: Iterable[int] | None = None,
    *,
    cv: Any = "loo",
    preprocess: Any = None,
    n_threads: int | None = None,
) -> Any:
    """Errors of a classifier against the number of best-ranked features that it sees. [CY §1.7]

    Features are ranked by the training samples of every fold alone. A ranking that has seen the held-out samples knows
    their classes, and with many features finds some that fit them by chance: then even noise seems to be predictable.

    Parameters
    ----------
    estimator : classifier
        Any of scikit-learn's kind. It is cloned, never changed.
    X : array or sparse matrix of shape (n, n_features)
    y : array of shape (n,)
        The classes.
    ranking : callable, selector or dict of them by name
        How features are ranked: a score function, such as `fisher_score` or those of scikit-learn, or a selector with a
        ``ranking_``, where 1 is the best, such as `KernelRFE` and scikit-learn's `RFE` with ``n_features_to_select=1``.
        Of equal features the later one comes first, as in scikit-learn's `SelectKBest`.
    sizes : iterable of int, default=None
        Numbers of features, between 1 and all of them; None: 1, 2, 5, 10, 20, 50, ... and all.
    cv : "loo", int, splitter or iterable of (train, test), default="loo"
        "loo" leaves out one sample at a time; an int makes so many stratified folds.
    preprocess : transformer or None, default=None
        Fitted to the training samples of every fold first, such as scikit-learn's `StandardScaler`; it keeps the number
        of features.
    n_threads : int or None, default=None
        Threads; the result does not depend on it.

    Returns
    -------
    SelectionCurve or dict of SelectionCurve
        One for each name where `ranking` is a dict.

    See Also
    --------
    SelectionCurve : What is in the result.
    fisher_score, t_test, mann_whitney : Score functions.
    KernelRFE : A ranking by the machine itself.

    Notes
    -----
    The result is that of a pipeline of `preprocess`, a selection of the best features and the estimator. For `SVC` and
    `NuSVC` with a kernel of inner products or distances these are sums over features: those of one size are those of
    the size before and a part for the features that are new. So n samples take time O(n^2) for each feature and fold,
    and one machine for each size and fold, on a kernel matrix that is there already. Widths from the data
    (``gamma="scale"``) are taken from the training samples and the chosen features. Folds run side by side if all
    rankings are score functions of this library and there is no preprocessing. Memory O(n^2) for each thread, within
    that of the estimator. Where it is too little, for more than 1000 samples of fewer features, and for other
    classifiers, every machine is fitted by itself.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 1.7 and figure 1.6.
    .. [2] C. Ambroise, G. J. McLachlan, Selection bias in gene extraction on the basis of microarray gene-expression
       data, PNAS 99, 2002, 6562-6566.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC
    >>> from mercer.features import mann_whitney, selection_curve, t_test
    >>> y = np.repeat([0, 1], 20)
    >>> X = np.random.default_rng(0).normal(size=(40, 1000))
    >>> X[:, :20] += y[:, np.newaxis]
    >>> curve = selection_curve(SVC("linear"), X, y, t_test)
    >>> curve
    SelectionCurve(0 of 40 wrong with the best 20 features, 40 folds, sizes 1 to 1000)
    >>> curve.n_errors
    array([20,  7, 11,  4,  0,  0,  0,  3, 11, 12])
    >>> curves = selection_curve(SVC("linear"), X, y, {"t": t_test, "U": mann_whitney}, [5, 20], cv=5)
    >>> int(curves["U"].selected[1, :20].sum())  # of 5 times 20, so many are of those that differ
    45
    """
    if not hasattr(estimator, "fit") or isinstance(estimator, type) or not is_classifier(estimator):
        raise ValueError(f"estimator must be a classifier, got {estimator!r}.")
    rankings = _rankings(ranking)
    finite: Any = True if preprocess is None else "allow-nan"
    X, y = check_X_y(X, y, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=finite)
    check_classification_targets(y)
    numbers = _sizes(sizes, X.shape[1])
    splits = _splits(cv, estimator, X, y)
    with limit_threads(n_threads):
        judge = make_judge(estimator, X, y, numbers, shared=preprocess is None)

        def run(train: np.ndarray, test: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
            seen = X if preprocess is None else _preprocessed(preprocess, X, y, train)
            orders = [_order(own, seen[train], y[train], numbers) for own in rankings.values()]
            return orders, judge.n_wrong(seen, train, test, orders)

        ours = preprocess is None and all(_is_ours(own) for own in rankings.values())
        folds = in_splits(run, splits, min(effective_n_threads(), judge.most_teams) if ours else 1)
    if judge.unsolved:
        warn_unless_solved(summary(judge.unsolved), f"A fold of {type(estimator).__name__}")
    n_tests = np.array([len(test) for _, test in splits])
    curves = {
        name: SelectionCurve(
            sizes=numbers,
            fold_errors=np.array([wrong[k] for _, wrong in folds]) / n_tests[:, np.newaxis],
            n_errors=np.sum([wrong[k] for _, wrong in folds], axis=0),
            n_tested=int(n_tests.sum()),
            selected=_how_often([orders[k] for orders, _ in folds], numbers, X.shape[1]),
        )
        for k, name in enumerate(rankings)
    }
    return curves if isinstance(ranking, Mapping) else curves[""]


# --- what is asked for ------------------------------------------------------------------------------------


def _rankings(ranking: Any) -> dict[str, Any]:
    """By name; a single one has none."""
    rankings = dict(ranking) if isinstance(ranking, Mapping) else {"": ranking}
    if not rankings:
        raise ValueError("ranking must have one entry at least, got an empty dict.")
    for own in rankings.values():
        if not callable(own) and not hasattr(own, "fit"):
            raise TypeError(f"ranking must be a score function, a selector or a dict of them, got {own!r}.")
    return rankings


def _sizes(sizes: Iterable[int] | None, n_features: int) -> np.ndarray:
    """Ascending, each once."""
    if sizes is None:
        decades = range(len(str(n_features)))
        wanted = {digit * 10**decade for digit in DIGITS for decade in decades}
        return np.array(sorted({size for size in wanted if size < n_features} | {n_features}))
    sizes, rule = list(sizes), Number(1, n_features, integer=True)
    for size in sizes:
        if problem := rule.problem(size):
            raise ValueError(f"Each of sizes {problem}")
    if not sizes:
        raise ValueError("sizes must have one entry at least, got none.")
    return np.unique(sizes)


def _splits(cv: Any, estimator: Any, X: Any, y: np.ndarray) -> list[Split]:
    if isinstance(cv, str):
        if cv != "loo":
            raise ValueError(f"cv must be 'loo', an int >= 2, a splitter or an iterable of splits, got {cv!r}.")
        cv = LeaveOneOut()
    return make_splits(cv, estimator, X, y, None, None)


def _preprocessed(preprocess: Any, X: Any, y: np.ndarray, train: np.ndarray) -> Any:
    """All samples, after a preprocessing that has seen the training samples alone."""
    made = clone(preprocess).fit(X[train], y[train]).transform(X)
    made = check_array(made, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="preprocessed X")
    if made.shape[1] != X.shape[1]:
        raise ValueError(f"preprocess must keep the number of features, it makes {made.shape[1]} of {X.shape[1]}.")
    return made


def _order(ranking: Any, X: Any, y: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The best features, as many as are asked for, the best first; of equal ones the last, as scikit-learn has it."""
    if hasattr(ranking, "fit"):
        merit = _merit(clone(ranking).fit(X, y), sizes[0])
    else:
        scores = ranking(X, y)
        merit = np.array(scores[0] if isinstance(scores, tuple | list) else scores, dtype=np.float64)
        merit[np.isnan(merit)] = -np.inf
    if merit.shape != (X.shape[1],):
        raise ValueError(f"ranking must have a number for each of {X.shape[1]} features, got shape {merit.shape}.")
    return np.argsort(merit, kind="stable")[::-1][: sizes[-1]]


def _merit(selector: Any, smallest: int) -> np.ndarray:
    """What a fitted selector thinks of the features; larger is better."""
    if not hasattr(selector, "ranking_"):
        raise TypeError(f"A selector needs ranking_ after fit to rank features, {selector!r} has none.")
    ranks = np.asarray(selector.ranking_)
    if (kept := int((ranks == 1).sum())) > smallest:
        raise ValueError(
            f"A selector that keeps {kept} features does not tell which {smallest} of them are best: lower "
            f"n_features_to_select of {selector!r}, or leave out smaller sizes."
        )
    if not isinstance(selector, KernelRFE):
        return -ranks.astype(np.float64)
    merit = np.full(len(ranks), float(len(ranks)))
    merit[selector.order_] = np.arange(len(selector.order_))  # it has an order also of those that go at once
    return merit


def _is_ours(ranking: Any) -> bool:
    return (ranking.func if isinstance(ranking, partial) else ranking) in OURS


def _how_often(orders: list[np.ndarray], sizes: np.ndarray, n_features: int) -> np.ndarray:
    return np.array([np.bincount(np.concatenate([o[:size] for o in orders]), minlength=n_features) for size in sizes])
