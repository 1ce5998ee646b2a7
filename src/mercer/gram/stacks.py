"""Kernel matrices of several kernels on the same samples, for machines that learn a combination of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mercer.gram.checks import indefinite
from mercer.gram.memory import memory_budget
from mercer.gram.sources import FunctionGram, Gram, MatrixGram, make_gram
from mercer.kernels.algebra import weighted_sum
from mercer.kernels.base import Kernel
from mercer.kernels.samples import n_samples, row_blocks, take
from mercer.sums import inner

__all__ = ["GramStack"]


class GramStack:
    """The kernel matrices of several kernels.

    Parameters
    ----------
    kernels : sequence of Kernel
        Resolved on X.
    X : n samples
    scale : {"trace", "variance"} or None, default="trace"
        What every matrix is divided by: the mean of its diagonal, its variance in feature space, or nothing. A matrix
        where that is zero stays as it is.
    ridge : float >= 0, default=0.0
        Added to the diagonal of every matrix, once it is scaled [CY eq 3.65].
    memory : float or "auto", default="auto"
        Megabytes for kernel values, see `memory_budget`. Kernels are computed once and kept, in float32, as far as they
        fit; the others are computed again whenever they are needed.
    sample_weight : array of shape (n,), default=None
        Weights of the samples in the sizes of the matrices.

    Raises
    ------
    IndefiniteError
        If a matrix is not positive semi-definite.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import GramStack
    >>> from mercer.kernels import Linear, RBF
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> stack = GramStack([Linear(), RBF(gamma=1.0)], X)
    >>> stack.factors
    array([0.6, 1. ])
    >>> stack.combination(np.array([0.5, 0.5])).rows(np.array([2])).round(3)
    array([[0.009, 0.784, 1.7  ]])
    """

    def __init__(
        self,
        kernels: Sequence[Kernel],
        X: Any,
        *,
        scale: str | None = "trace",
        ridge: float = 0.0,
        memory: float | str = "auto",
        sample_weight: np.ndarray | None = None,
    ):
        self.kernels, self.X, self.n = list(kernels), X, n_samples(X)
        self.ridge, self.memory = float(ridge), memory
        self.factors = np.ones(len(self.kernels))
        """What every matrix is multiplied by."""
        shares = np.full(self.n, 1.0 / self.n) if sample_weight is None else sample_weight / sample_weight.sum()
        self._kept: list[np.ndarray | None] = [None] * len(self.kernels)
        room = memory_budget(memory) // 2
        for k, kernel in enumerate(self.kernels):
            gram = make_gram(kernel, X, memory)
            self._check(gram, k)
            self.factors[k] = _factor(gram, scale, shares)
            if 4 * self.n**2 <= room:
                room -= 4 * self.n**2
                self._kept[k] = self._computed(gram, k)

    def __len__(self) -> int:
        return len(self.kernels)

    def _check(self, gram: Gram, k: int) -> None:
        if not gram.definite:
            raise indefinite("A kernel combination", gram.lowest_eigenvalue(), of=f"kernel {k}, {self.kernels[k]!r},")

    def _computed(self, gram: Gram, k: int) -> np.ndarray:
        matrix = np.empty((self.n, self.n), dtype=np.float32)
        for block in row_blocks(self.n, self.n):
            matrix[block] = self.factors[k] * gram.rows(np.arange(block.start, block.stop))
        matrix[np.diag_indices(self.n)] += np.float32(self.ridge)
        return matrix

    def matrix(self, k: int) -> np.ndarray:
        """One of the matrices in float64, scaled and with its ridge."""
        return self.factors[k] * make_gram(self.kernels[k], self.X, self.memory).square(np.arange(self.n)) + (
            self.ridge * np.eye(self.n)
        )

    def kernel(self, weights: np.ndarray) -> Kernel:
        """The combination as a kernel, without the ridge; kernels of weight zero are left out."""
        used = np.flatnonzero(weights)
        if not len(used):
            used = np.array([0])
        return weighted_sum([self.kernels[k] for k in used], (weights * self.factors)[used])

    def combination(self, weights: np.ndarray) -> Gram:
        """The weighted sum of the matrices, in float32 if there is room for it."""
        if 4 * self.n**2 > memory_budget(self.memory) // 2:
            return FunctionGram(self.kernel(weights), self.X)
        total = np.zeros((self.n, self.n))
        for k in np.flatnonzero(weights).tolist():
            kept = self._kept[k]
            total += weights[k] * (self.matrix(k) if kept is None else kept)
        return MatrixGram.of_checked(total.astype(np.float32), True)

    def exact(self, weights: np.ndarray, *, ridged: bool = True) -> Gram:
        """The weighted sum of the matrices in float64, from kernel values that are computed again."""
        gram = make_gram(self.kernel(weights), self.X, self.memory)
        if not (ridged and self.ridge):
            return gram
        ridge = self.ridge * float(weights.sum())
        return MatrixGram.of_checked(gram.square(np.arange(self.n)) + ridge * np.eye(self.n), True)

    def energies(self, coefficients: csr_array, *, exact: bool = False) -> np.ndarray:
        """Half of c'Kc for every matrix, summed over the rows c of coefficients, shape (n_kernels,).

        From the matrices as they are kept, or exactly: from kernel values in float64.
        """
        support = np.unique(coefficients.indices)
        rows = coefficients[:, support].toarray()
        found = [0.5 * float((rows * self._product(k, rows, support, support, exact)).sum()) for k in range(len(self))]
        return np.maximum(found, 0.0)

    def products(self, coefficients: csr_array, samples: np.ndarray) -> np.ndarray:
        """K c at some samples for every matrix, for one row c of coefficients, shape (n_kernels, len(samples))."""
        support = coefficients.indices
        rows = coefficients.data[np.newaxis]
        return np.concatenate([self._product(k, rows, support, samples, False) for k in range(len(self))])

    def _product(self, k: int, rows: np.ndarray, support: np.ndarray, samples: np.ndarray, exact: bool) -> np.ndarray:
        """Rows of coefficients of some samples times a matrix, at other samples."""
        kept = self._kept[k]
        if kept is not None and not exact:
            return rows @ kept[np.ix_(support, samples)]
        product = self.factors[k] * self.kernels[k].dot(take(self.X, samples), take(self.X, support), rows.T).T
        return product + self.ridge * rows @ (support[:, np.newaxis] == samples) if self.ridge else product


def _factor(gram: Gram, scale: str | None, shares: np.ndarray) -> float:
    """One over the size of a matrix."""
    if scale is None:
        return 1.0
    size = inner(gram.diag(), shares)
    if scale == "variance":
        size -= inner(gram.dot(shares), shares)
    return 1.0 / size if size > np.finfo(float).tiny else 1.0
