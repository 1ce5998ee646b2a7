"""Kernel values in ONNX operators.

A kernel on vectors is a *measure* of two vectors and a *transform* of it, as the native loops compute it; here each of
both is a few standard operators (``MatMul``, ``Exp``, ...).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse

from mercer.compat.onnx.operators import Operators
from mercer.kernels import Constant, Exp, Kernel, Power, Product, Sum
from mercer.kernels.base import NativeSpec

__all__ = ["check_vectors", "dense", "kernel_diagonal", "kernel_values"]


def kernel_values(ops: Operators, kernel: Any, X: str, Y: np.ndarray, factor: float = 1.0) -> str:
    """factor * K(X, Y), shape (n, m)."""
    if type(kernel) in COMBINED:
        return COMBINED[type(kernel)](
            ops, kernel, lambda part, factor=1.0: kernel_values(ops, part, X, Y, factor), factor
        )
    spec = _spec(kernel)
    n_x, n_y = ops.sum(ops("Mul", X, X), 1), (Y**2).sum(axis=1)
    return _transformed(ops, spec, lambda scale: _measure(ops, spec, X, Y, scale), n_x, n_y, factor)


def kernel_diagonal(ops: Operators, kernel: Any, X: str, factor: float = 1.0) -> str:
    """factor * k(x, x), shape (n, 1)."""
    if type(kernel) in COMBINED:
        return COMBINED[type(kernel)](
            ops, kernel, lambda part, factor=1.0: kernel_diagonal(ops, part, X, factor), factor
        )
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


def check_vectors(kernel: Kernel) -> None:
    """Refuse kernels on other samples before their samples are touched."""
    if type(kernel) not in COMBINED:
        _spec(kernel)
    for part in getattr(kernel, "kernels", [kernel.kernel] if hasattr(kernel, "kernel") else []):
        check_vectors(part)


def dense(samples: Any) -> np.ndarray:
    """Vectors as an array of float64."""
    return np.asarray(samples.toarray() if issparse(samples) else samples, dtype=np.float64)
