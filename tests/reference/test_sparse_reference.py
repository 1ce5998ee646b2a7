"""The L1 penalty against LIBLINEAR, the conic solver and its own certificate."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.svm import LinearSVC

from mercer.gram import LinearGram
from mercer.problems import epsilon_tube, soft_margin
from mercer.solvers import SparseNewton
from mercer.svm import LinearSVC as OurSVC
from mercer.svm import LinearSVR as OurSVR


def sparse_margin(X, sign, cost, *, bias=False, **parameters):
    """Weights and certificate without a free offset."""
    used = np.flatnonzero(cost)
    problem = soft_margin(LinearGram(X), sign[used], cost[used], squared=True, bias=bias, index=used)
    w, _, result = SparseNewton(**({"tol": 1e-4} | parameters)).solve(problem)
    return w, result


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


def naive(X, y, cost, epsilon, classes):
    """w, b by an interior point of plain gradient steps: the penalty written with two parts per weight."""
    from scipy.optimize import minimize

    d = X.shape[1]

    def value(v):
        f = X @ (v[:d] - v[d : 2 * d]) + v[-1]
        error = 1 - y * f if classes else np.abs(y - f) - epsilon
        slack = np.maximum(0, error)
        slope = 2 * cost * slack * (-y if classes else -np.sign(y - f))
        gradient = np.append(np.concatenate([slope @ X, -(slope @ X)]) + 1.0, slope.sum())
        return v[:-1].sum() + np.sum(cost * slack**2), gradient

    bounds = [(0, None)] * (2 * d) + [(None, None)]
    found = minimize(
        value,
        np.zeros(2 * d + 1),
        jac=True,
        bounds=bounds,
        method="L-BFGS-B",
        options={"maxiter": 20_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-10},
    )
    return found.fun, found.x[:d] - found.x[d : 2 * d], found.x[-1]


@pytest.mark.parametrize("kind", ["classes", "values"])
@pytest.mark.parametrize("storage", [np.asarray, csr_array])
@pytest.mark.parametrize("C", [0.05, 1.0, 30.0])
def test_free_offset(rng, kind, storage, C):
    X, sign = labelled(rng, 80, 6)
    X, sign = X + 1.0, sign
    y = sign if kind == "classes" else X @ [1.0, -0.5, 0, 0, 0, 0.2] + 3.0 + 0.3 * rng.normal(size=80)
    value, w, b = naive(X, y, np.full(80, C), 0.1, kind == "classes")
    gram = LinearGram(storage(X))
    cost = np.full(80, C)
    problem = (
        soft_margin(gram, y, cost, squared=True)
        if kind == "classes"
        else epsilon_tube(gram, y, cost, 0.1, squared=True)
    )
    found = SparseNewton(tol=1e-8).solve(problem)
    assert found.result.status == "solved"
    assert found.result.primal_objective <= value * (1 + 1e-9)
    assert found.result.primal_objective == pytest.approx(value, rel=1e-6)
    assert np.allclose(found.weights, w, atol=1e-4) and found.offset == pytest.approx(b, abs=1e-3)
    assert found.result.relative_gap < 1e-6
    assert found.result.imbalance <= 1e-9 * found.result.a.sum()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("storage", [np.asarray, csr_array])
@pytest.mark.parametrize("constant", [0.0, 4.0])
def test_many_features_are_samples(rng, bias, storage, constant, monkeypatch):
    """Above some number of features no matrix of moments: the same weights."""
    from mercer.solvers import sparse

    X, sign = labelled(rng, 60, 9)
    problem = soft_margin(LinearGram(storage(X), constant), sign, np.full(60, 0.5), squared=True, bias=bias)
    few = SparseNewton(tol=1e-6).solve(problem)
    monkeypatch.setattr(sparse, "FEW_FEATURES", 0)
    many = SparseNewton(tol=1e-6).solve(problem)
    assert many.result.status == few.result.status == "solved"
    assert np.allclose(many.weights, few.weights, atol=1e-6) and many.offset == pytest.approx(few.offset, abs=1e-6)


def test_machines(rng):
    X, sign = labelled(rng, 200, 12)
    machine = OurSVC(0.05, penalty="l1", loss="squared_hinge").fit(X, sign)
    assert machine.result_.status == "solved" and 0 < np.count_nonzero(machine.coef_) < 12
    assert machine.score(X, sign) > 0.7
    regressor = OurSVR(0.05, penalty="l1", loss="quadratic", intercept="penalised").fit(X, X[:, 0] + 2.0)
    assert regressor.result_.status == "solved" and np.count_nonzero(regressor.coef_) < 12
    several = OurSVC(0.05, penalty="l1", loss="squared_hinge").fit(X, np.arange(200) % 3)
    assert several.coef_.shape == (3, 12) and several.predict(X).shape == (200,)
    for wrong, message in (
        (OurSVC(penalty="l1"), "penalty='l1' needs loss='squared_hinge', got 'hinge'"),
        (OurSVR(penalty="l1"), "penalty='l1' needs loss='quadratic', got 'linear'"),
        (OurSVC(penalty="l1", loss="squared_hinge", solver="newton"), "penalty='l1' needs solver='auto', got 'newton'"),
        (
            OurSVC(penalty="l1", loss="squared_hinge", multi_class="one_class"),
            "penalty='l1' needs a scheme of machines for two, got multi_class='one_class'",
        ),
        (OurSVC(penalty="l0"), "penalty must be 'l2' or 'l1', got 'l0'"),
    ):
        with pytest.raises(ValueError, match=message):
            wrong.fit(X, sign)


def test_other_losses_are_refused(rng):
    X, sign = labelled(rng, 20, 2)
    with pytest.raises(ValueError, match="SparseNewton needs a squared loss"):
        SparseNewton().solve(soft_margin(LinearGram(X), sign, np.ones(20)))
