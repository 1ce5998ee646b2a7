"""All tasks, by name, and what is said of several of them together."""

from collections.abc import Callable

from benchmarks.compare import (
    active,
    classes,
    clustering,
    company,
    easy_mkl,
    elimination,
    features,
    gp,
    graphs,
    growth,
    joint,
    large_c,
    linear,
    logistic,
    lp,
    many,
    memory,
    mkl,
    nu,
    probability,
    real,
    regression,
    ridge,
    rvm,
    scale,
    spectral,
    strings,
    structured_chain,
    structured_parser,
    svc,
    sweep,
    trees,
    tuning,
    workers,
)
from benchmarks.task import Results, Task
from benchmarks.track import imports

MODULES = (
    svc,
    growth,
    regression,
    nu,
    probability,
    large_c,
    real,
    classes,
    joint,
    linear,
    memory,
    many,
    company,
    tuning,
    sweep,
    strings,
    graphs,
    trees,
    structured_parser,
    structured_chain,
    ridge,
    logistic,
    spectral,
    gp,
    rvm,
    scale,
    workers,
    mkl,
    lp,
    easy_mkl,
    clustering,
    active,
    features,
    elimination,
    imports,
)

TASKS: list[Task] = [task for module in MODULES for task in module.TASKS]

# Each gives numbers and a sentence ("text"), or None where its tasks have not been run.
SUMMARIES: dict[str, Callable[[Results], dict | None]] = {
    "real data": real.summary,
    "classes": classes.summary,
    "growth": growth.summary,
    "many": many.summary,
    "company": company.summary,
    "sweep": sweep.summary,
    "graphs": graphs.summary,
    "strings": strings.summary,
    "relevance vectors": rvm.summary,
    "cells and blocks": scale.summary,
    "workers": workers.summary,
    "kernel weights": mkl.summary,
    "clusters": clustering.summary,
    "linear programmes": lp.summary,
    "asking": active.summary,
    "elimination": elimination.summary,
    "sequences": structured_chain.summary,
    "import": imports.summary,
}


def find_task(name: str) -> Task:
    return next(task for task in TASKS if task.name == name)
