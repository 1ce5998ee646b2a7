"""Classes as structured outputs."""

import numpy as np
from scipy.sparse import csr_array, eye_array

from mercer.errors import LossError
from mercer.structured.classes import ClassModel
from mercer.structured.rows import scores_of

__all__ = ["Multiclass"]


class Multiclass(ClassModel):
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
        What it costs to take the class of the row for that of the column, classes being sorted: zero on the diagonal,
        > 0 elsewhere. None: one.

    Attributes
    ----------
    classes_ : array
        Of the resolved model.

    See Also
    --------
    Taxonomy : Classes in a tree, which share what they have in common.

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

    def __init__(self, features=None, bias=0.0, cost_matrix=None):
        self.features = features
        self.bias = bias
        self.cost_matrix = cost_matrix

    def _learnt(self, Y):
        classes = np.unique(np.asarray(Y))
        n = len(classes)
        if self.cost_matrix is None:
            return classes, csr_array(eye_array(n)), 1.0 - np.eye(n)
        costs = np.asarray(self.cost_matrix, dtype=np.float64)
        if costs.shape != (n, n):
            raise ValueError(f"cost_matrix must have shape {(n, n)} for {n} classes, got {costs.shape}.")
        if np.diagonal(costs).any():
            raise LossError(f"cost_matrix must be 0 on its diagonal, got {np.diagonal(costs).tolist()}.")
        wrong = costs[~np.eye(n, dtype=bool)]
        if not (np.isfinite(wrong) & (wrong > 0)).all():
            raise LossError(f"cost_matrix must be finite and > 0 off its diagonal, got {costs.tolist()}.")
        return classes, csr_array(eye_array(n)), costs

    def _scores(self, X, w):  # every class is its own part
        return scores_of(X, w.reshape(len(self.classes_), -1))
