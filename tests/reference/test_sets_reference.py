"""Kernels on sets against their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference.naive_sets import jaccard, set_kernel

from mercer.kernels import RBF, CommonElements, Hamming, Jaccard, SetKernel, Spectrum, Tanimoto

points = st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=6)
words = st.frozensets(st.sampled_from(["a", "b", 1, (1, 2), None]))
quick = settings(deadline=None, derandomize=True, max_examples=50)


@quick
@given(A=points, B=points, reduce=st.sampled_from(["mean", "sum"]))
def test_set_kernel(A, B, reduce):
    def gaussian(a, b):
        return np.exp(-0.3 * np.sum((np.array(a) - np.array(b)) ** 2.0))

    K = SetKernel(RBF(gamma=0.3), reduce)([A], [B])
    assert_allclose(K, [[set_kernel(gaussian, A, B, reduce)]], rtol=1e-12)
    assert_array_equal(K, SetKernel(RBF(gamma=0.3), reduce)([B], [A]).T)


@quick
@given(A=words, B=words)
def test_sets_of_things(A, B):
    assert CommonElements()([A], [B])[0, 0] == len(A & B)
    assert Jaccard()([A], [B])[0, 0] == pytest.approx(jaccard(A, B), rel=1e-15)


def test_jaccard_is_tanimoto_of_indicators():
    rng = np.random.default_rng(0)
    X = rng.random((30, 40)) < 0.2
    assert_allclose(Jaccard()([np.flatnonzero(x).tolist() for x in X]), Tanimoto()(X.astype(float)), rtol=1e-15)


def test_the_distance_of_mean_maps_is_that_of_means():
    # with the linear kernel the mean map is the mean
    from mercer.kernels import Linear

    rng = np.random.default_rng(1)
    A, B = rng.normal(size=(50, 3)), rng.normal(size=(40, 3))
    K = SetKernel(Linear())([A, B])
    squared = K[0, 0] - 2 * K[0, 1] + K[1, 1]
    assert squared == pytest.approx(np.sum((A.mean(axis=0) - B.mean(axis=0)) ** 2), rel=1e-10)


def test_bags_of_categories():
    bags = [[("red", 1), ("blue", 2)], [("red", 2)]]
    naive = [
        [set_kernel(lambda a, b: sum(x == y for x, y in zip(a, b, strict=True)), A, B) for B in bags] for A in bags
    ]
    assert_allclose(SetKernel(Hamming())(bags), naive, rtol=1e-15)


def test_bags_of_strings():
    bags = [["abab", "ba"], ["aab"], ("cc", "ab")]

    def common_pairs(s, t):
        pairs = [[text[i : i + 2] for i in range(len(text) - 1)] for text in (s, t)]
        return sum(a == b for a in pairs[0] for b in pairs[1])

    assert_allclose(SetKernel(Spectrum(2))(bags), [[set_kernel(common_pairs, A, B) for B in bags] for A in bags])
