"""Block coordinate descent for several classes at once, native."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, clone

from mercer import _native
from mercer.gram.memory import check_memory, memory_budget
from mercer.parameters import Choice, Number, check_parameters
from mercer.problems.joint import JointProblem
from mercer.solvers.base import Callback, Certificate, History, Progress, solve_side_by_side
from mercer.threads import effective_n_threads

__all__ = ["BlockDescent", "JointResult"]

# Steps after which a run ends by itself: nothing spins for ever.
STEPS, STEPS_PER_SAMPLE = 10_000_000, 1000
# How often a smaller violation may be asked for, each time by this factor, until the gap is as wanted.
TIGHTENINGS, TIGHTER = 8, 0.2


@dataclass(frozen=True, eq=False)
class JointResult(Certificate):
    """The solution of a `JointProblem` and the proof of how good it is.

    The decision values of new samples are ``K(X, samples) @ coefficients.T + intercepts``, one column per class.
    """

    a: csr_array = field(repr=False)
    """The multipliers, shape (n, n_classes)."""
    coefficients: csr_array = field(repr=False)
    """Of the samples of the Gram matrix in the function of every class, shape (n_classes, gram.n)."""
    intercepts: np.ndarray = field(repr=False)
    """b, shape (n_classes,); they add up to zero."""
    losses: np.ndarray = field(repr=False)
    """L of every sample: its errors summed up, or the largest of them."""
    errors: csr_array = field(repr=False)
    """The errors e of every sample against every class but its own, shape (n, n_classes)."""
    norms: np.ndarray = field(repr=False)
    """The norms of all w_k."""
    margins: np.ndarray = field(repr=False)
    """Per class, how far from its hyperplane the margin ends; see `JointProblem.margins`."""
    squared_norm: float = 0.0
    """The sum of the squared norms of all w_k."""


class BlockDescent(BaseEstimator):
    """Block coordinate descent for `JointProblem`, with a certificate.

    The samples that violate the optimality conditions most form a working set whose kernel matrix lies in memory. In it
    the multipliers of one sample at a time, one per class, are set to their exact optimum given all others, in O(K) for
    K classes; where this crawls (large costs), Newton's method by conjugate gradients on the multipliers between their
    bounds takes turns with it. The sums f of all other samples follow in one pass over freshly made kernel rows, each
    of which serves all classes. Where the kernel has few features (it is linear, and the data have few columns, perhaps
    far from the origin), which a look at some samples tells, the proximal Newton method over these features takes over
    after some sweeps [4]_, and leaves small problems exact to rounding.

    With offsets, the multipliers of every class add up to zero. This is left to the method of multipliers: the sums z
    pull at the offsets, :math:`b + \\sigma z`, from step to step, and b takes that in whenever the rest is settled.
    What is left of z in the end, far below the tolerance, is removed up to rounding by the smallest change of
    multipliers between their bounds.

    Rows are float32 (float64 for up to 512 samples), everything else is float64. When all samples are settled, f is
    computed afresh in float64 wherever the certificate depends on it; if that shows a violation above `tol`, the run
    goes on from there, in float64 rows if float32 is too coarse. The result does not depend on threads or memory.

    Parameters
    ----------
    tol : float > 0, default=1e-3
        Largest violation of the optimality conditions, in units of f. Larger is faster and less exact.
    gap_tol : float > 0 or None, default=None
        Largest relative duality gap; None leaves it to `tol`.
    shrinking : bool, default=True
        Leave out samples that have settled at their bounds; they are checked before the run ends.
    memory : float > 0 or "auto", default="auto"
        Megabytes for kernel values, see `mercer.gram.memory_budget`.
    max_iter : int >= 1 or None, default=None
        Most steps, of one sample each; None means ten million, or a thousand per sample if that is more.
    max_seconds : float > 0 or None, default=None
        Most wall-clock time.
    n_threads : int or None, default=None
        See `mercer.threads.effective_n_threads`.
    precision : {"auto", "float64"}, default="auto"
        Precision of the working rows.

    See Also
    --------
    SMO : For two classes; `mercer.multiclass` makes several of them.

    Notes
    -----
    A step costs O(K) plus O(size of the working set) per multiplier that moves; a pass costs O(n) kernel values for
    every sample that moved. Memory is some five tables of n K float64 values (20 000 samples of 1000 classes: 800
    megabytes) on top of what `SMO` takes. A Newton step over d features costs O(n K d + K^3 d^3) at most, for
    Lee-Lin-Wahba O(n K d^2 + K d^3). The solution is sparse: few samples, and of each few classes. (With absolute
    margins a sample has a coefficient in all classes or in none.)

    References
    ----------
    .. [1] S. S. Keerthi, S. Sundararajan, K.-W. Chang, C.-J. Hsieh, C.-J. Lin, A sequential dual method for large scale
       multi-class linear SVMs, KDD 2008.
    .. [2] U. Dogan, T. Glasmachers, C. Igel, A unified view on multi-class support vector classification, JMLR 17,
       2016.
    .. [3] D. P. Bertsekas, Constrained optimization and Lagrange multiplier methods, 1982.
    .. [4] Y. Yan, Q. Li, An efficient augmented Lagrangian method for support vector machine, 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import MatrixGram
    >>> from mercer.problems import crammer_singer
    >>> from mercer.solvers import BlockDescent
    >>> X = np.array([[0.0], [2.0], [4.0]])
    >>> problem = crammer_singer(MatrixGram(X @ X.T), np.array([0, 1, 2]), np.full(3, 10.0))
    >>> result = BlockDescent().solve(problem)
    >>> (X @ X.T @ result.coefficients.T + result.intercepts).argmax(axis=1)
    array([0, 1, 2])
    """

    _parameters: ClassVar[dict[str, Any]] = {
        "tol": Number(0, above=True),
        "gap_tol": Number(0, above=True, none=True),
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
        shrinking=True,
        memory="auto",
        max_iter=None,
        max_seconds=None,
        n_threads=None,
        precision="auto",
    ):
        self.tol = tol
        self.gap_tol = gap_tol
        self.shrinking = shrinking
        self.memory = memory
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.n_threads = n_threads
        self.precision = precision

    def check(self, problem: JointProblem) -> None:
        """Every `JointProblem` will do, and nothing else; the parameters are checked."""
        if not isinstance(problem, JointProblem):
            raise TypeError(f"BlockDescent solves a JointProblem, got {type(problem).__name__}; use SMO.")
        check_parameters(self)
        check_memory(self.memory)

    def solve(self, problem: JointProblem, start: Any = None, callback: Callback | None = None) -> JointResult:
        """Solve a problem on all threads.

        Parameters
        ----------
        problem : JointProblem
        start : array or sparse array of shape (n, n_classes), default=None
            First multipliers; they are made feasible if they are not.
        callback : callable, default=None
            Called with a `Progress` now and then; a true value stops the run.

        Returns
        -------
        JointResult
        """
        self.check(problem)
        result = self._run(problem, problem.feasible(start), callback)
        tol = self.tol
        for _ in range(TIGHTENINGS):
            if result.status != "solved" or self.gap_tol is None or result.relative_gap <= self.gap_tol:
                return result
            tol *= TIGHTER
            result = self._go_on(problem, result, callback, tol)
        return result

    def solve_many(
        self, problems: Sequence[JointProblem], starts: Sequence[Any] | None = None, callback: Callback | None = None
    ) -> list[Any]:
        """Solve several problems, as many at once as there are threads; parameters as in `solve`."""
        return solve_side_by_side(self, problems, starts, callback)

    def _go_on(self, problem: JointProblem, before: JointResult, callback: Callback | None, tol: float) -> JointResult:
        """Another run, with what is left of the steps and the time; the result covers both."""
        solver = clone(self).set_params(tol=tol, max_iter=max(1, self._most_steps(problem) - before.n_iter))
        if self.max_seconds is not None:
            solver.set_params(max_seconds=max(1e-9, self.max_seconds - before.seconds))
        return solver._run(problem, before.a.toarray(), callback, before)

    def _most_steps(self, problem: JointProblem) -> int:
        return max(STEPS, STEPS_PER_SAMPLE * len(problem.index)) if self.max_iter is None else int(self.max_iter)

    def _run(
        self, problem: JointProblem, start: np.ndarray, callback: Callback | None, before: JointResult | None = None
    ) -> JointResult:
        a, f, offsets, _, n_iter, evaluations, status, full, seconds, samples = _native.solve_joint(
            problem.gram.native(),
            problem.index,
            problem.label,
            problem.cost,
            np.ascontiguousarray(start),
            problem.margin,
            problem.errors,
            problem.target,
            problem.bias,
            self.tol,
            self._most_steps(problem),
            np.inf if self.max_seconds is None else float(self.max_seconds),
            bool(self.shrinking),
            self.precision == "float64",
            memory_budget(self.memory),
            effective_n_threads(self.n_threads),
            "",
            None if callback is None else (lambda *told: callback(Progress(*told))),
        )
        if before is not None:
            n_iter, evaluations = n_iter + before.n_iter, evaluations + before.kernel_evaluations
            seconds += before.seconds
            samples[:, 0] += before.n_iter
            earlier = before.history
            columns = (earlier.iteration, -earlier.objective, earlier.gap, earlier.violation)
            samples = np.concatenate([np.stack(columns, axis=1), samples])
        return certify_joint(
            problem,
            a,
            f,
            offsets,
            status=status,
            n_iter=n_iter,
            seconds=seconds,
            kernel_evaluations=evaluations,
            history=samples,
            precision="float64" if full else "float32",
        )


def certify_joint(
    problem: JointProblem,
    a: np.ndarray,
    f: np.ndarray,
    offsets: np.ndarray,
    *,
    status: str,
    n_iter: int,
    seconds: float,
    kernel_evaluations: int,
    history: np.ndarray,
    precision: str = "float64",
) -> JointResult:
    """The result for multipliers, the sums f that belong to them and offsets, all in float64.

    Rows of the history are (iteration, objective, gap, violation); the last one becomes that of the certificate. On an
    indefinite Gram matrix nothing is bounded, and "solved" becomes "indefinite".
    """
    slopes = problem.slopes(f, offsets)
    objective, gap, violation = problem.objective(a, f), problem.gap(a, slopes), problem.violation(a, slopes)
    if not problem.gram.definite:
        gap, status = np.inf, "indefinite" if status == "solved" else status
    iteration, objectives, gaps, violations = history.T.copy()
    objectives[-1:], gaps[-1:], violations[-1:] = objective, gap, violation
    by_class = csr_array(problem.coefficients(a).T)
    return JointResult(
        objective=objective,
        bound=objective - gap,
        gap=gap,
        violation=violation,
        n_iter=n_iter,
        status=status,
        seconds=seconds,
        precision=precision,
        kernel_evaluations=kernel_evaluations,
        imbalance=problem.imbalance(a),
        history=History(iteration.astype(np.int64), -objectives, gaps, violations),
        a=csr_array(a),
        coefficients=csr_array(
            (by_class.data, problem.index[by_class.indices], by_class.indptr),
            shape=(problem.n_classes, problem.gram.n),
        ),
        intercepts=offsets,
        losses=problem.losses(slopes),
        errors=csr_array(np.maximum(0.0, -slopes)),
        norms=problem.norms(a, f),
        margins=problem.margins(a, f),
        squared_norm=problem.squared_norm(a, f),
    )
