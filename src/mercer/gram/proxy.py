"""A positive semi-definite proxy for an indefinite similarity, learnt together with a support vector machine."""

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mercer.gram.checks import as_matrix
from mercer.gram.sources import MatrixGram
from mercer.parameters import Number

if TYPE_CHECKING:
    from mercer.solvers import SolverResult

__all__ = ["ProxyKernel", "proxy_kernel"]

# A step is taken if what is left of the slope along it is at most this share of the slope at its beginning.
SLOPE_LEFT = 0.1
HALVINGS = 60
# The solutions of the models are this much more exact than the gap that is asked for.
INNER = 1e-2


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
    """rho |K - K0|^2, the price of its distance from the similarity."""
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


class _Point(NamedTuple):
    """Multipliers with the best proxy for them."""

    a: np.ndarray
    spectrum: tuple[np.ndarray, np.ndarray]  # positive eigenvalues and their vectors
    penalty: float
    objective: float  # what is minimised over the multipliers
    gradient: np.ndarray


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
    Projected gradients [1]_ and Nesterov's method [2]_ know first derivatives alone. Here each step solves a quadratic
    model by `mercer.solvers.SMO`: its curvature :math:`K(\alpha) + (\|v\|^2 I + v v^T) / 4 \rho` is that of the
    problem where no negative eigenvalue plays a part, and never less, since a projection onto a convex set brings
    points closer. Some ten to thirty steps are usually enough. A step is halved until the slope along it is nearly
    gone.

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
    from mercer.problems import DualProblem, soft_margin
    from mercer.solvers import SMO, History, certify, warn_unless_solved

    begun = time.perf_counter()
    K0 = as_matrix(K)
    for name, value in (("C", C), ("rho", rho), ("tol", tol), ("max_iter", max_iter)):
        rule = Number(1, integer=True) if name == "max_iter" else Number(0, above=True)
        if wrong := rule.problem(value):
            raise ValueError(f"{name} {wrong}")
    labelled = _labelled(index, len(K0))
    sign = _signs(y, len(labelled))
    cost, inner = np.full(len(sign), float(C)), SMO(tol=max(INNER * tol, 1e-12), precision="float64")

    def best_proxy(a: np.ndarray) -> _Point:
        v = np.zeros(len(K0))
        v[labelled] = sign * a
        values, vectors = np.linalg.eigh(K0 + np.outer(v, v) / (4.0 * rho))
        kept = values > 0
        values, vectors = values[kept], vectors[:, kept]
        along = vectors.T @ v
        away = (vectors * values) @ vectors.T - K0
        penalty = rho * float((away**2).sum())
        gradient = sign * (vectors[labelled] @ (values * along)) - 1.0
        objective = 0.5 * float((values * along**2).sum()) - float(a.sum()) - penalty
        return _Point(a, (values, vectors), penalty, objective, gradient)

    def margin_over(point: _Point) -> DualProblem:
        values, vectors = point.spectrum
        rows = vectors[labelled] * np.sqrt(values)
        return soft_margin(MatrixGram.of_checked(rows @ rows.T, True), sign, cost)

    def model_of(problem: DualProblem, point: _Point) -> DualProblem:
        """A quadratic programme with the gradient at the point, and at least the curvature."""
        v, square = sign * point.a, float((point.a**2).sum())
        curved = problem.gram.rows(np.arange(len(v))) + np.outer(v, v) / (4.0 * rho)
        return DualProblem(
            gram=MatrixGram.of_checked(curved, True),
            index=problem.index,
            sign=sign,
            linear=-1.0 - point.a * square / (2.0 * rho),
            upper=cost,
            ridge=np.full(len(v), square / (4.0 * rho)),
            total=0.0,
        )

    point, records, status = best_proxy(np.zeros(len(sign))), [], "max_iter"
    for step in range(int(max_iter) + 1):
        problem = margin_over(point)
        value = problem.objective(point.a, point.gradient)
        gap = problem.gap(point.a, point.gradient, problem.offsets(point.a, point.gradient))
        records.append((step, -value, gap, problem.violation(point.a, point.gradient)))
        if gap <= tol * abs(value):
            status = "solved"
            break
        if step == max_iter:
            break
        wanted = inner.solve(model_of(problem, point), point.a).a
        onwards = _step(point, wanted - point.a, best_proxy)
        if onwards is None:
            status = "stalled"
            break
        point = onwards

    values, vectors = point.spectrum
    matrix, coefficients = (vectors * values) @ vectors.T, np.zeros(len(K0))
    coefficients[labelled] = sign * point.a
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
    return ProxyKernel(0.5 * (matrix + matrix.T), coefficients, point.penalty, result)


def _step(point: _Point, direction: np.ndarray, best_proxy: Any) -> _Point | None:
    """The point along the direction where the slope is nearly gone; None if rounding hides it."""
    slope = float((point.gradient * direction).sum())
    noise = 1e-14 * (abs(point.objective) + point.penalty)
    length = 1.0
    for _ in range(HALVINGS):
        if slope >= 0 or length * float(np.abs(direction).max()) <= 1e-15 * float(np.abs(point.a).max(initial=0.0)):
            return None
        tried = best_proxy(point.a + length * direction)
        left = float((tried.gradient * direction).sum())
        if left <= -SLOPE_LEFT * slope and tried.objective <= point.objective + noise:
            return tried
        length *= 0.5
    return None


def _labelled(index: Any, n: int) -> np.ndarray:
    if index is None:
        return np.arange(n)
    numbers = np.asarray(index)
    good = numbers.ndim == 1 and numbers.dtype.kind in "iu" and len(numbers) > 0
    if not good or numbers.min() < 0 or numbers.max() >= n or len(np.unique(numbers)) < len(numbers):
        raise ValueError(f"index must be different numbers of samples from 0 to {n - 1}, got {index!r}.")
    return numbers.astype(np.intp)


def _signs(y: Any, n: int) -> np.ndarray:
    y = np.asarray(y)
    if y.shape != (n,):
        raise ValueError(f"y must have one label for each of the {n} labelled samples, got shape {y.shape}.")
    classes = np.unique(y)
    if len(classes) != 2:
        raise ValueError(f"y must have two classes, got {len(classes)}; for more, repair by clip, flip or shift.")
    return np.where(y == classes[1], 1.0, -1.0)
