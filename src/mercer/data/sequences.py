"""Samples of different lengths, packed one after the other: strings and other sequences of symbols, and series."""

from itertools import chain
from typing import Any, ClassVar

import numpy as np

from mercer.data.objects import listed
from mercer.data.symbols import LARGEST_INTEGER, symbol_keys
from mercer.errors import DomainError
from mercer.segments import Segments

__all__ = ["Sequences", "Series", "check_symbols"]

# Keys of a character and of a byte, as in `symbol_keys`: their numbers, from here on.
CHARACTERS = np.uint64(LARGEST_INTEGER)
INTEGERS = np.uint64(LARGEST_INTEGER // 2)


class _Packed:
    """Samples one after the other: sample i has the entries from ``starts[i]`` to ``starts[i + 1]``."""

    __slots__ = ("entries", "starts")

    _entries: ClassVar[tuple[type, int]]
    """The kind of the entries, and their dimensions."""

    def __init__(self, entries: np.ndarray, starts: np.ndarray):
        self.entries, self.starts = entries, starts

    def _file_parts(self) -> dict[str, Any]:
        return {"entries": self.entries, "starts": self.starts}

    @classmethod
    def _from_file_parts(cls, parts: dict[str, Any]) -> Any:
        entries, (dtype, ndim) = parts["entries"], cls._entries
        if not isinstance(entries, np.ndarray) or entries.dtype != dtype or entries.ndim != ndim:
            raise ValueError(f"entries of {cls.__name__} must be {np.dtype(dtype)}, in {ndim} dimensions.")
        starts = Segments._from_file_parts({"starts": parts["starts"]}).starts
        if starts[-1] != len(entries):
            raise ValueError(f"starts of {cls.__name__} must end with the number of entries.")
        return cls(np.ascontiguousarray(entries), starts.astype(np.int64))

    @property
    def shape(self) -> tuple[int]:
        """Number of samples, as an array of samples would have it."""
        return (len(self.starts) - 1,)

    @property
    def lengths(self) -> np.ndarray:
        """Length of every sample."""
        return np.diff(self.starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, rows: Any) -> Any:
        """Some of the samples, by a slice, their numbers or a mask."""
        rows = np.arange(len(self))[rows]
        starts = starts_of(self.lengths[rows])
        places = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], np.diff(starts))
        return type(self)(self.entries[places], starts)


class Sequences(_Packed):
    """Strings, or sequences of any symbols, packed one after the other.

    A symbol is known by a 64-bit key that depends on it alone (`mercer.data.symbols.symbol_keys`). Kernels on strings
    take packed samples as well as lists; packing them once saves a little time where they are used often.

    Parameters
    ----------
    entries : uint64 array
        Keys of the symbols of all samples, one after the other.
    starts : int64 array of shape (n + 1,)
        Sample i has the symbols from ``starts[i]`` to ``starts[i + 1]``.

    Examples
    --------
    >>> from mercer.data import Sequences
    >>> packed = Sequences.pack(["GATTACA", "", "TATA"])
    >>> packed.shape, packed.lengths
    ((3,), array([7, 0, 4]))
    >>> packed[[2, 0]].lengths
    array([4, 7])
    """

    __slots__ = ()

    _entries = np.uint64, 1

    @classmethod
    def pack(cls, samples: Any, owner: str = "Sequences", name: str = "samples") -> "Sequences":
        """Pack samples.

        Parameters
        ----------
        samples : n samples
            Each is a str, a bytes object, or a list, tuple or array of hashable symbols; in a list, a tuple, a
            one-dimensional array or a column of a data frame.
        owner : str
            Who asks, for messages.
        name : str
            The name of the argument, for messages.

        Returns
        -------
        Sequences
        """
        if isinstance(samples, Sequences):
            return samples
        refusal = f"{owner} works on strings, or sequences of symbols, got "
        sequences = _listed(samples, refusal, name)
        types = set(map(type, sequences))
        for i, sample in enumerate(sequences):
            if not (isinstance(sample, (str, bytes, list, tuple)) or getattr(sample, "ndim", None) == 1):
                raise DomainError(f"{refusal}{_what(sample)} as sample {i} of {name}; use On(...) or another kernel.")
        starts = starts_of(list(map(len, sequences)))
        if all(issubclass(kind, str) for kind in types):
            text = "".join(sequences).encode("utf-32-le", "surrogatepass")
            return cls(np.frombuffer(text, dtype="<u4") + CHARACTERS, starts)
        if all(issubclass(kind, bytes) for kind in types):
            return cls(np.frombuffer(b"".join(sequences), dtype=np.uint8) + INTEGERS, starts)
        symbols = chain.from_iterable(s.tolist() if isinstance(s, np.ndarray) else s for s in sequences)
        try:
            return cls(symbol_keys(symbols), starts)
        except TypeError as error:
            raise DomainError(f"{refusal}symbols that are not hashable in {name} ({error}).") from error

    def native(self) -> tuple[np.ndarray, np.ndarray]:
        """As the native functions take them."""
        return self.entries, self.starts


class Series(_Packed):
    """Time series of different lengths, packed one after the other.

    Parameters
    ----------
    entries : float64 array of shape (n_points, n_features)
        The points of all series, one after the other.
    starts : int64 array of shape (n + 1,)
        Series i has the points from ``starts[i]`` to ``starts[i + 1]``.

    Examples
    --------
    >>> from mercer.data import Series
    >>> packed = Series.pack([[0.5, 1.0, 2.0], [1.5]])
    >>> packed.shape, packed.lengths, packed.entries.shape
    ((2,), array([3, 1]), (4, 1))
    """

    __slots__ = ()

    _entries = np.float64, 2

    @classmethod
    def pack(cls, samples: Any, owner: str = "Series", name: str = "samples") -> "Series":
        """Pack series.

        Parameters
        ----------
        samples : n series
            Each an array of shape (length,) or (length, n_features), all with the same number of features; or an array
            of shape (n, length) or (n, length, n_features).
        owner : str
            Who asks, for messages.
        name : str
            The name of the argument, for messages.

        Returns
        -------
        Series
        """
        if isinstance(samples, Series):
            return samples
        refusal = f"{owner} works on series, arrays of shape (length,) or (length, n_features), got "
        if getattr(samples, "ndim", 1) == 2 and hasattr(samples, "to_numpy"):
            samples = samples.to_numpy()
        if isinstance(samples, np.ndarray) and samples.ndim in (2, 3) and samples.dtype != object:
            each = list(samples)
        else:
            each = _listed(samples, refusal, name)
        points = []
        for i, sample in enumerate(each):
            try:
                values = np.asarray(sample)
            except ValueError:  # rows of different length
                values = np.empty(0, dtype=object)
            empty = values.ndim > 0 and len(values) == 0 and isinstance(sample, (list, tuple, np.ndarray))
            if not empty and (values.ndim not in (1, 2) or values.dtype.kind not in "biuf"):
                raise DomainError(f"{refusal}{_what(sample)} as sample {i} of {name}.")
            values = np.empty((0, 0)) if empty else values.astype(np.float64).reshape(len(values), -1)
            if not np.isfinite(values).all():
                raise ValueError(f"Sample {i} of {name} contains NaN or infinity.")
            points.append(values)
        widths = {p.shape[1]: i for i, p in reversed(list(enumerate(points))) if len(p)}
        if len(widths) > 1:
            (a, i), (b, j) = sorted(widths.items(), key=lambda item: item[1])[:2]
            raise DomainError(
                f"{owner} works on series with one number of features: sample {i} of {name} has {a}, sample {j} "
                f"has {b}."
            )
        full = [p for p in points if len(p)]
        return cls(np.concatenate(full) if full else np.empty((0, 0)), starts_of([len(p) for p in points]))


def check_symbols(packed: Sequences, known: np.ndarray, rule: str, samples: Any, name: str) -> None:
    """Refuse samples with a symbol whose key is not known; they are told the rule, the symbol and its place."""
    unknown = ~np.isin(packed.entries, known)
    if not unknown.any():
        return
    at = int(np.argmax(unknown))
    i = int(np.searchsorted(packed.starts, at, side="right")) - 1
    place = at - int(packed.starts[i])
    each = None if samples is packed else listed(samples)
    symbol = "another symbol" if each is None else f"the symbol {_plain(list(each[i])[place])!r}"
    raise DomainError(f"{rule}, sample {i} of {name} has {symbol} at place {place}.")


def starts_of(lengths: Any) -> np.ndarray:
    """Where samples of these lengths start, one after the other, and where the last one ends."""
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


def _listed(samples: Any, refusal: str, name: str) -> list:
    """Samples as a list, without looking into them."""
    found = listed(samples)
    if found is None:
        way_out = "give a list with one entry per sample"
        if hasattr(samples, "columns"):
            way_out = "read a column of it with On(column, kernel)"
        raise DomainError(f"{refusal}{_what(samples)} as {name}; {way_out}, or use another kernel.")
    return found


def _plain(symbol: Any) -> Any:
    """A symbol without the type that an array gave it."""
    return symbol.item() if isinstance(symbol, np.generic) else symbol


def _what(sample: Any) -> str:
    if isinstance(sample, np.ndarray):
        return f"an array of shape {sample.shape} and dtype {sample.dtype}"
    if hasattr(sample, "shape"):
        return f"a {type(sample).__name__} of shape {tuple(sample.shape)}"
    return "None" if sample is None else f"a {type(sample).__name__}"
