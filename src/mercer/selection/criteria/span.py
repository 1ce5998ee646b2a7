"""The span of support vectors: what a machine would be without one of them, from linear algebra alone."""

from typing import Any, ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from mercer.kernels.samples import row_blocks
from mercer.parameters import Number
from mercer.selection.criteria.base import Derivative, SmoothCriterion, Trained
from mercer.selection.criteria.leave_one_out import LeftOut

__all__ = ["SmoothSpan", "Span"]

# What is added at least to the diagonal of a kernel matrix that may be singular, in units of its entries.
JITTER = 1e-10


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
    SmoothSpan : With derivatives.

    Notes
    -----
    With A the kernel matrix of the support vectors on the edge, K + I / (2 C) for the squared hinge, and H that matrix
    bordered by ones and a zero, :math:`S_p^2 = 1 / (H^{-1})_{pp}`; for those beyond the edge it is
    :math:`K_{pp} - v^T H^{-1} v` with :math:`v = (K_{p\cdot}, 1)`.

    Time O(f^3) for f support vectors on the edge, by LAPACK, and their kernel values with the others. An estimate, not
    a bound. A sample without which the offset is not known counts as an error.

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
        # For a hard margin and the squared hinge the edge, at 1, has all support vectors.
        margins = trained.margins + trained.problem.ridge * trained.result.a
        support = trained.result.a > 0
        spans = squared_spans(trained)
        return margins - np.where(support, trained.alpha * np.where(support, spans, 0.0), 0.0)


def squared_spans(trained: Trained) -> np.ndarray:
    """S^2 of a copy of every support vector, zero for the other samples."""
    problem, a = trained.problem, trained.result.a
    spans = np.zeros(len(a))
    edge = np.flatnonzero((a > 0) & (a < problem.upper))
    beyond = np.flatnonzero((a > 0) & (a >= problem.upper))
    if not len(edge):  # nothing to be near to but, without an offset, the origin
        spans[beyond] = np.inf if trained.offset else trained.diagonal[beyond]
        return spans
    # Distances do not feel a constant that is added to the kernel; rounding does, the more the nearer A is to singular.
    constant = trained.diagonal[edge].max() if trained.offset else 0.0
    A = problem.gram.square(problem.index[edge]) + np.diag(problem.ridge[edge]) + constant
    A[np.diag_indices(len(edge))] *= 1.0 + max(JITTER, len(edge) * np.finfo(problem.gram.dtype).eps)
    factor = cho_factor(A, lower=True)
    inverse = cho_solve(factor, np.eye(len(edge)))
    sums = inverse.sum(axis=1)
    of_edge = np.diagonal(inverse) - (sums**2 / sums.sum() if trained.offset else 0.0)
    # Alone on the edge: without it, the offset is anything. Rounding leaves a little of the zero.
    of_edge = np.where(of_edge > 1e-12 * np.diagonal(inverse), of_edge, 0.0)
    spans[edge] = spans_of_copies(of_edge, trained.copies[edge], problem.ridge[edge])
    for block in row_blocks(len(beyond), problem.gram.n):
        some = beyond[block]
        k = problem.gram.rows(problem.index[some])[:, problem.index[edge]].T + constant
        squared = trained.diagonal[some] + constant - np.einsum("fp,fp->p", k, cho_solve(factor, k))
        if trained.offset:
            squared += (1.0 - sums @ k) ** 2 / sums.sum()
        spans[some] = np.maximum(0.0, squared)
    return spans


def spans_of_copies(of_sample: np.ndarray, copies: np.ndarray, ridge: np.ndarray) -> np.ndarray:
    """S^2 of one of c copies, from the entry of the inverse for the sample, the ridge of which they share.

    Each copy has c times that ridge. In the inverse of the matrix of all copies, their mean has the entry of the sample
    over c, and what is orthogonal to it one over the ridge of a copy; a copy is both.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.where(copies > 1.0, (copies - 1.0) / ridge, 0.0)  # infinite without a ridge: the others are as near
        return copies**2 / (of_sample + apart)


class SmoothSpan(SmoothCriterion):
    r"""The span estimate made smooth, so that it has derivatives.

    .. math::

        \frac1m \sum_p \Psi(\alpha_p \bar S_p^2 - 1), \qquad \Psi(x) = \frac{1}{1 + e^{-s x}}, \\
        \bar S_p^2 = \min_\lambda \Bigl\|\phi(x_p) - \sum_i \lambda_i \phi(x_i)\Bigr\|^2 + \eta \sum_i
        \frac{\lambda_i^2}{\alpha_i}, \; \sum_i \lambda_i = 1,

    over the support vectors other than p: errors count by a sigmoid in place of a step, and support vectors come and go
    without a jump. K is K + I / (2 C).

    Parameters
    ----------
    steepness : float > 0, default=5.0
        s; larger is closer to a count of errors, and harder to minimise.
    smoothing : float > 0, default=0.1
        eta; smaller is closer to the span, and harder to minimise.

    See Also
    --------
    Span : The estimate itself.
    GradientTuned : Minimises it over many parameters.

    Notes
    -----
    For f support vectors time O(f^3) by LAPACK and BLAS, whose sums may differ in the last digits with the number of
    threads. With H the kernel matrix of the support vectors bordered by ones, :math:`\bar S_p^2 = 1 / ((H +
    D)^{-1})_{pp} - D_{pp}` where D has :math:`\eta / \alpha_i` on its diagonal and 0 in the border. The multipliers
    move with K too: they solve a linear system with H, as long as the support vectors stay what they are.

    References
    ----------
    .. [1] O. Chapelle, V. Vapnik, O. Bousquet, S. Mukherjee, Choosing multiple parameters for support vector machines,
       Machine Learning 46, 2002, sections 3 to 5.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.datasets import load_ionosphere
    >>> from mercer.selection import SmoothSpan, Span
    >>> X, y = load_ionosphere(return_X_y=True)
    >>> machine = SVC(loss="squared_hinge").fit(X, y)
    >>> round(SmoothSpan().bound(machine, X, y), 3), round(Span().bound(machine, X, y), 3)
    (0.077, 0.048)
    """

    losses: ClassVar = ("squared_hinge",)
    _parameters: ClassVar[dict[str, Any]] = {
        "steepness": Number(0, above=True),
        "smoothing": Number(0, above=True),
    }

    def __init__(self, steepness=5.0, smoothing=0.1):
        self.steepness = steepness
        self.smoothing = smoothing

    def _bound(self, trained):
        support, _, V = self._inverse(trained)
        return self._counted(trained, support, V)[0]

    def _inverse(self, trained: Trained) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The support vectors, the inverse G of H + D, and V = c^2 ((H + D)^-1)_pp of one of c copies."""
        problem, a = trained.problem, trained.result.a
        support = np.flatnonzero(a > 0)
        ridge = problem.ridge[support] + self.smoothing / a[support]
        G = bordered_inverse(problem.gram.square(problem.index[support]) + np.diag(ridge), trained.offset)
        return support, G, np.diagonal(G) + (trained.copies[support] - 1.0) / ridge

    def _counted(self, trained: Trained, support: np.ndarray, V: np.ndarray) -> tuple[float, np.ndarray]:
        """The estimate, and its derivatives by alpha_p S_p^2 of the support vectors."""
        s, m, weight = self.steepness, trained.size, trained.weight
        changes = np.zeros(len(weight))
        changes[support] = trained.result.a[support] * trained.copies[support] / V - self.smoothing
        counted = expit(s * (changes - 1.0))
        return float((weight * counted).sum()) / m, (weight * s * counted * (1.0 - counted))[support] / m

    def derivative(self, trained, start=None):
        problem = trained.problem
        support, G, V = self._inverse(trained)
        value, slope = self._counted(trained, support, V)
        a, copies = trained.result.a[support], trained.copies[support]
        ridge, eta = problem.ridge[support], self.smoothing
        q = ridge + eta / a
        # d(a c / V) = (c / V) da - (a c / V^2) dV and dV = -g'(dK + dq) g - (c - 1) / q^2 dq, with g a column of G.
        kappa = slope * a * copies / V**2
        by_kernel = (G * kappa) @ G.T
        by_q = np.diagonal(by_kernel) + kappa * (copies - 1.0) / q**2
        by_a = slope * copies / V - by_q * eta / a**2
        # (K + r) y a + b = y and y'a = 0 hold while K changes: d(y a) = -P (dK + dr) y a, with P the inverse again.
        beta = problem.sign[support] * a
        A = problem.gram.square(problem.index[support]) + np.diag(ridge)
        z = bordered_solution(A, problem.sign[support] * by_a, trained.offset)
        by_ridge = np.zeros(len(trained.weight))
        by_ridge[support] = by_q - z * beta
        moved = np.outer(z, beta)
        return Derivative(value, support, by_kernel - 0.5 * (moved + moved.T), by_ridge)


def bordered_inverse(A: np.ndarray, border: bool) -> np.ndarray:
    """The inverse of a positive definite A, or that part of the inverse of A with a border of ones and a zero."""
    inverse = cho_solve(cho_factor(A, lower=True), np.eye(len(A)))
    sums = inverse.sum(axis=1)
    return inverse - np.outer(sums, sums) / sums.sum() if border else inverse


def bordered_solution(A: np.ndarray, v: np.ndarray, border: bool) -> np.ndarray:
    """What `bordered_inverse` makes of a vector, without the inverse."""
    x, ones = cho_solve(cho_factor(A, lower=True), np.column_stack([v, np.ones(len(v))])).T
    return x - ones * (x.sum() / ones.sum()) if border else x
