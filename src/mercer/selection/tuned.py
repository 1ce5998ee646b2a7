"""Machines that choose their own parameters."""

from typing import Any

from sklearn.base import ClassifierMixin, MetaEstimatorMixin, OutlierMixin, RegressorMixin, clone
from sklearn.utils import get_tags

from mercer.selection.tuner import Tuner
from mercer.svm import SVC, SVR, OneClassSVM

__all__ = ["Tuned", "TunedOneClassSVM", "TunedSVC", "TunedSVR", "tune"]


class Tuned(MetaEstimatorMixin, Tuner):
    """Any of our machines with a kernel, with parameters chosen by cross-validation.

    Every combination of parameters is learnt from the training part of every fold and judged by the samples held out;
    the one with the best mean score wins, and is learnt again from all samples.

    Parameters
    ----------
    estimator : machine
        An `SVC`, `NuSVC`, `SVR`, `NuSVR`, `OneClassSVM` or `SVDD`. Other machines of ours can be tuned as well, fit by
        fit.
    param_grid : dict, list of dicts or None, default=None
        Values to try by the names of the parameters, those of the kernel as ``kernel__name``; None: see `default_grid`.
    cv : int, "holdout", splitter or iterable of (train, test), default=5
        Who is held out. An int: so many folds, as scikit-learn makes them; "holdout": a quarter of the samples, once.
        With `LeaveOneOut` and other splitters of many folds, folds that hold out no support vector need no fit.
    scoring : str, callable, Criterion, list, dict or None, default=None
        As in `GridSearchCV`; None is the estimator's own score. A `Criterion` needs no samples held out: `cv` is then
        not used.
    search : {"grid", "adaptive"}, default="grid"
        "adaptive" tries every second value of each parameter, then what lies around the best, and at last values
        between those that were given: some cells may never be looked at.
    preprocess : transformer, pipeline or None, default=None
        Fitted to the training part of every fold, applied to all samples: scaling, imputation, and so on. Its
        parameters are searched over as ``preprocess__name``.
    refit : bool or str, default=True
        Whether to learn with the best parameters from all samples; with several scores the name of the one that
        decides.
    journal : path or None, default=None
        A file in which finished cells are kept: killed at any moment, the same call goes on where it stopped. Cells are
        then solved one by one, which takes somewhat longer.
    max_seconds : float > 0 or None, default=None
        Most seconds for the search. The best cell so far is taken, with a warning, and `complete_` is False.
    progress : bool, default=False
        Show on the standard error stream how far the search is, and how long it will take.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel matrices; what does not fit is computed where it is needed.
    n_threads : int or None, default=None
        Threads; the result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Shuffles for ``cv="holdout"``.

    Attributes
    ----------
    best_params_, best_score_, best_index_ : dict, float, int
        The winner, its mean score over the folds, and its place in `cv_results_`.
    best_estimator_ : machine or Pipeline
        What was learnt from all samples, behind the preprocessing if there is one.
    machine_ : machine
        The machine alone.
    cv_results_ : dict of arrays
        All cells, in the form of scikit-learn's `GridSearchCV`; cells that were not tried, or have no solution, score
        NaN.
    complete_ : bool
        Whether all cells are known.
    scorer_, n_splits_, multimetric_, refit_time_ :
        As in `GridSearchCV`.
    result_ : SolverResult
        The certificate of `machine_`.
    classes_ : ndarray of shape (n_classes,)
        The classes, of classifiers.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when X has names that are all strings.

    See Also
    --------
    TunedSVC, TunedSVR, TunedOneClassSVM : The usual machines, in one word.
    GradientTuned : Many parameters at once, by the gradient of a bound.

    Notes
    -----
    Distances or inner products are computed once, O(n^2 d), a kernel matrix once for every value of the kernel's
    parameters, O(n^2), and shared by all folds unless something in it comes from the data (``gamma="scale"``, a
    preprocessing): that is taken from the training part of each fold. Along rising C every fit starts from the last
    one; it costs nothing where no multiplier is at its bound. Memory is 20 n^2 bytes, or within the budget. The winner
    is that of `GridSearchCV`; scores of cells differ where a decision value is within `tol` of zero.

    References
    ----------
    .. [1] J.-P. Vert, K. Tsuda, B. Schölkopf, A primer on kernel methods, 2004, section 1.5.
    .. [2] I. Steinwart, P. Thomann, liquidSVM: a fast and versatile SVM package, 2017.

    Examples
    --------
    >>> from mercer import NuSVC
    >>> from mercer.datasets import load_ionosphere
    >>> from mercer.selection import Tuned
    >>> X, y = load_ionosphere(return_X_y=True)
    >>> search = Tuned(NuSVC(), {"nu": [0.1, 0.2, 0.4], "kernel__gamma": [0.1, 0.3]}).fit(X, y)
    >>> search.best_params_, round(search.best_score_, 3)
    ({'kernel__gamma': 0.1, 'nu': 0.1}, 0.949)
    """

    def __init__(
        self,
        estimator,
        param_grid=None,
        *,
        cv=5,
        scoring=None,
        search="grid",
        preprocess=None,
        refit=True,
        journal=None,
        max_seconds=None,
        progress=False,
        memory="auto",
        n_threads=None,
        random_state=0,
    ):
        self.estimator = estimator
        self.param_grid = param_grid
        self.cv = cv
        self.scoring = scoring
        self.search = search
        self.preprocess = preprocess
        self.refit = refit
        self.journal = journal
        self.max_seconds = max_seconds
        self.progress = progress
        self.memory = memory
        self.n_threads = n_threads
        self.random_state = random_state

    def _machine(self):
        return clone(self.estimator)

    def __sklearn_tags__(self):
        tags, own = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type = own.estimator_type
        tags.classifier_tags, tags.regressor_tags = own.classifier_tags, own.regressor_tags
        tags.target_tags = own.target_tags
        tags.input_tags.pairwise, tags.input_tags.sparse = own.input_tags.pairwise, own.input_tags.sparse
        return tags


def tune(estimator: Any, param_grid: Any = None, cv: Any = 5, scoring: Any = None, **options: Any) -> Tuned:
    """A search for the parameters of any of our machines with a kernel.

    Parameters
    ----------
    estimator : machine
    param_grid : dict, list of dicts or None, default=None
        Values to try; None: see `default_grid`.
    cv : int, "holdout", splitter or iterable of (train, test), default=5
        Who is held out.
    scoring : str, callable, Criterion, list, dict or None, default=None
        None is the estimator's own score.
    **options
        The other parameters of `Tuned`.

    Returns
    -------
    Tuned
        To be fitted.

    Examples
    --------
    >>> from mercer import SVR
    >>> from mercer.selection import tune
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> search = tune(SVR(), {"C": [10.0, 100.0, 1000.0], "kernel__gamma": [0.1, 1.0, 10.0]}).fit(X, y)
    >>> search.best_params_
    {'C': 100.0, 'kernel__gamma': 10.0}
    """
    return Tuned(estimator, param_grid, cv=cv, scoring=scoring, **options)


class OwnMachine(Tuner):
    """A tuner that builds its machine from its own parameters."""

    _kind: Any
    _passed: tuple[str, ...]

    def _machine(self):
        return self._kind(**{name: getattr(self, name) for name in self._passed})

    def __sklearn_tags__(self):
        tags, own = super().__sklearn_tags__(), get_tags(self._machine())
        tags.input_tags.pairwise, tags.input_tags.sparse = own.input_tags.pairwise, own.input_tags.sparse
        tags.target_tags = own.target_tags
        return tags


class TunedSVC(ClassifierMixin, OwnMachine):
    """Support vector classifier with parameters chosen by cross-validation.

    `SVC` with the C and the kernel parameters that predict held-out samples best. All fits of the search share what
    they can: distances, kernel matrices, and the solutions that others start from.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples, see `mercer.kernels`.
    param_grid : dict, list of dicts or None, default=None
        Values to try by the names of the parameters of `SVC`, those of the kernel as ``kernel__name``; None: C = 2^-5,
        2^-3, ..., 2^15 and, if the kernel has one, gamma = 2^-15, ..., 2^3.
    cv : int, "holdout", splitter or iterable of (train, test), default=5
        Who is held out. An int: so many folds, as scikit-learn makes them; "holdout": a quarter of the samples, once.
        With `LeaveOneOut` and other splitters of many folds, folds that hold out no support vector need no fit.
    scoring : str, callable, Criterion, list, dict or None, default=None
        As in `GridSearchCV`; None is the accuracy. A `Criterion` needs no samples held out: `cv` is then not used.
    search : {"grid", "adaptive"}, default="grid"
        "adaptive" tries every second value of each parameter, then what lies around the best, and at last values
        between those that were given: some cells may never be looked at.
    preprocess : transformer, pipeline or None, default=None
        Fitted to the training part of every fold, applied to all samples: scaling, imputation, and so on. Its
        parameters are searched over as ``preprocess__name``.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        See `SVC`.
    class_weight : dict, "balanced" or None, default=None
        See `SVC`; "balanced" as the training part of each fold has it.
    multi_class : str or Scheme, default="ovo"
        See `SVC`.
    probability : bool, default=False
        Learn probabilities, from the decision values of the samples that the winner's folds have held out.
    tol : float > 0, default=1e-3
        Largest violation of the optimality conditions, of all fits.
    refit : bool or str, default=True
        Whether to learn with the best parameters from all samples; with several scores the name of the one that
        decides.
    journal : path or None, default=None
        A file in which finished cells are kept: killed at any moment, the same call goes on where it stopped. Cells are
        then solved one by one, which takes somewhat longer.
    max_seconds : float > 0 or None, default=None
        Most seconds for the search. The best cell so far is taken, with a warning, and `complete_` is False.
    progress : bool, default=False
        Show on the standard error stream how far the search is, and how long it will take.
    device : str, torch.device or None, default=None
        Where kernel matrices are made, and the machine is trained in the end: "cuda", a GPU, by PyTorch, or "cpu", by
        the same code. None: the native core.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel matrices; what does not fit is computed where it is needed.
    n_threads : int or None, default=None
        Threads; the result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Shuffles for ``cv="holdout"``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    best_params_, best_score_, best_index_ : dict, float, int
        The winner, its mean score over the folds, and its place in `cv_results_`.
    best_estimator_ : SVC or Pipeline
        What was learnt from all samples, behind the preprocessing if there is one.
    machine_ : SVC
        The machine alone.
    cv_results_ : dict of arrays
        All cells, in the form of scikit-learn's `GridSearchCV`; cells that were not tried, or have no solution, score
        NaN.
    complete_ : bool
        Whether all cells are known.
    scorer_, n_splits_, multimetric_, refit_time_ :
        As in `GridSearchCV`.
    result_ : SolverResult
        The certificate of `machine_`.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when X has names that are all strings.

    See Also
    --------
    SVC : The machine with given parameters.
    tune : The same for any other machine.
    GradientTuned : Many parameters at once, by the gradient of a bound.

    Notes
    -----
    Distances or inner products are computed once, O(n^2 d), a kernel matrix once for every value of the kernel's
    parameters, O(n^2), and shared by all folds unless something in it comes from the data (``gamma="scale"``, a
    preprocessing): that is taken from the training part of each fold. Along rising C every fit starts from the last
    one; it costs nothing where no multiplier is at its bound. Memory is 20 n^2 bytes, or within the budget. The winner
    is that of `GridSearchCV`; scores of cells differ where a decision value is within `tol` of zero.

    References
    ----------
    .. [1] J.-P. Vert, K. Tsuda, B. Schölkopf, A primer on kernel methods, 2004, section 1.5.
    .. [2] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, sections 1.6, 1.7 and 3.3.

    Examples
    --------
    >>> from mercer import TunedSVC
    >>> from mercer.datasets import load_ionosphere
    >>> X, y = load_ionosphere(return_X_y=True)
    >>> machine = TunedSVC().fit(X, y)
    >>> machine.best_params_, round(machine.best_score_, 3)
    ({'C': 2.0, 'kernel__gamma': 0.125}, 0.952)
    >>> len(machine.cv_results_["params"])
    110
    """

    _kind = SVC
    _passed = ("kernel", "loss", "class_weight", "multi_class", "tol", "device", "memory", "n_threads")

    def __init__(
        self,
        kernel="rbf",
        *,
        param_grid=None,
        cv=5,
        scoring=None,
        search="grid",
        preprocess=None,
        loss="hinge",
        class_weight=None,
        multi_class="ovo",
        probability=False,
        tol=1e-3,
        refit=True,
        journal=None,
        max_seconds=None,
        progress=False,
        device=None,
        memory="auto",
        n_threads=None,
        random_state=0,
    ):
        self.kernel = kernel
        self.param_grid = param_grid
        self.cv = cv
        self.scoring = scoring
        self.search = search
        self.preprocess = preprocess
        self.loss = loss
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.probability = probability
        self.tol = tol
        self.refit = refit
        self.journal = journal
        self.max_seconds = max_seconds
        self.progress = progress
        self.device = device
        self.memory = memory
        self.n_threads = n_threads
        self.random_state = random_state


class TunedSVR(RegressorMixin, OwnMachine):
    """Support vector regression with parameters chosen by cross-validation.

    `SVR` with the C, epsilon and kernel parameters that predict held-out values best, by the squared error [1]_.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples, see `mercer.kernels`.
    param_grid : dict, list of dicts or None, default=None
        Values to try by the names of the parameters of `SVR`, those of the kernel as ``kernel__name``; None: C = 2^-5,
        2^-3, ..., 2^15, epsilon = 2^-7, ..., 2^-1 and, if the kernel has one, gamma = 2^-15, ..., 2^3.
    cv : int, "holdout", splitter or iterable of (train, test), default=5
        Who is held out. An int: so many folds, as scikit-learn makes them; "holdout": a quarter of the samples, once.
        With `LeaveOneOut` and other splitters of many folds, folds that hold out no support vector need no fit.
    scoring : str, callable, Criterion, list, dict or None, default="neg_mean_squared_error"
        As in `GridSearchCV`; None is R^2. A `Criterion` needs no samples held out: `cv` is then not used.
    search : {"grid", "adaptive"}, default="grid"
        "adaptive" tries every second value of each parameter, then what lies around the best, and at last values
        between those that were given: some cells may never be looked at.
    preprocess : transformer, pipeline or None, default=None
        Fitted to the training part of every fold, applied to all samples: scaling, imputation, and so on. Its
        parameters are searched over as ``preprocess__name``.
    loss : {"linear", "quadratic"}, default="linear"
        See `SVR`.
    tol : float > 0, default=1e-3
        Largest violation of the optimality conditions, of all fits.
    refit : bool or str, default=True
        Whether to learn with the best parameters from all samples; with several scores the name of the one that
        decides.
    journal : path or None, default=None
        A file in which finished cells are kept: killed at any moment, the same call goes on where it stopped. Cells are
        then solved one by one, which takes somewhat longer.
    max_seconds : float > 0 or None, default=None
        Most seconds for the search. The best cell so far is taken, with a warning, and `complete_` is False.
    progress : bool, default=False
        Show on the standard error stream how far the search is, and how long it will take.
    device : str, torch.device or None, default=None
        Where kernel matrices are made, and the machine is trained in the end: "cuda", a GPU, by PyTorch, or "cpu", by
        the same code. None: the native core.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel matrices; what does not fit is computed where it is needed.
    n_threads : int or None, default=None
        Threads; the result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Shuffles for ``cv="holdout"``.

    Attributes
    ----------
    best_params_, best_score_, best_index_ : dict, float, int
        The winner, its mean score over the folds, and its place in `cv_results_`.
    best_estimator_ : SVR or Pipeline
        What was learnt from all samples, behind the preprocessing if there is one.
    machine_ : SVR
        The machine alone.
    cv_results_ : dict of arrays
        All cells, in the form of scikit-learn's `GridSearchCV`; cells that were not tried, or have no solution, score
        NaN.
    complete_ : bool
        Whether all cells are known.
    scorer_, n_splits_, multimetric_, refit_time_ :
        As in `GridSearchCV`.
    result_ : SolverResult
        The certificate of `machine_`.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when X has names that are all strings.

    See Also
    --------
    SVR : The machine with given parameters.
    tune : The same for any other machine.

    Notes
    -----
    Distances or inner products are computed once, O(n^2 d), a kernel matrix once for every value of the kernel's
    parameters, O(n^2), and shared by all folds unless something in it comes from the data (``gamma="scale"``, a
    preprocessing): that is taken from the training part of each fold. Along rising C every fit starts from the last
    one; it costs nothing where no multiplier is at its bound. Memory is 20 n^2 bytes, or within the budget. The winner
    is that of `GridSearchCV`; scores of cells differ where a decision value is within `tol` of zero.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 2.5.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import ShuffleSplit
    >>> from mercer import TunedSVR
    >>> X = np.linspace(0.0, 6.0, 60).reshape(-1, 1)
    >>> grid = {"C": [1.0, 10.0, 100.0], "epsilon": [0.01, 0.1], "kernel__gamma": [0.1, 1.0]}
    >>> machine = TunedSVR(param_grid=grid, cv=ShuffleSplit(3, random_state=0)).fit(X, np.sin(X[:, 0]))
    >>> machine.best_params_["epsilon"], round(float(machine.predict([[np.pi / 2]])[0]), 2)
    (0.01, 0.99)
    """

    _kind = SVR
    _passed = ("kernel", "loss", "tol", "device", "memory", "n_threads")

    def __init__(
        self,
        kernel="rbf",
        *,
        param_grid=None,
        cv=5,
        scoring="neg_mean_squared_error",
        search="grid",
        preprocess=None,
        loss="linear",
        tol=1e-3,
        refit=True,
        journal=None,
        max_seconds=None,
        progress=False,
        device=None,
        memory="auto",
        n_threads=None,
        random_state=0,
    ):
        self.kernel = kernel
        self.param_grid = param_grid
        self.cv = cv
        self.scoring = scoring
        self.search = search
        self.preprocess = preprocess
        self.loss = loss
        self.tol = tol
        self.refit = refit
        self.journal = journal
        self.max_seconds = max_seconds
        self.progress = progress
        self.device = device
        self.memory = memory
        self.n_threads = n_threads
        self.random_state = random_state


class TunedOneClassSVM(OutlierMixin, OwnMachine):
    """Novelty detection with kernel parameters chosen by cross-validation.

    `OneClassSVM` around samples of one class. With labels, +1 for usual samples and -1 for novel ones, the score
    compares with them; the machines learn from all samples, whatever their labels. Without labels, the score is that of
    Tax and Müller [1]_: a description that rejects more of the samples held out than nu, by more than two standard
    deviations, has fitted itself to its training samples and scores minus the excess; of the others the one with the
    largest share of support vectors, which follows the samples most closely, wins.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples, see `mercer.kernels`.
    nu : float in (0, 1], default=0.1
        The share of the samples that may lie outside, see `OneClassSVM`. What it is to be is not a matter of scores,
        but it can be searched over where there are labels.
    param_grid : dict, list of dicts or None, default=None
        Values to try by the names of the parameters of `OneClassSVM`, those of the kernel as ``kernel__name``; None:
        gamma = 2^-15, ..., 2^3.
    cv : int, "holdout", splitter or iterable of (train, test), default=5
        Who is held out. An int: so many folds, as scikit-learn makes them; "holdout": a quarter of the samples, once.
        With `LeaveOneOut` and other splitters of many folds, folds that hold out no support vector need no fit.
    scoring : str, callable, Criterion, list, dict or None, default=None
        As in `GridSearchCV`; None is the accuracy where there are labels, else the score above. A `Criterion` needs no
        samples held out: `cv` is then not used.
    search : {"grid", "adaptive"}, default="grid"
        "adaptive" tries every second value of each parameter, then what lies around the best, and at last values
        between those that were given: some cells may never be looked at.
    preprocess : transformer, pipeline or None, default=None
        Fitted to the training part of every fold, applied to all samples: scaling, imputation, and so on. Its
        parameters are searched over as ``preprocess__name``.
    tol : float > 0, default=1e-3
        Largest violation of the optimality conditions, of all fits.
    refit : bool or str, default=True
        Whether to learn with the best parameters from all samples; with several scores the name of the one that
        decides.
    journal : path or None, default=None
        A file in which finished cells are kept: killed at any moment, the same call goes on where it stopped. Cells are
        then solved one by one, which takes somewhat longer.
    max_seconds : float > 0 or None, default=None
        Most seconds for the search. The best cell so far is taken, with a warning, and `complete_` is False.
    progress : bool, default=False
        Show on the standard error stream how far the search is, and how long it will take.
    device : str, torch.device or None, default=None
        Where kernel matrices are made, and the machine is trained in the end: "cuda", a GPU, by PyTorch, or "cpu", by
        the same code. None: the native core.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel matrices; what does not fit is computed where it is needed.
    n_threads : int or None, default=None
        Threads; the result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Shuffles for ``cv="holdout"``.

    Attributes
    ----------
    best_params_, best_score_, best_index_ : dict, float, int
        The winner, its mean score over the folds, and its place in `cv_results_`.
    best_estimator_ : OneClassSVM or Pipeline
        What was learnt from all samples, behind the preprocessing if there is one.
    machine_ : OneClassSVM
        The machine alone.
    cv_results_ : dict of arrays
        All cells, in the form of scikit-learn's `GridSearchCV`; cells that were not tried, or have no solution, score
        NaN.
    complete_ : bool
        Whether all cells are known.
    scorer_, n_splits_, multimetric_, refit_time_ :
        As in `GridSearchCV`.
    result_ : SolverResult
        The certificate of `machine_`.
    offset_ : float
        As in `OneClassSVM`.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when X has names that are all strings.

    See Also
    --------
    OneClassSVM : The machine with given parameters.
    tune : The same for any other machine.

    Notes
    -----
    Distances or inner products are computed once, O(n^2 d), a kernel matrix once for every value of the kernel's
    parameters, O(n^2), and shared by all folds unless something in it comes from the data (``gamma="scale"``, a
    preprocessing): that is taken from the training part of each fold. Along rising C every fit starts from the last
    one; it costs nothing where no multiplier is at its bound. Memory is 20 n^2 bytes, or within the budget. The winner
    is that of `GridSearchCV`; scores of cells differ where a decision value is within `tol` of zero.

    References
    ----------
    .. [1] D. M. J. Tax, K.-R. Müller, A consistency-based model selection for one-class classification, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import TunedOneClassSVM
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> machine = TunedOneClassSVM(nu=0.1).fit(X)
    >>> machine.predict([[0.0, 0.0], [6.0, 6.0]])
    array([ 1, -1])
    """

    _kind = OneClassSVM
    _passed = ("kernel", "nu", "tol", "device", "memory", "n_threads")

    def __init__(
        self,
        kernel="rbf",
        *,
        nu=0.1,
        param_grid=None,
        cv=5,
        scoring=None,
        search="grid",
        preprocess=None,
        tol=1e-3,
        refit=True,
        journal=None,
        max_seconds=None,
        progress=False,
        device=None,
        memory="auto",
        n_threads=None,
        random_state=0,
    ):
        self.kernel = kernel
        self.nu = nu
        self.param_grid = param_grid
        self.cv = cv
        self.scoring = scoring
        self.search = search
        self.preprocess = preprocess
        self.tol = tol
        self.refit = refit
        self.journal = journal
        self.max_seconds = max_seconds
        self.progress = progress
        self.device = device
        self.memory = memory
        self.n_threads = n_threads
        self.random_state = random_state

    @property
    def offset_(self):
        """The decision values are those of `score_samples` minus this."""
        return self.machine_.offset_
