"""The solvers for teaching: what is their own. What they share with all solvers is in the laws."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference.conic import conic_optimum, equalities_of, random_problem
from registry import ROUGH_SOLVERS, SOLVERS
from sklearn.exceptions import ConvergenceWarning
from solving import assert_certified, assert_same_bits, every_formulation, hinge, labelled

from mercer import SVC
from mercer.errors import NotSeparableError
from mercer.gram import MatrixGram
from mercer.problems import soft_margin
from mercer.problems.dual import level
from mercer.solvers import SMO, Chunking, Decomposition, InteriorPoint, PrimalSubgradient, ProjectedGradient

SIMPLE = {name: make for name, make in (SOLVERS | ROUGH_SOLVERS).items() if not name.startswith("SMO")}
every_simple_solver = pytest.mark.parametrize("make", SIMPLE.values(), ids=SIMPLE.keys())


# --- in machines ------------------------------------------------------------------------------------------


@every_simple_solver
def test_machines_take_them(make):
    X, y = labelled(60)
    exact = SVC(C=3.0).fit(X, y)
    machine = SVC(C=3.0, solver=make()).fit(X, y)
    assert machine.result_.status == "solved"
    assert machine.result_.bound <= exact.result_.objective <= machine.result_.objective + 1e-9
    rough = make().tol > 1e-3
    assert_allclose(machine.decision_function(X), exact.decision_function(X), atol=0.1 if rough else 2e-3)


@every_simple_solver
def test_three_classes(make):
    X, y = labelled(60)
    y = (X[:, 0] > 0.5).astype(int) + (X[:, 0] > -0.5)
    machine = SVC(solver=make()).fit(X, y)
    assert machine.decision_function(X).shape == (60, 3) and machine.score(X, y) > 0.9


@every_simple_solver
def test_a_hard_margin_that_does_not_exist(make):
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    problem = soft_margin(MatrixGram(X @ X.T + 1), np.array([1.0, -1.0, 1.0, -1.0]), np.full(4, np.inf))
    with pytest.raises((NotSeparableError, ValueError), match=r"not separable|hard margin"):
        make().solve(problem)


def test_a_limit_of_time_becomes_a_warning():
    X, y = labelled(100)
    for solver in (ProjectedGradient, Chunking, PrimalSubgradient, InteriorPoint):
        with pytest.warns(ConvergenceWarning, match="status max_seconds"):
            machine = SVC(C=100.0, solver=solver(max_seconds=1e-9)).fit(X, y)
        assert machine.result_.status == "max_seconds"


def test_a_tolerance_beyond_rounding_is_not_solved():
    problem = hinge(40, C=100.0)
    for solver in (ProjectedGradient, Chunking, InteriorPoint):
        result = solver(tol=1e-18).solve(problem)
        assert result.status == "stalled" and result.violation < 1e-6 and result.n_iter < 20_000


@every_simple_solver
def test_samples_that_are_all_the_same(make):
    """All kernel values are zero: nothing bounds the length of a step but the box."""
    y = np.tile([1.0, -1.0], 5)
    result = make().solve(soft_margin(MatrixGram(np.zeros((10, 10))), y, np.ones(10)))
    assert result.status == "solved"
    assert_allclose(result.a, 1.0)


@pytest.mark.parametrize("make", SOLVERS.values(), ids=SOLVERS.keys())
def test_prices_of_very_different_size(make):
    X, y = labelled(60)
    prices = 10.0 ** np.random.default_rng(5).integers(-12, 3, size=60)
    problem = soft_margin(MatrixGram(np.exp(-((X[:, np.newaxis] - X) ** 2).sum(axis=2))), y, prices)
    result = make().solve(problem)
    assert result.status == "solved"
    assert_allclose(result.objective, SMO(tol=1e-9).solve(problem).objective, rtol=1e-2)


# --- the projection ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_level_by_bisection(seed):
    """Sums of clipped numbers, against the slow and sure way."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 15))
    sign, upper = rng.choice([-1.0, 1.0], size=n), rng.choice([0.5, 1.0, 3.0, np.inf], size=n)
    low, high = np.minimum(0, sign * upper), np.maximum(0, sign * upper)
    z = 3 * rng.normal(size=n)
    target = np.clip(rng.normal(size=n), low, high).sum()

    def total(b):
        return np.clip(z - b, low, high).sum()

    below, above = -1e4, 1e4
    for _ in range(200):
        middle = 0.5 * (below + above)
        below, above = (middle, above) if total(middle) > target else (below, middle)
    b = level(z, low, high, target)
    assert_allclose(total(b), target, atol=1e-10)
    assert_allclose(np.clip(z - b, low, high), np.clip(z - above, low, high), atol=1e-8)


def test_level_without_solution():
    ones = np.ones(2)
    assert level(0 * ones, 0 * ones, ones, 2.5) is None
    assert level(0 * ones, 0 * ones, ones, -0.5) is None
    assert level(0 * ones, 0 * ones, np.inf * ones, 3.0) == pytest.approx(-1.5)


@every_formulation
def test_projection_is_the_nearest_point(formulation):
    """No feasible point makes an acute angle with the way to the projection."""
    problem = random_problem(formulation, 3)
    rng = np.random.default_rng(0)
    size = np.minimum(problem.upper, 5.0)
    outside = rng.normal(size=len(size)) * 2 * size
    nearest = problem.feasible(outside)
    for row, value in equalities_of(problem):
        assert abs(row @ nearest - value) <= 1e-10 * max(1.0, nearest.sum())
    for _ in range(50):
        other = problem.feasible(rng.uniform(-0.5, 1.5, size=len(size)) * size)
        assert (outside - nearest) @ (other - nearest) <= 1e-8 * max(1.0, (outside**2).sum())


# --- each of them -----------------------------------------------------------------------------------------


def test_a_learning_rate():
    """Small enough, it reaches the optimum, slowly; the objective never rises, also for a large one."""
    problem = hinge(30, C=1.0)
    spectral = ProjectedGradient(tol=1e-3).solve(problem)
    slow = ProjectedGradient(tol=1e-3, step=0.03).solve(problem)
    assert slow.status == spectral.status == "solved" and slow.n_iter > 3 * spectral.n_iter
    assert_allclose(slow.objective, spectral.objective, atol=2 * spectral.gap + 2 * slow.gap)
    large = ProjectedGradient(tol=1e-4, step=10.0, max_iter=50).solve(problem)
    assert (np.diff(large.history.objective) >= -1e-12).all()
    for step in (0.0, "fast"):
        with pytest.raises(ValueError, match="step must be a float > 0 or 'spectral'"):
            ProjectedGradient(step=step).check(problem)


def test_gradients_grow_where_nothing_bends_back():
    """Along negative curvature the last step says nothing about the next but that it may be longer."""
    X, y = labelled(60)
    problem = soft_margin(MatrixGram(np.tanh(X @ X.T - 1.0)), y, np.ones(60))
    result = ProjectedGradient(max_iter=2000).solve(problem)
    assert result.status == "indefinite" and result.violation <= 1e-3


def test_the_literal_rule_leaves_the_hyperplane():
    """The gradient projected along the hyperplane, then clipped to the box [A §10.6.1.1]: s'a is not zero."""
    problem = hinge(40, C=1.0)
    s, a, n = problem.sign, np.zeros(40), 40
    for _ in range(20):
        ascent = -problem.gradient(a)
        a = np.clip(a + 0.1 * (ascent - s * (s @ ascent) / n), 0.0, problem.upper)
    assert abs(s @ a) > 0.1
    assert ProjectedGradient(max_iter=20, tol=1e-9).solve(problem).imbalance <= 1e-12


def test_chunks_are_small():
    """Few support vectors: the kernel matrix as a whole is never asked for."""
    X, y = labelled(400, noise=0.0)
    X[:, 0] += y
    problem = soft_margin(MatrixGram(X @ X.T + 1.0), y, np.full(400, 1.0))
    result = Chunking(size=5).solve(problem)
    assert result.status == "solved" and result.kernel_evaluations < 400**2 / 2
    assert_allclose(result.objective, SMO().solve(problem).objective, rtol=1e-4)
    large = Chunking(size=400).solve(problem)
    assert len(large.history) < len(result.history)


def test_chunks_are_solved_by_conjugate_gradients():
    """Inside the bounds there is one linear system: as many steps as it has different eigenvalues."""
    n, y = 60, np.tile([1.0, -1.0], 30)
    eigenvalues = np.repeat([1.0, 1e2, 1e4], n // 3)
    U = np.linalg.qr(np.random.default_rng(0).normal(size=(n, n)))[0]
    K = y[:, np.newaxis] * (np.eye(n) * 1e4 + (U * eigenvalues) @ U.T) * y
    problem = soft_margin(MatrixGram(0.5 * (K + K.T)), y, np.full(n, np.inf), bias=False)
    result = Chunking(tol=1e-8, size=n).solve(problem)
    assert result.status == "solved" and (result.a > 0).all()
    assert result.n_iter <= 10


def test_decomposition_over_sizes():
    """The same optimum; the smaller the blocks, the more kernel values."""
    problem = hinge(600, C=10.0)
    runs = [Decomposition(q).solve(problem) for q in (2, 16, 128, 600)]
    for run in runs:
        assert run.status == "solved" and run.violation <= 1e-3
        assert abs(run.objective - runs[0].objective) <= runs[0].gap + run.gap
    assert runs[0].kernel_evaluations > 2 * runs[2].kernel_evaluations
    with pytest.raises(ValueError, match="q must be an int >= 2, got 1"):
        Decomposition(1).solve(problem)


def test_decomposition_of_everything_is_one_block():
    problem = hinge(300, C=10.0)
    whole, smo = Decomposition(300, tol=1e-9).solve(problem), SMO(tol=1e-9).solve(problem)
    assert_allclose(whole.a, smo.a, atol=1e-6)


def test_missing_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(ImportError, match=r"mercer\[conic\]"):
        InteriorPoint().check(hinge(10))


def test_an_interior_point_takes_few_steps():
    for C in (0.1, 1e3):
        result = InteriorPoint(tol=1e-6).solve(hinge(80, C=C))
        assert result.status == "solved" and result.n_iter <= 40
    # The last digits are those of the linear system that the optimum satisfies.
    result = InteriorPoint(tol=1e-9).solve(hinge(80, C=1.0))
    assert result.violation < 1e-12 and result.n_iter <= 15


# --- the primal -------------------------------------------------------------------------------------------

bounded = ["hinge", "hinge, asymmetric", "hinge, no bias", "nu margin", "epsilon tube", "nu tube", "one class"]


@pytest.mark.parametrize("formulation", bounded)
@pytest.mark.parametrize("seed", [2, 5])
def test_subgradient_is_certified(formulation, seed):
    problem, solver = random_problem(formulation, seed), PrimalSubgradient(tol=0.05, max_iter=1000)
    result = solver.solve(problem)
    assert_certified(problem, result, conic_optimum(problem))
    assert (result.relative_gap <= 0.05) == (result.status == "solved")
    for other in solver.solve_many([problem, problem]):
        assert_same_bits(result, other)


def test_subgradient_falls_like_one_over_the_steps():
    """The gap of the best point; the objective of the dual lies below the optimum all the time."""
    problem = hinge(60, C=1.0)
    optimum = SMO(tol=1e-9).solve(problem)
    history = PrimalSubgradient(tol=1e-9, max_iter=2000).solve(problem).history
    best = np.minimum.accumulate(history.gap)
    assert (best[1:] * (history.iteration[1:] + 2) <= 10 * history.gap[0]).all()
    assert (history.objective <= optimum.dual_objective + 1e-9).all()
    assert PrimalSubgradient().solve(problem, optimum.a).n_iter == 0


def test_subgradient_without_an_offset():
    X, y = labelled(60)
    problem = soft_margin(MatrixGram(X @ X.T), y, np.ones(60), bias=False)
    result = PrimalSubgradient(tol=1e-3).solve(problem)
    assert result.status == "solved"
    assert_allclose(result.objective, SMO(tol=1e-9).solve(problem).objective, rtol=2e-3)


def test_subgradient_limits():
    problem = hinge(60, C=10.0)
    result = PrimalSubgradient(max_iter=7).solve(problem)
    assert result.status == "max_iter" and result.n_iter == result.history.iteration[-1] == 7
    told = []
    result = PrimalSubgradient(tol=1e-9).solve(
        problem, callback=lambda progress: told.append(progress) or len(told) > 5
    )
    assert result.status == "stopped" and len(told) == 6
    assert result.gap == min(result.history.gap)
    for formulation in ("hard margin", "squared hinge"):
        with pytest.raises(ValueError, match="losses of bounded slope"):
            PrimalSubgradient().check(random_problem(formulation, 1))
