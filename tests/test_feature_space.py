"""Functions, distances and means in feature space. The linear kernel shows all of it in input space."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from mercer import SVC
from mercer.errors import IndefiniteError
from mercer.gram import (
    Expansion,
    centrality,
    distances,
    distances_to_mean,
    mmd,
    mmd_test,
    squared_mmd,
)
from mercer.kernels import RBF, FromFunction, Hamming, Indexed, Linear, On, Polynomial, Sigmoid

X = np.random.default_rng(0).normal(size=(25, 3))
Y = np.random.default_rng(1).normal(size=(12, 3)) + 0.5
a, b = np.random.default_rng(2).normal(size=25), np.random.default_rng(3).normal(size=12)
WORDS = ["stay", "stray", "play", "ray", "pay", "tray"]
INDEFINITE = Sigmoid(gamma=1.0, coef0=-1.0)


def common_letters(A, B):
    return np.array([[len(set(s) & set(t)) for t in B] for s in A], dtype=float)


def degree_two(Z):
    """The explicit features of (x.x' + 1)^2. [B eq 7.42]"""
    squares = [Z[:, i] * Z[:, j] * (1.0 if i == j else np.sqrt(2.0)) for i in range(3) for j in range(i, 3)]
    return np.column_stack([np.ones(len(Z)), np.sqrt(2.0) * Z, *squares])


SQUARED = Polynomial(degree=2, gamma=1.0, coef0=1.0)

# --- functions --------------------------------------------------------------------------------------------


def test_expansion_by_explicit_features():
    f, g = Expansion(SQUARED, X, a), Expansion(SQUARED, Y, b)
    w, u = a @ degree_two(X), b @ degree_two(Y)
    assert_allclose(f(Y), degree_two(Y) @ w)
    assert_allclose(f.inner(g), w @ u)
    assert_allclose(f.norm, np.linalg.norm(w))
    assert_allclose(f.squared_norm, w @ w)
    assert_allclose((f - g).norm, np.linalg.norm(w - u))


@pytest.mark.parametrize("kernel", [RBF(gamma=0.4), SQUARED, RBF(gamma=0.1) + 2 * Linear()], ids=str)
def test_reproducing_property(kernel):
    """[P eqs 1.11-1.12]"""
    f = Expansion(kernel, X, a)
    for x, value in zip(Y, f(Y), strict=True):
        at_x = Expansion(kernel, x[np.newaxis], [1.0])
        assert_allclose(f.inner(at_x), value)
        assert_allclose(at_x.squared_norm, kernel.diag(x[np.newaxis])[0])
    K = kernel(Y)
    for i in range(3):
        for j in range(3):
            left, right = (Expansion(kernel, Y[k : k + 1], [1.0]) for k in (i, j))
            assert_allclose(left.inner(right), K[i, j])


@pytest.mark.parametrize("kernel", [RBF(gamma=0.4), SQUARED, Linear()], ids=str)
def test_norm_bounds_how_much_a_function_varies(kernel):
    f = Expansion(kernel, X, a)
    values = f(Y)
    change = np.abs(values[:, np.newaxis] - values)
    assert (change <= f.norm * distances(kernel, Y) * (1 + 1e-9) + 1e-12).all()


def test_algebra_of_functions():
    f, g = Expansion("linear", X, a), Expansion("linear", Y, b)
    total = 2 * f - g / 4 + np.float64(0.5) * -f
    assert_allclose(total(Y), 1.5 * f(Y) - 0.25 * g(Y))
    assert_allclose(f.inner(g), g.inner(f))
    assert_allclose(total.inner(f), 1.5 * f.squared_norm - 0.25 * g.inner(f))
    assert_allclose((f + g).squared_norm, f.squared_norm + 2 * f.inner(g) + g.squared_norm)
    assert (f + f).points is f.points  # nothing is written twice
    assert (f - f).norm == 0.0
    assert_array_equal(pickle.loads(pickle.dumps(f))(Y), f(Y))
    assert repr(f) == "Expansion(Linear(), 25 points)"


CONTAINERS = {
    "arrays": (X, Y, Linear()),
    "sparse": (csr_array(X), csr_array(Y), Linear()),
    "sparse and dense": (csr_array(X), Y, Linear()),
    "lists": (X.tolist(), Y.tolist(), Linear()),
    "pandas": (pd.DataFrame(X), pd.DataFrame(Y), Linear()),
    "polars": (pl.DataFrame(X), pl.DataFrame(Y), Linear()),
    "array and list": (X, Y.tolist(), Linear()),
    "dict of columns": ({"x": X}, {"x": Y}, On("x", Linear())),
    "numbers": (np.arange(25), np.arange(25, 37), Indexed(np.vstack([X, Y]) @ np.vstack([X, Y]).T)),
}


@pytest.mark.parametrize("case", CONTAINERS.values(), ids=CONTAINERS.keys())
def test_functions_on_samples_of_any_kind(case):
    points, others, kernel = case
    f, g = Expansion(kernel, points, a), Expansion(kernel, others, b)
    assert_allclose((f + g)(others), Y @ (a @ X + b @ Y))
    assert_allclose((f + g).norm, np.linalg.norm(a @ X + b @ Y))


def test_functions_on_words():
    kernel = FromFunction(common_letters)
    f, g = Expansion(kernel, WORDS, np.arange(6.0)), Expansion(kernel, ["gray"], [2.0])
    total = f + g
    assert total.points == [*WORDS, "gray"]
    assert_allclose(total(["day"]), [common_letters(["day"], WORDS)[0] @ np.arange(6.0) + 2.0 * 2.0])


def test_decision_function_of_a_machine():
    y = (X[:, 0] > 0).astype(int)
    machine = SVC(kernel=RBF(gamma=0.5), C=2.0).fit(X, y)
    f = Expansion(machine.kernel_, machine.support_vectors_, machine.dual_coef_[0])
    assert_allclose(f(Y) + machine.intercept_, machine.decision_function(Y))
    assert_allclose(0.5 * f.squared_norm + 2.0 * machine.slack_.sum(), machine.result_.primal_objective)


def test_kernels_are_resolved_on_the_points():
    f = Expansion(RBF(gamma="median"), X, a)
    assert f.kernel == RBF(gamma="median").resolve(X)
    with pytest.raises(ValueError, match="Both functions must be of one kernel, got RBF"):
        f + Expansion(RBF(gamma="median"), Y, b)
    with pytest.raises(ValueError, match="Both functions must be of one kernel"):
        f.inner(Expansion("linear", X, a))


def test_errors_of_functions():
    with pytest.raises(ValueError, match=r"coefficients have shape \(2,\), for 25 points they must be \(25,\)"):
        Expansion("linear", X, [1.0, 2.0])
    with pytest.raises(ValueError, match="coefficients must be finite"):
        Expansion("linear", X[:1], [np.inf])
    with pytest.raises(IndefiniteError, match=r"The kernel is indefinite: the squared norm of the function is -0.76"):
        _ = Expansion(INDEFINITE, [[0.0]], [1.0]).norm
    assert Expansion(INDEFINITE, [[0.0]], [1.0]).squared_norm == pytest.approx(np.tanh(-1.0))
    f = Expansion("linear", X, a)
    for wrong in (lambda: f + 1, lambda: f * "2", lambda: f * f, lambda: f - 1, lambda: f / "2", lambda: f * True):
        with pytest.raises(TypeError):
            wrong()


# --- distances --------------------------------------------------------------------------------------------


def test_distances_by_explicit_features():
    for kernel, features in ((Linear(), X), (SQUARED, degree_two(X))):
        expected = np.linalg.norm(features[:, np.newaxis] - features, axis=2)
        assert_allclose(distances(kernel, X), expected, atol=1e-7)
        assert_allclose(distances(kernel, X, squared=True), expected**2, atol=1e-12)
        assert_array_equal(np.diag(distances(kernel, X)), 0.0)
    assert_allclose(distances("linear", X, Y), np.linalg.norm(X[:, np.newaxis] - Y, axis=2))
    assert_allclose(distances(Indexed(X @ X.T), np.arange(25)), distances("linear", X), atol=1e-7)


def test_distances_of_the_gaussian_kernel():
    squares = ((X[:, np.newaxis] - Y) ** 2).sum(axis=2)
    assert_allclose(distances(RBF(gamma=0.3), X, Y, squared=True), 2 - 2 * np.exp(-0.3 * squares))


def test_gaussian_of_the_induced_distance():
    """[P eq 1.16]"""
    assert_allclose(SQUARED.rbf(2.0)(X, Y), np.exp(-distances(SQUARED, X, Y, squared=True) / 8.0))


def test_distances_of_single_precision_are_in_double():
    single = X.astype(np.float32)
    found = distances(RBF(gamma=1e-4), single)
    assert found.dtype == np.float64
    assert_allclose(found, distances(RBF(gamma=1e-4), single.astype(np.float64)))
    assert centrality(RBF(gamma=1e-4), single).distances.dtype == np.float64


def test_distances_of_categories_count_differences():
    table = np.array([["a", "x"], ["a", "y"], ["b", "y"]])
    assert_allclose(distances(Hamming(), table, squared=True), [[0, 2, 4], [2, 0, 2], [4, 2, 0]])


def test_distances_to_the_mean():
    m = Y.mean(axis=0)
    assert_allclose(distances_to_mean("linear", X, Y), np.linalg.norm(X - m, axis=1))
    w = np.random.default_rng(4).uniform(size=12)
    m = w @ degree_two(Y) / w.sum()
    expected = np.linalg.norm(degree_two(X) - m, axis=1)
    assert_allclose(distances_to_mean(SQUARED, X, Y, sample_weight=w), expected)
    twice = np.concatenate([np.arange(12), [5]])
    weight = np.bincount(twice).astype(float)
    assert_allclose(
        distances_to_mean(RBF(gamma=1.0), X, Y[twice]), distances_to_mean(RBF(gamma=1.0), X, Y, sample_weight=weight)
    )


def test_centrality():
    found = centrality("linear", X)
    expected = np.linalg.norm(X - X.mean(axis=0), axis=1)
    assert_allclose(found.distances, expected)
    assert_array_equal(found.ranking, np.argsort(expected))
    order = np.random.default_rng(6).permutation(25)
    assert_array_equal(order[centrality("linear", X[order]).ranking], found.ranking)
    outlier = np.vstack([X, [[9.0, 9.0, 9.0]]])
    assert centrality(RBF(gamma=0.1), outlier).ranking[-1] == 25
    # The mean of the last three samples is nearest to one of them.
    weight = np.r_[np.zeros(22), np.ones(3)]
    last = np.linalg.norm(X - X[22:].mean(axis=0), axis=1)
    assert_array_equal(centrality("linear", X, sample_weight=weight).ranking, np.argsort(last))
    assert_array_equal(centrality(FromFunction(common_letters), ["ab", "abc", "xyz"]).ranking[-1], 2)


def test_errors_of_distances():
    with pytest.raises(IndefiniteError, match="The kernel is indefinite: a squared distance is -"):
        distances(Indexed([[1.0, 2.0], [2.0, 1.0]]), [0, 1])
    assert_array_equal(distances(Indexed([[1.0, 2.0], [2.0, 1.0]]), [0], [1], squared=True), [[-2.0]])
    with pytest.raises(IndefiniteError, match=r"a squared distance is -0.5; repair it, see mercer.gram.Repair"):
        distances_to_mean(Indexed([[1.0, 2.0], [2.0, 1.0]]), [0], [0, 1])
    with pytest.raises(ValueError, match=r"takes gamma from the data: call kernel.resolve\(X\)"):
        distances(RBF(gamma="median"), X, Y)
    assert_array_equal(distances(RBF(gamma="median"), X), distances(RBF(gamma="median").resolve(X), X))
    with pytest.raises(ValueError, match=r"sample_weight has shape \(25,\), for 12 samples it must be \(12,\)"):
        distances_to_mean("linear", X, Y, sample_weight=np.ones(25))


# --- two sets ---------------------------------------------------------------------------------------------


def test_mmd_by_explicit_features():
    for kernel, phi in ((Linear(), np.asarray), (SQUARED, degree_two)):
        difference = phi(X).mean(axis=0) - phi(Y).mean(axis=0)
        assert_allclose(mmd(kernel, X, Y), np.linalg.norm(difference))
        assert_allclose(squared_mmd(kernel, X, Y, estimator="biased"), difference @ difference)
    w = np.random.default_rng(7).uniform(size=25)
    assert_allclose(mmd("linear", X, Y, weight_X=w), np.linalg.norm(w @ X / w.sum() - Y.mean(axis=0)))
    assert mmd(RBF(gamma=1.0), X, X) == 0.0
    assert_allclose(mmd(RBF(gamma=1.0), X, Y), mmd(RBF(gamma=1.0), Y, X))


def test_mmd_is_the_largest_difference_of_means():
    """Over functions of norm one; the largest is along the difference of the means, the witness."""
    kernel = RBF(gamma=0.5)
    witness = Expansion(kernel, X, np.full(25, 1 / 25)) - Expansion(kernel, Y, np.full(12, 1 / 12))
    distance = mmd(kernel, X, Y)
    assert_allclose(witness.norm, distance)
    assert_allclose((witness(X).mean() - witness(Y).mean()) / witness.norm, distance)
    f = Expansion(kernel, X, a)
    assert abs(f(X).mean() - f(Y).mean()) <= f.norm * distance


def test_estimators_are_unbiased():
    """The mean over many draws is the squared distance of the means of the distributions."""
    values = {"unbiased": [], "biased": [], "linear": []}
    for seed in range(400):
        rng = np.random.default_rng(seed)
        U, V = rng.normal(size=(10, 1)), rng.normal(size=(10, 1)) + 1.0
        for estimator, found in values.items():
            found.append(squared_mmd("linear", U, V, estimator=estimator))
    for estimator in ("unbiased", "linear"):
        found = np.array(values[estimator])
        assert abs(found.mean() - 1.0) < 3 * found.std() / 20
    assert np.mean(values["biased"]) == pytest.approx(1.0 + 2 / 10, abs=0.1)
    assert np.std(values["linear"]) > np.std(values["unbiased"])


def test_linear_statistic_by_hand():
    kernel = RBF(gamma=0.5)
    U, V = X[:7], Y[:6]  # three pairs; the seventh sample is left out
    terms = [
        kernel(U[[i]], U[[i + 1]])
        + kernel(V[[i]], V[[i + 1]])
        - kernel(U[[i]], V[[i + 1]])
        - kernel(U[[i + 1]], V[[i]])
        for i in (0, 2, 4)
    ]
    assert_allclose(squared_mmd(kernel, U, V, estimator="linear"), np.mean(terms))
    many = np.random.default_rng(8).normal(size=(200, 2))
    first, second = many[:100], many[100:]
    in_input_space = np.mean(np.sum((first[0::2] - second[0::2]) * (first[1::2] - second[1::2]), axis=1))
    assert_allclose(squared_mmd("linear", first, second, estimator="linear"), in_input_space)


def rejections(method, n, times, level, **shift):
    """How often the test rejects at a level, for draws from one distribution, or from two."""
    count = 0
    for seed in range(times):
        rng = np.random.default_rng(1000 + seed)
        U, V = rng.normal(size=(n, 2)), rng.normal(size=(n, 2)) + shift.get("by", 0.0)
        count += mmd_test(RBF(gamma=0.5), U, V, method=method, n_permutations=99, random_state=seed).p_value <= level
    return count


@pytest.mark.parametrize(("method", "n"), [("permutation", 12), ("gamma", 60), ("linear", 300)])
def test_level_and_power(method, n):
    """At the level 0.1 about one in ten tests of equal distributions rejects: 30 of 300, give or take 3 x 5.2."""
    assert 14 <= rejections(method, n, 300, 0.1) <= 46
    assert rejections(method, n, 20, 0.1, by=1.5) == 20


def test_p_values_of_the_permutation_test():
    found = mmd_test(RBF(gamma=0.5), X, Y + 3.0, n_permutations=199, random_state=0)
    assert found.p_value == 1 / 200
    assert found.statistic == squared_mmd(RBF(gamma=0.5), X, Y + 3.0)
    assert (found.method, found.null.shape) == ("permutation", (199,))
    # Nothing to tell apart: every split is as good as the one at hand.
    assert mmd_test(FromFunction(lambda A, B: np.ones((len(A), len(B)))), X, Y, random_state=0).p_value == 1.0
    assert mmd_test(FromFunction(lambda A, B: np.full((len(A), len(B)), 0.1)), X, Y, random_state=0).p_value == 1.0
    assert mmd_test("linear", np.ones((4, 1)), np.ones((5, 1)), random_state=0).p_value == 1.0


def test_random_state():
    kernel = RBF(gamma=0.5)
    one, two, other = (mmd_test(kernel, X, Y, random_state=seed) for seed in (1, 1, 2))
    assert_array_equal(one.null, two.null)
    assert (one.null != other.null).any()
    state = np.random.RandomState(1)
    assert_array_equal(mmd_test(kernel, X, Y, random_state=state).null, one.null)


def test_permutations_in_blocks(monkeypatch):
    kernel = RBF(gamma=0.5)
    whole = mmd_test(kernel, X, Y, n_permutations=50, random_state=0)
    monkeypatch.setattr("mercer.gram.two_samples.BLOCK_ENTRIES", 7 * 37)
    assert_allclose(mmd_test(kernel, X, Y, n_permutations=50, random_state=0).null, whole.null, rtol=1e-12)


def test_gamma_agrees_with_permutations():
    rng = np.random.default_rng(3)
    for shift in (0.0, 0.3):
        U, V = rng.normal(size=(80, 2)), rng.normal(size=(80, 2)) + shift
        by_moments = mmd_test(RBF(gamma=0.5), U, V, method="gamma").p_value
        by_splits = mmd_test(RBF(gamma=0.5), U, V, random_state=0).p_value
        assert by_moments == pytest.approx(by_splits, abs=0.05)
    assert mmd_test("linear", np.ones((4, 1)), np.ones((4, 1)), method="gamma").p_value == 1.0
    assert mmd_test("linear", np.ones((4, 1)), np.ones((4, 1)), method="linear").p_value == 1.0
    assert mmd_test("linear", np.ones((4, 1)), np.zeros((4, 1)), method="linear").p_value == 0.0


def test_sets_of_words():
    first, second = ["aab", "abb", "bab", "baa"], ["xyz", "xzz", "yzx", "zyy"]
    assert mmd_test(FromFunction(common_letters), first, second, random_state=0).p_value < 0.05
    assert mmd(FromFunction(common_letters), first, second) > 1.0


def test_errors_of_two_samples():
    with pytest.raises(ValueError, match="estimator must be 'unbiased' or 'biased' or 'linear', got 'best'"):
        squared_mmd("linear", X, Y, estimator="best")
    with pytest.raises(ValueError, match="method must be 'permutation' or 'gamma' or 'linear', got 'exact'"):
        mmd_test("linear", X, Y, method="exact")
    with pytest.raises(ValueError, match="n_permutations must be an int >= 1, got 0"):
        mmd_test("linear", X, Y, n_permutations=0)
    with pytest.raises(
        ValueError, match="The method 'gamma' needs sets of the same size, X has 25 samples and Y has 12"
    ):
        mmd_test("linear", X, Y, method="gamma")
    with pytest.raises(ValueError, match="X must have at least two samples, got 1"):
        mmd_test("linear", X[:1], Y)
    with pytest.raises(ValueError, match="at least 4 samples each for pairs of them, got 25 and 3"):
        mmd_test("linear", X, Y[:3], method="linear")
    with pytest.raises(ValueError, match="at least 2 samples each for pairs of them, got 25 and 1"):
        squared_mmd("linear", X, Y[:1], estimator="linear")
    with pytest.raises(ValueError, match=r"takes gamma from the data: call kernel.resolve\(X\)"):
        mmd_test(RBF(gamma="median"), X, Y)
    with pytest.raises(ValueError, match=r"takes gamma from the data"):
        mmd(RBF(gamma="median"), X, Y)
    with pytest.raises(ValueError, match=r"weight_Y has shape \(2,\), for 12 samples it must be \(12,\)"):
        mmd("linear", X, Y, weight_Y=[1.0, 1.0])
    with pytest.raises(IndefiniteError, match="the squared distance of the means is -"):
        mmd(Indexed([[1.0, 2.0], [2.0, 1.0]]), [0], [1])
