"""A fit that goes on from the last one, with more samples, ends where a fit from nothing ends."""

from copy import copy

import numpy as np
import pytest
from sklearn.base import clone

from mercer import SVC, NuSVC
from mercer.kernels import RBF

TOL = 1e-8
MACHINES = {
    "hinge": SVC(RBF(0.5), C=2.0, tol=TOL),
    "squared hinge": SVC(RBF(0.5), C=2.0, loss="squared_hinge", tol=TOL),
    "hard": SVC(RBF(0.5), C=np.inf, tol=TOL),
    "no offset": SVC(RBF(0.5), fit_intercept=False, tol=TOL),
    "weights": SVC(RBF(0.5), class_weight="balanced", tol=TOL),
    "nu": NuSVC(RBF(0.5), nu=0.2, tol=TOL),
    "precomputed": SVC("precomputed", tol=TOL),
}
SCHEMES = ("ovo", "ovr", "dag", "ecoc", "one_class", "crammer_singer")


def grown(machine, X, y):
    """The machine, fitted again from where it is."""
    machine = copy(machine)
    machine._grows = True
    return machine.fit(X, y)


def data(rng, n_classes=2):
    X = rng.standard_normal((90, 3))
    return X, np.digitize(X[:, 0] + 0.5 * X[:, 1] ** 2, np.quantile(X[:, 0], np.arange(1, n_classes) / n_classes))


def samples(machine, X, n):
    return RBF(0.5)(X[:n]) if machine.kernel == "precomputed" else X[:n]


@pytest.mark.parametrize("name", MACHINES)
def test_two_classes(name, rng):
    X, y = data(rng)
    machine = MACHINES[name]
    first = clone(machine).fit(samples(machine, X, 70), y[:70])
    cold = clone(machine).fit(samples(machine, X, 71), y[:71])
    warm = grown(first, samples(machine, X, 71), y[:71])
    np.testing.assert_allclose(
        warm.decision_function(samples(machine, X, 71)), cold.decision_function(samples(machine, X, 71)), atol=1e-6
    )
    assert warm.result_.objective == pytest.approx(cold.result_.objective, abs=1e-7)
    if name != "weights":  # with one more sample, all prices change
        assert warm.n_iter_ < cold.n_iter_


@pytest.mark.parametrize("scheme", SCHEMES)
def test_several_classes(scheme, rng):
    X, y = data(rng, 4)
    machine = SVC(RBF(0.5), multi_class=scheme, tol=TOL)
    first = clone(machine).fit(X[:80], y[:80])
    cold, warm = clone(machine).fit(X[:84], y[:84]), grown(first, X[:84], y[:84])
    np.testing.assert_allclose(warm.decision_function(X), cold.decision_function(X), atol=1e-5)
    if scheme in ("one_class", "crammer_singer"):  # these start from nothing
        assert warm.n_iter_ == cold.n_iter_
    else:
        assert warm.n_iter_ < cold.n_iter_


@pytest.mark.parametrize("name", MACHINES)
def test_nothing_new(name, rng):
    """Where the last solution is the solution, it is left at that."""
    X, y = data(rng)
    machine = clone(MACHINES[name]).fit(samples(MACHINES[name], X, 90), y)
    again = grown(machine, samples(MACHINES[name], X, 90), y)
    assert again.n_iter_ <= 2 < machine.n_iter_


def test_another_class_for_a_sample(rng):
    X, y = data(rng)
    first = clone(MACHINES["hinge"]).fit(X, y)
    other = y.copy()
    other[first.support_[0]] = 1 - other[first.support_[0]]
    cold, warm = clone(first).fit(X, other), grown(first, X, other)
    np.testing.assert_allclose(warm.decision_function(X), cold.decision_function(X), atol=1e-6)


def test_only_when_asked_to(rng):
    X, y = data(rng)
    machine = clone(MACHINES["hinge"]).fit(X[:70], y[:70])
    assert machine.fit(X[:71], y[:71]).n_iter_ == clone(machine).fit(X[:71], y[:71]).n_iter_
