"""Searches for parameters: the table and the winner of scikit-learn's, whatever is shared on the way."""

import os
import time
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from registry import SEARCHES
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_diabetes, load_wine, make_classification
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning, NotFittedError
from sklearn.impute import KNNImputer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    LeaveOneOut,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC as SklearnSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import (
    SVC,
    SVDD,
    SVR,
    GaussianProcessRegressor,
    KernelPCA,
    LinearSVC,
    NuSVC,
    NuSVR,
    OneClassSVM,
    TunedOneClassSVM,
    TunedSVC,
    TunedSVR,
)
from mercer.kernels import RBF, FromFunction, Linear, Polynomial
from mercer.multiclass import OneVersusRest
from mercer.selection import MissingRateFilter, RadiusMargin, Span, Tuned, default_grid, tune
from mercer.selection import search as engine
from mercer.selection.grid import grouped

GRID = {"C": [0.1, 1.0, 10.0, 1000.0], "kernel__gamma": [0.003, 0.03, 0.3]}


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="module")
def two():
    X, y = make_classification(160, 6, n_informative=4, flip_y=0.1, random_state=0)
    return X, np.where(y == 1, "yes", "no")


@pytest.fixture(scope="module")
def measured():
    X, y = load_diabetes(return_X_y=True)
    return X[:150], y[:150]


def assert_same_search(ours, theirs, tolerance=1e-12):
    """The same table, but for times and what is within a tolerance, and the same winner."""
    assert set(ours.cv_results_) == set(theirs.cv_results_)
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    for name, values in theirs.cv_results_.items():
        if name.startswith("param_"):
            assert_array_equal(ours.cv_results_[name].mask, values.mask)
            assert ours.cv_results_[name].tolist() == values.tolist()
        elif name.startswith(("split", "mean_test", "std_test")):
            assert_allclose(ours.cv_results_[name], values, rtol=tolerance, atol=tolerance)
    assert ours.best_params_ == theirs.best_params_
    assert ours.best_index_ == theirs.best_index_


# --- the same as scikit-learn's search over the same machine ----------------------------------------------

CASES = {
    "SVC": (lambda: SVC(), GRID),
    "squared hinge": (lambda: SVC(loss="squared_hinge"), GRID),
    "balanced": (lambda: SVC(class_weight="balanced"), GRID),
    "one against the rest": (lambda: SVC(multi_class="ovr"), GRID),
    "joint": (lambda: SVC(multi_class="crammer_singer"), {"C": [0.1, 1.0], "kernel__gamma": [0.03, 0.1]}),
    "calibrated": (lambda: SVC(multi_class=OneVersusRest(calibrated=True)), {"C": [0.1, 1.0]}),
    "scale": (lambda: SVC(), {"C": [0.1, 1.0, 10.0], "kernel__gamma": ["scale", "median", 0.1]}),
    "kernels": (lambda: SVC(), {"kernel": [Linear(), Polynomial(), RBF(gamma=0.1), "rbf"], "C": [0.1, 1.0]}),
    "several grids": (lambda: SVC(), [{"C": [1.0, 2.0]}, {"class_weight": [None, "balanced"], "tol": [1e-3, 1e-5]}]),
    "NuSVC": (lambda: NuSVC(), {"nu": [0.1, 0.3, 0.5], "kernel__gamma": [0.03, 0.1]}),
    "LinearSVC": (lambda: LinearSVC(), {"C": [0.01, 0.1, 1.0]}),
}


@pytest.fixture
def exact():
    """Machines whose predictions do not hang on `tol`."""
    return lambda make: clone(make()).set_params(tol=1e-8)


@pytest.mark.parametrize("name", CASES)
def test_classes(name, wine, exact):
    make, grid = CASES[name]
    machine = exact(make)
    ours = tune(machine, grid, cv=3).fit(*wine)
    assert_same_search(ours, GridSearchCV(machine, grid, cv=3).fit(*wine))
    assert_array_equal(ours.predict(wine[0]), ours.best_estimator_.predict(wine[0]))


@pytest.mark.parametrize(
    "splitter",
    [
        5,
        LeaveOneOut(),
        ShuffleSplit(4, random_state=0),
        RepeatedStratifiedKFold(n_splits=3, n_repeats=8, random_state=0),
    ],
    ids=["folds", "leave one out", "shuffled", "repeated"],
)
@pytest.mark.parametrize("gamma", [[0.05, 0.2], ["scale"]], ids=["numbers", "scale"])
def test_splitters(splitter, gamma, two):
    machine, grid = SVC(tol=1e-8), {"C": [0.5, 5.0], "kernel__gamma": gamma}
    X, y = two[0][:90], two[1][:90]
    ours = tune(machine, grid, cv=splitter).fit(X, y)
    assert_same_search(ours, GridSearchCV(machine, grid, cv=splitter).fit(X, y))


@pytest.mark.parametrize("make", [lambda: SVR(loss="quadratic"), lambda: SVR(), lambda: NuSVR()])
@pytest.mark.parametrize(
    "scoring", [None, "neg_mean_squared_error", "neg_mean_absolute_error", "neg_median_absolute_error"]
)
def test_values(make, scoring, measured):
    machine = make().set_params(tol=1e-8)
    grid = {"C": [1.0, 10.0, 100.0], "kernel__gamma": [1.0, 10.0]}
    grid |= {"epsilon": [0.1, 5.0]} if isinstance(machine, SVR) else {"nu": [0.3, 0.6]}
    ours = tune(machine, grid, cv=3, scoring=scoring).fit(*measured)
    assert_same_search(ours, GridSearchCV(machine, grid, cv=3, scoring=scoring).fit(*measured), 1e-6)


def test_several_outputs(measured):
    X, y = measured
    Y, machine, grid = np.column_stack([y, -(y**0.5)]), SVR(tol=1e-8), {"C": [1.0, 100.0], "epsilon": [0.1, 1.0]}
    scoring = "neg_mean_squared_error"
    ours = tune(machine, grid, cv=LeaveOneOut(), scoring=scoring).fit(X[:60], Y[:60])
    assert_same_search(ours, GridSearchCV(machine, grid, cv=LeaveOneOut(), scoring=scoring).fit(X[:60], Y[:60]), 1e-6)
    assert ours.predict(X).shape == Y.shape


@pytest.mark.parametrize("make", [lambda: OneClassSVM(), lambda: SVDD(kernel=Polynomial(gamma=0.1))])
@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc"])
def test_novelty(make, scoring, two):
    X, labels = two[0], np.where(np.linalg.norm(two[0], axis=1) < 4, 1, -1)
    machine, grid = make().set_params(tol=1e-8), {"nu": [0.1, 0.3, 0.5], "kernel__gamma": [0.05, 0.2]}
    ours = tune(machine, grid, scoring=scoring).fit(X, labels)
    assert_same_search(ours, GridSearchCV(machine, grid, scoring=scoring).fit(X, labels))


@pytest.mark.parametrize("scoring", ["roc_auc", "f1_macro", "neg_brier_score", ["accuracy", "balanced_accuracy"]])
def test_scores(scoring, two):
    X, y = two
    y = (y == "yes").astype(int)
    several = isinstance(scoring, list)
    options = {"scoring": scoring, "refit": "balanced_accuracy" if several else True}
    machine, grid = (
        SVC(tol=1e-8, probability=scoring == "neg_brier_score"),
        {"C": [0.5, 5.0], "kernel__gamma": [0.1, 1.0]},
    )
    assert_same_search(tune(machine, grid, **options).fit(X, y), GridSearchCV(machine, grid, **options).fit(X, y))


def test_a_scorer_of_your_own(two):
    def cautious(estimator, X, y):
        return np.mean(estimator.predict(X) == y) - 0.01 * np.abs(estimator.decision_function(X)).mean() / estimator.C

    machine, grid = SVC(tol=1e-8), {"C": [0.5, 5.0], "kernel__gamma": [0.1, 1.0]}
    assert_same_search(
        tune(machine, grid, scoring=cautious).fit(*two), GridSearchCV(machine, grid, scoring=cautious).fit(*two), 1e-6
    )


def test_whole_table_of_a_hard_grid():
    """Scores differ only where a decision value is within the tolerance."""
    X, y = make_classification(500, 8, n_informative=6, flip_y=0.05, class_sep=0.8, random_state=1)
    grid = {"C": 2.0 ** np.arange(-5, 14, 3), "kernel__gamma": 2.0 ** np.arange(-15, 4, 3)}
    ours, theirs = tune(SVC(), grid).fit(X, y), GridSearchCV(SVC(), grid).fit(X, y)
    assert ours.best_params_ == theirs.best_params_
    differs = np.abs(ours.cv_results_["mean_test_score"] - theirs.cv_results_["mean_test_score"])
    for k in np.flatnonzero(differs):
        undecided = 0
        for train, test in StratifiedKFold(5).split(X, y):
            machine = SVC().set_params(**theirs.cv_results_["params"][k]).fit(X[train], y[train])
            undecided += np.count_nonzero(np.abs(machine.decision_function(X[test])) <= machine.tol)
        assert differs[k] * len(y) <= undecided + 1e-9


def test_the_winner_of_scikit_learn(wine):
    grid = {"C": [0.1, 1.0, 10.0], "gamma": [0.003, 0.03, 0.3]}
    theirs = GridSearchCV(SklearnSVC(), grid).fit(*wine)
    ours = TunedSVC(param_grid={"C": grid["C"], "kernel__gamma": grid["gamma"]}).fit(*wine)
    assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
    assert ours.best_params_ == {"C": theirs.best_params_["C"], "kernel__gamma": theirs.best_params_["gamma"]}


# --- what comes from the data comes from the training part -------------------------------------------------


@pytest.mark.parametrize("machine", [SVC(tol=1e-8), LinearSVC(tol=1e-8)])
def test_preprocessing_is_fitted_in_every_fold(machine, wine):
    X, y = load_wine(return_X_y=True)
    steps = make_pipeline(KNNImputer(n_neighbors=3), StandardScaler())
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.05, np.nan, X)
    grid = {"C": [0.1, 1.0, 10.0], "preprocess__knnimputer__n_neighbors": [2, 5]}
    ours = tune(machine, grid, cv=3, preprocess=steps).fit(X, y)
    theirs = GridSearchCV(
        make_pipeline(steps, machine),
        {f"{type(machine).__name__.lower()}__C": grid["C"], "pipeline__knnimputer__n_neighbors": [2, 5]},
        cv=3,
    ).fit(X, y)
    assert_allclose(
        np.sort(ours.cv_results_["mean_test_score"]), np.sort(theirs.cv_results_["mean_test_score"]), atol=1e-12
    )
    assert ours.best_score_ == pytest.approx(theirs.best_score_)
    assert_array_equal(ours.predict(X), ours.best_estimator_.predict(X))
    assert ours.n_features_in_ == 13


def test_frames_with_gaps_and_categories():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    n = 120
    frame = pandas.DataFrame({"x": rng.normal(size=n), "colour": rng.choice(["red", "green"], n), "gone": np.nan})
    frame.loc[::7, "x"] = np.nan
    y = np.where((frame["colour"] == "red") ^ (frame["x"].fillna(0.0) > 0), "in", "out")
    numbers = make_pipeline(MissingRateFilter(), KNNImputer(), StandardScaler())
    steps = ColumnTransformer([("n", numbers, ["x", "gone"]), ("c", OneHotEncoder(), ["colour"])])
    search = TunedSVC(preprocess=steps, param_grid={"C": [1.0, 10.0], "kernel__gamma": [0.1, 1.0]}).fit(frame, y)
    assert search.best_score_ > 0.85
    assert_array_equal(search.predict(frame), search.best_estimator_.predict(frame))
    theirs = GridSearchCV(make_pipeline(steps, SVC(kernel=RBF(gamma=0.1))), {"svc__kernel__gamma": [0.1, 1.0]}).fit(
        frame, y
    )
    ours = tune(SVC(kernel=RBF(gamma=0.1)), {"kernel__gamma": [0.1, 1.0]}, preprocess=steps).fit(frame, y)
    assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])


def test_missing_rates():
    X = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, 6.0], [7.0, np.nan, 9.0], [1.0, 2.0, 3.0]])
    filtered = MissingRateFilter(most=0.25).fit(X)
    assert filtered.missing_rate_.tolist() == [0.25, 0.75, 0.0]
    assert_array_equal(filtered.get_support(), [True, False, True])
    assert_array_equal(filtered.transform(X), X[:, [0, 2]])
    assert_array_equal(MissingRateFilter(most=0.25).fit(csr_array(X)).get_support(), [True, False, True])
    with pytest.raises(ValueError, match="most must be a float >= 0 and <= 1, got 2"):
        MissingRateFilter(most=2).fit(X)
    with pytest.raises(ValueError, match="leaves no feature"):
        MissingRateFilter(most=0.1).fit(X[:, :2])


@parametrize_with_checks([MissingRateFilter()])
def test_filter_is_an_estimator(estimator, check):
    check(estimator)


class Spy(TransformerMixin, BaseEstimator):
    """Tells how many samples it is fitted to."""

    seen: ClassVar[list[int]] = []

    def fit(self, X, y=None):
        Spy.seen.append(len(X))
        return self

    def transform(self, X):
        return X


def test_preprocessing_sees_the_training_part_alone(two):
    Spy.seen.clear()
    tune(SVC(), {"C": [1.0, 2.0]}, cv=4, preprocess=Spy()).fit(*two)
    assert sorted(Spy.seen) == [120] * 4 + [160] * 2


def test_strings_and_other_kernels_share_a_matrix():
    calls = []

    def common(X, Y):
        calls.append((len(X), len(Y)))
        return np.array([[len(set(x) & set(y)) for y in Y] for x in X], dtype=float) + 1e-9 * (len(X) == len(Y))

    words = ["ab", "abc", "bca", "cab", "xyz", "xy", "zyx", "yz", "abca", "xxyz", "bc", "zx"] * 2
    y = np.array([1, 1, 1, 1, 0, 0, 0, 0, 1, 0, 1, 0] * 2)
    search = tune(SVC(kernel=FromFunction(common)), {"C": [0.1, 1.0, 10.0]}, cv=3).fit(words, y)
    assert search.best_score_ == 1.0
    assert calls.count((24, 24)) <= 2  # for the search, and for what is learnt at last
    assert_array_equal(search.predict(["abcab", "zyxzy"]), [1, 0])


def test_precomputed(wine):
    X, y = wine
    K, grid = RBF(gamma=0.05)(X), {"C": [0.1, 1.0, 10.0]}
    ours = TunedSVC(kernel="precomputed", param_grid=grid, tol=1e-8).fit(K, y)
    theirs = tune(SVC(kernel=RBF(gamma=0.05), tol=1e-8), grid).fit(X, y)
    assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
    assert_array_equal(ours.predict(K), theirs.predict(X))


# --- weights, groups, holdout ------------------------------------------------------------------------------


def test_weights_count_in_training_and_in_scores(two):
    X, y = two
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    machine, grid = SVC(tol=1e-8), {"C": [0.5, 5.0], "kernel__gamma": [0.1, 1.0]}
    splits = list(ShuffleSplit(3, random_state=0).split(X))
    search = tune(machine, grid, cv=splits).fit(X, y, sample_weight=weight)
    for cell, params in enumerate(search.cv_results_["params"]):
        for k, (train, test) in enumerate(splits):
            fitted = clone(machine).set_params(**params).fit(X[train], y[train], weight[train])
            expected = np.average(fitted.predict(X[test]) == y[test], weights=weight[test])
            assert search.cv_results_[f"split{k}_test_score"][cell] == pytest.approx(expected)


def test_groups(two):
    groups, machine, grid = np.arange(160) % 7, SVC(tol=1e-8), {"C": [0.5, 5.0]}
    ours = tune(machine, grid, cv=GroupKFold(4)).fit(*two, groups=groups)
    assert_same_search(ours, GridSearchCV(machine, grid, cv=GroupKFold(4)).fit(*two, groups=groups))


def test_holdout(two):
    searches = [tune(SVC(), {"C": [0.5, 5.0]}, cv="holdout", random_state=seed).fit(*two) for seed in (0, 0, 1)]
    assert searches[0].n_splits_ == 1
    scores = [search.cv_results_["mean_test_score"] for search in searches]
    assert_array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])
    assert_allclose(scores[0] * 40, np.rint(scores[0] * 40), atol=1e-9)  # a quarter of 160


# --- results do not depend on threads, memory or the journal ------------------------------------------------


@pytest.mark.parametrize("make", SEARCHES.values(), ids=SEARCHES.keys())
def test_threads_do_not_matter(make, two):
    X, y = two
    if isinstance(make(), (TunedSVR, Tuned)):
        y = X[:, 0]
    if isinstance(make(), TunedOneClassSVM):
        y = np.ones(len(X))
    one, two_threads = (make().set_params(n_threads=n).fit(X, y) for n in (1, 2))
    for name, values in one.cv_results_.items():
        if "test" in name:
            assert_array_equal(values, two_threads.cv_results_[name])


@pytest.mark.parametrize("near", [0, 2**30], ids=["computed", "stored"])
def test_threads_do_not_matter_side_by_side(near, monkeypatch):
    X, y = make_classification(700, 6, n_informative=4, flip_y=0.1, random_state=0)
    monkeypatch.setattr("mercer.selection.grams.NEAR", near)
    grid = {"C": 4.0 ** np.arange(-3, 4), "kernel__gamma": [0.01, 0.1, 1.0]}
    one, two_threads, three = (TunedSVC(param_grid=grid, probability=True, n_threads=n).fit(X, y) for n in (1, 2, 3))
    for other in (two_threads, three):
        assert_array_equal(one.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"])
        assert_array_equal(one.predict_proba(X), other.predict_proba(X))  # from all held-out values


def test_little_memory_changes_nothing_that_matters(two):
    plenty, little = (tune(SVC(tol=1e-8), GRID, memory=memory).fit(*two) for memory in ("auto", 0.05))
    assert_array_equal(plenty.cv_results_["mean_test_score"], little.cv_results_["mean_test_score"])


def test_distances_are_computed_once(two, monkeypatch):
    from mercer.selection import grams

    counted = []
    original = grams.measure
    monkeypatch.setattr(grams, "measure", lambda *a: counted.append(a[0]) or original(*a))
    tune(SVC(), GRID).fit(*two)
    assert counted == ["l2"]


# --- many folds --------------------------------------------------------------------------------------------


def test_folds_without_support_vectors_are_not_solved(monkeypatch):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(-2, 1, (40, 2)), rng.normal(2, 1, (40, 2))])
    y = np.repeat([0, 1], 40)
    machine = SVC(kernel=RBF(gamma=0.1), C=1.0)
    support = len(machine.fit(X, y).support_)
    solved = []
    original = engine.Search._solved
    monkeypatch.setattr(
        engine.Search,
        "_solved",
        lambda self, m, problems, *a: solved.append(len(problems)) or original(self, m, problems, *a),
    )
    tune(machine, {"C": [1.0]}, cv=LeaveOneOut(), refit=False).fit(X, y)
    assert sum(solved) == 1 + support < 40


# --- the default grid, adaptive searches, criteria -----------------------------------------------------------


def test_default_grid():
    assert default_grid(SVC())["C"].tolist() == [2.0**k for k in range(-5, 16, 2)]
    assert default_grid(SVC())["kernel__gamma"].tolist() == [2.0**k for k in range(-15, 4, 2)]
    assert set(default_grid(SVR())) == {"C", "epsilon", "kernel__gamma"}
    assert set(default_grid(OneClassSVM())) == {"kernel__gamma"}
    assert set(default_grid(SVC(kernel="linear"))) == {"C"}
    assert set(default_grid(SVC(kernel="precomputed"))) == {"C"}
    with pytest.raises(ValueError, match="param_grid must be given"):
        default_grid(OneClassSVM(kernel="linear"))


def test_paths_go_from_cheap_errors_to_dear_ones():
    cells = [
        {"C": C, "epsilon": e, "kernel__gamma": g} for g in (1.0, 2.0) for C in (5.0, 1.0, np.inf) for e in (0.1, 0.2)
    ]
    groups = grouped(cells)
    assert [group.shared for group in groups] == [{"kernel__gamma": 1.0}, {"kernel__gamma": 2.0}]
    assert groups[0].paths == [[2, 0], [3, 1], [4], [5]]
    assert grouped([{"nu": 0.1}, {"nu": 0.3}, {"nu": 0.2}])[0].paths == [[1, 2, 0]]


def test_adaptive_finds_what_the_grid_finds_with_fewer_cells(wine):
    grid = {"C": 2.0 ** np.arange(-5, 10, 2), "kernel__gamma": 2.0 ** np.arange(-13, 2, 2)}
    full = TunedSVC(param_grid=grid).fit(*wine)
    adaptive = TunedSVC(param_grid=grid, search="adaptive").fit(*wine)
    assert len(adaptive.cv_results_["params"]) < len(full.cv_results_["params"])
    assert adaptive.best_score_ >= full.best_score_ - 0.01
    tried = {tuple(cell.items()) for cell in adaptive.cv_results_["params"]}
    assert len(tried) == len(adaptive.cv_results_["params"])
    between = {cell["C"] for cell in adaptive.cv_results_["params"]} - set(grid["C"])
    assert between  # finer than what was given


@pytest.mark.parametrize("criterion", [RadiusMargin(), Span()])
def test_criteria_need_no_folds(criterion, two):
    grid = {"C": [0.5, 5.0, 50.0], "kernel__gamma": [0.1, 1.0]}
    search = TunedSVC(param_grid=grid, loss="squared_hinge", scoring=criterion, tol=1e-8).fit(*two)
    assert search.n_splits_ == 1
    for params, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        machine = SVC(loss="squared_hinge", tol=1e-8).set_params(**params).fit(*two)
        assert score == pytest.approx(criterion(machine, *two), rel=1e-5)


def test_without_labels_a_description_must_hold_and_be_close():
    X = np.random.default_rng(0).normal(size=(300, 2))
    search = TunedOneClassSVM(nu=0.1, param_grid={"kernel__gamma": [1e-4, 0.1, 0.5, 1000.0]}).fit(X)
    scores = search.cv_results_["mean_test_score"]
    assert scores[3] < 0 < scores[2]  # one ball around every sample holds for no other
    assert search.best_params_["kernel__gamma"] in (0.1, 0.5)


# --- probabilities -----------------------------------------------------------------------------------------


def test_probabilities_of_held_out_values(wine):
    search = TunedSVC(param_grid=GRID, probability=True).fit(*wine)
    probabilities = search.predict_proba(wine[0])
    assert_allclose(probabilities.sum(axis=1), 1.0)
    assert_array_equal(search.classes_[probabilities.argmax(axis=1)], search.predict(wine[0]))
    assert_allclose(np.exp(search.predict_log_proba(wine[0])), probabilities)
    # As good as folds of their own.
    own = SVC(probability=True, **{k: v for k, v in search.best_params_.items() if k == "C"})
    own.set_params(kernel__gamma=search.best_params_["kernel__gamma"]).fit(*wine)
    truth = np.eye(3)[wine[1]]
    brier = [np.mean((machine.predict_proba(wine[0]) - truth) ** 2) for machine in (search, own)]
    assert brier[0] <= brier[1] + 0.01


def test_no_probabilities_unless_asked_for(two):
    search = TunedSVC(param_grid={"C": [1.0]}).fit(*two)
    assert not hasattr(search, "predict_proba")
    with pytest.raises(ValueError, match="probability must be False"):
        TunedSVC(param_grid={"C": [1.0]}, multi_class="crammer_singer", probability=True).fit(*two)


# --- limits --------------------------------------------------------------------------------------------------


def test_out_of_time(two):
    grid = {"C": [1.0, 2.0], "kernel__gamma": [0.1, 0.2, 0.3]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mercer.selection.search.Search._solve", _slow(engine.Search._solve))
        with pytest.warns(ConvergenceWarning, match="2 of 6 cells are known"):
            search = tune(SVC(), grid, max_seconds=0.5).fit(*two)
    assert not search.complete_
    assert np.isnan(search.cv_results_["mean_test_score"]).sum() == 4
    assert search.best_params_["kernel__gamma"] == 0.1


def _slow(solve):
    def wrapped(self, *arguments):
        solve(self, *arguments)
        time.sleep(0.6)

    return wrapped


def test_no_time_at_all(two):
    with pytest.raises(ValueError, match="max_seconds is too short"):
        tune(SVC(), GRID, max_seconds=1e-9).fit(*two)


def test_unsolved_cells_are_told(two):
    with pytest.warns(ConvergenceWarning, match="did not end as solved"):
        tune(SVC(max_iter=3), {"C": [1.0, 2.0]}, refit=False).fit(*two)


def test_cells_without_a_solution(two):
    grid = {"nu": [0.2, 0.999], "kernel__gamma": [0.1, 0.3]}
    X, y = two[0][:100], np.repeat([0, 1], [70, 30])
    with pytest.warns(FitFailedWarning, match="2 of 4 cells have no solution"):
        search = tune(NuSVC(), grid).fit(X, y)
    assert np.isnan(search.cv_results_["mean_test_score"]).tolist() == [False, True, False, True]
    assert search.best_params_["nu"] == 0.2
    with pytest.warns(FitFailedWarning, match="1 of 2 cells"):
        hard = tune(SVC(kernel="linear"), {"C": [1.0, np.inf]}).fit(X, y)
    assert hard.best_params_ == {"C": 1.0}
    with pytest.raises(ValueError, match=r"None of the 1 cells.*not separable"):
        tune(SVC(kernel="linear"), {"C": [np.inf]}).fit(X, y)


def test_a_fit_that_fails_leaves_nothing_behind(two):
    search = TunedSVC(param_grid={"C": [1.0]}).fit(*two)
    before = search.__dict__.copy()
    with pytest.raises(ValueError, match="C must be a float > 0"):
        search.set_params(param_grid={"C": [-1.0]}).fit(*two)
    assert search.__dict__ | {"param_grid": None} == before | {"param_grid": None}


# --- the journal ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: TunedSVC(param_grid=GRID, probability=True),
        lambda: TunedSVC(param_grid=GRID, search="adaptive"),
        lambda: TunedSVC(param_grid=GRID, preprocess=StandardScaler()),
        lambda: tune(LinearSVC(), {"C": [0.1, 1.0]}),
        lambda: TunedSVC(param_grid={"C": [1.0, 2.0]}, cv=LeaveOneOut()),
    ],
    ids=["grid", "adaptive", "preprocess", "one by one", "leave one out"],
)
def test_a_journal_goes_on_where_it_stopped(make, wine, tmp_path):
    X, y = wine[0][::3], wine[1][::3]
    path = str(tmp_path / "search.jsonl")
    whole = make().set_params(journal=path).fit(X, y)
    lines = (tmp_path / "search.jsonl").read_bytes().splitlines(keepends=True)
    again = make().set_params(journal=path).fit(X, y)
    assert (tmp_path / "search.jsonl").read_bytes() == b"".join(lines)
    for name, values in whole.cv_results_.items():
        if name != "params":
            assert_array_equal(values, again.cv_results_[name])
    plain = make().fit(X, y)
    assert plain.best_params_ == whole.best_params_
    assert_allclose(plain.cv_results_["mean_test_score"], whole.cv_results_["mean_test_score"], atol=0.02)


class Killed(Exception):
    """In place of a signal."""


def test_killed_after_every_cell(wine, tmp_path, monkeypatch):
    from mercer.selection.journal import Journal

    X, y, grid = wine[0][::2], wine[1][::2], {"C": [0.1, 1.0, 10.0], "kernel__gamma": [0.03, 0.3]}
    whole = TunedSVC(param_grid=grid, journal=tmp_path / "whole.jsonl").fit(X, y)
    original, solved = Journal.write_many, []

    def write_and_die(self, records):
        original(self, records)
        solved.extend(records)
        raise Killed

    monkeypatch.setattr(Journal, "write_many", write_and_die)
    for _ in range(6):
        with pytest.raises(Killed):
            TunedSVC(param_grid=grid, journal=tmp_path / "parts.jsonl").fit(X, y)
    monkeypatch.undo()
    parts = TunedSVC(param_grid=grid, journal=tmp_path / "parts.jsonl").fit(X, y)
    assert len(solved) == len(set(solved)) == 6  # no cell was solved twice
    for name, values in whole.cv_results_.items():
        if "test" in name:
            assert_array_equal(values, parts.cv_results_[name])


def test_journals_of_something_else_are_refused(two, tmp_path):
    X, y = two
    path = os.fspath(tmp_path / "search.jsonl")

    def search(**changes):
        return TunedSVC(**({"param_grid": {"C": [1.0, 2.0]}, "journal": path} | changes))

    search().fit(X, y)
    kept = (tmp_path / "search.jsonl").read_bytes()
    for other, message in (
        (lambda: search().fit(X + 1, y), "other data"),
        (lambda: search(param_grid={"C": [1.0, 3.0]}).fit(X, y), "another grid"),
        (lambda: search(cv=4).fit(X, y), "another splitting"),
        (lambda: search(scoring="f1_macro").fit(X, y), "another score"),
        (lambda: search(class_weight="balanced").fit(X, y), "another estimator"),
        (lambda: search(preprocess=StandardScaler()).fit(X, y), "preprocess"),
    ):
        with pytest.raises(ValueError, match=message):
            other()
        assert (tmp_path / "search.jsonl").read_bytes() == kept
    search(n_threads=1, memory=500.0, max_seconds=100.0).fit(X, y)  # which change nothing


# --- bad input -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"param_grid": {"c": [1.0]}}, ValueError, "names the parameter 'c', which SVC does not have"),
        ({"param_grid": {"kernel__width": [1.0]}}, ValueError, "width"),
        ({"param_grid": {"C": [1.0, 0.0]}}, ValueError, "C must be a float > 0, got 0.0"),
        ({"param_grid": {"C": []}}, ValueError, "non-empty|empty"),
        ({"param_grid": "C"}, TypeError, "param_grid must be a dict"),
        ({"cv": 1}, ValueError, "cv must be an int >= 2, 'holdout'"),
        ({"cv": "fold"}, ValueError, "cv must be an int >= 2, 'holdout'"),
        ({"cv": []}, ValueError, "at least one split"),
        ({"cv": [([], [1, 2])]}, ValueError, "split 0 has none in its training part"),
        ({"cv": [([0, 1], [999])]}, ValueError, "from 0 to 159"),
        ({"scoring": "beauty"}, ValueError, "scoring must be the name of a score.*'beauty'"),
        ({"scoring": ["accuracy", "f1_macro"]}, ValueError, "refit must be the name of the score that decides"),
        ({"search": "random"}, ValueError, "search must be 'grid' or 'adaptive', got 'random'"),
        ({"search": "adaptive", "param_grid": [{"C": [1.0]}, {"C": [2.0]}]}, ValueError, "search must be 'grid'"),
        ({"max_seconds": 0}, ValueError, "max_seconds must be a float > 0"),
        ({"progress": "bar"}, ValueError, "progress must be True or False"),
        ({"memory": -1}, ValueError, "memory must be"),
        ({"n_threads": 0}, ValueError, "n_threads must be"),
    ],
)
def test_wrong_parameters(options, error, message, two):
    with pytest.raises(error, match=message):
        TunedSVC(**({"param_grid": {"C": [1.0]}} | options)).fit(*two)


def test_one_class_in_a_fold(two):
    splits = [(np.flatnonzero(two[1] == "yes"), np.flatnonzero(two[1] == "no"))]
    with pytest.raises(ValueError, match="cv leaves 1 class to train on"):
        TunedSVC(param_grid={"C": [1.0]}, cv=splits).fit(*two)


def test_a_class_that_a_fold_does_not_have(wine):
    X, y = wine
    splits = [(np.flatnonzero(y != 2), np.flatnonzero(y == 2)), (np.arange(0, 178, 2), np.arange(1, 178, 2))]
    machine, grid = SVC(tol=1e-8), {"C": [0.5, 5.0], "kernel__gamma": [0.03, 0.1]}
    assert_same_search(tune(machine, grid, cv=splits).fit(X, y), GridSearchCV(machine, grid, cv=splits).fit(X, y))


def test_without_refit(two):
    search = TunedSVC(param_grid={"C": [1.0, 2.0]}, refit=False).fit(*two)
    assert search.best_params_["C"] in (1.0, 2.0)
    with pytest.raises(NotFittedError, match="refit=False"):
        search.predict(two[0])


def test_progress_is_shown_when_asked_for(two, capsys):
    TunedSVC(param_grid=GRID).fit(*two)
    assert capsys.readouterr().err == ""
    TunedSVC(param_grid=GRID, progress=True).fit(*two)
    assert "12 of 12 cells" in capsys.readouterr().err


@pytest.mark.parametrize("n_samples", [160, 400])
def test_an_error_in_one_group_ends_all(n_samples, monkeypatch):
    X, y = make_classification(n_samples, 6, random_state=0)
    original = engine.Search._judge

    def fail_at_last(self, folds, gram, solved):
        if solved[0].cell > 3:
            raise RuntimeError("no more")
        original(self, folds, gram, solved)

    monkeypatch.setattr(engine.Search, "_judge", fail_at_last)
    monkeypatch.setattr("mercer.selection.grams.NEAR", 4 * 300**2)
    grid = {"kernel__gamma": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]}
    with pytest.raises(RuntimeError, match="no more"):
        tune(SVC(), grid, n_threads=3).fit(X, y)


def test_stored_or_not(two, monkeypatch):
    """Matrices that are computed where they are needed give the same table."""
    stored = tune(SVC(tol=1e-8), GRID, n_threads=2).fit(*two)
    monkeypatch.setattr("mercer.selection.grams.NEAR", 0)
    computed = tune(SVC(tol=1e-8), GRID, n_threads=2).fit(*two)
    assert_array_equal(stored.cv_results_["mean_test_score"], computed.cv_results_["mean_test_score"])


@pytest.mark.parametrize(
    "machine",
    [
        OneClassSVM(approximation=200),
        SVDD(approximation=200),
        KernelPCA(n_components=2),
        KernelPCA(n_components=2, approximation=200),
    ],
)
def test_machines_without_targets(machine, two):
    """Each cell is judged by the machine that would be learnt with it, from the samples of the fold."""
    X, _ = two

    def judged(machine, held_out, y=None):
        answer = machine.transform if hasattr(machine, "transform") else machine.decision_function
        return float(np.abs(answer(held_out)).sum())

    found = Tuned(machine, {"kernel__gamma": [0.01, 0.1]}, cv=ShuffleSplit(1, random_state=0), scoring=judged).fit(X)
    ((train, test),) = ShuffleSplit(1, random_state=0).split(X)
    for gamma, score in zip((0.01, 0.1), found.cv_results_["mean_test_score"], strict=True):
        alone = clone(machine).set_params(kernel__gamma=gamma).fit(X[train])
        assert score == pytest.approx(judged(alone, X[test]), rel=0.03)


def test_machines_that_choose_parameters_of_the_kernel_are_judged_with_these(measured):
    X, y = measured
    machine = GaussianProcessRegressor(RBF(gamma=1e-3), normalize_y=True)
    split = ShuffleSplit(1, random_state=0)
    found = Tuned(machine, {"kernel__gamma": [1e-3, 10.0]}, cv=split).fit(X, y)
    ((train, test),) = split.split(X)
    wanted = [
        clone(machine).set_params(kernel__gamma=gamma).fit(X[train], y[train]).score(X[test], y[test])
        for gamma in (1e-3, 10.0)
    ]
    assert_allclose(found.cv_results_["mean_test_score"], wanted, rtol=1e-6)


def test_checkpoints_are_of_the_last_fit(two, tmp_path):
    """Fits of the search are in the journal; they would find each other's file."""
    X, y = two
    path = tmp_path / "fit.checkpoint"
    with pytest.warns(ConvergenceWarning):
        tune(SVC(approximation=20, checkpoint=path, max_iter=1), {"C": [1.0, 10.0]}, cv=2).fit(X, y)
    assert path.exists()
