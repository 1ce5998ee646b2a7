r"""
Repairing an indefinite similarity
==================================

A similarity that people like need not be a kernel. Two radar returns may be called similar if they differ little in
every feature, :math:`s(x, x') = \exp(-\max_f |x_f - x'_f| / d)`. That looks like a Gaussian kernel, but the matrix has
negative eigenvalues, and a support vector machine loses its certificate on it ([1]_, section 3.2). Here it is repaired
in five ways.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import cdist
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

from mercer import SVC
from mercer.datasets import load_ionosphere
from mercer.gram import Repair, diagnose, eigenvalues

X, y = load_ionosphere(return_X_y=True)
differences = cdist(X, X, "chebyshev")
K = np.exp(-differences / np.median(differences))
print(diagnose(K))

# %%
# Before and after
# ----------------
#
# Clipping removes the negative eigenvalues, flipping turns them over, shifting lifts all of them by the size of the
# most negative one, and the proxy learns from the labels as well. Squaring, left out in the figure, squares them.

_, axes = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
axes.plot(eigenvalues(K), "k", linewidth=2.5, label="as it is")
for method, line in {"clip": "-", "flip": "-", "shift": "-", "proxy": "--"}.items():
    axes.plot(eigenvalues(Repair(method).fit_transform(K, y)), line, label=method)
axes.set_yscale("symlog", linthresh=0.05)
axes.axhline(0.0, color="grey", linewidth=0.8)
axes.set(xlabel="number", ylabel="eigenvalue", title="Spectrum")
axes.legend()
plt.show()

# %%
# What machines make of it
# ------------------------
#
# On the matrix as it is, the machine ends in some stationary point and says that it proves nothing. Each repair gives
# the proof back, and all of them but the shift, which makes every sample most similar to itself, help to predict. In
# each fold rows of held-out samples are repaired by what was learnt from the others.

folds = StratifiedKFold(5, shuffle=True, random_state=0)
scores = {}
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the machine warns that the matrix is indefinite
    bare = SVC(kernel="precomputed")
    scores["as it is"] = cross_val_score(bare, K, y, cv=folds).mean()
    print(f"{'as it is':10} {bare.fit(K, y).result_.status}, gap {bare.result_.gap}")
for method in ("clip", "flip", "square", "shift", "proxy"):
    machine = make_pipeline(Repair(method), SVC(kernel="precomputed"))
    scores[method] = cross_val_score(machine, K, y, cv=folds).mean()
    result = machine.fit(K, y)[-1].result_
    print(f"{method:10} {result.status}, gap {result.gap:.2g}")

_, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
axes.barh(list(scores), [1 - score for score in scores.values()], color=["black"] + ["C0"] * 5)
axes.invert_yaxis()
axes.set(xlabel="share of errors in cross-validation", title="Errors of a support vector machine")
plt.show()

# %%
# .. rubric:: References
#
# .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011.
