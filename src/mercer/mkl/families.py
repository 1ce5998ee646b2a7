"""Kernels that differ in one parameter."""

from collections.abc import Iterable
from typing import Any

from sklearn.base import BaseEstimator, clone

from mercer.kernels import RBF, Kernel, as_kernel
from mercer.parameters import Number

__all__ = ["Widths", "family"]


def family(kernel: Any, **values: Iterable[Any]) -> list[Kernel]:
    """A kernel with several values of one of its parameters.

    Parameters
    ----------
    kernel : Kernel or str
    **values
        One parameter, with the values it is to have: ``degree=[1, 2, 3]``.

    Returns
    -------
    list of Kernel
        A copy for each value.

    Examples
    --------
    >>> from mercer.mkl import family
    >>> family("poly", degree=[1, 2])
    [Polynomial(degree=1), Polynomial(degree=2)]
    """
    if len(values) != 1:
        raise ValueError(f"family needs one parameter with its values, such as gamma=[0.1, 1.0], got {len(values)}.")
    ((name, each),) = values.items()
    return [clone(as_kernel(kernel)).set_params(**{name: value}) for value in several(name, each)]


def several(name: str, values: Any) -> list[Any]:
    """The values of a parameter, at least one."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a list of values, got {values!r}.")
    found = list(values)
    if not found:
        raise ValueError(f"{name} must have at least one value, got none.")
    return found


class Widths(BaseEstimator):
    """A kernel with several widths, relative to the scale of the training samples.

    It stands for its kernels in the list of a machine, which makes them when it is fitted.

    Parameters
    ----------
    kernel : Kernel or None, default=None
        One with a parameter gamma that training samples set, as `RBF`, which is the default, does.
    factors : sequence of float > 0, default=4 to the power of -3 to 3
        What gamma is multiplied by; larger is narrower.

    Examples
    --------
    >>> from mercer.mkl import Widths
    >>> Widths(factors=[0.5, 2.0]).kernels([[0.0], [2.0]])
    [RBF(gamma=0.5), RBF(gamma=2.0)]
    """

    def __init__(self, kernel=None, factors=(1 / 64, 1 / 16, 1 / 4, 1.0, 4.0, 16.0, 64.0)):
        self.kernel = kernel
        self.factors = factors

    @property
    def domain(self) -> str:
        """What samples the kernels take."""
        return self._kernel.domain

    @property
    def _kernel(self) -> Kernel:
        return RBF() if self.kernel is None else as_kernel(self.kernel)

    def kernels(self, X: Any, sample_weight: Any = None) -> list[Kernel]:
        """The kernels for training samples.

        Parameters
        ----------
        X : n samples
        sample_weight : array of shape (n,), default=None

        Returns
        -------
        list of Kernel
        """
        factors = several("factors", self.factors)
        if any(Number(0, above=True).problem(factor) for factor in factors):
            raise ValueError(f"factors must be numbers > 0, got {self.factors!r}.")
        resolved = self._kernel.resolve(X, sample_weight)
        if not hasattr(resolved, "gamma"):
            raise ValueError(f"Widths needs a kernel with a parameter gamma, got {self._kernel!r}.")
        return family(resolved, gamma=[float(factor * resolved.gamma) for factor in factors])
