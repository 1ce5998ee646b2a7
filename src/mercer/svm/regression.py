"""Support vector regression."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.gram import Gram
from mercer.machines import KernelRegressor, Landmarks
from mercer.parameters import Choice, Number
from mercer.problems import DualProblem, epsilon_tube, nu_tube, pinball
from mercer.segments import Segments
from mercer.solvers import SolverResult, certify
from mercer.sums import inner
from mercer.svm.base import SparseRows, SupportVectorMachine, dense_row, one_or_all

__all__ = ["SVR", "NuSVR", "QuantileSVR"]


class TubeRegressor(KernelRegressor, SupportVectorMachine, ABC):
    """What support vector regressors share: outputs, tubes."""

    @abstractmethod
    def _problem(self, gram: Gram, index: np.ndarray, y: np.ndarray, weight: np.ndarray) -> DualProblem: ...

    @abstractmethod
    def _tube(self, result: SolverResult) -> tuple[float, float]:
        """Offset b and half the width of the tube."""

    def _fit_columns(self, X: Any, Y: np.ndarray, weight: np.ndarray) -> None:
        index = np.flatnonzero(weight)
        gram = self._make_gram(X, weight)
        problems = [self._problem(gram, index, y[index], weight[index]) for y in Y.T]
        results = list(self._fit_problems(problems))
        coefficients, offsets, norms, slacks, shares = [], [], [], [], []
        for k, (problem, result) in enumerate(zip(problems, results, strict=True)):
            results[k] = result = _cancelled(problem, result)
            n = len(index)
            b, width = self._tube(result)
            f = (result.gradient - problem.linear - problem.ridge * result.a)[:n] + b
            slack = dense_row(index, np.maximum(0.0, np.abs(Y[index, k] - f) - width), len(weight))
            coefficients.append(result.a[:n] - result.a[n:])
            offsets.append(b)
            norms.append(float(np.sqrt(problem.squared_norm(result.a, result.gradient))))
            slacks.append(slack)
            shares.append(inner(weight, slack > self.tol) / float(weight.sum()))
        self.norm_ = one_or_all(norms)
        self.slack_ = slacks[0] if self._single_output else np.array(slacks).T
        self.margin_errors_ = one_or_all(shares)
        parts = Segments.of_sizes([len(index)] * len(coefficients))
        rows = SparseRows(parts, np.tile(index, len(coefficients)), np.concatenate(coefficients))
        self._keep_model(X, gram, rows, offsets, results)
        self._warn_unless_solved()
        self.n_support_ = np.array([len(self.support_)])


def _cancelled(problem: DualProblem, result: SolverResult) -> SolverResult:
    """Take from both multipliers of a sample what they have in common: the function stays, W does not fall.

    At the optimum at most one of them is positive [CY eq 2.48], but without a tube, or within `tol`, a solver
    may leave both.
    """
    if problem.equality != "total" or problem.ridge.any():
        return result
    n = len(result.a) // 2
    common = np.minimum(result.a[:n], result.a[n:])
    if not common.any():
        return result
    return certify(
        problem,
        result.a - np.tile(common, 2),
        result.gradient,
        status=result.status,
        n_iter=result.n_iter,
        seconds=result.seconds,
        kernel_evaluations=result.kernel_evaluations,
        history=result.history,
        precision=result.precision,
    )


class SupportVectorRegressor(TubeRegressor, ABC):
    """What SVR, NuSVR and QuantileSVR share: their kernel is given."""


class PricedTubes(TubeRegressor, ABC):
    """Tubes of a given width, errors outside of them at the price C."""

    _parameters = SupportVectorMachine._parameters | {
        "C": Number(0, above=True),
        "epsilon": Number(0),
        "loss": Choice("linear", "quadratic"),
    }

    def _problem(self, gram, index, y, weight):
        squared = self.loss == "quadratic"
        return epsilon_tube(gram, y, self.C * weight, float(self.epsilon), squared=squared, index=index)

    def _tube(self, result):
        return result.offsets.plus, float(self.epsilon)


class SVR(PricedTubes, SupportVectorRegressor):
    """Support vector regression: errors up to epsilon are free.

    .. math::

        \\min_{w, b} \\tfrac12 \\|w\\|^2 + C \\sum_i \\omega_i \\max(0, |y_i - w \\cdot \\phi(x_i) - b| - \\epsilon)^q

    with q = 1 for ``loss="linear"`` and q = 2 for ``loss="quadratic"``. The dual is solved by sequential minimal
    optimisation, and `result_` says how far from the optimum the solution can be. Several outputs are learnt one by one
    over the same kernel values.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples, see `mercer.kernels`. "precomputed": X is the kernel matrix.
    C : float > 0, default=1.0
        Price of errors; larger fits the training data more closely.
    epsilon : float >= 0, default=0.1
        Half the width of the tube, in units of y; larger gives fewer support vectors.
    loss : {"linear", "quadratic"}, default="linear"
        Price grows with the error outside the tube or with its square.
    approximation : int >= 1, map of `mercer.features` or None, default=None
        For many samples: how many of them, the landmarks, functions are expanded over, or the `Nystroem` that chooses
        them; more is more exact. Or a `MercerMap`, `RandomFourier` or `PolynomialSketch`, in whose features functions
        are linear. None: all samples.
    device : str, torch.device or None, default=None
        Where kernel values are made and the problem is solved: "cuda", a GPU, by PyTorch, or "cpu", by the same code.
        None: the native core.
    tol : float > 0, default=1e-3
        Largest violation of the optimality conditions, in units of y; smaller is more exact and slower.
    gap_tol : float > 0 or None, default=None
        Largest relative duality gap, as a further condition.
    max_iter : int >= 1 or None, default=None
        Most solver steps; None leaves a generous limit.
    max_seconds : float > 0 or None, default=None
        Most seconds for the solver.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values; where X comes in `mercer.data.RowBlocks`, for samples, too.
    n_threads : int or None, default=None
        Threads; the result does not depend on it.
    warm_start : bool, default=False
        Start from the last solution when `fit` is called again with as many samples.
    solver : {"smo", "simple"} or Solver, default="smo"
        See `mercer.solvers`.
    checkpoint : path, Checkpoint or None, default=None
        A file that keeps a long fit while it runs, so that the same fit goes on from it after a kill; see
        `mercer.checkpoints.Checkpoint`.
    callback : callable or None, default=None
        Told the `Progress` of the solver; a true value stops it.

    Attributes
    ----------
    result_ : SolverResult
        The certificate: objectives, gap, violation, history.
    support_, support_vectors_, n_support_ : ndarray, samples, ndarray
        Numbers of the support vectors, the vectors, and how many there are.
    dual_coef_ : ndarray of shape (1, n_support) or CSR of shape (n_outputs, n_support)
        Differences of the two multipliers of each sample.
    intercept_ : ndarray of shape (n_outputs,)
        The offsets b.
    coef_ : ndarray of shape (n_outputs, n_features)
        The weights w; linear kernel only.
    kernel_ : Kernel or "precomputed"
        The kernel, with its data-dependent parameters resolved.
    norm_ : float or ndarray of shape (n_outputs,)
        ``|w|`` in feature space.
    slack_ : ndarray of shape (n,) or (n, n_outputs)
        By how much the training samples lie outside the tube.
    margin_errors_ : float or ndarray of shape (n_outputs,)
        Share of the training samples outside the tube by more than `tol`.
    sparsity_ : float
        Share of the training samples that are not support vectors.
    approximation_, sample_coef_ : map, CSR of shape (n_problems, n)
        The map (a `Nystroem` for landmarks, which are the support vectors then; without landmarks there are none, and
        `dual_coef_` are weights of the features), and the coefficients of all training samples in the dual; with an
        `approximation` only. `full_certificate` tells how far this is from no approximation.
    n_iter_ : int
        Solver steps.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when X has names that are all strings.

    See Also
    --------
    NuSVR : The tube finds its own width.
    QuantileSVR : A quantile of the values, the median for one.
    mercer.regularized.RegularizedRegressor : Any other convex loss.

    Notes
    -----
    Costs as for `SVC`. C multiplies the sum of squares, so it is half of that of [1]_, eq. 2.46.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, eqs. 2.41-2.49.
    .. [2] C. M. Bishop, Pattern Recognition and Machine Learning, 2006, section 7.1.4.

    Examples
    --------
    >>> from mercer import SVR
    >>> machine = SVR(kernel="linear", C=100.0, epsilon=0.01).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> machine.predict([[3.0]]).round(2)
    array([2.98])
    """

    _parameters = PricedTubes._parameters | {"approximation": Landmarks()}

    def __init__(
        self,
        kernel="rbf",
        *,
        C=1.0,
        epsilon=0.1,
        loss="linear",
        approximation=None,
        device=None,
        tol=1e-3,
        gap_tol=None,
        max_iter=None,
        max_seconds=None,
        memory="auto",
        n_threads=None,
        warm_start=False,
        solver="smo",
        checkpoint=None,
        callback=None,
    ):
        self.kernel = kernel
        self.C = C
        self.epsilon = epsilon
        self.loss = loss
        self.approximation = approximation
        self.device = device
        self.tol = tol
        self.gap_tol = gap_tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.memory = memory
        self.n_threads = n_threads
        self.warm_start = warm_start
        self.solver = solver
        self.checkpoint = checkpoint
        self.callback = callback


class NuSVR(SupportVectorRegressor):
    """Support vector regression with a tube that finds its own width.

    .. math::

        \\min_{w, b, \\epsilon} \\tfrac12 \\|w\\|^2 + C \\sum_i \\omega_i \\left(\\nu \\epsilon
        + \\max(0, |y_i - w \\cdot \\phi(x_i) - b| - \\epsilon)\\right)

    At most a fraction nu of the training samples lie outside the tube, at least a fraction nu are support vectors.
    Several outputs are learnt one by one over the same kernel values, each with a tube of its own.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples, see `mercer.kernels`. "precomputed": X is the kernel matrix.
    nu : float in (0, 1], default=0.5
        Larger gives a narrower tube and more support vectors.
    C : float > 0, default=1.0
        Price of errors; larger fits the training data more closely.
    approximation : int >= 1, map of `mercer.features` or None, default=None
        For many samples: how many of them, the landmarks, functions are expanded over, or the `Nystroem` that chooses
        them; more is more exact. Or a `MercerMap`, `RandomFourier` or `PolynomialSketch`, in whose features functions
        are linear. None: all samples.
    device : str, torch.device or None, default=None
        Where kernel values are made and the problem is solved: "cuda", a GPU, by PyTorch, or "cpu", by the same code.
        None: the native core.
    tol : float > 0, default=1e-3
        Largest violation of the optimality conditions, in units of y; smaller is more exact and slower.
    gap_tol : float > 0 or None, default=None
        Largest relative duality gap, as a further condition.
    max_iter : int >= 1 or None, default=None
        Most solver steps; None leaves a generous limit.
    max_seconds : float > 0 or None, default=None
        Most seconds for the solver.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values; where X comes in `mercer.data.RowBlocks`, for samples, too.
    n_threads : int or None, default=None
        Threads; the result does not depend on it.
    warm_start : bool, default=False
        Start from the last solution when `fit` is called again with as many samples.
    solver : {"smo", "simple"} or Solver, default="smo"
        See `mercer.solvers`.
    checkpoint : path, Checkpoint or None, default=None
        A file that keeps a long fit while it runs, so that the same fit goes on from it after a kill; see
        `mercer.checkpoints.Checkpoint`.
    callback : callable or None, default=None
        Told the `Progress` of the solver; a true value stops it.

    Attributes
    ----------
    result_ : SolverResult
        The certificate: objectives, gap, violation, history.
    epsilon_ : float or ndarray of shape (n_outputs,)
        Half the width of the tube.
    support_, support_vectors_, n_support_ : ndarray, samples, ndarray
        Numbers of the support vectors, the vectors, and how many there are.
    dual_coef_ : ndarray of shape (1, n_support) or CSR of shape (n_outputs, n_support)
        Differences of the two multipliers of each sample.
    intercept_ : ndarray of shape (n_outputs,)
        The offsets b.
    coef_ : ndarray of shape (n_outputs, n_features)
        The weights w; linear kernel only.
    kernel_ : Kernel or "precomputed"
        The kernel, with its data-dependent parameters resolved.
    norm_ : float or ndarray of shape (n_outputs,)
        ``|w|`` in feature space.
    slack_ : ndarray of shape (n,) or (n, n_outputs)
        By how much the training samples lie outside the tube.
    margin_errors_ : float or ndarray of shape (n_outputs,)
        Share of the training samples outside the tube by more than `tol`.
    sparsity_ : float
        Share of the training samples that are not support vectors.
    approximation_, sample_coef_ : map, CSR of shape (n_problems, n)
        The map (a `Nystroem` for landmarks, which are the support vectors then; without landmarks there are none, and
        `dual_coef_` are weights of the features), and the coefficients of all training samples in the dual; with an
        `approximation` only. `full_certificate` tells how far this is from no approximation.
    n_iter_ : int
        Solver steps.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when X has names that are all strings.

    See Also
    --------
    SVR : The width of the tube is given.

    Notes
    -----
    Costs as for `SVC`. C is that of scikit-learn, which is that of [1]_, eq. 2.53, divided by the number of samples.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, eqs. 2.50-2.53.

    Examples
    --------
    >>> from mercer import NuSVR
    >>> NuSVR(kernel="linear", C=100.0).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]).predict([[3.0]]).round(2)
    array([3.])
    """

    _parameters = SupportVectorMachine._parameters | {
        "approximation": Landmarks(),
        "nu": Number(0, 1, above=True),
        "C": Number(0, above=True),
    }

    def __init__(
        self,
        kernel="rbf",
        *,
        nu=0.5,
        C=1.0,
        approximation=None,
        device=None,
        tol=1e-3,
        gap_tol=None,
        max_iter=None,
        max_seconds=None,
        memory="auto",
        n_threads=None,
        warm_start=False,
        solver="smo",
        checkpoint=None,
        callback=None,
    ):
        self.kernel = kernel
        self.nu = nu
        self.C = C
        self.approximation = approximation
        self.device = device
        self.tol = tol
        self.gap_tol = gap_tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.memory = memory
        self.n_threads = n_threads
        self.warm_start = warm_start
        self.solver = solver
        self.checkpoint = checkpoint
        self.callback = callback

    def _problem(self, gram, index, y, weight):
        return nu_tube(gram, y, self.C * weight, self.nu, index=index)

    def _tube(self, result):
        # Free variables see b + epsilon on the upper side and b - epsilon on the lower one.
        plus, minus = result.offsets
        return 0.5 * (plus + minus), max(0.0, 0.5 * (plus - minus))

    @property
    def epsilon_(self):
        """Half the width of the tube."""
        check_is_fitted(self)
        return one_or_all([self._tube(result)[1] for result in self.result_.parts or (self.result_,)])


class QuantileSVR(SupportVectorRegressor):
    """Support vector regression of a quantile: a given share of the values lies below the function. [1]_

    .. math::

        \\min_{w, b} \\tfrac12 \\|w\\|^2 + C \\sum_i \\omega_i \\left(\\tau \\max(0, r_i)
        + (1 - \\tau) \\max(0, -r_i)\\right), \\quad r_i = y_i - w \\cdot \\phi(x_i) - b

    with tau the `quantile`: the pinball loss, whose least expectation is at that quantile. The dual is solved by
    sequential minimal optimisation, and `result_` says how far from the optimum the solution can be. Of the training
    samples at most a share tau lies below the function, and at most a share 1 - tau above it; the others are on it.
    Several outputs are learnt one by one over the same kernel values.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples, see `mercer.kernels`. "precomputed": X is the kernel matrix.
    quantile : float > 0 and < 1, default=0.5
        Which quantile; 0.5 is the median, 0.9 has nine tenths of the values below it.
    C : float > 0, default=1.0
        Price of errors; larger follows the training data more closely.
    approximation : int >= 1, map of `mercer.features` or None, default=None
        For many samples: how many of them, the landmarks, functions are expanded over, or the `Nystroem` that chooses
        them; more is more exact. Or a `MercerMap`, `RandomFourier` or `PolynomialSketch`, in whose features functions
        are linear. None: all samples.
    device : str, torch.device or None, default=None
        Where kernel values are made and the problem is solved: "cuda", a GPU, by PyTorch, or "cpu", by the same code.
        None: the native core.
    tol : float > 0, default=1e-3
        Largest violation of the optimality conditions, in units of y; smaller is more exact and slower.
    gap_tol : float > 0 or None, default=None
        Largest relative duality gap, as a further condition.
    max_iter : int >= 1 or None, default=None
        Most solver steps; None leaves a generous limit.
    max_seconds : float > 0 or None, default=None
        Most seconds for the solver.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values; where X comes in `mercer.data.RowBlocks`, for samples, too.
    n_threads : int or None, default=None
        Threads; the result does not depend on it.
    warm_start : bool, default=False
        Start from the last solution when `fit` is called again with as many samples.
    solver : {"smo", "simple"} or Solver, default="smo"
        See `mercer.solvers`.
    checkpoint : path, Checkpoint or None, default=None
        A file that keeps a long fit while it runs, so that the same fit goes on from it after a kill; see
        `mercer.checkpoints.Checkpoint`.
    callback : callable or None, default=None
        Told the `Progress` of the solver; a true value stops it.

    Attributes
    ----------
    result_ : SolverResult
        The certificate: objectives, gap, violation, history.
    support_, support_vectors_, n_support_ : ndarray, samples, ndarray
        Numbers of the support vectors, the vectors, and how many there are.
    dual_coef_ : ndarray of shape (1, n_support) or CSR of shape (n_outputs, n_support)
        Differences of the two multipliers of each sample.
    intercept_ : ndarray of shape (n_outputs,)
        The offsets b.
    coef_ : ndarray of shape (n_outputs, n_features)
        The weights w; linear kernel only.
    kernel_ : Kernel or "precomputed"
        The kernel, with its data-dependent parameters resolved.
    norm_ : float or ndarray of shape (n_outputs,)
        ``|w|`` in feature space.
    slack_ : ndarray of shape (n,) or (n, n_outputs)
        Distances of the training values from the function.
    margin_errors_ : float or ndarray of shape (n_outputs,)
        Share of the training values that are off the function by more than `tol`.
    sparsity_ : float
        Share of the training samples that are not support vectors.
    approximation_, sample_coef_ : map, CSR of shape (n_problems, n)
        The map (a `Nystroem` for landmarks, which are the support vectors then; without landmarks there are none, and
        `dual_coef_` are weights of the features), and the coefficients of all training samples in the dual; with an
        `approximation` only. `full_certificate` tells how far this is from no approximation.
    n_iter_ : int
        Solver steps.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when X has names that are all strings.

    See Also
    --------
    SVR : The middle of the values, but for errors that do not matter.
    mercer.regularized.RegularizedRegressor : The pinball loss among others, and other penalties.

    Notes
    -----
    Costs as for `SVC`. Nearly all samples are support vectors: only those that the function meets exactly can have a
    multiplier between its bounds, and no value is near enough to count for nothing. `score` is the R^2 of scikit-learn;
    ``sklearn.metrics.d2_pinball_score`` is the score that this machine is made for. Functions for several quantiles are
    learnt on their own, and can cross where there are few samples.

    References
    ----------
    .. [1] I. Takeuchi, Q. V. Le, T. D. Sears, A. J. Smola, Nonparametric quantile estimation, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import QuantileSVR
    >>> X = np.zeros((5, 1))
    >>> y = [1.0, 2.0, 3.0, 4.0, 100.0]
    >>> QuantileSVR().fit(X, y).predict([[0.0]]), QuantileSVR(quantile=0.3).fit(X, y).predict([[0.0]])
    (array([3.]), array([2.]))
    """

    _parameters = SupportVectorMachine._parameters | {
        "approximation": Landmarks(),
        "quantile": Number(0, 1, above=True, below=True),
        "C": Number(0, above=True),
    }

    def __init__(
        self,
        kernel="rbf",
        *,
        quantile=0.5,
        C=1.0,
        approximation=None,
        device=None,
        tol=1e-3,
        gap_tol=None,
        max_iter=None,
        max_seconds=None,
        memory="auto",
        n_threads=None,
        warm_start=False,
        solver="smo",
        checkpoint=None,
        callback=None,
    ):
        self.kernel = kernel
        self.quantile = quantile
        self.C = C
        self.approximation = approximation
        self.device = device
        self.tol = tol
        self.gap_tol = gap_tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.memory = memory
        self.n_threads = n_threads
        self.warm_start = warm_start
        self.solver = solver
        self.checkpoint = checkpoint
        self.callback = callback

    def _problem(self, gram, index, y, weight):
        return pinball(gram, y, self.C * weight, float(self.quantile), index=index)

    def _tube(self, result):
        return result.offsets.plus, 0.0
