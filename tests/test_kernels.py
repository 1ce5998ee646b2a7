"""Kernels one by one: parameters, errors, algebra, inputs, names."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
from threadpoolctl import ThreadpoolController

from mercer import kernels
from mercer.errors import DomainError, IndefiniteError, InfeasibleError, NotSeparableError
from mercer.kernels import (
    RBF,
    Chi2,
    Constant,
    Exponential,
    FromFunction,
    Hamming,
    Indexed,
    Intersection,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Power,
    Product,
    RationalQuadratic,
    Sigmoid,
    Sum,
    as_kernel,
)
from mercer.kernels.base import Kernel
from mercer.kernels.samples import row_blocks
from mercer.kernels.vectors import bandwidth
from mercer.threads import effective_n_threads, in_threads, limit_threads, one_blas_thread, quiet_blas

X, Y = np.split(np.random.default_rng(0).normal(size=(19, 3)), [12])

# --- parameters -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (RBF(gamma=-1), "gamma must be a float >= 0, one such number for every feature or 'scale' or 'auto'"),
        (RBF(gamma=-1), "got -1"),
        (RBF(gamma="sclae"), "got 'sclae'"),
        (RBF(gamma=np.nan), "got nan"),
        (RBF(gamma=np.inf), "got inf"),
        (RBF(gamma=None), "got None"),
        (RBF(gamma=True), "got True"),
        (RBF(gamma=[1.0, -2.0, 1.0]), r"gamma must be .* got \[1.0, -2.0, 1.0\]"),
        (RBF(gamma=["a", "b", "c"]), "gamma must be"),
        (RBF(gamma=[]), "gamma must be"),
        (Matern(length_scale=0.0), "length_scale must be a float > 0"),
        (Matern(nu=0.0), "nu must be a float > 0"),
        (Matern(nu=200.0), r"nu must be in \(0, 100\] or inf, got 200.0"),
        (RationalQuadratic(alpha=0), "alpha must be a float > 0, got 0"),
        (Polynomial(degree=0), "degree must be an int >= 1, got 0"),
        (Polynomial(degree=2.5), "degree must be an int >= 1, got 2.5"),
        (Polynomial(gamma="median"), "gamma must be a float >= 0 or 'scale' or 'auto', got 'median'"),
        (Sigmoid(coef0="a"), "coef0 must be a float, got 'a'"),
        (Sigmoid(coef0=-np.inf), "coef0 must be a float, got -inf"),
        (RBF(gamma=[[1.0, 2.0, 3.0]]), "gamma must be"),
        (Exponential(gamma="scale"), "gamma must be"),
        (Laplacian(gamma=[1.0, 1.0, 1.0]), "gamma must be a float >= 0 or 'auto'"),
        (Chi2(gamma=-0.1), "gamma must be"),
        (Hamming(normalize="yes"), "normalize must be False or True, got 'yes'"),
        (Constant(-1.0), "value must be a float >= 0, got -1.0"),
        (Constant(2.0) + RBF(gamma=-1), "gamma must be"),
        (RBF(gamma=-1) ** 2, "gamma must be"),
    ],
)
def test_parameters_are_checked(kernel, message):
    for call in (kernel, kernel.diag, kernel.resolve):
        with pytest.raises(ValueError, match=message):
            call(X)


def test_one_parameter_for_every_feature():
    with pytest.raises(ValueError, match="gamma has 2 values, X has 3 features; give one for each feature"):
        RBF(gamma=[1.0, 2.0])(X)
    with pytest.raises(ValueError, match="length_scale has 2 values, X has 3 features"):
        Matern(length_scale=[1.0, 2.0])(X, Y)


def test_sigma():
    assert RBF.from_sigma(2.0).gamma == 0.125
    assert type(RBF.from_sigma(2).gamma) is float
    assert_array_equal(RBF.from_sigma([1.0, 2.0]).gamma, [0.5, 0.125])
    assert Exponential.from_sigma(2.0).gamma == 0.125
    for make, sigma in ((RBF, 0.0), (RBF, "scale"), (RBF, [1.0, -1.0]), (Exponential, [1.0, 2.0])):
        with pytest.raises(ValueError, match="sigma must be a float > 0"):
            make.from_sigma(sigma)


def test_errors_are_value_errors():
    assert all(issubclass(e, ValueError) for e in (DomainError, IndefiniteError, InfeasibleError, NotSeparableError))


def test_definiteness():
    assert RBF().definite is True
    assert Sigmoid().definite is False
    assert Polynomial(coef0=0.5).definite is True
    assert Polynomial(coef0=-0.5).definite is False
    assert FromFunction(np.dot).definite is None
    assert (RBF() + Linear()).definite is True
    assert (RBF() + FromFunction(np.dot)).definite is None
    assert (FromFunction(np.dot) * Sigmoid()).definite is False
    assert (Sigmoid() ** 2).definite is False


def test_base_class_asks_for_a_matrix():
    class Nothing(Kernel):
        domain = "any"

    with pytest.raises(NotImplementedError, match="Nothing does not say how it is computed"):
        Nothing()(X)
    with pytest.raises(NotImplementedError, match="Nothing has no explicit feature map"):
        Nothing().features(X)
    assert Nothing().native() is None


def test_features_of_a_polynomial_are_limited():
    with pytest.raises(ValueError, match="would have 4590551 features"):
        Polynomial(3, gamma=1.0, coef0=1.0).features(np.ones((1, 300)))
    with pytest.raises(ValueError, match="coef0 >= 0"):
        Polynomial(3, gamma=1.0, coef0=-1.0).features(X)


# --- algebra ----------------------------------------------------------------------------------------------


def test_expressions_are_flat():
    a, b, c = RBF(gamma=1.0), Linear(), Laplacian(gamma=2.0)
    assert (a + b + c).kernels == (a, b, c)
    assert (a + (b + c)).kernels == (a, b, c)
    assert (a * b * c).kernels == (a, b, c)
    assert (2 * (a * b)).kernels == (Constant(2.0), a, b)
    assert (a * b + c).kernels == (Product(a, b), c)
    assert sum([a, b, c]) == Sum(a, b, c)
    assert (a**2) ** 3 == Power(a, 6)
    assert repr((a + b) * c**2) == "(RBF(gamma=1.0) + Linear()) * (Laplacian(gamma=2.0) ** 2)"


def test_numbers():
    kernel = RBF(gamma=1.0)
    K = kernel(X)
    assert_allclose((3 * kernel)(X), 3 * K)
    assert_allclose((kernel * 3)(X), 3 * K)
    assert_allclose((kernel + 3)(X), K + 3)
    assert_allclose((np.float64(3) + kernel)(X), K + 3)
    assert_allclose((np.float32(3) * kernel)(X), 3 * K)
    assert_array_equal((0 * kernel)(X), 0 * K)
    assert_allclose((2 * Constant(3.0))(X), np.full_like(K, 6.0))
    assert_allclose((2 * kernel).dot(X, Y, np.ones(7)), 2 * kernel(X, Y).sum(axis=1))
    for bad in (lambda: -1 * kernel, lambda: kernel * np.float64(-0.5), lambda: kernel * np.nan):
        with pytest.raises(ValueError, match="multiplied with a kernel must be finite and >= 0"):
            bad()
    for bad in (lambda: kernel + -1, lambda: kernel + np.inf):
        with pytest.raises(ValueError, match="added to a kernel must be finite and >= 0, got"):
            bad()
    for bad in (
        lambda: np.ones(3) * kernel,
        lambda: kernel + "rbf",
        lambda: "rbf" + kernel,
        lambda: kernel - 1,
    ):
        with pytest.raises(TypeError):
            bad()


def test_powers():
    kernel = Linear() + 1
    assert_allclose((kernel**5)(X), kernel(X) ** 5, rtol=1e-13)
    for exponent in (0.5, 0, -1, 2.0, True):
        with pytest.raises(ValueError, match="exponent of a kernel must be an int >= 1"):
            kernel**exponent
    with pytest.raises(ValueError, match="not positive semi-definite"):
        (kernel**2) ** 0.5


def test_children_are_named_by_position():
    kernel = 2 * RBF(gamma=1.0) + Linear() ** 2
    params = kernel.get_params()
    assert set(params) == {"0", "1", "0__0", "0__0__value", "0__1", "0__1__gamma", "1__kernel", "1__exponent"}
    assert set(kernel.get_params(deep=False)) == {"0", "1"}
    kernel.set_params(**{"0__1__gamma": 5.0, "1__exponent": 3, "0__0": Constant(4.0)})
    assert repr(kernel) == "(Constant(value=4.0) * RBF(gamma=5.0)) + (Linear() ** 3)"
    kernel.set_params(**{"1": RBF(gamma=1.0), "1__gamma": 7.0})
    assert kernel.kernels[1].gamma == 7.0
    for name in ("2__gamma", "gamma", "x"):
        with pytest.raises(ValueError, match=f"Invalid parameter '{name}'.*children are named 0, 1"):
            kernel.set_params(**{name: 1.0})
    before = repr(kernel)
    with pytest.raises(TypeError, match="needs a kernel, got 'rbf'"):
        kernel.set_params(**{"0": "rbf"})
    with pytest.raises(DomainError):
        kernel.set_params(**{"0": Hamming()})
    assert repr(kernel) == before


def test_parameters_reach_through_an_estimator():
    class Machine(BaseEstimator):
        def __init__(self, kernel):
            self.kernel = kernel

    machine = Machine(kernel=RBF(gamma=1.0) + Linear())
    assert clone(machine).set_params(kernel__0__gamma=3.0).kernel == RBF(gamma=3.0) + Linear()
    assert machine.kernel == RBF(gamma=1.0) + Linear()
    assert "kernel__0__gamma" in machine.get_params()


def test_kernels_in_a_grid_search():
    y = np.arange(12) % 2
    grid = {"kernel": [RBF(gamma=0.5), Linear(), RBF(gamma=np.array([1.0, 2.0, 3.0])) + 1]}
    search = GridSearchCV(SVC(), grid, cv=2).fit(X, y)
    assert list(search.cv_results_["param_kernel"]) == grid["kernel"]


def test_wrong_children():
    with pytest.raises(ValueError, match="Sum needs at least one kernel"):
        Sum()
    with pytest.raises(TypeError, match="Product needs a kernel, got 'rbf'"):
        Product(RBF(), "rbf")
    with pytest.raises(TypeError, match="Power needs a kernel"):
        Power("rbf", 2)(X)


def test_equality():
    assert RBF(gamma=1.0) == RBF(gamma=1)
    assert RBF(gamma=1.0) != RBF(gamma=2.0)
    assert RBF(gamma=1.0) != Laplacian(gamma=1.0)
    assert RBF(gamma=np.array([1.0, 2.0])) == RBF(gamma=[1.0, 2.0])
    assert RBF(gamma=np.array([1.0, 2.0])) != RBF(gamma=np.array([1.0, 3.0]))
    assert RBF(gamma=np.array([1.0, 2.0])) != RBF(gamma="scale")
    assert Sum(RBF(), Linear()) != Sum(RBF(), Linear(), Linear())
    assert RBF() != "rbf"
    assert len({RBF(gamma=1.0), RBF(gamma=1.0), Linear()}) == 2


# --- inputs -----------------------------------------------------------------------------------------------


def test_forms_of_dense_samples(tmp_path):
    kernel = RBF(gamma=0.3)
    K = kernel(X, Y)
    np.save(tmp_path / "x.npy", X)
    locked = X.copy()
    locked.flags.writeable = False
    forms = [
        X.tolist(),
        np.asfortranarray(X),
        np.repeat(X, 2, axis=0)[::2],
        X.astype(">f8"),
        np.load(tmp_path / "x.npy", mmap_mode="r"),
        X.astype(object),
        locked,
        pd.DataFrame(X),
        pd.DataFrame(X).astype("Float64"),
        pl.DataFrame(X),
    ]
    for form in forms:
        assert_array_equal(kernel(form, Y), K)
    single = X.astype(np.float32)
    for form in (single.astype(">f4"), pd.DataFrame(single), pl.DataFrame(single), csr_matrix(single)):
        assert kernel(form).dtype == np.float32
    for form in (X.astype(np.float16), X.astype(np.int32), X > 0, csr_matrix(X > 0)):
        assert kernel(form).dtype == np.float64
    assert_allclose(kernel(csr_matrix(X), pd.DataFrame(Y)), K, rtol=1e-13)


@pytest.mark.parametrize("convert", [np.asarray, csr_array, pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_non_finite_samples_are_refused(convert, value, word):
    bad = Y.copy()
    bad[2, 1] = value
    with pytest.raises(ValueError, match=f"Input X contains {word}"):
        RBF(gamma=1.0)(convert(bad))
    with pytest.raises(ValueError, match=f"Input Y contains {word}"):
        RBF(gamma=1.0)(X, convert(bad))


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        (np.ones(3), r"RBF works on vectors, got an array of shape \(3,\) .*reshape\(-1, 1\)"),
        (np.ones((2, 2, 2)), r"got an array of shape \(2, 2, 2\)"),
        (np.float64(1.0), "works on vectors"),
        ([], "got an empty list"),
        ([[1.0, 2.0], [3.0]], "got a list of list as X; give every sample the same number of features"),
        (["a", "b"], "RBF works on vectors, got a list of str as X; use Hamming for categories"),
        (np.array([["1", "2"]]), "dtype <U1"),
        (np.array([["1", 2.0]], dtype=object), "dtype object"),
        (np.ones((2, 2), dtype=complex), "dtype complex128"),
        (
            csr_array(np.ones((2, 2), dtype=complex)),
            r"a sparse matrix of shape \(2, 2\) and dtype complex128",
        ),
        (pd.DataFrame({"a": ["x", "y"], "b": [1, 2]}), r"got a DataFrame of shape \(2, 2\)"),
        (pl.DataFrame({"a": ["x", "y"], "b": [1, 2]}), "works on vectors"),
        (None, "works on vectors"),
        ({"a": 1}, "works on vectors"),
    ],
)
def test_samples_that_are_no_vectors(samples, message):
    with pytest.raises(DomainError, match=message):
        RBF(gamma=1.0)(samples)


def test_mismatches_name_both_sides():
    with pytest.raises(ValueError, match="X has 3 features, Y has 2; Linear needs the same on both sides"):
        Linear()(X, Y[:, :2])
    with pytest.raises(ValueError, match="X has 2 columns, Y has 1; Hamming needs"):
        Hamming()([["a", "b"]], [["a"]])
    with pytest.raises(ValueError, match=r"needs at least one feature, X has shape \(3, 0\)"):
        Linear()(np.ones((3, 0)))
    with pytest.raises(ValueError, match="has shape"):
        Linear().dot(X, Y, np.ones((7, 1, 1)))


def test_histograms_are_not_negative():
    for kernel in (Chi2(), Intersection()):
        for form in (np.asarray, csr_array):
            with pytest.raises(DomainError, match="X has the negative entry -"):
                kernel(form(X))
            with pytest.raises(DomainError, match="Y has the negative entry -"):
                kernel(form(np.abs(X)), form(Y))


@pytest.mark.parametrize(
    "kernel",
    [RBF(0.5), Linear(), Laplacian(0.5), Intersection(), Chi2(0.5), kernels.Cosine(), kernels.Tanimoto()],
    ids=lambda kernel: type(kernel).__name__,
)
def test_numbers_of_features_may_be_anything(kernel, rng):
    """Hashed words: sixteen rows over all features, as they once were spread, would not fit into any memory."""
    narrow = csr_array(rng.random((50, 40)) * (rng.random((50, 40)) < 0.3))
    numbers = np.sort(rng.choice(2**31 - 2, 40, replace=False)).astype(np.int32)
    wide = csr_array((narrow.data, numbers[narrow.indices], narrow.indptr), shape=(50, 2**31 - 1))
    for rows, others in [(wide, None), (wide, wide[:20]), (wide[:3], wide[3:5])]:
        known = [
            None
            if own is None
            else csr_array((own.data, np.searchsorted(numbers, own.indices), own.indptr), shape=(own.shape[0], 40))
            for own in (rows, others)
        ]
        assert_array_equal(kernel(rows, others), kernel(*known))
    v = rng.normal(size=(20, 2))
    assert_array_equal(kernel.dot(wide, wide[:20], v), kernel.dot(narrow, narrow[:20], v))


def test_many_features_and_large_sparse_rows():
    wide = csr_array(([1.0, 2.0, 3.0], ([0, 0, 1], [5, 99_999, 99_999])), shape=(2, 100_000))
    assert_array_equal(Linear()(wide), [[5.0, 6.0], [6.0, 9.0]])
    with pytest.raises(ValueError, match="2147483648 features"):
        Linear()(csr_array((1, 2**31)))


def test_blocks_cover_all_rows(monkeypatch, rng):
    monkeypatch.setattr("mercer.kernels.samples.BLOCK_ENTRIES", 20)
    assert list(row_blocks(7, 8)) == [slice(0, 2), slice(2, 4), slice(4, 6), slice(6, 7)]
    assert list(row_blocks(2, 100)) == [slice(0, 1), slice(1, 2)]
    assert list(row_blocks(0, 5)) == []
    assert list(row_blocks(3, 5, entries=10)) == [slice(0, 2), slice(2, 3)]
    kernel = RBF(gamma=[1.0, 2.0, 3.0]) * Linear()
    blockwise = kernel.dot(X, Y, np.eye(7))
    monkeypatch.undo()
    assert_allclose(blockwise, kernel(X, Y), rtol=1e-13)


@pytest.mark.parametrize("kernel", [RBF(gamma=0.5), RBF(gamma=[1.0, 2.0, 3.0]), Matern(2.0)])
def test_blocks_of_derivatives(monkeypatch, rng, kernel):
    """Weights in a triangle count once, whatever the blocks; as symmetric ones half of which they are."""
    W = rng.normal(size=(12, 12))
    (whole,) = kernel.vjp(X, W).values()
    monkeypatch.setattr("mercer.kernels.vectors.base.IN_CACHE", 60)
    for same in (W, np.triu(W) + np.tril(W, -1).T, np.tril(W) + np.triu(W, 1).T):
        assert_allclose(next(iter(kernel.vjp(X, same).values())), whole, rtol=1e-10)


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_closed_slopes_of_matern_are_those_of_bessel_functions(rng, nu):
    W = rng.normal(size=(12, 12))
    for length_scale in (1.5, np.array([1.0, 2.0, 3.0])):
        closed, general = (Matern(length_scale, nu=order).vjp(X, W)["length_scale"] for order in (nu, nu * (1 + 1e-9)))
        assert_allclose(closed, general, rtol=1e-6)


# --- categories -------------------------------------------------------------------------------------------


def test_categories_are_compared_as_they_are():
    rows = [["red", 1, True], ["blue", 1, False], ["red", 2, False]]
    expected = [[3, 1, 1], [1, 3, 1], [1, 1, 3]]
    columns = {"a": ["red", "blue", "red"], "b": [1, 1, 2], "c": [True, False, False]}
    forms = [
        rows,
        [tuple(row) for row in rows],
        np.array(rows, dtype=object),
        pd.DataFrame(columns),
        pd.DataFrame(columns).astype({"a": "category", "b": "Int64"}),
        pl.DataFrame(columns),
        pl.DataFrame(columns).with_columns(pl.col("a").cast(pl.Categorical)),
    ]
    for form in forms:
        for other in forms:
            assert_array_equal(Hamming()(form, other), expected)
    assert_array_equal(Hamming()([["1", 1]], [[1, 1]]), [[1]])
    assert_array_equal(Hamming()(np.array([[1, 2]]), [["1", 2]]), [[1]])
    assert_array_equal(Hamming(normalize=True)(rows), np.array(expected) / 3)


def test_large_codes_stay_different():
    big = 2**53
    assert_array_equal(Hamming()(np.array([[big], [big + 1]])), np.eye(2))
    assert_array_equal(Hamming()(np.array([[2**64 - 1], [2**64 - 2]], dtype=np.uint64)), np.eye(2))
    assert_array_equal(Hamming()(csr_array(np.array([[big], [big + 1]]))), np.eye(2))


@pytest.mark.parametrize(
    "missing",
    [
        [["a"], [None]],
        [["a"], [float("nan")]],
        pd.DataFrame({"a": ["x", None]}),
        pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}),
        pd.DataFrame({"a": pd.Categorical(["x", None])}),
        pl.DataFrame({"a": ["x", None]}),
    ],
)
def test_missing_categories_are_refused(missing):
    with pytest.raises(ValueError, match=r"Input X contains (NaN|missing values; give them a category)"):
        Hamming()(missing)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        Hamming()(np.array([[1.0], [np.nan]]))


def test_categories_are_a_table():
    for bad in (["a", "b"], np.array(["a", "b"]), pd.Series(["a", "b"]), [["a"], ["b", "c"]], [], "abc"):
        with pytest.raises(DomainError, match="Hamming works on tables of categories, one row per sample, got"):
            Hamming()(bad)


# --- parameters from the data -----------------------------------------------------------------------------


def test_weights_are_checked():
    kernel = RBF(gamma="mean")
    for weights, message in [
        (np.ones(11), r"sample_weight has shape \(11,\), for 12 samples it must be \(12,\)"),
        (-np.ones(12), "sample_weight must be finite and >= 0"),
        (np.full(12, np.nan), "sample_weight must be finite and >= 0"),
        (np.zeros(12), "at least one sample of positive weight"),
    ]:
        with pytest.raises(ValueError, match=message):
            kernel.resolve(X, weights)
    with pytest.raises(ValueError, match="at least one sample"):
        kernel.resolve(X[:0])


@pytest.mark.parametrize("word", ["mean", "median", "scale"])
def test_width_does_not_feel_the_order_or_a_shift(word, rng):
    data = rng.normal(size=(50, 4))
    gamma = RBF(gamma=word).resolve(data).gamma
    assert RBF(gamma=word).resolve(data[::-1]).gamma == pytest.approx(gamma, rel=1e-12)
    assert RBF(gamma=word).resolve(data + 1e4).gamma == pytest.approx(gamma, rel=1e-8)
    assert RBF(gamma=word).resolve(10 * data).gamma == pytest.approx(gamma / 100, rel=1e-12)


@pytest.mark.parametrize("word", ["mean", "median"])
def test_duplicates_add_no_pairs_of_distance_zero(word):
    data = np.array([[0.0], [2.0]])
    assert RBF(gamma=word).resolve(data).gamma == 0.25
    assert RBF(gamma=word).resolve(np.repeat(data, [50, 1], axis=0)).gamma == pytest.approx(0.25, rel=1e-12)
    signed_zero = np.array([[0.0], [-0.0], [2.0]])
    assert RBF(gamma=word).resolve(signed_zero).gamma == pytest.approx(0.25, rel=1e-12)


def test_median_of_many_samples(monkeypatch, rng):
    data = rng.normal(size=(400, 3))
    exact = RBF(gamma="median").resolve(data).gamma
    monkeypatch.setattr(bandwidth, "MOST_SAMPLES", 100)
    gamma = RBF(gamma="median").resolve(data).gamma
    assert gamma == pytest.approx(exact, rel=0.1)
    weights = rng.integers(0, 3, size=400)
    order = rng.permutation(400)
    chosen = RBF(gamma="median").resolve(data, weights).gamma
    assert RBF(gamma="median").resolve(data[order], weights[order]).gamma == pytest.approx(chosen, rel=1e-12)
    repeated = RBF(gamma="median").resolve(np.repeat(data, weights, axis=0)).gamma
    assert repeated == pytest.approx(chosen, rel=1e-12)
    assert RBF(gamma="median").resolve(csr_array(data)).gamma == pytest.approx(gamma, rel=1e-12)


def test_weighted_median():
    for values, weights in [([3.0, 1.0, 2.0], [1, 1, 1]), ([3.0, 1.0, 2.0], [2, 1, 1]), ([5.0, 4.0], [3, 3])]:
        expected = np.median(np.repeat(values, weights))
        assert bandwidth.weighted_median(np.array(values), np.array(weights, dtype=float)) == expected


def test_widths_of_extreme_data():
    assert RBF(gamma="mean").resolve(np.array([[0.0], [1e-160]])).gamma < np.inf
    for word in ("scale", "mean", "median"):
        with pytest.raises(ValueError, match="squared distances overflow"):
            RBF(gamma=word).resolve(np.array([[0.0], [1e200]]))


def test_unresolved_kernels_say_what_to_do():
    with pytest.raises(ValueError, match=r"RBF\(\) takes gamma from the data: call kernel.resolve\(X\)"):
        RBF()(X, Y)
    with pytest.raises(ValueError, match="takes 0__gamma and 1__kernel__gamma from the data"):
        (RBF() + Polynomial() ** 2)(X, Y)


# --- given kernels and names ------------------------------------------------------------------------------


def letters(A, B):
    return [[len(set(a) & set(b)) for b in B] for a in A]


def test_function_sees_the_samples_as_they_are():
    words = ["stay", "stray", "play"] * 30
    kernel = FromFunction(letters)
    K = np.array(letters(words, words))
    assert_array_equal(kernel(words), K)
    assert_array_equal(kernel.diag(words), np.diagonal(K))
    assert_array_equal(kernel.dot(words, words[:3], np.eye(3)), K[:, :3])
    assert kernel.vjp(words, np.ones((90, 90))) == {}
    combined = 2 * kernel + 1
    assert combined.domain == "any"
    assert_array_equal(combined(words), 2 * K + 1)
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    frame = pd.DataFrame(X)
    assert_array_equal(FromFunction(lambda a, b: a.to_numpy() @ b.to_numpy().T).diag(frame).shape, (12,))


def test_functions_are_checked():
    with pytest.raises(ValueError, match=r"returned shape \(7, 12\) where \(12, 7\) was expected"):
        FromFunction(lambda a, b: b @ a.T)(X, Y)
    with pytest.raises(ValueError, match="returned NaN or infinity"):
        FromFunction(lambda a, b: np.full((12, 7), np.nan))(X, Y)
    with pytest.raises(TypeError, match="function must be callable"):
        FromFunction(3)(X)


def test_indexed_shares_its_matrix():
    K = X @ X.T
    kernel = Indexed(K)
    for copy in (clone(kernel), kernel.resolve([0, 1]), clone(kernel + 1).kernels[0]):
        assert copy.K is K
    assert_array_equal(kernel([3, 1], [2, 0, 5]), K[np.ix_([3, 1], [2, 0, 5])])
    assert_array_equal(kernel(np.array([[3.0], [1.0]])), K[np.ix_([3, 1], [3, 1])])
    assert kernel([]).shape == (0, 0)
    assert Indexed(K.astype(np.float32))([0, 1]).dtype == np.float32
    assert_array_equal(Indexed([[1, 2], [2, 5]])([1]), [[5.0]])
    assert Indexed(K) == Indexed(K.copy())
    assert Indexed(K) != Indexed(2 * K)


def test_indexed_matrices_are_checked():
    with pytest.raises(ValueError, match=r"K must be a square matrix, got shape \(12, 3\)"):
        Indexed(X)([0])
    with pytest.raises(ValueError, match="K must be symmetric"):
        Indexed(np.triu(np.ones((3, 3)))).resolve([0])
    with pytest.raises(ValueError, match="K contains NaN"):
        Indexed(np.full((3, 3), np.nan)).resolve([0])
    with pytest.raises(DomainError, match="row numbers from 0 to 11, got 0 to 12 as Y"):
        Indexed(X @ X.T)([0], [0, 12])


def test_names():
    assert as_kernel("rbf") == RBF(gamma="scale")
    assert as_kernel("poly") == as_kernel("polynomial") == Polynomial(degree=3, gamma="scale", coef0=0.0)
    for name, make in kernels.ALIASES.items():
        assert type(as_kernel(name)) is make
        assert as_kernel(name) is not as_kernel(name)
    kernel = RBF(gamma=1.0)
    assert as_kernel(kernel) is kernel
    assert as_kernel(letters) == FromFunction(letters)
    with pytest.raises(ValueError, match="'precomputed' is no kernel but an option of estimators"):
        as_kernel("precomputed")
    with pytest.raises(ValueError, match=r"one of 'chi2', 'constant', .*'tanimoto', got 'rbff'"):
        as_kernel("rbff")
    with pytest.raises(TypeError, match=r"got the class RBF; write RBF\(\)"):
        as_kernel(RBF)
    with pytest.raises(TypeError, match=r"one of 'chi2', .*, got None"):
        as_kernel(None)


def test_every_public_kernel_is_documented():
    for name in kernels.__all__:
        item = getattr(kernels, name)
        if isinstance(item, type) and issubclass(item, Kernel):
            for section in ("Notes", "Examples") if item is Kernel else ("See Also", "Notes", "Examples"):
                assert f"\n    {section}\n    ---" in item.__doc__, (name, section)


# --- threads ----------------------------------------------------------------------------------------------


def test_number_of_threads(monkeypatch):
    monkeypatch.setattr("joblib.cpu_count", lambda: 6)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert effective_n_threads() == effective_n_threads(-1) == 6
    assert effective_n_threads(np.int64(3)) == 3
    for text, expected in [("4", 4), ("3,2", 3), ("64", 6), ("0", 6), ("", 6), ("many", 6)]:
        monkeypatch.setenv("OMP_NUM_THREADS", text)
        assert effective_n_threads() == expected
        assert effective_n_threads(-1) == 6
    for bad in (0, -2, 1.5, "2", True):
        with pytest.raises(ValueError, match=r"n_threads must be None, -1 .* or an int >= 1, got"):
            effective_n_threads(bad)


def test_blas_has_one_thread_until_the_last_caller_leaves():
    libraries = ThreadpoolController().select(user_api="blas")

    def n_threads():
        return {library["num_threads"] for library in libraries.info()}

    with libraries.limit(limits=2):
        with one_blas_thread():
            with one_blas_thread():
                assert n_threads() == {1}
            assert n_threads() == {1}
        assert n_threads() == {2}
        with pytest.raises(ZeroDivisionError), one_blas_thread():
            1 / 0  # noqa: B018
        assert n_threads() == {2}


def test_blas_is_quiet_where_matrices_are_small():
    libraries = ThreadpoolController().select(user_api="blas")
    with libraries.limit(limits=2):
        for n_rows, expected in ((2048, {1}), (2049, {2})):
            with quiet_blas(n_rows):
                assert {library["num_threads"] for library in libraries.info()} == expected


@pytest.mark.parametrize("n_threads", [1, 3])
def test_pieces_are_done_in_threads(n_threads):
    """In their order, with BLAS on one thread, and with the error of any of them."""
    libraries = ThreadpoolController().select(user_api="blas")

    def piece(k):
        return k, {library["num_threads"] for library in libraries.info()}

    with limit_threads(n_threads):
        assert in_threads(piece, range(7)) == [(k, {1}) for k in range(7)]
        assert in_threads(piece, []) == []
        with pytest.raises(ZeroDivisionError):
            in_threads(lambda k: 1 / (k - 5), range(7))


def test_limits_of_threads_nest():
    outside = effective_n_threads()
    with limit_threads(3):
        with limit_threads(None):
            assert effective_n_threads() == 3
        with limit_threads(2):
            assert effective_n_threads() == 2
            assert effective_n_threads(5) == 5
        assert effective_n_threads() == 3
    assert effective_n_threads() == outside
