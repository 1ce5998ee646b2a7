"""Filters: scores of single features."""

from functools import partial

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csc_array, csr_array, csr_matrix
from sklearn.feature_selection import SelectFpr, SelectKBest, f_classif

from mercer.features import fisher_score, mann_whitney, t_test
from mercer.features.scores import COUNTED

# The two examples of [CY §1.7], a feature each: a small difference that is consistent, a large one that is not.
BOOK = np.array([[1.1, 1.1, 1.1, 1.1, 0.9, 0.9, 0.9, 0.9], [1.0, 1.0, 5.0, 5.0, 1.0, 1.0, 0.1, 0.1]]).T
BOOK_CLASSES = np.repeat([1, -1], 4)

SCORES = {
    "fisher": fisher_score,
    "t": lambda X, y: t_test(X, y)[0],
    "t equal": lambda X, y: t_test(X, y, equal_variance=True)[0],
    "mann-whitney": lambda X, y: mann_whitney(X, y)[0],
}
P_VALUES = {
    "t": lambda X, y: t_test(X, y)[1],
    "t equal": lambda X, y: t_test(X, y, equal_variance=True)[1],
    "mann-whitney": lambda X, y: mann_whitney(X, y)[1],
}
every_score = pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)
every_p_value = pytest.mark.parametrize("p_value", P_VALUES.values(), ids=P_VALUES)


def samples(n=30, m=17, d=40, seed=0):
    """Normal features, of which some differ between the classes, and some are rounded so that there are ties."""
    rng = np.random.default_rng(seed)
    y = np.repeat(["b", "a"], [n, m])
    X = rng.normal(size=(n + m, d)) * rng.uniform(0.1, 10.0, d)
    X[:m, : d // 2] += rng.normal(size=d // 2)
    X[:, ::3] = np.round(X[:, ::3])
    order = rng.permutation(n + m)
    return X[order], y[order]


def apart(X, y):
    return X[y == np.unique(y)[0]], X[y == np.unique(y)[1]]


# --- what the book says -----------------------------------------------------------------------------------


def test_book_examples_by_consistency():
    scores, p_values = mann_whitney(BOOK, BOOK_CLASSES)
    assert scores[0] > scores[1] > 0
    assert p_values[0] < p_values[1]


def test_book_examples_by_magnitude():
    # The second one has the larger difference of means, but a difference without any spread is before everything.
    positive, negative = BOOK[:4], BOOK[4:]
    difference = positive.mean(axis=0) - negative.mean(axis=0)
    assert difference[1] > 10 * difference[0]
    assert fisher_score(BOOK, BOOK_CLASSES)[1] == pytest.approx(2.45**2 / (4 + 0.2025), rel=1e-14)
    assert fisher_score(BOOK, BOOK_CLASSES)[0] == np.inf
    scores, p_values = t_test(BOOK, BOOK_CLASSES)
    assert scores[0] == np.inf
    assert p_values[0] == 0.0
    assert 0.05 < p_values[1] < 0.2


def test_magnitude_and_consistency_disagree():
    # Spread, so that both are finite: by their means the second feature is the better one, by their order the first.
    spread = 0.05 * np.array([-3.0, -1.0, 1.0, 3.0])
    consistent = np.concatenate([1.16 + spread, 0.84 + spread])
    large = np.array([1.0, 4.8, 5.0, 5.2, 1.1, 0.1, 0.0, 0.2])
    X = np.column_stack([consistent, large])
    assert np.argmax(fisher_score(X, BOOK_CLASSES)) == 1
    assert np.argmax(mann_whitney(X, BOOK_CLASSES)[0]) == 0


# --- against others ---------------------------------------------------------------------------------------


def test_fisher_score_is_its_formula():
    X, y = samples()
    A, B = apart(X, y)
    expected = (A.mean(axis=0) - B.mean(axis=0)) ** 2 / (A.var(axis=0) + B.var(axis=0))
    np.testing.assert_allclose(fisher_score(X, y), expected, rtol=1e-12)


def test_fisher_score_of_several_classes_is_its_formula():
    X, _ = samples()
    y = np.arange(len(X)) % 4
    parts = [X[y == k] for k in range(4)]
    pairs = [(k, i) for k in range(4) for i in range(k)]
    between = sum((parts[k].mean(axis=0) - parts[i].mean(axis=0)) ** 2 for k, i in pairs)
    within = sum(parts[k].var(axis=0) + parts[i].var(axis=0) for k, i in pairs)
    np.testing.assert_allclose(fisher_score(X, y), between / within, rtol=1e-12)


@pytest.mark.parametrize("equal_variance", [False, True])
def test_t_test_is_that_of_scipy(equal_variance):
    X, y = samples()
    expected = stats.ttest_ind(*apart(X, y), equal_var=equal_variance)
    scores, p_values = t_test(X, y, equal_variance=equal_variance)
    np.testing.assert_allclose(scores, np.abs(expected.statistic), rtol=1e-12)
    np.testing.assert_allclose(p_values, expected.pvalue, rtol=1e-10)


def test_t_test_with_equal_variances_is_the_f_test():
    X, y = samples()
    scores, p_values = t_test(X, y, equal_variance=True)
    expected = f_classif(X, y)
    np.testing.assert_allclose(scores**2, expected[0], rtol=1e-10)
    np.testing.assert_allclose(p_values, expected[1], rtol=1e-10)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 7), (3, 4), (8, 30), (COUNTED, COUNTED), (4, COUNTED + 1), (80, 70)])
def test_mann_whitney_is_that_of_scipy(n, m):
    X, y = samples(n, m)
    _, p_values = mann_whitney(X, y)
    A, B = apart(X, y)
    tied = np.array([len(np.unique(column)) < n + m for column in X.T])
    exact = ~tied & (max(n, m) <= COUNTED)
    for k, p_value in enumerate(p_values):
        method = "exact" if exact[k] else "asymptotic"
        expected = stats.mannwhitneyu(A[:, k], B[:, k], method=method).pvalue
        assert p_value == pytest.approx(expected, rel=1e-12)


def test_mann_whitney_scores_are_those_of_the_normal_distribution():
    X, y = samples()
    scores, _ = mann_whitney(X, y)
    expected = stats.mannwhitneyu(*apart(X, y), method="asymptotic").pvalue
    np.testing.assert_allclose(2 * stats.norm.sf(scores), expected, rtol=1e-12)


@pytest.mark.parametrize("n", [2**14, 2**14 + 100])
def test_mann_whitney_of_many_samples(n):
    # Sums of two places no longer fit into 16 bits.
    rng = np.random.default_rng(0)
    X, y = np.round(rng.normal(size=(n, 2)), 2), rng.integers(0, 2, n)
    X[:, 1] = 3.0
    X[-1, 1] = 4.0
    expected = stats.mannwhitneyu(*apart(X, y), method="asymptotic").pvalue
    np.testing.assert_allclose(mann_whitney(X, y)[1], expected, rtol=1e-9)


def test_mann_whitney_by_blocks_of_columns(monkeypatch):
    X, y = samples()
    whole = mann_whitney(X, y)
    monkeypatch.setattr("mercer.features.scores.IN_CACHE", 3 * len(X))
    np.testing.assert_array_equal(mann_whitney(X, y), whole)


def test_exact_chances_add_up():
    # Over all 2 x 2 orders: U = 0, 1, 2, 2, 3, 4.
    X = np.array([[1.0, 1.0, 1.0], [2.0, 3.0, 4.0], [3.0, 2.0, 2.0], [4.0, 4.0, 3.0]])
    assert mann_whitney(X, [0, 0, 1, 1])[1].tolist() == pytest.approx([1 / 3, 2 / 3, 1.0])


# --- degenerate features ----------------------------------------------------------------------------------


@every_score
@pytest.mark.parametrize("value", [0.0, 0.1, -1e300, 1e-300])
def test_constant_features_score_zero(score, value):
    # The mean of many tenths is not a tenth.
    y = np.repeat([0, 1], [7, 30])
    assert score(np.full((37, 2), value), y).tolist() == [0.0, 0.0]


@every_p_value
def test_constant_features_are_no_evidence(p_value):
    assert p_value(np.full((37, 2), 0.1), np.repeat([0, 1], [7, 30])).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("name", ["fisher", "t", "t equal"])
def test_classes_without_spread_come_first(name):
    y = np.repeat([0, 1], [7, 30])
    X = np.column_stack([np.where(y, 0.3, 0.1), np.where(y, 1e9, 0.0) + np.arange(37.0), np.arange(37.0)])
    scores = SCORES[name](X, y)
    assert scores[0] == np.inf
    assert np.inf > scores[1] > scores[2]
    assert SCORES[name](csr_matrix(X), y)[0] == np.inf


def test_one_class_without_spread():
    # Means 3 and 2, unbiased variances 2.5 and 0: five samples and four degrees of freedom.
    x = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0])[:, np.newaxis]
    y = np.repeat([0, 1], [5, 6])
    assert fisher_score(x, y)[0] == pytest.approx(1 / 2)
    scores, p_values = t_test(x, y)
    assert scores[0] == pytest.approx(np.sqrt(2))
    assert p_values[0] == pytest.approx(2 * stats.t.sf(np.sqrt(2), 4))


def test_three_equal_classes_without_spread_score_zero():
    assert fisher_score(np.full((9, 1), 0.1), np.arange(9) % 3)[0] == 0.0


# --- laws -------------------------------------------------------------------------------------------------


@every_score
def test_units_do_not_matter(score):
    X, y = samples()
    np.testing.assert_allclose(score(X * 2.0**700, y), score(X, y), rtol=1e-14)
    np.testing.assert_allclose(score(X * 2.0**-700, y), score(X, y), rtol=1e-14)
    np.testing.assert_allclose(score(csr_matrix(X * 2.0**700), y), score(X, y), rtol=1e-10)
    np.testing.assert_allclose(score(-3.0 * X, y), score(X, y), rtol=1e-12)


@every_score
def test_the_smallest_numbers_there_are(score):
    X, y = np.round(samples()[0]), samples()[1]
    np.testing.assert_allclose(score(X * 2.0**-1074, y), score(X, y), rtol=1e-12)


@every_score
def test_order_and_names_of_classes_do_not_matter(score):
    X, y = samples()
    order = np.random.default_rng(1).permutation(len(X))
    np.testing.assert_allclose(score(X[order], y[order]), score(X, y), rtol=1e-11)
    np.testing.assert_allclose(score(X, y == "a"), score(X, y), rtol=1e-14)


@every_score
@pytest.mark.parametrize("form", [csr_matrix, csr_array, csc_array, np.asfortranarray, np.ndarray.tolist])
def test_forms_of_samples(score, form):
    X, y = samples()
    X[np.abs(X) < 1] = 0.0
    np.testing.assert_allclose(score(form(X), y), score(X, y), rtol=1e-10)


@every_score
def test_single_precision_is_computed_in_double(score):
    X, y = samples()
    X = X.astype(np.float32)
    np.testing.assert_array_equal(score(X, y), score(X.astype(np.float64), y))


def test_equal_columns_score_the_same():
    X, y = samples()
    for score in SCORES.values():
        scores = score(np.hstack([X, X]), y)
        np.testing.assert_array_equal(scores[:40], scores[40:])


def test_selectors_of_scikit_learn():
    X, y = samples()
    for score in (fisher_score, t_test, partial(t_test, equal_variance=True), mann_whitney):
        assert SelectKBest(score, k=3).fit_transform(X, y).shape == (47, 3)
    few = SelectFpr(t_test, alpha=1e-3).fit(X, y).get_support(indices=True)
    assert set(few) == set(np.flatnonzero(t_test(X, y)[1] < 1e-3)) != set()


# --- what is refused --------------------------------------------------------------------------------------


@every_score
def test_bad_samples_are_refused(score):
    X, y = samples()
    with pytest.raises(ValueError, match="inconsistent"):
        score(X[:-1], y)
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        score(X, y)


@every_score
def test_one_class_is_refused(score):
    with pytest.raises(ValueError, match=r"classes, y has 1\.$"):
        score(np.eye(4), np.ones(4))


@every_score
def test_measurements_are_no_classes(score):
    with pytest.raises(ValueError, match="continuous"):
        score(np.eye(4), [0.1, 0.2, 0.3, 0.4])


@pytest.mark.parametrize("test", [t_test, mann_whitney])
def test_three_classes_are_refused_by_tests(test):
    with pytest.raises(
        ValueError, match=rf"{test.__name__} compares two classes, y has 3\. fisher_score takes several"
    ):
        test(np.eye(3), [0, 1, 2])


def test_variances_need_samples():
    with pytest.raises(ValueError, match="two samples of each class at least to know a variance, y has 3 and 1 of"):
        t_test(np.eye(4), [0, 0, 0, 1])
    t_test(np.eye(4), [0, 0, 0, 1], equal_variance=True)
    with pytest.raises(ValueError, match="three samples at least"):
        t_test(np.eye(2), [0, 1], equal_variance=True)


def test_bad_parameter_is_refused():
    with pytest.raises(ValueError, match="equal_variance must be True or False, got 'pooled'"):
        t_test(np.eye(4), [0, 0, 1, 1], equal_variance="pooled")
