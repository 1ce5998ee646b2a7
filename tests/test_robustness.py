"""Awkward parameters and awkward data: every fit ends, and says what it is worth."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from registry import ESTIMATORS, training_set
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning

from mercer.errors import NotSeparableError
from mercer.kernels import RBF, Linear, Polynomial
from mercer.svm import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM, QuantileSVR

every_estimator = pytest.mark.parametrize("make", ESTIMATORS.values(), ids=ESTIMATORS.keys())
priced = {name: make for name, make in ESTIMATORS.items() if np.isfinite(getattr(make(), "C", np.inf))}
# Where thousands of steps do not help, millions will not either: the limit keeps the tests short.
STEPS = 100_000


def is_hard(machine):
    return getattr(machine, "C", 1.0) == np.inf


def assert_sound(machine, X, y=None, **fit):
    """Fit, and look whether what is returned is finite, feasible and as good as it says.

    A ConvergenceWarning is due exactly when the status is not "solved"; any other warning is an error. The one
    error allowed is that a hard margin does not exist.
    """
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            machine.fit(X, y, **fit)
        except NotSeparableError:
            assert is_hard(machine)
            return None
    assert {w.category for w in told} <= {ConvergenceWarning}, [str(w.message) for w in told]
    result = machine.result_
    assert (result.status == "solved") == (not told), [str(w.message) for w in told]
    assert np.isfinite([result.objective, result.violation, result.imbalance]).all()
    assert not np.isnan([result.gap, result.bound]).any()
    assert np.isfinite(result.a).all()
    assert (result.a >= 0).all()
    assert result.bound <= result.objective + 1e-9 * abs(result.objective)
    assert result.imbalance <= 1e-6 * max(1.0, result.a.sum())
    if result.status == "solved":
        assert result.violation <= machine.tol
    if result.status == "indefinite":
        assert result.bound == -np.inf
    assert np.isfinite(machine.intercept_).all()
    predicted = machine.predict(X)
    if is_classifier(machine):
        assert np.isin(predicted, machine.classes_).all()
        assert np.isfinite(machine.decision_function(X)).all()
    else:
        assert np.isfinite(predicted).all()
    return machine


def test_assert_sound_can_fail():
    X, y = training_set(SVC())
    with pytest.raises(AssertionError):
        assert_sound(
            SVC(kernel=lambda A, B: warnings.warn("oh", stacklevel=1) or np.asarray(A) @ np.asarray(B).T), X, y
        )

    class Overconfident(SVC):
        def _keep_model(self, *args):
            super()._keep_model(*args)
            warnings.warn("not sure", ConvergenceWarning, stacklevel=1)

    with pytest.raises(AssertionError):
        assert_sound(Overconfident(), X, y)


# --- parameters -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", priced.values(), ids=priced.keys())
@pytest.mark.parametrize("kernel", [None, "linear"])
@pytest.mark.parametrize("C", [1e-6, 1e-3, 1e3, 1e6, 1e8])
def test_prices(make, C, kernel):
    X, y = training_set(make())
    machine = make().set_params(C=C, max_iter=STEPS)
    machine = assert_sound(machine.set_params(kernel=kernel or machine.kernel), X, y)
    if C <= 1 and not kernel:
        assert machine.result_.status == "solved"
    if isinstance(machine, SVC) and machine.loss == "hinge" and machine.class_weight is None:
        assert machine.result_.a.max() <= C


@every_estimator
@pytest.mark.parametrize("gamma", [1e-10, 1e-6, 1e-3, 1e3, 1e6, 1e10])
def test_kernel_widths(make, gamma):
    X, y = training_set(make())
    assert_sound(make().set_params(kernel=RBF(gamma=gamma), max_iter=STEPS), X, y)


@pytest.mark.parametrize(
    "machine",
    [SVC("linear", C=1e8), SVR(RBF(gamma=1e-3), C=1e8), SVC("linear", C=np.inf), SVC(RBF(gamma=1e-2), C=np.inf)],
    ids=["SVC", "SVR", "hard, not separable", "hard, narrow margin"],
)
def test_the_limits_that_we_set_ourselves(machine):
    """Nothing spins for ever, also without max_iter and max_seconds."""
    X, y = training_set(machine, n=40)
    assert_sound(machine, X, y)


@every_estimator
@pytest.mark.parametrize("tol", [1e-14, 1e-6, 10.0])
def test_tolerances(make, tol):
    X, y = training_set(make())
    assert_sound(make().set_params(tol=tol, max_iter=STEPS), X, y)


@pytest.mark.parametrize("make", [NuSVC, NuSVR, OneClassSVM, SVDD])
@pytest.mark.parametrize("nu", [1e-6, 1e-2, 0.999, 1.0])
def test_nu(make, nu):
    X, y = training_set(make())
    assert_sound(make(nu=nu, max_iter=STEPS), X, y)


@pytest.mark.parametrize("epsilon", [0.0, 1e-12, 1e3])
@pytest.mark.parametrize("loss", ["linear", "quadratic"])
def test_tubes(epsilon, loss):
    X, y = training_set(SVR())
    machine = assert_sound(SVR(epsilon=epsilon, loss=loss), X, y)
    if epsilon == 1e3:  # everything is inside
        assert len(machine.support_) == 0
        assert np.ptp(machine.predict(X)) == 0
        assert machine.dual_coef_.shape == (1, 0)
        assert machine.sparsity_ == 1.0
        samples, multipliers = machine.influence(3)
        assert len(samples) == len(multipliers) == 0


# --- data -------------------------------------------------------------------------------------------------

kernels = pytest.mark.parametrize(
    "kernel", ["rbf", "linear", "cosine", "laplacian", Polynomial(degree=2), "constant"], ids=str
)


def fit_all(X, y, make, kernel):
    return assert_sound(make().set_params(kernel=kernel, max_iter=STEPS), X, y)


@every_estimator
@kernels
def test_duplicated_samples(make, kernel):
    X, y = training_set(make(), n=20)
    fit_all(np.repeat(X, 4, axis=0), np.repeat(y, 4), make, kernel)


@every_estimator
@kernels
def test_the_same_sample_with_both_labels(make, kernel):
    X, y = training_set(make(), n=30)
    machine = fit_all(np.concatenate([X, X]), np.concatenate([y, 1 - y]), make, kernel)
    assert (machine is None) == is_hard(make())


@every_estimator
@kernels
def test_constant_features(make, kernel):
    X, y = training_set(make())
    fit_all(np.column_stack([X, np.zeros(len(X)), np.full(len(X), 7.0)]), y, make, kernel)
    fit_all(np.column_stack([X, np.full(len(X), 1e8)]), y, make, kernel)


@every_estimator
@kernels
def test_all_samples_equal(make, kernel):
    X, y = training_set(make(), n=20)
    for value in (0.0, 1.0, -3e5):
        same = np.full_like(X, value)
        machine = fit_all(same, y, make, kernel)
        assert (machine is None) == is_hard(make())
        if machine is not None and is_regressor(machine):
            assert y.min() - 1e-3 <= machine.predict(same[:1])[0] <= y.max() + 1e-3


@every_estimator
@kernels
def test_one_feature(make, kernel):
    X, y = training_set(make(), d=1)
    fit_all(X, y, make, kernel)


@every_estimator
@kernels
def test_badly_scaled_features(make, kernel):
    X, y = training_set(make())
    fit_all(X * np.array([1e-6, 1.0, 1e6]), y, make, kernel)
    fit_all(X + 1e6, y, make, kernel)


@every_estimator
@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e-9, 1e9, 1e30])
def test_units(make, scale):
    X, y = training_set(make())
    for kernel in ("rbf", "linear"):
        fit_all(X * scale, y, make, kernel)
    if is_regressor(make()):
        fit_all(X, y * min(scale, 1e9), make, "rbf")


@every_estimator
@kernels
def test_one_sample_per_class(make, kernel):
    X, y = np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([0, 1])
    machine = make().set_params(nu=1.0) if isinstance(make(), NuSVC) else make()
    assert_sound(machine.set_params(kernel=kernel), X, y)
    X, y = np.vstack([X, [[4.0, -1.0], [-3.0, -2.0]]]), np.arange(4)  # four classes, or four values
    assert_sound(clone(machine), X, y)


@pytest.mark.parametrize("make", [SVR, NuSVR, QuantileSVR, OneClassSVM, SVDD])
def test_one_sample(make):
    machine = assert_sound(make(), np.array([[1.0, 2.0]]), np.array([3.0]))
    if is_regressor(machine):
        assert machine.predict([[5.0, 5.0]])[0] == pytest.approx(3.0, abs=0.11)
    else:
        assert_array_equal(machine.predict([[1.0, 2.0], [9.0, 9.0]]), [1, -1])


@pytest.mark.parametrize("make", [SVR, NuSVR, QuantileSVR])
def test_constant_target(make):
    X, _ = training_set(make())
    machine = assert_sound(make(), X, np.full(len(X), 5.0))
    assert_allclose(machine.predict(X), 5.0, atol=1e-9)


@every_estimator
def test_wide_samples(make):
    """100 000 features, dense and sparse."""
    X, y = training_set(make(), n=24, d=100_000)
    sparse = csr_array(
        (np.arange(24 * 50) % 7 - 3.0, np.arange(24 * 50) * 83 % 100_000, np.arange(25) * 50), (24, 100_000)
    )
    assert_sound(make(), X, y)
    machine = assert_sound(make(), sparse, y)
    dense = assert_sound(make(), sparse.toarray(), y)
    if not isinstance(machine, NuSVC):  # whose multipliers are not unique here
        assert_allclose(machine.norm_, dense.norm_, rtol=1e-5)


@every_estimator
def test_indefinite_kernels(make):
    X, y = training_set(make())
    K = np.random.default_rng(0).normal(size=(len(X), len(X)))
    K = K + K.T
    np.fill_diagonal(K, 1.0)
    for kernel, samples in (("precomputed", K), ("sigmoid", 3 * X), ("sigmoid", X[:, :1])):
        machine = assert_sound(make().set_params(kernel=kernel, max_iter=STEPS), samples, y)
        if machine is not None and machine.result_.status not in ("max_iter", "stalled"):
            assert machine.result_.status == "indefinite"
            assert machine.result_.bound == -np.inf


def test_an_indefinite_matrix_is_told():
    K = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    with pytest.warns(ConvergenceWarning, match="SVC .*status indefinite.*not positive semi-definite"):
        machine = SVC(kernel="precomputed").fit(K, [0, 1, 1])
    assert machine.result_.status == "indefinite"
    assert machine.result_.bound == -np.inf
    assert machine.result_.gap == np.inf


def test_rounding_is_not_indefinite():
    """A matrix of rank 3 in float32 has eigenvalues of minus some rounding."""
    X, y = training_set(SVC(), n=200)
    for dtype in (np.float32, np.float64):
        K = (X @ X.T).astype(dtype)
        assert SVC(kernel="precomputed").fit(K, y).result_.status == "solved"


# --- containers -------------------------------------------------------------------------------------------


def sparse_samples(n=60, d=9):
    X, y = training_set(SVC(), n=n, d=d)
    X[np.random.default_rng(1).random(X.shape) < 0.5] = 0.0
    X[[3, 20, 41]] = 0.0  # empty rows
    return np.round(X * 8), y


def with_explicit_zeros(X):
    full = csr_array(np.where(X == 0, 99.0, X))
    full.data[full.data == 99.0] = 0.0
    assert full.nnz == X.size
    return full


def unsorted(X):
    sparse = csr_array(X)
    for start, end in zip(sparse.indptr[:-1], sparse.indptr[1:], strict=True):
        order = slice(start, end)
        sparse.indices[order], sparse.data[order] = sparse.indices[order][::-1].copy(), sparse.data[order][::-1].copy()
    sparse.has_sorted_indices = False
    return sparse


def with_duplicates(X):
    sparse = csr_array(X)
    twice = csr_array(
        (np.repeat(sparse.data / 2, 2), np.repeat(sparse.indices, 2), 2 * sparse.indptr), shape=sparse.shape
    )
    twice.has_canonical_format = False
    return twice


def with_long_indices(X):
    sparse = csr_array(X)
    sparse.indices, sparse.indptr = sparse.indices.astype(np.int64), sparse.indptr.astype(np.int64)
    return sparse


def frozen(X):
    sparse = csr_array(X)
    for array in (sparse.data, sparse.indices, sparse.indptr):
        array.flags.writeable = False
    return sparse


SPARSE = [csr_array, csr_matrix, with_explicit_zeros, unsorted, with_duplicates, with_long_indices, frozen]


@every_estimator
@pytest.mark.parametrize("convert", SPARSE, ids=lambda f: f.__name__)
def test_sparse_matrices_of_all_kinds(make, convert):
    X, y = sparse_samples()
    machine = make().set_params(C=1.0) if is_hard(make()) else make()
    expected = assert_sound(clone(machine), csr_array(X), y)
    given = convert(X)
    before = given.copy()
    found = assert_sound(machine, given, y)
    assert_array_equal(found.support_, expected.support_)
    assert_allclose(found.dual_coef_, expected.dual_coef_, rtol=1e-9, atol=1e-12)
    assert_allclose(found.predict(given), expected.predict(csr_array(X)), rtol=1e-9, atol=1e-12)
    # what was given is as it was
    assert_array_equal(given.indices, before.indices)
    assert_array_equal(given.data, before.data)
    assert_array_equal(given.indptr, before.indptr)


def read_only(array, folder):
    array = array.copy()
    array.flags.writeable = False
    return array


def fortran(array, folder):
    return np.asfortranarray(array)


def big_endian(array, folder):
    return array.astype(array.dtype.newbyteorder(">"))


def memory_mapped(array, folder):
    path = folder / f"{len(list(folder.iterdir()))}.npy"
    np.save(path, array)
    return np.load(path, mmap_mode="r")


def strided(array, folder):
    wide = np.zeros([2 * k for k in array.shape], dtype=array.dtype)
    view = wide[tuple(slice(None, None, 2) for _ in array.shape)]
    view[...] = array
    return view


def backwards(array, folder):
    return array[::-1].copy()[::-1]


def unaligned(array, folder):
    view = np.zeros(array.nbytes + 1, dtype=np.uint8)[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    assert not view.flags.aligned
    return view


@every_estimator
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "convert",
    [read_only, fortran, big_endian, memory_mapped, strided, backwards, unaligned],
    ids=lambda f: f.__name__,
)
def test_arrays_of_all_kinds(make, convert, dtype, tmp_path):
    X, y = training_set(make())
    X, weight = X.astype(dtype), np.linspace(0.5, 1.5, len(X))
    expected = make().fit(X, y, sample_weight=weight)
    given = [convert(array, tmp_path) for array in (X, y.astype(np.float64), weight)]
    found = make().fit(given[0], given[1], sample_weight=given[2])
    assert_array_equal(found.dual_coef_, expected.dual_coef_)
    assert_array_equal(found.intercept_, expected.intercept_)
    assert_array_equal(found.predict(given[0]), expected.predict(X))
    K = expected.kernel_(X)
    given = convert(K, tmp_path)
    machine = make().set_params(kernel="precomputed")
    assert_array_equal(clone(machine).fit(given, y).dual_coef_, clone(machine).fit(K, y).dual_coef_)


def test_prediction_for_no_or_one_sample():
    X, y = training_set(SVC())
    machine = SVC().fit(X, y)
    assert machine.predict(X[:1]).shape == (1,)
    assert machine.decision_function(X[:1])[0] == pytest.approx(machine.decision_function(X)[0], rel=1e-12)
    with pytest.raises(ValueError, match="0 sample"):
        machine.predict(X[:0])


@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Linear()], ids=repr)
def test_predictions_do_not_depend_on_the_others(kernel):
    X, y = training_set(SVC(), n=150)
    machine = SVC(kernel).fit(X, y)
    together = machine.decision_function(X)
    for size in (1, 3, 17, 64):
        parts = [machine.decision_function(X[k : k + size]) for k in range(0, len(X), size)]
        assert_allclose(np.concatenate(parts), together, rtol=1e-10, atol=1e-12)
