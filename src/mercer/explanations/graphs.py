"""Graphs as neighbourhoods of nodes, as edges, as pairs of nodes and as small subgraphs."""

from collections.abc import Iterable
from itertools import combinations
from typing import Any

import numpy as np
from scipy.sparse.csgraph import dijkstra

from mercer import _native
from mercer.data.graph import Graph
from mercer.explanations.base import Pieces, check_number, take_apart
from mercer.kernels import EdgeHistogram, Graphlet, ShortestPath, VertexHistogram, WeisfeilerLehman
from mercer.kernels.graphs.base import as_graphs
from mercer.kernels.graphs.counts import _bit, _shapes
from mercer.threads import effective_n_threads

__all__ = ["neighbourhoods"]

# Letters of a name up to which it is written in full.
LONGEST_NAME = 160


def neighbourhoods(graph: Graph, rounds: int, node_labels: bool = True) -> list[list[tuple[str, np.ndarray]]]:
    """What Weisfeiler and Lehman's labels stand for: what can be seen from each node within some steps.

    Parameters
    ----------
    graph : Graph
    rounds : int >= 0
        The number of steps.
    node_labels : bool, default=True
        Whether labels of nodes count.

    Returns
    -------
    list of lists of (str, int ndarray)
        For 0 to `rounds` steps and for every node, what is seen, written down, and the nodes that are. After a label
        the neighbours stand in brackets, with the labels of the edges to them, and so on. What would be longer than
        160 letters is left out, in which case names may be equal though neighbourhoods are not.

    Examples
    --------
    >>> from mercer.data import Graph
    >>> from mercer.explanations import neighbourhoods
    >>> water = Graph(3, [(0, 1), (0, 2)], node_labels="OHH")
    >>> [[name for name, _ in of_round] for of_round in neighbourhoods(water, 2)]
    [['O', 'H', 'H'], ['O(H,H)', 'H(O)', 'H(O)'], ['O(H(O),H(O))', 'H(O(H,H))', 'H(O(H,H))']]
    """
    labels = [str(label) for label in graph.node_labels] if node_labels and graph.node_labels else ["o"] * graph.n_nodes
    ends = np.concatenate([[0], np.cumsum(graph._degrees)])
    edges = [""] * len(graph._targets)
    if graph.edge_labels is not None:
        written = [label if isinstance(label, str) else f"{label}:" for label in graph.edge_labels]
        edges = [written[edge] for edge in graph._arc_edges]
    next_to = [range(ends[v], ends[v + 1]) for v in range(graph.n_nodes)]
    names, seen = labels, [{v} for v in range(graph.n_nodes)]
    found = []
    for step in range(rounds + 1):
        if step:
            around = [sorted(edges[arc] + names[graph._targets[arc]] for arc in arcs) for arcs in next_to]
            names = [_short(f"{own}({','.join(others)})") for own, others in zip(labels, around, strict=True)]
            seen = [own.union(*(seen[graph._targets[arc]] for arc in next_to[v])) for v, own in enumerate(seen)]
        found.append([(name, np.array(sorted(nodes))) for name, nodes in zip(names, seen, strict=True)])
    return found


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


@take_apart.register(WeisfeilerLehman)
@take_apart.register(VertexHistogram)
def _refined(kernel, X, support, coefficients):
    base = getattr(kernel, "base", None)
    if base is not None and not isinstance(base, VertexHistogram):
        return take_apart.dispatch(object)(kernel, X, support, coefficients)
    rounds = int(getattr(kernel, "h", 0))
    labelled = kernel._counts_node_labels
    kernel.prepare(X, support)  # checks them
    new, known = (_keys(kernel, samples, rounds) for samples in (X, support))
    sizes = [graph.n_nodes for graph in support]
    adds = np.repeat(coefficients, sizes)
    owner = np.repeat(np.arange(len(X)), [graph.n_nodes for graph in X])
    described = [neighbourhoods(graph, rounds, labelled) for graph in X]
    parts = []
    for step in range(rounds + 1):
        keys, which = np.unique(known[step], return_inverse=True)
        sums = np.append(np.bincount(which.reshape(-1), weights=adds, minlength=len(keys)), 0.0)
        at = np.minimum(np.searchsorted(keys, new[step]), max(len(keys) - 1, 0))
        found = keys[at] == new[step] if len(keys) else np.zeros(len(new[step]), dtype=bool)
        weight = sums[np.where(found, at, len(keys))]
        nodes = [node for of_graph in described for node in of_graph[step]]
        # A name that was cut short is told apart by its key.
        keyed = zip(nodes, new[step], strict=True)
        names = [f"{name}{key:x}" if name.endswith("…") else name for (name, _), key in keyed]
        parts.append(Pieces(owner, names, [seen for _, seen in nodes], weight, np.ones(len(weight))))
    return parts


def _keys(kernel: Any, graphs: Any, rounds: int) -> np.ndarray:
    """The labels of all nodes of all graphs after every round, shape (rounds + 1, n_nodes)."""
    packed = VertexHistogram()._pack(as_graphs(graphs, type(kernel).__name__, "X"), kernel._counts_node_labels)
    labels: Any = _native.graph_refined(packed, rounds, effective_n_threads())
    return labels


@take_apart.register(EdgeHistogram)
def _edges(kernel, X, support, coefficients):
    kernel.prepare(X, support)  # checks them
    owner, pieces, places = [], [], []
    for i, graph in enumerate(X):
        for number, ends in enumerate(graph.edges):
            nodes = np.unique(ends)
            labels = None if graph.node_labels is None else [graph.node_labels[v] for v in ends[: len(nodes)]]
            edge_labels = None if graph.edge_labels is None else [graph.edge_labels[number]]
            ring = [(0, len(nodes) - 1)]
            pieces.append(Graph(len(nodes), ring, directed=graph.directed, node_labels=labels, edge_labels=edge_labels))
            owner.append(i)
            places.append(nodes)
    weight = kernel.dot(pieces, support, coefficients[:, np.newaxis])[:, 0] if pieces else np.empty(0)
    names = [_edge_name(piece, kernel.ends) for piece in pieces]
    return [Pieces(np.array(owner, dtype=np.intp), names, places, weight, np.ones(len(weight)))]


def _edge_name(piece: Graph, ends: bool) -> str:
    """An edge by its label and, where they count, by those of its ends; in their order if it is directed."""
    bond = "" if piece.edge_labels is None else str(piece.edge_labels[0])
    if not ends or piece.node_labels is None:
        return bond
    nodes = [str(piece.node_labels[0]), str(piece.node_labels[-1])]
    nodes = nodes if piece.directed else sorted(nodes)
    line = bond or "-"
    return f"{nodes[0]}{line}{'>' if piece.directed else ''}{nodes[1]}"


@take_apart.register(ShortestPath)
def _paths(kernel, X, support, coefficients):
    kernel.prepare(X, support)  # checks them
    check_number(kernel, sum(graph.n_nodes * (graph.n_nodes - 1) for graph in X))
    owner, names, places, ways = [], [], [], []
    # A pair of nodes adds what it would be as a graph, with one edge as long as the path; equal ones are computed once.
    number: dict[tuple[int, int, float], int] = {}
    pairs = []
    for i, graph in enumerate(X):
        labelled = kernel.node_labels and graph.node_labels is not None
        labels = [str(label) for label in graph.node_labels] if labelled else ["o"] * graph.n_nodes
        keys = graph._node_keys.tolist() if labelled else [0] * graph.n_nodes
        lengths = dijkstra(graph.adjacency()) if graph.n_nodes else np.empty((0, 0))
        reached = np.isfinite(lengths) & ~np.eye(graph.n_nodes, dtype=bool)
        for u, v in np.argwhere(reached if graph.directed else np.triu(reached)).tolist():
            both = []
            for a, b in [(u, v)] if graph.directed else [(u, v), (v, u)]:
                content = keys[a], keys[b], float(lengths[a, b])
                if content not in number:
                    number[content] = len(number)
                    ends = [graph.node_labels[a], graph.node_labels[b]] if labelled else None
                    pairs.append(Graph(2, [(0, 1)], directed=True, node_labels=ends, weights=[lengths[a, b]]))
                both.append(number[content])
            ways.append([both[0], both[-1], len(both)])
            owner.append(i)
            places.append(np.array(sorted((u, v))))
            far = _length_name(float(lengths[u, v]), kernel.unit)
            line = f"-{far}->" if graph.directed else f"-{far}-"
            ends = [labels[u], labels[v]] if graph.directed else sorted([labels[u], labels[v]])
            names.append(line.join(ends))
    worth = kernel.dot(pairs, support, coefficients) if pairs else np.empty(0)
    there, back, orders = np.array(ways, dtype=np.intp).reshape(-1, 3).T
    weight = worth[there] + np.where(orders == 2, worth[back], 0.0) if pairs else np.empty(0)
    return [Pieces(np.array(owner, dtype=np.intp), names, places, weight, np.ones(len(weight)))]


def _length_name(length: float, unit: float | None) -> str:
    """A length as it counts: a multiple of the unit, or all of its digits."""
    if unit is not None:
        return f"{np.floor(length / unit + 0.5) * unit:.12g}"
    return f"{length:g}" if float(f"{length:g}") == length else repr(length)


@take_apart.register(Graphlet)
def _graphlets(kernel, X, support, coefficients):
    kernel.prepare(X, support)  # checks them
    shapes = _shapes(kernel.k)
    pairs = list(combinations(range(kernel.k), 2))
    owner, places, found = [], [], []
    for i, graph in enumerate(X):
        joined = np.zeros((graph.n_nodes, graph.n_nodes), dtype=bool)
        joined[graph.edges[:, 0], graph.edges[:, 1]] = joined[graph.edges[:, 1], graph.edges[:, 0]] = True
        for nodes in _connected(kernel, graph) if kernel.connected else combinations(range(graph.n_nodes), kernel.k):
            code = sum(int(joined[nodes[a], nodes[b]]) << _bit(a, b) for a, b in pairs)
            owner.append(i)
            places.append(np.array(nodes))
            found.append(int(shapes.codes[shapes.type_of[code]]))
            check_number(kernel, len(owner))
    codes, which = np.unique(np.array(found, dtype=np.int64), return_inverse=True)
    edges = [[pair for pair in pairs if code >> _bit(*pair) & 1] for code in codes.tolist()]
    worth = kernel.dot([Graph(kernel.k, some) for some in edges], support, coefficients) if found else np.empty(0)
    names = [_shape_name(kernel.k, some) for some in edges]
    which = which.reshape(-1)
    return [
        Pieces(np.array(owner, dtype=np.intp), [names[k] for k in which], places, worth[which], np.ones(len(which)))
    ]


def _connected(kernel: Graphlet, graph: Graph) -> list[tuple[int, ...]]:
    """Sets of k nodes that are connected: each is one of k - 1 nodes and a node next to it."""
    next_to: list[set[int]] = [set() for _ in range(graph.n_nodes)]
    for u, v in graph.edges.tolist():
        next_to[u].add(v)
        next_to[v].add(u)
    sets = {frozenset([v]) for v in range(graph.n_nodes)}
    for _ in range(kernel.k - 1):
        sets = {nodes | {u} for nodes in sets for v in nodes for u in next_to[v] - nodes}
        check_number(kernel, len(sets))
    return sorted(tuple(sorted(nodes)) for nodes in sets)


def _shape_name(k: int, edges: Iterable[tuple[int, int]]) -> str:
    """The edges of a small graph whose nodes are a, b, c, ...; nodes without an edge stand alone."""
    edges = list(edges)
    alone = set(range(k)) - {node for edge in edges for node in edge}
    return " ".join(["abcde"[i] + "abcde"[j] for i, j in edges] + ["abcde"[i] for i in sorted(alone)])
