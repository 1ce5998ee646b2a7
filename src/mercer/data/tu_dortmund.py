"""Graphs from the files of the TU Dortmund collection."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mercer.data.graph import Graph

__all__ = ["read_tu_dortmund"]


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

    def rows(part: str, kind: type) -> np.ndarray | None:
        path = _find(folder, f"{name}_{part}.txt")
        return None if path is None else np.loadtxt(_lines(path), delimiter=",", dtype=kind, ndmin=2)

    arcs, owner = rows("A", np.int64), rows("graph_indicator", np.int64)
    if arcs is None or owner is None:
        raise FileNotFoundError(f"{folder} must hold {name}_A.txt and {name}_graph_indicator.txt, gzipped or not.")
    node_labels, edge_labels = rows("node_labels", np.int64), rows("edge_labels", np.int64)
    attributes, edge_attributes = rows("node_attributes", np.float64), rows("edge_attributes", np.float64)
    targets = rows("graph_labels", np.int64)
    if targets is None:
        targets = rows("graph_attributes", np.float64)

    graph_of, arcs = owner[:, 0], arcs.reshape(-1, 2) - 1
    n_nodes = len(graph_of)
    for part, found, expected in [
        ("node_labels", node_labels, n_nodes),
        ("node_attributes", attributes, n_nodes),
        ("edge_labels", edge_labels, len(arcs)),
        ("edge_attributes", edge_attributes, len(arcs)),
    ]:
        if found is not None and len(found) != expected:
            raise ValueError(f"{name}_{part}.txt has {len(found)} lines where {expected} are expected.")
    if arcs.size and (arcs.min() < 0 or arcs.max() >= n_nodes):
        raise ValueError(f"{name}_A.txt has nodes from {arcs.min() + 1} to {arcs.max() + 1}, there are {n_nodes}.")
    if (np.diff(graph_of) < 0).any() or (n_nodes and graph_of[0] < 1):
        raise ValueError(f"{name}_graph_indicator.txt must be ascending, from 1 on.")
    if (graph_of[arcs[:, 0]] != graph_of[arcs[:, 1]]).any():
        raise ValueError(f"{name}_A.txt has edges between nodes of different graphs.")

    n_graphs = len(targets) if targets is not None else int(graph_of.max(initial=0))
    pairs = np.sort(arcs, axis=1)
    edges, first, inverse = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    for part, found in [("edge_labels", edge_labels), ("edge_attributes", edge_attributes)]:
        if found is not None and (found != found[first][inverse.reshape(-1)]).any():
            raise ValueError(f"{name}_{part}.txt says different things of the two directions of an edge.")
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
                weights=None if edge_attributes is None else _weight(edge_attributes[first[lines]], name),
            )
        )
    return graphs, None if targets is None else targets[:, 0] if targets.shape[1] == 1 else targets


def _told(labels: np.ndarray) -> list[Any]:
    return labels[:, 0].tolist() if labels.shape[1] == 1 else list(map(tuple, labels.tolist()))


def _weight(attributes: np.ndarray, name: str) -> np.ndarray:
    if attributes.shape[1] != 1:
        raise ValueError(
            f"{name}_edge_attributes.txt has {attributes.shape[1]} numbers for an edge; a weight is one number."
        )
    return attributes[:, 0]


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


def _lines(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        yield from file
