"""Files: texts read whole, with what is wrong with them said by line, and anything written whole or not at all."""

import gzip
import os
import secrets
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from mercer.errors import FormatError
from mercer.lines import sync_folder

__all__ = ["name_of", "read_bytes", "read_text", "replacing", "suffix_of", "write_text"]


def name_of(source: Any) -> str:
    """What to call a file in messages: its path, or the name of an open one."""
    return str(getattr(source, "name", "a stream") if hasattr(source, "read") else source)


def suffix_of(source: Any) -> str:
    """How the name of a file ends, without the ``.gz`` of a packed one.

    >>> from mercer.data.files import suffix_of
    >>> suffix_of("data/Iris.CSV.gz"), suffix_of("README")
    ('.csv', '')
    """
    path = Path(name_of(source).lower())
    return Path(path.stem).suffix if path.suffix == ".gz" else path.suffix


def read_bytes(source: Any) -> bytes:
    """All of a file, unpacked if it is gzipped.

    Parameters
    ----------
    source : str, Path or binary file
        A path, or a file that is open for reading bytes, such as ``sys.stdin.buffer``.
    """
    data = source.read() if hasattr(source, "read") else Path(source).read_bytes()
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise FormatError(f"the gzipped file is damaged ({error}).", name_of(source)) from error
    if not data.strip():
        raise FormatError("the file is empty.", name_of(source))
    return data


def read_text(source: Any) -> str:
    """All of a text file in UTF-8, with or without a byte order mark."""
    data, name = read_bytes(source), name_of(source)
    if (place := data.find(b"\0")) >= 0:
        reason = "this is no text: it has a byte zero, as binary files and UTF-16 have."
        raise FormatError(reason, name, line(data, place))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        reason = f"byte 0x{data[error.start]:02x} is not UTF-8; iconv -f latin1 -t utf-8 converts from Latin-1."
        raise FormatError(reason, name, line(data, error.start)) from None


def line(data: bytes, place: int) -> int:
    """The line that a byte is in, from 1 on."""
    return data.count(b"\n", 0, place) + 1


def write_text(path: Any, text: str) -> None:
    """Write a file, under another name until it is complete."""
    with replacing(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        file.write(text)


@contextmanager
def replacing(path: Any) -> Iterator[Path]:
    """Where to write a file that takes the place of `path` when it is complete, with its rights; a link stays a link.

    Devices and pipes, such as ``/dev/stdout``, are nothing to replace: they are written to as they are.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mercer.data.files import replacing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "numbers.txt"
    ...     with replacing(path) as part:
    ...         _ = part.write_text("1 2 3")
    ...         print(path.exists())
    ...     print(path.read_text())
    False
    1 2 3
    """
    if (os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))) or str(path).startswith("/dev/"):
        yield Path(path)
        return
    given, path = path, Path(os.path.realpath(path))
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent} to write {path.name} to.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file.")
    part = path.with_name(f".mercer-{secrets.token_hex(8)}.part")  # the name itself may be as long as names can be
    # Made here, so that it is this process' own, and to learn the rights of new files.
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except OSError as error:  # nobody has asked for the other name
        raise OSError(error.errno, error.strerror, str(given)) from error
    try:
        rights = os.stat(path if path.exists() else part).st_mode
        yield part
        os.chmod(part, stat.S_IMODE(rights))
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
    with suppress(OSError):  # the name on disk, too; where folders cannot be opened, the system sees to it
        sync_folder(str(path))
