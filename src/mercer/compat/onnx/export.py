"""ONNX models of fitted machines."""

from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_outlier_detector, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from mercer.calibration import Calibrated
from mercer.calibration.calibration import Calibration
from mercer.compat.onnx.classes import averaged, calibrated, labels, of_two, scores, shares
from mercer.compat.onnx.functions import functions
from mercer.compat.onnx.kernels import kernel_diagonal
from mercer.compat.onnx.operators import Operators
from mercer.extras import require
from mercer.gp import GaussianProcessClassifier
from mercer.machines import LogOddsClassifier
from mercer.svm import SVDD

__all__ = ["to_onnx"]

# Operators of 2021, which every runtime has by now.
OPSET = 13
IR_VERSION = 8


def to_onnx(machine: Any, *, dtype: Any = np.float32) -> Any:
    """An ONNX model that computes what a fitted machine predicts.

    It is made of plain operators, so that it runs wherever ONNX does, in float32 or in float64.

    Parameters
    ----------
    machine : fitted machine on vectors
        `SVC`, `NuSVC`, `LSSVC`, `SVR`, `NuSVR`, `QuantileSVR`, `OneClassSVM`, `SVDD`, `KernelRidge`, other machines
        whose predictions are an expansion ``K(X, support_vectors_) @ dual_coef_.T + intercept_``, relevance vector
        machines and Gaussian processes (of values, their means), linear machines, with any scheme of several classes
        of mercer, and `Calibrated` around one of them; also at the end of a `Pipeline` of scalers. Kernels are those
        on dense vectors with a closed form, their sums, products, powers and exponentials.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        Of the input and of all that is computed.

    Returns
    -------
    onnx.ModelProto
        With the input ``X``, shape (n, n_features), and the outputs ``label`` and ``decision`` of classifiers and
        novelty detectors, ``probability`` of classifiers that have them, and ``value`` of regressors.
        ``onnx.save(model, path)`` writes it.

    Raises
    ------
    ValueError
        If a machine, a kernel, a step of a pipeline or a scheme of your own has no expression in ONNX; it is named.
    ImportError
        Without the package ``onnx``: ``pip install "mercer[onnx]"``.

    Notes
    -----
    In float64 the outputs agree with the machine's to about 1e-10 of their size, in float32 to about 1e-4: distances
    are formed after the mean of the support vectors has been taken off, as everywhere in mercer, but coefficients of
    size C may cancel. A prediction takes memory for n times as many kernel values as there are support vectors, and as
    many times n_features for kernels of single differences (`Laplacian`, `Exponential`, `Chi2`, `Intersection`).
    Where a map of isotonic regression jumps, rounding of decision values can come out on the other side. Probabilities
    of a `GaussianProcessClassifier` take a sum of 321 terms for each function; these, and those of pairs of classes,
    which are coupled by a linear system for every sample, are computed in float64 in either case.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.compat.onnx import to_onnx
    >>> machine = SVC().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> model = to_onnx(machine)
    >>> [output.name for output in model.graph.output]
    ['label', 'decision']
    """
    onnx = require("onnx", "to_onnx")
    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype must be numpy.float32 or numpy.float64, got {dtype}.")
    check_is_fitted(machine)
    ops = Operators(onnx, dtype)
    scalers, last = (machine[:-1], machine[-1]) if isinstance(machine, Pipeline) else ((), machine)
    last = getattr(last, "best_estimator_", last)  # of a search
    X = "X"
    for scaler in scalers:
        X = _scaled(ops, scaler, X)
    outputs = _outputs(ops, last, X)
    n_features = machine.n_features_in_
    graph = onnx.helper.make_graph(
        [*ops.nodes, *(onnx.helper.make_node("Identity", [found], [name]) for name, (found, *_) in outputs.items())],
        type(last).__name__,
        [onnx.helper.make_tensor_value_info("X", ops.kind(dtype), ["n", n_features])],
        [onnx.helper.make_tensor_value_info(name, kind, ["n", *width]) for name, (_, kind, *width) in outputs.items()],
        ops.constants,
    )
    model = onnx.helper.make_model(
        graph, producer_name="mercer", opset_imports=[onnx.helper.make_opsetid("", OPSET)], ir_version=IR_VERSION
    )
    onnx.checker.check_model(model)
    return model


def _scaled(ops: Operators, scaler: Any, X: str) -> str:
    """What a scaler makes of samples."""
    if isinstance(scaler, StandardScaler):
        X = ops("Sub", X, scaler.mean_) if scaler.with_mean else X
        return ops("Div", X, scaler.scale_) if scaler.with_std else X
    if isinstance(scaler, MaxAbsScaler):
        return ops("Div", X, scaler.scale_)
    if isinstance(scaler, MinMaxScaler) and not scaler.clip:
        return ops("Add", ops("Mul", X, scaler.scale_), scaler.min_)
    raise ValueError(f"Steps before a machine must be StandardScaler, MinMaxScaler or MaxAbsScaler, got {scaler!r}.")


def _outputs(ops: Operators, machine: Any, X: str) -> dict[str, tuple[Any, ...]]:
    """What the graph computes, by name: the kind of numbers, and how many there are for a sample, if not one."""
    number = ops.kind(ops.dtype)
    if isinstance(machine, Calibrated):
        machines = getattr(machine, "estimators_", None) or [machine.estimator_]
        return _classes(ops, machine, [functions(ops, of_fold, X) for of_fold in machines], machines)
    raw = functions(ops, machine, X)
    if is_outlier_detector(machine):
        inside = ops("Sub", ops("Sub", raw, machine.intercept_), machine.offset_)
        if isinstance(machine, SVDD):
            beyond = ops("Add", kernel_diagonal(ops, machine.kernel_, X), -machine.offset_ - machine.intercept_[0])
            inside = ops("Sub", inside, beyond)
        return {"label": _side(ops, inside), "decision": (_flat(ops, inside), number)}
    if is_regressor(machine):
        one = machine.intercept_.shape == (1,) and getattr(machine, "_single_output", True)
        return {"value": (_flat(ops, raw), number) if one else (raw, number, len(machine.intercept_))}
    if not is_classifier(machine):
        raise ValueError(f"to_onnx takes classifiers, regressors and novelty detectors, got {machine!r}.")
    return _classes(ops, machine, [raw], [machine])


def _classes(ops: Operators, machine: Any, raw: list[str], machines: list[Any]) -> dict[str, tuple[Any, ...]]:
    """Classes, decisions and probabilities of a classifier, from the functions of the machine, or of those of folds."""
    calibration, n_classes, number = getattr(machine, "calibration_", None), len(machine.classes_), ops.kind(ops.dtype)
    decisions = [_decision(ops, own, values, calibration) for own, values in zip(machines, raw, strict=True)]
    decision = averaged(ops, decisions, n_classes)
    probability = None
    if calibration is not None or isinstance(machine, LogOddsClassifier):
        probability = of_two(ops, decision) if n_classes == 2 else ops("Softmax", decision, axis=1)
    elif isinstance(machine, GaussianProcessClassifier):
        probability = of_two(ops, decision) if n_classes == 2 else shares(ops, decision)
    column = _flat(ops, decision) if n_classes == 2 else decision
    if n_classes == 2:
        codes = ops("Cast", ops("Greater", column, 0.0), to=ops.kind(np.int64))
    else:
        codes = ops("ArgMax", column, axis=1, keepdims=0)
    names, kind = labels(ops, machine.classes_)
    found: dict[str, tuple[Any, ...]] = {
        "label": (ops("Gather", names, codes), kind),
        "decision": (column, number) if n_classes == 2 else (column, number, n_classes),
    }
    return found if probability is None else found | {"probability": (probability, number, n_classes)}


def _decision(ops: Operators, machine: Any, raw: str, calibration: Calibration | None) -> str:
    """Scores, or the only decision value, calibrated if it is to be; calibrations of pairs take all decision values."""
    plan = getattr(machine, "_plan", None)
    values = raw if plan is None or (calibration and calibration.pairs) else scores(ops, plan, raw)
    return values if calibration is None else calibrated(ops, calibration, values)


def _flat(ops: Operators, column: str) -> str:
    """Shape (n,) from (n, 1)."""
    return ops("Reshape", column, ops.constant([-1], np.int64))


def _side(ops: Operators, inside: str) -> tuple[str, int]:
    """+1 inside, -1 outside."""
    positive = ops("GreaterOrEqual", _flat(ops, inside), 0.0)
    return ops("Where", positive, ops.constant(1, np.int64), ops.constant(-1, np.int64)), ops.kind(np.int64)
