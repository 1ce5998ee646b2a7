"""Support vector classification."""

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from mercer.calibration import Calibration, HeldOut, fit_calibration
from mercer.calibration.calibration import pairs_of
from mercer.calibration.folds import fold_splitter
from mercer.gram import Gram
from mercer.multiclass import Plan, Task, as_scheme
from mercer.parameters import Choice, Number
from mercer.problems import DualProblem, nu_margin, soft_margin
from mercer.solvers import SolverResult
from mercer.sums import inner
from mercer.svm.base import SupportVectorMachine, dense_row, one_or_all, sparse_rows
from mercer.svm.folds import Folds
from mercer.threads import limit_threads

__all__ = ["SVC", "NuSVC"]

# How many machines probabilities are learnt from.
CALIBRATION_FOLDS = 5


class SupportVectorClassifier(ClassifierMixin, SupportVectorMachine, ABC):
    """What SVC and NuSVC share: classes, the scheme for several of them, margins."""

    _plan: Plan
    calibration_: Calibration

    @abstractmethod
    def _problem(self, gram: Gram, task: Task, weight: np.ndarray) -> DualProblem:
        """The problem of one machine for two; weight is that of the samples of the task."""

    @abstractmethod
    def _model(self, problem: DualProblem, result: SolverResult) -> tuple[np.ndarray, float, float]:
        """Coefficients of the problem's samples, offset, and the decision value on the edge of the margin band."""

    def fit(self, X, y, sample_weight=None):
        """Learn from labelled samples.

        Parameters
        ----------
        X : samples of shape (n, n_features), or as the kernel takes them
            The n x n kernel matrix if ``kernel="precomputed"``.
        y : array of shape (n,)
            Classes, numbers or strings.
        sample_weight : array of shape (n,), default=None
            Non-negative; weight 2 is the sample twice, weight 0 is no sample.

        Returns
        -------
        self
        """
        with self._all_or_nothing():
            self.__dict__.pop("calibration_", None)
            if self.probability:
                held_out = self._fit_folds(X, y, sample_weight, fold_splitter(CALIBRATION_FOLDS, self.random_state))
                # A class that counts more does so in its probabilities too: else they would undo it in predictions.
                weight = held_out.weight * self._class_weights(held_out.codes, held_out.weight)
                n_classes = len(self.classes_)
                self.calibration_ = fit_calibration(
                    held_out._replace(weight=weight), n_classes, "sigmoid", "corrected", pairs_of(self, n_classes)
                )
            else:
                self._fit(X, y, sample_weight)
        return self

    @property
    def _folds_share_rows(self) -> bool:
        """Whether `_fit_folds` is there for a calibration from outside."""
        return not self.probability

    def _fit_folds(self, X: Any, y: Any, sample_weight: Any, split: Any, coupled: bool = True) -> HeldOut:
        """Fit, and the decision values of samples held out: of pairs of classes if the machine has them and `coupled`.

        `split` makes splits of samples, class numbers, weights and classes.
        """
        return self._fit(X, y, sample_weight, split, coupled)

    def _fit(self, X: Any, y: Any, sample_weight: Any, split: Any = None, coupled: bool = True) -> Any:
        self._check_all()
        X, y = self._take_samples(X, y)
        weight = self._weights(sample_weight, X)
        codes = self._encode(y, weight)
        with limit_threads(self.n_threads):
            gram = self._make_gram(X, weight)
            plan = as_scheme("ovo").plan(len(self.classes_))
            problems = self._problems(gram, plan, codes, weight)
            splits = [] if split is None else split(X, codes, weight, self.classes_)
            folds = Folds(self, gram, plan, codes, weight, splits)
            results = self._fit_problems(problems, [problem for fold in folds.problems for problem in fold])
            self._plan = plan
            fold_results, results = results[len(problems) :], results[: len(problems)]
            pairs = coupled and bool(pairs_of(self, plan.n_classes))
            held_out = folds.held_out(fold_results, pairs) if splits else None
        coefficients, offsets, norms, margins, slacks, shares = [], [], [], [], [], []
        for k, (problem, result) in enumerate(zip(problems, results, strict=True)):
            values, offset, edge = self._model(problem, result)
            decision = self._training_decision(problem, result, offset)
            slack = np.maximum(0.0, edge - problem.sign * decision)
            results[k] = replace(result, margin=float(np.min(problem.sign * decision)))
            norm = self._norm(problem, result)
            coefficients.append((problem.index, values))
            offsets.append(offset)
            norms.append(norm)
            margins.append(edge / norm if norm > 0 else np.inf)
            slacks.append((problem.index, slack))
            errors = slack > self.tol * max(edge, np.finfo(float).tiny)
            shares.append(inner(weight[problem.index], errors) / float(weight[problem.index].sum()))
        self.norm_, self.margin_ = one_or_all(norms), one_or_all(margins)
        self.slack_ = dense_row(*slacks[0], len(codes)) if len(slacks) == 1 else sparse_rows(slacks, len(codes))
        self.margin_errors_ = one_or_all(shares)
        self._keep_model(X, coefficients, offsets, results)
        self.n_support_ = np.bincount(codes[self.support_], minlength=len(self.classes_))
        if splits and self.result_.status == "solved":
            folds.warn(fold_results)
        return held_out

    def _problems(self, gram: Gram, plan: Plan, codes: np.ndarray, weight: np.ndarray) -> list[DualProblem]:
        """The problems of all tasks, for samples with a class number."""
        weights = weight * self._class_weights(codes, weight)
        return [self._problem(gram, task, weights[task.index]) for task in plan.tasks(codes, weights)]

    def _encode(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Class numbers, -1 for samples of no weight; finds the classes."""
        if y.dtype.kind not in "biuSU":  # numbers that may not be classes, or objects
            check_classification_targets(y)
        used = weight > 0
        self.classes_, seen = np.unique(y[used], return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least 2 classes among the samples of positive weight, got "
                f"{len(self.classes_)} class: {self.classes_[0]!r}."
            )
        codes = np.full(len(y), -1)
        codes[used] = seen
        return codes

    def _class_weights(self, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """The weight of each sample's class."""
        n_classes = len(self.classes_)
        per_class = np.ones(n_classes)
        if isinstance(self.class_weight, str):  # "balanced"
            totals = np.bincount(codes[codes >= 0], weights=weight[codes >= 0], minlength=n_classes)
            per_class = totals.sum() / (n_classes * totals)
        elif self.class_weight is not None:
            known = {c: k for k, c in enumerate(self.classes_.tolist())}
            for label, value in self.class_weight.items():
                if label not in known:
                    raise ValueError(f"class_weight names the class {label!r}, which y does not have.")
                if problem := Number(0, above=True).problem(value):
                    raise ValueError(f"class_weight of class {label!r} {problem}")
                per_class[known[label]] = value
        return per_class[codes]

    def _training_decision(self, problem: DualProblem, result: SolverResult, offset: float) -> np.ndarray:
        """Decision values of the problem's own samples, from its gradient: f = s (G - p - ridge a) + b, scaled."""
        f = problem.sign * (result.gradient - problem.linear - problem.ridge * result.a)
        return f * self._scale(problem, result) + offset

    def _scale(self, problem: DualProblem, result: SolverResult) -> float:
        """By how much the coefficients differ from the solution of the problem."""
        return 1.0

    def _norm(self, problem: DualProblem, result: SolverResult) -> float:
        """|w| in feature space."""
        return self._scale(problem, result) * float(np.sqrt(problem.squared_norm(result.a, result.gradient)))

    def decision_function(self, X):
        """Decision values.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n,) or (n, n_classes)
            Two classes: positive values speak for ``classes_[1]``. More: votes of the pairs, ties broken by
            their decision values; `predict` takes the largest. With ``probability=True`` calibrated log-odds of
            ``classes_[1]``, or the logarithms of the probabilities.
        """
        check_is_fitted(self)
        return self.calibration_.decision(self._calibrated_columns(X)) if self._calibrated else self._columns(X)

    def _columns(self, X: Any, *, pairs: bool = False) -> np.ndarray:
        """Decision values before calibration: the only ones, those of all pairs of classes, or scores."""
        decision = self._raw_decision(X)
        if len(self.classes_) == 2:
            return decision[:, 0]
        return decision if pairs else self._plan.scores(decision)

    @property
    def _calibrated(self) -> bool:
        return hasattr(self, "calibration_")

    def _calibrated_columns(self, X: Any) -> np.ndarray:
        """Decision values as the calibration takes them."""
        check_is_fitted(self, "calibration_")
        return self._columns(X, pairs=bool(self.calibration_.pairs))

    @available_if(lambda self: self.probability)
    def predict_proba(self, X):
        """Probabilities of the classes; with ``probability=True`` only.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        values = self._calibrated_columns(X)
        return self.calibration_.probabilities(values)

    @available_if(lambda self: self.probability)
    def predict_log_proba(self, X):
        """Logarithms of the probabilities, finite also where these round to 0; with ``probability=True`` only.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        values = self._calibrated_columns(X)
        return self.calibration_.log_probabilities(values)

    @property
    def estimator_(self):
        """The machine before calibration, with the raw margins as its decision values; ``probability=True`` only."""
        if not self._calibrated:
            raise AttributeError("estimator_ exists after a fit with probability=True only.")
        machine = copy(self)
        machine.probability = False
        del machine.calibration_
        return machine

    def predict(self, X):
        """Classes.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self)
        if self._calibrated:
            return self.classes_[self.calibration_.codes(self._calibrated_columns(X))]
        two = len(self.classes_) == 2
        codes = (self._signs(X) > 0).astype(int) if two else self.decision_function(X).argmax(axis=1)
        return self.classes_[codes]

    def distance(self, X):
        """Signed distance to the separating hyperplane in feature space.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n,) or (n, n_problems)
            One column per pair of classes if there are more than two.
        """
        check_is_fitted(self)
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = self._raw_decision(X) / self.norm_
        return distance[:, 0] if len(self.classes_) == 2 else distance


class ClassWeight:
    """None, "balanced" or a mapping from classes to numbers; the numbers are checked when the classes are known."""

    @staticmethod
    def problem(value: Any) -> str | None:
        """What is wrong with the value, None when nothing is."""
        if value is None or (isinstance(value, str) and value == "balanced") or isinstance(value, dict):
            return None
        return f"must be None, 'balanced' or a dict from classes to weights, got {value!r}."


class SVC(SupportVectorClassifier):
    """Support vector classifier: the widest margin, with errors at a price.

    .. math::

        \\min_{w, b, \\xi} \\tfrac12 \\|w\\|^2 + C \\sum_i \\omega_i \\xi_i^q \\quad\\text{s.t.}\\quad
        y_i (w \\cdot \\phi(x_i) + b) \\ge 1 - \\xi_i, \\quad \\xi_i \\ge 0,

    with q = 1 for ``loss="hinge"`` (L1 soft margin), q = 2 for ``loss="squared_hinge"`` (L2 soft margin), and no
    errors at all for ``C=inf`` (hard margin). The dual is solved by sequential minimal optimisation, and `result_`
    says how far from the optimum the solution can be.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples, see `mercer.kernels`. "precomputed": X is the kernel matrix.
    C : float > 0, default=1.0
        Price of errors; larger fits the training data more closely. ``inf`` is the hard margin.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        Price grows with the error or with its square.
    class_weight : dict, "balanced" or None, default=None
        Factors of C per class (asymmetric margins); "balanced" makes all classes count the same.
    fit_intercept : bool, default=True
        False leaves out b; ``Linear() + 1`` then gives the regularised bias of [4]_.
    tol : float > 0, default=1e-3
        Largest violation of the optimality conditions; smaller is more exact and slower.
    gap_tol : float > 0 or None, default=None
        Largest relative duality gap, as a further condition.
    max_iter : int >= 1 or None, default=None
        Most solver steps; None leaves a generous limit.
    max_seconds : float > 0 or None, default=None
        Most seconds for the solver.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values.
    n_threads : int or None, default=None
        Threads; the result does not depend on it.
    warm_start : bool, default=False
        Start from the last solution when `fit` is called again with as many samples.
    solver : {"smo", "simple"} or Solver, default="smo"
        See `mercer.solvers`.
    probability : bool, default=False
        Learn probabilities: short for `mercer.calibration.Calibrated` around this machine, except that class weights
        count in them too. Decision values are then calibrated log-odds, or log-probabilities of several classes; those
        of `estimator_` are the margins.
    random_state : int, RandomState instance or None, default=0
        Shuffles the folds of the calibration.
    callback : callable or None, default=None
        Told the `Progress` of the solver; a true value stops it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes; positive decision values speak for ``classes_[1]``.
    result_ : SolverResult
        The certificate: objectives, gap, violation, history.
    support_ : int ndarray of shape (n_support,)
        Numbers of the support vectors.
    support_vectors_ : samples
        The support vectors; empty if precomputed.
    n_support_ : int ndarray of shape (n_classes,)
        How many there are of each class.
    dual_coef_ : ndarray of shape (1, n_support) or CSR of shape (n_problems, n_support)
        Multipliers times signs; a row for every pair of classes.
    intercept_ : ndarray of shape (n_problems,)
        The offsets b.
    coef_ : ndarray of shape (n_problems, n_features)
        The weights w; linear kernel only.
    kernel_ : Kernel or "precomputed"
        The kernel, with its data-dependent parameters resolved.
    norm_, margin_ : float or ndarray of shape (n_problems,)
        ``|w|`` and the margin ``1 / |w|`` in feature space.
    slack_ : ndarray of shape (n,) or CSR of shape (n_problems, n)
        The errors xi of the training samples.
    margin_errors_ : float or ndarray of shape (n_problems,)
        Share of the training samples with an error above `tol`.
    sparsity_ : float
        Share of the training samples that are not support vectors.
    calibration_, estimator_ : Calibration, classifier
        What was learnt of probabilities, and the machine before it; ``probability=True`` only.
    n_iter_ : int
        Solver steps.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when X has names that are all strings.

    See Also
    --------
    NuSVC : The same machine, with a bound on the share of errors instead of C.
    OneClassSVM : One class only.

    Notes
    -----
    Training takes between O(n d n_support) and O(n^2 d) for the usual parameters, more for large C, and memory
    O(n d) plus the budget; prediction O(d n_support) per sample. Several classes: one machine per pair, which vote.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, eqs. 1.12-1.31.
    .. [2] C. M. Bishop, Pattern Recognition and Machine Learning, 2006, section 7.1.
    .. [3] K. Veropoulos, C. Campbell, N. Cristianini, Controlling the sensitivity of support vector machines, 1999.
    .. [4] C. C. Aggarwal, Data Mining: The Textbook, 2015, section 10.6.1.1.

    Examples
    --------
    >>> from mercer import SVC
    >>> X = [[0.0, 0.0], [1.0, 1.0], [3.0, 3.0], [4.0, 4.0]]
    >>> machine = SVC(kernel="linear", C=10.0).fit(X, ["low", "low", "high", "high"])
    >>> machine.predict([[2.5, 2.4]])
    array(['high'], dtype='<U4')
    >>> machine.result_.status, round(machine.margin_, 3)
    ('solved', 1.414)
    """

    _parameters = SupportVectorMachine._parameters | {
        "C": Number(0, above=True, infinite=True),
        "loss": Choice("hinge", "squared_hinge"),
        "fit_intercept": Choice(True, False),
        "class_weight": ClassWeight,
        "probability": Choice(True, False),
    }

    def __init__(
        self,
        kernel="rbf",
        *,
        C=1.0,
        loss="hinge",
        class_weight=None,
        fit_intercept=True,
        tol=1e-3,
        gap_tol=None,
        max_iter=None,
        max_seconds=None,
        memory="auto",
        n_threads=None,
        warm_start=False,
        solver="smo",
        probability=False,
        random_state=0,
        callback=None,
    ):
        self.kernel = kernel
        self.C = C
        self.loss = loss
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.gap_tol = gap_tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.memory = memory
        self.n_threads = n_threads
        self.warm_start = warm_start
        self.solver = solver
        self.probability = probability
        self.random_state = random_state
        self.callback = callback

    def _problem(self, gram, task, weight):
        squared, cost = self.loss == "squared_hinge", self.C * task.cost * weight
        return soft_margin(
            gram, task.sign, cost, squared=squared, bias=self.fit_intercept, index=task.index, target=task.target
        )

    def _model(self, problem, result):
        return problem.sign * result.a, result.offsets.plus, 1.0


class NuSVC(SupportVectorClassifier):
    """Support vector classifier with a bound on the share of errors in place of a price.

    .. math::

        \\min_{w, b, \\rho, \\xi} \\tfrac12 \\|w\\|^2 - \\nu \\rho \\sum_i \\omega_i + \\sum_i \\omega_i \\xi_i
        \\quad\\text{s.t.}\\quad y_i (w \\cdot \\phi(x_i) + b) \\ge \\rho - \\xi_i, \\quad \\xi_i, \\rho \\ge 0.

    At most a fraction nu of the training samples are margin errors, at least a fraction nu are support vectors.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples, see `mercer.kernels`. "precomputed": X is the kernel matrix.
    nu : float in (0, 1], default=0.5
        Larger allows more errors and takes more support vectors. At most twice the share of the smaller class.
    class_weight : dict, "balanced" or None, default=None
        Factors of the weights per class.
    tol : float > 0, default=1e-3
        Largest violation of the optimality conditions; smaller is more exact and slower.
    gap_tol : float > 0 or None, default=None
        Largest relative duality gap, as a further condition.
    max_iter : int >= 1 or None, default=None
        Most solver steps; None leaves a generous limit.
    max_seconds : float > 0 or None, default=None
        Most seconds for the solver.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values.
    n_threads : int or None, default=None
        Threads; the result does not depend on it.
    warm_start : bool, default=False
        Start from the last solution when `fit` is called again with as many samples.
    solver : {"smo", "simple"} or Solver, default="smo"
        See `mercer.solvers`.
    probability : bool, default=False
        Learn probabilities: short for `mercer.calibration.Calibrated` around this machine, except that class weights
        count in them too. Decision values are then calibrated log-odds, or log-probabilities of several classes; those
        of `estimator_` are the margins.
    random_state : int, RandomState instance or None, default=0
        Shuffles the folds of the calibration.
    callback : callable or None, default=None
        Told the `Progress` of the solver; a true value stops it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes; positive decision values speak for ``classes_[1]``.
    result_ : SolverResult
        The certificate: objectives, gap, violation, history; in the scale of the problem above.
    rho_ : float or ndarray of shape (n_problems,)
        The rho of the problem.
    support_, support_vectors_, n_support_ : ndarray, samples, ndarray
        Numbers of the support vectors, the vectors, and how many there are of each class.
    dual_coef_ : ndarray of shape (1, n_support) or CSR of shape (n_problems, n_support)
        Multipliers times signs, divided by rho, so that the edges of the margin band have decision values -1 and
        1; not divided where rho is zero.
    intercept_ : ndarray of shape (n_problems,)
        The offsets b, divided by rho.
    coef_ : ndarray of shape (n_problems, n_features)
        The weights w, divided by rho; linear kernel only.
    kernel_ : Kernel or "precomputed"
        The kernel, with its data-dependent parameters resolved.
    norm_, margin_ : float or ndarray of shape (n_problems,)
        ``|w| / rho`` and the margin ``rho / |w|`` in feature space.
    slack_ : ndarray of shape (n,) or CSR of shape (n_problems, n)
        The errors xi of the training samples, divided by rho.
    margin_errors_ : float or ndarray of shape (n_problems,)
        Share of the training samples with an error above `tol`.
    sparsity_ : float
        Share of the training samples that are not support vectors.
    calibration_, estimator_ : Calibration, classifier
        What was learnt of probabilities, and the machine before it; ``probability=True`` only.
    n_iter_ : int
        Solver steps.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when X has names that are all strings.

    See Also
    --------
    SVC : The same machine, with a price of errors.

    Notes
    -----
    Costs as for `SVC`. `tol` counts in units of rho, as the decision values do. Where the classes overlap so much that
    there is no margin for this nu, the status is "degenerate".

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, eqs. 1.32-1.50.
    .. [2] B. Schölkopf, A. Smola, R. Williamson, P. Bartlett, New support vector algorithms, 2000.

    Examples
    --------
    >>> from mercer import NuSVC
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> NuSVC(kernel="linear", nu=0.5).fit(X, [0, 0, 1, 1]).predict([[0.4], [2.9]])
    array([0, 1])
    """

    _parameters = SupportVectorMachine._parameters | {
        "nu": Number(0, 1, above=True),
        "class_weight": ClassWeight,
        "probability": Choice(True, False),
    }

    def __init__(
        self,
        kernel="rbf",
        *,
        nu=0.5,
        class_weight=None,
        tol=1e-3,
        gap_tol=None,
        max_iter=None,
        max_seconds=None,
        memory="auto",
        n_threads=None,
        warm_start=False,
        solver="smo",
        probability=False,
        random_state=0,
        callback=None,
    ):
        self.kernel = kernel
        self.nu = nu
        self.class_weight = class_weight
        self.tol = tol
        self.gap_tol = gap_tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.memory = memory
        self.n_threads = n_threads
        self.warm_start = warm_start
        self.solver = solver
        self.probability = probability
        self.random_state = random_state
        self.callback = callback

    def _problem(self, gram, task, weight):
        return nu_margin(gram, task.sign, self.nu, task.cost * weight, index=task.index)

    def _rho(self, result: SolverResult) -> float:
        """Free variables see b - rho on the positive side and b + rho on the negative one. [CY eq 1.50]"""
        return 0.5 * (result.offsets.minus - result.offsets.plus)

    def _scale(self, problem, result):
        rho = self._rho(result)
        # No rho, no band to scale: the classes lie on each other.
        smallest = 1e-10 * (1.0 + abs(result.offsets.plus) + abs(result.offsets.minus))
        return 1.0 / rho if rho > smallest else 1.0

    def _model(self, problem, result):
        scale, rho = self._scale(problem, result), self._rho(result)
        b = 0.5 * (result.offsets.plus + result.offsets.minus)
        return problem.sign * result.a * scale, b * scale, rho * scale

    @property
    def rho_(self):
        """The rho of the problem."""
        check_is_fitted(self)
        return one_or_all([self._rho(result) for result in self.result_.parts or (self.result_,)])
