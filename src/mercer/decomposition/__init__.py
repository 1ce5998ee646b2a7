"""Directions in feature space: of the largest variance, of the largest correlation, of the best prediction."""

from mercer.decomposition.canonical import KernelCCA
from mercer.decomposition.least_squares import KernelPLS
from mercer.decomposition.principal import KernelPCA

__all__ = ["KernelCCA", "KernelPCA", "KernelPLS"]
