"""Linear programming machines beside the programmes of the books, given to linprog and to a conic solver."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog

from mercer.kernels import RBF, Sigmoid
from mercer.lp import LPClassifier, LPNoveltyDetector, LPRegressor, NuLPClassifier

CLOSE = {"rtol": 1e-6, "atol": 1e-6}


def lesson(n=50, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=n) > 0.7, 1.0, -1.0)
    return X, y, rng.integers(1, 4, size=n).astype(float)


def minimise(cost, A_ub, b_ub, free, A_eq=None, b_eq=None):
    """A linear programme in its primal form, by the interior point method; variables are >= 0 or free."""
    bounds = [(None if at in free else 0, None) for at in range(len(cost))]
    answer = linprog(cost, A_ub=A_ub, b_ub=b_ub, A_eq=A_eq, b_eq=b_eq, bounds=bounds, method="highs-ipm")
    assert answer.status == 0
    return answer


def book_classifier(K, y, C, weight):
    """[CY eqs 2.5-2.6] with the objective times m: variables alpha, alpha hat, b, xi."""
    n = len(y)
    rows = -np.hstack([y[:, None] * K, -y[:, None] * K, y[:, None], np.eye(n)])
    cost = np.concatenate([np.ones(2 * n), [0.0], C * weight])
    answer = minimise(cost, rows, -np.ones(n), {2 * n})
    return answer.x[:n] - answer.x[n : 2 * n], answer.x[2 * n], answer.fun


def book_nu_classifier(K, y, nu, weight):
    """[P eq 1.49] as it stands: variables alpha, alpha*, b, rho, xi; (1/m) sum(alpha + alpha*) = 1."""
    n, m = len(y), weight.sum()
    rows = -np.hstack([y[:, None] * K, -y[:, None] * K, y[:, None], -np.ones((n, 1)), np.eye(n)])
    cost = np.concatenate([np.zeros(2 * n), [0.0, -nu], weight / m])
    norm = np.concatenate([np.full(2 * n, 1 / m), np.zeros(n + 2)])[None]
    answer = minimise(cost, rows, np.zeros(n), {2 * n}, norm, [1.0])
    rho = answer.x[2 * n + 1]
    return (answer.x[:n] - answer.x[n : 2 * n]) / rho, answer.x[2 * n] / rho, answer.fun, rho


def book_regressor(K, y, C, epsilon, weight):
    """Variables alpha, alpha hat, b, xi, xi hat."""
    n = len(y)
    one, eye, none = np.ones((n, 1)), np.eye(n), np.zeros((n, n))
    rows = np.vstack([np.hstack([-K, K, -one, -eye, none]), np.hstack([K, -K, one, none, -eye])])
    cost = np.concatenate([np.ones(2 * n), [0.0], np.tile(C * weight, 2)])
    answer = minimise(cost, rows, np.concatenate([epsilon - y, epsilon + y]), {2 * n})
    return answer.x[:n] - answer.x[n : 2 * n], answer.x[2 * n], answer.fun


def book_novelty(K, price, weight):
    """[CY eqs 2.17-2.21]: variables alpha, b, xi; no xi for the hard margin."""
    n = len(K)
    soft = np.isfinite(price)
    rows = -np.hstack([K, np.ones((n, 1)), np.eye(n)])
    cost = np.concatenate([weight @ K, [weight.sum()], price * weight if soft else np.full(n, 1e6)])
    answer = minimise(cost, rows, np.zeros(n), {n}, np.concatenate([np.ones(n), np.zeros(n + 1)])[None], [1.0])
    return answer.x[:n], answer.x[n], answer.fun


@pytest.mark.parametrize("solver", ["highs", "column_generation"])
@pytest.mark.parametrize("kernel", [RBF(gamma=0.8), Sigmoid(gamma=0.5, coef0=0.2)])
class TestBooks:
    def test_classifier(self, solver, kernel):
        X, y, weight = lesson()
        machine = LPClassifier(kernel, C=2.0, solver=solver).fit(X, y, sample_weight=weight)
        a, b, value = book_classifier(kernel(X), y, 2.0, weight)
        assert_allclose(machine.result_.objective, value, rtol=1e-7)
        assert_allclose(machine.decision_function(X), kernel(X) @ a + b, **CLOSE)

    def test_nu_classifier(self, solver, kernel):
        X, y, weight = lesson()
        machine = NuLPClassifier(kernel, nu=0.5, solver=solver).fit(X, y, sample_weight=weight)
        a, b, value, rho = book_nu_classifier(kernel(X), y, 0.5, weight)
        assert_allclose(machine.result_.objective, value, rtol=1e-6)  # times m, for a function divided by m
        assert_allclose(machine.rho_ * weight.sum(), rho, rtol=1e-6)
        assert_allclose(machine.decision_function(X), kernel(X) @ a + b, rtol=1e-5, atol=1e-5)

    def test_regressor(self, solver, kernel):
        X, _, weight = lesson()
        y = np.sin(2 * X[:, 0]) + X[:, 1]
        machine = LPRegressor(kernel, C=3.0, epsilon=0.1, solver=solver).fit(X, y, sample_weight=weight)
        a, b, value = book_regressor(kernel(X), y, 3.0, 0.1, weight)
        assert_allclose(machine.result_.objective, value, rtol=1e-7)
        assert_allclose(machine.predict(X), kernel(X) @ a + b, **CLOSE)

    @pytest.mark.parametrize("nu", [0.0, 0.23])
    def test_novelty(self, solver, kernel, nu):
        X, _, weight = lesson()
        machine = LPNoveltyDetector(kernel, nu=nu, solver=solver).fit(X, sample_weight=weight)
        a, b, value = book_novelty(kernel(X), 1 / nu if nu else np.inf, weight)
        assert_allclose(machine.result_.objective, value, rtol=1e-6)
        assert_allclose(machine.decision_function(X), kernel(X) @ a + b, **CLOSE)


def test_conic_route():
    """The classifier's programme by a conic interior point method of another package."""
    clarabel = pytest.importorskip("clarabel")
    from scipy.sparse import csc_array

    X, y, weight = lesson()
    K, n = RBF(gamma=0.8)(X), len(y)
    cost = np.concatenate([np.ones(2 * n), [0.0], 2.0 * weight])
    rows = -np.hstack([y[:, None] * K, -y[:, None] * K, y[:, None], np.eye(n)])
    positive = np.delete(-np.eye(3 * n + 1), 2 * n, axis=0)
    A, b = csc_array(np.vstack([rows, positive])), np.concatenate([-np.ones(n), np.zeros(3 * n)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cones = [clarabel.NonnegativeConeT(len(b))]
    none = csc_array((3 * n + 1, 3 * n + 1))
    answer = clarabel.DefaultSolver(none, cost, A, b, cones, settings).solve()
    machine = LPClassifier(RBF(gamma=0.8), C=2.0).fit(X, y, sample_weight=weight)
    assert_allclose(machine.result_.objective, answer.obj_val, rtol=1e-6)
