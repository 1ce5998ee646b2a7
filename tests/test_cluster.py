"""Clusters: starts, steps, precision, new samples, errors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from mercer.cluster import KernelKMeans, SpectralClustering, kernel_kmeans
from mercer.cluster.lloyd import drawn_starts
from mercer.errors import IndefiniteError
from mercer.gram import FunctionGram, LinearGram, MatrixGram, VectorGram, make_gram
from mercer.gram.sources import stored
from mercer.kernels import RBF, Linear, Polynomial, Spectrum


@pytest.fixture
def blobs():
    return make_blobs(240, 3, centers=5, cluster_std=2.0, random_state=0)[0]


# --- k-means in feature space -----------------------------------------------------------------------------


@pytest.mark.parametrize("single_moves", [False, True])
def test_precision_and_memory_make_no_difference(blobs, single_moves, monkeypatch):
    """Stored in float64, in float32, or not at all: the end is gone over in float64."""
    make = KernelKMeans(RBF(gamma=0.05), n_clusters=5, single_moves=single_moves)
    full = make.fit(blobs)
    labels, inertia, distances, steps = full.labels_, full.inertia_, full.transform(blobs), full.n_iter_
    unstored = make.set_params(memory=0.01).fit(blobs)
    assert_array_equal(unstored.labels_, labels)
    assert unstored.inertia_ == pytest.approx(inertia, rel=1e-12)
    monkeypatch.setattr(kernel_kmeans, "FULL_SIZE", 10)
    single = make.set_params(memory="auto").fit(blobs)
    assert_array_equal(single.labels_, labels)
    assert single.inertia_ == pytest.approx(inertia, rel=1e-12)
    assert_allclose(single.transform(blobs), distances, rtol=1e-10)
    assert single.n_iter_ > steps > 1  # a look in float64 at least


def test_objective_falls_and_the_best_start_is_kept(blobs):
    machine = KernelKMeans("linear", n_clusters=5, n_init=12).fit(blobs)
    ends = machine.result_.objectives
    assert len(ends) == 12 and np.ptp(ends) > 1.0
    assert machine.inertia_ == pytest.approx(ends.min(), rel=1e-6)
    assert machine.result_.status == "local" and machine.result_.n_iter == machine.n_iter_
    steps = []
    for max_iter in (1, 2, 3):
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            limited = KernelKMeans("linear", n_clusters=5, init=np.arange(240) % 5, max_iter=max_iter).fit(blobs)
        assert limited.result_.status == "max_iter"
        steps.append(limited.inertia_)
    assert steps[0] > steps[1] > steps[2]


def test_single_moves_end_no_higher(blobs):
    lower = 0
    for seed in range(8):
        make = KernelKMeans("linear", n_clusters=7, n_init=1, random_state=seed)
        plain = make.fit(blobs).inertia_
        moved = make.set_params(single_moves=True).fit(blobs)
        assert moved.inertia_ <= plain * (1 + 1e-12)
        assert moved.result_.violation == 0.0
        lower += moved.inertia_ < plain * (1 - 1e-9)
    assert lower > 0


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_starts_are_samples_that_differ(init, rng):
    """Of three places with many samples each, none is drawn twice."""
    X = np.repeat([[0.0, 0.0], [4.0, 0.0], [0.0, 9.0]], [30, 3, 2], axis=0)
    for seed in range(10):
        machine = KernelKMeans("linear", n_clusters=3, init=init, n_init=1, random_state=seed).fit(X)
        assert machine.inertia_ == pytest.approx(0.0, abs=1e-12)


def test_k_means_plus_plus_draws_what_is_far_away(rng):
    """One of a hundred samples, far from the others, is always the second one, or the first."""
    gram = LinearGram(np.append(1e-3 * rng.normal(size=99), 50.0)[:, np.newaxis])
    starts = drawn_starts(gram, np.ones(100), 2, 30, np.random.RandomState(0))
    assert all((labels[:99] != labels[99]).all() for labels in starts)
    starts = drawn_starts(gram, np.ones(100), 2, 30, np.random.RandomState(0), greedy=False)
    assert np.mean([(labels[:99] != labels[99]).all() for labels in starts]) < 0.2


def test_k_means_plus_plus_looks_at_weights_and_keeps_the_best_draw(rng):
    """Twenty samples at two places, and two far away that have most of the sum of squares or little of it."""
    X = np.repeat([[-2.0, 0.0], [2.0, 0.0], [0.0, 10.0]], [10, 10, 2], axis=0)

    def apart(weight):
        starts = drawn_starts(LinearGram(X), np.repeat([1.0, weight], [20, 2]), 2, 400, np.random.RandomState(0))
        return np.mean([(labels[:20] != labels[20]).all() for labels in starts])

    # The first is far with a chance of 1/11 or 1/101, the second with one of 0.57 or 0.12; of two draws one is enough
    # where they count, and both have to be where they count little.
    assert apart(1.0) == pytest.approx(1 - 10 / 11 * 0.435**2, abs=0.06)
    assert apart(0.1) == pytest.approx(1 / 101 + 0.115**2, abs=0.04)
    assert apart(0.0) == 0.0


def test_starts_do_not_depend_on_the_order_of_samples(rng):
    X, order = rng.normal(size=(50, 2)), rng.permutation(50)
    given, turned = (drawn_starts(LinearGram(Z), np.ones(50), 4, 5, np.random.RandomState(0)) for Z in (X, X[order]))
    for labels, others in zip(given, turned, strict=True):
        assert_array_equal(labels[order], others)


def test_k_means_plus_plus_starts_lower(rng):
    X = np.concatenate([rng.normal(loc=c, scale=0.1, size=(20, 2)) for c in rng.uniform(-50, 50, size=(12, 2))])

    def ends(init):
        make = KernelKMeans("linear", n_clusters=12, init=init, n_init=1)
        return np.mean([make.set_params(random_state=seed).fit(X).inertia_ for seed in range(10)])

    assert ends("k-means++") < 0.3 * ends("random")


def test_empty_clusters_get_a_sample():
    X = np.array([[0.0], [0.1], [5.0], [5.1], [9.0]])
    machine = KernelKMeans("linear", n_clusters=3, init=np.zeros(5, dtype=int)).fit(X)
    assert adjusted_rand_score(machine.labels_, [0, 0, 1, 1, 2]) == 1.0
    assert np.isfinite(machine.transform(X)).all()


def test_empty_clusters_get_samples_that_count():
    """Two of them at once; the sample that is farthest away has no weight."""
    X, weight = np.array([[0.0], [0.1], [5.0], [5.1], [9.0], [-100.0]]), np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.0])
    machine = KernelKMeans("linear", n_clusters=3, init=np.zeros(6, dtype=int)).fit(X, sample_weight=weight)
    assert adjusted_rand_score(machine.labels_, [0, 0, 1, 1, 2, 0]) == 1.0
    assert machine.result_.status == "local"
    assert_array_equal(np.sort(machine.coef_.ravel().round(6)), [0.05, 5.05, 9.0])


def test_a_sample_stays_where_it_is_as_near_as_elsewhere():
    """Between two means, at the same distance: no step moves it, a single move would lower 8 to 2."""
    X = np.array([[-2.0], [0.0], [4.0]])
    machine = KernelKMeans("linear", n_clusters=2, init=[0, 1, 1]).fit(X)
    assert_array_equal(machine.labels_, [0, 1, 1])
    assert (machine.inertia_, machine.n_iter_) == (8.0, 1)
    assert machine.result_.violation == pytest.approx(6.0)
    moved = KernelKMeans("linear", n_clusters=2, init=[0, 1, 1], single_moves=True).fit(X)
    assert_array_equal(moved.labels_, [0, 0, 1])


def test_fewer_places_than_clusters():
    """Means may coincide, but none is without a sample."""
    X = np.repeat([[1.0, 2.0], [3.0, 4.0]], 4, axis=0)
    for kernel in ("linear", RBF(gamma=1.0)):
        machine = KernelKMeans(kernel, n_clusters=5).fit(X)
        assert len(np.unique(machine.labels_)) == 5
        assert machine.inertia_ == pytest.approx(0.0, abs=1e-12)
        assert np.isfinite(machine.transform(X)).all()


def test_every_sample_a_cluster(rng):
    X = rng.normal(size=(7, 2))
    machine = KernelKMeans("linear", n_clusters=7, init=np.arange(7)).fit(X)
    assert_array_equal(machine.labels_, np.arange(7))
    assert machine.inertia_ == pytest.approx(0.0, abs=1e-12)
    assert (machine.result_.status, machine.result_.violation) == ("local", 0.0)
    alone = KernelKMeans("linear", n_clusters=1).fit(X)
    assert alone.inertia_ == pytest.approx(((X - X.mean(axis=0)) ** 2).sum())
    assert alone.result_.violation == 0.0


def test_samples_without_weight_get_a_label(blobs):
    weight = (np.arange(240) % 3 > 0).astype(float)
    machine = KernelKMeans("linear", n_clusters=4).fit(blobs, sample_weight=weight)
    assert_array_equal(machine.labels_, machine.predict(blobs))
    assert_array_equal(machine.support_, np.flatnonzero(weight))


def test_the_scale_of_weights(blobs, rng):
    weight = rng.uniform(size=240)
    machine = KernelKMeans("linear", n_clusters=4).fit(blobs, sample_weight=weight)
    for scale in (1e-60, 1e60):
        scaled = KernelKMeans("linear", n_clusters=4).fit(blobs, sample_weight=scale * weight)
        assert_array_equal(scaled.labels_, machine.labels_)
        assert scaled.inertia_ == pytest.approx(scale * machine.inertia_, rel=1e-10)


def test_precomputed_needs_the_diagonal_of_new_samples(rng):
    X, new = rng.normal(size=(30, 2)), rng.normal(size=(4, 2))
    direct = KernelKMeans("linear", n_clusters=3).fit(X)
    given = KernelKMeans("precomputed", n_clusters=3).fit(X @ X.T)
    assert_array_equal(given.labels_, direct.labels_)
    with pytest.raises(ValueError, match="diagonal"):
        given.transform(new @ X.T)
    with pytest.raises(ValueError, match="one number for each of the 4 samples"):
        given.transform(new @ X.T, diagonal=[1.0, 2.0])
    assert_allclose(given.transform(new @ X.T, diagonal=(new**2).sum(axis=1)), direct.transform(new), rtol=1e-10)
    assert_allclose(given.fit_transform(X @ X.T), direct.fit_transform(X), rtol=1e-10, atol=1e-10)
    assert list(direct.get_feature_names_out()) == ["kernelkmeans0", "kernelkmeans1", "kernelkmeans2"]


def test_float32_matrices(blobs):
    K = RBF(gamma=0.05)(blobs)
    single = KernelKMeans("precomputed", n_clusters=5).fit(K.astype(np.float32))
    assert_array_equal(single.labels_, KernelKMeans("precomputed", n_clusters=5).fit(K).labels_)


def test_strings():
    words = ["banana", "ananas", "bandana", "street", "tree", "trees"]
    machine = KernelKMeans(Spectrum(2), n_clusters=2).fit(words)
    assert adjusted_rand_score(machine.labels_, [0, 0, 0, 1, 1, 1]) == 1.0
    assert machine.predict(["savanna"]) == machine.labels_[0]


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"n_clusters": 11}, "n_clusters=11 is more than .* n_samples=10"),
        ({"init": [0, 1]}, "init must have the numbers of 3 of the 10 samples"),
        ({"init": [0, 1, 10]}, "init must have"),
        ({"init": [0, 1, 2, 3, 0, 1, 2, 0, 1, 2]}, "init must have"),
        ({"init": [0.5, 1.0, 2.0]}, "init must be 'k-means"),
        ({"init": [-1, 0, 1]}, "init must be 'k-means"),
    ],
)
def test_what_k_means_refuses(parameters, match, rng):
    with pytest.raises(ValueError, match=match):
        KernelKMeans(**({"n_clusters": 3} | parameters)).fit(rng.normal(size=(10, 2)))


def test_indefinite_similarities_are_refused():
    K = -np.eye(6) + 2.0
    K[np.diag_indices(6)] = 0.5
    with pytest.raises(IndefiniteError, match="squared distance"):
        KernelKMeans("precomputed", n_clusters=2, init=np.arange(6) % 2).fit(K)


# --- a matrix in memory -----------------------------------------------------------------------------------


def test_stored(rng):
    X = rng.normal(size=(50, 2))
    gram = make_gram(RBF(gamma=0.5), X)
    assert isinstance(gram, VectorGram)
    for dtype in (np.float64, np.float32):
        inside = stored(gram, 1.0, dtype)
        assert isinstance(inside, MatrixGram) and inside.matrix.dtype == dtype
        assert_allclose(inside.matrix, RBF(gamma=0.5)(X), atol=1e-7)
        assert stored(inside, 1.0, dtype) is inside
    assert stored(gram, 0.03) is gram  # 20 kB of 31, more than half
    assert isinstance(stored(gram, 0.03, np.float32), MatrixGram)
    words = make_gram(Spectrum(2), ["abc", "bcd", "ace"] * 20, 0.03)
    assert isinstance(words, FunctionGram)
    assert stored(words, 1.0).matrix.flags.c_contiguous  # as native solvers take it
    large = make_gram(Polynomial(degree=40, gamma=1.0, coef0=10.0), X)
    assert stored(large, 1.0, np.float32) is large
    assert np.isfinite(stored(large, 1.0).matrix).all()


# --- spectral clusters ------------------------------------------------------------------------------------


def test_parts_without_connection(rng):
    """As many eigenvalues are one as there are parts."""
    X = np.concatenate([rng.normal(loc=c, size=(15, 2)) for c in (0.0, 1000.0, 2000.0)])
    machine = SpectralClustering(RBF(gamma=0.1), n_clusters=4).fit(X)
    assert_allclose(machine.eigenvalues_[:3], 1.0, atol=1e-12)
    assert machine.eigenvalues_[3] < 0.99
    machine = SpectralClustering(RBF(gamma=0.1), n_clusters=3).fit(X)
    assert adjusted_rand_score(machine.labels_, np.repeat([0, 1, 2], 15)) == 1.0
    assert_array_equal(machine.predict(X[::7] + 0.1), machine.labels_[::7])


def test_negative_similarities_keep_apart(rng):
    X = np.concatenate([rng.normal(loc=c, scale=0.3, size=(15, 2)) for c in ([3.0, 1.0], [-3.0, -1.0])])
    machine = SpectralClustering(Linear(), n_clusters=2).fit(X)
    assert machine.eigenvalues_[0] == pytest.approx(1.0)  # signs that contradict nobody
    assert adjusted_rand_score(machine.labels_, np.repeat([0, 1], 15)) == 1.0
    assert_array_equal(machine.predict(X), machine.labels_)
    with pytest.raises(ValueError, match="nothing that holds"):
        SpectralClustering("precomputed", n_clusters=2).fit(-np.eye(4))


def test_a_sample_that_is_like_nothing():
    K = np.kron(np.eye(2), np.ones((3, 3)))
    K = np.pad(K, (0, 1))
    machine = SpectralClustering("precomputed", n_clusters=2).fit(K)
    assert adjusted_rand_score(machine.labels_[:6], [0, 0, 0, 1, 1, 1]) == 1.0
    assert np.isfinite(machine.embedding_).all()


def test_memory_makes_no_difference_to_spectral_clusters(blobs):
    machine = SpectralClustering(RBF(gamma=0.1), n_clusters=5).fit(blobs)
    assert_array_equal(machine.predict(blobs), machine.labels_)  # though clusters overlap
    assert_array_equal(
        SpectralClustering(RBF(gamma=0.1), n_clusters=5, memory=0.01).fit(blobs).labels_, machine.labels_
    )
    with pytest.raises(ValueError, match="n_clusters=241 is more than"):
        SpectralClustering(n_clusters=241).fit(blobs)
