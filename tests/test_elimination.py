"""Recursive feature elimination: what it keeps, how many, and what it refuses."""

import pickle

import numpy as np
import pytest
import sklearn.svm
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

from mercer import SVC, SVR, KernelRFE, LinearSVC, NuSVC, NuSVR, _native, threads
from mercer.errors import DomainError, NotSeparableError
from mercer.features import backward, elimination
from mercer.features.backward import EliminationResult, fits_of, sizes_of
from mercer.gram import MatrixGram
from mercer.kernels import RBF, Laplacian, Linear, Polynomial, Sigmoid, Spectrum
from mercer.problems import DualProblems, soft_margin
from mercer.selection.splits import in_splits
from mercer.solvers import SMO
from mercer.solvers.smo import STATUS_NAMES
from mercer.threads import effective_n_threads, limit_threads


def genes(n=30, d=60, n_classes=2, seed=0, informative=4, shift=1.5):
    """Classes that differ in the first features of many."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % n_classes)
    X = rng.normal(size=(n, d))
    X[:, :informative] += shift * rng.normal(size=(n_classes, informative)).round()[y]
    return X, y


KERNELS = {
    "linear": Linear(),
    "rbf": RBF(gamma=0.02),
    "laplacian": Laplacian(gamma=0.02),
    "polynomial": Polynomial(degree=2, gamma=0.05, coef0=1.0),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())


# --- what is kept -----------------------------------------------------------------------------------------


def test_ranks_and_order():
    X, y = genes()
    selector = KernelRFE(n_features_to_select=5, step=10).fit(X, y)
    assert selector.n_features_ == selector.support_.sum() == 5
    assert_array_equal(selector.get_support(indices=True), np.flatnonzero(selector.ranking_ == 1))
    # 60, 50, 40, 30, 20, 10, 5: the last five to go have rank 2
    assert_array_equal(np.bincount(selector.ranking_)[1:], [5, 5, 10, 10, 10, 10, 10])
    assert_array_equal(selector.ranking_[selector.order_], np.repeat([7, 6, 5, 4, 3, 2], [10, 10, 10, 10, 10, 5]))
    assert sorted([*selector.order_, *np.flatnonzero(selector.support_)]) == list(range(60))
    assert_array_equal(selector.result_.n_features, [60, 50, 40, 30, 20, 10])


def test_the_machine_on_what_is_kept():
    X, y = genes(n_classes=3)
    selector = KernelRFE(SVC("rbf", C=2.0), n_features_to_select=6, step=0.2).fit(X, y)
    alone = SVC("rbf", C=2.0).fit(X[:, selector.support_], y)
    assert_array_equal(selector.transform(X), X[:, selector.support_])
    assert_array_equal(selector.predict(X), alone.predict(X[:, selector.support_]))
    assert_array_equal(selector.decision_function(X), alone.decision_function(X[:, selector.support_]))
    assert selector.score(X, y) == alone.score(X[:, selector.support_], y)
    assert_array_equal(selector.classes_, [0, 1, 2])
    assert not hasattr(selector, "predict_proba")
    likely = KernelRFE(SVC("linear", probability=True), n_features_to_select=6).fit(X, y)
    assert_allclose(likely.predict_proba(X).sum(axis=1), 1.0)
    assert_allclose(likely.predict_log_proba(X), np.log(likely.predict_proba(X)))
    back = selector.inverse_transform(selector.transform(X))
    assert_array_equal(back[:, selector.support_], X[:, selector.support_])
    assert not back[:, ~selector.support_].any()


def test_losses_of_the_linear_kernel_are_squared_weights():
    X, y = genes()
    selector = KernelRFE(n_features_to_select=59).fit(X, y)
    weights = SVC("linear").fit(X, y).coef_[0]
    assert selector.order_[0] == np.argmin(weights**2)
    assert_allclose(selector.losses_[0], 0.5 * (weights**2).min(), rtol=1e-9)


def test_sizes():
    assert sizes_of(10, 7, 1) == [10, 9, 8, 7]
    assert sizes_of(10, 1, 4) == [10, 6, 2, 1]
    assert sizes_of(100, 40, 0.3) == [100, 70, 49, 40]
    assert sizes_of(5, 1, 0.1) == [5, 4, 3, 2, 1]
    assert sizes_of(3, 3, 1) == [3]


def test_how_many_are_kept():
    X, y = genes(d=11)
    assert KernelRFE().fit(X, y).n_features_ == 5
    assert KernelRFE(n_features_to_select=0.35).fit(X, y).n_features_ == 3
    assert KernelRFE(n_features_to_select=11).fit(X, y).n_features_ == 11
    assert KernelRFE(n_features_to_select=0.01).fit(X, y).n_features_ == 1
    everything = KernelRFE(n_features_to_select=1.0).fit(X, y)
    assert everything.n_features_ == 11
    assert everything.order_.size == everything.result_.n_features.size == 0
    assert (everything.result_.status, everything.result_.violation, everything.result_.gap) == ("solved", 0.0, 0.0)


def test_of_equal_features_the_first_goes_first():
    X, y = genes(d=6)
    X = np.hstack([X, X, np.ones((len(X), 2))])
    selector = KernelRFE(n_features_to_select=1).fit(X, y)
    assert_array_equal(selector.order_[:2], [12, 13])  # constant: of no weight at all
    place = np.argsort([*selector.order_, *np.flatnonzero(selector.support_)])
    assert (place[:6] < place[6:12]).all()


@every_kernel
@pytest.mark.parametrize("step", [1, 0.3])
def test_order_of_samples(kernel, step):
    X, y = genes(n_classes=3)
    shuffled = np.random.default_rng(1).permutation(len(y))
    one = KernelRFE(SVC(kernel), n_features_to_select=2, step=step).fit(X, y)
    other = KernelRFE(SVC(kernel), n_features_to_select=2, step=step).fit(X[shuffled], y[shuffled])
    assert_array_equal(one.order_, other.order_)


@every_kernel
def test_threads(kernel):
    X, y = genes(n=160, d=80, n_classes=4)
    one, three = (KernelRFE(SVC(kernel), step=3, cv=4, n_threads=k).fit(X, y) for k in (1, 3))
    assert_array_equal(one.order_, three.order_)
    assert_array_equal(one.losses_, three.losses_)
    assert_array_equal(one.result_.gaps, three.result_.gaps)
    assert_array_equal(one.cv_results_["mean_test_score"], three.cv_results_["mean_test_score"])


@every_kernel
def test_sparse_and_float32(kernel):
    X, y = genes()
    X = np.where(abs(X) > 0.7, X, 0.0).astype(np.float32).astype(np.float64)
    dense = KernelRFE(SVC(kernel), n_features_to_select=2).fit(X, y)
    for other in (csr_array(X), X.astype(np.float32)):
        selector = KernelRFE(SVC(kernel), n_features_to_select=2, cv=None).fit(other, y)
        assert_array_equal(selector.order_, dense.order_)
    assert_array_equal(
        KernelRFE(SVC(kernel), cv=3).fit(csr_array(X), y).cv_results_["mean_test_score"],
        KernelRFE(SVC(kernel), cv=3).fit(X, y).cv_results_["mean_test_score"],
    )


def test_names_of_features():
    pandas = pytest.importorskip("pandas")
    X, y = genes(d=5)
    frame = pandas.DataFrame(X, columns=list("abcde"))
    selector = KernelRFE(n_features_to_select=2).fit(frame, y)
    assert_array_equal(selector.get_feature_names_out(), np.array(list("abcde"))[selector.support_])
    alone = KernelRFE(n_features_to_select=2).fit(X, y)
    assert_array_equal(selector.predict(frame), alone.predict(X))
    selector.set_output(transform="pandas")
    assert selector.transform(frame).columns.tolist() == selector.get_feature_names_out().tolist()
    assert_array_equal(selector.predict(frame), alone.predict(X))  # and no warning of names that the machine misses
    with pytest.raises(ValueError, match="feature names should match"):
        selector.predict(frame[list("edcba")])


def test_in_a_pipeline():
    X, y = genes(n=60)
    pipeline = make_pipeline(KernelRFE(n_features_to_select=4, step=0.2), SVC("linear"))
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.7
    again = pickle.loads(pickle.dumps(pipeline.fit(X, y)))
    assert_array_equal(again.predict(X), pipeline.predict(X))
    pipeline.set_params(kernelrfe__estimator=SVC("linear"), kernelrfe__estimator__C=0.01)
    assert pipeline[0].estimator.C == 0.01


# --- how exact --------------------------------------------------------------------------------------------


@every_kernel
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_fit_is_certified(kernel, n_classes):
    X, y = genes(n_classes=n_classes)
    selector = KernelRFE(SVC(kernel), n_features_to_select=1).fit(X, y)
    result = selector.result_
    assert len(result.n_features) == len(result.violations) == 59
    assert result.status == "solved"
    assert result.violation == result.violations.max() < 1e-8
    assert result.gap == result.gaps.max() < 1e-8
    assert result.n_iter == result.iterations.sum()
    # by the machine itself, halfway
    left = np.setdiff1d(np.arange(60), selector.order_[:30])
    alone = SVC(kernel, tol=1e-10).fit(X[:, left], y).result_
    assert_allclose(result.objectives[30], alone.objective, rtol=1e-8)


def test_certificates_of_several_machines():
    numbers = np.array([[[1.0, 0.1, 0.02], [2.0, 0.3, 0.01]], [[3.0, 0.0, 0.0], [4.0, 0.0, 0.0]]])
    counts = np.array([[[5, 0], [6, STATUS_NAMES.tolist().index("max_iter")]], [[7, 0], [8, 0]]])
    fits = fits_of(numbers, counts, Linear())
    for found, expected in zip(fits, [[3.0, 7.0], [0.4, 0.0], [0.02, 0.0], [11, 15]], strict=False):
        assert_allclose(found, expected)
    assert fits.statuses.tolist() == ["max_iter", "solved"]
    assert EliminationResult.joined([2, 1], [fits]).status == "max_iter"  # the worst, not the last
    assert fits_of(numbers, counts, Sigmoid()).statuses.tolist() == ["max_iter", "indefinite"]


def test_a_huge_feature_leaves_no_rounding_behind():
    X, y = genes()
    huge = 1e7 * np.random.default_rng(5).choice([-1.0, 1.0], size=(len(y), 1))
    without = KernelRFE(n_features_to_select=1).fit(X, y)
    spoilt = KernelRFE(n_features_to_select=1).fit(np.hstack([X, huge]), y)
    assert spoilt.order_[0] == 60
    assert_array_equal(spoilt.order_[1:], without.order_)
    assert_allclose(spoilt.result_.objectives[1:], without.result_.objectives, rtol=1e-9)


def test_features_that_cannot_be_told_apart():
    """A kernel so narrow that no sample is like another one: nothing is lost with any feature."""
    X, y = genes()
    selector = KernelRFE(SVC(RBF(gamma=1.0)), n_features_to_select=10).fit(1e3 * X, y)
    assert_array_equal(selector.order_, np.arange(50))
    assert_array_equal(selector.losses_, 0.0)


def test_large_means_do_not_matter():
    X, y = genes()
    for shift in (0.0, 1e6):
        selector = KernelRFE(n_features_to_select=1).fit(X + shift, y)
        assert_array_equal(selector.order_, KernelRFE(n_features_to_select=1).fit(X, y).order_)


def test_gap_tol_and_limits():
    X, y = genes(n=300, d=20, shift=0.2)
    loose = KernelRFE(SVC("rbf", tol=0.1, C=10.0), n_features_to_select=18).fit(X, y)
    tight = KernelRFE(SVC("rbf", tol=0.1, C=10.0, gap_tol=1e-7), n_features_to_select=18).fit(X, y)
    assert (tight.result_.gaps <= 1e-7 * abs(tight.result_.objectives)).all()
    assert not (loose.result_.gaps <= 1e-7 * abs(loose.result_.objectives)).all()
    with pytest.warns(ConvergenceWarning) as told:
        stopped = KernelRFE(SVC("rbf", max_iter=5), n_features_to_select=18).fit(X, y)
    assert stopped.result_.status == "max_iter"
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        stopped = KernelRFE(SVC("rbf", C=100.0, max_seconds=1e-9), n_features_to_select=18).fit(X, y)
    assert stopped.result_.status == "max_seconds"
    assert "A fit of KernelRFE did not reach a proved optimum (status max_iter)" in str(told[-1].message)


def test_solvers_and_callbacks_of_the_machine(monkeypatch):
    X, y = genes(d=8)
    native = KernelRFE(n_features_to_select=2).fit(X, y)
    told, solved = [], []

    class Spy(SMO):
        def solve_many(self, problems, *others):
            solved.append(len(problems))
            return super().solve_many(problems, *others)

    monkeypatch.setattr(backward, "NativeEngine", None)
    for how in ({"solver": Spy()}, {"solver": "simple", "tol": 1e-6}, {"callback": told.append}):
        machine = SVC("linear").set_params(**how)
        slow = KernelRFE(machine, n_features_to_select=2).fit(X, y)
        assert_array_equal(slow.order_, native.order_)
    assert solved == [1] * 7  # with 8, 7, ... 2 features
    assert len(told) >= 7


def test_callables_are_kernels():
    X, y = genes(d=8)
    slow = KernelRFE(SVC(lambda X, Y: X @ Y.T), n_features_to_select=2).fit(X, y)
    assert_array_equal(slow.order_, KernelRFE(n_features_to_select=2).fit(X, y).order_)


def test_rules_of_kernels_follow_the_features():
    X, y = genes()
    X[:, 40:] *= 30.0  # what goes first, and what the first gamma is made of
    given = KernelRFE(SVC(RBF(gamma="scale")), n_features_to_select=3).fit(X, y)
    assert_allclose(given.estimator_.kernel_.gamma, 1.0 / (3 * X[:, given.support_].var()))
    # As the last stretch saw it: a rule that was applied to all features would be far off.
    left = np.setdiff1d(np.arange(60), given.order_[:-1])
    objective = SVC("rbf", tol=1e-8).fit(X[:, left], y).result_.objective
    assert_allclose(given.result_.objectives[-1], objective, rtol=1e-6)


def test_refits_find_the_same_as_the_native_loop(monkeypatch):
    X, y = genes(n_classes=3, d=30)
    machine = SVC(RBF(gamma=0.05), C=2.0)
    native = KernelRFE(machine, cv=3).fit(X, y)
    monkeypatch.setattr(backward, "LARGEST", 10)
    slow = KernelRFE(machine, cv=3).fit(X, y)
    assert_array_equal(slow.order_, native.order_)
    assert_allclose(slow.losses_, native.losses_, rtol=1e-6, atol=1e-10)
    assert_allclose(slow.result_.objectives, native.result_.objectives, rtol=1e-6)
    assert_array_equal(slow.cv_results_["mean_test_score"], native.cv_results_["mean_test_score"])


# --- regression -------------------------------------------------------------------------------------------


def measured(n=40, d=20, n_outputs=1, seed=0):
    """Values that depend on the first features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = X[:, :4] @ rng.normal(size=(4, n_outputs)) + 0.1 * rng.normal(size=(n, n_outputs)) + 5.0
    return X, Y[:, 0] if n_outputs == 1 else Y


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("machine", [SVR("linear", C=10.0), NuSVR("linear", C=10.0)], ids=["SVR", "NuSVR"])
def test_values_in_place_of_classes(machine, n_outputs):
    X, y = measured(n_outputs=n_outputs)
    selector = KernelRFE(machine, n_features_to_select=4).fit(X, y)
    assert_array_equal(selector.get_support(indices=True), [0, 1, 2, 3])
    alone = clone(machine).fit(X[:, :4], y)
    assert_array_equal(selector.predict(X), alone.predict(X[:, :4]))
    assert selector.score(X, y) == alone.score(X[:, :4], y) > 0.9
    assert is_regressor(selector)
    assert not is_classifier(selector)
    for name in ("classes_", "decision_function", "predict_proba"):
        assert not hasattr(selector, name)
    assert selector.result_.status == "solved"


@every_kernel
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_validation_of_values(kernel, n_outputs, monkeypatch):
    monkeypatch.setattr(backward, "AT_ONCE", 40)  # several native calls for a stretch
    X, y = measured(n_outputs=n_outputs)
    machine, weight = SVR(kernel, C=3.0, tol=1e-8), np.random.default_rng(1).integers(0, 3, size=40).astype(float)
    selector = KernelRFE(machine, step=4, cv=4).fit(X, y, sample_weight=weight)
    sizes = [20, 16, 12, 8, 4, 1]
    assert_array_equal(selector.cv_results_["n_features"], sizes)
    for k, (train, test) in enumerate(KFold(4).split(X)):
        for size, score in zip(sizes, selector.cv_results_[f"split{k}_test_score"], strict=True):
            alone = KernelRFE(machine, step=4, n_features_to_select=size).fit(X[train], y[train], weight[train])
            error = mean_squared_error(y[test], alone.predict(X[test]), sample_weight=weight[test])
            assert_allclose(score, -error, rtol=1e-5)
    mean = selector.cv_results_["mean_test_score"]
    assert selector.n_features_ == sizes[mean.argmax()]
    held_out = KernelRFE(machine, step=4).fit(X[:30], y[:30], validation=(X[30:], y[30:]))
    alone = KernelRFE(machine, step=4, n_features_to_select=8).fit(X[:30], y[:30])
    error = mean_squared_error(y[30:], alone.predict(X[30:]))
    assert_allclose(held_out.cv_results_["split0_test_score"][3], -error, rtol=1e-5)


def test_the_best_size_of_small_values():
    X, y = measured()
    sizes = [KernelRFE(SVR("linear", C=unit, epsilon=0.1 * unit, tol=1e-4 * unit), cv=4).fit(X, unit * y).n_features_
             for unit in (1.0, 1e-9)]  # fmt: skip
    assert sizes[0] == sizes[1] > 1


def test_leaving_one_value_out():
    X, y = measured(n=20)
    scores = KernelRFE(SVR("linear"), cv="loo").fit(X, y).cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    assert scores.argmax() > 10  # most features do not matter


def test_wrong_values():
    X, y = measured()
    with pytest.raises(ValueError, match="NaN"):
        KernelRFE(SVR()).fit(X, np.where(y > 5, np.nan, y))
    with pytest.raises(ValueError, match=r"outputs as y has, got shape \(40, 2\) for \(40,\)"):
        KernelRFE(SVR()).fit(X, y, validation=(X, np.c_[y, y]))
    with pytest.raises(ValueError, match="y of validation contains NaN"):
        KernelRFE(SVR()).fit(X, y, validation=(X, np.where(y > 5, np.nan, y)))
    weight = np.repeat([1.0, 0.0], 20)
    with pytest.raises(ValueError, match="samples of positive weight to train on, split 1 has none"):
        KernelRFE(SVR(), cv=[(np.arange(30), [35, 5]), (np.arange(20, 40), [1])]).fit(X, y, sample_weight=weight)


# --- how many, by validation ------------------------------------------------------------------------------


def test_folds_are_eliminations_of_their_own(monkeypatch):
    monkeypatch.setattr(backward, "AT_ONCE", 40)  # several native calls for a stretch
    X, y = genes(n=40, d=25, n_classes=3)
    folds = [(np.setdiff1d(np.arange(40), test), test) for test in np.array_split(np.arange(40), 4)]
    machine = SVC(RBF(gamma=0.05))
    selector = KernelRFE(machine, step=4, cv=folds).fit(X, y)
    sizes = [25, 21, 17, 13, 9, 5, 1]
    assert_array_equal(selector.cv_results_["n_features"], sizes)
    for k, (train, test) in enumerate(folds):
        for size, score in zip(sizes, selector.cv_results_[f"split{k}_test_score"], strict=True):
            alone = KernelRFE(machine, step=4, n_features_to_select=size).fit(X[train], y[train])
            assert score == pytest.approx(alone.score(X[test], y[test]))
    mean = selector.cv_results_["mean_test_score"]
    best = max(k for k in range(7) if mean[k] == mean.max())  # the smallest size of the smallest error
    assert selector.n_features_ == sizes[best]
    whole = KernelRFE(machine, step=4, n_features_to_select=sizes[best]).fit(X, y)
    assert_array_equal(selector.order_, whole.order_)
    assert_array_equal(selector.ranking_, whole.ranking_)


@pytest.mark.parametrize(("memory", "at_once"), [(100.0, 4), (0.06, 2), (0.01, 0)])
def test_folds_within_the_memory_of_the_machine(monkeypatch, memory, at_once):
    X, y = genes(n=30, d=60)  # a fold takes 0.03 megabytes
    asked = []

    def spy(run, splits, teams):
        asked.append(teams)
        return in_splits(run, splits, teams)

    monkeypatch.setattr(elimination, "in_splits", spy)
    KernelRFE(SVC("linear", memory=memory), step=0.5, cv=5, n_threads=4).fit(X, y)
    assert asked == [at_once]


def test_folds_side_by_side_have_a_thread_each(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads, "_cores", lambda: 8)
    splits = [(np.array([k]), np.array([k + 1])) for k in range(3)]

    def run(train, test):
        return int(train[0]), int(test[0]), effective_n_threads()

    with limit_threads(4):
        assert in_splits(run, splits, 2) == [(0, 1, 1), (1, 2, 1), (2, 3, 1)]
        assert in_splits(run, splits, 1) == [(0, 1, 4), (1, 2, 4), (2, 3, 4)]
        assert in_splits(run, splits[:1], 2) == [(0, 1, 4)]


def test_ways_to_validate():
    X, y = genes(n=24, d=12)
    loo = KernelRFE(cv="loo").fit(X, y)
    assert_array_equal(
        loo.cv_results_["mean_test_score"], KernelRFE(cv=LeaveOneOut()).fit(X, y).cv_results_["mean_test_score"]
    )
    assert "split23_test_score" in loo.cv_results_
    assert "split1_test_score" not in KernelRFE(cv="holdout").fit(X, y).cv_results_
    groups = np.arange(24) // 6
    grouped = KernelRFE(cv=GroupKFold(4)).fit(X, y, groups=groups)
    by_hand = KernelRFE(cv=list(GroupKFold(4).split(X, y, groups))).fit(X, y)
    assert_array_equal(grouped.cv_results_["mean_test_score"], by_hand.cv_results_["mean_test_score"])
    new, labels = genes(n=50, d=12, seed=1)
    held_out = KernelRFE().fit(X, y, validation=(new, labels))
    scores = held_out.cv_results_["split0_test_score"]
    assert_allclose(scores[-1], KernelRFE(n_features_to_select=1).fit(X, y).score(new, labels))
    smallest = KernelRFE(cv=3, n_features_to_select=4).fit(X, y)
    assert smallest.cv_results_["n_features"][-1] == 4
    assert not hasattr(smallest.set_params(cv=None).fit(X, y), "cv_results_")


def test_many_samples_for_validation():
    """They need the kernel values between them and the training samples, not those among themselves."""
    X, y = genes(n=10, d=3, informative=1)
    new, labels = genes(n=500_000, d=3, informative=1, seed=1)  # whose own matrix would have two terabytes
    selector = KernelRFE().fit(X, y, validation=(new, labels))
    alone = KernelRFE(n_features_to_select=1).fit(X, y)
    assert_allclose(selector.cv_results_["mean_test_score"][-1], alone.score(new, labels))


def test_more_samples_for_validation_than_there_is_room(monkeypatch):
    X, y = genes(n=20, d=8)
    new, labels = genes(n=60, d=8, seed=1)
    native = KernelRFE().fit(X, y, validation=(new, labels))
    refitted = []

    class Spy(backward.Refits):
        def __init__(self, lesson):
            super().__init__(lesson)
            refitted.append(lesson.X_test.shape[0])

    monkeypatch.setattr(backward, "Refits", Spy)
    monkeypatch.setattr(backward, "LARGEST", 39)  # 20 times 20 and 60 are more than 39 times 39
    slow = KernelRFE().fit(X, y, validation=(new, labels))
    assert refitted == [60]
    assert_array_equal(slow.cv_results_["mean_test_score"], native.cv_results_["mean_test_score"])


def test_of_equal_errors_the_fewest_features():
    X, y = genes(d=10)
    X[:, 7] = 10.0 * y
    selector = KernelRFE(cv=3).fit(X, y)
    assert_array_equal(selector.cv_results_["mean_test_score"], 1.0)
    assert_array_equal(selector.get_support(indices=True), [7])
    # Sums in another order round to something else.
    assert KernelRFE()._best(np.array([[0.1, 0.3], [0.2, 0.2], [0.3, 0.1]]), [2, 1]) == 1


def test_noise_stays_at_chance():
    """Features that are chosen with all samples seem to tell classes apart where there is nothing to tell."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 400)), np.arange(40) % 2
    fair = KernelRFE(step=0.2, cv="loo").fit(X, y).cv_results_
    assert abs(fair["mean_test_score"] - 0.5).max() < 0.25
    leaking = KernelRFE(step=0.2, n_features_to_select=20).fit(X, y).transform(X)
    assert cross_val_score(SVC("linear"), leaking, y, cv=LeaveOneOut()).mean() > 0.9


def test_samples_of_no_weight():
    X, y = genes(n=40)
    weight = (np.arange(40) % 5 > 0).astype(float)
    used = weight > 0
    X[~used] *= 1e13  # a mean of all would leave little of the others
    y[~used] = 1 - y[~used]
    some = KernelRFE(cv=4, step=5).fit(X, y, sample_weight=weight)
    folds = [(train[used[train]], test[used[test]]) for train, test in StratifiedKFold(4).split(X, y)]
    place = np.cumsum(used) - 1
    alone = KernelRFE(cv=[(place[train], place[test]) for train, test in folds], step=5).fit(X[used], y[used])
    assert_array_equal(some.order_, alone.order_)
    assert_allclose(some.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"])
    assert_allclose(some.decision_function(X[used]), alone.decision_function(X[used]), rtol=1e-9)
    folds = [(np.arange(20), np.arange(20, 40)), (np.arange(20), np.flatnonzero(~used))]  # the second judges nothing
    assert "split1_test_score" not in KernelRFE(cv=folds, step=5).fit(X, y, sample_weight=weight).cv_results_
    with pytest.raises(ValueError, match="cv must hold out samples of positive weight"):
        KernelRFE(cv=folds[1:]).fit(X, y, sample_weight=weight)


# --- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"step": 0}, "step must be an int >= 1 or a float > 0 and < 1, got 0"),
        ({"step": 1.5}, "step must be .* got 1.5"),
        ({"step": 1.0}, "step must be .* got 1.0"),
        ({"step": True}, "step must be .* got True"),
        ({"n_features_to_select": 0}, "n_features_to_select must be an int >= 1 or .* <= 1 or None, got 0"),
        ({"n_features_to_select": 1.2}, "n_features_to_select must be .* got 1.2"),
        ({"n_features_to_select": 6}, "n_features_to_select must be at most n_features=5, got 6"),
        ({"cv": "all"}, "cv must be an int >= 2, 'loo', .* got 'all'"),
        ({"cv": 1}, "cv must be .* got 1"),
        ({"cv": 0.2}, "cv must be .* got 0.2"),
        ({"n_threads": 0}, "n_threads must be .* got 0"),
        ({"estimator": SVC(C=-1)}, "C must be .* got -1"),
        ({"estimator": SVC(RBF(gamma=np.ones(5)))}, "kernel must have no parameter with a number for every feature"),
        ({"estimator": SVC("precomputed")}, "got kernel='precomputed', which does not work on them"),
        ({"estimator": SVC(Spectrum(2))}, "which does not work on them"),
    ],
)
def test_wrong_parameters(parameters, message):
    X, y = genes(d=5)
    selector = KernelRFE(**parameters)
    with pytest.raises(ValueError, match=message):
        selector.fit(X, y)
    assert not hasattr(selector, "support_")


def test_wrong_machines_and_samples():
    X, y = genes(d=5)
    with pytest.raises(TypeError, match="an SVR or a NuSVR of mercer, or None, got LinearSVC"):
        KernelRFE(LinearSVC()).fit(X, y)
    with pytest.raises(TypeError, match=r"got SVC\(\) of sklearn.svm"):
        KernelRFE(sklearn.svm.SVC()).fit(X, y)
    with pytest.raises(DomainError):
        KernelRFE(SVC("precomputed")).fit(X, y)
    with pytest.raises(ValueError, match="needs at least 2 classes"):
        KernelRFE().fit(X, np.ones(len(y)))
    with pytest.raises(ValueError, match="features are too large"):
        KernelRFE(SVC("rbf")).fit(1e155 * X, y)
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        KernelRFE().fit(X, y)


def test_wrong_validation():
    X, y = genes(d=5)
    with pytest.raises(ValueError, match="validation must be None where cv chooses"):
        KernelRFE(cv=3).fit(X, y, validation=(X, y))
    with pytest.raises(ValueError, match="as many labels as samples, got 29 for 30"):
        KernelRFE().fit(X, y, validation=(X, y[1:]))
    with pytest.raises(ValueError, match=r"validation must be a tuple \(X, y\)"):
        KernelRFE().fit(X, y, validation=X)
    with pytest.raises(ValueError, match="got a list of ndarray"):
        KernelRFE().fit(X, y, validation=[X, y])
    with pytest.raises(ValueError, match="no classes but those of y, got '0'"):  # which is not the number
        KernelRFE().fit(X, y, validation=(X, y.astype(str)))
    with pytest.raises(ValueError, match="two classes to train on in every split, split 0 has one"):
        KernelRFE(cv=[(np.flatnonzero(y == 0), np.flatnonzero(y == 1))]).fit(X, y)


def test_hard_margins_need_features_that_separate():
    X, y = genes(shift=0.0)
    with pytest.raises(NotSeparableError, match=r"With \d+ features left: The classes are not separable") as told:
        KernelRFE(SVC("linear", C=np.inf), n_features_to_select=1).fit(X, y)
    too_few = int(str(told.value).split()[1])
    with pytest.raises(NotSeparableError):
        KernelRFE(SVC("linear", C=np.inf), n_features_to_select=too_few).fit(X, y)
    KernelRFE(SVC("linear", C=np.inf), n_features_to_select=too_few + 1).fit(X, y)
    kept = KernelRFE(SVC("linear", C=np.inf), n_features_to_select=30).fit(X, y)
    assert kept.score(X, y) == 1.0


def test_a_fit_that_fails_leaves_the_last_one():
    X, y = genes()
    selector = KernelRFE().fit(X, y)
    before = selector.order_
    with pytest.raises(ValueError, match="step must be"):
        selector.set_params(step=0).fit(X[:, :20], y)
    assert selector.order_ is before
    assert selector.predict(X).shape == (30,)


def test_parameters_are_left_alone():
    X, y = genes()
    machine = NuSVC(nu=0.4)
    selector = KernelRFE(machine, step=0.5).fit(X, y)
    assert selector.estimator is machine
    assert not hasattr(machine, "support_")
    assert clone(selector).estimator.nu == 0.4


# --- the native function ----------------------------------------------------------------------------------


def call(**changes):
    """A native elimination of four features of six samples."""
    rng = np.random.default_rng(0)
    problems = DualProblems.of([soft_margin(MatrixGram(np.eye(6)), np.array([1.0, -1.0] * 3), np.ones(6))])
    arguments = {
        "spec": ("dot", "identity", (1.0, 0.0, 0.0)),
        "columns": rng.normal(size=(4, 6)),
        "problems": tuple(
            getattr(problems, name)
            for name in ("samples", "sign", "linear", "upper", "ridge", "equality", "totals", "scaled")
        ),
        "start": np.zeros(6),
        "batches": np.array([1, 2, 0]),
        "tests": np.array([0, 5]),
        "tol": 1e-3,
        "gap_tol": np.inf,
        "max_iter": 1000,
        "max_seconds": np.inf,
        "unbounded_ratio": 0.0,
        "n_threads": 1,
    }
    arguments["problems"] = (problems.parts.starts, *arguments["problems"])
    return _native.eliminate(**(arguments | changes))


def test_native_shapes():
    order, losses, a, numbers, counts, decisions = call()
    assert len(order) == len(losses) == len(set(order.tolist())) == 3
    assert a.shape == (6,)
    assert numbers.shape == (3, 3)
    assert counts.shape == (3, 2)
    assert decisions.shape == (3 * 2,)
    nothing = np.empty(0, dtype=np.int64)
    order, losses, a, numbers, counts, decisions = call(batches=nothing, tests=nothing)
    assert order.size == losses.size == numbers.size == counts.size == decisions.size == 0
    assert_array_equal(a, 0.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batches": np.array([3, 2])}, "a batch is larger than what is left"),
        ({"batches": np.array([-1])}, "a batch is larger than what is left"),
        ({"tests": np.array([6])}, "a test sample is out of range"),
        ({"spec": ("dot", "cosine", (1.0, 0.0, 0.0))}, "a transform of its measure alone"),
        ({"start": np.zeros(5)}, "the same length"),
        ({"columns": np.zeros((4, 5))}, "index out of range"),
    ],
)
def test_native_refusals(changes, message):
    with pytest.raises(ValueError, match=message):
        call(**changes)


@pytest.mark.parametrize("level", _native.simd_levels())
@every_kernel
def test_levels_agree(kernel, level):
    spec = kernel.native()[:3]
    columns = np.random.default_rng(1).normal(size=(13, 6))
    best = call(spec=spec, columns=columns, batches=np.array([5, 1, 6]))
    other = call(spec=spec, columns=columns, batches=np.array([5, 1, 6]), level=level)
    assert_array_equal(best[0], other[0])
    assert_allclose(best[1], other[1], rtol=1e-9)
