r"""
Soft margins of two kinds
=========================

A hard margin bends to every outlier. A soft margin lets samples lie inside the margin band, or on the wrong side of it,
at a price. With the L1 norm of the errors the price :math:`C \sum_i \xi_i` bounds the multipliers,
:math:`\alpha_i \leq C` ([1]_, eq. 1.17); with the L2 norm the price :math:`C \sum_i \xi_i^2` adds a constant
:math:`\lambda = 1 / 2C` to the diagonal of the kernel matrix (eq. 1.18). How soft should a margin be? As in figure 1.5
of [1]_ we look at the test error on the radar returns from the ionosphere, with the Gaussian kernel and
:math:`\sigma = 1.5`. How the data was split for that figure is not told; here the error is the mean over 20 random
splits into 250 training and 101 test samples.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

from mercer import SVC
from mercer.datasets import load_ionosphere
from mercer.kernels import RBF

X, y = load_ionosphere(return_X_y=True)
kernel = RBF.from_sigma(1.5)
splits = list(StratifiedShuffleSplit(20, test_size=101, random_state=0).split(X, y))


def test_errors(**parameters):
    """The share of wrong test samples in each split."""
    machine = SVC(kernel=kernel, **parameters)
    return [1 - machine.fit(X[train], y[train]).score(X[test], y[test]) for train, test in splits]


hard = np.mean(test_errors(C=np.inf))
C = np.logspace(-1, 3, 13)
lambdas = np.logspace(-3, 1, 13)
soft = [
    ("L1", "C", C, np.array([test_errors(loss="hinge", C=price) for price in C])),
    ("L2", "lambda", lambdas, np.array([test_errors(loss="squared_hinge", C=1 / (2 * lam)) for lam in lambdas])),
]

# %%
# Both have their best value, the star, well away from the hard margin, which is where each curve ends: at large C on
# the left, at small lambda on the right. The bands are the standard error of the mean.

print(f"hard margin: test error {hard:.1%}")
figure, axes = plt.subplots(ncols=2, figsize=(10, 4), sharey=True, layout="constrained")
for ax, (norm, name, values, errors) in zip(axes, soft, strict=True):
    mean, deviation = errors.mean(axis=1), errors.std(axis=1, ddof=1) / np.sqrt(errors.shape[1])
    best = mean.argmin()
    print(f"{norm} norm:     test error {mean[best]:.1%} at {name} = {values[best]:.2g}")
    ax.fill_between(values, 100 * (mean - deviation), 100 * (mean + deviation), alpha=0.2, linewidth=0)
    ax.plot(values, 100 * mean, marker="o", markersize=4)
    ax.plot(values[best], 100 * mean[best], marker="*", markersize=14, color="white", markeredgecolor="black")
    ax.axhline(100 * hard, color="black", linestyle="--", linewidth=1, label="hard margin")
    ax.set(xscale="log", xlabel=name, title=f"{norm} norm of the errors")
axes[0].set_ylabel("test error in %")
axes[0].legend()

plt.show()

# %%
# .. rubric:: References
#
# .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011.
