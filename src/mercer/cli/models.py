"""Model files: ours and LIBSVM's."""

from pathlib import Path
from typing import Any

import mercer
from mercer.cli.outcomes import MODEL, CommandError
from mercer.cli.samples import Samples, missing_columns
from mercer.compat.libsvm import read_model

__all__ = ["check_fits", "is_libsvm", "is_mercer", "load_model"]

# What kernels may work on, for each kind of file.
DOMAINS = {"vectors": ("vectors", "categories", "permutations", "indices"), "text": ("strings",), "graphs": ("graphs",)}
WORDS = {"vectors": "vectors", "text": "sequences", "graphs": "graphs"}


def is_libsvm(path: str) -> bool:
    """Whether a file is a LIBSVM model, from how it begins."""
    with Path(path).open("rb") as file:
        return file.read(9) == b"svm_type "


def is_mercer(path: str) -> bool:
    """Whether a file may be a model of ours: in the safetensors format, the size of a header comes before it."""
    with Path(path).open("rb") as file:
        begin = file.read(9)
    return len(begin) == 9 and begin[8:] == b"{" and begin[4:8] == b"\0\0\0\0"


def load_model(path: str, n_features: int | None = None) -> Any:
    """A model from a file of either kind."""
    return read_model(path, n_features=n_features) if is_libsvm(path) else mercer.load(path)


def check_fits(model: Any, samples: Samples, path: str) -> None:
    """Refuse samples that are not what the model has learnt from, naming what is missing."""
    kinds = getattr(model.steps[0][1], "kinds_", None) if hasattr(model, "steps") else None
    if kinds is None:
        if samples.kind == "table":
            raise CommandError(f"{path} was not learnt from a table; {samples.source} is one.", MODEL)
        machine = model.steps[-1][1] if hasattr(model, "steps") else model
        domain = getattr(getattr(machine, "kernel_", None), "domain", "any")
        if domain not in ("any", *DOMAINS[samples.kind]):
            raise CommandError(f"{path} works on {domain}; {samples.source} has {WORDS[samples.kind]}.", MODEL)
        return
    if samples.kind != "table":
        raise CommandError(f"{path} was learnt from a table; {samples.source} is none.", MODEL)
    if lacking := missing_columns(samples, kinds, path):
        raise CommandError(lacking, MODEL)
