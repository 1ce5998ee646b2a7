"""Rules that take the width of a kernel from the data.

All of them see weighted samples, and a sample of weight 2 counts as two samples. Pairs are pairs of samples
that differ: a repeated sample adds weight to its pairs with others, not pairs of distance zero, so that
neither duplicates nor the scale of the weights move the result.
"""

from hashlib import blake2b
from typing import Any

import numpy as np
from scipy.sparse import issparse

from mercer.data import RowBlocks
from mercer.kernels.vectors.base import measure
from mercer.sums import inner

# Pairwise distances are formed for at most this many different samples.
MOST_SAMPLES = 2000

# The smallest number whose inverse is finite enough to compute with.
SMALLEST = float(np.finfo(np.float64).tiny)

GAMMA_WORDS = ("scale", "auto", "median", "mean")


def gamma_from_data(word: str, X: Any, w: np.ndarray, over: str = "l2") -> float:
    """gamma such that gamma times a typical value of the measure `over` is 1."""
    if word == "auto":
        return 1.0 / X.shape[1]
    return inverse(X.shape[1] * _variance(X, w) if word == "scale" else typical(word, X, w, over))


def gamma_of_blocks(X: RowBlocks, w: np.ndarray) -> float:
    """gamma="scale" of rows in blocks: what `gamma_from_data` finds for all of them together, up to rounding.

    Means and squares about them are merged block by block, without the differences of large sums.
    """
    entries = mean = squares = 0.0
    for more, of_block, around in X.mapped(_moments, w):
        if not more:
            continue
        away = of_block - mean
        squares += around + away**2 * entries * more / (entries + more)
        entries, mean = entries + more, mean + away * more / (entries + more)
    return inverse(X.shape[1] * squares / entries)


def _moments(block: Any, w: np.ndarray) -> tuple[float, float, float]:
    """Of all entries of a block: how many there are by weight, their mean, the sum of the squares about it."""
    if not w.any():
        return 0.0, 0.0, 0.0
    block = block.astype(np.float64, copy=False)
    entries = float(w.sum()) * block.shape[1]
    mean = inner(w, np.asarray(block.sum(axis=1)).ravel()) / entries
    return entries, mean, entries * _variance(block, w)


def typical(word: str, X: Any, w: np.ndarray, over: str = "l2") -> float:
    """The weighted "mean" or "median" of a measure over all pairs of samples that differ; 0 if none do.

    The mean of squared distances comes from moments. Otherwise distances are formed between all different
    samples, or, if these are more than `MOST_SAMPLES`, between those with the smallest hash: a choice that is
    as good as random, and depends neither on the order of the samples nor on how often they occur.
    """
    rows, weight = _different_rows(X, w)
    if len(rows) == 1:
        return 0.0
    if word == "mean" and over == "l2":
        # sum_ij w_i w_j |x_i - x_j|^2 = 2 W sum_i w_i |x_i - mean|^2, to which pairs of equals add nothing
        return 2 * w.sum() * _scatter(X, w) / (weight.sum() ** 2 - (weight**2).sum())
    rows, weight = rows[:MOST_SAMPLES], weight[:MOST_SAMPLES]
    first, second = np.triu_indices(len(rows), 1)
    values = measure(over, X[rows], X[rows])[first, second]
    weights = weight[first] * weight[second]
    return float(np.average(values, weights=weights) if word == "mean" else weighted_median(values, weights))


def inverse(value: float) -> float:
    """1 / value for a width; 1 where all samples are equal and nothing tells a width."""
    if not np.isfinite(value):
        raise ValueError("The features are too large: their squared distances overflow. Rescale them.")
    return 1.0 / max(float(value), SMALLEST) if value > 0 else 1.0


def weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    """The median of values repeated as often as their weights say (the middle of the two middle ones)."""
    order = np.argsort(values, kind="stable")
    values, cumulated = values[order], np.cumsum(weights[order])
    half = cumulated[-1] / 2
    lower, upper = np.searchsorted(cumulated, half, "left"), np.searchsorted(cumulated, half, "right")
    return float(values[lower] + values[min(upper, len(values) - 1)]) / 2


def _variance(X: Any, w: np.ndarray) -> float:
    """Variance of all entries of X together."""
    entries = w.sum() * X.shape[1]
    if issparse(X):
        weight = np.repeat(w, np.diff(X.indptr))
        mean = inner(weight, X.data) / entries
        return (inner(weight, (X.data - mean) ** 2) + (entries - weight.sum()) * mean**2) / entries
    mean = inner(w, X.sum(axis=1)) / entries
    return inner(w, ((X - mean) ** 2).sum(axis=1)) / entries


def _scatter(X: Any, w: np.ndarray) -> float:
    """sum_i w_i |x_i - mean|^2."""
    mean = (w @ X if issparse(X) else np.einsum("i,ij->j", w, X)) / w.sum()
    if issparse(X):
        weight = np.repeat(w, np.diff(X.indptr))
        stored = np.bincount(X.indices, weights=weight, minlength=X.shape[1])
        return inner(weight, (X.data - mean[X.indices]) ** 2) + inner(w.sum() - stored, mean**2)
    return inner(w, ((X - mean) ** 2).sum(axis=1))


def _different_rows(X: Any, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One row of each group of equal rows, in the order of their hashes, and the weights of the groups."""
    first: dict[bytes, int] = {}
    weight: dict[bytes, float] = {}
    for i in range(X.shape[0]):
        if issparse(X):
            stored = slice(X.indptr[i], X.indptr[i + 1])
            columns, values = X.indices[stored], X.data[stored]
            columns, values = columns[values != 0], values[values != 0]
        else:
            (columns,) = np.nonzero(X[i])
            values = X[i, columns]
        # Features that are not zero: the same for dense and sparse rows, and for 0.0 and -0.0.
        key = blake2b(columns.astype(np.int64).tobytes() + values.tobytes(), digest_size=16).digest()
        first.setdefault(key, i)
        weight[key] = weight.get(key, 0.0) + w[i]
    keys = sorted(first)
    return np.array([first[key] for key in keys]), np.array([weight[key] for key in keys])
