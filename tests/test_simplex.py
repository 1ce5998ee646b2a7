"""One simplex per sample: the general form, by its definition and by Crammer and Singer's machine."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference.conic import minimise
from reference.joint import conic_joint, random_joint
from scipy.sparse import csr_array

from mercer.gram import MatrixGram, make_gram
from mercer.kernels import RBF
from mercer.problems import BlockSimplexProblem, soft_margin, weston_watkins
from mercer.problems.joint import ProductGram
from mercer.solvers import SMO, BlockDescent

SEEDS = range(6)


def random_planes(seed: int, free: bool = False) -> tuple[BlockSimplexProblem, np.ndarray]:
    """Blocks of 0 to 4 planes in five dimensions, and the planes."""
    rng = np.random.default_rng(seed)
    block = np.repeat(np.arange(7), [2, 4, 0, 1, 3, 0, 2])
    psi, loss = rng.normal(size=(12, 5)), rng.uniform(0.5, 2.0, size=12)
    unpriced = rng.normal(size=(12, 2)) if free else None
    cost = rng.uniform(0.2, 3.0, size=7)
    return BlockSimplexProblem(block, cost, MatrixGram(psi @ psi.T, definite=True), loss, unpriced), psi


def random_point(problem, seed=0):
    return problem.feasible(np.random.default_rng(seed).normal(size=len(problem.block)))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_point_by_the_definition(seed):
    """Objectives of the dual and of the primal, plane by plane; the gap is what lies between."""
    problem, psi = random_planes(seed, free=True)
    a, offsets = random_point(problem, seed), np.array([0.3, -0.7])
    a = np.where(np.arange(12) < 6, a, 0.0)
    w = sum(a[j] * psi[j] for j in range(12))
    dual = 0.5 * w @ w - sum(a[j] * problem.loss[j] for j in range(12))
    assert problem.objective(a, problem.sums(a)) == pytest.approx(dual)
    slopes = problem.slopes(problem.sums(a), offsets)
    primal, balance = 0.5 * w @ w, np.zeros(2)
    for i, cost in enumerate(problem.cost):
        lags = [problem.loss[j] - w @ psi[j] - problem.free[j] @ offsets for j in range(12) if problem.block[j] == i]
        primal += cost * max([0.0, *lags])
        assert problem.least(slopes)[i] == pytest.approx(-max([0.0, *lags]))
    for j in range(12):
        balance += a[j] * problem.free[j]
    # offsets meet the sums that are not zero
    assert problem.gap(a, slopes) == pytest.approx(primal + dual + balance @ offsets)
    assert problem.imbalance(a) == pytest.approx(np.abs(balance).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_feasible_points_are_the_nearest(seed):
    problem, _ = random_planes(seed)
    rng = np.random.default_rng(seed)
    start = rng.normal(scale=3.0, size=12)
    a = problem.feasible(start)
    totals = [a[problem.block == i].sum() for i in range(7)]
    assert (a >= 0).all() and (totals <= problem.cost * (1 + 1e-14)).all()
    for _ in range(200):
        other = problem.feasible(rng.normal(scale=3.0, size=12))
        assert ((a - start) ** 2).sum() <= ((other - start) ** 2).sum() + 1e-12
        assert (a - start) @ (other - a) >= -1e-9  # the condition of a projection
    assert_allclose(problem.feasible(a), a, atol=1e-15)
    assert_array_equal(problem.feasible(), np.zeros(12))


@pytest.mark.parametrize("seed", SEEDS)
def test_gap_and_violation_at_the_optimum(seed):
    """Of a conic solver."""
    problem, psi = random_planes(seed)
    at_most = [((problem.block == i).astype(float), cost) for i, cost in enumerate(problem.cost)]
    optimum = minimise(psi @ psi.T, -problem.loss, np.full(12, np.inf), at_most=at_most, tolerances=(1e-10, 1e-9))
    # A hair too much, so that a simplex that is full is so to rounding.
    a = problem.feasible(np.where(optimum.a > 1e-7, optimum.a * (1 + 1e-7), 0.0))
    slopes = problem.slopes(problem.sums(a))
    assert problem.objective(a, problem.sums(a)) == pytest.approx(optimum.value, rel=1e-6)
    assert 0 <= problem.gap(a, slopes) < 1e-5
    assert problem.violation(a, slopes) < 1e-4
    worse = 0.5 * a
    slopes = problem.slopes(problem.sums(worse))
    assert problem.gap(worse, slopes) >= problem.objective(worse, problem.sums(worse)) - optimum.value > 1e-3
    assert problem.violation(worse, slopes) > 1e-3


def test_outputs_that_are_not_written_down():
    """A cutting plane that is found later: the gap with its slope is that of the problem that has it."""
    whole, psi = random_planes(3)
    a = np.where(whole.block == 1, 0.0, random_point(whole))
    slopes = whole.slopes(whole.sums(a))
    found = np.argmin(np.where(whole.block == 1, slopes, np.inf))
    known = np.arange(12) != found
    part = BlockSimplexProblem(
        whole.block[known], whole.cost, MatrixGram(psi[known] @ psi[known].T, definite=True), whole.loss[known]
    )
    assert whole.least(slopes)[1] == slopes[found] < part.least(slopes[known])[1]
    assert part.gap(a[known], slopes[known], whole.least(slopes)) == pytest.approx(whole.gap(a, slopes))
    assert part.gap(a[known], slopes[known]) < whole.gap(a, slopes)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_crammer_and_singer(seed, bias):
    """The general form has the numbers of `JointProblem`, and its optimum."""
    joint = random_joint("Crammer-Singer", seed, bias)
    general, others = joint.block_simplex(), joint.others
    start = np.random.default_rng(seed).normal(scale=joint.cost.mean(), size=others.shape)
    a = joint.feasible(start)
    flat = general.feasible(start[others])
    assert_allclose(flat, a[others], atol=1e-12)
    offsets = np.random.default_rng(seed).normal(size=joint.n_classes) if bias else None
    f, sums = joint.sums(a), general.sums(flat)
    assert general.objective(flat, sums) == pytest.approx(joint.objective(a, f))
    slopes = joint.slopes(f, 0.0 if offsets is None else offsets)
    assert_allclose(general.slopes(sums, offsets), slopes[others], atol=1e-9 * (1 + np.abs(slopes).max()))
    by_rows = ((a * slopes).sum(axis=1) + joint.cost * np.maximum(0.0, -slopes).max(axis=1)).sum()
    assert general.gap(flat, general.slopes(sums, offsets)) == pytest.approx(by_rows) == joint.gap(a, slopes)
    assert general.imbalance(flat) == pytest.approx(joint.imbalance(a))
    assert_allclose(general.gram.rows(np.arange(len(flat))) @ flat, sums, atol=1e-9 * (1 + np.abs(sums).max()))
    assert_allclose(np.diagonal(general.gram.rows(np.arange(len(flat)))), general.gram.diag(), rtol=1e-12)
    # the solution of the one is that of the other
    result, optimum = BlockDescent(tol=1e-8).solve(joint), conic_joint(joint)
    best = result.a.toarray()[others]
    slopes = general.slopes(general.sums(best), result.intercepts if bias else None)
    assert general.objective(best, general.sums(best)) == pytest.approx(optimum.value, rel=1e-6, abs=1e-8)
    assert general.gap(best, slopes) <= 1e-5 * abs(optimum.value)
    assert general.violation(best, slopes) <= 2e-8 + 1e-12 * np.abs(slopes).max()


def test_a_product_of_kernels_is_a_gram_matrix():
    """Signs as vectors give the matrix of a machine for two, and native solvers take it."""
    X = np.random.default_rng(0).normal(size=(20, 2))
    gram, sign = make_gram(RBF(gamma=0.5), X), np.where(X[:, 0] > 0, 1.0, -1.0)
    product = ProductGram(gram, np.arange(20), csr_array(sign[:, np.newaxis]))
    assert_allclose(product.rows(np.arange(20)), np.outer(sign, sign) * RBF(gamma=0.5)(X), rtol=1e-12)
    signed = soft_margin(product, np.ones(20), np.ones(20), bias=False)
    plain = soft_margin(gram, sign, np.ones(20), bias=False)
    assert_allclose(SMO(tol=1e-9).solve(signed).a, SMO(tol=1e-9).solve(plain).a, atol=1e-7)


def test_sums_of_errors_make_boxes():
    problem = weston_watkins(MatrixGram(np.eye(3)), np.arange(3), np.ones(3))
    with pytest.raises(ValueError, match="Only the largest of the errors makes simplices"):
        problem.block_simplex()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"block": [1, 0, 1]}, "block must ascend, from 0 to at most 1"),
        ({"block": [0, 0, 2]}, "block must ascend, from 0 to at most 1"),
        ({"block": [-1, 0, 1]}, "block must ascend, from 0 to at most 1"),
        ({"block": [0.0, 0.0, 1.0]}, "block must be an array of numbers of shape"),
        ({"block": [0, 1]}, "block must have an entry for each of the 3 psi, got 2"),
        ({"loss": [1.0, 2.0]}, "loss must be an array of numbers of shape"),
        ({"loss": [1.0, np.nan, 2.0]}, "loss must be finite"),
        ({"cost": [1.0, 0.0]}, "cost must be > 0 and finite"),
        ({"cost": [1.0, np.inf]}, "cost must be > 0 and finite"),
        ({"cost": 1.0}, "cost must be an array of numbers"),
        ({"free": np.ones((2, 1))}, "free must have a row for each of the 3 psi"),
    ],
)
def test_errors(change, message):
    parts = {"block": [0, 0, 1], "cost": [1.0, 2.0], "gram": MatrixGram(np.eye(3)), "loss": np.ones(3)}
    with pytest.raises(ValueError, match=message):
        BlockSimplexProblem(**(parts | change))
    problem = BlockSimplexProblem(**parts)
    with pytest.raises(ValueError, match="start has shape"):
        problem.feasible(np.ones(2))
    with pytest.raises(ValueError, match="start contains NaN"):
        problem.feasible([np.nan, 0.0, 0.0])
