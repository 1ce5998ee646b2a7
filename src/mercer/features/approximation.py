"""Feature maps that say how far their inner products are from the kernel."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.devices.arrays import OnDevice, Place, from_device
from mercer.errors import DomainError
from mercer.kernels.samples import in_full, take
from mercer.machines import KernelTransformer
from mercer.threads import limit_threads

__all__ = ["Approximation", "Judged", "VectorMap"]

# Up to so many samples errors are those of all of them, and of all pairs; else of so many draws.
ROWS = 512


class Judged(KernelTransformer):
    """Base of maps whose inner products are nearly a kernel, and who know by how much they miss it."""

    unexplained_: float
    unexplained_uncertainty_: float
    kernel_error_: float
    kernel_error_uncertainty_: float

    def _features_of(self, X: Any) -> np.ndarray:
        """The features of checked samples; of rows of a precomputed matrix with a column for every sample."""
        if self._precomputed:
            X = X[:, self.support_]
        return self._decision_of(*self._compared(X))

    def _judge(self, X: Any, weight: np.ndarray, rng: np.random.RandomState, unexplained: float | None = None) -> None:
        """Compare inner products with the kernel, at all samples if these are few, else at some.

        `unexplained` is the share of the trace that is lost, where that is known already.
        """
        used, share = np.flatnonzero(weight), weight / weight.sum()
        everyone = X if len(used) == len(weight) else take(X, used)
        mean_square = float(share[used] @ self._diag_of(everyone, used))
        exact = len(used) <= ROWS
        rows = used if exact else rng.choice(len(weight), size=ROWS, p=share)
        F = self._features_of(take(X, rows)).astype(np.float64, copy=False)
        lost = self._diag_of(in_full(take(X, rows)), rows) - np.einsum("ij,ij->i", F, F)
        lost = lost / mean_square if mean_square > 0 else np.zeros(len(rows))
        squares = (self._values(X, rows) - F @ F.T) ** 2
        if exact:
            found = float(share[rows] @ lost), float(share[rows] @ squares @ share[rows])
            doubt = 0.0, 0.0
        else:
            # Pairs of different draws. The error of a mean over pairs is twice that of the means over their partners.
            partners = (squares.sum(axis=1) - np.diagonal(squares)) / (ROWS - 1)
            found = float(lost.mean()), float(partners.mean())
            doubt = _standard_error(lost), 2 * _standard_error(partners)
        self.unexplained_, self.unexplained_uncertainty_ = (
            (found[0], doubt[0]) if unexplained is None else (unexplained, 0.0)
        )
        self.kernel_error_ = float(np.sqrt(found[1]))
        self.kernel_error_uncertainty_ = doubt[1] / (2 * self.kernel_error_) if self.kernel_error_ > 0 else 0.0

    def _values(self, X: Any, rows: np.ndarray) -> np.ndarray:
        """Kernel values between some of the training samples."""
        if self._precomputed:
            return X[np.ix_(rows, rows)].astype(np.float64, copy=False)
        return self.kernel_(in_full(from_device(take(X, rows))))

    def _diag_of(self, X: Any, rows: np.ndarray) -> np.ndarray:
        """k(x, x) of some training samples, given with their numbers."""
        if self._precomputed:
            return X[np.arange(len(rows)), rows].astype(np.float64)
        if isinstance(X, OnDevice):
            return self._diagonal_of(X)
        return self.kernel_.diag(X).astype(np.float64, copy=False)


class Approximation(Judged):
    """Base of those that are fitted to samples with weights, and to nothing else."""

    def fit(self, X, y=None, sample_weight=None):
        """Make the map.

        Parameters
        ----------
        X : samples of shape (n, n_features), or as the kernel takes them
            The n x n kernel matrix if ``kernel="precomputed"``.
        y : None
            Not used.
        sample_weight : array of shape (n,), default=None
            Non-negative; weight 2 is the sample twice, weight 0 is no sample.

        Returns
        -------
        self
        """
        with self._all_or_nothing():
            self._check_all()
            X = self._take_samples(X)
            weight = self._weights(sample_weight, X)
            with limit_threads(self.n_threads):
                self._fit(X, weight)
        return self

    @abstractmethod
    def _fit(self, X: Any, weight: np.ndarray) -> None:
        """Make the map from checked samples and their weights, and judge it."""


class VectorMap(Approximation):
    """Base of random maps of vectors, in which samples take part through the parameters of the kernel alone."""

    random_state: Any

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = False
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _check_all(self) -> None:
        super()._check_all()
        if self._precomputed or not self._vectors():
            raise DomainError(f"{type(self).__name__} works on vectors, got kernel={self.kernel!r}; use Nystroem.")

    def _fit(self, X: Any, weight: np.ndarray) -> None:
        self._resolve_kernel(X, weight)
        self.kernel_.prepare(X[:1])  # a width for each of other features is refused here
        rng = check_random_state(self.random_state)
        self._draw(rng)
        self._judge(X, weight, rng)

    @abstractmethod
    def _draw(self, rng: np.random.RandomState) -> None:
        """Make the map for `kernel_` and so many features."""

    @abstractmethod
    def _features_of(self, X: Any) -> np.ndarray:
        """The features of checked samples."""

    @abstractmethod
    def _features_on(self, place: Place, dtype: str) -> Callable[[Any], Any]:
        """The same on a device: from vectors there to features of the dtype."""

    def transform(self, X):
        """The features.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n, n_components)
        """
        check_is_fitted(self)
        return self._features_of(self._check_new(X))


def _standard_error(values: np.ndarray) -> float:
    """Of the mean of independent draws."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))
