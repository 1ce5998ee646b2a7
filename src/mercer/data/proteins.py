"""Numbers that describe proteins: what residues they have, and in what order."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.data.sequences import Sequences, check_symbols
from mercer.data.symbols import symbol_keys
from mercer.errors import DomainError

__all__ = ["residue_composition", "residue_distribution", "residue_order"]

RESIDUES = "ACDEFGHIKLMNPQRSTVWY"
UNCLEAR = "BZX"  # Asx, Glx, unknown
KEYS = symbol_keys(RESIDUES + UNCLEAR)
BY_KEY = np.argsort(KEYS)

# Residues in three groups, from little to much of an attribute.
GROUPS = {
    "hydrophobicity": ("RKEDQN", "GASTPHY", "CLVIMFW"),
    "polarity": ("LIFWCMVY", "PATGS", "HQRKNED"),
    "polarizability": ("GASDT", "CPNVEQIL", "KMHFRYW"),
    "volume": ("GASCTPD", "NVEQIL", "MHKFRYW"),
}

# Of the residues in their order: hydrophobicity (Tanford), hydrophilicity (Hopp and Woods), mass of the side chain.
SCALES = """
0.62 0.29 -0.90 -0.74 1.19 0.48 -0.40 1.38 -1.50 1.06 0.64 -0.78 0.12 -0.85 -2.53 -0.18 -0.05 1.08 0.81 0.26
-0.5 -1.0 3.0 3.0 -2.5 0.0 -0.5 -1.8 3.0 -1.8 -1.3 0.2 0.0 0.2 3.0 0.3 -0.4 -1.5 -3.4 -2.3
15 47 59 73 91 1 82 57 73 57 75 58 42 72 101 31 45 43 130 107
"""
STANDARD = np.array(SCALES.split(), dtype=np.float64).reshape(3, len(RESIDUES))
STANDARD = (STANDARD - STANDARD.mean(axis=1, keepdims=True)) / STANDARD.std(axis=1, keepdims=True)


class _Proteins:
    """Sequences of residues one after the other, as rows of the tables, -1 where it is unclear which one it is."""

    def __init__(self, sequences: Any, owner: str):
        packed = Sequences.pack(sequences, owner, "sequences")
        rule = f"{owner} works on proteins, strings over {RESIDUES} and {UNCLEAR}"
        check_symbols(packed, KEYS, rule, sequences, "sequences")
        numbers = BY_KEY[np.searchsorted(KEYS, packed.entries, sorter=BY_KEY)]
        self.residues = np.where(numbers < len(RESIDUES), numbers, -1)
        self.lengths, self.starts = packed.lengths, packed.starts[:-1]
        self.protein = np.repeat(np.arange(len(packed)), packed.lengths)

    def counts(self, kinds: np.ndarray, n_kinds: int) -> np.ndarray:
        """How often each protein has each kind of residue, those of kind -1 left out."""
        seen = kinds >= 0
        flat = np.bincount(self.protein[seen] * n_kinds + kinds[seen], minlength=len(self.lengths) * n_kinds)
        return flat.reshape(-1, n_kinds)

    def pairs(self, rank: int) -> np.ndarray:
        """Places of the first of two residues of one protein that are `rank` places apart, both of them clear."""
        first = np.arange(len(self.protein) - rank)
        same = self.protein[first] == self.protein[first + rank]
        return first[same & (self.residues[first] >= 0) & (self.residues[first + rank] >= 0)]


def residue_composition(sequences: Any) -> np.ndarray:
    """The shares of the twenty amino acids in proteins.

    Parameters
    ----------
    sequences : n strings
        Proteins, one letter for a residue. B, Z and X, which say that it is unclear what residue it is, are left out.

    Returns
    -------
    array of shape (n, 20)
        In the order of their letters, ACDEFGHIKLMNPQRSTVWY. Rows have the sum one.

    See Also
    --------
    residue_order : The composition, and correlations along the chain.
    mercer.kernels.Spectrum : A kernel on pieces of strings, without numbers in between.

    Examples
    --------
    >>> from mercer.data import residue_composition
    >>> residue_composition(["AAAC"])[:, :3]
    array([[0.75, 0.25, 0.  ]])
    """
    return _composition(_Proteins(sequences, "residue_composition"), "residue_composition")


def residue_distribution(sequences: Any, attribute: str | Sequence[str]) -> np.ndarray:
    """Where along proteins the residues of three groups are: composition, transition and distribution. [1]_

    Residues are put into three groups by an attribute, and 21 numbers describe the chain of groups: the share of
    each group; the share of neighbours that are of groups 1 and 2, 1 and 3, 2 and 3, in either order; and for each
    group the parts of the chain that hold its first residue, a quarter, a half, three quarters and all of its residues.

    Parameters
    ----------
    sequences : n strings
        Proteins, one letter for a residue. B, Z and X, which say that it is unclear what residue it is, belong to no
        group and are nobody's neighbours.
    attribute : {"hydrophobicity", "polarity", "polarizability", "volume"} or three str
        What the groups are made by, or the letters of the three groups.

    Returns
    -------
    array of shape (n, 21)
        All between zero and one; a group without residues has zeros.

    See Also
    --------
    residue_composition : The shares of single residues.

    Notes
    -----
    The groups, from little to much of an attribute: hydrophobicity RKEDQN, GASTPHY, CLVIMFW; polarity LIFWCMVY, PATGS,
    HQRKNED; polarizability GASDT, CPNVEQIL, KMHFRYW; volume (of van der Waals, normalised) GASCTPD, NVEQIL, MHKFRYW.
    With m residues in a group, a quarter of them is m / 4 rounded down, but one at least.

    References
    ----------
    .. [1] I. Dubchak, I. Muchnik, C. Mayor, I. Dralyuk, S.-H. Kim, Recognition of a protein fold in the context of the
       SCOP classification, Proteins 35, 1999.

    Examples
    --------
    >>> from mercer.data import residue_distribution
    >>> numbers = residue_distribution(["RRGRGCCC"], "hydrophobicity")
    >>> numbers[0, :6].round(2)  # three groups, and transitions between them
    array([0.38, 0.25, 0.38, 0.43, 0.  , 0.14])
    >>> numbers[0, 6:11]  # the first R is at 1 of 8, the last at 4 of 8
    array([0.125, 0.125, 0.125, 0.25 , 0.5  ])
    """
    proteins = _Proteins(sequences, "residue_distribution")
    groups = _groups(attribute)
    kinds = groups[proteins.residues]
    counts = proteins.counts(kinds, 3)
    _refuse_empty(counts, "residue_distribution")
    composition = counts / counts.sum(axis=1, keepdims=True)

    first = proteins.pairs(1)
    lower, upper = np.sort([kinds[first], kinds[first + 1]], axis=0)
    crossing = np.where(lower == upper, 3, lower + upper - 1)  # 0-1, 0-2, 1-2, and within a group
    n = len(counts)
    crossings = np.bincount(4 * proteins.protein[first] + crossing, minlength=4 * n).reshape(n, 4)
    transition = crossings[:, :3] / np.maximum(crossings.sum(axis=1, keepdims=True), 1)

    # Residues by protein, group and place: the wanted ones have known numbers among them.
    ordered = np.lexsort((kinds, proteins.protein))
    ordered = ordered[kinds[ordered] >= 0]
    before = np.cumsum(counts) - counts.ravel()
    wanted = np.maximum(np.floor(np.multiply.outer(counts, [0.0, 0.25, 0.5, 0.75, 1.0])), 1).astype(np.int64)
    there = np.minimum(before.reshape(n, 3, 1) + wanted - 1, len(ordered) - 1)
    places = (ordered[there] - proteins.starts[:, np.newaxis, np.newaxis] + 1) / proteins.lengths.reshape(n, 1, 1)
    distribution = np.where(counts[:, :, np.newaxis] > 0, places, 0.0).reshape(n, 15)
    return np.hstack([composition, transition, distribution])


def residue_order(sequences: Any, ranks: int, weight: float = 0.05) -> np.ndarray:
    r"""Pseudo amino-acid composition of proteins: shares of residues, and correlations along the chain. [1]_

    .. math:: \theta_k = \operatorname{mean}_i \tfrac13 \sum_{h=1}^3 \left(h(r_{i+k}) - h(r_i)\right)^2,
        \qquad x = \frac{(f_1, \ldots, f_{20}, w \theta_1, \ldots, w \theta_\lambda)}{1 + w \sum_k \theta_k}

    with the shares f of the residues, and their hydrophobicity, hydrophilicity and mass of the side chain as h, each
    with mean zero and variance one over the twenty residues.

    Parameters
    ----------
    sequences : n strings
        Proteins, one letter for a residue, longer than `ranks`. B, Z and X, which say that it is unclear what residue
        it is, are left out of shares and means.
    ranks : int >= 0
        The largest distance along the chain, lambda.
    weight : float >= 0, default=0.05
        The weight w of the order.

    Returns
    -------
    array of shape (n, 20 + ranks)
        Rows have the sum one.

    See Also
    --------
    residue_composition : The shares alone.

    References
    ----------
    .. [1] K.-C. Chou, Prediction of protein cellular attributes using pseudo-amino-acid composition, Proteins 43, 2001.

    Examples
    --------
    >>> from mercer.data import residue_order
    >>> residue_order(["MKVLAAGIV"], ranks=4).shape
    (1, 24)
    """
    if isinstance(ranks, bool) or not isinstance(ranks, (int, np.integer)) or ranks < 0:
        raise ValueError(f"ranks must be an int >= 0, got {ranks!r}.")
    if not np.isfinite(weight) or weight < 0:
        raise ValueError(f"weight must be a float >= 0, got {weight!r}.")
    proteins = _Proteins(sequences, "residue_order")
    composition = _composition(proteins, "residue_order")
    order = np.empty((len(composition), int(ranks)))
    for rank in range(1, int(ranks) + 1):
        first = proteins.pairs(rank)
        owner = proteins.protein[first]
        numbers = np.bincount(owner, minlength=len(order))
        if (numbers == 0).any():
            i = int(np.argmin(numbers))
            raise ValueError(
                f"ranks must be less than the length of every protein, with clear residues that many places apart, got "
                f"{ranks}; sample {i} of sequences has length {proteins.lengths[i]}."
            )
        steps = STANDARD[:, proteins.residues[first + rank]] - STANDARD[:, proteins.residues[first]]
        order[:, rank - 1] = np.bincount(owner, np.mean(steps**2, axis=0), minlength=len(order)) / numbers
    return np.hstack([composition, weight * order]) / (1 + weight * order.sum(axis=1, keepdims=True))


def _composition(proteins: _Proteins, owner: str) -> np.ndarray:
    counts = proteins.counts(proteins.residues, len(RESIDUES))
    _refuse_empty(counts, owner)
    return counts / counts.sum(axis=1, keepdims=True)


def _refuse_empty(counts: np.ndarray, owner: str) -> None:
    """Refuse proteins without residues that are clear."""
    empty = ~counts.any(axis=1)
    if empty.any():
        raise DomainError(
            f"{owner} works on proteins with residues that are known, sample {int(np.argmax(empty))} of sequences has "
            "none."
        )


def _groups(attribute: Any) -> np.ndarray:
    """The group, 0 to 2, of every residue, and -1 at the end for those that are unclear."""
    groups = GROUPS.get(attribute, ()) if isinstance(attribute, str) else tuple(attribute)
    if len(groups) != 3 or sorted("".join(map(str, groups))) != list(RESIDUES):
        names = ", ".join(map(repr, GROUPS))
        raise ValueError(
            f"attribute must be one of {names} or three str that hold each of {RESIDUES} once, got {attribute!r}."
        )
    return np.array([*(next(k for k in range(3) if letter in groups[k]) for letter in RESIDUES), -1])
