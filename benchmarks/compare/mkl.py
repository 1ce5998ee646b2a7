"""Weights of kernels learnt with the machine: beside MKLpy, beside the conic programme, and where there is no other.

Kernels are RBF from nearly constant to nearly the identity. MEMO of MKLpy is given the matrices; what it maximises, the
margin, is not the objective of the others. All are judged by the objective of the machine at the weights they found.
"""

import importlib.util
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks import data
from benchmarks.compare import easy_mkl
from benchmarks.task import Quality, Results, Task, ratio
from mercer import MKLClassifier
from mercer.gram import MatrixGram
from mercer.kernels import RBF, Kernel, Laplacian, Matern, On, Polynomial
from mercer.mkl.algorithms import ALGORITHMS
from mercer.problems import soft_margin
from mercer.solvers import SMO

GROUP = "Multiple kernels"
SMALL, LARGE, WIDTHS = 1000, 10_000, 20
COLUMNS, WIDTHS_EACH = 20, 50  # a thousand kernels
HUGE, MANY, MEGABYTES, SECONDS = 20_000, 30, 4096, 600  # most of the matrices have to be computed again and again
GAP, C = 1e-3, 1.0
CONIC, MEMO = "mercer, qclp", "MKLpy MEMO"


class Lesson(NamedTuple):
    X: Any
    y: np.ndarray
    kernels: list[Kernel]
    matrices: list[Any] | None = None


def widths(n: int, contender: str) -> Lesson:
    """One kernel in many widths."""
    X, y = data.cls(n)
    kernels: list[Kernel] = [RBF(gamma=gamma) for gamma in np.geomspace(1e-3, 10.0, WIDTHS)]
    if contender != MEMO:
        return Lesson(X, y, kernels)
    import torch

    return Lesson(X, y, kernels, [torch.tensor(kernel(X)) for kernel in kernels])


def kinds(_contender: str) -> Lesson:
    """Four kinds of kernels, in several widths or degrees."""
    X, y = data.cls(HUGE)
    kernels: list[Kernel] = [RBF(gamma=gamma) for gamma in np.geomspace(1e-3, 10.0, 18)]
    kernels += [Laplacian(gamma=gamma) for gamma in np.geomspace(1e-3, 1.0, 6)]
    kernels += [Matern(nu=1.5, length_scale=length) for length in (1.0, 3.0, 10.0)]
    kernels += [Polynomial(degree=degree, gamma=1.0 / X.shape[1], coef0=1.0) for degree in (1, 2, 3)]
    return Lesson(X, y, kernels)


def columns(_contender: str) -> Lesson:
    """A kernel in many widths on every column."""
    X, y = data.cls(SMALL)
    gammas = np.geomspace(1e-3, 10.0, WIDTHS_EACH)
    kernels: list[Kernel] = [On(str(j), RBF(gamma=gamma)) for j in range(COLUMNS) for gamma in gammas]
    return Lesson({str(j): X[:, j] for j in range(COLUMNS)}, y, kernels)


def fit(lesson: Lesson, **parameters: Any) -> MKLClassifier:
    return MKLClassifier(lesson.kernels, C=C, gap_tol=GAP, **parameters).fit(lesson.X, lesson.y)


def with_memo(lesson: Lesson) -> np.ndarray:
    import torch
    from MKLpy.algorithms import MEMO as Memo  # type: ignore[import-not-found]

    return Memo().combine_kernels(lesson.matrices, torch.tensor(lesson.y)).weights.numpy()


def at_weights(lesson: Lesson, found: Any) -> Quality:
    """The objective of the machine, by one function for all; ours say besides how far from the optimum they can be."""
    weights = found.weights_ if isinstance(found, MKLClassifier) else np.asarray(found, dtype=np.float64)
    used = np.flatnonzero(weights)
    K = sum(weights[k] / weights.sum() * lesson.kernels[k](lesson.X) for k in used)
    problem = soft_margin(MatrixGram(K, True), np.where(lesson.y == 1, 1.0, -1.0), np.full(len(lesson.y), C))
    objective = -SMO(gap_tol=0.1 * GAP).solve(problem).bound
    return {"objective": objective, "kernels": len(used)} | certificate(lesson, found)


def certificate(_lesson: Lesson, found: Any) -> Quality:
    if not isinstance(found, MKLClassifier):
        return {}
    result = found.weights_result_
    return {"relative gap": result.relative_gap, "machines": result.n_iter, "status": result.status}


def others() -> dict[str, Any]:
    """Those that are here."""
    found: dict[str, Any] = {}
    if "qclp" in ALGORITHMS and importlib.util.find_spec("clarabel") is not None:
        found[CONIC] = partial(fit, algorithm="qclp")
    if importlib.util.find_spec("MKLpy") is not None:
        found[MEMO] = with_memo
    return found


TASKS = [
    Task(
        name=f"mkl-1norm-{SMALL}",
        title=f"MKLClassifier, {WIDTHS} RBF kernels, n = {SMALL}",
        group=GROUP,
        setup=partial(widths, SMALL),
        contenders={"mercer": fit, **others()},
        quality=at_weights,
        tolerance={"objective": ("at most", 1.0)},  # a few thousandths of it
    ),
    Task(
        name=f"mkl-1norm-{LARGE}",
        title=f"MKLClassifier, {WIDTHS} RBF kernels, n = {LARGE}",
        group=GROUP,
        setup=partial(widths, LARGE),
        contenders={"mercer": fit},
        quality=certificate,
        repeats=0,
    ),
    Task(
        name=f"mkl-2norm-{SMALL}x{COLUMNS * WIDTHS_EACH}",
        title=f"MKLClassifier, 2-norm, {COLUMNS * WIDTHS_EACH} kernels, n = {SMALL}",
        group=GROUP,
        setup=columns,
        contenders={"mercer": partial(fit, norm=2.0)},
        quality=certificate,
        repeats=0,
    ),
    Task(
        name=f"mkl-{MANY}x{HUGE}",
        title=f"MKLClassifier, {MANY} kernels, n = {HUGE}, {MEGABYTES / 1024:.0f} GB",
        group=GROUP,
        setup=kinds,
        contenders={"mercer": partial(fit, memory=MEGABYTES)},
        quality=certificate,
        repeats=0,
        limit=SECONDS,
        full=True,
    ),
]


def summary(results: Results) -> dict | None:
    """How many times faster than others, and what is proved where there is no other."""
    said, numbers = [], {}
    for task in (*TASKS, *easy_mkl.TASKS):
        row = results.get(task.name)
        if not row or "median" not in row["mercer"]:
            continue
        ours = row["mercer"]
        text = f"{task.title} {ours['median']:.3g} s"
        if "relative gap" in ours["quality"]:
            text += f", relative gap {ours['quality']['relative gap']:.1e}"
        for other in (name for name in row if name != "mercer"):
            numbers[f"{task.name} {other}"] = ratio(row, other)
            text += f", {'more than ' if 'over' in row[other] else ''}{ratio(row, other):.1f}× ({other})"
        said.append(text)
    return {"ratios": numbers, "text": f"Weights of kernels: {'; '.join(said)}."} if said else None
