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
        return list(X.reshape(-1)) if len(shape) == 1 or X.dtype == object else None
    if hasattr(X, "iloc"):  # pandas
        return list(X if len(shape) == 1 else X.iloc[:, 0])
    if hasattr(X, "to_series"):  # a frame of polars
        X = X.to_series()
    return list(X) if hasattr(X, "to_numpy") else None
