r"""
The widest band between two classes
===================================

A line separates two classes, and so do many others. Which one should be taken? This page draws the geometry with which
all texts on support vector machines begin, from machines that were fitted: figures 1.7, 1.8 and 1.9 of [3]_, 1.1 and
1.2 of [1]_, 7.1 of [2]_, and 10.7 (a) of [4]_.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC
from mercer.plots import DecisionDisplay

rng = np.random.default_rng(5)
y = np.repeat([-1, 1], 12)
X = rng.normal(size=(24, 2)) * [0.6, 0.8] + np.outer(y, [1.25, 0.55])
mixed = X.copy()
mixed[3] = [1.75, 0.9]  # one of the first class among the second one

# %%
# Counting mistakes
# -----------------
#
# *Empirical risk minimisation* takes a line with the fewest mistakes on the samples. Here are the mistakes of 100 000
# lines, drawn at random. On the left, no line is without: H1 has one mistake, the least there is, and H2 has five
# (figure 1.7 of [3]_). On the right the classes are separable, and the rule has nothing to choose by: all lines that
# are drawn have no mistake (figure 1.8).

angle, offset = rng.uniform(0, 2 * np.pi, 100_000), rng.uniform(-3, 3, 100_000)
lines = np.array([np.cos(angle), np.sin(angle), offset])


def mistakes(points):
    """Of every line, the number of samples on the wrong side."""
    return np.sum(y * (lines[:2].T @ points.T + lines[2][:, np.newaxis]) <= 0, axis=1)


def draw_line(ax, w, b, **style):
    """The points with w.x + b = 0."""
    w = np.asarray(w)
    foot = -b * w / (w @ w)
    ax.axline(foot, (foot[0] - w[1], foot[1] + w[0]), **style)


def draw_samples(ax, points):
    for label, marker, colour in ((-1, "o", "C0"), (1, "s", "C1")):
        ax.scatter(*points[y == label].T, marker=marker, color=colour, edgecolors="white", s=45, zorder=3)
    ax.set(xlim=(-3.2, 3.2), ylim=(-2.9, 2.9), aspect="equal", xticks=[], yticks=[])


count, free = mistakes(mixed), mistakes(X)
print(f"mixed classes: at least {count.min()} mistake; of 100 000 lines, {np.sum(count == count.min())} have no more")
print(f"separable classes: {np.sum(free == 0)} lines without a mistake")

figure, axes = plt.subplots(ncols=2, figsize=(10, 4.6), layout="constrained")
for number, name, style in ((count.min(), "H1", "-"), (5, "H2", "--")):
    *w, b = lines[:, np.flatnonzero(count == number)[0]]
    draw_line(
        axes[0], w, b, color="black", linestyle=style, label=f"{name}: {number} mistake{'s' if number > 1 else ''}"
    )
axes[0].legend(loc="lower right")
for *w, b in lines[:, free == 0][:, :25].T:
    draw_line(axes[1], w, b, color="0.6", linewidth=0.8)
axes[0].set_title("the fewest mistakes")
axes[1].set_title("no mistakes, many lines")
draw_samples(axes[0], mixed)
draw_samples(axes[1], X)
plt.show()

# %%
# The margin
# ----------
#
# The *margin* of a line is its distance to the nearest sample. A sample that is new will lie near one that is known;
# the wider the band without samples, the further it may be away from it and still be on the right side. On the left is
# one of the lines above, on the right the widest there is, which the machine has found (figure 7.1 of [2]_, figure 1.1
# of [1]_). The diamond is a new sample of the class of squares. The first line gets it wrong, though it is the widest
# of those that do, the other one right (figure 10.7 (a) of [4]_).
#
# Only the samples on the edges of the band, with a ring, hold it: all others might move, or be absent.

machine = SVC(kernel="linear", C=np.inf).fit(X, y)
w, b = machine.coef_[0], machine.intercept_[0]
margins = np.min(y * (lines[:2].T @ X.T + lines[2][:, np.newaxis]), axis=1)
between = X[y > 0][np.argsort(X[y > 0] @ w)[:2]].mean(axis=0)
new = between - 0.75 * (between @ w + b) * w / (w @ w)  # three quarters of the way to the line
wrong = new @ lines[:2] + lines[2] < -0.1
*poor, poor_b = lines[:, np.argmax(np.where((free == 0) & wrong, margins, -np.inf))]
width = np.min(y * (X @ poor + poor_b))
print(f"new sample: {new @ poor + poor_b:+.2f} by the first line, {new @ w + b:+.2f} by the widest")

figure, axes = plt.subplots(ncols=2, figsize=(10, 4.6), layout="constrained")
draw_line(axes[0], poor, poor_b, color="black")
for side in (-1, 1):
    draw_line(axes[0], poor, poor_b + side * width, color="black", linestyle="--", linewidth=0.8)
draw_samples(axes[0], X)
axes[0].set_title(f"some line: margin {width:.2f}")
DecisionDisplay.from_estimator(machine, X, y, ax=axes[1], margin=0.9)
axes[1].scatter(*machine.support_vectors_.T, s=160, facecolors="none", edgecolors="black", linewidths=1.2, zorder=4)
start = -b * w / (w @ w)
axes[1].annotate("", start + w / np.linalg.norm(w), start, arrowprops={"arrowstyle": "->", "linewidth": 2})
axes[1].annotate("w", start + 1.1 * w / np.linalg.norm(w), va="center")
axes[1].text(-2.9, 2.3, r"$w \cdot x + b < 0$")
axes[1].text(1.1, -2.5, r"$w \cdot x + b > 0$")
draw_samples(axes[1], X)
axes[1].set_title(f"the widest band: margin {machine.margin_:.2f}")
for ax in axes:
    ax.scatter(*new, marker="D", color="C1", edgecolors="black", s=60, zorder=4)
plt.show()

# %%
# Why 1 / ‖w‖
# -----------
#
# The length of w is free, and is set by asking for :math:`w \cdot x + b = \pm 1` on the edges, the *canonical*
# hyperplanes. A sample on one edge minus a sample on the other, projected onto the direction of w, is the width of the
# band: :math:`(x_1 - x_2) \cdot w / \|w\| = 2 / \|w\| = 2 \gamma` (figure 1.2 of [1]_; 1.9 of [3]_, whose caption has
# half of it). So the widest band is that of the smallest w. At the optimum :math:`\sum_i \alpha_i = \|w\|^2`, too.

on_edges = machine.support_vectors_
signs = np.sign(machine.dual_coef_[0])
first, second = on_edges[signs > 0][0], on_edges[signs < 0][0]
gamma = 1 / np.linalg.norm(w)
projected = (first - second) @ w * gamma
print(f"|w| = {1 / gamma:.4f}, 1 / |w| = {gamma:.4f}, margin_ = {machine.margin_:.4f}")
print(f"(x1 - x2).w / |w| = {projected:.4f} = 2 x {projected / 2:.4f}")
print(f"sum of the multipliers = {np.abs(machine.dual_coef_).sum():.4f}, |w|^2 = {w @ w:.4f}")

BLANK = {"facecolor": "white", "edgecolor": "none", "pad": 1}  # behind letters that would stand on a line
figure, ax = plt.subplots(figsize=(6.4, 5), layout="constrained")
draw_samples(ax, X)
for level, style, side, height in ((1, "--", "left", 2.4), (0, "-", "left", -1.8), (-1, "--", "right", 2.4)):
    draw_line(ax, w, b - level, color="black", linestyle=style, linewidth=1)
    at = (level - b) * w / (w @ w) + height * np.array([-w[1], w[0]]) * gamma
    shift = {"left": 5, "right": -5}[side]
    ax.annotate(
        f"$w \\cdot x + b = {level}$", at, (shift, 0), textcoords="offset points", ha=side, fontsize=9, bbox=BLANK
    )
for point, name, shift in ((first, "$x_1$", (10, -4)), (second, "$x_2$", (-22, -4))):
    ax.scatter(*point, s=160, facecolors="none", edgecolors="black", linewidths=1.2, zorder=4)
    ax.annotate(name, point, shift, textcoords="offset points")
ax.annotate("", first, second, arrowprops={"arrowstyle": "->", "color": "C3", "linewidth": 1.5})
foot = second + projected * w * gamma
ax.annotate("", foot, second, arrowprops={"arrowstyle": "<->", "color": "C2", "linewidth": 2})
ax.annotate(r"$2 \gamma$", (foot + second) / 2, xytext=(-2, -16), textcoords="offset points", color="C2", bbox=BLANK)
ax.plot(*np.transpose([first, foot]), color="C3", linestyle=":", linewidth=1)
ax.set_title(r"$(x_1 - x_2) \cdot w / \|w\| = 2 \gamma$")
plt.show()

# %%
# .. rubric:: References
#
# .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011.
# .. [2] C. M. Bishop, Pattern Recognition and Machine Learning, 2006, chapter 7.
# .. [3] J.-P. Vert, K. Tsuda, B. Schölkopf, A primer on kernel methods, in Kernel Methods in Computational Biology,
#    2004.
# .. [4] C. C. Aggarwal, Data Mining: The Textbook, 2015, section 10.6.
