"""Relevance vector machines: against sklearn-rvm, kernlab (R) and one eigendecomposition of the kernel matrix.

Values are Friedman's first function of five of ten features, with noise of variance 1, centred and scaled; classes are
two in ten features that overlap, with several clusters each. The kernel is RBF with gamma 0.1 on standardised features,
which is gamma="scale". The model is the same for all: with a constant for classes, without for values, as kernlab's.
sklearn-rvm's machine for values does not work: it keeps 999 of 1000 vectors and a much smaller evidence.
"""

import importlib.util
import math
import sys
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler

from benchmarks import data
from benchmarks.compare.kernlab import Kernlab, kernlab_is_here
from benchmarks.data import Samples, shrunk
from benchmarks.task import Quality, Results, Task, ratio
from mercer.kernels import RBF
from mercer.rvm import RelevanceVectorClassifier, RelevanceVectorRegressor

GROUP = "Relevance vector machines"
FEATURES, N_NEW = 10, 5000
GAMMA = 1.0 / FEATURES
KERNEL = RBF(gamma=GAMMA)
SIZES = (1000, 2000, 4000, 8000)  # for the growth
LARGE = 10_000
BUDGET = 64  # megabytes for kernel values, where there are to be few
EIGH = "numpy.linalg.eigh"

KERNLAB = """
train <- read("train.csv"); test <- read("test.csv"); y <- train[, 1]; x <- train[, -1]
actions <- expression(
  train = machine <- rvm(x, y, kernel = "rbfdot", kpar = list(sigma = as.numeric(arguments[1]))),
  write = {
    write(as.double(RVindex(machine) - 1), "relevance"); write(unlist(alpha(machine)), "weights")
    write(nvar(machine), "noise"); write(predict(machine, test), "predicted")
  }
)
"""


# --- data -------------------------------------------------------------------------------------------------


def values(n: int) -> Samples:
    X, y, X_test, y_test = data.friedman(n, N_NEW)
    return Samples(X, (y - y.mean()) / y.std(), X_test, (y_test - y.mean()) / y.std())


def classes(n: int) -> Samples:
    n = shrunk(n)
    X, y = make_classification(
        n + N_NEW,
        FEATURES,
        n_informative=6,
        n_redundant=2,
        n_clusters_per_class=4,
        class_sep=0.8,
        flip_y=0.05,
        random_state=0,
    )
    scaler = StandardScaler().fit(X[:n])
    return Samples(scaler.transform(X[:n]), y[:n], scaler.transform(X[n:]), y[n:])


class Lesson(NamedTuple):
    """Samples, and what a contender needs besides."""

    samples: Samples
    kernlab: Kernlab | None = None
    gram: np.ndarray | None = None


def setup(read: Any, n: int, contender: str) -> Lesson:
    samples = read(n)
    if contender == EIGH:
        return Lesson(samples, gram=KERNEL(samples.X))
    if contender == "kernlab":
        files: dict[str, Any] = {"train.csv": np.column_stack([samples.y, samples.X]), "test.csv": samples.X_test}
        return Lesson(samples, kernlab=Kernlab(KERNLAB, files, str(GAMMA)))
    return Lesson(samples)


def setup_memory(contender: str) -> Lesson:
    """A small fit first: libraries, threads and their buffers do not count."""
    lesson = setup(classes, SIZES[-1], contender)
    fit_classes(Lesson(Samples(lesson.samples.X[:200], lesson.samples.y[:200], None, None)))
    return lesson


# --- contenders -------------------------------------------------------------------------------------------


def fit_values(lesson: Lesson) -> Any:
    return RelevanceVectorRegressor(KERNEL, fit_intercept=False).fit(lesson.samples.X, lesson.samples.y)


def fit_classes(lesson: Lesson, **parameters: Any) -> Any:
    return RelevanceVectorClassifier(KERNEL, **parameters).fit(lesson.samples.X, lesson.samples.y)


def with_kernlab(lesson: Lesson) -> Kernlab:
    assert lesson.kernlab is not None
    lesson.kernlab.order("train")
    return lesson.kernlab


@cache
def sklearn_rvm_is_here() -> bool:
    here = importlib.util.find_spec("sklearn_rvm") is not None
    if not here:
        print("Relevance vectors: sklearn-rvm is not installed, so that it is left out.", file=sys.stderr)
    return here


def with_sklearn_rvm(lesson: Lesson) -> Any:
    from sklearn_rvm import EMRVC  # type: ignore[import-not-found]

    return EMRVC(kernel="rbf", gamma=GAMMA, bias_used=True).fit(lesson.samples.X, lesson.samples.y)


def values_with_sklearn_rvm(lesson: Lesson) -> Any:
    from sklearn_rvm import EMRVR

    machine = EMRVR(kernel="rbf", gamma=GAMMA, bias_used=False)
    machine.fit(lesson.samples.X, lesson.samples.y)  # returns nothing
    return machine


def decomposed(lesson: Lesson) -> Any:
    return np.linalg.eigh(lesson.gram)


# --- quality: the evidence of what each has found, by one function ----------------------------------------


class Found(NamedTuple):
    """Basis functions in the model at the training samples, shape (n, r), their precisions, and predictions."""

    basis: np.ndarray
    alpha: np.ndarray
    noise: float
    predicted: np.ndarray


def found(lesson: Lesson, machine: Any) -> Found:
    X, y, X_test, _ = lesson.samples
    if isinstance(machine, Kernlab):
        machine.order("write")
        relevance, weights, noise, predicted = map(machine.read, ("relevance", "weights", "noise", "predicted"))
        basis = KERNEL(X, X[relevance.astype(int)])
        # It does not give its precisions away, but at the posterior mean alpha w = basis' (y - basis w) / noise.
        return Found(basis, basis.T @ (y - basis @ weights) / (noise * weights), float(noise[0]), predicted)
    predicted = machine.predict(X_test)
    if hasattr(machine, "basis_values"):
        return Found(machine.basis_values(X), machine.alpha_, getattr(machine, "noise_variance_", 0.0), predicted)
    basis = KERNEL(X, machine.relevance_vectors_) / machine._scale
    if machine.bias_used:
        basis = np.column_stack([np.ones(len(X)), basis])
    return Found(basis, machine.alpha_, 1.0 / machine.beta_, predicted)


def log_evidence(model: Found, y: np.ndarray, *, classes: bool) -> float:
    """log N(y | 0, noise I + basis A^-1 basis') [B eq 7.85], or Laplace's approximation for classes [B eq 7.114]."""
    basis, alpha, noise, _ = model

    def energy(w: np.ndarray) -> float:
        """Minus the log of likelihood times prior, without its constants."""
        f = basis @ w
        loss = np.logaddexp(0.0, f).sum() - y @ f if classes else np.square(y - f).sum() / (2.0 * noise)
        return float(loss + 0.5 * alpha @ np.square(w))

    def slope(w: np.ndarray) -> np.ndarray:
        f = basis @ w
        return basis.T @ ((expit(f) - y) if classes else (f - y) / noise) + alpha * w

    def curvature(w: np.ndarray) -> np.ndarray:
        p = expit(basis @ w)
        certain = p * (1.0 - p) if classes else np.full(len(y), 1.0 / noise)
        return (basis.T * certain) @ basis + np.diag(alpha)

    start = np.zeros(len(alpha))
    if classes:
        w = minimize(energy, start, jac=slope, hess=curvature, method="trust-exact", options={"gtol": 1e-6}).x
    else:
        w = np.linalg.solve(curvature(start), -slope(start))
    constant = 0.0 if classes else -0.5 * len(y) * math.log(2.0 * math.pi * noise)
    determinant = np.linalg.slogdet(curvature(w)).logabsdet
    return constant - energy(w) + 0.5 * float(np.log(alpha).sum() - determinant)


def quality(classes: bool, lesson: Lesson, machine: Any) -> Quality:
    """Where there is a model; eigenvectors are none."""
    if isinstance(machine, tuple):
        return {}
    model, y_test = found(lesson, machine), lesson.samples.y_test
    error = np.mean(model.predicted != y_test if classes else np.square(model.predicted - y_test))
    return {
        "log evidence": log_evidence(model, lesson.samples.y, classes=classes),
        "error": float(error),
        "basis functions": len(model.alpha),
    }


def with_allowance(lesson: Lesson, machine: Any) -> Quality:
    """The budget and three copies of the data."""
    return quality(True, lesson, machine) | {"allowed": BUDGET + 3 * lesson.samples.X.nbytes / 2**20}


# --- tasks ------------------------------------------------------------------------------------------------


def task(kind: str, n: int, title: str, **rest: Any) -> Task:
    of_classes = kind == "classes"
    others = rest.pop("others", {})
    return Task(
        name=f"rvm-{kind}-{n}",
        title=title,
        group=GROUP,
        setup=partial(setup, classes if of_classes else values, n),
        contenders={"mercer": fit_classes if of_classes else fit_values, **others},
        quality=partial(quality, of_classes),
        tolerance={} if EIGH in others else {"log evidence": ("at least", 1.0), "error": ("at most", 0.005)},
        repeats=3,
        **rest,
    )


def others_of_classes() -> dict[str, Any]:
    return {"sklearn-rvm": with_sklearn_rvm} if sklearn_rvm_is_here() else {}


def others_of_values() -> dict[str, Any]:
    found = {"kernlab": with_kernlab} if kernlab_is_here() else {}
    return found | ({"sklearn-rvm": values_with_sklearn_rvm} if sklearn_rvm_is_here() else {})


TASKS = [
    task("classes", 1000, "RelevanceVectorClassifier, RBF, n = 1000", others=others_of_classes()),
    task("regression", 1000, "RelevanceVectorRegressor, RBF, n = 1000", others=others_of_values()),
    *(task(kind, n, f"{kind}, RBF, n = {n}", listed=False) for n in SIZES[1:] for kind in ("classes", "regression")),
    *(task(kind, LARGE, f"{kind}, RBF, n = {LARGE}", others={EIGH: decomposed}) for kind in ("classes", "regression")),
    Task(
        name=f"rvm-memory-{SIZES[-1]}",
        title=f"RelevanceVectorClassifier, RBF, n = {SIZES[-1]}, with {BUDGET} MB for kernel values",
        group=GROUP,
        setup=setup_memory,
        contenders={"mercer": partial(fit_classes, memory=BUDGET)},
        quality=with_allowance,
        unit="MB",
    ),
]


def summary(results: Results) -> dict | None:
    """How many times faster than others, how the time grows, and the memory taken without the matrix."""
    said, numbers = [], {}
    for name, other, work in (
        ("rvm-classes-1000", "sklearn-rvm", "classes, n = 1000"),
        ("rvm-regression-1000", "kernlab", "values, n = 1000"),
        (f"rvm-classes-{LARGE}", EIGH, f"classes, n = {LARGE}"),
        (f"rvm-regression-{LARGE}", EIGH, f"values, n = {LARGE}"),
    ):
        if {"mercer", other} <= results.get(name, {}).keys():
            row = results[name]
            numbers[name] = ratio(row, other)
            over = "more than " if "over" in row[other] else ""
            unequal = "" if row[other].get("equal quality", True) else ", of other quality"
            said.append(f"{work} {row['mercer']['median']:.3g} s, {over}{numbers[name]:.1f}× ({other}{unequal})")
    if not said:
        return None
    powers, growth = {}, []
    for kind in ("classes", "regression"):
        seconds = [results.get(f"rvm-{kind}-{n}", {}).get("mercer", {}).get("median") for n in SIZES]
        if None not in seconds:
            powers[kind] = float(np.polyfit(np.log(SIZES), np.log(seconds), 1)[0])
            growth.append(f"{kind} {', '.join(f'{t:.3g}' for t in seconds)} s (a power of {powers[kind]:.2f})")
    text = f"Relevance vector machines, how many times faster than others: {'; '.join(said)}."
    if growth:
        text += f" n = {', '.join(map(str, SIZES))}: {'; '.join(growth)}."
    taken = results.get(f"rvm-memory-{SIZES[-1]}", {}).get("mercer", {}).get("median")
    if taken is not None:
        text += f" With {BUDGET} MB for kernel values of {SIZES[-1]} samples, the peak grows by {taken:.0f} MB."
    return {"ratios": numbers, "powers": powers, "megabytes": taken, "text": text}
