"""What ``probability=True`` adds to a classifier: decision values that are log-odds, and probabilities that agree."""

from abc import ABC, abstractmethod
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer.calibration.calibration import Calibration, fit_calibration, pairs_of
from mercer.calibration.folds import HeldOut, fold_splitter
from mercer.distributed.predictions import by_blocks
from mercer.machines.base import answering_tensors

__all__ = ["Probabilities"]

# How many machines probabilities are learnt from.
FOLDS = 5


class Probabilities(ABC):
    """A classifier that can be calibrated in one go, its folds over one Gram matrix."""

    probability: bool
    random_state: Any
    classes_: np.ndarray
    calibration_: Calibration

    @abstractmethod
    def _fit(
        self, X: Any, y: Any, sample_weight: Any, split: Any = None, coupled: bool = True, whole: bool = True
    ) -> tuple[list[Self], list[HeldOut]]:
        """Fit; with `split`, folds too. This machine, or those of the folds if not `whole`; what the folds held out."""

    @abstractmethod
    def _values(self, X: Any, *, pairs: bool = False) -> np.ndarray:
        """Decision values before calibration: the only ones, those of all pairs of classes, or scores."""

    @abstractmethod
    def _class_weights(self, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """The weight of each sample's class."""

    def _fit_calibrated(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Fit, with folds, and learn a sigmoid from what they held out."""
        _, held_out = self._fit_folds(X, y, sample_weight, fold_splitter(FOLDS, self.random_state))
        self._learn_sigmoid(held_out, pairs_of(self, len(self.classes_)))

    def _learn_sigmoid(self, held_out: HeldOut, pairs: Any) -> None:
        """Learn it from decision values: of these pairs of classes, or scores if there are none."""
        # A class that counts more does so in its probabilities too: else they would undo it in predictions.
        weight = held_out.weight * self._class_weights(held_out.codes, held_out.weight)
        counted = held_out._replace(weight=weight)
        self.calibration_ = fit_calibration(counted, len(self.classes_), "sigmoid", "corrected", pairs)

    @property
    def _folds_share_rows(self) -> bool:
        """Whether `_fit_folds` is there for a calibration from outside."""
        return not self.probability

    def _fit_folds(
        self, X: Any, y: Any, sample_weight: Any, split: Any, coupled: bool = True, whole: bool = True
    ) -> tuple[list[Self], Any]:
        """Fit, and the decision values of samples held out: of pairs of classes if the machine has them and `coupled`.

        `split` makes splits of samples, class numbers, weights and classes. The machines are this one or, if not
        `whole`, those of the folds, which number support vectors among all samples. No values, None, if nothing is
        held out.
        """
        machines, parts = self._fit(X, y, sample_weight, split, coupled, whole)
        return machines, HeldOut.joined(parts) if parts else None

    @property
    def _calibrated(self) -> bool:
        return hasattr(self, "calibration_")

    def _calibrated_values(self, X: Any) -> np.ndarray:
        """Decision values as the calibration takes them."""
        check_is_fitted(self, "calibration_")
        return self._values(X, pairs=bool(self.calibration_.pairs))

    @available_if(lambda self: self.probability)
    @answering_tensors
    @by_blocks
    def predict_proba(self, X):
        """Probabilities of the classes; with ``probability=True`` only.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        values = self._calibrated_values(X)
        return self.calibration_.probabilities(values)

    @available_if(lambda self: self.probability)
    @answering_tensors
    @by_blocks
    def predict_log_proba(self, X):
        """Logarithms of the probabilities, finite also where these round to 0; with ``probability=True`` only.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        values = self._calibrated_values(X)
        return self.calibration_.log_probabilities(values)

    @property
    def estimator_(self):
        """The machine before calibration, with the raw margins as its decision values; ``probability=True`` only."""
        if not self._calibrated:
            raise AttributeError("estimator_ exists after a fit with probability=True only.")
        machine = copy(self)
        machine.probability = False
        del machine.calibration_
        return machine
