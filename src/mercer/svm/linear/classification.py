"""Linear classification."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from mercer.calibration.folds import HeldOut
from mercer.data import RowBlocks
from mercer.gram import LinearGram
from mercer.machines import ClassWeight
from mercer.multiclass import JointScheme, OwnMachines, Plan, Task
from mercer.parameters import Choice, Number
from mercer.problems import DualProblem, soft_margin
from mercer.solvers import BlockDescent, LinearBlockDescent, combine, warn_unless_solved
from mercer.svm.base import one_or_all
from mercer.svm.folds import Folds, naming_the_fold
from mercer.svm.joint import JointlyLabelled
from mercer.svm.linear.base import LinearFunction, PricedMachine
from mercer.threads import limit_threads

__all__ = ["LinearSVC"]


class LinearSVC(ClassifierMixin, JointlyLabelled, PricedMachine):
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
    penalty : {"l2", "l1"}, default="l2"
        The squared norm of the weights, or the sum of their sizes in its place, which leaves few of them different from
        zero; the latter needs ``loss="squared_hinge"``.
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
        See `mercer.solvers`. With one objective for all classes "auto" stands for `LinearBlockDescent`.
    checkpoint : path, Checkpoint or None, default=None
        A file that keeps a long fit while it runs, so that the same fit goes on from it after a kill; see
        `mercer.checkpoints.Checkpoint`.
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
        ``|w|`` (with the penalised offset; the sum of sizes for the L1 penalty) and the margin ``1 / |w|``; for one
        objective see `mercer.problems.JointProblem.margins`.
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
    mercer.calibration.Calibrated : Probabilities.

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

    _parameters = PricedMachine._parameters | {
        "C": Number(0, above=True, infinite=True),
        "loss": Choice("hinge", "squared_hinge"),
        "penalty": Choice("l2", "l1"),
        "intercept": Choice("free", "penalised", "none"),
        "intercept_scaling": Number(0, above=True),
        "class_weight": ClassWeight,
    }

    _joint_solvers = (LinearBlockDescent, BlockDescent)

    _plan: Plan

    def __init__(
        self,
        C=1.0,
        *,
        loss="hinge",
        penalty="l2",
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
        checkpoint=None,
        callback=None,
    ):
        self.C = C
        self.loss = loss
        self.penalty = penalty
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
        self.checkpoint = checkpoint
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
        self._check_penalty("squared_hinge")
        if self.penalty == "l1" and isinstance(self._scheme, (JointScheme, OwnMachines)):
            raise ValueError(f"penalty='l1' needs a scheme of machines for two, got multi_class={self.multi_class!r}.")
        X, y = self._take_samples(X, y)
        if isinstance(X, RowBlocks) and isinstance(self._scheme, JointScheme):
            raise TypeError(f"X must be in memory for multi_class={self.multi_class!r}, got RowBlocks; use 'ovr'.")
        weight = self._weights(sample_weight, X)
        codes = self._encode(y, weight)
        plan = self._scheme.plan(len(self.classes_), self.loss)
        if isinstance(plan.scheme, JointScheme):
            self._learn_together(X, plan, codes, weight * self._class_weights(codes, weight))
        else:
            plan = self._learn_apart(X, plan, codes, weight)
        self._plan, self._fitted_C = plan, self.C

    def _learn_together(self, X: Any, plan: Plan, codes: np.ndarray, weight: np.ndarray) -> None:
        """Weights and offsets of the functions that one objective gives, and the certificate."""
        with limit_threads(self.n_threads):
            gram = self._make_gram(X)
            ((_, result),) = self._solve_jointly(plan.scheme, gram, [(codes, weight)], self._free)
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

    def _learn_apart(self, X: Any, plan: Plan, codes: np.ndarray, weight: np.ndarray) -> Plan:
        """Weights and offsets of the machines of a scheme; the plan with what their folds say, where it has some."""
        folds = Folds(codes, weight, plan.splits(codes, weight, self.classes_))
        own = plan.scheme if isinstance(plan.scheme, OwnMachines) else None
        build = own.problem if own else self._problem
        problems: list[DualProblem] = []
        with limit_threads(self.n_threads):
            gram = self._make_gram(X)
            for k, some in enumerate((codes, *folds.taught)):
                weights = weight * self._class_weights(some, weight)
                with naming_the_fold(k > 0):
                    problems += [build(gram, task, weights[task.index]) for task in plan.tasks(some, weight)]
            n = plan.n_machines
            of_folds = self._learn(gram, problems[:n], own.model if own else None, problems[n:])
            if of_folds:
                plan = self._learn_maps(plan, folds, gram, of_folds)
        with np.errstate(divide="ignore"):
            self.margin_ = one_or_all(list(1.0 / np.atleast_1d(self.norm_)))
        return plan

    def _learn_maps(self, plan: Plan, folds: Folds, gram: LinearGram, learnt: Sequence[LinearFunction]) -> Plan:
        """The plan with what its folds, whose functions come one fold after the other, say of what they hold out."""
        if self._warns and self.result_.status == "solved":
            warn_unless_solved(combine([function.result for function in learnt]), f"A fold of {type(self).__name__}")

        def decide(functions: Sequence[LinearFunction], test: np.ndarray) -> np.ndarray:
            return np.column_stack([gram.products(f.weights, test) + f.offset for f in functions])

        n = plan.n_machines
        held_out = HeldOut.joined(folds.held_out([learnt[k : k + n] for k in range(0, len(learnt), n)], decide))
        return plan.learn_maps(held_out, self._class_weights(held_out.codes, held_out.weight))

    def _problem(self, gram: LinearGram, task: Task, weight: np.ndarray) -> DualProblem:
        squared, cost = self.loss == "squared_hinge", self.C * task.cost * weight
        return soft_margin(
            gram, task.sign, cost, squared=squared, bias=self._free, index=task.index, target=task.target
        )

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
        return self._plan.decision(decision)

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
