"""Kernel values of samples on workers with landmarks."""

from functools import cached_property
from typing import Any

import numpy as np

from mercer.distributed.engine import computed, kept, room, sent_once, task
from mercer.distributed.rows import Arguments, DaskRows
from mercer.gram.landmark_matrix import CHEAP_FEATURES, LandmarkMatrix
from mercer.kernels.base import Kernel
from mercer.kernels.samples import in_full, n_samples, row_blocks, take

__all__ = ["DaskLandmarkMatrix"]

# So many matrices are added up by one task.
ADDED_AT_ONCE = 4


class DaskLandmarkMatrix(LandmarkMatrix):
    """K(X, Z) of n samples in blocks on workers and m landmarks.

    A product is a Dask graph with a task for every block, which makes that of a `LandmarkMatrix` over it. Vectors with
    n or m entries travel, samples do not. What the blocks give is added up in their order, whichever came first.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    X : DaskRows
    Z : m samples
        The landmarks.
    memory : float > 0 or "auto", default="auto"
        Megabytes, where there are no workers: these have limits of their own.

    See Also
    --------
    mercer.gram.LandmarkMatrix : The same on one machine.

    Notes
    -----
    Products are those over `RowBlocks` of the same blocks, to the last bit where values are not stored; second moments
    are added up in a tree, and are equal up to rounding. Every task has one thread. Where the energy of coefficients is
    asked for, which takes all pairs of samples, blocks meet each other, and travel.

    Examples
    --------
    >>> import dask.array
    >>> import numpy as np
    >>> from mercer.distributed import DaskLandmarkMatrix, DaskRows
    >>> from mercer.kernels import Linear
    >>> X = dask.array.from_array(np.array([[1.0], [2.0], [3.0]]), chunks=(2, 1))
    >>> DaskLandmarkMatrix(Linear(), DaskRows(X), [[1.0], [10.0]]).forward(np.array([1.0, 1.0]))
    array([11., 22., 33.])
    """

    X: DaskRows

    def __init__(self, kernel: Kernel, X: DaskRows, Z: Any, memory: float | str = "auto"):
        self.kernel, self.X, self.Z = kernel, X, Z
        self.shape = (len(X), n_samples(Z))
        self._spec, self._stored = kernel.native(), None
        self.single, self._centre = False, None
        self._values: list[Any] = [None] * len(X.parts)
        cheap = self._spec is not None and X.shape[1] <= CHEAP_FEATURES
        if not cheap and 8 * self.shape[0] * self.shape[1] <= room(memory):
            local = self._local
            self._values = kept([made for _, made in X.each(_all_values, lambda k, place, own: (local,))])
            self._stored = np.empty((0, self.shape[1]))  # with the workers

    @cached_property
    def _local(self) -> Any:
        """What tasks need besides their block: the matrix of any sample, with the workers."""
        any_one = LandmarkMatrix(self.kernel, take(self.Z, slice(1)), self.Z)
        any_one.single, any_one._centre = self.single, self._centre
        return kept([sent_once(any_one)])[0]

    def in_single(self):
        other = super().in_single()
        if other is not self:
            other.__dict__.pop("_local", None)
        return other

    # --- products -----------------------------------------------------------------------------------------

    def forward(self, v, rows=None):
        return self._side_by_side("forward", rows, lambda place, own: (v, own), v.shape[1:])

    def backward(self, c, rows=None):
        total = np.zeros((self.shape[1], *c.shape[1:]))
        for _, part in self._parts("backward", rows, lambda place, own: (c[place], own)):
            total += part
        return total

    def both(self, v, scale=None, shift=None):
        def arguments(place, own):
            return (v, *(None if values is None else values[place] for values in (scale, shift)))

        values, total = np.empty((self.shape[0], *v.shape[1:])), np.zeros(v.shape)
        for place, (part, back) in self._parts("both", None, arguments):
            values[place] = part
            total += back
        return values, total

    def there_and_back(self, v, scale):
        # Neither numbers that are all alike nor the values of the samples travel.
        alike = scale.min(initial=np.inf) == scale.max(initial=-np.inf)
        total = np.zeros(v.shape)

        def arguments(place, own):
            return (v, float(scale[0]) if alike else scale[place])

        for _, part in self._parts("there_and_back", None, arguments):
            total += part
        return total

    def some(self, rows):
        return self._side_by_side("some", rows, lambda place, own: (own,), self.shape[1:])

    def blocks(self, rows=None, size=None):
        """As of `LandmarkMatrix`: computed on the workers, and fetched one block of these after the other."""
        given = self._given("some", lambda place, own: (np.arange(place.stop - place.start) if own is None else own,))
        for place, made in self.X.each(_product, given, rows):
            (found,) = computed([made])
            for part in row_blocks(*found.shape, None if size is None else size * self.shape[1]):
                yield slice(place.start + part.start, place.start + part.stop), found[part]

    # --- sums of features ---------------------------------------------------------------------------------

    def lower_moments(self, c, rows=None):
        given = self._given("lower_moments", lambda place, own: (c[place], own))
        sums = [made for _, made in self.X.each(_product, given, rows)]
        while len(sums) > 1:  # m x m numbers each: they do not all fit here
            sums = [task(_added, *sums[k : k + ADDED_AT_ONCE]) for k in range(0, len(sums), ADDED_AT_ONCE)]
        return np.asfortranarray(computed(sums)[0]) if sums else np.zeros((self.shape[1],) * 2, order="F")

    def squares(self, triangle, c, rows=None):
        triangle, total = sent_once(triangle), np.zeros(self.shape[1])
        for _, part in self._parts("squares", rows, lambda place, own: (triangle, c[place], own)):
            total += part
        return total

    def norms(self, triangle):
        triangle = sent_once(triangle)
        return self._side_by_side("norms", None, lambda place, own: (triangle,))

    # --- kernel values of the samples themselves ------------------------------------------------------------

    def diag(self):
        return self._side_by_side("diag", None, lambda place, own: ())

    def energy(self, rows, c):
        taken = [
            (made, np.asarray(c)[place])
            for place, made in self.X.each(_in_full_taken, lambda k, place, own: (own,), rows)
        ]
        pairs = [(i, j) for i in range(len(taken)) for j in range(i + 1)]
        energies = computed([task(_energy_between, self._local, *taken[i], *taken[j]) for i, j in pairs])
        return float(sum((1.0 if i == j else 2.0) * e for (i, j), e in zip(pairs, energies, strict=True)))

    # --- tasks --------------------------------------------------------------------------------------------

    def _given(self, method: str, arguments: Any) -> Arguments:
        return lambda k, place, own: (self._local, self._values[k], method, arguments(place, own))

    def _parts(self, method: str, rows: np.ndarray | None, arguments: Any) -> list[tuple[slice, Any]]:
        """What a method of the blocks' matrices returns, with the places."""
        return self.X.found(_product, self._given(method, arguments), rows)

    def _side_by_side(
        self, method: str, rows: np.ndarray | None, arguments: Any, shape: tuple[int, ...] = ()
    ) -> np.ndarray:
        """The same of all blocks together, with an entry of some shape for every sample."""
        values = np.empty((self._size(rows), *shape))
        for place, part in self._parts(method, rows, arguments):
            values[place] = part
        return values


def _product(X: Any, local: LandmarkMatrix, stored: np.ndarray | None, method: str, arguments: tuple) -> Any:
    return getattr(local.over(X, stored), method)(*arguments)


def _all_values(X: Any, local: LandmarkMatrix) -> np.ndarray:
    return local.over(X).some(np.arange(X.shape[0]))


def _added(*parts: np.ndarray) -> np.ndarray:
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


def _in_full_taken(block: Any, own: np.ndarray | None) -> Any:
    return in_full(block if own is None else block[own])


def _energy_between(local: LandmarkMatrix, X: Any, c: np.ndarray, Y: Any, d: np.ndarray) -> float:
    return float(c @ local.kernel.dot(X, Y, d))
