"""Machines on Dask collections are those of one machine; what they say of them is lazy."""

import numpy as np
import pytest
from machine_registry import MACHINES as REGISTERED
from machine_registry import lesson
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier, is_outlier_detector

from mercer import (
    LSSVC,
    SVC,
    SVDD,
    SVR,
    Cells,
    GaussianProcessRegressor,
    KernelPCA,
    KernelRidge,
    LinearSVC,
    NuSVC,
    NuSVR,
    Nystroem,
    OneClassSVM,
    PolynomialSketch,
    QuantileSVR,
    RandomFourier,
)
from mercer.data import RowBlocks
from mercer.kernels import RBF
from mercer.machines import KernelMachine

array = pytest.importorskip("dask.array")
frames = pytest.importorskip("dask.dataframe")
pandas = pytest.importorskip("pandas")

N, CHUNK = 600, 170


def vectors(n=N):
    return np.random.default_rng(0).normal(size=(n, 3))


def classes(X):
    return np.where(X[:, 0] + X[:, 1] ** 2 > 0.8, "in", "out")


def values(X):
    return np.sin(X[:, 0]) + 0.1 * X[:, 1]


def in_blocks(X):
    return RowBlocks([X[first : first + CHUNK] for first in range(0, len(X), CHUNK)])


def lazy(X):
    return array.from_array(X, chunks=(CHUNK, *X.shape[1:]))


def decisions(machine, X):
    return machine.decision_function(X) if hasattr(machine, "decision_function") else machine.predict(X)


def targets(machine, X):
    if is_outlier_detector(machine):
        return None
    return classes(X) if is_classifier(machine) else values(X)


# --- learning ---------------------------------------------------------------------------------------------

# Newton steps of the hinge loss, and those of tubes, end within the tolerance: sums in another order show there.
MACHINES = {
    "KernelRidge": (KernelRidge(RBF(0.3), alpha=0.1, approximation=40), 1e-10),
    "KernelRidge offset": (KernelRidge(RBF(0.3), alpha=0.1, fit_intercept=True, approximation=40), 1e-10),
    "LSSVC": (LSSVC(RBF(0.3), alpha=0.1, approximation=40), 1e-10),
    "SVC squared": (SVC(RBF(0.3), loss="squared_hinge", approximation=40), 1e-8),
    "SVC": (SVC(RBF(0.3), approximation=40, gap_tol=1e-6), 1e-3),
    "NuSVC": (NuSVC(RBF(0.3), nu=0.2, approximation=40), 1e-3),
    "SVR": (SVR(RBF(0.3), approximation=40), 1e-3),
    "NuSVR": (NuSVR(RBF(0.3), approximation=40), 1e-3),
    "QuantileSVR": (QuantileSVR(RBF(0.3), approximation=40), 1e-3),
    "OneClassSVM": (OneClassSVM(RBF(0.3), nu=0.2, approximation=40), 1e-3),
    "SVDD": (SVDD(RBF(0.3), nu=0.2, approximation=40), 1e-3),
    "LinearSVC": (LinearSVC(), 1e-10),
}


@pytest.mark.parametrize("name", MACHINES)
def test_the_machine_is_that_of_one_machine(name):
    machine, digits = MACHINES[name]
    X = vectors()
    y, weight = targets(machine, X), np.random.default_rng(1).random(N)
    weight[:5] = 0.0
    far = clone(machine).fit(lazy(X), None if y is None else lazy(y), sample_weight=lazy(weight))
    near = clone(machine).fit(in_blocks(X), y, sample_weight=weight)
    wanted = decisions(near, X)
    assert_allclose(decisions(far, X), wanted, rtol=0, atol=digits * np.abs(wanted).max())
    assert far.result_.status == "solved"
    assert_array_equal(far.support_, near.support_)
    if hasattr(near, "full_certificate"):
        for exact in (True, False):
            one, other = far.full_certificate(lazy(X), exact=exact), near.full_certificate(in_blocks(X), exact=exact)
            assert_allclose([one.objective, one.bound], [other.objective, other.bound], rtol=1e-3)


@pytest.mark.parametrize("pivots", ["random", "greedy", "uniform", "leverage", "kmeans"])
def test_landmarks_are_those_of_one_machine(pivots):
    X = vectors()
    machine = KernelRidge(RBF(0.3), alpha=0.1, approximation=Nystroem(n_components=20, pivots=pivots))
    far, near = clone(machine).fit(lazy(X), lazy(values(X))), clone(machine).fit(in_blocks(X), values(X))
    assert_array_equal(far.support_vectors_, near.support_vectors_)
    assert_array_equal(far.support_, near.support_)


def test_several_classes_and_outputs():
    X = vectors()
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    machine = SVC(RBF(0.3), loss="squared_hinge", approximation=40, class_weight="balanced")
    far, near = clone(machine).fit(lazy(X), lazy(y)), clone(machine).fit(in_blocks(X), y)
    assert_allclose(far.decision_function(X), near.decision_function(X), atol=1e-8)
    Y = np.column_stack([values(X), X[:, 2]])
    machine = KernelRidge(RBF(0.3), alpha=0.1, approximation=40)
    far, near = clone(machine).fit(lazy(X), lazy(Y)), clone(machine).fit(in_blocks(X), Y)
    assert_allclose(far.predict(X), near.predict(X), atol=1e-9)
    assert far.predict(lazy(X)).shape == (N, 2)


def test_probabilities():
    X = vectors()
    machine = SVC(RBF(0.3), loss="squared_hinge", approximation=40, probability=True)
    far, near = clone(machine).fit(lazy(X), lazy(classes(X))), clone(machine).fit(in_blocks(X), classes(X))
    assert_allclose(far.predict_proba(lazy(X)).compute(), near.predict_proba(X), atol=1e-6)


def test_frames_have_names():
    X = vectors()
    frame = pandas.DataFrame(X, columns=["a", "b", "c"]).assign(target=classes(X), weight=1.0)
    table = frames.from_pandas(frame, npartitions=3)
    features = table[["a", "b", "c"]]
    machine = SVC(RBF(0.3), approximation=40).fit(features, table["target"], sample_weight=table["weight"])
    plain = SVC(RBF(0.3), approximation=40).fit(in_blocks(X), classes(X))
    assert machine.feature_names_in_.tolist() == ["a", "b", "c"] and machine.classes_.tolist() == ["in", "out"]
    assert_allclose(machine.decision_function(frame[["a", "b", "c"]]), plain.decision_function(X), atol=1e-3)
    found = machine.predict(features)
    assert isinstance(found, array.Array) and np.isnan(found.shape[0]) and found.dtype == machine.classes_.dtype
    assert_array_equal(found.compute(), machine.predict(frame[["a", "b", "c"]]))
    with pytest.raises(ValueError, match="feature names should match"):
        machine.predict(table[["b", "a", "c"]])


def test_cells_read_blocks():
    X = vectors()
    far = Cells(SVC(), cell_size=150).fit(lazy(X), lazy(classes(X)))
    near = Cells(SVC(), cell_size=150).fit(in_blocks(X), classes(X))
    assert_array_equal(far.predict(lazy(X)).compute(), near.predict(X))


@pytest.mark.parametrize("make", [Nystroem, RandomFourier, PolynomialSketch])
def test_maps_of_features(make):
    X = vectors()
    far, near = make(n_components=20), make(n_components=20).fit(in_blocks(X))
    found = far.fit_transform(lazy(X))
    assert isinstance(found, array.Array)
    assert_allclose(found.compute(), near.transform(X), atol=1e-9)
    assert far.kernel_error_ == pytest.approx(near.kernel_error_)


def test_machines_that_need_samples_in_memory_say_so():
    X = lazy(vectors())
    for machine, advice in (
        (KernelPCA(), "with an approximation it takes blocks"),
        (KernelRidge(), "with an approximation it takes blocks"),
        (GaussianProcessRegressor(), "SVR and LinearSVR take blocks"),
    ):
        with pytest.raises(TypeError, match=f"needs X in memory, got a Dask collection; {advice}"):
            machine.fit(X, X[:, 0])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        LinearSVC().fit(X, classes(vectors(20)))


def test_samples_in_memory_may_have_lazy_targets():
    X = vectors(100)
    machine = SVC(RBF(0.3)).fit(X, lazy(classes(X)), sample_weight=lazy(np.ones(100)))
    assert_array_equal(machine.dual_coef_, SVC(RBF(0.3)).fit(X, classes(X)).dual_coef_)


# --- what fitted machines say -------------------------------------------------------------------------------


def on_vectors(machine):
    return isinstance(machine, KernelMachine) and machine._vectors() and not machine._precomputed


SAYS = ("predict", "decision_function", "score_samples", "predict_proba", "predict_log_proba", "transform", "distance")


@pytest.mark.parametrize("name", [name for name, make in REGISTERED.items() if on_vectors(make())])
def test_what_machines_say_is_lazy(name):
    """Blocks give what they give by themselves, and what comes is of the kind that was announced."""
    machine = REGISTERED[name]()
    X, *y = lesson(machine)
    machine.fit(np.abs(X), *y)
    new = array.from_array(np.abs(vectors(10)), chunks=(4, 2))
    for method in [method for method in SAYS if hasattr(machine, method)]:
        found, wanted = getattr(machine, method)(new), getattr(machine, method)(new.compute())
        assert isinstance(found, array.Array), method
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype), method
        assert found.chunks[0] == (4, 4, 2) and isinstance(found._meta, np.ndarray), method
        assert_allclose(found.compute(), wanted, rtol=1e-9, atol=1e-9) if wanted.dtype.kind == "f" else (
            assert_array_equal(found.compute(), wanted)
        )


def test_nothing_is_computed_before_it_is_asked_for():
    X, seen = vectors(), []
    machine = SVC(RBF(0.3)).fit(X, classes(X))

    def block(part):
        seen.append(len(part))
        return part

    found = machine.predict(lazy(X).map_blocks(block, dtype=float, meta=np.empty((0, 0))))
    assert seen == []
    first = found[:3].compute()
    assert seen == [CHUNK]  # the block that was asked for
    assert_array_equal(first, machine.predict(X[:3]))
    with pytest.raises(ValueError, match="X has 2 features, but SVC is expecting 3"):
        machine.predict(lazy(X)[:, :2])


def test_more_than_one_answer():
    X = vectors(50)
    machine = GaussianProcessRegressor(RBF(0.3)).fit(X, values(X))
    mean, std = machine.predict(lazy(X), return_std=True)
    wanted = machine.predict(X, return_std=True)
    assert_allclose(mean.compute(), wanted[0], rtol=1e-9, atol=1e-9)
    assert_allclose(std.compute(), wanted[1], rtol=1e-6, atol=1e-6)


def test_partitions_without_rows():
    X = vectors()
    machine = SVC(RBF(0.3)).fit(pandas.DataFrame(X, columns=["a", "b", "c"]), classes(X))
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    table = frames.from_pandas(frame, npartitions=3)
    none = table[table.a > 100]
    assert len(machine.predict(frames.concat([none, table])).compute()) == N
    assert machine.decision_function(none).compute().shape == (0,)


def test_scores():
    X = vectors()
    machine = SVC(RBF(0.3), approximation=40).fit(lazy(X), lazy(classes(X)))
    assert machine.score(lazy(X), lazy(classes(X))) == machine.score(X, classes(X))
