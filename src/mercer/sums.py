"""Sums that neither wake nor depend on the threads of BLAS."""

import numpy as np

__all__ = ["inner"]


def inner(x: np.ndarray, y: np.ndarray) -> float:
    """x'y of two vectors.

    BLAS would do long ones on threads of its own, which rounds by their number, and which go on spinning for a tenth
    of a second on cores that the solver is about to use.
    """
    return float((x * y).sum())
