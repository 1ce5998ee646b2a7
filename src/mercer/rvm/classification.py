"""Relevance vector classification."""

from typing import Any

import numpy as np
from scipy.special import logsumexp

from mercer.gram.designs import Design
from mercer.machines import ClassWeight, LogOddsClassifier
from mercer.parameters import Choice
from mercer.problems import SparseBayesProblem
from mercer.rvm.base import RelevanceVectorMachine

__all__ = ["RelevanceVectorClassifier"]


class RelevanceVectorClassifier(LogOddsClassifier, RelevanceVectorMachine):
    r"""Classification with few basis functions and probabilities: those that make the classes most probable.

    .. math::

        p(\text{second class} \mid x) = \sigma\left(\sum_i w_i \phi_i(x)\right), \qquad w_i \sim N(0, \alpha_i^{-1}),

    with a basis function k(x, x_i) for every training sample, and a constant; for more than two classes the softmax of
    one such function for each. The precisions maximise the evidence in Laplace's approximation about the mode of the
    weights,

    .. math::

        \max_\alpha \log p(t \mid w) + \tfrac12 \log |A| - \tfrac12 w^T A w - \tfrac12 \log |\Phi^T B \Phi + A|, \qquad
        w = \arg\max_w \log p(t \mid w) - \tfrac12 w^T A w,

    where most of the alpha are infinite: their basis functions are out of the model, and the samples of the others are
    the relevance vectors. They tend to be typical of their class, not near the boundary. There is no C to choose, and
    the kernel need not be positive semi-definite.

    Parameters
    ----------
    kernel : Kernel, str, callable, list of these or "precomputed", default="rbf"
        The basis functions, see `mercer.kernels`. A list: those of all of them, such as RBF of several widths.
        "precomputed": X is the kernel matrix.
    basis : {"kernel", "precomputed"}, default="kernel"
        "precomputed": X is a design matrix, its columns are the basis functions, whatever they are.
    fit_intercept : bool, default=True
        Whether the constant is a basis function.
    candidates : None, int or array of int, default=None
        Which samples may be relevance vectors: all, so many drawn at random, or those at these positions. With
        ``basis="precomputed"``: which columns.
    multi_class : {"softmax", "ovr"}, default="softmax"
        For more than two classes: one joint model, or one for each class against the rest, which is quicker.
    probabilities : {"averaged", "mode"}, default="averaged"
        "averaged": over the posterior of the weights, by the approximation of the probit [B eq 4.153], for the softmax
        that of every pair of classes: nearer to equal where the model knows little. "mode": those of the most probable
        weights.
    class_weight : None, "balanced" or dict, default=None
        Factors of the weights of the samples by class; "balanced": in inverse proportion to their total weights.
    alpha_prior : None or (shape, rate), default=None
        Gamma prior of the precisions of the weights; the posterior density of their logarithms is maximised. A basis
        function that is out of the model is not counted.
    algorithm : {"sequential", "reestimation", "em"}, default="sequential"
        How the evidence is maximised, see `mercer.solvers.SparseBayes`. The last two begin with all basis functions.
    gamma : None or "evidence", default=None
        "evidence": the parameters of the kernel, such as gamma of RBF, are where the evidence is largest, as far as a
        descent from their values finds. Of few samples with many features that may be too narrow a kernel.
    warm_start : bool, default=False
        Whether to begin with the model of the last fit, if there is one of as many basis functions.
    tol : float > 0, default=0.01
        The least growth of the log evidence that is worth a step.
    max_iter : int >= 1, default=100000
        Most steps.
    max_seconds : float > 0 or None, default=None
        Most seconds, for all functions and widths together.
    callback : callable or None, default=None
        Told about the progress (`mercer.solvers.Progress`); it stops the fit by returning True.
    random_state : int, RandomState or None, default=0
        Draws the candidates when `candidates` is a number.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values. A design matrix that takes more than half of it is computed anew for every look,
        and fewer basis functions are worked on at a time, which may lead to another maximum.
    n_threads : int or None, default=None
        Threads for kernel values, and for looks at all basis functions; the result does not depend on it. BLAS has one
        thread, except for large problems of the algorithms that begin with all basis functions.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes; two: positive decision values speak for ``classes_[1]``.
    relevance_ : ndarray of shape (n_relevance,)
        Positions of the relevance vectors among the training samples (``basis="precomputed"``: of the columns).
    relevance_vectors_ : samples
        The relevance vectors.
    relevance_kernel_ : ndarray of shape (n_relevance,)
        Which kernel of a list each one belongs to.
    alpha_, mean_ : ndarray of shape (n_weights,)
        Precisions and modes of the weights in the model: function by function, the constant first if the function has
        it.
    sigma_ : ndarray of shape (n_weights, n_weights)
        Their covariance in Laplace's approximation.
    functions_ : ndarray of shape (n_weights,)
        Which function each weight belongs to; for more than two classes, which class.
    log_evidence_ : float
        The logarithm of the evidence; of one model for each class, the sum.
    result_ : SparseBayesResult, or a list of one for each class
        Status ("local": the problem is not convex), how far from stationary, jitter, history of the evidence.
    dual_coef_ : ndarray of shape (n_functions, n_relevance)
        The modes, zero where a function does not have the vector.
    intercept_ : ndarray of shape (n_functions,)
        The constants; zero where they are out of the model.
    support_, support_vectors_ : ndarray, samples
        Other names of the relevance vectors.
    kernel_ : Kernel, list of Kernel or "precomputed"
        The kernel, with its data-dependent parameters resolved.
    n_iter_ : int
        Steps.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when X has names that are all strings.

    See Also
    --------
    KernelLogisticRegression : Convex, with one precision for all and no sparsity.
    GaussianProcessClassifier : Not sparse.
    SVC : Sparse by its loss, convex; `Calibrated` gives its margins probabilities.

    Notes
    -----
    O(n^2 r) time for n samples and r relevance vectors and each of some tens of looks at all candidates, times the
    number of classes; with "softmax" the linear algebra is that of all r weights of all classes, O(r^3). Memory O(n^2)
    as far as `memory` allows, else O(n (r + 512)). Prediction O(r) for each sample.

    Decision values are the log-odds of the probabilities (two classes) or their logarithms up to a constant, so that
    decisions, probabilities and predictions agree.

    The evidence has many local maxima; the order of the samples does not matter beyond rounding, which may decide
    between basis functions that are equally good. By BLAS and LAPACK: equal up to rounding for any number of threads.

    References
    ----------
    .. [1] C. M. Bishop, Pattern Recognition and Machine Learning, 2006, section 7.2.3. (Eq. 7.119 should be
       C = B^-1 + Phi A^-1 Phi'.)
    .. [2] M. E. Tipping, Sparse Bayesian learning and the relevance vector machine, 2001.
    .. [3] M. E. Tipping, A. C. Faul, Fast marginal likelihood maximisation for sparse Bayesian models, 2003.
    .. [4] D. J. C. MacKay, The evidence framework applied to classification networks, 1992.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import RelevanceVectorClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = X[:, 0] ** 2 + X[:, 1] ** 2 > 1.4
    >>> machine = RelevanceVectorClassifier().fit(X, y)
    >>> len(machine.relevance_) < 10, machine.score(X, y) > 0.95
    (True, True)
    >>> machine.predict_proba([[0.0, 0.0]])[0, 1] < 0.1
    np.True_
    """

    _parameters = {  # noqa: RUF012
        **RelevanceVectorMachine._parameters,
        "multi_class": Choice("softmax", "ovr"),
        "probabilities": Choice("averaged", "mode"),
        "class_weight": ClassWeight(),
    }

    def __init__(
        self,
        kernel="rbf",
        *,
        basis="kernel",
        fit_intercept=True,
        candidates=None,
        multi_class="softmax",
        probabilities="averaged",
        class_weight=None,
        alpha_prior=None,
        algorithm="sequential",
        gamma=None,
        warm_start=False,
        tol=0.01,
        max_iter=100_000,
        max_seconds=None,
        callback=None,
        random_state=0,
        memory="auto",
        n_threads=None,
    ):
        self.kernel = kernel
        self.basis = basis
        self.fit_intercept = fit_intercept
        self.candidates = candidates
        self.multi_class = multi_class
        self.probabilities = probabilities
        self.class_weight = class_weight
        self.alpha_prior = alpha_prior
        self.algorithm = algorithm
        self.gamma = gamma
        self.warm_start = warm_start
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.callback = callback
        self.random_state = random_state
        self.memory = memory
        self.n_threads = n_threads

    def _fit_classes(self, X: Any, codes: np.ndarray, weight: np.ndarray) -> None:
        used = np.flatnonzero(weight)
        counted = (weight * self._class_weights(codes, weight))[used]
        prior = self._prior_of(self.alpha_prior)
        members = (codes[used, np.newaxis] == np.arange(len(self.classes_))).astype(np.float64)

        def problems(design: Design) -> list[SparseBayesProblem]:
            if len(self.classes_) > 2 and self.multi_class == "softmax":
                return [SparseBayesProblem(design, members, counted, "softmax", precision_prior=prior)]
            columns = members[:, 1:] if len(self.classes_) == 2 else members
            return [
                SparseBayesProblem(design, column[:, np.newaxis], counted, "logistic", precision_prior=prior)
                for column in columns.T
            ]

        self._learn(X, weight, problems)

    def _raw_decision(self, X: Any) -> np.ndarray:
        values = super()._raw_decision(X)
        averaged = self.probabilities == "averaged"
        if values.shape[1] > 1 and self.multi_class == "softmax":
            return _log_averaged_softmax(values, self._covariances(X)) if averaged else values
        if averaged:
            values = values / np.sqrt(1.0 + np.pi / 8 * self._variances(X))  # [B eqs 4.153-4.154]
        # Of several functions, the logarithms of the probabilities against the rest.
        return values if values.shape[1] == 1 else -np.logaddexp(0.0, -values)


def _log_averaged_softmax(mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Logarithms of the softmax of Gaussian functions, averaged over them, up to a constant of the sample.

    Of a class, -log sum_j exp(-d_j / sqrt(1 + pi/8 v_j)), where d_j and v_j are mean and variance of the difference of
    its function and that of class j: for two classes the approximation by the probit.
    """
    variance = np.einsum("ikk->ik", covariance)
    spread = np.maximum(variance[:, :, np.newaxis] + variance[:, np.newaxis] - 2 * covariance, 0.0)
    differences = mean[:, :, np.newaxis] - mean[:, np.newaxis]
    return -logsumexp(-differences / np.sqrt(1.0 + np.pi / 8 * spread), axis=2)
