"""Centring and normalising kernel matrices, with rows of new samples."""

from typing import Any

import numpy as np

from mercer.gram.checks import as_matrix, as_rows, as_weights

__all__ = ["center", "normalize"]


def center(K: Any, K_new: Any = None, *, sample_weight: Any = None) -> np.ndarray:
    r"""The kernel matrix of samples seen from their mean in feature space.

    .. math:: \langle \phi(x) - m, \phi(x') - m \rangle, \qquad m = \sum_i w_i \phi(x_i)

    Parameters
    ----------
    K : array of shape (n, n), or Gram
        Of the samples that make the mean.
    K_new : array of shape (m, n), default=None
        Kernel values of new samples with those of K. They are centred by the mean of the samples of K.
    sample_weight : array of shape (n,), default=None
        w, of any scale; None: all samples count the same.

    Returns
    -------
    ndarray of shape (n, n), or of shape (m, n) where there is K_new

    See Also
    --------
    mercer.kernels.Centered : A kernel whose origin is the mean of reference samples.
    sklearn.preprocessing.KernelCenterer : The same as a step of a pipeline, without weights.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import center
    >>> X = np.array([[1.0], [2.0], [6.0]])
    >>> center(X @ X.T)  # of -2, -1, 3
    array([[ 4.,  2., -6.],
           [ 2.,  1., -3.],
           [-6., -3.,  9.]])
    >>> center(X @ X.T, np.array([[4.0]]) @ X.T)
    array([[-2., -1.,  3.]])
    """
    matrix = as_matrix(K)
    rows = matrix if K_new is None else as_rows(K_new, len(matrix))
    return centered_rows(rows, matrix, as_weights(sample_weight, len(matrix)))


def centered_rows(rows: np.ndarray, matrix: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Rows of kernel values, such as the matrix itself, seen from the mean with weights that add up to one."""
    with_mean = np.einsum("ij,j->i", matrix, w)
    own = with_mean if rows is matrix else np.einsum("ij,j->i", rows, w)
    return rows - (own[:, np.newaxis] + with_mean) + np.einsum("i,i->", w, with_mean)


def normalize(K: Any, rows: Any = None, columns: Any = None) -> np.ndarray:
    r"""Kernel values of feature vectors scaled to length one. [CY eqs 3.11-3.12]

    .. math:: \frac{k(x, x')}{\sqrt{k(x, x)\, k(x', x')}}

    Parameters
    ----------
    K : array of shape (n, n), or Gram
        Or, where `rows` and `columns` are given, an array of shape (m, n).
    rows, columns : arrays of shape (m,) and (n,), default=None
        k(x, x) of the samples of the rows and of the columns, for values between new samples and old ones. None: the
        diagonal of K.

    Returns
    -------
    ndarray
        Of the shape of K. The diagonal of a square matrix is 1, exactly.

    See Also
    --------
    mercer.kernels.Normalized : A kernel that is normalised, also where its values are too large for float64.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import normalize
    >>> X = np.array([[3.0, 4.0], [0.0, 2.0]])
    >>> normalize(X @ X.T)
    array([[1. , 0.8],
           [0.8, 1. ]])
    >>> normalize(np.array([[1.0, 0.0]]) @ X.T, rows=[1.0], columns=[25.0, 4.0])
    array([[0.6, 0. ]])
    """
    if (rows is None) != (columns is None):
        raise ValueError("rows and columns must be given together: k(x, x) of both sides.")
    if rows is None:
        matrix = as_matrix(K)
        length = _lengths(np.diagonal(matrix), "the diagonal of K")
        normalized = matrix / length[:, np.newaxis] / length
        normalized = 0.5 * (normalized + normalized.T)  # the order of the divisions rounds
        np.fill_diagonal(normalized, 1.0)
        return normalized
    columns, rows = _lengths(columns, "columns"), _lengths(rows, "rows")
    values = as_rows(K, len(columns), "K")
    if len(rows) != len(values):
        raise ValueError(f"rows must have one number for each of the {len(values)} rows of K, got {len(rows)}.")
    return values / rows[:, np.newaxis] / columns


def _lengths(squares: Any, name: str) -> np.ndarray:
    """Square roots of numbers that must be positive."""
    squares = np.asarray(squares, dtype=np.float64)
    if squares.ndim != 1 or not (np.isfinite(squares).all() and (squares > 0).all()):
        worst = "" if squares.ndim != 1 else f", the smallest is {squares.min():.3g}"
        raise ValueError(f"{name} must be one number > 0 for every sample: lengths in feature space{worst}.")
    return np.sqrt(squares)
