"""Kernel matrices of graphs, against GraKeL."""

import importlib.util
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks import data
from benchmarks.real_data import DATASETS
from benchmarks.task import Quality, Results, Task, times_faster
from mercer.data import Graph, read_tu_dortmund
from mercer.kernels import (
    Kernel,
    RandomWalk,
    ShortestPath,
    VertexHistogram,
    WeisfeilerLehman,
)

N_GRAPHS, N_WALKED, N_LABELS = 200, 60, 5
ROUNDS, DECAY = 5, 0.005


class Lesson(NamedTuple):
    """Graphs, and in a list those of GraKeL, which are made anew before each run: it changes them."""

    graphs: list[Graph]
    theirs: list[Any]


# --- graphs -----------------------------------------------------------------------------------------------


def random_graphs(n: int, _: str) -> Lesson:
    """Of 10 to 30 nodes, every fifth pair joined, with labels."""
    rng = np.random.default_rng(0)
    graphs = []
    for size in rng.integers(10, 31, size=data.shrunk(n, 10)):
        edges = np.argwhere(np.triu(rng.random((size, size)) < 0.2, 1))
        graphs.append(Graph(int(size), edges, node_labels=rng.integers(N_LABELS, size=size).tolist()))
    return Lesson(graphs, [])


def stored_graphs(name: str, contender: str) -> Lesson:
    """Without labels of edges, which GraKeL does not look at."""
    graphs, _ = read_tu_dortmund(DATASETS / "graphs" / name)
    return Lesson([graph.replace(edge_labels=None) for graph in graphs[:: data.SHRINK]], [])


def as_theirs(lesson: Lesson) -> None:
    from grakel import Graph as TheirGraph

    lesson.theirs[:] = [
        TheirGraph(graph.adjacency().toarray().astype(int), node_labels=dict(enumerate(graph.node_labels or ())))
        for graph in lesson.graphs
    ]


# --- kernel matrices --------------------------------------------------------------------------------------


def with_mercer(kernel: Kernel, lesson: Lesson) -> np.ndarray:
    return kernel(lesson.graphs)


def weisfeiler_lehman(lesson: Lesson) -> np.ndarray:
    import grakel

    kernel = grakel.WeisfeilerLehman(n_iter=ROUNDS, base_graph_kernel=grakel.VertexHistogram)
    return kernel.fit_transform(lesson.theirs)


def shortest_path(lesson: Lesson) -> np.ndarray:
    import grakel

    return grakel.ShortestPath().fit_transform(lesson.theirs)


def random_walk(lesson: Lesson) -> np.ndarray:
    import grakel

    return grakel.RandomWalkLabeled(lamda=DECAY).fit_transform(lesson.theirs)


def values(lesson: Lesson, K: np.ndarray) -> Quality:
    weights = np.random.default_rng(1).random(K.shape)
    return {"sum of values": float(K.sum()), "weighted sum": float((weights * K).sum())}


def walk_values(lesson: Lesson, K: np.ndarray) -> Quality:
    """GraKeL also counts 1 for each pair of nodes with different labels."""
    sizes = np.array([graph.n_nodes for graph in lesson.graphs])
    different = np.outer(sizes, sizes) - VertexHistogram()(lesson.graphs)
    steps = K - different if lesson.theirs else K
    return values(lesson, steps)


def grakel_is_here() -> bool:
    if importlib.util.find_spec("grakel") is None:
        print("Graphs: GraKeL is not installed, so that it is left out.", file=sys.stderr)
        return False
    return True


def task(
    name: str, title: str, setup: Callable, kernel: Kernel, theirs: Callable, quality: Callable = values, **others: Any
) -> Task:
    contenders: dict[str, Any] = {"mercer": partial(with_mercer, kernel)}
    if grakel_is_here():
        contenders["grakel"] = theirs
    tolerance = others.pop("tolerance", 1e-12)
    return Task(
        name=name,
        title=title,
        group="Graphs",
        setup=setup,
        contenders=contenders,
        quality=quality,
        tolerance=dict.fromkeys(("sum of values", "weighted sum"), ("relative", tolerance)),
        before={"grakel": as_theirs},
        **others,
    )


RANDOM = partial(random_graphs, N_GRAPHS)
WL, PATHS = WeisfeilerLehman(ROUNDS), ShortestPath()

TASKS = [
    task("graphs-wl", "Weisfeiler-Lehman, 5 rounds, 200 graphs", RANDOM, WL, weisfeiler_lehman),
    task("graphs-paths", "shortest paths, 200 graphs", RANDOM, PATHS, shortest_path),
    task(
        "graphs-walks",
        "labelled random walks, 60 graphs",
        partial(random_graphs, N_WALKED),
        RandomWalk(DECAY),
        random_walk,
        walk_values,
        tolerance=1e-3,  # their conjugate gradients are given a matrix that is not symmetric
    ),
    *(
        task(f"graphs-{short}-{name}", f"{words}, {name}", partial(stored_graphs, name), kernel, theirs, needs=(path,))
        for name in ("MUTAG", "PROTEINS", "NCI1")
        for path in [DATASETS / "graphs" / name]
        for short, words, kernel, theirs in [
            ("wl", "Weisfeiler-Lehman, 5 rounds", WL, weisfeiler_lehman),
            ("paths", "shortest paths", PATHS, shortest_path),
        ]
    ),
]


def summary(results: Results) -> dict | None:
    """How many times faster than GraKeL."""
    return times_faster(TASKS, results, "grakel", "Kernels between graphs, how many times faster than GraKeL")
