"""The journal of a search: its finished cells on disk, so that a search that was killed can go on.

A journal is a text file. Its first line says what is searched, every other line is one finished cell. Each
line is a JSON object that ends in a check sum of the text before it::

    {"journal": "mercer.selection", "search": {"data": "5d41...", ...}, "check": "8c0de5a7"}
    {"cell": "C=1, fold 0", "record": {"score": 0.93, ...}, "check": "1b2f3c4d"}

A line counts once its newline is on disk. A process that dies while it writes leaves at most one damaged
line, the last one, which is dropped when the journal is opened again.
"""

import base64
import io
import json
import math
import os
import shutil
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np

from mercer.errors import JournalError

try:
    import fcntl
except ImportError:  # Windows: two searches on one journal are not noticed there
    fcntl = None  # type: ignore[assignment]

__all__ = ["Journal"]

_SIGNATURE = b'{"journal": "mercer.selection", "search": '

# How a journal of another search differs from this one, by the name of what differs.
_DIFFERENCES = {
    "data": "is of other data",
    "estimator": "is of another estimator",
    "preprocess": "is of another preprocessing (preprocess)",
    "grid": "is of another grid",
    "cv": "is of another splitting into folds (cv)",
    "scoring": "is of another score (scoring)",
    "version": "was written by version {there} of mercer, this is {here}",
}


class Journal:
    """The finished cells of a search, kept in a file.

    Use it in a ``with`` statement, or call `close`. While it is open, no other process can open it.

    Attributes
    ----------
    finished : dict of str to dict
        The cells by their keys: those that the file held when it was opened, and those written since.
    path : str
        The file.

    Examples
    --------
    >>> import os, tempfile
    >>> from mercer.selection.journal import Journal
    >>> path = os.path.join(tempfile.mkdtemp(), "search.jsonl")
    >>> with Journal.open(path, {"grid": {"C": [1.0, 2.0]}}) as journal:
    ...     journal.write("C=1", {"score": 0.9})
    >>> with Journal.open(path, {"grid": {"C": [1.0, 2.0]}}) as journal:
    ...     journal.finished
    {'C=1': {'score': 0.9}}
    >>> Journal.open(path, {"grid": {"C": [1.0, 4.0]}})
    Traceback (most recent call last):
        ...
    mercer.errors.JournalError: Journal '...search.jsonl' is of another grid; ...
    """

    def __init__(self, path: str, file: BinaryIO, header: bytes, finished: dict[str, dict]) -> None:
        self.path = path
        self.finished = finished
        self._file = file
        self._header = header
        self._end = os.fstat(file.fileno()).st_size  # what is beyond this was never promised

    @classmethod
    def open(cls, path: str | os.PathLike, search: Mapping[str, Any]) -> Self:
        """Open the journal of a search, or begin it.

        Parameters
        ----------
        path : path-like
            The file. One that is missing or empty is begun.
        search : dict
            What is searched: numbers, strings, lists and dicts. The file must be of the same search.

        Returns
        -------
        Journal

        Raises
        ------
        JournalError
            If the file is the journal of another search, damaged before its last line, no journal, or in
            use by another process. It is left as it is.
        """
        path = os.fspath(path)
        file = _open_locked(path)
        try:
            lines = io.BytesIO(file.read()).readlines()
            header = _line({"journal": "mercer.selection", "search": dict(search)})
            if _nothing_yet(lines):
                file.truncate(0)
                _append(file, header)
                _sync_folder(path)
                return cls(path, file, header, {})
            contents: list[Any] = [_content(line) for line in lines]
            if contents[-1] is None and _begins_a_journal(lines[0]):
                lines.pop()
                contents.pop()
            _check_journal(path, lines[0], contents)
            _check_same_search(path, contents[0], _content(header))
            file.truncate(sum(map(len, lines)))
            return cls(path, file, lines[0], {cell["cell"]: cell["record"] for cell in contents[1:]})
        except BaseException:
            file.close()
            raise

    def write(self, key: str, record: Mapping[str, Any]) -> None:
        """Add a finished cell. When this returns, the cell is on disk.

        Parameters
        ----------
        key : str
            The name of the cell. A cell that is written again replaces the first.
        record : dict
            Numbers, also nan and infinite ones, strings, None, arrays, lists and dicts of these. All come
            back exactly; tuples come back as lists.
        """
        self.write_many({key: record})

    def write_many(self, records: Mapping[str, Mapping[str, Any]]) -> None:
        """Add several finished cells at once, for little more than the cost of one."""
        text = b"".join(_cell(key, record) for key, record in records.items())
        try:
            _append(self._file, text)
        except BaseException:
            # A full disk or an interrupt must not leave half a line for others to be added to.
            self._file.truncate(self._end)
            raise
        self._end += len(text)
        self.finished.update((key, dict(record)) for key, record in records.items())

    def forget(self, *names: str) -> None:
        """Drop entries of all records, for instance solutions that were kept only to go on from.

        The file is rewritten and replaced in one step: killed at any moment, it is the old or the new one.
        """
        if not any(name in record for record in self.finished.values() for name in names):
            return
        kept = {
            key: {name: value for name, value in record.items() if name not in names}
            for key, record in self.finished.items()
        }
        path = os.path.realpath(self.path)  # a link stays a link
        temporary = path + ".tmp"
        new = open(temporary, "w+b", buffering=0)  # noqa: SIM115, kept open in place of the old file
        try:
            _lock(new, self.path)
            _append(new, self._header + b"".join(_cell(key, record) for key, record in kept.items()))
            shutil.copymode(path, temporary)
            if fcntl is None:  # Windows replaces no open file
                new.close()
                self._file.close()
            os.replace(temporary, path)
        except BaseException:
            new.close()
            Path(temporary).unlink(missing_ok=True)
            raise
        if new.closed:
            new = open(path, "r+b", buffering=0)  # noqa: SIM115
            new.seek(0, os.SEEK_END)
        self._file.close()
        self._file, self._end, self.finished = new, os.fstat(new.fileno()).st_size, kept
        _sync_folder(path)

    def close(self) -> None:
        """Close the file, so that others can open it."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# ---------------------------------------------------------------------------------------------------------
# What is refused
# ---------------------------------------------------------------------------------------------------------


def _begins_a_journal(line: bytes) -> bool:
    """Whether the line begins as the first line of a journal does, as far as it goes."""
    return line.startswith(_SIGNATURE) or _SIGNATURE.startswith(line)


def _nothing_yet(lines: list[bytes]) -> bool:
    """Whether the file is empty, or its writer died before the first line was complete."""
    return not lines or (len(lines) == 1 and _begins_a_journal(lines[0]) and _content(lines[0]) is None)


def _check_journal(path: str, first: bytes, contents: list) -> None:
    if not _begins_a_journal(first):
        raise JournalError(f"{path!r} is not the journal of a search and is left as it is; choose another file.")
    for number, content in enumerate(contents, 1):
        if content is None:
            raise JournalError(
                f"Journal {path!r} is damaged in line {number} of {len(contents)}; repair it, or begin a new one"
                " in another file."
            )


def _check_same_search(path: str, there: dict, here: Any) -> None:
    there, here = _encode(there["search"]), _encode(here["search"])  # where nan is equal to itself
    differences = [
        _DIFFERENCES.get(name, f"differs in {name}").format(there=there.get(name), here=here.get(name))
        for name in [*here, *(name for name in there if name not in here)]
        if there.get(name) != here.get(name)
    ]
    if differences:
        raise JournalError(
            f"Journal {path!r} {', '.join(differences)}; to search anew, give another file as journal or remove"
            " this one."
        )


# ---------------------------------------------------------------------------------------------------------
# The file
# ---------------------------------------------------------------------------------------------------------


def _open_locked(path: str) -> BinaryIO:
    """Open the file for reading and adding, made if it is missing, for this process alone."""
    while True:
        # "a" would make a missing file but reads from its end; "r+" makes none.
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666), "r+b", buffering=0)
        try:
            _lock(file, path)
            # Another process may have replaced the file after it was opened here and before it was locked.
            if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
                return file
        except FileNotFoundError:
            pass  # removed meanwhile: make it again
        except BaseException:
            file.close()
            raise
        file.close()


def _lock(file: BinaryIO, path: str) -> None:
    """Lock an open file; the lock ends with the process, however it ends."""
    if fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JournalError(
                f"Journal {path!r} is in use by another search; wait for it, or give another file as journal."
            ) from None


def _append(file: BinaryIO, text: bytes) -> None:
    """Write at the end, down to the disk."""
    file.seek(0, os.SEEK_END)
    rest = memoryview(text)
    while rest:
        rest = rest[file.write(rest) :]
    os.fsync(file.fileno())


def _sync_folder(path: str) -> None:
    """Put a new or replaced name on disk too; a folder cannot be opened on Windows, which needs no such thing."""
    if os.name == "posix":
        folder = os.open(os.path.dirname(os.path.realpath(path)), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


# ---------------------------------------------------------------------------------------------------------
# Lines
# ---------------------------------------------------------------------------------------------------------

_CHECK = b', "check": "'


def _cell(key: str, record: Mapping[str, Any]) -> bytes:
    if not isinstance(key, str):
        raise TypeError(f"The key of a cell must be a string, got {key!r}.")
    return _line({"cell": key, "record": dict(record)})


def _line(content: dict) -> bytes:
    text = json.dumps(_encode(content), allow_nan=False)[:-1].encode("ascii")
    return text + _CHECK + b'%08x"}\n' % zlib.crc32(text)


def _content(line: bytes) -> dict | None:
    """What a line holds, None if it is damaged."""
    text, _, check = line.rpartition(_CHECK)
    if check != b'%08x"}\n' % zlib.crc32(text):
        return None
    return json.loads(text + b"}", object_hook=_decode)


def _encode(value: Any) -> Any:
    """Write a value in terms of JSON, exactly: JSON has neither nan and infinity nor arrays."""
    if isinstance(value, np.generic) and value.dtype.kind in "biufU":
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"__float__": repr(float(value))}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str) or key in ("__float__", "__array__"):
                raise TypeError(f"A journal holds dicts whose keys are strings, got the key {key!r}.")
        return {key: _encode(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encode(item) for item in value]
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufcSUmM":
        little = np.asarray(value, dtype=value.dtype.newbyteorder("<"))
        # Level 1: solutions are mostly zeros, which it finds, and digits, which no level does.
        packed = base64.b64encode(zlib.compress(little.tobytes(), 1)).decode("ascii")
        return {"__array__": packed, "dtype": little.dtype.str, "shape": list(value.shape)}
    raise TypeError(f"A journal holds numbers, strings, None, arrays, lists and dicts of these, got {value!r}.")


def _decode(value: dict) -> Any:
    if "__float__" in value:
        return float(value["__float__"])
    if "__array__" in value:
        # A bytearray, so that the array can be written to.
        data = bytearray(zlib.decompress(base64.b64decode(value["__array__"])))
        little = np.dtype(value["dtype"])
        return np.frombuffer(data, little).reshape(value["shape"]).astype(little.newbyteorder("="), copy=False)
    return value
