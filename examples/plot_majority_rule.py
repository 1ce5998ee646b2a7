r"""
Learning the majority rule by asking
====================================

Strings of 20 random bits are of the one class if they have more ones than zeros, and of the other class if not. How
many of 200 strings have to be labelled before a machine knows the rule? If it takes them as they come, *passive*
learning, most of them. If it chooses the next one itself, always the one closest to its hyperplane, about 60 suffice
([1]_, section 1.8). This page remakes figure 1.7 of [1]_: 200 strings for training, 200 for testing, means of 100 runs.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC
from mercer.active import ActiveLearner
from mercer.datasets import make_majority_rule

N_RUNS, N_SAMPLES = 100, 200

# %%
# A run
# -----
#
# The rule has no noise, so the margin is hard. Both learners begin with one string of each class. The active one asks
# for one label at a time and stops when its margin band is empty: what is left to ask for would not move the
# hyperplane, unless it were predicted wrongly. The passive one asks until no string is left, ten at a time: the same
# curve with fewer points. The test errors of all machines of a run are one product of matrices with their weights.


def run(seed, **asking):
    """Answers, test errors and mistakes so far after every fit, and the mistakes on what was not asked for."""
    rng = np.random.default_rng(seed)
    (X, y), (X_test, y_test) = (make_majority_rule(N_SAMPLES, random_state=rng) for _ in range(2))
    learner = ActiveLearner(SVC("linear", C=np.inf), X, oracle=y, random_state=seed, **asking)
    first = [np.argmax(y > 0), np.argmax(y < 0)]
    learner.tell(first, y[first])
    answers, machines = [2], [learner.estimator_]

    def note(learner):
        answers.append(len(learner.labelled_))
        machines.append(learner.estimator_)

    learner.learn(callback=note)
    weights = np.vstack([machine.coef_ for machine in machines])
    offsets = np.concatenate([machine.intercept_ for machine in machines])
    predicted = np.where(X_test @ weights.T + offsets > 0, +1, -1)
    errors = np.mean(predicted != y_test[:, np.newaxis], axis=0)
    mistakes = np.array([answer.mistakes for answer in learner.history_])
    return np.array(answers), errors, mistakes[np.array(answers) - 1], np.sum(learner.label_pool() != y)


active = [run(seed, rule="closest", stop="band") for seed in range(N_RUNS)]
passive = [run(seed, rule="random", stop=None, batch=10) for seed in range(N_RUNS)]

# %%
# How many are enough
# -------------------
#
# The rule is known from the answer on after which the test error stays zero.


def enough(runs):
    """The number of answers after which the test error is zero for good, for every run that comes to know the rule."""
    known = [answers[np.append(0, np.flatnonzero(errors) + 1)] for answers, errors, _, _ in runs if errors[-1] == 0]
    return np.array([after[-1] for after in known])


def quartiles(numbers):
    return "{1:.0f} answers in the median (quartiles {0:.0f} and {2:.0f})".format(*np.percentile(numbers, [25, 50, 75]))


asked = [answers[-1] for answers, _, _, _ in active]
for name, runs in (("active", active), ("passive", passive)):
    print(f"{name:8} knows the rule after {quartiles(enough(runs))}, in {len(enough(runs))} of {N_RUNS} runs")
print("         (the book: active after about 60)")
print(f"the band of the active learner is empty after {quartiles(asked)}")
left_out = N_RUNS * N_SAMPLES - sum(asked)
print(f"mistakes on the {left_out} strings that were not asked for: {sum(missed for _, _, _, missed in active)}")

# %%
# The two pictures
# ----------------
#
# On the left, the test error. On the right, what can be seen without test samples: the mistakes on the strings that the
# active learner has asked for. These are the hardest there are, so that at first about every other prediction is wrong.
# When the curve becomes level, the rule is known: another sign to stop by for data without noise, ``stop="mistakes"``.

grid = np.arange(2, N_SAMPLES + 1)


def mean_curve(runs, part):
    """The mean over the runs; who has stopped stays where it is."""
    return np.mean([np.interp(grid, a_run[0], a_run[part]) for a_run in runs], axis=0)


figure, (left, right) = plt.subplots(ncols=2, figsize=(11, 4.4), layout="constrained")
left.plot(grid, 100 * mean_curve(passive, 1), color="C1", linestyle="--", label="passive")
left.plot(grid, 100 * mean_curve(active, 1), color="C0", label="active")
left.axvspan(
    *np.percentile(enough(active), [25, 75]), color="C0", alpha=0.15, linewidth=0, label="active knows the rule"
)
left.set(xlabel="labelled strings", ylabel="test error [%]", xlim=(0, N_SAMPLES), ylim=(0, None))
left.set_title("who asks learns faster")
left.legend()

right.plot(grid, mean_curve(active, 2), color="C2", marker="D", markevery=6, markersize=5, label="mistakes so far")
right.plot(grid, 100 * mean_curve(active, 1), color="C0", marker="|", markevery=6, label="test error [%]")
right.axvline(np.mean(asked), color="0.4", linestyle=":", label="the band is empty")
right.set(xlabel="labelled strings", ylabel="mistakes so far, test error [%]", xlim=(0, 120), ylim=(0, None))
right.set_title("active: no more mistakes, no more error")
right.legend()

plt.show()

# %%
# .. rubric:: References
#
# .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011.
