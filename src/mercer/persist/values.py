"""Kinds of numbers, matrices and sources of random numbers that model files know."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils._metadata_requests import SIMPLE_METHODS, MetadataRequest

from mercer.errors import ModelFileError

__all__ = [
    "BIT_GENERATORS",
    "ROUTING",
    "SCALAR_TYPES",
    "SPARSE",
    "TENSOR_KINDS",
    "checked_dtype",
    "make_requests",
    "plain_requests",
    "random_source",
]

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
SCALAR_TYPES |= {f"numpy.{np.dtype(code).name}": np.dtype(code).type for code in "?bBhHiIqQlLefdgFDG"}


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


# --- what metadata an estimator asks for ------------------------------------------------------------------

# Where scikit-learn keeps it, in an object that knows the estimator: stored are the wishes of every method.
ROUTING = "_metadata_request"


def plain_requests(request: Any) -> dict[str, dict[str, Any]]:
    """The wishes, by method and by parameter: True, False, None or another name."""
    methods = {method: dict(getattr(request, method).requests) for method in SIMPLE_METHODS if hasattr(request, method)}
    return {method: wishes for method, wishes in methods.items() if wishes}


def make_requests(owner: Any, wishes: Any) -> MetadataRequest:
    """What scikit-learn keeps, of an estimator and its wishes."""
    request = MetadataRequest(owner=owner)
    for method, of_method in wishes.items():
        if method not in SIMPLE_METHODS:
            raise ModelFileError(f"{str(method)[:80]!r} is no method that asks for metadata.")
        for parameter, alias in of_method.items():
            getattr(request, method).add_request(param=parameter, alias=alias)
    return request
