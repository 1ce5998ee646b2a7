"""On workers that are processes: more samples than one of them may hold, and one that is killed."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from mercer import SVC, KernelRidge
from mercer.data import RowBlocks
from mercer.kernels import RBF

array = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")

from mercer.distributed import DaskLandmarkMatrix, DaskRows  # noqa: E402


def block(k, rows, d, deadly=""):
    """The same samples every time, made where they are needed; the worker dies of it if there is a deadly file."""
    if deadly:
        try:
            Path(deadly).unlink()  # one worker alone succeeds
        except FileNotFoundError:
            pass
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    return np.tile(np.random.default_rng(k).random((rows // 100, d)), (100, 1))


def collection(blocks, rows, d, deadly=""):
    parts = [array.from_delayed(dask.delayed(block)(k, rows, d, deadly), (rows, d), float) for k in range(blocks)]
    return array.concatenate(parts)


def in_blocks(blocks, rows, d):
    return RowBlocks([lambda k=k: block(k, rows, d) for k in range(blocks)])


def values(X):
    return np.sin(4.0 * X[:, 0]) + X[:, 1]


@pytest.fixture
def lost(client):
    """How many workers have been lost since the test began."""
    before = set(client.run(os.getpid).values())
    return lambda: len(before - set(client.run(os.getpid).values()))


def test_more_samples_than_a_worker_may_hold(client, lost):
    """Nothing is kept, and nobody dies."""
    size = (20, 55_000, 64)
    X = collection(*size)
    y = X[:, 0].map_blocks(np.sin, dtype=float)
    limits = client.run(lambda dask_worker: dask_worker.memory_manager.memory_limit).values()
    assert X.nbytes > max(limits)
    machine = KernelRidge(RBF(0.05), alpha=1.0, approximation=8, tol=1e-3).fit(X, y)
    near = clone(machine).fit(in_blocks(*size), y.compute())
    some = block(0, 100, 64)
    assert_allclose(machine.predict(some), near.predict(some), rtol=1e-8)
    assert_allclose(machine.predict(X)[:1].compute(), machine.predict(DaskRows(X)[np.arange(1)]), rtol=1e-12)
    assert lost() == 0


SIZE = (12, 400, 3)
MACHINES = {
    "ridge": (KernelRidge(RBF(0.5), alpha=0.1, approximation=30), "predict"),
    "squared hinge": (SVC(RBF(0.5), loss="squared_hinge", approximation=30), "decision_function"),
}


@pytest.fixture(params=MACHINES)
def fitting(request):
    """What fits a machine, and asserts that it is the one of one machine; to be called twice."""
    machine, says = MACHINES[request.param]
    whole = collection(*SIZE).compute(scheduler="synchronous")
    y = values(whole) if says == "predict" else values(whole) > 1.0
    wanted = clone(machine).fit(in_blocks(*SIZE), y)

    def check(X):
        found = clone(machine).fit(X, y)
        assert found.result_.status == "solved"
        assert_allclose(getattr(found, says)(whole), getattr(wanted, says)(whole), rtol=0, atol=1e-9)

    return check


def before_call(monkeypatch, name, call, event):
    """Something happens before the given call of a product."""
    method, calls = getattr(DaskLandmarkMatrix, name), []

    def with_event(self, *arguments, **named):
        calls.append(name)
        if len(calls) == call:
            event()
        return method(self, *arguments, **named)

    monkeypatch.setattr(DaskLandmarkMatrix, name, with_event)


def test_a_worker_is_killed_between_passes(client, lost, monkeypatch, fitting):
    """With all that was kept by it."""
    victim = min(client.run(os.getpid).values())
    before_call(monkeypatch, "lower_moments", 1, lambda: os.kill(victim, signal.SIGKILL))
    fitting(collection(*SIZE))
    assert lost() == 1


def test_a_worker_is_killed_in_a_pass(client, lost, monkeypatch, tmp_path, fitting):
    """By its own task, as by one that takes too much memory."""
    monkeypatch.setattr("mercer.distributed.rows.room", lambda memory: 0)
    deadly = tmp_path / "deadly"
    before_call(monkeypatch, "lower_moments", 1, deadly.touch)
    fitting(collection(*SIZE, str(deadly)))
    assert lost() == 1 and not deadly.exists()
