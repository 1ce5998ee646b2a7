"""What every scheme for several classes obeys, in every machine that uses it."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from registry import SCHEMES, exact, training_set
from scipy.sparse import csr_array, issparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer import multiclass
from mercer.kernels import RBF
from mercer.multiclass import (
    DAG,
    ErrorCorrectingCode,
    JointScheme,
    OneClassPerClass,
    OneVersusOne,
    OwnMachines,
    Scheme,
    as_scheme,
)
from mercer.solvers import BlockDescent, JointResult
from mercer.svm import SVC, NuSVC, margins

every_scheme = pytest.mark.parametrize("make", SCHEMES.values(), ids=SCHEMES.keys())
for_two = {name: make for name, make in SCHEMES.items() if not isinstance(make(), (JointScheme, OwnMachines))}
JOINT = {name: make for name, make in SCHEMES.items() if isinstance(make(), JointScheme)}
MACHINES = {
    f"{machine.__name__} {name}": lambda machine=machine, scheme=scheme: machine(
        multi_class=scheme(), **exact(scheme())
    )
    for name, scheme in SCHEMES.items()
    for machine in (SVC, NuSVC)
    if machine is SVC or (scheme().unit_targets and name not in JOINT)
}
every_machine = pytest.mark.parametrize("make", MACHINES.values(), ids=MACHINES.keys())
CLOSE = {"rtol": 1e-6, "atol": 1e-7}


def small_nu(machine):
    """A nu that every task has room for."""
    return machine.set_params(nu=0.1) if isinstance(machine, NuSVC) else machine


def fitted(make, n_classes=4, n=80, **fit):
    machine = small_nu(make()).set_params(kernel=RBF(gamma=0.4))
    X, y = training_set(machine, n=n, n_classes=n_classes)
    return machine.fit(X, y, **fit), X, y


def decision_values(machine, X):
    """Of every machine, by the definition of the model."""
    coefficients = machine.dual_coef_.toarray() if issparse(machine.dual_coef_) else machine.dual_coef_
    return machine.kernel_(X, machine.support_vectors_) @ coefficients.T + machine.intercept_


def test_registry_is_complete():
    public = {getattr(multiclass, name) for name in multiclass.__all__}
    public = {item for item in public if isinstance(item, type) and issubclass(item, Scheme)}
    assert {type(make()) for make in SCHEMES.values()} == public - {Scheme, JointScheme, OwnMachines}
    assert all(name.split()[0] == type(make()).__name__ for name, make in SCHEMES.items())


# --- scores ---------------------------------------------------------------------------------------------


def votes(values, K):
    score = np.zeros(K)
    sums = np.zeros(K)
    pairs = iter(values)
    for i in range(K):
        for j in range(i + 1, K):
            value = next(pairs)
            score[j if value > 0 else i] += 1
            sums[j] += value
            sums[i] -= value
    return score + sums / (3 * (np.abs(sums) + 1))


def elimination(values, K):
    left, score = list(range(K)), np.zeros(K)
    table = dict(zip([(i, j) for i in range(K) for j in range(i + 1, K)], values, strict=True))
    for step in range(K - 1):
        loser = left[0] if table[left[0], left[-1]] > 0 else left[-1]
        score[loser] = step
        left.remove(loser)
    score[left[0]] = K - 1
    return score


def nearest_word(scheme, machine, values, K):
    score = np.zeros(K)
    for k, word in enumerate(machine._plan.code.toarray().T):
        for letter, value in zip(word, values, strict=True):
            if scheme.decoding == "hamming":
                score[k] -= 0.5 * (1 - letter * (1 if value > 0 else -1))
            else:
                score[k] -= max(0.0, 1 - letter * value)
    return score


@every_machine
@pytest.mark.parametrize("n_classes", [3, 5])
def test_scores(make, n_classes):
    """One score per class, as obvious Python gets it from the decision values; the largest wins."""
    machine, _, _ = fitted(make, n_classes)
    new, _ = training_set(SVC(), n=150, seed=1)
    names = np.array(["ant", "bee", "cat", "dog", "elk"][:n_classes])
    scheme, found = machine.multi_class, machine.decision_function(new)
    assert found.shape == (150, n_classes)
    assert_array_equal(machine.predict(new), found.argmax(axis=1))
    for values, scores in zip(decision_values(machine, new), found, strict=True):
        if isinstance(scheme, OneVersusOne):
            wanted = votes(values, n_classes)
        elif isinstance(scheme, DAG):
            wanted = elimination(values, n_classes)
        elif isinstance(scheme, ErrorCorrectingCode):
            wanted = nearest_word(scheme, machine, values, n_classes)
        elif scheme.calibrated:
            wanted = [own.slope * value + own.offset for own, value in zip(machine._plan.maps, values, strict=True)]
        else:
            wanted = values
        assert_allclose(scores, wanted, rtol=1e-9, atol=1e-9)
    X, y = training_set(machine, n=80, n_classes=n_classes)
    named = clone(machine).fit(X, names[y])
    assert_array_equal(named.classes_, names)
    assert_array_equal(named.predict(new), names[machine.predict(new)])
    assert_array_equal(named.decision_function(new), found)


def test_equal_scores_go_to_the_first_class():
    machine, X, _ = fitted(lambda: SVC(multi_class="ovr"), 3)
    machine.dual_coef_, machine.intercept_ = machine.dual_coef_ * 0.0, np.array([-1.0, 2.0, 2.0])
    assert_array_equal(machine.predict(X), np.ones(len(X)))


@every_machine
def test_shapes(make):
    machine, X, _ = fitted(make, 5)
    n_machines = machine._plan.n_machines
    assert issparse(machine.dual_coef_)
    assert machine.dual_coef_.shape == (n_machines, len(machine.support_))
    assert machine.slack_.shape == (n_machines, len(X))
    for name in ("intercept_", "norm_", "margin_", "margin_errors_"):
        assert getattr(machine, name).shape == (n_machines,), name
    assert machine.distance(X).shape == (len(X), n_machines)
    assert_allclose(machine.distance(X) * machine.norm_, decision_values(machine, X), rtol=1e-9, atol=1e-9)
    if isinstance(machine.multi_class, JointScheme):
        assert isinstance(machine.result_, JointResult)
    else:
        assert len(machine.result_.parts) == n_machines


# --- two classes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", for_two.values(), ids=for_two.keys())
@pytest.mark.parametrize("machine", [SVC, NuSVC])
def test_two_classes_are_the_binary_machine(make, machine):
    """To the last bit; balanced costs are those of balanced classes."""
    scheme = make()
    if machine is NuSVC and not scheme.unit_targets:
        scheme.targets = "signs"
    X, y = training_set(machine(), n=90)
    X, y = X[20:], y[20:]
    plain = small_nu(machine(class_weight="balanced" if getattr(scheme, "balanced", False) else None)).fit(X, y)
    other = small_nu(machine(multi_class=scheme)).fit(X, y)
    assert_array_equal(other.dual_coef_, plain.dual_coef_)
    assert_array_equal(other.intercept_, plain.intercept_)
    assert_array_equal(other.decision_function(X), plain.decision_function(X))
    assert_array_equal(other.predict(X), plain.predict(X))
    assert other.decision_function(X).shape == (len(X),)
    assert other.result_.objective == plain.result_.objective


def test_two_classes_of_one_class_machines():
    machine, X, _ = fitted(lambda: SVC(multi_class=OneClassPerClass(nu=0.2)), 2)
    values = decision_values(machine, X)
    assert values.shape == (len(X), 2)
    assert_allclose(machine.decision_function(X), values[:, 1] - values[:, 0], rtol=1e-9, atol=1e-12)
    assert_array_equal(machine.predict(X), values.argmax(axis=1))


# --- weights, order, names --------------------------------------------------------------------------------


@every_machine
def test_weight_two_is_the_sample_twice(make):
    X, y = training_set(SVC(), n=60, n_classes=3)
    weight = np.random.default_rng(3).integers(0, 4, size=len(X))
    times = np.random.default_rng(4).permutation(np.repeat(np.arange(len(X)), weight))
    first = small_nu(make()).fit(X, y, sample_weight=weight)
    second = small_nu(make()).fit(X[times], y[times])
    assert_allclose(decision_values(first, X), decision_values(second, X), **CLOSE)
    assert_allclose(first.margin_, second.margin_, **CLOSE)
    assert_allclose(first.margin_errors_, second.margin_errors_, atol=1e-12)
    assert not np.isin(first.support_, np.flatnonzero(weight == 0)).any()


@every_machine
def test_order_of_samples(make):
    machine, X, y = fitted(make, 3, n=60)
    shuffled = np.random.default_rng(2).permutation(len(X))
    other = clone(machine).fit(X[shuffled], y[shuffled])
    assert_allclose(decision_values(machine, X), decision_values(other, X), **CLOSE)


@every_machine
def test_names_of_classes(make):
    """Which class has which name does not matter, where no class is special: in a graph the first and the last are, in
    a random code all of them."""
    machine, X, y = fitted(make, 4)
    scheme = machine.multi_class
    if isinstance(scheme, ErrorCorrectingCode) and scheme.code != "exhaustive":
        pytest.skip("the words of a random code belong to the classes in their order")
    if scheme.calibrated:
        pytest.skip("folds are dealt out class by class, in their order")
    renamed = np.array([3, 2, 1, 0]) if isinstance(scheme, DAG) else np.array([2, 0, 3, 1])
    other = clone(machine).fit(X, renamed[y])
    new, _ = training_set(SVC(), n=200, seed=1)
    scores = other.decision_function(new)[:, renamed]
    assert_allclose(scores, machine.decision_function(new), rtol=1e-4, atol=1e-5)


# --- the same however it is computed ----------------------------------------------------------------------


@every_machine
def test_any_number_of_threads(make):
    machine, X, y = fitted(make, 4, n=300)
    one = clone(machine).set_params(n_threads=1).fit(X, y)
    for n_threads in (2, 5):
        more = clone(machine).set_params(n_threads=n_threads).fit(X, y)
        assert_array_equal(one.dual_coef_.toarray(), more.dual_coef_.toarray())
        assert_array_equal(one.decision_function(X), more.decision_function(X))


@every_scheme
def test_a_sample_alone_and_in_company(make):
    """What is said of a sample does not depend on the samples beside it."""
    machine, X, _ = fitted(lambda: SVC(multi_class=make()), 5, n=300)
    all_of_them = machine.decision_function(X)
    for size in (1, 3, 7, 8, 33, 100):
        assert_array_equal(machine.decision_function(X[:size]), all_of_them[:size])


@every_machine
def test_precomputed_and_other_kernels(make):
    machine, X, y = fitted(make, 4)
    kernel = machine.kernel_
    given = clone(machine).set_params(kernel="precomputed").fit(kernel(X), y)
    assert_allclose(given.decision_function(kernel(X)), machine.decision_function(X), rtol=1e-5, atol=1e-6)
    assert_array_equal(given.decision_function(kernel(X)[:, given.support_]), given.decision_function(kernel(X)))
    python = clone(machine).set_params(kernel=lambda A, B: kernel(A, B)).fit(X, y)
    assert_allclose(python.decision_function(X), machine.decision_function(X), rtol=1e-5, atol=1e-6)
    doubled = clone(machine).set_params(kernel=0.5 * kernel + 0.5 * kernel).fit(X, y)
    assert_allclose(doubled.decision_function(X), machine.decision_function(X), rtol=1e-5, atol=1e-6)


@every_machine
def test_sparse_and_float32(make):
    machine, X, y = fitted(make, 4)
    X[:, 1:][np.random.default_rng(1).random((len(X), 2)) < 0.5] = 0.0
    machine = clone(machine).fit(X, y)
    sparse = clone(machine).fit(csr_array(X), y)
    assert_allclose(decision_values(sparse, csr_array(X)), decision_values(machine, X), **CLOSE)
    assert_allclose(sparse.decision_function(csr_array(X)), machine.decision_function(X), **CLOSE)
    single = clone(machine).fit(X.astype(np.float32), y)
    assert single.decision_function(X.astype(np.float32)).dtype == np.float64
    assert np.mean(single.predict(X.astype(np.float32)) == machine.predict(X)) > 0.95


# --- parameters -------------------------------------------------------------------------------------------


@every_scheme
def test_clone_pickle_and_parameters(make):
    scheme = make()
    assert repr(clone(scheme)) == repr(scheme) == repr(pickle.loads(pickle.dumps(scheme)))
    machine, X, y = fitted(lambda: SVC(multi_class=scheme), 4)
    copy = pickle.loads(pickle.dumps(machine))
    assert_array_equal(copy.decision_function(X), machine.decision_function(X))
    assert_array_equal(clone(machine).fit(X, y).decision_function(X), machine.decision_function(X))
    nested = {name: value for name, value in machine.get_params().items() if name.startswith("multi_class__")}
    assert set(nested) == {f"multi_class__{name}" for name in scheme.get_params()}
    before = machine.decision_function(X)
    for name in scheme.get_params():  # what was learnt stays what it is
        scheme.set_params(**{name: None})
    assert_array_equal(machine.decision_function(X), before)


def test_names_become_objects():
    machine = SVC(multi_class="ovr").set_params(multi_class__balanced=True, kernel__gamma=2.0)
    assert (machine.multi_class.balanced, machine.kernel.gamma) == (True, 2.0)
    machine = SVC().set_params(multi_class__code="sparse", multi_class="ecoc")
    assert machine.multi_class.code == "sparse"
    for name, kind in {"ovo": OneVersusOne, "dag": DAG, "one_class": OneClassPerClass}.items():
        assert type(as_scheme(name)) is kind
    assert SVC().multi_class == "ovo"


# --- unusual classes --------------------------------------------------------------------------------------


learns_from_one = {name: make for name, make in SCHEMES.items() if not make().calibrated}


@pytest.mark.parametrize("make", learns_from_one.values(), ids=learns_from_one.keys())
def test_a_class_of_one_sample(make):
    X, y = training_set(SVC(), n=60, n_classes=3)
    y[0], X[0] = 7, [30.0, 30.0, 30.0]
    machine = SVC(kernel=RBF(gamma=0.4), C=100.0, multi_class=make()).fit(X, y)
    assert_array_equal(machine.classes_, [0, 1, 2, 7])
    assert machine.predict(X[:1]) == [7]
    assert machine.result_.status == "solved"


@every_scheme
def test_an_unseen_label_when_scoring(make):
    machine, X, y = fitted(lambda: SVC(multi_class=make()), 3)
    known = machine.score(X, y)
    unseen = np.where(np.arange(len(y)) < 20, 9, y)
    right = machine.predict(X) == y
    assert machine.score(X, unseen) == pytest.approx(right[20:].sum() / len(y))
    assert 0 < known <= 1


@pytest.mark.parametrize("scheme", ["ovr", "ecoc", "one_class", "weston_watkins", "crammer_singer", "lee_lin_wahba"])
def test_a_thousand_classes(scheme):
    """Of a sample each; the coefficients stay sparse."""
    centres = np.random.default_rng(0).normal(size=(1000, 12)) * 8
    machine = SVC(kernel=RBF(gamma=0.05), C=100.0, multi_class=scheme)
    machine.fit_intercept = not isinstance(as_scheme(scheme), JointScheme)
    machine.fit(centres + 0.1, np.arange(1000))
    assert issparse(machine.dual_coef_)
    scores = machine.decision_function(centres[:50])
    assert scores.shape == (50, 1000)
    assert np.mean(scores.argmax(axis=1) == np.arange(50)) > 0.95


@pytest.mark.parametrize("scheme", ["ovo", "dag"])
def test_more_pairs_than_are_written_down_at_once(scheme, monkeypatch):
    monkeypatch.setattr(margins, "AT_ONCE", 10_000)
    K = 150
    centres = np.random.default_rng(0).normal(size=(K, 5)) * 5
    X, y = np.concatenate([centres - 0.1, centres + 0.1]), np.tile(np.arange(K), 2)
    machine = SVC(kernel=RBF(gamma=0.1), C=100.0, multi_class=scheme).fit(X, y)
    assert machine.dual_coef_.shape[0] == K * (K - 1) // 2
    assert machine.dual_coef_.nnz <= 4 * machine.dual_coef_.shape[0]
    assert_array_equal(machine.predict(centres), np.arange(K))
    wanted = machine._plan.scores(decision_values(machine, X))
    assert_allclose(machine.decision_function(X), wanted, rtol=1e-9, atol=1e-9)


@every_machine
def test_warm_start(make):
    machine, X, y = fitted(make, 3, n=150)
    warm = clone(machine).set_params(warm_start=True).fit(X, y)
    steps = warm.n_iter_
    assert warm.fit(X, y).n_iter_ <= max(machine._plan.n_machines, steps // 10)


# --- one objective for all classes ------------------------------------------------------------------------

every_objective = pytest.mark.parametrize("make", JOINT.values(), ids=JOINT.keys())
# The price for which the machine for two is the same, and what its decision values are multiplied with.
FOR_TWO = {"WestonWatkins": (2.0, 1.0), "CrammerSinger": (2.0, 1.0), "LeeLinWahba": (0.5, 2.0)}


@every_objective
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("probability", [False, True])
def test_two_classes_of_one_objective_are_the_binary_machine(make, fit_intercept, probability):
    X, y = training_set(SVC(), n=90, seed=2)
    weight, factor = np.linspace(0.5, 2.0, 90), FOR_TWO[type(make()).__name__]
    parameters = {"kernel": RBF(gamma=0.4), "fit_intercept": fit_intercept, "probability": probability, "tol": 1e-9}
    plain = SVC(C=3.0 * factor[0], **parameters).fit(X, y, weight)
    other = SVC(C=3.0, multi_class=make(), **parameters).fit(X, y, weight)
    if probability:  # a sigmoid does not mind the scale
        assert_allclose(other.predict_proba(X), plain.predict_proba(X), rtol=1e-5, atol=1e-7)
        return
    assert other.decision_function(X).shape == (90,)
    assert_allclose(other.decision_function(X), factor[1] * plain.decision_function(X), rtol=1e-6, atol=1e-6)
    assert_array_equal(other.predict(X), plain.predict(X))
    assert_allclose(other.margin_, plain.margin_, rtol=1e-6)
    assert other.margin_errors_.sum() == pytest.approx(plain.margin_errors_)
    assert_array_equal(other.support_, plain.support_)
    assert_allclose(other.slack_.sum(axis=0), plain.slack_, rtol=1e-5, atol=1e-6)


@every_objective
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_attributes_of_one_objective(make, fit_intercept):
    """By their definitions."""
    machine = SVC("linear", C=0.7, multi_class=make(), fit_intercept=fit_intercept, tol=1e-9)
    rng, y = np.random.default_rng(5), np.arange(80) % 4
    X = rng.normal(size=(80, 3)) + rng.normal(scale=4.0, size=(4, 3))[y]
    f, K = machine.fit(X, y).decision_function(X), 4
    assert_allclose(f, X @ machine.coef_.T + machine.intercept_, atol=1e-9)
    assert_allclose(f.sum(axis=1), 0.0, atol=1e-9)
    assert fit_intercept or not machine.intercept_.any()
    assert_allclose(machine.norm_, np.linalg.norm(machine.coef_, axis=1), rtol=1e-6)
    absolute = type(make()).__name__ == "LeeLinWahba"
    for k in range(K):
        others = [machine.coef_[k] - machine.coef_[j] for j in range(K) if j != k]
        margin = 1 / (K - 1) / machine.norm_[k] if absolute else 1 / max(map(np.linalg.norm, others))
        assert machine.margin_[k] == pytest.approx(margin, rel=1e-6)
        lag = f[:, k] + 1 / (K - 1) if absolute else 1 - (f[np.arange(80), y] - f[:, k])
        slack = np.where(y == k, 0.0, np.maximum(0.0, lag))
        assert_allclose(machine.slack_.toarray()[k], slack, atol=1e-8)
        assert machine.margin_errors_[k] == pytest.approx(np.mean(slack > 1e-8))
    slack = machine.slack_.toarray()
    losses = slack.max(axis=0) if type(make()).__name__ == "CrammerSinger" else slack.sum(axis=0)
    primal = 0.5 * (machine.coef_**2).sum() + 0.7 * losses.sum()
    assert machine.result_.primal_objective == pytest.approx(primal, rel=1e-7)
    assert machine.result_.relative_gap < 1e-6


@every_objective
def test_parameters_of_the_solver_are_passed_on(make):
    X, y = training_set(SVC(), n=150, n_classes=4)
    machine = SVC(multi_class=make(), max_iter=3)
    with pytest.warns(ConvergenceWarning, match="SVC did not reach a proved optimum .status max_iter"):
        machine.fit(X, y)
    assert machine.result_.n_iter <= 3
    for limit, status in (({"max_seconds": 1e-9}, "max_seconds"), ({"callback": lambda progress: True}, "stopped")):
        with pytest.warns(ConvergenceWarning, match=status):
            SVC(multi_class=make(), **limit).fit(X, y)
    coarse = SVC(multi_class=make(), tol=0.1).fit(X, y).result_
    assert SVC(multi_class=make(), tol=0.1, gap_tol=1e-7).fit(X, y).result_.relative_gap <= 1e-7 < coarse.relative_gap
    given = SVC(multi_class=make(), solver=BlockDescent(tol=1e-7)).fit(X, y)
    assert given.result_.violation <= 1e-7
    steps = []

    def stop_in_a_fold(progress):  # where the count of steps starts again
        steps.append(progress.n_iter)
        return bool((np.diff(steps) < 0).any())

    with pytest.warns(ConvergenceWarning, match="A fold of SVC did not reach"):
        SVC(multi_class=make(), probability=True, callback=stop_in_a_fold).fit(X, y)


def test_a_warm_machine_may_change_its_scheme():
    X, y = training_set(SVC(), n=60, n_classes=3)
    machine = SVC(warm_start=True)
    for scheme in ("ovo", "crammer_singer", "weston_watkins", "ovr", "crammer_singer"):
        machine.set_params(multi_class=scheme, tol=1e-8).fit(X, y)
        cold = SVC(multi_class=scheme, tol=1e-8).fit(X, y)
        assert_allclose(machine.decision_function(X), cold.decision_function(X), atol=1e-5)
