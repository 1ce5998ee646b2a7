"""The kernel of shortest paths."""

from typing import ClassVar

from mercer import _native
from mercer.data.features import SparseFeatures
from mercer.kernels.graphs.base import NODE_LABELS, GraphFeatureKernel, check_graphs, pack
from mercer.parameters import Number
from mercer.threads import effective_n_threads

__all__ = ["ShortestPath"]


class ShortestPath(GraphFeatureKernel):
    r"""Shortest-path kernel: pairs of nodes, counted by their labels and the distance between them.

    .. math:: k(G, G') = \sum_{a, b, \ell} n_{ab\ell}(G)\, n_{ab\ell}(G')

    with :math:`n_{ab\ell}` the number of pairs of different nodes (u, v), in both orders, with the labels a and b and
    a shortest path of length :math:`\ell` from u to v. Nodes that are not connected make no pair.

    Parameters
    ----------
    node_labels : bool, default=True
        Whether labels of nodes count; then every graph must have them. False: all nodes are alike.
    unit : float > 0, default=None
        Lengths are rounded to multiples of it. Larger takes more lengths for equal. None: lengths must be equal to the
        last bit, as they are where weights are whole numbers.

    See Also
    --------
    WeisfeilerLehman : With ``base=ShortestPath()``, shortest paths between neighbourhoods.
    GraphHopper : Shortest paths compared node by node, for attributes.

    Notes
    -----
    Weights are lengths of edges, which must not be negative; without weights every edge has length 1. Directions
    count, labels of edges, attributes of nodes and loops do not. A graph of one node has the value 0 with every graph.
    Time for the features of a graph of n nodes and m edges is O(nm), with weights O(nm log n).

    References
    ----------
    .. [1] K. M. Borgwardt, H.-P. Kriegel, Shortest-path kernels on graphs, 2005.

    Examples
    --------
    >>> from mercer.data import Graph
    >>> from mercer.kernels import ShortestPath
    >>> water = Graph(3, [(0, 1), (0, 2)], node_labels="OHH")
    >>> peroxide = Graph(4, [(0, 1), (0, 2), (1, 3)], node_labels="OOHH")
    >>> ShortestPath()([water, peroxide])
    array([[12.,  8.],
           [ 8., 24.]])
    """

    _parameters: ClassVar = {"node_labels": NODE_LABELS, "unit": Number(0, above=True, none=True)}

    def __init__(self, node_labels=True, unit=None):
        self.node_labels = node_labels
        self.unit = unit

    @property
    def _counts_node_labels(self) -> bool:  # type: ignore[override]
        return bool(self.node_labels)

    def _check_graphs(self, graphs, name):
        rule = "ShortestPath works on graphs with weights >= 0"
        check_graphs(graphs, name, rule, lambda graph: graph.weights is None or not (graph.weights < 0).any())

    def _pack(self, graphs, node_labels):
        return pack(graphs, node_labels=node_labels, edge_labels=False, weights=True)

    def _count(self, packed):
        return SparseFeatures(*_native.graph_paths(packed, float(self.unit or 0.0), effective_n_threads()))
