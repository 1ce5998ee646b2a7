"""Tables from files: columns by name, numbers where all is numbers, and what kind of column each is."""

import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from mercer.data.files import name_of, read_bytes, read_text, suffix_of
from mercer.errors import FormatError
from mercer.extras import require

__all__ = ["IDENTIFIERS", "KINDS", "MISSING", "Columns", "column_kinds", "read_table"]

# What stands for a value that is not known.
MISSING = frozenset({"", "?", "NA", "N/A", "NaN", "nan", "NULL", "null"})
KINDS = ("numeric", "categorical", "text", "identifier")
DELIMITERS = ",\t;|"
# Names of columns that number the rows.
IDENTIFIERS = frozenset({"id", "index", "row", "rownames", "row_id", "unnamed: 0"})
# If at most this share of a column is no number, it is a column of numbers with mistakes in it.
MISTAKES = 0.1
# A number with a decimal comma.
COMMA = re.compile(r"[-+]?\d*,\d+")
# Integers up to here are exact in float64, which they are turned into sooner or later.
LARGEST_EXACT = 1 << 53


class Columns(dict):
    """The columns of a table by name: a dict of arrays that knows where its rows stood.

    Attributes
    ----------
    source : str
        The file.
    lines : int ndarray of shape (n,) or None
        The line on which each row begins; None for files without lines.
    """

    def __init__(self, columns: Mapping[str, np.ndarray], source: str = "", lines: np.ndarray | None = None) -> None:
        super().__init__(columns)
        self.source, self.lines = source, lines

    def error(self, reason: str, row: int) -> FormatError:
        """An error about one of the rows."""
        where = None if self.lines is None else int(self.lines[row])
        return FormatError(reason if where else f"row {row + 1}: {reason}", self.source, where)


def read_table(
    source: Any,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    missing: Collection[str] = MISSING,
    decimal: str = ".",
    kinds: Mapping[str, str] | None = None,
    as_frame: bool = False,
) -> Any:
    """Read a table from a CSV, TSV or Parquet file, or say which line is wrong and why.

    Parameters
    ----------
    source : str, Path or binary file
        CSV and the like may be gzipped. Parquet (``.parquet``) needs pyarrow.
    delimiter : str or None, default=None
        What stands between the fields; None: a tab in ``.tsv`` files, otherwise that of ``,``, ``;``, tab and ``|``
        that the first line has most of.
    header : bool or None, default=None
        Whether the first line has the names of the columns; None: unless one of its fields is a number. Without
        names they are V1, V2, and so on.
    missing : collection of str
        What stands for a value that is not known.
    decimal : {".", ","}, default="."
        What stands before the decimals of a number in a text file.
    kinds : mapping from names to kinds, default=None
        What is known of columns: "numeric", "categorical", "text", or "identifier" for one that is left out and need
        not be there: whatever it holds is kept and not looked at. Of the others those are numeric in which all is
        numbers. A few values that are none, among many that are, are taken for mistakes.
    as_frame : bool, default=False
        Give a pandas DataFrame. Needs pandas.

    Returns
    -------
    Columns or DataFrame
        A dict of arrays, as kernels on tables take it: int64 or float64 for numbers, NaN where one is missing; str
        objects for all else, None where one is missing. Its `lines` tell where each row stood.

    Raises
    ------
    FormatError
        For a file that is empty, binary or not in UTF-8, rows that are too long or too short, names that are there
        twice, a quote that is not closed, a non-number or an infinite number among numbers, a column of numbers with
        decimal commas where points are asked for.

    See Also
    --------
    column_kinds : Of which kind the columns are.
    read_svmlight, read_fasta, read_tu_dortmund : Other formats.

    Notes
    -----
    About a second for three million fields.

    Examples
    --------
    >>> import io
    >>> from mercer.data import read_table
    >>> table = read_table(io.BytesIO(b"age,sex,class\\n63,m,ill\\n,f,well\\n"))
    >>> table["age"], table["class"]
    (array([63., nan]), array(['ill', 'well'], dtype=object))
    >>> read_table(io.BytesIO(b"age,sex\\n63,m\\n41\\n"))
    Traceback (most recent call last):
    ...
    mercer.errors.FormatError: a stream, line 3: 1 field, where the first line has 2.
    """
    if decimal not in (".", ",") or decimal == delimiter:
        raise ValueError(f"decimal must be '.' or ',', and not the delimiter, got {decimal!r}.")
    kinds = {} if kinds is None else dict(kinds)
    if suffix_of(source) in (".parquet", ".pq"):
        table = _read_parquet(source, kinds)
    else:
        table = _read_delimited(source, delimiter, header, frozenset(missing), decimal, kinds)
    if unknown := [name for name, kind in kinds.items() if name not in table and kind != "identifier"]:
        raise ValueError(f"kinds names the column {unknown[0]!r}; {table.source} has {', '.join(map(repr, table))}.")
    if not as_frame:
        return table
    return require("pandas", "read_table(as_frame=True)").DataFrame(dict(table))


def column_kinds(table: Any, known: Mapping[str, str] | None = None) -> dict[str, str]:
    """Of which kind the columns of a table are.

    Parameters
    ----------
    table : data frame or dict of columns
    known : mapping from names to kinds, default=None
        What need not be found out.

    Returns
    -------
    dict
        "numeric" for numbers. "identifier" for columns called id, index and the like whose values are all different.
        "text" for strings of which more than half are different: sequences, words, sentences. "categorical" for
        other strings, and for booleans.

    Examples
    --------
    >>> from mercer.data import column_kinds
    >>> column_kinds({"id": [1, 2, 3, 4], "bmi": [22.1, 30.5, 24.3, 31.0], "sex": list("fmfm"), "name": list("abcd")})
    {'id': 'identifier', 'bmi': 'numeric', 'sex': 'categorical', 'name': 'text'}
    """
    known = {} if known is None else known
    names = list(table) if isinstance(table, Mapping) else list(table.columns)
    return {name: known.get(name) or _kind(str(name), np.asarray(table[name])) for name in names}


def _kind(name: str, values: np.ndarray) -> str:
    text = values.dtype.kind not in "biuf"
    present = [value for value in values.tolist() if value is not None and value == value]
    distinct = len(set(present))
    if name.strip().lower() in IDENTIFIERS and distinct == len(values):
        return "identifier"
    if not text:
        return "categorical" if values.dtype.kind == "b" else "numeric"
    return "text" if distinct > len(present) / 2 and all(isinstance(value, str) for value in present) else "categorical"


# --- delimited text ---------------------------------------------------------------------------------------


def _read_delimited(
    source: Any,
    delimiter: str | None,
    header: bool | None,
    missing: frozenset[str],
    decimal: str,
    kinds: Mapping[str, str],
) -> Columns:
    name, text = name_of(source), read_text(source)
    if delimiter is None:
        first = text.lstrip().partition("\n")[0]
        delimiter = (
            "\t" if suffix_of(source) in (".tsv", ".tab") else max(DELIMITERS.replace(decimal, ""), key=first.count)
        )
    rows, lines = _rows(text, delimiter, name)
    first_line = lines[0]
    if header is None:
        header = not any(_is_number(field, decimal) for field in rows[0])
    if header:
        names = _names(rows[0], name, first_line)
        rows, lines = rows[1:], lines[1:]
        if not rows:
            raise FormatError("there are no rows below the names of the columns.", name)
    else:
        names = [f"V{k}" for k in range(1, len(rows[0]) + 1)]
    for row, line in zip(rows, lines, strict=True):
        if len(row) != len(names):
            some = f"{len(row)} field{'s' * (len(row) != 1)}"
            raise FormatError(f"{some}, where the first line has {len(names)}.", name, line)
    numbers = np.array(lines)
    columns = {
        column: _values(column, [value.strip() for value in values], missing, decimal, kinds.get(column), name, numbers)
        for column, values in zip(names, zip(*rows, strict=True), strict=True)
    }
    return Columns(columns, name, numbers)


def _rows(text: str, delimiter: str, name: str) -> tuple[list[list[str]], list[int]]:
    """Rows that are not empty, and the lines on which they begin."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows, lines, begin = [], [], 1
    limit = csv.field_size_limit(len(text))  # of the whole process, 131072 letters: a genome is longer
    try:
        for row in reader:
            if row and (len(row) > 1 or row[0].strip()):
                rows.append(row)
                lines.append(begin)
            begin = reader.line_num + 1
    except csv.Error as error:
        reason = "a quote is not closed" if "end of data" in str(error) else str(error)
        raise FormatError(f"{reason}; the row begins on this line.", name, begin) from None
    finally:
        csv.field_size_limit(limit)
    return rows, lines


def _names(fields: list[str], name: str, line: int) -> list[str]:
    names = [field.strip() for field in fields]
    if names[0] == "":  # as pandas and R write row numbers
        names[0] = "index"
    for place, column in enumerate(names, 1):
        if not column:
            raise FormatError(f"column {place} has no name.", name, line)
    twice = [column for column, count in Counter(names).items() if count > 1]
    if twice:
        places = [place for place, column in enumerate(names, 1) if column == twice[0]]
        told = " and ".join(map(str, places))
        raise FormatError(f"columns {told} are both called {twice[0]!r}.", name, line)
    return names


def _values(
    column: str,
    values: list[str],
    missing: frozenset[str],
    decimal: str,
    kind: str | None,
    name: str,
    lines: np.ndarray,
) -> np.ndarray:
    """A column as numbers or as strings."""
    absent = np.fromiter((value in missing for value in values), dtype=bool, count=len(values))
    if kind not in ("categorical", "text", "identifier"):
        numbers = _as_numbers(column, values, absent, decimal, kind == "numeric", name, lines)
        if numbers is not None:
            return numbers
    strings = np.array(values, dtype=object)
    strings[absent] = None
    return strings


def _as_numbers(
    column: str, values: list[str], absent: np.ndarray, decimal: str, numeric: bool, name: str, lines: np.ndarray
) -> np.ndarray | None:
    """A column as numbers, None if it has too many others for mistakes."""
    if absent.all():
        return np.full(len(values), np.nan) if numeric else None
    known = np.flatnonzero(~absent)
    numbers = np.full(len(values), np.nan)
    try:
        numbers[known] = [_number(values[k], decimal) for k in known]
    except ValueError:
        wrong = [k for k in known if not _is_number(values[k], decimal)]
        commas = [k for k in wrong if decimal == "." and COMMA.fullmatch(values[k])]
        if commas and len(wrong) - len(commas) <= MISTAKES * len(known):
            reason = f"column {column!r}: {values[commas[0]]!r} has a decimal comma; decimal=',' (--decimal ,) reads it"
            as_it_is = (
                "" if numeric else ", the kind 'categorical' or 'text' (--categorical, --text) leaves it as it is"
            )
            raise FormatError(f"{reason}{as_it_is}.", name, int(lines[commas[0]])) from None
        if not numeric and len(wrong) > MISTAKES * len(known):
            return None
        reason = f"column {column!r}: {values[wrong[0]]!r} is no number"
        others = "" if numeric else f", though {len(known) - len(wrong)} of the {len(known)} values of the column are"
        raise FormatError(f"{reason}{others}.", name, int(lines[wrong[0]])) from None
    if (infinite := np.flatnonzero(~absent & ~np.isfinite(numbers))).size:
        k = infinite[0]
        raise FormatError(f"column {column!r}: {values[k]!r} is no finite number.", name, int(lines[k]))
    whole = not absent.any() and all(value.lstrip("+-").isdecimal() for value in values)
    return numbers.astype(np.int64) if whole and (np.abs(numbers) <= LARGEST_EXACT).all() else numbers


def _number(value: str, decimal: str) -> float:
    """A number; Python would read ``1_2``, too, which in a file is a name."""
    if "_" in value or (decimal == "," and "." in value):
        raise ValueError
    return float(value.replace(decimal, "."))


def _is_number(value: str, decimal: str) -> bool:
    try:
        _number(value, decimal)
    except ValueError:
        return False
    return True


# --- Parquet ----------------------------------------------------------------------------------------------


def _read_parquet(source: Any, kinds: Mapping[str, str]) -> Columns:
    pa, parquet = require("pyarrow", "A Parquet file"), require("pyarrow.parquet", "A Parquet file")
    name, data = name_of(source), read_bytes(source)
    try:
        table = parquet.read_table(pa.BufferReader(data))
    except (pa.ArrowException, OSError, ValueError) as error:  # of damage, pyarrow says that it is one of files
        raise FormatError(f"this is no readable Parquet file ({str(error).strip().splitlines()[0]}).", name) from None
    if table.num_rows == 0:
        raise FormatError("the table has no rows.", name)
    twice = [column for column, count in Counter(table.column_names).items() if count > 1]
    if twice:
        raise FormatError(f"two columns are called {twice[0]!r}.", name)
    try:
        return Columns(
            {
                column: _objects(table[column])
                if kinds.get(column) == "identifier"
                else _from_arrow(table[column], column, name)
                for column in table.column_names
            },
            name,
        )
    except UnicodeDecodeError as error:
        raise FormatError(f"a string is not UTF-8 ({error.reason}).", name) from None


def _from_arrow(values: Any, column: str, name: str) -> np.ndarray:
    pa = require("pyarrow", "A Parquet file")
    kind = values.type
    if pa.types.is_dictionary(kind):
        values, kind = values.cast(kind.value_type), kind.value_type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        exact = pa.types.is_integer(kind) and not values.null_count
        try:
            values = values.cast(pa.int64() if exact else pa.float64())
        except pa.ArrowInvalid:  # larger than that, or than float64 has digits for
            values = values.cast(pa.float64(), safe=False)
        numbers = values.to_numpy(zero_copy_only=False)
        if np.isinf(numbers).any():
            row = int(np.flatnonzero(np.isinf(numbers))[0])
            raise FormatError(f"row {row + 1}: column {column!r} is infinite.", name)
        return numbers
    if pa.types.is_boolean(kind):
        values, kind = values.cast(pa.string()), pa.string()
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind)):
        reason = f"column {column!r} has values of type {kind}; numbers, strings and booleans are read, no others."
        raise FormatError(reason, name)
    return _objects(values)


def _objects(values: Any) -> np.ndarray:
    return np.fromiter(values.to_pylist(), dtype=object, count=len(values))
