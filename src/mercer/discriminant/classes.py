"""Means and prior probabilities of classes."""

from typing import Any

import numpy as np

__all__ = ["Priors", "apart", "means_of"]


class Priors:
    """A word, or a probability for every class; how many there must be is seen when the classes are known."""

    words = ("uniform", "empirical")

    def problem(self, value: Any) -> str | None:
        """What is wrong with the value, None when nothing is."""
        if isinstance(value, str):
            good = value in self.words
        else:
            numbers = np.asarray(value)
            good = numbers.ndim == 1 and numbers.dtype.kind in "iuf" and bool(np.all(numbers > 0))
            good = good and abs(float(numbers.sum()) - 1.0) < 1e-6
        words = " or ".join(map(repr, self.words))
        return None if good else f"must be {words}, or numbers > 0 for the classes that add up to 1, got {value!r}."

    @staticmethod
    def numbers(value: Any, totals: np.ndarray) -> np.ndarray:
        """The probabilities, for classes of some total weights."""
        if isinstance(value, str):
            totals = np.ones(len(totals)) if value == "uniform" else totals
            return totals / totals.sum()
        given = np.asarray(value, dtype=np.float64)
        if len(given) != len(totals):
            raise ValueError(f"priors must have one number for each of the {len(totals)} classes, got {len(given)}.")
        return given / given.sum()


def means_of(codes: np.ndarray, weight: np.ndarray, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """The means of the classes as coefficients over the samples, shape (n_classes, n), and the classes' weights."""
    members = np.where(codes == np.arange(n_classes)[:, np.newaxis], weight, 0.0)
    totals = members.sum(axis=1)
    return members / totals[:, np.newaxis], totals


def apart(functions: np.ndarray) -> np.ndarray:
    """One function for two classes, the second minus the first; one for each of more."""
    return functions[1:] - functions[:1] if len(functions) == 2 else functions
