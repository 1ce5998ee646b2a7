"""One contender at one task, in a process of its own: ``python -m benchmarks.worker TASK CONTENDER``."""

import json
import resource
import sys
import time

import numpy as np

from benchmarks.tasks import find_task


def main(task_name: str, contender: str) -> None:
    task = find_task(task_name)
    data = task.setup()
    work = task.contenders[contender]
    touch_memory()
    for _ in range(task.warmups):
        outcome = work(data)
    seconds = []
    for _ in range(task.repeats):
        began = time.perf_counter()
        outcome = work(data)
        seconds.append(time.perf_counter() - began)
    print(
        json.dumps(
            {
                "seconds": seconds,
                "quality": task.quality(data, outcome),
                "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            }
        )
    )


def touch_memory(megabytes: int = 256) -> None:
    """Fresh pages cost as much as some fits: let the allocator have some that are not fresh."""
    np.ones(megabytes << 17).sum()


if __name__ == "__main__":
    main(*sys.argv[1:])
