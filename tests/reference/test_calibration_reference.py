"""Calibration against limiting cases, naive twins and scikit-learn."""

from functools import partial
from itertools import combinations

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from registry import training_set
from scipy.optimize import minimize
from sklearn.calibration import CalibratedClassifierCV, _sigmoid_calibration
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.utils.fixes import parse_version

from mercer.calibration import (
    Calibrated,
    calibration_error,
    couple,
    fit_isotonic,
    fit_sigmoid,
    fit_temperature,
    reliability,
)
from mercer.datasets import load_ionosphere
from mercer.kernels import RBF
from mercer.svm import SVC

needs_temperatures = pytest.mark.skipif(parse_version(sklearn.__version__) < parse_version("1.8"), reason="has none")


def noisy_decisions(rng, n=300, slope=1.7, offset=-0.4, scale=1.0):
    """Decision values and sides that follow a sigmoid."""
    f = 2 * rng.normal(size=n)
    positive = rng.random(n) < 1 / (1 + np.exp(-(slope * f + offset)))
    return scale * f, positive


# --- the sigmoid ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_sigmoid_against_sklearn(rng, weighted, scale):
    f, positive = noisy_decisions(rng, scale=scale)
    weight = rng.uniform(0.1, 3.0, len(f)) if weighted else None
    slope, offset = fit_sigmoid(f, positive, weight)
    a, b = _sigmoid_calibration(f, positive.astype(float), weight)
    # scikit-learn stops at a gradient of 1e-6 [CY eq 2.9 has the other sign]
    assert_allclose([slope * scale, offset], [-a * scale, -b], rtol=2e-3, atol=1e-4)


def sigmoid_loss(slope, offset, f, t, weight):
    z = slope * f + offset
    return (weight * (t * np.logaddexp(0, -z) + (1 - t) * np.logaddexp(0, z))).sum()


def platt_targets(positive, weight):
    plus, minus = weight[positive].sum(), weight[~positive].sum()
    return np.where(positive, (plus + 1) / (plus + 2), 1 / (minus + 2))


@pytest.mark.parametrize("targets", ["corrected", "plain"])
def test_sigmoid_is_the_optimum(rng, targets):
    """The gradient vanishes, and so it does where a naive Newton's method ends."""
    f, positive = noisy_decisions(rng)
    weight = rng.uniform(0.0, 3.0, len(f))
    t = platt_targets(positive, weight) if targets == "corrected" else positive.astype(float)
    slope, offset = fit_sigmoid(f, positive, weight, targets)
    error = weight * (1 / (1 + np.exp(-(slope * f + offset))) - t)
    assert_allclose([error @ f, error.sum()], 0.0, atol=1e-10 * weight.sum())
    a, b = 0.0, 0.0
    for _ in range(50):
        p = 1 / (1 + np.exp(-(a * f + b)))
        A = np.column_stack([f, np.ones_like(f)])
        a, b = (a, b) - np.linalg.solve(A.T @ (A * (weight * p * (1 - p))[:, None]), A.T @ (weight * (p - t)))
    assert_allclose([slope, offset], [a, b], rtol=1e-9)


def test_sigmoid_of_outliers(rng):
    """Far decision values and uneven weights, for which full steps of Newton's method go astray."""
    for _ in range(100):
        f = 10 ** rng.uniform(-1, 3) * rng.standard_t(1, size=rng.integers(6, 40))
        positive = rng.random(len(f)) < 1 / (1 + np.exp(-np.clip(f, -30, 30)))
        weight = 10 ** rng.uniform(-3, 3, len(f))
        slope, offset = fit_sigmoid(f, positive, weight)
        error = weight * (1 / (1 + np.exp(-np.clip(slope * f + offset, -700, 700))) - platt_targets(positive, weight))
        assert abs(error.sum()) <= 1e-8 * weight.sum()
        if slope > 0:
            assert abs((error * f).sum()) <= 1e-8 * weight.sum() * np.abs(f).max()


def test_slope_is_never_negative(rng):
    """The wrong way round, the constrained optimum is the mean target for everyone."""
    f, positive = noisy_decisions(rng)
    weight = rng.uniform(0.5, 2.0, len(f))
    slope, offset = fit_sigmoid(-f, positive, weight)
    t = platt_targets(positive, weight)
    assert slope == 0.0
    assert 1 / (1 + np.exp(-offset)) == pytest.approx((weight * t).sum() / weight.sum(), rel=1e-12)
    best = minimize(
        lambda ab: sigmoid_loss(ab[0], ab[1], -f, t, weight), [1.0, 0.0], bounds=[(0, None), (None, None)], tol=1e-12
    )
    assert_allclose([slope, offset], best.x, atol=1e-5)
    # Also where the unconstrained slope is minus infinity.
    assert fit_sigmoid([1.0, 2.0, 3.0, 4.0], [True, True, False, False], targets="plain") == (0.0, 0.0)


@pytest.mark.parametrize("gap", [2.0, 1e-3, 1e-12])
def test_separable_classes_have_a_finite_sigmoid(gap):
    f = np.concatenate([np.linspace(-3, -gap / 2, 40), np.linspace(gap / 2, 3, 60)])
    positive = f > 0
    corrected, plain = fit_sigmoid(f, positive), fit_sigmoid(f, positive, targets="plain")
    assert np.isfinite([*corrected, *plain]).all()
    t = platt_targets(positive, np.ones(100))
    error = 1 / (1 + np.exp(-corrected.log_odds(f))) - t
    assert_allclose([error @ f, error.sum()], 0.0, atol=1e-9)
    odds = plain.log_odds(f)
    assert (odds[positive] > 0).all()
    assert (odds[~positive] < 0).all()
    if gap > 1e-5:
        assert_allclose(np.exp(odds[positive].min()), 1e6, rtol=1e-6)
        assert_allclose(np.exp(odds[~positive].max()), 1e-6, rtol=1e-6)


def test_sigmoid_of_equal_decisions():
    assert fit_sigmoid([3.0] * 5, [True, True, True, False, False], targets="plain") == pytest.approx(
        (0.0, np.log(1.5))
    )


def test_sigmoid_of_large_numbers(rng):
    """Nothing overflows, and the sigmoid moves and stretches with the decision values."""
    f, positive = noisy_decisions(rng)
    slope, offset = fit_sigmoid(f, positive)
    for factor, shift in ((1e150, 0.0), (1e-150, 0.0), (1.0, 1e6)):
        moved = fit_sigmoid(factor * f + shift, positive)
        assert_allclose(moved.slope * factor, slope, rtol=1e-7)
        assert_allclose(moved.offset + moved.slope * shift, offset, rtol=1e-6)


def test_training_values_of_a_hard_margin():
    """[CY fig 2.1]: no decision value between -1 and 1, and a sigmoid that separates the classes."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    X = rng.normal(size=(60, 2)) + 6.0 * y[:, np.newaxis]
    machine = Calibrated(SVC(kernel="linear", C=np.inf), cv="in-sample", targets="plain").fit(X, y)
    margins = machine.estimator_.decision_function(X)
    assert np.abs(margins).min() > 1 - 1e-3
    slope, offset = machine.calibration_.maps[0]
    assert_allclose([slope, offset], [np.log(1e6), 0.0], atol=0.05)
    assert_allclose(machine.predict_proba(X)[:, 1], y, atol=2e-6)
    # What eqs 2.9-2.11 have no minimum for: a larger slope is always better.
    assert sigmoid_loss(2 * slope, offset, margins, y, 1.0) < sigmoid_loss(slope, offset, margins, y, 1.0) < 1e-4


def test_training_values_of_overlapping_classes():
    """[CY eqs 2.9-2.11] on the training set, with their signs: A = -slope, B = -offset."""
    X, y = training_set(SVC(), n=200)
    machine = Calibrated(SVC(kernel="linear", C=0.1), cv=None, targets="plain").fit(X, y)
    phi = machine.estimator_.decision_function(X)

    def eq_2_11(AB):
        p = 1 / (1 + np.exp(AB[0] * phi + AB[1]))
        return -np.sum(y * np.log(p) + (1 - y) * np.log(1 - p))

    best = minimize(eq_2_11, [-1.0, 0.0], tol=1e-12)
    slope, offset = machine.calibration_.maps[0]
    assert_allclose([-slope, -offset], best.x, rtol=1e-5, atol=1e-5)


# --- isotonic regression ----------------------------------------------------------------------------------


def naive_pool_adjacent_violators(f, t, weight):
    """Values at the different decision values: means of blocks, merged while they fall."""
    blocks = []
    for value in np.unique(f):
        here = f == value
        blocks.append([np.sum(weight[here] * t[here]), weight[here].sum(), 1])
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] >= blocks[-1][0] * blocks[-2][1]:
            last = blocks.pop()
            blocks[-1] = [a + b for a, b in zip(blocks[-1], last, strict=True)]
    return np.concatenate([np.full(n, total / mass) for total, mass, n in blocks])


@pytest.mark.parametrize("targets", ["corrected", "plain"])
def test_isotonic(rng, targets):
    f, positive = noisy_decisions(rng)
    f = f.round(1)  # ties
    weight = rng.integers(0, 4, len(f)).astype(float)
    fitted = fit_isotonic(f, positive, weight, targets)
    t = platt_targets(positive, weight) if targets == "corrected" else positive.astype(float)
    used = weight > 0
    there = np.unique(f[used])
    p = 1 / (1 + np.exp(-fitted.log_odds(there)))
    assert_allclose(p, naive_pool_adjacent_violators(f[used], t[used], weight[used]), atol=1e-12)
    # Outside it is constant, and corrected targets leave nothing impossible.
    assert_array_equal(fitted.log_odds(np.array([-1e9, 1e9])), fitted.log_odds(there[[0, -1]]))
    assert np.isfinite(fitted.log_odds(there)).all() == (targets == "corrected")


def test_isotonic_against_sklearn(rng):
    f, positive = noisy_decisions(rng)
    weight = rng.uniform(0.1, 2.0, len(f))
    theirs = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(f, positive, weight)
    new = np.linspace(-9, 9, 1001)
    ours = fit_isotonic(f, positive, weight, "plain")
    assert_allclose(1 / (1 + np.exp(-ours.log_odds(new))), theirs.predict(new), atol=1e-12)


# --- the temperature --------------------------------------------------------------------------------------


def scores_of_classes(rng, n=200, n_classes=4):
    scores = 2 * rng.normal(size=(n, n_classes))
    p = np.exp(0.8 * scores)
    p /= p.sum(axis=1, keepdims=True)
    codes = (rng.random((n, 1)) > p.cumsum(axis=1)).sum(axis=1)
    return scores, codes


@pytest.mark.parametrize("targets", ["corrected", "plain"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_temperature_against_a_grid(rng, targets, n_classes):
    scores, codes = scores_of_classes(rng, n_classes=n_classes)
    weight = rng.uniform(0.0, 2.0, len(codes))
    t = np.eye(n_classes)[codes]
    if targets == "corrected":
        mass = np.bincount(codes, weights=weight)[codes, np.newaxis]
        t = np.where(t == 1, (mass + 1) / (mass + 2), 1 / (mass + 2) / (n_classes - 1))

    def loss(scale):
        z = scale * scores
        return (weight * (np.log(np.exp(z).sum(axis=1)) - (t * z).sum(axis=1))).sum()

    scale = fit_temperature(scores, codes, weight, targets)
    grid = scale * np.linspace(0.5, 1.5, 1001)
    assert grid[np.argmin([loss(s) for s in grid])] == pytest.approx(scale, rel=2e-3)
    assert abs(loss(scale * 1.0001) - loss(scale * 0.9999)) < 1e-6


@needs_temperatures
def test_temperature_against_sklearn(rng):
    from sklearn.calibration import _TemperatureScaling

    scores, codes = scores_of_classes(rng)
    assert fit_temperature(scores, codes) == pytest.approx(_TemperatureScaling().fit(scores, codes).beta_, rel=1e-5)
    # scikit-learn makes logits (-f, f) of one column
    f, positive = noisy_decisions(rng)
    assert fit_temperature(f, positive.astype(int), targets="plain") == pytest.approx(
        2 * _TemperatureScaling().fit(f, positive.astype(int)).beta_, rel=1e-5
    )


def test_temperature_at_its_limits(rng):
    scores, codes = scores_of_classes(rng)
    assert fit_temperature(-scores, codes) == 0.0
    assert fit_temperature(np.ones((4, 3)), [0, 1, 2, 0]) == 0.0
    # all right: a million to one for the smallest lead
    lead = np.array([[2.0, 0.0, 1.0], [0.0, 5.0, 1.0]])
    assert fit_temperature(lead, [0, 1]) == pytest.approx(np.log(1e6))
    assert 0 < fit_temperature(lead, [0, 1], targets="corrected") < 10


# --- coupling ---------------------------------------------------------------------------------------------


def pair_probabilities(rng, n, n_classes, sharpness):
    return 1 / (1 + np.exp(-sharpness * rng.normal(size=(n, n_classes * (n_classes - 1) // 2))))


@pytest.mark.parametrize("n_classes", [3, 5, 10])
def test_coupling_against_a_quadratic_programme(rng, n_classes):
    """min sum_ij (r_ji p_i - r_ij p_j)^2 over the simplex: the constraint p >= 0 is never active."""
    pairs = list(combinations(range(n_classes), 2))
    probability = pair_probabilities(rng, 6, n_classes, 1.5)
    coupled = couple(probability, pairs, n_classes)
    for row, p in zip(probability, coupled, strict=True):
        r = np.zeros((n_classes, n_classes))
        for value, (i, j) in zip(row, pairs, strict=True):
            r[j, i], r[i, j] = value, 1 - value

        def loss(p, r=r):
            return sum((r[j, i] * p[i] - r[i, j] * p[j]) ** 2 for i in range(n_classes) for j in range(n_classes))

        start = np.full(n_classes, 1 / n_classes)
        constraint = {"type": "eq", "fun": lambda p: p.sum() - 1}
        best = minimize(loss, start, bounds=[(0, 1)] * n_classes, constraints=constraint, tol=1e-14)
        assert_allclose(p, best.x, atol=2e-6)
        # The solution of the linear system [Wu, Lin & Weng 2004, eq 21], one sample at a time.
        Q = -r.T * r
        np.fill_diagonal(Q, (r**2).sum(axis=0))
        system = np.block([[Q, np.ones((n_classes, 1))], [np.ones((1, n_classes)), np.zeros((1, 1))]])
        assert_allclose(p, np.linalg.solve(system, np.eye(n_classes + 1)[-1])[:-1], atol=1e-12)


def test_coupling_of_consistent_pairs(rng):
    """Pairs that come from class probabilities give them back."""
    p = rng.dirichlet(np.ones(6), size=50) + 1e-4
    p /= p.sum(axis=1, keepdims=True)
    pairs = list(combinations(range(6), 2))
    assert_allclose(couple(np.column_stack([p[:, j] / (p[:, i] + p[:, j]) for i, j in pairs]), pairs, 6), p, atol=1e-10)


def test_coupling_of_pairs_that_are_sure():
    """Also where they contradict each other."""
    pairs = [(0, 1), (0, 2), (1, 2)]
    coupled = couple(np.array([[1.0, 1.0, 1.0], [1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]), pairs, 3)
    assert (coupled > 0.99e-7 / 2).all()
    assert_allclose(coupled.sum(axis=1), 1.0)
    assert_allclose(coupled, [[0, 0, 1], [1 / 3, 1 / 3, 1 / 3], [1, 0, 0]], atol=1e-6)


def test_coupling_does_not_see_rounding():
    """Of classes that are all but impossible, none is told from another by the last digits of its pairs."""
    pairs = [(0, 1), (0, 2), (1, 2)]
    sure = couple(np.array([[1.0, 1.0, 0.0]]), pairs, 3)
    nearly = couple(np.array([[1.0 - 1e-15, 1.0 - 1e-13, 1e-14]]), pairs, 3)
    assert_allclose(np.log(sure), np.log(nearly), rtol=1e-9)


def test_coupling_in_blocks(rng, monkeypatch):
    pairs = list(combinations(range(4), 2))
    probability = pair_probabilities(rng, 100, 4, 2.0)
    whole = couple(probability, pairs, 4)
    monkeypatch.setattr("mercer.calibration.coupling.BLOCK_ENTRIES", 100)
    assert_array_equal(couple(probability, pairs, 4), whole)


# --- scikit-learn's calibration of the same machine with the same folds -----------------------------------

METHODS = ["sigmoid", "isotonic", pytest.param("temperature", marks=needs_temperatures)]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("machine", [RidgeClassifier(), SVC(kernel=RBF(gamma=0.4))])
@pytest.mark.parametrize("ensemble", [False, True])
def test_against_sklearn(method, n_classes, machine, ensemble):
    """Equal where both do the same: scores, one per class, and their targets; one map for all machines."""
    if n_classes > 2 and isinstance(machine, SVC) and method != "temperature":
        pytest.skip("pairs are coupled, which scikit-learn does not")
    X, y = training_set(machine, n=150, n_classes=n_classes)
    new, _ = training_set(machine, n=100, seed=1, n_classes=n_classes)
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    targets = "plain" if method == "isotonic" else "auto"
    ours = Calibrated(machine, method=method, cv=folds, targets=targets, ensemble=ensemble).fit(X, y)
    theirs = CalibratedClassifierCV(machine, method=method, cv=folds, ensemble=False).fit(X, y)
    if ensemble:
        (one,) = theirs.calibrated_classifiers_
        theirs = CalibratedClassifierCV(machine, method=method, cv=folds, ensemble=True).fit(X, y)
        for member in theirs.calibrated_classifiers_:
            member.calibrators = one.calibrators
    assert_allclose(ours.predict_proba(new), theirs.predict_proba(new), atol=2e-4)


@pytest.mark.parametrize("method", METHODS)
def test_an_ensemble_of_one_against_sklearn(method):
    """With one split the one map is the machine's own."""
    X, y = training_set(SVC(), n=200)
    folds = [(np.arange(100), np.arange(100, 200))]
    machine, targets = SVC(kernel=RBF(gamma=0.4)), "plain" if method == "isotonic" else "auto"
    ours = Calibrated(machine, method=method, cv=folds, targets=targets, ensemble=True).fit(X, y)
    theirs = CalibratedClassifierCV(machine, method=method, cv=folds, ensemble=True).fit(X, y)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=2e-4)


REAL = {
    "breast cancer": load_breast_cancer,
    "ionosphere": load_ionosphere,
    "iris": load_iris,
    "wine": load_wine,
    "digits": partial(load_digits, n_class=4),
}


@pytest.mark.parametrize("load", REAL.values(), ids=REAL.keys())
@pytest.mark.parametrize("ours_is, theirs_is", [(False, False), (True, True), (False, True)])
def test_no_less_reliable_than_sklearn(load, ours_is, theirs_is):
    """On new samples, around the same machine, with the same folds: one machine, an ensemble, what each does by itself.

    Scikit-learn's ensembles are worse in every measure; from its one machine ours differs by what chance explains.
    """
    X, y = load(return_X_y=True)
    classes, codes = np.unique(y, return_inverse=True)
    ours, theirs = np.empty((2, len(y), len(classes)))
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        scaler = StandardScaler().fit(X[train])
        given, asked = scaler.transform(X[train]), scaler.transform(X[test])
        folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(given, y[train]))
        machine = SVC(RBF(gamma="scale").resolve(given))
        ours[test] = Calibrated(machine, cv=folds, ensemble=ours_is).fit(given, y[train]).predict_proba(asked)
        calibrated = CalibratedClassifierCV(machine, cv=folds, ensemble=theirs_is).fit(given, y[train])
        theirs[test] = calibrated.predict_proba(asked)
    if theirs_is:
        for our, their in zip(reliability(y, ours), reliability(y, theirs), strict=True):
            assert our < their
        return
    if len(classes) == 2:
        assert_allclose(ours, theirs, atol=2e-3)
        return
    true, rows = np.eye(len(classes))[codes], np.arange(len(y))
    squares = ((ours - true) ** 2 - (theirs - true) ** 2).sum(axis=1)
    logarithms = np.log(theirs[rows, codes]) - np.log(ours[rows, codes])
    for difference in (squares, logarithms):
        assert difference.mean() <= 2 * difference.std() / np.sqrt(len(y))


# --- measures ---------------------------------------------------------------------------------------------


def naive_calibration_error(y, p, n_bins, weight):
    confidence, predicted = p.max(axis=1), p.argmax(axis=1)
    error = 0.0
    for b in range(n_bins):
        inside = (confidence > b / n_bins) & (confidence <= (b + 1) / n_bins)
        if inside.any():
            mass = weight[inside].sum()
            accuracy = (weight[inside] * (predicted == y)[inside]).sum() / mass
            error += mass / weight.sum() * abs(accuracy - (weight[inside] * confidence[inside]).sum() / mass)
    return error


@pytest.mark.parametrize("n_classes", [2, 4])
def test_calibration_error(rng, n_classes):
    p = rng.dirichlet(np.ones(n_classes), size=200)
    y, weight = rng.integers(0, n_classes, 200), rng.uniform(0.0, 2.0, 200)
    assert calibration_error(y, p, n_bins=7, sample_weight=weight) == pytest.approx(
        naive_calibration_error(y, p, 7, weight)
    )
    # a bin contains its upper end
    ends = [[0.75, 0.25], [0.1, 0.9]]
    assert calibration_error([0, 0], ends, classes=[0, 1], n_bins=4) == pytest.approx((0.25 + 0.9) / 2)
    # of equal numbers of samples
    order = np.array_split(np.argsort(p.max(axis=1)), 5)
    right = p.argmax(axis=1) == y
    expected = sum(abs(right[part].sum() - p.max(axis=1)[part].sum()) for part in order) / 200
    assert calibration_error(y, p, n_bins=5, strategy="quantile") == pytest.approx(expected)


def test_reliability_against_sklearn(rng):
    p = rng.dirichlet(np.ones(3), size=100)
    y = np.array(["a", "b", "c"])[rng.integers(0, 3, 100)]
    found = reliability(y, p)
    assert found.log_loss == pytest.approx(log_loss(y, p))
    assert found.brier == pytest.approx(((p - (y[:, None] == np.array(["a", "b", "c"]))) ** 2).sum(axis=1).mean())
    two, q = y[y != "c"], p[y != "c", :2] / p[y != "c", :2].sum(axis=1, keepdims=True)
    assert reliability(two, q).brier == pytest.approx(brier_score_loss(two, q[:, 1], pos_label="b"))
