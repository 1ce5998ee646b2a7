"""LIBSVM's layout of one-versus-one models: of its files, and of what scikit-learn's classes show to their users.

Support vectors are grouped by class. One of class c takes part in the K - 1 pairs of its class, so that a table
of shape (K - 1, n_support) holds all its coefficients: row r of its column is the one against the r-th of the
*other* classes, which is class r if r < c and class r + 1 otherwise. The pairs (i, j), i < j, are in
lexicographic order, and positive decision values speak for i (in mercer: for j).
"""

from itertools import combinations
from typing import Any

import numpy as np
from scipy.sparse import coo_array

__all__ = ["pair_values", "pairs_of", "to_table"]


def pairs_of(n_classes: int) -> np.ndarray:
    """The pairs of classes, shape (n_pairs, 2)."""
    return np.array(list(combinations(range(n_classes), 2)))


def to_table(coefficients: Any, pairs: np.ndarray, of_class: np.ndarray, n_classes: int) -> np.ndarray:
    """The table of the coefficients, shape (n_classes - 1, n_support), in the signs of LIBSVM.

    Parameters
    ----------
    coefficients : array or CSR of shape (n_pairs, n_support)
        As mercer has them: a row for every pair.
    pairs : int array of shape (n_pairs, 2)
        The classes of each row.
    of_class : int array of shape (n_support,)
        The class of each support vector.
    """
    entries = coo_array(coefficients)
    pair, column = entries.row, entries.col
    own = of_class[column]
    other = pairs[pair].sum(axis=1) - own
    table = np.zeros((n_classes - 1, coefficients.shape[1]))
    table[other - (other > own), column] = -entries.data
    return table


def pair_values(products: list[np.ndarray], intercept: np.ndarray) -> np.ndarray:
    """Decision values of all pairs, shape (n, n_pairs).

    Parameters
    ----------
    products : list of arrays of shape (n, n_classes - 1)
        For every class the kernel values of its support vectors times their columns of the table.
    """
    i, j = pairs_of(len(products)).T
    contribution = np.stack(products)
    return (contribution[i, :, j - 1] + contribution[j, :, i]).T + intercept
