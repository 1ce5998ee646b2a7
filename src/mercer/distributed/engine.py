"""What Dask is asked for: tasks to run, values to keep on the workers, how much room there is."""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

from mercer.extras import require
from mercer.gram.memory import memory_budget
from mercer.threads import limit_threads, one_blas_thread

__all__ = ["computed", "is_lazy", "kept", "room", "sent_once", "task", "task_memory", "together"]

# Threads are to have as much to do as this times their share at most.
EVEN = 1.1
# The part of the workers' memory that samples, and kernel values that are stored, may take each.
SHARE = 0.3
# Vectors with an entry for every sample travel with the tasks: that is no mistake to be warned of.
CONFIGURATION = {"distributed.admin.large-graph-warning-threshold": "4GB"}


def is_lazy(values: Any) -> bool:
    """Whether something is a Dask collection; Dask need not be there to be asked."""
    return hasattr(values, "__dask_graph__") and not isinstance(values, type)


def task(function: Callable[..., Any], *arguments: Any) -> Any:
    """A call that is not made yet, on one thread; arguments may be such calls, too.

    As many of them run at once as there are threads.
    """
    delayed = require("dask", "A machine on Dask collections").delayed
    key = f"{function.__name__.strip('_')}-{uuid4().hex}"
    return delayed(_on_one_thread, pure=False, traverse=False)(function, *arguments, dask_key_name=key)


def sent_once(value: Any) -> Any:
    """A value that several calls take."""
    return task(_itself, value)


def computed(tasks: Sequence[Any]) -> list[Any]:
    """What calls return, in their order, whichever ends first."""
    dask = require("dask", "A machine on Dask collections")
    # Dask's scheduler leaves out what nobody asked for; without it somebody has to.
    with dask.config.set(CONFIGURATION):
        return list(dask.compute(*tasks, traverse=False, optimize_graph=_client() is None))


def kept(tasks: Sequence[Any]) -> list[Any]:
    """The same calls, made once; what they return stays where it is. What a worker takes with it is made again."""
    dask = require("dask", "A machine on Dask collections")
    with dask.config.set(CONFIGURATION):
        return list(dask.persist(*tasks))


def together(parts: Sequence[Any], sizes: Sequence[int]) -> list[list[int]]:
    """Numbers of parts that are kept, of so many rows each, in one group for every thread that has them at hand.

    One by one where that would leave some threads without work: whoever has time takes the next.
    """
    one_by_one, client = [[k] for k in range(len(parts))], _client()
    if client is None:
        return one_by_one
    from distributed import futures_of

    held: dict[str, list[int]] = {}
    holders = client.who_has(futures_of(list(parts)))
    for k, part in enumerate(parts):
        held.setdefault(min(holders.get(part.key, ()), default=""), []).append(k)
    threads = client.nthreads()
    if not held.keys() <= threads.keys():  # lost already
        return one_by_one
    groups = [numbers[t :: threads[worker]] for worker, numbers in held.items() for t in range(threads[worker])]
    most = max(sum(sizes[k] for k in group) for group in groups)
    return [group for group in groups if group] if most * sum(threads.values()) <= EVEN * sum(sizes) else one_by_one


def room(memory: float | str = "auto") -> float:
    """How many bytes may stay with the workers; without workers, in this process."""
    client = _client()
    if client is None:
        return memory_budget(memory) / 2
    limits = client.run(_limit_of).values()
    return SHARE * sum(float("inf") if limit is None else limit for limit in limits)


def task_memory(memory: float | str) -> float | str:
    """The budget for kernel values of one task, in megabytes: on a worker a share of what that has at most."""
    worker = _worker()
    if worker is None or (limit := _limit_of(worker)) is None:
        return memory
    most = SHARE * limit / worker.state.nthreads / 2**20
    return most if isinstance(memory, str) else min(float(memory), most)


def _itself(value: Any) -> Any:
    return value


def _on_one_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    with limit_threads(1), one_blas_thread():
        return function(*arguments)


def _client() -> Any:
    """Dask's client, if there is one."""
    try:
        from distributed import default_client
    except ImportError:
        return None
    try:
        return default_client()
    except ValueError:
        return None


def _worker() -> Any:
    """The worker whose task this is, if it is one's."""
    try:
        from distributed import get_worker
    except ImportError:
        return None
    try:
        return get_worker()
    except ValueError:
        return None


def _limit_of(dask_worker: Any) -> int | None:
    """Bytes that a worker may use; None: as many as there are."""
    return dask_worker.memory_manager.memory_limit
