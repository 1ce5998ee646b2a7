"""Sparse features, and samples given as tables of them."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer.data.features import SparseFeatures
from mercer.data.symbols import symbol_keys


def occurrences(n=30, seed=0):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 12, size=n)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return rng.integers(0, 9, size=starts[-1]).astype(np.uint64), starts


def test_counting_adds_up_what_is_equal():
    keys, starts = occurrences()
    found = SparseFeatures.count(keys, starts)
    for i in range(30):
        expected = np.unique(keys[starts[i] : starts[i + 1]], return_counts=True)
        one = found[i : i + 1]
        assert_array_equal(one.keys, expected[0])
        assert_array_equal(one.values, expected[1])


def test_values_of_occurrences_are_added():
    found = SparseFeatures.count([5, 2, 5], [0, 3, 3], [0.5, 2.0, 0.25])
    assert_array_equal(found.keys, [2, 5])
    assert_array_equal(found.values, [2.0, 0.75])
    assert found.shape == (2,) and len(found) == 2


def test_some_of_the_samples():
    found = SparseFeatures.count(*occurrences())
    vocabulary = np.unique(found.keys)
    table = found.table(vocabulary).toarray()
    for rows in (slice(3, 20, 2), np.array([7, 0, 7]), np.arange(30) % 3 == 0, slice(0, 0)):
        assert_array_equal(found[rows].table(vocabulary).toarray(), table[rows])


def test_unknown_features_are_left_out_of_a_table():
    found = SparseFeatures.count([1, 4, 9], [0, 2, 3])
    assert_array_equal(found.table(np.array([4, 5], dtype=np.uint64)).toarray(), [[1, 0], [0, 0]])
    assert found.table(np.array([], dtype=np.uint64)).shape == (2, 0)


def test_symbols_have_keys_of_their_own():
    symbols = [
        0,
        1,
        -1,
        2**70,
        0.5,
        "a",
        "b",
        "ab",
        b"a",
        None,
        (1, 2),
        (2, 1),
        frozenset([1, 2]),
        1j,
        float("inf"),
        "",
    ]
    keys = symbol_keys(symbols)
    assert keys.dtype == np.uint64
    assert len(np.unique(keys)) == len(symbols)


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, 1.0), (1, True), (0, -0.0), ((1, 2), (1.0, 2 + 0j)), (np.int8(3), 3), (np.str_("x"), "x"), (2.0**80, 2**80)],
)
def test_equal_symbols_have_equal_keys_alone_and_together(one, other):
    assert one == other
    assert symbol_keys([one]) == symbol_keys([other])
    assert len(np.unique(symbol_keys([one, other]))) == 1


def test_keys_are_the_same_in_every_process():
    # Python salts its own hashes of text.
    assert_array_equal(
        symbol_keys([3, "C", "carbon"]), [2305843009213693955, 4611686018427387971, 17864606297517022936]
    )
