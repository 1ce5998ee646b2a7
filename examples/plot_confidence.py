r"""
How sure is a machine?
======================

The further a sample is from the hyperplane, the surer is its class. How sure, a sigmoid says that is fitted to decision
values: :math:`p = 1 / (1 + e^{-(s f + o)})` ([1]_, section 2.3). Figure 2.1 of [1]_ shows one for a microarray of
ovarian cancer, which is not public; here is a microarray of leukaemia. The book fits the sigmoid to the training
samples. Does that tell the truth?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from mercer import SVC, Calibrated
from mercer.calibration import fit_sigmoid
from mercer.datasets import load_leukemia, make_overlapping_classes
from mercer.kernels import RBF
from mercer.plots import ReliabilityDisplay, SigmoidDisplay

# %%
# Training samples and others
# ---------------------------
#
# 38 patients and 3051 genes: the classes are separable, the margin is hard, and no training sample has a decision value
# between -1 and 1, as in the book. Many lie exactly on the edges. On the right are decision values of machines that had
# not seen the sample. They are smaller, and half of them lie in the band, all on the right side. So the two sigmoids
# differ: the one of the training samples takes a value of 0.5 for a weak one, while among new samples it is an ordinary
# one. [2]_ (section 7.1) asks for values of samples that were not trained on, and `Calibrated` takes them by
# cross-validation.

leukemia = load_leukemia()
X, y = leukemia.data, leukemia.target
machine = SVC("linear", C=np.inf)
trained = machine.fit(X, y).decision_function(X)
folds = StratifiedKFold(10, shuffle=True, random_state=0)
held_out = cross_val_predict(machine, X, y, cv=folds, method="decision_function")

figure, axes = plt.subplots(ncols=2, figsize=(11, 4), sharey=True, layout="constrained")
for ax, values, title in ((axes[0], trained, "trained on"), (axes[1], held_out, "held out")):
    sigmoid = fit_sigmoid(values, y == 1)
    inside = np.sum(np.abs(values) < 1 - 1e-3)
    print(f"{title:11} {inside:2} of {len(y)} within the band, slope {sigmoid.slope:.2f}, offset {sigmoid.offset:+.2f}")
    SigmoidDisplay.from_decision(values, y, n_groups=0, ax=ax)
    ax.axvspan(-1, 1, color="0.9", zorder=0)
    ax.set(title=f"{title}: {inside} samples in the band", xlabel="decision value")
plt.show()

# %%
# The damage
# ----------
#
# With enough samples it can be measured, and it goes the other way. Two classes overlap, and the machine, with a narrow
# kernel and a large price, has learnt its 200 samples too well. The sigmoid of the training samples promises what new
# samples do not keep. That of cross-validation comes closer to keeping its own. The log loss is the mean of
# :math:`-\log p` of the true class: the smaller, the better, and 0.69 is a coin.

X, y = make_overlapping_classes(200, spread=0.7, random_state=0)
new, new_y = make_overlapping_classes(20_000, spread=0.7, random_state=1)
machine = SVC(RBF(gamma=4.0), C=10.0).fit(X, y)
of_training = fit_sigmoid(machine.decision_function(X), y == 1)
naive = 1 / (1 + np.exp(-of_training.log_odds(machine.decision_function(new))))
calibrated = Calibrated(SVC(RBF(gamma=4.0), C=10.0), cv=5, random_state=0).fit(X, y)
honest = calibrated.predict_proba(new)[:, 1]

figure, axes = plt.subplots(ncols=2, figsize=(11, 4.4), sharey=True, layout="constrained")
for ax, p, title in ((axes[0], naive, "fitted to training samples"), (axes[1], honest, "by cross-validation")):
    loss = log_loss(new_y, p)
    sure = np.abs(p - 0.5) > 0.45
    wrong = np.mean((p[sure] > 0.5) != new_y[sure]) if sure.any() else 0.0
    print(f"{title:27} log loss {loss:.3f}, surer than 95 % of {sure.mean():.0%}, of which {wrong:.0%} are wrong")
    ReliabilityDisplay.from_predictions(new_y, np.column_stack([1 - p, p]), ax=ax)
    ax.set_title(f"{title}: log loss {loss:.2f}")
plt.show()

# %%
# .. rubric:: References
#
# .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011.
# .. [2] C. M. Bishop, Pattern Recognition and Machine Learning, 2006.
