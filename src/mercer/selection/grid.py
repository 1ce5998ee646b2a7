"""Which parameters a search tries, and in which order: what shares a kernel matrix, and what starts from what."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import ParameterGrid

from mercer.fingerprint import fingerprint
from mercer.kernels import as_kernel

__all__ = ["Group", "default_grid", "grouped", "listed"]

# The exponential grid. [P §1.5.3]
PRICES = 2.0 ** np.arange(-5, 16, 2)
WIDTHS = 2.0 ** np.arange(-15, 4, 2)
TUBES = 2.0 ** np.arange(-7, 0, 2)
# Parameters along which a solution is a good first point for the next one, and the order in which it is one: errors
# become dearer.
PATHS = {"C": 1, "nu": -1}


class Group(NamedTuple):
    """Cells with the same kernel matrices."""

    shared: dict[str, Any]
    """The parameters that the kernel matrices depend on."""
    paths: list[list[int]]
    """Numbers of cells; those of a path differ in a price only, each starts where the one before has ended."""


def default_grid(estimator: Any) -> dict[str, np.ndarray]:
    """The exponential grid over those of C, epsilon and the kernel's gamma that the estimator has.

    Parameters
    ----------
    estimator : estimator with a kernel

    Returns
    -------
    dict
        C = 2^-5, 2^-3, ..., 2^15, gamma = 2^-15, 2^-13, ..., 2^3 and epsilon = 2^-7, ..., 2^-1.

    References
    ----------
    .. [1] J.-P. Vert, K. Tsuda, B. Schölkopf, A primer on kernel methods, 2004, section 1.5.3.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.selection import default_grid
    >>> {name: len(values) for name, values in default_grid(SVC()).items()}
    {'C': 11, 'kernel__gamma': 10}
    """
    known = estimator.get_params(deep=False)
    grid = {name: values for name, values in (("C", PRICES), ("epsilon", TUBES)) if name in known}
    kernel = known.get("kernel")
    precomputed = isinstance(kernel, str) and kernel == "precomputed"
    if kernel is not None and not precomputed and "gamma" in as_kernel(kernel).get_params(deep=False):
        grid["kernel__gamma"] = WIDTHS
    if not grid:
        raise ValueError(f"param_grid must be given: {estimator!r} has neither C nor epsilon nor a kernel with gamma.")
    return grid


def listed(param_grid: Any, estimator: Any) -> list[dict[str, Any]]:
    """The cells of a grid, in the order of scikit-learn's `ParameterGrid`.

    Parameters
    ----------
    param_grid : dict or list of dicts of sequences
    estimator : estimator
        Whose parameters they are.
    """
    if isinstance(param_grid, (str, bytes)) or not isinstance(param_grid, (Mapping, Sequence)):
        raise TypeError(f"param_grid must be a dict, or a list of dicts, of sequences of values, got {param_grid!r}.")
    cells = [{name: plain(value) for name, value in cell.items()} for cell in ParameterGrid(param_grid)]
    if not cells:
        raise ValueError("param_grid must have at least one cell, got none.")
    known = known_parameters(estimator)
    for name in {name for cell in cells for name in cell}:
        if name.split("__")[0] not in known:
            raise ValueError(
                f"param_grid names the parameter {name!r}, which {type(estimator).__name__} does not have; it has "
                f"{', '.join(sorted(known))}."
            )
    return cells


def known_parameters(estimator: Any) -> set[str]:
    """Names of what a grid may vary."""
    return {*estimator.get_params(deep=False), "preprocess"}


def plain(value: Any) -> Any:
    """NumPy's numbers as Python's: that is what is shown, and what a file can hold."""
    return value.item() if isinstance(value, np.generic) else value


def grouped(cells: list[dict[str, Any]]) -> list[Group]:
    """Cells by their kernel matrices, and of these the paths.

    Parameters
    ----------
    cells : list of dicts

    Returns
    -------
    list of Group
    """
    # Kernels can be written alike and differ, in the middle of a matrix say. One that is in many cells is read once.
    prints: dict[int, str] = {}

    def marks(some: dict[str, Any]) -> tuple[tuple[str, str], ...]:
        for value in some.values():
            if id(value) not in prints:
                prints[id(value)] = fingerprint(value)
        return tuple(sorted((name, prints[id(value)]) for name, value in some.items()))

    groups: dict[Any, tuple[dict[str, Any], dict[Any, list[int]]]] = {}
    for number, cell in enumerate(cells):
        shared = {name: value for name, value in cell.items() if is_shared(name)}
        along = next((name for name in PATHS if name in cell), None)
        # A hard margin is no continuation of a soft one: it may not exist.
        hard = along is not None and cell[along] == np.inf
        rest = {name: value for name, value in cell.items() if not is_shared(name) and name != along}
        _, paths = groups.setdefault(marks(shared), (shared, {}))
        paths.setdefault((marks(rest), hard), []).append(number)
    return [
        Group(shared, [sorted(path, key=lambda number: _place(cells[number])) for path in paths.values()])
        for shared, paths in groups.values()
    ]


def is_shared(name: str) -> bool:
    """Whether a parameter makes the kernel matrices."""
    return name.split("__")[0] in ("kernel", "preprocess")


def _place(cell: dict[str, Any]) -> float:
    return next((order * float(cell[name]) for name, order in PATHS.items() if name in cell), 0.0)
