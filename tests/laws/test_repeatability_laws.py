"""The same machine again: order of samples, refits, threads and memory do not show."""

import pickle

import numpy as np
import pytest
from laws.machines import (
    CLOSE,
    SMALL,
    assert_identical,
    assert_same_machine,
    decision,
    every_classifier,
    every_estimator,
    fitted,
    weight_vector,
)
from numpy.testing import assert_allclose, assert_array_equal
from registry import ESTIMATORS, softened, training_set
from sklearn.base import clone


@every_estimator
def test_order_of_samples(make):
    X, y = training_set(make())
    shuffled = np.random.default_rng(2).permutation(len(X))
    first, second = fitted(make, X, y), fitted(make, X[shuffled], y[shuffled])
    assert_same_machine(first, second, X)
    assert_allclose(first.slack_[shuffled], second.slack_, **CLOSE)


@every_estimator
def test_order_of_samples_beyond_the_gap(make):
    """Strong convexity: |w - w*|^2 / 2 is at most the gap, so two solutions are at most so far apart."""
    X, y = training_set(make(), n=700)
    machine = softened(make())
    shuffled = np.random.default_rng(2).permutation(len(X))
    first, second = clone(machine).fit(X, y), clone(machine).fit(X[shuffled], y[shuffled])
    assert first.result_.status == second.result_.status == "solved"
    there = np.zeros(len(X))
    there[shuffled] = weight_vector(second, len(X))
    difference = weight_vector(first, len(X)) - there
    distance = np.sqrt(max(0.0, difference @ first.kernel_(X) @ difference))
    assert distance <= np.sqrt(2 * first.result_.gap) + np.sqrt(2 * second.result_.gap) + 1e-6
    # and both objectives lie between the other's bound and themselves
    assert first.result_.bound <= second.result_.objective + 1e-9 * abs(second.result_.objective)
    assert second.result_.bound <= first.result_.objective + 1e-9 * abs(first.result_.objective)


@every_estimator
def test_refit_is_identical(make):
    X, y = training_set(make())
    machine = fitted(make, X, y)
    assert_identical(fitted(make, X, y), machine)
    first = pickle.loads(pickle.dumps(machine))
    assert_identical(first, machine.fit(X, y))


@every_estimator
@pytest.mark.parametrize("n", [SMALL, 700])
def test_any_number_of_threads(make, n):
    X, y = training_set(make(), n=n)
    machine = softened(make())
    one = clone(machine).set_params(n_threads=1).fit(X, y)
    for n_threads in (2, 3, 7):
        more = clone(machine).set_params(n_threads=n_threads).fit(X, y)
        assert_identical(one, more)
        assert_array_equal(decision(one, X), decision(more, X))


@every_classifier
def test_any_number_of_threads_for_several_classes(make):
    X, y = training_set(make(), n=300, n_classes=4)
    machine = softened(make())
    one = clone(machine).set_params(n_threads=1).fit(X, y)
    for n_threads in (2, 5):
        more = clone(machine).set_params(n_threads=n_threads).fit(X, y)
        assert_identical(one, more)
        assert_array_equal(one.decision_function(X), more.decision_function(X))


@every_estimator
def test_any_memory(make):
    X, y = training_set(make(), n=700, d=80)
    machine = softened(make())
    assert_identical(clone(machine).set_params(memory=1).fit(X, y), clone(machine).set_params(memory=100).fit(X, y))


@pytest.mark.parametrize("name", ["SVC", "SVC squared", "NuSVC", "SVR", "NuSVR", "OneClassSVM"])
def test_any_number_of_threads_on_blocks(name):
    """More points than the block holds: shrinking, float32 rows, several rounds."""
    machine = softened(ESTIMATORS[name]())
    X, y = training_set(machine, n=2600, d=4)
    one = clone(machine).set_params(n_threads=1).fit(X, y)
    assert_identical(one, clone(machine).set_params(n_threads=2).fit(X, y))
