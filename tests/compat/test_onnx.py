"""ONNX models say what machines say, in float32 and in float64; those that cannot are refused by name."""

import numpy as np
import pytest
from kernel_registry import KERNELS, samples
from machine_registry import MACHINES, lesson
from numpy.testing import assert_allclose, assert_array_equal
from registry import CALIBRATED, ESTIMATORS, LINEAR_ESTIMATORS, SCHEMES, SEARCHES, softened, training_set
from sklearn.base import is_classifier, is_outlier_detector
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, StandardScaler

from mercer import SVC, SVDD, SVR, Calibrated
from mercer.compat.onnx import to_onnx
from mercer.kernels import RBF, Constant, Hamming, Laplacian, Linear, Polynomial, Spectrum

onnxruntime = pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# Relative to the size of what is said.
TOLERANCE = {np.float32: 2e-4, np.float64: 1e-9}
every_dtype = pytest.mark.parametrize("dtype", TOLERANCE)

# Machines of the registries that are no expansion, or whose predictions are more than one.
REFUSED = (
    "Calibrated ensemble",
    "Calibrated isotonic",
    "Calibrated scores",
    "GaussianProcessClassifier",
    "KernelFisherDiscriminant",
    "KernelKMeans",
    "KernelRFE",
    "KernelPLS",
    "MercerMap",
    "RandomFourier",
    "RelevanceVectorClassifier",
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


def assert_says_the_same(machine, X, dtype):
    X = np.asarray(X).astype(dtype)
    found, wanted = said(to_onnx(machine, dtype=dtype), X, dtype), expected(machine, X.astype(np.float64))
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        if name == "label":  # where it does not hang on the last digits
            decision = wanted["decision"]
            lead = np.abs(decision) if decision.ndim == 1 else np.diff(np.sort(decision, axis=1), axis=1)[:, -1]
            clear = lead > 2 * TOLERANCE[dtype] * size(machine, decision)
            assert_array_equal(found[name][clear], values[clear])
        else:
            assert found[name].dtype == dtype
            finite = np.isfinite(values)
            tolerance = TOLERANCE[dtype] * size(machine, values)
            assert_allclose(found[name][finite], values[finite], rtol=0, atol=tolerance, err_msg=name)


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
    if name.startswith(("DAG", "ErrorCorrectingCode", "OneClassPerClass")):
        with pytest.raises(ValueError, match=r"multi_class=.* is not computed by ONNX models"):
            to_onnx(machine)
    else:
        assert_says_the_same(machine, X, dtype)


@every_dtype
@pytest.mark.parametrize(
    "machine",
    [
        SVC(probability=True, multi_class="ovr"),
        Calibrated(SVC(), method="temperature"),
        Calibrated(SVC(multi_class="ovr")),
    ],
    ids=["ovr", "temperature", "calibrated"],
)
def test_probabilities_of_several_classes(machine, dtype):
    X, y = training_set(machine, n_classes=3)
    assert_says_the_same(machine.fit(X, y), X, dtype)


def test_coupled_probabilities_are_refused():
    X, y = training_set(SVC(), n_classes=3)
    machine = SVC(probability=True).fit(X, y)
    with pytest.raises(ValueError, match=r"coupled from those of pairs"):
        to_onnx(machine)
    assert_says_the_same(machine.estimator_, X, np.float64)


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
    from scipy.sparse import csr_array

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
