"""Graphs from the files of the TU Dortmund collection."""

from pathlib import Path
from typing import Any

import numpy as np

from mercer.data.files import read_text
from mercer.data.graph import Graph
from mercer.errors import FormatError

__all__ = ["read_tu_dortmund"]

PARTS = (
    "A",
    "graph_indicator",
    "graph_labels",
    "graph_attributes",
    "node_labels",
    "edge_labels",
    "node_attributes",
    "edge_attributes",
)


def read_tu_dortmund(folder: Any) -> tuple[list[Graph], np.ndarray | None]:
    """Read a set of graphs in the format of the TU Dortmund collection of benchmarks.

    Parameters
    ----------
    folder : str or Path
        With the files ``DS_A.txt`` (edges), ``DS_graph_indicator.txt`` and, where the set has them,
        ``DS_graph_labels.txt`` (or ``DS_graph_attributes.txt``), ``DS_node_labels.txt``, ``DS_edge_labels.txt``,
        ``DS_node_attributes.txt``, for the name DS of the folder. Each may be gzipped.

    Returns
    -------
    graphs : list of Graph
        Without directions. Labels are integers, or tuples of integers where there are several; a number in
        ``DS_edge_attributes.txt`` is the weight of an edge.
    y : array of shape (n,) or None
        The classes or, where there are none, the targets.

    Raises
    ------
    FileNotFoundError
        For a folder that is not there, or without these files.
    FormatError
        For a line that does not hold numbers, or as many as the others, and for files that contradict each other.

    Notes
    -----
    An edge stands in the file in both directions; lines that say it again are read once, and must agree.

    References
    ----------
    .. [1] C. Morris, N. M. Kriege, F. Bause, K. Kersting, P. Mutzel, M. Neumann, TUDataset: A collection of benchmark
       datasets for learning with graphs, 2020.
    """
    folder = Path(folder)
    name = _set_name(folder)

    paths = {part: _find(folder, f"{name}_{part}.txt") for part in PARTS}

    def rows(part: str, kind: type) -> np.ndarray | None:
        path = paths[part]
        return None if path is None else _numbers(path, kind)

    def wrong(part: str, reason: str, row: Any = None) -> FormatError:
        path = paths[part]
        assert path is not None
        return FormatError(reason, path, None if row is None else _lines(read_text(path))[int(row)][0])

    arcs, owner = rows("A", np.int64), rows("graph_indicator", np.int64)
    if arcs is None or owner is None:
        raise FileNotFoundError(f"{folder} must hold {name}_A.txt and {name}_graph_indicator.txt, gzipped or not.")
    node_labels, edge_labels = rows("node_labels", np.int64), rows("edge_labels", np.int64)
    attributes, edge_attributes = rows("node_attributes", np.float64), rows("edge_attributes", np.float64)
    targets = rows("graph_labels", np.int64)
    if targets is None:
        targets = rows("graph_attributes", np.float64)

    if arcs.shape[1] != 2:
        raise wrong("A", f"an edge is two numbers of nodes, got {arcs.shape[1]}.", 0)
    if owner.shape[1] != 1:
        raise wrong("graph_indicator", f"a node is in one graph, got {owner.shape[1]} numbers.", 0)
    graph_of, arcs = owner[:, 0], arcs - 1
    n_nodes = len(graph_of)
    for part, found, expected, of in [
        ("node_labels", node_labels, n_nodes, "graph_indicator"),
        ("node_attributes", attributes, n_nodes, "graph_indicator"),
        ("edge_labels", edge_labels, len(arcs), "A"),
        ("edge_attributes", edge_attributes, len(arcs), "A"),
    ]:
        if found is not None and len(found) != expected:
            raise wrong(part, f"{len(found)} lines, where {name}_{of}.txt has {expected}.")
    outside = (arcs < 0) | (arcs >= n_nodes)
    if outside.any():
        row, side = np.argwhere(outside)[0]
        raise wrong("A", f"node {arcs[row, side] + 1}, where there are nodes from 1 to {n_nodes}.", row)
    steps = np.flatnonzero(np.diff(graph_of, prepend=1) < 0)
    if steps.size:
        raise wrong("graph_indicator", f"graph {graph_of[steps[0]]}; graphs must ascend, from 1 on.", steps[0])
    between = np.flatnonzero(graph_of[arcs[:, 0]] != graph_of[arcs[:, 1]])
    if between.size:
        first, second = graph_of[arcs[between[0]]]
        raise wrong("A", f"the edge is between nodes of the graphs {first} and {second}.", between[0])
    if targets is not None and graph_of[-1] > len(targets):
        of = "graph_labels" if paths["graph_labels"] is not None else "graph_attributes"
        raise wrong("graph_indicator", f"graph {graph_of[-1]}, where {name}_{of}.txt has {len(targets)}.", -1)
    if edge_attributes is not None and edge_attributes.shape[1] != 1:
        raise wrong("edge_attributes", f"{edge_attributes.shape[1]} numbers for an edge; a weight is one number.", 0)

    n_graphs = len(targets) if targets is not None else int(graph_of[-1])
    pairs = np.sort(arcs, axis=1)
    edges, first, inverse = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    for part, found in [("edge_labels", edge_labels), ("edge_attributes", edge_attributes)]:
        if found is not None:
            other = np.flatnonzero((found != found[first][inverse.reshape(-1)]).any(axis=1))
            if other.size:
                raise wrong(part, "this says something else of an edge than a line above.", other[0])
    node_starts = np.searchsorted(graph_of, np.arange(1, n_graphs + 2))
    edge_starts = np.searchsorted(graph_of[edges[:, 0]], np.arange(1, n_graphs + 2))
    graphs = []
    for g in range(n_graphs):
        nodes, lines = slice(*node_starts[g : g + 2]), slice(*edge_starts[g : g + 2])
        graphs.append(
            Graph(
                nodes.stop - nodes.start,
                edges[lines] - nodes.start,
                node_labels=None if node_labels is None else _told(node_labels[nodes]),
                edge_labels=None if edge_labels is None else _told(edge_labels[first[lines]]),
                node_attributes=None if attributes is None else attributes[nodes],
                weights=None if edge_attributes is None else edge_attributes[first[lines], 0],
            )
        )
    return graphs, None if targets is None else targets[:, 0] if targets.shape[1] == 1 else targets


def _told(labels: np.ndarray) -> list[Any]:
    return labels[:, 0].tolist() if labels.shape[1] == 1 else list(map(tuple, labels.tolist()))


def _set_name(folder: Path) -> str:
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is no folder.")
    names = {path.name.split("_A.txt")[0] for path in folder.glob("*_A.txt*")}
    if folder.name in names:
        return folder.name
    if len(names) != 1:
        raise FileNotFoundError(f"{folder} must hold one file DS_A.txt, gzipped or not, found {len(names)}.")
    return names.pop()


def _find(folder: Path, name: str) -> Path | None:
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.exists()), None)


def _numbers(path: Path, kind: type) -> np.ndarray:
    """The numbers of a file, shape (lines, numbers in a line)."""
    lines = _lines(read_text(path))
    found: np.ndarray
    try:
        found = np.loadtxt([line for _, line in lines], delimiter=",", dtype=kind, ndmin=2, comments=None)
    except (ValueError, OverflowError):
        found = np.empty(0)
    if not found.size or not np.isfinite(found).all():  # one by one, to say where
        width = lines[0][1].count(",") + 1
        for number, line in lines:
            fields = line.split(",")
            if len(fields) != width:
                raise FormatError(f"{len(fields)} numbers, where the first line has {width}.", path, number)
            for field in fields:
                _check_number(field.strip(), kind, path, number)
        raise FormatError("this cannot be read as numbers.", path)
    return found


def _check_number(field: str, kind: type, path: Path, number: int) -> None:
    what = "whole number" if kind is np.int64 else "finite number"
    try:
        good = bool(np.isfinite(np.array(field, dtype=kind)))
    except (ValueError, OverflowError):
        good = False
    if not good:
        raise FormatError(f"{field!r} is no {what}.", path, number)


def _lines(text: str) -> list[tuple[int, str]]:
    """The lines that say something, with their numbers."""
    return [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
