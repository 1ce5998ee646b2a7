"""Fingerprints of data and of settings: equal in every process, different when anything that matters is."""

import functools
import types
from collections.abc import Mapping, Set
from hashlib import blake2b
from typing import Any

import joblib
import numpy as np
from scipy import sparse

__all__ = ["fingerprint"]


def fingerprint(*objects: Any) -> str:
    """Hash objects into a short text.

    Arrays count by shape, kind of number and values, in whatever order they are stored; sparse matrices by their
    entries; data frames by the names and values of their columns; `RowBlocks` by their blocks, in one pass;
    estimators and kernels by class and parameters; functions by name, code, defaults and what they have closed over.
    Other objects are hashed as they are pickled. Neither addresses nor the order of dicts and sets enter, so that the
    same objects have the same fingerprint in another process.

    Parameters
    ----------
    *objects
        What to hash; their order matters.

    Returns
    -------
    str
        32 hexadecimal digits.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.fingerprint import fingerprint
    >>> X = np.arange(6.0).reshape(2, 3)
    >>> fingerprint(X) == fingerprint(np.asfortranarray(X))
    True
    >>> fingerprint(X) == fingerprint(X.astype(np.float32))
    False
    """
    return _digest(objects).hex()


def _digest(value: Any) -> bytes:
    """Hash one object; a container by the digests of its parts, so that no two can be confused."""
    kind, parts = _parts(value)
    digest = blake2b(kind.encode("utf-8"), digest_size=16)
    for part in parts:
        text = part if isinstance(part, bytes | memoryview) else _digest(part)
        digest.update(len(text).to_bytes(8, "little"))
        digest.update(text)
    return digest.digest()


def _parts(value: Any) -> tuple[str, Any]:
    """The kind of an object, and what it consists of: bytes that stand for themselves, or other objects."""
    if isinstance(value, np.generic):
        value = value.item() if value.dtype.kind in "biufcSU" else np.asarray(value)
    if value is None or isinstance(value, bool | int | float | complex):
        return type(value).__name__, [repr(value).encode("utf-8")]
    if isinstance(value, str):
        return "str", [value.encode("utf-8", "surrogatepass")]
    if isinstance(value, bytes):
        return "bytes", [value]
    if isinstance(value, np.ndarray):
        return _parts_of_array(value)
    if sparse.issparse(value):
        rows = sparse.csr_array(value, copy=True)
        rows.sum_duplicates()  # sorts them too
        return "sparse", [rows.shape, rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data]
    if isinstance(value, list | tuple):
        return "sequence", value
    if isinstance(value, Mapping):
        return "mapping", sorted(_digest(item) for item in value.items())
    if isinstance(value, Set):
        return "set", sorted(map(_digest, value))
    if isinstance(value, type):
        return "class", [f"{value.__module__}.{value.__qualname__}".encode()]
    if hasattr(value, "get_params"):
        return "estimator", [type(value), value.get_params(deep=False)]
    if hasattr(value, "_fingerprint_parts"):
        return type(value).__name__, value._fingerprint_parts()
    if hasattr(value, "columns") and hasattr(value, "to_numpy"):
        columns = [value[:, i] if hasattr(value, "get_columns") else value.iloc[:, i] for i in range(value.shape[1])]
        return "frame", [list(value.columns), [column.to_numpy() for column in columns]]
    if hasattr(value, "to_numpy"):  # one column of a data frame
        return _parts_of_array(value.to_numpy())
    if isinstance(value, functools.partial):
        return "partial", [value.func, value.args, value.keywords]
    if isinstance(value, types.MethodType):
        return "method", [value.__func__, value.__self__]
    if isinstance(value, types.FunctionType):
        closure = [cell.cell_contents for cell in value.__closure__ or () if cell.cell_contents is not value]
        name = f"{value.__module__}.{value.__qualname__}".encode()
        return "function", [name, value.__code__, value.__defaults__, value.__kwdefaults__, closure]
    if isinstance(value, types.CodeType):
        return "code", [value.co_code, value.co_names, value.co_consts]
    return "pickle", [joblib.hash(value).encode("ascii")]


def _parts_of_array(value: np.ndarray) -> tuple[str, Any]:
    if value.dtype.hasobject:
        return "array of objects", [value.shape, value.ravel().tolist()]
    little = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
    # A view of bytes: nothing is copied, however large the array is.
    data = little.reshape(-1).view(np.uint8).data if value.size else b""
    return "array", [value.shape, str(little.dtype.descr).encode("utf-8"), data]
