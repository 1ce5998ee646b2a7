"""Newton's method for the weights of kernels."""

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from mercer.gram import MatrixGram
from mercer.problems import DualProblem, KernelWeightsProblem
from mercer.solvers.kernel_weights.base import KernelWeightsSolver, Search, Trial
from mercer.solvers.kernel_weights.cuts import Cuts
from mercer.solvers.kernel_weights.level import level_step
from mercer.solvers.smo import SMO
from mercer.threads import one_blas_thread

__all__ = ["NewtonMethod", "newton_step", "second_derivatives"]

# By a Newton step J is to fall by this part of what the model says; if not, a step of the level method follows.
ENOUGH = 0.1
# Free variables above this number are thinned out evenly: the factor of their matrix would cost more than it saves.
MOST_FREE = 3000
# Added to the diagonal of that matrix, in parts of its mean: enough for a factor in spite of rounding to float32.
JITTER = 1e-6
# Violation of the quadratic programme for the next weights, in the unit of the largest energy.
STEP_TOL = 1e-7
# Weights below this are zero: their kernels are left out of the sums.
NEGLIGIBLE = 1e-9


class NewtonMethod(KernelWeightsSolver):
    """Newton's method: the weights at which a quadratic model of J is smallest are tried next. [1]_

    While the variables at bounds stay there, the free ones follow the weights by a linear system, and so J has the
    second derivatives

    .. math::

        \\frac{\\partial^2 J}{\\partial d_k \\partial d_l} = q_k^T P q_l, \\quad q_k = s \\circ K_k c,

    where P is the inverse of the free variables' matrix Q within the equality. Where J does not fall as it
    should, because the set of free variables changes or the solution a is not unique, a step of the level method
    follows, so that the optimum is reached in any case.

    Parameters
    ----------
    gap_tol, tol, max_iter, max_seconds, memory, n_threads
        See `KernelWeightsSolver`.

    Notes
    -----
    A trial costs a machine, started from the last one, two passes over the kernel matrices (one over those that are
    computed again, for a machine of two classes), and O(f^3 + f^2 p + f p^2) for f free support vectors, of which 3000
    are used at most, and p kernels; their matrix is held twice in float64. Few trials are needed: about five for 20
    kernels and a relative gap of 1e-5, ten for hundreds.

    References
    ----------
    .. [1] O. Chapelle, A. Rakotomamonjy, Second order optimization of kernel parameters, NIPS workshop on kernel
       learning, 2008.
    """

    _simplex_only = True
    _joint_too = False

    def _run(self, search: Search) -> None:
        search.sharpen()  # derivatives are worth it
        cuts = Cuts(search)
        while search.status is None:
            assert search.best is not None
            at = search.best
            weights, promised = newton_step(search.problem, at)
            trial = cuts.try_weights(weights)
            if search.status is None and trial.value > at.upper - ENOUGH * promised:
                weights = level_step(search, cuts)
                if search.status is None:
                    cuts.try_weights(weights)


def newton_step(problem: KernelWeightsProblem, at: Trial) -> tuple[np.ndarray, float]:
    """The weights of the simplex where J is smallest, by its derivatives at a trial, and by how much it is to fall."""
    p, unit = len(at.weights), float(at.energies.max()) or 1.0
    with one_blas_thread():
        H = second_derivatives(problem, at) / unit
    slope = -at.energies / unit - H @ at.weights
    model = DualProblem(MatrixGram.of_checked(H, True), np.arange(p), np.ones(p), slope, np.ones(p), np.zeros(p), 1.0)
    d = SMO(tol=STEP_TOL, precision="float64", n_threads=1).solve(model, at.weights).a
    d = np.where(d > NEGLIGIBLE, d, 0.0)
    d /= d.sum()
    moved = d - at.weights
    return d, float(at.energies @ moved) - 0.5 * unit * float(moved @ H @ moved)


def second_derivatives(problem: KernelWeightsProblem, at: Trial) -> np.ndarray:
    """Of J with respect to the weights, shape (n_kernels, n_kernels)."""
    stack, p = problem.stack, len(at.weights)
    coefficients = problem.coefficients(at.points)
    H = np.zeros((p, p))
    for t, (part, a) in enumerate(zip(problem.problems, at.points, strict=True)):
        free = np.flatnonzero((a > 0) & (a < part.upper))
        free = free[:: len(free) // MOST_FREE + 1]
        if len(free):
            slopes = stack.products(coefficients[[t]], part.index[free]) * part.sign[free]
            G = _whitened(stack.square(at.weights, part.index[free]), part, free, slopes)
            H += G.T @ G
    return H


def _whitened(K: np.ndarray, part: DualProblem, free: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """A root of P times the slopes: L^-1 q_k, less what the equalities forbid, with LL' = Q; a column per kernel."""
    sign = part.sign[free]
    Q, diagonal = K, np.diag_indices_from(K)
    Q *= sign
    Q *= sign[:, np.newaxis]
    Q[diagonal] += part.ridge[free]
    jitter = JITTER * (float(np.trace(Q)) / len(free) or 1.0)
    while True:
        Q[diagonal] += jitter
        try:
            L = cholesky(Q, lower=True, check_finite=False)
            break
        except LinAlgError:
            jitter *= 100.0
    sides = {"none": [], "total": [sign], "per_sign": [(sign > 0).astype(float), (sign < 0).astype(float)]}
    equalities = [row for row in sides[part.equality] if row.any()]
    Z = solve_triangular(L, np.column_stack([slopes.T, *equalities]), lower=True, check_finite=False)
    G, E = Z[:, : len(slopes)], np.linalg.qr(Z[:, len(slopes) :])[0]
    return G - E @ (E.T @ G)
