"""Many classes: a thousand pairs and more, and the way of a sample through the graph of pairs."""

from typing import Any, NamedTuple

import numpy as np

from benchmarks.compare.fitting import fit_task
from benchmarks.compare.models import ASKED, Lesson, check, dual_objective, own_predictions, read, success
from benchmarks.compare.peers import Machine, make
from benchmarks.data import Samples
from benchmarks.real_data import LETTER, SECTOR
from benchmarks.task import Quality, Results, Task, ratio
from mercer.kernels import RBF, Linear
from mercer.multiclass.evaluate import walk

PAIRS = Machine("SVC", kernel=Linear(), parameters={"C": 10.0})
# Who predicts: the machine of which library, with what to tell it.
PREDICTING = {
    "mercer": ("mercer", {"multi_class": "dag"}),
    "the vote": ("mercer", {}),
    "scikit-learn": ("scikit-learn", {}),
}


def quality_of_pairs(lesson: Lesson, estimator: Any) -> Quality:
    """Of 5460 pairs many classes have as many votes as another, and libraries differ in which of them they take: the
    predictions are those of the machine itself."""
    machine, samples = lesson
    model = read(estimator, machine.kind, samples.y)
    check(model, lesson)
    numbers = success(machine.kind, own_predictions(estimator, samples), samples.y_test[:ASKED])
    return {"dual objective": dual_objective(model, lesson), **numbers}


class Trained(NamedTuple):
    """A machine that has been trained, and samples for it."""

    estimator: Any
    samples: Samples


def train(contender: str) -> Trained:
    samples = LETTER.samples()
    library, words = PREDICTING[contender]
    machine = Machine("SVC", RBF(gamma="scale"), {"C": 10.0, **words}).on(samples.X)
    return Trained(make(library, machine).fit(samples.X, samples.y), samples)


def predict(trained: Trained) -> np.ndarray:
    return trained.estimator.predict(trained.samples.X_test)


def quality(trained: Trained, predicted: np.ndarray) -> Quality:
    """For the graph also how many machines a sample has asked."""
    estimator, samples = trained
    numbers = {"accuracy": float(np.mean(predicted == samples.y_test))}
    if getattr(estimator, "multi_class", None) == "dag":
        X, Y = estimator._compared(samples.X_test)
        model = estimator.dual_coef_, estimator.intercept_, len(estimator.classes_)
        numbers["machines per sample"] = walk(estimator.kernel_, X, Y, *model).evaluations / len(samples.X_test)
    return numbers


TASKS = [
    fit_task(
        "sector",
        SECTOR.title,
        PAIRS,
        SECTOR.samples,
        quality=quality_of_pairs,
        needs=SECTOR.paths,
        group="Many classes, C = 10",
        repeats=1,
    ),
    Task(
        name="graph",
        title="Prediction through the graph of pairs, letter, 4000 rows",
        group="Many classes, C = 10",
        setup=train,
        contenders=dict.fromkeys(PREDICTING, predict),
        quality=quality,
        tolerance={"accuracy": ("absolute", 1e-2)},
        needs=LETTER.paths,
    ),
]


def summary(results: Results) -> dict | None:
    row = results.get("graph", {})
    if not {"mercer", "the vote"} <= row.keys():
        return None
    factor, machines = ratio(row, "the vote"), row["mercer"]["quality"]["machines per sample"]
    text = (
        f"On the way through the graph of 26 classes a sample asks {machines:g} of 325 machines; all of them take "
        f"{factor:.1f} times as long."
    )
    return {"vote over graph": factor, "machines per sample": machines, "text": text}
