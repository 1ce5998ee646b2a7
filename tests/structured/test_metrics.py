"""Measures of structured predictions."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.structured import chunk_f1

LABELS = ["O", "B-NP", "I-NP", "B-VP", "I-VP"]


def begins(before, label):
    """Whether a chunk begins with a label, as the shared task evaluates it."""
    if label == "O":
        return False
    return label[0] == "B" or before == "O" or before[2:] != label[2:]


def ends(label, after):
    """Whether a chunk ends with a label."""
    if label == "O":
        return False
    return after == "O" or after[0] == "B" or after[2:] != label[2:]


def naive_chunks(labels):
    """All stretches of tokens, each asked whether it is a chunk."""
    found, padded = [], ["O", *labels, "O"]
    for first in range(1, len(padded) - 1):
        for last in range(first, len(padded) - 1):
            stretch = padded[first : last + 1]
            inner = any(begins(a, b) for a, b in pairwise(stretch))
            whole = begins(padded[first - 1], stretch[0]) and ends(stretch[-1], padded[last + 1])
            if whole and not inner and "O" not in stretch:
                found.append((first, last, stretch[0][2:]))
    return found


@given(st.lists(st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), max_size=7), max_size=4))
def test_chunks_equal_those_of_all_stretches(samples):
    Y, Z = [[y for y, _ in sample] for sample in samples], [[z for _, z in sample] for sample in samples]
    wanted, found = [naive_chunks(y) for y in Y], [naive_chunks(z) for z in Z]
    both = sum(chunk in z for y, z in zip(wanted, found, strict=True) for chunk in y)
    n_wanted, n_found = sum(map(len, wanted)), sum(map(len, found))
    if n_wanted + n_found == 0:
        assert chunk_f1(Y, Z) == 1.0
    elif both == 0:
        assert chunk_f1(Y, Z) == 0.0
    else:
        precision, recall = both / n_found, both / n_wanted
        assert chunk_f1(Y, Z) == pytest.approx(2 * precision * recall / (precision + recall))


def test_bad_labels():
    with pytest.raises(ValueError, match="predicted must have as many labels as Y, got 1 for the 2 of sample 0"):
        chunk_f1([["O", "O"]], [["O"]])
    with pytest.raises(ValueError, match="labels of chunks must be 'O' or begin with 'B-' or 'I-', got 'NP'"):
        chunk_f1([["NP"]], [["O"]])
