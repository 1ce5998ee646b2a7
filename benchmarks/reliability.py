"""How far probabilities can be relied on: ``python -m benchmarks.reliability``.

The same support vector classifier, C = 1, on the same folds, calibrated by mercer and by scikit-learn's
CalibratedClassifierCV, with one machine (mercer's default) and with one per fold (scikit-learn's). Brier score, log
loss and expected calibration error on samples that neither has seen, means over several splits. Data sets that are not
there are left out.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as TheirSVC

from benchmarks.real_data import DATASETS, table
from mercer import SVC, Calibrated
from mercer.calibration import Reliability, reliability
from mercer.datasets import load_ionosphere
from mercer.kernels import RBF

SPLITS, TRAINED, MOST = 5, 2 / 3, 3000
METHODS = ("sigmoid", "isotonic", "temperature")


@dataclass(frozen=True)
class DataSet:
    """Samples and classes, from a library or from a file."""

    name: str
    read: Callable[[], tuple[Any, Any]]
    file: Path | None = None


def of_file(name: str, file: str) -> DataSet:
    path = DATASETS / file
    return DataSet(name, lambda: table(path), path)


DATA_SETS = (
    DataSet("breast cancer", lambda: load_breast_cancer(return_X_y=True)),
    DataSet("ionosphere", lambda: load_ionosphere(return_X_y=True)),
    DataSet("wine, 3 classes", lambda: load_wine(return_X_y=True)),
    DataSet("digits, 10 classes", lambda: load_digits(return_X_y=True)),
    of_file("pima", "pima.csv"),
    of_file("german", "ida_german.csv"),
    of_file("spam", "spam.csv.gz"),
    of_file("waveform", "ida_waveform.csv.gz"),
    of_file("vehicle, 4 classes", "vehicle.csv"),
)


def machines(method: str, gamma: float, folds: list) -> dict[str, Any]:
    """The contenders, not yet trained."""
    ours, theirs, settings = SVC(RBF(gamma=gamma), C=1.0), TheirSVC(C=1.0, gamma=gamma), {"method": method, "cv": folds}
    return {
        "mercer, one machine": Calibrated(ours, **settings),
        "scikit-learn, one machine": CalibratedClassifierCV(theirs, **settings, ensemble=False),
        "mercer, ensemble": Calibrated(ours, **settings, ensemble=True),
        "scikit-learn, ensemble": CalibratedClassifierCV(theirs, **settings, ensemble=True),
    }


def measure(X: np.ndarray, y: np.ndarray, method: str, n_splits: int = SPLITS) -> dict[str, Reliability]:
    """The means of every measure, by contender."""
    found: dict[str, list[Reliability]] = {}
    for train, test in StratifiedShuffleSplit(n_splits, train_size=TRAINED, random_state=0).split(X, y):
        scaler = StandardScaler().fit(X[train])
        given, asked = scaler.transform(X[train]), scaler.transform(X[test])
        folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(given, y[train]))
        for name, machine in machines(method, RBF(gamma="scale").resolve(given).gamma, folds).items():
            machine.fit(given, y[train])
            measures = reliability(y[test], machine.predict_proba(asked), classes=machine.classes_)
            found.setdefault(name, []).append(measures)
    return {name: Reliability(*np.mean(measures, axis=0).tolist()) for name, measures in found.items()}


def lines() -> Iterator[str]:
    contenders = list(machines("sigmoid", 1.0, []))
    yield "| data | method | " + " | ".join(contenders) + " |"
    yield "|---" * (len(contenders) + 2) + "|"
    for data_set in DATA_SETS:
        if data_set.file is not None and not data_set.file.exists():
            yield f"{data_set.name}: skipped, without {data_set.file.name}"
            continue
        X, y = data_set.read()
        chosen = np.random.default_rng(0).permutation(len(y))[:MOST]
        for method in METHODS:
            measured = measure(np.asarray(X, dtype=float)[chosen], np.asarray(y)[chosen], method)
            cells = (f"{m.brier:.4f} / {m.log_loss:.4f} / {m.calibration_error:.4f}" for m in measured.values())
            yield f"| {data_set.name} | {method} | " + " | ".join(cells) + " |"


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # isotonic probabilities of zero, and scikit-learn's news
    print("Brier score / log loss / calibration error; smaller is better.\n")
    for line in lines():
        print(line, flush=True)
