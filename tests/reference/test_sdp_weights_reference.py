"""Weights of either sign: what they must satisfy, and where they are those of positive weights."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference.conic import conic_optimum
from reference.naive_kernel_weights import qclp_optimum

from mercer.errors import InfeasibleError
from mercer.gram import GramStack, MatrixGram
from mercer.kernels import RBF, Indexed, Linear, Polynomial
from mercer.mkl import sdp_weights
from mercer.problems import KernelWeightsProblem, Simplex, soft_margin
from mercer.solvers.cones import ConicProgramme
from mercer.solvers.kernel_weights import Conic

AGREEMENT = 1e-5


def labelled(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)


def matrices_of(X):
    return [Linear()(X), RBF(gamma=0.3)(X), 100 * Polynomial(degree=2, gamma=0.5, coef0=0.0)(X)]


def margin_over(K, y, C):
    return soft_margin(MatrixGram(K, definite=True), y, np.full(len(y), C))


def positive_problem(matrices, y, C):
    """The same with weights >= 0, whose traces add up to n."""
    stack = GramStack([Indexed(K) for K in matrices], np.arange(len(y)))
    return KernelWeightsProblem(stack, [margin_over(matrices[0], y, C)], Simplex())


def orthogonal(n, rng):
    """Three matrices of rank two in different directions: a sum is semi-definite only if no weight is negative."""
    basis = np.linalg.qr(rng.normal(size=(n, 6)))[0]
    return [basis[:, 2 * k : 2 * k + 2] @ np.diag([1.0, 0.5]) @ basis[:, 2 * k : 2 * k + 2].T for k in range(3)]


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_the_sum_and_its_certificate(C):
    X, y = labelled(24)
    matrices = matrices_of(X)
    found = sdp_weights(matrices, y, C)
    K = sum(weight * matrix for weight, matrix in zip(found.weights, matrices, strict=True))
    assert_allclose(found.matrix, K, rtol=1e-12, atol=1e-12 * np.abs(K).max())
    assert np.trace(K) == pytest.approx(24.0, rel=1e-12)
    assert np.linalg.eigvalsh(K)[0] >= -1e-6
    optimum = conic_optimum(margin_over(K, y, C))
    assert -optimum.value == pytest.approx(found.objective, rel=1e-6)
    assert abs(found.gap) <= 1e-5 * found.objective
    assert found.decision == pytest.approx(K @ (y * found.result.a) + found.result.offsets.plus)
    # Weights >= 0 are some of those that are allowed.
    assert found.objective <= (1 + 1e-6) * qclp_optimum(positive_problem(matrices, y, C)).value


def test_the_trace_is_exact_where_the_weights_are_rough():
    X, y = labelled(24)
    matrices = matrices_of(X)
    found = sdp_weights(matrices, y, tol=0.1)
    assert found.weights @ [np.trace(K) for K in matrices] == pytest.approx(24.0, rel=1e-12)


def test_negative_weights_take_away_what_is_of_no_use():
    X, y = labelled(24)
    useful, useless = Linear()(X), RBF(gamma=9.0)(X)
    matrices = [useful + 2 * useless, useless]
    found = sdp_weights(matrices, y, 0.1)
    assert found.weights[1] == pytest.approx(-2 * found.weights[0], rel=1e-3)
    assert found.objective < 0.99 * qclp_optimum(positive_problem(matrices, y, 0.1)).value


def test_no_other_sum_is_better(rng):
    X, y = labelled(16)
    matrices = matrices_of(X)
    found = sdp_weights(matrices, y, 2.0)
    tried = 0
    for _ in range(300):
        weights = found.weights * (1 + 0.3 * rng.normal(size=3))
        K = sum(weight * matrix for weight, matrix in zip(weights, matrices, strict=True))
        K *= 16 / np.trace(K)
        if np.linalg.eigvalsh(K)[0] >= 0:
            tried += 1
            assert -conic_optimum(margin_over(K, y, 2.0)).value >= found.bound - 1e-6
    assert tried > 20


@pytest.mark.parametrize("C", [0.5, 10.0])
def test_where_no_weight_can_be_negative_they_are_those_of_the_conic_route(C, rng):
    y = labelled(14)[1]
    matrices = orthogonal(14, rng)
    found = sdp_weights(matrices, y, C)
    problem = positive_problem(matrices, y, C)
    positive = Conic(gap_tol=1e-8, tol=1e-8).solve(problem)
    assert found.objective == pytest.approx(positive.objective, rel=AGREEMENT)
    assert_allclose(found.weights, positive.weights * problem.stack.factors, atol=1e-3 * problem.stack.factors.max())


def test_matrices_in_other_mixtures_have_the_same_sum(rng):
    """Sums and differences of matrices span the same space: the best sum is the same, with weights of either sign."""
    y = labelled(14)[1]
    A, B, C = orthogonal(14, rng)
    plain, mixed = sdp_weights([A, B, C], y), sdp_weights([A + B + C, B - C, 10 * C], y)
    assert mixed.objective == pytest.approx(plain.objective, rel=AGREEMENT)
    assert_allclose(mixed.matrix, plain.matrix, atol=1e-3)


def test_samples_without_a_label_take_part():
    X, y = labelled(20)
    matrices, index = matrices_of(X), np.arange(3, 20)
    found = sdp_weights(matrices, y[index], index=index)
    assert np.linalg.eigvalsh(found.matrix)[0] >= -1e-6 and np.trace(found.matrix) == pytest.approx(20.0)
    assert found.decision.shape == (20,) and (np.sign(found.decision[:3]) == y[:3]).sum() >= 2
    over = margin_over(found.matrix[np.ix_(index, index)], y[index], 1.0)
    assert -conic_optimum(over).value == pytest.approx(found.objective, rel=1e-6)
    assert abs(found.gap) <= 1e-5 * found.objective
    permuted = np.random.default_rng(1).permutation(20)
    again = sdp_weights([K[np.ix_(permuted, permuted)] for K in matrices], y[index], index=np.argsort(permuted)[index])
    assert again.objective == pytest.approx(found.objective, rel=1e-6)


def test_what_is_refused(monkeypatch):
    K, y = np.eye(4), [0, 0, 1, 1]
    with pytest.raises(InfeasibleError, match="No weighted sum of the matrices is positive semi-definite"):
        sdp_weights([np.diag([1.0, -1.0, 1.0, -1.0])], y)
    with pytest.raises(ValueError, match="matrices must have at least one matrix"):
        sdp_weights([], y)
    with pytest.raises(ValueError, match=r"matrices must be of one shape, got \(4, 4\) and, as number 1, \(3, 3\)"):
        sdp_weights([K, np.eye(3)], y)
    with pytest.raises(ValueError, match=r"matrices\[1\] must be symmetric"):
        sdp_weights([K, np.triu(np.ones((4, 4)))], y)
    with pytest.raises(ValueError, match="C must be"):
        sdp_weights([K], y, C=0.0)
    with pytest.raises(ValueError, match="y must have two classes, got 3 classes"):
        sdp_weights([K], [0, 1, 2, 2])
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(ImportError, match=r"sdp_weights needs the package clarabel.*mercer\[conic\]"):
        sdp_weights([K], y)


def test_a_programme_that_the_package_gives_up(monkeypatch):
    solve_it = ConicProgramme.solve
    monkeypatch.setattr(ConicProgramme, "solve", lambda *given: replace(solve_it(*given), status="NumericalError"))
    with pytest.raises(ArithmeticError, match=r"gave up on .* sdp_weights \(NumericalError\); raise tol=1e-08"):
        sdp_weights([np.eye(4)], [0, 0, 1, 1])
