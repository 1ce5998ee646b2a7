"""Kernel partial least squares."""

from typing import Any, ClassVar

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.utils.validation import check_is_fitted

from mercer.errors import IndefiniteError
from mercer.gram.eigenpairs import Weighing
from mercer.gram.sources import stored
from mercer.machines import KernelRegressor, KernelTransformer
from mercer.machines.spectral import negligible, rounding, signs_of
from mercer.parameters import Choice, Number

__all__ = ["KernelPLS"]


class KernelPLS(KernelTransformer, KernelRegressor):
    r"""Kernel partial least squares: regression on the few directions of feature space that say most about the outputs.

    .. math::

        \max_{\|v\| = \|c\| = 1} \sum_i \omega_i \langle v, \phi(x_i) - m \rangle\, \langle c, y_i - \bar y \rangle

    gives the first direction. Samples and outputs are freed of what its coordinate explains, and the next one is found.
    Outputs are predicted linearly from the coordinates.

    Parameters
    ----------
    kernel : Kernel, str, callable or "precomputed", default="rbf"
        Similarity of samples, see `mercer.kernels`. "precomputed": X is the kernel matrix.
    n_components : int >= 1, default=2
        How many directions, at most: none is left once the outputs are explained. Larger fits more closely.
    scale : bool, default=True
        Whether outputs are divided by their standard deviations, so that all count the same.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values. If the matrix takes more than half of it, it is made anew for every product.
    n_threads : int or None, default=None
        Threads for kernel values.

    Attributes
    ----------
    y_loadings_ : ndarray of shape (n_outputs, n_components)
        What the outputs take of every coordinate.
    y_mean_ : ndarray of shape (n_outputs,)
        The means of the outputs.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The share in the variance of the outputs that every direction explains; if `scale`, of outputs over their
        deviations.
    dual_coef_ : ndarray of shape (n_components, n_support)
        The coordinates as combinations of kernel values; the centring is part of it.
    intercept_ : ndarray of shape (n_components,)
        Their offsets.
    support_, support_vectors_ : ndarray, samples
        Numbers of the training samples with a positive weight, and the samples.
    kernel_ : Kernel or "precomputed"
        The kernel, with its data-dependent parameters resolved.

    See Also
    --------
    KernelPCA : Directions that do not look at the outputs.
    KernelCCA : Correlation in place of covariance.
    mercer.svm.SVR : Few samples in place of few directions.

    Notes
    -----
    One product of the kernel matrix for every output and every direction, each O(n^2): the matrix is not changed, since
    the outputs are kept orthogonal to the coordinates found. The direction c is the leading eigenvector of an m x m
    matrix, for m outputs, so that nothing is iterated. With a linear kernel it is scikit-learn's ``PLSRegression`` on
    features that are not scaled. The sample with the largest coordinate has a positive one. By BLAS: equal up to
    rounding for any number of threads. Of an indefinite kernel it is noticed only if it gives outputs a negative length
    in the space of functions (`IndefiniteError`).

    References
    ----------
    .. [1] R. Rosipal, L. J. Trejo, Kernel partial least squares regression in reproducing kernel Hilbert space, Journal
       of Machine Learning Research 2, 2001, section 3.2 and eq. 12.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPLS
    >>> x = np.linspace(-2.0, 2.0, 60)[:, np.newaxis]
    >>> y = np.column_stack([np.sin(2 * x[:, 0]), x[:, 0] ** 2])
    >>> machine = KernelPLS("rbf", n_components=6).fit(x, y)
    >>> bool(machine.score(x, y) > 0.99)
    True
    >>> machine.predict([[0.5]]).shape, machine.transform([[0.5]]).shape
    ((1, 2), (1, 6))
    """

    _parameters: ClassVar[dict[str, Any]] = {"n_components": Number(1, integer=True), "scale": Choice(True, False)}

    def __init__(self, kernel="rbf", n_components=2, scale=True, memory="auto", n_threads=None):
        self.kernel = kernel
        self.n_components = n_components
        self.scale = scale
        self.memory = memory
        self.n_threads = n_threads

    def _fit_columns(self, X: Any, Y: np.ndarray, weight: np.ndarray) -> None:
        share, root = weight / weight.sum(), np.sqrt(weight)[:, np.newaxis]
        self.y_mean_ = share @ Y
        deviation = np.sqrt(share @ (Y - self.y_mean_) ** 2)
        unit = np.where(deviation > 0, deviation, 1.0) if self.scale else np.ones(Y.shape[1])
        Y = root * (Y - self.y_mean_) / unit
        gram = stored(self._make_gram(X, weight), self.memory)
        seen = Weighing(gram, True, weight)
        with_mean = gram.dot(share)
        lost = negligible(gram, 0.0, weight.sum() * (share @ with_mean))
        U, T, lengths, loadings = self._directions(seen, Y, rounding(gram), lost)
        scores = np.divide(T * lengths, root, out=np.zeros_like(T), where=root > 0)
        signs = signs_of(scores)
        self.y_loadings_ = signs * unit[:, np.newaxis] * loadings.T / lengths
        total = float(np.sum(Y**2))
        self.explained_variance_ratio_ = (loadings**2).sum(axis=1) / total if total else np.zeros(len(lengths))
        coefficients = (root * U * (signs * lengths)).T
        coefficients -= np.outer(coefficients.sum(axis=1), share)
        self._keep_expansion(X, coefficients, -coefficients @ with_mean)

    def _directions(self, seen: Weighing, Y: np.ndarray, zero: float, lost: float) -> tuple[np.ndarray, ...]:
        """The scores as K @ U and as orthonormal columns T, their lengths, and T'Y; see [1]_, section 3.2.

        A share `zero` of a number, or `lost` for u'Ku of a vector u of length one, may be what rounding has left.
        """
        n, most = len(Y), min(self.n_components, len(Y))
        left, KY = Y.copy(), seen.product(Y)
        U, KU, T = (np.zeros((n, most), order="F") for _ in range(3))
        lengths, loadings = np.zeros(most), np.zeros((most, Y.shape[1]))
        first, found = 0.0, 0
        for k in range(most):
            # u = Y c and t = K u ~ K Y c, c ~ Y't: c is an eigenvector of Y'KY
            values, C = np.linalg.eigh(left.T @ KY)
            first = max(first, float(values[-1]))
            floor = lost * float(np.sum(left**2))
            if values[0] < -zero * max(first, float(np.abs(values).max())) - floor and k == 0:
                raise IndefiniteError(
                    "KernelPLS needs a positive semi-definite kernel matrix, y'Ky of this one, seen from its mean, is "
                    f"{values[0]:.3g}; repair it, see mercer.gram.Repair."
                )
            if values[-1] <= zero * first + floor:  # the outputs are explained
                break
            U[:, k], KU[:, k] = left @ C[:, -1], KY @ C[:, -1]
            t = KU[:, k].copy()
            for _ in range(2):  # once is not orthogonal enough
                t -= T[:, :k] @ (T[:, :k].T @ t)
            size = np.linalg.norm(t)
            if size <= zero * np.linalg.norm(KU[:, k]) + lost * np.linalg.norm(U[:, k]):
                break
            T[:, k], lengths[k] = t / size, size / np.sqrt(values[-1])
            loadings[k] = T[:, k] @ left
            found = k + 1
            if found < most:
                left -= np.outer(T[:, k], loadings[k])
                KY -= seen.product(T[:, [k]]) * loadings[k]
        U, KU, T = U[:, :found], KU[:, :found], T[:, :found]
        # T = K U (T'KU)^-1, with a triangle to invert
        mixed = solve_triangular(np.triu(T.T @ KU), U.T, trans="T", lower=False).T if found else U
        return mixed, T, lengths[:found], loadings[:found]

    def predict(self, X):
        """Values.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n,) or (n, n_outputs)
        """
        check_is_fitted(self)
        values = self.transform(X) @ self.y_loadings_.T + self.y_mean_
        return values[:, 0] if self._single_output else values
