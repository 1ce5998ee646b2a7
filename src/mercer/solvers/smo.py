"""Sequential minimal optimisation, native."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone

from mercer import _native
from mercer.errors import NotSeparableError
from mercer.gram import memory_budget
from mercer.parameters import Choice, Number, check_parameters
from mercer.problems import DualProblem, hull_distance
from mercer.solvers.base import Callback, History, Progress, SolverResult
from mercer.threads import effective_n_threads

__all__ = ["SMO"]

# A hard margin is suspected to be none when |w| / sum(a), an upper bound on it, falls below this fraction of
# the largest |phi(x)|, and declared to be none below the second one.
SUSPECT_MARGIN = 1e-2
NO_MARGIN = 1e-6
# Steps after which a run ends by itself: LIBSVM's rule. Nothing spins for ever.
STEPS, STEPS_PER_VARIABLE = 10_000_000, 100
# How often `gap_tol` may ask for a smaller violation, each time by this factor.
TIGHTENINGS, TIGHTER = 12, 0.2


class SMO(BaseEstimator):
    """Sequential minimal optimisation on blocks, with a certificate. [CY §1.5]

    The points that violate the optimality conditions most form a block whose kernel matrix lies in memory; in
    it, pairs of variables (single ones where there is no equality) are optimised until the block is settled,
    and the gradient of all other points follows in one pass over freshly made kernel rows. Rows are float32,
    everything else is float64. When the active points are settled, the gradient is computed afresh in float64
    over all points; if that shows a violation above `tol`, the run goes on from there, in float64 rows if
    float32 is too coarse. The result does not depend on threads or memory.

    Parameters
    ----------
    tol : float > 0, default=1e-3
        Largest violation of the optimality conditions [CY eq 1.61]. Larger is faster and less exact.
    gap_tol : float > 0 or None, default=None
        Largest relative duality gap; None leaves it to `tol`.
    pair_rule : {"gain", "violation"}, default="gain"
        The second variable of a pair: the one with the largest gain [CY eq 1.60] or the most violating one
        [CY eq 1.58].
    shrinking : bool, default=True
        Leave out points that have settled at a bound; they are checked before the run ends.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values, see `mercer.gram.memory_budget`.
    max_iter : int >= 1 or None, default=None
        Most steps; None means ten million, or a hundred per variable if that is more.
    max_seconds : float > 0 or None, default=None
        Most wall-clock time.
    n_threads : int or None, default=None
        See `mercer.threads.effective_n_threads`.
    precision : {"auto", "float64"}, default="auto"
        Precision of the working rows.

    See Also
    --------
    SimpleSMO : The same algorithm in a page of NumPy, for reading.

    Notes
    -----
    A step costs O(block); a pass costs O(n) kernel values for every point that moved. Memory is O(n) plus the
    block's matrix plus one float32 copy of dense vectors; rows are kept in memory, within the budget, where
    they are dearer to compute than to fetch. Time is between O(n d n_support) and O(n^2 d) for the usual
    parameters and grows with C.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, eqs. 1.51-1.61.
    .. [2] R.-E. Fan, P.-H. Chen, C.-J. Lin, Working set selection using second order information for training
       support vector machines, JMLR 6, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import MatrixGram
    >>> from mercer.problems import soft_margin
    >>> from mercer.solvers import SMO
    >>> X = np.array([[0.0], [2.0]])
    >>> problem = soft_margin(MatrixGram(X @ X.T), np.array([-1.0, 1.0]), np.array([10.0, 10.0]))
    >>> SMO().solve(problem).a
    array([0.5, 0.5])
    """

    _parameters: ClassVar[dict[str, Any]] = {
        "tol": Number(0, above=True),
        "gap_tol": Number(0, above=True, none=True),
        "pair_rule": Choice("gain", "violation"),
        "shrinking": Choice(True, False),
        "max_iter": Number(1, integer=True, none=True),
        "max_seconds": Number(0, above=True, none=True),
        "precision": Choice("auto", "float64"),
    }

    def __init__(
        self,
        *,
        tol=1e-3,
        gap_tol=None,
        pair_rule="gain",
        shrinking=True,
        memory="auto",
        max_iter=None,
        max_seconds=None,
        n_threads=None,
        precision="auto",
    ):
        self.tol = tol
        self.gap_tol = gap_tol
        self.pair_rule = pair_rule
        self.shrinking = shrinking
        self.memory = memory
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.n_threads = n_threads
        self.precision = precision

    def check(self, problem: DualProblem) -> None:
        """Every `DualProblem` will do; the parameters are checked."""
        check_parameters(self)
        memory_budget(self.memory)

    def solve(
        self, problem: DualProblem, start: np.ndarray | None = None, callback: Callback | None = None
    ) -> SolverResult:
        """Solve one problem on all threads.

        Parameters
        ----------
        problem : DualProblem
        start : array of shape (n_variables,), default=None
            A first point; it is made feasible if it is not.
        callback : callable, default=None
            Called with a `Progress` now and then; a true value stops the run.

        Returns
        -------
        SolverResult

        Raises
        ------
        NotSeparableError
            If the problem is a hard margin and the classes overlap.
        """
        return self.solve_many([problem], [start], callback)[0]

    def solve_many(
        self,
        problems: Sequence[DualProblem],
        starts: Sequence[np.ndarray | None] | None = None,
        callback: Callback | None = None,
    ) -> list[SolverResult]:
        """Solve problems over one Gram matrix in one native call, threads across problems.

        With a callback, or a kernel in Python, they are solved one after the other. Parameters as in `solve`.
        """
        if not problems:
            return []
        for problem in problems:
            self.check(problem)
            if problem.gram is not problems[0].gram:
                raise ValueError("solve_many needs problems over one and the same Gram matrix.")
        starts = [None] * len(problems) if starts is None else starts
        points = [problem.feasible(start) for problem, start in zip(problems, starts, strict=True)]
        outcomes = self._run(problems, points, callback)
        return [self._settle(problem, outcome, callback) for problem, outcome in zip(problems, outcomes, strict=True)]

    def _run(
        self,
        problems: Sequence[DualProblem],
        points: Sequence[np.ndarray],
        callback: Callback | None,
        *,
        unbounded_ratio: float = SUSPECT_MARGIN,
    ) -> list[tuple]:
        """The native call; per problem the tuple that `mercer._native.solve_many` describes."""
        most = max(STEPS, STEPS_PER_VARIABLE * max(len(problem.index) for problem in problems))
        report = None if callback is None else (lambda *told: callback(Progress(*told)))
        return _native.solve_many(
            problems[0].gram.native(),
            [
                (p.index, p.sign, p.linear, p.upper, p.ridge, point, p.equality)
                for p, point in zip(problems, points, strict=True)
            ],
            self.tol,
            self.pair_rule,
            most if self.max_iter is None else int(self.max_iter),
            np.inf if self.max_seconds is None else float(self.max_seconds),
            bool(self.shrinking),
            self.precision == "float64",
            unbounded_ratio if any(problem.hard for problem in problems) else 0.0,
            memory_budget(self.memory),
            effective_n_threads(self.n_threads),
            "",
            report,
        )

    def _settle(self, problem: DualProblem, outcome: tuple, callback: Callback | None) -> SolverResult:
        """The result, after the second looks that some problems need."""
        if outcome[6] == "unbounded":
            outcome = self._separate(problem, outcome, callback)
        result = _result(problem, outcome)
        solver = self
        for _ in range(TIGHTENINGS):
            done = self.gap_tol is None or result.relative_gap <= self.gap_tol
            if done or result.status != "solved":
                break
            solver = clone(solver).set_params(tol=TIGHTER * solver.tol)
            (outcome,) = solver._run([problem], [result.a], callback, unbounded_ratio=0.0)
            result = _result(problem, outcome, before=result)
        return result

    def _separate(self, problem: DualProblem, outcome: tuple, callback: Callback | None) -> tuple:
        """Are the classes of a hard margin apart? Then go on from the nearest points of their hulls.

        With w the difference of the nearest points of the hulls, the hard margin is |w| / 2, and its
        multipliers are those of the hulls times 2 / |w|^2.
        """
        scale = float(problem.gram.diag()[problem.index].max())
        hull = hull_distance(problem)
        looking = clone(self).set_params(precision="float64", tol=NO_MARGIN**2 * max(scale, 1e-300))
        (found,) = looking._run([hull], [hull.feasible()], callback)
        a, gradient = found[0], found[1]
        squared_distance = hull.squared_norm(a, gradient)
        if squared_distance <= (2 * NO_MARGIN) ** 2 * scale:
            raise NotSeparableError(
                f"The classes are not separable with this kernel: no margin above {NO_MARGIN:g} times the largest "
                "feature norm exists, and the dual of the hard margin is unbounded. Choose a finite C or a richer "
                "kernel."
            )
        start = problem.feasible(a * 2.0 / squared_distance)
        careful = clone(self).set_params(precision="float64")
        (outcome,) = careful._run([problem], [start], callback, unbounded_ratio=0.0)
        return outcome


def _result(problem: DualProblem, outcome: tuple, before: SolverResult | None = None) -> SolverResult:
    """The certificate for what the native solver returned."""
    a, gradient, objective, violation, n_iter, evaluations, status, full, seconds, samples = outcome
    offsets = problem.offsets(a, gradient)
    gap = problem.gap(a, gradient, offsets)
    if status == "indefinite" or not problem.gram.definite:
        gap, status = np.inf, "indefinite" if status == "solved" else status
    columns: Any = samples.T.copy()
    history = History(columns[0].astype(np.int64), -columns[1], columns[2], columns[3])
    history.gap[-1:] = gap
    if before is not None:
        n_iter, evaluations = n_iter + before.n_iter, evaluations + before.kernel_evaluations
        seconds += before.seconds
        history = History(
            np.concatenate([before.history.iteration, history.iteration + before.n_iter]),
            np.concatenate([before.history.objective, history.objective]),
            np.concatenate([before.history.gap, history.gap]),
            np.concatenate([before.history.violation, history.violation]),
        )
    return SolverResult(
        objective=objective,
        bound=objective - gap,
        gap=gap,
        violation=violation,
        n_iter=n_iter,
        status=status,
        seconds=seconds,
        precision="float64" if full else "float32",
        kernel_evaluations=evaluations,
        imbalance=problem.imbalance(a),
        history=history,
        a=a,
        gradient=gradient,
        offsets=offsets,
    )
