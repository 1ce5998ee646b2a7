"""Machines in cells: what a partition by hand and a fit of each part give."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from registry import CELLS
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer.cells
from mercer import (
    LSSVC,
    SVC,
    SVR,
    Calibrated,
    Cells,
    GaussianProcessRegressor,
    KernelKMeans,
    KernelPCA,
    KernelRidge,
    NuSVC,
    OneClassSVM,
    checkpoints,
)
from mercer.cells import Voronoi
from mercer.checkpoints import Checkpoint
from mercer.data import RowBlocks
from mercer.datasets import load_promoters
from mercer.errors import CheckpointError, InfeasibleError
from mercer.kernels import RBF, FromFunction, Spectrum

RNG = np.random.default_rng(0)
X = RNG.uniform(-3, 3, size=(500, 2))
VALUES = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1]
TWO = np.where(VALUES + 0.2 * RNG.normal(size=500) > 0, "yes", "no")
FOUR = np.digitize(VALUES, [-0.8, 0.0, 0.7])
NEW = RNG.uniform(-3.5, 3.5, size=(200, 2))
WEIGHT = RNG.integers(0, 3, 500).astype(float)


def nearest_by_hand(X, centres):
    return np.array([np.argmin([np.sum((x - z) ** 2) for z in centres]) for x in X])


def test_registry_is_complete():
    public = {getattr(mercer.cells, name) for name in mercer.cells.__all__}
    assert {type(make()) for make in CELLS.values()} == {item for item in public if issubclass(item, BaseEstimator)}


@pytest.mark.parametrize("centres", ["k-means", "farthest-first", "random"])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weighted"])
def test_each_cell_is_a_machine_of_its_samples(centres, weight):
    machine = Cells(SVR(C=3.0), cell_size=80, centres=centres, overlap=0.0).fit(X, VALUES, sample_weight=weight)
    labels, new = nearest_by_hand(X, machine.partition_.centres), nearest_by_hand(NEW, machine.partition_.centres)
    assert_array_equal(machine.labels_, labels)
    assert_array_equal(machine.cells(NEW), new)
    used = np.ones(500) if weight is None else weight
    assert_array_equal(machine.sizes_, np.bincount(labels[used > 0]))
    assert len(machine.sizes_) > 4 and machine.sizes_.max() <= 160
    wanted = np.empty(200)
    results = []
    for cell in range(len(machine.sizes_)):
        rows = np.flatnonzero((labels == cell) & (used > 0))
        alone = SVR(C=3.0).fit(X[rows], VALUES[rows], sample_weight=None if weight is None else weight[rows])
        results.append(alone.result_)
        if (new == cell).any():
            wanted[new == cell] = alone.predict(NEW[new == cell])
    assert_array_equal(machine.predict(NEW), wanted)
    assert [r.objective for r in machine.certificates_] == [r.objective for r in results]
    assert_allclose(machine.result_.objective, sum(r.objective for r in results))
    assert_allclose(machine.result_.gap, sum(r.gap for r in results))
    assert machine.result_.violation == max(r.violation for r in results)


def test_overlap_adds_the_samples_nearest_to_the_border():
    machine = Cells(SVR(), cell_size=100, overlap=0.25).fit(X, VALUES)
    away = np.sqrt(((X[:, np.newaxis] - machine.partition_.centres) ** 2).sum(axis=2))
    for cell, one in enumerate(machine.estimators_):
        others = np.flatnonzero(machine.labels_ != cell)
        excess = away[others, cell] - away[others, machine.labels_[others]]
        more = others[np.argsort(excess)[: int(np.ceil(0.25 * machine.sizes_[cell]))]]
        rows = np.sort(np.append(np.flatnonzero(machine.labels_ == cell), more))
        assert_array_equal(one.predict(NEW), SVR().fit(X[rows], VALUES[rows]).predict(NEW))


def test_overlap_makes_jumps_smaller():
    """At points of the border, how far what the two sides say is apart."""

    def jump(overlap):
        machine = Cells(SVR(RBF(gamma=1.0), C=10.0, epsilon=0.01), cell_size=100, overlap=overlap).fit(X, VALUES)
        away = machine.partition_.distances(X)
        first, second = np.argsort(away, axis=1)[:, :2].T
        near = np.flatnonzero(np.diff(np.sort(away, axis=1)[:, :2], axis=1)[:, 0] < 0.2)
        values = [
            machine.estimators_[first[i]].predict(X[[i]]) - machine.estimators_[second[i]].predict(X[[i]]) for i in near
        ]
        return np.sqrt(np.mean(np.square(values)))

    assert jump(0.5) < 0.5 * jump(0.0)


def test_one_cell_is_the_machine_itself():
    machine = Cells(SVC(C=2.0)).fit(X, TWO)
    plain = SVC(C=2.0).fit(X, TWO)
    assert len(machine.estimators_) == 1
    assert_array_equal(machine.decision_function(NEW), plain.decision_function(NEW))
    assert_array_equal(machine.predict(NEW), plain.predict(NEW))
    assert machine.result_.objective == plain.result_.objective


def test_classes_that_cells_lack():
    machine = Cells(SVC(), cell_size=25).fit(X, FOUR)
    has = [set(FOUR[machine.labels_ == cell]) for cell in range(len(machine.sizes_))]
    assert min(map(len, has)) == 1 and {2, 3} <= set(map(len, has))
    scores, predicted, cells = machine.decision_function(NEW), machine.predict(NEW), machine.cells(NEW)
    assert_array_equal(machine.classes_[scores.argmax(axis=1)], predicted)
    assert all(k in has[cell] for k, cell in zip(predicted, cells, strict=True))
    for k, row in zip(cells, scores, strict=True):
        present = np.isin(machine.classes_, list(has[k]))
        assert np.all(row[~present] == row[present].min() - 1.0)
    two = Cells(SVC(), cell_size=25).fit(X, TWO)
    assert (two.constants_ >= 0).any() and [m is None for m in two.estimators_] == (two.constants_ >= 0).tolist()
    assert_array_equal(np.where(two.decision_function(NEW) > 0, "yes", "no"), two.predict(NEW))
    assert [r is None for r in two.certificates_] == (two.constants_ >= 0).tolist()


def test_probabilities():
    whole = Calibrated(Cells(SVC(), cell_size=50)).fit(X, FOUR).predict_proba(NEW)
    assert_allclose(whole.sum(axis=1), 1.0)
    machine = Cells(LogisticRegression(), cell_size=60).fit(X, FOUR)
    found = machine.predict_proba(NEW)
    assert_allclose(found.sum(axis=1), 1.0)
    assert_array_equal(machine.classes_[found.argmax(axis=1)], machine.predict(NEW))
    assert not hasattr(machine, "result_") and not hasattr(machine, "certificates_")
    assert not hasattr(Cells(SVC()), "predict_proba") and not hasattr(Cells(SVR()), "decision_function")


@pytest.mark.parametrize("overlap", [0.0, 0.3])
def test_rows_may_come_in_blocks(overlap):
    blocks, new = RowBlocks.from_array(X, rows=70), RowBlocks.from_array(NEW, rows=33)
    for estimator, y in ((SVC(), FOUR), (SVR(), VALUES), (OneClassSVM(nu=0.2), None)):
        machine = Cells(estimator, cell_size=60, overlap=overlap, memory=0.003)
        wanted = clone(machine).fit(X, y)
        found = machine.fit(blocks, y)
        assert_array_equal(found.labels_, wanted.labels_)
        assert_array_equal(found.predict(new), wanted.predict(NEW))
        assert_array_equal(found.cells(new), wanted.cells(NEW))


def test_samples_of_cells_are_fetched_within_the_budget(monkeypatch):
    fetched, fetch = [], RowBlocks.__getitem__
    monkeypatch.setattr(RowBlocks, "__getitem__", lambda self, rows: fetched.append(len(rows)) or fetch(self, rows))
    Cells(SVC(), cell_size=40, memory=0.003, centres="random").fit(RowBlocks.from_array(X, rows=70), TWO)
    assert max(fetched[1:]) <= max(80, 0.003 * 2**20 / 16 / 2)


def test_anything_that_has_a_kernel():
    strings, promoter = load_promoters(return_X_y=True)
    machine = Cells(SVC(Spectrum(3).normalized()), cell_size=30).fit(strings, promoter)
    K = Spectrum(3).normalized()(strings, machine.partition_.centres)
    assert_array_equal(machine.labels_, K.argmax(axis=1))  # all have the norm one
    assert machine.score(strings, promoter) > 0.9
    away = machine.partition_.distances(strings[:5])
    assert_allclose(away, np.sqrt(2 - 2 * K[:5]), atol=1e-7)


def test_the_space_of_a_kernel_and_that_of_vectors_may_be_chosen():
    by_kernel = Cells(SVC(RBF(gamma=0.1)), cell_size=60, space="kernel", centres="farthest-first").fit(X, TWO)
    by_vectors = Cells(SVC(RBF(gamma=0.1)), cell_size=60, space="vectors", centres="farthest-first").fit(X, TWO)
    # The kernel falls with the distance: the same cells.
    assert_array_equal(by_kernel.labels_, by_vectors.labels_)
    sparse = Cells(SVC(RBF(gamma=0.1)), cell_size=60, centres="random")
    assert_array_equal(sparse.fit(csr_array(X), TWO).predict(csr_array(NEW)), sparse.fit(X, TWO).predict(NEW))


def test_crowded_cells_are_divided():
    crowd = np.concatenate([RNG.normal(scale=1e-3, size=(450, 2)), RNG.uniform(-5, 5, size=(50, 2))])
    y = RNG.integers(0, 2, 500)
    for centres in ("k-means", "farthest-first", "random"):
        sizes = Cells(SVC(), cell_size=50, centres=centres).fit(crowd, y).sizes_
        assert sizes.max() <= 100 and sizes.min() > 0
    same = np.concatenate([np.zeros((300, 2)), crowd[450:]])
    machine = Cells(SVC(), cell_size=50).fit(same, y[:350])
    assert machine.sizes_.max() >= 300 and machine.sizes_.min() > 0  # there is no border between equals


def test_threads_and_seeds():
    one = Cells(SVC(), cell_size=30, overlap=0.1, n_threads=1).fit(X, FOUR)
    two = Cells(SVC(), cell_size=30, overlap=0.1, n_threads=2).fit(X, FOUR)
    assert_array_equal(one.decision_function(NEW), two.decision_function(NEW))
    assert all(m.n_threads is None for m in two.estimators_ if m is not None)
    other = Cells(SVC(), cell_size=30, random_state=1).fit(X, FOUR)
    assert len(other.labels_) != len(one.labels_) or (other.labels_ != one.labels_).any()


def test_other_machines():
    ridge = Cells(KernelRidge(alpha=0.1), cell_size=100).fit(X, np.column_stack([VALUES, X[:, 0]]))
    assert ridge.predict(NEW).shape == (200, 2) and ridge.score(X, np.column_stack([VALUES, X[:, 0]])) > 0.95
    novelty = Cells(OneClassSVM(nu=0.2), cell_size=100).fit(X)
    assert abs(np.mean(novelty.predict(X) == -1) - 0.2) < 0.05
    assert_array_equal(novelty.predict(NEW), np.where(novelty.score_samples(NEW) >= 0, 1, -1))
    assert not hasattr(novelty, "score") and hasattr(novelty, "fit_predict")
    piped = Cells(make_pipeline(StandardScaler(), SVC()), cell_size=100).fit(X, TWO)
    assert piped.score(X, TWO) > 0.85


def test_results_of_all_machines_that_have_them():
    """Sums are of certificates only: an evidence is no objective with a bound."""
    for estimator, y in (
        (KernelRidge(alpha=0.1), VALUES),
        (LSSVC(), TWO),
        (GaussianProcessRegressor(RBF(), optimize=False, noise=0.1), VALUES),
    ):
        machine = Cells(estimator, cell_size=150).fit(X, y)
        results = [None if one is None else one.result_ for one in machine.estimators_]
        assert any(result is not None for result in results) and machine.certificates_ == results
        assert not hasattr(machine, "result_")
    assert not hasattr(Cells(LogisticRegression(), cell_size=150).fit(X, TWO), "certificates_")


class Killed(BaseException):
    """As sudden as a signal: nothing is written any more."""


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize(
    ("estimator", "y"),
    [
        (SVC(approximation=20), TWO),
        (KernelRidge(alpha=0.1), VALUES),
        (make_pipeline(StandardScaler(), SVC()), FOUR),
        (LogisticRegression(), TWO),
    ],
    ids=["landmarks", "ridge", "pipeline", "scikit-learn"],
)
def test_a_fit_that_was_killed_goes_on_with_the_other_cells(estimator, y, blocks, n_threads, tmp_path, monkeypatch):
    path = tmp_path / "cells.checkpoint"
    cells = Cells(estimator, cell_size=60, random_state=None, overlap=0.1, n_threads=n_threads)
    kept = clone(cells).set_params(checkpoint=Checkpoint(path, seconds=0.0))
    monkeypatch.setattr(checkpoints, "PARTS", 1)
    fits, fit = [], type(estimator).fit

    def dying(self, *args, **kwargs):
        if len(fits) == 4:
            raise Killed
        fits.append(args[0].copy())
        return fit(self, *args, **kwargs)

    def samples():
        return RowBlocks([X[:200], X[200:]]) if blocks else X

    monkeypatch.setattr(type(estimator), "fit", dying)
    with pytest.raises(Killed):
        kept.fit(samples(), y)
    monkeypatch.setattr(
        type(estimator), "fit", lambda self, *args, **kw: fits.append(args[0]) or fit(self, *args, **kw)
    )
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match="is of other samples"):
        clone(kept).fit(X + 1.0, y)
    with pytest.raises(CheckpointError, match=r"is of a fit with other parameters \(overlap\)"):
        clone(kept).set_params(overlap=0.2).fit(samples(), y)
    assert path.read_bytes() == before
    kept.fit(samples(), y)
    assert not path.exists()
    machines = [one for one in kept.estimators_ if one is not None]
    assert len(machines) > 6 and len(fits) <= len(machines) + n_threads
    # Centres were drawn by chance: those of the first run.
    whole = clone(cells)
    monkeypatch.setattr(Cells, "_divide", lambda self, X, weight: vars(self).update(divided))
    divided = {name: getattr(kept, name) for name in ("partition_", "labels_", "sizes_")}
    whole.fit(samples(), y)
    assert_array_equal(kept.predict(NEW), whole.predict(NEW))
    for one, other in zip(kept.estimators_, whole.estimators_, strict=True):
        assert (one is None) == (other is None) and repr(one) == repr(other)
    assert hasattr(kept, "certificates_") == hasattr(whole, "certificates_")


def test_checkpoints_of_machines_with_callbacks(tmp_path):
    """They are parameters that the solution does not depend on, and that no file holds."""
    path, calls = tmp_path / "cells.checkpoint", []

    def killing(progress):
        calls.append(progress)
        if len(calls) == 4:
            raise Killed

    machine = Cells(SVC(callback=killing), cell_size=60, checkpoint=Checkpoint(path, seconds=0.0))
    with pytest.raises(Killed):
        machine.fit(X, TWO)
    assert path.exists()
    machine.fit(X, TWO)
    assert all(one.callback is killing for one in machine.estimators_ if one is not None) and not path.exists()
    assert_array_equal(machine.predict(NEW), Cells(SVC(), cell_size=60).fit(X, TWO).predict(NEW))


def test_what_cannot_be_done_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"estimator must have no checkpoint, got .* all cells would share"):
        Cells(SVC(checkpoint="fit.checkpoint")).fit(X, TWO)
    with pytest.raises(ValueError, match="estimator must have no svc__checkpoint"):
        Cells(make_pipeline(SVC(checkpoint="fit.checkpoint"))).fit(X, TWO)
    with pytest.raises(ValueError, match="checkpoint must be None for an estimator that no file can hold"):
        Cells(SVC(FromFunction(lambda X, Y: X @ Y.T)), checkpoint=tmp_path / "cells").fit(X, TWO)
    for machine in (KernelKMeans(), KernelPCA()):
        with pytest.raises(
            TypeError, match="estimator must be a classifier, regressor or novelty detector, got Kernel"
        ):
            Cells(machine).fit(X)
    with pytest.raises(ValueError, match=r"cell_size must be an int >= 1, got 0"):
        Cells(SVC(), cell_size=0).fit(X, TWO)
    with pytest.raises(ValueError, match="centres must be 'farthest-first' or 'random' in the space of a kernel"):
        Cells(SVC(), space="kernel", centres="k-means").fit(X, TWO)
    with pytest.raises(ValueError, match="space must be 'auto' or 'vectors'"):
        Cells(LogisticRegression(), space="kernel").fit(X, TWO)
    with pytest.raises(ValueError, match="space must be 'auto' or 'kernel'"):
        Cells(SVC(Spectrum(2)), space="vectors").fit(["ab", "ba"], [0, 1])
    with pytest.raises(ValueError, match="estimator must learn from samples"):
        Cells(SVC("precomputed")).fit(np.eye(4), [0, 0, 1, 1])
    with pytest.raises(TypeError, match="estimator must be a classifier, regressor or novelty detector"):
        Cells(StandardScaler()).fit(X, TWO)
    with pytest.raises(ValueError, match="C must be"):
        Cells(SVC(C=-1.0)).fit(X, TWO)
    with pytest.raises(TypeError, match="sample_weight needs an estimator that takes it"):
        Cells(make_pipeline(SVC())).fit(X, TWO, sample_weight=WEIGHT)
    with pytest.raises(InfeasibleError, match=r"In cell \d+ of \d+, specified nu is infeasible"):
        Cells(NuSVC(nu=0.9), cell_size=50).fit(X, TWO)
    fitted = Cells(SVC(), cell_size=100).fit(X, TWO)
    with pytest.warns(UserWarning, match="Cells of SVC did not reach a proved optimum"):
        fitted.set_params(estimator__max_iter=1).fit(X, TWO)


def test_the_partition_by_itself():
    partition = Voronoi(np.array([[0.0, 0.0], [4.0, 0.0]], dtype=np.float32))
    assert len(partition) == 2
    assert_array_equal(partition.nearest(np.array([[2.0, 5.0], [3.0, 0.0]])), [0, 1])  # the first of equal ones
    assert_allclose(partition.distances(np.array([[3.0, 4.0]])), [[5.0, np.sqrt(17)]])
