"""Samples that are rows of features."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack, issparse
from sklearn.base import clone
from sklearn.utils import check_array

from mercer.features import ExplicitFeatures
from mercer.kernels import Kernel

__all__ = ["fitted_features", "paired_rows", "rows_of", "scores_of"]


def fitted_features(features: Any, X: Any) -> Any:
    """A copy of a transformer, fitted to samples; a kernel with features, resolved; None stays None.

    Parameters
    ----------
    features : transformer, Kernel or None
        With `fit` and `transform`, such as a vectorizer of scikit-learn; or a kernel with explicit features.
    X : samples
    """
    if features is None:
        return None
    if isinstance(features, Kernel):
        kernel = features.resolve(X)
        # Of a kernel that counts things, columns are those of the samples it is given; new ones are to have the same.
        counts = kernel._sparse_features(kernel.prepare(X[:1])[0]) is not None
        return ExplicitFeatures(features).fit(X) if counts else kernel
    if not (hasattr(features, "fit") and hasattr(features, "transform")):
        raise TypeError(f"features must be a transformer, a kernel with features or None, got {features!r}.")
    return clone(features).fit(X)


def rows_of(features: Any, X: Any, bias: float = 0.0) -> Any:
    """Samples as rows: a float64 array or a CSR array, with a last column of `bias` unless that is zero.

    Parameters
    ----------
    features : what `fitted_features` returned
    X : samples
    bias : float, default=0.0
    """
    if isinstance(features, Kernel):
        X = features.features(X)
    elif features is not None:
        X = features.transform(X)
    X = check_array(X, accept_sparse="csr", dtype=np.float64)
    if issparse(X):
        X = csr_array(X)
        return csr_array(hstack([X, np.full((X.shape[0], 1), bias)], format="csr")) if bias else X
    return np.column_stack([X, np.full(len(X), bias)]) if bias else np.ascontiguousarray(X)


def scores_of(X: Any, W: np.ndarray) -> np.ndarray:
    """X W': of rows, dense or CSR, by all rows of weights."""
    if not issparse(X):
        return X @ W.T
    # Few rows of many columns need few weights, and those alone are copied.
    used, places = np.unique(X.indices, return_inverse=True)
    return csr_array((X.data, places, X.indptr), (X.shape[0], len(used))) @ W[:, used].T


def paired_rows(A: csr_array, B: csr_array) -> csr_array:
    """The Kronecker product of every row of A with the same row of B."""
    counts_a, counts_b = np.diff(A.indptr), np.diff(B.indptr)
    # Entry e of A, in row i, meets all entries of B in row i.
    of_row = np.repeat(np.arange(A.shape[0]), counts_a)
    repeats = counts_b[of_row]
    of_a = np.repeat(np.arange(A.nnz), repeats)
    ends = np.cumsum(repeats)
    of_b = np.arange(len(of_a)) - np.repeat(ends - repeats, repeats) + np.repeat(B.indptr[of_row], repeats)
    columns = A.indices[of_a].astype(np.int64) * B.shape[1] + B.indices[of_b]
    starts = np.concatenate([[0], np.cumsum(counts_a * counts_b)])
    return csr_array((A.data[of_a] * B.data[of_b], columns, starts), shape=(A.shape[0], A.shape[1] * B.shape[1]))
