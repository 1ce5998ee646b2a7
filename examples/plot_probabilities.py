r"""
From margins to probabilities, and how far to rely on them
==========================================================

A support vector machine says on which side of its hyperplane a sample lies, and how far away. How probable is its class
then? Platt's sigmoid :math:`1 / (1 + e^{-(A f + B)})` is fitted to decision values ([1]_, section 2.1). Whose decision
values these are makes all the difference.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from mercer import SVC, Calibrated
from mercer.datasets import load_ionosphere, make_overlapping_classes
from mercer.kernels import RBF
from mercer.plots import ReliabilityDisplay, SigmoidDisplay

# %%
# The sigmoid of the training samples
# -----------------------------------
#
# Figure 2.1 of [1]_ shows the training samples of a machine with a hard margin, and the sigmoid that fits them. None of
# them is within the margin band, :math:`|f| < 1`, so that the curve is a step: the machine is sure of everything. On
# the right the same machine, with the sigmoid that fits decision values of samples which were held out, and test
# samples. Many of them are within the band, and the curve is as steep as it should be. Grey: shares of the class among
# neighbours, with 95 % intervals.

X, y = load_ionosphere(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
hard = SVC(RBF.from_sigma(1.5), C=np.inf)
flattered = Calibrated(hard, cv="in-sample", targets="plain").fit(X, y)
honest = Calibrated(hard).fit(X, y)

figure, axes = plt.subplots(ncols=2, figsize=(10, 4), sharex=True, sharey=True, layout="constrained")
SigmoidDisplay.from_estimator(flattered, X, y, n_groups=0, ax=axes[0])
display = SigmoidDisplay.from_estimator(honest, X_test, y_test, n_groups=8, ax=axes[1])
axes[0].set_title("training samples, and a sigmoid that fits them")
axes[1].set_title("test samples, and a sigmoid for held-out ones")
inside = np.abs(display.decision) < 1
print(f"{inside.mean():.0%} of the test samples are within the margin band, and none of the training samples")
plt.show()

# %%
# What comes true
# ---------------
#
# Two overlapping classes in the plane, 300 samples to learn from and 5000 to look at. Where the machine gives a
# probability of 80 %, it should be right in 80 % of the cases. The machine is one that follows every sample, so that
# the sigmoid of its training samples is steep. Below each curve, how many samples a point stands for: with that sigmoid
# most are at the ends, and what it says will never happen comes true in one case out of five. The other sigmoid is less
# sure, and right to be.

X, y = make_overlapping_classes(5300, random_state=0)
machine = SVC(RBF(gamma=8.0), C=1000.0)
figure, axes = plt.subplots(ncols=2, figsize=(10, 4.8), layout="constrained")
for ax, (title, cv) in zip(axes, {"in sample": "in-sample", "held out, five folds": 5}.items(), strict=True):
    calibrated = Calibrated(machine, cv=cv).fit(X[:300], y[:300])
    display = ReliabilityDisplay.from_estimator(calibrated, X[300:], y[300:], ax=ax)
    ax.set_title(title)
    print(f"{title}: calibration error {display.error:.3f}")
plt.show()

# %%
# .. rubric:: References
#
# .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011.
