"""The nearest class mean in feature space."""

from typing import Any

import numpy as np

from mercer.discriminant.classes import apart, means_of
from mercer.machines import WeightedClassifier

__all__ = ["KernelNearestCentroid"]


class KernelNearestCentroid(WeightedClassifier):
    r"""The class whose mean in feature space is the nearest. [P eqs 1.17-1.18]

    .. math::

        \arg\min_c \| \phi(x) - m_c \|^2 = \arg\max_c \left( \langle \phi(x), m_c \rangle - \tfrac12 \|m_c\|^2 \right),
        \qquad m_c = \frac{\sum_{y_i = c} \omega_i \phi(x_i)}{\sum_{y_i = c} \omega_i}

    There is nothing to optimise and, the kernel apart, nothing to choose.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples, see `mercer.kernels`. "precomputed": X is the kernel matrix. Of an indefinite kernel the
        scores are what they are, if not distances.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values.
    n_threads : int or None, default=None
        Threads; the result does not depend on it.

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    dual_coef_, intercept_ : ndarray of shape (n_functions, n_support), (n_functions,)
        The scores above as expansions over the samples: one for each class, or for two classes their difference, half
        the difference of the squared distances.
    support_, support_vectors_ : ndarray, samples
        Numbers of the samples of positive weight, and these samples.
    kernel_ : Kernel or "precomputed"
        The kernel, with its data-dependent parameters resolved.

    See Also
    --------
    ParzenClassifier : The same without the lengths of the means, which makes densities of it.
    KernelFisherDiscriminant : Sees how the classes are spread about their means.
    sklearn.neighbors.NearestCentroid : For vectors and the linear kernel.

    Notes
    -----
    Time O(n^2) kernel values to fit, O(n) for each prediction; the kernel matrix need not be stored.

    References
    ----------
    .. [1] J.-P. Vert, K. Tsuda, B. Schölkopf, A primer on kernel methods, in Kernel Methods in Computational Biology,
       2004, eqs. 1.17-1.18.

    Examples
    --------
    >>> from mercer import KernelNearestCentroid
    >>> X, y = [[0.0], [1.0], [4.0], [7.0]], ["low", "low", "high", "high"]
    >>> machine = KernelNearestCentroid("linear").fit(X, y)  # means 0.5 and 5.5
    >>> machine.predict([[2.9], [3.1]])
    array(['low', 'high'], dtype='<U4')
    """

    def __init__(self, kernel="rbf", *, memory="auto", n_threads=None):
        self.kernel = kernel
        self.memory = memory
        self.n_threads = n_threads

    def _fit_classes(self, X: Any, codes: np.ndarray, weight: np.ndarray) -> None:
        means, _ = means_of(codes, weight, len(self.classes_))
        with_means = self._make_gram(X, weight).dot(np.ascontiguousarray(means.T))
        norms = np.einsum("ci,ic->c", means, with_means)
        self._keep_expansion(X, apart(means), apart(-0.5 * norms))
