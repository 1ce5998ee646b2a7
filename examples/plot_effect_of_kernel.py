r"""
The effect of the kernel
========================

The same samples, and kernels from stiff to supple. Which of them are right? This page draws figure 7.2 of [2]_, 1.3
(right) of [1]_ and 1.12 of [3]_, and the slide *Effect of the kernel* of [4]_.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC
from mercer.datasets import make_overlapping_classes
from mercer.kernels import RBF, Linear, Polynomial
from mercer.plots import DecisionDisplay

# %%
# Contours in the plane
# ---------------------
#
# In the feature space of a Gaussian kernel the decision function is linear, and its level sets are parallel planes. In
# the plane of the samples they are curves: the boundary, the edges of the band, and others beyond (figure 7.2 of [2]_).
# The margin is hard, and no sample is on the wrong side, though no line would do (figures 1.3 of [1]_ and 1.12 of
# [3]_). Only the samples on the edges matter, the ones with a ring.

X, y = make_overlapping_classes(60, spread=0.28, random_state=4)
hard = SVC(RBF(gamma=1.0), C=np.inf).fit(X, y)
print(f"{len(hard.support_)} support vectors of {len(X)} samples, training errors: {np.sum(hard.predict(X) != y)}")

figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
display = DecisionDisplay.from_estimator(hard, X, y, ax=ax)
levels = [level for level in np.arange(-6, 7) if level not in (-1, 0, 1)]
ax.contour(display.xx, display.yy, display.decision, levels=levels, colors="0.5", linewidths=0.6)
ax.scatter(*hard.support_vectors_.T, s=130, facecolors="none", edgecolors="black", zorder=4)
ax.set(title="lines of constant decision value, Gaussian kernel", xticks=[], yticks=[])
plt.show()

# %%
# From stiff to supple
# --------------------
#
# A line is too stiff for these classes. Polynomials bend, once for each degree. The Gaussian kernel is nearly a line
# for a very large :math:`\sigma`; for a small one every sample is a class of its own. The more supple the kernel, the
# fewer errors on the training samples; those on new samples go down and up again. What decides is neither the name of
# the kernel nor its degree, but how supple it is for what the samples have to say.

X, y = make_overlapping_classes(100, random_state=3)
new, new_y = make_overlapping_classes(20_000, random_state=4)
kernels = {
    "linear": Linear(),
    "polynomial, degree 2": Polynomial(degree=2, gamma=0.5, coef0=1.0),
    "polynomial, degree 5": Polynomial(degree=5, gamma=0.5, coef0=1.0),
    r"Gaussian, $\sigma$ = 3": RBF.from_sigma(3.0),
    r"Gaussian, $\sigma$ = 0.7": RBF.from_sigma(0.7),
    r"Gaussian, $\sigma$ = 0.1": RBF.from_sigma(0.1),
}
figure, axes = plt.subplots(2, 3, figsize=(12, 7), sharex=True, sharey=True, layout="constrained")
print("                          training   new    support vectors")
for ax, (name, kernel) in zip(axes.flat, kernels.items(), strict=True):
    machine = SVC(kernel, C=10.0).fit(X, y)
    errors = [np.mean(machine.predict(some) != labels) for some, labels in ((X, y), (new, new_y))]
    print(f"{name:26}{errors[0]:7.1%}{errors[1]:8.1%}{len(machine.support_):8}")
    DecisionDisplay.from_estimator(machine, X, y, ax=ax)
    ax.set(title=f"{name}\nerrors: {errors[0]:.0%} training, {errors[1]:.0%} new", xticks=[], yticks=[])
plt.show()

# %%
# The width of the Gaussian kernel
# --------------------------------
#
# The same in numbers, for many widths. The best one is in the middle, and it is broad: finding it within a factor of
# two is enough. :doc:`/guide/tuning` does it without new samples, by cross-validation, and :doc:`/guide/criteria` by
# bounds.

sigmas = np.geomspace(0.03, 20, 25)
curves = np.array(
    [
        [1 - machine.score(X, y), 1 - machine.score(new, new_y)]
        for machine in (SVC(RBF.from_sigma(sigma), C=10.0).fit(X, y) for sigma in sigmas)
    ]
)
best = curves[:, 1].argmin()
print(f"least error on new samples: {curves[best, 1]:.1%} at sigma = {sigmas[best]:.2f}")
figure, ax = plt.subplots(figsize=(6.6, 3.8), layout="constrained")
for curve, name, style in zip(curves.T, ("training samples", "new samples"), ("--", "-"), strict=True):
    ax.semilogx(sigmas, 100 * curve, style, label=name, linewidth=2)
ax.plot(sigmas[best], 100 * curves[best, 1], "*", markersize=14, color="white", markeredgecolor="black")
ax.set(xlabel=r"$\sigma$", ylabel="errors in %", ylim=(0, None))
ax.legend()
ax.grid(alpha=0.3)
plt.show()

# %%
# .. rubric:: References
#
# .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011.
# .. [2] C. M. Bishop, Pattern Recognition and Machine Learning, 2006, chapter 7.
# .. [3] J.-P. Vert, K. Tsuda, B. Schölkopf, A primer on kernel methods, in Kernel Methods in Computational Biology,
#    2004.
# .. [4] L. Wehenkel, P. Geurts, Support vector machines and kernel-based methods, lecture, University of Liège, 2020.
