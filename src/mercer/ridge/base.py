"""What the least squares machines share."""

from copy import copy
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import solve_triangular
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from mercer.devices.arrays import OnDevice, from_device
from mercer.gram import LandmarkGram, MapGram, MatrixGram, low_rank, make_gram, memory_budget
from mercer.gram.checks import require_definite
from mercer.kernels.samples import BLOCK_ENTRIES, in_full, take
from mercer.machines import LandmarkMachine, Landmarks
from mercer.parameters import Choice, Number
from mercer.problems.ridge import FeatureProblem, KernelProblem, RidgeProblem, explicit_features
from mercer.solvers.base import warn_unless_solved
from mercer.solvers.landmark_ridge import solve_landmark_ridge
from mercer.solvers.ridge import LeastSquaresResult, Solution, solve_ridge, unit_of
from mercer.solvers.spectral_ridge import Spectral, needed_bytes
from mercer.threads import limit_threads

__all__ = ["LeastSquaresMachine", "LeastSquaresResult"]

# The penalties that "loo" chooses from, in units of the largest eigenvalue; of equally good ones it takes the largest.
LOO_GRID = np.logspace(1, -10, 45)
# Weights that are smaller than the largest by this are none.
NEGLIGIBLE = 1e-100
# The share of the samples that pruning drops before it looks again.
PRUNED_AT_ONCE = 0.1


class Penalty:
    """A number >= 0, "loo", or several numbers > 0 to choose from."""

    @staticmethod
    def problem(value: Any) -> str | None:
        """What is wrong with the value, None when nothing is."""
        if isinstance(value, str):
            allowed = value == "loo"
        elif np.ndim(value) == 0:
            allowed = Number(0).problem(value) is None
        else:
            allowed = Number(0, above=True, per_feature=True).problem(value) is None
        return None if allowed else f"must be a float >= 0, several floats > 0, or 'loo', got {value!r}."


class LeastSquaresMachine(LandmarkMachine):
    """Base of the machines that minimise a sum of squared errors and the squared norm of their functions."""

    _parameters: ClassVar[dict[str, Any]] = {
        "alpha": Penalty(),
        "fit_intercept": Choice(True, False),
        "leave_one_out": Choice(True, False),
        "approximation": Landmarks(),
        "tol": Number(0, above=True),
        "max_iter": Number(1, integer=True, none=True),
    }

    alpha: Any
    fit_intercept: bool
    leave_one_out: bool
    tol: float
    max_iter: int | None
    norm_bound: float | None = None
    result_: LeastSquaresResult
    loo_errors_: np.ndarray
    loo_residuals_: np.ndarray
    sample_coef_: np.ndarray

    # --- fit ----------------------------------------------------------------------------------------------

    def _fit_values(self, X: Any, Y: np.ndarray, count: np.ndarray, price: np.ndarray) -> None:
        """Learn the values Y of shape (n, n_functions).

        A sample stands for `count` samples, each of which has the `price`.
        """
        of_earlier_fits = ("_targets", "_sample_weight", "alphas_", "loo_errors_", "loo_residuals_", "sample_coef_")
        for name in of_earlier_fits:
            self.__dict__.pop(name, None)
        if self.approximation is not None:
            return self._fit_over_landmarks(X, Y, count * price)
        used = np.flatnonzero(count > NEGLIGIBLE * count.max())
        weight = (count * price)[used]
        some = X if len(used) == len(count) else self._part(X, used)
        unit = unit_of(Y[used])
        problem = self._problem(some, Y[used] / unit, weight, count[used])
        with np.errstate(over="ignore"):
            if not np.isfinite(problem.trace):
                raise ValueError("The kernel values, times the weights, are too large for float64; rescale them.")
        solution = self._solve(problem, np.minimum(count[used], 1.0) / count[used], unit).times(unit)
        coefficients = np.zeros((Y.shape[1], len(count)))
        coefficients[:, used] = solution.coefficients.T
        self._keep_expansion(X, coefficients, solution.intercept)
        if hasattr(self, "loo_residuals_"):
            self.loo_residuals_ = self._of_all(X, Y, used, solution)
        self._targets, self._sample_weight = Y, count * price
        self.result_, self.n_iter_ = solution.result, solution.result.n_iter
        warn_unless_solved(self.result_, type(self).__name__)

    def _check_all(self) -> None:
        super()._check_all()
        if self.approximation is None:
            return self._refuse_checkpoint("without an approximation, as a system of equations is solved in one go")
        if isinstance(self.alpha, str) or np.ndim(self.alpha) > 0 or self.alpha == 0:
            raise ValueError(f"alpha must be one float > 0 with an approximation, got {self.alpha!r}.")
        if self.leave_one_out or self.norm_bound is not None:
            raise ValueError("leave_one_out must be False and norm_bound None with an approximation.")

    def _fit_over_landmarks(self, X: Any, Y: np.ndarray, weight: np.ndarray) -> None:
        """Learn functions that landmarks span."""
        unit, gram = unit_of(Y[weight > 0]), self._make_gram(X, weight)
        assert isinstance(gram, LandmarkGram | MapGram)
        self.alpha_ = float(self.alpha)
        known: dict[str, Any] = {"bias": bool(self.fit_intercept), "tol": self.tol, "max_iter": self.max_iter}
        found = solve_landmark_ridge(gram, Y / unit, weight, self.alpha_, **known, bookmark=self._bookmark())
        self._keep_weights(gram, unit * found.weights.T)
        self.intercept_ = unit * found.intercept
        self.sample_coef_ = unit / self.alpha_ * (weight[:, np.newaxis] * found.errors).T
        self.result_, self.n_iter_ = found.result.times(unit), found.result.n_iter
        if self._mapped:
            self._targets, self._sample_weight = Y, weight
        warn_unless_solved(self.result_, type(self).__name__)

    def _duals(self):
        result = self.result_
        return (
            np.array([result.objective]),
            np.array([result.bound]),
            csr_array(np.sqrt(self.alpha_) * self.sample_coef_),
        )

    def _full_objectives(self, gram, F, energies):
        errors = self._targets - F / np.sqrt(self.alpha_)
        if self.fit_intercept:
            errors -= self._sample_weight @ errors / self._sample_weight.sum()
        squares = float(np.einsum("i,ij,ij->", self._sample_weight, errors, errors))
        return np.array([0.5 * (squares + float(energies.sum()))])

    def _part(self, X: Any, which: np.ndarray) -> Any:
        """Some of the samples, or their rows and columns of a matrix."""
        return X[np.ix_(which, which)] if self._precomputed else take(X, which)

    def _problem(self, X: Any, Y: np.ndarray, weight: np.ndarray, count: np.ndarray) -> RidgeProblem:
        """The problem over features where that is the smaller one, else over the kernel matrix."""
        gram: Any
        if self._precomputed:
            gram = self._make_gram(X, count)
        else:
            self._resolve_kernel(X, count)
            zero = not isinstance(self.alpha, str) and np.ndim(self.alpha) == 0 and self.alpha == 0
            features = None if zero else self._explicit(X)
            if features is not None:
                return FeatureProblem(features, Y, weight, self.fit_intercept)
            gram = self._gram_over(in_full(X))
        return KernelProblem(gram, Y, weight, self.fit_intercept)

    def _explicit(self, X: Any) -> Any:
        """The features of the kernel where they are fewer than the samples; these are made in memory."""
        if isinstance(X, OnDevice):
            try:
                self.kernel_.features(from_device(X[:1]))
            except (NotImplementedError, ValueError):  # none, or too many of them: the samples stay where they are
                return None
        return explicit_features(self.kernel_, from_device(X), memory_budget(self.memory))

    def _solve(self, problem: RidgeProblem, share: np.ndarray, unit: float) -> Solution:
        """The solution for the penalty that is given, or is to be found; values are in multiples of the unit."""
        several = isinstance(self.alpha, str) or np.ndim(self.alpha) > 0
        if not (several or self.leave_one_out or self.norm_bound is not None):
            if isinstance(problem, KernelProblem):
                require_definite(problem.gram, type(self).__name__)
            self.alpha_ = float(self.alpha)
            return solve_ridge(problem, self.alpha_, self.tol, self.max_iter, self.memory)
        self._check_room(problem)
        spectral = Spectral(problem, type(self).__name__)
        if self.norm_bound is not None:
            self.alpha_, solution = spectral.bounded(float(self.norm_bound) / unit, self.tol)
        else:
            self.alpha_ = self._best_alpha(spectral, share) if several else float(self.alpha)
            spectral.require_regular(self.alpha_)
            solution = spectral.solve(self.alpha_, self.tol)
        if several or self.leave_one_out:
            self.loo_residuals_ = spectral.left_out(np.array([self.alpha_]), share)[0] * unit
        if several:
            with np.errstate(over="ignore"):
                self.loo_errors_ = self.loo_errors_ * unit * unit
        return solution

    def _check_room(self, problem: RidgeProblem) -> None:
        needed, budget = needed_bytes(problem), memory_budget(self.memory)
        if needed > budget:
            raise ValueError(
                f"memory must be at least {needed / 2**20:.0f} (megabytes) for the eigenvectors that leaving one out, "
                f"several penalties or a bound on the norm need, got {self.memory!r} ({budget / 2**20:.0f}); one alpha "
                "with leave_one_out=False needs less."
            )

    def _best_alpha(self, spectral: Spectral, share: np.ndarray) -> float:
        """The penalty of the least mean squared error of leaving one out."""
        if isinstance(self.alpha, str):
            self.alphas_ = LOO_GRID * max(float(spectral.values.max()), np.finfo(float).tiny)
        else:
            self.alphas_ = np.array(self.alpha, dtype=np.float64)
        weight = spectral.problem.weight
        n, n_functions = spectral.target.shape
        at_once = max(1, BLOCK_ENTRIES // (n * n_functions))
        errors = [
            np.einsum("i,aik,aik->a", weight, part, part)
            for start in range(0, len(self.alphas_), at_once)
            for part in [spectral.left_out(self.alphas_[start : start + at_once], share)]
        ]
        self.loo_errors_ = np.concatenate(errors) / (weight.sum() * n_functions)
        return float(self.alphas_[np.argmin(self.loo_errors_)])

    def _of_all(self, X: Any, Y: np.ndarray, used: np.ndarray, solution: Solution) -> np.ndarray:
        """Errors of leaving one out of all samples: those of no weight are left out as it is."""
        found = np.empty_like(Y)
        found[used] = self.loo_residuals_
        idle = np.setdiff1d(np.arange(len(Y)), used)
        if len(idle):
            products = (
                X[np.ix_(idle, used)] @ solution.coefficients
                if self._precomputed
                else self.kernel_.dot(*(from_device(take(X, rows)) for rows in (idle, used)), solution.coefficients)
            )
            found[idle] = Y[idle] - products - solution.intercept
        return found

    # --- fewer support vectors ----------------------------------------------------------------------------

    def prune(self, keep: float, K: Any = None):
        """A machine with fewer support vectors. [W]

        The support vectors of the smallest coefficients are dropped, a tenth at a time, and the rest is fitted anew;
        in the end the functions over those that are left are fitted to all samples.

        Parameters
        ----------
        keep : int >= 1 or float in (0, 1)
            How many support vectors stay, or which share of them; fewer where these span all.
        K : array of shape (n, n), default=None
            The training matrix once more, if the kernel is "precomputed".

        Returns
        -------
        machine
            A fitted machine of the same class; this one does not change.
        """
        check_is_fitted(self)
        if self.approximation is not None:
            raise ValueError("prune is for machines over all samples; with an approximation, ask for fewer landmarks.")
        size = len(self.support_)
        if isinstance(keep, float | np.floating):
            if problem := Number(0, 1, above=True).problem(keep):
                raise ValueError(f"keep {problem}")
            keep = max(1, round(keep * size))
        if problem := Number(1, integer=True).problem(keep):
            raise ValueError(f"keep {problem}")
        if self._precomputed and K is None:
            raise ValueError("prune needs the training matrix K where the kernel is precomputed.")
        if not size or not self.alpha_:
            raise ValueError("There is nothing to prune: the machine has no support vectors, or no penalty.")
        X = np.asarray(K, dtype=np.float64) if self._precomputed else in_full(self.support_vectors_)
        if self._precomputed and X.shape != (self._n_train, self._n_train):
            raise ValueError(f"K must have the shape {(self._n_train, self._n_train)} of the training matrix.")
        with limit_threads(self.n_threads):
            X = self._part(X, self.support_) if self._precomputed else X
            pruned = copy(self)
            kept, coefficients = pruned._pruned(X, int(keep), self._targets[self.support_], self.support_)
        pruned.support_, pruned.dual_coef_ = self.support_[kept], coefficients.T.copy()
        if not self._precomputed:
            pruned.support_vectors_ = take(self.support_vectors_, kept)
        pruned.__dict__.pop("loo_residuals_", None)
        return pruned

    def _pruned(self, X: Any, keep: int, Y: np.ndarray, support: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which support vectors to keep, and their coefficients; sets the offset and the certificate."""
        weight, coefficients, kept = self._sample_weight[support], self.dual_coef_.T, np.arange(len(support))
        unit = unit_of(Y)
        Y = Y / unit
        while len(kept) > keep:
            size = max(keep, len(kept) - max(1, int(PRUNED_AT_ONCE * len(kept))))
            order = np.argsort(-np.abs(coefficients).max(axis=1), kind="stable")[:size]
            kept = np.sort(kept[order])
            problem = KernelProblem(self._gram_of(X, kept), Y[kept], weight[kept], self.fit_intercept)
            coefficients = solve_ridge(problem, self.alpha_, self.tol, self.max_iter, self.memory).coefficients
        # Features of all samples whose inner products are the kernel, in the span of those that are kept.
        gram = self._gram_of(X, kept)
        found = low_rank(gram, len(kept), pivots="greedy")
        triangle, kept = found.factor[found.pivots], kept[found.pivots]
        cross = X[:, kept] if self._precomputed else self.kernel_(X, take(X, kept))
        features = solve_triangular(triangle, cross.T, lower=True, check_finite=False).T
        over = FeatureProblem(features, Y, weight, self.fit_intercept)
        solution = solve_ridge(over, self.alpha_, self.tol).times(unit)
        assert solution.weights is not None
        self.intercept_, self.result_ = solution.intercept, solution.result
        self.n_iter_ = solution.result.n_iter
        order = np.argsort(kept)
        coefficients = solve_triangular(triangle, solution.weights, lower=True, trans="T", check_finite=False)
        return kept[order], coefficients[order]

    def _gram_of(self, X: Any, which: np.ndarray) -> Any:
        part = self._part(X, which)
        return MatrixGram(part) if self._precomputed else make_gram(self.kernel_, part, self.memory)
