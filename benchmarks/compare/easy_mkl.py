"""Weights of kernels by EasyMKL, against MKLpy: the matrices are given."""

import importlib.util
import sys
from typing import Any, NamedTuple

import numpy as np

from benchmarks import data
from benchmarks.task import Quality, Task
from mercer.kernels import RBF

N, N_KERNELS, LAM = 1000, 20, 0.1


class Lesson(NamedTuple):
    kernels: list[Any]
    y: Any


def lesson(contender: str) -> Lesson:
    """Kernels from nearly constant to nearly the identity, in the library's own arrays."""
    X, y = data.cls(N)
    kernels = [RBF(gamma=gamma)(X) for gamma in np.geomspace(1e-3, 10.0, N_KERNELS)]
    if contender == "mercer":
        return Lesson(kernels, y)
    import torch

    return Lesson([torch.tensor(K) for K in kernels], torch.tensor(y))


def with_mercer(lesson: Lesson) -> np.ndarray:
    from mercer.mkl import Easy

    return Easy(lam=LAM)(lesson.kernels, lesson.y)


def with_mklpy(lesson: Lesson) -> np.ndarray:
    from MKLpy.algorithms import EasyMKL

    return EasyMKL(lam=LAM).combine_kernels(lesson.kernels, lesson.y).weights.numpy()


def weights(_: Lesson, found: np.ndarray) -> Quality:
    return {f"weight {k}": float(weight) for k, weight in enumerate(found)}


def contenders() -> dict[str, Any]:
    if importlib.util.find_spec("MKLpy") is None:
        print("EasyMKL: MKLpy is not installed, so that it is left out.", file=sys.stderr)
        return {"mercer": with_mercer}
    return {"mercer": with_mercer, "MKLpy": with_mklpy}


TASKS = [
    Task(
        name="easymkl-1000x20",
        title=f"EasyMKL, weights of {N_KERNELS} matrices, n = {N}",
        group="Multiple kernels",
        setup=lesson,
        contenders=contenders(),
        quality=weights,
        tolerance={f"weight {k}": ("absolute", 1e-5) for k in range(N_KERNELS)},
    )
]
