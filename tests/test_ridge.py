"""Least squares machines and the solver of their systems."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from mercer.errors import IndefiniteError, SingularError
from mercer.gram import FunctionGram, MatrixGram, make_gram
from mercer.kernels import RBF, Linear, Sigmoid
from mercer.ridge import LSSVC, KernelRidge
from mercer.solvers import solve_spd, spd

KERNEL = RBF(gamma=0.3)


def lesson(n=40, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(X[:, 0]) + 0.3 * rng.normal(size=n)


# --- the solver -------------------------------------------------------------------------------------------


@pytest.fixture
def float32(monkeypatch):
    """Factors in float32 for small systems too."""
    monkeypatch.setattr(spd, "SMALL", 10)


@pytest.mark.parametrize("method", ["cholesky", "low_rank"])
@pytest.mark.parametrize(
    "gram", [make_gram, FunctionGram, lambda k, X: MatrixGram(k(X))], ids=["native", "py", "array"]
)
def test_system(float32, method, gram):
    X, y = lesson(n=120)
    B = np.column_stack([y, np.ones(120), np.zeros(120)])
    ridge = np.linspace(0.1, 0.3, 120)
    result = solve_spd(gram(KERNEL, X), ridge, B, method=method)
    assert result.status == "solved"
    assert result.method == ("low rank" if method == "low_rank" else "cholesky float32")
    A = KERNEL(X) + np.diag(ridge)
    assert_allclose(result.x, np.linalg.solve(A, B), rtol=1e-8, atol=1e-10)
    assert_allclose(result.residual, B - A @ result.x, atol=1e-12)
    worst = (np.linalg.norm(B - A @ result.x, axis=0) / [np.linalg.norm(y), np.sqrt(120), 1.0]).max()
    assert result.relative_residual <= 1e-10
    assert_allclose(result.relative_residual, worst, atol=1e-14)
    assert_allclose(solve_spd(gram(KERNEL, X), ridge, y, method=method).x, result.x[:, 0], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("n_columns", [1, 2])
def test_steps_in_float32_stand_in_for_a_factor(float32, monkeypatch, n_columns):
    """As long as they are few: the preconditioner makes the difference."""
    monkeypatch.setattr(spd, "STEPS_FOR_A_FACTOR", 5)
    X, y = lesson(n=200)
    B = np.column_stack([y, np.ones(200)])[:, :n_columns]
    for gamma, method in ((0.1, "low rank float32"), (20.0, "cholesky float32")):
        gram = make_gram(RBF(gamma=gamma), X)
        result = solve_spd(gram, 1e-3, B)
        assert (result.status, result.method) == ("solved", method)
        assert_allclose(result.x, np.linalg.solve(RBF(gamma=gamma)(X) + 1e-3 * np.eye(200), B), rtol=1e-6, atol=1e-7)
        assert result.relative_residual <= 1e-10
    assert solve_spd(gram, 0.0, B).method.startswith("cholesky")


def test_vectors_far_from_the_origin(float32):
    """In float32 nothing would be left of their differences."""
    X, y = lesson(n=60)
    result = solve_spd(make_gram(KERNEL, X + 1e7), 0.1, y)
    assert result.method == "cholesky float32"
    assert result.relative_residual <= 1e-10


@pytest.mark.parametrize(("ridge", "scale"), [(1e-10, 1.0), (1e38, 1e39)], ids=["ill-conditioned", "too large"])
def test_float64_where_float32_will_not_do(float32, ridge, scale):
    X, y = lesson(n=100)
    K = scale * RBF(gamma=0.05)(X)
    result = solve_spd(MatrixGram(K), ridge, y)
    assert (result.method, result.status) == ("cholesky float64", "solved")
    backward = np.linalg.norm(y - (K + ridge * np.eye(100)) @ result.x) / (np.linalg.norm(K) * np.linalg.norm(result.x))
    assert backward <= 1e-14


def test_float64_where_refinement_stalls(float32, monkeypatch):
    X, y = lesson(n=100)
    assert solve_spd(make_gram(KERNEL, X), 1e-3, y).method == "cholesky float32"
    monkeypatch.setattr(spd, "FLOAT32_STEPS", 1)
    result = solve_spd(make_gram(KERNEL, X), 1e-3, y)
    assert (result.method, result.status) == ("cholesky float64", "solved")
    assert result.relative_residual <= 1e-10


def test_one_value_too_large_for_float32(float32, monkeypatch):
    monkeypatch.setattr(spd, "STEPS_FOR_A_FACTOR", 1)
    X, y = lesson(n=100)
    K = KERNEL(X)
    K[-1, -1] = 1e60
    result = solve_spd(MatrixGram(K), 0.1, y)
    assert (result.method, result.status) == ("cholesky float32", "solved")  # of the matrix with ones on the diagonal
    assert_allclose(result.x, np.linalg.solve(K + 0.1 * np.eye(100), y), rtol=1e-6, atol=1e-9)


def test_the_memory_decides():
    X, y = lesson(n=300)
    gram = make_gram(KERNEL, X)
    assert solve_spd(gram, 0.1, y, memory=1.0).method == "cholesky float64"  # 8 n^2 = 0.69 MB
    small = solve_spd(gram, 0.1, y, memory=0.6)
    assert small.method == "low rank"
    assert small.rank <= 0.6 * 2**20 / (32 * 300)
    assert_allclose(small.x, solve_spd(gram, 0.1, y).x, rtol=1e-7, atol=1e-8)


def test_steps_run_out():
    X, y = lesson(n=200)
    result = solve_spd(make_gram(RBF(gamma=2.0), X), 1e-3, y, method="low_rank", max_iter=3, memory=0.1)
    assert (result.status, result.n_iter) == ("max_iter", 3)
    with pytest.warns(ConvergenceWarning, match=r"KernelRidge .*max_iter"):
        KernelRidge(RBF(gamma=2.0), alpha=1e-3, max_iter=3, memory=0.1).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tol": 0.0}, "tol must be"),
        ({"method": "magic"}, "method must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"ridge": -1.0}, "ridge must be"),
        ({"B": np.ones(3)}, "B has shape"),
        ({"B": np.array([1.0, np.nan])}, "B must be finite"),
    ],
)
def test_systems_that_are_refused(parameters, message):
    arguments = {"gram": MatrixGram(np.eye(2)), "ridge": 1.0, "B": np.ones(2)} | parameters
    with pytest.raises(ValueError, match=message):
        solve_spd(**arguments)


# --- machines ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [KERNEL, Linear()])
@pytest.mark.parametrize("alpha", [0.2, "loo"])
def test_certificate(kernel, alpha):
    X, y = lesson()
    weight = np.random.default_rng(3).uniform(0.5, 2.0, size=len(y))
    machine = KernelRidge(kernel, alpha=alpha, fit_intercept=True).fit(X, y, weight)
    result, a = machine.result_, machine.dual_coef_[0]
    error = y - machine.predict(X)
    objective = 0.5 * (weight * error**2).sum() + 0.5 * machine.alpha_ * a @ kernel(X) @ a
    residual = error - machine.alpha_ * a / weight
    assert_allclose(result.objective, objective, rtol=1e-9)
    assert result.bound <= result.objective
    assert result.status == "solved"
    assert np.linalg.norm(residual) <= 1e-9 * np.linalg.norm(y)
    # Any other weights are worse than the bound.
    other = a + 0.1 * np.random.default_rng(0).normal(size=len(a))
    error = y - kernel(X) @ other - machine.intercept_
    assert 0.5 * (weight * error**2).sum() + 0.5 * machine.alpha_ * other @ kernel(X) @ other > result.bound


def test_gap_of_a_rough_solution():
    """It is the distance of the two objectives."""
    X, y = lesson(n=200)
    weight = np.linspace(0.2, 3.0, 200)
    machine = KernelRidge(KERNEL, alpha=0.1, tol=1e-2, memory=0.1).fit(X, y, weight)
    a, K = machine.dual_coef_[0], KERNEL(X)
    primal = 0.5 * (weight * (y - K @ a) ** 2).sum() + 0.05 * a @ K @ a
    dual = 0.1 * (a @ y - 0.5 * a @ (K + np.diag(0.1 / weight)) @ a)
    assert machine.result_.method == "low rank"
    assert 1e-6 < machine.result_.relative_residual <= 1e-2
    assert_allclose(machine.result_.gap, primal - dual, rtol=1e-6)


def test_features_that_do_not_fit_the_memory():
    X, y = lesson(n=300, d=50)
    assert KernelRidge(Linear()).fit(X, y).result_.method == "primal"
    assert KernelRidge(Linear(), memory=0.1).fit(X, y).result_.method == "low rank"  # 8 d (n + 2 d) = 0.15 MB


@pytest.mark.parametrize("alpha", [1e-8, [1e-8]])
def test_features_are_solved_as_far_as_rounding_lets_them_be(alpha):
    X, y = lesson(n=100)
    result = KernelRidge(Linear(), alpha=alpha).fit(X, y).result_
    assert result.status == "solved"
    assert 1e-10 < result.relative_residual < 1e-5


@pytest.mark.parametrize("kernel", [KERNEL, Linear()])
@pytest.mark.parametrize("alpha", [0.1, [0.1]], ids=["system", "eigenvectors"])
@pytest.mark.parametrize("tiny", [1e-20, 1e-310])
def test_tiny_weights_are_next_to_none(float32, kernel, alpha, tiny):
    X, y = lesson(n=60)
    some = np.arange(60) % 3 > 0
    machine = KernelRidge(kernel, alpha=alpha, fit_intercept=True).fit(X, y, np.where(some, 1.0, tiny))
    without = KernelRidge(kernel, alpha=alpha, fit_intercept=True).fit(X[some], y[some])
    assert_allclose(machine.predict(X), without.predict(X), rtol=1e-8, atol=1e-9)
    assert machine.result_.status == "solved"


def test_constants_and_single_samples():
    X, _ = lesson()
    machine = KernelRidge(KERNEL, fit_intercept=True).fit(X, np.full(len(X), 3.0))
    assert_allclose(machine.predict(X), 3.0)
    assert_allclose(KernelRidge(Linear(), fit_intercept=True).fit(X, np.full(len(X), 3.0)).predict(X), 3.0)
    for alpha in (1.0, "loo"):
        assert_allclose(KernelRidge(alpha=alpha, kernel=KERNEL, fit_intercept=True).fit(X[:1], [2.0]).predict(X), 2.0)
    assert_allclose(KernelRidge(KERNEL).fit(X[:1], [2.0]).predict(X[:1]), 1.0)


@pytest.mark.parametrize("size", [1e-250, 1e250])
@pytest.mark.parametrize("kernel", [KERNEL, Linear()])
@pytest.mark.parametrize("alpha", [0.1, [0.1, 1.0]])
def test_values_whose_squares_are_no_floats(size, kernel, alpha):
    X, y = lesson()
    common = {"kernel": kernel, "alpha": alpha, "fit_intercept": True, "leave_one_out": True}
    small, machine = (KernelRidge(**common).fit(X, values) for values in (y, size * y))
    assert_allclose(machine.predict(X) / size, small.predict(X), rtol=1e-10)
    assert_allclose(machine.loo_residuals_ / size, small.loo_residuals_, rtol=1e-10)
    assert_allclose(machine.prune(10).predict(X) / size, small.prune(10).predict(X), rtol=1e-9)
    assert machine.alpha_ == small.alpha_
    result = solve_spd(make_gram(KERNEL, X), 0.1, size * y)
    assert 0 < result.relative_residual < 1e-10
    assert_allclose(result.x / size, solve_spd(make_gram(KERNEL, X), 0.1, y).x, rtol=1e-10)


@pytest.mark.parametrize("d", [3, 60], ids=["features", "kernel"])
@pytest.mark.parametrize("alpha", [1.0, "loo"])
def test_kernel_values_too_large_for_floats(d, alpha):
    X, y = lesson(d=d)
    with pytest.raises(ValueError, match=r"kernel values, times the weights, are too large|Linear\(\) overflow"):
        KernelRidge(Linear(), alpha=alpha).fit(1e200 * X, y)


def test_a_ridge_that_outweighs_the_matrix(float32, monkeypatch):
    monkeypatch.setattr(spd, "STEPS_FOR_A_FACTOR", 1)
    X, y = lesson()
    for method in ("cholesky", "low_rank"):
        result = solve_spd(make_gram(KERNEL, X), 1e8, y, method=method)
        assert (result.rank, result.status) == (0, "solved")
        assert_allclose(result.x, y / 1e8, rtol=1e-6, atol=1e-14)


def test_features_far_from_the_origin():
    """Coefficients that do not quite add up to zero would be seen through the length of the mean."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 20)) + 100.0
    for alpha in (1e-3, [1e-3]):
        machine = KernelRidge(Linear(), alpha=alpha, fit_intercept=True).fit(X, X[:, 0])
        assert np.abs(machine.predict(X) - X[:, 0]).max() < 1e-4


def test_no_penalty_interpolates():
    X, y = lesson(n=15)
    machine = KernelRidge(RBF(gamma=5.0), alpha=0.0).fit(X, y)
    assert_allclose(machine.predict(X), y, rtol=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 1e-18])
def test_rank_deficient_systems_without_a_penalty(alpha):
    X, y = lesson()
    twice = np.concatenate([X, X]), np.concatenate([y, y])
    with pytest.raises(SingularError, match="raise the ridge"):
        KernelRidge(KERNEL, alpha=alpha).fit(*twice)
    with pytest.raises(SingularError, match="singular"):
        KernelRidge(Linear(), alpha=alpha).fit(np.column_stack([X, X[:, :1]]), y)
    with pytest.raises(SingularError, match="no ridge"):
        KernelRidge(KERNEL, alpha=0.0, memory=0.01).fit(*twice)
    with pytest.raises(SingularError, match=r"linear combinations .* too small"):
        KernelRidge(KERNEL, alpha=alpha, leave_one_out=True).fit(*twice)


@pytest.mark.parametrize("alpha", [1e-300, 1e-18, [1e-18]])
def test_fewer_features_than_samples_need_a_penalty(alpha):
    """The features are independent, but the samples are not."""
    with pytest.raises(SingularError, match="too small to regularise"):
        KernelRidge(Linear(), alpha=alpha).fit(*lesson())


@pytest.mark.parametrize("alpha", [1e-13, [1e-13]])
def test_a_solution_without_digits_is_none(alpha):
    X, y = lesson(n=100)
    with pytest.warns(ConvergenceWarning, match="status stalled"):
        machine = KernelRidge(Linear(), alpha=alpha).fit(X, y)
    assert machine.result_.relative_residual > 1e-3


@pytest.mark.parametrize("alpha", [0.1, [0.1, 1.0]])
def test_negative_eigenvalues(alpha):
    X, y = lesson()
    with pytest.raises(IndefiniteError, match=r"KernelRidge needs .* smallest eigenvalue of this one.* is -"):
        KernelRidge(Sigmoid(gamma=1.0, coef0=-1.0), alpha=alpha).fit(X, y)
    K = KERNEL(X)
    with pytest.raises(IndefiniteError, match=r"KernelRidge needs .* smallest eigenvalue of this one.* is -"):
        KernelRidge("precomputed", alpha=alpha).fit(K - 0.05 * np.eye(len(K)), y)
    # Those of a matrix of repeated samples are rounding, however much these weigh.
    twice, weight = KERNEL(np.vstack([X, X])), np.full(2 * len(X), 1e6)
    KernelRidge("precomputed", alpha=alpha).fit(twice, np.append(y, y), weight)


def test_penalties_that_are_refused():
    X, y = lesson()
    for alpha in (-1.0, [1.0, 0.0], [], "best", None, np.inf, True):
        with pytest.raises(ValueError, match=r"^alpha must be"):
            KernelRidge(alpha=alpha).fit(X, y)
    with pytest.raises(ValueError, match=r"^norm_bound must be"):
        KernelRidge(norm_bound=0.0).fit(X, y)


@pytest.mark.parametrize("bound", [1e-200, 1e200])
def test_bounds_whose_squares_are_no_floats(bound):
    X, y = lesson()
    machine = KernelRidge(KERNEL, norm_bound=bound).fit(X, y)
    assert machine.result_.status == "solved"
    expected = y if bound > 1 else bound * KERNEL(X) @ y / np.sqrt(y @ KERNEL(X) @ y)
    assert_allclose(machine.predict(X), expected, rtol=1e-8)


def test_eigenvectors_that_do_not_fit_the_memory():
    X, y = lesson(n=200)
    with pytest.raises(ValueError, match=r"^memory must be at least 1 "):
        KernelRidge(KERNEL, alpha="loo", memory=0.5).fit(X, y)


def test_grid_of_loo_reaches_both_ends():
    X, y = lesson(n=80)
    clean = KernelRidge(KERNEL, alpha="loo").fit(X, np.sin(X[:, 0]))
    noise = KernelRidge(KERNEL, alpha="loo").fit(X, np.random.default_rng(5).normal(size=80))
    assert clean.alpha_ < 1e-3 * noise.alpha_
    assert len(clean.alphas_) == len(clean.loo_errors_)
    assert clean.loo_errors_.min() == clean.loo_errors_[clean.alphas_ == clean.alpha_]
    # Other attributes than those of the last fit would lie.
    again = clean.set_params(alpha=1.0).fit(X, y)
    assert not any(hasattr(again, name) for name in ("alphas_", "loo_errors_", "loo_residuals_"))


# --- pruning ----------------------------------------------------------------------------------------------


def test_pruning():
    X, y = lesson(n=100)
    machine = KernelRidge(KERNEL, alpha=0.3, fit_intercept=True, leave_one_out=True).fit(X, y)
    before = machine.dual_coef_.copy()
    half = machine.prune(0.5)
    assert hasattr(machine, "loo_residuals_") and not hasattr(half, "loo_residuals_")  # they are of the whole machine
    assert len(half.support_) == len(machine.prune(np.float32(0.5)).support_) == 50
    assert_array_equal(half.support_vectors_, X[half.support_])
    assert_array_equal(machine.dual_coef_, before)
    assert np.abs(half.predict(X) - machine.predict(X)).max() < 0.1
    assert_allclose(machine.prune(100).predict(X), machine.predict(X), rtol=1e-6, atol=1e-7)
    given = KernelRidge("precomputed", alpha=0.3, fit_intercept=True).fit(KERNEL(X), y)
    K = KERNEL(X)
    assert_allclose(given.prune(50, K).predict(K), half.predict(X), rtol=1e-6, atol=1e-8)
    with pytest.raises(ValueError, match="needs the training matrix"):
        given.prune(50)
    with pytest.raises(ValueError, match="K must have the shape"):
        given.prune(50, K[:50, :50])


def test_pruning_of_classes_and_of_samples_without_weight():
    X, y = lesson(n=90)
    classes = np.digitize(y, [-0.5, 0.5])
    weight = np.ones(90)
    weight[:20] = 0.0
    machine = LSSVC(KERNEL, alpha=0.1).fit(X, classes, weight)
    few = machine.prune(30)
    assert few.dual_coef_.shape == (3, 30)
    assert few.support_.min() >= 20
    assert few.score(X[20:], classes[20:]) > machine.score(X[20:], classes[20:]) - 0.1


@pytest.mark.parametrize("keep", [0, 1.5, 0.0, "half"])
def test_pruning_that_is_refused(keep):
    machine = KernelRidge(KERNEL).fit(*lesson())
    with pytest.raises(ValueError, match=r"^keep must be"):
        machine.prune(keep)


def test_nothing_to_prune():
    X, _ = lesson()
    with pytest.raises(ValueError, match="nothing to prune"):
        KernelRidge(KERNEL).fit(X, np.zeros(len(X))).prune(5)
