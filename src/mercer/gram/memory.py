"""How many bytes kernel values may take."""

import os
import time
from functools import lru_cache
from numbers import Real
from pathlib import Path

__all__ = ["check_memory", "memory_budget"]

# The part of the free memory that "auto" takes.
AUTO_SHARE = 0.25
CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def memory_budget(memory: float | str = "auto") -> int:
    """Bytes that kernel values may take.

    Parameters
    ----------
    memory : float or "auto", default="auto"
        Megabytes, or "auto": a quarter of the memory that is free now, as looked up once a second at most.

    Returns
    -------
    int

    Examples
    --------
    >>> from mercer.gram import memory_budget
    >>> memory_budget(200)
    209715200
    """
    check_memory(memory)
    if isinstance(memory, str):
        return int(AUTO_SHARE * _free_bytes(int(time.monotonic())))
    return int(float(memory) * 2**20)


def check_memory(memory: float | str) -> None:
    """Refuse what is no budget, without asking how much is free."""
    if isinstance(memory, str) and memory == "auto":
        return
    if not isinstance(memory, Real) or isinstance(memory, bool) or not 0 < float(memory) < float("inf"):
        raise ValueError(f"memory must be a number of megabytes > 0 or 'auto', got {memory!r}.")


@lru_cache(maxsize=1)  # asking takes longer than to fit a small machine
def _free_bytes(second: int) -> int:
    page = os.sysconf("SC_PAGE_SIZE")
    free = page * os.sysconf("SC_AVPHYS_PAGES")
    try:  # what the page cache holds is free too
        fields = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        free = int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        pass
    for limit in CGROUP_LIMITS:
        try:
            free = min(free, int(Path(limit).read_text()))
        except (OSError, ValueError):  # no such file, or "max"
            continue
    return free
