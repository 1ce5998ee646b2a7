"""Design matrices as objects: the values of many basis functions at the training samples."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from mercer.gram.memory import memory_budget
from mercer.kernels import Kernel
from mercer.kernels.samples import BLOCK_ENTRIES, n_samples, row_blocks, take
from mercer.threads import effective_n_threads

__all__ = ["Design", "KernelDesign", "MatrixDesign", "StackedDesign", "kernel_design"]

# Where there is no memory for the matrix: this share of the budget at a time, and so many values at least.
SHARES, LEAST_AT_ONCE = 4, 1 << 18


class Design(ABC):
    """The transposed design matrix: row i holds the values of basis function i at all samples.

    Parameters
    ----------
    m : int
        Number of basis functions.
    n : int
        Number of samples.
    """

    def __init__(self, m: int, n: int):
        self.m, self.n = m, n

    @abstractmethod
    def rows(self, which: np.ndarray) -> np.ndarray:
        """The values of some basis functions in float64, shape (len(which), n)."""

    in_memory: bool = False
    """Whether asking twice costs nothing."""

    at_once: int = BLOCK_ENTRIES
    """Values of basis functions that are to be held at a time, beside those that are in memory anyway."""

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """All of them, some at a time, with where they stand."""
        for block in row_blocks(self.m, self.n, self.at_once):
            yield block, self.rows(np.arange(block.start, block.stop))

    def over_blocks(self, work: Callable[[slice, np.ndarray], Any]) -> None:
        """Do the work for all of them, some at a time, told where they stand; on all threads if they are in memory.

        The blocks are the same for any number of threads, each of which is to be the only one that BLAS has.
        """
        if not self.in_memory or self.m * self.n <= self.at_once or effective_n_threads() == 1:
            for block, values in self.blocks():
                work(block, values)
            return
        with ThreadPoolExecutor(effective_n_threads()) as pool:
            for done in [pool.submit(work, *block) for block in self.blocks()]:
                done.result()


class MatrixDesign(Design):
    """A design matrix in memory.

    Parameters
    ----------
    rows : ndarray of shape (m, n)
        The transposed design matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import MatrixDesign
    >>> MatrixDesign(np.array([[1.0, 1.0], [0.0, 2.0]])).rows([1])
    array([[0., 2.]])
    """

    in_memory = True

    def __init__(self, rows: np.ndarray):
        super().__init__(*rows.shape)
        self.matrix = np.ascontiguousarray(rows, dtype=np.float64)

    def rows(self, which):
        return self.matrix[which]

    def blocks(self):
        for block in row_blocks(self.m, self.n, self.at_once):
            yield block, self.matrix[block]


class KernelDesign(Design):
    """Basis functions k(x, c), computed whenever they are asked for.

    Parameters
    ----------
    kernel : Kernel
        Resolved; it need not be positive semi-definite.
    centers : m samples
        The c.
    X : n samples
    at_once : int, default=BLOCK_ENTRIES
        Values that are to be held at a time.

    Examples
    --------
    >>> from mercer.gram import KernelDesign
    >>> from mercer.kernels import RBF
    >>> KernelDesign(RBF(gamma=1.0), [[0.0]], [[0.0], [1.0]]).rows([0]).round(3)
    array([[1.   , 0.368]])
    """

    def __init__(self, kernel: Kernel, centers: Any, X: Any, at_once: int = BLOCK_ENTRIES):
        super().__init__(n_samples(centers), n_samples(X))
        self.kernel, self.at_once = kernel, at_once
        self._centers, self._X = kernel.prepare(centers, X)

    def rows(self, which):
        return np.asarray(self.kernel(take(self._centers, which), self._X), dtype=np.float64)


class StackedDesign(Design):
    """The basis functions of several designs over the same samples, one after the other.

    Parameters
    ----------
    parts : sequence of Design

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import MatrixDesign, StackedDesign
    >>> one, two = MatrixDesign(np.ones((1, 2))), MatrixDesign(np.eye(2))
    >>> StackedDesign([one, two]).rows([0, 2])
    array([[1., 1.],
           [0., 1.]])
    """

    def __init__(self, parts: Sequence[Design]):
        super().__init__(sum(part.m for part in parts), parts[0].n)
        self.parts = tuple(parts)
        self.in_memory = all(part.in_memory for part in parts)
        self.at_once = min(part.at_once for part in parts)
        self.ends = np.cumsum([0, *(part.m for part in parts)])

    def rows(self, which):
        which = np.asarray(which, dtype=np.intp)
        values = np.empty((len(which), self.n))
        for part, start, end in zip(self.parts, self.ends, self.ends[1:], strict=False):
            of_part = np.flatnonzero((which >= start) & (which < end))
            for some in row_blocks(len(of_part), self.n, self.at_once // 8):  # beside what they are copied into
                values[of_part[some]] = part.rows(which[of_part[some]] - start)
        return values

    def blocks(self):
        for part, start in zip(self.parts, self.ends, strict=False):
            for block, values in part.blocks():
                yield slice(block.start + start, block.stop + start), values


def kernel_design(kernel: Kernel, X: Any, candidates: np.ndarray | None = None, memory: float | str = "auto") -> Design:
    """Basis functions centred on samples: in memory if half the budget is enough, else computed on demand.

    Parameters
    ----------
    kernel : Kernel
        Resolved on X.
    X : n samples
    candidates : ndarray of int or None, default=None
        Which of the samples are centres; None: all.
    memory : float or "auto", default="auto"
        Megabytes, see `memory_budget`.

    Returns
    -------
    Design

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import kernel_design
    >>> from mercer.kernels import RBF
    >>> kernel_design(RBF(gamma=1.0), [[0.0], [1.0]], np.array([1])).rows([0]).round(3)
    array([[0.368, 1.   ]])
    """
    centers = X if candidates is None else take(X, candidates)
    budget = memory_budget(memory)
    if 8 * n_samples(centers) * n_samples(X) > budget // 2:
        return KernelDesign(kernel, centers, X, min(BLOCK_ENTRIES, max(LEAST_AT_ONCE, budget // (8 * SHARES))))
    return MatrixDesign(np.asarray(kernel(X) if candidates is None else kernel(centers, X), dtype=np.float64))
