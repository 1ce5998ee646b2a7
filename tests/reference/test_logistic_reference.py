"""Kernel logistic regression against scikit-learn, a general optimiser and the Gaussian process."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import entr
from sklearn.linear_model import LogisticRegression

from mercer.gp import GaussianProcessClassifier
from mercer.kernels import RBF
from mercer.logistic import KernelLogisticRegression

several = pytest.mark.parametrize("n_classes", [2, 4])


def lesson(rng, n_classes, n=60):
    X = rng.normal(size=(n, 4))
    y = np.argmax(X[:, :n_classes] + 0.7 * rng.normal(size=(n, n_classes)), axis=1)
    return X, y, rng.integers(0, 4, size=n)


@several
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.1, 1e3])
@pytest.mark.parametrize("class_weight", [None, {0: 3.0, 1: 0.5}])
def test_a_linear_kernel_is_logistic_regression(rng, n_classes, fit_intercept, C, class_weight):
    X, y, weight = lesson(rng, n_classes, n=100)
    options = {"C": C, "fit_intercept": fit_intercept, "class_weight": class_weight}
    ours = KernelLogisticRegression("linear", tol=1e-9, **options).fit(X, y, weight)
    theirs = LogisticRegression(tol=1e-10, max_iter=10_000, solver="newton-cg", **options).fit(X, y, weight)
    assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4, atol=1e-5)
    assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-4, atol=1e-5)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    assert (ours.predict(X) == theirs.predict(X)).all()


@several
def test_a_general_optimiser_finds_nothing_better(rng, n_classes):
    X, y, _ = lesson(rng, n_classes, n=40)
    k = 1 if n_classes == 2 else n_classes
    K, T, C = RBF(gamma=0.3)(X), np.eye(n_classes)[y], 5.0

    def objective(theta):
        A, b = theta[:-k].reshape(40, k), theta[-k:]
        F = K @ A + b
        F = np.hstack([np.zeros((40, 1)), F]) if k == 1 else F
        P = np.exp(F) / np.exp(F).sum(axis=1, keepdims=True)
        R = C * (P - T)[:, -k:]
        value = 0.5 * np.trace(A.T @ K @ A) - C * (T * np.log(P)).sum()
        return value, np.concatenate([(K @ (A + R)).ravel(), R.sum(axis=0)])

    found = minimize(objective, np.zeros(41 * k), jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-14})
    machine = KernelLogisticRegression(RBF(gamma=0.3), C=C).fit(X, y)
    assert_allclose(machine.result_.primal_objective, found.fun, rtol=1e-5)
    assert machine.result_.primal_objective <= found.fun + 1e-9


@several
def test_coefficients_are_what_is_missing_in_probabilities(rng, n_classes):
    """The optimum of [B eq 7.47] in its dual form."""
    X, y, weight = lesson(rng, n_classes)
    machine = KernelLogisticRegression(RBF(gamma=0.3), C=5.0, tol=1e-9).fit(X, y, weight)
    missing = np.eye(n_classes)[y] - machine.predict_proba(X)
    expected = 5.0 * weight[:, np.newaxis] * missing
    expected = expected[:, 1:] if n_classes == 2 else expected
    assert_allclose(machine.dual_coef_.T, expected[machine.support_], atol=1e-7)
    assert_allclose(machine.dual_coef_.sum(axis=1), 0.0, atol=1e-7)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@several
def test_the_certificate_from_public_attributes(rng, n_classes):
    X, y, _ = lesson(rng, n_classes)
    kernel, C = RBF(gamma=0.3), 5.0
    best = KernelLogisticRegression(kernel, C=C, tol=1e-10).fit(X, y).result_.primal_objective
    for max_iter in (1, 2, 3, 50):
        machine = KernelLogisticRegression(kernel, C=C, max_iter=max_iter).fit(X, y)
        K, A = kernel(X), np.zeros((len(X), len(machine.dual_coef_)))
        A[machine.support_] = machine.dual_coef_.T
        P = machine.predict_proba(X)
        R = C * (np.eye(n_classes)[y] - P)
        R = R[:, 1:] if n_classes == 2 else R
        primal = 0.5 * np.trace(A.T @ K @ A) - C * np.log(P[np.arange(len(X)), y]).sum()
        dual = -0.5 * np.trace(R.T @ K @ R) + C * entr(P).sum()
        result = machine.result_
        assert_allclose([result.primal_objective, result.dual_objective], [primal, dual], rtol=1e-8)
        assert_allclose(result.gap, primal - dual, atol=1e-9 * primal)
        assert dual <= best + 1e-9
        assert result.gap >= primal - best - 1e-9
        assert_allclose(result.violation, np.abs(A - R).max() / C, atol=1e-9)
        assert_allclose(R.sum(axis=0), 0.0, atol=1e-9)  # feasible
        assert result.imbalance <= 1e-9


def test_without_an_intercept_it_is_the_mode_of_a_gaussian_process(rng):
    X, y, weight = lesson(rng, 2)
    process = GaussianProcessClassifier(RBF(gamma=0.3), amplitude=7.0, optimize=False).fit(X, y, weight)
    machine = KernelLogisticRegression(RBF(gamma=0.3), C=7.0, fit_intercept=False, tol=1e-10).fit(X, y, weight)
    assert_allclose(machine.decision_function(X), process.latent(X)[0], rtol=1e-7, atol=1e-8)
    assert_allclose(machine.dual_coef_, process.dual_coef_, rtol=1e-6, atol=1e-8)


def test_two_classes_by_softmax_are_the_same(rng):
    """Two functions f/2 and -f/2 have half the squared norm of f, as if C were doubled."""
    X, y, _ = lesson(rng, 2)
    binary = KernelLogisticRegression(RBF(gamma=0.3), C=10.0, tol=1e-9).fit(X, y)
    # A third class, far away and of next to no weight, makes it a softmax of three.
    far, weight = np.vstack([X, np.full((1, 4), 1e3)]), np.append(np.ones(len(X)), 1e-9)
    three = KernelLogisticRegression(RBF(gamma=0.3), C=5.0, tol=1e-9).fit(far, np.append(y, 2), weight)
    assert_allclose(three.predict_proba(X)[:, :2], binary.predict_proba(X), atol=1e-6)
