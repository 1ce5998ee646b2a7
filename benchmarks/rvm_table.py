"""Relevance vectors beside support vectors: ``python -m benchmarks.rvm_table [part of a name ...]``.

The table of M. E. Tipping, Sparse Bayesian learning and the relevance vector machine, 2001: test error and number of
vectors, means over the same random splits. Both machines have an RBF kernel on features that are standardised by the
training samples. C, gamma and epsilon of the support vector machine are chosen by five folds. The width of the
relevance vector machine is chosen by the same folds, as in the paper, or by its evidence, without any. Values are
judged by the squared error, generated ones without their noise. Data sets that are not there are left out, with a
message.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import load_diabetes, make_friedman2, make_friedman3
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler

from benchmarks.real_data import DATASETS, table
from mercer import RelevanceVectorClassifier, RelevanceVectorRegressor, TunedSVC, TunedSVR
from mercer.datasets import load_ionosphere, load_sonar
from mercer.kernels import RBF

SPLITS, FOLDS = 5, 5
MOST_TESTED = 4000
WIDTHS = 2.0 ** np.arange(-9, 2, 2)  # gamma
PRICES = 2.0 ** np.arange(-2, 11, 2)
TUBES = 2.0 ** np.arange(-6, 0, 2)  # epsilon, for targets of variance one
MACHINES = ("SVM", "RVM, folds", "RVM, evidence")


@dataclass(frozen=True)
class Study:
    """Samples, and how many of them are for training."""

    name: str
    read: Callable[[], Sequence[np.ndarray]]  # X and y, and what to test with if that is not y
    n_train: int
    regression: bool = False
    file: Path | None = None


def from_file(name: str, file: str, n_train: int, regression: bool = False) -> Study:
    read = partial(read_values if regression else table, DATASETS / file)
    return Study(name, read, n_train, regression, DATASETS / file)


def read_values(path: Path) -> tuple[np.ndarray, np.ndarray]:
    X, y = table(path)
    return X, y.astype(float)


def read_abalone(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The first column is one of three letters."""
    rows = np.loadtxt(path, delimiter=",", skiprows=1, dtype=str)
    sex = rows[:, :1] == np.unique(rows[:, 0])
    return np.column_stack([sex.astype(float), rows[:, 1:-1].astype(float)]), rows[:, -1].astype(float)


def noisy(X: np.ndarray, truth: np.ndarray, noise: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return X, truth + noise * np.random.default_rng(1).standard_normal(len(X)), truth


def sinc() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).uniform(-10.0, 10.0, size=(2000, 1))
    return noisy(X, np.sinc(X[:, 0] / np.pi), 0.1)


STUDIES = (
    Study("sinc", sinc, 100, True),
    Study("Friedman 2", lambda: noisy(*make_friedman2(2000, random_state=0), 125.0), 240, True),
    Study("Friedman 3", lambda: noisy(*make_friedman3(2000, random_state=0), 0.1), 240, True),
    from_file("Boston", "boston.csv", 481, True),
    Study("diabetes", lambda: load_diabetes(return_X_y=True), 350, True),
    from_file("concrete", "concrete.csv", 700, True),
    Study("abalone", partial(read_abalone, DATASETS / "abalone.csv"), 700, True, DATASETS / "abalone.csv"),
    from_file("Pima", "pima.csv", 200),
    from_file("banana", "ida_banana.csv", 400),
    from_file("breast cancer", "ida_breast_cancer.csv", 200),
    from_file("titanic", "ida_titanic.csv", 150),
    from_file("waveform", "ida_waveform.csv.gz", 400),
    from_file("German credit", "ida_german.csv", 700),
    from_file("image", "ida_image.csv.gz", 1300),
    Study("ionosphere", lambda: load_ionosphere(return_X_y=True), 250),
    Study("sonar", lambda: load_sonar(return_X_y=True), 150),
)


def machines(study: Study) -> Iterator[Any]:
    """In the order of `MACHINES`, to be trained."""
    folds = (KFold if study.regression else StratifiedKFold)(FOLDS, shuffle=True, random_state=0)
    grid: dict[str, Sequence[float]] = {"C": PRICES, "kernel__gamma": WIDTHS}
    if study.regression:
        yield TunedSVR(param_grid={**grid, "epsilon": TUBES}, cv=folds, n_threads=1)
        relevance, scoring = RelevanceVectorRegressor, "neg_mean_squared_error"
    else:
        yield TunedSVC(param_grid=grid, cv=folds, n_threads=1)
        relevance, scoring = RelevanceVectorClassifier, "accuracy"
    kernels = [RBF(gamma=gamma) for gamma in WIDTHS]
    yield GridSearchCV(relevance(n_threads=1), {"kernel": kernels}, cv=folds, scoring=scoring)
    yield relevance(gamma="evidence", n_threads=1)


def measure(study: Study, data: Sequence[np.ndarray], train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Error, number of vectors and seconds of every machine, shape (3, 3)."""
    X, y, truth = data[0], data[1], data[-1]
    test = test[:MOST_TESTED]
    scaler = StandardScaler().fit(X[train])
    inputs, new = scaler.transform(X[train]), scaler.transform(X[test])
    mean, deviation = (y[train].mean(), y[train].std()) if study.regression else (0.0, 1.0)
    found = []
    for machine in machines(study):
        began = perf_counter()
        machine.fit(inputs, (y[train] - mean) / deviation if study.regression else y[train])
        seconds = perf_counter() - began
        predicted = machine.predict(new)
        if study.regression:
            error = np.mean(np.square(mean + deviation * predicted - truth[test]))
        else:
            error = 100.0 * np.mean(predicted != truth[test])
        model = getattr(machine, "best_estimator_", machine)
        found.append((error, len(model.support_), seconds))
    return np.array(found)


def lines(parts: list[str]) -> Iterator[str]:
    yield f"| data | trained | features | error: {' | '.join(MACHINES)} | vectors: {' | '.join(MACHINES)} | seconds |"
    yield "|---" * (2 * len(MACHINES) + 4) + "|"
    relative: dict[bool, list[np.ndarray]] = {True: [], False: []}
    for study in STUDIES:
        if parts and not any(part.lower() in study.name.lower() for part in parts):
            continue
        if study.file is not None and not study.file.exists():
            yield f"{study.name}: skipped, without {study.file.name}"
            continue
        data = study.read()
        splitter = (ShuffleSplit if study.regression else StratifiedShuffleSplit)(
            SPLITS, train_size=study.n_train, random_state=0
        )
        each = Parallel(n_jobs=-1)(delayed(measure)(study, data, *split) for split in splitter.split(*data[:2]))
        error, vectors, seconds = np.mean(each, axis=0).T
        relative[study.regression].append(np.stack([error, vectors]) / np.stack([error[:1], vectors[:1]]))
        cells = [f"{e:.4g}" for e in error] + [f"{v:.1f}" for v in vectors]
        times = ", ".join(f"{s:.2f}" for s in seconds)
        yield f"| {study.name} | {study.n_train} | {data[0].shape[1]} | {' | '.join(cells)} | {times} |"
    for regression, ratios in relative.items():
        if ratios:
            cells = [f"{ratio:.2f}" for ratio in np.exp(np.mean(np.log(ratios), axis=0)).ravel()]
            yield f"| {'values' if regression else 'classes'}, beside the SVM | | | {' | '.join(cells)} | |"


if __name__ == "__main__":
    for line in lines(sys.argv[1:]):
        print(line, flush=True)
