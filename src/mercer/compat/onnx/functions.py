"""Decision functions of machines in ONNX operators."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import is_classifier

from mercer.compat.onnx.kernels import check_vectors, dense, kernel_values
from mercer.compat.onnx.operators import Operators
from mercer.compat.onnx.posteriors import averaged_log_odds, averaged_log_softmax, averaged_logits
from mercer.gp import GaussianProcessClassifier
from mercer.machines import KernelClassifier, KernelMachine, KernelTransformer
from mercer.rvm import RelevanceVectorClassifier
from mercer.svm.linear import LinearMachine
from mercer.svm.margins import MarginClassifier

__all__ = ["functions"]


def functions(ops: Operators, machine: Any, X: str) -> str:
    """The decision functions of a machine, shape (n, n_functions)."""
    if isinstance(machine, LinearMachine):
        return ops("Add", ops("MatMul", X, machine.coef_.T), machine.intercept_)
    if isinstance(machine, RelevanceVectorClassifier):
        return _log_probabilities(ops, machine, X)
    if isinstance(machine, GaussianProcessClassifier):
        return averaged_log_odds(ops, machine, X)
    own = getattr(type(machine), "decision_function", None)
    if (
        getattr(type(machine), "_raw_decision", None) is not KernelMachine._raw_decision
        or (isinstance(machine, KernelTransformer) and not is_classifier(machine))
        or (
            is_classifier(machine)
            and own not in (KernelClassifier.decision_function, MarginClassifier.decision_function)
        )
    ):
        raise ValueError(f"{type(machine).__name__} has no expansion over support vectors that ONNX could compute.")
    return _expansion(ops, machine, X, _similarities(ops, machine, X))


def _expansion(ops: Operators, machine: Any, X: str, similar: str | None) -> str:
    """K(X, support_vectors_) @ dual_coef_.T + intercept_."""
    rows = machine.dual_coef_.toarray() if issparse(machine.dual_coef_) else machine.dual_coef_
    return _combined(ops, machine, X, similar, rows.T, machine.intercept_)


def _combined(
    ops: Operators, machine: Any, X: str, similar: str | None, weights: np.ndarray, constant: np.ndarray
) -> str:
    """Similarities times weights, plus constants; these alone, for every sample, where nothing is similar to it."""
    if similar is None:
        similar, weights = X, np.zeros((machine.n_features_in_, len(constant)))
    return ops("Add", ops("MatMul", similar, weights), constant)


def _similarities(ops: Operators, machine: Any, X: str) -> str | None:
    """K(X, support_vectors_), shape (n, n_support); None where there are no support vectors."""
    precomputed = getattr(machine, "basis", "kernel") == "precomputed"  # columns of X are the basis functions
    if isinstance(machine.kernel_, str) and not precomputed:
        raise ValueError("A machine on precomputed kernel matrices has no samples to compare with; give it a kernel.")
    if getattr(machine, "_mapped", False):
        name = type(machine.approximation_).__name__
        raise ValueError(f"ONNX is for machines with support vectors, not for features of {name}; use landmarks.")
    if not len(machine.support_):
        return None
    if precomputed:
        return ops("Gather", X, ops.constant(machine.support_, np.int64), axis=1)
    kernels = machine.kernel_ if isinstance(machine.kernel_, list) else [machine.kernel_]
    for kernel in kernels:
        check_vectors(kernel)
    Y = dense(machine.support_vectors_)
    if len(kernels) == 1:
        return kernel_values(ops, kernels[0], X, Y)
    # Relevance vectors are in the order of their kernels.
    of_kernel = [Y[machine.relevance_kernel_ == k] for k in range(len(kernels))]
    parts = [kernel_values(ops, kernel, X, part) for kernel, part in zip(kernels, of_kernel, strict=True) if len(part)]
    return ops("Concat", *parts, axis=1)


def _log_probabilities(ops: Operators, machine: Any, X: str) -> str:
    """The decision functions of a `RelevanceVectorClassifier`: log-odds, or logarithms up to a constant."""
    similar = _similarities(ops, machine, X)
    mean, n_functions = _expansion(ops, machine, X, similar), len(machine.dual_coef_)
    jointly = n_functions > 1 and machine.multi_class == "softmax"
    if machine.probabilities == "averaged":
        # The basis functions in the order of their weights; the constant is one of them.
        constant = machine._numbers < int(machine.fit_intercept)
        chosen = machine._kept[:, np.newaxis] == machine._numbers
        basis = _combined(ops, machine, X, similar, chosen.astype(np.float64), constant.astype(np.float64))
        members = machine.functions_ == np.arange(n_functions)[:, np.newaxis]
        average = averaged_log_softmax if jointly else averaged_logits
        mean = average(ops, mean, basis, members, machine.sigma_)
    # Of several functions, each against the rest.
    return mean if jointly or n_functions == 1 else ops.log_sigmoid(mean)
