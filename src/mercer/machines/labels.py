"""Classes and their weights."""

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from mercer.machines.base import Machine
from mercer.parameters import Number

__all__ = ["ClassWeight", "Labelled"]


class Labelled(Machine):
    """What machines that learn classes share: the classes and their weights."""

    class_weight: Any = None
    classes_: np.ndarray

    def _encode(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Class numbers, -1 for samples of no weight; finds the classes."""
        if y.dtype.kind not in "biuSU":  # numbers that may not be classes, or objects
            check_classification_targets(y)
        used = weight > 0
        self.classes_ = np.unique(y[used])
        # Sorting all labels to number them would take longer.
        numbers = y.dtype.kind in "biu"
        seen = np.searchsorted(self.classes_, y[used]) if numbers else np.unique(y[used], return_inverse=True)[1]
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least 2 classes among the samples of positive weight, got "
                f"{len(self.classes_)} class: {self.classes_.tolist()[0]!r}."
            )
        codes = np.full(len(y), -1)
        codes[used] = seen
        return codes

    def _class_weights(self, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """The weight of each sample's class."""
        n_classes = len(self.classes_)
        per_class = np.ones(n_classes)
        if isinstance(self.class_weight, str):  # "balanced"
            totals = np.bincount(codes[codes >= 0], weights=weight[codes >= 0], minlength=n_classes)
            per_class = totals.sum() / (n_classes * totals)
        elif self.class_weight is not None:
            known = {c: k for k, c in enumerate(self.classes_.tolist())}
            for label, value in self.class_weight.items():
                if label not in known:
                    raise ValueError(f"class_weight names the class {label!r}, which y does not have.")
                if problem := Number(0, above=True).problem(value):
                    raise ValueError(f"class_weight of class {label!r} {problem}")
                per_class[known[label]] = value
        return per_class[codes]


class ClassWeight:
    """None, "balanced" or a mapping from classes to numbers; the numbers are checked when the classes are known."""

    @staticmethod
    def problem(value: Any) -> str | None:
        """What is wrong with the value, None when nothing is."""
        if value is None or (isinstance(value, str) and value == "balanced") or isinstance(value, dict):
            return None
        return f"must be None, 'balanced' or a dict from classes to weights, got {value!r}."
