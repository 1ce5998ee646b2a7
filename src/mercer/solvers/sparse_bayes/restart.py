"""Other starts, for searches that have ended with next to nothing."""

from copy import copy
from dataclasses import replace

import numpy as np

from mercer.solvers.sparse_bayes.models import GaussianModel, LaplaceModel, Weights
from mercer.solvers.sparse_bayes.run import Run
from mercer.solvers.sparse_bayes.sequential import climb

__all__ = ["climb_from_many"]

# A model of fewer basis functions may be a trap.
FEW = 8
# How many others have to begin with, chosen among those that say most of the targets, at most so many values of them.
MANY, VALUES = 50, 1 << 22
# Their precisions as parts of what the data say of the weights, a start each.
LOOSE = (1e-6, 1e-9)


def climb_from_many(model: GaussianModel | LaplaceModel, weights: Weights, beta: float, run: Run) -> Weights:
    """The best of a model and of where climbs from many basis functions of large variance lead.

    Wide basis functions are nearly the same: the targets are in their differences, of which no single one says
    anything, so that a climb from one of them ends at once. From many it goes down to few. A model that is not small
    has found its way, and is left alone. The noise begins with the precision beta.
    """
    if run.status or len(weights.members) >= FEW:
        return weights
    members, rows = _spread(model)
    if len(members) <= len(weights.members):
        return weights
    best, best_beta = weights, model.beta
    for loose in LOOSE:
        another = _within(run)
        model.beta = beta
        other = climb(model, model.at(members, rows, loose * model.information(members)), another)
        run.n_iter, run.jitter, run.status = another.n_iter, another.jitter, another.status
        if other.value > best.value:
            best, best_beta = other, model.beta
        known = run.records[-1][1]
        run.record(best.value, "restart", len(best.members), 0)
        at, value, kind, size = run.records[-1]
        run.records[-1] = (at, max(value, known), kind, size)  # the same value, up to rounding
        if run.status:
            break
    model.beta = best_beta
    return best


def _within(run: Run) -> Run:
    """A run within the limits of another, records of its own; who watches is told of no value below the known one."""
    inner, tell, known = copy(run), run.callback, run.records[-1][1]
    inner.records = []
    if tell is not None:
        inner.callback = lambda progress: tell(replace(progress, objective=max(progress.objective, known)))
    return inner


def _spread(model: GaussianModel | LaplaceModel) -> tuple[np.ndarray, np.ndarray]:
    """Basis functions that say much of the targets, with large parts outside the span of those before them.

    By pivoted Cholesky factors. The order of the samples does not matter, but for ties.
    """
    g, _, Q = model.screen(None)
    usable = np.flatnonzero(g > 0)
    strength = np.square(Q[usable]) / g[usable]
    size = max(MANY, VALUES // model.problem.design.n)
    order = np.sort(np.argsort(-strength, kind="stable")[:size])
    among, strength = usable[order], np.maximum(strength[order], np.finfo(float).tiny)
    rows = model.rows(among) * np.sqrt(model.problem.weight)
    outside = np.square(rows).sum(axis=1)
    least = 1e-10 * outside.max()
    chosen: list[int] = []
    span = np.empty((0, rows.shape[1]))
    while len(chosen) < min(MANY, len(among)) and outside.max() > least:
        best = int((outside * strength).argmax())  # they have unit norm: parts alone would leave the first to chance
        rest = rows[best] - (span @ rows[best]) @ span
        span = np.vstack([span, rest / np.linalg.norm(rest)])
        outside -= np.square(rows @ span[-1])
        outside[best] = 0.0
        chosen.append(best)
    at = np.sort(np.array(chosen))
    return among[at], model.rows(among[at])
