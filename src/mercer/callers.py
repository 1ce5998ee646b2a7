"""Warnings that point at the code of the user."""

import sys
import warnings

__all__ = ["warn_caller"]

# What may stand between a method of the library and whoever asked for it: wrappers, pipelines, searches.
BETWEEN = ("mercer", "sklearn", "joblib")


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line from which the library was called, however deep inside it something was noticed.

    Parameters
    ----------
    message : str
        What is wrong, and the way out.
    category : type of warning
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in BETWEEN:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
