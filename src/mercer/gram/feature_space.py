"""Distances in feature space: between samples, from samples to the mean of a set, and ranks by them."""

from typing import Any, NamedTuple

import numpy as np

from mercer.gram.checks import as_weights, roots
from mercer.kernels import as_kernel
from mercer.kernels.base import Kernel
from mercer.kernels.samples import in_full, n_samples

__all__ = ["Centrality", "centrality", "distances", "distances_to_mean"]


class Centrality(NamedTuple):
    """Samples by their distance to the mean of all in feature space."""

    distances: np.ndarray
    """Of every sample."""
    ranking: np.ndarray
    """Numbers of the samples, from the most central to the most outlying one; equals in their order."""


def distances(kernel: Any, X: Any, Y: Any = None, *, squared: bool = False) -> np.ndarray:
    r"""Distances of samples in feature space. [P eq 1.16]

    .. math:: \|\phi(x) - \phi(x')\| = \sqrt{k(x, x) + k(x', x') - 2 k(x, x')}

    Parameters
    ----------
    kernel : Kernel, str or callable
        `mercer.kernels.Indexed` for a stored matrix, whose samples are row numbers.
    X : n samples
    Y : m samples, default=None
        None: X.
    squared : bool, default=False
        Without the root; for an indefinite kernel, whose squares may be negative, too.

    Returns
    -------
    ndarray of shape (n, m)
        In float64. A sample has the distance 0 from itself, exactly.

    Raises
    ------
    IndefiniteError
        If a squared distance is negative by more than rounding: the kernel is indefinite.

    Notes
    -----
    Small distances are differences of larger kernel values, exact to about 1e-8 times the length of the vectors.

    Examples
    --------
    >>> from mercer.gram import distances
    >>> distances("linear", [[0.0, 0.0], [3.0, 4.0]])
    array([[0., 5.],
           [5., 0.]])
    """
    kernel, X, Y = as_kernel(kernel), in_full(X), in_full(Y)
    if Y is None:
        kernel = kernel.resolve(X)
    across = kernel(X, Y)
    of_X, of_Y = (np.diagonal(across),) * 2 if Y is None else (kernel.diag(X), kernel.diag(Y))
    sizes = of_X[:, np.newaxis] + of_Y
    squares = sizes - 2.0 * across
    return squares if squared else roots(squares, np.abs(sizes) + 2.0 * np.abs(across), "a squared distance")


def distances_to_mean(kernel: Any, X: Any, S: Any, *, sample_weight: Any = None) -> np.ndarray:
    r"""Distances of samples to the mean of a set in feature space. [P eqs 1.17-1.18]

    .. math:: \|\phi(x) - m\|, \qquad m = \sum_i w_i \phi(s_i)

    The mean need not be the image of any sample. To assign a sample to the nearest of several sets is the simplest
    classifier there is.

    Parameters
    ----------
    kernel : Kernel, str or callable
        Resolved on S where it takes parameters from data.
    X : n samples
    S : m samples
        The set.
    sample_weight : array of shape (m,), default=None
        w, of any scale; None: all samples of the set count the same.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> from mercer.gram import distances_to_mean
    >>> distances_to_mean("linear", [[0.0], [5.0]], [[1.0], [3.0]])
    array([2., 3.])
    """
    kernel = as_kernel(kernel).resolve(S)
    return _to_mean(kernel, in_full(X), in_full(S), as_weights(sample_weight, n_samples(S)))


def centrality(kernel: Any, X: Any, *, sample_weight: Any = None) -> Centrality:
    """Rank samples from the most central to the most outlying one. [P §1.3.2]

    By the distance to the mean of all samples in feature space.

    Parameters
    ----------
    kernel : Kernel, str or callable
        Resolved on X where it takes parameters from data.
    X : n samples
    sample_weight : array of shape (n,), default=None
        What the samples count in the mean.

    Returns
    -------
    Centrality

    Examples
    --------
    >>> from mercer.gram import centrality
    >>> centrality("linear", [[0.0], [1.0], [8.0], [3.0]]).ranking
    array([3, 1, 0, 2])
    """
    kernel, X = as_kernel(kernel).resolve(X), in_full(X)
    found = _to_mean(kernel, X, X, as_weights(sample_weight, n_samples(X)))
    return Centrality(found, np.argsort(found, kind="stable"))


def _to_mean(kernel: Kernel, X: Any, S: Any, w: np.ndarray) -> np.ndarray:
    own, with_mean = kernel.diag(X), kernel.dot(X, S, w)
    mean = float((w * (with_mean if X is S else kernel.dot(S, S, w))).sum())
    sizes = np.abs(own) + 2.0 * np.abs(with_mean) + abs(mean)
    return roots(own - 2.0 * with_mean + mean, sizes, "a squared distance")
