"""Calibration: what it takes, what it refuses."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from registry import exact, training_set
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LinearRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, ShuffleSplit, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as TheirSVC
from sklearn.utils import get_tags

from mercer.calibration import (
    Calibrated,
    Calibration,
    Isotonic,
    Sigmoid,
    calibration_error,
    fit_isotonic,
    fit_sigmoid,
    fit_temperature,
    reliability,
)
from mercer.calibration.calibration import average
from mercer.calibration.folds import deal
from mercer.errors import InfeasibleError
from mercer.kernels import RBF
from mercer.multiclass import OneVersusRest, as_scheme
from mercer.solvers import SMO
from mercer.svm import SVC, LinearSVC, NuSVC

X, Y = training_set(SVC(), n=80)


# --- folds ------------------------------------------------------------------------------------------------


def test_folds_are_equal_in_size_and_classes():
    codes = np.random.default_rng(0).permutation(np.repeat([0, 1, 2, -1], [52, 33, 4, 10]))
    folds = deal(codes, 5, np.random.RandomState(0))
    assert_array_equal(folds == -1, codes == -1)
    for c, size in enumerate([52, 33, 4]):
        counts = np.bincount(folds[codes == c], minlength=5)
        assert counts.sum() == size
        assert np.ptp(counts) <= 1
    assert np.ptp(np.bincount(folds[folds >= 0])) <= 1
    assert (np.diff(folds[codes == 0]) != 1).any()  # shuffled


@pytest.mark.parametrize("machine", [Calibrated(SVC()), Calibrated(RidgeClassifier()), SVC(probability=True)])
def test_a_class_with_one_sample(machine):
    y = np.array([*["a", "b"] * 20, "rare"])
    samples = np.random.default_rng(0).normal(size=(41, 2))
    with pytest.raises(ValueError, match=r"cv=5 leaves no sample of class 'rare' \(it has 1 sample\) to train on"):
        machine.fit(samples, y)
    assert not hasattr(machine, "classes_")
    # Two are enough, though most folds hold out neither.
    trained = clone(machine).fit(np.vstack([samples, [[0.0, 0.0]]]), np.append(y, "rare"))
    assert trained.predict_proba(samples).shape == (41, 3)
    assert np.isfinite(trained.decision_function(samples)).all()


def test_a_class_with_one_sample_in_sample():
    y = np.array([*["a", "b"] * 20, "rare"])
    samples = np.random.default_rng(0).normal(size=(41, 2))
    assert Calibrated(SVC(), cv=None).fit(samples, y).predict_proba(samples).shape == (41, 3)


def test_one_sample_per_class():
    with pytest.raises(ValueError, match="cv=5 leaves no sample of class"):
        SVC(probability=True).fit([[0.0], [1.0]], [0, 1])


def test_splits_without_a_class():
    with pytest.raises(ValueError, match=r"cv leaves no sample of class 1 \(it has 40 samples\)"):
        Calibrated(SVC(), cv=[(Y == 0, Y == 1)]).fit(X, Y)


def test_samples_may_be_held_out_often_or_never():
    splitter = ShuffleSplit(7, test_size=0.3, random_state=0)
    machine = Calibrated(SVC(kernel=RBF(gamma=0.5)), cv=splitter).fit(X, Y)
    f, positive = [], []
    for train, test in splitter.split(X):
        f.append(SVC(kernel=RBF(gamma=0.5)).fit(X[train], Y[train]).decision_function(X[test]))
        positive.append(Y[test] == 1)
    expected = fit_sigmoid(np.concatenate(f), np.concatenate(positive))
    assert_allclose(machine.calibration_.maps[0], expected, rtol=1e-6)


@pytest.mark.parametrize("cv", [1, 0, -3, 2.5, True, "loo", object()])
def test_cv_is_refused(cv):
    with pytest.raises(ValueError, match="cv must be an int >= 2"):
        Calibrated(SVC(), cv=cv).fit(X, Y)


@pytest.mark.parametrize("machine", [Calibrated(SVC(), random_state="x"), SVC(probability=True, random_state="x")])
def test_random_state_is_refused_before_any_kernel_value(machine):
    name = "estimator__kernel" if isinstance(machine, Calibrated) else "kernel"
    with pytest.raises(ValueError, match="'x' cannot be used to seed"):
        clone(machine).set_params(**{name: lambda A, B: pytest.fail("a kernel value was asked for")}).fit(X, Y)


@pytest.mark.parametrize(
    ("split", "message"),
    [
        (([0, 1, 1], [2]), "different numbers"),
        (([0, 1], [80]), "from 0 to 79"),
        (([-1, 1], [2]), "from 0 to 79"),
        (([0.5], [2]), "numbers of samples or masks"),
        ((np.ones(3, dtype=bool), [2]), "numbers of samples or masks"),
    ],
)
def test_splits_are_refused(split, message):
    with pytest.raises(ValueError, match=f"cv must give .*{message}"):
        Calibrated(SVC(), cv=[split]).fit(X, Y)


@pytest.mark.parametrize("cv", [[], [(np.arange(80), [])]])
def test_nothing_held_out(cv):
    with pytest.raises(ValueError, match="holds out no sample"):
        Calibrated(SVC(), cv=cv).fit(X, Y)


@pytest.mark.parametrize("estimator", [SVC(kernel=RBF(gamma=0.5)), RidgeClassifier()])
def test_splitters_see_no_sample_of_weight_zero(estimator):
    weight = np.where(np.random.default_rng(3).random(len(X)) < 0.3, 0.0, 1.0)
    used, splitter = weight > 0, KFold(4)
    first = Calibrated(estimator, cv=splitter).fit(X, Y, sample_weight=weight)
    assert_allclose(first.predict_proba(X), Calibrated(estimator, cv=splitter).fit(X[used], Y[used]).predict_proba(X))


def test_groups_are_for_explicit_splits():
    groups = np.arange(80) % 8
    splits = list(GroupKFold(4).split(X, Y, groups))
    assert Calibrated(SVC(), cv=splits).fit(X, Y).predict_proba(X).shape == (80, 2)


# --- prefit -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", [SVC(), RidgeClassifier(), TheirSVC()])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_prefit(machine, n_classes):
    first, y = training_set(SVC(), n=90, n_classes=n_classes)
    other, z = training_set(SVC(), n=70, n_classes=n_classes, seed=1)
    trained = clone(machine).fit(first, y)
    before = trained.decision_function(other)
    calibrated = Calibrated(trained, cv="prefit").fit(other, z)
    assert calibrated.estimator_ is trained
    assert_array_equal(trained.decision_function(other), before)
    if n_classes == 2:
        assert calibrated.calibration_.maps == (fit_sigmoid(before, z == 1),)
    assert reliability(z, calibrated.predict_proba(other)).calibration_error < 0.3


def test_prefit_refuses():
    with pytest.raises(NotFittedError):
        Calibrated(SVC(), cv="prefit").fit(X, Y)
    trained = SVC().fit(X, np.array(["a", "b"])[Y])
    with pytest.raises(ValueError, match=r"y has the class .*'c'.*, which the estimator has not been trained on"):
        Calibrated(trained, cv="prefit").fit(X[:3], ["a", "b", "c"])
    with pytest.raises(ValueError, match=r"The class .*'b'.* has no sample of positive weight"):
        Calibrated(trained, cv="prefit").fit(X[:3], ["a", "a", "a"])


# --- estimators -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [GaussianNB(), LinearRegression(), SVC, "svc", None])
def test_estimators_without_decision_values(estimator):
    with pytest.raises(TypeError, match="estimator must be a classifier with decision_function"):
        Calibrated(estimator).fit(X, Y)


def test_scores_must_be_one_per_class():
    samples, y = training_set(SVC(), n=80, n_classes=4)
    with pytest.raises(ValueError, match=r"one score per class .* for 4 classes it gave \(80, 6\)"):
        Calibrated(TheirSVC(decision_function_shape="ovo")).fit(samples, y)


def test_weights_need_an_estimator_that_takes_them():
    with pytest.raises(TypeError, match="sample_weight needs an estimator that takes it, NearestCentroid does not"):
        Calibrated(NearestCentroid()).fit(X, Y, sample_weight=np.ones(80))
    assert Calibrated(NearestCentroid()).fit(X, Y).predict_proba(X).shape == (80, 2)


@pytest.mark.parametrize("weight", [np.zeros(80), np.full(80, -1.0), np.ones(3)])
@pytest.mark.parametrize("estimator", [SVC(), RidgeClassifier()])
def test_bad_weights(weight, estimator):
    with pytest.raises(ValueError, match=r"sample_weight|[Ss]ample weights|negative"):
        Calibrated(estimator).fit(X, Y, sample_weight=weight)


@pytest.mark.parametrize("parameter", [{"method": "beta"}, {"targets": "hard"}, {"ensemble": "auto"}, {"n_threads": 0}])
def test_parameters_are_refused(parameter):
    ((name, value),) = parameter.items()
    with pytest.raises(ValueError, match=f"{name} must be .*got {value!r}"):
        Calibrated(SVC(), **parameter).fit(X, Y)


@pytest.mark.parametrize("estimator", [SVC(), RidgeClassifier()])
def test_labels_are_checked(estimator):
    with pytest.raises(ValueError, match=r"X has 80 samples, y has 79|inconsistent numbers"):
        Calibrated(estimator).fit(X, Y[:79])
    with pytest.raises(ValueError, match="class"):
        Calibrated(estimator).fit(X, np.zeros(80))
    with pytest.raises(ValueError, match="requires y"):
        Calibrated(estimator).fit(X, None)


def test_pipelines_and_searches():
    pipeline = make_pipeline(StandardScaler(), SVC())
    machine = Calibrated(pipeline).fit(X, Y)
    assert machine.predict_proba(X).shape == (80, 2)
    grid = {"estimator__C": [0.1, 10.0], "method": ["sigmoid", "isotonic"]}
    search = GridSearchCV(Calibrated(SVC()), grid, scoring="neg_log_loss", cv=3).fit(X, Y)
    assert search.best_params_["estimator__C"] in (0.1, 10.0)


def test_tags_are_those_of_the_estimator():
    assert get_tags(Calibrated(SVC())).input_tags.sparse
    assert not get_tags(Calibrated(GaussianNB())).input_tags.sparse
    K = RBF(gamma=0.5)(X)
    given = cross_val_score(Calibrated(SVC(kernel="precomputed")), K, Y, cv=4)
    assert_array_equal(given, cross_val_score(Calibrated(SVC(kernel=RBF(gamma=0.5))), X, Y, cv=4))


def test_names_of_features():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    for machine in (Calibrated(SVC()), Calibrated(RidgeClassifier())):
        assert_array_equal(machine.fit(frame, Y).feature_names_in_, ["a", "b", "c"])
        assert machine.n_features_in_ == 3
        assert not hasattr(machine.fit(X[:, :2], Y), "feature_names_in_")
        assert machine.n_features_in_ == 2


@pytest.mark.parametrize("scheme", ["ovo", "dag", "ovr", "ecoc", "one_class", "crammer_singer", "lee_lin_wahba"])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_schemes(scheme, n_classes):
    """Pairs are coupled; of any other scheme the scores are calibrated. Folds agree with machines of their own."""
    samples, y = training_set(SVC(), n=120, n_classes=n_classes)
    machine = SVC(kernel=RBF(gamma=0.5), multi_class=scheme, **exact(as_scheme(scheme)))
    calibrated = Calibrated(machine).fit(samples, y)
    assert bool(calibrated.calibration_.pairs) == (n_classes > 2 and scheme in ("ovo", "dag"))
    short = clone(machine).set_params(probability=True).fit(samples, y)
    assert_array_equal(short.predict_proba(samples), calibrated.predict_proba(samples))
    assert_array_equal(short.predict(samples), short.predict_proba(samples).argmax(axis=1))
    if not calibrated.calibration_.pairs:
        for ensemble in (False, True):
            together, apart = (Calibrated(m, ensemble=ensemble) for m in (machine, make_pipeline(machine)))
            expected = together.fit(samples, y).predict_proba(samples)
            assert_allclose(apart.fit(samples, y).predict_proba(samples), expected, rtol=1e-5)


def test_an_ensemble_with_a_calibrated_scheme():
    """The sigmoids of the scheme are those of all samples, as they are for one machine."""
    samples, y = training_set(SVC(), n=120, n_classes=3)
    machine = SVC(kernel=RBF(gamma=0.5), multi_class=OneVersusRest(calibrated=True))
    one = Calibrated(machine).fit(samples, y)
    ensemble = Calibrated(machine, ensemble=True).fit(samples, y)
    assert ensemble.calibration_.maps == one.calibration_.maps
    assert all(member._plan.maps == one.estimator_._plan.maps for member in ensemble.estimators_)
    assert np.abs(ensemble.predict_proba(samples) - one.predict_proba(samples)).max() < 0.2


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
def test_linear_machines(n_classes, method):
    """The probabilities are those of the kernel machine with a linear kernel; of several classes, against the rest."""
    samples, y = training_set(SVC(), n=120, n_classes=n_classes)
    names, weight = np.array(["ant", "bee", "cat", "dog"])[y], np.linspace(0.5, 1.5, 120)
    machine = Calibrated(LinearSVC(tol=1e-6), method=method).fit(samples, names, sample_weight=weight)
    kernel_machine = SVC("linear", tol=1e-6, multi_class="ovr")
    other = Calibrated(kernel_machine, method=method).fit(samples, names, sample_weight=weight)
    assert len(machine.estimator_.coef_) == (1 if n_classes == 2 else n_classes)
    assert not machine.calibration_.pairs
    assert_allclose(machine.predict_proba(samples), other.predict_proba(samples), rtol=1e-4, atol=1e-5)
    sparse = clone(machine).fit(csr_array(samples), names, sample_weight=weight)
    assert_allclose(sparse.predict_proba(csr_array(samples)), machine.predict_proba(samples), rtol=1e-6)


def test_a_calibrated_machine_may_be_calibrated_again():
    machine = Calibrated(SVC(probability=True)).fit(X, Y)
    assert_allclose(machine.calibration_.maps[0].slope, 1.0, atol=0.5)


# --- ensembles --------------------------------------------------------------------------------------------


def test_what_an_ensemble_keeps():
    machine = Calibrated(SVC(), ensemble=True).fit(X, Y)
    assert len(machine.estimators_) == 5
    assert not hasattr(machine, "estimator_")
    assert machine.n_features_in_ == 3
    for member in machine.estimators_:
        assert_array_equal(member.support_vectors_, X[member.support_])  # numbered among all samples
        assert member.result_.status == "solved"
    taught = np.concatenate([member.support_ for member in machine.estimators_])
    assert np.bincount(taught, minlength=80).max() == 4  # every sample is held out once
    maps = machine.calibration_.maps
    single = machine.set_params(ensemble=False).fit(X, Y)
    assert single.calibration_.maps == maps
    assert not hasattr(single, "estimators_")
    assert hasattr(single, "estimator_")


@pytest.mark.parametrize("cv", ["prefit", "in-sample", None])
def test_an_ensemble_needs_folds(cv):
    machine = SVC().fit(X, Y)
    with pytest.raises(ValueError, match=f"ensemble must be False for cv={cv!r}, which has one machine, got True"):
        Calibrated(machine, cv=cv, ensemble=True).fit(X, Y)


@pytest.mark.parametrize("estimator", [SVC(), RidgeClassifier()])
def test_a_rare_class_in_an_ensemble(estimator):
    """Most folds hold out no sample of it; the map is learnt from all of them."""
    y = np.array([*["a", "b"] * 39, *["rare"] * 2])
    assert Calibrated(estimator, ensemble=True).fit(X, y).predict_proba(X).shape == (80, 3)
    with pytest.raises(ValueError, match="leaves no sample of class 'rare'"):
        Calibrated(estimator, ensemble=True).fit(X[:79], y[:79])


@pytest.mark.parametrize("estimator", [TheirSVC(kernel="precomputed"), SVC(kernel="precomputed", probability=True)])
@pytest.mark.parametrize("ensemble", [False, True])
def test_kernel_values_of_machines_trained_fold_by_fold(estimator, ensemble):
    """Each machine takes the columns of the samples it was trained on."""
    kernel = RBF(gamma=0.5)
    machine = Calibrated(estimator, ensemble=ensemble)
    vectors = clone(machine).set_params(estimator__kernel=kernel)
    new = X[:7] + 0.1
    given = clone(machine).fit(kernel(X), Y).predict_proba(kernel(new, X))
    assert_allclose(given, vectors.fit(X, Y).predict_proba(new), rtol=1e-6)


def test_a_fold_of_an_ensemble_that_is_not_solved_is_told():
    with pytest.warns(ConvergenceWarning, match=r"^A fold of SVC did not reach .*max_iter") as told:
        Calibrated(SVC(max_iter=3), ensemble=True).fit(X, Y)
    assert len(told) == 1


def test_an_ensemble_that_is_interrupted_leaves_the_last_one():
    machine = Calibrated(SVC(), ensemble=True).fit(X, Y)
    before = machine.predict_proba(X)

    def interrupt(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        machine.set_params(estimator__callback=interrupt).fit(X, 1 - Y)
    assert_array_equal(machine.predict_proba(X), before)


# --- the shorthand ----------------------------------------------------------------------------------------


def test_without_probability():
    machine = SVC().fit(X, Y)
    for name in ("predict_proba", "predict_log_proba", "estimator_", "calibration_"):
        assert not hasattr(machine, name)
    with pytest.raises(NotFittedError):
        machine.set_params(probability=True).predict_proba(X)
    assert_array_equal(machine.decision_function(X), SVC().fit(X, Y).decision_function(X))


def test_a_refit_without_probability_forgets_it():
    machine = SVC(probability=True).fit(X, Y)
    calibrated = machine.decision_function(X)
    margins = machine.set_params(probability=False).fit(X, Y).decision_function(X)
    assert not hasattr(machine, "calibration_")
    assert np.abs(calibrated - margins).max() > 1e-3


def test_a_failed_fit_leaves_the_machine_as_it_was():
    machine = SVC(probability=True).fit(X, Y)
    before = machine.predict_proba(X)
    with pytest.raises(ValueError, match="cv=5"):
        machine.fit(X[:41], [*[0, 1] * 20, 2])
    assert_array_equal(machine.predict_proba(X), before)


def test_warm_start_of_the_shorthand():
    machine = SVC(probability=True, warm_start=True, tol=1e-8).fit(X, Y)
    before, steps = machine.predict_proba(X), machine.n_iter_
    again = machine.fit(X, Y)
    assert again.n_iter_ <= max(1, steps // 10)
    assert_allclose(again.predict_proba(X), before, atol=1e-6)


class StallsOnFolds(SMO):
    def solve_many(self, problems, starts=None, callback=None):
        results = super().solve_many(problems, starts, callback)
        return [result if len(result.a) == len(X) else replace(result, status="stalled") for result in results]


def test_folds_that_are_not_solved_are_told():
    with pytest.warns(ConvergenceWarning, match="^SVC did not reach") as told:
        SVC(probability=True, max_iter=3).fit(X, Y)
    assert len(told) == 1
    with pytest.warns(ConvergenceWarning, match=r"A fold of SVC did not reach a proved optimum \(status stalled\)"):
        SVC(probability=True, solver=StallsOnFolds()).fit(X, Y)


def test_nu_that_is_too_large_for_a_fold():
    y = np.array([0] * 30 + [1] * 10)
    samples = np.random.default_rng(0).normal(size=(40, 2))
    splits = [(np.arange(2, 40), [0, 1]), (np.arange(0, 32), np.arange(32, 40))]
    with pytest.raises(InfeasibleError, match="In a fold of the calibration, specified nu is infeasible"):
        Calibrated(NuSVC(nu=0.5), cv=splits).fit(samples, y)
    splits.reverse()
    with pytest.raises(InfeasibleError, match="In a fold of the calibration, specified nu is infeasible"):
        Calibrated(NuSVC(nu=0.5), cv=splits, ensemble=True).fit(samples, y)


# --- values and functions ---------------------------------------------------------------------------------


def test_probabilities_far_out():
    """Log-odds stay finite where probabilities round to 0 and 1."""
    calibration = Calibration(2, (Sigmoid(10.0, 0.0),))
    values = np.array([-1e3, -1e-17, 0.0, 1e-17, 1e3])
    assert_array_equal(calibration.decision(values), [-1e4, 0.0, 0.0, 0.0, 1e4])
    assert_array_equal(calibration.probabilities(values)[:, 1], [0.0, 0.5, 0.5, 0.5, 1.0])
    assert_array_equal(calibration.log_probabilities(values)[[0, 4]], [[0.0, -1e4], [-1e4, 0.0]])
    assert_array_equal(calibration.codes(values), [0, 0, 0, 0, 1])


def test_averages_far_out():
    """The mean of probabilities, where these round to 0 and 1, and where they are 0 and 1."""
    assert_allclose(
        average([np.array([-800.0, 800.0]), np.array([-900.0, 900.0])]), [-800 - np.log(2), 800 + np.log(2)]
    )
    sure, doubtful = np.array([np.inf, -np.inf, np.inf]), np.array([np.log(3), np.log(3), np.inf])
    assert_allclose(average([sure, doubtful]), [np.log(7), np.log(3 / 5), np.inf])
    assert_array_equal(average([np.array([1.5]), np.array([-1.5])]), [0.0])
    never = np.log([[0.5, 0.5, np.finfo(float).tiny]])
    assert_allclose(average([never, np.log([[0.2, 0.2, 0.6]])]), np.log([[0.35, 0.35, 0.3]]), atol=1e-13)
    with np.errstate(divide="ignore"):
        nobody = np.log([[0.0, 1.0, 0.0]])
    assert_allclose(np.exp(average([nobody, nobody])), [[0.0, 1.0, 0.0]])


def test_nearly_equal_probabilities_agree_with_nearly_equal_decisions():
    scores = 0.75 + np.random.default_rng(0).integers(-4, 5, (2000, 3)) * np.finfo(float).eps / 2
    scores[:, 2] -= np.log(2)  # of probabilities around 0.4 some are equal though their logarithms are not
    for calibration in (Calibration(3, scale=1.0), Calibration(3, (Sigmoid(1.0, 0.0),) * 3)):
        decision, probability = calibration.decision(scores), calibration.probabilities(scores)
        assert_array_equal(decision.argmax(axis=1), probability.argmax(axis=1))
        assert_array_equal(calibration.codes(scores), probability.argmax(axis=1))
    two = Calibration(2, (Sigmoid(1.0, 0.0),))
    odds = np.random.default_rng(0).integers(-40, 41, 2000) * np.finfo(float).eps / 8
    assert_array_equal(two.decision(odds) > 0, two.probabilities(odds).argmax(axis=1) == 1)


def test_classes_that_are_all_impossible():
    """Isotonic regression may give every class of a sample probability 0: then all are equal."""
    steps = Isotonic(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    calibration = Calibration(3, (steps,) * 3)
    probability = calibration.probabilities(np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
    assert_allclose(probability, [[1 / 3, 1 / 3, 1 / 3], [0, 1, 0]])


@pytest.mark.parametrize("fit", [fit_sigmoid, fit_isotonic])
def test_functions_refuse(fit):
    with pytest.raises(ValueError, match="must be of one shape"):
        fit([1.0, 2.0], [True])
    with pytest.raises(ValueError, match="NaN or infinity"):
        fit([1.0, np.nan], [True, False])
    with pytest.raises(ValueError, match="at least one positive"):
        fit([1.0, 2.0], [True, False], [0.0, 0.0])
    with pytest.raises(ValueError, match="targets must be 'corrected' or 'plain', got 'soft'"):
        fit([1.0, 2.0], [True, False], targets="soft")
    # what has no weight need not be finite
    fit([1.0, 2.0, np.nan], [True, False, True], [1.0, 1.0, 0.0])


@pytest.mark.parametrize("size", [1.0, -1.0, 1e6])
def test_decision_values_that_differ_by_rounding(size):
    """A machine that gives all samples to one side says nothing of them, however the last digits fall."""
    positive = np.arange(40) < 10
    values = size * (1.0 + np.where(positive, 1e-12, -1e-12))
    assert fit_sigmoid(values, positive).slope == 0.0
    assert np.ptp(fit_isotonic(values, positive).log_odds(values)) == 0.0
    assert fit_sigmoid(size * (1.0 + np.where(positive, 1e-6, -1e-6)) * np.sign(size), positive).slope > 0.0


def test_one_side_only():
    with pytest.raises(ValueError, match="needs samples of both sides"):
        fit_sigmoid([1.0, 2.0], [True, True], targets="plain")
    slope, offset = fit_sigmoid([1.0, 2.0], [True, True])
    assert (slope, np.exp(offset)) == pytest.approx((0.0, 3.0))


def test_temperature_refuses():
    with pytest.raises(ValueError, match="targets must be"):
        fit_temperature([1.0, 2.0], [0, 1], targets="soft")


def test_measures_refuse():
    with pytest.raises(ValueError, match=r"probabilities has shape \(2, 2\), for 2 samples of 1 classes"):
        calibration_error([0, 0], [[0.5, 0.5], [0.1, 0.9]])
    assert calibration_error([0, 0], [[0.5, 0.5], [0.1, 0.9]], classes=[0, 1]) == pytest.approx(0.7)
    with pytest.raises(ValueError, match="n_bins must be an int >= 1, got 0"):
        calibration_error([0, 1], [[0.5, 0.5], [0.1, 0.9]], n_bins=0)
    with pytest.raises(ValueError, match="strategy must be 'uniform' or 'quantile', got 'equal'"):
        calibration_error([0, 1], [[0.5, 0.5], [0.1, 0.9]], strategy="equal")
