"""What rules for weights share: kernel matrices and targets in, weights that add up to one out."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import type_of_target

from mercer.gram import GramStack
from mercer.mkl.rules.matrices import MatrixStack
from mercer.parameters import check_parameters

__all__ = ["RuleResult", "Uniform", "WeightRule", "classes_of", "outputs_of", "shares"]


@dataclass(frozen=True, eq=False)
class RuleResult:
    """Weights of kernels by a rule, and how exactly they are what the rule asks for."""

    weights: np.ndarray
    """They are >= 0 and add up to one."""
    objective: float
    """The criterion of the rule at these weights."""
    gap: float
    """How far the criterion can be from its optimum; of a criterion that is not convex, the violation."""
    violation: float
    """By how much the optimality conditions are violated."""
    n_iter: int
    """Steps to them."""
    status: str
    """"solved", or why not: "stalled", "max_iter"."""


class WeightRule(BaseEstimator, ABC):
    """Base of the rules that give kernels their weights without training a machine.

    A rule is a value and can be called: ``rule(kernels, y)`` are the weights, ``rule.solve(kernels, y)`` tells more.
    """

    needs: ClassVar[str | None] = "targets"
    """What it takes besides the kernel matrices: "targets", "classes" or None."""
    _parameters: ClassVar[dict[str, Any]] = {}

    def __call__(self, stack: Any, targets: Any = None, sample_weight: Any = None) -> np.ndarray:
        """The weights, see `solve`."""
        return self.solve(stack, targets, sample_weight).weights

    def solve(self, stack: Any, targets: Any = None, sample_weight: Any = None) -> RuleResult:
        """The weights, with what proves them.

        Parameters
        ----------
        stack : GramStack or sequence of arrays of shape (n, n)
            The kernel matrices, positive semi-definite. To test each of them would cost more than most rules: a list
            is refused only where a number that cannot be negative is.
        targets : array of shape (n,) or (n, n_outputs), default=None
            Classes or numbers; what is one-dimensional and has integers alone are classes.
        sample_weight : array of shape (n,), default=None
            Weight 2 is the sample twice, weight 0 is no sample.

        Returns
        -------
        RuleResult

        Raises
        ------
        IndefiniteError
            If what the rule computes shows a matrix, or the combination, not to be positive semi-definite.
        """
        check_parameters(self)
        given = stack if isinstance(stack, GramStack) else MatrixStack(stack)
        weight = np.ones(given.n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        if weight.shape != (given.n,):
            raise ValueError(f"sample_weight has shape {weight.shape}, for {given.n} samples it must be {(given.n,)}.")
        if not (np.isfinite(weight).all() and (weight >= 0).all() and weight.any()):
            raise ValueError("sample_weight must be finite and >= 0, with at least one positive entry.")
        if targets is not None:
            targets = np.asarray(targets)
            if targets.ndim not in (1, 2) or len(targets) != given.n:
                raise ValueError(
                    f"targets has shape {targets.shape}, for {given.n} samples it must be {(given.n,)} or "
                    f"{(given.n, 'n_outputs')}."
                )
        return self._solve(given, targets, weight)

    @abstractmethod
    def _solve(self, stack: GramStack | MatrixStack, targets: np.ndarray | None, weight: np.ndarray) -> RuleResult:
        """The weights from what has been checked."""


class Uniform(WeightRule):
    """Equal weights: the plain mean of the kernels, which is hard to beat where all of them know something.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.mkl import Uniform
    >>> Uniform()([np.eye(3), np.ones((3, 3))])
    array([0.5, 0.5])
    """

    needs = None

    def _solve(self, stack, targets, weight):
        return RuleResult(np.full(len(stack), 1.0 / len(stack)), 0.0, 0.0, 0.0, 1, "solved")


def shares(sizes: np.ndarray) -> np.ndarray:
    """Numbers >= 0 over their sum; equal ones where all are zero."""
    total = float(sizes.sum())
    return sizes / total if total > 0 else np.full(len(sizes), 1.0 / len(sizes))


def classes_of(rule: WeightRule, targets: np.ndarray | None, weight: np.ndarray) -> tuple[int, np.ndarray]:
    """The number of classes with weight and the class of every sample, -1 where it has none."""
    if targets is None or targets.ndim != 1 or type_of_target(targets) not in ("binary", "multiclass"):
        kind = "none" if targets is None else "numbers"
        raise ValueError(f"{type(rule).__name__} needs classes as targets, got {kind}.")
    classes, codes = np.unique(targets[weight > 0], return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"{type(rule).__name__} needs at least two classes, got only {classes[0]!r}.")
    code = np.full(len(targets), -1)
    code[weight > 0] = codes
    return len(classes), code


def outputs_of(rule: WeightRule, targets: np.ndarray | None, weight: np.ndarray) -> np.ndarray:
    """Y, shape (n, n_outputs), with the ideal kernel matrix YY', whose mean diagonal is one.

    Of classes, the corners of a simplex about the origin, see `ideal_kernel`; numbers are taken from their mean.
    """
    if targets is None:
        raise ValueError(f"{type(rule).__name__} needs targets, got none.")
    if targets.ndim == 1 and type_of_target(targets) in ("binary", "multiclass"):
        q, codes = classes_of(rule, targets, weight)
        return np.sqrt(q / (q - 1)) * (np.equal.outer(codes, np.arange(q)) - 1.0 / q)
    Y = targets.astype(np.float64).reshape(len(targets), -1)
    if not np.isfinite(Y).all():
        raise ValueError("targets must be finite, they contain NaN or infinity.")
    w = weight / weight.sum()
    Y = Y - w @ Y
    size = np.sqrt(float(w @ (Y * Y).sum(axis=1)))
    return Y / size if size > 0 else Y
