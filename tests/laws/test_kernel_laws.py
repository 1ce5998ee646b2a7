"""What every kernel obeys, whatever it computes."""

import pickle

import numpy as np
import pytest
from kernel_registry import HOLDS_DATA, KERNELS, WRONG, n_features, samples
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import coo_array, csr_array
from sklearn.base import clone

from mercer import _native, kernels
from mercer.errors import DomainError
from mercer.features import ExplicitFeatures
from mercer.fingerprint import fingerprint
from mercer.kernels import Kernel
from mercer.kernels.algebra.base import Composite, Wrapped
from mercer.kernels.samples import native_samples
from mercer.threads import limit_threads

every_kernel = pytest.mark.parametrize("make", KERNELS.values(), ids=KERNELS.keys())
native_kernels = {name: make for name, make in KERNELS.items() if make().native() is not None}
every_native_kernel = pytest.mark.parametrize("make", native_kernels.values(), ids=native_kernels.keys())
# Kernels that take numbers in rows: all of those that can be given as float32 or as CSR.
numeric_kernels = {
    name: make
    for name, make in KERNELS.items()
    if make().domain in ("vectors", "any")
    and not isinstance(make(), (kernels.FromFunction, kernels.Mapped, kernels.Scaled))
}
every_numeric_kernel = pytest.mark.parametrize("make", numeric_kernels.values(), ids=numeric_kernels.keys())
# (how to make the kernel, parameter, word) wherever a word is turned into a number by the data
first_of_each_class = {type(make()): make for make in reversed(KERNELS.values())}
words = [
    pytest.param(make, parameter, word, id=f"{kind.__name__}-{parameter}-{word}")
    for kind, make in first_of_each_class.items()
    for parameter, rule in kind._parameters.items()
    for word in getattr(rule, "words", ())
]


# Parameters that are numbers and have no derivative.
WITHOUT_DERIVATIVE = {"gap_extend", "gap_open", "match", "mismatch", "nu", "weights"}


def assert_positive_semidefinite(K):
    eigenvalues = np.linalg.eigvalsh(K.astype(np.float64))
    assert eigenvalues[0] >= -1e-10 * max(1.0, eigenvalues[-1]), eigenvalues[0]


def test_assert_positive_semidefinite_can_fail():
    with pytest.raises(AssertionError):
        assert_positive_semidefinite(np.array([[1.0, 2.0], [2.0, 1.0]]))


def test_registry_is_complete():
    public = {getattr(kernels, name) for name in kernels.__all__ if name != "Kernel"}
    public = {item for item in public if isinstance(item, type) and issubclass(item, Kernel)}
    assert {type(make()) for make in KERNELS.values()} == public
    assert all(name.split()[0] == type(make()).__name__ for name, make in KERNELS.items())


# --- numbers ----------------------------------------------------------------------------------------------


@every_kernel
def test_symmetric(make):
    K = make()(samples(make(), 70))
    assert_array_equal(K, K.T)


@every_kernel
@pytest.mark.parametrize("d", [1, 4, 40])
def test_positive_semidefinite(make, d):
    kernel = make()
    if kernel.definite is not True:
        pytest.skip("not claimed")
    X = samples(kernel, 40, d)
    repeated = np.concatenate([X, X[:10], X[:10]])
    assert_positive_semidefinite(kernel(repeated))


@every_kernel
def test_diag_agrees(make):
    kernel = make()
    X = samples(kernel, 70, d=5)
    assert_array_equal(kernel.diag(X), np.diagonal(kernel(X)))
    assert kernel.diag(X).dtype == kernel(X).dtype


@every_numeric_kernel
@pytest.mark.parametrize("convert", [np.float32, csr_array], ids=["float32", "csr"])
def test_diag_agrees_in_other_forms(make, convert):
    kernel = make()
    X = convert(samples(kernel, 70, d=19))
    assert_array_equal(kernel.diag(X), np.diagonal(kernel(X)))


@every_kernel
def test_missing_Y_means_X(make):
    kernel = make()
    X = samples(kernel, 70)
    assert_array_equal(kernel(X), kernel(X, X.copy()))
    V = np.ones((70, 2))
    assert_array_equal(kernel.dot(X, None, V), kernel.dot(X, X.copy(), V))


@every_numeric_kernel
@pytest.mark.parametrize("convert", [np.float32, csr_array], ids=["float32", "csr"])
def test_missing_Y_means_X_in_other_forms(make, convert):
    kernel = make()
    X = convert(samples(kernel, 140, d=9))
    with limit_threads(3):
        assert_array_equal(kernel(X), kernel(X, X.copy()))


@every_kernel
@pytest.mark.parametrize("d", [1, 17, 64])
def test_values_depend_on_the_two_samples_alone(make, d):
    kernel = make()
    X, Y = samples(kernel, 75, d), samples(kernel, 133, d, seed=1)
    K = kernel(X, Y)
    rows, columns = np.random.default_rng(0).permutation(75)[:50], np.arange(133)[::-1]
    assert_array_equal(kernel(X[rows], Y[columns]), K[rows][:, columns])
    for i, j in [(0, 0), (74, 132), (33, 65), (7, 131)]:
        assert_array_equal(kernel(X[[i]], Y[[j]]), K[[i]][:, [j]])
    with limit_threads(3):
        assert_array_equal(kernel(X, Y), K)


@every_numeric_kernel
@pytest.mark.parametrize("convert", [np.float32, csr_array], ids=["float32", "csr"])
def test_values_depend_on_the_two_samples_alone_in_other_forms(make, convert):
    kernel = make()
    X, Y = convert(samples(kernel, 75, 9)), convert(samples(kernel, 133, 9, seed=1))
    K = kernel(X, Y)
    rows, columns = np.random.default_rng(0).permutation(75)[:50], np.arange(133)[::-1]
    assert_array_equal(kernel(X[rows], Y[columns]), K[rows][:, columns])


@every_kernel
def test_dot_is_the_product(make):
    kernel = make()
    X, Y = samples(kernel, 41), samples(kernel, 37, seed=1)
    V = np.random.default_rng(2).normal(size=(37, 3))
    expected = kernel(X, Y) @ V
    assert_allclose(kernel.dot(X, Y, V), expected, atol=1e-11)
    assert_allclose(kernel.dot(X, Y, np.asfortranarray(V)), expected, atol=1e-11)
    assert_allclose(kernel.dot(X, Y, csr_array(V)), expected, atol=1e-11)
    assert_allclose(kernel.dot(X, Y, V[:, 1]), expected[:, 1], atol=1e-11)
    with pytest.raises(ValueError, match="37 samples"):
        kernel.dot(X, Y, V[:-1])


@every_kernel
def test_no_samples_and_one_sample(make):
    kernel = make()
    X = samples(kernel, 5)
    assert kernel(X[:0], X).shape == (0, 5)
    assert kernel(X, X[:0]).shape == (5, 0)
    assert kernel.diag(X[:0]).shape == (0,)
    assert kernel.dot(X[:0], X, np.ones((5, 2))).shape == (0, 2)
    assert_array_equal(kernel.dot(X, X[:0], np.ones((0, 2))), np.zeros((5, 2)))
    assert_array_equal(kernel(X[:1]), kernel(X)[:1, :1])


@every_numeric_kernel
def test_float32_agrees(make):
    kernel = make()
    X = samples(kernel, 50, d=6).astype(np.float32)
    K = kernel(X)
    assert K.dtype == np.float32 == kernel.diag(X).dtype
    assert_allclose(K, kernel(X.astype(np.float64)), rtol=2e-5, atol=2e-6)
    assert kernel(X, X.astype(np.float64)).dtype == np.float64


@every_numeric_kernel
def test_csr_agrees(make):
    kernel = make()
    X = samples(kernel, 50, d=8)
    X[np.random.default_rng(0).random(X.shape) < 0.6] = 0.0
    X[3] = X[11] = 0.0
    K = kernel(X)
    assert_allclose(kernel(csr_array(X)), K, rtol=1e-12, atol=1e-13)
    assert_allclose(kernel(X, csr_array(X)), K, rtol=1e-12, atol=1e-13)
    assert_allclose(kernel(csr_array(X), X), K, rtol=1e-12, atol=1e-13)
    assert_allclose(kernel.diag(csr_array(X)), np.diagonal(K), rtol=1e-12)
    W = np.random.default_rng(1).normal(size=(50, 50))
    sparse, dense = kernel.vjp(csr_array(X), W), kernel.vjp(X, W)
    assert sparse.keys() == dense.keys()
    for name in dense:
        assert_allclose(sparse[name], dense[name], rtol=1e-9, atol=1e-10)


@every_native_kernel
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", [np.asarray, csr_array], ids=["dense", "csr"])
def test_simd_levels_agree(make, dtype, storage):
    kernel = make()
    X, Y = kernel.prepare(samples(kernel, 37, d=19), samples(kernel, 70, d=19, seed=1))
    X, Y = (native_samples(storage(side.astype(dtype))) for side in (X, Y))
    V = np.random.default_rng(0).normal(size=(70, 2))
    arguments = kernel.native().arguments()
    expected = _native.kernel_matrix(*arguments, X, Y, 1, "baseline").astype(np.float64)
    tolerance = 5e-5 if dtype == np.float32 else 1e-12
    for level in ["", *_native.simd_levels()]:
        K = _native.kernel_matrix(*arguments, X, Y, 2, level)
        assert_allclose(K, expected, rtol=tolerance, atol=tolerance)
        product = _native.kernel_dot(*arguments, X, Y, V, 2, level)
        assert_allclose(product, expected @ V, rtol=0, atol=tolerance * np.abs(expected).sum(axis=1).max())


# --- derivatives ------------------------------------------------------------------------------------------


def finite_differences(kernel, name, X, W):
    """sum_ij W_ij dK_ij/dparameter by central differences, for a number or for each entry of an array."""
    value = np.atleast_1d(np.asarray(kernel.get_params()[name], dtype=np.float64))

    def objective(moved):
        return np.vdot(W, clone(kernel).set_params(**{name: moved if n_values else float(moved[0])})(X))

    n_values = np.ndim(kernel.get_params()[name])
    slopes = []
    for i in range(len(value)):
        step = np.zeros(len(value))
        step[i] = 1e-5
        if value[i] == 0.0:  # at the edge: forward, with an error of second order
            ahead, further, here = objective(value + step), objective(value + 2 * step), objective(value)
            slopes.append((4 * ahead - further - 3 * here) / (2 * step[i]))
        else:
            slopes.append((objective(value + step) - objective(value - step)) / (2 * step[i]))
    return np.array(slopes) if n_values else slopes[0]


@every_kernel
def test_vjp_equals_finite_differences(make):
    kernel = make()
    X = samples(kernel, 25)
    W = np.random.default_rng(5).normal(size=(25, 25))
    derivatives = kernel.vjp(X, W)
    for name, value in derivatives.items():
        assert_allclose(value, finite_differences(kernel, name, X, W), rtol=1e-6, atol=1e-6)


@every_kernel
def test_vjp_has_every_continuous_parameter(make):
    kernel = make()
    X = samples(kernel, 6)
    continuous = {
        name
        for name, value in kernel.get_params().items()
        if isinstance(value, float) or (np.ndim(value) == 1 and np.asarray(value).dtype.kind in "iuf")
    }
    derivatives = kernel.vjp(X, np.ones((6, 6)))
    assert set(derivatives) == {name for name in continuous if name.split("__")[-1] not in WITHOUT_DERIVATIVE}
    for name, value in derivatives.items():
        assert np.shape(value) == np.shape(kernel.get_params()[name])


@every_kernel
def test_vjp_refuses_other_shapes(make):
    with pytest.raises(ValueError, match=r"\(6, 6\)"):
        make().vjp(samples(make(), 6), np.ones((6, 5)))


# --- algebra ----------------------------------------------------------------------------------------------


@every_kernel
def test_normalised_a_sample_is_exactly_one_with_itself(make):
    kernel = make()
    X = samples(kernel, 20)
    if kernel.definite is not True and (kernel.diag(X) < 0).any():
        pytest.skip("cannot be normalised")
    normalised = kernel.normalized()
    ones = np.diagonal(normalised(X))
    assert_array_equal(ones, normalised.diag(X))
    assert_array_equal(ones, (kernel.diag(X) != 0).astype(float))
    assert_array_equal(normalised(X[::-1])[::-1, ::-1], normalised(X))


@every_kernel
def test_every_kernel_joins_the_algebra(make):
    kernel = make()
    X, Y = samples(kernel, 12), samples(kernel, 7, seed=1)
    K, of_Y, cross = kernel(X).astype(float), kernel(Y).astype(float), kernel(X, Y).astype(float)
    scale = max(1.0, np.abs(K).max(), np.abs(of_Y).max())
    close = {"rtol": 1e-10, "atol": 1e-10 * scale}
    assert_allclose((2 * kernel + kernel**2 / 3)(X, Y), 2 * cross + cross**2 / 3, rtol=1e-10, atol=1e-10 * scale**2)
    squared = np.diagonal(K)[:, np.newaxis] + np.diagonal(of_Y) - 2 * cross
    sigma = np.sqrt(scale)
    assert_allclose(kernel.rbf(sigma)(X, Y), np.exp(-np.maximum(squared, 0) / (2 * scale)), **close)
    centred = cross - K.mean(axis=0)[:, np.newaxis] - cross.mean(axis=0) + K.mean()
    assert_allclose(kernel.centered(X)(X, Y), centred, **close)
    # Derivatives by parameters of a kernel inside go through reference samples, too.
    W = np.random.default_rng(2).normal(size=(7, 7))
    outside = kernel.centered(X[:5])
    derivatives = outside.vjp(Y, W)
    assert derivatives.keys() == {f"kernel__{name}" for name in kernel.vjp(Y, W)}
    for name, value in derivatives.items():
        expected = finite_differences(outside, name, Y, W)
        assert_allclose(value, expected, rtol=1e-5, atol=1e-5 * max(1.0, np.abs(expected).max()))


@every_kernel
def test_sparse_features_are_a_feature_map(make):
    X = samples(make(), 20)
    for kernel in (make(), make().normalized(), 2 * make() + 1):
        if kernel._sparse_features(kernel.prepare(X)[0]) is None:
            pytest.skip("has none")
        table = ExplicitFeatures(kernel).fit_transform(X)
        assert_allclose((table @ table.T).toarray(), kernel(X), rtol=1e-10, atol=1e-12)


# --- a kernel is a value ----------------------------------------------------------------------------------


@every_kernel
def test_clone_pickle_and_parameters_round_trip(make):
    kernel = make()
    X = samples(kernel, 20)
    K = kernel(X)
    for copy in (clone(kernel), pickle.loads(pickle.dumps(kernel)), kernel.resolve(X)):
        assert copy is not kernel
        assert copy == kernel
        assert hash(copy) == hash(kernel)
        assert repr(copy) == repr(kernel)
        assert copy.get_params().keys() == kernel.get_params().keys()
        assert_array_equal(copy(X), K)
    again = clone(kernel).set_params(**kernel.get_params())
    assert again == kernel
    assert_array_equal(again(X), K)


@every_kernel
def test_repr_can_be_read_back(make):
    kernel = make()
    if isinstance(kernel, HOLDS_DATA):
        pytest.skip("holds something that has no expression")
    names = {name: getattr(kernels, name) for name in kernels.__all__}
    assert eval(repr(kernel), {**names, "array": np.array, "inf": np.inf}) == kernel
    assert type(kernel).__name__ in kernel._repr_html_()


@every_kernel
def test_clones_share_nothing_but_given_matrices(make):
    kernel = make()
    copy = clone(kernel)
    for name, value in kernel.get_params().items():
        if isinstance(value, np.ndarray):
            assert (copy.get_params()[name] is value) == isinstance(kernel, HOLDS_DATA)
        elif isinstance(value, Kernel):
            assert copy.get_params()[name] is not value


@every_kernel
def test_inputs_are_not_changed(make):
    kernel = make()
    X, Y, V, W = samples(kernel, 12), samples(kernel, 9, seed=1), np.ones((9, 2)), np.ones((12, 12))
    before = [fingerprint(array) for array in (X, Y, V, W)]  # of what objects hold, too
    for array in (X, Y, V, W):
        array.flags.writeable = False
    state = repr(kernel), pickle.dumps(kernel.get_params())
    kernel(X, Y), kernel.diag(X), kernel.dot(X, Y, V), kernel.vjp(X, W), kernel.resolve(X)
    assert [fingerprint(array) for array in (X, Y, V, W)] == before
    assert state == (repr(kernel), pickle.dumps(kernel.get_params()))


@every_numeric_kernel
def test_untidy_sparse_inputs_are_read_and_not_changed(make):
    kernel = make()
    # Explicit zeros, unsorted columns, an entry in two parts, an empty row.
    d = n_features(kernel) or 3
    data = np.array([2.0, 1.0, 0.5, 0.5, 0.0, 3.0])
    indices, indptr = np.array([d - 1, 0, 1, 1, 0, 2]), np.array([0, 2, 5, 5, 6])
    X = csr_array((data.copy(), indices.copy(), indptr.copy()), shape=(4, d))
    dense = X.toarray()
    assert_allclose(kernel(X), kernel(dense), rtol=1e-13)
    assert_array_equal(X.data, data)
    assert_array_equal(X.indices, indices)
    assert_array_equal(X.indptr, indptr)
    for other in (X.tocsc(), coo_array(X, copy=True), X.tolil()):
        assert_allclose(kernel(other), kernel(dense), rtol=1e-13)


# --- domains ----------------------------------------------------------------------------------------------


def test_domains_are_not_mixed():
    by_domain = {make().domain: make for make in KERNELS.values()}
    assert {"vectors", "categories", "indices", "any"} <= by_domain.keys()
    any_kernel = by_domain.pop("any")()
    for domain, make in by_domain.items():
        assert (make() + any_kernel).domain == (any_kernel * make()).domain == domain
        for other, make_other in by_domain.items():
            if other != domain:
                with pytest.raises(DomainError, match=f"on {domain} and .* on {other}"):
                    make() + make_other()
                with pytest.raises(DomainError, match=f"on {domain} and .* on {other}"):
                    make() * make_other()


@every_kernel
def test_samples_of_another_domain_are_refused_by_name(make):
    kernel = make()
    if kernel.domain == "any":
        pytest.skip("takes anything")
    inside = kernel  # a kernel made of another one takes what that one takes
    while isinstance(inside, Wrapped) and inside.kernel.domain == kernel.domain:
        inside = inside.kernel
    name = "" if isinstance(inside, Composite) else type(inside).__name__
    for X in [[{"a": 1}, {"b": 2}], [object(), object()], *WRONG[kernel.domain]]:
        with pytest.raises(DomainError, match=f"{name} works on"):
            kernel(X)


# --- parameters from the data -----------------------------------------------------------------------------


@pytest.mark.parametrize(("make", "parameter", "word"), words)
def test_resolve_counts_a_sample_as_often_as_its_weight(make, parameter, word):
    kernel = make().set_params(**{parameter: word})
    X = samples(kernel, 30)
    weights = np.random.default_rng(3).integers(0, 4, size=30)
    weights[:2] = 0, 3
    before = repr(kernel)
    number = kernel.resolve(X, weights).get_params()[parameter]
    assert type(number) is float
    repeated = kernel.resolve(np.repeat(X, weights, axis=0)).get_params()[parameter]
    assert number == pytest.approx(repeated, rel=1e-12)
    kept = weights > 0
    assert number == kernel.resolve(X[kept], weights[kept]).get_params()[parameter]
    assert kernel.resolve(X, np.full(30, 0.3)).get_params()[parameter] == pytest.approx(
        kernel.resolve(X).get_params()[parameter], rel=1e-12
    )
    if kernel.domain == "vectors":
        assert number == pytest.approx(kernel.resolve(csr_array(X), weights).get_params()[parameter], rel=1e-12)
    assert repr(kernel) == before


@pytest.mark.parametrize(("make", "parameter", "word"), words)
def test_resolve_happens_once(make, parameter, word):
    kernel = make().set_params(**{parameter: word})
    X, Y = samples(kernel, 30), samples(kernel, 20, seed=1)
    resolved = kernel.resolve(X)
    assert_array_equal(kernel(X), resolved(X))
    assert_array_equal(kernel.diag(X), resolved.diag(X))
    assert resolved.resolve(Y) == resolved
    for call in (lambda: kernel(X, Y), lambda: kernel.dot(X, Y, np.ones(20)), lambda: (kernel + 1)(X, Y)):
        with pytest.raises(ValueError, match=r"kernel\.resolve\(X\)"):
            call()
    composite = (2 * kernel + kernel**2).resolve(X)
    assert_allclose(composite(Y), 2 * resolved(Y) + resolved(Y) ** 2, rtol=1e-12)


@pytest.mark.parametrize(("make", "parameter", "word"), words)
def test_resolve_without_spread(make, parameter, word):
    kernel = make().set_params(**{parameter: word})
    one = samples(kernel, 1)
    for X in (np.repeat(one, 4, axis=0), one):
        assert 0 < kernel.resolve(X).get_params()[parameter] < np.inf
