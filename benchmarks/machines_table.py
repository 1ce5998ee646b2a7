"""Machines of all families side by side: ``python -m benchmarks.machines_table``, into the guide.

Every classifier gets the same samples of two classes, every regressor the same values; parameters are chosen on other
samples of the same kind, from a short list, so that a row shows what a machine can do and not how it is set up. Each is
then fitted to the same training samples, and asked about new ones, on one core: times are those of the processor, which
other programs beside it hardly change.
"""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_friedman1, make_hastie_10_2
from sklearn.model_selection import GridSearchCV, ParameterGrid
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

import mercer
from mercer.kernels import RBF
from mercer.threads import limit_threads

N, TUNING, NEW = 2000, 500, 20_000
C, GAMMA, ALPHA = (0.1, 1.0, 10.0), (0.03, 0.1, 0.3), (0.001, 0.01, 0.1, 1.0)
TABLES = Path(__file__).parent.parent / "docs" / "guide"
Contenders = Mapping[str, tuple[Any, Mapping[str, tuple]]]

KERNEL = {"kernel__gamma": GAMMA}
FEATURES = {"nystroem__kernel__gamma": GAMMA}


def on_landmarks(machine: Any) -> Any:
    return make_pipeline(mercer.Nystroem(RBF(), n_components=200), machine)


CLASSIFIERS: Contenders = {
    "SVC": (mercer.SVC(), KERNEL | {"C": C}),
    "SVC, probability=True": (mercer.SVC(probability=True), KERNEL | {"C": C}),
    "NuSVC": (mercer.NuSVC(), KERNEL | {"nu": (0.2, 0.3, 0.4)}),
    "LSSVC": (mercer.LSSVC(), KERNEL | {"alpha": ALPHA}),
    "KernelLogisticRegression": (mercer.KernelLogisticRegression(), KERNEL | {"C": C}),
    "GaussianProcessClassifier": (mercer.GaussianProcessClassifier(), {}),
    "RelevanceVectorClassifier": (mercer.RelevanceVectorClassifier(), KERNEL),
    "LPClassifier": (mercer.LPClassifier(), KERNEL | {"C": C}),
    "BayesPointMachine": (mercer.BayesPointMachine(), KERNEL | {"soft_boundary": C}),
    "KernelFisherDiscriminant": (mercer.KernelFisherDiscriminant(), KERNEL | {"alpha": ALPHA}),
    "KernelNearestCentroid": (mercer.KernelNearestCentroid(), KERNEL),
    "LinearSVC": (mercer.LinearSVC(), {"C": C}),
    "LinearSVC on Nystroem(200)": (on_landmarks(mercer.LinearSVC()), FEATURES | {"linearsvc__C": C}),
}
REGRESSORS: Contenders = {
    "SVR": (mercer.SVR(epsilon=0.5), KERNEL | {"C": (1.0, 10.0, 100.0)}),
    "NuSVR": (mercer.NuSVR(), KERNEL | {"C": (1.0, 10.0, 100.0)}),
    "KernelRidge": (mercer.KernelRidge(fit_intercept=True), KERNEL | {"alpha": ALPHA}),
    "GaussianProcessRegressor": (mercer.GaussianProcessRegressor(normalize_y=True), {}),
    "RelevanceVectorRegressor": (mercer.RelevanceVectorRegressor(), KERNEL),
    "LPRegressor": (mercer.LPRegressor(epsilon=0.5), KERNEL | {"C": (1.0, 10.0, 100.0)}),
    "LinearSVR": (mercer.LinearSVR(), {"C": C}),
    "LinearSVR on Nystroem(200)": (
        on_landmarks(mercer.LinearSVR(epsilon=0.5)),
        FEATURES | {"linearsvr__C": (1.0, 10.0, 100.0)},
    ),
}


def classes(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    return make_hastie_10_2(n, random_state=seed)


def values(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_friedman1(n, n_features=10, noise=1.0, random_state=seed)
    return (X - 0.5) * np.sqrt(12.0), y


def wrong(machine: Any, X: np.ndarray, y: np.ndarray) -> str:
    return f"{np.mean(machine.predict(X) != y):.1%}"


def root_mean_square(machine: Any, X: np.ndarray, y: np.ndarray) -> str:
    return f"{np.sqrt(np.mean((machine.predict(X) - y) ** 2)):.2f}"


def seconds(work: Callable[[], Any]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def size(machine: Any) -> str:
    """Samples that a fitted machine needs for predictions, or landmarks of its features; linear ones keep none."""
    if isinstance(machine, mercer.LinearSVC | mercer.LinearSVR):
        return "–"
    for part in (machine, getattr(machine, "estimator_", None)):
        for name in ("support_", "relevance_"):
            if hasattr(part, name):
                return str(len(getattr(part, name)))
    return "200" if hasattr(machine, "steps") else str(N)


def rows(contenders: Contenders, samples: Callable, error: Callable) -> Iterator[list[str]]:
    X, y = samples(N, 0)
    small, labels = samples(TUNING, 1)
    X_new, y_new = samples(NEW, 2)
    for name, (machine, grid) in contenders.items():
        if len(ParameterGrid(grid)) > 1:
            machine = GridSearchCV(machine, dict(grid), cv=5).fit(small, labels).best_estimator_
        machine = clone(machine)
        fit = seconds(lambda machine=machine: machine.fit(X, y))
        predict = seconds(lambda machine=machine: machine.predict(X_new))
        row = [f"``{name}``", error(machine, X_new, y_new), short(fit), short(predict), size(machine)]
        print(*row, sep=" | ", flush=True)
        yield row


def short(duration: float) -> str:
    return f"{1e3 * duration:.2g} ms" if duration < 0.0995 else f"{duration:.2g} s"


def table(heading: list[str], rows: Iterator[list[str]]) -> str:
    """In reStructuredText."""
    every = [heading, *rows]
    widths = [max(map(len, column)) for column in zip(*every, strict=True)]
    rule = "  ".join("=" * width for width in widths)
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in every]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule]) + "\n"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for file, contenders, samples, error, word in (
        ("classifiers.inc", CLASSIFIERS, classes, wrong, "wrong"),
        ("regressors.inc", REGRESSORS, values, root_mean_square, "error"),
    ):
        heading = ["machine", word, "fit", f"predict {NEW}", "samples kept"]
        with limit_threads(1), threadpool_limits(1):
            (TABLES / file).write_text(table(heading, rows(contenders, samples, error)))
