"""Kernel matrices of vectors whose values are made on a device."""

from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from mercer.devices.arrays import Place, Tensor, full_precision
from mercer.devices.landmarks import independent
from mercer.devices.values import DeviceKernel
from mercer.gram.low_rank import PartialFactor
from mercer.gram.sources import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.samples import to_numpy

__all__ = ["DeviceGram"]


class DeviceGram(Gram):
    """The kernel matrix of vectors, made on a device, and kept there for products where half of what is free is enough.

    Parameters
    ----------
    kernel : Kernel
        Resolved, of those that `DeviceKernel` computes.
    X : n samples
        They are on the device from now on.
    place : Place

    See Also
    --------
    mercer.gram.make_gram : Native rows.

    Notes
    -----
    In float64. What is asked for as arrays comes back to the memory of the CPU; products send vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.devices import DeviceGram, Place
    >>> from mercer.kernels import RBF
    >>> DeviceGram(RBF(gamma=1.0), np.array([[0.0], [1.0]]), Place("cpu")).dot(np.array([1.0, 1.0])).round(3)
    array([1.368, 1.368])
    """

    keeps_values = True

    def __init__(self, kernel: Kernel, X: Any, place: Place):
        self.kernel, on = kernel, DeviceKernel(kernel, place)
        self.X = on.vectors(X)
        self.on, self.place = on.about(self.X), place
        super().__init__(len(self.X), kernel.definite)
        if not bool(self.on.diag(self.X).isfinite().all()):
            raise ValueError(f"The features are too large: the values of {kernel!r} overflow. Rescale them.")

    def native(self):
        return "function", self.rows, self.n

    def rows(self, which):
        return to_numpy(self.values(which, slice(None)))

    def square(self, which):
        return to_numpy(self.values(which, which))

    def part(self, rows, columns):
        return to_numpy(self.values(rows, columns))

    def values(self, rows: Any, columns: Any) -> Tensor:
        """Some entries, on the device."""
        return self.on.values(self.X[rows], self.X[columns])

    def diag(self):
        return to_numpy(self.on.diag(self.X)).astype(np.float64)

    def dot(self, v):
        V = self.place.tensor(np.reshape(v, (self.n, -1)), "float64")
        with full_precision(self.place.torch):
            product = self.on.dot(self.X, self.X, V) if self._kept is None else self._kept @ V
        return to_numpy(product).reshape(np.shape(v))

    @cached_property
    def _kept(self) -> Tensor | None:
        return self.matrix() if 8 * self.n**2 <= self.place.budget() // 2 else None

    def matrix(self, dtype: str = "float64") -> Tensor:
        """All of it, on the device, for the caller to overwrite."""
        return DeviceKernel(self.kernel, self.place, dtype, self.on.centre).values(self.X, self.X)

    def dot_part(self, rows, columns, V):
        V = V.toarray() if issparse(V) else V
        return to_numpy(self.on.dot(self.X[rows], self.X[columns], self.place.tensor(V, "float64")))

    def values_at(self, rows, at):
        support = np.unique(rows.indices)
        return self.dot_part(at, support, csr_array(rows[:, support].T)).T

    def independent(self, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which of some samples those before them do not span up to the precision, and the Cholesky factor of these."""
        kept, lower = independent(self.values(which, which), self.place)
        return kept, to_numpy(lower)

    def partial_factor(self, size):
        return DeviceFactor(self, size)


class DeviceFactor(PartialFactor):
    """A `PartialFactor` whose columns are on the device of a `DeviceGram`."""

    gram: DeviceGram

    def _room(self, size: int) -> Tensor:
        return self.gram.place.empty(size, self.gram.n)

    def left(self, proposed):
        known = self.columns[: self.size, proposed]
        with full_precision(self.gram.place.torch):
            return to_numpy(self.gram.values(proposed, proposed) - known.T @ known)

    def extend(self, new, triangle):
        torch, k = self.gram.place.torch, self.size
        known, lower = self.columns[:k], self.gram.place.tensor(triangle)
        rows = self.gram.values(new, slice(None)) - known[:, new].T @ known
        rows = torch.linalg.solve_triangular(lower, rows, upper=False)
        rows[:, new], rows[:, self.pivots] = lower.T, 0.0
        self.columns[k : k + len(new)] = rows
        self._note(new)
        return to_numpy((rows * rows).sum(dim=0))

    def array(self):
        return to_numpy(self.columns[: self.size].T.contiguous())

    def triangle(self):
        return to_numpy(self.columns[: self.size, self.pivots].T.contiguous())
