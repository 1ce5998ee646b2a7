"""Middles of groups of vectors, as landmarks."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array, issparse

from mercer.gram.leverage import drawn_without_replacement
from mercer.kernels.samples import row_blocks
from mercer.threads import one_blas_thread

__all__ = ["centres_of"]

# Vectors that are looked at, and most of Lloyd's steps: more of either hardly make better landmarks.
MOST_ROWS = 20_000
MOST_STEPS = 20


def centres_of(
    X: Any, size: int, weight: np.ndarray, scale: np.ndarray | None, rng: np.random.RandomState
) -> tuple[Any, np.ndarray]:
    """Means of up to `size` groups of vectors by Lloyd's algorithm, and the numbers of the samples nearest to them.

    Distances are between vectors times `scale`. Of very many vectors some are drawn first. Means are sparse where the
    vectors are.
    """
    rows = drawn_without_replacement(weight, MOST_ROWS, rng)
    if len(rows) < np.count_nonzero(weight):
        share = np.ones(len(rows))  # drawn by their weights, they count alike
    else:
        rows = np.flatnonzero(weight)
        share = weight[rows]
    X = csr_array(X[rows], dtype=np.float64) if issparse(X) else X[rows].astype(np.float64)
    seen = _scaled(X, scale)
    means = X[drawn_without_replacement(share, size, rng)]
    labels = np.full(len(rows), -1)
    with one_blas_thread():
        for _ in range(MOST_STEPS):
            before = labels
            labels, squares = _nearest(seen, _scaled(means, scale))
            # A group that has lost all its samples begins anew at the sample that is farthest from its mean.
            empty = np.setdiff1d(np.arange(means.shape[0]), labels)
            labels[np.argsort(-squares, kind="stable")[: len(empty)]] = empty
            if np.array_equal(labels, before):
                break
            groups = csr_array((share, (labels, np.arange(len(rows)))), shape=(means.shape[0], len(rows)))
            totals = np.asarray(groups.sum(axis=1)).ravel()
            means = (diags_array(1.0 / totals[totals > 0]) @ groups[totals > 0]) @ X
        nearest, _ = _nearest(_scaled(means, scale), seen)
    return means, rows[nearest]


def _scaled(X: Any, scale: np.ndarray | None) -> Any:
    if scale is None:
        return X
    return csr_array(X @ diags_array(scale)) if issparse(X) else X * scale


def _nearest(X: Any, Y: Any) -> tuple[np.ndarray, np.ndarray]:
    """For each row of X the row of Y that is nearest, the first of equal ones, and its squared distance."""
    x, y = (np.asarray((Z * Z).sum(axis=1)) for Z in (X, Y))
    nearest, squares = np.empty(len(x), dtype=np.int64), np.empty(len(x))
    for block in row_blocks(len(x), len(y)):
        products = X[block] @ Y.T
        distances = y - 2.0 * (products.toarray() if issparse(products) else products)
        nearest[block] = distances.argmin(axis=1)
        squares[block] = x[block] + distances.min(axis=1)
    return nearest, squares
