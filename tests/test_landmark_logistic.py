"""Logistic regression over landmarks: Newton's method in passes against the same over explicit features."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

from mercer import KernelLogisticRegression
from mercer.data import RowBlocks
from mercer.gram import LandmarkGram, MatrixGram
from mercer.kernels import RBF, Spectrum
from mercer.problems import logistic
from mercer.solvers import LogisticNewton
from mercer.solvers.landmark_logistic import Curvature, _Run, solve_landmark_logistic
from mercer.solvers.over_landmarks import sampled_inverse


def lesson(n=400, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    height = X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=n)
    return X, np.digitize(height, np.quantile(height, np.arange(1, n_classes) / n_classes))


def posed(n=400, m=25, n_classes=2, C=3.0, intercept=True):
    X, y = lesson(n, n_classes)
    gram = LandmarkGram(RBF(gamma=0.3), X, X[:m])
    return logistic(gram, y, C * np.random.default_rng(1).uniform(0.5, 1.5, size=n), intercept=intercept)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("n", [400, 2500])
def test_the_optimum_is_that_over_the_matrix(n, n_classes, intercept):
    """Of 2500 samples a part comes first."""
    problem = posed(n, n_classes=n_classes, intercept=intercept)
    F = problem.gram.some(np.arange(n))
    plain = LogisticNewton(tol=1e-8).solve(
        logistic(
            MatrixGram(F @ F.T),
            problem.targets.argmax(axis=1) if n_classes > 2 else problem.targets[:, 0].astype(int),
            problem.prices,
            intercept=intercept,
        )
    )
    found = solve_landmark_logistic(problem, tol=1e-8)
    assert found.result.status == "solved" and found.result.violation <= 1e-8
    assert_allclose(found.result.bound, plain.bound, rtol=1e-8)
    assert_allclose(found.result.residuals, plain.residuals, atol=1e-6 * problem.prices.max())
    assert_allclose(
        F @ found.weights + found.result.intercepts, F @ (F.T @ plain.coefficients) + plain.intercepts, atol=1e-4
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scikit_learn_on_features(n_classes):
    X, y = lesson(n_classes=n_classes)
    machine = KernelLogisticRegression(RBF(gamma=0.3), C=2.0, approximation=30).fit(X, y)
    gram = machine._gram_again(X)
    peer = LogisticRegression(C=2.0, tol=1e-10, max_iter=2000).fit(gram.some(np.arange(len(X))), y)
    assert_allclose(machine.predict_proba(X), peer.predict_proba(gram.some(np.arange(len(X)))), atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_certificate_is_that_of_the_public_attributes(n_classes):
    X, y = lesson(n_classes=n_classes)
    machine = KernelLogisticRegression(RBF(gamma=0.3), C=2.0, approximation=30).fit(X, y)
    result, K = machine.result_, machine.kernel_(machine.support_vectors_)
    norms = np.einsum("ki,ij,kj->", machine.dual_coef_, K, machine.dual_coef_)
    loss = -np.log(machine.predict_proba(X)[np.arange(len(X)), y]).sum()
    assert -result.bound == pytest.approx(0.5 * norms + 2.0 * loss, rel=1e-10)
    assert 0.0 <= result.gap <= 1e-6 * -result.bound
    assert_allclose(machine.sample_coef_.sum(axis=1), 0.0, atol=1e-9)
    P = machine.predict_proba(X)
    targets = (y[:, np.newaxis] == np.arange(n_classes)).astype(float)
    wanted = 2.0 * (targets - P)
    assert_allclose(machine.sample_coef_.T, wanted[:, 1:] if n_classes == 2 else wanted, atol=1e-8)


def test_products_with_the_curvature():
    """They are differences of slopes, at the best offsets."""
    from mercer.solvers.logistic import best_intercepts

    for n_classes in (2, 3):
        problem = posed(60, 10, n_classes)
        k = problem.n_functions
        rng = np.random.default_rng(0)
        F, U, t = rng.normal(size=(60, k)), rng.normal(size=(60, k)), 1e-5
        slopes = [problem.residuals(G + best_intercepts(problem, G, np.zeros(k))) for G in (F - t * U, F + t * U)]
        at = F + best_intercepts(problem, F, np.zeros(k))
        assert_allclose(Curvature(problem, at).times(U), (slopes[0] - slopes[1]) / (2 * t), atol=1e-5)


@pytest.mark.parametrize("bias", [False, True])
def test_the_inverse_of_few_samples_is_exact(bias):
    problem = posed()
    gram, d = problem.gram, np.random.default_rng(0).random(400)
    F = gram.some(np.arange(400))
    centre = d @ F / d.sum() if bias else 0.0
    H = 0.7 * np.eye(25) + ((F - centre).T * d) @ (F - centre)
    inverse = sampled_inverse(gram, d, 0.7, bias=bias, rng=np.random.RandomState(0))
    assert_allclose(inverse(H), np.eye(25), atol=1e-8)
    some = np.arange(0, 400, 2)
    there = sampled_inverse(gram, d[some], 0.7, bias=False, rng=np.random.RandomState(0), rows=some)
    assert_allclose(there(0.7 * np.eye(25) + (F[some].T * d[some]) @ F[some]), np.eye(25), atol=1e-8)


def test_the_inverse_of_many_samples_is_near():
    """Those of large weights are all seen, others count for those that are not."""
    problem = posed(20_000)
    gram, d = problem.gram, np.random.default_rng(0).random(20_000) ** 8
    seen = []
    moments = type(gram).moments
    inverse = sampled_inverse(spied(gram, seen), d, 1.0, bias=False, rng=np.random.RandomState(0))
    assert 600 < len(seen[0]) < 900
    H = np.eye(25) + moments(gram, d)
    assert_allclose(np.linalg.eigvals(inverse(H)).real, 1.0, atol=0.7)
    assert_allclose(d[seen[0]].mean() > 2 * d.mean(), True)


def spied(gram, seen):
    """The same, and the rows of its second moments are noted."""
    own = gram.moments
    gram.moments = lambda c, rows: seen.append(rows) or own(c, rows)
    return gram


def test_one_step_for_two_classes_is_a_pass():
    """The fused pass is the two that it stands for."""
    problem = posed()
    run = _Run(problem, problem.gram, None, 1e-6, 10, 0, 0.0, None)
    curvature = Curvature(problem, np.random.default_rng(0).normal(size=(400, 1)))
    V = np.random.default_rng(1).normal(size=(25, 1))
    run.working = run.gram
    fused = run._product_with(curvature)(V)
    apart = V + run.gram.sums(curvature.times(run.gram.products(V)))
    assert_allclose(fused, apart, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_limits():
    X, y = lesson(2500)
    for steps in (1, 3, 6):
        machine = KernelLogisticRegression(RBF(gamma=0.3), approximation=25, max_iter=steps).fit(X, y)
        assert machine.n_iter_ == steps and machine.result_.status == "max_iter" and machine.result_.gap > 0
    machine = KernelLogisticRegression(RBF(gamma=0.3), C=1e6, approximation=100, tol=1e-16).fit(X, y)
    assert machine.result_.status == "stalled" and machine.result_.relative_gap < 1e-9


def test_too_large_prices_are_refused():
    X, y = lesson()
    with pytest.raises(ValueError, match="too large for float64; lower C"):
        KernelLogisticRegression(1e100 * RBF(gamma=0.3), C=1e200, approximation=20).fit(X, y)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_several_sources(n_classes):
    X, y = lesson(2500, n_classes)
    machine = KernelLogisticRegression(RBF(gamma=0.3), approximation=25, class_weight="balanced").fit(X, y)
    there = KernelLogisticRegression(RBF(gamma=0.3), approximation=25, class_weight="balanced")
    blocks = RowBlocks([X[:700], lambda: X[700:]])
    assert_allclose(there.fit(blocks, y).predict_proba(blocks), machine.predict_proba(X), atol=1e-6)
    assert there.full_certificate(blocks).gap == pytest.approx(machine.full_certificate(X).gap, rel=1e-5)


def test_weights_are_repetitions():
    X, y = lesson(150, 3)
    weight = np.random.default_rng(0).integers(0, 4, 150)
    times = np.repeat(np.arange(150), weight)
    machine = KernelLogisticRegression(RBF(gamma=0.3), approximation=600, tol=1e-9)
    values = machine.fit(X, y, weight).decision_function(X)
    assert_allclose(machine.fit(X[times], y[times]).decision_function(X), values, atol=1e-5)


def test_words():
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abc"), size=rng.integers(3, 9))) for _ in range(150)]
    y = np.array(["ab" in word for word in words])
    machine = KernelLogisticRegression(Spectrum(2), approximation=12).fit(words, y)
    assert machine.score(words, y) > 0.95 and machine.full_certificate(words).gap >= 0


def test_a_fit_without_landmarks_forgets_them():
    X, y = lesson()
    machine = KernelLogisticRegression(approximation=20).fit(X, y)
    machine.set_params(approximation=None).fit(X, y)
    assert not hasattr(machine, "sample_coef_") and not hasattr(machine, "approximation_")
    assert_array_equal(machine.support_, np.arange(len(X)))
