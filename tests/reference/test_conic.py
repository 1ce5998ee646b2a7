"""SMO against a conic solver: on every formulation, the certificate holds the true optimum."""

from dataclasses import replace

import numpy as np
import pytest
from reference.conic import (
    FORMULATIONS,
    conic_optimum,
    equalities_of,
    matrix_of,
    minimise,
    naive_violation,
    random_data,
    random_problem,
)

from mercer.gram import make_gram
from mercer.kernels import Polynomial
from mercer.problems import (
    enclosing_ball,
    epsilon_tube,
    nu_margin,
    nu_tube,
    one_class,
    soft_margin,
)
from mercer.solvers import SMO

TOL = 1e-8
every_formulation = pytest.mark.parametrize("formulation", FORMULATIONS)


def assert_feasible(problem, a):
    assert (a >= 0).all() and (a <= problem.upper).all()
    for row, value in equalities_of(problem):
        assert abs(row @ a - value) <= 1e-10 * max(1.0, np.abs(a).sum())


def assert_holds(problem, result, optimum):
    """The numbers of the certificate are those of the point, and the optimum lies between them."""
    assert_feasible(problem, result.a)
    Q = matrix_of(problem)
    size = 0.5 * np.abs(result.a) @ np.abs(Q) @ np.abs(result.a) + np.abs(problem.linear) @ result.a
    objective = 0.5 * result.a @ Q @ result.a + problem.linear @ result.a
    assert abs(result.objective - objective) <= 1e-12 * max(1.0, size)
    rounding = 1e-13 * max(1.0, float((np.abs(Q) @ result.a).max()))
    assert abs(result.violation - naive_violation(problem, result.a)) <= rounding
    assert result.gap >= 0 and result.bound == result.objective - result.gap
    allowed = optimum.accuracy + 1e-12 * size
    assert result.bound - allowed <= optimum.value <= result.objective + allowed


def assert_optimal(problem, result, optimum, tol):
    # A nu margin, or a plane of one class, of next to nothing is optimal too, and has its own name.
    size = result.a.sum() * np.sqrt(problem.gram.diag().max())
    flat = not problem.linear.any() and np.sqrt(2 * max(0.0, optimum.value)) <= 1e-3 * size
    assert result.status == "solved" or (flat and result.status == "degenerate")
    assert_holds(problem, result, optimum)
    assert result.violation <= tol
    assert result.gap <= 100 * tol * max(1.0, abs(result.objective))


@every_formulation
@pytest.mark.parametrize("seed", range(40))
def test_optimal(formulation, seed):
    problem = random_problem(formulation, seed)
    assert_optimal(problem, SMO(tol=TOL).solve(problem), conic_optimum(problem), TOL)


def large_problems(n=600):
    """Above 512 points the working rows are float32. A kernel of low rank keeps the conic solver fast."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    labels = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    values = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=n)
    ones, gram = np.ones(n), make_gram(Polynomial(degree=3, gamma=0.2, coef0=1.0), X)
    return {
        "hinge": soft_margin(gram, labels, 10 * ones),
        "squared hinge, no bias": soft_margin(gram, labels, ones, squared=True, bias=False),
        "nu margin": nu_margin(gram, labels, 0.7, ones),
        "epsilon tube": epsilon_tube(gram, values, ones, 0.1),
        "nu tube": nu_tube(gram, values, ones, 0.4),
        "one class": one_class(gram, 0.2, ones),
        "enclosing ball": enclosing_ball(gram, 0.2, ones),
    }


@pytest.mark.parametrize("formulation", large_problems(20))
def test_optimal_from_single_precision_rows(formulation):
    problem = large_problems()[formulation]
    result = SMO(tol=1e-3).solve(problem)
    assert result.precision == "float32"
    optimum, a = conic_optimum(problem), result.a
    assert_feasible(problem, a)
    assert result.status == "solved" and result.violation <= 1e-3
    gradient = matrix_of(problem) @ a + problem.linear
    assert result.violation == pytest.approx(problem.violation(a, gradient), abs=1e-11)
    assert result.objective == pytest.approx(0.5 * a @ (gradient + problem.linear), rel=1e-12)
    assert result.bound - optimum.accuracy <= optimum.value <= result.objective + optimum.accuracy
    assert result.relative_gap <= 1e-3


@every_formulation
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("max_iter", [1, 4, 16])
def test_gap_bounds_the_error_of_an_early_stop(formulation, seed, max_iter):
    problem = random_problem(formulation, seed)
    result = SMO(tol=TOL, max_iter=max_iter).solve(problem)
    assert result.n_iter <= max_iter
    assert result.status == "max_iter" or result.violation <= TOL
    assert_holds(problem, result, conic_optimum(problem))


# --- the sums of the nu forms -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(25))
def test_nu_margin_sums_may_be_inequalities(seed):
    """[CY eq 1.48] asks for a sum of at least nu: no optimum spends more."""
    problem = random_problem("nu margin", seed)
    half, _ = problem.total
    optimum = minimise(
        matrix_of(problem),
        problem.linear,
        problem.upper,
        equal=[(problem.sign, 0.0)],
        at_most=[(-np.ones(len(problem.index)), -2 * half)],
    )
    assert_optimal(problem, SMO(tol=TOL).solve(problem), optimum, TOL)


@pytest.mark.parametrize("seed", range(25))
def test_nu_tube_sums_may_be_inequalities(seed):
    """[CY eq 2.52] asks for a sum of at most nu C: what both multipliers of a sample share costs nothing."""
    problem = random_problem("nu tube", seed)
    half, _ = problem.total
    optimum = minimise(
        matrix_of(problem),
        problem.linear,
        problem.upper,
        equal=[(problem.sign, 0.0)],
        at_most=[(np.ones(len(problem.index)), 2 * half)],
    )
    assert_optimal(problem, SMO(tol=TOL).solve(problem), optimum, TOL)


# --- the checks can fail ----------------------------------------------------------------------------------


@pytest.fixture
def solved():
    problem = random_problem("hinge", 1)
    return problem, SMO(tol=TOL).solve(problem), conic_optimum(problem)


def test_assert_feasible_can_fail(solved):
    problem, result, _ = solved
    i = int(np.argmax(result.a))
    for wrong in (-1e-9, 2 * problem.upper[i], 0.5 * result.a[i]):
        a = result.a.copy()
        a[i] = wrong
        with pytest.raises(AssertionError):
            assert_feasible(problem, a)


@pytest.mark.parametrize(
    "wrong",
    [
        {"objective": lambda r: r.objective - 1e-6},
        {"violation": lambda r: r.violation + 1e-10},
        {"gap": lambda r: -1e-12},
        {"gap": lambda r: r.gap + 1e-6},
        {"a": lambda r: 0.999 * r.a},
        {"bound": lambda r: r.objective + 1e-4, "objective": lambda r: r.objective + 1e-4, "gap": lambda r: 0.0},
    ],
)
def test_assert_holds_can_fail(solved, wrong):
    problem, result, optimum = solved
    assert_holds(problem, result, optimum)
    with pytest.raises(AssertionError):
        assert_holds(problem, replace(result, **{k: value(result) for k, value in wrong.items()}), optimum)


def test_assert_holds_can_fail_for_a_wrong_optimum(solved):
    problem, result, optimum = solved
    for shift in (-1e-4, 1e-4):
        with pytest.raises(AssertionError):
            moved = optimum._replace(value=optimum.value + shift, bound=optimum.bound + shift)
            assert_holds(problem, result, moved)


def test_assert_optimal_can_fail(solved):
    problem, result, optimum = solved
    early = SMO(tol=TOL, max_iter=3).solve(problem)
    others = [replace(result, status=status) for status in ("stalled", "degenerate")]
    for wrong in (early, replace(early, status="solved"), *others):
        with pytest.raises(AssertionError):
            assert_optimal(problem, wrong, optimum, TOL)


def test_random_data_has_both_labels_and_duplicates():
    """What the reference problems claim to contain."""
    for seed in range(40):
        for separable in (False, True):
            data = random_data(seed, separable=separable)
            assert set(data.labels) == {-1.0, 1.0}
            K = data.gram.rows(np.arange(data.gram.n))
            assert len(np.unique(K.round(12), axis=0)) < data.gram.n


def test_the_conic_solver_finds_what_is_known():
    """Two points at distance 2: the multipliers of the hard margin are 1/2, its value is -1/2."""
    optimum = minimise(
        np.array([[0.0, 0.0], [0.0, 4.0]]), -np.ones(2), np.full(2, np.inf), equal=[(np.array([-1.0, 1.0]), 0.0)]
    )
    assert optimum.value == pytest.approx(-0.5, abs=1e-9)
    np.testing.assert_allclose(optimum.a, [0.5, 0.5], atol=1e-7)
    with pytest.raises(ArithmeticError):  # unbounded
        minimise(np.zeros((1, 1)), -np.ones(1), np.full(1, np.inf))
