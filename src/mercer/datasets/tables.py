"""A CSV file as samples: a header, a column ``class`` or ``target``, and features or strings."""

import csv
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

# What a column is called that holds the label of a sample, its value, or the sample itself.
LABEL, VALUE, STRINGS = "class", "target", ("sequence", "text")


class Table(NamedTuple):
    """What a file says."""

    data: Any  # float array, with nan for an empty cell; object array where a column has words; list of str
    labels: np.ndarray | None  # int where all are; float in the column of values; otherwise str
    feature_names: list[str]
    others: dict[str, list[str]]  # columns beside those of strings

    @property
    def regression(self) -> bool:
        return self.labels is not None and self.labels.dtype.kind == "f"


def parse_table(lines: Iterable[str], name: str) -> Table:
    """Read the lines of a file, whose name is for messages."""
    rows = csv.reader(lines)
    header = next(rows, [])
    if not header:
        raise ValueError(f"{name} must begin with the names of its columns, and is empty.")
    table = list(rows)
    for number, row in enumerate(table, 2):
        if len(row) != len(header):
            raise ValueError(f"{name}, line {number}, has {len(row)} cells where the header has {len(header)}.")
    columns = dict(zip(header, zip(*table, strict=True) if table else [()] * len(header), strict=True))
    labels = None
    if LABEL in columns:
        labels = _labels(columns.pop(LABEL))
    elif VALUE in columns:
        labels = np.array(columns.pop(VALUE), dtype=np.float64)
    strings = next((column for column in STRINGS if column in columns), None)
    data: Any
    if strings is not None:
        data = list(columns.pop(strings))
        return Table(data, labels, [strings], {column: list(cells) for column, cells in columns.items()})
    numbers = [_numbers(cells) for cells in columns.values()]
    if all(isinstance(cells, np.ndarray) for cells in numbers):
        data = np.column_stack(numbers) if numbers else np.empty((len(table), 0))
    else:
        data = np.empty((len(table), len(numbers)), dtype=object)
        for feature, cells in enumerate(numbers):
            data[:, feature] = cells
    return Table(data, labels, list(columns), {})


def _numbers(cells: tuple[str, ...]) -> Any:
    try:
        return np.array([cell or "nan" for cell in cells], dtype=np.float64)
    except ValueError:  # words
        return cells


def _labels(cells: tuple[str, ...]) -> np.ndarray:
    try:
        return np.array([int(cell) for cell in cells])
    except ValueError:
        return np.array(cells)
