"""What every machine with probabilities obeys."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from registry import CALIBRATED, training_set
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import StratifiedKFold

from mercer import calibration
from mercer.calibration import Calibrated
from mercer.kernels import RBF
from mercer.svm import SVC, NuSVC

every_machine = pytest.mark.parametrize("make", CALIBRATED.values(), ids=CALIBRATED.keys())
wrapped = {name: make for name, make in CALIBRATED.items() if isinstance(make(), Calibrated)}
every_wrapper = pytest.mark.parametrize("make", wrapped.values(), ids=wrapped.keys())
folded = {name: make for name, make in CALIBRATED.items() if getattr(make(), "cv", 5) != "in-sample"}
every_folded = pytest.mark.parametrize("make", folded.values(), ids=folded.keys())
single = {name: make for name, make in CALIBRATED.items() if not getattr(make(), "ensemble", False)}
every_single = pytest.mark.parametrize("make", single.values(), ids=single.keys())
ensembles = {name: make for name, make in CALIBRATED.items() if name not in single}
every_ensemble = pytest.mark.parametrize("make", ensembles.values(), ids=ensembles.keys())
every_number_of_classes = pytest.mark.parametrize("n_classes", [2, 3, 10])

CLOSE = {"rtol": 1e-6, "atol": 1e-7}


def size(n_classes):
    return 25 * n_classes


def inner(machine):
    """The machine before calibration, not trained."""
    return machine.estimator if isinstance(machine, Calibrated) else clone(machine).set_params(probability=False)


def assert_same_probabilities(first, second, X):
    assert_array_equal(first.classes_, second.classes_)
    assert_allclose(first.predict_proba(X), second.predict_proba(X), **CLOSE)


def assert_identical(first, second, X):
    assert_array_equal(first.decision_function(X), second.decision_function(X))
    assert_array_equal(first.predict_proba(X), second.predict_proba(X))


def test_helpers_can_fail():
    X, y = training_set(SVC())
    first, second = Calibrated(SVC()).fit(X, y), Calibrated(SVC(C=1.01)).fit(X, y)
    with pytest.raises(AssertionError):
        assert_same_probabilities(first, second, X)
    with pytest.raises(AssertionError):
        assert_identical(first, second, X)


def test_registry_is_complete():
    public = {getattr(calibration, name) for name in calibration.__all__}
    estimators = {item for item in public if isinstance(item, type) and issubclass(item, BaseEstimator)}
    assert {type(make()) for make in CALIBRATED.values()} == estimators | {SVC, NuSVC}
    assert all(name.split()[0] == type(make()).__name__ for name, make in CALIBRATED.items())


# --- decision, probability, prediction --------------------------------------------------------------------


@every_machine
@every_number_of_classes
def test_they_agree(make, n_classes):
    X, y = training_set(make(), n=size(n_classes), n_classes=n_classes)
    names = np.array(["abcdefghij"[c] for c in y])
    new, _ = training_set(make(), n=500, seed=1, n_classes=n_classes)
    machine = make().fit(X, names)
    decision, probability = machine.decision_function(new), machine.predict_proba(new)
    assert decision.shape == ((500,) if n_classes == 2 else (500, n_classes))
    assert probability.shape == (500, n_classes)
    assert (probability >= 0).all()
    assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-12)
    with np.errstate(divide="ignore"):
        assert_allclose(machine.predict_log_proba(new), np.log(probability), rtol=1e-9, atol=1e-12)
    if n_classes == 2:
        assert_allclose(probability[:, 1], 1 / (1 + np.exp(-decision)), rtol=1e-12)
        assert_array_equal(decision > 0, probability.argmax(axis=1) == 1)
    else:
        assert_allclose(np.exp(decision), probability, rtol=1e-12)
        assert_array_equal(decision.argmax(axis=1), probability.argmax(axis=1))
    # Also where two classes are equally probable: the first of them.
    assert_array_equal(machine.predict(new), machine.classes_[probability.argmax(axis=1)])
    assert_array_equal(machine.predict(new), machine.classes_[machine.predict_log_proba(new).argmax(axis=1)])


@every_single
def test_never_reverses_the_order_of_margins(make):
    X, y = training_set(make(), n=80)
    new, _ = training_set(make(), n=500, seed=1)
    machine = make().fit(X, y)
    order = np.argsort(machine.estimator_.decision_function(new))
    decision = machine.decision_function(new)[order]
    assert (decision[1:] >= decision[:-1]).all()
    assert decision[-1] > decision[0]


@every_single
@every_number_of_classes
def test_the_machine_inside_is_the_plain_one(make, n_classes):
    """Trained on all samples; its decision values are the margins."""
    X, y = training_set(make(), n=size(n_classes), n_classes=n_classes)
    machine = make()
    plain = clone(inner(machine)).fit(X, y)
    assert_array_equal(machine.fit(X, y).estimator_.decision_function(X), plain.decision_function(X))
    assert not hasattr(machine.estimator_, "calibration_")
    assert_array_equal(machine.estimator_.predict(X), plain.predict(X))


@every_wrapper
def test_the_estimator_is_left_alone(make):
    X, y = training_set(make())
    machine = make()
    given, before = machine.estimator, vars(machine.estimator).copy()
    machine.fit(X, y)
    assert machine.estimator is given
    assert vars(given).keys() == before.keys()
    assert all(value is before[name] for name, value in vars(given).items())


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_temperature_keeps_predictions(n_classes):
    X, y = training_set(SVC(), n=120, n_classes=n_classes)
    machine = Calibrated(SVC(), method="temperature").fit(X, y)
    assert_array_equal(machine.predict(X), machine.estimator_.predict(X))


@pytest.mark.parametrize("plain", [SVC(C=2.0), NuSVC(nu=0.4)])
@every_number_of_classes
def test_shorthand(plain, n_classes):
    X, y = training_set(plain, n=size(n_classes), n_classes=n_classes)
    weight = np.random.default_rng(1).uniform(0.5, 1.5, len(X))
    short = clone(plain).set_params(probability=True, random_state=3).fit(X, y, sample_weight=weight)
    long = Calibrated(plain, random_state=3).fit(X, y, sample_weight=weight)
    assert_identical(short, long, X)
    assert short.estimator_.probability is False


def test_class_weights_reach_the_probabilities_of_the_shorthand():
    """A class of weight 3 is each of its samples with weight 3."""
    X, y = training_set(SVC(), n=200)
    plain, weight = SVC(kernel=RBF(gamma=0.5)), {0: 3.0}
    short = clone(plain).set_params(class_weight=weight, probability=True).fit(X, y)
    repeated = clone(plain).set_params(probability=True).fit(X, y, sample_weight=np.where(y == 0, 3.0, 1.0))
    assert_same_probabilities(short, repeated, X)
    assert short.predict_proba(X)[:, 0].mean() > 0.6
    # Around the machine, the probabilities are those of the data.
    around = Calibrated(clone(plain).set_params(class_weight=weight)).fit(X, y)
    assert abs(around.predict_proba(X)[:, 0].mean() - 0.5) < 0.05


@every_ensemble
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_an_ensemble_is_the_mean_of_its_machines(make, n_classes, weighted):
    """They are those that each fold trains by itself; the map is that of the one machine."""
    X, y = training_set(make(), n=40 * n_classes, n_classes=n_classes)
    names = np.array(["ant", "bee", "cat"])[y]
    new, _ = training_set(make(), n=300, seed=1, n_classes=n_classes)
    weight = np.random.default_rng(2).integers(0, 3, len(X)) if weighted else np.ones(len(X))
    machine = make().set_params(cv=grouped_splits(fold_numbers(y)))
    if hasattr(machine.estimator, "kernel"):  # else its width is that of all samples
        machine.set_params(estimator__kernel=RBF(gamma=0.5))
    given = {"sample_weight": weight} if weighted else {}
    ensemble = clone(machine).fit(X, names, **given)
    one = clone(machine).set_params(ensemble=False).fit(X, names, **given)
    means, probabilities = 0.0, one.calibration_.probabilities
    for k, (train, _) in enumerate(machine.cv):
        used = train & (weight > 0)
        trained = clone(machine.estimator).fit(X[used], names[used], **{name: w[used] for name, w in given.items()})
        margins = trained._values(new, pairs=True) if one.calibration_.pairs else trained.decision_function(new)
        assert_allclose(ensemble.estimators_[k].decision_function(new), trained.decision_function(new), **CLOSE)
        means = means + probabilities(margins) / len(machine.cv)
    assert_allclose(ensemble.predict_proba(new), means, **CLOSE)
    assert_allclose(ensemble.predict_log_proba(new), np.log(means), rtol=1e-5, atol=1e-6)
    assert np.abs(means - one.predict_proba(new)).max() > 1e-3


# --- weights, order, luck ---------------------------------------------------------------------------------


def grouped_splits(groups):
    return [(groups != g, groups == g) for g in range(groups.max() + 1)]


def fold_numbers(y, n_folds=4):
    """A fold for every sample, with all classes in all folds."""
    folds = np.empty(len(y), dtype=int)
    for c in np.unique(y):
        folds[y == c] = np.arange(np.count_nonzero(y == c)) % n_folds
    return folds


@every_wrapper
@pytest.mark.parametrize("n_classes", [2, 3])
def test_weight_two_is_the_sample_twice(make, n_classes):
    X, y = training_set(make(), n=60, n_classes=n_classes)
    weight = np.random.default_rng(3).integers(0, 4, size=len(X))
    times = np.random.default_rng(4).permutation(np.repeat(np.arange(len(X)), weight))
    folds = fold_numbers(y)
    machine = make()
    if machine.cv != "in-sample":
        machine.set_params(cv=grouped_splits(folds))
    first = machine.fit(X, y, sample_weight=weight)
    second = make()
    if second.cv != "in-sample":
        second.set_params(cv=grouped_splits(folds[times]))
    second.fit(X[times], y[times])
    assert_same_probabilities(first, second, X)


@every_machine
@pytest.mark.parametrize("n_classes", [2, 3])
def test_weight_zero_is_no_sample(make, n_classes):
    """Also in the drawing of folds."""
    X, y = training_set(make(), n=40 * n_classes, n_classes=n_classes)
    weight = np.where(np.random.default_rng(3).random(len(X)) < 0.3, 0.0, 1.0)
    used = weight > 0
    assert_same_probabilities(make().fit(X, y, sample_weight=weight), make().fit(X[used], y[used]), X)


@every_wrapper
def test_order_of_samples(make):
    X, y = training_set(make(), n=60)
    folds, shuffled = fold_numbers(y), np.random.default_rng(2).permutation(len(X))
    first, second = make(), make()
    if first.cv != "in-sample":
        first.set_params(cv=grouped_splits(folds))
        second.set_params(cv=grouped_splits(folds[shuffled]))
    assert_same_probabilities(first.fit(X, y), second.fit(X[shuffled], y[shuffled]), X)


@every_folded
def test_the_same_seed_gives_the_same_numbers(make):
    X, y = training_set(make(), n=70)
    first = make().set_params(random_state=5).fit(X, y)
    assert_identical(first, make().set_params(random_state=5).fit(X, y), X)
    assert_identical(first, make().set_params(random_state=np.random.RandomState(5)).fit(X, y), X)
    other = make().set_params(random_state=6).fit(X, y)
    assert np.abs(first.predict_proba(X) - other.predict_proba(X)).max() > 1e-6


@every_machine
@pytest.mark.parametrize("n_classes", [2, 4])
def test_refit_pickle_and_threads(make, n_classes):
    X, y = training_set(make(), n=100, n_classes=n_classes)
    machine = make().fit(X, y)
    assert_identical(make().fit(X, y), machine, X)
    assert_identical(pickle.loads(pickle.dumps(machine)), machine, X)
    assert_identical(clone(machine).fit(X, y), machine, X)
    for n_threads in (1, 3):
        assert_identical(clone(machine).set_params(n_threads=n_threads).fit(X, y), machine, X)


# --- folds over one Gram matrix ---------------------------------------------------------------------------


class Elsewhere(SVC):
    """The same machine, which does not share rows between folds."""

    _folds_share_rows = False


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
@pytest.mark.parametrize("kernel", [RBF(gamma=0.5), lambda A, B: RBF(gamma=0.5)(A, B), "precomputed"])
def test_folds_of_one_gram_matrix_are_machines_of_their_own(method, kernel):
    X, y = training_set(SVC(), n=90)
    X = RBF(gamma=0.5)(X) if isinstance(kernel, str) else X
    weight = np.random.default_rng(1).integers(0, 3, len(X))
    together = Calibrated(SVC(kernel=kernel), method=method).fit(X, y, sample_weight=weight)
    apart = Calibrated(Elsewhere(kernel=kernel), method=method).fit(X, y, sample_weight=weight)
    assert_same_probabilities(together, apart, X)
    assert_array_equal(together.estimator_.dual_coef_, apart.estimator_.dual_coef_)
    ensembles = (clone(machine).set_params(ensemble=True) for machine in (together, apart))
    assert_same_probabilities(*(ensemble.fit(X, y, sample_weight=weight) for ensemble in ensembles), X)


@pytest.mark.parametrize("memory", ["auto", 0.02])
def test_folds_of_several_classes(memory):
    """Scores of the folds, over rows that are in memory or not."""
    X, y = training_set(SVC(), n=90, n_classes=3)
    kernel = RBF(gamma=0.5)
    together = Calibrated(SVC(kernel=kernel, memory=memory), method="temperature").fit(X, y)
    apart = Calibrated(Elsewhere(kernel=kernel), method="temperature").fit(X, y)
    assert_same_probabilities(together, apart, X)


def test_pairs_are_calibrated_by_their_own_samples():
    X, y = training_set(SVC(), n=90, n_classes=3)
    folds, kernel = fold_numbers(y), RBF(gamma=0.5)
    machine = Calibrated(SVC(kernel=kernel), cv=grouped_splits(folds)).fit(X, y)
    assert machine.calibration_.pairs == ((0, 1), (0, 2), (1, 2))
    for own, pair in zip(machine.calibration_.maps, machine.calibration_.pairs, strict=True):
        both = np.isin(y, pair)
        alone = Calibrated(SVC(kernel=kernel), cv=grouped_splits(folds[both])).fit(X[both], y[both])
        assert_allclose(own, alone.calibration_.maps[0], **CLOSE)


@every_machine
@pytest.mark.parametrize("n_classes", [2, 3])
def test_precomputed(make, n_classes):
    if not hasattr(inner(make()), "kernel"):
        pytest.skip("no kernel machine")
    X, y = training_set(make(), n=80, n_classes=n_classes)
    name = "estimator__kernel" if isinstance(make(), Calibrated) else "kernel"
    K = RBF(gamma=0.3)(X)
    given = make().set_params(**{name: "precomputed"}).fit(K, y)
    made = make().set_params(**{name: RBF(gamma=0.3)}).fit(X, y)
    assert_allclose(given.predict_proba(K), made.predict_proba(X), **CLOSE)


def common_letters(X, Y):
    return np.array([[len(set(x) & set(y)) for y in Y] for x in X], dtype=float)


@every_machine
def test_strings(make):
    if not hasattr(inner(make()), "kernel"):
        pytest.skip("no kernel machine")
    words = ["stay", "stray", "play", "tray", "plain", "bone", "bonnet", "one", "none", "nonet"] * 2
    y = np.tile(np.repeat(["a", "o"], 5), 2)
    name = "estimator__kernel" if isinstance(make(), Calibrated) else "kernel"
    machine = make().set_params(**{name: common_letters}).fit(words, y)
    assert_array_equal(machine.predict(["spray", "bonne"]), ["a", "o"])
    assert machine.predict_proba(["spray", "bonne"]).shape == (2, 2)


@every_folded
def test_splitters(make):
    machine = make()
    if not isinstance(machine, Calibrated):
        pytest.skip("takes no splits")
    X, y = training_set(machine, n=70)
    splitter = StratifiedKFold(4, shuffle=True, random_state=1)
    first = clone(machine).set_params(cv=splitter).fit(X, y)
    second = clone(machine).set_params(cv=list(splitter.split(X, y))).fit(X, y)
    assert_identical(first, second, X)
