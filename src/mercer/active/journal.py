"""The answers on disk: a text file to which a line is added for every answer.

The first line says which pool the answers are about and how the learner was set up, every other one what it was told,
what its machine thought of it, and what has come of the answers before::

    {"journal": "mercer.active", "pool": "5d41...", "n_samples": 1000, "settings": {...}, "check": "8c0de5a7"}
    {"tell": [17], "answers": ["spam"], "predicted": ["ham"], "inside": [true], "before": {...}, "check": "1b2f3c4d"}
    {"skip": [4], "before": {"objective": 3.5, "gain": 0.25, "band": 120}, "check": "..."}
    {"correct": 17, "answer": "ham", "before": {...}, "check": "..."}

So a line is written before the answer in it is learnt, and all but the last answers need not be learnt again.
A line counts once its newline is on disk. A process that dies while it writes leaves at most one damaged line, the last
one, which is dropped, with a warning, when the file is opened again.
"""

import os
from collections.abc import Iterable
from typing import Any

from mercer.callers import warn_caller
from mercer.errors import JournalError
from mercer.lines import append, as_line, lock, open_locked, read_line, sync_folder

__all__ = ["OWN", "AnswerJournal", "named"]

# What is written for a rule that has no name.
OWN = "(own)"
_SIGNATURE = b'{"journal": "mercer.active", "pool": '


class AnswerJournal:
    """The answers of a learner, kept in a file.

    The file is open only while it is read or written. Two learners that write to it are noticed: the second one finds
    lines that it does not know.

    Attributes
    ----------
    path : str
        The file.
    header : dict
        Its first line.
    entries : list of dict
        What the file held when it was opened.
    """

    def __init__(self, path: str, header: dict, entries: list[dict], end: int):
        self.path, self.header, self.entries, self._end = path, header, entries, end

    @classmethod
    def open(cls, path: Any, pool: str, n_samples: int, settings: dict, classes: list | None) -> "AnswerJournal":
        """Open the journal of a pool, or begin it.

        Parameters
        ----------
        path : path-like
        pool : str
            Its fingerprint.
        n_samples : int
        settings : dict
            Kept with a new file.
        classes : list or None
            None: those of the file.

        Raises
        ------
        JournalError
            If the file is of another pool or of other classes, damaged before its last line, or no such journal.
        """
        path = os.fspath(path)
        with open_locked(path) as file:
            text = file.read()
            lines = text.splitlines(keepends=True)
            if not lines or (len(lines) == 1 and read_line(lines[0]) is None and _begins(lines[0])):
                header = {"journal": "mercer.active", "pool": pool, "n_samples": n_samples, "settings": settings}
                file.truncate(0)
                append(file, as_line(header))
                sync_folder(path)
                return cls(path, header, [], os.fstat(file.fileno()).st_size)
            header, entries, end = _read(path, lines)
            _check_same(path, header, pool, n_samples, classes)
            file.truncate(end)
            return cls(path, header, entries, end)

    @staticmethod
    def settings_of(path: Any) -> dict:
        """How the learner was set up whose journal this is."""
        path = os.fspath(path)
        if not os.path.exists(path):
            raise FileNotFoundError(f"There is no journal {path!r} to go on from.")
        with open(path, "rb") as file:
            first = file.readline()
        content = read_line(first) if _begins(first) else None
        if content is None:
            raise JournalError(f"{path!r} is not the journal of an active learner.")
        return content["settings"]

    def write(self, entry: dict) -> None:
        """Add a line. When this returns, it is on disk."""
        text = as_line(entry)
        with open(self.path, "r+b", buffering=0) as file:
            lock(file, self.path)
            if os.fstat(file.fileno()).st_size != self._end:
                raise JournalError(
                    f"Journal {self.path!r} has been written to by another learner meanwhile; load it again to go on."
                )
            try:
                append(file, text)
            except BaseException:  # a full disk must not leave half a line for others to be added to
                file.truncate(self._end)
                raise
        self._end += len(text)


def named(rule: Any) -> Any:
    """Rules by their names, as far as they have been given by them."""
    if rule is None or isinstance(rule, str):
        return rule
    if isinstance(rule, Iterable) and all(isinstance(one, str) for one in rule):
        return list(rule)
    return OWN


def _begins(line: bytes) -> bool:
    """Whether the line begins as the first line of a journal does, as far as it goes."""
    return line.startswith(_SIGNATURE) or _SIGNATURE.startswith(line)


def _read(path: str, lines: list[bytes]) -> tuple[dict, list[dict], int]:
    """The first line, the others, and where they end."""
    if not _begins(lines[0]):
        raise JournalError(
            f"{path!r} is not the journal of an active learner and is left as it is; choose another file."
        )
    contents: list[Any] = [read_line(line) for line in lines]
    if contents[-1] is None:
        warn_caller(
            f"The last line of journal {path!r} is damaged: its writer died. The answer in it is lost.", RuntimeWarning
        )
        lines, contents = lines[:-1], contents[:-1]
    for number, content in enumerate(contents, 1):
        if content is None:
            raise JournalError(f"Journal {path!r} is damaged in line {number} of {len(contents)}; repair it.")
    return contents[0], contents[1:], sum(map(len, lines))


def _check_same(path: str, header: dict, pool: str, n_samples: int, classes: list | None) -> None:
    way_out = "give another file as path, or the pool that it is about"
    if header["pool"] != pool:
        there = header["n_samples"]
        of = "other samples" if there == n_samples else f"a pool of {there} samples, this one has {n_samples}"
        raise JournalError(f"Journal {path!r} is of {of}; {way_out}.")
    before = header["settings"].get("classes")
    if classes is not None and before is not None and before != classes:
        raise JournalError(f"Journal {path!r} is of the classes {before}, got classes={classes}; give another file.")
