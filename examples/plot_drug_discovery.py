r"""
Drug discovery: finding the active compounds early
==================================================

Which of many compounds bind to a protein? Each has to be made and tested, a plate at a time, and few are active. A
machine that learns from the plates of before can choose the next one ([2]_; [1]_, section 1.8, Case Study 3). This page
draws figure 1.9 of [1]_: the number of active compounds found against the fraction of all compounds that was tested.
The compounds are generated, in the numbers of the book: 39 active ones among 1 316, and 150 among 634, with 139 351
binary features. They show how a screening is done, not how well it would do in a laboratory: their numbers were set so
that the curves look like those of the book. With active compounds that share less, or an assay with more noise, less is
gained, and the rules differ less.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import PercentFormatter

from mercer import SVC
from mercer.active import ActiveLearner
from mercer.datasets import make_compounds
from mercer.kernels import Tanimoto

# %%
# Compounds
# ---------
#
# A feature says whether a compound has a certain shape. Some shapes are frequent and most are rare. Compounds come in
# families that share a scaffold, of which each compound has a part, besides shapes of its own. What binds are shapes
# that fit the protein; families have few or many of them. Those compounds are active that have most, give or take the
# noise of the assay. So actives are alike, and have inactive relatives.

# %%
# Screening
# ---------
#
# A plate is 5 % of the compounds. The first is drawn by chance. The next ones are chosen by a machine with a hard
# margin and the Tanimoto kernel, which chemists compare compounds by: those *closest* to its hyperplane, from which it
# learns most, or those *farthest* on the side of the active ones, which are most likely to be hits. Plates drawn by
# chance are what they are compared with. The kernel matrix is computed once for all runs, and the learner stops when
# all active compounds are found: any function of it may say so.

N_STARTS = 10
RULES = {"farthest": ("C3", "-", 3.5), "closest": ("C0", "-", 1.5), "random": ("C1", "--", 1.5)}


def screen(K, y, rule, seed):
    """Tested compounds in their order."""

    def all_found(learner):
        return learner.labels_.sum() == y.sum()

    plate = round(0.05 * len(y))
    machine = SVC("precomputed", C=np.inf)
    learner = ActiveLearner(machine, K, y, rule=rule, stop=all_found, batch=plate, diversity=0.0, random_state=seed)
    return learner.learn().labelled_


def needed(hits, share):
    """The fraction of the compounds, in the mean, after which a share of all hits was found."""
    return np.mean([np.argmax(found >= share * found[-1]) + 1 for found in hits]) / hits.shape[1]


# %%
# Hits
# ----
#
# The curves are means of runs with different first plates. Where active compounds are rare, hardly any of those that
# are left is on their side of the hyperplane. The closest to it is then also the farthest towards them, and both rules
# ask for the same. Where there are more of them, who wants hits takes the farthest: the closest ones teach the machine,
# but fewer of them are active.

figure, axes = plt.subplots(ncols=2, figsize=(11, 4.6), layout="constrained")
for ax, (n_samples, n_active) in zip(axes, ((1316, 39), (634, 150)), strict=True):
    X, y = make_compounds(n_samples, n_active=n_active, random_state=0)
    K = Tanimoto()(X)
    print(f"\n{n_active} active of {n_samples} compounds, {X.nnz / n_samples:.0f} features each")
    orders = {rule: [screen(K, y, rule, seed) for seed in range(N_STARTS)] for rule in RULES}
    for rule, (color, style, width) in RULES.items():
        hits = np.full((N_STARTS, n_samples), n_active)
        for found, tested in zip(hits, orders[rule], strict=True):
            found[: len(tested)] = np.cumsum(y[tested])
        print(f"  {rule:9} half of them after {needed(hits, 0.5):4.0%}, ", end="")
        print(f"nine of ten after {needed(hits, 0.9):4.0%} of the compounds")
        fraction = np.arange(1, n_samples + 1) / n_samples
        ax.plot(fraction, hits.mean(axis=0), style, color=color, linewidth=width, label=rule)
    same = sum(map(np.array_equal, orders["farthest"], orders["closest"]))
    print(f"  farthest and closest are the same in {same} of {N_STARTS} runs")
    ax.plot([0, n_active / n_samples, 1], [0, n_active, n_active], ":", color="0.4", label="at best")
    ax.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.set(xlabel="tested compounds", xlim=(0, 1), ylim=(0, 1.03 * n_active))
    ax.set_title(f"{n_active} active of {n_samples} compounds")
axes[0].set_ylabel("active compounds found")
axes[0].legend(loc="center right")

plt.show()

# %%
# .. rubric:: References
#
# .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011.
# .. [2] M. Warmuth, J. Liao, G. Rätsch, M. Mathieson, S. Putta, C. Lemmen, Active learning with support vector machines
#    in the drug discovery process, J. Chem. Inf. Comput. Sci. 43, 2003, 667-673.
