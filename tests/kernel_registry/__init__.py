"""One instance, at least, of every public kernel, and samples of every kind.

There is a module for each kind of samples, with

- ``KERNELS``: functions that make a kernel, by names that start with that of its class;
- ``SAMPLES``: by domain, ``function(kernel, rng, n, d)`` that makes n random samples, in an array, of size d where that
  means something: features, letters, nodes;
- ``OWN_SAMPLES``, if it has one: the same by class, for kernels that do not work on all samples of their domain;
- ``WRONG``: by domain, samples that kernels refuse with a `DomainError`;
- ``HOLDS_DATA``: kernels that hold something which has no expression and is shared by clones.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from kernel_registry import algebra, graphs, models, sets, strings, trees, vectors
from kernel_registry.vectors import STORED, n_features
from mercer.kernels import Kernel

__all__ = ["HOLDS_DATA", "KERNELS", "STORED", "WRONG", "n_features", "samples"]

MODULES = (vectors, algebra, graphs, trees, sets, strings, models)

KERNELS: dict[str, Callable[[], Kernel]] = {name: make for module in MODULES for name, make in module.KERNELS.items()}
SAMPLES: dict[str, Callable[..., np.ndarray]] = {d: make for module in MODULES for d, make in module.SAMPLES.items()}
WRONG: dict[str, list[Any]] = {domain: wrong for module in MODULES for domain, wrong in module.WRONG.items()}
HOLDS_DATA: tuple[type, ...] = tuple(kind for module in MODULES for kind in module.HOLDS_DATA)


OWN_SAMPLES: dict[type, Callable[..., np.ndarray]] = {
    kind: make for module in MODULES for kind, make in getattr(module, "OWN_SAMPLES", {}).items()
}


def samples(kernel: Kernel, n: int, d: int = 3, seed: int = 0) -> np.ndarray:
    """n random samples, of size d where the kernel leaves the choice, as an array."""
    make = OWN_SAMPLES.get(type(kernel)) or SAMPLES[kernel.domain]
    return make(kernel, np.random.default_rng(seed), n, d)
