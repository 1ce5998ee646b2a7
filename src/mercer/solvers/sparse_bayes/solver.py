"""The solver of sparse Bayesian learning, and its result."""

from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from math import frexp
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from mercer.parameters import Choice, Number, check_parameters
from mercer.problems.sparse_bayes import Gamma, SparseBayesProblem
from mercer.solvers.base import Callback
from mercer.solvers.sparse_bayes.analysis import best_precision
from mercer.solvers.sparse_bayes.models import GaussianModel, LaplaceModel, Weights, make_model
from mercer.solvers.sparse_bayes.posterior import OUTSIDE
from mercer.solvers.sparse_bayes.restart import climb_from_many
from mercer.solvers.sparse_bayes.run import Run
from mercer.solvers.sparse_bayes.sequential import climb
from mercer.solvers.sparse_bayes.together import iterate
from mercer.threads import one_blas_thread

__all__ = ["EvidenceHistory", "SparseBayes", "SparseBayesResult"]

# Sequential steps, and designs of so many values, leave one thread to BLAS: more would wait for each other most of the
# time, those of NumPy's BLAS and of SciPy's for the same cores.
SMALL = 1 << 22


@dataclass(frozen=True, eq=False)
class EvidenceHistory:
    """The accepted steps of a run, one entry of each array per step."""

    iteration: np.ndarray
    """How many steps had been made."""
    log_evidence: np.ndarray
    """The log evidence then, plus the log densities of the precisions where they have a prior; it never falls."""
    kind: np.ndarray
    """What the step was: "start", "add", "remove", "re-estimate", "expectation"; "steps" is several,
    "restart" the better of what there was and what another start led to."""
    size: np.ndarray
    """How many weights the model had."""

    def __len__(self) -> int:
        return len(self.iteration)


@dataclass(frozen=True, eq=False)
class SparseBayesResult:
    """Where the search for the largest evidence ended."""

    status: str
    """"local": no step was found that makes the log evidence larger by more than `tol`; else why it stopped before:
    "max_iter", "max_seconds", "stopped"."""
    log_evidence: float
    """The logarithm of the evidence (Laplace's approximation of it for classes)."""
    violation: float
    """By how much the log evidence could still grow by changing one precision alone, or by adding or removing one basis
    function; for classes as the Gaussian at the mode estimates it. Larger than `tol` where rounding hides whether a
    step is one, as for values without noise."""
    stationarity: float
    """The largest slope of the log evidence in the logarithm of a precision in the model; for classes without what the
    mode contributes [B eq 7.115]."""
    n_iter: int
    """Steps."""
    seconds: float
    """Wall-clock time."""
    jitter: float
    """What was added to the diagonal of a matrix, as a part of it, to factorise it; zero as a rule."""
    noise: float | None
    """The variance of the noise; None for classes."""
    at_limit: bool
    """Whether the noise would have gone further: the data have none, as far as float64 can tell."""
    n_weights: int
    """How many weights the model could have."""
    members: np.ndarray = field(repr=False)
    """The weights in the model: number k m + i is that of basis function i in function k."""
    alpha: np.ndarray = field(repr=False)
    """Their precisions."""
    mean: np.ndarray = field(repr=False)
    """Their means (for classes the mode)."""
    covariance: np.ndarray = field(repr=False)
    """Their covariance."""
    history: EvidenceHistory = field(repr=False)
    """The way there."""


class SparseBayes(BaseEstimator):
    r"""Maximise the evidence of a linear model over the precision of every weight.

    Sequential (the default): basis functions enter the model or leave it one at a time, whichever makes the evidence
    largest [B §7.2.2], by updates of rank one; after some such steps all precisions in the model, and that of the
    noise, take a damped Newton step together, in place of the re-estimation of one after the other. Of many candidates,
    those that promise most are looked at step by step, and all of them when nothing is left to do among these. For
    classes the steps are made on the Gaussian that stands for the likelihood at the mode, and taken back where the
    evidence has not grown. Wide basis functions say nothing one by one: where a search ends with few, others follow
    that begin with many, and the best model is kept.

    Parameters
    ----------
    algorithm : {"sequential", "reestimation", "em"}, default="sequential"
        "reestimation": the equations [B eqs 7.87-7.89] for all basis functions at once; "em": the EM algorithm. Both
        begin with all basis functions and take O(m^3) a step for m of them.
    tol : float > 0, default=0.01
        The least growth of the log evidence that is worth a step; for the other algorithms, the largest slope in the
        logarithm of a precision.
    max_iter : int >= 1, default=100000
        Most steps.
    max_seconds : float > 0 or None, default=None
        Most seconds.

    See Also
    --------
    mercer.problems.SparseBayesProblem : What it solves.

    Notes
    -----
    Sequential: O(n m) for every look at all m candidates, times the size r of the model, and O(p r) for a step among p
    of them. Not convex: the result is a local maximum, of which there can be many.

    References
    ----------
    .. [1] C. M. Bishop, Pattern Recognition and Machine Learning, 2006, section 7.2.
    .. [2] M. E. Tipping, A. C. Faul, Fast marginal likelihood maximisation for sparse Bayesian models, 2003.
    .. [3] M. E. Tipping, Sparse Bayesian learning and the relevance vector machine, 2001.

    Examples
    --------
    One of two basis functions is the target:

    >>> import numpy as np
    >>> from mercer.gram import MatrixDesign
    >>> from mercer.problems import SparseBayesProblem
    >>> from mercer.solvers import SparseBayes
    >>> rng = np.random.default_rng(0)
    >>> design = rng.normal(size=(2, 50))
    >>> t = 2 * design[1] + 0.1 * rng.normal(size=50)
    >>> result = SparseBayes().solve(SparseBayesProblem(MatrixDesign(design), t[:, np.newaxis], np.ones(50)))
    >>> result.status, result.members, result.mean.round(2)
    ('local', array([1]), array([2.01]))
    """

    _parameters: ClassVar[dict[str, Any]] = {
        "algorithm": Choice("sequential", "reestimation", "em"),
        "tol": Number(0, above=True),
        "max_iter": Number(1, integer=True),
        "max_seconds": Number(0, above=True, none=True),
    }

    def __init__(self, algorithm="sequential", *, tol=0.01, max_iter=100_000, max_seconds=None):
        self.algorithm = algorithm
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds

    def solve(
        self,
        problem: SparseBayesProblem,
        start: SparseBayesResult | np.ndarray | None = None,
        callback: Callback | None = None,
    ) -> SparseBayesResult:
        """The precisions, and the posterior there.

        Parameters
        ----------
        problem : SparseBayesProblem
        start : SparseBayesResult, array of shape (n_weights,) or None, default=None
            Where to begin: another result, or precisions, infinite for those that are not in the model. None: with one
            basis function (sequential), or with all of them.
        callback : callable or None, default=None
            Told about the progress; it stops the run by returning True.

        Returns
        -------
        SparseBayesResult
        """
        check_parameters(self)
        alone = self.algorithm == "sequential" or problem.design.n * problem.design.m <= SMALL
        with one_blas_thread() if alone else nullcontext():
            return self._solve(problem, start, callback)

    def _solve(
        self, problem: SparseBayesProblem, start: SparseBayesResult | np.ndarray | None, callback: Callback | None
    ) -> SparseBayesResult:
        unit = _unit(problem)
        shift = -float(problem.weight.sum()) * np.log(unit)
        run = Run(self.tol, self.max_iter, self.max_seconds, callback, shift)
        model = make_model(_in_units(problem, unit))
        if not model.scale.any():
            raise ValueError("All basis functions are zero on all samples: there is nothing to learn from.")
        first = self._start(model, start, unit)
        if first is not None:
            run.record(first.value, "start", len(first.members), 0)
            run.note_jitter(first.jitter)
        if self.algorithm == "sequential":
            beta = model.beta
            weights = climb(model, first, run)
            if first is None:
                weights = climb_from_many(model, weights, beta, run)
        else:
            assert first is not None
            weights = iterate(model, first, run, by_expectation=self.algorithm == "em")
        run.settle(weights.value)
        return self._conclude(model, weights, run, unit)

    def _start(self, model: GaussianModel | LaplaceModel, start: Any, unit: float) -> Weights | None:
        problem, n_functions = model.problem, model.problem.n_functions
        scale = np.tile(model.scale, n_functions)
        usable = scale > 0
        if start is None:
            if self.algorithm == "sequential":
                return None
            # The variance of the functions is that of the targets, spread over all basis functions.
            signal = model.tt or 1.0 if isinstance(model, GaussianModel) else float(problem.weight.sum())
            alpha = np.full(problem.n_weights, np.inf)
            squares = np.tile(model.squares, n_functions)[usable] / np.square(scale[usable])
            alpha[usable] = np.count_nonzero(usable) / n_functions * squares / signal
        elif isinstance(start, SparseBayesResult):
            alpha = np.full(problem.n_weights, np.inf)
            alpha[start.members] = start.alpha * unit**2
            if isinstance(model, GaussianModel) and start.noise is not None and problem.noise is None:
                model.beta = float(np.clip(unit**2 / start.noise, *model.noise.limits))
        else:
            alpha = np.array(start, dtype=np.float64)
            if alpha.shape != (problem.n_weights,) or not (alpha > 0).all():
                raise ValueError(f"start must be {problem.n_weights} precisions > 0, got {start!r}.")
            alpha *= unit**2
        members = np.flatnonzero(usable & np.isfinite(alpha))
        if not len(members):
            return None
        return model.at(members, model.rows(members), alpha[members] * np.square(scale[members]))

    def _conclude(
        self, model: GaussianModel | LaplaceModel, weights: Weights, run: Run, unit: float
    ) -> SparseBayesResult:
        problem = model.problem
        order = np.argsort(weights.members, kind="stable")
        scale = unit * np.tile(model.scale, problem.n_functions)[weights.members[order]]
        violation = 0.0
        if len(weights.members) > 1:  # one always stays
            violation = weights.largest_gain(problem.precision_prior, model.information(weights.members))
        if self.algorithm == "sequential":
            g, S, Q = model.screen(weights)
            outside = S > OUTSIDE * g
            outside[weights.members] = False
            gains = best_precision(S[outside], Q[outside], problem.precision_prior)[1]
            violation = max(violation, float(gains.max(initial=0.0)))
        with np.errstate(over="ignore"):
            alpha = np.square(np.sqrt(weights.alpha[order]) / scale)
        if not (np.isfinite(alpha) & (alpha > 0)).all():
            raise ValueError(
                "The precisions of the weights leave float64: bring values and basis functions nearer to 1."
            )
        iteration, values, kinds, sizes = zip(*run.records, strict=True)
        noise = unit**2 / model.beta if isinstance(model, GaussianModel) else None
        return SparseBayesResult(
            status=run.status or "local",
            log_evidence=float(model.evidence(weights) + run.shift),
            violation=violation,
            stationarity=float(np.abs(weights.slopes(problem.precision_prior)).max()),
            n_iter=run.n_iter,
            seconds=run.seconds,
            jitter=run.jitter,
            noise=noise,
            at_limit=isinstance(model, GaussianModel) and model.noise.learnt and model.beta >= model.noise.limits[1],
            n_weights=problem.n_weights,
            members=weights.members[order],
            alpha=alpha,
            mean=weights.mean[order] * scale,
            covariance=weights.covariance[np.ix_(order, order)] * np.outer(scale, scale),
            history=EvidenceHistory(np.array(iteration), np.array(values), np.array(kinds), np.array(sizes)),
        )


# Precisions of values larger than this, or smaller than its inverse, leave the range of float64.
LARGEST = 1e120
# The least variance of the noise that may be given, as a part of the square of the largest value.
LEAST_GIVEN_NOISE = 1e-14


def _unit(problem: SparseBayesProblem) -> float:
    """The power of two next to the largest value: in these units nothing can leave the range of float64."""
    if problem.likelihood != "gaussian":
        return 1.0
    largest = float(np.abs(problem.targets).max())
    if largest and not 1 / LARGEST <= largest <= LARGEST:
        raise ValueError(
            f"The values must be zero or have a largest one between {1 / LARGEST:g} and {LARGEST:g}, got {largest:.3g}."
        )
    if problem.noise is not None and problem.noise < LEAST_GIVEN_NOISE * largest**2:
        raise ValueError(
            f"noise must be at least {LEAST_GIVEN_NOISE:g} of the square of the largest value, {largest:.3g}, "
            f"or float64 cannot tell it from none; got {problem.noise:.3g}."
        )
    return 2.0 ** frexp(largest)[1]


def _in_units(problem: SparseBayesProblem, unit: float) -> SparseBayesProblem:
    """The same problem for targets in units."""
    if unit == 1.0:
        return problem
    return replace(
        problem,
        targets=problem.targets / unit,
        noise=None if problem.noise is None else problem.noise / unit**2,
        precision_prior=Gamma(problem.precision_prior.shape, problem.precision_prior.rate / unit**2),
        noise_prior=Gamma(problem.noise_prior.shape, problem.noise_prior.rate / unit**2),
    )
