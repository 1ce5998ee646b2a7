"""`Ranking`: pairs, oracles, the area under the curve, and what it refuses."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV

from mercer.kernels import Spectrum
from mercer.structured import Ranking, StructuredSVM
from mercer.structured.ranking import Items
from mercer.svm import LinearSVC

RANDOM = np.random.default_rng(0)
TRUE = np.array([2.0, -1.0, 0.5])
QUERIES = [RANDOM.normal(size=(m, 3)) for m in (5, 9, 4, 12, 7, 8)]
RELEVANCE = [np.clip(np.round(x @ TRUE + RANDOM.normal(size=len(x))), -2, 2) for x in QUERIES]


@st.composite
def queries(draw):
    """Items of small whole numbers with up to four relevances, and weights in steps that make ties."""
    m = draw(st.integers(1, 5))
    numbers = st.integers(-2, 2)
    x = np.array(draw(st.lists(st.tuples(numbers, numbers), min_size=m, max_size=m)), dtype=float)
    w = 0.25 * np.array(draw(st.tuples(numbers, numbers)), dtype=float)
    return x, np.array(draw(st.lists(st.integers(0, 3), min_size=m, max_size=m))), w


def all_outputs(x, relevance):
    """Losses and joint features of all signs of pairs, as the docstring has them."""
    pairs = [(i, j) for i in range(len(x)) for j in range(len(x)) if relevance[i] > relevance[j]]
    steps = np.array([x[i] - x[j] for i, j in pairs]).reshape(-1, x.shape[1])
    signs = np.array(list(product([1, -1], repeat=len(pairs)))).reshape(2 ** len(pairs), len(pairs))
    return (signs < 0).sum(axis=1) / max(1, len(pairs)), signs @ steps / (2 * max(1, len(pairs)))


@given(queries(), st.booleans())
def test_oracles_are_those_of_all_signs_of_pairs(query, sparse):
    x, relevance, w = query
    model = Ranking()
    if len(np.unique(relevance)) > 1:
        model = model.resolve([x], [relevance])
    losses, features = all_outputs(x, relevance)
    values = features @ w
    X = Items.of([csr_array(x) if sparse else x])
    (y,) = model.encode(X, [relevance])
    right = x.T @ (y.wins / (2 * max(1, y.n_pairs)))
    np.testing.assert_allclose(right, features[0], atol=1e-12)
    for rescaling, expected in [
        ("margin", losses + values - values[0]),
        ("slack", losses * (1 + values - values[0])),
    ]:
        (z,) = model.oracles(X, [y], w, rescaling)
        loss, ahead = model.loss(y, z), w @ (model.joint_feature(x, z) - model.joint_feature(x, y))
        assert loss == model.losses([y], [z])[0]
        found = loss + ahead if rescaling == "margin" else loss * (1 + ahead)
        assert found == pytest.approx(expected.max(), abs=1e-12)
        np.testing.assert_allclose(model.differences(X, [y], [z]) @ w, [-ahead], atol=1e-12)
        assert model.same(y, z) == (loss == 0)
    one = model.oracle(x, y, w), model.slack_oracle(x, y, w)
    many = [model.oracles(X, [y], w, rescaling)[0] for rescaling in ("margin", "slack")]
    assert [a.n_wrong for a in one] == [b.n_wrong for b in many]


@given(queries())
def test_two_relevances_are_the_area_under_the_curve(query):
    x, relevance, w = query
    relevant = relevance > 1
    if relevant.all() or not relevant.any():
        return
    model = Ranking().resolve([x], [relevant])
    (y,) = model.encode(Items.of([x]), [relevant])
    area = roc_auc_score(relevant, x @ w)
    assert model.loss(y, model.predict(x, w)) == pytest.approx(1 - area, abs=1e-12)
    assert model.score([relevant], [x @ w]) == pytest.approx(area, abs=1e-12)


@given(queries())
def test_no_order_of_items_is_worse_than_the_worst_pairs(query):
    x, relevance, w = query
    if len(np.unique(relevance)) == 1:
        return
    model = Ranking().resolve([x], [relevance])
    (y,) = model.encode(Items.of([x]), [relevance])
    z = model.oracle(x, y, w)
    hinge = model.loss(y, z) + w @ (model.joint_feature(x, z) - model.joint_feature(x, y))
    assert hinge >= model.loss(y, model.predict(x, w)) - 1e-12


def test_it_is_the_machine_of_all_pairs():
    x, relevance = np.vstack(QUERIES), np.concatenate(RELEVANCE)
    ahead, behind = np.nonzero(relevance[:, np.newaxis] > relevance)
    steps = x[ahead] - x[behind]
    C = 20.0
    pairs = LinearSVC(C=C / (2 * len(steps)), loss="hinge", intercept="none", gap_tol=1e-8)
    pairs.fit(np.vstack([steps, -steps]), np.repeat([1, -1], len(steps)))
    machine = StructuredSVM(Ranking(), C=C, gap_tol=1e-8).fit([x], [relevance])
    np.testing.assert_allclose(machine.coef_, pairs.coef_[0], rtol=1e-3)


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_it_learns_and_bounds_its_losses(rescaling):
    machine = StructuredSVM(Ranking(), C=10.0, rescaling=rescaling).fit(QUERIES, RELEVANCE)
    predicted = machine.predict(QUERIES)
    assert [len(scores) for scores in predicted] == [len(x) for x in QUERIES]
    assert machine.score(QUERIES, RELEVANCE) > 0.85
    encoded = machine.model_.encode(machine.model_.prepare(QUERIES), RELEVANCE)
    assert (machine.result_.losses >= machine.model_.losses(encoded, predicted) - 1e-9).all()


def test_sparse_items_are_the_same():
    dense = StructuredSVM(Ranking()).fit(QUERIES, RELEVANCE)
    sparse = StructuredSVM(Ranking()).fit([csr_array(x) for x in QUERIES], RELEVANCE)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-3)


def test_the_price_of_losses_can_be_searched():
    search = GridSearchCV(StructuredSVM(Ranking()), {"C": [1e-6, 10.0]}, cv=3).fit(QUERIES, RELEVANCE)
    assert search.best_score_ > 0.8


def test_items_of_any_kind():
    queries = [["aab", "abb", "bbb"], ["ba", "aa"]]
    machine = StructuredSVM(Ranking(Spectrum(1)), C=10.0).fit(queries, [[2, 1, 0], [0, 1]])
    (scores,) = machine.predict([["bb", "ab", "aaa"]])
    assert np.argsort(-scores).tolist() == [2, 1, 0]


def test_queries_without_preferences_say_nothing():
    model = Ranking()
    one = StructuredSVM(model, gap_tol=1e-8).fit(QUERIES[:2], RELEVANCE[:2])
    more = StructuredSVM(model, gap_tol=1e-8).fit(QUERIES[:3], [*RELEVANCE[:2], np.ones(4)])
    np.testing.assert_allclose(more.coef_, one.coef_, atol=1e-5)
    assert more.score(QUERIES[:3], [*RELEVANCE[:2], np.ones(4)]) == pytest.approx(one.score(QUERIES[:2], RELEVANCE[:2]))


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (QUERIES[:2], [np.ones(5), np.ones(9)], "y must have different relevances for some items"),
        (QUERIES[:2], [RELEVANCE[0], RELEVANCE[2]], r"y\[1\] must have a relevance for each of 9 items, got 4"),
        (QUERIES[:1], [["a", "b", "c", "d", "e"]], r"y\[0\] must be numbers, one for every item"),
        (QUERIES[:1], [[1, 2, np.nan, 0, 0]], r"y\[0\] must be numbers, one for every item, all finite"),
        (QUERIES[:1], [1], r"y\[0\] must be numbers, one for every item"),
        ([QUERIES[0], np.zeros((0, 3))], RELEVANCE[:2], r"X\[1\] must have at least one item, got none"),
        ([QUERIES[0], np.zeros((9, 2))], RELEVANCE[:2], r"X\[1\] must have shape \(items, 3\), got \(9, 2\)"),
    ],
)
def test_bad_input(X, y, message):
    with pytest.raises(ValueError, match=message):
        StructuredSVM(Ranking()).fit(X, y)


def test_other_features_than_those_learnt_from():
    machine = StructuredSVM(Ranking()).fit(QUERIES, RELEVANCE)
    with pytest.raises(ValueError, match="X must have 3 features, as those learnt from, got 2"):
        machine.predict([np.zeros((4, 2))])
    with pytest.raises(ValueError, match=r"query 0 must have scores of shape \(5,\), all finite"):
        machine.model_.score(RELEVANCE[:1], [np.zeros(4)])
