"""`mercer.compat.sklearn.KernelRidge`: scikit-learn's interface and values, none of its solvers."""

import inspect
import pickle

import numpy as np
import pytest
import sklearn.kernel_ridge
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.kernel_ridge import KernelRidge as Theirs
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer.compat.sklearn import KernelRidge

MACHINES = {
    "linear": {"alpha": 0.3},
    "rbf": {"kernel": "rbf", "gamma": 0.5},
    "poly": {"kernel": "poly", "degree": 2},
    "poly of a broken degree": {"kernel": "polynomial", "degree": 1.5, "coef0": 30.0},
    "laplacian": {"kernel": "laplacian", "alpha": 0.01},
    "cosine": {"kernel": "cosine"},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.1, "alpha": 20.0},
    "penalties": {"kernel": "rbf", "alpha": [0.1, 3.0]},
    "function": {"kernel": lambda x, y: float(np.exp(-0.1 * ((x - y) ** 2).sum()))},
}
every_machine = pytest.mark.parametrize("parameters", MACHINES.values(), ids=MACHINES.keys())


def lesson(n=50, d=4):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, np.column_stack([np.sin(X[:, 0]), X[:, 1]]) + 0.1 * rng.normal(size=(n, 2)), rng.integers(0, 3, size=n)


def test_signature():
    assert inspect.signature(KernelRidge) == inspect.signature(Theirs)
    assert inspect.signature(KernelRidge.fit) == inspect.signature(Theirs.fit)


@parametrize_with_checks([KernelRidge(), KernelRidge(kernel="rbf", alpha=0.1)])
def test_sklearn_checks(estimator, check):
    check(estimator)


@every_machine
@pytest.mark.parametrize("weighted", [False, True])
def test_values_are_those_of_scikit_learn(parameters, weighted):
    X, Y, weight = lesson()
    weight = weight if weighted else None
    ours, theirs = (kind(**parameters).fit(X, Y, sample_weight=weight) for kind in (KernelRidge, Theirs))
    assert set(vars(ours)) - {"result_"} == set(vars(theirs))
    assert_allclose(ours.dual_coef_, theirs.dual_coef_, rtol=1e-6, atol=1e-8)
    assert_allclose(ours.predict(X[:9] + 0.1), theirs.predict(X[:9] + 0.1), rtol=1e-7, atol=1e-9)
    assert ours.result_.relative_residual <= 1e-9


@pytest.mark.parametrize("size", [1e-250, 1e250])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_values_whose_squares_are_no_floats(kernel, size):
    X, Y, _ = lesson()
    ours, theirs = (kind(kernel=kernel).fit(X, size * Y) for kind in (KernelRidge, Theirs))
    assert_allclose(ours.predict(X) / size, theirs.predict(X) / size, rtol=1e-8, atol=1e-10)
    assert ours.result_.status == "solved"


def test_one_target_sparse_precomputed_and_a_weight_for_all():
    X, Y, _ = lesson()
    y = Y[:, 0]
    theirs = Theirs(kernel="rbf", gamma=0.5).fit(X, y, sample_weight=2.0)
    ours = KernelRidge(kernel="rbf", gamma=0.5).fit(csr_array(X), y, sample_weight=2.0)
    assert ours.dual_coef_.shape == (50,)
    assert_allclose(ours.predict(csr_array(X)), theirs.predict(X), rtol=1e-8, atol=1e-10)
    K = rbf_kernel(X, gamma=0.5)
    given = KernelRidge(kernel="precomputed").fit(K, y, sample_weight=2.0)
    assert_allclose(given.predict(K), theirs.predict(X), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("kernel", ["linear", "sigmoid"])
@pytest.mark.parametrize("weighted", [False, True])
def test_singular_systems_are_solved_by_least_squares(kernel, weighted):
    X, Y, weight = lesson()
    weight = weight + 1.0 if weighted else None
    parameters = {"kernel": kernel, "gamma": 1.0, "alpha": 0.0 if kernel == "linear" else 1.0}
    with pytest.warns(UserWarning, match="Singular matrix"):
        ours = KernelRidge(**parameters).fit(X, Y, weight)
    with pytest.warns(UserWarning, match="Singular matrix"):
        theirs = Theirs(**parameters).fit(X, Y, weight)
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6, atol=1e-6)
    assert not hasattr(ours, "result_")


def test_what_is_refused():
    X, Y, weight = lesson()
    with pytest.raises(ValueError, match="alpha must be one number or one for each target, got 3 for 2"):
        KernelRidge(alpha=[1.0, 2.0, 3.0]).fit(X, Y)
    with pytest.raises(ValueError, match="sample_weight must be >= 0"):
        KernelRidge().fit(X, Y, sample_weight=weight - 1.0)


def test_patch_and_unpatch():
    X, Y, _ = lesson()
    before = vars(sklearn.kernel_ridge).copy()
    try:
        mercer.patch_sklearn()
        assert sklearn.kernel_ridge.KernelRidge is KernelRidge
        again = pickle.loads(pickle.dumps(sklearn.kernel_ridge.KernelRidge().fit(X, Y)))
        assert type(again) is KernelRidge
    finally:
        mercer.unpatch_sklearn()
    assert vars(sklearn.kernel_ridge) == before
