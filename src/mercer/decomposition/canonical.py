"""Kernel canonical correlation analysis."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted

from mercer.errors import SingularError
from mercer.gram import Gram, MatrixGram
from mercer.gram.checks import indefinite
from mercer.gram.eigenpairs import Weighing
from mercer.kernels import as_kernel
from mercer.kernels.samples import n_samples
from mercer.machines import VECTORS, KernelMachine, KernelTransformer
from mercer.machines.spectral import negligible, rounding, signs_of
from mercer.parameters import Number
from mercer.threads import limit_threads

__all__ = ["KernelCCA"]


class KernelCCA(KernelTransformer):
    r"""Kernel canonical correlation analysis: what two views of the same things have in common.

    .. math::

        \max_{v, u}\; \sum_i \omega_i f(x_i)\, g(y_i) \quad\text{with}\quad
        \sum_i \omega_i f(x_i)^2 + \alpha \|v\|^2 = \sum_i \omega_i g(y_i)^2 + \alpha \|u\|^2 = \sum_i \omega_i

    for the centred functions :math:`f(x) = \langle v, \phi(x) - m \rangle` and
    :math:`g(y) = \langle u, \psi(y) - m' \rangle`; the next pair is uncorrelated, in this sense, with those before it.
    All pairs come from the eigenvectors of the two kernel matrices and one singular value decomposition.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples in the first view, see `mercer.kernels`. "precomputed": X is the kernel matrix.
    kernel_y : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples in the second view.
    n_components : int >= 1, default=2
        How many pairs, at most: as many as both views have directions.
    alpha : float >= 0, default=1.0
        Price of functions that are not smooth. Larger means smoother functions of less correlation. 0 is for kernels
        with few features only: a kernel with as many features as samples can match any function of the other view.
    memory : float > 0 or "auto", default="auto"
        Megabytes for the kernel values of one view, where these need not be stored.
    n_threads : int or None, default=None
        Threads for kernel values.

    Attributes
    ----------
    correlations_ : ndarray of shape (n_components,)
        Of f(x) and g(y) over the training samples, for every pair.
    singular_values_ : ndarray of shape (n_components,)
        The maxima of the problem above, over the sum of the weights, from the largest on; at most 1.
    dual_coef_ : ndarray of shape (n_components, n_support)
        The functions f as combinations of kernel values; the centring is part of it.
    intercept_ : ndarray of shape (n_components,)
        Their offsets.
    support_, support_vectors_ : ndarray, samples
        Numbers of the training samples with a positive weight, and the samples.
    kernel_ : Kernel or "precomputed"
        The kernel, with its data-dependent parameters resolved.
    view_y_ : KernelMachine
        The functions g, with the same attributes: ``view_y_.dual_coef_``, ``view_y_.kernel_``, ...

    See Also
    --------
    KernelPLS : Covariance in place of correlation, and predictions.
    KernelPCA : One view.

    Notes
    -----
    Time O(n^3), memory O(n^2): all eigenvectors of both matrices are needed. With linear kernels and ``alpha=0`` it is
    classical canonical correlation analysis. Either sign of a pair is right: the sample with the largest f(x) has a
    positive one. By LAPACK: equal up to rounding for any number of threads. Where ``alpha=0`` leaves the correlations
    undetermined, `fit` raises `SingularError`.

    References
    ----------
    .. [1] D. R. Hardoon, S. Szedmak, J. Shawe-Taylor, Canonical correlation analysis: an overview with application to
       learning methods, Neural Computation 16, 2004, section 4.
    .. [2] F. R. Bach, M. I. Jordan, Kernel independent component analysis, Journal of Machine Learning Research 3,
       2002, section 3.2.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelCCA
    >>> from mercer.kernels import Spectrum
    >>> words = ["abab", "baba", "abba", "ccdc", "dcdc", "cddc", "abcd", "dcba"]
    >>> numbers = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [0.9], [0.5], [0.6]])
    >>> machine = KernelCCA(Spectrum(1), "linear", n_components=1, alpha=0.1).fit(words, numbers)
    >>> machine.correlations_.round(2)
    array([0.98])
    >>> f, g = machine.transform(["aabb", "cccd"], [[0.0], [1.0]])
    >>> bool((np.sign(f) == np.sign(g)).all())
    True
    """

    _parameters: ClassVar[dict[str, Any]] = {"n_components": Number(1, integer=True), "alpha": Number(0)}

    def __init__(self, kernel="rbf", kernel_y="rbf", n_components=2, alpha=1.0, memory="auto", n_threads=None):
        self.kernel = kernel
        self.kernel_y = kernel_y
        self.n_components = n_components
        self.alpha = alpha
        self.memory = memory
        self.n_threads = n_threads

    def _check_all(self) -> None:
        super()._check_all()
        if not (isinstance(self.kernel_y, str) and self.kernel_y == "precomputed"):
            try:
                as_kernel(self.kernel_y)
            except (TypeError, ValueError) as error:
                raise type(error)(f"kernel_y: {error}") from None

    def set_params(self, **params):
        """Set parameters, those of the kernels as ``kernel__name`` and ``kernel_y__name``.

        A kernel given by its name becomes a kernel object first.
        """
        nested = any(name.startswith("kernel_y__") for name in params)
        kernel = params.get("kernel_y", self.kernel_y)
        if nested and isinstance(kernel, str) and kernel != "precomputed":
            params = {"kernel_y": as_kernel(kernel), **{k: v for k, v in params.items() if k != "kernel_y"}}
        return super().set_params(**params)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def fit(self, X, y, sample_weight=None):
        """Find the pairs of functions.

        Parameters
        ----------
        X : n samples, as the kernel takes them
            The first view; the n x n kernel matrix if ``kernel="precomputed"``.
        y : n samples, as the other kernel takes them
            The second view of the same things: a table of numbers, or of one number each, strings, graphs; the n x n
            kernel matrix if ``kernel_y="precomputed"``.
        sample_weight : array of shape (n,), default=None
            Non-negative; weight 2 is the sample twice, weight 0 is no sample.

        Returns
        -------
        self
        """
        with self._all_or_nothing():
            self._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._check_all()
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        other = self.view_y_ = SecondView(self.kernel_y, self.memory, self.n_threads)
        X, Y = self._take_samples(X), other._take_samples(y)
        if n_samples(X) != n_samples(Y):
            raise ValueError(f"X and y have inconsistent numbers of samples: {n_samples(X)} and {n_samples(Y)}.")
        weight = self._weights(sample_weight, X)
        used = np.flatnonzero(weight)
        with limit_threads(self.n_threads):
            first, second = (
                HalfProblem(view._make_gram(samples, weight), weight, self.alpha)
                for view, samples in ((self, X), (other, Y))
            )
        if self.alpha == 0 and first.rank + second.rank >= len(used):
            raise SingularError(
                f"alpha must be > 0 here, got {self.alpha!r}: the two views have {first.rank} and {second.rank} "
                f"directions for {len(used)} samples, so that some correlations are 1 whatever the samples are."
            )
        P, values, Q = np.linalg.svd(first.shrunk.T @ second.shrunk, full_matrices=False)
        kept = slice(0, min(self.n_components, int(np.sum(values > rounding(first.gram)))))
        self.singular_values_, P, Q = values[kept], P[:, kept], Q[kept].T
        f = first.scores(P)
        self.correlations_ = _correlations(f, second.scores(Q), first.share[used])
        signs = signs_of(f)
        self._keep_expansion(X, *first.functions(P * signs))
        other._keep_expansion(Y, *second.functions(Q * signs))

    def transform(self, X, y=None):
        """The values of the functions.

        Parameters
        ----------
        X : n samples of the first view
        y : m samples of the second view, default=None

        Returns
        -------
        ndarray of shape (n, n_components)
            f(x) of every pair; if there is y, two arrays: f(x), and g(y) of shape (m, n_components).
        """
        check_is_fitted(self)
        values = self._raw_decision(X)
        return values if y is None else (values, self.view_y_.values(y))

    def score(self, X, y):
        """The mean correlation of the pairs of functions, for two views of other samples.

        Parameters
        ----------
        X : n samples of the first view
        y : n samples of the second view

        Returns
        -------
        float
        """
        f, g = self.transform(X, y)
        return float(np.mean(_correlations(f, g, np.full(len(f), 1.0 / len(f))))) if f.shape[1] else 0.0


class SecondView(KernelMachine):
    """The functions of the second view, which may be one number for every sample."""

    def __init__(self, kernel="rbf", memory="auto", n_threads=None):
        self.kernel = kernel
        self.memory = memory
        self.n_threads = n_threads

    def values(self, y: Any) -> np.ndarray:
        """The functions at samples, shape (n, n_components)."""
        with limit_threads(self.n_threads):
            return self._decision_of(*self._compared(self._check_new(y)))

    def _columns(self, y: Any) -> Any:
        """A row for every sample, where samples are vectors."""
        if not self._vectors() or isinstance(y, Mapping):
            return y
        y = check_array(y, ensure_2d=False, input_name="y", **VECTORS)
        return y[:, np.newaxis] if y.ndim == 1 else y

    def _take_samples(self, X: Any, y: Any = "no_validation", **check_y: Any) -> Any:
        return super()._take_samples(self._columns(X), y, **check_y)

    def _check_new(self, X: Any) -> Any:
        return super()._check_new(self._columns(X))


class HalfProblem:
    """One view: A = U S U' of the centred kernel matrix with its weights.

    With coordinates p of length one, and Z = U (S / (S + alpha))^(1/2), the values of the function at the samples are
    Z p, and its coefficients U (S (S + alpha))^(-1/2) p, but for weights and scale.
    """

    def __init__(self, gram: Gram, weight: np.ndarray, alpha: float):
        if not isinstance(gram, MatrixGram):  # all of it is needed, in float64 whatever the samples are
            gram = MatrixGram.of_checked(gram.square(np.arange(gram.n)), None)
        self.gram, self.weight, self.used = gram, weight, np.flatnonzero(weight)
        self.share = weight / weight.sum()
        self.with_mean = gram.dot(self.share)
        A = Weighing(gram, True, weight).matrix()[np.ix_(self.used, self.used)]
        values, vectors = np.linalg.eigh(A)
        zero = negligible(gram, max(float(values[-1]), 0.0), weight.sum() * (self.share @ self.with_mean))
        if values[0] < -zero:
            raise indefinite("KernelCCA", values[0], "this one, seen from its mean,")
        self.values, self.vectors = values[values > zero], vectors[:, values > zero]
        self.root, self.alpha = np.sqrt(weight[self.used])[:, np.newaxis], alpha
        self.shrunk = self.vectors * np.sqrt(self.values / (self.values + alpha))

    @property
    def rank(self) -> int:
        return len(self.values)

    def scores(self, p: np.ndarray) -> np.ndarray:
        """Values of the functions at the samples of positive weight, for coordinates p in columns."""
        return np.sqrt(self.weight.sum()) * (self.shrunk @ p) / self.root

    def functions(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients over all samples, one function in each row, and offsets."""
        coefficients = np.zeros((p.shape[1], self.gram.n))
        scaled = p / np.sqrt(self.values * (self.values + self.alpha))[:, np.newaxis]
        coefficients[:, self.used] = np.sqrt(self.weight.sum()) * (self.root * (self.vectors @ scaled)).T
        coefficients -= np.outer(coefficients.sum(axis=1), self.share)
        return coefficients, -coefficients @ self.with_mean


def _correlations(f: np.ndarray, g: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Of corresponding columns; 0 where one is constant."""
    f, g = f - share @ f, g - share @ g
    size = np.sqrt((share @ f**2) * (share @ g**2))
    return np.divide(share @ (f * g), size, out=np.zeros_like(size), where=size > 0)
