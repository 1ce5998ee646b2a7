"""Searches for parameters: the whole grid, every fold."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, LeaveOneOut, cross_val_score

from benchmarks import data
from benchmarks.compare import peers
from benchmarks.data import Samples
from benchmarks.real_data import DATA_SETS
from benchmarks.task import Quality, Task
from mercer.kernels import RBF, GapWeighted
from mercer.selection import tune
from mercer.svm import SVC

PRICES, WIDTHS = 2.0 ** np.arange(-5, 14, 2), 2.0 ** np.arange(-15, 4, 2)
FEW_PRICES, FEW_WIDTHS = 2.0 ** np.arange(-1, 8, 2), 2.0 ** np.arange(-9, 0, 2)
PEERS = ("scikit-learn", "intelex")
USPS = next(data_set for data_set in DATA_SETS if data_set.name == "usps")
LEFT_OUT_GAMMA = 1.0 / 20.0


def ours(prices: np.ndarray, widths: np.ndarray, folds: int, samples: Samples) -> Any:
    return tune(SVC(), {"C": prices, "kernel__gamma": widths}, cv=folds).fit(samples.X, samples.y)


def theirs(contender: str, prices: np.ndarray, widths: np.ndarray, folds: int, samples: Samples) -> Any:
    machine = peers.make(contender, peers.Machine("SVC"))
    return GridSearchCV(machine, {"C": prices, "gamma": widths}, cv=folds, n_jobs=2).fit(samples.X, samples.y)


def quality(samples: Samples, search: Any) -> Quality:
    best = {name.removeprefix("kernel__"): float(value) for name, value in search.best_params_.items()}
    return {"best C": best["C"], "best gamma": best["gamma"], "score": float(search.best_score_)}


def contenders(prices: np.ndarray, widths: np.ndarray, folds: int) -> dict[str, Callable[[Samples], Any]]:
    return {
        "mercer": partial(ours, prices, widths, folds),
        **{name: partial(theirs, name, prices, widths, folds) for name in PEERS if peers.installed(name)},
    }


def without_test(X: np.ndarray, y: np.ndarray) -> Samples:
    return Samples(X, y, None, None)


def left_out(samples: Samples) -> np.ndarray:
    search = tune(SVC(kernel=RBF(gamma=LEFT_OUT_GAMMA)), {"C": [1.0]}, cv=LeaveOneOut(), refit=False)
    found = search.fit(samples.X, samples.y).cv_results_
    return np.array([found[f"split{k}_test_score"][0] for k in range(len(samples.y))])


def left_out_by(contender: str, samples: Samples) -> np.ndarray:
    machine = peers.make(contender, peers.Machine("SVC", RBF(gamma=LEFT_OUT_GAMMA)))
    return cross_val_score(machine, samples.X, samples.y, cv=LeaveOneOut())


def strings(n: int = 500, length: int = 200) -> Samples:
    """Random DNA; in every second string a motif of four letters is planted ten times, with a gap at some place."""
    rng = np.random.default_rng(0)
    letters = rng.integers(4, size=(n, length))
    y = np.arange(n) % 2
    for row in np.flatnonzero(y):
        for start in rng.choice(length // 5, size=10, replace=False) * 5:
            letters[row, start + np.sort(rng.choice(5, size=4, replace=False))] = [0, 2, 1, 3]
    return without_test(["".join("ACGT"[k] for k in row) for row in letters], y)


STRING_GRID = {"C": 2.0 ** np.arange(-1, 8, 2), "kernel__kernel__decay": [0.1, 0.3, 0.5, 0.7, 0.9]}


def tuned_strings(samples: Samples) -> Any:
    return tune(SVC(GapWeighted(3).normalized()), STRING_GRID, cv=5).fit(samples.X, samples.y)


def searched_strings(samples: Samples) -> Any:
    search = GridSearchCV(SVC(GapWeighted(3).normalized()), STRING_GRID, cv=5, n_jobs=2)
    return search.fit(samples.X, samples.y)


def quality_of_strings(samples: Samples, search: Any) -> Quality:
    best = search.best_params_
    return {"best C": best["C"], "best decay": best["kernel__kernel__decay"], "score": float(search.best_score_)}


SAME_WINNER = {"best C": ("relative", 1e-9), "best gamma": ("relative", 1e-9), "score": ("absolute", 2e-3)}

TASKS = [
    Task(
        name="tune-2000",
        title="10 x 10 grid of C and gamma, 5 folds, n = 2000",
        group="Tuning",
        setup=lambda _: without_test(*data.cls(2000)),
        contenders=contenders(PRICES, WIDTHS, 5),
        quality=quality,
        tolerance=SAME_WINNER,
        repeats=3,
    ),
    Task(
        name="tune-10000",
        title="every third value of each axis, 5 folds, n = 10 000",
        group="Tuning",
        setup=lambda _: without_test(*data.cls(10_000)),
        contenders=contenders(PRICES[::3], WIDTHS[::3], 5),
        quality=quality,
        tolerance=SAME_WINNER,
        repeats=0,
    ),
    Task(
        name="tune-usps",
        title="5 x 5 grid of C and gamma, 3 folds, USPS (7291, 10 classes)",
        group="Tuning",
        setup=lambda _: without_test(USPS.samples().X, USPS.samples().y),
        contenders=contenders(FEW_PRICES, FEW_WIDTHS, 3),
        quality=quality,
        tolerance=SAME_WINNER,
        repeats=0,
        needs=USPS.paths,
    ),
    Task(
        name="tune-leave-one-out",
        title="leave-one-out, n = 300",
        group="Tuning",
        setup=lambda _: without_test(*data.cls(300)),
        contenders={
            "mercer": left_out,
            **{name: partial(left_out_by, name) for name in PEERS if peers.installed(name)},
        },
        quality=lambda samples, right: {"score": float(np.mean(right))},
        tolerance={"score": ("absolute", 1e-9)},
    ),
    Task(
        name="tune-strings",
        title="GapWeighted(3), 5 x 5 grid of C and decay, 5 folds, 500 strings of length 200",
        group="Tuning",
        setup=lambda _: strings(),
        contenders={"mercer": tuned_strings, "GridSearchCV of mercer": searched_strings},
        quality=quality_of_strings,
        tolerance={"best C": ("relative", 1e-9), "best decay": ("relative", 1e-9), "score": ("absolute", 2e-3)},
        repeats=0,
    ),
]
