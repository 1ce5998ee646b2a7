"""From decision functions to classes and probabilities, in ONNX operators: schemes, calibration, labels."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer.calibration.calibration import Calibration
from mercer.calibration.coupling import SMALLEST
from mercer.calibration.maps import Isotonic, Sigmoid
from mercer.compat.onnx.operators import Operators
from mercer.multiclass import (
    DAG,
    CrammerSinger,
    ErrorCorrectingCode,
    LeeLinWahba,
    OneClassPerClass,
    OneVersusOne,
    OneVersusRest,
    Plan,
    Scheme,
    WestonWatkins,
)
from mercer.multiclass.pairs import pair_number

__all__ = ["averaged", "calibrated", "labels", "of_two", "scores", "shares"]


# --- schemes ----------------------------------------------------------------------------------------------


def scores(ops: Operators, plan: Plan, raw: str) -> str:
    """One score per class, or the only decision value, as the scheme makes them of all decision values."""
    if plan.n_machines == 1:
        return raw
    if plan.maps:
        slope, offset = np.array(plan.maps).T
        raw = ops("Add", ops("Mul", raw, slope), offset)
    if type(plan.scheme) not in SCHEMES:
        raise ValueError(f"multi_class={plan.scheme!r} is not computed by ONNX models; the schemes of mercer are.")
    found = SCHEMES[type(plan.scheme)](ops, plan, raw)
    return ops("MatMul", found, [[-1.0], [1.0]]) if plan.n_classes == 2 else found


def _signs(ops: Operators, raw: str) -> str:
    return ops("Where", ops("Greater", raw, 0.0), 1.0, -1.0)


def _votes(ops: Operators, plan: Plan, raw: str) -> str:
    code = plan.code.toarray()
    votes = ops("Mul", ops("Add", ops("MatMul", _signs(ops, raw), code), plan.n_classes - 1.0), 0.5)
    sums = ops("MatMul", raw, code)
    return ops("Add", votes, ops("Div", sums, ops("Mul", ops("Add", ops("Abs", sums), 1.0), 3.0)))


def _rounds(ops: Operators, plan: Plan, raw: str) -> str:
    """When each class goes out of the graph: a sample stands at a pair, whose winner meets the next class."""
    K = plan.n_classes
    first, last = np.triu_indices(K, 1)
    # The pair after this one, if the last class wins, and if the first does; there is none after the last round.
    onward = np.minimum(pair_number(np.minimum(first + 1, K - 2), last, K), len(first) - 1)
    back = np.maximum(pair_number(first, last - 1, K), 0)
    number, classes = (lambda table: ops.constant(table, np.int64)), ops.constant(np.arange(K), np.int64)
    start = int(pair_number(np.array(0), np.array(K - 1), K))
    pair, value = number([[start]]), ops("Gather", raw, number([start]), axis=1)
    rounds = []
    for step in range(K - 1):
        last_wins = ops("Greater", value, 0.0)
        low, high = (ops("Gather", number(table), pair) for table in (first, last))
        out = ops("Equal", ops("Where", last_wins, low, high), classes)
        rounds.append(ops("Mul", ops("Cast", out, to=ops.kind(ops.dtype)), float(step)))
        winner = ops("Where", last_wins, high, low)
        pair = ops("Where", last_wins, *(ops("Gather", number(table), pair) for table in (onward, back)))
        value = ops("GatherElements", raw, pair, axis=1)
    rounds.append(ops("Mul", ops("Cast", ops("Equal", winner, classes), to=ops.kind(ops.dtype)), K - 1.0))
    return ops("Sum", *rounds)


def _nearness(ops: Operators, plan: Plan, raw: str) -> str:
    """Minus the distance from the word of each class, by letters or by the loss of the machines."""
    code: Any = plan.code.toarray()
    if plan.scheme.decoding == "hamming":
        return ops("Mul", ops("Sub", ops("MatMul", _signs(ops, raw), code), float(plan.n_machines)), 0.5)
    losses = [ops("Max", ops("Add", value, 1.0), 0.0) for value in (ops("Neg", raw), raw)]
    if plan.loss == "squared_hinge":
        losses = [ops("Mul", loss, loss) for loss in losses]
    at_plus, at_minus = (
        ops("MatMul", loss, side.astype(np.float64)) for loss, side in zip(losses, (code > 0, code < 0), strict=True)
    )
    return ops("Neg", ops("Sum", at_plus, at_minus, (code == 0).sum(axis=0).astype(np.float64)))


SCHEMES: dict[type[Scheme], Callable[[Operators, Plan, str], str]] = {
    **dict.fromkeys(
        (CrammerSinger, LeeLinWahba, OneClassPerClass, OneVersusRest, WestonWatkins), lambda ops, plan, raw: raw
    ),
    DAG: _rounds,
    ErrorCorrectingCode: _nearness,
    OneVersusOne: _votes,
}


# --- calibration ------------------------------------------------------------------------------------------


def calibrated(ops: Operators, calibration: Calibration, values: str) -> str:
    """Log-odds of the second of two classes, shape (n, 1), or log-probabilities."""
    if calibration.n_classes > 2 and not calibration.maps:
        return ops("LogSoftmax", ops("Mul", values, calibration.scale), axis=1)
    odds = _odds(ops, calibration.maps, values)
    if calibration.n_classes == 2:
        return odds
    if calibration.pairs:
        return _coupled(ops, odds, calibration)
    logarithms = ops.log_sigmoid(odds)
    # Equal shares where all probabilities are 0.
    possible = ops("Greater", ops("ReduceMax", ops("Exp", logarithms), axes=[1], keepdims=1), 0.0)
    return ops("LogSoftmax", ops("Where", possible, logarithms, 0.0), axis=1)


def _odds(ops: Operators, maps: Sequence[Sigmoid | Isotonic], values: str) -> str:
    """Log-odds, from a map for every column."""
    sigmoids = [own for own in maps if isinstance(own, Sigmoid)]
    if len(sigmoids) == len(maps):
        slope, offset = np.array(sigmoids).T
        return ops("Add", ops("Mul", values, slope), offset)
    columns = []
    for k, own in enumerate(maps):
        assert isinstance(own, Isotonic)
        column = ops("Gather", values, ops.constant([k], np.int64), axis=1)
        columns.append(_looked_up(ops, column, own.decision, (own.probability, 1.0 - own.probability)))
    probability, against = (ops("Concat", *parts, axis=1) for parts in zip(*columns, strict=True))
    return ops("Sub", ops("Log", probability), ops("Log", against))


def _looked_up(ops: Operators, value: str, at: np.ndarray, tables: Sequence[np.ndarray]) -> list[str]:
    """Tables of values at ascending places, linear between these and constant outside, as `numpy.interp` has it."""
    at = at.astype(ops.dtype).astype(np.float64)  # as the model compares with them
    passed = ops("Cast", ops("GreaterOrEqual", value, at), to=ops.kind(np.int64))
    part = ops.sum(passed, 1)
    start, gaps = np.concatenate([at[:1], at]), np.diff(at)
    beyond = ops("Sub", value, ops("Gather", ops.constant(start), part))
    found = []
    for table in tables:
        slopes = np.divide(np.diff(table), gaps, out=np.zeros(len(gaps)), where=gaps > 0)
        base = ops("Gather", ops.constant(np.concatenate([table[:1], table])), part)
        slope = ops("Gather", ops.constant(np.concatenate([[0.0], slopes, [0.0]])), part)
        found.append(ops("Add", base, ops("Mul", slope, beyond)))
    return found


def _coupled(ops: Operators, odds: str, calibration: Calibration) -> str:
    """Logarithms of what `mercer.calibration.couple` finds.

    The minimum of p' Q p over sum(p) = 1 lies along the solution of (Q + 1 1') p = 1, whose matrix is positive
    definite: elimination needs no pivots. It is done in float64, since small probabilities are differences.
    """
    K, fine = calibration.n_classes, ops.in_float64()
    r = fine("Sigmoid", fine("Cast", odds, to=fine.kind(np.float64)))
    r = fine("Min", fine("Max", r, SMALLEST), 1.0 - SMALLEST)
    against = fine("Sub", 1.0, r)
    diagonal, mirrored, mixed = np.zeros((3, len(calibration.pairs), K, K))
    for k, (i, j) in enumerate(calibration.pairs):
        diagonal[k, i, i] = mirrored[k, j, j] = 1.0
        mixed[k, i, j] = mixed[k, j, i] = -1.0
    terms = [(r, r, diagonal), (against, against, mirrored), (r, against, mixed)]
    entries = [fine("MatMul", fine("Mul", a, b), table.reshape(-1, K * K)) for a, b, table in terms]
    square = fine("Reshape", fine("Add", fine("Sum", *entries), 1.0), fine.constant([-1, K, K], np.int64))
    ones = fine.sum(fine("Mul", square, 0.0), 2)
    system = fine("Concat", square, fine("Add", ones, 1.0), axis=2)
    for k in range(K):
        at = fine.constant([k], np.int64)
        row, column = fine("Gather", system, at, axis=1), fine("Gather", system, at, axis=2)
        pivot = fine("Gather", row, at, axis=2)
        unit = (np.arange(K) == k).astype(np.float64)[:, np.newaxis]
        system = fine("Sub", system, fine("Mul", fine("Sub", column, unit), fine("Div", row, pivot)))
    solution = fine("Gather", system, fine.constant(K, np.int64), axis=2)
    logarithms = fine("Log", fine("Max", solution, np.finfo(np.float64).tiny))
    total = fine("ReduceLogSumExp", logarithms, axes=[1], keepdims=1)
    return ops("Cast", fine("Sub", logarithms, total), to=ops.kind(ops.dtype))


def averaged(ops: Operators, decisions: Sequence[str], n_classes: int) -> str:
    """The decision of the mean of the probabilities that several decisions have."""
    if len(decisions) == 1:
        return decisions[0]
    logarithms = decisions
    if n_classes == 2:
        logarithms = [ops.log_sigmoid(ops("Concat", ops("Neg", odds), odds, axis=1)) for odds in decisions]
    stacked = ops("Concat", *(ops.new_axis(part, 0) for part in logarithms), axis=0)
    total = ops("ReduceLogSumExp", stacked, axes=[0], keepdims=0)
    return ops("MatMul", total, [[-1.0], [1.0]]) if n_classes == 2 else ops("Sub", total, np.log(len(decisions)))


def of_two(ops: Operators, odds: str) -> str:
    """Probabilities of two classes from log-odds of the second, shape (n, 1)."""
    return ops("Sigmoid", ops("Concat", ops("Neg", odds), odds, axis=1))


def shares(ops: Operators, odds: str) -> str:
    """Probabilities proportional to those of each class against the rest."""
    found = ops("Sigmoid", odds)
    return ops("Div", found, ops.sum(found, 1))


def labels(ops: Operators, classes: np.ndarray) -> tuple[str, int]:
    """The classes as a constant: whole numbers, or texts."""
    if classes.dtype.kind in "biu":
        return ops.constant(classes, np.int64), ops.kind(np.int64)
    if classes.dtype.kind == "f" and (classes == np.rint(classes)).all():
        return ops.constant(classes, np.int64), ops.kind(np.int64)
    if classes.dtype.kind in "UO" and all(isinstance(label, str) for label in classes):
        return ops.constant(classes, object), ops.onnx.TensorProto.STRING
    raise ValueError(f"Classes must be whole numbers or texts in ONNX models, got {classes!r}.")
