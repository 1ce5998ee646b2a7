"""Kernels of labels that grow round by round."""

from typing import ClassVar

from mercer import _native
from mercer.data.features import SparseFeatures
from mercer.kernels.graphs.base import NODE_LABELS, GraphFeatureKernel
from mercer.kernels.graphs.counts import VertexHistogram
from mercer.parameters import Number
from mercer.threads import effective_n_threads

__all__ = ["WeisfeilerLehman", "WeisfeilerLehmanOptimalAssignment"]


class _Refining(GraphFeatureKernel):
    """Labels of h rounds, counted."""

    _parameters: ClassVar = {"h": Number(0, integer=True), "node_labels": NODE_LABELS}

    @property
    def _counts_node_labels(self) -> bool:  # type: ignore[override]
        return bool(self.node_labels)

    def _count(self, packed):
        return SparseFeatures(*_native.graph_labels(packed, int(self.h), effective_n_threads()))


class WeisfeilerLehman(_Refining):
    r"""Weisfeiler-Lehman kernel: neighbourhoods of nodes, counted.

    Every node starts with its label. In every round the label of a node, with the labels of its neighbours and of the
    edges to them, makes its next label: after t rounds it stands for what can be seen within t steps,

    .. math:: \ell_{t+1}(v) = \mathrm{key}\bigl(\ell_t(v), \{(e_{vu}, \ell_t(u)) : u \text{ next to } v\}\bigr),
              \qquad k(G, G') = \sum_{t=0}^{h} k_{\rm base}(G_t, G'_t)

    where :math:`e_{vu}` is the label of an edge and :math:`G_t` is G with the labels of round t.

    Parameters
    ----------
    h : int >= 0, default=5
        Rounds after the first labels. Larger sees further; what hardly two graphs share makes the matrix diagonal.
    base : kernel on graphs that counts labels of nodes, default=None
        None: `VertexHistogram`, which gives the subtree kernel. ``EdgeHistogram(ends=True)`` and ``ShortestPath()``
        give the edge and the shortest-path kernel of [1]_.
    node_labels : bool, default=True
        Whether labels of nodes count; then every graph must have them. False: all nodes are alike at first, and the
        first round tells them apart by the number of neighbours.

    See Also
    --------
    WeisfeilerLehmanOptimalAssignment : The same labels, matched instead of multiplied; often more accurate.
    ShortestPath : Sees the whole graph, but only pairs of nodes.

    Notes
    -----
    Labels of nodes and of edges count; weights count where `base` says so, attributes of nodes do not. Edges without
    labels are alike, and different from all that have one. In a directed graph the neighbours of a node are those that
    its edges lead to; with a loop a node is its own neighbour. A graph without nodes has the value 0 with every graph.

    Labels are hashed to 64 bits by their content, so that every graph has its features alone (`features`). Time O(h m)
    for the features of a graph of m edges.

    References
    ----------
    .. [1] N. Shervashidze, P. Schweitzer, E. J. van Leeuwen, K. Mehlhorn, K. M. Borgwardt, Weisfeiler-Lehman graph
       kernels, 2011.

    Examples
    --------
    >>> from mercer.data import Graph
    >>> from mercer.kernels import WeisfeilerLehman
    >>> water = Graph(3, [(0, 1), (0, 2)], node_labels="OHH")
    >>> peroxide = Graph(4, [(0, 1), (0, 2), (1, 3)], node_labels="OOHH")
    >>> WeisfeilerLehman(h=1)([water, peroxide])
    array([[10., 10.],
           [10., 16.]])
    """

    def __init__(self, h=5, base=None, node_labels=True):
        self.h = h
        self.base = base
        self.node_labels = node_labels

    def _check_parameters(self):
        super()._check_parameters()
        if self.base is not None:
            if not isinstance(self.base, GraphFeatureKernel) or isinstance(self.base, _Refining):
                raise TypeError(f"base must be None or a kernel that counts in graphs, got {self.base!r}.")
            self.base._check_parameters()
            if not self.base._counts_node_labels:
                raise ValueError(f"base must count the labels of nodes, {self.base!r} does not.")

    def _check_graphs(self, graphs, name):
        if self.base is not None:
            self.base._check_graphs(graphs, name)

    def _pack(self, graphs, node_labels):
        packed = super()._pack(graphs, node_labels)
        if self.base is None or isinstance(self.base, VertexHistogram):
            return packed
        # One after the other the labels of all rounds, with what the base looks at besides them.
        rounds = _native.graph_refined(packed, int(self.h), effective_n_threads())
        nodes, arcs, targets, _, *others = self.base._pack(graphs, node_labels=False)
        return [(nodes, arcs, targets, labels, *others) for labels in rounds]

    def _count(self, packed):
        if isinstance(packed, tuple):
            return super()._count(packed)
        return SparseFeatures.side_by_side([self.base._count(one) for one in packed])


class WeisfeilerLehmanOptimalAssignment(_Refining):
    r"""Weisfeiler-Lehman optimal assignment kernel: how well the nodes of two graphs can be matched.

    .. math:: k(G, G') = \max_{\text{matchings } M} \sum_{(v, v') \in M} \sum_{t=0}^{h} [\ell_t(v) = \ell_t(v')]
              = \sum_{\ell} \min(n_\ell(G), n_\ell(G'))

    with the labels of `WeisfeilerLehman`, and :math:`n_\ell` the number of nodes that have a label in its round.
    Because labels of later rounds are finer, the best matching is an intersection of histograms, and the kernel
    positive semi-definite.

    Parameters
    ----------
    h : int >= 0, default=5
        Rounds after the first labels.
    node_labels : bool, default=True
        Whether labels of nodes count; then every graph must have them. False: all nodes are alike at first.

    See Also
    --------
    WeisfeilerLehman : The same labels; what occurs often counts more.

    Notes
    -----
    What counts is as for `WeisfeilerLehman`. There are no finite feature vectors whose products are the kernel values
    at hand, so that `features` is refused.

    References
    ----------
    .. [1] N. M. Kriege, P.-L. Giscard, R. Wilson, On valid optimal assignment kernels and applications to graph
       classification, 2016.

    Examples
    --------
    >>> from mercer.data import Graph
    >>> from mercer.kernels import WeisfeilerLehmanOptimalAssignment
    >>> water = Graph(3, [(0, 1), (0, 2)], node_labels="OHH")
    >>> peroxide = Graph(4, [(0, 1), (0, 2), (1, 3)], node_labels="OOHH")
    >>> WeisfeilerLehmanOptimalAssignment(h=1)([water, peroxide])
    array([[6., 5.],
           [5., 8.]])
    """

    join = "min"

    def __init__(self, h=5, node_labels=True):
        self.h = h
        self.node_labels = node_labels
