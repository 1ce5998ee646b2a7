"""Machines with a device find what they find natively."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer.data import RowBlocks
from mercer.devices import DeviceGram, Place
from mercer.errors import DomainError, SingularError
from mercer.features import Nystroem
from mercer.gram import MatrixGram
from mercer.kernels import RBF, Chi2, Laplacian, Linear, Spectrum
from mercer.selection import Tuned
from mercer.solvers import solve_spd

torch = pytest.importorskip("torch")

N, D = 600, 3
RNG = np.random.default_rng(5)
X = RNG.normal(size=(N, D))
VALUES = np.sin(2 * X[:, 0]) + 0.1 * RNG.normal(size=N)
CLASSES = np.array(["in", "out"])[((X**2).sum(axis=1) > 2.5).astype(int)]
THREE = np.digitize(X[:, 0] + 0.2 * RNG.normal(size=N), [-0.5, 0.5])
KNOWN = {"kernel": RBF(gamma=0.3), "approximation": 40}
OVER_LANDMARKS = {
    "SVC": (lambda **k: mercer.SVC(**KNOWN, tol=1e-5, **k), CLASSES),
    "SVC of three classes": (lambda **k: mercer.SVC(**KNOWN, tol=1e-5, **k), THREE),
    "SVC with squared loss": (lambda **k: mercer.SVC(**KNOWN, loss="squared_hinge", tol=1e-5, **k), CLASSES),
    "NuSVC": (lambda **k: mercer.NuSVC(**KNOWN, nu=0.3, tol=1e-5, **k), CLASSES),
    "SVR": (lambda **k: mercer.SVR(**KNOWN, tol=1e-5, **k), VALUES),
    "NuSVR": (lambda **k: mercer.NuSVR(**KNOWN, tol=1e-5, **k), VALUES),
    "QuantileSVR": (lambda **k: mercer.QuantileSVR(**KNOWN, tol=1e-5, **k), VALUES),
    "OneClassSVM": (lambda **k: mercer.OneClassSVM(**KNOWN, nu=0.2, tol=1e-5, **k), None),
    "SVDD": (lambda **k: mercer.SVDD(**KNOWN, nu=0.2, tol=1e-5, **k), None),
    "KernelRidge": (lambda **k: mercer.KernelRidge(**KNOWN, alpha=0.1, **k), VALUES),
    "KernelRidge with an offset": (lambda **k: mercer.KernelRidge(**KNOWN, fit_intercept=True, **k), VALUES),
    "LSSVC": (lambda **k: mercer.LSSVC(**KNOWN, **k), THREE),
}
EXACT = {
    "KernelRidge": (lambda **k: mercer.KernelRidge(RBF(gamma=0.3), alpha=0.1, **k), VALUES),
    "KernelRidge of several": (lambda **k: mercer.KernelRidge(Laplacian(gamma=0.3), **k), np.c_[VALUES, X[:, :2]]),
    "LSSVC": (lambda **k: mercer.LSSVC(RBF(gamma=0.3), alpha=0.1, **k), THREE),
}
ALL = {**{f"{name} over landmarks": made for name, made in OVER_LANDMARKS.items()}, **EXACT}


def decisions(machine, given):
    return getattr(machine, "decision_function", machine.predict)(given)


@pytest.fixture(scope="module", params=ALL)
def twins(request):
    """A machine fitted on a device, and natively."""
    make, y = ALL[request.param]
    weight = np.where(np.arange(N) % 7 == 0, 2.0, 1.0)
    weight[:5] = 0.0
    return [make(device=device).fit(X, y, sample_weight=weight) for device in ("cpu", None)]


def test_the_same_is_learnt(twins):
    on, native = twins
    assert_allclose(decisions(on, X), decisions(native, X), atol=2e-3 * max(1.0, np.abs(decisions(native, X)).max()))
    a, b = on.result_, native.result_
    assert a.status == b.status == "solved"
    assert_allclose(a.objective, b.objective, rtol=1e-5)
    assert_allclose(on.support_, native.support_)


def test_answers_are_those_of_the_functions_learnt(twins):
    """Whatever computed the kernel values."""
    on, _ = twins
    native = clone_of(on)
    for name in ("predict", "decision_function", "score_samples"):
        if hasattr(on, name):
            found, wanted = getattr(on, name)(X[:50]), getattr(native, name)(X[:50])
            assert (found == wanted).all() if found.dtype.kind in "UiO" else np.allclose(found, wanted, atol=1e-9)


def clone_of(machine):
    """The same fitted machine without a device."""
    return pickle.loads(pickle.dumps(machine)).set_params(device=None)


def test_tensors_are_answered_by_tensors(twins):
    on, _ = twins
    for name in ("predict", "decision_function", "score_samples"):
        if hasattr(on, name):
            wanted, found = getattr(on, name)(X[:50]), getattr(on, name)(torch.from_numpy(X[:50]))
            assert isinstance(found, np.ndarray if wanted.dtype.kind == "U" else torch.Tensor)
            assert (np.asarray(found) == wanted).all() if wanted.dtype.kind in "Ui" else np.allclose(found, wanted)
            single = getattr(on, name)(torch.from_numpy(X[:50].astype(np.float32)))
            assert len(single) == 50


def test_machines_without_a_device_take_tensors_for_arrays():
    machine = mercer.KernelRidge(RBF(gamma=0.3)).fit(torch.from_numpy(X), torch.from_numpy(VALUES))
    assert isinstance(machine.predict(torch.from_numpy(X[:3])), np.ndarray)


def test_wrong_tensors_are_refused():
    machine = mercer.KernelRidge(RBF(gamma=0.3), device="cpu").fit(X[:50], VALUES[:50])
    with pytest.raises(ValueError, match=r"X must have the 3 features .* got a tensor of shape \(2, 4\)"):
        machine.predict(torch.ones((2, 4)))
    with pytest.raises(ValueError, match="X contains NaN or infinity"):
        machine.predict(torch.full((2, 3), torch.nan))


@pytest.mark.parametrize("name", ["SVC over landmarks", "KernelRidge over landmarks", "SVDD over landmarks"])
@pytest.mark.parametrize("exact", [True, False])
def test_full_certificates_are_the_same(name, exact):
    make, y = ALL[name]
    on, native = (make(device=device).fit(X, y).full_certificate(X, exact=exact) for device in ("cpu", None))
    assert_allclose(on.objective, native.objective, rtol=1e-5)
    assert_allclose(on.bound, native.bound, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("given", ["CSR", "float32", "blocks"])
def test_samples_may_be_sparse_single_or_in_blocks(given):
    make, y = ALL["KernelRidge over landmarks"]
    kinds = {
        "CSR": csr_array(X),
        "float32": X.astype(np.float32),
        "blocks": RowBlocks([lambda: X[:250], lambda: X[250:]]),
    }
    machine, native = make(device="cpu").fit(kinds[given], y), make().fit(X, y)
    assert_allclose(machine.predict(X), native.predict(X), atol=1e-4)
    if given != "blocks":
        assert_allclose(machine.predict(kinds[given]), machine.predict(X), atol=1e-4)


@pytest.mark.parametrize("pivots", ["random", "greedy", "uniform", "leverage", "kmeans"])
def test_landmarks_are_chosen_alike(pivots):
    on, native = (Nystroem(RBF(gamma=0.3), 60, pivots, device=device).fit(X) for device in ("cpu", None))
    assert len(on.support_) == len(native.support_) == 60
    assert_allclose(on.unexplained_, native.unexplained_, rtol=0.05, atol=1e-6)
    assert_allclose(on.kernel_error_, native.kernel_error_, rtol=0.05, atol=1e-6)
    if pivots != "kmeans":
        assert (np.sort(on.support_) == np.sort(native.support_)).all()
    inner = on.transform(X[:20]) @ on.transform(X[:20]).T
    assert_allclose(inner, native.transform(X[:20]) @ native.transform(X[:20]).T, atol=1e-6)
    assert isinstance(on.transform(torch.from_numpy(X[:20])), torch.Tensor)


# --- systems ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["auto", "low_rank"])
@pytest.mark.parametrize("ridge", [0.1, "of every sample"])
@pytest.mark.parametrize("n", [60, N])
def test_systems_are_solved(method, ridge, n):
    gram = DeviceGram(RBF(gamma=0.3), X[:n], Place("cpu"))
    if ridge != 0.1:
        ridge = np.geomspace(1e-2, 1e4, n)
    B = np.c_[VALUES, X[:, 0]][:n]
    found = solve_spd(gram, ridge, B, method=method)
    assert found.status == "solved" and found.relative_residual <= 1e-10
    assert found.method == ("low rank" if method == "low_rank" else f"cholesky float{64 if n == 60 else 32}")
    matrix = RBF(gamma=0.3)(X[:n]) + np.diag(np.broadcast_to(ridge, n))
    assert_allclose(found.x, np.linalg.solve(matrix, B), rtol=1e-6, atol=1e-8)


def test_what_float32_cannot_solve_is_solved_in_float64():
    gram = DeviceGram(RBF(gamma=0.3), X, Place("cpu"))
    found = solve_spd(gram, 1e-9, VALUES)
    assert found.method == "cholesky float64" and found.status == "solved"


def test_singular_systems_are_refused():
    with pytest.raises(SingularError, match="reciprocal condition number"):
        solve_spd(DeviceGram(Linear(), X, Place("cpu")), 0.0, VALUES)
    nearly = np.r_[X[:80], X[:1] + 1e-9]
    with pytest.raises(SingularError, match="reciprocal condition number"):
        solve_spd(DeviceGram(Laplacian(gamma=1e-8), nearly, Place("cpu")), 0.0, VALUES[:81])


def test_reciprocal_condition_numbers_are_those_of_lapack():
    from scipy.linalg import lapack

    from mercer.solvers.spd import _DeviceSystem

    gram = DeviceGram(RBF(gamma=0.3), X[:90], Place("cpu"))
    matrix = gram.square(np.arange(90)) + 1e-3 * np.eye(90)
    factor = np.linalg.cholesky(matrix)
    system = _DeviceSystem(gram, np.full(90, 1e-3), VALUES[:90, np.newaxis], 1e-10)
    norm = np.abs(matrix).sum(axis=0).max()
    wanted = lapack.dpocon(np.asfortranarray(factor), norm, uplo="L")[0]
    assert_allclose(1 / (norm * system._inverse_norm(torch.from_numpy(factor))), wanted, rtol=1e-6)


# --- refusals ---------------------------------------------------------------------------------------------


def test_what_has_no_device_is_refused_before_it_is_computed():
    for machine in (mercer.SVC(device="cpu"), mercer.OneClassSVM(device="cpu")):
        with pytest.raises(ValueError, match="device must be None without an approximation, got 'cpu'"):
            machine.fit(X, CLASSES)
    with pytest.raises(ValueError, match=r"device must be None, 'cpu', 'cuda'.* got 'gpu'"):
        mercer.KernelRidge(device="gpu").fit(X, VALUES)
    with pytest.raises(DomainError, match=r"device must be None with kernel='precomputed'"):
        mercer.KernelRidge("precomputed", device="cpu").fit(X @ X.T, VALUES)
    with pytest.raises(DomainError, match=r"device must be None with kernel=Spectrum\(p=2\)"):
        mercer.KernelRidge(Spectrum(2), device="cpu").fit(["ab", "ba"], [0.0, 1.0])
    with pytest.raises(DomainError, match="device must be None with Scaled"):
        mercer.KernelRidge(RBF(gamma=1.0).scaled(len), device="cpu").fit(X, VALUES)


SEARCHED = {
    **ALL,
    "SVR": (lambda **k: mercer.SVR(RBF(gamma=0.3), tol=1e-5, **k), VALUES),
    "GaussianProcessRegressor": (lambda **k: mercer.GaussianProcessRegressor(RBF(gamma=0.3), **k), VALUES),
    "GaussianProcessRegressor as it is": (
        lambda **k: mercer.GaussianProcessRegressor(RBF(gamma=0.3), amplitude=1.0, noise=0.1, optimize=False, **k),
        VALUES,
    ),
    "KernelPCA": (lambda **k: mercer.KernelPCA(RBF(gamma=0.3), n_components=2, **k), None),
    "KernelPCA over landmarks": (lambda **k: mercer.KernelPCA(**KNOWN, n_components=2, **k), None),
}


def largest(machine, held_out, y=None):
    answer = machine.transform if hasattr(machine, "transform") else machine.score_samples
    return float(np.abs(answer(held_out)).max())


@pytest.mark.parametrize("name", [name for name in SEARCHED if "several" not in name])
def test_searches_find_what_they_find_natively(name):
    """Matrices of kernel values are for machines that have them in memory."""
    make, y = SEARCHED[name]
    targets, scoring = ((), largest) if y is None else ((y[:200],), None)
    here, there = (
        Tuned(make(device=device), {"kernel__gamma": [0.01, 0.3]}, cv=3, scoring=scoring).fit(X[:200], *targets)
        for device in (None, "cpu")
    )
    assert there.best_params_ == here.best_params_ and there.machine_.device == "cpu"
    assert_allclose(there.cv_results_["mean_test_score"], here.cv_results_["mean_test_score"], rtol=1e-3, atol=5e-3)


def test_a_clone_has_the_device():
    machine = clone(mercer.SVC(approximation=5, device=torch.device("cpu")))
    assert machine.device == torch.device("cpu")


def test_models_with_a_device_are_saved(tmp_path):
    machine = mercer.KernelRidge(Chi2(gamma=0.2), approximation=20, device="cpu").fit(abs(X), VALUES)
    again = mercer.load(mercer.save(machine, tmp_path / "model"))
    assert again.device == "cpu"
    assert (again.predict(abs(X)) == machine.predict(abs(X))).all()


def test_kept_matrices_are_what_products_use(monkeypatch):
    gram = DeviceGram(RBF(gamma=0.3), X, Place("cpu"))
    assert gram.keeps_values and gram._kept is not None
    kept = gram.dot(VALUES)
    monkeypatch.setattr(Place, "budget", lambda self: 0)
    other = DeviceGram(RBF(gamma=0.3), X, Place("cpu"))
    assert other._kept is None
    assert_allclose(other.dot(VALUES), kept, atol=1e-10)
    assert_allclose(kept, MatrixGram(RBF(gamma=0.3)(X)).dot(VALUES), atol=1e-10)


@parametrize_with_checks([mercer.KernelRidge(device="cpu")])
def test_sklearn_checks(estimator, check):
    check(estimator)
