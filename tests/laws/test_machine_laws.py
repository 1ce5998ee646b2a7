"""What every machine obeys that is no support vector machine, whatever it learns."""

import pickle
from inspect import signature

import numpy as np
import pytest
from machine_registry import (
    CENTRES,
    MACHINES,
    NO_EXPANSION,
    ON_VECTORS,
    ORDERED,
    OWN_KERNEL,
    ROOMS,
    TO_A_GAP,
    expected_failures,
    kernel_for,
    lesson,
    outputs,
)
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer.data import Graph
from mercer.errors import DomainError
from mercer.kernels import RBF, Linear, Polynomial, Spectrum, WeisfeilerLehman
from mercer.machines import KernelMachine

CLOSE = {"rtol": 1e-6, "atol": 1e-7}

every_machine = pytest.mark.parametrize("make", MACHINES.values(), ids=MACHINES.keys())
one_of_each = {type(make()): make for make in reversed(list(MACHINES.values()))}
every_kind = pytest.mark.parametrize("make", one_of_each.values(), ids=[kind.__name__ for kind in one_of_each])
kernel_machines = {n: make for n, make in MACHINES.items() if "kernel" in make().get_params()}
every_kernel_machine = pytest.mark.parametrize("make", kernel_machines.values(), ids=kernel_machines.keys())
as_given = {name: make for name, make in kernel_machines.items() if name not in OWN_KERNEL}
with_the_kernel_given = pytest.mark.parametrize("make", as_given.values(), ids=as_given.keys())
weighted = {name: make for name, make in MACHINES.items() if "sample_weight" in signature(make().fit).parameters}
on_centres = [MACHINES[name] for name in CENTRES]
every_weighted_machine = pytest.mark.parametrize("make", weighted.values(), ids=weighted.keys())


def close(machine):
    """How close two fits are that differ in what should make no difference; a gap bounds the squares of distances."""
    return {"rtol": 0.0, "atol": 3.0 * machine.gap_tol**0.5} if isinstance(machine, TO_A_GAP) else CLOSE


def numbers(machine):
    """All numbers and arrays that were learnt."""
    return {name: value for name, value in vars(machine).items() if isinstance(value, (np.ndarray, float, int))}


def words(n, rng):
    return ["".join(rng.choice(list("abc"), size=8)) for _ in range(n)]


def rings(n, rng):
    """Graphs with a ring of some nodes and a tail."""
    found = []
    for _ in range(n):
        size, tail = int(rng.integers(3, 6)), int(rng.integers(1, 4))
        edges = [(i, (i + 1) % size) for i in range(size)] + [(size + i - 1, size + i) for i in range(tail)]
        found.append(Graph(size + tail, edges, node_labels=list(rng.choice(["C", "N"], size=size + tail))))
    return found


def test_registry_is_complete():
    public = {getattr(room, name) for room in ROOMS for name in room.__all__}
    public = {item for item in public if isinstance(item, type) and issubclass(item, BaseEstimator)}
    public = {item for item in public if hasattr(item, "fit")}  # losses have parameters, but learn nothing
    assert {type(make()) for make in MACHINES.values()} == public
    assert all(name.split()[0] == type(make()).__name__ for name, make in MACHINES.items())


@every_kind
def test_weights_are_asked_for_where_there_are_some(make):
    """Metadata routing offers what `fit` takes, and nothing else."""
    assert hasattr(make(), "set_fit_request") == ("sample_weight" in signature(make().fit).parameters)


@every_kind
def test_the_front_door(make):
    """Estimators are also imported from mercer itself."""
    kind = type(make())
    assert getattr(mercer, kind.__name__) is kind


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([make() for make in MACHINES.values()], expected_failed_checks=expected_failures)
def test_sklearn_checks(estimator, check):
    check(estimator)


@every_machine
def test_refit_clone_and_pickle(make):
    data = lesson(make())
    machine = make().fit(*data)
    values = outputs(machine, data[0])
    assert_array_equal(outputs(pickle.loads(pickle.dumps(machine)), data[0]), values)
    fresh = clone(machine)
    assert repr(fresh) == repr(machine) == repr(make())
    assert numbers(fresh.fit(*data)).keys() == numbers(machine).keys()
    for name, value in numbers(machine).items():
        assert_array_equal(getattr(fresh, name), value, err_msg=name)


@every_machine
def test_inputs_are_left_alone(make):
    data = lesson(make())
    before = [part.copy() for part in data]
    machine = make()
    parameters = machine.get_params()
    outputs(machine.fit(*data), data[0])
    for part, was in zip(data, before, strict=True):
        assert_array_equal(part, was)
    after = machine.get_params()
    assert all(after[name] is value for name, value in parameters.items() if "__" not in name)


@every_machine
def test_threads_make_no_difference_beyond_rounding(make):
    if "n_threads" not in make().get_params():
        pytest.skip("has no threads of its own")
    data = lesson(make())
    alone, four = (make().set_params(n_threads=n).fit(*data) for n in (1, 4))
    assert_allclose(outputs(alone, data[0]), outputs(four, data[0]), **CLOSE)


@every_machine
def test_order_of_samples(make):
    if isinstance(make(), ORDERED):
        pytest.skip("depends on the order by its nature")
    data = lesson(make())
    order = np.random.default_rng(7).permutation(len(data[0]))
    machine, shuffled = make().fit(*data), make().fit(*(part[order] for part in data))
    assert_allclose(outputs(machine, data[0]), outputs(shuffled, data[0]), **close(machine))


@every_weighted_machine
def test_weight_two_is_the_sample_twice(make):
    if isinstance(make(), ORDERED):
        pytest.skip("depends on the order by its nature")
    data = lesson(make())
    weight = np.random.default_rng(3).integers(0, 4, size=len(data[0]))
    times = np.repeat(np.arange(len(weight)), weight)
    machine = make().fit(*data, sample_weight=weight)
    repeated = make().fit(*(part[times] for part in data))
    assert_allclose(outputs(machine, data[0]), outputs(repeated, data[0]), **close(machine))
    with pytest.raises(ValueError, match=r"at least one (positive|non-zero)"):
        make().fit(*data, sample_weight=np.zeros(len(weight)))
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        make().fit(*data, sample_weight=np.where(weight > 1, 1.0, -1.0))


@with_the_kernel_given
def test_a_kernel_is_its_matrix(make):
    data = lesson(make())
    new = lesson(make(), n=25, seed=1)[0]
    kernel = kernel_for(make())
    machine = make().set_params(kernel=kernel).fit(*data)
    if not make().set_params(kernel="precomputed").__sklearn_tags__().input_tags.pairwise:
        pytest.skip("needs the samples themselves")
    if make in on_centres:
        with pytest.raises(DomainError, match="means of vectors"):
            make().set_params(kernel="precomputed").fit(kernel(data[0]), *data[1:])
        return
    given = make().set_params(kernel="precomputed").fit(kernel(data[0]), *data[1:])
    assert_allclose(outputs(given, kernel(new, data[0])), outputs(machine, new), **CLOSE)
    with pytest.raises(ValueError, match="square"):
        make().set_params(kernel="precomputed").fit(kernel(data[0])[:, :-1], *data[1:])
    with pytest.raises(ValueError, match="expecting"):
        outputs(given, kernel(new, data[0])[:, :-1])


# What the labels leave of a margin may be nothing, which a machine with a share of errors tells of.
@pytest.mark.filterwarnings("ignore:.*status degenerate:sklearn.exceptions.ConvergenceWarning")
@every_kernel_machine
def test_strings_and_graphs_go_in(make):
    rng = np.random.default_rng(0)
    y = lesson(make(), n=30)[1:]
    for kernel, X in ((Spectrum(2).normalized(), words(30, rng)), (WeisfeilerLehman(2).normalized(), rings(30, rng))):
        if isinstance(make(), ON_VECTORS) or make in on_centres:
            with pytest.raises((DomainError, TypeError), match="vectors"):
                make().set_params(kernel=kernel).fit(X, *y)
            continue
        machine = make().set_params(kernel=kernel).fit(X, *y)
        assert np.isfinite(outputs(machine, X)).all()
        assert len(outputs(machine, X[:3])) == 3


@every_kernel_machine
def test_names_of_kernels(make):
    machine = make().set_params(kernel="rbf")
    assert machine.set_params(kernel__gamma=0.25) is machine
    assert machine.kernel == RBF(gamma=0.25)
    machine = make().set_params(kernel__degree=2, kernel="poly")
    assert (machine.kernel.degree, type(machine.kernel)) == (2, Polynomial)
    with pytest.raises(ValueError, match="kernel"):
        make().set_params(kernel="nonsense").fit(*lesson(make()))


@every_kernel_machine
def test_float32_and_sparse(make):
    data = lesson(make(), d=6)
    X = data[0]
    X[:, 1:][np.random.default_rng(1).random((len(X), 5)) < 0.6] = 0.0
    machine = make().set_params(kernel=kernel_for(make())).fit(*data)
    values = outputs(machine, X)
    sparse = make().set_params(kernel=kernel_for(make())).fit(csr_array(X), *data[1:])
    assert_allclose(outputs(sparse, csr_array(X)), values, rtol=1e-5, atol=1e-6)
    assert_allclose(outputs(machine, csr_array(X)), values, rtol=1e-5, atol=1e-6)


@every_machine
def test_bad_parameters_are_named_and_nothing_is_lost(make):
    data = lesson(make())
    machine = make().fit(*data)
    values = outputs(machine, data[0])
    for name in machine._parameters:
        good = getattr(machine, name)
        machine.set_params(**{name: "nonsense"})
        with pytest.raises((ValueError, TypeError), match=rf"^{name} must be .*'nonsense'"):
            machine.fit(*data)
        machine.set_params(**{name: good})
        assert_array_equal(outputs(machine, data[0]), values)
    for name in machine.get_params(deep=False):
        assert name in type(machine).__doc__, f"{name} is not told of in the docstring"


@every_machine
def test_bad_samples(make):
    data = lesson(make())
    broken = data[0].copy()
    broken[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        make().fit(broken, *data[1:])
    machine = make().fit(*data)
    with pytest.raises(ValueError, match="features"):
        outputs(machine, data[0][:, :-1])
    if len(data) == 2:
        with pytest.raises(ValueError, match=r"inconsistent|samples"):
            make().fit(data[0], data[1][:-1])
    if is_classifier(machine):
        with pytest.raises(ValueError, match="class"):
            make().fit(data[0], np.zeros(len(data[0]), dtype=int))


@with_the_kernel_given
def test_grid_search(make):
    data = lesson(make())
    machine = make()
    if not hasattr(machine, "score"):
        pytest.skip("has no score")
    machine.set_params(kernel="rbf")
    search = GridSearchCV(machine, {"kernel__gamma": [0.1, 1.0]}, cv=3).fit(*data)
    assert search.best_estimator_.kernel_.gamma in (0.1, 1.0)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@every_machine
def test_decision_rule(make):
    """K(X, support_vectors_) @ dual_coef_.T + intercept_ is what the model says, where it is an expansion."""
    data = lesson(make())
    new = lesson(make(), n=20, seed=1)[0]
    machine = make().fit(*data)
    if not isinstance(machine, KernelMachine) or isinstance(machine, NO_EXPANSION):
        pytest.skip("is no plain expansion")
    values = machine.kernel_(new, machine.support_vectors_) @ machine.dual_coef_.T + machine.intercept_
    found = outputs(machine, new)
    assert_allclose(found if found.ndim == 2 else found[:, np.newaxis], values, rtol=1e-9, atol=1e-9)
    if make not in on_centres:
        assert_array_equal(machine.support_vectors_, data[0][machine.support_])


# What the labels leave of a margin may be nothing, which a machine with a share of errors tells of.
@pytest.mark.filterwarnings("ignore:.*status degenerate:sklearn.exceptions.ConvergenceWarning")
@every_machine
def test_linear_kernel_has_weights(make):
    data = lesson(make())
    if "kernel" not in make().get_params() or isinstance(make(), ON_VECTORS):
        pytest.skip("has no such kernel")
    machine = make().set_params(kernel=Linear()).fit(*data)
    if not isinstance(machine, KernelMachine) or isinstance(machine, NO_EXPANSION):
        pytest.skip("is no plain expansion")
    values = data[0] @ machine.coef_.T + machine.intercept_
    found = outputs(machine, data[0])
    assert_allclose(found if found.ndim == 2 else found[:, np.newaxis], values, rtol=1e-7, atol=1e-7)
