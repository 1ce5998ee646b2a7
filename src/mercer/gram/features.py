"""Kernel matrices that know their factor: samples as vectors of features."""

from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array

from mercer import _native
from mercer.gram.sources import Gram

__all__ = ["FeatureGram"]


class FeatureGram(Gram):
    """K = Phi Phi', with products by the features of the samples that never form K.

    Solvers that look for the weights w of the features ask for sums over the samples alone. Wherever some samples are
    meant, their numbers ascend.
    """

    newton_weights: ClassVar[int]
    """Up to so many features their second moments pay for themselves in Newton steps."""
    samples_first: ClassVar[int | None] = None
    """A solver begins with so many samples for every feature where there are many more; None: with all."""
    resolution: ClassVar[float] = 1e-12
    """The violation, in the unit of a problem, to which small problems over these features can be solved."""

    @property
    @abstractmethod
    def n_weights(self) -> int:
        """Number of features."""

    @abstractmethod
    def products(self, w: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """phi_i . w of some samples, None: of all, in float64."""

    @abstractmethod
    def sums(self, c: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """The sum of c_i phi_i over some samples, None: over all."""

    @abstractmethod
    def moments(self, c: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """The sum of c_i phi_i phi_i' over some samples, None: over all."""

    @abstractmethod
    def squares(self, c: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """The diagonal of `moments`."""

    def both(self, w: np.ndarray, scale: np.ndarray, shift: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """f = Phi w, and Phi' (scale f + shift), for w of shape (m,) or (m, k)."""
        values = self.products(w)
        pulled = (scale if values.ndim == 1 else scale[:, np.newaxis]) * values
        return values, self.sums(pulled if shift is None else pulled + shift)

    def moments_times(self, w: np.ndarray, c: np.ndarray) -> np.ndarray:
        """Phi' (c * (Phi w)), the `moments` of all samples times w, for w of shape (m,) or (m, k); in one pass."""
        return self.both(w, c)[1]

    def newton_moments(self, c: np.ndarray, rows: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Second and first moments as `newton_step` takes them, in coordinates in which they are quickly made."""
        return self.moments(c, rows), self.sums(c, rows)

    def newton_step(
        self, moments: np.ndarray, first: np.ndarray, corner: float | None, right: np.ndarray
    ) -> np.ndarray:
        """Solve (1 + M) dw + m db = right, m' dw + corner db = the last of right; a corner of None: there is no db."""
        return _native.newton_step(moments, None if corner is None else first, corner or 0.0, right)

    def inverse_moments(
        self, c: np.ndarray, rows: np.ndarray, ridge: float, total: float | None = None
    ) -> Callable[[np.ndarray], np.ndarray]:
        """What solves (M + ridge) v = right, M being the moments of some samples with c >= 0.

        With a total, about their mean: M without s s' / total, s being the sums of the features.
        """
        m, square = self.n_weights, self.moments(c, rows)
        if total:
            sums = self.sums(c, rows)
            square -= np.outer(sums, sums) / total
        # What the mean takes off may leave rounding below zero.
        rounding = m * np.finfo(float).eps * float(np.abs(np.diagonal(square)).max(initial=0.0))
        square.reshape(-1)[:: m + 1] += ridge + rounding
        factor = cho_factor(square, lower=True, overwrite_a=True, check_finite=False)
        return lambda right: cho_solve(factor, right, check_finite=False)

    def in_single(self) -> "FeatureGram":
        """The same with values in float32, where these are computed in every pass: faster, and other by rounding."""
        return self

    def among(self, rows: np.ndarray) -> Gram | None:
        """The kernel matrix of some samples as it is without features, where it is cheap to compute."""
        return None

    def quiet_blas(self) -> AbstractContextManager[Any]:
        """How many threads BLAS is to have in code that goes over the samples again and again."""
        return nullcontext()

    def dot(self, v: np.ndarray) -> np.ndarray:
        """K @ v in float64."""
        v = np.asarray(v, dtype=np.float64)
        if v.ndim == 2:
            return np.column_stack([self.dot(column) for column in v.T]) if v.shape[1] else np.empty((self.n, 0))
        return self.products(self.sums(np.ascontiguousarray(v)))

    def weights_of(self, rows: csr_array) -> np.ndarray:
        """Those of the features, shape (k, n_weights), for k sparse rows of coefficients over all samples."""
        rows = csr_array(rows)
        rows.sort_indices()
        found = np.empty((rows.shape[0], self.n_weights))
        for k in range(rows.shape[0]):
            part = slice(rows.indptr[k], rows.indptr[k + 1])
            found[k] = self.sums(rows.data[part], rows.indices[part].astype(np.int64))
        return found

    def values_at(self, rows: csr_array, at: np.ndarray) -> np.ndarray:
        """rows @ K[:, at] in float64, for sparse rows of coefficients over all samples: decision functions at some."""
        order = np.argsort(at, kind="stable")
        values = np.empty((rows.shape[0], len(at)))
        for k, w in enumerate(self.weights_of(rows)):
            values[k, order] = self.products(w, np.asarray(at)[order])
        return values

    def dot_part(self, rows: np.ndarray, columns: np.ndarray, V: Any) -> np.ndarray:
        """K[rows, columns] @ V in float64, for an array or sparse matrix V of shape (len(columns), k)."""
        V = csr_array(V.T)
        spread = csr_array((V.data, np.asarray(columns)[V.indices], V.indptr), shape=(V.shape[0], self.n))
        return self.values_at(spread, np.asarray(rows)).T
