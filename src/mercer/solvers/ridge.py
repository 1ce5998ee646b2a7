"""Ridge regression for one penalty, with a certificate."""

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import lapack

from mercer.errors import SingularError
from mercer.problems.ridge import EPS, FeatureProblem, KernelProblem, RidgeProblem
from mercer.solvers.spd import solve_spd

__all__ = ["LeastSquaresResult", "Solution", "certify", "solve_ridge", "unit_of"]


@dataclass(frozen=True, eq=False)
class LeastSquaresResult:
    """The proof of how good a least squares machine is.

    It is for the coefficients that are returned, in float64.
    """

    objective: float
    """What the machine minimises, summed over its functions."""
    bound: float
    """Nothing has a smaller objective."""
    gap: float
    """objective - bound: half the weighted sum of squares of the residual of the system."""
    relative_residual: float
    """Norm of the residual of the system over that of its right side, in which samples count with their weights; the
    largest of all functions."""
    method: str
    """How it was solved: "primal", "eigenvectors", "singular vectors", "landmarks", or see
    `mercer.solvers.SystemResult`."""
    n_iter: int
    """Solutions by a factor, refinements of the first, or steps of conjugate gradients."""
    status: str
    """"solved", or why not: "stalled", "max_iter"."""
    seconds: float
    """Wall-clock time."""

    @property
    def violation(self) -> float:
        """The relative residual, under the name that certificates have for it."""
        return self.relative_residual

    def times(self, unit: float) -> "LeastSquaresResult":
        """The certificate for values that are larger by a factor."""
        square = unit * unit
        return replace(self, objective=self.objective * square, bound=self.bound * square, gap=self.gap * square)

    def __str__(self) -> str:
        lines = [
            f"status             {self.status}",
            f"objective          {self.objective:.10g}",
            f"gap                {self.gap:.3g}",
            f"relative residual  {self.relative_residual:.3g}",
            f"method             {self.method}",
            f"iterations         {self.n_iter}",
            f"seconds            {self.seconds:.3g}",
        ]
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Solution:
    """The functions found: K(., X) @ coefficients + intercept."""

    coefficients: np.ndarray
    """Shape (n, n_functions)."""
    intercept: np.ndarray
    """Shape (n_functions,)."""
    result: LeastSquaresResult
    weights: np.ndarray | None = None
    """Weights of the features, shape (n_features, n_functions), where the problem is over features."""

    def times(self, unit: float) -> "Solution":
        """The solution for values that are larger by a factor."""
        return Solution(
            self.coefficients * unit,
            self.intercept * unit,
            self.result.times(unit),
            None if self.weights is None else self.weights * unit,
        )


def solve_ridge(
    problem: RidgeProblem, alpha: float, tol: float, max_iter: int | None = None, memory: float | str = "auto"
) -> Solution:
    """The solution for one penalty, of the bordered system or over the features.

    Parameters
    ----------
    problem : KernelProblem or FeatureProblem
    alpha : float >= 0
        lambda; above zero for features.
    tol : float > 0
        Largest residual of the system relative to the values.
    max_iter : int >= 1 or None
        Most steps over a kernel matrix.
    memory : float > 0 or "auto"
        Megabytes for the kernel matrix and its factor, see `solve_spd`.

    Raises
    ------
    SingularError
        If the penalty is too small to regularise the system.
    """
    if isinstance(problem, FeatureProblem):
        return _solve_features(problem, alpha, tol)
    assert isinstance(problem, KernelProblem)
    return _solve_kernel(problem, alpha, tol, max_iter, memory)


def _solve_kernel(
    problem: KernelProblem, alpha: float, tol: float, max_iter: int | None, memory: float | str
) -> Solution:
    """The bordered system by two solutions of the system without a border, which are made together."""
    began = time.perf_counter()
    Y = np.column_stack([problem.Y, np.ones(len(problem.Y))]) if problem.bias else problem.Y
    ridge = alpha / problem.weight
    system = solve_spd(problem.gram, ridge, Y, tol=tol / 2 if problem.bias else tol, max_iter=max_iter, memory=memory)
    x, residual, b = system.x, system.residual, np.zeros(problem.Y.shape[1])
    if problem.bias:
        b = x[:, :-1].sum(axis=0) / x[:, -1].sum()
        x, residual = x[:, :-1] - b * x[:, -1:], residual[:, :-1] - b * residual[:, -1:]
    products = problem.Y - b - residual - ridge[:, np.newaxis] * x
    known = {"n_iter": system.n_iter, "status": system.status}
    result = certify(problem, alpha, x, products, b, tol, system.method, began, **known)
    return Solution(x, b + problem.mean, result)


def _solve_features(problem: FeatureProblem, alpha: float, tol: float) -> Solution:
    """The normal equations of the weights, refined."""
    began = time.perf_counter()
    matrix = problem.moments()
    matrix.reshape(-1)[:: len(matrix) + 1] += alpha
    norm = float(np.abs(matrix).sum(axis=0).max())
    factor, failed = lapack.dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
    # Of the system of all samples, which has the eigenvalue alpha, the coefficients are to be a solution, too.
    if failed or lapack.dpocon(factor, norm, uplo="L")[0] < EPS or alpha <= EPS * norm:
        raise SingularError(
            f"The system of {len(matrix)} features is singular, alpha={alpha:.3g} is too small to regularise it."
        )
    omega = problem.weight[:, np.newaxis]
    x, b, residual = np.zeros_like(problem.Y), np.zeros(problem.Y.shape[1]), problem.Y
    n_iter, before = 0, np.inf
    while True:
        # Refined as the dual system is, whose inverse this is: the errors of w alone would be divided by alpha.
        w = lapack.dpotrs(factor, np.asfortranarray(problem.backward(omega * residual)), lower=1)[0]
        x = problem.balanced(x + omega / alpha * (residual - problem.forward(w)))
        weights, n_iter = problem.backward(x), n_iter + 1
        products = problem.forward(weights)
        residual = problem.Y - b - products - alpha / omega * x
        if problem.bias:
            shift = problem.weight @ residual / problem.weight.sum()
            b, residual = b + shift, residual - shift
        goal = np.maximum(problem.goal(alpha, x, tol), np.finfo(float).tiny)
        distance = float((problem.norms(residual) / goal).max())
        if distance <= 1.0 or not distance <= 0.5 * before:
            break
        before = distance
    result = certify(problem, alpha, x, products, b, tol, "primal", began, n_iter=n_iter)
    return Solution(x, problem.mean + b - problem.centre @ weights, result, weights)


def certify(
    problem: RidgeProblem,
    alpha: float,
    coefficients: np.ndarray,
    products: np.ndarray,
    b: Any,
    tol: float,
    method: str,
    began: float,
    **known: Any,
) -> LeastSquaresResult:
    """The certificate of coefficients with `products`, K times them, and the offset b to the mean.

    With the residual r = y - b - (K + diag(lambda / omega)) alpha of the system, objective and dual objective are
    apart by half the sum of omega_i r_i^2. Without a word of the solver's on its status, it is solved if r is as
    small as wanted, or as products with K are exact.
    """
    w = problem.weight[:, np.newaxis]
    error = problem.Y - products - b
    residual = error - alpha / w * coefficients
    objective = 0.5 * float((w * error**2).sum() + alpha * (coefficients * products).sum())
    gap = 0.5 * float((w * residual**2).sum())
    sizes, left = problem.norms(problem.Y), problem.norms(residual)
    solved = bool((left <= problem.goal(alpha, coefficients, tol)).all())
    return LeastSquaresResult(
        objective=objective,
        bound=objective - gap,
        gap=gap,
        relative_residual=float(np.divide(left, sizes, out=np.zeros_like(left), where=sizes > 0).max()),
        method=method,
        seconds=time.perf_counter() - began,
        **({"status": "solved" if solved else "stalled"} | known),
    )


def unit_of(Y: np.ndarray) -> float:
    """A power of two of the size of the values: over it they have squares that are numbers, and the same digits."""
    return float(2.0 ** np.frexp(np.abs(Y).max(initial=0.0))[1])
