"""What has been learnt, read out of a machine of any library and judged by one measure for all."""

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, csr_matrix, issparse
from sklearn.metrics import r2_score

from benchmarks.compare.peers import Machine
from benchmarks.data import Samples
from benchmarks.task import Quality

# Time counts only where the optimum and what it is good for are the same.
SAME = {
    "SVC": {"dual objective": ("relative", 1e-4), "accuracy": ("absolute", 2e-3)},
    "NuSVC": {"dual objective": ("relative", 1e-4), "accuracy": ("absolute", 2e-3)},
    "OneClassSVM": {"dual objective": ("relative", 1e-4), "inside": ("absolute", 2e-3)},
    "SVR": {"dual objective": ("relative", 1e-4), "R2": ("absolute", 2e-3)},
}
CLASSIFIERS = ("SVC", "NuSVC")
# Rounding of float32, in which some libraries hold their coefficients.
ROUNDING = 1e-4
# Test samples on which a machine is asked for its own opinion, and the share that must be ours.
ASKED, UNDERSTOOD = 200, 0.97


class Lesson(NamedTuple):
    """A machine, and what it is to learn."""

    machine: Machine
    samples: Samples


class Model(NamedTuple):
    """A row of coefficients, over the support vectors, for every problem of two classes, or for the only problem."""

    support: np.ndarray
    coefficients: np.ndarray
    intercepts: np.ndarray
    pairs: list[tuple[int, int]]  # the classes for which positive and negative values speak; none for regression


def library(estimator: Any) -> str:
    return type(estimator).__module__.split(".")[0]


def read(estimator: Any, kind: str, y: Any) -> Model:
    """The model in a machine, whatever the layout of its library."""
    support, table = np.asarray(estimator.support_), estimator.dual_coef_
    table = table.toarray() if issparse(table) else np.asarray(table)
    intercepts = np.asarray(estimator.intercept_, dtype=float)
    if library(estimator) == "thundersvm":
        intercepts = -intercepts
    if kind not in CLASSIFIERS:
        return Model(support, table, intercepts, [])
    _, first, codes = np.unique(y, return_index=True, return_inverse=True)
    # In the order of the labels, or in that of the samples.
    classes = np.argsort(first) if library(estimator) == "thundersvm" else np.arange(len(first))
    pairs = list(combinations(classes.tolist(), 2))
    if library(estimator) == "mercer":
        return Model(support, table, intercepts, [(j, i) for i, j in pairs])
    if len(classes) == 2 and library(estimator) != "thundersvm":  # scikit-learn turns the signs of LIBSVM
        return Model(support, table, intercepts, [(1, 0)])
    return Model(support, one_versus_one(table, np.argsort(classes)[codes[support]]), intercepts, pairs)


def one_versus_one(table: np.ndarray, place: np.ndarray) -> np.ndarray:
    """A row for every pair of classes, from the layout of LIBSVM.

    There a support vector has a coefficient for every class but its own, in the order of these classes; `place` is
    that of its own class.
    """
    rows = []
    for i, j in combinations(range(len(table) + 1), 2):
        rows.append(np.where(place == i, table[j - 1], 0.0) + np.where(place == j, table[i], 0.0))
    return np.array(rows)


def quality(lesson: Lesson, estimator: Any) -> Quality:
    """Objective and success, computed by us for all; for mercer also what it certifies itself."""
    machine, samples = lesson
    model = read(estimator, machine.kind, samples.y)
    check(model, lesson)
    predicted = predict(model, lesson)
    agreement = np.mean(np.isclose(predicted[:ASKED], own_predictions(estimator, samples), rtol=0.01, atol=0.01))
    if agreement < UNDERSTOOD:
        raise ValueError(f"the coefficients are not understood: they give {agreement:.0%} of the predictions")
    numbers = {
        "dual objective": dual_objective(model, lesson),
        **success(machine.kind, predicted, samples.y_test),
        "support vectors": len(model.support),
        "sparsity": 1.0 - len(model.support) / samples.X.shape[0],
    }
    if library(estimator) == "mercer":
        result = estimator.result_
        numbers |= {"status": result.status, "violation": result.violation, "relative gap": result.relative_gap}
    return numbers


def check(model: Model, lesson: Lesson) -> None:
    """Every problem has a feasible point of its dual; if not, the layout is another one than we think."""
    parameters = lesson.machine.parameters
    largest = np.inf if "class_weight" in parameters else parameters.get("C", np.inf)
    codes = np.unique(lesson.samples.y, return_inverse=True)[1][model.support] if model.pairs else None
    for k, row in enumerate(model.coefficients):
        size = np.abs(row).sum()
        if lesson.machine.kind != "OneClassSVM" and abs(row.sum()) > ROUNDING * size:
            raise ValueError(f"the coefficients of problem {k} add up to {row.sum():g}, not to zero")
        if np.abs(row).max() > (1.0 + ROUNDING) * largest:
            raise ValueError(f"a coefficient of problem {k} is {np.abs(row).max():g}, above C")
        if codes is not None:
            plus, minus = model.pairs[k]
            if (row[codes != plus] > 0).any() or (row[codes != minus] < 0).any():
                raise ValueError(f"a coefficient of problem {k} has the sign of the other class")


def dual_objective(model: Model, lesson: Lesson) -> float:
    """The sum over all problems, without a kernel matrix."""
    machine, samples = lesson
    total = 0.0
    for row in model.coefficients:
        used = model.support[row != 0]
        vectors, coefficients = in_full(samples.X[used]), row[row != 0]
        squared_norm = float(coefficients @ machine.kernel.dot(vectors, vectors, coefficients))
        size = float(np.abs(coefficients).sum())
        if machine.kind == "SVC":
            total += size - 0.5 * squared_norm
        elif machine.kind == "SVR":
            total += float(samples.y[used] @ coefficients) - machine.parameters["epsilon"] * size - 0.5 * squared_norm
        else:  # the multipliers add up to nu n; what is stored may have been divided by the margin
            total += 0.5 * squared_norm * (machine.parameters["nu"] * samples.X.shape[0] / size) ** 2
    return total


def predict(model: Model, lesson: Lesson) -> np.ndarray:
    """What the model says of the test samples; of classes with equally many votes, the first."""
    machine, samples = lesson
    vectors, coefficients = in_full(samples.X[model.support]), model.coefficients.T
    if len(model.pairs) > 1:
        coefficients = csr_array(coefficients)
    values = machine.kernel.dot(in_full(samples.X_test), vectors, coefficients) + model.intercepts
    if machine.kind == "SVR":
        return values[:, 0]
    if machine.kind == "OneClassSVM":
        return np.where(values[:, 0] >= 0, 1, -1)
    classes = np.unique(samples.y)
    votes = np.zeros((len(values), len(classes)))
    for decision, (plus, minus) in zip(values.T, model.pairs, strict=True):
        votes[:, plus] += decision > 0
        votes[:, minus] += decision <= 0
    return classes[votes.argmax(axis=1)]


def own_predictions(estimator: Any, samples: Samples) -> np.ndarray:
    asked = samples.X_test[:ASKED].astype(samples.X.dtype)
    return estimator.predict(csr_matrix(asked) if issparse(asked) else asked)


def success(kind: str, predicted: np.ndarray, wanted: Any) -> dict[str, float]:
    if kind == "SVR":
        return {"R2": float(r2_score(wanted, predicted))}
    if kind == "OneClassSVM":
        return {"inside": float(np.mean(predicted == 1))}
    return {"accuracy": float(np.mean(predicted == wanted))}


def in_full(X: Any) -> Any:
    return X.astype(np.float64, copy=False)
