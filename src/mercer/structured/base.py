"""What a model of structured outputs is: features of samples with outputs, and searches over all outputs."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, issparse, vstack
from sklearn.base import BaseEstimator

__all__ = ["StructuredModel", "as_row"]


class StructuredModel(BaseEstimator, ABC):
    """Base of the models of structured outputs.

    A model knows the joint features :math:`\\Psi(x, y)` of samples and outputs, and how to search all outputs for the
    best one given weights w. Four methods make a model, and every learner works with it: `joint_feature`, `predict`,
    `oracle` and `loss`, of which the last is zero or one for right or wrong unless it is overridden. `slack_oracle` is
    needed for slack rescaling alone, `complete` and `visible` for outputs with hidden parts.

    Where data enters a model, it does so in `resolve`. `prepare` and `encode` turn samples and outputs into what the
    other methods take, once for every fit; `decode` turns predictions back.

    Examples
    --------
    Signs of numbers, as a model of two outputs:

    >>> import numpy as np
    >>> from mercer.structured import StructuredModel, StructuredSVM
    >>> class Sign(StructuredModel):
    ...     size = 1
    ...     def joint_feature(self, x, y):
    ...         return np.array([x * y])
    ...     def predict(self, x, w):
    ...         return max((-1, 1), key=lambda y: w @ self.joint_feature(x, y))
    ...     def oracle(self, x, y, w):
    ...         return max((-1, 1), key=lambda z: self.loss(y, z) + w @ self.joint_feature(x, z))
    >>> machine = StructuredSVM(Sign()).fit([-2.0, 1.0, 3.0], [-1, 1, 1])
    >>> machine.predict([-1.0, 4.0])
    [-1, 1]
    """

    size: Any = None
    """The number of features; None: as many as the first sample with its output has, if nothing is hidden."""
    portion: ClassVar[int] = 16
    """How many samples the plural methods are given at a time; portions run at the same time if there are threads."""

    # --- what makes a model -------------------------------------------------------------------------------

    @abstractmethod
    def joint_feature(self, x: Any, y: Any) -> Any:
        """The features of a sample with an output: an array of shape (size,), or a sparse one of shape (1, size)."""

    @abstractmethod
    def predict(self, x: Any, w: np.ndarray) -> Any:
        """The output with the largest w . joint_feature(x, y). [CY eq 2.55]"""

    @abstractmethod
    def oracle(self, x: Any, y: Any, w: np.ndarray) -> Any:
        """The output z with the largest loss(y, z) + w . joint_feature(x, z)."""

    def slack_oracle(self, x: Any, y: Any, w: np.ndarray) -> Any:
        """The output z with the largest loss(y, z) (1 + w . joint_feature(x, z) - w . joint_feature(x, y))."""
        raise NotImplementedError(f"{type(self).__name__} has no slack_oracle; use rescaling='margin'.")

    def loss(self, y: Any, z: Any) -> float:
        """What it costs to take z for y: 0 for the same, > 0 for others."""
        return 0.0 if self.same(self.visible(y), self.visible(z)) else 1.0

    # --- what it may say besides --------------------------------------------------------------------------

    def resolve(self, X: Any, Y: Any) -> "StructuredModel":
        """The model that knows what is to be known of the samples to learn from, a copy; this one, if nothing is."""
        return self

    def prepare(self, X: Any) -> Any:
        """Samples as the other methods take them, a sequence; refuses what are none."""
        return X

    def encode(self, X: Any, Y: Any) -> Any:
        """Right outputs as the other methods take them, those of prepared samples; refuses what cannot be learnt."""
        return Y

    def decode(self, X: Any, Y: Any) -> Any:
        """Outputs of prepared samples as the user gave them."""
        return Y

    def same(self, y: Any, z: Any) -> bool:
        """Whether two outputs are the same, with all their parts."""
        return bool(np.array_equal(y, z)) if isinstance(y, np.ndarray) else bool(y == z)

    def complete(self, x: Any, y: Any, w: np.ndarray) -> Any:
        """The right output with the hidden parts that make w . joint_feature(x, y) largest."""
        return y

    def visible(self, y: Any) -> Any:
        """An output without its hidden parts."""
        return y

    def score(self, Y: Sequence[Any], predicted: Sequence[Any]) -> float:
        """How good predictions are, larger is better: minus the mean loss, unless overridden.

        Both are as the user gives them: what was never learnt from is wrong, and no error.
        """
        return -float(np.mean([self.loss(y, z) for y, z in zip(Y, predicted, strict=True)]))

    # --- many at once, for those who can do better than one by one ----------------------------------------

    def predictions(self, X: Any, w: np.ndarray) -> Sequence[Any]:
        """`predict` for prepared samples."""
        return [self.predict(x, w) for x in X]

    def oracles(self, X: Any, Y: Any, w: np.ndarray, rescaling: str) -> Sequence[Any]:
        """`oracle` or `slack_oracle` for prepared samples."""
        find = self.oracle if rescaling == "margin" else self.slack_oracle
        return [find(x, y, w) for x, y in zip(X, Y, strict=True)]

    def losses(self, Y: Any, Z: Sequence[Any]) -> np.ndarray:
        """`loss` for right outputs and others."""
        return np.array([self.loss(y, z) for y, z in zip(Y, Z, strict=True)], dtype=np.float64)

    def differences(self, X: Any, Y: Any, Z: Sequence[Any]) -> csr_array:
        """joint_feature(x, y) - joint_feature(x, z) for right outputs and others, in rows."""
        right = [as_row(self.joint_feature(x, y)) for x, y in zip(X, Y, strict=True)]
        found = [as_row(self.joint_feature(x, z)) for x, z in zip(X, Z, strict=True)]
        return csr_array(vstack(right, format="csr") - vstack(found, format="csr"))


def as_row(features: Any) -> csr_array:
    """Features as a sparse row."""
    return csr_array(features if issparse(features) else np.asarray(features, dtype=np.float64).reshape(1, -1))
