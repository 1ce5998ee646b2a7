"""The machines against scikit-learn's: dual objectives, decision values, votes.

scikit-learn keeps its kernel rows in float32, so that the error of its decision values grows with C; its objective,
flat at the optimum, is far better. Ours must never be worse, and theirs never better than our bound.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn import svm as theirs
from sklearn.datasets import load_iris, make_classification, make_friedman1
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import pairwise_kernels

from mercer import svm as ours
from mercer.gram import make_gram
from mercer.kernels import RBF, Linear, Polynomial, Sigmoid
from mercer.problems import soft_margin
from mercer.solvers import SMO

TOL = 1e-6
# name: our kernel, their options
KERNELS = {
    "linear": (Linear(), {"kernel": "linear"}),
    "poly": (
        Polynomial(degree=3, gamma=0.1, coef0=1.0),
        {"kernel": "poly", "degree": 3, "gamma": 0.1, "coef0": 1.0},
    ),
    "rbf": (RBF(gamma=0.125), {"kernel": "rbf", "gamma": 0.125}),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS)


def classes(n, seed=0, n_classes=2):
    X, y = make_classification(n, 8, n_informative=5, n_classes=n_classes, flip_y=0.1, class_sep=0.8, random_state=seed)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def curve(n, seed=0):
    X, y = make_friedman1(n, noise=0.5, random_state=seed)
    return (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()


def coefficients(machine, n):
    beta = np.zeros(n)
    beta[machine.support_] = np.asarray(machine.dual_coef_).ravel()
    return beta


def matrix(X, kernel, **options):
    return pairwise_kernels(X, metric=kernel, **options)


def assert_same_values(mine, other, C=1.0):
    assert_allclose(mine, other, rtol=1e-4, atol=5e-5 * max(1.0, C))


def test_assert_same_values_can_fail():
    values = np.array([0.0, 1.0, 10.0])
    assert_same_values(values, values + 1e-5)
    for C in (0.01, 1.0, 10.0):
        with pytest.raises(AssertionError):
            assert_same_values(values, values + 1e-3 * max(1.0, C), C)


def assert_as_good(machine, W, W_theirs):
    """The dual objective W of our machine, recomputed, is claimed; theirs is no better than we say is possible."""
    result, rounding = machine.result_, 1e-10 * max(1.0, abs(W))
    assert result.status == "solved"
    assert W == pytest.approx(result.dual_objective, rel=1e-10)
    assert W_theirs <= result.primal_objective + rounding
    assert W_theirs <= W + result.gap + rounding
    assert W >= W_theirs - 1e-6 * max(1.0, abs(W))


def test_assert_as_good_can_fail():
    X, y = classes(100)
    machine = ours.SVC(tol=TOL).fit(X, y)
    W = machine.result_.dual_objective
    assert_as_good(machine, W, W)
    for wrong in ((W - 1e-3, W), (W, W + 1e-3), (W + 1e-3, W)):
        with pytest.raises(AssertionError):
            assert_as_good(machine, *wrong)
    machine = ours.SVC(tol=TOL, solver=SMO(max_iter=3))
    with pytest.warns(ConvergenceWarning):
        machine.fit(X, y)
    with pytest.raises(AssertionError):
        assert_as_good(machine, machine.result_.dual_objective, W)


# --- classification ---------------------------------------------------------------------------------------


def hinge_W(machine, X, options):
    beta = coefficients(machine, len(X))
    return np.abs(beta).sum() - 0.5 * beta @ matrix(X, **options) @ beta


def compare_svc(n, kernel, C, sample_weight=None, class_weight=None):
    (X, y), (our_kernel, options) = classes(n), KERNELS[kernel]
    mine = ours.SVC(our_kernel, C=C, tol=TOL, class_weight=class_weight)
    other = theirs.SVC(C=C, tol=TOL, class_weight=class_weight, **options)
    for machine in (mine, other):
        machine.fit(X, y, sample_weight)
    assert_as_good(mine, hinge_W(mine, X, options), hinge_W(other, X, options))
    fresh = classes(200, seed=1)[0]
    for samples in (X, fresh):
        assert_same_values(mine.decision_function(samples), other.decision_function(samples), C)


@every_kernel
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_svc(kernel, C):
    compare_svc(300, kernel, C)


@every_kernel
def test_svc_weights(kernel):
    weight = np.random.default_rng(2).uniform(0.1, 3.0, size=300)
    compare_svc(300, kernel, 1.0, sample_weight=weight)
    compare_svc(300, kernel, 1.0, class_weight={0: 0.3, 1: 2.0})
    compare_svc(300, kernel, 1.0, class_weight="balanced")
    compare_svc(300, kernel, 1.0, sample_weight=weight, class_weight={1: 5.0})


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_svc_from_single_precision_rows(C):
    compare_svc(2000, "rbf", C)


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_svc_in_blocks(C):
    compare_svc(3000, "rbf", C)


def test_shrinking_in_blocks_spares_kernel_values():
    """The comparison above is one of a run that really left points out, and took them back in at the end."""
    X, y = classes(3000)
    problem = soft_margin(make_gram(RBF(gamma=0.125), X), 2.0 * y - 1, np.full(3000, 100.0))
    runs = {shrinking: SMO(tol=TOL, shrinking=shrinking).solve(problem) for shrinking in (True, False)}
    assert runs[True].kernel_evaluations < 0.9 * runs[False].kernel_evaluations
    assert runs[True].status == runs[False].status == "solved"
    assert abs(runs[True].objective - runs[False].objective) <= max(run.gap for run in runs.values())


@pytest.mark.parametrize("C", [0.1, 1.0])
def test_svc_indefinite(C):
    """tanh of small products is nearly linear: both end in the same stationary point, ours says so."""
    X, y = classes(300)
    options = {"gamma": 0.02, "coef0": 0.0}
    mine = ours.SVC(Sigmoid(**options), C=C, tol=TOL)
    with pytest.warns(ConvergenceWarning, match="indefinite"):
        mine.fit(X, y)
    other = theirs.SVC(kernel="sigmoid", C=C, tol=TOL, **options).fit(X, y)
    assert mine.result_.status == "indefinite" and mine.result_.bound == -np.inf
    assert_same_values(mine.decision_function(X), other.decision_function(X))
    W = hinge_W(other, X, {"kernel": "sigmoid", **options})
    assert mine.result_.dual_objective == pytest.approx(W, rel=1e-9)


@pytest.mark.parametrize(("X", "y"), [load_iris(return_X_y=True), classes(400, n_classes=4)], ids=["3", "4"])
@every_kernel
def test_svc_several_classes(X, y, kernel):
    our_kernel, options = KERNELS[kernel]
    mine = ours.SVC(our_kernel, C=2.0, tol=TOL).fit(X, y)
    other = theirs.SVC(C=2.0, tol=TOL, decision_function_shape="ovo", **options).fit(X, y)
    # Their values of a pair speak for the first class, ours for the second.
    pairs = mine.distance(X) * mine.norm_
    assert_same_values(pairs, -other.decision_function(X), 2.0)
    other.set_params(decision_function_shape="ovr", break_ties=True)
    assert_same_values(mine.decision_function(X), other.decision_function(X), 2.0)
    assert_array_equal(mine.predict(X), other.predict(X))


def test_svc_sparse():
    X, y = classes(300)
    X[np.abs(X) < 0.7] = 0.0
    mine, other = ours.SVC(RBF(gamma=0.125), tol=TOL), theirs.SVC(gamma=0.125, tol=TOL)
    for machine in (mine, other):
        machine.fit(csr_array(X), y)
    assert_same_values(mine.decision_function(csr_array(X)), other.decision_function(csr_array(X)))


# --- nu ---------------------------------------------------------------------------------------------------


@every_kernel
@pytest.mark.parametrize("nu", [0.7, 0.9])
@pytest.mark.parametrize("weighted", [False, True])
def test_nu_svc(kernel, nu, weighted):
    (X, y), (our_kernel, options) = classes(300), KERNELS[kernel]
    weight = np.random.default_rng(2).uniform(0.5, 2.0, size=300) if weighted else np.ones(300)
    mine, other = ours.NuSVC(our_kernel, nu=nu, tol=TOL), theirs.NuSVC(nu=nu, tol=TOL, **options)
    K, W = matrix(X, **options), {}
    for machine in (mine, other):
        machine.fit(X, y, weight)
        beta = coefficients(machine, 300)
        beta *= nu * weight.sum() / np.abs(beta).sum()  # both divide by rho
        W[machine] = -0.5 * beta @ K @ beta
    assert_as_good(mine, W[mine], W[other])
    scale = np.abs(mine.decision_function(X)).max()
    assert_same_values(mine.decision_function(X) / scale, other.decision_function(X) / scale)


@every_kernel
@pytest.mark.parametrize(("nu", "C"), [(0.3, 1.0), (0.6, 10.0)])
@pytest.mark.parametrize("weighted", [False, True])
def test_nu_svr(kernel, nu, C, weighted):
    (X, y), (our_kernel, options) = curve(200), KERNELS[kernel]
    weight = np.random.default_rng(2).uniform(0.5, 2.0, size=200) if weighted else None
    mine, other = ours.NuSVR(our_kernel, nu=nu, C=C, tol=TOL), theirs.NuSVR(nu=nu, C=C, tol=TOL, **options)
    K, W = matrix(X, **options), {}
    for machine in (mine, other):
        machine.fit(X, y, weight)
        beta = coefficients(machine, 200)
        W[machine] = y @ beta - 0.5 * beta @ K @ beta
    assert_as_good(mine, W[mine], W[other])
    assert_same_values(mine.predict(X), other.predict(X), C)


# --- regression and novelty -------------------------------------------------------------------------------


@every_kernel
@pytest.mark.parametrize(("n", "C", "epsilon"), [(200, 0.1, 0.5), (200, 1.0, 0.1), (200, 50.0, 0.0)])
@pytest.mark.parametrize("weighted", [False, True])
def test_svr(kernel, n, C, epsilon, weighted):
    compare_svr(n, kernel, C, epsilon, weighted)


def test_svr_from_single_precision_rows():
    compare_svr(2000, "rbf", 1.0, 0.1, False)


def test_svr_in_blocks():
    compare_svr(3000, "rbf", 1.0, 0.1, False)


def compare_svr(n, kernel, C, epsilon, weighted):
    (X, y), (our_kernel, options) = curve(n), KERNELS[kernel]
    weight = np.random.default_rng(2).uniform(0.5, 2.0, size=n) if weighted else None
    mine = ours.SVR(our_kernel, C=C, epsilon=epsilon, tol=TOL)
    other = theirs.SVR(C=C, epsilon=epsilon, tol=TOL, **options)
    K, W = matrix(X, **options), {}
    for machine in (mine, other):
        machine.fit(X, y, weight)
        beta = coefficients(machine, n)
        W[machine] = y @ beta - epsilon * np.abs(beta).sum() - 0.5 * beta @ K @ beta
    assert_as_good(mine, W[mine], W[other])
    fresh = curve(200, seed=1)[0]
    assert_same_values(mine.predict(fresh), other.predict(fresh), C)


@every_kernel
@pytest.mark.parametrize("nu", [0.1, 0.5])
@pytest.mark.parametrize("weighted", [False, True])
def test_one_class(kernel, nu, weighted):
    X, (our_kernel, options) = classes(300)[0] + 1.0, KERNELS[kernel]
    weight = np.random.default_rng(2).uniform(0.5, 2.0, size=300) if weighted else None
    mine, other = ours.OneClassSVM(our_kernel, nu=nu, tol=TOL), theirs.OneClassSVM(nu=nu, tol=TOL, **options)
    K, W = matrix(X, **options), {}
    for machine in (mine, other):
        machine.fit(X, sample_weight=weight)
        beta = coefficients(machine, 300)
        W[machine] = -0.5 * beta @ K @ beta
    assert_as_good(mine, W[mine], W[other])
    scale = max(1.0, abs(float(mine.offset_)))
    for method in ("decision_function", "score_samples"):
        assert_same_values(getattr(mine, method)(X) / scale, getattr(other, method)(X) / scale)
    assert_array_equal(mine.predict(X[mine.slack_ > 1e-4 * scale]), -1)


def test_one_class_from_single_precision_rows_and_in_blocks():
    for n in (2000, 3000):
        X = classes(n)[0]
        mine = ours.OneClassSVM(RBF(gamma=0.125), nu=0.1, tol=TOL).fit(X)
        other = theirs.OneClassSVM(gamma=0.125, nu=0.1, tol=TOL).fit(X)
        K = matrix(X, "rbf", gamma=0.125)
        W = {machine: -0.5 * coefficients(machine, n) @ K @ coefficients(machine, n) for machine in (mine, other)}
        assert_as_good(mine, W[mine], W[other])
        scale = float(mine.offset_)
        assert_same_values(mine.decision_function(X) / scale, other.decision_function(X) / scale)
