"""The file: arrays and one JSON document in the safetensors format, with a digest of both; written whole or not at all.

The header of a safetensors file has a place for texts. The only one here, ``mercer``, is
``{"sha256": ..., "model": ...}``: the digest is that of the text of the model, and the model has the digest of the
arrays.
"""

import errno
import hashlib
import json
import math
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save, save_file

from mercer.data.files import replacing
from mercer.errors import DamagedFileError, ForeignFileError, ModelFileError
from mercer.persist.values import TENSOR_KINDS

__all__ = ["read", "read_header", "write"]

KEY = "mercer"
WRAPPED = re.compile(r'\{"sha256":"([0-9a-f]{64})","model":(\{.*\})\}', re.DOTALL)
DTYPES = {name: np.dtype(text) for text, name in TENSOR_KINDS.items()}
# safetensors refuses headers that are larger.
LARGEST_HEADER = 100_000_000
# How it tells of errors of the system; the second is that of versions before 0.5.
OF_SYSTEM = re.compile(r"(?:os error|code:) (\d+)")

Check = Callable[[str, dict[str, Any]], None]


def write(path: str, document: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write a file, under another name until it is complete."""
    text = _wrapped({**document, "arrays": _digest(arrays)})
    metadata = {KEY: text}
    if not os.path.basename(path) or "\0" in path:
        raise ValueError(f"path must be the name of a file, got {path!r}.")
    with _naming(path), replacing(path) as part:
        if part.is_file():
            save_file(arrays, part, metadata=metadata)
        else:  # a device, which save_file would replace
            part.write_bytes(save(arrays, metadata=metadata))


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Errors of the system name the file that was asked for, also where they pass through safetensors."""
    try:
        yield
    except SafetensorError as error:
        number = OF_SYSTEM.search(str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), path) from error
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, path) from error


def _wrapped(document: dict[str, Any]) -> str:
    model = json.dumps(document, separators=(",", ":"), allow_nan=False)
    text = f'{{"sha256":"{hashlib.sha256(model.encode("ascii")).hexdigest()}","model":{model}}}'
    if len(text) > LARGEST_HEADER // 2:
        raise ModelFileError(f"The model has {len(text)} bytes beside its arrays, more than a file can hold.")
    return text


def _digest(arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(json.dumps([name, TENSOR_KINDS[array.dtype.str], array.shape]).encode("ascii"))
        if array.size:
            digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def read_header(path: str, check: Check) -> tuple[dict[str, Any], dict[str, tuple[str, tuple[int, ...]]]]:
    """The document, and dtype and shape of every array; what `check` refuses is not read further."""
    with _opened(path) as file:
        return _document(path, file, check), _described(path, file)


def read(path: str, check: Check) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The document and the arrays."""
    with _opened(path) as file:
        document = _document(path, file, check)
        sizes = [np.dtype(kind).itemsize * math.prod(shape) for kind, shape in _described(path, file).values()]
        try:
            np.empty(sum(sizes), dtype=np.uint8)  # safetensors would not survive it
        except MemoryError as error:
            raise _too_large(path) from error
        arrays = {name: file.get_tensor(name) for name in _names(file)}
    if _digest(arrays) != document.get("arrays"):
        raise DamagedFileError(f"{path} is damaged: its arrays are not those that were written.")
    for name, array in arrays.items():
        if array.dtype == bool and array.size and array.view(np.uint8).max() > 1:
            raise ModelFileError(f"{path}: the array {name!r} has truth values other than 0 and 1.")
    return document, arrays


def _opened(path: str) -> Any:
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        raise ForeignFileError(
            f"{path} is {'a folder' if stat.S_ISDIR(mode) else 'no regular file'}, not a model file."
        )
    try:
        return safe_open(path, framework="numpy")
    except SafetensorError as error:
        raise _not_safetensors(path, error) from error
    except (MemoryError, OSError) as error:
        number = OF_SYSTEM.search(str(error))
        if isinstance(error, MemoryError) or (number and int(number[1]) == errno.ENOMEM):
            raise _too_large(path) from error
        raise


def _too_large(path: str) -> ModelFileError:
    return ModelFileError(f"{path} has {os.path.getsize(path)} bytes, more than there is memory for.")


def _not_safetensors(path: str, error: Exception) -> ModelFileError:
    """A file that begins as ours do is damaged, others are foreign."""
    with open(path, "rb") as file:
        start = file.read(64)
    if start[8:9] == b"{" or not start.strip(b"\0"):
        return DamagedFileError(f"{path} is damaged or truncated: {error}.")
    return ForeignFileError(f"{path} is no model file; it is not in the safetensors format ({error}).")


def _document(path: str, file: Any, check: Check) -> dict[str, Any]:
    metadata = file.metadata() or {}
    if KEY not in metadata:
        raise ForeignFileError(f"{path} is a safetensors file, but not one that mercer.save has written.")
    found = WRAPPED.fullmatch(metadata[KEY])
    if not found or hashlib.sha256(found[2].encode("utf-8")).hexdigest() != found[1]:
        raise DamagedFileError(f"{path} is damaged: its description is not the one that was written.")
    try:
        document = json.loads(found[2])
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path}: its description is no JSON document ({error}).") from error
    if not isinstance(document, dict):
        raise ModelFileError(f"{path}: its description is no JSON object.")
    check(path, document)
    return document


def _names(file: Any) -> list[str]:
    return sorted(file.keys())


def _described(path: str, file: Any) -> dict[str, tuple[str, tuple[int, ...]]]:
    found = {}
    for name in _names(file):
        part = file.get_slice(name)
        kind, shape = part.get_dtype(), tuple(part.get_shape())
        if kind not in DTYPES:
            raise ModelFileError(f"{path}: the array {name[:80]!r} is of the kind {kind}, which no model has.")
        found[name] = (DTYPES[kind].name, shape)
    return found
