r"""
When would you have stopped asking?
===================================

A machine is to tell even digits from odd ones, and labels cost money. A learner that asks for the sample closest to its
hyperplane has its own signs of when to stop: no unlabelled sample is left within the margin band, the dual objective is
level, or its predictions of what it asked for were right all along. Which of them speaks first, and what would have
been lost?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from mercer import SVC
from mercer.active import ActiveLearner
from mercer.kernels import RBF
from mercer.plots import ActiveLearningDisplay

images, digit = load_digits(return_X_y=True)
X, y = images / 16, digit % 2
order = np.random.default_rng(0).permutation(len(y))
pool, test = order[:500], order[500:]
print(f"{len(pool)} digits to ask for, {len(test)} for testing")

# %%
# The curves
# ----------
#
# The solid line is the test error, the dashed one the number of unlabelled samples within the margin band, and dotted
# lines are where the stopping rules speak first. Above a learner that asks, below one that takes samples by chance. Who
# asks empties the band on purpose, and all three rules speak when the error is as low as it gets. Who takes samples by
# chance meets easy ones, most of the time: mistakes are few and the objective level long before there is nothing more
# to learn, and the band is far from empty at the end. The rules are for those who ask.

figure, axes = plt.subplots(nrows=2, figsize=(7, 6.4), sharex=True, layout="constrained")
for ax, rule in zip(axes, ("closest", "random"), strict=True):
    machine = SVC(RBF(gamma=0.05), C=10.0)
    learner = ActiveLearner(machine, X[pool], oracle=y[pool], rule=rule, stop=None, random_state=1)
    learner.learn(220)
    display = ActiveLearningDisplay.from_learner(
        learner, X[test], y[test], n_points=30, stop=("band", "objective", "mistakes"), ax=ax
    )
    ax.set_title({"closest": "asks for the closest", "random": "takes them by chance"}[rule])
    print(f"\n{rule}: error {display.error[-1]:.1%} after {display.n_labels[-1]} labels")
    for name, n in display.stops.items():
        error = np.interp(n, display.n_labels, display.error)
        print(f"  {name:9} after {n:3d} labels, error {error:.1%}")
axes[0].set_xlabel("")
plt.show()
