"""`Chain`: searches against all labellings one by one, features against their definition, and what it refuses."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from mercer import _native
from mercer.kernels import Spectrum
from mercer.structured import Chain, StructuredSVM


def resolved(X, n_labels, **parameters):
    """A model of so many labels, that knows them, and its prepared samples."""
    model = Chain(**parameters).resolve(X, [range(n_labels)])
    return model, model.prepare(X)


def joint_feature(model, rows, y):
    """By definition: features of tokens by label, pairs of labels, the first label and the last one."""
    n = len(model.classes_)
    emission, transition, first, last = np.zeros((rows.shape[1], n)), np.zeros((n, n)), np.zeros(n), np.zeros(n)
    for x, label in zip(rows, y, strict=True):
        emission[:, label] += x
    for before, after in pairwise(y):
        transition[before, after] += 1
    first[y[0]] += 1
    last[y[-1]] += 1
    return np.concatenate([emission.ravel(), transition.ravel(), first, last])


@st.composite
def chains(draw):
    """Sequences, right labels and weights; small integers, so that ties are frequent and all is exact."""
    n_labels, n_features = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    lengths = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = [random.integers(-2, 3, size=(length, n_features)).astype(float) for length in lengths]
    Y = [random.integers(n_labels, size=length) for length in lengths]
    bias = draw(st.sampled_from([0.0, 1.0]))
    scale = draw(st.sampled_from([0.25, 1.0, 4.0]))
    size = n_labels * (n_features + (bias > 0) + n_labels + 2)
    w = scale * random.integers(-3, 4, size=size) if draw(st.booleans()) else scale * random.normal(size=size)
    return X, Y, n_labels, bias, w.astype(float)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("cost", ["hamming", "zero-one"])
@settings(max_examples=60, deadline=None)
@given(problem=chains())
def test_searches_equal_brute_force(problem, cost, sparse):
    X, Y, n_labels, bias, w = problem
    model, samples = resolved(list(map(csr_array, X)) if sparse else X, n_labels, bias=bias, cost=cost)
    outputs = model.encode(samples, Y)
    found = {
        "best": model.predictions(samples, w),
        "margin": model.oracles(samples, outputs, w, "margin"),
        "slack": model.oracles(samples, outputs, w, "slack"),
    }
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        rows = np.column_stack([x, np.full(len(x), bias)]) if bias else x
        right = w @ joint_feature(model, rows, y)

        def values(z, rows=rows, y=y, right=right):
            wrong = int(np.sum(np.asarray(z) != y))
            loss = wrong if cost == "hamming" else min(wrong, 1)
            score = w @ joint_feature(model, rows, z)
            return np.array([score, loss + score, loss * (1.0 + score - right)])

        best = np.max([values(z) for z in product(range(n_labels), repeat=len(y))], axis=0)
        for k, search in enumerate(("best", "margin", "slack")):
            assert values(found[search][i])[k] == pytest.approx(best[k], rel=1e-9, abs=1e-9), search
    assert np.array_equal(model.predict(samples[0], w), found["best"][0])
    assert np.array_equal(model.oracle(samples[0], outputs[0], w), found["margin"][0])
    assert np.array_equal(model.slack_oracle(samples[0], outputs[0], w), found["slack"][0])


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("cost", ["hamming", "zero-one"])
@settings(max_examples=40, deadline=None)
@given(problem=chains())
def test_features_and_losses_are_those_of_the_definition(problem, cost, sparse):
    X, Y, n_labels, bias, _ = problem
    model, samples = resolved(list(map(csr_array, X)) if sparse else X, n_labels, bias=bias, cost=cost)
    right = model.encode(samples, Y)
    other = model.encode(samples, [(y + 1) % n_labels if i % 2 else y[::-1] for i, y in enumerate(Y)])
    rows = [np.column_stack([x, np.full(len(x), bias)]) if bias else x for x in X]
    expected = [
        joint_feature(model, x, y) - joint_feature(model, x, z) for x, y, z in zip(rows, right, other, strict=True)
    ]
    difference = model.differences(samples, right, other)
    np.testing.assert_allclose(difference.toarray(), expected, atol=1e-12)
    assert difference.has_canonical_format and np.all(difference.data != 0)
    for x, y, sample in zip(rows, right, samples, strict=True):
        np.testing.assert_allclose(model.joint_feature(sample, y).toarray()[0], joint_feature(model, x, y))
    wrong = [sum(a != b for a, b in zip(y, z, strict=True)) for y, z in zip(right, other, strict=True)]
    losses = wrong if cost == "hamming" else np.minimum(wrong, 1)
    np.testing.assert_array_equal(model.losses(right, other), losses)
    np.testing.assert_array_equal([model.loss(y, z) for y, z in zip(right, other, strict=True)], losses)


@pytest.mark.parametrize("n_labels", [3, 8])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_labels_exist_whatever_weights_are(bad, n_labels):
    model, samples = resolved([np.ones((4, 2))], n_labels)
    outputs = model.encode(samples, [[0, 1, 2, 0]])
    for found in (
        model.predictions(samples, np.full(model.size, bad)),
        *(model.oracles(samples, outputs, np.full(model.size, bad), search) for search in ("margin", "slack")),
    ):
        assert found.codes.min() >= 0 and found.codes.max() < n_labels


def words(n=60, n_labels=5, n_features=30, seed=0):
    """Sequences of different lengths; labels depend on their neighbours."""
    random = np.random.default_rng(seed)
    Y = [np.cumsum(random.integers(0, 2, size=length)) % n_labels for length in random.integers(1, 12, size=n)]
    centres = random.normal(size=(n_labels, n_features))
    return [centres[y] + 2.0 * random.normal(size=(len(y), n_features)) for y in Y], Y


@pytest.mark.parametrize("n_labels", [1, 2, 3, 7, 8, 9, 26, 31, 32, 33, 40, 65, 100])
def test_all_levels_and_threads_find_the_same(n_labels):
    random = np.random.default_rng(n_labels)
    X, _ = words()
    samples = resolved(X, n_labels)[1]
    # Multiples of 1/8: sums are exact, so that every instruction set makes the same of ties.
    samples.rows[:] = np.round(samples.rows * 8) / 8
    w = random.integers(-8, 9, size=n_labels * (samples.rows.shape[1] + n_labels + 2)) / 8
    right = random.integers(n_labels, size=len(samples.rows)).astype(np.int32)
    for search in ("best", "margin", "slack", "another"):
        known = None if search == "best" else right

        def paths(n_threads, level, known=known, search=search):
            parts = samples.rows, n_labels, samples.starts, samples.lengths
            return _native.chain_paths(*parts, w, search, known, n_threads, level)

        expected = paths(1, "baseline")
        for level in _native.simd_levels():
            for n_threads in (1, 3):
                np.testing.assert_array_equal(paths(n_threads, level), expected)


@pytest.mark.parametrize("sparse", [False, True])
def test_windows_hold_the_features_of_neighbours(sparse):
    X = [np.arange(1.0, 7.0).reshape(3, 2), np.array([[7.0, 8.0]])]
    model = Chain(window=1, bias=0.5).resolve(list(map(csr_array, X)) if sparse else X, ["aba", "b"])
    rows = model.prepare(list(map(csr_array, X)) if sparse else X).rows
    expected = [
        [0, 0, 1, 2, 3, 4, 0.5],
        [1, 2, 3, 4, 5, 6, 0.5],
        [3, 4, 5, 6, 0, 0, 0.5],
        [0, 0, 7, 8, 0, 0, 0.5],
    ]
    np.testing.assert_array_equal(rows.toarray() if sparse else rows, expected)


def test_it_learns_what_tokens_alone_do_not_tell():
    X, Y = words(300)
    chain = StructuredSVM(Chain(), C=0.1).fit(X[:200], Y[:200])
    alone = StructuredSVM(Chain(), C=0.1).fit(
        [x[[t]] for x in X[:200] for t in range(len(x))], np.concatenate(Y[:200])[:, np.newaxis]
    )
    assert chain.result_.status == "solved"
    flat = alone.score([x[[t]] for x in X[200:] for t in range(len(x))], np.concatenate(Y[200:])[:, np.newaxis])
    assert chain.score(X[200:], Y[200:]) > flat + 0.05


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("cost", ["hamming", "zero-one"])
def test_the_hinge_bounds_the_loss(cost, rescaling):
    X, Y = words(40, n_features=4)
    machine = StructuredSVM(Chain(cost=cost), C=0.01, rescaling=rescaling).fit(X, Y)
    assert machine.result_.status == "solved"
    losses = [machine.model_.loss(y, z) for y, z in zip(Y, machine.predict(X), strict=True)]
    assert np.max(losses) > 0 and np.all(machine.result_.losses >= np.array(losses) - 1e-9)


def test_dense_and_sparse_rows_and_threads_give_the_same():
    X, Y = words(30)
    X = [np.where(x > 1.0, np.round(x), 0.0) for x in X]
    one = StructuredSVM(Chain(), n_threads=1).fit(X, Y)
    several = StructuredSVM(Chain(), n_threads=3).fit(X, Y)
    sparse = StructuredSVM(Chain(), n_threads=1).fit([csr_array(x) for x in X], Y)
    np.testing.assert_array_equal(one.coef_, several.coef_)
    np.testing.assert_array_equal(one.coef_, sparse.coef_)


def test_sparse_rows_may_be_written_in_any_way():
    tidy = csr_array(np.array([[1.0, 0.0, 3.0], [0.0, 2.0, 0.0]]))
    untidy = csr_array(([2.0, 1.0, 1.0, 2.0], [2, 0, 2, 1], [0, 3, 4]), shape=(2, 3))
    assert not untidy.has_canonical_format
    fits = [StructuredSVM(Chain(bias=0.0)).fit([X, X[[1]]], ["ab", "a"]) for X in (tidy, untidy)]
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)
    assert fits[0].coef_.any() and untidy.nnz == 4
    model = fits[1].model_
    difference = model.differences(model.prepare([untidy]), [np.array([0, 1])], [np.array([1, 0])])
    assert difference.has_canonical_format


SENTENCES = [["the", "saw", "broke"], ["she", "saw", "him"], ["the", "dog", "saw", "her"]]
TAGS = ["ANV", "NVN", "ANVN"]


@pytest.mark.parametrize("features", [CountVectorizer(), Spectrum(2)])
def test_tokens_of_any_kind(features):
    machine = StructuredSVM(Chain(features, window=1), C=10.0).fit(SENTENCES, TAGS)
    assert ["".join(labels) for labels in machine.predict(SENTENCES)] == TAGS
    assert machine.score(SENTENCES, TAGS) == 1.0


def test_tokens_that_are_dicts_or_rows():
    dicts = [[{word: 1.0} for word in sentence] for sentence in SENTENCES]
    machine = StructuredSVM(Chain(DictVectorizer()), C=10.0).fit(dicts, TAGS)
    assert ["".join(labels) for labels in machine.predict(dicts)] == TAGS
    X, Y = words(20)
    scaled = StructuredSVM(Chain(StandardScaler())).fit(X, Y)
    np.testing.assert_allclose(scaled.model_.features_.mean_, np.concatenate(X).mean(axis=0))


def test_it_is_searched_and_cloned():
    random = np.random.default_rng(0)
    X = [random.normal(size=(length, 1)) for length in random.integers(2, 9, size=40)]
    Y = [np.append(0.0, x[:-1, 0]) > 0 for x in X]  # the sign of the token before
    search = GridSearchCV(StructuredSVM(Chain()), {"C": [1.0], "model__window": [0, 1]}, cv=2).fit(X, Y)
    assert search.best_params_["model__window"] == 1 and search.best_score_ > 0.9
    assert clone(search.best_estimator_).model.window == 1


def test_scores():
    right, found = [[0, 1], [2, 0, 1, 1]], [np.array([0, 1]), np.array([2, 0, 0, 1])]
    assert Chain().score(right, found) == 5 / 6 and Chain(cost="zero-one").score(right, found) == 1 / 2


X3 = [np.ones((2, 3)), np.ones((1, 3))]


@pytest.mark.parametrize(
    ("X", "Y", "message"),
    [
        (
            [np.ones((2, 3)), np.ones((0, 3))],
            ["ab", ""],
            "X must have samples of at least one token, got none for sample 1",
        ),
        ([["a", "b"], []], ["ab", ""], "X must have samples of at least one token, got none for sample 1"),
        (X3, ["ab", "ab"], "y must have a label for every token, got 2 labels for the 1 tokens of sample 1"),
        ([np.ones((2, 3)), np.ones((1, 2))], ["ab", "a"], "the same number of features, got 2 and 3"),
        (X3, [[(0, 1), (1, 2)], [(0, 1)]], "labels of y must be all numbers or all strings, got tuple"),
        (X3, [["a", 1], ["a"]], "labels of y must be all numbers or all strings, got int, str"),
        (X3, [["a", None], ["a"]], "labels of y must be all numbers or all strings, got NoneType, str"),
    ],
)
def test_bad_data(X, Y, message):
    with pytest.raises(ValueError, match=message):
        StructuredSVM(Chain()).fit(X, Y)


def test_bad_kinds_of_data():
    with pytest.raises(TypeError, match="y must have a sequence of labels for every sample, got 3 for sample 1"):
        StructuredSVM(Chain()).fit(X3, ["ab", 3])
    with pytest.raises(TypeError, match="features must say how tokens become rows, got None for tokens such as 'the'"):
        StructuredSVM(Chain()).fit(SENTENCES, TAGS)
    with pytest.raises(TypeError, match="features must be a transformer, a kernel with features or None, got 3"):
        StructuredSVM(Chain(3)).fit(SENTENCES, TAGS)


def test_what_was_never_learnt():
    machine = StructuredSVM(Chain()).fit(X3, ["ab", "a"])
    with pytest.raises(ValueError, match="tokens of X must have 4 features, as those learnt from, got 3"):
        machine.predict([np.ones((1, 2))])
    with pytest.raises(ValueError, match="at least one token, got none for sample 0"):
        machine.predict([np.ones((0, 3))])
    with pytest.raises(ValueError, match="y must have the labels learnt from alone, got 'c'"):
        machine.model_.encode(machine.model_.prepare(X3), ["ac", "a"])
    assert machine.score(X3, ["cc", "c"]) == 0.0
    with pytest.raises(
        ValueError, match="y must have a label for every token, got 1 labels for the 2 tokens of sample 0"
    ):
        machine.score(X3, ["c", "c"])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"bias": -1.0}, "bias must be a float >= 0, got -1.0"),
        ({"window": 1.5}, "window must be an int >= 0, got 1.5"),
        ({"cost": "f1"}, "cost must be 'hamming' or 'zero-one', got 'f1'"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        StructuredSVM(Chain(**parameters)).fit(X3, ["ab", "a"])
