"""
Decision boundary, margin band and support vectors
==================================================

Two interleaved half-moons, and machines with a soft margin of increasing hardness. The solid line is the decision
boundary, the dashed lines are the edges of the margin band, and the support vectors have a black edge. The other
points could be removed without changing anything. Dotted lines are the slacks: they lead from samples that are not
beyond the edge of their class to the nearest point of it.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from mercer import SVC
from mercer.kernels import RBF
from mercer.plots import DecisionDisplay

X, y = make_moons(100, noise=0.2, random_state=0)

figure, axes = plt.subplots(ncols=3, figsize=(12, 4), sharex=True, sharey=True, layout="constrained")
for ax, C in zip(axes, [0.1, 1, 100], strict=True):
    machine = SVC(kernel=RBF(gamma=1.0), C=C).fit(X, y)
    display = DecisionDisplay.from_estimator(machine, X, y, slacks=True, ax=ax)
    ax.set_title(f"C = {C:g}: {len(machine.support_)} support vectors, margin {machine.margin_:.2f}")
    print(f"C = {C:g}: {(display.slack > 0).sum()} samples have a slack, {(display.slack > 1).sum()} are errors")

plt.show()
