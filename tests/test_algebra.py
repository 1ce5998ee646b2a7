"""Kernels made of kernels: identities, limits of floating point, errors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from mercer.errors import DomainError
from mercer.kernels import RBF, Constant, Cosine, Kernel, Linear, Normalized, Polynomial, Sigmoid

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(12, 3)), rng.normal(size=(7, 3))


class Exponents(Kernel):
    """exp(x x') of numbers, known by its logarithms: values beyond the range of floating point numbers."""

    domain = "vectors"

    def _matrix(self, X, Y):
        raise ValueError("too large")

    def _log_matrix(self, X, Y):
        return X @ Y.T

    def _log_diag(self, X):
        return np.diagonal(X @ X.T).copy()


# --- normalised -------------------------------------------------------------------------------------------


def test_normalized_is_the_cosine():
    assert_allclose(Linear().normalized()(X, Y), Cosine()(X, Y), rtol=1e-14)
    assert Linear().normalized() == Normalized(Linear())
    assert repr(Linear().normalized()) == "Normalized(kernel=Linear())"
    assert repr((Linear() + 1).normalized()) == "Normalized(kernel=Linear() + Constant())"


@pytest.mark.parametrize("scale", [1.0, 1e-160, 1e-100, 1e100, 1e150])
def test_a_sample_with_itself_is_exactly_one(scale):
    samples = scale * rng.normal(size=(200, 5))
    kernel = Linear().normalized()
    K = kernel(samples)
    assert_array_equal(np.diagonal(K), np.ones(200))
    assert_array_equal(kernel.diag(samples), np.ones(200))
    if scale > 1e-150:
        assert_allclose(K, Cosine()(samples / scale), rtol=1e-12, atol=1e-15)


def test_a_sample_of_norm_zero_has_no_direction():
    samples = np.vstack([np.zeros(3), X])
    K = Linear().normalized()(samples)
    assert_array_equal(K[0], np.zeros(13))
    assert_array_equal(K[:, 0], np.zeros(13))
    assert_array_equal(Linear().normalized().diag(samples), [0] + [1] * 12)
    K = (Constant(0.0) * Linear()).normalized()(X)
    assert_array_equal(K, np.zeros((12, 12)))


def test_normalized_by_logarithms():
    numbers = np.array([[0.0], [1.0], [100.0], [-100.0]])
    K = Exponents().normalized()(numbers)
    assert_allclose(K, np.exp(-((numbers - numbers.T) ** 2) / 2), rtol=1e-12)
    assert_array_equal(np.diagonal(K), np.ones(4))
    # products, multiples, powers and sums of kernels with logarithms have them too
    for kernel, square in ((2 * Exponents(), 1), (Exponents() ** 3, 3), (Exponents() * Exponents(), 2)):
        assert_allclose(kernel.normalized()(numbers), np.exp(-square * (numbers - numbers.T) ** 2 / 2), rtol=1e-12)
    moderate = numbers[:2]
    expected = np.exp(moderate @ moderate.T) + 1
    norms = np.sqrt(np.diagonal(expected))
    assert_allclose((Exponents() + 1).normalized()(moderate), expected / np.outer(norms, norms), rtol=1e-12)
    assert_array_equal(np.diagonal((Exponents() + 1).normalized()(numbers)), np.ones(4))


def test_zero_by_logarithms():
    class Nothing(Exponents):
        def _log_matrix(self, X, Y):
            return np.where((X == 0) | (Y.T == 0), -np.inf, X @ Y.T)

        def _log_diag(self, X):
            return np.where(X[:, 0] == 0, -np.inf, X[:, 0] ** 2)

    numbers = np.array([[0.0], [1.0]])
    assert_array_equal(Nothing().normalized()(numbers), [[0, 0], [0, 1]])
    assert_array_equal(Nothing().normalized().diag(numbers), [0, 1])


def test_negative_diagonals_are_not_normalised():
    with pytest.raises(DomainError, match=r"Sigmoid cannot be normalised on samples where k\(x, x\) < 0, got -0.9"):
        Sigmoid(gamma=1.0, coef0=-2.0).normalized()([[0.1]])


def test_normalized_features():
    kernel = Polynomial(degree=2, gamma=1.0).normalized()
    for samples in (X, csr_array(X)):
        phi = kernel.features(samples)
        K = phi @ phi.T
        assert_allclose(K.toarray() if hasattr(K, "toarray") else K, kernel(X), atol=1e-12)
    assert_array_equal(Linear().normalized().features(np.zeros((1, 3))), np.zeros((1, 3)))


def test_normalized_needs_a_kernel():
    with pytest.raises(TypeError, match="Normalized needs a kernel, got 'rbf'"):
        Normalized("rbf")(X)
    with pytest.raises(ValueError, match="kernel__gamma from the data"):
        RBF().normalized()(X, Y)
