"""Graphs: made, refused, compared, stored and read."""

import copy
import gzip
import pickle

import networkx
import numpy as np
import pytest
from graph_samples import graphs, renumbered
from hypothesis import given, settings
from numpy.testing import assert_array_equal
from scipy.sparse import coo_array, csr_array
from sklearn.base import clone

from mercer.data import Graph, read_tu_dortmund
from mercer.errors import FormatError
from mercer.kernels import Diffusion

EDGES = [(2, 0), (1, 2), (3, 3)]


def full_graph(**parts):
    given = {
        "weights": [1.0, 2.0, 3.0],
        "node_labels": "CNOC",
        "edge_labels": ["-", "=", "#"],
        "node_attributes": np.arange(8.0).reshape(4, 2),
        "names": ["a", "b", "c", "d"],
    }
    return Graph(4, EDGES, **(given | parts))


def test_parts_are_in_the_order_of_the_edges():
    graph = full_graph()
    assert (graph.n_nodes, graph.n_edges, graph.directed) == (4, 3, False)
    assert_array_equal(graph.edges, [[0, 2], [1, 2], [3, 3]])
    assert_array_equal(graph.weights, [1.0, 2.0, 3.0])
    assert graph.edge_labels == ("-", "=", "#")
    assert graph.node_labels == ("C", "N", "O", "C")
    assert graph.names == ("a", "b", "c", "d")
    directed = full_graph(directed=True)
    assert_array_equal(directed.edges, [[1, 2], [2, 0], [3, 3]])
    assert_array_equal(directed.weights, [2.0, 1.0, 3.0])
    assert directed.edge_labels == ("=", "-", "#")


def test_adjacency():
    expected = np.zeros((4, 4))
    expected[2, 0], expected[1, 2], expected[3, 3] = 1.0, 2.0, 3.0
    assert_array_equal(full_graph(directed=True).adjacency().toarray(), expected)
    assert_array_equal(full_graph().adjacency().toarray(), np.maximum(expected, expected.T))
    assert_array_equal(Graph(3, []).adjacency().toarray(), np.zeros((3, 3)))


def test_it_is_no_container():
    for name in ("__len__", "__getitem__", "__iter__", "__array__", "__contains__"):
        assert not hasattr(Graph, name)
    array = np.array([Graph(2, [(0, 1)]), Graph(3, [])], dtype=object)
    assert array.shape == (2,)


def test_it_does_not_change():
    graph = full_graph()
    with pytest.raises(AttributeError, match=r"replace\(weights=...\)"):
        graph.weights = None
    with pytest.raises(AttributeError, match="does not change"):
        del graph.weights
    for array in (graph.edges, graph.weights, graph.node_attributes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7
    attributes = np.zeros((2, 1))
    held = Graph(2, [(0, 1)], node_attributes=attributes)
    attributes[0] = 5.0
    assert held.node_attributes[0, 0] == 0.0


def test_equality_and_hash():
    graph = full_graph()
    assert graph == full_graph()
    assert hash(graph) == hash(full_graph())
    assert graph == Graph(**(graph._parts() | {"edges": graph.edges[:, ::-1]}))
    others = [
        graph.replace(weights=None),
        graph.replace(weights=[1.0, 2.0, 4.0]),
        graph.replace(node_labels="CNOO"),
        graph.replace(edge_labels=None),
        graph.replace(node_attributes=np.ones((4, 2))),
        graph.replace(names=None),
        graph.replace(directed=True),
        graph.replace(edges=[(0, 1), (1, 2), (3, 3)]),
        Graph(5, EDGES),
        "a graph",
    ]
    assert all(graph != other for other in others)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(graphs())
def test_copies(graph):
    assert copy.deepcopy(graph) is graph is copy.copy(graph)
    again = pickle.loads(pickle.dumps(graph))
    assert again == graph
    assert hash(again) == hash(graph)
    assert repr(again) == repr(graph)
    assert graph.replace() == graph


def test_what_was_computed_is_no_part_of_the_value():
    graph = Graph(3, [(0, 1)])
    before = pickle.dumps(graph)
    kernel = Diffusion(graph)
    kernel([0, 1])
    assert graph._derived
    assert pickle.dumps(graph) == before
    assert clone(kernel).graph is graph
    assert graph == Graph(3, [(0, 1)])


def test_repr():
    assert repr(Graph(0, [])) == "Graph(0 nodes, 0 edges)"
    assert repr(Graph(1, [(0, 0)])) == "Graph(1 node, 1 edge)"
    expected = "Graph(4 nodes, 3 edges, directed, weights, node labels, edge labels, node attributes, names)"
    assert repr(full_graph(directed=True)) == expected


@pytest.mark.parametrize(
    ("arguments", "parts", "message"),
    [
        ((-1, []), {}, r"n_nodes must be an int >= 0 .* got -1"),
        ((2.5, []), {}, r"n_nodes must be an int >= 0 .* got 2.5"),
        ((3, [(0, 3)]), {}, r"from 0 to 2 for 3 nodes, got \(0, 3\)"),
        ((3, [(0, 1), (-1, 2)]), {}, r"from 0 to 2 for 3 nodes, got \(-1, 2\)"),
        ((0, [(0, 0)]), {}, r"got \(0, 0\)"),
        ((3, [(0, 1, 2)]), {}, r"pairs of node numbers, got an array of shape \(1, 3\)"),
        ((3, [(0, 1), (1,)]), {}, "pairs of node numbers"),
        ((3, [("a", "b")]), {}, "Graph.from_edges takes nodes by name"),
        ((3, [(0.0, 1.0)]), {}, "pairs of node numbers"),
        ((3, [(0, 1), (1, 0)]), {}, r"\(0, 1\) comes more than once; without direction"),
        ((3, [(0, 1), (0, 1)]), {"directed": True}, r"\(0, 1\) comes more than once\."),
        ((2, [(0, 1)]), {"weights": [1.0, 2.0]}, r"one number for each of the 1 edges, got shape \(2,\)"),
        ((2, [(0, 1)]), {"weights": [np.nan]}, "weights contain NaN"),
        ((2, [(0, 1)]), {"weights": [np.inf]}, "weights contain NaN or infinity"),
        ((2, [(0, 1)]), {"weights": ["heavy"]}, "weights must be numbers"),
        ((2, [(0, 1)]), {"node_labels": "C"}, "node_labels must have one entry for each of the 2 nodes, got 1"),
        ((2, [(0, 1)]), {"edge_labels": "--"}, "edge_labels must have one entry for each of the 1 edges, got 2"),
        ((2, [(0, 1)]), {"names": "aa"}, "names must be different"),
        ((2, [(0, 1)]), {"node_attributes": [1.0, 2.0]}, r"shape \(2, d\) for 2 nodes, got \(2,\)"),
        ((2, [(0, 1)]), {"node_attributes": [[1.0], [np.nan]]}, "node_attributes contain NaN"),
        ((2, [(0, 1)]), {"node_attributes": [["a"], ["b"]]}, "node_attributes must be numbers"),
    ],
)
def test_errors(arguments, parts, message):
    with pytest.raises(ValueError, match=message):
        Graph(*arguments, **parts)


def test_labels_must_be_hashable():
    with pytest.raises(TypeError, match=r"node_labels must be hashable, got \[1\]"):
        Graph(1, [], node_labels=[[1]])


# --- other ways to make one -------------------------------------------------------------------------------


def test_from_edges():
    graph = Graph.from_edges(
        [("Rome", "Milan"), ("Rome", "Naples")],
        nodes=["Palermo", "Rome"],
        weights=[570, 225],
        node_labels={"Rome": 1, "Milan": 2, "Naples": 1, "Palermo": 3},
        edge_labels=["train", "road"],
        node_attributes={"Rome": [2.8], "Milan": [1.4], "Naples": [0.9], "Palermo": [0.6]},
    )
    assert graph.names == ("Palermo", "Rome", "Milan", "Naples")
    assert_array_equal(graph.edges, [[1, 2], [1, 3]])
    assert graph.node_labels == (3, 1, 2, 1)
    assert_array_equal(graph.node_attributes[:, 0], [0.6, 2.8, 1.4, 0.9])
    with pytest.raises(ValueError, match="node_labels must have an entry for every node, 'b' has none"):
        Graph.from_edges([("a", "b")], node_labels={"a": 1})
    with pytest.raises(ValueError, match="edges must be pairs of nodes, got 'ab'"):
        Graph.from_edges(["ab"])


@pytest.mark.parametrize("convert", [np.asarray, list, csr_array, coo_array])
def test_from_adjacency(convert):
    A = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 1]])
    assert Graph.from_adjacency(convert(A)) == Graph(3, [(0, 1), (2, 2)])
    weighted = A * 0.5
    assert Graph.from_adjacency(convert(weighted)) == Graph(3, [(0, 1), (2, 2)], weights=[0.5, 0.5])
    directed = np.triu(A)
    assert Graph.from_adjacency(convert(directed), directed=True) == Graph(3, [(0, 1), (2, 2)], directed=True)
    assert Graph.from_adjacency(convert(A), node_labels="abc").node_labels == ("a", "b", "c")
    with pytest.raises(ValueError, match="symmetric"):
        Graph.from_adjacency(convert(directed))


def test_stored_zeros_are_no_edges():
    A = csr_array((np.array([1.0, 0.0, 1.0]), np.array([1, 2, 0]), np.array([0, 2, 3, 3])), shape=(3, 3))
    assert Graph.from_adjacency(A) == Graph(3, [(0, 1)])
    assert A.nnz == 3


def test_from_adjacency_refuses():
    with pytest.raises(ValueError, match=r"square matrix, got shape \(2, 3\)"):
        Graph.from_adjacency(np.ones((2, 3)))
    with pytest.raises(ValueError, match="NaN"):
        Graph.from_adjacency([[0.0, np.nan], [np.nan, 0.0]])
    with pytest.raises(ValueError, match="real numbers"):
        Graph.from_adjacency(np.array([["a"]]))


@settings(max_examples=30, deadline=None, derandomize=True)
@given(graphs())
def test_adjacency_and_networkx_round_trip(graph):
    bare = graph.replace(node_labels=None, edge_labels=None, node_attributes=None)
    if bare.weights is not None and (bare.weights == 1).all():
        bare = bare.replace(weights=None)
    assert Graph.from_adjacency(graph.adjacency(), directed=graph.directed) == bare

    other = networkx.DiGraph() if graph.directed else networkx.Graph()
    for v in range(graph.n_nodes):
        other.add_node(v, label=graph.node_labels[v], where=graph.node_attributes[v])
    for e, (a, b) in enumerate(graph.edges.tolist()):
        parts = {} if graph.weights is None else {"weight": graph.weights[e]}
        parts |= {} if graph.edge_labels is None else {"bond": graph.edge_labels[e]}
        other.add_edge(a, b, **parts)
    if graph.n_edges and graph.n_nodes:
        found = Graph.from_networkx(other, edge_label="bond", node_attributes="where")
        assert found == graph.replace(names=range(graph.n_nodes))


def test_from_networkx():
    other = networkx.path_graph(["x", "y", "z"])
    assert Graph.from_networkx(other) == Graph(3, [(0, 1), (1, 2)], names="xyz")
    networkx.set_node_attributes(other, {"x": 1.0, "y": 2.0, "z": 3.0}, "u")
    networkx.set_node_attributes(other, 5.0, "v")
    found = Graph.from_networkx(other, node_label="v", node_attributes=["u", "v"])
    assert_array_equal(found.node_attributes, [[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    assert found.node_labels == (5.0, 5.0, 5.0)
    with pytest.raises(ValueError, match="no node has the attribute 'w'"):
        Graph.from_networkx(other, node_attributes="w")
    other.nodes["y"]["label"] = "C"
    with pytest.raises(ValueError, match="'label' must be there for every node or for none, 'x' has none"):
        Graph.from_networkx(other)
    with pytest.raises(ValueError, match="multigraph"):
        Graph.from_networkx(networkx.MultiGraph())
    with pytest.raises(TypeError, match="graph of networkx, got list"):
        Graph.from_networkx([])


def test_renumbering_keeps_what_nodes_carry():
    graph = full_graph(names=None)
    assert renumbered(renumbered(graph, [2, 0, 3, 1]), np.argsort([2, 0, 3, 1])) == graph


# --- files ------------------------------------------------------------------------------------------------

FILES = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 4\n",
    "graph_indicator": "1\n1\n1\n2\n2\n4\n",
    "graph_labels": "1\n-1\n1\n-1\n",
    "node_labels": "6\n7\n6\n7\n7\n8\n",
    "edge_labels": "0\n0\n1\n1\n2\n2\n",
    "node_attributes": "1.0, 2.0\n" * 6,
    "edge_attributes": "0.5\n0.5\n1.5\n1.5\n2.5\n2.5\n",
}


def write(folder, **changed):
    for part, text in (FILES | changed).items():
        if text is None:
            continue
        if part in ("A", "node_labels"):
            with gzip.open(folder / f"{folder.name}_{part}.txt.gz", "wt") as file:
                file.write(text)
        else:
            (folder / f"{folder.name}_{part}.txt").write_text(text)
    return folder


def test_read_tu_dortmund(tmp_path):
    found, y = read_tu_dortmund(write(tmp_path))
    assert_array_equal(y, [1, -1, 1, -1])
    attributes = [[1.0, 2.0]]
    assert found == [
        Graph(
            3,
            [(0, 1), (1, 2)],
            weights=[0.5, 1.5],
            node_labels=[6, 7, 6],
            edge_labels=[0, 1],
            node_attributes=attributes * 3,
        ),
        Graph(2, [(0, 1)], weights=[2.5], node_labels=[7, 7], edge_labels=[2], node_attributes=attributes * 2),
        Graph(0, [], weights=[], node_labels=[], edge_labels=[], node_attributes=np.empty((0, 2))),
        Graph(1, [], weights=[], node_labels=[8], edge_labels=[], node_attributes=attributes),
    ]


def test_read_tu_dortmund_with_little(tmp_path):
    nothing = dict.fromkeys(FILES) | {part: FILES[part] for part in ("A", "graph_indicator")}
    found, y = read_tu_dortmund(write(tmp_path, **nothing))
    assert y is None
    assert found == [Graph(3, [(0, 1), (1, 2)]), Graph(2, [(0, 1)]), Graph(0, []), Graph(1, [])]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"node_labels": "1\n"}, r"_node_labels\.txt\.gz: 1 lines, where .*_graph_indicator\.txt has 6"),
        ({"edge_labels": "0\n1\n1\n1\n2\n2\n"}, r"_edge_labels\.txt, line 2: this says something else of an edge"),
        ({"A": "1, 2\n2, 1\n\n2, 3\n3, 2\n3, 4\n4, 3\n"}, r"_A\.txt\.gz, line 6: .* of the graphs 1 and 2"),
        ({"A": "1, 2\n2, 1\n2, 3\n3, 2\n4, 9\n9, 4\n"}, r"line 5: node 9, where there are nodes from 1 to 6"),
        ({"A": "1, 2\n2, 1\n2, 3\n3, 2\n4\n5, 4\n"}, "line 5: 1 numbers, where the first line has 2"),
        ({"A": "1, 2\n2, 1\n2, x\n3, 2\n4, 5\n5, 4\n"}, "line 3: 'x' is no whole number"),
        ({"A": "1, 2, 3\n" * 6}, "line 1: an edge is two numbers of nodes, got 3"),
        ({"A": "1, 2\n2, 1\0\n"}, "line 2: this is no text"),
        ({"A": ""}, "the file is empty"),
        ({"graph_indicator": "1\n2\n1\n2\n2\n4\n"}, "line 3: graph 1; graphs must ascend, from 1 on"),
        ({"graph_indicator": "0\n1\n1\n2\n2\n4\n"}, "line 1: graph 0; graphs must ascend, from 1 on"),
        ({"graph_labels": "1\n-1\n"}, r"line 6: graph 4, where .*_graph_labels\.txt has 2"),
        ({"graph_labels": "1\n-1\n99999999999999999999\n1\n"}, "line 3: '99999999999999999999' is no whole number"),
        ({"node_attributes": "1, 2\n" * 4 + "1, nan\n1, 2\n"}, "line 5: 'nan' is no finite number"),
        ({"edge_attributes": "1, 2\n" * 6}, "line 1: 2 numbers for an edge"),
    ],
)
def test_read_tu_dortmund_refuses(tmp_path, changed, message):
    with pytest.raises(FormatError, match=message):
        read_tu_dortmund(write(tmp_path, **changed))


def test_read_tu_dortmund_without_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="is no folder"):
        read_tu_dortmund(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"one file DS_A\.txt"):
        read_tu_dortmund(tmp_path)
