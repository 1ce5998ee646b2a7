"""What every support vector machine obeys: its model, whatever it learns."""

from itertools import combinations

import numpy as np
import pytest
from laws.machines import (
    CLOSE,
    assert_identical,
    assert_same_machine,
    decision,
    dense,
    every_classifier,
    every_estimator,
    fitted,
)
from numpy.testing import assert_allclose, assert_array_equal
from registry import ESTIMATORS, LINEAR_ESTIMATORS, softened, training_set
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, clone, is_classifier, is_outlier_detector, is_regressor

from mercer import svm
from mercer.kernels import RBF
from mercer.svm import SVDD, SVR, NuSVC


def test_assert_same_machine_can_fail():
    X, y = training_set(svm.SVC())
    first = svm.SVC().fit(X, y)
    with pytest.raises(AssertionError):
        assert_same_machine(first, svm.SVC(C=1.001).fit(X, y), X)


def test_assert_identical_can_fail():
    X, y = training_set(svm.SVC())
    first, second = svm.SVC().fit(X, y), svm.SVC().fit(X, y)
    assert_identical(first, second)
    second.dual_coef_ = second.dual_coef_ * (1 + 1e-15)
    with pytest.raises(AssertionError):
        assert_identical(first, second)


def test_registry_is_complete():
    public = {getattr(svm, name) for name in svm.__all__}
    public = {item for item in public if isinstance(item, type) and issubclass(item, BaseEstimator)}
    registered = ESTIMATORS | LINEAR_ESTIMATORS
    assert {type(make()) for make in registered.values()} == public
    assert all(name.split()[0] == type(make()).__name__ for name, make in registered.items())


# --- the model --------------------------------------------------------------------------------------------


@every_estimator
def test_decision_rule(make):
    X, y = training_set(make())
    new, _ = training_set(make(), seed=1)
    machine = fitted(make, X, y)
    assert_array_equal(machine.support_vectors_, X[machine.support_])
    values = machine.kernel_(new, machine.support_vectors_) @ machine.dual_coef_.T + machine.intercept_
    if isinstance(machine, SVDD):
        values = values - machine.kernel_.diag(new)[:, np.newaxis]
    assert_allclose(decision(machine, new), values, rtol=1e-10, atol=1e-10)


@every_classifier
@pytest.mark.parametrize("n_classes", [3, 4])
def test_decision_rule_of_several_classes(make, n_classes):
    X, y = training_set(make(), n_classes=n_classes)
    new, _ = training_set(make(), seed=1)
    machine = fitted(make, X, y)
    n_problems = n_classes * (n_classes - 1) // 2
    assert issparse(machine.dual_coef_)
    assert machine.dual_coef_.shape == (n_problems, len(machine.support_))
    assert machine.intercept_.shape == machine.norm_.shape == machine.margin_.shape == (n_problems,)
    assert machine.slack_.shape == (n_problems, len(X))
    values = machine.kernel_(new, X[machine.support_]) @ machine.dual_coef_.toarray().T + machine.intercept_
    assert_allclose(machine.distance(new), values / machine.norm_, rtol=1e-10, atol=1e-10)


@every_classifier
def test_several_classes_are_pairs(make):
    """Each row of the model is the machine of its two classes alone; class weights are of all of them."""
    X, y = training_set(make(), n_classes=3, n=75)
    machine = fitted(lambda: make().set_params(class_weight=None, kernel=RBF(gamma=0.7)), X, y)
    for k, pair in enumerate([(0, 1), (0, 2), (1, 2)]):
        both = np.isin(y, pair)
        alone = clone(machine).fit(X[both], y[both])
        assert_allclose(decision(machine, X)[:, k], alone.decision_function(X), **CLOSE)
        assert_allclose(machine.margin_[k], alone.margin_, **CLOSE)
        assert_allclose(dense(machine.slack_)[k, both], alone.slack_, **CLOSE)


@every_estimator
def test_predict_agrees_with_decision(make):
    X, y = training_set(make())
    new, _ = training_set(make(), n=200, seed=1)
    machine = fitted(make, X, y)
    if is_classifier(machine):
        assert_array_equal(machine.predict(new), machine.classes_[(machine.decision_function(new) > 0).astype(int)])
    elif is_outlier_detector(machine):
        assert_array_equal(machine.predict(new), np.where(machine.decision_function(new) >= 0, 1, -1))
        assert_allclose(machine.decision_function(new), machine.score_samples(new) - machine.offset_, rtol=1e-12)
        assert_array_equal(machine.fit_predict(X, y), machine.predict(X))
    else:
        assert_allclose(machine.predict(new), decision(machine, new)[:, 0])


@every_classifier
def test_predict_takes_the_largest_score(make):
    X, y = training_set(make(), n_classes=4)
    new, _ = training_set(make(), n=300, seed=1)
    names = np.array(["ant", "bee", "cat", "dog"])
    machine = fitted(make, X, names[y])
    scores = machine.decision_function(new)
    assert scores.shape == (300, 4)
    assert_array_equal(machine.predict(new), names[scores.argmax(axis=1)])
    # Votes come first: the winner has as many as anyone else.
    votes = np.zeros((300, 4))
    for values, (i, j) in zip(machine.distance(new).T, combinations(range(4), 2), strict=True):
        votes[np.arange(300), np.where(values > 0, j, i)] += 1
    assert (votes[np.arange(300), scores.argmax(axis=1)] == votes.max(axis=1)).all()


@every_estimator
def test_attributes_of_the_training_set(make):
    X, y = training_set(make())
    machine = fitted(make, X, y)
    assert machine.result_.status == "solved"
    assert machine.n_iter_ == machine.result_.n_iter >= 1
    assert machine.n_features_in_ == X.shape[1]
    assert machine.n_support_.sum() == len(machine.support_)
    assert machine.sparsity_ == pytest.approx(1 - len(machine.support_) / len(X))
    assert (np.diff(machine.support_) > 0).all()
    assert (dense(machine.dual_coef_) != 0).all()
    if is_classifier(machine):
        assert_array_equal(machine.n_support_, [(y[machine.support_] == c).sum() for c in (0, 1)])


@every_estimator
def test_norm(make):
    """norm_ is |w| (for the ball, that of the centre) in feature space."""
    X, y = training_set(make())
    machine = fitted(make, X, y)
    coefficients = machine.dual_coef_[0] * (0.5 if isinstance(machine, SVDD) else 1.0)
    squared = coefficients @ machine.kernel_(machine.support_vectors_) @ coefficients
    assert machine.norm_ == pytest.approx(np.sqrt(squared), rel=1e-7)
    if isinstance(machine, SVDD):
        assert coefficients.sum() == pytest.approx(1.0)
        assert machine.radius_**2 == pytest.approx(machine.intercept_[0] + squared, rel=1e-9)


@every_estimator
def test_slack(make):
    X, y = training_set(make())
    machine = fitted(make, X, y)
    if is_classifier(machine):
        slack = 1 - np.where(y == 1, 1, -1) * machine.decision_function(X)
    elif is_outlier_detector(machine):
        slack = -machine.decision_function(X)
    else:
        width = machine.epsilon_ if hasattr(machine, "epsilon_") else getattr(machine, "epsilon", 0.0)
        slack = np.abs(y - machine.predict(X)) - width
    assert_allclose(machine.slack_, np.maximum(0, slack), rtol=1e-7, atol=1e-8)
    assert machine.margin_errors_ == pytest.approx(np.mean(slack > machine.tol), abs=1e-12)


@every_classifier
def test_margin_and_distance(make):
    X, y = training_set(make())
    machine = fitted(make, X, y)
    assert machine.margin_ == pytest.approx(1 / machine.norm_, rel=1e-10)
    assert_allclose(machine.distance(X), machine.decision_function(X) / machine.norm_, rtol=1e-12)
    if isinstance(machine, NuSVC):  # rho / |w| in the scale of the problem
        assert machine.margin_ == pytest.approx(machine.rho_ / np.sqrt(2 * machine.result_.objective), rel=1e-9)
    smallest = np.min(np.where(y == 1, 1, -1) * machine.decision_function(X))
    assert machine.result_.margin == pytest.approx(smallest, rel=1e-7, abs=1e-9)


@every_estimator
def test_coef_of_linear_kernels(make):
    X, y = training_set(make())
    X = X + 4.0  # so that a hyperplane fits between the samples and the origin
    machine = softened(make()).set_params(kernel="linear").fit(X, y)
    assert machine.coef_.shape == (1, X.shape[1])
    values = X @ machine.coef_[0] + machine.intercept_[0]
    if isinstance(machine, SVDD):
        values = values - (X**2).sum(axis=1)
    assert_allclose(decision(machine, X)[:, 0], values, rtol=1e-9, atol=1e-9)
    assert not hasattr(fitted(lambda: make().set_params(kernel=RBF()), X, y), "coef_")


@every_classifier
@pytest.mark.parametrize("storage", [np.asarray, csr_array])
def test_coef_of_several_classes(make, storage):
    X, y = training_set(make(), n_classes=3)
    machine = softened(make()).set_params(kernel="linear").fit(storage(X), y)
    assert isinstance(machine.coef_, np.ndarray) or issparse(machine.coef_)
    assert machine.coef_.shape == (3, X.shape[1])
    assert_allclose(decision(machine, X), X @ dense(machine.coef_).T + machine.intercept_, atol=1e-9)


@every_estimator
def test_influence(make):
    X, y = training_set(make())
    machine = fitted(make, X, y)
    samples, multipliers = machine.influence(5)
    assert len(samples) == len(multipliers) == 5
    everywhere = np.zeros(len(X))
    everywhere[machine.support_] = np.abs(machine.dual_coef_[0])
    assert_array_equal(multipliers, everywhere[samples])
    assert_array_equal(multipliers, np.sort(everywhere)[::-1][:5])
    everyone, sizes = machine.influence(10**6)
    assert_array_equal(np.sort(everyone), machine.support_)
    assert (np.diff(sizes) <= 0).all()


# --- several outputs --------------------------------------------------------------------------------------

regressors = {name: make for name, make in ESTIMATORS.items() if is_regressor(make())}


@pytest.mark.parametrize("make", regressors.values(), ids=regressors.keys())
@pytest.mark.parametrize("weighted", [False, True])
def test_several_outputs_are_single_ones(make, weighted):
    X, first = training_set(make())
    targets = np.stack([first, first**2, -3.0 * X[:, 0]], axis=1)
    weight = np.random.default_rng(3).integers(0, 3, size=len(X)) if weighted else None
    together = make().fit(X, targets, sample_weight=weight)
    assert together.predict(X).shape == targets.shape == together.slack_.shape
    assert together.intercept_.shape == together.norm_.shape == together.margin_errors_.shape == (3,)
    assert together.dual_coef_.shape == (3, len(together.support_))
    for k in range(3):
        alone = make().fit(X, targets[:, k], sample_weight=weight)
        assert_array_equal(together.predict(X)[:, k], alone.predict(X))
        assert_array_equal(together.slack_[:, k], alone.slack_)
        assert together.intercept_[k] == alone.intercept_[0]
        assert together.result_.parts[k].objective == alone.result_.objective
    column = make().fit(X, targets[:, [0]])
    assert column.predict(X).shape == (len(X), 1)
    assert column.slack_.shape == (len(X), 1)
    assert together.score(X, targets) <= 1.0


def test_several_outputs_of_a_linear_machine():
    X, y = training_set(SVR())
    machine = SVR(kernel="linear").fit(X, np.stack([y, X[:, 1]], axis=1))
    assert machine.coef_.shape == (2, 3)
    assert_allclose(machine.predict(X), X @ machine.coef_.T + machine.intercept_, atol=1e-9)
