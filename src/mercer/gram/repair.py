"""Indefinite similarities made positive semi-definite, for the samples at hand and for new ones."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.gram.checks import as_matrix
from mercer.gram.proxy import ProxyKernel, proxy_kernel
from mercer.gram.sources import Gram
from mercer.gram.spectra import rounding
from mercer.parameters import Choice, Number, check_parameters

__all__ = ["Repair", "clip", "flip", "shift", "square"]


def clip(K: Any) -> np.ndarray:
    r"""The nearest positive semi-definite matrix: negative eigenvalues become zero. [CY §3.2; P §1.7.4]

    .. math:: K = U \Lambda U^T \quad\to\quad U \max(\Lambda, 0) U^T

    It minimises :math:`\|K' - K\|_F` over all positive semi-definite K'. Negative eigenvalues are taken for noise.

    Parameters
    ----------
    K : array of shape (n, n), or Gram
        Of all samples there are, in the transductive case.

    Returns
    -------
    ndarray of shape (n, n)

    See Also
    --------
    Repair : With new samples, and as a step of a pipeline.

    References
    ----------
    .. [1] T. Graepel, R. Herbrich, P. Bollmann-Sdorra, K. Obermayer, Classification on pairwise proximity data, NIPS
       1998.

    Examples
    --------
    >>> from mercer.gram import clip
    >>> clip([[1.0, 2.0], [2.0, 1.0]])
    array([[1.5, 1.5],
           [1.5, 1.5]])
    """
    return Repair("clip").fit_transform(K)


def flip(K: Any) -> np.ndarray:
    r"""A positive semi-definite matrix with the absolute values of the eigenvalues. [CY §3.2]

    .. math:: K = U \Lambda U^T \quad\to\quad U |\Lambda| U^T = (K^2)^{1/2}

    Directions of negative eigenvalues are kept as they are, for similarities where these carry information.

    Parameters
    ----------
    K : array of shape (n, n), or Gram
        Of all samples there are, in the transductive case.

    Returns
    -------
    ndarray of shape (n, n)

    See Also
    --------
    Repair : With new samples, and as a step of a pipeline.

    References
    ----------
    .. [1] E. Pękalska, P. Paclík, R. P. W. Duin, A generalized kernel approach to dissimilarity-based classification,
       JMLR 2, 2002.

    Examples
    --------
    >>> from mercer.gram import flip
    >>> flip([[1.0, 2.0], [2.0, 1.0]])
    array([[2., 1.],
           [1., 2.]])
    """
    return Repair("flip").fit_transform(K)


def shift(K: Any) -> np.ndarray:
    r"""A positive semi-definite matrix by a constant on the diagonal: the smallest that will do. [CY §3.2]

    .. math:: K \quad\to\quad K + \max(0, -\lambda_{\min})\, I

    Similarities of different samples stay what they are, and so do the clusters of the samples [1]_.

    Parameters
    ----------
    K : array of shape (n, n), or Gram
        Of all samples there are, in the transductive case.

    Returns
    -------
    ndarray of shape (n, n)

    See Also
    --------
    Repair : With new samples, and as a step of a pipeline.

    References
    ----------
    .. [1] V. Roth, J. Laub, M. Kawanabe, J. M. Buhmann, Optimal cluster preserving embedding of nonmetric proximity
       data, IEEE Transactions on Pattern Analysis and Machine Intelligence 25, 2003.

    Examples
    --------
    >>> from mercer.gram import shift
    >>> shift([[1.0, 2.0], [2.0, 1.0]])
    array([[2., 2.],
           [2., 2.]])
    """
    return Repair("shift").fit_transform(K)


def square(K: Any) -> np.ndarray:
    r"""Inner products of the rows of a similarity: the empirical kernel map with all samples as templates. [P §1.7.4]

    .. math:: K \quad\to\quad K K^T

    Always positive semi-definite; a definite matrix, too, becomes another one.

    Parameters
    ----------
    K : array of shape (n, n), or Gram
        Of all samples there are, in the transductive case.

    Returns
    -------
    ndarray of shape (n, n)

    See Also
    --------
    Repair : With new samples, and as a step of a pipeline.
    mercer.kernels.EmpiricalMap : The same as a kernel, with any samples as templates.

    Examples
    --------
    >>> from mercer.gram import square
    >>> square([[1.0, 2.0], [2.0, 1.0]])
    array([[5., 4.],
           [4., 5.]])
    """
    return Repair("square").fit_transform(K)


class Repair(TransformerMixin, BaseEstimator):
    r"""An indefinite similarity made positive semi-definite, with the same treatment for new samples.

    The samples at hand have the similarities :math:`K = U \Lambda U^T`, a new one the row :math:`k` with them:

    ==========  =====================================  ==========================================================
    method      samples at hand                        a new sample
    ==========  =====================================  ==========================================================
    "clip"      :math:`U \max(\Lambda, 0) U^T`         :math:`k\, U [\Lambda > 0] U^T`
    "flip"      :math:`U |\Lambda| U^T`                :math:`k\, U \operatorname{sign}(\Lambda) U^T`
    "square"    :math:`K K^T`                          :math:`k\, K`
    "shift"     :math:`K + \max(0, -\lambda_{\min})I`  :math:`k`
    "proxy"     :math:`(K + v v^T / 4 \rho)_+`         :math:`k\, U [\Lambda > 0] U^T`, of :math:`K + v v^T / 4 \rho`
    ==========  =====================================  ==========================================================

    Parameters
    ----------
    method : {"clip", "flip", "square", "shift", "proxy"}, default="clip"
        See `clip`, `flip`, `square`, `shift` and `proxy_kernel`.
    C : float > 0, default=1.0
        For "proxy": the price of errors of the machine that it is learnt with.
    rho : float > 0, default=1.0
        For "proxy": the price of the distance to the similarity. Larger keeps it nearer.

    Attributes
    ----------
    map_ : array of shape (n, n) or None
        What rows of new samples are multiplied with; None for "shift", which leaves them alone.
    shift_ : float
        What was added to the diagonal; zero but for "shift".
    proxy_ : ProxyKernel
        For "proxy": multipliers and certificate.
    n_features_in_ : int
        n.

    See Also
    --------
    mercer.kernels.Indexed : With a repaired matrix of all samples, the transductive case.

    Notes
    -----
    The maps are linear in the row, so that a new sample equal to an old one gets its repaired row, for "clip", "flip"
    and "square" [1]_. The feature vectors behind them are :math:`|\Lambda|^{-1/2} U^T k` over the eigenvalues kept, or
    k itself for "square"; `among` gives their products. For "shift" and "proxy" the samples at hand are special: the
    first adds to the similarity of a sample with itself, the second knows their labels. There, ``fit_transform`` gives
    what machines are to learn from, and ``transform`` takes every row for one of a new sample.

    Where all samples are known in advance, some without labels, the joint matrix can be repaired: ``clip(K)`` of all of
    them, `mercer.kernels.Indexed` of that as the kernel, and row numbers as samples; `proxy_kernel` has `index` for the
    labelled ones. Joint and one-by-one treatment agree where there was nothing to repair.

    Eigenvalues up to 16 n units in the last place of the largest one count as zero. Time O(n^3), by LAPACK; memory
    O(n^2).

    References
    ----------
    .. [1] Y. Chen, E. K. Garcia, M. R. Gupta, A. Rahimi, L. Cazzanti, Similarity-based classification: concepts and
       algorithms, JMLR 10, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC
    >>> from mercer.gram import Repair
    >>> from mercer.kernels import Sigmoid
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = np.array([[-2.0], [-1.0], [0.5], [1.0], [2.0]]), [0, 0, 0, 1, 1]
    >>> kernel = Sigmoid(gamma=1.0, coef0=-1.0)
    >>> machine = make_pipeline(Repair("clip"), SVC(kernel="precomputed", C=10.0))
    >>> machine.fit(kernel(X), y)[-1].result_.status
    'solved'
    >>> machine.predict(kernel([[-1.5], [1.5]], X))
    array([0, 1])
    """

    _parameters: ClassVar[dict[str, Any]] = {
        "method": Choice("clip", "flip", "square", "shift", "proxy"),
        "C": Number(0, above=True),
        "rho": Number(0, above=True),
    }

    map_: np.ndarray | None

    def __init__(self, method="clip", C=1.0, rho=1.0):
        self.method = method
        self.C = C
        self.rho = rho

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        tags.target_tags.required = self.method == "proxy"
        return tags

    def fit(self, K: Any, y: Any = None) -> "Repair":
        """Learn the repair.

        Parameters
        ----------
        K : array of shape (n, n), or Gram
            Similarities of the samples.
        y : array of shape (n,), default=None
            For "proxy": labels of two classes. Not used otherwise.

        Returns
        -------
        Repair
        """
        self._fit(K, y)
        return self

    def fit_transform(self, K: Any, y: Any = None) -> np.ndarray:
        """Learn the repair, and give the repaired matrix.

        Parameters
        ----------
        K : array of shape (n, n), or Gram
        y : array of shape (n,), default=None

        Returns
        -------
        ndarray of shape (n, n)
            Symmetric and positive semi-definite, up to rounding.
        """
        repaired = self._fit(K, y)
        return 0.5 * (repaired + repaired.T)

    def transform(self, K_new: Any) -> np.ndarray:
        """Repair similarities of new samples with those of `fit`.

        Parameters
        ----------
        K_new : array of shape (m, n)

        Returns
        -------
        ndarray of shape (m, n)
        """
        rows = self._check_new(K_new)
        return rows.copy() if self.map_ is None else rows @ self.map_

    def among(self, K_new: Any, K_among: Any = None) -> np.ndarray:
        """Repaired similarities of new samples with each other.

        Parameters
        ----------
        K_new : array of shape (m, n)
            Their similarities with those of `fit`.
        K_among : array of shape (m, m), default=None
            Their similarities with each other. "shift" needs them, to add to the diagonal; for other methods the
            feature vectors that `transform` has given them say it all.

        Returns
        -------
        ndarray of shape (m, m)
            With `fit_transform` and `transform` it makes up a positive semi-definite matrix of all samples; but for
            "shift", of which only blocks of samples that were repaired together are known to be definite.
        """
        rows = self._check_new(K_new)
        if self.map_ is None:
            matrix = None if K_among is None else as_matrix(K_among, "K_among")
            if matrix is None or len(matrix) != len(rows):
                given = "nothing" if matrix is None else f"shape {matrix.shape}"
                raise ValueError(f"K_among must have shape {(len(rows),) * 2} for the method 'shift', got {given}.")
            return matrix + self.shift_ * np.eye(len(rows))
        vectors = rows @ self._embedding
        return vectors @ vectors.T

    def _check_new(self, K_new: Any) -> np.ndarray:
        check_is_fitted(self)
        return validate_data(self, K_new, reset=False, dtype=np.float64)

    def _fit(self, K: Any, y: Any) -> np.ndarray:
        """The repaired matrix, up to symmetry."""
        check_parameters(self)
        matrix = as_matrix(K if isinstance(K, Gram) else validate_data(self, K, dtype=[np.float64, np.float32]))
        self.n_features_in_ = n = len(matrix)
        self.shift_ = 0.0
        if self.method == "square":
            self.map_, self._embedding = matrix, np.eye(n)
            return matrix @ matrix
        if self.method == "proxy":
            v = self._proxy(matrix, y).coefficients
            matrix = matrix + np.outer(v, v) / (4.0 * self.rho)
        values, vectors = np.linalg.eigh(matrix)
        if self.method == "shift":
            self.map_, self.shift_ = None, max(0.0, -float(values[0]))
            return matrix + self.shift_ * np.eye(n)
        # Directions of no length would have infinite feature vectors.
        kept = np.abs(values) > rounding(n) * np.abs(values).max()
        if self.method != "flip":
            kept &= values > 0
        values, vectors = values[kept], vectors[:, kept]
        self.map_ = (vectors * np.sign(values)) @ vectors.T
        self._embedding = vectors / np.sqrt(np.abs(values))
        return (vectors * np.abs(values)) @ vectors.T

    def _proxy(self, matrix: np.ndarray, y: Any) -> ProxyKernel:
        if y is None:
            raise ValueError("Repair(method='proxy') requires y to be passed, but the target y is None.")
        self.proxy_ = proxy_kernel(matrix, y, self.C, self.rho)
        return self.proxy_
