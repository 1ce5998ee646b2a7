"""Many samples: over landmarks, against scikit-learn's features of landmarks and a linear machine on them; in cells and
in blocks of rows, against one machine of all samples in memory.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem as TheirNystroem
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import LinearSVC as TheirLinearSVC

from benchmarks import data
from benchmarks.data import Samples
from benchmarks.real_data import DATA_SETS, SKIN
from benchmarks.task import Quality, Results, Task, figure, ratio
from mercer.cells import Cells
from mercer.data import RowBlocks
from mercer.kernels import RBF
from mercer.logistic import KernelLogisticRegression
from mercer.ridge import KernelRidge
from mercer.svm import SVC

GROUP = "Many samples, over landmarks"
# Landmarks are drawn by different rules: our errors are to be no larger, up to this.
NOISE = 2e-3


def width(X: np.ndarray) -> float:
    return 1.0 / (X.shape[1] * float(X.var()))


def values(n: int, contender: str) -> Samples:
    """A smooth function of twenty features and noise."""
    rng, n = np.random.default_rng(0), data.shrunk(n)
    X = rng.normal(size=(n + 20_000, 20))
    y = np.sin(X[:, 0] + X[:, 1]) + 0.5 * X[:, 2] * X[:, 3] + 0.3 * X[:, 4] + 0.2 * rng.normal(size=len(X))
    return Samples(X[:n], y[:n], X[n:], y[n:])


def classes(n: int, contender: str) -> Samples:
    return data.cls_split(n, 20_000)


def ridge(m: int, found: Samples) -> Any:
    machine = KernelRidge(RBF(width(found.X)), alpha=1.0, approximation=m, tol=1e-6)
    return machine.fit(found.X, found.y)


def their_ridge(m: int, found: Samples) -> Pipeline:
    features = TheirNystroem(kernel="rbf", gamma=width(found.X), n_components=m, random_state=0)
    return make_pipeline(features, Ridge(alpha=1.0, fit_intercept=False)).fit(found.X, found.y)


def their_ridge_in_single(m: int, found: Samples) -> Pipeline:
    """In float32 and without a copy of the features: a million samples need not take more than 16 GB."""
    features = TheirNystroem(kernel="rbf", gamma=width(found.X), n_components=m, random_state=0)
    machine = make_pipeline(features, Ridge(alpha=1.0, fit_intercept=False, copy_X=False))
    return machine.fit(found.X.astype(np.float32), found.y.astype(np.float32))


def svc(m: int, found: Samples) -> Any:
    return SVC(RBF(width(found.X)), C=1.0, approximation=m).fit(found.X, found.y)


def their_svc(m: int, found: Samples) -> Pipeline:
    features = TheirNystroem(kernel="rbf", gamma=width(found.X), n_components=m, random_state=0)
    return make_pipeline(features, TheirLinearSVC(C=1.0, loss="hinge", max_iter=1000)).fit(found.X, found.y)


def logistic(m: int, found: Samples) -> Any:
    return KernelLogisticRegression(RBF(width(found.X)), C=1.0, approximation=m).fit(found.X, found.y)


def their_logistic(m: int, found: Samples) -> Pipeline:
    features = TheirNystroem(kernel="rbf", gamma=width(found.X), n_components=m, random_state=0)
    return make_pipeline(features, LogisticRegression(C=1.0, max_iter=1000)).fit(found.X, found.y)


def error_of_values(found: Samples, machine: Any) -> Quality:
    predicted = machine.predict(found.X_test)
    return {"mean squared error": float(np.mean((found.y_test - predicted) ** 2)), **certificate(machine)}


def error_of_classes(found: Samples, machine: Any) -> Quality:
    return {"error": float(np.mean(found.y_test != machine.predict(found.X_test))), **certificate(machine)}


def error_of_probabilities(found: Samples, machine: Any) -> Quality:
    loss = float(log_loss(found.y_test, machine.predict_proba(found.X_test)))
    return {"log loss": loss, **certificate(machine)}


def certificate(machine: Any) -> Quality:
    result = getattr(machine, "result_", None)
    if result is None:
        return {}
    return {"relative gap": float(result.gap / abs(result.objective)), "status": result.status}


def ridge_task(n: int, m: int, theirs: Callable[[int, Samples], Any]) -> Task:
    return Task(
        name=f"landmarks-ridge-{n}",
        title=f"KernelRidge, n = {n}, {m} landmarks",
        group=GROUP,
        setup=partial(values, n),
        contenders={"mercer": partial(ridge, m), "scikit-learn": partial(theirs, m)},
        quality=error_of_values,
        tolerance={"mean squared error": ("at most", NOISE)},
        repeats=0,
        limit=600,
        full=True,
    )


def svc_task(n: int, m: int, peer: bool) -> Task:
    return Task(
        name=f"landmarks-svc-{n}",
        title=f"SVC, C = 1, n = {n}, {m} landmarks",
        group=GROUP,
        setup=partial(classes, n),
        contenders={"mercer": partial(svc, m)} | ({"scikit-learn": partial(their_svc, m)} if peer else {}),
        quality=error_of_classes,
        tolerance={"error": ("at most", NOISE)},
        repeats=0,
        limit=600,
        full=True,
    )


def logistic_task(n: int, m: int, peer: bool) -> Task:
    return Task(
        name=f"landmarks-logistic-{n}",
        title=f"KernelLogisticRegression, C = 1, n = {n}, {m} landmarks",
        group=GROUP,
        setup=partial(classes, n),
        contenders={"mercer": partial(logistic, m)} | ({"scikit-learn": partial(their_logistic, m)} if peer else {}),
        quality=error_of_probabilities,
        tolerance={"log loss": ("at most", NOISE)},
        repeats=0,
        limit=600,
        full=True,
    )


def skin(contender: str) -> Samples:
    """Which pixels are skin, as 1 and -1."""
    return SKIN.samples()


def error_of_signs(found: Samples, machine: Any) -> Quality:
    """Of values whose signs are classes: how far they are, and how many are on the wrong side."""
    wrong = float(np.mean(np.sign(machine.predict(found.X_test)) != found.y_test))
    return error_of_values(found, machine) | {"error": wrong}


SKIN_RIDGE = Task(
    name="landmarks-ridge-skin",
    title="KernelRidge, skin_nonskin, 220 551 rows, 2000 landmarks",
    group=GROUP,
    setup=skin,
    contenders={"mercer": partial(ridge, 2000), "scikit-learn": partial(their_ridge, 2000)},
    quality=error_of_signs,
    tolerance={"mean squared error": ("at most", NOISE), "error": ("at most", NOISE)},
    repeats=0,
    limit=600,
    needs=SKIN.paths,
    full=True,
)

# --- all samples in cells, or in blocks -------------------------------------------------------------------

COVTYPE = next(data_set for data_set in DATA_SETS if data_set.name == "covtype")
PRICE, CELL_SIZE, MEGABYTES = 10.0, 2000, 64
# Cells are another machine: so much more of the test samples may be wrong.
COARSER = 0.02


def covtype(contender: str) -> Samples:
    return COVTYPE.samples()


def one_machine(found: Samples) -> Any:
    return SVC(C=PRICE).fit(found.X, found.y)


def in_cells(found: Samples) -> Any:
    return Cells(SVC(RBF(width(found.X)), C=PRICE), cell_size=CELL_SIZE).fit(found.X, found.y)


def in_blocks(found: Samples) -> Any:
    return SVC(C=PRICE, memory=MEGABYTES).fit(RowBlocks.from_array(found.X), found.y)


def judged_with_objective(found: Samples, machine: Any) -> Quality:
    return error_of_classes(found, machine) | {"dual objective": machine.result_.dual_objective}


CELLS = Task(
    name="cells-covtype",
    title=f"SVC, C = {PRICE:g}, covtype, cells of {CELL_SIZE}",
    group=GROUP,
    setup=covtype,
    contenders={"mercer": in_cells, "mercer, one machine": one_machine},
    quality=error_of_classes,
    tolerance={"error": ("at most", COARSER)},
    repeats=0,
    limit=600,
    needs=COVTYPE.paths,
    full=True,
    listed=False,
)
BLOCKS = Task(
    name="blocks-covtype",
    title=f"SVC, C = {PRICE:g}, covtype, blocks of rows with {MEGABYTES} MB",
    group=GROUP,
    setup=covtype,
    contenders={"mercer": in_blocks, "mercer, one machine": one_machine},
    quality=judged_with_objective,
    tolerance={"dual objective": ("relative", 1e-4), "error": ("at most", NOISE)},
    repeats=0,
    limit=600,
    needs=COVTYPE.paths,
    full=True,
    listed=False,
)


def summary(results: Results) -> dict[str, Any] | None:
    """What cells and blocks cost and save, in time and in errors, on the same samples."""
    told: dict[str, Any] = {}
    sentences = []
    for task in (CELLS, BLOCKS):
        row = results.get(task.name, {})
        if not all("quality" in row.get(contender, {}) for contender in task.contenders):
            continue
        errors = {contender: row[contender]["quality"]["error"] for contender in task.contenders}
        factor = ratio(row, "mercer, one machine")
        told[task.name] = {"errors": errors, "times faster": factor}
        sentences.append(
            f"{task.title}: {figure(row['mercer']):.3g} s and {errors['mercer']:.2%} errors; one machine in memory "
            f"{figure(row['mercer, one machine']):.3g} s and {errors['mercer, one machine']:.2%}."
        )
    return told | {"text": " ".join(sentences)} if told else None


# LIBLINEAR has the features of a million samples twice, which are 48 GB; those of 400 000 are 19.
TASKS = [
    ridge_task(200_000, 2000, their_ridge),
    ridge_task(1_000_000, 2000, their_ridge_in_single),
    SKIN_RIDGE,
    svc_task(200_000, 2000, peer=True),
    svc_task(400_000, 2000, peer=True),
    svc_task(1_000_000, 2000, peer=False),
    logistic_task(200_000, 2000, peer=True),
    logistic_task(1_000_000, 2000, peer=False),
    CELLS,
    BLOCKS,
]
