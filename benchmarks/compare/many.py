"""Many problems over one Gram matrix: all at once, and one by one."""

from typing import Any, NamedTuple

import numpy as np

from benchmarks import data
from benchmarks.task import Quality, Results, Task, ratio
from mercer.gram import VectorGram
from mercer.kernels import RBF
from mercer.problems import DualProblem, soft_margin
from mercer.solvers import SMO

KERNEL = RBF(gamma=1.0 / 20.0)
N_SAMPLES, N_PROBLEMS = 1600, 500
SMALLEST_C, LARGEST_C, N_COSTS = 0.1, 100.0, 25
FLIPPED = 0.1


class Problems(NamedTuple):
    """One set of samples, many labellings and prices."""

    X: np.ndarray
    matrix: np.ndarray
    signs: np.ndarray
    costs: np.ndarray


def setup(_: str) -> Problems:
    """A grid of prices for labellings of which each has other labels flipped."""
    X, y = data.cls(N_SAMPLES)
    n_problems = data.shrunk(N_PROBLEMS, 1)
    flips = np.random.default_rng(0).random((n_problems, len(y))) < FLIPPED
    signs = np.where((y == 1) ^ flips, 1.0, -1.0)
    costs = np.resize(np.geomspace(SMALLEST_C, LARGEST_C, N_COSTS), n_problems)
    return Problems(X, KERNEL(X), signs, costs)


def margins(problems: Problems) -> list[DualProblem]:
    gram = VectorGram(KERNEL, problems.X)
    n = len(problems.X)
    return [
        soft_margin(gram, sign, np.full(n, cost)) for sign, cost in zip(problems.signs, problems.costs, strict=True)
    ]


def all_at_once(problems: Problems) -> np.ndarray:
    results = SMO().solve_many(margins(problems))
    return problems.signs * [result.a for result in results]


def one_by_one(problems: Problems) -> np.ndarray:
    return problems.signs * [SMO().solve(problem).a for problem in margins(problems)]


def sklearn_one_by_one(problems: Problems) -> np.ndarray:
    """The matrix is there already; it need only be read."""
    from sklearn.svm import SVC

    coefficients = np.zeros(problems.signs.shape)
    for row, sign, cost in zip(coefficients, problems.signs, problems.costs, strict=True):
        machine = SVC(kernel="precomputed", C=cost, tol=1e-3).fit(problems.matrix, sign)
        row[machine.support_] = machine.dual_coef_[0]
    return coefficients


def quality(problems: Problems, coefficients: np.ndarray) -> Quality:
    norms = np.einsum("kn,kn->k", coefficients @ problems.matrix, coefficients)
    objectives = np.abs(coefficients).sum(axis=1) - 0.5 * norms
    return {"dual objective": float(objectives.sum()), "support vectors": int(np.count_nonzero(coefficients))}


TASKS = [
    Task(
        name="many",
        title=f"`solve_many`, {N_PROBLEMS} problems of n = {N_SAMPLES} over one Gram matrix",
        group="Many problems",
        setup=setup,
        contenders={"mercer": all_at_once, "one by one": one_by_one, "scikit-learn": sklearn_one_by_one},
        quality=quality,
        tolerance={"dual objective": ("relative", 1e-4)},
        repeats=3,
    )
]


def summary(results: Results) -> dict[str, Any] | None:
    row = results.get("many", {})
    if not {"mercer", "one by one"} <= row.keys():
        return None
    factor = ratio(row, "one by one")
    text = f"{N_PROBLEMS} problems over one Gram matrix take mercer {factor:.1f} times as long one by one."
    return {"one by one over all at once": factor, "text": text}
