"""Kernels on sets: containers, blocks, what they refuse."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from mercer import _native
from mercer.errors import DomainError
from mercer.kernels import RBF, CommonElements, Jaccard, Linear, SetKernel, SubTree, sets
from mercer.threads import limit_threads


def clouds(n=12, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(rng.integers(1, 9), d)) for _ in range(n)]


def test_blocks_make_no_difference(monkeypatch):
    X, Y = clouds(), clouds(7, seed=1)
    kernel = SetKernel(RBF(gamma=0.5))
    K, square, diagonal = kernel(X, Y), kernel(X), kernel.diag(X)
    for elements in (1, 3, 10, 50):
        monkeypatch.setattr(sets, "BLOCK_ELEMENTS", elements)
        assert_array_equal(kernel(X, Y), K)
        assert_array_equal(kernel(X), square)
        assert_array_equal(kernel.diag(X), diagonal)
        with limit_threads(3):
            assert_array_equal(kernel(X, Y), K)
    assert_array_equal(diagonal, np.diagonal(square))


def test_point_sets_in_all_forms():
    X = [np.arange(6.0).reshape(3, 2), np.ones((3, 2))]
    kernel = SetKernel(RBF(gamma=0.2))
    K = kernel(X)
    assert_array_equal(kernel(np.array(X)), K)  # one array of shape (n, size, d)
    assert_array_equal(kernel([x.tolist() for x in X]), K)
    assert_array_equal(kernel([pd.DataFrame(x) for x in X]), K)
    assert_allclose(kernel([csr_array(x) for x in X]), K, rtol=1e-14)
    assert_allclose(kernel([csr_array(X[0]), X[1]]), K, rtol=1e-14)
    assert_allclose(kernel([x.astype(np.float32) for x in X]), K, rtol=1e-6)


def test_an_element_that_is_there_twice_counts_twice():
    a, b = np.array([[0.0]]), np.array([[1.0]])
    K = SetKernel(Linear() + 1)([np.vstack([a, b, b]), b])
    assert_allclose(K[0, 1], (1.0 + 2.0 + 2.0) / 3)


def test_resolve_sees_elements():
    X = clouds()
    kernel = SetKernel(RBF(gamma="median"))
    assert kernel.resolve(X).base == RBF(gamma="median").resolve(np.concatenate(X))
    weights = np.arange(12) % 3
    repeated = [x for x, times in zip(X, weights, strict=True) for _ in range(times)]
    assert kernel.resolve(X, weights).base.gamma == pytest.approx(kernel.resolve(repeated).base.gamma, rel=1e-12)
    with pytest.raises(ValueError, match="base__gamma from the data"):
        kernel(X, X[:1])
    assert repr(SetKernel(RBF(gamma=1.0) + 1)) == "SetKernel(RBF(gamma=1.0) + Constant())"


@pytest.mark.parametrize(
    ("X", "fault"),
    [
        ([np.ones((2, 3)), np.empty((0, 3))], "an empty set as sample 1 of X"),
        ([[]], "an empty set as sample 0 of X"),
        ([np.ones((2, 3)), np.ones((2, 2))], "elements of 2 and of 3 features in X"),
        ([np.ones(3)], r"got an array of shape \(3,\).* one row of numbers per element"),
        ([["ab", "c"]], "one row of numbers per element"),
        ([[[1.0], [1.0, 2.0]]], "same number of features"),
        (3, "give a list of sets"),
    ],
)
def test_sets_of_vectors_that_are_none(X, fault):
    with pytest.raises(DomainError, match=f"SetKernel works on sets.*{fault}"):
        SetKernel(RBF(gamma=1.0))(X)


def test_other_faults():
    with pytest.raises(DomainError, match=r"SetKernel works on sets.*SubTree works on trees"):
        SetKernel(SubTree())([["a", "b"]])
    with pytest.raises(DomainError, match="an empty set as sample 0 of Y"):
        SetKernel(Jaccard())([[{1}]], [[]])
    with pytest.raises(TypeError, match="base must be a Kernel, got 'rbf'"):
        SetKernel("rbf")([[1.0]])
    with pytest.raises(ValueError, match="reduce must be 'mean' or 'sum', got 'max'"):
        SetKernel(RBF(), reduce="max")(clouds())
    with pytest.raises(DomainError, match=r"CommonElements works on sets of hashable elements.*unhashable"):
        CommonElements()([[[1]]])
    with pytest.raises(NotImplementedError, match="no explicit feature map"):
        Jaccard().features([{1}])


def test_features_of_common_elements():
    X = [{"a", "b"}, ["b", "b", "c"], set()]
    features = CommonElements().features(X)
    assert features.shape == (3, 3)
    assert_array_equal((features @ features.T).toarray(), CommonElements()(X))


def test_native_functions_check_what_they_get():
    values, of_set = np.ones((2, 3)), np.zeros(3, dtype=np.int64)
    by_row, by_column = np.zeros((2, 1)), np.zeros((1, 3))
    _native.sets_add_block(values, of_set[:2], of_set, by_row, by_column, 1)
    assert_array_equal(by_row, [[3.0], [3.0]])
    assert_array_equal(by_column, [[2.0, 2.0, 2.0]])
    _native.sets_add_block(values[:0], of_set[:0], of_set, by_row[:0], by_column, 1)
    for rows, columns, sums in (
        (of_set, of_set, by_row),
        (of_set[:2] + 1, of_set, by_row),
        (of_set[:2], of_set, by_row[:1]),
    ):
        with pytest.raises(ValueError, match="fit"):
            _native.sets_add_block(values, rows, columns, sums, by_column, 1)
    with pytest.raises(ValueError, match="fit"):
        _native.sets_add_rows(values, of_set, by_column)
    with pytest.raises(ValueError, match="fit"):
        _native.sets_add_rows(values, of_set[:2], by_column[:, :2].copy())
