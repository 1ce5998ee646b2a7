"""From objects to a list of nodes and arrays.

A value is written as itself if it is None, a bool, an int of 64 bits, a finite float or a str, and otherwise as
``[i]``, the number of a node. A node is a dict; its entry ``"is"`` says what kind of value it is. Parts stand before
the whole, so that the numbers in a node are smaller than its own: a reader needs one loop and no recursion, and what
it reads cannot be cyclic. An object that occurs twice is one node.
"""

import pathlib
import struct
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from functools import cached_property
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from mercer.errors import UnsavableError
from mercer.persist.checks import check_value
from mercer.persist.classes import name_of_class, name_of_function
from mercer.persist.frames import is_frame, parts_of_frame
from mercer.persist.values import BIT_GENERATORS, ROUTING, SCALAR_TYPES, SPARSE, TENSOR_KINDS, plain_requests

__all__ = ["Encoder"]

# From this many entries on, a list of texts or of numbers is an array.
PACKED = 16
TYPE_NAMES = {kind: name for name, kind in SCALAR_TYPES.items()}


class Encoder:
    """Nodes and arrays of the objects that `value` is called with."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.arrays: dict[str, np.ndarray] = {}
        self._places: dict[int, int] = {}  # of objects, by their addresses; None while they are being written
        self._open: set[int] = set()
        self._kept: list[Any] = []  # so that no address is used again

    def value(self, value: Any, path: str) -> Any:
        """What stands for a value; `path` is where it is in the model, for messages and names of arrays."""
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int and -(2**63) <= value < 2**63:
            return value
        if kind is float and np.isfinite(value):
            return value
        number = self._places.get(id(value))
        if number is None:
            if id(value) in self._open:
                raise UnsavableError(f"{path}: the object contains itself, which model files cannot hold.")
            self._open.add(id(value))
            try:
                node = self._node(value, path)
            except RecursionError:
                raise UnsavableError(f"{path}: nested too deeply for a model file.") from None
            self._open.discard(id(value))
            self._kept.append(value)
            self.nodes.append(node)
            self._places[id(value)] = number = len(self.nodes) - 1
        return [number]

    def _node(self, value: Any, path: str) -> dict[str, Any]:
        kind = type(value)
        if kind in SIMPLE:
            return SIMPLE[kind](value)
        if kind in (list, tuple, set, frozenset):
            return {"is": kind.__name__, **self._items(_ordered(value), path)}
        if kind is slice:
            bounds = (value.start, value.stop, value.step)
            return {"is": "slice", "bounds": [self.value(bound, path) for bound in bounds]}
        if kind is dict:
            # Keys may be anything that can be hashed; the path shows texts as they are written in code.
            return {
                "is": "dict",
                "items": [
                    [self.value(k, f"{path}[a key]"), self.value(v, f"{path}[{_shown(k)}]")] for k, v in value.items()
                ],
            }
        if kind in (bytes, bytearray):
            return {"is": kind.__name__, "data": self._array(np.frombuffer(value, dtype=np.uint8), path)}
        if isinstance(value, np.ma.MaskedArray):
            parts = {"data": value.data, "mask": np.ma.getmaskarray(value), "fill": np.asarray(value.fill_value)}
            return {"is": "masked", **{name: self.value(part, f"{path}.{name}") for name, part in parts.items()}}
        if isinstance(value, np.ndarray):
            return self._array_node(np.asarray(value), path)
        if isinstance(value, np.generic):
            return self._scalar_node(value, path)
        if sparse.issparse(value):
            return self._sparse_node(value, path)
        if isinstance(value, np.dtype):
            return {"is": "dtype", "name": _dtype_text(value, path)}
        if isinstance(value, type) and value in TYPE_NAMES:
            return {"is": "type", "name": TYPE_NAMES[value]}
        if kind is np.random.RandomState:
            return {"is": "random", "name": "RandomState", "state": self.value(value.get_state(legacy=False), path)}
        if kind is np.random.Generator and type(value.bit_generator).__name__ in BIT_GENERATORS:
            bits = value.bit_generator
            return {"is": "random", "name": type(bits).__name__, "state": self.value(bits.state, path)}
        if isinstance(value, pathlib.PurePath):
            return {"is": "path", "name": str(value)}
        if is_frame(value):
            kind_of_frame, parts = parts_of_frame(value, path)
            return {"is": kind_of_frame, **{name: self.value(part, f"{path}.{name}") for name, part in parts.items()}}
        if (function := name_of_function(value)) is not None:
            return {"is": "function", "name": function}
        return self._object_node(value, path)

    # --- containers ---------------------------------------------------------------------------------------

    def _items(self, items: list[Any], path: str) -> dict[str, Any]:
        """The entries of a sequence: one by one, or, where they are many of one kind, as arrays."""
        kinds = set(map(type, items)) if len(items) >= PACKED else set()
        if kinds == {str}:
            text, starts = _packed_text(items)
            return {"text": self._array(text, f"{path}.text"), "starts": self._array(starts, f"{path}.starts")}
        if kinds == {float} or (kinds == {int} and -(2**63) <= min(items) and max(items) < 2**63):
            dtype = np.float64 if kinds == {float} else np.int64
            return {"numbers": self._array(np.array(items, dtype=dtype), path)}
        return {"items": [self.value(item, f"{path}[{i}]") for i, item in enumerate(items)]}

    # --- arrays -------------------------------------------------------------------------------------------

    def _array(self, array: np.ndarray, path: str) -> str:
        """Keep an array of a kind that safetensors knows, under a name of its own, in C order."""
        name, n = path.partition(".")[2] or "value", 1
        while name in self.arrays:
            n += 1
            name = f"{path.partition('.')[2] or 'value'}~{n}"
        self.arrays[name] = np.ascontiguousarray(array).reshape(array.shape)
        return name

    def _array_node(self, array: np.ndarray, path: str) -> dict[str, Any]:
        dtype = array.dtype
        if dtype.names is not None:
            columns = {name: self.value(array[name], f"{path}.{name}") for name in dtype.names}
            return {"is": "records", "shape": list(array.shape), "fields": list(columns.items())}
        # An array in Fortran's order is its transpose in that of C.
        order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
        stored = array.T if order == "F" else array
        node: dict[str, Any] = {"is": "array"} | ({"order": "F"} if order == "F" else {})
        if dtype.hasobject:
            if dtype.kind != "O":
                raise UnsavableError(f"{path}: an array of dtype {dtype}, which model files cannot hold.")
            return node | {"shape": list(stored.shape), **self._items(stored.ravel().tolist(), path)}
        if dtype.str in TENSOR_KINDS:
            return node | {"data": self._array(stored, path)}
        # Of other kinds the bytes are stored, in the order of bytes that they have.
        raw = np.ascontiguousarray(stored).reshape(-1).view(np.uint8) if stored.size and dtype.itemsize else np.empty(0)
        return node | {
            "data": self._array(raw.astype(np.uint8, copy=False), path),
            "shape": list(stored.shape),
            "dtype": _dtype_text(dtype, path),
        }

    def _scalar_node(self, value: np.generic, path: str) -> dict[str, Any]:
        if value.dtype.names is not None or value.dtype.hasobject:
            raise UnsavableError(f"{path}: a value of dtype {value.dtype}, which model files cannot hold.")
        return {"is": "scalar", "dtype": _dtype_text(value.dtype, path), "bytes": value.tobytes().hex()}

    def _sparse_node(self, value: Any, path: str) -> dict[str, Any]:
        name = type(value).__name__
        if SPARSE.get(name) is not type(value) or value.ndim != 2:
            raise UnsavableError(f"{path}: a sparse {name}, which model files cannot hold; use CSR, CSC or COO.")
        parts = ("data", "row", "col") if value.format == "coo" else ("data", "indices", "indptr")
        arrays = {part: self.value(getattr(value, part), f"{path}.{part}") for part in parts}
        return {"is": "sparse", "class": name, "shape": [int(n) for n in value.shape], **arrays}

    # --- objects ------------------------------------------------------------------------------------------

    def _object_node(self, value: Any, path: str) -> dict[str, Any]:
        cls = type(value)
        if isinstance(value, FunctionType | MethodType | BuiltinFunctionType | type):
            raise UnsavableError(_refusal_of_code(value, path))
        name = name_of_class(cls)
        if name is None:
            way_out = "call mercer.persist.register if the class is your own, or save by pickle"
            if cls.__module__.partition(".")[0] == "mercer":
                way_out = "save its estimator_" if hasattr(value, "estimator_") else "save by pickle"
            raise UnsavableError(f"{path}: model files do not hold {cls.__module__}.{cls.__qualname__}; {way_out}.")
        try:
            check_value(value)
        except (AttributeError, TypeError, ValueError) as error:
            raise UnsavableError(f"{path} cannot be used, nor saved: {error}") from error
        parts = {k: self.value(v, f"{path}.{k}") for k, v in _state(value, path).items()}
        return {"is": "object", "class": name, "state": parts}


def _state(value: Any, path: str) -> dict[str, Any]:
    """What an object is made of, by names."""
    cls: Any = type(value)
    if hasattr(cls, "_from_file_parts"):
        return value._file_parts()
    if isinstance(value, tuple):
        return dict(zip(cls._fields, value, strict=True))
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    state = value.__getstate__() if isinstance(value, BaseEstimator) else getattr(value, "__dict__", None)
    if not isinstance(state, dict):
        raise UnsavableError(f"{path}: {cls.__qualname__} keeps its state where model files do not look.")
    if ROUTING in state:
        state = {**state, ROUTING: plain_requests(state[ROUTING])}
    # What has been computed from the rest is computed again.
    return {k: v for k, v in state.items() if not isinstance(getattr(cls, k, None), cached_property)}


def _refusal_of_code(value: Any, path: str) -> str:
    what = "a class" if isinstance(value, type) else "a Python function"
    called = getattr(value, "__qualname__", type(value).__name__)
    return f"{path} is {what} ({called}), and model files hold no code; save by pickle, " + (
        "or set it to None first." if path.endswith(".callback") else "or use a kernel or function of mercer."
    )


def _ordered(items: Iterable[Any]) -> list[Any]:
    """The entries of a container; those of a set in an order that does not depend on the process."""
    if isinstance(items, set | frozenset):
        return sorted(items, key=lambda item: (type(item).__name__, repr(item)))
    return list(items)


def _packed_text(items: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Texts one after the other in UTF-8, and where each begins."""
    encoded = [item.encode("utf-8", "surrogatepass") for item in items]
    starts = np.zeros(len(items) + 1, dtype=np.int64)
    np.cumsum([len(item) for item in encoded], out=starts[1:])
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), starts


def _dtype_text(dtype: np.dtype, path: str) -> str:
    if dtype.names is not None or dtype.subdtype is not None or dtype.kind not in "biufcSUMmVO":
        raise UnsavableError(f"{path}: the dtype {dtype}, which model files cannot hold.")
    return dtype.str


def _shown(key: Any) -> str:
    text = repr(key)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _hex_float(value: float) -> str:
    return struct.pack("<d", value).hex()


SIMPLE: dict[type, Any] = {
    int: lambda value: {"is": "int", "hex": hex(value)},
    float: lambda value: {"is": "float", "bytes": _hex_float(value)},
    complex: lambda value: {"is": "complex", "bytes": _hex_float(value.real) + _hex_float(value.imag)},
    range: lambda value: {"is": "range", "bounds": [hex(n) for n in (value.start, value.stop, value.step)]},
    type(...): lambda value: {"is": "ellipsis"},
}
