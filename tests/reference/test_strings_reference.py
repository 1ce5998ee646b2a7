"""Kernels on strings against twins that list everything, on strings made by Hypothesis."""

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import naive_strings as naive

from mercer import _native, kernels
from mercer.data import Sequences
from mercer.kernels.strings.substitution import SubstitutionTable
from mercer.threads import limit_threads

quietly = settings(deadline=None, derandomize=True, max_examples=25)
LETTERS = "abé"
words = st.lists(st.text(LETTERS, max_size=7), min_size=1, max_size=5)


def score(a, b):
    return 2.0 if a == b else -1.0


TABLE = {("a", "a"): 3.0, ("a", "b"): 1.0, ("b", "b"): 2.0, ("a", "é"): -2.0, ("b", "é"): -1.0, ("é", "é"): 1.5}


def by_table(a, b):
    return TABLE[(a, b)] if (a, b) in TABLE else TABLE[(b, a)]


TWINS = {
    "spectrum": (kernels.Spectrum(2), lambda s, t: naive.spectrum(s, t, 2)),
    "spectrum blended": (kernels.Spectrum(3, blended=True), lambda s, t: naive.spectrum(s, t, 3, blended=True)),
    "gapped": (kernels.GappedKmer(4, 2), lambda s, t: naive.gapped_kmer(s, t, 4, 2)),
    "gapped, all seen": (kernels.GappedKmer(3, 3), lambda s, t: naive.spectrum(s, t, 3)),
    "mismatch 3, 1": (kernels.Mismatch(3, 1, LETTERS), lambda s, t: naive.mismatch(s, t, 3, 1, LETTERS)),
    "mismatch 3, 2": (kernels.Mismatch(3, 2, LETTERS + "x"), lambda s, t: naive.mismatch(s, t, 3, 2, LETTERS + "x")),
    "mismatch 2, 0": (kernels.Mismatch(2, 0, LETTERS), lambda s, t: naive.spectrum(s, t, 2)),
    "all": (kernels.AllSubsequences(), naive.all_subsequences),
    "fixed": (kernels.FixedSubsequences(3), lambda s, t: naive.gap_weighted(s, t, 3, 1.0)),
    **{
        f"gap-weighted {p}": (kernels.GapWeighted(p, 0.7), lambda s, t, p=p: naive.gap_weighted(s, t, p, 0.7))
        for p in (1, 2, 3, 4, 5, 7)
    },
    "gap-weighted blended 1": (kernels.GapWeighted(1, 0.6, True), lambda s, t: naive.gap_weighted(s, t, 1, 0.6, True)),
    "gap-weighted blended 6": (kernels.GapWeighted(6, 0.6, True), lambda s, t: naive.gap_weighted(s, t, 6, 0.6, True)),
    "substrings": (kernels.CommonSubstrings(), naive.common_substrings),
    "substrings, some": (
        kernels.CommonSubstrings(0.8, shortest=2, longest=3),
        lambda s, t: naive.common_substrings(s, t, 0.8, 2, 3),
    ),
    "alignment": (
        kernels.LocalAlignment(match=2.0, gap_open=1.5, gap_extend=0.5),
        lambda s, t: naive.local_alignment(s, t, score, 1.5, 0.5),
    ),
    "alignment, dear long gaps": (
        kernels.LocalAlignment(match=2.0, gap_open=0.25, gap_extend=1.5),
        lambda s, t: naive.local_alignment(s, t, score, 0.25, 1.5),
    ),
    "alignment, table": (
        kernels.LocalAlignment(TABLE, gap_open=1.5, gap_extend=0.25),
        lambda s, t: naive.local_alignment(s, t, by_table, 1.5, 0.25),
    ),
    "alignments": (
        kernels.AlignmentKernel(0.4, match=2.0, gap_open=1.5, gap_extend=0.5),
        lambda s, t: naive.alignment_kernel(s, t, 0.4, score, 1.5, 0.5),
    ),
    "alignments, dear long gaps": (
        kernels.AlignmentKernel(0.4, match=2.0, gap_open=0.25, gap_extend=1.5),
        lambda s, t: naive.alignment_kernel(s, t, 0.4, score, 0.25, 1.5),
    ),
    "alignments, table": (
        kernels.AlignmentKernel(0.4, TABLE, gap_open=1.5, gap_extend=0.25),
        lambda s, t: naive.alignment_kernel(s, t, 0.4, by_table, 1.5, 0.25),
    ),
}


@pytest.mark.parametrize(("kernel", "twin"), TWINS.values(), ids=TWINS.keys())
def test_kernel_equals_its_twin(kernel, twin):
    @quietly
    @given(words, words)
    def check(X, Y):
        K = kernel(X, Y)
        assert_allclose(K, naive.gram(twin, X, Y), rtol=1e-12, atol=1e-14)
        assert_array_equal(kernel(Y, X), K.T)
        assert_array_equal(kernel.diag(X), np.diagonal(kernel(X)))
        logs = kernel._log_matrix(*kernel.prepare(X, Y))
        if logs is not None:
            assert_allclose(np.exp(logs), K, rtol=1e-12, atol=1e-300)

    check()


@pytest.mark.parametrize("shift", [0, 1, 4])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_weighted_degree_equals_its_twin(d, shift):
    @quietly
    @given(st.integers(0, 7).flatmap(lambda n: st.lists(st.text(LETTERS, min_size=n, max_size=n), max_size=5)))
    def check(X):
        K = kernels.WeightedDegree(d, shift)(X)
        assert_allclose(K, naive.gram(lambda s, t: naive.weighted_degree(s, t, d, shift), X, X), rtol=1e-12)
        assert_array_equal(K, K.T)

    check()


numbers = st.floats(-3, 3).map(lambda x: round(x, 2))
series = st.lists(st.lists(numbers, max_size=4).map(np.array), min_size=1, max_size=4)


@pytest.mark.parametrize("triangle", [0, 2])
def test_global_alignment_equals_its_twin(triangle):
    kernel = kernels.GlobalAlignment(0.8, triangle)

    @quietly
    @given(series, series)
    def check(X, Y):
        K = kernel(X, Y)
        assert_allclose(K, naive.gram(lambda x, y: naive.global_alignment(x, y, 0.8, triangle), X, Y), rtol=1e-11)
        assert_array_equal(kernel(Y, X), K.T)
        assert_array_equal(kernel.diag(X), np.diagonal(kernel(X)))

    check()


def test_global_alignment_of_series_of_vectors():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n, 3)) for n in (1, 2, 4, 5)]
    expected = naive.gram(lambda x, y: naive.global_alignment(x, y, 1.5), X, X)
    assert_allclose(kernels.GlobalAlignment(1.5)(X), expected, rtol=1e-11)


# --- larger ones, against each other ------------------------------------------------------------------------------


def random_strings(n, length, letters="ACGT", seed=0):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list(letters), size=length + rng.integers(-3, 4))) for _ in range(n)]


@pytest.mark.parametrize(
    "call",
    [
        lambda x, y, level: _native.gap_weighted(x, y, 5, 0.6, False, "value", 2, level),
        lambda x, y, level: _native.gap_weighted(x, y, 9, 0.6, True, "slope", 2, level),
        lambda x, y, level: _native.all_subsequences(x, y, "value", 2, level),
        lambda x, y, level: _native.local_alignment(x, y, (2.0, -1.0), 2.0, 0.5, 2, level),
        lambda x, y, level: _native.local_alignments(
            x, y, (1.6, 0.5), (0.3, -0.2), (0.2, 0.7), (-0.1, -0.1), "slope", 2, level
        ),
    ],
    ids=["gap-weighted", "slope", "all", "best", "sum"],
)
def test_levels_agree(call):
    X, Y = Sequences.pack(random_strings(21, 40)), Sequences.pack(random_strings(10, 30, seed=1))
    expected = call(X.native(), Y.native(), "baseline")
    for level in _native.simd_levels():
        assert_allclose(call(X.native(), Y.native(), level), expected, rtol=1e-12)
        assert_allclose(call(Y.native(), X.native(), level), expected.T, rtol=1e-12)
        assert_array_equal(call(X.native(), None, level), np.diagonal(call(X.native(), X.native(), level)))


def test_masks_and_neighbours_are_one_kernel():
    """The matrix comes from masks, the explicit features from neighbours."""
    X = random_strings(20, 50)
    for k, m in [(4, 1), (5, 2), (10, 1), (3, 2)]:
        kernel = kernels.Mismatch(k, m)
        phi = kernel.features(X)
        assert_array_equal((phi @ phi.T).toarray(), kernel(X))


def test_explicit_features_are_those_of_the_kernel():
    X = random_strings(20, 50)
    for kernel in (kernels.Spectrum(3), kernels.Spectrum(12, blended=True), kernels.GappedKmer(9, 3)):
        phi = kernel.features(X)
        assert_array_equal((phi @ phi.T).toarray(), kernel(X))
    X = [x[:47] for x in X]
    phi = kernels.WeightedDegree(6).features(X)
    assert_allclose((phi @ phi.T).toarray(), kernels.WeightedDegree(6)(X), rtol=1e-12)


FEW = ["", "a", "gattaca", "tacagat", "ééaé", "aaaaaaaa", "0123456789"]


@pytest.mark.parametrize(
    "kernel",
    [
        kernels.AllSubsequences(),
        kernels.FixedSubsequences(1),
        kernels.FixedSubsequences(3),
        kernels.FixedSubsequences(9),
        kernels.CommonSubstrings(),
        kernels.CommonSubstrings(0.7, shortest=2, longest=4),
        kernels.GapWeighted(3, 0.6),
        kernels.GapWeighted(4, 0.3, blended=True),
    ],
    ids=repr,
)
def test_features_that_are_listed_one_by_one(kernel):
    phi = kernel.features(FEW)
    assert_allclose((phi @ phi.T).toarray(), kernel(FEW), rtol=1e-13)
    for X in ([], [""], FEW[::-1]):
        assert_allclose(kernel.features(X).power(2).sum(axis=1), kernel.diag(X), rtol=1e-13)


def test_weights_of_single_subsequences():
    expected = naive.subsequences("gattaca", [1, 2, 3], 0.6)
    phi = kernels.GapWeighted(3, 0.6, blended=True).features(["gattaca"])
    assert_allclose(np.sort(phi.data), sorted(expected.values()), rtol=1e-13)
    phi = kernels.AllSubsequences().features(["gattaca"])
    assert_array_equal(np.sort(phi.data), sorted(naive.subsequences("gattaca", range(8)).values()))


def test_long_pieces_are_told_apart():
    """Keys beyond eight letters are hashes: pieces that differ in one symbol do not meet."""
    X = random_strings(3, 400, "ab")
    for p in (8, 9, 30, 200):
        assert_array_equal(kernels.Spectrum(p)(X), naive.gram(lambda s, t, p=p: naive.spectrum(s, t, p), X, X))


def test_numbers_of_any_size():
    """Beyond the range of float64 there is another way, for just the pairs that need it."""
    X = [*random_strings(1, 500, "aaab"), "a" * 600, "ab" * 20]
    kernel = kernels.AllSubsequences()
    with pytest.raises(ValueError, match=r"too large for float64.*\.normalized\(\)"):
        kernel(X)
    logs = kernel._log_matrix(*kernel.prepare(X))
    assert logs.max() > 710.0 > logs.min()
    assert_allclose(logs, [[log_all(s, t) for t in X] for s in X], rtol=1e-13)
    assert_array_equal(kernel._log_diag(kernel.prepare(X)[0]), np.diagonal(logs))
    with limit_threads(3):
        assert_array_equal(kernel._log_matrix(*kernel.prepare(X)), logs)


def test_many_subsequences():
    """Of a letter that the one has n times and the other m times: all of the ways to choose p of both."""
    p, n, m = 200, 600, 550
    kernel = kernels.FixedSubsequences(p)
    s, t = "a" * n, "aaaaab" * (m // 5)
    with pytest.raises(ValueError, match=r"too large for float64.*\.normalized\(\)"):
        kernel([s], [t])
    logs = kernel._log_matrix(*kernel.prepare([s], [t, "b" * n]))
    with np.errstate(divide="ignore"):
        assert_allclose(logs, [[log_of(comb(n, p) * comb(m, p)), -np.inf]], rtol=1e-13)


def log_of(whole):
    """Logarithm of a large int."""
    shift = max(0, whole.bit_length() - 60)
    return np.log(whole >> shift) + shift * np.log(2)


def log_all(s, t):
    row = [1] * (len(t) + 1)
    for a in s:
        added, before = 0, row[0]
        for j, b in enumerate(t):
            if a == b:
                added += before
            before = row[j + 1]
            row[j + 1] = before + added
    return log_of(row[-1])


def test_alignments_of_any_size():
    """Logarithms of sums over alignments, against the recursion in log space."""
    X = random_strings(2, 160, "ACDEFGHIKLMNPQRSTVWY")
    X.append(X[0][80:] + X[0][:80])  # two strong diagonals, the second begins when the first has grown large
    kernel = kernels.AlignmentKernel(1.5, "BLOSUM62", gap_open=11.0, gap_extend=1.0)
    logs = kernel._log_matrix(*kernel.prepare(X))
    assert logs.max() > 1000.0
    table = SubstitutionTable.of("BLOSUM62")
    numbered = table.numbered(Sequences.pack(X), "", X, "")
    codes = [numbered[[i]].entries.astype(int) for i in range(len(X))]
    expected = [[log_alignments(1.5 * table.scores[np.ix_(s, t)], 16.5, 1.5) for t in codes] for s in codes]
    assert_allclose(logs, expected, rtol=1e-12)
    with pytest.raises(ValueError, match=r"\.normalized\(\)"):
        kernel(X)


def log_alignments(scores, gap_open, gap_extend):
    """The recursion of Saigo et al. over anti-diagonals replaced by plain loops, all numbers in logarithms."""
    n, m = scores.shape
    M, X, Y = (np.full((n + 1, m + 1), -np.inf) for _ in range(3))
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            before = M[i - 1, j - 1], X[i - 1, j - 1], Y[i - 1, j - 1]
            M[i, j] = scores[i - 1, j - 1] + np.logaddexp.reduce([0.0, *before])
            X[i, j] = np.logaddexp(M[i - 1, j] - gap_open, X[i - 1, j] - gap_extend)
            Y[i, j] = np.logaddexp(np.logaddexp(M[i, j - 1], X[i, j - 1]) - gap_open, Y[i, j - 1] - gap_extend)
    return np.logaddexp(0.0, np.logaddexp.reduce(M.ravel()))


def test_global_alignments_of_any_size():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=n).cumsum() * 3 for n in (40, 60, 1)] + [np.zeros(100), np.zeros(450)]
    for sigma in (0.05, 1.0, 1e4):
        kernel = kernels.GlobalAlignment(sigma)
        logs = kernel._log_matrix(*kernel.prepare(X))
        expected = [[log_paths(x, y, sigma) for y in X] for x in X]
        assert_allclose(logs, expected, rtol=1e-11, atol=1e-12)


def log_paths(x, y, sigma):
    exponent = -((x[:, None] - y[None, :]) ** 2) / (2 * sigma**2)
    local = exponent - np.log(2 - np.exp(exponent))
    sums = np.full((len(x) + 1, len(y) + 1), -np.inf)
    sums[0, 0] = 0.0
    for i in range(len(x)):
        for j in range(len(y)):
            sums[i + 1, j + 1] = local[i, j] + np.logaddexp.reduce([sums[i, j], sums[i + 1, j], sums[i, j + 1]])
    return sums[-1, -1]
