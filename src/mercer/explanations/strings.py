"""Sequences as pieces of a few letters."""

from collections.abc import Hashable, Iterator, Sequence
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from mercer.data.sequences import Sequences
from mercer.explanations.base import Pieces, check_number, take_apart
from mercer.kernels import (
    AllSubsequences,
    CommonSubstrings,
    Constant,
    FixedSubsequences,
    GappedKmer,
    GapWeighted,
    Mismatch,
    Spectrum,
    WeightedDegree,
)

__all__ = ["substrings"]


def substrings(X: Sequence[Any], length: int) -> Iterator[tuple[int, int, Any]]:
    """The contiguous pieces of some length.

    Parameters
    ----------
    X : list of sequences
    length : int >= 1

    Yields
    ------
    (int, int, sequence)
        The number of the sample, where the piece begins, and the piece.

    Examples
    --------
    >>> from mercer.explanations import substrings
    >>> list(substrings(["SAY", "A"], 2))
    [(0, 0, 'SA'), (0, 1, 'AY')]
    """
    for i, sample in enumerate(X):
        for start in range(len(sample) - length + 1):
            yield i, start, sample[start : start + length]


@take_apart.register(Spectrum)
def _spectrum(kernel, X, support, coefficients):
    lengths = range(1 if kernel.blended else kernel.p, kernel.p + 1)
    return [_windows(Spectrum(p), X, support, coefficients, p) for p in lengths]


@take_apart.register(GappedKmer)
def _gapped_kmer(kernel, X, support, coefficients):
    return [_windows(kernel, X, support, coefficients, kernel.g)]


@take_apart.register(Mismatch)
def _mismatch(kernel, X, support, coefficients):
    return [_windows(kernel, X, support, coefficients, kernel.k)]


@take_apart.register(CommonSubstrings)
def _common_substrings(kernel, X, support, coefficients):
    longest = max((len(sample) for sample in X), default=0)
    lengths = range(kernel.shortest, min(longest, kernel.longest or longest) + 1)
    check_number(kernel, sum(max(0, len(sample) - p + 1) for sample in X for p in lengths))
    parts = [_windows(CommonSubstrings(kernel.decay, p, p), X, support, coefficients, p) for p in lengths]
    return parts or [_listed([], [], [], [], [])]


def _windows(kernel: Any, X: Any, support: Any, coefficients: np.ndarray, length: int) -> Pieces:
    """Pieces of one length for a kernel that is a sum over pairs of them: each adds what it would be as a sample."""
    found = list(substrings(X, length))
    check_number(kernel, len(found))
    weight = _worth(kernel, [piece for _, _, piece in found], support, coefficients)
    places = [np.arange(start, start + length) for _, start, _ in found]
    return _listed([i for i, _, _ in found], [_text(piece) for _, _, piece in found], places, weight, 1.0)


@take_apart.register(FixedSubsequences)
def _fixed_subsequences(kernel, X, support, coefficients):
    return [_spread(kernel, X, support, coefficients, kernel.p, 1.0)]


@take_apart.register(AllSubsequences)
def _all_subsequences(kernel, X, support, coefficients):
    check_number(kernel, sum(2 ** len(sample) for sample in X))
    # The empty subsequence is in every sequence, once.
    parts = take_apart(Constant(), X, support, coefficients)
    lengths = range(1, 1 + max((len(sample) for sample in X), default=0))
    return [*parts, *(_spread(FixedSubsequences(p), X, support, coefficients, p, 1.0) for p in lengths)]


@take_apart.register(GapWeighted)
def _gap_weighted(kernel, X, support, coefficients):
    lengths = range(1 if kernel.blended else kernel.p, kernel.p + 1)
    return [_spread(GapWeighted(p, kernel.decay), X, support, coefficients, p, kernel.decay) for p in lengths]


def _spread(kernel: Any, X: Any, support: Any, coefficients: np.ndarray, p: int, decay: float) -> Pieces:
    """Subsequences: letters in order, with gaps. As a sample such a one has itself with the value decay^p."""
    check_number(kernel, sum(comb(len(sample), p) for sample in X))
    owner, places, pieces = [], [], []
    for i, sample in enumerate(X):
        for chosen in combinations(range(len(sample)), p):
            owner.append(i)
            places.append(np.array(chosen))
            letters = [sample[place] for place in chosen]
            pieces.append("".join(letters) if isinstance(sample, str) else letters)
    weight = _worth(kernel, pieces, support, coefficients) / decay**p
    value = [decay ** int(where[-1] - where[0] + 1) for where in places]
    return _listed(owner, ["-".join(map(str, piece)) for piece in pieces], places, weight, value)


@take_apart.register(WeightedDegree)
def _weighted_degree(kernel, X, support, coefficients):
    kernel.prepare(X, support)  # checks that all are of one length
    new, known = (Sequences.pack(samples).entries.reshape(len(samples), -1) for samples in (X, support))
    length = new.shape[1]
    parts = []
    for i, sample in enumerate(X):
        weight = degree_weights(kernel, new[i], known, coefficients)
        for p, of_length in enumerate(weight, 1):
            starts = range(length - p + 1)
            names = [f"{_text(sample[start : start + p])}@{start}" for start in starts]
            places = [np.arange(start, start + p) for start in starts]
            parts.append(_listed([i] * len(names), names, places, of_length, 1.0))
    return [Pieces.joined(parts)] if parts else [_listed([], [], [], [], [])]


def degree_weights(kernel: Any, sample: np.ndarray, support: np.ndarray, coefficients: np.ndarray) -> list[np.ndarray]:
    """For the lengths 1 to d, what the piece at each place of a sample adds; all are keys of symbols."""
    d, n = kernel.d, len(sample)
    weights = [np.zeros(n - p + 1) for p in range(1, min(d, n) + 1)]
    for shift in range(-kernel.shift, kernel.shift + 1):
        factor = 1.0 if shift == 0 else 0.5 / (abs(shift) + 1.0)
        here = np.arange(max(0, -shift), min(n, n - shift))
        equal = support[:, here + shift] == sample[here]
        run = equal
        for p, weight in enumerate(weights, 1):
            if p > 1:
                run = run[:, :-1] & equal[:, p - 1 :]
            beta = 2.0 * (d - p + 1) / (d * (d + 1))
            weight[here[: run.shape[1]]] += factor * beta * (coefficients @ run)
    return weights


def _worth(kernel: Any, pieces: list[Any], support: Any, coefficients: np.ndarray) -> np.ndarray:
    """What every piece would be as a sample; equal ones are computed once."""
    number: dict[Hashable, int] = {}
    values = (piece if isinstance(piece, str | bytes) else tuple(piece) for piece in pieces)
    which = [number.setdefault(piece, len(number)) for piece in values]
    if not number:
        return np.empty(0)
    return kernel.dot(list(number), support, coefficients[:, np.newaxis])[which, 0]


def _listed(owner: Any, names: Any, places: Any, weight: Any, value: Any) -> Pieces:
    weight = np.asarray(weight, dtype=np.float64)
    return Pieces(np.array(owner, dtype=np.intp), list(names), list(places), weight, np.full(len(weight), value))


def _text(piece: Any) -> str:
    if isinstance(piece, bytes):
        return piece.decode("latin-1")
    return piece if isinstance(piece, str) else " ".join(map(str, piece))
