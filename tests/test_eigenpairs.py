"""Leading eigenpairs of kernel matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.gram import MatrixGram, eigenpairs, leading_eigenpairs, make_gram
from mercer.gram.eigenpairs import Weighing, symmetric_product
from mercer.kernels import RBF, Spectrum
from mercer.threads import limit_threads


def cloud(n=300, d=6, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * np.linspace(2.0, 0.5, d)


def weights(n, seed=1):
    return np.random.default_rng(seed).integers(0, 4, size=n).astype(float)


def naive_matrix(K, center, weight):
    """A as it is written down."""
    n = len(K)
    w = np.ones(n) if weight is None else weight
    H = np.eye(n) - (np.outer(np.ones(n), w / w.sum()) if center else 0.0)
    D = np.diag(np.sqrt(w))
    return D @ H @ K @ H.T @ D


@pytest.mark.parametrize("method", ["dense", "lanczos"])
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_against_all_eigenvalues(method, center, weighted):
    K = RBF(gamma=0.2)(cloud())
    weight = weights(len(K)) if weighted else None
    found = leading_eigenpairs(K, 7, center=center, sample_weight=weight, method=method)
    A = naive_matrix(K, center, weight)
    values = np.linalg.eigvalsh(A)[::-1]
    assert found.method == method
    assert found.status == "solved"
    assert_allclose(found.values, values[:7], rtol=1e-10)
    assert_allclose(found.vectors.T @ found.vectors, np.eye(7), atol=1e-12)
    assert_allclose(A @ found.vectors, found.vectors * found.values, atol=1e-9 * values[0])
    assert_allclose(
        found.residuals, np.linalg.norm(A @ found.vectors - found.vectors * found.values, axis=0), atol=1e-10
    )
    assert found.violation <= 2e-10
    assert found.lowest >= values[-1] - 1e-10


def test_the_matrix_is_what_the_products_say():
    gram = make_gram(RBF(gamma=0.2), cloud(40))
    seen = Weighing(gram, True, weights(40))
    assert_allclose(seen.matrix(), seen.product(np.eye(40)), atol=1e-12)
    assert_allclose(seen.matrix(), naive_matrix(gram.rows(np.arange(40)), True, weights(40)), atol=1e-12)


def test_products_without_the_matrix():
    X = cloud(400)
    gram = make_gram(RBF(gamma=0.2), X)
    free, stored = leading_eigenpairs(gram, 5, method="lanczos"), leading_eigenpairs(RBF(gamma=0.2)(X), 5)
    assert_allclose(free.values, stored.values, rtol=1e-10)
    assert_allclose(np.abs(np.sum(free.vectors * stored.vectors, axis=0)), 1.0, rtol=1e-10)


def test_float32_is_multiplied_in_full():
    K = RBF(gamma=0.2)(cloud()).astype(np.float32)
    single, double = (leading_eigenpairs(MatrixGram(part), 5) for part in (K, K.astype(np.float64)))
    assert_array_equal(single.values, double.values)
    assert single.violation <= 1e-10


def test_strings():
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abc"), size=9)) for _ in range(60)]
    found = leading_eigenpairs(make_gram(Spectrum(2), words, memory=0.001), 3, method="lanczos")
    assert_allclose(found.values, np.linalg.eigvalsh(Spectrum(2)(words))[::-1][:3], rtol=1e-10)


def test_little_room(monkeypatch):
    """It goes on from the best directions when there is no room for more."""
    monkeypatch.setattr(eigenpairs, "ROOM", 4)
    monkeypatch.setattr(eigenpairs, "ROOM_PER_PAIR", 1)
    monkeypatch.setattr(eigenpairs, "BLOCK_STORED", 3)
    monkeypatch.setattr(eigenpairs, "BLOCK_MADE", 3)
    X = cloud(500)
    K = RBF(gamma=0.05)(X)
    values = np.linalg.eigvalsh(K)[::-1][:6]
    for matrix in (K, make_gram(RBF(gamma=0.05), X)):
        found = leading_eigenpairs(matrix, 6, method="lanczos")
        assert found.status == "solved"
        assert found.n_iter > 18
        assert_allclose(found.values, values, rtol=1e-10)


@pytest.mark.parametrize("n", [7, 50, 240])
def test_repeated_eigenvalues(n):
    """One direction sees one eigenvector of each eigenvalue; all are wanted."""
    angle = 2 * np.pi * np.arange(n) / n
    K = RBF(gamma=1.0)(np.column_stack([np.cos(angle), np.sin(angle)]))
    found = leading_eigenpairs(K, 6, method="lanczos")
    assert_allclose(found.values, np.linalg.eigvalsh(K)[::-1][:6], rtol=1e-9)


def twice_each():
    """A matrix whose large eigenvalues are found at once, and are there twice."""
    values = np.concatenate([np.repeat([100.0, 50.0, 10.0], 2), np.linspace(0.1, 0.0, 294)])
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(300, 300)))[0]
    K = (turn * values) @ turn.T
    return 0.5 * (K + K.T)


def test_doubts_find_what_was_missed(monkeypatch):
    """The same without fresh directions goes wrong: they are what finds the second eigenvector."""
    monkeypatch.setattr(eigenpairs, "BLOCK_STORED", 1)
    assert_allclose(
        leading_eigenpairs(twice_each(), 3, method="lanczos", tol=1e-3).values, [100.0, 100.0, 50.0], rtol=1e-5
    )
    monkeypatch.setattr(eigenpairs, "DOUBTS", 0)
    monkeypatch.setattr(eigenpairs._Basis, "draw", lambda self, rng, count, *restart: _only_once(self, rng, count))
    assert_allclose(
        leading_eigenpairs(twice_each(), 3, method="lanczos", tol=1e-3).values, [100.0, 50.0, 10.0], rtol=1e-5
    )


def _only_once(basis, rng, count):
    known = basis.size
    if not known:
        basis._adopt(rng.standard_normal((len(basis.Q), 1)), 1.0)
    return np.arange(known, basis.size)


@pytest.mark.parametrize("method", ["dense", "lanczos"])
def test_small_and_singular(method):
    assert_allclose(leading_eigenpairs([[3.0]], 1, method=method).values, [3.0])
    zero = leading_eigenpairs(np.zeros((5, 5)), 2, method=method)
    assert_array_equal(zero.values, 0.0)
    assert zero.violation == 0.0
    assert_allclose(leading_eigenpairs(np.eye(30), 30, method=method).values, 1.0)
    X = cloud(30, 2)
    values = leading_eigenpairs(X @ X.T, 5, method=method).values
    assert_allclose(values, [*np.linalg.eigvalsh(X.T @ X)[::-1], 0, 0, 0], atol=1e-12 * values[0])


def test_products_in_memory_are_those_of_the_matrix():
    """More and fewer columns than go into one pass, of a matrix whose lower half must not be read."""
    K = RBF(gamma=0.2)(cloud(90))
    upper = np.where(np.tri(90, k=-1, dtype=bool), np.nan, K)
    for k in (1, 4, 7, 10):
        V = np.random.default_rng(k).normal(size=(90, k))
        product = symmetric_product(MatrixGram.of_checked(upper, None), V)
        assert_allclose(product, K @ V, atol=1e-12)
        for n_threads in (1, 3):
            with limit_threads(n_threads):
                assert_array_equal(symmetric_product(MatrixGram.of_checked(K, None), V), product)


@pytest.mark.parametrize("block", [1, 4, 7])
def test_blocks_of_any_size(monkeypatch, block):
    monkeypatch.setattr(eigenpairs, "BLOCK_STORED", block)
    K = RBF(gamma=0.2)(cloud())
    found = leading_eigenpairs(K, 5, method="lanczos", max_iter=10 * 300)
    assert_allclose(found.values, np.linalg.eigvalsh(K)[::-1][:5], rtol=1e-10)
    assert leading_eigenpairs(K, 5, method="lanczos", max_iter=17).n_iter == 17


def test_negative_eigenvalues_show():
    K = np.diag(np.concatenate([[-5.0], np.linspace(0.1, 3.0, 299)]))
    assert leading_eigenpairs(K, 2, method="lanczos").lowest < -4.9


def test_seeds_and_tolerance():
    K = RBF(gamma=0.2)(cloud())
    first, again = (leading_eigenpairs(K, 4, method="lanczos") for _ in range(2))
    assert_array_equal(first.vectors, again.vectors)
    other = leading_eigenpairs(K, 4, method="lanczos", random_state=5)
    assert_allclose(np.abs(np.sum(first.vectors * other.vectors, axis=0)), 1.0, rtol=1e-10)
    assert leading_eigenpairs(K, 4, method="lanczos", tol=1e-3).n_iter < first.n_iter
    assert leading_eigenpairs(K, 4, method="lanczos", tol=0.0).violation < 1e-14


def test_limit():
    K = RBF(gamma=0.2)(cloud())
    found = leading_eigenpairs(K, 4, method="lanczos", max_iter=6)
    assert found.status == "max_iter"
    assert found.violation > 1e-6
    assert found.n_iter == 6
    assert "max_iter" in str(found)
    assert found.bound == found.objective + found.gap > found.objective


def test_auto():
    assert leading_eigenpairs(np.eye(100), 2).method == "dense"
    assert leading_eigenpairs(np.eye(210), 2).method == "lanczos"
    assert leading_eigenpairs(np.eye(210), 100).method == "dense"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be an int >= 1, got 0"),
        ({"k": 4}, "k must be at most the number of samples, 3, got 4"),
        ({"method": "arpack"}, "method must be 'auto' or 'dense' or 'lanczos', got 'arpack'"),
        ({"tol": -1.0}, "tol must be a float >= 0, got -1.0"),
        ({"max_iter": 0}, "max_iter must be an int >= 1 or None, got 0"),
        ({"center": "yes"}, "center must be True or False, got 'yes'"),
        ({"sample_weight": [1.0]}, r"sample_weight has shape \(1,\)"),
    ],
)
def test_errors(options, message):
    with pytest.raises(ValueError, match=message):
        leading_eigenpairs(np.eye(3), **({"k": 1} | options))
