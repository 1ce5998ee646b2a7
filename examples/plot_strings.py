r"""
Finding promoters with kernels on strings
=========================================

A promoter is a piece of DNA to which the enzyme that reads a gene binds. The bundled data has 53 promoters of the
bacterium Escherichia coli and 53 other pieces, each of 57 letters. There are no features to choose: strings go into the
machine, and the kernel says what two of them have in common ([1]_, section 3.4).
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse.csgraph import connected_components
from sklearn.model_selection import StratifiedGroupKFold, cross_val_score

from mercer import SVC, KernelPCA
from mercer.datasets import load_promoters
from mercer.gram import centered_alignment
from mercer.kernels import GapWeighted, Mismatch, Spectrum, WeightedDegree
from mercer.plots import GramDisplay, KernelPCADisplay

strings, y = load_promoters(return_X_y=True)
print(f"{len(strings)} strings of {len(strings[0])} letters, {y.sum()} of them promoters")
print("a promoter ", strings[0])
print("no promoter", strings[-1])

# %%
# Four ways to be similar
# -----------------------
#
# Two strings are similar if they share pieces of four letters (spectrum), pieces of five of which one may differ
# (mismatch), four letters in the same order with gaps between them (gap-weighted), or pieces at the same places
# (weighted degree). All kernels are normalised: a string has the value 1 with itself.

kernels = {
    "spectrum": Spectrum(4).normalized(),
    "mismatch": Mismatch(5, 1, alphabet="acgt").normalized(),
    "gap-weighted": GapWeighted(4, decay=0.5).normalized(),
    "weighted degree": WeightedDegree(5).normalized(),
}
matrices = {name: kernel(strings) for name, kernel in kernels.items()}
for name, K in matrices.items():
    print(f"{name:16} alignment with the classes {centered_alignment(K, y):.2f}")

meaning = np.array(["others", "promoters"])[y]
_, axes = plt.subplots(2, 2, figsize=(8.6, 7.2), layout="constrained")
for ax, (name, K) in zip(axes.flat, matrices.items(), strict=True):
    GramDisplay.from_matrix(K, meaning, ax=ax)
    ax.set_title(name)
plt.show()

# %%
# It pays to look. By the first two kernels some of the other pieces, above on the left, are nearly equal, which pieces
# of DNA are not by chance. They overlap: most were cut out of one longer string. A kernel that compares places does not
# see that, since the common part lies at different ones. Strings that share fifteen letters in a row make a group.

overlap = Spectrum(15)(strings) > 0
n_groups, group = connected_components(overlap)
repeated = np.bincount(group)[group] > 1
print(f"{repeated[y == 1].sum()} promoters and {repeated[y == 0].sum()} other pieces overlap with another one")
print(f"{n_groups} groups, the largest of {np.bincount(group).max()} strings")

# %%
# The strings as points
# ---------------------
#
# Two principal components in feature space place the strings in a plane so that inner products are kept as well as they
# can be.

_, axes = plt.subplots(1, 2, figsize=(8.8, 4.4), layout="constrained")
for ax, name in zip(axes, ("mismatch", "weighted degree"), strict=True):
    components = KernelPCA(kernels[name], n_components=2).fit(strings)
    KernelPCADisplay.from_estimator(components, strings, meaning, ax=ax)
    ax.set_title(name)
plt.show()

# %%
# What machines make of it
# ------------------------
#
# Ten folds, three times over; a machine on strings is used as any other one. In folds drawn at random, a piece that is
# tested has often been seen in training, but for a few letters. Folds that keep groups together tell another story:
# only the kernel that looks at places has learnt what a promoter is.

together = {"at random": np.arange(len(y)), "by groups": group}  # what must not be torn apart
splits = [StratifiedGroupKFold(10, shuffle=True, random_state=seed) for seed in range(3)]
rates = {}
for name, kernel in kernels.items():
    machine = SVC(kernel, C=10.0)
    for way, groups in together.items():
        rates[name, way] = [100 * cross_val_score(machine, strings, y, groups=groups, cv=cv).mean() for cv in splits]
    print(f"{name:16}", *(f"  {way} {np.mean(rates[name, way]):.1f} %" for way in together))

_, ax = plt.subplots(figsize=(6.6, 3.2), layout="constrained")
for way, marker, colour in (("at random", "o", "C0"), ("by groups", "D", "C3")):
    for row, name in enumerate(kernels):
        scores = rates[name, way]
        ax.plot(scores, [row] * 3, marker, color=colour, alpha=0.35, markersize=5)
        ax.plot(np.mean(scores), row, marker, color=colour, markersize=10, label=f"folds {way}" if row == 0 else None)
ax.set_yticks(range(len(kernels)), list(kernels))
ax.set_ylim(3.5, -0.5)
ax.grid(axis="x", alpha=0.3)
ax.set(xlabel="correct in cross-validation, %", title="Is it a promoter?")
ax.legend(loc="lower left")
plt.show()

# %%
# .. rubric:: References
#
# .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011.
