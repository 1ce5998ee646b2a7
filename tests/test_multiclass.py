"""The schemes one by one: what each of them promises."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from registry import training_set
from scipy.sparse import csr_array
from sklearn.base import clone

from mercer import _native
from mercer.errors import InfeasibleError
from mercer.gram import MatrixGram
from mercer.kernels import RBF, Linear
from mercer.kernels.samples import native_rows, native_samples
from mercer.multiclass import DAG, ErrorCorrectingCode, OneClassPerClass, OneVersusOne, OneVersusRest
from mercer.multiclass.codes import smallest_distance, tells_apart
from mercer.multiclass.evaluate import walk
from mercer.multiclass.pairs import pair_number
from mercer.problems import soft_margin
from mercer.solvers import SMO
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
