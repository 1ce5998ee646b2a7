"""Probabilities: one call that trains the machine, its folds and the sigmoid."""

import warnings
from functools import partial
from typing import Any

import numpy as np

from benchmarks import data
from benchmarks.compare.fitting import fit, fit_task
from benchmarks.compare.models import Lesson, check, dual_objective, library, read
from benchmarks.compare.peers import Machine, able
from benchmarks.task import Quality
from mercer.calibration import reliability

MACHINE = Machine("SVC", parameters={"C": 1.0, "probability": True, "random_state": 0})


def fit_quietly(contender: str, lesson: Lesson) -> Any:
    """scikit-learn has announced that its `probability` will go."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return fit(contender, lesson)


def quality(lesson: Lesson, estimator: Any) -> Quality:
    """The machine, and how far its probabilities are to be relied on: each library has folds of its own."""
    samples = lesson.samples
    model = read(estimator, lesson.machine.kind, samples.y)
    check(model, lesson)
    probabilities = estimator.predict_proba(samples.X_test)
    if library(estimator) == "thundersvm":  # its classes are in the order in which it met them
        probabilities = probabilities[:, np.argsort(np.argsort(np.unique(samples.y, return_index=True)[1]))]
    brier, log_loss, error = reliability(samples.y_test, probabilities)
    return {
        "dual objective": dual_objective(model, lesson),
        "Brier": brier,
        "log loss": log_loss,
        "calibration error": error,
    }


TASKS = [
    fit_task(
        f"svc-probability-{n}",
        f"SVC with probability=True, fit, n = {n}",
        MACHINE,
        partial(data.cls_split, n),
        contenders={contender: partial(fit_quietly, contender) for contender in able(MACHINE)},
        quality=quality,
        tolerance={"dual objective": ("relative", 1e-4), "Brier": ("absolute", 2e-3), "log loss": ("absolute", 1e-2)},
        group="Other machines",
        repeats=5,
    )
    for n in (5000,)
]
