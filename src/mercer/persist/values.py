"""Values that are not stored as their attributes: what they are stored as, and how they are made again, with checks."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from mercer.data import Graph, Sequences, Series, Tree
from mercer.errors import ModelFileError
from mercer.gp.factors import Factor
from mercer.models import Model
from mercer.segments import Segments

__all__ = ["BIT_GENERATORS", "PARTS", "SCALAR_TYPES", "SPARSE", "TENSOR_KINDS", "checked_dtype", "random_source"]

# Kinds of numbers that are stored as tensors as they are; the names are those of safetensors.
TENSOR_KINDS = {
    "|b1": "BOOL",
    "|i1": "I8",
    "|u1": "U8",
    "<i2": "I16",
    "<u2": "U16",
    "<i4": "I32",
    "<u4": "U32",
    "<i8": "I64",
    "<u8": "U64",
    "<f2": "F16",
    "<f4": "F32",
    "<f8": "F64",
}

SPARSE: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        sparse.csr_array,
        sparse.csr_matrix,
        sparse.csc_array,
        sparse.csc_matrix,
        sparse.coo_array,
        sparse.coo_matrix,
    )
}

# Classes that stand for a kind of number, as parameters of scikit-learn's transformers.
SCALAR_TYPES: dict[str, type] = {kind.__name__: kind for kind in (bool, int, float, complex, str, bytes, object)}
SCALAR_TYPES |= {f"numpy.{kind.__name__}": kind for kind in (np.dtype(code).type for code in "?bBhHiIlLqQefdgFDG")}


def checked_dtype(text: Any) -> np.dtype:
    """The dtype of a text in a file: of numbers, dates, texts or bytes."""
    try:
        dtype = np.dtype(text) if isinstance(text, str) and "," not in text and len(text) < 40 else None
    except (TypeError, ValueError, SyntaxError):
        dtype = None
    if dtype is None or dtype.names is not None or dtype.subdtype is not None or dtype.kind not in "biufcSUMmVO":
        raise ModelFileError(f"{str(text)[:80]!r} is no dtype that this machine has.")
    return dtype


# --- sources of random numbers ----------------------------------------------------------------------------

BIT_GENERATORS = {
    kind.__name__: kind
    for kind in (
        np.random.MT19937,
        np.random.PCG64,
        np.random.PCG64DXSM,
        np.random.Philox,
        np.random.SFC64,
    )
}


def random_source(name: Any, state: Any) -> Any:
    """A `Generator` or `RandomState` that goes on where the stored one was."""
    if name == "RandomState":
        source: Any = np.random.RandomState()
        source.set_state(_checked_state("MT19937", state))
        return source
    if name not in BIT_GENERATORS:
        raise ModelFileError(f"{str(name)[:80]!r} is no source of random numbers.")
    bits: Any = BIT_GENERATORS[name]()
    bits.state = _checked_state(name, state)
    return np.random.Generator(bits)


def _checked_state(name: str, state: Any) -> Any:
    """NumPy takes positions in buffers as they come, and would read beyond them."""
    inner = state.get("state") if isinstance(state, dict) else None
    if not isinstance(inner, dict) or state.get("bit_generator") != name:
        raise ModelFileError(f"the state of a source of random numbers is not one of {name}.")
    positions = {"MT19937": (inner.get("pos"), 624), "Philox": (state.get("buffer_pos"), 4)}
    if name in positions:
        position, size = positions[name]
        if type(position) is not int or not 0 <= position <= size:
            raise ModelFileError(f"the state of a source of random numbers has the position {position!r}.")
    return state


# --- values made of parts ---------------------------------------------------------------------------------


def _starts(starts: Any, total: int | None, name: str) -> np.ndarray:
    """Where samples begin in a flat array: from 0, ascending, to its end."""
    usable = isinstance(starts, np.ndarray) and starts.ndim == 1 and starts.dtype.kind == "i" and len(starts) > 0
    if not usable or starts[0] != 0 or (np.diff(starts) < 0).any() or total not in (None, int(starts[-1])):
        raise ModelFileError(f"{name}: starts must ascend from 0 to the number of entries.")
    return np.ascontiguousarray(starts)


def _take_graph(graph: Graph) -> dict[str, Any]:
    # Numbers of arcs, too: memory for nodes is then no larger than the file.
    return {**graph._parts(), "degrees": graph._degrees}


def _make_graph(cls: type, parts: dict[str, Any]) -> Graph:
    degrees = parts.pop("degrees")
    if not isinstance(degrees, np.ndarray) or degrees.shape != (parts["n_nodes"],):
        raise ModelFileError("Graph: degrees must have an entry for every node.")
    return Graph(**parts)


def _make_tree(cls: type, parts: dict[str, Any]) -> Tree:
    labels, arities = parts["labels"], parts["arities"]
    if not (isinstance(labels, tuple) and isinstance(arities, tuple) and len(labels) == len(arities) > 0):
        raise ModelFileError("Tree: labels and arities must be tuples of the same length.")
    awaited = 1  # nodes that are still to come: those of a tree are used up by its last node
    for arity in arities:
        if type(arity) is not int or arity < 0 or awaited < 1:
            raise ModelFileError("Tree: arities are not those of one tree in preorder.")
        awaited += arity - 1
    if awaited:
        raise ModelFileError("Tree: arities are not those of one tree in preorder.")
    return Tree._flat(labels, arities)


def _make_packed(cls: Any, parts: dict[str, Any]) -> Any:
    entries = parts["entries"]
    dtype, ndim = (np.uint64, 1) if issubclass(cls, Sequences) else (np.float64, 2)
    if not isinstance(entries, np.ndarray) or entries.dtype != dtype or entries.ndim != ndim:
        raise ModelFileError(f"{cls.__name__}: entries must be an array of {ndim} dimensions of {np.dtype(dtype)}.")
    return cls(np.ascontiguousarray(entries), _starts(parts["starts"], len(entries), cls.__name__).astype(np.int64))


def _make_segments(cls: type, parts: dict[str, Any]) -> Segments:
    return Segments(_starts(parts["starts"], None, "Segments"))


def _make_factor(cls: type, parts: dict[str, Any]) -> Factor:
    lower = parts["lower"]
    if not isinstance(lower, np.ndarray) or lower.dtype != np.float64 or lower.ndim != 2 or len(set(lower.shape)) != 1:
        raise ModelFileError("Factor: lower must be a square matrix of float64.")
    factor = Factor.__new__(Factor)
    factor.lower = np.asfortranarray(lower)
    return factor


# By class, subclasses included: the parts of a value, and the value of given parts.
PARTS: dict[type, tuple[Callable[[Any], dict[str, Any]], Callable[[Any, dict[str, Any]], Any]]] = {
    Graph: (_take_graph, _make_graph),
    Tree: (lambda tree: {"labels": tree._labels, "arities": tree._arities}, _make_tree),
    Sequences: (lambda packed: {"entries": packed.entries, "starts": packed.starts}, _make_packed),
    Series: (lambda packed: {"entries": packed.entries, "starts": packed.starts}, _make_packed),
    Model: (
        lambda model: {name: getattr(model, name) for name in model._parts},
        lambda cls, parts: cls(**{name: parts[name] for name in cls._parts}),
    ),
    Segments: (lambda segments: {"starts": segments.starts}, _make_segments),
    Factor: (lambda factor: {"lower": factor.lower}, _make_factor),
}
