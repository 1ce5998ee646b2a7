"""Principal components and clusters over landmarks, against the same over explicit features and the whole matrix."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer import KernelKMeans, KernelPCA, MercerMap, RandomFourier
from mercer.cluster import kernel_kmeans
from mercer.data import RowBlocks
from mercer.gram import LandmarkGram, LinearGram, leading_directions
from mercer.kernels import RBF, Linear, Spectrum

KERNEL = RBF(gamma=0.3)


def vectors(n=300, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)) + 3.0 * rng.integers(0, 3, size=(n, 1))


def words(n=80):
    rng = np.random.default_rng(1)
    return ["".join(rng.choice(list("abc"), size=rng.integers(3, 9))) for _ in range(n)]


def features_of(machine, X):
    return machine._gram_again(X).some(np.arange(len(X)))


# --- principal components -------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["dense", "lanczos"])
@pytest.mark.parametrize("weighted", [False, True])
def test_directions_are_those_of_the_moments(method, weighted):
    X = vectors()
    weight = np.random.default_rng(0).integers(0, 3, 300).astype(float) if weighted else np.ones(300)
    for gram in (
        LandmarkGram(KERNEL, X, X[:40]),
        LinearGram(X) if method == "dense" else LandmarkGram(KERNEL, X, X[:30]),
    ):
        F = gram.products(np.eye(gram.n_weights)) if isinstance(gram, LandmarkGram) else X
        centred = F - weight @ F / weight.sum()
        found = leading_directions(gram, 3, weight, method=method)
        values = np.linalg.eigvalsh((centred.T * weight) @ centred)[::-1][:3]
        assert_allclose(found.values, values, rtol=1e-9)
        assert found.residuals.max() < 1e-8 * values[0] and found.vectors.shape == (gram.n_weights, 3)


@pytest.mark.parametrize("solver", ["dense", "lanczos"])
def test_components_of_scikit_learn_on_features(solver):
    X = vectors()
    machine = KernelPCA(KERNEL, 4, approximation=40, eigen_solver=solver).fit(X)
    peer = PCA(4).fit(features_of(machine, X))
    assert_allclose(machine.explained_variance_, peer.explained_variance_, rtol=1e-8)
    assert_allclose(np.abs(machine.transform(X)), np.abs(peer.transform(features_of(machine, X))), atol=1e-6)


def test_components_over_all_samples():
    X, weight = vectors(), np.random.default_rng(0).integers(0, 3, 300).astype(float)
    full = KernelPCA(KERNEL, 4).fit(X, sample_weight=weight)
    machine = KernelPCA(KERNEL, 4, approximation=1000).fit(X, sample_weight=weight)
    assert_allclose(machine.transform(X), full.transform(X), atol=1e-6)
    assert_allclose(machine.explained_variance_ratio_, full.explained_variance_ratio_, rtol=1e-7)
    assert_allclose(machine.explained_variance_, full.explained_variance_, rtol=1e-7)
    scores = full.transform(X[:7])
    assert_allclose(machine.inverse_transform(scores), full.inverse_transform(scores), atol=1e-5)


@pytest.mark.parametrize("approximation", [25, MercerMap(n_components=25)], ids=["landmarks", "directions"])
def test_what_components_leave(approximation):
    """By its definition, with the whole matrix: exact, and between bounds."""
    X, weight = vectors(), np.random.default_rng(0).integers(0, 3, 300).astype(float)
    machine = KernelPCA(KERNEL, 5, approximation=approximation).fit(X, sample_weight=weight)
    full = KernelPCA(KERNEL, 5).fit(X, sample_weight=weight)
    exact, above = machine.full_certificate(X), machine.full_certificate(X, exact=False)
    share, K = weight / weight.sum(), KERNEL(X)
    total = weight @ np.diag(K) - weight.sum() * share @ K @ share
    scores = machine.transform(X)
    assert exact.objective == pytest.approx(total - weight @ (scores**2).sum(axis=1), rel=1e-8)
    best = total - full.eigenvalues_.sum()
    assert exact.bound <= best <= exact.objective <= above.objective and exact.gap > 0
    assert machine.explained_variance_ratio_.sum() <= full.explained_variance_ratio_.sum()
    assert exact.bound == above.bound


@pytest.mark.parametrize("solver", ["dense", "lanczos"])
def test_components_from_blocks(solver):
    X = vectors()
    blocks = RowBlocks([X[:120], lambda: X[120:]])
    here = KernelPCA(KERNEL, 3, approximation=30, eigen_solver=solver).fit(X)
    there = KernelPCA(KERNEL, 3, approximation=30, eigen_solver=solver)
    assert_allclose(there.fit_transform(blocks), here.transform(X), atol=1e-9)
    assert there.full_certificate(blocks).gap == pytest.approx(here.full_certificate(X).gap, rel=1e-7)
    for others in (X[::-1], RowBlocks([X[1:], X[:1]])):
        with pytest.raises(ValueError, match="X must have the samples of fit"):
            there.full_certificate(others)


def test_preimages_from_landmarks():
    angle = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    noisy = ring + 0.1 * np.random.default_rng(0).normal(size=ring.shape)
    for learnt in (False, True):
        machine = KernelPCA(RBF(gamma=0.5), 4, approximation=50, fit_inverse_transform=learnt, alpha=1e-2).fit(noisy)
        clean = machine.inverse_transform(machine.transform(noisy))
        assert np.abs(np.linalg.norm(clean, axis=1) - 1).mean() < 0.8 * np.abs(np.linalg.norm(noisy, axis=1) - 1).mean()


def test_components_of_words():
    X = words()
    machine = KernelPCA(Spectrum(2).normalized(), 3, approximation=20).fit(X)
    assert machine.transform(X).shape == (80, 3) and machine.full_certificate(X).gap > 0
    K = Spectrum(2).normalized()(X)
    given = KernelPCA("precomputed", 3, approximation=20).fit(K)
    assert_allclose(given.transform(K), machine.transform(X), atol=1e-9)
    assert given.full_certificate(K).objective == pytest.approx(machine.full_certificate(X).objective)


# --- clusters -------------------------------------------------------------------------------------------------


def test_clusters_of_scikit_learn_on_features():
    X, weight = vectors(), np.random.default_rng(0).integers(0, 3, 300).astype(float)
    start = np.random.default_rng(7).integers(0, 4, 300)
    machine = KernelKMeans(KERNEL, n_clusters=4, init=start, approximation=40).fit(X, sample_weight=weight)
    F = features_of(machine, X)
    means = np.array([np.average(F[start == k], axis=0, weights=weight[start == k]) for k in range(4)])
    peer = KMeans(4, init=means, n_init=1, tol=0.0).fit(F, sample_weight=weight)
    used = weight > 0
    assert_array_equal(machine.labels_[used], peer.labels_[used])
    lost = weight @ machine._gram_again(X).lost()
    assert machine.inertia_ == pytest.approx(peer.inertia_ + lost, rel=1e-8)


def test_inertia_is_that_of_the_whole_space():
    X = vectors()
    machine = KernelKMeans(KERNEL, n_clusters=4, approximation=20).fit(X)
    C, Z = machine.dual_coef_, machine.support_vectors_
    squares = np.diag(KERNEL(X))[:, np.newaxis] - 2 * KERNEL(X, Z) @ C.T + np.einsum("ki,ij,kj->k", C, KERNEL(Z), C)
    assert machine.inertia_ == pytest.approx(squares[np.arange(300), machine.labels_].sum(), rel=1e-9)
    assert_array_equal(machine.labels_, squares.argmin(axis=1))
    assert_array_equal(machine.predict(X), machine.labels_)
    assert_allclose(machine.transform(X) ** 2, squares, atol=1e-9)
    assert machine.result_.status == "local"
    given = KernelKMeans(KERNEL, n_clusters=4, init=machine.labels_).fit(X)
    assert given.inertia_ <= machine.inertia_


def test_clusters_over_all_samples():
    X, weight = vectors(), np.random.default_rng(0).integers(0, 3, 300).astype(float)
    for moves in (False, True):
        full = KernelKMeans(KERNEL, n_clusters=5, single_moves=moves).fit(X, sample_weight=weight)
        machine = clone(full).set_params(approximation=1000).fit(X, sample_weight=weight)
        assert_array_equal(machine.labels_, full.labels_)
        assert machine.inertia_ == pytest.approx(full.inertia_, rel=1e-8)
        assert_allclose(machine.transform(X), full.transform(X), atol=1e-6)
        assert machine.result_.violation == pytest.approx(full.result_.violation, abs=1e-6)


def test_a_part_of_the_samples_comes_first(monkeypatch):
    monkeypatch.setattr(kernel_kmeans, "PART", 100)
    X, seen = vectors(600), []
    starts = KernelKMeans._starts
    monkeypatch.setattr(
        KernelKMeans, "_starts", lambda self, gram, weight: seen.append(gram.n) or starts(self, gram, weight)
    )
    machine = KernelKMeans(KERNEL, n_clusters=3, approximation=40).fit(X)
    whole = KernelKMeans(KERNEL, n_clusters=3).fit(X)
    assert seen == [100, 600]
    assert machine.inertia_ <= 1.1 * whole.inertia_ and machine.result_.status == "local"


@pytest.mark.parametrize("approximation", [30, MercerMap(n_components=30)], ids=["landmarks", "directions"])
def test_clusters_from_blocks(approximation):
    X = vectors()
    blocks = RowBlocks([X[:120], lambda: X[120:]])
    here = KernelKMeans(KERNEL, n_clusters=4, approximation=approximation).fit(X)
    there = clone(here).fit(blocks)
    assert_array_equal(there.labels_, here.labels_)
    assert_array_equal(there.predict(blocks), here.labels_)
    assert_allclose(there.transform(blocks), here.transform(X), atol=1e-9)
    with pytest.raises(ValueError, match="KernelKMeans has no certificate for the full problem"):
        here.full_certificate(X)


def test_clusters_of_words():
    X = words()
    machine = KernelKMeans(Spectrum(2).normalized(), n_clusters=3, approximation=20, single_moves=True).fit(X)
    assert len(np.unique(machine.labels_)) == 3 and machine.result_.violation == 0.0


def test_an_end_too_early_is_told():
    X = vectors()
    with pytest.warns(ConvergenceWarning, match="not given the time"):
        KernelKMeans(KERNEL, n_clusters=5, init=np.arange(300) % 5, max_iter=1, approximation=40).fit(X)


# --- both -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", [KernelPCA(), KernelKMeans()], ids=["components", "clusters"])
def test_other_spaces_are_refused(machine):
    with pytest.raises(
        ValueError, match=r"approximation must be None, an int >= 1 .* or a Nystroem or MercerMap, got Rand"
    ):
        machine.set_params(approximation=RandomFourier()).fit(vectors())


@pytest.mark.parametrize(
    "machine", [KernelPCA(Linear(), 2), KernelKMeans(n_clusters=2)], ids=["components", "clusters"]
)
def test_saved_and_loaded(machine, tmp_path):
    X = vectors()
    fitted = clone(machine).set_params(approximation=20).fit(X)
    mercer.save(fitted, tmp_path / "machine.mercer")
    assert_array_equal(mercer.load(tmp_path / "machine.mercer").transform(X), fitted.transform(X))
