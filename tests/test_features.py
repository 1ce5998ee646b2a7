"""Sparse features, and samples given as tables of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import SVC, LinearSVC
from mercer.data.features import SparseFeatures
from mercer.data.symbols import symbol_keys
from mercer.features import ExplicitFeatures
from mercer.kernels import RBF, Mapped, On
from mercer.kernels.features import FeatureKernel


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


# --- features of combinations -----------------------------------------------------------------------------


class Letters(FeatureKernel):
    """Counts letters, those before `last` in the alphabet."""

    domain = "strings"

    def __init__(self, last="z"):
        self.last = last

    def _features(self, X, name):
        words = [[letter for letter in word if letter < self.last] for word in X]
        starts = np.cumsum([0, *map(len, words)])
        return SparseFeatures.count(symbol_keys(letter for word in words for letter in word), starts)


WORDS = ["stay", "stray", "play", "", "banana", "abba"]


def reverse(words):
    return [word[::-1] for word in words]


COMBINED = [
    Letters(),
    Letters() + Letters("m"),
    2 * Letters() + 3,
    Letters().normalized() + 0.5 * Letters("m"),
    (Letters() + 1).normalized(),
    Letters().scaled(lambda words: np.array([1.0 + len(word) for word in words])),
    Mapped(reverse, Letters()),
]


@pytest.mark.parametrize("kernel", COMBINED, ids=range(len(COMBINED)))
def test_features_of_combinations_stay_sparse(kernel):
    transformer = ExplicitFeatures(kernel)
    table = transformer.fit_transform(WORDS)
    assert_allclose((table @ table.T).toarray(), kernel(WORDS), rtol=1e-12)
    assert_allclose((transformer.transform(["tap"]) @ table.T).toarray(), kernel(["tap"], WORDS), rtol=1e-12)
    assert_allclose((kernel.features(WORDS) @ kernel.features(WORDS).T).toarray(), kernel(WORDS), rtol=1e-12)


def test_parts_of_a_sum_are_kept_apart():
    once, twice = ExplicitFeatures(Letters()).fit(WORDS), ExplicitFeatures(Letters() + Letters()).fit(WORDS)
    assert len(twice.keys_) == 2 * len(once.keys_)


def test_a_linear_machine_on_features_of_columns():
    table = {"first": WORDS, "second": WORDS[::-1]}
    kernel = On("first", Letters()) + On("second", Letters("m")).normalized()
    y = [0, 0, 1, 1, 0, 1]
    vectors = ExplicitFeatures(kernel).fit_transform(table)
    linear = LinearSVC(loss="hinge", tol=1e-8).fit(vectors, y)
    machine = SVC(kernel=kernel, tol=1e-8).fit(table, y)
    assert_allclose(linear.decision_function(vectors), machine.decision_function(table), atol=1e-5)


def test_kernels_without_sparse_features():
    for kernel in (RBF(gamma=1.0), Mapped(lambda words: [[len(word)] for word in words], RBF(gamma=1.0)) + 1):
        with pytest.raises(TypeError, match=r"must have explicit sparse features, .* has none; use its values"):
            ExplicitFeatures(kernel).fit([[0.0], [1.0]])
    with pytest.raises(TypeError, match="has none"):
        ExplicitFeatures(Letters() * Letters()).fit(WORDS)
