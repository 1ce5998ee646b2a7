r"""
A map of a search
=================

A Gaussian machine has two parameters, the price C of an error and the width of the kernel, and a validation study tries
pairs of them ([1]_, section 1.4). The scores of all pairs make a map, and the map says more than the best pair does:
how flat its neighbourhood is, and whether the grid was large enough.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV

from mercer import SVC, TunedSVC
from mercer.datasets import load_ionosphere
from mercer.kernels import RBF
from mercer.plots import ScoreMapDisplay

X, y = load_ionosphere(return_X_y=True)

# %%
# Two parameters
# --------------
#
# On the left a grid that is given, searched by scikit-learn, on the right the one that `TunedSVC` goes over by itself.
# Powers of two are written as such, and the star is the best cell.

grid = {"C": 2.0 ** np.arange(-5, 14, 2), "kernel__gamma": 2.0 ** np.arange(-9, 4, 2)}
given = GridSearchCV(SVC(RBF()), grid, cv=5).fit(X, y)
own = TunedSVC(cv=5).fit(X, y)

_, axes = plt.subplots(ncols=2, figsize=(12, 4.2), layout="constrained")
for ax, (name, search) in zip(axes, {"GridSearchCV": given, "TunedSVC": own}.items(), strict=True):
    display = ScoreMapDisplay.from_search(search, ax=ax)
    ax.set_title(f"{name}: best {search.best_score_:.1%}")
    near = np.sum(display.scores >= search.best_score_ - 0.01)
    print(f"{name:13} {np.sum(np.isfinite(display.scores)):3} cells, {near} within one percent of the best")
plt.show()

# %%
# One parameter
# -------------
#
# With one parameter the map is a line, with the standard deviation over the folds as bars: how much of a difference
# between two values is worth believing. The star is at the right end here: this grid should go on.

price = GridSearchCV(SVC("linear"), {"C": 2.0 ** np.arange(-9, 6, 2)}, cv=5).fit(X, y)
_, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
display = ScoreMapDisplay.from_search(price, ax=ax)
ax.set_title(f"linear kernel: best {price.best_score_:.1%}")
within = np.sum(display.scores >= display.scores[display.best] - display.errors[display.best])
print(f"{within} of {len(display.x)} prices are within one deviation of the best")
plt.show()

# %%
# .. rubric:: References
#
# .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011.
