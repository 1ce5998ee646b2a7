"""Directions in feature space and explicit features: behaviour of their own."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from mercer import SVC, KernelCCA, KernelPCA, KernelPLS, MercerMap, Nystroem, RandomFourier
from mercer.decomposition.preimages import fixed_point
from mercer.decomposition.principal import _nearest
from mercer.errors import DomainError, IndefiniteError, SingularError
from mercer.kernels import RBF, Matern, Polynomial, Sigmoid, Spectrum, TranslationInvariant


def cloud(n=60, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * np.linspace(2.0, 0.5, d) + 3.0


def words(n, seed=0):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list("abc"), size=8)) for _ in range(n)]


def ring(n, noise, seed=0):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, size=n)
    return np.column_stack([np.cos(angle), np.sin(angle)]) + noise * rng.normal(size=(n, 2))


# --- principal components ---------------------------------------------------------------------------------


def test_coordinates_have_the_variance_that_is_told():
    machine = KernelPCA(RBF(gamma=0.3), 4)
    Z = machine.fit_transform(cloud())
    assert_allclose(Z.mean(axis=0), 0.0, atol=1e-12)
    assert_allclose(np.cov(Z.T), np.diag(machine.explained_variance_), atol=1e-12)
    assert 0 < machine.explained_variance_ratio_.sum() < 1
    assert_allclose(KernelPCA(RBF(gamma=0.3)).fit(cloud()).explained_variance_ratio_.sum(), 1.0)


def test_a_direction_without_variance_is_none():
    X = cloud(30, 2)
    assert KernelPCA("linear", 10).fit(X).transform(X).shape == (30, 2)
    for kernel in ("rbf", "linear", Polynomial(3, 1.0, 1.0)):
        same = KernelPCA(kernel).fit(np.full((20, 2), 3.7))
        assert same.transform(np.ones((3, 2))).shape == (3, 0)
        assert same.explained_variance_ratio_.shape == (0,)
    assert KernelPCA().fit_transform([[1.0, 2.0]]).shape == (1, 0)


def test_signs():
    """The sample with the largest coordinate has a positive one; a second view follows the first."""
    X, Y = cloud(), cloud(seed=1)
    for machine in (
        KernelPCA(n_components=5),
        MercerMap(n_components=5),
        KernelPLS(n_components=5),
        KernelCCA("rbf", "rbf", 5),
    ):
        Z = machine.fit(X, Y).transform(X)
        assert (Z[np.abs(Z).argmax(axis=0), np.arange(5)] > 0).all()
    f, g = machine.transform(X, Y)
    assert_allclose(np.diagonal(np.corrcoef(f.T, g.T), 5), machine.correlations_)
    assert (machine.correlations_ > 0).all()


def test_the_matrix_need_not_be_stored():
    X = cloud(300)
    machine, free = KernelPCA(n_components=3).fit(X), KernelPCA(n_components=3, memory=0.1).fit(X)
    assert free.result_.method == machine.result_.method == "lanczos"
    assert_allclose(free.transform(X), machine.transform(X), atol=1e-8)
    assert free.n_iter_ > machine.n_iter_  # by blocks


def test_certificate():
    X = cloud(300)
    machine = KernelPCA(n_components=3).fit(X)
    H = np.eye(300) - 1 / 300
    A = H @ machine.kernel_(X) @ H
    residuals = np.linalg.norm(A @ machine.eigenvectors_ - machine.eigenvectors_ * machine.eigenvalues_, axis=0)
    assert_allclose(machine.result_.residuals, residuals, atol=1e-10)
    assert machine.result_.violation <= 1e-10
    with pytest.warns(ConvergenceWarning, match="KernelPCA did not reach .*max_iter"):
        KernelPCA(n_components=3, max_iter=5).fit(X)


def test_samples_of_no_weight_are_mapped():
    X, weight = cloud(), np.ones(60)
    weight[:10] = 0
    machine = KernelPCA(RBF(gamma=0.3), 3)
    Z = machine.fit_transform(X, sample_weight=weight)
    assert_array_equal(machine.support_, np.arange(10, 60))
    assert_allclose(Z, KernelPCA(RBF(gamma=0.3), 3).fit(X[10:]).transform(X), atol=1e-9)


def test_float32_is_computed_in_full():
    X = cloud(300).astype(np.float32)
    single, double = (KernelPCA(RBF(gamma=0.3), 3).fit(part) for part in (X, X.astype(np.float64)))
    assert_allclose(single.eigenvalues_, double.eigenvalues_, rtol=1e-12)


@pytest.mark.parametrize("machine", [KernelPCA, MercerMap, KernelCCA])
def test_indefinite_kernels_are_refused(machine):
    X = np.vstack([np.eye(5), -np.eye(5), 2 * np.eye(5)])
    with pytest.raises(IndefiniteError, match=rf"{machine.__name__} needs .*positive semi-definite"):
        machine(Sigmoid(gamma=5.0, coef0=-3.0)).fit(X, np.arange(15.0) % 4)


def test_outputs_of_negative_length_are_refused():
    K = np.diag([1.0, 2.0, 3.0, -1.0, 4.0])
    y = np.array([0.0, 0.0, 0.0, 1.0, 0.0])
    with pytest.raises(IndefiniteError, match=r"KernelPLS needs a positive semi-definite kernel matrix, y'Ky .* is -0"):
        KernelPLS("precomputed", scale=False).fit(K, y)


def test_lanczos_sees_negative_eigenvalues():
    values = np.concatenate([np.linspace(5.0, 0.0, 299), [-3.0]])
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(300, 300)))[0]
    K = (turn * values) @ turn.T
    for machine in (KernelPCA("precomputed", 3), MercerMap("precomputed", 3)):
        with pytest.raises(IndefiniteError, match=r"smallest eigenvalue of this one.* is -"):
            machine.fit(0.5 * (K + K.T))


@pytest.mark.parametrize(
    "machine",
    [
        KernelPCA("rbf", 3),
        KernelPCA("rbf", 3, fit_inverse_transform=True, alpha=0.1),
        KernelPLS("rbf", 3),
        KernelCCA("rbf", "linear", 2, alpha=0.3),
    ],
    ids=["KernelPCA", "KernelPCA regression", "KernelPLS", "KernelCCA"],
)
def test_all_that_is_learnt_takes_a_weight_for_repetition(machine):
    X, weight = cloud(40), np.random.default_rng(3).integers(0, 4, size=40)
    Y = np.column_stack([np.sin(X[:, 0]), 100 * X[:, 1] ** 2])
    weighted = clone(machine).fit(X, Y, sample_weight=weight)
    repeated = clone(machine).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0))
    Z = weighted.transform(X)
    assert_allclose(Z, repeated.transform(X), atol=1e-8)
    assert_allclose(clone(machine).fit_transform(X, Y, sample_weight=weight), Z, atol=1e-8)
    everyone = clone(machine).fit(X, Y, sample_weight=1 + weight)
    assert_allclose(clone(machine).fit_transform(X, Y, sample_weight=1 + weight), everyone.transform(X), atol=1e-8)
    told = [
        name for name in ("eigenvalues_", "explained_variance_", "y_mean_", "y_loadings_") if hasattr(weighted, name)
    ]
    told += [n for n in ("explained_variance_ratio_", "correlations_", "singular_values_") if hasattr(weighted, n)]
    assert len(told) >= 2
    for name in told:
        assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-8, err_msg=name)
    if isinstance(machine, KernelPLS):
        assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-8)
    if isinstance(machine, KernelPCA):
        assert_allclose(weighted.inverse_transform(Z), repeated.inverse_transform(Z), atol=1e-6)


# --- pre-images -------------------------------------------------------------------------------------------


def test_pre_images_of_training_samples_are_the_samples():
    X = cloud(40)
    for gamma in (0.5, [0.5, 0.2, 1.0]):
        machine = KernelPCA(RBF(gamma=gamma)).fit(X)  # all directions: nothing is lost
        assert_allclose(machine.inverse_transform(machine.transform(X)), X, atol=1e-5)


def test_the_way_to_a_pre_image_begins_at_the_nearest_sample():
    X = cloud(40)
    Z = KernelPCA(RBF(gamma=0.5), 2).fit_transform(X)
    assert_array_equal(_nearest(Z + 1e-6, Z), np.arange(40))


def test_pre_images_are_stationary():
    """They are nearer to the projection than what they came from, and no step to any side is better."""
    X, new = ring(150, 0.1), ring(20, 0.3, seed=1)
    machine = KernelPCA(RBF(gamma=0.5), 4).fit(X)
    combination = np.full(150, 1 / 150) + machine.transform(new) @ machine.dual_coef_
    clean = machine.inverse_transform(machine.transform(new))

    def height(z):
        return np.sum(combination * machine.kernel_(z, X), axis=1)

    best = height(clean)
    assert (best >= height(new) - 1e-12).all()
    for step in 1e-3 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]]):
        assert (best >= height(clean + step)).all()
    away = np.abs(np.linalg.norm(new, axis=1) - 1).mean()
    assert np.abs(np.linalg.norm(clean, axis=1) - 1).mean() < 0.5 * away


def test_steps_to_pre_images_never_lead_away(rng):
    """Where some coefficients are negative a whole step may; the end is at least as near as the start."""
    kernel, X, C = RBF(gamma=1.0), rng.normal(size=(30, 2)), rng.normal(size=(200, 30))
    start = X[rng.integers(0, 30, size=200)]

    def height(z):
        return np.sum(C * kernel(z, X), axis=1)

    end = fixed_point(kernel, X, C, start)
    assert (height(end) >= height(start) - 1e-12).all()
    able = height(start) > 0  # the others have no mean to go to
    assert_array_equal(end[~able], start[~able])
    for step in 1e-3 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]]):
        assert (height(end) >= height(end + step))[able].mean() > 0.95


def test_pre_images_by_regression():
    X = ring(150, 0.05)
    machine = KernelPCA(RBF(gamma=2.0), 8, fit_inverse_transform=True, alpha=1e-3).fit(X + 10.0)
    assert np.abs(machine.inverse_transform(machine.transform(X + 10.0)) - X - 10.0).max() < 0.3
    rough = KernelPCA(Polynomial(2, 1.0, 1.0), 5, fit_inverse_transform=True, alpha=1e-6).fit(X)
    assert np.abs(rough.inverse_transform(rough.transform(X)) - X).max() < 0.05


def test_pre_images_of_sparse_samples():
    X = cloud(40)
    X[X < 2] = 0.0
    dense, sparse = KernelPCA(RBF(gamma=0.5), 3).fit(X), KernelPCA(RBF(gamma=0.5), 3).fit(csr_array(X))
    Z = dense.transform(X[:5])
    assert_allclose(sparse.inverse_transform(Z), dense.inverse_transform(Z), atol=1e-6)


def test_where_there_are_no_pre_images():
    X = cloud()
    with pytest.raises(DomainError, match="fixed points for RBF only, got kernel='linear'; set fit_inverse_transform"):
        KernelPCA("linear", 2).fit(X).inverse_transform(np.zeros((1, 2)))
    with pytest.raises(ValueError, match="X has 3 columns, KernelPCA has 2 components"):
        KernelPCA(n_components=2).fit(X).inverse_transform(np.zeros((1, 3)))
    for kernel, samples in ((Spectrum(2), words(20)), ("precomputed", np.eye(20))):
        with pytest.raises(ValueError, match="fit_inverse_transform must be False with kernel="):
            KernelPCA(kernel, fit_inverse_transform=True).fit(samples)
    with pytest.raises(TypeError, match="fit_inverse_transform must be False for a sparse X"):
        KernelPCA(fit_inverse_transform=True).fit(csr_array(X))


# --- two views --------------------------------------------------------------------------------------------


def test_two_views_of_any_kind():
    strings = words(50)
    counts = np.array([[word.count(letter) for letter in "ab"] for word in strings], dtype=float)
    machine = KernelCCA(Spectrum(2), "rbf", n_components=2, alpha=1.0).fit(strings, counts)
    f, g = machine.transform(strings, counts)
    assert f.shape == g.shape == (50, 2)
    assert (machine.correlations_ > 0.7).all()
    assert_allclose(machine.correlations_, [np.corrcoef(f[:, k], g[:, k])[0, 1] for k in range(2)])
    assert_allclose(machine.score(strings, counts), machine.correlations_.mean())
    f_new, g_new = f[:20], g[:20]  # not centred
    some = [np.corrcoef(f_new[:, k], g_new[:, k])[0, 1] for k in range(2)]
    assert_allclose(machine.score(strings[:20], counts[:20]), np.mean(some))
    turned = KernelCCA("rbf", Spectrum(2), n_components=2, alpha=1.0).fit(counts, strings)
    assert_allclose(turned.correlations_, machine.correlations_, rtol=1e-8)
    assert_array_equal(machine.transform(strings), f)


def test_matrices_of_both_views():
    X, Y = cloud(), cloud(seed=1)[:, :2]
    kernel, other = RBF(gamma=0.2), Matern()
    machine = KernelCCA(kernel, other).fit(X, Y)
    given = KernelCCA("precomputed", "precomputed").fit(kernel(X), other(Y))
    f, g = machine.transform(X[:7], Y[:9])
    for found, wanted in zip(given.transform(kernel(X[:7], X), other(Y[:9], Y)), (f, g), strict=True):
        assert_allclose(found, wanted, atol=1e-8)


def test_parameters_of_both_kernels():
    machine = KernelCCA().set_params(kernel__gamma=0.5, kernel_y__gamma=2.0)
    assert (machine.kernel, machine.kernel_y) == (RBF(gamma=0.5), RBF(gamma=2.0))
    with pytest.raises(ValueError, match=r"kernel_y: kernel must be a Kernel, .* got 'nonsense'"):
        KernelCCA(kernel_y="nonsense").fit(cloud(), cloud())
    with pytest.raises(TypeError, match=r"kernel_y: .* the class RBF"):
        KernelCCA(kernel_y=RBF).fit(cloud(), cloud())


def test_two_views_in_float32_are_computed_in_full():
    X, Y = (cloud(200, seed=seed) * [1.0, 1e-2, 1e-3] for seed in (0, 1))
    Y[:, 2] += X[:, 2]  # what the views share is small
    X, Y = X.astype(np.float32), Y.astype(np.float32)
    single = KernelCCA("linear", "linear", n_components=3, alpha=0.0).fit(X, Y)
    double = KernelCCA("linear", "linear", n_components=3, alpha=0.0).fit(X.astype(float), Y.astype(float))
    assert single.correlations_[0] > 0.6
    assert_allclose(single.correlations_, double.correlations_, rtol=1e-6)


def test_more_alpha_is_smoother():
    X, Y = cloud(), cloud(seed=1)
    free, smooth = (KernelCCA(n_components=1, alpha=alpha).fit(X, Y) for alpha in (0.01, 10.0))
    assert free.correlations_ > 0.99  # of views that have nothing in common
    assert smooth.correlations_ < free.correlations_


def test_correlations_that_mean_nothing_are_refused():
    with pytest.raises(
        SingularError, match=r"alpha must be > 0 here, got 0\.0: the two views have 59 and 59 directions"
    ):
        KernelCCA(RBF(gamma=3.0), RBF(gamma=3.0), alpha=0.0).fit(cloud(), cloud(seed=1))
    X, Y = cloud(7, 3), cloud(7, 3, seed=1)
    with pytest.raises(SingularError, match="3 and 3 directions for 6 samples"):  # seen from the mean, 5 of them
        KernelCCA("linear", "linear", alpha=0.0).fit(X[:6], Y[:6])
    assert (KernelCCA("linear", "linear", alpha=0.0).fit(X, Y).correlations_[1:] < 0.999).all()
    with pytest.raises(ValueError, match="requires y"):
        KernelCCA().fit(cloud(), None)
    with pytest.raises(ValueError, match="inconsistent numbers of samples: 60 and 59"):
        KernelCCA().fit(cloud(), cloud(59))


# --- least squares ----------------------------------------------------------------------------------------


def test_directions_explain_the_outputs_one_after_the_other():
    X = cloud()
    y = np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2])
    few, many = (KernelPLS(RBF(gamma=0.2), n).fit(X, y) for n in (2, 6))
    assert_allclose(many.explained_variance_ratio_[:2], few.explained_variance_ratio_, rtol=1e-8)
    assert_allclose(many.transform(X)[:, :2], few.transform(X), atol=1e-8)
    left = ((y - many.predict(X)) / y.std(axis=0)) ** 2
    assert_allclose(1 - many.explained_variance_ratio_.sum(), left.mean(), rtol=1e-6)
    T = many.transform(X)
    assert_allclose(T.T @ T, np.diag(np.diagonal(T.T @ T)), atol=1e-8)


def test_no_direction_is_left_when_all_is_explained():
    X = cloud(30, 2)
    machine = KernelPLS("linear", 10).fit(X, X[:, 0] + 2 * X[:, 1])
    assert machine.transform(X).shape[1] <= 2
    assert_allclose(machine.predict(X), X[:, 0] + 2 * X[:, 1])
    constant = KernelPLS().fit(X, np.full(30, 7.0))
    assert_allclose(constant.predict(X), 7.0)
    for kernel in ("rbf", "linear"):
        same = KernelPLS(kernel).fit(np.full((30, 2), 3.7), X)
        assert_allclose(same.predict(X), np.broadcast_to(X.mean(axis=0), X.shape))


def test_least_squares_without_the_matrix():
    X = cloud(300)
    y = np.sin(X[:, 0])
    machine, free = KernelPLS(n_components=4).fit(X, y), KernelPLS(n_components=4, memory=0.1).fit(X, y)
    assert_allclose(free.predict(X), machine.predict(X), atol=1e-9)


# --- explicit features ------------------------------------------------------------------------------------


def test_features_of_strings_for_linear_machines():
    X = words(60)
    y = [word.count("a") > word.count("b") for word in X]
    machine = make_pipeline(MercerMap(Spectrum(1)), SVC("linear", C=100.0)).fit(X, y)
    assert machine.score(X, y) == 1.0
    assert machine[0].transform(X).shape == (60, 3)


def test_landmarks_that_add_nothing_are_left_out():
    X = np.repeat(cloud(5), 4, axis=0)
    for pivots in ("random", "greedy", "leverage"):
        machine = Nystroem(RBF(gamma=0.5), 15, pivots=pivots).fit(X)
        assert len(machine.support_) <= 5
        F = machine.transform(X)
        assert_allclose(F @ F.T, RBF(gamma=0.5)(X), atol=1e-9)
        assert machine.unexplained_ < 1e-12


@pytest.mark.parametrize("pivots", ["random", "greedy", "uniform"])
def test_landmarks_of_a_matrix_in_float32(pivots):
    X = cloud(100)
    K = (X @ X.T).astype(np.float32)
    F = Nystroem("precomputed", 50, pivots=pivots).fit_transform(K)
    assert F.shape[1] == 3  # what rounding adds is no direction
    assert_allclose(F @ F.T, K, rtol=1e-3)


def test_landmarks_depend_on_the_seed():
    first, again, other = (Nystroem(n_components=10, random_state=seed).fit(cloud()) for seed in (0, 0, 1))
    assert_array_equal(first.support_, again.support_)
    assert set(first.support_) != set(other.support_)


def test_features_keep_the_precision():
    assert RandomFourier().fit_transform(cloud().astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("kernel", ["linear", Polynomial(), RBF() + Polynomial(), RBF() * Polynomial()], ids=repr)
def test_kernels_without_a_spectrum(kernel):
    with pytest.raises(TypeError, match=r"kernel must have a known spectral measure, as RBF, .*; use Nystroem"):
        RandomFourier(kernel).fit(cloud())


def test_other_kernels_without_a_spectrum():
    with pytest.raises(DomainError, match="Nystroem"):  # a function of the distance that is no product over features
        RandomFourier(TranslationInvariant(_cauchy)).fit(cloud())
    with pytest.raises(DomainError, match="works on vectors, got kernel='precomputed'; use Nystroem"):
        RandomFourier("precomputed").fit(np.eye(3))
    with pytest.raises(ValueError, match="gamma has 2 values, X has 3 features"):
        RandomFourier(RBF(gamma=[1.0, 2.0])).fit(cloud())


def _cauchy(D):
    return 1.0 / (1.0 + np.square(D).sum(axis=-1))
