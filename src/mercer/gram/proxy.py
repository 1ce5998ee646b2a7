"""A positive semi-definite proxy for an indefinite similarity, learnt together with a support vector machine."""

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mercer.gram.checks import as_matrix, as_signs, labelled_samples
from mercer.gram.sources import MatrixGram
from mercer.parameters import Number

if TYPE_CHECKING:
    from mercer.problems import DualProblem
    from mercer.solvers import SolverResult

__all__ = ["ProxyKernel", "proxy_kernel"]

# A step is taken if what is left of the slope along it is at most this share of the slope at its beginning.
SLOPE_LEFT = 0.1
SHORTEST = 1e-12
ROUNDING = 1e-15
# The solutions of the models are this much more exact than the gap that is asked for, within reason.
INNER, SMALLEST_INNER = 1e-2, 1e-12
# Columns of the history.
VALUE, GAP = 1, 2


@dataclass(frozen=True, eq=False)
class ProxyKernel:
    """A proxy for an indefinite kernel matrix, and the proof of how good it is.

    See Also
    --------
    proxy_kernel : Makes it.
    """

    matrix: np.ndarray = field(repr=False)
    """The proxy K, positive semi-definite."""
    coefficients: np.ndarray = field(repr=False)
    """v, multipliers times labels, zero for samples without a label."""
    penalty: float
    r""":math:`\rho \|K - K_0\|_F^2`, the price of its distance from the similarity."""
    result: "SolverResult"
    """The certificate of the soft margin over the proxy; the gap is that of the joint problem, too."""

    @property
    def multipliers(self) -> np.ndarray:
        """alpha, one entry per labelled sample."""
        return self.result.a

    @property
    def dual_objective(self) -> float:
        """The joint problem at these multipliers and the best proxy for them; its value is not below."""
        return self.result.dual_objective + self.penalty

    @property
    def primal_objective(self) -> float:
        """The joint problem at this proxy; its value is not above."""
        return self.result.primal_objective + self.penalty

    @property
    def gap(self) -> float:
        """primal_objective - dual_objective: no better pair of proxy and machine gains more."""
        return self.result.gap


def proxy_kernel(
    K: Any,
    y: Any,
    C: float = 1.0,
    rho: float = 1.0,
    *,
    index: Any = None,
    tol: float = 1e-6,
    max_iter: int = 200,
) -> ProxyKernel:
    r"""The positive semi-definite proxy of an indefinite similarity, learnt together with a soft margin. [CY §3.2]

    .. math::

        \max_{\alpha} \min_{K \succeq 0}\ \sum_i \alpha_i - \tfrac12 \sum_{ij} y_i y_j \alpha_i \alpha_j K_{ij}
        + \rho \|K - K_0\|_F^2, \qquad 0 \le \alpha_i \le C, \quad \sum_i y_i \alpha_i = 0

    The similarity is taken for a noisy observation of a kernel: among the kernels near it, the one under which the
    classes are worst separated is assumed, so that what is learnt holds for all of them. For given multipliers the
    best proxy is

    .. math:: K(\alpha) = \left(K_0 + v v^T / 4 \rho\right)_+, \qquad v_i = y_i \alpha_i,

    with negative eigenvalues set to zero. What is left is a smooth concave function of the multipliers with the
    gradient of the soft margin over that proxy, so that multipliers solve the joint problem if and only if they are
    those of a support vector machine on their own proxy: its duality gap is the certificate.

    Parameters
    ----------
    K : array of shape (n, n), or Gram
        K0, the similarity; symmetric, definite or not.
    y : array of shape (n,), or as long as `index`
        Labels of two classes.
    C : float > 0, default=1.0
        The price of errors. Larger fits more closely.
    rho : float > 0, default=1.0
        The price of the distance between proxy and similarity. Larger keeps the proxy nearer to K0; as rho grows it
        becomes that of `clip`.
    index : int array, default=None
        The labelled samples, where there are others: the proxy is then found for the joint matrix of all, which is the
        transductive case. None: all have labels.
    tol : float > 0, default=1e-6
        Largest gap, relative to the objective of the soft margin.
    max_iter : int >= 1, default=200
        Most steps.

    Returns
    -------
    ProxyKernel

    See Also
    --------
    Repair : The same for new samples, in a pipeline.
    clip : The nearest positive semi-definite matrix, without labels.

    Notes
    -----
    Projected gradients [1]_ and Nesterov's method [2]_ know first derivatives alone. Here each step is one of Newton's:
    it solves, by `mercer.solvers.SMO`, the quadratic programme with the gradient and the curvature at hand. With the
    eigenvectors U and eigenvalues :math:`\lambda` of :math:`K_0 + v v^T / 4 \rho` and :math:`c = U^T v` the curvature
    is

    .. math::

        U \left[\operatorname{diag}(\lambda_+ + B c^2 / 4 \rho) + \operatorname{diag}(c) B \operatorname{diag}(c) /
        4 \rho\right] U^T, \qquad B_{ij} = \frac{\lambda_{i+} - \lambda_{j+}}{\lambda_i - \lambda_j},

    B being the derivative of clipping. A step is halved until the slope along it is nearly gone; usually ten steps
    are enough.

    Time O(n^3) per step, memory O(n^2). Eigenvalues come from LAPACK: results are equal up to rounding for any number
    of threads.

    References
    ----------
    .. [1] R. Luss, A. d'Aspremont, Support vector machine classification with indefinite kernels, NIPS 2008.
    .. [2] Y. Ying, C. Campbell, M. Girolami, Analysis of SVM with indefinite kernels, NIPS 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import is_psd, proxy_kernel
    >>> from mercer.kernels import Sigmoid
    >>> X, y = np.array([[-2.0], [-1.0], [0.5], [1.0], [2.0]]), [0, 0, 0, 1, 1]
    >>> K = Sigmoid(gamma=1.0, coef0=-1.0)(X)
    >>> proxy = proxy_kernel(K, y, C=1.0, rho=1.0)
    >>> is_psd(K), is_psd(proxy.matrix), proxy.result.status
    (False, True, 'solved')
    """
    from mercer.solvers import SMO, History, certify, warn_unless_solved

    begun = time.perf_counter()
    K0 = as_matrix(K)
    for name, value in (("C", C), ("rho", rho), ("tol", tol), ("max_iter", max_iter)):
        rule = Number(1, integer=True) if name == "max_iter" else Number(0, above=True)
        if wrong := rule.problem(value):
            raise ValueError(f"{name} {wrong}")
    labelled = labelled_samples(index, len(K0))
    sign = as_signs(y, len(labelled), "; for more than two, clip, flip or shift")
    joint = _JointProblem(K0, labelled, sign, float(C), float(rho))
    exact = max(INNER * tol, SMALLEST_INNER)
    inner = SMO(tol=exact, gap_tol=exact, precision="float64")

    point, status = joint.at(np.zeros(len(labelled))), "max_iter"
    problem, record = joint.assess(point, 0)
    records = [record]
    for step in range(1, int(max_iter) + 1):
        target = inner.solve(joint.model(point), point.a).a
        onwards = joint.search(point, target) or joint.at(target)
        problem_there, there = joint.assess(onwards, step)
        if onwards.objective >= point.objective and there[GAP] >= record[GAP]:
            status = "stalled"
            break
        point, problem, record = onwards, problem_there, there
        records.append(record)
        if record[GAP] <= tol * abs(record[VALUE]):
            status = "solved"
            break

    matrix = (point.vectors * point.positive) @ point.vectors.T
    steps, *rest = np.array(records).T.copy()
    result = certify(
        problem,
        point.a,
        point.gradient,
        status=status,
        n_iter=len(records) - 1,
        seconds=time.perf_counter() - begun,
        kernel_evaluations=0,
        history=History(steps.astype(np.int64), *rest),
    )
    warn_unless_solved(result, "proxy_kernel")
    return ProxyKernel(0.5 * (matrix + matrix.T), joint.coefficients(point.a), point.penalty, result)


class _Point(NamedTuple):
    """Multipliers with the best proxy for them."""

    a: np.ndarray
    values: np.ndarray  # eigenvalues of K0 + v v' / 4 rho
    vectors: np.ndarray
    along: np.ndarray  # v along the eigenvectors
    penalty: float
    objective: float  # what is minimised over the multipliers
    gradient: np.ndarray

    @property
    def positive(self) -> np.ndarray:
        """The eigenvalues of the proxy."""
        return np.maximum(self.values, 0.0)


class _JointProblem(NamedTuple):
    """The minimum over proxies as a function of the multipliers, with its derivatives; its negative is minimised."""

    K0: np.ndarray
    labelled: np.ndarray
    sign: np.ndarray
    C: float
    rho: float

    def coefficients(self, a: np.ndarray) -> np.ndarray:
        """v, one entry for every sample."""
        v = np.zeros(len(self.K0))
        v[self.labelled] = self.sign * a
        return v

    def at(self, a: np.ndarray) -> _Point:
        """The best proxy for some multipliers, value and gradient."""
        v = self.coefficients(a)
        values, vectors = np.linalg.eigh(self.K0 + np.outer(v, v) / (4.0 * self.rho))
        positive, along = np.maximum(values, 0.0), vectors.T @ v
        penalty = self.rho * float((((vectors * positive) @ vectors.T - self.K0) ** 2).sum())
        gradient = self.sign * (vectors[self.labelled] @ (positive * along)) - 1.0
        objective = 0.5 * float((positive * along**2).sum()) - float(a.sum()) - penalty
        return _Point(a, values, vectors, along, penalty, objective, gradient)

    def assess(self, point: _Point, step: int) -> tuple["DualProblem", tuple[float, float, float, float]]:
        """The soft margin over the proxy, and what the point is worth in it: an entry of the history."""
        from mercer.problems import soft_margin

        rows, a, gradient = point.vectors[self.labelled] * np.sqrt(point.positive), point.a, point.gradient
        problem = soft_margin(MatrixGram.of_checked(rows @ rows.T, True), self.sign, np.full(len(a), self.C))
        gap = problem.gap(a, gradient, problem.offsets(a, gradient))
        return problem, (step, -problem.objective(a, gradient), gap, problem.violation(a, gradient))

    def model(self, point: _Point) -> "DualProblem":
        """The quadratic programme with gradient and curvature of the joint problem at the point."""
        from mercer.problems import DualProblem

        c, n = point.along, len(self.sign)
        further = _slopes_of_clipping(point.values) / (4.0 * self.rho)
        inside = np.diag(point.positive + further @ c**2) + c[:, np.newaxis] * further * c
        rows = point.vectors[self.labelled]
        curved = rows @ inside @ rows.T
        return DualProblem(
            gram=MatrixGram.of_checked(0.5 * (curved + curved.T), True),
            index=np.arange(n),
            sign=self.sign,
            linear=point.gradient - self.sign * (rows @ (inside @ c)),
            upper=np.full(n, self.C),
            ridge=np.zeros(n),
            total=0.0,
        )

    def search(self, point: _Point, target: np.ndarray) -> _Point | None:
        """A better point on the way to the target, where the slope is nearly gone; None if rounding hides it."""
        direction, length = target - point.a, 1.0
        slope = float((point.gradient * direction).sum())
        as_good = point.objective + ROUNDING * (abs(point.objective) + point.penalty)
        while slope < 0 and length > SHORTEST:
            tried = self.at(target if length == 1.0 else point.a + length * direction)
            left = float((tried.gradient * direction).sum())
            if left <= -SLOPE_LEFT * slope and tried.objective <= as_good:
                return tried
            length *= 0.5
        return None


def _slopes_of_clipping(values: np.ndarray) -> np.ndarray:
    """(max(a, 0) - max(b, 0)) / (a - b) for all pairs of ascending values; at equal ones the derivative."""
    first = int(np.searchsorted(values, 0.0, side="right"))  # the first positive one
    slopes = np.zeros((len(values),) * 2)
    slopes[first:, first:] = 1.0
    mixed = values[first:] / (values[first:] - values[:first, np.newaxis])
    slopes[:first, first:], slopes[first:, :first] = mixed, mixed.T
    return slopes
