"""Support vector regression on Friedman's first function."""

from functools import partial

from benchmarks import data
from benchmarks.compare.fitting import fit_task
from benchmarks.compare.peers import Machine

MACHINE = Machine("SVR", parameters={"C": 10.0, "epsilon": 0.1})

TASKS = [
    fit_task(
        "svr-fit-10000",
        "SVR fit, friedman1, n = 10000, C = 10",
        MACHINE,
        partial(data.friedman, 10_000),
        group="Other machines",
        repeats=3,
    )
]
