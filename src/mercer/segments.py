"""Arrays of many problems side by side."""

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

__all__ = ["Segments", "joined"]

Batch = TypeVar("Batch")


class Segments:
    """Stretches of flat arrays: the entries of the k-th are those from ``starts[k]`` to ``starts[k + 1]``.

    Parameters
    ----------
    starts : int array of shape (n + 1,)
        From 0, ascending; two equal ones where a stretch is empty.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.segments import Segments
    >>> parts = Segments.of_sizes([2, 0, 1])
    >>> parts.sum(np.array([1.0, 2.0, 4.0])), parts.repeat(np.array([5, 6, 7]))
    (array([3., 0., 4.]), array([5, 5, 7]))
    """

    def __init__(self, starts: np.ndarray):
        self.starts = starts

    @classmethod
    def of_sizes(cls, sizes: Sequence[int] | np.ndarray) -> "Segments":
        """Stretches of given sizes."""
        starts = np.zeros(len(sizes) + 1, dtype=np.int64)
        np.cumsum(sizes, out=starts[1:])
        return cls(starts)

    def _file_parts(self) -> dict[str, Any]:
        return {"starts": self.starts}

    @classmethod
    def _from_file_parts(cls, parts: dict[str, Any]) -> "Segments":
        starts = parts["starts"]
        numbers = isinstance(starts, np.ndarray) and starts.ndim == 1 and starts.dtype.kind == "i" and len(starts) > 0
        if not numbers or starts[0] != 0 or (starts[1:] < starts[:-1]).any():
            raise ValueError("starts must be numbers that ascend from 0.")
        return cls(np.ascontiguousarray(starts))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, k: int) -> slice:
        return slice(self.starts[k], self.starts[k + 1])

    def __iter__(self) -> Iterator[slice]:
        return (self[k] for k in range(len(self)))

    def stretch(self, numbers: range) -> tuple["Segments", slice]:
        """Neighbouring ones by themselves, and where their entries are among those of all."""
        starts = self.starts[numbers.start : numbers.stop + 1]
        return Segments(starts - starts[0]), slice(starts[0], starts[-1])

    @property
    def sizes(self) -> np.ndarray:
        """How many entries each has."""
        return self.starts[1:] - self.starts[:-1]

    def repeat(self, values: np.ndarray) -> np.ndarray:
        """For every entry the value of its stretch."""
        return np.repeat(values, self.sizes)

    def sum(self, values: np.ndarray) -> np.ndarray:
        """The sum of every stretch."""
        return self._reduced(np.add, values, 0.0)

    def min(self, values: np.ndarray) -> np.ndarray:
        """The smallest entry of every stretch, infinity where there is none."""
        return self._reduced(np.minimum, values, np.inf)

    def _reduced(self, operation: np.ufunc, values: np.ndarray, of_none: float) -> np.ndarray:
        filled = self.starts[1:] > self.starts[:-1]
        if filled.all():
            return operation.reduceat(values, self.starts[:-1])
        found = np.full(len(self), of_none)
        if filled.any():
            found[filled] = operation.reduceat(values, self.starts[:-1][filled])
        return found


def joined(batches: Sequence[Batch]) -> Batch:
    """Dataclasses of flat arrays as one: those of the second behind those of the first, and so on."""
    if len(batches) == 1:
        return batches[0]

    def one(values: list[Any]) -> Any:
        if isinstance(values[0], Segments):
            return Segments.of_sizes(np.concatenate([parts.sizes for parts in values]))
        return np.concatenate(values) if isinstance(values[0], np.ndarray) else values[0]

    names = [field.name for field in fields(batches[0])]  # type: ignore[arg-type]
    return type(batches[0])(**{name: one([getattr(batch, name) for batch in batches]) for name in names})
