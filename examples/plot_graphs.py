r"""
Molecules, and a club that fell apart
=====================================

Kernels compare graphs with graphs, and the nodes of one graph with each other ([1]_, section 3.4). First machines learn
where an atom sits in a molecule. Then one machine learns from two members of a club on which side the others are.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score

from mercer import SVC
from mercer.data import Graph
from mercer.datasets import make_molecules
from mercer.kernels import Diffusion, EdgeHistogram, ShortestPath, VertexHistogram, WeisfeilerLehman
from mercer.plots import GraphDisplay

# %%
# Molecules of our own
# --------------------
#
# A ring of six atoms grows branches at random, up to three bonds an atom. Some ends become oxygen. One atom with two
# bonds becomes nitrogen: in the ring, or in a branch. Which of the two is the class.

graphs, in_ring = make_molecules(200, random_state=0)
places = np.where(in_ring, "ring", "branch")
print(graphs[0])

colours = {"C": "lightgrey", "N": "C0", "O": "C3"}
_, axes = plt.subplots(2, 4, figsize=(9, 4.8), layout="constrained")
for row, place in zip(axes, ("ring", "branch"), strict=True):
    for ax, number in zip(row, np.flatnonzero(places == place), strict=False):
        GraphDisplay.from_graph(
            graphs[number], ax=ax, color=[colours[kind] for kind in graphs[number].node_labels], s=120
        )
        ax.set_title(f"N in the {place}", fontsize=10)
plt.show()

# %%
# How far a kernel must see
# -------------------------
#
# Counting atoms tells nothing, since all molecules have one N. Counting bonds by their ends tells a little. The kernel
# of Weisfeiler and Lehman counts neighbourhoods, after h rounds those of up to h steps: one step tells most of what
# there is to know, four nearly all. Neighbourhoods of many steps are each one of its kind, which helps no one.

folds = StratifiedKFold(5, shuffle=True, random_state=0)


def correct(kernel):
    return 100 * cross_val_score(SVC(kernel.normalized(), C=10.0), graphs, places, cv=folds).mean()


rounds = np.arange(9)
curve = [correct(WeisfeilerLehman(int(h))) for h in rounds]
others = {"atoms": VertexHistogram(), "bonds": EdgeHistogram(ends=True), "shortest paths": ShortestPath()}

_, ax = plt.subplots(figsize=(6.6, 3.8), layout="constrained")
ax.plot(rounds, curve, "o-", color="C0", linewidth=2, label="Weisfeiler-Lehman")
for (name, kernel), style in zip(others.items(), (":", "--", "-."), strict=True):
    level = correct(kernel)
    ax.axhline(level, color="black", linestyle=style, linewidth=1, label=f"{name}, {level:.0f} %")
ax.set(xlabel="rounds h", ylabel="correct in cross-validation, %", ylim=(45, 101), title="Where is the nitrogen?")
ax.grid(axis="y", alpha=0.3)
ax.legend(loc="center right", bbox_to_anchor=(1.0, 0.57))
plt.show()

# %%
# The nodes of one graph
# ----------------------
#
# The members of a karate club and how much they had to do with each other, as W. Zachary saw it in the years before the
# club fell apart. The diffusion kernel :math:`e^{\beta H}` says how much of a drop of ink at one node has come to
# another after the time :math:`\beta`. Here the ink starts at the instructor, with the red edge; darker is more,
# relative to the most in each picture.

club = nx.karate_club_graph()
friends = Graph.from_networkx(club)
layout = nx.spring_layout(club, seed=3, weight=None)
members = list(club)

figure, axes = plt.subplots(1, 3, figsize=(11, 2.9), layout="constrained")
for ax, beta in zip(axes, (0.02, 0.1, 0.5), strict=True):
    ink = Diffusion(friends, beta)(members, [0])[:, 0]
    first = np.array(members) == 0
    edges = {"edgecolors": np.where(first, "red", "white"), "linewidths": np.where(first, 2.5, 0.5)}
    display = GraphDisplay.from_graph(
        friends, ink / ink.max(), places=layout, ax=ax, cmap="viridis_r", vmin=0, vmax=1, s=110, **edges
    )
    if ax is not axes[-1]:
        display.colorbar_.remove()
    ax.set_title(rf"$\beta = {beta}$")
display.colorbar_.set_label("ink, share of the most")
plt.show()

# %%
# Two labels are enough
# ---------------------
#
# The instructor left with one half, the president kept the other. A machine that is told about these two alone, and
# knows who met whom, finds the side of nearly everyone.

sides = np.array([club.nodes[member]["club"] for member in members])
leaders = [0, 33]
machine = SVC(Diffusion(friends, beta=0.3), C=1000.0).fit(leaders, sides[leaders])
value, wrong = machine.decision_function(members), machine.predict(members) != sides
print(f"{wrong.sum()} of {len(members) - 2} others wrong")

_, ax = plt.subplots(figsize=(6.6, 4.6), layout="constrained")
nx.draw_networkx_edges(club, layout, ax=ax, edge_color="lightgrey")
points, limit = np.array([layout[member] for member in members]), np.abs(value).max()
for side, whose, marker in (("Mr. Hi", "the instructor's", "o"), ("Officer", "the president's", "s")):
    some = np.flatnonzero(sides == side)
    picture = ax.scatter(
        *points[some].T,
        s=np.where(np.isin(some, leaders), 330, 130),
        c=value[some],
        cmap="PuOr",
        vmin=-limit,
        vmax=limit,
        marker=marker,
        edgecolors=np.where(wrong[some], "red", "black"),
        linewidths=1.2,
        zorder=2,
    )
    ax.scatter([], [], s=90, c="white", marker=marker, edgecolors="black", label=whose)
plt.colorbar(picture, ax=ax, label="decision value", shrink=0.8)
ax.set_title("Large: the two that were told. Red edge: wrong")
ax.legend(title="side")
ax.axis("off")
plt.show()

# %%
# .. rubric:: References
#
# .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011.
