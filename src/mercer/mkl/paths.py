"""How weights change with a parameter."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.mkl.base import MultipleKernels, SharedShelf
from mercer.mkl.families import several

__all__ = ["WeightsPath", "weights_path"]


@dataclass(frozen=True, eq=False)
class WeightsPath:
    """Weights of kernels for several values of a parameter."""

    name: str
    """The parameter."""
    values: Sequence[Any]
    """Its values."""
    weights: np.ndarray
    """Shape (n_values, n_kernels), or (n_values, n_classes, n_kernels) where classes have weights of their own."""
    machines: Sequence[MultipleKernels] = field(repr=False)
    """The fitted machines."""


def weights_path(
    machine: MultipleKernels, X: Any, y: Any = None, *, sample_weight: Any = None, **values: Iterable[Any]
) -> WeightsPath:
    """The weights of kernels for several values of a parameter, such as the price of errors or the norm.

    Kernel matrices are computed once where the parameter leaves them as they are, and every search begins at the
    weights of the last one.

    Parameters
    ----------
    machine : MKLClassifier, MKLRegressor or MKLOneClass
        Unfitted; it is not changed.
    X : n samples
    y : array of shape (n,), default=None
        Classes or values.
    sample_weight : array of shape (n,), default=None
        Weights of the samples.
    **values
        One parameter, with the values it is to have, in order: ``C=[0.1, 1.0, 10.0]``. It must not change the
        number of kernels.

    Returns
    -------
    WeightsPath

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.mkl import MKLClassifier, weights_path
    >>> X = np.random.default_rng(0).normal(size=(80, 2))
    >>> machine = MKLClassifier(["linear", "rbf"], gap_tol=1e-7)
    >>> path = weights_path(machine, X, np.hypot(*X.T) > 1, norm=[1.0, 2.0, 8.0])
    >>> path.weights.round(2)
    array([[0.  , 1.  ],
           [0.01, 1.  ],
           [0.49, 1.  ]])
    """
    if not isinstance(machine, MultipleKernels):
        raise TypeError(f"machine must be one of mercer.mkl, such as MKLClassifier(), got {machine!r}.")
    if len(values) != 1:
        raise ValueError(f"weights_path needs one parameter with its values, such as C=[0.1, 1.0], got {len(values)}.")
    ((name, each),) = values.items()
    machines: list[MultipleKernels] = []
    shelf, last = SharedShelf(), None
    for value in several(name, each):
        one = clone(machine).set_params(**{name: value})
        one._shelf, one._first_weights = shelf, last
        machines.append(one.fit(X, *(() if y is None else (y,)), sample_weight=sample_weight))
        last = one.weights_
        del one._shelf, one._first_weights
        if last.shape != machines[0].weights_.shape:
            shapes = f"{machines[0].weights_.shape} and, with {value!r}, {last.shape}"
            raise ValueError(f"{name} must leave the number of kernels as it is, got weights of shape {shapes}.")
    found = [one.weights_ for one in machines]
    return WeightsPath(name, [one.get_params()[name] for one in machines], np.array(found), machines)
