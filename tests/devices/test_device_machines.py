"""Machines with a device find what they find natively."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer.data import RowBlocks
from mercer.devices import DeviceGram, Place
from mercer.errors import DomainError, SingularError
from mercer.features import MercerMap, Nystroem, PolynomialSketch, RandomFourier
from mercer.gram import MatrixGram
from mercer.kernels import RBF, Chi2, Laplacian, Linear, Polynomial, Spectrum
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
    "KernelLogisticRegression": (lambda **k: mercer.KernelLogisticRegression(**KNOWN, **k), CLASSES),
    "KernelLogisticRegression of three": (lambda **k: mercer.KernelLogisticRegression(**KNOWN, **k), THREE),
}
THROUGH_MAPS = {
    "SVC by frequencies": (
        lambda **k: mercer.SVC(RBF(gamma=0.3), approximation=RandomFourier(n_components=61), **k),
        THREE,
    ),
    "SVC by coordinates": (
        lambda **k: mercer.SVC(RBF(gamma=0.3), approximation=MercerMap(n_components=30), **k),
        THREE,
    ),
    "SVR by a sketch": (lambda **k: mercer.SVR(CUBIC, approximation=PolynomialSketch(n_components=40), **k), VALUES),
    "KernelRidge by frequencies": (
        lambda **k: mercer.KernelRidge(RBF(gamma=0.3), approximation=RandomFourier(n_components=60), **k),
        VALUES,
    ),
    "KernelLogisticRegression by frequencies": (
        lambda **k: mercer.KernelLogisticRegression(RBF(gamma=0.3), approximation=RandomFourier(n_components=60), **k),
        CLASSES,
    ),
}
CUBIC = Polynomial(degree=3, gamma=0.3, coef0=1.0)
EXACT = {
    "KernelRidge": (lambda **k: mercer.KernelRidge(RBF(gamma=0.3), alpha=0.1, **k), VALUES),
    "KernelRidge of several": (lambda **k: mercer.KernelRidge(Laplacian(gamma=0.3), **k), np.c_[VALUES, X[:, :2]]),
    "LSSVC": (lambda **k: mercer.LSSVC(RBF(gamma=0.3), alpha=0.1, **k), THREE),
    "KernelLogisticRegression": (lambda **k: mercer.KernelLogisticRegression(RBF(gamma=0.3), **k), CLASSES),
    "KernelLogisticRegression of three": (lambda **k: mercer.KernelLogisticRegression(RBF(gamma=0.3), **k), THREE),
}
ALL = {**{f"{name} over landmarks": made for name, made in OVER_LANDMARKS.items()}, **THROUGH_MAPS, **EXACT}


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
    for name in ("predict", "decision_function", "score_samples", "predict_proba"):
        if hasattr(on, name):
            found, wanted = getattr(on, name)(X[:50]), getattr(native, name)(X[:50])
            assert (found == wanted).all() if found.dtype.kind in "UiO" else np.allclose(found, wanted, atol=1e-9)


def clone_of(machine):
    """The same fitted machine without a device."""
    return pickle.loads(pickle.dumps(machine)).set_params(device=None)


def test_tensors_are_answered_by_tensors(twins):
    on, _ = twins
    for name in ("predict", "decision_function", "score_samples", "predict_proba", "predict_log_proba"):
        if hasattr(on, name):
            wanted, found = getattr(on, name)(X[:50]), getattr(on, name)(torch.from_numpy(X[:50]))
            assert isinstance(found, np.ndarray if wanted.dtype.kind == "U" else torch.Tensor)
            assert (np.asarray(found) == wanted).all() if wanted.dtype.kind in "Ui" else np.allclose(found, wanted)
            single = getattr(on, name)(torch.from_numpy(X[:50].astype(np.float32)))
            assert len(single) == 50


def test_machines_without_a_device_take_tensors_for_arrays():
    machine = mercer.KernelRidge(RBF(gamma=0.3)).fit(torch.from_numpy(X), torch.from_numpy(VALUES))
    assert isinstance(machine.predict(torch.from_numpy(X[:3])), np.ndarray)


MORE = {
    "KernelPCA": (lambda **k: mercer.KernelPCA(n_components=3, **k), None),
    "KernelPCA over landmarks": (lambda **k: mercer.KernelPCA(**KNOWN, n_components=3, **k), None),
    "KernelKMeans": (lambda **k: mercer.KernelKMeans(n_clusters=3, **k), None),
    "KernelKMeans over landmarks": (lambda **k: mercer.KernelKMeans(**KNOWN, n_clusters=3, **k), None),
    "SVC": (lambda **k: mercer.SVC(0.5 * RBF() + RBF("median"), tol=1e-6, probability=True, **k), CLASSES),
    "KernelRidge over features": (lambda **k: mercer.KernelRidge(Linear(), alpha=[0.1, 1.0], **k), VALUES),
    "GaussianProcessRegressor": (lambda **k: mercer.GaussianProcessRegressor(optimize=False, **k), VALUES),
    "Nystroem": (lambda **k: Nystroem(n_components=20, **k), None),
    "Nystroem by leverage": (lambda **k: Nystroem(n_components=20, pivots="leverage", **k), None),
    "Nystroem of means": (lambda **k: Nystroem(n_components=20, pivots="kmeans", **k), None),
}


@pytest.mark.parametrize("name", [*ALL, *MORE])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_machines_learn_from_tensors_what_they_learn_from_arrays(name, dtype):
    make, y = (ALL | MORE)[name]
    given, weight = X.astype(dtype), np.where(np.arange(N) % 7 == 0, 0.0, 1.0)
    labels = torch.from_numpy(y) if y is not None and y.dtype.kind != "U" else y
    there = torch.from_numpy(given).requires_grad_()
    on = make(device="cpu").fit(there, labels, sample_weight=torch.from_numpy(weight))
    array = make(device="cpu").fit(given, y, sample_weight=weight)
    assert on.n_features_in_ == D and isinstance(on.support_vectors_, np.ndarray)
    assert on.support_vectors_.dtype == array.support_vectors_.dtype
    answer = next(a for a in ("decision_function", "transform", "predict") if hasattr(on, a))
    wanted = getattr(array, answer)(X)
    assert_allclose(getattr(on, answer)(X), wanted, atol=1e-5 * np.abs(wanted).max())
    assert isinstance(getattr(on, answer)(there), torch.Tensor)
    if hasattr(on, "predict_proba"):
        assert isinstance(on.predict_proba(there), torch.Tensor)
    if "landmarks" in name and "KMeans" not in name:
        assert on.full_certificate(there).bound == pytest.approx(array.full_certificate(given).bound, rel=1e-6)


# These have them in memory: for a median of distances, weights of features, slopes of the evidence, means.
IN_MEMORY = {"SVC", "KernelRidge over features", "GaussianProcessRegressor", "Nystroem of means"}


@pytest.mark.parametrize("name", [name for name in ALL | MORE if name not in {*EXACT, *IN_MEMORY}])
def test_tensors_stay_where_they_are(name, monkeypatch):
    """But for support vectors."""
    make, y = (ALL | MORE)[name]

    def to_numpy(tensor):
        assert tensor.shape != (N, D)
        return tensor.detach().cpu().numpy()

    for module in ("machines.base", "devices.arrays"):
        monkeypatch.setattr(f"mercer.{module}.to_numpy", to_numpy)
    weight = np.r_[0.0, np.ones(N - 1)]  # not all samples become support vectors
    make(device="cpu").fit(torch.from_numpy(X), y, sample_weight=weight)


def test_tensors_are_checked_in_fits():
    machine = mercer.KernelRidge(RBF(gamma=0.3), approximation=10, device="cpu")
    labels = torch.zeros(50)
    with pytest.raises(ValueError, match="X contains NaN or infinity"):
        machine.fit(torch.full((50, 3), torch.nan), labels)
    for wrong in (torch.ones(50), torch.ones((50, 0)), torch.ones((0, 3))):
        with pytest.raises(ValueError, match=r"X must be vectors, one in each row, got a tensor of shape \("):
            machine.fit(wrong, labels)
    with pytest.raises(ValueError, match="X has 50 samples, y has 49"):
        machine.fit(torch.ones((50, 3)), labels[:49])
    with pytest.raises(ValueError, match="requires y to be passed"):
        machine.fit(torch.ones((50, 3)), None)
    whole = machine.fit(torch.from_numpy(np.arange(150).reshape(50, 3)), torch.arange(50))
    assert whole.support_vectors_.dtype == np.float64


def test_checkpoints_of_tensors_are_those_of_arrays(tmp_path):
    machine = mercer.KernelLogisticRegression(**KNOWN, device="cpu", checkpoint=tmp_path / "fit", max_iter=1)
    with pytest.warns(ConvergenceWarning):
        machine.fit(X, CLASSES)
    machine.set_params(max_iter=100).fit(torch.from_numpy(X), CLASSES)
    assert machine.result_.status == "solved" and not (tmp_path / "fit").exists()


def test_sums_of_kernels_predict_from_arrays():
    kernel = RBF(gamma=0.3) + 0.1 * Linear()
    on, native = (mercer.KernelRidge(kernel, device=device).fit(X, VALUES) for device in ("cpu", None))
    assert_allclose(on.predict(X[:9]), native.predict(X[:9]), atol=1e-6)


def test_wrong_tensors_are_refused():
    machine = mercer.KernelRidge(RBF(gamma=0.3), device="cpu").fit(X[:50], VALUES[:50])
    with pytest.raises(ValueError, match=r"X must have the 3 features .* got a tensor of shape \(2, 4\)"):
        machine.predict(torch.ones((2, 4)))
    with pytest.raises(ValueError, match="X contains NaN or infinity"):
        machine.predict(torch.full((2, 3), torch.nan))


@pytest.mark.parametrize(
    "name",
    [*(f"{name} over landmarks" for name in ("SVC", "KernelRidge", "SVDD", "KernelLogisticRegression")), *THROUGH_MAPS],
)
@pytest.mark.parametrize("exact", [True, False])
def test_full_certificates_are_the_same(name, exact):
    if not exact and name in THROUGH_MAPS and "coordinates" not in name:
        pytest.skip("bounds by distances are for landmarks")
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


@pytest.mark.parametrize("approximation", [None, 40])
def test_clusters_are_the_same(approximation):
    known = {"n_clusters": 4, "approximation": approximation, "init": np.arange(4)}
    on, native = (mercer.KernelKMeans(RBF(gamma=0.3), device=device, **known).fit(X) for device in ("cpu", None))
    assert on.result_.status == "local" and (on.labels_ == native.labels_).all()
    assert_allclose(on.inertia_, native.inertia_, rtol=1e-8)
    assert (on.predict(X) == on.labels_).all()
    there = torch.from_numpy(X[:20])
    for name in ("predict", "transform"):
        found = getattr(on, name)(there)
        assert isinstance(found, torch.Tensor)
        assert_allclose(found.numpy(), getattr(native, name)(X[:20]), atol=1e-6)
    drawn = mercer.KernelKMeans(RBF(gamma=0.3), n_clusters=4, approximation=approximation, device="cpu").fit(X)
    assert drawn.inertia_ <= 1.05 * on.inertia_


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
