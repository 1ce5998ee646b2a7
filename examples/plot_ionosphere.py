r"""
A first study: radar returns from the ionosphere
================================================

Is a radar return from the ionosphere good or bad? The data set has 351 samples with 34 features each. As in the case
study of [1]_ (section 1.6), the first 300 samples are for training and the remaining 51 for testing, the data is used
as it is, and the margin is hard: no training point may lie inside the margin band.
"""

import sys
from textwrap import fill

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
# A hard margin with the linear kernel exists only if a hyperplane separates the classes. Here none does: the dual
# objective grows without end, which the solver recognises and reports.

print("\nLinear kernel, hard margin")
try:
    SVC(kernel=Linear(), C=np.inf).fit(X_train, y_train)
except NotSeparableError as error:
    print(fill(str(error), 90, initial_indent="  ", subsequent_indent="  "))
else:
    raise AssertionError("no hyperplane separates these classes")

# %%
# The Gaussian kernel
# -------------------
#
# With :math:`K(x, x') = \exp(-\|x - x'\|^2 / 2\sigma^2)` and :math:`\sigma = 1` ([1]_, eq. 1.10) the classes are
# separable. We ask for a relative duality gap of at most one part in a thousand million, so that the identities further
# down can be seen to many digits.

machine = SVC(kernel=RBF.from_sigma(1.0), C=np.inf, gap_tol=1e-9).fit(X_train, y_train)
train_wrong = np.sum(machine.predict(X_train) != y_train)
test_wrong = np.sum(machine.predict(X_test) != y_test)
bad, good = machine.n_support_
print("\nGaussian kernel with sigma = 1, hard margin")
print(f"  training error   {train_wrong / len(y_train):6.1%}  ({train_wrong} of {len(y_train)}; the book has none)")
print(f"  test error       {test_wrong / len(y_test):6.1%}  ({test_wrong} of {len(y_test)}; the book has 5.9%)")
print(f"  support vectors  {bad + good:6d}  (bad {bad}, good {good})")
print(f"  margin           {machine.margin_:6.4f}")

# %%
# The certificate
# ---------------
#
# How do we know that this is the widest margin? The result holds the objective reached and a bound that no other
# solution can beat; the gap between them says how far from the optimum the machine can be, at most.

print("\nCertificate")
print(machine.result_)

# %%
# Nobody has to take the solver's word for it. The multipliers times labels sum to zero (eq. 1.8), no training point
# lies inside the margin band, :math:`y_i f(x_i) \geq 1`, and the sum of the multipliers, twice the dual objective and
# :math:`\|w\|^2` agree (eq. 1.62), all of it within the tolerance, and all of it from public attributes.

print("\nChecked from outside")
print(f"  sum of y_i alpha_i   {machine.dual_coef_.sum():9.1e}")
print(f"  smallest y_i f(x_i)  {np.min(y_train * machine.decision_function(X_train)):9.5f}")
print(f"  sum of alpha_i       {np.abs(machine.dual_coef_).sum():9.3f}")
print(f"  2 W                  {2 * machine.result_.dual_objective:9.3f}")
print(f"  |w|^2                {machine.norm_**2:9.3f}")

# %%
# The history of W
# ----------------
#
# The dual objective :math:`W` (eq. 1.12) rises steadily to its maximum while the gap closes. On the right, the decision
# values: no training point is inside the margin band (dashed), and most lie on its edges, as support vectors do. All
# test samples happen to be good returns; the errors are those on the wrong side of the boundary.

figure, axes = plt.subplot_mosaic(
    [["history", "training"], ["history", "test"]], figsize=(11, 4.5), width_ratios=[1, 1.1], layout="constrained"
)
HistoryDisplay.from_result(machine.result_, ax=axes["history"])
axes["history"].set_title("Training: $W$ rises, the gap closes")

bins = np.arange(-26, 27) / 8.5  # 0 is the edge of a bin, -1 and 1 are in the middle of one
for name, samples, labels, wrong in [
    ("training", X_train, y_train, train_wrong),
    ("test", X_test, y_test, test_wrong),
]:
    ax, values = axes[name], machine.decision_function(samples)
    for label, meaning, colour in [(-1, "bad", "C0"), (+1, "good", "C1")]:
        ax.hist(values[labels == label], bins, color=colour, alpha=0.6, label=meaning)
    ax.axvline(0, color="black", linewidth=1)
    for edge in (-1, 1):
        ax.axvline(edge, color="black", linestyle="--", linewidth=1)
    ax.set(ylabel="samples", title=f"{len(labels)} {name} samples, {wrong} wrong", xlim=(-3, 3))
axes["training"].legend()
axes["training"].tick_params(labelbottom=False)
axes["test"].set_xlabel("decision value")

if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=150)
    print(f"\nPicture written to {sys.argv[1]}")
else:
    plt.show()

# %%
# .. rubric:: References
#
# .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011.
