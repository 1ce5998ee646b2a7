"""How good structured predictions are."""

from collections.abc import Iterator, Sequence

__all__ = ["chunk_f1"]


def chunk_f1(Y: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> float:
    """F1 of chunks: a chunk is found if its kind, its begin and its end are right.

    Labels are "B-NP" for the first token of a chunk of the kind NP, "I-NP" inside of it, and "O" outside of all. A
    label I that follows no chunk of its kind begins one, as in the evaluation of the shared task of CoNLL-2000 [1]_.

    Parameters
    ----------
    Y, predicted : sequences of sequences of str
        Right labels, and those that were found.

    Returns
    -------
    float
        The harmonic mean of the share of right ones among the chunks that were found and the share of chunks that were
        found; 0 if none was, 1 if there is none on both sides.

    References
    ----------
    .. [1] E. F. Tjong Kim Sang, S. Buchholz, Introduction to the CoNLL-2000 shared task: chunking, CoNLL 2000.

    Examples
    --------
    >>> from mercer.structured import chunk_f1
    >>> chunk_f1([["B-NP", "I-NP", "O", "B-VP"]], [["B-NP", "I-NP", "B-VP", "I-VP"]])
    0.5
    """
    right = both = all_found = 0
    for i, (y, z) in enumerate(zip(Y, predicted, strict=True)):
        if len(y) != len(z):
            raise ValueError(f"predicted must have as many labels as Y, got {len(z)} for the {len(y)} of sample {i}.")
        wanted, found = set(_chunks(y)), set(_chunks(z))
        right, both, all_found = right + len(wanted), both + len(wanted & found), all_found + len(found)
    return 2.0 * both / (right + all_found) if right + all_found else 1.0


def _chunks(labels: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Kind, first token and end of every chunk."""
    first, kind = 0, ""  # of the chunk that is open; no kind: none is
    for t, label in enumerate([*labels, "O"]):
        place, _, of = str(label).partition("-")
        if place not in ("B", "I", "O"):
            raise ValueError(f"labels of chunks must be 'O' or begin with 'B-' or 'I-', got {str(label)!r}.")
        if kind and (place != "I" or of != kind):
            yield kind, first, t
            kind = ""
        if place != "O" and not kind:
            first, kind = t, of
