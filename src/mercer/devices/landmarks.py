"""Kernel values of samples with landmarks, and what these span, on a device."""

from collections.abc import Callable, Iterator
from copy import copy
from functools import cached_property, partial
from typing import Any

import numpy as np

from mercer.data import RowBlocks
from mercer.devices.arrays import OnDevice, Place, Tensor, full_precision
from mercer.devices.values import DeviceKernel
from mercer.gram.features import FeatureGram
from mercer.gram.landmark_matrix import LandmarkMatrix
from mercer.gram.landmarks import Arrays, LandmarkGram, independent
from mercer.kernels.base import Kernel
from mercer.kernels.samples import n_samples, row_blocks, take, to_numpy

__all__ = ["DeviceLandmarkGram", "DeviceLandmarkMatrix"]

# Rows whose kernel values are held at once for second moments: products of matrices want long sums.
MOMENT_ROWS = 4096


class DeviceLandmarkMatrix(LandmarkMatrix):
    """K(X, Z) of n samples and m landmarks, made on a device tile by tile.

    Parameters
    ----------
    kernel : Kernel
        Resolved, of those that `DeviceKernel` computes.
    X : n samples, or RowBlocks of vectors
        They are moved to the device once if they fit there, else in every pass.
    Z : m samples
        The landmarks.
    place : Place

    See Also
    --------
    mercer.gram.LandmarkMatrix : The same natively.

    Notes
    -----
    A pass takes n m kernel values, each made once for both directions. Vectors of length n and m cross between the
    device and the memory of the CPU.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.devices import DeviceLandmarkMatrix, Place
    >>> from mercer.kernels import Linear
    >>> X, Z = np.array([[1.0], [2.0], [3.0]]), np.array([[1.0], [10.0]])
    >>> DeviceLandmarkMatrix(Linear(), X, Z, Place("cpu")).forward(np.array([1.0, 1.0]))
    array([11., 22., 33.])
    """

    native = False

    def __init__(self, kernel: Kernel, X: Any, Z: Any, place: Place):
        self.kernel, self.X, self.Z, self.place = kernel, X, Z, place
        self.single = False
        on = DeviceKernel(kernel, place)
        self.z = on.vectors(Z)
        self.on = on.about(self.z)
        self.shape = (n_samples(X), len(self.z))
        self._move()

    def _move(self) -> None:
        """Have the samples on the device, where they fit."""
        X = self.X
        self._moved: Tensor | None = None
        fits = not isinstance(X, RowBlocks) and 8 * X.shape[0] * X.shape[1] <= self.place.budget() // 2
        if fits or isinstance(X, OnDevice):
            self._moved = self.on.vectors(X)

    def in_single(self) -> "DeviceLandmarkMatrix":
        """The same with kernel values in float32; sums over tiles stay in float64."""
        if self.single:
            return self
        other = copy(self)
        other.single = True
        other.on = DeviceKernel(self.kernel, self.place, "float32", self.on.centre)
        return other

    def _tiles(self, rows: np.ndarray | None = None, least: int = 1) -> Iterator[tuple[slice, Tensor]]:
        """Some samples, None: all, so many at a time: their place among those, and they on the device."""
        if self._moved is not None:
            # One transfer for all: those of tile after tile would wait for the work before them.
            which = None if rows is None else self.place.tensor(rows)
            for place in self.place.tiles(self._size(rows), self.shape[1], least):
                yield place, self._moved[place] if which is None else self._moved[which[place]]
            return
        for piece, X in self._in_memory(rows):
            for part in self.place.tiles(n_samples(X), max(self.shape[1], self.X.shape[1]), least):
                yield slice(piece.start + part.start, piece.start + part.stop), self.on.vectors(X[part])

    def _in_memory(self, rows: np.ndarray | None) -> Iterator[tuple[slice, Any]]:
        """Some samples, None: all, as they come: their place among those, and they."""
        if not isinstance(self.X, RowBlocks):
            yield slice(0, self._size(rows)), self.X if rows is None else take(self.X, rows)
            return
        for start, block in self.X:
            end = start + n_samples(block)
            if rows is None:
                yield slice(start, end), block
            else:
                first, last = map(int, np.searchsorted(rows, [start, end]))
                if first < last:
                    yield slice(first, last), block[rows[first:last] - start]

    def _values(self, rows: np.ndarray | None = None, least: int = 1) -> Iterator[tuple[slice, Tensor]]:
        for place, x in self._tiles(rows, least):
            yield place, self.on.values(x, self.z)

    # --- products -----------------------------------------------------------------------------------------

    def forward(self, v, rows=None):
        V = self._columns(v).to(self.on.dtype)
        values = self.place.empty(self._size(rows), V.shape[1])
        with full_precision(self.place.torch):
            for place, block in self._values(rows):
                values[place] = block @ V
        return to_numpy(values).reshape(-1, *np.shape(v)[1:])

    def backward(self, c, rows=None):
        C = self._columns(c)
        total = self.place.zeros(self.shape[1], C.shape[1])
        with full_precision(self.place.torch):
            for place, block in self._values(rows):
                total += block.T @ C[place].to(block.dtype)
        return to_numpy(total).reshape(-1, *np.shape(c)[1:])

    def both(self, v, scale=None, shift=None):
        V = self._columns(v)
        narrow = V.to(self.on.dtype)
        scaled = None if scale is None else self._columns(scale)
        shifts = None if shift is None else self._columns(shift)
        values, total = self.place.empty(self.shape[0], V.shape[1]), self.place.zeros(*V.shape)
        with full_precision(self.place.torch):
            for place, block in self._values():
                found = block @ narrow
                values[place] = back = found.double()
                if scaled is not None:
                    back = back * scaled[place]
                if shifts is not None:
                    back = back + shifts[place]
                total += block.T @ back.to(block.dtype)
        like = np.shape(v)[1:]
        return to_numpy(values).reshape(-1, *like), to_numpy(total).reshape(-1, *like)

    def _columns(self, v: Any) -> Tensor:
        v = np.asarray(v, dtype=np.float64)
        return self.place.tensor(v if v.ndim == 2 else v[:, np.newaxis])

    # --- values -------------------------------------------------------------------------------------------

    def blocks(self, rows=None, size=None):
        for place, block in self._values(rows):
            for part in row_blocks(len(block), 1, size):
                yield slice(place.start + part.start, place.start + part.stop), to_numpy(block[part].double())

    def second_moments(self, c: np.ndarray, rows: np.ndarray | None = None) -> Tensor:
        """The sum of c_i k_i k_i' over the rows k_i of some samples, None: of all; on the device."""
        total, weight = self.place.zeros(self.shape[1], self.shape[1]), self._columns(c)
        with full_precision(self.place.torch):
            for place, block in self._values(rows, MOMENT_ROWS):
                block = block.double()
                total.addmm_((weight[place] * block).T, block)
        return total

    def lower_moments(self, c, rows=None):
        return np.tril(to_numpy(self.second_moments(c, rows)))

    def squares(self, triangle, c, rows=None):
        total, weight = self.place.zeros(self.shape[1]), self._columns(c)
        for place, features in self._features(triangle, rows):
            total += (features * features) @ weight[place, 0]
        return to_numpy(total)

    def norms(self, triangle):
        found = self.place.empty(self.shape[0])
        for place, features in self._features(triangle):
            found[place] = (features * features).sum(dim=0)
        return to_numpy(found)

    def _features(self, triangle: Any, rows: np.ndarray | None = None) -> Iterator[tuple[slice, Tensor]]:
        """The features of samples, in columns."""
        triangle = self.place.tensor(triangle)
        for place, block in self._values(rows, MOMENT_ROWS):
            yield place, self.place.torch.linalg.solve_triangular(triangle, block.double().T, upper=False)

    # --- kernel values of the samples themselves ------------------------------------------------------------

    def diag(self):
        found = self.place.empty(self.shape[0])
        for place, x in self._tiles():
            found[place] = self.on.diag(x).double()
        return to_numpy(found)

    def energy(self, rows, c):
        samples = self.on.vectors(self._samples(rows))
        v = self._columns(c)
        return float((self.on.dot(samples, samples, v) * v).sum())

    def among(self, rows):
        return None  # steps over landmarks are quick here


class DeviceLandmarkGram(LandmarkGram):
    r"""The kernel matrix as far as some landmarks span it, with all that is m x m on a device.

    Parameters
    ----------
    kernel : Kernel
        Resolved, positive semi-definite, of those that `DeviceKernel` computes.
    X : n samples, or RowBlocks of vectors
    Z : m samples
        Landmarks. Those that others before them span up to the precision are left out.
    place : Place
    numbers : int array of shape (m,) or None, default=None
        Those of the landmarks among the samples.

    See Also
    --------
    mercer.gram.LandmarkGram : The same in the memory of the CPU, where it is explained.

    Notes
    -----
    In float64 but for kernel values `in_single`. Memory of the device: three matrices of m x m while a Newton step is
    made or a preconditioner; vectors of length n and m cross in every pass, matrices never.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.devices import DeviceLandmarkGram, Place
    >>> from mercer.kernels import RBF
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> gram = DeviceLandmarkGram(RBF(gamma=0.1), X, X[[0, 2, 0]], Place("cpu"))
    >>> gram.kept, gram.lost().round(3)
    (array([0, 1]), array([0.  , 0.02, 0.  ]))
    """

    newton_weights = 32768

    def __init__(self, kernel: Kernel, X: Any, Z: Any, place: Place, numbers: np.ndarray | None = None):
        on = DeviceKernel(kernel, place)
        z = on.vectors(Z)
        on = on.about(z)
        self.kernel, self.place = kernel, place
        self.kept, self.lower = independent(on.values(z, z), arrays_on(place))
        self.Z = take(Z, self.kept)
        self.numbers = np.full(len(self.kept), -1) if numbers is None else np.asarray(numbers)[self.kept]
        self.matrix: DeviceLandmarkMatrix = DeviceLandmarkMatrix(kernel, X, self.Z, place)
        FeatureGram.__init__(self, self.matrix.shape[0], True)

    @cached_property
    def triangle(self) -> np.ndarray:
        """L, lower, in the memory of the CPU."""
        return to_numpy(self.lower)

    @property
    def n_weights(self) -> int:
        return len(self.lower)

    def coefficients(self, w):
        return self._solved(self.lower.T, w, upper=True)

    def onto(self, sums):
        return self._solved(self.lower, sums, upper=False)

    def _solved(self, triangle: Tensor, right: Any, upper: bool) -> np.ndarray:
        right = np.asarray(right, dtype=np.float64)
        columns = self.place.tensor(right.reshape(len(right), -1))
        found = self.place.torch.linalg.solve_triangular(triangle, columns, upper=upper)
        return to_numpy(found).reshape(right.shape)

    # --- sums of features -----------------------------------------------------------------------------------

    def _moments(self, c: np.ndarray, rows: np.ndarray | None) -> Tensor:
        solve = self.place.torch.linalg.solve_triangular
        half = solve(self.lower, self.matrix.second_moments(c, rows), upper=False)
        return solve(self.lower.T, half, upper=True, left=False)

    def moments(self, c, rows=None):
        return to_numpy(self._moments(c, rows))

    def squares(self, c, rows=None):
        return self.matrix.squares(self.lower, c, rows)

    @cached_property
    def _diagonal(self) -> np.ndarray:
        return self.matrix.norms(self.lower)

    def newton_moments(self, c, rows=None):
        return self.matrix.second_moments(c, rows), self.matrix.backward(c, rows)

    def newton_step(self, moments, first, corner, right):
        # As in LandmarkGram.
        m, tensor = self.n_weights, self.place.tensor
        with full_precision(self.place.torch):
            matrix = self.lower @ self.lower.T
            matrix += moments
            known = (self.lower @ tensor(right[:m, np.newaxis]))[:, 0]
            u, shift = bordered_solution(matrix, known, first, corner, right[m:], self.place)
            return np.append(to_numpy(self.lower.T @ u), shift)

    def inverse_moments(self, c, rows, ridge, total=None):
        sums = self.sums(c, rows) if total else None
        return inverse_of(self._moments(c, rows), ridge, sums, total, self.place)


# --- matrices ---------------------------------------------------------------------------------------------


def bordered_solution(
    matrix: Tensor, known: Tensor, first: Any, corner: float | None, last: np.ndarray, place: Place
) -> tuple[Tensor, np.ndarray]:
    """Solve A u + s first = known, first' u + corner s = last; a corner of None: there is no s. A is overwritten."""
    if corner is None:
        return place.torch.cholesky_solve(known[:, None], definite_factor(matrix, place))[:, 0], np.empty(0)
    border = place.tensor(first)
    both = place.torch.stack([known, border], dim=1)
    u = place.torch.cholesky_solve(both, definite_factor(matrix, place))
    along = border @ u
    shift = (float(last[0]) - float(along[0])) / (float(corner) - float(along[1]))
    return u[:, 0] - shift * u[:, 1], np.array([shift])


def inverse_of(
    matrix: Tensor, ridge: float, sums: np.ndarray | None, total: float | None, place: Place
) -> Callable[[np.ndarray], np.ndarray]:
    """As `FeatureGram.inverse_moments`, from second moments on a device, which are overwritten."""
    if sums is not None and total:
        s = place.tensor(sums)
        matrix.addr_(s, s, alpha=-1.0 / total)
    rounding = len(matrix) * np.finfo(float).eps * float(matrix.diagonal().abs().max())
    matrix.diagonal().add_(ridge + rounding)
    factor = definite_factor(matrix, place)

    def solve(right: np.ndarray) -> np.ndarray:
        columns = place.tensor(right.reshape(len(right), -1))
        return to_numpy(place.torch.cholesky_solve(columns, factor)).reshape(right.shape)

    return solve


def arrays_on(place: Place) -> Arrays:
    """How matrices are handled that are on a device."""
    solve = partial(place.torch.linalg.solve_triangular, upper=False)
    return Arrays(lambda shape: place.zeros(*shape), solve, to_numpy, place.tensor)


def definite_factor(matrix: Tensor, place: Place) -> Tensor:
    """The Cholesky factor of a positive definite matrix, with what rounding asks for on the diagonal."""
    more = np.finfo(float).eps * float(matrix.diagonal().abs().sum())
    while True:
        factor, failed = place.torch.linalg.cholesky_ex(matrix)
        if not int(failed):
            return factor
        matrix.diagonal().add_(more)
        more *= 10.0
