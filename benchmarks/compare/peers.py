"""The libraries, and how each of them is asked for the same machine."""

import importlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from mercer import __version__
from mercer.kernels import RBF, Kernel, Laplacian, Linear, Polynomial

# Where the machines are. A library is imported when it is asked for one, in the process of its contender only.
MODULES = {
    "mercer": "mercer.svm",
    "scikit-learn": "sklearn.svm",
    "intelex": "sklearnex.svm",
    "thundersvm": "thundersvm",
}
DISTRIBUTIONS = {
    "scikit-learn": "scikit-learn",
    "intelex": "scikit-learn-intelex",
    "thundersvm": "thundersvm-cpu",
}
BUDGETS = {"mercer": "memory", "thundersvm": "max_mem_size"}  # and "cache_size"


@dataclass(frozen=True)
class Machine:
    """A machine to be trained, in the words of mercer."""

    kind: str
    kernel: Kernel = field(default_factory=lambda: RBF(gamma="scale"))
    parameters: Mapping[str, Any] = field(default_factory=dict)
    megabytes: int | None = None  # for kernel values

    def on(self, X: Any) -> "Machine":
        """With the numbers in place that the kernel takes from the data: they are the same for all."""
        return replace(self, kernel=self.kernel.resolve(X))


def installed(contender: str) -> bool:
    return importlib.util.find_spec(MODULES[contender].split(".")[0]) is not None


def versions() -> dict[str, str]:
    found = {"mercer": __version__}
    for name, distribution in DISTRIBUTIONS.items():
        try:
            found[name] = version(distribution)
        except PackageNotFoundError:
            continue
    return found


def able(machine: Machine) -> list[str]:
    """The contenders that are here and have such a machine."""
    unable = set()
    if machine.kind == "OneClassSVM":
        unable.add("intelex")
    if isinstance(machine.kernel, Laplacian):
        unable |= {"intelex", "thundersvm"}
    return [name for name in MODULES if name not in unable and installed(name)]


def make(contender: str, machine: Machine) -> Any:
    """The machine as a library has it, not yet trained."""
    words: dict[str, Any] = {"tol": 1e-3, **machine.parameters}
    words |= {"kernel": machine.kernel} if contender == "mercer" else in_words(machine.kernel, contender)
    if machine.megabytes is not None:
        words[BUDGETS.get(contender, "cache_size")] = machine.megabytes
    return getattr(importlib.import_module(MODULES[contender]), machine.kind)(**words)


def in_words(kernel: Kernel, contender: str) -> dict[str, Any]:
    """A kernel as the parameters of LIBSVM and its descendants."""
    match kernel:
        case RBF(gamma=gamma):
            return {"kernel": "rbf", "gamma": gamma}
        case Linear():
            return {"kernel": "linear"}
        case Polynomial(degree=degree, gamma=gamma, coef0=coef0):
            name = "polynomial" if contender == "thundersvm" else "poly"
            return {"kernel": name, "degree": degree, "gamma": gamma, "coef0": coef0}
        case Laplacian(gamma=gamma):
            from sklearn.metrics.pairwise import laplacian_kernel

            return {"kernel": partial(laplacian_kernel, gamma=gamma)}
    raise ValueError(f"the others have no {kernel}")


def train(contender: str, machine: Machine, X: Any, y: Any) -> Any:
    estimator = make(contender, machine)
    if contender == "thundersvm" and issparse(X):
        # It writes float32 into the matrix it is given, and reads the bits of the labels, which it makes int32, as
        # those of float32.
        X, y = csr_matrix(X, copy=True), np.asarray(y, dtype=np.float32).view(np.int32)
    estimator.fit(X, y)
    return estimator
