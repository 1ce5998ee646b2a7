"""One contender at one task, in a process of its own: ``python -m benchmarks.worker TASK CONTENDER``."""

import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from benchmarks.task import Task
from benchmarks.tasks import find_task

# A run above the first number of seconds is not repeated, shorter ones for as long as the second says.
LONG, REPEATING = 15.0, 15.0

Meter = Callable[[], float]


def main(task_name: str, contender: str) -> None:
    answer = own_output()
    task = find_task(task_name)
    data = task.setup(contender)
    work = task.contenders[contender]
    prepare = task.before.get(contender, lambda data: None)

    def run(at_first: Meter, at_last: Meter) -> tuple[float, Any]:
        prepare(data)
        signal.alarm(task.limit)  # ends the process: SIGALRM needs no cooperation
        before = at_first()
        outcome = work(data)
        spent = at_last() - before
        signal.alarm(0)
        return spent, outcome

    runs, outcome = {"s": seconds, "MB": megabytes}[task.unit](task, run)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    json.dump({"runs": runs, "quality": task.quality(data, outcome), "peak_megabytes": most}, answer)


def own_output() -> TextIO:
    """Our standard output; what libraries print there goes to the standard error from now on."""
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answer


def seconds(task: Task, run: Callable) -> tuple[list[float], Any]:
    """The times of the runs after the first, which warms up; of the first alone if it is long."""
    touch_memory()
    first, outcome = run(time.perf_counter, time.perf_counter)
    runs = [first]
    if task.repeats and first <= LONG:
        repeats = max(1, min(task.repeats, int(REPEATING / first)))
        runs = []
        for _ in range(repeats):
            spent, outcome = run(time.perf_counter, time.perf_counter)
            runs.append(spent)
    return [spent / task.calls for spent in runs], outcome


def touch_memory(megabytes: int = 256) -> None:
    """Fresh pages cost as much as some fits: let the allocator have some that are not fresh."""
    np.ones(megabytes << 17).sum()


def megabytes(task: Task, run: Callable) -> tuple[list[float], Any]:
    """By how much one run makes the peak of resident memory grow; nothing is touched before."""
    growth, outcome = run(resident, peak)
    return [growth], outcome


def resident() -> float:
    """Megabytes now; from here the peak counts anew, where the system lets it."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return status("VmRSS")


def peak() -> float:
    return status("VmHWM")


def status(name: str) -> float:
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields[name].split()[0]) / 1024


if __name__ == "__main__":
    main(*sys.argv[1:])
