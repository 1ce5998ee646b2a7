"""Directions in feature space and explicit features, against other packages and obvious twins."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import block_diag, eigh
from sklearn import decomposition as peers
from sklearn.cross_decomposition import CCA, PLSRegression
from sklearn.kernel_approximation import Nystroem as TheirNystroem
from sklearn.kernel_approximation import PolynomialCountSketch, RBFSampler

from mercer import (
    SVC,
    KernelCCA,
    KernelPCA,
    KernelPLS,
    LinearSVC,
    MercerMap,
    Nystroem,
    PolynomialSketch,
    RandomFourier,
)
from mercer.gram import center
from mercer.kernels import (
    RBF,
    Exponential,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Spectrum,
    exp,
)


def cloud(n=80, d=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * np.linspace(2.0, 0.5, d) + 3.0


def two_views(n=90, seed=0):
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n, 2))
    X = np.column_stack([hidden, rng.normal(size=(n, 2))]) @ rng.normal(size=(4, 4)) + 1.0
    Y = (
        np.column_stack([hidden + [0.2, 3.0] * rng.normal(size=(n, 2)), rng.normal(size=n)]) @ rng.normal(size=(3, 3))
        - 2.0
    )
    return X, Y


def assert_same_up_to_sign(found, wanted, **tolerance):
    assert found.shape == wanted.shape
    signs = np.sign(np.sum(found * wanted, axis=0))
    assert_allclose(found * signs, wanted, **tolerance)


# --- principal components ---------------------------------------------------------------------------------


@pytest.mark.parametrize("eigen_solver", ["dense", "lanczos"])
def test_linear_kernel_pca_is_pca(eigen_solver):
    X, new = cloud(), cloud(20, seed=1)
    ours, theirs = KernelPCA("linear", 3, eigen_solver=eigen_solver).fit(X), peers.PCA(3).fit(X)
    assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=1e-9)
    assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-9)
    assert_same_up_to_sign(ours.transform(new), theirs.transform(new), atol=1e-8)
    assert_same_up_to_sign(ours.coef_.T, theirs.components_.T, atol=1e-8)
    assert KernelPCA("linear").fit(X).transform(new).shape == (20, 5)


@pytest.mark.parametrize("n", [6, 80, 400])
def test_distances_are_enough(n):
    """Minus half of squared distances is a kernel once it is centred: classical scaling."""
    X = cloud(n)
    squares = np.sum((X[:, np.newaxis] - X) ** 2, axis=2)
    ours, theirs = KernelPCA("precomputed").fit(-0.5 * squares), peers.PCA().fit(X)
    assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=1e-9)
    assert_allclose(ours.explained_variance_ratio_.sum(), 1.0)


@pytest.mark.parametrize("n", [80, 400])
def test_far_from_the_origin_nothing_but_digits_is_lost(n):
    """The centred matrix is a small difference of large numbers; what is left of them is no negative eigenvalue."""
    away, (X, Y) = 1e4, two_views(n)
    machine = KernelPCA("linear").fit(X + away)
    assert_allclose(machine.explained_variance_, peers.PCA().fit(X).explained_variance_, rtol=1e-5)
    assert_allclose(machine.explained_variance_ratio_.sum(), 1.0, rtol=1e-5)
    farther = KernelPCA("linear", 6, eigen_solver="lanczos").fit(X + 10 * away)  # more than there are
    assert len(farther.eigenvalues_) == 4 and farther.n_iter_ < 50  # no residual below rounding is waited for
    near, far = (KernelCCA("linear", "linear", alpha=0.0).fit(X + a, Y - a) for a in (0.0, away))
    assert_allclose(far.correlations_, near.correlations_, rtol=1e-5)
    outputs = X @ np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 3.0], [0.3, 0.0, 0.0], [0.0, 1.7, 0.0]])
    explained = KernelPLS("linear", 9, scale=False).fit(X + away, outputs)
    assert explained.y_loadings_.shape == (3, 4)  # there is no more to explain than X has columns
    assert_allclose(explained.predict(X + away), outputs, atol=1e-5)


@pytest.mark.parametrize(
    ("kernel", "name", "options"),
    [
        (RBF(gamma=0.1), "rbf", {"gamma": 0.1}),
        (Polynomial(2, 0.5, 1.0), "poly", {"degree": 2, "gamma": 0.5, "coef0": 1.0}),
    ],
)
def test_kernel_pca_against_scikit_learn(kernel, name, options):
    X, new = cloud(), cloud(20, seed=1)
    theirs = peers.KernelPCA(6, kernel=name, **options).fit(X)
    for eigen_solver in ("dense", "lanczos"):
        ours = KernelPCA(kernel, 6, eigen_solver=eigen_solver).fit(X)
        scale = np.sqrt(theirs.eigenvalues_[0])
        assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-9)
        assert_allclose(ours.transform(new), theirs.transform(new), atol=1e-8 * scale)
        assert_allclose(ours.fit_transform(X), theirs.fit_transform(X), atol=1e-8 * scale)


def test_ridge_pre_images_against_scikit_learn():
    X, new = cloud(), cloud(20, seed=1)
    X, new = X - X.mean(axis=0), new - X.mean(axis=0)  # theirs does not know the mean
    theirs = peers.KernelPCA(4, kernel="rbf", gamma=0.1, fit_inverse_transform=True, alpha=0.3).fit(X)
    ours = KernelPCA(RBF(gamma=0.1), 4, fit_inverse_transform=True, alpha=0.3).fit(X)
    assert_allclose(
        ours.inverse_transform(ours.transform(new)), theirs.inverse_transform(theirs.transform(new)), atol=1e-8
    )


def test_weighted_kernel_pca_twin():
    """The eigenvectors of the weighted covariance, in an explicit feature space."""
    X, weight = cloud(40, 2), np.random.default_rng(2).uniform(0.1, 2.0, size=40)
    kernel = Polynomial(2, 1.0, 1.0)
    phi = kernel.features(X)
    mean = weight @ phi / weight.sum()
    values, directions = np.linalg.eigh((phi - mean).T @ (weight[:, np.newaxis] * (phi - mean)))
    machine = KernelPCA(kernel, 3).fit(X, sample_weight=weight)
    assert_allclose(machine.eigenvalues_, values[::-1][:3], rtol=1e-9)
    assert_same_up_to_sign(machine.transform(X), (phi - mean) @ directions[:, ::-1][:, :3], rtol=1e-6, atol=1e-8)
    assert_allclose(machine.explained_variance_ratio_, values[::-1][:3] / values.sum(), rtol=1e-9)


# --- two views --------------------------------------------------------------------------------------------


def test_linear_kernel_cca_is_cca():
    X, Y = two_views()
    ours = KernelCCA("linear", "linear", n_components=3, alpha=0.0).fit(X, Y)
    theirs = CCA(3, max_iter=5000, tol=1e-14).fit(X, Y)
    f, g = theirs.transform(X, Y)
    wanted = [np.corrcoef(f[:, k], g[:, k])[0, 1] for k in range(3)]
    assert_allclose(ours.correlations_, wanted, rtol=1e-6)
    assert_allclose(ours.singular_values_, wanted, rtol=1e-6)
    for found, column in zip(ours.transform(X, Y), (f, g), strict=True):
        assert_same_up_to_sign(found, column / column.std(axis=0), atol=1e-5)


def test_kernel_cca_twin():
    """The generalised eigenvalue problem of the two matrices, as it is written down."""
    X, Y = two_views(50)
    n, alpha = len(X), 0.7
    K, L = center(RBF(gamma=0.2)(X)), center(Matern(length_scale=2.0)(Y))
    zero, tiny = np.zeros((n, n)), 1e-10 * np.eye(n)
    left = np.block([[zero, K @ L], [L @ K, zero]])
    right = np.block([[K @ K + alpha * K + tiny, zero], [zero, L @ L + alpha * L + tiny]])
    values, vectors = eigh(left, right)
    machine = KernelCCA(RBF(gamma=0.2), Matern(length_scale=2.0), n_components=3, alpha=alpha).fit(X, Y)
    assert_allclose(machine.singular_values_, values[::-1][:3], rtol=1e-7)
    f, g = machine.transform(X, Y)
    first = K @ vectors[:n, ::-1][:, :3]
    assert_same_up_to_sign(f / np.linalg.norm(f, axis=0), first / np.linalg.norm(first, axis=0), atol=1e-5)
    assert_allclose([np.corrcoef(f[:, k], g[:, k])[0, 1] for k in range(3)], machine.correlations_, rtol=1e-9)
    # the constraint: regularised variances of one
    for values, view, matrix in ((f, machine, K), (g, machine.view_y_, L)):
        norms = np.einsum("ki,ij,kj->k", view.dual_coef_, matrix, view.dual_coef_)
        assert_allclose(((values**2).sum(axis=0) + alpha * norms) / n, 1.0, rtol=1e-8)


def test_weighted_kernel_cca_twin():
    """The generalised eigenvalue problem of weighted covariances in an explicit feature space."""
    X, Y = two_views(60)
    weight, alpha = np.random.default_rng(2).uniform(0.1, 2.0, size=60), 0.7
    weight[:5] = 0.0
    kernel, total = Polynomial(2, 0.3, 1.0), weight.sum()
    phi = kernel.features(X)
    phi, psi = phi - weight @ phi / total, Y - weight @ Y / total
    left = np.block(
        [
            [np.zeros((phi.shape[1],) * 2), phi.T @ (weight[:, np.newaxis] * psi)],
            [psi.T @ (weight[:, np.newaxis] * phi), np.zeros((3, 3))],
        ]
    )
    right = block_diag(*(Z.T @ (weight[:, np.newaxis] * Z) + alpha * np.eye(Z.shape[1]) for Z in (phi, psi)))
    values, vectors = eigh(left, right)
    vectors = vectors[:, ::-1][:, :3] * np.sqrt(2 * total)  # both parts have half of the length
    f, g = phi @ vectors[:-3], psi @ vectors[-3:]
    machine = KernelCCA(kernel, "linear", n_components=3, alpha=alpha).fit(X, Y, sample_weight=weight)
    assert_allclose(machine.singular_values_, values[::-1][:3], rtol=1e-9)
    for found, wanted in zip(machine.transform(X, Y), (f, g), strict=True):
        assert_same_up_to_sign(found, wanted, atol=1e-7)
    covariance = np.cov(f.T, g.T, aweights=weight, ddof=0)
    deviations = np.sqrt(np.diagonal(covariance))
    assert_allclose(machine.correlations_, np.diagonal(covariance, 3) / (deviations[:3] * deviations[3:]), rtol=1e-7)


@pytest.mark.parametrize("outputs", [1, 3])
def test_linear_kernel_pls_is_pls(outputs):
    X, Y = two_views()
    new, _ = two_views(15, seed=1)
    Y = Y[:, 0] if outputs == 1 else Y
    theirs = PLSRegression(3, scale=False, max_iter=5000, tol=1e-14).fit(X, Y)
    ours = KernelPLS("linear", 3, scale=False).fit(X, Y)
    assert_allclose(ours.predict(new), theirs.predict(new), rtol=1e-6, atol=1e-6)
    assert_same_up_to_sign(ours.transform(new), theirs.transform(new), rtol=1e-5, atol=1e-6)
    scaled = KernelPLS("linear", 3).fit(X, Y)
    deviation = Y.std(axis=0)
    theirs.fit(X, Y / deviation)
    assert_allclose(scaled.predict(new), theirs.predict(new) * deviation, rtol=1e-6, atol=1e-6)


def test_kernel_pls_twin():
    """The algorithm as published, with a matrix that shrinks; Rosipal and Trejo, section 3.2 and eq. 12."""
    X, Y = two_views(60)
    new, _ = two_views(15, seed=1)
    kernel = RBF(gamma=0.1)
    full = center(kernel(X))
    K, left = full.copy(), Y - Y.mean(axis=0)
    T, U = [], []
    for _ in range(4):
        u = left[:, 0]
        for _ in range(2000):
            t = K @ u / np.linalg.norm(K @ u)
            u = left @ (left.T @ t)
            u /= np.linalg.norm(u)
        shrink = np.eye(len(X)) - np.outer(t, t)
        K, left = shrink @ K @ shrink, shrink @ left
        T, U = [*T, t], [*U, u]
    T, U = np.array(T).T, np.array(U).T
    B = U @ np.linalg.solve(T.T @ full @ U, T.T @ (Y - Y.mean(axis=0)))
    wanted = center(kernel(X), kernel(new, X)) @ B + Y.mean(axis=0)
    assert_allclose(KernelPLS(kernel, 4, scale=False).fit(X, Y).predict(new), wanted, rtol=1e-6, atol=1e-8)


# --- explicit features ------------------------------------------------------------------------------------


def test_mercer_map_spans_the_kernel():
    X, new = cloud(), cloud(20, seed=1)
    kernel = RBF(gamma=0.1)
    machine = MercerMap(kernel).fit(X)
    features = machine.transform(X)
    assert_allclose(features @ features.T, kernel(X), atol=1e-9)
    assert_allclose(machine.transform(new) @ features.T, kernel(new, X), atol=1e-6)
    # of lower rank: the best there is
    few = MercerMap(kernel, 4).fit_transform(X)
    values = np.linalg.eigvalsh(kernel(X))
    assert_allclose(np.linalg.norm(few @ few.T - kernel(X), 2), values[-5], rtol=1e-9)


def test_a_linear_machine_on_the_map_is_the_machine_with_the_kernel():
    X, new = cloud(), cloud(20, seed=1)
    y = (X[:, 0] - 3.0) ** 2 > 2.0
    kernel = RBF(gamma=0.1)
    mapped = MercerMap(kernel).fit(X)
    linear = LinearSVC(tol=1e-9).fit(mapped.transform(X), y)
    machine = SVC(kernel, tol=1e-9).fit(X, y)
    assert_allclose(linear.decision_function(mapped.transform(new)), machine.decision_function(new), atol=1e-5)


@pytest.mark.parametrize("pivots", ["random", "greedy", "uniform"])
def test_nystroem_against_the_formula(pivots):
    X, new = cloud(), cloud(20, seed=1)
    kernel = RBF(gamma=0.1)
    machine = Nystroem(kernel, 15, pivots=pivots).fit(X)
    S = X[machine.support_]
    wanted = kernel(new, S) @ np.linalg.pinv(kernel(S)) @ kernel(S, X)
    assert_allclose(machine.transform(new) @ machine.transform(X).T, wanted, atol=1e-7)
    if pivots != "uniform":
        lost = np.trace(kernel(X) - kernel(X, S) @ np.linalg.pinv(kernel(S)) @ kernel(S, X)) / len(X)
        assert_allclose(machine.unexplained_, lost, atol=1e-8)


def test_nystroem_against_scikit_learn():
    """The same landmarks give the same inner products."""
    X, new = cloud(), cloud(20, seed=1)
    theirs = TheirNystroem("rbf", gamma=0.1, n_components=12, random_state=0).fit(X)
    ours = Nystroem(RBF(gamma=0.1), 12, pivots="uniform").fit(X[theirs.component_indices_])
    assert len(ours.support_) == 12
    assert_allclose(ours.transform(new) @ ours.transform(X).T, theirs.transform(new) @ theirs.transform(X).T, atol=1e-8)


def test_nystroem_of_strings():
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("ab"), size=8)) for _ in range(40)]
    features = Nystroem(Spectrum(2), 40).fit_transform(words)
    assert features.shape[1] <= 4  # pairs of two letters
    assert_allclose(features @ features.T, Spectrum(2)(words), atol=1e-9)


SPECTRAL = [
    RBF(gamma=0.3),
    RBF(gamma=[0.1, 0.5, 0.0]),
    Laplacian(gamma=0.4),
    Exponential(gamma=0.7),
    Matern(length_scale=1.5, nu=0.5),
    Matern(length_scale=[1.0, 2.0, 0.5], nu=1.5),
    Matern(length_scale=1.5, nu=3.3),
    Matern(length_scale=1.5, nu=np.inf),
    RationalQuadratic(length_scale=1.2, alpha=0.6),
    2 * RBF(gamma=0.3) + 0.5 * Laplacian(gamma=0.4) + 1,
    RBF(gamma=0.3) * Matern(length_scale=2.0),
    RBF(gamma=0.1) ** 3,
    (2 * RBF(gamma=0.3)).normalized(),
    exp(1.5 * Laplacian(gamma=0.4)),
    (RBF(gamma=0.3) + 0.5).polynomial([1.0, 0.0, 2.0, 0.5]),
    (2 * RBF(gamma=0.3)).geometric(3.0),
    (2 * Exponential(gamma=0.7)).rbf(1.2),
]


@pytest.mark.parametrize("frequencies", ["independent", "orthogonal", "quasi-random"])
@pytest.mark.parametrize("kernel", SPECTRAL, ids=repr)
def test_random_fourier_features_are_right_on_average(kernel, frequencies):
    """Within five standard errors of independent frequencies."""
    X, draws = np.random.default_rng(5).normal(size=(6, 3)), 20_000
    F, K = RandomFourier(kernel, 2 * draws, frequencies).fit_transform(X), kernel(X)
    assert_allclose(F @ F.T, K, atol=5 * K.max() / np.sqrt(draws))
    assert_allclose(np.einsum("ij,ij->i", F, F), np.diagonal(K), rtol=1e-12)


@pytest.mark.parametrize("m", [1, 3])
def test_an_odd_number_of_random_features(m):
    """They are right on average too; a cosine with a random phase has a variance of 2 at most."""
    X, draws, kernel = np.random.default_rng(5).normal(size=(6, 3)), 500, 2 * RBF(gamma=0.3)
    maps = [RandomFourier(kernel, n_components=m, random_state=seed) for seed in range(draws)]
    products = [(F := machine.fit_transform(X)) @ F.T for machine in maps]
    assert F.shape == (6, m)
    assert_allclose(np.mean(products, axis=0), kernel(X), atol=5 * 2 * np.sqrt(2 / draws))


def test_more_frequencies_come_closer():
    X = cloud(40)
    kernel = RBF(gamma=0.05)
    errors = []
    for m in (100, 10_000):
        F = RandomFourier(kernel, m).fit_transform(X)
        errors.append(np.sqrt(np.mean((F @ F.T - kernel(X)) ** 2)))
    assert 5 < errors[0] / errors[1] < 20


def errors_over_seeds(make, X, K, seeds=20):
    """The root mean square of what inner products of features miss, over all pairs and seeds."""
    features = [make(seed).fit_transform(X) for seed in range(seeds)]
    return np.sqrt(np.mean([(F @ F.T - K) ** 2 for F in features]))


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("shape", [np.asarray, np.abs], ids=["of both signs", "of one sign"])
def test_sketches_against_scikit_learn(shape, degree):
    """Buckets that are filled evenly are never worse than drawn ones, and better where features add up."""
    X = shape(np.random.default_rng(0).normal(size=(40, 30)))
    kernel = Polynomial(degree, 1 / 30, 1.0)
    ours = errors_over_seeds(lambda seed: PolynomialSketch(kernel, 200, random_state=seed), X, kernel(X))
    theirs = errors_over_seeds(
        lambda seed: PolynomialCountSketch(gamma=1 / 30, degree=degree, coef0=1.0, n_components=200, random_state=seed),
        X,
        kernel(X),
    )
    assert ours < (1.0 if shape is np.asarray else 0.85) * theirs


def test_random_fourier_against_scikit_learn():
    """A cosine and a sine of each frequency miss less than cosines with phases."""
    X, kernel = cloud(40), RBF(gamma=0.1)
    ours = errors_over_seeds(lambda seed: RandomFourier(kernel, 200, random_state=seed), X, kernel(X))
    theirs = errors_over_seeds(lambda seed: RBFSampler(gamma=0.1, n_components=200, random_state=seed), X, kernel(X))
    assert 0.5 < ours / theirs < 1.0


def test_assert_same_up_to_sign():
    same = cloud(10, 2)
    assert_same_up_to_sign(same * [1, -1], same)
    with pytest.raises(AssertionError):
        assert_same_up_to_sign(same, same[:, ::-1])
    with pytest.raises(AssertionError):
        assert_same_up_to_sign(same, same[:, :1])


def test_linear_is_what_its_name_says():
    """The two words for one kernel."""
    X = cloud(30)
    assert_allclose(KernelPCA(Linear(), 2).fit_transform(X), KernelPCA("linear", 2).fit_transform(X))
