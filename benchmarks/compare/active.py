"""Asking for labels, against the same loop written with scikit-learn."""

import numpy as np
from sklearn.svm import SVC as TheirSVC

from benchmarks.data import cls
from benchmarks.task import Quality, Results, Task, times_faster
from mercer import SVC
from mercer.active import ActiveLearner
from mercer.kernels import RBF

N, QUESTIONS, FIRST = 100_000, 200, 20
GAMMA, C, TOL = 0.05, 1.0, 1e-6

Pool = tuple[np.ndarray, np.ndarray]


def pool_of(_: str) -> Pool:
    return cls(N)


def with_mercer(pool: Pool) -> np.ndarray:
    X, y = pool
    learner = ActiveLearner(SVC(RBF(gamma=GAMMA), C=C, tol=TOL), X, y, stop=None)
    learner.tell(np.arange(FIRST), y[:FIRST])
    return learner.learn(QUESTIONS).labelled_


def with_sklearn(pool: Pool) -> np.ndarray:
    X, y = pool
    labelled = list(range(FIRST))
    for _ in range(QUESTIONS):
        machine = TheirSVC(gamma=GAMMA, C=C, tol=TOL).fit(X[labelled], y[labelled])
        distance = np.abs(machine.decision_function(X))
        distance[labelled] = np.inf
        labelled.append(int(distance.argmin()))
    return np.array(labelled)


def quality(pool: Pool, labelled: np.ndarray) -> Quality:
    """The error of what was learnt from the answers.

    The questions are the same until two samples are closer to each other than LIBSVM's float32 rows can tell.
    """
    X, y = pool
    told = TheirSVC(gamma=GAMMA, C=C).fit(X[labelled], y[labelled]).predict(X)
    return {"error": float(np.mean(told != y))}


TASKS = [
    Task(
        name="active-100000",
        title="ActiveLearner, pool of 100 000, 200 questions",
        group="Asking for labels",
        setup=pool_of,
        contenders={"mercer": with_mercer, "scikit-learn": with_sklearn},
        quality=quality,
        tolerance={"error": ("absolute", 0.02)},
        repeats=1,
    )
]


def summary(results: Results) -> dict | None:
    """How many times faster than the loop."""
    beginning = "Asking for labels, how many times faster than the loop with scikit-learn's SVC"
    return times_faster(TASKS, results, "scikit-learn", beginning)
