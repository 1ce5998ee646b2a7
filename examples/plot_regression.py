"""
Regression: the tube, given or found
====================================

Errors inside the tube are free, and samples inside it are no support vectors. `SVR` is given the half width
``epsilon``; `NuSVR` finds it, so that at most the share ``nu`` of the samples lies outside. A few wild values move the
function little with the linear loss, and a good deal more with the quadratic one. Dotted lines are what the samples
outside pay for.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVR, GaussianProcessRegressor, NuSVR, RelevanceVectorRegressor
from mercer.kernels import RBF
from mercer.plots import RegressionDisplay

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0.0, 10.0, 80))
y = np.sin(x) + 0.15 * rng.normal(size=80)
y[::16] += 2.0  # wild values

kernel = RBF(gamma=0.5)
machines = [
    ("SVR, epsilon = 0.3", SVR(kernel=kernel, C=10.0, epsilon=0.3)),
    ("SVR, quadratic loss", SVR(kernel=kernel, C=10.0, epsilon=0.3, loss="quadratic")),
    ("NuSVR, nu = 0.2", NuSVR(kernel=kernel, C=10.0, nu=0.2)),
]
figure, axes = plt.subplots(ncols=3, figsize=(12, 3.5), sharex=True, sharey=True, layout="constrained")
for ax, (name, machine) in zip(axes, machines, strict=True):
    display = RegressionDisplay.from_estimator(machine.fit(x[:, None], y), x, y, slacks=True, ax=ax)
    ax.set_title(f"{name}: {machine.margin_errors_:.0%} outside ±{display.half_width[0]:.2f}")
plt.show()

# %%
# A tube is no error bar: its width is a price, the same everywhere. A relevance vector machine and a Gaussian process
# say how sure they are, and two standard deviations should hold 95 % of new values. Both take all values for noise of
# one size, so that five wild ones make the bands wide for the others, too; the tube hardly moves.

machines = [
    ("RelevanceVectorRegressor", RelevanceVectorRegressor(kernel)),
    ("GaussianProcessRegressor", GaussianProcessRegressor(kernel, optimize=["amplitude", "noise"])),
]
figure, axes = plt.subplots(ncols=2, figsize=(12, 3.5), sharex=True, sharey=True, layout="constrained")
for ax, (name, machine) in zip(axes, machines, strict=True):
    display = RegressionDisplay.from_estimator(machine.fit(x[:, None], y), x, y, slacks=True, ax=ax)
    ax.set_title(f"{name}: {np.mean(display.slack > 0):.0%} outside, {len(display.support) or len(x)} vectors")
    ax.legend(loc="lower left")
plt.show()
