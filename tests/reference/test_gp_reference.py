"""Gaussian processes against scikit-learn, limiting cases and obvious Python."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import multivariate_normal, norm
from sklearn.gaussian_process import GaussianProcessClassifier as TheirClassifier
from sklearn.gaussian_process import GaussianProcessRegressor as TheirRegressor
from sklearn.gaussian_process.kernels import RBF as TheirRBF
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge as TheirRidge

from mercer.gp import GaussianProcessClassifier, GaussianProcessRegressor
from mercer.gp.base import Assessed, Prior
from mercer.gp.evidence import RegressionEvidence
from mercer.gp.laplace import LaplaceEvidence, averaged_sigmoid
from mercer.kernels import RBF, Linear, Matern, RationalQuadratic
from mercer.ridge import KernelRidge

GIVEN = {"amplitude": 2.0, "optimize": False}


def values(rng, n=80, d=3):
    X = rng.normal(size=(n, d))
    return X, np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.normal(size=n), rng.normal(size=(20, d))


def classes(rng, n=80):
    X, y, new = values(rng, n)
    return X, (y + 0.3 * rng.normal(size=n) > 0).astype(int), new


# --- regression -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("normalize_y", [False, True])
@pytest.mark.parametrize("n_outputs", [None, 2])
def test_a_given_prior_as_in_scikit_learn(rng, normalize_y, n_outputs):
    X, y, new = values(rng)
    if n_outputs:
        y = np.stack([y, 3 * y**2 + 1], axis=1)
    theirs = TheirRegressor(
        ConstantKernel(2.0) * TheirRBF(1.0), alpha=0.05, optimizer=None, normalize_y=normalize_y
    ).fit(X, y)
    ours = GaussianProcessRegressor(RBF(gamma=0.5), noise=0.05, normalize_y=normalize_y, **GIVEN).fit(X, y)
    assert_allclose(ours.predict(new), theirs.predict(new), rtol=1e-9, atol=1e-10)
    for word in ("return_std", "return_cov"):
        for found, expected in zip(ours.predict(new, **{word: True}), theirs.predict(new, **{word: True}), strict=True):
            assert found.shape == expected.shape
            assert_allclose(found, expected, rtol=1e-8, atol=1e-10)
    assert_allclose(ours.log_marginal_likelihood_, theirs.log_marginal_likelihood_value_, rtol=1e-10)
    assert ours.sample_y(new, 5).shape == theirs.sample_y(new, 5).shape


def test_the_largest_evidence_as_in_scikit_learn(rng):
    X, y, _ = values(rng)
    ours = GaussianProcessRegressor(RBF(gamma=0.5), tol=1e-8).fit(X, y)
    theirs = TheirRegressor(ConstantKernel(1.0) * TheirRBF(1.0) + WhiteKernel(0.1)).fit(X, y)
    assert_allclose(ours.log_marginal_likelihood_, theirs.log_marginal_likelihood_value_, rtol=1e-7)
    assert ours.log_marginal_likelihood_ >= theirs.log_marginal_likelihood_value_ - 1e-9
    kernel = theirs.kernel_
    found = ours.amplitude_, ours.kernel_.gamma, ours.noise_
    expected = kernel.k1.k1.constant_value, 0.5 / kernel.k1.k2.length_scale**2, kernel.k2.noise_level
    assert_allclose(found, expected, rtol=1e-3)


def test_one_width_for_every_feature_as_in_scikit_learn(rng):
    X, y, _ = values(rng)
    ours = GaussianProcessRegressor(RBF(gamma=np.full(3, 0.5)), tol=1e-7).fit(X, y)
    theirs = TheirRegressor(ConstantKernel(1.0) * TheirRBF(np.ones(3)) + WhiteKernel(0.1)).fit(X, y)
    assert_allclose(ours.log_marginal_likelihood_, theirs.log_marginal_likelihood_value_, rtol=1e-5)
    assert np.argmin(ours.kernel_.gamma) == 2  # the feature that does not matter


def test_the_mean_is_ridge_regression(rng):
    X, y, new = values(rng)
    machine = GaussianProcessRegressor(RBF(gamma=0.5), noise=0.3, **GIVEN).fit(X, y)
    theirs = TheirRidge(alpha=0.15, kernel="rbf", gamma=0.5).fit(X, y)
    ours = KernelRidge(RBF(gamma=0.5), alpha=0.15, fit_intercept=False).fit(X, y)
    for ridge in (theirs, ours):
        assert_allclose(machine.predict(new), ridge.predict(new), rtol=1e-8)
        assert_allclose(machine.dual_coef_.ravel(), ridge.dual_coef_.ravel(), rtol=1e-7)


def test_a_linear_kernel_is_bayesian_linear_regression(rng):
    X, y, new = values(rng)
    ours = GaussianProcessRegressor("linear", noise=0.05, **GIVEN).fit(X, y)
    precision = X.T @ X / 0.05 + np.eye(3) / 2.0
    assert_allclose(ours.coef_[0], np.linalg.solve(precision, X.T @ y) / 0.05, rtol=1e-8)
    covariance = new @ np.linalg.solve(precision, new.T)
    assert_allclose(ours.predict(new, return_cov=True)[1], covariance, rtol=1e-6, atol=1e-9)


def test_evidence_is_a_density(rng):
    X, y, _ = values(rng)
    Y = np.stack([y, y**2], axis=1)
    ours = GaussianProcessRegressor(RBF(gamma=0.5), noise=0.05, **GIVEN).fit(X, Y)
    density = multivariate_normal(np.zeros(len(X)), 2.0 * RBF(gamma=0.5)(X) + 0.05 * np.eye(len(X)))
    assert_allclose(ours.log_marginal_likelihood_, density.logpdf(Y.T).sum(), rtol=1e-9)


def test_evidence_of_weights_is_that_of_repeated_samples(rng):
    X, y, _ = values(rng, n=30)
    weight = rng.integers(1, 4, size=30)
    times = np.repeat(np.arange(30), weight)
    ours = GaussianProcessRegressor(RBF(gamma=0.5), noise=0.05, **GIVEN)
    weighted = ours.fit(X, y, sample_weight=weight).log_marginal_likelihood_
    assert_allclose(weighted, ours.fit(X[times], y[times]).log_marginal_likelihood_, rtol=1e-9)


@pytest.mark.parametrize("include_noise", [False, True])
def test_leave_one_out_is_refitting(rng, include_noise):
    X, y, _ = values(rng, n=15)
    weight = rng.integers(1, 4, size=15)
    ours = GaussianProcessRegressor(RBF(gamma=0.5), noise=0.05, **GIVEN)
    for Y in (y, np.stack([y, 3 * y + 1], axis=1)):
        mean, std = ours.fit(X, Y, weight).leave_one_out(include_noise)
        assert mean.shape == std.shape[: mean.ndim] == Y.shape
        for i in range(15):
            rest = np.arange(15) != i
            again = ours.fit(X[rest], Y[rest], weight[rest]).predict(
                X[[i]], return_std=True, include_noise=include_noise
            )
            assert_allclose(mean[i], again[0][0], rtol=1e-8, atol=1e-9)
            assert_allclose(std[i], again[1][0], rtol=1e-8)


def check_slopes(evidence, at):
    slopes = evidence(at).slopes
    assert slopes.keys() == at.keys()
    for name in at:
        above, below = (evidence(at | {name: at[name] * np.exp(step)})[0] for step in (1e-4, -1e-4))
        assert_allclose(np.sum(slopes[name]), (above - below) / 2e-4, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kernel", [RBF(gamma=0.5), Matern(2.0), RationalQuadratic(2.0) * RBF(gamma=0.2) + 1])
def test_slopes_are_finite_differences(rng, kernel):
    X, y, _ = values(rng, n=40)
    weight = rng.integers(1, 4, size=40).astype(float)
    prior = Prior(kernel, X)
    inside = {f"kernel__{name}": kernel.get_params()[name] for name in kernel.vjp(X[:1], np.zeros((1, 1)))}
    Y = np.stack([y, y**2], axis=1)
    check_slopes(RegressionEvidence(prior, Y, weight), {"amplitude": 1.5, "noise": 0.2, **inside})
    check_slopes(LaplaceEvidence(prior, np.where(Y > 0.1, 1.0, -1.0), weight), {"amplitude": 3.0, **inside})


def test_a_wrong_slope_is_seen(rng):
    X, y, _ = values(rng, n=40)
    evidence = RegressionEvidence(Prior(RBF(gamma=0.5), X), y[:, np.newaxis], np.ones(40))
    with pytest.raises(AssertionError):
        check_slopes(
            lambda at: Assessed(evidence(at)[0], {name: 1.001 * slope for name, slope in evidence(at).slopes.items()}),
            {"amplitude": 1.5, "noise": 0.2, "kernel__gamma": 0.5},
        )


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_curvature_is_the_average_information(rng, n_outputs):
    """By dense matrices; and about minus the second derivatives, for many values that the prior makes."""
    n, at = 300, {"amplitude": 1.5, "noise": 0.2, "kernel__gamma": np.array([0.5, 0.1])}
    X = rng.normal(size=(n, 2))
    kernel = RBF(gamma=at["kernel__gamma"])
    K = kernel(X)
    C = 1.5 * K + 0.2 * np.eye(n)
    Y = np.linalg.cholesky(C) @ rng.normal(size=(n, n_outputs))
    distances = [(column[:, np.newaxis] - column) ** 2 for column in X.T]
    changes = [1.5 * K, 0.2 * np.eye(n), *(-1.5 * g * D * K for g, D in zip(kernel.gamma, distances, strict=True))]
    alpha, inverse = np.linalg.solve(C, Y), np.linalg.inv(C)
    information = [[0.5 * np.vdot(A @ alpha, inverse @ B @ alpha) for A in changes] for B in changes]
    # The rows of either part of C are scaled by how well the values agree with it.
    said = np.array([np.vdot(alpha, A @ alpha) for A in changes[:2]])
    expected = np.array([n_outputs * np.vdot(inverse, A) for A in changes[:2]])
    scale = ((expected / said) ** 0.25)[[0, 1, 0, 0]]
    evidence = RegressionEvidence(Prior(kernel, X), Y, np.ones(n))
    roots = np.concatenate([evidence(at).roots[name] for name in at])
    assert_allclose(roots @ roots.T, np.outer(scale, scale) * information, rtol=1e-4, atol=1e-3)

    def gradient(theta):
        moved = np.exp(theta)
        slopes = evidence({"amplitude": moved[0], "noise": moved[1], "kernel__gamma": moved[2:]}).slopes
        return -np.concatenate([np.atleast_1d(slopes[name]) for name in at])

    here = np.log([1.5, 0.2, *kernel.gamma])
    exact = np.array([(gradient(here + h) - gradient(here - h)) / 2e-4 for h in 1e-4 * np.eye(4)])
    assert np.linalg.norm(roots @ roots.T - exact) < 0.2 * np.linalg.norm(exact)


def test_drawn_functions_have_the_moments_of_the_posterior(rng):
    X, y, new = values(rng, n=30)
    new = new[:4]
    machine = GaussianProcessRegressor(RBF(gamma=0.5), noise=0.2, normalize_y=True, **GIVEN).fit(X, 5 * y)
    drawn = machine.sample_y(new, 20_000)
    mean, covariance = machine.predict(new, return_cov=True)
    assert_allclose(drawn.mean(axis=1), mean, atol=0.1)
    assert_allclose(np.cov(drawn), covariance, atol=0.15)


# --- classification ---------------------------------------------------------------------------------------


def test_classes_as_in_scikit_learn(rng):
    X, y, new = classes(rng)
    theirs = TheirClassifier(ConstantKernel(2.0) * TheirRBF(1.0), optimizer=None).fit(X, y)
    ours = GaussianProcessClassifier(RBF(gamma=0.5), **GIVEN).fit(X, y)
    assert_allclose(ours.log_marginal_likelihood_, theirs.log_marginal_likelihood_value_, rtol=1e-9)
    if hasattr(theirs, "latent_mean_and_variance"):  # since scikit-learn 1.7
        mean, variance = theirs.latent_mean_and_variance(new)
        found = ours.latent(new)
        assert_allclose(found[0], mean, rtol=1e-6, atol=1e-8)
        assert_allclose(found[1] ** 2, variance, rtol=1e-6)
    # Theirs is an approximation of the average.
    assert_allclose(ours.predict_proba(new), theirs.predict_proba(new), atol=5e-4)
    assert (ours.predict(new) == theirs.predict(new)).all()


def test_the_largest_evidence_of_classes_as_in_scikit_learn(rng):
    X, y, _ = classes(rng)
    ours = GaussianProcessClassifier(RBF(gamma=0.5), tol=1e-7).fit(X, y)
    theirs = TheirClassifier(ConstantKernel(1.0) * TheirRBF(1.0)).fit(X, y)
    assert_allclose(ours.log_marginal_likelihood_, theirs.log_marginal_likelihood_value_, rtol=1e-6)
    assert ours.log_marginal_likelihood_ >= theirs.log_marginal_likelihood_value_ - 1e-7


def test_several_classes_as_in_scikit_learn(rng):
    X, y, new = values(rng)
    y = np.digitize(y, [-0.3, 0.5])
    theirs = TheirClassifier(ConstantKernel(2.0) * TheirRBF(1.0), optimizer=None).fit(X, y)
    ours = GaussianProcessClassifier(RBF(gamma=0.5), **GIVEN).fit(X, y)
    assert_allclose(ours.predict_proba(new), theirs.predict_proba(new), atol=5e-4)
    # They tell the mean of the functions' evidences.
    assert_allclose(ours.log_marginal_likelihood_ / 3, theirs.log_marginal_likelihood_value_, rtol=1e-9)


def test_laplace_is_exact_where_likelihoods_are_gaussian_enough(rng):
    """One sample, a narrow prior: the evidence is the average of the sigmoid over the prior."""
    for amplitude, close in ((1e-2, 1e-5), (1e-4, 1e-9)):
        machine = GaussianProcessClassifier(Linear(), amplitude=amplitude, optimize=False)
        machine.fit([[1.0], [-1.0]], [1, 0])
        exact = quad(lambda f: expit(f) ** 2 * norm.pdf(f, scale=amplitude**0.5), -1, 1, epsabs=1e-13)[0]  # noqa: B023
        assert_allclose(machine.log_marginal_likelihood_, np.log(exact), atol=close)


@pytest.mark.parametrize(("mean", "std"), [(0.3, 0.499), (0.3, 0.501), (-3.0, 0.01), (5.0, 30.0), (2.0, 3.0)])
def test_the_average_of_the_sigmoid(monkeypatch, mean, std):
    exact = quad(lambda z: expit(mean + std * z) * norm.pdf(z), -12, 12, epsabs=1e-14, limit=500, points=[-mean / std])[
        0
    ]
    monkeypatch.setattr("mercer.kernels.samples.BLOCK_ENTRIES", 1000)  # blocks of three
    found = averaged_sigmoid(np.array([mean, 0.0, -mean, mean, 9.0]), np.array([std, 1.0, std, std, 0.1]))
    assert_allclose(found[:4], [exact, 0.5, 1 - exact, exact], rtol=1e-12)
