"""A machine on the scores of a hidden Markov model beside the model's own classifier: ``python -m benchmarks.fisher``.

Extracellular and mitochondrial proteins (protein_localisation.csv), ten stratified folds. The classifier of the model
has one hidden Markov model for each class, and Bayes' rule. The machines see one model of all training sequences,
without their classes; C is chosen inside each fold by another five. All models have the same number of states and the
same start.
"""

import csv
import sys
from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.real_data import DATASETS
from mercer import SVC
from mercer.kernels import Fisher, Kernel, MarginalizedCount
from mercer.models import HiddenMarkovModel
from mercer.selection import tune

FILE = DATASETS / "protein_localisation.csv"
LETTERS = "ACDEFGHIKLMNPQRSTVWY"
PRICES = 10.0 ** np.arange(-1, 4)


def proteins() -> tuple[np.ndarray, np.ndarray]:
    with FILE.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    return np.array([row["sequence"] for row in rows], dtype=object), np.array([row["class"] for row in rows])


def fitted(X: Any, n_states: int) -> HiddenMarkovModel:
    return HiddenMarkovModel.from_data(X, n_states, alphabet=LETTERS, max_iter=60, random_state=0)


def by_likelihood(X: Any, y: np.ndarray, new: Any, n_states: int) -> np.ndarray:
    """One model per class; the class of the largest p(class) p(x | class)."""
    classes = np.unique(y)
    joint = [
        fitted(X[y == label], n_states).log_likelihood(new) + np.log(np.mean(y == label)) for label in classes.tolist()
    ]
    return classes[np.argmax(joint, axis=0)]


def kernels(model: HiddenMarkovModel) -> dict[str, Kernel]:
    return {
        "Fisher, normalised": Fisher(model).normalized(),
        "Gaussian of Fisher, normalised": Fisher(model).normalized().rbf(),
        "marginalised counts, order 1": MarginalizedCount(model).normalized().rbf(),
        "marginalised counts, order 2": MarginalizedCount(model, order=2).normalized().rbf(),
    }


def by_machine(kernel: Kernel, X: Any, y: np.ndarray, new: Any) -> np.ndarray:
    inside = StratifiedKFold(5, shuffle=True, random_state=0)
    return tune(SVC(kernel), {"C": PRICES}, cv=inside).fit(X, y).predict(new)


def study(n_states: int) -> Iterator[str]:
    X, y = proteins()
    right: dict[str, list[float]] = {}
    spent: dict[str, float] = {}

    def note(name: str, began: float, predicted: np.ndarray, wanted: np.ndarray) -> None:
        right.setdefault(name, []).append(float(np.mean(predicted == wanted)))
        spent[name] = spent.get(name, 0.0) + perf_counter() - began

    for train, test in StratifiedKFold(10, shuffle=True, random_state=0).split(X, y):
        began = perf_counter()
        note("likelihood of one model per class", began, by_likelihood(X[train], y[train], X[test], n_states), y[test])
        for name, kernel in kernels(fitted(X[train], n_states)).items():
            began = perf_counter()
            note(name, began, by_machine(kernel, X[train], y[train], X[test]), y[test])
    for name, shares in right.items():
        yield f"| {name} | {100 * np.mean(shares):.1f} ± {100 * np.std(shares):.1f} % | {spent[name]:.1f} |"


def main(n_states: int = 10) -> None:
    if not FILE.exists():
        print(f"skipped, without {FILE.name}")
        return
    print(f"{n_states} states\n\n| classifier | accuracy | seconds |\n|---|---|---|")
    for line in study(n_states):
        print(line, flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
