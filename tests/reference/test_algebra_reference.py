"""Kernels made of kernels against obvious Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from reference import naive_algebra as naive
from reference.naive_kernels import polynomial, rbf, sigmoid
from sklearn.preprocessing import KernelCenterer

from mercer.kernels import RBF, Centered, EmpiricalMap, Kendall, Mallows, Mapped, Polynomial, Sigmoid, exp

REFERENCE = np.array([[0.5, -1.0], [2.0, 0.25], [0.0, 0.0]])
WEIGHTS = np.array([1.0, 2.0, 0.5])
KERNEL = Polynomial(degree=2, gamma=0.5, coef0=1.0)
GAUSSIAN = RBF(gamma=0.5)


def inner(x, y):
    return polynomial(list(x), list(y), 2, 0.5, 1.0)


def gaussian(x, y):
    return rbf(list(x), list(y), 0.5)


def similarity(x, y):
    return sigmoid(list(x), list(y), 0.5, -1.0)


def first(x):
    return 1.0 + x[0]


def all_first(X):
    return 1.0 + X[:, 0]


TWINS = [
    (KERNEL.normalized(), naive.normalized(inner)),
    (KERNEL.rbf(2.0), naive.rbf_of(inner, 2.0)),
    (KERNEL.centered(REFERENCE), naive.centered(inner, REFERENCE, [1.0] * 3)),
    (Centered(GAUSSIAN, REFERENCE, WEIGHTS), naive.centered(gaussian, REFERENCE, WEIGHTS)),
    (KERNEL.scaled(all_first), naive.scaled(inner, first)),
    (exp(GAUSSIAN), naive.exponential(gaussian)),
    (exp(GAUSSIAN).normalized(), naive.normalized(naive.exponential(gaussian))),
    (KERNEL.polynomial([0.5, 0.0, 2.0]), naive.polynomial_of(inner, [0.5, 0.0, 2.0])),
    (GAUSSIAN.geometric(1.25), naive.geometric(gaussian, 1.25)),
    (GAUSSIAN**0.3, naive.power(gaussian, 0.3)),
    (KERNEL**3, naive.power(inner, 3)),
    (Mapped(np.square, KERNEL), naive.mapped(np.square, inner)),
    (
        EmpiricalMap(Sigmoid(gamma=0.5, coef0=-1.0), REFERENCE, WEIGHTS),
        naive.empirical_map(similarity, REFERENCE, WEIGHTS),
    ),
]

points = arrays(np.float64, st.tuples(st.integers(1, 5), st.just(2)), elements=st.floats(-3, 3, width=16))


@pytest.mark.parametrize(("kernel", "twin"), TWINS, ids=[type(kernel).__name__ for kernel, _ in TWINS])
@given(X=points, Y=points)
@settings(max_examples=25)
def test_against_obvious_python(kernel, twin, X, Y):
    assert_allclose(kernel(X, Y), naive.matrix(twin, X, Y), rtol=1e-9, atol=1e-9)
    assert_allclose(kernel.diag(X), [twin(x, x) for x in X], rtol=1e-9, atol=1e-9)


rankings = st.integers(1, 6).flatmap(lambda m: st.lists(st.permutations(range(m)), min_size=1, max_size=5))


@given(X=rankings)
@settings(max_examples=50)
def test_rankings(X):
    assert_allclose(Kendall()(X), naive.matrix(naive.kendall, X, X), rtol=1e-12)
    assert_allclose(Mallows(0.7)(X), naive.matrix(lambda a, b: naive.mallows(a, b, 0.7), X, X), rtol=1e-12)


def test_centring_against_scikit_learn():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(12, 3)), rng.normal(size=(7, 3))
    centerer = KernelCenterer().fit(GAUSSIAN(X))
    kernel = GAUSSIAN.centered().resolve(X)
    assert_allclose(kernel(X), centerer.transform(GAUSSIAN(X)), atol=1e-12)
    assert_allclose(kernel(Y, X), centerer.transform(GAUSSIAN(Y, X)), atol=1e-12)
