r"""Ridge regression as data, and its solution for one penalty.

.. math:: \min_{w, b} \tfrac12 \sum_i \omega_i (y_i - w \cdot \phi(x_i) - b)^2 + \tfrac12 \lambda \|w\|^2

With w = sum_i alpha_i phi(x_i) and the residuals e_i = lambda alpha_i / omega_i the conditions of its optimum are the
bordered system of [W], (K + diag(lambda / omega)) alpha + b = y with sum_i alpha_i = 0; without b, the system alone
[CY eq 2.32].
"""

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import lapack
from scipy.sparse import issparse

from mercer.errors import SingularError
from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.samples import in_full, n_samples, take
from mercer.solvers import solve_spd
from mercer.solvers.spd import DIGITS

__all__ = [
    "FeatureProblem",
    "KernelProblem",
    "LeastSquaresResult",
    "RidgeProblem",
    "Solution",
    "explicit_features",
    "unit_of",
]

EPS = float(np.finfo(np.float64).eps)


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
    """How it was solved: "primal", "eigenvectors", "singular vectors", or see `mercer.solvers.SystemResult`."""
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
        result = self.result
        return Solution(
            self.coefficients * unit,
            self.intercept * unit,
            replace(
                result,
                objective=result.objective * unit * unit,
                bound=result.bound * unit * unit,
                gap=result.gap * unit * unit,
            ),
            None if self.weights is None else self.weights * unit,
        )


class RidgeProblem(ABC):
    """Samples, by their kernel matrix or by their features, with values and positive weights.

    Parameters
    ----------
    Y : array of shape (n, n_functions)
    weight : array of shape (n,)
        omega > 0.
    bias : bool
        Whether there is the offset b.
    """

    def __init__(self, Y: np.ndarray, weight: np.ndarray, bias: bool):
        self.weight, self.bias = weight, bias
        # An offset takes the means away, and what is left is easier on the digits.
        self.mean = weight @ Y / weight.sum() if bias else np.zeros(Y.shape[1])
        self.Y = Y - self.mean
        self.began = time.perf_counter()

    @abstractmethod
    def solve(self, alpha: float, tol: float, max_iter: int | None) -> Solution:
        """The solution for one penalty."""

    @abstractmethod
    def product(self, coefficients: np.ndarray) -> np.ndarray:
        """K times coefficients, which add up to zero if there is an offset."""

    def norms(self, V: np.ndarray) -> np.ndarray:
        """Norms of the columns, in which every sample counts with its weight."""
        return np.sqrt(np.einsum("i,ij,ij->j", self.weight, V, V))

    def goal(self, alpha: float, coefficients: np.ndarray, tol: float) -> np.ndarray:
        """How small the residuals of the system are to be: more than rounding in products with K lets them be.

        But where rounding leaves less than `DIGITS` of a solution, it is none.
        """
        sizes, along = self.norms(self.Y), self.norms(coefficients / self.weight[:, np.newaxis])
        return np.maximum(tol * sizes, np.minimum(EPS * (self.trace + alpha) * along, DIGITS * sizes))

    @property
    @abstractmethod
    def trace(self) -> float:
        """The trace of K, weighted."""

    def certify(
        self,
        alpha: float,
        coefficients: np.ndarray,
        products: np.ndarray,
        b: Any,
        tol: float,
        method: str,
        **known: Any,
    ) -> LeastSquaresResult:
        """The certificate of coefficients with `products`, K times them, and the offset b to the mean.

        With the residual r = y - b - (K + diag(lambda / omega)) alpha of the system, objective and dual objective are
        apart by half the sum of omega_i r_i^2. Without a word of the solver's on its status, it is solved if r is as
        small as wanted, or as products with K are exact.
        """
        w = self.weight[:, np.newaxis]
        error = self.Y - products - b
        residual = error - alpha / w * coefficients
        objective = 0.5 * float((w * error**2).sum() + alpha * (coefficients * products).sum())
        gap = 0.5 * float((w * residual**2).sum())
        sizes, left = self.norms(self.Y), self.norms(residual)
        solved = bool((left <= self.goal(alpha, coefficients, tol)).all())
        return LeastSquaresResult(
            objective=objective,
            bound=objective - gap,
            gap=gap,
            relative_residual=float(np.divide(left, sizes, out=np.zeros_like(left), where=sizes > 0).max()),
            method=method,
            seconds=time.perf_counter() - self.began,
            **({"status": "solved" if solved else "stalled"} | known),
        )


class KernelProblem(RidgeProblem):
    """Over a kernel matrix."""

    def __init__(self, gram: Gram, Y: np.ndarray, weight: np.ndarray, bias: bool, memory: float | str):
        super().__init__(Y, weight, bias)
        self.gram, self.memory = gram, memory

    def product(self, coefficients):
        return self.gram.dot(coefficients)

    @property
    def trace(self):
        return float(self.weight @ np.abs(self.gram.diag()))

    def solve(self, alpha, tol, max_iter):
        """The bordered system by two solutions of the system without a border, which are made together."""
        Y = np.column_stack([self.Y, np.ones(len(self.Y))]) if self.bias else self.Y
        ridge = alpha / self.weight
        system = solve_spd(
            self.gram, ridge, Y, tol=tol / 2 if self.bias else tol, max_iter=max_iter, memory=self.memory
        )
        x, residual, b = system.x, system.residual, np.zeros(self.Y.shape[1])
        if self.bias:
            b = x[:, :-1].sum(axis=0) / x[:, -1].sum()
            x, residual = x[:, :-1] - b * x[:, -1:], residual[:, :-1] - b * residual[:, -1:]
        products = self.Y - b - residual - ridge[:, np.newaxis] * x
        known = {"n_iter": system.n_iter, "status": system.status}
        result = self.certify(alpha, x, products, b, tol, system.method, **known)
        return Solution(x, b + self.mean, result)


class FeatureProblem(RidgeProblem):
    """Over explicit features, fewer than samples. [CY eq 2.26]

    Parameters
    ----------
    features : array or CSR of shape (n, n_features)
    """

    def __init__(self, features: Any, Y: np.ndarray, weight: np.ndarray, bias: bool):
        super().__init__(Y, weight, bias)
        self.centre = np.asarray(weight @ features).ravel() / weight.sum() if bias else np.zeros(features.shape[1])
        self.sparse = issparse(features)
        # Of sparse features the centre is taken away in products only.
        self.features = features if self.sparse or not bias else features - self.centre

    def forward(self, w: np.ndarray) -> np.ndarray:
        """Values of all samples for weights of the centred features."""
        return self.features @ w - self.centre @ w if self.sparse else self.features @ w

    def backward(self, c: np.ndarray) -> np.ndarray:
        """Sums of centred features for coefficients of the samples."""
        sums = self.features.T @ c
        return sums - np.outer(self.centre, c.sum(axis=0)) if self.sparse else sums

    def product(self, coefficients):
        return self.forward(self.backward(coefficients))

    def balanced(self, coefficients: np.ndarray) -> np.ndarray:
        """Coefficients that add up to zero if there is an offset, for the same values of centred features.

        Rounding keeps sums from being zero, and predictions see it times the squared length of the centre.
        """
        excess = coefficients.sum(axis=0) / self.weight.sum() if self.bias else 0.0
        return coefficients - self.weight[:, np.newaxis] * excess

    @cached_property
    def trace(self):
        if self.sparse:
            return float((self.weight @ self.features.multiply(self.features)).sum())
        return float(np.einsum("i,ij,ij->", self.weight, self.features, self.features))

    def dense(self) -> np.ndarray:
        """The centred features as an array of its own."""
        return self.features.toarray() - self.centre if self.sparse else self.features.copy()

    def moments(self) -> np.ndarray:
        """Weighted sums of products of centred features, shape (n_features, n_features)."""
        if not self.sparse:
            return (self.features.T * self.weight) @ self.features
        raw = (self.features.T.multiply(self.weight) @ self.features).toarray()
        return raw - self.weight.sum() * np.outer(self.centre, self.centre)

    def solve(self, alpha, tol, max_iter):
        matrix = self.moments()
        matrix.reshape(-1)[:: len(matrix) + 1] += alpha
        norm = float(np.abs(matrix).sum(axis=0).max())
        factor, failed = lapack.dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
        # Of the system of all samples, which has the eigenvalue alpha, the coefficients are to be a solution, too.
        if failed or lapack.dpocon(factor, norm, uplo="L")[0] < EPS or alpha <= EPS * norm:
            raise SingularError(
                f"The system of {len(matrix)} features is singular, alpha={alpha:.3g} is too small to regularise it."
            )
        omega = self.weight[:, np.newaxis]
        x, b, residual = np.zeros_like(self.Y), np.zeros(self.Y.shape[1]), self.Y
        n_iter, before = 0, np.inf
        while True:
            # Refined as the dual system is, whose inverse this is: the errors of w alone would be divided by alpha.
            w = lapack.dpotrs(factor, np.asfortranarray(self.backward(omega * residual)), lower=1)[0]
            x = self.balanced(x + omega / alpha * (residual - self.forward(w)))
            weights, n_iter = self.backward(x), n_iter + 1
            products = self.forward(weights)
            residual = self.Y - b - products - alpha / omega * x
            if self.bias:
                shift = self.weight @ residual / self.weight.sum()
                b, residual = b + shift, residual - shift
            goal = np.maximum(self.goal(alpha, x, tol), np.finfo(float).tiny)
            distance = float((self.norms(residual) / goal).max())
            if distance <= 1.0 or not distance <= 0.5 * before:
                break
            before = distance
        result = self.certify(alpha, x, products, b, tol, "primal", n_iter=n_iter)
        return Solution(x, self.mean + b - self.centre @ weights, result, weights)


def unit_of(Y: np.ndarray) -> float:
    """A power of two of the size of the values: over it they have squares that are numbers, and the same digits."""
    return float(2.0 ** np.frexp(np.abs(Y).max(initial=0.0))[1])


def explicit_features(kernel: Kernel, X: Any, budget: int) -> Any:
    """The features of a kernel if it has them, they are fewer than the samples and they fit the memory; else None."""
    n = n_samples(X)
    prepared, _ = kernel.prepare(X)
    sparse = kernel._sparse_features(prepared)
    if sparse is not None:
        keys = np.unique(sparse.keys)
        return sparse.table(keys) if _is_slim(n, len(keys), 0, budget) else None
    try:
        if not _is_slim(n, kernel.features(take(X, slice(0, 1))).shape[1], n, budget):
            return None
        features = kernel.features(X)
    except (NotImplementedError, ValueError):  # there are none, or too many of them
        return None
    return in_full(features) if _is_slim(n, features.shape[1], 0 if issparse(features) else n, budget) else None


def _is_slim(n: int, n_features: int, n_dense: int, budget: int) -> bool:
    """Whether there are fewer features than samples, and room for their products and for dense rows."""
    return 0 < n_features < n and 8 * n_features * (n_dense + 2 * n_features) <= budget
