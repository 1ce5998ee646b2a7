"""Kernel principal components, against scikit-learn's two exact ways to them."""

from typing import Any

import numpy as np

from benchmarks import data
from benchmarks.task import Quality, Task

N_COMPONENTS, N_NEW = 10, 200


def samples(_: str) -> np.ndarray:
    return data.cls(5000)[0]


def with_mercer(X: np.ndarray) -> Any:
    from mercer import KernelPCA
    from mercer.kernels import RBF

    return KernelPCA(RBF(gamma=1.0 / X.shape[1]), n_components=N_COMPONENTS).fit(X)


def with_sklearn(X: np.ndarray, eigen_solver: str = "arpack") -> Any:
    from sklearn.decomposition import KernelPCA

    machine = KernelPCA(N_COMPONENTS, kernel="rbf", gamma=1.0 / X.shape[1], eigen_solver=eigen_solver, random_state=0)
    return machine.fit(X)


def with_all_eigenvectors(X: np.ndarray) -> Any:
    return with_sklearn(X, "dense")


def quality(X: np.ndarray, machine: Any) -> Quality:
    """Eigenvalues, and how far from each other some samples are in the new coordinates."""
    Z = machine.transform(X[:N_NEW])
    return {
        "first eigenvalue": float(machine.eigenvalues_[0]),
        "last eigenvalue": float(machine.eigenvalues_[-1]),
        "sum of coordinates": float(np.abs(Z).sum()),
    }


TASKS = [
    Task(
        name="kernel-pca-5000",
        title=f"KernelPCA fit, n = 5000, RBF, {N_COMPONENTS} components (theirs: arpack)",
        group="Spectral",
        setup=samples,
        contenders={
            "mercer": with_mercer,
            "scikit-learn": with_sklearn,
            "scikit-learn, dense": with_all_eigenvectors,
        },
        quality=quality,
        tolerance={
            "first eigenvalue": ("relative", 1e-8),
            "last eigenvalue": ("relative", 1e-8),
            "sum of coordinates": ("relative", 1e-6),
        },
    )
]
