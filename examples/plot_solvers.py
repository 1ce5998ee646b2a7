r"""
One problem, seven solvers
==========================

All solvers of the support vector machine's dual stand behind one protocol and prove their results in the same way, so
that they can be compared by what counts: the duality gap, which bounds how far a point is from the optimum. Here is one
problem, the radar returns from the ionosphere with a Gaussian kernel, and how the gap falls.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from mercer.datasets import load_ionosphere
from mercer.gram import MatrixGram
from mercer.kernels import RBF
from mercer.problems import soft_margin
from mercer.solvers import (
    SMO,
    Chunking,
    Decomposition,
    InteriorPoint,
    PrimalSubgradient,
    ProjectedGradient,
    SimpleSMO,
)

X, labels = load_ionosphere(return_X_y=True)
y = np.where(labels == np.unique(labels)[1], 1.0, -1.0)
K = RBF.from_sigma(1.5)(X)
problem = soft_margin(MatrixGram(K, definite=True), y, np.full(len(y), 10.0))

# %%
# The rule of a textbook
# ----------------------
#
# Gradient ascent on the dual, :math:`a \leftarrow a + \eta g`, has two constraints to obey, the box
# :math:`0 \le a_i \le C` and the hyperplane :math:`\sum_i y_i a_i = 0`. A textbook ([1]_, section 10.6.1.1) projects
# the gradient onto the hyperplane, makes the step, and then resets multipliers that have left the box. The last act
# leaves the hyperplane again. `ProjectedGradient` projects onto the two at once.

a = np.zeros(len(y))
for _ in range(50):
    g = -problem.gradient(a)  # eq. 10.54
    g -= y * (y @ g) / len(y)
    a = np.clip(a + 0.02 * g, 0.0, problem.upper)  # eq. 10.55
projected = ProjectedGradient(step=0.02, max_iter=50).solve(problem)
print(f"sum of y a after 50 steps: {y @ a:.3f} by the rule of the textbook, {projected.imbalance:.1g} by projections")

# %%
# How the gap falls
# -----------------
#
# Every result carries the history of its run; drawn is the best gap so far. `InteriorPoint` lies inside the constraints
# on its way; its curve is that of the points returned after 1, 2, 3, ... steps.

runs = {
    "SMO": SMO(tol=1e-7),
    "Decomposition(8)": Decomposition(8, tol=1e-7),
    "SimpleSMO": SimpleSMO(tol=1e-6),
    "Chunking": Chunking(tol=1e-6, size=10),
    "ProjectedGradient": ProjectedGradient(tol=1e-6),
    "ProjectedGradient(step=0.02)": ProjectedGradient(tol=1e-6, step=0.02, max_iter=5000),
    "PrimalSubgradient": PrimalSubgradient(tol=1e-6, max_iter=5000),
}

curves = {}
SMO().solve(problem)  # who comes first would pay for waking up
for name, solver in runs.items():
    began = time.perf_counter()
    result = solver.solve(problem)
    seconds = time.perf_counter() - began
    iteration, gap = result.history.iteration, np.minimum.accumulate(result.history.gap)
    curves[name] = iteration, seconds * iteration / iteration[-1], gap / result.primal_objective
    print(f"{name:29} {result.status:9} {result.n_iter:6} steps  relative gap {result.relative_gap:.1e}")

steps, seconds, gaps = [], [], []
for k in range(1, 15):
    began = time.perf_counter()
    result = InteriorPoint(tol=1e-6, max_iter=k).solve(problem)
    steps, seconds, gaps = [*steps, k], [*seconds, time.perf_counter() - began], [*gaps, result.relative_gap]
    if result.status == "solved":
        break
print(f"{'InteriorPoint':29} {result.status:9} {result.n_iter:6} steps  relative gap {result.relative_gap:.1e}")
curves["InteriorPoint"] = np.array(steps), np.array(seconds), np.minimum.accumulate(gaps)

# %%
# A step is a different thing for each of them: two multipliers for sequential minimal optimisation, a product with the
# whole kernel matrix for the gradients, a linear system in all variables for interior points. The right picture counts
# seconds instead, as if all steps of a run took the same time: those of Python loops and of native code (`SMO` and
# `Decomposition`), on whatever machine has built this page.

figure, axes = plt.subplots(ncols=2, figsize=(11, 5), sharey=True, layout="constrained")
colors = ["black", "0.55", "C0", "C4", "C2", "#9bd39b", "C1", "C3"]
for ax, which, label in zip(axes, (0, 1), ("steps", "seconds"), strict=True):
    for (name, curve), color in zip(curves.items(), colors, strict=True):
        at, gap = curve[which], np.maximum(curve[2], 1e-12)
        shown = (at > 0) & np.isfinite(gap)
        ax.plot(at[shown], gap[shown], color=color, linewidth=2, label=name)
        ax.plot(at[shown][-1], gap[shown][-1], "o", color=color, markersize=5)
    ax.set(xscale="log", yscale="log", xlabel=label)
    ax.grid(alpha=0.3)
axes[0].set(ylabel="relative duality gap", ylim=(1e-8, 20), title="what a step does")
axes[1].set(title="what it costs")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)

plt.show()

# %%
# Interior points take a dozen large steps whatever the problem. Those that move few multipliers at a time, or keep to
# the support vectors, need only a part of the kernel matrix. Fixed steps and subgradients are simple, and far from the
# optimum for a long time.
#
# .. [1] C. C. Aggarwal, Data Mining: The Textbook, 2015.
