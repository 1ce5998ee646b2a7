"""Least squares machines against obvious Python, scikit-learn and a conic solver."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csc_array, csr_array
from sklearn.kernel_ridge import KernelRidge as TheirKernelRidge
from sklearn.linear_model import Ridge

from mercer.kernels import RBF, Linear, Polynomial, Spectrum
from mercer.ridge import LSSVC, KernelRidge, base

KERNEL = RBF(gamma=0.3)


def lesson(n=40, d=3, n_outputs=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    shape = (n,) if n_outputs is None else (n, n_outputs)
    y = np.sin(X[:, 0])[(...,) + (np.newaxis,) * (len(shape) - 1)] + 0.3 * rng.normal(size=shape) + 2.0
    return X, y, rng.uniform(0.5, 3.0, size=n)


def bordered(K, y, alpha, weight):
    """[W]: the system with a row and a column of ones, as it stands there; (coefficients, offset)."""
    n = len(K)
    matrix = np.zeros((n + 1, n + 1))
    matrix[0, 1:] = matrix[1:, 0] = 1.0
    matrix[1:, 1:] = K + np.diag(alpha / weight)
    solution = np.linalg.solve(matrix, np.concatenate([np.zeros((1, *y.shape[1:])), y]))
    return solution[1:], solution[0]


@pytest.mark.parametrize("n_outputs", [None, 3])
def test_against_sklearn(n_outputs):
    X, y, weight = lesson(n_outputs=n_outputs)
    theirs = TheirKernelRidge(kernel="rbf", gamma=0.3, alpha=0.2).fit(X, y, sample_weight=weight)
    ours = KernelRidge(KERNEL, alpha=0.2).fit(X, y, sample_weight=weight)
    assert_allclose(ours.dual_coef_.T.reshape(y.shape), theirs.dual_coef_, rtol=1e-9, atol=1e-12)
    assert_allclose(ours.predict(X[:7] + 0.1), theirs.predict(X[:7] + 0.1), rtol=1e-9)


@pytest.mark.parametrize("n_outputs", [None, 2])
def test_bordered_system(n_outputs):
    X, y, weight = lesson(n_outputs=n_outputs)
    alpha, b = bordered(KERNEL(X), y, 0.2, weight)
    machine = KernelRidge(KERNEL, alpha=0.2, fit_intercept=True).fit(X, y, sample_weight=weight)
    assert_allclose(machine.dual_coef_.T.reshape(y.shape), alpha, rtol=1e-8, atol=1e-10)
    assert_allclose(machine.intercept_, np.atleast_1d(b), rtol=1e-9)


def test_classifier_is_the_matrix_equation_on_labels():
    X, y, weight = lesson()
    classes = np.where(y > np.median(y), "yes", "no")
    signs = np.where(classes == "yes", 1.0, -1.0)
    alpha, b = bordered(KERNEL(X), signs, 0.5, weight)
    machine = LSSVC(KERNEL, alpha=0.5).fit(X, classes, sample_weight=weight)
    assert_allclose(machine.dual_coef_[0], alpha, rtol=1e-8, atol=1e-10)
    assert_allclose(machine.intercept_[0], b, rtol=1e-8, atol=1e-10)
    # The form of the classifier's inventors: a = alpha y solves the system with y_i y_j K_ij and ones on the right.
    a = machine.dual_coef_[0] * signs
    system = np.outer(signs, signs) * KERNEL(X) + np.diag(0.5 / weight)
    assert_allclose(system @ a + b * signs, np.ones(len(X)), atol=1e-8)
    ridge = KernelRidge(KERNEL, alpha=0.5, fit_intercept=True).fit(X, signs, sample_weight=weight)
    assert_allclose(machine.decision_function(X), ridge.predict(X), rtol=1e-9, atol=1e-12)


def test_several_classes_are_one_system():
    X, y, _ = lesson(n=60)
    classes = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    machine = LSSVC(KERNEL, alpha=0.5, class_weight={0: 2.0}).fit(X, classes)
    weight = np.where(classes == 0, 2.0, 1.0)
    for k in range(3):
        alpha, b = bordered(KERNEL(X), np.where(classes == k, 1.0, -1.0), 0.5, weight)
        assert_allclose(machine.decision_function(X)[:, k], KERNEL(X) @ alpha + b, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_primal_form_is_the_dual_one(fit_intercept, sparse):
    """Eq 2.26 and eq 2.29 of [CY] are the same, and both are scikit-learn's Ridge."""
    X, y, weight = lesson(d=5)
    X[np.abs(X) < 0.5] = 0.0
    dual = KernelRidge("precomputed", alpha=0.3, fit_intercept=fit_intercept).fit(X @ X.T, y, weight)
    primal = KernelRidge(Linear(), alpha=0.3, fit_intercept=fit_intercept).fit(csr_array(X) if sparse else X, y, weight)
    assert primal.result_.method == "primal" != dual.result_.method
    assert_allclose(primal.dual_coef_, dual.dual_coef_, rtol=1e-7, atol=1e-9)
    assert_allclose(primal.intercept_, dual.intercept_, rtol=1e-8, atol=1e-12)
    theirs = Ridge(alpha=0.3, fit_intercept=fit_intercept, tol=1e-12).fit(X, y, weight)
    assert_allclose(primal.coef_[0], theirs.coef_, rtol=1e-7)


def test_primal_form_of_polynomials_and_strings():
    X, y, _ = lesson(n=50)
    kernel = Polynomial(degree=2, gamma=1.0, coef0=1.0)
    machine = KernelRidge(kernel, alpha=0.3, fit_intercept=True).fit(X, y)
    assert machine.result_.method == "primal"
    assert_allclose(machine.dual_coef_[0], bordered(kernel(X), y, 0.3, np.ones(50))[0], rtol=1e-7, atol=1e-9)
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abc"), size=9)) for _ in range(50)]
    machine = KernelRidge(Spectrum(2), alpha=0.3).fit(words, y)
    assert machine.result_.method == "primal"
    expected = np.linalg.solve(Spectrum(2)(words) + 0.3 * np.eye(50), y)
    assert_allclose(machine.dual_coef_[0], expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("kernel", [KERNEL, Linear()], ids=["dual", "primal"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_leaving_one_out_is_refitting(kernel, fit_intercept):
    X, y, _ = lesson(n=25, n_outputs=2)
    weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0, 3.0], size=25)
    common = {"kernel": kernel, "alpha": 0.2, "fit_intercept": fit_intercept}
    machine = KernelRidge(**common, leave_one_out=True).fit(X, y, weight)
    for i in range(25):
        rest = weight.copy()
        rest[i] = max(0.0, weight[i] - 1.0)  # one of those that it stands for
        without = KernelRidge(**common).fit(X, y, rest)
        assert_allclose(machine.loo_residuals_[i], y[i] - without.predict(X[i : i + 1])[0], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("alpha", [0.0, 1e-18])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_leaving_one_out_of_an_interpolation(alpha, fit_intercept):
    """Errors and what is left of the leverage are next to nothing, their quotient is not."""
    X, y, _ = lesson(n=25)
    common = {"kernel": RBF(gamma=2.0), "alpha": alpha, "fit_intercept": fit_intercept}
    machine = KernelRidge(**common, leave_one_out=True).fit(X, y)
    for i in range(25):
        rest = np.arange(25) != i
        without = KernelRidge(**common).fit(X[rest], y[rest])
        assert_allclose(machine.loo_residuals_[i], y[i] - without.predict(X[i : i + 1])[0], rtol=1e-8)


def test_leaving_one_out_of_a_classifier():
    X, y, _ = lesson(n=30)
    classes = (y > np.median(y)).astype(int)
    machine = LSSVC(KERNEL, alpha=0.2, class_weight={0: 2.0}, leave_one_out=True).fit(X, classes)
    for i in range(0, 30, 5):
        rest = np.arange(30) != i
        without = LSSVC(KERNEL, alpha=0.2, class_weight={0: 2.0}).fit(X[rest], classes[rest])
        expected = 2.0 * classes[i] - 1.0 - without.decision_function(X[i : i + 1])[0]
        assert_allclose(machine.loo_residuals_[i], expected, rtol=1e-8)


@pytest.mark.parametrize("kernel", [KERNEL, Linear()], ids=["dual", "primal"])
@pytest.mark.parametrize("at_once", [1, 1 << 20])
def test_path_is_one_machine_for_each_penalty(kernel, at_once, monkeypatch):
    monkeypatch.setattr(base, "BLOCK_ENTRIES", at_once)
    X, y, weight = lesson(n=30)
    alphas = [0.01, 0.1, 1.0, 10.0]
    path = KernelRidge(kernel, alpha=alphas, fit_intercept=True).fit(X, y, weight)
    alone = [KernelRidge(kernel, alpha=a, fit_intercept=True, leave_one_out=True).fit(X, y, weight) for a in alphas]
    errors = [np.average(machine.loo_residuals_**2, weights=weight) for machine in alone]
    assert_allclose(path.loo_errors_, errors, rtol=1e-9)
    assert path.alpha_ == alphas[int(np.argmin(errors))]
    direct = KernelRidge(kernel, alpha=path.alpha_, fit_intercept=True).fit(X, y, weight)
    assert_allclose(path.predict(X), direct.predict(X), rtol=1e-9)


@pytest.mark.parametrize("kernel", [KERNEL, Linear()], ids=["dual", "primal"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_bound_on_the_norm(kernel, fit_intercept):
    """The multiplier is a penalty whose machine has the norm of the bound. [CY eqs 2.34-2.39]"""
    X, y, weight = lesson(n_outputs=2)
    free = KernelRidge(kernel, alpha=0.05, fit_intercept=fit_intercept).fit(X, y, weight)
    norm = np.sqrt((free.dual_coef_ @ kernel(X) * free.dual_coef_).sum())
    machine = KernelRidge(kernel, norm_bound=norm, fit_intercept=fit_intercept).fit(X, y, weight)
    assert_allclose(machine.alpha_, 0.05, rtol=1e-7)
    assert_allclose(machine.predict(X), free.predict(X), rtol=1e-7, atol=1e-9)
    errors = 0.5 * (weight[:, np.newaxis] * (y - machine.predict(X)) ** 2).sum()
    assert_allclose(machine.result_.objective, errors, rtol=1e-9)
    assert 0 <= machine.result_.gap <= 1e-7 * errors


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_bound_that_does_not_bind_gives_least_squares(fit_intercept):
    X, y, weight = lesson()
    machine = KernelRidge(Linear(), norm_bound=1e3, fit_intercept=fit_intercept).fit(X, y, weight)
    features = np.column_stack([X, np.ones(len(X))]) if fit_intercept else X
    root = np.sqrt(weight)[:, np.newaxis]
    solution = np.linalg.lstsq(root * features, root[:, 0] * y, rcond=None)[0]
    assert machine.alpha_ == 0.0
    assert machine.result_.status == "solved"
    assert_allclose(machine.predict(X), features @ solution, rtol=1e-9)


def test_a_bound_that_does_not_bind_may_give_an_interpolation():
    """No function is free of a penalty then but the constant ones: of all interpolations, that of the least norm."""
    X, y, weight = lesson(n=20)
    kernel = RBF(gamma=2.0)
    machine = KernelRidge(kernel, norm_bound=1e3, fit_intercept=True).fit(X, y, weight)
    alpha, b = bordered(kernel(X), y, 0.0, weight)
    assert machine.alpha_ == 0.0
    assert_allclose(machine.dual_coef_[0], alpha, rtol=1e-8, atol=1e-10)
    assert_allclose(machine.intercept_[0], b, rtol=1e-9)


def test_bound_against_a_conic_solver():
    clarabel = pytest.importorskip("clarabel")
    X, y, _ = lesson(n=20)
    d, bound = X.shape[1], 0.6
    # min |y - X w|^2 / 2  s.t.  (B, w) in the second-order cone
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    A, b = csc_array(np.vstack([np.zeros((1, d)), -np.eye(d)])), np.concatenate([[bound], np.zeros(d)])
    cones = [clarabel.SecondOrderConeT(d + 1)]
    found = clarabel.DefaultSolver(csc_array(np.triu(X.T @ X)), -X.T @ y, A, b, cones, settings).solve()
    machine = KernelRidge(Linear(), norm_bound=bound).fit(X, y)
    assert_allclose(machine.coef_[0], found.x, atol=1e-6)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_pruned_machine_is_the_best_over_what_it_keeps(fit_intercept):
    X, y, weight = lesson()
    pruned = KernelRidge(KERNEL, alpha=0.2, fit_intercept=fit_intercept).fit(X, y, weight).prune(12)
    assert len(pruned.support_) == 12
    cross, inside = KERNEL(X, X[pruned.support_]), KERNEL(X[pruned.support_])
    design = np.column_stack([cross, np.ones(len(X))]) if fit_intercept else cross
    penalty = np.zeros((design.shape[1],) * 2)
    penalty[:12, :12] = 0.2 * inside
    best = np.linalg.solve(design.T @ (weight[:, np.newaxis] * design) + penalty, design.T @ (weight * y))
    assert_allclose(pruned.predict(X), design @ best, rtol=1e-7)
