"""
A first study: radar returns from the ionosphere
=================================================

Is a radar return from the ionosphere good or bad? The data set has 351 samples with 34 features each. As in
the case study of [1]_ (section 1.6), the first 300 samples are for training and the remaining 51 for
testing, the data is used as it is, and the margin is hard: no training point may lie inside the margin
band.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC
from mercer.datasets import load_ionosphere
from mercer.errors import NotSeparableError
from mercer.kernels import RBF, Linear
from mercer.plots import HistoryDisplay

X, target = load_ionosphere(return_X_y=True)
y = np.where(target == 1, +1, -1)  # good returns are +1
X_train, y_train = X[:300], y[:300]
X_test, y_test = X[300:], y[300:]
print(f"Ionosphere: {len(X_train)} training and {len(X_test)} test samples, {X.shape[1]} features")

# %%
# A hyperplane will not do
# ------------------------
#
# A hard margin with the linear kernel exists only if a hyperplane separates the classes. Here none does:
# the dual objective grows without end, which the solver recognises and reports.

print("\nLinear kernel, hard margin")
try:
    SVC(kernel=Linear(), C=np.inf).fit(X_train, y_train)
except NotSeparableError as error:
    print(f"  not separable: {error}")
else:
    raise AssertionError("no hyperplane separates these classes")

# %%
# The Gaussian kernel
# -------------------
#
# With :math:`K(x, x') = \exp(-\|x - x'\|^2 / 2\sigma^2)` and :math:`\sigma = 1` ([1]_, eq. 1.10) the
# classes are separable.

machine = SVC(kernel=RBF.from_sigma(1.0), C=np.inf).fit(X_train, y_train)
train_wrong = np.sum(machine.predict(X_train) != y_train)
test_wrong = np.sum(machine.predict(X_test) != y_test)
print("\nGaussian kernel with sigma = 1, hard margin")
print(f"  training error   {train_wrong / len(y_train):6.1%}  ({train_wrong} of {len(y_train)})")
print(f"  test error       {test_wrong / len(y_test):6.1%}  ({test_wrong} of {len(y_test)})")
bad, good = machine.n_support_
print(f"  support vectors  {bad + good:6d}  (bad {bad}, good {good})")
print(f"  margin           {machine.margin_:6.4f}")

# %%
# The certificate
# ---------------
#
# How do we know that this is the widest margin? The result holds the objective reached and a bound that no
# other solution can beat; the gap between them says how far from the optimum the machine can be, at most.

print("\nCertificate")
print(machine.result_)

# %%
# The book also recommends to check that the dual variables sum to zero over the classes (eq. 1.8), and that
# no training point lies inside the margin band, :math:`y_i f(x_i) \geq 1`.

print(f"\nsum of y_i alpha_i    {machine.dual_coef_.sum(): .1e}")
print(f"smallest y_i f(x_i)   {np.min(y_train * machine.decision_function(X_train)): .6f}")

# %%
# The history of W
# ----------------
#
# The dual objective :math:`W` (eq. 1.12) rises steadily to its maximum while the gap closes. On the right,
# the decision values: none of the training points is inside the margin band, the errors are among the test
# points.

figure, (left, right) = plt.subplots(ncols=2, figsize=(11, 4), layout="constrained")
HistoryDisplay.from_result(machine.result_, ax=left)
left.set_title("Training")

values = {"training": machine.decision_function(X_train), "test": machine.decision_function(X_test)}
bins = np.linspace(min(map(np.min, values.values())), max(map(np.max, values.values())), 41)
for name, labels, style in [
    ("training", y_train, {"alpha": 0.4}),
    ("test", y_test, {"histtype": "step", "lw": 1.5}),
]:
    for label, colour in [(-1, "C0"), (+1, "C1")]:
        title = f"{'good' if label > 0 else 'bad'}, {name}"
        right.hist(values[name][labels == label], bins, color=colour, label=title, density=True, **style)
right.axvline(0, color="black")
for edge in (-1, 1):
    right.axvline(edge, color="black", linestyle="--")
right.set(xlabel="decision value", ylabel="density", title="Decision")
right.legend()

if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=150)
    print(f"\nPicture written to {sys.argv[1]}")
else:
    plt.show()

# %%
# .. rubric:: References
#
# .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011.
