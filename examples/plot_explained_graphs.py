r"""
Which atoms speak for a decision
================================

In every molecule of this page there is one nitrogen, in the ring or in a branch; which of the two is the class. A
machine with the kernel of Weisfeiler and Lehman tells them apart. Does it look at the nitrogen? Its function is a sum
over neighbourhoods of atoms, and what each adds can be drawn on the atoms that it is made of.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC
from mercer.datasets import make_molecules
from mercer.explanations import explain
from mercer.kernels import WeisfeilerLehman
from mercer.plots import FeatureWeightsDisplay, GraphDisplay

molecules, in_ring = make_molecules(400, random_state=0)
learnt, new = slice(0, 300), slice(300, 400)
machine = SVC(WeisfeilerLehman(3), C=0.1).fit(molecules[learnt], in_ring[learnt])
print(f"{machine.score(molecules[new], in_ring[new]):.0%} of the new molecules are right")

# %%
# Four molecules that it has not seen
# -----------------------------------
#
# Orange atoms speak for a nitrogen in the ring, violet ones for one in a branch; shares of atoms and an offset add up
# to the decision value. With the nitrogen in the ring, it and its neighbours are darkest. With the nitrogen in a
# branch, the darkest atoms are carbons of the ring: what the machine has noticed there is that none of their neighbours
# is it. All have the same scale.

shown = (301, 303, 300, 302)
reach = max(np.abs(explain(machine, molecules[number]).shares).max() for number in shown)
figure, axes = plt.subplots(1, 4, figsize=(13, 3.4), layout="constrained")
for ax, number in zip(axes, shown, strict=True):
    found = explain(machine, molecules[number])
    display = GraphDisplay.from_graph(molecules[number], found.shares, ax=ax, vmin=-reach, vmax=reach)
    if number != shown[-1]:
        display.colorbar_.remove()
    ax.set_title(f"{'ring' if in_ring[number] else 'branch'}, decision {found.decision:.1f}")
display.colorbar_.set_label("share of the decision value")
plt.show()

# %%
# Distances and names
# -------------------
#
# On the left, absolute shares by the number of bonds between an atom and the nitrogen, means over the new molecules.
# They are largest at the nitrogen and fall slowly: a neighbourhood shares what it adds among all of its atoms, and a
# carbon with three carbons about it, wherever it is, speaks for a ring without nitrogen. On the right the
# neighbourhoods with the largest weights: an atom, with its neighbours in brackets, and theirs. The numbers at the bars
# are how often support vectors have them; that carbon is the last.

shares = [[] for _ in range(8)]
for molecule in molecules[new]:
    away = np.full(molecule.n_nodes, -1)
    reached, steps = {molecule.node_labels.index("N")}, 0
    while reached:
        away[list(reached)] = steps
        neighbours = {int(b if a in reached else a) for a, b in molecule.edges if (a in reached) != (b in reached)}
        reached, steps = {atom for atom in neighbours if away[atom] < 0}, steps + 1
    for atom, share in enumerate(explain(machine, molecule).shares):
        if away[atom] < len(shares):
            shares[away[atom]].append(abs(share))
means = [np.mean(some) for some in shares]
print("mean absolute share by distance:", *(f"{mean:.2f}" for mean in means))

figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
axes[0].bar(np.arange(len(means)), means, color="C0")
axes[0].set(xlabel="bonds between atom and nitrogen", ylabel="mean absolute share")
FeatureWeightsDisplay.from_estimator(machine, n_each=8, ax=axes[1])
plt.show()
