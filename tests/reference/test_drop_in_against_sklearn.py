"""The drop-in classes give scikit-learn's numbers: the same attributes, in the same order, with the same signs.

Both are solved far more exactly than by default, so that what is left of the difference is the layout's. Where the
kernel matrix is singular the multipliers are not unique; there only the function is compared.
"""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse
from sklearn.base import is_classifier
from sklearn.datasets import make_classification, make_regression
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import _classes

from mercer.compat import sklearn as drop_in

TOL = 1e-8
KERNELS = {
    "linear": {"kernel": "linear"},
    "scale": {"gamma": "scale"},
    "auto": {"gamma": "auto"},
    "number": {"gamma": 0.3},
    # Of low rank: below this tol both solvers need millions of steps for NuSVR.
    "poly": {"kernel": "poly", "degree": 2, "coef0": 1.0, "tol": 1e-6},
    "callable": {"kernel": lambda X, Y: np.asarray((X @ Y.T).todense() if issparse(X) else X @ Y.T) + 1.0},
}
UNIQUE = ("scale", "auto", "number")


def labelled(n_classes, n=150):
    X, y = make_classification(
        n, 6, n_informative=4, n_redundant=0, n_classes=n_classes, flip_y=0.1, random_state=n_classes
    )
    return X, np.array(["ash", "oak", "elm", "yew"])[y]


def dense(array):
    return array.toarray() if issparse(array) else np.asarray(array)


def both(name, data, *, new, sample_weight=None, **parameters):
    X, y = data
    theirs = getattr(_classes, name)(**{"tol": TOL, **parameters}).fit(X, y, sample_weight=sample_weight)
    ours = getattr(drop_in, name)(**{"tol": TOL, **parameters}).fit(X, y, sample_weight=sample_weight)
    for method in ("decision_function", "score_samples", "predict"):
        if hasattr(theirs, method):
            expected = getattr(theirs, method)(new)
            if expected.dtype.kind == "f":
                assert np.allclose(getattr(ours, method)(new), expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())
            else:
                assert np.array_equal(getattr(ours, method)(new), expected)
    assert np.allclose(ours.intercept_, theirs.intercept_, rtol=1e-5, atol=1e-5)
    assert ours._gamma == theirs._gamma
    return ours, theirs


def same_model(ours, theirs):
    assert np.array_equal(ours.support_, theirs.support_)
    if is_classifier(theirs) or not issparse(theirs.support_vectors_):
        assert np.array_equal(ours.n_support_, theirs.n_support_)
    else:  # theirs is memory that nobody has written to: a number of before, most often the right one
        assert np.array_equal(ours.n_support_, [len(theirs.support_)])
    assert np.array_equal(dense(ours.support_vectors_), dense(theirs.support_vectors_))
    assert np.allclose(dense(ours.dual_coef_), dense(theirs.dual_coef_), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("container", [np.asarray, csr_array])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_svc(n_classes, kernel, container):
    X, y = labelled(n_classes)
    data, new = (container(X[:100]), y[:100]), container(X[100:])
    for shape in ("ovr", "ovo"):
        ours, theirs = both("SVC", data, new=new, decision_function_shape=shape, **KERNELS[kernel])
    assert np.array_equal(ours.classes_, theirs.classes_)
    if kernel in UNIQUE:
        same_model(ours, theirs)
    if kernel == "linear":
        assert np.allclose(dense(ours.coef_), dense(theirs.coef_), rtol=1e-5, atol=1e-5)
    ties = dict(KERNELS[kernel], break_ties=True)
    both("SVC", data, new=new, **ties)


@pytest.mark.parametrize("class_weight", [{"ash": 3.0, "oak": 0.5}, "balanced"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_svc_with_weights(rng, n_classes, class_weight):
    X, y = labelled(n_classes)
    weight = rng.uniform(0.2, 3.0, size=100)
    same_model(*both("SVC", (X[:100], y[:100]), new=X[100:], sample_weight=weight, class_weight=class_weight, C=0.7))


@pytest.mark.parametrize("container", [np.asarray, csr_array])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_nu_svc(rng, n_classes, container):
    X, y = labelled(n_classes)
    data, new = (container(X[:100]), y[:100]), container(X[100:])
    same_model(*both("NuSVC", data, new=new, nu=0.4))
    same_model(*both("NuSVC", data, new=new, nu=0.4, sample_weight=rng.uniform(0.9, 1.1, size=100)))


@pytest.mark.parametrize("container", [np.asarray, csr_array])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", ["SVR", "NuSVR"])
def test_regression(rng, name, kernel, container):
    X, y = make_regression(150, 5, noise=5.0, random_state=3)
    y = y / y.std()
    data, new = (container(X[:100]), y[:100]), container(X[100:])
    for weight in (None, rng.uniform(0.2, 3.0, size=100)):
        ours, theirs = both(name, data, new=new, sample_weight=weight, **KERNELS[kernel])
        if kernel in UNIQUE:
            same_model(ours, theirs)


@pytest.mark.parametrize("container", [np.asarray, csr_array])
@pytest.mark.parametrize("kernel", UNIQUE)
def test_one_class(rng, kernel, container):
    X, _ = labelled(2)
    for weight in (None, rng.uniform(0.2, 3.0, size=100)):
        data = container(X[:100]), None
        same_model(*both("OneClassSVM", data, new=container(X[100:]), sample_weight=weight, nu=0.2, **KERNELS[kernel]))


@pytest.mark.parametrize("name", ["SVC", "SVR"])
def test_precomputed(name):
    X, y = labelled(3)
    y = np.unique(y, return_inverse=True)[1]
    K = np.exp(-0.2 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    same_model(*both(name, (K[:100, :100], y[:100]), new=K[100:, :100], kernel="precomputed"))


LIBLINEAR = {"tol": 1e-10, "max_iter": 1_000_000, "random_state": 0}


def same_weights(machine, data, sample_weight=None):
    X, y = data
    theirs = getattr(_classes, type(machine).__name__)(**machine.get_params()).set_params(**LIBLINEAR)
    with warnings.catch_warnings():  # at the last digit it may go on for ever; what it has found is compared
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs.fit(X, y, sample_weight=sample_weight)
    machine.fit(X, y, sample_weight=sample_weight)
    assert machine.coef_.shape == theirs.coef_.shape
    assert np.shape(machine.intercept_) == np.shape(theirs.intercept_)
    assert np.allclose(machine.coef_, theirs.coef_, atol=1e-5)
    assert np.allclose(machine.intercept_, theirs.intercept_, atol=1e-5)
    if getattr(machine, "penalty", "l2") == "l1":
        assert np.array_equal(machine.coef_ == 0, np.abs(theirs.coef_) < 1e-9)
    return machine, theirs


@pytest.mark.parametrize("container", [np.asarray, csr_array])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("penalty, loss", [("l2", "hinge"), ("l2", "squared_hinge"), ("l1", "squared_hinge")])
def test_linear_svc(rng, penalty, loss, n_classes, container):
    X, y = labelled(n_classes, n=90)
    data = container(X), y
    machine = drop_in.LinearSVC(penalty=penalty, loss=loss, tol=1e-8, C=0.3)
    ours, theirs = same_weights(machine, data)
    assert np.allclose(ours.decision_function(container(X)), theirs.decision_function(container(X)), atol=1e-4)
    assert np.array_equal(ours.predict(container(X)), theirs.predict(container(X)))
    weight = rng.uniform(0.2, 3.0, size=90)
    same_weights(machine.set_params(intercept_scaling=3.0, class_weight={"ash": 2.0, "oak": 0.7}), data, weight)
    same_weights(machine.set_params(fit_intercept=False, class_weight="balanced"), data, weight)


@pytest.mark.parametrize("container", [np.asarray, csr_array])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_crammer_singer(rng, n_classes, container):
    X, y = labelled(n_classes, n=90)
    data, weight = (container(X), y), rng.uniform(0.2, 3.0, size=90)
    machine = drop_in.LinearSVC(multi_class="crammer_singer", tol=1e-8, C=0.3, max_iter=10_000)
    same_weights(machine, data)
    same_weights(machine.set_params(intercept_scaling=3.0, class_weight={"ash": 2.0, "oak": 0.7}), data, weight)
    same_weights(machine.set_params(fit_intercept=False), data, weight * (np.arange(90) > 4))


@pytest.mark.parametrize("container", [np.asarray, csr_array])
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_linear_svr(rng, loss, container):
    X, y = make_regression(90, 5, noise=5.0, random_state=3)
    data = container(X), y / y.std() + 1.0
    machine = drop_in.LinearSVR(loss=loss, tol=1e-8, C=0.3, epsilon=0.1)
    same_weights(machine, data)
    same_weights(machine.set_params(intercept_scaling=3.0, epsilon=0.0), data, rng.uniform(0.2, 3.0, size=90))
    same_weights(machine.set_params(fit_intercept=False), data)
