"""Weights of either sign, by a semi-definite programme."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer.extras import require
from mercer.gram import MatrixGram
from mercer.gram.checks import as_matrix, as_signs, labelled_samples
from mercer.parameters import Number
from mercer.problems import soft_margin
from mercer.solvers import SMO, SolverResult
from mercer.solvers.kernel_weights.semidefinite import DefiniteSums

__all__ = ["SDPWeights", "sdp_weights"]


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
    """No weights make a smaller objective, however far the conic solver has come."""
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

    It is there to compare with: weights of either sign are hardly ever better [CY §3.7]. ``algorithm="sdp"`` of
    machines does the same for `Indexed` kernels; here matrices may be indefinite themselves. Needs the extra
    ``conic`` (``pip install mercer[conic]``).

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
    MKLClassifier : With weights >= 0, for samples of any kind, many of them, and new ones; with ``algorithm="sdp"``,
        this as a machine.

    Notes
    -----
    The programme, its cost and the proof of its bound are those of `mercer.solvers.kernel_weights.SemiDefinite`, but
    there is no limit to the number of samples.

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
    require("clarabel", "sdp_weights")
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

    sums = DefiniteSums(given)
    some = np.ix_(labelled, labelled)
    machine = soft_margin(MatrixGram.of_checked(given[0][some], None), sign, np.full(len(labelled), float(C)))
    found = sums.solve([machine], labelled, tol)
    (a,) = found.points
    c = machine.expansion(a)[0]
    energies = np.array([0.5 * float(c @ K[some] @ c) for K in given])
    bound = -machine.apart_from_kernel(a) - sums.most(energies, found.multipliers)
    total = sums.total(found.weights)
    machine = replace(machine, gram=MatrixGram.of_checked(total[some], True))
    result = SMO(tol=min(1e-3, 10 * tol), gap_tol=tol, precision="float64").solve(machine)
    decision = total[:, labelled] @ (sign * result.a) + result.offsets.plus
    return SDPWeights(found.weights, total, decision, bound, result)
