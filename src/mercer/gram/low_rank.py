"""Kernel matrices by some of their columns."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.utils import check_random_state

from mercer.errors import IndefiniteError
from mercer.gram.checks import as_matrix, as_weights
from mercer.gram.sources import Gram, MatrixGram
from mercer.kernels.samples import row_blocks
from mercer.parameters import Choice, Number
from mercer.threads import in_threads

__all__ = ["LowRank", "low_rank", "partial_cholesky"]

PIVOTS = Choice("random", "greedy", "uniform")
# Pivots that are proposed at once: their columns come from one product of matrices.
BLOCK = 128
# Samples whose entries of new columns one thread makes at once.
SAMPLES_AT_ONCE = 512
# A residual of so many units in the last place of the largest diagonal entry is rounding.
ROUNDING = 16


@dataclass(frozen=True, eq=False)
class LowRank:
    """A kernel matrix as far as some samples span it, K ≈ F F'.

    See Also
    --------
    low_rank : Makes it.
    """

    pivots: np.ndarray
    """The samples, in the order in which they were chosen."""
    factor: np.ndarray = field(repr=False)
    """F, shape (n, rank). Its rows of the pivots are a lower triangle."""
    residual: np.ndarray = field(repr=False)
    """The diagonal of K - F F', which is positive semi-definite; never negative."""

    @property
    def rank(self) -> int:
        """How many samples were chosen."""
        return len(self.pivots)

    @property
    def error(self) -> float:
        """The trace of K - F F': the squared distances of all samples from the span of the pivots."""
        return float(self.residual.sum())


def low_rank(
    K: Any,
    rank: int,
    *,
    pivots: str = "random",
    tol: float = 0.0,
    sample_weight: Any = None,
    random_state: Any = 0,
) -> LowRank:
    r"""A kernel matrix by the columns of some samples: the partial Cholesky factor with pivots.

    .. math:: K \approx F F^T = K_{:S} K_{SS}^{-1} K_{S:}

    the best approximation in the span of the samples S, and never more than K. A pivot is a sample that the ones
    before it do not explain well.

    Parameters
    ----------
    K : array of shape (n, n), or Gram
        Positive semi-definite. Of a Gram only `rank` rows, and some more, are asked for.
    rank : int >= 1
        How many samples at most; fewer if they span all.
    pivots : {"random", "greedy", "uniform"}, default="random"
        The next pivot has a chance in proportion to its residual [1]_, is the one of the largest residual, or any.
        Random ones are nearly as good as eigenvectors, and outliers do not mislead them.
    tol : float >= 0, default=0.0
        Enough when the trace of the residual is at most this share of that of K. With "greedy" this is what is known
        as the incomplete Cholesky factorisation [3]_.
    sample_weight : array of shape (n,), default=None
        Non-negative; weight 2 is the sample twice, in the chances of pivots and in both traces. A sample of weight 0
        is no pivot.
    random_state : int, RandomState or None, default=0
        Draws the pivots.

    Returns
    -------
    LowRank

    Notes
    -----
    Time O(n rank^2) and `rank` columns of K, in blocks: proposals that those before them in the block already explain
    are rejected [2]_, so that the pivots are drawn as if one by one. By BLAS: equal up to rounding for any number of
    threads. In a matrix of float32 what is below the rounding of float32 is no pivot. An indefinite matrix is refused
    with `IndefiniteError`, as far as its columns show it.

    References
    ----------
    .. [1] Y. Chen, E. N. Epperly, J. A. Tropp, R. J. Webber, Randomly pivoted Cholesky, 2025.
    .. [2] E. N. Epperly, J. A. Tropp, R. J. Webber, Embrace rejection: kernel matrix approximation by accelerated
       randomly pivoted Cholesky, 2024.
    .. [3] S. Fine, K. Scheinberg, Efficient SVM training using low-rank kernel representations, JMLR 2, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import low_rank
    >>> X = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 2.0], [3.0, 1.0]])
    >>> found = low_rank(X @ X.T, 4)
    >>> found.rank, bool(np.allclose(found.factor @ found.factor.T, X @ X.T))
    (2, True)
    """
    if problem := Number(1, integer=True).problem(rank):
        raise ValueError(f"rank {problem}")
    if problem := Number(0).problem(tol):
        raise ValueError(f"tol {problem}")
    if problem := PIVOTS.problem(pivots):
        raise ValueError(f"pivots {problem}")
    gram = K if isinstance(K, Gram) else MatrixGram.of_checked(as_matrix(K).astype(_dtype(K), copy=False), None)
    weight = None if sample_weight is None else as_weights(sample_weight, gram.n)
    factor, residual = spanning(gram, rank, pivots, tol, random_state, weight)
    return LowRank(factor.pivots, factor.array(), residual)


def spanning(
    gram: Gram, rank: int, pivots: str, tol: float, random_state: Any, weight: np.ndarray | None
) -> tuple["PartialFactor", np.ndarray]:
    """The partial factor that `low_rank` gives, where it was made, and the residual; of positive matrices alone."""
    factor, residual, lowest = _factored(gram, rank, pivots, tol, random_state, weight)
    # Small pivots enlarge what rounding has done to a column.
    if lowest < -np.sqrt(_eps(gram)) * gram.diag().max(initial=0.0):
        raise IndefiniteError(
            "K must be positive semi-definite, the squared distance of a sample from the span of others is "
            f"{lowest:.3g}; mercer.gram.Repair makes it one."
        )
    return factor, residual


def partial_cholesky(
    gram: Gram,
    rank: int,
    pivots: str = "random",
    tol: float = 0.0,
    random_state: Any = 0,
    weight: np.ndarray | None = None,
) -> tuple[LowRank, float]:
    """What `low_rank` gives, and the lowest residual there was: below zero where K is indefinite.

    A preconditioner of K and a ridge can do with that, features cannot.
    """
    factor, residual, lowest = _factored(gram, rank, pivots, tol, random_state, weight)
    return LowRank(factor.pivots, factor.array(), residual), lowest


class PartialFactor:
    """The columns of a partial Cholesky factor of a kernel matrix, as they come.

    Parameters
    ----------
    gram : Gram
    size : int
        How many columns there will be at most.

    Attributes
    ----------
    pivots : ndarray
        The samples chosen so far.
    """

    def __init__(self, gram: Gram, size: int):
        self.gram, self.pivots = gram, np.empty(0, dtype=np.int64)
        self.columns = self._room(size)

    def _room(self, size: int) -> Any:
        return np.empty((size, self.gram.n))

    @property
    def size(self) -> int:
        """How many columns there are."""
        return len(self.pivots)

    def left(self, proposed: np.ndarray) -> np.ndarray:
        """The kernel matrix of some samples without what the pivots span."""
        known = self.columns[: self.size, proposed]
        return self.gram.square(proposed) - known.T @ known

    def extend(self, new: np.ndarray, triangle: np.ndarray) -> np.ndarray:
        """Take in new pivots, `triangle` being the factor of what is `left` of them.

        Gives the sums of squares of the new columns, one for each sample.
        """
        k, known = self.size, self.columns[: self.size]
        rows, of_new = np.array(self.gram.rows(new), dtype=np.float64), known[:, new].T

        def without_known(samples: slice) -> None:
            rows[:, samples] -= of_new @ known[:, samples]

        in_threads(without_known, list(row_blocks(self.gram.n, 1, SAMPLES_AT_ONCE)))
        rows = solve_triangular(triangle, rows, lower=True, check_finite=False)
        # Of the pivots nothing is left, and above the diagonal of the triangle there is nothing.
        rows[:, new], rows[:, self.pivots] = triangle.T, 0.0
        self.columns[k : k + len(new)] = rows
        self._note(new)
        return np.einsum("ji,ji->i", rows, rows)

    def _note(self, new: np.ndarray) -> None:
        self.pivots = np.concatenate([self.pivots, new])

    def array(self) -> np.ndarray:
        """All columns, shape (n, size)."""
        return np.ascontiguousarray(self.columns[: self.size].T)

    def triangle(self) -> np.ndarray:
        """Their rows of the pivots, lower."""
        return np.ascontiguousarray(self.columns[: self.size, self.pivots].T)


def _factored(
    gram: Gram, rank: int, pivots: str, tol: float, random_state: Any, weight: np.ndarray | None
) -> tuple[PartialFactor, np.ndarray, float]:
    """The partial factor, the diagonal of what it leaves, and the lowest entry that ever had."""
    rng = check_random_state(random_state)
    diagonal = gram.diag()
    rounding = ROUNDING * _eps(gram) * float(diagonal.max(initial=0.0))
    n = gram.n
    weight = np.ones(n) if weight is None else weight
    wanted = min(rank, int(np.count_nonzero(weight)))
    factor = gram.partial_factor(wanted)
    residual = np.maximum(diagonal, 0.0)
    lowest = float(diagonal.min(initial=0.0))
    enough = tol * float(weight @ residual)
    order = rng.permutation(n)
    while factor.size < wanted:
        residual[residual <= rounding] = 0.0
        left = weight * residual
        if not left.any() or left.sum() <= enough:
            break
        size = min(BLOCK, wanted - factor.size)
        if pivots == "random":
            proposed = rng.choice(n, size=size, p=left / left.sum())
        elif pivots == "uniform":
            proposed = order[left[order] > 0][:size]
        else:
            proposed = np.argmax(np.where(weight > 0, residual, 0.0), keepdims=True)
        block = factor.left(proposed)
        residual[proposed] = np.minimum(residual[proposed], np.maximum(np.diagonal(block), 0.0))  # what it really is
        kept, triangle = _accepted(block, rounding, rng if pivots == "random" else None)
        if not len(kept):
            continue
        new = proposed[kept]
        residual = residual - factor.extend(new, triangle)
        residual[new] = 0.0
        lowest = min(lowest, float(residual.min()))
        residual = np.maximum(residual, 0.0)
    return factor, residual, lowest


def _dtype(K: Any) -> Any:
    """The precision of the entries of an array."""
    return np.float32 if getattr(K, "dtype", None) == np.float32 else np.float64


def _eps(gram: Gram) -> float:
    """Relative rounding of the entries; where they are computed, that is in float64."""
    return float(np.finfo(gram.dtype if isinstance(gram, MatrixGram) else np.float64).eps)


def _accepted(block: np.ndarray, rounding: float, rng: Any) -> tuple[np.ndarray, np.ndarray]:
    """Which of the proposals become pivots, and the Cholesky factor of their block of the residual.

    With a generator, each has the chance that is left of its residual after those before it.
    """
    proposed, left = np.diagonal(block).copy(), block.copy()
    chance = np.zeros(len(block)) if rng is None else rng.random_sample(len(block))
    columns, kept = np.zeros_like(block), []
    for i in range(len(block)):
        if left[i, i] <= rounding or chance[i] * proposed[i] >= left[i, i]:
            continue
        columns[i:, i] = left[i:, i] / np.sqrt(left[i, i])
        left[i + 1 :, i + 1 :] -= np.outer(columns[i + 1 :, i], columns[i + 1 :, i])
        kept.append(i)
    return np.array(kept, dtype=np.int64), columns[np.ix_(kept, kept)]
