"""Leave-one-out errors: bounded, estimated, counted."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer.kernels.samples import row_blocks
from mercer.parameters import Number
from mercer.problems import DualProblem
from mercer.selection.criteria.base import Criterion, Trained
from mercer.solvers import combine, warn_unless_solved
from mercer.threads import limit_threads

__all__ = ["LeaveOneOut", "Span", "SupportFraction", "XiAlpha"]

# Variables of problems that are solved at once.
AT_ONCE = 1_000_000
# What is added at least to the diagonal of a kernel matrix that may be singular, in units of its entries.
JITTER = 1e-10


class SupportFraction(Criterion):
    """The share of the training samples that are support vectors.

    A sample that is none can be left out without moving the solution, which has it on the right side: so the share
    bounds that of the leave-one-out errors [1]_, if the offset is known: for the hinge loss, if a support vector lies
    on the edge of the margin.

    See Also
    --------
    XiAlpha : A closer bound.

    References
    ----------
    .. [1] L. Wehenkel, P. Geurts, Kernel-based methods, lecture notes, "Leave-one-out bound".

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.datasets import load_ionosphere
    >>> from mercer.selection import SupportFraction
    >>> X, y = load_ionosphere(return_X_y=True)
    >>> machine = SVC(C=10.0).fit(X, y)
    >>> round(SupportFraction().bound(machine, X, y), 3)
    0.236
    """

    def _bound(self, trained):
        return trained.share(trained.result.a > 0)


class XiAlpha(Criterion):
    r"""The xi-alpha bound on the leave-one-out errors, from the errors and multipliers of the one solution.

    .. math:: \frac1m |\{i : \rho\, \alpha_i B^2 + \xi_i \ge 1\}|

    with :math:`B^2 = \max_i K(x_i, x_i) - \min_{ij} K(x_i, x_j)`: a constant added to the kernel moves nothing where
    there is an offset. Without one it is :math:`K(x_i, x_i)`, for each sample its own. For the squared hinge, a hard
    margin in a larger space, K is K + I / (2 C) and there are no errors.

    Parameters
    ----------
    rho : float > 0 or None, default=None
        None is what has been proved: 2 with an offset, 1 without. 1 is closer to the truth in practice, and no bound.

    See Also
    --------
    Span : An estimate that is closer still.
    LeaveOneOut : The errors themselves.

    Notes
    -----
    Time is that of all kernel values with an offset, O(n) without. The book's form has a kernel without negative
    values and 0 in place of the smallest one. The proof supposes, for the hinge loss, that the offset is known: that a
    support vector lies on the edge of the margin, whichever sample is left out.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, eq. 3.22.
    .. [2] T. Joachims, Estimating the generalization performance of an SVM efficiently, ICML 2000.
    .. [3] T. Jaakkola, D. Haussler, Probabilistic kernel regression models, AISTATS 1999.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.datasets import load_ionosphere
    >>> from mercer.selection import XiAlpha
    >>> X, y = load_ionosphere(return_X_y=True)
    >>> machine = SVC(C=10.0).fit(X, y)
    >>> round(XiAlpha().bound(machine, X, y), 3), round(XiAlpha(rho=1.0).bound(machine, X, y), 3)
    (0.205, 0.191)
    """

    _parameters: ClassVar[dict[str, Any]] = {"rho": Number(0, above=True, none=True)}

    def __init__(self, rho=None):
        self.rho = rho

    def _bound(self, trained):
        reach = trained.diagonal
        if trained.offset:
            reach = reach.max() - smallest_value(trained)
        rho = self.rho if self.rho is not None else 2.0 if trained.offset else 1.0
        errors = trained.slack if trained.loss == "hinge" else 0.0
        return trained.share((trained.result.a > 0) & (rho * trained.alpha * reach + errors >= 1.0))


def smallest_value(trained: Trained) -> float:
    """The smallest kernel value, over all pairs of the samples."""
    problem = trained.problem
    smallest = float(trained.diagonal.min())
    for block in row_blocks(len(problem.index), problem.gram.n):
        smallest = min(smallest, float(problem.gram.rows(problem.index[block])[:, problem.index].min()))
    return smallest


class LeftOut(Criterion):
    """A criterion that has a decision value for every sample as if it had not been trained on."""

    def decisions(self, estimator, X, y, sample_weight=None):
        """Decision values of the training samples, each of a machine that was trained without it.

        Parameters
        ----------
        estimator : SVC
            Fitted to these samples.
        X, y, sample_weight :
            What it was fitted to.

        Returns
        -------
        ndarray of shape (n,)
            NaN for samples of no weight.
        """
        trained = self._trained(estimator, X, y, sample_weight)
        values = np.full(trained.problem.gram.n, np.nan)
        with limit_threads(estimator.n_threads):
            values[trained.problem.index] = trained.problem.sign * self._margins(trained)
        return values

    def _bound(self, trained):
        return trained.share(self._margins(trained) <= 0.0)

    @abstractmethod
    def _margins(self, trained: Trained) -> np.ndarray:
        """y f(x) of every sample, with the f that was learnt without it; minus infinity where there is none."""


class Span(LeftOut):
    r"""The span estimate of the leave-one-out errors: what happens if the other support vectors stay what they are.

    .. math::

        \frac1m |\{p : \alpha_p S_p^2 \ge y_p f(x_p)\}|, \qquad
        S_p^2 = \min_\lambda \Bigl\|\phi(x_p) - \sum_i \lambda_i \phi(x_i)\Bigr\|^2, \; \sum_i \lambda_i = 1,

    over the support vectors i other than p that lie on the edge of the margin: those between the bounds for the hinge
    loss, all of them for the others. If no multiplier reaches or leaves a bound when p is left out, then
    :math:`y_p f(x_p) - \alpha_p S_p^2` is exactly the value that p gets (`decisions`); else it is close. Without an
    offset the :math:`\lambda_i` need not add up to 1.

    See Also
    --------
    LeaveOneOut : The errors themselves, by solving a problem for every support vector.

    Notes
    -----
    With A the kernel matrix of the support vectors on the edge, K + I / (2 C) for the squared hinge, and H that matrix
    bordered by ones and a zero, :math:`S_p^2 = 1 / (H^{-1})_{pp}`; for those beyond the edge it is
    :math:`K_{pp} - v^T H^{-1} v` with :math:`v = (K_{p\cdot}, 1)`.

    Time O(f^3) for f support vectors on the edge, by LAPACK, and their kernel values with the others. An estimate, not
    a bound. A sample without which the offset is not known counts as an error. Sample weights are 0 or 1.

    References
    ----------
    .. [1] V. Vapnik, O. Chapelle, Bounds on error expectation for support vector machines, Neural Computation 12, 2000.
    .. [2] O. Chapelle, V. Vapnik, O. Bousquet, S. Mukherjee, Choosing multiple parameters for support vector machines,
       Machine Learning 46, 2002, section 3.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.datasets import load_ionosphere
    >>> from mercer.selection import Span
    >>> X, y = load_ionosphere(return_X_y=True)
    >>> machine = SVC(C=10.0).fit(X, y)
    >>> round(Span().bound(machine, X, y), 3)
    0.054
    >>> machine.decision_function(X[:4]).round(2), Span().decisions(machine, X, y)[:4].round(2)
    (array([ 1.76, -1.  ,  1.82, -1.15]), array([ 1.76,  0.38,  1.82, -1.15]))
    """

    def _margins(self, trained):
        if (trained.weight != 1.0).any():
            other = trained.weight[trained.weight != 1.0][0]
            raise ValueError(f"sample_weight must be 0 or 1 for Span, got {other:g}; repeat the samples.")
        # For a hard margin and the squared hinge the edge has all support vectors, at 1.
        margins = (
            trained.margins if trained.loss == "hinge" else trained.margins + trained.problem.ridge * trained.alpha
        )
        support = trained.result.a > 0
        spans = np.zeros(len(margins))
        spans[support] = squared_spans(trained)[support]
        return margins - np.where(support, trained.alpha * spans, 0.0)


def squared_spans(trained: Trained) -> np.ndarray:
    """S^2 of every support vector, zero for the other samples."""
    problem, a = trained.problem, trained.result.a
    spans = np.zeros(len(a))
    edge = np.flatnonzero((a > 0) & (a < problem.upper))
    beyond = np.flatnonzero((a > 0) & (a >= problem.upper))
    if not len(edge):  # nothing to be near to but, without an offset, the origin
        spans[beyond] = np.inf if trained.offset else trained.diagonal[beyond]
        return spans
    # Distances do not feel a constant that is added to the kernel; rounding does, the more the nearer A is to singular.
    constant = trained.diagonal[edge].max() if trained.offset else 0.0
    diagonal = trained.diagonal + constant
    A = problem.gram.square(problem.index[edge]) + constant
    jitter = max(JITTER, len(edge) * np.finfo(problem.gram.dtype).eps)
    A[np.diag_indices(len(edge))] = diagonal[edge] * (1.0 + jitter)
    factor = cho_factor(A, lower=True)
    inverse = cho_solve(factor, np.eye(len(edge)))
    of_edge = np.diagonal(inverse).copy()
    sums = inverse.sum(axis=1)
    if trained.offset:
        of_edge -= sums**2 / sums.sum()
    with np.errstate(divide="ignore"):
        # Alone on the edge: without it, the offset is anything. Rounding leaves a little of the zero.
        spans[edge] = np.where(of_edge > 1e-12 * np.diagonal(inverse), 1.0 / np.abs(of_edge), np.inf)
    for block in row_blocks(len(beyond), problem.gram.n):
        some = beyond[block]
        k = problem.gram.rows(problem.index[some])[:, problem.index[edge]].T + constant
        squared = diagonal[some] - np.einsum("fp,fp->p", k, cho_solve(factor, k))
        if trained.offset:
            squared += (1.0 - sums @ k) ** 2 / sums.sum()
        spans[some] = np.maximum(0.0, squared)
    return spans


class LeaveOneOut(LeftOut):
    """The leave-one-out errors themselves, by solving the problem anew without each support vector.

    A sample that is no support vector keeps its decision value. All others are left out one at a time, in one call of
    `solve_many`, and each of these problems starts from the solution of all samples, with the multiplier of the sample
    that left handed to others.

    See Also
    --------
    Span : Nearly the same numbers from one factorisation.
    XiAlpha : A bound from the one solution.

    Notes
    -----
    The kernel and the weights of classes stay those of the machine: what they took from the data (``gamma="scale"``,
    ``class_weight="balanced"``) they keep. A sample of weight 2 is the sample twice: one of the two is left out. The
    only sample of its class is an error.

    Time is that of as many warm fits as there are support vectors.

    References
    ----------
    .. [1] D. DeCoste, K. Wagstaff, Alpha seeding for support vector machines, KDD 2000.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.datasets import load_ionosphere
    >>> from mercer.selection import LeaveOneOut
    >>> X, y = load_ionosphere(return_X_y=True)
    >>> machine = SVC(C=10.0).fit(X, y)
    >>> round(LeaveOneOut().bound(machine, X, y), 3)
    0.054
    >>> machine.decision_function(X[:4]).round(2), LeaveOneOut().decisions(machine, X, y)[:4].round(2)
    (array([ 1.76, -1.  ,  1.82, -1.15]), array([ 1.76,  0.65,  1.82, -1.15]))
    """

    def _margins(self, trained):
        problem, margins = trained.problem, trained.margins.copy()
        support = np.flatnonzero(trained.result.a > 0)
        # Without it there is one class only; nothing speaks for its own.
        per_side = {side: trained.weight[problem.sign == side].sum() for side in (-1.0, 1.0)}
        alone = np.array([per_side[problem.sign[p]] <= min(1.0, trained.weight[p]) for p in support], dtype=bool)
        margins[support[alone]] = -np.inf
        if trained.offset and not ((trained.result.a > 0) & (trained.result.a < problem.upper)).any():
            self._move_offsets(trained, margins)
        solved = []
        for some in _stretches(support[~alone], len(problem.index)):
            without = [leave_out(trained, p) for p in some]
            starts = [q.balanced(start) if q.total is not None else start for q, start in without]
            problems = [q for q, _ in without]
            results = trained.solver.solve_many(problems, starts)
            solved.extend(results)
            rows = problem.gram.rows(problem.index[some])
            for p, row, q, result in zip(some, rows, problems, results, strict=True):
                # A start from elsewhere may leave a multiplier beside its bound by rounding: it knows no offset.
                offset = q.offsets(q.balanced(result.a), result.gradient).plus
                margins[p] = problem.sign[p] * (float((row[q.index] * q.sign * result.a).sum()) + offset)
        if solved:
            warn_unless_solved(combine(solved), "A machine of LeaveOneOut")
        return margins

    @staticmethod
    def _move_offsets(trained: Trained, margins: np.ndarray) -> None:
        """Samples that are no support vectors, where none lies on the edge of the margin.

        The offset is then the middle of an interval, of which a sample may be one end without having a multiplier.
        """
        result = trained.result
        for p in np.flatnonzero((result.a == 0) & (trained.weight <= 1.0)).tolist():
            q, a = leave_out(trained, p)
            offset = q.offsets(a, np.delete(result.gradient, p)).plus
            margins[p] += trained.problem.sign[p] * (offset - result.offsets.plus)


def _stretches(support: np.ndarray, n: int) -> Iterator[np.ndarray]:
    step = max(1, AT_ONCE // n)
    return (support[k : k + step] for k in range(0, len(support), step))


def leave_out(trained: Trained, p: int) -> tuple[DualProblem, np.ndarray]:
    """The problem without one copy of the p-th sample, and what is left of the solution; its total may be off."""
    problem, a, w = trained.problem, trained.result.a, float(trained.weight[p])
    if w > 1.0:
        left = np.ones(len(a))
        left[p] = (w - 1.0) / w
        return replace(problem, upper=problem.upper * left, ridge=problem.ridge / left), a * left
    others = np.arange(len(a)) != p
    arrays = ("index", "sign", "linear", "upper", "ridge")
    return replace(problem, **{name: getattr(problem, name)[others] for name in arrays}), a[others]
