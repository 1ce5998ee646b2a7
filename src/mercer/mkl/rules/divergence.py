"""Weights by the divergence of two Gaussians: one of the targets, one of the combined kernel."""

from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg import cholesky
from scipy.linalg.lapack import dpotri
from scipy.optimize import minimize

from mercer import _native
from mercer.gram import GramStack, memory_budget
from mercer.gram.checks import indefinite
from mercer.mkl.rules.base import RuleResult, WeightRule, outputs_of
from mercer.mkl.rules.matrices import MatrixStack
from mercer.parameters import Number
from mercer.threads import effective_n_threads, one_blas_thread

__all__ = ["DivConv", "DivDC"]

# Weights below this are zero: their kernels are left out of the sums.
NEGLIGIBLE = 1e-12


class Divergence(WeightRule):
    """Base of the rules that compare the kernel of the targets with that of the samples as Gaussians.

    Parameters
    ----------
    sigma : float > 0, default=0.1
    tol : float > 0, default=1e-5
    max_iter : int >= 1, default=1000
    """

    _parameters: ClassVar[dict[str, Any]] = {
        "sigma": Number(0, above=True),
        "tol": Number(0, above=True),
        "max_iter": Number(1, integer=True),
    }

    def __init__(self, sigma=0.1, tol=1e-5, max_iter=1000):
        self.sigma = sigma
        self.tol = tol
        self.max_iter = max_iter

    def _solve(self, stack, targets, weight):
        with one_blas_thread():  # others would go on spinning between the steps
            gaussians = Gaussians(stack, outputs_of(self, targets, weight), weight, float(self.sigma))
            return self._search(self._divergence(gaussians), np.full(len(stack), 1.0 / len(stack)))

    @abstractmethod
    def _divergence(self, gaussians: "Gaussians") -> "Function":
        """What is to be small, for each sample."""

    def _search(self, divergence: "Function", start: np.ndarray) -> RuleResult:
        """The best weights, from some to start with."""
        best, tried = Point(start, *divergence(start)), 1
        while tried < self.max_iter and not best.within(self.tol):
            # Afresh where rounding in the curvature keeps it from going on.
            before = best
            best, more = _lowest(divergence, before, self.tol, self.max_iter - tried)
            tried += more
            if best is before:
                break
        status = "solved" if best.within(self.tol) else "max_iter" if tried >= self.max_iter else "stalled"
        return RuleResult(best.weights, best.value, best.violation, best.violation, tried, status)


class DivConv(Divergence):
    """Weights that make the Gaussian of the combined kernel diverge least from that of the targets (MKLdiv-conv).

    With :math:`K_x = \\sum_k d_k K_k + \\sigma I` and :math:`K_y = Y Y^T + \\sigma I` [1]_,

    .. math::

        \\min_{d \\ge 0, \\sum_k d_k = 1} \\mathrm{KL}(N(0, K_x) \\,\\|\\, N(0, K_y)) =
        \\tfrac12 \\bigl[\\mathrm{tr}(K_y^{-1} K_x) - n + \\log |K_y| - \\log |K_x|\\bigr].

    The trace is linear in d and :math:`-\\log |K_x|` convex: a convex problem, that of the largest determinant.

    Parameters
    ----------
    sigma : float > 0, default=0.1
        :math:`\\sigma`, the noise on both sides. Kernel matrices with a mean diagonal of one, as that of :math:`Y Y^T`
        is, give it a meaning.
    tol : float > 0, default=1e-5
        Largest gap to the optimum, of the divergence for each sample; relative to it where it is above one.
    max_iter : int >= 1, default=1000
        Most weights that are tried.

    See Also
    --------
    DivDC : The other direction.

    Notes
    -----
    Of classes, the rows of Y are the corners of a simplex about the origin; numbers are taken from their mean, in units
    of their standard deviation. `solve` has the divergence over n as its objective. By sequential quadratic programming
    from equal weights; the derivative by :math:`d_k` is :math:`\\tfrac12 \\langle K_y^{-1} - K_x^{-1}, K_k \\rangle_F`,
    and as the problem is convex, :math:`\\nabla^T d - \\min_k \\nabla_k` bounds what is missing. A step costs O(n^3)
    and a pass over the kernel matrices, which are kept in float64 if half of the memory budget is enough for them. No
    kernel at all may diverge less than a wrong one: where one of them is zero, it takes the weight that no other
    deserves.

    References
    ----------
    .. [1] Y. Ying, K. Huang, C. Campbell, Enhanced protein fold recognition through a novel data integration approach,
       BMC Bioinformatics 10, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.mkl import DivConv
    >>> y = np.array([-1, -1, 1, 1])
    >>> DivConv()([np.eye(4), np.outer(y, y)], y).round(3)
    array([0., 1.])
    """

    def _divergence(self, gaussians):
        linear = gaussians.slopes(gaussians.targets_inverse)
        constant = gaussians.sigma * np.trace(gaussians.targets_inverse) - gaussians.n + gaussians.targets_log_det

        def divergence(d: np.ndarray) -> tuple[float, np.ndarray]:
            inverse, log_det = gaussians.inverse(d)
            value = float(linear @ d + constant) - log_det
            return gaussians.mean(value), gaussians.mean(linear - gaussians.slopes(inverse))

        return divergence


class DivDC(Divergence):
    """Weights from whose Gaussian that of the targets diverges least (MKLdiv-dc).

    With :math:`K_x = \\sum_k d_k K_k + \\sigma I` and :math:`K_y = Y Y^T + \\sigma I` [1]_,

    .. math::

        \\min_{d \\ge 0, \\sum_k d_k = 1} \\mathrm{KL}(N(0, K_y) \\,\\|\\, N(0, K_x)) =
        \\tfrac12 \\bigl[\\mathrm{tr}(K_y K_x^{-1}) - n + \\log |K_x| - \\log |K_y|\\bigr].

    The trace is convex in d, :math:`\\log |K_x|` concave: a difference of convex functions.

    Parameters
    ----------
    sigma : float > 0, default=0.1
        :math:`\\sigma`, the noise on both sides. Kernel matrices with a mean diagonal of one, as that of :math:`Y Y^T`
        is, give it a meaning.
    tol : float > 0, default=1e-5
        Largest violation of the optimality conditions, of the divergence for each sample; relative to it where it is
        above one.
    max_iter : int >= 1, default=1000
        Most weights that are tried.

    See Also
    --------
    DivConv : The other direction, which is convex.

    Notes
    -----
    Targets, search and memory are as for `DivConv`; a step costs half as much again, and there are two to three times
    as many. The derivative by :math:`d_k` is
    :math:`\\tfrac12 \\langle K_x^{-1} - K_x^{-1} K_y K_x^{-1}, K_k \\rangle_F`. The problem is not convex, so that
    nothing bounds what is missing to the best weights: :math:`\\nabla^T d - \\min_k \\nabla_k` says how far these are
    from a stationary point. Ying et al. replace the concave part by its tangent, solve the convex problem that is left,
    and so on; the divergence itself is searched here, which takes a fifth of the steps to the same divergence.

    References
    ----------
    .. [1] Y. Ying, K. Huang, C. Campbell, Enhanced protein fold recognition through a novel data integration approach,
       BMC Bioinformatics 10, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.mkl import DivDC
    >>> y = np.array([-1, -1, 1, 1])
    >>> DivDC()([np.eye(4), np.outer(y, y)], y).round(3)
    array([0., 1.])
    """

    def _divergence(self, gaussians):
        Y, sigma = gaussians.Y, gaussians.sigma

        def divergence(d: np.ndarray) -> tuple[float, np.ndarray]:
            inverse, log_det = gaussians.inverse(d)
            PY = inverse @ Y
            trace = float(np.vdot(Y, PY)) + sigma * float(np.trace(inverse))
            value = trace - gaussians.n + log_det - gaussians.targets_log_det
            slopes = gaussians.slopes(inverse - PY @ PY.T - sigma * (inverse @ inverse.T))
            return gaussians.mean(value), gaussians.mean(slopes)

        return divergence


class Gaussians:
    """Zero-mean Gaussians whose covariances are a combined kernel and the ideal one, both with noise.

    Samples of weight 2 are there twice: with R the diagonal matrix of the roots of the weights, RKR stands for K.
    """

    def __init__(self, stack: GramStack | MatrixStack, Y: np.ndarray, weight: np.ndarray, sigma: float):
        self.stack, self.sigma, self.n = stack, sigma, stack.n
        self.root, self._samples = np.sqrt(weight), float(weight.sum())
        self.Y = self.root[:, np.newaxis] * Y
        fits = 8 * len(stack) * stack.n**2 <= memory_budget(stack.memory) // 2
        self._kept = [stack.matrix(k) for k in range(len(stack))] if fits else None
        # The inverse and the determinant of YY' + sigma I, by those of Y'Y + sigma I.
        small = self.Y.T @ self.Y + sigma * np.eye(self.Y.shape[1])
        self.targets_inverse = (np.eye(self.n) - self.Y @ np.linalg.solve(small, self.Y.T)) / sigma
        self.targets_log_det = (self.n - len(small)) * np.log(sigma) + float(np.linalg.slogdet(small)[1])

    def _matrix(self, k: int) -> np.ndarray:
        return self.stack.matrix(k) if self._kept is None else self._kept[k]

    def mean(self, values: Any) -> Any:
        """Half of the values, for each sample."""
        return 0.5 * values / self._samples

    def inverse(self, d: np.ndarray) -> tuple[np.ndarray, float]:
        """The inverse and the logarithm of the determinant of the covariance of the combined kernel."""
        try:
            factor = cholesky(self._covariance(d).T, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            lowest = float(np.linalg.eigvalsh(self._covariance(d))[0])
            raise indefinite("A divergence", lowest, "the combination") from None
        log_det = 2.0 * float(np.log(np.diagonal(factor)).sum())
        half = dpotri(factor, lower=1, overwrite_c=1)[0]  # above the diagonal there are zeros
        inverse = half + half.T
        inverse[np.diag_indices(self.n)] *= 0.5
        return inverse, log_det

    def _covariance(self, d: np.ndarray) -> np.ndarray:
        total = np.zeros((self.n, self.n))
        used = np.flatnonzero(d).tolist()
        if self._kept is None:
            for k in used:
                total += d[k] * self._matrix(k)
        else:
            _native.sum_of_matrices([self._kept[k] for k in used], d[used], total, effective_n_threads())
        total *= self.root[:, np.newaxis]
        total *= self.root
        total[np.diag_indices(self.n)] += self.sigma
        return total

    def slopes(self, G: np.ndarray) -> np.ndarray:
        """The inner products of a symmetric matrix with all kernel matrices."""
        G = np.ascontiguousarray(self.root[:, np.newaxis] * G * self.root)
        return np.array([np.vdot(G, self._matrix(k)) for k in range(len(self.stack))])


class Point(NamedTuple):
    """A function of weights that add up to one, at some of them."""

    weights: np.ndarray
    value: float
    slopes: np.ndarray

    @property
    def violation(self) -> float:
        """How steeply it still falls towards a corner of the simplex; of a convex one at most so much is missing."""
        return max(0.0, float(self.slopes @ self.weights) - float(self.slopes.min()))

    def within(self, tol: float) -> bool:
        """Whether that is small enough."""
        return self.violation <= tol * max(1.0, abs(self.value))


class _GoodEnough(Exception):
    """There is no need to go on."""


Function = Callable[[np.ndarray], tuple[float, np.ndarray]]


def _lowest(function: Function, first: Point, tol: float, max_iter: int) -> tuple[Point, int]:
    """Where a smooth function is lowest, of all places or of those nearby, and how many points were tried.

    Sequential quadratic programming, which ends where a point that is not above the first one is good enough.
    """
    best, tried = first, 0

    def at(x: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal best, tried
        d = np.where(x > NEGLIGIBLE, x, 0.0)
        point = Point(d / d.sum(), *function(d / d.sum()))
        tried += 1
        good = point.within(tol) and point.value <= first.value
        if good or point.value < best.value:
            best = point
        if good or tried >= max_iter:
            raise _GoodEnough
        return point.value, point.slopes

    if len(first.weights) > 1:
        with suppress(_GoodEnough):
            minimize(
                at,
                first.weights,
                jac=True,
                method="SLSQP",
                bounds=[(0.0, 1.0)] * len(first.weights),
                constraints={"type": "eq", "fun": lambda d: d.sum() - 1.0, "jac": np.ones_like},
                options={"maxiter": max_iter, "ftol": np.finfo(float).tiny},
            )
    return best, tried
