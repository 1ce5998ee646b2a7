"""Ridge regression for all penalties at once, from one decomposition. [CY eqs 2.34-2.40]"""

import time
from typing import Any

import numpy as np
from scipy.linalg import eigh, svd
from scipy.optimize import brentq

from mercer.errors import SingularError
from mercer.gram.checks import indefinite
from mercer.kernels.samples import row_blocks
from mercer.problems.ridge import EPS, FeatureProblem, KernelProblem, RidgeProblem
from mercer.solvers.ridge import LeastSquaresResult, Solution, certify, unit_of

__all__ = ["Spectral", "needed_bytes"]

# Bytes for every entry of the kernel matrix while its eigenvectors are computed.
BYTES_PER_ENTRY = 24


class Spectral:
    r"""A ridge problem by the eigenvectors of its weighted kernel matrix, S K S = U diag(values) U' with S^2 = omega.

    All that depends on the penalty are the factors

    .. math:: q_j(\lambda) = \frac{\lambda}{\lambda_j + \lambda}

    by which it shrinks the errors along the eigenvectors. U has fewer columns than rows for a problem over features;
    along what is missing nothing is shrunk.

    Parameters
    ----------
    problem : RidgeProblem
    owner : str
        Who asks, for errors.
    """

    def __init__(self, problem: RidgeProblem, owner: str):
        self.began = time.perf_counter()
        self.problem = problem
        self.scale = np.sqrt(problem.weight)
        if isinstance(problem, FeatureProblem):
            self.method = "singular vectors"
            self.U, sigma, _ = svd(
                self.scale[:, np.newaxis] * problem.dense(), full_matrices=False, overwrite_a=True, check_finite=False
            )
            self.values = sigma**2
        else:
            self.method = "eigenvectors"
            self.values, self.U = self._eigenvectors(problem, owner)
        self.values[self.values <= len(self.U) * EPS * self.values.max(initial=0.0)] = 0.0
        self.target = self.scale[:, np.newaxis] * problem.Y
        self.border = self.scale[:, np.newaxis] * float(problem.bias)  # zeros: no border
        self.z, self.t = self.U.T @ self.target, self.U.T @ self.border
        self.thin = self.U.shape[0] > self.U.shape[1]
        # What the columns of U do not span.
        self.rest = self.target - self.U @ self.z if self.thin else np.zeros_like(self.target)
        self.border_rest = self.border - self.U @ self.t if self.thin else np.zeros_like(self.border)

    def _eigenvectors(self, problem: Any, owner: str) -> tuple[np.ndarray, np.ndarray]:
        gram = problem.gram
        K = gram.rows(np.arange(gram.n))
        if (problem.weight != 1.0).any():
            K *= self.scale
            K *= self.scale[:, np.newaxis]
        # The transpose is the same matrix in the order that LAPACK can write over.
        # SciPy before 1.13 gives "evd" too little room for a single sample.
        driver = "evd" if len(K) > 1 else "ev"
        values, vectors = eigh(K.T, driver=driver, overwrite_a=True, check_finite=False)
        if values[0] < -gram.rounding * float(problem.weight.max()):
            raise indefinite(owner, values[0], "this one, times weights,")
        return np.maximum(values, 0.0), vectors

    def require_regular(self, alpha: float) -> None:
        """Refuse a penalty too small for samples that are linear combinations of others in feature space."""
        if alpha <= EPS * float(self.values.max(initial=0.0)) and (self.thin or not self.values.all()):
            raise SingularError(
                f"The system of {len(self.U)} equations is singular: some samples are linear combinations of others in "
                f"feature space, and alpha={alpha:.3g} is too small to regularise them."
            )

    # --- one penalty --------------------------------------------------------------------------------------

    def solve(self, alpha: float, tol: float) -> Solution:
        """The solution for a penalty, refined; for zero the one of least norm."""
        problem, omega = self.problem, self.problem.weight[:, np.newaxis]
        x, b, residual = np.zeros_like(problem.Y), np.zeros(problem.Y.shape[1]), problem.Y
        n_iter, before = 0, np.inf
        while True:
            step, shift = self._inverse(alpha, residual)
            x, b, n_iter = x + step, b + shift, n_iter + 1
            if isinstance(problem, FeatureProblem):
                x = problem.balanced(x)
            products = problem.product(x)
            residual = problem.Y - b - products - alpha / omega * x
            goal = np.maximum(problem.goal(alpha, x, tol), np.finfo(float).tiny)
            distance = float((problem.norms(residual) / goal).max())
            if not alpha or distance <= 1.0 or not distance <= 0.5 * before:
                break
            before = distance
        result = certify(problem, alpha, x, products, b, tol, self.method, self.began, n_iter=n_iter)
        offset = problem.mean + b
        if isinstance(problem, FeatureProblem):
            offset = offset - problem.centre @ problem.backward(x)
        return Solution(x, offset, result)

    def _inverse(self, alpha: float, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients and offsets that solve the system with another right side."""
        target = self.scale[:, np.newaxis] * R
        z = self.U.T @ target
        rest = target - self.U @ z if self.thin else np.zeros_like(target)
        b = self._offsets(alpha, z, rest)
        c = self.U @ self._along(alpha, z, b)
        if alpha:
            c += (rest - b * self.border_rest) / alpha
        return self.scale[:, np.newaxis] * c, b

    def norm(self, alpha: float) -> float:
        """The norm of all functions together, which falls with the penalty."""
        along = self._along(alpha, self.z, self._offsets(alpha, self.z, self.rest))
        parts = np.sqrt(self.values)[:, np.newaxis] * along
        unit = unit_of(parts)
        return unit * float(np.linalg.norm(parts / unit))

    def _along(self, alpha: float, z: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The solution of the weighted system along the eigenvectors."""
        shifted = self.values[:, np.newaxis] + alpha
        return np.divide(z - b * self.t, shifted, out=np.zeros_like(z), where=shifted > 0)

    def _factors(self, alphas: np.ndarray) -> np.ndarray:
        """q, shape (n_values, n_alphas)."""
        shifted = self.values[:, np.newaxis] + alphas
        return np.divide(alphas, shifted, out=np.ones_like(shifted), where=shifted > 0)

    def _offsets(self, alpha: float, z: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """b, which makes the coefficients of each function add up to zero."""
        if not self.problem.bias:
            return np.zeros(z.shape[1])
        q = self._factors(np.array([alpha]))
        span = float((q * self.t**2).sum() + (self.border_rest**2).sum())
        if alpha == 0 and span <= len(self.U) * EPS * float((self.border**2).sum()):
            # No direction is free of a penalty: the limit of small ones counts.
            values = self.values[:, np.newaxis]
            q = np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)
            return (q * self.t * z).sum(axis=0) / float((q * self.t**2).sum())
        return ((q * self.t * z).sum(axis=0) + (self.border_rest * rest).sum(axis=0)) / span

    # --- a bound on the norm ------------------------------------------------------------------------------

    def bounded(self, bound: float, tol: float) -> tuple[float, Solution]:
        """The least sum of squares under a bound on the norm, and its multiplier. [CY eqs 2.34-2.39]"""
        began = time.perf_counter()
        top = float(self.values.max(initial=0.0))
        low, high = EPS * max(top, np.finfo(float).tiny), max(top, 1.0)
        if self.norm(0.0) <= bound:
            alpha = 0.0
        else:
            while self.norm(high) > bound:
                high *= 16.0
            while self.norm(low) <= bound:
                low /= 16.0
            # In logarithms, and to the last digits: the norm is to meet its bound.
            alpha = float(
                np.exp(
                    brentq(
                        lambda u: np.log(self.norm(np.exp(u))) - np.log(bound),
                        np.log(low),
                        np.log(high),
                        xtol=1e-14,
                        rtol=4 * EPS,
                    )
                )
            )
        solution = self.solve(alpha, tol)
        return alpha, Solution(
            solution.coefficients, solution.intercept, self._bounded_certificate(alpha, bound, tol, solution, began)
        )

    def _bounded_certificate(
        self, alpha: float, bound: float, tol: float, solution: Solution, began: float
    ) -> LeastSquaresResult:
        """From the certificate of the penalised problem: its dual value less alpha B^2 / 2 bounds this one."""
        problem, result = self.problem, solution.result
        b, omega = self._offsets(alpha, self.z, self.rest), problem.weight[:, np.newaxis]
        products = problem.product(solution.coefficients)
        error = problem.Y - products - b
        objective, squared = 0.5 * float((omega * error**2).sum()), float((solution.coefficients * products).sum())
        relative, status = result.relative_residual, result.status
        if alpha:
            gap = result.gap + 0.5 * alpha * max(0.0, bound**2 - squared)
        else:  # the gradient, as far as weights of this norm can go
            slope = problem.product(omega * error)
            gap = 2 * bound * float(np.sqrt(max(0.0, (omega * error * slope).sum())))
            size = float(np.linalg.norm(problem.product(omega * problem.Y)))
            relative = float(np.linalg.norm(slope)) / size if size else 0.0
            status = "solved" if relative <= max(tol, EPS * len(self.U)) else "stalled"
        return LeastSquaresResult(
            objective=objective,
            bound=objective - gap,
            gap=gap,
            relative_residual=relative,
            method=self.method,
            n_iter=1,
            status=status,
            seconds=result.seconds + time.perf_counter() - began,
        )

    # --- leaving one out ----------------------------------------------------------------------------------

    def left_out(self, alphas: np.ndarray, share: np.ndarray) -> np.ndarray:
        """Errors at every sample of the functions learnt without it, shape (n_alphas, n, n_functions).

        With the leverage h_i they are e_i / (1 - h_i); a sample of which only a share is left out has
        e_i / (1 - share_i h_i). Without a penalty these may both be zero, and the limit of small ones counts.
        """
        n, n_functions = self.target.shape
        alphas = np.maximum(alphas, EPS**2 * self.values.max(initial=0.0))
        q = self._factors(alphas)
        b = np.array([self._offsets(float(alpha), self.z, self.rest) for alpha in alphas])  # (n_alphas, n_functions)
        along = q[:, :, np.newaxis] * (self.z[:, np.newaxis] - b * self.t[:, np.newaxis])
        along = along.reshape(len(q), -1)
        border = q * self.t
        span = np.maximum((border * self.t).sum(axis=0) + (self.border_rest**2).sum(), np.finfo(float).tiny)
        found = np.empty((len(alphas), n, n_functions))
        for block in row_blocks(n, len(q)):
            rows = self.U[block]
            squares = rows * rows
            error = (rows @ along).reshape(-1, len(alphas), n_functions)
            error += self.rest[block, np.newaxis] - b * self.border_rest[block, np.newaxis]
            most = squares @ q + (1.0 - squares.sum(axis=1, keepdims=True) if self.thin else 0.0)
            free = most - (rows @ border + self.border_rest[block]) ** 2 / span  # 1 - h
            # What rounding leaves of nothing: a sample that nothing else is like.
            free = np.maximum(free, EPS if self.thin else EPS * most)
            part = share[block, np.newaxis]
            error /= (self.scale[block, np.newaxis] * (1.0 - part + part * free))[:, :, np.newaxis]
            found[:, block] = error.transpose(1, 0, 2)
        return found


def needed_bytes(problem: RidgeProblem) -> int:
    """Memory that the decomposition takes."""
    if isinstance(problem, KernelProblem):
        return BYTES_PER_ENTRY * problem.gram.n**2
    assert isinstance(problem, FeatureProblem)
    return BYTES_PER_ENTRY * int(np.prod(problem.features.shape))
