"""Weights and machines learnt together by sequential minimal optimisation: against others, a twin, and limits."""

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer.gram import GramStack
from mercer.kernels import RBF, Indexed, Linear
from mercer.problems import (
    Elastic,
    Groups,
    KernelWeightsProblem,
    NormBall,
    Simplex,
    WeightSet,
    crammer_singer,
    epsilon_tube,
    nu_margin,
    nu_tube,
    one_class,
    soft_margin,
)
from mercer.solvers import SMO
from mercer.solvers.kernel_weights import Alternating, JointSMO, LevelMethod

KERNELS = [Linear(), *(RBF(gamma=g) for g in (0.01, 0.1, 1.0, 10.0))]
SETS = {
    "ball of 1.1": NormBall(1.1),
    "ball of 2": NormBall(2.0),
    "elastic": Elastic(0.3),
    "groups": Groups([0, 1, 1, 2, 2], 2.0),
    "simplex": Simplex(),
}
every_set = pytest.mark.parametrize("weights", SETS.values(), ids=SETS)


def samples(n=80):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    sign = np.where(X[:, 0] ** 2 + X[:, 1] + 0.5 * rng.normal(size=n) > 1, 1.0, -1.0)
    return X, sign


def tube(gram, X):
    return epsilon_tube(gram, np.sin(2 * X[:, 0]), np.ones(len(X)), 0.1)


MACHINES = {
    "margin": lambda gram, X, sign: [soft_margin(gram, sign, np.full(len(X), 2.0))],
    "large C": lambda gram, X, sign: [soft_margin(gram, sign, np.full(len(X), 1e5))],
    "no offset": lambda gram, X, sign: [soft_margin(gram, sign, np.full(len(X), 2.0), bias=False)],
    "squared errors": lambda gram, X, sign: [soft_margin(gram, sign, np.full(len(X), 2.0), squared=True)],
    "nu margin": lambda gram, X, sign: [nu_margin(gram, sign, 0.4, np.ones(len(X)))],
    "tube": lambda gram, X, sign: [tube(gram, X)],
    "nu tube": lambda gram, X, sign: [nu_tube(gram, np.sin(2 * X[:, 0]), np.ones(len(X)), 0.3)],
    "one class": lambda gram, X, sign: [one_class(gram, 0.3, np.ones(len(X)))],
    "several": lambda gram, X, sign: [
        soft_margin(gram, sign, np.ones(len(X))),
        soft_margin(gram, np.where(X[:, 2] > 0, 1.0, -1.0), np.full(len(X), 0.5)),
        tube(gram, X),
    ],
}


def problem_of(weights, machine="margin", kernels=KERNELS, n=80):
    X, sign = samples(n)
    stack = GramStack(kernels, X)
    gram = stack.combination(weights.uniform(len(stack)))
    return KernelWeightsProblem(stack, MACHINES[machine](gram, X, sign), weights)


@every_set
@pytest.mark.parametrize("machine", MACHINES)
def test_agrees_with_the_others(weights, machine):
    problem = problem_of(weights, machine)
    gap_tol = 1e-3 if isinstance(weights, Simplex | Groups) else 1e-5
    found = JointSMO(gap_tol=gap_tol).solve(problem)
    other = (LevelMethod if isinstance(weights, Simplex) else Alternating)(gap_tol=gap_tol).solve(problem)
    assert found.status == "solved" and other.status == "solved"
    assert found.relative_gap <= gap_tol
    rounding = 1e-12 * abs(found.objective)
    assert found.bound <= other.objective + rounding and other.bound <= found.objective + rounding


def naive(K, sign, C, q):
    """The smallest -sum(a) + the q-norm of the energies, by a general solver."""

    def energies(a):
        return 0.5 * np.einsum("i,kij,j->k", sign * a, K, sign * a)

    def value(a):
        return -a.sum() + np.linalg.norm(energies(a), q)

    def gradient(a):
        S, F = energies(a), K @ (sign * a)
        return -1 + sign * ((S / np.linalg.norm(S, q)) ** (q - 1) @ F)

    n = len(sign)
    found = minimize(
        value,
        np.full(n, 0.5 * C / n) * np.where(sign > 0, 1 / (sign > 0).sum(), 1 / (sign < 0).sum()),
        jac=gradient,
        bounds=[(0, C)] * n,
        constraints={"type": "eq", "fun": lambda a: sign @ a, "jac": lambda a: sign},
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert found.success
    return found.fun


@pytest.mark.parametrize("p", [1.2, 2.0, 5.0])
def test_naive_twin(p):
    problem = problem_of(NormBall(p), n=25)
    _, sign = samples(25)
    K = np.array([problem.stack.matrix(k) for k in range(len(KERNELS))])
    found = JointSMO(gap_tol=1e-7).solve(problem)
    assert found.objective == pytest.approx(-naive(K, sign, 2.0, p / (p - 1)), rel=1e-6)


def test_large_p_is_the_plain_sum():
    problem = problem_of(NormBall(np.inf))
    found = JointSMO(gap_tol=1e-6).solve(problem)
    assert (found.weights == 1.0).all()
    plain = SMO(tol=1e-5).solve(problem.over(problem.stack.exact(np.ones(len(KERNELS))))[0])
    assert found.objective == pytest.approx(-plain.objective, rel=1e-5)
    nearly = JointSMO(gap_tol=1e-6).solve(problem_of(NormBall(1e4)))
    assert nearly.objective == pytest.approx(found.objective, rel=1e-3)


@every_set
def test_kernels_without_use(weights):
    X, sign = samples()
    useful, nothing, constant = [kernel(X) for kernel in KERNELS[:3]], np.zeros((80, 80)), np.ones((80, 80))
    stack = GramStack([Indexed(K) for K in (*useful, nothing, constant)], np.arange(80))
    problem = KernelWeightsProblem(stack, MACHINES["margin"](stack.combination(weights.uniform(5)), X, sign), weights)
    found = JointSMO().solve(problem)
    assert found.status == "solved"
    assert found.energies[3] == 0 and found.energies[4] <= 1e-9 * found.energies.max()


def test_identical_kernels_share():
    problem = problem_of(NormBall(1.5), kernels=[RBF(gamma=0.5), RBF(gamma=0.5), Linear()])
    found = JointSMO(gap_tol=1e-6).solve(problem)
    assert found.weights[0] == pytest.approx(found.weights[1], rel=1e-9)


@pytest.mark.parametrize("weights", [NormBall(1.5), Simplex()], ids=["ball", "simplex"])
def test_any_number_of_threads(weights):
    one, three = (JointSMO(n_threads=n).solve(problem_of(weights, "several")) for n in (1, 3))
    np.testing.assert_array_equal(one.weights, three.weights)


def test_corners_that_no_rounding_makes_sharp():
    """Every variable is at its bound, kernels differ by rounding, and the gap that is wanted is below that."""
    rng = np.random.default_rng(1)
    A = rng.normal(size=(60, 5))
    stack = GramStack(
        [Indexed(A @ A.T * (1 + 1e-15 * rng.integers(-3, 4))) for _ in range(7)], np.arange(60), scale=None
    )
    weights = Simplex()
    problem = KernelWeightsProblem(stack, [one_class(stack.combination(weights.uniform(7)), 1.0, np.ones(60))], weights)
    found = JointSMO(gap_tol=1e-17).solve(problem)
    assert found.relative_gap <= 1e-12


def test_limits():
    problem = problem_of(Simplex())
    assert JointSMO(gap_tol=1e-9, max_iter=1).solve(problem).status == "max_iter"
    assert JointSMO(gap_tol=1e-12, max_seconds=1e-6).solve(problem).status == "max_seconds"
    assert JointSMO(gap_tol=1e-9).solve(problem, callback=lambda told: True).status == "stopped"


def test_begins_at_the_weights_that_are_given():
    problem = problem_of(NormBall(2.0))
    optimum = JointSMO(gap_tol=1e-6).solve(problem)
    again = JointSMO(gap_tol=1e-3).solve(problem, optimum.weights)
    assert again.n_iter == 1 and again.status == "solved"
    np.testing.assert_array_equal(again.weights, optimum.weights)


def test_refuses_by_name():
    with pytest.raises(ValueError, match=r"needs 1.8 MB for 5 kernel matrices, .* half of memory=2; .*alternating"):
        JointSMO(memory=2).solve(problem_of(NormBall(2.0), n=300))

    X, _ = samples()
    classes = crammer_singer(problem_of(NormBall(2.0)).problems[0].gram, np.arange(80) % 3, np.ones(80))
    for weights, other in ((NormBall(2.0), "Alternating"), (Simplex(), "LevelMethod")):
        with pytest.raises(ValueError, match=f"JointSMO needs machines for two classes.*use {other}"):
            JointSMO().solve(KernelWeightsProblem(GramStack(KERNELS, X), [classes], weights))

    class Other(WeightSet):
        best = cheapest = norm = None

        def uniform(self, n_kernels):
            return np.ones(n_kernels)

    with pytest.raises(ValueError, match="JointSMO does not know the set of weights Other"):
        JointSMO().solve(problem_of(Other()))


@pytest.mark.parametrize("weights", [NormBall(1.05), Elastic(0.05), SETS["groups"]], ids=["ball", "elastic", "groups"])
def test_alternating_gets_there_in_few_steps(weights):
    """It takes ten or fourteen, and thirty without mixing."""
    found = Alternating(gap_tol=1e-4).solve(problem_of(weights))
    assert found.status == "solved" and found.n_iter <= 20
