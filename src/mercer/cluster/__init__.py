"""Clusters: groups of samples that are similar to each other, found without labels."""

from mercer.cluster.kernel_kmeans import ClusteringResult, KernelKMeans
from mercer.cluster.spectral import SpectralClustering

__all__ = ["ClusteringResult", "KernelKMeans", "SpectralClustering"]
