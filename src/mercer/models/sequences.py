"""Sequences over the letters of a model, as numbers."""

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from mercer.data.sequences import Sequences
from mercer.data.symbols import symbol_keys
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
    Sequences.pack(X, owner, "X")
    found = {letter for sequence in X for letter in sequence}
    if not found:
        raise ValueError(f"{owner} takes its letters from X, which has none; give an alphabet.")
    try:
        letters = sorted(found)
    except TypeError:
        letters = sorted(found, key=repr)
    characters = all(isinstance(letter, str) and len(letter) == 1 for letter in letters)
    return "".join(letters) if characters else tuple(letters)


def encode(X: Any, alphabet: Any, owner: str) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of all letters, one sequence after the other, and where sequences start."""
    packed = Sequences.pack(X, owner, "X")
    keys = symbol_keys(alphabet)
    order = np.argsort(keys)
    places = np.minimum(np.searchsorted(keys[order], packed.entries), len(keys) - 1)
    numbers = order[places].astype(np.int32)
    unknown = keys[numbers] != packed.entries
    if unknown.any():
        place = int(np.argmax(unknown))
        sample = int(np.searchsorted(packed.starts, place, side="right")) - 1
        within = place - int(packed.starts[sample])
        letter = "another letter" if isinstance(X, Sequences) else repr(list(X)[sample][within])
        raise DomainError(
            f"{owner} works on sequences over the letters {alphabet!r}, sample {sample} of X has {letter} at "
            f"place {within}."
        )
    return numbers, packed.starts
