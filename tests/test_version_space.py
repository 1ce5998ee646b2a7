"""Centres of version space: against brute force where it can be seen, each other, and their certificates."""

from dataclasses import fields

import numpy as np
import pytest
from machine_registry import lesson
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning

from mercer import SVC
from mercer.errors import IndefiniteError, NotSeparableError
from mercer.gram import normalize
from mercer.kernels import RBF, Linear
from mercer.version_space import AnalyticCenterMachine, BayesPointMachine, Draws, Moments
from mercer.version_space.base import VersionSpace
from mercer.version_space.billiard import billiard
from mercer.version_space.expectation_propagation import expectation_propagation

HARD = {"kernel": "linear", "soft_boundary": 0.0, "fit_intercept": False}


def separable(n, d, seed=0, gap=0.1):
    """Samples on both sides of a plane through the origin, and +1 and -1 for them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4 * n, d))
    direction = rng.normal(size=d)
    value = X @ direction / np.linalg.norm(direction)
    X, value = X[np.abs(value) > gap][:n], value[np.abs(value) > gap][:n]
    return X, np.where(value > 0, 1, -1)


def walls(X, y):
    """The normals of version space, in rows."""
    return y[:, np.newaxis] * X / np.linalg.norm(X, axis=1, keepdims=True)


def circle(n):
    angle = 2 * np.pi * (np.arange(n) + 0.5) / n
    return np.column_stack([np.cos(angle), np.sin(angle)])


def sphere(n):
    """Directions in space on rings of equal area."""
    z = (2 * np.arange(n) + 1) / n - 1
    angle = np.arange(n) * np.pi * (3 - np.sqrt(5))
    ring = np.sqrt(1 - z**2)
    return np.column_stack([ring * np.cos(angle), ring * np.sin(angle), z])


def angle(u, v):
    u, v = np.ravel(u), np.ravel(v)
    return np.arctan2(np.linalg.norm(u / np.linalg.norm(u) - v / np.linalg.norm(v)), 1.0)


# --- brute force ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_centres_by_brute_force(d, seed):
    """All directions of a dense grid: the mean of those inside, and those with the largest product and minimum."""
    X, y = separable(12, d, seed)
    directions = circle(100_000) if d == 2 else sphere(300_000)
    distance = directions @ walls(X, y).T
    inside = (distance > 0).all(axis=1)
    mean = directions[inside].mean(axis=0)
    best = directions[inside][np.log(distance[inside]).sum(axis=1).argmax()]
    fine, width = 5e-3, np.sqrt((np.linalg.norm(directions[inside] - mean / np.linalg.norm(mean), axis=1) ** 2).mean())
    exact = BayesPointMachine(**HARD, method="sampling", n_samples=4000).fit(X, y)
    assert exact.result_.angle_error < 0.03 * width
    assert angle(exact.coef_, mean) < 3 * exact.result_.angle_error + 1e-3
    assert angle(BayesPointMachine(**HARD).fit(X, y).coef_, mean) < 0.06 * width
    assert angle(AnalyticCenterMachine(**HARD).fit(X, y).coef_, best) < fine
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    ball = SVC(kernel="linear", C=np.inf, fit_intercept=False).fit(unit, y)
    assert -fine < distance.min(axis=1).max() - ball.margin_ < 1e-6  # no direction of the grid has a larger ball
    assert_allclose((walls(X, y) @ ball.coef_[0] / ball.norm_).min(), ball.margin_, rtol=1e-4)


def test_the_mean_of_a_wedge():
    """In the plane version space is an arc: its centre of mass is the middle, whatever the samples inside it do."""
    X, y = separable(12, 2, 5)
    A = walls(X, y)
    directions = circle(100_000)
    inside = directions[(directions @ A.T > 0).all(axis=1)]
    nearest = A[np.argsort(A @ inside.mean(axis=0))]  # the walls that bound it: the first, and one on the other side
    side = nearest @ [-nearest[0, 1], nearest[0, 0]]
    ends = np.array([nearest[0], nearest[np.sign(side) == np.sign(side[1])][0]])
    middle = np.linalg.solve(ends, np.ones(2))  # as far from one as from the other
    exact = BayesPointMachine(**HARD, method="sampling", n_samples=4000).fit(X, y)
    assert angle(middle, inside.mean(axis=0)) < 1e-3
    assert angle(exact.coef_, middle) < 3 * exact.result_.angle_error
    found = BayesPointMachine(**HARD).fit(X, y)
    assert_allclose(np.exp(found.result_.log_volume), len(inside) / len(directions), rtol=0.2)


def test_one_sample_is_its_own_centre():
    """Two samples opposite each other make one wall: half of the sphere, whose centres are all the same."""
    X, y = np.array([[1.0, 2.0], [-2.0, -4.0]]), np.array([1, -1])
    for machine in (
        AnalyticCenterMachine(**HARD),
        BayesPointMachine(**HARD),
        BayesPointMachine(**HARD, method="sampling", n_samples=5000),
    ):
        assert_allclose(machine.fit(X, y).coef_, [[1 / np.sqrt(5), 2 / np.sqrt(5)]], atol=0.03)
    assert_allclose(
        BayesPointMachine(**HARD).fit(X[:1].repeat(2, axis=0) * [[1], [-1]], y).coef_, [[0.447, 0.894]], atol=1e-3
    )


# --- two ways to the centre of mass -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {"kernel": "linear", "soft_boundary": 1.0},
        {"kernel": RBF(gamma=0.5), "soft_boundary": 0.3},
        {"kernel": RBF(gamma=3.0), "soft_boundary": 0.0},
        {"kernel": RBF(gamma=3.0), "soft_boundary": 0.1, "fit_intercept": False},
    ],
)
def test_expectation_propagation_and_sampling(parameters):
    X, y = lesson(BayesPointMachine(), n=40)
    passed, drawn = (BayesPointMachine(**parameters, method=m, n_samples=1500).fit(X, y) for m in ("ep", "sampling"))
    K = passed.kernel_(X) + (1.0 if passed.fit_intercept else 0.0)
    cosine = passed.dual_coef_[0] @ K @ drawn.dual_coef_[0]
    assert np.arccos(min(1.0, cosine)) < 2.5 * drawn.result_.angle_error + 1e-3
    assert 0.01 < drawn.result_.effective_samples < 2 * drawn.result_.n_samples
    assert np.mean(passed.predict(X) == drawn.predict(X)) >= 0.95


def test_the_mean_of_an_orthant():
    """Walls at right angles: as many half normal distributions, of the mean sqrt(2 / pi), for both ways."""
    space = VersionSpace(np.eye(3))
    beta, moments = expectation_propagation(space, 1e-10, 100)
    assert_allclose(beta, np.sqrt(2 / np.pi), rtol=1e-8)
    assert_allclose(moments.log_volume, -3 * np.log(2), rtol=1e-8)
    beta, draws = billiard(space, 4000, np.random.default_rng(0))
    assert_allclose(beta, np.sqrt(2 / np.pi), atol=0.03)
    assert draws.n_bounces > draws.n_samples


def test_more_samples_are_more_exact():
    X, y = lesson(BayesPointMachine(), n=30)
    few, many = (BayesPointMachine(method="sampling", n_samples=n).fit(X, y).result_ for n in (128, 4096))
    assert isinstance(few, Draws) and 128 <= few.n_samples <= 160 and many.n_samples == 4096
    assert many.n_iter == 128 + 26  # a fifth is for forgetting where the particles began
    assert many.angle_error < 0.35 * few.angle_error and many.effective_samples > 4 * few.effective_samples


def test_sampling_is_seeded():
    X, y = lesson(BayesPointMachine(), n=30)

    def fit(seed):
        return BayesPointMachine(method="sampling", n_samples=128, random_state=seed).fit(X, y).dual_coef_

    assert_array_equal(fit(3), fit(3))
    assert (fit(3) != fit(4)).any() and (fit(None) != fit(None)).any()


# --- what they promise ------------------------------------------------------------------------------------


def test_the_certificate_of_the_analytic_centre():
    """F at the solution and its bound, from public attributes; points nearby are worse, but not below the bound."""
    X, y = separable(20, 3)
    machine = AnalyticCenterMachine(**HARD, tol=1e-9).fit(X, y)
    A, w = walls(X, y), machine.coef_[0] * np.sqrt(len(X))

    def F(w):
        return -np.log(A @ w).sum() + 0.5 * w @ w

    result = machine.result_
    assert_allclose(np.linalg.norm(machine.coef_), 1.0, rtol=1e-12)
    assert_allclose(result.objective, F(w), rtol=1e-12)
    assert_allclose(A.T @ (1 / (A @ w)), w, rtol=1e-8)
    assert result.status == "solved" and 0 <= result.gap <= 1e-9 and result.violation <= machine.tol
    early = pytest.warns(ConvergenceWarning, match=r"AnalyticCenterMachine .*max_iter")
    with early:
        rough = AnalyticCenterMachine(**HARD, max_iter=3).fit(X, y)
    assert rough.result_.n_iter == rough.n_iter_ == 3 and rough.result_.objective > result.objective
    assert rough.result_.bound <= result.objective + 1e-12
    near = result.history.violation < 1
    decrement = result.history.violation[near]
    assert decrement.max() > 0.1
    assert_allclose(result.history.gap[near], -decrement - np.log(1 - decrement), atol=1e-15)
    assert (np.diff(result.history.objective) > -1e-9).all() and result.history.gap[-1] == result.gap


def test_a_fixed_point_of_expectation_propagation():
    """At the solution, every sample asks for the moments that there are; written out for the two of two samples."""
    X, y = lesson(BayesPointMachine(), n=40)
    result = BayesPointMachine().fit(X, y).result_
    assert isinstance(result, Moments) and result.status == "solved" and result.mismatch <= 1e-8
    assert -40 * np.log(2) - 5 < result.log_volume < 0
    with pytest.warns(ConvergenceWarning, match="BayesPointMachine .*2 passes"):
        short = BayesPointMachine(max_iter=2).fit(X, y).result_
    assert short.status == "max_iter" and short.n_iter == 2 and short.mismatch > 1e-8


def test_the_mean_of_one_cut_normal():
    """One wall: the mean of a half normal distribution is exact, and half of all directions are inside."""
    machine = BayesPointMachine(**HARD).fit([[3.0], [-1.0]], [1, 0])
    assert_allclose(machine.coef_, [[1.0]])
    X = np.array([[1.0, 0.0], [0.0, 1.0]])  # two walls at a right angle: a quarter, and nothing to approximate
    machine = BayesPointMachine(kernel="linear", soft_boundary=0.0, fit_intercept=False).fit(X, [1, 0])
    assert_allclose(machine.coef_, [[1, -1] / np.sqrt(2)], rtol=1e-8)
    assert_allclose(machine.result_.log_volume, 2 * norm.logcdf(0), rtol=1e-6)


@pytest.mark.parametrize("kind", [AnalyticCenterMachine, BayesPointMachine])
def test_lengths_of_samples_make_no_difference(kind):
    """Without a soft boundary, only the directions of the samples count."""
    X, y = separable(25, 4)
    longer = X * np.random.default_rng(1).uniform(0.1, 10, size=(len(X), 1))
    assert_allclose(kind(**HARD).fit(X, y).coef_, kind(**HARD).fit(longer, y).coef_, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kind", [AnalyticCenterMachine, BayesPointMachine])
def test_order_of_classes_and_three_of_them(kind):
    X, y = lesson(kind(), n=40)
    machine, mirrored = kind().fit(X, y), kind().fit(X, 1 - y)
    assert_allclose(machine.decision_function(X), -mirrored.decision_function(X), rtol=1e-6, atol=1e-8)
    X, y = lesson(kind(), n=60, n_classes=3)
    several = kind(kernel=RBF(gamma=1.0), soft_boundary=0.1).fit(X, y)
    assert several.decision_function(X).shape == (60, 3) and several.score(X, y) > 0.8
    alone = kind(kernel=RBF(gamma=1.0), soft_boundary=0.1).fit(X, y == 2)
    assert_allclose(several.decision_function(X)[:, 2], alone.decision_function(X), rtol=1e-7, atol=1e-9)


def test_results_of_several_classes():
    X, y = lesson(BayesPointMachine(), n=30, n_classes=3)
    assert [type(r) for r in BayesPointMachine().fit(X, y).result_] == [Moments] * 3
    sampled = BayesPointMachine(method="sampling", n_samples=64).fit(X, y)
    assert [type(r) for r in sampled.result_] == [Draws] * 3
    assert AnalyticCenterMachine().fit(X, y).result_.status == "solved"
    assert {field.name for field in fields(Moments)} >= {"mismatch", "status", "n_iter", "seconds"}


@pytest.mark.parametrize("kind", [AnalyticCenterMachine, BayesPointMachine])
def test_a_soft_boundary_is_a_feature_of_its_own(kind):
    """The ridge is what the samples see of one more feature each, which new samples do not have."""
    X, y = lesson(kind(), n=30)
    soft = kind(kernel="linear", soft_boundary=0.5, fit_intercept=False).fit(X, y)
    wide = kind(kernel="linear", soft_boundary=0.0, fit_intercept=False).fit(
        np.hstack([X, np.sqrt(0.5) * np.eye(30)]), y
    )
    assert_allclose(soft.coef_, wide.coef_[:, :3] / np.linalg.norm(wide.coef_[:, :3]), rtol=1e-5, atol=1e-6)


def test_rounding_in_the_way():
    """A small soft boundary, and more digits asked for than there are: the machines say so, in time."""
    X, y = lesson(AnalyticCenterMachine(), n=60)
    hard_to_see = {"kernel": "linear", "soft_boundary": 1e-4}
    with pytest.warns(ConvergenceWarning, match="stalled"):
        centre = AnalyticCenterMachine(**hard_to_see, tol=1e-15).fit(X, y)
    assert centre.result_.n_iter < 100 and centre.result_.gap < 1e-3
    with pytest.warns(ConvergenceWarning, match="fixed point"):
        bayes = BayesPointMachine(**hard_to_see, tol=1e-18).fit(X, y)
    assert bayes.result_.status == "stalled" and bayes.result_.mismatch < 1e-2
    for kind in (AnalyticCenterMachine, BayesPointMachine):
        with pytest.raises(NotSeparableError, match="soft_boundary=1e-30"):
            kind(kernel="linear", soft_boundary=1e-30).fit(X, y)


# --- what they refuse -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "machine",
    [
        AnalyticCenterMachine(soft_boundary=0.0, kernel="linear"),
        BayesPointMachine(soft_boundary=0.0, kernel="linear"),
        BayesPointMachine(soft_boundary=0.0, kernel="linear", method="sampling"),
    ],
    ids=["analytic", "ep", "sampling"],
)
def test_overlapping_classes_need_a_soft_boundary(machine):
    X, y = lesson(machine)
    with pytest.raises(NotSeparableError, match=r"soft_boundary=0: version space is empty\. Raise soft_boundary"):
        machine.fit(X, y)
    machine.set_params(soft_boundary=1.0, **({"n_samples": 64} if "n_samples" in machine.get_params() else {})).fit(
        X, y
    )


@pytest.mark.parametrize("kind", [AnalyticCenterMachine, BayesPointMachine])
def test_indefinite_kernels(kind):
    K = np.array([[1.0, 0.9, 0.2], [0.9, 1.0, 0.9], [0.2, 0.9, 1.0]])
    y = [0, 1, 0]
    with pytest.raises(IndefiniteError, match=r"smallest eigenvalue of this one is -0\.17.*soft_boundary above 0\.17"):
        kind(kernel="precomputed", soft_boundary=0.1).fit(K, y)
    soft = kind(kernel="precomputed", soft_boundary=0.5).fit(K, y)
    assert_allclose(np.sign(K @ soft.dual_coef_[0] + 0.5 * soft.dual_coef_[0] + soft.intercept_), [-1, 1, -1])


def test_samples_at_the_origin_say_nothing():
    X, y = separable(12, 3)
    with_origin, labels = np.vstack([X, np.zeros(3)]), np.append(y, 1)
    for kind in (AnalyticCenterMachine, BayesPointMachine):
        machine = kind(**HARD).fit(with_origin, labels)
        assert_allclose(machine.coef_, kind(**HARD).fit(X, y).coef_, rtol=1e-6)
        assert 12 not in machine.support_


def test_the_kernel_of_cosines_is_the_support_vector_machine():
    """The ball inside touches its walls at the support vectors, all as far away as the margin."""
    X, y = separable(30, 4)
    K = normalize(Linear()(X))
    ball = SVC(kernel="precomputed", C=np.inf, fit_intercept=False).fit(K, y)
    distances = y * ball.decision_function(K) / ball.norm_
    assert_allclose(distances[ball.support_], ball.margin_, rtol=1e-4)
    assert distances.min() >= ball.margin_ * (1 - 1e-4)
    centre = AnalyticCenterMachine(**HARD).fit(X, y)
    inside = y * centre.decision_function(X) / np.linalg.norm(X, axis=1)
    assert 0 < inside.min() < ball.margin_ * (1 + 1e-4)
    assert np.log(inside).sum() > np.log(distances).sum()
