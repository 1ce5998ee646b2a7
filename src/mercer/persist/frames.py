"""Data frames of pandas and of polars, column by column."""

import sys
from typing import Any

import numpy as np

from mercer.errors import ModelFileError, UnsavableError

__all__ = ["is_frame", "make_frame", "parts_of_frame"]


def is_frame(value: Any) -> bool:
    """Whether a value is a data frame, or a column or index of one; no library is imported to find out."""
    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    return (pandas is not None and isinstance(value, (pandas.DataFrame, pandas.Series, pandas.Index))) or (
        polars is not None and isinstance(value, (polars.DataFrame, polars.Series))
    )


def parts_of_frame(value: Any, path: str) -> tuple[str, dict[str, Any]]:
    """The kind of node of a frame, and its parts."""
    if type(value).__module__.partition(".")[0] == "polars":
        if hasattr(value, "get_columns"):
            return "polars frame", {"names": list(value.columns), "columns": list(value.get_columns())}
        return "polars series", {"name": value.name, "values": value.to_list(), "dtype": _polars_dtype(value, path)}
    import pandas

    if isinstance(value, pandas.DataFrame):
        columns = [_column(value.iloc[:, i], path) for i in range(value.shape[1])]
        return "pandas frame", {"index": value.index, "names": value.columns, "columns": columns}
    if isinstance(value, pandas.Series):
        return "pandas series", {"index": value.index, "name": value.name, "column": _column(value, path)}
    if type(value) is pandas.RangeIndex:
        bounds = range(value.start, value.stop, value.step)
        return "pandas index", {"name": value.name, "range": bounds}
    if type(value) is not pandas.Index:
        raise UnsavableError(
            f"{path}: a pandas {type(value).__name__}, which model files cannot hold; reset the index."
        )
    return "pandas index", {"name": value.name, "column": _column(value, path)}


def make_frame(kind: str, parts: dict[str, Any]) -> Any:
    """A frame, or a column or index of one, from its parts."""
    library = kind.partition(" ")[0]
    try:
        if library == "polars":
            return _make_polars(kind, parts)
        import pandas
    except ImportError as error:
        raise ModelFileError(
            f'the model holds data of {library}, which is not installed: pip install "{library}".'
        ) from error
    if kind == "pandas index":
        if "range" in parts:
            bounds = parts["range"]
            if not isinstance(bounds, range):
                raise ModelFileError("a pandas index must have a range.")
            return pandas.RangeIndex(bounds, name=parts["name"])
        return pandas.Index(_make_column(parts["column"]), name=parts["name"])
    index = parts["index"]
    if not isinstance(index, pandas.Index):
        raise ModelFileError(f"a {kind} must have an index.")
    if kind == "pandas series":
        return pandas.Series(_make_column(parts["column"], len(index)), index=index, name=parts["name"])
    names, columns = parts["names"], parts["columns"]
    if not isinstance(names, pandas.Index) or not isinstance(columns, list) or len(names) != len(columns):
        raise ModelFileError("a pandas frame must have a name for every column.")
    made = {i: _make_column(column, len(index)) for i, column in enumerate(columns)}
    frame = pandas.DataFrame(made, index=index, columns=range(len(columns)))
    frame.columns = names
    return frame


# Dtypes of pandas beyond those of NumPy, in which missing values have a place.
PANDAS_DTYPES = (
    "str",
    "string",
    "boolean",
    *(f"{kind}{bits}" for kind in ("Int", "UInt") for bits in (8, 16, 32, 64)),
    "Float32",
    "Float64",
)


def _column(column: Any, path: str) -> dict[str, Any]:
    """The values of a column and what they are."""
    import pandas

    dtype = column.dtype
    if isinstance(dtype, np.dtype):
        return {"dtype": "numpy", "values": column.to_numpy()}
    if isinstance(dtype, pandas.CategoricalDtype):
        return {
            "dtype": "category",
            "values": np.asarray(column.array.codes),
            "categories": _column(pandas.Series(dtype.categories), path),
            "ordered": bool(dtype.ordered),
        }
    if str(dtype) not in PANDAS_DTYPES:
        raise UnsavableError(f"{path}: a column of pandas' dtype {dtype}, which model files cannot hold.")
    missing = np.asarray(column.isna())
    values = [None if gone else value for value, gone in zip(column.tolist(), missing, strict=True)]
    return {"dtype": str(dtype), "values": values}


def _make_column(column: Any, size: int | None = None) -> Any:
    import pandas

    if not isinstance(column, dict) or "dtype" not in column or "values" not in column:
        raise ModelFileError("a column must have a dtype and values.")
    values, dtype = column["values"], column["dtype"]
    if not isinstance(values, list | np.ndarray) or getattr(values, "ndim", 1) != 1 or size not in (None, len(values)):
        raise ModelFileError("the values of a column must be as many as there are rows.")
    if dtype == "numpy":
        return values
    if dtype == "category":
        categories = pandas.Index(_make_column(column["categories"]))
        return pandas.Categorical.from_codes(values, categories, ordered=column["ordered"] is True)
    if dtype not in PANDAS_DTYPES:
        raise ModelFileError(f"{str(dtype)[:80]!r} is no dtype of a column.")
    return pandas.array(values, dtype=dtype)


def _polars_dtype(value: Any, path: str) -> str:
    name = str(value.dtype)
    if name not in POLARS_DTYPES:
        raise UnsavableError(f"{path}: a column of polars' dtype {name}, which model files cannot hold.")
    return name


POLARS_DTYPES = (
    "Boolean",
    "String",
    "Float32",
    "Float64",
    *(f"{kind}{bits}" for kind in ("Int", "UInt") for bits in (8, 16, 32, 64)),
)


def _make_polars(kind: str, parts: dict[str, Any]) -> Any:
    import polars

    if kind == "polars frame":
        columns, names = parts["columns"], parts["names"]
        if not isinstance(columns, list) or not all(isinstance(column, polars.Series) for column in columns):
            raise ModelFileError("a polars frame must have columns.")
        return polars.DataFrame(columns).select(names) if columns else polars.DataFrame()
    if parts["dtype"] not in POLARS_DTYPES:
        raise ModelFileError(f"{str(parts['dtype'])[:80]!r} is no dtype of a column.")
    return polars.Series(parts["name"], parts["values"], dtype=getattr(polars, parts["dtype"]))
