"""What matrices of kernel values, weights of samples and squared lengths must be, for the functions of this room."""

from typing import Any

import numpy as np

from mercer.errors import IndefiniteError
from mercer.gram.sources import ASYMMETRY, Gram

__all__ = [
    "as_matrix",
    "as_rows",
    "as_signs",
    "as_weights",
    "indefinite",
    "labelled_samples",
    "require_definite",
    "roots",
]

# Squared lengths are differences of kernel values, exact to some units in the last place of these.
ROUNDING = 1e-10


def as_matrix(K: Any, name: str = "K") -> np.ndarray:
    """A kernel matrix, or the numbers of a `Gram`, as an exactly symmetric matrix of finite numbers in float64."""
    if isinstance(K, Gram):
        matrix, eps = K.rows(np.arange(K.n)), float(np.finfo(K.dtype).eps)
    else:
        matrix, eps = _as_table(K, name)
    n = len(matrix)
    if matrix.shape != (n, n):
        raise ValueError(f"{name} must be a square matrix, got shape {matrix.shape}.")
    mirrored = matrix.T
    gap, scale = float(np.abs(matrix - mirrored).max()), float(np.abs(matrix).max())
    if gap > ASYMMETRY * eps * scale:
        raise ValueError(
            f"{name} must be symmetric, entries and their mirror images differ by up to {gap:.3g}; "
            f"pass ({name} + {name}.T) / 2 if that is what you mean."
        )
    return 0.5 * (matrix + mirrored) if gap else matrix


def as_rows(K: Any, n: int, name: str = "K_new") -> np.ndarray:
    """Similarities of other samples to the n samples of a matrix, shape (m, n), in float64."""
    rows, _ = _as_table(K, name)
    if rows.shape[1] != n:
        raise ValueError(f"{name} must have a column for each of the {n} samples of K, got shape {rows.shape}.")
    return rows


def _as_table(K: Any, name: str) -> tuple[np.ndarray, float]:
    """A two-dimensional array in float64, and the relative rounding of its entries."""
    given = np.asarray(K)
    if given.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be a matrix of real numbers, got an array of dtype {given.dtype}.")
    if given.ndim != 2 or given.size == 0:
        raise ValueError(f"{name} must be a matrix with at least one row and column, got shape {given.shape}.")
    if not np.isfinite(given).all():
        raise ValueError(f"{name} must be finite, it contains NaN or infinity.")
    eps = np.finfo(given.dtype if given.dtype.kind == "f" else np.float64).eps
    return given.astype(np.float64, copy=False), float(max(eps, np.finfo(np.float64).eps))


def as_weights(sample_weight: Any, n: int, name: str = "sample_weight") -> np.ndarray:
    """Weights of n samples that add up to one; None: all the same."""
    if sample_weight is None:
        return np.full(n, 1.0 / n)
    w = np.asarray(sample_weight, dtype=np.float64)
    if w.shape != (n,):
        raise ValueError(f"{name} has shape {w.shape}, for {n} samples it must be {(n,)}.")
    if not (np.isfinite(w).all() and (w >= 0).all() and w.any()):
        raise ValueError(f"{name} must be finite and >= 0, with at least one positive entry.")
    return w / w.sum()


def labelled_samples(index: Any, n: int) -> np.ndarray:
    """The numbers of the samples that have a label, of n; None: all of them."""
    if index is None:
        return np.arange(n)
    numbers = np.asarray(index)
    good = numbers.ndim == 1 and numbers.dtype.kind in "iu" and len(numbers) > 0
    if not good or numbers.min() < 0 or numbers.max() >= n or len(np.unique(numbers)) < len(numbers):
        raise ValueError(f"index must be different numbers of samples from 0 to {n - 1}, got {index!r}.")
    return numbers.astype(np.intp)


def as_signs(y: Any, n: int, instead: str = "") -> np.ndarray:
    """The labels of n samples of two classes as -1 and 1; `instead` tells what to do where there are more classes."""
    y = np.asarray(y)
    if y.shape != (n,):
        raise ValueError(f"y must have one label for each of the {n} labelled samples, got shape {y.shape}.")
    classes = np.unique(y)
    if len(classes) != 2:
        found = "1 class" if len(classes) == 1 else f"{len(classes)} classes{instead}"
        raise ValueError(f"y must have two classes, got {found}.")
    return np.where(y == classes[1], 1.0, -1.0)


def require_definite(gram: Gram, owner: str, ridge: float = 0.0, ridge_name: str = "") -> None:
    """Refuse a kernel matrix with negative eigenvalues that neither rounding nor a ridge on the diagonal explains."""
    if gram.definite:
        return
    lowest = gram.lowest_eigenvalue()
    if lowest + ridge < -gram.rounding:
        raise indefinite(owner, lowest, instead=f" or set {ridge_name} above {-lowest:.3g}" if ridge_name else "")


def indefinite(owner: str, lowest: float, of: str = "this one", instead: str = "") -> IndefiniteError:
    """The error of a machine that needs a positive semi-definite matrix, of the smallest eigenvalue of what it got."""
    return IndefiniteError(
        f"{owner} needs a positive semi-definite kernel matrix, the smallest eigenvalue of {of} is {lowest:.3g}; "
        f"repair it, see mercer.gram.Repair{instead}."
    )


def roots(squares: Any, sizes: Any, what: str) -> Any:
    """Lengths in feature space from their squares, which are sums and differences of numbers of the given sizes."""
    if np.any(squares < -ROUNDING * sizes):
        raise IndefiniteError(
            f"The kernel is indefinite: {what} is {np.min(squares):.3g}; repair it, see mercer.gram.Repair."
        )
    return np.sqrt(np.maximum(squares, 0.0))
