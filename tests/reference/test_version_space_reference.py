"""Centres of version space by other ways: a conic solver, and expectation propagation sample by sample."""

import clarabel
import numpy as np
import pytest
from machine_registry import lesson
from numpy.testing import assert_allclose
from scipy.sparse import block_array, csc_array
from scipy.stats import norm

from mercer.kernels import RBF
from mercer.version_space import AnalyticCenterMachine, BayesPointMachine

SOFT = 0.3


def extended(machine, X):
    """The kernel matrix that the machine works on: offset and soft boundary included."""
    return machine.kernel_(X) + 1.0 + SOFT * np.eye(len(X))


def function_of(coefficients, machine, X):
    """The function of a direction, of length one without its soft features."""
    K = machine.kernel_(X) + 1.0
    return K @ coefficients / np.sqrt(coefficients @ K @ coefficients)


def conic_analytic_centre(normals):
    """max sum(t) - |w|^2 / 2 with exp(t_i) <= a_i w, in the exponential cones of Clarabel."""
    n, d = normals.shape
    t, w, b = np.zeros((3 * n, n)), np.zeros((3 * n, d)), np.zeros(3 * n)
    for i in range(n):  # (t_i, 1, a_i w) is in the cone of all (x, y, z) with y exp(x / y) <= z
        t[3 * i, i], b[3 * i + 1], w[3 * i + 2] = -1.0, 1.0, -normals[i]
    rows = csc_array(np.hstack([t, w]))
    P = csc_array(block_array([[csc_array((n, n)), None], [None, csc_array(np.eye(d))]]))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    q = np.concatenate([-np.ones(n), np.zeros(d)])
    solver = clarabel.DefaultSolver(P, q, rows, b, [clarabel.ExponentialConeT() for _ in range(n)], settings)
    solution = solver.solve()
    assert str(solution.status) == "Solved"
    return np.array(solution.x[n:]), solution.obj_val


@pytest.mark.parametrize("d", [2, 5])
def test_analytic_centre_by_a_conic_solver(d):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(25, d))
    y = np.where(X @ rng.normal(size=d) > 0, 1, -1)
    normals = y[:, np.newaxis] * X / np.linalg.norm(X, axis=1, keepdims=True)
    w, value = conic_analytic_centre(normals)
    machine = AnalyticCenterMachine(kernel="linear", soft_boundary=0.0, fit_intercept=False).fit(X, y)
    assert_allclose(machine.result_.objective, value, atol=1e-6)
    assert_allclose(machine.coef_[0], w / np.linalg.norm(w), atol=1e-4)


def naive_expectation_propagation(C, passes=300):
    """One factor after the other, each with the whole covariance written out."""
    n = len(C)
    tau, nu = np.zeros(n), np.zeros(n)
    covariance, mean = C.copy(), np.zeros(n)
    for _ in range(passes):
        for i in range(n):
            other_tau = 1 / covariance[i, i] - tau[i]
            other_mean = (mean[i] / covariance[i, i] - nu[i]) / other_tau
            spread = 1 / np.sqrt(other_tau)
            z = other_mean / spread
            ratio = norm.pdf(z) / norm.cdf(z)
            wanted_mean = other_mean + spread * ratio
            wanted_variance = spread**2 * (1 - ratio * (z + ratio))
            tau[i] = 1 / wanted_variance - other_tau
            nu[i] = wanted_mean / wanted_variance - other_mean * other_tau
            covariance = C - C @ np.linalg.solve(C + np.diag(1 / np.where(tau > 0, tau, 1e-300)), C)
            mean = covariance @ nu
    return mean


@pytest.mark.parametrize("kernel", ["linear", RBF(gamma=0.5)], ids=str)
def test_expectation_propagation_sample_by_sample(kernel):
    """All factors at once or one after the other: the same fixed point."""
    machine = BayesPointMachine(kernel=kernel, soft_boundary=SOFT)
    X, y = lesson(machine, n=14)
    machine.fit(X, y)
    K, signs = extended(machine, X), np.where(y == 1, 1.0, -1.0)
    scale = signs / np.sqrt(np.diag(K))
    mean = naive_expectation_propagation(K * np.outer(scale, scale), passes=40)
    coefficients = np.linalg.solve(K, mean / scale)
    assert_allclose(machine.decision_function(X), function_of(coefficients, machine, X), rtol=1e-5, atol=1e-6)
