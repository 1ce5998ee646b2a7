"""Keys of symbols: labels and letters of any hashable type as 64-bit numbers that tell them apart."""

from collections.abc import Hashable, Iterable
from hashlib import blake2b
from numbers import Number
from typing import Any

import numpy as np

from mercer.fingerprint import fingerprint

__all__ = ["symbol_keys"]

# Integers of this size are their own keys; what is hashed gets the highest bit.
LARGEST_INTEGER = 1 << 62
HASHED = 1 << 63


def symbol_keys(symbols: Iterable[Hashable]) -> np.ndarray:
    """Keys of symbols: equal for equal symbols, in every process, and, up to hashing, different for others.

    Integers of up to 62 bits and single characters are told apart exactly; other symbols by 63 bits of a hash.
    Symbols are equal as in Python: 1, 1.0, True and Decimal(1) are one symbol.

    Parameters
    ----------
    symbols : hashable objects

    Returns
    -------
    uint64 array
    """
    known: dict[Hashable, int] = {}
    keys = []
    for symbol in symbols:
        key = known.get(symbol)
        if key is None:
            key = known[symbol] = _key(symbol)
        keys.append(key)
    return np.array(keys, dtype=np.uint64)


def _key(symbol: Any) -> int:
    if isinstance(symbol, np.generic):
        symbol = symbol.item()
    if isinstance(symbol, Number):
        symbol = _plainest(symbol)
        if isinstance(symbol, int) and abs(symbol) < LARGEST_INTEGER // 2:
            return symbol + LARGEST_INTEGER // 2
    if isinstance(symbol, str) and len(symbol) == 1:
        return LARGEST_INTEGER + ord(symbol)
    if isinstance(symbol, tuple):  # (1, 2) and (1.0, 2.0) are equal
        symbol = ("tuple", *map(_key, symbol))
    elif isinstance(symbol, frozenset):
        symbol = ("set", *sorted(map(_key, symbol)))
    digest = blake2b(fingerprint(symbol).encode("ascii"), digest_size=8).digest()
    return int.from_bytes(digest, "little") | HASHED


def _plainest(number: Any) -> Any:
    """The int or the float that equals a number (a bool, a fraction, a decimal, ...), if there is one."""
    if isinstance(number, complex) and number.imag == 0:
        number = number.real
    for kind in (int, float):
        try:
            if number == kind(number):
                return kind(number)
        except (TypeError, OverflowError, ValueError):  # complex, infinite, not a number
            continue
    return number
