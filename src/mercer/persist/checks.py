"""What must fit together in a model before its methods, and native code behind them, see it."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

from mercer.kernels import Kernel
from mercer.kernels.samples import n_samples
from mercer.machines import KernelMachine, Labelled, Machine
from mercer.mkl.base import MultipleKernels
from mercer.multiclass import Plan, Scheme
from mercer.parameters import check_parameters
from mercer.rvm.base import RelevanceVectorMachine
from mercer.svm.linear import LinearMachine

__all__ = ["check_value"]


def check_value(value: Any) -> None:
    """Refuse an object whose parameters break their rules, or whose arrays do not fit together, with a ValueError.

    Objects are checked when they are saved and when they are loaded, so that what is in a file can be loaded.
    """
    if isinstance(value, Plan):
        _check_plan(value)
    if not isinstance(value, BaseEstimator):
        return
    if isinstance(value, Machine):
        value._check_all()
    elif isinstance(value, Kernel):
        value._check_parameters()
    elif isinstance(value, Scheme):
        value.check()
    elif hasattr(value, "_parameters"):
        check_parameters(value)
    if isinstance(value, KernelMachine) and hasattr(value, "dual_coef_"):
        _check_expansion(value)
    if isinstance(value, LinearMachine) and hasattr(value, "coef_"):
        n_functions = _table("coef_", value.coef_, None, value.n_features_in_)
        _check_array("intercept_", value.intercept_, (n_functions,))
    if isinstance(value, Labelled) and hasattr(value, "classes_"):
        _check_classes(value)


def _check_expansion(machine: Any) -> None:
    """K(X, support_vectors_) @ dual_coef_.T + intercept_, before it is computed."""
    n_functions = _table("dual_coef_", machine.dual_coef_, None, None)
    n_support = machine.dual_coef_.shape[1]
    if machine._mapped:
        _table("dual_coef_", machine.dual_coef_, n_functions, machine.approximation_._n_features_out)
        n_support = 0
    _check_array("intercept_", machine.intercept_, (n_functions,))
    support = machine.support_
    _check_array("support_", support, (n_support,), "iu")
    if type(machine._n_train) is not int or (n_support and not 0 <= support.min() <= support.max() < machine._n_train):
        raise ValueError("support_ must be numbers of training samples.")
    if isinstance(machine.kernel_, str):
        if machine.kernel_ != "precomputed":
            raise ValueError(f"kernel_ must be a kernel or 'precomputed', got {machine.kernel_!r}.")
        return
    if isinstance(machine, MultipleKernels) and machine.weights_.ndim == 2:
        _check_own_weights(machine, n_functions)
    elif isinstance(machine, RelevanceVectorMachine) and machine._several:
        _check_kernels("kernel_", machine.kernel_)
        _check_array("relevance_kernel_", machine.relevance_kernel_, (n_support,), "iu")
    elif not isinstance(machine.kernel_, Kernel):
        raise ValueError(f"kernel_ must be a kernel or 'precomputed', got {type(machine.kernel_).__name__}.")
    vectors = machine.support_vectors_
    if machine._vectors():
        _table("support_vectors_", vectors, n_support, getattr(machine, "n_features_in_", None))
    elif n_samples(vectors) != n_support:
        raise ValueError(f"support_vectors_ must be {n_support} samples, got {n_samples(vectors)}.")


def _check_own_weights(machine: Any, n_functions: int) -> None:
    """A weighted sum of kernels for every function, computed from the kernels."""
    _check_kernels("kernels_", machine.kernels_)
    _check_kernels("kernel_", machine.kernel_)
    if len(machine.kernel_) != n_functions:
        raise ValueError(f"kernel_ must be {n_functions} kernels, one for each function, got {len(machine.kernel_)}.")
    _check_array("weights_", machine.weights_, (n_functions, len(machine.kernels_)))
    _check_array("factors_", machine.factors_, (len(machine.kernels_),))


def _check_kernels(name: str, kernels: Any) -> None:
    if not isinstance(kernels, list) or not kernels or not all(isinstance(kernel, Kernel) for kernel in kernels):
        raise ValueError(f"{name} must be a list of kernels, got {type(kernels).__name__}.")


def _check_classes(machine: Any) -> None:
    n_classes = len(machine.classes_)
    _check_array("classes_", machine.classes_, (n_classes,), None)
    plan = getattr(machine, "_plan", None)
    if n_classes < 2 or (plan is not None and not (isinstance(plan, Plan) and plan.n_classes == n_classes)):
        raise ValueError(f"classes_ must be as many as those of the scheme, got {n_classes}.")


def _check_plan(plan: Plan) -> None:
    if type(plan.n_classes) is not int or not isinstance(plan.scheme, Scheme) or not issparse(plan.code):
        raise ValueError("a plan must have a scheme, a number of classes and a code.")
    if plan.code.format != "csr" or plan.code.shape[1] != plan.n_classes or len(plan.maps) not in (0, plan.n_machines):
        raise ValueError(f"the code of a plan must have a column for each of its {plan.n_classes} classes.")


def _check_array(name: str, array: Any, shape: tuple[int, ...], kinds: str | None = "f") -> None:
    if not isinstance(array, np.ndarray) or array.shape != shape or (kinds and array.dtype.kind not in kinds):
        found = f"{array.shape} of {array.dtype}" if isinstance(array, np.ndarray) else type(array).__name__
        raise ValueError(f"{name} must be an array of shape {shape}, got {found}.")


def _table(name: str, table: Any, n_rows: int | None, n_columns: int | None) -> int:
    """The number of rows of a dense or sparse table of numbers."""
    if not (isinstance(table, np.ndarray) or issparse(table)) or table.ndim != 2 or table.dtype.kind != "f":
        raise ValueError(f"{name} must be a matrix of floats, got {type(table).__name__}.")
    if n_rows not in (None, table.shape[0]) or n_columns not in (None, table.shape[1]):
        raise ValueError(f"{name} must have shape ({n_rows}, {n_columns}), got {table.shape}.")
    return table.shape[0]
