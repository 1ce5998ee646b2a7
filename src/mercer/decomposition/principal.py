"""Kernel principal component analysis."""

from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_array, check_is_fitted

from mercer.decomposition.preimages import fit_ridge, fixed_point
from mercer.errors import DomainError
from mercer.kernels import RBF, as_kernel
from mercer.kernels.samples import take
from mercer.machines import SpectralMachine
from mercer.parameters import Choice, Number
from mercer.threads import limit_threads

__all__ = ["KernelPCA"]


class KernelPCA(SpectralMachine):
    r"""Kernel principal component analysis: the directions of feature space in which samples vary most.

    .. math::

        \max_{\|v\| = 1,\; v \perp v_1, v_2, \ldots} \sum_i \omega_i \langle v, \phi(x_i) - m \rangle^2,
        \qquad m = \frac{\sum_i \omega_i \phi(x_i)}{\sum_i \omega_i}

    The solutions are :math:`v = \sum_i \alpha_i (\phi(x_i) - m)`, where :math:`\sqrt{\lambda}\, \alpha` are the leading
    eigenvectors of the centred kernel matrix, of length one, and :math:`\lambda` their eigenvalues. Only the wanted
    ones are computed, and `result_` has their residuals.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples, see `mercer.kernels`: vectors, strings, graphs. "precomputed": X is the kernel matrix.
    n_components : int >= 1 or None, default=None
        How many directions, at most: those without any variance are left out. None: all.
    fit_inverse_transform : bool, default=False
        Whether `inverse_transform` is learnt from the training samples, by ridge regression [3]_. If not, there is one
        for `RBF` only, by fixed point iteration [2]_.
    alpha : float > 0, default=1.0
        The ridge of that regression; larger means smoother.
    eigen_solver : {"auto", "dense", "lanczos"}, default="auto"
        All eigenvectors by LAPACK, or those that are wanted by Lanczos' method, see
        `mercer.gram.leading_eigenpairs`. "auto": dense for up to 200 samples, or where more than one direction in eight
        is wanted.
    tol : float >= 0, default=1e-10
        Largest residual of an eigenvector, as a share of the largest eigenvalue; smaller is more exact and slower.
    max_iter : int >= 1 or None, default=None
        Most products with the kernel matrix in Lanczos' method; None: ten for every sample.
    random_state : int, RandomState or None, default=0
        Draws the vector from which Lanczos' method starts; the directions do not depend on it beyond `tol`.
    device : str, torch.device or None, default=None
        Where the kernel matrix is and products with it are made: "cuda", a GPU, by PyTorch, or "cpu", by the same code.
        None: the native core.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values. If the matrix takes more than half of it, it is made anew for every product.
    n_threads : int or None, default=None
        Threads for kernel values.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Of the centred kernel matrix, from the largest on: the sums of squares that the directions explain.
    explained_variance_ : ndarray of shape (n_components,)
        The variances of the coordinates, `eigenvalues_` over the sum of the weights (without weights, the number of
        samples) less one; NaN if that is not positive.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Their shares in the variance of all directions, those that were not asked for included.
    eigenvectors_ : ndarray of shape (n_support, n_components)
        Eigenvectors of the centred kernel matrix, of length one; with weights, of the matrix A of
        `mercer.gram.leading_eigenpairs`.
    result_ : Eigenpairs
        The certificate: residuals, method, number of products.
    n_iter_ : int
        Products with the kernel matrix; 1 if all eigenvectors were computed at once.
    dual_coef_ : ndarray of shape (n_components, n_support)
        The directions as combinations of images of samples; the centring is part of it.
    intercept_ : ndarray of shape (n_components,)
        Minus the coordinates of the mean.
    support_, support_vectors_ : ndarray, samples
        Numbers of the training samples with a positive weight, and the samples.
    kernel_ : Kernel or "precomputed"
        The kernel, with its data-dependent parameters resolved.

    See Also
    --------
    mercer.features.MercerMap : Not centred: coordinates with the kernel as inner product.
    mercer.features.Nystroem : From some columns of the matrix, for many samples.
    mercer.compat.sklearn.KernelPCA : With the parameters and attributes of scikit-learn's class.

    Notes
    -----
    Time O(n^2) for kernel values and for every product, of which there are some 3 to 8 for each direction and 50 at the
    least, four in one pass over the matrix; O(n^3) if dense. Memory O(n^2), or O(n) times the directions where the
    matrix does not fit. A direction has either sign: the sample with the largest coordinate has a positive one. By
    LAPACK and BLAS: equal up to rounding for any number of threads. A kernel whose centred matrix has negative
    eigenvalues is refused with `IndefiniteError`. Centring in feature space costs digits where the mean is much longer
    than the samples are apart, and directions below this rounding are left out: with a linear or polynomial kernel,
    centre such features first.

    References
    ----------
    .. [1] B. Schölkopf, A. Smola, K.-R. Müller, Nonlinear component analysis as a kernel eigenvalue problem, Neural
       Computation 10, 1998; J.-P. Vert, K. Tsuda, B. Schölkopf, A primer on kernel methods, 2004, section 1.3.4;
       C. C. Aggarwal, Data Mining: The Textbook, 2015, section 10.6.4.1.
    .. [2] S. Mika et al., Kernel PCA and de-noising in feature spaces, NIPS 1998, eq. 10.
    .. [3] G. Bakır, J. Weston, B. Schölkopf, Learning to find pre-images, NIPS 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    >>> rings = np.vstack([r * np.column_stack([np.cos(angle), np.sin(angle)]) for r in (1.0, 3.0)])
    >>> machine = KernelPCA("rbf", n_components=3).fit(rings)
    >>> machine.transform(rings[[0, 40]]).shape
    (2, 3)
    >>> bool(machine.result_.violation < 1e-12)
    True
    """

    _parameters: ClassVar[dict[str, Any]] = SpectralMachine._parameters | {
        "fit_inverse_transform": Choice(True, False),
        "alpha": Number(0, above=True),
    }
    _centred = True

    def __init__(
        self,
        kernel="rbf",
        n_components=None,
        fit_inverse_transform=False,
        alpha=1.0,
        eigen_solver="auto",
        tol=1e-10,
        max_iter=None,
        random_state=0,
        device=None,
        memory="auto",
        n_threads=None,
    ):
        self.kernel = kernel
        self.n_components = n_components
        self.fit_inverse_transform = fit_inverse_transform
        self.alpha = alpha
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.device = device
        self.memory = memory
        self.n_threads = n_threads

    def _check_all(self) -> None:
        super()._check_all()
        if self.fit_inverse_transform and (self._precomputed or not self._vectors()):
            raise ValueError(
                f"fit_inverse_transform must be False with kernel={self.kernel!r}: only vectors can be regressed on."
            )

    def _learn_more(self, X, scores, weight):
        total = float(weight.sum())
        self.explained_variance_ = self.eigenvalues_ / (total - 1) if total > 1 else np.full(scores.shape[1], np.nan)
        self._share = weight / total
        self._scores, self._regression = scores, None
        if self.fit_inverse_transform:
            if issparse(X):
                raise TypeError(
                    "fit_inverse_transform must be False for a sparse X: samples of any kind come back dense."
                )
            rows = take(X, self.support_).astype(np.float64, copy=False)
            self._regression = fit_ridge(as_kernel(self.kernel), scores, rows, self.alpha, weight)

    def inverse_transform(self, X):
        """Samples whose coordinates are near the given ones: pre-images.

        Parameters
        ----------
        X : array of shape (n, n_components)
            Coordinates.

        Returns
        -------
        ndarray of shape (n, n_features)
            Of the ridge regression if ``fit_inverse_transform=True``. Else, for `RBF`, the points whose image is
            nearest to the point with these coordinates and no others, as found from the training sample with the
            nearest coordinates.
        """
        check_is_fitted(self)
        Z = check_array(X, dtype=np.float64)
        if Z.shape[1] != len(self.dual_coef_):
            raise ValueError(
                f"X has {Z.shape[1]} columns, {type(self).__name__} has {len(self.dual_coef_)} components."
            )
        with limit_threads(self.n_threads):
            if self._regression is not None:
                kernel, coefficients, mean = self._regression
                return kernel.dot(Z, self._scores, coefficients) + mean
            if not isinstance(self.kernel_, RBF):
                raise DomainError(
                    f"{type(self).__name__} finds pre-images by fixed points for RBF only, got kernel={self.kernel!r}; "
                    "set fit_inverse_transform=True if samples are vectors."
                )
            samples = self.support_vectors_
            samples = (samples.toarray() if issparse(samples) else samples).astype(np.float64, copy=False)
            nearest = _nearest(Z, self._scores)
            return fixed_point(self.kernel_, samples, self._share + Z @ self.dual_coef_, samples[nearest])


def _nearest(Z: np.ndarray, to: np.ndarray) -> np.ndarray:
    """For every row of Z, the number of the nearest row of `to`."""
    squares = np.einsum("ij,ij->i", to, to)
    return (squares - 2 * Z @ to.T).argmin(axis=1)
