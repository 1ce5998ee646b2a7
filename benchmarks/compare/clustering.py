"""k-means in feature space, against tslearn."""

import importlib.util
import sys
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.preprocessing import StandardScaler

from benchmarks.data import shrunk
from benchmarks.task import Quality, Results, Task, ratio
from mercer.cluster import KernelKMeans
from mercer.kernels import RBF

N_CLUSTERS, GAMMA = 10, 0.05


class Lesson(NamedTuple):
    """Samples and the labels that all start from, one run each."""

    X: np.ndarray
    labels: np.ndarray


class GivenStart(np.random.RandomState):
    """Draws nothing: tslearn starts from labels that it draws, and is to start from these."""

    def __init__(self, labels: np.ndarray):
        super().__init__(0)
        self.labels = labels

    def randint(self, *_: Any, **__: Any) -> np.ndarray:
        return self.labels.copy()


def blobs(_: str) -> Lesson:
    """Ten clouds in 20 dimensions, which touch each other, and labels that know nothing of them."""
    n = shrunk(10_000)
    X, _ = make_blobs(n, 20, centers=N_CLUSTERS, cluster_std=3.0, random_state=0)
    return Lesson(StandardScaler().fit_transform(X), np.random.RandomState(0).randint(N_CLUSTERS, size=n))


def with_mercer(lesson: Lesson) -> np.ndarray:
    return KernelKMeans(RBF(gamma=GAMMA), n_clusters=N_CLUSTERS, init=lesson.labels).fit(lesson.X).labels_


def with_tslearn(lesson: Lesson) -> np.ndarray:
    from tslearn.clustering import KernelKMeans as Theirs

    machine = Theirs(
        N_CLUSTERS, kernel="rbf", kernel_params={"gamma": GAMMA}, max_iter=300, random_state=GivenStart(lesson.labels)
    )
    return machine.fit(lesson.X).labels_


def objective(lesson: Lesson, labels: np.ndarray) -> Quality:
    """The sum of squared distances to the means in feature space, of whatever labels."""
    own, kernel = len(labels), RBF(gamma=GAMMA)
    within = 0.0
    for c in range(N_CLUSTERS):
        members = lesson.X[labels == c]
        within += float(kernel.dot(members, members, np.ones(len(members))).sum()) / len(members)
    return {"objective": own - within}


def tslearn_is_here() -> bool:
    if importlib.util.find_spec("tslearn") is None:
        print("Clusters: tslearn is not installed, so that it is left out.", file=sys.stderr)
        return False
    return True


TASKS = [
    Task(
        name="kernel-kmeans",
        title="KernelKMeans, n=10 000, k=10, one start",
        group="Clusters",
        setup=blobs,
        contenders={"mercer": with_mercer} | ({"tslearn": with_tslearn} if tslearn_is_here() else {}),
        quality=objective,
        # Other steps, since tslearn leaves out the lengths of the means, end at other local minima.
        tolerance={"objective": ("relative", 0.1)},
        repeats=1,
    )
]


def summary(results: Results) -> dict | None:
    """How many times faster than tslearn."""
    row = results.get("kernel-kmeans", {})
    if "tslearn" not in row:
        return None
    times = ratio(row, "tslearn")
    return {"times": times, "text": f"k-means in feature space, 10 000 samples: {times:.0f}× faster than tslearn."}
