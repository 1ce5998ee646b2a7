"""Clusters as parts of the graph of similarities."""

import time
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn.base import ClusterMixin
from sklearn.utils import check_random_state

from mercer.cluster.kernel_kmeans import ClusteringResult
from mercer.cluster.lloyd import best_of, drawn_starts, lloyd
from mercer.gram import Gram, LinearGram, MatrixGram
from mercer.gram.checks import as_matrix
from mercer.gram.sources import stored
from mercer.kernels.samples import n_samples, row_blocks
from mercer.machines import KernelMachine
from mercer.parameters import Number
from mercer.threads import limit_threads

__all__ = ["SpectralClustering"]

# Up to so many samples eigenvectors come from LAPACK, above that by Lanczos' method.
DENSE_SIZE = 1500
# Eigenvalues of the normalised similarities, which are 1 at most, up to here are zero: their vectors mean nothing.
ZERO = 1e-10
# An eigenvalue that is larger by so much than one that was found has been missed.
MISSED = 1e-6
# Restarts of Lanczos' method, with some 20 products each: with one for so many samples of a stored matrix, though no
# fewer than some, it takes about as long as LAPACK, which is the way out.
MIN_RESTARTS, SAMPLES_PER_RESTART = 50, 20
MAX_ITER = 300


class SpectralClustering(ClusterMixin, KernelMachine):
    r"""Clusters as parts of the graph of similarities that are easily cut from each other.

    .. math:: \min_c \sum_{m} \frac{\sum_{c_i = m \ne c_j} k(x_i, x_j)}{\sum_{c_i = m} d_i}, \qquad
              d_i = \sum_j |k(x_i, x_j)|

    cuts little similarity between parts of like size, and is hard. Relaxed to numbers, its solutions are the leading
    eigenvectors of the normalised similarities [1]_ [2]_,

    .. math:: D^{-1/2} K D^{-1/2} u = \lambda u.

    They are coordinates of the samples; each sample is scaled to length one there, and k-means finds the clusters.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples, see `mercer.kernels`. It need not be positive semi-definite; negative values keep samples
        apart [3]_. "precomputed": X is the kernel matrix.
    n_clusters : int >= 1, default=8
        How many clusters, and eigenvectors.
    n_init : int >= 1, default=10
        Starts of k-means, by k-means++; the best end is kept.
    random_state : int, RandomState or None, default=0
        Draws the starts.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values.
    n_threads : int or None, default=None
        Threads of the kernel.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        The cluster of every sample.
    eigenvalues_ : ndarray of shape (n_components,)
        λ, from the largest. For similarities >= 0 as many are 1 as there are parts without connection; a step down
        after the k-th speaks for k clusters.
    embedding_ : ndarray of shape (n, n_components)
        The coordinates, of length one; at most `n_clusters`, fewer where the similarities span less.
    result_ : ClusteringResult
        Of k-means with these coordinates.
    dual_coef_, intercept_ : ndarray of shape (n_components, n_support), (n_components,)
        Coordinates of any sample are ``K(X, support_vectors_) @ dual_coef_.T + intercept_``, scaled to length one; the
        intercepts are zero.
    support_, support_vectors_ : ndarray, samples
        Numbers of the samples that these need, and the samples.
    kernel_ : Kernel or "precomputed"
        The kernel, with its data-dependent parameters resolved.

    See Also
    --------
    KernelKMeans : For clusters about means in feature space.
    sklearn.cluster.SpectralClustering : With graphs of neighbours; without clusters for new samples.

    Notes
    -----
    Time O(n^3) up to 1500 samples, O(n^2) for each of some tens to hundreds of Lanczos steps above that, and O(n^3)
    where these do not converge; the matrix is stored if half of `memory` is enough. The similarity of a sample to
    itself counts as any other, so that the clusters of new samples (the Nyström extension of the eigenvectors) are
    those of training where the samples are the same. Equal up to rounding for any number of threads and order of the
    samples.

    References
    ----------
    .. [1] J. Shi, J. Malik, Normalized cuts and image segmentation, 2000.
    .. [2] A. Y. Ng, M. I. Jordan, Y. Weiss, On spectral clustering: analysis and an algorithm, 2002.
    .. [3] J. Kunegis et al., Spectral analysis of signed graphs for clustering, prediction and visualization, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SpectralClustering
    >>> from mercer.kernels import RBF
    >>> angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> machine = SpectralClustering(RBF(gamma=10.0), n_clusters=2).fit(np.concatenate([ring, 3 * ring]))
    >>> np.unique(machine.labels_[:60]).size, np.unique(machine.labels_[60:]).size
    (1, 1)
    >>> bool(machine.predict([[0.0, 1.1]])[0] == machine.labels_[0])
    True
    """

    _parameters: ClassVar[dict[str, Any]] = {
        "n_clusters": Number(1, integer=True),
        "n_init": Number(1, integer=True),
    }

    def __init__(self, kernel="rbf", *, n_clusters=8, n_init=10, random_state=0, memory="auto", n_threads=None):
        self.kernel = kernel
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.random_state = random_state
        self.memory = memory
        self.n_threads = n_threads

    def fit(self, X, y=None):
        """Find clusters.

        Parameters
        ----------
        X : samples of shape (n, n_features), or as the kernel takes them
            The n x n kernel matrix if ``kernel="precomputed"``.
        y : ignored

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
        if (n := n_samples(X)) < self.n_clusters:
            raise ValueError(f"n_clusters={self.n_clusters} is more than there are samples, n_samples={n}.")
        begun, weight = time.perf_counter(), np.ones(n)
        with limit_threads(self.n_threads):
            gram = stored(self._make_gram(X, weight), self.memory)
            degrees = _degrees(gram)
            self.eigenvalues_, vectors = _leading(gram, degrees, self.n_clusters)
            self.embedding_ = _of_length_one(vectors)
            inner = LinearGram(self.embedding_)
            starts = drawn_starts(inner, weight, self.n_clusters, self.n_init, check_random_state(self.random_state))
            run, objectives = best_of(lloyd(inner, weight, starts, self.n_clusters, MAX_ITER, single_moves=True))
        clusters = run.clusters
        self.labels_ = clusters.labels
        members = (clusters.labels == np.arange(self.n_clusters)[:, np.newaxis]) / clusters.totals[:, np.newaxis]
        self._centres = members @ self.embedding_
        # K D^(-1/2) u / λ is D^(1/2) u where samples are those of training; the factor of D is lost in the scaling.
        self._keep_expansion(X, (vectors / np.sqrt(degrees)[:, np.newaxis] / self.eigenvalues_).T, 0.0)
        self.result_ = ClusteringResult(
            objective=clusters.objective,
            violation=clusters.best_single_move[2],
            n_iter=run.n_iter,
            status=run.status,
            seconds=time.perf_counter() - begun,
            objectives=objectives,
        )

    def predict(self, X):
        """The clusters of samples, new ones too, by their coordinates.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n,)
        """
        places = _of_length_one(self._raw_decision(X))
        return (places @ self._centres.T - 0.5 * (self._centres**2).sum(axis=1)).argmax(axis=1)


def _degrees(gram: Gram) -> np.ndarray:
    """The sums of the absolute similarities of every sample; 1 for those that are similar to nothing."""
    degrees = np.empty(gram.n)
    for block in row_blocks(gram.n, gram.n):
        degrees[block] = np.abs(gram.rows(np.arange(block.start, block.stop))).sum(axis=1)
    return np.where(degrees > 0, degrees, 1.0)


def _leading(gram: Gram, degrees: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The largest eigenvalues of the normalised similarities that are above zero, k at most, with their vectors."""
    scale = 1.0 / np.sqrt(degrees)
    if gram.n > max(DENSE_SIZE, 2 * k):
        try:
            values, vectors = _by_lanczos(gram, scale, k)
        except ArpackNoConvergence as error:  # too many of nearly the same size
            if not isinstance(gram, MatrixGram):
                raise ValueError(
                    f"Lanczos' method does not find the {k} leading eigenvectors, too many eigenvalues are nearly the "
                    "same: take a wider kernel, or more memory, so that the matrix can be stored."
                ) from error
            values, vectors = _of_matrix(gram, scale, k)
    else:
        values, vectors = _of_matrix(gram, scale, k)
    order = np.argsort(-values, kind="stable")
    order = order[values[order] > ZERO]
    if not len(order):
        raise ValueError("All similarities are negative or zero: there is nothing that holds clusters together.")
    return values[order], np.ascontiguousarray(vectors[:, order])


def _by_lanczos(gram: Gram, scale: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """By ARPACK, which can miss one of several that are nearly equal: so it looks again beside those it has found."""
    n, rng = gram.n, np.random.default_rng(0)
    values, vectors = np.empty(0), np.empty((n, 0))

    def product(v: np.ndarray) -> np.ndarray:
        v = v.ravel()
        return scale * gram.dot(scale * v) - vectors @ (values * (vectors.T @ v))

    def largest(count: int, tol: float) -> tuple[np.ndarray, np.ndarray]:
        operator = LinearOperator((n, n), matvec=product, dtype=np.float64)
        restarts = max(MIN_RESTARTS, n // SAMPLES_PER_RESTART) if isinstance(gram, MatrixGram) else n
        return eigsh(operator, k=count, which="LA", v0=rng.standard_normal(n), maxiter=restarts, tol=tol)

    values, vectors = largest(k, 0.0)
    while True:
        (value,), (vector,) = (found.T for found in largest(1, MISSED))
        weakest = values.argmin()
        if value <= values[weakest] + MISSED:
            return values, vectors
        values[weakest], vectors[:, weakest] = value, vector


def _of_matrix(gram: Gram, scale: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    matrix = as_matrix(gram) * scale[:, np.newaxis] * scale
    return eigh(matrix, subset_by_index=[gram.n - k, gram.n - 1], overwrite_a=True, check_finite=False)


def _of_length_one(places: np.ndarray) -> np.ndarray:
    """Rows scaled to length one; those of zeros stay."""
    lengths = np.linalg.norm(places, axis=1, keepdims=True)
    return places / np.where(lengths > 0, lengths, 1.0)
