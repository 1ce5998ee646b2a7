"""Parse trees."""

from collections import Counter
from typing import Any, Self

import numpy as np

from mercer.data import Tree
from mercer.explanations import explain
from mercer.plots.base import DIVERGING, Display, ink, is_dark, require_pyplot


class TreeDisplay(Display):
    """A tree above its leaves, which stand in a row: a parse above its sentence.

    Parameters
    ----------
    labels : list of str
        Of the nodes, parents before children, from left to right.
    parents : list of int
        The number of the parent of every node; -1 for the root.
    positions : array-like of shape (n_nodes, 2)
        Leaves are at height 0, others one above their highest child and in the middle above their outermost ones.
    wrong : array-like of bool of shape (n_nodes,), default=None
        Nodes to be drawn in another colour; None: none.
    values : array-like of shape (n_nodes,), default=None
        Weights of the nodes, as colours behind their labels; None: none.

    Attributes
    ----------
    labels, parents, positions, wrong, values
        What is drawn.
    ax_ : matplotlib Axes
        The axes of the last drawing.
    figure_ : matplotlib Figure
        The figure of the last drawing.
    texts_ : list of matplotlib Text
        The labels.
    edges_ : list of matplotlib Line2D
        One above every node but the root.
    colorbar_ : matplotlib Colorbar or None
        The scale of the weights.

    See Also
    --------
    mercer.structured.Parser : Learns to parse.
    GraphDisplay, SequenceDisplay : Weights on nodes of graphs, on letters.

    Examples
    --------
    >>> from mercer.data import Tree
    >>> from mercer.plots import TreeDisplay
    >>> display = TreeDisplay.from_tree(Tree.from_string("(S (NP Paul) (VP runs))"))
    >>> display.positions.tolist()
    [[0.5, 2.0], [0.0, 1.0], [0.0, 0.0], [1.0, 1.0], [1.0, 0.0]]
    """

    texts_: list[Any]
    edges_: list[Any]
    colorbar_: Any

    def __init__(self, labels: Any, parents: Any, positions: Any, wrong: Any = None, values: Any = None) -> None:
        self.labels = list(labels)
        self.parents = list(parents)
        self.positions = np.asarray(positions, dtype=np.float64)
        self.wrong = np.zeros(len(self.labels), dtype=bool) if wrong is None else np.asarray(wrong, dtype=bool)
        self.values = None if values is None else np.asarray(values, dtype=np.float64)
        if self.values is not None and self.values.shape != (len(self.labels),):
            raise ValueError(
                f"values must have one number for each of {len(self.labels)} nodes, got shape {self.values.shape}."
            )

    @classmethod
    def from_tree(cls, tree: Tree, right: Tree | None = None, *, ax: Any = None, **style: Any) -> Self:
        """Draw a tree.

        Parameters
        ----------
        tree : Tree
        right : Tree, default=None
            Another tree of the same leaves: a node of `tree` is wrong if `right` has none with its label above the same
            leaves.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **style
            Options of the labels, such as ``fontsize``, for matplotlib.

        Returns
        -------
        TreeDisplay
        """
        require_pyplot(f"{cls.__name__}.from_tree")
        spans, parents, positions = _laid_out(tree)
        wrong = [False] * len(spans)
        if right is not None:
            if right.leaves != tree.leaves:
                raise ValueError(f"right must have the leaves {tree.leaves}, got {right.leaves}.")
            left = Counter(_laid_out(right)[0])
            for k, span in enumerate(spans):
                wrong[k] = not left[span]
                left[span] -= 1
        return cls([str(label) for label, _, _ in spans], parents, positions, wrong).plot(ax, **style)

    @classmethod
    def from_estimator(cls, machine: Any, tree: Tree, *, function: int = 0, ax: Any = None, **style: Any) -> Self:
        """Draw what the nodes of a tree add to its decision value.

        Parameters
        ----------
        machine : fitted machine
            With a kernel on trees that counts pieces, such as `SubTree` or `SubsetTree`. The nodes of a subtree share
            what it adds equally; fragments of all sizes count for their root.
        tree : Tree
        function : int >= 0, default=0
            Which function, a row of ``dual_coef_``, of machines that have several.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **style
            Options of the labels, such as ``fontsize``, for matplotlib.

        Returns
        -------
        TreeDisplay
        """
        require_pyplot(f"{cls.__name__}.from_estimator")
        if not isinstance(tree, Tree):
            raise TypeError(f"tree must be a mercer.data.Tree, got {type(tree).__name__}.")
        shares = explain(machine, tree, function=function).shares
        spans, parents, positions = _laid_out(tree)
        return cls([str(label) for label, _, _ in spans], parents, positions, values=shares).plot(ax, **style)

    def _draw(self, ax: Any, **style: Any) -> None:
        # The line above a node has its colour, and ends behind the labels.
        colours = ["C3" if wrong else ink() for wrong in self.wrong]
        self.edges_ = [
            ax.plot(*self.positions[[parent, k]].T, color=colours[k], linewidth=0.8, zorder=1)[0]
            for k, parent in enumerate(self.parents)
            if parent >= 0
        ]
        ground = {"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 1.5}
        style = {"ha": "center", "va": "center", "bbox": ground, **style}
        words = set(range(len(self.labels))) - set(self.parents)
        self.colorbar_ = self._weigh(ax)
        self.texts_ = [
            ax.text(x, y, label, color=colour, style="italic" if k in words else "normal", **style)
            for k, ((x, y), label, colour) in enumerate(zip(self.positions, self.labels, colours, strict=True))
        ]
        if self.colorbar_ is not None:
            for text, colour in zip(self.texts_, self.colorbar_.mappable.to_rgba(self.values), strict=True):
                text.set_color("white" if is_dark(colour) else "black")
                text.set_bbox({"facecolor": colour, "edgecolor": "0.6", "linewidth": 0.5, "boxstyle": "round"})
        (left, low), (right, high) = self.positions.min(axis=0), self.positions.max(axis=0)
        ax.set(xlim=(left - 0.6, right + 0.6), ylim=(low - 0.4, high + 0.4))
        ax.set_axis_off()

    def _weigh(self, ax: Any) -> Any:
        """The scale of the weights, None for none."""
        if self.values is None:
            return None
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize

        reach = float(np.abs(self.values).max(initial=0.0)) or 1.0
        scale = ScalarMappable(Normalize(-reach, reach), DIVERGING)
        return ax.figure.colorbar(scale, ax=ax, label="share of the decision value", shrink=0.8)


def _laid_out(tree: Tree) -> tuple[list[tuple[Any, int, int]], list[int], list[tuple[float, float]]]:
    """Of every node in preorder: its label and where its leaves begin and end, its parent, and its place."""
    nodes = list(tree.preorder())
    spans: list[tuple[Any, int, int]] = [(None, 0, 0)] * len(nodes)
    parents, places = [-1] * len(nodes), [(0.0, 0.0)] * len(nodes)
    waiting: list[int] = []
    leaf = len(tree.leaves)
    for k in range(len(nodes) - 1, -1, -1):
        label, arity = nodes[k]
        if arity:
            below = [waiting.pop() for _ in range(arity)]
            for child in below:
                parents[child] = k
            middle = 0.5 * (places[below[0]][0] + places[below[-1]][0])
            places[k] = middle, 1.0 + max(places[child][1] for child in below)
            spans[k] = label, spans[below[0]][1], spans[below[-1]][2]
        else:
            leaf -= 1
            places[k], spans[k] = (float(leaf), 0.0), (label, leaf, leaf + 1)
        waiting.append(k)
    return spans, parents, places
