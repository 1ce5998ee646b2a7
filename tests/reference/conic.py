"""Random problems of every formulation, and their optimum by a conic solver.

Everything here is dense, in float64 and as plain as possible: it is what the solvers are measured against.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import clarabel
import numpy as np
from scipy.sparse import csc_array
from threadpoolctl import ThreadpoolController

from mercer import kernels
from mercer.gram import MatrixGram, make_gram
from mercer.problems import (
    DualProblem,
    enclosing_ball,
    epsilon_tube,
    nu_margin,
    nu_tube,
    one_class,
    pinball,
    soft_margin,
)

# --- the optimum ------------------------------------------------------------------------------------------

BLAS = ThreadpoolController()
Row = tuple[np.ndarray, float]  # coefficients of the variables, right-hand side


class Optimum(NamedTuple):
    """What the conic solver found; the true optimum lies between bound and value, up to rounding."""

    value: float
    bound: float
    a: np.ndarray

    @property
    def accuracy(self) -> float:
        """What comparisons with `value` must allow for."""
        return abs(self.value - self.bound) + 1e-9 * max(1.0, abs(self.value))


def minimise(
    Q, p, upper, *, equal: Iterable[Row] = (), at_most: Iterable[Row] = (), tolerances: Iterable[float] = (1e-10, 1e-9)
) -> Optimum:
    """min 1/2 a'Qa + p'a, 0 <= a <= upper, under further equalities and inequalities.

    With Q = LL', the conic solver is given 1/2 |z|^2 + p'a and z = L'a, which it solves to more digits.
    """
    n, equal, at_most = len(p), list(equal), list(at_most)
    with BLAS.limit(limits=1):  # many small matrices, and other tests beside this one
        eigenvalues, vectors = np.linalg.eigh(Q)
    kept = eigenvalues > 1e-14 * max(eigenvalues[-1], 1e-300)
    L = vectors[:, kept] * np.sqrt(eigenvalues[kept])
    rank = L.shape[1]
    bounded = np.flatnonzero(np.isfinite(upper))
    rows = [L.T, *(np.atleast_2d(row) for row, _ in equal), *(np.atleast_2d(row) for row, _ in at_most)]
    rows = np.concatenate([*rows, -np.eye(n), np.eye(n)[bounded]])
    A = csc_array(np.hstack([rows, -np.eye(len(rows), rank)]))
    sides = [value for _, value in [*equal, *at_most]]
    b = np.concatenate([np.zeros(rank), sides, np.zeros(n), upper[bounded]])
    P = csc_array(np.diag(np.concatenate([np.zeros(n), np.ones(rank)])))
    n_equal = rank + len(equal)
    cones = [clarabel.ZeroConeT(n_equal)] if n_equal else []
    cones.append(clarabel.NonnegativeConeT(len(b) - n_equal))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    for tolerance in tolerances:  # rounding keeps it from the first now and then; `accuracy` tells
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        solution = clarabel.DefaultSolver(P, np.concatenate([p, np.zeros(rank)]), A, b, cones, settings).solve()
        if solution.status == clarabel.SolverStatus.Solved:
            return Optimum(solution.obj_val, solution.obj_val_dual, np.array(solution.x[:n]))
    raise ArithmeticError(f"the conic solver ended with {solution.status}")


def matrix_of(problem: DualProblem) -> np.ndarray:
    """Q, written out."""
    K = problem.gram.rows(np.arange(problem.gram.n))[np.ix_(problem.index, problem.index)]
    return np.outer(problem.sign, problem.sign) * K + np.diag(problem.ridge)


def equalities_of(problem: DualProblem) -> list[Row]:
    """The rows of the equality constraints, and their values."""
    s = problem.sign
    if problem.total is None:
        return []
    if isinstance(problem.total, tuple):
        return [((s > 0).astype(float), problem.total[0]), ((s < 0).astype(float), problem.total[1])]
    return [(s, problem.total)]


def conic_optimum(problem: DualProblem) -> Optimum:
    """The optimum of a problem."""
    return minimise(matrix_of(problem), problem.linear, problem.upper, equal=equalities_of(problem))


def naive_violation(problem: DualProblem, a: np.ndarray) -> float:
    """By how much the best pair (or variable) could still improve, written as it is defined. [CY eq 1.61]"""
    s, u = problem.sign, problem.upper
    G = matrix_of(problem) @ a + problem.linear
    worst = 0.0
    for i in range(len(a)):
        if problem.total is None:
            worst = max(worst, -G[i] if a[i] < u[i] else 0.0, G[i] if a[i] > 0 else 0.0)
            continue
        for j in range(len(a)):
            same_equality = not isinstance(problem.total, tuple) or s[i] == s[j]
            i_grows = a[i] < u[i] if s[i] > 0 else a[i] > 0
            j_shrinks = a[j] > 0 if s[j] > 0 else a[j] < u[j]
            if same_equality and i_grows and j_shrinks:
                worst = max(worst, s[j] * G[j] - s[i] * G[i])
    return worst


# --- random problems --------------------------------------------------------------------------------------

KERNELS = [
    kernels.Linear(),
    kernels.RBF(gamma=0.5),
    kernels.RBF(gamma=5.0),
    kernels.Polynomial(degree=2, gamma=1.0, coef0=1.0),
    kernels.Laplacian(gamma=0.5),
    kernels.Linear() + 0.5 * kernels.RBF(gamma=1.0),
]


class Data(NamedTuple):
    gram: object
    index: np.ndarray  # the samples that take part
    labels: np.ndarray  # +1 and -1 for the samples of index, both of them there
    values: np.ndarray
    weight: np.ndarray
    rng: np.random.Generator


def random_data(seed: int, *, separable: bool = False) -> Data:
    """Samples with some duplicates, in one of the kernels and one of the forms of a Gram matrix.

    Duplicates may have different labels, unless the data are to be separable: by a plane, with a gap.
    """
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(6, 31)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, d))
    direction = rng.normal(size=d)
    direction /= np.linalg.norm(direction)
    labels = np.where(X @ direction + (0 if separable else rng.normal(size=n)) > 0, 1.0, -1.0)
    labels[:2] = 1.0, -1.0
    if separable:
        X[:2] = 0.0
        X += 0.3 * labels[:, np.newaxis] * direction
    repeated = rng.integers(2, n, size=n // 4)
    X = np.concatenate([X, X[repeated]])
    labels = np.concatenate([labels, labels[repeated] if separable else -labels[repeated]])
    index = np.arange(len(X))
    if seed % 3 == 0:  # a part of the samples only, in another order
        index = np.concatenate([[0, 1], rng.permutation(np.arange(2, len(X)))[: len(X) // 2 + 1]])
    kernel = KERNELS[int(rng.integers(len(KERNELS)))]
    gram = MatrixGram(kernel(X), definite=True) if seed % 2 else make_gram(kernel, X)
    values = np.sin(2 * X[index, 0]) + 0.3 * rng.normal(size=len(index))
    weight = rng.uniform(0.2, 2.0, size=len(index)) if seed % 4 == 0 else np.ones(len(index))
    return Data(gram, index, labels[index], values, weight, rng)


def price(data: Data) -> float:
    return float(10 ** data.rng.uniform(-1, 2))


def hard(data: Data) -> DualProblem:
    return soft_margin(data.gram, data.labels, np.full(len(data.index), np.inf), index=data.index)


def hinge(data: Data, **options) -> DualProblem:
    cost = price(data) * data.weight
    return soft_margin(data.gram, data.labels, cost, index=data.index, **options)


def asymmetric(data: Data, **options) -> DualProblem:
    cost = price(data) * np.where(data.labels > 0, 5.0, 0.5) * data.weight
    return soft_margin(data.gram, data.labels, cost, index=data.index, **options)


def nu_classes(data: Data) -> DualProblem:
    largest = 2 * min(data.weight[data.labels == side].sum() for side in (-1, 1)) / data.weight.sum()
    nu = largest * data.rng.uniform(0.1, 0.95)
    return nu_margin(data.gram, data.labels, nu, data.weight, index=data.index)


def tube(data: Data, **options) -> DualProblem:
    epsilon = float(data.rng.choice([0.0, 0.1, 0.5]))
    return epsilon_tube(data.gram, data.values, price(data) * data.weight, epsilon, index=data.index, **options)


def nu_values(data: Data) -> DualProblem:
    nu = data.rng.uniform(0.1, 0.9)
    return nu_tube(data.gram, data.values, price(data) * data.weight, nu, index=data.index)


def quantile(data: Data, **options) -> DualProblem:
    share = float(data.rng.uniform(0.1, 0.9))
    return pinball(data.gram, data.values, price(data) * data.weight, share, index=data.index, **options)


def plane(data: Data) -> DualProblem:
    return one_class(data.gram, data.rng.uniform(0.05, 1.0), data.weight, index=data.index)


def ball(data: Data) -> DualProblem:
    return enclosing_ball(data.gram, data.rng.uniform(0.05, 1.0), data.weight, index=data.index)


FORMULATIONS: dict[str, Callable[[Data], DualProblem]] = {
    "hard margin": hard,
    "hinge": hinge,
    "hinge, asymmetric": asymmetric,
    "hinge, no bias": lambda data: hinge(data, bias=False),
    "squared hinge": lambda data: hinge(data, squared=True),
    "squared hinge, asymmetric": lambda data: asymmetric(data, squared=True),
    "squared hinge, no bias": lambda data: hinge(data, squared=True, bias=False),
    "nu margin": nu_classes,
    "epsilon tube": tube,
    "epsilon tube, squared": lambda data: tube(data, squared=True),
    "nu tube": nu_values,
    "quantile": quantile,
    "quantile, no bias": lambda data: quantile(data, bias=False),
    "one class": plane,
    "enclosing ball": ball,
}


def random_problem(formulation: str, seed: int) -> DualProblem:
    """A small problem of one of the `FORMULATIONS`, the same for the same seed."""
    return FORMULATIONS[formulation](random_data(seed, separable=formulation == "hard margin"))
