"""Probability models and their kernels against enumeration, finite differences, SciPy, hmmlearn and scikit-learn."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_registry.models import CLOUD, COINS, LETTERS, MIXTURE, PAIRS
from numpy.testing import assert_allclose, assert_array_equal
from reference.naive_models import expected, expected_rules, finite_differences, letters_with_states, parses, paths
from scipy.special import softmax
from scipy.stats import multinomial, multivariate_normal
from sklearn.mixture import GaussianMixture

from mercer.kernels import Fisher, Linear, MarginalizedCount
from mercer.models import GaussianMixtureModel, GaussianModel, HiddenMarkovModel, Multinomial, StochasticGrammar

words = st.text("abc", min_size=1, max_size=6)
quick = settings(deadline=None, derandomize=True, max_examples=25)
WORDS = ["a", "abc", "ccab", "bbbbb"]

# --- hidden Markov models ---------------------------------------------------------------------------------


@quick
@given(words)
def test_likelihood_is_the_sum_over_paths(word):
    assert COINS.log_likelihood([word])[0] == pytest.approx(np.log(sum(p for _, p in paths(COINS, word))), rel=1e-12)


@quick
@given(words, st.sampled_from([1, 2]))
def test_expected_counts_are_those_of_all_paths(word, order):
    found = COINS.expected_counts([word], order)
    naive = letters_with_states(COINS, word, order)
    place = COINS.alphabet.index
    if order == 1:
        wanted = {place(a) * 2 + s: value for (a, s), value in naive.items()}
    else:
        wanted = {((place(a) * 3 + place(b)) * 2 + s) * 2 + u: v for ((a, s), (b, u)), v in naive.items()}
    assert_array_equal(found.keys, sorted(wanted))
    assert_allclose(found.values, [wanted[key] for key in sorted(wanted)], rtol=1e-12)


def test_expected_transitions_are_those_of_all_paths():
    word = "abcca"
    transitions = COINS._counts(np.array([0, 1, 2, 2, 0], dtype=np.int32), np.array([0, 5]))[2][0]
    naive = expected(COINS, word, pairwise)
    assert_allclose(transitions, [[naive[s, u] for u in range(2)] for s in range(2)], rtol=1e-12)


@pytest.mark.parametrize("coordinates", ["logits", "probabilities"])
def test_scores_of_a_hidden_markov_model_are_derivatives(coordinates):
    sizes = [(2,), (2, 2), (2, 3)]

    def log_likelihood(values):
        rows, at = [], 0
        for size in sizes:
            part = values[at : at + np.prod(size)].reshape(size)
            at += part.size
            rows.append(softmax(part, axis=-1) if coordinates == "logits" else part / part.sum(-1, keepdims=True))
        return HiddenMarkovModel(*rows, "abc").log_likelihood(WORDS)

    model = HiddenMarkovModel(COINS.start, COINS.transition, COINS.emission, "abc", coordinates)
    values = np.concatenate([COINS.start, COINS.transition.ravel(), COINS.emission.ravel()])
    if coordinates == "logits":
        values = np.log(values)
    assert_allclose(model.scores(WORDS), finite_differences(log_likelihood, values), rtol=1e-6, atol=1e-8)


def test_hmmlearn_agrees():
    hmm = pytest.importorskip("hmmlearn.hmm")
    theirs = hmm.CategoricalHMM(3, random_state=0, n_iter=5, tol=0.0)
    sequences = np.random.default_rng(0).integers(4, size=(20, 30))
    theirs.fit(sequences.reshape(-1, 1), [30] * 20)
    ours = HiddenMarkovModel.from_hmmlearn(theirs, "abcd")
    text = ["".join("abcd"[i] for i in row) for row in sequences]
    assert_allclose(ours.log_likelihood(text), [theirs.score(row.reshape(-1, 1)) for row in sequences], rtol=1e-10)
    assert HiddenMarkovModel.from_hmmlearn(theirs).log_likelihood([list(sequences[0])]) == pytest.approx(
        ours.log_likelihood(text[:1]), rel=1e-12
    )
    # one step of Baum and Welch, by us and by them
    step = hmm.CategoricalHMM(3, n_iter=1, tol=0.0, init_params="")
    step.startprob_, step.transmat_, step.emissionprob_ = ours.start, ours.transition, ours.emission
    step.fit(sequences.reshape(-1, 1), [30] * 20)
    codes = sequences.astype(np.int32).reshape(-1)
    _, *counts = ours._counts(codes, np.arange(0, 601, 30))
    for total, after in zip(counts, (step.startprob_, step.transmat_, step.emissionprob_), strict=True):
        total = total.sum(axis=0)
        assert_allclose(total / total.sum(axis=-1, keepdims=True), after, rtol=1e-8)


# --- grammars ---------------------------------------------------------------------------------------------


@quick
@given(st.text("abc", min_size=1, max_size=5))
def test_likelihood_is_the_sum_over_parses(word):
    total = sum(p for _, p in parses(PAIRS, "S", word))
    assert PAIRS.log_likelihood([word])[0] == pytest.approx(np.log(total), rel=1e-12)


@quick
@given(st.text("abc", min_size=1, max_size=5))
def test_expected_rules_are_those_of_all_parses(word):
    letters = np.array(["abc".index(letter) for letter in word], dtype=np.int32)
    _, uses = PAIRS._uses(letters, np.array([0, len(word)]))
    naive = expected_rules(PAIRS, word)
    assert_allclose(uses[0], [naive.get(rule[:2], 0.0) for rule in PAIRS.rules], rtol=1e-12, atol=1e-15)
    # counts of the first order are the lexical rules, of the second order the others
    for order in (1, 2):
        found = PAIRS.expected_counts([word], order)
        wanted = [value for (_, body), value in naive.items() if len(body) == order]
        assert_allclose(np.sort(found.values), np.sort(wanted), rtol=1e-12)


def test_scores_of_a_grammar_are_derivatives():
    heads = np.array([head for head, _, _ in PAIRS.rules])
    logits = np.log([probability for _, _, probability in PAIRS.rules])

    def log_likelihood(values):
        shares = np.exp(values)
        for head in set(heads):
            shares[heads == head] /= shares[heads == head].sum()
        rules = [(h, b, p) for (h, b, _), p in zip(PAIRS.rules, shares, strict=True)]
        return StochasticGrammar(rules).log_likelihood(WORDS)

    assert_allclose(PAIRS.scores(WORDS), finite_differences(log_likelihood, logits), rtol=1e-6, atol=1e-8)


def test_a_linear_grammar_is_a_hidden_markov_model():
    # H_s -> (letter of s) H_u for s -> u; a chain that may end at every place, so that lengths are geometric
    stop = 0.25
    rules = []
    for s in range(2):
        for a, letter in enumerate("abc"):
            rules.append((f"E{s}{letter}", (letter,), 1.0))
            rules.append((f"H{s}", (letter,), stop * COINS.emission[s, a]))
            rules += [
                (f"H{s}", (f"E{s}{letter}", f"H{u}"), (1 - stop) * COINS.emission[s, a] * COINS.transition[s, u])
                for u in range(2)
            ]
    ours = [StochasticGrammar(rules, f"H{s}").log_likelihood(WORDS) for s in range(2)]
    length = np.array([len(word) for word in WORDS])
    wanted = COINS.log_likelihood(WORDS) + np.log(stop) + (length - 1) * np.log(1 - stop)
    assert_allclose(np.log(COINS.start @ np.exp(ours)), wanted, rtol=1e-12)


# --- vectors and letters ----------------------------------------------------------------------------------

X = np.random.default_rng(0).normal(size=(30, 3))


def test_likelihoods_against_scipy():
    assert_allclose(CLOUD.log_likelihood(X), multivariate_normal(CLOUD.mean, CLOUD.covariance).logpdf(X), rtol=1e-12)
    diagonal = GaussianModel(CLOUD.mean, [1.0, 2.0, 0.5])
    assert_allclose(diagonal.log_likelihood(X), multivariate_normal(CLOUD.mean, np.diag([1.0, 2.0, 0.5])).logpdf(X))
    counts = np.random.default_rng(1).integers(0, 5, size=(10, 3))
    letters = Multinomial([0.5, 0.3, 0.2])
    assert_allclose(letters.log_likelihood(counts), multinomial(counts.sum(axis=1), [0.5, 0.3, 0.2]).logpmf(counts))


@pytest.mark.parametrize("diagonal", [False, True])
def test_scores_of_a_gaussian_are_centred_statistics(diagonal):
    """By natural parameters, with the origin at the mean: p = exp(eta . s - phi(eta))."""
    covariance = np.array([1.0, 2.0, 0.5]) if diagonal else CLOUD.covariance
    model = GaussianModel(CLOUD.mean, covariance)
    full = np.diag(covariance) if diagonal else covariance
    i, j = (np.arange(3), np.arange(3)) if diagonal else np.triu_indices(3)
    precision = np.linalg.inv(full)
    # -z'Pz/2 = sum_{i<=j} eta_ij z_i z_j
    eta = np.concatenate([np.zeros(3), np.where(i == j, -0.5, -1.0) * precision[i, j]])

    def log_likelihood(eta):
        P = np.zeros((3, 3))
        P[i, j] = np.where(i == j, -2.0, -1.0) * eta[3:]
        P[j, i] = P[i, j]
        return multivariate_normal(CLOUD.mean + np.linalg.solve(P, eta[:3]), np.linalg.inv(P)).logpdf(X)

    z = X - CLOUD.mean
    statistics = np.concatenate([z, z[:, i] * z[:, j]], axis=1)
    means = np.concatenate([np.zeros(3), full[i, j]])
    assert_array_equal(model.scores(X), statistics - means)
    assert_allclose(model.scores(X), finite_differences(log_likelihood, eta), rtol=1e-6, atol=1e-7)


def test_information_is_the_covariance_of_scores():
    rng = np.random.default_rng(2)
    for model in (CLOUD, GaussianModel(CLOUD.mean, [1.0, 2.0, 0.5])):
        full = model.covariance if model.covariance.ndim == 2 else np.diag(model.covariance)
        u = model.scores(rng.multivariate_normal(model.mean, full, size=200_000))
        J = model.information()
        assert np.abs(u.mean(axis=0)).max() < 0.02
        assert_allclose(u.T @ u / len(u), J, atol=0.02 * J.max())
    u = LETTERS.scores(["a"] * 50 + ["b"] * 30 + ["c"] * 20)
    assert_allclose(u.T @ u / 100, LETTERS.information(), atol=1e-15)


def test_scores_of_letters_are_centred_counts():
    text = ["abca", "ccc"]
    counts = np.array([[2.0, 1.0, 1.0], [0.0, 0.0, 3.0]])
    length = counts.sum(axis=1, keepdims=True)
    assert_allclose(LETTERS.scores(text), counts - length * LETTERS.probabilities, rtol=1e-15)
    assert_array_equal(LETTERS.scores(text), Multinomial(LETTERS.probabilities).scores(counts))
    logits = np.log(LETTERS.probabilities)
    slopes = finite_differences(lambda z: Multinomial(softmax(z), "abc").log_likelihood(text), logits)
    assert_allclose(LETTERS.scores(text), slopes, rtol=1e-7, atol=1e-8)


def test_scores_of_a_mixture():
    one = GaussianMixtureModel([1.0], [CLOUD.mean], [CLOUD.covariance])
    assert_allclose(one.scores(X)[:, 1:], CLOUD.scores(X), rtol=1e-12)
    assert_allclose(one.scores(X)[:, 0], 0.0, atol=1e-15)
    # derivatives by the logits, by the means (Sigma^-1 z) and by the variances, from the natural ones by the chain rule
    u = MIXTURE.scores(X)

    def by_logits(z):
        return GaussianMixtureModel(softmax(z), MIXTURE.means, MIXTURE.covariances).log_likelihood(X)

    def by_means(means):
        return GaussianMixtureModel(MIXTURE.weights, means, MIXTURE.covariances).log_likelihood(X)

    def by_variances(variances):
        return GaussianMixtureModel(MIXTURE.weights, MIXTURE.means, variances).log_likelihood(X)

    assert_allclose(u[:, :2], finite_differences(by_logits, np.log(MIXTURE.weights)), rtol=1e-6, atol=1e-8)
    components = u[:, 2:].reshape(len(X), 2, 2, 3)
    slopes = finite_differences(by_means, MIXTURE.means).reshape(len(X), 2, 3)
    assert_allclose(components[:, :, 0] / MIXTURE.covariances, slopes, rtol=1e-6, atol=1e-8)
    slopes = finite_differences(by_variances, MIXTURE.covariances).reshape(len(X), 2, 3)
    assert_allclose(components[:, :, 1] / (2 * MIXTURE.covariances**2), slopes, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_mixtures_of_scikit_learn(kind):
    fitted = GaussianMixture(2, covariance_type=kind, random_state=0).fit(X)
    assert_allclose(GaussianMixtureModel.from_sklearn(fitted).log_likelihood(X), fitted.score_samples(X), rtol=1e-10)


# --- kernels ----------------------------------------------------------------------------------------------


def test_fisher_is_its_formula():
    model = HiddenMarkovModel(COINS.start, COINS.transition, COINS.emission, "abc")
    rng = np.random.default_rng(0)
    sequences = ["".join(rng.choice(list("abc"), size=rng.integers(3, 12))) for _ in range(60)]
    u = model.scores(sequences)
    J = u.T @ u / 60
    assert_allclose(Fisher(model, "identity")(sequences), u @ u.T, rtol=1e-10, atol=1e-12)
    assert_allclose(Fisher(model, "empirical")(sequences), u @ np.linalg.pinv(J, 1e-12) @ u.T, rtol=1e-7, atol=1e-9)
    scaled = u / np.sqrt(np.diagonal(J))
    assert_allclose(Fisher(model, "diagonal")(sequences), scaled @ scaled.T, rtol=1e-10, atol=1e-12)
    # coordinates do not matter where the matrix is whole
    K = Fisher(COINS, "empirical")(sequences)
    assert_allclose(K, Fisher(model, "empirical")(sequences), rtol=1e-6, atol=1e-8)


def test_fisher_of_a_gaussian_mean_is_the_mahalanobis_product():
    # without the second-order statistics it is z' S^-1 z'
    z = X - CLOUD.mean
    J = CLOUD.information()
    K = z @ np.linalg.inv(CLOUD.covariance) @ z.T
    rest = CLOUD.scores(X)[:, 3:]
    assert_allclose(Fisher(CLOUD, "exact")(X) - rest @ np.linalg.inv(J[3:, 3:]) @ rest.T, K, rtol=1e-8, atol=1e-10)


def test_marginalised_counts_are_their_formula():
    sequences = ["abca", "ccb", "bb"]
    for order in (1, 2):
        counts = [letters_with_states(COINS, word, order) for word in sequences]
        naive = [[sum(c * other.get(event, 0.0) for event, c in one.items()) for other in counts] for one in counts]
        assert_allclose(MarginalizedCount(COINS, order, frequencies=False)(sequences), naive, rtol=1e-12)
        sums = np.array([len(word) + 1 - order for word in sequences])
        shares = naive / np.multiply.outer(sums, sums)
        assert_allclose(MarginalizedCount(COINS, order)(sequences), shares, rtol=1e-12)


def test_one_state_counts_letters():
    single = HiddenMarkovModel([1.0], [[1.0]], [[0.2, 0.3, 0.5]], "abc")
    counts = np.array([[word.count(letter) for letter in "abc"] for word in WORDS], dtype=float)
    assert_allclose(MarginalizedCount(single, frequencies=False)(WORDS), Linear()(counts), rtol=1e-12)
    letters = Multinomial([0.2, 0.3, 0.5], "abc")
    assert_allclose(Fisher(single, "identity")(WORDS), Fisher(letters, "identity")(WORDS), rtol=1e-12)
