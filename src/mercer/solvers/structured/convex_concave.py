"""Outputs with hidden parts: a difference of convex functions, of which one is replaced by its tangent."""

from typing import ClassVar

import numpy as np
from sklearn.utils import check_random_state

from mercer.problems import StructuredProblem
from mercer.solvers.structured.base import StructuredRun, StructuredSolver
from mercer.solvers.structured.frank_wolfe import BlockFrankWolfe

__all__ = ["ConvexConcave"]

# The gap of every convex problem, relative to the one that is asked for.
INNER_GAP = 0.5


class ConvexConcave(StructuredSolver):
    """The convex-concave procedure, for right outputs with hidden parts h. [CY eq 2.57] [1]_ [2]_

    .. math::

        \\min_w \\tfrac12 \\|w\\|^2 + \\sum_i c_i \\max_{y, h} \\bigl[\\Delta(y_i, y) + w \\cdot \\Psi(x_i, y, h)\\bigr]
        - \\sum_i c_i \\max_h w \\cdot \\Psi(x_i, y_i, h)

    is a difference of two convex functions. In every round the hidden parts of the right outputs are set to those that
    are best at w, which makes of the second one a plane below it; what is left is convex, nowhere below the objective
    and equal to it at w. Its optimum is the next w, and so the objective falls from round to round.

    The rounds end where w is the optimum, to the gap that is asked for, of the very problem that it makes: w is
    stationary, the status is "local", and `dual_objective` bounds that problem, not the objective elsewhere. Without
    hidden parts there is one round, and the status is "solved".

    Parameters
    ----------
    gap_tol, max_iter, max_seconds
        See `StructuredSolver`; of all rounds together.
    solver : StructuredSolver or None, default=None
        Solves the convex problems, from the last w on, within the limits given here; None: `BlockFrankWolfe`.
    random_state : int, RandomState or None, default=0
        Hidden parts are alike at zero: the first w, if none is given, is random. And the order of samples, if no solver
        is given.

    References
    ----------
    .. [1] A. L. Yuille, A. Rangarajan, The concave-convex procedure, Neural Computation 15, 2003.
    .. [2] C.-N. J. Yu, T. Joachims, Learning structural SVMs with latent variables, ICML 2009.
    """

    convex: ClassVar[bool] = False

    def __init__(self, *, gap_tol=1e-3, max_iter=1000, max_seconds=None, solver=None, random_state=0):
        super().__init__(gap_tol=gap_tol, max_iter=max_iter, max_seconds=max_seconds)
        self.solver = solver
        self.random_state = random_state

    def check(self, problem: StructuredProblem) -> None:
        super().check(problem)
        if self.solver is not None and not (isinstance(self.solver, StructuredSolver) and self.solver.convex):
            raise TypeError(f"solver must be a StructuredSolver of convex problems or None, got {self.solver!r}.")

    def _run(self, run: StructuredRun, w: np.ndarray) -> None:
        solver = BlockFrankWolfe(random_state=self.random_state) if self.solver is None else self.solver
        if run.problem.convex:
            solver._run(run, w)
        else:
            self._rounds(run, w, solver)

    def _rounds(self, run: StructuredRun, w: np.ndarray, solver: StructuredSolver) -> None:
        if not w.any():
            w = check_random_state(self.random_state).normal(size=len(w)) / np.sqrt(len(w))
        problem, last = run.problem.completed(w), np.inf
        while True:
            run.pose(problem, INNER_GAP * self.gap_tol)
            solver._run(run, w)
            if run.status != "local":
                return
            completed = problem.completed(run.w)
            if completed is problem:
                return
            if last - run.dual <= self.gap_tol * run.primal:
                break
            w, problem, last = run.w, completed, run.primal
        # Hidden parts go to and fro between those that are nearly as good: w is the point that is proved stationary.
        dual = run.dual
        run.pose(problem, self.gap_tol)
        run.judge(w, None)
        run.prove(dual)
