"""The Fisher kernel: how two samples would change a model."""

from functools import lru_cache
from typing import Any

import numpy as np

from mercer.errors import DomainError
from mercer.kernels.base import Kernel
from mercer.kernels.vectors.base import measure

__all__ = ["Fisher"]

WORDS = ("exact", "empirical", "diagonal", "identity")
FROM_DATA = ("empirical", "diagonal")


class Fisher(Kernel):
    r"""Fisher kernel: samples are alike if they would change the parameters of a model in the same way.

    .. math:: k(x, x') = u(x)^\top J^{-1} u(x'), \qquad u(x) = \nabla_\theta \log p(x \mid \theta)

    with the scores u of a probability model and its information matrix :math:`J = E\, u u^\top`. For an exponential
    family the scores are the sufficient statistics, centred; for a hidden Markov model they are expected counts of
    transitions and letters, less what the model expects of them.

    Parameters
    ----------
    model : object with a method ``scores(X)`` that returns an array of shape (n, p)
        A model of `mercer.models`, or one of your own.
    information : "empirical", "diagonal", "exact", "identity" or array, default="diagonal"
        The matrix J. "exact" is what ``model.information()`` says, for models that have it in closed form. "empirical"
        is the mean of :math:`u u^\top` over the samples that `resolve` is given, "diagonal" its diagonal: every score
        is divided by its size. "identity" takes scores as they are. An array of shape (p, p), or (p,) for a diagonal,
        is taken as it is. Directions in which J is zero are left out.

    See Also
    --------
    MarginalizedCount : Counts of letters with hidden states.

    Notes
    -----
    With "exact" and "empirical" it does not matter which parameters the model is written in; with "diagonal" and
    "identity" it does. "empirical" needs many more samples than parameters: with fewer, every direction that the
    samples show counts alike, noise as much as anything.

    Long sequences have large scores; ``Fisher(...).normalized()`` compares their directions. Costs what the scores
    cost, then O(nmp). The scores of a sample do not depend on the others, and neither do kernel values, to the last
    bit, once the information matrix is there. `features` gives the vectors :math:`J^{-1/2} u`, for linear machines.

    References
    ----------
    .. [1] T. Jaakkola, D. Haussler, Exploiting generative models in discriminative classifiers, NIPS 1998.
    .. [2] B. Schölkopf, K. Tsuda, J.-P. Vert, Kernel Methods in Computational Biology, 2004, section 1.6.3.

    Examples
    --------
    >>> from mercer.kernels import Fisher
    >>> from mercer.models import GaussianModel
    >>> kernel = Fisher(GaussianModel([0.0], [[4.0]]), information="exact")
    >>> kernel([[2.0], [-2.0]])
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    def __init__(self, model, information="diagonal"):
        self.model = model
        self.information = information

    @property
    def domain(self) -> str:  # type: ignore[override]
        return getattr(self.model, "domain", "any")

    def __sklearn_clone__(self):
        return Fisher(self.model, self.information)

    # --- parameters ---------------------------------------------------------------------------------------

    def _check_parameters(self):
        if not callable(getattr(self.model, "scores", None)):
            raise TypeError(f"model must have a method scores(X), got {self.model!r}.")
        if isinstance(self.information, str):
            known = self.information in WORDS
        else:
            try:
                array = np.asarray(self.information)
            except ValueError:  # rows of different lengths
                known = False
            else:
                known = array.ndim in (1, 2) and array.dtype.kind in "iuf"
        if not known:
            words = ", ".join(map(repr, WORDS))
            raise ValueError(f"information must be {words} or an array of numbers, got {self.information!r}.")

    def _unresolved(self):
        return ["information"] if self._waits() else []

    def _waits(self) -> bool:
        return isinstance(self.information, str) and self.information in FROM_DATA

    def resolve(self, X, sample_weight=None):
        self._check_parameters()
        if not self._waits():
            return Fisher(self.model, self.information)
        u = self._scores(X, "X")
        w = np.ones(len(u)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        if w.shape != (len(u),) or not (np.isfinite(w).all() and (w >= 0).all() and w.any()):
            raise ValueError(f"sample_weight must have {len(u)} finite values >= 0, some above 0, got {w}.")
        u, w = u[w > 0], w[w > 0] / w.sum()
        second = (w[:, np.newaxis] * u * u).sum(axis=0) if self.information == "diagonal" else (w * u.T) @ u
        return Fisher(self.model, second)

    # --- numbers ------------------------------------------------------------------------------------------

    def prepare(self, X, Y=None):
        of_X = self._whitened(X, "X")
        if Y is None or Y is X:
            return of_X, of_X
        of_Y = self._whitened(Y, "Y")
        dtype = np.result_type(of_X, of_Y)
        return of_X.astype(dtype, copy=False), of_Y.astype(dtype, copy=False)

    def _matrix(self, X, Y):
        return measure("dot", X, Y)

    def _diag(self, X):
        # As the matrix has it: the native loops sum in an order of their own.
        return super()._diag(X).astype(X.dtype)

    def features(self, X):
        kernel = self._ready(X)
        return kernel._whitened(X, "X")

    def _scores(self, X: Any, name: str) -> np.ndarray:
        try:
            u = np.asarray(self.model.scores(X), dtype=np.float64)
        except DomainError as error:
            raise DomainError(f"Fisher works on what its model works on, {name} is not: {error}") from error
        if u.ndim != 2 or not np.isfinite(u).all():
            raise ValueError(
                f"The scores of {self.model!r} must be finite, in an array of shape (n, p), got {u.shape}."
            )
        return np.ascontiguousarray(u)

    def _whitened(self, X: Any, name: str) -> np.ndarray:
        u = self._scores(X, name)
        # Vectors in single precision give a matrix in single precision, as everywhere.
        dtype = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
        if isinstance(self.information, str) and self.information == "identity":
            return u.astype(dtype, copy=False)
        J = np.asarray(self._exact() if isinstance(self.information, str) else self.information, dtype=np.float64)
        if set(J.shape) != {u.shape[1]}:
            raise ValueError(f"information has shape {J.shape}, the model has {u.shape[1]} scores.")
        if J.ndim == 1:
            if not (np.isfinite(J).all() and (J >= 0).all()):
                raise ValueError("A diagonal information matrix must have finite entries >= 0.")
            scale = np.divide(1.0, np.sqrt(J), out=np.zeros_like(J), where=J > 0)
            return (u * scale).astype(dtype, copy=False)
        return measure("dot", u, _inverse_root(J.tobytes(), len(J))).astype(dtype, copy=False)

    def _exact(self) -> np.ndarray:
        try:
            return self.model.information()
        except (AttributeError, NotImplementedError) as error:
            raise ValueError(
                f"{self.model!r} has no information matrix in closed form; "
                "use information='empirical', 'diagonal' or 'identity'."
            ) from error


@lru_cache(maxsize=2)  # the last ones: a fit and its predictions ask for the same
def _inverse_root(buffer: bytes, p: int) -> np.ndarray:
    """Rows a with sum a a' the pseudo-inverse of a matrix: as many as its rank."""
    J = np.frombuffer(buffer).reshape(p, p)
    if not np.isfinite(J).all() or np.abs(J - J.T).max(initial=0.0) > 1e-8 * np.abs(J).max(initial=0.0):
        raise ValueError("The information matrix must be finite and symmetric.")
    eigenvalues, vectors = np.linalg.eigh(J)
    limit = p * np.finfo(np.float64).eps * np.abs(eigenvalues).max(initial=0.0)
    if eigenvalues.min(initial=0.0) < -1e4 * limit:
        raise ValueError(f"The information matrix must be positive semi-definite, got the eigenvalue {eigenvalues[0]}.")
    kept = eigenvalues > max(limit, 0.0)
    if not kept.any():
        return np.zeros((1, p))
    return np.ascontiguousarray((vectors[:, kept] / np.sqrt(eigenvalues[kept])).T)
