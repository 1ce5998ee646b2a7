"""Fisher's linear discriminant in feature space."""

from typing import Any, ClassVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from sklearn.utils.validation import check_is_fitted

from mercer.discriminant.classes import Priors, apart, means_of
from mercer.errors import SingularError
from mercer.gram.checks import as_matrix, indefinite
from mercer.machines import KernelTransformer, LogOddsClassifier
from mercer.parameters import Number
from mercer.threads import limit_threads

__all__ = ["KernelFisherDiscriminant"]

# Ratios of the spread between classes to that within, as a share of the largest, up to here are rounding.
ZERO = 1e-12
# Up to this share of the mean of k(x, x) the spread of samples is rounding.
ROUNDING = 64 * np.finfo(float).eps


class KernelFisherDiscriminant(LogOddsClassifier, KernelTransformer):
    r"""Fisher's discriminant in feature space: directions in which classes lie far apart for their spread.

    With the class means :math:`m_c` in feature space, the weights :math:`\omega_c` of the classes and the covariance
    within classes :math:`\Sigma`, directions v make

    .. math:: \frac{\sum_c \omega_c \langle v, m_c - m \rangle^2}{\langle v, (\Sigma + \lambda I) v \rangle}

    as large as possible, one after the other, orthogonal in the sense of the denominator [1]_ [2]_. Projected on them a
    sample gets the class of the largest posterior probability for Gaussian classes of that covariance and priors
    :math:`\pi_c`,

    .. math:: \langle v(x), v(m_c) \rangle - \tfrac12 \|v(m_c)\|^2 + \log \pi_c,

    which is linear discriminant analysis in feature space; with a linear kernel and a small `alpha` it is the usual
    one.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples, see `mercer.kernels`; positive semi-definite. "precomputed": X is the kernel matrix.
    alpha : float > 0, default=1e-3
        λ, as a share of the mean squared distance of the samples to their mean. Without it the samples of most kernels
        are separated without any spread; larger is smoother, and in the end compares distances to the class means.
    n_components : int >= 1 or None, default=None
        How many directions `transform` gives; None: all, one less than there are classes. It makes no difference to
        predictions.
    priors : {"uniform", "empirical"} or array of shape (n_classes,), default="empirical"
        Prior probabilities of the classes: all the same, their share of the samples, or given.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values.
    n_threads : int or None, default=None
        Threads of the kernel.

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    priors_ : ndarray of shape (n_classes,)
        Their prior probabilities.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        What each direction has of the sum of the ratios above.
    means_ : ndarray of shape (n_classes, n_components)
        The class means in the new coordinates.
    scalings_, offsets_ : ndarray of shape (n_components, n_support), (n_components,)
        The new coordinates are ``K(X, support_vectors_) @ scalings_.T + offsets_``.
    dual_coef_, intercept_ : ndarray of shape (n_functions, n_support), (n_functions,)
        The decision functions, in the same way: log-odds of two classes, or one score per class.
    support_, support_vectors_ : ndarray, samples
        Numbers of the samples of positive weight, and these samples.
    kernel_ : Kernel or "precomputed"
        The kernel, with its data-dependent parameters resolved.

    See Also
    --------
    KernelNearestCentroid : The limit of large `alpha`, apart from priors.
    mercer.svm.SVC : Looks at the samples near the boundary only.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : For vectors and the linear kernel.

    Notes
    -----
    Time O(n^3 / 3) for a Cholesky factor, memory O(n^2) in float64. By LAPACK: equal up to rounding for any number of
    threads and order of the samples. The directions lie in the span of the inverse of :math:`\Sigma + \lambda I` times
    the class means, which Woodbury's formula turns into a system of n equations, and the rest is an eigenproblem of as
    many dimensions as there are classes. In each direction the variance within classes, λ included, is 1.

    References
    ----------
    .. [1] S. Mika, G. Rätsch, J. Weston, B. Schölkopf, K.-R. Müller, Fisher discriminant analysis with kernels, 1999.
    .. [2] G. Baudat, F. Anouar, Generalized discriminant analysis using a kernel approach, 2000.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelFisherDiscriminant
    >>> X, y = load_iris(return_X_y=True)
    >>> machine = KernelFisherDiscriminant(alpha=1e-2).fit(X, y)
    >>> round(machine.score(X, y), 3)
    0.987
    >>> machine.transform(X).shape
    (150, 2)
    """

    _parameters: ClassVar[dict[str, Any]] = {
        "alpha": Number(0, above=True),
        "n_components": Number(1, integer=True, none=True),
        "priors": Priors(),
    }

    def __init__(
        self, kernel="rbf", *, alpha=1e-3, n_components=None, priors="empirical", memory="auto", n_threads=None
    ):
        self.kernel = kernel
        self.alpha = alpha
        self.n_components = n_components
        self.priors = priors
        self.memory = memory
        self.n_threads = n_threads

    def _fit_classes(self, X: Any, codes: np.ndarray, weight: np.ndarray) -> None:
        n_classes, index = len(self.classes_), np.flatnonzero(weight)
        most = n_classes - 1
        if self.n_components is not None and self.n_components > most:
            raise ValueError(
                f"n_components must be at most the number of classes less one, {most}, got {self.n_components}."
            )
        gram = self._make_gram(X, weight)
        K = as_matrix(gram) if len(index) == gram.n else as_matrix(gram.square(index))
        means, totals = means_of(codes[index], weight[index], n_classes)
        self.priors_ = Priors.numbers(self.priors, totals)
        directions, offsets, ratios = self._directions(K, means, totals / totals.sum())
        places = means @ (K @ directions.T) + offsets
        scores = places @ directions
        intercepts = places @ offsets - 0.5 * (places**2).sum(axis=1) + np.log(self.priors_)
        functions = np.zeros((n_classes, gram.n))
        functions[:, index] = scores
        self._keep_expansion(X, apart(functions), apart(intercepts))
        kept = slice(self.n_components)
        self.explained_variance_ratio_ = (ratios / (ratios.sum() or 1.0))[kept]
        self.means_, self.offsets_ = places[:, kept], offsets[kept]
        self.scalings_ = directions[kept][:, np.isin(index, self.support_)]

    def _directions(
        self, K: np.ndarray, means: np.ndarray, shares: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Coefficients and offsets of the new coordinates, and the ratios that they make large, from the largest.

        `means` are the class means as coefficients over the samples of K, `shares` the weights of the classes.
        """
        mean = shares @ means  # of all samples
        weight = mean  # each sample counts in it by its weight
        with_mean = K @ mean
        total = float(weight @ np.diagonal(K))
        scatter = total - float(mean @ with_mean)
        ridge = self.alpha * scatter
        if not scatter > ROUNDING * abs(total):
            raise ValueError("All samples are the same in feature space: there is no direction that separates them.")
        # Σ = G'G, the rows of G being the samples seen from the means of their classes, times the roots of the weights.
        root, members = np.sqrt(weight), means > 0

        def within(V: np.ndarray) -> np.ndarray:
            """The symmetric projection (I - Z Z') V, Z having the roots of the weights of each class, of length one."""
            Z = np.where(members, root, 0.0) / np.sqrt(shares)[:, np.newaxis]
            return V - Z.T @ (Z @ V)

        spread = within(root[:, np.newaxis] * K * root)
        spread = within(spread.T)  # G G'
        spread[np.diag_indices_from(spread)] += ridge
        try:
            factor = cho_factor(spread, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            smallest = float(np.linalg.eigvalsh(K)[0])
            if smallest >= -len(K) * np.finfo(float).eps * float(np.abs(np.diagonal(K)).max()):
                raise SingularError(
                    f"alpha={self.alpha:.3g} is too small: some directions of feature space have no spread within "
                    "classes, and rounding hides it."
                ) from None
            raise indefinite(type(self).__name__, smallest) from None
        # (G'G + λ)^-1 D = (D - G' (G G' + λ)^-1 G D) / λ  for D, the means of the classes seen from that of all.
        D = np.sqrt(shares)[:, np.newaxis] * (means - mean)
        inner = within(root[:, np.newaxis] * (K @ D.T))
        solved = (D - (root[:, np.newaxis] * within(cho_solve(factor, inner, check_finite=False))).T) / ridge
        between = solved @ (K @ D.T)
        ratios, vectors = np.linalg.eigh(0.5 * (between + between.T))
        ratios, vectors = ratios[:0:-1], vectors[:, :0:-1]  # the means span one dimension less than there are classes
        # Where the means do not lie apart at all there is no direction, and the coordinate is zero.
        real = ratios > max(ZERO * ratios[0], np.finfo(float).tiny)
        ratios = np.where(real, ratios, 0.0)
        directions = vectors.T @ solved * np.where(real, 1.0 / np.sqrt(np.where(real, ratios, 1.0)), 0.0)[:, np.newaxis]
        # The class that is farthest out, the last of equal ones, is on the positive side.
        places = (means - mean) @ (K @ directions.T)
        outermost = np.argmax(np.abs(places) * (1.0 + 1e-6 * np.arange(len(means)))[:, np.newaxis], axis=0)
        directions *= np.where(places[outermost, np.arange(len(directions))] < 0, -1.0, 1.0)[:, np.newaxis]
        return directions, -(directions @ with_mean), ratios

    @property
    def _n_features_out(self) -> int:
        return len(self.scalings_)

    def transform(self, X):
        """Coordinates in the directions that separate the classes.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n, n_components)
        """
        check_is_fitted(self)
        with limit_threads(self.n_threads):
            return self._expansions_of(*self._compared(self._check_new(X)), self.scalings_) + self.offsets_
