"""Clusters beside scikit-learn's, a naive twin, and all partitions there are."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import cluster as theirs
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from mercer.cluster import KernelKMeans, SpectralClustering, spectral
from mercer.kernels import RBF, Linear, Polynomial


def naive_objective(K, labels, weight):
    """The sum of squared distances to the means, by pairs: sum_c sum_ij w_i w_j d_ij^2 / (2 W_c)."""
    total = 0.0
    for c in np.unique(labels):
        members = np.flatnonzero(labels == c)
        pairs = sum(weight[i] * weight[j] * (K[i, i] + K[j, j] - 2 * K[i, j]) for i in members for j in members)
        total += pairs / (2 * weight[members].sum())
    return total


def naive_kernel_k_means(K, labels, weight, n_clusters):
    """[A eq 10.66], sample by sample."""
    while True:
        squares = np.empty((len(K), n_clusters))
        for i, c in product(range(len(K)), range(n_clusters)):
            members = np.flatnonzero(labels == c)
            w = weight[members] / weight[members].sum()
            squares[i, c] = K[i, i] - 2 * w @ K[i, members] + w @ K[np.ix_(members, members)] @ w
        nearest = squares.argmin(axis=1)
        if (nearest == labels).all():
            return labels, np.sqrt(squares)
        labels = nearest


@pytest.mark.parametrize("weighted", [False, True])
def test_linear_kernel_is_k_means(weighted, rng):
    X, _ = make_blobs(300, 4, centers=6, cluster_std=3.0, random_state=0)
    weight = rng.uniform(0.1, 3.0, size=300) if weighted else None
    start = rng.choice(300, size=6, replace=False)
    ours = KernelKMeans("linear", n_clusters=6, init=start).fit(X, sample_weight=weight)
    other = theirs.KMeans(6, init=X[start], n_init=1, tol=0.0).fit(X, sample_weight=weight)
    assert_array_equal(ours.labels_, other.labels_)
    assert ours.inertia_ == pytest.approx(other.inertia_, rel=1e-12)
    new = rng.normal(size=(20, 4))
    assert_allclose(ours.transform(new), other.transform(new), rtol=1e-10)
    assert_array_equal(ours.predict(new), other.predict(new))
    assert_allclose(ours.coef_, other.cluster_centers_, rtol=1e-10)


def test_linear_kernel_is_k_means_from_labels(rng):
    X, _ = make_blobs(200, 3, centers=4, cluster_std=4.0, random_state=1)
    labels = rng.integers(0, 4, size=200)
    centres = np.array([X[labels == c].mean(axis=0) for c in range(4)])
    ours = KernelKMeans("linear", n_clusters=4, init=labels).fit(X)
    other = theirs.KMeans(4, init=centres, n_init=1, tol=0.0).fit(X)
    assert_array_equal(ours.labels_, other.labels_)
    assert ours.inertia_ == pytest.approx(other.inertia_, rel=1e-12)


def test_any_kernel_is_k_means_of_its_features(rng):
    X = rng.normal(size=(150, 3))
    kernel = Polynomial(degree=2, gamma=1.0, coef0=1.0)
    features = kernel.features(X)
    start = np.array([3, 50, 99])
    ours = KernelKMeans(kernel, n_clusters=3, init=start).fit(X)
    other = theirs.KMeans(3, init=np.asarray(features)[start], n_init=1, tol=0.0).fit(np.asarray(features))
    assert_array_equal(ours.labels_, other.labels_)
    assert ours.inertia_ == pytest.approx(other.inertia_, rel=1e-10)


@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Linear()])
def test_naive_twin(kernel, rng):
    X = rng.normal(size=(40, 2))
    weight, labels = rng.uniform(0.5, 2.0, size=40), np.arange(40) % 3
    K = kernel(X)
    machine = KernelKMeans(kernel, n_clusters=3, init=labels).fit(X, sample_weight=weight)
    expected, distances = naive_kernel_k_means(K, labels, weight, 3)
    assert_array_equal(machine.labels_, expected)
    assert_allclose(machine.transform(X), distances, atol=1e-10)
    assert machine.inertia_ == pytest.approx(naive_objective(K, expected, weight), rel=1e-10)


@pytest.mark.parametrize("single_moves", [False, True])
def test_what_a_single_move_can_do(single_moves, rng):
    """The violation is the most that moving one sample to another cluster lowers the objective; zero: it is none."""
    found = []
    for seed in range(6):
        X = np.random.default_rng(seed).normal(size=(18, 2))
        weight, K = np.random.default_rng(seed + 9).uniform(0.5, 2.0, size=18), X @ X.T
        machine = KernelKMeans("linear", n_clusters=3, init=np.arange(18) % 3, single_moves=single_moves)
        machine.fit(X, sample_weight=weight)
        best = 0.0
        for i, c in product(range(18), range(3)):
            labels = machine.labels_.copy()
            labels[i] = c
            best = max(best, machine.inertia_ - naive_objective(K, labels, weight))
        assert machine.result_.violation == pytest.approx(best, abs=1e-9)
        found.append(machine.result_.violation)
    assert (max(found) == 0.0) == single_moves


def test_the_best_of_all_partitions(rng):
    X = rng.normal(size=(9, 2))
    K = RBF(gamma=0.5)(X)
    best = min(naive_objective(K, np.array([0, *rest]), np.ones(9)) for rest in product((0, 1), repeat=8) if any(rest))
    machine = KernelKMeans("precomputed", n_clusters=2, single_moves=True).fit(K)
    assert machine.inertia_ == pytest.approx(best, rel=1e-12)


def test_weighted_k_means_is_the_normalised_cut(rng):
    """With the kernel K_ij / d_i d_j and the weights d_i: cut edges over volumes, up to a constant."""
    K = RBF(gamma=1.0)(rng.normal(size=(40, 2)))
    d = K.sum(axis=1)
    machine = KernelKMeans("precomputed", n_clusters=3).fit(K / np.outer(d, d), sample_weight=d)
    parts = [machine.labels_ == c for c in range(3)]
    cut = sum(K[np.ix_(part, ~part)].sum() / d[part].sum() for part in parts)
    constant = (np.diagonal(K) / d).sum() - 3
    assert machine.inertia_ == pytest.approx(cut + constant, rel=1e-10)


# --- spectral ---------------------------------------------------------------------------------------------

SHAPES = {
    "blobs": (make_blobs(150, 2, centers=4, cluster_std=0.5, random_state=3), 4, RBF(gamma=0.5)),
    "circles": (make_circles(200, factor=0.4, noise=0.04, random_state=0), 2, RBF(gamma=30.0)),
    "moons": (make_moons(200, noise=0.04, random_state=0), 2, RBF(gamma=30.0)),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_spectral_clusters_are_those_of_sklearn(shape):
    (X, y), k, kernel = SHAPES[shape]
    ours = SpectralClustering(kernel, n_clusters=k).fit(X)
    other = theirs.SpectralClustering(k, affinity="precomputed", random_state=0).fit(kernel(X))
    assert adjusted_rand_score(ours.labels_, other.labels_) == 1.0
    assert adjusted_rand_score(ours.labels_, y) == 1.0
    assert_array_equal(ours.predict(X), ours.labels_)


@pytest.mark.parametrize("shape", SHAPES)
def test_lanczos_finds_what_lapack_finds(shape, monkeypatch):
    (X, _), k, kernel = SHAPES[shape]
    dense = SpectralClustering(kernel, n_clusters=k).fit(X)
    monkeypatch.setattr(spectral, "DENSE_SIZE", 10)
    monkeypatch.delattr(spectral, "_of_matrix")  # the way out where Lanczos' method fails
    sparse = SpectralClustering(kernel, n_clusters=k).fit(X)
    assert_allclose(sparse.eigenvalues_, dense.eigenvalues_, atol=1e-10)
    assert_allclose(sparse.embedding_ @ sparse.embedding_.T, dense.embedding_ @ dense.embedding_.T, atol=1e-6)
    assert_array_equal(sparse.labels_, dense.labels_)


def test_what_lanczos_misses_is_found(monkeypatch):
    (X, _), k, kernel = SHAPES["blobs"]
    dense = SpectralClustering(kernel, n_clusters=k).fit(X)

    def eigsh(operator, k, **options):
        """Without the second one, where there are several."""
        values, vectors = arpack(operator, k=k + (k > 1), **options)
        kept = np.argsort(-values)[[0, *range(2, k + 1)] if k > 1 else [0]]
        return values[kept], vectors[:, kept]

    arpack = spectral.eigsh
    monkeypatch.setattr(spectral, "DENSE_SIZE", 10)
    monkeypatch.setattr(spectral, "eigsh", eigsh)
    monkeypatch.delattr(spectral, "_of_matrix")
    found = SpectralClustering(kernel, n_clusters=k).fit(X)
    assert_allclose(found.eigenvalues_, dense.eigenvalues_, atol=1e-10)
    assert_array_equal(found.labels_, dense.labels_)


def test_where_lanczos_fails(monkeypatch, rng):
    """Of samples that are like nothing but themselves nearly all eigenvalues are nearly one."""
    X, kernel = rng.normal(size=(300, 2)), RBF(gamma=3000.0)
    dense = SpectralClustering(kernel, n_clusters=5).fit(X)
    monkeypatch.setattr(spectral, "DENSE_SIZE", 10)
    assert_array_equal(SpectralClustering(kernel, n_clusters=5).fit(X).eigenvalues_, dense.eigenvalues_)
    with pytest.raises(ValueError, match=r"the 5 leading eigenvectors, .* take a wider kernel, or more memory"):
        SpectralClustering(kernel, n_clusters=5, memory=0.1).fit(X)


def test_spectral_embedding_by_hand(rng):
    X = rng.normal(size=(60, 2))
    K = RBF(gamma=1.0)(X)
    machine = SpectralClustering("precomputed", n_clusters=3).fit(K)
    scale = 1 / np.sqrt(K.sum(axis=1))
    values, vectors = np.linalg.eigh(scale[:, np.newaxis] * K * scale)
    rows = vectors[:, -3:]
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    assert_allclose(machine.eigenvalues_, values[:-4:-1], atol=1e-12)
    assert_allclose(machine.embedding_ @ machine.embedding_.T, rows @ rows.T, atol=1e-10)
    # The extension to new samples gives those of training their own places.
    places = K @ machine.dual_coef_.T
    assert_allclose(places / np.linalg.norm(places, axis=1, keepdims=True), machine.embedding_, atol=1e-9)
