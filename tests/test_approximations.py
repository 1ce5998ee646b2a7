"""Feature maps that are nearly a kernel: landmarks, frequencies, sketches, and what they say of their errors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.stats import kstest

from mercer import MercerMap, Nystroem, PolynomialSketch, RandomFourier
from mercer.data import RowBlocks
from mercer.errors import DomainError
from mercer.features import approximation, centres
from mercer.gram import FunctionGram, MatrixGram, VectorGram
from mercer.gram.leverage import _chances, approximate_leverage, drawn_without_replacement
from mercer.kernels import (
    RBF,
    Constant,
    Exponential,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Spectrum,
)
from mercer.kernels.frequencies import Draws, Orthogonal, QuasiRandom, places

RULES = ["random", "greedy", "uniform", "leverage", "kmeans"]
every_rule = pytest.mark.parametrize("pivots", RULES)


def cloud(n=60, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def words(n, seed=0):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list("abc"), size=8)) for _ in range(n)]


def root_mean_square(machine, X, K):
    """Of what the inner products of a map miss."""
    F = machine.transform(X)
    return np.sqrt(np.mean((F @ F.T - K) ** 2))


# --- what the errors are ----------------------------------------------------------------------------------

MAPS = {
    "MercerMap": lambda: MercerMap(RBF(gamma=0.3), 5),
    "Nystroem random": lambda: Nystroem(RBF(gamma=0.3), 10),
    "Nystroem uniform": lambda: Nystroem(RBF(gamma=0.3), 10, pivots="uniform"),
    "Nystroem leverage": lambda: Nystroem(RBF(gamma=0.3), 10, pivots="leverage"),
    "Nystroem kmeans": lambda: Nystroem(RBF(gamma=0.3), 10, pivots="kmeans"),
    "RandomFourier": lambda: RandomFourier(2 * RBF(gamma=0.3), 50),
    "RandomFourier odd": lambda: RandomFourier(2 * RBF(gamma=0.3), 51),
    "PolynomialSketch": lambda: PolynomialSketch(Polynomial(2, 0.3, 1.0), 50),
}
every_map = pytest.mark.parametrize("make", MAPS.values(), ids=MAPS)


@every_map
def test_errors_at_few_samples_are_exact(make):
    X, weight = cloud(), np.random.default_rng(1).integers(0, 4, size=60)
    machine = make().fit(X, sample_weight=weight)
    K, F, share = machine.kernel_(X), machine.transform(X), weight / weight.sum()
    lost = np.diagonal(K) - np.einsum("ij,ij->i", F, F)
    assert machine.unexplained_ == pytest.approx(share @ lost / (share @ np.diagonal(K)), abs=1e-12)
    assert machine.kernel_error_ == pytest.approx(np.sqrt(share @ (K - F @ F.T) ** 2 @ share), rel=1e-9)
    assert machine.unexplained_uncertainty_ == machine.kernel_error_uncertainty_ == 0.0


@every_map
def test_errors_at_many_samples_are_estimated_as_well_as_they_say(make, monkeypatch):
    """In units of their standard errors, what is told and what is true differ by 1, and not to one side."""
    monkeypatch.setattr(approximation, "ROWS", 150)
    X = cloud(600)
    weight = np.digitize((X**2).sum(axis=1), [1.0, 3.0, 6.0])  # far samples, of which more is lost, count more
    share, away = weight / weight.sum(), []
    K = make().fit(X).kernel_(X)
    for seed in range(40):
        machine = make().set_params(random_state=seed).fit(X, sample_weight=weight)
        F = machine.transform(X)
        lost = share @ (np.diagonal(K) - np.einsum("ij,ij->i", F, F)) / (share @ np.diagonal(K))
        error = np.sqrt(share @ (K - F @ F.T) ** 2 @ share)
        away.append(
            [
                (machine.unexplained_ - lost) / max(machine.unexplained_uncertainty_, 1e-12),
                (machine.kernel_error_ - error) / machine.kernel_error_uncertainty_,
            ]
        )
    trace, pairs = np.transpose(away)
    assert abs(pairs.mean()) < 0.7
    assert 0.6 < pairs.std() < 1.5
    if machine.unexplained_uncertainty_ > 1e-12:
        assert abs(trace.mean()) < 0.7
        assert 0.6 < trace.std() < 1.5
    else:
        assert np.abs(trace).max() < 1.0  # 1e-12


@pytest.mark.parametrize("pivots", ["random", "uniform", "leverage"])
def test_errors_of_a_matrix_are_those_of_the_samples(pivots, monkeypatch):
    monkeypatch.setattr(approximation, "ROWS", 40)
    X, kernel = cloud(90), RBF(gamma=0.3)
    first = Nystroem(kernel, 10, pivots=pivots).fit(X)
    second = Nystroem("precomputed", 10, pivots=pivots).fit(kernel(X))
    assert_array_equal(first.support_, second.support_)
    for name in ("unexplained_", "unexplained_uncertainty_", "kernel_error_", "kernel_error_uncertainty_"):
        assert getattr(first, name) == pytest.approx(getattr(second, name), rel=1e-6, abs=1e-12)


def test_errors_of_a_kernel_that_is_zero():
    machine = Nystroem(0.0 * RBF(gamma=1.0), 5).fit(cloud())
    assert machine.transform(cloud()).shape == (60, 0)
    assert (machine.unexplained_, machine.kernel_error_) == (0.0, 0.0)


# --- landmarks --------------------------------------------------------------------------------------------


@every_rule
@pytest.mark.parametrize("kernel", [RBF(gamma=1.0), Matern(nu=0.5), Linear()], ids=repr)
def test_all_samples_as_landmarks_are_the_kernel(pivots, kernel):
    X, new = cloud(40), cloud(10, seed=1)
    machine = Nystroem(kernel, 40, pivots=pivots).fit(X)
    assert_allclose(machine.transform(X) @ machine.transform(new).T, kernel(X, new), atol=1e-7)
    assert machine.unexplained_ < 1e-9


@pytest.mark.parametrize("pivots", ["random", "greedy", "uniform", "leverage"])
def test_landmarks_may_be_strings(pivots):
    strings = words(50)
    machine = Nystroem(Spectrum(2), 20, pivots=pivots).fit(strings)
    F = machine.transform(strings)
    assert [strings[i] for i in machine.support_] == list(machine.support_vectors_)
    assert_allclose(F @ F.T, Spectrum(2)(strings), atol=1e-8)  # nine pairs of letters
    assert F.shape[1] in (9, 10)  # one more where rounding was taken for a direction


@pytest.mark.parametrize("pivots", ["random", "greedy", "uniform", "leverage", "kmeans"])
def test_samples_of_no_weight_are_no_landmarks(pivots):
    X, weight = cloud(), np.ones(60)
    weight[::2] = 0
    X[::2] += 10.0
    machine = Nystroem(RBF(gamma=0.3), 20, pivots=pivots).fit(X, sample_weight=weight)
    assert (machine.support_ % 2 == 1).all()
    assert np.abs(machine.support_vectors_).max() < 5
    assert len(machine.support_) == 20


def test_greedy_landmarks_of_weights_are_those_of_repeated_samples():
    X, weight = cloud(), np.random.default_rng(3).integers(0, 4, size=60)
    kernel = Polynomial(3, 0.5, 1.0)  # no two samples are equally long
    machine = Nystroem(kernel, 60, pivots="greedy", tolerance=0.01).fit(X, sample_weight=weight)
    times = np.random.default_rng(4).permutation(np.repeat(np.arange(60), weight))
    repeated = Nystroem(kernel, 60, pivots="greedy", tolerance=0.01).fit(X[times])
    assert_allclose(machine.transform(X), repeated.transform(X), atol=1e-8)
    for name in ("unexplained_", "kernel_error_"):
        assert getattr(machine, name) == pytest.approx(getattr(repeated, name), rel=1e-8)
    plain = Nystroem(kernel, 60, pivots="greedy", tolerance=0.01).fit(X[weight > 0])
    assert len(plain.support_) != len(machine.support_) or plain.unexplained_ != machine.unexplained_


def test_weights_are_chances():
    """The two first landmarks of weighted samples are as likely as those of repeated ones."""
    X, weight = np.array([[0.0], [0.7], [1.5], [4.0]]), np.array([3, 1, 0, 2])
    times, seen = np.repeat(np.arange(4), weight), np.zeros((2, 4, 4))
    for seed in range(800):
        machine = Nystroem(RBF(gamma=1.0), 2, random_state=seed)
        seen[0][tuple(machine.fit(X, sample_weight=weight).support_)] += 1 / 800
        seen[1][tuple(times[machine.fit(X[times]).support_])] += 1 / 800
    assert_allclose(*seen, atol=0.06)
    assert np.ptp(seen[0][seen[0] > 0]) > 0.1


def test_draws_without_replacement():
    weights, counts = np.array([1.0, 0.0, 3.0, 6.0]), np.zeros((4, 4))
    for seed in range(3000):
        drawn = drawn_without_replacement(weights, 2, np.random.RandomState(seed))
        counts[tuple(drawn)] += 1 / 3000
    wanted = np.array([[weights[i] * weights[j] / (10 - weights[i]) / 10 for j in range(4)] for i in range(4)])
    np.fill_diagonal(wanted, 0.0)
    assert_allclose(counts, wanted, atol=0.04)
    assert set(drawn_without_replacement(weights, 10, np.random.RandomState(0))) == {0, 2, 3}


# --- a tolerance ------------------------------------------------------------------------------------------


def test_as_many_landmarks_as_the_tolerance_asks_for():
    X, kernel = cloud(200), RBF(gamma=0.3)
    machine = Nystroem(kernel, 200, pivots="greedy", tolerance=0.05).fit(X)
    m = len(machine.support_)
    assert machine.unexplained_ <= 0.05 < Nystroem(kernel, m - 1, pivots="greedy").fit(X).unexplained_
    assert machine.unexplained_ == pytest.approx(1 - np.sum(machine.transform(X) ** 2) / 200)
    assert Nystroem(kernel, 200, tolerance=0.05).fit(X).unexplained_ <= 0.05
    assert len(Nystroem(kernel, 5, pivots="greedy", tolerance=0.05).fit(X).support_) == 5
    strings = words(80)
    assert len(Nystroem(Spectrum(3), 80, pivots="greedy", tolerance=0.3).fit(strings).support_) < 20


@pytest.mark.parametrize("pivots", ["uniform", "leverage", "kmeans"])
def test_a_tolerance_needs_landmarks_one_by_one(pivots):
    with pytest.raises(ValueError, match=rf"^tolerance must be 0 with pivots='{pivots}', got 0.1; with 'random'"):
        Nystroem(pivots=pivots, tolerance=0.1).fit(cloud())
    with pytest.raises(ValueError, match=r"^tolerance must be a float >= 0 and < 1, got 1"):
        Nystroem(tolerance=1.0).fit(cloud())


# --- leverage ---------------------------------------------------------------------------------------------


def exact_leverage(K, ridge, weight):
    return np.diagonal(np.linalg.solve(K + ridge * np.diag(1 / weight), K).T)


@pytest.mark.parametrize("make", [VectorGram, FunctionGram, lambda kernel, X: MatrixGram(kernel(X))])
@pytest.mark.parametrize("ridge", [0.1, 3.0])
def test_leverage_of_few_samples_is_exact(make, ridge):
    X, kernel, weight = cloud(), RBF(gamma=0.5), np.random.default_rng(2).uniform(0.5, 3.0, size=60)
    scores, told = approximate_leverage(make(kernel, X), 60, ridge, weight, np.random.RandomState(0))
    assert told == ridge
    assert_allclose(scores, exact_leverage(kernel(X), ridge, weight), atol=1e-9)


def test_leverage_of_many_samples_is_nearly_right():
    """Never much too low, and not far too high: that is what [Musco and Musco, theorem 7] promises."""
    X, kernel, weight = cloud(1500, 4), RBF(gamma=0.2), np.random.default_rng(2).uniform(0.5, 3.0, size=1500)
    X[-20:] += 4.0
    exact = exact_leverage(kernel(X), 1.0, weight)
    scores, _ = approximate_leverage(VectorGram(kernel, X), 300, 1.0, weight, np.random.RandomState(0))
    assert (scores > 0.7 * exact).all()
    assert (scores < 6 * exact).all()
    assert np.corrcoef(scores, exact)[0, 1] > 0.9


def test_the_ridge_that_is_chosen():
    X, kernel = cloud(100), RBF(gamma=0.5)
    machine = Nystroem(kernel, 100, pivots="leverage").fit(X)
    assert exact_leverage(kernel(X), machine.ridge_, np.ones(100)).sum() == pytest.approx(25.0)
    assert Nystroem(kernel, 10, pivots="leverage", ridge=0.7).fit(X).ridge_ == 0.7


def test_leverage_finds_what_is_rare():
    """A small cluster far away: uniform landmarks mostly miss it."""
    X = np.vstack([0.3 * cloud(1500), 0.3 * cloud(15, seed=1) + 8.0])
    lost = {
        pivots: np.mean([Nystroem(RBF(gamma=0.5), 40, pivots=pivots, random_state=seed).fit(X).unexplained_
                         for seed in range(8)])
        for pivots in ("leverage", "uniform")
    }  # fmt: skip
    assert lost["leverage"] < 0.6 * lost["uniform"]


def test_chances_add_up():
    scores = np.array([5.0, 1.0, 0.5, 0.25, 0.25])
    assert_allclose(_chances(scores, 2), [1.0, 0.5, 0.25, 0.125, 0.125])
    assert _chances(scores, 3).sum() == pytest.approx(3.0)
    assert_array_equal(_chances(scores, 5), np.ones(5))


@pytest.mark.parametrize("make", [VectorGram, FunctionGram, lambda kernel, X: MatrixGram(kernel(X))])
def test_part_of_a_gram(make):
    X, kernel, rows, columns = cloud(), RBF(gamma=0.5), np.array([3, 1, 3]), np.array([0, 59])
    assert_array_equal(make(kernel, X).part(rows, columns), kernel(X[rows], X[columns]))


# --- means of groups --------------------------------------------------------------------------------------


def test_landmarks_are_means_of_their_groups():
    X = cloud(200, 2)
    machine = Nystroem(RBF(gamma=0.5), 8, pivots="kmeans").fit(X)
    Z = machine.support_vectors_
    squares = ((X[:, np.newaxis] - Z) ** 2).sum(axis=2)
    for k in range(8):  # where Lloyd's algorithm has ended
        assert_allclose(Z[k], X[squares.argmin(axis=1) == k].mean(axis=0), atol=1e-12)
        assert machine.support_[k] == squares[:, k].argmin()
    assert not (X[machine.support_] == Z).all(axis=1).any()
    assert_allclose(machine.transform(Z) @ machine.transform(X).T, RBF(gamma=0.5)(Z, X), atol=1e-9)


def test_means_of_groups_that_lie_apart():
    groups = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0], [9.0, 9.0]])
    X = np.repeat(groups, 10, axis=0) + 0.1 * cloud(40, 2)
    weight = np.random.default_rng(0).integers(1, 4, size=40).astype(float)
    for seed in range(5):
        found, _ = centres.centres_of(X, 12, weight, None, np.random.RandomState(seed))
        for group in groups:
            assert ((found - group) ** 2).sum(axis=1).min() < 0.1
    found, nearest = centres.centres_of(X, 4, weight, None, np.random.RandomState(2))
    assert len(nearest) == 4
    one, at = centres.centres_of(X, 1, weight, None, np.random.RandomState(0))
    assert_allclose(one[0], np.average(X, axis=0, weights=weight))
    assert at[0] == ((X - one[0]) ** 2).sum(axis=1).argmin()


def test_distances_of_means_are_those_of_the_kernel():
    """A feature of no width does not part groups, and one of much does."""
    X = np.column_stack([np.repeat([0.0, 1.0], 30), 100 * cloud(60, 1)[:, 0]])
    Z = Nystroem(RBF(gamma=[5.0, 0.0]), 2, pivots="kmeans").fit(X).support_vectors_
    assert_allclose(np.sort(Z[:, 0]), [0.0, 1.0])


def test_means_of_sparse_vectors_are_sparse():
    X = cloud(80, 6)
    X[np.random.default_rng(1).random(X.shape) < 0.7] = 0.0
    for gamma in (0.5, [0.5, 1.0, 0.1, 2.0, 0.3, 0.7]):
        dense = Nystroem(RBF(gamma=gamma), 8, pivots="kmeans").fit(X)
        sparse = Nystroem(RBF(gamma=gamma), 8, pivots="kmeans").fit(csr_array(X))
        assert isinstance(sparse.support_vectors_, csr_array)
        assert_allclose(sparse.support_vectors_.toarray(), dense.support_vectors_, atol=1e-12)
    single = Nystroem(RBF(gamma=0.5), 8, pivots="kmeans").fit(X.astype(np.float32))
    assert single.support_vectors_.dtype == np.float32


def test_means_are_better_than_samples():
    X = cloud(1000, 4)
    lost = {
        pivots: np.mean([1 - np.mean(np.sum(Nystroem(RBF(gamma=0.1), 30, pivots=pivots, random_state=seed)
                         .fit(X).transform(X) ** 2, axis=1)) for seed in range(5)])
        for pivots in ("kmeans", "uniform", "random")
    }  # fmt: skip
    assert lost["kmeans"] < 0.85 * min(lost["uniform"], lost["random"])


def test_means_of_some_of_very_many(monkeypatch):
    monkeypatch.setattr(centres, "MOST_ROWS", 50)
    X, weight = cloud(500), np.ones(500)
    weight[250:] = 0.0
    found, nearest = centres.centres_of(X, 10, weight, None, np.random.RandomState(0))
    assert found.shape == (10, 3)
    assert nearest.max() < 250
    whole = Nystroem(RBF(gamma=0.3), 10, pivots="kmeans").fit(X)
    assert whole.unexplained_ < Nystroem(RBF(gamma=0.3), 5, pivots="kmeans").fit(X).unexplained_


def test_means_need_vectors():
    message = r"pivots='kmeans' takes means of vectors, .* got kernel=.*; use 'random' or 'leverage'"
    for kernel, X in ((Spectrum(2), words(20)), ("precomputed", np.eye(20))):
        with pytest.raises(DomainError, match=message):
            Nystroem(kernel, pivots="kmeans").fit(X)


# --- frequencies ------------------------------------------------------------------------------------------

FREQUENCIES = ["independent", "orthogonal", "quasi-random"]


def test_orthogonal_frequencies_are_orthogonal_and_normal():
    W = Orthogonal(np.random.RandomState(0), 4000).normal(8)
    for start in range(0, 4000, 8):
        products = W[start : start + 8] @ W[start : start + 8].T
        assert_allclose(products - np.diag(np.diagonal(products)), 0.0, atol=1e-10)
    assert kstest(W[:, 3], "norm").pvalue > 0.01
    assert kstest((W**2).sum(axis=1), "chi2", args=(8,)).pvalue > 0.01
    few = Orthogonal(np.random.RandomState(0), 3).normal(50)
    assert_allclose(few @ few.T, np.diag((few**2).sum(axis=1)), atol=1e-10)


def test_quasi_random_numbers_are_even():
    """Of 256 numbers each of 256 equal parts of the line has one, in every column."""
    draws = QuasiRandom(np.random.RandomState(0), 256, 5)
    U = draws._next(5)
    assert_array_equal(np.sort((256 * U).astype(int), axis=0), np.tile(np.arange(256)[:, np.newaxis], 5))
    more = draws._next(3)  # nobody asked for these
    assert len(np.unique((256 * more[:, 0]).astype(int))) < 256
    assert np.isfinite(QuasiRandom(np.random.RandomState(1), 1000, 3).normal(3)).all()


@pytest.mark.parametrize("make", [Draws, Orthogonal, lambda rng, n: QuasiRandom(rng, n, 4)])
def test_numbers_of_cauchy(make):
    values = make(np.random.RandomState(3), 3000).cauchy(2)
    assert kstest(values[:, 1], "cauchy").pvalue > 0.01


def test_places_among_weights():
    assert_array_equal(places(np.array([1.0, 0.0, 2.0, 1.0, 0.0]), np.array([0.0, 0.24, 0.26, 0.74, 0.76, 1.0])),
                       [0, 0, 2, 2, 3, 3])  # fmt: skip
    assert_array_equal(places(np.zeros(2), np.array([0.3, 0.9])), [0, 0])


# With how much smaller errors are than those of independent frequencies, at eight features of X.
BETTER = {
    "RBF": (RBF(gamma=0.06), 0.75, 0.6),
    "RBF per feature": (RBF(gamma=np.linspace(0.02, 0.12, 8)), 0.8, 0.6),
    "Matern": (Matern(length_scale=2.8, nu=1.5), 0.9, 0.8),
    "RationalQuadratic": (RationalQuadratic(length_scale=2.8), 0.9, 0.7),
    "Exponential": (Exponential(gamma=0.25), 0.97, 0.85),
    "Laplacian": (Laplacian(gamma=0.12), 0.98, 0.85),
    "sum": (2 * RBF(gamma=0.06) + 0.5 * Matern(length_scale=2.8) + 1, 0.9, 0.75),
    "product": (RBF(gamma=0.03) * Matern(length_scale=4.0), 0.97, 0.85),
}


@pytest.mark.parametrize("name", BETTER)
def test_frequencies_that_hang_together_are_better(name):
    X, (kernel, *shares) = cloud(60, 8), BETTER[name]
    K = kernel(X)
    error = {
        rule: np.sqrt(np.mean([root_mean_square(RandomFourier(kernel, 512, rule, seed).fit(X), X, K) ** 2
                               for seed in range(30)]))
        for rule in FREQUENCIES
    }  # fmt: skip
    for rule, share in zip(FREQUENCIES[1:], shares, strict=True):
        assert error[rule] < share * error["independent"], error


@pytest.mark.parametrize("rule", FREQUENCIES)
def test_more_frequencies_of_every_rule_come_closer(rule):
    X, kernel = cloud(40), Matern(length_scale=2.0)
    errors = [root_mean_square(RandomFourier(kernel, m, rule).fit(X), X, kernel(X)) for m in (64, 512, 8192)]
    assert errors[1] < 0.6 * errors[0]
    assert errors[2] < 0.4 * errors[1]
    assert errors[2] < 0.02


def test_quasi_random_frequencies_converge_faster():
    """Better than the root of their number: by 64 from 64 to 4096, where independent ones make 8."""
    X, kernel = cloud(40, 2), RBF(gamma=0.2)
    mean = [
        np.sqrt(np.mean([root_mean_square(RandomFourier(kernel, m, "quasi-random", seed).fit(X), X, kernel(X)) ** 2
                         for seed in range(8)]))
        for m in (64, 4096)
    ]  # fmt: skip
    assert mean[1] < mean[0] / 20


# --- sketches ---------------------------------------------------------------------------------------------


def test_a_sketch_against_all_products():
    """The sketch of x (x) x (x) x with the sum of the buckets, and the product of the signs."""
    X, m = cloud(5, 3), 7
    machine = PolynomialSketch(Polynomial(3, 0.5, 2.0), m).fit(X)
    Z = np.column_stack([np.sqrt(0.5) * X, np.full(5, np.sqrt(2.0))])
    wanted = np.zeros((5, m))
    for i, j, k in np.ndindex(4, 4, 4):
        at = (machine.buckets_[0, i] + machine.buckets_[1, j] + machine.buckets_[2, k]) % m
        sign = machine.signs_[0, i] * machine.signs_[1, j] * machine.signs_[2, k]
        wanted[:, at] += sign * Z[:, i] * Z[:, j] * Z[:, k]
    assert_allclose(machine.transform(X), wanted, atol=1e-12)


POLYNOMIALS = [
    Polynomial(3, 0.3, 1.0),
    Polynomial(2, 0.3, 0.0),
    (Linear() + 1) ** 3,
    (2 * Linear() + 0.5 * Linear() + 0.4) * Linear(),
    3 * Polynomial(2, 0.2, 0.5) * Linear(),
]


@pytest.mark.parametrize("m", [3, 8])
@pytest.mark.parametrize("kernel", POLYNOMIALS, ids=repr)
def test_sketches_are_right_on_average(kernel, m):
    """Within five standard errors."""
    X, draws = cloud(5, 4), 300
    features = [PolynomialSketch(kernel, m, random_state=seed).fit_transform(X) for seed in range(draws)]
    products = [F @ F.T for F in features]
    off = np.abs(np.mean(products, axis=0) - kernel(X))
    assert features[0].shape == (5, m)
    assert (off <= 5 * np.std(products, axis=0) / np.sqrt(draws)).all()


@pytest.mark.parametrize("kernel", [Linear(), 2 * Linear() + 1, Polynomial(1, 0.3, 2.0)], ids=repr)
def test_a_sketch_of_one_factor_is_exact(kernel):
    X = cloud(20, 5)
    F = PolynomialSketch(kernel, 6).fit_transform(X)
    assert_allclose(F @ F.T, kernel(X), atol=1e-12)


def test_sketches_of_sparse_and_of_single_precision():
    X = cloud(30, 40)
    X[np.random.default_rng(0).random(X.shape) < 0.8] = 0.0
    for kernel in (Polynomial(2, 0.3, 1.0), Polynomial(1, 0.3, 1.0)):
        machine = PolynomialSketch(kernel, 64).fit(X)
        F = machine.transform(X)
        assert_allclose(machine.transform(csr_array(X)), F, atol=1e-12)
        single = machine.transform(X.astype(np.float32))
        assert single.dtype == np.float32
        assert_allclose(single, F, atol=1e-4)


def test_larger_sketches_come_closer():
    X, kernel = cloud(40, 10), Polynomial(3, 0.1, 1.0)
    errors = [
        np.mean([root_mean_square(PolynomialSketch(kernel, m, seed).fit(X), X, kernel(X)) for seed in range(5)])
        for m in (50, 5000)
    ]
    assert 6 < errors[0] / errors[1] < 16


def test_what_is_no_polynomial():
    for kernel in (RBF(), Linear() * RBF(), Linear() + Polynomial(), (Linear() * RBF()) ** 2):
        with pytest.raises(TypeError, match=r"kernel must be Polynomial or Linear, .*; use Nystroem"):
            PolynomialSketch(kernel).fit(cloud())
    with pytest.raises(ValueError, match="kernel must have no constant below zero, got Polynomial"):
        PolynomialSketch(Polynomial(2, 1.0, -1.0)).fit(cloud())
    for kernel, X in (("precomputed", np.eye(3)), (Spectrum(2), words(3)), (Constant(), cloud())):
        with pytest.raises(DomainError, match=r"PolynomialSketch works on vectors, got kernel=.*; use Nystroem"):
            PolynomialSketch(kernel).fit(X)


IN_BLOCKS = {
    "Nystroem": lambda: Nystroem("rbf", n_components=30),
    "Nystroem kmeans": lambda: Nystroem(RBF(gamma=0.3), n_components=30, pivots="kmeans"),
    "RandomFourier": lambda: RandomFourier(RBF(gamma=0.3), n_components=61),
    "PolynomialSketch": lambda: PolynomialSketch(Polynomial(degree=2, coef0=1.0), n_components=60),
}


@pytest.mark.parametrize("name", IN_BLOCKS)
def test_samples_in_blocks(name):
    """The map is one of the drawn samples; what it is for all of them is estimated."""
    X = np.random.default_rng(0).normal(size=(900, 3))
    weight = np.where(X[:, 0] > 0, 2.0, 1.0) * (X[:, 1] > -1.5)
    blocks = RowBlocks([X[:400], lambda: X[400:]])
    features = IN_BLOCKS[name]().fit(blocks, sample_weight=weight)
    rows, _ = features._candidates(weight)
    alone = IN_BLOCKS[name]().fit(X[rows], sample_weight=weight[rows])
    F, share = features.transform(X), weight / weight.sum()
    assert_allclose(F, alone.transform(X), atol=1e-9)
    assert_allclose(features.transform(blocks), F, atol=1e-9)
    K = features.kernel_(X)
    lost = share @ (np.diagonal(K) - (F**2).sum(axis=1)) / (share @ np.diagonal(K))
    missed = np.sqrt(share @ (K - F @ F.T) ** 2 @ share)
    assert abs(features.unexplained_ - lost) <= 4 * features.unexplained_uncertainty_ + 1e-12
    assert abs(features.kernel_error_ - missed) <= 4 * features.kernel_error_uncertainty_
    if name == "Nystroem":
        assert_allclose(features.support_vectors_, X[features.support_])
    elif "Nystroem" in name:
        assert features.support_.max() > 500


def test_few_samples_in_blocks_are_all_looked_at():
    X = np.random.default_rng(0).normal(size=(100, 3))
    here, there = Nystroem(RBF(gamma=0.3), 30).fit(X), Nystroem(RBF(gamma=0.3), 30).fit(RowBlocks([X[:40], X[40:]]))
    assert_array_equal(here.support_, there.support_)
    assert (here.unexplained_, here.kernel_error_) == (there.unexplained_, there.kernel_error_)
    with pytest.raises(TypeError, match="Nystroem needs X in memory"):
        Nystroem(Spectrum(2)).fit(RowBlocks([X]))
