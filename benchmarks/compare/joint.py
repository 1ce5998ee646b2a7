"""Several classes learnt in one go, USPS: kernels against kernlab (R), the linear kernel against LIBLINEAR."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn import svm

from benchmarks.compare.kernlab import Kernlab, kernlab_is_here
from benchmarks.real_data import DATA_SETS
from benchmarks.task import Quality, Task
from mercer.gram import VectorGram
from mercer.kernels import RBF, Kernel
from mercer.problems import JointProblem, crammer_singer, weston_watkins
from mercer.solvers import BlockDescent
from mercer.svm import LinearSVC

USPS = next(data_set for data_set in DATA_SETS if data_set.name == "usps")
GAMMA = 1.0 / 128.0
SUBSET = 2000  # samples for kernlab

KERNLAB = """
type <- arguments[1]; sigma <- as.numeric(arguments[2])
train <- read("train.csv"); test <- read("test.csv")
y <- factor(train[, 1]); x <- train[, -1]
actions <- expression(
  train = machine <- ksvm(x, y, type = type, kernel = "rbfdot", kpar = list(sigma = sigma), C = 1, scaled = FALSE,
                          tol = 1e-3),
  predict = write(as.integer(as.character(predict(machine, test[, -1]))), "predicted")
)
"""


class Lesson(NamedTuple):
    """Samples, and for kernlab the R process that knows them."""

    X: np.ndarray
    label: np.ndarray
    X_test: np.ndarray
    label_test: np.ndarray
    kernlab: Kernlab | None = None


def setup(n: int | None, kind: str, contender: str) -> Lesson:
    X, y, X_test, y_test = USPS.samples()
    names, label = np.unique(y[:n], return_inverse=True)
    lesson = Lesson(np.ascontiguousarray(X[:n]), label, X_test, np.searchsorted(names, y_test))
    if contender != "kernlab":
        return lesson
    files: dict[str, Any] = {
        "train.csv": np.column_stack([lesson.label, lesson.X]),
        "test.csv": np.column_stack([lesson.label_test, lesson.X_test]),
    }
    return lesson._replace(kernlab=Kernlab(KERNLAB, files, kind, str(GAMMA)))


def with_mercer(build: Any, kernel: Kernel, bias: bool, lesson: Lesson) -> np.ndarray:
    """Weights of the samples in the function of every class, and the offsets below."""
    problem: JointProblem = build(VectorGram(kernel, lesson.X), lesson.label, np.ones(len(lesson.X)), bias=bias)
    result = BlockDescent().solve(problem)
    return np.vstack([result.coefficients.toarray().T, result.intercepts])


def with_kernlab(lesson: Lesson) -> None:
    assert lesson.kernlab is not None
    lesson.kernlab.order("train")


def test_error(kernel: Kernel, lesson: Lesson, model: np.ndarray | None) -> Quality:
    if model is None:
        assert lesson.kernlab is not None
        lesson.kernlab.order("predict")
        predicted = lesson.kernlab.read("predicted", np.int32)
    else:
        predicted = (kernel.dot(lesson.X_test, lesson.X, model[:-1]) + model[-1]).argmax(axis=1)
    return {"test error": float(np.mean(predicted != lesson.label_test))}


def weights_of_mercer(lesson: Lesson) -> np.ndarray:
    return LinearSVC(multi_class="crammer_singer", intercept="none").fit(lesson.X, lesson.label).coef_


def weights_of_liblinear(lesson: Lesson) -> np.ndarray:
    machine = svm.LinearSVC(multi_class="crammer_singer", fit_intercept=False, tol=1e-3, max_iter=100_000)
    return machine.fit(lesson.X, lesson.label).coef_


def linear_objective(lesson: Lesson, weights: np.ndarray) -> Quality:
    f = lesson.X @ weights.T
    own = np.take_along_axis(f, lesson.label[:, np.newaxis], axis=1)[:, 0]
    np.put_along_axis(f, lesson.label[:, np.newaxis], -np.inf, axis=1)
    losses = np.maximum(0.0, 1.0 + f.max(axis=1) - own)
    return {"primal objective": float(0.5 * (weights**2).sum() + losses.sum())}


def kernel_task(name: str, title: str, build: Any, kind: str, bias: bool, n: int | None) -> Task:
    """Against kernlab where it is there and the samples are few.

    Its spoc-svc has no offsets; its kbb-svc has penalised ones, of which there is next to nothing with a kernel as wide
    as this, so that the machine without offsets is compared with it.
    """
    kernel = RBF(gamma=GAMMA)
    contenders: dict[str, Any] = {"mercer": partial(with_mercer, build, kernel, bias)}
    if n is not None and kernlab_is_here():
        contenders["kernlab"] = with_kernlab
    return Task(
        name=name,
        title=title,
        group="Several classes in one go, USPS",
        setup=partial(setup, n, kind),
        contenders=contenders,
        quality=partial(test_error, kernel),
        tolerance={"test error": ("absolute", 0.005)},
        needs=USPS.paths,
        repeats=3,
    )


TASKS = [
    kernel_task("joint-ww-2000", "Weston-Watkins, RBF, n = 2000", weston_watkins, "kbb-svc", False, SUBSET),
    kernel_task("joint-cs-2000", "Crammer-Singer, RBF, n = 2000", crammer_singer, "spoc-svc", False, SUBSET),
    kernel_task("joint-ww", "Weston-Watkins, RBF, n = 7291", weston_watkins, "kbb-svc", True, None),
    kernel_task("joint-cs", "Crammer-Singer, RBF, n = 7291", crammer_singer, "spoc-svc", False, None),
    Task(
        name="joint-cs-linear",
        title="Crammer-Singer, linear kernel, no offsets, n = 7291",
        group="Several classes in one go, USPS",
        setup=partial(setup, None, ""),
        contenders={"mercer": weights_of_mercer, "scikit-learn": weights_of_liblinear},
        quality=linear_objective,
        tolerance={"primal objective": ("relative", 1e-3)},
        needs=USPS.paths,
        repeats=3,
    ),
]
