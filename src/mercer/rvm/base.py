"""What relevance vector machines share: basis functions in, a sparse posterior out."""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.callers import warn_caller
from mercer.errors import DomainError
from mercer.gram.designs import Design, MatrixDesign, StackedDesign, kernel_design
from mercer.gram.memory import memory_budget
from mercer.kernels import as_kernel
from mercer.kernels.samples import n_samples, take
from mercer.machines import KernelMachine
from mercer.parameters import Choice, Number
from mercer.problems import Gamma, SparseBayesProblem
from mercer.rvm.widths import widest
from mercer.solvers import Progress, SparseBayes, SparseBayesResult

__all__ = ["RelevanceVectorMachine"]

REMEDIES = {
    "max_iter": "It ran into max_iter. Raise max_iter or tol",
    "max_seconds": "It ran into max_seconds. Raise max_seconds or tol",
    "stopped": "The callback stopped it",
}


class Prior:
    """A pair (shape, rate) of a gamma distribution."""

    @staticmethod
    def problem(value: Any) -> str | None:
        """What is wrong with the value, None when nothing is."""
        rule = Number(0)
        if value is None:
            return None
        if not isinstance(value, (tuple, list)) or len(value) != 2 or any(rule.problem(part) for part in value):
            return f"must be None or a pair (shape, rate) of floats >= 0, got {value!r}."
        if value[0] > 0 and not value[1] > 0:
            return f"must have rate > 0 where shape > 0, else the largest precision is the best, got {value!r}."
        return None


class Candidates:
    """None, a number of samples, or their positions."""

    @staticmethod
    def problem(value: Any) -> str | None:
        """What is wrong with the value, None when nothing is."""
        if value is None or Number(1, integer=True).problem(value) is None:
            return None
        given = np.asarray(value)
        if given.ndim == 1 and given.size and given.dtype.kind in "iu":
            return None
        return f"must be None, an int >= 1 or an array of positions of samples, got {value!r}."


class Width:
    """None or "evidence"."""

    @staticmethod
    def problem(value: Any) -> str | None:
        """What is wrong with the value, None when nothing is."""
        if value is None or (isinstance(value, str) and value == "evidence"):
            return None
        return f"must be None or 'evidence', got {value!r}; a width is a parameter of the kernel, as in RBF(gamma=0.5)."


class _Limits:
    """Limits of a fit, however many problems it solves."""

    def __init__(self, max_seconds: float | None, callback: Callable | None):
        self._ends = None if max_seconds is None else perf_counter() + max_seconds
        self._callback, self._stopped = callback, False
        self.callback = None if callback is None else self._ask

    @property
    def seconds_left(self) -> float | None:
        """Positive, or None."""
        return None if self._ends is None else max(self._ends - perf_counter(), np.finfo(float).tiny)

    def _ask(self, progress: Progress) -> bool:
        """Whether the callback stops, or has done so."""
        assert self._callback is not None
        self._stopped = self._stopped or bool(self._callback(progress))
        return self._stopped


class RelevanceVectorMachine(KernelMachine):
    """Base of the relevance vector machines: a linear model of basis functions, sparse by the evidence.

    The basis functions are numbered: the constant first (with ``fit_intercept``), then those of every kernel.
    """

    _parameters = {  # noqa: RUF012
        "basis": Choice("kernel", "precomputed"),
        "fit_intercept": Choice(True, False),
        "candidates": Candidates(),
        "alpha_prior": Prior(),
        "algorithm": Choice("sequential", "reestimation", "em"),
        "gamma": Width(),
        "warm_start": Choice(True, False),
        "tol": Number(0, above=True),
        "max_iter": Number(1, integer=True),
        "max_seconds": Number(0, above=True, none=True),
    }

    basis: str
    fit_intercept: bool
    candidates: Any
    alpha_prior: Any
    algorithm: str
    gamma: str | None
    warm_start: bool
    tol: float
    max_iter: int
    max_seconds: float | None
    callback: Any
    random_state: Any
    alpha_: np.ndarray
    mean_: np.ndarray
    sigma_: np.ndarray
    relevance_: np.ndarray
    log_evidence_: float
    _centers: np.ndarray
    _results: Sequence[SparseBayesResult]

    # --- parameters ---------------------------------------------------------------------------------------

    @property
    def _several(self) -> bool:
        """Whether there are several kernels."""
        return isinstance(self.kernel, (list, tuple))

    @property
    def _precomputed(self) -> bool:
        return self.basis == "precomputed" or (isinstance(self.kernel, str) and self.kernel == "precomputed")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed and self.basis != "precomputed"
        return tags

    def _check_all(self) -> None:
        super()._check_all()
        check_random_state(self.random_state)
        if self.callback is not None and not callable(self.callback):
            raise TypeError(f"callback must be None or a callable, got {self.callback!r}.")
        if self._several:
            if not len(self.kernel):
                raise ValueError("kernel must be a kernel or a list of at least one, got an empty list.")
            if any(isinstance(kernel, str) and kernel == "precomputed" for kernel in self.kernel):
                raise ValueError("kernel must not have 'precomputed' in a list; basis='precomputed' takes any columns.")
            domains = {as_kernel(kernel).domain for kernel in self.kernel}
            if len(domains) > 1:
                raise DomainError(f"kernel must be kernels of one domain, got {sorted(domains)}.")
        if self.gamma is not None and (self._precomputed or self._several):
            raise ValueError(f"gamma={self.gamma!r} needs one kernel that is computed, got kernel={self.kernel!r}.")

    def _vectors(self) -> bool:
        return super()._vectors() if not self._several else as_kernel(self.kernel[0]).domain == "vectors"

    # --- samples in ---------------------------------------------------------------------------------------

    def _resolve_kernel(self, X: Any, weight: np.ndarray) -> None:
        if self.basis == "precomputed":
            self.kernel_ = "precomputed"
        elif self._several:
            self.kernel_ = [as_kernel(kernel).resolve(X, weight) for kernel in self.kernel]
        else:
            super()._resolve_kernel(X, weight)

    def _choose_centers(self, X: Any, weight: np.ndarray) -> np.ndarray:
        """Positions of the samples that may be relevance vectors; for a design matrix, of its columns."""
        used = np.arange(X.shape[1]) if self.basis == "precomputed" else np.flatnonzero(weight)
        if self.candidates is None:
            return used
        if np.ndim(self.candidates) == 0:
            if self.candidates >= len(used):
                return used
            return np.sort(check_random_state(self.random_state).choice(used, self.candidates, replace=False))
        wanted, last = np.asarray(self.candidates), (X.shape[1] if self.basis == "precomputed" else n_samples(X)) - 1
        if wanted.min() < 0 or wanted.max() > last:
            raise ValueError(f"candidates must be positions from 0 to {last}, got {wanted.min()} to {wanted.max()}.")
        chosen = np.intersect1d(wanted, used)
        if not len(chosen):
            raise ValueError("candidates must name a sample of positive weight, all of these have weight zero.")
        return chosen

    def _make_design(self, X: Any, used: np.ndarray, kernels: Sequence[Any]) -> Design:
        """The basis functions at the samples of positive weight."""
        parts: list[Design] = [MatrixDesign(np.ones((1, len(used))))] if self.fit_intercept else []
        if self._precomputed:
            parts.append(MatrixDesign(np.asarray(X, dtype=np.float64)[np.ix_(used, self._centers)].T))
            return StackedDesign(parts)
        samples = X if len(used) == n_samples(X) else take(X, used)
        everyone = np.array_equal(self._centers, used)
        places = None if everyone else np.searchsorted(used, self._centers)
        each = memory_budget(self.memory) / 2**20 / max(1, len(kernels))
        return StackedDesign(parts + [kernel_design(kernel, samples, places, each) for kernel in kernels])

    @property
    def _kernels(self) -> list[Any]:
        """The resolved kernels."""
        return [] if self._precomputed else self.kernel_ if self._several else [self.kernel_]

    # --- the search ---------------------------------------------------------------------------------------

    def _prior_of(self, pair: Any) -> Gamma:
        return Gamma() if pair is None else Gamma(float(pair[0]), float(pair[1]))

    def _learn(self, X: Any, weight: np.ndarray, problems: Callable[[Design], list[SparseBayesProblem]]) -> None:
        """Find the model of independent problems over one design; the parameters of the kernel first, if wanted."""
        last: list[Any] = list(self._starts())
        used = np.flatnonzero(weight)
        self._resolve_kernel(X, weight)
        self._centers = self._choose_centers(X, weight)
        limits = _Limits(self.max_seconds, self.callback)

        def solve(problem: SparseBayesProblem, start: SparseBayesResult | None) -> SparseBayesResult:
            solver = SparseBayes(self.algorithm, tol=self.tol, max_iter=self.max_iter, max_seconds=limits.seconds_left)
            return solver.solve(problem, start, limits.callback)

        def fit(kernels: Sequence[Any]) -> tuple[list[SparseBayesProblem], list[SparseBayesResult]]:
            posed = problems(self._make_design(X, used, kernels))
            if len(last) != len(posed) or any(p.n_weights != old.n_weights for p, old in zip(posed, last, strict=True)):
                last[:] = [None] * len(posed)
            last[:] = [solve(p, old) for p, old in zip(posed, last, strict=True)]
            return posed, list(last)

        if self.gamma == "evidence":
            samples, centers = take(X, used), np.searchsorted(used, self._centers)
            owner = type(self).__name__
            self.kernel_ = widest(
                self.kernel_, samples, centers, bool(self.fit_intercept), lambda kernel: fit([kernel]), owner
            )
        posed, self._results = fit(self._kernels)
        if self.gamma == "evidence" and all(result.status == "local" for result in self._results):
            # What was of use for other widths may still be there: begin anew, and keep the better.
            last[:] = []
            anew = fit(self._kernels)[1]
            self._results = max(self._results, anew, key=lambda found: sum(one.log_evidence for one in found))
        self._keep_model(X, posed[0].design.m)

    def _starts(self) -> Sequence[SparseBayesResult | None]:
        """The last results, for a warm start."""
        return getattr(self, "_results", ()) if self.warm_start else ()

    def _keep_model(self, X: Any, n_basis: int) -> None:
        """Weights of all functions over the basis functions that any of them has."""
        numbers, functions, offset = [], [], 0
        for result in self._results:
            numbers.append(result.members % n_basis)
            functions.append(result.members // n_basis + offset)
            offset += result.n_weights // n_basis
        self._numbers, self.functions_ = np.concatenate(numbers), np.concatenate(functions)
        self.alpha_ = np.concatenate([result.alpha for result in self._results])
        self.mean_ = np.concatenate([result.mean for result in self._results])
        sizes = np.cumsum([0, *(len(result.alpha) for result in self._results)])
        self.sigma_ = np.zeros((sizes[-1], sizes[-1]))
        for result, start, end in zip(self._results, sizes, sizes[1:], strict=False):
            self.sigma_[start:end, start:end] = result.covariance
        self.log_evidence_ = float(sum(result.log_evidence for result in self._results))
        self.result_ = self._results[0] if len(self._results) == 1 else list(self._results)
        self.n_iter_ = int(sum(result.n_iter for result in self._results))
        constant = int(self.fit_intercept)
        kept = np.unique(self._numbers[self._numbers >= constant])
        self.relevance_ = self._centers[(kept - constant) % len(self._centers)]
        self.relevance_kernel_ = (kept - constant) // len(self._centers)
        coefficients, intercepts = np.zeros((offset, len(kept))), np.zeros(offset)
        of_constant = self._numbers < constant
        places = np.searchsorted(kept, self._numbers[~of_constant])
        coefficients[self.functions_[~of_constant], places] = self.mean_[~of_constant]
        intercepts[self.functions_[of_constant]] = self.mean_[of_constant]
        self._kept = kept
        self.support_, self.dual_coef_, self.intercept_ = self.relevance_, coefficients, intercepts
        self._n_train = X.shape[1] if self.basis == "precomputed" else n_samples(X)
        self.support_vectors_ = np.empty((0, 0)) if self._precomputed else take(X, self.support_)
        for result in self._results:
            if result.status != "local":
                warn_caller(
                    f"{type(self).__name__} stopped before the evidence was largest (status {result.status}): a step "
                    f"could make it larger by {result.violation:.3g}. {REMEDIES[result.status]}.",
                    ConvergenceWarning,
                )
                break

    @property
    def relevance_vectors_(self):
        """The relevance vectors; none is kept of precomputed basis functions."""
        return self.support_vectors_

    # --- the model ----------------------------------------------------------------------------------------

    def _expansions_of(self, X: Any, Y: Any, rows: Any) -> np.ndarray:
        if not self._several or Y is None:
            return super()._expansions_of(X, Y, rows)
        total = np.zeros((n_samples(X), len(rows)))
        for k, kernel in enumerate(self.kernel_):
            at = np.flatnonzero(self.relevance_kernel_ == k)
            if len(at):
                total += kernel._dot(X, take(Y, at), np.ascontiguousarray(rows[:, at].T))
        return total

    def _prepared(self, X: Any) -> tuple[Any, Any]:
        return self.kernel_[0].prepare(X, self.support_vectors_) if self._several else super()._prepared(X)

    def _check_new(self, X: Any) -> Any:
        if self.basis != "precomputed":
            return super()._check_new(X)
        return validate_data(self, X, reset=False, dtype=np.float64)[:, self.support_]

    def basis_values(self, X):
        """The values of the basis functions in the model, in the order of `alpha_`, `mean_` and `sigma_`.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n, n_weights)
            Ones for the constant.
        """
        check_is_fitted(self)
        X, Y = self._compared(self._check_new(X))
        n = n_samples(X)
        if Y is None:
            kept = np.asarray(X) if self._precomputed else np.empty((n, 0))
        else:
            kept = np.empty((n, len(self._kept)))
            for k, kernel in enumerate(self._kernels):
                at = np.flatnonzero(self.relevance_kernel_ == k)
                if len(at):
                    kept[:, at] = kernel(X, take(Y, at))
        values = np.ones((n, len(self._numbers)))
        inside = self._numbers >= int(self.fit_intercept)
        values[:, inside] = kept[:, np.searchsorted(self._kept, self._numbers[inside])]
        return values

    def _variances(self, X: Any) -> np.ndarray:
        """Of all functions at new samples, shape (n, n_functions)."""
        return np.maximum(np.einsum("ikk->ik", self._covariances(X)), 0.0)

    def _covariances(self, X: Any) -> np.ndarray:
        """Of all functions with each other at new samples, shape (n, n_functions, n_functions)."""
        values, K = self.basis_values(X), len(self.dual_coef_)
        of_function = [np.flatnonzero(self.functions_ == k) for k in range(K)]
        found = np.zeros((len(values), K, K))
        for k, at in enumerate(of_function):
            reached = values[:, at] @ self.sigma_[at]
            for j in range(k + 1):
                cross = np.einsum("ij,ij->i", reached[:, of_function[j]], values[:, of_function[j]])
                found[:, k, j] = found[:, j, k] = cross
        return found
