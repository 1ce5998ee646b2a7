"""The solver for problems over features: which algorithm, and when."""

import numpy as np

from mercer.checkpoints import Bookmark
from mercer.gram import FeatureGram, LinearGram
from mercer.problems import DualProblem
from mercer.solvers.base import Callback, Solver, SolverResult
from mercer.solvers.descent import CoordinateDescent
from mercer.solvers.kept import go_on
from mercer.solvers.newton import ProximalNewton
from mercer.solvers.over_features import FeatureSolver, is_unbounded
from mercer.solvers.smo import SMO

__all__ = ["LinearSolver"]

# So many samples have a kernel matrix that is soon made.
FEW_SAMPLES = 1000
# Where there are hardly more samples than landmarks, functions may go through all values, and Newton's method crawls.
FEW_PER_WEIGHT = 2


class LinearSolver(FeatureSolver):
    """Picks the algorithm for a problem over a `FeatureGram`.

    `ProximalNewton` up to 1024 features; above, `CoordinateDescent`, and the former where that stalls. `SMO` for hard
    margins, equalities per sign, many features of up to 1000 samples, and landmarks that are half of the samples.
    Samples in blocks, and features that are not stored, go to `ProximalNewton`.

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

    def pick(self, problem: DualProblem) -> Solver:
        """The solver for a problem."""
        gram: FeatureGram = problem.gram  # type: ignore[assignment]
        parameters = self.get_params(deep=False)
        if is_unbounded(problem) or problem.equality == "per_sign":
            return SMO(**parameters)
        if not isinstance(gram, LinearGram) and gram.n <= FEW_PER_WEIGHT * gram.n_weights:
            return SMO(**parameters)
        if gram.n_weights <= gram.newton_weights or not (isinstance(gram, LinearGram) and gram.in_one_piece):
            return ProximalNewton(**parameters)
        return SMO(**parameters) if gram.n <= FEW_SAMPLES else CoordinateDescent(**parameters)

    def solve_on(
        self, problem: DualProblem, start: np.ndarray | None, callback: Callback | None, bookmark: Bookmark | None
    ) -> SolverResult:
        """As `solve`, from where the bookmark is, and keeping there how far it is."""
        self.check(problem)
        picked, parameters = self.pick(problem), self.get_params(deep=False)
        state = None if bookmark is None else bookmark.state
        if isinstance(picked, CoordinateDescent) and state is not None and state["solver"] == "ProximalNewton":
            return ProximalNewton(**parameters).solve_on(problem, start, callback, bookmark)
        result = go_on(picked, problem, start, callback, bookmark)
        if result.status != "stalled" or not isinstance(picked, CoordinateDescent):
            return result
        # Columns of very different size, most likely, which Newton's method does not mind.
        left = {} if self.max_seconds is None else {"max_seconds": max(1e-9, self.max_seconds - result.seconds)}
        return ProximalNewton(**parameters | left).solve_on(problem, result.a, callback, bookmark)
