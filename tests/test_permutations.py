"""Kernels on rankings."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import kendalltau

from mercer import SVC, _native
from mercer.errors import DomainError
from mercer.kernels import RBF, Kendall, Mallows

rng = np.random.default_rng(0)
X = rng.permuted(np.tile(np.arange(7), (20, 1)), axis=1)
Y = rng.permuted(np.tile(np.arange(7), (11, 1)), axis=1)


def discordant(a, b):
    return sum((a[i] < a[j]) != (b[i] < b[j]) for i in range(len(a)) for j in range(i))


def test_against_counting_and_against_scipy():
    counts = np.array([[discordant(a, b) for b in Y] for a in X])
    assert_allclose(Kendall()(X, Y), 1 - 2 * counts / 21)
    assert_allclose(Kendall()(X, Y), [[kendalltau(a, b).statistic for b in Y] for a in X], rtol=1e-12)
    assert_allclose(Mallows(0.3)(X, Y), np.exp(-0.3 * counts))
    phi, psi = Kendall().features(X), Kendall().features(Y)
    assert_allclose(phi @ psi.T, Kendall()(X, Y), atol=1e-12)


def test_equal_and_opposite_rankings():
    assert_array_equal(Kendall()(X, 6 - X).diagonal(), -np.ones(20))
    assert_array_equal(Kendall()(X).diagonal(), np.ones(20))
    assert_array_equal(Mallows(0.0)(X, Y), np.ones((20, 11)))


def test_renumbering_the_items_changes_nothing():
    order = rng.permutation(7)
    assert_array_equal(Kendall()(X[:, order], Y[:, order]), Kendall()(X, Y))
    assert_array_equal(Mallows(0.2)(X[:, order], Y[:, order]), Mallows(0.2)(X, Y))


def test_limits_of_the_decay():
    # exp(-decay n) = 1 - decay n + ..., and Kendall's tau is linear in n
    small = 1e-7
    assert_allclose((1 - Mallows(small)(X, Y)) / small, 21 * (1 - Kendall()(X, Y)) / 2, rtol=1e-4)
    assert_array_equal(Mallows(1e6)(X), np.all(X[:, np.newaxis] == X, axis=2))


@pytest.mark.parametrize("m", [2, 63, 64, 65, 128, 129, 700])
def test_many_items(m):
    """Words of 64 ranks begin and end."""
    rankings = rng.permuted(np.tile(np.arange(m), (6, 1)), axis=1)
    rankings[0], rankings[1] = np.arange(m), np.arange(m)[::-1]
    first, second = np.triu_indices(m, 1)
    behind = rankings[:, first] > rankings[:, second]
    counts = (behind[:, np.newaxis] != behind).sum(axis=2)
    assert_array_equal(Kendall()(rankings), 1 - 2 * counts / len(first))
    assert_array_equal(Kendall()(rankings, rankings[::-1]), Kendall()(rankings)[:, ::-1])
    assert_array_equal(Mallows(1e-3)(rankings[:2], rankings), np.exp(-1e-3 * counts[:2]))


def test_native_function_checks_what_it_gets():
    for wrong in (X + 1, X - 1):
        with pytest.raises(ValueError, match="ranks are 0 to the number of items - 1"):
            _native.discordant_pairs(X, wrong, 1)
    with pytest.raises(ValueError, match="rank the same items"):
        _native.discordant_pairs(X, np.zeros((1, 1), dtype=np.int64), 1)


def test_rankings_in_other_forms():
    expected = Kendall()(X)
    for form in (X + 1, X.tolist(), X.astype(float), X.astype(np.int8), pd.DataFrame(X)):
        assert_array_equal(Kendall()(form), expected)
    assert_array_equal(Kendall()([[0], [0]]), np.ones((2, 2)))
    assert_array_equal(Kendall()([[1]]), Kendall().features([[1]]) @ Kendall().features([[1]]).T)
    assert Kendall()([], X).shape == (0, 20)


@pytest.mark.parametrize("wrong", [[[0, 2]], [[1, 1]], [[3, 4]], [[-1, 0]], [[0.5, 1.5]], [0, 1], ["ab"], [[np.inf]]])
def test_what_is_no_ranking(wrong):
    with pytest.raises(DomainError, match="Mallows works on rankings, rows of the ranks 0 to m - 1 or 1 to m"):
        Mallows()(wrong)


def test_different_items():
    with pytest.raises(ValueError, match="X ranks 7 items, Y ranks 6; Kendall needs the same on both sides"):
        Kendall()(X, [[0, 1, 2, 3, 4, 5]])
    with pytest.raises(DomainError, match="Kendall on permutations and RBF on vectors"):
        Kendall() + RBF()
    with pytest.raises(ValueError, match="decay must be a float >= 0, got -1"):
        Mallows(-1)(X)


def test_a_machine_on_rankings():
    many = np.random.default_rng(1).permuted(np.tile(np.arange(6), (120, 1)), axis=1)
    y = np.where(many[:, 0] < many[:, 1], "first", "second")
    for kernel in (Kendall(), Mallows(0.2)):
        assert SVC(kernel=kernel, C=10.0).fit(many[:80], y[:80]).score(many[80:], y[80:]) > 0.9
