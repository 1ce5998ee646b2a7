"""Several classes learnt in one go over the weights of features: what the solver promises, limits, balance."""

import numpy as np
import pytest
from reference.joint import BUILDERS
from registry import LINEAR_JOINT_SOLVERS
from scipy.sparse import csr_array
from sklearn.base import clone

from mercer import LinearSVC, _native
from mercer.compat.sklearn import LinearSVC as DropIn
from mercer.data import RowBlocks
from mercer.gram import LinearGram, MatrixGram
from mercer.problems import crammer_singer, soft_margin, weston_watkins
from mercer.problems.balance import balanced, likely_offsets
from mercer.solvers import BlockDescent, JointResult, LinearBlockDescent

every_machine = pytest.mark.parametrize("build", BUILDERS.values(), ids=BUILDERS)
every_solver = pytest.mark.parametrize("make", LINEAR_JOINT_SOLVERS.values(), ids=LINEAR_JOINT_SOLVERS)
with_and_without_offsets = pytest.mark.parametrize("bias", [False, True], ids=["no offsets", "offsets"])


def classes(n=90, n_classes=4, d=30, seed=0):
    """Overlapping classes, each of them there; two in five entries are zero."""
    rng = np.random.default_rng(seed)
    label = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)])
    X = rng.normal(size=(n, d))
    X[np.arange(n), label % d] += 1.5 + 0.5 * (label >= d)
    return np.where(rng.uniform(size=X.shape) < 0.4, 0.0, X), label


def decision(result, problem):
    return problem.gram.dot(np.ascontiguousarray(result.coefficients.toarray().T)) + result.intercepts


@every_machine
@with_and_without_offsets
@every_solver
def test_kkt_feasibility_and_balance(make, build, bias):
    X, label = classes(400, d=60)
    problem = build(LinearGram(X, constant=0.0 if bias else 0.25), label, np.linspace(0.5, 3.0, 400), bias=bias)
    result = make().solve(problem)
    assert isinstance(result, JointResult)
    assert result.status == "solved"
    assert result.kernel_evaluations == 0  # nobody had to help
    a = result.a.toarray()
    assert (a >= 0).all()
    assert (a[np.arange(400), label] == 0).all()
    most = a.max(axis=1) if problem.errors == "sum" else a.sum(axis=1)
    assert (most <= problem.cost * (1 + 1e-12)).all()
    sums = problem.sums(a)
    slopes = problem.slopes(sums, result.intercepts)
    assert problem.violation(a, slopes) <= 1e-3
    assert np.isclose(problem.violation(a, slopes), result.violation, atol=1e-10)
    assert np.isclose(problem.gap(a, slopes), result.gap, rtol=1e-6)
    assert np.isclose(problem.objective(a, sums), result.objective, rtol=1e-10)
    if bias:
        assert result.imbalance <= 1e-12 * a.sum()
        assert abs(result.intercepts.sum()) <= 1e-10
    else:
        assert not result.intercepts.any()
    assert result.history.gap[-1] == result.gap
    assert (np.diff(result.history.iteration) >= 0).all()


@every_machine
@with_and_without_offsets
@pytest.mark.parametrize("constant", [0.0, 4.0])
def test_same_as_over_kernel_values(build, bias, constant):
    X, label = classes(300, n_classes=5, d=50)
    problem = build(LinearGram(X, constant), label, np.full(300, 0.2), bias=bias)
    ours, other = LinearBlockDescent(tol=1e-6).solve(problem), BlockDescent(tol=1e-6).solve(problem)
    assert np.isclose(ours.objective, other.objective, rtol=1e-8)
    np.testing.assert_allclose(decision(ours, problem), decision(other, problem), atol=1e-4)


@every_machine
@with_and_without_offsets
def test_storage_does_not_matter(build, bias):
    X, label = classes(200, d=40)
    X = X.astype(np.float32)  # the same numbers in both precisions
    kinds = [X.astype(np.float64), X, csr_array(X.astype(np.float64)), csr_array(X)]
    results = [LinearBlockDescent(tol=1e-7).solve(build(LinearGram(Z), label, np.ones(200), bias=bias)) for Z in kinds]
    for other in results[1:]:
        assert np.isclose(other.objective, results[0].objective, rtol=1e-10)
        np.testing.assert_allclose(other.intercepts, results[0].intercepts, atol=1e-4)


@every_machine
def test_rounding_of_rows_does_no_harm(build):
    """In float32 next to nothing is left of features as small as these."""
    X, label = classes(200)
    problem = build(LinearGram(1e-44 * X), label, np.full(200, 1e88), bias=False)
    result = LinearBlockDescent().solve(problem)
    assert result.status == "solved"
    assert result.kernel_evaluations == 0


@every_machine
@with_and_without_offsets
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "CSR"])
def test_threads_do_not_show(build, bias, sparse):
    X, label = classes(900, n_classes=6, d=150)
    problem = build(LinearGram(csr_array(X) if sparse else X), label, np.full(900, 0.02), bias=bias)
    first, *others = [LinearBlockDescent(tol=1e-5, n_threads=n).solve(problem) for n in (1, 2, 5)]
    assert first.status == "solved"
    for other in others:
        np.testing.assert_array_equal(first.a.toarray(), other.a.toarray())
        np.testing.assert_array_equal(first.intercepts, other.intercepts)
        assert first.gap == other.gap


@every_machine
@with_and_without_offsets
def test_weight_two_is_the_sample_twice(build, bias):
    X, label = classes(60)
    cost = np.where(np.arange(60) % 3 == 0, 2.0, 1.0)
    twice = np.concatenate([np.arange(60), np.flatnonzero(cost == 2.0)])
    solver = LinearBlockDescent(tol=1e-9)
    weighted = build(LinearGram(X), label, cost, bias=bias)
    repeated = build(LinearGram(X[twice]), label[twice], np.ones(len(twice)), bias=bias)
    first, second = solver.solve(weighted), solver.solve(repeated)
    assert np.isclose(first.objective, second.objective, rtol=1e-9)
    assert np.allclose(decision(first, weighted), decision(second, repeated)[:60], atol=1e-5)


@every_machine
@with_and_without_offsets
def test_order_of_samples_and_names_of_classes_do_not_matter(build, bias):
    X, label = classes(80)
    rng = np.random.default_rng(3)
    order, names = rng.permutation(80), rng.permutation(4)
    solver = LinearBlockDescent(tol=1e-9)
    problem = build(LinearGram(X), label, np.ones(80), bias=bias)
    mixed = build(LinearGram(X[order]), names[label[order]], np.ones(80), bias=bias)
    f, g = decision(solver.solve(problem), problem), decision(solver.solve(mixed), mixed)
    assert np.allclose(f[order], g[:, names], atol=1e-5)


@every_machine
@with_and_without_offsets
def test_some_of_the_samples(build, bias):
    X, label = classes(120)
    index = np.random.default_rng(1).permutation(120)[:90]
    some = build(LinearGram(X), label[index], np.ones(90), bias=bias, index=index)
    alone = build(LinearGram(X[index]), label[index], np.ones(90), bias=bias)
    first, second = LinearBlockDescent(tol=1e-8).solve(some), LinearBlockDescent(tol=1e-8).solve(alone)
    assert np.isclose(first.objective, second.objective, rtol=1e-10)
    assert first.coefficients.shape == (4, 120)


@every_machine
@with_and_without_offsets
def test_warm_start(build, bias):
    X, label = classes(300)
    problem = build(LinearGram(X), label, np.ones(300), bias=bias)
    solver = LinearBlockDescent(tol=1e-6)
    cold = solver.solve(problem)
    warm = solver.solve(problem, start=cold.a)
    assert warm.n_iter < 0.2 * cold.n_iter
    assert np.isclose(warm.objective, cold.objective, rtol=1e-8)
    anything = np.random.default_rng(0).normal(size=(300, 4))
    assert np.isclose(solver.solve(problem, start=anything).objective, cold.objective, rtol=1e-8)
    assert np.isclose(solver.solve(problem, start=csr_array(anything)).objective, cold.objective, rtol=1e-8)


@every_machine
@with_and_without_offsets
def test_early_stops_are_certified(build, bias):
    X, label = classes(200)
    problem = build(LinearGram(X), label, np.full(200, 2.0), bias=bias)
    optimum = LinearBlockDescent().solve(problem)
    for max_iter in (1, 2, 7):
        result = LinearBlockDescent(max_iter=max_iter, tol=1e-9).solve(problem)
        assert result.status == "max_iter"
        assert result.n_iter <= max_iter
        assert result.bound <= optimum.objective
        assert optimum.bound <= result.objective
        assert result.imbalance <= 1e-12 * max(1.0, result.a.sum())


def test_other_limits():
    X, label = classes(900, d=60)
    problem = weston_watkins(LinearGram(X), label, np.full(900, 2.0))
    result = LinearBlockDescent(max_seconds=1e-9).solve(problem)
    assert result.status == "max_seconds"
    assert np.isfinite(result.gap)
    told = []
    solver = LinearBlockDescent(tol=1e-9)
    result = solver.solve(problem, callback=lambda progress: told.append(progress) or len(told) == 3)
    assert result.status == "stopped"
    assert len(told) == 3
    assert told[0].n_iter < told[1].n_iter < told[2].n_iter
    with pytest.raises(ZeroDivisionError):
        solver.solve(problem, callback=lambda progress: 1 / 0)


def test_gap_tolerance():
    X, label = classes(300)
    problem = crammer_singer(LinearGram(X), label, np.full(300, 10.0))
    assert LinearBlockDescent(tol=0.1).solve(problem).relative_gap > 1e-5
    result = LinearBlockDescent(tol=0.1, gap_tol=1e-5).solve(problem)
    assert result.status == "solved"
    assert result.relative_gap <= 1e-5


@every_machine
@pytest.mark.parametrize("seed", range(3))
def test_badly_conditioned(build, seed):
    """Few features and a large price: coordinate descent alone would take for ever."""
    rng = np.random.default_rng(seed)
    X = np.array([20.0, 1.0, 0.05]) * rng.normal(size=(150, 3))
    label = np.concatenate([np.arange(4), rng.integers(4, size=146)])
    result = LinearBlockDescent().solve(build(LinearGram(X), label, np.full(150, 50.0)))
    assert result.status == "solved"
    assert result.relative_gap <= 1e-3


@every_machine
def test_what_crawls_is_handed_over(build, monkeypatch):
    X, label = classes(200)
    problem = build(LinearGram(X), label, np.ones(200))
    alone = LinearBlockDescent(tol=1e-6).solve(problem)
    monkeypatch.setattr("mercer.solvers.joint_linear.EPOCHS", 3)
    helped = LinearBlockDescent(tol=1e-6).solve(problem)
    assert alone.kernel_evaluations == 0
    assert helped.kernel_evaluations > 0
    assert helped.status == "solved"
    assert helped.violation <= 1e-6
    assert np.isclose(alone.objective, helped.objective, rtol=1e-9)


@every_machine
@with_and_without_offsets
def test_a_class_with_one_sample_and_samples_without_length(build, bias):
    X, label = classes(40, n_classes=3, d=40)
    label = np.concatenate([np.minimum(label, 1)[:39], [2]])
    problem = build(LinearGram(X), label, np.full(40, 100.0), bias=bias)
    result = LinearBlockDescent().solve(problem)
    assert result.status == "solved"
    assert (decision(result, problem).argmax(axis=1) == label).all()
    empty = build(LinearGram(np.zeros((5, 2))), np.array([0, 1, 2, 2, 2]), np.ones(5), bias=bias)
    result = LinearBlockDescent().solve(empty)
    assert result.status == "solved"
    assert result.gap <= 1e-6 * abs(result.objective)


def test_a_thousand_classes():
    X = np.random.default_rng(0).normal(size=(1000, 30))
    machine = LinearSVC(C=100.0, multi_class="crammer_singer").fit(X, np.arange(1000))
    assert machine.result_.status == "solved"
    assert machine.coef_.shape == (1000, 30)
    assert (machine.predict(X) == np.arange(1000)).all()


@every_solver
def test_parameters(make):
    assert clone(make()).get_params() == make().get_params()
    X, label = classes(30)
    problem = crammer_singer(LinearGram(X), label, np.ones(30))
    for name, value, message in (
        ("tol", 0.0, "tol must be a float > 0"),
        ("gap_tol", -1.0, "gap_tol must be a float > 0 or None"),
        ("shrinking", "yes", "shrinking must be"),
        ("max_iter", 0, "max_iter must be an int >= 1 or None"),
        ("max_seconds", 0.0, "max_seconds must be a float > 0"),
    ):
        with pytest.raises(ValueError, match=message):
            make().set_params(**{name: value}).solve(problem)
    with pytest.raises(TypeError, match="solves a JointProblem, got DualProblem; use LinearSolver"):
        make().solve(soft_margin(LinearGram(np.eye(2)), np.array([-1.0, 1.0]), np.ones(2)))
    with pytest.raises(ValueError, match="needs a LinearGram, got a MatrixGram; BlockDescent solves"):
        make().solve(crammer_singer(MatrixGram(np.eye(3)), np.arange(3), np.ones(3)))
    blocks = LinearGram(RowBlocks([X]))
    with pytest.raises(ValueError, match="in one piece"):
        make().solve(crammer_singer(blocks, label, np.ones(30)))


def test_native_refuses_what_does_not_fit():
    def call(index=(0, 1), label=(0, 1), cost=(1.0, 1.0), start=None, offsets=None, margin="relative", errors="sum"):
        start = np.zeros((2, 2)) if start is None else start
        parts = np.array(index, dtype=np.int64), np.array(label, dtype=np.int64), np.array(cost), start, offsets
        return _native.solve_joint_linear(np.eye(2), *parts, margin, errors, 1.0, 0.0, 1e-3, 100, 1.0, True, 1)

    assert call()[5] == "solved"
    assert call(np.zeros(0), np.zeros(0), np.zeros(0), np.zeros((0, 2)))[5] == "solved"
    assert call([0], [0], [1.0], np.zeros((1, 2)))[5] == "solved"
    for change, message in (
        ({"index": (0, 2)}, "index out of range"),
        ({"label": (0, 2)}, "label out of range"),
        ({"cost": (1.0,)}, "the same length"),
        ({"start": np.zeros((3, 2))}, "the same length"),
        ({"start": np.zeros((2, 1))}, "two classes"),
        ({"offsets": np.zeros(3)}, "one entry per class"),
        ({"margin": "wide"}, "unknown margin"),
        ({"errors": "none"}, "unknown errors"),
    ):
        with pytest.raises(ValueError, match=message):
            call(**change)
    with pytest.raises(TypeError):
        call(start=np.zeros((2, 2), dtype=np.float32))


# --- balance ----------------------------------------------------------------------------------------------


@every_machine
@pytest.mark.parametrize("noise", [1e-9, 1e-3, 1.0])
def test_balanced_multipliers(build, noise):
    X, label = classes(80)
    problem = build(LinearGram(X), label, np.linspace(0.5, 2.0, 80))
    optimum = LinearBlockDescent(tol=1e-6).solve(problem)
    rng = np.random.default_rng(0)
    a = problem.feasible(optimum.a.toarray() * (1 + noise * rng.normal(size=(80, 4))))
    slopes = problem.slopes(problem.sums(a), optimum.intercepts)
    b = balanced(problem, a, slopes, 1e-6)
    assert problem.imbalance(b) <= 1e-13 * np.abs(problem.coefficients(b)).sum()
    np.testing.assert_allclose(problem.feasible(b), b, rtol=1e-12, atol=1e-14)
    assert np.abs(b - a).max() <= 10 * noise
    assert problem.objective(b, problem.sums(b)) >= optimum.bound


@every_machine
def test_balance_without_anything_between_bounds(build):
    """One sample at its upper bound, the others at zero: only shrinking helps."""
    problem = build(LinearGram(np.eye(4)), np.array([0, 1, 2, 2]), np.array([1.0, 2.0, 3.0, 1.0]))
    a = np.zeros((4, 3))
    a[0, 1] = 1.0
    slopes = np.where(a > 0, -5.0, 5.0) * problem.others
    b = balanced(problem, a, slopes, 0.0)
    assert problem.imbalance(b) <= 1e-14
    np.testing.assert_allclose(problem.feasible(b), b, atol=1e-15)


@every_machine
def test_likely_offsets_are_those_of_the_optimum(build):
    X, label = classes(120)
    problem = build(LinearGram(X), label, np.full(120, 0.5))
    optimum = LinearBlockDescent(tol=1e-8).solve(problem)
    a = optimum.a.toarray()
    np.testing.assert_allclose(likely_offsets(problem, a, problem.sums(a)), optimum.intercepts, atol=1e-5)


# --- machines ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["crammer_singer", "weston_watkins", "lee_lin_wahba"])
@pytest.mark.parametrize("intercept", ["free", "penalised", "none"])
def test_linear_machines_use_it(scheme, intercept):
    X, y = classes(150)
    parameters = {"multi_class": scheme, "intercept": intercept, "intercept_scaling": 2.0, "tol": 1e-6}
    machine = LinearSVC(**parameters).fit(X, y)
    other = LinearSVC(solver=BlockDescent(tol=1e-6), **parameters).fit(X, y)
    assert machine.result_.kernel_evaluations == 0
    assert other.result_.kernel_evaluations > 0
    np.testing.assert_allclose(machine.coef_, other.coef_, atol=1e-4)
    np.testing.assert_allclose(machine.intercept_, other.intercept_, atol=1e-4)
    given = LinearSVC(solver=LinearBlockDescent(tol=1e-6), **parameters).fit(csr_array(X), y)
    np.testing.assert_allclose(given.coef_, machine.coef_, atol=1e-4)


def test_drop_in_counts_epochs():
    X, y = classes(150)
    machine = DropIn(multi_class="crammer_singer", max_iter=5000, tol=1e-6).fit(X, y)
    assert machine.n_iter_ == machine.result_.n_iter < 5000
    assert machine.result_.status == "solved"
