r"""
Slacks, multipliers and the price of errors
===========================================

Where no line separates the classes, samples may lie within the band, or beyond it, at a price:

.. math:: \min_{w, b, \xi} \tfrac12 \|w\|^2 + C \sum_i \xi_i
   \quad\text{s.t.}\quad y_i (w \cdot x_i + b) \ge 1 - \xi_i, \quad \xi_i \ge 0.

What do the slacks :math:`\xi_i` and the multipliers :math:`\alpha_i` say about a sample, and what does C do? This page
draws figure 7.3 of [1]_, 10.7 (b) of [4]_, 1.11 of [2]_ and 7.4 of [1]_, and the slide *Effect of C* of [3]_.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patheffects import withStroke

from mercer import SVC, NuSVC
from mercer.datasets import make_overlapping_classes
from mercer.kernels import RBF
from mercer.plots import DecisionDisplay

rng = np.random.default_rng(11)
y = np.repeat([-1, 1], 12)
X = rng.normal(size=(24, 2)) * [1.0, 0.8] + np.outer(y, [1.3, 0.5])

# %%
# Slacks
# ------
#
# A slack is measured from the edge of the band on the own side, in units of the margin: 0 on it and beyond, 1 on the
# line, more than 1 on the wrong side (figures 7.3 of [1]_ and 10.7 (b) of [4]_). The sum of the slacks bounds the
# number of mistakes.

machine = SVC(kernel="linear", C=1.0).fit(X, y)
slack = np.maximum(0, 1 - y * machine.decision_function(X))
print(f"sum of the slacks {slack.sum():.2f}, mistakes {np.sum(slack > 1)}, within the band {np.sum(slack > 1e-6)}")

word = {"textcoords": "offset points", "fontsize": 9, "path_effects": [withStroke(linewidth=2.5, foreground="white")]}
figure, ax = plt.subplots(figsize=(7.4, 4.6), layout="constrained")
DecisionDisplay.from_estimator(machine, X, y, slacks=True, ax=ax)
for point, xi in zip(X, slack, strict=True):
    if xi > 1e-6:
        ax.annotate(f"{xi:.2f}", point, (6, 5), **word)
ax.set(title=r"slacks $\xi_i$, in units of the margin", aspect="equal", xticks=[], yticks=[])
plt.show()

# %%
# Multipliers
# -----------
#
# The multiplier of a sample, written beside it, says how hard it pulls at the line (figure 1.11 of [2]_). There are
# three kinds. Beyond the edge, :math:`y f(x) > 1`: the multiplier is 0, and the sample might as well be absent. Within
# the band or on the wrong side, :math:`\xi > 0`: it is C, and cannot be more. On the edge it is between the two, and
# these samples tell b. The forces are in balance, :math:`\sum_i y_i \alpha_i = 0`.

alpha = np.zeros(len(y))
alpha[machine.support_] = np.abs(machine.dual_coef_[0])
margin = y * machine.decision_function(X)
for name, chosen in (("beyond", margin > 1 + 1e-3), ("on", np.abs(margin - 1) <= 1e-3), ("inside", margin < 1 - 1e-3)):
    low, high = alpha[chosen].min(), alpha[chosen].max()
    print(f"{name:6} the edge: {chosen.sum():2} samples, multipliers {low:.2f} to {high:.2f}")
print(f"balance: {y @ alpha:.1e}")

figure, ax = plt.subplots(figsize=(7.4, 4.6), layout="constrained")
DecisionDisplay.from_estimator(machine, X, y, ax=ax)
for point, value in zip(X, alpha, strict=True):
    text = "0" if value == 0 else "C" if value > 1 - 1e-6 else f"{value:.2f}"
    weight = "normal" if value == 0 else "bold"
    ax.annotate(text, point, (6, 4), weight=weight, **word)
ax.set(title=r"multipliers $\alpha_i$, with C = 1", aspect="equal", xticks=[], yticks=[])
plt.show()

# %%
# The effect of C
# ---------------
#
# A small C makes errors cheap: the band is wide, many samples are inside, and each has a small say. A large C makes
# them dear: the band gets narrow, and the line turns to please the few samples that are in the way. Beyond some C
# nothing changes any more, as the best that can be done is done.

figure, axes = plt.subplots(ncols=4, figsize=(13, 2.7), sharex=True, sharey=True, layout="constrained")
for ax, C in zip(axes, [0.01, 0.1, 1, 100], strict=True):
    one = SVC(kernel="linear", C=C).fit(X, y)
    DecisionDisplay.from_estimator(one, X, y, ax=ax)
    errors = np.sum(one.predict(X) != y)
    print(f"C = {C:<5g} margin {one.margin_:.2f}, {len(one.support_):2} support vectors, mistakes: {errors}")
    ax.set(title=f"C = {C:g}: margin {one.margin_:.2f}", aspect="equal", xticks=[], yticks=[])
plt.show()

# %%
# A price by shares
# -----------------
#
# :math:`\nu` replaces C by something that can be read: it bounds the share of samples within the band or wrong from
# above, and the share of support vectors from below. Figure 7.4 of [1]_ has two classes that overlap, and the kernel
# :math:`e^{-\gamma \|x - x'\|^2}` with :math:`\gamma = 0.45`; here are data of our own, made in the same way.

X, labels = make_overlapping_classes(200, random_state=0)
figure, axes = plt.subplots(ncols=2, figsize=(11, 4.6), sharey=True, layout="constrained")
for ax, nu in zip(axes, [0.25, 0.6], strict=True):
    soft = NuSVC(RBF(gamma=0.45), nu=nu).fit(X, labels)
    edge = soft.margin_ * soft.norm_
    signed = np.where(labels == 1, 1, -1) * soft.decision_function(X)
    inside = np.mean(signed < edge * (1 - 1e-3))
    share = len(soft.support_) / len(X)
    print(f"margin errors {inside:.1%} <= nu = {nu:.0%} <= support vectors {share:.1%}")
    DecisionDisplay.from_estimator(soft, X, labels, ax=ax)
    ax.set(xticks=[], yticks=[], title=rf"$\nu$ = {nu:g}: {inside:.0%} in the band, {share:.0%} support vectors")
plt.show()

# %%
# .. rubric:: References
#
# .. [1] C. M. Bishop, Pattern Recognition and Machine Learning, 2006, chapter 7.
# .. [2] J.-P. Vert, K. Tsuda, B. Schölkopf, A primer on kernel methods, in Kernel Methods in Computational Biology,
#    2004.
# .. [3] L. Wehenkel, P. Geurts, Support vector machines and kernel-based methods, lecture, University of Liège, 2020.
# .. [4] C. C. Aggarwal, Data Mining: The Textbook, 2015, section 10.6.
