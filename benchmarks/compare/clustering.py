"""k-means in feature space, against tslearn."""

import importlib.util
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.preprocessing import StandardScaler

from benchmarks.data import shrunk
from benchmarks.task import Quality, Results, Task, times_faster
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


def blobs(n: int) -> np.ndarray:
    """Ten clouds in 20 dimensions, which touch each other."""
    X, _ = make_blobs(n, 20, centers=N_CLUSTERS, cluster_std=3.0, random_state=0)
    return StandardScaler().fit_transform(X)


def from_random_labels(_: str) -> Lesson:
    """As tslearn starts: labels that know nothing of the samples."""
    X = blobs(shrunk(10_000))
    return Lesson(X, np.random.RandomState(0).randint(N_CLUSTERS, size=len(X)))


def from_samples(_: str) -> Lesson:
    """Labels by the nearest of ten samples that are far from each other."""
    X = blobs(shrunk(10_000))
    chosen = [0]
    for _ in range(N_CLUSTERS - 1):
        chosen.append(int(cdist(X, X[chosen]).min(axis=1).argmax()))
    return Lesson(X, cdist(X, X[chosen]).argmin(axis=1))


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
    for c in np.unique(labels):
        members = lesson.X[labels == c]
        within += float(kernel.dot(members, members, np.ones(len(members))).sum()) / len(members)
    return {"objective": own - within}


def tslearn_is_here() -> bool:
    if importlib.util.find_spec("tslearn") is None:
        print("Clusters: tslearn is not installed, so that it is left out.", file=sys.stderr)
        return False
    return True


def task(name: str, start: str, setup: Callable[[str], Lesson], tolerance: float) -> Task:
    return Task(
        name=name,
        title=f"KernelKMeans, n=10 000, k=10, from {start}",
        group="Clusters",
        setup=setup,
        contenders={"mercer": with_mercer} | ({"tslearn": with_tslearn} if tslearn_is_here() else {}),
        quality=objective,
        tolerance={"objective": ("relative", tolerance)},
        repeats=5,
    )


TASKS = [
    task("kernel-kmeans-samples", "ten samples", from_samples, 1e-3),
    # tslearn leaves out the lengths of the means: other steps, which end at another local minimum.
    task("kernel-kmeans-labels", "random labels", from_random_labels, 0.1),
]


def summary(results: Results) -> dict | None:
    """How many times faster than tslearn."""
    return times_faster(TASKS, results, "tslearn", "k-means in feature space, how many times faster than tslearn")
