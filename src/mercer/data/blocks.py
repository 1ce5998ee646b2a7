"""Rows of samples in blocks, for data that does not fit into memory."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack
from sklearn.utils.validation import check_array

__all__ = ["RowBlocks"]


class RowBlocks:
    """Vectors in blocks of rows, of which one at a time needs to be in memory.

    Parameters
    ----------
    blocks : sequence of arrays, CSR matrices or functions
        A function takes no arguments and returns its block, the same one every time; it is called in every pass over
        the data.

    Attributes
    ----------
    shape : (int, int)
        Samples and features of all blocks together.

    Notes
    -----
    All blocks are read once to be checked: real numbers, none missing, the same number of features.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LinearSVC
    >>> from mercer.data import RowBlocks
    >>> X = RowBlocks([np.array([[0.0], [1.0]]), lambda: np.array([[3.0], [4.0]])])
    >>> X.shape
    (4, 1)
    >>> LinearSVC().fit(X, [0, 0, 1, 1]).predict([[2.5]])
    array([1])
    """

    dtype = np.dtype(np.float64)

    def __init__(self, blocks: Sequence[Any | Callable[[], Any]]):
        self._blocks = list(blocks)
        if not self._blocks:
            raise ValueError("blocks must hold at least one block, got none.")
        sizes, widths = zip(*(self._read(k).shape for k in range(len(self._blocks))), strict=True)
        if len(set(widths)) > 1:
            other = next(k for k, width in enumerate(widths) if width != widths[0])
            raise ValueError(
                f"blocks must have the same number of features: block 0 has {widths[0]}, block {other} {widths[other]}."
            )
        self._starts = np.concatenate([[0], np.cumsum(sizes)])
        self.shape = (int(self._starts[-1]), widths[0])

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        """The number of the first row, and the block."""
        return ((int(self._starts[k]), self._read(k)) for k in range(len(self._blocks)))

    def __getitem__(self, rows: np.ndarray) -> Any:
        """Some rows, by their numbers, in one piece."""
        rows = np.asarray(rows)
        order = np.argsort(rows, kind="stable")
        parts = []
        for k in range(len(self._blocks)):
            first, last = np.searchsorted(rows[order], self._starts[k : k + 2])
            if last > first:
                parts.append(self._read(k)[rows[order[first:last]] - self._starts[k]])
        together = csr_array(vstack(parts)) if any(map(issparse, parts)) else np.concatenate(parts)
        return together[np.argsort(order)]

    def _read(self, k: int) -> Any:
        block = self._blocks[k]() if callable(self._blocks[k]) else self._blocks[k]
        try:
            block = check_array(block, dtype=[np.float64, np.float32], order="C", accept_sparse="csr", input_name="X")
        except (TypeError, ValueError) as error:
            raise ValueError(f"Block {k}: {error}") from error
        if issparse(block):
            block = csr_array(block)
            block.sum_duplicates()
        return block
