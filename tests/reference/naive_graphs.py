"""Kernels on graphs in obvious Python: loops over nodes, walks, paths and subsets, as the definitions say."""

from collections import Counter
from itertools import combinations, pairwise, permutations, product
from math import exp, factorial, inf

import numpy as np
from scipy.linalg import expm, inv


def adjacency(graph):
    A = np.zeros((graph.n_nodes, graph.n_nodes))
    for (a, b), weight in zip(graph.edges, weights(graph), strict=True):
        A[a, b] = weight
        if not graph.directed:
            A[b, a] = weight
    return A


def weights(graph):
    return np.ones(graph.n_edges) if graph.weights is None else graph.weights


def labels(graph, node_labels=True):
    return list(graph.node_labels) if node_labels else ["all alike"] * graph.n_nodes


def bonds(graph):
    """The label of every edge, in both directions where it has none."""
    given = ["no label"] * graph.n_edges if graph.edge_labels is None else [("label", x) for x in graph.edge_labels]
    found = {}
    for (a, b), bond in zip(graph.edges.tolist(), given, strict=True):
        found[a, b] = bond
        if not graph.directed:
            found[b, a] = bond
    return found


def dot(counts, others):
    return float(sum(n * others[key] for key, n in counts.items()))


def common(counts, others):
    return float(sum(min(n, others[key]) for key, n in counts.items()))


# --- Weisfeiler and Lehman --------------------------------------------------------------------------------


def rounds(graph, h, node_labels=True):
    """The labels of every round, spelled out in full."""
    now, edges = labels(graph, node_labels), bonds(graph)
    yield now
    for _ in range(h):
        around = [
            sorted((repr(edges[v, u]), repr(now[u])) for u in range(graph.n_nodes) if (v, u) in edges)
            for v in range(graph.n_nodes)
        ]
        now = [(now[v], tuple(around[v])) for v in range(graph.n_nodes)]
        yield now


def subtree_counts(graph, h, node_labels=True):
    return Counter((t, repr(label)) for t, now in enumerate(rounds(graph, h, node_labels)) for label in now)


def edge_counts(graph, ends, now=None):
    now = (labels(graph) if ends else None) if now is None else now
    counts = Counter()
    given = bonds(graph)
    for a, b in graph.edges.tolist():
        pair = () if now is None else (repr(now[a]), repr(now[b]))
        counts[given[a, b], pair if graph.directed else tuple(sorted(pair))] += 1
    return counts


# --- shortest paths ---------------------------------------------------------------------------------------


def distances(graph, steps=False):
    D = np.full((graph.n_nodes, graph.n_nodes), inf)
    for (a, b), weight in zip(graph.edges, weights(graph), strict=True):
        length = 1.0 if steps else weight
        D[a, b] = min(D[a, b], length)
        if not graph.directed:
            D[b, a] = min(D[b, a], length)
    np.fill_diagonal(D, 0.0)
    for k in range(graph.n_nodes):
        for i in range(graph.n_nodes):
            for j in range(graph.n_nodes):
                D[i, j] = min(D[i, j], D[i, k] + D[k, j])
    return D


def path_counts(graph, node_labels=True, unit=None, now=None):
    D = distances(graph)
    now = labels(graph, node_labels) if now is None else now
    counts = Counter()
    for u, v in permutations(range(graph.n_nodes), 2):
        if D[u, v] < inf:
            counts[repr(now[u]), repr(now[v]), D[u, v] if unit is None else round(D[u, v] / unit)] += 1
    return counts


# --- subgraphs --------------------------------------------------------------------------------------------


def graphlet_counts(graph, k, connected):
    A = adjacency(graph) != 0
    counts = Counter()
    for nodes in combinations(range(graph.n_nodes), k):
        small = A[np.ix_(nodes, nodes)]
        np.fill_diagonal(small, False)
        reached = np.linalg.matrix_power(small.astype(int) + np.eye(k, dtype=int), k) > 0
        if reached.all() or not connected:
            counts[min(tuple(small[np.ix_(p, p)].ravel()) for p in permutations(range(k)))] += 1
    return counts


# --- walks ------------------------------------------------------------------------------------------------


def product_matrix(x, y, node_labels=True):
    """The adjacency matrix of the direct product, over pairs of nodes with the same label."""
    of_x, of_y = labels(x, node_labels), labels(y, node_labels)
    nodes = [(u, v) for u, v in product(range(x.n_nodes), range(y.n_nodes)) if of_x[u] == of_y[v]]
    A, B, bonds_x, bonds_y = adjacency(x), adjacency(y), bonds(x), bonds(y)
    P = np.zeros((len(nodes), len(nodes)))
    for i, (u, v) in enumerate(nodes):
        for j, (s, t) in enumerate(nodes):
            if (u, s) in bonds_x and (v, t) in bonds_y and bonds_x[u, s] == bonds_y[v, t]:
                P[i, j] = A[u, s] * B[v, t]
    return P


def random_walk(x, y, decay, kind="geometric", node_labels=True):
    P = product_matrix(x, y, node_labels)
    if len(P) == 0:
        return 0.0
    return (inv(np.eye(len(P)) - decay * P) if kind == "geometric" else expm(decay * P)).sum()


def walks(graph, length):
    """Every walk of so many edges, with the weight of its edges."""
    A = adjacency(graph)
    found = [((v,), 1.0) for v in range(graph.n_nodes)]
    for _ in range(length):
        found = [
            ((*walk, v), weight * A[walk[-1], v])
            for walk, weight in found
            for v in range(graph.n_nodes)
            if A[walk[-1], v] != 0
        ]
    return found


def enumerated_walks(x, y, decay, most, kind="geometric"):
    """The sum over pairs of walks with the same labels along the way, up to a length."""
    total = 0.0
    for length in range(most + 1):
        counts = []
        for graph in (x, y):
            told, given = labels(graph), bonds(graph)
            weight_of = Counter()
            for walk, weight in walks(graph, length):
                steps = [given[a, b] for a, b in pairwise(walk)]
                weight_of[repr(([told[v] for v in walk], steps))] += weight
            counts.append(weight_of)
        total += decay**length * dot(*counts) / (1 if kind == "geometric" else factorial(length))
    return total


# --- attributes -------------------------------------------------------------------------------------------


def shortest_paths(graph):
    """Every shortest path of every pair of nodes, as a list of nodes."""
    D, A = distances(graph, steps=True), adjacency(graph) != 0
    found = [(v,) for v in range(graph.n_nodes)]
    paths = list(found)
    while found:
        found = [
            (*path, v) for path in found for v in range(graph.n_nodes) if A[path[-1], v] and D[path[0], v] == len(path)
        ]
        paths += found
    return paths


def graph_hopper(x, y, gamma, node_labels=False):
    total = 0.0
    for p, q in product(shortest_paths(x), shortest_paths(y)):
        if len(p) == len(q):
            for u, v in zip(p, q, strict=True):
                if not node_labels or x.node_labels[u] == y.node_labels[v]:
                    difference = x.node_attributes[u] - y.node_attributes[v]
                    total += exp(-gamma * difference @ difference)
    return total
