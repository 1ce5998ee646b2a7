"""Leave-one-out errors: bounded, estimated, counted."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from mercer.kernels.samples import row_blocks
from mercer.parameters import Number
from mercer.problems import DualProblem
from mercer.selection.criteria.base import Criterion, Trained
from mercer.solvers import combine, warn_unless_solved
from mercer.threads import limit_threads

__all__ = ["LeaveOneOut", "LeftOut", "SupportFraction", "XiAlpha"]

# Variables of problems that are solved at once.
AT_ONCE = 1_000_000


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
        for p in np.flatnonzero((result.a == 0) & (trained.copies == 1.0)).tolist():
            q, a = leave_out(trained, p)
            offset = q.offsets(a, np.delete(result.gradient, p)).plus
            margins[p] += trained.problem.sign[p] * (offset - result.offsets.plus)


def _stretches(support: np.ndarray, n: int) -> Iterator[np.ndarray]:
    step = max(1, AT_ONCE // n)
    return (support[k : k + step] for k in range(0, len(support), step))


def leave_out(trained: Trained, p: int) -> tuple[DualProblem, np.ndarray]:
    """The problem without one copy of the p-th sample, and what is left of the solution; its total may be off."""
    problem, a, copies = trained.problem, trained.result.a, float(trained.copies[p])
    if copies > 1.0:
        left = np.ones(len(a))
        left[p] = (copies - 1.0) / copies
        return replace(problem, upper=problem.upper * left, ridge=problem.ridge / left), a * left
    others = np.arange(len(a)) != p
    arrays = ("index", "sign", "linear", "upper", "ridge")
    return replace(problem, **{name: getattr(problem, name)[others] for name in arrays}), a[others]
