r"""
Which samples hold a machine in place
=====================================

Leave a sample out, and train again: what does the machine say of it now? A sample without a multiplier changes nothing.
A support vector may change much, and if it then lies on the wrong side, it is a leave-one-out error. This page asks
which samples of the radar returns from the ionosphere a machine hangs on, and what these have in common.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC, KernelRidge
from mercer.datasets import load_concrete, load_ionosphere
from mercer.kernels import RBF
from mercer.plots import InfluenceDisplay

# %%
# Three prices of errors
# ----------------------
#
# Across, the margin :math:`y f(x)` of every sample; upwards, its margin for a machine that has not seen it. Samples on
# the diagonal have no influence. With a low price nearly all multipliers are at their bound and each of them moves the
# machine a little. With a high price, few samples carry the margin: without them, they are far away, and many on
# the wrong side. Numbers are those of the samples that fall furthest.

X, y = load_ionosphere(return_X_y=True)
figure, axes = plt.subplots(ncols=3, figsize=(12, 4.4), layout="constrained")
displays = {}
for ax, C in zip(axes, (0.1, 1.0, 100.0), strict=True):
    machine = SVC(RBF(gamma=0.3), C=C).fit(X, y)
    displays[C] = display = InfluenceDisplay.from_estimator(machine, X, y, ax=ax)
    ax.set_title(f"C = {C:g}")
    wrong = np.mean(display.without_sample <= 0)
    print(f"C = {C:5g}: {len(machine.support_):3d} support vectors, {wrong:.1%} leave-one-out errors")
plt.show()

# %%
# What they have in common
# ------------------------
#
# Distances in feature space to the nearest sample of the own class and of the other one, with the highest price. Below
# the line are samples that lie among those of the other class: few of all, most of the large points, whose margin falls
# by more than one. Far on the right are samples that are like no other. They are support vectors, but nobody else lies
# where they are: without them not much happens.

K = RBF(gamma=0.3)(X)
own = (y[:, None] == y) & ~np.eye(len(y), dtype=bool)
distances = [np.sqrt(2 - 2 * np.where(some, K, -np.inf).max(axis=1)) for some in (own, y[:, None] != y)]
influence = displays[100.0].influence
figure, ax = plt.subplots(figsize=(6, 4.6), layout="constrained")
order = np.argsort(influence)
points = ax.scatter(*np.array(distances)[:, order], c=influence[order], s=12 + 40 * influence[order], cmap="viridis_r")
ax.plot([0, np.sqrt(2)], [0, np.sqrt(2)], color="C7", linestyle="--", linewidth=1)
ax.set(xlabel="distance to the nearest of the own class", ylabel="distance to the nearest of the other class")
figure.colorbar(points, label="fall of the margin if left out")
among = distances[1] < distances[0]
moved = influence > 1
print(f"nearer to the other class: {among.mean():.0%} of all samples, and")
print(f"{among[moved].mean():.0%} of the {moved.sum()} whose margin falls by more than one")
plt.show()

# %%
# Least squares
# -------------
#
# For least squares the numbers cost nothing: a residual r becomes :math:`r / (1 - h)` if the sample is left out, with
# the leverage h. The strength of concrete, by ridge regression: samples above the diagonal on the right, or below it on
# the left, pull the function to themselves.

concrete = load_concrete()
Z = (concrete.data - concrete.data.mean(axis=0)) / concrete.data.std(axis=0)
ridge = KernelRidge(RBF(gamma=0.2), alpha=0.05, leave_one_out=True).fit(Z, concrete.target)
figure, ax = plt.subplots(figsize=(5.4, 4.6), layout="constrained")
display = InfluenceDisplay.from_estimator(ridge, Z, concrete.target, ax=ax)
ax.set_title("strength of concrete, MPa")
errors = {"learnt": display.with_sample, "left out": display.without_sample}
for name, residuals in errors.items():
    print(f"root mean squared error {name}: {np.sqrt(np.mean(residuals**2)):.1f} MPa")
plt.show()
