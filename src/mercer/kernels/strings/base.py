"""The base of kernels on strings and other sequences of symbols."""

from abc import abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np

from mercer.data.sequences import Sequences
from mercer.kernels.base import Kernel
from mercer.threads import effective_n_threads

__all__ = ["SequenceKernel", "within_range"]

Answer = Literal["value", "log", "slope", "log_slope"]


class SequenceKernel(Kernel):
    """A kernel on sequences of symbols that a native dynamic programme computes.

    A subclass gives in ``_native_values(X, Y, answer, n_threads)`` the matrix of packed samples, or the diagonal where
    Y is None: the values, their logarithms, or the derivatives of one of these by the parameter named in `slope_of`.
    """

    domain: ClassVar[str] = "strings"
    packed: ClassVar[Any] = Sequences
    in_logarithms: ClassVar[bool] = False
    """Whether values may be too large or too small for float64, so that there is an answer in logarithms."""
    slope_of: ClassVar[str | None] = None
    """The parameter by which there is a derivative."""

    def prepare(self, X, Y=None):
        name = type(self).__name__
        of_X = self.packed.pack(X, name, "X")
        return of_X, of_X if Y is None or Y is X else self.packed.pack(Y, name, "Y")

    @abstractmethod
    def _native_values(self, X: Any, Y: Any, answer: Answer, n_threads: int) -> np.ndarray:
        """The matrix of packed samples, or their diagonal where Y is None."""

    def _matrix(self, X, Y):
        return within_range(self, self._native_values(X, Y, "value", effective_n_threads()))

    def _diag(self, X):
        return within_range(self, self._native_values(X, None, "value", effective_n_threads()))

    def _log_matrix(self, X, Y):
        return self._native_values(X, Y, "log", effective_n_threads()) if self.in_logarithms else None

    def _log_diag(self, X):
        return self._native_values(X, None, "log", effective_n_threads()) if self.in_logarithms else None

    def features(self, X):
        """The feature vectors of samples, over the features that at least one of them has; few kernels have them.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        CSR array of shape (n, n_components)
            With columns in the order of their keys. `mercer.features.ExplicitFeatures` gives the same columns to new
            samples.
        """
        kernel = self._ready(X)
        found = kernel._sparse_features(kernel.prepare(X)[0])
        return super().features(X) if found is None else found.table(np.unique(found.keys))

    def _vjp(self, X, W):
        if self.slope_of is None:
            return {}
        slopes = within_range(self, self._native_values(X, X, "slope", effective_n_threads()))
        return {self.slope_of: float(np.vdot(W, slopes))}

    def _log_vjp(self, X, W):
        if self.slope_of is None:
            return {}
        slopes = self._native_values(X, X, "log_slope", effective_n_threads())
        if np.isinf(slopes).any():
            raise ValueError(f"Values of {self!r} are too large for float64 on these samples, and for its derivative.")
        return {self.slope_of: float(np.sum(W * slopes, where=~np.isnan(slopes)))}  # nan: a value is zero


def within_range(kernel: SequenceKernel, values: np.ndarray) -> np.ndarray:
    """The values, if they are finite."""
    if np.isfinite(values).all():
        return values
    way_out = "give it parameters that make them smaller"
    if kernel.in_logarithms:
        way_out = "use the kernel .normalized(), which is computed from their logarithms"
    raise ValueError(f"Values of {kernel!r} are too large for float64 on these samples; {way_out}.")
