"""Any classifier with probabilities."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, _check_y, check_is_fitted, has_fit_parameter

from mercer.calibration.calibration import (
    METHODS,
    Calibration,
    average,
    class_codes,
    fit_calibration,
    log_probabilities,
    pairs_of,
    probabilities,
)
from mercer.calibration.folds import HeldOut, fold_machines, fold_splitter, is_in_sample, is_prefit
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

    An ensemble has no machine of all samples: it keeps those of the folds, and its probabilities are the means of
    theirs. One map serves them all, learnt from all that was held out, since they differ by chance only.

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
    targets : {"auto", "corrected", "plain"}, default="auto"
        Platt's correction of the targets, a prior that keeps probabilities away from 0 and 1; or zeros and ones.
        "auto": corrected for the sigmoid and isotonic regression, plain for the temperature, whose one number needs no
        prior.
    ensemble : bool, default=False
        True keeps the machines of the folds and averages their probabilities: a little more reliable where classes
        overlap much or the map is isotonic, a little less where the machine needs every sample. Predictions take the
        time of one machine per fold.
    random_state : int, RandomState instance or None, default=0
        Shuffles the folds; the same number gives the same probabilities.
    n_threads : int or None, default=None
        Threads for what the estimator leaves open; the result does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes; positive decision values speak for ``classes_[1]``.
    estimator_ : classifier
        The machine trained on all samples; its decision values are the raw margins. ``ensemble=False`` only.
    estimators_ : list of classifier
        The machines of the folds; ``ensemble=True`` only.
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
    Costs are those of one training per fold and, unless it is an ensemble, one more. Support vector classifiers of ours
    solve all of them over one Gram matrix, with the kernel resolved once, on all training samples; any other machine is
    cloned and trained fold by fold. Sample weights count in the folds, in the map and in its targets; a sample of
    weight 2 is the sample twice if both are in the same part of every split. Every training part must have every class.

    A map is monotone, so that calibration never reverses the order of two decision values. Where they rank the held-out
    samples the wrong way round, the sigmoid and the temperature become constant: no probability is better than that of
    the other. Ties, as isotonic regression makes them, go to the first class. Each machine of an ensemble has an
    order of its own.

    scikit-learn's ensembles have a map for every machine, which is learnt from the few samples of one fold: Platt's
    correction keeps it from being sure, above all where there are several classes. One map for all is more reliable.

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
    >>> ensemble = Calibrated(SVC(kernel="linear"), ensemble=True).fit(X, y)
    >>> len(ensemble.estimators_), ensemble.predict_proba([[1.0]]).round(1)
    (5, array([[0.1, 0.9]]))
    """

    _parameters: ClassVar[dict[str, Any]] = {
        "method": Choice(*METHODS),
        "targets": Choice("auto", *TARGETS),
        "ensemble": Choice(True, False),
    }

    def __init__(
        self,
        estimator,
        *,
        method="sigmoid",
        cv=5,
        targets="auto",
        ensemble=False,
        random_state=0,
        n_threads=None,
    ):
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.targets = targets
        self.ensemble = ensemble
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
            machines, calibration = self._learn(X, y, sample_weight)
        for name in ("estimator_", "estimators_", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        if self.ensemble:
            self.estimators_ = machines
        else:
            (self.estimator_,) = machines
        self.calibration_, self.classes_ = calibration, machines[0].classes_
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(machines[0], name):
                setattr(self, name, getattr(machines[0], name))
        return self

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> tuple[list[Any], Calibration]:
        """The trained machine, or those of the folds, and the calibration."""
        machine = self.estimator if is_prefit(self.cv) else clone(self.estimator)
        split = None
        if not is_prefit(self.cv) and not is_in_sample(self.cv):
            split = fold_splitter(self.cv, self.random_state)
        elif self.ensemble:
            raise ValueError(f"ensemble must be False for cv={self.cv!r}, which has one machine, got True.")
        coupled = self.method != "temperature"
        if split is not None and getattr(machine, "_folds_share_rows", False):
            machines, held_out = machine._fit_folds(X, y, sample_weight, split, coupled, not self.ensemble)
        else:
            machines, held_out = self._learn_apart(machine, X, y, sample_weight, split, coupled)
            coupled = coupled and split is None
        machine = machines[0]
        n_classes = len(machine.classes_)
        pairs = pairs_of(machine, n_classes) if coupled else ()
        shape = () if n_classes == 2 else (len(pairs) or n_classes,)
        if held_out.values.shape[1:] != shape:
            raise ValueError(
                f"decision_function of {type(machine).__name__} must give shape (n,) for two classes and one score per "
                f"class for more; for {n_classes} classes it gave {held_out.values.shape}."
            )
        return machines, fit_calibration(held_out, n_classes, self.method, self.targets, pairs)

    def _learn_apart(
        self, machine: Any, X: Any, y: Any, sample_weight: Any, split: Any, coupled: bool
    ) -> tuple[list[Any], HeldOut]:
        """The trained machine, or those of the folds, each trained by itself, and what they are judged by.

        Without folds, pairs of classes if the machine has them and they are to be `coupled`; else scores.
        """
        (X,) = indexable(X)
        y, weight = self._checked(X, y, sample_weight)
        given = None if sample_weight is None else weight
        if is_prefit(self.cv):
            check_is_fitted(machine)
        elif not self.ensemble:
            machine.fit(X, y, **({} if given is None else {"sample_weight": given}))
        used = weight > 0
        classes = np.unique(y[used]) if self.ensemble else machine.classes_
        codes = encode(y, weight, classes)
        if split is None:
            values = columns(machine, X, bool(coupled and pairs_of(machine, len(classes))))
            return [machine], HeldOut(values[used], codes[used], weight[used])
        folds = fold_machines(machine, X, y, codes, given, split(X, codes, weight, classes))
        trained, parts = zip(*folds, strict=True)
        return list(trained) if self.ensemble else [machine], HeldOut.joined(parts)

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
        weight = _check_sample_weight(sample_weight, empty, dtype=np.float64, ensure_non_negative=True)
        if not weight.any():
            raise ValueError("sample_weight must have at least one positive entry, all are zero.")
        return y, weight

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
        check_is_fitted(self)
        with limit_threads(self.n_threads):
            machines = self.estimators_ if hasattr(self, "estimators_") else [self.estimator_]
            values = (columns(machine, X, bool(self.calibration_.pairs)) for machine in machines)
            return average([self.calibration_.decision(of_machine) for of_machine in values])

    def predict_proba(self, X):
        """Probabilities of the classes.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        decision = self.decision_function(X)
        return probabilities(decision)

    def predict_log_proba(self, X):
        """Logarithms of the probabilities; finite also where these round to 0.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        decision = self.decision_function(X)
        return log_probabilities(decision)

    def predict(self, X):
        """The most probable classes, the first of equals.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n,)
        """
        decision = self.decision_function(X)
        return self.classes_[class_codes(decision)]


def columns(machine: Any, X: Any, pairs: bool) -> np.ndarray:
    """Decision values of a trained machine: of all pairs of classes, or what it calls its decision function."""
    return machine._values(X, pairs=True) if pairs else machine.decision_function(X)


def encode(y: np.ndarray, weight: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The numbers of the classes that a machine knows, -1 for samples of no weight."""
    used = weight > 0
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
