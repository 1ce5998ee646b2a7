"""Kernels that count labels and small subgraphs."""

from functools import lru_cache
from itertools import combinations, permutations
from math import comb
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mercer import _native
from mercer.data.features import SparseFeatures
from mercer.kernels.graphs.base import GraphFeatureKernel, check_graphs
from mercer.parameters import Choice
from mercer.threads import effective_n_threads

__all__ = ["EdgeHistogram", "Graphlet", "VertexHistogram"]


class VertexHistogram(GraphFeatureKernel):
    r"""Vertex histogram kernel: the labels of nodes, counted.

    .. math:: k(G, G') = \sum_a n_a(G)\, n_a(G')

    with :math:`n_a` the number of nodes with label a.

    See Also
    --------
    WeisfeilerLehman : Labels together with those of neighbours.
    EdgeHistogram : The labels of edges.

    Notes
    -----
    Node labels count, and every graph must have them. Edges with their labels and weights, directions, loops and
    attributes of nodes do not count. A graph without nodes has the value 0 with every graph. Time O(n) for the
    features of a graph of n nodes.

    Examples
    --------
    >>> from mercer.data import Graph
    >>> from mercer.kernels import VertexHistogram
    >>> water = Graph(3, [(0, 1), (0, 2)], node_labels="OHH")
    >>> peroxide = Graph(4, [(0, 1), (0, 2), (1, 3)], node_labels="OOHH")
    >>> VertexHistogram()([water, peroxide])
    array([[5., 6.],
           [6., 8.]])
    """

    _counts_node_labels = True

    def _count(self, packed):
        return SparseFeatures(*_native.graph_labels(packed, 0, effective_n_threads()))


class EdgeHistogram(GraphFeatureKernel):
    r"""Edge histogram kernel: the labels of edges, counted.

    .. math:: k(G, G') = \sum_a m_a(G)\, m_a(G')

    with :math:`m_a` the number of edges with label a.

    Parameters
    ----------
    ends : bool, default=False
        Whether an edge is also told apart by the labels of the nodes that it joins; in their order if it is directed.
        Then graphs need labels of nodes, and edges without labels are all alike.

    See Also
    --------
    VertexHistogram : The labels of nodes.

    Notes
    -----
    Edge labels count, and node labels with ``ends=True``; weights and attributes of nodes do not. A loop is an edge. A
    graph without edges has the value 0 with every graph. Time O(m) for the features of a graph of m edges.

    Examples
    --------
    >>> from mercer.data import Graph
    >>> from mercer.kernels import EdgeHistogram
    >>> carbon_dioxide = Graph(3, [(0, 1), (0, 2)], node_labels="COO", edge_labels="==")
    >>> formaldehyde = Graph(4, [(0, 1), (0, 2), (0, 3)], node_labels="COHH", edge_labels="=--")
    >>> EdgeHistogram()([carbon_dioxide, formaldehyde])
    array([[4., 2.],
           [2., 5.]])
    """

    _parameters: ClassVar = {"ends": Choice(True, False)}

    def __init__(self, ends=False):
        self.ends = ends

    @property
    def _counts_node_labels(self) -> bool:  # type: ignore[override]
        return bool(self.ends)

    def _check_graphs(self, graphs, name):
        if not self.ends:
            rule = "EdgeHistogram works on graphs with edge labels; with ends=True the labels of nodes will do"
            check_graphs(graphs, name, rule, lambda graph: graph.edge_labels is not None)

    def _count(self, packed):
        return SparseFeatures(*_native.graph_edges(packed, self.ends, effective_n_threads()))


class Graphlet(GraphFeatureKernel):
    r"""Graphlet kernel: induced subgraphs of k nodes, counted by their shape.

    .. math:: k(G, G') = \sum_S c_S(G)\, c_S(G')

    with :math:`c_S` the number of sets of k nodes whose induced subgraph is isomorphic to S. Counts are exact. Those of
    connected subgraphs are found one by one; those of the others follow from products of the counts of their parts.

    Parameters
    ----------
    k : {3, 4, 5}, default=4
        Nodes of a subgraph. There are 2, 6 and 21 connected shapes of 3, 4 and 5 nodes, and 4, 11 and 34 in all.
    connected : bool, default=True
        Whether only connected subgraphs count.

    See Also
    --------
    WeisfeilerLehman : Neighbourhoods with labels.

    Notes
    -----
    Only whether two different nodes are joined counts: neither labels, weights, attributes of nodes nor loops.
    Directed graphs are refused. A graph of fewer than k nodes has the value 0 with every graph. Time grows with the
    number of connected subgraphs, at most :math:`O(n \Delta^{k-1})` for n nodes of at most :math:`\Delta` neighbours.

    References
    ----------
    .. [1] N. Shervashidze, S. V. N. Vishwanathan, T. Petri, K. Mehlhorn, K. Borgwardt, Efficient graphlet kernels for
       large graph comparison, 2009.
    .. [2] S. Wernicke, Efficient detection of network motifs, 2006.

    Examples
    --------
    >>> from mercer.data import Graph
    >>> from mercer.kernels import Graphlet
    >>> ring = Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)])
    >>> triangle_with_tail = Graph(4, [(0, 1), (1, 2), (0, 2), (2, 3)])
    >>> Graphlet(k=3)([ring, triangle_with_tail])
    array([[16.,  8.],
           [ 8.,  5.]])
    """

    _parameters: ClassVar = {"k": Choice(3, 4, 5), "connected": Choice(True, False)}

    def __init__(self, k=4, connected=True):
        self.k = k
        self.connected = connected

    def _check_graphs(self, graphs, name):
        check_graphs(graphs, name, "Graphlet works on graphs without directions", lambda graph: not graph.directed)

    def _count(self, packed):
        shapes = _shapes(self.k)
        counts = _connected_counts(packed, self.k) if self.connected else _all_counts(packed, self.k)
        kept = shapes.connected if self.connected else np.ones(len(shapes.codes), dtype=bool)
        values = np.asarray(counts, dtype=np.float64)[:, kept]
        keys = (shapes.codes[kept] + (self.k << 32)).astype(np.uint64)
        rows, columns = np.nonzero(values)
        starts = np.concatenate([[0], np.cumsum(np.count_nonzero(values, axis=1))])
        return SparseFeatures(keys[columns], values[rows, columns], starts)


# --- shapes of small graphs -------------------------------------------------------------------------------


class Shapes(NamedTuple):
    """The graphs of k nodes up to isomorphism. In a code, bit i (i - 1) / 2 + j says that nodes i and j < i are
    joined."""

    codes: np.ndarray
    """The smallest code of every shape, ascending."""
    type_of: np.ndarray
    """For every code the number of its shape."""
    connected: np.ndarray
    """Whether a shape is connected."""


def _bit(i: int, j: int) -> int:
    i, j = max(i, j), min(i, j)
    return i * (i - 1) // 2 + j


@lru_cache(maxsize=8)
def _shapes(k: int) -> Shapes:
    codes = np.arange(1 << (k * (k - 1) // 2))
    smallest = codes.copy()
    for order in permutations(range(k)):
        moved = np.zeros_like(codes)
        for i, j in combinations(range(k), 2):
            moved |= (codes >> _bit(i, j) & 1) << _bit(order[i], order[j])
        smallest = np.minimum(smallest, moved)
    found, type_of = np.unique(smallest, return_inverse=True)
    connected = np.array([len(_components(k, int(code))) == 1 for code in found])
    return Shapes(found, np.ascontiguousarray(type_of.reshape(-1), dtype=np.int64), connected)


def _components(k: int, code: int) -> list[list[int]]:
    parts = [[i] for i in range(k)]
    for i, j in combinations(range(k), 2):
        if code >> _bit(i, j) & 1:
            one = next(part for part in parts if i in part)
            other = next(part for part in parts if j in part)
            if one is not other:
                parts.remove(other)
                one += other
    return parts


def _induced(code: int, nodes: Any) -> tuple[int, int]:
    """Size and type of the subgraph that some nodes induce."""
    small = sum((code >> _bit(a, b) & 1) << _bit(i, j) for (i, a), (j, b) in combinations(enumerate(nodes), 2))
    return len(nodes), int(_shapes(len(nodes)).type_of[small])


def _connected_counts(packed: tuple[Any, ...], k: int) -> np.ndarray:
    """Induced subgraphs by shape, of shape (n, shapes of k nodes); zero for shapes that are not connected."""
    shapes = _shapes(k)
    counts: Any = _native.graph_subgraphs(packed, k, shapes.type_of, len(shapes.codes), effective_n_threads())
    return counts


def _all_counts(packed: tuple[Any, ...], k: int) -> np.ndarray:
    """Induced subgraphs by shape, connected or not, as Python's integers.

    Let S be a shape of parts A (connected) and B. Every pair of a copy of A and one of B covers a set of nodes, so that
    c_A c_B = sum_H c_H #{ways to cover H by a copy of A and one of B}, over shapes H of at most k nodes. Besides S
    these have fewer nodes, or k nodes and fewer parts.
    """
    counts = {size: _connected_counts(packed, size).astype(object) for size in range(1, k + 1)}
    for size in range(2, k + 1):
        for shape, first, rest, ways, itself in _covers(size):
            total = counts[first[0]][:, first[1]] * counts[rest[0]][:, rest[1]]
            for (other_size, other), number in ways:
                total = total - number * counts[other_size][:, other]
            counts[size][:, shape] = total // itself
    return counts[k]


@lru_cache(maxsize=8)
def _covers(k: int) -> list[tuple[int, tuple[int, int], tuple[int, int], list[tuple[tuple[int, int], int]], int]]:
    """For every shape of k nodes that is not connected, those of fewer parts first: the shape, two parts of it (size,
    type), in how many ways they cover other shapes, and in how many itself."""
    shapes = _shapes(k)
    parts = [_components(k, int(code)) for code in shapes.codes]
    found = []
    for shape in sorted(np.flatnonzero(~shapes.connected), key=lambda s: len(parts[s])):
        code = int(shapes.codes[shape])
        first = parts[shape][0]
        rest = [node for part in parts[shape][1:] for node in part]
        A, B = _induced(code, first), _induced(code, rest)
        ways = []
        itself = 0
        for size in range(1, k + 1):
            for other, other_code in enumerate(_shapes(size).codes):
                number = _ways_to_cover(size, int(other_code), A, B)
                if size == k and other == shape:
                    itself = number
                elif number:
                    ways.append(((size, other), number))
        found.append((int(shape), A, B, ways, itself))
    return found


def _ways_to_cover(size: int, code: int, A: tuple[int, int], B: tuple[int, int]) -> int:
    """Pairs of subsets of the nodes of a graph that induce A and B and together are all of them."""
    if size > A[0] + B[0] or comb(size, A[0]) == 0:
        return 0
    number = 0
    for one in combinations(range(size), A[0]):
        if _induced(code, one) != A:
            continue
        left = [node for node in range(size) if node not in one]
        if len(left) > B[0]:
            continue
        for more in combinations(one, B[0] - len(left)):
            number += _induced(code, tuple(sorted((*left, *more)))) == B
    return number
