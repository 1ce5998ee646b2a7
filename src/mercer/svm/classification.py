"""Support vector classification."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from mercer.calibration.calibration import pairs_of
from mercer.calibration.folds import HeldOut
from mercer.gram import Gram
from mercer.kernels.samples import n_samples, row_blocks, take
from mercer.machines import ClassWeight
from mercer.multiclass import JointScheme, OwnMachines, Plan, Scheme, Tasks
from mercer.parameters import Choice, Number
from mercer.problems import DualProblems, nu_margin, soft_margin
from mercer.segments import Segments, joined
from mercer.solvers import SolverResults, warn_unless_solved
from mercer.solvers.base import summary
from mercer.svm.base import SparseRows, SupportVectorMachine, dense_row, one_or_all
from mercer.svm.folds import Folds, decide, naming_the_fold
from mercer.svm.joint import JointlyLabelled
from mercer.svm.probabilities import Probabilities
from mercer.threads import limit_threads

__all__ = ["SVC", "NuSVC"]

# Variables of problems that are written down at once: a thousand classes have half a million problems.
AT_ONCE = 1_000_000


class Models(NamedTuple):
    """What machines make of the solutions a of their problems, see `mercer.multiclass.Model`; an entry per machine."""

    scale: np.ndarray
    offset: np.ndarray
    edge: np.ndarray


@dataclass(frozen=True, eq=False)
class Functions:
    """Decision functions, as they have been learnt from some of the samples each; flat arrays of all."""

    parts: Segments
    """The samples of every function."""
    samples: np.ndarray
    values: np.ndarray
    """The coefficients of the samples."""
    slack: np.ndarray
    errors: np.ndarray
    """Whether the slack of a sample is more than the tolerance."""
    offset: np.ndarray
    norm: np.ndarray
    """|w| in feature space."""
    margin: np.ndarray
    """The distance of the edge of the margin from the hyperplane."""

    @property
    def coefficients(self) -> SparseRows:
        """A row for every function."""
        return SparseRows(self.parts, self.samples, self.values)


class SupportVectorClassifier(ClassifierMixin, JointlyLabelled, Probabilities, SupportVectorMachine, ABC):
    """What SVC and NuSVC share: classes, the scheme for several of them, margins."""

    multi_class: Any
    _plan: Plan
    # True: the samples of the last fit are the first of the next one, which is to go on from its solution; the classes
    # are the same, though single samples may have another one.
    _grows: bool = False

    @abstractmethod
    def _problems(self, gram: Gram, tasks: Tasks, weight: np.ndarray) -> DualProblems:
        """The problems of machines for two; weight is that of the samples of the tasks."""

    @abstractmethod
    def _models(self, results: SolverResults) -> Models:
        """What machines for two make of the solutions of their problems."""

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
            all_folds = summary([summary(results) for _, results in of_folds])
            warn_unless_solved(all_folds, f"A fold of {type(self).__name__}")
        if whole:
            return [self], held_out
        own = of_folds[len(of_scheme.splits) :]
        return [copy(self)._keep_functions(X, codes, weight, *of_fold) for of_fold in own], held_out

    def _keep_functions(
        self, X: Any, codes: np.ndarray, weight: np.ndarray, functions: Functions, results: Sequence[Any]
    ) -> Self:
        """The model, from the functions that were learnt and their certificates."""
        self.norm_, self.margin_ = one_or_all(functions.norm), one_or_all(functions.margin)
        self.slack_ = SparseRows(functions.parts, functions.samples, functions.slack).one_or_all(len(codes))
        seen = weight[functions.samples]
        self.margin_errors_ = one_or_all(functions.parts.sum(seen * functions.errors) / functions.parts.sum(seen))
        self._keep_model(X, functions.coefficients, functions.offset, results)
        self.n_support_ = np.bincount(codes[self.support_], minlength=len(self.classes_))
        return self

    def _learn(
        self,
        plan: Plan,
        gram: Gram,
        sample_weight: np.ndarray,
        lessons: Sequence[tuple[np.ndarray, np.ndarray]],
        whole: bool,
    ) -> list[tuple[Functions, Sequence[Any]]]:
        """The decision functions of a scheme, in the order of its code, and the certificates of what was solved.

        For every lesson, the class numbers and the weights of all samples. If the first has the `whole` of them, and is
        no fold, it may start warm.
        """
        if isinstance(plan.scheme, JointScheme):
            return self._learn_jointly(plan.scheme, gram, lessons)
        learnt: list[list[tuple[Functions, SolverResults]]] = [[] for _ in lessons]
        for machines in stretches(np.sum([plan.sizes(codes) for codes, _ in lessons], axis=0)):
            tasks, problems = [], []
            for k, (codes, weight) in enumerate(lessons):
                with naming_the_fold(k >= whole):
                    tasks.append(plan.tasks(codes, sample_weight, machines))
                    problems.append(self._problems_of(plan.scheme, gram, tasks[-1], weight[tasks[-1].samples]))
            n = len(machines)
            solved = self._fit_problems(joined(problems), machines.start, n * (len(lessons) - whole))
            results = SolverResults.of(solved)
            for k, of_lesson in enumerate(learnt):
                of_lesson.append(self._functions(plan.scheme, tasks[k], problems[k], results[k * n : (k + 1) * n]))
        return [tuple(map(joined, zip(*of_lesson, strict=True))) for of_lesson in learnt]

    def _starts(self, problems, sizes, first):
        if not self._grows or isinstance(self._scheme, OwnMachines):  # whose scale is their own
            return super()._starts(problems, sizes, first)
        # Multipliers are coefficients times signs, over the scale of the machine: those of new samples are zero.
        scale = self._models(SolverResults.of(self.result_.parts or (self.result_,))).scale
        starts = []
        for k, problem in enumerate(problems[: len(sizes)], first):
            row = self.dual_coef_[[k]]
            support, values = (row.indices, row.data) if issparse(row) else (slice(None), row[0])
            last = dense_row(self.support_[support], values, problem.gram.n)[problem.index]
            starts.append(np.maximum(0.0, problem.sign * last) / scale[k])
        return starts

    def _problems_of(self, scheme: Scheme, gram: Gram, tasks: Tasks, weight: np.ndarray) -> DualProblems:
        """The problems of the machines of a scheme, be they its own or ours."""
        if not isinstance(scheme, OwnMachines):
            return self._problems(gram, tasks, weight)
        return DualProblems.of(
            [scheme.problem(gram, task, weight[part]) for task, part in zip(tasks, tasks.parts, strict=True)]
        )

    def _functions(
        self, scheme: Scheme, tasks: Tasks, problems: DualProblems, results: SolverResults
    ) -> tuple[Functions, SolverResults]:
        """The decision functions, and the results with the margins."""
        if isinstance(scheme, OwnMachines):
            found = [scheme.model(problem, result) for problem, result in zip(problems, results, strict=True)]
            models, wanted = Models(*map(np.array, zip(*found, strict=True))), np.zeros(len(tasks.sign))
        else:
            models = self._models(results)
            wanted = tasks.parts.repeat(models.edge) * tasks.target
        parts, sign, scale = problems.parts, problems.sign, problems.parts.repeat(models.scale)
        # From the gradient: f = s (G - p - ridge a) + b, scaled; times the sign it is to be `wanted` at least.
        own = results.gradient - problems.linear - problems.ridge * results.a
        reached = own * scale + sign * parts.repeat(models.offset)
        slack = np.maximum(0.0, wanted - reached)
        norm = models.scale * np.sqrt(np.maximum(0.0, parts.sum(results.a * own)))
        with np.errstate(divide="ignore", invalid="ignore"):
            margin = np.where(norm > 0, models.edge / norm, np.inf)
        functions = Functions(
            parts=parts,
            samples=problems.samples,
            values=sign * results.a * scale,
            slack=slack,
            errors=slack > self.tol * parts.repeat(np.maximum(models.edge, np.finfo(float).tiny)),
            offset=models.offset,
            norm=norm,
            margin=margin,
        )
        return functions, replace(results, margin=parts.min(reached))

    def _learn_jointly(
        self, scheme: JointScheme, gram: Gram, lessons: Sequence[tuple[np.ndarray, np.ndarray]]
    ) -> list[tuple[Functions, Sequence[Any]]]:
        """The function of every class, from one objective; for every lesson, with its certificate."""
        learnt: list[tuple[Functions, Sequence[Any]]] = []
        for problem, result in self._solve_jointly(scheme, gram, lessons, getattr(self, "fit_intercept", True)):
            slack = result.errors.toarray().T.ravel()
            functions = Functions(
                parts=Segments.of_sizes([len(problem.index)] * problem.n_classes),
                samples=np.tile(problem.index, problem.n_classes),
                values=result.coefficients.toarray()[:, problem.index].ravel(),
                slack=slack,
                errors=slack > self.tol,
                offset=result.intercepts,
                norm=result.norms,
                margin=result.margins,
            )
            learnt.append((functions, [result]))
        return learnt

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

    def _problems(self, gram, tasks, weight):
        every = soft_margin(
            gram,
            tasks.sign,
            self.C * tasks.cost * weight,
            squared=self.loss == "squared_hinge",
            bias=self.fit_intercept,
            index=tasks.samples,
            target=tasks.target,
        )
        return DualProblems.split(every, tasks.parts)

    def _models(self, results):
        return Models(scale=np.ones(len(results)), offset=results.offsets[:, 0], edge=np.ones(len(results)))


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

    def _problems(self, gram, tasks, weight):
        cost = tasks.cost * weight
        return DualProblems.of(
            [nu_margin(gram, tasks.sign[part], self.nu, cost[part], index=tasks.samples[part]) for part in tasks.parts]
        )

    def _check_all(self):
        super()._check_all()
        if not self._scheme.unit_targets:
            raise ValueError(
                "multi_class must have machines with targets +1 and -1 for NuSVC, which finds their size rho itself, "
                f"got {self.multi_class!r}; use targets='signs', or SVC."
            )

    def _models(self, results):
        plus, minus = results.offsets.T
        rho = rho_of(results)
        # No rho, no band to scale: the classes lie on each other.
        flat = rho <= 1e-10 * (1.0 + abs(plus) + abs(minus))
        scale = 1.0 / np.where(flat, 1.0, rho)
        return Models(scale, 0.5 * (plus + minus) * scale, rho * scale)

    @property
    def rho_(self):
        """The rho of the problem."""
        check_is_fitted(self)
        return one_or_all(rho_of(SolverResults.of(self.result_.parts or (self.result_,))))


def rho_of(results: SolverResults) -> np.ndarray:
    """Free variables see b - rho on the positive side and b + rho on the negative one. [CY eq 1.50]"""
    plus, minus = results.offsets.T
    return 0.5 * (minus - plus)


def stretches(sizes: np.ndarray) -> Iterator[range]:
    """Neighbouring machines, as many at once as have `AT_ONCE` variables together, but one at least."""
    ends, first = np.cumsum(sizes), 0
    while first < len(sizes):
        before = ends[first] - sizes[first]
        last = max(first + 1, int(np.searchsorted(ends, before + AT_ONCE, side="right")))
        yield range(first, last)
        first = last
