"""Selection curves, against pipelines of scikit-learn."""

import numpy as np
from scipy.stats import mannwhitneyu, ttest_ind
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import LeaveOneOut, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC as TheirSVC

from benchmarks.data import SHRINK, Samples
from benchmarks.real_data import DATASETS, table
from benchmarks.task import Quality, Task
from mercer import SVC
from mercer.features import fisher_score, mann_whitney, selection_curve, t_test

GOLUB = DATASETS / "golub_7129_train.csv.gz"
SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 7129) if SHRINK == 1 else (1, 100)

Errors = dict[str, list[int]]
"""How many samples are wrong with so many features, for every filter."""


def golub(_: str) -> Samples:
    """Leukaemia, 27 ALL and 11 AML; expression levels on a logarithmic scale, between what can be measured."""
    X, y = table(GOLUB)
    return Samples(np.log10(np.clip(X, 100, 16_000)), y, None, None)


def with_mercer(lesson: Samples) -> Errors:
    filters = {"fisher": fisher_score, "t": t_test, "u": mann_whitney}
    curves = selection_curve(SVC("linear"), lesson.X, lesson.y, filters, SIZES)
    return {name: curve.n_errors.tolist() for name, curve in curves.items()}


# --- theirs -----------------------------------------------------------------------------------------------


def apart(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    first = y == y[0]
    return X[first], X[~first]


def their_fisher_score(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    A, B = apart(X, y)
    with np.errstate(divide="ignore", invalid="ignore"):  # SelectKBest puts NaN last
        return (A.mean(axis=0) - B.mean(axis=0)) ** 2 / (A.var(axis=0) + B.var(axis=0))


def their_t_test(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.abs(ttest_ind(*apart(X, y), equal_var=False).statistic)


def their_mann_whitney(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return -mannwhitneyu(*apart(X, y)).pvalue


def with_pipelines(lesson: Samples) -> Errors:
    filters = {"fisher": their_fisher_score, "t": their_t_test, "u": their_mann_whitney}
    return {name: [n_wrong(lesson, SelectKBest(score, k=k)) for k in SIZES] for name, score in filters.items()}


def n_wrong(lesson: Samples, selector: SelectKBest) -> int:
    scores = cross_val_score(make_pipeline(selector, TheirSVC(kernel="linear")), lesson.X, lesson.y, cv=LeaveOneOut())
    return int((scores == 0).sum())


def quality(_lesson: Samples, errors: Errors) -> Quality:
    return {f"{name} {k}": n for name, counts in errors.items() for k, n in zip(SIZES, counts, strict=True)}


TASKS = [
    Task(
        name="selection-curve-38x7129",
        title="selection_curve, leukaemia, 38 x 7129, leave-one-out, 12 sizes, 3 filters",
        group="Choosing features",
        setup=golub,
        contenders={"mercer": with_mercer, "scikit-learn": with_pipelines},
        quality=quality,
        tolerance={f"{name} {k}": ("absolute", 0.0) for name in ("fisher", "t", "u") for k in SIZES},
        repeats=1,
        needs=(GOLUB,),
    )
]
