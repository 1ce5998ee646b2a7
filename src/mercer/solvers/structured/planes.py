"""Planes that were found, with multipliers: `_native.PlaneSet` for Python."""

import numpy as np

from mercer import _native
from mercer.problems import Planes, StructuredProblem

__all__ = ["PlaneSet"]


class PlaneSet:
    """Planes of blocks of a problem, and the dual point that their multipliers make.

    That is a point of the `mercer.problems.BlockSimplexProblem` of these planes, which come and go.

    Parameters
    ----------
    size : int
        The number of features.
    cost : array of shape (n_blocks,)
        What the multipliers of each block may add up to.
    """

    def __init__(self, size: int, cost: np.ndarray):
        self._set = _native.PlaneSet(size, cost)

    @classmethod
    def of(cls, problem: StructuredProblem) -> "PlaneSet":
        """A block for every sample."""
        return cls(problem.size, problem.cost)

    def visit(self, blocks: np.ndarray, planes: Planes | None = None) -> tuple[np.ndarray, float]:
        """Planes of some blocks, one after the other, each with the best multipliers of its block after it.

        Without planes, those that are known. Returns the gaps of the blocks before, and what the dual objective gains.
        """
        blocks = np.ascontiguousarray(blocks, dtype=np.int64)
        if planes is None:
            return self._set.visit(blocks)
        psi = planes.psi
        rows = psi.data, psi.indices.astype(np.int32, copy=False), psi.indptr.astype(np.int64, copy=False)
        return self._set.visit(blocks, rows, planes.loss)

    def solve(self, bound: float, passes: int) -> float:
        """The best multipliers of all known planes, to a gap of at most `bound`, or so many passes: the gap."""
        return self._set.solve(bound, passes)

    def point(self) -> tuple[np.ndarray, float]:
        """w and l.a, computed afresh from the multipliers."""
        self._set.refresh()
        return self._set.w, self._set.loss

    def gaps(self, cost: np.ndarray, losses: np.ndarray) -> np.ndarray:
        """The gap of every block, given the losses at w, which are the largest values of all its planes."""
        return np.maximum(0.0, cost * losses - self._set.owned())

    def averaged(self) -> tuple[np.ndarray, float]:
        """w and l.a of the mean of all points so far, later ones counting more."""
        return self._set.averaged()

    @property
    def w(self) -> np.ndarray:
        """The sum of a psi: a view, which changes with every step."""
        return self._set.w

    @property
    def dual(self) -> float:
        """The dual objective, but for the rounding of steps."""
        w = self.w
        return self._set.loss - 0.5 * float(w @ w)

    def __len__(self) -> int:
        return self._set.planes
