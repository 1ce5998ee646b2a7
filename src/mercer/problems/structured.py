"""Structured outputs: of all outputs that a sample may be taken for, the worst one counts."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

__all__ = ["Planes", "StructuredProblem"]


@dataclass(frozen=True, eq=False)
class Planes:
    """Linear functions :math:`l - w \\cdot \\psi` of w, each below the loss of one sample.

    Parameters
    ----------
    psi : csr_array of shape (k, size)
        With sorted indices.
    loss : array of shape (k,)
        l.
    """

    psi: csr_array
    loss: np.ndarray

    def __len__(self) -> int:
        return len(self.loss)

    def values(self, w: np.ndarray) -> np.ndarray:
        """l - w . psi."""
        return self.loss - self.psi @ w

    def mixed(self, shares: np.ndarray) -> tuple[np.ndarray, float]:
        """psi and l of the sum of all planes, each times its share."""
        return self.psi.T @ shares, float(shares @ self.loss)


class StructuredProblem(ABC):
    """Weights w of features of samples and outputs together. [CY eqs 2.57-2.59]

    .. math::

        \\min_w \\tfrac12 \\|w\\|^2 + \\sum_i c_i H_i(w), \\quad
        H_i(w) = \\max_y \\Delta(y_i, y) - w \\cdot (\\Psi(x_i, y_i) - \\Psi(x_i, y))

    The loss :math:`H_i` of a sample is the largest of many planes, one for each output, and that of the right output is
    zero. Nobody writes all of them down: `planes` finds the highest ones at some w. With multipliers of planes as in
    `BlockSimplexProblem`, that is a sum of planes with shares up to :math:`c_i` for every sample, the sum of
    :math:`\\psi` being w, the dual is

    .. math:: \\max_a \\sum_{ij} a_{ij} l_{ij} - \\tfrac12 \\|w\\|^2

    and the primal objective at any w minus the dual one at any a bounds how far both are from the optimum.

    Parameters
    ----------
    size : int
        The number of features.
    cost : array of shape (n,)
        c > 0, finite.
    """

    def __init__(self, size: int, cost: np.ndarray):
        self.size, self.cost = size, np.ascontiguousarray(cost, dtype=np.float64)
        if self.cost.ndim != 1 or not len(self.cost) or not ((self.cost > 0) & np.isfinite(self.cost)).all():
            raise ValueError("cost must be an array of numbers > 0, finite, one for every sample.")

    @property
    def n(self) -> int:
        """The number of samples."""
        return len(self.cost)

    @abstractmethod
    def planes(self, w: np.ndarray, samples: np.ndarray) -> Planes:
        """The highest plane at w of each of some samples."""

    def completed(self, w: np.ndarray) -> "StructuredProblem":
        """The problem whose right outputs have the hidden parts that are best at w; without such parts, this one."""
        return self

    @property
    def convex(self) -> bool:
        """Whether nothing of the right outputs is hidden."""
        return True
