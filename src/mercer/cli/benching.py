"""A short comparison of speed with scikit-learn."""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn
import sklearn.svm
from sklearn.datasets import make_classification

import mercer
from mercer.cli import report
from mercer.cli.outcomes import GOOD, CommandError
from mercer.cli.recipes import check_targets, default_kernel, make_recipe
from mercer.cli.samples import check_columns, read_samples
from mercer.cli.wishes import Reading
from mercer.kernels import RBF

__all__ = ["compare"]

USUAL_SIZES = (1000, 3000)


def compare(
    data: str | None,
    reading: Reading,
    *,
    target: str | None,
    price: float,
    sizes: tuple[int, ...],
    repeats: int,
    seed: int,
    as_json: bool,
    quiet: bool,
) -> int:
    """Fit and ask both on samples of some sizes, and show medians."""
    X, y, task = _samples(data, reading, target, max(sizes or USUAL_SIZES), seed)
    n = X.shape[0]
    sizes = tuple(dict.fromkeys(min(size, n) for size in sizes or USUAL_SIZES))
    order = np.random.default_rng(seed).permutation(n)
    rows = []
    for size in sizes:
        some = order[:size]
        with report.working(f"{size} samples", quiet=quiet or as_json):
            rows.append(_compared(X[some], y[some], task, price, repeats))
    content = {
        "data": data or "made up",
        "task": task,
        "n_features": X.shape[1],
        "C": price,
        "mercer": mercer.__version__,
        "scikit-learn": sklearn.__version__,
        "runs": rows,
    }
    if as_json:
        report.told(content)
    elif not quiet:
        machine = "SVC" if task == "classification" else "SVR"
        print(
            f"{machine}(kernel='rbf', C={price:g}) on {content['data']}, {X.shape[1]} features, {repeats} runs each\n"
        )
        report.table(
            ["samples", "fit", "scikit-learn", "", "predict", "scikit-learn", "", "same"],
            [
                [
                    row["n"],
                    *(_seconds(row["fit"][who]) for who in ("mercer", "scikit-learn")),
                    f"{row['fit']['times']:.1f}×",
                    *(_seconds(row["predict"][who]) for who in ("mercer", "scikit-learn")),
                    f"{row['predict']['times']:.1f}×",
                    report.share(row["agreement"]),
                ]
                for row in rows
            ],
        )
    return GOOD


def _samples(data: str | None, reading: Reading, target: str | None, n: int, seed: int) -> tuple[Any, np.ndarray, str]:
    if data is None:
        X, y = make_classification(n, 20, n_informative=10, n_redundant=5, class_sep=0.8, random_state=seed)
        return X, y, "classification"
    samples = read_samples(data, reading, target)
    task = samples.task()
    if samples.kind not in ("vectors", "table"):
        raise CommandError("scikit-learn has no kernels on sequences and graphs to compare with.")
    check_targets(samples, task)
    kinds = samples.kinds(reading.kinds)
    check_columns(samples, kinds)
    recipe = make_recipe(samples, task, kernel=default_kernel(samples, kinds), kinds=kinds)
    if recipe.preparation is None:
        X = samples.X
    else:
        prepared = recipe.preparation.fit(samples.X)
        if prepared.output_ != "vectors":
            raise CommandError(
                "scikit-learn has no kernels on texts to compare with; leave the columns out by --ignore."
            )
        X = prepared.transform(samples.X)
    assert samples.y is not None
    return X, np.asarray(samples.y), task


def _compared(X: Any, y: np.ndarray, task: str, price: float, repeats: int) -> dict[str, Any]:
    gamma = RBF().resolve(X).gamma
    name = "SVC" if task == "classification" else "SVR"
    scale = 1.0 if task == "classification" else float(np.std(y)) or 1.0
    tube = {} if task == "classification" else {"epsilon": 0.1 * scale}
    makers: dict[str, Callable[[], Any]] = {
        "mercer": lambda: getattr(mercer, name)(RBF(gamma), C=price * scale, tol=1e-3 * scale, **tube),
        "scikit-learn": lambda: getattr(sklearn.svm, name)(gamma=gamma, C=price * scale, tol=1e-3 * scale, **tube),
    }
    fit: dict[str, list[float]] = {who: [] for who in makers}
    ask: dict[str, list[float]] = {who: [] for who in makers}
    said: dict[str, np.ndarray] = {}
    for _ in range(repeats):
        for who, make in makers.items():  # in turns: what else runs here slows both
            began = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                machine = make().fit(X, y)
            fit[who].append(time.perf_counter() - began)
            began = time.perf_counter()
            said[who] = machine.predict(X)
            ask[who].append(time.perf_counter() - began)
    ours, theirs = said["mercer"], said["scikit-learn"]
    same = ours == theirs if task == "classification" else np.abs(ours - theirs) <= 0.01 * scale
    return {"n": X.shape[0], "fit": _medians(fit), "predict": _medians(ask), "agreement": float(np.mean(same))}


def _medians(times: dict[str, list[float]]) -> dict[str, float]:
    found = {who: float(np.median(values)) for who, values in times.items()}
    return {**found, "times": found["scikit-learn"] / found["mercer"]}


def _seconds(value: float) -> str:
    return f"{value:.3g} s" if value >= 0.1 else f"{1000 * value:.3g} ms"
