"""Kernel principal component analysis."""

from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils.validation import check_array, check_is_fitted

from mercer.decomposition.preimages import fit_ridge, fixed_point
from mercer.errors import DomainError
from mercer.gram import LandmarkGram, leading_directions
from mercer.kernels import RBF, as_kernel
from mercer.machines import FullCertificate, LandmarkMachine, Landmarks, SpectralMachine
from mercer.machines.landmarks import WITHIN
from mercer.machines.spectral import negligible, signs_of
from mercer.parameters import Choice, Number
from mercer.threads import limit_threads

__all__ = ["KernelPCA"]


class KernelPCA(SpectralMachine, LandmarkMachine):
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
    approximation : int >= 1, Nystroem, MercerMap or None, default=None
        For many samples: how many of them, the landmarks, directions are expanded over, or the `Nystroem` or
        `MercerMap` that chooses them; more is more exact. None: all samples.
    device : str, torch.device or None, default=None
        Where the kernel matrix is and products with it are made: "cuda", a GPU, by PyTorch, or "cpu", by the same code.
        None: the native core.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values. If the matrix takes more than half of it, it is made anew for every product.
    n_threads : int or None, default=None
        Threads for kernel values.
    checkpoint : path, Checkpoint or None, default=None
        A file that keeps Lanczos' method while it runs, so that the same fit goes on from it after a kill; see
        `mercer.checkpoints.Checkpoint`. Where all eigenvectors are computed at once, it keeps the landmarks.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Of the centred kernel matrix, from the largest on: the sums of squares that the directions explain.
    explained_variance_ : ndarray of shape (n_components,)
        The variances of the coordinates, `eigenvalues_` over the sum of the weights (without weights, the number of
        samples) less one; NaN if that is not positive.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Their shares in the variance of all directions, those that were not asked for included. With an `approximation`,
        no less than these are explained: of the mean, what lies in the span of the landmarks is taken off.
    eigenvectors_ : ndarray of shape (n_support, n_components)
        Eigenvectors of the centred kernel matrix, of length one; with weights, of the matrix A of
        `mercer.gram.leading_eigenpairs`, and with an `approximation` of that of `mercer.gram.leading_directions`.
    result_ : Eigenpairs
        The certificate: residuals, method, number of products.
    n_iter_ : int
        Products with the kernel matrix; 1 if all eigenvectors were computed at once.
    dual_coef_ : ndarray of shape (n_components, n_support)
        The directions as combinations of images of samples; the centring is part of it.
    intercept_ : ndarray of shape (n_components,)
        Minus the coordinates of the mean.
    support_, support_vectors_ : ndarray, samples
        Numbers of the training samples with a positive weight, and the samples; with an `approximation`, the landmarks.
    approximation_ : Nystroem or MercerMap
        How the landmarks were chosen; with an `approximation` only. `full_certificate` tells what is lost.
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
    matrix does not fit. A direction has either sign: the sample, or landmark, with the largest coordinate has a
    positive one. By LAPACK and BLAS: equal up to rounding for any number of threads. A kernel whose centred matrix has
    negative eigenvalues is refused with `IndefiniteError`. Centring in feature space costs digits where the mean is
    much longer than the samples are apart, and directions below this rounding are left out: with a linear or polynomial
    kernel, centre such features first.

    Over m landmarks the directions are the best ones in their span: time O(n m^2 + m^3) if dense, and a pass over the
    samples that takes n m kernel values for 16 products by Lanczos' method. Memory O(m^2): no kernel values are stored,
    and samples may come in blocks (`mercer.data.RowBlocks`). Pre-images are learnt from the landmarks, or start from
    them.

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
        "approximation": Landmarks(WITHIN),
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
        approximation=None,
        device=None,
        memory="auto",
        n_threads=None,
        checkpoint=None,
    ):
        self.kernel = kernel
        self.n_components = n_components
        self.fit_inverse_transform = fit_inverse_transform
        self.alpha = alpha
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.approximation = approximation
        self.device = device
        self.memory = memory
        self.n_threads = n_threads
        self.checkpoint = checkpoint

    def _check_all(self) -> None:
        super()._check_all()
        if self.eigen_solver == "dense":
            self._refuse_checkpoint("with eigen_solver='dense', which finds all eigenvectors in one go")
        if self.fit_inverse_transform and (self._precomputed or not self._vectors()):
            raise ValueError(
                f"fit_inverse_transform must be False with kernel={self.kernel!r}: only vectors can be regressed on."
            )

    def _learn(self, X, weight):
        if self.approximation is None:
            return super()._learn(X, weight)
        gram = self._make_gram(X, weight)
        assert isinstance(gram, LandmarkGram)
        total = float(weight.sum())
        mean = gram.sums(weight) / total
        moved = total * float(mean @ mean)
        self._total = max(0.0, float(weight @ gram.exact_diag()) - moved)
        least = negligible(gram, 0.0, moved) / self._total if self._total > 0 else 0.0
        found = leading_directions(
            gram,
            min(self.n_components or gram.n_weights, gram.n_weights),
            weight,
            method=self.eigen_solver,
            tol=max(self.tol, least),
            max_iter=self.max_iter,
            random_state=self.random_state,
            bookmark=self._bookmark(),
        )
        kept = found.values > negligible(gram, float(found.values.max(initial=0.0)), moved)
        self.result_, self.n_iter_, self.eigenvalues_ = found, max(1, found.n_iter), found.values[kept]
        directions = found.vectors[:, kept]
        scores = (gram.of_landmarks() - mean) @ directions
        signs = signs_of(scores)
        self.eigenvectors_ = directions * signs
        self._keep_weights(gram, self.eigenvectors_.T)
        self.intercept_ = -mean @ self.eigenvectors_
        self._share, self._scores = gram.coefficients(mean), scores * signs
        self._sample_weight = weight
        self._variances(total)
        self._learn_preimages(self.support_vectors_, np.ones(len(scores)))
        return None

    def _learn_more(self, X, scores, weight):
        total = float(weight.sum())
        self._variances(total)
        self._share, self._scores = weight / total, scores
        self._learn_preimages(self.support_vectors_, weight)

    def _variances(self, total: float) -> None:
        size = len(self.eigenvalues_)
        self.explained_variance_ = self.eigenvalues_ / (total - 1) if total > 1 else np.full(size, np.nan)

    def _learn_preimages(self, X: Any, weight: np.ndarray) -> None:
        """The regression from the coordinates of samples to these, if it is asked for."""
        self._regression = None
        if not self.fit_inverse_transform:
            return
        if issparse(X):
            raise TypeError("fit_inverse_transform must be False for a sparse X: samples of any kind come back dense.")
        rows = X.astype(np.float64, copy=False)
        self._regression = fit_ridge(as_kernel(self.kernel), self._scores, rows, self.alpha, weight)

    def full_certificate(self, X, *, exact=True):
        r"""What the landmarks have lost.

        The directions leave the part of the variance

        .. math:: \sum_i \omega_i \Big( \|\phi(x_i) - m\|^2 - \sum_j \langle v_j, \phi(x_i) - m \rangle^2 \Big)

        unexplained, and no others leave less than that without what samples are away from the span of the landmarks,
        all seen from the mean.

        Parameters
        ----------
        X : samples
            Those of `fit` once more, in the same order; others are refused.
        exact : bool, default=True
            True takes the length of the mean from the kernel values of all pairs, in one pass that stores none of them.
            False takes the part of the mean that lies in the span, O(n m^2): what is left is then no more than
            `objective`, and no less than `bound`.

        Returns
        -------
        FullCertificate
        """
        X = self._certifiable(X)
        weight = self._sample_weight
        with limit_threads(self.n_threads):
            gram = self._gram_again(X)
            lost = float(weight @ gram.lost())
            away = 0.0
            if exact:
                away = float(gram.lost_energies(csr_array(weight[np.newaxis] / np.sqrt(weight.sum())))[0])
        left = self._total - self.result_.objective
        bound = max(0.0, left - lost - self.result_.gap)
        return FullCertificate(max(bound, left - min(away, lost)), bound, bool(exact))

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
