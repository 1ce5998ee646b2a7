"""kernlab (R): a process that reads its data once, and works when it is told to."""

import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

# What every script begins with, and what it does with each line of its standard input; `folder` is where files lie.
FRAME = """
suppressMessages(library(kernlab))
folder <- commandArgs(TRUE)[1]; arguments <- commandArgs(TRUE)[-1]
read <- function(name) as.matrix(read.csv(file.path(folder, name), header = FALSE))
write <- function(values, name) writeBin(as.vector(values), file.path(folder, name))
%s
orders <- file("stdin", "r")
cat("ready\\n")
while (length(order <- readLines(orders, 1)) > 0) { eval(actions[[order]]); cat("done\\n") }
"""


@cache
def kernlab_is_here() -> bool:
    """Whether R and its package are installed; without them the contender is left out, and a message says so."""
    here = shutil.which("Rscript") is not None
    if here:
        look = ["Rscript", "-e", "library(kernlab)"]
        here = subprocess.run(look, capture_output=True, check=False).returncode == 0
    if not here:
        print("R with kernlab is not installed, so that it is left out.", file=sys.stderr)
    return here


class Kernlab:
    """An R process.

    Parameters
    ----------
    script : str
        Reads the data and makes a list `actions` of expressions by name.
    files : dict
        What it may read: lines of text, or matrices, by the names of the files.
    arguments : str
        What it is told.
    """

    def __init__(self, script: str, files: dict[str, list[str] | np.ndarray], *arguments: str):
        self.folder = Path(tempfile.mkdtemp())
        (self.folder / "kernlab.R").write_text(FRAME % script)
        for name, content in files.items():
            if isinstance(content, np.ndarray):
                np.savetxt(self.folder / name, content, delimiter=",")
            else:
                (self.folder / name).write_text("\n".join(content) + "\n")
        self.process: Any = subprocess.Popen(
            ["Rscript", str(self.folder / "kernlab.R"), str(self.folder), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout.readline() == "ready\n"

    def order(self, action: str) -> None:
        """Have it done."""
        self.process.stdin.write(f"{action}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def read(self, name: str, dtype: type = np.float64) -> np.ndarray:
        """What it has written."""
        return np.fromfile(self.folder / name, dtype=dtype)
