"""Every model goes into a file and comes back: the same to the last bit."""

import pickle
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from kernel_registry import KERNELS, samples
from machine_registry import MACHINES, lesson
from numpy.testing import assert_array_equal
from registry import (
    CALIBRATED,
    CELLS,
    CRITERIA,
    DROP_INS,
    ESTIMATORS,
    EXACT_STRUCTURED_SOLVERS,
    JOINT_SOLVERS,
    LINEAR_ESTIMATORS,
    LINEAR_JOINT_SOLVERS,
    LINEAR_SOLVERS,
    LOGISTIC_SOLVERS,
    LP_SOLVERS,
    QUERY_RULES,
    REGULARIZED_SOLVERS,
    ROUGH_SOLVERS,
    SCHEMES,
    SOLVERS,
    SPARSE_BAYES_SOLVERS,
    SPARSE_SOLVERS,
    STOPPING_RULES,
    STRUCTURED_SOLVERS,
    TUNED,
    softened,
    training_set,
)
from scipy.sparse import issparse
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError

import mercer
from mercer import SVC, OneClassSVM, problems
from mercer.errors import UnsavableError
from mercer.persist import describe

# What matters here is not how good the optimum is.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

VALUES = {
    f"{kind} {name}": make
    for kind, registry in {
        "solver": SOLVERS
        | ROUGH_SOLVERS
        | JOINT_SOLVERS
        | LINEAR_JOINT_SOLVERS
        | SPARSE_SOLVERS
        | LOGISTIC_SOLVERS
        | REGULARIZED_SOLVERS
        | SPARSE_BAYES_SOLVERS
        | LP_SOLVERS
        | EXACT_STRUCTURED_SOLVERS
        | STRUCTURED_SOLVERS
        | LINEAR_SOLVERS,
        "scheme": SCHEMES,
        "criterion": CRITERIA,
        "rule": QUERY_RULES | STOPPING_RULES,
        "weights": {
            "Elastic": lambda: problems.Elastic(0.3),
            "Groups": lambda: problems.Groups([0, 0, 1]),
            "NormBall": lambda: problems.NormBall(2.0),
            "Simplex": lambda: problems.Simplex(),
        },
    }.items()
    for name, make in registry.items()
}
TRAINED = LINEAR_ESTIMATORS | ESTIMATORS | CALIBRATED | CELLS | TUNED
TRAINED |= {f"drop-in {k}": v for k, v in DROP_INS.items()}
CERTIFICATE = {"objective", "bound", "gap", "violation", "status", "n_iter"}
BINARY = ("GradientTuned",)
# Models that hold a function of the user, with the place where it is.
HOLD_CODE = {
    "FromFunction": "function",
    "FromFunction pairwise": "function",
    "Mapped": "function",
    "Scaled": "function",
    "TranslationInvariant": "psi",
}


def with_classes(registry, n_classes):
    """Every machine with two classes, or none, and those that can with more."""
    several = [name for name, make in registry.items() if is_classifier(make()) and not name.startswith(BINARY)]
    return [(name, 2) for name in registry] + [(name, n_classes) for name in several]


def said(machine, X):
    """All that a machine says of samples."""
    names = ("predict", "decision_function", "predict_proba", "transform", "score_samples")
    found = {name: getattr(machine, name)(X) for name in names if hasattr(machine, name)}
    assert found
    return found


def assert_same_said(first, second):
    assert first.keys() == second.keys()
    for name, values in first.items():
        a, b = (v.toarray() if issparse(v) else np.asarray(v) for v in (values, second[name]))
        assert a.dtype == b.dtype
        assert_array_equal(a, b, err_msg=name)


def assert_comes_back(model, folder):
    """The model from its file; it makes the same file, byte for byte, and so is equal in all its parts."""
    first = Path(mercer.save(model, folder / "first.mercer"))
    again = mercer.load(first)
    assert type(again) is type(model)
    second = Path(mercer.save(again, folder / "second.mercer"))
    assert second.read_bytes() == first.read_bytes()
    assert sorted(path.name for path in folder.iterdir()) == ["first.mercer", "second.mercer"]
    return again


def assert_machine_comes_back(machine, X, folder, *learnt_from):
    again = assert_comes_back(machine, folder)
    assert repr(again) == repr(machine)
    assert_same_said(said(machine, X), said(again, X))
    if hasattr(machine, "result_"):
        told = describe(folder / "first.mercer")["certificate"]
        if isinstance(told, list):
            assert len(told) == len(machine.result_)
            return
        for name in CERTIFICATE & {field.name for field in fields(machine.result_)}:
            assert told[name] == getattr(machine.result_, name) == getattr(again.result_, name)
    pickled = pickle.loads(pickle.dumps(machine))
    assert_same_said(said(machine, X), said(pickled, X))
    again.fit(*learnt_from)
    machine.fit(*learnt_from)
    assert_same_said(said(machine, X), said(again, X))


@pytest.mark.parametrize(("name", "n_classes"), with_classes(TRAINED, 4))
def test_trained_machines(name, n_classes, tmp_path):
    machine = TRAINED[name]()
    X, y = training_set(machine, n_classes=n_classes)
    machine = softened(machine).fit(X, y)
    assert_machine_comes_back(machine, X, tmp_path, X, y)


@pytest.mark.parametrize(("name", "n_classes"), with_classes(MACHINES, 3))
def test_other_machines(name, n_classes, tmp_path):
    machine = MACHINES[name]()
    given = lesson(machine, n=15 if name.startswith("RelevanceVector") else 24, n_classes=n_classes)
    machine.fit(*given)
    if name == "RegularizedRegressor own":
        with pytest.raises(UnsavableError, match=r"model files do not hold .*LogCosh"):
            mercer.save(machine, tmp_path / "machine.mercer")
        return
    assert_machine_comes_back(machine, given[0], tmp_path, *given)


@pytest.mark.parametrize("name", SCHEMES)
def test_several_classes(name, tmp_path):
    machine = SVC(multi_class=SCHEMES[name]())
    X, y = training_set(machine, n_classes=4)
    labels = np.array(["ash", "birch", "cedar", "elm"], dtype=object)[y]
    assert_machine_comes_back(machine.fit(X, labels), X, tmp_path, X, labels)


@pytest.mark.parametrize("name", KERNELS)
def test_kernels(name, tmp_path):
    """The kernel, and a machine with support vectors of its domain."""
    kernel = KERNELS[name]()
    X = samples(kernel, 20, 6)
    X = X if kernel.domain in ("table", "vectors", "categories", "permutations") else list(X)
    machine = OneClassSVM(kernel, nu=0.3).fit(X)
    if name in HOLD_CODE:
        with pytest.raises(UnsavableError, match=rf"^{type(kernel).__name__}\.{HOLD_CODE[name]} is a Python function"):
            mercer.save(kernel, tmp_path / "kernel.mercer")
        with pytest.raises(UnsavableError, match=rf"^OneClassSVM\.kernel\.{HOLD_CODE[name]} is a Python function"):
            mercer.save(machine, tmp_path / "machine.mercer")
        assert not list(tmp_path.iterdir())
        return
    again = assert_comes_back(kernel, tmp_path)
    assert repr(again) == repr(kernel)
    assert_array_equal(again(X), kernel(X))
    assert_machine_comes_back(machine, X, tmp_path, X)


@pytest.mark.parametrize("name", VALUES)
def test_values(name, tmp_path):
    assert_comes_back(VALUES[name](), tmp_path)


@pytest.mark.parametrize("name", sorted((TRAINED | MACHINES).keys() - {"RegularizedRegressor own"}))
def test_machines_that_are_not_fitted(name, tmp_path):
    machine = (TRAINED | MACHINES)[name]()
    again = assert_comes_back(machine, tmp_path)
    assert repr(again) == repr(machine)
    X = np.ones((2, 3))
    with pytest.raises((NotFittedError, AttributeError)):
        said(again, X)
