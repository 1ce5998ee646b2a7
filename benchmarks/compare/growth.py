"""How the time grows with the number of samples."""

import math
from functools import partial

import numpy as np

from benchmarks import data
from benchmarks.compare import svc
from benchmarks.compare.fitting import fit_task
from benchmarks.task import Results

TASKS = [
    fit_task(
        f"growth-{n}",
        f"fit, n = {n}",
        svc.MACHINE,
        partial(data.cls_split, n),
        group="SVC, many samples",
        repeats=repeats,
    )
    for n, repeats in ((20_000, 3), (40_000, 2), (80_000, 1))
]
POINTS = {10_000: "svc-fit-10000", 20_000: "growth-20000", 40_000: "growth-40000", 80_000: "growth-80000"}


def summary(results: Results) -> dict | None:
    """The exponents of n, and the sparsity of the machines, which have more support vectors for more samples."""
    exponents = {}
    contenders = dict.fromkeys(name for point in POINTS.values() for name in results.get(point, {}))
    for contender in contenders:
        outcomes = {n: results[point].get(contender, {}) for n, point in POINTS.items() if point in results}
        seconds = {n: outcome["median"] for n, outcome in outcomes.items() if "median" in outcome}
        if len(seconds) > 2:
            logarithms = [math.log(x) for x in seconds], [math.log(x) for x in seconds.values()]
            exponents[contender] = float(np.polyfit(*logarithms, 1)[0])
    if "mercer" not in exponents:
        return None
    sparsity = {
        n: results[point]["mercer"]["quality"]["sparsity"]
        for n, point in POINTS.items()
        if "mercer" in results.get(point, {})
    }
    shares = ", ".join(f"{share:.2f} for n = {n}" for n, share in sparsity.items())
    powers = ", ".join(f"{exponent:.2f} ({contender})" for contender, exponent in exponents.items())
    text = (
        f"From n = {min(sparsity)} to {max(sparsity)} the time to fit grows with n to the power of {powers}; "
        f"the share of samples that are not support vectors is {shares}."
    )
    return {"exponents": exponents, "sparsity": sparsity, "text": text}
