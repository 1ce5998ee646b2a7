"""Samples as sparse features that are known by their content."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mercer import _native
from mercer.threads import effective_n_threads

__all__ = ["SparseFeatures"]


class SparseFeatures:
    """Samples as sparse features: which ones each sample has, and how much of them.

    A feature is known by a 64-bit key that depends on its content alone: an exact code where one fits, else a hash.
    So samples need no common dictionary, and the features of one never depend on the others. That two different
    features out of N get the same hash has a chance of about :math:`N^2 / 2^{65}`, 3e-8 for a million features.

    Parameters
    ----------
    keys : uint64 array
        Of all samples, one after the other; ascending and different within a sample.
    values : float64 array
        What the sample has of each.
    starts : int64 array of shape (n + 1,)
        Sample i has the entries from ``starts[i]`` to ``starts[i + 1]``.
    """

    __slots__ = ("keys", "starts", "values")

    def __init__(self, keys: np.ndarray, values: np.ndarray, starts: np.ndarray):
        self.keys, self.values, self.starts = keys, values, starts

    @classmethod
    def count(cls, keys: Any, starts: Any, values: Any = None) -> "SparseFeatures":
        """Features from occurrences in any order; those of equal keys within a sample are added up.

        Parameters
        ----------
        keys : uint64 array
            Of all samples, one after the other.
        starts : int array of shape (n + 1,)
        values : array, default=None
            What each occurrence counts; None: 1.
        """
        keys = np.ascontiguousarray(keys, dtype=np.uint64)
        values = np.ones(len(keys)) if values is None else np.ascontiguousarray(values, dtype=np.float64)
        starts = np.ascontiguousarray(starts, dtype=np.int64)
        found: Any = _native.features_collect((keys, values, starts), effective_n_threads())
        return cls(*found)

    @classmethod
    def side_by_side(cls, parts: "Sequence[SparseFeatures]") -> "SparseFeatures":
        """The features of several descriptions of the same samples, kept apart: part numbers go into their keys."""
        n = len(parts[0])
        sizes = np.array([np.diff(part.starts) for part in parts])
        owners = np.concatenate([np.repeat(np.arange(n), size) for size in sizes])
        order = np.argsort(owners, kind="stable")
        keys = np.concatenate([_mixed(part.keys, number) for number, part in enumerate(parts)])[order]
        values = np.concatenate([part.values for part in parts])[order]
        return cls.count(keys, np.concatenate([[0], np.cumsum(sizes.sum(axis=0))]), values)

    def times(self, factors: np.ndarray) -> "SparseFeatures":
        """The features of every sample, times its factor."""
        return SparseFeatures(self.keys, self.values * np.repeat(factors, np.diff(self.starts)), self.starts)

    @property
    def shape(self) -> tuple[int]:
        """Number of samples, as an array of samples would have it."""
        return (len(self.starts) - 1,)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, rows: Any) -> "SparseFeatures":
        """Some of the samples, by a slice, their numbers or a mask."""
        rows = np.arange(len(self))[rows]
        sizes = self.starts[rows + 1] - self.starts[rows]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        entries = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], sizes)
        return SparseFeatures(self.keys[entries], self.values[entries], starts)

    def native(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As the native functions take them."""
        return self.keys, self.values, self.starts

    def table(self, vocabulary: np.ndarray) -> csr_array:
        """The features with the keys of an ascending vocabulary as columns of a CSR array; others are left out."""
        if not len(vocabulary):
            return csr_array((len(self), 0))
        columns = np.minimum(np.searchsorted(vocabulary, self.keys), len(vocabulary) - 1)
        known = vocabulary[columns] == self.keys
        before = np.concatenate([[0], np.cumsum(known)])  # how many are known before each entry
        shape = (len(self), len(vocabulary))
        return csr_array((self.values[known], columns[known], before[self.starts]), shape=shape)


def _mixed(keys: np.ndarray, number: int) -> np.ndarray:
    """Other keys, different ones for different keys: the finaliser of splitmix64, after a step of its generator."""
    step = np.uint64((number + 1) * 0x9E3779B97F4A7C15 % 2**64)
    keys = keys + step  # modulo 2^64, as everything here
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))
