"""Class densities by the mean similarity to the samples of a class."""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.discriminant.classes import Priors, apart, means_of
from mercer.machines import WeightedClassifier
from mercer.threads import limit_threads

__all__ = ["ParzenClassifier"]


class ParzenClassifier(WeightedClassifier):
    r"""The class of the largest density, each estimated by the mean similarity to its samples. [B exercise 7.1]

    .. math::

        \arg\max_c \pi_c \, p_c(x), \qquad p_c(x) = \frac{\sum_{y_i = c} \omega_i k(x, x_i)}{\sum_{y_i = c} \omega_i}
        = \langle \phi(x), m_c \rangle

    In feature space it compares projections on the class means :math:`m_c`. Where these are of the same length, and the
    classes have the same prior, the class is that of the nearest mean; else the lengths make a difference.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples, see `mercer.kernels`; up to a factor, the density about each sample. "precomputed": X
        is the kernel matrix. It may be indefinite.
    priors : {"uniform", "empirical"} or array of shape (n_classes,), default="uniform"
        Prior probabilities of the classes: all the same, their share of the samples, or given.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values.
    n_threads : int or None, default=None
        Threads; the result does not depend on it.

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    priors_ : ndarray of shape (n_classes,)
        Their prior probabilities.
    dual_coef_, intercept_ : ndarray of shape (n_functions, n_support), (n_functions,)
        The densities times the priors as expansions over the samples: one for each class, for two classes their
        difference. The intercepts are zero.
    support_, support_vectors_ : ndarray, samples
        Numbers of the samples of positive weight, and these samples.
    kernel_ : Kernel or "precomputed"
        The kernel, with its data-dependent parameters resolved.

    See Also
    --------
    KernelNearestCentroid : With the lengths of the means.
    mercer.svm.SVC : Gives most samples no weight at all.

    Notes
    -----
    Time O(n) to fit, without any kernel value, and O(n) kernel values for each prediction.

    References
    ----------
    .. [1] C. M. Bishop, Pattern Recognition and Machine Learning, 2006, exercise 7.1 and section 2.5.1.

    Examples
    --------
    >>> from mercer import ParzenClassifier
    >>> from mercer.kernels import RBF
    >>> machine = ParzenClassifier(RBF(gamma=0.5)).fit([[0.0], [1.0], [4.0]], ["low", "low", "high"])
    >>> machine.predict([[2.0], [3.0]])
    array(['low', 'high'], dtype='<U4')
    >>> machine.densities([[2.0]]).round(2)  # high, low
    array([[0.07, 0.19]])
    """

    _parameters: ClassVar[dict[str, Any]] = {"priors": Priors()}

    def __init__(self, kernel="rbf", *, priors="uniform", memory="auto", n_threads=None):
        self.kernel = kernel
        self.priors = priors
        self.memory = memory
        self.n_threads = n_threads

    def _fit_classes(self, X: Any, codes: np.ndarray, weight: np.ndarray) -> None:
        means, totals = means_of(codes, weight, len(self.classes_))
        self.priors_ = Priors.numbers(self.priors, totals)
        self._resolve_kernel(X, weight)
        if not self._precomputed:
            # Samples that are none for this kernel are refused here, not at the first prediction.
            self.kernel_.prepare(X)
        self._keep_expansion(X, apart(self.priors_[:, np.newaxis] * means), 0.0)

    def densities(self, X):
        r"""Densities of the classes times their priors, :math:`\pi_c p_c(x)`, up to one factor for all.

        The largest is the predicted class; over their sum they are probabilities, if the kernel has no negative values.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n, n_classes)
            In the order of `classes_`.
        """
        check_is_fitted(self)
        rows = self.dual_coef_
        if len(self.classes_) == 2:  # a sample is in one of the classes, which its sign tells
            rows = np.maximum(np.vstack([-rows, rows]), 0.0)
        with limit_threads(self.n_threads):
            return self._expansions_of(*self._compared(self._check_new(X)), rows)
