"""Several classes at once, as plain as possible: random problems, their definitions written out, their optimum."""

import numpy as np
from reference.conic import Optimum, minimise
from scipy.sparse import csr_array

from mercer import kernels
from mercer.gram import LinearGram, MatrixGram, make_gram
from mercer.problems import JointProblem, crammer_singer, lee_lin_wahba, weston_watkins

BUILDERS = {"Weston-Watkins": weston_watkins, "Crammer-Singer": crammer_singer, "Lee-Lin-Wahba": lee_lin_wahba}
KERNELS = [
    kernels.Linear(),
    kernels.RBF(gamma=0.5),
    kernels.RBF(gamma=5.0),
    kernels.Polynomial(degree=2, gamma=1.0, coef0=1.0),
]


def random_joint(machine: str, seed: int, bias: bool, n_classes: int | None = None) -> JointProblem:
    """Samples of 2 to 5 classes, some of them twice with another label; a part of them in every third problem."""
    rng = np.random.default_rng(seed)
    K = int(rng.integers(2, 6)) if n_classes is None else n_classes
    n = int(rng.integers(K + 3, 28))
    label = np.concatenate([np.arange(K), rng.integers(K, size=n - K)])
    X = rng.normal(size=(n, 2))
    X[:, 0] += label * rng.choice([0.3, 1.0, 2.0])
    X = np.concatenate([X, X[: n // 4]])
    label = np.concatenate([label, rng.integers(K, size=n // 4)])
    index = np.arange(len(X))
    if seed % 3 == 1:
        index = np.concatenate([np.arange(K), rng.permutation(np.arange(K, len(X)))[: len(X) // 2]])
    kernel = KERNELS[seed % len(KERNELS)]
    gram = MatrixGram(kernel(X), definite=True) if seed % 2 else make_gram(kernel, X)
    weight = rng.uniform(0.2, 2.0, size=len(index)) if seed % 3 == 0 else np.ones(len(index))
    return BUILDERS[machine](gram, label[index], 10 ** rng.uniform(-1, 2) * weight, bias=bias, index=index)


def random_linear_joint(machine: str, seed: int, bias: bool, n_classes: int | None = None) -> JointProblem:
    """As `random_joint`, over weights of 1 to 5 features; every second problem with a constant feature."""
    rng = np.random.default_rng(seed)
    K = int(rng.integers(2, 6)) if n_classes is None else n_classes
    n = int(rng.integers(K + 3, 28))
    label = np.concatenate([np.arange(K), rng.integers(K, size=n - K)])
    X = rng.normal(size=(n, int(rng.integers(1, 6))))
    X[:, 0] += label * rng.choice([0.3, 1.0, 2.0])
    gram = LinearGram(csr_array(X) if seed % 3 == 0 else X, constant=1.5 * (seed % 2))
    return BUILDERS[machine](gram, label, 10 ** rng.uniform(-1, 2) * rng.uniform(0.2, 2.0, size=n), bias=bias)


def matrix_of(problem: JointProblem) -> np.ndarray:
    return problem.gram.rows(np.arange(problem.gram.n))[np.ix_(problem.index, problem.index)]


def primal_objective(machine: str, problem: JointProblem, coefficients: np.ndarray, intercepts: np.ndarray) -> float:
    """What the machine minimises, from its definition, class by class and sample by sample."""
    gram = problem.gram.rows(np.arange(problem.gram.n))
    n_classes = len(intercepts)
    value = sum(0.5 * coefficients[k] @ gram @ coefficients[k] for k in range(n_classes))
    for i, y, cost in zip(problem.index, problem.label, problem.cost, strict=True):
        f = [gram[i] @ coefficients[k] + intercepts[k] for k in range(n_classes)]
        others = [k for k in range(n_classes) if k != y]
        if machine == "Weston-Watkins":
            value += cost * sum(max(0.0, 1 - (f[y] - f[k])) for k in others)
        elif machine == "Crammer-Singer":
            value += cost * max(0.0, 1 + max(f[k] for k in others) - f[y])
        else:
            assert abs(sum(f)) <= 1e-9 * max(1.0, max(map(abs, f)))
            value += cost * sum(max(0.0, f[k] + 1 / (n_classes - 1)) for k in others)
    return float(value)


def conic_joint(problem: JointProblem) -> Optimum:
    """The optimum of the dual, every multiplier a variable of its own."""
    K, n, n_classes = matrix_of(problem), len(problem.index), problem.n_classes
    variables = [(i, k) for i in range(n) for k in range(n_classes) if k != problem.label[i]]
    B = np.zeros((len(variables), n, n_classes))  # what each variable does to the coefficients
    for v, (i, k) in enumerate(variables):
        if problem.margin == "relative":
            B[v, i, problem.label[i]] = 1.0
        else:
            B[v, i] = 1.0 / n_classes
        B[v, i, k] -= 1.0
    Q = sum(B[:, :, k] @ K @ B[:, :, k].T for k in range(n_classes))
    linear = np.full(len(variables), -problem.target)
    cost = np.array([problem.cost[i] for i, _ in variables])
    equal = [(B[:, :, k].sum(axis=1), 0.0) for k in range(n_classes - 1)] if problem.bias else []
    tolerances = (1e-10, 1e-9, 1e-8, 1e-7)
    if problem.errors == "sum":
        return minimise(Q, linear, cost, equal=equal, tolerances=tolerances)
    at_most = [(np.array([float(j == i) for j, _ in variables]), problem.cost[i]) for i in range(n)]
    unlimited = np.full(len(variables), np.inf)
    return minimise(Q, linear, unlimited, equal=equal, at_most=at_most, tolerances=tolerances)


def naive_joint(problem: JointProblem, steps: int = 4000) -> np.ndarray:
    """Multipliers by accelerated projected gradients; without offsets."""
    assert not problem.bias
    K, n, n_classes = matrix_of(problem), len(problem.index), problem.n_classes
    own = np.eye(n_classes)[problem.label]

    def coefficients(a):
        if problem.margin == "relative":
            return a.sum(axis=1, keepdims=True) * own - a
        return a.mean(axis=1, keepdims=True) - a

    def project(a):
        a = np.maximum(a, 0.0) * (1 - own)
        for i in range(n):
            c = problem.cost[i]
            if problem.errors == "sum":
                a[i] = np.minimum(a[i], c)
            elif a[i].sum() > c:
                low, high = 0.0, a[i].max()
                for _ in range(60):
                    shift = 0.5 * (low + high)
                    low, high = (shift, high) if np.maximum(a[i] - shift, 0).sum() > c else (low, shift)
                a[i] = np.maximum(a[i] - high, 0.0)
        return a

    step = 1.0 / (np.linalg.eigvalsh(K)[-1] * n_classes)
    a = before = np.zeros((n, n_classes))
    momentum = 1.0
    for _ in range(steps):
        faster = 0.5 * (1 + np.sqrt(1 + 4 * momentum**2))
        ahead = a + (momentum - 1) / faster * (a - before)
        F = K @ coefficients(ahead)
        gradient = -F if problem.margin == "absolute" else (F * own).sum(axis=1, keepdims=True) - F
        before, a = a, project(ahead - step * (gradient - problem.target))
        momentum = faster
    return a
