"""Weights by centred alignment with the targets."""

from typing import Any, ClassVar

import numpy as np
from scipy.optimize import nnls

from mercer.gram import FunctionGram, Gram, GramStack, VectorGram
from mercer.mkl.rules.base import RuleResult, WeightRule, outputs_of, shares
from mercer.mkl.rules.matrices import MatrixStack
from mercer.parameters import Choice

__all__ = ["Alignment"]

# Values of kernels that are in memory at a time.
BLOCK_VALUES = 2**23
# A centred matrix below this share of the size of its entries is rounding: the kernel is constant.
ROUNDING = 1e-13
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
        M, a = _products(stack, Y, w)
        size = np.sqrt(np.diagonal(M))
        useful = size > 0
        weights, violation = np.zeros(len(stack)), 0.0
        if useful.any():
            cosines = M[np.ix_(useful, useful)] / np.multiply.outer(size[useful], size[useful])
            wanted = np.maximum(0.0, a[useful] / size[useful])
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


def _nearest(cosines: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The v >= 0 with the smallest v'Cv - 2 v'r: the combination of unit matrices that is nearest to the target."""
    values, vectors = np.linalg.eigh(cosines)
    roots = np.sqrt(np.maximum(values, SHARING))[:, np.newaxis]
    v = nnls(roots * vectors.T, (vectors.T @ wanted) / roots[:, 0])[0]
    return np.where(v > NEGLIGIBLE * v.max(), v, 0.0)


def _products(stack: GramStack | MatrixStack, Y: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Inner products of the centred matrices with each other and with YY', where samples have shares w."""
    n, p, root = stack.n, len(stack), np.sqrt(w)
    readers = [_Rows(stack, k) for k in range(p)]
    means = np.array([reader.dot(w) for reader in readers])
    M, a, sizes = np.zeros((p, p)), np.zeros(p), np.zeros(p)
    height = max(1, BLOCK_VALUES // (p * n))
    for start in range(0, n, height):
        which = np.arange(start, min(start + height, n))
        centred = np.empty((p, len(which), n))
        for k, reader in enumerate(readers):
            rows = reader.rows(which)
            sizes[k] = max(sizes[k], np.abs(rows).max())
            rows = rows - (means[k, which, np.newaxis] + means[k]) + w @ means[k]
            centred[k] = root[which, np.newaxis] * rows * root
        flat = centred.reshape(p, -1)
        M += flat @ flat.T
        a += flat @ (Y[which] @ Y.T).ravel()
    constant = np.diagonal(M) <= (ROUNDING * sizes) ** 2
    M[constant] = M[:, constant] = a[constant] = 0.0
    return 0.5 * (M + M.T), a


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
