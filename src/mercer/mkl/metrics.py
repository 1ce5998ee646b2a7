"""How good a kernel is, before any machine: margin of the classes, radius of the data, spectral ratio, alignment."""

from typing import Any

import numpy as np

from mercer.gram import Gram, MatrixGram, center, centered_alignment, make_gram
from mercer.gram.checks import as_matrix, as_signs, require_definite
from mercer.kernels import Kernel, as_kernel
from mercer.problems import DualProblem, enclosing_ball, hull_distance, soft_margin
from mercer.solvers import SMO, warn_unless_solved

__all__ = ["margin", "radius", "radius_margin_ratio", "spectral_ratio", "target_alignment"]

# How exactly the squares of margin and radius are known, in units of the variance of the samples.
TOLERANCE = 1e-8
# A variance of this share of the kernel values is rounding.
ROUNDING = 1e-14


def margin(K: Any, y: Any, *, X: Any = None) -> float:
    r"""The largest margin between two classes in feature space: half the distance of their convex hulls. [CY §1.2]

    .. math:: \gamma = \max_{\|w\| = 1, b} \min_i y_i (w \cdot \phi(x_i) + b)

    Parameters
    ----------
    K : array of shape (n, n), Gram, or Kernel
        A kernel, or its name, needs X.
    y : array of shape (n,)
        Two classes.
    X : n samples, default=None
        Of the kernel.

    Returns
    -------
    float
        0 where the classes cannot be separated.

    See Also
    --------
    mercer.svm.SVC : ``SVC(C=float("inf"))`` has this margin.

    Notes
    -----
    One quadratic programme, and memory for the kernel matrix.

    Examples
    --------
    >>> from mercer.mkl import margin
    >>> round(margin("linear", [0, 0, 1], X=[[0.0], [1.0], [4.0]]), 6)
    1.5
    """
    matrix = _matrix(K, X)
    sign = as_signs(y, len(matrix))
    gram, variance = _spread(matrix, "margin")
    hard = soft_margin(gram, sign, np.full(len(sign), np.inf))
    return float(np.sqrt(0.5 * variance * _lowest(hull_distance(hard), "margin")))


def radius(K: Any, *, X: Any = None) -> float:
    r"""The radius of the smallest ball around all samples in feature space. [CY eqs 3.20-3.21]

    .. math:: R^2 = \max_\lambda \sum_i \lambda_i K_{ii} - \lambda^T K \lambda, \qquad \sum_i \lambda_i = 1, \;
        \lambda_i \ge 0

    Parameters
    ----------
    K : array of shape (n, n), Gram, or Kernel
        A kernel, or its name, needs X.
    X : n samples, default=None
        Of the kernel.

    Returns
    -------
    float

    See Also
    --------
    mercer.svm.SVDD : The ball itself, also with samples outside.

    Notes
    -----
    One quadratic programme, and memory for the kernel matrix.

    Examples
    --------
    >>> from mercer.mkl import radius
    >>> round(radius("linear", X=[[0.0], [1.0], [4.0]]), 6)
    2.0
    """
    gram, variance = _spread(_matrix(K, X), "radius")
    ball = enclosing_ball(gram, 1.0 / gram.n, np.ones(gram.n))
    return float(np.sqrt(2.0 * variance * -_lowest(ball, "radius")))


def radius_margin_ratio(K: Any, y: Any, *, X: Any = None) -> float:
    r"""The squared radius over the squared margin and n: a bound of the error that has no machine in it.

    .. math:: \frac{R^2}{n \gamma^2}

    Parameters
    ----------
    K : array of shape (n, n), Gram, or Kernel
        A kernel, or its name, needs X.
    y : array of shape (n,)
        Two classes.
    X : n samples, default=None
        Of the kernel.

    Returns
    -------
    float
        Infinity where the classes cannot be separated.

    See Also
    --------
    mercer.selection.RadiusMargin : For machines that allow for errors, to choose parameters with.

    Examples
    --------
    >>> from mercer.mkl import radius_margin_ratio
    >>> round(radius_margin_ratio("linear", [0, 0, 1], X=[[0.0], [1.0], [4.0]]), 6)  # (2 / 1.5)^2 / 3
    0.592593
    """
    matrix = _matrix(K, X)
    half_distance = margin(matrix, y)
    return radius(matrix) ** 2 / (len(matrix) * half_distance**2) if half_distance > 0 else float("inf")


def spectral_ratio(K: Any, *, X: Any = None, normalize: bool = True) -> float:
    r"""How complex a kernel is: the sum of the eigenvalues over the root of the sum of their squares.

    .. math:: \frac{\mathrm{tr}(K)}{\|K\|_F}

    from 1, where all samples are multiples of one, to the root of n, where they are orthogonal and of the same length
    [1]_. It is the root of the participation ratio of `mercer.gram.spectrum`, without eigenvalues.

    Parameters
    ----------
    K : array of shape (n, n), Gram, or Kernel
        A kernel, or its name, needs X.
    X : n samples, default=None
        Of the kernel.
    normalize : bool, default=True
        From 0 to 1 instead of from 1 to the root of n.

    Returns
    -------
    float

    References
    ----------
    .. [1] M. Donini, F. Aiolli, Learning deep kernels in the space of dot product polynomials, Machine Learning 106,
       2017.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.mkl import spectral_ratio
    >>> spectral_ratio(np.eye(9)), spectral_ratio(np.ones((9, 9))), spectral_ratio(np.eye(9), normalize=False)
    (1.0, 0.0, 3.0)
    """
    matrix = _matrix(K, X)
    size = float(np.abs(matrix).max())
    if size == 0:
        raise ValueError("K must not be zero: it has no spectral ratio.")
    scaled = matrix / size
    ratio = float(np.trace(scaled) / np.linalg.norm(scaled))
    if not normalize:
        return ratio
    return (ratio - 1.0) / (len(matrix) ** 0.5 - 1.0) if len(matrix) > 1 else 0.0


def target_alignment(K: Any, y: Any, *, X: Any = None) -> float:
    r"""The cosine of the angle between the centred kernel matrix and that of the targets [1]_.

    .. math:: \frac{\langle H K H, Y \rangle_F}{\|H K H\|_F \, \|H Y H\|_F}, \qquad H = I - \tfrac1n 1 1^T

    where Y is the `mercer.gram.ideal_kernel` of y.

    Parameters
    ----------
    K : array of shape (n, n), Gram, or Kernel
        A kernel, or its name, needs X.
    y : array of shape (n,)
        Labels of classes, or numbers.
    X : n samples, default=None
        Of the kernel.

    Returns
    -------
    float
        From 0 to 1 for a positive semi-definite K.

    See Also
    --------
    mercer.gram.centered_alignment : Of two matrices, also with weights of samples.
    Alignment : The combination of kernels with the largest one.

    References
    ----------
    .. [1] C. Cortes, M. Mohri, A. Rostamizadeh, Algorithms for learning kernels based on centered alignment, JMLR 13,
       2012.

    Examples
    --------
    >>> from mercer.mkl import target_alignment
    >>> round(target_alignment("linear", [0, 0, 1, 1], X=[[0.0], [1.0], [4.0], [5.0]]), 6)  # 16 / 17
    0.941176
    """
    return centered_alignment(_matrix(K, X), y)


def _matrix(K: Any, X: Any) -> np.ndarray:
    if isinstance(K, (Kernel, str)) or (callable(K) and not isinstance(K, Gram)):
        if X is None:
            raise ValueError(f"X must be given with a kernel, got {K!r} alone.")
        return as_matrix(make_gram(as_kernel(K).resolve(X), X))
    if X is not None:
        raise ValueError("X must be None where K is a matrix.")
    return as_matrix(K)


def _spread(matrix: np.ndarray, owner: str) -> tuple[Gram, float]:
    """The matrix seen from the mean, for a variance of one, and the variance; distances do not know the origin."""
    require_definite(MatrixGram.of_checked(matrix, None), f"The {owner}")
    centred = center(matrix)
    variance = float(np.diagonal(centred).mean())
    if variance <= ROUNDING * float(np.abs(matrix).max()):
        return MatrixGram.of_checked(np.zeros(matrix.shape), True), 0.0
    return MatrixGram.of_checked(centred / variance, True), variance


def _lowest(problem: DualProblem, owner: str) -> float:
    """The value of a problem; what is negligible beside the variance of the samples, which is one, is zero."""
    result = SMO(tol=TOLERANCE, gap_tol=TOLERANCE).solve(problem)
    if abs(result.objective) <= TOLERANCE and result.gap <= TOLERANCE:
        return 0.0
    warn_unless_solved(result, f"The {owner}")
    return result.objective
