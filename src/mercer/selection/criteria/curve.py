"""Criteria over the values of a parameter."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.errors import NotSeparableError
from mercer.selection.criteria.base import Criterion, Lesson, Trained
from mercer.solvers import warn_unless_solved
from mercer.threads import limit_threads

__all__ = ["criteria_curve"]


def criteria_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    param_name: str,
    param_range: Iterable[Any],
    criteria: Criterion | Iterable[Criterion],
    sample_weight: Any = None,
) -> np.ndarray:
    """The bounds of criteria over the values of a parameter: one machine per value, judged by all criteria.

    The kernel matrix is kept while the kernel does not change, and every fit starts from the last solution.

    Parameters
    ----------
    estimator : SVC
        It is cloned, never changed.
    X, y, sample_weight :
        All samples, as `fit` takes them.
    param_name : str
        Such as ``"C"`` or ``"kernel__gamma"``.
    param_range : iterable
        Its values; neighbours should be near to each other.
    criteria : Criterion or iterable of Criterion
        Smaller is better, see `mercer.selection.Criterion.bound`.

    Returns
    -------
    ndarray of shape (n_criteria, n_values)
        Infinite where there is no machine: a hard margin for classes that overlap.

    See Also
    --------
    sklearn.model_selection.validation_curve : By cross-validation.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.datasets import load_ionosphere
    >>> from mercer.selection import RadiusMargin, Span, criteria_curve
    >>> X, y = load_ionosphere(return_X_y=True)
    >>> curve = criteria_curve(
    ...     SVC(loss="squared_hinge", C=10.0),
    ...     X,
    ...     y,
    ...     param_name="kernel__gamma",
    ...     param_range=[0.01, 0.1, 1.0, 10.0],
    ...     criteria=[RadiusMargin(), Span()],
    ... )
    >>> curve.round(2)
    array([[1.61, 1.02, 0.48, 0.82],
           [0.07, 0.05, 0.07, 0.34]])
    """
    criteria, values = _listed(criteria), list(param_range)
    bounds = np.empty((len(criteria), len(values)))
    lesson, gram, start = None, None, None
    for k, value in enumerate(values):
        machine = clone(estimator).set_params(**{param_name: value})
        if lesson is None:
            lesson = Lesson(machine, X, y, sample_weight, "criteria_curve")
        machine._check_all()
        for criterion in criteria:
            criterion.check("hard margin" if machine.C == np.inf else machine.loss)
        with limit_threads(machine.n_threads):
            if gram is None or param_name.partition("__")[0] == "kernel":
                gram = lesson.gram(machine)
            problem, weight = lesson.problem(machine, gram)
            solver = machine._solver()
            solver.check(problem)
            try:
                result = solver.solve(problem, start, machine.callback)
            except NotSeparableError:
                bounds[:, k] = np.inf
                continue
            warn_unless_solved(result, type(machine).__name__)
            start = result.a
            trained = Trained(problem, result, weight, solver)
            bounds[:, k] = [criterion.of(trained) for criterion in criteria]
    return bounds


def _listed(criteria: Any) -> list[Criterion]:
    found = [criteria] if isinstance(criteria, Criterion) else list(criteria)
    for criterion in found:
        if not isinstance(criterion, Criterion):
            raise TypeError(f"criteria must be criteria, such as Span(), got {criterion!r}.")
    return found
