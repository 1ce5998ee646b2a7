"""Kernel values that are used and forgotten: how near their products come to the rate at which the machine makes values
and does nothing with them, and how the time of a fit over landmarks grows with the samples.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks import data
from benchmarks.compare.scale import error_of_values, values, width
from benchmarks.data import Samples
from benchmarks.task import Quality, Results, Task, figure, ratio
from mercer import _native
from mercer.gram import LandmarkMatrix
from mercer.kernels import RBF
from mercer.ridge import KernelRidge
from mercer.threads import effective_n_threads

GROUP = "Kernel values in streams"
N, LANDMARKS, FEATURES = 1_000_000, 2000, 20
KERNEL = RBF(gamma=1.0 / FEATURES)
VALUES_ALONE = "mercer, values alone"
# Rows of a tile of values that nobody uses: the rate is that of the quickest.
TILES = (32, 64, 128, 256, 512)
# The same machine for ten and for a hundred times as many samples.
GROWING, FEWER_LANDMARKS = (100_000, 1_000_000, 10_000_000), 500


class Product(NamedTuple):
    """Samples and landmarks in float32, and the rows of a tile of values that nobody uses: those of the best rate."""

    X: np.ndarray
    Z: np.ndarray
    v: np.ndarray
    tile: int


def factors(contender: str) -> Product:
    rng, n = np.random.default_rng(0), data.shrunk(N)
    X, Z = (rng.normal(size=(size, FEATURES)).astype(np.float32) for size in (n, LANDMARKS))
    found = Product(X, Z, rng.normal(size=LANDMARKS), 0)
    if contender != VALUES_ALONE:
        return found
    seconds = {}
    for tile in TILES:
        began = time.perf_counter()
        values_alone(Product(X[: len(X) // 10], Z, found.v, tile))
        seconds[tile] = time.perf_counter() - began
    return found._replace(tile=min(seconds, key=lambda tile: seconds[tile]))


def values_alone(work: Product) -> None:
    """Every value of K(X, Z), made on every core in tiles that stay in its cache."""
    arguments = KERNEL.native().arguments(None)

    def make(first: int) -> None:
        _native.kernel_matrix(*arguments, work.X[first : first + work.tile], work.Z, 1)

    with ThreadPoolExecutor(effective_n_threads()) as pool:
        for _ in pool.map(make, range(0, len(work.X), work.tile)):
            pass


def product(work: Product) -> np.ndarray:
    """K(X, Z) v with values in float32 and sums in float64, as machines over landmarks have it."""
    return LandmarkMatrix(KERNEL, work.X, work.Z).in_single().forward(work.v)


def forward_and_back(work: Product) -> Any:
    """K v and K' K v in one pass: a step of conjugate gradients."""
    return LandmarkMatrix(KERNEL, work.X, work.Z).in_single().both(work.v)


def exactness(work: Product, outcome: Any) -> Quality:
    """How far some rows are from the same in float64."""
    if outcome is None:
        return {"rows of a tile": work.tile}
    found = outcome[0] if isinstance(outcome, tuple) else outcome
    exact = KERNEL(work.X[:1000].astype(float), work.Z.astype(float)) @ work.v
    return {"relative error": float(np.abs(found[:1000] - exact).max() / np.abs(exact).max())}


def fitted(found: Samples) -> Any:
    machine = KernelRidge(RBF(width(found.X)), alpha=1.0, approximation=FEWER_LANDMARKS, tol=1e-6)
    return machine.fit(found.X, found.y)


def with_steps(found: Samples, machine: Any) -> Quality:
    return error_of_values(found, machine) | {"steps": machine.n_iter_}


PRODUCT = Task(
    name=f"stream-product-{N}",
    title=f"K(X, Z) v, n = {N}, {LANDMARKS} landmarks, {FEATURES} features, float32",
    group=GROUP,
    setup=factors,
    contenders={"mercer": product, VALUES_ALONE: values_alone, "mercer, and back": forward_and_back},
    quality=exactness,
    full=True,
    listed=False,
)
GROWTH = [
    Task(
        name=f"stream-growth-{n}",
        title=f"KernelRidge, n = {n}, {FEWER_LANDMARKS} landmarks",
        group=GROUP,
        setup=partial(values, n),
        contenders={"mercer": fitted},
        quality=with_steps,
        repeats=3,
        limit=600,
        full=True,
        listed=False,
    )
    for n in GROWING
]
TASKS = [PRODUCT, *GROWTH]


def summary(results: Results) -> dict[str, Any] | None:
    """The share of the machine's rate, and the time for each sample as there are more of them."""
    told: dict[str, Any] = {}
    sentences = []
    row = results.get(PRODUCT.name, {})
    if all(contender in row for contender in PRODUCT.contenders):
        rates = {contender: N * LANDMARKS / figure(row[contender]) for contender in row}
        told |= {"kernel values a second": rates, "share of the rate": ratio(row, VALUES_ALONE)}
        sentences.append(
            f"Streamed products: {rates['mercer']:.3g} kernel values a second for K(X, Z) v with {N} samples, "
            f"{LANDMARKS} landmarks and {FEATURES} features, which is {ratio(row, VALUES_ALONE):.0%} of the rate at "
            f"which all cores make values alone; {rates['mercer, and back']:.3g} where K' K v is made in the same pass."
        )
    if all(task.name in results for task in GROWTH):
        seconds = {n: figure(results[task.name]["mercer"]) for n, task in zip(GROWING, GROWTH, strict=True)}
        first, last = min(seconds), max(seconds)
        excess = seconds[last] / seconds[first] * first / last
        told |= {"seconds": seconds, "time for each sample, last to first": excess}
        sentences.append(
            f"KernelRidge over {FEWER_LANDMARKS} landmarks takes "
            + ", ".join(f"{taken:.3g} s for {n}" for n, taken in seconds.items())
            + f" samples: from the first to the last the time for each becomes {excess:.2f} times what it was."
        )
    return told | {"text": " ".join(sentences)} if told else None
