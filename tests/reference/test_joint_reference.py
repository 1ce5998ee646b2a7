"""Several classes at once against a conic solver, a naive twin, and the machine for two."""

import numpy as np
import pytest
from reference.conic import minimise
from reference.joint import (
    BUILDERS,
    conic_joint,
    matrix_of,
    naive_joint,
    primal_objective,
    random_joint,
    random_linear_joint,
)
from registry import JOINT_SOLVERS, LINEAR_JOINT_SOLVERS

from mercer.problems import soft_margin
from mercer.solvers import SMO, BlockDescent, LinearBlockDescent, LinearSolver

every_machine = pytest.mark.parametrize("machine", BUILDERS)
with_and_without_offsets = pytest.mark.parametrize("bias", [False, True], ids=["no offsets", "offsets"])
EXACT = BlockDescent(tol=1e-8)


@every_machine
@with_and_without_offsets
@pytest.mark.parametrize("seed", range(20))
def test_conic_optimum(machine, bias, seed):
    problem = random_joint(machine, seed, bias)
    optimum = conic_joint(problem)
    result = EXACT.solve(problem)
    assert result.status == "solved"
    assert result.violation <= 1e-8
    assert abs(result.objective - optimum.value) <= optimum.accuracy + 1e-9 * abs(optimum.value)
    assert result.bound <= optimum.value + optimum.accuracy


@every_machine
@with_and_without_offsets
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("name", LINEAR_JOINT_SOLVERS)
def test_conic_optimum_over_weights(name, machine, bias, seed):
    problem = random_linear_joint(machine, seed, bias)
    optimum = conic_joint(problem)
    result = LINEAR_JOINT_SOLVERS[name]().set_params(tol=1e-8).solve(problem)
    assert result.status == "solved"
    assert result.violation <= 1e-8
    assert abs(result.objective - optimum.value) <= optimum.accuracy + 1e-9 * abs(optimum.value)
    assert result.bound <= optimum.value + optimum.accuracy
    rough = LINEAR_JOINT_SOLVERS[name]().set_params(tol=0.1).solve(problem)
    assert rough.violation <= 0.1
    assert optimum.value - optimum.accuracy <= rough.objective <= optimum.value + rough.gap + optimum.accuracy


@every_machine
@with_and_without_offsets
@pytest.mark.parametrize("seed", range(4))
def test_two_classes_over_weights_are_the_binary_machine(machine, bias, seed):
    problem = random_linear_joint(machine, seed, bias, n_classes=2)
    scale = 0.5 if machine == "Lee-Lin-Wahba" else 2.0
    sign = np.where(problem.label == 1, 1.0, -1.0)
    plain = LinearSolver(tol=1e-9).solve(soft_margin(problem.gram, sign, scale * problem.cost, bias=bias))
    result = LinearBlockDescent(tol=1e-9).solve(problem)
    np.testing.assert_allclose(result.objective, plain.objective / scale, rtol=1e-7)


@every_machine
@with_and_without_offsets
@pytest.mark.parametrize("name", JOINT_SOLVERS)
def test_certificate_bounds_the_true_error(name, machine, bias):
    problem = random_joint(machine, 5, bias)
    optimum = conic_joint(problem)
    result = JOINT_SOLVERS[name]().set_params(tol=0.1).solve(problem)
    assert result.violation <= 0.1
    assert optimum.value - optimum.accuracy <= result.objective <= optimum.value + result.gap + optimum.accuracy
    assert result.bound <= optimum.value + optimum.accuracy


@every_machine
@with_and_without_offsets
@pytest.mark.parametrize("seed", range(6))
def test_objectives_from_the_definition(machine, bias, seed):
    problem = random_joint(machine, seed, bias)
    result = BlockDescent(tol=0.05).solve(problem)
    coefficients = result.coefficients.toarray()
    primal = primal_objective(machine, problem, coefficients, result.intercepts)
    assert np.isclose(primal, result.primal_objective, rtol=1e-10)
    assert result.gap >= 0
    norm = sum(w @ problem.gram.rows(np.arange(problem.gram.n)) @ w for w in coefficients)
    np.testing.assert_allclose(norm, result.squared_norm, rtol=1e-9, atol=1e-9 * abs(primal))
    np.testing.assert_allclose(0.5 * norm - problem.target * result.a.sum(), result.objective, rtol=1e-8)


@every_machine
@pytest.mark.parametrize("seed", [1, 2])
def test_naive_twin(machine, seed):
    problem = random_joint(machine, seed, bias=False, n_classes=3)
    a = naive_joint(problem)
    B = problem.coefficients(a)
    naive = 0.5 * np.einsum("ik,ij,jk", B, matrix_of(problem), B) - problem.target * a.sum()
    result = EXACT.solve(problem)
    assert result.objective <= naive + 1e-9 * abs(naive)
    assert np.isclose(result.objective, naive, rtol=2e-4)


@every_machine
@with_and_without_offsets
@pytest.mark.parametrize("seed", range(8))
def test_two_classes_are_the_binary_machine(machine, bias, seed):
    problem = random_joint(machine, seed, bias, n_classes=2)
    # f_1 - f_0 for 2 C with relative margins; f_1 for C / 2 with absolute ones.
    scale = 0.5 if machine == "Lee-Lin-Wahba" else 2.0
    sign = np.where(problem.label == 1, 1.0, -1.0)
    binary = soft_margin(problem.gram, sign, scale * problem.cost, bias=bias, index=problem.index)
    plain = SMO(tol=1e-9).solve(binary)
    result = EXACT.solve(problem)
    together = (result.coefficients[[1]] - result.coefficients[[0]]).toarray()[0]
    coefficients = together if scale == 2.0 else result.coefficients.toarray()[1]
    gram = problem.gram.rows(np.arange(problem.gram.n))
    alone = np.bincount(problem.index, weights=sign * plain.a, minlength=problem.gram.n)
    np.testing.assert_allclose(gram @ coefficients, gram @ alone, atol=1e-5 * max(1.0, np.abs(gram @ alone).max()))
    # Half the objective of the binary machine for relative margins, twice that for absolute ones.
    np.testing.assert_allclose(result.objective, plain.objective / scale, rtol=1e-7)
    free = (plain.a > 1e-6 * binary.upper) & (plain.a < (1 - 1e-6) * binary.upper)
    if bias and free.any():
        offset = result.intercepts[1] - result.intercepts[0] if scale == 2.0 else result.intercepts[1]
        assert np.isclose(offset, plain.offsets.plus, atol=1e-4)


def test_the_conic_optimum_of_a_problem_with_a_known_answer():
    # Two samples at -1 and 1, no offset: w_1 = -w_0 = 1/2 meets both margins of 1, so the objective is 1/4.
    optimum = minimise(np.array([[2.0, 2.0], [2.0, 2.0]]), -np.ones(2), np.full(2, 10.0))
    assert np.isclose(optimum.value, -0.25, atol=1e-8)
