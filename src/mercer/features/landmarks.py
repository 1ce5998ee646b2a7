"""Features from kernel values with some of the training samples."""

from typing import Any, ClassVar

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.utils import check_random_state

from mercer.gram import Gram, MatrixGram, low_rank
from mercer.gram.low_rank import PIVOTS
from mercer.machines import KernelTransformer
from mercer.parameters import Number
from mercer.threads import limit_threads

__all__ = ["Nystroem"]


class Nystroem(KernelTransformer):
    r"""Features from kernel values with some training samples, the landmarks S.

    .. math:: \phi(x) = L^{-1} (k(x, s))_{s \in S}, \qquad K_{SS} = L L^T

    They are coordinates of the projection of a sample onto the span of the landmarks, so that
    :math:`\phi(x) \cdot \phi(x')` is k(x, x') where one of the two is a landmark, and its best approximation
    elsewhere. A linear machine on them approximates the machine with the kernel, in time linear in the number of
    samples.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples, see `mercer.kernels`: vectors, strings, graphs. "precomputed": X is the kernel matrix.
    n_components : int >= 1, default=100
        How many landmarks, at most: samples that those before them explain are left out. Larger is more exact.
    pivots : {"random", "greedy", "uniform"}, default="random"
        How landmarks are chosen. "random": one after the other, with a chance in proportion to what those before it do
        not explain of it [2]_; "greedy": the one of which most is unexplained; "uniform": all with the same chance, as
        in scikit-learn, without looking at the other samples.
    random_state : int, RandomState or None, default=0
        Draws the landmarks.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values.
    n_threads : int or None, default=None
        Threads for kernel values.

    Attributes
    ----------
    support_, support_vectors_ : ndarray, samples
        Numbers of the landmarks, in the order in which they were chosen, and the landmarks.
    dual_coef_ : ndarray of shape (n_components, n_components)
        The inverse of L.
    intercept_ : ndarray of shape (n_components,)
        Zeros.
    unexplained_ : float
        The share of the trace of the kernel matrix of the training samples that is lost; NaN for "uniform", which does
        not look at all of them.
    kernel_ : Kernel or "precomputed"
        The kernel, with its data-dependent parameters resolved.

    See Also
    --------
    mercer.gram.low_rank : The factor of the kernel matrix behind it.
    RandomFourier : Landmarks in the space of frequencies, without looking at the samples.
    MercerMap : The best features of all, from all samples.
    sklearn.kernel_approximation.Nystroem : The same features turned by a rotation, for uniform landmarks.

    Notes
    -----
    For n samples and m landmarks, time O(n m^2) and n m kernel values, memory O(n m); "uniform" takes O(m^3) and m^2
    kernel values. By BLAS: equal up to rounding for any number of threads. A kernel that the landmarks show to be
    indefinite is refused with `IndefiniteError`.

    References
    ----------
    .. [1] C. K. I. Williams, M. Seeger, Using the Nyström method to speed up kernel machines, NIPS 2000.
    .. [2] Y. Chen, E. N. Epperly, J. A. Tropp, R. J. Webber, Randomly pivoted Cholesky, 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LinearSVC, Nystroem
    >>> from sklearn.pipeline import make_pipeline
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = (X**2).sum(axis=1) > 1.4
    >>> machine = make_pipeline(Nystroem("rbf", n_components=40), LinearSVC())
    >>> bool(machine.fit(X, y).score(X, y) > 0.95)
    True
    """

    _parameters: ClassVar[dict[str, Any]] = {"n_components": Number(1, integer=True), "pivots": PIVOTS}

    def __init__(self, kernel="rbf", n_components=100, pivots="random", random_state=0, memory="auto", n_threads=None):
        self.kernel = kernel
        self.n_components = n_components
        self.pivots = pivots
        self.random_state = random_state
        self.memory = memory
        self.n_threads = n_threads

    def fit(self, X, y=None):
        """Choose landmarks.

        Parameters
        ----------
        X : samples of shape (n, n_features), or as the kernel takes them
            The n x n kernel matrix if ``kernel="precomputed"``.
        y : None
            Not used.

        Returns
        -------
        self
        """
        with self._all_or_nothing():
            self._fit(X)
        return self

    def _fit(self, X: Any) -> None:
        self._check_all()
        X = self._take_samples(X)
        weight = self._weights(None, X)
        rng = check_random_state(self.random_state)
        with limit_threads(self.n_threads):
            gram = self._make_gram(X, weight)
            self.support_, triangle = self._landmarks(gram, rng)
        m = len(self.support_)
        self.dual_coef_ = solve_triangular(triangle, np.eye(m), lower=True) if m else np.empty((0, 0))
        self.intercept_ = np.zeros(m)
        self._keep_support(X)

    def _landmarks(self, gram: Gram, rng: Any) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of landmarks, and the triangle L of their kernel matrix."""
        if self.pivots == "uniform":
            drawn = rng.permutation(gram.n)[: self.n_components]
            square = gram.square(drawn)
            if isinstance(gram, MatrixGram):  # what its entries are exact to
                square = square.astype(gram.dtype, copy=False)
            found = low_rank(square, len(drawn), pivots="greedy", random_state=rng)
            self.unexplained_ = np.nan
            return drawn[found.pivots], found.factor[found.pivots]
        found = low_rank(gram, self.n_components, pivots=self.pivots, random_state=rng)
        trace = float(gram.diag().sum())
        self.unexplained_ = found.error / trace if trace > 0 else 0.0
        return found.pivots, found.factor[found.pivots]
