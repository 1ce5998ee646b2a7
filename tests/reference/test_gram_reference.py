"""Gram tools against naive twins, a conic solver, and scikit-learn."""

import clarabel
import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference import naive_gram
from scipy.sparse import csc_array, vstack
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import KernelCenterer

from mercer.gram import (
    alignment,
    center,
    centered_alignment,
    clip,
    mmd_test,
    proxy_kernel,
    squared_mmd,
)
from mercer.kernels import RBF, Indexed


def symmetric(n, seed):
    """A random indefinite matrix."""
    A = np.random.default_rng(seed).normal(size=(n, n))
    return 0.5 * (A + A.T)


def labels(n, seed):
    return np.where(np.random.default_rng(seed).permutation(n) % 2, 1.0, -1.0)


# --- semi-definite programmes -----------------------------------------------------------------------------


class Programme:
    """min 1/2 x'Px + q'x under cones, with a symmetric matrix as the first variables."""

    def __init__(self, n, n_further):
        self.n, self.entries = n, [(i, j) for j in range(n) for i in range(j + 1)]  # upper triangle, by columns
        self.size = len(self.entries) + n_further
        self.rows, self.sides, self.cones = [], [], []

    def nonnegative(self, rows, sides):
        """rows x <= sides."""
        self._add(rows, sides, clarabel.NonnegativeConeT(len(sides)))

    def semidefinite(self, entries, n):
        """A matrix whose upper triangle, by columns, has the (coefficients, constant) given."""
        rows, sides, at = [], [], 0
        for j in range(n):
            for i in range(j + 1):
                coefficients, constant = entries[at]
                scale = 1.0 if i == j else np.sqrt(2.0)
                rows.append(-scale * coefficients)
                sides.append(scale * constant)
                at += 1
        self._add(np.array(rows), sides, clarabel.PSDTriangleConeT(n))

    def unit(self, k):
        row = np.zeros(self.size)
        row[k] = 1.0
        return row

    def near(self, K0, weight):
        """weight |K - K0|_F^2 as P, q and a constant."""
        twice = np.array([1.0 if i == j else 2.0 for i, j in self.entries])
        target = np.array([K0[i, j] for i, j in self.entries])
        P, q = np.zeros(self.size), np.zeros(self.size)
        P[: len(twice)], q[: len(twice)] = 2 * weight * twice, -2 * weight * twice * target
        return P, q, weight * np.sum(K0**2)

    def solve(self, P, q):
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_threads = False, 1
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
        A, b = csc_array(vstack([csc_array(rows) for rows in self.rows])), np.concatenate(self.sides)
        solution = clarabel.DefaultSolver(csc_array(np.diag(P)), q, A, b, self.cones, settings).solve()
        assert solution.status == clarabel.SolverStatus.Solved
        x = np.array(solution.x)
        K = np.zeros((self.n, self.n))
        for k, (i, j) in enumerate(self.entries):
            K[i, j] = K[j, i] = x[k]
        return solution.obj_val, K, x[len(self.entries) :]

    def _add(self, rows, sides, cone):
        self.rows.append(np.atleast_2d(rows))
        self.sides.append(np.asarray(sides, dtype=float))
        self.cones.append(cone)


def nearest_semidefinite(K0):
    programme = Programme(len(K0), 0)
    programme.semidefinite([(programme.unit(k), 0.0) for k in range(programme.size)], len(K0))
    P, q, _ = programme.near(K0, 1.0)
    return programme.solve(P, q)[1]


def conic_proxy(K0, y, C, rho):
    """The value of the joint problem and its proxy, with the inner maximum over the multipliers dualised.

    min t + C 1'd + rho |K - K0|^2 over K, t, b, u >= 0, d >= 0 under [[YKY, 1 + u - d + b y], [., 2 t]] >= 0.
    """
    n = len(y)
    programme = Programme(n, 2 + 2 * n)
    first = len(programme.entries)
    t, b, u, d = first, first + 1, first + 2, first + 2 + n
    entries = [(y[i] * y[j] * programme.unit(k), 0.0) for k, (i, j) in enumerate(programme.entries)]
    for i in range(n):
        row = programme.unit(u + i) - programme.unit(d + i) + y[i] * programme.unit(b)
        entries.append((row, 1.0))
    entries.append((2 * programme.unit(t), 0.0))
    programme.semidefinite(entries, n + 1)
    bounds = np.array([-programme.unit(k) for k in range(u, u + 2 * n)])
    programme.nonnegative(bounds, np.zeros(2 * n))
    P, q, constant = programme.near(K0, rho)
    q[t] += 1.0
    q[d : d + n] += C
    value, K, _ = programme.solve(P, q)
    return value + constant, K


@pytest.mark.parametrize("seed", range(3))
def test_clip_is_the_nearest_semidefinite_matrix(seed):
    K0 = symmetric(7, seed)
    assert_allclose(clip(K0), nearest_semidefinite(K0), atol=1e-6)


@pytest.mark.parametrize(
    ("seed", "C", "rho"), [(0, 1.0, 1.0), (1, 1.0, 0.05), (2, 10.0, 1.0), (3, 0.2, 20.0), (4, 5.0, 0.3)]
)
def test_proxy_kernel_against_a_conic_solver(seed, C, rho):
    K0, y = symmetric(8, seed), labels(8, seed)
    value, K = conic_proxy(K0, y, C, rho)
    found = proxy_kernel(K0, y, C, rho, tol=1e-9)
    assert found.result.status == "solved"
    accuracy = 1e-6 * max(1.0, abs(value))
    assert found.dual_objective <= value + accuracy
    assert found.primal_objective >= value - accuracy
    assert found.gap <= 1e-8 * max(1.0, abs(value))
    assert_allclose(found.matrix, K, atol=1e-4)


def test_proxy_kernel_against_projected_gradients():
    K0, y = symmetric(12, 5), labels(12, 5)
    slow = naive_gram.projected_gradient_proxy(K0, y, 1.0, 0.5, steps=4000)
    found = proxy_kernel(K0, y, 1.0, 0.5, tol=1e-9)
    best = naive_gram.joint_objective(K0, y, found.multipliers, 0.5)
    assert_allclose(found.dual_objective, best, rtol=1e-12)
    assert naive_gram.joint_objective(K0, y, slow, 0.5) <= best + 1e-10
    assert_allclose(found.matrix, naive_gram.proxy(K0, y, slow, 0.5), atol=1e-3)


# --- naive twins ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_centering_and_alignment_against_naive_twins(seed):
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(6, 2)), rng.normal(size=(6, 3))
    K, L, w = X @ X.T, Z @ Z.T, rng.uniform(0.1, 2.0, 6)
    assert_allclose(center(K, sample_weight=w), naive_gram.centered(K, w), atol=1e-12)
    assert_allclose(alignment(K, L), naive_gram.alignment(K, L), rtol=1e-12)
    ones = np.ones(6)
    naive = naive_gram.alignment(naive_gram.centered(K, ones), naive_gram.centered(L, ones))
    assert_allclose(centered_alignment(K, L), naive, rtol=1e-12)


def test_unbiased_statistic_and_p_value_against_all_splits():
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(5, 1)), rng.normal(size=(4, 1)) + 0.8
    K = rbf_kernel(np.vstack([X, Y]), gamma=0.5)
    kernel = Indexed(K)
    statistic = squared_mmd(kernel, np.arange(5), np.arange(5, 9))
    assert_allclose(statistic, naive_gram.unbiased_mmd(K, range(5), range(5, 9)), rtol=1e-12)
    found = mmd_test(kernel, np.arange(5), np.arange(5, 9), n_permutations=4000, random_state=0)
    exact = naive_gram.exact_p_value(K, 5)  # 126 splits
    assert 0.02 < exact < 0.5
    assert abs(found.p_value - exact) < 4 * np.sqrt(exact * (1 - exact) / 4000)


# --- another package --------------------------------------------------------------------------------------


def test_center_against_scikit_learn():
    rng = np.random.default_rng(0)
    X, X_new = rng.normal(size=(20, 3)), rng.normal(size=(7, 3))
    kernel = RBF(gamma=0.3)
    K, K_new = kernel(X), kernel(X_new, X)
    theirs = KernelCenterer().fit(K)
    assert_allclose(center(K), theirs.transform(K), atol=1e-14)
    assert_allclose(center(K, K_new), theirs.transform(K_new), atol=1e-14)
