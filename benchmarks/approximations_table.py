"""Feature maps side by side: ``python -m benchmarks.approximations_table``, into the guide.

Every map of a table has as many features as the others. Errors of kernels of distances are those that the maps
tell of themselves; all are medians over seeds. Times are those of the processor on one core, the least of all seeds.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, random_array
from sklearn.kernel_approximation import PolynomialCountSketch
from threadpoolctl import threadpool_limits

from benchmarks.machines_table import TABLES, seconds, short, table
from mercer.features import MercerMap, Nystroem, PolynomialSketch, RandomFourier
from mercer.kernels import RBF, Kernel, Polynomial
from mercer.threads import limit_threads

N, FEATURES, SEEDS = 5000, 200, 25


def groups(n: int) -> np.ndarray:
    """Most samples in one place, some around another, few anywhere."""
    rng = np.random.default_rng(0)
    many, some = int(0.8 * n), int(0.15 * n)
    Z = rng.normal(size=(n, 5))
    return np.vstack([0.3 * Z[:many], Z[many : many + some] + 4, 3 * Z[many + some :]])


def cloud(n: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, 10))


RADIAL: dict[str, Callable[[Kernel, int], Any]] = {
    "MercerMap": lambda kernel, seed: MercerMap(kernel, FEATURES, random_state=seed),
    **{
        f'Nystroem, "{pivots}"': lambda kernel, seed, pivots=pivots: Nystroem(
            kernel, FEATURES, pivots=pivots, random_state=seed
        )
        for pivots in ("random", "leverage", "kmeans", "uniform", "greedy")
    },
    **{
        f'RandomFourier, "{rule}"': lambda kernel, seed, rule=rule: RandomFourier(kernel, FEATURES, rule, seed)
        for rule in ("independent", "orthogonal", "quasi-random")
    },
}


def median(values: list[float]) -> str:
    return f"{np.median(values):.2g}"


def radial_rows() -> Iterator[list[str]]:
    samples = {"groups": (groups(N), RBF(gamma=0.1)), "cloud": (cloud(N), RBF(gamma=0.05))}
    for name, make in RADIAL.items():
        row = [f"``{name}``"]
        for X, kernel in samples.values():
            lost, errors, fits, maps = [], [], [], []
            for seed in range(1 if name == "MercerMap" else SEEDS):
                machine = make(kernel, seed)
                fits.append(seconds(lambda machine=machine, X=X: machine.fit(X)))
                maps.append(seconds(lambda machine=machine, X=X: machine.transform(X)))
                lost.append(machine.unexplained_)
                errors.append(machine.kernel_error_)
            row += ["–" if "Fourier" in name else median(lost), median(errors)]
        row += [short(min(fits)), short(min(maps))]
        print(*row, sep=" | ", flush=True)
        yield row


def sketch_rows() -> Iterator[list[str]]:
    rng = np.random.default_rng(0)
    sparse = csr_array(random_array((2000, 20_000), density=0.005, rng=rng, format="csr"))
    dense = np.abs(rng.normal(size=(N, 50)))
    for word, X, kernel in (
        ("50 features >= 0", dense, Polynomial(3, 1 / 50, 1.0)),
        ("20 000 features, of which 100 are not zero", sparse, Polynomial(2, 0.1, 1.0)),
    ):
        some = X[rng.permutation(X.shape[0])[:500]]
        K = kernel(some)
        for name, make in (
            ("PolynomialSketch", lambda kernel, seed: PolynomialSketch(kernel, 1000, seed)),
            (
                "scikit-learn's PolynomialCountSketch",
                lambda kernel, seed: PolynomialCountSketch(
                    gamma=kernel.gamma, degree=kernel.degree, coef0=1.0, n_components=1000, random_state=seed
                ),
            ),
        ):
            errors, fits, maps = [], [], []
            for seed in range(SEEDS):
                machine = make(kernel, seed)
                fits.append(seconds(lambda machine=machine, X=X: machine.fit(X)))
                maps.append(seconds(lambda machine=machine, X=X: machine.transform(X)))
                F = machine.transform(some)
                F = F.toarray() if hasattr(F, "toarray") else F
                errors.append(np.sqrt(np.mean((F @ F.T - K) ** 2)) / np.sqrt(np.mean(K**2)))
            yield (row := [word, f"``{name}``", median(errors), short(min(fits)), short(min(maps))])
            print(*row, sep=" | ", flush=True)


def write(file: Path, heading: list[str], rows: Iterator[list[str]]) -> None:
    with limit_threads(1), threadpool_limits(1):
        file.write_text(table(heading, rows), encoding="utf-8")


if __name__ == "__main__":
    heading = ["map", "groups: lost", "error", "cloud: lost", "error", "fit", f"transform {N}"]
    write(TABLES / "approximations.inc", heading, radial_rows())
    heading = ["samples", "map", "relative error", "fit", "transform"]
    write(TABLES / "sketches.inc", heading, sketch_rows())
