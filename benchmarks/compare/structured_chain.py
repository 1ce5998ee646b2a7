"""Chains of labels on handwritten words: Viterbi's algorithm beside its NumPy twin, and learning to a proved gap."""

import csv
import gzip
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from benchmarks.data import shrunk
from benchmarks.real_data import DATASETS
from benchmarks.task import Quality, Results, Task, ratio
from mercer.structured import Chain, StructuredSVM

FILE = DATASETS / "ocr_letters.csv.gz"
N_WORDS = 4000
# The price that letters held out like best; the objective is |w|^2 / 2 + C times the sum of losses.
C, GAP = 0.1, 1e-2


class Words(NamedTuple):
    """Pixels of letters, 16 x 8 of zeros and ones, and the letters."""

    X: list[np.ndarray]
    y: list[str]

    @property
    def n_letters(self) -> int:
        return sum(map(len, self.y))


def words(_: str) -> Words:
    with gzip.open(FILE, "rt", newline="") as file:
        read = [list(rows) for _, rows in groupby(csv.DictReader(file), itemgetter("word"))][: shrunk(N_WORDS)]
    X = [np.array([[int(pixel) for pixel in row["pixels"]] for row in word], dtype=float) for word in read]
    return Words(X, ["".join(row["letter"] for row in word) for word in read])


class Search(NamedTuple):
    """Weights, and the samples whose loss-augmented labels are looked for."""

    model: Chain
    samples: Any
    outputs: Any
    rows: list[np.ndarray]  # of each word, for the twin
    w: np.ndarray


def search(contender: str) -> Search:
    X, y = words(contender)
    model = Chain().resolve(X, y)
    samples = model.prepare(X)
    w = np.random.default_rng(0).normal(size=model.size)
    return Search(model, samples, model.encode(samples, y), [np.column_stack([x, np.ones(len(x))]) for x in X], w)


def natively(task: Search) -> np.ndarray:
    return task.model.oracles(task.samples, task.outputs, task.w, "margin").codes


def with_numpy(task: Search) -> np.ndarray:
    """One word after the other, all labels of a step at once."""
    n = len(task.model.classes_)
    split = task.rows[0].shape[1] * n
    emission, transition = task.w[:split].reshape(-1, n), task.w[split : split + n * n].reshape(n, n)
    first, last = task.w[-2 * n : -n], task.w[-n:]
    return np.concatenate(
        [
            viterbi(rows @ emission + (np.arange(n) != y[:, np.newaxis]), transition, first, last)
            for rows, y in zip(task.rows, task.outputs, strict=True)
        ]
    )


def viterbi(emission: np.ndarray, transition: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    before = np.zeros(emission.shape, dtype=np.intp)
    best = first + emission[0]
    labels = np.arange(len(first))
    for t in range(1, len(emission)):
        scores = best[:, np.newaxis] + transition
        before[t] = scores.argmax(axis=0)
        best = scores[before[t], labels] + emission[t]
    path = np.empty(len(emission), dtype=np.intp)
    path[-1] = (best + last).argmax()
    for t in range(len(emission) - 1, 0, -1):
        path[t - 1] = before[t, path[t]]
    return path


def search_quality(task: Search, codes: np.ndarray) -> Quality:
    """The sum of all loss-augmented scores: of equal ones, either labels may be found."""
    found = task.samples.labelled(codes.astype(np.int32))
    behind = task.model.differences(task.samples, task.outputs, found) @ task.w
    value = float(np.sum(task.model.losses(task.outputs, found) - behind))
    return {"value": value, "letters": len(codes)}


def learnt(task: Words) -> StructuredSVM:
    return StructuredSVM(Chain(), C=C, gap_tol=GAP).fit(task.X, task.y)


def learnt_quality(task: Words, machine: StructuredSVM) -> Quality:
    result = machine.result_
    return {
        "objective": result.primal_objective,
        "relative gap": result.relative_gap,
        "passes": result.n_iter,
        "letters": task.n_letters * result.n_iter,
    }


SEARCH = Task(
    name="chain-viterbi",
    title="loss-augmented labels of 4 000 words",
    group="Sequences",
    setup=search,
    contenders={"mercer": natively, "NumPy": with_numpy},
    quality=search_quality,
    tolerance={"value": ("relative", 1e-9)},
    needs=(FILE,),
)
LEARNING = Task(
    name="chain-fit",
    title="labels of 4 000 words learnt to a gap of 1 %",
    group="Sequences",
    setup=words,
    contenders={"mercer": learnt},
    quality=learnt_quality,
    repeats=2,
    needs=(FILE,),
)
TASKS = [SEARCH, LEARNING]


def summary(results: Results) -> dict | None:
    """Letters in a second, passes, and how many times faster than the twin."""
    searched, machine = results.get(SEARCH.name, {}), results.get(LEARNING.name, {}).get("mercer")
    if not {"mercer", "NumPy"} <= searched.keys():
        return None
    times = ratio(searched, "NumPy")
    rate = searched["mercer"]["quality"]["letters"] / searched["mercer"]["median"]
    text = (
        f"Viterbi's algorithm on words: {rate / 1e6:.2g} million letters in a second, {times:.0f}× as many as in NumPy."
    )
    if machine is not None:
        passes = machine["quality"]["passes"]
        text += f" Learning from them took {passes} passes to a gap of 1 %, {machine['median']:.3g} s."
    return {"times": times, "rate": rate, "text": text}
