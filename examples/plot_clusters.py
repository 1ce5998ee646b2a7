"""
Clusters: about a mean, or from neighbour to neighbour
======================================================

Three ways to find two groups, from left to right: k-means in the plane, k-means in the feature space of a Gaussian
kernel, and a cut through the graph of its similarities. Colours of the background are the clusters of new samples.

A mean in the plane is of no use for a ring. In feature space what lies inside it is a compact cluster, and all that is
far away is the other one. Half-moons are not compact in any sense; what makes them clusters is that neighbours are
alike, and that is what the cut sees.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from mercer import KernelKMeans, SpectralClustering
from mercer.kernels import RBF

shapes = [make_circles(200, factor=0.3, noise=0.05, random_state=0), make_moons(200, noise=0.05, random_state=0)]
machines = {
    "k-means": KernelKMeans("linear", n_clusters=2),
    "k-means, feature space": KernelKMeans(RBF(gamma=2.0), n_clusters=2),
    "spectral": SpectralClustering(RBF(gamma=20.0), n_clusters=2),
}

TWO = ListedColormap(["C0", "C1"])
figure, axes = plt.subplots(2, 3, figsize=(12, 7), layout="constrained")
for row, (X, y) in zip(axes, shapes, strict=True):
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    across, up = np.meshgrid(*(np.linspace(a, b, 120) for a, b in zip(low, high, strict=True)))
    points = np.column_stack([across.ravel(), up.ravel()])
    for ax, (name, machine) in zip(row, machines.items(), strict=True):
        labels = machine.fit(X).labels_
        ax.contourf(across, up, machine.predict(points).reshape(across.shape), levels=1, cmap=TWO, alpha=0.25)
        ax.scatter(*X.T, c=labels, cmap=TWO, s=14, edgecolors="white", linewidths=0.3)
        agreement = round(adjusted_rand_score(y, labels), 2) + 0.0  # zero without a sign
        ax.set(title=f"{name}: agreement {agreement:.2f}", xticks=[], yticks=[])

plt.show()
