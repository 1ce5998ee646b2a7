"""Very sparse vectors of zeros and ones, such as texts: there are 139 351 features in [CY section 1.8]."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array, vstack

from mercer.kernels import Hamming, Intersection, Tanimoto
from mercer.kernels.vectors import binary
from mercer.threads import limit_threads

FEATURES = 139_351
KERNELS = [Tanimoto(), Hamming(), Hamming(normalize=True), Intersection()]


def fingerprints(n, ones=100, seed=0, dtype=np.float64):
    """Vectors with some ones, the first features more often than the last; one vector has none."""
    rng = np.random.default_rng(seed)
    rows = [np.unique((FEATURES * rng.random(ones) ** 4).astype(int)) for _ in range(n - 1)]
    rows.insert(1, np.empty(0, dtype=int))
    starts = np.cumsum([0, *map(len, rows)])
    return csr_array((np.ones(starts[-1], dtype=dtype), np.concatenate(rows), starts), shape=(n, FEATURES))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lists_and_spread_rows_give_the_same_bits(kernel, dtype, monkeypatch):
    X, Y = fingerprints(60, dtype=dtype), fingerprints(40, seed=1, dtype=dtype)
    assert binary.common_ones(X, Y) is not None
    by_lists = kernel(X), kernel(X, Y), kernel(X[:1], Y[5:6])
    with limit_threads(3):
        assert_array_equal(kernel(X, Y), by_lists[1])
    assert_array_equal(np.diagonal(by_lists[0]), kernel.diag(X))
    monkeypatch.setattr(binary, "SPARSE", FEATURES)  # none is as sparse as that
    assert binary.common_ones(X, Y) is None
    for K, lists in zip((kernel(X), kernel(X, Y), kernel(X[:1], Y[5:6])), by_lists, strict=True):
        assert K.dtype == lists.dtype == dtype
        assert_array_equal(K, lists)


def test_values():
    X = fingerprints(30)
    sets = [set(X.indices[a:b]) for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)]
    for i, j in [(0, 0), (0, 2), (1, 1), (1, 5), (7, 20)]:
        common, together = len(sets[i] & sets[j]), len(sets[i] | sets[j])
        assert Tanimoto()(X)[i, j] == (common / together if together else 1.0)
        assert Hamming()(X)[i, j] == FEATURES - together + common
        assert Intersection()(X)[i, j] == common


def test_other_vectors_take_the_other_way():
    X = fingerprints(10)
    counted = X.copy()
    counted.data[:5] = 2.0
    stored_zero = X.copy()
    stored_zero.data[0] = 0.0
    for other in (counted, stored_zero, X.toarray()):
        assert binary.common_ones(other, X) is None
        assert binary.common_ones(X, other) is None
    dense = vstack([counted[:3], X[:3]]).toarray()
    assert_array_equal(Hamming()(csr_array(dense)), Hamming()(dense))
