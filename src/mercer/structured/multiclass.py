"""Classes as structured outputs."""

from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, kron

from mercer.parameters import Number, check_parameters
from mercer.structured.base import StructuredModel
from mercer.structured.rows import fitted_features, paired_rows, rows_of

__all__ = ["Multiclass"]


class Multiclass(StructuredModel):
    """Classes, each with weights of its own: :math:`w \\cdot \\Psi(x, y) = w_y \\cdot x`.

    With the loss of zero or one `StructuredSVM` is Crammer and Singer's machine without offsets.

    Parameters
    ----------
    features : transformer, Kernel or None, default=None
        What turns samples into rows, see `mercer.structured.rows`; None: they are rows of numbers.
    bias : float >= 0, default=0.0
        A further feature that is the same for all samples; its weights are regularised as all others. Larger means
        cheaper offsets.
    cost_matrix : array of shape (n_classes, n_classes) or None, default=None
        What it costs to take the class of the row for that of the column, classes being sorted; None: one.

    Attributes
    ----------
    classes_ : array
        Of the resolved model.

    Notes
    -----
    An oracle costs O(n_classes n_features).

    Examples
    --------
    >>> from mercer.structured import Multiclass, StructuredSVM
    >>> machine = StructuredSVM(Multiclass(), C=10.0).fit([[0.0, 1.0], [1.0, 0.0], [-1.0, -1.0]], ["a", "b", "c"])
    >>> machine.predict([[0.0, 2.0], [2.0, 0.0]])
    array(['a', 'b'], dtype='<U1')
    """

    portion = 512
    _parameters: ClassVar[dict[str, Any]] = {"bias": Number(0)}

    def __init__(self, features=None, bias=0.0, cost_matrix=None):
        self.features = features
        self.bias = bias
        self.cost_matrix = cost_matrix

    def resolve(self, X, Y):
        check_parameters(self)
        known = type(self)(**self.get_params(deep=False))
        known.features_ = fitted_features(self.features, X)
        known.classes_ = np.unique(np.asarray(Y))
        known._losses = self._checked_losses(len(known.classes_))
        known.n_columns_ = known.prepare(X).shape[1]
        known.size = len(known.classes_) * known.n_columns_
        return known

    def _checked_losses(self, n_classes: int) -> np.ndarray:
        if self.cost_matrix is None:
            return 1.0 - np.eye(n_classes)
        losses = np.asarray(self.cost_matrix, dtype=np.float64)
        if losses.shape != (n_classes, n_classes):
            raise ValueError(
                f"cost_matrix must have shape {(n_classes, n_classes)} for {n_classes} classes, got {losses.shape}."
            )
        return losses

    def prepare(self, X):
        rows = rows_of(self.features_, X, self.bias)
        if rows.shape[1] != getattr(self, "n_columns_", rows.shape[1]):
            raise ValueError(f"X must have {self.n_columns_} features, as those learnt from, got {rows.shape[1]}.")
        return rows

    def encode(self, X, Y):
        Y = np.asarray(Y)
        codes = np.minimum(np.searchsorted(self.classes_, Y), len(self.classes_) - 1)
        if (unseen := self.classes_[codes] != Y).any():
            raise ValueError(f"y must be of the classes learnt from, got {Y[unseen][0]!r}.")
        return codes

    def decode(self, X, Y):
        return self.classes_[np.asarray(Y, dtype=int)]

    def joint_feature(self, x, y):
        return kron(np.eye(1, len(self.classes_), y), x.reshape(1, -1), format="csr")

    def loss(self, y, z):
        return float(self._losses[y, z])

    def same(self, y, z):
        return y == z

    def predict(self, x, w):
        return int(self.predictions(x.reshape(1, -1), w)[0])

    def oracle(self, x, y, w):
        return int(self.oracles(x.reshape(1, -1), [y], w, "margin")[0])

    def slack_oracle(self, x, y, w):
        return int(self.oracles(x.reshape(1, -1), [y], w, "slack")[0])

    def _scores(self, X: Any, w: np.ndarray) -> np.ndarray:
        return X @ w.reshape(len(self.classes_), -1).T

    def predictions(self, X, w):
        return np.argmax(self._scores(X, w), axis=1)

    def oracles(self, X, Y, w, rescaling):
        scores, losses = self._scores(X, w), self._losses[Y]
        if rescaling == "margin":
            return np.argmax(losses + scores, axis=1)
        ahead = scores - scores[np.arange(len(scores)), Y][:, np.newaxis]
        return np.argmax(losses * (1.0 + ahead), axis=1)

    def losses(self, Y, Z):
        return self._losses[Y, Z]

    def differences(self, X, Y, Z):
        Y, Z, rows = np.asarray(Y), np.asarray(Z), csr_array(X)
        blocks = [csr_array((np.ones(len(c)), c, np.arange(len(c) + 1)), (len(c), len(self.classes_))) for c in (Y, Z)]
        return paired_rows(csr_array(blocks[0] - blocks[1]), rows)

    def score(self, Y, predicted):
        return float(np.mean(np.asarray(Y) == np.asarray(predicted)))
