"""Kernel values of any Gram matrix on a device, for solvers that ask for some of them again and again."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from mercer.devices.arrays import Place, Tensor, full_precision
from mercer.devices.fused import fused_product
from mercer.devices.grams import DeviceGram
from mercer.devices.values import DeviceKernel, check_on_device
from mercer.errors import DomainError
from mercer.gram.sources import Gram, MatrixGram, VectorGram
from mercer.kernels.samples import to_numpy

__all__ = ["Rows", "rows_of"]


class Rows(ABC):
    """Some rows and columns of an n x n kernel matrix, in float32 or float64, on a device.

    Parameters
    ----------
    gram : Gram
    place : Place
    """

    def __init__(self, gram: Gram, place: Place):
        self.n, self.place = gram.n, place
        self.evaluations = 0
        """Kernel values that have been asked for."""
        self.fused = False
        """Whether products of float32 are one kernel of a GPU, which nothing waits for."""

    @abstractmethod
    def _values(self, rows: Tensor | slice, columns: Tensor, dtype: str) -> Tensor:
        """K[rows, columns]."""

    def square(self, which: Tensor, dtype: str) -> Tensor:
        """K[which, which]."""
        self.evaluations += len(which) ** 2
        return self._values(which, which, dtype)

    def product(self, columns: Tensor, coefficients: Tensor, dtype: str, rows: Tensor | None = None) -> Tensor:
        """K[rows, columns] @ coefficients, added up in float64 over tiles; of all rows where none are named."""
        n = self.n if rows is None else len(rows)
        self.evaluations += n * len(columns)
        return self._product(columns, coefficients, dtype, rows, n)

    def _product(self, columns: Tensor, coefficients: Tensor, dtype: str, rows: Tensor | None, n: int) -> Tensor:
        f = self.place.zeros(n)
        factors = coefficients.to(self.place.dtype(dtype))
        with full_precision(self.place.torch):
            for tile in self.place.tiles(n, len(columns)):
                which = tile if rows is None else rows[tile]
                f[tile] = (self._values(which, columns, dtype) @ factors).double()
        return f


class VectorRows(Rows):
    """Values made of vectors that lie on the device."""

    def __init__(self, gram: DeviceGram, place: Place):
        super().__init__(gram, place)
        self.X, self.exact = gram.X, gram.on
        self.single = DeviceKernel(gram.on.kernel, place, "float32", gram.on.centre)
        self._fused = fused_product(self.single, self.X)
        self.fused = self._fused is not None

    def square(self, which, dtype):
        if self._fused is None or dtype != "float32":
            return super().square(which, dtype)
        self.evaluations += len(which) ** 2
        return self._fused.square(which)

    def _values(self, rows, columns, dtype):
        on = self.single if dtype == "float32" else self.exact
        return on.values(self.X[rows], self.X[columns])

    def _product(self, columns, coefficients, dtype, rows, n):
        if self._fused is not None:
            return self._fused(columns, coefficients, dtype, rows)
        return super()._product(columns, coefficients, dtype, rows, n)


class MatrixRows(Rows):
    """Values of a matrix that lies on the device."""

    def __init__(self, gram: MatrixGram, place: Place):
        super().__init__(gram, place)
        self.matrix = place.tensor(gram.matrix)

    def _values(self, rows, columns, dtype):
        # Rows first: they lie side by side.
        return self.matrix[rows][:, columns].to(self.place.dtype(dtype))


class AskedRows(Rows):
    """Values that the Gram matrix makes in the memory of the CPU."""

    def __init__(self, gram: Gram, place: Place):
        super().__init__(gram, place)
        self.gram = gram

    def _values(self, rows, columns, dtype):
        which = np.arange(self.n)[rows] if isinstance(rows, slice) else to_numpy(rows)
        return self.place.tensor(self.gram.part(which, to_numpy(columns)), dtype)


def rows_of(gram: Gram, place: Place) -> Rows:
    """The values of a Gram matrix: made on the device where it can make them."""
    if isinstance(gram, DeviceGram):
        return VectorRows(gram, gram.place)
    if isinstance(gram, MatrixGram):
        return MatrixRows(gram, place)
    if isinstance(gram, VectorGram) and _on_devices(gram.kernel):
        return VectorRows(DeviceGram(gram.kernel, gram.X, place), place)
    return AskedRows(gram, place)


def _on_devices(kernel: Any) -> bool:
    try:
        check_on_device(kernel)
    except DomainError:
        return False
    return True
