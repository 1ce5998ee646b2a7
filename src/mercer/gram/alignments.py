"""How well a kernel matrix fits another one, or a target."""

from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from mercer.gram.centering import centered_rows
from mercer.gram.checks import as_matrix, as_weights

__all__ = ["alignment", "alignment_gradient", "centered_alignment", "ideal_kernel"]


def ideal_kernel(y: Any) -> np.ndarray:
    r"""The kernel matrix that says what a target wants: :math:`y y^T`.

    Two classes are -1 and +1; of more classes, equal ones have the value 1 and different ones -1 / (classes - 1), as
    corners of a simplex about the origin have.

    Parameters
    ----------
    y : array of shape (n,)
        Numbers, which are taken as they are unless all of them are integers, or labels of classes.

    Returns
    -------
    ndarray of shape (n, n)

    Examples
    --------
    >>> from mercer.gram import ideal_kernel
    >>> ideal_kernel(["a", "b", "a"])
    array([[ 1., -1.,  1.],
           [-1.,  1., -1.],
           [ 1., -1.,  1.]])
    >>> ideal_kernel([0.5, 2.0])
    array([[0.25, 1.  ],
           [1.  , 4.  ]])
    """
    target = np.asarray(y)
    if target.ndim != 1 or not len(target):
        raise ValueError(f"y must have one value per sample, got shape {target.shape}.")
    kind = type_of_target(target, input_name="y")
    if kind == "continuous":
        return np.multiply.outer(target, target).astype(np.float64)
    if kind not in ("binary", "multiclass"):
        raise ValueError(f"y must be numbers or labels of classes, got a target of the kind {kind!r}.")
    classes, codes = np.unique(target, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y must have at least two classes, got only {classes[0]!r}.")
    return np.where(np.equal.outer(codes, codes), 1.0, -1.0 / (len(classes) - 1))


def alignment(K: Any, target: Any, *, sample_weight: Any = None) -> float:
    r"""The cosine of the angle between two kernel matrices.

    .. math:: \frac{\langle K, K' \rangle_F}{\|K\|_F \|K'\|_F}

    Parameters
    ----------
    K : array of shape (n, n), or Gram
    target : array of shape (n, n) or (n,), or Gram
        K', or a target whose `ideal_kernel` is K'.
    sample_weight : array of shape (n,), default=None
        A sample of weight 2 counts as two samples.

    Returns
    -------
    float
        At most 1; for positive semi-definite matrices at least 0.

    See Also
    --------
    centered_alignment : Not fooled by a constant part of the kernel; the one to choose parameters with.

    References
    ----------
    .. [1] N. Cristianini, J. Shawe-Taylor, A. Elisseeff, J. Kandola, On kernel-target alignment, NIPS 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import alignment
    >>> alignment(np.eye(4), [0, 0, 1, 1])
    0.5
    """
    return _Pair(K, target, sample_weight, centered=False).cosine


def centered_alignment(K: Any, target: Any, *, sample_weight: Any = None) -> float:
    r"""The cosine of the angle between two kernel matrices that are centred in feature space.

    .. math:: \frac{\langle H K H, H K' H \rangle_F}{\|H K H\|_F \|H K' H\|_F}, \qquad H = I - \tfrac1n 1 1^T

    It goes along with the accuracy of machines that have an offset, which the plain alignment need not [1]_.

    Parameters
    ----------
    K : array of shape (n, n), or Gram
    target : array of shape (n, n) or (n,), or Gram
        K', or a target whose `ideal_kernel` is K'.
    sample_weight : array of shape (n,), default=None
        A sample of weight 2 counts as two samples.

    Returns
    -------
    float
        At most 1; for positive semi-definite matrices at least 0.

    See Also
    --------
    alignment_gradient : Its derivative.

    References
    ----------
    .. [1] C. Cortes, M. Mohri, A. Rostamizadeh, Algorithms for learning kernels based on centered alignment, JMLR 13,
       2012.

    Examples
    --------
    >>> from mercer.gram import centered_alignment
    >>> from mercer.kernels import RBF
    >>> X, y = [[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1]
    >>> [round(centered_alignment(RBF(gamma=gamma)(X), y), 3) for gamma in (0.01, 0.1, 10.0)]
    [0.949, 0.983, 0.577]
    """
    return _Pair(K, target, sample_weight, centered=True).cosine


def alignment_gradient(K: Any, target: Any, *, centered: bool = True, sample_weight: Any = None) -> np.ndarray:
    r"""The derivative of the alignment by the entries of the first matrix.

    What it takes to improve a kernel: ``kernel.vjp(X, alignment_gradient(kernel(X), y))`` has the derivatives by the
    parameters of the kernel, and :math:`\langle G, K_m \rangle_F` is that by the weight of :math:`K_m` in a weighted
    sum.

    Parameters
    ----------
    K : array of shape (n, n), or Gram
    target : array of shape (n, n) or (n,), or Gram
        As in `alignment`.
    centered : bool, default=True
        Of `centered_alignment` or of `alignment`.
    sample_weight : array of shape (n,), default=None

    Returns
    -------
    ndarray of shape (n, n)
        G, orthogonal to K: a multiple of K is aligned as well as K.

    Examples
    --------
    >>> from mercer.gram import alignment_gradient
    >>> from mercer.kernels import RBF
    >>> X, y = [[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1]
    >>> kernel = RBF(gamma=1.0)
    >>> kernel.vjp(X, alignment_gradient(kernel(X), y))["gamma"] < 0  # a wider one would be better
    True
    """
    return _Pair(K, target, sample_weight, centered=bool(centered)).gradient()


class _Pair:
    """Two matrices as vectors, centred if wanted, in the inner product that weights make."""

    def __init__(self, K: Any, target: Any, sample_weight: Any, centered: bool):
        first = as_matrix(K)
        n = len(first)
        given = isinstance(target, (list, tuple, np.ndarray)) or hasattr(target, "__array__")
        second = ideal_kernel(target) if given and np.ndim(target) == 1 else as_matrix(target, "target")
        if second.shape != first.shape:
            raise ValueError(f"target must be for the {n} samples of K, it is for {len(second)}.")
        self.weight, self.centered = as_weights(sample_weight, n), centered
        self.first, self.first_norm = self._unit(first, "K")
        self.second, _ = self._unit(second, "target")
        self.cosine = float(np.clip(self._inner(self.first, self.second), -1.0, 1.0))  # rounding may go beyond

    def _unit(self, matrix: np.ndarray, name: str) -> tuple[np.ndarray, float]:
        """The matrix over its norm, and the norm."""
        size = float(np.abs(matrix).max())
        scaled = matrix / size if size else matrix
        if self.centered:
            scaled = centered_rows(scaled, scaled, self.weight)
        norm = np.sqrt(self._inner(scaled, scaled))
        if norm <= 1e-14:  # nothing but rounding
            kind = "constant" if self.centered else "zero"
            raise ValueError(f"{name} must not be {kind}: it has no direction to align with.")
        return scaled / norm, float(norm * size)

    def _inner(self, A: np.ndarray, B: np.ndarray) -> float:
        return float(np.einsum("i,j,ij,ij->", self.weight, self.weight, A, B, optimize=False))

    def gradient(self) -> np.ndarray:
        """(K' / |K'| - cosine K / |K|) / |K|, by the entries of the matrix before it was centred and weighted."""
        # Both matrices are centred, so that what centring would add to the derivative is zero.
        by_entries = (self.second - self.cosine * self.first) / self.first_norm
        return self.weight[:, np.newaxis] * self.weight * by_entries
