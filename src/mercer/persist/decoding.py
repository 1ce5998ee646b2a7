"""From nodes and arrays to objects: one loop, in which every node is made of those before it.

Nothing in a file is trusted. Every kind of value is made by a function of this module, every class is looked up in a
list, and everything that does not fit is a `ModelFileError`.
"""

import inspect
import pathlib
import struct
from dataclasses import fields, is_dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from mercer.errors import ModelFileError
from mercer.persist.checks import check_value
from mercer.persist.classes import class_named, function_named
from mercer.persist.frames import make_frame
from mercer.persist.values import ROUTING, SCALAR_TYPES, SPARSE, checked_dtype, make_requests, random_source

__all__ = ["Decoder"]

# With every shared part counted as often as it occurs, a model is at most so many times larger than its nodes. Without
# a limit, a few nodes could stand for more parts than anybody can hash or compare.
SHARED = 100
FREE = 10**6


class Decoder:
    """Objects from nodes; `arrays` are those of the file, by name, each of which belongs to one node."""

    def __init__(self, nodes: Any, arrays: dict[str, np.ndarray]):
        if not isinstance(nodes, list):
            raise ModelFileError("the nodes must be a list.")
        self.arrays = dict(arrays)
        self.made: list[Any] = []
        self.sizes: list[int] = []
        self._size = 0
        limit = FREE + SHARED * len(nodes)
        for number, node in enumerate(nodes):
            self._size = 1
            try:
                self.made.append(self._make(node))
            except ModelFileError as error:
                raise ModelFileError(f"node {number}{_called(node)}: {error}") from error
            except (ImportError, Warning):  # a package is missing, or warnings are errors: that is no fault of the file
                raise
            except Exception as error:  # whatever a class makes of parts that are not its own
                message = f"{type(error).__name__}: {str(error)[:300]}"
                raise ModelFileError(f"node {number}{_called(node)} cannot be made: {message}") from error
            self.sizes.append(self._size)
            if self._size > limit:
                raise ModelFileError(f"node {number}{_called(node)} is larger than any model of this many nodes.")
        if self.arrays:
            raise ModelFileError(f"the array {next(iter(self.arrays))!r} belongs to nothing.")

    def root(self, value: Any) -> Any:
        """The model itself, the last node."""
        if value != [len(self.made) - 1]:
            raise ModelFileError("the model must be the last node.")
        return self.made[-1]

    def value(self, value: Any) -> Any:
        """The object that an entry of a node stands for."""
        if isinstance(value, list):
            if len(value) != 1 or type(value[0]) is not int or not 0 <= value[0] < len(self.made):
                raise ModelFileError("a reference must be the number of an earlier node.")
            self._size += self.sizes[value[0]]
            return self.made[value[0]]
        if isinstance(value, dict):
            raise ModelFileError("a value must be plain, or a reference.")
        return value

    def _make(self, node: Any) -> Any:
        if not isinstance(node, dict) or not isinstance(node.get("is"), str):
            raise ModelFileError("a node must say what it is.")
        kind = node["is"]
        if kind in KINDS:
            return KINDS[kind](self, node)
        if kind in FRAMES:
            return make_frame(kind, {name: self.value(part) for name, part in node.items() if name != "is"})
        raise ModelFileError(f"{kind[:80]!r} is no kind of value.")

    def _array(self, name: Any, dtype: str | None = None, ndim: int | None = None) -> np.ndarray:
        """The array of a name, once."""
        if not isinstance(name, str) or name not in self.arrays:
            raise ModelFileError(f"there is no array {str(name)[:80]!r}, or it belongs to something else.")
        array = self.arrays.pop(name)
        if (dtype is not None and array.dtype.str != dtype) or (ndim is not None and array.ndim != ndim):
            raise ModelFileError(f"the array {name!r} is of dtype {array.dtype} and {array.ndim} dimensions.")
        return array

    # --- simple values ------------------------------------------------------------------------------------

    def _int(self, node: dict[str, Any]) -> int:
        return int(_text(node, "hex"), 16)

    def _float(self, node: dict[str, Any]) -> float:
        return struct.unpack("<d", _bytes(node, 8))[0]

    def _complex(self, node: dict[str, Any]) -> complex:
        return complex(*struct.unpack("<dd", _bytes(node, 16)))

    def _range(self, node: dict[str, Any]) -> range:
        start, stop, step = node["bounds"]
        return range(int(start, 16), int(stop, 16), int(step, 16))

    def _slice(self, node: dict[str, Any]) -> slice:
        start, stop, step = map(self.value, node["bounds"])
        return slice(start, stop, step)

    def _path(self, node: dict[str, Any]) -> pathlib.Path:
        return pathlib.Path(_text(node, "name"))

    def _dtype(self, node: dict[str, Any]) -> np.dtype:
        return checked_dtype(node.get("name"))

    def _type(self, node: dict[str, Any]) -> type:
        return SCALAR_TYPES[_text(node, "name")]

    def _function(self, node: dict[str, Any]) -> Any:
        return function_named(node.get("name"))

    def _random(self, node: dict[str, Any]) -> Any:
        return random_source(node.get("name"), self.value(node["state"]))

    # --- containers ---------------------------------------------------------------------------------------

    def _items(self, node: dict[str, Any]) -> list[Any]:
        if "text" in node:
            return _texts(self._array(node["text"], "|u1", 1), self._array(node["starts"], "<i8", 1))
        if "numbers" in node:
            numbers = self._array(node["numbers"], ndim=1)
            if numbers.dtype.str not in ("<f8", "<i8"):
                raise ModelFileError("numbers must be float64 or int64.")
            return numbers.tolist()
        if not isinstance(node.get("items"), list):
            raise ModelFileError("there are no items.")
        return [self.value(item) for item in node["items"]]

    def _sequence(self, node: dict[str, Any]) -> Any:
        return {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}[node["is"]](self._items(node))

    def _dict(self, node: dict[str, Any]) -> dict[Any, Any]:
        return {self.value(k): self.value(v) for k, v in node["items"]}

    def _bytes(self, node: dict[str, Any]) -> bytes | bytearray:
        data = self._array(node["data"], "|u1", 1).tobytes()
        return data if node["is"] == "bytes" else bytearray(data)

    # --- arrays -------------------------------------------------------------------------------------------

    def _ndarray(self, node: dict[str, Any]) -> np.ndarray:
        if "data" not in node:
            items = self._items(node)
            array = np.empty(len(items), dtype=object)
            array[:] = items
            array = array.reshape(_shape(node["shape"], len(items)))
        elif "dtype" in node:
            array = _viewed(self._array(node["data"], "|u1", 1), checked_dtype(node["dtype"]), node["shape"])
        else:
            array = self._array(node["data"])
        order = node.get("order", "C")
        if order not in ("C", "F"):
            raise ModelFileError(f"order must be 'C' or 'F', got {str(order)[:80]!r}.")
        return array.T if order == "F" else array

    def _records(self, node: dict[str, Any]) -> np.ndarray:
        columns = [(name, self.value(column)) for name, column in node["fields"]]
        shape = tuple(node["shape"])
        described: list[Any] = []
        for name, column in columns:
            if not isinstance(column, np.ndarray) or column.shape[: len(shape)] != shape:
                raise ModelFileError(f"the field {str(name)[:80]!r} must have a value for every record.")
            described.append((name, column.dtype, column.shape[len(shape) :]))
        array = np.empty(shape, dtype=described)
        for name, column in columns:
            array[name] = column
        return array

    def _masked(self, node: dict[str, Any]) -> Any:
        data, mask, fill = (self.value(node[name]) for name in ("data", "mask", "fill"))
        if not all(isinstance(part, np.ndarray) for part in (data, mask, fill)) or mask.dtype != bool or fill.ndim:
            raise ModelFileError("a masked array must have data, a mask and a value to fill in.")
        if data.shape != mask.shape:
            raise ModelFileError("the mask must have the shape of the data.")
        return np.ma.MaskedArray(data, mask=mask, fill_value=fill[()])

    def _scalar(self, node: dict[str, Any]) -> Any:
        dtype, data = checked_dtype(node.get("dtype")), bytes.fromhex(_text(node, "bytes"))
        if dtype.hasobject or len(data) != dtype.itemsize:
            raise ModelFileError("a scalar must have as many bytes as its dtype.")
        return _viewed(np.frombuffer(data, dtype=np.uint8), dtype, [])[()]

    def _sparse(self, node: dict[str, Any]) -> Any:
        cls = SPARSE[_text(node, "class")]
        n_rows, n_columns = _shape(node["shape"])
        names = ("data", "row", "col") if cls.__name__.startswith("coo") else ("data", "indices", "indptr")
        data, second, third = parts = [self.value(node[name]) for name in names]
        if not all(isinstance(part, np.ndarray) and part.ndim == 1 for part in parts):
            raise ModelFileError("the parts of a sparse matrix must be arrays of one dimension.")
        if data.dtype.kind not in "biufc" or second.dtype.str not in ("<i4", "<i8") or third.dtype != second.dtype:
            raise ModelFileError("the numbers of rows and columns of a sparse matrix must be of one integer dtype.")
        if cls.__name__.startswith("coo"):
            matrix = cls((data, (second, third)), shape=(n_rows, n_columns))  # checks them
        else:
            along, across = (n_rows, n_columns) if cls.__name__.startswith("csr") else (n_columns, n_rows)
            _check_compressed(second, third, len(data), along, across)
            matrix = cls((data, second, third), shape=(n_rows, n_columns), copy=False)
        return matrix

    # --- objects ------------------------------------------------------------------------------------------

    def _object(self, node: dict[str, Any]) -> Any:
        cls: Any = class_named(node.get("class"))
        if not isinstance(node.get("state"), dict):
            raise ModelFileError("an object must have a state.")
        state = {name: self.value(value) for name, value in node["state"].items()}
        if hasattr(cls, "_from_file_parts"):
            return cls._from_file_parts(state)
        if is_dataclass(cls) or (issubclass(cls, tuple) and hasattr(cls, "_fields")):
            names = [field.name for field in fields(cls)] if is_dataclass(cls) else cls._fields
            if unknown := state.keys() - set(names):
                raise ModelFileError(f"{cls.__name__} has no {sorted(unknown)[0][:80]!r}.")
            made = cls(**state)
        else:
            _check_attributes(cls, state)
            made = cls.__new__(cls)
            if isinstance(made, BaseEstimator):
                state |= {name: value for name, value in _defaults(cls).items() if name not in state}
                wishes = state.pop(ROUTING, None)
                made.__setstate__(state)
                if wishes is not None:
                    setattr(made, ROUTING, make_requests(made, wishes))
            else:
                vars(made).update(state)
        check_value(made)
        return made


FRAMES = ("pandas frame", "pandas series", "pandas index", "polars frame", "polars series")
KINDS: dict[str, Any] = {
    "array": Decoder._ndarray,
    "bytearray": Decoder._bytes,
    "bytes": Decoder._bytes,
    "complex": Decoder._complex,
    "dict": Decoder._dict,
    "dtype": Decoder._dtype,
    "ellipsis": lambda decoder, node: ...,
    "float": Decoder._float,
    "frozenset": Decoder._sequence,
    "function": Decoder._function,
    "int": Decoder._int,
    "list": Decoder._sequence,
    "masked": Decoder._masked,
    "object": Decoder._object,
    "path": Decoder._path,
    "random": Decoder._random,
    "range": Decoder._range,
    "records": Decoder._records,
    "scalar": Decoder._scalar,
    "set": Decoder._sequence,
    "slice": Decoder._slice,
    "sparse": Decoder._sparse,
    "tuple": Decoder._sequence,
    "type": Decoder._type,
}


def _defaults(cls: type) -> dict[str, Any]:
    """Parameters of a class of mercer that have defaults: an earlier version may not have written all of them."""
    if not cls.__module__.startswith("mercer."):
        return {}
    parameters = inspect.signature(cls).parameters.values()
    return {parameter.name: parameter.default for parameter in parameters if parameter.default is not parameter.empty}


def _called(node: Any) -> str:
    """What a node is, for messages."""
    if not isinstance(node, dict):
        return ""
    name = node.get("class", node.get("is", ""))
    return f" ({name[:80]})" if isinstance(name, str) else ""


def _text(node: dict[str, Any], name: str) -> str:
    if not isinstance(node.get(name), str):
        raise ModelFileError(f"{name} must be a text.")
    return node[name]


def _bytes(node: dict[str, Any], size: int) -> bytes:
    data = bytes.fromhex(_text(node, "bytes"))
    if len(data) != size:
        raise ModelFileError(f"there must be {size} bytes, got {len(data)}.")
    return data


def _shape(shape: Any, size: int | None = None) -> tuple[int, ...]:
    """A shape, of as many entries as there are."""
    if not isinstance(shape, list) or len(shape) > 32 or not all(type(n) is int and 0 <= n < 2**63 for n in shape):
        raise ModelFileError("a shape must be a list of sizes.")
    if size is not None:
        entries = 1
        for n in shape:
            entries *= n
        if entries != size:
            raise ModelFileError(f"the shape {tuple(shape)} is not that of {size} entries.")
    return tuple(shape)


def _viewed(raw: np.ndarray, dtype: np.dtype, shape: Any) -> np.ndarray:
    """Bytes as an array of a dtype."""
    if dtype.hasobject:
        raise ModelFileError("objects are not made of bytes.")
    if dtype.itemsize == 0:
        if raw.size or (0 not in _shape(shape) and max(_shape(shape), default=1) > 10**6):
            raise ModelFileError("an array of empty values has no bytes.")
        return np.zeros(_shape(shape), dtype=dtype)
    checked = _shape(shape, raw.size // dtype.itemsize)
    if raw.size % dtype.itemsize:
        raise ModelFileError("the bytes of an array must be whole entries.")
    array = raw.view(dtype) if raw.size else np.empty(0, dtype=dtype)
    if dtype.kind == "U" and array.size:
        letters = raw.view(np.dtype(np.uint32).newbyteorder(dtype.byteorder))
        if int(letters.max()) > 0x10FFFF:
            raise ModelFileError("a text has a letter that Unicode does not have.")
    if dtype.kind == "b" and raw.size and int(raw.max()) > 1:
        raise ModelFileError("a truth value must be 0 or 1.")
    return array.reshape(checked)


def _texts(text: np.ndarray, starts: np.ndarray) -> list[str]:
    """Texts from their bytes, one after the other."""
    if not len(starts) or starts[0] != 0 or starts[-1] != len(text) or (np.diff(starts) < 0).any():
        raise ModelFileError("texts must ascend from the first byte to the last.")
    data, bounds = text.tobytes(), starts.tolist()
    return [data[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(bounds)]


def _check_compressed(indices: np.ndarray, indptr: np.ndarray, n: int, along: int, across: int) -> None:
    """What SciPy's and our native loops take for granted."""
    if (
        len(indptr) != along + 1
        or indptr[0] != 0
        or indptr[-1] != n
        or len(indices) != n
        or (np.diff(indptr) < 0).any()
    ):
        raise ModelFileError("the rows of a sparse matrix must ascend from its first entry to its last.")
    if n and (indices.min() < 0 or int(indices.max()) >= across):
        raise ModelFileError("an entry of a sparse matrix lies outside of it.")


def _check_attributes(cls: type, state: dict[str, Any]) -> None:
    """Attributes must not stand in the way of methods and properties of the class."""
    for name in state:
        there = inspect.getattr_static(cls, name, None)
        hides = callable(there) or hasattr(there, "__get__") or hasattr(there, "__set__")
        if not name.isidentifier() or name.startswith("__") or hides:
            raise ModelFileError(f"{name[:80]!r} is no attribute that {cls.__name__} keeps.")
