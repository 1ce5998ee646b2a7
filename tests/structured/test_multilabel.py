"""`Multilabel`: exact searches over sets of labels, trees of labels, forms of outputs, and what it refuses."""

from itertools import combinations, product

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.metrics import hamming_loss, mutual_info_score
from sklearn.model_selection import GridSearchCV

from mercer.structured import Multilabel, StructuredSVM
from mercer.structured.multilabel import chow_liu, elimination_plan
from mercer.svm import LinearSVC

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 4))
Y = (X @ RANDOM.normal(size=(4, 5)) + RANDOM.normal(size=(60, 5)) > 0).astype(int)
NAMES = np.array(["cloud", "rain", "sea", "snow", "sun"])
SETS = [set(NAMES[row > 0].tolist()) for row in Y]


@st.composite
def pairs_of_labels(draw):
    """A number of labels, and pairs of them."""
    n = draw(st.integers(1, 6))
    everything = list(combinations(range(n), 2))
    some = draw(st.permutations(everything))[: draw(st.integers(0, len(everything)))]
    return n, draw(st.sampled_from([None, "tree", "full", some, some, some]))


@given(pairs_of_labels(), st.integers(0, 2**32 - 1), st.booleans())
def test_oracles_are_those_of_all_sets_one_by_one(labels, seed, sparse):
    (n_labels, pairs), random = labels, np.random.default_rng(seed)
    samples = random.normal(size=(4, 2))
    truth = random.random((4, n_labels)) < 0.5
    costs = random.uniform(0.5, 2.0, n_labels)
    model = Multilabel(pairs, coupling=0.7, bias=1.0, costs=costs).resolve(samples, truth)
    rows = model.prepare(csr_array(samples) if sparse else samples)
    w = random.normal(size=model.size)
    sets = np.array(list(product([False, True], repeat=n_labels)))
    scores = np.array([[(model.joint_feature(x, z) @ w)[0] for z in sets] for x in model.prepare(samples)])
    losses = np.array([[costs[y != z].sum() for z in sets] for y in truth])
    places = 2 ** np.arange(n_labels)[::-1]
    each = np.arange(4)
    ahead = scores - scores[each, truth @ places][:, np.newaxis]
    for values, found in [
        (scores, model.predictions(rows, w)),
        (losses + scores, model.oracles(rows, truth, w, "margin")),
        (losses * (1 + ahead), model.oracles(rows, truth, w, "slack")),
    ]:
        np.testing.assert_allclose(values[each, found @ places], values.max(axis=1), rtol=0, atol=1e-9)
    found = random.random(truth.shape) < 0.5
    np.testing.assert_allclose(model.losses(truth, found), losses[each, found @ places], atol=1e-12)
    np.testing.assert_allclose(model.differences(rows, truth, found) @ w, -ahead[each, found @ places], atol=1e-9)
    x, y = model.prepare(samples)[0], truth[0]
    one = model.predict(x, w), model.oracle(x, y, w), model.slack_oracle(x, y, w)
    many = model.predictions(rows, w), *(model.oracles(rows, truth, w, way) for way in ("margin", "slack"))
    assert [a.tolist() for a in one] == [b[0].tolist() for b in many]


def test_the_features_are_those_of_labels_and_of_pairs_that_agree():
    model = Multilabel([("sea", "sun"), ("rain", "sun")], coupling=0.5).resolve(X[:, :2], SETS)
    y = model.encode(None, [{"rain", "sun"}])[0]
    features = model.joint_feature(np.array([2.0, 3.0]), y).toarray()[0]
    # In the order of labels: cloud, rain, sea, snow, sun; then rain with sun, which agree, and sea with sun.
    assert features.tolist() == [0, 0, 2, 3, 0, 0, 0, 0, 2, 3, 0.5, 0]


def test_without_pairs_labels_are_independent_machines():
    machine = StructuredSVM(Multilabel(None), gap_tol=1e-8).fit(X, Y)
    alone = [LinearSVC(intercept="none", gap_tol=1e-8).fit(X, column) for column in Y.T]
    np.testing.assert_allclose(machine.coef_.reshape(5, 4), [one.coef_[0] for one in alone], atol=1e-4)
    assert (machine.predict(X) == np.column_stack([one.predict(X) for one in alone])).all()


def test_pairs_know_that_labels_exclude_each_other():
    samples, species = load_iris(return_X_y=True)
    samples = samples - samples.mean(axis=0)
    y = np.eye(3, dtype=int)[species]
    alone, tied = (StructuredSVM(Multilabel(pairs, bias=1.0), C=10.0).fit(samples, y) for pairs in (None, "full"))
    # Versicolor is between the others, and no plane has it alone on one side.
    assert (alone.predict(samples).sum(axis=1) == 1).mean() < 0.8
    assert (tied.predict(samples).sum(axis=1) == 1).mean() > 0.95
    assert tied.score(samples, y) > alone.score(samples, y) + 0.05


@given(st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_the_tree_is_that_of_most_mutual_information(n_labels, seed):
    random = np.random.default_rng(seed)
    y = random.random((12, n_labels)) < random.random(n_labels)
    graph = networkx.Graph()
    graph.add_nodes_from(range(n_labels))
    for a, b in combinations(range(n_labels), 2):
        graph.add_edge(a, b, weight=max(0.0, mutual_info_score(y[:, a], y[:, b])))
    best = networkx.maximum_spanning_tree(graph).size(weight="weight")
    pairs = chow_liu(y)
    found = networkx.Graph(pairs.tolist())
    assert len(pairs) == 0 or networkx.is_forest(found)
    assert sum(graph.edges[a, b]["weight"] for a, b in pairs.tolist()) == pytest.approx(best, abs=1e-9)


def test_labels_of_a_tree_are_tried_two_at_a_time():
    random = np.random.default_rng(1)
    pairs = np.array([(random.integers(0, k), k) for k in range(1, 200)])
    assert max(len(later) for _, later in elimination_plan(200, pairs)) == 1
    ring = np.array([(k, (k + 1) % 9) for k in range(9)])
    assert max(len(later) for _, later in elimination_plan(9, ring)) == 2


def test_many_labels_in_a_tree():
    many = np.repeat(Y, 20, axis=1)  # of every label twenty copies: a tree ties them all
    model = Multilabel(bias=1.0).resolve(X, many)
    assert len(model.pairs_) == 99
    w = RANDOM.normal(size=model.size)
    x = model.prepare(X)[0]
    best = model.predict(x, w)
    others = [best ^ (np.arange(100) % 7 == k) for k in range(7)] + [best ^ one for one in np.eye(100, dtype=bool)]
    value, *values = ((model.joint_feature(x, z) @ w)[0] for z in [best, *others])
    assert value > max(values)


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("pairs", ["tree", "full", None])
def test_sets_and_matrices_are_the_same(pairs, rescaling):
    machines = [
        StructuredSVM(Multilabel(pairs, bias=1.0), rescaling=rescaling).fit(X, y) for y in (Y, csr_array(Y), SETS)
    ]
    assert machines[2].model_.labels_.tolist() == NAMES.tolist()
    matrix, from_sparse, sets = (machine.predict(X) for machine in machines)
    assert (matrix == from_sparse).all() and sets == [set(NAMES[row > 0].tolist()) for row in matrix]
    share = 1 - hamming_loss(Y, matrix)
    assert share > 0.75
    scores = [machine.score(X, y) for machine, y in zip(machines, (Y, csr_array(Y), SETS), strict=True)]
    assert scores == pytest.approx([share] * 3)
    losses = machines[0].result_.losses
    assert (losses >= machines[0].model_.losses(Y.astype(bool), matrix) - 1e-9).all()


def test_labels_never_seen_are_wrong():
    machine = StructuredSVM(Multilabel()).fit(X, SETS)
    more = [y | {"hail"} for y in SETS]
    expected = (5 * machine.score(X, SETS) + 0) / 6
    assert machine.score(X, more) == pytest.approx(expected)


def test_costs_of_labels_are_heard():
    few = (RANDOM.random((60, 1)) < 0.3).astype(int)  # x knows nothing of it
    cheap = StructuredSVM(Multilabel(None, bias=1.0), C=10.0).fit(np.zeros((60, 1)), few)
    both = np.hstack([few, few])
    dear = StructuredSVM(Multilabel([(0, 1)], bias=1.0, costs=[1.0, 5.0]), C=10.0).fit(np.zeros((60, 1)), both)
    assert not cheap.predict(np.zeros((1, 1))).any()
    assert dear.model_.loss([True, True], [True, False]) == 5.0


def test_the_price_of_losses_can_be_searched():
    search = GridSearchCV(StructuredSVM(Multilabel(bias=1.0)), {"C": [1e-6, 1.0]}, cv=3).fit(X, SETS)
    assert search.best_params_ == {"C": 1.0}


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (Multilabel("chain"), Y, "pairs must be 'tree', 'full', None or a list of pairs of labels, got 'chain'"),
        (Multilabel([(0, 7)]), Y, "pairs must be of the labels learnt from, got 7"),
        (Multilabel([(0, 0)]), Y, r"pairs must be of two different labels each, got \(0, 0\)"),
        (Multilabel([(0, 1, 2)]), Y, "pairs must be of two different labels each"),
        (Multilabel("full"), np.tile(Y, 5), "pairs must leave at most 20 labels to be tried together, got 25"),
        (Multilabel(costs=[1.0]), Y, "costs must be numbers > 0, finite, one for each of 5 labels"),
        (Multilabel(costs=[1.0, 0.0, 1.0, 1.0, 1.0]), Y, "costs must be numbers > 0"),
        (Multilabel(coupling=0.0), Y, "coupling must be a float > 0, got 0.0"),
        (Multilabel(), 2 * Y, "y must be zeros and ones with 5 columns"),
        (Multilabel(), ["sea"] * 60, "y must be a matrix of zeros and ones or collections of labels, got 'sea'"),
        (Multilabel(), [set()] * 60, "y must have at least one label, got none"),
    ],
)
def test_bad_input(model, y, message):
    with pytest.raises(ValueError, match=message):
        StructuredSVM(model).fit(X, y)


def test_slack_rescaling_of_many_labels():
    with pytest.raises(ValueError, match="rescaling='slack' tries all sets of at most 16 labels, got 20"):
        StructuredSVM(Multilabel(), rescaling="slack").fit(X, np.tile(Y, 4))
    with pytest.raises(ValueError, match="y must be of the labels learnt from, got 'hail'"):
        Multilabel().resolve(X, SETS).encode(None, [{"hail"}])
