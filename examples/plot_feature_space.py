r"""
Distances in a space that nobody sees
=====================================

A kernel is an inner product, and inner products tell lengths, angles and distances: of samples, of their means, along
directions. None of it needs the map to feature space. This page draws figures 1.3, 1.4 and 1.5 of [1]_; figure 1.6,
strings in the plane of two principal components, is in :ref:`sphx_glr_gallery_plot_kernel_pca.py`.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelPCA
from mercer.gram import distances, distances_to_mean
from mercer.kernels import RBF, Linear, Spectrum

across, up = np.meshgrid(np.linspace(-3, 3, 200), np.linspace(-3, 3, 200))
plane = np.column_stack([across.ravel(), up.ravel()])
kernels = {"linear kernel": Linear(), "Gaussian kernel": RBF(gamma=0.5)}

# %%
# Two samples
# -----------
#
# :math:`\|\phi(x) - \phi(x')\|^2 = k(x, x) + k(x', x') - 2 k(x, x')` ([1]_, eq. 1.16 and figure 1.3). Colours are the
# distance to the cross. For the linear kernel it is that of the plane. For the Gaussian kernel all samples lie on a
# sphere, and the distance cannot be larger than :math:`\sqrt 2`: what is far away is equally far. For strings the
# formula is the same.

cross = np.array([[0.8, -0.5]])
figure, axes = plt.subplots(ncols=2, figsize=(10, 4.2), sharey=True, layout="constrained")
for ax, (name, kernel) in zip(axes, kernels.items(), strict=True):
    far = distances(kernel, plane, cross).reshape(across.shape)
    drawn = ax.contourf(across, up, far, levels=15, cmap="viridis_r")
    figure.colorbar(drawn, ax=ax, label="distance to the cross")
    ax.plot(*cross[0], "wx", markersize=10, markeredgewidth=3)
    ax.set(title=f"{name}: up to {far.max():.2f}", xlabel="$x_1$", aspect="equal")
axes[0].set_ylabel("$x_2$")

words = ["kernel", "kernels", "colonel", "machine"]
print("distances of strings, by pieces of two letters")
for word, row in zip(words, distances(Spectrum(2).normalized(), words), strict=True):
    print(f"{word:9}", *(f"{value:5.2f}" for value in row))
plt.show()

# %%
# A sample and a set
# ------------------
#
# The mean of three samples in feature space need not be the image of any sample, and still a sample has a distance
# from it ([1]_, eqs. 1.17 and 1.18, figure 1.4). With the linear kernel it is the distance to the mean of the three
# black points, the star. With the Gaussian kernel no point of the plane is at the mean: the least distance there is, at
# the star, is well above zero, and around the points there are as many valleys as there are groups.

three = np.array([[-1.5, -1.2], [1.6, -1.0], [1.3, -0.2]])
white = np.array([[0.2, 1.4]])
figure, axes = plt.subplots(ncols=2, figsize=(10, 4.2), sharey=True, layout="constrained")
for ax, (name, kernel) in zip(axes, kernels.items(), strict=True):
    far = distances_to_mean(kernel, plane, three)
    least = plane[far.argmin()]
    print(f"{name}: white point {distances_to_mean(kernel, white, three)[0]:.2f}, nearest point {far.min():.2f}")
    drawn = ax.contourf(across, up, far.reshape(across.shape), levels=15, cmap="viridis_r")
    figure.colorbar(drawn, ax=ax, label="distance to the mean")
    ax.plot(*three.T, "ko", markersize=8)
    ax.plot(*white[0], "wo", markersize=8, markeredgecolor="black")
    ax.plot(*least, "w*", markersize=14, markeredgecolor="black")
    ax.set(title=f"{name}: at least {far.min():.2f}", xlabel="$x_1$", aspect="equal")
axes[0].set_ylabel("$x_2$")
plt.show()

# %%
# Directions
# ----------
#
# Principal components are the orthogonal directions along which the samples vary most ([1]_, figure 1.5). With the
# linear kernel they are arrows in the plane, as long here as the deviation along them, and the values are those that
# the covariance matrix has, too. With a Gaussian kernel they are curved: lines are where the first component has the
# same value.

rng = np.random.default_rng(1)
angle = np.deg2rad(35)
turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
straight = (rng.normal(size=(120, 2)) * [1.3, 0.35]) @ turn
along = rng.uniform(-1.4, 1.4, 120)
bent = np.column_stack([1.7 * along, along**2 - 1.2]) + 0.2 * rng.normal(size=(120, 2))
variances = np.linalg.eigvalsh(np.cov(straight.T, bias=True))[::-1]

figure, axes = plt.subplots(ncols=3, figsize=(13, 4.2), sharey=True, layout="constrained")
linear = KernelPCA(Linear(), n_components=2).fit(straight)
# A direction is a linear function of the plane: its values at the unit vectors, less that at the origin.
directions = linear.transform(np.eye(2)) - linear.transform(np.zeros((1, 2)))
deviations = linear.transform(straight).std(axis=0)
for direction, deviation, variance in zip(directions.T, deviations, variances, strict=True):
    print(f"variance {deviation**2:.4f}, eigenvalue of the covariance matrix {variance:.4f}")
    axes[0].annotate("", 2 * deviation * direction, (0, 0), arrowprops={"arrowstyle": "->", "color": "C3", "lw": 2})
axes[0].scatter(*straight.T, s=14, color="C0")
axes[0].set(title="two directions of straight data", xlim=(-3, 3), ylim=(-3, 3), aspect="equal")
for ax, (name, kernel) in zip(axes[1:], kernels.items(), strict=True):
    component = KernelPCA(kernel, n_components=1).fit(bent).transform(plane).reshape(across.shape)
    ax.contour(across, up, component, levels=12, cmap="coolwarm")
    ax.scatter(*bent.T, s=14, color="C0")
    ax.set(title=f"first component, {name}", xlim=(-3, 3), ylim=(-3, 3), aspect="equal")
for ax in axes:
    ax.set_xlabel("$x_1$")
axes[0].set_ylabel("$x_2$")
plt.show()

# %%
# .. rubric:: References
#
# .. [1] J.-P. Vert, K. Tsuda, B. Schölkopf, A primer on kernel methods, in Kernel Methods in Computational Biology,
#    2004.
