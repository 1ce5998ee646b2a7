"""The kernel matrix of samples that do not fit into memory."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from mercer.data import RowBlocks
from mercer.gram.memory import memory_budget
from mercer.gram.sources import Gram, make_gram
from mercer.kernels import Product, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.samples import n_samples, row_blocks
from mercer.kernels.vectors.bandwidth import gamma_of_blocks
from mercer.kernels.vectors.base import VectorKernel

__all__ = ["BlocksGram", "resolved_on_blocks", "with_gamma"]

# What a sample takes while it is worked on: as it came, in the working precision, and once more while it is fetched.
COPIES = 3
# The other half is for kernel values.
SHARE_OF_SAMPLES = 2
# Rules for widths that need pairs of samples see so many samples.
SEEN, SEED = 20_000, 0


class BlocksGram(Gram):
    """The kernel matrix of vectors in blocks of rows, of which one at a time is in memory.

    Products are made in passes over the blocks; some samples can be fetched, with a matrix of their own.

    Parameters
    ----------
    kernel : Kernel
        Resolved, on vectors.
    X : RowBlocks
    memory : float > 0 or "auto", default="auto"
        Megabytes for the samples that are in memory at once, and their kernel values; see `memory_budget`.

    Notes
    -----
    A product with k columns that have m entries in all rows together takes n m kernel values and one pass, or more
    where the m samples are more than there is memory for. Blocks are as large as whoever made them wanted.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import RowBlocks
    >>> from mercer.gram import BlocksGram
    >>> from mercer.kernels import Linear
    >>> gram = BlocksGram(Linear(), RowBlocks([np.array([[1.0], [2.0]]), np.array([[3.0]])]))
    >>> gram.dot(np.array([1.0, 0.0, 1.0])), gram.restricted(np.array([0, 2])).rows([1])
    (array([ 4.,  8., 12.]), array([[3., 9.]]))
    """

    def __init__(self, kernel: Kernel, X: RowBlocks, memory: float | str = "auto"):
        self.kernel, self.X, self.memory = kernel, X, memory
        super().__init__(len(X), kernel.definite)
        self._at_once = max(1, self.room(memory))  # what is free changes while a machine learns

    @property
    def definite(self) -> bool:
        """Whether the kernel promises it: to find out takes the whole matrix."""
        return self._promise

    @staticmethod
    def room_for(X: RowBlocks, memory: float | str) -> int:
        """How many samples may be worked on together within so many megabytes."""
        bytes_of_one = max(1.0, COPIES * X.nbytes / len(X))
        return int(memory_budget(memory) / SHARE_OF_SAMPLES / bytes_of_one)

    def room(self, memory):
        return self.room_for(self.X, memory)

    def restricted(self, which):
        return make_gram(self.kernel, self.X[which], self.memory)

    def streamed(self, rows):
        rows = csr_array(rows)
        support = np.unique(rows.indices)
        for some in row_blocks(len(support), 1, self._at_once):
            Z, part = self.X[support[some]], rows[:, support[some]]
            for start, block in self.X:
                X, Y = self.kernel.prepare(block, Z)
                for place in row_blocks(n_samples(X), part.shape[0]):
                    yield slice(start + place.start, start + place.stop), self._product(X[place], Y, part)

    def _product(self, X: Any, Y: Any, rows: csr_array) -> np.ndarray:
        """K(X, Y) @ rows.T in float64."""
        if rows.shape[0] == 1:
            return np.asarray(self.kernel._dot(X, Y, np.ascontiguousarray(rows.toarray().T)))
        return np.asarray(self.kernel._dot_rows(X, Y, rows))

    def _among(self, which: Any) -> Iterator[tuple[np.ndarray, Any]]:
        """Some samples block by block: their places in `which`, and they."""
        which = np.asarray(which, dtype=np.int64)
        order = np.argsort(which, kind="stable")
        for start, block in self.X:
            first, last = np.searchsorted(which[order], [start, start + n_samples(block)])
            if last > first:
                yield order[first:last], block[which[order[first:last]] - start]

    # --- as a kernel matrix -------------------------------------------------------------------------------

    def native(self):
        return "function", self.rows, self.n

    def rows(self, which):
        return self.part(which, np.arange(self.n))

    def square(self, which):
        return np.asarray(self.kernel(self.X[np.asarray(which)]), dtype=np.float64)

    def part(self, rows, columns):
        Z, found = self.X[np.asarray(rows)], np.empty((len(rows), len(columns)))
        for place, some in self._among(columns):
            found[:, place] = self.kernel(Z, some)
        return found

    def diag(self):
        return np.concatenate([self.kernel.diag(block) for _, block in self.X]).astype(np.float64, copy=False)

    def dot(self, v):
        v = np.asarray(v, dtype=np.float64)
        return self.values_at(csr_array(v.reshape(self.n, -1).T), np.arange(self.n)).T.reshape(v.shape)

    def dot_part(self, rows, columns, V):
        V = csr_array(V.T if issparse(V) else np.asarray(V, dtype=np.float64).T)
        spread = csr_array((V.data, np.asarray(columns)[V.indices], V.indptr), shape=(V.shape[0], self.n))
        return self.values_at(spread, rows).T

    def values_at(self, rows, at):
        values, rows = np.zeros((rows.shape[0], len(at))), csr_array(rows)
        support = np.unique(rows.indices)
        for some in row_blocks(len(support), 1, self._at_once):
            Z, part = self.X[support[some]], rows[:, support[some]]
            for place, block in self._among(at):
                X, Y = self.kernel.prepare(block, Z)
                values[:, place] += self._product(X, Y, part).T
        return values


def resolved_on_blocks(kernel: Kernel, X: RowBlocks, weight: np.ndarray) -> Kernel:
    """The kernel with the parameters that it takes from the samples, read in one pass.

    ``gamma="scale"`` is what it is for an array. Rules about pairs of samples, such as "median", see 20 000 samples.
    """
    if with_gamma(kernel, "scale", 1.0) is not kernel:
        kernel = with_gamma(kernel, "scale", gamma_of_blocks(X, weight))
    used = np.flatnonzero(weight)
    if len(used) > SEEN:
        used = np.sort(np.random.default_rng(SEED).choice(used, size=SEEN, replace=False))
    return kernel.resolve(X[used], weight[used])


def with_gamma(kernel: Kernel, word: str, gamma: float) -> Kernel:
    """The kernel with a number where a gamma of all features is a word; the same object if there is none."""
    if isinstance(kernel, (Sum, Product)):
        parts = [with_gamma(part, word, gamma) for part in kernel.kernels]
        same = all(a is b for a, b in zip(parts, kernel.kernels, strict=True))
        return kernel if same else type(kernel)(*parts)
    if isinstance(kernel, VectorKernel) and isinstance(getattr(kernel, "gamma", None), str) and kernel.gamma == word:
        return type(kernel)(**{**kernel.get_params(deep=False), "gamma": gamma})
    return kernel
