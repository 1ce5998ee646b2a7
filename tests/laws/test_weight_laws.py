"""Sample weights: weight two is the sample twice."""

import numpy as np
import pytest
from laws.machines import (
    CLOSE,
    assert_same_machine,
    decision,
    every_classifier,
    every_estimator,
    fitted,
    weighted_and_repeated,
)
from numpy.testing import assert_allclose
from registry import training_set
from sklearn.base import clone

from mercer.kernels import RBF
from mercer.svm import NuSVC, OneClassSVM


@every_estimator
def test_weight_two_is_the_sample_twice(make):
    X, y, weight, repeated, values = weighted_and_repeated(make)
    machine = fitted(make, X, y, sample_weight=weight)
    assert_same_machine(machine, fitted(make, repeated, values), X)
    assert not np.isin(machine.support_, np.flatnonzero(weight == 0)).any()
    assert not machine.slack_[weight == 0].any()


@every_classifier
def test_weight_two_is_the_sample_twice_for_several_classes(make):
    X, y, weight, repeated, values = weighted_and_repeated(make, n_classes=3)
    first, second = fitted(make, X, y, sample_weight=weight), fitted(make, repeated, values)
    assert_same_machine(first, second, X)
    assert_allclose(first.margin_errors_, second.margin_errors_, atol=1e-12)


@every_estimator
@pytest.mark.parametrize("gamma", ["scale", "median", "mean", "auto"])
def test_weights_reach_what_the_kernel_takes_from_the_data(make, gamma):
    X, y, weight, repeated, values = weighted_and_repeated(make)
    first = fitted(lambda: make().set_params(kernel=RBF(gamma=gamma)), X, y, sample_weight=weight)
    second = fitted(lambda: make().set_params(kernel=RBF(gamma=gamma)), repeated, values)
    assert first.kernel_.gamma == pytest.approx(second.kernel_.gamma, rel=1e-12)
    assert_same_machine(first, second, X)


@every_estimator
def test_weights_of_a_precomputed_matrix(make):
    X, y, weight, *_ = weighted_and_repeated(make)
    times = np.repeat(np.arange(len(X)), weight)
    K = RBF(gamma=0.4)(X)
    machine = make().set_params(kernel="precomputed")
    first = clone(machine).fit(K, y, sample_weight=weight)
    second = clone(machine).fit(K[np.ix_(times, times)], y[times])
    assert_allclose(decision(first, K), decision(second, K[:, times]), **CLOSE)


@every_estimator
def test_constant_weights(make):
    """Weights of a half are half the price; where there is none, they change nothing."""
    X, y = training_set(make())
    half = fitted(make, X, y, sample_weight=np.full(len(X), 0.5))
    machine = make()
    if hasattr(machine, "C"):
        whole = machine.set_params(C=machine.C / 2).fit(X, y)
        assert_same_machine(half, whole, X)
    else:
        # The multipliers of nu machines are in units of the weights.
        scale = 2.0 if isinstance(machine, OneClassSVM) else 1.0
        assert_allclose(scale * decision(half, X), decision(machine.fit(X, y), X), **CLOSE)


@every_estimator
def test_tiny_and_huge_weights_together(make):
    X, y = training_set(make())
    weight = 10.0 ** np.random.default_rng(5).integers(-4, 5, size=len(X))
    machine = make()
    if isinstance(machine, NuSVC):
        weight = np.where(y == 1, weight / weight[y == 1].sum(), weight / weight[y == 0].sum())
    assert machine.fit(X, y, sample_weight=weight).result_.status == "solved"
