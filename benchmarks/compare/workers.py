"""Ridge regression over landmarks on two Dask workers of one thread each, against one process of one thread."""

from typing import Any, NamedTuple

import dask.array
from distributed import Client, LocalCluster, wait
from threadpoolctl import threadpool_limits

from benchmarks.compare.scale import error_of_values, values, width
from benchmarks.data import Samples
from benchmarks.task import Quality, Results, Task, figure, ratio
from mercer.kernels import RBF
from mercer.ridge import KernelRidge

GROUP = "Dask"
N, LANDMARKS, CHUNK = 4_000_000, 1000, 250_000
ALONE = "mercer, one process"


class Work(NamedTuple):
    """The samples, and where they are."""

    samples: Samples
    machine: KernelRidge
    X: Any
    cluster: LocalCluster | None


def on_workers_or_here(contender: str) -> Work:
    """Off the clock: workers are started, and have their blocks."""
    found = values(N, contender)
    kernel = RBF(width(found.X))
    machine = KernelRidge(kernel, alpha=1.0, approximation=LANDMARKS, tol=1e-6)
    if contender == ALONE:
        return Work(found, machine.set_params(n_threads=1), found.X, None)
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0")
    client = Client(cluster)
    X = dask.array.from_array(found.X, chunks=(CHUNK, found.X.shape[1])).persist()
    wait(X)
    some = X[: 2 * CHUNK]  # a fit on every worker first: they import the library
    KernelRidge(kernel, approximation=10).fit(some, found.y[: len(some)])
    assert client.status == "running"
    return Work(found, machine, X, cluster)


def on_two_workers(work: Work) -> Any:
    return work.machine.fit(work.X, work.samples.y)


def in_one_process(work: Work) -> Any:
    with threadpool_limits(1):
        return work.machine.fit(work.X, work.samples.y)


def judged(work: Work, machine: Any) -> Quality:
    if work.cluster is not None:
        work.cluster.close()
    return error_of_values(work.samples, machine)


TASKS = [
    Task(
        name=f"dask-ridge-{N}",
        title=f"KernelRidge, n = {N}, {LANDMARKS} landmarks",
        group=GROUP,
        setup=on_workers_or_here,
        contenders={"mercer": on_two_workers, ALONE: in_one_process},
        quality=judged,
        tolerance={"mean squared error": ("relative", 1e-3)},
        limit=600,
        full=True,
        listed=False,
    )
]


def summary(results: Results) -> dict[str, Any] | None:
    """How many times faster two workers are than one process."""
    row = results.get(TASKS[0].name, {})
    if not all(name in row for name in TASKS[0].contenders):
        return None
    times = ratio(row, ALONE)
    text = (
        f"{TASKS[0].title}, on Dask: {figure(row['mercer']):.3g} s with two workers of one thread each, "
        f"{figure(row[ALONE]):.3g} s in one process of one thread: {times:.2f} times faster on two cores."
    )
    return {"times": times, "text": text}
