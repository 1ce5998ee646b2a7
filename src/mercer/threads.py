"""How many threads a native call may use."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from numbers import Integral
from threading import Lock
from typing import Any

import joblib
from threadpoolctl import ThreadpoolController

__all__ = [
    "effective_n_threads",
    "in_threads",
    "limit_threads",
    "n_workers",
    "one_blas_thread",
    "quiet_blas",
    "side_by_side_elsewhere",
]

# Threads of BLAS go on spinning for about as long as one of them takes for the Cholesky factor of so many rows.
QUIET_ROWS = 2048

# What `limit_threads` has set for the code it encloses; each Python thread has a value of its own.
_limit: ContextVar[int | None] = ContextVar("mercer_n_threads", default=None)


def effective_n_threads(n_threads: int | None = None) -> int:
    """Number of threads to use.

    Parameters
    ----------
    n_threads : int or None, default=None
        A positive number is taken as it is; -1 means every core that this process may run on (CPU affinity
        and cgroup quota are respected). None means the number set by an enclosing `limit_threads`, else
        every such core, but no more than the environment variable ``OMP_NUM_THREADS``, which joblib sets in
        its worker processes.

    Returns
    -------
    int
        At least 1.

    Examples
    --------
    >>> from mercer.threads import effective_n_threads
    >>> effective_n_threads(3)
    3
    """
    if n_threads is None:
        return _limit.get() or min(n for n in (_cores(), _openmp_limit()) if n is not None)
    if not isinstance(n_threads, Integral) or isinstance(n_threads, bool) or n_threads < -1 or n_threads == 0:
        raise ValueError(f"n_threads must be None, -1 (all cores) or an int >= 1, got {n_threads!r}.")
    return _cores() if n_threads == -1 else int(n_threads)


def n_workers() -> int:
    """How many tasks the joblib backend that the caller has chosen runs at once; 1 where none has been chosen.

    Examples
    --------
    >>> import joblib
    >>> from mercer.threads import n_workers
    >>> with joblib.parallel_config("threading", n_jobs=3):
    ...     n_workers()
    3
    """
    return int(joblib.effective_n_jobs(None))


def side_by_side_elsewhere(function: Callable[..., Any], tasks: Iterable[tuple]) -> list[Any]:
    """What the function makes of every task, on the workers of the joblib backend that the caller has chosen, in order.

    A task has one thread where the backend does not say how many its processes may use.
    """
    return list(joblib.Parallel()(joblib.delayed(_on_worker)(function, task) for task in tasks))


def _on_worker(function: Callable[..., Any], task: tuple) -> Any:
    with limit_threads(None if _openmp_limit() else 1):
        return function(*task)


@contextmanager
def limit_threads(n_threads: int | None) -> Iterator[None]:
    """Let the enclosed code use `n_threads` threads wherever it does not say otherwise.

    This is how the ``n_threads`` of an estimator reaches the kernels that it calls. None changes nothing.

    Parameters
    ----------
    n_threads : int or None
        As in `effective_n_threads`.

    Examples
    --------
    >>> from mercer.threads import effective_n_threads, limit_threads
    >>> with limit_threads(2):
    ...     effective_n_threads()
    2
    """
    if n_threads is None:
        yield
        return
    token = _limit.set(effective_n_threads(n_threads))
    try:
        yield
    finally:
        _limit.reset(token)


class _BlasLimit:
    """One thread for BLAS while somebody wants it: the setting is that of the process, callers may be threads."""

    def __init__(self) -> None:
        self.lock, self.n_callers = Lock(), 0
        self.limit: Any = None

    def __enter__(self) -> None:
        with self.lock:
            if not self.n_callers:
                self.limit = _blas().limit(limits=1)
            self.n_callers += 1

    def __exit__(self, *_: Any) -> None:
        with self.lock:
            self.n_callers -= 1
            if not self.n_callers:
                self.limit.restore_original_limits()


@cache
def _blas() -> Any:
    """The BLAS libraries of this process; to look for them takes milliseconds."""
    return ThreadpoolController().select(user_api="blas")


_blas_limit = _BlasLimit()


def one_blas_thread() -> _BlasLimit:
    """Let BLAS use one thread in the enclosed code, which calls it for small things between native loops.

    The threads of OpenBLAS go on spinning for a tenth of a second after every call, on the cores that native loops are
    to run on.

    Examples
    --------
    >>> from mercer.threads import one_blas_thread
    >>> with one_blas_thread():
    ...     pass
    """
    return _blas_limit


def quiet_blas(n_rows: int) -> AbstractContextManager[Any]:
    """As `one_blas_thread`, in code whose matrices for BLAS have so many rows: where these are few."""
    return one_blas_thread() if n_rows <= QUIET_ROWS else nullcontext()


def in_threads(function: Callable[[Any], Any], pieces: Sequence[Any]) -> list[Any]:
    """What the function makes of every piece, in their order: NumPy's products of matrices, on threads that end.

    BLAS would share them among threads of its own, which go on spinning.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.threads import in_threads
    >>> A = np.arange(6.0).reshape(2, 3)
    >>> in_threads(lambda row: float(A[row] @ A[row]), [0, 1])
    [5.0, 50.0]
    """
    n_threads = min(effective_n_threads(), len(pieces))
    with one_blas_thread():
        if n_threads <= 1:
            return [function(piece) for piece in pieces]
        with ThreadPoolExecutor(n_threads) as pool:
            return list(pool.map(function, pieces))


def _cores() -> int:
    """Cores that this process may use; the quota is read once for each affinity, it costs more than a prediction."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    return _count_cores(joblib.cpu_count, affinity)


@cache
def _count_cores(counter: Callable[[], int], affinity: int) -> int:
    return counter()


def _openmp_limit() -> int | None:
    """The first number of OMP_NUM_THREADS (nested levels are separated by commas), None when not usable."""
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(first) if first.isdecimal() and int(first) > 0 else None
