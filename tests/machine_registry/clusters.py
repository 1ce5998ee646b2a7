"""Clusters."""

from mercer import cluster
from mercer.kernels import RBF

ROOMS = (cluster,)

MACHINES = {
    "KernelKMeans": lambda: cluster.KernelKMeans(n_clusters=3),
    "KernelKMeans landmarks": lambda: cluster.KernelKMeans(RBF(gamma=0.2), n_clusters=2, approximation=500),
    "KernelKMeans linear": lambda: cluster.KernelKMeans("linear", n_clusters=4, n_init=3),
    "KernelKMeans random": lambda: cluster.KernelKMeans(RBF(gamma=0.2), n_clusters=2, init="random", n_init=2),
    "SpectralClustering": lambda: cluster.SpectralClustering(n_clusters=3),
}

# Distances, and clusters.
NO_EXPANSION = (cluster.KernelKMeans, cluster.SpectralClustering)
