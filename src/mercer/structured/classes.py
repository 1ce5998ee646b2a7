"""Classes as structured outputs, each the sum of parts with weights of their own."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, kron

from mercer.parameters import Number, check_parameters
from mercer.structured.base import StructuredModel
from mercer.structured.rows import fitted_features, paired_rows, rows_of, scores_of

__all__ = ["ClassModel", "as_names"]


class ClassModel(StructuredModel):
    """Base of the models whose outputs are classes, each a set of parts.

    .. math:: w \\cdot \\Psi(x, y) = \\sum_{p \\in y} w_p \\cdot x

    A subclass has the parameters `features` and `bias`, see `Multiclass`, and says in `_learnt` what classes there are.
    Outputs are looked at one by one, so that both oracles are exact for every loss.
    """

    portion = 512
    _parameters: ClassVar[dict[str, Any]] = {"bias": Number(0)}

    features: Any
    bias: float
    classes_: np.ndarray
    """Of the resolved model, as are all below."""
    parts_: csr_array
    """Of shape (n_classes, n_parts), one for the parts that a class has."""
    costs_: np.ndarray
    """What it costs to take the class of the row for that of the column."""

    @abstractmethod
    def _learnt(self, Y: Any) -> tuple[np.ndarray, csr_array, np.ndarray]:
        """Classes, their parts, and what it costs to take one for another."""

    def resolve(self, X, Y):
        check_parameters(self)
        known = type(self)(**self.get_params(deep=False))
        known.classes_, known.parts_, known.costs_ = known._learnt(Y)
        known._codes = {name: code for code, name in enumerate(known.classes_.tolist())}
        known.features_ = fitted_features(self.features, X)
        known.n_columns_ = known.prepare(X).shape[1]
        known.size = known.parts_.shape[1] * known.n_columns_
        return known

    def prepare(self, X):
        rows = rows_of(self.features_, X, self.bias)
        if rows.shape[1] != getattr(self, "n_columns_", rows.shape[1]):
            raise ValueError(f"X must have {self.n_columns_} features, as those learnt from, got {rows.shape[1]}.")
        return rows

    def encode(self, X, Y):
        names = Y.tolist() if hasattr(Y, "tolist") else list(Y)
        unknown = [name for name in names if name not in self._codes]
        if unknown:
            raise ValueError(self._refusal(unknown[0]))
        return np.array([self._codes[name] for name in names], dtype=np.int64)

    def _refusal(self, name: Any) -> str:
        return f"y must be of the classes learnt from, got {name!r}."

    def decode(self, X, Y):
        return self.classes_[np.asarray(Y, dtype=int)]

    def joint_feature(self, x, y):
        return kron(self.parts_[[y]], x.reshape(1, -1), format="csr")

    def loss(self, y, z):
        return float(self.costs_[y, z])

    def same(self, y, z):
        return y == z

    def predict(self, x, w):
        return int(self.predictions(x.reshape(1, -1), w)[0])

    def oracle(self, x, y, w):
        return int(self.oracles(x.reshape(1, -1), [y], w, "margin")[0])

    def slack_oracle(self, x, y, w):
        return int(self.oracles(x.reshape(1, -1), [y], w, "slack")[0])

    def _scores(self, X: Any, w: np.ndarray) -> np.ndarray:
        """w . joint_feature for all samples and classes."""
        return (self.parts_ @ scores_of(X, w.reshape(self.parts_.shape[1], -1)).T).T

    def predictions(self, X, w):
        return np.argmax(self._scores(X, w), axis=1)

    def oracles(self, X, Y, w, rescaling):
        scores, losses = self._scores(X, w), self.costs_[Y]
        if rescaling == "margin":
            return np.argmax(losses + scores, axis=1)
        ahead = scores - scores[np.arange(len(scores)), Y][:, np.newaxis]
        return np.argmax(losses * (1.0 + ahead), axis=1)

    def losses(self, Y, Z):
        return self.costs_[Y, Z]

    def differences(self, X, Y, Z):
        return paired_rows(csr_array(self.parts_[np.asarray(Y)] - self.parts_[np.asarray(Z)]), csr_array(X))

    def score(self, Y, predicted):
        return float(np.mean(np.asarray(Y) == np.asarray(predicted)))


def as_names(names: list[Any]) -> np.ndarray:
    """Names as an array of their own kind, or of objects if there is none."""
    array = np.array(names) if all(isinstance(name, str | int | float) for name in names) else np.empty(0)
    if array.tolist() == names:
        return array
    return np.fromiter(names, dtype=object, count=len(names))
