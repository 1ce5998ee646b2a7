"""Kernels on a part of a table, and on an image of a sample."""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np

from mercer.errors import DomainError, IndefiniteError
from mercer.kernels.algebra.base import Seen
from mercer.kernels.samples import describe, each, n_samples
from mercer.parameters import Choice

__all__ = ["Mapped", "On"]

# Kernels on these take rows of numbers or categories, also where there is one column alone.
ROWS = ("vectors", "categories")


class On(Seen):
    """A kernel on one or some columns of a table.

    Terms with columns of their own make one kernel on whole rows, with columns of any kind:
    ``On(["age", "bmi"], RBF()) + On("sex", Hamming())``.

    Parameters
    ----------
    columns : str or list of str
        One name: the kernel gets this column, a sequence of strings, graphs, or whatever it holds; a kernel on vectors
        or categories gets it as a table of one column. A list of names: the kernel gets a table of these columns.
    kernel : Kernel
        What compares them.

    See Also
    --------
    Mapped : A kernel on what a function makes of a sample.

    Notes
    -----
    A table is a pandas or polars data frame, a dict of columns (arrays, lists, series; also arrays with several numbers
    a row) or a NumPy structured array. Parameters that are taken from the data are taken from these columns of the
    training samples. Costs what the kernel costs.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.kernels import Hamming, On, RBF
    >>> people = {"age": [31, 45, 62, 58], "bmi": [22.1, 30.5, 24.3, 33.0], "smoker": ["no", "yes", "no", "yes"]}
    >>> kernel = On(["age", "bmi"], RBF(gamma=0.01)) + On("smoker", Hamming())
    >>> kernel(people).round(2)
    array([[2.  , 0.07, 1.  , 0.  ],
           [0.07, 2.  , 0.04, 1.17],
           [1.  , 0.04, 2.  , 0.4 ],
           [0.  , 1.17, 0.4 , 2.  ]])
    >>> SVC(kernel=kernel).fit(people, [0, 1, 0, 1]).predict({"age": [50], "bmi": [31.0], "smoker": ["yes"]})
    array([1])
    """

    domain = "table"

    def __init__(self, columns, kernel):
        self.columns = columns
        self.kernel = kernel

    def _check_parameters(self):
        super()._check_parameters()
        one, some = isinstance(self.columns, str), isinstance(self.columns, list | tuple)
        if not one and not (some and self.columns and all(isinstance(name, str) for name in self.columns)):
            raise ValueError(f"columns must be the name of a column or a list of names, got {self.columns!r}.")

    def resolve(self, X, sample_weight=None):
        with self._named_in_errors():
            return super().resolve(X, sample_weight)

    def prepare(self, X, Y=None):
        with self._named_in_errors():
            return super().prepare(X, Y)

    @contextmanager
    def _named_in_errors(self) -> Iterator[None]:
        """Of several kernels on one table, errors tell which one they are about."""
        try:
            yield
        except ValueError as error:
            kind = type(error) if isinstance(error, DomainError | IndefiniteError) else ValueError
            raise kind(f"In {self!r}: {error}") from error

    def _seen(self, X, name):
        table = Table(X, name)
        if isinstance(self.columns, str):
            return table.rows([self.columns]) if self.kernel.domain in ROWS else table.column(self.columns)
        return table.part(self.columns) if self.kernel.domain == "table" else table.rows(self.columns)


class Mapped(Seen):
    r"""A kernel on an image of the sample.

    .. math:: k(x, x') = k_0\bigl(f(x), f(x')\bigr)

    Parameters
    ----------
    function : callable
        The map f. ``function(X)`` takes all samples, as they were given, and returns as many of what the kernel works
        on. The image of a sample may depend on this sample alone: standardise in a pipeline, not here.
    kernel : Kernel
        The kernel :math:`k_0`.
    one_by_one : bool, default=False
        True: the function takes one sample and returns its image.

    See Also
    --------
    On : A kernel on part of a table.
    FromFunction : A function as a kernel.

    Notes
    -----
    Costs what the kernel costs, and the function once for every sample. `features` gives the explicit map if the kernel
    has one.

    References
    ----------
    .. [1] C. C. Aggarwal, Data Mining: The Textbook, 2015, eq. 10.64.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Linear, Mapped
    >>> kernel = Linear() + Mapped(np.square, Linear())
    >>> kernel([[1.0, 2.0], [3.0, 0.0]])
    array([[22., 12.],
           [12., 90.]])
    >>> kernel.features([[1.0, 2.0], [3.0, 0.0]])
    array([[1., 2., 1., 4.],
           [3., 0., 9., 0.]])
    """

    domain = "any"
    _parameters: ClassVar = {"one_by_one": Choice(False, True)}

    def __init__(self, function, kernel, one_by_one=False):
        self.function = function
        self.kernel = kernel
        self.one_by_one = one_by_one

    def _check_parameters(self):
        super()._check_parameters()
        if not callable(self.function):
            raise TypeError(f"function must be callable as function(X), got {self.function!r}.")

    def _seen(self, X, name):
        if self.one_by_one:
            images: Any = [self.function(sample) for sample in each(X)]
            if self.kernel.domain in ROWS:
                images = _as_columns(np.asarray(images))
            return images
        images = self.function(X)
        if not hasattr(images, "shape") and not hasattr(images, "__len__"):
            raise ValueError(f"function must return as many images as there are samples, got {images!r}.")
        if n_samples(images) != n_samples(X):
            raise ValueError(
                f"function must return an image of each of {n_samples(X)} samples of {name}, got {describe(images)}."
            )
        return images


class Table:
    """One face for the kinds of tables: their columns by name.

    Parameters
    ----------
    table : data frame, dict of columns or structured array
    name : str
        The argument that it came as, for messages.
    """

    def __init__(self, table: Any, name: str):
        self.table, self.name = table, name
        if isinstance(table, Mapping):
            self.names = list(table)
            lengths = {n_samples(column) for column in table.values()}
            if len(lengths) > 1:
                raise ValueError(f"The columns of {name} have different lengths: {sorted(lengths)}.")
        elif isinstance(table, np.ndarray) and table.dtype.names:
            self.names = list(table.dtype.names)
        elif hasattr(table, "columns") and hasattr(table, "to_numpy"):
            self.names = list(table.columns)
        else:
            raise DomainError(
                "On works on tables with named columns (data frames, dicts of columns, structured arrays), "
                f"got {describe(table)} as {name}."
            )

    def column(self, name: str) -> Any:
        """One column, in the form it came in."""
        self._check([name])
        return self.table[name]

    def part(self, names: list[str]) -> Any:
        """A table of some columns."""
        self._check(names)
        if isinstance(self.table, Mapping):
            return {name: self.table[name] for name in names}
        return self.table[list(names)]

    def rows(self, names: list[str]) -> Any:
        """Some columns as rows of numbers or categories."""
        self._check(names)
        if not isinstance(self.table, Mapping | np.ndarray):
            return self.table[list(names)]
        columns = [_as_columns(self.table[name]) for name in names]
        if len(columns) == 1:
            return columns[0]
        if all(column.dtype.kind in "biuf" for column in columns):
            return np.hstack(columns)
        return np.hstack([column.astype(object) for column in columns])  # else 1 and "1" would become equal

    def _check(self, names: list[str]) -> None:
        missing = [name for name in names if name not in self.names]
        if missing:
            known = ", ".join(map(repr, self.names))
            raise ValueError(f"{self.name} has no column {', '.join(map(repr, missing))}; its columns are {known}.")


def _as_columns(values: Any) -> np.ndarray:
    """One named column as a table: of one column, or of more where every row has several numbers."""
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    if not isinstance(values, np.ndarray):
        numbers = np.asarray(values, dtype=object)
        plain = numbers.ndim == 1 and all(isinstance(v, bool | int | float | np.number) for v in numbers)
        values = np.asarray(values) if plain or numbers.ndim > 1 else numbers
    return values.reshape(len(values), math.prod(values.shape[1:]))
