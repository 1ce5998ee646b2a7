"""Support vector classification."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from mercer.calibration.calibration import pairs_of
from mercer.calibration.folds import HeldOut
from mercer.gram import Gram
from mercer.kernels.samples import n_samples, row_blocks, take
from mercer.multiclass import JointScheme, Model, OwnMachines, Plan, Task
from mercer.parameters import Choice, Number
from mercer.problems import DualProblem, nu_margin, soft_margin
from mercer.solvers import SolverResult, warn_unless_solved
from mercer.solvers.base import summary
from mercer.sums import inner
from mercer.svm.base import SupportVectorMachine, dense_row, one_or_all, sparse_rows
from mercer.svm.folds import Folds, decide, naming_the_fold
from mercer.svm.joint import JointlyLabelled
from mercer.svm.labels import ClassWeight
from mercer.svm.probabilities import Probabilities
from mercer.threads import limit_threads

__all__ = ["SVC", "NuSVC"]

# Problems that are written down at once: a thousand classes have half a million of them.
AT_ONCE = 10_000


@dataclass(frozen=True, eq=False)
class Function:
    """A decision function, as it has been learnt from some of the samples."""

    index: np.ndarray
    coefficients: np.ndarray
    offset: float
    norm: float
    """|w| in feature space."""
    margin: float
    """The distance of the edge of the margin from the hyperplane."""
    slack: np.ndarray
    errors: np.ndarray
    """Whether the slack of a sample is more than the tolerance."""


class SupportVectorClassifier(ClassifierMixin, JointlyLabelled, Probabilities, SupportVectorMachine, ABC):
    """What SVC and NuSVC share: classes, the scheme for several of them, margins."""

    multi_class: Any
    _plan: Plan

    @abstractmethod
    def _problem(self, gram: Gram, task: Task, weight: np.ndarray) -> DualProblem:
        """The problem of one machine for two; weight is that of the samples of the task."""

    @abstractmethod
    def _model(self, problem: DualProblem, result: SolverResult) -> Model:
        """What one machine for two makes of the solution of its problem."""

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
                self._fit_calibrated(X, y, sample_weight)
            else:
                self._fit(X, y, sample_weight)
        return self

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, split: Any = None, coupled: bool = True, whole: bool = True
    ) -> tuple[list[Self], list[HeldOut]]:
        self._check_all()
        X, y = self._take_samples(X, y)
        weight = self._weights(sample_weight, X)
        codes = self._encode(y, weight)
        plan = self._scheme.plan(len(self.classes_), getattr(self, "loss", "hinge"))
        of_scheme = Folds(codes, weight, plan.splits(codes, weight, self.classes_))
        asked_for = Folds(codes, weight, [] if split is None else split(X, codes, weight, self.classes_))
        with limit_threads(self.n_threads):
            gram = self._make_gram(X, weight)
            folds = (*of_scheme.taught, *asked_for.taught)
            everyone = (codes, *folds) if whole else folds
            lessons = [(some, weight * self._class_weights(some, weight)) for some in everyone]
            learnt = self._learn(plan, gram, weight, lessons, whole)
            of_folds = learnt[1:] if whole else learnt
            functions = [functions for functions, _ in of_folds]
            raw = partial(decide, gram)
            if of_scheme.splits:
                seen = HeldOut.joined(of_scheme.held_out(functions[: len(of_scheme.splits)], raw))
                plan = plan.learn_maps(seen, self._class_weights(seen.codes, seen.weight))
            self._plan = plan
            pairs = coupled and bool(pairs_of(self, plan.n_classes))
            values = raw if pairs else lambda some, test: plan.decision(raw(some, test))
            held_out = asked_for.held_out(functions[len(of_scheme.splits) :], values)
        if whole:
            self._keep_functions(X, codes, weight, *learnt[0])
            self._warn_unless_solved()
        if of_folds and self._warns and (not whole or self.result_.status == "solved"):
            all_folds = summary([result for _, results in of_folds for result in results])
            warn_unless_solved(all_folds, f"A fold of {type(self).__name__}")
        if whole:
            return [self], held_out
        own = of_folds[len(of_scheme.splits) :]
        return [copy(self)._keep_functions(X, codes, weight, *of_fold) for of_fold in own], held_out

    def _keep_functions(
        self, X: Any, codes: np.ndarray, weight: np.ndarray, functions: Sequence[Function], results: Sequence[Any]
    ) -> Self:
        """The model, from the functions that were learnt and their certificates."""
        self.norm_ = one_or_all([f.norm for f in functions])
        self.margin_ = one_or_all([f.margin for f in functions])
        slacks = [(f.index, f.slack) for f in functions]
        self.slack_ = dense_row(*slacks[0], len(codes)) if len(slacks) == 1 else sparse_rows(slacks, len(codes))
        self.margin_errors_ = one_or_all(
            [inner(weight[f.index], f.errors) / float(weight[f.index].sum()) for f in functions]
        )
        self._keep_model(X, [(f.index, f.coefficients) for f in functions], [f.offset for f in functions], results)
        self.n_support_ = np.bincount(codes[self.support_], minlength=len(self.classes_))
        return self

    def _learn(
        self,
        plan: Plan,
        gram: Gram,
        sample_weight: np.ndarray,
        lessons: Sequence[tuple[np.ndarray, np.ndarray]],
        whole: bool,
    ) -> list[tuple[list[Function], list[Any]]]:
        """The decision functions of a scheme, in the order of its code, and the certificates of what was solved.

        For every lesson, the class numbers and the weights of all samples. If the first has the `whole` of them, and is
        no fold, it may start warm.
        """
        if isinstance(plan.scheme, JointScheme):
            return self._learn_jointly(plan.scheme, gram, lessons)
        own = plan.scheme if isinstance(plan.scheme, OwnMachines) else None
        build, read = (own.problem, own.model) if own else (self._problem, self._model)
        learnt: list[tuple[list[Function], list[Any]]] = [([], []) for _ in lessons]
        step = max(1, AT_ONCE // len(lessons))
        for first in range(0, plan.n_machines, step):
            machines = range(first, min(first + step, plan.n_machines))
            tasks: list[Task] = []
            problems: list[DualProblem] = []
            for k, (codes, weight) in enumerate(lessons):
                with naming_the_fold(k >= whole):
                    tasks += plan.tasks(codes, sample_weight, machines)
                    problems += [build(gram, task, weight[task.index]) for task in tasks[len(problems) :]]
            n = len(machines) if whole else 0
            solved = self._fit_problems(problems[:n], first, problems[n:])
            for k, (functions, results) in enumerate(learnt):
                part = slice(k * len(machines), (k + 1) * len(machines))
                for task, problem, result in zip(tasks[part], problems[part], solved[part], strict=True):
                    model = read(problem, result)
                    wanted = np.zeros(1) if own else model.edge * task.target
                    function, decision = self._function(problem, result, model, wanted)
                    functions.append(function)
                    results.append(replace(result, margin=float(np.min(problem.sign * decision))))
        return learnt

    def _learn_jointly(
        self, scheme: JointScheme, gram: Gram, lessons: Sequence[tuple[np.ndarray, np.ndarray]]
    ) -> list[tuple[list[Function], list[Any]]]:
        """The function of every class, from one objective; for every lesson, with its certificate."""
        learnt: list[tuple[list[Function], list[Any]]] = []
        for problem, result in self._solve_jointly(scheme, gram, lessons, getattr(self, "fit_intercept", True)):
            coefficients, errors = result.coefficients.toarray()[:, problem.index], result.errors.toarray().T
            functions = [
                Function(
                    index=problem.index,
                    coefficients=coefficients[k],
                    offset=float(result.intercepts[k]),
                    norm=float(result.norms[k]),
                    margin=float(result.margins[k]),
                    slack=errors[k],
                    errors=errors[k] > self.tol,
                )
                for k in range(problem.n_classes)
            ]
            learnt.append((functions, [result]))
        return learnt

    def _function(
        self, problem: DualProblem, result: SolverResult, model: Model, wanted: np.ndarray
    ) -> tuple[Function, np.ndarray]:
        """The decision function and its values on its samples; times their sign they are to be `wanted` at least."""
        # From the gradient: f = s (G - p - ridge a) + b, scaled.
        f = problem.sign * (result.gradient - problem.linear - problem.ridge * result.a)
        decision = f * model.scale + model.offset
        slack = np.maximum(0.0, wanted - problem.sign * decision)
        norm = model.scale * float(np.sqrt(problem.squared_norm(result.a, result.gradient)))
        function = Function(
            index=problem.index,
            coefficients=problem.sign * result.a * model.scale,
            offset=model.offset,
            norm=norm,
            margin=model.edge / norm if norm > 0 else np.inf,
            slack=slack,
            errors=slack > self.tol * max(model.edge, np.finfo(float).tiny),
        )
        return function, decision

    def decision_function(self, X):
        """Decision values.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n,) or (n, n_classes)
            Two classes: positive values speak for ``classes_[1]``. More: the scores that the scheme gives the classes;
            `predict` takes the largest, the first of equal ones. With ``probability=True`` calibrated log-odds of
            ``classes_[1]``, or the logarithms of the probabilities.
        """
        check_is_fitted(self)
        return self.calibration_.decision(self._calibrated_values(X)) if self._calibrated else self._values(X)

    def _values(self, X: Any, *, pairs: bool = False) -> np.ndarray:
        """Decision values before calibration: the only ones, those of all pairs of classes, or scores."""
        if pairs:
            return self._raw_decision(X)
        if self._plan.n_machines == 1:
            return self._raw_decision(X)[:, 0]
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def _scores(self, X: Any) -> np.ndarray:
        """One score per class, shape (n, n_classes)."""
        with limit_threads(self.n_threads):
            X, Y = self._compared(self._check_new(X))
            kernel = None if Y is None else self.kernel_
            found = self._plan.scheme.shortcut(kernel, X, Y, self.dual_coef_, self.intercept_, self._plan)
            if found is not None:
                return found
            scores = np.empty((n_samples(X), len(self.classes_)))
            for rows in row_blocks(len(scores), self._plan.n_machines):
                scores[rows] = self._plan.scores(self._decision_of(take(X, rows), Y))
            return scores

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
            return self.classes_[self.calibration_.codes(self._calibrated_values(X))]
        codes = (self._signs(X) > 0).astype(int) if self._plan.n_machines == 1 else self._scores(X).argmax(axis=1)
        return self.classes_[codes]

    def distance(self, X):
        """Signed distance to the separating hyperplane in feature space.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n,) or (n, n_problems)
            One column per machine if there are several, a pair of classes each unless `multi_class` says otherwise;
            one per class, to where its function is zero, if there is one objective for all.
        """
        check_is_fitted(self)
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = self._raw_decision(X) / self.norm_
        return distance[:, 0] if self._plan.n_machines == 1 else distance


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
    multi_class : str or Scheme, default="ovo"
        How several classes are told apart, see `mercer.multiclass`: "ovo", "ovr", "dag", "ecoc" and "one_class" have
        several machines; "weston_watkins", "crammer_singer" and "lee_lin_wahba" have one objective for all classes, for
        the hinge loss and a finite C.
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
        See `mercer.solvers`. With one objective for all classes "smo" stands for `BlockDescent`.
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
    result_ : SolverResult or JointResult
        The certificate: objectives, gap, violation, history. A `JointResult` if there is one objective for all classes.
    support_ : int ndarray of shape (n_support,)
        Numbers of the support vectors.
    support_vectors_ : samples
        The support vectors; empty if precomputed.
    n_support_ : int ndarray of shape (n_classes,)
        How many there are of each class.
    dual_coef_ : ndarray of shape (1, n_support) or CSR of shape (n_problems, n_support)
        Multipliers times signs; a row for every machine of `multi_class`, or for every class if there is one objective
        for all; so for what follows.
    intercept_ : ndarray of shape (n_problems,)
        The offsets b.
    coef_ : ndarray of shape (n_problems, n_features)
        The weights w; linear kernel only.
    kernel_ : Kernel or "precomputed"
        The kernel, with its data-dependent parameters resolved.
    norm_, margin_ : float or ndarray of shape (n_problems,)
        ``|w|`` and the margin ``1 / |w|`` in feature space. With one objective, how far the margin reaches on either
        side of the nearest hyperplane of the class, see `mercer.problems.JointProblem.margins`.
    slack_ : ndarray of shape (n,) or CSR of shape (n_problems, n)
        The errors xi of the training samples; with one objective those against every class but their own.
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
    LinearSVC : The linear kernel, for many samples or features.
    OneClassSVM : One class only.

    Notes
    -----
    Training takes between O(n d n_support) and O(n^2 d) for the usual parameters, more for large C, and memory
    O(n d) plus the budget; prediction O(d n_support) per sample. Several classes: see `mercer.multiclass`.

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
        multi_class="ovo",
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
        self.multi_class = multi_class
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
        return Model(scale=1.0, offset=result.offsets.plus, edge=1.0)


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
    multi_class : {"ovo", "ovr", "dag", "ecoc", "one_class"} or Scheme, default="ovo"
        How several classes are told apart, see `mercer.multiclass`; schemes of one objective for all classes are left
        to `SVC`.
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
        multi_class="ovo",
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
        self.multi_class = multi_class
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

    def _check_all(self):
        super()._check_all()
        if not self._scheme.unit_targets:
            raise ValueError(
                "multi_class must have machines with targets +1 and -1 for NuSVC, which finds their size rho itself, "
                f"got {self.multi_class!r}; use targets='signs', or SVC."
            )

    def _rho(self, result: SolverResult) -> float:
        """Free variables see b - rho on the positive side and b + rho on the negative one. [CY eq 1.50]"""
        return 0.5 * (result.offsets.minus - result.offsets.plus)

    def _model(self, problem, result):
        rho = self._rho(result)
        # No rho, no band to scale: the classes lie on each other.
        smallest = 1e-10 * (1.0 + abs(result.offsets.plus) + abs(result.offsets.minus))
        scale = 1.0 / rho if rho > smallest else 1.0
        b = 0.5 * (result.offsets.plus + result.offsets.minus)
        return Model(scale, b * scale, rho * scale)

    @property
    def rho_(self):
        """The rho of the problem."""
        check_is_fitted(self)
        return one_or_all([self._rho(result) for result in self.result_.parts or (self.result_,)])
