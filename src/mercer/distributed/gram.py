"""The kernel matrix of samples on workers."""

from collections.abc import Iterator
from copy import copy
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mercer.distributed.engine import sent_once
from mercer.distributed.rows import DaskRows
from mercer.gram import BlocksGram
from mercer.kernels.base import Kernel
from mercer.kernels.samples import in_full, n_samples, row_blocks

__all__ = ["DaskGram"]


class DaskGram(BlocksGram):
    """The kernel matrix of vectors in blocks on workers.

    Of products, the vectors with coefficients travel to the workers, and numbers for every sample come back.

    Parameters
    ----------
    kernel : Kernel
        Resolved, on vectors.
    X : DaskRows
    memory : float > 0 or "auto", default="auto"
        Megabytes for the samples that are fetched at once, and their kernel values; see `mercer.gram.memory_budget`.

    See Also
    --------
    mercer.gram.BlocksGram : The same on one machine.

    Examples
    --------
    >>> import dask.array
    >>> import numpy as np
    >>> from mercer.distributed import DaskGram, DaskRows
    >>> from mercer.kernels import Linear
    >>> X = dask.array.from_array(np.array([[1.0], [2.0], [3.0]]), chunks=(2, 1))
    >>> DaskGram(Linear(), DaskRows(X)).dot(np.array([1.0, 0.0, 1.0]))
    array([ 4.,  8., 12.])
    """

    X: DaskRows

    def streamed(self, rows):
        yield from self._passes(csr_array(rows), None)

    def values_at(self, rows, at):
        rows, order = csr_array(rows), np.argsort(at, kind="stable")
        values = np.zeros((rows.shape[0], len(at)))
        for place, part in self._passes(rows, np.asarray(at)[order]):
            values[:, order[place]] += part.T
        return values

    def diag(self):
        return np.concatenate(list(self.X.mapped(partial(_diagonal, self.kernel))))

    def _passes(self, rows: csr_array, at: np.ndarray | None) -> Iterator[tuple[slice, np.ndarray]]:
        """What adds up to K @ rows.T at some samples, by their ascending numbers, None: at all; block by block."""
        support, alone = np.unique(rows.indices), copy(self)
        alone.X = None  # type: ignore[assignment]
        for some in row_blocks(len(support), 1, max(1, self.room(self.memory))):
            yield from self._pass(sent_once((alone, self.X[support[some]], rows[:, support[some]])), at)

    def _pass(self, shared: Any, at: np.ndarray | None) -> list[tuple[slice, np.ndarray]]:
        return self.X.found(_expansions, lambda k, place, own: (own, shared), at)


def _expansions(block: Any, own: np.ndarray | None, shared: tuple[DaskGram, Any, csr_array]) -> np.ndarray:
    gram, Z, rows = shared
    X, Y = gram.kernel.prepare(block if own is None else block[own], Z)
    values = np.empty((n_samples(X), rows.shape[0]))
    for place in row_blocks(*values.shape):
        values[place] = gram._product(X[place], Y, rows)
    return values


def _diagonal(kernel: Kernel, block: Any) -> np.ndarray:
    return kernel.diag(in_full(block))
