"""scikit-learn's linear machines with mercer's engine."""

from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import _classes
from sklearn.svm._base import _get_liblinear_solver_type
from sklearn.svm._classes import _validate_dual_parameter
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from mercer import svm
from mercer.callers import warn_caller
from mercer.gram import LinearGram
from mercer.problems import soft_margin
from mercer.solvers import SparseNewton, combine

__all__ = ["LinearSVC", "LinearSVR"]

VECTORS: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float64, "order": "C", "accept_large_sparse": False}
# scikit-learn 1.7 balances classes by the weights of their samples.
WEIGHTED_CLASSES = "sample_weight" in signature(compute_class_weight).parameters


class LinearEngine:
    """What scikit-learn's linear machines leave to LIBLINEAR, done by mercer."""

    C: float
    loss: str
    dual: Any
    tol: float
    max_iter: int
    fit_intercept: bool
    intercept_scaling: float
    verbose: Any

    def _checked(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        X, y = validate_data(self, X, y, **VECTORS)
        return X, y

    def _check_formulation(self, X: Any, penalty: str, multi_class: str) -> None:
        """Refuse what LIBLINEAR cannot do; which of its solvers it would be does not matter here."""
        dual = _validate_dual_parameter(self.dual, self.loss, penalty, multi_class, X)
        _get_liblinear_solver_type(multi_class, penalty, self.loss, dual)

    def _weights(self, sample_weight: Any, X: Any) -> np.ndarray:
        """Weights of the samples; as in LIBLINEAR, negative ones count as zero."""
        return np.maximum(_check_sample_weight(sample_weight, X, dtype=np.float64), 0.0)

    def _translated(self) -> dict[str, Any]:
        return {
            "C": self.C,
            "intercept": "penalised" if self.fit_intercept else "none",
            "intercept_scaling": self.intercept_scaling,
            "tol": self.tol,
            "max_iter": max(1, self.max_iter),
        }

    def _keep(self, weights: np.ndarray, offsets: np.ndarray, result: Any, n_iter: int) -> None:
        self.coef_ = weights
        self.intercept_: Any = offsets if self.fit_intercept else 0.0
        self.result_ = result
        self.n_iter_ = n_iter
        if self.verbose:
            print(self.result_)
        if self.n_iter_ >= self.max_iter:  # as in LIBLINEAR, whether or not the last step was the last needed
            warn_caller("Liblinear failed to converge, increase the number of iterations.", ConvergenceWarning)


class LinearSVC(LinearEngine, _classes.LinearSVC):
    """``sklearn.svm.LinearSVC`` with mercer's engine.

    .. math::

        \\min_{w, b} R(w, b / s) + C \\sum_i \\omega_i \\max(0, 1 - y_i (w \\cdot x_i + b))^q

    for every class against the rest (for ``multi_class="crammer_singer"`` all classes have one objective, see
    `mercer.problems.crammer_singer`), with q = 1 for ``loss="hinge"`` and q = 2 for ``"squared_hinge"``; R is half the
    squared norm, or the sum of absolute values for ``penalty="l1"``; s is `intercept_scaling`: the offset is the
    weight of a constant feature, and has its price. It is a subclass of scikit-learn's class, with its parameters,
    attributes, errors and warnings.

    Attributes
    ----------
    result_ : SolverResult
        The certificate of the solution, which scikit-learn's class does not have.

    See Also
    --------
    mercer.svm.LinearSVC : The machine behind it, whose offset is free by default.
    mercer.solvers.SparseNewton : What solves ``penalty="l1"``.

    Notes
    -----
    Costs as for `mercer.svm.LinearSVC`. ``dual`` and ``random_state`` change nothing: the solver finds its own way,
    and nothing is random.

    References
    ----------
    .. [1] C. C. Aggarwal, Data Mining: The Textbook, 2015, section 10.6.1.1.

    Examples
    --------
    >>> from mercer.compat.sklearn import LinearSVC
    >>> machine = LinearSVC(tol=1e-6).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> machine.coef_.round(3), machine.intercept_.round(3)
    (array([[0.634]]), array([-0.829]))
    """

    penalty: str
    multi_class: str
    class_weight: Any

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Learn from labelled samples.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features)
        y : array of shape (n,)
            Classes.
        sample_weight : array of shape (n,), default=None

        Returns
        -------
        self
        """
        X, y = self._checked(X, y)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                "This solver needs samples of at least 2 classes in the data, but the data contains only one class: "
                f"{self.classes_[0]!r}"
            )
        by_weight = {"sample_weight": sample_weight} if WEIGHTED_CLASSES else {}
        of_class = compute_class_weight(self.class_weight, classes=self.classes_, y=y, **by_weight)
        self._check_formulation(X, self.penalty, self.multi_class)
        weight = self._weights(sample_weight, X)
        if self.multi_class == "crammer_singer":
            self._fit_together(X, codes, weight * of_class[codes])
        elif len(self.classes_) == 2:
            self._fit_each(X, [codes == 1], [weight * of_class[codes]])
        else:
            # LIBLINEAR's rule: the weight of a class counts where it is the one, and not where it is of the rest.
            sides = [codes == c for c in range(len(self.classes_))]
            self._fit_each(X, sides, [weight * np.where(own, w, 1.0) for own, w in zip(sides, of_class, strict=True)])
        return self

    def _fit_each(self, X: Any, sides: list[np.ndarray], weights: list[np.ndarray]) -> None:
        """A machine for each class against the rest."""
        fit = self._few_features if self.penalty == "l1" else self._all_features
        models = [fit(X, side, weight) for side, weight in zip(sides, weights, strict=True)]
        coefficients, offsets, results = zip(*models, strict=True)
        self._keep(np.array(coefficients), np.array(offsets), combine(results), max(r.n_iter for r in results))

    def _all_features(self, X, side, weight):
        machine = svm.LinearSVC(loss=self.loss, multi_class="ovo", **self._translated())
        machine._warns = False  # scikit-learn has a warning of its own
        machine.fit(X, side, weight)
        return machine.coef_[0], machine.intercept_[0], machine.result_

    def _few_features(self, X, side, weight):
        scale = float(self.intercept_scaling) if self.fit_intercept else 0.0
        used = np.flatnonzero(weight)
        gram = LinearGram(X, scale**2)
        sign = np.where(side[used], 1.0, -1.0)
        problem = soft_margin(gram, sign, self.C * weight[used], squared=True, bias=False, index=used)
        w, _, result = SparseNewton(tol=self.tol, max_iter=self.max_iter).solve(problem)
        return (w[:-1], scale * w[-1], result) if scale else (w, 0.0, result)

    def _fit_together(self, X: Any, codes: np.ndarray, weight: np.ndarray) -> None:
        """All classes in one objective."""
        machine = svm.LinearSVC(multi_class="crammer_singer", **self._translated())
        machine._warns = False  # scikit-learn has a warning of its own
        machine.fit(X, codes, weight)
        weights, offsets, result = machine.coef_, machine.intercept_, machine.result_
        if len(self.classes_) == 2:
            weights, offsets = weights[1:] - weights[:1], offsets[1:] - offsets[:1]
        self._keep(weights, offsets, result, result.n_iter)


class LinearSVR(LinearEngine, _classes.LinearSVR):
    """``sklearn.svm.LinearSVR`` with mercer's engine.

    .. math::

        \\min_{w, b} \\tfrac12 \\|(w, b / s)\\|^2
        + C \\sum_i \\omega_i \\max(0, |y_i - w \\cdot x_i - b| - \\epsilon)^q

    with q = 1 for ``loss="epsilon_insensitive"`` and q = 2 for ``"squared_epsilon_insensitive"``; s is
    `intercept_scaling`. It is a subclass of scikit-learn's class, with its parameters, attributes, errors and warnings.

    Attributes
    ----------
    result_ : SolverResult
        The certificate of the solution, which scikit-learn's class does not have.

    See Also
    --------
    mercer.svm.LinearSVR : The machine behind it, whose offset is free by default.

    Notes
    -----
    Costs as for `mercer.svm.LinearSVR`. ``dual`` and ``random_state`` change nothing.

    References
    ----------
    .. [1] C. C. Aggarwal, Data Mining: The Textbook, 2015, section 10.6.1.1.

    Examples
    --------
    >>> from mercer.compat.sklearn import LinearSVR
    >>> machine = LinearSVR(C=100.0, tol=1e-6).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> machine.predict([[5.0]]).round(3)
    array([11.])
    """

    epsilon: float

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Learn from samples with values.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features)
        y : array of shape (n,)
            Values.
        sample_weight : array of shape (n,), default=None

        Returns
        -------
        self
        """
        X, y = self._checked(X, y)
        self._check_formulation(X, "l2", "ovr")
        losses = {"epsilon_insensitive": "linear", "squared_epsilon_insensitive": "quadratic"}
        machine = svm.LinearSVR(epsilon=self.epsilon, loss=losses[self.loss], **self._translated())
        machine._warns = False  # scikit-learn has a warning of its own
        machine.fit(X, y, self._weights(sample_weight, X))
        self._keep(machine.coef_[0], machine.intercept_, machine.result_, machine.n_iter_)
        return self
