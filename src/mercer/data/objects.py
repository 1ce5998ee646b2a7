"""Samples that are no vectors: lists and columns of any objects."""

from typing import Any

import numpy as np

__all__ = ["listed"]


def listed(X: Any) -> list[Any] | None:
    """The samples in a list, a tuple, a one-dimensional array or a column of a table; None if X is none of these.

    Nothing is made an array of: the samples stay the objects that they are.
    """
    if isinstance(X, list | tuple):
        return list(X)
    shape = getattr(X, "shape", None)
    if shape is None or len(shape) not in (1, 2) or (len(shape) == 2 and shape[1] != 1):
        return None
    if isinstance(X, np.ndarray):
        return X.reshape(-1).tolist() if len(shape) == 1 or X.dtype == object else None
    if len(shape) == 2:  # a table with one column, of pandas or polars
        X = X.iloc[:, 0] if hasattr(X, "iloc") else X.to_series() if hasattr(X, "to_series") else X
    return X.to_list() if hasattr(X, "to_list") else None
