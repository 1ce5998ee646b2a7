"""Features that maps make of samples, on a device."""

from copy import copy
from typing import Any

import numpy as np

from mercer.data import RowBlocks
from mercer.devices.arrays import Place, Tensor, full_precision
from mercer.devices.grams import DeviceGram
from mercer.devices.landmarks import DeviceLandmarkMatrix, bordered_solution, inverse_of
from mercer.devices.values import DeviceKernel
from mercer.gram.features import FeatureGram
from mercer.gram.maps import MapGram, SpanGram
from mercer.kernels.base import Kernel
from mercer.kernels.samples import n_samples, to_numpy

__all__ = ["DeviceFeatureMatrix", "DeviceMapGram", "DeviceSpanGram"]


class DeviceSpanGram(SpanGram):
    """A `SpanGram` whose kernel values and second moments are made on a device.

    Parameters
    ----------
    kernel, X, Z, place, numbers
        As those of `DeviceLandmarkGram`.
    directions : array of shape (k, m)
        As those of `SpanGram`.
    """

    matrix: DeviceLandmarkMatrix

    def __init__(
        self, kernel: Kernel, X: Any, Z: Any, directions: np.ndarray, place: Place, numbers: np.ndarray | None = None
    ):
        self.place = place
        super().__init__(kernel, X, Z, directions, numbers=numbers, matrix_of=self._matrix_of)

    def _matrix_of(self, kernel: Kernel, X: Any, Z: Any, memory: Any) -> DeviceLandmarkMatrix:
        return DeviceLandmarkMatrix(kernel, X, Z, self.place)

    def _moments(self, c: np.ndarray, rows: np.ndarray | None) -> Tensor:
        directions = self.place.tensor(self.directions)
        return directions @ self.matrix.second_moments(c, rows) @ directions.T

    def moments(self, c, rows=None):
        return to_numpy(self._moments(c, rows))

    def squares(self, c, rows=None):
        return np.ascontiguousarray(np.diagonal(self.moments(c, rows)))

    def inverse_moments(self, c, rows, ridge, total=None):
        sums = self.sums(c, rows) if total else None
        return inverse_of(self._moments(c, rows), ridge, sums, total, self.place)


class DeviceFeatureMatrix(DeviceLandmarkMatrix):
    """The features that a map makes of n samples, on a device tile by tile.

    Parameters
    ----------
    features : a fitted `RandomFourier` or `PolynomialSketch`
    kernel : Kernel
        The kernel that is meant, resolved, of those that `DeviceKernel` computes.
    X : n samples, or RowBlocks of vectors
    place : Place
    """

    def __init__(self, features: Any, kernel: Kernel, X: Any, place: Place):
        self.kernel, self.X, self.place, self.features = kernel, X, place, features
        self.single = False
        self.on = DeviceKernel(kernel, place)
        self.make = features._features_on(place, "float64")
        self.shape = (n_samples(X), features._n_features_out)
        self._move()

    def in_single(self):
        """The same with features in float32; sums over tiles stay in float64."""
        if self.single:
            return self
        other = copy(self)
        other.single = True
        other.on = DeviceKernel(self.kernel, self.place, "float32")
        other.make = self.features._features_on(self.place, "float32")
        return other

    def _values(self, rows=None, least=1):
        for place, x in self._tiles(rows, least):
            with full_precision(self.place.torch):
                features = self.make(x)
            yield place, features

    def sums_of_squares(self, c: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """The diagonal of `second_moments`."""
        total, weight = self.place.zeros(self.shape[1]), self._columns(c)
        with full_precision(self.place.torch):
            for place, block in self._values(rows):
                total += weight[place, 0] @ block.double().square_()
        return to_numpy(total)


class DeviceMapGram(MapGram):
    """A `MapGram` whose features are made on a device, anew in every pass, and what is m x m is there, too.

    Parameters
    ----------
    features, kernel, X, place
        As those of `DeviceFeatureMatrix`.
    """

    newton_weights = 32768

    def __init__(self, features: Any, kernel: Kernel, X: Any, place: Place):
        self.matrix, self.place = DeviceFeatureMatrix(features, kernel, X, place), place
        self.kernel, self.X, self._n_weights = kernel, X, self.matrix.shape[1]
        FeatureGram.__init__(self, self.matrix.shape[0], True)

    def in_single(self):
        """The same with features in float32, whose sums over blocks stay in float64."""
        matrix = self.matrix.in_single()
        if matrix is self.matrix:
            return self
        other = copy(self)
        other.matrix, other.dtype = matrix, np.dtype(np.float32)
        return other

    def blocks(self, rows=None):
        return self.matrix.blocks(rows)

    def products(self, w, rows=None):
        return self.matrix.forward(w, rows)

    def sums(self, c, rows=None):
        return self.matrix.backward(c, rows)

    def both(self, w, scale, shift=None):
        return self.matrix.both(w, scale, shift)

    def squares(self, c, rows=None):
        return self.matrix.sums_of_squares(c, rows)

    def moments(self, c, rows=None):
        return to_numpy(self.matrix.second_moments(c, rows))

    def newton_moments(self, c, rows=None):
        return self.matrix.second_moments(c, rows), self.sums(c, rows)

    def newton_step(self, moments, first, corner, right):
        m = self.n_weights
        matrix = moments + self.place.identity(m)
        u, shift = bordered_solution(matrix, self.place.tensor(right[:m]), first, corner, right[m:], self.place)
        return np.append(to_numpy(u), shift)

    def inverse_moments(self, c, rows, ridge, total=None):
        sums = self.sums(c, rows) if total else None
        return inverse_of(self.matrix.second_moments(c, rows), ridge, sums, total, self.place)

    def among(self, rows):
        return None  # steps over features are quick here

    def exact_diag(self):
        return self.matrix.diag()

    def full(self, memory="auto"):
        """The kernel matrix itself."""
        X = self.X[np.arange(self.n)] if isinstance(self.X, RowBlocks) else self.X
        return DeviceGram(self.kernel, X, self.place)
