"""Kernel matrices on disk."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer import SVC
from mercer.kernels import RBF, AllSubsequences, Cached, FromFunction, GapWeighted, Linear, Spectrum, cached
from mercer.selection import TunedSVC

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(30, 3)), rng.normal(size=(7, 3))


class Counting:
    """A kernel function that counts its calls; equal by its name, as functions of a module are."""

    def __init__(self):
        self.calls = 0

    def __reduce__(self):
        return Counting, ()

    def __call__(self, A, B):
        self.calls += 1
        return np.asarray(A) @ np.asarray(B).T


@pytest.fixture
def counting(tmp_path):
    function = Counting()
    return function, Cached(FromFunction(function), tmp_path / "grams")


def test_values_are_identical_and_computed_once(counting):
    function, kernel = counting
    K = kernel(X)
    assert function.calls == 1
    assert_array_equal(kernel(X.copy()), K)
    assert_array_equal(Cached(FromFunction(Counting()), str(kernel.folder))(X), K)  # another object, the same content
    assert function.calls == 1
    assert_array_equal(K, FromFunction(function)(X))
    assert_array_equal(kernel(X, Y), FromFunction(function)(X, Y))
    assert kernel.n_files() == 2
    for samples in (X, X.astype(np.float32), X[:, ::-1]):
        assert_array_equal(Cached(RBF(gamma=0.3), kernel.folder)(samples), RBF(gamma=0.3)(samples))
        assert_array_equal(Cached(RBF(gamma=0.3), kernel.folder)(samples), RBF(gamma=0.3)(samples))
    assert kernel.n_files() == 5
    assert Cached(RBF(gamma=0.3), kernel.folder)(X.astype(np.float32)).dtype == np.float32


def test_other_parameters_other_samples_other_files(tmp_path):
    for kernel in (RBF(gamma=1.0), RBF(gamma=2.0), Linear(), RBF(gamma=1.0) + Linear()):
        assert_array_equal(Cached(kernel, tmp_path)(X), kernel(X))
    changed = X.copy()
    changed[3, 1] = np.nextafter(changed[3, 1], 2)
    Cached(RBF(gamma=1.0), tmp_path)(changed)
    assert Cached(RBF(), tmp_path).n_files() == 5


def test_listing_and_clearing(tmp_path):
    kernel = Cached(Linear(), tmp_path / "deep" / "down")
    assert kernel.n_files() == kernel.n_bytes() == 0
    kernel.clear()
    kernel(X)
    assert kernel.n_files() == 1
    assert 30 * 30 * 8 < kernel.n_bytes() < 30 * 30 * 8 + 1000
    other = tmp_path / "deep" / "down" / "mine.txt"
    other.write_text("keep")
    kernel.clear()
    assert kernel.n_files() == 0
    assert other.exists()


@pytest.mark.parametrize("damage", [b"", b"short", None, "flip", "longer"])
def test_damaged_files_are_computed_again(counting, damage):
    function, kernel = counting
    K = kernel(X)
    (path,) = kernel.folder.iterdir()
    content = path.read_bytes()
    if damage is None:
        damage = content[:-8]
    elif damage == "flip":
        damage = content[:-1] + bytes([content[-1] ^ 1])
    elif damage == "longer":
        damage = content + b"x"
    path.write_bytes(damage)
    with pytest.warns(RuntimeWarning, match="is damaged; its matrix is computed again"):
        assert_array_equal(kernel(X), K)
    assert function.calls == 2
    assert_array_equal(kernel(X), K)
    assert function.calls == 2
    assert path.read_bytes() == content


def test_no_half_files(counting, monkeypatch):
    _, kernel = counting

    def interrupted(file, K, **settings):
        file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(cached.np, "save", interrupted)
    with pytest.raises(KeyboardInterrupt):
        kernel(X)
    assert list(kernel.folder.iterdir()) == []


def test_two_processes_share_a_folder(tmp_path):
    code = f"""
        import numpy as np
        from mercer.kernels import RBF, Cached
        X = np.random.default_rng(0).normal(size=(200, 3))
        for repetition in range(10):
            kernel = Cached(RBF(gamma=0.5), {str(tmp_path)!r})
            assert np.array_equal(kernel(X), RBF(gamma=0.5)(X))
            kernel.clear()
    """
    processes = [subprocess.Popen([sys.executable, "-W", "error", "-c", textwrap.dedent(code)]) for _ in range(2)]
    assert [process.wait(timeout=120) for process in processes] == [0, 0]
    assert not list(tmp_path.glob("*.part"))


def test_machines_keep_training_matrices_only(counting):
    function, kernel = counting
    y = np.arange(30) % 2
    machine = SVC(kernel=kernel).fit(X, y)
    machine.decision_function(Y)
    machine.predict(Y)
    assert kernel.n_files() == 1
    calls = function.calls
    again = SVC(kernel=kernel, C=10.0).fit(X, y)
    assert function.calls == calls
    assert_array_equal(machine.predict(Y), SVC(kernel=FromFunction(function)).fit(X, y).predict(Y))
    assert again.score(X, y) >= 0


@pytest.mark.parametrize("wrap", [lambda k: k, lambda k: k.normalized(), lambda k: k * RBF(gamma=0.1)])
def test_parts_of_matrices_are_not_kept(tmp_path, wrap):
    """Rows of a matrix too large for the memory and blocks of predictions, also for a kernel inside another one."""
    bent = RBF(gamma=1.0) + 1
    kernel = Cached(FromFunction(bent), tmp_path)
    y = np.arange(30) % 3
    plain = SVC(kernel=wrap(FromFunction(bent))).fit(X, y)
    for memory, n_files in (("auto", 1), (0.001, 0)):
        machine = SVC(kernel=wrap(kernel), memory=memory).fit(X, y)
        assert_array_equal(machine.predict(Y), plain.predict(Y))
        assert kernel.n_files() == n_files
        kernel.clear()


def test_searches_use_it(tmp_path):
    y = np.arange(30) % 2
    grid = {"C": [1.0, 10.0], "kernel__kernel__gamma": [0.1, 1.0]}
    plain = TunedSVC(RBF(), param_grid={"C": [1.0, 10.0], "kernel__gamma": [0.1, 1.0]}, cv=3).fit(X, y)
    kept = TunedSVC(Cached(RBF(), tmp_path), param_grid=grid, cv=3).fit(X, y)
    assert_array_equal(kept.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"])
    before = sorted(tmp_path.iterdir())
    assert 2 <= len(before) <= 3  # one for each gamma, and one for the last fit if it sees the samples in another order
    TunedSVC(Cached(RBF(), tmp_path), param_grid=grid, cv=3).fit(X, y)
    assert sorted(tmp_path.iterdir()) == before


def test_values_too_large_for_floats_are_kept_as_logarithms(tmp_path):
    words = ["ab" * 1000, "ba" * 1000, ""]
    kernel = Cached(AllSubsequences(), tmp_path)
    expected = AllSubsequences().normalized()(words)
    assert_array_equal(kernel.normalized()(words), expected)
    assert kernel.n_files() == 1
    assert_array_equal(kernel.normalized()(words), expected)
    assert_array_equal(Cached(Spectrum(2), tmp_path).normalized()(words), Spectrum(2).normalized()(words))
    W = np.arange(9.0).reshape(3, 3)
    short = ["SAY", "BAY", "SAD"]
    derivatives = Cached(GapWeighted(2, 0.5), tmp_path).normalized().vjp(short, W)
    assert derivatives == {"kernel__kernel__decay": GapWeighted(2, 0.5).normalized().vjp(short, W)["kernel__decay"]}


def test_wrong_folder():
    with pytest.raises(ValueError, match="folder must be a path, got 3"):
        Cached(RBF(gamma=1.0), 3)(X)
