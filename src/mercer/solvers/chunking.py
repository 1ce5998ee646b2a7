"""Chunking: the problem of the support vectors and the worst violators, again and again."""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from mercer.parameters import Number
from mercer.problems import DualProblem
from mercer.solvers.base import Callback, SolverResult
from mercer.solvers.gradient import first_length, projected_step, spectral_length
from mercer.solvers.steps import Run, StepSolver, whole_matrix
from mercer.sums import inner

__all__ = ["Chunking"]

# The chunk is solved to this part of tol: what it leaves is not to be taken for a violation of the others.
CHUNK_ACCURACY = 0.3
# Conjugate gradients on a face go on until the gradient has fallen so far below the violation.
FACE_ACCURACY = 0.1


class Chunking(StepSolver):
    """Chunking: a set of variables that grows and shrinks, solved by conjugate gradients. [B §7.1.1]

    What is zero does not count in the objective. So the problem of a part of the variables, the *chunk*, is solved;
    of it the support vectors are kept, the variables outside that violate the optimality conditions most are added,
    until none does. The kernel matrix of the chunk is all that is ever stored.

    In the chunk, a projected gradient step finds which variables lie at their bounds; conjugate gradients then minimise
    over the others, along the equality, until one of them meets a bound.

    Parameters
    ----------
    tol : float > 0, default=1e-3
        Largest violation of the optimality conditions [CY eq 1.61].
    size : int >= 1, default=50
        How many violators are added at a time on either side of the margin. More means fewer and larger chunks.
    max_iter : int >= 1, default=100_000
        Most steps, of gradients and of conjugate gradients, in all chunks together.
    max_seconds : float > 0 or None, default=None
        Most wall-clock time.

    See Also
    --------
    Decomposition : A set of a fixed size.
    SMO : The fast one.

    Notes
    -----
    O(m^2) per step and O(m^2) memory with m variables in the chunk, which becomes at least as large as the number of
    support vectors. Between two chunks, O(n m) kernel values.

    References
    ----------
    .. [1] C. M. Bishop, Pattern Recognition and Machine Learning, 2006, section 7.1.1.
    .. [2] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 1.5.
    .. [3] J. J. More, G. Toraldo, On the solution of large quadratic programming problems with bound constraints,
       SIAM J. Optim. 1, 1991.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.solvers import Chunking
    >>> machine = SVC(kernel="linear", solver=Chunking()).fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> machine.predict([[2.5]])
    array([1])
    """

    _parameters: ClassVar[dict[str, Any]] = {**StepSolver._parameters, "size": Number(1, integer=True)}

    def __init__(self, *, tol=1e-3, size=50, max_iter=100_000, max_seconds=None):
        self.tol = tol
        self.size = size
        self.max_iter = max_iter
        self.max_seconds = max_seconds

    def solve(
        self, problem: DualProblem, start: np.ndarray | None = None, callback: Callback | None = None
    ) -> SolverResult:
        """As `SMO.solve`."""
        self.check(problem)
        run = Run(self, problem, callback)
        a = problem.feasible(start)
        G, evaluations = problem.gradient(a), len(a) * int(np.count_nonzero(a))
        while (violation := problem.violation(a, G)) > self.tol:
            run.record(a, G, violation)
            chunk = np.flatnonzero((a > 0) | self._worst(problem, a, G))
            small = part_of(problem, chunk)
            before, objective = a, problem.objective(a, G)
            a = np.zeros(len(a))
            a[chunk], ended = minimise(small, before[chunk], CHUNK_ACCURACY * self.tol, run)
            G = problem.gradient(a)
            evaluations += len(chunk) ** 2 + len(a) * int(np.count_nonzero(a))
            if not ended:
                break
            if problem.objective(a, G) >= objective:  # as good as rounding lets it be
                run.status = "stalled"
                break
        if problem.violation(a, G) <= self.tol:
            run.status = "solved"
        return run.result(a, G, evaluations)

    def _worst(self, problem: DualProblem, a: np.ndarray, G: np.ndarray) -> np.ndarray:
        """The variables that could improve most, on either side, as a mask."""
        worst = np.zeros(len(a), dtype=bool)
        grows, shrinks = problem.movable(a)
        value = -problem.sign * G
        if problem.total is None:
            groups: list[Any] = [slice(None)]
            limits = [(0.0, 0.0)]
        else:
            groups = [group for group, _ in problem._groups()]
            limits = [problem._extremes(group, a, G) for group in groups]
        for group, (largest, smallest) in zip(groups, limits, strict=True):
            numbers = np.arange(len(a))[group]
            above = numbers[grows[numbers] & (value[numbers] > smallest)]
            below = numbers[shrinks[numbers] & (value[numbers] < largest)]
            worst[above[np.argsort(-value[above], kind="stable")[: self.size]]] = True
            worst[below[np.argsort(value[below], kind="stable")[: self.size]]] = True
        return worst


def part_of(problem: DualProblem, chunk: np.ndarray) -> DualProblem:
    """The problem of some of the variables, the others being zero."""
    names = ("index", "sign", "linear", "upper", "ridge")
    return replace(problem, **{name: getattr(problem, name)[chunk] for name in names})


def minimise(problem: DualProblem, a: np.ndarray, tol: float, run: Run) -> tuple[np.ndarray, bool]:
    """From a to a violation of at most `tol`; False with it if a limit came first.

    Every step counts in the run, is told to its callback and obeys its limits.
    """
    Q = whole_matrix(problem)
    G = Q @ a + problem.linear
    length = first_length(Q)
    idle = 0
    while (violation := problem.violation(a, G)) > tol and idle < 3:
        objective = problem.objective(a, G)
        if not run.may_go_on(objective, violation):
            return a, False
        run.refuse_without_margin(problem, a, G)
        step = projected_step(problem, Q, a, G, length)
        a, G, length = step.point, Q @ step.point + problem.linear, spectral_length(step, length)
        run.n_iter += 1
        a, ended = _along_face(problem, Q, a, G, FACE_ACCURACY * tol, run)
        G = Q @ a + problem.linear
        if not ended:
            return a, False
        idle = 0 if problem.objective(a, G) < objective else idle + 1
    return a, True


def _along_face(
    problem: DualProblem, Q: np.ndarray, a: np.ndarray, G: np.ndarray, tol: float, run: Run
) -> tuple[np.ndarray, bool]:
    """Conjugate gradients over the variables between their bounds, until one of them meets a bound.

    The directions keep s'a, by taking the mean of s times the gradient away from it.
    """
    a = a.copy()
    free = np.flatnonzero((a > 0) & (a < problem.upper))
    face = part_of(problem, free)
    residual = _level(face, -G[free])
    direction, squared = residual, inner(residual, residual)
    for _ in range(len(free)):
        if np.abs(residual).max(initial=0.0) <= tol:
            break
        if not run.may_go_on(problem.objective(a, G), problem.violation(a, G)):
            return a, False
        curved = Q[:, free] @ direction
        curvature = inner(direction, curved[free])
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(direction < 0, -a[free] / direction, (face.upper - a[free]) / direction)
        room = np.where(direction == 0, np.inf, room)
        longest = float(room.min())
        best = squared / curvature if curvature > 0 else np.inf
        t = min(best, longest)
        if not np.isfinite(t):
            break
        a[free] = np.clip(a[free] + t * direction, 0.0, face.upper)
        G = G + t * curved
        run.n_iter += 1
        if t == longest:
            met = free[room == longest]
            a[met] = np.where(direction[room == longest] < 0, 0.0, problem.upper[met])
            break
        residual = _level(face, -G[free])
        before, squared = squared, inner(residual, residual)
        direction = residual + squared / before * direction
    return a, True


def _level(face: DualProblem, v: np.ndarray) -> np.ndarray:
    """v, less what would change an equality."""
    v = v.copy()
    for group, _ in face._groups():
        s = face.sign[group]
        if len(s):
            v[group] -= s * (inner(s, v[group]) / len(s))
    return v
