"""Landmarks on a device give what they give natively."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import solve_triangular
from scipy.sparse import csr_array

from mercer.data import RowBlocks
from mercer.devices import DeviceGram, DeviceLandmarkGram, DeviceLandmarkMatrix, Place
from mercer.devices.landmarks import arrays_on
from mercer.devices.maps import DeviceMapGram, DeviceSpanGram
from mercer.errors import IndefiniteError
from mercer.features import MercerMap, PolynomialSketch, RandomFourier
from mercer.gram import LandmarkGram, LandmarkMatrix, MapGram, SpanGram, low_rank, make_gram
from mercer.gram.landmarks import IN_MEMORY, TOGETHER, independent
from mercer.kernels import RBF, Exponential, Linear, Polynomial, Sigmoid

torch = pytest.importorskip("torch")

N, M, K = 300, 25, 3
PLACE = Place("cpu")
KERNELS = {"RBF": RBF(gamma=0.2), "Sum": 0.5 * Exponential(gamma=0.3) + Linear()}


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.fixture(params=["array", "float32", "CSR", "blocks", "not moved"])
def given(request, rng, monkeypatch):
    X = rng.normal(size=(N, 4)) * (rng.uniform(size=(N, 4)) > 0.3)
    if request.param == "float32":
        return X.astype(np.float32)
    if request.param == "CSR":
        return csr_array(X)
    if request.param == "blocks":
        return RowBlocks([lambda: X[:110], lambda: X[110:111], lambda: X[111:]])
    if request.param == "not moved":
        monkeypatch.setattr(Place, "budget", lambda self: 0)
    return X


def landmarks(X):
    rows = np.arange(M) * 7
    return X[rows]


@pytest.fixture(params=KERNELS)
def pair(request, given):
    """The twins; the native one in float64."""
    kernel, Z = KERNELS[request.param], landmarks(given)
    full = given if isinstance(given, RowBlocks) else given.astype(np.float64)
    return DeviceLandmarkMatrix(kernel, given, Z, PLACE), LandmarkMatrix(kernel, full, landmarks(full))


SOME = np.array([0, 4, 109, 110, 111, 200, N - 1])


@pytest.mark.parametrize("rows", [None, SOME, SOME[:0]], ids=["all", "some", "none"])
@pytest.mark.parametrize("shape", [(), (K,)], ids=["vector", "columns"])
def test_products_are_those_of_the_native_twin(pair, rng, rows, shape):
    on, native = pair
    n = N if rows is None else len(rows)
    v, c = rng.normal(size=(M, *shape)), rng.normal(size=(n, *shape))
    for one, other, tolerance in ((on, native, 1e-11), (on.in_single(), native, 2e-4)):
        assert_allclose(one.forward(v, rows), other.forward(v, rows), atol=tolerance)
        assert_allclose(one.backward(c, rows), other.backward(c, rows), atol=tolerance * 10)
    if rows is None:
        scale, shift = rng.normal(size=N), rng.normal(size=(N, *shape))
        for known in ((), (scale,), (None, shift), (scale, shift)):
            for found, wanted in zip(on.both(v, *known), native.both(v, *known), strict=True):
                assert_allclose(found, wanted, atol=1e-9)


def test_values_and_sums_are_those_of_the_native_twin(pair, rng):
    on, native = pair
    triangle = np.linalg.cholesky(native.kernel(np.asarray(on.z)) + np.eye(M))
    c = rng.normal(size=N)
    assert_allclose(on.some(SOME), native.some(SOME), atol=1e-12)
    assert_allclose(np.concatenate([block for _, block in on.blocks()]), native.some(np.arange(N)), atol=1e-12)
    assert all(len(block) <= 7 for _, block in on.blocks(SOME, 7))
    assert_allclose(on.lower_moments(c), native.lower_moments(c), atol=1e-10)
    assert_allclose(on.lower_moments(c[SOME], SOME), native.lower_moments(c[SOME], SOME), atol=1e-10)
    assert_allclose(on.squares(triangle, c), native.squares(triangle, c), atol=1e-10)
    assert_allclose(on.squares(triangle, c[SOME], SOME), native.squares(triangle, c[SOME], SOME), atol=1e-10)
    assert_allclose(on.norms(triangle), native.norms(triangle), atol=1e-10)
    assert_allclose(on.diag(), native.diag(), atol=1e-12)
    assert_allclose(on.energy(SOME, c[SOME]), native.energy(SOME, c[SOME]), atol=1e-10)
    assert on.among(SOME) is None


@pytest.fixture
def grams(rng):
    X = rng.normal(size=(N, 4))
    Z = np.vstack([X[:M], X[3], X[M:40]])
    kernel = RBF(gamma=0.2)
    numbers = np.r_[:M, 3, M:40]
    return DeviceLandmarkGram(kernel, X, Z, PLACE, numbers), LandmarkGram(kernel, X, Z, numbers=numbers)


def test_the_landmarks_and_what_they_span_are_those_of_the_native_twin(grams, rng):
    on, native = grams
    assert len(on.kept) == 40 and (np.sort(on.numbers) == np.sort(native.numbers)).all()
    assert_allclose(on.triangle @ on.triangle.T, native.kernel(on.Z), atol=1e-12)
    v, c = rng.normal(size=N), rng.normal(size=(N, K))
    # Features are turned where others of equal landmarks are left out; their products are not.
    assert_allclose(on.dot(v), native.dot(v), atol=1e-8)
    assert_allclose(on.diag(), native.diag(), atol=1e-8)
    assert_allclose(on.lost(), native.lost(), atol=1e-8)
    assert_allclose(on.square(SOME[::-1]), native.square(SOME[::-1]), atol=1e-8)
    assert_allclose(on.rows(SOME[::-1]), native.rows(SOME[::-1]), atol=1e-8)
    rows = csr_array(c.T)
    for exact in (True, False):
        assert_allclose(on.lost_energies(rows, exact=exact), native.lost_energies(rows, exact=exact), rtol=1e-6)


@pytest.fixture
def same(rng):
    """Twins whose landmarks are all apart, so that features are the same, too."""
    X = rng.normal(size=(N, 4))
    return DeviceLandmarkGram(RBF(gamma=0.5), X, X[:M], PLACE), LandmarkGram(RBF(gamma=0.5), X, X[:M])


def test_features_are_those_of_the_native_twin(same, rng):
    on, native = same
    w, c = rng.normal(size=(M, K)), rng.normal(size=N)
    assert on.n_weights == native.n_weights == M
    assert_allclose(on.products(w), native.products(w), atol=1e-9)
    assert_allclose(on.coefficients(w[:, 0]), native.coefficients(w[:, 0]), atol=1e-9)
    assert_allclose(on.sums(c), native.sums(c), atol=1e-9)
    assert_allclose(on.some(SOME), native.some(SOME), atol=1e-9)
    assert_allclose(on.moments(c), native.moments(c), atol=1e-8)
    assert_allclose(on.squares(c[SOME], SOME), native.squares(c[SOME], SOME), atol=1e-8)
    for found, wanted in zip(on.both(w, c), native.both(w, c), strict=True):
        assert_allclose(found, wanted, atol=1e-8)


@pytest.mark.parametrize("corner", [None, 7.0])
def test_newton_steps_solve_their_equations(same, rng, corner):
    on, native = same
    c = rng.uniform(size=N)
    moments, sums = native.moments(c), native.sums(c)
    right = rng.normal(size=M + (corner is not None))
    step = on.newton_step(*on.newton_moments(c), corner, right)
    assert_allclose(step, native.newton_step(*native.newton_moments(c), corner, right), atol=1e-7)
    matrix = np.eye(M) + moments
    if corner is not None:
        matrix = np.block([[matrix, sums[:, np.newaxis]], [sums, np.array([[corner]])]])
    assert_allclose(matrix @ step, right, atol=1e-6)


@pytest.mark.parametrize("about_the_mean", [False, True])
def test_the_inverse_of_moments_is_their_inverse(same, rng, about_the_mean):
    c, rows = rng.uniform(size=N // 2), np.arange(0, N, 2)
    total = float(c.sum()) if about_the_mean else None
    right = rng.normal(size=(M, K))
    for gram in same:
        matrix = gram.moments(c, rows) + 0.3 * np.eye(M)
        if about_the_mean:
            sums = gram.sums(c, rows)
            matrix -= np.outer(sums, sums) / total
        inverse = gram.inverse_moments(c, rows, 0.3, total)
        assert_allclose(matrix @ inverse(right), right, atol=1e-8)
        assert_allclose(inverse(right[:, 0]), inverse(right)[:, 0], atol=1e-8)


@pytest.mark.parametrize("arrays", [IN_MEMORY, arrays_on(PLACE)], ids=["NumPy", "PyTorch"])
def test_landmarks_that_others_span_are_left_out_in_every_group(rng, arrays):
    A = rng.normal(size=(2 * TOGETHER + 60, 90))
    kept, lower = independent(arrays.from_memory(A @ A.T), arrays)
    assert len(kept) == 90 and kept.max() < TOGETHER  # the first group has all directions
    assert_allclose(lower @ lower.T, (A @ A.T)[np.ix_(kept, kept)], atol=1e-9)
    some = np.diag(np.r_[np.ones(TOGETHER), 0.0, np.ones(3)])
    kept, lower = independent(arrays.from_memory(some), arrays)
    assert (kept == np.delete(np.arange(TOGETHER + 4), TOGETHER)).all()
    assert (np.asarray(lower) == np.eye(TOGETHER + 3)).all()
    spread = np.array([np.sin(np.arange(700.0)), np.cos(np.arange(700.0))]).T
    kernel = RBF(gamma=30.0)(spread)
    kept, lower = independent(arrays.from_memory(kernel), arrays)
    part = kernel[np.ix_(kept, kept)]
    assert_allclose(lower @ lower.T, part, atol=1e-12)
    # Of all others the kept ones leave no more than the precision.
    F = solve_triangular(np.asarray(lower), kernel[kept], lower=True)
    assert 1 - (F**2).sum(axis=0).min() < 1e-7 and np.asarray(lower).diagonal().min() > 1e-5


# --- features of maps -------------------------------------------------------------------------------------


MAPS = {
    "RandomFourier": RandomFourier(RBF(gamma=0.2), n_components=24),
    "an odd number": RandomFourier(RBF(gamma=0.2), n_components=25),
    "PolynomialSketch": PolynomialSketch(Polynomial(degree=3, gamma=0.3, coef0=1.0), n_components=24),
    "of one factor": PolynomialSketch(2 * Linear() + 1, n_components=25),
    "MercerMap": MercerMap(RBF(gamma=0.2), n_components=24),
}


def map_grams(name, X, given):
    """The twins, the one on the device over the samples as they are given."""
    features = MAPS[name].fit(X[:M] if name == "MercerMap" else X[:50])
    kernel = features.kernel_
    if name == "MercerMap":
        landmarks = features.support_vectors_, features.dual_coef_
        return DeviceSpanGram(kernel, given, *landmarks, PLACE), SpanGram(kernel, X, *landmarks)
    native = MapGram(features._features_of, features._n_features_out, kernel, X)
    return DeviceMapGram(features, kernel, given, PLACE), native


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("kind", ["array", "blocks", "CSR"])
def test_features_of_maps_are_those_of_the_native_twin(name, kind, rng):
    X = rng.normal(size=(N, 4))
    kinds = {"array": X, "blocks": RowBlocks([lambda: X[:110], lambda: X[110:]]), "CSR": csr_array(X)}
    on, native = map_grams(name, X, kinds[kind])
    m = native.n_weights
    w, c = rng.normal(size=(m, K)), rng.normal(size=N)
    assert on.n_weights == m and isinstance(on, SpanGram if name == "MercerMap" else MapGram)
    assert_allclose(on.some(SOME), native.some(SOME), atol=1e-12)
    assert_allclose(on.in_single().some(SOME), native.some(SOME), atol=1e-4)
    single = on.in_single()
    assert single.dtype == np.float32 and single.in_single() is single
    for rows in (None, SOME):
        d = c if rows is None else c[rows]
        assert_allclose(on.products(w, rows), native.products(w, rows), atol=1e-10)
        assert_allclose(on.sums(d, rows), native.sums(d, rows), atol=1e-10)
        assert_allclose(on.moments(d, rows), native.moments(d, rows), atol=1e-9)
        assert_allclose(on.squares(d, rows), native.squares(d, rows), atol=1e-9)
    for found, wanted in zip(on.both(w, c), native.both(w, c), strict=True):
        assert_allclose(found, wanted, atol=1e-9)
    assert_allclose(on.diag(), native.diag(), atol=1e-10)
    assert_allclose(on.exact_diag(), native.exact_diag(), atol=1e-10)
    assert_allclose(on.rows(SOME[::-1]), native.rows(SOME[::-1]), atol=1e-10)
    d = c**2
    for corner in (None, float(d.sum()) + 1.0):
        right = rng.normal(size=m + (corner is not None))
        step = on.newton_step(*on.newton_moments(d), corner, right)
        assert_allclose(step, native.newton_step(*native.newton_moments(d), corner, right), atol=1e-8)
    for total in (None, float(d.sum())):
        inverse, other = (gram.inverse_moments(d, np.arange(N), 0.3, total) for gram in (on, native))
        assert_allclose(inverse(w), other(w), atol=1e-7)
    if isinstance(on, MapGram):
        assert on.among(SOME) is None
        assert_allclose(on.full().dot(c), native.full().dot(c), atol=1e-9)


def test_indefinite_kernels_are_refused(rng):
    X = rng.normal(size=(20, 3))
    with pytest.raises(IndefiniteError, match="squared distance of a landmark"):
        DeviceLandmarkGram(Sigmoid(gamma=1.0, coef0=-1.0), X, X, PLACE)


# --- whole kernel matrices --------------------------------------------------------------------------------


def test_the_kernel_matrix_is_that_of_native_rows(rng):
    X = rng.normal(size=(60, 4))
    on, native = (make(RBF(gamma=0.2), X) for make in (lambda k, X: DeviceGram(k, X, PLACE), make_gram))
    V, which = rng.normal(size=(60, K)), np.array([5, 2, 59])
    for name, arguments in {
        "rows": (which,),
        "square": (which,),
        "part": (which, which[:2]),
        "diag": (),
        "dot": (V,),
        "dot_part": (which, which[:2], V[:2]),
        "values_at": (csr_array(V.T), which),
    }.items():
        assert_allclose(getattr(on, name)(*arguments), getattr(native, name)(*arguments), atol=1e-12)
    assert_allclose(on.dot(V[:, 0]), native.dot(V[:, 0]), atol=1e-12)


def test_features_that_overflow_are_named():
    with pytest.raises(ValueError, match="features are too large"):
        DeviceGram(Linear(), np.array([[1e200]]), PLACE)


@pytest.mark.parametrize("pivots", ["random", "greedy", "uniform"])
def test_pivots_are_those_of_native_rows(rng, pivots):
    X = rng.normal(size=(400, 4))
    on, native = (
        low_rank(g, 150, pivots=pivots) for g in (DeviceGram(RBF(gamma=0.2), X, PLACE), make_gram(RBF(0.2), X))
    )
    assert (on.pivots == native.pivots).all()
    assert_allclose(on.factor, native.factor, atol=1e-6)
    assert_allclose(on.residual, native.residual, atol=1e-9)
    triangle = on.factor[on.pivots]
    assert (np.triu(triangle, 1) == 0).all()
    F = solve_triangular(triangle, RBF(gamma=0.2)(X[on.pivots], X), lower=True).T
    assert_allclose(F, on.factor, atol=1e-5)
