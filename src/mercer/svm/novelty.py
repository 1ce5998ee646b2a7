"""Novelty detection."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.data import RowBlocks
from mercer.gram import Gram
from mercer.machines import KernelDetector, Landmarks
from mercer.parameters import Number
from mercer.problems import DualProblem, enclosing_ball, one_class
from mercer.segments import Segments
from mercer.solvers import SolverResult
from mercer.sums import inner
from mercer.svm.base import SparseRows, SupportVectorMachine, dense_row

__all__ = ["SVDD", "OneClassSVM"]

# Samples on the boundary are inside, whatever the rounding of their decision value.
ROUNDING = 1e-10


class BoundaryDetector(KernelDetector, SupportVectorMachine, ABC):
    """What novelty detectors share: a problem, and a boundary from its solution."""

    _parameters = SupportVectorMachine._parameters | {"nu": Number(0, 1, above=True)}

    @abstractmethod
    def _problem(self, gram: Gram, weight: np.ndarray, index: np.ndarray) -> DualProblem: ...

    @abstractmethod
    def _set_model(self, problem: DualProblem, result: SolverResult) -> tuple[np.ndarray, float, np.ndarray]:
        """Set the machine's own attributes; coefficients, intercept and decision values of the training samples."""

    def _fit_samples(self, X: Any, weight: np.ndarray) -> None:
        index = np.flatnonzero(weight)
        gram = self._make_gram(X, weight)
        problem = self._problem(gram, weight[index], index)
        (result,) = self._fit_problems([problem])
        values, intercept, decision = self._set_model(problem, result)
        self.slack_ = dense_row(index, np.maximum(0.0, -decision), len(weight))
        self.margin_errors_ = inner(weight, self.slack_ > self._resolution()) / float(weight.sum())
        rows = SparseRows(Segments.of_sizes([len(index)]), index, values)
        self._keep_model(X, gram, rows, [intercept], [result])
        self._warn_unless_solved()
        self.n_support_ = np.array([len(self.support_)])

    def _decision_from(self, values: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
        """Decision values from those of ``K @ dual_coef_ + intercept_`` and from k(x, x)."""
        return values

    def _resolution(self) -> float:
        """What `tol` allows a decision value to be off."""
        return self.tol


class NoveltyDetector(BoundaryDetector, ABC):
    """What OneClassSVM and SVDD share: their kernel is given."""

    _parameters = BoundaryDetector._parameters | {"approximation": Landmarks()}

    def __init__(
        self,
        kernel="rbf",
        *,
        nu=0.5,
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


class Hyperplane(BoundaryDetector, ABC):
    """The boundary is a hyperplane between the data and the origin of feature space."""

    def _problem(self, gram, weight, index):
        return one_class(gram, self.nu, weight, index=index)

    def _set_model(self, problem, result):
        rho = -result.offsets.plus
        self.offset_ = rho - ROUNDING * abs(rho)
        self.norm_ = float(np.sqrt(problem.squared_norm(result.a, result.gradient)))
        self.margin_ = self.offset_ / self.norm_ if self.norm_ > 0 else 0.0
        return result.a, -self.offset_, result.gradient - self.offset_

    def distance(self, X):
        """Signed distance to the hyperplane in feature space.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self)
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.decision_function(X) / self.norm_


class OneClassSVM(Hyperplane, NoveltyDetector):
    """Novelty detection by a hyperplane between the data and the origin of feature space.

    .. math::

        \\min_{w, \\rho, \\xi} \\tfrac12 \\|w\\|^2 - \\nu \\rho \\sum_i \\omega_i + \\sum_i \\omega_i \\xi_i
        \\quad\\text{s.t.}\\quad w \\cdot \\phi(x_i) \\ge \\rho - \\xi_i, \\quad \\xi_i \\ge 0.

    At most a fraction nu of the training samples lie outside, at least a fraction nu are support vectors.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples, see `mercer.kernels`. "precomputed": X is the kernel matrix.
    nu : float in (0, 1], default=0.5
        Larger calls more samples novel.
    approximation : int >= 1, map of `mercer.features` or None, default=None
        For many samples: how many of them, the landmarks, functions are expanded over, or the `Nystroem` that chooses
        them; more is more exact. Or a `MercerMap`, `RandomFourier` or `PolynomialSketch`, in whose features functions
        are linear. None: all samples.
    device : str, torch.device or None, default=None
        Where kernel values are made and the problem is solved: "cuda", a GPU, by PyTorch, or "cpu", by the same code.
        None: the native core.
    tol : float > 0, default=1e-3
        Largest violation of the optimality conditions; smaller is more exact and slower.
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
    offset_ : float
        rho; ``decision_function = score_samples - offset_``.
    support_, support_vectors_, n_support_ : ndarray, samples, ndarray
        Numbers of the support vectors, the vectors, and how many there are.
    dual_coef_ : ndarray of shape (1, n_support)
        The multipliers.
    intercept_ : ndarray of shape (1,)
        -rho.
    coef_ : ndarray of shape (1, n_features)
        The weights w; linear kernel only.
    kernel_ : Kernel or "precomputed"
        The kernel, with its data-dependent parameters resolved.
    norm_, margin_ : float
        ``|w|``, and the distance ``rho / |w|`` of the hyperplane from the origin.
    slack_ : ndarray of shape (n,)
        The errors xi of the training samples.
    margin_errors_ : float
        Share of the training samples with an error above `tol`.
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
    SVDD : A ball around the data; the same for kernels with a constant diagonal.

    Notes
    -----
    Costs as for `SVC`.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 2.4.
    .. [2] C. M. Bishop, Pattern Recognition and Machine Learning, 2006, section 7.1.3.
    .. [3] B. Schölkopf et al., Estimating the support of a high-dimensional distribution, 2001.

    Examples
    --------
    >>> from mercer import OneClassSVM
    >>> OneClassSVM(nu=0.5).fit([[0.0], [0.1], [0.2], [5.0]]).predict([[0.1], [9.0]])
    array([ 1, -1])
    """


class SVDD(NoveltyDetector):
    """Support vector data description: the smallest ball around most of the data.

    .. math::

        \\min_{R, c, \\xi} R^2 + \\frac{1}{\\nu \\sum_i \\omega_i} \\sum_i \\omega_i \\xi_i \\quad\\text{s.t.}\\quad
        \\|\\phi(x_i) - c\\|^2 \\le R^2 + \\xi_i, \\quad \\xi_i \\ge 0.

    At most a fraction nu of the training samples lie outside the ball.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples, see `mercer.kernels`. "precomputed": X is the kernel matrix; new samples are then
        taken to have ``k(x, x) = diagonal`` as given to `score_samples`.
    nu : float in (0, 1], default=0.5
        Larger calls more samples novel.
    approximation : int >= 1, map of `mercer.features` or None, default=None
        For many samples: how many of them, the landmarks, functions are expanded over, or the `Nystroem` that chooses
        them; more is more exact. Or a `MercerMap`, `RandomFourier` or `PolynomialSketch`, in whose features functions
        are linear. None: all samples.
    device : str, torch.device or None, default=None
        Where kernel values are made and the problem is solved: "cuda", a GPU, by PyTorch, or "cpu", by the same code.
        None: the native core.
    tol : float > 0, default=1e-3
        Largest violation of the optimality conditions; smaller is more exact and slower.
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
        The certificate: objectives, gap, violation, history; in the scale of `mercer.problems.enclosing_ball`.
    radius_ : float
        R.
    offset_ : float
        -R^2; ``decision_function = score_samples - offset_``.
    support_, support_vectors_, n_support_ : ndarray, samples, ndarray
        Numbers of the support vectors, the vectors, and how many there are.
    dual_coef_ : ndarray of shape (1, n_support)
        Twice the weights of the centre, ``c = sum_i alpha_i phi(x_i)``.
    intercept_ : ndarray of shape (1,)
        ``R^2 - |c|^2``; the decision value is ``K(X, support_vectors_) @ dual_coef_.T + intercept_ - k(x, x)``.
    kernel_ : Kernel or "precomputed"
        The kernel, with its data-dependent parameters resolved.
    norm_ : float
        ``|c|`` in feature space.
    slack_ : ndarray of shape (n,)
        By how much the squared distances of the training samples exceed R^2.
    margin_errors_ : float
        Share of the training samples outside the ball by more than `tol`.
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
    OneClassSVM : A hyperplane; the same for kernels with a constant diagonal.

    Notes
    -----
    Costs as for `SVC`.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, eqs. 2.12-2.16.
    .. [2] D. Tax, R. Duin, Support vector data description, Machine Learning 54, 2004.

    Examples
    --------
    >>> from mercer import SVDD
    >>> machine = SVDD(kernel="linear", nu=0.25).fit([[0.0], [2.0], [4.0], [3.0]])
    >>> machine.predict([[1.0], [9.0]]), round(machine.radius_, 3)
    (array([ 1, -1]), 2.0)
    """

    def _problem(self, gram, weight, index):
        return enclosing_ball(gram, self.nu, weight, index=index)

    def _set_model(self, problem, result):
        # In the scale of the problem tau = s'a: free variables have b = tau K_ii / 2 - f_i, and the squared distance
        # to the centre is K_ii - 2 f_i / tau + |c|^2 = 2 b / tau + |c|^2. [CY eq 2.16]
        tau = float(problem.total)
        squared_centre = problem.squared_norm(result.a, result.gradient) / tau**2
        squared_radius = max(0.0, 2.0 * result.offsets.plus / tau + squared_centre) * (1.0 + ROUNDING)
        self.norm_ = float(np.sqrt(squared_centre))
        self.radius_ = float(np.sqrt(squared_radius))
        self.offset_ = -squared_radius
        self._tau = tau
        diagonal = -2.0 * problem.linear / tau
        f = result.gradient - problem.linear
        decision = squared_radius - (diagonal - 2.0 * f / tau + squared_centre)
        self._diagonal = float(diagonal[0]) if np.ptp(diagonal) <= 1e-9 * abs(diagonal[0]) else None
        return 2.0 * result.a / tau, squared_radius - squared_centre, decision

    def _dual_scale(self):
        return 2.0 / self._tau

    def _decision_from(self, values, diagonal):
        return values - diagonal

    def _resolution(self):
        return 2.0 * self.tol / self._tau

    def score_samples(self, X, diagonal=None):
        """Minus the squared distance to the centre of the ball; larger is more usual.

        Parameters
        ----------
        X : n samples
        diagonal : array of shape (n,), default=None
            ``k(x, x)`` of the samples; needed for a precomputed kernel whose diagonal is not constant.

        Returns
        -------
        ndarray of shape (n,)
        """
        if isinstance(X, RowBlocks):
            return np.concatenate([self.score_samples(block) for _, block in X])
        toward_centre = self._raw_decision(X)[:, 0] - self.intercept_[0]
        if diagonal is None:
            diagonal = self._diagonal if self._precomputed else self._diag_of_new(X)
        if diagonal is None:
            raise ValueError(
                "The diagonal of the precomputed training matrix is not constant, so k(x, x) of new samples must be "
                "given: score_samples(K, diagonal=...)."
            )
        squared_centre = -self.offset_ - self.intercept_[0]
        return toward_centre - np.asarray(diagonal, dtype=np.float64) - squared_centre
