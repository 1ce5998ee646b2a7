"""The schemes one by one: what each of them promises."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from registry import training_set
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer import _native
from mercer.calibration import Calibrated, fit_sigmoid
from mercer.calibration.folds import HeldOut, deal
from mercer.data import RowBlocks
from mercer.errors import InfeasibleError
from mercer.gram import MatrixGram
from mercer.kernels import RBF, Linear
from mercer.kernels.samples import native_rows, native_samples
from mercer.multiclass import DAG, ErrorCorrectingCode, OneClassPerClass, OneVersusOne, OneVersusRest, Plan
from mercer.multiclass.codes import smallest_distance, tells_apart
from mercer.multiclass.evaluate import walk
from mercer.multiclass.pairs import pair_number
from mercer.problems import soft_margin
from mercer.solvers import SMO, LinearSolver
from mercer.svm import SVC, LinearSVC, NuSVC, OneClassSVM

CLOSE = {"rtol": 1e-6, "atol": 1e-7}


def never(X, Y):
    raise AssertionError("a kernel value was computed")


def classes(n_classes, n=150, d=3, seed=0):
    return training_set(SVC(), n=n, d=d, n_classes=n_classes, seed=seed)


# --- one versus rest --------------------------------------------------------------------------------------


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_each_class_against_the_rest(balanced, weighted):
    X, y = classes(4)
    weight = np.random.default_rng(1).integers(1, 4, len(y)) if weighted else None
    kernel = RBF(gamma=0.4)
    machine = SVC(kernel, multi_class=OneVersusRest(balanced)).fit(X, y, sample_weight=weight)
    scores = machine.decision_function(X)
    for k in range(4):
        alone = SVC(kernel, class_weight="balanced" if balanced else None).fit(X, y == k, sample_weight=weight)
        assert_allclose(scores[:, k], alone.decision_function(X), **CLOSE)
        assert_allclose(machine.margin_[k], alone.margin_, **CLOSE)


def test_class_weights_come_on_top_of_balance():
    X, y = classes(4)
    kernel, prices = RBF(gamma=0.4), {0: 5.0, 2: 0.1}
    machine = SVC(kernel, multi_class=OneVersusRest(balanced=True), class_weight=prices).fit(X, y)
    for k in range(4):
        counts = np.bincount(y)
        weight = np.where(y == k, len(y) / (2 * counts[k]), len(y) / (2 * (len(y) - counts[k])))
        weight = weight * np.array([prices.get(c, 1.0) for c in y])
        alone = SVC(kernel).fit(X, y == k, sample_weight=weight)
        assert_allclose(machine.decision_function(X)[:, k], alone.decision_function(X), **CLOSE)


def test_targets_of_lee():
    """+1 for the class, -1 / (K - 1) for the rest; they add up to zero over the machines."""
    X, y = classes(4)
    scheme = OneVersusRest(targets="lee")
    plan = scheme.plan(4)
    tasks = plan.tasks(y, np.ones(len(y)))
    assert_allclose(sum(task.sign * task.target for task in tasks), 0.0, atol=1e-15)
    kernel = RBF(gamma=0.4)
    machine = SVC(kernel, multi_class=scheme).fit(X, y)
    K = kernel(X)
    for k in range(4):
        sign = np.where(y == k, 1.0, -1.0)
        problem = soft_margin(MatrixGram(K), sign, np.ones(len(y)), target=np.where(y == k, 1.0, 1 / 3))
        result = SMO(tol=1e-6).solve(problem)
        assert_allclose(machine.decision_function(X)[:, k], K @ (sign * result.a) + result.offsets.plus, **CLOSE)
        errors = np.maximum(0.0, -problem.linear - sign * machine.decision_function(X)[:, k])
        assert_allclose(machine.slack_.toarray()[k], errors, **CLOSE)
        primal = 0.5 * machine.norm_[k] ** 2 + errors.sum()
        assert machine.result_.parts[k].primal_objective == pytest.approx(primal, rel=1e-6)


def test_targets_of_lee_are_not_for_nu():
    X, y = classes(3)
    message = r"multi_class must have machines with targets \+1 and -1 for NuSVC, .* got OneVersusRest\(targets='lee'\)"
    with pytest.raises(ValueError, match=message):
        NuSVC(never, multi_class=OneVersusRest(targets="lee")).fit(X, y)


def test_nu_that_a_small_class_has_no_room_for():
    X, y = classes(3)
    y[0] = 3
    with pytest.raises(InfeasibleError, match="nu must be at most"):
        NuSVC(nu=0.5, multi_class="ovr").fit(X, y)


def test_small_problems_share_dear_kernel_values():
    """Where there is room for them; the solution is the same to the last bit."""
    X, y = classes(4, n=200, d=90)
    machine = SVC(RBF(gamma=0.01), multi_class="ovr")
    shared = clone(machine).set_params(memory=10).fit(X, y)
    alone = clone(machine).set_params(memory=0.1).fit(X, y)
    assert_array_equal(shared.dual_coef_.toarray(), alone.dual_coef_.toarray())
    assert_array_equal(shared.intercept_, alone.intercept_)
    assert shared.result_.kernel_evaluations == 200 * 201 // 2 < alone.result_.kernel_evaluations


# --- calibrated outputs -----------------------------------------------------------------------------------


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


# --- the graph of pairs -----------------------------------------------------------------------------------


def test_pair_number():
    for K in (2, 3, 7):
        numbers = [pair_number(i, j, K) for i, j in combinations(range(K), 2)]
        assert numbers == list(range(K * (K - 1) // 2))


KERNELS = {
    "few support vectors in common": RBF(gamma=5.0),
    "most in common": RBF(gamma=1e-3),
    "python": lambda A, B: RBF(gamma=0.5)(A, B),
    "composite": RBF(gamma=0.5) + 0.1 * Linear(),
}


def samples_and_model(machine, X):
    X, Y = machine._compared(machine._check_new(X))
    return machine.kernel_, X, Y, machine.dual_coef_, machine.intercept_, len(machine.classes_)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
@pytest.mark.parametrize("storage", [np.asarray, csr_array])
@pytest.mark.parametrize("n", [1, 5, 300])
def test_machines_asked_on_the_way(kernel, storage, n):
    """K - 1 for every sample; when a class goes out is the same as if all had been asked."""
    X, y = classes(7, n=280)
    if callable(kernel) and storage is csr_array and not hasattr(kernel, "get_params"):
        pytest.skip("this kernel takes arrays")
    machine = SVC(kernel, C=1.0, multi_class="dag").fit(storage(X), y)
    new = storage(classes(7, n=n, seed=1)[0])
    walked = walk(*samples_and_model(machine, new))
    assert walked.evaluations == 6 * n
    assert_array_equal(walked.scores, machine.decision_function(new))
    vote = SVC(kernel, C=1.0).fit(storage(X), y)
    assert_array_equal(walked.scores, DAG().scores(vote._raw_decision(new), DAG().plan(7)))
    assert_array_equal(np.sort(walked.scores, axis=1), np.tile(np.arange(7.0), (n, 1)))


@pytest.mark.parametrize("machine_by_machine", [True, False])
@pytest.mark.parametrize("n", [1, 9, 200])
@pytest.mark.parametrize("storage", [np.asarray, csr_array])
def test_machines_off_the_way_are_not_looked_at(machine_by_machine, n, storage):
    """What they would say may be anything: they say nothing."""
    X, y = classes(6)
    X, new = storage(X), storage(classes(6, n=n, seed=1)[0])
    machine = SVC(RBF(gamma=0.5)).fit(X, y)
    arguments = machine.kernel_.native().arguments()
    x, support = (
        native_samples(csr_array(new) if storage is csr_array else new),
        native_samples(machine.support_vectors_),
    )

    def lead(rows):
        return _native.kernel_walk(*arguments, x, support, rows, machine.intercept_, 6, machine_by_machine, 2, "")

    data, columns, starts = native_rows(machine.dual_coef_)
    scores, evaluations = lead((data, columns, starts))
    assert evaluations == 5 * n
    met = np.zeros(15, dtype=bool)
    for order in scores:
        left = list(range(6))
        for step in range(5):
            met[pair_number(left[0], left[-1], 6)] = True
            left.remove(int(np.flatnonzero(order == step)[0]))
    assert not met.all() or n > 1
    poisoned = np.where(np.repeat(met, np.diff(starts)), data, np.nan)
    assert_array_equal(lead((poisoned, columns, starts))[0], scores)


@pytest.mark.parametrize("storage", [np.asarray, csr_array])
@pytest.mark.parametrize("n", [1, 5, 300])
def test_votes_without_a_table(storage, n):
    """To the last bit what they are with all decision values side by side."""
    X, y = classes(6, n=280)
    machine = SVC(RBF(gamma=0.5)).fit(storage(X), y)
    new = storage(classes(6, n=n, seed=1)[0])
    assert_array_equal(machine.decision_function(new), machine._plan.scores(machine._raw_decision(new)))


def test_the_graph_agrees_with_a_unanimous_vote():
    X, y = classes(8, n=400)
    vote = SVC(C=10.0).fit(X, y)
    graph = SVC(C=10.0, multi_class="dag").fit(X, y)
    new, _ = classes(8, n=500, seed=1)
    scores = vote.decision_function(new)
    unanimous = scores.max(axis=1) > 7 - 0.5
    assert 100 < unanimous.sum() < 500
    assert_array_equal(graph.predict(new)[unanimous], vote.predict(new)[unanimous])


# --- error-correcting codes -------------------------------------------------------------------------------


def check_code(words):
    """Both signs in every column, none the same as another or its opposite, every two classes told apart."""
    assert np.isin(words, (-1, 0, 1)).all()
    assert ((words > 0).any(axis=0) & (words < 0).any(axis=0)).all()
    both = np.concatenate([words.T, -words.T])
    assert len(np.unique(both, axis=0)) == len(both)
    assert tells_apart(words).all()


def test_check_code_can_fail():
    good = np.array([[-1, -1, 0], [1, 0, -1], [0, 1, 1]])
    check_code(good)
    for bad in (good[:, [0, 1, 1]], good * [1, 1, 0], good[:, :2], np.column_stack([good, -good[:, 0]])):
        with pytest.raises(AssertionError):
            check_code(bad)


@pytest.mark.parametrize("n_classes", [3, 4, 7, 10])
def test_exhaustive_code(n_classes):
    words = ErrorCorrectingCode("exhaustive").plan(n_classes).per_class.toarray()
    assert words.shape == (n_classes, 2 ** (n_classes - 1) - 1)
    check_code(words)
    assert smallest_distance(words) == 2 ** (n_classes - 2)


@pytest.mark.parametrize("n_classes", [3, 4, 5, 6, 10, 26, 200])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_random_code(n_classes, kind):
    scheme = ErrorCorrectingCode(kind, random_state=1)
    words = scheme.plan(n_classes).per_class.toarray()
    check_code(words)
    per_bit, available = {
        "dense": (10, 2 ** (n_classes - 1) - 1),
        "sparse": (15, (3**n_classes - 2 ** (n_classes + 1) + 1) // 2),
    }[kind]
    assert words.shape[1] == min(available, int(np.ceil(per_bit * np.log2(n_classes))))
    assert_array_equal(clone(scheme).plan(n_classes).per_class.toarray(), words)
    if kind == "dense":
        assert (words != 0).all()
    elif n_classes > 6:
        assert 0.4 < np.mean(words == 0) < 0.6
    if n_classes > 6:
        other = ErrorCorrectingCode(kind, random_state=2).plan(n_classes).per_class.toarray()
        assert (other != words).any()


def test_the_best_of_many_codes_is_taken():
    best = smallest_distance(ErrorCorrectingCode("dense").plan(12).per_class.toarray())
    rng = np.random.default_rng(0)
    usual = [smallest_distance(rng.choice([-1.0, 1.0], (12, 36))) for _ in range(50)]
    assert best >= max(usual)


@pytest.mark.parametrize("kind", ["exhaustive", "dense"])
def test_wrong_machines_are_corrected(kind):
    """Up to floor((d - 1) / 2) of them may say the opposite of what they should."""
    scheme = ErrorCorrectingCode(kind, "hamming")
    plan = scheme.plan(8)
    words = plan.per_class.toarray()
    d = smallest_distance(words)
    harmless = int((d - 1) // 2)
    assert harmless >= 3
    rng = np.random.default_rng(0)
    for k, word in enumerate(words):
        for _ in range(20):
            said = 3.0 * word
            said[rng.choice(len(word), harmless, replace=False)] *= -1
            assert plan.scores(said[np.newaxis]).argmax() == k
    # More are too many: halfway to the nearest word and beyond.
    i, j = next((i, j) for i in range(8) for j in range(8) if i != j and np.sum(words[i] != words[j]) == d)
    apart = np.flatnonzero(words[i] != words[j])[: harmless + 2]
    said = words[i].copy()
    said[apart] *= -1
    assert plan.scores(said[np.newaxis]).argmax() != i


def test_wrong_machines_of_a_fitted_classifier():
    """A machine that has learnt nonsense changes no prediction that has a letter to spare."""
    X, y = classes(5)
    machine = SVC(C=10.0, multi_class=ErrorCorrectingCode("exhaustive", "hamming")).fit(X, y)
    scores = np.sort(machine.decision_function(X), axis=1)
    spare = scores[:, -1] - scores[:, -2] > 2
    assert spare.sum() > 20
    before = machine.predict(X)[spare]
    machine.dual_coef_.data[machine.dual_coef_.indptr[3] : machine.dual_coef_.indptr[4]] *= -1
    machine.intercept_[3] *= -1
    assert_array_equal(machine.predict(X)[spare], before)


def test_loss_of_the_machine_decodes():
    X, y = classes(4)
    scheme = ErrorCorrectingCode("exhaustive")
    for machine, power in ((SVC(), 1), (SVC(loss="squared_hinge"), 2), (NuSVC(nu=0.2), 1)):
        machine.set_params(multi_class=scheme).fit(X, y)
        values, words = machine._raw_decision(X), machine._plan.per_class.toarray()
        losses = np.maximum(0.0, 1.0 - values[:, np.newaxis] * words) ** power
        assert_allclose(machine.decision_function(X), -losses.sum(axis=2), rtol=1e-10, atol=1e-12)


def test_a_code_of_ones_own():
    X, y = classes(4)
    words = np.array([[1, 1, 0], [1, -1, 0], [-1, 0, 1], [-1, 0, -1]])
    machine = SVC(multi_class=ErrorCorrectingCode(words, "hamming")).fit(X, y)
    assert_array_equal(machine._plan.per_class.toarray(), words)
    assert machine.dual_coef_.shape[0] == 3
    assert set(np.unique(machine.decision_function(X) % 0.5)) == {0.0}
    only = SVC(kernel=machine.kernel_).fit(X[y < 2], y[y < 2] == 0)
    assert_allclose(machine._raw_decision(X)[:, 1], only.decision_function(X), **CLOSE)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (np.eye(3) * 2 - 1, "code has 3 rows, there are 4 classes; give one row per class."),
        (
            [[1, 1], [1, -1], [-1, 1], [-1, 1]],
            "code must have 1 and -1 for every two classes in some column, it never does",
        ),
        ([[1, 1], [1, 0], [-1, 1], [-1, 1]], "code must have 1 and -1 in every column, column 1 is \\[1, 0, 1, 1\\]"),
        ([[1, -1], [1, -1], [-1, 1], [-1, 1]], "code must not repeat columns, up to their sign: columns 0 and 1"),
    ],
)
def test_codes_that_cannot_be(code, message):
    X, y = classes(4)
    with pytest.raises(ValueError, match=message):
        SVC(never, multi_class=ErrorCorrectingCode(code)).fit(X, y)


@pytest.mark.parametrize(
    ("scheme", "message"),
    [
        (
            ErrorCorrectingCode("exhaustive"),
            "code='exhaustive' is for at most 10 classes .511 machines., got 11 classes",
        ),
        (
            ErrorCorrectingCode("dense", length=5000),
            "length must be at most 1023, the number of different dense columns",
        ),
        (ErrorCorrectingCode("dense", length=2), "No code of length 2 that tells 11 classes apart was found"),
        (ErrorCorrectingCode("exhaustive", length=5), "length is for random codes"),
        (ErrorCorrectingCode(np.eye(11), length=5), "length is for random codes"),
    ],
)
def test_codes_for_too_many_classes(scheme, message):
    X, y = classes(11)
    with pytest.raises(ValueError, match=message):
        SVC(never, multi_class=scheme).fit(X, y)


# --- one class at a time ----------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_one_class_at_a_time(weighted):
    """Its machines are those for novelty, divided by their offset."""
    X, y = classes(4)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y)) if weighted else np.ones(len(y))
    kernel = RBF(gamma=0.3)
    machine = SVC(kernel, multi_class=OneClassPerClass(nu=0.2)).fit(X, y, sample_weight=weight)
    scores = machine.decision_function(X)
    for k in range(4):
        alone = OneClassSVM(kernel, nu=0.2).fit(X[y == k], sample_weight=weight[y == k])
        assert_allclose(scores[:, k], alone.decision_function(X) / alone.offset_, rtol=1e-6, atol=1e-6)
        assert machine.margin_[k] == pytest.approx(alone.margin_, rel=1e-6)
        assert machine.margin_errors_[k] == pytest.approx(alone.margin_errors_)
        assert machine.margin_errors_[k] <= 0.2 + 1e-9
    assert_allclose(machine.intercept_, -1.0)
    assert (machine.decision_function([[50.0, 50.0, 50.0]]) == -1.0).all()


def test_large_classes_do_not_outweigh_small_ones():
    """A class is not surer of itself for having each of its samples ten times."""
    X, y = classes(3, n=60)
    times = np.repeat(np.arange(60), np.where(y == 0, 10, 1))
    machine = SVC(RBF(gamma=0.3), multi_class=OneClassPerClass(nu=0.2))
    assert_allclose(
        clone(machine).fit(X[times], y[times]).decision_function(X), machine.fit(X, y).decision_function(X), **CLOSE
    )


# --- sparse coefficients ----------------------------------------------------------------------------------


@pytest.mark.parametrize("level", _native.simd_levels())
@pytest.mark.parametrize("storage", [np.asarray, csr_array])
@pytest.mark.parametrize(("n", "m"), [(0, 5), (1, 0), (1, 1), (7, 40), (8, 40), (70, 1300), (300, 30)])
def test_products_with_sparse_rows(level, storage, n, m):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(n, 4)), rng.normal(size=(m, 4))
    rows = csr_array(rng.normal(size=(9, m)) * (rng.random((9, m)) < 0.3))
    arguments = RBF(gamma=0.3).native().arguments()
    product = _native.kernel_dot_rows(
        *arguments, native_samples(storage(X)), native_samples(storage(Y)), native_rows(rows), 2, level
    )
    assert product.shape == (9, n)
    if n and m:
        assert_allclose(product, rows @ RBF(gamma=0.3)(X, Y).T, rtol=1e-12, atol=1e-13)
    else:
        assert not product.any()


def test_products_with_sparse_rows_for_any_number_of_threads():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(333, 4)), rng.normal(size=(1500, 4))
    rows = native_rows(csr_array(rng.normal(size=(40, 1500)) * (rng.random((40, 1500)) < 0.2)))
    arguments = RBF(gamma=0.3).native().arguments()
    one = _native.kernel_dot_rows(*arguments, X, Y, rows, 1, "")
    for n_threads in (2, 3, 8):
        assert_array_equal(_native.kernel_dot_rows(*arguments, X, Y, rows, n_threads, ""), one)
    assert_array_equal(_native.kernel_dot_rows(*arguments, X[:5].copy(), Y, rows, 2, ""), one[:, :5])


def test_rows_are_checked_on_the_border():
    X = np.zeros((3, 2))
    arguments = RBF(gamma=0.3).native().arguments()
    data, columns, starts = np.ones(2), np.array([0, 1], dtype=np.int32), np.array([0, 2])
    bad = [
        (data, columns, np.array([0, 3])),
        (data, columns, np.array([1, 2])),
        (data, columns, np.array([0, 2, 1, 2])),
        (data, columns, np.empty(0, dtype=np.int64)),
        (data, np.array([0, 3], dtype=np.int32), starts),
        (data, np.array([-1, 1], dtype=np.int32), starts),
        (data, np.array([1, 0], dtype=np.int32), starts),
        (data, columns[:1], starts),
    ]
    for rows in bad:
        with pytest.raises(ValueError, match="indptr"):
            _native.kernel_dot_rows(*arguments, X, X, rows, 1, "")
    for rows in ((data, columns), (data.astype(np.float32), columns, starts), (data, columns.astype(np.int64), starts)):
        with pytest.raises(TypeError):
            _native.kernel_dot_rows(*arguments, X, X, rows, 1, "")
    good = (data, columns, starts)
    for offsets, n_classes in ((np.zeros(1), 3), (np.zeros(2), 2), (np.zeros(1), 1)):
        with pytest.raises(ValueError, match="every pair of classes"):
            _native.kernel_walk(*arguments, X, X, good, offsets, n_classes, True, 1, "")
        with pytest.raises(ValueError, match="every pair of classes"):
            _native.kernel_vote(*arguments, X, X, good, offsets, n_classes, 1, "")
        with pytest.raises(ValueError, match="every pair of classes"):
            _native.walk(X, good, offsets, n_classes, 1, "")


def test_scores_of_half_a_million_pairs():
    scheme, rng = OneVersusOne(), np.random.default_rng(0)
    plan = scheme.plan(1000)
    assert plan.code.nnz == 2 * plan.n_machines == 1000 * 999
    scores = plan.scores(rng.normal(size=(2, plan.n_machines)))
    assert scores.shape == (2, 1000)
    assert_allclose(np.round(scores).sum(axis=1), plan.n_machines)


# --- linear machines --------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["ovo", "ovr", "dag", "ecoc", OneVersusRest(balanced=True, targets="lee")])
def test_linear_machines_with_a_scheme(scheme):
    X, y = classes(4)
    linear = LinearSVC(loss="hinge", C=2.0, multi_class=scheme, tol=1e-6).fit(X, y)
    kernel = SVC("linear", C=2.0, multi_class=scheme, tol=1e-6).fit(X, y)
    assert_allclose(linear.decision_function(X), kernel.decision_function(X), rtol=1e-3, atol=1e-3)
