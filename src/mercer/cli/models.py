"""Model files: ours and LIBSVM's."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mercer
from mercer.cli.outcomes import MODEL, CommandError
from mercer.cli.samples import DOMAINS, WORDS, Samples, missing_columns
from mercer.compat.libsvm import read_model
from mercer.errors import FormatError

__all__ = ["check_fits", "is_libsvm", "is_mercer", "load_model", "of_models"]


def is_libsvm(path: str) -> bool:
    """Whether a file is a LIBSVM model, from how it begins."""
    with Path(path).open("rb") as file:
        return file.read(9) == b"svm_type "


def is_mercer(path: str) -> bool:
    """Whether a file may be a model of ours: in the safetensors format, the size of a header comes before it."""
    with Path(path).open("rb") as file:
        begin = file.read(9)
    return len(begin) == 9 and begin[8:] == b"{" and begin[4:8] == b"\0\0\0\0"


@contextmanager
def of_models() -> Iterator[None]:
    """Where a file that is wrong is a model, not data."""
    try:
        yield
    except FormatError as error:
        raise CommandError(str(error), MODEL) from error


def load_model(path: str) -> Any:
    """A model from a file of either kind."""
    with of_models():
        return read_model(path) if is_libsvm(path) else mercer.load(path)


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
