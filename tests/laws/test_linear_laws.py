"""What every linear machine obeys."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from registry import LINEAR_ESTIMATORS
from scipy.sparse import csc_array, csr_array, csr_matrix
from sklearn.base import clone, is_classifier, is_outlier_detector, is_regressor

from mercer.kernels import Linear
from mercer.svm import SVC, SVR, LinearOneClassSVM, LinearSVC, LinearSVR, OneClassSVM

every_machine = pytest.mark.parametrize("make", LINEAR_ESTIMATORS.values(), ids=LINEAR_ESTIMATORS.keys())
classifiers = {name: make for name, make in LINEAR_ESTIMATORS.items() if is_classifier(make())}
every_classifier = pytest.mark.parametrize("make", classifiers.values(), ids=classifiers.keys())

CLOSE = {"rtol": 1e-6, "atol": 1e-7}


def training_set(machine, n=60, d=3, seed=0, n_classes=2):
    """Samples on one side of the origin, with what the machine learns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    if is_regressor(machine):
        return X, X[:, 0] + 0.5 * X[:, -1] + 0.5 * rng.normal(size=n)
    classes = rng.permutation(np.arange(n) % n_classes)
    X[:, 0] += 1.5 * classes
    return X + (4.0 if is_outlier_detector(machine) else 0.0), classes


def decision(machine, X):
    values = machine.predict(X) if is_regressor(machine) else machine.decision_function(X)
    return values[:, np.newaxis] if values.ndim == 1 else values


def assert_same_machine(first, second, **tolerance):
    tolerance = tolerance or CLOSE
    assert_allclose(first.coef_, second.coef_, **tolerance)
    assert_allclose(first.intercept_, second.intercept_, **tolerance)
    assert_allclose(first.result_.objective, second.result_.objective, **tolerance)


def assert_identical(first, second):
    for name in ("coef_", "intercept_", "norm_", "support_", "n_iter_"):
        assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)
    for name in ("objective", "bound", "gap", "violation", "status", "a", "gradient"):
        assert_array_equal(getattr(first.result_, name), getattr(second.result_, name), err_msg=name)


def test_assert_same_machine_can_fail():
    X, y = training_set(LinearSVC())
    with pytest.raises(AssertionError):
        assert_same_machine(LinearSVC().fit(X, y), LinearSVC(C=1.001).fit(X, y))


def test_assert_identical_can_fail():
    X, y = training_set(LinearSVC())
    first, second = LinearSVC().fit(X, y), LinearSVC().fit(X, y)
    assert_identical(first, second)
    second.coef_ = second.coef_ * (1 + 1e-15)
    with pytest.raises(AssertionError):
        assert_identical(first, second)


def kernel_twin(machine):
    """The kernel machine of the same problem."""
    penalised = getattr(machine, "intercept", "free") == "penalised"
    if machine.penalty == "l1":
        return None
    kernel = Linear() + machine.intercept_scaling**2 if penalised else "linear"
    free = getattr(machine, "intercept", "free") == "free"
    if isinstance(machine, LinearSVC):
        options = {"C": machine.C, "loss": machine.loss, "class_weight": machine.class_weight, "multi_class": "ovr"}
        return SVC(kernel, fit_intercept=free, tol=1e-6, **options)
    if isinstance(machine, LinearSVR) and free:
        return SVR(kernel, C=machine.C, epsilon=machine.epsilon, loss=machine.loss, tol=1e-6)
    return OneClassSVM(kernel, nu=machine.nu, tol=1e-6) if isinstance(machine, LinearOneClassSVM) else None


@every_machine
@pytest.mark.parametrize("n", [60, 400, 1500])
def test_the_kernel_machine_is_the_same(make, n):
    machine = make().set_params(tol=1e-6)
    X, y = training_set(machine, n=n)
    twin = kernel_twin(machine)
    if twin is None:
        pytest.skip("no kernel machine has this penalty, SVR no penalised offset")
    machine.fit(X, y), twin.fit(X, y)
    assert machine.result_.status == twin.result_.status == "solved"
    assert_allclose(machine.result_.objective, twin.result_.objective, rtol=1e-7)
    assert_allclose(decision(machine, X), decision(twin, X), atol=1e-5 * max(1.0, np.abs(decision(twin, X)).max()))


@every_classifier
def test_the_kernel_machine_is_the_same_for_several_classes(make):
    machine = make()
    X, y = training_set(machine, n=90, n_classes=3)
    if machine.penalty == "l1":
        pytest.skip("no kernel machine has this penalty")
    twin = kernel_twin(machine).fit(X, y)
    machine.fit(X, y)
    assert machine.coef_.shape == (3, 3) and machine.intercept_.shape == (3,)
    assert_allclose(machine.decision_function(X), twin.decision_function(X), atol=1e-5)
    assert_array_equal(machine.predict(X), machine.classes_[machine.decision_function(X).argmax(axis=1)])


@every_machine
def test_decision_rule(make):
    machine = make()
    X, y = training_set(machine)
    new, _ = training_set(machine, seed=1)
    machine.fit(X, y)
    values = new @ machine.coef_.T + machine.intercept_
    assert_allclose(decision(machine, new), values, rtol=1e-12, atol=1e-12)
    assert machine.n_iter_ == machine.result_.n_iter and machine.result_.status == "solved"
    if is_classifier(machine):
        assert_array_equal(machine.predict(new), (values[:, 0] > 0).astype(int))
    if is_outlier_detector(machine):
        assert_array_equal(machine.predict(new), np.where(values[:, 0] >= 0, 1, -1))
        assert_allclose(machine.score_samples(new) - machine.offset_, values[:, 0], atol=1e-12)


def objective(machine, X, y):
    """The primal objective, from coef_ and intercept_ alone."""
    w, b = machine.coef_[0], machine.intercept_[0]
    f = X @ w + b
    penalty = np.abs(w).sum() if machine.penalty == "l1" else 0.5 * w @ w
    if getattr(machine, "intercept", "free") == "penalised":
        penalty += 0.5 * (b / machine.intercept_scaling) ** 2
    if is_outlier_detector(machine):
        return penalty + b * machine.nu * len(X) + np.maximum(0, -f).sum()
    if is_regressor(machine):
        slack, square = np.maximum(0, np.abs(y - f) - machine.epsilon), machine.loss == "quadratic"
        return penalty + machine.C * (slack**2 if square else slack).sum()
    slack = np.maximum(0, 1 - np.where(y == 1, 1, -1) * f)
    cost = np.ones(len(y))
    if machine.class_weight == "balanced":
        cost = len(y) / (2 * np.bincount(y)[y])
    return penalty + machine.C * (cost * (slack**2 if machine.loss == "squared_hinge" else slack)).sum()


@every_machine
@pytest.mark.parametrize("n", [60, 3000])
def test_certificate(make, n):
    """The primal objective is that of what is returned, and nothing nearby is better than the bound says."""
    machine = make()
    X, y = training_set(machine, n=n)
    machine.fit(X, y)
    value, result = objective(machine, X, y), machine.result_
    assert result.primal_objective == pytest.approx(value, rel=1e-9)
    assert 0 <= result.gap <= 1e-2 * abs(value)
    rng = np.random.default_rng(0)
    for _ in range(20):
        other = clone(machine).fit(X, y)
        other.coef_ = machine.coef_ + 0.01 * rng.normal(size=machine.coef_.shape)
        if getattr(machine, "intercept", "free") != "none":
            other.intercept_ = machine.intercept_ + 0.01 * rng.normal(size=1)
        assert objective(other, X, y) >= result.dual_objective - 1e-9 * abs(value)


@every_machine
def test_weight_two_is_the_sample_twice(make):
    machine = make()
    X, y = training_set(machine)
    weight = np.random.default_rng(3).integers(0, 4, size=len(X))
    times = np.random.default_rng(4).permutation(np.repeat(np.arange(len(X)), weight))
    first, second = clone(machine).fit(X, y, sample_weight=weight), clone(machine).fit(X[times], y[times])
    assert_same_machine(first, second)
    assert not np.isin(first.support_, np.flatnonzero(weight == 0)).any()


@every_machine
@pytest.mark.parametrize("n", [60, 3000])
def test_order_of_samples(make, n):
    machine = make()
    X, y = training_set(machine, n=n)
    first, order = machine.fit(X, y), np.random.default_rng(1).permutation(n)
    second = clone(machine).fit(X[order], y[order])
    if n <= 60:
        assert_same_machine(first, second)
    difference = abs(first.result_.objective - second.result_.objective)
    assert difference <= first.result_.gap + second.result_.gap + 1e-12 * abs(first.result_.objective)


@every_machine
@pytest.mark.parametrize("storage", [np.asarray, csr_array])
def test_any_number_of_threads(make, storage):
    machine = make()
    X, y = training_set(machine, n=5000, d=20)
    X = storage(X)
    machines = [clone(machine).set_params(n_threads=k).fit(X, y) for k in (1, 2, 3)]
    for other in machines[1:]:
        assert_identical(machines[0], other)
        assert_array_equal(decision(machines[0], X), decision(other, X))


@every_machine
def test_clone_and_pickle(make):
    machine = make()
    X, y = training_set(machine)
    machine.fit(X, y)
    assert_identical(machine, clone(machine).fit(X, y))
    assert_array_equal(decision(pickle.loads(pickle.dumps(machine)), X), decision(machine, X))


@every_machine
@pytest.mark.parametrize("storage", [csr_array, csc_array, csr_matrix])
def test_sparse(make, storage):
    machine = make()
    X, y = training_set(machine)
    X = X * (np.random.default_rng(0).random(X.shape) < 0.7)
    first, second = clone(machine).fit(X, y), clone(machine).fit(storage(X), y)
    assert_same_machine(first, second)
    assert_allclose(decision(second, storage(X)), decision(second, X), atol=1e-12)


@every_machine
def test_float32(make):
    """float32 is used as it is: the same as its values in float64."""
    machine = make()
    X, y = training_set(machine, n=500)
    X = X.astype(np.float32)
    first, second = clone(machine).fit(X, y), clone(machine).fit(X.astype(np.float64), y)
    assert_same_machine(first, second)
    assert_allclose(decision(first, X), decision(first, X.astype(np.float64)), rtol=1e-12)


@every_machine
def test_columns_of_any_scale(make):
    """The answer is for the scale of the user, whatever it is: the certificate says so."""
    machine = make()
    if not is_outlier_detector(machine):
        machine.set_params(solver="auto")
    X, y = training_set(machine, n=400, d=5)
    machine.fit(X * 10.0 ** np.array([-4, 4, 0, -2, 3]), y)
    assert machine.result_.status == "solved" and machine.result_.relative_gap < 1e-3


@every_machine
def test_warm_start(make):
    machine = make().set_params(warm_start=True)
    X, y = training_set(machine, n=1500)
    machine.fit(X, y)
    cold = machine.n_iter_
    machine.fit(X, y)
    assert machine.result_.status == "solved" and machine.n_iter_ <= cold


@pytest.mark.parametrize("kind", [LinearSVC, LinearSVR])
def test_path(kind):
    prices = [0.01, 0.1, 1.0, 10.0]
    machine = kind(tol=1e-5)
    X, y = training_set(machine, n=300)
    path = machine.fit_path(X, y, prices)
    assert not hasattr(machine, "coef_")
    for price, member in zip(prices, path, strict=True):
        assert member.C == price and member.warm_start is False
        assert_same_machine(member, kind(price, tol=1e-5).fit(X, y), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("scheme", ["ovr", "ovo", "dag", "ecoc"])
def test_two_classes_are_one_machine_under_every_scheme(scheme):
    X, y = training_set(LinearSVC())
    assert_identical(LinearSVC().fit(X, y), LinearSVC(multi_class=scheme).fit(X, y))


@pytest.mark.parametrize("scheme", ["weston_watkins", "crammer_singer", "lee_lin_wahba"])
@pytest.mark.parametrize("intercept", ["free", "none", "penalised"])
@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_one_objective_for_all_classes(scheme, intercept, container):
    """The kernel machine, with a constant as a feature if the offset has a price."""
    X, y = training_set(LinearSVC(), n=120, n_classes=4)
    weight = np.linspace(0.0, 2.0, 120)
    machine = LinearSVC(multi_class=scheme, intercept=intercept, intercept_scaling=2.0, tol=1e-6)
    machine.fit(container(X), y, weight)
    kernel = Linear() + 4.0 if intercept == "penalised" else Linear()
    twin = SVC(kernel, multi_class=scheme, fit_intercept=intercept == "free", tol=1e-6).fit(X, y, weight)
    assert machine.coef_.shape == (4, 3)
    assert_allclose(machine.decision_function(container(X)), twin.decision_function(X), atol=1e-4)
    assert_allclose(machine.norm_, twin.norm_, atol=1e-4)
    assert machine.result_.objective == pytest.approx(twin.result_.objective, rel=1e-6)
    assert_array_equal(machine.predict(container(X)), machine.decision_function(container(X)).argmax(axis=1))
    steps = machine.set_params(warm_start=True).fit(container(X), y, weight).n_iter_
    assert steps <= 10


@pytest.mark.parametrize("scheme", ["ovo", "dag", "ecoc", "one_class"])
def test_other_schemes(scheme):
    X, y = training_set(LinearSVC(), n=120, n_classes=4)
    X = X + 6.0
    machine = LinearSVC(multi_class=scheme, tol=1e-6).fit(X, y)
    twin = SVC("linear", multi_class=scheme, tol=1e-6).fit(X, y)
    assert machine.decision_function(X).shape == (120, 4)
    assert_allclose(machine.decision_function(X), twin.decision_function(X), atol=1e-4)
    machine.set_params(multi_class="ovr", multi_class__balanced=True).fit(X, y)
    assert machine.multi_class.balanced is True
