"""Text files of JSON lines with check sums, to which lines are added: what journals are made of.

A line counts once its newline is on disk. A process that dies while it writes leaves at most one damaged line, the last
one.
"""

import base64
import json
import math
import os
import zlib
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from mercer.errors import JournalError

try:
    import fcntl
except ImportError:  # Windows: two processes on one file are not noticed there
    fcntl = None  # type: ignore[assignment]

LOCKS = fcntl is not None

__all__ = ["LOCKS", "append", "as_line", "encode", "lock", "open_locked", "read_line", "sync_folder"]

# ---------------------------------------------------------------------------------------------------------
# The file
# ---------------------------------------------------------------------------------------------------------


def open_locked(path: str) -> BinaryIO:
    """Open the file for reading and adding, made if it is missing, for this process alone."""
    while True:
        # "a" would make a missing file but reads from its end; "r+" makes none.
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666), "r+b", buffering=0)
        try:
            lock(file, path)
            # Another process may have replaced the file after it was opened here and before it was locked.
            if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
                return file
        except FileNotFoundError:
            pass  # removed meanwhile: make it again
        except BaseException:
            file.close()
            raise
        file.close()


def lock(file: BinaryIO, path: str) -> None:
    """Lock an open file; the lock ends with the process, however it ends."""
    if LOCKS:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JournalError(
                f"Journal {path!r} is in use by another process; wait for it, or give another file."
            ) from None


def append(file: BinaryIO, text: bytes) -> None:
    """Write at the end, down to the disk."""
    file.seek(0, os.SEEK_END)
    rest = memoryview(text)
    while rest:
        rest = rest[file.write(rest) :]
    os.fsync(file.fileno())


def sync_folder(path: str) -> None:
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


def as_line(content: dict) -> bytes:
    """A line that holds numbers, strings, None, arrays, lists and dicts of these, with its check sum."""
    text = json.dumps(encode(content), allow_nan=False)[:-1].encode("ascii")
    return text + _CHECK + b'%08x"}\n' % zlib.crc32(text)


def read_line(line: bytes) -> dict | None:
    """What a line holds, None if it is damaged."""
    text, _, check = line.rpartition(_CHECK)
    if check != b'%08x"}\n' % zlib.crc32(text):
        return None
    return json.loads(text + b"}", object_hook=_decode)


def encode(value: Any) -> Any:
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
        return {key: encode(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
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
