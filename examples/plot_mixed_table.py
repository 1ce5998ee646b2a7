r"""
One table with strings, graphs and numbers
==========================================

A screen of compounds against variants of a protein: every row has the sequence of the variant, the molecule as a graph,
and measured numbers, besides columns that may have nothing to do with the outcome. Each column has a kernel that suits
it, the kernels are added, and the weights of the sum are learnt with the machine ([1]_, sections 3.6-3.9). The rows are
generated, so that it is known which columns matter; what the page shows is whether the machine finds out.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import PercentFormatter
from sklearn.model_selection import GridSearchCV, cross_val_score

from mercer import SVC, MKLClassifier
from mercer.datasets import make_molecules, make_sequences
from mercer.explanations import explain
from mercer.kernels import RBF, On, Spectrum, WeisfeilerLehman
from mercer.mkl import weights_path
from mercer.plots import KernelWeightsDisplay

# %%
# The table
# ---------
#
# Three things favour a hit: a motif in the sequence, a nitrogen in the ring of the molecule and not in a branch, and
# expression values far from the mean, in whatever direction. A row is a hit if two of the three are there. No column
# can tell alone. The batch number, as letters, the readings of the plate and the barcode are noise.

rng = np.random.default_rng(0)


def screen(n_rows):
    """A table of so many rows, and which of them are hits."""
    sequences, motif = make_sequences(n_rows, random_state=rng)
    molecules, in_ring = make_molecules(n_rows, n_atoms=(12, 15), oxygen=0.0, random_state=rng)
    shuffled = rng.permutation(n_rows)  # the motif and the place of the nitrogen are independent
    molecules, in_ring = [molecules[number] for number in shuffled], in_ring[shuffled]
    far = rng.random(n_rows) < 0.5
    direction = rng.normal(size=(n_rows, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    expression = np.where(far, 2.5, 1.0)[:, np.newaxis] * direction + 0.2 * rng.normal(size=(n_rows, 3))
    table = pd.DataFrame(expression, columns=["expr1", "expr2", "expr3"])
    table["seq"] = sequences
    table["graph"] = molecules
    table["batch"] = ["".join(rng.choice(list("ABCD"), 12)) for _ in range(n_rows)]
    table["barcode"] = ["".join(rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), 20)) for _ in range(n_rows)]
    table[["plate1", "plate2"]] = rng.normal(size=(n_rows, 2))
    return table, motif + in_ring + far >= 2


X, y = screen(400)
X_new, y_new = screen(1000)
print(X.drop(columns="graph").head(3).to_string(), X["graph"][0], sep="\n")

# %%
# A kernel for each column
# ------------------------
#
# The sum is one kernel on whole rows, and a support vector machine takes it as it is. ``MKLClassifier`` takes its
# terms, divides each by the mean of its diagonal and learns how much it counts; the barcode is left aside at first. The
# picture has the weights, and the accuracies of machines on one term each, in cross-validation: noise does not get a
# weight, and no term comes near what they reach together.

NAMES = ["sequence", "molecule", "expression", "batch", "plate"]
kernel = (
    On("seq", Spectrum(3))
    + On("graph", WeisfeilerLehman(3))
    + On(["expr1", "expr2", "expr3"], RBF())
    + On("batch", Spectrum(3))
    + On(["plate1", "plate2"], RBF())
)
machine = MKLClassifier(kernel, C=10.0).fit(X, y)
print(machine.weights_result_)

_, ax = plt.subplots(figsize=(6.6, 3.8), layout="constrained")
display = KernelWeightsDisplay.from_estimator(machine, X, y, names=NAMES, score_name="accuracy", ax=ax)
display.score_ax_.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
plt.show()

# %%
# What speaks for a row
# ---------------------
#
# The decision value of a row falls apart into those of its columns, exactly (:func:`mercer.explanations.explain`):
# pieces of the sequence, neighbourhoods of atoms in the molecule, and the three expression values together, since a
# Gaussian kernel counts nothing. Of four new rows the first two and the last have the motif, WKRGD, whose pieces come
# out by name. The last is a hit by motif and molecule, though its expression values speak against it.

columns = {"sequence": ["seq"], "molecule": ["graph"], "expression": ["expr1", "expr2", "expr3"]}
print("hit    decision", *(f"{name:>10}" for name in columns), "  offset  the pieces that add most")
for number in (1, 3, 4, 5):
    found = explain(machine, X_new.iloc[[number]])
    of_column = dict(zip(X_new.columns, found.shares, strict=True))
    sums = [sum(of_column[column] for column in some) for some in columns.values()]
    pieces = [name for name in found.names if ":" in name][:3]
    print(f"{y_new[number]!s:5} {found.decision:9.2f}", *(f"{value:10.2f}" for value in sums), end="")
    print(f"{found.offset:9.2f}  {', '.join(pieces)}")

# %%
# New rows
# --------
#
# A thousand rows that nobody has seen. In the plain sum noise is as loud as the rest. The weights of the 1-norm leave
# it out, but they are not the best either: most of them is on the sequence, since pieces of three letters, which few
# sequences have in common, are the easiest to separate classes with. A norm in between holds the three columns closer
# together, and gives little to the noise. The table was made up for this page, and its columns were settled with such
# rows in sight: it shows how the weights work, not how large the difference is elsewhere.

others = {f"learnt, norm {norm:g}": MKLClassifier(kernel, C=10.0, norm=norm) for norm in (1.0, 1.5, 2.0)}
# Five equal weights of one are five times as much as weights of sum one: a fifth of the price makes up for it.
equal = MKLClassifier(kernel, C=2.0, norm=np.inf)
others = {"plain sum": SVC(kernel, C=10.0), "equal weights": equal, **others}
for name, other in others.items():
    print(f"{name:18}{other.fit(X, y).score(X_new, y_new):.1%}", *getattr(other, "weights_", np.array([])).round(2))
print(f"kernel_ in an SVC {SVC(machine.kernel_, C=10.0).fit(X, y).score(X_new, y_new):.1%}")

# %%
# Parameters of the columns
# -------------------------
#
# Every parameter of every kernel has a name, and a search of scikit-learn goes over them, and over the norm: how long
# the pieces of the sequence are, how far the kernel on molecules sees, how sparse the weights are. In every fold they
# are learnt anew. The score of the search has chosen the parameters; an outer loop says what the whole procedure is
# worth, with fewer rows.

grid = {"kernels__0__kernel__p": [2, 3], "kernels__1__kernel__h": [1, 3], "norm": [1.0, 1.5, 2.0]}
search = GridSearchCV(MKLClassifier(kernel, C=10.0), grid, cv=5).fit(X, y)
print(search.best_params_)
print(f"best score {search.best_score_:.1%}, new rows {search.score(X_new, y_new):.1%}")
print(f"outer loop {cross_val_score(search, X, y, cv=3).mean():.1%}")

# %%
# A column that fits anything
# ---------------------------
#
# Barcodes are noise, too. But no two of them are alike, and the matrix of their kernel is nearly the identity: with it
# any labels of the rows that are learnt can be separated, and where C is so large that all must be, it gets a weight.
# Weights are learnt from the training rows, and nothing forbids such a column to fit them. With C = 1 it has no weight.

prices = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0]
path = weights_path(MKLClassifier(kernel + On("barcode", Spectrum(3))), X, y, C=prices)
for C, weights, one in zip(prices, path.weights, path.machines, strict=True):
    print(f"C = {C:<5g}{weights[5]:.0%} on barcodes, new rows {one.score(X_new, y_new):.1%}")

_, ax = plt.subplots(figsize=(6.6, 3.8), layout="constrained")
for k, name in enumerate([*NAMES, "barcode"]):
    noise = k >= 3
    ax.semilogx(
        prices, path.weights[:, k], "s--" if noise else "o-", color=f"{0.2 * (k - 2)}" if noise else f"C{k}", label=name
    )
ax.set(xlabel="C", ylabel="weight", ylim=(-0.02, 1))
ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
plt.show()

# %%
# .. rubric:: References
#
# .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011.
