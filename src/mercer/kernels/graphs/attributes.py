"""A kernel for graphs whose nodes have attributes."""

from typing import Any, ClassVar

import numpy as np

from mercer import _native
from mercer.data.graph import Graph
from mercer.kernels.base import Kernel
from mercer.kernels.graphs.base import (
    NODE_LABELS,
    GraphSamples,
    as_graphs,
    check_graphs,
    check_node_labels,
    pack,
)
from mercer.parameters import Number
from mercer.threads import effective_n_threads

__all__ = ["GraphHopper"]


class GraphHopper(Kernel):
    r"""GraphHopper kernel: shortest paths, compared node by node by their attributes.

    .. math:: k(G, G') = \sum_{\pi, \pi' : |\pi| = |\pi'|} \ \sum_{j=1}^{|\pi|} k_{\rm node}(\pi_j, \pi'_j), \qquad
              k_{\rm node}(v, v') = e^{-\gamma \|a_v - a_{v'}\|^2}\ [\text{labels are equal}]

    over all shortest paths :math:`\pi` of G and :math:`\pi'` of G' with equally many nodes, those of one node
    included. It is a sum over pairs of nodes, weighted by how often they stand at the same place of paths of the same
    length.

    Parameters
    ----------
    gamma : float >= 0, default=1.0
        Inverse width of the Gaussian kernel between attributes. Larger is more local. 0: attributes do not count.
    node_labels : bool, default=False
        Whether nodes must have the same label; then every graph must have labels.

    See Also
    --------
    ShortestPath : For labels, much cheaper.

    Notes
    -----
    Attributes of nodes count, with the same number of them in all graphs, labels of nodes if asked for, and
    directions; labels and weights of edges and loops do not: a shortest path has the fewest edges. A graph without
    nodes has the value 0 with every graph. Time O(n n' (d + l^2)) for a pair of graphs whose longest shortest path has
    l edges, and O(n m l) for each graph.

    References
    ----------
    .. [1] A. Feragen, N. Kasenburg, J. Petersen, M. de Bruijne, K. Borgwardt, Scalable kernels for graphs with
       continuous attributes, 2013.

    Examples
    --------
    >>> from mercer.data import Graph
    >>> from mercer.kernels import GraphHopper
    >>> corner = Graph(3, [(0, 1), (1, 2)], node_attributes=[[0, 1], [0, 0], [1, 0]])
    >>> line = Graph(3, [(0, 1), (1, 2)], node_attributes=[[-1, 0], [0, 0], [1, 0]])
    >>> GraphHopper(gamma=0.5)([corner, line]).round(3)
    array([[38.809, 34.486],
           [34.486, 36.484]])
    """

    domain = "graphs"
    _parameters: ClassVar = {"gamma": Number(0), "node_labels": NODE_LABELS}

    def __init__(self, gamma=1.0, node_labels=False):
        self.gamma = gamma
        self.node_labels = node_labels

    def prepare(self, X, Y=None):
        of_X = self._samples(X, "X")
        of_Y = of_X if Y is None or Y is X else self._samples(Y, "Y")
        widths = {_width(graph) for samples in (of_X, of_Y) for graph in samples.graphs if graph.n_nodes}
        if len(widths) > 1:
            found = " and ".join(map(str, sorted(widths)))
            raise ValueError(f"GraphHopper needs equally many attributes in all graphs, got {found}.")
        return of_X, of_Y

    def _samples(self, X: Any, name: str) -> GraphSamples:
        if isinstance(X, GraphSamples):
            return X
        graphs = as_graphs(X, "GraphHopper", name)
        rule = "GraphHopper works on graphs with attributes of nodes"
        check_graphs(graphs, name, rule, lambda graph: graph.node_attributes is not None or graph.n_nodes == 0)
        if self.node_labels:
            check_node_labels(graphs, "GraphHopper", name, optional=True)
        return GraphSamples(graphs)

    def _native(self, samples: GraphSamples, width: int) -> tuple[Any, np.ndarray]:
        packed = samples.packed("hops", lambda graphs: pack(graphs, node_labels=self.node_labels, edge_labels=False))
        having = [graph.node_attributes for graph in samples.graphs if graph.n_nodes]
        return packed, samples.packed("attributes", lambda _: np.concatenate([np.empty((0, width)), *having]))

    def _matrix(self, X, Y):
        return self._values(X, Y, slope=False)

    def _values(self, X: GraphSamples, Y: GraphSamples, slope: bool) -> np.ndarray:
        width = next((_width(graph) for samples in (X, Y) for graph in samples.graphs if graph.n_nodes), 0)
        sides = *self._native(X, width), *self._native(Y, width)
        values: Any = _native.graph_hopper(*sides, float(self.gamma), slope, effective_n_threads())
        return values

    def _diag(self, X):
        width = next((_width(graph) for graph in X.graphs if graph.n_nodes), 0)
        return _native.graph_hopper_diag(*self._native(X, width), float(self.gamma), effective_n_threads())

    def _vjp(self, X, W):
        return {"gamma": float(np.vdot(W, self._values(X, X, slope=True)))}


def _width(graph: Graph) -> int:
    return 0 if graph.node_attributes is None else graph.node_attributes.shape[1]
