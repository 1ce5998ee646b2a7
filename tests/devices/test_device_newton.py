"""Newton's method on a device, from a part of the samples to all of them, and where it hands over."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.devices import DeviceGram, Place
from mercer.kernels import RBF
from mercer.problems import DualProblem, soft_margin
from mercer.solvers import SMO, DeviceSMO, device_newton
from mercer.solvers.device_newton import DeviceNewton
from mercer.svm import SVC, SVR, OneClassSVM

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)
N = 900
X = RNG.normal(size=(N, 5))
NOISY = np.where((X**2).sum(axis=1) + RNG.normal(size=N) > 5, 1.0, -1.0)
SMOOTH = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=N)
GRAM = DeviceGram(RBF(0.2), X, Place("cpu"))


@pytest.fixture(autouse=True)
def parts(monkeypatch):
    """Three parts: a hundred samples, three hundred, all."""
    monkeypatch.setattr(device_newton, "FIRST_PART", 100)
    monkeypatch.setattr(device_newton, "GROWTH", 3)


@pytest.fixture
def steps(monkeypatch):
    """What Newton's method has found, and in how many steps."""
    known = []
    solve = DeviceNewton.solve

    def noting(self, start, tol):
        found = solve(self, start, tol)
        known.append((found, self.n_iter, self._violation()))
        return found

    monkeypatch.setattr(DeviceNewton, "solve", noting)
    return known


def problem_of(kind: str) -> DualProblem:
    """Machines as problems, of the kinds that have their own terms."""
    a, n = np.arange(N), np.ones(N)
    price = np.where(NOISY > 0, 20.0, 3.0)
    known = {"gram": GRAM, "index": a, "sign": NOISY, "linear": -n, "upper": price, "ridge": 0 * n, "total": 0.0}
    if kind == "no equality":
        known["total"] = None
    if kind == "ridge":
        known["ridge"] = 0.1 * n
    if kind == "novelty":
        known |= {"sign": n, "linear": 0 * n, "upper": n, "total": 0.2 * N}
    if kind == "two variables of a sample":
        known |= {"index": np.r_[a, a], "sign": np.r_[n, -n], "upper": np.r_[n, n], "ridge": np.zeros(2 * N)}
        known["linear"] = np.r_[0.05 - SMOOTH, 0.05 + SMOOTH]
    return DualProblem(**known)


@pytest.mark.parametrize("kind", ["usual", "no equality", "ridge", "novelty", "two variables of a sample"])
def test_it_finds_the_solution_by_itself(kind, steps):
    problem = problem_of(kind)
    result, other = DeviceSMO("cpu", size=64).solve(problem), SMO(tol=1e-5).solve(problem)
    ((found, n_iter, violation),) = steps
    assert found is not None
    assert violation <= 1e-3
    assert result.status == "solved"
    assert result.n_iter == n_iter  # no pair has moved
    assert_allclose(result.objective, other.objective, rtol=1e-5)


def test_large_prices_do_not_take_ten_thousands_of_pairs():
    """Float32 tells nothing near the solution here: pairs went on for ever."""
    n = 1000
    Z = np.random.default_rng(0).normal(size=(n, 5))
    y = np.where((Z**2).sum(axis=1) + np.random.default_rng(1).normal(size=n) > 5, 1.0, -1.0)
    problem = soft_margin(DeviceGram(RBF(0.2), Z, Place("cpu")), y, np.full(n, 300.0))
    result = DeviceSMO("cpu", size=256).solve(problem)
    assert result.status == "solved"
    assert result.kernel_evaluations < 200 * n**2
    assert_allclose(result.objective, SMO(tol=1e-4).solve(problem).objective, rtol=1e-6)


def test_pairs_give_up_float32_when_it_no_longer_helps(monkeypatch):
    """A solver of pairs alone, at a tolerance that float32 cannot see."""
    monkeypatch.setattr(DeviceNewton, "solve", lambda self, start, tol: None)
    problem = soft_margin(GRAM, NOISY, np.full(N, 100.0))
    result = DeviceSMO("cpu", size=128, tol=1e-4).solve(problem)
    assert result.status == "solved"
    assert result.precision == "float64"


def test_a_start_is_gone_on_from(steps):
    problem = problem_of("usual")
    near = DeviceSMO("cpu", size=64).solve(problem)
    dearer = DualProblem(**{**vars(problem), "upper": 1.05 * problem.upper})
    result = DeviceSMO("cpu", size=64).solve(dearer, near.a)
    assert result.status == "solved"
    assert steps[1][1] < steps[0][1]
    assert_allclose(result.objective, SMO(tol=1e-5).solve(dearer).objective, rtol=1e-5)
    DeviceSMO("cpu", size=64, tol=1e-2).solve(problem, near.a)
    assert len(steps) == 2  # nothing to do


def test_more_undecided_variables_than_fit_are_left_to_pairs(monkeypatch, steps):
    monkeypatch.setattr(device_newton, "MOST_UNDECIDED", 5)
    problem = problem_of("usual")
    result = DeviceSMO("cpu", size=64).solve(problem)
    assert steps[0][0] is None
    assert result.status == "solved"
    assert result.n_iter > 100


def test_the_callback_hears_of_stages_and_stops_them():
    told = []

    def callback(progress):
        told.append(progress)
        return len(told) == 2

    result = DeviceSMO("cpu", size=64).solve(problem_of("usual"), callback=callback)
    assert result.status == "stopped"
    assert len(told) == 2
    assert 0 < told[0].n_iter <= told[1].n_iter < 200


def test_limits_hold_for_newton_steps():
    result = DeviceSMO("cpu", size=64, max_iter=3).solve(problem_of("usual"))
    assert result.status == "max_iter"
    assert result.n_iter < 100
    assert result.gap > 0


@pytest.mark.parametrize(
    ("machine", "y"),
    [(SVC(RBF(0.2), C=10.0), NOISY), (SVR(RBF(0.2), C=10.0, epsilon=0.05), SMOOTH), (OneClassSVM(RBF(0.2)), None)],
)
def test_machines_are_those_of_the_native_core(machine, y, monkeypatch):
    monkeypatch.setattr("mercer.solvers.device_smo.SIZE", 128)
    values = "predict" if isinstance(machine, SVR) else "decision_function"
    native = getattr(machine.set_params(device=None, tol=1e-5).fit(X, y), values)(X)
    there = getattr(machine.set_params(device="cpu").fit(X, y), values)(X)
    assert_allclose(there, native, atol=1e-3 * np.abs(native).max())
