"""Machines on vectors as ONNX models, for programs without Python.

A kernel on vectors is a *measure* of two vectors and a *transform* of it, as the native loops compute it; here each of
both is a few standard operators (``MatMul``, ``Exp``, ...). ONNX has operators of its own for support vector machines,
but these work in float32 only, and know few kernels.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import is_classifier, is_outlier_detector, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from mercer.calibration import Calibrated
from mercer.calibration.calibration import Calibration
from mercer.calibration.maps import Sigmoid
from mercer.extras import require
from mercer.kernels import Constant, Exp, Kernel, Power, Product, Sum
from mercer.kernels.base import NativeSpec
from mercer.machines import KernelClassifier, KernelMachine, KernelTransformer, LogOddsClassifier
from mercer.multiclass import JointScheme, OneVersusOne, OneVersusRest, Plan
from mercer.svm import SVDD
from mercer.svm.linear import LinearMachine
from mercer.svm.margins import MarginClassifier

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
        `SVC`, `NuSVC`, `LSSVC`, `SVR`, `NuSVR`, `QuantileSVR`, `OneClassSVM`, `SVDD`, `KernelRidge`, the mean of a
        `GaussianProcessRegressor`, other machines whose predictions are an expansion
        ``K(X, support_vectors_) @ dual_coef_.T + intercept_``, linear machines, and `Calibrated` around one of them;
        also at the end of a `Pipeline` of scalers. Kernels are those on dense vectors with a closed form, their sums,
        products, powers and exponentials.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        Of the input and of all that is computed.

    Returns
    -------
    onnx.ModelProto
        With the input ``X``, shape (n, n_features), and the outputs ``label`` and ``decision`` of classifiers and
        novelty detectors, ``probability`` of calibrated ones, and ``value`` of regressors. ``onnx.save(model, path)``
        writes it.

    Raises
    ------
    ValueError
        If a kernel, a scheme of several classes or a calibration has no expression in ONNX; it is named.
    ImportError
        Without the package ``onnx``: ``pip install "mercer[onnx]"``.

    Notes
    -----
    In float64 the outputs agree with the machine's to about 1e-10 of their size, in float32 to about 1e-4: distances
    are formed after the mean of the support vectors has been taken off, as everywhere in mercer, but coefficients of
    size C may cancel. A prediction takes memory for n times as many kernel values as there are support vectors, and as
    many times n_features for kernels of single differences (`Laplacian`, `Exponential`, `Chi2`, `Intersection`).

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


class Operators:
    """The nodes and constants of a graph; a method call adds a node and gives the name of its output."""

    def __init__(self, onnx: Any, dtype: np.dtype):
        self.onnx, self.dtype = onnx, dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def kind(self, dtype: Any) -> int:
        """ONNX's number of a dtype."""
        return self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))

    def constant(self, value: Any, dtype: Any = None) -> str:
        """A constant of the dtype of the model, or another one."""
        array = np.asarray(value, dtype=dtype or self.dtype)
        name = f"constant_{len(self.constants)}"
        if array.dtype.kind in "UO":
            text = [str(label).encode("utf-8") for label in array.ravel()]
            tensor = self.onnx.helper.make_tensor(name, self.onnx.TensorProto.STRING, array.shape, text)
        else:
            tensor = self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name)
        self.constants.append(tensor)
        return name

    def __call__(self, operator: str, *inputs: Any, **attributes: Any) -> str:
        """Add a node; numbers and arrays among its inputs become constants."""
        names = [part if isinstance(part, str) else self.constant(part) for part in inputs]
        output = f"{operator}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, names, [output], **attributes))
        return output

    def sum(self, values: str, axis: int, keep: bool = True) -> str:
        """The sum over an axis."""
        return self("ReduceSum", values, self.constant([axis], np.int64), keepdims=int(keep))


# --- kernels ----------------------------------------------------------------------------------------------


def _kernel(ops: Operators, kernel: Any, X: str, Y: np.ndarray, factor: float = 1.0) -> str:
    """factor * K(X, Y), shape (n, m)."""
    if type(kernel) in COMBINED:
        return COMBINED[type(kernel)](ops, kernel, lambda part, factor=1.0: _kernel(ops, part, X, Y, factor), factor)
    spec = _spec(kernel)
    n_x, n_y = ops.sum(ops("Mul", X, X), 1), (Y**2).sum(axis=1)
    return _transformed(ops, spec, lambda scale: _measure(ops, spec, X, Y, scale), n_x, n_y, factor)


def _diagonal(ops: Operators, kernel: Any, X: str, factor: float = 1.0) -> str:
    """factor * k(x, x), shape (n, 1)."""
    if type(kernel) in COMBINED:
        return COMBINED[type(kernel)](ops, kernel, lambda part, factor=1.0: _diagonal(ops, part, X, factor), factor)
    spec = _spec(kernel)
    n_x = ops.sum(ops("Mul", X, X), 1)
    itself = {"dot": n_x, "min": ops.sum(X, 1)}.get(spec.measure)
    return _transformed(ops, spec, lambda scale: ops("Mul", itself or n_x, scale if itself else 0.0), n_x, n_x, factor)


def _spec(kernel: Any) -> NativeSpec:
    spec = kernel.native() if isinstance(kernel, Kernel) and kernel.domain == "vectors" else None
    if spec is None:
        raise ValueError(
            f"{kernel!r} has no expression in ONNX operators; kernels on vectors that have one are Linear, Polynomial, "
            "RBF, Exponential, Laplacian, Sigmoid, Cosine, Matern (nu 1/2, 3/2, 5/2 or inf), RationalQuadratic, Chi2, "
            "Intersection, Tanimoto, Constant, and their sums, products, powers and exponentials."
        )
    return spec


def _measure(ops: Operators, spec: NativeSpec, X: str, Y: np.ndarray, scale: float) -> str:
    """What is accumulated over the features, times a number, shape (n, m)."""
    if spec.weights is not None:
        X, Y = ops("Mul", X, spec.weights), Y * spec.weights
    if spec.measure == "dot":
        # The number goes into the constant: runtimes that fuse a product of matrices with a factor keep it in float32.
        return ops("MatMul", X, scale * Y.T)
    if spec.measure == "l2" and spec.transform != "exp_sqrt":
        centre = Y.mean(axis=0)  # differences do not feel it, rounding does
        X, Y = ops("Sub", X, centre), Y - centre
        squares = ops("Add", ops.sum(ops("Mul", X, X), 1), (Y**2).sum(axis=1))
        return ops("Mul", ops("Max", ops("Sub", squares, ops("MatMul", X, 2.0 * Y.T)), 0.0), scale)
    # Of others the terms of all features, (n, 1, d) and (m, d); the root of a distance near 0 would show its rounding.
    x = ops("Unsqueeze", X, ops.constant([1], np.int64))
    terms = ops("Min", x, Y) if spec.measure == "min" else ops("Abs", ops("Sub", x, Y))
    if spec.measure == "l2":
        terms = ops("Mul", terms, terms)
    elif spec.measure == "chi2":  # (x - y)^2 / (x + y), 0 where both are 0
        terms = ops("Div", ops("Mul", terms, terms), ops("Max", ops("Add", x, Y), np.finfo(ops.dtype).tiny))
    return ops("Mul", ops.sum(terms, 2, keep=False), scale)


def _transformed(
    ops: Operators, spec: NativeSpec, measure: Callable[[float], str], n_x: str, n_y: Any, factor: float
) -> str:
    """factor * g(t; p), of a function that gives t times a number; n_x and n_y are the squared norms of the vectors."""
    p = spec.parameters
    if spec.transform == "identity":
        return measure(factor * p[0])
    if spec.transform in ("cosine", "tanimoto"):
        found = TRANSFORMS[spec.transform](ops, measure(1.0), n_x, n_y)
    else:
        found = TRANSFORMS[spec.transform](ops, measure(p[0]) if spec.transform not in ROOTS else measure(p[0] ** 2), p)
    return _multiple(ops, found, factor)


def _matern(ops: Operators, t: str, with_square: bool) -> str:
    """(1 + u) exp(-u), or (1 + u + u^2/3) exp(-u), u = sqrt(t)."""
    u = ops("Sqrt", t)
    factor = ops("Add", u, 1.0)
    if with_square:
        factor = ops("Add", factor, ops("Div", t, 3.0))
    return ops("Mul", factor, ops("Exp", ops("Neg", u)))


def _cosine(ops: Operators, t: str, n_x: str, n_y: Any) -> str:
    """t / sqrt(n_x n_y), 0 where a vector is 0."""
    product = ops("Mul", n_x, n_y)
    return ops("Where", ops("Greater", product, 0.0), ops("Div", t, ops("Sqrt", ops("Max", product, TINY))), 0.0)


def _tanimoto(ops: Operators, t: str, n_x: str, n_y: Any) -> str:
    """t / (n_x + n_y - t), 1 where both vectors are 0."""
    together = ops("Sub", ops("Add", n_x, n_y), t)
    return ops("Where", ops("Greater", together, 0.0), ops("Div", t, ops("Max", together, TINY)), 1.0)


TINY = 1e-30
# Transforms of u = p0 sqrt(measure) = sqrt(t).
ROOTS = ("exp_sqrt", "matern32", "matern52")

# Those of cpp/mercer/kernels.hpp, of t = p0 measure, and of the parameters after p0.
TRANSFORMS: dict[str, Callable[..., str]] = {
    "exp": lambda ops, t, p: ops("Exp", ops("Neg", t)),
    "exp_sqrt": lambda ops, t, p: ops("Exp", ops("Neg", ops("Sqrt", t))),
    "power": lambda ops, t, p: ops("Pow", ops("Add", t, p[1]), p[2]),
    "tanh": lambda ops, t, p: ops("Tanh", ops("Add", t, p[1])),
    "matern32": lambda ops, t, p: _matern(ops, t, False),
    "matern52": lambda ops, t, p: _matern(ops, t, True),
    "rational": lambda ops, t, p: ops("Pow", ops("Add", t, 1.0), -p[1]),
    "cosine": _cosine,
    "tanimoto": _tanimoto,
}


def _sum(ops: Operators, kernel: Any, of: Callable[..., str], factor: float) -> str:
    found = [of(part, factor) for part in kernel.kernels]
    return found[0] if len(found) == 1 else ops("Sum", *found)


def _product(ops: Operators, kernel: Any, of: Callable[..., str], factor: float) -> str:
    numbers = [part.value for part in kernel.kernels if isinstance(part, Constant)]
    parts = [part for part in kernel.kernels if not isinstance(part, Constant)]
    if not parts:
        return of(Constant(float(np.prod(numbers))), factor)
    found = of(parts[0], float(np.prod([factor, *numbers])))
    for part in parts[1:]:
        found = ops("Mul", found, of(part))
    return found


def _multiple(ops: Operators, found: str, factor: float) -> str:
    return found if factor == 1.0 else ops("Mul", found, factor)


# Kernels made of kernels, times a factor, from the expressions of these.
COMBINED: dict[type, Callable[..., str]] = {
    Constant: lambda ops, kernel, of, factor: ops.constant([[factor * kernel.value]]),
    Exp: lambda ops, kernel, of, factor: _multiple(ops, ops("Exp", of(kernel.kernel)), factor),
    Power: lambda ops, kernel, of, factor: _multiple(
        ops, ops("Pow", of(kernel.kernel), float(kernel.exponent)), factor
    ),
    Product: _product,
    Sum: _sum,
}


# --- machines ---------------------------------------------------------------------------------------------


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
    calibration = getattr(machine, "calibration_", None)
    if isinstance(machine, Calibrated):
        if hasattr(machine, "estimators_"):
            raise ValueError("Calibrated with ensemble=True is several machines; ONNX models are made of one.")
        machine = machine.estimator_
    if isinstance(machine, SVDD):
        toward_centre = ops("Sub", _functions(ops, machine, X), machine.intercept_)
        beyond = ops("Add", _diagonal(ops, machine.kernel_, X), -machine.offset_ - machine.intercept_[0])
        inside = ops("Sub", ops("Sub", toward_centre, beyond), machine.offset_)
        return {"label": _side(ops, inside), "decision": (_flat(ops, inside), number)}
    raw = _functions(ops, machine, X)
    if is_outlier_detector(machine):
        inside = ops("Sub", ops("Sub", raw, machine.intercept_), machine.offset_)
        return {"label": _side(ops, inside), "decision": (_flat(ops, inside), number)}
    if is_regressor(machine):
        one = machine.intercept_.shape == (1,) and getattr(machine, "_single_output", True)
        return {"value": (_flat(ops, raw), number) if one else (raw, number, len(machine.intercept_))}
    if not is_classifier(machine):
        raise ValueError(f"to_onnx takes classifiers, regressors and novelty detectors, got {machine!r}.")
    return _classes(ops, machine, raw, calibration)


def _functions(ops: Operators, machine: Any, X: str) -> str:
    """The decision functions of a machine, shape (n, n_functions)."""
    if isinstance(machine, LinearMachine):
        return ops("Add", ops("MatMul", X, machine.coef_.T), machine.intercept_)
    own = getattr(type(machine), "decision_function", None)
    if (
        getattr(type(machine), "_raw_decision", None) is not KernelMachine._raw_decision
        or isinstance(machine, KernelTransformer)
        or (
            is_classifier(machine)
            and own not in (KernelClassifier.decision_function, MarginClassifier.decision_function)
        )
    ):
        raise ValueError(f"{type(machine).__name__} has no expansion over support vectors that ONNX could compute.")
    if isinstance(machine.kernel_, str):
        raise ValueError("A machine on precomputed kernel matrices has no samples to compare with; give it a kernel.")
    if not len(machine.support_):
        return ops(
            "Add", ops("MatMul", X, np.zeros((machine.n_features_in_, len(machine.intercept_)))), machine.intercept_
        )
    _check_vectors(machine.kernel_)
    Y, rows = (part.toarray() if issparse(part) else part for part in (machine.support_vectors_, machine.dual_coef_))
    K = _kernel(ops, machine.kernel_, X, np.asarray(Y, dtype=np.float64))
    return ops("Add", ops("MatMul", K, rows.T), machine.intercept_)


def _check_vectors(kernel: Kernel) -> None:
    """Refuse kernels on other samples before their samples are touched."""
    if type(kernel) not in COMBINED:
        _spec(kernel)
    for part in getattr(kernel, "kernels", [kernel.kernel] if hasattr(kernel, "kernel") else []):
        _check_vectors(part)


def _classes(ops: Operators, machine: Any, raw: str, calibration: Calibration | None) -> dict[str, tuple[Any, ...]]:
    plan, n_classes, number = getattr(machine, "_plan", None), len(machine.classes_), ops.kind(ops.dtype)
    scores = raw if plan is None else _scores(ops, plan, raw, calibration)
    probability = None
    if calibration is not None:
        scores, probability = _calibrated(ops, calibration, scores)
    elif isinstance(machine, LogOddsClassifier):
        probability = _of_two(ops, scores) if n_classes == 2 else ops("Softmax", scores, axis=1)
    decision: tuple[Any, ...] = (scores, number, n_classes)
    if n_classes == 2:
        decision = (_flat(ops, scores), number)
        codes = ops("Cast", ops("Greater", decision[0], 0.0), to=ops.kind(np.int64))
    else:
        codes = ops("ArgMax", scores, axis=1, keepdims=0)
    label, kind = _labels(ops, machine.classes_)
    found = {"label": (ops("Gather", label, codes), kind), "decision": decision}
    return found if probability is None else found | {"probability": (probability, number, n_classes)}


def _scores(ops: Operators, plan: Plan, raw: str, calibration: Calibration | None) -> str:
    """One score per class, or the only decision value, as the scheme makes them."""
    if plan.n_machines == 1:
        return raw
    if isinstance(plan.scheme, OneVersusOne) and not (calibration and calibration.pairs):
        code = plan.code.toarray()
        wins = ops("MatMul", ops("Where", ops("Greater", raw, 0.0), 1.0, -1.0), code)
        votes, sums = ops("Mul", ops("Add", wins, plan.n_classes - 1.0), 0.5), ops("MatMul", raw, code)
        return ops("Add", votes, ops("Div", sums, ops("Mul", ops("Add", ops("Abs", sums), 1.0), 3.0)))
    if isinstance(plan.scheme, OneVersusRest | JointScheme) and plan.n_classes > 2:
        if not plan.maps:
            return raw
        slope, offset = np.array(plan.maps).T
        return ops("Add", ops("Mul", raw, slope), offset)
    if calibration and calibration.pairs:
        raise ValueError(
            "Probabilities of several classes are coupled from those of pairs, which ONNX models do not compute; "
            "export machine.estimator_, or learn with multi_class='ovr'."
        )
    raise ValueError(
        f"multi_class={plan.scheme!r} is not computed by ONNX models; those of 'ovo', 'ovr', 'crammer_singer', "
        "'weston_watkins' and 'lee_lin_wahba' are."
    )


def _calibrated(ops: Operators, calibration: Calibration, values: str) -> tuple[str, str]:
    """Log-odds or log-probabilities, and probabilities."""
    if not all(isinstance(part, Sigmoid) for part in calibration.maps):
        raise ValueError("Isotonic regression has no expression in ONNX operators; use method='sigmoid'.")
    if calibration.n_classes > 2 and not calibration.maps:
        scaled = ops("Mul", values, calibration.scale)
        return ops("LogSoftmax", scaled, axis=1), ops("Softmax", scaled, axis=1)
    slope, offset = np.array(calibration.maps).T
    odds = ops("Add", ops("Mul", values, slope), offset)
    if calibration.n_classes == 2:
        return odds, _of_two(ops, odds)
    shares = ops("Sigmoid", odds)
    probability = ops("Div", shares, ops.sum(shares, 1))
    return ops("Log", probability), probability


def _of_two(ops: Operators, odds: str) -> str:
    """Probabilities of two classes from log-odds of the second, shape (n, 1)."""
    return ops("Sigmoid", ops("Concat", ops("Neg", odds), odds, axis=1))


def _labels(ops: Operators, classes: np.ndarray) -> tuple[str, int]:
    """The classes as a constant: whole numbers, or texts."""
    if classes.dtype.kind in "biu":
        return ops.constant(classes, np.int64), ops.kind(np.int64)
    if classes.dtype.kind == "f" and (classes == np.rint(classes)).all():
        return ops.constant(classes, np.int64), ops.kind(np.int64)
    if classes.dtype.kind in "UO" and all(isinstance(label, str) for label in classes):
        return ops.constant(classes, object), ops.onnx.TensorProto.STRING
    raise ValueError(f"Classes must be whole numbers or texts in ONNX models, got {classes!r}.")


def _flat(ops: Operators, column: str) -> str:
    """Shape (n,) from (n, 1)."""
    return ops("Reshape", column, ops.constant([-1], np.int64))


def _side(ops: Operators, inside: str) -> tuple[str, int]:
    """+1 inside, -1 outside."""
    positive = ops("GreaterOrEqual", _flat(ops, inside), 0.0)
    return ops("Where", positive, ops.constant(1, np.int64), ops.constant(-1, np.int64)), ops.kind(np.int64)
