"""Sparse vectors in the format of SVMlight and LIBSVM."""

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mercer.data.files import name_of, read_text, write_text
from mercer.errors import FormatError

__all__ = ["parse_entries", "read_svmlight", "write_svmlight"]


def read_svmlight(source: Any, *, n_features: int | None = None, first: int = 1) -> tuple[csr_array, np.ndarray]:
    """Read vectors and targets from a file in the format of SVMlight and LIBSVM, or say which line is wrong and why.

    A line is a target and the entries that are not zero, ``-1 3:0.5 7:1``, their numbers ascending; what follows a
    ``#`` is a comment.

    Parameters
    ----------
    source : str, Path or binary file
        Gzipped or not.
    n_features : int or None, default=None
        How many features there are; None: as many as the largest number says.
    first : {1, 0}, default=1
        The number of the first feature. 0 is for kernel matrices in LIBSVM's format, whose lines begin with
        ``0:number``.

    Returns
    -------
    X : CSR array of shape (n, n_features)
    y : float64 array of shape (n,)

    Raises
    ------
    FormatError
        For a file that is empty, binary or not in UTF-8, a target or an entry that is no number, numbers of features
        that do not ascend or are larger than `n_features`.

    See Also
    --------
    read_table : Files with names of columns.

    Examples
    --------
    >>> import io
    >>> from mercer.data import read_svmlight
    >>> X, y = read_svmlight(io.BytesIO(b"+1 1:0.5 3:2\\n-1 2:1 # the second\\n"))
    >>> X.toarray(), y
    (array([[0.5, 0. , 2. ],
           [0. , 1. , 0. ]]), array([ 1., -1.]))
    >>> read_svmlight(io.BytesIO(b"1 2:1 2:3\\n"))
    Traceback (most recent call last):
    ...
    mercer.errors.FormatError: a stream, line 1: feature 2 follows feature 2; the numbers must ascend.
    """
    from sklearn.datasets import load_svmlight_file  # takes long to import

    text, name = read_text(source), name_of(source)
    try:
        X, y = load_svmlight_file(io.BytesIO(text.encode()), n_features=n_features, zero_based=first == 0)
    except (ValueError, OverflowError):
        X = None
    # Where it cannot be read, or has what a fast reader lets pass, lines are read one by one to say where.
    if X is None or not len(y) or not (np.isfinite(X.data).all() and np.isfinite(y).all()):
        X, y = _read_slowly(text, name, n_features, first)
    index = np.int32 if max(X.nnz, X.shape[1]) < 1 << 31 else np.int64  # scikit-learn's machines take no others
    return csr_array((X.data, X.indices.astype(index), X.indptr.astype(index)), shape=X.shape), y


def _read_slowly(text: str, name: str, n_features: int | None, first: int) -> tuple[csr_array, np.ndarray]:
    targets, columns, values, starts = [], [], [], [0]
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.partition("#")[0].split()
        if not fields:
            continue
        target, *entries = fields
        targets.append(_finite(target, "the target", name, number))
        if entries and entries[0].startswith("qid:"):
            entries = entries[1:]
        for column, value in parse_entries(entries, name, number, first):
            if n_features is not None and column - first >= n_features:
                raise FormatError(f"feature {column}, where there are {n_features}.", name, number)
            columns.append(column - first)
            values.append(value)
        starts.append(len(columns))
    if not targets:
        raise FormatError("there are no samples, only comments.", name)
    width = max(columns, default=-1) + 1 if n_features is None else n_features
    parts = np.array(values, dtype=np.float64), np.array(columns, dtype=np.int64), np.array(starts)
    return csr_array(parts, shape=(len(targets), width)), np.array(targets)


def parse_entries(entries: list[str], name: str, line: int, first: int = 1) -> Iterator[tuple[int, float]]:
    """The numbers and values of ``number:value`` entries, checked."""
    before = first - 1
    for entry in entries:
        number, colon, value = entry.partition(":")
        if not colon:
            raise FormatError(f"{entry!r} is no entry; it must be number:value.", name, line)
        if not number.isdecimal() or len(number) > 10:
            raise FormatError(f"{number!r} in {entry!r} is no number of a feature.", name, line)
        column = int(number)
        if column < first:
            raise FormatError(f"feature {column}, where numbers begin with {first}.", name, line)
        if column <= before:
            raise FormatError(f"feature {column} follows feature {before}; the numbers must ascend.", name, line)
        if column >= 1 << 31:
            raise FormatError(f"feature {column} is too large a number; they end at 2147483647.", name, line)
        before = column
        yield column, _finite(value, f"{value!r} in {entry!r}", name, line)


def _finite(text: str, what: str, name: str, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        shown = what if text in what else f"{what} {text!r}"
        raise FormatError(f"{shown} is no number.", name, line) from None
    if not np.isfinite(value):
        raise FormatError(f"{what if text in what else f'{what} {text!r}'} is no finite number.", name, line)
    return value


def write_svmlight(X: Any, y: Any, path: Any) -> None:
    """Write vectors and targets in the format of SVMlight and LIBSVM, with all their digits.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, n_features)
    y : array of shape (n,)
        Numbers.
    path : str or Path
        What is there is replaced when all has been written.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from mercer.data import write_svmlight
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "two.svm"
    ...     write_svmlight([[0.5, 0.0, 2.0], [0.0, 0.1, 0.0]], [1, -1], path)
    ...     print(path.read_text(), end="")
    1 1:0.5 3:2
    -1 2:0.1
    """
    rows = csr_array(X, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    lines = []
    for row, target in enumerate(np.asarray(y).tolist()):
        part = slice(rows.indptr[row], rows.indptr[row + 1])
        lines.append(" ".join([shortest(target), *entries_of(rows.indices[part] + 1, rows.data[part])]) + "\n")
    write_text(path, "".join(lines))


def entries_of(numbers: np.ndarray, values: np.ndarray) -> list[str]:
    """``number:value`` entries."""
    return [f"{number}:{shortest(value)}" for number, value in zip(numbers.tolist(), values.tolist(), strict=True)]


def shortest(value: float) -> str:
    """A number with as many digits as it takes to read the same one again.

    >>> from mercer.data.svmlight import shortest
    >>> shortest(1.0), shortest(0.1), shortest(-3)
    ('1', '0.1', '-3')
    """
    return repr(value).removesuffix(".0")
