"""Gaussian densities and mixtures of them."""

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.sparse import issparse
from scipy.special import logsumexp

from mercer.kernels.samples import as_vectors
from mercer.kernels.vectors.base import measure
from mercer.models.base import Model, check_probabilities

__all__ = ["GaussianMixtureModel", "GaussianModel"]


class GaussianModel(Model):
    r"""A Gaussian density.

    .. math:: p(x) = \frac{1}{\sqrt{\det 2 \pi \Sigma}} \exp\bigl(-\tfrac12 (x - \mu)^\top \Sigma^{-1} (x - \mu)\bigr)

    Parameters
    ----------
    mean : array of shape (d,)
        The mean :math:`\mu`.
    covariance : array of shape (d, d) or (d,)
        The covariance :math:`\Sigma`, positive definite; the variances if it is diagonal, and is to stay so.

    See Also
    --------
    GaussianMixtureModel : Several of them.

    Notes
    -----
    It is an exponential family: with :math:`z = x - \mu`, the density is
    :math:`\exp(\eta \cdot s(x) - \phi(\eta))` with the sufficient statistics s: all :math:`z_i`, and all
    :math:`z_i z_j` with :math:`i \le j` (all :math:`z_i^2` for a diagonal covariance). The scores, derivatives by
    :math:`\eta`, are the statistics, centred: :math:`z_i` and :math:`z_i z_j - \Sigma_{ij}`. The information
    matrix is their covariance, in closed form. There are :math:`p = d + d(d + 1) / 2` parameters, or 2d.

    References
    ----------
    .. [1] B. Schölkopf, K. Tsuda, J.-P. Vert, Kernel Methods in Computational Biology, 2004, section 1.6.3.

    Examples
    --------
    >>> from mercer.models import GaussianModel
    >>> GaussianModel([1.0, 0.0], [[1.0, 0.0], [0.0, 2.0]]).scores([[3.0, 1.0]])
    array([[ 2.,  1.,  3.,  2., -1.]])
    """

    domain = "vectors"
    _parts = ("mean", "covariance")

    mean: np.ndarray
    covariance: np.ndarray

    def __init__(self, mean, covariance):
        mean, covariance = np.asarray(mean, dtype=np.float64), np.asarray(covariance, dtype=np.float64)
        d = mean.size
        if mean.shape != (d,) or not d or covariance.shape not in ((d, d), (d,)):
            raise ValueError(
                "mean must have shape (d,) and covariance shape (d, d), or (d,) if it is diagonal, "
                f"got {mean.shape} and {covariance.shape}."
            )
        if not (np.isfinite(mean).all() and np.isfinite(covariance).all()):
            raise ValueError("mean and covariance must be finite.")
        try:
            if covariance.ndim == 1:
                whitening = 1.0 / np.sqrt(_positive(covariance))
                volume = -np.log(whitening).sum()
            else:
                if not np.allclose(covariance, covariance.T, rtol=1e-10, atol=0.0):
                    raise ValueError("covariance must be symmetric.")
                lower = np.linalg.cholesky(covariance)
                whitening = solve_triangular(lower, np.eye(d), lower=True)
                volume = np.log(np.diagonal(lower)).sum()
        except np.linalg.LinAlgError as error:
            raise ValueError("covariance must be positive definite; add a small multiple of the identity.") from error
        self._keep(mean=mean, covariance=covariance, _whitening=whitening)
        self._keep(_log_norm=float(0.5 * d * np.log(2 * np.pi) + volume))

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return len(self.mean)

    def __repr__(self) -> str:
        return f"<GaussianModel in {len(self.mean)} dimensions>"

    @classmethod
    def from_data(cls, X, diagonal: bool = False, ridge: float = 0.0) -> "GaussianModel":
        """The Gaussian with the mean and the covariance of samples.

        Parameters
        ----------
        X : array of shape (n, d)
        diagonal : bool, default=False
            Whether the covariance is to be diagonal.
        ridge : float, default=0.0
            Added to the variances.

        Returns
        -------
        GaussianModel
        """
        vectors = as_vectors(X, cls.__name__)
        vectors = (vectors.toarray() if issparse(vectors) else vectors).astype(np.float64)
        mean = vectors.mean(axis=0)
        if diagonal:
            return cls(mean, vectors.var(axis=0) + ridge)
        centred = vectors - mean
        return cls(mean, centred.T @ centred / len(vectors) + ridge * np.eye(len(mean)))

    def log_likelihood(self, X):
        """Logarithm of the density at every sample.

        Parameters
        ----------
        X : array of shape (n, d)

        Returns
        -------
        ndarray of shape (n,)
        """
        z = self._centred(X)
        white = z * self._whitening if self._whitening.ndim == 1 else measure("dot", z, self._whitening)
        return -0.5 * (white * white).sum(axis=1) - self._log_norm

    def scores(self, X):
        """Sufficient statistics of every sample, less their expectations.

        Parameters
        ----------
        X : array of shape (n, d)

        Returns
        -------
        ndarray of shape (n, p)
        """
        z = self._centred(X)
        i, j = self._pairs()
        covariance = self.covariance if self.covariance.ndim == 1 else self.covariance[i, j]
        return np.concatenate([z, z[:, i] * z[:, j] - covariance], axis=1)

    def information(self):
        """Covariance of the scores, shape (p, p): that of Gaussian moments of up to the fourth order."""
        d = len(self.mean)
        full = np.diag(self.covariance) if self.covariance.ndim == 1 else self.covariance
        i, j = self._pairs()
        matrix = np.zeros((d + len(i), d + len(i)))
        matrix[:d, :d] = full
        # E z_i z_j z_k z_l = S_ij S_kl + S_ik S_jl + S_il S_jk
        matrix[d:, d:] = full[np.ix_(i, i)] * full[np.ix_(j, j)] + full[np.ix_(i, j)] * full[np.ix_(j, i)]
        return matrix

    def _pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """The products of features among the sufficient statistics."""
        d = len(self.mean)
        return (np.arange(d), np.arange(d)) if self.covariance.ndim == 1 else np.triu_indices(d)

    def _centred(self, X: Any) -> np.ndarray:
        vectors = as_vectors(X, type(self).__name__)
        if vectors.shape[1] != len(self.mean):
            raise ValueError(f"X has {vectors.shape[1]} features, {self!r} needs {len(self.mean)}.")
        return (vectors.toarray() if issparse(vectors) else vectors).astype(np.float64) - self.mean


class GaussianMixtureModel(Model):
    r"""A mixture of Gaussian densities.

    .. math:: p(x) = \sum_k \pi_k\, \mathcal N(x \mid \mu_k, \Sigma_k)

    Parameters
    ----------
    weights : array of shape (K,)
        The shares :math:`\pi` of the components.
    means : array of shape (K, d)
    covariances : array of shape (K, d, d) or (K, d)
        Of every component, as in `GaussianModel`.

    See Also
    --------
    GaussianModel : One component.

    Notes
    -----
    With :math:`\gamma_k(x)` the probability that x came from component k, the scores are :math:`\gamma_k - \pi_k`, the
    derivatives by the logits of the shares, and for every component :math:`\gamma_k` times the scores of its
    `GaussianModel`. The information matrix has no closed form; take it from samples.

    References
    ----------
    .. [1] F. Perronnin, C. Dance, Fisher kernels on visual vocabularies for image categorization, CVPR 2007.

    Examples
    --------
    >>> from sklearn.mixture import GaussianMixture
    >>> from mercer.models import GaussianMixtureModel
    >>> fitted = GaussianMixture(2, random_state=0).fit([[0.0], [0.1], [0.2], [5.0], [5.1], [5.3]])
    >>> model = GaussianMixtureModel.from_sklearn(fitted)
    >>> model.log_likelihood([[0.1], [2.5]]).round(2)
    array([   0.89, -222.41])
    """

    domain = "vectors"
    _parts = ("weights", "means", "covariances")

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray

    def __init__(self, weights, means, covariances):
        weights = check_probabilities("weights", weights, 1, type(self).__name__)
        means, covariances = np.asarray(means, dtype=np.float64), np.asarray(covariances, dtype=np.float64)
        if means.ndim != 2 or not len(weights) == len(means) == len(covariances):
            raise ValueError(
                f"A mixture needs a weight, a mean and a covariance for each component, got shapes "
                f"{weights.shape}, {means.shape} and {covariances.shape}."
            )
        self._keep(weights=weights, means=means, covariances=covariances)
        self._keep(components=tuple(map(GaussianModel, means, covariances)))

    components: tuple[GaussianModel, ...]

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return self.means.shape[1]

    def __repr__(self) -> str:
        return f"<GaussianMixtureModel of {len(self.weights)} components in {self.means.shape[1]} dimensions>"

    @classmethod
    def from_sklearn(cls, mixture: Any) -> "GaussianMixtureModel":
        """The model in a fitted ``sklearn.mixture.GaussianMixture``, with covariances of any type.

        Parameters
        ----------
        mixture : GaussianMixture

        Returns
        -------
        GaussianMixtureModel
        """
        if not hasattr(mixture, "covariances_"):
            raise ValueError(f"from_sklearn takes a fitted GaussianMixture, got {mixture!r}.")
        covariances, (n, d) = mixture.covariances_, mixture.means_.shape
        if mixture.covariance_type == "tied":
            covariances = np.broadcast_to(covariances, (n, d, d))
        elif mixture.covariance_type == "spherical":
            covariances = np.repeat(covariances[:, np.newaxis], d, axis=1)
        return cls(mixture.weights_, mixture.means_, covariances)

    def log_likelihood(self, X):
        """Logarithm of the density at every sample.

        Parameters
        ----------
        X : array of shape (n, d)

        Returns
        -------
        ndarray of shape (n,)
        """
        return logsumexp(self._joint(X), axis=1)

    def scores(self, X):
        """Derivatives of the log-likelihoods by the logits of the weights, then by those of every component.

        Parameters
        ----------
        X : array of shape (n, d)

        Returns
        -------
        ndarray of shape (n, K + K p)
        """
        joint = self._joint(X)
        share = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        parts = [share[:, [k]] * component.scores(X) for k, component in enumerate(self.components)]
        return np.concatenate([share - self.weights, *parts], axis=1)

    def _joint(self, X: Any) -> np.ndarray:
        """log(pi_k N(x | k)), shape (n, K)."""
        with np.errstate(divide="ignore"):
            logarithms = np.log(self.weights)
        return logarithms + np.stack([component.log_likelihood(X) for component in self.components], axis=1)


def _positive(variances: np.ndarray) -> np.ndarray:
    if not (variances > 0).all():
        raise np.linalg.LinAlgError
    return variances
