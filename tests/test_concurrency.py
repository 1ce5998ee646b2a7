"""Fits beside each other, in other processes, and fits that are cut short."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from joblib import Parallel, delayed
from numpy.testing import assert_array_equal
from registry import ESTIMATORS, training_set
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

from mercer.gram import make_gram
from mercer.kernels import RBF
from mercer.problems import soft_margin
from mercer.solvers import SMO
from mercer.solvers.base import Interrupt, solve_side_by_side
from mercer.svm import SVC, SVR, OneClassSVM

JOBS = {
    "SVC": (SVC(RBF(gamma=0.5), C=10.0), 2500, 4),
    "SVC, four classes": (SVC(RBF(gamma=0.5)), 600, 4),
    "SVC, wide": (SVC(), 700, 80),
    "SVR": (SVR(), 800, 3),
    "OneClassSVM": (OneClassSVM(nu=0.2), 1500, 5),
}


def job(name):
    machine, n, d = JOBS[name]
    return clone(machine), *training_set(machine, n=n, d=d, n_classes=4 if "four" in name else 2)


def learnt(machine):
    """What two fits must have in common, bit by bit."""
    coefficients = machine.dual_coef_
    coefficients = coefficients.toarray() if hasattr(coefficients, "toarray") else coefficients
    return machine.support_, coefficients, machine.intercept_, machine.result_.objective, machine.result_.gap


def assert_same(first, second):
    for one, other in zip(first, second, strict=True):
        assert_array_equal(one, other)


def test_assert_same_can_fail():
    with pytest.raises(AssertionError):
        assert_same((np.ones(2), 1.0), (np.ones(2), 1.0 + 1e-15))


@pytest.fixture(scope="module")
def alone():
    """The results of fits that had the machine to themselves."""
    return {name: learnt(machine.fit(X, y)) for name, (machine, X, y) in ((name, job(name)) for name in JOBS)}


# --- beside each other ------------------------------------------------------------------------------------


def test_fits_in_python_threads(alone):
    names = list(JOBS) * 2
    with ThreadPoolExecutor(max_workers=4) as pool:
        fits = [pool.submit(lambda name: learnt((task := job(name))[0].fit(*task[1:])), name) for name in names]
        for name, fit in zip(names, fits, strict=True):
            assert_same(fit.result(), alone[name])


def test_predictions_in_python_threads():
    machine, X, y = job("SVC")
    machine.fit(X, y)
    expected = machine.decision_function(X)
    with ThreadPoolExecutor(max_workers=4) as pool:
        for values in pool.map(lambda _: machine.decision_function(X), range(8)):
            assert_array_equal(values, expected)


def test_other_python_threads_go_on():
    """The GIL is released: another thread counts while a fit runs."""
    machine, X, y = job("SVC")
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(1e-4)

    counter = threading.Thread(target=count)
    counter.start()
    began = counted[0]
    machine.set_params(n_threads=1).fit(X, y)
    during = counted[0] - began
    done.set()
    counter.join()
    assert during > 0


def _fit_in_child(name, queue):
    machine, X, y = job(name)
    queue.put(learnt(machine.fit(X, y)))


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.parametrize("name", JOBS)
def test_a_fit_in_a_forked_child(alone, name):
    """After the parent has fitted, with threads of its own."""
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_fit_in_child, args=(name, queue))
    child.start()
    try:
        assert_same(queue.get(timeout=60), alone[name])
        child.join(timeout=60)
        assert child.exitcode == 0
    finally:
        child.kill()
    machine, X, y = job(name)
    assert_same(learnt(machine.fit(X, y)), alone[name])


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
def test_a_fork_in_the_middle_of_a_fit(alone):
    """The callback forks while the helpers of the team are at work; the child fits, too."""
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    children = []

    def fork(progress):
        if not children:
            children.append(context.Process(target=_fit_in_child, args=("SVR", queue)))
            children[0].start()

    machine, X, y = job("SVC")
    assert_same(learnt(machine.set_params(callback=fork).fit(X, y)), alone["SVC"])
    try:
        assert_same(queue.get(timeout=60), alone["SVR"])
    finally:
        children[0].kill()


def test_fits_in_joblib_workers(alone):
    tasks = [job(name) for name in JOBS]
    fitted = Parallel(n_jobs=2, backend="loky")(delayed(machine.fit)(X, y) for machine, X, y in tasks)
    for name, machine in zip(JOBS, fitted, strict=True):
        assert_same(learnt(machine), alone[name])
    threaded = Parallel(n_jobs=2, backend="threading")(delayed(machine.fit)(X, y) for machine, X, y in tasks)
    for name, machine in zip(JOBS, threaded, strict=True):
        assert_same(learnt(machine), alone[name])


def test_grid_search_in_joblib_workers():
    X, y = training_set(SVC(), n=120)
    grid = {"kernel__gamma": [0.1, 1.0], "C": [1.0, 10.0]}
    serial, parallel = (GridSearchCV(SVC(), grid, cv=3, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    assert_array_equal(serial.cv_results_["mean_test_score"], parallel.cv_results_["mean_test_score"])


# --- cut short --------------------------------------------------------------------------------------------

PREPARE = """
import numpy as np
from mercer.svm import *
from mercer.kernels import *
from mercer.selection import TunedSVC
def data(n, d, n_classes=2):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, d)), np.arange(n) % n_classes
    X[:, 0] += y
    return X, y
"""
# Each would take minutes.
LONG = {
    "steps in one block": """
X, y = data(2000, 5)
print("ready", flush=True)
SVC(RBF(gamma=0.1), C=1e8, tol=1e-9, max_iter=10**9).fit(X, y)""",
    "steps without an offset": """
X, y = data(4000, 5)
print("ready", flush=True)
SVC(RBF(gamma=0.1), C=1e8, tol=1e-9, max_iter=10**9, fit_intercept=False).fit(X, y)""",
    "passes over many samples": """
X, y = data(60000, 60)
print("ready", flush=True)
SVC(RBF(gamma=0.01), C=100.0, tol=1e-6).fit(X, y)""",
    "one thread": """
X, y = data(60000, 60)
print("ready", flush=True)
SVC(RBF(gamma=0.01), C=100.0, tol=1e-6, n_threads=1).fit(X, y)""",
    "several problems": """
X, y = data(4000, 5, n_classes=5)
print("ready", flush=True)
SVC(RBF(gamma=0.1), C=1e8, tol=1e-9, max_iter=10**9).fit(X, y)""",
    "several outputs": """
X, y = data(2000, 5)
print("ready", flush=True)
SVR(RBF(gamma=0.1), C=1e8, tol=1e-9, max_iter=10**9).fit(X, np.random.default_rng(1).normal(size=(2000, 3)))""",
    "one long problem among short ones": """
X, y = data(2000, 5)
targets = np.zeros((2000, 4))  # the last one is taken first, by the calling thread
targets[:, 2] = np.random.default_rng(1).normal(size=2000)
targets[:, 3] = np.sin(X[:, 0])
print("ready", flush=True)
SVR(RBF(gamma=0.1), C=1e8, tol=1e-9, max_iter=10**9).fit(X, targets)""",
    "one class against the rest": """
X, y = data(300_000, 50, n_classes=3)
print("ready", flush=True)
LinearSVC(C=1e6, tol=1e-12, solver="descent", n_threads=2).fit(X, y)""",
    "a kernel in Python": """
X, y = data(3000, 5)
print("ready", flush=True)
kernel = lambda A, B: np.exp(-np.abs(A[:, None, :1] - B[None, :, :1]).sum(-1))
SVC(kernel, C=1e8, tol=1e-9, memory=1, max_iter=10**9).fit(X, y)""",
    "the Python twin": """
X, y = data(400, 5)
print("ready", flush=True)
SVC(RBF(gamma=0.1), C=1e8, tol=1e-9, max_iter=10**9, solver="simple").fit(X, y)""",
    "a callback": """
X, y = data(2000, 5)
print("ready", flush=True)
SVC(RBF(gamma=0.1), C=1e8, tol=1e-9, max_iter=10**9, callback=lambda progress: None).fit(X, y)""",
    "a search": """
X, y = data(8000, 5)
print("ready", flush=True)
grid = {"C": [1e6, 1e8], "kernel__gamma": [0.1, 0.2, 0.3, 0.4]}
TunedSVC(param_grid=grid, tol=1e-9, n_threads=2).fit(X, y)""",
    "a search over stored matrices": """
X, y = data(2500, 5)
print("ready", flush=True)
grid = {"C": [1e6, 1e8], "kernel__gamma": [0.1, 0.2, 0.3, 0.4]}
TunedSVC(param_grid=grid, tol=1e-9, n_threads=2).fit(X, y)""",
    "an elimination": """
from mercer.features import KernelRFE
X, y = data(500, 3000)
print("ready", flush=True)
KernelRFE(SVC("poly"), n_features_to_select=1, n_threads=1).fit(X, y)""",
    "eliminations in folds": """
from mercer.features import KernelRFE
X, y = data(500, 3000)
print("ready", flush=True)
KernelRFE(SVC("poly"), cv=4, n_threads=2).fit(X, y)""",
    "a kernel matrix": """
X, y = data(40000, 500)
print("ready", flush=True)
RBF(gamma=0.1).dot(X, X, np.ones(40000))""",
    "walks of two graphs": """
from mercer.data import Graph
from mercer.kernels import RandomWalk
number = np.arange(4096).reshape(64, 64)
edges = np.concatenate([np.stack([number, np.roll(number, 1, axis)], -1).reshape(-1, 2) for axis in (0, 1)])
weights = np.random.default_rng(0).random(len(edges))
graph = Graph(4096, edges, weights=weights, node_labels="C" * 4096)
print("ready", flush=True)
RandomWalk(0.06).diag([graph])""",
}


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("code", LONG.values(), ids=LONG.keys())
def test_ctrl_c(code):
    """SIGINT ends a long fit with KeyboardInterrupt."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.Popen(
        [sys.executable, "-c", PREPARE + code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        # a shell may have told us to ignore it, which children inherit
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        assert process.stdout.readline() == "ready\n", process.stderr.read()
        time.sleep(0.5)
        assert process.poll() is None, process.stderr.read()
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=20)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in complaint


class Enough(Exception):
    pass


def endless():
    """A fit that would take minutes."""
    X, y = training_set(SVC(), n=2000, d=5)
    return SVC(RBF(gamma=0.1), C=1e8, tol=1e-9, max_iter=10**9), X, y


def test_work_that_is_not_wanted_any_more():
    """Native loops of a thread that no signal reaches."""
    machine, X, y = endless()
    interrupt = Interrupt()
    interrupt.set()
    with interrupt.heard(), pytest.raises(KeyboardInterrupt):
        machine.fit(X, y)
    assert not hasattr(machine, "support_")
    # Nobody is asked any more.
    assert machine.set_params(C=1.0, tol=1e-3).fit(X, y).result_.status == "solved"


class FirstFails(SMO):
    """Fails on a problem without a linear term, once another one has begun."""

    started: ClassVar[threading.Event] = threading.Event()
    ended: ClassVar[list] = []

    def solve(self, problem, start=None, callback=None):
        if not problem.linear.any():
            self.started.wait()
            raise Enough
        self.started.set()
        try:
            return super().solve(problem, start)  # without the callback: native loops are to hear of it themselves
        except KeyboardInterrupt:
            self.ended.append("interrupted")
            raise


def test_what_ends_a_fit_on_several_threads_ends_all_of_them():
    _, X, y = endless()
    gram = make_gram(RBF(gamma=0.1), X)
    long = soft_margin(gram, 2.0 * y - 1.0, np.full(2000, 1e8))
    failing = replace(long, linear=np.zeros(2000))
    with pytest.raises(Enough):
        solve_side_by_side(FirstFails(tol=1e-9, max_iter=10**9, n_threads=2), [failing, long], None, None)
    assert FirstFails.ended == ["interrupted"]


def raises_after(calls):
    count = [0]

    def callback(progress):
        count[0] += 1
        if count[0] > calls:
            raise Enough(f"after {progress.n_iter} steps")

    return callback


@pytest.mark.parametrize("solver", ["smo", "simple"])
@pytest.mark.parametrize("name", ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "SVDD"])
@pytest.mark.parametrize("calls", [0, 2])
def test_a_callback_that_raises(name, solver, calls):
    machine = ESTIMATORS[name]().set_params(solver=solver)
    X, y = training_set(machine)
    expected = learnt(clone(machine).fit(X, y))
    with pytest.raises(Enough, match=r"after \d+ steps"):
        machine.set_params(callback=raises_after(calls)).fit(X, y)
    assert_same(learnt(machine.set_params(callback=None).fit(X, y)), expected)


def test_a_callback_that_raises_with_several_problems():
    X, y = training_set(SVC(), n=90, n_classes=3)
    machine = SVC(callback=raises_after(5))
    with pytest.raises(Enough):
        machine.fit(X, y)
    assert machine.set_params(callback=None).fit(X, y).result_.status == "solved"


@pytest.mark.parametrize("memory", [100, 0.1])
@pytest.mark.parametrize("calls", [0, 1, 3])
def test_a_kernel_that_raises(memory, calls):
    """From the whole matrix, or from blocks of rows asked for by the native solver."""
    count = [0]

    def kernel(A, B):
        count[0] += 1
        if count[0] > calls and armed:
            raise Enough(f"call {count[0]}")
        return RBF(gamma=0.5)(A, B)

    X, y = training_set(SVC(), n=400)
    machine, armed = SVC(kernel, memory=memory), True
    if memory == 100 and calls:  # the whole matrix comes in one call
        machine.fit(X, y)
        return
    with pytest.raises(Enough, match="call"):
        machine.fit(X, y)
    armed = False
    again = machine.fit(X, y)
    assert_array_equal(again.predict(X), SVC(RBF(gamma=0.5)).fit(X, y).predict(X))


def test_interrupted_refit_leaves_the_model():
    X, y = training_set(SVC(), n=60)
    machine = SVC().fit(X, y)
    expected = machine.decision_function(X)

    def interrupt(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        machine.set_params(callback=interrupt).fit(X[:, :2], y)
    assert_array_equal(machine.decision_function(X), expected)


# --- memory -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [3, 100])
def test_memory_saves_evaluations_and_changes_nothing_else(d):
    X, y = training_set(SVC(), n=3000, d=d)
    little, much = (SVC(C=10.0, memory=memory).fit(X, y) for memory in (5, 400))
    assert_same(learnt(little), learnt(much))
    assert much.result_.kernel_evaluations <= little.result_.kernel_evaluations


@pytest.mark.slow
def test_more_than_two_gigabytes_are_used():
    """Sizes are of 64 bits. Half of the budget is for float32 rows, of which all 24 000 are 2.3 GB."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(24_000, 100)), rng.integers(0, 2, size=24_000)  # all are support vectors
    below, above = (SVC(RBF(gamma=0.05), memory=memory).fit(X, y) for memory in (4000, 5000))
    assert_same(learnt(below), learnt(above))
    assert above.result_.kernel_evaluations < below.result_.kernel_evaluations


def test_the_threads_of_blas_do_not_show():
    """Not in the last bit, also where vectors are long enough for BLAS to share them out."""
    X, y = make_classification(12_000, 5, n_informative=4, n_redundant=1, random_state=0)
    machines = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            machines.append(SVC(tol=0.1).fit(X, y))
    one, two = machines
    assert one.kernel_.gamma == two.kernel_.gamma
    assert (one.result_.objective, one.result_.gap, one.norm_) == (two.result_.objective, two.result_.gap, two.norm_)
    assert_array_equal(one.dual_coef_, two.dual_coef_)
