r"""
A boundary around two clusters
==============================

What is normal, and what is new? A linear programme pulls a surface onto the samples, so that all are inside and as
close to it as can be ([1]_, eqs. 2.17 to 2.19). This page remakes figure 2.2 of [1]_: two clusters, on the left with a
Gaussian kernel, on the right with its square taken out, :math:`e^{-\|x - x'\| / 2 \sigma^2}`.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import LPNoveltyDetector
from mercer.datasets import make_two_clusters
from mercer.kernels import RBF, Exponential

X, _ = make_two_clusters(60, random_state=0)
gamma = 1 / (2 * 0.4**2)
across, up = np.meshgrid(np.linspace(-2.8, 2.8, 250), np.linspace(-3.0, 2.2, 250))
plane = np.column_stack([across.ravel(), up.ravel()])
new, _ = make_two_clusters(5000, random_state=1)
box = np.prod(np.ptp(plane, axis=0))


def draw(ax, detector, title):
    """The boundary, its support objects with a ring, and how much of the plane is inside."""
    decision = detector.fit(X).decision_function(plane).reshape(across.shape)
    on_it = np.abs(detector.decision_function(X)) < 1e-7
    outside = np.mean(detector.predict(new) == -1)
    area = np.mean(decision >= 0) * box
    print(f"{title:44} on the boundary {on_it.sum():2}, area {area:4.1f}, {outside:5.1%} of new samples called novel")
    ax.contourf(across, up, decision, levels=[0, np.inf], colors=["C0"], alpha=0.2)
    ax.contour(across, up, decision, levels=[0], colors="black", linewidths=1.2)
    ax.scatter(*X.T, s=18, color="C1", zorder=3)
    ax.scatter(*X[on_it].T, s=80, facecolors="none", edgecolors="black", zorder=3)
    ax.set(title=title, xticks=[], yticks=[])


# %%
# Two kernels
# -----------
#
# The margin is hard (``nu=0``): every sample is inside, and the boundary passes through some of them, the *support
# objects*, with a ring. The Gaussian kernel draws a smooth line around each cluster. The other kernel has a tip at
# every sample that has a coefficient, and its boundary is pulled towards these. The widths are :math:`\sigma = 0.4` and
# 0.8.

figure, axes = plt.subplots(ncols=2, figsize=(11, 4.8), sharey=True, layout="constrained")
draw(axes[0], LPNoveltyDetector(RBF(gamma=gamma), nu=0.0), "Gaussian kernel")
draw(axes[1], LPNoveltyDetector(Exponential(gamma=1 / (2 * 0.8**2)), nu=0.0), r"$e^{-\|x - x'\| / 2 \sigma^2}$")
plt.show()

# %%
# Virtual samples
# ---------------
#
# A sample next to a support object, just outside, would be called novel. The cure of [1]_ is to put *virtual* points
# around every sample, drawn from a Gaussian, which have to be inside too: the boundary keeps its shape and moves out.
# By how much is a choice between false alarms, new samples of the clusters that are called novel, and the area in
# which nothing would be noticed.

figure, axes = plt.subplots(ncols=3, figsize=(13, 4.2), sharey=True, layout="constrained")
for ax, spread in zip(axes, (0.05, 0.1, 0.2), strict=True):
    detector = LPNoveltyDetector(RBF(gamma=gamma), nu=0.0, n_virtual=10, spread=spread, random_state=0)
    draw(ax, detector, f"ten virtual points each, spread {spread:g}")
plt.show()

# %%
# A few outside
# -------------
#
# With noise in the samples themselves one would rather leave some out. ``nu`` bounds their share: the soft margin of
# eq. 2.20, with :math:`\lambda = 1 / \nu`.

figure, axes = plt.subplots(ncols=3, figsize=(13, 4.2), sharey=True, layout="constrained")
for ax, nu in zip(axes, (0.1, 0.3, 0.6), strict=True):
    draw(ax, LPNoveltyDetector(RBF(gamma=gamma), nu=nu), rf"$\nu$ = {nu:g}")
plt.show()

# %%
# .. rubric:: References
#
# .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 2.4.
