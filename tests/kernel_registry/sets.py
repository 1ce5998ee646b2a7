"""Kernels on sets: of vectors, of categories, of things that are equal or not."""

import numpy as np

from kernel_registry.objects import as_objects
from mercer import kernels

KERNELS = {
    "CommonElements": lambda: kernels.CommonElements(),
    "Jaccard": lambda: kernels.Jaccard(),
    "SetKernel": lambda: kernels.SetKernel(kernels.RBF(gamma=0.5)),
    "SetKernel sum": lambda: kernels.SetKernel(kernels.Linear() + 0.5, reduce="sum"),
    "SetKernel of sets": lambda: kernels.SetKernel(kernels.Jaccard()),
}


def some_set(rng, d):
    return frozenset("abcdefgh"[i] for i in rng.integers(8, size=rng.integers(1, 2 + min(d, 6))))


def sets(kernel, rng, n, d):
    if not isinstance(kernel, kernels.SetKernel):
        return as_objects(some_set(rng, d) for _ in range(n))
    sizes = rng.integers(1, 6, size=n)
    if kernel.base.domain == "vectors":
        return as_objects(rng.normal(size=(size, d)) for size in sizes)
    return as_objects([some_set(rng, d) for _ in range(size)] for size in sizes)


SAMPLES = {"sets": sets}
WRONG = {"sets": [["GATTACA", "TATA"], np.array([[1.0, 2.0], [3.0, 4.0]]), [1.0, 2.0], [[[]], [object()]]]}
HOLDS_DATA = ()
