"""The journal of a search: its finished cells on disk, so that a search that was killed can go on.

A journal is a text file. Its first line says what is searched, every other line is one finished cell. Each
line is a JSON object that ends in a check sum of the text before it::

    {"journal": "mercer.selection", "search": {"data": "5d41...", ...}, "check": "8c0de5a7"}
    {"cell": "C=1, fold 0", "record": {"score": 0.93, ...}, "check": "1b2f3c4d"}

A line counts once its newline is on disk. A process that dies while it writes leaves at most one damaged
line, the last one, which is dropped when the journal is opened again.
"""

import io
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Self

from mercer.errors import JournalError
from mercer.lines import LOCKS, append, as_line, encode, lock, open_locked, read_line, sync_folder

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
        file = open_locked(path)
        try:
            lines = io.BytesIO(file.read()).readlines()
            header = as_line({"journal": "mercer.selection", "search": dict(search)})
            if _nothing_yet(lines):
                file.truncate(0)
                append(file, header)
                sync_folder(path)
                return cls(path, file, header, {})
            contents: list[Any] = [read_line(line) for line in lines]
            if contents[-1] is None and _begins_a_journal(lines[0]):
                lines.pop()
                contents.pop()
            _check_journal(path, lines[0], contents)
            _check_same_search(path, contents[0], read_line(header))
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
            append(self._file, text)
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
            lock(new, self.path)
            append(new, self._header + b"".join(_cell(key, record) for key, record in kept.items()))
            shutil.copymode(path, temporary)
            if not LOCKS:  # Windows replaces no open file
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
        sync_folder(path)

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
    return not lines or (len(lines) == 1 and _begins_a_journal(lines[0]) and read_line(lines[0]) is None)


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
    there, here = encode(there["search"]), encode(here["search"])  # where nan is equal to itself
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


def _cell(key: str, record: Mapping[str, Any]) -> bytes:
    if not isinstance(key, str):
        raise TypeError(f"The key of a cell must be a string, got {key!r}.")
    return as_line({"cell": key, "record": dict(record)})
