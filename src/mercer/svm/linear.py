"""Linear machines: the twins of the support vector machines that keep weights of features, not support vectors."""

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import ClassifierMixin, MultiOutputMixin, OutlierMixin, RegressorMixin, clone
from sklearn.utils.validation import (
    _check_y,
    check_array,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from mercer.data import RowBlocks
from mercer.gram import LinearGram
from mercer.kernels import Linear
from mercer.multiclass import JointScheme, Model, OwnMachines, Plan, Task
from mercer.parameters import Choice, Number
from mercer.problems import DualProblem, epsilon_tube, one_class, soft_margin
from mercer.solvers import (
    CoordinateDescent,
    JointResult,
    LinearSolver,
    ProximalNewton,
    Solver,
    SolverResult,
    combine,
    warn_unless_solved,
)
from mercer.svm.base import VECTORS, Machine, one_or_all
from mercer.svm.joint import JointlyLabelled
from mercer.svm.labels import ClassWeight
from mercer.svm.novelty import ROUNDING
from mercer.threads import limit_threads

__all__ = ["LinearOneClassSVM", "LinearSVC", "LinearSVR"]

SOLVERS: dict[str, Any] = {"auto": LinearSolver, "newton": ProximalNewton, "descent": CoordinateDescent}


class LinearMachine(Machine):
    """What the linear machines share: weights of features, the kinds of offset, the solver."""

    _parameters = Machine._parameters

    coef_: np.ndarray
    intercept_: np.ndarray

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _solver(self) -> Solver:
        if isinstance(self.solver, str) and self.solver in SOLVERS:
            return SOLVERS[self.solver](
                tol=self.tol,
                gap_tol=self.gap_tol,
                max_iter=self.max_iter,
                max_seconds=self.max_seconds,
                n_threads=self.n_threads,
            )
        if isinstance(self.solver, Solver) and not isinstance(self.solver, type):
            return self.solver
        raise ValueError(f"solver must be {' or '.join(map(repr, SOLVERS))} or a solver, got {self.solver!r}.")

    @property
    def _free(self) -> bool:
        """Whether there is an offset without a price."""
        return self.intercept == "free"

    def _make_gram(self, X: Any) -> LinearGram:
        return LinearGram(X, float(self.intercept_scaling) ** 2 if self.intercept == "penalised" else 0.0)

    def _keep_weights(
        self,
        gram: LinearGram,
        problems: Sequence[DualProblem],
        results: Sequence[SolverResult],
        model: Callable[[DualProblem, SolverResult], Model] | None = None,
    ) -> None:
        """Weights and offsets of the solutions, scaled as a model says, and the certificate."""
        weights, offsets, norms = [], [], []
        pairs = list(zip(problems, results, strict=True))
        for problem, result in pairs:
            w = gram.sums(np.bincount(problem.index, weights=problem.sign * result.a, minlength=gram.n))
            scale, offset, _ = model(problem, result) if model else Model(1.0, result.offsets.plus, 1.0)
            offsets.append(offset + (scale * np.sqrt(gram.constant) * w[-1] if gram.constant else 0.0))
            weights.append(scale * (w[:-1] if gram.constant else w))
            norms.append(scale * float(np.sqrt(problem.squared_norm(result.a, result.gradient))))
        self.coef_, self.intercept_ = np.array(weights), np.array(offsets)
        self.result_ = combine(results)
        self.n_iter_ = self.result_.n_iter
        self.norm_ = one_or_all(norms)
        self.support_ = np.unique(np.concatenate([p.index[r.a > 0] for p, r in pairs]))
        if self._warns:
            warn_unless_solved(self.result_, type(self).__name__)

    def _take_samples(self, X: Any, y: Any = "no_validation", **check_y: Any) -> Any:
        if not isinstance(X, RowBlocks):
            return super()._take_samples(X, y, **check_y)
        self.n_features_in_ = X.shape[1]
        if isinstance(y, str):
            return X
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        y = _check_y(y, estimator=self, **check_y)
        check_consistent_length(X, y)
        return X, y

    def _raw_decision(self, X: Any) -> np.ndarray:
        """Decision values of all problems, shape (n, n_problems)."""
        check_is_fitted(self)
        if isinstance(X, RowBlocks):
            return np.concatenate([self._raw_decision(block) for _, block in X])
        X = validate_data(self, X, reset=False, **VECTORS)
        with limit_threads(self.n_threads):
            if len(self.coef_) == 1:
                return LinearGram(X).products(self.coef_[0])[:, np.newaxis] + self.intercept_
            return (X @ self.coef_.T if issparse(X) else Linear()(X, self.coef_)) + self.intercept_

    def _starts(self, problems, first):
        starts = super()._starts(problems, first)
        factor = getattr(self, "C", 1.0) / getattr(self, "_fitted_C", 1.0)  # multipliers grow with the price of errors
        return [None if start is None else factor * start for start in starts]

    def _path(self, X: Any, y: Any, C: Sequence[float], sample_weight: Any) -> list[Any]:
        machines: list[Any] = []
        for price in C:
            machine = copy(machines[-1]) if machines else clone(self)
            machine.set_params(C=price, warm_start=True)
            machines.append(machine.fit(X, y, sample_weight))
        for machine in machines:
            machine.set_params(warm_start=self.warm_start)
        return machines


class LinearSVC(ClassifierMixin, JointlyLabelled, LinearMachine):
    """Linear support vector classifier: `SVC` with a linear kernel, for many samples or many features.

    .. math::

        \\min_{w, b, \\xi} \\tfrac12 \\|w\\|^2 + C \\sum_i \\omega_i \\xi_i^q \\quad\\text{s.t.}\\quad
        y_i (w \\cdot x_i + b) \\ge 1 - \\xi_i, \\quad \\xi_i \\ge 0,

    with q = 1 for ``loss="hinge"`` and q = 2 for ``loss="squared_hinge"``. With ``intercept="penalised"`` the offset is
    the weight of a constant feature s, the `intercept_scaling`, and has its price, :math:`b^2 / (2 s^2)`.

    Parameters
    ----------
    C : float > 0, default=1.0
        Price of errors; larger fits the training data more closely. ``inf`` is the hard margin.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        Price grows with the error or with its square.
    intercept : {"free", "penalised", "none"}, default="free"
        The offset b: without a price, as the weight of a constant feature [3]_, or left out.
    intercept_scaling : float > 0, default=1.0
        The constant feature, if penalised; larger makes the offset cheaper.
    multi_class : str or Scheme, default="ovr"
        How several classes are told apart, see `mercer.multiclass`: "ovr", "ovo", "dag", "ecoc" and "one_class" have
        several machines; "weston_watkins", "crammer_singer" and "lee_lin_wahba" have one objective for all classes, for
        the hinge loss, a finite C and data in memory.
    class_weight : dict, "balanced" or None, default=None
        Factors of C per class; "balanced" makes all classes count the same.
    tol : float > 0, default=1e-3
        Largest violation of the optimality conditions; smaller is more exact and slower.
    gap_tol : float > 0 or None, default=None
        Largest relative duality gap, as a further condition.
    max_iter : int >= 1 or None, default=None
        Most solver steps; None leaves a generous limit.
    max_seconds : float > 0 or None, default=None
        Most seconds for the solver.
    n_threads : int or None, default=None
        Threads; the result does not depend on it.
    warm_start : bool, default=False
        Start from the last solution when `fit` is called again with as many samples.
    solver : {"auto", "newton", "descent"} or Solver, default="auto"
        See `mercer.solvers`. With one objective for all classes "auto" stands for `BlockDescent`.
    callback : callable or None, default=None
        Told the `Progress` of the solver; a true value stops it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes; positive decision values speak for ``classes_[1]``.
    coef_ : ndarray of shape (n_problems, n_features)
        The weights w.
    intercept_ : ndarray of shape (n_problems,)
        The offsets b.
    result_ : SolverResult or JointResult
        The certificate: objectives, gap, violation, history. A `JointResult` if there is one objective for all classes.
    norm_, margin_ : float or ndarray of shape (n_problems,)
        ``|w|`` (with the penalised offset) and the margin ``1 / |w|``; for one objective see
        `mercer.problems.JointProblem.margins`.
    support_ : int ndarray of shape (n_support,)
        Numbers of the support vectors.
    n_iter_ : int
        Solver steps.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when X has names that are all strings.

    See Also
    --------
    SVC : Any kernel.
    LinearSVR : Values instead of classes.

    Notes
    -----
    Training takes some 30 passes over the data, O(n d) each, plus O(d^2) for every sample near the margin; above 1024
    features, epochs over the samples at play. Memory O(n + d^2) beyond the data, which is used as it is, float32 or
    float64, dense or CSR. Prediction takes O(d) per sample and problem.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 1.4.
    .. [2] C. M. Bishop, Pattern Recognition and Machine Learning, 2006, section 7.1.
    .. [3] C. C. Aggarwal, Data Mining: The Textbook, 2015, section 10.6.1.1.

    Examples
    --------
    >>> from mercer import LinearSVC
    >>> X = [[0.0, 0.0], [1.0, 1.0], [3.0, 3.0], [4.0, 4.0]]
    >>> machine = LinearSVC(C=10.0).fit(X, ["low", "low", "high", "high"])
    >>> machine.predict([[2.5, 2.4]])
    array(['high'], dtype='<U4')
    >>> machine.coef_.round(3), machine.result_.status
    (array([[-0.5, -0.5]]), 'solved')
    """

    _parameters = LinearMachine._parameters | {
        "C": Number(0, above=True, infinite=True),
        "loss": Choice("hinge", "squared_hinge"),
        "intercept": Choice("free", "penalised", "none"),
        "intercept_scaling": Number(0, above=True),
        "class_weight": ClassWeight,
    }

    _plan: Plan

    def __init__(
        self,
        C=1.0,
        *,
        loss="hinge",
        intercept="free",
        intercept_scaling=1.0,
        multi_class="ovr",
        class_weight=None,
        tol=1e-3,
        gap_tol=None,
        max_iter=None,
        max_seconds=None,
        n_threads=None,
        warm_start=False,
        solver="auto",
        callback=None,
    ):
        self.C = C
        self.loss = loss
        self.intercept = intercept
        self.intercept_scaling = intercept_scaling
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.tol = tol
        self.gap_tol = gap_tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.n_threads = n_threads
        self.warm_start = warm_start
        self.solver = solver
        self.callback = callback

    def fit(self, X, y, sample_weight=None):
        """Learn from labelled samples.

        Parameters
        ----------
        X : array, CSR or RowBlocks of shape (n, n_features)
            Also memory-mapped; `mercer.data.RowBlocks` holds data that does not fit into memory.
        y : array of shape (n,)
            Classes, numbers or strings.
        sample_weight : array of shape (n,), default=None
            Non-negative; weight 2 is the sample twice, weight 0 is no sample.

        Returns
        -------
        self
        """
        with self._all_or_nothing():
            self._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._check_all()
        X, y = self._take_samples(X, y)
        if isinstance(X, RowBlocks) and isinstance(self._scheme, JointScheme):
            raise TypeError(f"X must be in memory for multi_class={self.multi_class!r}, got RowBlocks; use 'ovr'.")
        weight = self._weights(sample_weight, X)
        codes = self._encode(y, weight)
        plan = self._scheme.plan(len(self.classes_), self.loss)
        weights = weight * self._class_weights(codes, weight)
        own = plan.scheme if isinstance(plan.scheme, OwnMachines) else None
        build = own.problem if own else self._problem
        with limit_threads(self.n_threads):
            gram = self._make_gram(X)
            if isinstance(plan.scheme, JointScheme):
                ((_, result),) = self._solve_jointly(plan.scheme, gram, [(codes, weights)], self._free)
                self._keep_all_classes(gram, result)
            else:
                problems = [build(gram, task, weights[task.index]) for task in plan.tasks(codes, weight)]
                results = self._fit_problems(problems)
                self._keep_weights(gram, problems, results, own.model if own else None)
                with np.errstate(divide="ignore"):
                    self.margin_ = one_or_all(list(1.0 / np.atleast_1d(self.norm_)))
        self._plan, self._fitted_C = plan, self.C

    def _keep_all_classes(self, gram: LinearGram, result: JointResult) -> None:
        """Weights and offsets of the functions that one objective gave, and the certificate."""
        rows = (result.coefficients[[k]].toarray()[0] for k in range(len(self.classes_)))
        weights = np.array([gram.sums(row) for row in rows])
        constant = np.sqrt(gram.constant) * weights[:, -1] if gram.constant else 0.0
        self.coef_ = np.ascontiguousarray(weights[:, :-1]) if gram.constant else weights
        self.intercept_ = result.intercepts + constant
        self.norm_, self.margin_ = result.norms, result.margins
        self.support_ = np.unique(result.coefficients.indices)
        self.result_, self.n_iter_ = result, result.n_iter
        if self._warns:
            warn_unless_solved(result, type(self).__name__)

    def _problem(self, gram: LinearGram, task: Task, weight: np.ndarray) -> DualProblem:
        squared, cost = self.loss == "squared_hinge", self.C * task.cost * weight
        return soft_margin(
            gram, task.sign, cost, squared=squared, bias=self._free, index=task.index, target=task.target
        )

    def fit_path(self, X, y, C, sample_weight=None):
        """Machines for several prices of errors, each started from the one before.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        C : sequence of floats > 0
            The prices, in the order in which they are used; ascending is fastest.

        Returns
        -------
        list of LinearSVC
            A fitted machine for each price. This one is not changed.
        """
        return self._path(X, y, C, sample_weight)

    def decision_function(self, X):
        """Decision values.

        Parameters
        ----------
        X : array or CSR of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n,) or (n, n_classes)
            Two classes: positive values speak for ``classes_[1]``. More: one score per class, as the scheme makes them;
            `predict` takes the largest.
        """
        decision = self._raw_decision(X)
        if self._plan.n_machines == 1:
            return decision[:, 0]
        scores = self._plan.scores(decision)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X):
        """Classes.

        Parameters
        ----------
        X : array or CSR of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n,)
        """
        decision = self.decision_function(X)
        codes = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
        return self.classes_[codes]


class LinearSVR(MultiOutputMixin, RegressorMixin, LinearMachine):
    """Linear support vector regression: `SVR` with a linear kernel, for many samples or many features.

    .. math::

        \\min_{w, b} \\tfrac12 \\|w\\|^2 + C \\sum_i \\omega_i \\max(0, |y_i - w \\cdot x_i - b| - \\epsilon)^q

    with q = 1 for ``loss="linear"`` and q = 2 for ``loss="quadratic"``. With ``intercept="penalised"`` the offset is
    the weight of a constant feature and has its price.

    Parameters
    ----------
    C : float > 0, default=1.0
        Price of errors; larger fits the training data more closely.
    epsilon : float >= 0, default=0.1
        Half the width of the tube, in units of y.
    loss : {"linear", "quadratic"}, default="linear"
        Price grows with the error outside the tube or with its square.
    intercept : {"free", "penalised", "none"}, default="free"
        The offset b: without a price, as the weight of a constant feature, or left out.
    intercept_scaling : float > 0, default=1.0
        The constant feature, if penalised; larger makes the offset cheaper.
    tol : float > 0, default=1e-3
        Largest violation of the optimality conditions, in units of y; smaller is more exact and slower.
    gap_tol : float > 0 or None, default=None
        Largest relative duality gap, as a further condition.
    max_iter : int >= 1 or None, default=None
        Most solver steps; None leaves a generous limit.
    max_seconds : float > 0 or None, default=None
        Most seconds for the solver.
    n_threads : int or None, default=None
        Threads; the result does not depend on it.
    warm_start : bool, default=False
        Start from the last solution when `fit` is called again with as many samples.
    solver : {"auto", "newton", "descent"} or Solver, default="auto"
        See `mercer.solvers`.
    callback : callable or None, default=None
        Told the `Progress` of the solver; a true value stops it.

    Attributes
    ----------
    coef_ : ndarray of shape (n_outputs, n_features)
        The weights w.
    intercept_ : ndarray of shape (n_outputs,)
        The offsets b.
    result_ : SolverResult
        The certificate: objectives, gap, violation, history.
    norm_ : float or ndarray of shape (n_outputs,)
        ``|w|``.
    support_ : int ndarray of shape (n_support,)
        Numbers of the support vectors.
    n_iter_ : int
        Solver steps.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when X has names that are all strings.

    See Also
    --------
    SVR : Any kernel.
    LinearSVC : Classes instead of values.

    Notes
    -----
    Costs as for `LinearSVC`.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, eqs. 2.41-2.49.
    .. [2] C. M. Bishop, Pattern Recognition and Machine Learning, 2006, eqs. 7.55-7.61.

    Examples
    --------
    >>> from mercer import LinearSVR
    >>> LinearSVR(C=100.0, epsilon=0.0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]).predict([[5.0]]).round(3)
    array([11.])
    """

    _parameters = LinearMachine._parameters | {
        "C": Number(0, above=True),
        "epsilon": Number(0),
        "loss": Choice("linear", "quadratic"),
        "intercept": Choice("free", "penalised", "none"),
        "intercept_scaling": Number(0, above=True),
    }

    def __init__(
        self,
        C=1.0,
        *,
        epsilon=0.1,
        loss="linear",
        intercept="free",
        intercept_scaling=1.0,
        tol=1e-3,
        gap_tol=None,
        max_iter=None,
        max_seconds=None,
        n_threads=None,
        warm_start=False,
        solver="auto",
        callback=None,
    ):
        self.C = C
        self.epsilon = epsilon
        self.loss = loss
        self.intercept = intercept
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.gap_tol = gap_tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.n_threads = n_threads
        self.warm_start = warm_start
        self.solver = solver
        self.callback = callback

    def fit(self, X, y, sample_weight=None):
        """Learn from samples with values.

        Parameters
        ----------
        X : array, CSR or RowBlocks of shape (n, n_features)
            Also memory-mapped; `mercer.data.RowBlocks` holds data that does not fit into memory.
        y : array of shape (n,) or (n, n_outputs)
            Values; several outputs are learnt one by one.
        sample_weight : array of shape (n,), default=None
            Non-negative; weight 2 is the sample twice, weight 0 is no sample.

        Returns
        -------
        self
        """
        with self._all_or_nothing():
            self._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._check_all()
        X, y = self._take_samples(X, y, multi_output=True, y_numeric=True)
        y = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
        weight = self._weights(sample_weight, X)
        index = np.flatnonzero(weight)
        targets = y[:, np.newaxis] if y.ndim == 1 else y
        squared = self.loss == "quadratic"
        with limit_threads(self.n_threads):
            gram = self._make_gram(X)
            problems = [
                epsilon_tube(
                    gram,
                    column[index],
                    self.C * weight[index],
                    self.epsilon,
                    squared=squared,
                    bias=self._free,
                    index=index,
                )
                for column in targets.T
            ]
            results = self._fit_problems(problems)
            self._keep_weights(gram, problems, results)
        self._single_output, self._fitted_C = y.ndim == 1, self.C

    def fit_path(self, X, y, C, sample_weight=None):
        """Machines for several prices of errors, each started from the one before.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        C : sequence of floats > 0
            The prices, in the order in which they are used; ascending is fastest.

        Returns
        -------
        list of LinearSVR
            A fitted machine for each price. This one is not changed.
        """
        return self._path(X, y, C, sample_weight)

    def predict(self, X):
        """Values.

        Parameters
        ----------
        X : array or CSR of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n,) or (n, n_outputs)
        """
        values = self._raw_decision(X)
        return values[:, 0] if self._single_output else values


class LinearOneClassSVM(OutlierMixin, LinearMachine):
    """A hyperplane between the data and the origin: `OneClassSVM` with a linear kernel, for many samples or features.

    .. math::

        \\min_{w, \\rho, \\xi} \\tfrac12 \\|w\\|^2 - \\nu \\rho \\sum_i \\omega_i + \\sum_i \\omega_i \\xi_i
        \\quad\\text{s.t.}\\quad w \\cdot x_i \\ge \\rho - \\xi_i, \\quad \\xi_i \\ge 0.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        At most this share of the training samples is outside, at least this share are support vectors.
    tol : float > 0, default=1e-3
        Largest violation of the optimality conditions; smaller is more exact and slower.
    gap_tol : float > 0 or None, default=None
        Largest relative duality gap, as a further condition.
    max_iter : int >= 1 or None, default=None
        Most solver steps; None leaves a generous limit.
    max_seconds : float > 0 or None, default=None
        Most seconds for the solver.
    n_threads : int or None, default=None
        Threads; the result does not depend on it.
    warm_start : bool, default=False
        Start from the last solution when `fit` is called again with as many samples.
    solver : {"auto", "newton", "descent"} or Solver, default="auto"
        See `mercer.solvers`.
    callback : callable or None, default=None
        Told the `Progress` of the solver; a true value stops it.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        The weights w.
    intercept_ : ndarray of shape (1,)
        Minus rho.
    offset_ : float
        rho: `score_samples` minus it is the decision value.
    result_ : SolverResult
        The certificate: objectives, gap, violation, history.
    norm_ : float
        ``|w|``.
    support_ : int ndarray of shape (n_support,)
        Numbers of the support vectors.
    n_iter_ : int
        Solver steps.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when X has names that are all strings.

    See Also
    --------
    OneClassSVM : Any kernel.

    Notes
    -----
    Costs as for `LinearSVC`. Data that surround the origin have no such hyperplane; the status is then "degenerate".

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 2.4.

    Examples
    --------
    >>> from mercer import LinearOneClassSVM
    >>> X = [[1.0, 1.0], [1.1, 1.0], [1.0, 1.1], [1.1, 1.1], [1.2, 1.2]]
    >>> LinearOneClassSVM(nu=0.2).fit(X).predict([[2.0, 2.0], [0.1, 0.1]])
    array([ 1, -1])
    """

    _parameters = LinearMachine._parameters | {"nu": Number(0, 1, above=True)}
    intercept, intercept_scaling = "free", 1.0  # it is rho, and the origin is where it is

    def __init__(
        self,
        nu=0.5,
        *,
        tol=1e-3,
        gap_tol=None,
        max_iter=None,
        max_seconds=None,
        n_threads=None,
        warm_start=False,
        solver="auto",
        callback=None,
    ):
        self.nu = nu
        self.tol = tol
        self.gap_tol = gap_tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.n_threads = n_threads
        self.warm_start = warm_start
        self.solver = solver
        self.callback = callback

    def fit(self, X, y=None, sample_weight=None):
        """Learn where the samples lie.

        Parameters
        ----------
        X : array, CSR or RowBlocks of shape (n, n_features)
            Also memory-mapped; `mercer.data.RowBlocks` holds data that does not fit into memory.
        y : ignored
        sample_weight : array of shape (n,), default=None
            Non-negative; weight 2 is the sample twice, weight 0 is no sample.

        Returns
        -------
        self
        """
        with self._all_or_nothing():
            self._check_all()
            X = self._take_samples(X)
            weight = self._weights(sample_weight, X)
            index = np.flatnonzero(weight)
            with limit_threads(self.n_threads):
                gram = self._make_gram(X)
                problem = one_class(gram, self.nu, weight[index], index=index)
                results = self._fit_problems([problem])
                self._keep_weights(gram, [problem], results)
            rho = -float(self.intercept_[0])
            self.offset_ = rho - ROUNDING * abs(rho)
            self.intercept_ = np.array([-self.offset_])
        return self

    def score_samples(self, X):
        """How usual samples are, w.x; larger is more usual. The decision value plus `offset_`.

        Parameters
        ----------
        X : array or CSR of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n,)
        """
        return self._raw_decision(X)[:, 0] + self.offset_

    def decision_function(self, X):
        """Decision values, positive inside and negative outside.

        Parameters
        ----------
        X : array or CSR of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n,)
        """
        return self._raw_decision(X)[:, 0]

    def predict(self, X):
        """+1 for samples inside, -1 for novel ones.

        Parameters
        ----------
        X : array or CSR of shape (n, n_features)

        Returns
        -------
        int ndarray of shape (n,)
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)
