"""Linear margins with few features: the L1 penalty."""

import time
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from mercer.gram import LinearGram, VectorGram
from mercer.kernels import Linear
from mercer.problems import DualProblem, Offsets, epsilon_tube
from mercer.solvers.base import History, SolverResult
from mercer.solvers.smo import SMO
from mercer.sums import inner

__all__ = ["sparse_margin"]

# A step must gain this share of what the model of the loss promises.
SUFFICIENT = 0.01
# So short a part of a step is none.
SHORTEST = 1e-10
# Promises below this share of the objective are rounding.
ROUNDING = 1e-15


def sparse_margin(
    X: Any, sign: np.ndarray, cost: np.ndarray, *, tol: float = 1e-4, max_iter: int = 1000
) -> tuple[np.ndarray, SolverResult]:
    """Weights of the squared hinge loss with an L1 penalty.

    .. math::

        \\min_w \\|w\\|_1 + \\sum_i C_i \\max(0, 1 - s_i \\, w \\cdot x_i)^2

    by a proximal Newton method [1]_: the loss is replaced by its quadratic model, whose Hessian is
    :math:`H = \\sum_{i \\in I} 2 C_i x_i x_i^T` over the samples I inside the margin, and

    .. math::

        \\min_v \\tfrac12 v^T H v + (g - H w)^T v + \\|v\\|_1

    is solved for the next weights. That is the dual of a regression without an offset (`epsilon_tube`, with a tube of
    half the width 1), in which the features are the samples: the same solver does it. The loss is piecewise quadratic,
    so that few steps are needed: as soon as I is right, the next one is the last.

    Parameters
    ----------
    X : array or CSR of shape (n, n_features)
    sign : array of shape (n,)
        The labels, +1 or -1.
    cost : array of shape (n,)
        C_i >= 0.
    tol : float > 0, default=1e-4
        Largest violation of the optimality conditions: by how much the gradient of the loss differs from minus the sign
        of a weight, or is above 1 at a weight of zero.
    max_iter : int >= 0, default=1000
        Most steps.

    Returns
    -------
    w : ndarray of shape (n_features,)
    result : SolverResult
        Its multipliers `a` are 2 C_i times the slacks, made smaller where they must be to be feasible for the dual

        .. math::

            \\max_{a \\ge 0} \\sum_i a_i - \\frac{a_i^2}{4 C_i} \\quad\\text{s.t.}\\quad
            \\left\\|\\sum_i a_i s_i x_i\\right\\|_\\infty \\le 1.

    References
    ----------
    .. [1] G.-X. Yuan, C.-H. Ho, C.-J. Lin, An improved GLMNET for L1-regularized logistic regression, JMLR 13, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers import sparse_margin
    >>> X = np.array([[1.0, 0.1], [2.0, 0.0], [-1.0, 0.1], [-2.0, 0.1]])
    >>> w, result = sparse_margin(X, np.array([1.0, 1.0, -1.0, -1.0]), np.full(4, 10.0))
    >>> w.round(3), result.status
    (array([0.975, 0.   ]), 'solved')
    """
    began = time.perf_counter()
    if not cost.all():
        used = np.flatnonzero(cost)
        X, sign, cost = X[used], sign[used], cost[used]
    gram = LinearGram(X)
    w, f = np.zeros(X.shape[1]), np.zeros(len(sign))
    largest = float(cost.sum())  # the objective of w = 0, above which the penalty of the solution cannot be
    status, steps, evaluations = "max_iter", 0, 0
    samples = []
    while True:
        slack = np.maximum(0.0, 1.0 - sign * f)
        objective = float(np.abs(w).sum()) + inner(cost, slack**2)
        multipliers = 2.0 * cost * slack
        gradient = -gram.sums(sign * multipliers)
        violation = _violation(w, gradient)
        dual, feasible = _dual(multipliers, gradient, cost)
        samples.append((steps, dual, objective - dual, violation))
        if violation <= tol:
            status = "solved"
            break
        if steps >= max_iter:
            break
        inside = np.flatnonzero(slack)
        curvature = 2.0 * cost[inside]
        model = _model(X, inside, curvature, gram.sums(curvature * f[inside], inside) - gradient, largest)
        found = SMO(tol=0.5 * tol).solve(model, np.concatenate([np.maximum(w, 0.0), np.maximum(-w, 0.0)]))
        evaluations += found.kernel_evaluations
        v = found.a[: len(w)] - found.a[len(w) :]
        step, f_step = v - w, gram.products(v) - f
        promise = inner(gradient, step) + float(np.abs(v).sum() - np.abs(w).sum())
        if promise > -ROUNDING * objective:
            status = "stalled"
            break
        length = 1.0
        while (
            _objective(w + length * step, f + length * f_step, sign, cost) > objective + SUFFICIENT * length * promise
        ):
            length *= 0.5
        w = v if length == 1.0 else w + length * step
        f = gram.products(w)
        steps += 1
    iteration, values, gaps, violations = np.array(samples).T
    return w, SolverResult(
        objective=-dual,
        bound=-objective,
        gap=objective - dual,
        violation=violation,
        n_iter=steps,
        status=status,
        seconds=time.perf_counter() - began,
        precision="float64",
        kernel_evaluations=evaluations,
        imbalance=0.0,
        history=History(iteration.astype(np.int64), values, gaps, violations),
        a=feasible,
        gradient=feasible / (2.0 * cost) - 1.0,
        offsets=Offsets(0.0, 0.0),
    )


def _objective(w: np.ndarray, f: np.ndarray, sign: np.ndarray, cost: np.ndarray) -> float:
    return float(np.abs(w).sum()) + inner(cost, np.maximum(0.0, 1.0 - sign * f) ** 2)


def _violation(w: np.ndarray, gradient: np.ndarray) -> float:
    """The distance of zero from the subdifferential of the objective, in its largest entry."""
    at_zero = np.maximum(0.0, np.abs(gradient) - 1.0)
    return float(np.where(w == 0.0, at_zero, np.abs(gradient + np.sign(w))).max(initial=0.0))


def _dual(multipliers: np.ndarray, gradient: np.ndarray, cost: np.ndarray) -> tuple[float, np.ndarray]:
    """The best value of the dual along the ray of the multipliers, and the point."""
    most = 1.0 / max(float(np.abs(gradient).max(initial=0.0)), np.finfo(float).tiny)
    total, square = float(multipliers.sum()), inner(multipliers, multipliers / (4.0 * cost))
    scale = min(most, total / (2.0 * square)) if square else 0.0
    return scale * total - scale**2 * square, scale * multipliers


def _model(X: Any, inside: np.ndarray, curvature: np.ndarray, target: np.ndarray, largest: float) -> DualProblem:
    """The problem of the next weights: K = H over the features."""
    root = np.sqrt(curvature)
    if issparse(X):
        features = csr_array(X[inside].multiply(root[:, np.newaxis]).T)
    else:
        features = np.ascontiguousarray((root[:, np.newaxis] * X[inside]).T, dtype=np.float64)
    gram = VectorGram(Linear(), features)
    return epsilon_tube(gram, target, np.full(len(target), largest), 1.0, bias=False)
