"""Which samples a machine was fitted to: a number of them, from their values and their order."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from mercer.devices.arrays import OnDevice
from mercer.extras import require
from mercer.fingerprint import fingerprint
from mercer.kernels.samples import each, row_blocks

__all__ = ["identity_of"]

# Entries of vectors that are looked at together.
ENTRIES = 1 << 18
# On a GPU they may be more.
THERE = 1 << 24
# The numbers of the generator SplitMix64.
STEP, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def identity_of(X: Any) -> str:
    """A short text that is the same for the same samples in the same order, and another for others.

    Vectors count by their values: neither whether they are dense, sparse, in blocks or on workers, nor their precision
    enters. In one pass over the samples, of which blocks that are elsewhere are looked at where they are.
    """
    if hasattr(X, "mapped"):
        sums = X.mapped(_sum_of_rows, np.arange(len(X), dtype=np.uint64))
    elif isinstance(X, OnDevice):
        sums = [_sum_of_rows_there(X.tensor)]
    elif issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"):
        sums = [_sum_of_rows(X, np.arange(X.shape[0], dtype=np.uint64))]
    else:
        return fingerprint(X if isinstance(X, Mapping) or hasattr(X, "columns") else list(each(X)))
    return f"{sum(sums) % (1 << 64):016x}"


def _sum_of_rows(X: Any, numbers: np.ndarray) -> int:
    """The sum of a number for each row that its entries and its place among the samples determine.

    A row has the sum of its entries, taken as integers, times odd factors: entries of zero are none.
    """
    n, total = X.shape[0], 0
    for part in row_blocks(n, X.nnz // max(1, n) if issparse(X) else X.shape[1], ENTRIES):
        if issparse(X):
            rows = csr_array(X[part], dtype=np.float64, copy=True)
            rows.sum_duplicates()
            products = np.append(_integers(rows.data) * _factors(rows.indices), np.uint64(0))
            sums = np.where(np.diff(rows.indptr) > 0, np.add.reduceat(products, rows.indptr[:-1]), np.uint64(0))
        else:
            sums = _integers(X[part]) @ _factors(np.arange(X.shape[1]))
        # Without the places, rows in another order would have the same sum.
        total += int(_scattered(sums ^ _scattered(numbers[part])).sum())
    return total


def _sum_of_rows_there(X: Any) -> int:
    """The same of a tensor, where it is: with signed integers, which have the same bits."""
    torch, (n, width) = require("torch", "identity_of"), X.shape
    factors = torch.from_numpy(_factors(np.arange(width)).view(np.int64)).to(X.device)

    def shifted(x: Any, by: int) -> Any:
        return (x >> by) & ((1 << (64 - by)) - 1)

    def scattered(x: Any) -> Any:
        x = x + _signed(STEP)
        x = (x ^ shifted(x, 30)) * _signed(FIRST)
        x = (x ^ shifted(x, 27)) * _signed(SECOND)
        return x ^ shifted(x, 31)

    total = 0
    for part in row_blocks(n, width, THERE):
        bits = (X[part].double() + 0.0).contiguous().view(torch.int64)
        sums = ((bits ^ shifted(bits, 32)) * factors).sum(dim=1)
        total += int(scattered(sums ^ scattered(torch.arange(part.start, part.stop, device=X.device))).sum())
    return total


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def _factors(columns: np.ndarray) -> np.ndarray:
    """An odd number for each column, of which sparse rows may have very many."""
    return _scattered(columns.astype(np.uint64)) | np.uint64(1)


def _integers(values: np.ndarray) -> np.ndarray:
    """Floats as integers, 0 as 0, whose low bits depend on all others: those alone survive most factors."""
    bits = (np.ascontiguousarray(values, dtype=np.float64) + 0.0).view(np.uint64)  # -0 + 0 is 0
    return bits ^ (bits >> np.uint64(32))


def _scattered(x: np.ndarray) -> np.ndarray:
    """The finaliser of the generator SplitMix64: a permutation of the integers in which every bit matters."""
    x = x + np.uint64(STEP)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(FIRST)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(SECOND)
    return x ^ (x >> np.uint64(31))
