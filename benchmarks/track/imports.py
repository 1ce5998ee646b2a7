"""What `import mercer` costs on top of `import sklearn.base`."""

import subprocess
import sys

from benchmarks.task import Task


def importing(statement):
    def work(_):
        subprocess.run([sys.executable, "-c", statement], check=True)

    return work


TASKS = [
    Task(
        name="import",
        title="a new process imports",
        setup=lambda: None,
        contenders={
            "mercer": importing("import sklearn.base, mercer"),
            "mercer.SVC": importing("import sklearn.base; from mercer import SVC"),
            "sklearn.base": importing("import sklearn.base"),
        },
        repeats=9,
    )
]
