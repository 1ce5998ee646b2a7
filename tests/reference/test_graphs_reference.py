"""Kernels on graphs against their definitions, written as loops."""

import numpy as np
import pytest
from graph_samples import graphs, random_graph
from hypothesis import given, settings
from hypothesis.strategies import tuples
from numpy.testing import assert_allclose, assert_array_equal
from reference.naive_graphs import (
    common,
    dot,
    edge_counts,
    enumerated_walks,
    graph_hopper,
    graphlet_counts,
    path_counts,
    product_matrix,
    random_walk,
    rounds,
    subtree_counts,
)

from mercer.kernels import (
    EdgeHistogram,
    GraphHopper,
    Graphlet,
    RandomWalk,
    ShortestPath,
    VertexHistogram,
    WeisfeilerLehman,
    WeisfeilerLehmanOptimalAssignment,
)

few = settings(max_examples=60, deadline=None, derandomize=True)


def matrix(counts, samples, join=dot):
    found = [counts(graph) for graph in samples]
    return np.array([[join(a, b) for b in found] for a in found])


@few
@given(tuples(graphs(), graphs(), graphs(directed=False)).map(list))
def test_counts(samples):
    assert_array_equal(VertexHistogram()(samples), matrix(lambda g: subtree_counts(g, 0), samples))
    assert_array_equal(EdgeHistogram(ends=True)(samples), matrix(lambda g: edge_counts(g, True), samples))
    assert_array_equal(ShortestPath()(samples), matrix(path_counts, samples))
    assert_array_equal(
        ShortestPath(node_labels=False, unit=0.9)(samples),
        matrix(lambda g: path_counts(g, node_labels=False, unit=0.9), samples),
    )


@few
@given(tuples(graphs(bonds=True), graphs(bonds=True)).map(list))
def test_edges_by_label_alone(samples):
    assert_array_equal(EdgeHistogram()(samples), matrix(lambda g: edge_counts(g, False), samples))


@few
@given(tuples(graphs(), graphs(), graphs()).map(list))
def test_weisfeiler_lehman(samples):
    for h in (0, 1, 3):
        for labelled in (True, False):
            expected = matrix(lambda g, h=h, labelled=labelled: subtree_counts(g, h, labelled), samples)
            assert_array_equal(WeisfeilerLehman(h, node_labels=labelled)(samples), expected)
            expected = matrix(lambda g, h=h, labelled=labelled: subtree_counts(g, h, labelled), samples, common)
            assert_array_equal(WeisfeilerLehmanOptimalAssignment(h, node_labels=labelled)(samples), expected)


@few
@given(tuples(graphs(), graphs()).map(list))
def test_weisfeiler_lehman_over_other_kernels(samples):
    for base, count in [
        (VertexHistogram(), lambda g, now: {repr(label): now.count(label) for label in now}),
        (EdgeHistogram(ends=True), lambda g, now: edge_counts(g, True, now)),
        (ShortestPath(), lambda g, now: path_counts(g, now=now)),
    ]:
        for labelled in (True, False):
            expected = 0
            for t in range(3):
                found = [count(g, list(rounds(g, 2, labelled))[t]) for g in samples]
                expected = expected + np.array(
                    [[sum(n * b.get(k, 0) for k, n in a.items()) for b in found] for a in found]
                )
            assert_array_equal(WeisfeilerLehman(2, base=base, node_labels=labelled)(samples), expected)


@pytest.mark.parametrize("connected", [True, False])
@pytest.mark.parametrize("k", [3, 4, 5])
def test_graphlets(k, connected):
    rng = np.random.default_rng(k)
    samples = [
        random_graph(rng, n, edges=p, loops=True) for n, p in [(7, 0.5), (8, 0.3), (6, 0.9), (9, 0.15), (2, 1.0)]
    ]
    assert_array_equal(
        Graphlet(k, connected=connected)(samples), matrix(lambda g: graphlet_counts(g, k, connected), samples)
    )


def largest_decay(samples, labelled):
    radii = [np.abs(np.linalg.eigvals(product_matrix(g, g, labelled))).max(initial=0.0) for g in samples]
    return 1 / max(1.0, *radii)


@few
@given(tuples(graphs(most_nodes=5), graphs(most_nodes=5), graphs(most_nodes=5, directed=False)).map(list))
def test_random_walks(samples):
    for labelled in (True, False):
        decay = 0.7 * largest_decay(samples, labelled)
        for kind in ("geometric", "exponential"):
            expected = [[random_walk(a, b, decay, kind, labelled) for b in samples] for a in samples]
            found = RandomWalk(decay, kind, node_labels=labelled)(samples)
            assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


def test_random_walks_one_by_one():
    rng = np.random.default_rng(0)
    x = random_graph(rng, 4, edges=0.6, weighted=True, bonds=True)
    y = random_graph(rng, 5, edges=0.5, weighted=True, bonds=True, directed=True)
    for kind, decay in [("geometric", 0.01), ("exponential", 0.3)]:
        expected = enumerated_walks(x, y, decay, 9, kind)
        assert_allclose(RandomWalk(decay, kind)([x], [y]), [[expected]], rtol=1e-12)


@few
@given(tuples(graphs(most_nodes=5), graphs(most_nodes=5)).map(list))
def test_graph_hopper(samples):
    for labelled in (False, True):
        expected = [[graph_hopper(a, b, 0.3, labelled) for b in samples] for a in samples]
        assert_allclose(GraphHopper(0.3, node_labels=labelled)(samples), expected, rtol=1e-12)
