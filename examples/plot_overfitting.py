r"""
Through all points, or near them?
=================================

A function that passes through all samples has learnt the noise. Figure 2.3 of [1]_ shows seven points about a straight
line and a curve that meets them all; figure 7.7 of [2]_ shows the other way, a tube within which errors are free, and
slacks outside. Both are drawn here by machines.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVR, KernelRidge
from mercer.datasets import make_sinusoid
from mercer.kernels import RBF, Linear
from mercer.plots import RegressionDisplay

# %%
# Seven points
# ------------
#
# Values of a line with noise. Ridge regression minimises :math:`\|y - f\|^2 + \lambda \|f\|^2`. With a Gaussian kernel
# and next to no penalty it passes through all seven points, and is nonsense in between. A larger penalty takes the
# swing out of it. Errors are root mean squares, on the seven points and to the line itself.

x = np.linspace(0.0, 6.0, 7)
y = 1.0 + 0.6 * x + np.array([0.5, -0.7, 0.6, -0.6, 0.7, -0.5, 0.2])
grid = np.linspace(-0.3, 6.3, 300)
truth = 1.0 + 0.6 * grid

figure, axes = plt.subplots(ncols=3, figsize=(12, 3.8), sharey=True, layout="constrained")
machines = {
    r"Gaussian, $\lambda = 10^{-9}$": KernelRidge(RBF(gamma=0.3), alpha=1e-9, fit_intercept=True),
    r"Gaussian, $\lambda = 1$": KernelRidge(RBF(gamma=0.3), alpha=1.0, fit_intercept=True),
    "linear": KernelRidge(Linear(), alpha=1e-9, fit_intercept=True),
}
for ax, (name, machine) in zip(axes, machines.items(), strict=True):
    machine.fit(x[:, np.newaxis], y)
    found = machine.predict(grid[:, np.newaxis])
    seven = np.sqrt(np.mean((machine.predict(x[:, np.newaxis]) - y) ** 2))
    away = np.sqrt(np.mean((found - truth) ** 2))
    print(f"{name:28} error {seven:.2f} on the points, {away:.2f} to the line")
    ax.plot(grid, truth, color="black", label="the line")
    ax.plot(grid, found, color="C3", linestyle="--", label="found")
    ax.scatter(x, y, s=35, color="C0", zorder=3)
    ax.set(title=f"{name}: {seven:.2f}, {away:.2f}", ylim=(-1.5, 7.5), xlabel="x")
axes[0].legend(loc="upper left")
plt.show()

# %%
# A tube and slacks
# -----------------
#
# The support vector machine for regression does not ask for less than :math:`\epsilon`. Samples above the tube have a
# slack :math:`\xi > 0`, those below one :math:`\hat\xi > 0`, samples inside have none (figure 7.7 of [2]_), and only
# those on the edge or outside are support vectors.

X, t = make_sinusoid(25, noise=0.25, random_state=6)
machine = SVR(RBF(gamma=8.0), C=2.0, epsilon=0.25).fit(X, t)
residual = t - machine.predict(X)
above, below = residual - machine.epsilon, -residual - machine.epsilon
print(f"{np.sum(above > 1e-6)} samples above the tube, {np.sum(below > 1e-6)} below it,", end=" ")
print(f"{len(machine.support_)} support vectors of {len(t)}")

figure, ax = plt.subplots(figsize=(7.6, 4.4), layout="constrained")
RegressionDisplay.from_estimator(machine, X, t, slacks=True, ax=ax)
for one, name in ((above, r"$\xi$"), (below, r"$\hat\xi$")):
    for number in np.flatnonzero(one > 0.02):
        place = (X[number, 0], t[number] - np.sign(residual[number]) * one[number] / 2)
        ax.annotate(f"{name} = {one[number]:.2f}", place, (5, -3), textcoords="offset points", fontsize=9)
ax.set(title=r"errors up to $\epsilon$ are free", xlabel="x", ylabel="t")
plt.show()

# %%
# How wide a tube?
# ----------------
#
# A narrow tube takes every sample for a support vector, a wide one hardly any. In between, the width should be that of
# the noise: the error on the sinusoid is least where :math:`\epsilon` is about its deviation, 0.25, or below, and
# the machine is then much smaller.

widths = np.array([0.01, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7])
places = np.linspace(0, 1, 200)[:, np.newaxis]
errors, shares = np.zeros((2, 30, len(widths)))
for draw in range(30):
    X, t = make_sinusoid(25, noise=0.25, random_state=draw)
    for number, epsilon in enumerate(widths):
        one = SVR(RBF(gamma=8.0), C=2.0, epsilon=epsilon).fit(X, t)
        errors[draw, number] = np.sqrt(np.mean((one.predict(places) - np.sin(2 * np.pi * places[:, 0])) ** 2))
        shares[draw, number] = len(one.support_) / len(t)
figure, ax = plt.subplots(figsize=(6.6, 3.8), layout="constrained")
ax.plot(widths, errors.mean(axis=0), "o-", label="error to the sinusoid")
ax.plot(widths, shares.mean(axis=0), "s--", label="share of support vectors")
ax.axvline(0.25, color="0.6", linewidth=1)
ax.annotate("noise", (0.25, 0.9), (4, 0), textcoords="offset points", color="0.4")
ax.set(xlabel=r"$\epsilon$", ylabel="error, share", ylim=(0, 1.05), title="means of 30 draws")
ax.legend()
for epsilon, error, share in zip(widths, errors.mean(axis=0), shares.mean(axis=0), strict=True):
    print(f"epsilon {epsilon:<5g} error {error:.3f}, {share:.0%} support vectors")
plt.show()

# %%
# .. rubric:: References
#
# .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 2.5.
# .. [2] C. M. Bishop, Pattern Recognition and Machine Learning, 2006, chapter 7.
