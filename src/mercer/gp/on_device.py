"""Gaussian process regression whose matrices are on a device."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.devices import DeviceKernel, Place
from mercer.devices.arrays import Tensor, full_precision
from mercer.errors import IndefiniteError
from mercer.gp.base import NEARBY, Prior
from mercer.gp.evidence import SINGULAR, RegressionEvidence
from mercer.gp.factors import Factor
from mercer.kernels import Kernel
from mercer.kernels.samples import to_numpy
from mercer.logscale import Packed, limits

__all__ = ["DeviceEvidence", "DevicePrior", "covariance", "variance"]


class DevicePrior(Prior):
    """A `Prior` whose matrices are on a device.

    Slopes are differences of matrices, by two for every entry of every parameter, which any kernel has.
    """

    def __init__(self, kernel: Kernel, X: Any, place: Place):
        super().__init__(kernel, X)
        self.place = place
        on = DeviceKernel(kernel, place)
        self.x = on.vectors(X)
        self.centre = on.about(self.x).centre
        self._kept: Tensor | None = None

    def _on(self, values: dict[str, Any]) -> DeviceKernel:
        return DeviceKernel(self.at(values), self.place, centre=self.centre)

    def fix(self) -> None:
        self._kept = self._on({}).values(self.x, self.x)

    def matrix(self, values):
        return self._on(values).values(self.x, self.x) if self._kept is None else self._kept.clone()

    def slopes(self, values, M):
        found: dict[str, Any] = {}
        for name, packed, k, low, high in self._entries(values):
            below, above = (self._on(packed.values(theta)) for theta in (low, high))
            difference = 0.0
            for rows in self.place.tiles(len(self.x), len(self.x)):
                x = self.x[rows]
                difference += float((M[rows] * (above.values(x, self.x) - below.values(x, self.x))).sum())
            found.setdefault(name, []).append(difference / float(high[k] - low[k]))
        return {name: np.reshape(slopes, np.shape(values[name]))[()] for name, slopes in found.items()}

    def changes(self, values, V, KV):
        found: dict[str, list[np.ndarray]] = {}
        v = self.place.tensor(V)
        for name, packed, k, low, high in self._entries(values):
            below, above = (self._on(packed.values(theta)).dot(self.x, self.x, v) for theta in (low, high))
            found.setdefault(name, []).append(to_numpy(above - below) / float(high[k] - low[k]))
        return found

    def _entries(self, values: dict[str, Any]) -> Iterator[tuple[str, Packed, int, np.ndarray, np.ndarray]]:
        """Every entry of the parameters of the kernel, with logarithms of all of them in which it is less and more."""
        tuned = {name: value for name, value in values.items() if name.startswith("kernel__")}
        if not tuned:
            return
        packed = Packed.of(tuned)
        low, high = limits(packed, NEARBY, self.kernel)
        for name, part in packed.parts.items():
            for k in range(part.start, part.stop):
                one = np.arange(len(low)) == k
                yield name, packed, k, np.where(one, low, packed.start), np.where(one, high, packed.start)


class DeviceCholesky:
    """The lower Cholesky factor L of a matrix on a device, with the methods of `Factor` that the evidence needs."""

    def __init__(self, matrix: Tensor, name: str, place: Place):
        self.place = place
        self.lower, failed = place.torch.linalg.cholesky_ex(matrix)
        if int(failed) or not bool(self.lower.diagonal().isfinite().all()):
            bad = int(failed) - 1 if int(failed) else int(self.lower.diagonal().isfinite().int().argmin())
            raise IndefiniteError(f"{name} is not positive definite: the pivot of sample {bad} is not positive.")

    @property
    def half_log_determinant(self) -> float:
        return float(self.lower.diagonal().log().sum())

    def solve(self, b: np.ndarray) -> np.ndarray:
        return to_numpy(self.place.torch.cholesky_solve(self.place.tensor(b), self.lower))

    def whiten(self, b: np.ndarray) -> np.ndarray:
        return to_numpy(self.place.torch.linalg.solve_triangular(self.lower, self.place.tensor(b), upper=False))

    def in_memory(self) -> Factor:
        """The factor in the memory of the CPU."""
        return Factor.of(np.asfortranarray(to_numpy(self.lower)))


class DeviceEvidence(RegressionEvidence):
    """A `RegressionEvidence` whose matrices are on the device of a `DevicePrior`."""

    prior: DevicePrior

    def _factor(self, values, spread):
        C = self.prior.matrix(values).mul_(values["amplitude"])
        C.diagonal().add_(self.prior.place.tensor(spread))
        return DeviceCholesky(C, SINGULAR, self.prior.place)

    def _through_inverse(self, values, factor, alpha):
        place = self.prior.place
        inverse = place.torch.cholesky_inverse(factor.lower)
        diagonal, a = to_numpy(inverse.diagonal().clone()), place.tensor(alpha)
        with full_precision(place.torch):
            G = inverse.mul_(-0.5 * alpha.shape[1]).addmm_(a, a.T, alpha=0.5)
        return diagonal, self.prior.slopes(values, G)


def variance(on: DeviceKernel, X: Any, Z: Any, lower: np.ndarray, amplitude: float) -> np.ndarray:
    """Of a function at new samples, given that of samples Z with the factor of their covariance."""
    place, x, z = on.place, on.vectors(X), on.vectors(Z)
    on, triangle, found = on.about(z), place.tensor(lower), place.empty(len(x))
    for rows in place.tiles(len(x), len(z)):
        whitened = _whitened(on, x[rows], z, triangle, amplitude)
        found[rows] = amplitude * on.diag(x[rows]) - (whitened * whitened).sum(dim=0)
    return to_numpy(found.clamp_(min=0.0))


def covariance(on: DeviceKernel, X: Any, Z: Any, lower: np.ndarray, amplitude: float) -> np.ndarray:
    """Of a function at all new samples."""
    x, z = on.vectors(X), on.vectors(Z)
    on = on.about(z)
    whitened = _whitened(on, x, z, on.place.tensor(lower), amplitude)
    return to_numpy(on.values(x, x).mul_(amplitude).addmm_(whitened.T, whitened, alpha=-1.0))


def _whitened(on: DeviceKernel, x: Tensor, z: Tensor, triangle: Tensor, amplitude: float) -> Tensor:
    return on.place.torch.linalg.solve_triangular(triangle, on.values(x, z).T * amplitude, upper=False)
