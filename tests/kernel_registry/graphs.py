"""Kernels between graphs, and between the nodes of one graph."""

import numpy as np
from graph_samples import random_graph

from kernel_registry.objects import as_objects
from mercer import kernels
from mercer.data import Graph

# Two parts, weights, a loop and a node without edges.
RING = [(i, (i + 1) % 150) for i in range(150)]
CHORDS = [(i, i + 60) for i in range(0, 90, 7)]
TREE = [(150 + i // 2, 151 + i) for i in range(40)]
EDGES = [*RING, *CHORDS, *TREE, (3, 3)]
STORED_GRAPH = Graph(200, EDGES, weights=np.random.default_rng(3).uniform(0.5, 2.0, size=len(EDGES)))

KERNELS = {
    "Diffusion": lambda: kernels.Diffusion(STORED_GRAPH, beta=0.7),
    "Diffusion by products": lambda: kernels.Diffusion(STORED_GRAPH, beta=0.7, normalize=True, method="products"),
    "EdgeHistogram": lambda: kernels.EdgeHistogram(),
    "EdgeHistogram with ends": lambda: kernels.EdgeHistogram(ends=True),
    "GraphHopper": lambda: kernels.GraphHopper(gamma=0.4),
    "GraphHopper with labels": lambda: kernels.GraphHopper(gamma=0.4, node_labels=True),
    "Graphlet": lambda: kernels.Graphlet(k=4),
    "Graphlet of all kinds": lambda: kernels.Graphlet(k=3, connected=False),
    "PStepRandomWalk": lambda: kernels.PStepRandomWalk(STORED_GRAPH, p=3, a=2.5),
    "PStepRandomWalk by products": lambda: kernels.PStepRandomWalk(STORED_GRAPH, p=3, a=2.5, method="products"),
    "RandomWalk": lambda: kernels.RandomWalk(decay=0.02),
    "RandomWalk exponential": lambda: kernels.RandomWalk(decay=0.1, kind="exponential"),
    "RandomWalk without labels": lambda: kernels.RandomWalk(decay=0.005, node_labels=False),
    "RegularizedLaplacian": lambda: kernels.RegularizedLaplacian(STORED_GRAPH, beta=0.7, normalize=True),
    "RegularizedLaplacian by products": lambda: kernels.RegularizedLaplacian(STORED_GRAPH, beta=0.7, method="products"),
    "ShortestPath": lambda: kernels.ShortestPath(),
    "ShortestPath without labels": lambda: kernels.ShortestPath(node_labels=False),
    "VertexHistogram": lambda: kernels.VertexHistogram(),
    "VonNeumann": lambda: kernels.VonNeumann(STORED_GRAPH, decay=0.1),
    "VonNeumann by products": lambda: kernels.VonNeumann(STORED_GRAPH, decay=0.1, method="products"),
    "WeisfeilerLehman": lambda: kernels.WeisfeilerLehman(h=3),
    "WeisfeilerLehman over paths": lambda: kernels.WeisfeilerLehman(h=2, base=kernels.ShortestPath()),
    "WeisfeilerLehmanOptimalAssignment": lambda: kernels.WeisfeilerLehmanOptimalAssignment(h=3),
}


def graphs(kernel, rng, n, d):
    """Graphs of up to d nodes and of few edges, one of them without nodes; without directions where the kernel asks."""
    found = []
    for i in range(n):
        size = 0 if i == 7 else int(rng.integers(1, min(d, 14) + 2))
        directed = i % 3 == 1 and not isinstance(kernel, kernels.Graphlet)
        edges = min(0.9, 1.5 / max(1, size))
        weighted = i % 4 == 2
        found.append(random_graph(rng, size, edges=edges, directed=directed, weighted=weighted, bonds=True, loops=True))
    return as_objects(found)


def nodes(kernel, rng, n, d):
    return rng.permutation(STORED_GRAPH.n_nodes)[:n]


SAMPLES = {"graphs": graphs, "nodes": nodes}

WORDS = ["GATTACA", "TATA"]
WRONG = {
    "graphs": [WORDS, np.eye(3), [np.eye(3)], [Graph(1, [], node_labels="C", node_attributes=[[1.0]]), "C"]],
    "nodes": [WORDS, np.array([0.5, 1.5]), np.array([[0, 1], [1, 0]]), [0, 200], [-1, 0]],
}

HOLDS_DATA = (kernels.Diffusion, kernels.PStepRandomWalk, kernels.RegularizedLaplacian, kernels.VonNeumann)
