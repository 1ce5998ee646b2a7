"""Kernel matrices by some of their columns."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.errors import IndefiniteError
from mercer.gram import MatrixGram, low_rank, make_gram
from mercer.gram.low_rank import BLOCK
from mercer.kernels import RBF, Linear, Spectrum

every_rule = pytest.mark.parametrize("pivots", ["random", "greedy", "uniform"])


@every_rule
@pytest.mark.parametrize("rank", [1, 7, BLOCK + 20])
def test_the_best_approximation_in_the_span_of_the_pivots(pivots, rank, rng):
    """K_:S K_SS^-1 K_S:, with a residual that is positive semi-definite."""
    X = rng.normal(size=(200, 4))
    K = RBF(gamma=0.6)(X)
    found = low_rank(K, rank, pivots=pivots)
    assert found.rank == rank == len(np.unique(found.pivots))
    columns, square = K[:, found.pivots], K[np.ix_(found.pivots, found.pivots)]
    assert_allclose(found.factor @ found.factor.T, columns @ np.linalg.solve(square, columns.T), atol=1e-9)
    left = K - found.factor @ found.factor.T
    assert np.linalg.eigvalsh(left).min() > -1e-12
    assert_allclose(found.residual, np.diagonal(left), atol=1e-12)
    assert found.error == pytest.approx(np.trace(left), abs=1e-10)
    triangle = found.factor[found.pivots]
    assert_array_equal(triangle, np.tril(triangle))


@every_rule
def test_no_more_than_the_samples_span(pivots, rng):
    X = rng.normal(size=(300, 5))
    found = low_rank(make_gram(Linear(), X), 100, pivots=pivots)
    assert found.rank == 5
    assert_allclose(found.factor @ found.factor.T, X @ X.T, atol=1e-12)


@every_rule
def test_everything(pivots):
    K = RBF(gamma=30.0)(np.linspace(0, 1, 40)[:, np.newaxis])
    found = low_rank(K, 40, pivots=pivots)
    assert_allclose(found.factor @ found.factor.T, K, atol=1e-13)
    assert found.error == pytest.approx(0.0, abs=1e-13)


def test_enough_is_enough(rng):
    K = RBF(gamma=0.05)(rng.normal(size=(400, 3)))
    found = low_rank(K, 400, tol=1e-3, pivots="greedy")
    assert found.error <= 1e-3 * np.trace(K)
    assert low_rank(K, found.rank - 1, pivots="greedy").error > 1e-3 * np.trace(K)


def test_random_pivots_follow_the_residual():
    """The first is drawn in proportion to the diagonal; one that the others explain is not drawn."""
    K = np.diag([1.0, 3.0, 0.0, 6.0])
    first = [low_rank(K, 1, random_state=seed).pivots[0] for seed in range(500)]
    assert_allclose(np.bincount(first, minlength=4) / 500, [0.1, 0.3, 0.0, 0.6], atol=0.05)
    # Of two groups of like samples the second pivot is always in the other one.
    K = np.kron(np.eye(2), np.ones((3, 3)))
    for seed in range(50):
        assert set(low_rank(K, 6, random_state=seed).pivots // 3) == {0, 1}


def test_pivots_in_blocks_are_those_one_by_one():
    """The chance of every pair of pivots, in this order, is that of the plain algorithm."""
    rng = np.random.default_rng(5)
    A = rng.normal(size=(4, 3)) * [[1.0], [0.5], [2.0], [0.7]]
    K = A @ A.T
    counts = np.zeros((4, 4))
    for seed in range(1000):
        i, j = low_rank(K, 2, random_state=seed).pivots
        counts[i, j] += 1 / 1000
    d = np.diagonal(K)
    wanted = np.zeros((4, 4))
    for i in range(4):
        left = d - K[:, i] ** 2 / d[i]
        left[i] = 0.0
        wanted[i] = d[i] / d.sum() * left / left.sum()
    assert_allclose(counts, wanted, atol=0.05)


def test_proposals_that_others_explain_are_rejected():
    """Two samples of three are alike: once one is a pivot, the other has 0.19 of its chance left."""
    K = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    alike = [2 not in low_rank(K, 2, random_state=seed).pivots for seed in range(500)]
    assert np.mean(alike) == pytest.approx(2 / 3 * 0.19 / 1.19, abs=0.05)


def test_repeated_and_reproducible(rng):
    K = RBF(gamma=0.6)(np.repeat(rng.normal(size=(50, 4)), 4, axis=0))
    found = low_rank(K, 200)
    assert found.rank == 50
    assert_array_equal(found.pivots, low_rank(K, 200).pivots)
    assert set(found.pivots) != set(low_rank(K, 200, random_state=1).pivots)


def test_strings_and_nothing_at_all():
    words = ["abab", "baba", "", "cc"]
    found = low_rank(make_gram(Spectrum(2), words), 4)
    assert_allclose(found.factor @ found.factor.T, Spectrum(2)(words), atol=1e-14)
    assert low_rank(np.zeros((3, 3)), 2).rank == 0


def test_what_is_refused():
    K = np.eye(3)
    with pytest.raises(ValueError, match=r"rank must be an int >= 1, got 0"):
        low_rank(K, 0)
    with pytest.raises(ValueError, match=r"tol must be a float >= 0, got -1"):
        low_rank(K, 1, tol=-1.0)
    with pytest.raises(ValueError, match=r"pivots must be 'random' or 'greedy' or 'uniform', got 'best'"):
        low_rank(K, 1, pivots="best")
    with pytest.raises(IndefiniteError, match=r"positive semi-definite, .* of others is -1; mercer.gram.Repair"):
        low_rank(-K, 1)


@every_rule
def test_an_indefinite_matrix_is_refused(pivots, rng):
    """[[1, 2], [2, 1]] leaves 1 - 2^2 of one sample; a larger one shows itself sooner or later."""
    with pytest.raises(IndefiniteError, match=r"the squared distance of a sample from the span of others is -3;"):
        low_rank(np.array([[1.0, 2.0], [2.0, 1.0]]), 1, pivots=pivots)
    turn = np.linalg.qr(rng.normal(size=(60, 60)))[0]
    K = (turn * np.append(np.linspace(2.0, 1.0, 59), -0.5)) @ turn.T
    with pytest.raises(IndefiniteError):
        low_rank(0.5 * (K + K.T), 60, pivots=pivots)


@every_rule
def test_what_float32_has_rounded_is_no_pivot(pivots, rng):
    X = rng.normal(size=(300, 5))
    K = (X @ X.T).astype(np.float32)
    for matrix in (K, MatrixGram(K)):
        found = low_rank(matrix, 100, pivots=pivots)
        assert found.rank <= 6  # one of rounding may be left
        assert_allclose(found.factor @ found.factor.T, K, atol=3e-4)
    wide = RBF(gamma=0.05)(X).astype(np.float32)
    found = low_rank(wide, 300, pivots=pivots)
    assert np.abs(found.factor @ found.factor.T - wide).max() < 1e-3


def test_weights_of_samples(rng):
    """In the trace that the tolerance is a share of, and in the chances: a sample of no weight is no pivot."""
    X, weight = rng.normal(size=(50, 3)), rng.integers(0, 3, size=50)
    K, times = RBF(gamma=0.5)(X) * (1 + X[:, :1] ** 2) * (1 + X[:, 0] ** 2), np.repeat(np.arange(50), weight)
    for tol in (0.3, 0.03):
        found = low_rank(K, 50, pivots="greedy", tol=tol, sample_weight=weight)
        repeated = low_rank(K[np.ix_(times, times)], 50, pivots="greedy", tol=tol)
        assert_array_equal(found.pivots, times[repeated.pivots])
        assert weight @ found.residual == pytest.approx(repeated.error)
    for pivots in ("random", "greedy", "uniform"):
        assert (weight[low_rank(K, 50, pivots=pivots, sample_weight=weight).pivots] > 0).all()
    first = [low_rank(np.eye(3), 1, sample_weight=[1.0, 3.0, 0.0], random_state=seed).pivots[0] for seed in range(400)]
    assert_allclose(np.bincount(first, minlength=3) / 400, [0.25, 0.75, 0.0], atol=0.06)
    with pytest.raises(ValueError, match=r"sample_weight has shape \(2,\), for 3 samples"):
        low_rank(np.eye(3), 1, sample_weight=[1.0, 1.0])
