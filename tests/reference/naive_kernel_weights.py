"""Random problems of learning weights of kernels, and their optimum from plain formulas and whole matrices."""

import clarabel
import numpy as np
from reference.conic import (
    FORMULATIONS,
    Optimum,
    conic_optimum,
    equalities_of,
    random_data,
)
from scipy.optimize import minimize_scalar
from scipy.sparse import csc_array

from mercer.gram import GramStack, MatrixGram
from mercer.kernels import Indexed
from mercer.problems import Elastic, Groups, KernelWeightsProblem, NormBall, Simplex

# --- random problems --------------------------------------------------------------------------------------


def random_matrices(K, n_kernels, rng):
    """Positive semi-definite matrices of very different sizes, made from one of them: the first is K itself."""
    n, diagonal = len(K), np.diag(K)
    distances = np.maximum(0.0, diagonal[:, np.newaxis] + diagonal - 2 * K)
    unit = distances.mean() or 1.0
    made = [K]
    for k in range(1, n_kernels):
        if k % 3 == 1:  # Gaussian, of some width, in the space of K
            matrix = np.exp(-distances / unit * 10 ** rng.uniform(-1, 1))
        elif k % 3 == 2:  # of low rank
            features = rng.normal(size=(n, 3))
            matrix = features @ features.T
        else:
            matrix = (K / diagonal.max() + 1) ** 2
        made.append(matrix * 10 ** rng.uniform(-2, 2))
    return made


def random_weights_problem(formulations, seed, weights, n_kernels=5, **options):
    """Machines of some `FORMULATIONS` that share the weights, over `random_matrices`."""
    names = [formulations] if isinstance(formulations, str) else list(formulations)
    machines = [FORMULATIONS[name](random_data(seed, separable="hard margin" in names)) for name in names]
    rng = np.random.default_rng(1000 + seed)
    K = machines[0].gram.rows(np.arange(machines[0].gram.n))
    matrices = random_matrices(K, n_kernels, rng)
    stack = GramStack([Indexed(matrix) for matrix in matrices], np.arange(len(K)), **options)
    return KernelWeightsProblem(stack, machines, weights)


# --- the optimum ------------------------------------------------------------------------------------------


def matrices_of(problem):
    """The scaled matrices with their ridge, written out."""
    stack = problem.stack
    return [
        factor * kernel(stack.X) + stack.ridge * np.eye(stack.n)
        for factor, kernel in zip(stack.factors, stack.kernels, strict=True)
    ]


def over(problem, weights):
    """The machines over the weighted sum of the matrices."""
    total = sum(d * K for d, K in zip(weights, matrices_of(problem), strict=True))
    return problem.over(MatrixGram(total, definite=True))


def value_of(problem, weights):
    """J(d), by the conic solver, and how exactly it is known."""
    optima = [conic_optimum(machine) for machine in over(problem, weights)]
    return -sum(optimum.value for optimum in optima), sum(optimum.accuracy for optimum in optima)


def energies_of(problem, points):
    """S(a)."""
    found = []
    for K in matrices_of(problem):
        total = 0.0
        for machine, a in zip(problem.problems, points, strict=True):
            signed = machine.sign * a
            total += 0.5 * signed @ K[np.ix_(machine.index, machine.index)] @ signed
        found.append(total)
    return np.array(found)


def support_function(weights, S):
    """The largest d'S over the weights of a set, by its own formula."""
    if isinstance(weights, Simplex):
        return S.max()
    if isinstance(weights, NormBall):
        q = 1.0 if np.isinf(weights.p) else weights.p / (weights.p - 1.0)
        return S.max() * np.sum((S / S.max()) ** q) ** (1.0 / q)
    if isinstance(weights, Groups):
        return max(support_function(weights.inside, S[part]) for part in weights.parts)
    assert isinstance(weights, Elastic)

    def dual(log_nu):
        nu = np.exp(log_nu)
        return nu + np.sum(np.maximum(0.0, S - nu * (1 - weights.mix)) ** 2) / (4 * weights.mix * nu)

    middle = np.log(S.max())
    return minimize_scalar(dual, bounds=(middle - 8, middle + 8), method="bounded", options={"xatol": 1e-12}).fun


def bound_of(problem, points):
    """What points that satisfy their constraints prove of the optimum over all weights of the set."""
    linear = -sum(
        machine.linear @ a + 0.5 * machine.ridge @ a**2 for machine, a in zip(problem.problems, points, strict=True)
    )
    return linear - support_function(problem.weights, energies_of(problem, points))


def qclp_optimum(problem):
    """The optimum over the simplex: max L(a) - u with S_k(a) <= u for every k. [CY eqs 3.50-3.52]

    With u = t^2 / 2 every S_k <= u is a cone |z| <= t, where z is the root of K_k, found by its eigenvalues, times c.
    The variables are a / size and t / length, for a size and a length near theirs, which leaves more digits.
    """
    assert isinstance(problem.weights, Simplex)
    machines, sizes = problem.problems, [len(machine.index) for machine in problem.problems]
    n, rows, sides, cones = sum(sizes), [], [], []
    finite = np.concatenate([machine.upper[np.isfinite(machine.upper)] for machine in machines])
    size = finite.max(initial=1.0)
    length = size * max(np.sqrt(np.trace(K)) for K in matrices_of(problem))

    def add(block, last, side, cone):
        rows.append(np.column_stack([block, last]))
        sides.append(side)
        cones.append(cone)

    starts = np.cumsum([0, *sizes])
    for machine, first in zip(machines, starts, strict=False):
        here = np.eye(n)[first : first + len(machine.index)]
        for row, target in equalities_of(machine):
            add(row @ here[np.newaxis], [0.0], [target / size], clarabel.ZeroConeT(1))
        bounded = np.isfinite(machine.upper)
        add(-here, np.zeros(len(here)), np.zeros(len(here)), clarabel.NonnegativeConeT(len(here)))
        if bounded.any():
            add(
                here[bounded],
                np.zeros(bounded.sum()),
                machine.upper[bounded] / size,
                clarabel.NonnegativeConeT(bounded.sum()),
            )
    for K in matrices_of(problem):
        eigenvalues, vectors = np.linalg.eigh(K)
        root = (vectors * np.sqrt(np.maximum(0.0, eigenvalues))).T
        block = np.zeros((1 + len(machines) * len(K), n))
        for m, (machine, first) in enumerate(zip(machines, starts, strict=False)):
            part = block[1 + m * len(K) : 1 + (m + 1) * len(K)]
            part[:, first : first + len(machine.index)] = size / length * root[:, machine.index] * machine.sign
        add(block, -np.eye(len(block), 1), np.zeros(len(block)), clarabel.SecondOrderConeT(len(block)))
    P = csc_array(np.diag(np.concatenate([*((size / length) ** 2 * machine.ridge for machine in machines), [1.0]])))
    q = np.concatenate([*(size / length**2 * machine.linear for machine in machines), [0.0]])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    for tolerance in (1e-10, 1e-9, 1e-8, 1e-7):
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        found = clarabel.DefaultSolver(
            P, q, csc_array(np.concatenate(rows)), np.concatenate(sides), cones, settings
        ).solve()
        if found.status == clarabel.SolverStatus.Solved:
            return Optimum(
                -(length**2) * found.obj_val, -(length**2) * found.obj_val_dual, size * np.array(found.x[:-1])
            )
    raise ArithmeticError(f"the conic solver ended with {found.status}")
