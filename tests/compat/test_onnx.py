"""ONNX models say what machines say, in float32 and in float64; those that cannot are refused by name."""

import numpy as np
import pytest
from kernel_registry import KERNELS, samples
from machine_registry import MACHINES, lesson
from numpy.testing import assert_allclose, assert_array_equal
from registry import CALIBRATED, ESTIMATORS, LINEAR_ESTIMATORS, SCHEMES, SEARCHES, softened, training_set
from scipy.sparse import csr_array
from sklearn.base import is_classifier, is_outlier_detector
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, StandardScaler

from mercer import (
    SVC,
    SVDD,
    SVR,
    Calibrated,
    GaussianProcessClassifier,
    RelevanceVectorClassifier,
    RelevanceVectorRegressor,
)
from mercer.calibration.calibrated import columns
from mercer.calibration.maps import Isotonic
from mercer.compat.onnx import to_onnx
from mercer.gp.laplace import NARROW
from mercer.kernels import RBF, Constant, Hamming, Laplacian, Linear, Polynomial, Spectrum
from mercer.multiclass import OneClassPerClass, OneVersusRest

onnxruntime = pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# Relative to the size of what is said.
TOLERANCE = {np.float32: 2e-4, np.float64: 1e-9}
every_dtype = pytest.mark.parametrize("dtype", TOLERANCE)

# Machines of the registries that are no expansion, or whose predictions are more than one.
REFUSED = (
    "Calibrated ensemble scores",
    "Calibrated scores",
    "KernelKMeans",
    "KernelRFE",
    "KernelPLS",
    "MercerMap",
    "RandomFourier",
    "SpectralClustering",
)


def said(model, X, dtype):
    """What the model says, by the names of its outputs, as onnxruntime computes it."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": np.ascontiguousarray(X, dtype=dtype)}), strict=True))


def expected(machine, X):
    if is_classifier(machine) or is_outlier_detector(machine):
        found = {"label": machine.predict(X), "decision": machine.decision_function(X)}
        return found | ({"probability": machine.predict_proba(X)} if hasattr(machine, "predict_proba") else {})
    return {"value": machine.predict(X)}


def size(machine, values):
    """What the error is relative to: values, and the offset that detectors take from values of its size."""
    return np.abs(values[np.isfinite(values)]).max() + (abs(machine.offset_) if is_outlier_detector(machine) else 0.0)


def on_steps(machine, X, dtype):
    """How much log-odds may change by the rounding of decision values, where a map of isotonic regression is steep."""
    calibration = getattr(machine, "calibration_", None)
    if not any(isinstance(own, Isotonic) for own in getattr(calibration, "maps", ())):
        return np.zeros(len(X))
    changes = np.zeros(len(X))
    for inner in getattr(machine, "estimators_", None) or [machine.estimator_]:
        values = columns(inner, X, bool(calibration.pairs)).reshape(len(X), -1)
        rounding = TOLERANCE[dtype] * np.abs(values).max()
        for own, column in zip(calibration.maps, values.T, strict=True):
            with np.errstate(invalid="ignore"):  # infinite on both sides: no change
                change = own.log_odds(column + rounding) - own.log_odds(column - rounding)
            changes = np.maximum(changes, np.nan_to_num(change, nan=0.0, posinf=np.inf))
    assert np.median(changes) < 20 * TOLERANCE[dtype]  # flat for most samples
    return 2 * changes


def assert_says_the_same(machine, X, dtype):
    X = np.asarray(X).astype(dtype)
    found, wanted = said(to_onnx(machine, dtype=dtype), X, dtype), expected(machine, X.astype(np.float64))
    steps = on_steps(machine, X.astype(np.float64), dtype)
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        if name == "label":  # where it does not hang on the last digits
            decision = wanted["decision"]
            lead = np.abs(decision) if decision.ndim == 1 else np.diff(np.sort(decision, axis=1), axis=1)[:, -1]
            clear = lead > 2 * (TOLERANCE[dtype] * size(machine, decision) + steps)
            assert_array_equal(found[name][clear], values[clear])
        else:
            assert found[name].dtype == dtype and found[name].shape == values.shape
            rounded = TOLERANCE[dtype] * size(machine, values) + (steps if values.ndim == 1 else steps[:, np.newaxis])
            with np.errstate(invalid="ignore"):
                same = (found[name] == values) | (np.abs(found[name] - values) <= rounded)
            assert same.all(), (name, found[name][~same], values[~same])


def assert_agrees_or_is_refused(name, machine, X, dtype):
    if name.startswith(REFUSED):
        with pytest.raises(ValueError, match=r"ONNX|onnx"):
            to_onnx(machine, dtype=dtype)
    else:
        assert_says_the_same(machine, X, dtype)


@every_dtype
@pytest.mark.parametrize("name", ESTIMATORS | LINEAR_ESTIMATORS | CALIBRATED | SEARCHES)
def test_support_vector_machines(name, dtype):
    machine = softened((ESTIMATORS | LINEAR_ESTIMATORS | CALIBRATED | SEARCHES)[name]())
    X, y = training_set(machine)
    new, _ = training_set(machine, seed=1)
    assert_agrees_or_is_refused(name, machine.fit(X, y), new, dtype)


@every_dtype
@pytest.mark.parametrize("name", MACHINES)
def test_other_machines(name, dtype):
    machine = MACHINES[name]()
    given = lesson(machine, n=24)
    if not (is_classifier(machine) or is_outlier_detector(machine) or hasattr(machine, "predict")):
        machine.fit(*given)
        with pytest.raises(ValueError, match=r"to_onnx takes classifiers|ONNX"):
            to_onnx(machine)
        return
    try:
        to_onnx(machine.fit(*given))
    except ValueError as error:
        assert "onnx" in str(error).lower() and name.startswith(REFUSED), error
        return
    assert_agrees_or_is_refused(name, machine, lesson(machine, n=24, seed=1)[0], dtype)


@every_dtype
@pytest.mark.parametrize("name", SCHEMES)
def test_several_classes(name, dtype):
    machine = SVC(multi_class=SCHEMES[name]())
    X, y = training_set(machine, n_classes=4)
    labels = np.array(["ash", "birch", "cedar", "elm"])[y]
    machine.fit(X, labels)
    assert_says_the_same(machine, X, dtype)
    assert_says_the_same(machine.fit(X, labels == "elm"), X, dtype)


@every_dtype
@pytest.mark.parametrize(
    "machine",
    [
        SVC(probability=True, multi_class="ovr"),
        Calibrated(SVC(), method="temperature"),
        Calibrated(SVC(multi_class="ovr")),
        Calibrated(SVC(multi_class="ecoc", loss="squared_hinge")),
        Calibrated(SVC(multi_class="ovr"), method="isotonic"),
        Calibrated(SVC(multi_class="ovr"), method="isotonic", targets="plain"),
        SVC(probability=True),
        SVC(probability=True, multi_class="dag"),
        Calibrated(SVC(), method="isotonic"),
        Calibrated(SVC(C=0.3), method="isotonic", targets="plain"),
        Calibrated(SVC(), ensemble=True),
        Calibrated(SVC(), method="temperature", ensemble=True),
        Calibrated(RelevanceVectorClassifier()),
    ],
    ids=lambda machine: str(machine).replace(" ", ""),
)
def test_probabilities_of_several_classes(machine, dtype):
    X, y = training_set(machine, n_classes=3)
    assert_says_the_same(machine.fit(X, y), X, dtype)


@every_dtype
def test_samples_of_no_class(dtype):
    """Where every class has probability 0 against the rest, all are as probable."""
    X, y = training_set(SVC(), n_classes=3)
    machine = Calibrated(SVC(RBF(0.3), multi_class=OneClassPerClass(0.1)), method="isotonic", targets="plain")
    machine.fit(X, y)
    far = np.full((2, 3), 1e3)
    assert_allclose(machine.predict_proba(far), 1 / 3)
    assert_allclose(said(to_onnx(machine, dtype=dtype), far, dtype)["probability"], 1 / 3, rtol=1e-6)


@every_dtype
def test_many_classes_are_coupled(dtype):
    X, y = training_set(SVC(), n=120, n_classes=9)
    assert_says_the_same(SVC(probability=True, C=20.0).fit(X, y), X, dtype)


@every_dtype
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("amplitude", [0.05, 4.0, 2000.0])
def test_spreads_of_gaussian_processes(amplitude, n_classes, dtype):
    """From narrow to wide ones: the average over them is computed in two ways."""
    machine = GaussianProcessClassifier(amplitude=amplitude, optimize=False)
    X, y = training_set(SVC(), n_classes=n_classes)
    machine.fit(X, y)
    narrow = machine.latent(3 * X)[1] < NARROW
    assert narrow.all() if amplitude < 0.1 else not narrow.all() if amplitude < 1000.0 else not narrow.any()
    assert_says_the_same(machine, 3 * X, dtype)


@every_dtype
def test_kernels_of_gaussian_processes(dtype):
    X, y = training_set(SVC())
    for kernel in (RBF(0.3) + 1.0, Linear() + 0.5 * Laplacian(0.2)):
        assert_says_the_same(GaussianProcessClassifier(kernel, max_iter=20).fit(X, y), X, dtype)
    assert_says_the_same(GaussianProcessClassifier("linear", optimize=False).fit(csr_array(X), y), X, dtype)


@every_dtype
def test_small_spreads_of_a_large_amplitude(dtype):
    """Near the samples hardly anything is left of the prior variance."""
    X = np.random.default_rng(0).normal(size=(200, 3)).astype(np.float32).astype(np.float64)
    machine = GaussianProcessClassifier(RBF(0.03), amplitude=3000.0, optimize=False).fit(X, X[:, 0] * X[:, 1] > 0)
    assert machine.latent(X)[1].min() < 0.05 * 3000.0**0.5
    found = said(to_onnx(machine, dtype=dtype), X, dtype)
    assert_allclose(found["probability"], machine.predict_proba(X), rtol=0, atol=2e-6 if dtype == np.float32 else 1e-9)


@every_dtype
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(
    "parameters",
    [
        {"kernel": [RBF(0.1), RBF(1.0), Linear()]},
        {"multi_class": "ovr"},
        {"probabilities": "mode"},
        {"multi_class": "ovr", "probabilities": "mode", "fit_intercept": False},
        {"basis": "precomputed"},
    ],
    ids=str,
)
def test_relevance_vectors(parameters, n_classes, dtype):
    X, y = training_set(SVC(), n_classes=n_classes)
    assert_says_the_same(RelevanceVectorClassifier(**parameters).fit(X, y), X, dtype)
    given = {name: value for name, value in parameters.items() if name in ("kernel", "basis", "fit_intercept")}
    assert_says_the_same(RelevanceVectorRegressor(**given).fit(X, np.sin(X[:, 0])), X, dtype)


@every_dtype
def test_models_without_relevance_vectors(dtype):
    """Where the only candidate says nothing, the constant is alone."""
    X, _ = training_set(SVC())
    y = np.arange(60) % 3 == 0
    machine = RelevanceVectorClassifier(candidates=[3], tol=1.0).fit(X, y)
    assert not len(machine.relevance_)
    assert_says_the_same(machine, X, dtype)


def test_schemes_of_others_are_refused():
    class Sorted(OneVersusRest):
        """Its scores are not those of its parent."""

    X, y = training_set(SVC(), n_classes=3)
    with pytest.raises(ValueError, match=r"multi_class=Sorted\(\) is not computed by ONNX models"):
        to_onnx(SVC(multi_class=Sorted()).fit(X, y))


VECTORS = {name: make for name, make in KERNELS.items() if make().domain == "vectors"}


def as_vectors(X):
    return (X.toarray() if hasattr(X, "toarray") else X).astype(np.float64)


@every_dtype
@pytest.mark.parametrize("name", VECTORS)
def test_kernels(name, dtype):
    kernel = VECTORS[name]()
    X = as_vectors(samples(kernel, 20, 3))
    machine = SVC(kernel).fit(X, X[:, 0] > np.median(X[:, 0]))
    try:
        to_onnx(machine)
    except ValueError as error:
        assert "has no expression in ONNX operators" in str(error)
        assert name.startswith(NO_EXPRESSION), name
        return
    assert not name.startswith(NO_EXPRESSION)
    new = as_vectors(samples(kernel, 20, 3, seed=1))
    assert_says_the_same(machine, new, dtype)
    assert_says_the_same(SVR(kernel).fit(X, np.sin(np.arange(20.0))), X, dtype)
    if kernel.definite:
        assert_says_the_same(SVDD(kernel, nu=0.4).fit(X), new, dtype)


NO_EXPRESSION = (
    "Cached",
    "Centered",
    "EmpiricalMap",
    "Fisher",
    "Geometric",
    "Mapped",
    "Matern nu=0.8",
    "Matern per feature",
    "Normalized",
    "PolynomialOf",
    "RBFOf",
    "Scaled",
    "TranslationInvariant",
)


@every_dtype
def test_combined_kernels(dtype):
    kernel = 0.5 * RBF([0.1, 0.5, 1.0]) + Linear() * Laplacian(0.2) + Constant(2.0) + Polynomial(2, 0.1, 1.0) ** 2
    X, y = training_set(SVR())
    for machine in (SVR(kernel), SVDD(kernel, nu=0.3)):
        assert_says_the_same(machine.fit(X, y), X, dtype)


@every_dtype
def test_several_outputs_and_scalers(dtype):
    X, y = training_set(SVR())
    scalers = StandardScaler(), MaxAbsScaler(), MinMaxScaler()
    machine = make_pipeline(*scalers, SVR()).fit(100.0 + 50.0 * X, np.column_stack([y, 3.0 - y]))
    assert_says_the_same(machine, 100.0 + 50.0 * X, dtype)
    assert said(to_onnx(machine), X, np.float32)["value"].shape == (60, 2)


def test_sparse_support_vectors():
    X, y = training_set(SVC())
    machine = SVC().fit(csr_array(X * (X > 0)), y)
    found = said(to_onnx(machine, dtype=np.float64), X * (X > 0), np.float64)
    assert_allclose(found["decision"], machine.decision_function(X * (X > 0)), atol=1e-10)


def test_refusals():
    X, y = training_set(SVC())
    words = ["aab", "abb", "bba", "bbb"]
    with pytest.raises(ValueError, match=r"^Spectrum\(.*\) has no expression in ONNX operators; kernels on vectors"):
        to_onnx(SVC(Spectrum(2)).fit(words, [0, 0, 1, 1]))
    with pytest.raises(ValueError, match=r"^Hamming\(.*\) has no expression"):
        to_onnx(SVC(Hamming() + 1.0).fit(np.sign(X), y))
    with pytest.raises(ValueError, match="precomputed"):
        to_onnx(SVC("precomputed").fit(X @ X.T, y))
    with pytest.raises(ValueError, match=r"dtype must be numpy\.float32 or numpy\.float64, got int64"):
        to_onnx(SVC().fit(X, y), dtype=int)
    with pytest.raises(ValueError, match="Steps before a machine must be StandardScaler"):
        to_onnx(make_pipeline(OneHotEncoder(sparse_output=False), SVC()).fit(np.sign(X), y))
    with pytest.raises(ValueError, match="not fitted"):
        to_onnx(SVC())


def test_without_onnx(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r'to_onnx needs onnx: pip install "mercer\[onnx\]"'):
        to_onnx(SVC())


def test_difference_is_seen():
    X, y = training_set(SVC())
    machine = SVC().fit(X, y)
    other = SVC().fit(X, y)
    other.intercept_ = other.intercept_ + 1e-3
    found = said(to_onnx(other, dtype=np.float64), X, np.float64)
    with pytest.raises(AssertionError):
        assert_allclose(found["decision"], machine.decision_function(X), rtol=0, atol=1e-9)
