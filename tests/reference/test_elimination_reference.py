"""Recursive elimination against its definition, and against scikit-learn's for the linear kernel."""

import numpy as np
import pytest
import sklearn.svm
from numpy.testing import assert_allclose, assert_array_equal
from reference.naive_elimination import eliminate
from sklearn.feature_selection import RFE, RFECV
from sklearn.model_selection import KFold

from mercer import SVC, SVR, KernelRFE, NuSVC, NuSVR
from mercer.kernels import RBF, Cosine, Intersection, Laplacian, Linear, Matern, Polynomial, Sigmoid
from mercer.multiclass import OneVersusRest

N, D = 24, 40


def genes(n=N, d=D, n_classes=2, seed=0):
    """Classes that differ in some of many features."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return rng.normal(size=(n, d)) + rng.normal(size=(n_classes, d))[y] * (np.arange(d) < d // 4), y


MACHINES = {
    "linear": lambda: SVC(Linear()),
    "linear small C": lambda: SVC(Linear(), C=0.01),
    "no intercept": lambda: SVC(Linear(), fit_intercept=False),
    "squared hinge": lambda: SVC(Linear(), loss="squared_hinge", C=0.1),
    "hard": lambda: SVC(RBF(gamma=0.05), C=np.inf),
    "rbf": lambda: SVC(RBF(gamma=0.02), C=3.0),
    "rbf narrow": lambda: SVC(RBF(gamma=2.0)),
    "laplacian": lambda: SVC(Laplacian(gamma=0.02), C=3.0),
    "polynomial": lambda: SVC(Polynomial(degree=3, gamma=0.05, coef0=1.0)),
    "matern": lambda: SVC(Matern(length_scale=4.0)),
    "cosine, by refits": lambda: SVC(Cosine()),
    "sum, by refits": lambda: SVC(RBF(gamma=0.02) + Linear(), C=0.1),
    "balanced": lambda: SVC(Linear(), class_weight="balanced", C=0.05),
}


@pytest.mark.parametrize("make", MACHINES.values(), ids=MACHINES.keys())
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("step", [1, 7])
def test_order_and_losses_of_the_definition(make, n_classes, step):
    X, y = genes(n_classes=n_classes)
    keep = 15 if make().C == np.inf else 1  # few features do not separate the classes
    order, lost = eliminate(make, X, y, step=step, keep=keep)
    selector = KernelRFE(make(), n_features_to_select=keep, step=step).fit(X, y)
    assert_array_equal(selector.order_, order)
    assert_allclose(selector.losses_, lost, rtol=1e-6, atol=1e-9 * abs(lost).max())


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize(
    "make",
    [
        lambda: SVR(Linear()),
        lambda: SVR(Linear(), C=0.1, loss="quadratic"),
        lambda: SVR(RBF(gamma=0.02), C=3.0, epsilon=0.0),
        lambda: SVR(Polynomial(degree=2, gamma=0.05, coef0=1.0)),
        lambda: NuSVR(Linear(), C=0.1),
        lambda: NuSVR(Laplacian(gamma=0.02)),
    ],
    ids=["linear", "quadratic", "rbf", "polynomial", "nu linear", "nu laplacian"],
)
def test_regression(make, n_outputs):
    X, _ = genes(d=15)
    y = (X[:, :5] @ np.random.default_rng(3).normal(size=(5, n_outputs))).squeeze()
    weight = np.random.default_rng(2).integers(0, 3, size=N).astype(float)
    order, lost = eliminate(make, X, y, sample_weight=weight)
    selector = KernelRFE(make().set_params(tol=1e-8), n_features_to_select=1).fit(X, y, sample_weight=weight)
    assert_array_equal(selector.order_, order)
    assert_allclose(selector.losses_, lost, rtol=1e-5, atol=1e-8 * abs(lost).max())


def test_regression_of_sklearn():
    X, _ = genes(40, 60)
    y = X[:, :8] @ np.random.default_rng(3).normal(size=8)
    theirs = RFECV(sklearn.svm.SVR(kernel="linear", tol=1e-10), cv=KFold(4), scoring="neg_mean_squared_error").fit(X, y)
    ours = KernelRFE(SVR("linear", tol=1e-8), cv=4).fit(X, y)
    assert_array_equal(ours.ranking_, theirs.ranking_)
    assert_allclose(ours.cv_results_["mean_test_score"][::-1], theirs.cv_results_["mean_test_score"], rtol=1e-5)


@pytest.mark.parametrize("multi_class", ["ovr", "ecoc", "weston_watkins", OneVersusRest(calibrated=True)])
def test_schemes(multi_class):
    X, y = genes(n_classes=3, d=15)

    def make():
        return SVC(Linear(), multi_class=multi_class, tol=1e-10)

    order, _ = eliminate(make, X, y)
    assert_array_equal(KernelRFE(make(), n_features_to_select=1).fit(X, y).order_, order)


def test_nu():
    X, y = genes(d=15)
    order, _ = eliminate(lambda: NuSVC(RBF(gamma=0.1)), X, y)
    assert_array_equal(KernelRFE(NuSVC(RBF(gamma=0.1)), n_features_to_select=1).fit(X, y).order_, order)


def test_kernels_on_counts():
    rng = np.random.default_rng(1)
    y = np.arange(30) % 2
    X = rng.poisson(2.0 + 2.0 * y[:, np.newaxis] * (np.arange(20) < 5)).astype(float)
    for make in (lambda: SVC("chi2", C=2.0), lambda: SVC(Intersection(), C=0.02), lambda: SVC("tanimoto")):
        order, _ = eliminate(make, X, y)
        assert_array_equal(KernelRFE(make(), n_features_to_select=1).fit(X, y).order_, order)


@pytest.mark.filterwarnings("ignore:.*not positive semi-definite")
def test_indefinite_kernel():
    X, y = genes(d=15)
    selector = KernelRFE(SVC(Sigmoid(gamma=0.01, coef0=-0.5)), n_features_to_select=1).fit(X, y)
    order, _ = eliminate(lambda: SVC(Sigmoid(gamma=0.01, coef0=-0.5)), X, y)
    assert_array_equal(selector.order_, order)
    assert (selector.result_.status, selector.result_.gap) == ("indefinite", np.inf)


def test_weights():
    X, y = genes()
    weight = np.random.default_rng(2).integers(0, 4, size=N).astype(float)
    order, _ = eliminate(MACHINES["linear small C"], X, y, sample_weight=weight)
    selector = KernelRFE(MACHINES["linear small C"](), n_features_to_select=1).fit(X, y, sample_weight=weight)
    assert_array_equal(selector.order_, order)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("step", [1, 9])
def test_ranking_of_sklearn(n_classes, step):
    X, y = genes(40, 300, n_classes)
    theirs = RFE(sklearn.svm.SVC(kernel="linear", tol=1e-10), n_features_to_select=5, step=step).fit(X, y)
    ours = KernelRFE(n_features_to_select=5, step=step).fit(X, y)
    assert_array_equal(ours.ranking_, theirs.ranking_)
    assert_array_equal(ours.support_, theirs.support_)
    assert_allclose(abs(ours.decision_function(X)).max(), abs(theirs.decision_function(X)).max(), rtol=1e-6)


def test_validation_of_sklearn():
    X, y = genes(40, 60)
    theirs = RFECV(sklearn.svm.SVC(kernel="linear", tol=1e-10), cv=KFold(4)).fit(X, y)
    ours = KernelRFE(cv=KFold(4)).fit(X, y)
    order = np.argsort(theirs.cv_results_["n_features"])[::-1]
    assert_array_equal(ours.cv_results_["n_features"], theirs.cv_results_["n_features"][order])
    for k in range(4):
        assert_allclose(ours.cv_results_[f"split{k}_test_score"], theirs.cv_results_[f"split{k}_test_score"][order])
    assert ours.n_features_ == theirs.n_features_
    assert_array_equal(ours.support_, theirs.support_)
