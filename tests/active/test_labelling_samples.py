"""How samples become pictures."""

import base64
import io
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib import image as images
from scipy import sparse

from mercer.active import SVG
from mercer.active.serving.samples import MOST_LETTERS, MOST_ROWS, Shown, picture, sample_at
from mercer.data import Graph, RowBlocks, Sequences, Series, Tree
from mercer.data.layout import LETTER, graph_places, tree_places

ROW = {"a": 1.5, "b": 2.0}


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": [0.0, 1.5], "b": [0.0, 2.0]}),
        pl.DataFrame({"a": [0.0, 1.5], "b": [0.0, 2.0]}),
        {"a": [0.0, 1.5], "b": np.array([0.0, 2.0])},
        np.array([(0.0, 0.0), (1.5, 2.0)], dtype=[("a", float), ("b", float)]),
    ],
    ids=["pandas", "polars", "dict", "structured"],
)
def test_rows_of_tables_have_names(table):
    assert sample_at(table, 1) == ROW
    assert Shown(table)(1) == {"kind": "table", "rows": [["a", "1.5"], ["b", "2"]], "more": 0}


def test_rows_of_arrays_are_numbered():
    X = np.array([[0.0, 0.0, 0.0], [1.5, 0.0, 1 / 3]])
    assert Shown(X)(1)["rows"] == [["x0", "1.5"], ["x1", "0"], ["x2", "0.333333"]]
    assert Shown(X.tolist())(1)["rows"] == Shown(X)(1)["rows"]
    assert Shown(RowBlocks([X[:1], X[1:]]))(1)["rows"] == Shown(X)(1)["rows"]


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_rows_show_what_is_there(kind):
    X = kind(np.array([[0.0, 1.0, 0.0], [4.0, 2.0, 3.0]]))
    X.data[X.indices == 0] = 0.0  # it is stored, and nothing nevertheless
    assert Shown(X)(1)["rows"] == [["x1", "2"], ["x2", "3"]]
    unordered = kind(([3.0, 2.0], [2, 1], [0, 2]), shape=(1, 3))
    assert Shown(unordered)(0)["rows"] == [["x1", "2"], ["x2", "3"]]


def test_wide_rows_and_long_texts_say_what_is_left_out():
    table = picture(np.zeros(MOST_ROWS + 7))
    assert (len(table["rows"]), table["more"]) == (MOST_ROWS, 7)
    text = picture("a b" * MOST_LETTERS)
    assert (len(text["text"]), text["more"]) == (MOST_LETTERS, 2 * MOST_LETTERS)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("GATTACA", "sequence"),
        ("MKV-LA*", "sequence"),
        ("0110", "sequence"),
        ("CC(=O)Oc1ccccc1", "text"),
        ("Thanks!", "text"),
        ("two words", "text"),
        ("中文没有空格", "text"),
        ("", "text"),
        (b"\x00\xff", "symbols"),
        (("the", "cat"), "symbols"),
        (frozenset({"b", "a"}), "symbols"),
        (np.array(["x", "y"]), "symbols"),
        ([1, 2.0], "table"),
        ({"a": "x"}, "table"),
        (3, "text"),
        (np.float64(0.5), "text"),
        (np.array(0.5), "text"),
        (np.zeros((4, 5)), "image"),
        (np.zeros((4, 5, 3)), "image"),
        (Graph(2, [(0, 1)]), "graph"),
        (Tree("S", ["a"]), "tree"),
        (SVG("<svg/>"), "svg"),
    ],
)
def test_values_have_kinds(value, kind):
    described = picture(value)
    assert described["kind"] == kind
    json.dumps(described, allow_nan=False)


@pytest.mark.parametrize("value", [None, object(), lambda x: x, np.zeros((2, 2, 2)), np.zeros((0, 3)), 1j])
def test_what_cannot_be_drawn_is_named(value):
    with pytest.raises(TypeError, match=r"show must return a str, .* for sample 1 it returned"):
        Shown(["a", "b"], lambda sample: value)(1)


def test_sets_are_told_in_order():
    assert picture(frozenset("hgfedcba"))["symbols"] == list("abcdefgh")


def test_samples_of_other_kinds_are_told_by_their_repr():
    assert Shown([None, 1j])(1) == {"kind": "text", "text": "1j", "more": 0}


def test_other_things_can_be_shown_instead():
    assert Shown(np.eye(2), ["left", "right"])(1)["letters"] == "right"
    assert Shown(np.eye(2), lambda row: {"sum": row.sum()})(0)["rows"] == [["sum", "1"]]
    with pytest.raises(ValueError, match=r"show must hold as many samples as the pool, 2, got 3\."):
        Shown(np.eye(2), ["a", "b", "c"])
    with pytest.raises(TypeError, match=r"show must be a function of a sample, or samples to show, got 3\."):
        Shown(np.eye(2), 3)
    with pytest.raises(TypeError, match=r"got 'ab'"):
        Shown(np.eye(2), "ab")
    with pytest.raises(TypeError, match=r"do not keep their symbols"):
        Shown(Sequences.pack(["ab", "cd"]))
    with pytest.raises(ValueError, match=r"text must be an SVG document"):
        SVG("circle")


def test_packed_series_are_lines():
    shown = Shown(Series.pack([np.arange(3.0), np.array([1.0, 4.0])]))
    assert shown(1) == {"kind": "series", "lines": [[1.0, 4.0]], "length": 2}
    long = Shown(Series.pack([np.arange(2500.0)]))(0)
    assert (long["length"], long["lines"][0][:3], len(long["lines"][0])) == (2500, [0.0, 3.0, 6.0], 834)


def decoded(pixels):
    """What a reader of PNG files sees, as bytes."""
    data = base64.b64decode(picture(pixels)["png"])
    return np.rint(255 * images.imread(io.BytesIO(data), format="png")).astype(int)


def test_images_come_back(rng):
    grey, colour = rng.integers(0, 256, (5, 7), dtype=np.uint8), rng.integers(0, 256, (5, 7, 4), dtype=np.uint8)
    assert np.array_equal(decoded(grey), grey)
    assert np.array_equal(decoded(grey[:, :, None]), grey)
    assert np.array_equal(decoded(colour), colour)
    assert np.array_equal(decoded(colour[:, :, :3]), colour[:, :, :3])


def test_brightness_of_images():
    assert decoded(np.array([[False, True]])).tolist() == [[0, 255]]
    assert decoded(np.array([[0.2, 0.4]])).tolist() == [[51, 102]]  # shares of white
    assert decoded(np.array([[-1.0, 0.0, 4.0]])).tolist() == [[0, 51, 255]]  # from the least to the largest
    assert decoded(np.array([[-1.0, 0.5]])).tolist() == [[0, 255]]
    assert decoded(np.array([[7, 7]])).tolist() == [[0, 0]]
    assert decoded(np.array([[np.nan, np.inf, -np.inf, 1.0]])).tolist() == [[0, 0, 0, 255]]


def test_large_images_are_thinned_out():
    described = picture(np.zeros((10, 3000)))
    assert (described["height"], described["width"]) == (4, 1000)


# --- drawings ---------------------------------------------------------------------------------------------


def test_a_ring_is_drawn_round():
    ring = graph_places(Graph(6, [(i, (i + 1) % 6) for i in range(6)]))
    radius = np.linalg.norm(ring - ring.mean(axis=0), axis=1)
    assert np.allclose(radius, radius[0], rtol=1e-3)
    sides = np.linalg.norm(ring - np.roll(ring, 1, axis=0), axis=1)
    assert np.allclose(sides, sides[0], rtol=1e-3)


@pytest.mark.parametrize(
    "graph",
    [
        Graph(9, [(0, i) for i in range(1, 9)]),
        Graph(8, [(i, j) for i in range(8) for j in range(i)]),
        Graph(7, [(0, 1), (1, 2), (4, 5), (6, 6)]),
        Graph(30, [(i, i + 1) for i in range(29)]),
        Graph(4, []),
        Graph(2, [(0, 1), (1, 0)], directed=True),
    ],
    ids=["star", "complete", "parts", "path", "no edges", "directed"],
)
def test_no_two_nodes_are_drawn_on_one_spot(graph):
    places = graph_places(graph)
    apart = np.linalg.norm(places[:, None] - places[None], axis=2) + 9 * np.eye(graph.n_nodes)
    assert apart.min() > 0.5
    assert np.array_equal(places, graph_places(graph))


def test_long_graphs_lie_flat():
    width, height = np.ptp(graph_places(Graph(12, [(i, i + 1) for i in range(11)])), axis=0)
    assert width > 5 * height


def test_graphs_without_nodes_and_with_too_many():
    assert picture(Graph(0, []))["places"] == []
    large = picture(Graph(1000, [(0, 1)], node_labels=["C"] * 999 + ["N"]))
    assert large["rows"] == [["nodes", "1000"], ["edges", "1"], ["nodes labelled C", "999"], ["nodes labelled N", "1"]]


def test_nodes_without_labels_have_their_names():
    graph = Graph(2, [(0, 1)], names=["Anna", "Ben"], directed=True)
    described = picture(graph)
    assert (described["labels"], described["directed"]) == (["Anna", "Ben"], True)
    assert picture(graph.replace(names=None, node_labels="xy"))["labels"] == ["x", "y"]
    assert picture(graph.replace(names=None))["labels"] == ["0", "1"]


def test_trees_with_too_many_nodes_are_told_in_brackets():
    tree = Tree("S", ["a"] * 400)
    assert picture(tree) == {"kind": "text", "text": str(tree), "more": 0}


def test_leaves_of_a_tree_stand_in_their_order_below_their_parents():
    tree = Tree.from_string("(S (NP (DT the) (NN dog)) (VP runs))")
    places, edges, labels = tree_places(tree)
    assert labels == ["S", "NP", "DT", "the", "NN", "dog", "VP", "runs"]
    assert edges == [(0, 1), (1, 2), (2, 3), (1, 4), (4, 5), (0, 6), (6, 7)]
    assert places[:, 1].tolist() == [0, 1, 2, 3, 2, 3, 1, 2]
    x = places[:, 0]
    assert x[3] < x[5] < x[7]
    assert x.min() > 0
    assert x[1] == (x[2] + x[4]) / 2 and x[0] == (x[1] + x[6]) / 2


@pytest.mark.parametrize(
    "text",
    ["(S (LONGLABEL a) (LONGLABEL b))", "(averylongroot a b)", "(S (A (B (VERYLONGLABEL x) y)) (C (LONG z)))", "a"],
)
def test_labels_of_a_tree_do_not_touch(text):
    places, _, labels = tree_places(Tree.from_string(text))
    half = LETTER * np.array([len(label) for label in labels]) / 2
    assert (places[:, 0] - half).min() > 0
    for level in np.unique(places[:, 1]):
        on = np.flatnonzero(places[:, 1] == level)
        assert np.all((places[on, 0] + half[on])[:-1] < (places[on, 0] - half[on])[1:])
