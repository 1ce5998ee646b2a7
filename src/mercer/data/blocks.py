"""Rows of samples in blocks, for data that does not fit into memory."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack
from sklearn.utils.validation import check_array

from mercer.errors import FormatError
from mercer.extras import require

__all__ = ["RowBlocks"]

Block = Any
"""An array or CSR matrix."""


class RowBlocks:
    """Vectors in blocks of rows, of which one at a time needs to be in memory.

    Parameters
    ----------
    blocks : sequence of arrays, CSR matrices or functions; a function; or another iterable object
        A function in a sequence takes no arguments and returns its block, the same one every time. A function in place
        of a sequence, such as a generator function, returns blocks one after the other, the same ones every time. It is
        called in every pass over the data; so is ``iter`` of an object that is no list or tuple, and none of its blocks
        is kept. An iterator, such as a generator, is refused: the first pass would use it up.

    Attributes
    ----------
    shape : (int, int)
        Samples and features of all blocks together.
    nbytes : int
        What all of them would take in memory.

    See Also
    --------
    RowBlocks.from_parquet : Row groups of Parquet files.

    Notes
    -----
    All blocks are read once to be checked: real numbers, none missing, the same number of features. Blocks without rows
    are left out. An array that is memory-mapped needs no blocks: machines take it as it is.

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

    Blocks that come one after the other:

    >>> def blocks():
    ...     for start in (0.0, 3.0):
    ...         yield np.array([[start], [start + 1.0]])
    >>> RowBlocks(blocks).shape
    (4, 1)
    """

    dtype = np.dtype(np.float64)

    def __init__(self, blocks: Iterable[Block | Callable[[], Block]] | Callable[[], Iterable[Block]]):
        self._stream: Callable[[], Iterable[Any]] | None = None
        self._blocks: list[Any] = []
        if isinstance(blocks, Iterator):
            raise TypeError(
                "blocks must be such that they can be read in every pass, which an iterator cannot, got a "
                f"{type(blocks).__name__}; give the function that makes it, without calling it."
            )
        if isinstance(blocks, list | tuple):
            self._blocks = list(blocks)
        elif callable(blocks):
            self._stream = blocks
        else:
            self._stream = partial(iter, blocks)
        seen = [measures(block) for block in self._all()]
        if not seen:
            raise ValueError("blocks must hold at least one block, got none.")
        if not any(rows for rows, _, _ in seen):
            raise ValueError("blocks must hold at least one sample, got none.")
        self._lay_out(seen)

    def _lay_out(self, seen: Sequence[tuple[int, int, int]]) -> None:
        """Where the blocks lie, from the `measures` of each."""
        sizes, widths, bytes_of_blocks = zip(*seen, strict=True)
        first, *others = [k for k, size in enumerate(sizes) if size]
        if (other := next((k for k in others if widths[k] != widths[first]), None)) is not None:
            raise ValueError(
                f"blocks must have the same number of features: block {first} has {widths[first]}, block {other} "
                f"{widths[other]}."
            )
        self._starts = np.concatenate([[0], np.cumsum(sizes)])
        self.shape = (int(self._starts[-1]), widths[first])
        self.nbytes = int(sum(bytes_of_blocks))

    @classmethod
    def from_array(cls, array: Any, rows: int = 65_536) -> "RowBlocks":
        """The rows of an array that is in memory or mapped into it, so many at a time.

        Parameters
        ----------
        array : array of shape (n, n_features)
            Such as ``numpy.load(file, mmap_mode="r")``.
        rows : int >= 1, default=65536
            How many rows a block has.

        Returns
        -------
        RowBlocks

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.data import RowBlocks
        >>> [len(block) for _, block in RowBlocks.from_array(np.zeros((5, 2)), rows=2)]
        [2, 2, 1]
        """

        def reader(start: int) -> Callable[[], Block]:
            return lambda: array[start : start + rows]

        return cls([reader(start) for start in range(0, array.shape[0], rows)])

    @classmethod
    def from_parquet(cls, path: Any, columns: Sequence[str] | None = None) -> "RowBlocks":
        """The rows of a Parquet file, or of the files in a folder in the order of their names, by row groups.

        Parameters
        ----------
        path : str or path
            A file or a folder. It needs pyarrow.
        columns : sequence of str, default=None
            Which columns, of numbers without gaps; None: all.

        Returns
        -------
        RowBlocks

        Examples
        --------
        >>> import tempfile
        >>> import pandas
        >>> from mercer.data import RowBlocks
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     table = pandas.DataFrame({"a": [1.0, 2.0, 3.0], "b": [0.0, 1.0, 0.0], "class": ["x", "y", "x"]})
        ...     table.to_parquet(f"{folder}/part-0.parquet", row_group_size=2)
        ...     X = RowBlocks.from_parquet(folder, columns=["a", "b"])
        ...     X.shape, [len(block) for _, block in X]
        ((3, 2), [2, 1])
        """
        parquet = require("pyarrow.parquet", "RowBlocks.from_parquet")
        path = Path(path)
        files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        if not files:
            raise FileNotFoundError(f"There is no file *.parquet in {path}.")
        return cls(list(chain.from_iterable(_row_groups(parquet, file, columns) for file in files)))

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        """The number of the first row, and the block."""
        count = 0
        for k, block in enumerate(self._all()):
            size = 0 if count == len(self._starts) - 1 else self._starts[k + 1] - self._starts[k]
            if count == len(self._starts) - 1 or block.shape != (size, self.shape[1] if size else block.shape[1]):
                self._refuse_change(k)
            if size:
                yield int(self._starts[k]), block
            count += 1
        if count < len(self._starts) - 1:
            self._refuse_change(count)

    def __getitem__(self, rows: np.ndarray) -> Any:
        """Some rows, by their numbers, in one piece."""
        rows = np.asarray(rows)
        if not len(rows):
            return next(iter(self))[1][:0]
        order = np.argsort(rows, kind="stable")
        parts = []
        stream = None if self._stream is None else (block for _, block in self)
        for k in np.flatnonzero(np.diff(self._starts)).tolist():
            first, last = np.searchsorted(rows[order], self._starts[k : k + 2])
            block = None if stream is None else next(stream)
            if last > first:
                parts.append((self._read(k) if block is None else block)[rows[order[first:last]] - self._starts[k]])
        together = csr_array(vstack(parts)) if any(map(issparse, parts)) else np.concatenate(parts)
        return together[np.argsort(order)]

    def mapped(self, function: Callable[..., Any], *values: np.ndarray) -> Iterable[Any]:
        """What the function makes of every block and its entries of the values, in their order."""
        for start, block in self:
            yield function(block, *(entries[start : start + block.shape[0]] for entries in values))

    def _fingerprint_parts(self) -> Iterator[Any]:
        """The blocks, one at a time."""
        return (block for _, block in self)

    def _all(self) -> Iterator[Any]:
        """All blocks, checked."""
        if self._stream is None:
            return (self._read(k) for k in range(len(self._blocks)))
        return (checked(k, _made(block)) for k, block in enumerate(self._stream()))

    def _read(self, k: int) -> Any:
        return checked(k, _made(self._blocks[k]))

    def _refuse_change(self, k: int) -> None:
        raise ValueError(f"blocks must be the same ones in every pass, block {k} is not what it was in the first.")


def measures(block: Any) -> tuple[int, int, int]:
    """Rows, features and bytes of a block."""
    parts = (block.data, block.indices, block.indptr) if issparse(block) else (block,)
    return (*block.shape, int(sum(part.nbytes for part in parts)))


def _made(block: Any) -> Any:
    return block() if callable(block) else block


def checked(k: int, block: Any) -> Any:
    """A block as machines take it; it may be without rows."""
    try:
        block = check_array(
            block, dtype=[np.float64, np.float32], order="C", accept_sparse="csr", input_name="X", ensure_min_samples=0
        )
    except (TypeError, ValueError) as error:
        raise ValueError(f"Block {k}: {error}") from error
    if issparse(block):
        block = csr_array(block)
        block.sum_duplicates()
    return block


def _row_groups(parquet: Any, file: Path, columns: Sequence[str] | None) -> list[Callable[[], np.ndarray]]:
    """A function for every row group of a file, which reads it."""
    try:
        with parquet.ParquetFile(file) as opened:
            known, metadata = opened.schema_arrow.names, opened.metadata
            groups = [k for k in range(metadata.num_row_groups) if metadata.row_group(k).num_rows]
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        told = str(error).strip().splitlines()[0]
        raise FormatError(f"this is no readable Parquet file ({told}).", str(file)) from None
    wanted = known if columns is None else list(columns)
    if missing := [name for name in wanted if name not in known]:
        raise ValueError(f"columns must be names of columns, {file} has none named {missing[0]!r}.")

    def reader(group: int) -> Callable[[], np.ndarray]:
        def read() -> np.ndarray:
            with parquet.ParquetFile(file) as opened:
                table = opened.read_row_group(group, columns=wanted)
            return np.column_stack([_numbers(table, name, file) for name in wanted])

        return read

    return [reader(group) for group in groups]


def _numbers(table: Any, name: str, file: Path) -> np.ndarray:
    column = table.column(name)
    values = column.to_numpy()
    if column.null_count or values.dtype.kind not in "fiub":
        what = "gaps" if column.null_count else f"values of type {column.type}"
        raise ValueError(f"columns must be of numbers without gaps, {name!r} of {file} has {what}.")
    return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)
