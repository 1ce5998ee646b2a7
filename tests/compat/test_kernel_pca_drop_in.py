"""scikit-learn's KernelPCA with mercer's engine."""

import numpy as np
import pytest
import sklearn.decomposition
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.decomposition import _kernel_pca
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer.compat.sklearn import KernelPCA

THEIRS = sklearn.decomposition.KernelPCA


def cloud(n=260, d=4, seed=0):
    return np.abs(np.random.default_rng(seed).normal(size=(n, d))) * np.linspace(2.0, 0.5, d)


@parametrize_with_checks([KernelPCA()])
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("eigen_solver", ["auto", "dense", "arpack"])
@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "linear"},
        {"kernel": "rbf", "gamma": 0.3},
        {"kernel": "rbf"},
        {"kernel": "poly", "degree": 2, "coef0": 0.5},
        {"kernel": "poly", "degree": 1.5, "coef0": 1.0},
        {"kernel": "cosine"},
        {"kernel": "precomputed"},
        {"kernel": np.dot},
    ],
    ids=lambda options: " ".join(str(getattr(value, "__name__", value)) for value in options.values()),
)
def test_same_directions(options, eigen_solver):
    X, new = cloud(), cloud(20, seed=1)
    if options["kernel"] == "precomputed":
        X, new = X @ X.T, new @ X.T
    ours, theirs = (
        kind(3, eigen_solver=eigen_solver, random_state=0, **options).fit(X) for kind in (KernelPCA, THEIRS)
    )
    scale = np.sqrt(theirs.eigenvalues_[0])
    assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-8)
    assert_allclose(ours.transform(new), theirs.transform(new), atol=1e-7 * scale)
    assert_allclose(ours.fit_transform(X), theirs.fit_transform(X), atol=1e-7 * scale)
    assert hasattr(ours, "result_") == (eigen_solver != "dense")


def test_no_call_into_arpack(monkeypatch):
    def forbidden(*arguments, **options):
        raise AssertionError("called")

    for name in ("eigsh", "_randomized_eigsh", "pairwise_kernels"):
        monkeypatch.setattr(_kernel_pca, name, forbidden)
    for eigen_solver in ("auto", "arpack", "randomized"):
        KernelPCA(12, kernel="rbf", eigen_solver=eigen_solver).fit(cloud())
    with pytest.raises(AssertionError, match="called"):
        THEIRS(12, kernel="rbf", eigen_solver="arpack").fit(cloud())


def test_pre_images_and_sparse_samples():
    X = cloud()
    X[X < 0.3] = 0.0
    options = {"kernel": "rbf", "gamma": 0.3, "eigen_solver": "arpack", "random_state": 0}
    ours, theirs = (kind(3, fit_inverse_transform=True, **options).fit(X) for kind in (KernelPCA, THEIRS))
    Z = theirs.transform(X[:9])
    assert_allclose(ours.inverse_transform(Z), theirs.inverse_transform(Z), atol=1e-7)
    sparse = KernelPCA(3, **options).fit(csr_array(X))
    assert_allclose(sparse.transform(csr_array(X[:9])), Z, atol=1e-7)


def test_zero_eigenvalues():
    X = cloud(300, 2)
    kept, left = (KernelPCA(5, eigen_solver="arpack", remove_zero_eig=remove).fit(X) for remove in (False, True))
    assert_array_equal(kept.eigenvalues_[2:], 0.0)
    assert kept.transform(X).shape == (300, 5)
    assert left.transform(X).shape == (300, 2)


def test_precision_is_kept():
    X = cloud().astype(np.float32)
    machine = KernelPCA(3, kernel="rbf", eigen_solver="arpack").fit(X)
    assert machine.transform(X).dtype == machine.eigenvectors_.dtype == np.float32


def test_an_indefinite_matrix():
    values = np.concatenate([np.linspace(5.0, 0.0, 299), [-6.0]])
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(300, 300)))[0]
    K = (turn * values) @ turn.T
    K = 0.5 * (K + K.T)
    for kind in (KernelPCA, THEIRS):
        with pytest.raises(ValueError, match="significant negative eigenvalues"):
            kind(3, kernel="precomputed", eigen_solver="randomized", random_state=0).fit(K)
    ours, theirs = (
        kind(3, kernel="precomputed", eigen_solver="arpack", random_state=0).fit(K) for kind in (KernelPCA, THEIRS)
    )
    assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-8)


def test_a_limit():
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        KernelPCA(3, kernel="rbf", eigen_solver="arpack", max_iter=1).fit(cloud(600))


def test_patch():
    mercer.patch_sklearn()
    try:
        assert sklearn.decomposition.KernelPCA is KernelPCA
        assert _kernel_pca.KernelPCA is THEIRS
    finally:
        mercer.unpatch_sklearn()
    assert sklearn.decomposition.KernelPCA is THEIRS
