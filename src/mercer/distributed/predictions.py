"""What fitted machines say of Dask collections: lazy, block by block."""

from collections.abc import Callable
from copy import copy
from functools import wraps
from typing import Any

import numpy as np

from mercer.distributed.engine import is_lazy, sent_once, task
from mercer.distributed.rows import is_frame
from mercer.extras import require
from mercer.kernels.samples import n_samples

__all__ = ["by_blocks"]

# What a machine knows of its training samples, one by one, and what it says of others does not need.
OF_TRAINING = ("result_", "sample_coef_", "slack_", "loo_residuals_", "_targets", "_sample_weight")


def by_blocks(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a fitted machine that takes Dask collections, too, and then returns Dask arrays.

    An array has a chunk for every block of rows. Nothing is computed but what the machine says of a row of ones, which
    has the shape and the type of what it says of others.
    """

    @wraps(method)
    def of_any(machine: Any, X: Any, *arguments: Any, **named: Any) -> Any:
        if not is_lazy(X):
            return method(machine, X, *arguments, **named)
        return _of_blocks(machine, method.__name__, X, arguments, named)

    return of_any


def _of_blocks(machine: Any, name: str, X: Any, arguments: tuple, named: dict[str, Any]) -> Any:
    example = getattr(machine, name)(_one_row(X), *arguments, **named)
    several = isinstance(example, tuple)
    examples = example if several else (example,)
    array = require("dask.array", f"{type(machine).__name__}.{name} of a Dask collection")
    known = isinstance(X, array.Array)
    if known and X.numblocks[1:] != (1,):
        X = X.rechunk({1: -1})
    parts = X.to_delayed().ravel() if known else X.to_delayed()
    rows = X.chunks[0] if known else [np.nan] * len(parts)
    shared = sent_once((_light(machine), name, arguments, named))
    found = [task(_of_block, shared, part, examples) for part in parts]
    arrays = tuple(
        array.concatenate(
            [
                array.from_delayed(made[k], (n, *one.shape[1:]), meta=one[:0])
                for n, made in zip(rows, found, strict=True)
            ],
            allow_unknown_chunksizes=True,
        )
        for k, one in enumerate(examples)
    )
    return arrays if several else arrays[0]


def _one_row(X: Any) -> Any:
    """A sample like those of a collection."""
    if is_frame(X):
        return X._meta_nonempty.iloc[:1]
    return np.ones((1, *X.shape[1:]), dtype=X.dtype)


def _light(machine: Any) -> Any:
    """The machine without what grows with the number of its training samples and is not needed."""
    light = copy(machine)
    for name in OF_TRAINING:
        light.__dict__.pop(name, None)
    return light


def _of_block(shared: tuple, block: Any, examples: tuple) -> tuple:
    """What the machine says of a block; a frame may have partitions without rows."""
    machine, name, arguments, named = shared
    if not n_samples(block):
        return tuple(one[:0] for one in examples)
    found = getattr(machine, name)(block, *arguments, **named)
    return found if isinstance(found, tuple) else (found,)
