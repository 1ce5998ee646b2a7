"""The solver for problems over linear kernels: which algorithm, and when."""

from collections.abc import Sequence

import numpy as np
from sklearn.base import BaseEstimator

from mercer.gram import LinearGram
from mercer.parameters import check_parameters
from mercer.problems import DualProblem
from mercer.solvers.base import Callback, Solver, SolverResult, solve_side_by_side
from mercer.solvers.descent import CoordinateDescent
from mercer.solvers.newton import DIRECT_WEIGHTS, ProximalNewton
from mercer.solvers.smo import SMO

__all__ = ["LinearSolver"]

# So many samples have a kernel matrix that is soon made.
FEW_SAMPLES = 1000


class LinearSolver(BaseEstimator):
    """Picks the algorithm for a problem over a `LinearGram`.

    `ProximalNewton` up to 1024 features; above, `CoordinateDescent`, and the former where that stalls. `SMO` for hard
    margins, equalities per sign, and many features of up to 1000 samples. Samples in blocks go to `ProximalNewton`.

    Parameters
    ----------
    tol, gap_tol, max_iter, max_seconds, n_threads
        As those of the solver that is picked.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import LinearGram
    >>> from mercer.problems import soft_margin
    >>> from mercer.solvers import LinearSolver
    >>> gram = LinearGram([[0.0], [1.0], [3.0], [4.0]])
    >>> hard = soft_margin(gram, np.array([-1.0, -1.0, 1.0, 1.0]), np.full(4, np.inf))
    >>> LinearSolver().pick(hard)
    SMO()
    """

    _parameters = ProximalNewton._parameters

    def __init__(self, *, tol=1e-3, gap_tol=None, max_iter=None, max_seconds=None, n_threads=None):
        self.tol = tol
        self.gap_tol = gap_tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.n_threads = n_threads

    def pick(self, problem: DualProblem) -> Solver:
        """The solver for a problem."""
        gram: LinearGram = problem.gram  # type: ignore[assignment]
        parameters = self.get_params(deep=False)
        unbounded = not (np.isfinite(problem.upper) | (problem.ridge > 0)).all()
        if unbounded or problem.equality == "per_sign":
            return SMO(**parameters)
        if gram.n_weights <= DIRECT_WEIGHTS or not gram.in_one_piece:
            return ProximalNewton(**parameters)
        return SMO(**parameters) if gram.n <= FEW_SAMPLES else CoordinateDescent(**parameters)

    def check(self, problem: DualProblem) -> None:
        """Refuse problems over other kernels."""
        check_parameters(self)
        if not isinstance(problem.gram, LinearGram):
            raise ValueError(
                f"LinearSolver needs a LinearGram, got a {type(problem.gram).__name__}; SMO solves problems over any "
                "kernel."
            )

    def solve(
        self, problem: DualProblem, start: np.ndarray | None = None, callback: Callback | None = None
    ) -> SolverResult:
        """The solution, with its certificate."""
        self.check(problem)
        picked = self.pick(problem)
        result = picked.solve(problem, start, callback)
        if result.status != "stalled" or not isinstance(picked, CoordinateDescent):
            return result
        # Columns of very different size, most likely, which Newton's method does not mind.
        left = {} if self.max_seconds is None else {"max_seconds": max(1e-9, self.max_seconds - result.seconds)}
        return ProximalNewton(**self.get_params(deep=False) | left).solve(problem, result.a, callback)

    def solve_many(
        self,
        problems: Sequence[DualProblem],
        starts: Sequence[np.ndarray | None] | None = None,
        callback: Callback | None = None,
    ) -> list[SolverResult]:
        """As `solve` for each problem, several at once."""
        return solve_side_by_side(self, problems, starts, callback)
