"""Kernel logistic regression."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mercer.gram import Gram
from mercer.gram.checks import require_definite
from mercer.gram.sources import stored
from mercer.machines import ClassWeight, LandmarkMachine, Landmarks, LogOddsClassifier
from mercer.parameters import Choice, Number
from mercer.problems import LogisticProblem, logistic
from mercer.solvers import LogisticNewton, LogisticResult, warn_unless_solved
from mercer.solvers.landmark_logistic import solve_landmark_logistic
from mercer.solvers.logistic import best_intercepts

__all__ = ["KernelLogisticRegression"]


class KernelLogisticRegression(LogOddsClassifier, LandmarkMachine):
    r"""Logistic regression with a kernel: classes with probabilities, and a proof of the optimum.

    .. math:: \min_{w, b} \tfrac12 \|w\|^2 + C \sum_i \omega_i \log\left(1 + e^{-y_i (w \cdot \phi(x_i) + b)}\right)

    for two classes, and for more the softmax of one function for each class,

    .. math::

        \min_{w, b} \tfrac12 \sum_k \|w_k\|^2 + C \sum_i \omega_i \left(\log \sum_k e^{f_k(x_i)} - f_{y_i}(x_i)\right),
        \qquad f_k(x) = w_k \cdot \phi(x) + b_k.

    The intercepts are not penalised. Newton's method (iteratively reweighted least squares) solves it, and `result_`
    says how far from the optimum the solution can be: the dual, over probabilities, has the entropy in place of the
    losses.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples, see `mercer.kernels`; positive semi-definite. "precomputed": X is the kernel matrix.
    C : float > 0, default=1.0
        Price of errors; larger fits the training data more closely.
    fit_intercept : bool, default=True
        Whether there are intercepts b.
    class_weight : None, "balanced" or dict, default=None
        Factors of C for the classes; "balanced": in inverse proportion to their total weights.
    approximation : int >= 1, map of `mercer.features` or None, default=None
        For many samples: how many of them, the landmarks, functions are expanded over, or the `Nystroem` that chooses
        them; more is more exact. Or a `MercerMap`, `RandomFourier` or `PolynomialSketch`, in whose features functions
        are linear. None: all samples.
    device : str, torch.device or None, default=None
        Where kernel values are made, products with them, and the matrices over landmarks: "cuda", a GPU, by PyTorch, or
        "cpu", by the same code. None: the native core.
    tol : float > 0, default=1e-6
        Largest violation of the optimality conditions, in units of probability, and largest relative gap; smaller is
        more exact.
    max_iter : int >= 1, default=100
        Most Newton steps.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values. A matrix that takes more than half of it is not kept, but computed anew for every
        product.
    n_threads : int or None, default=None
        Threads for kernel values; the linear algebra takes those of BLAS.
    checkpoint : path, Checkpoint or None, default=None
        A file that keeps a long fit while it runs, so that the same fit goes on from it after a kill; see
        `mercer.checkpoints.Checkpoint`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes; two: positive decision values speak for ``classes_[1]``.
    result_ : LogisticResult
        The certificate: objectives, gap, violation, history.
    support_, support_vectors_ : ndarray, samples
        The training samples of positive weight: none is left out of the expansion. With an `approximation`, the
        landmarks.
    dual_coef_ : ndarray of shape (n_functions, n_support)
        At the optimum, price times (target - probability) of each sample; one function for two classes, one for each
        class for more. With an `approximation`, the coefficients of the landmarks.
    approximation_, sample_coef_ : map, ndarray of shape (n_functions, n)
        The map (a `Nystroem` for landmarks, which are the support vectors then; without landmarks there are none, and
        `dual_coef_` are weights of the features), and price times (target - probability) of all training samples; with
        an `approximation` only. `full_certificate` tells how far this is from no approximation.
    intercept_ : ndarray of shape (n_functions,)
        The intercepts b; for more than two classes they sum to zero.
    coef_ : ndarray of shape (n_functions, n_features)
        The weights w; linear kernel only.
    kernel_ : Kernel or "precomputed"
        The kernel, with its data-dependent parameters resolved.
    n_iter_ : int
        Newton steps.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when X has names that are all strings.

    See Also
    --------
    GaussianProcessClassifier : Averages over functions, and finds the parameters of the kernel.
    SVC : Sparse; `Calibrated` gives its margins probabilities.
    mercer.solvers.LogisticNewton : The solver.

    Notes
    -----
    Some ten Newton steps, each of some products with the kernel matrix, O(n^2 n_functions), and the factor of a
    preconditioner of rank r = 6 sqrt(n / n_functions), or up to 1000 / n_functions for large C, O(n r^2 n_functions^2).
    Memory O(n^2) as far as `memory` allows, else O(n r). By BLAS and LAPACK: equal up to rounding for any number of
    threads.

    Decision values are log-odds (two classes) or the logarithms of the probabilities up to a constant for each sample,
    so that decisions, probabilities and predictions agree. All samples are support vectors: their coefficients are what
    is missing in their probability.

    Over m landmarks, a Newton step takes some five to thirty passes over the samples, each of which computes the n m
    kernel values and stores none of them; memory O(n n_functions + m^2 n_functions). Samples may come in blocks
    (`mercer.data.RowBlocks`).

    References
    ----------
    .. [1] C. M. Bishop, Pattern Recognition and Machine Learning, 2006, eqs. 7.47-7.48, section 4.3.
    .. [2] J. Zhu, T. Hastie, Kernel logistic regression and the import vector machine, 2005.
    .. [3] S. S. Keerthi, K. B. Duan, S. K. Shevade, A. N. Poo, A fast dual algorithm for kernel logistic regression,
       2005.

    Examples
    --------
    >>> from mercer import KernelLogisticRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"]
    >>> machine = KernelLogisticRegression(kernel="linear", C=2.0).fit(X, y)
    >>> machine.predict_proba([[0.0], [1.5]]).round(2)
    array([[0.11, 0.89],
           [0.5 , 0.5 ]])
    >>> machine.result_.status, bool(machine.result_.gap < 1e-9)
    ('solved', True)
    """

    _parameters = {  # noqa: RUF012
        "C": Number(0, above=True),
        "fit_intercept": Choice(True, False),
        "class_weight": ClassWeight(),
        "approximation": Landmarks(),
        "tol": Number(0, above=True),
        "max_iter": Number(1, integer=True),
    }

    result_: LogisticResult

    def __init__(
        self,
        kernel="rbf",
        *,
        C=1.0,
        fit_intercept=True,
        class_weight=None,
        approximation=None,
        device=None,
        tol=1e-6,
        max_iter=100,
        memory="auto",
        n_threads=None,
        checkpoint=None,
    ):
        self.kernel = kernel
        self.C = C
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.approximation = approximation
        self.device = device
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.n_threads = n_threads
        self.checkpoint = checkpoint

    def _fit_classes(self, X: Any, codes: np.ndarray, weight: np.ndarray) -> None:
        prices = self.C * weight * self._class_weights(codes, weight)
        for name in ("_targets", "_prices", "sample_coef_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        gram = self._make_gram(X, weight)
        if self.approximation is not None:
            self._fit_over_landmarks(logistic(gram, codes, prices, intercept=bool(self.fit_intercept)))
        else:
            self._fit_over_samples(X, stored(gram, self.memory), codes, prices, np.flatnonzero(weight))
        self.n_iter_ = self.result_.n_iter
        warn_unless_solved(self.result_, type(self).__name__)

    def _fit_over_samples(self, X: Any, gram: Gram, codes: np.ndarray, prices: np.ndarray, used: np.ndarray) -> None:
        require_definite(gram, type(self).__name__)
        problem = logistic(gram, codes, prices, intercept=bool(self.fit_intercept))
        self.result_ = LogisticNewton(tol=self.tol, max_iter=self.max_iter).solve_on(problem, self._bookmark())
        self._keep_expansion(X, self.result_.coefficients.T, self.result_.intercepts, support=used)

    def _fit_over_landmarks(self, problem: LogisticProblem) -> None:
        limits = {"tol": self.tol, "max_iter": self.max_iter}
        found = solve_landmark_logistic(problem, **limits, bookmark=self._bookmark())
        self.result_ = found.result
        self.intercept_ = found.result.intercepts
        self.sample_coef_ = np.ascontiguousarray(found.result.residuals.T)
        self._keep_weights(problem.gram, found.weights.T)  # type: ignore[arg-type]
        if self._mapped:
            self._targets, self._prices = problem.targets, problem.prices

    def _duals(self):
        return -np.array([self.result_.bound]), -np.array([self.result_.objective]), csr_array(self.sample_coef_)

    def _full_objectives(self, gram, F, energies):
        problem = LogisticProblem(gram, self._targets, self._prices, bool(self.fit_intercept))
        loss = problem.loss(F + best_intercepts(problem, F, self.intercept_))
        return np.array([0.5 * float(energies.sum()) + loss])
