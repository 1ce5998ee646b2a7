"""
Regression: the tube, given or found
====================================

Errors inside the tube are free, and samples inside it are no support vectors. `SVR` is given the half width
``epsilon``; `NuSVR` finds it, so that at most the share ``nu`` of the samples lies outside. A few wild values move the
function little with the linear loss, and a good deal more with the quadratic one.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVR, NuSVR
from mercer.kernels import RBF

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0.0, 10.0, 80))
y = np.sin(x) + 0.15 * rng.normal(size=80)
y[::16] += 2.0  # wild values
grid = np.linspace(0.0, 10.0, 300)

kernel = RBF(gamma=0.5)
machines = [
    ("SVR, epsilon = 0.3", SVR(kernel=kernel, C=10.0, epsilon=0.3)),
    ("SVR, quadratic loss", SVR(kernel=kernel, C=10.0, epsilon=0.3, loss="quadratic")),
    ("NuSVR, nu = 0.2", NuSVR(kernel=kernel, C=10.0, nu=0.2)),
]
figure, axes = plt.subplots(ncols=3, figsize=(12, 3.5), sharex=True, sharey=True, layout="constrained")
for ax, (name, machine) in zip(axes, machines, strict=True):
    machine.fit(x[:, None], y)
    f = machine.predict(grid[:, None])
    epsilon = getattr(machine, "epsilon_", None) or machine.epsilon
    ax.fill_between(grid, f - epsilon, f + epsilon, color="C0", alpha=0.2, linewidth=0)
    ax.plot(grid, f, color="C0")
    ax.scatter(x, y, s=20, color="C1", edgecolors="white", linewidths=0.5)
    ax.scatter(x[machine.support_], y[machine.support_], s=24, facecolors="none", edgecolors="black")
    ax.set_title(f"{name}: {machine.margin_errors_:.0%} outside ±{epsilon:.2f}")

plt.show()
