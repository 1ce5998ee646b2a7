"""Machines of eigenvectors, pairs of views and explicit features."""

from typing import Any

from mercer import decomposition
from mercer.decomposition import KernelCCA, KernelPCA, KernelPLS
from mercer.features import MercerMap, Nystroem, PolynomialSketch, RandomFourier, fourier, landmarks, sketches, spectral
from mercer.kernels import RBF, Linear, Matern, Polynomial

ROOMS = (decomposition, fourier, landmarks, sketches, spectral)

MACHINES = {
    "KernelCCA": lambda: KernelCCA(n_components=1),
    "KernelCCA smooth": lambda: KernelCCA(kernel_y="linear", n_components=1, alpha=5.0),
    "KernelPCA": lambda: KernelPCA(n_components=4),
    "KernelPCA all": lambda: KernelPCA(RBF(gamma=0.5), alpha=0.1),
    "KernelPCA landmarks": lambda: KernelPCA(RBF(gamma=0.5), n_components=4, approximation=500),
    "KernelPCA lanczos": lambda: KernelPCA(n_components=3, eigen_solver="lanczos"),
    "KernelPLS": lambda: KernelPLS(),
    "KernelPLS unscaled": lambda: KernelPLS(n_components=5, scale=False),
    "MercerMap": lambda: MercerMap(n_components=5),
    "MercerMap lanczos": lambda: MercerMap(n_components=3, eigen_solver="lanczos"),
    "Nystroem": lambda: Nystroem(n_components=12),
    "Nystroem greedy": lambda: Nystroem(n_components=12, pivots="greedy"),
    "Nystroem greedy tolerance": lambda: Nystroem(n_components=60, pivots="greedy", tolerance=0.2),
    "Nystroem kmeans": lambda: Nystroem(n_components=12, pivots="kmeans"),
    "Nystroem leverage": lambda: Nystroem(n_components=12, pivots="leverage"),
    "Nystroem leverage ridge": lambda: Nystroem(n_components=12, pivots="leverage", ridge=0.5),
    "Nystroem uniform": lambda: Nystroem(n_components=12, pivots="uniform"),
    "PolynomialSketch": lambda: PolynomialSketch(n_components=20),
    "PolynomialSketch product": lambda: PolynomialSketch(2 * Polynomial(2, 0.3, 1.0) * Linear(), n_components=21),
    "RandomFourier": lambda: RandomFourier(n_components=20),
    "RandomFourier orthogonal": lambda: RandomFourier(n_components=20, frequencies="orthogonal"),
    "RandomFourier quasi-random": lambda: RandomFourier(Matern(), 21, frequencies="quasi-random"),
    "RandomFourier rough": lambda: RandomFourier(2 * Matern(nu=0.7), n_components=20),
}
ORDERED = (Nystroem,)
ON_VECTORS = (PolynomialSketch, RandomFourier)
NO_EXPANSION = (PolynomialSketch, RandomFourier)
CENTRES = ("Nystroem kmeans",)
KERNELS = {PolynomialSketch: lambda: Polynomial(degree=2, gamma=0.3, coef0=1.0)}


def FAILURES(machine: Any) -> dict[str, str]:
    """Weights are chances, and in other samples other landmarks are drawn; tests of their own hold them to chances."""
    if not isinstance(machine, Nystroem):
        return {}
    reason = "Landmarks are drawn, and of equal samples the first is taken: another order gives other ones."
    check = "check_sample_weight_equivalence_on_{}_data"
    return dict.fromkeys((check.format("dense"), check.format("sparse")), reason)
