"""Any classifier with probabilities."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, _check_y, check_is_fitted, has_fit_parameter

from mercer.calibration.calibration import METHODS, Calibration, fit_calibration, pairs_of
from mercer.calibration.folds import HeldOut, fold_scores, fold_splitter, is_in_sample, is_prefit
from mercer.calibration.maps import TARGETS
from mercer.kernels.samples import n_samples
from mercer.parameters import Choice, check_parameters
from mercer.threads import effective_n_threads, limit_threads

__all__ = ["Calibrated"]


class Calibrated(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A classifier whose decision values are calibrated log-odds, with probabilities that agree with them.

    The machine is trained once per fold, and its decision values for the samples that were held out teach a monotone
    map to probabilities [1]_ [2]_; then it is trained on all samples. Platt's sigmoid

    .. math::

        p(y = +1 \\mid x) = \\frac{1}{1 + \\exp(-(A f(x) + B))}, \\qquad A \\ge 0,

    is fitted by maximum likelihood, see `fit_sigmoid`; isotonic regression (`fit_isotonic`) takes any monotone
    function; a temperature (`fit_temperature`) only stretches the decision values and leaves every prediction as it
    was.

    Several classes: machines of pairs get one map per pair, and their probabilities are coupled (`couple`); scores, one
    per class, get one map per class against the rest, and the probabilities are divided by their sum; or one
    temperature serves all scores, the softmax of which are the probabilities.

    Parameters
    ----------
    estimator : classifier
        Any machine with ``decision_function``, of ours or scikit-learn's. It is cloned, never changed.
    method : {"sigmoid", "isotonic", "temperature"}, default="sigmoid"
        The map. The sigmoid needs few samples, isotonic regression a thousand or more and makes no assumption.
    cv : int >= 2, splitter, iterable of (train, test), "prefit", "in-sample" or None, default=5
        An int: so many folds, shuffled, with the classes in equal shares. Splits may be given as numbers of samples or
        as masks. "prefit": the estimator is trained already, on other samples than those of `fit`. "in-sample" or None:
        the decision values of the training samples themselves, which are too good, above all for flexible machines.
    targets : {"corrected", "plain"}, default="corrected"
        Platt's correction of the targets, a prior that keeps probabilities away from 0 and 1; or zeros and ones.
    random_state : int, RandomState instance or None, default=0
        Shuffles the folds; the same number gives the same probabilities.
    n_threads : int or None, default=None
        Threads for what the estimator leaves open; the result does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes; positive decision values speak for ``classes_[1]``.
    estimator_ : classifier
        The machine trained on all samples; its decision values are the raw margins.
    calibration_ : Calibration
        The maps that were learnt.
    n_features_in_ : int
        Features seen in `fit`, where the estimator knows it.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where the estimator knows them.

    See Also
    --------
    mercer.svm.SVC : ``SVC(probability=True)`` is short for ``Calibrated(SVC())``.

    Notes
    -----
    Costs are those of one training per fold and one more. Support vector classifiers of ours solve all of them over one
    Gram matrix, with the kernel resolved once, on all training samples; any other machine is cloned and trained fold by
    fold. Sample weights count in the folds, in the map and in its targets; a sample of weight 2 is the sample twice if
    both are in the same part of every split. Every training part must have every class.

    A map is monotone, so that calibration never reverses the order of two decision values. Where they rank the held-out
    samples the wrong way round, the sigmoid and the temperature become constant: no probability is better than that of
    the other. Ties, as isotonic regression makes them, go to the first class.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, eqs. 2.9-2.11.
    .. [2] C. M. Bishop, Pattern Recognition and Machine Learning, 2006, eq. 7.43.
    .. [3] J. Platt, Probabilistic outputs for support vector machines and comparison to regularised likelihood methods,
       1999.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC, Calibrated
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 1))
    >>> y = rng.random(400) < 1 / (1 + np.exp(-2 * X[:, 0]))
    >>> machine = Calibrated(SVC(kernel="linear")).fit(X, y)
    >>> machine.predict_proba([[-1.0], [0.0], [1.0]])[:, 1].round(1)
    array([0.1, 0.5, 0.9])
    """

    _parameters: ClassVar[dict[str, Any]] = {"method": Choice(*METHODS), "targets": Choice(*TARGETS)}

    def __init__(self, estimator, *, method="sigmoid", cv=5, targets="corrected", random_state=0, n_threads=None):
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.targets = targets
        self.random_state = random_state
        self.n_threads = n_threads

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.pairwise, tags.input_tags.sparse = inner.pairwise, inner.sparse
        return tags

    def fit(self, X, y, sample_weight=None):
        """Train the machine and learn its probabilities.

        Parameters
        ----------
        X : n samples
            As the estimator takes them.
        y : array of shape (n,)
            Classes, numbers or strings.
        sample_weight : array of shape (n,), default=None
            Non-negative; the estimator must take weights too.

        Returns
        -------
        self
        """
        check_parameters(self)
        effective_n_threads(self.n_threads)
        if not hasattr(self.estimator, "fit") or isinstance(self.estimator, type):
            raise TypeError(f"estimator must be a classifier with decision_function, got {self.estimator!r}.")
        with limit_threads(self.n_threads):
            machine, calibration = self._learn(X, y, sample_weight)
        self.estimator_, self.calibration_, self.classes_ = machine, calibration, machine.classes_
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(machine, name):
                setattr(self, name, getattr(machine, name))
        return self

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Calibration]:
        """The trained machine and its calibration."""
        prefit = is_prefit(self.cv)
        machine = self.estimator if prefit else clone(self.estimator)
        coupled = self.method != "temperature"
        split = None if prefit or is_in_sample(self.cv) else fold_splitter(self.cv, self.random_state)
        if split is not None and getattr(machine, "_folds_share_rows", False):
            held_out = machine._fit_folds(X, y, sample_weight, split, coupled)
        else:
            (X,) = indexable(X)
            y, weight = self._checked(X, y, sample_weight)
            if prefit:
                check_is_fitted(machine)
            else:
                machine.fit(X, y, **({} if sample_weight is None else {"sample_weight": weight}))
            codes = encode(y, weight, machine)
            if split is None:
                used = weight > 0
                values = columns(machine, X, bool(coupled and pairs_of(machine, len(machine.classes_))))
                held_out = HeldOut(values[used], codes[used], weight[used])
            else:
                splits = split(X, codes, weight, machine.classes_)
                held_out = fold_scores(machine, X, codes, None if sample_weight is None else weight, splits)
                coupled = False
        n_classes = len(machine.classes_)
        pairs = pairs_of(machine, n_classes) if coupled else ()
        shape = () if n_classes == 2 else (len(pairs) or n_classes,)
        if held_out.values.shape[1:] != shape:
            raise ValueError(
                f"decision_function of {type(machine).__name__} must give shape (n,) for two classes and one score per "
                f"class for more; for {n_classes} classes it gave {held_out.values.shape}."
            )
        return machine, fit_calibration(held_out, n_classes, self.method, self.targets, pairs)

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray]:
        """Labels and weights, for machines that are not asked to check them for us."""
        if not hasattr(self.estimator, "decision_function"):
            raise TypeError(f"estimator must be a classifier with decision_function, got {self.estimator!r}.")
        if y is None:
            raise ValueError("This Calibrated estimator requires y to be passed, but the target y is None.")
        y = _check_y(y, estimator=self)
        check_classification_targets(y)
        if len(y) != n_samples(X):
            raise ValueError(f"X has {n_samples(X)} samples, y has {len(y)}.")
        if sample_weight is None:
            return y, np.ones(len(y))
        if not is_prefit(self.cv) and not has_fit_parameter(self.estimator, "sample_weight"):
            raise TypeError(
                f"sample_weight needs an estimator that takes it, {type(self.estimator).__name__} does not."
            )
        empty = np.empty((len(y), 1))
        return y, _check_sample_weight(sample_weight, empty, dtype=np.float64, ensure_non_negative=True)

    def _values(self, X: Any) -> np.ndarray:
        """The decision values of the machine, as the calibration takes them."""
        check_is_fitted(self)
        with limit_threads(self.n_threads):
            return columns(self.estimator_, X, bool(self.calibration_.pairs))

    def decision_function(self, X):
        """Calibrated log-odds or log-probabilities.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n,) or (n, n_classes)
            Two classes: the log-odds of ``classes_[1]``. More: the logarithms of the probabilities.
        """
        values = self._values(X)
        return self.calibration_.decision(values)

    def predict_proba(self, X):
        """Probabilities of the classes.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        values = self._values(X)
        return self.calibration_.probabilities(values)

    def predict_log_proba(self, X):
        """Logarithms of the probabilities; finite also where these round to 0.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        values = self._values(X)
        return self.calibration_.log_probabilities(values)

    def predict(self, X):
        """The most probable classes, the first of equals.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n,)
        """
        values = self._values(X)
        return self.classes_[self.calibration_.codes(values)]


def columns(machine: Any, X: Any, pairs: bool) -> np.ndarray:
    """Decision values of a trained machine: of all pairs of classes, or what it calls its decision function."""
    return machine._values(X, pairs=True) if pairs else machine.decision_function(X)


def encode(y: np.ndarray, weight: np.ndarray, machine: Any) -> np.ndarray:
    """The class numbers that a trained machine uses, -1 for samples of no weight."""
    classes, used = machine.classes_, weight > 0
    codes = np.full(len(y), -1)
    codes[used] = np.minimum(np.searchsorted(classes, y[used]), len(classes) - 1)
    unknown = y[used][classes[codes[used]] != y[used]].tolist()
    if unknown:
        raise ValueError(f"y has the class {unknown[0]!r}, which the estimator has not been trained on.")
    silent = np.setdiff1d(classes, y[used]).tolist()
    if silent:
        raise ValueError(
            f"The class {silent[0]!r} of the estimator has no sample of positive weight to calibrate with."
        )
    return codes
