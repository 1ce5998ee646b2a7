r"""
Bounds beside the true error
============================

How wide should the Gaussian kernel be? Criteria from the training samples alone answer without a validation set ([1]_,
section 3.3). Here they are drawn over :math:`\sigma` beside the error on test samples, which they do not see: as bounds
they are far from it, but what matters is where they are smallest. The machine has the L2 soft margin, for which all of
them hold.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import PercentFormatter
from sklearn.model_selection import ShuffleSplit

from mercer import SVC
from mercer.datasets import load_ionosphere, make_rings
from mercer.selection import LeaveOneOut, RadiusMargin, Span, SupportFraction, XiAlpha, criteria_curve

criteria = {
    r"radius-margin $R^2 / m \gamma^2$": RadiusMargin(),
    "support vectors": SupportFraction(),
    r"$\xi\alpha$ bound": XiAlpha(),
    "leave-one-out": LeaveOneOut(),
    "span estimate": Span(),
}
machine = SVC(loss="squared_hinge", C=1.0)

# %%
# Two studies
# -----------
#
# On the left two rings that overlap: 100 samples to train on, thousands to test on. On the right the radar returns, 200
# of the 351 to train on. All curves are means over eight draws of the training samples. `criteria_curve` trains one
# machine for every width and asks all criteria about it.


def draws_of_rings(n_draws=8):
    test = make_rings(5_000, random_state=99)
    return [(*make_rings(100, random_state=seed), *test) for seed in range(n_draws)]


def draws_of_radar_returns(n_draws=8):
    X, y = load_ionosphere(return_X_y=True)
    splits = ShuffleSplit(n_draws, train_size=200, random_state=0).split(X)
    return [(X[train], y[train], X[test], y[test]) for train, test in splits]


def study(draws, sigmas):
    """The criteria, shape (n_criteria, n_sigmas), and the error on test samples; means over the draws."""
    gammas = 1 / (2 * sigmas**2)
    bounds, errors = np.zeros((len(criteria), len(sigmas))), np.zeros(len(sigmas))
    for X, y, X_test, y_test in draws:
        bounds += criteria_curve(
            machine, X, y, param_name="kernel__gamma", param_range=gammas, criteria=criteria.values()
        )
        errors += [1 - machine.set_params(kernel__gamma=gamma).fit(X, y).score(X_test, y_test) for gamma in gammas]
    return bounds / len(draws), errors / len(draws)


studies = {
    "Two rings": (draws_of_rings(), np.geomspace(0.05, 10, 18)),
    "Radar returns": (draws_of_radar_returns(), np.geomspace(0.2, 20, 18)),
}

# %%
# Who finds the width?
# --------------------
#
# Dots are the minima. The span estimate (dashed) can hardly be told from the leave-one-out error, which costs a fit for
# every support vector, and both are close to the true error. The :math:`\xi\alpha` bound and the share of support
# vectors are bounds on the leave-one-out error: never below it, and far above. The radius-margin bound hardly says more
# about the error than that it is not 1, and yet its minimum is a usable width: where a criterion is small matters, not
# how small it is.

figure, axes = plt.subplots(ncols=2, figsize=(11, 4.6), sharey=True, layout="constrained")
for ax, (name, (draws, sigmas)) in zip(axes, studies.items(), strict=True):
    bounds, errors = study(draws, sigmas)
    print(f"\n{name}: the smallest test error is {errors.min():.1%}, at sigma = {sigmas[errors.argmin()]:.2g}")
    for label, curve in zip(criteria, bounds, strict=True):
        chosen = curve.argmin()
        look = {"leave-one-out": {"linewidth": 6, "alpha": 0.5}, "span estimate": {"linestyle": "--"}}.get(label, {})
        (line,) = ax.loglog(sigmas, curve, label=label, **{"linewidth": 1.8, **look})
        ax.plot(sigmas[chosen], curve[chosen], "o", color=line.get_color())
        print(f"  {type(criteria[label]).__name__:16} sigma = {sigmas[chosen]:5.2g}, test error {errors[chosen]:6.1%}")
    ax.loglog(sigmas, errors, color="black", linewidth=2.5, label="test error")
    ax.plot(sigmas[errors.argmin()], errors.min(), "o", color="black")
    ax.set(xlabel=r"width $\sigma$", title=name)
axes[0].set_ylabel("share of errors, and bounds on it")
axes[0].yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6)

plt.show()

# %%
# .. rubric:: References
#
# .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011.
