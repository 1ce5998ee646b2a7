"""Feature maps that say how far their inner products are from the kernel."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.data import RowBlocks
from mercer.devices.arrays import OnDevice, Place, from_device
from mercer.errors import DomainError
from mercer.kernels.samples import in_full, take
from mercer.machines import KernelTransformer
from mercer.threads import limit_threads

__all__ = ["Approximation", "Judged", "VectorMap"]

# Up to so many samples errors are those of all of them, and of all pairs; else of so many draws.
ROWS = 512
# Landmarks, and what kernels take from the data, come from so many samples for each feature where there may be many.
SAMPLES_PER_FEATURE = 4


class Judged(KernelTransformer):
    """Base of maps whose inner products are nearly a kernel, and who know by how much they miss it."""

    unexplained_: float
    unexplained_uncertainty_: float
    kernel_error_: float
    kernel_error_uncertainty_: float
    n_components: Any
    random_state: Any

    def _features_of(self, X: Any) -> np.ndarray:
        """The features of checked samples; of rows of a precomputed matrix with a column for every sample."""
        if self._precomputed:
            X = X[:, self.support_]
        return self._decision_of(*self._compared(X))

    @staticmethod
    def _drawn(weight: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
        """Numbers of samples at which errors are estimated, with chances in proportion to their weights."""
        return rng.choice(len(weight), size=ROWS, p=weight / weight.sum())

    def _candidates(self, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Ascending numbers of samples to make the map of, and those at which errors are estimated.

        There are none of these where all samples are candidates: a fit to them knows the errors.
        """
        used = np.flatnonzero(weight)
        most = SAMPLES_PER_FEATURE * int(self.n_components or len(used))
        if len(used) <= most:
            return used, used[:0]
        rng = check_random_state(self.random_state)
        return np.sort(rng.choice(used, size=most, replace=False)), self._drawn(weight, rng)

    def _judge(self, X: Any, weight: np.ndarray, rng: np.random.RandomState, unexplained: float | None = None) -> None:
        """Compare inner products with the kernel, at all samples if these are few, else at some.

        `unexplained` is the share of the trace that is lost, where that is known already.
        """
        used, share = np.flatnonzero(weight), weight / weight.sum()
        everyone = X if len(used) == len(weight) else take(X, used)
        mean_square = float(share[used] @ self._diag_of(everyone, used))
        if len(used) > ROWS:
            rows = self._drawn(weight, rng)
            self._judge_drawn(take(X, rows), self._values(X, rows), mean_square, unexplained)
            return
        lost, squares = self._misses(take(X, used), self._values(X, used))
        found = float(share[used] @ lost / mean_square) if mean_square > 0 else 0.0
        self._note_misses(
            (found if unexplained is None else unexplained, 0.0), (float(share[used] @ squares @ share[used]), 0.0)
        )

    def _judge_drawn(
        self, X: Any, values: np.ndarray, mean_square: float | None = None, unexplained: float | None = None
    ) -> None:
        """Compare inner products with kernel values at samples of `_drawn`, which may be none of those of `fit`.

        `mean_square` is the mean of k(x, x) of all they were drawn from, where that is known.
        """
        lost, squares = self._misses(X, values)
        if unexplained is not None:
            trace = unexplained, 0.0
        else:
            size = float(np.diagonal(values).mean()) if mean_square is None else mean_square
            found = float(lost.mean()) / size if size > 0 else 0.0
            # The error of a quotient of two means is that of the mean of what is left of one without the other.
            apart = lost if mean_square is not None else lost - found * np.diagonal(values)
            trace = found, _standard_error(apart) / size if size > 0 else 0.0
        # Pairs of different draws. The error of a mean over pairs is twice that of the means over their partners.
        partners = (squares.sum(axis=1) - np.diagonal(squares)) / (len(squares) - 1)
        self._note_misses(trace, (float(partners.mean()), 2 * _standard_error(partners)))

    def _misses(self, X: Any, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """By how much features miss the squared lengths of samples, and the squares of that for all pairs."""
        F = self._features_of(X).astype(np.float64, copy=False)
        return np.diagonal(values) - np.einsum("ij,ij->i", F, F), (values - F @ F.T) ** 2

    def _note_misses(self, trace: tuple[float, float], square: tuple[float, float]) -> None:
        """Keep the share of the trace and the mean square over pairs, each with its standard error."""
        self.unexplained_, self.unexplained_uncertainty_ = trace
        self.kernel_error_ = float(np.sqrt(square[0]))
        self.kernel_error_uncertainty_ = square[1] / (2 * self.kernel_error_) if self.kernel_error_ > 0 else 0.0

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
            The n x n kernel matrix if ``kernel="precomputed"``. Of vectors in `RowBlocks`, or in a Dask collection, the
            map is made of some that are drawn.
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
                (self._fit_to_part if isinstance(X, RowBlocks) else self._fit)(X, weight)
        return self

    def _reads_blocks(self) -> bool:
        return not self._precomputed and self._vectors()

    def _fit_to_part(self, X: RowBlocks, weight: np.ndarray) -> None:
        """Make the map of candidates, and judge it at others; all are fetched in one pass."""
        rows, draws = self._candidates(weight)
        both = X[np.concatenate([rows, draws])]
        self._fit(both[: len(rows)], weight[rows])
        if len(draws):
            judges = both[len(rows) :]
            self._judge_drawn(judges, self.kernel_(in_full(judges)).astype(np.float64, copy=False))
        if hasattr(self, "support_"):
            self.support_, self._n_train = rows[self.support_], len(X)

    @abstractmethod
    def _fit(self, X: Any, weight: np.ndarray) -> None:
        """Make the map from checked samples and their weights, and judge it."""


class VectorMap(Approximation):
    """Base of random maps of vectors, in which samples take part through the parameters of the kernel alone."""

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
        X : array or sparse matrix of shape (n, n_features), or `RowBlocks`

        Returns
        -------
        ndarray of shape (n, n_components)
        """
        check_is_fitted(self)
        found = [self._features_of(self._check_new(part)) for part in self._portions(X)]
        return found[0] if len(found) == 1 else np.concatenate(found)


def _standard_error(values: np.ndarray) -> float:
    """Of the mean of independent draws."""
    unit = float(np.abs(values).max())  # squares of large values would be infinite
    return unit * float((values / unit).std(ddof=1) / np.sqrt(len(values))) if unit > 0 else 0.0
