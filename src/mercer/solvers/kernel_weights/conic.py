"""The problem of the weights as one conic programme."""

from collections.abc import Sequence

import numpy as np
from scipy.linalg.lapack import dpstrf
from scipy.sparse import eye_array

from mercer.extras import require
from mercer.problems import DualProblem, Elastic, Groups, KernelWeightsProblem, NormBall, Simplex, WeightSet
from mercer.solvers.cones import ConicProgramme, tolerances
from mercer.solvers.kernel_weights.base import KernelWeightsSolver, Search

__all__ = ["Conic"]


class Conic(KernelWeightsSolver):
    """The quadratically constrained programme of the weights, by the conic solver Clarabel. [CY eqs 3.50-3.52] [1]_

    .. math::

        \\max_{a, u} L(a) - u \\quad\\text{s.t.}\\quad S_k(a) \\le u \\text{ for all kernels } k

    on the simplex; for other sets D of weights u is at least :math:`\\sigma_D(S(a)) = \\max_{d \\in D} d^T S(a)`. With
    :math:`K_k = F_k F_k^T` and :math:`u = t^2 / 2` the constraints are cones :math:`\\|F_k^T c\\| \\le t`; those of a
    p-norm of weights are power cones, those of the elastic set quadratic ones. The multiplier of the cone of kernel k
    is :math:`\\|w_k\\|`, and the weights are those that make these norms cheapest: for the simplex, the multipliers
    themselves, of sum one.

    An interior point method that owes nothing to the other solvers, to compare them with. Needs the extra ``conic``
    (``pip install mercer[conic]``).

    Parameters
    ----------
    gap_tol, tol, max_iter, max_seconds, memory, n_threads
        See `KernelWeightsSolver`.

    Notes
    -----
    O(m n^3) per step of the package and O(m n^2) memory for m kernels of full rank; a kernel of rank r costs r / n of
    that. The first weights tell the units of the programme alone; its own are then tried, once for every accuracy that
    the package is asked for.

    References
    ----------
    .. [1] F. R. Bach, G. R. G. Lanckriet, M. I. Jordan, Multiple kernel learning, conic duality, and the SMO algorithm,
       ICML 2004.
    """

    _joint_too = False

    def check(self, problem: KernelWeightsProblem) -> None:
        super().check(problem)
        require("clarabel", type(self).__name__)
        if not isinstance(problem.weights, Simplex | Groups | NormBall | Elastic):
            raise TypeError(f"Conic needs weights in a set that it knows, got {type(problem.weights).__name__}.")

    def _run(self, search: Search) -> None:
        assert search.best is not None
        problem, first = search.problem, search.best
        factors = [_factor(problem.stack.matrix(k)) for k in range(len(problem.stack))]
        # The package works best with numbers near one: the units are those of the first machines.
        length = np.sqrt(2.0 * float(problem.weights.best(first.energies) @ first.energies)) or 1.0
        size = max(float(a.max()) for a in first.points) or 1.0
        for tolerance in tolerances(self.gap_tol):
            found = _walk(problem, factors, size, length, tolerance, search.seconds_left)
            if found is None:
                return
            weights, points = found
            search.prove(points)
            search.try_weights(weights, points)
            if search.status is not None:
                return


def _factor(K: np.ndarray) -> np.ndarray:
    """F with K = FF', of as many columns as K has rank; its rows can be ordered so that it is triangular."""
    lower, order, rank, _ = dpstrf(K, lower=1)
    F = np.empty((len(K), rank))
    F[order - 1] = np.tril(lower)[:, :rank]
    return F


def _walk(
    problem: KernelWeightsProblem,
    factors: Sequence[np.ndarray],
    size: float,
    length: float,
    tolerance: float,
    max_seconds: float,
) -> tuple[np.ndarray, list[np.ndarray]] | None:
    """The weights and the points of all machines at the optimum; size is the unit of a, length that of t.

    None where the package gives up, which leaves the search as it was.
    """
    programme = ConicProgramme(Conic.__name__)
    machines = [(machine, _multipliers(programme, machine, size, length)) for machine in problem.problems]
    t = programme.variables(0.0, 1.0)
    norms = _norms(programme, problem.weights, len(factors), t)
    cones = []
    for F, norm in zip(factors, norms, strict=True):  # |z| <= norm, with the F'c of all machines in z
        rank, terms = F.shape[1], [(0, np.eye(1), norm[np.newaxis])]
        for m, (machine, a) in enumerate(machines):
            terms.append((1 + m * rank, F[machine.index].T * (size / length * machine.sign), a))
        cones.append(programme.require("second order", np.zeros(1 + len(machines) * rank), *terms))
    found = programme.solve(tolerance, max_seconds)
    if not found.solved:
        return None
    points = [machine.balanced(np.clip(size * found.x[a], 0.0, machine.upper)) for machine, a in machines]
    lengths = np.array([found.multiplier[cone][0] for cone in cones])
    room = np.array([found.slack[cone][0] - np.linalg.norm(found.slack[cone][1:]) for cone in cones])
    lengths = np.where(lengths > room, lengths, 0.0)  # of both, one is zero at the optimum
    if not lengths.any():
        return problem.weights.uniform(len(factors)), points
    return problem.weights.cheapest(lengths**2), points


def _multipliers(programme: ConicProgramme, machine: DualProblem, size: float, length: float) -> np.ndarray:
    """The variables a of a machine, with their bounds and equalities."""
    share = size / length
    a = programme.variables(share / length * machine.linear, share * share * machine.ridge)
    programme.require("nonnegative", np.zeros(len(a)), (0, eye_array(len(a)), a))
    bounded = np.flatnonzero(np.isfinite(machine.upper))
    if len(bounded):
        programme.require("nonnegative", machine.upper[bounded] / size, (0, -eye_array(len(bounded)), a[bounded]))
    for group, target in machine._groups():
        programme.require("zero", [-target / size], (0, machine.sign[group][np.newaxis], a[group]))
    return a


def _norms(programme: ConicProgramme, weights: WeightSet, n_kernels: int, t: np.ndarray) -> np.ndarray:
    """Variables n, one for each kernel, that are kept where :math:`\\sigma_D(n^2 / 2) \\le t^2 / 2`."""
    if isinstance(weights, Simplex):
        return np.repeat(t, n_kernels)
    if isinstance(weights, Groups):
        norms = np.empty(n_kernels, dtype=int)
        for part in weights.parts:
            norms[part] = _norms(programme, weights.inside, len(part), t)
        return norms
    zero, one = np.zeros(n_kernels), eye_array(n_kernels)
    norms, shares = programme.variables(zero), programme.variables(zero)
    if isinstance(weights, NormBall):
        # The norm of order 1 / alpha = 2 / (1 - 1 / p) is at most t: n_k <= h_k^alpha t^(1 - alpha), sum h <= t.
        alpha = 0.5 * (1.0 - 1.0 / weights.p)
        for n, h in zip(norms, shares, strict=True):
            programme.require("power", np.zeros(3), (0, np.eye(3), np.array([h, t[0], n])), power=alpha)
        programme.require("nonnegative", [0.0], (0, np.eye(1), t), (0, -np.ones((1, n_kernels)), shares))
        return norms
    assert isinstance(weights, Elastic)
    # sigma_D(S) is the smallest nu + g with h >= 0, S <= e = h + (1 - mix) nu and h'h <= 4 mix nu g; all of these but S
    # are in units of t here.
    mix, excess, (nu, g) = weights.mix, programme.variables(zero), programme.variables([0.0, 0.0])
    for n, e in zip(norms, shares, strict=True):
        programme.require_product(np.array([n]), t[0], e)
    programme.require_product(excess, nu, g, 2.0 * mix)
    programme.require("nonnegative", zero, (0, one, excess))
    nus = np.full((n_kernels, 1), 1.0 - mix)
    programme.require("nonnegative", zero, (0, one, excess), (0, nus, np.array([nu])), (0, -one, shares))
    programme.require("nonnegative", [0.0], (0, [[0.5, -1.0, -1.0]], np.array([t[0], nu, g])))
    return norms
