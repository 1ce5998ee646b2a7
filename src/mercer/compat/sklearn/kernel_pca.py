"""scikit-learn's kernel principal component analysis with mercer's engine."""

import numpy as np
import sklearn.decomposition
from sklearn.decomposition import _kernel_pca
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import _check_psd_eigenvalues

from mercer.gram import Eigenpairs, MatrixGram, leading_eigenpairs
from mercer.gram.eigenpairs import FEW_SAMPLES, MANY_WANTED
from mercer.kernels import RBF, Cosine, Kernel, Linear, Polynomial, Sigmoid
from mercer.solvers import warn_unless_solved

__all__ = ["KernelPCA"]

# What mercer puts in place of scikit-learn's; the second has another name in some versions. Without one of them
# scikit-learn's own would quietly go on.
HOOKS = (("_get_kernel",), ("_fit_transform_in_place", "_fit_transform"))
KNOWN = [next((hook for hook in names if hasattr(_kernel_pca.KernelPCA, hook)), None) for names in HOOKS]
if None in KNOWN:
    raise ImportError(f"mercer.compat.sklearn does not know this version of scikit-learn: it has none of {HOOKS}.")

# ARPACK counts restarts, each with about so many products for every eigenvector.
PRODUCTS_PER_RESTART = 2


class KernelPCA(sklearn.decomposition.KernelPCA):
    """``sklearn.decomposition.KernelPCA`` with mercer's engine.

    It is a subclass of scikit-learn's class, with its parameters, attributes, errors and warnings; only what computes
    kernel values, and eigenvectors where few are wanted, is another one.

    Attributes
    ----------
    result_ : Eigenpairs
        The residuals of the eigenvectors, which scikit-learn's class does not have. Not there where the eigenvectors
        are scikit-learn's.

    See Also
    --------
    mercer.decomposition.KernelPCA : The machine behind it, with any kernel, sample weights, explained variances and
        pre-images by fixed points.

    Notes
    -----
    ``eigen_solver="arpack"`` and ``"randomized"`` are the Lanczos method of `mercer.gram.leading_eigenpairs`, with as
    small residuals as ``tol`` asks for; "auto" takes it where no more than one eigenvector in eight is wanted, whatever
    their number. Up to 200 samples are left to scikit-learn. ``iterated_power`` changes nothing. Kernels
    that are functions, and polynomials of a degree that is no integer, are scikit-learn's.

    References
    ----------
    .. [1] J.-P. Vert, K. Tsuda, B. Schölkopf, A primer on kernel methods, 2004, section 1.3.4.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.compat.sklearn import KernelPCA
    >>> X = np.random.default_rng(0).normal(size=(300, 4))
    >>> machine = KernelPCA(n_components=2, kernel="rbf").fit(X)
    >>> machine.eigenvalues_.shape, machine.result_.status
    ((2,), 'solved')
    """

    result_: Eigenpairs

    def _get_kernel(self, X, Y=None):
        kernel = self._kernel()
        return super()._get_kernel(X, Y) if kernel is None else kernel(X, Y)

    def _kernel(self) -> Kernel | None:
        """mercer's kernel of the same values, if there is one."""
        if callable(self.kernel):
            return None
        gamma = float(self.gamma_)
        if self.kernel == "poly":
            whole = self.degree >= 1 and self.degree == int(self.degree)
            return Polynomial(int(self.degree), gamma, float(self.coef0)) if whole else None
        if self.kernel == "sigmoid":
            return Sigmoid(gamma, float(self.coef0))
        return {"linear": Linear(), "rbf": RBF(gamma), "cosine": Cosine()}.get(self.kernel)

    def _fit_transform_in_place(self, K):
        n, wanted = len(K), len(K) if self.n_components is None else min(len(K), self.n_components)
        many = self.eigen_solver == "auto" and wanted * MANY_WANTED > n
        if self.eigen_solver == "dense" or n <= FEW_SAMPLES or many:
            self.__dict__.pop("result_", None)
            return getattr(super(), KNOWN[1])(K)
        self._centerer.fit(K)
        found = self.result_ = leading_eigenpairs(
            MatrixGram.of_checked(np.ascontiguousarray(K, dtype=np.float64), None),
            wanted,
            center=True,
            method="lanczos",
            tol=float(self.tol),
            max_iter=None if self.max_iter is None else PRODUCTS_PER_RESTART * wanted * self.max_iter,
            random_state=self.random_state,
        )
        warn_unless_solved(found, type(self).__name__)
        if self.eigen_solver == "randomized":  # finds the largest by absolute value, and refuses negative ones
            _check_psd_eigenvalues(np.append(found.values, found.lowest), enable_warnings=False)
        values = _check_psd_eigenvalues(found.values, enable_warnings=False)
        vectors, _ = svd_flip(u=found.vectors, v=None)
        if self.remove_zero_eig or self.n_components is None:
            values, vectors = values[values > 0], vectors[:, values > 0]
        self.eigenvalues_, self.eigenvectors_ = values.astype(K.dtype, copy=False), vectors.astype(K.dtype, copy=False)
        return K

    _fit_transform = _fit_transform_in_place
