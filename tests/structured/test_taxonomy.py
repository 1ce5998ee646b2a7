"""`Taxonomy`: distances, features along ancestors, oracles, and what it refuses."""

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import CountVectorizer

from mercer.structured import Multiclass, StructuredSVM, Taxonomy

X, Y = load_iris(return_X_y=True)
X = X - X.mean(axis=0)
SPECIES = np.array(["bristly:setosa", "bald:versicolor", "bald:virginica"])[Y]


@st.composite
def graphs(draw):
    """Parents of up to eight nodes with lengths, often several of each, without cycles; and which are outputs."""
    n = draw(st.integers(2, 8))
    length = st.sampled_from([0.5, 1.0, 3.0])
    parents = {
        k: {p: draw(length) for p in draw(st.lists(st.integers(0, k - 1), max_size=3, unique=True))} if k else None
        for k in range(n)
    }
    return parents, draw(st.sampled_from(["leaves", "nodes"]))


def resolved(parents, outputs, n_features=3):
    known = Taxonomy(parents, outputs=outputs, bias=0.5)
    return known.resolve(np.zeros((1, n_features)), [0])


@given(graphs())
def test_distances_are_shortest_paths_and_a_metric(given_graph):
    parents, outputs = given_graph
    model = resolved(parents, outputs)
    graph = networkx.Graph()
    graph.add_nodes_from(parents)
    graph.add_weighted_edges_from((k, p, length) for k in parents for p, length in (parents[k] or {}).items())
    roots = [k for k in parents if not parents[k]]
    if len(roots) > 1:
        graph.add_weighted_edges_from((root, "above", 1.0) for root in roots)
    lengths = dict(networkx.all_pairs_dijkstra_path_length(graph))
    D = model.costs_
    assert np.allclose(D, [[lengths[a][b] for b in model.classes_] for a in model.classes_])
    assert ((D == 0) == np.eye(len(D), dtype=bool)).all() and np.allclose(D, D.T)
    assert (D[:, np.newaxis] <= D[:, :, np.newaxis] + D.T[np.newaxis] + 1e-12).all()


@given(graphs(), st.integers(0, 2**32 - 1), st.booleans())
def test_oracles_are_those_of_all_outputs_one_by_one(given_graph, seed, sparse):
    model, random = resolved(*given_graph), np.random.default_rng(seed)
    n = len(model.classes_)
    samples = model.prepare(random.normal(size=(5, 3)))
    outputs, w = random.integers(0, n, 5), random.normal(size=model.size)
    scores = np.array([[w @ model.joint_feature(x, z).toarray()[0] for z in range(n)] for x in samples])
    losses = np.array([[model.loss(y, z) for z in range(n)] for y in outputs])
    rows, each = csr_array(samples) if sparse else samples, np.arange(5)
    ahead = scores - scores[each, outputs][:, np.newaxis]
    for values, found in [
        (scores, model.predictions(rows, w)),
        (losses + scores, model.oracles(rows, outputs, w, "margin")),
        (losses * (1 + ahead), model.oracles(rows, outputs, w, "slack")),
    ]:
        np.testing.assert_allclose(values[each, found], values.max(axis=1), rtol=0, atol=1e-9)
    found = random.integers(0, n, 5)
    assert np.array_equal(model.losses(outputs, found), losses[each, found])
    differences = model.differences(rows, outputs, found)
    np.testing.assert_allclose(differences @ w, scores[each, outputs] - scores[each, found], atol=1e-9)
    one = [find(samples[0], *rest) for find, rest in [(model.predict, (w,)), (model.oracle, (outputs[0], w))]]
    assert one == [model.predictions(samples[:1], w)[0], model.oracles(samples[:1], outputs[:1], w, "margin")[0]]


def test_the_features_are_those_of_the_class_and_all_its_ancestors():
    model = Taxonomy({"d": ["b", "c"], "b": "a", "c": "a"}, outputs="nodes").resolve([[2.0, 3.0]], ["d"])
    blocks = dict(zip(model.classes_, model.parts_.toarray().tolist(), strict=True))
    # The root a is above everything and has no weights; d is below both b and c.
    assert model.size == 3 * 2 and blocks["a"] == [0, 0, 0]
    assert blocks["d"] == [1, 1, 1] and blocks["b"] != blocks["c"]
    d = model.classes_.tolist().index("d")
    assert model.joint_feature(np.array([2.0, 3.0]), d).toarray().tolist() == [[2.0, 3.0] * 3]


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_one_level_is_multiclass(rescaling):
    flat = StructuredSVM(Multiclass(bias=1.0), rescaling=rescaling).fit(X, Y)
    model = Taxonomy({species: {"iris": 0.5} for species in range(3)}, bias=1.0)
    machine = StructuredSVM(model, rescaling=rescaling).fit(X, Y)
    assert machine.model_.classes_.tolist() == [0, 1, 2]
    np.testing.assert_allclose(machine.coef_, flat.coef_, rtol=0, atol=1e-12)


def test_it_learns_classes_that_are_paths():
    machine = StructuredSVM(Taxonomy(bias=1.0), C=10.0).fit(X, SPECIES)
    assert machine.score(X, SPECIES) > 0.95
    predicted = machine.predict(X)
    distances = machine.model_.distances(SPECIES, predicted)
    assert set(distances) == {0.0, 2.0}  # never bald for bristly
    assert (machine.result_.losses >= distances - 1e-9).all()
    assert set(machine.model_.at_depth(predicted, 1)) == {"bald", "bristly"}
    assert (machine.model_.at_depth(predicted, 2) == predicted).all()


def test_paths_a_dict_and_a_graph_say_the_same():
    parents = {"bald:versicolor": "bald", "bald:virginica": "bald", "bristly:setosa": "bristly"}
    graph = networkx.DiGraph((parent, child) for child, parent in parents.items())
    costs = []
    for given_parents in (None, parents, graph):
        model = Taxonomy(given_parents).resolve(X, SPECIES)
        order = np.argsort(model.classes_)
        costs.append(model.costs_[np.ix_(order, order)].tolist())
    # From one bald species to the other through "bald"; to the bristly one through both and what is above them.
    assert costs == [[[0, 2, 4], [2, 0, 4], [4, 4, 0]]] * 3


def test_weights_of_a_graph_are_lengths():
    graph = networkx.DiGraph()
    graph.add_weighted_edges_from([("iris", 0, 0.25), ("iris", 1, 2.0)])
    graph.add_edge("iris", 2)
    assert Taxonomy(graph).resolve(X, Y).costs_[0].tolist() == [0, 2.25, 1.25]


def test_inner_nodes_are_outputs_on_request():
    parents = {"virginica": "bald", "versicolor": "bald", "setosa": "iris", "bald": "iris"}
    coarse = np.where(Y == 0, "setosa", "bald")
    machine = StructuredSVM(Taxonomy(parents, outputs="nodes", bias=1.0), C=10.0).fit(X, coarse)
    assert set(machine.model_.classes_) == {*parents, "iris"}
    assert machine.score(X, coarse) == 1.0
    with pytest.raises(ValueError, match="y must be leaves of the taxonomy, got 'bald', which has children; outputs="):
        StructuredSVM(Taxonomy(parents)).fit(X, coarse)


def test_text_with_a_vectorizer():
    texts = ["who is it", "who was it", "where is it", "when was it", "when is it"]
    classes = ["someone", "someone", "something:place", "something:time", "something:time"]
    machine = StructuredSVM(Taxonomy(features=CountVectorizer()), C=10.0).fit(texts, classes)
    assert machine.predict(["who", "when"]).tolist() == ["someone", "something:time"]


def test_names_of_any_kind():
    parents = {("a", 1): None, 7: None, "b": 7, ("c",): 7}
    model = Taxonomy(parents).resolve(X, [7])
    assert set(model.classes_.tolist()) == {("a", 1), "b", ("c",)}
    assert model.distances([("c",)], ["b"]).tolist() == [2.0]


@pytest.mark.parametrize(
    ("model", "y", "error", "message"),
    [
        (Taxonomy({0: 1, 1: 2, 2: 0}), Y, ValueError, "parents must have no cycles, got "),
        (Taxonomy({0: 0}), Y, ValueError, "parents must have no cycles, got 0 -> 0"),
        (Taxonomy({}), Y, ValueError, "parents must have at least one node"),
        (Taxonomy({0: "a", 1: "a"}), Y, ValueError, "y must be of the taxonomy, got 2"),
        (Taxonomy({0: {"a": 0.0}}), Y, ValueError, "parents: the length of the edge from 0 to 'a' must be .*, got 0.0"),
        (Taxonomy({0: {"a": np.nan}}), Y, ValueError, "the length of the edge .* must be a float > 0, got nan"),
        (Taxonomy({0: {"a": "far"}}), Y, ValueError, "the length of the edge .* must be a float > 0, got 'far'"),
        (Taxonomy(networkx.Graph([(0, 1)])), Y, ValueError, "parents must be a directed graph"),
        (Taxonomy([0, 1]), Y, TypeError, "parents must be a dict, a directed graph of networkx or None"),
        (Taxonomy(), Y, ValueError, "y must be paths of names, with ':' between them, .* got 0"),
        (Taxonomy(), np.char.add(":", SPECIES), ValueError, "y must be paths of names"),
        (Taxonomy(outputs="all"), SPECIES, ValueError, "outputs must be 'leaves' or 'nodes', got 'all'"),
        (Taxonomy(separator=""), SPECIES, ValueError, "separator must be a string of at least one character"),
        (Taxonomy(bias=-1.0), SPECIES, ValueError, "bias must be a float >= 0, got -1.0"),
    ],
)
def test_bad_input(model, y, error, message):
    with pytest.raises(error, match=message):
        StructuredSVM(model).fit(X, y)


def test_depths_need_a_tree():
    model = Taxonomy({"d": ["b", "c"], "b": "a", "c": "a"}).resolve(X, ["d"])
    with pytest.raises(ValueError, match="depths need a tree, got 'd' with 2 parents"):
        model.at_depth(["d"], 1)
    with pytest.raises(ValueError, match="depth must be an int >= 1, got 0"):
        model.at_depth(["d"], 0)


def test_confusion_at_both_depths():
    pytest.importorskip("matplotlib").use("Agg")
    from mercer.plots import TaxonomyDisplay

    machine = StructuredSVM(Taxonomy(bias=1.0)).fit(X, SPECIES)
    fine = TaxonomyDisplay.from_estimator(machine, X, SPECIES, depth=2)
    coarse = TaxonomyDisplay.from_estimator(machine, X, SPECIES)
    assert fine.names == ["bald:versicolor", "bald:virginica", "bristly:setosa"] and fine.groups == [2, 1]
    predicted = machine.predict(X)
    expected = [[np.sum((a == SPECIES) & (b == predicted)) for b in fine.names] for a in fine.names]
    assert fine.counts.tolist() == expected and fine.counts[0, 1] + fine.counts[1, 0] > 0
    assert coarse.names == ["bald", "bristly"] and coarse.groups == [1, 1]
    # What is wrong within a frame is right one level higher.
    assert coarse.counts.tolist() == [[fine.counts[:2, :2].sum(), fine.counts[:2, 2].sum()], [*expected[2][:1], 50]]
