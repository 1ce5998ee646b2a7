"""Several classes learnt in one go: problems, what the solver promises, limits."""

import numpy as np
import pytest
from reference.joint import BUILDERS, random_joint
from registry import (
    JOINT_SOLVERS,
)
from scipy.sparse import csr_array
from sklearn.base import clone

from mercer import _native, kernels
from mercer.gram import FunctionGram, MatrixGram, make_gram
from mercer.kernels import RBF, Linear
from mercer.problems import crammer_singer, lee_lin_wahba, soft_margin, weston_watkins
from mercer.solvers import BlockDescent
from mercer.solvers.base import Certificate

every_machine = pytest.mark.parametrize("build", BUILDERS.values(), ids=BUILDERS)
every_solver = pytest.mark.parametrize("make", JOINT_SOLVERS.values(), ids=JOINT_SOLVERS)
with_and_without_offsets = pytest.mark.parametrize("bias", [False, True], ids=["no offsets", "offsets"])


def classes(n=90, n_classes=4, d=3, seed=0):
    """Overlapping classes, each of them there."""
    rng = np.random.default_rng(seed)
    label = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)])
    X = rng.normal(size=(n, d))
    X[np.arange(n), label % d] += 1.5 + 0.5 * (label >= d)
    return X, label


def decision(result, problem):
    return problem.gram.dot(np.ascontiguousarray(result.coefficients.toarray().T)) + result.intercepts


# --- problems ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": np.array([0, 1])}, "label must be an array of 3 numbers"),
        ({"label": np.array([0.0, 1.0, 2.0])}, "label must be an array of 3 numbers"),
        ({"label": np.array([-1, 0, 1])}, "label must be from 0 to 1"),
        ({"label": np.array([0, 0, 0])}, "of 2 classes at least"),
        ({"label": np.array([0, 2, 2])}, "every class needs a sample"),
        ({"cost": np.array([1.0, 0.0, 1.0])}, "cost must be > 0 and finite"),
        ({"cost": np.array([1.0, np.inf, 1.0])}, "cost must be > 0 and finite"),
        ({"cost": np.ones(2)}, "cost must be an array of 3 numbers"),
        ({"index": np.array([0, 1, 3])}, "index must be from 0 to 2"),
        ({"index": np.array([0, 1, 1])}, "index must name every sample once"),
    ],
)
@every_machine
def test_errors(build, change, message):
    parts = {"gram": MatrixGram(np.eye(3)), "label": np.arange(3), "cost": np.ones(3), "index": np.arange(3)} | change
    with pytest.raises(ValueError, match=message):
        build(**parts)


def test_a_class_without_samples_needs_no_offset():
    problem = weston_watkins(MatrixGram(np.eye(3)), np.array([0, 2, 2]), np.ones(3), bias=False)
    result = BlockDescent().solve(problem)
    assert result.status == "solved"
    assert result.coefficients.shape == (3, 3)


@every_machine
def test_feasible_points(build):
    X, label = classes(20)
    problem = build(make_gram(RBF(gamma=0.5), X), label, np.linspace(0.5, 2.0, 20))
    start = np.random.default_rng(0).normal(scale=3.0, size=(20, 4))
    a = problem.feasible(start)
    assert (a >= 0).all()
    assert (a[np.arange(20), label] == 0).all()
    if problem.errors == "sum":
        assert (a <= problem.cost[:, np.newaxis]).all()
    else:
        assert (a.sum(axis=1) <= problem.cost * (1 + 1e-14)).all()
        # the nearest one: no feasible point is nearer
        rng = np.random.default_rng(1)
        for _ in range(50):
            other = problem.feasible(rng.normal(scale=3.0, size=(20, 4)))
            off = problem.others
            assert ((a - start)[off] ** 2).sum() <= ((other - start)[off] ** 2).sum()
    np.testing.assert_allclose(problem.feasible(a), a, atol=1e-15)
    assert not problem.feasible().any()
    with pytest.raises(ValueError, match="start has shape"):
        problem.feasible(np.zeros((3, 4)))
    with pytest.raises(ValueError, match="start contains NaN"):
        problem.feasible(np.full((20, 4), np.nan))


def test_sums_and_coefficients():
    X, label = classes(15)
    problem = lee_lin_wahba(make_gram(RBF(gamma=0.5), X), label[3:], np.ones(12), index=np.arange(3, 15), bias=False)
    a = problem.feasible(np.random.default_rng(0).uniform(size=(12, 4)))
    K = RBF(gamma=0.5)(X[3:])
    np.testing.assert_allclose(problem.sums(a), K @ problem.coefficients(a), atol=1e-12)
    np.testing.assert_allclose(problem.coefficients(a).sum(axis=1), 0.0, atol=1e-14)


# --- what the solver promises -----------------------------------------------------------------------------


@every_machine
@with_and_without_offsets
@every_solver
def test_kkt_feasibility_and_balance(make, build, bias):
    X, label = classes(150)
    problem = build(make_gram(RBF(gamma=0.5), X), label, np.linspace(0.5, 3.0, 150), bias=bias)
    result = make().solve(problem)
    assert result.status == "solved"
    assert result.violation <= 1e-3
    assert isinstance(result, Certificate)
    a = result.a.toarray()
    assert (a >= 0).all()
    assert (a[np.arange(150), label] == 0).all()
    most = a.max(axis=1) if problem.errors == "sum" else a.sum(axis=1)
    assert (most <= problem.cost * (1 + 1e-12)).all()
    sums = problem.sums(a)
    slopes = problem.slopes(sums, result.intercepts)
    assert np.isclose(problem.violation(a, slopes), result.violation, atol=1e-10)
    assert np.isclose(problem.gap(a, slopes), result.gap, rtol=1e-6)
    assert np.isclose(problem.objective(a, sums), result.objective, rtol=1e-10)
    assert np.isclose(result.objective - result.bound, result.gap)
    np.testing.assert_allclose(problem.losses(slopes), result.losses, atol=1e-9)
    np.testing.assert_allclose(result.coefficients.toarray().T, problem.coefficients(a), atol=1e-15)
    if bias:
        assert np.abs(result.coefficients.sum(axis=1)).max() <= 1e-12 * a.sum()
        assert abs(result.intercepts.sum()) <= 1e-10
    else:
        assert not result.intercepts.any()
    assert len(result.history) > 0
    assert result.history.gap[-1] == result.gap
    assert "KKT violation" in str(result)


@every_machine
@with_and_without_offsets
def test_large_problem_in_single_rows(build, bias):
    X, label = classes(1100, n_classes=4, d=4)
    problem = build(make_gram(RBF(gamma=0.3), X), label, np.full(1100, 0.5), bias=bias)
    result = BlockDescent().solve(problem)
    assert result.status == "solved"
    assert result.precision == "float32"
    a = result.a.toarray()
    exact = problem.sums(a)
    slopes = problem.slopes(exact, result.intercepts)
    assert problem.violation(a, slopes) <= 1e-3
    assert np.isclose(problem.gap(a, slopes), result.gap, rtol=1e-3)
    assert np.isclose(problem.objective(a, exact), result.objective, rtol=1e-9)
    other = BlockDescent(shrinking=False, precision="float64", tol=2e-4).solve(problem)
    assert other.precision == "float64"
    assert other.bound <= result.objective
    assert result.bound <= other.objective
    if bias:
        assert result.imbalance <= 1e-12 * a.sum()


@every_machine
@with_and_without_offsets
def test_threads_and_memory_do_not_show(build, bias):
    X, label = classes(1200, n_classes=5, d=70)
    results = []
    for n_threads, memory in ((1, 500), (3, 500), (2, 1)):
        problem = build(make_gram(RBF(gamma=0.02), X), label, np.full(1200, 1.0), bias=bias)
        results.append(BlockDescent(n_threads=n_threads, memory=memory).solve(problem))
    for other in results[1:]:
        np.testing.assert_array_equal(results[0].a.toarray(), other.a.toarray())
        np.testing.assert_array_equal(results[0].intercepts, other.intercepts)
        assert results[0].gap == other.gap


@every_machine
@with_and_without_offsets
def test_weight_two_is_the_sample_twice(build, bias):
    X, label = classes(40)
    cost = np.where(np.arange(40) % 3 == 0, 2.0, 1.0)
    twice = np.concatenate([np.arange(40), np.flatnonzero(cost == 2.0)])
    solver = BlockDescent(tol=1e-9)
    weighted = build(make_gram(RBF(gamma=0.5), X), label, cost, bias=bias)
    repeated = build(make_gram(RBF(gamma=0.5), X[twice]), label[twice], np.ones(len(twice)), bias=bias)
    first, second = solver.solve(weighted), solver.solve(repeated)
    assert np.isclose(first.objective, second.objective, rtol=1e-9)
    assert np.allclose(decision(first, weighted), decision(second, repeated)[:40], atol=1e-6)


@every_machine
@with_and_without_offsets
def test_order_of_samples_and_names_of_classes_do_not_matter(build, bias):
    X, label = classes(60)
    rng = np.random.default_rng(3)
    order, names = rng.permutation(60), rng.permutation(4)
    solver = BlockDescent(tol=1e-9)
    problem = build(make_gram(RBF(gamma=0.5), X), label, np.ones(60), bias=bias)
    mixed = build(make_gram(RBF(gamma=0.5), X[order]), names[label[order]], np.ones(60), bias=bias)
    f, g = decision(solver.solve(problem), problem), decision(solver.solve(mixed), mixed)
    assert np.allclose(f[order], g[:, names], atol=1e-6)


@every_machine
def test_kinds_of_gram_agree(build):
    X, label = classes(80)
    kernel = RBF(gamma=0.5)
    grams = [make_gram(kernel, X), MatrixGram(kernel(X)), FunctionGram(kernel, X)]
    f = [
        decision(BlockDescent(tol=1e-9).solve(problem), problem)
        for problem in (build(gram, label, np.ones(80)) for gram in grams)
    ]
    assert np.allclose(f[0], f[1], atol=1e-6)
    assert np.allclose(f[0], f[2], atol=1e-6)


@every_machine
@with_and_without_offsets
def test_warm_start(build, bias):
    X, label = classes(200)
    problem = build(make_gram(RBF(gamma=0.5), X), label, np.ones(200), bias=bias)
    solver = BlockDescent(tol=1e-6)
    cold = solver.solve(problem)
    warm = solver.solve(problem, start=cold.a)
    assert warm.n_iter < 0.2 * cold.n_iter
    assert np.isclose(warm.objective, cold.objective, rtol=1e-8)
    anything = np.random.default_rng(0).normal(size=(200, 4))
    assert np.isclose(solver.solve(problem, start=anything).objective, cold.objective, rtol=1e-8)
    assert np.isclose(solver.solve(problem, start=csr_array(anything)).objective, cold.objective, rtol=1e-8)


@every_machine
@with_and_without_offsets
@pytest.mark.parametrize("n", [60, 700])
def test_early_stops_are_certified(build, bias, n):
    X, label = classes(n)
    problem = build(make_gram(RBF(gamma=0.5), X), label, np.full(n, 2.0), bias=bias)
    optimum = BlockDescent(tol=1e-3).solve(problem)
    for max_iter in (1, 7, 50):
        result = BlockDescent(max_iter=max_iter).solve(problem)
        assert result.status == "max_iter"
        assert result.n_iter <= max_iter
        assert result.bound <= optimum.objective
        assert optimum.bound <= result.objective
        assert result.imbalance <= 1e-12 * max(1.0, result.a.sum())


def test_several_problems():
    problems = [random_joint(build, seed, True) for build in BUILDERS for seed in (0, 1)]
    alone = [BlockDescent(n_threads=1).solve(problem) for problem in problems]
    for threads in (1, 3):
        together = BlockDescent(n_threads=threads).solve_many(problems)
        assert [result.objective for result in together] == [result.objective for result in alone]
    again = BlockDescent().solve_many(problems, [result.a for result in alone])
    assert sum(result.n_iter for result in again) < 0.5 * sum(result.n_iter for result in alone)


def test_other_limits():
    X, label = classes(900)
    problem = weston_watkins(make_gram(RBF(gamma=0.5), X), label, np.full(900, 5.0))
    result = BlockDescent(max_seconds=1e-9).solve(problem)
    assert result.status == "max_seconds"
    assert np.isfinite(result.gap)
    told = []
    result = BlockDescent().solve(problem, callback=lambda progress: told.append(progress) or len(told) == 3)
    assert result.status == "stopped"
    assert len(told) == 3
    assert told[0].n_iter <= told[1].n_iter <= told[2].n_iter
    with pytest.raises(ZeroDivisionError):
        BlockDescent().solve(problem, callback=lambda progress: 1 / 0)


def test_gap_tolerance():
    X, label = classes(300)
    problem = crammer_singer(make_gram(RBF(gamma=0.5), X), label, np.full(300, 10.0))
    assert BlockDescent(tol=0.1).solve(problem).relative_gap > 1e-5
    result = BlockDescent(tol=0.1, gap_tol=1e-5).solve(problem)
    assert result.relative_gap <= 1e-5
    assert (np.diff(result.history.iteration) >= 0).all()


@every_machine
@with_and_without_offsets
def test_a_class_with_one_sample_and_small_problems(build, bias):
    X, label = classes(30, n_classes=3)
    label = np.concatenate([np.minimum(label, 1)[:29], [2]])
    problem = build(make_gram(RBF(gamma=0.5), X), label, np.full(30, 100.0), bias=bias)
    result = BlockDescent().solve(problem)
    assert result.status == "solved"
    assert (decision(result, problem).argmax(axis=1) == label).all()
    two = build(MatrixGram(np.eye(2)), np.array([0, 1]), np.ones(2), bias=bias)
    result = BlockDescent(tol=1e-10).solve(two)
    assert result.status == "solved"
    assert np.allclose(decision(result, two)[0], -decision(result, two)[1])


@every_machine
@with_and_without_offsets
def test_samples_without_length(build, bias):
    problem = build(MatrixGram(np.zeros((5, 5))), np.array([0, 1, 2, 2, 2]), np.ones(5), bias=bias)
    result = BlockDescent().solve(problem)
    assert result.status == "solved"
    assert result.gap <= 1e-6 * abs(result.objective)


@every_machine
def test_indefinite_matrix(build):
    X, label = classes(60)
    K = kernels.Sigmoid(gamma=1.0, coef0=-1.0)(X)
    result = BlockDescent(max_iter=20_000).solve(build(MatrixGram(K), label, np.ones(60)))
    assert result.status in ("indefinite", "max_iter", "stalled")
    assert result.gap == np.inf
    assert result.bound == -np.inf


def test_many_classes_stay_sparse():
    X, label = classes(600, n_classes=200, d=40)
    result = BlockDescent().solve(crammer_singer(make_gram(Linear(), X), label, np.full(600, 1.0)))
    assert result.status == "solved"
    assert result.coefficients.shape == (200, 600)
    assert result.coefficients.nnz < 0.3 * 200 * 600


@pytest.mark.parametrize("seed", range(3))
def test_badly_conditioned(seed):
    """Few features and a large price: coordinate descent alone would take for ever."""
    rng = np.random.default_rng(seed)
    X = 5.0 * rng.normal(size=(120, 2))
    label = np.concatenate([np.arange(4), rng.integers(4, size=116)])
    problem = weston_watkins(
        make_gram(kernels.Polynomial(degree=2, gamma=1.0, coef0=1.0), X), label, np.full(120, 50.0)
    )
    result = BlockDescent(max_iter=500_000).solve(problem)
    assert result.status == "solved"
    assert result.relative_gap <= 1e-3


def test_interrupt_callback_leaves_nothing_behind():
    X, label = classes(900)
    problem = weston_watkins(make_gram(RBF(gamma=0.5), X), label, np.full(900, 5.0))
    first = BlockDescent().solve(problem)
    with pytest.raises(KeyboardInterrupt):
        BlockDescent().solve(problem, callback=lambda progress: (_ for _ in ()).throw(KeyboardInterrupt))
    np.testing.assert_array_equal(BlockDescent().solve(problem).a.toarray(), first.a.toarray())


@every_solver
def test_parameters(make):
    assert clone(make()).get_params() == make().get_params()
    problem = random_joint("Crammer-Singer", 0, True)
    for name, value, message in (
        ("tol", 0.0, "tol must be a float > 0"),
        ("gap_tol", -1.0, "gap_tol must be a float > 0 or None"),
        ("max_iter", 0, "max_iter must be an int >= 1 or None"),
        ("max_seconds", 0.0, "max_seconds must be a float > 0"),
        ("precision", "float32", "precision must be"),
        ("memory", -1, "memory must be"),
    ):
        with pytest.raises(ValueError, match=message):
            make().set_params(**{name: value}).solve(problem)
    with pytest.raises(TypeError, match="BlockDescent solves a JointProblem, got DualProblem; use SMO"):
        make().solve(soft_margin(MatrixGram(np.eye(2)), np.array([-1.0, 1.0]), np.ones(2)))


def test_native_refuses_what_does_not_fit():
    gram = MatrixGram(np.eye(2)).native()
    limits = (1e-3, 100, 1.0, True, False, 2**20, 1)

    def call(index=(0, 1), label=(0, 1), cost=(1.0, 1.0), start=None, margin="relative", errors="sum"):
        start = np.zeros((2, 2)) if start is None else start
        parts = np.array(index, dtype=np.int64), np.array(label, dtype=np.int64), np.array(cost), start
        return _native.solve_joint(gram, *parts, margin, errors, 1.0, True, *limits)

    assert call()[6] == "solved"
    for change, message in (
        ({"index": (0, 2)}, "index out of range"),
        ({"label": (0, 2)}, "label out of range"),
        ({"cost": (1.0,)}, "the same length"),
        ({"start": np.zeros((3, 2))}, "the same length"),
        ({"margin": "wide"}, "unknown margin"),
        ({"errors": "none"}, "unknown errors"),
    ):
        with pytest.raises(ValueError, match=message):
            call(**change)
    with pytest.raises(TypeError):
        call(start=np.zeros((2, 2), dtype=np.float32))


def test_time_limit_is_kept_within_a_set():
    rng = np.random.default_rng(0)
    X = 20.0 * rng.normal(size=(400, 2))
    label = np.concatenate([np.arange(5), rng.integers(5, size=395)])
    kernel = kernels.Polynomial(degree=3, gamma=1.0, coef0=1.0)
    problem = weston_watkins(make_gram(kernel, X), label, np.full(400, 1e4))
    assert BlockDescent(tol=1e-9, max_seconds=0.01).solve(problem).status == "max_seconds"


# --- few features -----------------------------------------------------------------------------------------


@every_machine
@pytest.mark.parametrize("C", [1.0, 100.0])
@pytest.mark.parametrize("n", [150, 700])
def test_a_shift_of_linear_data_is_up_to_the_offsets(build, C, n):
    """Far from the origin, sweeps over samples crawl: Newton's method over features has to help."""
    X, label = classes(n, n_classes=4, d=5, seed=1)
    results = []
    for shift in (0.0, 30.0):
        problem = build(make_gram(Linear(), X + shift), label, np.full(n, C))
        results.append((BlockDescent(gap_tol=1e-7).solve(problem), problem))
    (plain, here), (moved, there) = results
    assert plain.status == moved.status == "solved"
    assert max(plain.relative_gap, moved.relative_gap) <= 1e-7
    assert moved.objective == pytest.approx(plain.objective, rel=1e-6)
    np.testing.assert_allclose(decision(moved, there), decision(plain, here), atol=5e-3)


@every_machine
@with_and_without_offsets
def test_small_problems_over_few_features_are_exact(build, bias):
    X, label = classes(200, n_classes=5, d=4)
    problem = build(make_gram(Linear(), X), label, np.full(200, 10.0), bias=bias)
    result = BlockDescent().solve(problem)
    assert result.status == "solved"
    assert result.relative_gap <= 1e-6


@every_machine
def test_a_class_for_every_sample(build):
    """One sample per class, hardly any error, 40 000 multipliers."""
    X = np.random.default_rng(0).normal(size=(200, 20))
    problem = build(make_gram(Linear(), X), np.arange(200), np.full(200, 100.0))
    result = BlockDescent().solve(problem)
    assert result.status == "solved"
    if build is not lee_lin_wahba:  # whose margin, of 1/199, is not worth many errors elsewhere
        np.testing.assert_array_equal(decision(result, problem).argmax(axis=1), np.arange(200))


def test_functions_of_few_features_by_another_name():
    """The features are found in the kernel values, whoever makes them."""
    X, label = classes(160, n_classes=4, d=3)
    grams = make_gram(Linear(), X + 5.0), FunctionGram(Linear(), X + 5.0)
    first, second = (BlockDescent(gap_tol=1e-8).solve(weston_watkins(g, label, np.full(160, 10.0))) for g in grams)
    assert first.status == second.status == "solved"
    assert first.objective == pytest.approx(second.objective, rel=1e-7)
