"""Off the tuned shapes: other dimensions, prices, kernels, sizes and shares of the classes."""

from functools import partial

import numpy as np

from benchmarks import data
from benchmarks.compare.fitting import fit_task
from benchmarks.compare.peers import Machine
from benchmarks.task import Results, Task, figure, ratio
from mercer.kernels import RBF, Kernel, Laplacian, Linear, Polynomial


def case(
    name: str,
    *,
    n: int = 2000,
    d: int = 20,
    C: float = 1.0,
    kernel: Kernel | None = None,
    minority: float = 0.5,
    dtype: type = np.float64,
    **parameters,
) -> Task:
    return fit_task(
        f"sweep-{name}",
        name,
        Machine("SVC", kernel or RBF(gamma="scale"), {"C": C, **parameters}),
        partial(data.cls_shaped, n, d, minority, dtype),
        without=("thundersvm",),
        group="Off the tuned shapes",
        repeats=5,
        full=True,
        listed=False,
    )


TASKS = [
    *(case(f"d={d}", n=4000, d=d) for d in (2, 5, 20, 100, 300, 1000)),
    *(case(f"C={C:g}", C=C) for C in (0.01, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5)),
    *(case(f"n={n}", n=n) for n in (200, 500, 1000, 5000)),
    case("polynomial", n=4000, kernel=Polynomial(degree=3, gamma="scale", coef0=1.0)),
    case("linear", n=4000, kernel=Linear()),
    case("laplacian", n=4000, kernel=Laplacian(gamma="auto")),
    case("99-to-1", n=5000, minority=0.01),
    case("99-to-1-balanced", n=5000, minority=0.01, class_weight="balanced"),
    case("float32", n=4000, dtype=np.float32),
]


def summary(results: Results) -> dict | None:
    """Every case in which mercer is behind scikit-learn, or does not do the same."""
    rows = {
        task.title: results[task.name]
        for task in TASKS
        if {"mercer", "scikit-learn"} <= results.get(task.name, {}).keys()
    }
    if not rows:
        return None
    behind = {
        title: {name: figure(row[name]) for name in ("mercer", "scikit-learn")}
        for title, row in rows.items()
        if ratio(row, "scikit-learn") < 1.0
    }
    unequal = [title for title, row in rows.items() if not row["scikit-learn"].get("equal quality", True)]
    gains = [ratio(row, "scikit-learn") for row in rows.values()]
    text = (
        f"Off these shapes ({len(rows)} cases: d from 2 to 1000, C from 0.01 to 1e5, n from 200 to 5000, other "
        "kernels, unbalanced classes, float32) "
        f"mercer is {min(gains):.1f} to {max(gains):.1f} times as fast as scikit-learn"
    )
    text += f"; it is behind at {', '.join(behind)}." if behind else "."
    if unequal:
        text += f" The quality differs at {', '.join(unequal)}."
    return {"behind scikit-learn": behind, "other quality": unequal, "text": text}
