"""What a probability model is: parameters in, likelihoods and scores out."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

__all__ = ["Model"]


class Model(ABC):
    r"""Base of probability models :math:`p(x \mid \theta)`.

    A model is a value: it has parameters, which do not change, and says how likely samples are. Two models are equal if
    they are of the same class and their parameters are. What a method gives for a sample depends on this sample alone.

    Notes
    -----
    A kernel needs less than this class: `mercer.kernels.Fisher` takes any object with a method ``scores(X)`` that
    returns an array of shape (n, p), and uses, if they are there, ``information()`` and the attribute ``domain``.
    """

    domain: Any
    """What the samples are, as in `mercer.kernels.Kernel.domain`."""

    _parts: ClassVar[tuple[str, ...]]
    """The arguments of ``__init__``, kept under their names."""

    @abstractmethod
    def log_likelihood(self, X) -> np.ndarray:
        """Logarithm of the probability, or of the density, of every sample, shape (n,)."""

    @abstractmethod
    def scores(self, X) -> np.ndarray:
        """Derivatives of the log-likelihood of every sample by every parameter, shape (n, p)."""

    def information(self) -> np.ndarray:
        """The Fisher information matrix, the covariance of the scores under the model, shape (p, p).

        Only for models that have it in closed form.
        """
        raise NotImplementedError(f"{type(self).__name__} has no information matrix in closed form.")

    # --- a value ------------------------------------------------------------------------------------------

    def _keep(self, **parts: Any) -> None:
        """Set attributes, once; arrays are made read-only."""
        for name, value in parts.items():
            if isinstance(value, np.ndarray):
                value = np.array(value, order="C")
                value.flags.writeable = False
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"A {type(self).__name__} does not change; make a new one to have another {name}.")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(_equal(getattr(self, name), getattr(other, name)) for name in self._parts)

    def __hash__(self) -> int:
        return hash(type(self))

    def __reduce__(self):
        return type(self), tuple(getattr(self, name) for name in self._parts)

    def _file_parts(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._parts}

    @classmethod
    def _from_file_parts(cls, parts: dict[str, Any]) -> "Model":
        return cls(**parts)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


def _equal(a: Any, b: Any) -> bool:
    return np.array_equal(a, b) if isinstance(a, np.ndarray) else bool(a == b)


def check_probabilities(name: str, values: Any, ndim: int, owner: str) -> np.ndarray:
    """Rows of probabilities, each summing to one, as a float64 array."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != ndim or array.size == 0:
        raise ValueError(f"{name} of {owner} must be an array of {ndim} dimensions, got shape {array.shape}.")
    if not (np.isfinite(array).all() and (array >= 0).all()):
        raise ValueError(f"{name} of {owner} must be probabilities >= 0, got {array.min()} among them.")
    sums = array.sum(axis=-1)
    if np.abs(sums - 1.0).max() > 1e-6:
        raise ValueError(
            f"{name} of {owner} must sum to 1 in every row, got a sum of {sums.flat[np.abs(sums - 1).argmax()]}."
        )
    return array
