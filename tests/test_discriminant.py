"""Discriminants: what they tell, and what they refuse."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.discriminant import KernelFisherDiscriminant, KernelNearestCentroid, KernelPerceptron, ParzenClassifier
from mercer.errors import DomainError, IndefiniteError, SingularError
from mercer.kernels import RBF, Linear, Spectrum


@pytest.fixture
def three(rng):
    y = np.arange(60) % 3
    return rng.normal(size=(60, 2)) + np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])[y], y


# --- Fisher's discriminant --------------------------------------------------------------------------------


def test_fewer_components_are_the_first_ones(three):
    X, y = three
    full, one = (KernelFisherDiscriminant(n_components=k).fit(X, y) for k in (None, 1))
    assert full.transform(X).shape == (60, 2)
    assert_allclose(one.transform(X), full.transform(X)[:, :1], atol=1e-12)
    assert_allclose(one.decision_function(X), full.decision_function(X), atol=1e-12)
    assert list(one.get_feature_names_out()) == ["kernelfisherdiscriminant0"]
    with pytest.raises(ValueError, match=r"n_components must be at most .* 2, got 3"):
        KernelFisherDiscriminant(n_components=3).fit(X, y)


def test_probability_decision_and_prediction_agree(three):
    X, y = three
    for codes in (y, y == 1):
        machine = KernelFisherDiscriminant(alpha=0.1).fit(X, codes)
        proba = machine.predict_proba(X)
        assert_allclose(machine.predict_log_proba(X), np.log(proba), atol=1e-12)
        assert_allclose(proba.sum(axis=1), 1.0)
        assert_array_equal(machine.classes_[proba.argmax(axis=1)], machine.predict(X))
    assert_allclose(np.log(proba[:, 1] / proba[:, 0]), machine.decision_function(X), atol=1e-9)


def test_the_outermost_class_is_on_the_positive_side(three):
    X, y = three
    means = KernelFisherDiscriminant().fit(X, y).means_
    assert (means[np.abs(means).argmax(axis=0), np.arange(2)] > 0).all()
    two = KernelFisherDiscriminant().fit(X[y > 0], y[y > 0])
    assert two.means_[1, 0] > 0 > two.means_[0, 0]


def test_units_of_the_kernel_make_no_difference(three):
    X, y = three
    decisions = KernelFisherDiscriminant(Linear()).fit(X, y).decision_function(X)
    assert_allclose(KernelFisherDiscriminant(Linear()).fit(1e5 * X, y).decision_function(1e5 * X), decisions, rtol=1e-7)


def test_priors(three):
    X, y = three
    even = KernelFisherDiscriminant(priors="uniform").fit(X, y)
    leaning = KernelFisherDiscriminant(priors=[0.2, 0.3, 0.5]).fit(X, y)
    shift = np.log([0.6, 0.9, 1.5])
    assert_allclose(leaning.decision_function(X), even.decision_function(X) + shift, atol=1e-9)
    for priors, match in (
        ([0.5, 0.5], "one number for each of the 3 classes"),
        ([0.5, 0.6, 0.7], "priors must be"),
        ([0.5, 0.5, 0.0], "priors must be"),
    ):
        for kind in (KernelFisherDiscriminant, ParzenClassifier):
            with pytest.raises(ValueError, match=match):
                kind(priors=priors).fit(X, y)


def test_means_that_do_not_lie_apart():
    """All that is known are the priors; three means on a line have one direction."""
    X, y = np.array([[-1.0], [1.0], [-1.0], [1.0], [-1.0], [1.0]]), np.array([0, 0, 1, 1, 1, 1])
    machine = KernelFisherDiscriminant("linear").fit(X, y)
    assert_allclose(machine.transform(X), 0.0, atol=1e-12)
    assert_allclose(machine.decision_function(X), np.log(2.0), atol=1e-12)
    assert_array_equal(machine.explained_variance_ratio_, [0.0])
    X = np.concatenate([[[c, -1.0], [c, 1.0]] for c in (0.0, 3.0, 6.0)])
    machine = KernelFisherDiscriminant("linear").fit(X, np.repeat([0, 1, 2], 2))
    assert_allclose(machine.explained_variance_ratio_, [1.0, 0.0])
    assert_allclose(machine.transform(X)[:, 1], 0.0, atol=1e-12)
    assert_array_equal(machine.predict(X), np.repeat([0, 1, 2], 2))


def test_what_fisher_refuses(three):
    X, y = three
    with pytest.raises(ValueError, match="the same in feature space"):
        KernelFisherDiscriminant().set_params(kernel=RBF(gamma=1.0)).fit(np.ones_like(X), y)
    K = Linear()(X)
    K -= 3.0 * np.eye(60)
    with pytest.raises(IndefiniteError, match=r"smallest eigenvalue of this one is -3"):
        KernelFisherDiscriminant("precomputed").fit(K, y)
    with pytest.raises(ValueError, match="alpha must be a float > 0"):
        KernelFisherDiscriminant(alpha=0.0).fit(X, y)
    with pytest.raises(SingularError, match="alpha=1e-20 is too small"):
        KernelFisherDiscriminant(alpha=1e-20).fit(X, y)
    for kind in (KernelFisherDiscriminant, KernelNearestCentroid, KernelPerceptron):
        with pytest.raises(ValueError, match=r"the values of Linear\(\) overflow"):
            kind("linear").fit(1e200 * X, y)


# --- densities --------------------------------------------------------------------------------------------


def test_densities_predict(three):
    X, y = three
    for codes in (y, y == 1):
        machine = ParzenClassifier(priors="empirical").fit(X, codes)
        assert_array_equal(machine.classes_[machine.densities(X).argmax(axis=1)], machine.predict(X))
        assert (machine.densities(X) > 0).all()
    assert_allclose(machine.decision_function(X), np.diff(machine.densities(X))[:, 0], atol=1e-15)


def test_samples_are_checked_though_no_value_is_computed():
    with pytest.raises(DomainError, match="Spectrum"):
        ParzenClassifier(Spectrum(2)).fit([1, 2, 3, 4], [0, 1, 0, 1])


# --- perceptron -------------------------------------------------------------------------------------------


def test_classes_that_cannot_be_separated(rng):
    """It makes all the passes it may, and says so."""
    X, y = np.zeros((4, 1)), np.array([0, 1, 0, 1])
    machine = KernelPerceptron("linear", max_iter=6).fit(X, y)
    assert (machine.separated_, machine.n_iter_) == (False, 6)
    assert machine.n_mistakes_ >= 6
    assert machine.margin_ <= 0


def test_a_pass_without_mistakes_is_the_last(three):
    X, y = three
    machine = KernelPerceptron("linear", max_iter=1000).fit(X[y > 0] * [[1.0, -1.0]], y[y > 0])
    assert machine.separated_ and machine.n_iter_ < 1000
    assert_array_equal(machine.predict(X[y > 0] * [[1.0, -1.0]]), y[y > 0])
    assert (machine.margin_ > 0) and len(machine.support_) <= machine.n_mistakes_


def test_memory_makes_no_difference(three):
    X, y = three
    machine = KernelPerceptron(RBF(gamma=0.5)).fit(X, y)
    small = KernelPerceptron(RBF(gamma=0.5), memory=1e-4).fit(X, y)
    assert_array_equal(small.dual_coef_, machine.dual_coef_)


def test_averaging_depends_less_on_the_order(rng):
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] + 0.7 * rng.normal(size=80) > 0).astype(int)
    new = rng.normal(size=(300, 2))

    def agreement(averaged):
        make = KernelPerceptron("linear", averaged=averaged, max_iter=10)
        votes = [make.set_params(random_state=seed).fit(X, y).predict(new) for seed in range(8)]
        return np.mean([a == b for a in votes for b in votes])

    assert agreement(True) > agreement(False) + 0.02


def test_strings_and_names():
    words, y = ["banana", "ananas", "bandana", "street", "tree", "trees"], list("aaabbb")
    for kind in (KernelFisherDiscriminant, KernelNearestCentroid, KernelPerceptron, ParzenClassifier):
        machine = kind(Spectrum(2).normalized()).fit(words, y)
        assert list(machine.predict(["savanna", "greet"])) == ["a", "b"]
