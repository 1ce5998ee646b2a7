"""Errors against the number of features, which are chosen in every fold."""

from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import RFE, SelectKBest, f_classif
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.model_selection import LeaveOneOut, ShuffleSplit, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from mercer import SVC, NuSVC
from mercer.compat.sklearn import SVC as DropInSVC
from mercer.features import KernelRFE, SelectionCurve, fisher_score, mann_whitney, selection_curve, t_test
from mercer.features.judges import Nested, OneByOne, make_judge
from mercer.kernels import RBF, Cosine, Hamming, Linear
from mercer.multiclass import CrammerSinger
from mercer.selection.splits import in_splits

SIZES = [1, 2, 3, 7, 20, 60]


def samples(n=36, d=60, n_classes=2, seed=0, rounded=True):
    """A few features that tell the classes apart a little, on different scales; some are rounded, which makes ties."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % n_classes)
    X = rng.normal(size=(n, d))
    X[:, :5] += 0.9 * y[:, np.newaxis]
    X *= rng.uniform(0.5, 2.0, d)
    if rounded:
        X[:, ::2] = np.round(X[:, ::2])
    return X, np.array(["u", "v", "w", "x"])[y]


def judge_of(estimator, X, y, largest=1):
    return type(make_judge(estimator, X, y, np.array([largest]), shared=True))


# --- what it is -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("score", [fisher_score, t_test, mann_whitney, f_classif, partial(t_test, equal_variance=True)])
def test_it_is_a_pipeline(score):
    X, y = samples()
    curve = selection_curve(SVC(), X, y, score, SIZES)
    for k, size in enumerate(SIZES):
        pipeline = make_pipeline(SelectKBest(score, k=size), SVC())
        expected = 1.0 - cross_val_score(pipeline, X, y, cv=LeaveOneOut())
        np.testing.assert_array_equal(curve.fold_errors[:, k], expected)
    assert 0 < curve.n_errors.min() < curve.n_errors.max()


def test_it_is_a_pipeline_with_preprocessing():
    X, y = samples()
    curve = selection_curve(SVC(), X, y, mann_whitney, SIZES, cv=5, preprocess=StandardScaler())
    for k, size in enumerate(SIZES):
        pipeline = make_pipeline(StandardScaler(), SelectKBest(mann_whitney, k=size), SVC())
        np.testing.assert_allclose(curve.fold_errors[:, k], 1.0 - cross_val_score(pipeline, X, y, cv=5), atol=1e-12)
    assert (curve.fold_errors != selection_curve(SVC(), X, y, mann_whitney, SIZES, cv=5).fold_errors).any()


def test_selectors_rank():
    # Those of the library and of scikit-learn: 1 is the best, and where several share a rank the later one is taken.
    X, y = samples()
    selector = RFE(SVC("linear"), n_features_to_select=1, step=7)
    curve = selection_curve(SVC("linear"), X, y, selector, [1, 4, 11], cv=4)
    for k, (train, _) in enumerate(StratifiedKFold(4).split(X, y)):
        ranks = selector.fit(X[train], y[train]).ranking_
        order = sorted(range(60), key=lambda i, ranks=ranks: (ranks[i], -i))
        one = selection_curve(SVC("linear"), X, y, selector, [1, 4, 11], cv=[(train, np.arange(36))])
        for i, size in enumerate([1, 4, 11]):
            assert set(np.flatnonzero(one.selected[i])) == set(order[:size]), k
    assert curve.selected.sum(axis=1).tolist() == [4, 16, 44]


@pytest.mark.parametrize("step", [1, 0.4])
def test_recursive_elimination_ranks(step):
    # Also where several go at once, and a size is in between.
    X, y = samples()
    selector = KernelRFE(SVC("linear"), n_features_to_select=2, step=step)
    curve = selection_curve(SVC("linear"), X, y, selector, [2, 5, 30], cv=[(np.arange(36), np.arange(36))])
    fitted = selector.fit(X, y)
    best_first = [*np.flatnonzero(fitted.support_), *fitted.order_[::-1]]
    for selected, size in zip(curve.selected, curve.sizes, strict=True):
        assert set(np.flatnonzero(selected)) == set(best_first[:size])


@pytest.mark.parametrize(
    "selector", [RFE(SVC("linear"), step=9), KernelRFE(SVC("linear"), step=9)], ids=["RFE", "KernelRFE"]
)
def test_selectors_that_do_not_tell_the_best_apart(selector):
    X, y = samples()
    with pytest.raises(ValueError, match="keeps 30 features does not tell which 29 of them are best: lower"):
        selection_curve(SVC(), X, y, selector, [29, 40], cv=2)
    assert selection_curve(SVC(), X, y, selector, [30, 40], cv=2).n_tested == 36


def test_training_samples_alone_are_ranked():
    X, y = samples()
    seen = []

    def spy(X, y):
        seen.append((X.copy(), y.copy()))
        return np.arange(X.shape[1])

    splits = list(StratifiedKFold(3).split(X, y))
    curve = selection_curve(SVC(), X, y, spy, [2, 5], cv=splits)
    assert len(seen) == 3
    for (X_seen, y_seen), (train, _) in zip(seen, splits, strict=True):
        np.testing.assert_array_equal(X_seen, X[train])
        np.testing.assert_array_equal(y_seen, y[train])
    # The last features have the best scores, in every fold.
    assert np.flatnonzero(curve.selected[0]).tolist() == [58, 59]
    assert np.flatnonzero(curve.selected[1]).tolist() == [55, 56, 57, 58, 59]
    assert curve.selected.max() == 3


def test_preprocessing_sees_training_samples_alone():
    X, y = samples()
    seen = []

    class Spy(StandardScaler):
        def fit(self, X, y=None):
            seen.append((X.copy(), y.copy()))
            return super().fit(X, y)

    splits = list(StratifiedKFold(3).split(X, y))
    selection_curve(SVC(), X, y, t_test, [2], cv=splits, preprocess=Spy())
    assert len(seen) == 3
    for (X_seen, y_seen), (train, _) in zip(seen, splits, strict=True):
        np.testing.assert_array_equal(X_seen, X[train])
        np.testing.assert_array_equal(y_seen, y[train])


def test_equal_and_unknown_scores():
    X, y = samples()

    def score(X, y):
        return np.where(np.arange(60) < 57, 1.0, np.nan)

    curve = selection_curve(SVC(), X, y, score, [2, 58], cv=3)
    assert np.flatnonzero(curve.selected[0]).tolist() == [55, 56]
    assert np.flatnonzero(curve.selected[1] == 0).tolist() == [57, 58]


# --- noise ------------------------------------------------------------------------------------------------


def test_noise_stays_at_chance():
    # A sample of each class is held out at a time: without one alone, its class would be the smaller one in training,
    # and noise would be predicted worse than by chance.
    rankings = {"t": t_test, "U": mann_whitney}
    honest, leaking = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y = np.repeat([0, 1], 20)
        X = rng.normal(size=(40, 2000))
        curves = selection_curve(SVC("linear"), X, y, rankings, [50, 200], cv=20)
        honest.append([curve.mean_errors for curve in curves.values()])
        best = np.argsort(t_test(X, y)[0])[-50:]
        leaking.append(selection_curve(SVC("linear"), X[:, best], y, t_test, [50], cv=20).mean_errors)
    assert (np.abs(np.mean(honest, axis=0) - 0.5) < 0.08).all()
    assert (np.mean(leaking, axis=0) < 0.05).all()


# --- both ways are the same -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("machine", "n_classes"),
    [
        (SVC("linear"), 2),
        (SVC("rbf", C=3.0, class_weight="balanced"), 2),
        (SVC(RBF(gamma="median"), loss="squared_hinge"), 2),
        (SVC(RBF(gamma=0.05), fit_intercept=False), 2),
        (SVC("poly", C=0.1), 2),
        (SVC("laplacian"), 2),
        (SVC("linear", solver="simple"), 2),
        (NuSVC("rbf", nu=0.7), 2),
        (SVC("linear", C=0.1), 3),
        (SVC("rbf", multi_class="ovr"), 4),
        (NuSVC("linear", nu=0.8, multi_class="dag"), 3),
    ],
    ids=repr,
)
@pytest.mark.parametrize("form", [np.asarray, csr_matrix, partial(np.asarray, dtype=np.float32)], ids=["", "csr", "f4"])
def test_nested_sizes_are_fits(machine, n_classes, form):
    X, y = samples(n_classes=n_classes, rounded=False)  # where they are, samples lie on the boundary, on either side
    X = form(X)
    assert judge_of(machine, X, y) is Nested
    rankings = {"F": fisher_score, "first": lambda X, y: -np.arange(60)}
    curves = selection_curve(machine, X, y, rankings, SIZES, cv=4)
    fitted = selection_curve(make_pipeline(machine), X, y, rankings, SIZES, cv=4)
    for name in rankings:
        np.testing.assert_array_equal(curves[name].fold_errors, fitted[name].fold_errors)
        np.testing.assert_array_equal(curves[name].selected, fitted[name].selected)
    assert len(np.unique(curves["F"].n_errors)) > 1


def test_nested_sizes_one_after_the_other(monkeypatch):
    X, y = samples()
    together = selection_curve(SVC(), X, y, t_test, SIZES)
    monkeypatch.setattr("mercer.features.judges.TOGETHER", 80)
    np.testing.assert_array_equal(selection_curve(SVC(), X, y, t_test, SIZES).fold_errors, together.fold_errors)


def test_a_class_may_be_missing_in_a_fold():
    X, y = samples(n_classes=3)
    splits = [(np.flatnonzero(y != "v"), np.flatnonzero(y == "v")), (np.arange(20), np.arange(20, 36))]
    curve = selection_curve(SVC("linear"), X, y, fisher_score, SIZES, cv=splits)
    assert (curve.fold_errors[0] == 1).all()
    fitted = selection_curve(make_pipeline(SVC("linear")), X, y, fisher_score, SIZES, cv=splits)
    np.testing.assert_array_equal(curve.fold_errors, fitted.fold_errors)


@pytest.mark.parametrize(
    "machine",
    [
        RidgeClassifier(),
        DropInSVC(),
        SVC(memory=1e-3),
        SVC(probability=True),
        SVC(callback=lambda progress: False),
        SVC(multi_class=CrammerSinger()),
        SVC(RBF(gamma=np.ones(60))),
        SVC(Hamming()),
        SVC(Cosine()),
        SVC(Linear() + 1),
    ],
)
def test_other_machines_are_fitted(machine):
    X, y = samples()
    assert judge_of(machine, X, y) is OneByOne


def test_many_samples_of_few_features_are_fitted(monkeypatch):
    X, y = samples()
    monkeypatch.setattr("mercer.features.judges.FEW_SAMPLES", 35)
    assert judge_of(SVC(), X, y, largest=35) is OneByOne
    assert judge_of(SVC(), X, y, largest=36) is Nested
    monkeypatch.setattr("mercer.features.judges.FEW_SAMPLES", 36)
    assert judge_of(SVC(), X, y, largest=35) is Nested


def test_other_classifiers():
    X, y = samples()
    curve = selection_curve(RidgeClassifier(), X, y, t_test, [3], cv=4)
    expected = cross_val_score(make_pipeline(SelectKBest(t_test, k=3), RidgeClassifier()), X, y, cv=4)
    np.testing.assert_allclose(curve.fold_errors[:, 0], 1 - expected, atol=1e-12)


@pytest.mark.parametrize("ranking", [t_test, f_classif])
def test_threads_do_not_matter(ranking):
    X, y = samples()
    one, three = (selection_curve(SVC(), X, y, ranking, SIZES, n_threads=n) for n in (1, 3))
    np.testing.assert_array_equal(one.fold_errors, three.fold_errors)
    np.testing.assert_array_equal(one.selected, three.selected)


@pytest.mark.parametrize(
    ("ranking", "memory", "preprocess", "at_once"),
    [
        (t_test, 100.0, None, 3),
        (t_test, 0.1, None, 2),  # megabytes; a fold takes 0.04
        (partial(t_test, equal_variance=True), 100.0, None, 3),
        (t_test, 100.0, StandardScaler(), 1),
        ({"t": t_test, "f": f_classif}, 100.0, None, 1),
    ],
    ids=["ours", "little memory", "partial", "preprocess", "theirs"],
)
def test_folds_side_by_side(monkeypatch, ranking, memory, preprocess, at_once):
    X, y = samples()
    asked = []

    def spy(run, splits, teams):
        asked.append(teams)
        return in_splits(run, splits, teams)

    monkeypatch.setattr("mercer.features.curves.in_splits", spy)
    selection_curve(SVC(memory=memory), X, y, ranking, [2], cv=4, preprocess=preprocess, n_threads=3)
    assert asked == [at_once]


def test_several_rankings_are_each():
    X, y = samples()
    curves = selection_curve(SVC(), X, y, {"t": t_test, "U": mann_whitney}, SIZES)
    assert list(curves) == ["t", "U"]
    np.testing.assert_array_equal(
        curves["U"].fold_errors, selection_curve(SVC(), X, y, mann_whitney, SIZES).fold_errors
    )


def test_nothing_is_changed():
    X, y = samples()
    before, machine, scaler = X.copy(), SVC(), StandardScaler()
    selection_curve(machine, X, y, t_test, SIZES, cv=3, preprocess=scaler)
    np.testing.assert_array_equal(X, before)
    assert not hasattr(machine, "classes_")
    assert not hasattr(scaler, "mean_")


def test_missing_values_are_for_the_preprocessing():
    X, y = samples()
    X[4, 7] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        selection_curve(SVC(), X, y, t_test)
    curve = selection_curve(SVC(), X, y, t_test, SIZES, cv=3, preprocess=SimpleImputer())
    assert curve.n_tested == 36


# --- the result -------------------------------------------------------------------------------------------


def test_result():
    curve = SelectionCurve(
        sizes=np.array([1, 10, 100]),
        fold_errors=np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]),
        n_errors=np.array([1, 1, 2]),
        n_tested=3,
        selected=np.zeros((3, 100), dtype=int),
    )
    assert curve.mean_errors.tolist() == [0.5, 0.25, 0.25]
    assert curve.best_size == 1
    assert repr(curve) == "SelectionCurve(1 of 3 wrong with the best feature, 2 folds, sizes 1 to 100)"


def test_counts_and_shares():
    X, y = samples()
    splits = [*ShuffleSplit(3, test_size=7, random_state=0).split(X), (np.arange(20), np.arange(20, 36))]
    curve = selection_curve(SVC(), X, y, t_test, SIZES, cv=splits)
    assert curve.n_tested == 3 * 7 + 16
    np.testing.assert_allclose(curve.n_errors, np.array([7, 7, 7, 16]) @ curve.fold_errors)
    assert curve.selected.sum(axis=1).tolist() == [4 * size for size in SIZES]


@pytest.mark.parametrize(
    ("n_features", "sizes"),
    [(1, [1]), (5, [1, 2, 5]), (6, [1, 2, 5, 6]), (60, [1, 2, 5, 10, 20, 50, 60]), (3, [1, 2, 3])],
)
def test_sizes_by_default(n_features, sizes):
    X, y = samples()
    assert selection_curve(SVC(), X[:, :n_features], y, t_test, cv=2).sizes.tolist() == sizes


def test_sizes_in_any_order():
    X, y = samples()
    assert selection_curve(SVC(), X, y, t_test, (k for k in (7, 1, 7)), cv=2).sizes.tolist() == [1, 7]


def test_warning_of_machines_that_stop_early():
    X, y = samples()
    with pytest.warns(ConvergenceWarning, match=r"A fold of SVC did not reach .*max_iter") as caught:
        selection_curve(SVC(max_iter=1), X, y, t_test, SIZES, cv=3)
    assert len(caught) == 1


# --- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"estimator": Ridge()}, ValueError, r"estimator must be a classifier, got Ridge\(\)"),
        ({"estimator": "svc"}, ValueError, "estimator must be a classifier, got 'svc'"),
        (
            {"ranking": "t_test"},
            TypeError,
            "a score function, a selector or a dict of them, got 't_test'",
        ),
        ({"ranking": {}}, ValueError, "ranking must have one entry at least"),
        ({"ranking": DummyClassifier()}, TypeError, r"needs ranking_ after fit to rank features, DummyClassifier\(\)"),
        ({"ranking": lambda X, y: np.ones(3)}, ValueError, r"a number for each of 60 features, got shape \(3,\)"),
        ({"sizes": [0, 2]}, ValueError, "Each of sizes must be an int >= 1 and <= 60, got 0"),
        ({"sizes": [61]}, ValueError, "Each of sizes must be an int >= 1 and <= 60, got 61"),
        ({"sizes": [2.5]}, ValueError, "Each of sizes must be an int"),
        ({"sizes": []}, ValueError, "sizes must have one entry at least"),
        (
            {"cv": "holdout"},
            ValueError,
            "cv must be 'loo', an int >= 2, .*, got 'holdout'",
        ),
        ({"cv": 1}, ValueError, "cv must be"),
        ({"n_threads": 0}, ValueError, "n_threads must be"),
        ({"estimator": SVC(C=-1.0)}, ValueError, "C must be"),
        ({"preprocess": PolynomialFeatures()}, ValueError, "keep the number of features, it makes 1891 of 60"),
        ({"y": np.linspace(0, 1, 36)}, ValueError, "continuous"),
        ({"estimator": SVC("poly"), "X": 1e150 * np.ones((36, 60))}, ValueError, "features are too large"),
    ],
)
def test_bad_input(change, error, message):
    X, y = samples()
    given = {"estimator": SVC(), "X": X, "y": y, "ranking": t_test, "sizes": [2], "cv": 2} | change
    with pytest.raises(error, match=message):
        selection_curve(**given)
