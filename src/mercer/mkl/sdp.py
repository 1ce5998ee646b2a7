"""Weights of either sign, by a semi-definite programme."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import eye_array

from mercer.errors import InfeasibleError
from mercer.gram import MatrixGram
from mercer.gram.checks import as_matrix, as_signs, labelled_samples
from mercer.parameters import Number
from mercer.problems import soft_margin
from mercer.solvers import SMO, SolverResult
from mercer.solvers.cones import ConicProgramme, clarabel_for

__all__ = ["SDPWeights", "sdp_weights"]

# Directions in which no matrix has more than this share of its size are left out.
RANK = 1e-10


@dataclass(frozen=True, eq=False)
class SDPWeights:
    """Weights of kernel matrices, which may be negative, and the machine on their sum.

    See Also
    --------
    sdp_weights : Makes it.
    """

    weights: np.ndarray
    """One for each matrix."""
    matrix: np.ndarray = field(repr=False)
    """Their weighted sum, positive semi-definite up to rounding, with a mean diagonal of one."""
    decision: np.ndarray = field(repr=False)
    """The decision function at all samples, those without a label, too; positive for the second class."""
    bound: float
    """The value of the dual programme: no weights make a smaller objective, up to the tolerance."""
    result: SolverResult = field(repr=False)
    """The certificate of the soft margin over the sum."""

    @property
    def objective(self) -> float:
        """The objective of the soft margin, from above."""
        return self.result.primal_objective

    @property
    def gap(self) -> float:
        """objective - bound."""
        return self.objective - self.bound


def sdp_weights(matrices: Sequence[Any], y: Any, C: float = 1.0, *, index: Any = None, tol: float = 1e-8) -> SDPWeights:
    r"""The weights of kernel matrices, of either sign, with the best soft margin. [CY §3.7] [1]_

    .. math::

        \min_{\mu} \max_{\alpha}\ \sum_i \alpha_i - \tfrac12 \sum_{ij} y_i y_j \alpha_i \alpha_j K_{ij}, \qquad
        K = \sum_k \mu_k K_k \succeq 0, \quad \operatorname{tr} K = n,

    with :math:`0 \le \alpha_i \le C` and :math:`\sum_i y_i \alpha_i = 0`. Where all weights must be positive, this is
    what `MKLClassifier` learns; here the sum alone must be positive semi-definite. That is known for the samples at
    hand only: a sum with negative weights is no kernel, and there is nothing to compare a new sample with. Samples that
    are to be labelled take part from the beginning (the transductive case).

    It is there to compare with: weights of either sign are hardly ever better [CY §3.7]. Needs the extra ``conic``
    (``pip install mercer[conic]``).

    Parameters
    ----------
    matrices : sequence of arrays of shape (n, n)
        Symmetric, definite or not.
    y : array of shape (n,), or as long as `index`
        Labels of two classes.
    C : float > 0, default=1.0
        The price of errors. Larger fits more closely.
    index : int array, default=None
        The labelled samples, where there are others. None: all have labels.
    tol : float > 0, default=1e-8
        What the conic solver is asked for.

    Returns
    -------
    SDPWeights

    Raises
    ------
    InfeasibleError
        If no weighted sum of the matrices is positive semi-definite with a positive trace.

    See Also
    --------
    MKLClassifier : With weights >= 0, for samples of any kind, many of them, and new ones.

    Notes
    -----
    With the decision values f, before the offset, the programme is

    .. math::

        \min_{\mu, f, b, t}\ \tfrac12 t + C \sum_i \max(0, 1 - y_i (f_i + b)), \qquad
        \begin{pmatrix} K & f \\ f^T & t \end{pmatrix} \succeq 0, \quad \operatorname{tr} K = n,

    written in a basis of the directions that the matrices have. Time O(r^6) per step, memory O(r^4) for r of these: for
    some dozens of samples.

    References
    ----------
    .. [1] G. R. G. Lanckriet, N. Cristianini, P. Bartlett, L. El Ghaoui, M. I. Jordan, Learning the kernel matrix with
       semidefinite programming, JMLR 5, 2004.

    Examples
    --------
    The second matrix is what is wrong with the first.

    >>> import numpy as np
    >>> from mercer.mkl import sdp_weights
    >>> x, noise = np.array([-2.0, -1.0, 1.0, 2.0]), np.array([1.0, -1.0, -1.0, 1.0])
    >>> found = sdp_weights([np.outer(x, x) + np.outer(noise, noise), np.outer(noise, noise)], [0, 0, 1, 1])
    >>> found.weights.round(3)
    array([ 0.4, -0.4])
    """
    clarabel_for("sdp_weights")
    for name, value in (("C", C), ("tol", tol)):
        if wrong := Number(0, above=True).problem(value):
            raise ValueError(f"{name} {wrong}")
    given = [as_matrix(matrix, f"matrices[{k}]") for k, matrix in enumerate(matrices)]
    if not given:
        raise ValueError("matrices must have at least one matrix, got none.")
    n = len(given[0])
    for k, matrix in enumerate(given):
        if len(matrix) != n:
            raise ValueError(f"matrices must be of one shape, got {(n, n)} and, as number {k}, {matrix.shape}.")
    labelled = labelled_samples(index, n)
    sign = as_signs(y, len(labelled))

    sizes = np.array([np.linalg.norm(matrix, 2) or 1.0 for matrix in given])
    weights, bound = _solve([K / size for K, size in zip(given, sizes, strict=True)], labelled, sign, float(C), tol)
    weights = weights / sizes
    total = sum(weight * K for weight, K in zip(weights, given, strict=True))
    weights, total = weights * n / np.trace(total), total * n / np.trace(total)
    machine = soft_margin(
        MatrixGram.of_checked(total[np.ix_(labelled, labelled)], True), sign, np.full(len(labelled), float(C))
    )
    result = SMO(tol=min(1e-3, 10 * tol), gap_tol=tol, precision="float64").solve(machine)
    decision = total[:, labelled] @ (sign * result.a) + result.offsets.plus
    return SDPWeights(weights, total, decision, bound, result)


def _solve(
    matrices: Sequence[np.ndarray], labelled: np.ndarray, sign: np.ndarray, C: float, tol: float
) -> tuple[np.ndarray, float]:
    """The weights, and the value of the dual programme."""
    n, vectors = len(matrices[0]), _directions(matrices)
    r, m, programme = vectors.shape[1], len(labelled), ConicProgramme("sdp_weights")
    weights = programme.variables(np.zeros(len(matrices)))
    along, offset = programme.variables(np.zeros(r)), programme.variables(0.0)  # f is vectors times along
    t, slack = programme.variables(0.5), programme.variables(np.full(m, C))
    traces = np.array([[np.trace(K) for K in matrices]])
    programme.require("zero", [-float(n)], (0, traces, weights))
    programme.require("nonnegative", np.zeros(m), (0, eye_array(m), slack))
    rows = sign[:, np.newaxis] * vectors[labelled]
    programme.require(
        "nonnegative", -np.ones(m), (0, rows, along), (0, sign[:, np.newaxis], offset), (0, eye_array(m), slack)
    )
    # The upper triangle of the matrix, column by column: K, then f and t.
    inside = np.array([_triangle(vectors.T @ K @ vectors) for K in matrices]).T
    length = len(inside)
    programme.require(
        "semidefinite",
        np.zeros(length + r + 1),
        (0, inside, weights),
        (length, np.sqrt(2.0) * eye_array(r), along),
        (length + r, np.eye(1), t),
    )
    found = programme.solve(tol)
    if found.status.endswith("PrimalInfeasible"):
        raise InfeasibleError("No weighted sum of the matrices is positive semi-definite with a positive trace.")
    if not found.solved:
        raise ArithmeticError(f"Clarabel gave up on the programme of sdp_weights ({found.status}); raise tol={tol!r}.")
    return found.x[weights], found.bound


def _directions(matrices: Sequence[np.ndarray]) -> np.ndarray:
    """An orthonormal basis of the space that the columns of all matrices span: outside of it every sum is zero."""
    vectors, lengths, _ = np.linalg.svd(np.hstack(matrices), full_matrices=False)
    return vectors[:, lengths > RANK * lengths[0]]


def _triangle(K: np.ndarray) -> np.ndarray:
    """The upper triangle of a matrix, column by column, with the length of the whole matrix."""
    row, column = np.tril_indices(len(K))
    return np.where(row == column, 1.0, np.sqrt(2.0)) * K[row, column]
