"""Problems as data: their constraints, and what a point of theirs is worth."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference.conic import (
    FORMULATIONS,
    conic_optimum,
    equalities_of,
    matrix_of,
    minimise,
    naive_violation,
    random_problem,
)

from mercer.errors import InfeasibleError
from mercer.gram import MatrixGram, make_gram
from mercer.kernels import Linear
from mercer.problems import (
    DualProblem,
    Offsets,
    enclosing_ball,
    epsilon_tube,
    hull_distance,
    nu_margin,
    nu_tube,
    one_class,
    soft_margin,
)
from mercer.solvers import SMO

every_formulation = pytest.mark.parametrize("formulation", FORMULATIONS)
GRAM = MatrixGram(np.diag([1.0, 2.0, 3.0, 4.0]))
LABELS = np.array([1.0, -1.0, 1.0, -1.0])
VALUES = np.array([0.5, -1.0, 2.0, 0.0])
COST = np.array([1.0, 2.0, 3.0, 4.0])


def random_point(problem, rng, *, feasible=True):
    """A point with some variables at either bound; without `feasible` anywhere."""
    a = rng.uniform(-0.5, 1.5, size=len(problem.index)) * np.minimum(problem.upper, 3.0)
    return problem.feasible(a) if feasible else a


# --- builders ---------------------------------------------------------------------------------------------


def test_soft_margin():
    problem = soft_margin(GRAM, LABELS, COST)
    assert_array_equal(problem.upper, COST)
    assert_array_equal(problem.linear, -1.0)
    assert not problem.ridge.any() and problem.total == 0.0 and not problem.hard
    squared = soft_margin(GRAM, LABELS, COST, squared=True, bias=False)
    assert_array_equal(squared.ridge, 1 / (2 * COST))
    assert np.isinf(squared.upper).all() and squared.total is None and not squared.hard
    assert soft_margin(GRAM, LABELS, np.full(4, np.inf)).hard
    assert soft_margin(GRAM, LABELS, np.full(4, np.inf), squared=True).hard


def test_epsilon_tube():
    problem = epsilon_tube(GRAM, VALUES, COST, 0.25)
    assert_array_equal(problem.index, [0, 1, 2, 3, 0, 1, 2, 3])
    assert_array_equal(problem.sign, [1, 1, 1, 1, -1, -1, -1, -1])
    assert_array_equal(problem.linear, [*(0.25 - VALUES), *(0.25 + VALUES)])
    assert_array_equal(problem.upper, [*COST, *COST])
    assert problem.total == 0.0
    squared = epsilon_tube(GRAM, VALUES, COST, 0.25, squared=True)
    assert_array_equal(squared.ridge, [*(1 / (2 * COST)), *(1 / (2 * COST))])
    assert np.isinf(squared.upper).all()


def test_nu_forms():
    problem = nu_tube(GRAM, VALUES, COST, 0.4)
    assert problem.total == (2.0, 2.0)
    assert_array_equal(problem.linear, [*-VALUES, *VALUES])
    problem = nu_margin(GRAM, LABELS, 0.4, COST)
    assert problem.total == (2.0, 2.0) and not problem.linear.any()
    assert_array_equal(problem.upper, COST)


def test_novelty():
    plane, ball = one_class(GRAM, 0.5, COST), enclosing_ball(GRAM, 0.5, COST)
    assert plane.total == ball.total == 5.0
    assert_array_equal(plane.upper, COST)
    assert not plane.linear.any()
    assert_array_equal(ball.linear, -2.5 * np.array([1.0, 2.0, 3.0, 4.0]))


@pytest.mark.parametrize(
    "build",
    [
        lambda index: soft_margin(GRAM, LABELS[:2], COST[:2], index=index),
        lambda index: nu_margin(GRAM, LABELS[:2], 0.5, COST[:2], index=index),
        lambda index: one_class(GRAM, 0.5, COST[:2], index=index),
        lambda index: enclosing_ball(GRAM, 0.5, COST[:2], index=index),
        lambda index: epsilon_tube(GRAM, VALUES[:2], COST[:2], 0.1, index=index),
        lambda index: nu_tube(GRAM, VALUES[:2], COST[:2], 0.1, index=index),
    ],
)
def test_part_of_the_samples(build):
    index = np.array([3, 1])
    problem = build(index)
    assert_array_equal(problem.index, np.tile(index, len(problem.index) // 2))
    K = np.diag([4.0, 2.0])
    expected = np.outer(problem.sign, problem.sign) * np.tile(K, (len(problem.index) // 2,) * 2)
    assert_array_equal(matrix_of(problem), expected)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("sign", np.ones(3), r"sign has shape \(3,\), for 4 variables it must be \(4,\)"),
        ("linear", np.ones((4, 1)), "linear has shape"),
        ("upper", np.array([1.0, 0.0, 1.0, 1.0]), "upper must be > 0"),
        ("upper", np.array([1.0, -1.0, 1.0, 1.0]), "upper must be > 0"),
        ("upper", np.array([1.0, np.nan, 1.0, 1.0]), "upper must be > 0"),
        ("ridge", np.full(4, -1e-9), "ridge .*>= 0"),
        ("sign", np.array([1.0, 2.0, 1.0, -1.0]), "sign"),
        ("linear", np.array([1.0, np.nan, 1.0, -1.0]), "linear"),
        ("index", np.array([0, 1, 2, 4]), "index"),
        ("index", np.array([0, 1, 2, -1]), "index"),
    ],
)
def test_wrong_data_is_refused(name, value, message):
    problem = soft_margin(GRAM, LABELS, COST)
    with pytest.raises(ValueError, match=message):
        replace(problem, **{name: value})


# --- points -----------------------------------------------------------------------------------------------


def assert_feasible(problem, a):
    assert a.shape == problem.index.shape
    assert (a >= 0).all() and (a <= problem.upper).all()
    for row, value in equalities_of(problem):
        assert abs(row @ a - value) <= 1e-10 * max(1.0, np.abs(a).sum())


def test_assert_feasible_can_fail():
    problem = soft_margin(GRAM, LABELS, COST)
    assert_feasible(problem, np.ones(4))
    for wrong in ([1.0, 1.0, 1.0], [2.0, 2.0, 0.0, 0.0], [-1.0, 0.0, 1.0, 0.0], [1.0, 0.5, 0.0, 0.0]):
        with pytest.raises(AssertionError):
            assert_feasible(problem, np.array(wrong))


@every_formulation
@pytest.mark.parametrize("seed", range(5))
def test_feasible(formulation, seed):
    problem, rng = random_problem(formulation, seed), np.random.default_rng(seed)
    assert_feasible(problem, problem.feasible())
    start = random_point(problem, rng, feasible=False)
    before = start.copy()
    repaired = problem.feasible(start)
    assert_feasible(problem, repaired)
    assert_array_equal(start, before)
    assert_array_equal(problem.feasible(repaired), repaired)
    assert problem.imbalance(repaired) <= 1e-10 * max(1.0, repaired.sum())


@pytest.mark.parametrize("formulation", ["hinge, asymmetric", "hinge, no bias", "nu tube", "one class"])
@pytest.mark.parametrize("seed", range(3))
def test_repair_is_the_nearest_point(formulation, seed):
    problem = random_problem(formulation, seed)
    start = random_point(problem, np.random.default_rng(seed), feasible=False)
    nearest = minimise(np.eye(len(start)), -start, problem.upper, equal=equalities_of(problem)).a
    assert_allclose(problem.feasible(start), nearest, atol=1e-4)


def test_total_of_all_bounds():
    """nu = 1 leaves one point, whatever the rounding of the sums."""
    weight = np.full(30, 0.1)
    problem = one_class(MatrixGram(np.eye(30)), 1.0, weight)
    assert_allclose(problem.feasible(), weight, rtol=1e-9)
    assert_allclose(problem.feasible(np.zeros(30)), weight, rtol=1e-9)


def test_infeasible():
    assert issubclass(InfeasibleError, ValueError)
    with pytest.raises(InfeasibleError, match=r"nu must be at most 0\.6 .*positive one.*got 0\.7"):
        nu_margin(GRAM, np.array([1.0, -1.0, -1.0, -1.0]), 0.7, np.array([3.0, 1.0, 3.0, 3.0]))
    assert nu_margin(GRAM, np.array([1.0, -1.0, -1.0, -1.0]), 0.6, np.array([3.0, 1.0, 3.0, 3.0])).total == (3, 3)
    problem = DualProblem(GRAM, np.arange(4), LABELS, np.zeros(4), np.ones(4), np.zeros(4), 2.5)
    for start in (None, np.zeros(4), np.ones(4)):
        with pytest.raises(InfeasibleError, match=r"add up to 2\.5, their bounds to 2 only"):
            problem.feasible(start)
    with pytest.raises(InfeasibleError):
        replace(problem, total=(1.0, 3.0)).feasible()
    with pytest.raises(InfeasibleError):
        replace(problem, total=(-1.0, 1.0)).feasible()
    assert_feasible(replace(problem, total=-2.0), replace(problem, total=-2.0).feasible())


@pytest.mark.parametrize("shape", [(), (1,), (3,), (5,), (1, 4), (4, 1), (0,)])
def test_start_of_a_wrong_shape_is_refused(shape):
    problem = soft_margin(GRAM, LABELS, COST)
    with pytest.raises(ValueError, match=r"start has shape .*, the problem has 4 variables"):
        problem.feasible(np.zeros(shape))


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_start_that_is_no_number_is_refused(squared, value):
    problem = soft_margin(GRAM, LABELS, COST, squared=squared)
    with pytest.raises(ValueError, match="start"):
        problem.feasible(np.array([0.0, value, 1.0, 0.0]))


# --- what a point is worth --------------------------------------------------------------------------------


@every_formulation
@pytest.mark.parametrize("seed", range(4))
def test_values_of_a_point(formulation, seed):
    problem = random_problem(formulation, seed)
    a = random_point(problem, np.random.default_rng(seed))
    Q = matrix_of(problem)
    gradient = problem.gradient(a)
    assert_allclose(gradient, Q @ a + problem.linear, rtol=1e-10, atol=1e-10)
    assert problem.objective(a, gradient) == pytest.approx(0.5 * a @ Q @ a + problem.linear @ a, rel=1e-10)
    assert problem.violation(a, gradient) == pytest.approx(naive_violation(problem, a), rel=1e-9, abs=1e-9)
    quadratic = a @ (Q - np.diag(problem.ridge)) @ a
    assert problem.squared_norm(a, gradient) == pytest.approx(quadratic, rel=1e-9, abs=1e-9)


def lower_bound(problem, a, offsets):
    """The dual function at w(a) and the offsets, each variable's part minimised over a fine grid."""
    Q, s = matrix_of(problem), problem.sign
    b = np.where(s > 0, offsets.plus, offsets.minus)
    quadratic = (Q - np.diag(problem.ridge)) @ a
    slope = quadratic + problem.linear + s * b
    parts = []
    for c, u, r in zip(slope, problem.upper, problem.ridge, strict=True):
        end = u if np.isfinite(u) else 2 * abs(c) / r if r else 1e9
        t = np.linspace(0, end, 20_001)
        parts.append(np.min(c * t + 0.5 * r * t**2))
    plus, minus = problem.total if isinstance(problem.total, tuple) else (problem.total or 0.0, 0.0)
    return -0.5 * a @ quadratic + sum(parts) - (offsets.plus * plus - offsets.minus * minus)


@pytest.mark.parametrize("formulation", [name for name in FORMULATIONS if name != "hard margin"])
@pytest.mark.parametrize("seed", range(3))
def test_gap_is_the_distance_to_the_dual_function(formulation, seed):
    problem, rng = random_problem(formulation, seed), np.random.default_rng(seed)
    for _ in range(3):
        a = random_point(problem, rng)
        gradient = problem.gradient(a)
        known = problem.offsets(a, gradient)
        shift = 0.0 if problem.total is None else rng.normal()
        minus = known.minus + (shift if problem.equality != "per_sign" else rng.normal())
        for offsets in (known, Offsets(known.plus + shift, minus)):
            expected = problem.objective(a, gradient) - lower_bound(problem, a, offsets)
            assert problem.gap(a, gradient, offsets) == pytest.approx(expected, rel=1e-6, abs=1e-6)


@every_formulation
@pytest.mark.parametrize("seed", range(4))
def test_gap_bounds_the_error_of_any_point(formulation, seed):
    problem = random_problem(formulation, seed)
    optimum = conic_optimum(problem)
    rng = np.random.default_rng(seed)
    for weight in (0.0, 0.5, 0.99, 1.0):
        a = problem.feasible(weight * np.maximum(optimum.a, 0) + (1 - weight) * random_point(problem, rng))
        gradient = problem.gradient(a)
        gap = problem.gap(a, gradient, problem.offsets(a, gradient))
        allowed = optimum.accuracy * (1 + abs(a).sum())
        assert gap >= problem.objective(a, gradient) - optimum.value - allowed


@every_formulation
@pytest.mark.parametrize("seed", range(20))
def test_gap_is_never_negative(formulation, seed):
    problem = random_problem(formulation, seed)
    a = SMO(tol=1e-9).solve(problem).a
    gradient = problem.gradient(a)
    assert problem.gap(a, gradient, problem.offsets(a, gradient)) >= 0


def test_hard_gap():
    """Two points at distance 2, both with multiplier t: w = 2t, scaled to margin 1 it is 1, and W is 2t - 2t^2."""
    problem = soft_margin(make_gram(Linear(), [[-1.0], [1.0]]), np.array([-1.0, 1.0]), np.full(2, np.inf))
    for t in (0.1, 0.5, 0.7):
        a = np.array([t, t])
        gradient = problem.gradient(a)
        offsets = problem.offsets(a, gradient)
        assert offsets.plus == pytest.approx(0.0, abs=1e-15)
        assert problem.gap(a, gradient, offsets) == pytest.approx(0.5 - (2 * t - 2 * t**2), abs=1e-14)
    gradient = problem.gradient(np.zeros(2))
    assert problem.gap(np.zeros(2), gradient, Offsets(0.0, 0.0)) == np.inf
    assert problem.gap(np.full(2, 0.5), problem.gradient(np.full(2, 0.5)), Offsets(1.0, 1.0)) == np.inf


# --- offsets ----------------------------------------------------------------------------------------------


def line(x, sign, upper, total=0.0, **parts):
    """A problem with a linear kernel on points of the real line."""
    x = np.asarray(x, dtype=float)[:, np.newaxis]
    n = len(x)
    parts = {"linear": np.full(n, -1.0), "ridge": np.zeros(n), **parts}
    return DualProblem(make_gram(Linear(), x), np.arange(n), np.asarray(sign, float), **parts, upper=upper, total=total)


def offsets_at(problem, a):
    a = np.asarray(a, dtype=float)
    return problem.offsets(a, problem.gradient(a))


def test_offset_is_the_average_of_free_variables():
    problem = line([-2.0, -1.0, 1.0, 3.0], [-1, -1, 1, 1], np.full(4, 1.0))
    # w = 2/5; the free ones say -1 + 2/5 and 1 - 2/5
    assert offsets_at(problem, [0.0, 0.2, 0.2, 0.0]) == pytest.approx((0.0, 0.0))
    # w = 1 + 0.5 + 1.5 = 3; the two on the right are free and say 1 - 3 and 1 - 9
    assert offsets_at(problem, [0.0, 1.0, 0.5, 0.5]) == pytest.approx((-5.0, -5.0))


def test_offset_without_free_variables_is_the_middle():
    problem = line([-0.1, 0.1], [-1, 1], np.full(2, 1.0))
    # Both are at their bound, y f <= 1 with w = 0.2: b is at least -1 + 0.02 and at most 1 - 0.02.
    assert offsets_at(problem, [1.0, 1.0]) == pytest.approx((0.0, 0.0))
    problem = line([0.0, 0.2], [-1, 1], np.full(2, 1.0))
    assert offsets_at(problem, [1.0, 1.0]).plus == pytest.approx(0.5 * (-1 + (1 - 0.04)))


def test_offset_with_one_sided_conditions():
    """All variables at the upper bound of a one-class problem: b is bounded on one side only."""
    problem = line([1.0, 2.0], [1, 1], np.full(2, 1.0), total=2.0, linear=np.zeros(2))
    offsets = offsets_at(problem, [1.0, 1.0])
    # f = 3x = (3, 6); both are at their bound, so that rho = -b must be at least 6.
    assert offsets == (-6.0, -6.0)
    gradient = problem.gradient(np.ones(2))
    assert problem.gap(np.ones(2), gradient, offsets) == pytest.approx(0.0, abs=1e-12)


def test_offset_of_a_hard_margin_is_the_middle():
    """[CY eq 1.14] The nearest points of both classes are equally far, whatever the multipliers."""
    problem = line([-3.0, -1.0, 2.0, 5.0], [-1, -1, 1, 1], np.full(4, np.inf))
    for a in ([0.0, 2 / 9, 2 / 9, 0.0], [0.3, 0.0, 0.0, 0.3]):
        w = problem.sign * a @ problem.gram.X[:, 0]
        assert offsets_at(problem, a).plus == pytest.approx(-w * (-1 + 2) / 2)


def test_no_offset_without_equality():
    problem = line([-1.0, 2.0], [-1, 1], np.full(2, 1.0), total=None)
    assert offsets_at(problem, [0.5, 0.5]) == (0.0, 0.0)


def test_offsets_per_sign():
    problem = line([-2.0, -1.0, 1.0, 4.0], [-1, -1, 1, 1], np.full(4, 1.0), total=(1.0, 1.0), linear=np.zeros(4))
    # w = 4; f is 4 and 16 on the right, -8 and -4 on the left, and b is the average of -f
    assert offsets_at(problem, [0.5, 0.5, 0.5, 0.5]) == pytest.approx((-10.0, 6.0))
    # A class with all its variables at a bound has the middle, or the end, of what the conditions leave.
    assert offsets_at(problem, [1.0, 0.0, 1.0, 0.0]) == pytest.approx((-0.5 * (3.0 + 12.0), 0.5 * (3.0 + 6.0)))


def test_violation_looks_at_each_sign():
    problem = line([-2.0, -1.0, 1.0, 4.0], [-1, -1, 1, 1], np.full(4, 1.0), total=(1.0, 1.0), linear=np.zeros(4))
    a = np.array([1.0, 0.0, 1.0, 0.0])
    # w = 3: on the positive side 4 is farther, so nothing is to be gained; on the negative side -1 is nearer: 3.
    assert problem.violation(a, problem.gradient(a)) == pytest.approx(3.0)


# --- hulls ------------------------------------------------------------------------------------------------


def test_hull_distance():
    """Hulls [-3, -1] and [2, 5] on the line: their distance is 3, and half of its square is 4.5."""
    problem = line([-3.0, -1.0, 2.0, 5.0], [-1, -1, 1, 1], np.full(4, np.inf))
    hulls = hull_distance(problem)
    assert hulls.total == (1.0, 1.0)
    assert SMO(tol=1e-10).solve(hulls).objective == pytest.approx(4.5)
    overlapping = hull_distance(line([-3.0, 3.0, 2.0, 5.0], [-1, -1, 1, 1], np.full(4, np.inf)))
    assert SMO(tol=1e-10).solve(overlapping).objective == pytest.approx(0.0, abs=1e-9)
