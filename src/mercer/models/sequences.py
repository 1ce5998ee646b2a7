"""Sequences over the letters of a model, as numbers."""

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from mercer.data.objects import listed
from mercer.errors import DomainError

__all__ = ["as_alphabet", "encode", "letters_of"]


def as_alphabet(letters: Iterable[Hashable], owner: str) -> Any:
    """Different letters, in order: a str if they came as one, else a tuple."""
    alphabet = letters if isinstance(letters, str) else tuple(letters)
    if len(set(alphabet)) != len(alphabet) or not alphabet:
        raise ValueError(f"alphabet of {owner} must be different letters, got {letters!r}.")
    return alphabet


def letters_of(X: Any, owner: str) -> Any:
    """The letters that occur in sequences, in order if they have one; a str if all of them are characters."""
    found = set().union(*_sequences(X, owner, "X"))
    try:
        letters = sorted(found)
    except TypeError:
        letters = sorted(found, key=repr)
    return (
        "".join(letters) if all(isinstance(letter, str) and len(letter) == 1 for letter in letters) else tuple(letters)
    )


def encode(X: Any, alphabet: Any, owner: str) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of all letters, one sequence after the other, and where sequences start."""
    sequences = _sequences(X, owner, "X")
    starts = np.cumsum([0, *map(len, sequences)], dtype=np.int64)
    if isinstance(alphabet, str) and all(type(sequence) is str for sequence in sequences):
        points = np.frombuffer("".join(sequences).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        known = np.array([ord(letter) for letter in alphabet], dtype=np.uint32)
        table = np.full(int(known.max()) + 2, -1, dtype=np.int32)
        table[known] = np.arange(len(known))
        numbers = table[np.minimum(points, len(table) - 1)]
    else:
        number = {letter: i for i, letter in enumerate(alphabet)}
        try:
            found = [number.get(letter, -1) for sequence in sequences for letter in sequence]
        except TypeError as error:
            raise DomainError(f"{owner} works on sequences of letters, in X there is an {error}.") from error
        numbers = np.array(found, dtype=np.int32)
    if numbers.size and numbers.min() < 0:
        place = int(np.argmin(numbers))
        sample = int(np.searchsorted(starts, place, side="right")) - 1
        letter = sequences[sample][place - int(starts[sample])]
        raise DomainError(
            f"{owner} works on sequences over the letters {alphabet!r}, "
            f"sample {sample} of X has {letter!r} at place {place - int(starts[sample])}."
        )
    return numbers, starts


def _sequences(X: Any, owner: str, name: str) -> list[Any]:
    sequences = listed(X)
    if sequences is None or not all(isinstance(sequence, str | list | tuple | np.ndarray) for sequence in sequences):
        kind = type(X).__name__ if sequences is None else {type(sequence).__name__ for sequence in sequences}
        raise DomainError(f"{owner} works on sequences of letters (strings, lists, tuples), got {kind} as {name}.")
    return sequences
