"""The feature map that training samples span."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mercer.features.approximation import Judged
from mercer.machines import SpectralMachine

__all__ = ["MercerMap"]


class MercerMap(Judged, SpectralMachine):
    r"""The data-specific feature map: coordinates of samples in the space that the training samples span.

    .. math:: K = U \Lambda U^T, \qquad \phi(x) = \Lambda^{-1/2} U^T\, (k(x, x_1), \ldots, k(x, x_n))^T

    The rows of :math:`U \Lambda^{1/2}` are the training samples: with all components their inner products are the
    kernel matrix, so that a linear machine on them is the machine with the kernel. With fewer components they are the
    best approximation of that rank. New samples are projected onto the same directions.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples, see `mercer.kernels`: vectors, strings, graphs. "precomputed": X is the kernel matrix.
    n_components : int >= 1 or None, default=None
        How many coordinates, at most: directions that no sample has are left out. None: all.
    eigen_solver : {"auto", "dense", "lanczos"}, default="auto"
        All eigenvectors by LAPACK, or those that are wanted by Lanczos' method, see
        `mercer.gram.leading_eigenpairs`.
    tol : float >= 0, default=1e-10
        Largest residual of an eigenvector, as a share of the largest eigenvalue; smaller is more exact and slower.
    max_iter : int >= 1 or None, default=None
        Most products with the kernel matrix in Lanczos' method; None: ten for every sample.
    random_state : int, RandomState or None, default=0
        Draws the vector from which Lanczos' method starts; the directions do not depend on it beyond `tol`.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values. If the matrix takes more than half of it, it is made anew for every product.
    n_threads : int or None, default=None
        Threads for kernel values.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Of the kernel matrix, from the largest on.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Their shares in the trace of the kernel matrix.
    unexplained_, unexplained_uncertainty_ : float
        The share of the trace that is lost, and 0: it is exact.
    kernel_error_, kernel_error_uncertainty_ : float
        The root mean square of :math:`k(x, x') - \phi(x) \cdot \phi(x')` over all pairs of training samples, and its
        standard error: from the pairs of 512 draws, or exactly where there are no more samples.
    eigenvectors_ : ndarray of shape (n_support, n_components)
        Eigenvectors of the kernel matrix, of length one; with weights, of the matrix A of
        `mercer.gram.leading_eigenpairs`.
    result_ : Eigenpairs
        The certificate: residuals, method, number of products.
    n_iter_ : int
        Products with the kernel matrix; 1 if all eigenvectors were computed at once.
    dual_coef_, intercept_ : ndarray of shape (n_components, n_support), zeros
        The coordinates as combinations of kernel values.
    support_, support_vectors_ : ndarray, samples
        Numbers of the training samples with a positive weight, and the samples.
    kernel_ : Kernel or "precomputed"
        The kernel, with its data-dependent parameters resolved.

    See Also
    --------
    mercer.decomposition.KernelPCA : Centred: directions of the largest variance.
    Nystroem : From some columns of the matrix, for many samples.
    ExplicitFeatures : The features that kernels on strings and graphs count, without any matrix.

    Notes
    -----
    Time O(n^3) for all components; O(n^2) for kernel values and some 3 to 8 products for each of a few. Memory O(n^2).
    A coordinate has either sign: the sample with the largest one has a positive one. By LAPACK and BLAS: equal up to
    rounding for any number of threads. A kernel matrix with negative eigenvalues is refused with `IndefiniteError`.

    References
    ----------
    .. [1] C. C. Aggarwal, Data Mining: The Textbook, 2015, section 10.6.4.1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.features import MercerMap
    >>> from mercer.kernels import Spectrum
    >>> words = ["gattaca", "cattaga", "tacocat"]
    >>> coordinates = MercerMap(Spectrum(2)).fit_transform(words)
    >>> bool(np.allclose(coordinates @ coordinates.T, Spectrum(2)(words)))
    True
    """

    _centred = False

    def __init__(
        self,
        kernel="rbf",
        n_components=None,
        eigen_solver="auto",
        tol=1e-10,
        max_iter=None,
        random_state=0,
        memory="auto",
        n_threads=None,
    ):
        self.kernel = kernel
        self.n_components = n_components
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.memory = memory
        self.n_threads = n_threads

    def _learn_more(self, X: Any, scores: np.ndarray, weight: np.ndarray) -> None:
        lost = max(0.0, 1.0 - float(self.explained_variance_ratio_.sum())) if self._total > 0 else 0.0
        everyone = np.zeros(self._n_train)
        everyone[self.support_] = weight
        self._judge(X, everyone, check_random_state(self.random_state), lost)
