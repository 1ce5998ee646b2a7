"""Gaussian process classification."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.gp.base import GaussianProcess
from mercer.gp.laplace import LaplaceEvidence, averaged_sigmoid
from mercer.kernels.samples import n_samples
from mercer.machines import WeightedClassifier
from mercer.threads import limit_threads

__all__ = ["GaussianProcessClassifier"]


class GaussianProcessClassifier(WeightedClassifier, GaussianProcess):
    r"""Gaussian process classification by Laplace's approximation.

    The prior of the function is :math:`f \sim GP(0, a\,k)`, and :math:`p(y = 1 | x) = \sigma(f(x))` with the logistic
    function :math:`\sigma`. The posterior is replaced by the Gaussian about its mode, the maximum of

    .. math:: -\tfrac12 f^T (a K)^{-1} f + \sum_i \omega_i \log \sigma(y_i f_i),

    found by Newton's method; probabilities are averages of :math:`\sigma(f(x))` over it. Amplitude a and the parameters
    of the kernel maximise the evidence of the same approximation, by the steps of L-BFGS-B in their logarithms, with
    the derivatives that kernels have (`Kernel.vjp`). More than two classes: one function for each class against the
    rest, all with one prior, whose evidences are multiplied.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="rbf"
        Similarity of samples, see `mercer.kernels`; its parameters are the start. For a matrix there is `Indexed`:
        rows of kernel values, as "precomputed" means them, would not do, since probabilities need k(x, x), too.
    amplitude : float > 0, default=1.0
        The kernel is multiplied with it; larger allows probabilities closer to 0 and 1. Where the search starts.
    optimize : bool or list of str, default=True
        What to tune: everything that has a derivative and starts above zero, nothing, or what is named, such as
        ``["amplitude", "kernel__gamma"]``.
    bounds : float > 1 or dict, default=1e5
        Every parameter stays within this factor of its start; or ranges (low, high) by name, and the factor 1e5 for
        others.
    n_restarts_optimizer : int >= 0, default=0
        Further starts, drawn in the logarithms between the bounds; the best end wins.
    max_iter : int >= 1, default=100
        Most steps of the search from one start.
    tol : float > 0, default=1e-4
        Largest slope of the log evidence per sample in the logarithm of a parameter; smaller is more exact.
    random_state : int, RandomState or None, default=0
        Draws the starts.
    n_threads : int or None, default=None
        Threads for kernel values; the linear algebra takes those of BLAS.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes; two: positive decision values speak for ``classes_[1]``.
    kernel_ : Kernel
        The kernel with the parameters found.
    amplitude_ : float
        What was found of it.
    log_marginal_likelihood_ : float
        The log evidence, of all functions together.
    result_ : EvidenceResult
        How the search ended.
    support_, support_vectors_ : ndarray, samples
        The training samples of positive weight: all are needed.
    dual_coef_ : ndarray of shape (n_functions, n_support)
        Coefficients of the modes: one function for two classes, one for each class for more.
    intercept_ : ndarray of shape (n_functions,)
        Zero.
    coef_ : ndarray of shape (n_functions, n_features)
        The weights; linear kernel only.
    n_iter_ : int
        How often the evidence was computed.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when X has names that are all strings.

    See Also
    --------
    KernelLogisticRegression : The mode alone, with an offset; for more samples.
    GaussianProcessRegressor : Values.
    Calibrated : Probabilities for the margins of an `SVC`.

    Notes
    -----
    An evaluation of the evidence takes a Cholesky factor for every Newton step, some 5, and one inverse, for each
    function; memory 16 n^2 bytes, and 8 n^2 more for each class if there are more than two. By LAPACK: equal up to
    rounding for any number of threads.

    Decision values are the log-odds of the averaged probabilities, so that decisions, probabilities and predictions
    agree; `latent` gives the functions themselves, ``K(X, support_vectors_) @ dual_coef_.T``, and their spread. There
    is no parameter for an offset: add a constant to the kernel, ``RBF() + 1``.

    References
    ----------
    .. [1] C. E. Rasmussen, C. K. I. Williams, Gaussian Processes for Machine Learning, 2006, algorithms 3.1, 3.2
       and 5.1.
    .. [2] C. K. I. Williams, D. Barber, Bayesian classification with Gaussian processes, 1998.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import GaussianProcessClassifier
    >>> X = np.array([[0.0], [0.5], [1.0], [2.0], [2.5], [3.0]])
    >>> machine = GaussianProcessClassifier(amplitude=4.0, optimize=False).fit(X, [0, 0, 0, 1, 1, 1])
    >>> machine.predict_proba([[0.0], [1.5], [100.0]])[:, 1].round(2)
    array([0.25, 0.5 , 0.5 ])
    """

    def __init__(
        self,
        kernel="rbf",
        *,
        amplitude=1.0,
        optimize=True,
        bounds=1e5,
        n_restarts_optimizer=0,
        max_iter=100,
        tol=1e-4,
        random_state=0,
        n_threads=None,
    ):
        self.kernel = kernel
        self.amplitude = amplitude
        self.optimize = optimize
        self.bounds = bounds
        self.n_restarts_optimizer = n_restarts_optimizer
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_threads = n_threads

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = False
        return tags

    def _check_all(self) -> None:
        super()._check_all()
        if self._precomputed:
            raise ValueError(
                "kernel must not be 'precomputed': probabilities need the kernel of new samples with themselves; use "
                "Indexed, the kernel of a matrix."
            )

    def _fit_classes(self, X: Any, codes: np.ndarray, weight: np.ndarray) -> None:
        signs, used = self._signs_of(codes), np.flatnonzero(weight)
        prior = self._make_prior(X, weight)
        evidence = LaplaceEvidence(prior, signs[used], weight[used])
        start = {"amplitude": float(self.amplitude)}
        values = self._maximize(evidence, prior, start, signs.shape[1] * float(weight.sum()))
        self._modes = evidence.modes(values)
        coefficients = np.zeros((signs.shape[1], n_samples(X)))
        coefficients[:, used] = [self.amplitude_ * mode.a for mode in self._modes]
        self._keep_expansion(X, coefficients, 0.0, support=used)
        self._conclude(sum(mode.log_evidence for mode in self._modes))

    # --- the posterior ------------------------------------------------------------------------------------

    def latent(self, X):
        """Means and standard deviations of the functions at new samples.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        mean, std : ndarray of shape (n,) or (n, n_classes)
        """
        check_is_fitted(self)
        mean, std = self._raw_decision(X), self._spreads(X)
        return (mean[:, 0], std[:, 0]) if mean.shape[1] == 1 else (mean, std)

    def _spreads(self, X: Any) -> np.ndarray:
        """Standard deviations of all functions, shape (n, n_functions)."""
        parts = []
        with limit_threads(self.n_threads):
            for _, covariances, variances in self._compared_in_blocks(X):
                known = [mode.factor.whiten((covariances * mode.root).T) for mode in self._modes]
                known = [variances - np.einsum("ij,ij->j", whitened, whitened) for whitened in known]
                parts.append(np.sqrt(np.maximum(0.0, np.stack(known, axis=1))))
        return np.concatenate(parts)

    def _averaged(self, X: Any, sign: float = 1.0) -> np.ndarray:
        """Averages of the sigmoid of all functions, or of minus them, shape (n, n_functions)."""
        pairs = zip(self._raw_decision(X).T, self._spreads(X).T, strict=True)
        return np.stack([averaged_sigmoid(sign * mean, std) for mean, std in pairs], axis=1)

    def decision_function(self, X):
        """Decision values: the log-odds of the probabilities.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n,) or (n, n_classes)
            Two classes: positive values speak for ``classes_[1]``. More: for each class against the rest.
        """
        check_is_fitted(self)
        with np.errstate(divide="ignore"):  # a probability may be zero
            odds = np.log(self._averaged(X)) - np.log(self._averaged(X, -1.0))
        return odds[:, 0] if len(self.classes_) == 2 else odds

    def predict_proba(self, X):
        """Probabilities of the classes.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n, n_classes)
            For more than two classes, those of each class against the rest, scaled to sum to one.
        """
        check_is_fitted(self)
        if len(self.classes_) == 2:
            return np.hstack([self._averaged(X, -1.0), self._averaged(X)])
        found = self._averaged(X)
        return found / found.sum(axis=1, keepdims=True)
