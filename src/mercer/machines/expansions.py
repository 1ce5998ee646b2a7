"""What expansions over training samples are good for: classes, values, coordinates."""

from typing import Any

import numpy as np
from sklearn.base import (
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    MultiOutputMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_array, check_is_fitted

from mercer.machines.base import KernelMachine
from mercer.machines.labels import Labelled

__all__ = ["KernelClassifier", "KernelRegressor", "KernelTransformer"]


class KernelClassifier(ClassifierMixin, Labelled, KernelMachine):
    """One function for two classes, positive for the second; one for each class, the largest wins, for more."""

    def _signs_of(self, codes: np.ndarray) -> np.ndarray:
        """+1 and -1 for what the functions are to tell apart, shape (n, n_functions)."""
        n_classes = len(self.classes_)
        if n_classes == 2:
            return np.where(codes == 1, 1.0, -1.0)[:, np.newaxis]
        return np.where(codes[:, np.newaxis] == np.arange(n_classes), 1.0, -1.0)

    def decision_function(self, X):
        """Decision values.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n,) or (n, n_classes)
            Two classes: positive values speak for ``classes_[1]``. More: one score per class; `predict` takes the
            largest, the first of equal ones.
        """
        values = self._raw_decision(X)
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X):
        """Classes.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n,)
        """
        values = self.decision_function(X)
        return self.classes_[(values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)]


class KernelRegressor(MultiOutputMixin, RegressorMixin, KernelMachine):
    """One function for every output."""

    _single_output: bool

    def _take_targets(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Checked samples and their values in float64."""
        X, y = self._take_samples(X, y, multi_output=True, y_numeric=True)
        return X, check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")

    def _columns(self, y: np.ndarray) -> np.ndarray:
        """The values of every output in a column; notes whether there was one only."""
        self._single_output = y.ndim == 1
        return y[:, np.newaxis] if self._single_output else y

    def predict(self, X):
        """Values.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n,) or (n, n_outputs)
        """
        values = self._raw_decision(X)
        return values[:, 0] if self._single_output else values


class KernelTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelMachine):
    """One function for every new coordinate."""

    @property
    def _n_features_out(self) -> int:
        return len(self.dual_coef_)

    def transform(self, X):
        """New coordinates.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n, n_components)
        """
        check_is_fitted(self)
        return self._raw_decision(X)
