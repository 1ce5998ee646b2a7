"""Recursive feature elimination around a support vector machine."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.model_selection import LeaveOneOut
from sklearn.utils import check_array, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from mercer.errors import DomainError
from mercer.features.backward import Lesson, Trace, eliminate, sizes_of
from mercer.gram import memory_budget
from mercer.kernels import as_kernel
from mercer.kernels.samples import describe, take
from mercer.machines import Machine
from mercer.machines.base import VECTORS
from mercer.selection.splits import in_splits, make_splits
from mercer.solvers import warn_unless_solved
from mercer.svm import SVC, SVR, NuSVR
from mercer.svm.classification import SupportVectorClassifier
from mercer.threads import effective_n_threads, limit_threads

__all__ = ["KernelRFE"]

MACHINES = (SupportVectorClassifier, SVR, NuSVR)
# Mean scores that differ by less, relatively, are equal: sums of the same numbers in another order.
ROUNDING = 1e-12


class Amount:
    """A number of features, or a share of them."""

    def __init__(self, *, whole: bool, none: bool):
        self.whole, self.none = whole, none  # whether the share may be 1, and whether None will do

    def problem(self, value: Any) -> str | None:
        """What is wrong with the value, None when nothing is."""
        if isinstance(value, Integral) and not isinstance(value, bool):
            allowed = int(value) >= 1
        elif isinstance(value, Real) and not isinstance(value, bool):
            allowed = 0 < float(value) < 1 or (self.whole and float(value) == 1)
        else:
            allowed = self.none and value is None
        if allowed:
            return None
        end = "<=" if self.whole else "<"
        return f"must be an int >= 1 or a float > 0 and {end} 1{' or None' * self.none}, got {value!r}."


def _machine_has(name: str) -> Any:
    """Whether the machine has a method."""

    def has(selector: "KernelRFE") -> bool:
        getattr(getattr(selector, "estimator_", selector._machine), name)
        return True

    return available_if(has)


class KernelRFE(SelectorMixin, MetaEstimatorMixin, Machine):
    r"""Recursive feature elimination: fit, take away the features that matter least, fit again.

    What feature j matters is by how much the dual objective of the machine changes without it, its multipliers held
    fixed,

    .. math:: DJ(j) = \tfrac12 c^T (K - K^{(-j)}) c, \qquad c_i = y_i \alpha_i,

    where :math:`K^{(-j)}` is the kernel matrix without feature j, and c is the difference of the two multipliers of a
    sample in regression: :math:`w_j^2 / 2` for the linear kernel. Of several machines (classes, outputs) it is the sum.
    Of equal features the one in the first column goes first.

    With `cv`, or with samples for validation, the elimination stops where the validation error is smallest: it is
    done again inside every fold, so that no sample is judged by features that it has helped to choose.

    Parameters
    ----------
    estimator : SVC, NuSVC, SVR, NuSVR or None, default=None
        The machine, with all its options; its kernel works on vectors. None: ``SVC(kernel="linear")``.
    n_features_to_select : int >= 1, float in (0, 1] or None, default=None
        How many features to keep, or which share of them; None: half of them. With `cv`, or samples for validation, the
        smallest number that is tried; None: 1.
    step : int >= 1 or float in (0, 1), default=1
        How many features go at once, or which share of those that are left (of all, in scikit-learn's RFE). Larger is
        faster; all that go at once are judged by one fit.
    cv : int >= 2, "loo", "holdout", splitter, iterable of (train, test) or None, default=None
        Folds to choose the number of features by. An int means folds that are not shuffled, stratified by classes;
        "loo" leaves out one sample after the other; "holdout" holds out a quarter of the samples, once.
    random_state : int, RandomState instance or None, default=0
        Shuffles for "holdout".
    n_threads : int or None, default=None
        Threads, for folds side by side or in one elimination; the result does not depend on it.

    Attributes
    ----------
    support_ : bool ndarray of shape (n_features,)
        The features that are kept.
    ranking_ : int ndarray of shape (n_features,)
        1 for what is kept, 2 for the last to go, and so on; those that went at once share a rank.
    order_ : int ndarray of shape (n_eliminated,)
        The others in the order in which they went; of those that went at once, the least important first.
    losses_ : ndarray of shape (n_eliminated,)
        DJ of each of them when it went.
    n_features_ : int
        How many are kept.
    estimator_ : SVC, NuSVC, SVR or NuSVR
        The machine, fitted to what is kept.
    classes_ : ndarray of shape (n_classes,)
        The classes of a classifier.
    result_ : EliminationResult
        The certificates of all fits on the way: ``result_.violation`` is the largest violation of the optimality
        conditions, ``result_.gap`` the largest duality gap.
    cv_results_ : dict
        With validation only: "n_features", the numbers of features that were tried, from all to the smallest, and how
        good the predictions are with each, larger is better: "split0_test_score", ..., "mean_test_score",
        "std_test_score". It is the share of right classes, or minus the mean squared error of values.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when X has names that are all strings.

    See Also
    --------
    sklearn.feature_selection.RFE : The same for any machine with weights, one refit after the other.
    mercer.LinearSVC : With ``penalty="l1"``, few features in one go.

    Notes
    -----
    For `SVC` and `SVR` with kernels that are a function of inner products or distances (linear, polynomial, RBF,
    Laplacian, Matérn, sigmoid, ...) all of it is one native loop over a float64 copy of the features, also of sparse
    ones. A feature that goes is subtracted from the matrix of inner products or distances, O(n^2), which is computed
    afresh before rounding shows; every fit starts from the last one. Losses are computed where bounds on them do not
    tell that they are too large: O(n) each for the linear kernel, O(n_support^2) for the others; all of them in every
    step for others than linear, RBF and Laplacian kernels. The rule of a kernel (``gamma="scale"``) is applied again
    whenever a tenth of the features has gone. 17 790 features of 27 samples take about a second to the last one.

    It takes memory for two kernel matrices, of the training samples with these and those of validation; side by side
    there are so many folds as fit into the memory of the estimator. Other machines and kernels, and more kernel values
    than those of 5000 samples, are fitted anew in every step, from the last solution, and a kernel other than the
    linear one is computed without each feature in turn: O(d^2 n_support^2) in every step.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 1.7.
    .. [2] I. Guyon, J. Weston, S. Barnhill, V. Vapnik, Gene selection for cancer classification using support vector
       machines, Machine Learning 46, 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC, KernelRFE
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(60, 8)), np.arange(60) % 2
    >>> X[:, [2, 5]] += 2.0 * y[:, np.newaxis]
    >>> selector = KernelRFE(SVC(kernel="linear"), n_features_to_select=2).fit(X, y)
    >>> selector.get_support(indices=True)
    array([2, 5])
    >>> selector.transform(X).shape, bool(selector.result_.violation < 1e-3)
    ((60, 2), True)

    How many to keep, by the error of leaving one out:

    >>> chosen = KernelRFE(cv="loo").fit(X, y)
    >>> chosen.n_features_, round(float(chosen.cv_results_["mean_test_score"].max()), 3)
    (5, 0.9)
    """

    _parameters: ClassVar[dict[str, Any]] = {
        "n_features_to_select": Amount(whole=True, none=True),
        "step": Amount(whole=False, none=False),
    }

    support_: np.ndarray
    ranking_: np.ndarray
    estimator_: Any

    def __init__(self, estimator=None, *, n_features_to_select=None, step=1, cv=None, random_state=0, n_threads=None):
        self.estimator = estimator
        self.n_features_to_select = n_features_to_select
        self.step = step
        self.cv = cv
        self.random_state = random_state
        self.n_threads = n_threads

    def fit(self, X, y, sample_weight=None, *, groups=None, validation=None):
        """Choose features, and fit the machine to them.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features)
        y : array of shape (n,), for regression also (n, n_outputs)
            Classes, numbers or strings, or the values of a regression.
        sample_weight : array of shape (n,), default=None
            Non-negative; weight 2 is the sample twice, weight 0 is no sample.
        groups : array of shape (n,), default=None
            For splitters that keep groups together.
        validation : tuple (X, y), default=None
            Other samples to choose the number of features by, in place of `cv`.

        Returns
        -------
        self
        """
        with self._all_or_nothing(), limit_threads(self.n_threads):
            self._fit(X, y, sample_weight, groups, validation)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any, validation: Any) -> None:
        self._check_all()
        if self.cv is not None and validation is not None:
            raise ValueError("validation must be None where cv chooses the number of features, got both.")
        X, y = self._take_samples(X, y) if self._classifies else self._take_targets(X, y)
        weight = self._weights(sample_weight, X)
        if issparse(X):
            X = X.tocsc()  # columns are what is taken from it
        if self._classifies:
            clone(self._machine)._encode(y, weight)  # refuses what are no classes
        judged = self.cv is not None or validation is not None
        sizes = sizes_of(X.shape[1], self._smallest(X.shape[1], judged), self.step)
        self.__dict__.pop("cv_results_", None)
        if judged:
            sizes = sizes[: self._best(self._judge(X, y, weight, groups, validation, sizes), sizes) + 1]
        trace = eliminate(self._lesson(X, y, weight, X[:0]), sizes)
        self._keep(trace, sizes)
        self.estimator_ = clone(self._machine).fit(X[:, self.support_], y, sample_weight)
        warn_unless_solved(trace.result, f"A fit of {type(self).__name__}")

    def _check_all(self) -> None:
        super()._check_all()
        machine = self._machine
        if not isinstance(machine, MACHINES):
            raise TypeError(
                "estimator must be an SVC, a NuSVC, an SVR or a NuSVR of mercer, or None, got "
                f"{machine!r} of {type(machine).__module__}."
            )
        machine._check_all()
        if machine._precomputed or as_kernel(machine.kernel).domain not in ("vectors", "any"):
            raise DomainError(
                f"KernelRFE takes features of vectors away, got kernel={machine.kernel!r}, which does not work on them."
            )
        if isinstance(self.cv, str) and self.cv not in ("loo", "holdout"):
            raise ValueError(
                f"cv must be an int >= 2, 'loo', 'holdout', a splitter, an iterable of splits or None, got {self.cv!r}."
            )

    @property
    def _machine(self) -> Any:
        return SVC(kernel="linear") if self.estimator is None else self.estimator

    @property
    def _classifies(self) -> bool:
        return isinstance(self._machine, SupportVectorClassifier)

    def _smallest(self, n_features: int, judged: bool) -> int:
        """The number of features where the elimination ends at the latest."""
        amount = self.n_features_to_select
        if amount is None:
            return 1 if judged else max(1, n_features // 2)
        if not isinstance(amount, Integral):
            return max(1, int(amount * n_features))
        if int(amount) > n_features:
            raise ValueError(f"n_features_to_select must be at most {n_features=}, got {amount}.")
        return int(amount)

    def _lesson(self, X: Any, y: np.ndarray, weight: np.ndarray, X_test: Any) -> Lesson:
        used = np.flatnonzero(weight)
        return Lesson(clone(self._machine), take(X, used), y[used], weight[used], X_test)

    # --- how many ---------------------------------------------------------------------------------------------

    def _judge(
        self, X: Any, y: np.ndarray, weight: np.ndarray, groups: Any, validation: Any, sizes: list[int]
    ) -> np.ndarray:
        """How good the predictions are in every fold and at every size."""
        if validation is not None:
            X_new, y_new = self._check_validation(validation, y)
            trace = eliminate(self._lesson(X, y, weight, X_new), sizes)
            return self._quality(trace, y_new).mean(axis=1)[np.newaxis]
        cv = LeaveOneOut() if isinstance(self.cv, str) and self.cv == "loo" else self.cv
        splits = []
        for k, (train, test) in enumerate(make_splits(cv, self._machine, X, y, groups, self.random_state)):
            used = y[train][weight[train] > 0]
            if self._classifies and len(np.unique(used)) < 2:
                raise ValueError(f"cv must leave two classes to train on in every split, split {k} has one.")
            if not len(used):
                raise ValueError(f"cv must leave samples of positive weight to train on, split {k} has none.")
            if weight[test].any():
                splits.append((train, test))
        if not splits:
            raise ValueError("cv must hold out samples of positive weight, got none.")

        def scores(train: np.ndarray, test: np.ndarray) -> np.ndarray:
            trace = eliminate(self._lesson(take(X, train), y[train], weight[train], take(X, test)), sizes)
            return np.average(self._quality(trace, y[test]), axis=1, weights=weight[test])

        n, d = X.shape
        room = 8 * n * (2 * n + d)  # two matrices and the features of a fold
        teams = min(effective_n_threads(), memory_budget(self._machine.memory) // room)
        return np.array(in_splits(scores, splits, teams))

    def _quality(self, trace: Trace, y: np.ndarray) -> np.ndarray:
        """How good the predictions are, larger is better, shape (n_sizes, n_tests)."""
        if self._classifies:
            right: np.ndarray = trace.predictions == y
            return right
        squared = (trace.predictions - y) ** 2
        return -squared.reshape(*squared.shape[:2], -1).mean(axis=2)

    def _check_validation(self, validation: Any, y_seen: np.ndarray) -> tuple[Any, np.ndarray]:
        if not isinstance(validation, tuple) or len(validation) != 2:
            raise ValueError(f"validation must be a tuple (X, y) or None, got {describe(validation)}.")
        X = validate_data(self, validation[0], reset=False, **VECTORS)
        if self._classifies:
            y = column_or_1d(validation[1])
            if unknown := set(y.tolist()) - set(y_seen.tolist()):
                raise ValueError(f"validation must have no classes but those of y, got {min(map(repr, unknown))}.")
        else:
            y = check_array(validation[1], dtype=np.float64, ensure_2d=False, input_name="y of validation")
            if y.shape[1:] != y_seen.shape[1:]:
                raise ValueError(f"validation must have outputs as y has, got shape {y.shape} for {y_seen.shape}.")
        if len(y) != X.shape[0]:
            raise ValueError(f"validation must have as many labels as samples, got {len(y)} for {X.shape[0]}.")
        return X.tocsc() if issparse(X) else X, y

    def _best(self, scores: np.ndarray, sizes: list[int]) -> int:
        """Where the error is smallest, at the smallest such size."""
        mean = scores.mean(axis=0)
        self.cv_results_ = {
            "n_features": np.array(sizes),
            "mean_test_score": mean,
            "std_test_score": scores.std(axis=0),
            **{f"split{k}_test_score": of_split for k, of_split in enumerate(scores)},
        }
        return int(np.flatnonzero(mean >= mean.max() - ROUNDING * abs(mean.max()))[-1])

    def _keep(self, trace: Trace, sizes: list[int]) -> None:
        self.order_, self.losses_, self.result_ = trace.order, trace.losses, trace.result
        self.n_features_ = sizes[-1]
        self.support_ = np.ones(sizes[0], dtype=bool)
        self.support_[trace.order] = False
        self.ranking_ = np.ones(sizes[0], dtype=np.int64)
        # The last batch has rank 2.
        batches = -np.diff(sizes)
        self.ranking_[trace.order] = np.repeat(np.arange(len(batches), 0, -1) + 1, batches)

    # --- the machine on what is kept --------------------------------------------------------------------------

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.support_

    @property
    def classes_(self):
        """The classes of a classifier."""
        check_is_fitted(self)
        return self.estimator_.classes_

    def predict(self, X):
        """Classes or values, by the machine on the features that are kept.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n,) or (n, n_outputs)
        """
        return self._ask("predict", X)

    @_machine_has("decision_function")
    def decision_function(self, X):
        """Decision values of a classifier on the features that are kept.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n,) or (n, n_classes)
        """
        return self._ask("decision_function", X)

    @_machine_has("predict_proba")
    def predict_proba(self, X):
        """Probabilities of the classes; for a machine with ``probability=True``.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        return self._ask("predict_proba", X)

    @_machine_has("predict_log_proba")
    def predict_log_proba(self, X):
        """Logarithms of the probabilities; for a machine with ``probability=True``.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        return self._ask("predict_log_proba", X)

    def score(self, X, y, sample_weight=None):
        """The share of right predictions, or R^2 for regression.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features)
        y : array of shape (n,) or (n, n_outputs)
        sample_weight : array of shape (n,), default=None

        Returns
        -------
        float
        """
        return self._ask("score", X, y, sample_weight)

    def _ask(self, method: str, X: Any, *more: Any) -> Any:
        """The machine, which knows no names of features, whatever `transform` makes of them."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **VECTORS)
        return getattr(self.estimator_, method)(X[:, self.support_], *more)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        of_machine = get_tags(self._machine)
        tags.estimator_type = of_machine.estimator_type
        tags.classifier_tags, tags.regressor_tags = of_machine.classifier_tags, of_machine.regressor_tags
        tags.target_tags = of_machine.target_tags
        tags.input_tags.sparse = True
        for of_kind in (tags.classifier_tags, tags.regressor_tags):
            if of_kind is not None:
                of_kind.poor_score = True  # half of the features may not do
        return tags
