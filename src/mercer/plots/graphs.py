"""Graphs whose nodes have weights."""

from typing import Any, Self

import numpy as np

from mercer.data import Graph
from mercer.data.layout import graph_places
from mercer.explanations import explain
from mercer.plots.base import DIVERGING, Display, ink, is_dark, require_pyplot


class GraphDisplay(Display):
    """A graph in the plane, with its labels, and nodes coloured by weights.

    `from_estimator` colours nodes by what they add to a decision value (`mercer.explanations.explain`): a
    neighbourhood, or whatever else a kernel counts, shares what it adds equally among the nodes that it is made of.

    Parameters
    ----------
    graph : Graph
    values : array-like of shape (n_nodes,), default=None
        Weights of the nodes; None: all alike.
    places : array-like of shape (n_nodes, 2), default=None
        Where nodes are drawn; None: so that distances are numbers of edges, as far as possible.
    value_name : str, default="weight"
        What the weights are.

    Attributes
    ----------
    graph, values, places, value_name
        What is drawn.
    ax_ : matplotlib Axes
        The axes of the last drawing.
    figure_ : matplotlib Figure
        The figure of the last drawing.
    nodes_ : matplotlib PathCollection
        The nodes.
    edges_ : matplotlib LineCollection
        The edges, in the order of ``graph.edges``.
    colorbar_ : matplotlib Colorbar or None
        The scale of the weights.

    See Also
    --------
    FeatureWeightsDisplay : The neighbourhoods with the largest weights.
    SequenceDisplay : Letters with weights.

    Notes
    -----
    The layout takes O(n³) time for n nodes; it is for graphs of up to some hundreds.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.datasets import make_molecules
    >>> from mercer.kernels import WeisfeilerLehman
    >>> from mercer.plots import GraphDisplay
    >>> molecules, in_ring = make_molecules(100, random_state=0)
    >>> machine = SVC(WeisfeilerLehman(1), C=10.0).fit(molecules, in_ring)
    >>> display = GraphDisplay.from_estimator(machine, molecules[1])
    >>> display.graph.node_labels[display.values.argmax()]
    'N'
    """

    nodes_: Any
    edges_: Any
    colorbar_: Any

    def __init__(self, graph: Graph, values: Any = None, *, places: Any = None, value_name: str = "weight") -> None:
        self.graph = graph
        self.values = None if values is None else np.asarray(values, dtype=np.float64)
        self.places = graph_places(graph) if places is None else np.asarray(places, dtype=np.float64)
        self.value_name = value_name
        if self.values is not None and self.values.shape != (graph.n_nodes,):
            raise ValueError(
                f"values must have one number for each of {graph.n_nodes} nodes, got shape {self.values.shape}."
            )
        if self.places.shape != (graph.n_nodes, 2):
            raise ValueError(f"places must have shape ({graph.n_nodes}, 2), got {self.places.shape}.")

    @classmethod
    def from_graph(cls, graph: Graph, values: Any = None, *, places: Any = None, ax: Any = None, **style: Any) -> Self:
        """Draw a graph.

        Parameters
        ----------
        graph : Graph
        values : array-like of shape (n_nodes,), default=None
            Weights of the nodes; None: all alike.
        places : array-like of shape (n_nodes, 2) or dict, default=None
            Where nodes are drawn, for instance as networkx lays them out, by name; None: as numbers of edges.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **style
            Options of the nodes, for matplotlib.

        Returns
        -------
        GraphDisplay
        """
        require_pyplot(f"{cls.__name__}.from_graph")
        _check(graph)
        return cls(graph, values, places=_placed(graph, places)).plot(ax, **style)

    @classmethod
    def from_estimator(
        cls, machine: Any, graph: Graph, *, function: int = 0, places: Any = None, ax: Any = None, **style: Any
    ) -> Self:
        """Draw what the nodes of a graph add to its decision value.

        Parameters
        ----------
        machine : fitted machine
            With a kernel on graphs that counts pieces, see `mercer.explanations.take_apart`.
        graph : Graph
        function : int >= 0, default=0
            Which function, a row of ``dual_coef_``, of machines that have several.
        places, ax, **style
            As for `from_graph`.

        Returns
        -------
        GraphDisplay
        """
        require_pyplot(f"{cls.__name__}.from_estimator")
        _check(graph)
        shares = explain(machine, graph, function=function).shares
        name = "share of the decision value"
        return cls(graph, shares, places=_placed(graph, places), value_name=name).plot(ax, **style)

    def _draw(self, ax: Any, **style: Any) -> None:
        from matplotlib.collections import LineCollection

        ends: Any = self.places[self.graph.edges] if self.graph.n_edges else np.empty((0, 2, 2))
        self.edges_ = ax.add_collection(LineCollection(ends, colors="0.6", linewidths=1.2, zorder=1))
        style = {"s": 190, "edgecolors": "0.4", "linewidths": 0.8, "zorder": 2, **style}
        self.colorbar_ = None
        if self.values is None:
            self.nodes_ = ax.scatter(*self.places.T, **{"color": "0.85", **style})
        else:
            reach = float(np.abs(self.values).max(initial=0.0)) or 1.0
            style = {"cmap": DIVERGING, "vmin": -reach, "vmax": reach, **style}
            self.nodes_ = ax.scatter(*self.places.T, c=self.values, **style)
            self.colorbar_ = ax.figure.colorbar(self.nodes_, ax=ax, label=self.value_name, shrink=0.8)
        if self.graph.node_labels is not None:
            self.nodes_.update_scalarmappable()
            colours = np.broadcast_to(self.nodes_.get_facecolors(), (self.graph.n_nodes, 4))
            for (x, y), label, on_dark in zip(self.places, self.graph.node_labels, is_dark(colours), strict=True):
                word = {"ha": "center", "va": "center_baseline", "fontsize": 8, "zorder": 3}
                ax.text(x, y, str(label), color="white" if on_dark else "black", **word)
        if self.graph.edge_labels is not None:
            around = {"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 0.5}
            for (x, y), label in zip(ends.mean(axis=1), self.graph.edge_labels, strict=True):
                ax.text(x, y, str(label), ha="center", va="center", fontsize=6, color=ink(), bbox=around, zorder=1.5)
        ax.set_aspect("equal")
        ax.margins(0.12)
        ax.set_axis_off()


def _check(graph: Any) -> None:
    if not isinstance(graph, Graph):
        raise TypeError(f"graph must be a mercer.data.Graph, got {type(graph).__name__}.")


def _placed(graph: Graph, places: Any) -> Any:
    """Places by the numbers of nodes, where they are given by name."""
    if not hasattr(places, "keys"):
        return places
    names = range(graph.n_nodes) if graph.names is None else graph.names
    return [places[name] for name in names]
