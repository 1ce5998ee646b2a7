"""What samples may be, and how they are brought into the form the kernels compute with.

Nothing here changes what the caller gave: a conversion makes a copy, and only when one is needed.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack
from sklearn.utils.validation import check_array

from mercer.errors import DomainError

# Entries of a kernel matrix that are held at once where it is computed in blocks of rows (32 MB in float64).
BLOCK_ENTRIES = 1 << 22
# Column numbers of sparse samples are 32-bit integers.
LARGEST_COLUMN = (1 << 31) - 1
# Integers up to here are exact in float64.
LARGEST_EXACT = 1 << 53


def n_samples(X: Any) -> int:
    """Number of samples in an array, a sparse matrix, a data frame, a dict of columns or a sequence of any objects."""
    if isinstance(X, Mapping):
        return n_samples(next(iter(X.values()))) if X else 0
    return X.shape[0] if hasattr(X, "shape") else len(X)


def take(X: Any, rows: Any) -> Any:
    """Some of the samples, by a slice or by their numbers, in the container they came in."""
    if isinstance(X, Mapping):
        return {name: take(column, rows) for name, column in X.items()}
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows] if hasattr(X, "shape") or isinstance(rows, slice) else [X[i] for i in rows]


def each(X: Any) -> Iterator[Any]:
    """The samples one by one: rows of an array or a table, objects of a sequence."""
    if isinstance(X, Mapping):
        columns = {name: list(each(column)) for name, column in X.items()}
        return ({name: column[i] for name, column in columns.items()} for i in range(n_samples(X)))
    if issparse(X):
        return (X[[i]] for i in range(X.shape[0]))
    if hasattr(X, "iloc"):
        return (X.iloc[i] for i in range(len(X)))
    if hasattr(X, "iter_rows"):  # a polars frame
        return X.iter_rows(named=True)
    return iter(X)


def together(X: Any, Y: Any) -> Any:
    """The samples of X, then those of Y, which come in the same kind of container."""
    if isinstance(X, Mapping):
        return {name: together(column, Y[name]) for name, column in X.items()}
    if issparse(X) or issparse(Y):
        return vstack([csr_array(X), csr_array(Y)], format="csr")
    package = type(X).__module__.partition(".")[0]
    if package in ("pandas", "polars"):
        return import_module(package).concat([X, Y])
    return np.concatenate([X, Y]) if isinstance(X, np.ndarray) else [*X, *Y]


def weighted(X: Any, sample_weight: Any) -> tuple[Any, np.ndarray]:
    """The samples of positive weight, and their weights."""
    n = n_samples(X)
    w = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if w.shape != (n,):
        raise ValueError(f"sample_weight has shape {w.shape}, for {n} samples it must be {(n,)}.")
    if not (np.isfinite(w).all() and (w >= 0).all()):
        raise ValueError("sample_weight must be finite and >= 0.")
    if not w.any():
        raise ValueError("resolve needs at least one sample of positive weight.")
    return (X, w) if w.all() else (take(X, np.flatnonzero(w)), w[w > 0])


def is_tensor(X: Any) -> bool:
    """Whether X is a tensor of PyTorch, which is not imported for that."""
    return type(X).__module__.partition(".")[0] == "torch" and hasattr(X, "device")


def to_numpy(X: Any) -> np.ndarray:
    """A tensor of PyTorch as an array in the memory of the CPU."""
    return X.detach().cpu().numpy()


def row_blocks(n: int, m: int, entries: int | None = None) -> Iterator[slice]:
    """Slices over n rows such that a block of an (n, m) matrix stays within so many entries, or `BLOCK_ENTRIES`."""
    step = max(1, (entries or BLOCK_ENTRIES) // max(1, m))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def describe(X: Any) -> str:
    """The samples in words, for an error message."""
    if issparse(X):
        return f"a sparse matrix of shape {X.shape} and dtype {X.dtype}"
    if isinstance(X, np.ndarray):
        return f"an array of shape {X.shape} and dtype {X.dtype}"
    if hasattr(X, "shape"):
        return f"a {type(X).__name__} of shape {tuple(X.shape)}"
    if isinstance(X, Mapping):
        return f"a dict of the columns {', '.join(map(repr, X))}"
    if isinstance(X, (list, tuple)):
        return f"a {type(X).__name__} of {type(X[0]).__name__}" if X else f"an empty {type(X).__name__}"
    return f"a {type(X).__name__}"


# --- vectors ----------------------------------------------------------------------------------------------


def as_vectors(X: Any, owner: str, name: str = "X") -> Any:
    """Vectors as a C-contiguous float32 or float64 array, or as a canonical CSR array of such a type.

    float32 is kept, every other real type becomes float64; rows of a CSR array are sorted and hold every
    column once. `owner` is the kernel that asks and `name` the argument, for the messages.
    """
    vectors = _as_csr(X, owner, name) if issparse(X) else _as_dense(X, owner, name)
    if vectors.shape[1] == 0:
        raise ValueError(f"{owner} needs at least one feature, {name} has shape {vectors.shape}.")
    return vectors


def _is_ready(X: Any) -> bool:
    """Whether X is a plain array that needs no conversion, as seen at little cost: small kernels are called often."""
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in (np.float64, np.float32) or not X.flags.c_contiguous:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(X.sum()))


def _as_dense(X: Any, owner: str, name: str) -> np.ndarray:
    if _is_ready(X):
        return X
    refusal = f"{owner} works on vectors, got {describe(X)} as {name}"
    way_out = "use Hamming for categories, or a kernel for these samples"
    if isinstance(X, Mapping) or hasattr(X, "columns") or getattr(getattr(X, "dtype", None), "names", None):
        way_out = f"On(columns, {owner}()) reads columns of a table"
    if isinstance(X, Mapping):
        raise DomainError(f"{refusal}; {way_out}.")
    if type(X).__module__.startswith("polars"):
        X = X.to_numpy()
    if not hasattr(X, "iloc"):  # data frames are understood by check_array below
        try:
            X = np.asarray(X)
        except ValueError as error:  # rows of different length
            raise DomainError(f"{refusal}; give every sample the same number of features.") from error
        if X.dtype.kind not in "biufO" or (X.dtype == object and any(isinstance(v, (str, bytes)) for v in X.flat)):
            raise DomainError(f"{refusal}; {way_out}.")
    if X.ndim != 2:
        reshape = ", reshape your data with X.reshape(-1, 1) if every number is a sample" if X.ndim == 1 else ""
        raise DomainError(f"{refusal}; it must have one row per sample{reshape}.")
    dtype = getattr(X, "dtype", None)
    single = dtype is not None and dtype.kind == "f" and dtype.itemsize == 4
    try:
        return check_array(
            X,
            dtype=np.float32 if single else [np.float64, np.float32],
            order="C",
            ensure_min_samples=0,
            ensure_min_features=0,
            input_name=name,
        )
    except (TypeError, ValueError) as error:
        if "convert" in str(error) or isinstance(error, TypeError):
            raise DomainError(f"{refusal}; {way_out}.") from error
        raise


def _as_csr(X: Any, owner: str, name: str) -> csr_array:
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise DomainError(f"{owner} works on vectors, got {describe(X)} as {name}; give a real 2-D matrix.")
    if X.shape[1] > LARGEST_COLUMN:
        raise ValueError(f"{name} has {X.shape[1]} features, sparse samples may have {LARGEST_COLUMN}.")
    # A new object around the caller's arrays: flags are found afresh and set on ours, not on the caller's.
    csr = csr_array(X, dtype=np.float32 if X.dtype == np.float32 else np.float64)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    if not np.isfinite(csr.data).all():
        kind = "NaN" if np.isnan(csr.data).any() else "infinity"
        raise ValueError(f"Input {name} contains {kind}.")
    return csr


def as_pair(X: Any, Y: Any, owner: str) -> tuple[Any, Any]:
    """`as_vectors` for both sides, with one dtype and one storage; Y=None gives the same object twice."""
    X = as_vectors(X, owner)
    if Y is None:
        return X, X
    Y = as_vectors(Y, owner, "Y")
    if X.shape[1] != Y.shape[1]:
        raise ValueError(f"X has {X.shape[1]} features, Y has {Y.shape[1]}; {owner} needs the same on both sides.")
    # Of one dense and one sparse side the dense one becomes sparse: the other way could fill the memory.
    if issparse(X) and not issparse(Y):
        Y = csr_array(Y)
    elif issparse(Y) and not issparse(X):
        X = csr_array(X)
    dtype = np.result_type(X.dtype, Y.dtype)
    return X.astype(dtype, copy=False), Y.astype(dtype, copy=False)


def in_full(X: Any) -> Any:
    """float32 vectors in float64, anything else as it is."""
    return X.astype(np.float64) if getattr(X, "dtype", None) == np.float32 else X


def native_samples(X: Any) -> Any:
    """Vectors (from `as_vectors`) as the native functions take them."""
    if not issparse(X):
        return X
    return (
        X.data,
        X.indices.astype(np.int32, copy=False),
        X.indptr.astype(np.int64, copy=False),
        X.shape[1],
    )


def native_rows(rows: csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sparse rows of coefficients as the native functions take them."""
    if not rows.has_sorted_indices:
        rows = rows.sorted_indices()
    return (
        rows.data.astype(np.float64, copy=False),
        rows.indices.astype(np.int32, copy=False),
        rows.indptr.astype(np.int64, copy=False),
    )


# --- categories -------------------------------------------------------------------------------------------


def as_categories(X: Any, Y: Any, owner: str) -> tuple[Any, Any]:
    """Tables of categories as vectors that are equal where the categories are; Y=None gives X twice.

    Numbers stand for themselves. Other columns are numbered over X and Y together, so that whether two
    entries are equal never depends on the samples around them.
    """
    tables = [_as_table(X, owner, "X")] if Y is None else [_as_table(X, owner, "X"), _as_table(Y, owner, "Y")]
    widths = [table.shape[1] for table in tables]
    if len(set(widths)) > 1:
        raise ValueError(f"X has {widths[0]} columns, Y has {widths[1]}; {owner} needs the same on both sides.")
    if not all(map(_stands_for_itself, tables)):
        tables = _numbered([np.asarray(t.toarray() if issparse(t) else t, dtype=object) for t in tables])
    return as_pair(tables[0], None if Y is None else tables[1], owner)


def _as_table(X: Any, owner: str, name: str) -> Any:
    if issparse(X):
        return X
    if hasattr(X, "to_numpy"):
        table = X.to_numpy()
    elif isinstance(X, np.ndarray):
        table = X
    else:  # NumPy would turn ["a", 1] into two strings
        try:
            table = np.asarray(X, dtype=object)
        except ValueError:  # rows of different length
            table = np.empty(0, dtype=object)
    if table.ndim != 2:
        raise DomainError(f"{owner} works on tables of categories, one row per sample, got {describe(X)} as {name}.")
    if table.dtype == object and any(map(_is_missing, table.flat)):
        raise ValueError(f"Input {name} contains missing values; give them a category of their own.")
    return table


def _stands_for_itself(table: Any) -> bool:
    if table.dtype.kind in "iu" and table.size:
        entries = table.data if issparse(table) else table
        return entries.size == 0 or (entries.max() <= LARGEST_EXACT and entries.min() >= -LARGEST_EXACT)
    return table.dtype.kind in "biuf"


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def _numbered(tables: list[np.ndarray]) -> list[np.ndarray]:
    """Every value of a column replaced by its number in order of appearance."""
    codes = [np.empty(table.shape) for table in tables]
    for column in range(tables[0].shape[1]):
        number: dict[Any, int] = {}
        for table, code in zip(tables, codes, strict=True):
            code[:, column] = [number.setdefault(value, len(number)) for value in table[:, column]]
    return codes
