"""Kernels between graphs, against GraKeL: kernel matrices, and how well machines with them predict."""

import importlib.util
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score

from benchmarks import data
from benchmarks.real_data import DATASETS
from benchmarks.task import Quality, Results, Task, ratio
from mercer.data import Graph, read_tu_dortmund
from mercer.kernels import (
    Kernel,
    RandomWalk,
    ShortestPath,
    VertexHistogram,
    WeisfeilerLehman,
    WeisfeilerLehmanOptimalAssignment,
)
from mercer.selection import tune
from mercer.svm import SVC

N_GRAPHS, N_WALKED, N_LABELS = 200, 60, 5
ROUNDS, DECAY = 5, 0.005
# Accuracies in per cent: of N. Shervashidze and others (2011) for the first kernel, of N. M. Kriege and others (2016)
# for the second, who chose C and the number of rounds inside ten folds, as we do.
PUBLISHED = {
    "MUTAG": (82.1, 84.5),
    "PTC_MR": (None, 63.6),
    "PROTEINS": (None, 76.4),
    "NCI1": (82.2, 86.1),
}


class Lesson(NamedTuple):
    """Graphs, and in a list those of GraKeL, which are made anew before each run: it changes them."""

    graphs: list[Graph]
    y: np.ndarray | None
    theirs: list[Any]


# --- graphs -----------------------------------------------------------------------------------------------


def random_graphs(n: int, _: str) -> Lesson:
    """Of 10 to 30 nodes, every fifth pair joined, with labels."""
    rng = np.random.default_rng(0)
    graphs = []
    for size in rng.integers(10, 31, size=data.shrunk(n, 10)):
        edges = np.argwhere(np.triu(rng.random((size, size)) < 0.2, 1))
        graphs.append(Graph(int(size), edges, node_labels=rng.integers(N_LABELS, size=size).tolist()))
    return Lesson(graphs, None, [])


def stored_graphs(name: str, _: str) -> Lesson:
    """Without labels of edges, which GraKeL does not look at."""
    graphs, y = read_tu_dortmund(DATASETS / "graphs" / name)
    kept = slice(None, None, data.SHRINK)
    return Lesson([graph.replace(edge_labels=None) for graph in graphs[kept]], y[kept], [])


def labelled_graphs(name: str, _: str) -> Lesson:
    graphs, y = read_tu_dortmund(DATASETS / "graphs" / name)
    return Lesson(graphs[:: data.SHRINK], y[:: data.SHRINK], [])


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


# --- predictions ------------------------------------------------------------------------------------------


def folds(lesson: Lesson) -> list[float]:
    """Accuracies of ten folds, with C and the number of rounds chosen inside each of them."""
    prices = 10.0 ** np.arange(-2, 4)
    accuracies = []
    for kind in (WeisfeilerLehman, WeisfeilerLehmanOptimalAssignment):
        machine = SVC(kind().normalized())
        search = tune(machine, {"C": prices, "kernel__kernel__h": [1, 2, 3, 4, 5]}, cv=5)
        outer = StratifiedKFold(10, shuffle=True, random_state=0)
        accuracies.append(float(cross_val_score(search, lesson.graphs, lesson.y, cv=outer).mean()))
    return accuracies


def prediction(name: str) -> Task:
    return Task(
        name=f"graphs-accuracy-{name}",
        title=f"accuracy on {name}, ten folds",
        group="Graphs",
        setup=partial(labelled_graphs, name),
        contenders={"mercer": folds},
        quality=lambda _, found: {"Weisfeiler-Lehman": found[0], "optimal assignment": found[1]},
        needs=(DATASETS / "graphs" / name,),
        repeats=0,
        full=True,
        listed=False,
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
    *map(prediction, PUBLISHED),
]


def summary(results: Results) -> dict | None:
    """How many times faster than GraKeL, and accuracies next to published ones."""
    compared = [one for one in TASKS if "grakel" in results.get(one.name, {})]
    told = {one.title: ratio(results[one.name], "grakel") for one in compared}
    said = []
    if told:
        said.append(
            "Graphs, against GraKeL: " + ", ".join(f"{title} {times:.0f}×" for title, times in told.items()) + "."
        )
    for name, published in PUBLISHED.items():
        found = results.get(f"graphs-accuracy-{name}", {}).get("mercer", {}).get("quality")
        if found:
            pairs = zip(found.items(), published, strict=True)
            words = [f"{kind} {100 * ours:.1f} %" + (f" ({known} %)" if known else "") for (kind, ours), known in pairs]
            said.append(f"{name}, ten folds (published): " + ", ".join(words) + ".")
    return {"times": told, "text": " ".join(said)} if said else None
