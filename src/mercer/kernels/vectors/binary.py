"""Sparse vectors of zeros and ones: what two of them have in common, from lists of who has which feature."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from mercer import _native
from mercer.threads import effective_n_threads

# Where at most every so many-th entry is one, lists are faster than rows spread over all features.
SPARSE = 64


def common_ones(X: Any, Y: Any) -> np.ndarray | None:
    """How many ones pairs of vectors share, shape (n, m); None if they are not sparse, or not zeros and ones.

    These are whole numbers: whichever way they are counted, they are the same to the last bit.
    """
    if not (_is_binary(X) and (Y is X or _is_binary(Y))):
        return None
    of_X = _lists(X)
    found: Any = _native.features_matrix("dot", of_X, of_X if Y is X else _lists(Y), effective_n_threads())
    return found


def n_ones(X: Any) -> np.ndarray:
    """The number of ones of every vector."""
    return np.diff(X.indptr).astype(np.float64)


def _is_binary(X: Any) -> bool:
    return issparse(X) and X.nnz * SPARSE <= X.shape[0] * X.shape[1] and bool((X.data == 1).all())


def _lists(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return X.indices.astype(np.uint64), X.data.astype(np.float64, copy=False), X.indptr.astype(np.int64, copy=False)
