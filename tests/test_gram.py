"""Kernel matrices as objects."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from mercer.gram import FunctionGram, Gram, MatrixGram, VectorGram, make_gram, memory_budget
from mercer.kernels import RBF, FromFunction, Hamming, Indexed, Linear, Polynomial, Sigmoid

X = np.random.default_rng(0).normal(size=(40, 3))


@pytest.fixture(autouse=True)
def one_thread_for_linear_algebra():
    with threadpool_limits(1):
        yield


def squared_distances(A, B):
    return np.sum((np.asarray(A)[:, np.newaxis] - np.asarray(B)) ** 2, axis=2)


def gaussian(A, B):
    return np.exp(-0.5 * squared_distances(A, B))


def common_letters(A, B):
    return np.array([[len(set(a) & set(b)) for b in B] for a in A], dtype=float)


WORDS = ["stay", "stray", "play", "ray", "pay", "tray"]
GRAMS = {
    "matrix": lambda: (MatrixGram(gaussian(X, X)), gaussian(X, X)),
    "matrix float32": lambda: (
        MatrixGram(gaussian(X, X).astype(np.float32)),
        gaussian(X, X).astype(np.float32).astype(np.float64),
    ),
    "vectors": lambda: (VectorGram(RBF(gamma=0.5), X), gaussian(X, X)),
    "vectors float32": lambda: (
        VectorGram(RBF(gamma=0.5), X.astype(np.float32)),
        gaussian(X.astype(np.float32).astype(np.float64), X.astype(np.float32).astype(np.float64)),
    ),
    "vectors linear float32": lambda: (
        VectorGram(Linear(), (X + 1e4).astype(np.float32)),
        (X + 1e4).astype(np.float32).astype(np.float64) @ (X + 1e4).astype(np.float32).astype(np.float64).T,
    ),
    "vectors sparse": lambda: (VectorGram(RBF(gamma=0.5), csr_array(X)), gaussian(X, X)),
    "vectors sum": lambda: (make_gram(RBF(gamma=0.5) + Linear(), X), gaussian(X, X) + X @ X.T),
    "function": lambda: (FunctionGram(FromFunction(gaussian), X), gaussian(X, X)),
    "function of words": lambda: (FunctionGram(FromFunction(common_letters), WORDS), common_letters(WORDS, WORDS)),
    "indexed": lambda: (make_gram(Indexed(gaussian(X, X)), np.arange(30)), gaussian(X[:30], X[:30])),
}
every_gram = pytest.mark.parametrize("make", GRAMS.values(), ids=GRAMS.keys())


@every_gram
def test_numbers_are_those_of_the_kernel_in_float64(make):
    gram, K = make()
    assert isinstance(gram, Gram) and gram.n == len(K)
    which, columns, V = np.array([3, 0, 3, len(K) - 1]), np.array([4, 1, 2]), np.array([[1.0, 0], [-2, 0.5], [0, 3]])
    for values, expected in (
        (gram.rows(which), K[which]),
        (gram.diag(), np.diagonal(K)),
        (gram.dot(np.linspace(-1, 1, gram.n)), K @ np.linspace(-1, 1, gram.n)),
        (gram.dot_part(which, columns, V), K[np.ix_(which, columns)] @ V),
        (gram.dot_part(which, columns, csr_array(V)), K[np.ix_(which, columns)] @ V),
        (gram.dot_part(which, columns[:0], V[:0]), np.zeros((4, 2))),
    ):
        assert values.dtype == np.float64
        assert_allclose(values, expected, rtol=1e-13, atol=1e-13 * np.abs(K).max())


@every_gram
def test_definite(make):
    gram, _ = make()
    assert gram.definite is True


# --- choices ----------------------------------------------------------------------------------------------


def test_native_rows_where_the_kernel_has_them():
    for kernel in (RBF(gamma=0.5), Linear(), Polynomial(gamma=1.0), Sigmoid(gamma=0.1)):
        for memory in (0.001, "auto"):
            assert type(make_gram(kernel, X, memory)) is VectorGram
    assert type(make_gram(Hamming(), np.array([["a", "b"], ["c", "b"]]))) is VectorGram


def test_the_whole_matrix_if_it_fits_half_the_budget(rng):
    samples = rng.normal(size=(256, 2))  # 8 * 256^2 bytes are half a megabyte
    assert type(make_gram(FromFunction(gaussian), samples, 1.0)) is MatrixGram
    assert type(make_gram(FromFunction(gaussian), samples, 0.999)) is FunctionGram
    assert type(make_gram(FromFunction(gaussian), samples)) is MatrixGram


def test_function_gram_asks_for_blocks():
    asked = []

    def kernel(A, B):
        asked.append(len(A))
        return gaussian(A, B)

    FunctionGram(FromFunction(kernel), X).rows(np.array([5, 2]))
    assert asked == [2]


# --- refusals ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("matrix", [np.ones((2, 3)), np.ones((3, 2)), np.ones((1, 4))])
def test_not_square_is_refused(matrix):
    with pytest.raises(ValueError, match="A kernel matrix must be square, got shape"):
        MatrixGram(matrix)


@pytest.mark.parametrize("n", [2, 40, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_asymmetric_is_refused(n, dtype, rng):
    K = rng.normal(size=(n, n)).astype(dtype)
    with pytest.raises(ValueError, match=r"must be symmetric; pass \(K \+ K.T\) / 2"):
        MatrixGram(K)
    assert MatrixGram((K + K.T) / 2).n == n


def test_rounding_is_no_asymmetry(rng):
    K = gaussian(X, X)
    noise = 1 + 1e-14 * rng.normal(size=K.shape)
    assert MatrixGram(K * noise).n == 40
    assert MatrixGram((K * noise).astype(np.float32)).n == 40
    with pytest.raises(ValueError, match="symmetric"):
        MatrixGram(K * (1 + 1e-9 * rng.normal(size=K.shape)))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_not_finite_is_refused(value):
    K = gaussian(X, X)
    K[3, 4] = K[4, 3] = value
    with pytest.raises(ValueError, match="kernel matrix contains"):
        MatrixGram(K)


@pytest.mark.parametrize("matrix", [np.empty((0, 0)), np.ones(4), np.ones((2, 2, 2)), [["a", "b"], ["b", "a"]]])
def test_no_matrix_is_refused(matrix):
    with pytest.raises(ValueError):
        MatrixGram(matrix)


def test_matrix_is_used_as_it_is():
    K = gaussian(X, X)
    assert MatrixGram(K).matrix is K
    assert MatrixGram(K.astype(np.float32)).matrix.dtype == np.float32
    assert MatrixGram(np.asfortranarray(K)).matrix.flags.c_contiguous
    assert_array_equal(MatrixGram(np.eye(3, dtype=int)).matrix, np.eye(3))


# --- definite ---------------------------------------------------------------------------------------------


def spectrum(eigenvalues, seed=0):
    """A symmetric matrix with these eigenvalues."""
    basis, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(eigenvalues), len(eigenvalues))))
    matrix = (basis * eigenvalues) @ basis.T
    return 0.5 * (matrix + matrix.T)


@pytest.mark.parametrize("n", [10, 300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_definite_up_to_rounding(n, dtype):
    smallest = 1e-2 if dtype == np.float32 else 1e-8
    good = np.linspace(0, 1, n)
    assert MatrixGram(spectrum(good).astype(dtype)).definite is True
    bad = good.copy()
    bad[0] = -smallest
    assert MatrixGram(spectrum(bad).astype(dtype)).definite is False


def test_rank_deficient_is_definite():
    """Twice the same samples, in a space of three dimensions."""
    repeated = np.concatenate([X, X, X])
    for dtype in (np.float32, np.float64):
        samples = repeated.astype(dtype)
        assert MatrixGram(samples @ samples.T).definite is True
        assert MatrixGram(gaussian(samples, samples).astype(dtype)).definite is True
    assert MatrixGram(np.zeros((5, 5))).definite is True


def test_a_promise_is_believed():
    assert MatrixGram(np.array([[1.0, 2.0], [2.0, 1.0]]), definite=True).definite is True
    assert MatrixGram(np.array([[1.0, 2.0], [2.0, 1.0]])).definite is False
    assert MatrixGram(np.eye(2), definite=False).definite is True


def test_indefinite_kernels():
    assert make_gram(Sigmoid(gamma=1.0, coef0=-1.0), X).definite is False
    assert FunctionGram(FromFunction(lambda A, B: -gaussian(A, B)), X).definite is False
    assert FunctionGram(FromFunction(lambda A, B: -squared_distances(A, B)), X).definite is False


def test_definite_is_decided_once():
    asked = []

    def kernel(A, B):
        asked.append(len(A))
        return -gaussian(A, B)

    gram = FunctionGram(FromFunction(kernel), X)
    assert gram.definite is False
    before = len(asked)
    assert gram.definite is False and len(asked) == before


def test_definite_of_a_large_matrix():
    """Above the size of a factorisation; one negative eigenvalue must still be seen."""
    samples = np.random.default_rng(1).normal(size=(3100, 3))
    K = RBF(gamma=0.5)(samples)
    assert MatrixGram(K).definite is True
    for weight in (3.0, 1.2):
        wrong = K.copy()
        wrong[7, 7] -= weight  # the diagonal is 1: an eigenvalue below 1 - weight
        assert MatrixGram(wrong).definite is False


def test_too_large_to_tell_is_not_definite():
    n = 20_001
    gram = FunctionGram(FromFunction(lambda A, B: np.asarray(A) @ np.asarray(B).T), np.ones((n, 1)))
    assert gram.definite is False


# --- memory -----------------------------------------------------------------------------------------------


def test_memory_budget():
    assert memory_budget(1) == 2**20
    assert memory_budget(0.5) == 2**19
    assert memory_budget(np.float32(2)) == 2**21
    assert memory_budget(5000) == 5000 * 2**20  # above 32 bits
    assert memory_budget("auto") > 2**20
    assert memory_budget() == pytest.approx(memory_budget("auto"), rel=0.5)


@pytest.mark.parametrize("memory", [0, -1, np.nan, np.inf, "much", "1", None, True, [1.0], 1j])
def test_wrong_memory_is_refused(memory):
    with pytest.raises(ValueError, match="memory must be a number of megabytes > 0 or 'auto', got"):
        memory_budget(memory)
    with pytest.raises(ValueError, match="memory must be"):
        make_gram(FromFunction(gaussian), X, memory)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(3, 1.0, 1.0)], ids=repr)
def test_values_that_overflow_are_refused(kernel):
    with pytest.raises(ValueError, match=r"The features are too large: the values of .* overflow\. Rescale them\."):
        make_gram(kernel, 1e160 * X)
    large = make_gram(kernel, (1e25 * X).astype(np.float32))  # too large for float32, not for what is computed with
    assert np.isfinite(large.rows(np.arange(3))).all()
    assert make_gram(RBF(gamma=1.0), 1e160 * X).diag().max() == 1.0
