"""
Gaussian processes: functions that know where they do not know
==============================================================

A kernel describes a distribution of functions. Samples turn it into another one, which is narrow near them and as wide
as before elsewhere. Left: functions drawn from the prior; middle and right: what five and what forty values leave of
them. Bands are two standard deviations wide to either side.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1, make_moons

from mercer import GaussianProcessClassifier, GaussianProcessRegressor
from mercer.kernels import RBF

rng = np.random.default_rng(3)
x = rng.uniform(0.0, 7.0, 40)
y = np.sin(2 * x) + 0.15 * rng.normal(size=40)
grid = np.linspace(0.0, 10.0, 300)


def draw(ax, mean, std, functions, title):
    ax.fill_between(grid, mean - 2 * std, mean + 2 * std, color="C0", alpha=0.2, linewidth=0)
    ax.plot(grid, functions, color="C0", linewidth=0.7, alpha=0.7)
    ax.plot(grid, mean, color="black", linewidth=1.2)
    ax.set(title=title, xlim=(0, 10), ylim=(-3.2, 3.2))


prior = {"kernel": RBF(gamma=0.8), "amplitude": 1.0, "noise": 0.15**2, "optimize": False}
figure, axes = plt.subplots(ncols=3, figsize=(12, 3.5), sharey=True, layout="constrained")
K = prior["kernel"](grid[:, None])
root = np.linalg.cholesky(K + 1e-8 * np.eye(len(grid)))
draw(axes[0], np.zeros(300), np.ones(300), root @ rng.normal(size=(300, 6)), "prior")
for ax, n in zip(axes[1:], (5, 40), strict=True):
    machine = GaussianProcessRegressor(**prior).fit(x[:n, None], y[:n])
    mean, std = machine.predict(grid[:, None], return_std=True)
    draw(ax, mean, std, machine.sample_y(grid[:, None], 6), f"given {n} values")
    ax.scatter(x[:n], y[:n], s=20, color="C1", edgecolors="white", linewidths=0.5, zorder=3)

# %%
# **The evidence** is the density of the values under the prior. It chooses the parameters, with no samples held out.
# For ten values, with the amplitude at one, it has two maxima over width and noise: either the function is fast and
# there is next to no noise, or it is slow, and noise is what it does not follow. A search ends at the maximum up whose
# slope it starts (crosses); `n_restarts_optimizer` tries several.

few, values = x[:10, None], y[:10] + 0.3 * rng.normal(size=10)
widths, noises = np.geomspace(0.1, 10.0, 40), np.geomspace(3e-3, 3.0, 40)


def conditioned(width, noise, optimize=False):
    kernel = RBF.from_sigma(width)
    return GaussianProcessRegressor(kernel, amplitude=1.0, noise=noise, optimize=optimize).fit(few, values)


evidence = [[conditioned(width, noise).log_marginal_likelihood_ for width in widths] for noise in noises]
tuned = ["kernel__gamma", "noise"]
ends = [conditioned(width, noise, tuned) for width, noise in ((0.5, 0.01), (5.0, 1.0))]

figure, axes = plt.subplots(ncols=3, figsize=(12, 3.5), layout="constrained")
best = np.max(evidence)
levels = best - np.array([12, 8, 6, 4, 3, 2, 1.5, 1, 0.5, 0.2, 0])
drawn = axes[0].contourf(widths, noises, evidence, levels=levels, extend="min")
axes[0].set(xscale="log", yscale="log", xlabel="width", ylabel="noise", title="log evidence of 10 values")
figure.colorbar(drawn, ax=axes[0], format="%.1f")
for ax, machine in zip(axes[1:], ends, strict=True):
    width = (2 * machine.kernel_.gamma) ** -0.5
    axes[0].plot(width, machine.noise_, "x", color="C3", markersize=9, markeredgewidth=2)
    mean, std = machine.predict(grid[:, None], return_std=True)
    draw(ax, mean, std, machine.sample_y(grid[:, None], 3), f"log evidence {machine.log_marginal_likelihood_:.2f}")
    ax.scatter(few[:, 0], values, s=20, color="C1", edgecolors="white", linewidths=0.5, zorder=3)

# %%
# **A width for every feature** tells which of them matter. Friedman's function is one of the first five features of
# ten, :math:`10 \sin(\pi x_1 x_2) + 20 (x_3 - 1/2)^2 + 10 x_4 + 5 x_5`. From 200 samples the evidence puts four of the
# other five at the lower bound, where the function is constant in them; in the fourth and the fifth it is linear, for
# which large widths are right, too. Leaving samples out, one at a time, costs next to nothing: the errors, in units of
# the spread that was told for them, are distributed as they should be.

X, t = make_friedman1(200, n_features=10, noise=0.5, random_state=0)
machine = GaussianProcessRegressor(RBF(gamma=np.ones(10)), normalize_y=True).fit(X, t)
mean, std = machine.leave_one_out(include_noise=True)

figure, axes = plt.subplots(ncols=2, figsize=(12, 3.5), layout="constrained")
axes[0].bar(np.arange(1, 11), machine.kernel_.gamma, color=["C0"] * 5 + ["C7"] * 5)
axes[0].set(yscale="log", ylim=(1e-6, 10), xticks=range(1, 11), xlabel="feature", ylabel="gamma")
axes[0].set_title(f"found in {machine.n_iter_} evaluations of the evidence")
z = np.linspace(-4, 4, 200)
axes[1].hist((t - mean) / std, bins=25, range=(-4, 4), density=True, color="C0", alpha=0.5)
axes[1].plot(z, np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi), color="black")
axes[1].set(title="errors of samples left out, in units of their spread", xlabel="error / spread")

# %%
# **Classes.** Behind the logistic function, the same prior gives probabilities. They are averages over the functions
# that the samples leave, and so go back to one half where these disagree. The spread of the functions says where that
# is: it is small among the samples, and as large as in the prior far from them.

X, labels = make_moons(120, noise=0.2, random_state=0)
machine = GaussianProcessClassifier().fit(X, labels)
across, up = np.meshgrid(np.linspace(-3, 4, 120), np.linspace(-2.5, 3, 100))
points = np.column_stack([across.ravel(), up.ravel()])
probability = machine.predict_proba(points)[:, 1].reshape(across.shape)
spread = machine.latent(points)[1].reshape(across.shape)

figure, axes = plt.subplots(ncols=2, figsize=(12, 4), sharey=True, layout="constrained")
pictures = (
    ("probability of the second class", probability, [0, *np.arange(0.05, 1, 0.1), 1], "coolwarm"),
    ("spread of the function", spread, np.arange(0, 12), "viridis"),
)
for ax, (title, picture, levels, colours) in zip(axes, pictures, strict=True):
    drawn = ax.contourf(across, up, picture, levels=levels, cmap=colours, alpha=0.8)
    figure.colorbar(drawn, ax=ax)
    ax.scatter(*X.T, c=labels, cmap="coolwarm", s=20, edgecolors="k", linewidths=0.4)
    ax.set(title=title, xticks=[], yticks=[])

plt.show()
