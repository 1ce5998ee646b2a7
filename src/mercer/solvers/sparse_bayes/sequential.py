"""Sequential sparse Bayesian learning: one precision at a time, to where the evidence is largest in it."""

from itertools import count
from typing import Any

import numpy as np

from mercer.solvers.sparse_bayes.analysis import best_precision
from mercer.solvers.sparse_bayes.models import GaussianModel, LaplaceModel, Weights
from mercer.solvers.sparse_bayes.posterior import OUTSIDE
from mercer.solvers.sparse_bayes.run import Run

__all__ = ["climb"]

# Basis functions that are looked at step by step: so many at least, more of few samples; for classes, where every mode
# asks for their products anew, fewer if few are worth it. All are looked at when nothing is left to do among these.
WORKING_SET, NEAR_SET = 512, 256
# Most steps on one Gaussian that stands for the likelihood of classes.
LARGEST_BATCH = 16
# A round among some of the candidates ends when it brings less than this part of what it has brought.
EARLY = 0.02
# Most steps of one precision before one of all.
BATCH = 16
# Additions that bring less than this part of the best of a batch wait: they may not be worth it afterwards.
LEAST_PART = 0.1


def climb(model: GaussianModel | LaplaceModel, start: Weights | None, run: Run) -> Weights:
    """Sequential steps until none, over all candidates, makes the log evidence larger by more than the tolerance."""
    climb_among: Any = _climb_gaussian if isinstance(model, GaussianModel) else _climb_laplace
    weights, enough = start, EARLY
    for round_ in count():
        g, S, Q = model.screen(weights)
        outside = S > OUTSIDE * g
        if weights is not None:
            outside[weights.members] = False
        s, q = np.where(outside, S, 1.0), np.where(outside, Q, 0.0)
        alpha, gain = best_precision(s, q, model.problem.precision_prior)
        if weights is None:
            weights = _first(model, g, Q, alpha, gain, run)
            outside[weights.members] = False
        elif round_ and gain.max() <= run.tol:
            if enough == 0.0:
                return weights
            enough = 0.0  # what is in the model may not have come to its end
        chosen = np.flatnonzero(outside)
        size = _working_size(model)
        if len(chosen) > size:  # by q^2 / s, which tells those that are nearly worth it from others that are not
            if isinstance(model, LaplaceModel):
                size = min(size, max(NEAR_SET, 2 * int(np.count_nonzero(gain > run.tol))))
            promise = np.square(q[chosen]) / s[chosen]
            chosen = np.sort(chosen[np.argsort(-promise, kind="stable")[:size]])
        whole = len(chosen) == np.count_nonzero(outside)
        before, run.worst = weights.value, float(gain.max(initial=0.0))
        weights = climb_among(model, weights, chosen, run, 0.0 if whole else enough)
        if run.status or whole:
            return weights
        if weights.value <= before:  # what the best of all promised was not there
            if enough == 0.0:
                return weights
            enough = 0.0
    raise AssertionError("the rounds end by themselves")


def _working_size(model: GaussianModel | LaplaceModel) -> int:
    """How many basis functions, beside those of the model, are held in memory to be looked at step by step."""
    design = model.problem.design
    return max(WORKING_SET if design.in_memory else NEAR_SET // 2, design.at_once // design.n)


def _first(model, g: np.ndarray, Q: np.ndarray, alpha: np.ndarray, gain: np.ndarray, run: Run) -> Weights:
    """A model of one basis function: the best; if none is good, the most aligned one, of little weight."""
    best = int(gain.argmax())
    if gain[best] <= 0.0:
        best = int(np.argmax(np.square(Q) / np.maximum(g, np.finfo(float).tiny)))
        alpha[best] = max(g[best], np.finfo(float).tiny)
    member = np.array([best])
    weights = model.at(member, model.rows(member), alpha[member])
    run.record(weights.value, "start", 1)
    return weights


def _climb_gaussian(model: GaussianModel, weights: Weights, chosen: np.ndarray, run: Run, enough: float) -> Weights:
    """Steps among what is in the model and some other candidates."""
    candidates, n_members = np.concatenate([weights.members, chosen]), len(weights.members)
    posterior = model.posterior(candidates, n_members)
    posterior.set(np.arange(n_members), weights.alpha)
    one_by_one = False
    while not run.over(posterior.value):
        before = posterior.members, posterior.alpha, posterior.value, model.beta
        first = 0.0
        steps: list[tuple[float, str, int]] = []
        for _ in range(1 if one_by_one else max(BATCH, posterior.m // 8)):
            step = posterior.best_step()
            run.worst = max(step.gain, first)
            if step.gain <= max(run.tol, LEAST_PART * first):
                break
            first = max(first, step.gain)
            posterior.take(step)
            steps.append((posterior.value, "add" if step.is_addition else "remove", posterior.m))
        posterior.improve()
        if posterior.value - before[2] <= run.tol:
            posterior.improve_one()
        gain = posterior.value - before[2]
        if gain < 0.0:  # what the steps seemed to bring was rounding
            run.note_jitter(posterior.jitter)
            model.beta = before[-1]
            posterior = model.posterior(candidates, n_members)
            posterior.set(*before[:2])
            posterior.value = before[2]
            if one_by_one or len(steps) < 2:
                break
            one_by_one = True
            continue
        for value, kind, size in steps:
            run.record(min(max(value, before[2]), posterior.value), kind, size)
        run.record(posterior.value, "re-estimate", posterior.m)
        little = gain <= max(run.tol, enough * (posterior.value - weights.value))
        if little and (steps or enough or posterior.best_step().gain <= run.tol):
            break
    members = candidates[posterior.members]
    run.note_jitter(posterior.jitter)
    return model.at(members, model.rows(members), posterior.alpha)


def _climb_laplace(model: LaplaceModel, weights: Weights, chosen: np.ndarray, run: Run, enough: float) -> Weights:
    """Some steps on the Gaussian at the mode, then the mode anew; what does not raise the evidence is taken back."""
    candidates = np.concatenate([weights.members, chosen])
    rows = model.rows(candidates)
    place = {int(c): i for i, c in enumerate(candidates)}
    barred = np.zeros(len(candidates), dtype=bool)
    began, batch = weights.value, 1
    while not run.over(weights.value):
        inside = np.array([place[int(c)] for c in weights.members])
        posterior = model.posterior(candidates, rows, inside, weights)
        steps: list[int] = []
        while len(steps) < batch:
            step = posterior.best_step(barred)
            run.worst = step.gain if not steps else run.worst
            if step.gain <= run.tol:
                break
            posterior.take(step)
            steps.append(step.candidate)
        # A single step is tried alone, so that it can be told whether it is to be barred.
        expected = posterior.improve() if len(steps) != 1 else np.inf
        if not steps and expected <= run.tol:
            break
        order = np.argsort(posterior.members, kind="stable")
        at = posterior.members[order]
        new = model.at(candidates[at], rows[at], posterior.alpha[order], posterior.mean[order])
        gain = new.value - weights.value
        if gain > 0.0:
            weights = new
            barred[:] = False
            run.record(weights.value, "steps" if steps else "re-estimate", len(at), max(len(steps), 1))
            if gain <= run.tol:
                barred[steps] = True
                if not steps:
                    break
            elif gain <= enough * (weights.value - began):
                break
            batch = min(2 * batch, max(LARGEST_BATCH, len(at) // 8))
        elif not steps:
            break
        else:
            if len(steps) == 1:
                barred[steps] = True
            batch = max(1, len(steps) // 4)
    run.note_jitter(weights.jitter)
    return weights
