r"""
What a kernel matrix shows
==========================

All that a kernel machine knows of its samples is the matrix of kernel values. With the samples of a class one after the
other, one sees at a glance whether a kernel is too narrow, too wide or about right: before any machine is trained, and
without choosing anything by hand. The samples are 214 pieces of glass of six kinds, described by nine numbers.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score

from mercer import SVC
from mercer.datasets import load_glass
from mercer.gram import center, centered_alignment
from mercer.kernels import RBF
from mercer.plots import GramDisplay

glass = load_glass()
X = (glass.data - glass.data.mean(axis=0)) / glass.data.std(axis=0)
y = glass.target

# %%
# Too narrow, right, too wide
# ---------------------------
#
# A narrow kernel finds every sample similar to itself and next to nothing else, a wide one finds all alike. In between
# there are blocks: the first two kinds, window glass of two makes, are near to each other, the last ones stand apart.
# The alignment says in one number how much the matrix is like that of the classes, and an accuracy in cross-validation
# what comes of it. Colours use the range of the values off the diagonal, but for one percent to either side.

figure, axes = plt.subplots(ncols=3, figsize=(12.5, 3.6), layout="constrained")
for ax, gamma in zip(axes, (10.0, 0.3, 0.003), strict=True):
    kernel = RBF(gamma=gamma)
    display = GramDisplay.from_kernel(kernel, X, y, ax=ax)
    alignment = centered_alignment(kernel(X), y)
    accuracy = cross_val_score(SVC(kernel, C=10.0), X, y, cv=5).mean()
    ax.set_title(f"gamma = {gamma:g}: alignment {alignment:.2f}")
    low, high = display.limits
    print(f"gamma {gamma:5g}: colours from {low:.2g} to {high:.2g}, alignment {alignment:.2f}, accuracy {accuracy:.2f}")
plt.show()

# %%
# Centred
# -------
#
# Moving the origin of feature space to the mean of the samples takes away what all have in common. Values are then of
# either sign, and so are the colours: orange for pairs that are more similar than the mean, violet for those that are
# less. The wide kernel, which seemed to say nothing, has blocks as well; they are small differences of large numbers.

figure, axes = plt.subplots(ncols=2, figsize=(9, 3.8), layout="constrained")
for ax, gamma in zip(axes, (0.3, 0.003), strict=True):
    K = center(RBF(gamma=gamma)(X))
    GramDisplay.from_matrix(K, y, ax=ax)
    same = (y[:, None] == y) & ~np.eye(len(y), dtype=bool)
    ax.set_title(f"gamma = {gamma:g}, centred")
    print(f"gamma {gamma:5g}: mean {K[same].mean():.2g} within classes, {K[y[:, None] != y].mean():.2g} between them")
plt.show()
