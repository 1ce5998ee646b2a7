"""Rows of Dask arrays and data frames: blocks that stay on the workers."""

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from mercer.data import RowBlocks
from mercer.data.blocks import checked, measures
from mercer.distributed.engine import computed, is_lazy, kept, room, task, together
from mercer.extras import require

__all__ = ["DaskRows", "in_memory", "is_frame"]

Arguments = Callable[[int, slice, np.ndarray | None], tuple]
"""From what `DaskRows.places` yields to what a task is given besides its block."""


class DaskRows(RowBlocks):
    """Vectors in the blocks of a Dask array, or the partitions of a Dask data frame.

    They are `RowBlocks` that stay where they are: what is computed of a block is computed by a task on a worker, and
    only what is asked for comes back.

    Parameters
    ----------
    collection : Dask array of shape (n, d) or Dask data frame
        Chunks of rows, of known or unknown size, with arrays, CSR matrices or tables of numbers.
    memory : float > 0 or "auto", default="auto"
        Megabytes, see `mercer.gram.memory_budget`, for blocks where there are no workers.

    Attributes
    ----------
    shape, nbytes : (int, int), int
        Samples and features of all blocks together, and what they would take in memory.
    sizes : list of int
        Rows of every block. Those without any are left out.

    Notes
    -----
    All blocks are read once to be checked, on the workers: real numbers, none missing, the same number of features.
    Where they fit a third of the workers' memory they are kept there; else they are made again in every pass, from
    what the collection is made of. Dask makes again what a lost worker had.

    Examples
    --------
    >>> import dask.array
    >>> from mercer.distributed import DaskRows
    >>> rows = DaskRows(dask.array.ones((10, 3), chunks=(4, 3)))
    >>> rows.shape, rows.sizes, rows[[0, 9]]
    ((10, 3), [4, 4, 2], array([[1., 1., 1.],
           [1., 1., 1.]]))
    """

    def __init__(self, collection: Any, memory: float | str = "auto"):
        self.memory = memory
        parts = [task(checked, k, part) for k, part in enumerate(_parts(collection))]
        known = float(collection.nbytes) if hasattr(collection, "chunks") else np.nan  # of frames it is not
        keeping = known <= room(memory)
        if keeping:
            parts = kept(parts)
        seen = computed([task(measures, part) for part in parts])
        if not keeping and sum(size for _, _, size in seen) <= room(memory):
            parts = kept(parts)
        used = [k for k, (rows, _, _) in enumerate(seen) if rows]
        if not used:
            raise ValueError(f"Found array with 0 sample(s) (shape={seen[0][:2]}) while a minimum of 1 is required.")
        self._lay_out([seen[k] for k in used])
        self.parts, self.sizes = [parts[k] for k in used], [seen[k][0] for k in used]
        self._groups = together(self.parts, self.sizes)
        self._stream, self._blocks = None, self.parts

    def places(self, rows: np.ndarray | None = None) -> Iterator[tuple[int, slice, np.ndarray | None]]:
        """Blocks that have some of the samples, by their ascending numbers, None: all.

        The number of the block, the place of its samples among those, and which ones they are; None: all of the block.
        """
        for k, (first, last) in enumerate(zip(self._starts[:-1].tolist(), self._starts[1:].tolist(), strict=True)):
            if rows is None:
                yield k, slice(first, last), None
                continue
            begin, end = np.searchsorted(rows, [first, last]).tolist()
            if end > begin:
                yield k, slice(begin, end), np.asarray(rows[begin:end]) - first

    def each(
        self, function: Callable[..., Any], arguments: Arguments, rows: np.ndarray | None = None
    ) -> list[tuple[slice, Any]]:
        """A task for every block in `places`, with its place: the function of the block and its arguments."""
        return [
            (place, task(_on_block, function, self.parts[k], self.sizes[k], arguments(k, place, own)))
            for k, place, own in self.places(rows)
        ]

    def found(
        self, function: Callable[..., Any], arguments: Arguments, rows: np.ndarray | None = None
    ) -> list[tuple[slice, Any]]:
        """What the tasks of `each` would return; blocks that are at hand together are one task."""
        places = {k: (place, own) for k, place, own in self.places(rows)}
        groups = [some for group in self._groups if (some := [k for k in group if k in places])]
        tasks = [
            task(
                _on_blocks,
                function,
                [self.sizes[k] for k in group],
                [arguments(k, *places[k]) for k in group],
                *[self.parts[k] for k in group],
            )
            for group in groups
        ]
        made = dict(zip(chain.from_iterable(groups), chain.from_iterable(computed(tasks)), strict=True))
        return [(place, made[k]) for k, (place, _) in places.items()]

    def mapped(self, function, *values):
        found = self.found(function, lambda k, place, own: tuple(entries[place] for entries in values))
        return [one for _, one in found]

    def __getitem__(self, rows: Any) -> Any:
        rows = np.asarray(rows)
        order = np.argsort(rows, kind="stable")
        found = self.found(_taken, lambda k, place, own: (own,), rows[order])
        parts = [part for _, part in found] or [np.empty((0, self.shape[1]))]
        together = csr_array(vstack(parts)) if any(map(issparse, parts)) else np.concatenate(parts)
        return together[np.argsort(order)]

    def _read(self, k: int) -> Any:
        return computed(self.parts[k : k + 1])[0]

    def _all(self) -> Iterator[Any]:
        return (self._read(k) for k in range(len(self.parts)))


def in_memory(values: Any) -> Any:
    """The values of a Dask collection; anything else as it is."""
    if not is_lazy(values):
        return values
    values = values.compute()
    return values.to_numpy() if hasattr(values, "to_numpy") else values


def is_frame(collection: Any) -> bool:
    """Whether a Dask collection is a data frame."""
    return hasattr(type(collection), "columns")  # of the class: a call that is not made yet has any attribute


def _parts(collection: Any) -> list[Any]:
    """The blocks of rows, each a call that is not made yet."""
    array = require("dask.array", "A machine on Dask collections")
    if isinstance(collection, array.Array):
        if collection.ndim != 2:
            raise ValueError(f"Expected 2D array, got {collection.ndim}D array instead: X must have a row per sample.")
        if collection.numblocks[1] > 1:
            collection = collection.rechunk({1: -1})
        return list(collection.to_delayed().ravel())
    if is_frame(collection):
        return list(collection.to_delayed())
    raise TypeError(f"X must be a Dask array or data frame, got a {type(collection).__name__}.")


def _on_block(function: Callable[..., Any], block: Any, size: int, arguments: tuple) -> Any:
    if block.shape[0] != size:
        raise ValueError(
            f"blocks must be the same ones in every pass, one had {size} rows and now has {block.shape[0]}."
        )
    return function(block, *arguments)


def _on_blocks(function: Callable[..., Any], sizes: list[int], arguments: list[tuple], *blocks: Any) -> list[Any]:
    return [_on_block(function, *given) for given in zip(blocks, sizes, arguments, strict=True)]


def _taken(block: Any, own: np.ndarray) -> Any:
    return block[own]
