"""Machines of eigenvectors, pairs of views and explicit features."""

from mercer import decomposition
from mercer.decomposition import KernelCCA, KernelPCA, KernelPLS
from mercer.features import MercerMap, Nystroem, RandomFourier, fourier, landmarks, spectral
from mercer.kernels import RBF, Matern

ROOMS = (decomposition, fourier, landmarks, spectral)

MACHINES = {
    "KernelCCA": lambda: KernelCCA(n_components=1),
    "KernelCCA smooth": lambda: KernelCCA(kernel_y="linear", n_components=1, alpha=5.0),
    "KernelPCA": lambda: KernelPCA(n_components=4),
    "KernelPCA all": lambda: KernelPCA(RBF(gamma=0.5), alpha=0.1),
    "KernelPCA lanczos": lambda: KernelPCA(n_components=3, eigen_solver="lanczos"),
    "KernelPLS": lambda: KernelPLS(),
    "KernelPLS unscaled": lambda: KernelPLS(n_components=5, scale=False),
    "MercerMap": lambda: MercerMap(n_components=5),
    "MercerMap lanczos": lambda: MercerMap(n_components=3, eigen_solver="lanczos"),
    "Nystroem": lambda: Nystroem(n_components=12),
    "Nystroem greedy": lambda: Nystroem(n_components=12, pivots="greedy"),
    "Nystroem uniform": lambda: Nystroem(n_components=12, pivots="uniform"),
    "RandomFourier": lambda: RandomFourier(n_components=20),
    "RandomFourier rough": lambda: RandomFourier(2 * Matern(nu=0.7), n_components=20),
}
ORDERED = (Nystroem,)
ON_VECTORS = (RandomFourier,)
NO_EXPANSION = (RandomFourier,)
