"""What kernel matrices tell: spectra, centring, normalising, alignment, diagnosis."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_limits

from mercer.gram import (
    MatrixGram,
    VectorGram,
    alignment,
    alignment_gradient,
    center,
    centered_alignment,
    diagnose,
    eigenvalues,
    ideal_kernel,
    is_conditionally_psd,
    is_psd,
    normalize,
    spectrum,
)
from mercer.kernels import RBF, Centered, FromFunction, Linear, Matern, Polynomial, Sigmoid

X = np.random.default_rng(0).normal(size=(30, 4)) + 1.0
X_new = np.random.default_rng(1).normal(size=(8, 4))
y = np.arange(30) % 2
INDEFINITE = Sigmoid(gamma=0.5, coef0=-1.0)(X)


@pytest.fixture(autouse=True)
def one_thread_for_linear_algebra():
    with threadpool_limits(1):
        yield


# --- the spectrum -----------------------------------------------------------------------------------------


def test_spectrum_of_known_eigenvalues():
    Q, _ = np.linalg.qr(np.random.default_rng(2).normal(size=(5, 5)))
    values = np.array([4.0, 2.0, 1.0, 0.0, -3.0])
    found = spectrum(Q @ np.diag(values) @ Q.T)
    assert_allclose(found.eigenvalues, values, atol=1e-13)
    assert (found.definite, found.rank, found.n_negative) == (False, 4, 1)
    assert_allclose(found.negative_share, 0.3)
    assert_allclose(found.participation_ratio, 100 / 30)
    assert_allclose(found.effective_dimension(1.0), 4 / 5 + 2 / 3 + 1 / 2)
    assert "share 30.00%" in str(found)


def test_spectrum_of_the_linear_kernel_is_that_of_the_covariance():
    found = spectrum(X @ X.T)
    assert_allclose(found.eigenvalues[:4], np.linalg.svd(X)[1] ** 2)
    assert (found.definite, found.rank, found.n_negative, found.negative_share) == (True, 4, 0, 0.0)
    # Ridge regression has as many degrees of freedom in the features as in the samples.
    hat = X @ np.linalg.solve(X.T @ X + 2.0 * np.eye(4), X.T)
    assert_allclose(found.effective_dimension(2.0), np.trace(hat))


def test_gram_objects_and_single_precision():
    for given_matrix in (MatrixGram(INDEFINITE), VectorGram(Sigmoid(gamma=0.5, coef0=-1.0), X), INDEFINITE.tolist()):
        assert_allclose(eigenvalues(given_matrix), eigenvalues(INDEFINITE), atol=1e-12)
    K = RBF(gamma=0.5)(X.astype(np.float32))
    assert K.dtype == np.float32
    assert eigenvalues(K).dtype == np.float64
    assert eigenvalues([[1, 2], [2, 1]]).tolist() == pytest.approx([3.0, -1.0])


def test_rounding_of_mirror_images_does_not_matter():
    """Sums in another order: nothing depends on which triangle is looked at."""
    K = RBF(gamma=0.3)(X)
    rough = K + 1e-15 * np.triu(np.random.default_rng(6).normal(size=K.shape))
    assert (rough != rough.T).any()
    for function in (eigenvalues, center, normalize):
        assert_array_equal(function(rough), function(rough.T))
    assert_array_equal(center(rough), center(rough).T)


def test_degenerate_matrices():
    zero = spectrum(np.zeros((3, 3)))
    assert (zero.definite, zero.rank, zero.negative_share, zero.participation_ratio) == (True, 0, 0.0, 0.0)
    assert spectrum([[2.0]]).participation_ratio == 1.0
    assert_allclose(spectrum(np.eye(6)).participation_ratio, 6.0)
    assert not is_psd([[-1.0]])
    assert is_conditionally_psd([[-1.0]])


def test_tolerance():
    K = np.diag([1.0, -1e-6])
    assert not is_psd(K)
    assert is_psd(K, tol=1e-5)
    assert not is_psd(K, tol=1e-7)
    assert spectrum(K, tol=1e-5).rank == 1
    assert is_psd(1e-200 * (X @ X.T))
    assert is_psd(1e200 * (X @ X.T))


@given(st.integers(1, 8), st.integers(1, 4), st.integers(0, 10**6))
@settings(deadline=None, derandomize=True, max_examples=60)
def test_gram_matrices_are_definite_and_their_negatives_are_not(n, d, seed):
    Z = np.random.default_rng(seed).normal(size=(n, d)) * 10.0 ** np.random.default_rng(seed).integers(-5, 5)
    assert is_psd(Z @ Z.T)
    assert not is_psd(-(Z @ Z.T))


def test_conditionally_definite():
    squares = ((X[:, np.newaxis] - X) ** 2).sum(axis=2)
    for power in (0.25, 0.5, 1.0):
        K = -(squares**power)
        assert is_conditionally_psd(K)
        assert not is_psd(K)
        assert is_psd(np.exp(0.7 * K))  # Schoenberg
    assert not is_conditionally_psd(-(squares**1.5))
    assert not is_conditionally_psd(squares)
    assert is_conditionally_psd(X @ X.T - 100.0)  # a constant is lost in centring
    assert is_conditionally_psd(-(squares**1.5), tol=1.0)


@pytest.mark.parametrize("function", [eigenvalues, spectrum, is_psd, is_conditionally_psd, center, normalize, diagnose])
def test_wrong_matrices(function):
    for K, message in (
        (np.ones((2, 3)), r"K must be a square matrix, got shape \(2, 3\)"),
        (np.ones(3), r"K must be a matrix with at least one row and column, got shape \(3,\)"),
        (np.empty((0, 0)), r"at least one row and column, got shape \(0, 0\)"),
        ([[1.0, 2.0], [0.0, 1.0]], "K must be symmetric, entries and their mirror images differ by up to 2;"),
        ([[1.0, np.nan], [np.nan, 1.0]], "K must be finite, it contains NaN or infinity"),
        ([["a", "b"], ["c", "d"]], "K must be a matrix of real numbers, got an array of dtype <U1"),
    ):
        with pytest.raises(ValueError, match=message):
            function(K)


def test_wrong_tolerances():
    for function in (spectrum, is_psd, is_conditionally_psd):
        with pytest.raises(ValueError, match="tol must be a float >= 0 or None, got -1"):
            function(np.eye(2), tol=-1)
    with pytest.raises(ValueError, match="ridge must be a float > 0, got 0"):
        spectrum(np.eye(2)).effective_dimension(0)


# --- centring and normalising -----------------------------------------------------------------------------


def test_center_by_explicit_features():
    m = X.mean(axis=0)
    assert_allclose(center(X @ X.T), (X - m) @ (X - m).T, atol=1e-12)
    assert_allclose(center(X @ X.T, X_new @ X.T), (X_new - m) @ (X - m).T, atol=1e-12)
    w = np.random.default_rng(3).uniform(size=30)
    m = w @ X / w.sum()
    assert_allclose(center(X @ X.T, sample_weight=w), (X - m) @ (X - m).T, atol=1e-12)
    assert_allclose(center(X @ X.T, X_new @ X.T, sample_weight=w), (X_new - m) @ (X - m).T, atol=1e-12)


def test_matrices_of_centred_and_normalised_kernels():
    kernel = Polynomial(degree=2, gamma=0.5, coef0=1.0)
    K, K_new, w = kernel(X), kernel(X_new, X), np.random.default_rng(3).uniform(size=30)
    assert_allclose(center(K), kernel.centered(X)(X), atol=1e-12)
    assert_allclose(center(K, K_new, sample_weight=w), Centered(kernel, X, w)(X_new, X), atol=1e-12)
    assert_allclose(normalize(K), kernel.normalized()(X), atol=1e-14)
    assert_allclose(normalize(K_new, kernel.diag(X_new), kernel.diag(X)), kernel.normalized()(X_new, X), atol=1e-14)


def test_center_twice_is_center_once():
    once = center(INDEFINITE)
    assert_allclose(center(once), once, atol=1e-13)
    assert_allclose(once.sum(axis=0), 0.0, atol=1e-12)
    assert_array_equal(once, once.T)


def test_normalize_by_explicit_features():
    unit, unit_new = (Z / np.linalg.norm(Z, axis=1, keepdims=True) for Z in (X, X_new))
    K = normalize(X @ X.T)
    assert_allclose(K, unit @ unit.T, atol=1e-14)
    assert_array_equal(np.diag(K), 1.0)
    assert_array_equal(K, K.T)
    rows, columns = (X_new**2).sum(axis=1), (X**2).sum(axis=1)
    assert_allclose(normalize(X_new @ X.T, rows, columns), unit_new @ unit.T, atol=1e-14)
    # Far from one in size, and squares of the sizes do not exist in float64.
    assert_allclose(normalize(1e200 * (X @ X.T)), K, atol=1e-14)
    assert_allclose(normalize(1e-200 * (X @ X.T)), K, atol=1e-14)


def test_errors_of_centring_and_normalising():
    with pytest.raises(
        ValueError, match=r"K_new must have a column for each of the 30 samples of K, got shape \(30, 8\)"
    ):
        center(X @ X.T, X @ X_new.T)
    with pytest.raises(ValueError, match=r"sample_weight has shape \(2,\), for 30 samples it must be \(30,\)"):
        center(X @ X.T, sample_weight=[1.0, 1.0])
    with pytest.raises(ValueError, match="sample_weight must be finite and >= 0, with at least one positive"):
        center(X @ X.T, sample_weight=np.zeros(30))
    with pytest.raises(ValueError, match=r"the diagonal of K must be one number > 0 .* the smallest is -1"):
        normalize([[1.0, 0.0], [0.0, -1.0]])
    with pytest.raises(ValueError, match="rows and columns must be given together"):
        normalize(X_new @ X.T, rows=np.ones(8))
    with pytest.raises(ValueError, match="rows must have one number for each of the 8 rows of K, got 7"):
        normalize(X_new @ X.T, np.ones(7), np.ones(30))
    with pytest.raises(ValueError, match="columns must be one number > 0 for every sample"):
        normalize(X_new @ X.T, np.ones(8), np.zeros(30))


# --- alignment --------------------------------------------------------------------------------------------


def test_alignment_of_known_matrices():
    assert alignment(INDEFINITE, INDEFINITE) == pytest.approx(1.0)
    assert alignment(3 * INDEFINITE, -2 * INDEFINITE) == pytest.approx(-1.0)
    assert alignment(np.eye(4), np.ones((4, 4))) == pytest.approx(0.5)
    assert alignment(np.diag([1.0, 0.0]), np.diag([0.0, 1.0])) == 0.0
    assert centered_alignment(X @ X.T + 100.0, X @ X.T) == pytest.approx(1.0)
    assert alignment(X @ X.T + 100.0, X @ X.T) < 0.9
    # The cosine of the cross-covariance where there is one feature each.
    a, b = X[:, :1], X[:, 1:2]
    assert centered_alignment(a @ a.T, b @ b.T) == pytest.approx(np.corrcoef(a[:, 0], b[:, 0])[0, 1] ** 2)


def test_target():
    sign = np.where(y, 1.0, -1.0)
    K = RBF(gamma=0.1)(X)
    for target in (y, y.tolist(), np.array(["no", "yes"])[y], np.outer(sign, sign), MatrixGram(np.outer(sign, sign))):
        assert_allclose(alignment(K, target), sign @ K @ sign / (np.linalg.norm(K) * 30))
    values = X[:, 0] ** 2
    assert_allclose(ideal_kernel(values), np.outer(values, values))
    three = ideal_kernel(["a", "b", "c", "a"])
    assert_array_equal(three[0], [1.0, -0.5, -0.5, 1.0])
    assert is_psd(three)
    assert spectrum(three).rank == 2


def test_weight_two_is_a_sample_twice():
    twice = np.concatenate([np.arange(30), [4, 9]])
    w = np.bincount(twice).astype(float)
    K, L = RBF(gamma=0.1)(X), X @ X.T
    for function in (alignment, centered_alignment):
        repeated = function(K[np.ix_(twice, twice)], L[np.ix_(twice, twice)])
        assert_allclose(function(K, L, sample_weight=w), repeated, rtol=1e-12)
        assert_allclose(function(K, L, sample_weight=7.0 * w), repeated, rtol=1e-12)
    centred = center(K[np.ix_(twice, twice)])
    assert_allclose(center(K, sample_weight=w), centred[:30, :30], atol=1e-14)


def test_alignment_is_at_most_one():
    for seed in range(20):  # a third of them would be above one by rounding
        A = np.random.default_rng(seed).normal(size=(5, 5))
        assert 1 - 1e-14 < alignment(A @ A.T, A @ A.T) <= 1


@pytest.mark.parametrize("centered", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_gradient_of_the_alignment(centered, weighted):
    rng = np.random.default_rng(4)
    w = rng.uniform(0.5, 2.0, 30) if weighted else None
    function = centered_alignment if centered else alignment
    K = RBF(gamma=0.1)(X)
    G = alignment_gradient(K, y, centered=centered, sample_weight=w)
    assert_allclose(G, G.T, atol=1e-16)
    assert np.sum(G * K) == pytest.approx(0.0, abs=1e-12)
    for _ in range(3):
        A = rng.normal(size=(30, 30))
        direction = A + A.T
        step = 1e-6
        ahead = function(K + step * direction, y, sample_weight=w)
        behind = function(K - step * direction, y, sample_weight=w)
        assert_allclose(np.sum(G * direction), (ahead - behind) / (2 * step), rtol=1e-5, atol=1e-9)
    # By the width of a kernel.
    kernel = RBF(gamma=0.1)
    slope = kernel.vjp(X, G)["gamma"]
    ahead, behind = (function(RBF(gamma=g)(X), y, sample_weight=w) for g in (0.1 + 1e-6, 0.1 - 1e-6))
    assert_allclose(slope, (ahead - behind) / 2e-6, rtol=1e-5)


def test_errors_of_alignment():
    with pytest.raises(ValueError, match="target must be for the 30 samples of K, it is for 2"):
        alignment(X @ X.T, np.eye(2))
    with pytest.raises(ValueError, match="target must be for the 30 samples of K, it is for 3"):
        alignment(X @ X.T, [0, 1, 1])
    with pytest.raises(ValueError, match="K must not be constant"):
        centered_alignment(np.ones((30, 30)), y)
    with pytest.raises(ValueError, match="K must not be zero"):
        alignment(np.zeros((30, 30)), y)
    with pytest.raises(ValueError, match="target must be symmetric"):
        alignment(X @ X.T, np.triu(np.ones((30, 30))))
    with pytest.raises(ValueError, match="y must have at least two classes"):
        alignment(X @ X.T, np.ones(30, dtype=int))
    with pytest.raises(ValueError, match="y must have one value per sample"):
        ideal_kernel(np.eye(2))


# --- diagnosis --------------------------------------------------------------------------------------------


def test_too_narrow_too_wide_and_right():
    narrow, wide = diagnose(RBF(gamma=1e3), X), diagnose(RBF(gamma=1e-6), X)
    assert narrow.names == ("identity",)
    assert "constant" in wide.names
    right = diagnose(RBF(gamma=narrow.widths["gamma"]), X)
    assert right.findings == ()
    assert "all is well" in str(right)
    assert narrow.widths == wide.widths == {"gamma": RBF(gamma="median").resolve(X).gamma}
    assert "widen the kernel" in repr(narrow)
    assert f"gamma={narrow.widths['gamma']:.4g}" in repr(wide)


def test_width_from_the_matrix_alone():
    gamma = RBF(gamma="median").resolve(X).gamma
    for given_gamma in (0.02, 1.0, 5.0):
        found = diagnose(RBF(gamma=given_gamma)(X))
        assert_allclose(found.gamma_factor * given_gamma, gamma, rtol=1e-9)
        assert found.widths == {}
    assert "* gamma" in str(diagnose(RBF(gamma=0.02)(X)))
    assert diagnose(X @ X.T).gamma_factor is None
    assert diagnose(RBF(gamma=1e3)(X)).gamma_factor is None  # nothing is left of the exponents
    assert diagnose(np.ones((3, 3))).gamma_factor is None


def test_widths_of_composed_kernels():
    kernel = 2.0 * RBF(gamma=50.0) + Matern(length_scale=0.1) * Polynomial()
    found = diagnose(kernel, X).widths
    assert found.keys() == {"0__1__gamma", "1__0__length_scale"}
    assert found["0__1__gamma"] == RBF(gamma="median").resolve(X).gamma
    assert diagnose(Linear(), X).widths == {}
    assert diagnose("rbf", X).widths.keys() == {"gamma"}


def test_diagonal_dominance():
    """As kernels on long strings have it: every sample has something in common with another one, but not much."""
    K = np.eye(20) + 0.04
    for i in range(0, 20, 2):
        K[i, i + 1] = K[i + 1, i] = 0.2
    found = diagnose(K)
    assert found.names == ("diagonal dominance",)
    assert found.findings[0].value == 1.0


def test_many_small_clusters_are_not_the_identity():
    K = np.kron(np.eye(10), np.full((5, 5), 0.6) + 0.4 * np.eye(5))
    assert diagnose(K).findings == ()


def test_indefinite():
    found = diagnose(INDEFINITE)
    assert found.names[0] == "indefinite"
    assert found.findings[0].value == found.spectrum.negative_share
    assert "Repair" in found.findings[0].remedy


def test_duplicates():
    K = RBF(gamma=0.1)(X[[0, 1, 2, 3, 1, 1, 3]])
    found = diagnose(K)
    assert found.names == ("duplicates",)
    assert found.findings[0].value == 3


def test_diagonals():
    assert "no length" in diagnose(np.diag([1.0, 0.0, 2.0])).names
    assert "no length" in diagnose(np.zeros((3, 3))).names
    scale = np.concatenate([np.ones(29), [1e3]])
    found = diagnose(RBF(gamma=0.1)(X) * np.outer(scale, scale))
    assert "uneven diagonal" in found.names
    assert diagnose([[1.0]]).findings == ()


def test_diagnosis_does_not_depend_on_the_order():
    order = np.random.default_rng(5).permutation(30)
    for K in (INDEFINITE, RBF(gamma=1e3)(X), X @ X.T):
        first, second = diagnose(K), diagnose(K[np.ix_(order, order)])
        assert first.names == second.names
        assert_allclose([f.value for f in first.findings], [f.value for f in second.findings], rtol=1e-9)


def test_diagnose_takes_functions_and_other_samples():
    words = ["stay", "stray", "play", "ray", "pay", "tray"]

    def common(A, B):
        return np.array([[len(set(a) & set(b)) for b in B] for a in A], dtype=float)

    assert diagnose(common, words).spectrum.definite
    assert_array_equal(
        diagnose(FromFunction(common), words).spectrum.eigenvalues, diagnose(common(words, words)).spectrum.eigenvalues
    )


def test_errors_of_diagnosis():
    with pytest.raises(ValueError, match="X must be given where a kernel is"):
        diagnose(RBF())
    with pytest.raises(ValueError, match="X must be None where a kernel matrix is given"):
        diagnose(np.eye(3), X)
