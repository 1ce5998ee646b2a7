"""Relevance vector regression."""

from typing import Any

import numpy as np

from mercer.gram.designs import Design
from mercer.kernels.samples import n_samples, take
from mercer.machines import KernelRegressor
from mercer.parameters import Choice, Number
from mercer.problems import SparseBayesProblem
from mercer.rvm.base import Prior, RelevanceVectorMachine

__all__ = ["RelevanceVectorRegressor"]


class RelevanceVectorRegressor(KernelRegressor, RelevanceVectorMachine):
    r"""Regression with few basis functions and error bars: those that make the values most probable.

    .. math::

        t = \sum_i w_i \phi_i(x) + \varepsilon, \qquad w_i \sim N(0, \alpha_i^{-1}), \qquad
        \varepsilon \sim N(0, \beta^{-1}),

    with a basis function k(x, x_i) for every training sample, and a constant. The precisions maximise the evidence

    .. math::

        \max_{\alpha, \beta} \log N(t \mid 0, C), \qquad C = \beta^{-1} I + \Phi A^{-1} \Phi^T,

    where most of the alpha are infinite: their basis functions are out of the model, and the samples of the others are
    the relevance vectors. There is no C and no epsilon to choose, and the kernel need not be positive semi-definite.

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
    noise : float > 0 or None, default=None
        The variance of the noise, at least 1e-14 of the square of the largest value; None: learnt.
    alpha_prior, noise_prior : None or (shape, rate), default=None
        Gamma priors of the precisions of the weights and of the noise; the posterior density of their logarithms is
        maximised. A basis function that is out of the model is not counted.
    algorithm : {"sequential", "reestimation", "em"}, default="sequential"
        How the evidence is maximised, see `mercer.solvers.SparseBayes`. The last two begin with all basis functions.
    variance : {"plain", "augmented"}, default="plain"
        "plain": that of the model, which shrinks to the noise away from the relevance vectors. "augmented": every new
        sample brings a basis function of its own, so that the spread grows away from the data; mean and spread are of
        that model, and need all training samples.
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
    relevance_ : ndarray of shape (n_relevance,)
        Positions of the relevance vectors among the training samples (``basis="precomputed"``: of the columns).
    relevance_vectors_ : samples
        The relevance vectors.
    relevance_kernel_ : ndarray of shape (n_relevance,)
        Which kernel of a list each one belongs to.
    alpha_, mean_ : ndarray of shape (n_weights,)
        Precisions and posterior means of the weights in the model: function by function, the constant first if the
        model has it.
    sigma_ : ndarray of shape (n_weights, n_weights)
        Their posterior covariance.
    functions_ : ndarray of shape (n_weights,)
        Which output each weight belongs to.
    noise_variance_ : float or ndarray of shape (n_outputs,)
        The variance of the noise.
    log_evidence_ : float
        The logarithm of the evidence, the sum over the outputs.
    result_ : SparseBayesResult, or a list of one for each output
        Status ("local": the problem is not convex), how far from stationary, jitter, history of the evidence.
    dual_coef_ : ndarray of shape (n_outputs, n_relevance)
        The means, zero where an output does not have the vector.
    intercept_ : ndarray of shape (n_outputs,)
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
    GaussianProcessRegressor : Not sparse; its spread grows away from the data by itself.
    SVR : Sparse by its loss, convex, without error bars.
    KernelRidge : The same model with one precision for all.

    Notes
    -----
    O(n^2 r) time for n samples and r relevance vectors and each of some tens of looks at all candidates; memory O(n^2)
    as far as `memory` allows, else O(n (r + 512)). Prediction O(r) for each sample.

    The noise that is learnt has a variance of 1e-10 of the mean square of the values at least (``result_.at_limit``
    tells when it ends there). Values with a mean of more than 1e4 times their spread should be centred first, or the
    noise hides what they have to say.

    The evidence has many local maxima; the order of the samples does not matter beyond rounding, which may decide
    between basis functions that are equally good. By BLAS and LAPACK: equal up to rounding for any number of threads.

    References
    ----------
    .. [1] C. M. Bishop, Pattern Recognition and Machine Learning, 2006, section 7.2.
    .. [2] M. E. Tipping, Sparse Bayesian learning and the relevance vector machine, 2001.
    .. [3] M. E. Tipping, A. C. Faul, Fast marginal likelihood maximisation for sparse Bayesian models, 2003.
    .. [4] C. E. Rasmussen, J. Quiñonero-Candela, Healing the relevance vector machine through augmentation, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import RelevanceVectorRegressor
    >>> from mercer.kernels import RBF
    >>> rng = np.random.default_rng(0)
    >>> X = np.linspace(-5, 5, 100)[:, np.newaxis]
    >>> y = np.sinc(X[:, 0]) + 0.1 * rng.normal(size=100)
    >>> machine = RelevanceVectorRegressor(RBF(gamma=2.0)).fit(X, y)
    >>> len(machine.relevance_) < 15, round(machine.noise_variance_, 3)
    (True, 0.008)
    >>> mean, std = machine.predict([[0.0]], return_std=True)
    >>> mean.round(1), std.round(1)
    (array([1.1]), array([0.1]))
    """

    _parameters = {  # noqa: RUF012
        **RelevanceVectorMachine._parameters,
        "noise": Number(0, above=True, none=True),
        "noise_prior": Prior(),
        "variance": Choice("plain", "augmented"),
    }

    def __init__(
        self,
        kernel="rbf",
        *,
        basis="kernel",
        fit_intercept=True,
        candidates=None,
        noise=None,
        alpha_prior=None,
        noise_prior=None,
        algorithm="sequential",
        variance="plain",
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
        self.noise = noise
        self.alpha_prior = alpha_prior
        self.noise_prior = noise_prior
        self.algorithm = algorithm
        self.variance = variance
        self.gamma = gamma
        self.warm_start = warm_start
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.callback = callback
        self.random_state = random_state
        self.memory = memory
        self.n_threads = n_threads

    def _check_all(self) -> None:
        super()._check_all()
        if self.variance == "augmented" and (self._precomputed or self._several):
            raise ValueError(
                "variance='augmented' needs one kernel that is computed: new samples bring basis functions."
            )

    def _fit_columns(self, X: Any, Y: np.ndarray, weight: np.ndarray) -> None:
        used = np.flatnonzero(weight)
        noise_prior, alpha_prior = self._prior_of(self.noise_prior), self._prior_of(self.alpha_prior)

        def problems(design: Design) -> list[SparseBayesProblem]:
            return [
                SparseBayesProblem(
                    design,
                    column[used, np.newaxis],
                    weight[used],
                    noise=self.noise,
                    precision_prior=alpha_prior,
                    noise_prior=noise_prior,
                )
                for column in Y.T
            ]

        self._learn(X, weight, problems)
        variances = np.array([result.noise for result in self._results])
        self.noise_variance_ = float(variances[0]) if self._single_output else variances
        self.__dict__.pop("_training", None)
        if self.variance == "augmented":
            center = weight @ Y / weight.sum()
            spread = weight @ np.square(Y - center) / weight.sum()
            self._training = take(X, used), Y[used], weight[used], spread

    def predict(self, X, return_std=False):
        """Values, and how far they may be off.

        Parameters
        ----------
        X : n samples
        return_std : bool, default=False
            Whether to give the standard deviation, too: of a new value, noise included.

        Returns
        -------
        mean : ndarray of shape (n,) or (n, n_outputs)
        std : ndarray of shape (n,) or (n, n_outputs)
            With ``return_std=True``.
        """
        mean = self._raw_decision(X)
        variances = self._variances(X) if return_std or self.variance == "augmented" else np.zeros_like(mean)
        if self.variance == "augmented":
            shift, more = self._augmented(X)
            mean, variances = mean + shift, variances + more
        std = np.sqrt(variances + self.noise_variance_)
        if self._single_output:
            mean, std = mean[:, 0], std[:, 0]
        return (mean, std) if return_std else mean

    def _augmented(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """What a basis function at every new sample adds to mean and variance there [4].

        Its weight is N(q / (a + s), 1 / (a + s)) with its sparsity s and quality q, and its value e less what the model
        makes of it. Its prior variance 1/a is that of the training values, for a kernel of one.
        """
        if not hasattr(self, "_training"):
            raise ValueError("variance='augmented' needs the training samples, which a fit with 'plain' has not kept.")
        samples, Y, weight, spread = self._training
        X = self._check_new(X)
        shift = np.empty((n_samples(X), Y.shape[1]))
        more = np.empty_like(shift)
        inside, here = self.basis_values(samples), self.basis_values(X)
        own = np.asarray(self.kernel_.diag(X), dtype=np.float64)
        new = np.asarray(self.kernel_(samples, X), dtype=np.float64)
        for k, beta in enumerate(1.0 / np.atleast_1d(self.noise_variance_)):
            at = np.flatnonzero(self.functions_ == k)
            phi, sigma, mean = inside[:, at], self.sigma_[np.ix_(at, at)], self.mean_[at]
            products = beta * (phi.T @ (weight[:, np.newaxis] * new))
            s = beta * (weight @ np.square(new)) - np.einsum("ij,ij->j", products, sigma @ products)
            q = beta * ((weight * (Y[:, k] - phi @ mean)) @ new)
            e = own - np.einsum("ji,ij->j", here[:, at], sigma @ products)
            prior = np.divide(spread[k], np.abs(own), out=np.zeros_like(own), where=own != 0)  # 1 / a
            variance = prior / (1.0 + prior * np.maximum(s, 0.0))
            shift[:, k], more[:, k] = e * q * variance, e * e * variance
        return shift, more
