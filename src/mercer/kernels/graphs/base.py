"""Graphs as samples: checked, and packed for the native loops."""

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import numpy as np

from mercer.data.features import SparseFeatures
from mercer.data.graph import Graph
from mercer.data.objects import listed
from mercer.errors import DomainError
from mercer.kernels.features import FeatureKernel
from mercer.kernels.samples import describe
from mercer.parameters import Choice

__all__ = [
    "NODE_LABELS",
    "GraphFeatureKernel",
    "GraphSamples",
    "as_graphs",
    "check_graphs",
    "check_node_labels",
    "pack",
]

# The rule of the parameter `node_labels`.
NODE_LABELS = Choice(True, False)
# What is not labelled has this key, in native code too.
NO_LABEL = 0x6E6F206C6162656C


def as_graphs(X: Any, owner: str, name: str) -> list[Graph]:
    """Samples as a list of graphs; `owner` is the kernel that asks and `name` the argument, for the messages."""
    graphs = listed(X)
    if graphs is None or not all(isinstance(graph, Graph) for graph in graphs):
        raise DomainError(f"{owner} works on graphs, got {describe(X)} as {name}; make them with mercer.data.Graph.")
    return graphs


def check_graphs(graphs: list[Graph], name: str, rule: str, holds: Callable[[Graph], bool]) -> None:
    """Refuse the first graph for which a rule does not hold."""
    for i, graph in enumerate(graphs):
        if not holds(graph):
            raise DomainError(f"{rule}, got {graph!r} as {name}[{i}].")


def check_node_labels(graphs: list[Graph], owner: str, name: str, optional: bool) -> None:
    way_out = "; with node_labels=False all nodes are alike" if optional else ""
    rule = f"{owner} works on graphs with node labels{way_out}"
    check_graphs(graphs, name, rule, lambda graph: graph.node_labels is not None)


def pack(graphs: list[Graph], *, node_labels: bool, edge_labels: bool = True, weights: bool = False) -> tuple[Any, ...]:
    """Graphs one after the other, as the native functions take them: with those of their parts that count."""
    nodes = np.zeros(len(graphs) + 1, dtype=np.int64)
    np.cumsum([graph.n_nodes for graph in graphs], out=nodes[1:])
    arcs = np.zeros(nodes[-1] + 1, dtype=np.int64)
    np.cumsum(_joined((graph._degrees for graph in graphs), np.int64), out=arcs[1:])
    arc_keys = arc_weights = None
    if edge_labels and any(graph._arc_keys is not None for graph in graphs):
        keys = [np.full(len(g._targets), NO_LABEL, np.uint64) if g._arc_keys is None else g._arc_keys for g in graphs]
        arc_keys = _joined(keys, np.uint64)
    if weights and any(graph.weights is not None for graph in graphs):
        each = [np.ones(len(g._targets)) if g.weights is None else g.weights[g._arc_edges] for g in graphs]
        arc_weights = _joined(each, np.float64)
    return (
        nodes,
        arcs,
        _joined((graph._targets for graph in graphs), np.int32),
        _joined((graph._node_keys for graph in graphs), np.uint64) if node_labels else None,
        arc_keys,
        arc_weights,
        np.array([graph.directed for graph in graphs], dtype=np.uint8),
    )


def _joined(parts: Iterable[Any], dtype: Any) -> np.ndarray:
    return np.concatenate([np.empty(0, dtype), *parts])


class GraphSamples:
    """Graphs that were checked, for kernels that look at pairs of them."""

    __slots__ = ("_packed", "graphs")

    def __init__(self, graphs: list[Graph]):
        self.graphs = graphs
        self._packed: dict[Any, Any] = {}

    @property
    def shape(self) -> tuple[int]:
        """Number of samples, as an array of samples would have it."""
        return (len(self.graphs),)

    def __getitem__(self, rows: Any) -> "GraphSamples":
        """Some of the samples, by a slice, their numbers or a mask."""
        return GraphSamples([self.graphs[i] for i in np.arange(len(self.graphs))[rows]])

    def packed(self, name: str, make: Callable[[list[Graph]], Any]) -> Any:
        """What `make` makes of the graphs, kept under a name: the same arrays for the same samples."""
        if name not in self._packed:
            self._packed[name] = make(self.graphs)
        return self._packed[name]


class GraphFeatureKernel(FeatureKernel):
    """A kernel that counts something in each graph."""

    domain: ClassVar[str] = "graphs"
    _counts_node_labels: ClassVar[bool] = False
    """Whether labels of nodes are part of what is counted; every graph must then have them."""

    def _features(self, X, name):
        graphs = as_graphs(X, type(self).__name__, name)
        if self._counts_node_labels:
            check_node_labels(graphs, type(self).__name__, name, optional=hasattr(self, "node_labels"))
        self._check_graphs(graphs, name)
        return self._count(self._pack(graphs, self._counts_node_labels))

    def _check_graphs(self, graphs: list[Graph], name: str) -> None:
        """Refuse graphs that the kernel cannot work on, for other reasons than labels of nodes."""

    def _pack(self, graphs: list[Graph], node_labels: bool) -> Any:
        return pack(graphs, node_labels=node_labels)

    @abstractmethod
    def _count(self, packed: Any) -> SparseFeatures:
        """What the packed graphs have."""
