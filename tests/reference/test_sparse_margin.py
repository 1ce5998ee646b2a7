"""The L1 penalty against LIBLINEAR, the conic solver and its own certificate."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.svm import LinearSVC

from mercer.solvers import sparse_margin


def labelled(rng, n, d):
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] - 0.5 * X[:, 1] + 0.7 * rng.normal(size=n) > 0, 1.0, -1.0)


def primal(w, X, sign, cost):
    return np.abs(w).sum() + np.sum(cost * np.maximum(0, 1 - sign * (X @ w)) ** 2)


@pytest.mark.parametrize("n, d, C", [(80, 10, 1.0), (80, 10, 0.02), (30, 60, 5.0), (300, 4, 100.0)])
def test_against_liblinear(rng, n, d, C):
    X, sign = labelled(rng, n, d)
    theirs = LinearSVC(
        penalty="l1", dual=False, fit_intercept=False, C=C, tol=1e-10, max_iter=1_000_000, random_state=0
    )
    theirs = theirs.fit(X, sign).coef_[0]
    for data in (X, csr_array(X)):
        w, result = sparse_margin(data, sign, np.full(n, C), tol=1e-9)
        assert result.status == "solved"
        assert np.allclose(w, theirs, atol=1e-6)
        assert np.array_equal(w != 0, np.abs(theirs) > 1e-9)
        assert np.isclose(result.primal_objective, primal(w, X, sign, C), rtol=1e-12)


def test_certificate_from_its_definition(rng):
    X, sign = labelled(rng, 60, 8)
    cost = rng.uniform(0.1, 3.0, size=60)
    for tol in (1e-1, 1e-3, 1e-8):
        w, result = sparse_margin(X, sign, cost, tol=tol)
        a = result.a
        assert (a >= 0).all()
        assert np.abs((a * sign) @ X).max() <= 1 + 1e-12
        assert np.isclose(result.dual_objective, np.sum(a - a**2 / (4 * cost)), rtol=1e-12)
        assert result.gap >= -1e-12
        assert np.isclose(result.gap, primal(w, X, sign, cost) - result.dual_objective, atol=1e-12)
        gradient = -(2 * cost * sign * np.maximum(0, 1 - sign * (X @ w))) @ X
        expected = np.where(w == 0, np.maximum(0, np.abs(gradient) - 1), np.abs(gradient + np.sign(w))).max()
        assert np.isclose(result.violation, expected, atol=1e-12)
        assert result.violation <= tol
    assert result.relative_gap < 1e-8


def test_costs_are_weights(rng):
    X, sign = labelled(rng, 50, 5)
    times = rng.integers(0, 4, size=50)
    w, _ = sparse_margin(X, sign, 0.7 * times, tol=1e-10)
    v, _ = sparse_margin(np.repeat(X, times, axis=0), np.repeat(sign, times), np.full(times.sum(), 0.7), tol=1e-10)
    assert np.allclose(w, v, atol=1e-8)


def test_below_the_smallest_price_all_weights_are_zero(rng):
    X, sign = labelled(rng, 50, 5)
    smallest = 0.5 / np.abs(sign @ X).max()  # where the gradient at zero reaches 1
    w, result = sparse_margin(X, sign, np.full(50, 0.999 * smallest))
    assert not w.any()
    assert abs(result.gap) < 1e-15 * result.primal_objective
    assert sparse_margin(X, sign, np.full(50, 1.001 * smallest))[0].any()


def test_limits(rng):
    X, sign = labelled(rng, 80, 10)
    w, result = sparse_margin(X, sign, np.ones(80), max_iter=0)
    assert not w.any()
    assert (result.status, result.n_iter, len(result.history)) == ("max_iter", 0, 1)
    w, result = sparse_margin(X, sign, np.ones(80), max_iter=1)
    assert (result.status, result.n_iter) == ("max_iter", 1)
    _, result = sparse_margin(X, sign, np.ones(80), tol=1e-30)
    assert result.status == "stalled"
    assert result.relative_gap < 1e-10


def test_steps_that_go_too_far_are_shortened():
    # Without a line search, the set of samples inside the margin goes round in a circle here.
    rng = np.random.default_rng(55)
    n, d = rng.integers(3, 12), rng.integers(1, 5)
    X = rng.normal(size=(n, d)) * np.exp(2 * rng.normal(size=(n, 1)))
    sign, cost = np.where(rng.random(n) < 0.5, 1.0, -1.0), np.exp(4 * rng.normal(size=n))
    _, result = sparse_margin(X, sign, cost, tol=1e-8, max_iter=60)
    assert result.status == "solved"
    assert (np.diff(-result.history.objective - result.history.gap) > 0).all()  # the objective falls at every step
