"""Gram matrices of kernels on strings: against kernlab (R), against FastSK, and against writing the matrix."""

import importlib.util
import sys
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import make_pipeline

from benchmarks.compare.kernlab import Kernlab, kernlab_is_here
from benchmarks.data import shrunk
from benchmarks.task import Quality, Results, Task, ratio
from mercer.datasets import load_splice
from mercer.features import ExplicitFeatures
from mercer.kernels import CommonSubstrings, GappedKmer, GapWeighted, Kernel, Mismatch, Spectrum
from mercer.svm import LinearSVC

GROUP = "Gram matrices of strings"
# kernlab's "sequence" is the gap-weighted kernel (its faster "string" and "fullstring" have no gaps). Its "spectrum"
# sees the end of a string as one more letter.
END = "$"
GAPPED = GappedKmer(g=8, k=5)
# Kernels whose time is to grow with the length of the strings, no faster.
GROWING = {"Spectrum(6)": Spectrum(6), "CommonSubstrings()": CommonSubstrings()}
LENGTHS = (10_000, 100_000, 1_000_000)

KERNLAB = """
strings <- as.list(readLines(file.path(folder, "strings")))
kernel <- stringdot(type = arguments[1], length = 4, lambda = 0.5, normalized = FALSE)
actions <- expression(compute = K <- kernelMatrix(kernel, strings), write = write(K, "matrix"))
"""


class Strings(NamedTuple):
    """Strings, and for kernlab the R process that knows them."""

    X: list[str]
    kernlab: Kernlab | None = None


def random_dna(n: int, length: int) -> list[str]:
    letters = np.random.default_rng(0).integers(4, size=(n, length))
    return ["".join("ACGT"[i] for i in row) for row in letters]


def splice(n: int = 3000) -> list[str]:
    return list(load_splice().data[:n])


def setup(make: Callable[[], list[str]], kind: str | None, end: str, contender: str) -> Strings:
    X = make()
    if contender != "kernlab":
        return Strings([x + end for x in X])
    assert kind is not None
    return Strings(X, Kernlab(KERNLAB, {"strings": X}, kind))


def with_mercer(kernel: Kernel, strings: Strings) -> np.ndarray:
    return kernel(strings.X)


def with_kernlab(strings: Strings) -> None:
    assert strings.kernlab is not None
    strings.kernlab.order("compute")


def writing(strings: Strings) -> np.ndarray:
    return np.full((len(strings.X), len(strings.X)), 1.0)


@cache
def fastsk_is_here() -> bool:
    """Whether FastSK is installed; for Python 3.11 it is built with a newer pybind11 and --no-build-isolation."""
    here = importlib.util.find_spec("fastsk") is not None
    if not here:
        print("Gapped k-mers: FastSK is not installed, so that it is left out.", file=sys.stderr)
    return here


def with_fastsk(strings: Strings) -> np.ndarray:
    """Its kernel is normalised, and it wants samples to train with and others to test with."""
    from fastsk import FastSK  # type: ignore[import-not-found]

    letters = sorted(set("".join(strings.X)))
    numbers = [[letters.index(a) + 1 for a in x] for x in strings.X]
    machine = FastSK(g=GAPPED.g, m=GAPPED.g - GAPPED.k, t=2, approx=False)
    machine.compute_kernel(numbers, numbers[:1])
    return np.array(machine.get_train_kernel())


class Labelled(NamedTuple):
    """Strings and classes."""

    X: list[str]
    y: np.ndarray


def million(n: int = 1_000_000) -> Labelled:
    """Strings in which a piece of four letters stands, or does not."""
    X = random_dna(shrunk(n), 15)
    return Labelled(X, np.array(["GATT" in x or "CCAG" in x for x in X]))


def learnt(lesson: Labelled) -> Any:
    machine = make_pipeline(ExplicitFeatures(Spectrum(3)), LinearSVC(C=0.1, gap_tol=1e-3))
    return machine.fit(lesson.X, lesson.y)


def checksum(strings: Strings, K: np.ndarray | None) -> Quality:
    """Two numbers that the whole matrix is part of."""
    if K is None:
        assert strings.kernlab is not None
        strings.kernlab.order("write")
        K = strings.kernlab.read("matrix").reshape(len(strings.X), -1)
    weights = np.cos(np.arange(len(K)))
    return {"trace": float(np.trace(K)), "weighted sum": float(weights @ K @ weights)}


def task(name: str, title: str, kernel: Kernel, make: Callable[[], list[str]], **rest: Any) -> Task:
    kind, end, others = rest.pop("kind", None), rest.pop("end", ""), rest.pop("others", {})
    contenders: dict[str, Any] = {"mercer": partial(with_mercer, kernel), **others}
    if kind is not None and kernlab_is_here():
        contenders["kernlab"] = with_kernlab
    return Task(
        name=name,
        title=title,
        group=GROUP,
        setup=partial(setup, make, kind, end),
        contenders=contenders,
        **{
            "quality": checksum,
            "tolerance": {"trace": ("relative", 1e-9), "weighted sum": ("relative", 1e-6)},
            **rest,
        },
    )


few, many = partial(random_dna, 200, 100), partial(random_dna, 10_000, 200)

TASKS = [
    task(
        "strings-gap-weighted",
        "GapWeighted(4, decay=0.5), 200 DNA strings of length 100",
        GapWeighted(4, decay=0.5),
        few,
        kind="sequence",
        repeats=1,
    ),
    task(
        "strings-spectrum",
        "Spectrum(4), 200 DNA strings of length 100",
        Spectrum(4),
        few,
        kind="spectrum",
        end=END,
    ),
    task(
        "strings-spectrum-10000",
        "Spectrum(6), 10 000 DNA strings of length 200",
        Spectrum(6),
        many,
        others={"writing the matrix": writing},
        tolerance={},
        repeats=3,
    ),
    task(
        "strings-gapped",
        "GappedKmer(8, 5) normalised, 3000 splice junctions",
        GAPPED.normalized(),
        splice,
        others={"FastSK": with_fastsk} if fastsk_is_here() else {},
        tolerance={"trace": ("relative", 1e-6), "weighted sum": ("relative", 1e-4)},
        repeats=3,
    ),
    task(
        "strings-mismatch",
        "Mismatch(5, 1), 3000 splice junctions",
        Mismatch(5, 1, alphabet="ACGTDNRS"),
        splice,
        repeats=3,
    ),
    Task(
        name="strings-linear",
        title="LinearSVC on explicit features of Spectrum(3), a million strings of length 15",
        group=GROUP,
        setup=lambda _: million(),
        contenders={"mercer": learnt},
        quality=lambda lesson, machine: {"accuracy": float(machine.score(lesson.X[:10_000], lesson.y[:10_000]))},
        repeats=0,
    ),
    *(
        Task(
            name=f"strings-growth-{name}-{length}",
            title=f"{kernel!r}, two DNA strings of length {length}",
            group=GROUP,
            setup=partial(setup, partial(random_dna, 2, length), None, ""),
            contenders={"mercer": partial(with_mercer, kernel)},
            listed=False,
        )
        for name, kernel in GROWING.items()
        for length in LENGTHS
    ),
]


# What is said of them: the task, in words, and who else has done it.
COMPARED = (
    ("strings-gap-weighted", "GapWeighted(4, 0.5), 200 strings of length 100", "kernlab"),
    ("strings-spectrum", "Spectrum(4), the same strings", "kernlab"),
    ("strings-gapped", "GappedKmer(8, 5), 3000 splice junctions", "FastSK"),
    ("tune-strings", "a search over GapWeighted(3) on 500 strings of length 200", "GridSearchCV of mercer"),
)


def summary(results: Results) -> dict | None:
    """How many times faster than others, and how the time of one pair grows with the length of its strings."""
    ratios = {
        name: (title, other, ratio(results[name], other))
        for name, title, other in COMPARED
        if {"mercer", other} <= results.get(name, {}).keys()
    }
    seconds = {
        name: [results.get(f"strings-growth-{name}-{n}", {}).get("mercer", {}).get("median") for n in LENGTHS]
        for name in GROWING
    }
    if not ratios or any(None in times for times in seconds.values()):
        return None
    powers = {name: float(np.polyfit(np.log(LENGTHS), np.log(times), 1)[0]) for name, times in seconds.items()}
    lengths = ", ".join(f"{n:,}".replace(",", " ") for n in LENGTHS)
    rows = "; ".join(
        f"{name} {', '.join(f'{1000 * t:.4g}' for t in seconds[name])} ms (a power of {powers[name]:.2f})"
        for name in GROWING
    )
    faster = ", ".join(f"{title} {times:.0f}× ({other})" for title, other, times in ratios.values())
    text = f"Strings, how many times faster than others: {faster}. Two DNA strings of {lengths} letters: {rows}."
    return {"ratios": {n: r[2] for n, r in ratios.items()}, "powers": powers, "seconds": seconds, "text": text}
