"""What the machines of all pairs of classes say of samples, without a table of all their decision values."""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from mercer import _native
from mercer.kernels.base import Kernel, NativeSpec
from mercer.kernels.samples import n_samples, native_rows, native_samples, row_blocks
from mercer.threads import effective_n_threads

__all__ = ["Walk", "vote", "walk"]


class Walk(NamedTuple):
    """Where samples came to."""

    scores: np.ndarray
    """When each class went out, shape (n, n_classes); the winner has n_classes - 1."""
    evaluations: int
    """How many decision values have been computed."""


def vote(
    spec: NativeSpec, X: Any, Y: Any, coefficients: csr_array, intercept: np.ndarray, n_classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """The votes of all pairs and the sums of their decision values, both of shape (n, n_classes)."""
    samples = native_samples(X), native_samples(Y)
    return _native.kernel_vote(
        *spec.arguments(), *samples, native_rows(coefficients), intercept, n_classes, effective_n_threads()
    )


def walk(kernel: Kernel | None, X: Any, Y: Any, coefficients: csr_array, intercept: np.ndarray, n_classes: int) -> Walk:
    """Lead samples through the graph of `mercer.multiclass.DAG`.

    Kernel values are computed for the machines that a sample meets, or once for all support vectors if these are fewer.

    Parameters
    ----------
    kernel : Kernel or None
        None: X is the kernel matrix.
    X, Y : samples and support vectors, prepared for the kernel
    coefficients : CSR of shape (n_pairs, n_support)
    intercept : array of shape (n_pairs,)
    n_classes : int

    Returns
    -------
    Walk
    """
    machines, threads = (native_rows(coefficients), intercept), effective_n_threads()
    if kernel is None:
        return Walk(*_native.walk(np.ascontiguousarray(X), *machines, n_classes, threads))
    spec, (n_pairs, n_support) = kernel.native(), coefficients.shape
    if spec is not None:
        samples = native_samples(X), native_samples(Y)
        # Some tiles of a machine are not full.
        fewer = (n_classes - 1) * coefficients.nnz < 0.75 * n_pairs * n_support
        return Walk(*_native.kernel_walk(*spec.arguments(), *samples, *machines, n_classes, fewer, threads))
    scores, evaluations = np.empty((n_samples(X), n_classes)), 0
    for rows in row_blocks(n_samples(X), n_support):
        matrix = np.ascontiguousarray(kernel._some_rows(X, rows, Y), dtype=np.float64)
        scores[rows], count = _native.walk(matrix, *machines, n_classes, threads)
        evaluations += count
    return Walk(scores, evaluations)
