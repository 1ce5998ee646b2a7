"""What two symbols are worth in an alignment."""

from typing import Any

import numpy as np

from mercer.data.sequences import Sequences, check_symbols
from mercer.data.symbols import symbol_keys

__all__ = ["TABLES", "SubstitutionTable"]

AMINO_ACIDS = "ARNDCQEGHILKMFPSTWYVBZX*"
# Henikoff and Henikoff (1992), in half bits, as NCBI gives it; the part below the diagonal, row by row.
BLOSUM62 = """
 4
-1  5
-2  0  6
-2 -2  1  6
 0 -3 -3 -3  9
-1  1  0  0 -3  5
-1  0  0  2 -4  2  5
 0 -2  0 -1 -3 -2 -2  6
-2  0  1 -1 -3  0  0 -2  8
-1 -3 -3 -3 -1 -3 -3 -4 -3  4
-1 -2 -3 -4 -1 -2 -3 -4 -3  2  4
-1  2  0 -1 -3  1  1 -2 -1 -3 -2  5
-1 -1 -2 -3 -1  0 -2 -3 -2  1  2 -1  5
-2 -3 -3 -3 -2 -3 -3 -3 -1  0  0 -3  0  6
-1 -2 -2 -1 -3 -1 -1 -2 -2 -3 -3 -1 -2 -4  7
 1 -1  1  0 -1  0  0  0 -1 -2 -2  0 -1 -2 -1  4
 0 -1  0 -1 -1 -1 -1 -2 -2 -1 -1 -1 -1 -2 -1  1  5
-3 -3 -4 -4 -2 -2 -3 -2 -2 -3 -2 -3 -1  1 -4 -3 -2 11
-2 -2 -2 -3 -2 -1 -2 -3  2 -1 -1 -2 -1  3 -3 -2 -2  2  7
 0 -3 -3 -3 -1 -2 -2 -3 -3  3  1 -2  1 -1 -2 -2  0 -3 -1  4
-2 -1  3  4 -3  0  1 -1  0 -3 -4  0 -3 -3 -2  0 -1 -4 -3 -3  4
-1  0  0  1 -3  3  4 -2  0 -3 -3  1 -1 -3 -1  0 -1 -3 -2 -2  1  4
 0 -1 -1 -1 -2 -1 -1 -1 -1 -1 -1 -1 -1 -1 -2  0  0 -2 -1 -1 -1 -1 -1
-4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4 -4  1
"""
# Dayhoff, Schwartz and Orcutt (1978), fifty changes per hundred residues, in half bits, as NCBI gives it.
PAM50 = """
  5
 -5   8
 -2  -4   7
 -2  -7   2   7
 -5  -6  -8 -11   9
 -3   0  -2  -1 -11   8
 -1  -7  -1   3 -11   2   7
 -1  -7  -2  -2  -7  -5  -3   6
 -5   0   1  -2  -6   2  -3  -7   9
 -3  -4  -4  -6  -5  -6  -4  -8  -7   8
 -5  -7  -6 -10 -12  -4  -7  -9  -5   0   6
 -5   1   0  -3 -11  -2  -3  -6  -4  -5  -6   6
 -4  -3  -6  -8 -11  -3  -5  -7  -8   0   2  -1  10
 -7  -8  -7 -12 -10 -10 -11  -8  -5  -1  -1 -11  -3   9
  0  -3  -4  -6  -6  -2  -4  -4  -3  -7  -6  -5  -6  -8   8
  0  -2   1  -2  -2  -4  -3  -1  -4  -5  -7  -3  -4  -5  -1   6
  0  -5  -1  -3  -6  -4  -4  -4  -5  -1  -5  -2  -3  -7  -3   1   6
-11  -1  -7 -12 -13 -10 -13 -12  -6 -11  -5  -9 -10  -3 -11  -4 -10  13
 -6  -8  -3  -9  -3  -9  -7 -11  -2  -5  -5  -8  -8   3 -11  -5  -5  -4   9
 -1  -6  -6  -6  -5  -5  -5  -4  -5   3  -1  -7   0  -6  -4  -4  -2 -12  -6   7
 -2  -5   5   6  -9  -2   2  -2   0  -5  -7  -1  -7  -9  -5  -1  -2  -8  -5  -6   5
 -2  -2  -1   2 -11   6   6  -4   0  -5  -5  -2  -4 -11  -3  -3  -4 -11  -8  -5   1   6
 -2  -4  -2  -4  -7  -3  -3  -4  -4  -3  -5  -4  -4  -6  -4  -2  -2  -9  -6  -3  -3  -3  -4
-13 -13 -13 -13 -13 -13 -13 -13 -13 -13 -13 -13 -13 -13 -13 -13 -13 -13 -13 -13 -13 -13 -13   1
"""
TABLES = {"BLOSUM62": BLOSUM62, "PAM50": PAM50}


class NumberedSequences(Sequences):
    """Sequences with rows of a table in place of keys."""

    __slots__ = ()


class SubstitutionTable:
    """Scores of pairs of symbols, in the order of their keys."""

    def __init__(self, symbols: Any, scores: np.ndarray):
        keys = symbol_keys(symbols)
        order = np.argsort(keys)
        self.symbols = list(symbols)
        self.keys, self.scores = keys[order], np.ascontiguousarray(scores[np.ix_(order, order)])

    @classmethod
    def of(cls, given: Any) -> "SubstitutionTable":
        """From the name of a table for proteins, or from scores by pairs of symbols."""
        names = ", ".join(map(repr, TABLES))
        problem = f"substitution must be {names}, a dict of scores by pairs of symbols or None, got {given!r}."
        if isinstance(given, str) and given in TABLES:
            scores = np.zeros((len(AMINO_ACIDS), len(AMINO_ACIDS)))
            scores[np.tril_indices(len(AMINO_ACIDS))] = np.array(TABLES[given].split(), dtype=np.float64)
            return cls(AMINO_ACIDS, scores + np.tril(scores, -1).T)
        if not isinstance(given, dict) or not given or not all(isinstance(k, tuple) and len(k) == 2 for k in given):
            raise ValueError(problem)
        symbols = list(dict.fromkeys(symbol for pair in given for symbol in pair))
        scores = np.empty((len(symbols), len(symbols)))
        for i, a in enumerate(symbols):
            for j, b in enumerate(symbols):
                there, back = given.get((a, b)), given.get((b, a))
                score = back if there is None else there
                if score is None:
                    raise ValueError(
                        f"substitution must have a score for all pairs of its symbols, {(a, b)!r} has none."
                    )
                if there is not None and back is not None and there != back:
                    raise ValueError(f"substitution must be symmetric, {(a, b)!r} has {there}, {(b, a)!r} has {back}.")
                scores[i, j] = score
        if not np.isfinite(scores).all():
            raise ValueError(problem)
        return cls(symbols, scores)

    def numbered(self, packed: Sequences, owner: str, samples: Any, name: str) -> Sequences:
        """Packed samples with the rows of the table in place of the keys of their symbols."""
        if isinstance(packed, NumberedSequences):
            return packed
        rule = f"{owner} works on strings over the symbols of its substitution table"
        check_symbols(packed, self.keys, rule, samples, name)
        return NumberedSequences(np.searchsorted(self.keys, packed.entries).astype(np.uint64), packed.starts)
