"""Fits that are killed go on from their checkpoint: same optimum, fewer steps, and no file is used for another fit."""

import errno
import os
import pathlib
import signal
import subprocess
import sys
import time
from dataclasses import replace
from inspect import signature
from itertools import count
from textwrap import dedent
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer import (
    LSSVC,
    SVC,
    SVDD,
    SVR,
    KernelKMeans,
    KernelLogisticRegression,
    KernelPCA,
    KernelRidge,
    LinearOneClassSVM,
    LinearSVC,
    LinearSVR,
    NuSVC,
    NuSVR,
    Nystroem,
    OneClassSVM,
    QuantileSVR,
    checkpoints,
)
from mercer.checkpoints import Checkpoint
from mercer.data import RowBlocks
from mercer.errors import CheckpointError, ForeignFileError
from mercer.kernels import RBF, FromFunction
from mercer.persist.container import read_header
from mercer.solvers import SMO, CoordinateDescent, LinearSolver, Progress, ProximalNewton, SimpleSMO, kept

N = 700
X = np.random.default_rng(0).normal(loc=[0.0, 0.0, 3.0], size=(N, 3))
NOISE = np.random.default_rng(1).normal(size=N)
VALUES = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * NOISE
CLASSES = np.where(VALUES > 0.2, "above", "below")
THREE = np.digitize(VALUES, [-0.7, 0.7])

# Every estimator that has the parameter, exact and over landmarks, by all solvers that keep a state.
FITS = {
    "SVC": (lambda: SVC(C=100.0), CLASSES),
    "SVC gap_tol": (lambda: SVC(C=10.0, gap_tol=1e-8), CLASSES),
    "SVC simple": (lambda: SVC(solver=SimpleSMO(tol=1e-2)), CLASSES),
    "SVC landmarks": (lambda: SVC(approximation=20), CLASSES),
    "SVC squared_hinge landmarks": (lambda: SVC(approximation=20, loss="squared_hinge"), CLASSES),
    "SVC pairs": (lambda: SVC(C=10.0), THREE),
    "SVC probability": (lambda: SVC(probability=True), CLASSES),
    "NuSVC": (lambda: NuSVC(nu=0.3), CLASSES),
    "NuSVC landmarks": (lambda: NuSVC(nu=0.3, approximation=20), CLASSES),
    "SVR": (lambda: SVR(C=10.0), VALUES),
    "SVR landmarks": (lambda: SVR(C=10.0, approximation=20), VALUES),
    "SVR outputs": (lambda: SVR(), np.column_stack([VALUES, VALUES**2])),
    "NuSVR": (lambda: NuSVR(), VALUES),
    "QuantileSVR": (lambda: QuantileSVR(approximation=20), VALUES),
    "OneClassSVM": (lambda: OneClassSVM(nu=0.3, approximation=20), None),
    "SVDD": (lambda: SVDD(nu=0.3), None),
    "LinearSVC": (lambda: LinearSVC(), CLASSES),
    "LinearSVC classes": (lambda: LinearSVC(), THREE),
    "LinearSVR": (lambda: LinearSVR(), VALUES),
    "LinearSVR descent": (lambda: LinearSVR(solver="descent", tol=1e-9), VALUES),
    "LinearOneClassSVM": (lambda: LinearOneClassSVM(nu=0.3), None),  # of samples away from the origin
    "KernelRidge": (lambda: KernelRidge(alpha=1e-6, approximation=20, tol=1e-12), VALUES),
    "KernelRidge intercept": (lambda: KernelRidge(alpha=1e-6, approximation=20, fit_intercept=True), VALUES),
    "LSSVC": (lambda: LSSVC(alpha=1e-6, approximation=20, tol=1e-12), THREE),
    "KernelLogisticRegression": (lambda: KernelLogisticRegression(C=10.0), CLASSES),
    "KernelLogisticRegression classes": (lambda: KernelLogisticRegression(C=10.0), THREE),
    "KernelLogisticRegression landmarks": (lambda: KernelLogisticRegression(C=10.0, approximation=20), THREE),
    "KernelKMeans": (lambda: KernelKMeans(n_clusters=6, n_init=4), None),
    "KernelKMeans landmarks": (lambda: KernelKMeans(n_clusters=6, init=np.arange(6), approximation=20), None),
    "KernelPCA": (lambda: KernelPCA(RBF(gamma=0.05), n_components=4), None),
    "KernelPCA landmarks": (
        lambda: KernelPCA(RBF(gamma=1.0), n_components=4, approximation=100, eigen_solver="lanczos"),
        None,
    ),
}
every_fit = pytest.mark.parametrize(("make", "y"), FITS.values(), ids=FITS.keys())


@pytest.fixture(autouse=True)
def no_luck(monkeypatch):
    """Files are written as often as is asked for, and the rounds of solvers that keep nothing are counted in calls."""
    ticks = count()
    monkeypatch.setattr(checkpoints, "PARTS", 1)
    monkeypatch.setattr(kept, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "fit.checkpoint")


class Killed(BaseException):
    """As sudden as a signal: nothing is written any more."""


def killed_after(machine, calls, X, y):
    """Fit, and die at this call of the callback, or of the product of ridge regression; the steps that were told."""
    steps = []

    def die(progress):
        steps.append(progress.n_iter)
        if len(steps) == calls:
            raise Killed

    with pytest.raises(Killed):
        machine.set_params(callback=die).fit(X, y)
    machine.set_params(callback=None)
    return steps


def dies_in_ridge(monkeypatch, calls):
    """The product of conjugate gradients, which dies at one of its calls."""
    from mercer.solvers.landmark_ridge import _Run

    times, calls_made = _Run._times, []

    def product(self, v):
        calls_made.append(1)
        if len(calls_made) == calls:
            raise Killed
        return times(self, v)

    monkeypatch.setattr(_Run, "_times", product)
    return calls_made


def test_every_machine_with_the_parameter_is_here():
    here = {name.split()[0] for name in FITS}
    classes = [getattr(mercer, name) for name in mercer.__all__]
    having = {c.__name__ for c in classes if isinstance(c, type) and "checkpoint" in signature(c).parameters}
    assert having == here | {"Cells"}  # which keep machines that are finished, see test_cells.py


# --- going on -----------------------------------------------------------------------------------------------


@every_fit
@pytest.mark.parametrize("share", [0.3, 0.95])
def test_goes_on_to_the_same_optimum(make, y, share, path, monkeypatch):
    plain, told = make().fit(X, y), []
    machine = make().set_params(checkpoint=Checkpoint(path, seconds=0.0))
    if isinstance(machine, KernelLogisticRegression | KernelKMeans | KernelPCA):
        return goes_on_after_a_note(machine, plain, y, share, monkeypatch)
    if "callback" not in machine.get_params():
        return goes_on_in_ridge(machine, plain, y, share, monkeypatch)
    clone(machine).set_params(callback=lambda progress: told.append(progress.n_iter)).fit(X, y)
    n_calls = len(told)
    # The first round of a solver that keeps nothing ends with the second call.
    killed_after(machine, max(3, int(share * n_calls)), X, y)
    assert os.path.exists(path)
    told = []
    machine.set_params(callback=lambda progress: told.append(progress.n_iter)).fit(X, y)
    assert not os.listdir(os.path.dirname(path))
    # An optimum up to the gaps of both.
    gaps = plain.result_.gap + machine.result_.gap + 1e-9 * abs(plain.result_.objective)
    assert machine.result_.status == "solved"
    assert abs(machine.result_.objective - plain.result_.objective) <= gaps
    if not machine.result_.parts and not machine.get_params().get("probability"):
        # Landmarks begin with a part of the samples, of which nothing is kept.
        assert len(told) < n_calls or (share < 0.5 and "approximation" in machine.get_params())
        assert machine.n_iter_ == machine.result_.history.iteration[-1] > 0
    return None


def goes_on_in_ridge(machine, plain, y, share, monkeypatch):
    """No step is made twice, and nothing is another but by rounding."""
    done = max(1, int(share * plain.n_iter_))
    with monkeypatch.context() as patched, pytest.raises(Killed):
        dies_in_ridge(patched, done + 1)
        machine.fit(X, y)
    calls_made = dies_in_ridge(monkeypatch, None)
    machine.fit(X, y)
    assert machine.n_iter_ == plain.n_iter_ > 4
    assert len(calls_made) == plain.n_iter_ - done
    assert_allclose(machine.dual_coef_, plain.dual_coef_, rtol=1e-6, atol=1e-8 * np.abs(plain.dual_coef_).max())


def dies_when_it_notes(monkeypatch, calls):
    """What keeps the state of a solver, which dies after one of its calls."""
    note, calls_made = checkpoints.Bookmark.note, []

    def told(self, state):
        note(self, state)
        calls_made.append(1)
        if len(calls_made) == calls:
            raise Killed

    monkeypatch.setattr(checkpoints.Bookmark, "note", told)
    return calls_made


def goes_on_after_a_note(machine, plain, y, share, monkeypatch):
    """Steps that have been kept are not made again, and the same is found."""
    with monkeypatch.context() as patched:
        all_calls = dies_when_it_notes(patched, None)
        clone(machine).fit(X, y)
    done = max(1, int(share * len(all_calls)))
    with monkeypatch.context() as patched, pytest.raises(Killed):
        dies_when_it_notes(patched, done)
        machine.fit(X, y)
    assert os.path.exists(machine.checkpoint.path)
    with monkeypatch.context() as patched:
        left = dies_when_it_notes(patched, None)
        machine.fit(X, y)
    assert not os.path.exists(machine.checkpoint.path)
    assert len(left) <= len(all_calls) - done + 1
    assert machine.result_.status == plain.result_.status in ("solved", "local")
    assert machine.n_iter_ == plain.n_iter_ or isinstance(machine, KernelPCA)  # which draws other directions
    assert machine.result_.objective == pytest.approx(plain.result_.objective, rel=1e-6)
    answer = "transform" if isinstance(machine, KernelPCA) else "decision_function" if y is not None else "predict"
    found, wanted = getattr(machine, answer)(X), getattr(plain, answer)(X)
    assert_allclose(found, wanted, atol=1e-6 * np.abs(wanted).max())


def test_to_the_last_bit(path):
    """Coordinate descent has nothing that is not kept."""
    # Told as often, a run makes its epochs in the same portions.
    plain = LinearSVR(solver="descent", tol=1e-9, callback=lambda progress: False).fit(X, VALUES)
    machine = LinearSVR(solver="descent", tol=1e-9, checkpoint=Checkpoint(path, seconds=0.0))
    killed_after(machine, 4, X, VALUES)
    machine.fit(X, VALUES)
    assert machine.n_iter_ == plain.n_iter_ > 400
    assert_array_equal(machine.coef_, plain.coef_)


def test_limits_count_over_all_runs(path):
    steps = SVC(C=100.0).fit(X, CLASSES).n_iter_
    machine = SVC(C=100.0, checkpoint=path, max_iter=steps // 2)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        machine.fit(X, CLASSES)
    reached = machine.n_iter_
    assert steps // 2 <= reached < steps and os.path.exists(path)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        machine.fit(X, CLASSES)
    assert machine.n_iter_ == reached  # the limit was reached by the run before
    seconds = machine.result_.seconds
    machine.set_params(max_iter=None).fit(X, CLASSES)
    assert machine.result_.status == "solved" and machine.n_iter_ > reached and machine.result_.seconds > seconds
    assert (np.diff(machine.result_.history.iteration) >= 0).all()
    assert not os.path.exists(path)


@pytest.mark.parametrize(
    ("make", "y", "limit"),
    [
        (lambda: SVC(approximation=20), CLASSES, 5),
        (lambda: LinearSVC(), CLASSES, 3),
        (lambda: LinearSVR(solver="descent", tol=1e-9), VALUES, 300),
        (lambda: KernelRidge(alpha=1e-6, approximation=20, tol=1e-12), VALUES, 4),
        (lambda: KernelLogisticRegression(C=10.0, approximation=20), CLASSES, 2),
        (lambda: KernelLogisticRegression(C=10.0), CLASSES, 2),
        (lambda: KernelPCA(RBF(gamma=1.0), n_components=4), None, 8),
    ],
    ids=["landmarks", "newton", "descent", "ridge", "logistic landmarks", "logistic", "components"],
)
def test_limits_of_solvers_over_features(make, y, limit, path):
    whole = make().fit(X, y)
    machine = make().set_params(checkpoint=path, max_iter=limit)
    for _ in range(2):
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            machine.fit(X, y)
        assert machine.n_iter_ == limit < whole.n_iter_
    machine.set_params(max_iter=whole.max_iter).fit(X, y)
    assert machine.n_iter_ >= limit and machine.result_.status == "solved"
    assert abs(machine.result_.objective - whole.result_.objective) <= 1e-9 + machine.result_.gap + whole.result_.gap


def test_clusters_go_on_in_double_precision(path, monkeypatch):
    """The file knows in which of the two stages the fit is, and where all starts have ended."""
    monkeypatch.setattr("mercer.cluster.kernel_kmeans.FULL_SIZE", 100)
    machine = KernelKMeans(n_clusters=6, n_init=4, max_iter=12, checkpoint=path)
    with pytest.warns(ConvergenceWarning, match="was not given the time"):
        machine.fit(X)
    objectives, reached = machine.result_.objectives, machine.n_iter_
    assert reached == 13 and len(objectives) == 4  # and a step in float64
    machine.set_params(max_iter=300).fit(X)
    assert machine.result_.status == "local" and machine.n_iter_ > reached
    assert_array_equal(machine.result_.objectives, objectives)
    assert machine.inertia_ < objectives.min() and not os.path.exists(path)


def test_clusters_that_had_no_time_go_on(path):
    for make in (FITS["KernelKMeans"][0], FITS["KernelKMeans landmarks"][0]):
        whole = make().fit(X)
        machine = make().set_params(checkpoint=path, max_iter=2)
        for _ in range(2):
            with pytest.warns(ConvergenceWarning, match="was not given the time"):
                machine.fit(X)
        seconds = machine.result_.seconds
        machine.set_params(max_iter=300).fit(X)
        assert machine.result_.status == "local" and not os.path.exists(path)
        assert machine.n_iter_ > 2 and machine.result_.seconds > seconds
        assert machine.inertia_ == pytest.approx(whole.inertia_, rel=0.05)


def test_seconds_count_over_all_runs(path):
    """Seconds that earlier runs have taken are no longer there."""
    machine = SVC(C=100.0, checkpoint=Checkpoint(path, seconds=0.0))
    killed_after(machine, 5, X, CLASSES)
    machine.set_params(max_seconds=1e-6)
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        machine.fit(X, CLASSES)
    reached = machine.n_iter_
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        assert machine.fit(X, CLASSES).n_iter_ == reached


def test_problems_that_are_done_are_not_solved_again(path, monkeypatch):
    """Three classes make three problems."""
    solved, solve = [], SMO.solve

    def told(self, problem, start=None, callback=None):
        solved.append(len(problem.index))
        return solve(self, problem, start, callback)

    monkeypatch.setattr(SMO, "solve", told)
    machine = SVC(checkpoint=Checkpoint(path, seconds=0.0))
    plain = clone(machine).set_params(checkpoint=None).fit(X, THREE)

    def die(progress):
        if len(set(solved)) == 3:  # the last one has begun
            raise Killed

    with pytest.raises(Killed):
        machine.set_params(callback=die).fit(X, THREE)
    first = set(solved)
    solved.clear()
    machine.set_params(callback=None).fit(X, THREE)
    assert set(solved) < first and len(set(solved)) == 1
    assert_allclose(machine.decision_function(X), plain.decision_function(X), atol=5e-3)


def test_folds_that_are_drawn_anew_are_other_problems(path):
    machine = SVC(probability=True, random_state=np.random.RandomState(0), checkpoint=Checkpoint(path, seconds=0.0))
    killed_after(machine, 25, X, CLASSES)
    again = SVC(probability=True, random_state=np.random.RandomState(0), checkpoint=path).fit(X, CLASSES)
    assert again.result_.status == "solved"
    free = SVC(probability=True, random_state=None, checkpoint=Checkpoint(path, seconds=0.0))
    killed_after(free, 25, X, CLASSES)
    assert clone(free).fit(X, CLASSES).result_.status == "solved"


@pytest.mark.parametrize("n_classes", [2, 3])
def test_logistic_regression_begins_with_some_of_many_samples(n_classes, path):
    """The file knows in which of the two runs it is, and what the next step draws."""
    rng = np.random.default_rng(3)
    many = rng.normal(size=(2500, 2))
    y = np.digitize(many[:, 0] + many[:, 1] ** 2 + 0.3 * rng.normal(size=2500), [0.5, 1.5][: n_classes - 1])
    plain = KernelLogisticRegression(RBF(gamma=0.3), approximation=20).fit(many, y)
    machine = clone(plain).set_params(checkpoint=Checkpoint(path, seconds=0.0))
    with pytest.MonkeyPatch.context() as patched:
        n_calls = dies_when_it_notes(patched, None)
        clone(machine).fit(many, y)
    for k in range(1, len(n_calls)):
        with pytest.MonkeyPatch.context() as patched, pytest.raises(Killed):
            dies_when_it_notes(patched, k)
            machine.fit(many, y)
        machine.fit(many, y)
        assert machine.n_iter_ == plain.n_iter_ and machine.result_.status == "solved"
        assert (np.diff(machine.result_.history.iteration) >= 0).all()
        assert_allclose(machine.dual_coef_, plain.dual_coef_, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("pivots", ["random", "uniform", "leverage", "kmeans"])
def test_landmarks_are_those_that_were_chosen(pivots, path):
    """Also where nobody could draw them again."""
    machine = SVC(RBF(), approximation=Nystroem(n_components=15, pivots=pivots, random_state=None))
    machine.set_params(checkpoint=Checkpoint(path, seconds=0.0))
    chosen = []
    fit = Nystroem.fit

    def told(self, *args, **kwargs):
        chosen.append(fit(self, *args, **kwargs))
        return self

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Nystroem, "fit", told)
        killed_after(machine, 4, X, CLASSES)
        machine.fit(X, CLASSES)
    (first,) = chosen
    for name in ("support_", "support_vectors_", "dual_coef_", "unexplained_", "kernel_error_", "n_features_in_"):
        assert_array_equal(getattr(machine.approximation_, name), getattr(first, name))
    assert_array_equal(machine.approximation_.transform(X[:5]), first.transform(X[:5]))


def test_many_samples_begin_with_some_of_them(path):
    """Kernel values in float32 first: the file knows in which of the two runs it is."""
    n, m = 4000, 20
    many = np.random.default_rng(3).normal(size=(n, 2))
    y = np.where(np.sin(2 * many[:, 0]) * many[:, 1] > 0, 1, 0)
    for loss in ("hinge", "squared_hinge"):
        plain = SVC(approximation=m, loss=loss).fit(many, y)
        machine = SVC(approximation=m, loss=loss, checkpoint=Checkpoint(path, seconds=0.0))
        rough, note = [], checkpoints.Bookmark.note

        def told(self, state, rough=rough, note=note):
            rough.append(state.get("rough"))
            note(self, state)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(checkpoints.Bookmark, "note", told)
            calls = []
            clone(machine).set_params(callback=lambda progress, calls=calls: calls.append(progress.n_iter)).fit(many, y)
        assert True in rough and False in rough
        for k in range(2, len(calls), 6):
            again = clone(machine)
            killed_after(again, k, many, y)
            again.fit(many, y)
            gaps = again.result_.gap + plain.result_.gap + 1e-9 * plain.result_.primal_objective
            assert abs(again.result_.objective - plain.result_.objective) <= gaps
            assert not os.path.exists(path)


def test_blocks(path):
    blocks = RowBlocks([X[:300], lambda: X[300:]])
    machine = SVC(approximation=20, checkpoint=Checkpoint(path, seconds=0.0))
    killed_after(machine, 4, blocks, CLASSES)
    other = RowBlocks([X[:300], lambda: X[300:] + 1e-9])
    with pytest.raises(CheckpointError, match="other samples"):
        machine.fit(other, CLASSES)
    assert machine.fit(RowBlocks([X[:300], X[300:]]), CLASSES).result_.status == "solved"


def test_where_descent_stalls_newton_goes_on(path):
    """The state of the solver that came second is not taken for that of the first."""
    wide = np.random.default_rng(4).normal(size=(1500, 1100))
    y = np.where(wide[:, 0] > 0, 1, 0)
    gram = mercer.gram.LinearGram(wide)
    assert isinstance(
        LinearSolver().pick(mercer.problems.soft_margin(gram, 2.0 * y - 1, np.ones(1500))), CoordinateDescent
    )
    stalled, solve_on = [], CoordinateDescent.solve_on

    def stalls(self, problem, start, callback, bookmark):
        stalled.append(1)
        return replace(solve_on(self.set_params(max_iter=1), problem, start, callback, bookmark), status="stalled")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(CoordinateDescent, "solve_on", stalls)
        machine = LinearSVC(C=1e-3, checkpoint=Checkpoint(path, seconds=0.0))
        killed_after(machine, 5, wide, y)
        assert machine.fit(wide, y).result_.status == "solved" and len(stalled) == 1


def test_hard_margins_are_solved_in_one_go(path):
    apart = np.abs(VALUES) > 1
    machine = LinearSVC(C=np.inf, checkpoint=Checkpoint(path, seconds=0.0), callback=lambda progress: False)
    assert machine.fit(VALUES[apart, np.newaxis], CLASSES[apart]).result_.status == "solved"
    assert not os.path.exists(path)


def test_callbacks_that_stop_are_believed(path):
    with pytest.warns(ConvergenceWarning, match="The callback stopped it"):
        machine = SVC(C=100.0, checkpoint=path, callback=lambda progress: progress.n_iter > 100).fit(X, CLASSES)
    assert machine.result_.status == "stopped" and os.path.exists(path)


# --- what it costs ------------------------------------------------------------------------------------------


def test_rounds_grow_with_what_they_cost_beside_steps(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(kept, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    clock = kept._Clock(10.0, None)

    def told(n_iter, seconds):
        now[0] += seconds
        return clock(Progress(n_iter, 0.0, 1.0, 0.0))

    with clock.round(None):
        assert not told(0, 3.0)  # a gradient from nothing
        assert not told(1, 9.9)
        assert told(2, 0.1)
        now[0] += 5.0  # and a certificate
    with clock.round(None):
        assert not told(0, 2.0)
        assert not told(1, 8.0 * 9 - 0.1)
        assert told(2, 0.1)


def test_no_round_ends_without_a_step(monkeypatch):
    """The next one would begin at the same point, and so on for ever; also where a solver has a second look."""
    monkeypatch.setattr(kept, "time", SimpleNamespace(perf_counter=lambda: 0.0))
    clock = kept._Clock(0.0, None)
    with clock.round(None):
        assert [bool(clock(Progress(n, 0.0, 1.0, 0.0))) for n in (0, 0, 3)] == [False, False, True]
    with clock.round(None):
        assert [bool(clock(Progress(n, 0.0, 1.0, 0.0))) for n in (0, 0, 2)] == [False, False, True]


def test_writing_is_rare_where_it_is_slow(path, monkeypatch):
    monkeypatch.setattr(checkpoints, "PARTS", 10)
    fit = checkpoints.SavedFit(Checkpoint(path, seconds=10.0), "SVC", {})
    now = [100.0]

    def slow(path, document, arrays):
        pathlib.Path(path).write_bytes(b"")
        now[0] += 5.0

    monkeypatch.setattr(checkpoints, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    monkeypatch.setattr("mercer.persist.container.write", slow)
    fit.write()
    now[0] += 5.0 * 9 - 0.1
    assert not fit.is_due()
    now[0] += 0.2
    assert fit.is_due()


# --- what is refused ----------------------------------------------------------------------------------------


def begun(path, **parameters):
    machine = SVC(C=100.0, checkpoint=Checkpoint(path, seconds=0.0), **parameters)
    killed_after(machine, 5, X, CLASSES)
    return machine, pathlib.Path(path).read_bytes()


def other_value(place):
    changed = X.copy()
    changed[place] += 1e-12
    return changed


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        ({}, (other_value((5, 1)), CLASSES), "is of other samples"),
        ({}, (X[:-1], CLASSES[:-1]), "is of other samples"),
        ({}, (X.astype(np.float32), CLASSES), "is of other samples"),
        ({}, (X, np.roll(CLASSES, 1)), "is of other labels or values y"),
        ({}, (X, CLASSES, np.arange(1.0, N + 1)), "is of other sample weights"),
        ({"C": 99.0}, (X, CLASSES), r"is of a fit with other parameters \(C\)"),
        ({"kernel": RBF(gamma=0.5), "tol": 1e-2}, (X, CLASSES), r"with other parameters \(kernel, tol\)"),
        ({"approximation": 20}, (X, CLASSES), r"with other parameters \(approximation\)"),
    ],
)
def test_files_of_other_fits_are_refused_and_left(path, change, arguments, message):
    machine, content = begun(path)
    with pytest.raises(CheckpointError, match=f"{message}.*to fit anew, give another file as checkpoint or remove"):
        clone(machine).set_params(**change).fit(*arguments)
    assert pathlib.Path(path).read_bytes() == content
    # Neither the limits nor the machine of the computer matter.
    machine.set_params(max_iter=10**6, max_seconds=1e3, memory=50.0, n_threads=1, callback=lambda progress: None)
    assert machine.fit(X, CLASSES, np.ones(N)).result_.status == "solved"


def test_files_of_other_machines_and_versions_are_refused(path, monkeypatch):
    machine, content = begun(path)
    with pytest.raises(CheckpointError, match=r"is of a fit of SVC, this is NuSVC"):
        NuSVC(checkpoint=path).fit(X, CLASSES)
    with monkeypatch.context() as patched:
        patched.setattr(mercer, "__version__", "9.0")
        with pytest.raises(CheckpointError, match=r"was written by version 0\.1\.0 of mercer, this is 9\.0"):
            machine.fit(X, CLASSES)
    with monkeypatch.context() as patched:
        patched.setattr(checkpoints, "FORMAT", 2)
        with pytest.raises(CheckpointError, match="in version 1 of the format, this mercer has 2"):
            machine.fit(X, CLASSES)
    assert pathlib.Path(path).read_bytes() == content


def test_damaged_files_are_refused_and_left(path):
    machine, content = begun(path)
    rng = np.random.default_rng(0)
    for place in [3, 20, 200, len(content) // 2, len(content) - 1, *rng.integers(0, len(content), size=20)]:
        damaged = bytearray(content)
        damaged[place] ^= 1 + int(rng.integers(255))
        pathlib.Path(path).write_bytes(damaged)
        with pytest.raises(CheckpointError):
            machine.fit(X, CLASSES)
        assert pathlib.Path(path).read_bytes() == damaged
    for size in [8, 100, len(content) // 2, len(content) - 1]:
        pathlib.Path(path).write_bytes(content[:size])
        with pytest.raises(CheckpointError, match="left as it is"):
            machine.fit(X, CLASSES)
    pathlib.Path(path).write_bytes(content)
    assert machine.fit(X, CLASSES).result_.status == "solved"


def test_what_is_no_checkpoint_is_refused_and_left(path, tmp_path):
    model = mercer.save(SVC().fit(X, CLASSES), tmp_path / "machine.mercer")
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    for other in (model, str(tmp_path / "table.csv")):
        before = pathlib.Path(other).read_bytes()
        with pytest.raises(CheckpointError, match="is not the checkpoint of a fit and is left as it is"):
            SVC(checkpoint=other).fit(X, CLASSES)
        assert pathlib.Path(other).read_bytes() == before
    begun(path)
    with pytest.raises(ForeignFileError, match="is the checkpoint of a fit, no model"):
        mercer.load(path)


def never(x, y):
    raise AssertionError("a kernel value was computed")


def test_places_that_cannot_be_written_are_named_first(tmp_path):
    machine = SVC(FromFunction(never))
    for place, reason in (
        (tmp_path / "nowhere" / "fit", "there is no folder"),
        (tmp_path, "it is a folder; give the name of a file"),
    ):
        with pytest.raises(CheckpointError, match=f"cannot be written: {reason}"):
            machine.set_params(checkpoint=place).fit(X, CLASSES)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(checkpoints.os, "access", lambda path, mode: False)  # root may write anywhere
        with pytest.raises(CheckpointError, match="is not writable"):
            machine.set_params(checkpoint=tmp_path / "fit").fit(X, CLASSES)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3, "must be None, the path of a file or a Checkpoint of one, got 3."),
        ("", "must be None, the path of a file or a Checkpoint of one, got ''."),
        (Checkpoint(None), "must be None, the path of a file or a Checkpoint of one, got None."),
        (Checkpoint("a", seconds=-1.0), "must have seconds that are right; seconds must be a float >= 0, got -1.0."),
    ],
)
def test_values_of_the_parameter(value, message):
    with pytest.raises(ValueError, match="checkpoint") as caught:
        SVC(FromFunction(never), checkpoint=value).fit(X, CLASSES)
    assert str(caught.value) == f"checkpoint {message}"


@pytest.mark.parametrize(
    ("machine", "y", "message"),
    [
        (SVC(multi_class="crammer_singer"), THREE, "with multi_class='crammer_singer', whose one objective"),
        (LinearSVC(loss="squared_hinge", penalty="l1"), CLASSES, "with penalty='l1', whose solver"),
        (LinearSVR(loss="quadratic", penalty="l1"), VALUES, "with penalty='l1', whose solver"),
        (KernelRidge(), VALUES, "without an approximation, as a system of equations"),
        (KernelPCA(eigen_solver="dense"), None, "with eigen_solver='dense', which finds all eigenvectors"),
    ],
)
def test_fits_that_have_no_state_are_refused(machine, y, message, path):
    with pytest.raises(ValueError, match=f"checkpoint must be None {message}"):
        machine.set_params(checkpoint=path).fit(X, y)
    assert not os.path.exists(path)


def test_two_fits_want_the_same_file(path):
    machine = SVC(C=100.0, checkpoint=Checkpoint(path, seconds=0.0))

    def meanwhile(progress):
        if progress.n_iter > 200 and pathlib.Path(path).with_name("other").exists():
            os.replace(pathlib.Path(path).with_name("other"), path)

    begun(path)
    pathlib.Path(path).rename(pathlib.Path(path).with_name("other"))
    with pytest.raises(CheckpointError, match="has been written to by another fit meanwhile"):
        machine.set_params(callback=meanwhile).fit(X, CLASSES)


# --- writing ------------------------------------------------------------------------------------------------


def test_a_full_disk_stops_no_fit(path, monkeypatch):
    machine, content = begun(path)

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("mercer.persist.container.save_file", full)
        with pytest.warns(RuntimeWarning, match="could not be written .*No space left on device.*; the fit goes on"):
            killed_after(machine, 5, X, CLASSES)
    assert pathlib.Path(path).read_bytes() == content and os.listdir(os.path.dirname(path)) == ["fit.checkpoint"]
    assert machine.fit(X, CLASSES).result_.status == "solved"


def test_a_link_stays_one_and_models_have_the_parameter(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "fit").symlink_to(tmp_path / "disk" / "real")
    machine = SVC(C=100.0, checkpoint=Checkpoint(tmp_path / "fit", seconds=0.0))
    killed_after(machine, 5, X, CLASSES)
    assert (tmp_path / "fit").is_symlink() and (tmp_path / "disk" / "real").is_file()
    machine.fit(X, CLASSES)
    again = mercer.load(mercer.save(machine, tmp_path / "machine.mercer"))
    assert again.checkpoint == machine.checkpoint and "_saved" not in vars(machine)


# --- processes that are killed ------------------------------------------------------------------------------

# Tells every step to a file, and writes where it is as often as it can.
CHILD = dedent(
    """
    import os, signal, sys
    import numpy as np
    from mercer import SVC, LinearSVC, checkpoints
    from mercer.checkpoints import Checkpoint

    checkpoints.PARTS = 1  # as often as is asked for

    machine, path, log, output, trap = sys.argv[1:]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 4))
    y = np.where(np.sin(2 * X[:, 0]) * X[:, 1] + 0.3 * rng.normal(size=4000) > 0, 1, 0)

    def told(progress):
        with open(log, "a") as file:
            print(progress.n_iter, file=file)

    if int(trap):
        from mercer.persist import container
        save_file, count = container.save_file, []

        def half(arrays, path, metadata):
            save_file(arrays, path, metadata=metadata)
            count.append(1)
            if len(count) == int(trap):
                os.truncate(path, os.path.getsize(path) // 2)
                open(os.path.join(os.path.dirname(path), ".tmpX"), "w").close()
                os.kill(os.getpid(), signal.SIGKILL)

        container.save_file = half

    machine = eval(machine).set_params(checkpoint=Checkpoint(path, seconds=0.01), callback=told).fit(X, y)
    result = machine.result_
    np.savez(output, objective=result.objective, gap=result.gap, n_iter=result.n_iter, solved=result.status == "solved")
    """
)
MACHINES = {
    "smo": "SVC(C=1e3, tol=1e-4)",
    "newton": "SVC(approximation=200, C=100.0, tol=1e-5)",
    "descent": "LinearSVC(solver='descent', tol=1e-10)",
}


def start(machine, folder, trap=0):
    arguments = [machine, folder / "fit", folder / "log", folder / "result.npz", trap]
    return subprocess.Popen([sys.executable, "-c", CHILD, *map(str, arguments)])


def steps_of(folder):
    path = folder / "log"
    return [int(line) for line in path.read_text().splitlines()] if path.exists() else []


def has_state(path):
    """Whether the file knows a point of the problem."""
    try:
        return "problem 1" in read_header(str(path), lambda path, document: None)[0]["notes"]
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    ("machine", "n_kills"),
    [
        ("smo", 2),
        pytest.param("newton", 2, marks=pytest.mark.slow),
        pytest.param("smo", 12, marks=pytest.mark.slow),
        pytest.param("newton", 8, marks=pytest.mark.slow),
        pytest.param("descent", 6, marks=pytest.mark.slow),
    ],
)
def test_killed_at_random_moments(machine, n_kills, tmp_path, rng):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for folder in (whole, broken):
        folder.mkdir()
    assert start(MACHINES[machine], whole).wait() == 0
    calls = len(steps_of(whole))

    killed = 0
    for _ in range(n_kills):
        # So many calls more and a moment: the kills are spread over the fit, and come wherever it happens to be then.
        enough = len(steps_of(broken)) + rng.integers(2, 2 + max(1, calls // n_kills))
        child = start(MACHINES[machine], broken)
        while child.poll() is None and not (len(steps_of(broken)) >= enough and has_state(broken / "fit")):
            time.sleep(0.0005)
        time.sleep(rng.uniform(0.0, 0.01))
        child.send_signal(signal.SIGKILL)
        if child.wait() == 0:  # too late on a busy machine
            (broken / "result.npz").unlink()
            break
        killed += 1
    before = len(steps_of(broken))
    assert start(MACHINES[machine], broken).wait() == 0
    told = steps_of(broken)[before:]
    assert killed and sorted(path.name for path in broken.iterdir()) == ["log", "result.npz"]
    with np.load(whole / "result.npz") as expected, np.load(broken / "result.npz") as found:
        assert expected["solved"] and found["solved"]
        size = 1e-9 * abs(expected["objective"])
        assert abs(found["objective"] - expected["objective"]) <= expected["gap"] + found["gap"] + size
        if killed == n_kills:  # the last run went on, and had less to do than one from nothing
            assert told[0] > 0 and len(told) < calls


@pytest.mark.parametrize("trap", [pytest.param(1, marks=pytest.mark.slow), 4])
def test_killed_while_writing(trap, tmp_path):
    """The old file survives, and what the writer left behind is swept up."""
    assert start(MACHINES["smo"], tmp_path, trap).wait() == -signal.SIGKILL
    assert (tmp_path / ".fit.mercer-part" / ".tmpX").exists()
    assert (tmp_path / "fit").exists() == (trap > 1)
    before = len(steps_of(tmp_path))
    assert start(MACHINES["smo"], tmp_path).wait() == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "result.npz"]
    assert (steps_of(tmp_path)[before] > 0) == (trap > 1)


def test_newton_over_landmarks_keeps_what_it_is_made_of(path):
    """The same run, step by step, but for the rounding of sums that are made anew."""
    plain = SVC(approximation=20, tol=1e-6).fit(X, CLASSES)
    machine = SVC(approximation=20, tol=1e-6, checkpoint=Checkpoint(path, seconds=0.0))
    steps = killed_after(machine, 12, X, CLASSES)
    machine.fit(X, CLASSES)
    assert isinstance(machine._solver().pick(_problem_of(machine)), ProximalNewton)
    assert abs(machine.n_iter_ - plain.n_iter_) <= 2 and machine.n_iter_ > steps[-1] > 0
    assert_allclose(
        machine.dual_coef_.toarray() if hasattr(machine.dual_coef_, "toarray") else machine.dual_coef_,
        plain.dual_coef_,
        rtol=1e-4,
        atol=1e-6,
    )


def _problem_of(machine):
    gram = machine._landmark_gram(X, machine.support_vectors_, machine.support_)
    return mercer.problems.soft_margin(gram, np.where(CLASSES == "below", 1.0, -1.0), np.ones(N))
