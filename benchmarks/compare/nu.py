"""Machines with a share of errors in place of a price."""

from functools import partial

from benchmarks import data
from benchmarks.compare.fitting import fit_task
from benchmarks.compare.peers import Machine

TASKS = [
    fit_task(
        f"{kind.lower()}-fit-10000",
        f"{kind} fit, n = 10000, nu = {nu}",
        Machine(kind, parameters={"nu": nu}),
        partial(data.cls_split, 10_000),
        group="Other machines",
        repeats=5,
    )
    for kind, nu in (("NuSVC", 0.3), ("OneClassSVM", 0.1))
]
