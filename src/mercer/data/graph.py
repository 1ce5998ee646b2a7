"""Graphs as samples."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array, issparse, triu

from mercer.data.symbols import symbol_keys
from mercer.extras import require

__all__ = ["Graph"]

LARGEST_NODE = (1 << 31) - 1


class Graph:
    """A graph: nodes, edges between them, and what they carry.

    A graph does not change. It is no container, so that no library takes it for an array: a list of graphs, or an
    array of objects, is a set of samples.

    Parameters
    ----------
    n_nodes : int
        Nodes are numbered from 0. There may be none.
    edges : array of shape (m, 2)
        Pairs of node numbers. An edge comes once; without direction, (1, 2) and (2, 1) are the same edge. Loops are
        allowed.
    directed : bool, default=False
        Whether edges lead from their first node to their second.
    weights : array of shape (m,), default=None
        One finite number for every edge. None: all are 1.
    node_labels : sequence of n_nodes hashable objects, default=None
    edge_labels : sequence of m hashable objects, default=None
    node_attributes : array of shape (n_nodes, d), default=None
        A finite vector for every node.
    names : sequence of n_nodes different hashable objects, default=None
        What the nodes are called. Kernels between graphs do not look at them; for kernels between the nodes of one
        graph they are the samples.

    Attributes
    ----------
    n_nodes, n_edges : int
    directed : bool
    edges : int array of shape (m, 2)
        Sorted. Of an edge without direction the smaller number comes first.
    weights, edge_labels : array of shape (m,) and tuple, or None
        In the order of `edges`.
    node_labels, names : tuple or None
    node_attributes : float array or None

    See Also
    --------
    read_tu_dortmund : Graphs from the files of the TU Dortmund collection.

    Notes
    -----
    Two graphs are equal if all of this is equal, numbers of nodes included: whether they are isomorphic is not asked.

    Examples
    --------
    Formaldehyde, with bonds as labels of edges:

    >>> from mercer.data import Graph
    >>> Graph(4, [(0, 1), (0, 2), (0, 3)], node_labels="COHH", edge_labels="=--")
    Graph(4 nodes, 3 edges, node labels, edge labels)
    """

    __slots__ = (
        "_arc_edges",
        "_arc_keys",
        "_degrees",
        "_derived",
        "_node_keys",
        "_targets",
        "directed",
        "edge_labels",
        "edges",
        "n_edges",
        "n_nodes",
        "names",
        "node_attributes",
        "node_labels",
        "weights",
    )

    n_nodes: int
    n_edges: int
    directed: bool
    edges: np.ndarray
    weights: np.ndarray | None
    node_labels: tuple[Hashable, ...] | None
    edge_labels: tuple[Hashable, ...] | None
    node_attributes: np.ndarray | None
    names: tuple[Hashable, ...] | None
    # What kernels read: for every node how many arcs leave it, the nodes they lead to, in ascending order, the edges
    # they belong to, and keys of labels. An edge without direction is two arcs.
    _degrees: np.ndarray
    _targets: np.ndarray
    _arc_edges: np.ndarray
    _node_keys: np.ndarray | None
    _arc_keys: np.ndarray | None
    # What was computed from the graph, by name.
    _derived: dict[str, Any]

    def __init__(
        self,
        n_nodes: int,
        edges: Any,
        *,
        directed: bool = False,
        weights: Any = None,
        node_labels: Iterable[Hashable] | None = None,
        edge_labels: Iterable[Hashable] | None = None,
        node_attributes: Any = None,
        names: Iterable[Hashable] | None = None,
    ):
        n_nodes = _size(n_nodes)
        pairs = _pairs(edges, n_nodes)
        if not directed:
            pairs = np.sort(pairs, axis=1)
        order = np.lexsort((pairs[:, 1], pairs[:, 0]))
        pairs = pairs[order]
        _check_unique(pairs, directed)
        values = _weights(weights, len(pairs))
        attributes = _attributes(node_attributes, n_nodes)
        labels = _labels(node_labels, n_nodes, "node_labels", "nodes")
        bonds = _labels(edge_labels, len(pairs), "edge_labels", "edges")
        called = _labels(names, n_nodes, "names", "nodes")
        if called is not None and len(set(called)) < n_nodes:
            raise ValueError("names must be different, some nodes have the same name.")
        self._fill(
            n_nodes,
            pairs,
            directed,
            None if values is None else values[order],
            labels,
            None if bonds is None else tuple(bonds[e] for e in order),
            attributes,
            called,
            None if labels is None else symbol_keys(labels),
            None if bonds is None else symbol_keys(bonds)[order],
        )

    def _fill(
        self, n_nodes, pairs, directed, weights, node_labels, edge_labels, attributes, names, node_keys, edge_keys
    ):
        """Set the parts, which are checked and in order."""
        sources, targets, of_edge = pairs[:, 0], pairs[:, 1], np.arange(len(pairs))
        if not directed:
            back = sources != targets
            sources, targets, of_edge = (
                np.concatenate([sources, targets[back]]),
                np.concatenate([targets, sources[back]]),
                np.concatenate([of_edge, of_edge[back]]),
            )
            order = np.lexsort((targets, sources))
            sources, targets, of_edge = sources[order], targets[order], of_edge[order]
        parts = {
            "n_nodes": n_nodes,
            "n_edges": len(pairs),
            "directed": bool(directed),
            "edges": _frozen(pairs),
            "weights": _frozen(weights),
            "node_labels": node_labels,
            "edge_labels": edge_labels,
            "node_attributes": _frozen(attributes),
            "names": names,
            "_degrees": _frozen(np.bincount(sources, minlength=n_nodes)),
            "_targets": _frozen(targets.astype(np.int32)),
            "_arc_edges": _frozen(of_edge),
            "_node_keys": _frozen(node_keys),
            "_arc_keys": None if edge_keys is None else _frozen(edge_keys[of_edge]),
            "_derived": {},
        }
        for name, value in parts.items():
            object.__setattr__(self, name, value)

    # --- other ways to make one ---------------------------------------------------------------------------

    @classmethod
    def from_edges(
        cls,
        edges: Iterable[Sequence[Hashable]],
        *,
        nodes: Iterable[Hashable] = (),
        directed: bool = False,
        weights: Any = None,
        node_labels: Mapping[Hashable, Hashable] | None = None,
        edge_labels: Iterable[Hashable] | None = None,
        node_attributes: Mapping[Hashable, Any] | None = None,
    ) -> "Graph":
        """A graph from edges between nodes that are called by any names.

        Parameters
        ----------
        edges : iterable of pairs of hashable objects
            Nodes are numbered in the order in which they are met.
        nodes : iterable of hashable objects, default=()
            Nodes that come first, among them those without edges.
        directed, weights, edge_labels
            As for the class.
        node_labels, node_attributes : dict by names of nodes, default=None

        Returns
        -------
        Graph
            With names.

        Examples
        --------
        >>> from mercer.data import Graph
        >>> Graph.from_edges([("Rome", "Milan"), ("Rome", "Naples")], weights=[570, 225]).names
        ('Rome', 'Milan', 'Naples')
        """
        number: dict[Hashable, int] = {}
        for name in nodes:
            number.setdefault(name, len(number))
        pairs = []
        for edge in edges:
            if isinstance(edge, str) or len(edge) != 2:
                raise ValueError(f"edges must be pairs of nodes, got {edge!r}.")
            pairs.append([number.setdefault(name, len(number)) for name in edge])

        def by_node(given: Mapping[Hashable, Any] | None, what: str) -> list[Any] | None:
            if given is None:
                return None
            missing = [name for name in number if name not in given]
            if missing:
                raise ValueError(f"{what} must have an entry for every node, {missing[0]!r} has none.")
            return [given[name] for name in number]

        return cls(
            len(number),
            pairs,
            directed=directed,
            weights=weights,
            node_labels=by_node(node_labels, "node_labels"),
            edge_labels=edge_labels,
            node_attributes=by_node(node_attributes, "node_attributes"),
            names=number,
        )

    @classmethod
    def from_adjacency(cls, adjacency: Any, *, directed: bool = False, **parts: Any) -> "Graph":
        """A graph from its adjacency matrix.

        Parameters
        ----------
        adjacency : array or sparse matrix of shape (n, n)
            Entries that are not zero are edges, from the row to the column. Where one is not 1 they are the weights.
        directed : bool, default=False
            False: the matrix must be symmetric.
        **parts
            `node_labels`, `node_attributes`, `names`, as for the class.

        Returns
        -------
        Graph

        Examples
        --------
        >>> from mercer.data import Graph
        >>> Graph.from_adjacency([[0, 2, 0], [2, 0, 1], [0, 1, 0]])
        Graph(3 nodes, 2 edges, weights)
        """
        matrix = coo_array(adjacency) if issparse(adjacency) else np.asarray(adjacency)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"adjacency must be a square matrix, got shape {matrix.shape}.")
        if matrix.dtype.kind not in "biuf":
            raise ValueError(f"adjacency must be a matrix of real numbers, got dtype {matrix.dtype}.")
        table = csr_array(matrix, dtype=np.float64, copy=True)
        table.sum_duplicates()
        table.eliminate_zeros()
        if not np.isfinite(table.data).all():
            raise ValueError("adjacency contains NaN or infinity.")
        if not directed and (table != table.T).nnz:
            raise ValueError("adjacency must be symmetric for a graph without directions; use directed=True.")
        table = coo_array(table if directed else triu(table))
        weights = None if (table.data == 1.0).all() else table.data
        return cls(
            matrix.shape[0], np.column_stack([table.row, table.col]), directed=directed, weights=weights, **parts
        )

    @classmethod
    def from_networkx(
        cls,
        graph: Any,
        node_label: str | None = "label",
        edge_label: str | None = "label",
        weight: str | None = "weight",
        node_attributes: str | Sequence[str] | None = None,
    ) -> "Graph":
        """A graph from one of networkx.

        Parameters
        ----------
        graph : networkx.Graph or networkx.DiGraph
            Without parallel edges.
        node_label, edge_label, weight : str or None
            The names under which networkx has them. What no node or edge has is left out, what only some have is an
            error.
        node_attributes : str, sequence of str or None
            The name of a vector, or the names of several numbers.

        Returns
        -------
        Graph
            With the nodes of networkx as names.

        Examples
        --------
        >>> import networkx
        >>> from mercer.data import Graph
        >>> ring = networkx.cycle_graph(6)
        >>> networkx.set_node_attributes(ring, "C", "label")
        >>> Graph.from_networkx(ring)
        Graph(6 nodes, 6 edges, node labels, names)
        """
        networkx = require("networkx", "Graph.from_networkx")
        if not isinstance(graph, networkx.Graph):
            raise TypeError(f"graph must be a graph of networkx, got {type(graph).__name__}.")
        if graph.is_multigraph():
            raise ValueError(
                "graph must not be a multigraph: join parallel edges, for example by networkx.Graph(graph)."
            )
        nodes, edges = dict(graph.nodes(data=True)), list(graph.edges(data=True))
        of_edges = {(a, b): values for a, b, values in edges}
        number = {name: i for i, name in enumerate(nodes)}
        attributes = None
        if isinstance(node_attributes, str):
            attributes = _collected(nodes, node_attributes, "node")
            if attributes is not None:
                attributes = [np.ravel(vector) for vector in attributes]
        elif node_attributes is not None:
            columns = [_collected(nodes, name, "node") for name in node_attributes]
            attributes = None if any(column is None for column in columns) else list(zip(*columns, strict=True))
        if attributes is None and node_attributes is not None and nodes:
            raise ValueError(f"no node has the attribute {node_attributes!r}.")
        return cls(
            len(nodes),
            [(number[a], number[b]) for a, b in of_edges],
            directed=graph.is_directed(),
            weights=_collected(of_edges, weight, "edge"),
            node_labels=_collected(nodes, node_label, "node"),
            edge_labels=_collected(of_edges, edge_label, "edge"),
            node_attributes=attributes if nodes else None,
            names=nodes,
        )

    def replace(self, **parts: Any) -> "Graph":
        """A copy in which some parts are others.

        Parameters
        ----------
        **parts
            As for the class; `weights` and `edge_labels` in the order of the attribute `edges`. None leaves a part out.

        Returns
        -------
        Graph

        Examples
        --------
        >>> from mercer.data import Graph
        >>> Graph(2, [(0, 1)], node_labels="CO", weights=[2.0]).replace(weights=None)
        Graph(2 nodes, 1 edge, node labels)
        """
        return Graph(**(self._parts() | parts))

    def _parts(self) -> dict[str, Any]:
        names = "n_nodes", "edges", "directed", "weights", "node_labels", "edge_labels", "node_attributes", "names"
        return {name: getattr(self, name) for name in names}

    # --- what it is ---------------------------------------------------------------------------------------

    def adjacency(self) -> csr_array:
        """The weights of the edges as a matrix.

        Returns
        -------
        CSR array of shape (n_nodes, n_nodes)
        """
        starts = np.concatenate([[0], np.cumsum(self._degrees)])
        weights = np.ones(len(self._targets)) if self.weights is None else self.weights[self._arc_edges]
        return csr_array((weights, self._targets, starts), shape=(self.n_nodes, self.n_nodes))

    def _compute_once(self, name: str, compute: Callable[[], Any]) -> Any:
        """What `compute` gives; it is computed when it is asked for the first time.

        The graph does not change, so neither does what follows from it. It is no part of the value: equality and
        pickles do not see it.
        """
        if name not in self._derived:
            self._derived[name] = compute()
        return self._derived[name]

    def __repr__(self) -> str:
        parts = ["1 node" if self.n_nodes == 1 else f"{self.n_nodes} nodes"]
        parts.append("1 edge" if self.n_edges == 1 else f"{self.n_edges} edges")
        parts += ["directed"] * self.directed
        for name in ("weights", "node_labels", "edge_labels", "node_attributes", "names"):
            if getattr(self, name) is not None:
                parts.append(name.replace("_", " "))
        return f"Graph({', '.join(parts)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        if self is other:
            return True
        mine, theirs = self._parts(), other._parts()
        return all(_same(mine[name], theirs[name]) for name in mine)

    def __hash__(self) -> int:
        return hash((self.n_nodes, self.directed, self.edges.tobytes(), self.node_labels, self.edge_labels))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a graph does not change; use graph.replace({name}=...) for another one.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a graph does not change.")

    # Nothing in it changes, so a copy is as good as itself; scikit-learn's clone then shares it, with what was
    # computed.
    def __copy__(self) -> "Graph":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Graph":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._parts(),)

    def _file_parts(self) -> dict[str, Any]:
        # An entry for every node: what a file makes of its number of nodes then takes no more memory than the file.
        return {**self._parts(), "degrees": self._degrees}

    @classmethod
    def _from_file_parts(cls, parts: dict[str, Any]) -> "Graph":
        degrees = parts.pop("degrees")
        if not isinstance(degrees, np.ndarray) or degrees.shape != (parts["n_nodes"],):
            raise ValueError("degrees of a graph must have an entry for every node.")
        return cls(**parts)


def _restored(parts: dict[str, Any]) -> Graph:
    return Graph(**parts)


# --- checks -----------------------------------------------------------------------------------------------


def _size(n_nodes: Any) -> int:
    if isinstance(n_nodes, bool) or not isinstance(n_nodes, (int, np.integer)) or not 0 <= n_nodes <= LARGEST_NODE:
        raise ValueError(f"n_nodes must be an int >= 0 and <= {LARGEST_NODE}, got {n_nodes!r}.")
    return int(n_nodes)


def _pairs(edges: Any, n_nodes: int) -> np.ndarray:
    try:
        given = np.asarray(edges if isinstance(edges, np.ndarray) else list(edges))
    except (TypeError, ValueError) as error:
        raise ValueError("edges must be pairs of node numbers.") from error
    if given.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu":
        raise ValueError(
            f"edges must be pairs of node numbers, got an array of shape {given.shape} and dtype {given.dtype}; "
            "Graph.from_edges takes nodes by name."
        )
    outside = (given < 0) | (given >= n_nodes)
    if outside.any():
        place = int(np.flatnonzero(outside.any(axis=1))[0])
        raise ValueError(
            f"edges must be pairs of numbers from 0 to {n_nodes - 1} for {n_nodes} nodes, "
            f"got ({given[place, 0]}, {given[place, 1]})."
        )
    return given.astype(np.int64)


def _check_unique(pairs: np.ndarray, directed: bool) -> None:
    repeated = np.flatnonzero((pairs[1:] == pairs[:-1]).all(axis=1))
    if len(repeated):
        a, b = pairs[repeated[0]]
        way_out = "" if directed else "; without direction an edge is given once, or use directed=True"
        raise ValueError(f"edges must be different, ({a}, {b}) comes more than once{way_out}.")


def _weights(weights: Any, n_edges: int) -> np.ndarray | None:
    if weights is None:
        return None
    try:
        given = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError("weights must be numbers, one for every edge.") from error
    if given.shape != (n_edges,):
        raise ValueError(f"weights must have one number for each of the {n_edges} edges, got shape {given.shape}.")
    if not np.isfinite(given).all():
        raise ValueError("weights contain NaN or infinity.")
    return given


def _attributes(attributes: Any, n_nodes: int) -> np.ndarray | None:
    if attributes is None:
        return None
    try:
        given = np.array(attributes, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError("node_attributes must be numbers, a vector for every node.") from error
    if given.size == 0 and n_nodes == 0:
        given = given.reshape(0, given.shape[1] if given.ndim == 2 else 0)
    if given.ndim != 2 or given.shape[0] != n_nodes:
        raise ValueError(f"node_attributes must have shape ({n_nodes}, d) for {n_nodes} nodes, got {given.shape}.")
    if not np.isfinite(given).all():
        raise ValueError("node_attributes contain NaN or infinity.")
    return given


def _labels(labels: Iterable[Hashable] | None, n: int, name: str, of: str) -> tuple[Hashable, ...] | None:
    if labels is None:
        return None
    given = tuple(labels.tolist() if isinstance(labels, np.ndarray) else labels)
    if len(given) != n:
        raise ValueError(f"{name} must have one entry for each of the {n} {of}, got {len(given)}.")
    for label in given:
        try:
            hash(label)
        except TypeError as error:
            raise TypeError(f"{name} must be hashable, got {label!r}.") from error
    return given


def _collected(items: Mapping[Any, Mapping[str, Any]], name: str | None, kind: str) -> list[Any] | None:
    """What networkx has under a name, for all nodes or edges, or for none."""
    having = [] if name is None else [values for values in items.values() if name in values]
    if not having or name is None:
        return None
    if len(having) < len(items):
        without = next(item for item, values in items.items() if name not in values)
        raise ValueError(f"{name!r} must be there for every {kind} or for none, {without!r} has none.")
    return [values[name] for values in having]


def _frozen(array: np.ndarray | None) -> Any:
    if array is not None:
        array = np.ascontiguousarray(array)
        array.flags.writeable = False
    return array


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return type(a) is type(b) and a == b
