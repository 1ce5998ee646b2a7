"""Sparse Bayesian learning against obvious Python, finite differences, scikit-learn and numerical integrals."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference.naive_sparse_bayes import (
    naive_evidence,
    naive_factors,
    naive_laplace,
    naive_posterior,
    naive_sparse_bayes,
)
from scipy.special import expit, softmax
from sklearn.linear_model import ARDRegression

from mercer.gram import MatrixDesign
from mercer.kernels import RBF, Sigmoid
from mercer.problems import Gamma, SparseBayesProblem
from mercer.rvm import RelevanceVectorClassifier, RelevanceVectorRegressor
from mercer.solvers import SparseBayes
from mercer.solvers.sparse_bayes import row_slopes
from mercer.solvers.sparse_bayes.models import LaplaceModel
from mercer.solvers.sparse_bayes.posterior import Noise, Posterior, Step

ALGORITHMS = ["sequential", "reestimation", "em"]
every_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS)


def values(rng, n=50, d=2):
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.normal(size=n), rng.normal(size=(20, d))


def classes(rng, n_classes, n=60):
    X = rng.normal(size=(n, 2))
    codes = np.arange(n) % n_classes
    X[:, 0] += 1.7 * (codes == 1)
    X[:, 1] += 1.7 * (codes == 2)
    return X, codes, rng.normal(size=(20, 2)) * 2


def columns(rng, n=60, m=20):
    """A design matrix of which three columns matter."""
    Phi = rng.normal(size=(n, m))
    return Phi, Phi[:, :3] @ [1.0, -2.0, 0.5] + 0.2 * rng.normal(size=n)


# --- values: the evidence and the posterior ---------------------------------------------------------------


@every_algorithm
def test_evidence_is_that_of_the_precisions(rng, algorithm):
    X, y, _ = values(rng)
    machine = RelevanceVectorRegressor(algorithm=algorithm).fit(X, y)
    Phi = machine.basis_values(X)
    expected = naive_evidence(Phi, y, machine.alpha_, machine.noise_variance_)
    assert_allclose(machine.log_evidence_, expected, rtol=1e-9)
    mean, sigma = naive_posterior(Phi, y, machine.alpha_, machine.noise_variance_)
    assert_allclose(machine.mean_, mean, rtol=1e-5, atol=1e-7)
    assert_allclose(machine.sigma_, sigma, rtol=1e-5, atol=1e-9)


def test_evidence_with_priors_is_the_evidence_alone(rng):
    X, y, _ = values(rng)
    machine = RelevanceVectorRegressor(alpha_prior=(0.1, 0.2), noise_prior=(2.0, 0.1)).fit(X, y)
    expected = naive_evidence(machine.basis_values(X), y, machine.alpha_, machine.noise_variance_)
    assert_allclose(machine.log_evidence_, expected, rtol=1e-9)
    prior, noise_prior = Gamma(0.1, 0.2), Gamma(2.0, 0.1)
    densities = prior.log_density(machine.alpha_).sum() + noise_prior.log_density(1 / machine.noise_variance_)
    assert_allclose(machine.result_.history.log_evidence[-1], expected + densities, rtol=1e-9)


def test_predictions_are_those_of_the_posterior(rng):
    X, y, new = values(rng)
    machine = RelevanceVectorRegressor().fit(X, y)
    Phi = machine.basis_values(new)
    mean, std = machine.predict(new, return_std=True)
    assert_allclose(mean, Phi @ machine.mean_, rtol=1e-10)
    variance = machine.noise_variance_ + np.einsum("ij,jk,ik->i", Phi, machine.sigma_, Phi)  # [B eq 7.91]
    assert_allclose(std, np.sqrt(variance), rtol=1e-10)


def test_the_naive_twin_finds_the_same_model(rng):
    Phi, t = columns(rng)
    alpha, noise, evidence = naive_sparse_bayes(Phi, t)
    machine = RelevanceVectorRegressor(basis="precomputed", fit_intercept=False, tol=1e-8).fit(Phi, t)
    assert_array_equal(machine.relevance_, np.flatnonzero(np.isfinite(alpha)))
    assert_allclose(machine.log_evidence_, evidence, rtol=1e-8)
    assert_allclose(machine.noise_variance_, noise, rtol=1e-4)
    assert_allclose(machine.alpha_, alpha[np.isfinite(alpha)], rtol=1e-3)


def test_local_maxima_are_no_worse_than_those_of_the_naive_twin():
    gains = []
    for seed in range(10):
        X, y, _ = values(np.random.default_rng(seed), n=30)
        Phi = RBF(gamma=1.0)(X)
        machine = RelevanceVectorRegressor("precomputed", fit_intercept=False).fit(Phi, y)
        gains.append(machine.log_evidence_ - naive_sparse_bayes(Phi, y)[2])
    assert np.sum(np.abs(gains) <= 0.01) >= 3  # the same maximum
    assert np.sum(gains) >= 0


def test_scikit_learn_finds_no_larger_evidence(rng):
    Phi, t = columns(rng)
    theirs = ARDRegression(fit_intercept=False, tol=1e-8, max_iter=1000).fit(Phi, t)
    alpha = np.where(theirs.coef_ == 0, np.inf, theirs.lambda_)
    ours = RelevanceVectorRegressor(basis="precomputed", fit_intercept=False, tol=1e-6).fit(Phi, t)
    assert ours.log_evidence_ >= naive_evidence(Phi, t, alpha, 1 / theirs.alpha_) - 1e-6
    new = rng.normal(size=(20, Phi.shape[1]))
    (mean, std), (their_mean, their_std) = (machine.predict(new, return_std=True) for machine in (ours, theirs))
    assert_allclose(mean, their_mean, atol=0.05)
    assert_allclose(std, their_std, rtol=0.05)


# --- values: the posterior step by step -------------------------------------------------------------------


def posterior_of(Phi, t, beta, prior=Gamma(), noise_prior=Gamma()):  # noqa: B008
    noise = Noise(beta, len(t), float(t @ t), True, (1e-6, 1e9), noise_prior)
    return Posterior(
        noise.beta * (Phi**2).sum(axis=0),
        noise.beta * Phi.T @ t,
        lambda which: noise.beta * Phi[:, which].T @ Phi,
        prior,
        noise,
    )


def test_updates_of_rank_one_are_what_is_computed_anew(rng):
    Phi, t = columns(rng, n=30, m=12)
    noise = 0.1
    posterior = posterior_of(Phi, t, 1 / noise)
    posterior.set(np.array([4]), np.array([2.0]))
    alpha = np.full(12, np.inf)
    alpha[4] = 2.0
    for j, precision in [(0, 0.5), (7, 3.0), (4, np.inf), (2, 0.1), (9, 20.0), (7, np.inf), (1, 1e-3), (7, 0.7)]:
        alpha[j] = precision
        posterior.take(Step(j, precision, 0.0))
    assert_array_equal(np.sort(posterior.members), np.flatnonzero(np.isfinite(alpha)))
    at = posterior.members
    mean, sigma = naive_posterior(Phi[:, at], t, alpha[at], noise)
    assert_allclose(posterior.mean, mean, rtol=1e-9)
    assert_allclose(posterior.covariance, sigma, rtol=1e-9, atol=1e-12)
    s, q = posterior.factors()
    expected = np.array([naive_factors(Phi, t, alpha, noise, i) for i in range(12)])
    assert_allclose(s, expected[:, 0], rtol=1e-9)
    assert_allclose(q, expected[:, 1], rtol=1e-8, atol=1e-8)
    posterior.refresh()
    assert_allclose(posterior.value, naive_evidence(Phi, t, alpha, noise), rtol=1e-10)
    anew = posterior.factors()
    assert_allclose(anew[0], s, rtol=1e-9)
    assert_allclose(anew[1], q, rtol=1e-8, atol=1e-8)


def test_a_step_brings_what_it_promises(rng):
    Phi, t = columns(rng, n=30, m=12)
    posterior = posterior_of(Phi, t, 10.0)
    posterior.set(np.array([3, 5]), np.array([1.0, 0.01]))
    for _ in range(4):
        step = posterior.best_step()
        before = posterior.value
        posterior.take(step)
        posterior.refresh()
        assert_allclose(posterior.value - before, step.gain, rtol=1e-9)
        assert step.gain > 0


@pytest.mark.parametrize("with_priors", [False, True])
def test_derivatives_of_the_evidence_are_finite_differences(rng, with_priors):
    Phi, t = columns(rng, n=30, m=6)
    priors = (Gamma(0.3, 0.2), Gamma(1.5, 0.05)) if with_priors else ()
    at = np.array([0, 1, 4])

    def posterior_at(theta):
        found = posterior_of(Phi, t, np.exp(theta[-1]), *priors)
        found.set(at, np.exp(theta[:-1]))
        return found

    theta, h = np.array([0.2, -1.0, 1.3, 2.0]), 1e-5
    slope, bend, _ = posterior_at(theta)._derivatives()
    for i, e in enumerate(np.eye(4)):
        above, below = posterior_at(theta + h * e), posterior_at(theta - h * e)
        assert_allclose(slope[i], (above.value - below.value) / (2 * h), rtol=1e-6)
        difference = (above._derivatives()[0] - below._derivatives()[0]) / (2 * h)
        assert_allclose(-bend[i], difference, rtol=1e-5, atol=1e-7)


# --- classes ----------------------------------------------------------------------------------------------


@every_algorithm
@pytest.mark.parametrize("n_classes", [2, 3])
def test_evidence_of_classes_is_that_of_the_precisions(rng, n_classes, algorithm):
    X, y, _ = classes(rng, n_classes, n=40)
    machine = RelevanceVectorClassifier(algorithm=algorithm, tol=0.1).fit(X, y)
    mode, sigma, evidence = naive_laplace(
        machine.basis_values(X), machine.functions_, y, machine.alpha_, 1 if n_classes == 2 else n_classes
    )
    assert_allclose(machine.log_evidence_, evidence, rtol=1e-8)
    assert_allclose(machine.mean_, mode, rtol=1e-4, atol=1e-6)
    assert_allclose(machine.sigma_, sigma, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("likelihood", ["gaussian", "logistic", "softmax"])
def test_slopes_by_basis_functions_are_finite_differences(rng, likelihood):
    n_classes = 3 if likelihood == "softmax" else 2
    X, codes, _ = classes(rng, n_classes, n=25)
    repeats = rng.integers(1, 3, size=25)
    design = RBF(gamma=0.5)(X)[:6]
    if likelihood == "gaussian":
        targets = np.sin(2 * X[:, :1]) + 0.1 * rng.normal(size=(25, 1))
    else:
        targets = np.eye(n_classes)[codes] if n_classes == 3 else codes[:, np.newaxis].astype(float)
    problem = SparseBayesProblem(MatrixDesign(design), targets, repeats.astype(float), likelihood)
    result = SparseBayes().solve(problem)
    slopes = row_slopes(problem, result)
    assert slopes.shape == (len(result.members), 25)
    n_functions, m = problem.n_functions, 6
    again = np.repeat(np.arange(25), repeats)

    def evidence(rows):
        Phi = rows.T[again]
        if likelihood == "gaussian":
            return naive_evidence(Phi, targets[again, 0], result.alpha, result.noise)
        return naive_laplace(Phi, result.members // m, codes[again], result.alpha, n_functions)[2]

    rows, h = design[result.members % m], 1e-4
    for a, i in [(0, 0), (0, 7), (len(rows) - 1, 3), (len(rows) - 1, 24)]:
        e = np.zeros_like(rows)
        e[a, i] = h
        assert_allclose(slopes[a, i], (evidence(rows + e) - evidence(rows - e)) / (2 * h), rtol=1e-4, atol=1e-6)


def test_two_classes_by_softmax_are_two_classes_by_the_sigmoid(rng):
    X, codes, _ = classes(rng, 2)
    design = MatrixDesign(np.concatenate([np.ones((1, len(X))), RBF(gamma=0.5)(X)]))
    one = SparseBayesProblem(design, codes[:, np.newaxis].astype(float), np.ones(len(X)), "logistic")
    both = SparseBayesProblem(design, np.eye(2)[codes], np.ones(len(X)), "softmax")
    single, joint = (SparseBayes(tol=1e-4).solve(problem) for problem in (one, both))
    assert_allclose(joint.log_evidence, single.log_evidence, atol=0.03)
    F = single.mean @ design.rows(single.members)
    rows, functions = design.rows(joint.members % design.m), joint.members // design.m
    difference = (joint.mean * np.where(functions == 1, 1, -1)) @ rows
    assert_allclose(expit(difference), expit(F), atol=0.02)


def test_one_against_the_rest_and_softmax_agree_where_it_is_clear(rng):
    X, y, new = classes(rng, 3, n=90)
    softmaxed, one_by_one = (RelevanceVectorClassifier(multi_class=way).fit(X, y) for way in ("softmax", "ovr"))
    both = softmaxed.predict_proba(new), one_by_one.predict_proba(new)
    clear = both[0].max(axis=1) > 0.7
    assert clear.sum() >= 8
    assert_array_equal(both[0].argmax(axis=1)[clear], both[1].argmax(axis=1)[clear])
    assert np.abs(both[0] - both[1]).mean() < 0.1
    assert isinstance(one_by_one.result_, list) and len(one_by_one.result_) == 3


NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(24)


def test_averaged_probabilities_of_two_classes_are_integrals(rng):
    X, y, new = classes(rng, 2, n=30)
    machine = RelevanceVectorClassifier().fit(X, y)
    Phi = machine.basis_values(new)
    mean, std = Phi @ machine.mean_, np.sqrt(np.einsum("ij,jk,ik->i", Phi, machine.sigma_, Phi))
    expected = expit(mean[:, np.newaxis] + std[:, np.newaxis] * NODES) @ WEIGHTS / WEIGHTS.sum()
    assert_allclose(machine.predict_proba(new)[:, 1], expected, atol=0.02)
    at_mode = machine.set_params(probabilities="mode").predict_proba(new)[:, 1]
    assert_allclose(at_mode, expit(mean), rtol=1e-9)
    assert np.abs(at_mode - expected).max() > 0.02


def test_averaged_probabilities_of_several_classes_are_integrals(rng):
    X, y, new = classes(rng, 3, n=60)
    machine = RelevanceVectorClassifier().fit(X, y)
    Phi = machine.basis_values(new)
    grid = np.stack(np.meshgrid(NODES, NODES, NODES), axis=-1).reshape(-1, 3)
    weight = np.prod(np.meshgrid(WEIGHTS, WEIGHTS, WEIGHTS), axis=0).ravel()
    member = np.eye(3)[machine.functions_]
    expected = []
    for phi in Phi:
        J = (member * phi[:, np.newaxis]).T
        values, vectors = np.linalg.eigh(J @ machine.sigma_ @ J.T)
        F = J @ machine.mean_ + grid @ (vectors * np.sqrt(np.maximum(values, 0))).T
        expected.append(weight @ softmax(F, axis=1) / weight.sum())
    averaged = machine.predict_proba(new)
    assert_allclose(averaged, expected, atol=0.03)
    at_mode = machine.set_params(probabilities="mode").predict_proba(new)
    assert np.abs(at_mode - expected).max() > 2 * np.abs(averaged - expected).max()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_sparsity_and_quality_of_classes(rng, n_classes):
    """[B eqs 7.116-7.118]: of the Gaussian at the mode, whether all candidates are looked at or some."""
    X, codes, _ = classes(rng, n_classes, n=30)
    rows = RBF(gamma=0.5)(X)[:8]
    K = 1 if n_classes == 2 else n_classes
    targets = codes[:, np.newaxis].astype(float) if K == 1 else np.eye(K)[codes]
    model = LaplaceModel(
        SparseBayesProblem(MatrixDesign(rows), targets, np.ones(30), "logistic" if K == 1 else "softmax")
    )
    members, alpha = np.array([1, 5, 8 * K - 2]), np.array([0.5, 2.0, 0.1])
    weights = model.at(members, model.rows(members), alpha)
    mode, sigma, _ = naive_laplace(model.rows(members).T, members // 8, codes, alpha, K)
    everyone = np.arange(8 * K)
    J = np.zeros((30, K, 8 * K))  # derivatives of the functions by all weights
    J[:, everyone // 8, everyone] = model.rows(everyone).T
    F = J[:, :, members] @ mode
    P = expit(F) if K == 1 else softmax(F, axis=1)
    H = np.einsum("nka,nkl,nlb->ab", J, np.stack([np.diag(p) - np.outer(p, p) for p in P]), J)
    g, S, Q = model.screen(weights)
    assert_allclose(g, H.diagonal(), rtol=1e-6)
    assert_allclose(S, (H - H[:, members] @ sigma @ H[members]).diagonal(), rtol=1e-5)
    assert_allclose(Q, np.einsum("nka,nk->a", J, targets - P), rtol=1e-5, atol=1e-7)
    inside = np.flatnonzero(np.isin(everyone, members))
    posterior = model.posterior(everyone, model.rows(everyone), inside, weights)
    assert_allclose(posterior.S, S, rtol=1e-5)
    assert_allclose(posterior.Q, Q, rtol=1e-5, atol=1e-7)
    assert_allclose(posterior.mean, mode, rtol=1e-5)


# --- augmentation -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [RBF(gamma=0.7), Sigmoid(gamma=1.0, coef0=-1.0)], ids=str)
def test_augmented_predictions_are_those_of_a_larger_model(rng, kernel):
    X, y, new = values(rng)
    weight = rng.integers(1, 3, size=len(X))
    machine = RelevanceVectorRegressor(kernel, variance="augmented").fit(X, y, sample_weight=weight)
    again = np.repeat(np.arange(len(X)), weight)
    X, y = X[again], y[again]
    Phi, noise, own = machine.basis_values(X), machine.noise_variance_, kernel.diag(new)
    assert (own > 0).all() or isinstance(kernel, Sigmoid)
    mean, std = machine.predict(new, return_std=True)
    for i, x in enumerate(new[:, np.newaxis]):
        larger = np.concatenate([Phi, kernel(X, x)], axis=1)
        m, sigma = naive_posterior(larger, y, np.append(machine.alpha_, abs(own[i]) / y.var()), noise)
        here = np.append(machine.basis_values(x)[0], own[i])
        assert_allclose(mean[i], here @ m, rtol=1e-6)
        assert_allclose(std[i], np.sqrt(noise + here @ sigma @ here), rtol=1e-6)
