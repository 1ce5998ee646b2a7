"""Samples that are no numbers, in an array that can be split as laws split it."""

import numpy as np


def as_objects(samples) -> np.ndarray:
    """A one-dimensional array of objects, also where NumPy would see more dimensions."""
    samples = list(samples)
    array = np.empty(len(samples), dtype=object)
    for i, sample in enumerate(samples):
        array[i] = sample
    return array
