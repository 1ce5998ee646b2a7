"""Kernels on strings and series: worked values of the seeds, limits, samples of all kinds, errors, machines."""

import re
from decimal import Decimal
from fractions import Fraction
from math import comb

import numpy as np
import pandas
import polars
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline

from mercer import SVC, LinearSVC, _native
from mercer.data import Sequences, Series
from mercer.errors import DomainError
from mercer.features import ExplicitFeatures
from mercer.kernels import (
    AlignmentKernel,
    AllSubsequences,
    CommonSubstrings,
    FixedSubsequences,
    GappedKmer,
    GapWeighted,
    GlobalAlignment,
    LocalAlignment,
    Mismatch,
    On,
    Spectrum,
    WeightedDegree,
)
from mercer.kernels.strings.substitution import AMINO_ACIDS, SubstitutionTable
from mercer.selection import TunedSVC

WORDS = ["SAY", "BAY", "SAD", "BAD"]
EVERY = [
    AlignmentKernel(0.3),
    AllSubsequences(),
    CommonSubstrings(),
    FixedSubsequences(2),
    GapWeighted(2),
    GappedKmer(3, 2),
    LocalAlignment(),
    Mismatch(2, 1, "abcé"),
    Spectrum(2),
    WeightedDegree(2),
]
every_kernel = pytest.mark.parametrize("kernel", EVERY, ids=lambda kernel: type(kernel).__name__)


def random_strings(n, length, letters="ACGT", seed=0):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list(letters), size=length)) for _ in range(n)]


# --- worked values ------------------------------------------------------------------------------------------------


def test_spectrum_of_table_3_1_and_3_2():
    assert_array_equal(Spectrum(2)(WORDS), [[2, 1, 1, 0], [1, 2, 0, 1], [1, 0, 2, 1], [0, 1, 1, 2]])
    phi = Spectrum(2).features(WORDS).toarray()  # columns AD, AY, BA, SA
    assert_array_equal(sorted(phi.T.tolist()), sorted([[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0], [0, 0, 1, 1]]))


def test_spectra_of_stay_and_stray_share_two_pieces():
    kernel = Spectrum(2)
    assert kernel(["STAY"], ["STRAY"])[0, 0] == 2
    assert_array_equal(kernel(["STAY", "STRAY"], ["ST", "AY", "TA", "TR", "RA"]), [[1, 1, 1, 0, 0], [1, 1, 0, 1, 1]])


def test_all_subsequences_of_tables_3_3_and_3_4():
    kernel = AllSubsequences()
    assert_array_equal(kernel(["SAY", "BAY"]), [[8, 4], [4, 8]])
    assert_array_equal(kernel(["SAY", "BAY", "", "GATTACA"], [""]), np.ones((4, 1)))
    phi = kernel.features(["SAY", "BAY"]).toarray()  # columns empty, A, B, S, Y, SA, BA, AY, SY, BY, SAY, BAY
    table = [[1, 1, 0, 1, 1, 1, 0, 1, 1, 0, 1, 0], [1, 1, 1, 0, 1, 0, 1, 1, 0, 1, 0, 1]]
    assert_array_equal(sorted(phi.T.tolist()), sorted(np.transpose(table).tolist()))


@pytest.mark.parametrize("decay", [1e-3, 0.25, 0.5, 0.9, 1.0])
def test_gap_weighted_of_table_3_5(decay):
    K = GapWeighted(2, decay)(WORDS)
    assert_allclose(K[0, 1], decay**4, rtol=1e-15)  # eq 3.25
    assert_allclose(np.diagonal(K), 2 * decay**4 + decay**6, rtol=1e-15)  # eq 3.26
    assert_array_equal(K == 0, np.fliplr(np.eye(4)) == 1)
    assert_allclose(GapWeighted(2, decay).normalized()(WORDS)[0, 1], 1 / (2 + decay**2), rtol=1e-14)  # eq 3.27
    # Table 3.5: phi_u(s) = k(u, s) / decay^2
    columns = ["SA", "SY", "AY", "BA", "BY", "SD", "AD", "BD"]
    phi = GapWeighted(2, decay)(WORDS, columns) / decay**2
    a, b = decay**2, decay**3
    table = [[a, b, a, 0, 0, 0, 0, 0], [0, 0, a, a, b, 0, 0, 0], [a, 0, 0, 0, 0, b, a, 0], [0, 0, 0, a, 0, 0, a, b]]
    assert_allclose(phi, table, rtol=1e-15)
    assert_allclose(phi @ phi.T, K, rtol=1e-14)
    explicit = GapWeighted(2, decay).features(WORDS).toarray()
    assert_allclose(sorted(explicit.T.tolist()), sorted(np.transpose(table).tolist()), rtol=1e-15)


@pytest.mark.parametrize("decay", [0.25, 0.5, 0.8, 1.0])
def test_weights_of_features(decay):
    def phi(u, s):
        """u has the feature u alone, with the weight decay^|u|."""
        return GapWeighted(len(u), decay)([u], [s])[0, 0] / decay ** len(u)

    assert_allclose(phi("BAD", "CCBCADCB"), decay**4, rtol=1e-15)
    assert_allclose(phi("BAD", "DAABCCACABDCCDB"), 2 * decay**8 + 2 * decay**11, rtol=1e-15)
    assert_allclose(phi("SAY", "STAY"), decay**4, rtol=1e-15)
    assert_allclose(phi("SAY", "SATURDAY"), 2 * decay**8, rtol=1e-15)


def test_limits_of_the_decay():
    X = random_strings(12, 30)
    for p in (1, 2, 4):
        spectrum = Spectrum(p).normalized()(X)
        assert_allclose(GapWeighted(p, 1e-9).normalized()(X), spectrum, atol=1e-8)
        # decay^(2 p) is no float64
        assert_allclose(GapWeighted(p, 1e-300).normalized()(X), spectrum, rtol=1e-11, atol=1e-300)
        assert_array_equal(GapWeighted(p, 1.0)(X), FixedSubsequences(p)(X))
        assert_array_equal(np.diagonal(GapWeighted(p, 1e-300).normalized()(X)), np.ones(12))


def test_alignment_tends_to_the_best_score():
    X = random_strings(6, 12)
    best = LocalAlignment(match=2.0)(X)
    beta = 20.0
    kernel = AlignmentKernel(beta, match=2.0)
    logs = kernel._log_matrix(*kernel.prepare(X))
    assert_allclose(logs / beta, best, atol=np.log(1e6) / beta)
    assert (logs / beta >= best - 1e-12).all()


def test_weighted_degree_of_one_symbol_counts_equal_places():
    X = random_strings(9, 20)
    letters = np.array([list(x) for x in X])
    assert_array_equal(WeightedDegree(1)(X), (letters[:, None] == letters[None, :]).sum(axis=2))


def test_masks_of_all_sizes():
    """A pair of pieces that agree in a places counts comb(a, k)."""
    for k in range(1, 6):
        assert GappedKmer(5, k)(["ABCDE"], ["AxCDy"])[0, 0] == comb(3, k)


def test_table_for_proteins():
    table = SubstitutionTable.of("BLOSUM62")
    assert_array_equal(table.scores, table.scores.T)
    assert table.scores.shape == (24, 24) and len(set(AMINO_ACIDS)) == 24
    known = {"AA": 4, "WW": 11, "CC": 9, "AR": -1, "LI": 2, "FY": 3, "DB": 4, "QZ": 3, "XX": -1, "*W": -4, "**": 1}
    for pair, value in known.items():
        kernel = LocalAlignment("BLOSUM62", gap_open=11.0)
        assert kernel([pair[0]], [pair[1]])[0, 0] == max(value, 0)
        i, j = (int(np.searchsorted(table.keys, Sequences.pack([a]).entries[0])) for a in pair)
        assert table.scores[i, j] == value
    assert table.scores.sum() == -726
    assert AlignmentKernel(0.5, "BLOSUM62", gap_open=11.0).definite


def test_table_for_close_proteins():
    """The scores are logarithms of odds of pairs: with the frequencies of Dayhoff et al., their expectation by chance
    and the information of a pair are those that NCBI gives with the table, -3.70 and 2.00 bits."""
    of = np.array([AMINO_ACIDS.index(letter) for letter in "ACDEFGHIKLMNPQRSTVWY"])
    frequencies = np.array([87, 33, 47, 50, 40, 89, 34, 37, 81, 85, 15, 40, 51, 38, 41, 70, 58, 65, 10, 30]) / 1001
    table = SubstitutionTable.of("PAM50")
    order = np.searchsorted(table.keys, Sequences.pack([AMINO_ACIDS]).entries)
    scores = table.scores[np.ix_(order, order)]
    assert_array_equal(scores, scores.T)
    chance, among = np.outer(frequencies, frequencies), scores[np.ix_(of, of)]
    pairs = chance * 2.0 ** (among / 2)
    assert_allclose(pairs.sum(), 1.0, atol=1e-3)
    assert_allclose((chance * among).sum(), -3.70, atol=0.01)
    assert_allclose((pairs * among / 2).sum(), 2.0, atol=0.05)
    assert (among.min(), among.max()) == (-13, 13)
    assert LocalAlignment("PAM50")(["WW"], ["WW"])[0, 0] == 26


# --- samples ------------------------------------------------------------------------------------------------------


@every_kernel
def test_strings_of_any_kind(kernel):
    text = ["abcé", "caéb", "abab", "éééé"]
    K = kernel(text)
    lists = [list(word) for word in text]
    for same in (
        tuple(text),
        np.array(text),
        np.array(text, dtype=object),
        np.array(text, dtype=object)[:, None],
        lists,
        [tuple(word) for word in text],
        [np.array(word) for word in lists],
        Sequences.pack(text),
        ["abcé", list("caéb"), tuple("abab"), "éééé"],
    ):
        assert_array_equal(kernel(same), K)
        assert_array_equal(kernel(same, text), K)


@pytest.mark.parametrize("kernel", [k for k in EVERY if not isinstance(k, Mismatch)], ids=lambda k: type(k).__name__)
def test_symbols_of_any_kind(kernel):
    """Whatever the symbols are, equal ones are equal, and their order and size mean nothing."""
    X = [[0, 1, 2, 3], [2, 0, 3, 1], [0, 1, 0, 1], [3, 3, 3, 3]]
    K = kernel(X)
    names = [
        ["the", "quick", "brown", "fox"],
        ["\U0001f600", "\ud800", "é", "\x00"],
        [(1, 2), None, frozenset("ab"), -(10**30)],
        [3.5, True, b"x", "x"],
    ]
    for symbols in names:
        assert_allclose(kernel([[symbols[i] for i in x] for x in X]), K, rtol=1e-14)
    assert_array_equal(kernel([bytes(x) for x in X]), K)
    assert_array_equal(kernel([bytes(x) for x in X], X), K)
    assert_allclose(kernel(["".join("\U0001f600zé0"[i] for i in x) for x in X]), K, rtol=1e-14)


def test_data_frames():
    K = Spectrum(2)(WORDS)
    for frame in (pandas.Series(WORDS, index=[7, 7, 3, 1]), pandas.DataFrame({"word": WORDS}), polars.Series(WORDS)):
        assert_array_equal(Spectrum(2)(frame), K)
        assert_array_equal(GapWeighted(2)(frame), GapWeighted(2)(WORDS))
    with pytest.raises(DomainError, match=r"got (None|a float) as sample 1"):
        Spectrum(2)(pandas.Series(["SAY", None]))


def test_a_frame_of_several_columns_needs_On():
    frame = pandas.DataFrame({"word": WORDS, "length": 3})
    with pytest.raises(DomainError, match=r"got a DataFrame of shape \(4, 2\) as X; read a column of it with On"):
        Spectrum(2)(frame)
    assert_array_equal(On("word", Spectrum(2))(frame), Spectrum(2)(WORDS))


def test_words_and_letters_are_different_symbols():
    texts = ["to be or not", "to be"]
    assert_array_equal(Spectrum(1)([text.split() for text in texts]), [[4, 2], [2, 2]])
    assert Spectrum(1)(texts)[0, 1] > 2
    assert Spectrum(1)(["97"], [[97]])[0, 0] == 0
    assert Spectrum(1)([b"a"], ["a"])[0, 0] == 0


def test_equal_numbers_are_one_symbol():
    """Whatever their type, and whatever other samples are there."""
    for equal in ([1, True, 1.0, Decimal(1), Fraction(1), 1 + 0j, np.int8(1)], [0.5, Decimal("0.5"), Fraction(1, 2)]):
        for a in equal:
            assert_array_equal(Spectrum(1)([[a]], [[b] for b in equal]), np.ones((1, len(equal))))
    assert Spectrum(1)([[Decimal("0.1")]], [[0.1]])[0, 0] == 0
    assert Spectrum(1)([[float("inf")], [1j]], [[float("-inf")], [1]]).sum() == 0


@pytest.mark.parametrize("p", [1, 2, 9])
def test_numbers_and_letters_are_different_symbols(p):
    """Also where pieces are hashed: those with letters beyond ASCII, numbers, or more than eight symbols."""
    letters = [chr(i) * p for i in (97, 233, 0x4E00)]
    numbers = [[i] * p for i in range(80, 300)] + [[i] * p for i in range(0x4E00 - 20, 0x4E00 + 20)]
    for kernel in (Spectrum(p), GappedKmer(p, p), GapWeighted(p), CommonSubstrings()):
        assert not kernel(letters, numbers).any()
        assert_array_equal(kernel(numbers) != 0, np.eye(len(numbers)))


@every_kernel
def test_empty_strings(kernel):
    if isinstance(kernel, WeightedDegree):
        assert_array_equal(kernel(["", ""]), np.zeros((2, 2)))
        return
    K = kernel(["", "ab", ""])
    value = 1.0 if isinstance(kernel, (AllSubsequences, AlignmentKernel)) else 0.0
    assert_array_equal(K[[0, 2]], np.full((2, 3), value))
    assert_array_equal(kernel(["", ""]), np.full((2, 2), value))
    assert_array_equal(kernel.diag(["", ""]), np.full(2, value))


@every_kernel
def test_long_strings(kernel):
    rng = np.random.default_rng(0)
    long = "".join(rng.choice(list("abcé"), size=100_000))
    if isinstance(kernel, WeightedDegree):
        X, Y = [long], [long[:50_000] + long[:50_000]]
    else:
        X, Y = [long], ["abcéabba", long[500:508], ""]
    K = kernel(X, Y)
    assert np.isfinite(K).all() and (K[0, :1] > 0).all()
    assert_array_equal(kernel(Y, X), K.T)
    if isinstance(kernel, (Spectrum, GappedKmer, Mismatch, CommonSubstrings, WeightedDegree)):
        assert np.isfinite(kernel.diag(X)).all()
        assert kernel.normalized()(X)[0, 0] == 1.0


def test_values_beyond_float64_are_normalised_all_the_same():
    X = ["ab" * 600, "ba" * 600, "a" * 1200, ""]
    kernel = AllSubsequences()
    with pytest.raises(ValueError, match=r"AllSubsequences\(\) are too large.*\.normalized\(\)"):
        kernel(X)
    with pytest.raises(ValueError, match=r"\.normalized\(\)"):
        kernel.diag(X)
    K = kernel.normalized()(X)
    assert_array_equal(np.diagonal(K), np.ones(4))
    assert 0 < K[0, 2] < K[0, 1] < 1
    series = [np.zeros(600), np.zeros(600), np.zeros(601)]
    with pytest.raises(ValueError, match=r"GlobalAlignment\(\) are too large.*\.normalized\(\)"):
        GlobalAlignment()(series)
    assert_array_equal(GlobalAlignment().normalized()(series)[:2, :2], np.ones((2, 2)))


@pytest.mark.parametrize(
    ("kernel", "name", "X"),
    [
        (AlignmentKernel(2.0), "beta", ["gattaca" * 60, "gattaca" * 59 + "gattac", "gattaca" * 60 + "c", ""]),
        (GlobalAlignment(3.0), "sigma", [np.sin(np.arange(n) / 9) for n in (600, 601, 590, 0)]),
        (GapWeighted(40, 1e-5), "decay", ["gattaca" * 6, "gattaca" * 7, "gattaca" * 5 + "c" + "gattaca", ""]),
    ],
    ids=["AlignmentKernel", "GlobalAlignment", "GapWeighted"],
)
def test_normalised_kernels_have_derivatives_where_values_leave_float64(kernel, name, X):
    logs = kernel._log_diag(kernel.prepare(X)[0])
    assert (np.abs(logs[:3]) > 745).all()
    W, value = np.random.default_rng(0).normal(size=(4, 4)), kernel.get_params()[name]
    step = 1e-3 * value
    ends = [(W * clone(kernel).set_params(**{name: value + h}).normalized()(X)).sum() for h in (step, -step)]
    slope = kernel.normalized().vjp(X, W)[f"kernel__{name}"]
    assert_allclose(slope, (ends[0] - ends[1]) / (2 * step), rtol=1e-5)


def test_values_of_long_common_substrings():
    for values in (CommonSubstrings(decay=2.0).normalized(), CommonSubstrings(decay=2.0).features):
        with pytest.raises(
            ValueError, match=r"CommonSubstrings\(decay=2.0\) are too large .* parameters that make them"
        ):
            values(["a" * 2100])
    assert_array_equal(
        CommonSubstrings(decay=2.0, longest=3)(["a" * 2000]), [[2 * 2000**2 + 4 * 1999**2 + 8 * 1998**2]]
    )


def test_series_in_all_forms():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5, 7))
    K = GlobalAlignment()(X)
    for same in (list(X), [x.tolist() for x in X], [x[:, None] for x in X], X[:, :, None], Series.pack(X)):
        assert_array_equal(GlobalAlignment()(same), K)
    assert_array_equal(GlobalAlignment()([[1, 2], [3]], [[1.0, 2.0], [3.0]]), GlobalAlignment()([[1.0, 2.0], [3.0]]))
    assert_array_equal(GlobalAlignment()([[], [1.0]]), [[1, 0], [0, 1]])
    assert GlobalAlignment(triangle=3)([np.zeros(5)], [np.zeros(8), np.zeros(7)])[0].tolist()[0] == 0


# --- errors -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Spectrum(0), "p must be an int >= 1, got 0"),
        (Spectrum(2.0), "p must be an int >= 1, got 2.0"),
        (Spectrum(2, blended="yes"), "blended must be True or False, got 'yes'"),
        (FixedSubsequences(-1), "p must be an int >= 1, got -1"),
        (GapWeighted(2, 0.0), "decay must be a float > 0 and <= 1, got 0.0"),
        (GapWeighted(2, 1.5), "decay must be a float > 0 and <= 1, got 1.5"),
        (GapWeighted(None), "p must be an int >= 1, got None"),
        (GappedKmer(3, 4), "k must be an int <= g, the length of the pieces, 3, got 4"),
        (GappedKmer(65, 4), "g must be an int >= 1 and <= 64, got 65"),
        (GappedKmer(40, 20), "k must be an int with at most 4194304 ways to choose k of g = 40 places, got 20"),
        (Mismatch(40, 8), "m must be an int with at most 4194304 ways to choose up to 2 m of k = 40 places, got 8"),
        (Mismatch(3, 3), "m must be an int < k, the length of the pieces, 3, got 3"),
        (Mismatch(3, 1, "AAB"), "alphabet must be a str or a sequence of different symbols, got 'AAB'"),
        (Mismatch(3, 1, 4), "alphabet must be a str or a sequence of different symbols, got 4"),
        (CommonSubstrings(shortest=3, longest=2), "longest must be an int >= shortest, 3, or None, got 2"),
        (CommonSubstrings(decay=0.0), "decay must be a float > 0, got 0.0"),
        (WeightedDegree(0), "d must be an int >= 1, got 0"),
        (WeightedDegree(2, shift=-1), "shift must be an int >= 0, got -1"),
        (LocalAlignment(gap_open=-1.0), "gap_open must be a float >= 0, got -1.0"),
        (LocalAlignment("PAM250"), "substitution must be 'BLOSUM62', 'PAM50', a dict of scores .* got 'PAM250'"),
        (LocalAlignment({("a", "b"): 1.0}), r"substitution must have a score .* \('a', 'a'\) has none"),
        (LocalAlignment({("a", "b"): 1.0, ("b", "a"): 2.0, ("a", "a"): 1.0, ("b", "b"): 1.0}), "must be symmetric"),
        (AlignmentKernel(0.0), "beta must be a float > 0, got 0.0"),
        (AlignmentKernel(100.0), "beta must be a float > 0 and <= 170 / 2, the largest score or cost, got 100.0"),
    ],
)
def test_parameters_are_refused_with_their_rule(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel(["ab", "ba"])


def test_series_parameters():
    with pytest.raises(ValueError, match="sigma must be a float > 0, got 0"):
        GlobalAlignment(0.0)([[1.0]])
    with pytest.raises(ValueError, match="triangle must be an int >= 0, got -1"):
        GlobalAlignment(triangle=-1)([[1.0]])


def test_different_lengths_are_named():
    with pytest.raises(DomainError, match="sample 0 of X has 3 symbols, sample 2 of X has 4"):
        WeightedDegree(2)(["SAY", "BAY", "STAY"])
    with pytest.raises(DomainError, match="sample 0 of X has 3 symbols, sample 1 of Y has 5"):
        WeightedDegree(2)(["SAY"], ["BAY", "STRAY"])
    with pytest.raises(DomainError, match="sample 0 of Y has 1 symbols, sample 1 of Y has 0"):
        WeightedDegree(2)([], ["B", ""])


def test_wrong_samples_are_named():
    with pytest.raises(DomainError, match=r"Spectrum works on strings, .* got an array of shape \(150, 4\) .* as X"):
        Spectrum(2)(np.zeros((150, 4)))
    with pytest.raises(DomainError, match=r"GapWeighted works on strings, .* got a str as X; give a list"):
        GapWeighted(2)("GATTACA")
    with pytest.raises(DomainError, match=r"Spectrum works on strings, .* got a float as sample 1 of Y"):
        Spectrum(2)(["SAY"], ["SAY", 1.5])
    with pytest.raises(DomainError, match=r"got an array of shape \(\) and dtype <U3 as sample 0 of X"):
        Spectrum(2)([np.array("SAY")])
    with pytest.raises(DomainError, match=r"got an array of shape \(\) and dtype float64 as sample 1 of X"):
        GlobalAlignment()([[1.0], np.array(1.0)])
    with pytest.raises(DomainError, match=r"symbols that are not hashable in X"):
        Spectrum(2)([["a", {}]])
    with pytest.raises(DomainError, match="sample 0 of X has 1, sample 2 has 3"):
        GlobalAlignment()([np.zeros((2, 1)), [], np.zeros((2, 3))])
    with pytest.raises(DomainError, match="X has 1, Y has 3"):
        GlobalAlignment()([np.zeros((2, 1))], [np.zeros((2, 3))])
    with pytest.raises(ValueError, match="Sample 1 of X contains NaN or infinity"):
        GlobalAlignment()([[1.0], [np.nan]])


@pytest.mark.parametrize(
    ("kernel", "rule", "known", "strange"),
    [
        (Mismatch(3, 1), "over its alphabet 'ACGT'", "ACGT", "ACN"),
        (Mismatch(2, 1, ["to", "be"]), r"over its alphabet \['to', 'be'\]", ["to"], ("to", "be", "not")),
        (Mismatch(2, 1, range(3)), r"over its alphabet range\(0, 3\)", [1], np.array([0, 1, 3])),
        (LocalAlignment("BLOSUM62"), "over the symbols of its substitution table", "AA", "AAé"),
    ],
)
def test_strange_symbols_are_named(kernel, rule, known, strange):
    symbol = re.escape(repr(list(strange)[2])) if not isinstance(strange, np.ndarray) else "3"
    with pytest.raises(DomainError, match=f"{rule}, sample 1 of X has the symbol {symbol} at place 2"):
        kernel([known, strange])
    with pytest.raises(DomainError, match=f"{rule}, sample 2 of Y has the symbol {symbol} at place 2"):
        kernel([known], [known, known[:0], strange])
    with pytest.raises(DomainError, match=f"{rule}, sample 0 of X has another symbol at place 2"):
        kernel(Sequences.pack([strange]))


def test_kernels_without_features_say_so():
    for kernel in (AlignmentKernel(), LocalAlignment(), WeightedDegree(3, shift=1)):
        with pytest.raises(NotImplementedError, match="has no explicit feature map"):
            kernel.features(WORDS)
        with pytest.raises(TypeError, match="must have explicit sparse features"):
            ExplicitFeatures(kernel).fit(WORDS)


@pytest.mark.parametrize(
    ("kernel", "length", "occurrences"),
    [
        (AllSubsequences(), 25, 2**25),
        (FixedSubsequences(12), 27, comb(27, 12)),
        (GapWeighted(2, blended=True), 6000, comb(6000, 2) + 6000),
        (GapWeighted(2), 6000, comb(6000, 2)),
        (CommonSubstrings(), 6000, 6001 * 6000 // 2),
        (Mismatch(7, 6, "abcdefgh"), 26, 20 * (8**7 - 7**7)),
        (CommonSubstrings(shortest=2, longest=5000), 6000, sum(6000 - p + 1 for p in range(2, 5001))),
    ],
    ids=repr,
)
def test_too_many_features_are_refused(kernel, length, occurrences):
    assert occurrences > 2**24
    message = f"up to 16777216 occurrences, sample 1 has {occurrences}; use the values of the kernel"
    for with_features in (kernel.features, ExplicitFeatures(kernel).fit):
        with pytest.raises(ValueError, match=message):
            with_features(["ab", "ab" * (length // 2) + "a" * (length % 2)])


# --- bindings -----------------------------------------------------------------------------------------------------


def test_native_functions_check_what_they_get():
    packed = Sequences.pack(WORDS).native()
    keys, starts = packed
    with pytest.raises(TypeError, match="tuple"):
        _native.spectrum_features(keys, 1, 2, 1)
    with pytest.raises(TypeError, match="uint64"):
        _native.all_subsequences((keys.astype(np.int64), starts), None, "value", 1, "")
    with pytest.raises(ValueError, match="fit together"):
        _native.all_subsequences((keys[:-1], starts), None, "value", 1, "")
    with pytest.raises(ValueError, match="at least one symbol"):
        _native.gap_weighted(packed, packed, 0, 0.5, False, "value", 1, "")
    with pytest.raises(ValueError, match="unknown answer"):
        _native.gap_weighted(packed, packed, 1, 0.5, False, "root", 1, "")
    with pytest.raises(ValueError, match="one length"):
        _native.weighted_degree(Sequences.pack(["a", "ab"]).native(), None, 1, 0, 1, "")
    with pytest.raises(ValueError, match="not in the table"):
        _native.local_alignment(packed, packed, np.zeros((3, 3)), 1.0, 1.0, 1, "")
    with pytest.raises(ValueError, match="not in the table"):
        _native.global_alignments(np.zeros((3, 1)), packed, None, 1.0, 0.0, "value", 1, "")
    with pytest.raises(ValueError, match="too few weights"):
        _native.common_substrings(packed, packed, np.zeros(3), 1)
    with pytest.raises(ValueError, match="do not fit the window"):
        _native.masked_features(packed, 2, np.array([4], dtype=np.uint64), 1)


# --- machines -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def labelled():
    """Strings with a motif, and without."""
    rng = np.random.default_rng(0)
    X = random_strings(60, 20)
    y = np.arange(60) % 2
    for i in np.flatnonzero(y):
        at = rng.integers(14)
        X[i] = X[i][:at] + "GATTAC" + X[i][at + 6 :]
    return X, y


def test_strings_go_through_scikit_learn(labelled):
    X, y = labelled
    machine = SVC(GapWeighted(3).normalized(), C=10.0)
    assert cross_val_score(machine, X, y, cv=3).mean() > 0.8
    search = GridSearchCV(SVC(GapWeighted(3)), {"kernel__p": [2, 3], "kernel__decay": [0.3, 0.6], "C": [1.0]}, cv=3)
    search.fit(X, y)
    assert search.best_score_ > 0.7
    pipeline = Pipeline([("svc", clone(machine))]).fit(X, y)
    assert_array_equal(pipeline.predict(X), machine.fit(np.array(X), y).predict(X))
    assert clone(machine).get_params()["kernel__kernel__p"] == 3


def test_explicit_features_and_kernels_are_one_machine(labelled):
    X, y = labelled
    for kernel in (Spectrum(4), GappedKmer(5, 3), Mismatch(4, 1), WeightedDegree(3), GapWeighted(3) * 40):
        linear = make_pipeline(ExplicitFeatures(kernel), LinearSVC(C=0.01, loss="hinge", intercept="none", tol=1e-6))
        machine = SVC(kernel, C=0.01, fit_intercept=False, tol=1e-6)
        new = random_strings(30, 20, seed=1)
        expected = machine.fit(X, y).decision_function(new)
        assert_allclose(linear.fit(X, y).decision_function(new), expected, atol=1e-3)


def test_a_search_computes_one_matrix_per_kernel(labelled, monkeypatch):
    X, y = labelled
    calls = []
    plain = GapWeighted._native_values
    monkeypatch.setattr(
        GapWeighted, "_native_values", lambda self, *rest: calls.append(self.decay) or plain(self, *rest)
    )
    grid = {"kernel__decay": [0.2, 0.5, 0.8], "C": [0.1, 1.0, 10.0]}
    TunedSVC(GapWeighted(3), param_grid=grid, cv=3).fit(X, y)
    assert len(calls) <= 3 * 2 + 2, calls  # the matrix and its diagonal, and the last fit


def test_series_in_a_machine():
    rng = np.random.default_rng(0)
    X = [np.sin(np.arange(10 + rng.integers(6)) * (0.5 + 0.7 * (i % 2))) + 0.1 * rng.normal() for i in range(40)]
    y = np.arange(40) % 2
    assert cross_val_score(SVC(GlobalAlignment(1.0).normalized()), X, y, cv=4).mean() > 0.9
