"""Kernels made of kernels: identities, limits of floating point, errors."""

import math
import pickle
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, issparse
from sklearn.base import clone

from mercer import SVC
from mercer.errors import DomainError
from mercer.kernels import (
    RBF,
    Centered,
    Chi2,
    Constant,
    Cosine,
    EmpiricalMap,
    Exp,
    Exponential,
    FromFunction,
    Hamming,
    Indexed,
    Kernel,
    Laplacian,
    Linear,
    Mallows,
    Mapped,
    Matern,
    Normalized,
    On,
    Polynomial,
    PolynomialOf,
    RationalQuadratic,
    Sigmoid,
    exp,
    weighted_sum,
)

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
    # and so have products with kernels that are never negative
    together = (Exponents() * RBF(gamma=0.5)).normalized()
    assert_allclose(together(numbers), np.exp(-((numbers - numbers.T) ** 2)), rtol=1e-12)
    with pytest.raises(ValueError, match="too large"):
        (Exponents() * Linear()).normalized()(numbers)
    moderate = numbers[:2]
    expected = np.exp(moderate @ moderate.T) + 1
    norms = np.sqrt(np.diagonal(expected))
    assert_allclose((Exponents() + 1).normalized()(moderate), expected / np.outer(norms, norms), rtol=1e-12)
    assert_array_equal(np.diagonal((Exponents() + 1).normalized()(numbers)), np.ones(4))


def test_derivatives_by_logarithms_of_values_that_overflow():
    far, W = 40 + 0.3 * X, np.random.default_rng(1).normal(size=(12, 12))
    exponential = (exp(Linear() * Constant(0.5)) ** 2 * RBF(gamma=1e-5) + 3 * exp(0.9 * Linear())).normalized()
    derivatives = exponential.vjp(far, W)
    assert len(derivatives) == 4
    assert any(abs(value) > 1e-3 for value in derivatives.values())
    for name, value in derivatives.items():
        number, h = exponential.get_params()[name], 1e-6
        ahead, behind = (clone(exponential).set_params(**{name: number + step})(far) for step in (h, -h))
        assert_allclose(value, np.vdot(W, ahead - behind) / (2 * h), rtol=1e-4, atol=1e-4)


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


# --- functions of a kernel --------------------------------------------------------------------------------


def test_the_gaussian_is_an_exponential_normalised():
    # [CY eqs 3.13-3.14]
    for s in (0.3, 1.0, 7.0):
        assert_allclose(exp(Linear() * (1 / s**2)).normalized()(X, Y), RBF.from_sigma(s)(X, Y), rtol=1e-10)
    far = 1000 * X  # exp(x . x') itself is beyond floating point numbers
    assert_allclose(exp(Linear() / 1e6).normalized()(far), RBF.from_sigma(1e3)(far), rtol=1e-10)
    K = exp(Linear()).normalized()(far)
    assert_array_equal(K, np.eye(12))
    with pytest.raises(ValueError, match=r"exp\(k\) overflows, k is up to .*; use exp\(k\).normalized\(\)"):
        exp(Linear())(far)


def test_exponential_series_and_polynomial():
    kernel = RBF(gamma=0.3)
    K = kernel(X, Y)
    assert_allclose(exp(kernel)(X, Y), np.exp(K))
    assert exp(kernel) == kernel.exp() == Exp(kernel)
    assert_allclose(kernel.polynomial([1 / math.factorial(r) for r in range(20)])(X, Y), np.exp(K), rtol=1e-12)
    assert_allclose(kernel.polynomial([2.0, 0.0, 3.0])(X, Y), 2 + 3 * K**2)
    assert_allclose(kernel.polynomial([2])(X, Y), np.full((12, 7), 2.0))
    assert_allclose(kernel.polynomial(np.array([0.0, 1.0]))(X, Y), K)
    assert_allclose(kernel.geometric(1.5)(X, Y), 1 / (1.5 - K))
    series = kernel.polynomial([1.5 ** -(r + 1) for r in range(100)])
    assert_allclose(series(X, Y), kernel.geometric(1.5)(X, Y), rtol=1e-12)


@pytest.mark.parametrize("coefficients", [[1.0, -0.1], [], 3.0, "ab", [np.nan], [[1.0]], None])
def test_polynomials_have_coefficients_that_are_not_negative(coefficients):
    with pytest.raises(ValueError, match="coefficients must be a sequence of floats >= 0, got"):
        Linear().polynomial(coefficients)
    with pytest.raises(ValueError, match="coefficients must be a sequence of floats >= 0, got"):
        PolynomialOf(Linear(), coefficients)(X)


def test_series_within_their_radius():
    longest = float((X**2).sum(axis=1).max())
    assert np.isfinite(Linear().geometric(1.01 * longest)(X)).all()
    message = re.escape(f"every sample, got rho={longest} and k(x, x) up to {longest:.6g}.")
    for call in (lambda k: k(X), lambda k: k(X[:1], X), lambda k: k(X, X[:1]), lambda k: k.diag(X)):
        with pytest.raises(DomainError, match=message):
            call(Linear().geometric(longest))
    # An indefinite kernel may leave the radius off its diagonal.
    with pytest.raises(DomainError, match="rho larger than"):
        FromFunction(lambda A, B: 1.0 - np.eye(len(A), len(B))).geometric(0.9)(np.zeros((2, 1)))
    with pytest.raises(ValueError, match="rho must be a float > 0, got -1"):
        Linear().geometric(-1)(X)


DIVISIBLE = [
    RBF(gamma=0.4),
    Exponential(gamma=0.4),
    Laplacian(gamma=0.4),
    Matern(nu=1.5),
    Matern(nu=0.7),
    RationalQuadratic(),
    Constant(2.0),
    Chi2(gamma=0.5),
    exp(Linear()),
    RBF(gamma=1.0) * Laplacian(gamma=0.2),
    RBF(gamma=1.0) ** 3,
    Linear().rbf(1.0),
    (2 * exp(Polynomial(degree=2, gamma=0.3))).normalized(),
    (RBF(gamma=1.0) + 1).geometric(3.0),
    Mallows(0.2),
    On("a", RBF(gamma=1.0)),
]


@pytest.mark.parametrize("kernel", DIVISIBLE, ids=repr)
def test_powers_of_infinitely_divisible_kernels(kernel):
    assert kernel.infinitely_divisible is True
    rng = np.random.default_rng(3)
    if kernel.domain == "permutations":
        samples = rng.permuted(np.tile(np.arange(5), (30, 1)), axis=1)
    else:
        samples = np.abs(rng.normal(size=(30, 2)))
        samples = {"a": samples} if kernel.domain == "table" else samples
    K = kernel(samples)
    for exponent in (0.05, 0.5, 1.7):
        powered = (kernel**exponent)(samples)
        assert_allclose(powered, K**exponent, rtol=1e-12)
        assert np.linalg.eigvalsh(powered).min() > -1e-10 * powered.max()
    assert (kernel**0.5) ** 4 == kernel**2.0
    assert ((kernel**0.5) ** 0.5).infinitely_divisible


@pytest.mark.parametrize(
    "kernel",
    [Linear(), Polynomial(), Cosine(), Hamming(), RBF() + Linear(), RBF() * Linear(), exp(Sigmoid()), Sigmoid()],
    ids=repr,
)
def test_fractional_powers_of_others_are_refused(kernel):
    assert kernel.infinitely_divisible is False
    with pytest.raises(ValueError, match=r"int >= 1, got 0.5. Other powers are not .* not known to be infinitely"):
        kernel**0.5


def test_wrong_powers_of_divisible_kernels():
    for exponent in (0.0, -1.5, np.nan, "a", True):
        with pytest.raises(ValueError, match="exponent of a kernel must be a float > 0"):
            RBF(gamma=1.0) ** exponent


def test_a_power_that_underflows_has_a_derivative():
    kernel = RBF(gamma=1.0) ** 0.5
    derivatives = kernel.vjp([[0.0], [1e3]], np.ones((2, 2)))
    assert derivatives == {"kernel__gamma": 0.0, "exponent": 0.0}


def test_what_is_no_kernel_is_refused_with_the_reason():
    kernel = RBF(gamma=1.0)
    for refused, reason in (
        (lambda: -kernel, "with a minus is not a kernel"),
        (lambda: kernel - Linear(), "difference is not a kernel"),
        (lambda: kernel - 1, "difference is not a kernel"),
        (lambda: 2 - kernel, r"geometric\(rho\) is 1 / \(rho - kernel\)"),
        (lambda: 1 / kernel, r"geometric\(rho\) is 1 / \(rho - kernel\)"),
        (lambda: kernel / Linear(), "quotient of kernels is not a kernel"),
        (lambda: kernel.log(), "logarithm of a kernel is not a kernel"),
        (lambda: np.log(kernel), "logarithm of a kernel is not a kernel"),
        (lambda: np.negative(kernel), "with a minus is not a kernel"),
        (lambda: np.float64(2) - kernel, r"geometric\(rho\) is 1 / \(rho - kernel\)"),
        (lambda: np.reciprocal(kernel), r"geometric\(rho\) is 1 / \(rho - kernel\)"),
        (lambda: np.ones(3) * kernel, "unsupported operand"),
        (lambda: kernel / "a", "unsupported operand"),
    ):
        with pytest.raises(TypeError, match=reason):
            refused()
    for number in (0, -2.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="divided by must be finite and > 0, got"):
            kernel / number
    assert_allclose((kernel / 4)(X), kernel(X) / 4)
    assert_allclose((kernel / np.float32(4))(X), kernel(X) / 4)


def test_numpy_leaves_kernels_their_own_algebra():
    kernel = RBF(gamma=1.0)
    assert np.float64(2) * kernel == 2 * kernel
    assert np.int64(2) + kernel == 2 + kernel
    assert kernel * np.float32(0.5) == kernel * 0.5
    assert np.exp(kernel) == exp(kernel)
    assert np.sqrt(kernel) == kernel**0.5
    with pytest.raises(ValueError, match=r"Other powers are not .* Linear is not known to be infinitely divisible"):
        np.sqrt(Linear())
    with pytest.raises(ValueError, match=r">= 0, got -2\.0"):
        np.float64(-2) * kernel
    assert (np.ones(3) == kernel) is False


def test_weighted_sums():
    kernels = [Linear(), RBF(gamma=0.5), Constant(2.0)]
    expected = 0.5 * Linear()(X) + 1.5 * RBF(gamma=0.5)(X)
    weighted = weighted_sum(kernels, [0.5, 1.5, 0.0])
    assert_allclose(weighted(X), expected)
    assert weighted.get_params()["1__0__value"] == 1.5
    assert_allclose(weighted.set_params(**{"1__0__value": 0.5})(X), expected - RBF(gamma=0.5)(X))
    assert_allclose(weighted_sum(kernels)(X), (Linear()(X) + RBF(gamma=0.5)(X) + 2) / 3)
    with pytest.raises(ValueError, match="one number for each of 3 kernels, got 2"):
        weighted_sum(kernels, [1.0, 2.0])
    with pytest.raises(ValueError, match=">= 0, got -1"):
        weighted_sum(kernels, [1.0, -1.0, 1.0])
    with pytest.raises(ValueError, match="Sum needs at least one kernel"):
        weighted_sum([])
    with pytest.raises(TypeError, match="weighted_sum needs a kernel, got 'rbf'; as_kernel turns names into kernels"):
        weighted_sum([Linear(), "rbf"])


# --- feature space ----------------------------------------------------------------------------------------


def test_gaussian_of_an_induced_distance():
    # [P eq 1.16]
    for s in (0.5, 2.0):
        assert_allclose(Linear().rbf(s)(X, Y), RBF.from_sigma(s)(X, Y), rtol=1e-10)
    assert_array_equal(np.diagonal(Polynomial(degree=3, gamma=1.0).rbf(0.01)(100 * X)), np.ones(12))
    for word in ("median", "mean"):
        gamma = RBF(gamma=word).resolve(X).gamma
        assert Linear().rbf(word).resolve(X).sigma == pytest.approx((1 / (2 * gamma)) ** 0.5)
    assert Linear().rbf().resolve(np.ones((3, 2))).sigma == 1.0


def test_width_of_many_samples_does_not_depend_on_their_order(monkeypatch):
    monkeypatch.setattr("mercer.kernels.algebra.geometry.MOST_SAMPLES", 200)
    many, kernel = np.random.default_rng(1).normal(size=(300, 2)), Linear().rbf("median")
    some = kernel.resolve(many).sigma
    assert some == pytest.approx(kernel.resolve(many[::-1].copy()).sigma, rel=1e-12)
    assert some == pytest.approx(kernel.resolve(np.repeat(many, 2, axis=0)).sigma, rel=1e-12)
    assert some == pytest.approx(kernel.resolve(many, np.full(300, 2.0)).sigma, rel=1e-12)
    everything = (0.5 / RBF(gamma="median").resolve(many).gamma) ** 0.5
    assert some != everything
    assert some == pytest.approx(everything, rel=0.1)


def test_scaled():
    def f(A):
        return np.asarray(A)[:, 0] + 2

    assert_allclose(Linear().scaled(f)(X, Y), (X[:, :1] + 2) * (X @ Y.T) * (Y[:, 0] + 2))
    assert_allclose(Linear().scaled(f).features(X), (X[:, :1] + 2) * X)
    assert_allclose(
        (Polynomial(degree=2, gamma=1.0).scaled(f) + Linear()).dot(X, Y, np.ones(7)),
        (Polynomial(degree=2, gamma=1.0).scaled(f) + Linear())(X, Y).sum(axis=1),
    )
    for wrong in (lambda A: 1.0, lambda A: np.asarray(A), lambda A: np.full(len(A), np.nan)):
        with pytest.raises(ValueError, match="a finite number for each of 12 samples, got"):
            Linear().scaled(wrong)(X)
    with pytest.raises(TypeError, match="function must be callable"):
        Linear().scaled(3)(X)


def centred_by_hand(K, Kx, Ky, Kz, w):
    w = w / w.sum()
    return K - (Kx @ w)[:, np.newaxis] - (Ky @ w) + w @ Kz @ w


def test_centred_on_a_reference():
    kernel, Z, w = Polynomial(degree=2, gamma=0.5, coef0=1.0), X[:5], np.array([1.0, 2.0, 0.0, 0.5, 1.0])
    phi, psi, zeta = kernel.features(X), kernel.features(Y), kernel.features(Z)
    mean = np.average(zeta, axis=0, weights=w)
    assert_allclose(Centered(kernel, Z, w)(X, Y), (phi - mean) @ (psi - mean).T, rtol=1e-10, atol=1e-10)
    K = kernel.centered().resolve(X)(X)
    assert_allclose(K.sum(axis=0), np.zeros(12), atol=1e-9)
    H = np.eye(12) - 1 / 12
    assert_allclose(K, H @ kernel(X) @ H, atol=1e-10)
    assert_array_equal(kernel.centered()(X), K)


def test_centring_counts_a_sample_as_often_as_its_weight():
    weights = np.array([2.0, 0.0, 1.0, 3.0] * 3)
    kernel = RBF(gamma="median").centered()
    weighted = kernel.resolve(X, weights)
    repeated = kernel.resolve(np.repeat(X, weights.astype(int), axis=0))
    assert_allclose(weighted(Y), repeated(Y), atol=1e-14)
    kept = weights > 0
    assert_array_equal(weighted(Y), kernel.resolve(X[kept], weights[kept])(Y))
    assert len(weighted.reference) == 9
    assert kernel.resolve(X).weights is None


def test_centring_any_samples():
    letters = FromFunction(lambda A, B: np.array([[len(set(a) & set(b)) for b in B] for a in A], dtype=float))
    words = ["stay", "stray", "play", "spray"]
    kernel = letters.centered().resolve(words)
    assert_allclose(kernel(words).sum(axis=0), np.zeros(4), atol=1e-12)
    assert kernel == letters.centered(list(words))
    assert repr(kernel).endswith("reference=<a list of str>)")


def test_the_mean_follows_the_parameters():
    kernel = RBF(gamma=1.0).centered(X)
    before = kernel(Y)
    assert pickle.loads(pickle.dumps(kernel)).__dict__.keys() == {"kernel", "reference", "weights"}
    assert kernel == RBF(gamma=1.0).centered(X)
    kernel.set_params(kernel__gamma=2.0)
    assert_array_equal(kernel(Y), RBF(gamma=2.0).centered(X)(Y))
    assert not np.allclose(kernel(Y), before)
    assert clone(kernel).reference is X


def test_wrong_references():
    for reference in ([], "test", X[:0]):
        with pytest.raises(ValueError, match="reference must be 'training' or at least one sample, got"):
            RBF(gamma=1.0).centered(reference)(X)
    for weights in ([1.0], [-1.0] * 12, np.zeros(12), [np.nan] * 12):
        with pytest.raises(ValueError, match="weights must be 12 numbers >= 0"):
            Centered(RBF(gamma=1.0), X, weights)(X)
    with pytest.raises(ValueError, match="weights must be None with reference='training'"):
        Centered(RBF(gamma=1.0), "training", [1.0])(X)
    with pytest.raises(ValueError, match="takes reference and kernel__gamma from the data"):
        RBF().centered()(X, Y)


def test_empirical_map():
    # [P section 1.7.4]: of an indefinite similarity
    similarity, templates = Sigmoid(gamma=1.0, coef0=-1.0), Y
    kernel = EmpiricalMap(similarity, templates)
    S = similarity(X, Y)
    assert_allclose(kernel(X), S @ S.T, rtol=1e-12)
    assert_allclose(kernel.features(X), S)
    assert kernel.definite is True
    assert np.linalg.eigvalsh(kernel(X)).min() > -1e-12
    weights = np.array([2.0, 0.0, 1.0, 3.0, 1.0, 0.5, 1.0])
    assert_allclose(EmpiricalMap(similarity, Y, weights)(X), S * weights @ S.T, rtol=1e-12)
    resolved = EmpiricalMap(RBF()).resolve(Y, weights)
    assert resolved.similarity == RBF().resolve(Y, weights)
    assert_array_equal(resolved.templates, Y[weights > 0])
    assert clone(resolved).templates is resolved.templates


def test_empirical_map_of_a_function():
    def common(A, B):
        return np.array([[len(set(a) & set(b)) for b in B] for a in A])

    words = ["stay", "stray", "play"]
    kernel = EmpiricalMap(common)
    S = common(words, words)
    assert_array_equal(kernel(words), S @ S.T)
    resolved = kernel.resolve(words)
    assert resolved.similarity is common
    assert_array_equal(resolved(["pay"]), [[(common(["pay"], words) ** 2).sum()]])
    with pytest.raises(TypeError, match="EmpiricalMap needs a kernel, got 3"):
        EmpiricalMap(3)(words)
    with pytest.raises(ValueError, match="takes templates from the data"):
        kernel(words, ["pay"])


# --- explicit maps ----------------------------------------------------------------------------------------


def ellipse(seed=0, n=120):
    """Points on both sides of 8 (x1 - 1)^2 + 50 (x2 - 2)^2 = 1 [A eq 10.60], with a margin between them."""
    rng = np.random.default_rng(seed)
    points = rng.uniform([0.3, 1.7], [1.7, 2.3], size=(4 * n, 2))
    value = 8 * (points[:, 0] - 1) ** 2 + 50 * (points[:, 1] - 2) ** 2
    clear = (value < 0.6) | (value > 1.8)
    return points[clear][:n], np.where(value < 1, 1, -1)[clear][:n]


def test_explicit_maps_of_the_seeds():
    x1, x2 = X[:, 0], X[:, 1]
    # [B eq 7.42], up to the order of the coordinates
    phi = Polynomial(degree=2, gamma=1.0, coef0=1.0).features(X[:, :2])
    root = np.sqrt(2)
    assert_allclose(phi, np.column_stack([x1**0, root * x1, root * x2, x1**2, root * x1 * x2, x2**2]))
    assert_allclose(phi @ phi.T, ((Linear() + 1) ** 2)(X[:, :2]))
    # [W]
    assert_allclose(Polynomial(degree=2, gamma=1.0).features(X[:, :2]), np.column_stack([x1**2, root * x1 * x2, x2**2]))


def test_squares_of_coordinates():
    # [A eq 10.64] and how [A eq 10.65] contains it
    points, _ = ellipse()
    kernel = Linear() + Mapped(np.square, Linear())
    phi = kernel.features(points)
    assert_array_equal(phi, np.hstack([points, points**2]))
    assert_allclose(kernel(points), phi @ phi.T)
    both = points[:, 0] * points[:, 1]
    assert_allclose(
        Polynomial(degree=2, gamma=1.0, coef0=0.5)(points), kernel(points) + 2 * np.outer(both, both) + 0.25
    )


def test_the_ellipse_has_the_multipliers_of_the_explicit_map():
    points, y = ellipse()
    new, expected = ellipse(seed=1)
    for kernel in (Linear() + Mapped(np.square, Linear()), Polynomial(degree=2, gamma=1.0, coef0=0.5)):
        settings = {"C": np.inf, "tol": 1e-6}
        implicit = SVC(kernel=kernel, **settings).fit(points, y)
        explicit = SVC(kernel="linear", **settings).fit(kernel.features(points), y)
        assert implicit.score(points, y) == 1.0
        assert implicit.score(new, expected) > 0.95
        assert_array_equal(implicit.support_, explicit.support_)
        assert_allclose(implicit.dual_coef_, explicit.dual_coef_, rtol=1e-4)
        assert_allclose(implicit.intercept_, explicit.intercept_, rtol=1e-5)


def test_features_of_combinations():
    kernel = 3 * Linear() + Polynomial(degree=2, gamma=0.5) / 2 + 4
    for samples in (X, csr_array(X)):
        phi = kernel.features(samples)
        assert issparse(phi) == issparse(samples)
        K = phi @ phi.T
        assert_allclose(K.toarray() if issparse(K) else K, kernel(X), rtol=1e-12)
    assert_allclose((2 * Constant(3.0)).features(X), np.full((12, 1), 6**0.5))
    for without in (RBF() + Linear(), Linear() * Linear(), Linear() ** 2):
        with pytest.raises(NotImplementedError, match="has no explicit feature map"):
            without.features(X)


# --- given --------------------------------------------------------------------------------------------------


def test_function_of_two_samples():
    seen = []

    def common(a, b):
        seen.append((a, b))
        return len(set(a) & set(b))

    words = ["stay", "stray", "play"]
    kernel = FromFunction(common, pairwise=True)
    expected = np.array([[4.0, 4.0, 2.0], [4.0, 5.0, 2.0], [2.0, 2.0, 4.0]])
    assert_array_equal(kernel(words), expected)
    assert len(seen) == 6  # each pair once
    assert_array_equal(kernel(words, words[:2]), expected[:, :2])
    assert_array_equal(kernel.diag(words), [4, 5, 4])
    assert kernel(words, []).shape == (3, 0)
    assert kernel([], words).shape == (0, 3)
    rows = FromFunction(lambda a, b: float(a @ b), pairwise=True)
    assert_allclose(rows(X, Y), X @ Y.T)
    sparse = FromFunction(lambda a, b: float((a @ b.T).toarray()[0, 0]), pairwise=True)
    assert_allclose(sparse(csr_array(X)), X @ X.T)
    with pytest.raises(ValueError, match="pairwise must be False or True, got 'yes'"):
        FromFunction(common, pairwise="yes")(words)


def test_stored_matrices_join_the_algebra():
    K = X @ X.T
    indices = np.arange(12)
    stored = Indexed(K)
    assert_allclose((2 * stored + 1)(indices), 2 * K + 1)
    assert_allclose((stored**2).normalized()(indices), Cosine()(X) ** 2, rtol=1e-10)
    assert_allclose(exp(stored / 4).normalized()(indices), RBF.from_sigma(2.0)(X), rtol=1e-10)
    assert_allclose(stored.rbf(2.0)(indices), RBF.from_sigma(2.0)(X), rtol=1e-10)
    assert_allclose(stored.centered().resolve(indices)(indices).sum(axis=0), np.zeros(12), atol=1e-10)
    combined = clone(2 * stored + exp(stored.normalized()))
    assert combined.kernels[0].kernels[1].K is K
    assert combined.kernels[1].kernel.kernel.K is K
    machine = SVC(kernel=combined).fit(indices, np.arange(12) % 2)
    assert machine.kernel_.kernels[0].kernels[1].K is K
