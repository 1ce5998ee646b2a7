"""One simplex of multipliers per sample: the dual of machines whose largest error counts."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.gram import Gram

__all__ = ["BlockSimplexProblem"]

# What sums of multipliers may be off by, relative to their bound, and still meet it.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Simplices:
    """Where multipliers lie: those of a block are >= 0 and add up to its cost at most.

    Parameters
    ----------
    block : int array of shape (m,)
        The block of each multiplier, from 0 on, ascending; a block may have none.
    cost : array of shape (n_blocks,)
        c > 0, finite.
    """

    block: np.ndarray
    cost: np.ndarray

    def __post_init__(self):
        set_array(self, "block", "iu", np.int64, np.shape(self.block)[:1])
        set_array(self, "cost", "iuf", np.float64, np.shape(self.cost)[:1])
        if len(self.block):
            ascending = (np.diff(self.block) >= 0).all()
            if not (ascending and 0 <= self.block[0] and self.block[-1] < len(self.cost)):
                raise ValueError(f"block must ascend, from 0 to at most {len(self.cost) - 1}, the last entry of cost.")
        if not ((self.cost > 0) & np.isfinite(self.cost)).all():
            raise ValueError("cost must be > 0 and finite.")

    def feasible(self, start: Any = None) -> np.ndarray:
        """Multipliers in their simplices: those nearest to `start`, or zero.

        The sums that offsets ask for are left to the solver.
        """
        if start is None:
            return np.zeros(len(self.block))
        start = np.asarray(start, dtype=np.float64)
        if start.shape != self.block.shape:
            raise ValueError(f"start has shape {start.shape}, the problem has multipliers of shape {self.block.shape}.")
        if not np.isfinite(start).all():
            raise ValueError("start contains NaN or infinity.")
        a = np.maximum(0.0, start)
        over = (self._totals(a) > self.cost)[self.block]
        a[over] = _onto_simplices(start[over], self.block[over], self.cost)
        return a

    def least(self, slopes: np.ndarray) -> np.ndarray:
        """The smallest slope of every sample, the zero of its right output included: minus its error."""
        return np.minimum(0.0, self._per_block(np.minimum, slopes, np.inf))

    def gap(self, a: np.ndarray, slopes: np.ndarray, least: np.ndarray | None = None) -> float:
        """Primal minus dual objective; `least` for all outputs of a sample, if more than these are possible."""
        least = self.least(slopes) if least is None else np.minimum(least, self.least(slopes))
        return float((self._totals(a * slopes) - self.cost * least).sum())

    def violation(self, a: np.ndarray, slopes: np.ndarray) -> float:
        """How far a is from the optimality conditions; zero at the optimum."""
        down = self._per_block(np.maximum, np.where(a > 0, slopes, -np.inf), -np.inf)
        # What is left of the cost is a multiplier of slope zero.
        spare = self._totals(a) < self.cost * (1 - ROUNDING)
        down = np.where(spare, np.maximum(down, 0.0), down)
        return float(np.max(down - self.least(slopes), initial=0.0))

    def _totals(self, values: np.ndarray) -> np.ndarray:
        return np.bincount(self.block, weights=values, minlength=len(self.cost))

    def _per_block(self, function: np.ufunc, values: np.ndarray, empty: float) -> np.ndarray:
        found = np.full(len(self.cost), empty)
        if len(self.block):
            starts = np.concatenate([[0], np.flatnonzero(np.diff(self.block)) + 1])
            found[self.block[starts]] = function.reduceat(values, starts)
        return found


@dataclass(frozen=True, eq=False)
class BlockSimplexProblem(Simplices):
    """Samples with several wrong outputs each, of which the worst one counts.

    .. math::

        \\min_a \\tfrac12 \\Big\\|\\sum_{ij} a_{ij} \\psi_{ij}\\Big\\|^2 - \\sum_{ij} a_{ij} l_{ij}
        \\quad\\text{s.t.}\\quad a_{ij} \\ge 0, \\quad \\sum_j a_{ij} \\le c_i

    It is the dual of

    .. math::

        \\min_w \\tfrac12 \\|w\\|^2 + \\sum_i c_i \\max(0, \\max_j l_{ij} - w \\cdot \\psi_{ij}),

    where :math:`\\psi_{ij}` is what the right output of sample i has ahead of the wrong output j in feature space, and
    :math:`l_{ij}` the price of the mistake. What the multipliers of a sample leave of :math:`c_i` is the multiplier of
    the right output, with :math:`\\psi = 0` and :math:`l = 0`.

    Crammer and Singer's machine is of this form (`JointProblem.block_simplex`), and so are the cutting planes of
    structured outputs: a block per sample, or one block for all of them.

    Parameters
    ----------
    block : int array of shape (m,)
        The sample of each psi, from 0 on, ascending; a sample may have none.
    cost : array of shape (n_blocks,)
        c > 0, finite.
    gram : Gram
        The inner products of all psi, one after the other.
    loss : array of shape (m,)
        l, finite.
    free : array or sparse array of shape (m, p), default=None
        Entries of psi whose weights, the offsets, have no price: their sums :math:`\\sum_{ij} a_{ij} \\psi_{ij}` are
        to be zero.

    Notes
    -----
    With the slopes :math:`g_{ij} = w \\cdot \\psi_{ij} - l_{ij}` the duality gap is a sum over samples,
    :math:`a_i \\cdot g_i - c_i \\min(0, \\min_j g_{ij})`, none of them negative: what a step of the Frank-Wolfe method
    looks at [1]_. Where only some of the outputs are written down, the smallest slope over all of them comes from
    whoever can find it.

    References
    ----------
    .. [1] S. Lacoste-Julien, M. Jaggi, M. Schmidt, P. Pletscher, Block-coordinate Frank-Wolfe optimization for
       structural SVMs, ICML 2013.
    .. [2] I. Tsochantaridis, T. Joachims, T. Hofmann, Y. Altun, Large margin methods for structured and interdependent
       output variables, JMLR 6, 2005.

    Examples
    --------
    Two samples; the first may be taken for two other things, the second for one:

    >>> import numpy as np
    >>> from mercer.gram import MatrixGram
    >>> from mercer.problems import BlockSimplexProblem
    >>> problem = BlockSimplexProblem([0, 0, 1], [1.0, 5.0], MatrixGram(np.eye(3)), [1.0, 2.0, 1.0])
    >>> a = np.array([0.0, 1.0, 1.0])
    >>> slopes = problem.slopes(problem.sums(a))
    >>> problem.objective(a, problem.sums(a)), problem.gap(a, slopes), problem.violation(a, slopes)
    (-2.0, 0.0, 0.0)
    """

    gram: Gram
    loss: np.ndarray
    free: Any = None

    def __post_init__(self):
        super().__post_init__()
        m = self.gram.n
        if len(self.block) != m:
            raise ValueError(f"block must have an entry for each of the {m} psi, got {len(self.block)}.")
        set_array(self, "loss", "iuf", np.float64, (m,))
        if not np.isfinite(self.loss).all():
            raise ValueError("loss must be finite.")
        if self.free is not None and (self.free.ndim != 2 or self.free.shape[0] != m):
            raise ValueError(f"free must have a row for each of the {m} psi, got shape {self.free.shape}.")

    def sums(self, a: np.ndarray) -> np.ndarray:
        """w . psi of all multipliers, without offsets, computed afresh in float64."""
        return self.gram.dot(a)

    def slopes(self, sums: np.ndarray, offsets: np.ndarray | None = None) -> np.ndarray:
        """g = w . psi - l."""
        return sums - self.loss if offsets is None else sums + self.free @ offsets - self.loss

    def objective(self, a: np.ndarray, sums: np.ndarray) -> float:
        """The value of the dual, which is to be small; sums without offsets."""
        return float(0.5 * max(0.0, (a * sums).sum()) - (a * self.loss).sum())

    def imbalance(self, a: np.ndarray) -> float:
        """How far the sums that the offsets ask for are from zero."""
        return 0.0 if self.free is None else float(np.abs(self.free.T @ a).max(initial=0.0))


def set_array(problem: Any, name: str, kinds: str, dtype: Any, shape: tuple[int, ...]) -> None:
    """Check an array of numbers and put it into a frozen problem."""
    values = np.asarray(getattr(problem, name))
    if values.shape != shape or len(shape) != 1 or (values.size and values.dtype.kind not in kinds):
        raise ValueError(f"{name} must be an array of numbers of shape {shape}, got {values.dtype} of {values.shape}.")
    object.__setattr__(problem, name, np.ascontiguousarray(values, dtype=dtype))


def _onto_simplices(v: np.ndarray, block: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """The nearest entries >= 0 that add up to the cost of their block: max(0, v - shift), a shift for each block.

    Michelot's method: the shift for a set of entries, and again without those that it makes negative.
    """
    at_play = np.ones(len(v), dtype=bool)
    while True:
        totals = np.bincount(block, weights=np.where(at_play, v, 0.0), minlength=len(cost))
        shift = (totals - cost) / np.maximum(1, np.bincount(block[at_play], minlength=len(cost)))
        left = at_play & (v > shift[block])
        if np.array_equal(left, at_play):
            return np.where(at_play, v - shift[block], 0.0)
        at_play = left
