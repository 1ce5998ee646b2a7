"""The representer theorem as estimators."""

from typing import Any, ClassVar

import numpy as np

from mercer.gram import Gram
from mercer.gram.checks import require_definite
from mercer.gram.memory import memory_budget
from mercer.kernels.samples import n_samples
from mercer.machines import ClassWeight, KernelMachine, KernelRegressor, WeightedClassifier
from mercer.parameters import Choice, Number
from mercer.problems import RegularizedProblem
from mercer.problems.losses import as_loss
from mercer.problems.penalties import as_penalty
from mercer.solvers import KernelNewton, RegularizedResult
from mercer.solvers.base import summary, warn_unless_solved

__all__ = ["RegularizedClassifier", "RegularizedMachine", "RegularizedRegressor"]


class RegularizedMachine(KernelMachine):
    """Losses and a penalty on the norm: what both machines share.

    See Also
    --------
    RegularizedClassifier : For classes.
    RegularizedRegressor : For values.
    """

    _parameters: ClassVar[dict[str, Any]] = {
        "C": Number(0, above=True),
        "fit_intercept": Choice(True, False),
        "tol": Number(0, above=True),
        "max_iter": Number(1, integer=True, none=True),
    }

    loss: Any
    penalty: Any
    result_: RegularizedResult

    def set_params(self, **params):
        """Set parameters, those of kernel, loss and penalty as ``kernel__name``, ``loss__name``, ``penalty__name``.

        What was given by its name becomes an object first.
        """
        for name, read in (("loss", as_loss), ("penalty", as_penalty)):
            given = params.get(name, getattr(self, name))
            if isinstance(given, str) and any(key.startswith(f"{name}__") for key in params):
                params = {name: read(given), **{key: value for key, value in params.items() if key != name}}
        return super().set_params(**params)

    def _check_all(self) -> None:
        super()._check_all()
        as_loss(self.loss)
        as_penalty(self.penalty)

    def _learn(self, X: Any, weight: np.ndarray, cost: np.ndarray, targets: np.ndarray) -> None:
        """A function for every column of the targets, from samples with weights and prices."""
        index = np.flatnonzero(weight)
        loss, penalty, bias = as_loss(self.loss), as_penalty(self.penalty), bool(self.fit_intercept)
        solver = KernelNewton(self.tol, self.max_iter)
        K = self._matrix(self._make_gram(X, weight), index)
        results = [solver.solve(RegularizedProblem(K, y, cost[index], loss, penalty, bias)) for y in targets[index].T]
        self._keep_results(X, index, K, results)

    def _matrix(self, gram: Gram, index: np.ndarray) -> np.ndarray:
        """The kernel values of the samples that take part."""
        n, budget = len(index), memory_budget(self.memory)
        if 8 * n**2 > budget:
            raise MemoryError(
                f"{type(self).__name__} needs the whole kernel matrix, {8 * n**2 / 2**20:.3g} megabytes for n = {n}; "
                f"memory={self.memory!r} allows {budget / 2**20:.3g}. Raise memory, or take fewer samples."
            )
        require_definite(gram, type(self).__name__)
        return gram.square(index)

    def _keep_results(self, X: Any, index: np.ndarray, K: np.ndarray, results: list[RegularizedResult]) -> None:
        """The model, its certificate, and a warning if there is none."""
        coefficients = np.zeros((len(results), n_samples(X)))
        coefficients[:, index] = [result.a for result in results]
        self._keep_expansion(X, coefficients, [result.offset for result in results])
        norms = np.sqrt([max(0.0, float(r.a @ K @ r.a)) for r in results])
        self.norm_ = float(norms[0]) if len(norms) == 1 else norms
        self.result_ = results[0]
        if len(results) > 1:
            self.result_ = RegularizedResult(**vars(summary(results)), parts=tuple(results))
        self.n_iter_ = self.result_.n_iter
        warn_unless_solved(self.result_, type(self).__name__)


class RegularizedClassifier(WeightedClassifier, RegularizedMachine):
    """A classifier with any convex loss and any penalty on the norm: the representer theorem as an estimator. [1]_

    .. math::

        \\min_{w, b} \\Omega(\\|w\\|) + C \\sum_i \\omega_i L(w \\cdot \\phi(x_i) + b, y_i), \\quad y_i = \\pm 1

    Whatever the loss L and the penalty, if it rises, the best w is a combination of the samples [1]_, and Newton's
    method finds it over their coefficients. `result_` proves how good it is, for losses of your own, too. With the
    hinge loss it is `SVC`, with the squared error a least squares machine, with the logistic loss logistic regression.
    Several classes are learnt one against the rest.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples, see `mercer.kernels`; positive semi-definite. "precomputed": X is the kernel matrix.
    loss : str or Loss, default="hinge"
        "hinge", "squared_hinge", "logistic", "squared", another name of `mercer.regularized`, one of its losses, or any
        object with functions ``value(f, y)`` and ``derivative(f, y)`` of arrays, convex in f and never negative.
    penalty : {"squared_norm", "norm"} or Penalty, default="squared_norm"
        Half the squared norm, the norm itself, or any convex function of it that rises.
    C : float > 0, default=1.0
        Price of the losses; larger fits the training data more closely.
    fit_intercept : bool, default=True
        Whether there is an offset b, which is not penalised.
    class_weight : None, "balanced" or dict, default=None
        Weights of the classes; they multiply C.
    tol : float > 0, default=1e-8
        Largest relative duality gap.
    max_iter : int >= 1 or None, default=None
        Most Newton steps; None means 1000.
    memory : float > 0 or "auto", default="auto"
        Megabytes that the kernel matrix may take.
    n_threads : int or None, default=None
        Threads for kernel values.

    Attributes
    ----------
    result_ : RegularizedResult
        The certificate: objective, bound, gap, history; of several classes their sum, with `parts`.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    support_, support_vectors_ : ndarray, samples
        Numbers of the training samples that have coefficients, and the samples.
    dual_coef_ : ndarray of shape (n_functions, n_support)
        Their coefficients; one function for two classes, one per class for more.
    intercept_ : ndarray of shape (n_functions,)
        The offsets b.
    coef_ : ndarray of shape (n_functions, n_features)
        The weights w; linear kernel only.
    kernel_ : Kernel or "precomputed"
        The kernel, with its data-dependent parameters resolved.
    norm_ : float or ndarray of shape (n_functions,)
        Norm of w in feature space.
    n_iter_ : int
        Newton steps.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when X has names that are all strings.

    See Also
    --------
    mercer.svm.SVC : The hinge loss, for many samples.
    RegularizedRegressor : The same for values.

    Notes
    -----
    A Newton step takes O(n m^2) for m samples with a curved loss: all of them for smooth losses, those near a kink for
    the others. Some 5 to 50 steps are usual; losses that are given by value and derivative alone take more time each.
    Memory O(n^2). By LAPACK: results agree up to the gap for any number of threads and any order of the samples.

    References
    ----------
    .. [1] J.-P. Vert, K. Tsuda, B. Schölkopf, A primer on kernel methods, 2004, eqs. 1.13, 1.19-1.20.
    .. [2] C. C. Aggarwal, Data Mining: The Textbook, 2015, section 10.6.2.

    Examples
    --------
    >>> from mercer.regularized import Hinge, RegularizedClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> machine = RegularizedClassifier("linear", loss=Hinge(power=1.5), C=10.0).fit(X, y)
    >>> machine.predict([[0.5], [2.5]]), machine.result_.status
    (array([0, 1]), 'solved')
    """

    _parameters = RegularizedMachine._parameters | {"class_weight": ClassWeight()}

    def __init__(
        self,
        kernel="rbf",
        *,
        loss="hinge",
        penalty="squared_norm",
        C=1.0,
        fit_intercept=True,
        class_weight=None,
        tol=1e-8,
        max_iter=None,
        memory="auto",
        n_threads=None,
    ):
        self.kernel = kernel
        self.loss = loss
        self.penalty = penalty
        self.C = C
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.n_threads = n_threads

    def _fit_classes(self, X: Any, codes: np.ndarray, weight: np.ndarray) -> None:
        self._learn(X, weight, self.C * weight * self._class_weights(codes, weight), self._signs_of(codes))


class RegularizedRegressor(KernelRegressor, RegularizedMachine):
    """Regression with any convex loss and any penalty on the norm: the representer theorem as an estimator. [1]_

    .. math::

        \\min_{w, b} \\Omega(\\|w\\|) + C \\sum_i \\omega_i L(w \\cdot \\phi(x_i) + b, y_i)

    Whatever the loss L and the penalty, if it rises, the best w is a combination of the samples [1]_, and Newton's
    method finds it over their coefficients. `result_` proves how good it is, for losses of your own, too. With the
    epsilon-insensitive losses it is `SVR`, with the squared error kernel ridge regression of alpha = 1 / (2 C), with
    the pinball loss `QuantileSVR`. Several outputs are learnt one by one over the same kernel values.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples, see `mercer.kernels`; positive semi-definite. "precomputed": X is the kernel matrix.
    loss : str or Loss, default="huber"
        "huber", "squared", "epsilon_insensitive", "squared_epsilon_insensitive", "pinball", one of the losses of
        `mercer.regularized`, or any object with functions ``value(f, y)`` and ``derivative(f, y)`` of arrays, convex in
        f and never negative.
    penalty : {"squared_norm", "norm"} or Penalty, default="squared_norm"
        Half the squared norm, the norm itself, or any convex function of it that rises.
    C : float > 0, default=1.0
        Price of the losses; larger fits the training data more closely.
    fit_intercept : bool, default=True
        Whether there is an offset b, which is not penalised.
    tol : float > 0, default=1e-8
        Largest relative duality gap.
    max_iter : int >= 1 or None, default=None
        Most Newton steps for every output; None means 1000.
    memory : float > 0 or "auto", default="auto"
        Megabytes that the kernel matrix may take.
    n_threads : int or None, default=None
        Threads for kernel values.

    Attributes
    ----------
    result_ : RegularizedResult
        The certificate: objective, bound, gap, history; of several outputs their sum, with `parts`.
    support_, support_vectors_ : ndarray, samples
        Numbers of the training samples that have coefficients, and the samples.
    dual_coef_ : ndarray of shape (n_outputs, n_support)
        Their coefficients.
    intercept_ : ndarray of shape (n_outputs,)
        The offsets b.
    coef_ : ndarray of shape (n_outputs, n_features)
        The weights w; linear kernel only.
    kernel_ : Kernel or "precomputed"
        The kernel, with its data-dependent parameters resolved.
    norm_ : float or ndarray of shape (n_outputs,)
        Norm of w in feature space.
    n_iter_ : int
        Newton steps.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when X has names that are all strings.

    See Also
    --------
    mercer.svm.SVR, mercer.svm.QuantileSVR : For many samples.
    RegularizedClassifier : The same for classes, with what it costs.

    References
    ----------
    .. [1] J.-P. Vert, K. Tsuda, B. Schölkopf, A primer on kernel methods, 2004, eqs. 1.13, 1.19-1.20.

    Examples
    --------
    >>> from mercer.regularized import Huber, RegularizedRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [0.0, 1.0, 2.0, 3.0, 100.0]
    >>> machine = RegularizedRegressor("linear", loss=Huber(delta=0.1), C=100.0).fit(X, y)
    >>> machine.predict([[5.0]]).round(1), machine.result_.status
    (array([5.2]), 'solved')
    """

    def __init__(
        self,
        kernel="rbf",
        *,
        loss="huber",
        penalty="squared_norm",
        C=1.0,
        fit_intercept=True,
        tol=1e-8,
        max_iter=None,
        memory="auto",
        n_threads=None,
    ):
        self.kernel = kernel
        self.loss = loss
        self.penalty = penalty
        self.C = C
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.n_threads = n_threads

    def _check_all(self) -> None:
        super()._check_all()
        if as_loss(self.loss).classes:
            raise ValueError(f"loss must be one of values for regression, got {self.loss!r}, which is one of classes.")

    def _fit_columns(self, X: Any, Y: np.ndarray, weight: np.ndarray) -> None:
        self._learn(X, weight, self.C * weight, Y)
