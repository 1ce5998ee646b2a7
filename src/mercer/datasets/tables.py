"""A CSV file as samples: a header, a column ``class`` or ``target``, and features or strings."""

import csv
import io
from typing import Any, NamedTuple

import numpy as np

from mercer.data import Columns, read_table
from mercer.data.files import name_of, read_text

# What a column is called that holds the label of a sample, its value, or the sample itself.
LABEL, VALUE, STRINGS = "class", "target", ("sequence", "text")


class Table(NamedTuple):
    """What a file says."""

    data: Any  # float array, with nan for an empty cell; object array where a column has words; list of str
    labels: np.ndarray | None  # numbers or str; float in the column of values
    feature_names: list[str]
    others: dict[str, list[str]]  # columns beside those of strings

    @property
    def regression(self) -> bool:
        return self.labels is not None and self.labels.dtype.kind == "f"


def parse_table(source: Any) -> Table:
    """Read a file, a path or an open one, as `mercer.data.read_table` reads it."""
    text = read_text(source)
    names = [name.strip() for name in next(csv.reader(io.StringIO(text)), [])]
    strings = next((name for name in names if name in STRINGS), None)
    told = {VALUE: "numeric"} if VALUE in names and LABEL not in names else {}
    if strings is not None:  # what is beside them are names and the like, whatever it is made of
        told |= {name: "text" for name in names if name not in (LABEL, VALUE)}
    stream = io.BytesIO(text.encode())
    stream.name = name_of(source)
    columns: Columns = read_table(stream, delimiter=",", header=True, missing=("",), kinds=told)
    labels = _labels(columns, LABEL if LABEL in columns else VALUE)
    if strings is not None:
        others = {name: _words(values) for name, values in columns.items()}
        return Table(others.pop(strings), labels, [strings], others)
    n = 0 if columns.lines is None else len(columns.lines)
    if all(values.dtype != object for values in columns.values()):
        data = np.column_stack([np.empty((n, 0)), *columns.values()])
    else:
        data = np.empty((n, len(columns)), dtype=object)
        for feature, values in enumerate(columns.values()):
            data[:, feature] = _words(values) if values.dtype == object else values.astype(np.float64)
    return Table(data, labels, list(columns), {})


def _words(values: np.ndarray) -> list[str]:
    return ["" if value is None else value for value in values]


def _labels(columns: Columns, name: str) -> np.ndarray | None:
    """The column of labels or values, taken out of the table."""
    values = columns.pop(name, None)
    if values is None:
        return None
    missing = np.array([value is None or value != value for value in values.tolist()])
    if missing.any():
        raise columns.error(f"{name!r} is missing.", int(missing.argmax()))
    if name == VALUE:
        return values.astype(np.float64)
    return np.array(values.tolist())
