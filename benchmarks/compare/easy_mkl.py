"""EasyMKL against MKLpy: the weights of matrices that are given, and a machine from the samples.

The last machine is not the same: MKLpy has KOMD, a quadratic programme by cvxopt; mercer has a support vector machine,
and proves how far the weights are from the optimal ones of that.
"""

import importlib.util
import sys
from typing import Any, NamedTuple

import numpy as np

from benchmarks import data
from benchmarks.task import Quality, Task
from mercer.kernels import RBF

N, N_KERNELS, LAM = 1000, 20, 0.1


# From nearly constant to nearly the identity.
WIDTHS = np.geomspace(1e-3, 10.0, N_KERNELS)


class Lesson(NamedTuple):
    kernels: list[Any]
    y: Any


def lesson(contender: str) -> Lesson:
    """Kernel matrices in the library's own arrays."""
    X, y = data.cls(N)
    kernels = [RBF(gamma=gamma)(X) for gamma in WIDTHS]
    if contender == "mercer":
        return Lesson(kernels, y)
    import torch

    return Lesson([torch.tensor(K) for K in kernels], torch.tensor(y))


def samples(contender: str) -> tuple[np.ndarray, np.ndarray]:
    return data.cls(N)


def with_mercer(lesson: Lesson) -> np.ndarray:
    from mercer.mkl import Easy

    return Easy(lam=LAM)(lesson.kernels, lesson.y)


def with_mklpy(lesson: Lesson) -> np.ndarray:
    from MKLpy.algorithms import EasyMKL

    return EasyMKL(lam=LAM).combine_kernels(lesson.kernels, lesson.y).weights.numpy()


def fit_with_mercer(samples: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    from mercer import MKLClassifier
    from mercer.mkl import Easy

    kernels = [RBF(gamma=gamma) for gamma in WIDTHS]
    return MKLClassifier(kernels, algorithm=Easy(lam=LAM), normalize=None).fit(*samples).weights_


def fit_with_mklpy(samples: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    import torch
    from MKLpy.algorithms import EasyMKL
    from sklearn.metrics.pairwise import rbf_kernel

    X, y = samples
    kernels = [torch.tensor(rbf_kernel(X, gamma=gamma)) for gamma in WIDTHS]
    return EasyMKL(lam=LAM).fit(kernels, torch.tensor(y)).solution.weights.numpy()


def weights(_: Any, found: np.ndarray) -> Quality:
    return {f"weight {k}": float(weight) for k, weight in enumerate(found)}


def contenders(mercer: Any, mklpy: Any) -> dict[str, Any]:
    if importlib.util.find_spec("MKLpy") is None:
        print("EasyMKL: MKLpy is not installed, so that it is left out.", file=sys.stderr)
        return {"mercer": mercer}
    return {"mercer": mercer, "MKLpy": mklpy}


SAME = {f"weight {k}": ("absolute", 1e-5) for k in range(N_KERNELS)}
TASKS = [
    Task(
        name="easymkl-1000x20",
        title=f"EasyMKL, weights of {N_KERNELS} matrices, n = {N}",
        group="Multiple kernels",
        setup=lesson,
        contenders=contenders(with_mercer, with_mklpy),
        quality=weights,
        tolerance=SAME,
    ),
    Task(
        name="easymkl-fit-1000x20",
        title=f"EasyMKL and a machine, {N_KERNELS} RBF kernels, n = {N}",
        group="Multiple kernels",
        setup=samples,
        contenders=contenders(fit_with_mercer, fit_with_mklpy),
        quality=weights,
        tolerance=SAME,
    ),
]
