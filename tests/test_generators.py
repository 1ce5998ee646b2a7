"""The generators of `mercer.datasets`."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.svm import SVC

import mercer.datasets
from mercer.data import Graph
from mercer.datasets import (
    make_checkerboard,
    make_compounds,
    make_ellipse,
    make_majority_rule,
    make_molecules,
    make_overlapping_classes,
    make_rings,
    make_sequences,
    make_sinusoid,
    make_spirals,
    make_two_clusters,
)

SMALL = {"make_compounds": {"n_samples": 60, "n_active": 5, "n_features": 3000}}
MAKERS = [name for name in mercer.datasets.__all__ if name.startswith("make_")]


def drawn(name, **options):
    return getattr(mercer.datasets, name)(**{"n_samples": 30} | SMALL.get(name, {}) | options)


def same(a, b):
    return all(x == y for x, y in zip(a, b, strict=True)) if isinstance(a, list) else abs(a - b).max() == 0


@pytest.mark.parametrize("name", MAKERS)
def test_random_state(name):
    """A number gives the same samples again, a Generator goes on, a RandomState and None are taken."""
    (X, y), (again, y_again) = (drawn(name, random_state=7) for _ in range(2))
    assert same(X, again)
    assert_array_equal(y, y_again)
    rng = np.random.default_rng(7)
    (first, _), (second, second_y) = (drawn(name, random_state=rng) for _ in range(2))
    assert same(X, first)
    # The inputs of the sinusoid are fixed, its values are not.
    assert not same(second_y, y) if name == "make_sinusoid" else not same(first, second)
    assert len(drawn(name, random_state=np.random.RandomState(0))[1]) == len(y)
    assert len(drawn(name)[1]) == len(y)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("n_samples", [0, 2.5, "many"])
def test_number_of_samples_is_checked(name, n_samples):
    with pytest.raises(ValueError, match=r"n_samples must be an int >= \d+, got"):
        drawn(name, n_samples=n_samples)


@pytest.mark.parametrize("name", sorted(set(MAKERS) - {"make_compounds"}))
def test_one_sample(name):
    X, y = drawn(name, n_samples=1, random_state=0)
    assert (X.shape[0] if isinstance(X, np.ndarray) else len(X)) == len(y) == 1


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (make_majority_rule, {"n_bits": 0}, "n_bits must be an int >= 1, got 0"),
        (make_sinusoid, {"noise": -1.0}, "noise must be a float >= 0, got -1"),
        (make_ellipse, {"gap": 1.0}, "gap must be a float >= 0 and < 1, got 1"),
        (make_overlapping_classes, {"spread": 0.0}, "spread must be a float > 0, got 0"),
        (make_spirals, {"n_turns": 0}, "n_turns must be a float > 0, got 0"),
        (make_sequences, {"length": 3}, "motifs must be strings of 1 to length=3 letters"),
        (make_sequences, {"motifs": "WKRGD"}, "motifs must be strings"),
        (make_sequences, {"motifs": [""]}, "motifs must be strings"),
        (make_sequences, {"letters": ""}, "letters must be a str that is not empty, got ''"),
        (make_sequences, {"mutation": 1.5}, "mutation must be a float >= 0 and <= 1"),
        (make_molecules, {"n_atoms": (7, 9)}, r"n_atoms must be two ints, 8 <= least <= largest, got \(7, 9\)"),
        (make_molecules, {"n_atoms": (12, 10)}, "n_atoms must be two ints"),
        (make_molecules, {"n_atoms": 12}, "n_atoms must be two ints"),
        (make_compounds, {"n_active": 2000}, "n_active must be an int >= 1 and <= 1316, got 2000"),
        (make_compounds, {"n_features": 10}, "n_features must be an int >= 2000, got 10"),
    ],
)
def test_bad_parameters(make, options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


def test_majority_rule():
    X, y = make_majority_rule(500, random_state=0)
    assert X.shape == (500, 20)
    assert set(np.unique(X)) == {0.0, 1.0}
    assert_array_equal(y, [1 if (row == 1).sum() > (row == 0).sum() else -1 for row in X])
    assert 0.3 < (y == 1).mean() < 0.5  # a tie counts as -1


def test_sinusoid():
    X, y = make_sinusoid(10_000, noise=0.5, random_state=0)
    assert (X[0, 0], X[-1, 0]) == (0, 1)
    assert_allclose(np.diff(X[:, 0]), 1 / 9999)
    left = y - np.sin(2 * np.pi * X[:, 0])
    assert abs(left.mean()) < 0.02
    assert left.std() == pytest.approx(0.5, rel=0.03)


@pytest.mark.parametrize("gap", [0.0, 0.3])
def test_ellipse(gap):
    X, y = make_ellipse(2000, gap=gap, random_state=0)
    q = 8 * (X[:, 0] - 1) ** 2 + 50 * (X[:, 1] - 2) ** 2
    assert_array_equal(y, q < 1)
    assert np.bincount(y).tolist() == [1000, 1000]
    assert np.abs(q - 1).min() >= gap
    # Separable in squares, not in the plane.
    squares = np.column_stack([X**2, X])
    if gap:
        assert SVC(kernel="linear", C=1e6).fit(squares, y).score(squares, y) == 1
    assert SVC(kernel="linear").fit(X, y).score(X, y) < 0.8
    # The whole box is used.
    half = 2 / np.sqrt([8, 50])
    assert_allclose(np.abs(X - [1, 2]).max(axis=0), half, rtol=0.01)


def test_two_clusters_lie_apart():
    X, y = make_two_clusters(300, random_state=0)
    assert np.bincount(y).tolist() == [200, 100]
    assert SVC(kernel="linear", C=1e6).fit(X, y).score(X, y) == 1


def test_overlapping_classes():
    X, y = make_overlapping_classes(4000, random_state=0)
    assert np.bincount(y).tolist() == [2000, 2000]
    assert 0.8 < SVC().fit(X, y).score(X, y) < 0.95
    wide, _ = make_overlapping_classes(4000, spread=0.9, random_state=0)
    assert SVC().fit(wide, y).score(wide, y) < 0.8
    # The first class has two parts.
    assert (np.abs(X[y == 0, 0]) < 0.3).mean() < (np.abs(X[y == 1, 0]) < 0.3).mean() / 2


def test_rings():
    X, y = make_rings(1000, noise=0.0, random_state=0)
    assert_allclose(np.linalg.norm(X, axis=1), np.where(y == 1, 1, 2))
    X, y = make_rings(5000, noise=0.2, random_state=0)
    radius = np.linalg.norm(X, axis=1)
    assert (radius[y == 0] - 2).std() == pytest.approx(0.2, rel=0.05)


def test_checkerboard():
    X, y = make_checkerboard(1000, n_fields=3, random_state=0)
    assert X.min() >= 0
    assert X.max() <= 3
    assert_array_equal(y, [(int(a) + int(b)) % 2 for a, b in X])


def test_spirals():
    X, y = make_spirals(400, noise=0.0, random_state=0)
    radius, angle = np.linalg.norm(X, axis=1), np.arctan2(X[:, 1], X[:, 0])
    turned = (angle - 2 * np.pi * 1.5 * radius - np.pi * y) / (2 * np.pi)
    assert_allclose(turned, np.round(turned), atol=1e-9)


def test_sequences():
    X, y = make_sequences(90, length=40, motifs=["WKRGDWKRGD", "CCCCHHHHCC"], random_state=0)
    assert np.bincount(y).tolist() == [30, 30, 30]
    assert {len(string) for string in X} == {40}
    assert [("WKRGDWKRGD" in one) + 2 * ("CCCCHHHHCC" in one) for one in X] == y.tolist()
    # A motif stands anywhere, the ends included.
    X, y = make_sequences(400, length=7, motifs=["WKRGD"], random_state=0)
    assert {one.find("WKRGD") for one in np.array(X)[y == 1]} == {0, 1, 2}
    X, _ = make_sequences(4, length=5, motifs=["AAAAA"], letters="AC", random_state=0)
    assert X[1] == "AAAAA"


def test_mutation_changes_motifs():
    X, y = make_sequences(400, motifs=["WKRGD"], mutation=0.5, random_state=0)
    share = np.mean(["WKRGD" in one for one in np.array(X)[y == 1]])
    # A letter is kept with probability 1/2 + 1/40.
    assert share == pytest.approx(0.525**5, abs=0.04)


def test_molecules():
    X, y = make_molecules(100, random_state=0)
    assert np.bincount(y).tolist() == [50, 50]
    for graph, in_ring in zip(X, y, strict=True):
        assert isinstance(graph, Graph)
        assert 14 <= graph.n_nodes <= 18
        assert graph.n_edges == graph.n_nodes  # connected, and one ring
        degree = np.bincount(graph.edges.ravel(), minlength=graph.n_nodes)
        assert degree.max() <= 3
        assert [tuple(edge) for edge in graph.edges if edge.max() < 6] == [
            (0, 1),
            (0, 5),
            (1, 2),
            (2, 3),
            (3, 4),
            (4, 5),
        ]
        assert graph.node_labels.count("N") == 1
        nitrogen = graph.node_labels.index("N")
        assert degree[nitrogen] == 2
        assert (nitrogen < 6) == in_ring
        assert all(degree[atom] == 1 for atom, kind in enumerate(graph.node_labels) if kind == "O")
    small, _ = make_molecules(20, n_atoms=(8, 8), oxygen=1.0, random_state=0)
    assert {graph.n_nodes for graph in small} == {8}
    assert all("O" in graph.node_labels for graph in small)


def test_compounds():
    X, y = make_compounds(240, n_active=24, n_features=10_000, random_state=0)
    assert X.shape == (240, 10_000)
    assert set(X.data) == {1.0}
    assert X.has_canonical_format
    assert y.sum() == 24
    # Active compounds are alike, so that they can be learnt.
    dense = X.toarray()
    common = dense @ dense.T
    active = y == 1
    assert common[np.ix_(active, active)].mean() > 1.1 * common[np.ix_(active, ~active)].mean()
