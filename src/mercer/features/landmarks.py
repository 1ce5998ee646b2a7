"""Features from kernel values with some of the training samples."""

from typing import Any, ClassVar

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.utils import check_random_state

from mercer.devices import DeviceGram, Place
from mercer.devices.arrays import from_device
from mercer.errors import DomainError
from mercer.features.approximation import Approximation
from mercer.features.centres import centres_of
from mercer.gram import Gram, MatrixGram, low_rank
from mercer.gram.leverage import approximate_leverage, drawn_without_replacement
from mercer.gram.low_rank import spanning
from mercer.kernels.samples import n_samples, row_blocks, to_numpy
from mercer.parameters import Choice, Number
from mercer.threads import quiet_blas

__all__ = ["Nystroem"]

# Rules by which every landmark depends on those before it.
ONE_BY_ONE = ("random", "greedy")


class Nystroem(Approximation):
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
    pivots : {"random", "greedy", "uniform", "leverage", "kmeans"}, default="random"
        How landmarks are chosen.

        - "random": one after the other, with a chance in proportion to what those before it do not explain of it [2]_;
        - "greedy": the one of which most is unexplained: with `tolerance`, the incomplete Cholesky factorisation [3]_;
        - "uniform": all with the same chance, as in scikit-learn, without looking at the other samples;
        - "leverage": with a chance in proportion to approximate ridge leverage scores, by recursion [4]_: samples
          that a machine with the penalty `ridge` could not do without;
        - "kmeans": the middles of groups of vectors, by Lloyd's algorithm on 20 000 of them at most [5]_. They are no
          samples. For kernels on vectors that fall with the distance.
    tolerance : float >= 0 and < 1, default=0.0
        Enough landmarks when the share of the trace that is lost is at most this; for "random" and "greedy". Larger
        gives fewer.
    ridge : float > 0 or None, default=None
        For "leverage", the penalty :math:`\lambda` in the scores :math:`(K (K + \lambda I)^{-1})_{ii}`, as `alpha` of
        `KernelRidge`. Larger looks at the main directions alone. None: such that the scores add up to a quarter of
        `n_components`.
    random_state : int, RandomState or None, default=0
        Draws the landmarks, and the samples that errors are estimated at.
    device : str, torch.device or None, default=None
        Where kernel values and factors are made: "cuda", a GPU, by PyTorch, or "cpu", by the same code. None: the
        native core.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values.
    n_threads : int or None, default=None
        Threads for kernel values.

    Attributes
    ----------
    support_, support_vectors_ : ndarray, samples
        Numbers of the landmarks, in the order in which they were chosen, and the landmarks. For "kmeans", whose
        landmarks are means, the numbers are those of the samples nearest to them.
    dual_coef_ : ndarray of shape (n_components, n_components)
        The inverse of L.
    intercept_ : ndarray of shape (n_components,)
        Zeros.
    unexplained_, unexplained_uncertainty_ : float
        The share of the trace of the kernel matrix of the training samples that is lost, and its standard error. It is
        exact, with standard error 0, for "random", "greedy" and "leverage", and for up to 512 samples; else, and for
        samples in blocks, an unbiased estimate from 512 draws.
    kernel_error_, kernel_error_uncertainty_ : float
        The root mean square of :math:`k(x, x') - \phi(x) \cdot \phi(x')` over all pairs of training samples, and its
        standard error: from the pairs of 512 draws, or exactly where there are no more samples.
    ridge_ : float
        For "leverage", the penalty.
    kernel_ : Kernel or "precomputed"
        The kernel, with its data-dependent parameters resolved.

    See Also
    --------
    mercer.gram.low_rank : The factor of the kernel matrix behind it.
    RandomFourier : Landmarks in the space of frequencies, without looking at the samples.
    PolynomialSketch : Polynomials of very many features.
    MercerMap : The best features of all, from all samples.
    sklearn.kernel_approximation.Nystroem : The same features turned by a rotation, for uniform landmarks.

    Notes
    -----
    For n samples and m landmarks, time O(n m^2) and n m kernel values, memory O(n m); "leverage" takes three times as
    many, in blocks. "uniform" takes O(m^3) and m^2 kernel values, "kmeans" the same and O(min(n, 20000) m d) for each
    of 20 steps. The errors take 512 m kernel values more, and 512^2. By BLAS: equal up to rounding for any number of
    threads. A kernel that the landmarks show to be indefinite is refused with `IndefiniteError`.

    Of samples in blocks (`mercer.data.RowBlocks`, Dask), four times `n_components` are drawn, among which landmarks are
    chosen and from which the kernel takes its numbers. They and the draws of the errors are read in one pass.

    Sample weights are chances and parts of the trace: weight 2 has the chance of two samples.

    References
    ----------
    .. [1] C. K. I. Williams, M. Seeger, Using the Nyström method to speed up kernel machines, NIPS 2000.
    .. [2] Y. Chen, E. N. Epperly, J. A. Tropp, R. J. Webber, Randomly pivoted Cholesky, 2025.
    .. [3] S. Fine, K. Scheinberg, Efficient SVM training using low-rank kernel representations, JMLR 2, 2001.
    .. [4] C. Musco, C. Musco, Recursive sampling for the Nyström method, NIPS 2017, algorithm 2.
    .. [5] K. Zhang, I. W. Tsang, J. T. Kwok, Improved Nyström low-rank approximation and error analysis, ICML 2008.

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

    As many landmarks as a tolerance asks for:

    >>> features = Nystroem("rbf", n_components=200, pivots="greedy", tolerance=0.01).fit(X)
    >>> len(features.support_) < 40, features.unexplained_ <= 0.01
    (True, True)
    """

    _parameters: ClassVar[dict[str, Any]] = {
        "n_components": Number(1, integer=True),
        "pivots": Choice(*ONE_BY_ONE, "uniform", "leverage", "kmeans"),
        "tolerance": Number(0, 1, below=True),
        "ridge": Number(0, above=True, none=True),
    }

    def __init__(
        self,
        kernel="rbf",
        n_components=100,
        pivots="random",
        tolerance=0.0,
        ridge=None,
        random_state=0,
        device=None,
        memory="auto",
        n_threads=None,
    ):
        self.kernel = kernel
        self.n_components = n_components
        self.pivots = pivots
        self.tolerance = tolerance
        self.ridge = ridge
        self.random_state = random_state
        self.device = device
        self.memory = memory
        self.n_threads = n_threads

    _fits_tensors = True

    def _check_all(self) -> None:
        super()._check_all()
        if self.tolerance and self.pivots not in ONE_BY_ONE:
            raise ValueError(
                f"tolerance must be 0 with pivots={self.pivots!r}, got {self.tolerance}; with 'random' and 'greedy' "
                "landmarks come one after the other, and what is left is known after each."
            )
        if self.pivots == "kmeans" and (self._precomputed or not self._vectors()):
            raise DomainError(
                "pivots='kmeans' takes means of vectors, which samples of other kinds do not have, got "
                f"kernel={self.kernel!r}; use 'random' or 'leverage'."
            )

    def _fit(self, X: Any, weight: np.ndarray) -> None:
        with quiet_blas(self.n_components):
            self._choose(X, weight)

    def _choose(self, X: Any, weight: np.ndarray) -> None:
        rng = check_random_state(self.random_state)
        gram = self._make_gram(X, weight)
        unexplained = None
        if self.pivots in ONE_BY_ONE:
            unequal = None if np.all(weight == weight[0]) else weight
            found, residual = spanning(gram, self.n_components, self.pivots, self.tolerance, rng, unequal)
            self.support_, triangle = found.pivots, found.triangle()
            unexplained = self._share(gram, weight, residual)
        elif self.pivots == "kmeans":
            spec = self.kernel_.native()
            centres, nearest = centres_of(from_device(X), self.n_components, weight, spec and spec.weights, rng)
            kept, triangle = _basis(self._gram_over(centres), np.arange(centres.shape[0]))
            self.support_ = nearest[kept]
        else:
            chances = weight
            if self.pivots == "leverage":
                chances, self.ridge_ = approximate_leverage(gram, self.n_components, self.ridge, weight, rng)
            drawn = drawn_without_replacement(chances, self.n_components, rng)
            kept, triangle = _basis(gram, drawn)
            self.support_ = drawn[kept]
        m = len(self.support_)
        self.dual_coef_ = _inverse(triangle, self._place) if m else np.empty((0, 0))
        self.intercept_ = np.zeros(m)
        self._keep_support(X)
        if self.pivots == "kmeans":
            self.support_vectors_ = centres[kept].astype(self.support_vectors_.dtype, copy=False)
        if self.pivots == "leverage":  # a pass like those that the scores have taken
            unexplained = self._share(gram, weight, self._residual(gram))
        self._judge(X, weight, rng, unexplained)

    def _choice(self) -> dict[str, np.ndarray]:
        """What a fit has found, but for the landmarks themselves where these are samples."""
        errors = (self.unexplained_, self.unexplained_uncertainty_, self.kernel_error_, self.kernel_error_uncertainty_)
        found = {"support": self.support_, "dual_coef": self.dual_coef_, "errors": np.array(errors)}
        if self.pivots == "leverage":
            found["ridge"] = np.array(self.ridge_)
        return found | ({"centres": self.support_vectors_} if self.pivots == "kmeans" else {})

    def _choose_again(self, X: Any, choice: dict[str, np.ndarray]) -> None:
        """As a fit to the same samples that has found this."""
        self._check_all()
        X = self._take_samples(X)
        self._resolve_kernel(X, np.ones(n_samples(X)))
        self.support_, self.dual_coef_ = choice["support"], choice["dual_coef"]
        self.intercept_ = np.zeros(len(self.support_))
        errors = choice["errors"].tolist()
        self.unexplained_, self.unexplained_uncertainty_, self.kernel_error_, self.kernel_error_uncertainty_ = errors
        if self.pivots == "leverage":
            self.ridge_ = float(choice["ridge"])
        self._keep_support(X)
        if self.pivots == "kmeans":
            self.support_vectors_ = choice["centres"]

    def _residual(self, gram: Gram) -> np.ndarray:
        """What the landmarks leave of the squared length of every sample."""
        residual = gram.diag()
        for block in row_blocks(gram.n, max(1, len(self.support_))):
            F = gram.part(np.arange(block.start, block.stop), self.support_) @ self.dual_coef_.T
            residual[block] -= np.einsum("ij,ij->i", F, F)
        return np.maximum(residual, 0.0)

    @staticmethod
    def _share(gram: Gram, weight: np.ndarray, residual: np.ndarray) -> float:
        trace = float(weight @ gram.diag())
        return float(weight @ residual) / trace if trace > 0 else 0.0


def _basis(gram: Gram, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which of some samples the others do not span, and the triangle L of these."""
    if isinstance(gram, DeviceGram):
        return gram.independent(which)
    K = gram.square(which).astype(gram.dtype if isinstance(gram, MatrixGram) else np.float64, copy=False)
    found = low_rank(K, len(K), pivots="greedy")
    return found.pivots, found.factor[found.pivots]


def _inverse(triangle: np.ndarray, place: Place | None) -> np.ndarray:
    """The inverse of a lower triangle."""
    if place is None:
        return solve_triangular(triangle, np.eye(len(triangle)), lower=True)
    torch = place.torch
    return to_numpy(torch.linalg.solve_triangular(place.tensor(triangle), place.identity(len(triangle)), upper=False))
