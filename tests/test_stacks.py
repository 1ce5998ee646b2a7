"""Stacks of kernel matrices: against plain NumPy, whatever is kept and however many threads there are."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from mercer import MKLClassifier, _native
from mercer.errors import IndefiniteError
from mercer.gram import GramStack, clip, flip, shift, square, stacks
from mercer.kernels import (
    RBF,
    Constant,
    Cosine,
    Hamming,
    Indexed,
    Laplacian,
    Linear,
    Matern,
    On,
    Polynomial,
    Sigmoid,
    Spectrum,
)
from mercer.threads import limit_threads

KERNELS = [RBF(gamma=0.1), Linear(), RBF(gamma=2.0), Cosine(), Polynomial(degree=3, gamma=0.5), Laplacian(gamma=0.3)]
KERNELS += [Matern(nu=1.5, length_scale=1.0), Constant(2.0) * RBF(gamma=1.0), Constant(0.0)]
KERNELS += [RBF(gamma=[0.1, 0.2, 0.0, 1.0]), RBF(gamma=[1.0, 0.0, 0.2, 0.1])]


@pytest.fixture
def X(rng):
    return rng.normal(size=(83, 4))


@pytest.fixture
def coefficients(rng):
    """Of three machines: one dense, one sparse, one that is zero; samples 5 to 9 are in none."""
    rows = rng.normal(size=(3, 83))
    rows[0, 5:10] = rows[1, ::3] = rows[1, 5:10] = rows[2] = 0.0
    return csr_array(rows)


def matrices(stack):
    """All matrices by their definition, in float64."""
    ridge = stack.ridge * np.eye(stack.n)
    return [f * np.asarray(kernel(stack.X)) + ridge for f, kernel in zip(stack.factors, stack.kernels, strict=True)]


def energies(Ks, coefficients):
    C = coefficients.toarray()
    return np.array([0.5 * np.einsum("ti,ij,tj->", C, K, C) for K in Ks])


def keeping(monkeypatch, part, block=None):
    """Stacks keep what fits this part of the memory, and compute blocks of so many bytes."""
    monkeypatch.setattr(stacks, "KEPT", part)
    if block is not None:
        monkeypatch.setattr(stacks, "BLOCK_BYTES", block)


@pytest.mark.parametrize("scale", ["trace", "variance", None])
@pytest.mark.parametrize("sparse", [False, True])
def test_sums_and_energies_are_those_of_the_matrices(X, coefficients, scale, sparse):
    stack = GramStack(KERNELS, csr_array(X) if sparse else X, scale=scale, ridge=0.25)
    Ks, weights = matrices(stack), np.linspace(0.0, 1.0, len(KERNELS))
    total = sum(w * K for w, K in zip(weights, Ks, strict=True))
    everything = np.arange(stack.n)
    assert_allclose(stack.combination(weights).rows(everything), total, rtol=0, atol=1e-6 * total.max())
    for gram in (stack.exact(weights), stack.on_demand(weights)):
        assert_allclose(gram.rows(everything), total, rtol=1e-12, atol=1e-12)
        assert_allclose(gram.diag(), np.diag(total), rtol=1e-12)
        assert_allclose(gram.dot_part(everything[:7], everything[3:], X[3:]), total[:7, 3:] @ X[3:], rtol=0, atol=1e-9)
        some = csr_array(X[3:] * (X[3:] > 0))
        assert_allclose(gram.dot_part(everything[:7], everything[3:], some), total[:7, 3:] @ some, rtol=0, atol=1e-9)
        assert gram.definite
    without = stack.exact(weights, ridged=False).rows(everything)
    assert_allclose(without, total - 0.25 * weights.sum() * np.eye(stack.n), rtol=1e-12, atol=1e-12)
    assert_allclose(stack.matrix(4), Ks[4], rtol=1e-12, atol=1e-12)
    for which in (
        [3, 4, 80],
        [80, 3, 4],
        [80, 3, 80, 4],
    ):  # variables may share a sample
        assert_allclose(stack.square(weights, np.array(which)), total[np.ix_(which, which)], rtol=1e-6)
    wanted = energies(Ks, coefficients)
    assert_allclose(stack.energies(coefficients), wanted, rtol=3e-6)
    assert_allclose(stack.energies(coefficients, exact=True), wanted, rtol=1e-11)
    some = np.array([7, 3, 60, 8])
    for row in (0, 1, 2):
        c = coefficients[[row]]
        wanted = np.array([K[some] @ c.toarray()[0] for K in Ks])
        assert_allclose(stack.products(c, some), wanted, rtol=0, atol=1e-5 * max(1.0, np.abs(wanted).max()))


def test_what_is_kept_and_threads_make_no_difference(X, coefficients, monkeypatch):
    weights = np.linspace(1.0, 0.0, len(KERNELS))
    found = []
    half = 4 * 83 * 84 // 2
    for part, block, threads in [(1 / 2, None, 1), (0.0, 4000, 1), (2.5 * half / 2**20, 24000, 3), (1 / 2, None, 3)]:
        keeping(monkeypatch, part, block)
        with limit_threads(threads):
            stack = GramStack(KERNELS, X, ridge=0.5, memory=1)
            n_kept = sum(dtype == np.float32 for _, dtype in stack._kept)
            found.append((n_kept, stack.combination(weights).matrix, stack.exact(weights).matrix))
            found[-1] += (stack.energies(coefficients), stack.energies(coefficients, exact=True))
            found[-1] += (stack.square(weights, np.arange(2, 83, 3)),)
            found[-1] += (stack.products(coefficients[[1]], np.arange(3, 60)),)
    assert [one[0] for one in found] == [11, 0, 2, 11]
    for one in found[1:]:
        for mine, theirs in zip(found[0][1:], one[1:], strict=True):
            assert_array_equal(mine, theirs)


@pytest.mark.parametrize("level", _native.simd_levels())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_families_at_every_level(X, level, dtype):
    """Rows that begin and end within a tile; exponents of any size."""
    kernels = [RBF(gamma=g) for g in (1e-300, 0.5, 1e300)] + [Matern(nu=2.5, length_scale=0.5)]
    specs = [(kernel.native().transform, list(kernel.native().parameters)) for kernel in kernels]
    factors, first, last = [1.0, 1.5, 1.25, 0.75], 37, 71
    halves = [np.full(last * (last + 1) // 2 - first * (first + 1) // 2 + 1, -1.0, dtype=dtype) for _ in kernels]
    for x in (X, 1e-150 * X, 1e150 * X):
        _native.family_halves("l2", None, specs, factors, x, first, last, halves, 1, level)
        for kernel, factor, half in zip(kernels, factors, halves, strict=True):
            wanted = factor * np.asarray(kernel(x))[first:last][np.tri(last - first, 83, first, dtype=bool)]
            assert_allclose(half[:-1], wanted, rtol=0, atol=3 * np.finfo(dtype).eps)
            assert half[-1] == -1.0  # what lies behind is not touched


def test_a_pass_that_serves_energies_and_products(X, coefficients, monkeypatch):
    keeping(monkeypatch, 0.0)
    c = coefficients[[1]]
    moved, turned = csr_array((c.data, c.indices - 1, c.indptr), shape=c.shape), c.copy()
    turned.data[:], turned.indices[:] = c.data[::-1], c.indices[::-1]
    turned.has_sorted_indices = False
    inside, everything = c.indices[::2].copy(), np.arange(83)
    for first, then, samples, exact in [
        (c, c, inside, False),
        (turned, turned, inside, False),
        (c, c, everything, False),
        (c, 2.0 * c, inside, False),
        (moved, c, inside, False),
        (c, c, inside, True),
        (coefficients, c, inside, False),
    ]:
        stack = GramStack(KERNELS, X, ridge=0.5)
        stack.energies(first, exact=exact)
        assert_array_equal(stack.products(then, samples), GramStack(KERNELS, X, ridge=0.5).products(then, samples))


@pytest.mark.parametrize("rows", [8, 16])
def test_memory_stays_within_the_budget(rng, monkeypatch, rows):
    n, mb = 1500, 2**20
    block = max(1 << 21, 8 * 12 * n * rows)
    monkeypatch.setattr(stacks, "BLOCK_BYTES", 1 << 21)
    monkeypatch.setattr(stacks, "BLOCK_ROWS", rows)
    X, weights = rng.normal(size=(n, 3)), np.full(12, 1 / 12)
    kernels = [RBF(gamma=g) for g in np.logspace(-2, 1, 12)]  # 4.3 MB each, 9 MB their sum
    c = csr_array(np.where(rng.random((1, n)) < 0.5, rng.normal(size=(1, n)), 0.0))
    tracemalloc.start()

    def taken(compute):
        """Bytes that something needs besides what is there."""
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        compute()
        return tracemalloc.get_traced_memory()[1] - before

    try:
        for memory in (40, 20, 10):
            stack = GramStack(kernels, X, memory=memory)
            assert 0 < len(stack._kept) < len(kernels)
            assert tracemalloc.get_traced_memory()[0] <= stacks.KEPT * memory * mb
            one_block = 1.5 * min(block, stacks.BLOCK * memory * mb)
            assert taken(lambda stack=stack: stack.energies(c)) < one_block
            assert taken(lambda stack=stack: stack.energies(c, exact=True)) < one_block
            summed = 4 * n**2 if memory >= 20 else 0
            assert taken(lambda stack=stack: stack.combination(weights)) < summed + one_block
            exact = 8 * n**2 if memory == 40 else 0
            assert taken(lambda stack=stack: stack.exact(weights)) < exact + one_block
            del stack
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("memory", "n_kept"), [(0.02, 0), (0.04, 1)])
def test_large_sums_are_made_row_by_row(X, memory, n_kept):
    small, large = (GramStack(KERNELS, X, ridge=0.1, memory=memory) for memory in (memory, 100))
    weights = np.linspace(0.0, 1.0, len(KERNELS))
    gram = small.combination(weights)
    assert gram.native()[0] == "function" and len(small._kept) == n_kept and gram.definite
    assert_allclose(gram.rows(np.array([7, 3])), large.exact(weights).rows(np.array([7, 3])), rtol=1e-12)


@pytest.mark.parametrize("size", [1e-310, 1e-200, 1e-30, 1e30, 1e200])
def test_no_scale_is_lost(X, coefficients, size):
    K = np.asarray(RBF(gamma=0.5)(X))
    numbers, rest = np.arange(83), 1.0 if size > 1 else 0.0
    stack = GramStack([Indexed(size * K), Indexed(K)], numbers, scale=None)
    assert_allclose(stack.energies(coefficients), energies([size * K, K], coefficients), rtol=3e-6)
    gram = stack.combination(np.array([1.0, rest]))
    assert_allclose(gram.rows(numbers), size * K + rest * K, rtol=0, atol=2e-7 * size)
    square = stack.square(np.array([1.0, rest]), numbers[::2])
    assert_allclose(square, (size * K + rest * K)[::2, ::2], rtol=0, atol=2e-7 * size)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_scaled_matrices_of_any_size_are_equal(X, coefficients, size):
    K = np.asarray(RBF(gamma=0.5)(X))
    stack = GramStack([Indexed(size * K), Indexed(K)], np.arange(83))
    for exact in (False, True):
        one, other = stack.energies(coefficients, exact=exact)
        assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize("scale", ["trace", "variance"])
def test_weights_of_samples_are_repetitions(X, scale, rng):
    counts = rng.integers(0, 4, size=len(X))
    weighted = GramStack(KERNELS[:6], X, scale=scale, sample_weight=counts.astype(float))
    repeated = GramStack(KERNELS[:6], np.repeat(X, counts, axis=0), scale=scale)
    assert_allclose(weighted.factors, repeated.factors, rtol=1e-12)


def test_constant_and_zero_kernels(X, coefficients):
    stack = GramStack([Constant(3.0), Constant(0.0)], X, scale="variance")
    assert_array_equal(stack.factors, [1.0, 1.0])
    assert_allclose(stack.energies(coefficients)[0], 1.5 * (coefficients.sum(axis=1) ** 2).sum(), rtol=1e-5)
    assert stack.energies(coefficients)[1] == 0.0
    for weights in ([0.0, 1.0], [0.0, 0.0]):
        zero = stack.combination(np.array(weights)).matrix
        assert zero.dtype == np.float32
        assert_array_equal(zero, np.zeros((83, 83)))
        assert_array_equal(stack.kernel(np.array(weights))(X), np.zeros((83, 83)))
    denormal = GramStack([Indexed(np.full((83, 83), 1e-310))], np.arange(83))
    assert_array_equal(denormal.factors, [1.0])


def test_energies_are_never_negative(X, rng):
    """Coefficients that sum to zero have none in the space of a constant, but for rounding."""
    stack = GramStack([Constant(1.0)], X)
    rows = rng.normal(size=(20, 83))
    rows -= rows.mean(axis=1, keepdims=True)
    found = np.array([stack.energies(csr_array(row[np.newaxis]))[0] for row in rows])
    assert found.max() < 1e-10 and found.min() >= 0.0


def test_what_takes_long_to_compute_is_kept_first(rng):
    table = {"v": rng.normal(size=(30, 3)), "s": ["abab", "bba", "aab"] * 10, "i": np.arange(30)}
    kernels = [On("v", RBF(gamma=0.5)), On("s", Spectrum(2)), On("v", RBF(gamma=2.0))]
    half = 4 * 30 * 31 // 2 / 2**20
    kept = [set(GramStack(kernels, table, memory=2 * times * half)._kept) for times in (1, 3, 4, 5)]
    single = {(k, np.float32) for k in range(3)}
    assert kept == [{(1, np.float32)}, single, single, single | {(1, np.float64)}]
    # A matrix that is given is in float64 already.
    assert set(GramStack([Indexed(np.eye(30))], np.arange(30))._kept) == {(0, np.float32)}


def test_no_coefficients(X):
    assert_array_equal(GramStack(KERNELS, X).energies(csr_array((2, 83))), np.zeros(len(KERNELS)))


def test_columns_of_a_table_share_distances(rng):
    table = {"v": rng.normal(size=(30, 3)), "w": rng.normal(size=30), "s": ["abab", "bba", "aab"] * 10}
    kernels = [On("v", RBF(gamma=0.5)), On("w", RBF(gamma=0.5)), On("s", Spectrum(2)), On("v", RBF(gamma=2.0))]
    kernels.append(On(["w"], Hamming()))
    stack = GramStack(kernels, table)
    families = [source for source in stack._sources if isinstance(source, stacks.Family)]
    assert [sorted(family.specs) for family in families] == [[0, 3], [1], [4]]
    weights = np.ones(5)
    total = sum(matrices(stack))
    for gram in (stack.combination(weights), stack.on_demand(weights)):
        assert_allclose(gram.rows(np.arange(30)), total, rtol=1e-6)
    # What takes long to compute is kept in both precisions.
    assert {k for k, dtype in stack._kept if dtype == np.float64} == {2}


def test_an_indefinite_kernel_is_named(X):
    kernels = [RBF(gamma=1.0), Sigmoid(gamma=2.0, coef0=-1.0)]
    with pytest.raises(IndefiniteError, match=r"kernel 1, Sigmoid\("):
        GramStack(kernels, X)
    with pytest.raises(IndefiniteError, match="repair='clip' is for Indexed kernels alone"):
        GramStack(kernels, X, repair="clip")


@pytest.mark.parametrize("repaired", [clip, flip, shift, square])
def test_repair_is_of_the_whole_matrix(X, repaired):
    K, good = Sigmoid(gamma=2.0, coef0=-1.0)(X), RBF(gamma=1.0)(X)
    train = np.arange(0, 83, 2)
    with pytest.raises(IndefiniteError, match=r"kernel 0, Indexed\(K\) of 83 samples, .* or set repair"):
        GramStack([Indexed(K), Indexed(good)], train)
    stack = GramStack([Indexed(K), Indexed(good)], train, repair=repaired.__name__, scale=None)
    assert_allclose(stack.kernels[0].K, repaired(K), rtol=1e-12, atol=1e-12)
    assert stack.kernels[1].K is good
    whole = stack.kernel(np.ones(2))
    assert_allclose(stack.exact(np.ones(2)).rows(np.arange(42)), whole(train), rtol=1e-12)


def test_too_large_features_are_refused():
    kernel, X = Polynomial(degree=300, gamma=1.0), np.array([[1e9], [1.0]])
    with pytest.raises(ValueError, match=r"values of .*Polynomial\(.* overflow"):
        GramStack([kernel], X)
    with pytest.raises(ValueError, match=r"values of kernel 1, On\(.* overflow"):
        GramStack([On("v", Linear()), On("v", kernel)], {"v": X})


def test_a_machine_on_a_repaired_matrix_predicts_consistently(X):
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    K = np.asarray(Sigmoid(gamma=1.0, coef0=-0.5)(X))
    train, test = np.arange(60), np.arange(60, 83)
    machine = MKLClassifier([Indexed(K), Indexed(RBF(gamma=0.5)(X))], repair="flip", norm=2.0)
    machine.fit(train, y[train])
    assert machine.weights_.min() > 0
    assert_allclose(machine.kernels_[0].K, flip(K), rtol=1e-12, atol=1e-12)
    by_hand = machine.kernel_(test, train[machine.support_]) @ machine.dual_coef_[0] + machine.intercept_
    assert_allclose(machine.decision_function(test), by_hand, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("memory", [100, 4, 2])
def test_a_machine_with_less_memory_learns_the_same(rng, memory):
    """All is kept; some is computed again; not even the sum fits."""
    X = rng.normal(size=(600, 5))
    y = np.sign(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=600))
    kernels = [RBF(gamma=g) for g in np.logspace(-2, 1, 10)]
    plenty = MKLClassifier(kernels, gap_tol=1e-4, tol=1e-4).fit(X, y)
    machine = MKLClassifier(kernels, gap_tol=1e-4, tol=1e-4, memory=memory).fit(X, y)
    assert machine.weights_result_.status == "solved"
    assert machine.weights_result_.objective == pytest.approx(plenty.weights_result_.objective, rel=1e-4)
