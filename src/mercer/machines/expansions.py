"""What expansions over training samples are good for: classes, values, coordinates."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.base import (
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    MultiOutputMixin,
    OutlierMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from mercer.machines.base import KernelMachine
from mercer.machines.labels import Labelled
from mercer.threads import limit_threads

__all__ = [
    "KernelClassifier",
    "KernelDetector",
    "KernelRegressor",
    "KernelTransformer",
    "LogOddsClassifier",
    "WeightedClassifier",
]


class KernelClassifier(ClassifierMixin, Labelled, KernelMachine):
    """One function for two classes, positive for the second; one for each class, the largest wins, for more."""

    @abstractmethod
    def _fit_classes(self, X: Any, codes: np.ndarray, weight: np.ndarray) -> None:
        """Learn from checked samples, the numbers of their classes and their weights; no weight is the number -1."""

    def fit(self, X, y):
        """Learn from samples with classes.

        Parameters
        ----------
        X : samples of shape (n, n_features), or as the kernel takes them
            The n x n kernel matrix if ``kernel="precomputed"``.
        y : array of shape (n,)
            Classes, numbers or strings.

        Returns
        -------
        self
        """
        return self._fit(X, y, None)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        with self._all_or_nothing():
            self._check_all()
            X, y = self._take_samples(X, y)
            weight = self._weights(sample_weight, X)
            codes = self._encode(y, weight)
            with limit_threads(self.n_threads):
                self._fit_classes(X, codes, weight)
        return self

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


class WeightedClassifier(KernelClassifier):
    """A classifier whose samples may have weights."""

    def fit(self, X, y, sample_weight=None):
        """Learn from samples with classes.

        Parameters
        ----------
        X : samples of shape (n, n_features), or as the kernel takes them
            The n x n kernel matrix if ``kernel="precomputed"``.
        y : array of shape (n,)
            Classes, numbers or strings.
        sample_weight : array of shape (n,), default=None
            Non-negative; weight 2 is the sample twice, weight 0 is no sample.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)


class LogOddsClassifier(WeightedClassifier):
    """A classifier whose decision values are log-odds, or logarithms of probabilities up to a constant of the sample.

    So decisions, probabilities and predictions agree.
    """

    def predict_proba(self, X):
        """Probabilities of the classes.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n, n_classes)
            In the order of `classes_`.
        """
        values = self._raw_decision(X)
        return expit(np.hstack([-values, values])) if len(self.classes_) == 2 else softmax(values, axis=1)

    def predict_log_proba(self, X):
        """Logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n, n_classes)
            In the order of `classes_`.
        """
        values = self._raw_decision(X)
        return log_expit(np.hstack([-values, values])) if len(self.classes_) == 2 else log_softmax(values, axis=1)


class KernelRegressor(MultiOutputMixin, RegressorMixin, KernelMachine):
    """One function for every output."""

    _single_output: bool

    @abstractmethod
    def _fit_columns(self, X: Any, Y: np.ndarray, weight: np.ndarray) -> None:
        """Learn from checked samples, their values, a column for every output, and their weights."""

    def fit(self, X, y, sample_weight=None):
        """Learn from samples with values.

        Parameters
        ----------
        X : samples of shape (n, n_features), or as the kernel takes them
            The n x n kernel matrix if ``kernel="precomputed"``.
        y : array of shape (n,) or (n, n_outputs)
            Values.
        sample_weight : array of shape (n,), default=None
            Non-negative; weight 2 is the sample twice, weight 0 is no sample.

        Returns
        -------
        self
        """
        with self._all_or_nothing():
            self._check_all()
            X, y = self._take_targets(X, y)
            weight = self._weights(sample_weight, X)
            self._single_output = y.ndim == 1
            with limit_threads(self.n_threads):
                self._fit_columns(X, y[:, np.newaxis] if self._single_output else y, weight)
        return self

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


class KernelDetector(OutlierMixin, KernelMachine):
    """One function, from which `offset_` is taken: +1 inside, -1 outside."""

    offset_: float

    @abstractmethod
    def _fit_samples(self, X: Any, weight: np.ndarray) -> None:
        """Learn from checked samples and their weights."""

    def fit(self, X, y=None, sample_weight=None):
        """Learn where the samples lie.

        Parameters
        ----------
        X : samples of shape (n, n_features), or as the kernel takes them
            The n x n kernel matrix if ``kernel="precomputed"``.
        y : ignored
        sample_weight : array of shape (n,), default=None
            Non-negative; weight 2 is the sample twice, weight 0 is no sample.

        Returns
        -------
        self
        """
        with self._all_or_nothing():
            self._check_all()
            X = self._take_samples(X)
            weight = self._weights(sample_weight, X)
            with limit_threads(self.n_threads):
                self._fit_samples(X, weight)
        return self

    def score_samples(self, X):
        """How usual samples are; larger is more usual. The decision value plus `offset_`.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n,)
        """
        return self._raw_decision(X)[:, 0] - self.intercept_[0]

    def decision_function(self, X):
        """Decision values, positive inside and negative outside.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n,)
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X):
        """+1 for samples inside, -1 for novel ones.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        int ndarray of shape (n,)
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)


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
