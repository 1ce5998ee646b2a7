"""Weights by centred alignment with the targets."""

from typing import Any, ClassVar

import numpy as np
from scipy.optimize import nnls

from mercer.errors import IndefiniteError
from mercer.gram import FunctionGram, Gram, GramStack, VectorGram
from mercer.mkl.rules.base import RuleResult, WeightRule, outputs_of, shares
from mercer.mkl.rules.matrices import MatrixStack
from mercer.parameters import Choice

__all__ = ["Alignment"]

# Values of kernels that are in memory at a time.
BLOCK_VALUES = 2**23
# A centred matrix below this share of the size of its entries is rounding: the kernel is constant.
ROUNDING = 1e-13
# A cosine below minus this is not rounding.
NEGATIVE = 1e-6
# The smallest eigenvalue of the matrix of cosines: kernels that are alike share their weight.
SHARING = 1e-9
# What that gives to kernels without a share of their own.
NEGLIGIBLE = 1e-8


class Alignment(WeightRule):
    """Weights by centred alignment with the targets.

    With :math:`K^c = H K H` centred in feature space and the ideal matrix of the targets,
    :math:`T = \\sum_j y_j y_j^T`, the combination that has the smallest angle to it,

    .. math::

        \\max_{d \\ge 0} \\frac{\\langle \\sum_k d_k K_k^c, T \\rangle_F}{\\|\\sum_k d_k K_k^c\\|_F},

    which is the direction of the solution of :math:`\\min_{v \\ge 0} v^T M v - 2 v^T a` with
    :math:`M_{kl} = \\langle K_k^c, K_l^c \\rangle_F` and :math:`a_k = \\langle K_k^c, T \\rangle_F`; or else each
    kernel by its own alignment [1]_.

    Parameters
    ----------
    joint : bool, default=True
        All kernels together ("alignf"), so that a kernel that only repeats another one has no weight of its own; False:
        each by its own alignment ("align").

    See Also
    --------
    mercer.gram.centered_alignment : Of one kernel matrix.

    Notes
    -----
    Two passes over the kernel values and O(n^2 p^2) time for p kernels; memory is that of some rows of each. A kernel
    that is constant has weight zero. `solve` has the alignment of the combination as its objective; the violation is
    that of the optimality conditions of v, in units of the largest alignment.

    References
    ----------
    .. [1] C. Cortes, M. Mohri, A. Rostamizadeh, Algorithms for learning kernels based on centered alignment, JMLR 13,
       2012.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.mkl import Alignment
    >>> y = np.array([0, 0, 1, 1])
    >>> kernels = [np.eye(4), np.equal.outer(y, y)]
    >>> Alignment()(kernels, y)
    array([0., 1.])
    >>> Alignment(joint=False)(kernels, y).round(3)
    array([0.366, 0.634])
    """

    _parameters: ClassVar[dict[str, Any]] = {"joint": Choice(True, False)}

    def __init__(self, joint=True):
        self.joint = joint

    def _solve(self, stack, targets, weight):
        w = weight / weight.sum()
        Y = outputs_of(self, targets, weight)
        Y = np.sqrt(w)[:, np.newaxis] * (Y - w @ Y)
        M, a, largest = _products(stack, Y, w)
        size = np.sqrt(np.diagonal(M))
        useful = size > 0
        weights, violation = np.zeros(len(stack)), 0.0
        if useful.any():
            cosines = M[np.ix_(useful, useful)] / np.multiply.outer(size[useful], size[useful])
            wanted = a[useful] / size[useful]
            if isinstance(stack, MatrixStack):
                unit = max(ROUNDING, 4.0 * float(np.finfo(stack.dtype).eps))
                cosine_with_targets = wanted / max(np.linalg.norm(Y.T @ Y), np.finfo(float).tiny)
                _require_angles(cosines, cosine_with_targets, unit * largest[useful] / size[useful], useful)
            wanted = np.maximum(0.0, wanted)
            if self.joint:
                v = _nearest(cosines, wanted)
                slopes = cosines @ v - wanted
                worst = np.where(v > 0, np.abs(slopes), -slopes).max()
                violation = max(0.0, float(worst)) / max(float(wanted.max()), np.finfo(float).tiny)
                weights[useful] = v / size[useful]
            else:
                weights[useful] = wanted
        weights = shares(weights)
        norms = float(np.sqrt(weights @ M @ weights) * np.linalg.norm(Y.T @ Y))
        reached = float(weights @ a) / norms if norms > 0 else 0.0
        return RuleResult(weights, reached, violation, violation, 1, "solved")


def _require_angles(cosines: np.ndarray, with_targets: np.ndarray, rounding: np.ndarray, useful: np.ndarray) -> None:
    """Refuse matrices that a negative inner product shows to be indefinite: that of definite ones never is."""
    numbers = np.flatnonzero(useful)
    against = with_targets < -(NEGATIVE + rounding)
    if against.any():
        k = numbers[np.argmax(against)]
        raise IndefiniteError(
            f"kernels must be positive semi-definite, number {k} has a negative alignment, {with_targets.min():.3g}; "
            "repair it, see mercer.gram.Repair."
        )
    opposed = np.argwhere(cosines < -(NEGATIVE + rounding + rounding[:, np.newaxis]))
    if len(opposed):
        k, other = numbers[opposed[0]]
        raise IndefiniteError(
            f"kernels must be positive semi-definite, numbers {k} and {other} have a negative inner product; "
            "repair them, see mercer.gram.Repair."
        )


def _nearest(cosines: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The v >= 0 with the smallest v'Cv - 2 v'r: the combination of unit matrices that is nearest to the target."""
    values, vectors = np.linalg.eigh(cosines)
    roots = np.sqrt(np.maximum(values, SHARING))[:, np.newaxis]
    v = nnls(roots * vectors.T, (vectors.T @ wanted) / roots[:, 0])[0]
    return np.where(v > NEGLIGIBLE * v.max(), v, 0.0)


def _products(
    stack: GramStack | MatrixStack, Y: np.ndarray, w: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inner products of the centred matrices with each other and with YY', where samples have shares w.

    Third, the largest entry of every matrix before it is centred.
    """
    n, p, root = stack.n, len(stack), np.sqrt(w)
    readers = [_Rows(stack, k) for k in range(p)]
    means = np.array([reader.dot(w) for reader in readers])
    M, a, largest = np.zeros((p, p)), np.zeros(p), np.zeros(p)
    height = max(1, BLOCK_VALUES // (p * n))
    for start in range(0, n, height):
        which = np.arange(start, min(start + height, n))
        centred = np.empty((p, len(which), n))
        for k, reader in enumerate(readers):
            rows = reader.rows(which)
            largest[k] = max(largest[k], np.abs(rows).max())
            rows -= means[k]
            rows -= (means[k, which] - w @ means[k])[:, np.newaxis]
            rows *= root[which, np.newaxis]
            np.multiply(rows, root, out=centred[k])
        flat = centred.reshape(p, -1)
        M += flat @ flat.T
        a += flat @ (Y[which] @ Y.T).ravel()
    constant = np.diagonal(M) <= (ROUNDING * largest) ** 2
    M[constant] = M[:, constant] = a[constant] = 0.0
    return 0.5 * (M + M.T), a, largest


class _Rows:
    """Rows of one of the matrices, computed when they are asked for."""

    def __init__(self, stack: GramStack | MatrixStack, k: int):
        if isinstance(stack, MatrixStack):
            self.gram: Gram = stack.gram(k)
            self.factor, self.ridge = 1.0, 0.0
        else:
            kernel = stack.kernels[k]
            self.gram = (FunctionGram if kernel.native() is None else VectorGram)(kernel, stack.X)
            self.factor, self.ridge = float(stack.factors[k]), stack.ridge

    def dot(self, v: np.ndarray) -> np.ndarray:
        return self.factor * self.gram.dot(v) + self.ridge * v

    def rows(self, which: np.ndarray) -> np.ndarray:
        rows = self.factor * self.gram.rows(which)
        rows[np.arange(len(which)), which] += self.ridge
        return rows
