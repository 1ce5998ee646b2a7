"""Gaussian process regression."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.gp.base import GaussianProcess, Prior
from mercer.gp.evidence import RegressionEvidence
from mercer.gp.on_device import DeviceEvidence, DevicePrior, covariance, variance
from mercer.kernels.samples import n_samples
from mercer.machines import KernelRegressor
from mercer.parameters import Choice, Number
from mercer.threads import limit_threads

__all__ = ["GaussianProcessRegressor"]

# What of the mean square of the values "scale" takes for noise.
NOISE_SHARE = 0.1


class GaussianProcessRegressor(KernelRegressor, GaussianProcess):
    r"""Gaussian process regression: a function with a spread, and parameters that make the data likely.

    The prior of the function is :math:`f \sim GP(0, a\,k)`, the values are :math:`y_i = f(x_i) + \varepsilon_i` with
    Gaussian noise of the variance :math:`s / \omega_i`. Given them, with :math:`C = a K + s\,\Omega^{-1}`,

    .. math::

        \mathrm{E} f(x) = a\,k(x)^T C^{-1} y, \qquad
        \mathrm{Var} f(x) = a\,k(x, x) - a^2\, k(x)^T C^{-1} k(x).

    Amplitude a, noise s and the parameters of the kernel maximise the evidence

    .. math:: \log p(y) = -\tfrac12 y^T C^{-1} y - \tfrac12 \log |C| - \tfrac n2 \log 2\pi

    by Newton's method in their logarithms, in a trust region, with the derivatives that kernels have (`Kernel.vjp`) and
    the average information [3]_ for a Hessian. Several outputs share the kernel, the amplitude and the noise; their
    evidences are multiplied.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples, see `mercer.kernels`; its parameters are the start. It describes the function alone: the
        noise is a parameter of the machine. "precomputed": X is the kernel matrix.
    amplitude : float > 0 or "scale", default="scale"
        The kernel is multiplied with it; larger lets the function leave zero further. Where the search starts. "scale"
        is the mean square of the values.
    noise : float >= 0 or "scale", default="scale"
        Variance of the noise; larger smoothes more. Where the search starts; zero stays zero. "scale" is a tenth of the
        mean square of the values.
    optimize : bool or list of str, default=True
        What to tune: everything that has a derivative and starts above zero, nothing, or what is named, such as
        ``["noise", "kernel__gamma"]``.
    bounds : float > 1 or dict, default=1e5
        Every parameter stays within this factor of its start; or ranges (low, high) by name, and the factor 1e5 for
        others.
    n_restarts_optimizer : int >= 0, default=0
        Further starts, drawn in the logarithms between the bounds; the best end wins.
    normalize_y : bool, default=False
        Learn values of mean 0 and variance 1, and predict in the units of y. Amplitude, noise and evidence are then
        those of the normalised values.
    max_iter : int >= 1, default=100
        Most steps of the search from one start.
    tol : float > 0, default=1e-4
        Largest slope of the log evidence per sample in the logarithm of a parameter; smaller is more exact.
    random_state : int, RandomState or None, default=0
        Draws the starts.
    device : str, torch.device or None, default=None
        Where matrices are made and factored: "cuda", a GPU, by PyTorch, or "cpu", by the same code. Derivatives by the
        parameters of the kernel are differences there. None: the native core and LAPACK.
    n_threads : int or None, default=None
        Threads for kernel values; the linear algebra takes those of BLAS.

    Attributes
    ----------
    kernel_ : Kernel or "precomputed"
        The kernel with the parameters found.
    amplitude_, noise_ : float
        What was found of them.
    log_marginal_likelihood_ : float
        The log evidence, of all outputs together.
    result_ : EvidenceResult
        How the search ended.
    support_, support_vectors_ : ndarray, samples
        The training samples of positive weight: all are needed.
    dual_coef_ : ndarray of shape (n_outputs, n_support)
        :math:`a\,C^{-1} y`, in the units of y.
    intercept_ : ndarray of shape (n_outputs,)
        Zero, or the means of y that `normalize_y` took away.
    coef_ : ndarray of shape (n_outputs, n_features)
        The weights; linear kernel only.
    n_iter_ : int
        How often the evidence was computed.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when X has names that are all strings.

    See Also
    --------
    KernelRidge : The mean alone, for more samples.
    GaussianProcessClassifier : Classes, with parameters that maximise the evidence.
    SVR : A sparse function without a spread.

    Notes
    -----
    One evaluation of the evidence and all its slopes takes one Cholesky factor and one inverse in its place, n^3 flops
    together, a pass of the kernel for its derivatives, and one product with the kernel matrix for each of its
    parameters; memory 8 n^2 bytes and the blocks of that pass, 8 n^2 more where the kernel itself is not tuned. A
    spread costs O(n^2) for each new sample. By LAPACK: equal up to rounding for any number of threads.

    The mean is that of ridge regression with the penalty noise / amplitude. The evidence need not have one maximum
    only: a short width with little noise may explain the data as well as a long width with much of it. `result_` says
    what was reached from every start.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 2.3.
    .. [2] C. E. Rasmussen, C. K. I. Williams, Gaussian Processes for Machine Learning, 2006, algorithm 2.1, eqs. 5.8,
       5.9 and 5.12.
    .. [3] A. R. Gilmour, R. Thompson, B. R. Cullis, Average information REML: an efficient algorithm for variance
       parameter estimation in linear mixed models, Biometrics 51, 1995.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import GaussianProcessRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 6, size=(80, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=80)
    >>> machine = GaussianProcessRegressor().fit(X, y)
    >>> bool(0.08 < np.sqrt(machine.noise_) < 0.12)
    True
    >>> mean, std = machine.predict([[1.0], [20.0]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(1.0)) < 0.1), bool(std[1] > 10 * std[0])
    (True, True)
    """

    _parameters = GaussianProcess._parameters | {
        "amplitude": Number(0, above=True, words=("scale",)),
        "noise": Number(0, words=("scale",)),
        "normalize_y": Choice(True, False),
    }

    noise_: float

    def __init__(
        self,
        kernel="rbf",
        *,
        amplitude="scale",
        noise="scale",
        optimize=True,
        bounds=1e5,
        n_restarts_optimizer=0,
        normalize_y=False,
        max_iter=100,
        tol=1e-4,
        random_state=0,
        device=None,
        n_threads=None,
    ):
        self.kernel = kernel
        self.amplitude = amplitude
        self.noise = noise
        self.optimize = optimize
        self.bounds = bounds
        self.n_restarts_optimizer = n_restarts_optimizer
        self.normalize_y = normalize_y
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.device = device
        self.n_threads = n_threads

    def _fit_columns(self, X: Any, Y: np.ndarray, weight: np.ndarray) -> None:
        used, prior = np.flatnonzero(weight), self._make_prior(X, weight)
        Y, weight = Y[used], weight[used]
        with np.errstate(over="ignore"):
            if not np.isfinite((Y**2).sum()):
                raise ValueError(f"y must have finite squares, got values up to {np.abs(Y).max():.3g}.")
        centre, self._scale = np.zeros(Y.shape[1]), np.ones(Y.shape[1])
        if self.normalize_y:
            centre = np.average(Y, axis=0, weights=weight)
            self._scale = np.sqrt(np.average((Y - centre) ** 2, axis=0, weights=weight))
            self._scale[self._scale == 0] = 1.0
        Y = (Y - centre) / self._scale
        evidence = (DeviceEvidence if isinstance(prior, DevicePrior) else RegressionEvidence)(prior, Y, weight)
        values = self._maximize(evidence, prior, self._start(Y, weight), Y.shape[1] * float(weight.sum()))
        factor, alpha, log_evidence, self._spread = evidence.condition(values)
        self._factor = factor.in_memory()
        coefficients = np.zeros((Y.shape[1], n_samples(X)))
        coefficients[:, used] = (self.amplitude_ * self._scale * alpha).T
        self._keep_expansion(X, coefficients, centre, support=used)
        self._conclude(log_evidence)

    def _make_prior(self, X: Any, weight: np.ndarray) -> Prior:
        prior, place = super()._make_prior(X, weight), self._place
        return prior if place is None else DevicePrior(self.kernel_, prior.X, place)

    def _start(self, Y: np.ndarray, weight: np.ndarray) -> dict[str, float]:
        """Amplitude and noise as numbers."""
        square = float(np.average((Y**2).mean(axis=1), weights=weight)) or 1.0
        words = {"amplitude": square, "noise": NOISE_SHARE * square}
        given = {name: getattr(self, name) for name in words}
        return {name: words[name] if isinstance(value, str) else float(value) for name, value in given.items()}

    # --- the posterior ------------------------------------------------------------------------------------

    def predict(self, X, return_std=False, return_cov=False, include_noise=False):
        """The mean of the function at new samples and, if wanted, its spread.

        Parameters
        ----------
        X : n samples
        return_std : bool, default=False
            Whether to return the standard deviation, too.
        return_cov : bool, default=False
            Whether to return the covariance of the function at all new samples, too.
        include_noise : bool, default=False
            Whether the spread is that of new values, with their noise, in place of that of the function.

        Returns
        -------
        mean : ndarray of shape (n,) or (n, n_outputs)
        std : ndarray of shape (n,) or (n, n_outputs)
            If `return_std`.
        cov : ndarray of shape (n, n) or (n, n, n_outputs)
            If `return_cov`.
        """
        if return_std and return_cov:
            raise ValueError("return_std and return_cov cannot both be True: the covariance has the spread.")
        mean = super().predict(X)
        noise = self.noise_ if include_noise else 0.0
        if not (return_std or return_cov):
            return mean
        with limit_threads(self.n_threads):
            spread = self._covariance(X) if return_cov else self._variance(X)
        if return_cov:
            spread.flat[:: len(spread) + 1] += noise
            return mean, self._in_units(spread, self._scale**2)
        return mean, self._in_units(np.sqrt(spread + noise), self._scale)

    def _variance(self, X: Any) -> np.ndarray:
        """Of the function, in normalised units."""
        if (on := self._on_device(X)) is not None:
            return variance(on, *self._compared(self._check_new(X)), self._factor.lower, self.amplitude_)
        parts = []
        for _, covariances, variances in self._compared_in_blocks(X):
            whitened = self._factor.whiten(covariances.T)
            parts.append(np.maximum(0.0, variances - np.einsum("ij,ij->j", whitened, whitened)))
        return np.concatenate(parts)

    def _covariance(self, X: Any) -> np.ndarray:
        if (on := self._on_device(X)) is not None:
            return covariance(on, *self._compared(self._check_new(X)), self._factor.lower, self.amplitude_)
        blocks = [covariances for _, covariances, _ in self._compared_in_blocks(X)]
        whitened = self._factor.whiten(np.concatenate(blocks).T)
        return self.amplitude_ * np.asarray(self.kernel_(self._check_new(X)), dtype=np.float64) - whitened.T @ whitened

    def _in_units(self, spread: np.ndarray, scale: np.ndarray) -> np.ndarray:
        return spread * scale[0] if self._single_output else spread[..., np.newaxis] * scale

    def sample_y(self, X, n_samples=1, random_state=0):
        """Functions drawn from the posterior, at new samples.

        Parameters
        ----------
        X : n samples
        n_samples : int >= 1, default=1
            How many functions.
        random_state : int, RandomState or None, default=0
            Draws them.

        Returns
        -------
        ndarray of shape (n, n_samples) or (n, n_outputs, n_samples)
        """
        if problem := Number(1, integer=True).problem(n_samples):
            raise ValueError(f"n_samples {problem}")
        rng = check_random_state(random_state)
        mean = self._raw_decision(X)
        with limit_threads(self.n_threads):
            variances, directions = np.linalg.eigh(self._covariance(X))
        root = directions * np.sqrt(np.maximum(0.0, variances))
        drawn = np.stack([root @ rng.standard_normal((len(root), n_samples)) for _ in range(mean.shape[1])], axis=1)
        drawn = mean[..., np.newaxis] + self._scale[:, np.newaxis] * drawn
        return drawn[:, 0] if self._single_output else drawn

    def leave_one_out(self, include_noise=False):
        """Means and standard deviations that the training samples would get without them, from the one factor.

        The parameters stay as they are. This is eq. 5.12 of Rasmussen and Williams.

        Parameters
        ----------
        include_noise : bool, default=False
            Whether the spread is that of new values, with their noise, in place of that of the function.

        Returns
        -------
        mean, std : ndarray of shape (n_support,) or (n_support, n_outputs)
            For the samples `support_`.
        """
        check_is_fitted(self)
        alpha = self.dual_coef_.T / (self.amplitude_ * self._scale)
        precision = self._factor.inverse_diagonal()
        y = self._factor.lower @ (self._factor.lower.T @ alpha)
        mean = self.intercept_ + self._scale * (y - alpha / precision[:, np.newaxis])
        variance = np.maximum(0.0, 1 / precision - self._spread) + (self.noise_ if include_noise else 0.0)
        return (mean[:, 0] if self._single_output else mean), self._in_units(np.sqrt(variance), self._scale)
