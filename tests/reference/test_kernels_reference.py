"""Kernels compared three ways: obvious Python, scikit-learn, limiting cases."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import naive_kernels as naive
from scipy.sparse import csr_array
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC

from mercer.kernels import (
    RBF,
    Chi2,
    Cosine,
    Exponential,
    Hamming,
    Intersection,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    Tanimoto,
)

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(23, 5)), rng.normal(size=(17, 5))
X[4] = X[9] = Y[2] = 0.0
Y[3] = X[5]
COUNTS_X, COUNTS_Y = np.abs(X), np.abs(Y)
CODES_X, CODES_Y = rng.integers(0, 3, size=(23, 5)), rng.integers(0, 3, size=(17, 5))

# --- obvious Python ---------------------------------------------------------------------------------------

TWINS = [
    (Linear(), naive.linear, {}),
    (Polynomial(3, gamma=0.5, coef0=1.5), naive.polynomial, {"degree": 3, "gamma": 0.5, "coef0": 1.5}),
    (Polynomial(4, gamma=1.0), naive.polynomial, {"degree": 4, "gamma": 1.0, "coef0": 0.0}),
    (Sigmoid(gamma=0.3, coef0=-1.0), naive.sigmoid, {"gamma": 0.3, "coef0": -1.0}),
    (Cosine(), naive.cosine, {}),
    (Tanimoto(), naive.tanimoto, {}),
    (RBF(gamma=0.4), naive.rbf, {"gamma": 0.4}),
    (RBF(gamma=[0.1, 0.2, 0.0, 3.0, 1.0]), naive.rbf_per_feature, {"gamma": [0.1, 0.2, 0.0, 3.0, 1.0]}),
    (RBF.from_sigma(1.5), naive.rbf, {"gamma": 1 / 4.5}),
    (Exponential(gamma=0.4), naive.exponential, {"gamma": 0.4}),
    (Exponential.from_sigma(1.5), naive.exponential, {"gamma": 1 / 4.5}),
    (Laplacian(gamma=0.4), naive.laplacian, {"gamma": 0.4}),
    (RationalQuadratic(1.4, alpha=0.6), naive.rational_quadratic, {"length_scale": 1.4, "alpha": 0.6}),
    *[
        (Matern(1.4, nu=nu), naive.matern, {"length_scale": 1.4, "nu": nu})
        for nu in (0.3, 0.5, 1.0, 1.5, 2.5, 3.7, 20.0)
    ],
]


@pytest.mark.parametrize(("kernel", "twin", "parameters"), TWINS)
@pytest.mark.parametrize("storage", [np.asarray, csr_array])
def test_obvious_python(kernel, twin, parameters, storage):
    expected = naive.matrix(lambda x, y: twin(x, y, **parameters), X.tolist(), Y.tolist())
    assert_allclose(kernel(storage(X), storage(Y)), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("storage", [np.asarray, csr_array])
def test_obvious_python_on_counts(storage):
    x, y = storage(COUNTS_X), storage(COUNTS_Y)
    expected = naive.matrix(lambda a, b: naive.chi2(a, b, 0.4), COUNTS_X.tolist(), COUNTS_Y.tolist())
    assert_allclose(Chi2(gamma=0.4)(x, y), expected, rtol=1e-12)
    expected = naive.matrix(naive.intersection, COUNTS_X.tolist(), COUNTS_Y.tolist())
    assert_allclose(Intersection()(x, y), expected, rtol=1e-12)


@pytest.mark.parametrize("storage", [np.asarray, csr_array, lambda codes: np.array(["a", "b", "c"])[codes]])
def test_obvious_python_on_categories(storage):
    x, y = storage(CODES_X), storage(CODES_Y)
    expected = np.array(naive.matrix(naive.hamming, CODES_X.tolist(), CODES_Y.tolist()))
    assert_array_equal(Hamming()(x, y), expected)
    assert_array_equal(Hamming(normalize=True)(x, y), expected / 5)
    assert_array_equal(Hamming().dot(x, y, np.eye(17)), expected)
    assert_array_equal(Hamming().diag(x), np.full(23, 5))


@pytest.mark.parametrize(
    ("kernel", "distance"),
    [
        (RBF, naive.squared_distance),
        (Laplacian, lambda x, y: -math.log(naive.laplacian(x, y, 1.0))),
        (Chi2, lambda x, y: -math.log(naive.chi2(x, y, 1.0))),
    ],
)
@pytest.mark.parametrize("middle", [naive.mean, naive.median])
def test_obvious_python_for_the_width(kernel, distance, middle):
    gamma = kernel(gamma=middle.__name__).resolve(COUNTS_X).gamma
    assert gamma * middle(naive.pairs(distance, COUNTS_X)) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("middle", [naive.mean, naive.median])
def test_obvious_python_for_the_length_scale(middle):
    typical = middle(naive.pairs(naive.squared_distance, X))
    assert Exponential(middle.__name__).resolve(X).gamma == pytest.approx(typical**-0.5, rel=1e-12)
    for kernel in (Matern(middle.__name__), RationalQuadratic(middle.__name__)):
        length_scale = kernel.resolve(X).length_scale
        assert length_scale == pytest.approx(math.sqrt(typical / 2), rel=1e-12)
        assert RBF(middle.__name__).resolve(X).gamma == pytest.approx(1 / (2 * length_scale**2), rel=1e-12)


# --- scikit-learn -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "function", "parameters"),
    [
        (Linear(), pairwise.linear_kernel, {}),
        (
            Polynomial(3, gamma=0.5, coef0=2.0),
            pairwise.polynomial_kernel,
            {"degree": 3, "gamma": 0.5, "coef0": 2.0},
        ),
        (Sigmoid(gamma=0.3, coef0=0.5), pairwise.sigmoid_kernel, {"gamma": 0.3, "coef0": 0.5}),
        (RBF(gamma=0.4), pairwise.rbf_kernel, {"gamma": 0.4}),
        (RBF(gamma="auto").resolve(X), pairwise.rbf_kernel, {}),
        (Laplacian().resolve(X), pairwise.laplacian_kernel, {}),
        (Cosine(), pairwise.cosine_similarity, {}),
    ],
)
def test_scikit_learn_pairwise(kernel, function, parameters):
    assert_allclose(kernel(X, Y), function(X, Y, **parameters), rtol=1e-10, atol=1e-14)


def test_scikit_learn_chi2():
    assert_allclose(Chi2()(COUNTS_X, COUNTS_Y), pairwise.chi2_kernel(COUNTS_X, COUNTS_Y), rtol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "theirs"),
    [
        *[(Matern(1.3, nu=nu), gp.Matern(length_scale=1.3, nu=nu)) for nu in (0.5, 1.5, 2.5, 3.3, 0.7, np.inf)],
        (
            Matern([1.0, 2.0, 0.5, 3.0, 1.5], nu=1.5),
            gp.Matern(length_scale=[1.0, 2.0, 0.5, 3.0, 1.5], nu=1.5),
        ),
        (RationalQuadratic(1.3, alpha=0.7), gp.RationalQuadratic(length_scale=1.3, alpha=0.7)),
        (RBF.from_sigma([1.0, 2.0, 0.5, 3.0, 1.5]), gp.RBF(length_scale=[1.0, 2.0, 0.5, 3.0, 1.5])),
        (
            2.5 * RBF.from_sigma(1.3) + 0.5,
            gp.ConstantKernel(2.5) * gp.RBF(1.3) + gp.ConstantKernel(0.5),
        ),
    ],
)
def test_scikit_learn_gaussian_process_kernels(kernel, theirs):
    assert_allclose(kernel(X, Y), theirs(X, Y), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize(
    ("name", "kernel"), [("rbf", RBF()), ("poly", Polynomial()), ("sigmoid", Sigmoid()), ("linear", Linear())]
)
def test_defaults_are_those_of_scikit_learn_machines(name, kernel):
    y = np.arange(23) % 2
    ours, theirs = SVC(kernel=kernel.resolve(X)).fit(X, y), SVC(kernel=name).fit(X, y)
    assert_allclose(ours.decision_function(Y), theirs.decision_function(Y), rtol=1e-6, atol=1e-8)


def test_scale_is_that_of_scikit_learn():
    for data in (X, csr_array(X), 1e4 + X):
        gamma = RBF().resolve(data).gamma
        dense = data.toarray() if data is not X and hasattr(data, "toarray") else data
        assert gamma == pytest.approx(1 / (5 * dense.var()), rel=1e-12)
        assert gamma == pytest.approx(naive.scale(dense.tolist()), rel=1e-9)


# --- limiting cases ---------------------------------------------------------------------------------------


def test_polynomials():
    assert_allclose(Polynomial(1, gamma=1.0)(X, Y), Linear()(X, Y), rtol=1e-14)
    assert_allclose((Linear() ** 3)(X, Y), Polynomial(3, gamma=1.0)(X, Y), rtol=1e-12)
    assert_allclose(((0.5 * Linear() + 2) ** 3)(X, Y), Polynomial(3, gamma=0.5, coef0=2.0)(X, Y), rtol=1e-11)


@pytest.mark.parametrize("storage", [np.asarray, csr_array])
@pytest.mark.parametrize(
    "kernel",
    [Linear(), Polynomial(2, gamma=1.0), Polynomial(3, gamma=0.5, coef0=1.5), Polynomial(1, gamma=2.0)],
)
def test_features_give_the_kernel(kernel, storage):
    product = kernel.features(storage(X)) @ kernel.features(storage(Y)).T
    product = product.toarray() if storage is csr_array else product
    assert_allclose(product, kernel(X, Y), rtol=1e-12, atol=1e-12)


def test_limits_of_matern_and_rational_quadratic():
    gaussian = RBF.from_sigma(1.3)(X, Y)
    assert_allclose(Matern(1.3, nu=np.inf)(X, Y), gaussian, rtol=1e-13)
    assert_allclose(Matern(1.3, nu=100.0)(X, Y), gaussian, atol=5e-3)
    assert_allclose(RationalQuadratic(1.3, alpha=1e7)(X, Y), gaussian, rtol=1e-4)
    assert_allclose(Matern(2.0, nu=0.5)(X, Y), Exponential(gamma=0.5)(X, Y), rtol=1e-13)
    for nu in (0.5, 1.5, 2.5):
        assert_allclose(Matern(1.3, nu=nu + 1e-9)(X, Y), Matern(1.3, nu=nu)(X, Y), rtol=1e-7)


@pytest.mark.parametrize("nu", [0.2, 0.9, 1.1, 7.0, 60.0, 100.0])
def test_matern_near_and_far(nu):
    kernel = Matern(1.0, nu=nu)
    distances = np.concatenate([[0.0], np.logspace(-300, 200, 1001)])
    values = kernel([[0.0]], distances[:, np.newaxis])[0]
    assert values[0] == 1.0
    assert values[-1] == 0.0
    assert (np.diff(values) <= 1e-13).all()
    near = distances < 1e-4
    if nu > 1:  # 1 - u^2 / (4 (nu - 1)), u^2 = 2 nu r^2
        assert_allclose(values[near], 1 - nu * distances[near] ** 2 / (2 * (nu - 1)), atol=1e-7)


def test_one_feature_has_one_distance():
    x, y = X[:, :1], Y[:, :1]
    assert_allclose(Exponential(gamma=0.7)(x, y), Laplacian(gamma=0.7)(x, y), rtol=1e-13)


def test_sets_of_zeros_and_ones():
    a, b = (X > 0.3).astype(float), (Y > 0.3).astype(float)
    assert_allclose(Intersection()(a, b), Linear()(a, b))
    common, union = a @ b.T, (a[:, None] + b[None] > 0).sum(axis=2)
    assert_allclose(Tanimoto()(a, b), np.where(union == 0, 1.0, common / np.maximum(union, 1)))


def test_hamming_is_linear_on_indicators():
    encoder = OneHotEncoder().fit(np.vstack([CODES_X, CODES_Y]))
    expected = Linear()(encoder.transform(CODES_X), encoder.transform(CODES_Y))
    assert_array_equal(Hamming()(CODES_X, CODES_Y), expected)


def test_extreme_widths():
    different = ~(X[:, None] == Y[None]).all(axis=2)
    assert_allclose(RBF(gamma=1e-10)(X, Y), 1.0, atol=1e-8)
    assert_array_equal(RBF(gamma=1e10)(X, Y), np.where(different, 0.0, 1.0))


def test_a_common_shift_costs_nothing_but_the_rounding_of_the_data():
    shifted_x, shifted_y = X + 2.0**14, Y + 2.0**14
    exact = RBF(gamma=0.4)(shifted_x - 2.0**14, shifted_y - 2.0**14)
    assert_allclose(RBF(gamma=0.4)(shifted_x, shifted_y), exact, rtol=1e-13)
