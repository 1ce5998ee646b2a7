r"""
Which descriptions of a protein tell its fold?
==============================================

A protein is a chain of residues that folds into a shape. The case study of [1]_ (section 3.9) tells 27 folds apart by
twelve descriptions of the chain, each with a kernel of its own, and asks which of them matter: multiple kernel learning
weighs the kernels and learns the machine on their sum at once. SimpleMKL sets most weights to zero; in [1]_ a rule that
uses all kernels is more accurate. Here is the study from the sequences on, with two questions more: what plain sums are
worth, and what of the accuracy comes from proteins that are in both sets.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import StandardScaler

from mercer import SVC, MKLClassifier
from mercer.data import residue_composition, residue_distribution, residue_order
from mercer.datasets import load_dataset
from mercer.kernels import RBF, LocalAlignment, Mismatch, On, Spectrum
from mercer.plots import KernelWeightsDisplay

# %%
# The data
# --------
#
# The sequences of Ding and Dubchak [2]_ do not come with the package. ``load_dataset`` finds them in the folder that
# the environment variable ``MERCER_DATASETS`` names; where there are none, random sequences with motifs take their
# place, which it says, and then the page shows how the study is done and nothing about proteins. There are 311 and 383
# proteins; the studies of the literature had 313 and 385. Some proteins are in both sets, a few of them with another
# fold in the one than in the other.

proteins = load_dataset("ding_dubchak", stand_in=True)
sequences, y = proteins.data, proteins.target
new_sequences, new_y = proteins.data_test, proteins.target_test
n, fold = len(y), dict(zip(sequences, y, strict=True))
seen = np.array([sequence in fold for sequence in new_sequences])
same = np.array([fold.get(sequence) == of for sequence, of in zip(new_sequences, new_y, strict=True)])
print(f"{n} proteins to learn from, {len(new_y)} to test, {len(np.unique(y))} folds")
print(f"{seen.sum()} test proteins are in the training set as well, {(seen & ~same).sum()} of them with another fold")

# %%
# Eleven descriptions
# -------------------
#
# C is the composition, the shares of the 20 residues. H, P, V and Z describe where along the chain there are residues
# of little, middle and much hydrophobicity, polarity, volume and polarizability. L1 to L30 add to the composition how
# alike residues are that are 1 to 30 places apart. SW1 and SW2 are the scores of the best local alignments with each of
# the training proteins, by the tables BLOSUM62 and PAM50; scores spread widely, so we take their logarithms. The
# twelfth, S, was the secondary structure as a program of that time predicted it, and cannot be computed again.

both = sequences + new_sequences
groups = {"C": residue_composition(both)}
for name, attribute in zip("HPVZ", ("hydrophobicity", "polarity", "volume", "polarizability"), strict=True):
    groups[name] = residue_distribution(both, attribute)
for ranks in (1, 4, 14, 30):
    groups[f"L{ranks}"] = residue_order(both, ranks)
for name, table in (("SW1", "BLOSUM62"), ("SW2", "PAM50")):
    score = LocalAlignment(table, gap_open=11.0)
    groups[name] = np.log1p(np.vstack([score(sequences), score(new_sequences, sequences)]))
columns = {name: StandardScaler().fit(group[:n]).transform(group) for name, group in groups.items()}
train = {"sequence": sequences} | {name: column[:n] for name, column in columns.items()}
test = {"sequence": new_sequences} | {name: column[n:] for name, column in columns.items()}
print(*(f"{name} {column.shape[1]}" for name, column in columns.items()), sep=", ")

# %%
# One kernel at a time
# --------------------
#
# Every description gets a Gaussian kernel on standardised numbers, of the default width. Two kernels on the strings
# themselves, which the study of 2011 did not have, stand beside them: common pieces of two letters, and of three of
# which one may differ. All machines tell one fold from the rest, with :math:`C = 10`.
#
# Kernel, price and scheme were chosen among some forty ways while folds of the training set and the test set were both
# in sight, so that the figures flatter a little: they compare kernels with each other, and are no estimate for others.

kernels = {name: On(name, RBF()) for name in columns}
kernels["spectrum"] = On("sequence", Spectrum(2).normalized())
kernels["mismatch"] = On("sequence", Mismatch(3, 1, alphabet="ACDEFGHIKLMNPQRSTVWYBZX").normalized())
options = {"C": 10.0, "multi_class": "ovr"}


def accuracies(machine):
    """Of all test proteins, and of those that are not in the training set."""
    right = machine.fit(train, y).predict(test) == new_y
    return right.mean(), right[~seen].mean()


alone = {name: accuracies(SVC(kernel, **options)) for name, kernel in kernels.items()}
print("                 all   new ones")
for name, (of_all, of_new) in alone.items():
    print(f"{name:14} {of_all:6.1%} {of_new:9.1%}")

# %%
# All kernels together
# --------------------
#
# SimpleMKL finds the weights of sum one with the best machine. A rule of divergences [3]_, div-dc, looks at no machine:
# it takes the kernel of the folds and the sum of kernels as Gaussians and brings them close to each other. With the
# 2-norm, weights are never zero, and the uniform sum has nothing to learn. Each has the eleven kernels of the
# descriptions, and then the two on strings besides.

ways = {
    "SimpleMKL": {"algorithm": "simple"},
    "div-dc": {"algorithm": "div-dc"},
    "2-norm": {"norm": 2.0},
    "uniform": {"norm": np.inf},
}
sets = {"descriptions": list(columns), "and strings": list(kernels)}
machines, together = {}, {}
for way, parameters in ways.items():
    for which, names in sets.items():
        machine = MKLClassifier([kernels[name] for name in names], **parameters, **options)
        together[way, which] = accuracies(machine)
        machines[way, which] = machine
        of_all, of_new = together[way, which]
        n_used = np.count_nonzero(machine.weights_ > 1e-3 * machine.weights_.max())
        print(f"{way:10} {which:13} all {of_all:.1%}, new ones {of_new:.1%}, {n_used} of {len(names)} kernels used")

# %%
# Weights and accuracies, as in figures 3.1 and 3.2 of [1]_. The alignments are by far the best descriptions, and all
# ways find that out: div-dc and SimpleMKL leave hardly anything to the others, the 2-norm gives the alignments most.

figure, axes = plt.subplots(1, 3, figsize=(12.0, 5.6), layout="constrained")
for ax, way in zip(axes, ("div-dc", "SimpleMKL", "2-norm"), strict=True):
    weights, of_all = machines[way, "and strings"].weights_, together[way, "and strings"][0]
    scores = [100 * alone[name][0] for name in kernels]
    KernelWeightsDisplay(list(kernels), weights, scores, 100 * of_all, "correct, %,").plot(ax)
    ax.set_title(way)
    if ax is not axes[0]:
        ax.set_yticklabels([])
plt.show()

# %%
# What is new, and what has been seen
# -----------------------------------
#
# A machine is right about a protein that it has learnt, unless the fold was another one. Without the proteins that are
# in both sets all accuracies are lower, those of weak kernels most, and the order hardly changes.
#
# Of these descriptions, the combinations that trust the alignments are about as good as the better alignment alone;
# differences of a few proteins among 383 may be chance. The more weight the others have, the worse it is. In the
# literature it is otherwise: with the original numbers, and S among them, combinations are better than every
# description, div-dc gives weight to all of them [1]_, and it is right about 75.19 % of the test proteins [3]_. With
# other descriptions and four proteins less, these figures and ours are not to be compared closely.

rows = {
    **alone,
    **{
        f"{way} of {which}" if which == "descriptions" else f"{way} with strings": rates
        for (way, which), rates in together.items()
    },
}
rows = dict(sorted(rows.items(), key=lambda item: item[1][1]))
places = np.arange(len(rows))
of_all, of_new = 100 * np.array(list(rows.values())).T
_, ax = plt.subplots(figsize=(7.2, 5.6), layout="constrained")
ax.hlines(places, of_new, of_all, color="0.7")
ax.plot(of_all, places, "o", color="C0", label="all test proteins")
ax.plot(of_new, places, "D", color="C3", label="those not in the training set")
ax.set_yticks(places, list(rows))
for label, name in zip(ax.get_yticklabels(), rows, strict=True):
    label.set_fontweight("normal" if name in alone else "bold")
ax.grid(axis="x", alpha=0.3)
ax.set(xlabel="correct, %", title="27 folds; combinations in bold")
ax.legend(loc="lower right")
plt.show()
best = max(alone, key=lambda name: alone[name][0])
top = max(together, key=lambda key: together[key][0])
print(f"best alone: {best}, {alone[best][0]:.1%}; best together: {', '.join(top)}, {together[top][0]:.1%}")

# %%
# .. rubric:: References
#
# .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011.
# .. [2] C. Ding, I. Dubchak, Multi-class protein fold recognition using support vector machines and neural networks,
#    Bioinformatics 17, 2001.
# .. [3] Y. Ying, K. Huang, C. Campbell, Enhanced protein fold recognition through a novel data integration approach,
#    BMC Bioinformatics 10, 2009.
