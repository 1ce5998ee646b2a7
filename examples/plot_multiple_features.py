r"""
Six descriptions of a digit: which are needed?
==============================================

The numerals on Dutch utility maps, 200 of each digit, were described in six ways [2]_: by pixels, profiles, Fourier
coefficients of the shape, and so on. Each description has a kernel, and multiple kernel learning weighs them ([1]_,
sections 3.6-3.9). What is each worth alone, what are they worth together, which of them repeat what others say, and is
it right to leave some of them out?
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import MultipleLocator, PercentFormatter
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from mercer import SVC
from mercer.datasets import load_multiple_features
from mercer.gram import centered_alignment
from mercer.kernels import RBF, On
from mercer.mkl import MKLClassifier, weights_path
from mercer.plots import KernelWeightsDisplay

# %%
# The groups
# ----------
#
# The data comes with the package. 30 samples of each digit are learnt from, and the other 1700 are predicted. Features
# are standardised by the samples that are learnt from, and every group has a Gaussian kernel whose width comes from
# them, too.

GROUPS = {
    "fou": "Fourier coefficients",
    "fac": "profile correlations",
    "kar": "Karhunen-Loève",
    "pix": "pixels",
    "zer": "Zernike moments",
    "mor": "morphology",
}


digits = load_multiple_features(as_frame=True)
X, X_test, y, y_test = train_test_split(
    digits.data, digits.target, train_size=300, stratify=digits.target, random_state=0
)
scaler = StandardScaler().set_output(transform="pandas").fit(X)
X, X_test = scaler.transform(X), scaler.transform(X_test)
columns = digits.groups
kernels = [On(some, RBF()) for some in columns.values()]
print(", ".join(f"{GROUPS[name]} {len(some)}" for name, some in columns.items()))

# %%
# Alone and together
# ------------------
#
# A machine for each group, and machines on all of them, with the weights of several norms, from the 1-norm, which makes
# them sparse, to equal weights, which is the norm of infinity. ``weights_path`` computes the matrices once, and starts
# every search from the weights of the last one; the seconds are those of the searches. The classes are separable with
# each of the combinations, so that C does not matter. The gap is what the certificate proves: no weights of the set
# make the objective smaller by more than that.
#
# Together the groups are better than the best of them, in whatever way they are weighed. Morphology, six numbers, is
# the worst of all groups alone, and has the largest or second largest weight: it says what the others do not. The
# coefficients of Karhunen and Loève are nearly as good as the best alone, and have no weight in the 1-norm.

alone = [SVC(kernel, C=100.0).fit(X, y).score(X_test, y_test) for kernel in kernels]
for name, score in zip(GROUPS.values(), alone, strict=True):
    print(f"{name:22}{score:.1%}")
norms = [1.0, 1.1, 1.25, 1.5, 2.0, 4.0, np.inf]
path = weights_path(MKLClassifier(kernels, C=100.0), X, y, norm=norms)
machines = dict(zip(norms, path.machines, strict=True))
scores = {norm: machine.score(X_test, y_test) for norm, machine in machines.items()}
for norm, machine in machines.items():
    found = machine.weights_result_
    print(
        f"norm {norm:<5g}{scores[norm]:.1%}   gap {found.relative_gap:.1e}   "
        f"{found.n_iter} machines tried in {found.seconds:.1f} s"
    )

_, axes = plt.subplots(ncols=2, figsize=(10, 4.2), sharey=True, layout="constrained")
for ax, norm in zip(axes, (1.0, 2.0), strict=True):
    display = KernelWeightsDisplay(
        GROUPS.values(), machines[norm].weights_, alone, scores[norm], score_name="test accuracy"
    )
    display.plot(ax).score_ax_.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.set_title(f"{norm:g}-norm", fontweight="bold", loc="left")
plt.show()

# %%
# How sparse?
# -----------
#
# The norm says how unequal weights may be. On the left they are divided by their sum, from the sparsest to equal ones.
# On the right is what comes of it. All six groups know something of a digit, and it costs to leave out two of them: the
# accuracy is highest for weights that are nearly equal.

shares = path.weights / path.weights.sum(axis=1, keepdims=True)
at, labels = np.arange(len(norms)), [r"$\infty$" if np.isinf(norm) else f"{norm:g}" for norm in norms]
_, axes = plt.subplots(ncols=2, figsize=(10, 3.8), layout="constrained")
for k, name in enumerate(GROUPS.values()):
    axes[0].bar(at, shares[:, k], 0.8, bottom=shares[:, :k].sum(axis=1), label=name)
axes[0].set(ylabel="share of the weights", ylim=(0, 1))
axes[0].legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=3, fontsize="small")
axes[1].plot(at, list(scores.values()), "o-")
axes[1].axhline(max(alone), color="0.5", linestyle="--")
axes[1].annotate("best group alone", (at[-1], max(alone)), (0, 4), textcoords="offset points", ha="right")
axes[1].set(ylabel="test accuracy")
axes[1].yaxis.set_major_locator(MultipleLocator(0.005))
axes[1].yaxis.set_major_formatter(PercentFormatter(1.0, decimals=1))
for ax in axes:
    ax.set_xticks(at, labels)
    ax.set_xlabel("norm")
plt.show()

# %%
# Which groups repeat others?
# ---------------------------
#
# On the left the centred alignment of the kernels: 1 is the same kernel, 0 has nothing in common. Profiles, the
# Karhunen-Loève transform and pixels are alike. Of these the 1-norm leans on one and drops another. On the right, how
# many more of the 1700 test samples are wrong when a group is left out and the machine is trained again. Groups without
# weight are not missed by the 1-norm, as it must be. Only morphology, which is like no other, is much missed by both. A
# weight says what a group adds to the others, not what it knows.

matrices = [kernel.resolve(X)(X) for kernel in kernels]
alike = np.array([[centered_alignment(one, other) for other in matrices] for one in matrices])
missed = {}
for method, norm in {"equal weights": np.inf, "1-norm": 1.0}.items():
    machine = MKLClassifier(C=100.0, norm=norm)
    without = [kernels[:k] + kernels[k + 1 :] for k in range(len(kernels))]
    kept = [machine.set_params(kernels=some).fit(X, y).score(X_test, y_test) for some in without]
    missed[method] = np.round(len(y_test) * (scores[norm] - np.array(kept))).astype(int)
    print(f"{method:14}", *(f"{n:+d} without {name}" for n, name in zip(missed[method], GROUPS, strict=True)))

at = np.arange(len(GROUPS))
_, axes = plt.subplots(ncols=2, figsize=(10, 4.2), layout="constrained", width_ratios=[1.1, 1])
axes[0].imshow(alike, cmap="Blues", vmin=0, vmax=1)
for row, column in np.ndindex(alike.shape):
    dark = alike[row, column] > 0.6
    axes[0].text(column, row, f"{alike[row, column]:.2f}", ha="center", va="center", color="w" if dark else "k")
axes[0].set_xticks(at, GROUPS)
axes[0].set_yticks(at, GROUPS.values())
axes[0].set_title("alignment of the kernels")
for k, (method, numbers) in enumerate(missed.items()):
    axes[1].barh(at + 0.4 * (k - 0.5), numbers, 0.4, label=method, color=f"C{2 - 2 * k}")
axes[1].set_yticks(at, GROUPS)
axes[1].set_ylim(len(at) - 0.5, -0.5)
axes[1].axvline(0.0, color="0.5", linewidth=0.8)
axes[1].set(title="more errors without the group", xlabel="test samples, of 1700")
axes[1].legend()
plt.show()

# %%
# Groups that know nothing
# ------------------------
#
# Now every group has doubles whose rows are shuffled: the same numbers, about other digits. The 1-norm leaves out what
# means nothing, however much there is of it, and is as good as before. Equal weights stand one double of each group,
# which is half of the kernel, but not many.

rng = np.random.default_rng(0)
numbers = [0, 1, 3, 9]


def with_doubles(table):
    """The columns ``1_pix7``, ``2_pix7``, ... are shuffled, those of a group alike."""
    parts = [
        table[some].iloc[rng.permutation(len(table))].set_index(table.index).add_prefix(f"{number}_")
        for number in range(1, max(numbers) + 1)
        for some in columns.values()
    ]
    return pd.concat([table, *parts], axis=1)


Z, Z_test = with_doubles(X), with_doubles(X_test)
curves = {1.0: [], 2.0: [], np.inf: []}
for norm, curve in curves.items():
    for number in numbers:
        doubles = [
            On([f"{double}_{column}" for column in some], RBF())
            for double in range(1, number + 1)
            for some in columns.values()
        ]
        machine = MKLClassifier(kernels + doubles, C=100.0, norm=norm).fit(Z, y)
        curve.append(machine.score(Z_test, y_test))
        share = machine.weights_[len(kernels) :].sum() / machine.weights_.sum()
        print(f"norm {norm:<5g}{number} doubles: {curve[-1]:.1%}, {share:.0%} of the weight on them")

at = np.arange(len(numbers))
_, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
for (norm, curve), marker in zip(curves.items(), "os^", strict=True):
    ax.plot(at, curve, f"{marker}-", label="equal weights" if np.isinf(norm) else f"{norm:g}-norm")
ax.set_xticks(at, numbers)
ax.set(xlabel="shuffled doubles of each group", ylabel="test accuracy")
ax.yaxis.set_major_locator(MultipleLocator(0.01))
ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
ax.legend()
plt.show()

# %%
# .. rubric:: References
#
# .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011.
# .. [2] M. van Breukelen, R. P. W. Duin, D. M. J. Tax, J. E. den Hartog, Handwritten digit recognition by combined
#    classifiers, Kybernetika 34, 1998, 381-386.
