"""Recursive feature elimination, one feature after the other: against scikit-learn's RFE and RFECV around its SVC.

The data have the shape of the Wilms tumour set of [CY §1.7], 27 samples of 17 790 genes: noise, with some genes that
the two classes differ in. Who finds the same features has the same objective on them: by one machine, on the last 50.
"""

from functools import cache
from typing import Any

import numpy as np
import sklearn.svm
from sklearn.feature_selection import RFE, RFECV

from benchmarks.data import Samples, shrunk
from benchmarks.task import Quality, Results, Task, ratio
from mercer import SVC, KernelRFE
from mercer.kernels import RBF

GROUP = "Recursive feature elimination"
SAMPLES, GENES, INFORMATIVE, LAST = 27, 17_790, 40, 50
VALIDATED_SAMPLES, VALIDATED_GENES, FOLDS = 60, 1000, 5


@cache
def tumours(n: int, d: int) -> Samples:
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(n) % 2)
    X = rng.normal(size=(n, shrunk(d)))
    X[:, :INFORMATIVE] += np.where(y, 1.0, -1.0)[:, np.newaxis] * rng.uniform(0.2, 0.8, size=INFORMATIVE)
    return Samples(X, y, None, None)


def setup(contender: str) -> Samples:
    return tumours(SAMPLES, GENES)


def setup_folds(contender: str) -> Samples:
    return tumours(VALIDATED_SAMPLES, VALIDATED_GENES)


# --- contenders -------------------------------------------------------------------------------------------


def ours(samples: Samples, kernel: Any = "linear") -> KernelRFE:
    return KernelRFE(SVC(kernel), n_features_to_select=1).fit(samples.X, samples.y)


def narrowed(samples: Samples) -> KernelRFE:
    """A Gaussian kernel that does not depend on what is left."""
    return ours(samples, RBF(gamma=1.0 / samples.X.shape[1]))


def theirs(samples: Samples) -> RFE:
    return RFE(sklearn.svm.SVC(kernel="linear"), n_features_to_select=1).fit(samples.X, samples.y)


def ours_in_folds(samples: Samples) -> KernelRFE:
    return KernelRFE(cv=FOLDS).fit(samples.X, samples.y)


def theirs_in_folds(samples: Samples) -> RFECV:
    return RFECV(sklearn.svm.SVC(kernel="linear"), cv=FOLDS).fit(samples.X, samples.y)


# --- quality ----------------------------------------------------------------------------------------------


def quality(samples: Samples, selector: Any) -> Quality:
    """The objective on the last features to go, how many of them differ between the classes, and what proves it."""
    last = np.argsort(selector.ranking_, kind="stable")[:LAST]
    machine = SVC("linear", tol=1e-8).fit(samples.X[:, last], samples.y)
    numbers = {
        "objective": machine.result_.objective,
        "informative": int((last < INFORMATIVE).sum()),
        "survivor": int(last[0]),
    }
    if isinstance(selector, KernelRFE):
        numbers["violation"] = selector.result_.violation
    return numbers


def quality_of_folds(samples: Samples, selector: Any) -> Quality:
    return {
        "features": int(selector.n_features_),
        "score": float(np.max(selector.cv_results_["mean_test_score"])),
    }


TASKS = [
    Task(
        name=f"rfe-{SAMPLES}x{GENES}",
        title=f"linear SVC, {SAMPLES} × {GENES} to one feature",
        group=GROUP,
        setup=setup,
        contenders={"mercer": ours, "scikit-learn": theirs},
        quality=quality,
        tolerance={"objective": ("relative", 0.02), "informative": ("at least", 1)},
        repeats=3,
    ),
    Task(
        name=f"rfe-cv-{VALIDATED_SAMPLES}x{VALIDATED_GENES}",
        title=f"linear SVC, {VALIDATED_SAMPLES} × {VALIDATED_GENES} in {FOLDS} folds",
        group=GROUP,
        setup=setup_folds,
        contenders={"mercer": ours_in_folds, "scikit-learn": theirs_in_folds},
        quality=quality_of_folds,
        tolerance={"score": ("absolute", 0.02)},
        repeats=3,
    ),
    Task(
        name=f"rfe-rbf-{SAMPLES}x{GENES}",
        title=f"RBF SVC, {SAMPLES} × {GENES} to one feature",
        group=GROUP,
        setup=setup,
        contenders={"mercer": narrowed},
        quality=quality,
        repeats=3,
        listed=False,
    ),
]


def summary(results: Results) -> dict | None:
    """How many times faster than scikit-learn, and how long a kernel takes that it cannot do."""
    rows = {task.title: results.get(task.name, {}) for task in TASKS}
    compared = {title: row for title, row in rows.items() if {"mercer", "scikit-learn"} <= row.keys()}
    times = {title: ratio(row, "scikit-learn") for title, row in compared.items()}
    if not times:
        return None
    over = {title: "more than " * ("over" in row["scikit-learn"]) for title, row in compared.items()}
    told = "; ".join(f"{title} {over[title]}{factor:.0f}×" for title, factor in times.items())
    text = f"Recursive feature elimination, how many times faster than scikit-learn: {told}."
    alone = results.get(TASKS[-1].name, {}).get("mercer", {}).get("median")
    if alone is not None:
        text += f" {TASKS[-1].title}, which it cannot do: {alone:.3g} s."
    return {"times": times, "seconds": alone, "text": text}
