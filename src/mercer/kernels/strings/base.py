"""The base of kernels on strings and other sequences of symbols."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np

from mercer.data.sequences import Sequences
from mercer.kernels.base import Kernel
from mercer.threads import effective_n_threads

__all__ = ["SequenceKernel", "check_occurrences", "within_range"]

# Of features in one sample, where they are listed one by one (256 MB).
MOST_OCCURRENCES = 1 << 24

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


def check_occurrences(kernel: SequenceKernel, samples: Sequences, occurrences: Callable[[int], int]) -> None:
    """Refuse to list the features of samples of which one has too many; `occurrences` says how many, by its length."""
    if not len(samples):
        return
    i = int(np.argmax(samples.lengths))
    found = occurrences(int(samples.lengths[i]))
    if found > MOST_OCCURRENCES:
        raise ValueError(
            f"{kernel!r} lists explicit features of up to {MOST_OCCURRENCES} occurrences, sample {i} has {found}; use "
            "the values of the kernel, which do not need them."
        )
