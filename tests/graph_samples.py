"""Random graphs, and the same graph with other numbers of nodes."""

import numpy as np
from hypothesis import strategies as st

from mercer.data import Graph


def random_graph(rng, n, *, edges=0.4, directed=False, weighted=False, bonds=False, loops=False, labels="CNO", d=2):
    """A graph of n nodes, with everything that nodes and edges may carry."""
    joined = rng.random((n, n)) < edges
    joined = joined if directed else np.triu(joined)
    if not loops:
        np.fill_diagonal(joined, False)
    pairs = np.argwhere(joined)
    return Graph(
        n,
        pairs,
        directed=directed,
        weights=rng.integers(1, 5, size=len(pairs)) / 2 if weighted else None,
        node_labels=[labels[i] for i in rng.integers(len(labels), size=n)],
        edge_labels=[["-", "="][i] for i in rng.integers(2, size=len(pairs))] if bonds else None,
        node_attributes=rng.normal(size=(n, d)),
    )


def renumbered(graph, order):
    """The same graph, with node i called order[i]."""
    order = np.asarray(order, dtype=int)
    back = np.argsort(order)
    return Graph(
        graph.n_nodes,
        order[graph.edges],
        directed=graph.directed,
        weights=graph.weights,
        node_labels=None if graph.node_labels is None else [graph.node_labels[v] for v in back],
        edge_labels=graph.edge_labels,
        node_attributes=None if graph.node_attributes is None else graph.node_attributes[back],
    )


@st.composite
def graphs(draw, most_nodes=7, **parts):
    """Graphs of any kind: directed or not, with and without loops, weights and labels of edges."""
    seed, n = draw(st.integers(0, 2**32 - 1)), draw(st.integers(0, most_nodes))
    kind = {name: draw(st.booleans()) for name in ("directed", "weighted", "bonds", "loops")} | parts
    return random_graph(np.random.default_rng(seed), n, edges=draw(st.sampled_from([0.0, 0.2, 0.5, 0.9])), **kind)
