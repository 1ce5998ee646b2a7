"""Classes in a tree, or in a graph of broader and narrower ones."""

from collections.abc import Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from mercer.parameters import Choice, Number
from mercer.structured.classes import ClassModel, as_names

__all__ = ["Taxonomy"]


class Taxonomy(ClassModel):
    """Classes that are nodes of a taxonomy, and share the weights of their ancestors.

    .. math:: w \\cdot \\Psi(x, y) = \\sum_{v \\in \\{y\\} \\cup \\mathrm{ancestors}(y)} w_v \\cdot x

    The loss is the distance of two classes: the length of the shortest path from one to the other along edges of the
    taxonomy, upwards and downwards. It is a metric, and what is near in the taxonomy is a cheap mistake. [1]_ [2]_

    A root that is above everything has no weights, since all outputs would share them. If there are several roots, each
    has its own, and for distances they hang from one node above them by edges of length one.

    Parameters
    ----------
    parents : dict, networkx.DiGraph or None, default=None
        The parents of every node: one, a list or tuple of several, a dict of parents with the lengths of the edges to
        them, or None for a root; edges are of length one unless they are said to be longer or shorter. Of a graph, with
        edges from parents to children, "weight" is the length. None: classes are paths such as ``"animal:bird"``, and
        the taxonomy is that of the classes learnt from.
    outputs : {"leaves", "nodes"}, default="leaves"
        What is predicted: nodes without children, or any.
    separator : str, default=":"
        What is between the names of a path.
    features : transformer, Kernel or None, default=None
        What turns samples into rows, see `mercer.structured.rows`; None: they are rows of numbers.
    bias : float >= 0, default=0.0
        A further feature that is the same for all samples; its weights are regularised as all others. Larger means
        cheaper offsets.

    Attributes
    ----------
    classes_ : array
        Of the resolved model: the outputs.

    See Also
    --------
    Multiclass : Classes without a taxonomy; the same as one in which all hang from the root, where each costs two.
    mercer.plots.TaxonomyDisplay : Confusion of classes at one depth of a taxonomy.

    Notes
    -----
    An oracle costs O(n_nodes n_features) for the scores of nodes, by one product, and their sums along ancestors.
    Memory O(n_classes^2) for the distances.

    References
    ----------
    .. [1] L. Cai, T. Hofmann, Hierarchical document categorization with support vector machines, CIKM 2004.
    .. [2] O. Dekel, J. Keshet, Y. Singer, Large margin hierarchical classification, ICML 2004.

    Examples
    --------
    >>> from mercer.structured import StructuredSVM, Taxonomy
    >>> X = [[1.0, 1.0], [1.0, -1.0], [-1.0, 0.0]]
    >>> machine = StructuredSVM(Taxonomy(), C=10.0).fit(X, ["animal:bird", "animal:fish", "plant"])
    >>> machine.predict([[2.0, 1.0], [-1.0, -1.0]]).tolist()
    ['animal:bird', 'plant']
    >>> machine.model_.distances(["animal:bird"] * 2, ["animal:fish", "plant"])
    array([2., 3.])
    """

    _parameters: ClassVar[dict[str, Any]] = ClassModel._parameters | {"outputs": Choice("leaves", "nodes")}

    def __init__(self, parents=None, *, outputs="leaves", separator=":", features=None, bias=0.0):
        self.parents = parents
        self.outputs = outputs
        self.separator = separator
        self.features = features
        self.bias = bias

    def _learnt(self, Y):
        if not (isinstance(self.separator, str) and self.separator):
            raise ValueError(f"separator must be a string of at least one character, got {self.separator!r}.")
        parents = paths_of(Y, self.separator) if self.parents is None else self.parents
        self._hierarchy = hierarchy = Hierarchy.of(parents)
        chosen = hierarchy.leaves if self.outputs == "leaves" else np.arange(len(hierarchy.names))
        return as_names([hierarchy.names[k] for k in chosen]), hierarchy.parts(chosen), hierarchy.distances(chosen)

    def _refusal(self, name):
        if name in self._hierarchy.names:
            return (
                f"y must be leaves of the taxonomy, got {name!r}, which has children; outputs='nodes' takes all nodes."
            )
        return f"y must be of the taxonomy, got {name!r}."

    def distances(self, Y, Z) -> np.ndarray:
        """The distances of classes from others, of the resolved model.

        Parameters
        ----------
        Y, Z : sequences of length n
            Outputs.

        Returns
        -------
        array of shape (n,)
        """
        return self.losses(self.encode(None, Y), self.encode(None, Z))

    def at_depth(self, Y, depth: int) -> np.ndarray:
        """What classes are in a coarser taxonomy: their ancestors at a depth, of the resolved model.

        Parameters
        ----------
        Y : sequence of length n
            Outputs.
        depth : int >= 1
            1: the children of the root, or the roots themselves if there are several.

        Returns
        -------
        array of shape (n,)
            Classes above that depth stay as they are.
        """
        if problem := Number(1, integer=True).problem(depth):
            raise ValueError(f"depth {problem}")
        lineages = map(self._hierarchy.lineage, self.classes_.tolist())
        return as_names([line[min(depth, len(line)) - 1] for line in lineages])[self.encode(None, Y)]


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Nodes with parents, without cycles.

    Parameters
    ----------
    names : list of hashables
        Parents before children.
    parents : list of dict
        Per node, the numbers of its parents, with the lengths of the edges to them.
    """

    names: list[Any]
    parents: list[dict[int, float]]

    @classmethod
    def of(cls, parents: Any) -> "Hierarchy":
        """From what `Taxonomy` takes."""
        above = edges_of(parents)
        if not above:
            raise ValueError("parents must have at least one node, got none.")
        try:
            names = list(TopologicalSorter(above).static_order())
        except CycleError as error:
            cycle = " -> ".join(map(repr, error.args[1]))
            raise ValueError(f"parents must have no cycles, got {cycle}.") from None
        place = {name: k for k, name in enumerate(names)}
        return cls(names, [{place[other]: length for other, length in above[name].items()} for name in names])

    @property
    def roots(self) -> list[int]:
        return [k for k, above in enumerate(self.parents) if not above]

    @property
    def leaves(self) -> np.ndarray:
        inner = {other for above in self.parents for other in above}
        return np.array([k for k in range(len(self.names)) if k not in inner])

    @property
    def _shared(self) -> int | None:
        """The root that is above everything."""
        return self.roots[0] if len(self.roots) == 1 and len(self.names) > 1 else None

    def parts(self, chosen: np.ndarray) -> csr_array:
        """Per chosen node, one for itself and for each of its ancestors, without a root that all share."""
        lines: list[set[int]] = []
        for k, above in enumerate(self.parents):
            lines.append({k}.union(*(lines[other] for other in above)))
        rows = [sorted(lines[k] - {self._shared}) for k in chosen.tolist()]
        columns = np.concatenate([np.array(row, dtype=np.int64) for row in rows])
        # The root that all share is the first node, and no part.
        first = 0 if self._shared is None else 1
        starts = np.cumsum([0, *map(len, rows)])
        return csr_array((np.ones(len(columns)), columns - first, starts), (len(rows), len(self.names) - first))

    def distances(self, chosen: np.ndarray) -> np.ndarray:
        """Of chosen nodes, along edges in both directions."""
        edges = [(k, other, length) for k, above in enumerate(self.parents) for other, length in above.items()]
        if len(self.roots) > 1:
            edges += [(root, len(self.names), 1.0) for root in self.roots]
        n = len(self.names) + 1
        children, others, lengths = zip(*edges, strict=True) if edges else ((), (), ())
        places = np.array([children, others], dtype=np.int32)  # as older ones of SciPy's `dijkstra` want them
        graph = csr_array((np.array(lengths, dtype=np.float64), places), shape=(n, n))
        return np.ascontiguousarray(dijkstra(graph, directed=False, indices=chosen)[:, chosen])

    def lineage(self, name: Any) -> list[Any]:
        """The node and its ancestors, from below the root that all share on; for trees."""
        line, k = [], self.names.index(name)
        while True:
            line.append(self.names[k])
            above = list(self.parents[k])
            if len(above) > 1:
                raise ValueError(f"depths need a tree, got {self.names[k]!r} with {len(above)} parents.")
            if not above or (above[0] == self._shared):
                return line[::-1]
            k = above[0]


def edges_of(parents: Any) -> dict[Any, dict[Any, float]]:
    """Every node with its parents and the lengths of the edges to them."""
    edges: dict[Any, dict[Any, float]] = {}
    if hasattr(parents, "is_directed"):
        if not parents.is_directed():
            raise ValueError("parents must be a directed graph, with edges from parents to children.")
        edges = {node: {} for node in parents.nodes}
        for parent, child, length in parents.edges(data="weight", default=1.0):
            edges[child][parent] = length
    elif isinstance(parents, Mapping):
        for child, above in parents.items():
            if not isinstance(above, Mapping):
                several = above if isinstance(above, list | tuple) else [] if above is None else [above]
                above = dict.fromkeys(several, 1.0)
            edges[child] = dict(above)
        for above in list(edges.values()):
            for parent in above:
                edges.setdefault(parent, {})
    else:
        raise TypeError(f"parents must be a dict, a directed graph of networkx or None, got {parents!r}.")
    for child, above in edges.items():
        for parent, length in above.items():
            if problem := Number(0, above=True).problem(length):
                raise ValueError(f"parents: the length of the edge from {child!r} to {parent!r} {problem}")
    return edges


def paths_of(Y: Any, separator: str) -> dict[str, str | None]:
    """The parents of all nodes on paths."""
    parents: dict[str, str | None] = {}
    for path in sorted(set(np.asarray(Y).tolist()), key=str):
        if not isinstance(path, str) or not all(path.split(separator)):
            raise ValueError(
                f"y must be paths of names, with {separator!r} between them, unless parents are given, got {path!r}."
            )
        names = path.split(separator)
        for depth in range(len(names)):
            node = separator.join(names[: depth + 1])
            parents[node] = separator.join(names[:depth]) if depth else None
    return parents
