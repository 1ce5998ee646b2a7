"""Multipliers of several classes at once whose coefficients add up to zero, as the offsets ask for."""

import numpy as np
from scipy.sparse import csr_array

from mercer.problems.joint import JointProblem
from mercer.sums import inner

__all__ = ["balanced", "likely_offsets"]

# What sums may be off by, as a part of all coefficients: rounding.
ROUNDING = 64.0 * np.finfo(float).eps
ROUNDS = 30


def balanced(problem: JointProblem, a: np.ndarray, slopes: np.ndarray, reach: float) -> np.ndarray:
    """The multipliers nearby, in their sets, for which :math:`\\sum_i B_{ik} = 0` for every class k.

    The smallest change of those between their bounds; if that is not enough, also of those at a bound whose slope is
    `reach` at most; of all. Whatever happens, in the end all multipliers shrink a little towards a point that has the
    opposite sums.
    """
    a = a.copy()
    enough = ROUNDING * float(np.abs(problem.coefficients(a)).sum())
    for near in (-1.0, reach, np.inf):
        movable, fixed = _movable(problem, a, slopes, near)
        for _ in range(ROUNDS):
            excess = problem.coefficients(a).sum(axis=0)
            worst = float(np.abs(excess).max(initial=0.0))
            if worst <= 0.1 * enough:
                return a
            if not _move(problem, a, movable, fixed, excess) and _worst(problem, a) > 0.5 * worst:
                break
    return a if _worst(problem, a) <= enough else _mixed(problem, a)


def likely_offsets(problem: JointProblem, a: np.ndarray, f: np.ndarray) -> np.ndarray:
    """The offsets for which multipliers between their bounds have slopes of zero, or equal ones, by least squares."""
    slopes = problem.slopes(f)
    movable, fixed = _movable(problem, a, slopes, -1.0)
    D = _directions(problem, movable, fixed)
    return _least_squares(D, -(D.T @ slopes[movable]))


def _worst(problem: JointProblem, a: np.ndarray) -> float:
    return float(np.abs(problem.coefficients(a).sum(axis=0)).max(initial=0.0))


def _spare(problem: JointProblem, a: np.ndarray) -> np.ndarray:
    """What is left of the cost where the largest error counts."""
    left = problem.cost - a.sum(axis=1)
    return np.where(left > 1e-12 * problem.cost, left, 0.0)


def _movable(problem: JointProblem, a: np.ndarray, slopes: np.ndarray, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Which multipliers may move, between their bounds or at one with a slope up to `reach`; whose sums must stay."""
    cost = problem.cost[:, np.newaxis]
    if problem.errors == "sum":
        between, level = (a > 0) & (a < cost), np.zeros((len(a), 1))
        fixed = np.zeros(len(a), dtype=bool)
    else:
        between, used_up = a > 0, _spare(problem, a) == 0.0
        level = np.minimum(0.0, np.where(between, slopes, np.inf).min(axis=1, keepdims=True, initial=np.inf))
        level = np.where(used_up[:, np.newaxis], level, 0.0)
        fixed = used_up & ~(-level[:, 0] <= reach)
    return problem.others & (between | (np.abs(slopes - level) <= reach)), fixed


def _directions(problem: JointProblem, movable: np.ndarray, fixed: np.ndarray) -> csr_array:
    """What one unit of every movable multiplier does to the sums of the classes, row by row.

    With absolute margins all sums also rise by the same amount, which is left out: whatever they are compared with adds
    up to zero.
    """
    sample, wrong = np.nonzero(movable)
    rows, shape = np.arange(len(sample)), (len(sample), problem.n_classes)
    D = csr_array((-np.ones(len(rows)), (rows, wrong)), shape=shape)
    if problem.margin == "relative":
        loose = np.flatnonzero(~fixed[sample])
        D = D + csr_array((np.ones(len(loose)), (loose, problem.label[sample[loose]])), shape=shape)
    if fixed.any():
        share = csr_array(movable / np.maximum(1, movable.sum(axis=1, keepdims=True)) * fixed[:, np.newaxis])
        D = D + share[sample]
    return csr_array(D)


def _least_squares(D: csr_array, b: np.ndarray) -> np.ndarray:
    """The smallest x that adds up to zero with D'D x = b, up to a constant, by conjugate gradients."""
    x = np.zeros(len(b))
    p = r = b - b.mean()
    squared = inner(r, r)
    enough = 1e-20 * squared
    for _ in range(min(4 * len(b), 256)):
        if squared <= enough:
            break
        product = D.T @ (D @ p)
        bend = inner(p, product)
        if not bend > 0.0:
            break
        x = x + squared / bend * p
        r = r - squared / bend * product
        r = r - r.mean()
        before, squared = squared, inner(r, r)
        p = r + squared / before * p
    return x


def _move(problem: JointProblem, a: np.ndarray, movable: np.ndarray, fixed: np.ndarray, excess: np.ndarray) -> bool:
    """One step of least squares, in place. False if bounds were in the way; who ran against one stays from now on."""
    change = np.zeros(a.shape)
    D = _directions(problem, movable, fixed)
    change[movable] = -(D @ _least_squares(D, excess))
    cost = problem.cost[:, np.newaxis]
    most = cost - a if problem.errors == "sum" else np.where(fixed, np.inf, _spare(problem, a))[:, np.newaxis]
    against = ((change < 0) & (a == 0)) | ((change > 0) & (most <= 0))
    change[against] = 0.0
    movable &= ~against
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(change < 0, a / -change, np.inf).min(axis=1, initial=1.0)
        if problem.errors == "sum":
            room = np.where(change > 0, most / change, np.inf).min(axis=1, initial=1.0).clip(max=room)
        else:
            rise = change.sum(axis=1)
            room = np.where(rise > 0, most[:, 0] / rise, np.inf).clip(max=room)
            # A sum that has to stay does so only if all of its multipliers move.
            room[fixed & (np.abs(rise) > 1e-12 * problem.cost)] = 0.0
    a += room[:, np.newaxis] * change
    np.clip(a, 0.0, cost if problem.errors == "sum" else np.inf, out=a)
    return not against.any() and bool((room == 1.0).all())


def _mixed(problem: JointProblem, a: np.ndarray) -> np.ndarray:
    """(1 - m) a + m a', where a' makes up for the sums: the samples of a class share what it has to do by their costs.

    With relative margins the multipliers against class p of samples of class q move what is too much from p to q; with
    absolute ones they take from p and give to all alike.
    """
    n_classes, excess = problem.n_classes, problem.coefficients(a).sum(axis=0)
    flow = np.zeros((n_classes, n_classes))  # [p, q]: against p, of class q
    if problem.margin == "absolute":
        lowest = int(excess.argmin())
        flow[:, lowest] = excess - excess[lowest]
    else:
        left = excess.copy()
        for p in np.flatnonzero(excess > 0):
            for q in np.flatnonzero(left < 0):
                flow[p, q] = min(left[p], -left[q])
                left[p] -= flow[p, q]
                left[q] += flow[p, q]
    room = np.bincount(problem.label, weights=problem.cost, minlength=n_classes)
    use = float((flow.sum(axis=0) / room).max())
    share = flow.T[problem.label] * (problem.cost / room[problem.label])[:, np.newaxis]
    mixed = np.where(problem.others, (a + share) / (1.0 + use), 0.0)
    return np.minimum(mixed, problem.cost[:, np.newaxis]) if problem.errors == "sum" else mixed
