"""What Gaussian processes share: a prior with parameters, and parameters that make the data likely."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.callers import warn_caller
from mercer.errors import IndefiniteError
from mercer.kernels import Kernel, as_kernel
from mercer.kernels.samples import n_samples, row_blocks, take
from mercer.logscale import Packed, descend, descend_curved, limits, smooth_parameters
from mercer.machines import KernelMachine
from mercer.parameters import Number

__all__ = ["Assessed", "EvidenceResult", "GaussianProcess", "Prior"]

# How far from its start a parameter may go that has no bounds of its own.
FACTOR = 1e5
# A step that changes the evidence by a smaller part is lost in rounding.
SMALLEST_STEP = 1e-14
# Where a step leads to a matrix that cannot be factorised, the descent sees a wall: so many times what it began with.
WALL = 1e3
# Differences of products with K, for the curvature of the evidence, change parameters by this factor.
NEARBY = 1 + 1e-5

REMEDIES = {
    "max_iter": "It ran into max_iter. Raise max_iter or tol",
    "stalled": "No step makes the evidence larger: rounding hides its slope. Raise tol, or the least noise (bounds)",
}


@dataclass(frozen=True, eq=False)
class EvidenceResult:
    """Where the search for the largest evidence ended."""

    status: str
    """"local": a stationary point of the evidence, as a rule a local maximum; "given": nothing was searched; else why
    it is not stationary: "max_iter", "stalled"."""
    log_marginal_likelihood: float
    """The logarithm of the evidence there."""
    stationarity: float
    """The largest slope, per sample, in the logarithm of a parameter that could still move."""
    at_limit: tuple[str, ...]
    """Parameters, or some of their entries, that wanted to go further than their bounds."""
    n_iter: int
    """Steps from the best start."""
    n_evaluations: int
    """How often evidence and slopes were computed, from all starts."""
    seconds: float
    """Wall-clock time."""
    evidences: np.ndarray = field(repr=False)
    """The log evidence reached from every start, shape (n_restarts_optimizer + 1,)."""


class Assessed(NamedTuple):
    """The log evidence at some parameters, and how it changes with their logarithms."""

    log_evidence: float
    slopes: dict[str, Any]
    """Derivatives by the logarithms of all parameters, shaped as they are."""
    roots: dict[str, np.ndarray] | None = None
    """One row for each entry of each parameter: the inner products of two rows are about minus the second derivative.
    None where that is not known."""


Evidence = Callable[[dict[str, Any]], Assessed]


class Optimize:
    """True, False or a list of names."""

    @staticmethod
    def problem(value: Any) -> str | None:
        """What is wrong with the value, None when nothing is."""
        listed = isinstance(value, (list, tuple)) and value and all(isinstance(name, str) for name in value)
        if isinstance(value, (bool, np.bool_)) or listed:
            return None
        return f"must be True, False or a list of names of parameters, got {value!r}."


class Bounds:
    """A factor, or ranges by name."""

    @staticmethod
    def problem(value: Any) -> str | None:
        """What is wrong with the value, None when nothing is."""
        rule = Number(0, above=True)
        if isinstance(value, dict):
            for name, pair in value.items():
                if np.shape(pair) != (2,) or any(rule.problem(end) for end in pair) or not pair[0] < pair[1]:
                    return f"must have 0 < low < high for {name!r}, got {pair!r}."
            return None
        if isinstance(value, str) or Number(1, above=True).problem(value):
            return f"must be a factor > 1 or a dict from names to (low, high), got {value!r}."
        return None


class Prior:
    """The kernel matrix of the training samples, at any parameters of the kernel.

    Parameters
    ----------
    kernel : Kernel or None
        Resolved. None: X is the kernel matrix.
    X : n samples
        In float64 if vectors.
    """

    def __init__(self, kernel: Kernel | None, X: Any):
        self.kernel, self.X = kernel, X
        self._fixed = np.ascontiguousarray(X) if kernel is None else None

    def fix(self) -> None:
        """The parameters of the kernel will not change: the matrix is computed once."""
        if self.kernel is not None:
            self._fixed = np.asarray(self.kernel(self.X), dtype=np.float64)

    def at(self, values: dict[str, Any]) -> Any:
        """The kernel with other parameters, named as an estimator knows them."""
        found = {name.removeprefix("kernel__"): v for name, v in values.items() if name.startswith("kernel__")}
        return clone(self.kernel).set_params(**found) if found else self.kernel

    def matrix(self, values: dict[str, Any]) -> np.ndarray:
        """The matrix, for the caller to overwrite; kernels with parameters make a new one whenever they are called."""
        if self._fixed is not None:
            return self._fixed.copy()
        return np.ascontiguousarray(self.at(values)(self.X), dtype=np.float64)

    def slopes(self, values: dict[str, Any], M: np.ndarray) -> dict[str, Any]:
        """sum_ij M_ij dK_ij / dlog p of all parameters p of the kernel among the values."""
        if not any(name.startswith("kernel__") for name in values):
            return {}
        found = {f"kernel__{name}": slope for name, slope in self.at(values).vjp(self.X, M).items()}
        return {name: found[name] * np.asarray(value) for name, value in values.items() if name in found}

    def changes(self, values: dict[str, Any], V: np.ndarray, KV: np.ndarray) -> dict[str, list[np.ndarray]]:
        """dK / dlog p V for all entries of the parameters p of the kernel among the values: differences to KV = K V."""
        tuned = {name: value for name, value in values.items() if name.startswith("kernel__")}
        if not tuned:
            return {}
        packed = Packed.of(tuned)
        low, high = limits(packed, NEARBY, self.kernel)
        found: dict[str, list[np.ndarray]] = {name: [] for name in tuned}
        for name, part in packed.parts.items():
            for k in range(part.start, part.stop):
                theta = packed.start.copy()
                theta[k] = low[k] if low[k] < theta[k] else high[k]
                product = self.at(packed.values(theta)).dot(self.X, self.X, V)
                found[name].append((product - KV) / (theta[k] - packed.start[k]))
        return found


class GaussianProcess(KernelMachine):
    """Base of the Gaussian processes: f ~ GP(0, amplitude * k), with parameters that maximise the evidence."""

    _parameters = {  # noqa: RUF012
        "amplitude": Number(0, above=True),
        "optimize": Optimize(),
        "bounds": Bounds(),
        "n_restarts_optimizer": Number(0, integer=True),
        "max_iter": Number(1, integer=True),
        "tol": Number(0, above=True),
    }

    optimize: Any
    bounds: Any
    n_restarts_optimizer: int
    max_iter: int
    tol: float
    random_state: Any
    amplitude_: float

    def _check_all(self) -> None:
        super()._check_all()
        check_random_state(self.random_state)

    # --- samples in ---------------------------------------------------------------------------------------

    def _make_prior(self, X: Any, weight: np.ndarray) -> Prior:
        """The prior over the samples of positive weight; resolves the kernel."""
        used = np.flatnonzero(weight)
        if self._precomputed:
            return Prior(None, np.asarray(self._make_gram(X, weight).square(used)))
        self.kernel_ = as_kernel(self.kernel).resolve(X, weight)
        return Prior(self.kernel_, X if len(used) == len(weight) else take(X, used))

    def _take_samples(self, X: Any, y: Any = "no_validation", **check_y: Any) -> Any:
        found = super()._take_samples(X, y, **check_y)
        return in_float64(found) if isinstance(y, str) else (in_float64(found[0]), found[1])

    def _check_new(self, X: Any) -> Any:
        return in_float64(super()._check_new(X))

    # --- the parameters -----------------------------------------------------------------------------------

    def _maximize(self, evidence: Evidence, prior: Prior, given: dict[str, float], size: float) -> dict[str, Any]:
        """All parameters, those to be tuned where the evidence is largest; keeps how that was found."""
        began = time.perf_counter()
        chosen = self._to_tune(given, prior)
        if not any(name.startswith("kernel__") for name in chosen):
            prior.fix()
        if not chosen:
            self.result_ = EvidenceResult("given", np.nan, 0.0, (), 0, 1, 0.0, np.empty(0))
            self._keep_parameters(given)
            return dict(given)
        packed = Packed.of(chosen)
        low, high = self._limits(packed, prior)
        objective = Objective(evidence, given, packed, size)
        curved = objective.curved(packed.start)[2] is not None
        rng = check_random_state(self.random_state)
        starts = [packed.start, *(rng.uniform(low, high) for _ in range(self.n_restarts_optimizer))]
        how = (
            partial(descend_curved, objective.curved)
            if curved
            else partial(descend, objective, smallest_step=SMALLEST_STEP)
        )
        ends = [how(start, low, high, tol=self.tol, max_iter=self.max_iter) for start in starts]
        best = min(ends, key=lambda end: end.value)
        values = given | packed.values(best.theta)
        self._keep_parameters(values)
        if prior.kernel is not None:
            self.kernel_ = prior.at(values)
        self.result_ = EvidenceResult(
            status=best.status,
            log_marginal_likelihood=-best.value * size,
            stationarity=best.stationarity,
            at_limit=tuple(name for name, part in packed.parts.items() if best.stopped[part].any()),
            n_iter=best.n_iter,
            n_evaluations=objective.n_evaluations,
            seconds=time.perf_counter() - began,
            evidences=np.array([-end.value * size for end in ends]),
        )
        return values

    def _conclude(self, log_evidence: float) -> None:
        """The evidence of what is kept; a warning where it could be larger."""
        self.log_marginal_likelihood_ = float(log_evidence)
        self.result_ = replace(self.result_, log_marginal_likelihood=self.log_marginal_likelihood_)
        if self.result_.status in REMEDIES:
            warn_caller(
                f"{type(self).__name__} did not reach a stationary point of the evidence (status "
                f"{self.result_.status}): the slope is {self.result_.stationarity:.3g} after {self.result_.n_iter} "
                f"steps. {REMEDIES[self.result_.status]}.",
                ConvergenceWarning,
            )

    @property
    def n_iter_(self) -> int:
        """How often the evidence was computed."""
        check_is_fitted(self, "result_")
        return self.result_.n_evaluations

    def _keep_parameters(self, values: dict[str, Any]) -> None:
        for name, value in values.items():
            if not name.startswith("kernel__"):
                setattr(self, f"{name}_", value)

    def _to_tune(self, given: dict[str, float], prior: Prior) -> dict[str, Any]:
        """The parameters to tune, at their start."""
        if self.optimize is False:
            return {}
        possible: dict[str, Any] = dict(given)
        if prior.kernel is not None:
            possible |= {f"kernel__{name}": v for name, v in smooth_parameters(prior.kernel, prior.X).items()}
        if isinstance(self.optimize, (bool, np.bool_)):
            return {name: value for name, value in possible.items() if self.optimize and np.min(value) > 0}
        for name in self.optimize:
            if name not in possible:
                raise ValueError(f"optimize must name parameters out of {', '.join(possible)}, got {name!r}.")
            if np.min(possible[name]) <= 0:
                raise ValueError(f"{name} must start > 0 to be tuned in its logarithm, got {possible[name]!r}.")
        return {name: possible[name] for name in self.optimize}

    def _limits(self, packed: Packed, prior: Prior) -> tuple[np.ndarray, np.ndarray]:
        """The logarithms of the least and the largest values."""
        ranges = self.bounds if isinstance(self.bounds, dict) else {}
        if unknown := [name for name in ranges if name not in packed.parts]:
            raise ValueError(f"bounds must be for parameters that are tuned, got {unknown[0]!r}.")
        low, high = limits(packed, FACTOR if isinstance(self.bounds, dict) else self.bounds, prior.kernel)
        for name, pair in ranges.items():
            part = packed.parts[name]
            low[part], high[part] = np.log(np.asarray(pair, dtype=np.float64))
            if (packed.start[part] < low[part]).any() or (packed.start[part] > high[part]).any():
                raise ValueError(f"bounds must have the start of {name!r} between them, got {tuple(pair)!r}.")
        return low, high

    # --- new samples --------------------------------------------------------------------------------------

    def _compared_in_blocks(self, X: Any) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Rows of new samples, their prior covariances with the training samples, and their prior variances."""
        check_is_fitted(self)
        if self._precomputed:
            raise ValueError(
                "The spread needs the kernel of new samples with themselves, which kernel='precomputed' does not have; "
                "use Indexed."
            )
        X, Y = self.kernel_.prepare(self._check_new(X), self.support_vectors_)
        for rows in row_blocks(n_samples(X), n_samples(Y)):
            part = take(X, rows)
            yield (
                rows,
                self.amplitude_ * np.asarray(self.kernel_._matrix(part, Y), dtype=np.float64),
                self.amplitude_ * np.asarray(self.kernel_._diag(part), dtype=np.float64),
            )


class Objective:
    """Minus the log evidence per sample, with its derivatives in the logarithms of the parameters that are tuned."""

    def __init__(self, evidence: Evidence, given: dict[str, Any], packed: Packed, size: float):
        self.evidence, self.given, self.packed, self.size = evidence, given, packed, size
        self.n_evaluations = 0
        self._last: tuple[bytes, Any] = (b"", None)
        at_start = self.curved(packed.start)[0]  # a prior that does not work is refused, not avoided
        self.wall = at_start + WALL * (1 + abs(at_start))

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """The value and its gradient; a wall where the matrix has no factor."""
        value, slope, _ = self.curved(theta)
        return (value, slope) if value < np.inf else (self.wall, np.zeros(len(theta)))

    def curved(self, theta: np.ndarray) -> tuple[float, np.ndarray, Any]:
        """The value, its gradient and about its Hessian, None if that is not known; infinite without a factor."""
        if self._last[0] != theta.tobytes():
            self._last = theta.tobytes(), self._at(theta)
            self.n_evaluations += 1
        return self._last[1]

    def _at(self, theta: np.ndarray) -> tuple[float, np.ndarray, Any]:
        try:
            found = self.evidence(self.given | self.packed.values(theta))
        except IndefiniteError:
            if self.n_evaluations == 0:
                raise
            return np.inf, np.full(len(theta), np.nan), None
        slope = np.concatenate([np.atleast_1d(found.slopes[name]) for name in self.packed.parts])
        curvature = None
        if found.roots is not None:
            roots = np.concatenate([found.roots[name] for name in self.packed.parts])
            curvature = roots @ roots.T / self.size
        return -found.log_evidence / self.size, -slope / self.size, curvature


def in_float64(X: Any) -> Any:
    """Vectors of single precision in double; whatever else as it is."""
    return X.astype(np.float64) if getattr(X, "dtype", None) == np.float32 else X
