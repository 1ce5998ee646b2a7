r"""
What errors cost: loss functions
================================

Most machines here minimise the same thing, a loss on the samples plus the squared norm of the function; what differs is
the loss. This page draws figures 7.5 and 7.6 of [2]_, 1.10 of [3]_ and 2.4 of [1]_ from the losses of
``mercer.regularized``, and then looks at what each of them does to a machine.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.plots import DecisionDisplay
from mercer.regularized import (
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    RegularizedClassifier,
    RegularizedRegressor,
    Squared,
)

# %%
# Losses of classification
# ------------------------
#
# All are functions of :math:`z = y f(x)`, which is positive where the sign is right. What one would like to count are
# mistakes, the black step, which no one can minimise. The hinge loss :math:`\max(0, 1 - z)` is above the step and
# convex (figure 1.10 of [3]_), and it is zero beyond :math:`z = 1`: that is where sparsity comes from. The logistic
# loss, divided by ln 2 to pass through the same point, is much like it, and never quite zero. The squared loss punishes
# what is too right as well (figure 7.5 of [2]_).

z = np.linspace(-2.0, 2.5, 500)
one = np.ones_like(z)
curves = {
    "hinge": Hinge().value(z, one),
    "squared hinge": Hinge(power=2.0).value(z, one),
    "logistic / ln 2": Logistic().value(z, one) / np.log(2.0),
    "squared": Squared().value(z, one),
}
at_zero = {name: float(curve[np.argmin(np.abs(z))]) for name, curve in curves.items()}
print("at z = 0:", ", ".join(f"{name} {value:.2f}" for name, value in at_zero.items()))

figure, ax = plt.subplots(figsize=(6.6, 4), layout="constrained")
ax.step([-2, 0, 2.5], [1, 1, 0], color="black", label="mistakes")
for name, curve in curves.items():
    ax.plot(z, curve, "--" if name == "squared" else "-", label=name, linewidth=2)
ax.set(xlabel="$z = y f(x)$", ylabel="loss", ylim=(-0.1, 4.5), xlim=(-2, 2.5))
ax.legend()
plt.show()

# %%
# What they do
# ------------
#
# Two classes on the left and on the right, and a group of the second class far away on its right side. The hinge loss
# does not see what is far on the right side, nor does the logistic loss, nearly. The squared loss wants :math:`f = 1`
# there too, and turns the line for it, so that it makes mistakes among those near by.

rng = np.random.default_rng(0)
y = np.repeat([-1, 1, 1], [30, 30, 12])
X = rng.normal(size=(72, 2)) * 0.5 + np.repeat([[-0.9, 0.0], [0.9, 0.0], [4.5, -4.5]], [30, 30, 12], axis=0)

figure, axes = plt.subplots(ncols=3, figsize=(12, 3.8), sharex=True, sharey=True, layout="constrained")
for ax, (name, loss) in zip(
    axes, {"hinge": Hinge(), "logistic": Logistic(), "squared": Squared()}.items(), strict=True
):
    machine = RegularizedClassifier("linear", loss=loss, C=1.0).fit(X, y)
    wrong = np.sum(machine.predict(X) != y)
    print(f"{name:10} mistakes: {wrong}, {len(machine.support_)} of {len(y)} samples have a coefficient")
    across, up = np.meshgrid(np.linspace(-2.5, 6, 100), np.linspace(-6, 2, 100))
    decision = machine.decision_function(np.column_stack([across.ravel(), up.ravel()])).reshape(across.shape)
    DecisionDisplay(across, up, decision, X=X, y=y, support=[], band=None, classes=machine.classes_).plot(ax)
    ax.set(title=f"{name}, mistakes: {wrong}", xticks=[], yticks=[])
plt.show()

# %%
# Losses of regression
# --------------------
#
# Functions of the residual. Errors up to :math:`\epsilon` are free, and beyond they cost in proportion, or by their
# square (figures 7.6 of [2]_ and 2.4 of [1]_). The squared loss of least squares is free of nothing; Huber's is
# squared for small errors and linear for large ones.
#
# On the right, lines through points of which three have gone astray. The losses that grow in proportion are moved less
# than the squares, for which one error of ten is as bad as a hundred errors of one. A tube that is wider than the noise
# leaves only those astray to be heard.

residual = np.linspace(-3.0, 3.0, 601)
zero = np.zeros_like(residual)
losses = {
    r"linear, $\epsilon$ = 1": EpsilonInsensitive(epsilon=1.0),
    r"quadratic, $\epsilon$ = 1": EpsilonInsensitive(epsilon=1.0, power=2.0),
    "squared": Squared(),
    "Huber": Huber(),
}
figure, axes = plt.subplots(ncols=2, figsize=(12, 3.8), layout="constrained")
for name, loss in losses.items():
    axes[0].plot(residual, loss.value(residual, zero), label=name, linewidth=2)
axes[0].set(xlabel="y - f(x)", ylabel="loss", ylim=(-0.1, 4.5), xlim=(-3, 3))
axes[0].legend()

x = np.linspace(0.0, 10.0, 30)
t = 0.5 * x + 1.0 + 0.3 * rng.normal(size=30)
t[[24, 26, 28]] -= 7.0
axes[1].scatter(x, t, s=20, color="black", zorder=3)
axes[1].plot(x, 0.5 * x + 1.0, color="0.6", linestyle="--", label="the truth")
for name, loss in losses.items():
    line = RegularizedRegressor("linear", loss=loss, C=10.0).fit(x[:, np.newaxis], t)
    found = line.predict(x[:, np.newaxis])
    print(f"{name:24} slope {(found[-1] - found[0]) / 10:.3f}, the truth is 0.500")
    axes[1].plot(x, found, linewidth=2)
axes[1].set(xlabel="x", ylabel="y")
axes[1].legend()
plt.show()

# %%
# .. rubric:: References
#
# .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011.
# .. [2] C. M. Bishop, Pattern Recognition and Machine Learning, 2006, chapter 7.
# .. [3] J.-P. Vert, K. Tsuda, B. Schölkopf, A primer on kernel methods, in Kernel Methods in Computational Biology,
#    2004.
