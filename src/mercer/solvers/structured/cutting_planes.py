"""Cutting planes: the restricted problem of the planes found so far, solved, and the planes that it misses."""

from abc import abstractmethod

import numpy as np
from scipy.sparse import csr_array

from mercer.problems import Planes, StructuredProblem
from mercer.solvers.structured.base import StructuredRun, StructuredSolver
from mercer.solvers.structured.planes import PlaneSet

__all__ = ["NSlack", "OneSlack"]

# The gap of a restricted problem, relative to that of the whole one and to the one that is asked for.
INNER_GAP, WANTED_GAP = 0.1, 0.5
# Passes over the blocks of a restricted problem before the clock is looked at.
PASSES = 100
# A dual objective that gains less than this part of the primal one stays where it is.
ROUNDING = 1e-14


class CuttingPlanes(StructuredSolver):
    """Base of `NSlack` and `OneSlack`, which differ in what a plane is of."""

    def _run(self, run: StructuredRun, w: np.ndarray) -> None:
        cost = self._cost(run.problem)
        known, blocks = PlaneSet(run.problem.size, cost), np.arange(len(cost))
        planes = run.judge(w, None)
        while run.status is None:
            known.visit(blocks, self._cuts(run.problem, planes))
            solved, before = self._solve(run, known), run.dual
            w, loss = known.point()
            planes = run.judge(w, loss)
            if not solved and run.dual - before <= ROUNDING * run.primal:
                run.stall()

    @staticmethod
    def _solve(run: StructuredRun, known: PlaneSet) -> bool:
        """Solve the restricted problem; False: rounding or the clock has ended that before."""
        bound = max(WANTED_GAP * run.wanted, INNER_GAP * run.gap)
        last, gap = np.inf, known.solve(bound, PASSES)
        while bound < gap < last and run.status is None:
            last, gap = gap, known.solve(bound, PASSES)
        return gap <= bound

    @abstractmethod
    def _cost(self, problem: StructuredProblem) -> np.ndarray:
        """What the multipliers of each block may add up to."""

    @abstractmethod
    def _cuts(self, problem: StructuredProblem, planes: Planes) -> Planes:
        """A plane for each block, of the highest ones of all samples."""


class NSlack(CuttingPlanes):
    """Cutting planes with a slack for every sample. [CY eqs 2.58-2.59] [1]_

    In every round all samples are asked for their highest plane at w, and w becomes the optimum given all planes found
    so far: the dual of that restricted problem is solved one sample at a time, with Newton steps on all of them where
    this crawls. Few rounds are needed, since each sample has planes of its own; most of the time goes into the
    restricted problems, if oracles are fast.

    Parameters
    ----------
    gap_tol, max_iter, max_seconds
        See `StructuredSolver`.

    Notes
    -----
    A round is a pass of n oracle calls, all with one w. Memory: all planes that had a multiplier in the last twenty
    rounds, several for each sample.

    References
    ----------
    .. [1] I. Tsochantaridis, T. Joachims, T. Hofmann, Y. Altun, Large margin methods for structured and interdependent
       output variables, JMLR 6, 2005.
    """

    def _cost(self, problem):
        return problem.cost

    def _cuts(self, problem, planes):
        return planes


class OneSlack(CuttingPlanes):
    """Cutting planes with one slack for all samples together. [1]_

    The sum of all losses is the largest of many planes, too: the sums of one plane of each sample. In every round all
    samples are asked for their highest plane at w, their sum is one plane more, and w becomes the optimum given those
    found so far. The restricted problems are small, and how many there are does not depend on the number of samples;
    but there are more of them than with `NSlack`.

    Parameters
    ----------
    gap_tol, max_iter, max_seconds
        See `StructuredSolver`.

    Notes
    -----
    A round is a pass of n oracle calls, all with one w. Memory: a plane of as many entries as there are features for
    every round, those without multiplier in the last twenty rounds forgotten.

    References
    ----------
    .. [1] T. Joachims, T. Finley, C.-N. J. Yu, Cutting-plane training of structural SVMs, Machine Learning 77, 2009.
    """

    def _cost(self, problem):
        return np.ones(1)

    def _cuts(self, problem, planes):
        psi, loss = planes.mixed(problem.cost)
        return Planes(csr_array(psi[np.newaxis]), np.array([loss]))
