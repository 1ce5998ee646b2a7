r"""
Three classes by pairs: a graph of decisions
============================================

Several classes are told apart by machines for two. With one for every pair, a new sample need not ask them all: of the
classes that are left, the first meets the last, and the loser is out. This page draws figure 1.4 of [1]_ for three
classes, with the samples that go along each way, and then counts what is asked for more classes.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from mercer import SVC
from mercer.datasets import load_glass, load_vehicle
from mercer.kernels import RBF
from mercer.plots import DecisionDisplay

# %%
# Three classes
# -------------
#
# The first question is *1 or 3?* Whoever is told 1 is asked *1 or 2?* next, whoever is told 3 is asked *2 or 3?* So
# two of the three machines decide. Numbers at the arrows are those of 300 new samples, 100 of each class.

rng = np.random.default_rng(0)
centres = np.array([[-1.2, -0.4], [0.0, 1.2], [1.2, -0.4]])


def draw(n):
    y = np.repeat([1, 2, 3], n)
    return centres[y - 1] + 0.6 * rng.normal(size=(3 * n, 2)), y


(X, y), (new, new_y) = draw(30), draw(100)
machine = SVC(RBF(gamma=0.5), multi_class="dag").fit(X, y)
found = machine.predict(new)
print(f"right about {np.mean(found == new_y):.1%} of {len(new)} new samples")

# The class that goes out first has score 0; of 1 and 3, the other one has won the first question.
scores = machine.decision_function(new)
first = np.where(scores[:, 0] == 0, 3, 1)
ways = {(one, end): int(np.sum((first == one) & (found == end))) for one in (1, 3) for end in (1, 2, 3)}
print("first answer, then the class:", {way: number for way, number in ways.items() if number})

figure, (left, right) = plt.subplots(ncols=2, figsize=(11, 4.4), layout="constrained")
display = DecisionDisplay.from_estimator(machine, X, y, ax=left)
for label, centre in enumerate(centres, 1):
    left.annotate(str(label), centre, ha="center", va="center", fontsize=18, weight="bold")
left.set(title="regions of the three classes", xticks=[], yticks=[])
boxes = {"1 or 3?": (0.5, 0.9), "1 or 2?": (0.25, 0.5), "2 or 3?": (0.75, 0.5)}
ends = {"1": (0.1, 0.08), "2": (0.5, 0.08), "3": (0.9, 0.08)}
arrows = [
    ("1 or 3?", "1 or 2?", "not 3", sum(ways[1, end] for end in (1, 2))),
    ("1 or 3?", "2 or 3?", "not 1", sum(ways[3, end] for end in (2, 3))),
    ("1 or 2?", "1", "not 2", ways[1, 1]),
    ("1 or 2?", "2", "not 1", ways[1, 2]),
    ("2 or 3?", "2", "not 3", ways[3, 2]),
    ("2 or 3?", "3", "not 2", ways[3, 3]),
]
places, colours = boxes | ends, display.surface_.get_cmap().colors
for start, end, answer, number in arrows:
    right.annotate(
        "", places[end], places[start], arrowprops={"arrowstyle": "-|>", "shrinkA": 18, "shrinkB": 16, "linewidth": 1.5}
    )
    middle = np.mean([places[start], places[end]], axis=0)
    right.text(*middle, f"{answer}\n{number}", ha="center", va="center", backgroundcolor="white", fontsize=9)
for name, place in places.items():
    colour = "0.92" if name in boxes else colours[int(name) - 1]
    style = {"boxstyle": "round,pad=0.5", "facecolor": colour, "edgecolor": "black", "alpha": 0.9}
    right.text(*place, name, ha="center", va="center", bbox=style)
right.set(xlim=(0, 1), ylim=(0, 1), title="who is asked what")
right.axis("off")
plt.show()

# %%
# More classes
# ------------
#
# With K classes there are :math:`K (K - 1) / 2` machines, and a sample asks :math:`K - 1` of them. The accuracy is that
# of the vote of all pairs, up to the few samples about which the pairs do not agree. Beside them, one machine for each
# class against the rest, of which there are fewer and each is larger.

sets = {"glass": load_glass, "vehicle": load_vehicle, "digits": load_digits}
schemes = {"dag": "graph", "ovo": "votes", "ovr": "one against the rest"}
print(f"{'':10}{'K':>3}{'pairs':>7}{'asked':>7}   " + "   ".join(schemes.values()))
for name, load in sets.items():
    X, y = load(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=0)
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    K = len(np.unique(y))
    right_of = [SVC(C=10.0, multi_class=scheme).fit(X, y).score(X_test, y_test) for scheme in schemes]
    numbers = "   ".join(f"{score:{len(title)}.1%}" for score, title in zip(right_of, schemes.values(), strict=True))
    print(f"{name:10}{K:3}{K * (K - 1) // 2:7}{K - 1:7}   {numbers}")

# %%
# .. rubric:: References
#
# .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 1.3.
