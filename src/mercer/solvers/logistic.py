"""Newton's method for logistic regression with a kernel."""

import time
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from sklearn.base import BaseEstimator

from mercer.checkpoints import Bookmark
from mercer.gram import low_rank
from mercer.parameters import Number, check_parameters
from mercer.problems import LogisticProblem
from mercer.solvers.base import Certificate, History

__all__ = ["LogisticNewton", "LogisticResult", "best_intercepts", "check_scale", "line_search"]

# Rank of the preconditioner, in roots of n / n_functions: its making costs as much as some products with K. Where it
# leaves conjugate gradients more than a few steps, that is not enough, up to a number of rows of what it factorises.
RANK, LEAST_RANK, MOST_ROWS = 6, 32, 1000
FEW_STEPS, CONJUGATE_STEPS = 60, 500
# Newton's equations are solved to this part of the violation, and to the same part of its square once that is smaller.
# But no step needs to make more of it than this.
LOOSE, LEAST_REDUCTION = 0.1, 1e-3
# The decrease that a step must bring, as a part of what its slope promises.
ARMIJO, HALVINGS = 1e-4, 40
# A change of the objective by a smaller part is rounding.
ROUNDING = 1e-13
INTERCEPT_STEPS = 100
# The squares of larger numbers are none.
LARGEST = float(np.sqrt(np.finfo(float).max))


@dataclass(frozen=True, eq=False)
class LogisticResult(Certificate):
    """The solution of a `LogisticProblem` and the proof of how good it is."""

    coefficients: np.ndarray = field(repr=False)
    """A, shape (n, n_functions)."""
    intercepts: np.ndarray = field(repr=False)
    """b, shape (n_functions,)."""
    residuals: np.ndarray = field(repr=False)
    """R, the feasible point of the dual, shape (n, n_functions)."""


class LogisticNewton(BaseEstimator):
    r"""Newton's method for logistic regression, its equations by preconditioned conjugate gradients.

    For the residuals R, the derivative W of minus them, and the best intercepts for every function, a step D of the
    coefficients A solves

    .. math:: D + W K D = R - A,

    which is the step of iteratively reweighted least squares. With W = V V' it is D = (R - A) - V u, where

    .. math:: (1 + V^T K V) u = V^T K (R - A)

    is symmetric and never worse conditioned than the prior. The intercepts are part of W: what they can undo is
    projected out of V. The preconditioner is the same matrix with the partial Cholesky factor of K in its place
    (`mercer.gram.low_rank`); where its rank is that of K, as for few features, one or two steps are enough.

    Parameters
    ----------
    tol : float > 0, default=1e-6
        Largest difference of a coefficient from what it is at the optimum, price times (target - probability), in
        units of the price; and largest gap in units of the objective.
    max_iter : int >= 1, default=100
        Most Newton steps.

    See Also
    --------
    mercer.problems.LogisticProblem : What it solves.

    Notes
    -----
    A Newton step costs some products with K, O(n^2 n_functions) each, and O(n r^2 n_functions^2) for the preconditioner
    of rank r = 6 sqrt(n / n_functions), or up to 1000 / n_functions where that is not enough. By BLAS and LAPACK: equal
    up to rounding for any number of threads.

    References
    ----------
    .. [1] C. M. Bishop, Pattern Recognition and Machine Learning, 2006, sections 4.3.3 and 7.1.2.
    .. [2] C. E. Rasmussen, C. K. I. Williams, Gaussian Processes for Machine Learning, 2006, section 3.4.1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import MatrixGram
    >>> from mercer.problems import logistic
    >>> from mercer.solvers import LogisticNewton
    >>> X = np.array([[-1.0], [-0.5], [0.2], [2.0]])
    >>> problem = logistic(MatrixGram(X @ X.T), np.array([0, 1, 0, 1]), np.full(4, 10.0))
    >>> result = LogisticNewton().solve(problem)
    >>> result.status, (X.T @ result.coefficients).round(3)
    ('solved', array([[0.978]]))
    """

    _parameters: ClassVar[dict[str, Any]] = {"tol": Number(0, above=True), "max_iter": Number(1, integer=True)}

    def __init__(self, tol=1e-6, max_iter=100):
        self.tol = tol
        self.max_iter = max_iter

    def solve(self, problem: LogisticProblem) -> LogisticResult:
        """The solution, with its certificate.

        Parameters
        ----------
        problem : LogisticProblem

        Returns
        -------
        LogisticResult
        """
        return self.solve_on(problem, None)

    def solve_on(self, problem: LogisticProblem, bookmark: Bookmark | None) -> LogisticResult:
        """As `solve`, from where the bookmark is, and keeping there how far it is."""
        check_parameters(self)
        began = time.perf_counter()
        gram, k = problem.gram, problem.n_functions
        check_scale(problem)
        most = min(gram.n, max(LEAST_RANK, MOST_ROWS // k))
        rank = min(most, max(LEAST_RANK, int(RANK * np.sqrt(gram.n / k))))
        A = KA = np.zeros_like(problem.targets)
        records: list[tuple[float, ...]] = []
        n_iter, n_products, last, blind = 0, 0, (np.inf, np.inf), False
        if bookmark is not None and (kept := bookmark.state) is not None:
            began -= kept["seconds"]
            A, rank, n_iter, n_products = kept["A"], kept["rank"], kept["n_iter"], kept["n_products"] + 1
            KA, records = problem.product(A), [tuple(record) for record in kept["records"].tolist()]
        factor = problem.centred(low_rank(gram, rank).factor)
        b, fresh = best_intercepts(problem, KA, np.zeros(k)), True
        while True:
            R = problem.residuals(KA + b)
            D = R - A
            KD = problem.product(D)
            violation, gap = problem.violation(D), problem.gap(D, KD, R, b)
            records.append((n_iter, problem.objective(A, KA, b) - gap, gap, violation))
            if self._is_solved(violation, gap, records[-1][1]):
                if fresh:
                    break
                # Large coefficients leave rounding behind in a product that steps have changed.
                KA, n_products, fresh = problem.product(A), n_products + 1, True
                b = best_intercepts(problem, KA, b)
                records.pop()
                continue
            # Of the violation and the gap one may be rounding before the other is.
            stuck = blind and violation > 0.5 * last[0] and gap > 0.5 * last[1]
            over = n_iter >= self.max_iter or stuck
            if bookmark is not None and (over or bookmark.is_due()):
                counts = {"n_iter": n_iter, "n_products": n_products, "seconds": time.perf_counter() - began}
                # The point is looked at once more.
                looks = np.array(records[:-1]).reshape(-1, 4)
                bookmark.note({**counts, "rank": rank, "A": A, "records": looks})
            if over:
                break
            enough = LOOSE * violation * min(1.0, max(violation, LEAST_REDUCTION))
            curvature = Curvature(problem, KA + b)
            if rank < most:
                step, along, steps = _newton_step(problem, curvature, factor, D, KD, enough, FEW_STEPS)
                n_products += steps
                if steps >= FEW_STEPS:
                    rank, factor = most, problem.centred(low_rank(gram, most).factor)
            if rank == most:
                step, along, steps = _newton_step(problem, curvature, factor, D, KD, enough, CONJUGATE_STEPS)
                n_products += steps
            squares = float(np.vdot(A, KA)), float(np.vdot(step, along))
            penalty = 0.5 * squares[0], float(np.vdot(A, along)), 0.5 * squares[1]
            length, b, change = line_search(problem, KA, along, b, penalty, -float(np.vdot(D, along)))
            A, KA, fresh = A + length * step, KA + length * along, False
            n_iter, n_products, last = n_iter + 1, n_products + 1, (violation, gap)
            blind = abs(change) <= ROUNDING * (1 + abs(records[-1][1]))
        return self._certify(problem, A, b, n_products, records, time.perf_counter() - began)

    def _is_solved(self, violation: float, gap: float, objective: float) -> bool:
        """Where prices are large, a small violation says little about the objective, and the gap must be small, too."""
        return violation <= self.tol and gap <= self.tol * abs(objective)

    def _certify(
        self,
        problem: LogisticProblem,
        A: np.ndarray,
        b: np.ndarray,
        n_products: int,
        records: list[tuple[float, ...]],
        seconds: float,
    ) -> LogisticResult:
        """The proof for what is returned, from products of its own."""
        uncentred = problem.gram.dot(A)
        KA = problem.centred(uncentred)
        b = best_intercepts(problem, KA, b)
        R = problem.residuals(KA + b)
        D = A - R
        violation, gap = problem.violation(D), problem.gap(D, problem.product(D), R, b)
        objective = problem.objective(A, KA, b)
        n_iter = len(records) - 1
        limit = "max_iter" if n_iter >= self.max_iter else "stalled"
        records[-1] = (n_iter, objective - gap, gap, violation)
        iteration, *samples = np.array(records).T
        return LogisticResult(
            objective=gap - objective,
            bound=-objective,
            gap=gap,
            violation=violation,
            n_iter=n_iter,
            status="solved" if self._is_solved(violation, gap, objective) else limit,
            seconds=seconds,
            precision="float64",
            kernel_evaluations=problem.gram.n**2 * (1 if problem.gram.keeps_values else n_products + 2),
            imbalance=float(np.abs(R.sum(axis=0)).max()) if problem.intercept else 0.0,
            history=History(iteration.astype(np.int64), *samples),
            coefficients=A,
            intercepts=b - (uncentred - KA)[0],
            residuals=R,
        )


def check_scale(problem: LogisticProblem) -> None:
    """Refuse what would overflow."""
    if float(problem.prices.sum()) * float(problem.gram.exact_diag().max()) > LARGEST:
        raise ValueError("Prices, C times the weights, times kernel values are too large for float64; lower C.")


class Curvature:
    """W, the second derivative of the losses with the intercepts eliminated, and its root: W = V V'.

    For one function W_i = c p (1 - p); for several, blocks c (diag(p) - p p') with the root
    sqrt(c) (diag(sqrt(p)) - p sqrt(p)').
    """

    def __init__(self, problem: LogisticProblem, F: np.ndarray):
        P, c = problem.probabilities(F), problem.prices[:, np.newaxis]
        self.single = problem.n_functions == 1
        self.P = P
        self.root = np.sqrt(c * P * (1 - P)) if self.single else np.sqrt(c * P)
        self.c = c
        k = problem.n_functions
        self.inverse = np.zeros((k, k))
        self.ones = np.zeros((*P.shape, k))  # V' of the intercepts
        if problem.intercept:
            self.ones = np.stack([self._transposed(np.eye(k)[[j]]) for j in range(k)], axis=2)
            # The intercepts of several functions may all move together: nothing changes, and that is left out.
            self.inverse = np.linalg.pinv(np.einsum("ijk,ijl->kl", self.ones, self.ones), rcond=1e-12, hermitian=True)

    def _times(self, u: np.ndarray) -> np.ndarray:
        if self.single:
            return self.root * u
        return self.root * u - self.P * np.sqrt(self.c) * (np.sqrt(self.P) * u).sum(axis=1, keepdims=True)

    def _transposed(self, v: np.ndarray) -> np.ndarray:
        return self.root * v if self.single else self.root * (v - (self.P * v).sum(axis=1, keepdims=True))

    def _project(self, u: np.ndarray) -> np.ndarray:
        """Without what the intercepts can do."""
        moved = self.inverse @ np.einsum("ijk,ij->k", self.ones, u)
        return u - self.ones @ moved

    def times(self, u: np.ndarray) -> np.ndarray:
        """V u."""
        return self._times(self._project(u))

    def transposed(self, v: np.ndarray) -> np.ndarray:
        """V' v."""
        return self._project(self._transposed(v))

    def compressed(self, F: np.ndarray) -> np.ndarray:
        """(1 x F)' W (1 x F), shape (k r, k r), functions first."""
        r, k = F.shape[1], self.P.shape[1]
        if self.single:
            rooted, ones = self.root * F, self.ones[:, :, 0]
            rooted -= ones * (self.inverse @ (ones.T @ rooted))
            return rooted.T @ rooted
        blocks = np.empty((k, r, k, r))
        for i in range(k):
            for j in range(i + 1):
                if i == j:
                    rooted = self.root[:, [i]] * np.sqrt(1 - self.P[:, [i]]) * F
                    blocks[i, :, i] = rooted.T @ rooted  # half the work of a general product
                else:
                    blocks[i, :, j] = -F.T @ (self.c * self.P[:, [i]] * self.P[:, [j]] * F)
                    blocks[j, :, i] = blocks[i, :, j].T
        moments = np.stack([F.T @ self._times(self.ones[..., j]) for j in range(k)], axis=2)  # (r, k, k)
        flat = moments.transpose(1, 0, 2).reshape(k * r, k)
        return blocks.reshape(k * r, k * r) - flat @ self.inverse @ flat.T


def line_search(
    problem: LogisticProblem,
    F: np.ndarray,
    along: np.ndarray,
    b: np.ndarray,
    penalty: tuple[float, float, float],
    slope: float,
) -> tuple[float, np.ndarray, float]:
    """The length of a step that makes the objective smaller, the intercepts there, and the change of the objective.

    The functions have the values F, which a step changes by `along`, and half their squared norms is the polynomial
    `penalty` of the length, from the constant on. `slope` is that of the objective.
    """
    loss, (constant, linear, quadratic) = problem.loss(F + b), penalty
    rounding = ROUNDING * (1 + loss + constant)
    length = 1.0
    for _ in range(HALVINGS):
        moved = F + length * along
        new = best_intercepts(problem, moved, b)
        change = length * (linear + length * quadratic) + problem.loss(moved + new) - loss
        if change <= ARMIJO * length * slope + rounding:
            return length, new, change
        length /= 2
    return 0.0, b, 0.0


def _newton_step(
    problem: LogisticProblem,
    curvature: Curvature,
    factor: np.ndarray,
    q: np.ndarray,
    Kq: np.ndarray,
    enough: float,
    most: int,
) -> tuple[np.ndarray, np.ndarray, int]:
    """D with D + W K D = q, K D, and the number of products with K; the equations are off by V times what is left."""
    r, k = factor.shape[1], q.shape[1]
    inner = curvature.compressed(factor)
    inner.flat[:: r * k + 1] += 1.0
    known = _factor(inner)

    def precondition(v: np.ndarray) -> np.ndarray:
        # (1 + V' F F' V)^-1 = 1 - V' F (1 + F' W F)^-1 F' V
        inside = cho_solve(known, (factor.T @ curvature.times(v)).T.ravel(), check_finite=False)
        return v - curvature.transposed(factor @ inside.reshape(k, r).T)

    right = curvature.transposed(Kq)
    u, left = np.zeros_like(q), right
    KVu = np.zeros_like(q)
    z = precondition(left)
    p, rho = z, float(np.vdot(left, z))
    steps = 0
    while steps < most and problem.violation(curvature.times(left)) > enough:
        KVp = problem.product(curvature.times(p))
        Bp = p + curvature.transposed(KVp)
        bend = float(np.vdot(p, Bp))
        if not bend > 0:  # rounding has left K with negative eigenvalues
            steps = most
            break
        length = rho / bend
        u, KVu, left = u + length * p, KVu + length * KVp, left - length * Bp
        z = precondition(left)
        before, rho = rho, float(np.vdot(left, z))
        p = z + (rho / before) * p
        steps += 1
    return q - curvature.times(u), Kq - KVu, steps


def _factor(matrix: np.ndarray) -> Any:
    """The Cholesky factor of a preconditioner, with as much on the diagonal as rounding makes necessary."""
    more = np.finfo(float).eps * float(np.abs(np.diagonal(matrix)).sum())
    while True:
        try:
            return cho_factor(matrix, lower=True, check_finite=False)
        except LinAlgError:
            matrix.flat[:: len(matrix) + 1] += more
            more *= 10


def best_intercepts(problem: LogisticProblem, F: np.ndarray, start: np.ndarray) -> np.ndarray:
    """The intercepts of least loss for given functions: the residuals of every function sum to zero."""
    b = start
    if not problem.intercept:
        return b
    loss = problem.loss(F + b)
    for _ in range(INTERCEPT_STEPS):
        residuals = problem.residuals(F + b)
        # Beside them, not beside the prices: what the sums are off counts in the gap with the size of the intercepts.
        slope, total = residuals.sum(axis=0), float(np.abs(residuals).sum())
        P = problem.probabilities(F + b)
        if problem.n_functions == 1:
            second = np.array([[float(problem.prices @ (P * (1 - P))[:, 0])]])
        else:
            weighted = problem.prices[:, np.newaxis] * P
            second = np.diag(weighted.sum(axis=0)) - weighted.T @ P
        step = np.linalg.pinv(second, rcond=1e-14, hermitian=True) @ slope
        length = 1.0
        for _ in range(HALVINGS):
            new = problem.loss(F + b + length * step)
            if new <= loss + ROUNDING * (1 + loss):
                break
            length /= 2
        b, loss = b + length * step, new
        if np.abs(slope).max() <= 1e-14 * total or np.abs(length * step).max() <= 1e-15 * (1 + np.abs(b).max()):
            break
    return b
