r"""
Relevance vectors: few basis functions, chosen by the evidence
==============================================================

A support vector machine is sparse because its loss forgives small errors. A relevance vector machine is sparse because
the evidence has no use for most of its basis functions ([1]_, section 7.2; the figures here are those of the chapter,
with data of our own). Ten values of a sinusoid, with noise of deviation 0.3: in the book the support vector machine
has seven support vectors (figure 7.8), and the relevance vector machine, with the same kernel, three relevance vectors
(figure 7.9). The band of the former is its tube, in which errors are free; that of the latter is one standard deviation
of a new value to either side. It has found the noise itself, where `nu` and `C` were chosen by hand. Ten values are
few: the counts change with the noise, and so their means over a hundred draws are printed, too.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC, GaussianProcessRegressor, NuSVR, RelevanceVectorClassifier, RelevanceVectorRegressor
from mercer.datasets import make_overlapping_classes, make_sinusoid
from mercer.kernels import RBF
from mercer.plots import RegressionDisplay
from mercer.solvers.sparse_bayes import best_precision, gain_at

kernel = RBF(gamma=10.0)
tube, sparse = NuSVR(kernel, C=1.0, nu=0.4), RelevanceVectorRegressor(kernel)


def draw(ax, machine, title, margin=0.0):
    """The function with its tube, or with a band of one deviation."""
    display = RegressionDisplay.from_estimator(machine, X, t, deviations=1.0, margin=margin, ax=ax)
    ax.plot(display.grid, np.sin(2 * np.pi * display.grid), color="C2", linewidth=0.8, label="the sinusoid")
    ax.set(title=title, xlabel="x", xlim=display.grid[[0, -1]] + (-0.03, 0.03), ylim=(-2.2, 2.2))
    return display


counts = [
    [len(machine.fit(*make_sinusoid(10, random_state=seed)).support_) for machine in (tube, sparse)]
    for seed in range(100)
]
print("100 draws: {:.1f} support vectors, {:.1f} relevance vectors in the mean".format(*np.mean(counts, axis=0)))

X, t = make_sinusoid(10, random_state=4)
support, relevance = tube.fit(X, t), sparse.fit(X, t)
print(f"this one: {len(support.support_)} support vectors, half width of the tube {support.epsilon_:.2f}")
deviation = np.sqrt(relevance.noise_variance_)
print(f"this one: {len(relevance.relevance_)} relevance vectors, deviation of the noise {deviation:.2f}")

figure, axes = plt.subplots(ncols=2, figsize=(12, 4), sharey=True, layout="constrained")
draw(axes[0], support, f"NuSVR: {len(support.support_)} support vectors")
draw(axes[1], relevance, f"RelevanceVectorRegressor: {len(relevance.relevance_)} relevance vectors")
axes[0].set_ylabel("t")
for ax in axes:
    ax.legend(loc="lower left")

# %%
# **Beyond the data** the model is sure of itself for no reason. Where its few basis functions are zero, whatever their
# weights, nothing is left of the spread but the noise, and that of the constant where the model has it (here it has
# not). ``variance="augmented"`` gives every new sample a basis function of its own, whose weight the data say little
# about where they are far: the spread grows, as that of a Gaussian process does. The price is that all training samples
# are needed for a prediction.

augmented = RelevanceVectorRegressor(kernel, variance="augmented").fit(X, t)
process = GaussianProcessRegressor(kernel, optimize=["amplitude", "noise"]).fit(X, t)

figure, axes = plt.subplots(ncols=3, figsize=(12, 3.5), sharey=True, layout="constrained")
machines = {'variance="plain"': relevance, 'variance="augmented"': augmented, "Gaussian process": process}
for ax, (title, machine) in zip(axes, machines.items(), strict=True):
    deviation = draw(ax, machine, title, margin=1.0).half_width
    print(f"{title}: deviation {deviation[150]:.2f} in the middle, {deviation[-1]:.2f} far away")
axes[0].set_ylabel("t")

# %%
# **Why sparsity arises.** Two values :math:`t = (t_1, t_2)`, the cross, and one basis function. Without it, the values
# are noise, :math:`C = \beta^{-1} I`, with :math:`\beta` as likely as can be (left). With it,
# :math:`C = \beta^{-1} I + \alpha^{-1} \varphi \varphi^T` is longer in the direction of :math:`\varphi`, the arrow. All
# three ellipses have the same determinant, so that the density at the cross is the larger, the further inside it lies.
# Where the direction is wrong (middle), the values become less likely, for every finite :math:`\alpha`: it is best for
# it to be infinite, and the function is out of the model. Where the direction is right (right), it stays. Dashed: what
# the noise contributes.

target = np.array([1.2, 0.9])
noise = target @ target / 2  # the most probable variance
less = 0.6 * noise
angles = np.linspace(0, 2 * np.pi, 200)
circle = np.array([np.cos(angles), np.sin(angles)])
figure, axes = plt.subplots(ncols=3, figsize=(12, 4), sharey=True, layout="constrained")
for ax, angle in zip(axes, (None, -0.45, 0.75), strict=True):
    C, inner = noise * np.eye(2), noise
    if angle is not None:
        phi = np.array([np.cos(angle), np.sin(angle)])
        C, inner = less * np.eye(2) + (noise**2 / less - less) * np.outer(phi, phi), less
        ax.annotate("", 1.5 * phi, (0, 0), arrowprops={"arrowstyle": "->", "color": "C0", "linewidth": 2})
    density = -0.5 * (target @ np.linalg.solve(C, target) + np.log(np.linalg.det(C))) - np.log(2 * np.pi)
    ax.plot(*(np.linalg.cholesky(C) @ circle), color="C3")
    ax.plot(*(np.sqrt(inner) * circle), "--", color="C2")
    ax.plot(*target, "x", color="black", markersize=10, markeredgewidth=2)
    ax.set(aspect="equal", xlim=(-2.2, 2.2), ylim=(-2, 2), xlabel="$t_1$", title=f"log density at t: {density:.2f}")
axes[0].set_ylabel("$t_2$")

# %%
# For a basis function among others two numbers decide. Its *sparsity* :math:`s` says how much it overlaps with what is
# in the model, its *quality* :math:`q` how well it fits what the others leave. Of its precision :math:`\alpha`, the log
# evidence is a function with one maximum: at :math:`s^2 / (q^2 - s)` where :math:`q^2 > s`, and at infinity where not.
# The sequential algorithm goes from one such maximum to the next.

logarithms = np.linspace(-5.0, 5.0, 300)
figure, axes = plt.subplots(ncols=2, figsize=(12, 3.5), sharey=True, layout="constrained")
for ax, (square, s) in zip(axes, ((4.0, 1.0), (1.0, 2.0)), strict=True):
    ax.plot(logarithms, gain_at(np.exp(logarithms), s, np.sqrt(square)), color="C3")
    ax.axhline(0.0, color="black", linewidth=0.8, linestyle=":")
    alpha, gain = best_precision(np.array(s), np.sqrt(square))
    if np.isfinite(alpha):
        ax.plot(np.log(alpha), gain, "o", color="C0")
    ax.set(xlabel=r"$\ln \alpha$", ylim=(-3, 1.2))
    ax.set_title(rf"$q^2 = {square:g}$, $s = {s:g}$: best $\alpha$ = {alpha:.3g}")
axes[0].set_ylabel("gain of the log evidence")

# %%
# **Two classes** that overlap. The support vectors are the samples that are hard, near the boundary and on the wrong
# side of it. The relevance vectors are few and stand among the samples of a class: a function that is centred on
# the boundary is as large for the one class as for the other, and so is badly aligned with the labels. The shading
# is the probability of the second class, averaged over what the samples leave of the weights; for the support vector
# machine, of which there is none, the lines are those of the margin.

X, labels = make_overlapping_classes(200, random_state=0)
support = SVC(RBF(gamma=1.0), C=1.0).fit(X, labels)
relevance = RelevanceVectorClassifier(RBF(gamma=1.0)).fit(X, labels)
print(f"support vectors: {len(support.support_)}, relevance vectors: {len(relevance.relevance_)} of {len(X)} samples")

across, up = np.meshgrid(np.linspace(-2.6, 2.7, 150), np.linspace(-2.4, 2.4, 150))
points = np.column_stack([across.ravel(), up.ravel()])
figure, axes = plt.subplots(ncols=2, figsize=(12, 5), sharey=True, layout="constrained")
decision = support.decision_function(points).reshape(across.shape)
axes[0].contour(across, up, decision, levels=[-1, 0, 1], colors="black", linestyles=["--", "-", "--"])
axes[0].set_title(f"SVC: {len(support.support_)} support vectors")
probability = relevance.predict_proba(points)[:, 1].reshape(across.shape)
drawn = axes[1].contourf(across, up, probability, levels=np.linspace(0, 1, 21), cmap="coolwarm", alpha=0.7)
axes[1].contour(across, up, probability, levels=[0.5], colors="black")
axes[1].set_title(f"RelevanceVectorClassifier: {len(relevance.relevance_)} relevance vectors")
figure.colorbar(drawn, ax=axes[1], label="probability of the second class")
for ax, machine in zip(axes, (support, relevance), strict=True):
    ax.scatter(*X.T, c=labels, cmap="coolwarm", s=15, edgecolors="k", linewidths=0.3)
    ax.scatter(*machine.support_vectors_.T, s=90, facecolors="none", edgecolors="black", linewidths=1.2)
    ax.set(xticks=[], yticks=[])

plt.show()

# %%
# .. rubric:: References
#
# .. [1] C. M. Bishop, Pattern Recognition and Machine Learning, 2006.
