"""Cells of the samples that are nearer to one centre than to all others."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import RandomState

from mercer.features.centres import centres_of
from mercer.gram.leverage import drawn_without_replacement
from mercer.kernels.base import Kernel
from mercer.kernels.samples import as_pair, in_full, n_samples, row_blocks, take, together
from mercer.kernels.vectors.base import measure

__all__ = ["Voronoi", "choose_centres"]

RULES = ("k-means", "farthest-first", "random")


@dataclass(frozen=True, eq=False)
class Voronoi:
    """A partition: every sample belongs to the centre that is nearest, the first of equal ones.

    Parameters
    ----------
    centres : samples
    kernel : Kernel or None, default=None
        Distances are those of the space of this kernel, of samples of any kind; None: those of vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cells import Voronoi
    >>> from mercer.kernels import Spectrum
    >>> Voronoi(np.array([[0.0], [10.0]])).nearest(np.array([[1.0], [6.0]]))
    array([0, 1])
    >>> Voronoi(["aaaa", "bbbb"], Spectrum(2)).nearest(["aaab", "abbb"])
    array([0, 1])
    """

    centres: Any
    kernel: Kernel | None = None

    def __len__(self) -> int:
        return n_samples(self.centres)

    def nearest(self, X: Any) -> np.ndarray:
        """The number of the cell of each sample."""
        cells = np.empty(n_samples(X), dtype=np.int64)
        for rows in row_blocks(n_samples(X), len(self)):
            # What a sample has in common with itself is the same for all centres.
            cells[rows] = self._squares(take(X, rows)).argmin(axis=1)
        return cells

    def distances(self, X: Any) -> np.ndarray:
        """Distances of samples from all centres, shape (n, n_centres)."""
        squares = self._squares(X)
        if self.kernel is not None:
            squares += np.asarray(self.kernel.diag(in_full(X)))[:, np.newaxis]
        return np.sqrt(np.maximum(squares, 0.0))

    def _squares(self, X: Any) -> np.ndarray:
        """Squared distances; in the space of a kernel, less the k(x, x) of the samples."""
        if self.kernel is None:
            X, Z = as_pair(in_full(X), in_full(self.centres), "Voronoi")
            return measure("l2", X, Z)
        return self._own - 2.0 * np.asarray(self.kernel(in_full(X), in_full(self.centres)), dtype=np.float64)

    @cached_property
    def _own(self) -> np.ndarray:
        assert self.kernel is not None
        return np.asarray(self.kernel.diag(in_full(self.centres)), dtype=np.float64)

    def without(self, gone: np.ndarray, more: Any = None) -> "Voronoi":
        """The partition without some centres, and with more of them."""
        centres = take(self.centres, np.setdiff1d(np.arange(len(self)), gone))
        return Voronoi(centres if more is None else together(centres, more), self.kernel)


def choose_centres(
    X: Any, weight: np.ndarray, size: int, rule: str, kernel: Kernel | None, rng: RandomState
) -> Voronoi:
    """A partition into so many cells at most, about centres among samples or between vectors."""
    if rule == "k-means":
        return Voronoi(centres_of(X, size, weight, None, rng)[0], kernel)
    if rule == "random":
        rows = drawn_without_replacement((weight > 0).astype(float), size, rng)
        return Voronoi(take(X, np.sort(rows)), kernel)
    used = np.flatnonzero(weight)
    chosen, least = [int(rng.choice(used))], np.full(n_samples(X), np.inf)
    for _ in range(1, min(size, len(used))):
        least = np.minimum(least, Voronoi(take(X, np.array(chosen[-1:])), kernel).distances(X)[:, 0])
        farthest = int(used[least[used].argmax()])
        if least[farthest] == 0.0:  # the others are repetitions
            break
        chosen.append(farthest)
    return Voronoi(take(X, np.array(chosen)), kernel)
