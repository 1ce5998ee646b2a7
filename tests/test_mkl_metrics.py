"""Margin, radius, spectral ratio and alignment of kernels: against machines that have them, and at limits."""

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer import SVC
from mercer.errors import IndefiniteError
from mercer.gram import MatrixGram, centered_alignment, spectrum
from mercer.kernels import RBF, Linear
from mercer.mkl import margin, radius, radius_margin_ratio, spectral_ratio, target_alignment
from mercer.selection import RadiusMargin
from mercer.svm import SVDD


def two_clouds(n=30, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], n // 2)
    return rng.normal(size=(n, 2)) + 5.0 * y[:, np.newaxis], y


def test_margin_is_that_of_the_hard_margin_machine():
    X, y = two_clouds()
    for kernel in (Linear(), RBF(gamma=0.1), RBF(gamma=5.0)):
        machine = SVC(kernel=kernel, C=float("inf"), tol=1e-8).fit(X, y)
        assert margin(kernel, y, X=X) == pytest.approx(machine.margin_, rel=1e-6)


def test_margin_by_a_plain_twin():
    X, y = two_clouds(n=16, seed=1)
    sign = 2.0 * y - 1.0
    found = minimize(  # the primal problem
        lambda wb: 0.5 * wb[:2] @ wb[:2],
        np.ones(3),
        constraints={"type": "ineq", "fun": lambda wb: sign * (X @ wb[:2] + wb[2]) - 1.0},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert margin(X @ X.T, y) == pytest.approx(1.0 / np.linalg.norm(found.x[:2]), rel=1e-6)


def test_radius_is_that_of_the_ball():
    X, _ = two_clouds()
    for kernel in (Linear(), RBF(gamma=0.1)):
        K = kernel(X)
        ball = SVDD(kernel=kernel, nu=1.0 / len(X), tol=1e-8).fit(X)
        assert radius(K) == pytest.approx(ball.radius_, rel=1e-6)


def test_radius_of_points_in_the_plane():
    corners = np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 3.0], [1.0, 1.0], [0.0, -2.0]]) + 7.0
    assert radius("linear", X=corners) == pytest.approx(3.0, rel=1e-7)


def test_ratio_is_the_criterion_of_the_hard_margin():
    X, y = two_clouds()
    machine = SVC(kernel=RBF(gamma=0.2), C=float("inf"), tol=1e-8).fit(X, y)
    assert radius_margin_ratio(RBF(gamma=0.2), y, X=X) == pytest.approx(RadiusMargin().bound(machine, X, y), rel=1e-6)


def test_ratio_of_classes_that_overlap():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 1, 0, 1]
    assert margin("linear", y, X=X) == 0.0
    assert radius_margin_ratio("linear", y, X=X) == np.inf


@pytest.mark.parametrize("factor", [1e-8, 1.0, 1e8])
def test_scale_of_the_kernel(factor):
    X, y = two_clouds()
    K = RBF(gamma=0.3)(X)
    assert margin(factor * K, y) == pytest.approx(np.sqrt(factor) * margin(K, y), rel=1e-6)
    assert radius(factor * K) == pytest.approx(np.sqrt(factor) * radius(K), rel=1e-6)
    assert radius_margin_ratio(factor * K, y) == pytest.approx(radius_margin_ratio(K, y), rel=1e-6)
    assert spectral_ratio(factor * K) == pytest.approx(spectral_ratio(K), rel=1e-12)


def test_the_origin_does_not_matter():
    X, y = two_clouds()
    assert margin("linear", y, X=X + 1e5) == pytest.approx(margin("linear", y, X=X), rel=1e-4)
    assert radius("linear", X=X + 1e5) == pytest.approx(radius("linear", X=X), rel=1e-4)


def test_orthogonal_samples():
    n = 10
    y = np.repeat([0, 1], [4, 6])
    assert margin(np.eye(n), y) == pytest.approx(0.5 * np.sqrt(1 / 4 + 1 / 6), rel=1e-7)
    assert radius(np.eye(n)) == pytest.approx(np.sqrt(1 - 1 / n), rel=1e-7)
    assert spectral_ratio(np.eye(n)) == pytest.approx(1.0)


def test_samples_that_are_all_the_same():
    K, y = np.ones((6, 6)), [0, 0, 0, 1, 1, 1]
    assert margin(K, y) == 0.0
    assert radius(K) == 0.0
    assert radius(np.zeros((6, 6))) == 0.0
    assert radius([[4.0]]) == 0.0
    assert spectral_ratio(K) == pytest.approx(0.0, abs=1e-12)
    assert spectral_ratio([[4.0]]) == 0.0


def test_spectral_ratio_is_the_root_of_the_participation_ratio():
    X, _ = two_clouds()
    K = RBF(gamma=0.2)(X)
    plain = spectral_ratio(K, normalize=False)
    assert plain == pytest.approx(np.sqrt(spectrum(K).participation_ratio), rel=1e-12)
    assert spectral_ratio(K) == pytest.approx((plain - 1) / (np.sqrt(len(K)) - 1), rel=1e-12)
    narrower = [spectral_ratio(RBF(gamma=gamma), X=X) for gamma in (0.01, 0.1, 1.0, 10.0)]
    assert narrower == sorted(narrower)


def test_alignment_with_the_targets():
    X, y = two_clouds()
    K, sign = RBF(gamma=0.2)(X), 2.0 * y - 1.0
    assert target_alignment(RBF(gamma=0.2), y, X=X) == centered_alignment(K, y)
    assert target_alignment(np.outer(sign, sign) + 7.0, y) == pytest.approx(1.0, rel=1e-12)  # constants do not matter
    assert target_alignment("linear", 3.0 * X[:, 0] + 0.5, X=X[:, :1]) == pytest.approx(1.0, rel=1e-12)  # of numbers


def test_the_order_of_samples_and_the_names_of_classes_do_not_matter():
    X, y = two_clouds()
    K, order = RBF(gamma=0.3)(X), np.random.default_rng(0).permutation(len(X))
    names = np.array(["no", "yes"])[y]
    assert margin(K[np.ix_(order, order)], names[order]) == pytest.approx(margin(K, y), rel=1e-6)
    assert radius(K[np.ix_(order, order)]) == pytest.approx(radius(K), rel=1e-7)


def test_kernels_matrices_and_grams():
    X, y = two_clouds()
    K = RBF(gamma="scale").resolve(X)(X)
    of_classes = [lambda *a, metric=metric, **k: metric(a[0], y, **k) for metric in (margin, target_alignment)]
    for metric in (*of_classes, radius, spectral_ratio):
        values = [metric(K), metric(MatrixGram(K)), metric("rbf", X=X), metric(RBF(gamma="scale"), X=X)]
        np.testing.assert_allclose(values, values[0], rtol=1e-9)


@pytest.mark.parametrize("metric", [lambda K: margin(K, [0, 1, 0]), radius])
def test_indefinite_matrices_are_refused(metric):
    with pytest.raises(IndefiniteError, match="positive semi-definite"):
        metric(np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: margin(np.eye(3), [0, 1]), r"y must have one label for each of the 3 .*, got shape \(2,\)"),
        (lambda: margin(np.eye(3), [0, 1, 2]), "y must have two classes, got 3"),
        (lambda: margin(np.eye(3), [1, 1, 1]), "y must have two classes, got 1"),
        (lambda: margin(RBF(), [0, 1]), "X must be given with a kernel"),
        (lambda: radius(np.eye(3), X=[[0.0]]), "X must be None where K is a matrix"),
        (lambda: radius(np.ones((2, 3))), "K must be a square matrix"),
        (lambda: radius([[1.0, np.nan], [np.nan, 1.0]]), "K must be finite"),
        (lambda: spectral_ratio(np.zeros((3, 3))), "K must not be zero"),
        (lambda: target_alignment(np.eye(3), [1, 1, 1]), "y must have at least two classes"),
        (lambda: target_alignment(RBF(), [0, 1]), "X must be given with a kernel"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
