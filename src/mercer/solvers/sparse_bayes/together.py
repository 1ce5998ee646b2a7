"""All precisions at once: the re-estimation equations and the EM algorithm."""

import numpy as np

from mercer.solvers.sparse_bayes.models import GaussianModel, LaplaceModel, Weights
from mercer.solvers.sparse_bayes.run import Run

__all__ = ["iterate"]

# A precision of so many times what the data say of the weight is infinite.
INFINITE = 1e10
# The evidence may fall by this part of itself through rounding.
ROUNDING = 1e-12


def iterate(model: GaussianModel | LaplaceModel, start: Weights, run: Run, *, by_expectation: bool) -> Weights:
    """Iterate to where no slope of the log evidence in the logarithm of a precision is larger than the tolerance.

    The re-estimation equations alpha = gamma / mean^2 [B eqs 7.87-7.89, 7.116] are not bound to raise the evidence;
    where they do not, and with `by_expectation` always, the step is that of the EM algorithm, alpha = 1 / (mean^2 +
    variance), which is. With a prior, [B exercise 7.13].
    """
    weights, rows = start, model.rows(start.members)
    while True:
        run.worst = float(np.abs(weights.slopes(model.problem.precision_prior)).max())
        if run.over(weights.value):
            break
        before = weights.value
        moved, expected = _moved(model, weights, rows, by_expectation), by_expectation
        if moved.value < before - ROUNDING * abs(before) and not by_expectation:
            moved, expected = _moved(model, weights, rows, True), True
        if moved.value < before - ROUNDING * abs(before):  # Laplace's approximation changes with the mode
            break
        weights = moved
        run.note_jitter(weights.jitter)
        run.record(max(weights.value, before), "expectation" if expected else "re-estimate", len(weights.members))
        kept = weights.alpha < INFINITE * model.information(weights.members)
        if not kept.all():
            if not kept.any():
                kept[np.argmin(weights.alpha)] = True
            fewer = model.at(weights.members[kept], rows[kept], weights.alpha[kept], weights.mean[kept])
            if fewer.value >= weights.value - ROUNDING * abs(weights.value):
                weights, rows = fewer, rows[kept]
        if run.worst <= run.tol:
            break
    return weights


def _moved(model: GaussianModel | LaplaceModel, weights: Weights, rows: np.ndarray, by_expectation: bool) -> Weights:
    """The posterior at the next precisions; the noise moves too, but stays if the evidence falls."""
    prior, variances = model.problem.precision_prior, weights.variances
    squares = np.square(weights.mean)
    if by_expectation:
        counted, squares = np.ones(len(squares)), squares + variances
    else:
        counted = np.maximum(1.0 - weights.alpha * variances, np.finfo(float).eps)
    tiny = np.finfo(float).tiny
    alpha = np.minimum((counted + 2 * prior.shape) / np.maximum(squares + 2 * prior.rate, tiny), 1 / np.sqrt(tiny))
    noise = model.beta
    model.improve_noise(weights, rows, by_expectation=by_expectation)
    moved = model.at(weights.members, rows, alpha, weights.mean)
    if moved.value < weights.value - ROUNDING * abs(weights.value):
        model.beta = noise
    return moved
