"""What every support vector machine obeys, whatever it learns."""

import pickle
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from registry import ESTIMATORS, LINEAR_ESTIMATORS, softened, training_set
from scipy.sparse import csc_array, csr_array, csr_matrix, issparse
from sklearn import config_context
from sklearn.base import BaseEstimator, clone, is_classifier, is_outlier_detector, is_regressor
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import svm
from mercer.kernels import RBF, Kernel, Linear, as_kernel
from mercer.svm import SVDD, SVR, NuSVC, OneClassSVM

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
        width = machine.epsilon_ if hasattr(machine, "epsilon_") else machine.epsilon
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


# --- weights ----------------------------------------------------------------------------------------------


def weighted_and_repeated(make, n_classes=2, n=SMALL):
    """The same data twice: with weights 0, 1, 2 and 3, and with samples left out and repeated."""
    X, y = training_set(make(), n=n, n_classes=n_classes)
    weight = np.random.default_rng(3).integers(0, 4, size=n)
    times = np.repeat(np.arange(n), weight)
    shuffled = np.random.default_rng(4).permutation(times)
    return X, y, weight, X[shuffled], y[shuffled]


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


# --- kernels ----------------------------------------------------------------------------------------------


@every_estimator
def test_precomputed(make):
    X, y = training_set(make())
    new, _ = training_set(make(), n=40, seed=1)
    machine = fitted(make, X, y)
    K, Kx = machine.kernel_(X), machine.kernel_(new, X)
    given = make().set_params(kernel="precomputed").fit(K, y)
    assert given.kernel_ == "precomputed"
    assert given.n_features_in_ == len(X)
    assert_allclose(given.dual_coef_, machine.dual_coef_, **CLOSE)
    assert_allclose(given.intercept_, machine.intercept_, **CLOSE)
    if isinstance(machine, SVDD):
        diagonal = machine.kernel_.diag(new)
        scores = [given.score_samples(k, diagonal=diagonal) for k in (Kx, Kx[:, given.support_])]
        assert_allclose(scores[0], machine.score_samples(new), **CLOSE)
        assert_array_equal(scores[0], scores[1])
        return
    assert_allclose(decision(given, Kx), decision(machine, new), **CLOSE)
    assert_array_equal(decision(given, Kx), decision(given, Kx[:, given.support_]))
    assert_array_equal(given.predict(Kx), given.predict(Kx[:, given.support_]))


@every_classifier
def test_precomputed_with_several_classes(make):
    X, y = training_set(make(), n_classes=3)
    machine = fitted(make, X, y)
    K = machine.kernel_(X)
    given = make().set_params(kernel="precomputed").fit(K, y)
    assert_allclose(given.decision_function(K), machine.decision_function(X), rtol=1e-3, atol=1e-3)
    assert_array_equal(given.predict(K), machine.predict(X))
    assert_array_equal(given.decision_function(K[:, given.support_]), given.decision_function(K))


@every_estimator
def test_precomputed_in_float32(make):
    X, y = training_set(make())
    K = as_kernel(RBF(gamma=0.5))(X)
    machine = make().set_params(kernel="precomputed")
    first, second = clone(machine).fit(K.astype(np.float32), y), clone(machine).fit(K, y)
    assert_allclose(decision(first, K), decision(second, K), rtol=1e-3, atol=1e-3)


@every_estimator
def test_a_function_is_a_kernel(make):
    X, y = training_set(make())
    kernel = make().fit(X, y).kernel_
    given = make().set_params(kernel=lambda A, B: kernel(A, B)).fit(X, y)
    assert_allclose(decision(given, X), decision(make().fit(X, y), X), **CLOSE)
    # Blocks of rows from Python, when the matrix does not fit.
    rows = make().set_params(kernel=lambda A, B: kernel(A, B), memory=0.02).fit(X, y)
    assert_allclose(decision(rows, X), decision(given, X), **CLOSE)


def common_letters(X, Y):
    return np.array([[len(set(x) & set(y)) for y in Y] for x in X], dtype=float)


@every_estimator
@pytest.mark.parametrize("container", [list, np.array, lambda words: np.array(words, dtype=object)])
def test_strings(make, container):
    """Samples that are no vectors go straight into fit and predict."""
    words = ["stay", "stray", "play", "tray", "plain", "bone", "bonnet", "one", "none", "nonet"]
    y = np.repeat([0, 1], 5)
    machine = make().set_params(kernel=common_letters).fit(container(words), y)
    assert machine.result_.status == "solved"
    K = common_letters(words, words)
    given = make().set_params(kernel="precomputed").fit(K, y)
    assert_allclose(machine.dual_coef_, given.dual_coef_, **CLOSE)
    assert list(machine.support_vectors_) == [words[i] for i in machine.support_]
    assert len(machine.predict(container(["stone", "spray", "clay"]))) == 3
    if is_classifier(machine):
        assert_array_equal(machine.predict(["spray", "bonne"]), [0, 1])
    assert not hasattr(machine, "n_features_in_")


@every_estimator
def test_categories(make):
    colours = np.array([["red", "round"], ["red", "flat"], ["blue", "flat"], ["blue", "round"], ["green", "flat"]])
    y = np.array([0, 0, 1, 1, 1])
    machine = softened(make()).set_params(kernel="hamming").fit(colours, y)
    assert machine.n_features_in_ == 2
    assert len(machine.predict(colours[:2])) == 2


# --- order, refits, threads -------------------------------------------------------------------------------


@every_estimator
def test_order_of_samples(make):
    X, y = training_set(make())
    shuffled = np.random.default_rng(2).permutation(len(X))
    first, second = fitted(make, X, y), fitted(make, X[shuffled], y[shuffled])
    assert_same_machine(first, second, X)
    assert_allclose(first.slack_[shuffled], second.slack_, **CLOSE)


def weight_vector(machine, n):
    """Coefficients of w over n training samples, in the scale of the problem that was solved."""
    coefficients = np.zeros(n)
    coefficients[machine.support_] = machine.dual_coef_[0]
    if isinstance(machine, NuSVC):
        return coefficients * machine.rho_
    return coefficients * 0.5 * machine.nu * n if isinstance(machine, SVDD) else coefficients


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


# --- parameters -------------------------------------------------------------------------------------------


@every_estimator
def test_clone_and_pickle(make):
    X, y = training_set(make())
    machine = fitted(make, X, y)
    copy = pickle.loads(pickle.dumps(machine))
    assert_array_equal(decision(copy, X), decision(machine, X))
    assert_identical(copy, machine)
    fresh = clone(machine)
    assert not hasattr(fresh, "dual_coef_")
    assert fresh.get_params().keys() == machine.get_params().keys()
    assert_identical(fresh.fit(X, y), machine)
    assert repr(fresh) == repr(machine) == repr(make())


@every_estimator
def test_set_params_makes_a_kernel_of_a_name(make):
    machine = make().set_params(kernel="rbf")
    assert machine.set_params(kernel__gamma=0.25) is machine
    assert machine.kernel == RBF(gamma=0.25)
    # together, in either order
    machine = make().set_params(kernel__degree=2, kernel="poly")
    assert (machine.kernel.degree, type(machine.kernel).__name__) == (2, "Polynomial")
    # the kernel that others hold is their own
    first = make().set_params(kernel="rbf", kernel__gamma=1.0)
    second = clone(first).set_params(kernel__gamma=2.0)
    assert (first.kernel.gamma, second.kernel.gamma) == (1.0, 2.0)
    # of a composite, by position
    machine = make().set_params(kernel=RBF() + Linear())
    machine.set_params(kernel__0__gamma=4.0)
    assert machine.kernel.kernels[0].gamma == 4.0


@every_estimator
def test_fit_leaves_parameters_alone(make):
    X, y = training_set(make())
    machine = make()
    before = machine.get_params()
    kernel = RBF(gamma="scale")
    machine.set_params(kernel=kernel).fit(X, y)
    assert machine.kernel is kernel
    assert kernel.gamma == "scale"
    assert isinstance(machine.kernel_, Kernel)
    assert isinstance(machine.kernel_.gamma, float)
    after = machine.set_params(kernel=before["kernel"]).get_params()
    assert all(after[name] is value for name, value in before.items() if "__" not in name)


@every_estimator
def test_grid_search(make):
    X, y = training_set(make())
    machine = make().set_params(kernel="rbf")
    scoring = None if hasattr(machine, "score") else lambda m, X, y: float(np.mean(m.predict(X)))
    grid = {"kernel__gamma": [0.1, 1.0], "tol": [1e-3, 1e-4]}
    search = GridSearchCV(machine, grid, cv=3, scoring=scoring).fit(X, y)
    assert search.best_estimator_.kernel_.gamma in (0.1, 1.0)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert len(search.predict(X)) == len(X)


@every_classifier
def test_cross_validation_of_a_precomputed_matrix(make):
    X, y = training_set(make())
    K = RBF(gamma=3.0)(X)
    given = cross_val_score(make().set_params(kernel="precomputed"), K, y, cv=4)
    assert_array_equal(given, cross_val_score(make().set_params(kernel=RBF(gamma=3.0)), X, y, cv=4))


@every_estimator
def test_html_and_text(make):
    machine = make()
    html = machine._repr_html_()
    assert "<style>" in html
    assert type(machine).__name__ in html
    assert type(machine).__name__ in repr(machine)
    X, y = training_set(machine)
    assert "fitted" in machine.fit(X, y)._repr_html_()
    assert "solved" in str(machine.result_)


@every_estimator
def test_warm_start(make):
    X, y = training_set(make(), n=300)
    machine = softened(make())
    cold = clone(machine).fit(X, y)
    warm = clone(machine).set_params(warm_start=True).fit(X, y)
    assert_identical(cold, warm)
    steps = warm.n_iter_
    again = warm.fit(X, y)
    assert again.result_.status == "solved"
    assert again.n_iter_ <= max(1, steps // 10)
    difference = weight_vector(again, len(X)) - weight_vector(cold, len(X))
    distance = np.sqrt(max(0.0, difference @ cold.kernel_(X) @ difference))
    assert distance <= np.sqrt(2 * cold.result_.gap) + np.sqrt(2 * again.result_.gap) + 1e-6
    # other samples, another number of them, another parameter
    moved = warm.fit(X + 0.01, y)
    assert moved.result_.status == "solved"
    fewer = warm.fit(X[:200], y[:200])
    assert_identical(fewer, clone(machine).set_params(warm_start=True).fit(X[:200], y[:200]))
    if hasattr(machine, "C"):
        other = warm.set_params(C=0.1).fit(X[:200], y[:200])
        fresh = clone(machine).set_params(C=0.1).fit(X[:200], y[:200])
        assert_allclose(decision(other, X), decision(fresh, X), rtol=1e-2, atol=1e-2)


@every_classifier
def test_warm_start_with_several_classes(make):
    X, y = training_set(make(), n=150, n_classes=3)
    warm = softened(make()).set_params(warm_start=True).fit(X, y)
    steps = warm.n_iter_
    assert warm.fit(X, y).n_iter_ <= max(3, steps // 10)
    assert warm.fit(X[y > 0], y[y > 0]).result_.status == "solved"


# --- samples in -------------------------------------------------------------------------------------------


@every_estimator
def test_inputs_do_not_change(make):
    X, y = training_set(make())
    weight = np.linspace(0.5, 2.0, len(X))
    before = X.copy(), y.copy(), weight.copy()
    machine = fitted(make, X, y, sample_weight=weight)
    decision(machine, X)
    for array, copy in zip((X, y, weight), before, strict=True):
        assert_array_equal(array, copy)
    # what was learnt is not tied to the caller's memory
    values = decision(machine, before[0])
    X[:] = 0.0
    assert_array_equal(decision(machine, before[0]), values)


@every_estimator
def test_float32_is_kept(make):
    X, y = training_set(make())
    X = X.astype(np.float32)
    single, full = fitted(make, X, y), fitted(make, X.astype(np.float64), y)
    assert single.support_vectors_.dtype == np.float32
    assert single.dual_coef_.dtype == np.float64
    assert_allclose(decision(single, X), decision(full, X.astype(np.float64)), rtol=2e-3, atol=2e-3)


@every_estimator
def test_other_types_become_float64(make):
    X, y = training_set(make())
    X = np.round(X * 4)
    expected = decision(fitted(make, X, y), X)
    for given in (X.astype(np.int32), X.astype(np.int8), X.astype(np.float16), X.astype(object), X.tolist()):
        machine = fitted(make, given, y)
        assert machine.support_vectors_.dtype == np.float64
        assert_array_equal(decision(machine, given), expected)


@every_estimator
@pytest.mark.parametrize("storage", [csr_array, csr_matrix, csc_array])
def test_sparse(make, storage):
    X, y = training_set(make(), d=8)
    X[:, 1:][np.random.default_rng(1).random((len(X), 7)) < 0.6] = 0.0
    machine, sparse = fitted(make, X, y), fitted(make, storage(X), y)
    assert issparse(sparse.support_vectors_)
    assert sparse.support_vectors_.format == "csr"
    values = decision(machine, X)
    assert_allclose(decision(sparse, storage(X)), values, **CLOSE)
    assert_allclose(decision(sparse, X), values, **CLOSE)
    assert_allclose(decision(machine, storage(X)), values, **CLOSE)
    assert_array_equal(machine.support_, sparse.support_)


@every_estimator
def test_sparse_float32(make):
    X, y = training_set(make(), d=8)
    X[:, 1:][np.random.default_rng(1).random((len(X), 7)) < 0.6] = 0.0
    X = csr_array(X.astype(np.float32))
    machine = fitted(make, X, y)
    assert machine.support_vectors_.dtype == np.float32
    full = fitted(make, X.astype(np.float64), y)
    assert_allclose(decision(machine, X), decision(full, X.astype(np.float64)), rtol=2e-3, atol=2e-3)


@every_estimator
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_data_frames(make, frame):
    X, y = training_set(make())
    names = ["length", "width", "weight"]
    table = frame(dict(zip(names, X.T, strict=True)))
    if not hasattr(StandardScaler().fit(table), "feature_names_in_"):
        pytest.skip("this scikit-learn does not see the names of such a frame")
    machine, plain = fitted(make, table, y), fitted(make, X, y)
    assert_array_equal(machine.feature_names_in_, names)
    assert_array_equal(decision(machine, table), decision(plain, X))
    assert not hasattr(plain, "feature_names_in_")
    column = pd.Series(y) if frame is pd.DataFrame else pl.Series(y)
    assert_array_equal(decision(fitted(make, table, column), table), decision(plain, X))
    with pytest.raises(ValueError, match="feature names should match"):
        machine.predict(frame(dict(zip(["width", "length", "weight"], X.T, strict=True))))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        machine.predict(X)


@every_estimator
def test_set_output_in_a_pipeline(make):
    X, y = training_set(make())
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    machine = make_pipeline(StandardScaler(), make()).set_output(transform="pandas").fit(table, y)
    assert_array_equal(machine[-1].feature_names_in_, ["a", "b", "c"])
    assert len(machine.predict(table)) == len(X)


@every_estimator
def test_metadata_routing(make):
    X, y, weight, *_ = weighted_and_repeated(make)
    with config_context(enable_metadata_routing=True):
        machine = make().set_fit_request(sample_weight=True)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), machine)
        routed = pipe.fit(X, y, sample_weight=weight)[-1]
    direct = make().fit(StandardScaler().fit_transform(X), y, sample_weight=weight)
    assert_array_equal(routed.dual_coef_, direct.dual_coef_)
    with config_context(enable_metadata_routing=True):
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), make())
        with pytest.raises(ValueError, match="sample_weight"):
            pipe.fit(X, y, sample_weight=weight)


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
