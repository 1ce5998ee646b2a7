"""Where the nodes of a drawing go: graphs by their distances, trees from the root down."""

from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components, shortest_path

from mercer.data.graph import Graph
from mercer.data.tree import Tree

__all__ = ["graph_places", "tree_places"]

STEPS = 200  # of majorisation: by then nothing moves that an eye could see
GAP = 1.2  # between the parts of a graph, in lengths of an edge
LETTER = 0.2  # width of a letter, in the distance of two levels of a tree


def graph_places(graph: Graph) -> np.ndarray:
    """Places in the plane whose distances are, as far as possible, the numbers of edges between nodes.

    The stress :math:`\\sum_{i<j} (|p_i - p_j| - d_{ij})^2 / d_{ij}^2` is made smaller by majorisation [1]_, from the
    places of classical scaling. Parts that are not connected are drawn side by side.

    Parameters
    ----------
    graph : Graph

    Returns
    -------
    array of shape (n_nodes, 2)
        In lengths of an edge.

    Notes
    -----
    O(n³) time and O(n²) memory for n nodes. The same graph has the same drawing every time.

    References
    ----------
    .. [1] E. Gansner, Y. Koren, S. North, "Graph drawing by stress majorization", Graph Drawing 2004.
    """
    places = np.zeros((graph.n_nodes, 2))
    if graph.n_nodes == 0:
        return places
    links = graph.replace(weights=None).adjacency()  # every edge is as long as any other
    n_parts, part_of = connected_components(links, directed=False)
    parts = sorted((np.flatnonzero(part_of == k) for k in range(n_parts)), key=len, reverse=True)
    drawn = []
    for part in parts:
        drawing = _spread(shortest_path(links[part][:, part].toarray(), directed=False, unweighted=True))
        drawn.append(drawing - drawing.min(axis=0))
    width = max(drawn[0][:, 0].max(), 1.5 * np.sqrt(sum(np.prod(np.ptp(d, axis=0) + GAP) for d in drawn)))
    x = y = height = 0.0
    for part, drawing in zip(parts, drawn, strict=True):
        size = drawing.max(axis=0)
        if x > 0 and x + size[0] > width:
            x, y, height = 0.0, y + height + GAP, 0.0
        places[part] = drawing + np.array([x, y])
        x, height = x + size[0] + GAP, max(height, size[1])
    return places


def _spread(distances: np.ndarray) -> np.ndarray:
    """Places of the nodes of a connected graph."""
    n = len(distances)
    if n == 1:
        return np.zeros((1, 2))
    centred = distances**2 - (distances**2).mean(axis=0)
    values, vectors = np.linalg.eigh(-0.5 * (centred - centred.mean(axis=1, keepdims=True)))
    # Widest from left to right, as pages are.
    places = vectors[:, :-3:-1] * np.sqrt(np.maximum(values[:-3:-1], 0.0))
    # Nodes that scaling puts on one spot would stay there: a little disorder takes them apart.
    places = places + 0.05 * np.random.default_rng(0).normal(size=places.shape)
    apart = distances + np.eye(n)
    weights = apart**-2.0 - np.eye(n)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.inv(laplacian + 1.0 / n)  # on what sums to zero, which is all that it is applied to
    for _ in range(STEPS):
        now = np.linalg.norm(places[:, None] - places[None], axis=2) + np.eye(n)
        pull = weights * distances / np.maximum(now, 1e-9)
        places = inverse @ (pull.sum(axis=1, keepdims=True) * places - pull @ places)
    return places


def tree_places(tree: Tree) -> tuple[np.ndarray, list[tuple[int, int]], list[Any]]:
    """Places, edges and labels of the nodes of a tree in preorder: a parent above the middle of its children.

    Whatever is below a node, and its own label, has a strip of the page for itself.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    places : array of shape (n_nodes, 2)
        In distances of two levels; y grows downwards.
    edges : list of (int, int)
        Parent and child.
    labels : list
    """
    nodes = list(tree.preorder())
    labels = [label for label, _ in nodes]
    parents, depths = [-1], [0]
    awaiting: list[tuple[int, int]] = []  # nodes above, and how many of their children are still to come
    for number, (_, arity) in enumerate(nodes):
        if number > 0:
            while awaiting[-1][1] == 0:
                awaiting.pop()
            parent, missing = awaiting[-1]
            awaiting[-1] = (parent, missing - 1)
            parents.append(parent)
            depths.append(depths[parent] + 1)
        awaiting.append((number, arity))
    children: list[list[int]] = [[] for _ in nodes]
    for number, parent in enumerate(parents[1:], start=1):
        children[parent].append(number)
    # How far the strip of a node reaches to its left and to its right, and where the node is from its parent.
    left = np.array([0.5 * LETTER * (len(str(label)) + 2) for label in labels])
    right, shift = left.copy(), np.zeros(len(nodes))
    for number in reversed(range(len(nodes))):  # children come after their parents
        if below := children[number]:
            shift[below[1:]] = np.cumsum(right[below[:-1]] + left[below[1:]])
            shift[below] -= 0.5 * shift[below[-1]]
            left[number] = max(left[number], left[below[0]] - shift[below[0]])
            right[number] = max(right[number], right[below[-1]] + shift[below[-1]])
    x = np.full(len(nodes), left[0])
    edges = [(parent, number) for number, parent in enumerate(parents) if parent >= 0]
    for parent, number in edges:
        x[number] = x[parent] + shift[number]
    return np.column_stack([x, depths]), edges, labels
