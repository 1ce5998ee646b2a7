"""Every support vector machine of the registry, and when two of them are the same."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from registry import ESTIMATORS, training_set
from scipy.sparse import issparse
from sklearn.base import is_classifier, is_regressor

from mercer.svm import SVDD, NuSVC

every_estimator = pytest.mark.parametrize("make", ESTIMATORS.values(), ids=ESTIMATORS.keys())
classifiers = {name: make for name, make in ESTIMATORS.items() if is_classifier(make())}
every_classifier = pytest.mark.parametrize("make", classifiers.values(), ids=classifiers.keys())

# Up to this many samples the solver goes on to the last digits, so that two ways to one optimum agree closely.
SMALL = 60
CLOSE = {"rtol": 1e-6, "atol": 1e-7}


def fitted(make, X, y, **fit):
    return make().fit(X, y, **fit)


def decision(machine, X):
    """The decision values of every problem, shape (n, n_problems), before votes."""
    if is_classifier(machine) and len(machine.classes_) > 2:
        return machine.distance(X) * machine.norm_
    values = machine.predict(X) if is_regressor(machine) else machine.decision_function(X)
    return values[:, np.newaxis] if values.ndim == 1 else values


def dense(table):
    return table.toarray() if issparse(table) else np.asarray(table)


def assert_same_machine(first, second, X, **tolerance):
    """The same function, and the same attributes that do not count samples."""
    tolerance = tolerance or CLOSE
    assert_allclose(decision(first, X), decision(second, X), **tolerance)
    assert_allclose(first.norm_, second.norm_, **tolerance)
    assert_allclose(first.result_.objective, second.result_.objective, **tolerance)
    for name in ("intercept_", "margin_", "rho_", "epsilon_", "offset_", "radius_"):
        if hasattr(first, name):
            assert_allclose(getattr(first, name), getattr(second, name), **tolerance, err_msg=name)


def assert_identical(first, second):
    """All that was learnt, bit by bit."""
    assert vars(first).keys() == vars(second).keys()
    for name in ("support_", "intercept_", "norm_", "n_support_", "n_iter_", "margin_errors_"):
        assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)
    for name in ("dual_coef_", "slack_", "support_vectors_"):
        assert_array_equal(dense(getattr(first, name)), dense(getattr(second, name)), err_msg=name)
    for name in ("objective", "bound", "gap", "violation", "status", "precision", "imbalance"):
        assert_array_equal(getattr(first.result_, name), getattr(second.result_, name), err_msg=name)
    assert_array_equal(first.result_.a, second.result_.a)
    assert_array_equal(first.result_.gradient, second.result_.gradient)


def weight_vector(machine, n):
    """Coefficients of w over n training samples, in the scale of the problem that was solved."""
    coefficients = np.zeros(n)
    coefficients[machine.support_] = machine.dual_coef_[0]
    if isinstance(machine, NuSVC):
        return coefficients * machine.rho_
    return coefficients * 0.5 * machine.nu * n if isinstance(machine, SVDD) else coefficients


def weighted_and_repeated(make, n_classes=2, n=SMALL):
    """The same data twice: with weights 0, 1, 2 and 3, and with samples left out and repeated."""
    X, y = training_set(make(), n=n, n_classes=n_classes)
    weight = np.random.default_rng(3).integers(0, 4, size=n)
    times = np.repeat(np.arange(n), weight)
    shuffled = np.random.default_rng(4).permutation(times)
    return X, y, weight, X[shuffled], y[shuffled]
