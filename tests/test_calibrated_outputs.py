"""One versus the rest with calibrated outputs: log-odds by sigmoids that are learnt from folds."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer.calibration import Calibrated, fit_sigmoid
from mercer.calibration.folds import HeldOut, deal
from mercer.data import RowBlocks
from mercer.kernels import RBF
from mercer.multiclass import OneVersusRest, Plan
from mercer.solvers import LinearSolver
from mercer.svm import SVC, LinearSVC, NuSVC


def never(X, Y):
    raise AssertionError("a kernel value was computed")


FOR_CALIBRATION = {
    "SVC": SVC(RBF(gamma=0.4), tol=1e-6),
    "NuSVC": NuSVC(RBF(gamma=0.4), nu=0.2, tol=1e-6),
    "LinearSVC": LinearSVC(tol=1e-6),
    "LinearSVC penalised": LinearSVC(tol=1e-6, intercept="penalised", intercept_scaling=2.0),
    "LinearSVC l1": LinearSVC(tol=1e-6, loss="squared_hinge", penalty="l1"),
}
every_machine = pytest.mark.parametrize("machine", FOR_CALIBRATION.values(), ids=FOR_CALIBRATION.keys())
NEAR = {"rtol": 1e-4, "atol": 1e-5}


def corners(n_classes, n=150):
    """Classes that overlap, each of them around a corner of its own: no machine has all samples on one side."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(n) % n_classes)
    return rng.normal(size=(n, n_classes)) + 1.5 * np.eye(n_classes)[y], y


def log_odds(machine, X, y, weight, balanced):
    """Machine by machine and fold by fold, in obvious Python."""
    folds, scores = deal(y, 5, np.random.RandomState(0)), []
    prices = weight * np.array([(machine.class_weight or {}).get(c, 1.0) for c in y])
    alone = clone(machine).set_params(class_weight=None, multi_class="ovr")

    def costs(some, k):
        if not balanced:
            return np.ones(len(some))
        total, own = weight[some].sum(), weight[some][y[some] == k].sum()
        return np.where(y[some] == k, total / (2 * own), total / (2 * (total - own)))

    everyone = np.arange(len(y))
    for k in range(y.max() + 1):
        held_out = np.empty(len(y))
        for fold in range(5):
            train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            trained = clone(alone).fit(X[train], y[train] == k, sample_weight=prices[train] * costs(train, k))
            held_out[test] = trained.decision_function(X[test])
        slope, offset = fit_sigmoid(held_out, y == k, prices * costs(everyone, k))
        whole = clone(alone).fit(X, y == k, sample_weight=prices * costs(everyone, k))
        scores.append(slope * whole.decision_function(X) + offset)
    return np.column_stack(scores)


@every_machine
@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("class_weight", [None, {0: 2.0, 2: 0.7}])
def test_calibrated_outputs(machine, balanced, class_weight):
    """Log-odds by sigmoids that are learnt from folds; costs, weights and class weights count in them."""
    X, y = corners(4)
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    scheme = OneVersusRest(balanced, calibrated=True)
    machine = clone(machine).set_params(multi_class=scheme, class_weight=class_weight)
    machine.fit(X, y, sample_weight=weight)
    assert_allclose(machine.decision_function(X), log_odds(machine, X, y, weight, balanced), **NEAR)
    assert_array_equal(machine.predict(X), machine.decision_function(X).argmax(axis=1))
    plain = clone(machine).set_params(multi_class__calibrated=False).fit(X, y, sample_weight=weight)
    assert_array_equal(machine._raw_decision(X), plain.decision_function(X))


def test_the_scale_of_an_output_does_not_matter():
    """Nor does where its zero is: that is what calibration is for."""
    rng = np.random.default_rng(0)
    codes = np.arange(90) % 3
    values = 3.0 * np.eye(3)[codes] + rng.normal(size=(90, 3))
    plan, ones = OneVersusRest(calibrated=True).plan(3), np.ones(90)
    other = values * [0.01, 1.0, 500.0] + [3.0, 0.0, -70.0]
    scores = plan.learn_maps(HeldOut(values, codes, ones), ones).scores(values)
    assert_allclose(plan.learn_maps(HeldOut(other, codes, ones), ones).scores(other), scores, rtol=1e-9)
    assert np.mean(scores.argmax(axis=1) == codes) > np.mean(other.argmax(axis=1) == codes) + 0.2


@every_machine
def test_calibrated_outputs_of_two_classes_are_the_machine(machine):
    X, y = corners(2)
    calibrated = clone(machine).set_params(multi_class=OneVersusRest(calibrated=True)).fit(X, y)
    plain = clone(machine).fit(X, y)
    assert calibrated._plan.maps == ()
    assert_array_equal(calibrated.decision_function(X), plain.decision_function(X))


@every_machine
def test_weight_two_is_the_sample_twice_in_calibrated_outputs(machine, monkeypatch):
    """As long as both are in the same fold."""
    X, y = corners(3, n=90)
    weight = np.random.default_rng(3).integers(0, 4, size=len(X))
    times = np.random.default_rng(4).permutation(np.repeat(np.arange(len(X)), weight))
    folds = deal(y, 5, np.random.RandomState(1))

    def fitted(folds, used, *data):
        splits = [(np.flatnonzero((folds != k) & used), np.flatnonzero((folds == k) & used)) for k in range(5)]
        monkeypatch.setattr(Plan, "splits", lambda *_: splits)
        return clone(machine).set_params(multi_class=OneVersusRest(calibrated=True)).fit(*data).decision_function(X)

    first = fitted(folds, weight > 0, X, y, weight)
    second = fitted(folds[times], np.full(len(times), True), X[times], y[times])
    assert_allclose(first, second, **NEAR)


@every_machine
def test_calibrated_outputs_see_no_sample_of_weight_zero(machine):
    X, y = corners(3)
    weight = np.where(np.random.default_rng(3).random(len(y)) < 0.3, 0.0, 1.0)
    used = weight > 0
    machine = clone(machine).set_params(multi_class=OneVersusRest(calibrated=True))
    first = clone(machine).fit(X, y, sample_weight=weight).decision_function(X)
    assert_allclose(first, clone(machine).fit(X[used], y[used]).decision_function(X), **NEAR)


@pytest.mark.parametrize("machine", [SVC(never), NuSVC(never), LinearSVC()])
def test_calibrated_outputs_need_two_samples_of_a_class(machine):
    X, y = corners(3)
    names = np.array(["ant", "bee", "cat", "dog"])[y]
    names[:2] = "dog"
    machine = clone(machine).set_params(multi_class=OneVersusRest(calibrated=True))
    message = "calibrated must be False where a class has a single sample, as 'dog' has, got True"
    with pytest.raises(ValueError, match=message):
        machine.fit(X, names, sample_weight=np.arange(len(y)))
    if isinstance(machine, LinearSVC):
        assert "dog" in machine.fit(X, names).classes_


@pytest.mark.parametrize("machine", [SVC(C=np.inf), LinearSVC(C=np.inf)])
def test_calibrated_outputs_of_hard_margins(machine):
    X, y = np.repeat(10.0 * np.eye(3), 10, axis=0), np.repeat(np.arange(3), 10)
    X = X + np.random.default_rng(0).normal(size=X.shape)
    machine = clone(machine).set_params(multi_class=OneVersusRest(calibrated=True)).fit(X, y)
    assert np.isfinite(machine.decision_function(X)).all()
    assert machine.score(X, y) == 1.0


@pytest.mark.parametrize("storage", ["blocks", "csr", "float32"])
def test_calibrated_outputs_of_any_storage(storage):
    X, y = corners(3)
    stored = {"blocks": RowBlocks([X[:40], X[40:]]), "csr": csr_array(X), "float32": X.astype(np.float32)}[storage]
    machine = LinearSVC(tol=1e-6, multi_class=OneVersusRest(calibrated=True))
    wanted = clone(machine).fit(X, y).decision_function(X)
    assert_allclose(machine.fit(stored, y).decision_function(stored), wanted, **NEAR)


@pytest.mark.parametrize("solver", ["newton", "descent"])
def test_calibrated_outputs_when_warm(solver):
    """Folds start afresh, and the sigmoids are those of a cold start."""
    X, y = corners(4)
    cold = LinearSVC(tol=1e-6, solver=solver, multi_class=OneVersusRest(calibrated=True))
    warm = clone(cold).set_params(warm_start=True).fit(X, y).fit(X, y)
    assert warm._plan.maps == cold.fit(X, y)._plan.maps
    path = clone(cold).fit_path(X, y, C=[0.1, 1.0])
    assert_allclose(path[1].decision_function(X), cold.decision_function(X), **NEAR)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration_of_calibrated_outputs(method):
    """A monotone map of log-odds is one of decision values: probabilities do not change."""
    X, y = corners(3)
    machine = SVC(RBF(gamma=0.4), multi_class=OneVersusRest(calibrated=True))
    plain = clone(machine).set_params(multi_class__calibrated=False)
    first, second = (Calibrated(one, method=method, cv=4).fit(X, y) for one in (machine, plain))
    assert_allclose(first.predict_proba(X), second.predict_proba(X), rtol=1e-7)
    assert_array_equal(first.estimator_.decision_function(X), clone(machine).fit(X, y).decision_function(X))
    linear = LinearSVC(multi_class=OneVersusRest(calibrated=True))  # folds within folds
    third = Calibrated(linear, method=method).fit(X, y)
    assert_array_equal(third.predict(X), third.predict_proba(X).argmax(axis=1))
    assert third.score(X, y) > linear.fit(X, y).score(X, y) - 0.1


class StallsOnFolds(LinearSolver):
    def solve_many(self, problems, starts=None, callback=None):
        results = super().solve_many(problems, starts, callback)
        return [result if len(result.a) == 150 else replace(result, status="stalled") for result in results]


def test_folds_of_a_scheme_that_are_not_solved_are_told():
    X, y = corners(3, n=150)
    machine = LinearSVC(multi_class=OneVersusRest(calibrated=True), solver=StallsOnFolds())
    message = r"A fold of LinearSVC did not reach a proved optimum \(status stalled\)"
    with pytest.warns(ConvergenceWarning, match=message):
        machine.fit(X, y)
    with pytest.warns(ConvergenceWarning, match="^LinearSVC did not reach") as told:
        clone(machine).set_params(solver="newton", max_iter=1, tol=1e-9).fit(X, y)
    assert len(told) == 1
