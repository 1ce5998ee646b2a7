"""Probability models and the kernels made of them: values, fits, long sequences, what they refuse."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from kernel_registry.models import CLOUD, COINS, LETTERS, MIXTURE, PAIRS
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from mercer import SVC, _native
from mercer.data import Sequences
from mercer.errors import DomainError
from mercer.fingerprint import fingerprint
from mercer.kernels import Fisher, MarginalizedCount
from mercer.models import GaussianMixtureModel, GaussianModel, HiddenMarkovModel, Multinomial, StochasticGrammar
from mercer.threads import limit_threads

MODELS = {
    "hidden Markov": COINS,
    "grammar": PAIRS,
    "letters": LETTERS,
    "counts": Multinomial([0.5, 0.5]),
    "Gaussian": CLOUD,
    "mixture": MIXTURE,
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())


def words(n, length, seed=0, letters="abc"):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list(letters), size=length)) for _ in range(n)]


# --- values -----------------------------------------------------------------------------------------------


@every_model
def test_a_model_is_a_value(model):
    again = pickle.loads(pickle.dumps(model))
    assert again == model
    assert hash(again) == hash(model)
    assert fingerprint(again) == fingerprint(model)
    assert copy.deepcopy(model) is model is copy.copy(model)
    assert model != "model"
    with pytest.raises(AttributeError, match="does not change"):
        model.alphabet = "xyz"
    assert repr(model).startswith("<")


def test_models_that_differ():
    assert COINS != HiddenMarkovModel(COINS.start, COINS.transition, COINS.emission, "abc")  # other coordinates
    assert GaussianModel([0.0], [1.0]) != GaussianModel([0.0], [[1.0]])
    assert Multinomial([0.5, 0.5]) != Multinomial([0.5, 0.5], "ab")
    assert fingerprint(Fisher(COINS)) != fingerprint(Fisher(PAIRS))


def test_arrays_of_a_model_cannot_be_written():
    given = np.array([0.5, 0.5])
    model = Multinomial(given)
    given[0] = 1.0
    assert model.probabilities[0] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        model.probabilities[0] = 1.0


@every_model
def test_no_samples(model):
    nothing = np.empty((0, model.n_features)) if model.domain == "vectors" else []
    assert model.log_likelihood(nothing).shape == (0,)
    assert model.scores(nothing).shape[0] == 0


# --- sequences --------------------------------------------------------------------------------------------


def test_letters_may_be_anything():
    model = HiddenMarkovModel(COINS.start, COINS.transition, COINS.emission, [1, "two", (3,)])
    as_text = COINS.log_likelihood(["abca"])
    assert_array_equal(model.log_likelihood([[1, "two", (3,), 1]]), as_text)
    packed = Sequences.pack(["abca"])
    for X in (("abca",), np.array(["abca"]), pd.Series(["abca"]), [["a", "b", "c", "a"]], [tuple("abca")], packed):
        assert_array_equal(COINS.log_likelihood(X), as_text)
    with pytest.raises(DomainError, match="sample 0 of X has another letter at place 1"):
        COINS.log_likelihood(Sequences.pack(["ax"]))
    greek = HiddenMarkovModel(COINS.start, COINS.transition, COINS.emission, "αβ𝔊")
    assert_array_equal(greek.log_likelihood(["αβ𝔊α"]), as_text)


@pytest.mark.parametrize(
    ("X", "fault"),
    [
        (["ab", "abxc"], r"sample 1 of X has 'x' at place 2"),
        ([["a", "xy"]], r"sample 0 of X has 'xy' at place 1"),
        (["𝔊"], "sample 0 of X has '𝔊' at place 0"),
        ("abc", "sequences of symbols, got a str as X"),
        ([1.0, 2.0], "sequences of symbols, got a float as sample 0 of X"),
        ([[["a"]]], "not hashable"),
    ],
)
def test_sequences_that_are_none(X, fault):
    with pytest.raises(DomainError, match=f"HiddenMarkovModel works on .*{fault}"):
        COINS.log_likelihood(X)
    with pytest.raises(DomainError, match="Fisher works on what its model works on, Y is not: Hidden"):
        Fisher(COINS, "identity")(["a"], X)
    with pytest.raises(DomainError, match="MarginalizedCount works on what its model works on, Y is not: Hidden"):
        MarginalizedCount(COINS)(["a"], X)


def test_long_sequences_do_not_underflow():
    long = words(3, 20_000)
    assert np.isfinite(COINS.log_likelihood(long)).all()
    assert COINS.log_likelihood(long).max() < -10_000
    # the longest of all paths has the sum over paths of its parts: the same letters in two models that forget
    forgetful = HiddenMarkovModel([1.0], [[1.0]], [[0.5, 0.3, 0.2]], "abc")
    assert_allclose(forgetful.log_likelihood(long), LETTERS.log_likelihood(long), rtol=1e-12)
    counts = COINS.expected_counts(long, 1)
    assert_allclose(counts.values.reshape(3, -1).sum(axis=1), 20_000, rtol=1e-10)
    assert_allclose(COINS.expected_counts(long, 2).values.sum(), 3 * 19_999, rtol=1e-10)
    # a grammar: 2^-1000 is far below the smallest number, whole parses are below 10^-300
    rare = "c" * 380
    assert PAIRS.log_likelihood([rare])[0] < -750
    assert_allclose(PAIRS.expected_counts([rare], 1).values.sum(), 380, rtol=1e-9)
    assert_allclose(PAIRS.expected_counts([rare], 2).values.sum(), 379, rtol=1e-9)


def test_empty_and_impossible_sequences():
    assert_array_equal(COINS.log_likelihood(["", "a"])[0], 0.0)
    assert_array_equal(COINS.scores([""]), np.zeros((1, 12)))
    assert MarginalizedCount(COINS)([""], ["a"])[0, 0] == 0.0
    strict = HiddenMarkovModel([1.0, 0.0], np.eye(2), [[1.0, 0.0], [0.0, 1.0]], "ab")
    assert_array_equal(strict.log_likelihood(["aa", "ab"]), [0.0, -np.inf])
    for call in (strict.scores, strict.expected_counts, lambda X: strict.expected_counts(X, 2)):
        with pytest.raises(ValueError, match="Sample 1 of X has probability 0 in <HiddenMarkovModel of 2 states"):
            call(["aa", "ab"])
    assert PAIRS.log_likelihood([""])[0] == -np.inf
    with pytest.raises(ValueError, match="Sample 0 of X has probability 0 in <StochasticGrammar"):
        PAIRS.scores([""])


@pytest.mark.parametrize("model", [COINS, PAIRS], ids=["hidden Markov", "grammar"])
def test_threads_give_identical_numbers(model):
    X = words(30, 40)
    alone = [model.scores([x])[0] for x in X]
    for n_threads in (1, 2, 5):
        with limit_threads(n_threads):
            assert_array_equal(model.scores(X), alone)


# --- fits -------------------------------------------------------------------------------------------------


def test_baum_welch_climbs_and_finds_what_is_there():
    rng = np.random.default_rng(0)
    # long runs of mostly a, then mostly b
    X = []
    for _ in range(40):
        state, text = rng.integers(2), ""
        for _ in range(60):
            text += "ab"[state] if rng.random() < 0.9 else "ba"[state]
            state = state if rng.random() < 0.95 else 1 - state
        X.append(text)
    fits = [
        HiddenMarkovModel.from_data(X, 2, max_iter=n, tol=-np.inf, random_state=0, pseudo_count=0.0) for n in range(8)
    ]
    totals = [fit.log_likelihood(X).sum() for fit in fits]
    assert (np.diff(totals) >= -1e-9).all()
    best = HiddenMarkovModel.from_data(X, 2, random_state=0, tol=1e-7, max_iter=500)
    assert best.log_likelihood(X).sum() > totals[-1]
    assert_allclose(np.sort(best.emission[:, 0]), [0.1, 0.9], atol=0.04)
    assert_allclose(np.diagonal(best.transition), 0.95, atol=0.04)
    assert best == HiddenMarkovModel.from_data(X, 2, random_state=0, tol=1e-7, max_iter=500)


def test_weights_count_sequences():
    X = words(12, 20)
    weights = np.arange(12) % 3
    repeated = [x for x, times in zip(X, weights, strict=True) for _ in range(times)]
    options = {"max_iter": 5, "random_state": 0, "alphabet": "abc"}
    weighted = HiddenMarkovModel.from_data(X, 3, sample_weight=weights, **options)
    assert_allclose(weighted.emission, HiddenMarkovModel.from_data(repeated, 3, **options).emission, rtol=1e-10)


def test_a_grammar_is_refined():
    X = words(20, 12)
    totals = [PAIRS.refined(X, max_iter=n, tol=-np.inf, pseudo_count=0.0).log_likelihood(X).sum() for n in range(6)]
    assert (np.diff(totals) > 0).all()
    assert PAIRS.refined(X, max_iter=0) == PAIRS


def test_models_from_data():
    X = np.random.default_rng(0).normal(size=(100, 3))
    assert_allclose(GaussianModel.from_data(X).covariance, np.cov(X.T, bias=True), rtol=1e-12)
    assert_allclose(GaussianModel.from_data(X, diagonal=True, ridge=0.5).covariance, X.var(axis=0) + 0.5)
    # at the maximum of the likelihood, scores add up to zero
    assert np.abs(GaussianModel.from_data(X).scores(X).sum(axis=0)).max() < 1e-10
    assert_allclose(Multinomial.from_data(["aab", "c"], "abc").probabilities, [0.5, 0.25, 0.25])
    assert_allclose(Multinomial.from_data([[2, 0], [0, 2]], pseudo_count=1.0).probabilities, [0.5, 0.5])


def test_a_grammar_of_nltk():
    nltk = pytest.importorskip("nltk")
    text = "S -> A S [0.4] | 'b' [0.6]\nA -> 'a' [1.0]"
    assert StochasticGrammar.from_nltk(nltk.PCFG.fromstring(text)) == StochasticGrammar.from_string(text)


def test_what_is_never_used_stays_as_it_was():
    """Without pseudo-counts: no transition of one letter, no rule of a symbol that is not reached."""
    model = HiddenMarkovModel.from_data(["a", "b"], 2, pseudo_count=0.0, random_state=0)
    assert_allclose(model.transition.sum(axis=1), 1.0)
    grammar = StochasticGrammar.from_string("S -> A A [0.5] | 'b' [0.5]\nA -> 'a' [0.7] | 'b' [0.3]")
    found = {(head, *body): share for head, body, share in grammar.refined(["b"], pseudo_count=0.0).rules}
    assert found == {("S", "A", "A"): 0.0, ("S", "b"): 1.0, ("A", "a"): 0.7, ("A", "b"): 0.3}


# --- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda: HiddenMarkovModel([1.0], [[1.0]], [[0.5, 0.4]], "ab"), "emission of .* must sum to 1.*0.9"),
        (lambda: HiddenMarkovModel([1.0], [[1.0]], [[1.5, -0.5]], "ab"), "must be probabilities >= 0, got -0.5"),
        (lambda: HiddenMarkovModel([1.0], [[1.0]], [[0.5, 0.5]], "abc"), r"emission \(1, 3\), got .* and \(1, 2\)"),
        (lambda: HiddenMarkovModel([1.0], [[1.0]], [[0.5, 0.5]], "aa"), "different letters, got 'aa'"),
        (lambda: HiddenMarkovModel([1.0], [[1.0]], [[1.0]], "a", "angles"), "coordinates must be 'logits' or"),
        (lambda: HiddenMarkovModel([[1.0]], [[1.0]], [[1.0]], "a"), "start .* must be an array of 1 dim"),
        (lambda: HiddenMarkovModel.from_hmmlearn("x"), "fitted CategoricalHMM, got 'x'"),
        (lambda: HiddenMarkovModel.from_data(["ab"], 0), "n_states must be an int >= 1, got 0"),
        (lambda: HiddenMarkovModel.from_data(["ab"], 2.5), "n_states must be an int >= 1, got 2.5"),
        (lambda: HiddenMarkovModel.from_data(["ab"], 1, pseudo_count=-1.0), "pseudo_count must be a float >= 0"),
        (lambda: HiddenMarkovModel.from_data([""], 1), "takes its letters from X, which has none"),
        (lambda: HiddenMarkovModel.from_data(["ab"], 1, sample_weight=[np.inf]), "sample_weight must be >= 0"),
        (lambda: HiddenMarkovModel.from_data(["ab"], 1, sample_weight=[0.0]), "sample_weight must be >= 0"),
        (lambda: GaussianModel([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]]), "must be positive definite"),
        (lambda: GaussianModel([0.0, 0.0], [1.0, 0.0]), "must be positive definite"),
        (lambda: GaussianModel([0.0, 0.0], [[1.0, 0.2], [0.0, 1.0]]), "must be symmetric"),
        (lambda: GaussianModel([0.0], [[1.0, 0.0], [0.0, 1.0]]), r"got \(1,\) and \(2, 2\)"),
        (lambda: GaussianModel([np.nan], [1.0]), "must be finite"),
        (lambda: GaussianMixtureModel([1.0], [[0.0], [1.0]], [[1.0]]), "for each component"),
        (lambda: GaussianMixtureModel.from_sklearn(3), "fitted GaussianMixture, got 3"),
        (lambda: Multinomial([0.5, 0.5], "abc"), "3 letters need as many probabilities, got 2"),
        (lambda: Multinomial([0.5, 0.5]).scores([[1, -1]]), "works on counts >= 0"),
        (lambda: Multinomial([0.5, 0.5]).scores([[1, 1, 1]]), "X has 3 columns"),
        (lambda: Multinomial.from_data([[0, 0]]), "needs some letters"),
        (lambda: CLOUD.scores([[1.0]]), "X has 1 features, <GaussianModel in 3 dimensions> needs 3"),
        (lambda: StochasticGrammar([("S", ("A", "B", "C"), 1.0)]), "two symbols or one letter"),
        (lambda: StochasticGrammar([("S", ("A", "S"), 1.0)]), "symbol 'A' in the rule of 'S' has no rules"),
        (lambda: StochasticGrammar([("S", ("a",), 0.5)]), "must sum to 1, got 0.5"),
        (lambda: StochasticGrammar([("S", ("a",), 1.5)]), "must be from 0 to 1, got 1.5"),
        (lambda: StochasticGrammar([("S", ("a",), 0.5), ("S", ("a",), 0.5)]), "there once"),
        (lambda: StochasticGrammar([("S", ("a",), 1.0)], start="T"), "start must be the head of a rule, got 'T'"),
        (lambda: StochasticGrammar.from_string("S -> 'a' [1.0]\nS = b"), "Line 2 of the grammar must read like"),
        (lambda: StochasticGrammar.from_string("S -> 'a' [x]"), "Line 1 of the grammar must read like"),
        (lambda: StochasticGrammar.from_string("# nothing"), "no rules"),
    ],
)
def test_models_that_are_none(make, fault):
    with pytest.raises(ValueError, match=fault):
        make()


# --- Fisher -----------------------------------------------------------------------------------------------


def test_resolve_takes_the_information_from_the_data():
    X, new = words(40, 15), words(5, 15, seed=1)
    for information in ("empirical", "diagonal"):
        kernel = Fisher(COINS, information)
        with pytest.raises(ValueError, match=r"takes information from the data: call kernel.resolve\(X\)"):
            kernel(X, new)
        resolved = kernel.resolve(X)
        assert_array_equal(kernel(X), resolved(X))
        assert resolved.resolve(new) == resolved
        assert resolved.information.shape == ((12, 12) if information == "empirical" else (12,))
        # the mean of k(x, x) over the samples is the number of directions
        rank = np.linalg.matrix_rank(COINS.scores(X)) if information == "empirical" else 12
        assert resolved.diag(X).mean() == pytest.approx(rank, rel=1e-8)
        weights = np.arange(40) % 3
        repeated = [x for x, times in zip(X, weights, strict=True) for _ in range(times)]
        assert_allclose(kernel.resolve(X, weights).information, kernel.resolve(repeated).information, rtol=1e-10)
        shared = clone(resolved)
        assert shared.information is resolved.information
        assert shared.model is resolved.model


def test_features_of_fisher():
    X = np.random.default_rng(0).normal(size=(20, 3))
    kernel = Fisher(CLOUD, "exact")
    U = kernel.features(X)
    assert_allclose(U @ U.T, kernel(X), rtol=1e-10, atol=1e-12)


def test_a_model_of_your_own():
    class Own:
        def scores(self, X):
            return np.array([[len(x), 1.0] for x in X])

    kernel = Fisher(Own(), "identity")
    assert kernel.domain == "any"
    assert_array_equal(kernel([{1, 2}, {3}]), [[5.0, 3.0], [3.0, 2.0]])
    with pytest.raises(ValueError, match="has no information matrix in closed form; use information='empirical'"):
        Fisher(Own(), "exact")([{1}])


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda: Fisher("model"), r"model must have a method scores\(X\), got 'model'"),
        (lambda: MarginalizedCount(CLOUD), "model must have a method expected_counts"),
        (lambda: Fisher(COINS, "whole"), "information must be 'exact', .* got 'whole'"),
        (lambda: Fisher(COINS, None), "information must be"),
        (lambda: Fisher(COINS, [[1.0], [1.0, 2.0]]), "information must be 'exact', .* or an array of numbers"),
        (lambda: Fisher(COINS, "exact"), "<HiddenMarkovModel .* has no information matrix in closed form"),
        (lambda: Fisher(COINS, np.eye(3)), r"information has shape \(3, 3\), the model has 12 scores"),
        (lambda: Fisher(COINS, -np.ones(12)), "finite entries >= 0"),
        (lambda: Fisher(COINS, -np.eye(12)), "positive semi-definite"),
        (lambda: Fisher(COINS, np.triu(np.ones((12, 12)))), "symmetric"),
        (lambda: MarginalizedCount(COINS, 3), "order must be 1 or 2, got 3"),
        (lambda: MarginalizedCount(COINS, frequencies=2), "frequencies must be True or False"),
    ],
)
def test_kernels_that_are_none(make, fault):
    with pytest.raises((TypeError, ValueError), match=fault):
        make()(["abc", "a"])


def test_in_machines_and_searches():
    X = words(30, 12, letters="aab") + words(30, 12, seed=1, letters="abb")
    y = np.repeat([0, 1], 30)
    for kernel in (Fisher(COINS), MarginalizedCount(COINS, 2)):
        assert cross_val_score(SVC(kernel), X, y, cv=3).mean() > 0.75
    search = GridSearchCV(SVC(MarginalizedCount(COINS)), {"C": [1.0, 100.0], "kernel__order": [1, 2]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.75


# --- native -----------------------------------------------------------------------------------------------


def test_native_functions_check_what_they_get():
    letters, starts = np.zeros(3, dtype=np.int32), np.array([0, 3])
    arrays = COINS._arrays()
    for call in (_native.hmm_counts, _native.hmm_pairs, _native.hmm_likelihoods):
        for wrong in (np.array([0, 2]), np.array([0, 5, 3]), np.empty(0, dtype=np.int64)):
            with pytest.raises(ValueError, match="fit together"):
                call(*arrays, letters, wrong, 1)
        with pytest.raises(ValueError, match="fit together"):
            call(*arrays, letters + np.int32(7), starts, 1)
        with pytest.raises(ValueError, match="fit together"):
            call(arrays[0][:1], *arrays[1:], letters, starts, 1)
    side = np.array([0], dtype=np.int32)
    for call in (_native.grammar_counts, _native.grammar_likelihoods):
        with pytest.raises(ValueError, match="rules of the grammar"):
            call(side, side, side + np.int32(1), np.ones(1), np.ones((1, 1)), 0, letters, starts, 1)
        with pytest.raises(ValueError, match="rules of the grammar"):
            call(side, side, side, np.ones(1), np.ones((1, 1)), 1, letters, starts, 1)
