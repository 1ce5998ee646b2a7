"""Discriminants beside scikit-learn's, explicit features, naive twins and bounds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KernelDensity, NearestCentroid

from mercer import SVC
from mercer.discriminant import KernelFisherDiscriminant, KernelNearestCentroid, KernelPerceptron, ParzenClassifier
from mercer.gram import distances_to_mean
from mercer.kernels import RBF, Linear


def classes(n_classes, n=90, d=4, seed=0, apart=1.5):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % n_classes)
    y[: n // 5] = 0  # of different sizes
    return rng.normal(size=(n, d)) + apart * rng.normal(size=(n_classes, d))[y], y


def features_of(K):
    """Vectors whose inner products are K."""
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-12 * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])


# --- Fisher's discriminant --------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("priors", ["empirical", "uniform"])
def test_linear_kernel_is_linear_discriminant_analysis(n_classes, priors):
    X, y = classes(n_classes)
    new = np.random.default_rng(5).normal(size=(50, 4))
    ours = KernelFisherDiscriminant(Linear(), alpha=1e-9, priors=priors).fit(X, y)
    given = None if priors == "empirical" else np.full(n_classes, 1 / n_classes)
    # The covariance within classes is that of the samples, whatever the priors.
    shares = np.bincount(y) / len(y)
    other = LinearDiscriminantAnalysis(solver="eigen", priors=shares).fit(X, y)
    decisions = other.decision_function(new)
    if given is not None:
        shift = np.log(given) - np.log(shares)
        decisions = decisions + (shift[1] - shift[0] if n_classes == 2 else shift)
    found = ours.decision_function(new)
    if n_classes > 2:  # scores of all classes may have one thing in common
        found, decisions = found - found[:, :1], decisions - decisions[:, :1]
    assert_allclose(found, decisions, atol=1e-5)
    if given is None:
        assert_array_equal(ours.predict(new), other.predict(new))
        assert_allclose(ours.predict_proba(new), other.predict_proba(new), atol=1e-6)
    # Directions are those of scikit-learn up to their sign, seen from the mean of all samples.
    theirs = (new - X.mean(axis=0)) @ other.scalings_[:, : n_classes - 1]
    signs = np.sign((theirs * ours.transform(new)).sum(axis=0))
    assert_allclose(ours.transform(new), signs * theirs, atol=1e-5)
    assert_allclose(ours.explained_variance_ratio_, other.explained_variance_ratio_[: n_classes - 1], atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("alpha", [1e-3, 0.5])
def test_any_kernel_is_a_discriminant_of_its_features(n_classes, alpha):
    """Regularised, with weights, by matrices of features."""
    X, y = classes(n_classes, n=60)
    weight, priors = np.random.default_rng(1).uniform(0.2, 3.0, size=60), np.arange(1.0, n_classes + 1)
    priors /= priors.sum()
    K = RBF(gamma=0.2)(X)
    machine = KernelFisherDiscriminant(RBF(gamma=0.2), alpha=alpha, priors=priors).fit(X, y, sample_weight=weight)

    F, w = features_of(K), weight / weight.sum()
    mean = w @ F
    ridge = alpha * (w @ ((F - mean) ** 2).sum(axis=1))
    centres = np.array([w[y == c] @ F[y == c] / w[y == c].sum() for c in range(n_classes)])
    inside = F - centres[y]
    covariance = (w[:, np.newaxis] * inside).T @ inside + ridge * np.eye(F.shape[1])
    scores = F @ np.linalg.solve(covariance, centres.T)
    scores += np.log(priors) - 0.5 * np.einsum("cf,fc->c", centres, np.linalg.solve(covariance, centres.T))
    found = machine.decision_function(X)
    expected = scores[:, 1] - scores[:, 0] if n_classes == 2 else scores - scores[:, :1]
    assert_allclose(found if n_classes == 2 else found - found[:, :1], expected, rtol=1e-7, atol=1e-7)
    # The coordinates: means apart, variance one within, no covariance.
    Z = machine.transform(X)
    assert_allclose(w @ Z, 0.0, atol=1e-8)
    Z_means = np.array([w[y == c] @ Z[y == c] / w[y == c].sum() for c in range(n_classes)])
    assert_allclose(machine.means_, Z_means, atol=1e-8)
    shares = np.bincount(y, weights=w)
    between = (shares[:, np.newaxis] * Z_means).T @ Z_means
    assert_allclose(between, np.diag(np.diagonal(between)), atol=1e-8 * between.max())
    assert (np.diff(np.diagonal(between)) < 0).all()
    directions = np.linalg.lstsq(F - mean, Z, rcond=None)[0]
    assert_allclose(directions.T @ covariance @ directions, np.eye(n_classes - 1), atol=1e-6)


def test_a_large_ridge_compares_distances_to_means():
    X, y = classes(3)
    new = np.random.default_rng(2).normal(size=(200, 4))
    flat = KernelFisherDiscriminant(RBF(gamma=0.1), alpha=1e6, priors="uniform").fit(X, y)
    assert_array_equal(flat.predict(new), KernelNearestCentroid(RBF(gamma=0.1)).fit(X, y).predict(new))


# --- means and densities ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_linear_kernel_is_the_nearest_centroid(n_classes):
    X, y = classes(n_classes)
    new = 2.0 * np.random.default_rng(2).normal(size=(200, 4))
    ours = KernelNearestCentroid("linear").fit(X, y)
    assert_array_equal(ours.predict(new), NearestCentroid().fit(X, y).predict(new))


def test_distances_to_means_in_feature_space():
    X, y = classes(2)
    new, weight = np.random.default_rng(2).normal(size=(30, 4)), np.random.default_rng(3).uniform(size=90)
    kernel = RBF(gamma=0.3)
    machine = KernelNearestCentroid(kernel).fit(X, y, sample_weight=weight)
    far, near = (distances_to_mean(kernel, new, X[y == c], sample_weight=weight[y == c]) for c in (0, 1))
    assert_allclose(machine.decision_function(new), 0.5 * (far**2 - near**2), atol=1e-12)


@pytest.mark.parametrize("kernel", [Linear(), RBF(gamma=0.3)])
def test_parzen_is_the_nearest_mean_but_for_the_lengths(kernel):
    """[B exercise 7.1]: with means of the same length the classifiers are the same."""
    X, y = classes(2)
    new = np.random.default_rng(2).normal(size=(100, 4))
    parzen, nearest = (kind(kernel).fit(X, y) for kind in (ParzenClassifier, KernelNearestCentroid))
    norms = [kernel(X[y == c]).mean() for c in (0, 1)]
    assert abs(norms[1] - norms[0]) > 1e-3
    shift = 0.5 * (norms[1] - norms[0])
    assert_allclose(2.0 * parzen.decision_function(new), nearest.decision_function(new) + shift, atol=1e-12)
    # A class and its mirror image have means of the same length, in feature space too.
    X, y = np.concatenate([X[y == 0], -X[y == 0]]), np.repeat([0, 1], np.sum(y == 0))
    parzen, nearest = (kind(kernel).fit(X, y) for kind in (ParzenClassifier, KernelNearestCentroid))
    assert_allclose(2.0 * parzen.decision_function(new), nearest.decision_function(new), atol=1e-12)
    assert_array_equal(parzen.predict(new), nearest.predict(new))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_parzen_densities_are_kernel_densities(n_classes):
    X, y = classes(n_classes)
    new = np.random.default_rng(2).normal(size=(30, 4))
    machine = ParzenClassifier(RBF.from_sigma(0.8), priors="empirical").fit(X, y)
    logs = [KernelDensity(bandwidth=0.8).fit(X[y == c]).score_samples(new) for c in range(n_classes)]
    expected = np.exp(logs).T * (np.bincount(y) / len(y))
    scale = (2 * np.pi * 0.8**2) ** 2  # of a Gaussian density in four dimensions
    assert_allclose(machine.densities(new), scale * expected, rtol=1e-8)
    assert_array_equal(machine.predict(new), expected.argmax(axis=1))


# --- perceptron -------------------------------------------------------------------------------------------


def naive_perceptron(K, y, n_classes, passes, *, bias, averaged, seed):
    """One function for each class, sample by sample; for two, one function."""
    n, K = len(K), K + bias
    rng = np.random.RandomState(seed) if seed is not None else None
    a, total, n_steps, n_mistakes = np.zeros((n_classes, n)), np.zeros((n_classes, n)), 0, 0
    for _ in range(passes):
        wrong = 0
        for i in range(n) if rng is None else rng.permutation(n):
            f = a @ K[i]
            if n_classes == 2:
                sign = 2 * y[i] - 1
                if sign * f[1] <= 0:
                    a[1, i] += sign
                    wrong += 1
            else:
                others = [c for c in range(n_classes) if c != y[i]]
                rival = others[int(np.argmax(f[others]))]
                if f[y[i]] <= f[rival]:
                    a[y[i], i] += 1
                    a[rival, i] -= 1
                    wrong += 1
            total += a
            n_steps += 1
        n_mistakes += wrong
        if not wrong:
            break
    a = total / n_steps if averaged else a
    return (a[1:] if n_classes == 2 else a), n_mistakes


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize(("bias", "seed"), [(True, 0), (False, 4), (True, None)])
def test_perceptron_twin(n_classes, averaged, bias, seed):
    X, y = classes(n_classes, n=50, apart=1.0)
    kernel = RBF(gamma=0.05)
    a, n_mistakes = naive_perceptron(kernel(X), y, n_classes, 7, bias=bias, averaged=averaged, seed=seed)
    machine = KernelPerceptron(
        kernel, averaged=averaged, fit_intercept=bias, max_iter=7, shuffle=seed is not None, random_state=seed
    ).fit(X, y)
    assert machine.n_mistakes_ == n_mistakes > 10
    assert_allclose(machine.dual_coef_, a[:, machine.support_], atol=1e-12)
    assert_allclose(machine.intercept_, bias * a.sum(axis=1), atol=1e-12)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_mistakes_are_within_the_bound_of_novikoff(bias, seed):
    """(R / gamma)^2 with the largest margin that there is, which the hard margin machine finds."""
    X, y = classes(2, n=60, seed=seed)
    kernel = RBF(gamma=0.5) + 1 if bias else RBF(gamma=0.5)
    hard = SVC(kernel, C=np.inf, fit_intercept=False, tol=1e-6).fit(X, y)
    machine = KernelPerceptron(RBF(gamma=0.5), fit_intercept=bias, max_iter=1000).fit(X, y)
    assert machine.separated_
    assert machine.margin_ <= hard.margin_ * (1 + 1e-6)
    assert machine.n_mistakes_ <= (machine.radius_ / hard.margin_) ** 2 <= (machine.radius_ / machine.margin_) ** 2
    assert machine.radius_ == pytest.approx(np.sqrt(1.0 + bias))


def test_margin_of_several_classes():
    X, y = classes(3, n=45)
    machine = KernelPerceptron(RBF(gamma=0.5), max_iter=1000).fit(X, y)
    assert machine.separated_
    f = machine.decision_function(X)
    own = f[np.arange(45), y]
    f[np.arange(45), y] = -np.inf
    a = np.zeros((3, 45))
    a[:, machine.support_] = machine.dual_coef_
    norm = np.sqrt(np.einsum("ci,ij,cj->", a, RBF(gamma=0.5)(X) + 1.0, a))
    assert machine.margin_ == pytest.approx((own - f.max(axis=1)).min() / norm)
    assert machine.n_mistakes_ <= 2 * (machine.radius_ / machine.margin_) ** 2
