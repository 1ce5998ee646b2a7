"""What machines with a posterior say, averaged over it, in ONNX operators."""

from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from scipy.linalg import solve_triangular
from scipy.special import erfcx, expit

from mercer.compat.onnx.kernels import check_vectors, dense, kernel_diagonal, kernel_values
from mercer.compat.onnx.operators import Operators
from mercer.gp.laplace import GAUSSIAN_POINTS, LOGISTIC_POINTS, NARROW

__all__ = ["averaged_log_odds", "averaged_log_softmax", "averaged_logits", "normal_distribution"]


# --- weights that are Gaussian ----------------------------------------------------------------------------


def averaged_logits(ops: Operators, mean: str, basis: str, members: np.ndarray, covariance: np.ndarray) -> str:
    """Functions over the root of 1 + pi/8 times their variances, shape (n, n_functions). [B eqs 4.153-4.154]

    Parameters
    ----------
    ops : Operators
    mean : name of an array of shape (n, n_functions)
    basis : name of an array of shape (n, n_weights)
    members : bool array of shape (n_functions, n_weights)
        The weights of each function.
    covariance : array of shape (n_weights, n_weights)
    """
    spread = _spread(ops, basis, members, covariance)
    return _shrunk(ops, mean, ops.sum(ops("Mul", spread, spread), 2, keep=False))


def averaged_log_softmax(ops: Operators, mean: str, basis: str, members: np.ndarray, covariance: np.ndarray) -> str:
    """Logarithms of the averaged softmax, up to a constant of the sample; from all pairs of functions."""
    spread = _spread(ops, basis, members, covariance)
    together = ops("MatMul", spread, ops("Transpose", spread, perm=[0, 2, 1]))
    own = ops.sum(ops("Mul", spread, spread), 2)
    of_pairs = ops("Sub", ops("Add", own, ops("Transpose", own, perm=[0, 2, 1])), ops("Mul", together, 2.0))
    ahead = ops("Sub", ops.new_axis(mean, 2), ops.new_axis(mean, 1))
    shrunk = _shrunk(ops, ahead, ops("Max", of_pairs, 0.0))
    return ops("Neg", ops("ReduceLogSumExp", ops("Neg", shrunk), axes=[2], keepdims=0))


def _spread(ops: Operators, basis: str, members: np.ndarray, covariance: np.ndarray) -> str:
    """The functions as combinations of independent standard variables, shape (n, n_functions, n_weights)."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return ops("MatMul", ops("Mul", ops.new_axis(basis, 1), members.astype(np.float64)), root)


def _shrunk(ops: Operators, mean: str, variance: str) -> str:
    return ops("Div", mean, ops("Sqrt", ops("Add", ops("Mul", variance, np.pi / 8), 1.0)))


# --- Gaussian processes -----------------------------------------------------------------------------------


def averaged_log_odds(ops: Operators, machine: Any, X: str) -> str:
    """Log-odds of the averaged probabilities of a `GaussianProcessClassifier`, shape (n, n_functions).

    What is left of the prior variance is a small difference of large numbers, and so it is all done in float64.
    """
    check_vectors(machine.kernel_)
    given, ops = ops, ops.in_float64()
    X = ops("Cast", X, to=ops.kind(np.float64))
    K = kernel_values(ops, machine.kernel_, X, dense(machine.support_vectors_))
    mean = ops("Add", ops("MatMul", K, machine.dual_coef_.T), machine.intercept_)
    prior = kernel_diagonal(ops, machine.kernel_, X, machine.amplitude_)
    spreads = []
    for mode in machine._modes:
        whitener = machine.amplitude_ * solve_triangular(mode.factor.lower, np.diag(mode.root), lower=True)
        known = ops("MatMul", K, whitener.T)
        spreads.append(ops("Sqrt", ops("Max", ops("Sub", prior, ops.sum(ops("Mul", known, known), 1)), 0.0)))
    spread = ops("Concat", *spreads, axis=1)
    odds, against = (_averaged_sigmoid(ops, of, spread) for of in (mean, ops("Neg", mean)))
    found = ops("Sub", ops("Log", odds), ops("Log", against))
    return given("Cast", found, to=given.kind(given.dtype))


def _averaged_sigmoid(ops: Operators, mean: str, std: str) -> str:
    """The mean of sigmoid(f) for Gaussian f, as `mercer.gp.laplace.averaged_sigmoid` has it."""
    z, t = GAUSSIAN_POINTS, LOGISTIC_POINTS
    gaussian, logistic = np.exp(-0.5 * z**2), expit(t) * expit(-t)
    m, s = ops.new_axis(mean, 2), ops.new_axis(std, 2)
    over_gaussian = ops("MatMul", ops("Sigmoid", ops("Add", m, ops("Mul", s, z))), gaussian / gaussian.sum())
    places = ops("Div", ops("Sub", m, t), ops("Max", s, NARROW))
    over_logistic = ops("MatMul", normal_distribution(ops, places), logistic / logistic.sum())
    return ops("Where", ops("Less", std, NARROW), over_gaussian, over_logistic)


# (1 + 2 u) erfcx(u) is smooth in t = (u - c) / (u + c), from -1 at 0 to 1 at infinity.
CENTRE, DEGREE = 3.75, 24


def normal_distribution(ops: Operators, x: str) -> str:
    """The normal distribution function, which ONNX has in single precision only: exact to rounding in both tails."""
    u = ops("Mul", ops("Abs", x), np.sqrt(0.5))
    t = ops("Div", ops("Sub", u, CENTRE), ops("Add", u, CENTRE))
    coefficients: np.ndarray = chebyshev.chebinterpolate(_scaled_erfcx, DEGREE)
    twice, later, last = ops("Mul", t, 2.0), ops.constant(0.0), ops.constant(coefficients[-1])
    for coefficient in coefficients[-2:0:-1]:  # Clenshaw's recurrence
        later, last = last, ops("Add", ops("Sub", ops("Mul", twice, last), later), coefficient)
    value = ops("Add", ops("Sub", ops("Mul", t, last), later), coefficients[0])
    tail = ops("Div", ops("Mul", value, ops("Exp", ops("Neg", ops("Mul", u, u)))), ops("Add", ops("Mul", u, 4.0), 2.0))
    return ops("Where", ops("Less", x, 0.0), tail, ops("Sub", 1.0, tail))


def _scaled_erfcx(t: np.ndarray) -> np.ndarray:
    u = CENTRE * (1.0 + t) / (1.0 - t)
    return (1.0 + 2.0 * u) * erfcx(u)
