"""Losses and penalties against the machines that they are, and against a conic solver."""

import clarabel
import numpy as np
import pytest
from machine_registry.regularized import LOSSES, NormAndSquare
from numpy.testing import assert_allclose
from registry import training_set
from scipy.sparse import csc_array
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from mercer.kernels import RBF
from mercer.regularized import (
    EpsilonInsensitive,
    Hinge,
    Huber,
    NormPower,
    Pinball,
    RegularizedClassifier,
    RegularizedRegressor,
    Squared,
)
from mercer.ridge import KernelRidge
from mercer.svm import SVC, SVR, QuantileSVR

KERNEL = RBF(gamma=0.5)
PRICES = [0.1, 3.0, 100.0]
every_price = pytest.mark.parametrize("C", PRICES)


def classes(n=60):
    return training_set(SVC(), n=n)


def values(n=60):
    return training_set(SVR(), n=n)


def assert_same_function(first, second, X, tolerance=1e-6):
    name = "decision_function" if hasattr(first, "decision_function") else "predict"
    ours, theirs = getattr(first, name)(X), getattr(second, name)(X)
    assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * np.abs(theirs).max())


def test_assert_same_function_can_fail():
    X, y = classes()
    first, second = (RegularizedClassifier(KERNEL, C=C).fit(X, y) for C in (1.0, 1.001))
    with pytest.raises(AssertionError):
        assert_same_function(first, second, X)


# --- machines that it is ----------------------------------------------------------------------------------


@every_price
@pytest.mark.parametrize(("power", "loss"), [(1.0, "hinge"), (2.0, "squared_hinge")])
@pytest.mark.parametrize("bias", [True, False])
def test_hinge_is_svc(C, power, loss, bias):
    X, y = classes()
    machine = RegularizedClassifier(KERNEL, loss=Hinge(power), C=C, fit_intercept=bias).fit(X, y)
    same = SVC(KERNEL, loss=loss, C=C, fit_intercept=bias, tol=1e-9).fit(X, y)
    assert_same_function(machine, same, X)
    assert machine.result_.primal_objective == pytest.approx(same.result_.primal_objective, rel=1e-8)
    assert machine.norm_ == pytest.approx(same.norm_, rel=1e-6)
    if power == 1.0 and C < 50:
        assert set(machine.support_) == set(same.support_)


@every_price
@pytest.mark.parametrize(("power", "loss"), [(1.0, "linear"), (2.0, "quadratic")])
def test_tube_is_svr(C, power, loss):
    X, y = values()
    machine = RegularizedRegressor(KERNEL, loss=EpsilonInsensitive(0.2, power), C=C).fit(X, y)
    assert_same_function(machine, SVR(KERNEL, C=C, epsilon=0.2, loss=loss, tol=1e-9).fit(X, y), X, 1e-5)


@every_price
def test_pinball_is_quantile_svr(C):
    X, y = values()
    machine = RegularizedRegressor(KERNEL, loss=Pinball(0.3), C=C).fit(X, y)
    same = QuantileSVR(KERNEL, quantile=0.3, C=C, tol=1e-9).fit(X, y)
    assert machine.result_.primal_objective == pytest.approx(same.result_.primal_objective, rel=1e-8)
    assert_same_function(machine, same, X, 1e-5)


@every_price
@pytest.mark.parametrize("bias", [True, False])
def test_squared_error_is_ridge(C, bias):
    X, y = values()
    machine = RegularizedRegressor(KERNEL, loss="squared", C=C, fit_intercept=bias).fit(X, y)
    same = KernelRidge(kernel=KERNEL, alpha=1 / (2 * C), fit_intercept=bias).fit(X, y)
    assert_same_function(machine, same, X)


@every_price
def test_logistic_is_logistic_regression(C):
    X, y = classes()
    machine = RegularizedClassifier("linear", loss="logistic", C=C, tol=1e-12).fit(X, y)
    same = LogisticRegression(C=C, tol=1e-10, max_iter=10_000).fit(X, y)
    assert_same_function(machine, same, X, 1e-5)


def test_squared_hinge_without_offset_is_liblinear():
    X, y = classes()
    machine = RegularizedClassifier("linear", loss="squared_hinge", C=2.0, fit_intercept=False).fit(X, y)
    assert_same_function(machine, LinearSVC(C=2.0, fit_intercept=False, tol=1e-10, max_iter=100_000).fit(X, y), X)


def test_a_wide_huber_loss_is_squared():
    X, y = values()
    machine, same = (RegularizedRegressor(KERNEL, loss=loss, C=2.0).fit(X, y) for loss in (Huber(1e3), Squared()))
    assert_same_function(machine, same, X)


def test_several_classes_are_one_against_the_rest():
    X, y = training_set(SVC(), n=75, n_classes=3)
    machine = RegularizedClassifier(KERNEL, loss="logistic").fit(X, y)
    for k in range(3):
        alone = RegularizedClassifier(KERNEL, loss="logistic").fit(X, y == k)
        assert_allclose(machine.decision_function(X)[:, k], alone.decision_function(X), rtol=1e-6, atol=1e-6)
        assert machine.result_.parts[k].objective == pytest.approx(alone.result_.objective, rel=1e-8)


# --- other penalties --------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared_hinge"])
@pytest.mark.parametrize("penalty", [NormPower(1.0), NormPower(1.5), NormPower(4.0), NormAndSquare()])
def test_any_penalty_is_half_the_squared_norm_at_another_price(loss, penalty):
    """The price at which both are as steep at the norm of the solution."""
    X, y = classes()
    machine = RegularizedClassifier(KERNEL, loss=loss, penalty=penalty, C=3.0, tol=1e-10).fit(X, y)
    price = penalty.derivative(machine.norm_) / machine.norm_
    same = RegularizedClassifier(KERNEL, loss=loss, C=3.0 / price, tol=1e-10).fit(X, y)
    assert_same_function(machine, same, X, 1e-4)


def test_the_norm_can_win():
    """Where C is small, the norm leaves nothing but the offset, which half its square never does."""
    X, y = values()
    machine = RegularizedRegressor(KERNEL, penalty="norm", loss="squared", C=1e-3).fit(X, y)
    assert machine.norm_ == 0.0
    assert len(machine.support_) == 0
    assert_allclose(machine.predict(X), y.mean(), rtol=1e-9)
    assert RegularizedRegressor(KERNEL, loss="squared", C=1e-3).fit(X, y).norm_ > 0


# --- a conic solver ---------------------------------------------------------------------------------------


def conic_optimum(K, y, cost, power, penalty_power):
    """Power of the hinge and of the norm by Clarabel's power cones: (t, 1, x) with t^(1/r) >= |x|. [A §10.6.2]

    Variables: z with w = L z, the offset, slacks, their powers, the norm and its power.
    """
    n = len(y)
    eigenvalues, vectors = np.linalg.eigh(K)
    L = vectors[:, eigenvalues > 1e-12] * np.sqrt(eigenvalues[eigenvalues > 1e-12])
    rank = L.shape[1]
    size = rank + 1 + 2 * n + 2
    z, b = np.arange(rank), rank
    slack, raised = rank + 1 + np.arange(n), rank + 1 + n + np.arange(n)
    norm, penalty = size - 2, size - 1
    q = np.zeros(size)
    q[raised], q[penalty] = cost, 1 / penalty_power
    rows, right, cones = [], [], []
    margin = np.zeros((2 * n, size))  # 1 - y f <= slack, 0 <= slack
    margin[:n, z], margin[:n, b] = -y[:, np.newaxis] * L, -y
    margin[np.arange(n), slack] = margin[n + np.arange(n), slack] = -1.0
    rows.append(margin)
    right.append(np.concatenate([-np.ones(n), np.zeros(n)]))
    cones.append(clarabel.NonnegativeConeT(2 * n))
    ball = np.zeros((rank + 1, size))
    ball[0, norm] = -1.0
    ball[1 + np.arange(rank), z] = -1.0
    rows.append(ball)
    right.append(np.zeros(rank + 1))
    cones.append(clarabel.SecondOrderConeT(rank + 1))
    for high, low, r in [*((raised[i], slack[i], power) for i in range(n)), (penalty, norm, penalty_power)]:
        cone = np.zeros((3, size))
        cone[0, high] = cone[2, low] = -1.0
        rows.append(cone)
        right.append(np.array([0.0, 1.0, 0.0]))
        cones.append(clarabel.PowerConeT(1 / r))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    P = csc_array((size, size))
    solution = clarabel.DefaultSolver(P, q, csc_array(np.vstack(rows)), np.concatenate(right), cones, settings).solve()
    assert solution.status == clarabel.SolverStatus.Solved
    return solution.obj_val


@pytest.mark.parametrize("power", [1.2, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("penalty_power", [1.5, 2.0, 3.0])
def test_powers_against_power_cones(power, penalty_power):
    X, y = classes(n=25)
    optimum = conic_optimum(KERNEL(X), np.where(y == 1, 1.0, -1.0), np.full(25, 2.0), power, penalty_power)
    machine = RegularizedClassifier(KERNEL, loss=Hinge(power), penalty=NormPower(penalty_power), C=2.0).fit(X, y)
    assert machine.result_.dual_objective <= optimum + 1e-6 * optimum
    assert machine.result_.primal_objective == pytest.approx(optimum, rel=1e-6)


@pytest.mark.parametrize("name", LOSSES)
@every_price
def test_no_random_function_is_better(name, C):
    """The bound holds for whatever is tried around the optimum, whichever the loss."""
    loss = LOSSES[name]()
    X, y = classes(30) if loss.classes else values(30)
    kind = RegularizedClassifier if loss.classes else RegularizedRegressor
    machine = kind(KERNEL, loss=loss, C=C).fit(X, y)
    wanted = np.where(y == 1, 1.0, -1.0) if loss.classes else y
    K, rng = KERNEL(X), np.random.default_rng(0)
    a = np.zeros(30)
    a[machine.support_] = machine.dual_coef_[0]
    best = machine.result_

    def objective(a, b):
        return 0.5 * a @ K @ a + C * loss.value(K @ a + b, wanted).sum()

    assert objective(a, machine.intercept_[0]) == pytest.approx(best.primal_objective, rel=1e-9)
    assert best.gap <= 1e-8 * best.primal_objective
    for scale in (1e-4, 1e-2, 1.0):
        for _ in range(20):
            tried = objective(a + scale * rng.normal(size=30), machine.intercept_[0] + scale * rng.normal())
            assert tried >= best.dual_objective
